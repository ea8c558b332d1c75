//! Compiled texts: literals, and what each call fills in.

use std::fmt;
use std::io::Write;
use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Datelike as _, Timelike as _, Utc};
use httperf_plan::scenario::{Coding, StepText, TextPart, Value};

use super::filter::{CompiledFilter, filtered};
use super::look::Malformed;
use super::scratch::Scratch;
use super::value::{Found, View};
use crate::draws::Draws;

/// The maximum depth of texts within texts: those that are encoded, and those in filters of variables.
const DEPTH_MAX: usize = 16;

/// A compiled [`StepText`].
#[derive(Debug)]
pub struct Text<'p> {
    segments: Box<[Segment<'p>]>,
    /// All of it, if there is nothing to fill in and it is UTF-8.
    literal: Option<&'p str>,
}

/// The sources of what a text fills in.
pub struct Filling<'a> {
    /// The values of the variables, by slot.
    pub values: &'a [Option<Value>],
    /// Random numbers.
    pub draws: &'a mut Draws,
    /// The time of the call; asked only if a text contains it.
    pub now: &'a mut dyn FnMut() -> SystemTime,
}

/// A variable that a text cannot fill in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unset {
    /// Its slot.
    pub slot: u32,
    /// Reason why it cannot be filled in.
    pub lack: Lack,
}

/// Reason for which a variable cannot be filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// It has no value.
    Value,
    /// Its value is a list.
    List,
    /// Its value is an object.
    Object,
    /// Its value is bytes.
    Bytes,
    /// A filter on the way does not apply to its value, or finds nothing.
    Filter,
    /// Its value follows the name of a server, and is no path: it does not begin with a slash.
    Path,
}

