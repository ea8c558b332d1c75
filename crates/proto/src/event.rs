//! What a protocol engine tells its owner, whichever protocol it speaks.

use std::borrow::Cow;
use std::time::Duration;

use thiserror::Error;

use crate::http2::ConnectionError;

/// The name of a call, chosen by whoever submits it and carried back by every event about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallId(pub u64);

/// What arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The status line of a call's final reply is complete.
    ReplyStarted {
        /// The call.
        call: CallId,
        /// Its status; 599 stands for a line that is no status line.
        status: u16,
    },
    /// What came in place of a status line; [`Event::ReplyStarted`] with status 599 follows.
    BadStatusLine {
        /// The call.
        call: CallId,
        /// The line, without its end.
        line: Vec<u8>,
    },
    /// The header block of the final reply, status line and final empty line included. Only when asked for.
    ReplyHead {
        /// The call.
        call: CallId,
        /// The bytes as they came.
        head: Vec<u8>,
    },
    /// Body bytes, without any chunk framing. Only when asked for.
    ReplyBody {
        /// The call.
        call: CallId,
        /// The bytes; how they are divided into events means nothing.
        data: Cow<'a, [u8]>,
    },
    /// The reply is complete.
    ReplyDone {
        /// The call.
        call: CallId,
        /// Its sizes.
        size: ReplySize,
        /// Whether the connection can carry another call.
        reuse: Reuse,
    },
    /// The peer has not processed the call, as it says: it can be made again without harm, and does not belong to the
    /// connection any more.
    CallReturned {
        /// The call.
        call: CallId,
    },
    /// The call has no complete reply, and will have none; the connection goes on.
    CallFailed {
        /// The call.
        call: CallId,
    },
    /// The peer goes over to the protocol that it was asked for, in which it will answer the call. What follows is no
    /// HTTP/1.
    Upgraded {
        /// The call that asked for it.
        call: CallId,
    },
    /// The connection takes no further calls. Those under way are still answered.
    Draining,
    /// It takes none, and none is left: it is of no further use.
    Drained,
}

impl Event<'_> {
    /// The call it is about, if it is about one.
    #[must_use]
    pub fn call(&self) -> Option<CallId> {
        match *self {
            Self::ReplyStarted { call, .. }
            | Self::BadStatusLine { call, .. }
            | Self::ReplyHead { call, .. }
            | Self::ReplyBody { call, .. }
            | Self::ReplyDone { call, .. }
            | Self::CallReturned { call }
            | Self::CallFailed { call }
            | Self::Upgraded { call } => Some(call),
            Self::Draining | Self::Drained => None,
        }
    }

    /// The same event, with bytes of its own.
    #[must_use]
    pub fn into_owned(self) -> Event<'static> {
        match self {
            Self::ReplyStarted { call, status } => Event::ReplyStarted { call, status },
            Self::BadStatusLine { call, line } => Event::BadStatusLine { call, line },
            Self::ReplyHead { call, head } => Event::ReplyHead { call, head },
            Self::ReplyBody { call, data } => Event::ReplyBody { call, data: data.into_owned().into() },
            Self::ReplyDone { call, size, reuse } => Event::ReplyDone { call, size, reuse },
            Self::CallReturned { call } => Event::CallReturned { call },
            Self::CallFailed { call } => Event::CallFailed { call },
            Self::Upgraded { call } => Event::Upgraded { call },
            Self::Draining => Event::Draining,
            Self::Drained => Event::Drained,
        }
    }
}

/// The sizes of a reply, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplySize {
    /// Status line and header lines of the final reply with their line ends and the empty line.
    pub header: u64,
    /// Body, without chunk framing.
    pub content: u64,
    /// Trailer lines and the empty line after them; 0 unless chunked.
    pub footer: u64,
}

/// Whether a connection can carry another call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// It can.
    Keep,
    /// The peer closes it, or it can no longer be understood.
    Close,
}

/// How far the sending of a request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The transport took its first byte.
    Started(CallId),
    /// The transport took its last byte.
    Finished(CallId),
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

/// Why a connection can no longer be understood. The peer's fault, each time.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProtocolError {
    /// The connection ended in the middle of a reply, or before one that was due.
    #[error("connection closed before the end of the reply")]
    Truncated,
    /// Bytes that belong to no request sent.
    #[error("bytes that answer no request")]
    Unsolicited,
    /// A header block or trailer section beyond the limit.
    #[error("reply header larger than {limit} bytes")]
    HeadTooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// More header fields than the limit.
    #[error("more than {limit} header fields in a reply")]
    TooManyFields {
        /// The limit.
        limit: usize,
    },
    /// A header block that cannot be read at all.
    #[error("malformed reply header")]
    BadHead,
    /// A status outside 100 to 599.
    #[error("reply status outside 100 to 599")]
    BadStatus,
    /// A Content-Length that is no number, or several that disagree.
    #[error("invalid Content-Length")]
    BadLength,
    /// A chunk-size line that is none, or is too long, or too large a size.
    #[error("invalid chunk-size line")]
    BadChunk,
    /// More interim (1xx) replies than the limit.
    #[error("more than {limit} interim replies")]
    TooManyInterim {
        /// The limit.
        limit: u32,
    },
    /// What ends a connection of HTTP/2.
    #[error(transparent)]
    Http2(#[from] ConnectionError),
}
