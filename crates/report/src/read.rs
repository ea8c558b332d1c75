//! Reading of saved documents: their kinds, and the errors that all of them share.

use std::fmt::{self, Display};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::json::{self, Misshapen};

/// Kind of a document. Its `format` field says which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Kind {
    /// Result of a run.
    #[serde(rename = "httperf-result")]
    Result,
    /// Runs at several rates.
    #[serde(rename = "httperf-sweep")]
    Sweep,
    /// Search for a capacity.
    #[serde(rename = "httperf-capacity")]
    Capacity,
    /// Comparison of results, or of two sides that took turns.
    #[serde(rename = "httperf-comparison")]
    Comparison,
    /// Variants of TLS.
    #[serde(rename = "httperf-tls-lab")]
    TlsLab,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Result, Self::Sweep, Self::Capacity, Self::Comparison, Self::TlsLab];

    /// Value of the `format` field.
    #[must_use]
    pub fn format(self) -> &'static str {
        match self {
            Self::Result => "httperf-result",
            Self::Sweep => "httperf-sweep",
            Self::Capacity => "httperf-capacity",
            Self::Comparison => "httperf-comparison",
            Self::TlsLab => "httperf-tls-lab",
        }
    }

    /// Newest version of its format, which is the one written. Older versions can be read. Within a version, fields may be
    /// added, but are never removed or redefined.
    #[must_use]
    pub fn version(self) -> u32 {
        1
    }

    /// Kind of this document, if it is one of ours.
    ///
    /// # Errors
    /// If it is not JSON.
    pub fn of(json: &[u8]) -> Result<Option<Self>, ReadError> {
        Head::of(json).map(|head| head.kind())
    }
}

/// Noun, such as `sweep`.
impl Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Result => "result",
            Self::Sweep => "sweep",
            Self::Capacity => "search for a capacity",
            Self::Comparison => "comparison",
            Self::TlsLab => "comparison of TLS variants",
        })
    }
}

/// Reason why a file cannot be read as a document of a kind.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file is not JSON.
    #[error("not JSON: {0}")]
    Json(serde_json::Error),
    /// The file is something else that a run has written.
    #[error("not a {0} of httperf, but {1}")]
    Companion(Kind, &'static str),
    /// The file is JSON, but none of our documents.
    #[error("not a {0} of httperf: its `format` is not `{format}`", format = .0.format())]
    Format(Kind),
    /// The file is another document of ours.
    #[error("not a {expected} of httperf, but a {found}")]
    Other {
        /// Kind that was expected.
        expected: Kind,
        /// Kind of the file.
        found: Kind,
    },
    /// The file has a version newer than this program.
    #[error("version {0} of the format is newer than this program, which reads up to {newest}", newest = .1.version())]
    Version(u64, Kind),
    /// The file does not have the shape of its kind.
    #[error("not a {0} of version {version}: {1}", version = .0.version())]
    Shape(Kind, Misshapen),
    /// A value is impossible.
    #[error("not a possible {0}: {1}")]
    Contents(Kind, String),
}

/// The kind of a file that a run has written beside its document, by its beginning.
fn companion(bytes: &[u8]) -> Option<&'static str> {
    const KNOWN: [(&[u8], &str); 5] = [
        (b"call,due_s,", "a table of calls (--calls)"),
        (b"<!DOCTYPE html>", "a page (--html), which was made of one (--output)"),
        (b"<?xml ", "a file of test cases (--junit)"),
        (b"<svg ", "a picture (--svg)"),
        (b"Value ", "a distribution of latency (--hgrm)"),
    ];
    let line = bytes.split(|&byte| byte == b'\n').next()?;
    let is_interval = |line: &[u8]| {
        let line: Option<serde_json::Map<String, serde_json::Value>> = serde_json::from_slice(line).ok();
        line.is_some_and(|line| ["from_s", "length_s", "phase"].iter().all(|name| line.contains_key(*name)))
    };
    if is_interval(line) {
        return Some("a log of intervals (--interval-log), a line of JSON for each second of a run");
    }
    KNOWN.iter().find(|(start, _)| line.trim_ascii_start().starts_with(start)).map(|&(_, what)| what)
}

/// Fields that every version of every kind has.
#[derive(Deserialize)]
struct Head {
    format: Option<serde_json::Value>,
    version: Option<serde_json::Value>,
}

impl Head {
    fn of(json: &[u8]) -> Result<Self, ReadError> {
        serde_json::from_slice(json).or_else(|error| match error.classify() {
            serde_json::error::Category::Data => Ok(Self { format: None, version: None }),
            _ => Err(match companion(json) {
                Some(what) => ReadError::Companion(Kind::Result, what),
                None => ReadError::Json(error),
            }),
        })
    }

    fn kind(&self) -> Option<Kind> {
        let format = self.format.as_ref()?.as_str()?;
        Kind::ALL.into_iter().find(|kind| kind.format() == format)
    }
}

/// Reads the fields of a document of this kind. Other fields are ignored.
pub(crate) fn fields<T: DeserializeOwned>(kind: Kind, json: &[u8]) -> Result<T, ReadError> {
    let head = Head::of(json)?;
    match head.kind() {
        Some(found) if found == kind => {}
        Some(found) => return Err(ReadError::Other { expected: kind, found }),
        None => {
            let what = companion(json).map(|what| ReadError::Companion(kind, what));
            return Err(what.unwrap_or(ReadError::Format(kind)));
        }
    }
    let version = head.version.as_ref().and_then(serde_json::Value::as_u64);
    if let Some(newer) = version.filter(|&version| version > u64::from(kind.version())) {
        return Err(ReadError::Version(newer, kind));
    }
    json::read(json).map_err(|wrong| ReadError::Shape(kind, wrong))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_writes_beside_its_document_is_known() {
        let line = r#"{"from_s":0.0,"length_s":1.0,"phase":"measured"}"#;
        for (text, expected) in [
            (line.to_owned(), Some("a log of intervals (--interval-log)")),
            (format!("{line}\n{line}\n"), Some("a log of intervals (--interval-log)")),
            ("call,due_s,sent_s\n".to_owned(), Some("a table of calls (--calls)")),
            ("{\"a\": 1}".to_owned(), None),
            ("nonsense".to_owned(), None),
        ] {
            let found = companion(text.as_bytes());
            let is_so = match (found, expected) {
                (Some(found), Some(expected)) => found.starts_with(expected),
                (found, expected) => found == expected,
            };
            assert!(is_so, "{text}: {found:?}");
        }
    }
}
