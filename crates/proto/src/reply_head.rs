//! Header blocks of replies as protocols with binary framing have them: what they say, and what is malformed in them (RFC
//! 9113, section 8; RFC 9114, section 4).

use crate::content::Content;
use crate::limits::SERVER_TIMING_SIZE;
use crate::status::is_status;
use crate::token::is_token;
use crate::{alt_svc, list};

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

/// The parts of header blocks to keep beyond their meaning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WantedFields {
    /// The whole block in HTTP/1's form.
    pub(crate) text: bool,
    pub(crate) server_timing: bool,
    pub(crate) alt_svc: bool,
}

/// Parts of header blocks that a plan asks for beyond their meaning.
#[derive(Debug)]
pub(crate) struct Kept {
    wants: WantedFields,
    /// The beginning of a status line in HTTP/1's form, such as `HTTP/2 `.
    status_line: &'static [u8],
    /// The current block in HTTP/1's form.
    text: Vec<u8>,
    /// The `server-timing` of the current block, and of the reply that ended last.
    server_timing: Vec<u8>,
    ended_server_timing: Option<Box<[u8]>>,
    /// The `alt-svc` of the last header section.
    alt_svc: Vec<u8>,
}

impl Kept {
    pub(crate) fn new(wants: WantedFields, status_line: &'static [u8]) -> Self {
        Self {
            wants,
            status_line,
            text: Vec::new(),
            server_timing: Vec::new(),
            ended_server_timing: None,
            alt_svc: Vec::new(),
        }
    }

    /// Returns whether whole blocks are wanted.
    pub(crate) fn wants_text(&self) -> bool {
        self.wants.text
    }

    /// Returns whether `alt-svc` is wanted of such a block.
    pub(crate) fn wants_alt_svc(&self, section: Section) -> bool {
        self.wants.alt_svc && section == Section::Header
    }

    /// A block begins.
    pub(crate) fn begin(&mut self, section: Section) {
        self.text.clear();
        self.server_timing.clear();
        if self.wants_alt_svc(section) {
            self.alt_svc.clear();
        }
    }

    /// A block has this field.
    pub(crate) fn add(&mut self, section: Section, name: &[u8], value: &[u8]) {
        if self.wants.text {
            self.put_line(name, value);
        }
        if self.wants.server_timing && name == b"server-timing" {
            list::join(value, &mut self.server_timing, SERVER_TIMING_SIZE);
        }
        if self.wants_alt_svc(section) && name == b"alt-svc" {
            alt_svc::put(value, &mut self.alt_svc);
        }
    }

    fn put_line(&mut self, name: &[u8], value: &[u8]) {
        let mut put = |parts: &[&[u8]]| parts.iter().for_each(|part| self.text.extend_from_slice(part));
        match name {
            b":status" => put(&[self.status_line, value, b"\r\n"]),
            _ if name.starts_with(b":") => {}
            _ => put(&[name, b": ", value, b"\r\n"]),
        }
    }

    /// A block is complete.
    pub(crate) fn finish(&mut self) {
        if self.wants.text {
            self.text.extend_from_slice(b"\r\n");
        }
    }

    /// A block that is known has come again, which had this `server-timing`.
    pub(crate) fn repeat(&mut self, server_timing: &[u8]) {
        self.server_timing.clear();
        self.server_timing.extend_from_slice(server_timing);
    }

    /// Returns the values of `server-timing` in the last block, joined by commas; empty without any.
    pub(crate) fn last_server_timing(&self) -> &[u8] {
        &self.server_timing
    }

    /// As [`last_server_timing`](Self::last_server_timing), to be kept with a reply.
    pub(crate) fn block_server_timing(&self) -> Option<Box<[u8]>> {
        (!self.server_timing.is_empty()).then(|| self.server_timing.as_slice().into())
    }

    /// A reply has ended, which had this value.
    pub(crate) fn handle_end(&mut self, server_timing: Option<Box<[u8]>>) {
        self.ended_server_timing = server_timing;
    }

    /// Returns the value of `server-timing` in the reply that ended last.
    pub(crate) fn server_timing(&self) -> &[u8] {
        self.ended_server_timing.as_deref().unwrap_or_default()
    }

    /// Returns the value of `alt-svc` in the last header section.
    pub(crate) fn alt_svc(&self) -> &[u8] {
        &self.alt_svc
    }

    /// Returns the last block in HTTP/1's form, if it is wanted.
    pub(crate) fn take_text(&mut self) -> Option<Vec<u8>> {
        self.wants.text.then(|| std::mem::take(&mut self.text))
    }
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
