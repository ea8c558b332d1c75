//! Reports of a protocol engine to its owner, the same for all protocols.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use thiserror::Error;

use crate::HeaderBlock;
use crate::content::Content;
use crate::http2::{self, ConnectionError};
use crate::http3;
use crate::quic::Loss;

/// The identifier of a call, chosen by whoever submits it and carried by every event about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallId(pub u64);

/// Something that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The status line of a call's final reply is complete.
    ReplyStarted {
        /// The call.
        call: CallId,
        /// Its status.
        status: u16,
    },
    /// The header block of the final reply, from the status line to the empty line. Only if the options ask
    /// for it.
    ReplyHead {
        /// The call.
        call: CallId,
        /// The bytes as they came.
        head: HeaderBlock,
    },
    /// The header block of a final reply whose content the options want as it streams in
    /// ([`Streamed`](crate::content::Streamed)) is complete. Its body follows, as it comes.
    StreamStarted {
        /// The call.
        call: CallId,
        /// What the header block says of it.
        content: Content,
    },
    /// Part of the body, without chunk framing. Only if the options ask for it.
    ReplyBody {
        /// The call.
        call: CallId,
        /// The bytes; their division into events means nothing.
        data: Cow<'a, [u8]>,
    },
    /// The trailers of a reply, between a line of the protocol's name and an empty line. Only if the options ask for them.
    ReplyTrailers {
        /// The call.
        call: CallId,
        /// The fields, in HTTP/1's form.
        fields: HeaderBlock,
    },
    /// The reply is complete.
    ReplyDone {
        /// The call.
        call: CallId,
        /// Its sizes.
        size: ReplySize,
        /// True if the connection can carry another call.
        reuse: Reuse,
    },
    /// The peer says that it has not processed the call: it can be made again without harm, and no longer
    /// belongs to the connection.
    CallReturned {
        /// The call.
        call: CallId,
        /// The sign by which it said so.
        why: Undone,
    },
    /// The call will have no complete reply; the connection continues.
    CallFailed {
        /// The call.
        call: CallId,
        /// The reason.
        why: Undone,
    },
    /// The connection takes no further calls. Those under way are still answered.
    Draining,
    /// The connection takes no further calls and has none left that were sent: it is of no further use.
    Drained,
}

impl Event<'_> {
    /// Returns the call that it is about, if any.
    #[must_use]
    pub fn call(&self) -> Option<CallId> {
        match *self {
            Self::ReplyStarted { call, .. }
            | Self::ReplyHead { call, .. }
            | Self::StreamStarted { call, .. }
            | Self::ReplyBody { call, .. }
            | Self::ReplyTrailers { call, .. }
            | Self::ReplyDone { call, .. }
            | Self::CallReturned { call, .. }
            | Self::CallFailed { call, .. } => Some(call),
            Self::Draining | Self::Drained => None,
        }
    }

    /// Returns the same event, with bytes of its own.
    #[must_use]
    pub fn into_owned(self) -> Event<'static> {
        match self {
            Self::ReplyStarted { call, status } => Event::ReplyStarted { call, status },
            Self::ReplyHead { call, head } => Event::ReplyHead { call, head },
            Self::StreamStarted { call, content } => Event::StreamStarted { call, content },
            Self::ReplyBody { call, data } => Event::ReplyBody { call, data: data.into_owned().into() },
            Self::ReplyTrailers { call, fields } => Event::ReplyTrailers { call, fields },
            Self::ReplyDone { call, size, reuse } => Event::ReplyDone { call, size, reuse },
            Self::CallReturned { call, why } => Event::CallReturned { call, why },
            Self::CallFailed { call, why } => Event::CallFailed { call, why },
            Self::Draining => Event::Draining,
            Self::Drained => Event::Drained,
        }
    }
}

/// The reason why a call gets no complete reply on a connection that continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undone {
    /// The peer reset its stream, with this code.
    Reset(Code),
    /// The peer ends the connection by GOAWAY, with this code, and has not processed the call.
    GoAway(Code),
    /// We reset its stream, as its reply breaks this rule or goes beyond this limit.
    Rejected(&'static str),
}

/// Protocol of a peer whose first bytes are no reply of HTTP/1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Foreign {
    /// TLS.
    #[error("the server speaks TLS")]
    Tls,
    /// HTTP/2.
    #[error("the server speaks HTTP/2")]
    Http2,
    /// Something else.
    #[error("the server's first bytes are not HTTP")]
    Unknown {
        /// Its beginning, at most [`Foreign::BEGINNING`] bytes.
        beginning: Vec<u8>,
    },
}

