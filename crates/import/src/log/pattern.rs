//! A format of text: literal parts and fields, and a line taken apart by it.

use super::stamp::{Part, TimeField};

/// The parts of a format, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Pattern {
    pub(super) pieces: Vec<Piece>,
    pub(super) escape: Escape,
}

#[derive(Clone, Debug)]
pub(super) enum Piece {
    Literal(Vec<u8>),
    Field(Field),
}

/// The way in which odd bytes of a field are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Escape {
    /// `\x22` and, with Apache, `\"`.
    #[default]
    Backslash,
    /// As in strings of JSON.
    Json,
    /// Not at all.
    None,
}

/// The meaning of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Time(TimeField),
    /// A time that is not looked at.
    OtherTime {
        length: usize,
    },
    /// The time at which a load balancer received the request.
    Creation,
    /// Method, target and version.
    Request,
    Method,
    /// The target, or its path.
    Uri,
    /// The query with its question mark.
    Query,
    /// A question mark if there is a query.
    IsArgs,
    Args,
    Version,
    Status,
    Size,
    Duration(Unit),
    /// Part of the duration: several make it up.
    DurationPart,
    Client,
    ClientAndPort,
    /// The addresses that proxies have added, the client's first.
    Forwarded,
    Agent,
    User,
    Ignored {
        /// True if the value may be a list with blanks, as those about several upstream servers.
        is_list: bool,
    },
}

/// The unit of a logged duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Second,
    Millisecond,
    Microsecond,
}

/// The maximum number of pieces of a format.
pub(super) const PIECES_MAX: usize = 500;

/// The length of a time in the common log format.
const COMMON_TIME: usize = "10/Oct/2000:13:55:36 -0700".len();

/// The reason for which a line does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mismatch {
    /// The byte from which on it does not.
    pub(super) at: usize,
    pub(super) expected: String,
}

impl Pattern {
    /// Adds literal text.
    pub(super) fn literal(&mut self, text: &[u8]) {
        match self.pieces.last_mut() {
            _ if text.is_empty() => {}
            Some(Piece::Literal(last)) => last.extend_from_slice(text),
            _ => self.pieces.push(Piece::Literal(text.to_vec())),
        }
    }

    /// Adds a field, `shown` for messages.
    ///
    /// # Errors
    /// A sentence, if nothing tells where the field before ends.
    pub(super) fn field(&mut self, field: Field, shown: &str) -> Result<(), String> {
        if self.pieces.len() >= PIECES_MAX {
            return Err(format!("expected at most {PIECES_MAX} fields"));
        }
        if let Some(Piece::Field(last)) = self.pieces.last() {
            match (last, &field) {
                // The URI already has its query, or gets it as one text.
                (Field::Uri, Field::Query | Field::IsArgs | Field::Args) | (Field::IsArgs, Field::Args) => {
                    return Ok(());
                }
                (_, Field::Uri) => {}
                (Field::Time(time), _) if time.length().is_some() => {}
                _ => return Err(format!("expected text between two fields, got none before `{shown}`")),
            }
        }
        self.pieces.push(Piece::Field(field));
        Ok(())
    }

