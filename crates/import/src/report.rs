//! The account of an import: what was carried over, what was left out and why, and what to know about it.

use std::fmt;

/// The account of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of requests, or operations, that were carried over.
    pub carried: u64,
    /// Those that were left out, by reason, in the order in which the reasons came up.
    pub left_out: Vec<LeftOut>,
    /// Sentences about the recording and about what differs from it.
    pub notes: Vec<String>,
}

/// Requests that were left out for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The reason, in a few words that follow a number: `left out 3: requests to other origins`.
    pub reason: String,
    /// The number of requests, lines or entries.
    pub count: u64,
    /// The first few of them, at most [`EXAMPLES_MAX`].
    pub examples: Vec<String>,
}

/// The maximum number of examples that are kept for a reason.
pub const EXAMPLES_MAX: usize = 3;

/// The maximum number of different reasons; further ones are counted under one.
const REASONS_MAX: usize = 50;

/// The maximum number of notes.
const NOTES_MAX: usize = 50;

/// The number of columns that a displayed report has at most.
const WIDTH: usize = 80;

impl Report {
    /// Counts something that is left out. `example` is called only while examples are wanted.
    pub fn leave_out(&mut self, reason: &str, example: impl FnOnce() -> String) {
        self.leave_out_many(reason, 1, example);
    }

    /// Counts several things that are left out, with one example.
    pub(crate) fn leave_out_many(&mut self, reason: &str, count: u64, example: impl FnOnce() -> String) {
        let full = self.left_out.len() >= REASONS_MAX;
        let found = self.left_out.iter().position(|group| group.reason == reason);
        let at = found.or_else(|| full.then_some(REASONS_MAX - 1)).unwrap_or_else(|| {
            self.left_out.push(LeftOut { reason: reason.to_owned(), count: 0, examples: Vec::new() });
            self.left_out.len() - 1
        });
        let Some(group) = self.left_out.get_mut(at) else { return };
        group.count = group.count.saturating_add(count);
        if group.examples.len() < EXAMPLES_MAX {
            group.examples.push(example());
        }
    }

    /// Adds a note unless it is there.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if self.notes.len() < NOTES_MAX && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The number of those that were left out for any reason.
    #[must_use]
    pub fn left_out_count(&self) -> u64 {
        self.left_out.iter().map(|group| group.count).sum()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "carried over: {}", self.carried)?;
        for LeftOut { reason, count, examples } in &self.left_out {
            wrapped(f, &format!("left out {count}: "), reason)?;
            for example in examples {
                writeln!(f, "  {}", shortened(example, WIDTH - 2))?;
            }
        }
        for note in &self.notes {
            wrapped(f, "note: ", note)?;
        }
        Ok(())
    }
}

/// Writes a sentence behind a label, over as many lines as it takes.
fn wrapped(f: &mut fmt::Formatter<'_>, label: &str, sentence: &str) -> fmt::Result {
    let mut line = label.trim_end().to_owned();
    for word in sentence.split_whitespace() {
        let word = shortened(word, WIDTH - 2);
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            writeln!(f, "{line}")?;
            line = format!("  {word}");
        } else {
            line.push(' ');
            line.push_str(&word);
        }
    }
    writeln!(f, "{line}")
}

/// The text on one line, with an ellipsis in place of what is too long. Characters that a terminal may act upon are
/// replaced.
pub(crate) fn shortened(text: &str, width: usize) -> String {
    let mut shown: String = text
        .chars()
        .take(width)
        .map(|letter| if letter.is_control() { '\u{fffd}' } else { letter })
        .collect();
    if text.chars().nth(width).is_some() {
        shown.pop();
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_fits_80_columns() {
        let mut report = Report { carried: 12, ..Report::default() };
        for number in 0..5 {
            report.leave_out("requests to other origins", || format!("{number} {}", "x".repeat(100)));
        }
        report.note("word ".repeat(40));
        report.note("long".repeat(50));
        let text = report.to_string();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(
            text.starts_with("carried over: 12\nleft out 5: requests to other origins\n  0 xxx"),
            "{text}"
        );
        assert_eq!(text.matches('…').count(), 4, "{text}");
        assert_eq!(report.left_out_count(), 5);
    }

    #[test]
    fn reasons_and_notes_are_bounded() {
        let mut report = Report::default();
        for number in 0..1000 {
            report.leave_out(&format!("reason {number}"), String::new);
            report.note(format!("note {number}"));
        }
        assert_eq!((report.left_out.len(), report.notes.len()), (REASONS_MAX, NOTES_MAX));
        assert_eq!(report.left_out_count(), 1000);
    }

    #[test]
    fn a_terminal_is_not_sent_control_characters() {
        let mut report = Report::default();
        report.leave_out("lines", || "\u{1b}[31mred\n".to_owned());
        assert!(report.to_string().contains("\n  \u{fffd}[31mred\u{fffd}\n"));
    }
}
