//! Header blocks of replies.

use super::error::Violation;
use super::qpack::{Decoded, Decoder, SectionLimits};
use crate::limits::SERVER_TIMING_SIZE;
use crate::reply_head::{Head, KEPT_SIZE, Reading, Section, WantedFields, put_field};
use crate::{ReplyLimits, alt_svc, list};

/// The beginning of a status line in HTTP/1's form.
const STATUS_LINE: &[u8] = b"HTTP/3 ";

/// Decodes the header blocks of a connection.
#[derive(Debug)]
pub(super) struct Sections {
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
        Self {
            decoder: Decoder::new(capacity_max),
            limits,
            wants,
            text: Vec::new(),
            server_timing: Vec::new(),
            ended_server_timing: None,
            alt_svc: Vec::new(),
            known: None,
        }
    }

    /// Returns the decoder, for the streams that belong to it.
    pub(super) fn decoder(&mut self) -> &mut Decoder {
        &mut self.decoder
    }

    /// Returns the value of `server-timing` in the last header block, if it is wanted and there is one; several are joined
    /// by commas.
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
            self.server_timing.clone_from(&known.server_timing);
            return Ok(Outcome::Head(known.head));
        }
        let mut reading = Reading::new(section, self.limits.fields);
        let (text, server_timing) = (&mut self.text, &mut self.server_timing);
        text.clear();
        server_timing.clear();
        let wants = self.wants;
        let wants_alt_svc = wants.alt_svc && section == Section::Header;
        let elsewhere = &mut self.alt_svc;
        if wants_alt_svc {
            elsewhere.clear();
        }
        // Whether there are too many fields is for `Reading` to say, as over HTTP/2.
        let limits = SectionLimits { size: self.limits.head_size, fields: usize::MAX };
        let decoded = self.decoder.decode(stream, block, limits, |name, value| {
            reading.add(name, value);
            if wants.text {
                put_field(STATUS_LINE, name, value, text);
            }
            if wants.server_timing && name == b"server-timing" {
                list::join(value, server_timing, SERVER_TIMING_SIZE);
            }
            if wants_alt_svc && name == b"alt-svc" {
                alt_svc::put(value, elsewhere);
            }
        })?;
        let required_insert_count = match decoded {
            Decoded::Blocked { required_insert_count } => {
                if wants_alt_svc {
                    self.known = None;
                }
                return Ok(Outcome::Blocked(required_insert_count));
            }
            Decoded::Fields { required_insert_count, .. } => required_insert_count,
        };
        let head = reading.finish();
        if wants.text {
            text.extend_from_slice(b"\r\n");
        }
        if section == Section::Header && !wants.text && block.len() <= KEPT_SIZE {
            let known = self.known.get_or_insert_with(|| Known {
                block: Vec::new(),
                head,
                server_timing: Vec::new(),
                required_insert_count,
                changes,
            });
            known.block.clear();
            known.block.extend_from_slice(block);
            known.server_timing.clone_from(server_timing);
            (known.head, known.required_insert_count, known.changes) = (head, required_insert_count, changes);
        } else if wants_alt_svc {
            self.known = None;
        }
        Ok(Outcome::Head(head))
    }
}