    fn fields(&self) -> impl Iterator<Item = &Field> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Field(field) => Some(field),
            Piece::Literal(_) => None,
        })
    }

    pub(super) fn tells_the_request(&self) -> bool {
        self.fields().any(|field| matches!(field, Field::Request | Field::Uri))
    }

    pub(super) fn tells_creation(&self) -> bool {
        self.fields().any(|field| *field == Field::Creation)
    }

    pub(super) fn tells_duration(&self) -> bool {
        self.fields().any(|field| matches!(field, Field::Duration(_) | Field::DurationPart))
    }

    /// Takes a line apart. `take` gets each field with its text, as it is written.
    ///
    /// # Errors
    /// The place from which on the line does not fit.
    pub(super) fn split<'l>(
        &self,
        line: &'l [u8],
        mut take: impl FnMut(&Field, &'l [u8]),
    ) -> Result<(), Mismatch> {
        let mut at = 0;
        let mut quoted = false;
        for (number, piece) in self.pieces.iter().enumerate() {
            let rest = line.get(at..).unwrap_or_default();
            let length = match piece {
                Piece::Literal(text) => {
                    if !rest.starts_with(text) {
                        let text = String::from_utf8_lossy(text);
                        return Err(Mismatch { at, expected: format!("`{text}`") });
                    }
                    quoted = text.ends_with(b"\"");
                    text.len()
                }
                Piece::Field(field) => {
                    let next = self.pieces.get(number + 1);
                    let length = self.length(field, next, rest, quoted);
                    let length = length.ok_or_else(|| Mismatch { at, expected: expected_end(next) })?;
                    take(field, rest.get(..length).unwrap_or_default());
                    quoted = false;
                    length
                }
            };
            at += length;
        }
        if at == line.len() {
            Ok(())
        } else {
            Err(Mismatch { at, expected: "the end of the line".to_owned() })
        }
    }

    /// The length of a field at the start of `rest`; `None` if its end is missing.
    fn length(&self, field: &Field, next: Option<&Piece>, rest: &[u8], quoted: bool) -> Option<usize> {
        let fixed = match field {
            Field::Time(time) => time.length(),
            Field::OtherTime { length } => Some(*length),
            _ => None,
        };
        if let Some(length) = fixed {
            return Some(length).filter(|&length| length <= rest.len());
        }
        match next {
            None => Some(rest.len()),
            Some(Piece::Field(_)) => memchr::memchr(b'/', rest),
            Some(Piece::Literal(text)) => {
                if quoted && text.starts_with(b"\"") && self.escape != Escape::None {
                    unescaped_quote(rest)
                        .filter(|&end| rest.get(end..).is_some_and(|rest| rest.starts_with(text)))
                } else if let Field::Time(TimeField::Parts { parts, .. }) = field {
                    end_of_parts(parts, rest, text)
                } else if matches!(field, Field::Ignored { is_list: true }) {
                    end_of_list(rest, text)
                } else if text.as_slice() == b" " {
                    memchr::memchr(b' ', rest)
                } else {
                    memchr::memmem::find(rest, text)
                }
            }
        }
    }
}

impl TimeField {
    /// The length of its text, if that is always the same and may hold blanks.
    pub(super) fn length(&self) -> Option<usize> {
        match self {
            Self::Common { bracketed, .. } => Some(COMMON_TIME + if *bracketed { 2 } else { 0 }),
            _ => None,
        }
    }
}

fn expected_end(next: Option<&Piece>) -> String {
    match next {
        Some(Piece::Literal(text)) => format!("a field that ends before `{}`", String::from_utf8_lossy(text)),
        Some(Piece::Field(_)) => "a field that ends before `/`".to_owned(),
        None => "a field".to_owned(),
    }
}

/// The place of the first quote that no backslash precedes.
fn unescaped_quote(text: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let found = memchr::memchr2(b'"', b'\\', text.get(from..)?)? + from;
        if text.get(found) == Some(&b'"') {
            return Some(found);
        }
        from = found + 2;
    }
}

/// The end of a time made of parts, before this text, which may be among the parts as well.
fn end_of_parts(parts: &[Part], text: &[u8], end: &[u8]) -> Option<usize> {
    let first = end.first()?;
    let within = parts.iter().filter(|part| matches!(part, Part::Text(byte) if byte == first)).count();
    let starts = memchr::memchr_iter(*first, text).skip(within);
    starts.into_iter().find(|&at| text.get(at..).is_some_and(|rest| rest.starts_with(end)))
}

/// The end of a list such as `0.001, 0.002 : 0.003`, before this text.
fn end_of_list(text: &[u8], end: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let found = memchr::memmem::find(text.get(from..)?, end)? + from;
        let before = text.get(..found)?;
        let behind = text.get(found + end.len()..)?;
        let goes_on = end.starts_with(b" ")
            && (before.ends_with(b",") || before.ends_with(b" :") || behind.starts_with(b": "));
        if !goes_on {
            return Some(found);
        }
        from = found + 1;
    }
}
