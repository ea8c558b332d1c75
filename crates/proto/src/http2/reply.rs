//! Header blocks of replies.

use super::hpack::{DecodeError, Decoder};
use crate::limits::SERVER_TIMING_SIZE;
use crate::reply_head::{Head, KEPT_SIZE, Reading, Section, WantedFields, put_field};
use crate::{ReplyLimits, alt_svc, list};

/// The beginning of a status line in HTTP/1's form.
const STATUS_LINE: &[u8] = b"HTTP/2 ";

/// Decodes the header blocks of a connection.
#[derive(Debug)]
pub(super) struct HeaderDecoder {
    decoder: Decoder,
    limits: ReplyLimits,
    wants: WantedFields,
    /// The header block in HTTP/1's form, if it is wanted.
    text: Vec<u8>,
    /// The `server-timing` of the current header block, and of the reply that ended last.
    server_timing: Vec<u8>,
    ended_server_timing: Option<Box<[u8]>>,
    /// The `alt-svc` of the current header block. As long as a block is known, it has this one.
    alt_svc: Vec<u8>,
    /// The last block that was decoded without changing the table, the version of the table then, and its
    /// meaning: servers send the same block again and again.
    known: Vec<u8>,
    known_changes: u64,
    known_head: Option<Head>,
    known_server_timing: Vec<u8>,
}

impl HeaderDecoder {
    pub(super) fn new(decoder: Decoder, limits: ReplyLimits, wants: WantedFields) -> Self {
        Self {
            decoder,
            limits,
            wants,
            text: Vec::new(),
            server_timing: Vec::new(),
            ended_server_timing: None,
            alt_svc: Vec::new(),
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

    /// Returns the value of `alt-svc` in the last header block, trailers aside, if it is wanted.
    pub(super) fn alt_svc(&self) -> &[u8] {
        &self.alt_svc
    }

    /// Returns the last header block in HTTP/1's form, if it is wanted.
    pub(super) fn take_text(&mut self) -> Option<Vec<u8>> {
        self.wants.text.then(|| std::mem::take(&mut self.text))
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
        let wants_alt_svc = self.wants.alt_svc && section == Section::Header;
        if wants_alt_svc {
            self.alt_svc.clear();
        }
        self.decoder.decode(block, self.limits.head_size, |name, value| {
            reading.add(name, value);
            if self.wants.text {
                put_field(STATUS_LINE, name, value, text);
            }
            if self.wants.server_timing && name == b"server-timing" {
                list::join(value, server_timing, SERVER_TIMING_SIZE);
            }
            if wants_alt_svc && name == b"alt-svc" {
                alt_svc::put(value, &mut self.alt_svc);
            }
        })?;
        let head = reading.finish();
        if self.wants.text {
            text.extend_from_slice(b"\r\n");
        }
        let is_lasting = section == Section::Header
            && !self.wants.text
            && block.len() <= KEPT_SIZE
            && self.decoder.table_changes() == changes;
        if is_lasting {
            self.known.clear();
            self.known.extend_from_slice(block);
            self.known_server_timing.clone_from(&self.server_timing);
            (self.known_changes, self.known_head) = (changes, Some(head));
        } else if wants_alt_svc {
            self.known_head = None;
        }
        Ok(head)
    }
}
