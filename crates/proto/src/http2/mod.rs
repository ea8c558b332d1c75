//! HTTP/2, the client's side (RFC 9113).
//!
//! ```text
//!            submit               poll_transmit / handle_written            poll_event(bytes)
//!   request ───────► (waiting) ───────────────────────────────► stream open ─────────────────► reply done
//!                     for a stream                                    │
//!                                                                     └─► reset, or not processed
//! ```
//!
//! An [`Engine`] has a reader of frames (`frame`) and a `connection`: the tables of header compression
//! ([`hpack`]), the streams with their windows (`streams`, `flow`), and the bytes on their way out
//! (`outgoing`). Its work is in `sending` and `receiving`. Nothing here waits: calls without a stream and
//! bodies without a window stay where they are until the peer makes room, and how long that took is reported.

mod connection;
mod engine;
mod flow;
mod frame;
pub mod hpack;
mod options;
mod outgoing;
mod receiving;
mod reply;
mod sending;
mod streams;
#[cfg(test)]
mod tests;

use thiserror::Error;

pub use self::engine::Engine;
pub use self::frame::ErrorCode;
pub use self::options::{Limits, Options, PeerSettings};

/// A violation by the peer that ended the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("HTTP/2: {reason} ({code})")]
pub struct ConnectionError {
    /// The error code that is sent to the peer.
    pub code: ErrorCode,
    /// The violation.
    pub reason: &'static str,
}

impl ConnectionError {
    /// Returns true if the peer's first bytes show that it does not speak HTTP/2 at all.
    #[must_use]
    pub fn is_not_http2(&self) -> bool {
        [ANSWERS_IN_HTTP1, SPEAKS_TLS, IS_NOT_HTTP].contains(&self.reason)
    }

    /// Returns true if the peer speaks HTTP/1.
    #[must_use]
    pub fn is_http1(&self) -> bool {
        self.reason == ANSWERS_IN_HTTP1
    }

    /// Returns true if the peer speaks TLS, and we do not.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.reason == SPEAKS_TLS
    }

    /// Returns true if the peer speaks HTTP/2, but takes no WebSockets over it (RFC 8441).
    #[must_use]
    pub fn takes_no_websockets(&self) -> bool {
        self.reason == NO_WEBSOCKETS
    }
}

/// Reasons of peers that do not speak HTTP/2.
const ANSWERS_IN_HTTP1: &str = "the server answers in HTTP/1";
const SPEAKS_TLS: &str = "the server speaks TLS";
const IS_NOT_HTTP: &str = "the server's first bytes are not HTTP";

/// The reason of a connection that is of no use to a call that opens a WebSocket.
const NO_WEBSOCKETS: &str = "a server that takes no WebSockets over HTTP/2 (RFC 8441)";

/// Returns the error code and the reason for a header block that cannot be decoded.
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
