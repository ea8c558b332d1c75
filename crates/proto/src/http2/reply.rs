//! Header blocks of replies.

use super::hpack::{DecodeError, Decoder};
use crate::ReplyLimits;
use crate::reply_head::{Head, KEPT_SIZE, Kept, Reading, Section, WantedFields};

/// Decodes the header blocks of a connection.
#[derive(Debug)]
pub(super) struct HeaderDecoder {
    decoder: Decoder,
    limits: ReplyLimits,
    /// The `alt-svc` in it is that of the known block for as long as there is one.
    pub(super) kept: Kept,
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
            kept: Kept::new(wants, b"HTTP/2 "),
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

    pub(super) fn decode(&mut self, block: &[u8], section: Section) -> Result<Head, DecodeError> {
        let changes = self.decoder.table_changes();
        if let Some(head) = self.known_head
            && section == Section::Header
            && self.known_changes == changes
            && self.known == block
        {
            self.kept.repeat(&self.known_server_timing);
            return Ok(head);
        }
        let mut reading = Reading::new(section, self.limits.fields);
        let kept = &mut self.kept;
        kept.begin(section);
        self.decoder.decode(block, self.limits.head_size, |name, value| {
            reading.add(name, value);
            kept.add(section, name, value);
        })?;
        let head = reading.finish();
        kept.finish();
        let is_lasting = section == Section::Header
            && !kept.wants_text()
            && block.len() <= KEPT_SIZE
            && self.decoder.table_changes() == changes;
        if is_lasting {
            self.known.clear();
            self.known.extend_from_slice(block);
            self.known_server_timing.clear();
            self.known_server_timing.extend_from_slice(kept.last_server_timing());
            (self.known_changes, self.known_head) = (changes, Some(head));
        } else if kept.wants_alt_svc(section) {
            self.known_head = None;
        }
        Ok(head)
    }
}
