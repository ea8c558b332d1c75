//! Problems of a workload file and of the files that it names, with their places.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A file of text, as messages show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// The name.
    pub(super) name: String,
    /// The contents, or a line of them.
    pub(super) text: String,
    /// The number of lines before `text`.
    pub(super) lines_before: usize,
}

impl Source {
    pub(super) fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), lines_before: 0 }
    }

    /// Creates a source of a line of a file that may be too large to keep. Lines count from 1.
    pub(super) fn of_line(name: &str, line: u64, bytes: &[u8]) -> Self {
        let start = bytes.get(..LINE_MAX).unwrap_or(bytes);
        let lines_before = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
        Self { name: name.to_owned(), text: String::from_utf8_lossy(start).into_owned(), lines_before }
    }
}

/// The number of bytes of a line that are kept if the file is not.
const LINE_MAX: usize = 200;

/// Something wrong in a workload file or in a file that it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileProblem {
    source: Arc<Source>,
    /// The bytes of the file that are meant.
    at: Range<usize>,
    /// A sentence with the expected and the actual text.
    message: String,
    /// A remedy.
    hint: Option<String>,
    /// Something else that would help, given together with the file.
    given: Option<Missing>,
}

/// A value that can be given together with a workload file ([`Given`](super::Given)), in place of one in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The start of all URLs.
    Base,
    /// The variable of this name.
    Variable(String),
}

/// The greatest number of problems that are kept: enough for people, and bounded for any input.
const PROBLEMS_MAX: usize = 100;

/// The problems found so far.
#[derive(Debug, Default)]
pub(super) struct Problems {
    list: Vec<FileProblem>,
}

impl Problems {
    /// Adds a problem, unless there are many already or it was found before.
    pub(super) fn push(&mut self, problem: FileProblem) {
        if self.list.len() < PROBLEMS_MAX && !self.list.contains(&problem) {
            self.list.push(problem);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the problems: file by file, in the order in which the files were first found wrong, and there from top
    /// to bottom.
    pub(super) fn into_list(self) -> Vec<FileProblem> {
        let mut files: Vec<Arc<Source>> = Vec::new();
        for problem in &self.list {
            if !files.contains(&problem.source) {
                files.push(Arc::clone(&problem.source));
            }
        }
        let mut list = self.list;
        list.sort_by_key(|problem| {
            (files.iter().position(|file| *file == problem.source), problem.at.start, problem.at.end)
        });
        list
    }
}

impl FileProblem {
    /// Creates a problem of these bytes of a file.
    pub(super) fn new(source: &Arc<Source>, at: Range<usize>, message: impl Into<String>) -> Self {
        Self { source: Arc::clone(source), at, message: message.into(), hint: None, given: None }
    }

    /// Returns the problem with a remedy.
    pub(super) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Returns the problem, which a value given together with the file would solve as well.
    pub(super) fn missing(self, missing: Missing) -> Self {
        Self { given: Some(missing), ..self }
    }

    /// Returns the value that would solve it if it were given together with the file, if one would.
    #[must_use]
    pub fn missing_value(&self) -> Option<&Missing> {
        self.given.as_ref()
    }

    /// Returns a problem at the same place with another message.
    pub(super) fn saying(self, message: &str, hint: Option<&str>) -> Self {
        Self { message: message.to_owned(), hint: hint.map(str::to_owned), ..self }
    }

    /// Returns the name of the file.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.source.name
    }

    /// Returns the sentence that says what is wrong.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the remedy, if one is known.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Returns the line and the character within it, both from 1.
    #[must_use]
    pub fn position(&self) -> (usize, usize) {
        let Place { line, before, .. } = self.place();
        (line, before.chars().count() + 1)
    }

    fn place(&self) -> Place<'_> {
        let text = &self.source.text;
        let start = floor(text, self.at.start);
        let line_start = text[..start].rfind('\n').map_or(0, |end| end + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |length| start + length);
        let end = floor(text, self.at.end).clamp(start, line_end);
        Place {
            line: self.source.lines_before.saturating_add(text[..start].matches('\n').count() + 1),
            before: &text[line_start..start],
            marked: &text[start..end],
            after: text[end..line_end].trim_end(),
        }
    }
}

/// A line of a file with a part marked.
struct Place<'a> {
    /// The number of the line, from 1.
    line: usize,
    before: &'a str,
    marked: &'a str,
    after: &'a str,
}

/// Returns the greatest boundary of characters that is not above `offset`.
fn floor(text: &str, offset: usize) -> usize {
    let offset = offset.min(text.len());
    (0..=offset).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// The greatest number of characters of a line shown before and after the mark.
const SHOWN: usize = 60;

/// Writes `file:line:column: message`, the line with a mark under the part that is meant, and the hint.
impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, message, hint, .. } = self;
        let (line, column) = self.position();
        write!(f, "{}:{line}:{column}: {message}", source.name)?;
        let Place { before, marked, after, .. } = self.place();
        if !(before.is_empty() && marked.is_empty() && after.is_empty()) {
            let skipped = before.chars().count().saturating_sub(SHOWN);
            let before = shown(before.chars().skip(skipped));
            let marked = shown(marked.chars().take(SHOWN));
            let after = shown(after.chars().take(SHOWN));
            let blank = " ".repeat(before.chars().count());
            let mark = "^".repeat(marked.chars().count().max(1));
            write!(f, "\n  {before}{marked}{after}\n  {blank}{mark}")?;
        }
        match hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

/// Returns these characters with blanks in place of those that would move the cursor.
fn shown(letters: impl Iterator<Item = char>) -> String {
    letters.map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}
