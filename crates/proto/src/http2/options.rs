//! The announcements of each end: our options, and the peer's settings.

use super::frame::Parameter;
use super::{flow, frame, hpack};
use crate::ReplyLimits;
use crate::content::Streamed;
use crate::reply_head::WantedFields;
use crate::request::Scheme;

/// The options of an engine.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The number of calls that may be outstanding at once (at least 1), whatever the peer allows.
    pub streams: usize,
    /// The scheme that requests name.
    pub scheme: Scheme,
    /// The initial window of a stream: bytes of a reply that the peer may send before it hears from us.
    pub window: u32,
    /// The window of the connection, for all replies together; at least 65,535.
    pub connection_window: u32,
    /// The size of the table with which the peer may compress header fields.
    pub header_table: u32,
    /// The largest frame that the peer may send, from 2^14 to 2^24 - 1 bytes.
    pub max_frame: u32,
    /// True if targets and content lengths repeat often enough to be worth a place in the peer's table.
    pub indexes_targets: bool,
    /// True to hand out header blocks ([`Event::ReplyHead`](crate::Event::ReplyHead)), in HTTP/1's form.
    pub header_blocks: bool,
    /// True to hand out trailers ([`Event::ReplyTrailers`](crate::Event::ReplyTrailers)). They come with header blocks.
    pub trailers: bool,
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

impl Options {
    pub(super) fn wanted_fields(&self) -> WantedFields {
        WantedFields { text: self.header_blocks, server_timing: self.server_timing, alt_svc: self.alt_svc }
    }

    /// Returns our settings, as far as they differ from the initial values.
    pub(super) fn parameters(&self) -> Vec<Parameter> {
        let Self { window, header_table, max_frame, limits, .. } = *self;
        let defaults = PeerSettings::default();
        let mut parameters = vec![Parameter::EnablePush(false)];
        if header_table != defaults.header_table {
            parameters.push(Parameter::HeaderTableSize(header_table));
        }
        if window != defaults.window {
            parameters.push(Parameter::InitialWindowSize(window));
        }
        if max_frame != defaults.max_frame {
            parameters.push(Parameter::MaxFrameSize(max_frame));
        }
        parameters.push(Parameter::MaxHeaderListSize(limits.reply.head_size as u32));
        parameters
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            streams: usize::MAX,
            scheme: Scheme::Http,
            window: flow::INITIAL_WINDOW_SIZE,
            connection_window: flow::INITIAL_WINDOW_SIZE,
            header_table: hpack::DEFAULT_TABLE_SIZE,
            max_frame: frame::MAX_FRAME_SIZE_MIN,
            indexes_targets: true,
            header_blocks: false,
            trailers: false,
            bodies: false,
            streamed: Streamed::Never,
            server_timing: false,
            alt_svc: false,
            limits: Limits::default(),
        }
    }
}

/// Bounds on what the peer may send. Beyond those of a reply its stream or the connection fails, beyond the others the
/// connection.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bounds on each reply.
    pub reply: ReplyLimits,
    /// Number of CONTINUATION frames in a row.
    pub continuations: u32,
    /// Number of frames in a row that bring no call further: SETTINGS, PING, WINDOW_UPDATE, PRIORITY, empty DATA, unknown
    /// types, and frames of closed streams.
    pub idle_frames: u32,
    /// Number of streams in a row that are reset.
    pub resets: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { reply: ReplyLimits::default(), continuations: 64, idle_frames: 10_000, resets: 1000 }
    }
}

/// The settings of a peer; the initial values until it changes them.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-6.5.2>
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerSettings {
    /// The size of the table with which it decodes header blocks.
    pub header_table: u32,
    /// The number of streams that it allows at once; `None` for any number.
    pub max_streams: Option<u32>,
    /// The initial flow-control window of streams.
    pub window: u32,
    /// The largest frame that it takes.
    pub max_frame: u32,
    /// The largest header list that it takes; `None` for any.
    pub header_list: Option<u32>,
    /// It takes WebSockets (RFC 8441).
    pub connect_protocol: bool,
}

impl Default for PeerSettings {
    fn default() -> Self {
        Self {
            header_table: hpack::DEFAULT_TABLE_SIZE,
            max_streams: None,
            window: flow::INITIAL_WINDOW_SIZE,
            max_frame: frame::MAX_FRAME_SIZE_MIN,
            header_list: None,
            connect_protocol: false,
        }
    }
}
