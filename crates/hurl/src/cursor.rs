//! The state of the parser: a place in the text, and the problems so far.
//!
//! Functions that parse a construct are methods of [`Parser`], in the modules named for the construct. They return a
//! problem if they cannot go on; what is understood but not supported goes to [`Parser::refuse`], and parsing goes on.

use crate::limits::PROBLEMS_MAX;
use crate::{Problem, Span};

/// A directive in a comment, before it is known if a request follows.
#[derive(Debug)]
pub(crate) struct Mark {
    /// The word after the `@`.
    pub(crate) word: String,
    /// The place of `@` and word.
    pub(crate) word_span: Span,
    pub(crate) value: String,
    pub(crate) span: Span,
}

/// The result of parsing a construct.
pub(crate) type Parsed<T> = Result<T, Problem>;

/// The state of the parser.
pub(crate) struct Parser<'a> {
    pub(crate) text: &'a str,
    /// The place of the next character.
    pub(crate) at: usize,
    /// The problems so far.
    pub(crate) problems: Vec<Problem>,
    /// The directives in the comments since the last blank line or construct.
    pub(crate) marks: Vec<Mark>,
}

/// The greatest number of characters of the text that a message repeats.
const GIVEN_MAX: usize = 40;

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0, problems: Vec::new(), marks: Vec::new() }
    }

    /// Returns the text from here on.
    pub(crate) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(crate) fn bump(&mut self) -> Option<char> {
        let char = self.peek()?;
        self.at += char.len_utf8();
        Some(char)
    }

    /// Steps over `text` if it comes next.
    pub(crate) fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Steps over the characters that `accepts`, and returns them.
    pub(crate) fn take_while(&mut self, accepts: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|char| !accepts(char)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or("")
    }

    /// Steps over spaces and tabs, and tells if there were any.
    pub(crate) fn skip_spaces(&mut self) -> bool {
        !self.take_while(|char| char == ' ' || char == '\t').is_empty()
    }

    /// Steps over at least one space or tab.
    pub(crate) fn expect_space(&mut self, before: &str) -> Parsed<()> {
        if self.skip_spaces() { Ok(()) } else { Err(self.expected(&format!("a space before {before}"))) }
    }

    /// Returns the word that comes next: letters, digits, `_` and `-`.
    pub(crate) fn word(&self) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|char: char| !is_word(char)).unwrap_or(rest.len());
        rest.get(..end).unwrap_or("")
    }

    /// Returns the place from `start` to here.
    pub(crate) fn since(&self, start: usize) -> Span {
        start..self.at
    }

    /// Returns the place of the next word, or of the next character if it is not part of one.
    pub(crate) fn here(&self) -> Span {
        let length = self.given().map_or(0, str::len);
        self.at..self.at + length
    }

    /// Returns the problem that something else was expected here.
    pub(crate) fn expected(&self, what: &str) -> Problem {
        let given = match self.given() {
            Some(given) => format!("`{given}`"),
            None if self.rest().is_empty() => "the end of the file".to_owned(),
            None => "the end of the line".to_owned(),
        };
        Problem::new(self.here(), format!("expected {what}, got {given}"))
    }

    /// Records that a construct is not supported. `what` names it; the name is in backticks.
    pub(crate) fn refuse(&mut self, at: Span, what: &str, hint: Option<&str>) {
        let problem = Problem::new(at, format!("{what} is not supported"));
        self.report(match hint {
            Some(hint) => problem.with_hint(hint),
            None => problem,
        });
    }

    /// Records a problem.
    pub(crate) fn report(&mut self, problem: Problem) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem);
        }
    }

    /// Tells if nothing but a comment comes before the end of the line.
    pub(crate) fn at_line_end(&self) -> bool {
        matches!(self.peek(), None | Some('\n' | '#')) || self.rest().starts_with("\r\n")
    }

    /// Returns the text that a message repeats: the rest of the word, or a character. `None` at the end of a line.
    fn given(&self) -> Option<&'a str> {
        let rest = self.rest();
        let line_end = matches!(self.peek(), None | Some('\n')) || rest.starts_with("\r\n");
        if line_end {
            return None;
        }
        let word = rest.split(char::is_whitespace).next().filter(|word| !word.is_empty());
        let given = word.or_else(|| rest.get(..self.peek()?.len_utf8()))?;
        let end = given.char_indices().nth(GIVEN_MAX).map_or(given.len(), |(end, _)| end);
        given.get(..end)
    }
}

/// Tells if a character is part of a word: a keyword or the name of a variable.
pub(crate) fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_' || char == '-'
}