impl Foreign {
    /// The number of bytes by which an unknown protocol is shown.
    pub const BEGINNING: usize = 32;

    /// Returns what these first bytes of a peer are; `None` if they may be a reply of HTTP/1.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        const HTTP1: &[u8] = b"HTTP/";
        /// An alert of TLS, of any version (RFC 8446, section 5.1).
        const ALERT: &[u8] = &[21, 3];
        /// The type of the frame with which a server of HTTP/2 begins, behind three bytes of length (RFC 9113, section 3.4).
        const SETTINGS: u8 = 4;
        if bytes.iter().zip(HTTP1).all(|(byte, its)| byte == its) {
            return None;
        }
        Some(match bytes {
            _ if bytes.starts_with(ALERT) => Self::Tls,
            [0, _, length, SETTINGS, 0, 0, 0, 0, 0, ..] if length % 6 == 0 => Self::Http2,
            _ => Self::Unknown { beginning: bytes[..bytes.len().min(Self::BEGINNING)].to_vec() },
        })
    }

    /// Returns whether further bytes would not change that.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        matches!(self, Self::Tls | Self::Http2)
    }
}

/// An error code of a protocol with streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// One of HTTP/2.
    Http2(http2::ErrorCode),
    /// One of HTTP/3.
    Http3(http3::ErrorCode),
}

impl From<http2::ErrorCode> for Code {
    fn from(code: http2::ErrorCode) -> Self {
        Self::Http2(code)
    }
}

impl From<http3::ErrorCode> for Code {
    fn from(code: http3::ErrorCode) -> Self {
        Self::Http3(code)
    }
}

impl Code {
    /// Returns its name in the standards; in digits if it has none.
    #[must_use]
    pub fn name(self) -> Cow<'static, str> {
        let name = match self {
            Self::Http2(code) => code.name(),
            Self::Http3(code) => code.name(),
        };
        name.map_or_else(|| self.to_string().into(), Cow::Borrowed)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http2(code) => code.fmt(f),
            Self::Http3(code) => code.fmt(f),
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

/// The fate of a connection after a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// It can carry another call.
    Keep,
    /// The peer closes it, or it can no longer be understood.
    Close,
}

/// A step in the sending of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The transport took its first byte.
    Started(CallId),
    /// The transport took its last byte.
    Finished(CallId),
}

impl Sent {
    /// Returns the call.
    #[must_use]
    pub fn call(self) -> CallId {
        let (Self::Started(call) | Self::Finished(call)) = self;
        call
    }
}

/// A call that had to wait for the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// The call.
    pub call: CallId,
    /// The cause.
    pub what: Awaited,
    /// The total time.
    pub time: Duration,
}

/// Something that calls wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// One of the streams that the peer allows at once.
    Stream,
    /// Room for the request's body in the peer's flow-control windows.
    Window,
}

/// The reason why a connection can no longer be understood; always the peer's fault.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProtocolError {
    /// The connection ended in the middle of a reply, or before one that was due.
    #[error("connection closed before the end of the reply")]
    Truncated,
    /// Bytes that answer no request.
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
    /// A peer that speaks something else than HTTP/1.
    #[error(transparent)]
    Foreign(#[from] Foreign),
    /// A malformed header block.
    #[error("malformed reply header")]
    BadHead,
    /// A reply that does not begin with a status line.
    #[error("the first line of the reply is not a status line")]
    BadStatusLine {
        /// The line, without its end.
        line: Box<[u8]>,
    },
    /// A status outside 100 to 999.
    #[error("reply status outside 100 to 999")]
    BadStatus,
    /// A `101 Switching Protocols` for a request that asked for no other protocol.
    #[error("a status 101 that the request did not ask for")]
    Unasked101,
    /// A malformed Content-Length, or several that differ.
    #[error("invalid Content-Length")]
    BadLength,
    /// A malformed or oversized chunk-size line.
    #[error("invalid chunk-size line")]
    BadChunk,
    /// A chunk whose data is longer than its size says, or has no line end behind it.
    #[error("a chunk without a line end behind its data")]
    BadChunkEnd,
    /// More interim (1xx) replies than the limit.
    #[error("more than {limit} interim replies")]
    TooManyInterim {
        /// The limit.
        limit: u32,
    },
    /// A violation that ends a connection of HTTP/2.
    #[error(transparent)]
    Http2(#[from] ConnectionError),
    /// A violation that ends a connection of HTTP/3.
    #[error(transparent)]
    Http3(#[from] http3::ConnectionError),
    /// The end of a connection of QUIC while calls were under way, or before it was there.
    #[error(transparent)]
    Quic(#[from] Loss),
}
