//! HTTP/2, the client's side (RFC 9113).
//!
//! ```text
//!            submit               poll_transmit / handle_written            poll_event(bytes)
//!   request ───────► (waiting) ───────────────────────────────► stream open ─────────────────► reply done
//!                     for a stream                                    │
//!                                                                     └─► reset, or not processed
//! ```
//!
//! An [`Engine`] has a reader of frames (`frame`) and a `connection`: the tables of header compression ([`hpack`]), the
//! streams with their windows (`streams`, `flow`), and the bytes on their way out (`outgoing`). What it does is in `sending`
//! and in `receiving`. Nothing here waits: calls that find no stream,
//! and bodies that find no window, stay where they are until the peer makes room, and how long that took is told.

mod connection;
mod counts;
mod engine;
mod flow;
mod frame;
mod fuzz;
pub mod hpack;
mod outgoing;
mod receiving;
mod reply;
mod request;
mod sending;
mod streams;
#[cfg(test)]
mod tests;

use std::time::Duration;

use thiserror::Error;

use crate::CallId;

pub use self::counts::{Compressed, Counts};
pub use self::engine::Engine;
pub use self::frame::ErrorCode;
pub use self::fuzz::{REPLIES_HEADER_SIZE, check_replies};
pub use self::request::{Scheme, asking_for_upgrade, is_forbidden, request_text, request_text_size};

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

/// What the peer did that ended the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("HTTP/2: {reason} ({code})")]
pub struct ConnectionError {
    /// What it is told.
    pub code: ErrorCode,
    /// What it did.
    pub reason: &'static str,
}

/// A call had to wait for the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// The call.
    pub call: CallId,
    /// What for.
    pub what: Awaited,
    /// For how long, in all.
    pub time: Duration,
}

/// What a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// One of the streams that the peer allows at once.
    Stream,
    /// Room for the body of its request in the peer's flow-control windows.
    Window,
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

/// What the peer is told of a header block that cannot be decoded, and what was wrong with it.
fn decode_problem(error: hpack::DecodeError) -> (ErrorCode, &'static str) {
    use hpack::DecodeError;
    let code = match error {
        DecodeError::ListSize => ErrorCode::ENHANCE_YOUR_CALM,
        _ => ErrorCode::COMPRESSION_ERROR,
    };
    let reason = match error {
        DecodeError::Truncated => "a header block that ends within a field",
        DecodeError::Number => "a header block with a number that is too large",
        DecodeError::Index => "a header block with an index that stands for no field",
        DecodeError::Huffman => "a header block with a malformed Huffman code",
        DecodeError::TableSize => "a header block that sets a table size beyond the limit",
        DecodeError::TableSizePlace => "a header block that does not change the table size where it must",
        DecodeError::ListSize => "a header list larger than the limit",
    };
    (code, reason)
}
