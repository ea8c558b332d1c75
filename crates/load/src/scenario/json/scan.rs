//! Passes over JSON without building values, and reads single values.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use compact_str::CompactString;
use httperf_plan::scenario::Value;

use super::super::value::Found;
use super::{Document, brackets, value_of};

/// A place in a document.
#[derive(Debug)]
pub(super) struct Scanner<'d> {
    document: &'d [u8],
    position: usize,
}

/// The name of a member, without its quotes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name<'d> {
    raw: &'d [u8],
    has_escapes: bool,
}

impl<'d> Scanner<'d> {
    pub(super) fn new(document: &'d [u8]) -> Self {
        Self { document, position: 0 }
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// Passes blanks and returns the next byte.
    pub(super) fn peek(&mut self) -> Option<u8> {
        loop {
            match *self.document.get(self.position)? {
                b' ' | b'\n' | b'\r' | b'\t' => self.position += 1,
                byte => return Some(byte),
            }
        }
    }

    /// Passes an opening bracket, and the closing one if it follows. Returns true if there are elements.
    pub(super) fn open(&mut self, closing: u8) -> Option<bool> {
        self.position += 1;
        let goes_on = self.peek()? != closing;
        self.position += usize::from(!goes_on);
        Some(goes_on)
    }

    /// Passes a comma or the closing bracket. Returns true if another element follows.
    pub(super) fn goes_on(&mut self, closing: u8) -> Option<bool> {
        let byte = self.peek()?;
        self.position += 1;
        match byte {
            b',' => Some(true),
            byte if byte == closing => Some(false),
            _ => None,
        }
    }

    /// Passes a name and the colon after it.
    pub(super) fn name(&mut self) -> Option<Name<'d>> {
        if self.peek()? != b'"' {
            return None;
        }
        let start = self.position + 1;
        let has_escapes = self.skip_string()?;
        let raw = self.document.get(start..self.position - 1)?;
        let colon = self.peek()?;
        self.position += 1;
        (colon == b':').then_some(Name { raw, has_escapes })
    }

    /// Passes a value.
    pub(super) fn skip_value(&mut self) -> Option<()> {
        match self.peek()? {
            b'"' => self.skip_string().map(drop),
            b'{' | b'[' => self.skip_brackets(),
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => {
                let rest = self.document.get(self.position..)?;
                let is_end = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\n' | b'\r' | b'\t');
                self.position += rest.iter().position(is_end).unwrap_or(rest.len());
                Some(())
            }
            _ => None,
        }
    }

    /// Returns `None` if anything but blanks follows.
    pub(super) fn finish(&mut self) -> Option<()> {
        self.peek().is_none().then_some(())
    }

    /// Passes a string, from quote to quote. Returns true if it contains escapes.
    fn skip_string(&mut self) -> Option<bool> {
        self.position += 1;
        let mut has_escapes = false;
        loop {
            let rest = self.document.get(self.position..)?;
            let length = string_length(rest)?;
            let byte = rest[length];
            if byte == b'"' {
                self.position += length + 1;
                return Some(has_escapes);
            }
            has_escapes = true;
            self.position += length + 2;
        }
    }

    /// Reads a value of a well-formed document. The depth of the recursion is that of the document.
    fn value(&mut self) -> Option<Value> {
        let first = self.peek()?;
        match first {
            b'{' => self.members().map(Value::Object),
            b'[' => {
                let mut list = Vec::new();
                let mut goes_on = self.open(b']')?;
                while goes_on {
                    list.push(self.value()?);
                    goes_on = self.goes_on(b']')?;
                }
                Some(Value::List(list))
            }
            _ => {
                let start = self.position;
                self.skip_value()?;
                read(&self.document[start..self.position]).map(Found::into_value)
            }
        }
    }

    /// Reads an object. Of members with the same name the last one counts, at the place of the first.
    fn members(&mut self) -> Option<Vec<(CompactString, Value)>> {
        let mut members: Vec<(CompactString, Value)> = Vec::new();
        let mut places: HashMap<CompactString, usize> = HashMap::new();
        let mut goes_on = self.open(b'}')?;
        while goes_on {
            let name = self.name()?.unescaped()?;
            let value = self.value()?;
            match places.entry(name.clone()) {
                Entry::Occupied(place) => members[*place.get()].1 = value,
                Entry::Vacant(place) => {
                    place.insert(members.len());
                    members.push((name, value));
                }
            }
            goes_on = self.goes_on(b'}')?;
        }
        Some(members)
    }

    /// Passes an object or array. Its contents are not checked.
    fn skip_brackets(&mut self) -> Option<()> {
        self.position += 1;
        self.position += brackets::length(self.document.get(self.position..)?)?;
        Some(())
    }
}

