//! Header blocks of replies.

use super::error::Violation;
use super::qpack::{Decoded, Decoder, SectionLimits};
use crate::ReplyLimits;
use crate::reply_head::{Head, KEPT_SIZE, Kept, Reading, Section, WantedFields};

/// Decodes the header blocks of a connection.
#[derive(Debug)]
pub(super) struct Sections {
    decoder: Decoder,
    limits: ReplyLimits,
    /// The `alt-svc` in it is that of the known block for as long as there is one.
    pub(super) kept: Kept,
    /// The last block that was decoded: servers send the same block again and again.
    known: Option<Known>,
}

/// A block that was decoded, and its meaning.
#[derive(Debug)]
struct Known {
    block: Vec<u8>,
    head: Head,
    server_timing: Vec<u8>,
    /// The insertions that it needs, and the version of the table then.
    required_insert_count: u64,
    changes: u64,
}

/// The result of decoding a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Head(Head),
    /// It waits for so many insertions into the table.
    Blocked(u64),
}

impl Sections {
    pub(super) fn new(capacity_max: u32, limits: ReplyLimits, wants: WantedFields) -> Self {
        Self { decoder: Decoder::new(capacity_max), limits, kept: Kept::new(wants, b"HTTP/3 "), known: None }
    }

    /// Returns the decoder, for the streams that belong to it.
    pub(super) fn decoder(&mut self) -> &mut Decoder {
        &mut self.decoder
    }

    /// Decodes a block of the stream with this number.
    pub(super) fn decode(
        &mut self,
        stream: u64,
        block: &[u8],
        section: Section,
    ) -> Result<Outcome, Violation> {
        let changes = self.decoder.table_changes();
        if let Some(known) = &self.known
            && section == Section::Header
            && (known.required_insert_count == 0 || known.changes == changes)
            && known.block == block
        {
            self.decoder.acknowledge(stream, known.required_insert_count);
            self.kept.repeat(&known.server_timing);
            return Ok(Outcome::Head(known.head));
        }
        let mut reading = Reading::new(section, self.limits.fields);
        let kept = &mut self.kept;
        kept.begin(section);
        // Whether there are too many fields is for `Reading` to say, as over HTTP/2.
        let limits = SectionLimits { size: self.limits.head_size, fields: usize::MAX };
        let decoded = self.decoder.decode(stream, block, limits, |name, value| {
            reading.add(name, value);
            kept.add(section, name, value);
        })?;
        let required_insert_count = match decoded {
            Decoded::Blocked { required_insert_count } => {
                if kept.wants_alt_svc(section) {
                    self.known = None;
                }
                return Ok(Outcome::Blocked(required_insert_count));
            }
            Decoded::Fields { required_insert_count, .. } => required_insert_count,
        };
        let head = reading.finish();
        kept.finish();
        if section == Section::Header && !kept.wants_text() && block.len() <= KEPT_SIZE {
            let known = self.known.get_or_insert_with(|| Known {
                block: Vec::new(),
                head,
                server_timing: Vec::new(),
                required_insert_count,
                changes,
            });
            known.block.clear();
            known.block.extend_from_slice(block);
            known.server_timing.clear();
            known.server_timing.extend_from_slice(kept.last_server_timing());
            (known.head, known.required_insert_count, known.changes) = (head, required_insert_count, changes);
        } else if kept.wants_alt_svc(section) {
            self.known = None;
        }
        Ok(Outcome::Head(head))
    }
}
