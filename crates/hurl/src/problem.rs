//! Problems in a text, and how they are shown. Independent of the language of the text.

use std::fmt::Write as _;
use std::ops::Range;

use unicode_width::UnicodeWidthChar as _;

/// A problem in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The place, as a range of bytes.
    pub at: Range<usize>,
    /// The problem: one sentence without a full stop.
    pub message: String,
    /// The remedy.
    pub hint: Option<String>,
}

impl Problem {
    /// The greatest width of a shown source line, in columns of a terminal.
    pub const WIDTH_MAX: usize = 100;

    /// Creates a problem without a hint.
    #[must_use]
    pub fn new(at: Range<usize>, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), hint: None }
    }

    /// Adds a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Renders the problem: place and message, the source line with the place marked, and the hint. `text` is the
    /// text in which it occurs, `file` its name. The last line does not end in a line feed.
    #[must_use]
    pub fn show(&self, file: &str, text: &str) -> String {
        let place = Place::find(text, &self.at);
        let mut out = format!("{file}:{}:{}: {}", place.line, place.column, without_controls(&self.message));
        let (source, marks) = place.excerpt();
        let _ = write!(out, "\n{source}\n{marks}");
        if let Some(hint) = &self.hint {
            let _ = write!(out, "\nhint: {hint}");
        }
        out
    }

    /// Returns the line of the place, from 1.
    #[must_use]
    pub fn line(&self, text: &str) -> usize {
        Place::find(text, &self.at).line
    }
}

/// The columns that a tab takes.
const TAB_WIDTH: usize = 4;

/// The columns shown before the place if the start of a long line is left out.
const CONTEXT_WIDTH: usize = 40;

/// The mark of text left out.
const CUT: char = '…';

/// A place in a text, by line and column.
struct Place<'a> {
    /// The line, from 1.
    line: usize,
    /// The column in characters, from 1.
    column: usize,
    /// The text of the line before, in and after the place.
    parts: [&'a str; 3],
}

impl<'a> Place<'a> {
    fn find(text: &'a str, at: &Range<usize>) -> Self {
        let start = floor_boundary(text, at.start);
        let (before, from) = text.split_at(start);
        let (head, before) = match before.rfind('\n') {
            Some(feed) => before.split_at(feed + 1),
            None => ("", before),
        };
        // A byte order mark is invisible and in no column.
        let before = if head.is_empty() { before.trim_start_matches('\u{feff}') } else { before };
        let rest = from.split('\n').next().unwrap_or("").trim_end_matches('\r');
        let end = floor_boundary(rest, at.end.saturating_sub(start).min(rest.len()));
        let (inside, after) = rest.split_at(end);
        Self {
            line: head.matches('\n').count() + 1,
            column: before.chars().count() + 1,
            parts: [before, inside, after],
        }
    }

    /// Renders the source line, cut to fit, and the line that marks the place.
    fn excerpt(&self) -> (String, String) {
        let [before, inside, after] = self.parts.map(cells);
        let start: usize = before.iter().map(|cell| cell.1).sum();
        let length = inside.iter().map(|cell| cell.1).sum::<usize>().max(1);
        let total = start + length + after.iter().map(|cell| cell.1).sum::<usize>();
        let cells = before.into_iter().chain(inside).chain(after);
        if total <= Problem::WIDTH_MAX {
            let source: String = cells.map(|cell| cell.0).collect();
            return (source.trim_end().to_owned(), marks(start, length));
        }
        let from = if start < Problem::WIDTH_MAX - CONTEXT_WIDTH { 0 } else { start - CONTEXT_WIDTH };
        let (source, shift) = window(cells, from, total);
        let start = start - from + shift;
        (source, marks(start, length.min(Problem::WIDTH_MAX.saturating_sub(start + 1).max(1))))
    }
}

/// Cuts a line to the cells from the column `from` on. Returns it with the columns of the mark at its start.
fn window(cells: impl Iterator<Item = (String, usize)>, from: usize, total: usize) -> (String, usize) {
    let shift = usize::from(from > 0);
    let room = Problem::WIDTH_MAX - 1 - shift;
    let mut source = if from > 0 { String::from(CUT) } else { String::new() };
    let (mut column, mut used) = (0, 0);
    for (text, width) in cells {
        if column >= from && used + width <= room {
            // A wide character that the cut would split leaves a gap.
            while used < column - from {
                source.push(' ');
                used += 1;
            }
            source.push_str(&text);
            used += width;
        }
        column += width;
        if column >= from + room {
            break;
        }
    }
    if total > from + used {
        source.push(CUT);
    }
    (source, shift)
}

/// Renders each character of a line with its width. Tabs are spaces; control characters are replaced.
fn cells(text: &str) -> Vec<(String, usize)> {
    let cell = |char: char| match char {
        '\t' => (" ".repeat(TAB_WIDTH), TAB_WIDTH),
        _ => match char.width() {
            Some(width) => (char.to_string(), width),
            None => ("\u{fffd}".to_owned(), 1),
        },
    };
    text.chars().map(cell).collect()
}

/// Writes control characters, which a message may repeat from the text, as escapes.
fn without_controls(message: &str) -> String {
    let mut out = String::new();
    for char in message.chars() {
        match char.is_control() {
            true => out.extend(char.escape_debug()),
            false => out.push(char),
        }
    }
    out
}

fn marks(start: usize, length: usize) -> String {
    format!("{}{}", " ".repeat(start), "^".repeat(length))
}

/// Returns the last place at or before `at` at which a character begins.
fn floor_boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}
