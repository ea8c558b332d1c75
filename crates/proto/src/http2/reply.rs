//! Header blocks of replies: what they say, and what is malformed in them (RFC 9113, section 8).

use super::hpack::{DecodeError, Decoder};
use crate::ReplyLimits;
use crate::token::is_token;

/// The size beyond which a block is not remembered.
const KEPT_SIZE: usize = 1024;

/// The number of bytes of `server-timing` that are kept.
const SERVER_TIMING_SIZE: usize = 512;

/// The meaning of a header block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    /// The status; 0 in trailers.
    pub(super) status: u16,
    /// Its size in HTTP/1's form, status line and final empty line included.
    pub(super) size: u64,
    /// The size of names and values.
    pub(super) plain: u64,
    pub(super) content_length: Option<u64>,
    /// The first thing that is malformed.
    pub(super) malformed: Option<&'static str>,
}

/// A part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    /// The header section, before the content.
    Header,
    /// The trailer section, after the content.
    Trailer,
}

/// Decodes the header blocks of a connection.
#[derive(Debug)]
pub(super) struct HeaderDecoder {
    decoder: Decoder,
    limits: ReplyLimits,
    wants_text: bool,
    wants_server_timing: bool,
    /// The header block in HTTP/1's form, if it is wanted.
    text: Vec<u8>,
    /// The `server-timing` of the current header block, and of the reply that ended last.
    server_timing: Vec<u8>,
    ended_server_timing: Option<Box<[u8]>>,
    /// The last block that was decoded without changing the table, the version of the table then, and its
    /// meaning: servers send the same block again and again.
    known: Vec<u8>,
    known_changes: u64,
    known_head: Option<Head>,
    known_server_timing: Vec<u8>,
}

impl HeaderDecoder {
    pub(super) fn new(
        decoder: Decoder,
        limits: ReplyLimits,
        wants_text: bool,
        wants_server_timing: bool,
    ) -> Self {
        Self {
            decoder,
            limits,
            wants_text,
            wants_server_timing,
            text: Vec::new(),
            server_timing: Vec::new(),
            ended_server_timing: None,
            known: Vec::new(),
            known_changes: 0,
            known_head: None,
            known_server_timing: Vec::new(),
        }
    }

    /// Applies the limit on the table size that the peer has acknowledged.
    pub(super) fn set_table_limit(&mut self, size_limit: u32) {
        self.decoder.set_size_limit(size_limit);
        // The next block may have to begin with a size update.
        self.known_head = None;
    }

    /// Returns the value of `server-timing` in the last header block, if it is wanted and there is one;
    /// several are joined by commas.
    pub(super) fn block_server_timing(&self) -> Option<Box<[u8]>> {
        (!self.server_timing.is_empty()).then(|| self.server_timing.as_slice().into())
    }

    /// Records the value of a reply that ended.
    pub(super) fn handle_end(&mut self, server_timing: Option<Box<[u8]>>) {
        self.ended_server_timing = server_timing;
    }

    /// Returns the value of `server-timing` in the reply that ended last.
    pub(super) fn server_timing(&self) -> &[u8] {
        self.ended_server_timing.as_deref().unwrap_or_default()
    }

    /// Returns the last header block in HTTP/1's form, if it is wanted.
    pub(super) fn take_text(&mut self) -> Option<Vec<u8>> {
        self.wants_text.then(|| std::mem::take(&mut self.text))
    }

    pub(super) fn decode(&mut self, block: &[u8], section: Section) -> Result<Head, DecodeError> {
        let changes = self.decoder.table_changes();
        if let Some(head) = self.known_head
            && section == Section::Header
            && self.known_changes == changes
            && self.known == block
        {
            self.server_timing.clone_from(&self.known_server_timing);
            return Ok(head);
        }
        let mut reading = Reading::new(section, self.limits.fields);
        let (text, server_timing) = (&mut self.text, &mut self.server_timing);
        text.clear();
        server_timing.clear();
        self.decoder.decode(block, self.limits.head_size, |name, value| {
            reading.add(name, value);
            if self.wants_text {
                put_field(name, value, text);
            }
            if self.wants_server_timing && name == b"server-timing" {
                put_server_timing(value, server_timing);
            }
        })?;
        let head = reading.finish();
        if self.wants_text {
            text.extend_from_slice(b"\r\n");
        }
        let is_lasting = section == Section::Header
            && !self.wants_text
            && block.len() <= KEPT_SIZE
            && self.decoder.table_changes() == changes;
        if is_lasting {
            self.known.clear();
            self.known.extend_from_slice(block);
            self.known_server_timing.clone_from(&self.server_timing);
            (self.known_changes, self.known_head) = (changes, Some(head));
        }
        Ok(head)
    }
}

fn put_field(name: &[u8], value: &[u8], text: &mut Vec<u8>) {
    let mut put = |parts: &[&[u8]]| parts.iter().for_each(|part| text.extend_from_slice(part));
    match name {
        b":status" => put(&[STATUS_LINE, value, b"\r\n"]),
        _ if name.starts_with(b":") => {}
        _ => put(&[name, b": ", value, b"\r\n"]),
    }
}

/// The beginning of a status line in HTTP/1's form.
const STATUS_LINE: &[u8] = b"HTTP/2 ";

fn put_server_timing(value: &[u8], all: &mut Vec<u8>) {
    if !all.is_empty() {
        all.extend_from_slice(b", ");
    }
    all.extend_from_slice(value);
    all.truncate(SERVER_TIMING_SIZE);
}

/// A header block that is being read.
struct Reading {
    head: Head,
    section: Section,
    /// A regular field has been read; pseudo-header fields may not follow it.
    has_field: bool,
    fields_left: usize,
}

impl Reading {
    fn new(section: Section, fields: usize) -> Self {
        Self { head: Head { size: 2, ..Head::default() }, section, has_field: false, fields_left: fields }
    }

    fn add(&mut self, name: &[u8], value: &[u8]) {
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
        if !(100..600).contains(&status) {
            return Some("a status outside 100 to 599");
        }
        self.head.status = status;
        self.head.size += (STATUS_LINE.len() + value.len() + 2) as u64;
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

    fn finish(mut self) -> Head {
        if self.section == Section::Header && self.head.status == 0 {
            self.head.malformed = self.head.malformed.or(Some("a reply without a status"));
        }
        self.head
    }
}
