//! The announcements of each end: our options, and the peer's settings.

use super::frame::Parameter;
use crate::ReplyLimits;
use crate::content::Streamed;
use crate::reply_head::WantedFields;

/// The options of an engine.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The number of calls that may be outstanding at once (at least 1), whatever the peer allows.
    pub streams: usize,
    /// The size of the table with which the peer may compress header fields; 0 for none.
    pub header_table: u32,
    /// True to hand out header blocks ([`Event::ReplyHead`](crate::Event::ReplyHead)), in HTTP/1's form.
    pub header_blocks: bool,
    /// True to hand out bodies ([`Event::ReplyBody`](crate::Event::ReplyBody)).
    pub bodies: bool,
    /// The replies whose bodies are handed out in any case, as streams
    /// ([`Event::StreamStarted`](crate::Event::StreamStarted)).
    pub streamed: Streamed,
    /// True to keep the `server-timing` of the last reply ([`Engine::server_timing`](super::Engine::server_timing)).
    pub server_timing: bool,
    /// True to keep the `alt-svc` of replies ([`Engine::alt_svc`](super::Engine::alt_svc)).
    pub alt_svc: bool,
    /// Bounds on what the peer may send.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            streams: usize::MAX,
            header_table: 4096,
            header_blocks: false,
            bodies: false,
            streamed: Streamed::Never,
            server_timing: false,
            alt_svc: false,
            limits: Limits::default(),
        }
    }
}

impl Options {
    pub(super) fn wanted_fields(&self) -> WantedFields {
        WantedFields { text: self.header_blocks, server_timing: self.server_timing, alt_svc: self.alt_svc }
    }

    /// Returns our settings, as far as they differ from the initial values.
    pub(super) fn parameters(&self) -> Vec<Parameter> {
        let mut parameters = vec![Parameter::MaxFieldSectionSize(self.limits.reply.head_size as u64)];
        if self.header_table > 0 {
            parameters.push(Parameter::QpackMaxTableCapacity(self.header_table.into()));
            parameters.push(Parameter::QpackBlockedStreams(self.limits.blocked_streams as u64));
        }
        parameters
    }
}

/// Bounds on what the peer may send. Beyond those of a reply its stream or the connection fails, beyond the others the
/// connection.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bounds on each reply.
    pub reply: ReplyLimits,
    /// Bytes of a frame of the control stream.
    pub control_frame: usize,
    /// Number of streams whose header blocks may wait for the table of header compression.
    pub blocked_streams: usize,
    /// Number of frames in a row that bring no call further: empty DATA, unknown types, GOAWAY; instructions of header
    /// compression count as well.
    pub idle_frames: u32,
    /// Number of streams in a row that are reset.
    pub resets: u32,
    /// Number of unidirectional streams of unknown types, or that end before their type.
    pub unknown_streams: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            reply: ReplyLimits::default(),
            control_frame: 4096,
            blocked_streams: 16,
            idle_frames: 10_000,
            resets: 1000,
            unknown_streams: 1000,
        }
    }
}

/// The settings of a peer; the initial values until it has sent them.
///
/// <https://www.rfc-editor.org/rfc/rfc9114#section-7.2.4.1>
/// <https://www.rfc-editor.org/rfc/rfc9204#section-5>
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerSettings {
    /// The size of the table with which it decodes header blocks.
    pub header_table: u64,
    /// The number of streams that may wait for that table.
    pub blocked_streams: u64,
    /// The largest header block that it takes, before compression; `None` for any.
    pub field_section: Option<u64>,
}

impl PeerSettings {
    pub(super) fn apply(&mut self, parameter: Parameter) {
        match parameter {
            Parameter::QpackMaxTableCapacity(size) => self.header_table = size,
            Parameter::QpackBlockedStreams(count) => self.blocked_streams = count,
            Parameter::MaxFieldSectionSize(size) => self.field_section = Some(size),
            Parameter::Unknown(..) => {}
        }
    }
}
