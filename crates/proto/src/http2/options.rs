//! What both ends of a connection say of themselves: our options, and the peer's settings.

use super::frame::Parameter;
use super::{flow, frame, hpack};
use crate::request::Scheme;

/// What an engine must know beforehand.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Calls that may be outstanding at once (at least 1), whatever the peer allows.
    pub streams: usize,
    /// What requests say that they came over.
    pub scheme: Scheme,
    /// Bytes of a reply that the peer may send before it hears that more are welcome.
    pub window: u32,
    /// The same for all replies together; at least 65,535.
    pub connection_window: u32,
    /// Bytes of the table that the peer may compress header fields with.
    pub header_table: u32,
    /// Bytes of the largest frame that the peer may send, from 2^14 to 2^24 - 1.
    pub max_frame: u32,
    /// Whether requests have so few targets, and lengths of bodies, that they are worth a place in the peer's table.
    pub indexes_targets: bool,
    /// Whether to hand out header blocks ([`Event::ReplyHead`](crate::Event::ReplyHead)), in HTTP/1's form.
    pub header_blocks: bool,
    /// Whether to hand out bodies ([`Event::ReplyBody`](crate::Event::ReplyBody)).
    pub bodies: bool,
    /// Whether to keep the `server-timing` of the last reply ([`Engine::server_timing`]).
    pub server_timing: bool,
    /// Bounds on what the peer may send.
    pub limits: Limits,
}

impl Options {
    /// Our settings, as far as they are not what holds at first.
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
        parameters.push(Parameter::MaxHeaderListSize(limits.head_size as u32));
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
            bodies: false,
            server_timing: false,
            limits: Limits::default(),
        }
    }
}

/// Bounds on what the peer may send. What goes beyond the first two makes a header block useless, and so its stream, or
/// the connection; what goes beyond the others ends the connection.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a list of header fields, as the standard counts them, and of the block that holds it.
    pub head_size: usize,
    /// Header fields in a reply.
    pub fields: usize,
    /// Interim replies before a final one.
    pub interim_replies: u32,
    /// CONTINUATION frames in a row.
    pub continuations: u32,
    /// Frames in a row that bring no call further: SETTINGS, PING, WINDOW_UPDATE, PRIORITY, empty DATA, those of types
    /// that we do not know, and those of streams that have ended.
    pub idle_frames: u32,
    /// Streams in a row that are reset.
    pub resets: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_size: 64 * 1024,
            fields: 256,
            interim_replies: 32,
            continuations: 64,
            idle_frames: 10_000,
            resets: 1000,
        }
    }
}

/// The settings of a peer. What it has not said has the value that holds then.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-6.5.2>
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerSettings {
    /// Bytes of the table with which it decompresses header fields.
    pub header_table: u32,
    /// How many streams it allows at once; `None` for any number.
    pub max_streams: Option<u32>,
    /// The flow-control window with which streams begin.
    pub window: u32,
    /// Bytes of the largest frame that it takes.
    pub max_frame: u32,
    /// The largest list of header fields that it takes; `None` for any.
    pub header_list: Option<u32>,
}

impl Default for PeerSettings {
    fn default() -> Self {
        Self {
            header_table: hpack::DEFAULT_TABLE_SIZE,
            max_streams: None,
            window: flow::INITIAL_WINDOW_SIZE,
            max_frame: frame::MAX_FRAME_SIZE_MIN,
            header_list: None,
        }
    }
}
