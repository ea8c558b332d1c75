//! Header blocks of replies as protocols with binary framing have them: what they say, and what is malformed in them (RFC
//! 9113, section 8; RFC 9114, section 4).

use crate::content::Content;
use crate::status::is_status;
use crate::token::is_token;

/// The size beyond which a block is not remembered.
pub(crate) const KEPT_SIZE: usize = 1024;

/// The meaning of a header block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    /// The status; 0 in trailers.
    pub(crate) status: u16,
    /// Its size in HTTP/1's form, status line and final empty line included.
    pub(crate) size: u64,
    /// The size of names and values.
    pub(crate) plain: u64,
    pub(crate) content_length: Option<u64>,
    pub(crate) content: Content,
    /// The first thing that is malformed.
    pub(crate) malformed: Option<&'static str>,
}

/// A part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// The header section, before the content.
    Header,
    /// The trailer section, after the content.
    Trailer,
}

/// Appends a field in HTTP/1's form. `version`: what a status line begins with, such as `HTTP/2 `.
pub(crate) fn put_field(version: &[u8], name: &[u8], value: &[u8], text: &mut Vec<u8>) {
    let mut put = |parts: &[&[u8]]| parts.iter().for_each(|part| text.extend_from_slice(part));
    match name {
        b":status" => put(&[version, value, b"\r\n"]),
        _ if name.starts_with(b":") => {}
        _ => put(&[name, b": ", value, b"\r\n"]),
    }
}

/// What is wanted of header blocks beyond their meaning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WantedFields {
    /// The whole block in HTTP/1's form.
    pub(crate) text: bool,
    pub(crate) server_timing: bool,
    pub(crate) alt_svc: bool,
}

/// A header block that is being read.
pub(crate) struct Reading {
    head: Head,
    section: Section,
    /// A regular field has been read; pseudo-header fields may not follow it.
    has_field: bool,
    fields_left: usize,
}

/// The size of what a status line begins with, `HTTP/2 ` or `HTTP/3 `.
const STATUS_LINE_START: usize = 7;

impl Reading {
    /// `fields`: how many there may be.
    pub(crate) fn new(section: Section, fields: usize) -> Self {
        Self { head: Head { size: 2, ..Head::default() }, section, has_field: false, fields_left: fields }
    }

    /// Reads a field.
    pub(crate) fn add(&mut self, name: &[u8], value: &[u8]) {
        self.head.plain += (name.len() + value.len()) as u64;
        let problem = match self.fields_left.checked_sub(1) {
            None => Some("a reply with more header fields than the limit"),
            Some(left) => {
                self.fields_left = left;
                self.problem(name, value)
            }
        };
        self.head.malformed = self.head.malformed.or(problem);
    }

    fn problem(&mut self, name: &[u8], value: &[u8]) -> Option<&'static str> {
        if name.starts_with(b":") {
            return self.pseudo(name, value);
        }
        self.has_field = true;
        self.head.content.read_field(name, value);
        self.head.size += (name.len() + value.len() + 4) as u64;
        if name.is_empty() || !name.iter().all(|&byte| is_token(byte) && !byte.is_ascii_uppercase()) {
            return Some("a field name with a character that it cannot have");
        }
        if value.iter().any(|byte| matches!(byte, b'\0' | b'\r' | b'\n')) {
            return Some("a field value with a character that it cannot have");
        }
        let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
        if is_blank(value.first()) || is_blank(value.last()) {
            return Some("a field value that begins or ends with white space");
        }
        match name {
            b"connection" | b"proxy-connection" | b"keep-alive" | b"transfer-encoding" | b"upgrade" => {
                Some("a field about the connection")
            }
            b"content-length" if self.section == Section::Header => self.content_length(value),
            _ => None,
        }
    }

    fn pseudo(&mut self, name: &[u8], value: &[u8]) -> Option<&'static str> {
        if self.section == Section::Trailer {
            return Some("a pseudo field in trailers");
        }
        if self.has_field {
            return Some("a pseudo field behind another field");
        }
        if name != b":status" {
            return Some("a pseudo field that replies do not have");
        }
        if self.head.status != 0 {
            return Some("two statuses");
        }
        let digits = <[u8; 3]>::try_from(value).ok().filter(|digits| digits.iter().all(u8::is_ascii_digit));
        let status = digits.map_or(0, |[a, b, c]| {
            u16::from(a - b'0') * 100 + u16::from(b - b'0') * 10 + u16::from(c - b'0')
        });
        if !is_status(status.into()) {
            return Some("a status outside 100 to 999");
        }
        self.head.status = status;
        self.head.size += (STATUS_LINE_START + value.len() + 2) as u64;
        None
    }

    fn content_length(&mut self, value: &[u8]) -> Option<&'static str> {
        const BAD: Option<&str> = Some("an invalid content-length");
        if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
            return BAD;
        }
        let length = std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok());
        let Some(length) = length else { return BAD };
        if self.head.content_length.is_some_and(|before| before != length) {
            return BAD;
        }
        self.head.content_length = Some(length);
        None
    }

    /// All fields were read.
    pub(crate) fn finish(mut self) -> Head {
        if self.section == Section::Header && self.head.status == 0 {
            self.head.malformed = self.head.malformed.or(Some("a reply without a status"));
        }
        self.head
    }
}
