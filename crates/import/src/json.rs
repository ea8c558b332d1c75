//! JSON as careless programs write it, turned into JSON that a parser takes.
//!
//! In strings: halves of characters (`\ud83d` without its other half), unknown escapes, control characters and bytes
//! that are not UTF-8. Outside: `NaN` and `Infinity`. All else is handed on as it is.

use std::io::{self, Read};

/// The size of the reads of the source.
const BUFFER: usize = 64 * 1024;

/// A stream of JSON without what only careless programs write.
#[derive(Debug)]
pub(crate) struct Mended<R> {
    source: R,
    /// Bytes of the source that are not looked at yet.
    pending: Vec<u8>,
    /// Bytes to hand on, and the number of those that have been.
    ready: Vec<u8>,
    taken: usize,
    in_string: bool,
    is_end: bool,
}

/// A piece at a place of the source: its length, and its replacement.
enum Unit {
    /// It stays as it is.
    Kept(usize),
    /// Another text takes its place.
    Replaced(usize, &'static [u8]),
    /// Further bytes must tell.
    Unknown,
}

/// The escape of the character that stands for one that cannot be known.
const REPLACEMENT: &[u8] = b"\\ufffd";

impl<R: Read> Mended<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, pending: Vec::new(), ready: Vec::new(), taken: 0, in_string: false, is_end: false }
    }

    /// Reads from the source, and mends what can be.
    fn fill(&mut self) -> io::Result<()> {
        let mut buffer = [0; BUFFER];
        let count = match self.source.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            other => other?,
        };
        self.is_end = count == 0;
        self.pending.extend_from_slice(buffer.get(..count).unwrap_or_default());
        self.ready.clear();
        self.taken = 0;
        let pending = std::mem::take(&mut self.pending);
        let mut rest = &pending[..];
        while let Some(&first) = rest.first() {
            let unit = if self.in_string { self.in_string(rest) } else { self.outside(rest) };
            let length = match unit {
                Unit::Kept(length) => {
                    self.ready.extend_from_slice(rest.get(..length).unwrap_or_default());
                    length
                }
                Unit::Replaced(length, text) => {
                    self.ready.extend_from_slice(text);
                    length
                }
                Unit::Unknown if self.is_end => {
                    self.ready.push(first);
                    1
                }
                Unit::Unknown => break,
            };
            rest = rest.get(length..).unwrap_or_default();
        }
        self.pending = rest.to_vec();
        Ok(())
    }

    fn outside(&mut self, rest: &[u8]) -> Unit {
        const WORDS: [&[u8]; 3] = [b"NaN", b"Infinity", b"-Infinity"];
        let is_special = |byte: &u8| matches!(byte, b'"' | b'N' | b'I' | b'-');
        match rest.iter().position(is_special) {
            None => Unit::Kept(rest.len()),
            Some(0) if rest.starts_with(b"\"") => {
                self.in_string = true;
                Unit::Kept(1)
            }
            Some(0) => match WORDS.iter().find(|word| rest.starts_with(word)) {
                Some(word) => Unit::Replaced(word.len(), b"null"),
                None if WORDS.iter().any(|word| word.starts_with(rest)) => Unit::Unknown,
                None => Unit::Kept(1),
            },
            Some(at) => Unit::Kept(at),
        }
    }

    fn in_string(&mut self, rest: &[u8]) -> Unit {
        let is_plain = |byte: &u8| (0x20..0x7f).contains(byte) && !matches!(byte, b'"' | b'\\');
        match rest.iter().position(|byte| !is_plain(byte)) {
            None => return Unit::Kept(rest.len()),
            Some(0) => {}
            Some(at) => return Unit::Kept(at),
        }
        match rest.first() {
            Some(b'"') => {
                self.in_string = false;
                Unit::Kept(1)
            }
            Some(b'\\') => escape(rest),
            Some(b'\n') => Unit::Replaced(1, b"\\n"),
            Some(b'\r') => Unit::Replaced(1, b"\\r"),
            Some(b'\t') => Unit::Replaced(1, b"\\t"),
            Some(0..=0x1f) => Unit::Replaced(1, REPLACEMENT),
            Some(0x7f) => Unit::Kept(1),
            _ => character(rest),
        }
    }
}

/// A character of several bytes.
fn character(rest: &[u8]) -> Unit {
    let longest = rest.get(..rest.len().min(4)).unwrap_or_default();
    match std::str::from_utf8(longest) {
        Ok(text) => Unit::Kept(text.chars().next().map_or(1, char::len_utf8)),
        Err(error) if error.valid_up_to() > 0 => {
            let valid = longest.get(..error.valid_up_to()).unwrap_or_default();
            let first = std::str::from_utf8(valid).ok().and_then(|text| text.chars().next());
            Unit::Kept(first.map_or(1, char::len_utf8))
        }
        Err(error) => match error.error_len() {
            Some(length) => Unit::Replaced(length, REPLACEMENT),
            // It is not complete.
            None => Unit::Unknown,
        },
    }
}