#[derive(Debug)]
enum Segment<'p> {
    Literal(&'p [u8]),
    Variable { slot: u32, filters: Box<[CompiledFilter<'p>]> },
    Pick(&'p [Vec<u8>]),
    Uuid,
    Date,
    Encoded { coding: Coding, text: Text<'p> },
}

impl<'p> Text<'p> {
    /// Compiles a text. Fails if a filter contains a malformed regular expression or path, and if texts are nested too
    /// deeply.
    pub fn new(source: &'p StepText) -> Result<Self, Malformed> {
        Self::nested(source, 0)
    }

    /// Compiles a text at this depth of texts.
    pub(super) fn nested(source: &'p StepText, depth: usize) -> Result<Self, Malformed> {
        if depth > DEPTH_MAX {
            return Err(Malformed {
                origin: None,
                text: String::new(),
                reason: format!("texts are nested deeper than {DEPTH_MAX}"),
            });
        }
        let compile = |part| Segment::new(part, depth + 1);
        let mut text =
            Self { segments: source.parts.iter().map(compile).collect::<Result<_, _>>()?, literal: None };
        text.literal = text.as_literal().and_then(|bytes| std::str::from_utf8(bytes).ok());
        Ok(text)
    }

    /// Returns the bytes if there is nothing to fill in.
    #[must_use]
    pub fn as_literal(&self) -> Option<&'p [u8]> {
        match &self.segments[..] {
            [] => Some(b""),
            [Segment::Literal(bytes)] => Some(bytes),
            _ => None,
        }
    }

    /// Returns the slot of the first variable.
    pub(super) fn first_variable(&self) -> Option<u32> {
        self.segments.iter().find_map(|segment| match segment {
            Segment::Variable { slot, .. } => Some(*slot),
            Segment::Encoded { text, .. } => text.first_variable(),
            _ => None,
        })
    }

    /// Returns the text if there is nothing to fill in and it is UTF-8.
    pub(super) fn as_literal_text(&self) -> Option<&'p str> {
        self.literal
    }

    /// Appends the text to `out`, filled in. After a failure, a part of it may have been appended.
    pub fn write(&self, fill: &mut Filling<'_>, out: &mut Vec<u8>) -> Result<(), Unset> {
        self.segments.iter().try_for_each(|segment| segment.write(fill, out))
    }
}

impl<'p> Segment<'p> {
    fn new(part: &'p TextPart, depth: usize) -> Result<Self, Malformed> {
        Ok(match part {
            TextPart::Literal(bytes) => Self::Literal(bytes),
            TextPart::Variable { slot, filters } => {
                Self::Variable { slot: *slot, filters: CompiledFilter::all(filters, depth)? }
            }
            TextPart::Pick(choices) => Self::Pick(choices),
            TextPart::Uuid => Self::Uuid,
            TextPart::Date => Self::Date,
            TextPart::Encoded { coding, text } => match Text::nested(text, depth)? {
                // Hexadecimal digits and hyphens are the same in these codings.
                Text { segments, .. }
                    if *coding != Coding::Base64 && matches!(segments[..], [Self::Uuid]) =>
                {
                    Self::Uuid
                }
                text => Self::Encoded { coding: *coding, text },
            },
        })
    }

    fn write(&self, fill: &mut Filling<'_>, out: &mut Vec<u8>) -> Result<(), Unset> {
        match self {
            Self::Literal(bytes) => out.extend_from_slice(bytes),
            Self::Variable { slot, filters } => {
                write_variable(*slot, filters, fill, out).map_err(|lack| Unset { slot: *slot, lack })?;
            }
            Self::Pick(choices) => {
                let last = choices.len().saturating_sub(1) as u64;
                let choice = choices.get(fill.draws.between(0, last) as usize);
                out.extend_from_slice(choice.map_or(b"", Vec::as_slice));
            }
            Self::Uuid => write_uuid(fill.draws.uuid(), out),
            Self::Date => write_date((fill.now)(), out),
            Self::Encoded { coding, text } => {
                let start = out.len();
                text.write(fill, out)?;
                encode(*coding, start, out);
            }
        }
        Ok(())
    }
}

fn write_variable(
    slot: u32,
    filters: &[CompiledFilter<'_>],
    fill: &mut Filling<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Lack> {
    let values = fill.values;
    let value = values.get(slot as usize).and_then(Option::as_ref).ok_or(Lack::Value)?;
    let written = |view: View<'_>, out: &mut Vec<u8>| write_value(view, out).ok_or_else(|| Lack::of(view));
    if filters.is_empty() {
        return written(View::from(value), out);
    }
    // Its buffers stay empty unless a filter has something to fill in.
    let mut scratch = Scratch::default();
    let found = filtered(filters, Found::Known(value), fill, &mut scratch);
    written(found.ok().flatten().ok_or(Lack::Filter)?.view(), out)
}

impl Lack {
    /// Reason for which a value cannot be written.
    fn of(value: View<'_>) -> Self {
        match value {
            View::List(_) => Self::List,
            View::Object(_) => Self::Object,
            _ => Self::Bytes,
        }
    }
}

/// Writes a value as Hurl does; `None` for what it does not write: bytes, lists and objects.
pub(super) fn write_value(value: View<'_>, out: &mut Vec<u8>) -> Option<()> {
    match value {
        View::Text(text) | View::BigInteger(text) => out.extend_from_slice(text.as_bytes()),
        View::Integer(number) => write_integer(number, out),
        View::Float(number) => {
            let is_written =
                if number.fract() == 0.0 { write!(out, "{number}.0") } else { write!(out, "{number}") };
            is_written.ok()?;
        }
        View::Boolean(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
        View::Null => out.extend_from_slice(b"null"),
        View::Bytes(_) | View::List(_) | View::Object(_) => return None,
    }
    Some(())
}

fn write_integer(number: i64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    let mut rest = number.unsigned_abs();
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[start..]);
}

fn write_uuid(uuid: u128, out: &mut Vec<u8>) {
    let mut digits = [0; 32];
    for (byte, pair) in uuid.to_be_bytes().into_iter().zip(digits.as_chunks_mut().0) {
        *pair = [byte >> 4, byte & 0xF];
    }
    for digit in &mut digits {
        *digit += if *digit < 10 { b'0' } else { b'a' - 10 };
    }
    let mut text = [b'-'; 36];
    for (place, range) in [(0, 0..8), (9, 8..12), (14, 12..16), (19, 16..20), (24, 20..32)] {
        text[place..place + range.len()].copy_from_slice(&digits[range]);
    }
    out.extend_from_slice(&text);
}

/// Writes a time to the microsecond, such as `2024-12-02T10:35:44.461731Z`.
fn write_date(time: SystemTime, out: &mut Vec<u8>) {
    let date = DateTime::<Utc>::from(time);
    write_padded(u32::try_from(date.year()).unwrap_or_default(), 4, out);
    let fields = [
        (b'-', date.month()),
        (b'-', date.day()),
        (b'T', date.hour()),
        (b':', date.minute()),
        (b':', date.second()),
    ];
    for (separator, number) in fields {
        out.push(separator);
        write_padded(number, 2, out);
    }
    out.push(b'.');
    write_padded(date.timestamp_subsec_micros(), 6, out);
    out.push(b'Z');
}

fn write_padded(number: u32, width: u32, out: &mut Vec<u8>) {
    for place in (0..width).rev() {
        out.push(b'0' + (number / 10_u32.pow(place) % 10) as u8);
    }
}

/// Encodes what follows `start`. The result is written behind it and moved, so that no other buffer is needed.
fn encode(coding: Coding, start: usize, out: &mut Vec<u8>) {
    let end = out.len();
    match coding {
        Coding::Query | Coding::Form => {
            let is_kept = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
            if out[start..].iter().all(is_kept) {
                return;
            }
            for place in start..end {
                push_encoded(coding, out[place], out);
            }
        }
        Coding::Url => {
            let is_kept = |byte: &u8| byte.is_ascii_graphic() && !b"\"#<>`{}".contains(byte);
            if out[start..].iter().all(is_kept) {
                return;
            }
            for place in start..end {
                match out[place] {
                    byte if is_kept(&byte) => out.push(byte),
                    byte => push_percent(byte, out),
                }
            }
        }
        Coding::Json => {
            let is_kept = |byte: &u8| *byte >= b' ' && !b"\"\\".contains(byte);
            if out[start..].iter().all(is_kept) {
                return;
            }
            for place in start..end {
                push_json(out[place], out);
            }
        }
        Coding::Base64 => {
            let size = base64::encoded_len(end - start, true).unwrap_or_default();
            out.resize(end + size, 0);
            let (plain, encoded) = out.split_at_mut(end);
            STANDARD
                .encode_slice(&plain[start..], encoded)
                .expect("the room is as large as the encoded form");
        }
    }
    out.drain(start..end);
}

/// Returns the forms that a text has in URLs.
pub(super) fn in_url(text: &[u8]) -> [Vec<u8>; 3] {
    [Coding::Url, Coding::Query, Coding::Form].map(|coding| {
        let mut encoded = text.to_vec();
        encode(coding, 0, &mut encoded);
        encoded
    })
}

fn push_encoded(coding: Coding, byte: u8, out: &mut Vec<u8>) {
    let is_kept = match byte {
        b'-' | b'_' | b'.' => true,
        b'~' => coding == Coding::Query,
        b'*' => coding == Coding::Form,
        byte => byte.is_ascii_alphanumeric(),
    };
    if is_kept {
        out.push(byte);
    } else if byte == b' ' && coding == Coding::Form {
        out.push(b'+');
    } else {
        push_percent(byte, out);
    }
}

fn push_percent(byte: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 0xF)]]);
}

/// Writes a byte of a JSON string (RFC 8259, section 7).
fn push_json(byte: u8, out: &mut Vec<u8>) {
    match byte {
        b'"' | b'\\' => out.extend([b'\\', byte]),
        b'\n' => out.extend(b"\\n"),
        b'\r' => out.extend(b"\\r"),
        b'\t' => out.extend(b"\\t"),
        ..0x20 => {
            out.extend(b"\\u00");
            out.extend([b'0' + (byte >> 4), b"0123456789abcdef"[usize::from(byte & 0xF)]]);
        }
        _ => out.push(byte),
    }
}

impl fmt::Debug for Filling<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filling").field("values", &self.values).finish_non_exhaustive()
    }
}