impl Name<'_> {
    pub(super) fn is(&self, name: &str) -> bool {
        if self.has_escapes {
            self.unescaped().is_some_and(|own| own == name)
        } else {
            self.raw == name.as_bytes()
        }
    }

    pub(super) fn is_malformed(&self) -> bool {
        self.has_escapes && self.unescaped().is_none()
    }

    fn unescaped(&self) -> Option<CompactString> {
        unescape(self.raw)
    }
}

/// Returns the number of bytes before the first quote or backslash.
///
/// Most strings are short: eight bytes at a time in a register beat a call of `memchr`.
fn string_length(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
    const QUOTES: u64 = u64::from_ne_bytes([b'"'; 8]);
    const BACKSLASHES: u64 = u64::from_ne_bytes([b'\\'; 8]);
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let (quotes, backslashes) = (word ^ QUOTES, word ^ BACKSLASHES);
        // The lowest set bit marks the first zero byte.
        let zeros = (quotes.wrapping_sub(ONES) & !quotes) | (backslashes.wrapping_sub(ONES) & !backslashes);
        if zeros & HIGHS != 0 {
            return Some(index * 8 + (zeros & HIGHS).trailing_zeros() as usize / 8);
        }
    }
    let place = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
    Some(words.len() * 8 + place)
}

/// Reads well-formed JSON with all digits of its whole numbers.
pub(super) fn exactly(document: &[u8]) -> Option<Value> {
    Scanner::new(document).value()
}

/// Reads a value of JSON. `None` if it is malformed.
pub(crate) fn read(raw: &[u8]) -> Option<Found<'_>> {
    match raw.first()? {
        b'"' => read_string(raw),
        b'{' | b'[' => Document::read(raw).map(|document| Found::Owned(document.into_value())),
        _ => read_scalar(raw).map(Found::Owned),
    }
}

fn read_string(raw: &[u8]) -> Option<Found<'_>> {
    let inner = raw.get(1..raw.len() - 1)?;
    if !inner.iter().any(|&byte| byte < b' ' || byte == b'\\') {
        return std::str::from_utf8(inner).ok().map(Found::Text);
    }
    unescape(inner).map(|text| Found::Owned(Value::Text(text)))
}

fn read_scalar(raw: &[u8]) -> Option<Value> {
    match raw {
        b"null" => Some(Value::Null),
        b"true" => Some(Value::Boolean(true)),
        b"false" => Some(Value::Boolean(false)),
        _ => read_short_integer(raw).map(Value::Integer).or_else(|| {
            let whole = || Value::whole(std::str::from_utf8(raw).ok()?);
            whole().or_else(|| {
                serde_json::from_slice(raw).ok().map(|number: serde_json::Number| value_of(&number.into()))
            })
        }),
    }
}

/// Reads a whole number that is short enough to fit. Others are left to the general parser: `-0` is a float.
fn read_short_integer(raw: &[u8]) -> Option<i64> {
    let (digits, sign) = raw.strip_prefix(b"-").map_or((raw, 1), |digits| (digits, -1));
    let is_regular = match digits {
        [b'0'] => sign == 1,
        [b'1'..=b'9', ..] => digits.len() <= 18,
        _ => false,
    };
    let mut number = 0;
    for byte in digits {
        if !is_regular || !byte.is_ascii_digit() {
            return None;
        }
        number = number * 10 + i64::from(byte - b'0');
    }
    is_regular.then_some(sign * number)
}

/// Replaces the escapes of a string without its quotes. `None` if it is malformed.
fn unescape(raw: &[u8]) -> Option<CompactString> {
    let mut text = CompactString::default();
    let mut rest = raw;
    while let Some(length) = memchr::memchr(b'\\', rest) {
        text.push_str(plain(&rest[..length])?);
        let (letter, tail) = rest[length + 1..].split_first()?;
        rest = tail;
        text.push(match letter {
            b'"' | b'\\' | b'/' => char::from(*letter),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => take_unicode(&mut rest)?,
            _ => return None,
        });
    }
    text.push_str(plain(rest)?);
    Some(text)
}

fn plain(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| !text.bytes().any(|byte| byte < b' '))
}

/// Takes the digits after `\u`, and the second half of a pair of surrogates.
fn take_unicode(rest: &mut &[u8]) -> Option<char> {
    let first = take_hex(rest)?;
    let code = if (0xD800..0xDC00).contains(&first) {
        *rest = rest.strip_prefix(b"\\u")?;
        let second = take_hex(rest).filter(|second| (0xDC00..0xE000).contains(second))?;
        0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00)
    } else {
        first
    };
    char::from_u32(code)
}

fn take_hex(rest: &mut &[u8]) -> Option<u32> {
    let (digits, tail) = rest.split_at_checked(4)?;
    *rest = tail;
    digits.iter().try_fold(0, |code, digit| Some(code << 4 | char::from(*digit).to_digit(16)?))
}
