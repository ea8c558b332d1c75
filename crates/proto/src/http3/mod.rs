//! HTTP/3, the client's side (RFC 9114).
//!
//! ```text
//!            submit                      poll_datagrams                          handle_datagrams, poll_event
//!   request ───────► (waiting) ───────────────────────────────► stream open ─────────────────────────► reply done
//!                     for the handshake, for a stream                 │
//!                                                                     └─► reset, or not processed
//! ```
//!
//! An [`Engine`] has a [connection of QUIC](crate::quic::Connection), the calls on its streams (`call`), and header
//! compression (`qpack`, `sections`). Its work is in `sending` and `receiving`; `peer` has the streams that the server
//! opens. `frame` and `uni` read and write what lies on streams, wherever it is cut. Nothing here waits: calls without a
//! stream and bodies without a window stay where they are until the peer makes room, and how long that took is reported.

mod call;
mod engine;
mod error;
mod frame;
#[cfg(any(test, fuzzing))]
mod fuzzing;
mod options;
mod peer;
mod qpack;
mod receiving;
mod sections;
mod sending;
#[cfg(test)]
mod tests;
mod uni;

use thiserror::Error;

pub use self::engine::Engine;
pub use self::error::ErrorCode;
#[cfg(any(test, fuzzing))]
pub use self::fuzzing::{check_frames, check_qpack};
pub use self::options::{Limits, Options, PeerSettings};
pub use self::qpack::{decode_section, encode_section};

/// A violation by the peer that ended the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("HTTP/3: {reason} ({code})")]
pub struct ConnectionError {
    /// The error code that is sent to the peer.
    pub code: ErrorCode,
    /// The violation.
    pub reason: &'static str,
}