/// An escape, or both escapes of a character that takes two.
fn escape(rest: &[u8]) -> Unit {
    match rest.get(1) {
        None => Unit::Unknown,
        Some(b'u') => match code(rest) {
            Code::Unit(0xd800..=0xdbff) => match rest.get(6..).map(code) {
                Some(Code::Unit(0xdc00..=0xdfff)) => Unit::Kept(12),
                Some(Code::Cut) | None => Unit::Unknown,
                Some(_) => Unit::Replaced(6, REPLACEMENT),
            },
            Code::Unit(0xdc00..=0xdfff) => Unit::Replaced(6, REPLACEMENT),
            Code::Unit(_) => Unit::Kept(6),
            Code::Cut => Unit::Unknown,
            Code::Other => Unit::Replaced(1, b"\\\\"),
        },
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Unit::Kept(2),
        // An escape of another language: the backslash was meant.
        Some(_) => Unit::Replaced(1, b"\\\\"),
    }
}

/// The start of a text, read as `\uXXXX`.
enum Code {
    Unit(u16),
    /// It may become one.
    Cut,
    Other,
}

fn code(text: &[u8]) -> Code {
    let start = text.get(..text.len().min(2)).unwrap_or_default();
    if !b"\\u".starts_with(start) {
        return Code::Other;
    }
    let digits = text.get(2..text.len().min(6)).unwrap_or_default();
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return Code::Other;
    }
    if digits.len() < 4 {
        return Code::Cut;
    }
    let unit = std::str::from_utf8(digits).ok().and_then(|digits| u16::from_str_radix(digits, 16).ok());
    unit.map_or(Code::Other, Code::Unit)
}

impl<R: Read> Read for Mended<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.ready.len() && !(self.is_end && self.pending.is_empty()) {
            self.fill()?;
        }
        let rest = self.ready.get(self.taken..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        self.taken += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    /// A stream that is read in pieces of this size.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let (piece, rest) = self.0.split_at(self.1.min(self.0.len()).min(buffer.len()));
            buffer[..piece.len()].copy_from_slice(piece);
            self.0 = rest;
            Ok(piece.len())
        }
    }

    fn mended(text: &[u8], size: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        Mended::new(Pieces(text, size)).read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[track_caller]
    fn check(text: &[u8], expected: &str) {
        for size in 1..=text.len() {
            let value: Value = serde_json::from_slice(&mended(text, size)).unwrap();
            assert_eq!(value, Value::from(expected), "{text:?} by {size}");
        }
    }

    #[test]
    fn strings_that_no_parser_takes_are_mended() {
        for (text, expected) in [
            (&br#""nice \ud83d""#[..], "nice \u{fffd}"),
            (br#""\ud83d\ude00 \uD83D x""#, "\u{1f600} \u{fffd} x"),
            (br#""\ude00\ud83d\ud83d\ude00""#, "\u{fffd}\u{fffd}\u{1f600}"),
            (br#""\ud83d\n\u0041""#, "\u{fffd}\nA"),
            (br#""a\x41 \' \u12 \\""#, "a\\x41 \\' \\u12 \\"),
            (b"\"caf\xe9 caf\xc3\xa9\"", "caf\u{fffd} caf\u{e9}"),
            (b"\"\xf0\x9f\x98\"", "\u{fffd}"),
            (b"\"a\nb\tc\r\x01\x7f\"", "a\nb\tc\r\u{fffd}\u{7f}"),
        ] {
            check(text, expected);
        }
    }

    #[test]
    fn numbers_that_are_none_are_null() {
        let text = br#"{"a": NaN, "b": [-Infinity, Infinity, -1], "NaN": "NaN -Infinity"}"#;
        for size in 1..=text.len() {
            let value: Value = serde_json::from_slice(&mended(text, size)).unwrap();
            let expected = serde_json::json!({"a": null, "b": [null, null, -1], "NaN": "NaN -Infinity"});
            assert_eq!(value, expected, "by {size}");
        }
    }

    proptest! {
        #[test]
        fn what_a_parser_takes_stays_as_it_is(value in crate::workload::reread::json(), size in 1usize..50) {
            let text = value.to_string();
            prop_assert_eq!(mended(text.as_bytes(), size), text.as_bytes());
        }

        #[test]
        fn any_string_becomes_one_that_a_parser_takes(inner in any::<Vec<u8>>(), size in 1usize..50) {
            let inner: Vec<u8> = inner.into_iter().filter(|byte| !matches!(byte, b'"')).collect();
            let text = [b"\"", &inner[..], b"x\""].concat();
            let read = serde_json::from_slice::<String>(&mended(&text, size));
            prop_assert!(read.is_ok(), "{:?}", read);
        }
    }
}
