//! The reasons for which a recording cannot be read at all.

use std::io;

use thiserror::Error;

/// The reason for which a recording cannot be read.
#[derive(Debug, Error)]
pub enum Error {
    /// The stream failed.
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
    /// The result could not be written.
    #[error("cannot be written: {0}")]
    Write(io::Error),
    /// The input, or an option about it, is not as expected.
    #[error("{0}")]
    Input(#[from] Flaw),
}

/// A flaw of the input: its place, if it has one, and a sentence about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The line, counted from 1.
    pub line: Option<u64>,
    /// The column in bytes, counted from 1.
    pub column: Option<u64>,
    /// The sentence, without a full stop.
    pub sentence: String,
    /// The remedy, if one is known.
    pub hint: Option<String>,
}

impl Flaw {
    /// A flaw of the whole input.
    #[must_use]
    pub fn whole(sentence: impl Into<String>) -> Self {
        Self { line: None, column: None, sentence: sentence.into(), hint: None }
    }

    /// A flaw of a line.
    #[must_use]
    pub fn at(line: u64, sentence: impl Into<String>) -> Self {
        Self { line: Some(line), ..Self::whole(sentence) }
    }

    /// Adds the column.
    #[must_use]
    pub fn column(mut self, column: usize) -> Self {
        self.column = u64::try_from(column).ok();
        self
    }

    /// Adds a remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Describes an error of the JSON parser. `line` is that of the document's first line.
    pub(crate) fn json(error: &serde_json::Error, line: u64) -> Self {
        let text = error.to_string();
        let sentence = text.rsplit_once(" at line ").map_or(&text[..], |(sentence, _)| sentence);
        let flaw = Self::whole(sentence);
        match u64::try_from(error.line()) {
            Ok(within) if within > 0 => {
                Self { line: Some(line.saturating_add(within - 1)), ..flaw }.column(error.column())
            }
            _ => flaw,
        }
    }
}

impl std::error::Error for Flaw {}

impl std::fmt::Display for Flaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
            if let Some(column) = self.column {
                write!(f, "{column}:")?;
            }
            f.write_str(" ")?;
        }
        f.write_str(&self.sentence)
    }
}

impl Error {
    /// The whole message about a file of this name, with the remedy on a line of its own.
    #[must_use]
    pub fn about(&self, file: &str) -> String {
        match self {
            Self::Read(_) | Self::Write(_) => format!("{file}: {self}"),
            Self::Input(flaw) => {
                let separator = if flaw.line.is_some() { ":" } else { ": " };
                let hint = flaw.hint.as_ref().map_or_else(String::new, |hint| format!("\nhint: {hint}"));
                format!("{file}{separator}{flaw}{hint}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_file_the_place_and_the_remedy() {
        let flaw = Flaw::at(3, "expected a number, got `x`");
        for (flaw, message) in [
            (Flaw::whole("expected a log, got none"), "a.log: expected a log, got none"),
            (flaw.clone(), "a.log:3: expected a number, got `x`"),
            (flaw.column(7).hint("use another"), "a.log:3:7: expected a number, got `x`\nhint: use another"),
        ] {
            assert_eq!(Error::from(flaw).about("a.log"), message);
        }
    }
}
