//! The extended log format of the W3C, which names its columns itself: those of IIS, separated by blanks, and those of
//! CloudFront, separated by tabs.
//!
//! <https://www.w3.org/TR/WD-logfile.html>

use std::time::Duration;

use crate::clock;
use crate::error::Flaw;

use super::Record;
use super::escapes::decoded;
use super::line::{NoRecord, Stamped, checked, is_status, number};
use super::pattern::Escape;

/// The columns of a log, as far as they are known.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    columns: Vec<Column>,
    /// The day of `#Date:`, for logs whose lines have the time alone.
    day: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Date,
    Time,
    Method,
    /// The path.
    Stem,
    /// The path with its query.
    Uri,
    Query,
    Version,
    Status,
    Size,
    Duration,
    Client,
    Forwarded,
    Agent,
    Other,
}

/// The maximum number of columns.
const COLUMNS_MAX: usize = 200;

impl Columns {
    /// Reads the names of columns.
    ///
    /// # Errors
    /// A sentence, if they do not tell the time and the request.
    pub(super) fn parse(names: &str) -> Result<Self, Flaw> {
        let columns: Vec<Column> = names.split_ascii_whitespace().take(COLUMNS_MAX).map(column).collect();
        let has = |column| columns.contains(&column);
        if !has(Column::Time) {
            return Err(Flaw::whole("expected columns with `time`, got none in `#Fields:`"));
        }
        if !has(Column::Stem) && !has(Column::Uri) {
            return Err(Flaw::whole(
                "expected columns with `cs-uri-stem` or `cs-uri`, got none in `#Fields:`",
            ));
        }
        Ok(Self { columns, day: None })
    }

    /// The columns that a line names, if it is one that does.
    pub(super) fn of_directive(line: &[u8]) -> Option<Result<Self, Flaw>> {
        let names = line.strip_prefix(b"#Fields:")?;
        Some(Self::parse(&String::from_utf8_lossy(names)))
    }

    pub(super) fn tell_duration(&self) -> bool {
        self.columns.contains(&Column::Duration)
    }

    /// Reads a line.
    pub(super) fn read(&mut self, line: &[u8]) -> Result<Stamped, NoRecord> {
        if line.starts_with(b"#") {
            return Err(self.take_directive(line));
        }
        if self.columns.is_empty() {
            return Err(NoRecord::Malformed("expected a line `#Fields:` before it".to_owned()));
        }
        let separator = if memchr::memchr(b'\t', line).is_some() { b'\t' } else { b' ' };
        let texts: Vec<&[u8]> = line.split(|byte| *byte == separator).collect();
        let (count, expected) = (texts.len(), self.columns.len());
        if count != expected {
            return Err(NoRecord::Malformed(format!("expected {expected} columns, got {count}")));
        }
        let text = |column: Column| {
            let mut pairs = self.columns.iter().zip(&texts);
            let found = pairs.find(|(known, _)| **known == column).map(|(_, text)| *text);
            found.filter(|text| !matches!(*text, b"-" | b""))
        };
        let day = match (text(Column::Date), &self.day) {
            (Some(day), _) => String::from_utf8_lossy(day).into_owned(),
            (None, Some(day)) => day.clone(),
            (None, None) => return Err(NoRecord::Malformed("expected a date, got none".to_owned())),
        };
        let time = String::from_utf8_lossy(text(Column::Time).unwrap_or_default()).into_owned();
        let instant = format!("{day}T{time}");
        let stamp = clock::from_rfc3339(instant.as_bytes());
        let stamp = stamp.ok_or_else(|| NoRecord::Malformed(format!("expected a time, got `{instant}`")))?;
        // Stamps are those of whole seconds.
        let stamp = stamp - stamp.rem_euclid(clock::SECOND);
        let mut target =
            text(Column::Stem).or_else(|| text(Column::Uri)).ok_or(NoRecord::NotARequest)?.to_vec();
        if let Some(query) = text(Column::Query)
            && !target.contains(&b'?')
        {
            target.push(b'?');
            target.extend_from_slice(query);
        }
        let (method, uri) = checked(text(Column::Method).unwrap_or(b"GET"), &target)?;
        let owned = |bytes: &[u8]| String::from_utf8_lossy(&decoded(bytes, Escape::None)).into_owned();
        let agent = text(Column::Agent).map(|agent| match separator {
            b'\t' => owned(&unquoted(agent)),
            _ => owned(agent).replace('+', " "),
        });
        let forwarded = text(Column::Forwarded).map(owned);
        let forwarded = forwarded.and_then(|list| {
            list.replace("%20", "").split([',', '+']).next().map(|first| first.trim().to_owned())
        });
        let record = Record {
            start: stamp,
            duration: text(Column::Duration).and_then(duration),
            method,
            uri,
            version: text(Column::Version).map(owned),
            status: text(Column::Status)
                .and_then(number)
                .and_then(|status| u16::try_from(status).ok())
                .filter(is_status),
            size: text(Column::Size).and_then(number),
            client: forwarded.or_else(|| text(Column::Client).map(owned)),
            agent,
            user: None,
        };
        Ok(Stamped { record, stamp, ends: true })
    }

    /// Takes a line about the log itself.
    fn take_directive(&mut self, line: &[u8]) -> NoRecord {
        if let Some(read) = Self::of_directive(line) {
            match read {
                Ok(Self { columns, .. }) => self.columns = columns,
                Err(flaw) => return NoRecord::Malformed(flaw.sentence),
            }
        } else if let Some(date) = line.strip_prefix(b"#Date:") {
            let date = String::from_utf8_lossy(date);
            self.day = date.split_ascii_whitespace().next().map(str::to_owned);
        }
        NoRecord::Directive
    }
}

fn column(name: &str) -> Column {
    match &name.to_ascii_lowercase()[..] {
        "date" => Column::Date,
        "time" => Column::Time,
        "cs-method" => Column::Method,
        "cs-uri-stem" => Column::Stem,
        "cs-uri" => Column::Uri,
        "cs-uri-query" => Column::Query,
        "cs-version" | "cs-protocol-version" => Column::Version,
        "sc-status" => Column::Status,
        "sc-bytes" | "bytes" => Column::Size,
        "time-taken" => Column::Duration,
        "c-ip" => Column::Client,
        "x-forwarded-for" | "cs(x-forwarded-for)" => Column::Forwarded,
        "cs(user-agent)" => Column::Agent,
        _ => Column::Other,
    }
}

/// Reads `time-taken`: IIS writes milliseconds, CloudFront seconds with a fraction.
fn duration(text: &[u8]) -> Option<Duration> {
    if !text.contains(&b'.') {
        return number(text).map(Duration::from_millis);
    }
    clock::from_seconds(text).and_then(|nanos| u64::try_from(nanos).ok()).map(Duration::from_nanos)
}

/// Undoes percent-encoding, which CloudFront does once or twice.
fn unquoted(text: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text).replace("%25", "%").replace('+', "%2B");
    crate::har::unquoted(&text).into_bytes()
}
