//! Comments, ends of lines, and the directives of ours in comments.

use crate::cursor::{Mark, Parsed, Parser};
use crate::{Comment, CommentName, Problem};

/// The words of directives.
const NAMES: [(&str, CommentName); 2] = [("name", CommentName::Name), ("think", CommentName::Think)];

impl Parser<'_> {
    /// Steps over the end of a line: spaces, a comment, and a line feed or the end of the file.
    pub(crate) fn line_end(&mut self) -> Parsed<()> {
        self.skip_spaces();
        if self.peek() == Some('#') {
            self.comment();
            self.drop_marks();
        }
        if self.eat("\n") || self.eat("\r\n") || self.rest().is_empty() {
            return Ok(());
        }
        Err(self.expected("the end of the line"))
    }

    /// Steps over blank lines, comments, and the spaces that begin the next line.
    pub(crate) fn skip_blank(&mut self) {
        loop {
            self.skip_spaces();
            if self.peek() == Some('#') {
                self.comment();
                if !self.eat("\n") {
                    self.eat("\r\n");
                }
            } else if self.eat("\n") || self.eat("\r\n") {
                self.drop_marks();
            } else {
                return;
            }
        }
    }

    /// Takes the directives above a request.
    pub(crate) fn take_marks(&mut self) -> Vec<Comment> {
        let mut comments: Vec<Comment> = Vec::new();
        for mark in std::mem::take(&mut self.marks) {
            match directive(mark, &comments) {
                Ok(comment) => comments.push(comment),
                Err(problem) => self.report(problem),
            }
        }
        comments
    }

    /// Forgets the directives so far: no request follows them. Those that are ours are misplaced.
    pub(crate) fn drop_marks(&mut self) {
        for mark in std::mem::take(&mut self.marks) {
            if NAMES.iter().any(|(name, _)| *name == mark.word) {
                let message = format!("`@{}` is not directly above a request", mark.word);
                let hint = "write it on a line of its own, without a blank line between it and the request";
                self.report(Problem::new(mark.word_span, message).with_hint(hint));
            }
        }
    }

    /// Steps over a comment, and keeps the directive in it.
    fn comment(&mut self) {
        let start = self.at;
        let line = self.take_while(|char| char != '\n');
        let line = line.strip_suffix('\r').unwrap_or(line);
        self.at = start + line.len();
        let content = line.trim_start_matches('#').trim_start();
        let Some(directive) = content.strip_prefix('@') else { return };
        let at = start + line.len() - content.len();
        let word = directive.split_whitespace().next().unwrap_or("");
        let value = directive.get(word.len()..).unwrap_or("");
        let value_at = at + 1 + directive.len() - value.trim_start().len();
        self.marks.push(Mark {
            word: word.to_owned(),
            word_span: at..at + 1 + word.len(),
            value: value.trim().to_owned(),
            span: value_at..value_at + value.trim().len(),
        });
    }
}

/// Checks a directive. `others` are those above the same request so far.
fn directive(mark: Mark, others: &[Comment]) -> Parsed<Comment> {
    let Some(&(word, name)) = NAMES.iter().find(|(name, _)| *name == mark.word) else {
        let message = format!("expected `@name` or `@think`, got `@{}`", mark.word);
        let hint = "begin a comment above a request with another character than `@`";
        return Err(Problem::new(mark.word_span, message).with_hint(hint));
    };
    if mark.value.is_empty() {
        return Err(Problem::new(
            mark.word_span,
            format!("expected a value after `@{word}`, got the end of the line"),
        ));
    }
    if others.iter().any(|other| other.name == name) {
        return Err(Problem::new(mark.word_span, format!("`@{word}` occurs twice above a request")));
    }
    Ok(Comment { name, value: mark.value, span: mark.span })
}
