//! Frames (RFC 9113, sections 4 and 6): a file for each type, with what a client must check in it.
//!
//! [`Reader`] finds them in the bytes that arrive, wherever those are cut. The payload of a DATA frame is handed on as it
//! comes; any other is handed on whole.

mod continuation;
mod data;
mod goaway;
mod headers;
mod ping;
mod push_promise;
mod reader;
mod rst_stream;
mod settings;
mod window_update;

use std::fmt::{self, Display};

pub(crate) use self::continuation::Continuation;
pub(crate) use self::data::Data;
pub(crate) use self::goaway::GoAway;
pub(crate) use self::headers::Headers;
pub(crate) use self::ping::Ping;
pub(crate) use self::push_promise::PushPromise;
pub(crate) use self::reader::{Piece, Reader};
pub(crate) use self::rst_stream::RstStream;
pub(crate) use self::settings::{Parameter, Settings, WINDOW_MAX};
pub(crate) use self::window_update::WindowUpdate;

/// Bytes before the payload of each frame.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-4.1>
pub(crate) const HEADER_SIZE: usize = 9;

/// The least that can be agreed upon as the largest payload, which holds until something else is.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-4.2>
pub(crate) const MAX_FRAME_SIZE_MIN: u32 = 1 << 14;

/// The most that can be.
pub(crate) const MAX_FRAME_SIZE_MAX: u32 = (1 << 24) - 1;

/// The stream that frames are on which are about the connection.
pub(crate) const CONNECTION: u32 = 0;

/// The bit of a number of 31 bits that means nothing.
const RESERVED: u32 = 1 << 31;

/// The types of frames.
pub(super) mod kind {
    pub(super) const DATA: u8 = 0x0;
    pub(super) const HEADERS: u8 = 0x1;
    pub(super) const PRIORITY: u8 = 0x2;
    pub(super) const RST_STREAM: u8 = 0x3;
    pub(in super::super) const SETTINGS: u8 = 0x4;
    pub(super) const PUSH_PROMISE: u8 = 0x5;
    pub(super) const PING: u8 = 0x6;
    pub(super) const GOAWAY: u8 = 0x7;
    pub(super) const WINDOW_UPDATE: u8 = 0x8;
    pub(super) const CONTINUATION: u8 = 0x9;
}

/// The flags of frames.
mod flags {
    pub(super) const ACK: u8 = 0x1;
    pub(super) const END_STREAM: u8 = 0x1;
    pub(super) const END_HEADERS: u8 = 0x4;
    pub(super) const PADDED: u8 = 0x8;
    pub(super) const PRIORITY: u8 = 0x20;
}

/// What comes before the payload of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    /// Bytes of the payload.
    pub(crate) length: u32,
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
}

/// A frame with its payload, but for DATA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame<'a> {
    Headers(Headers<'a>),
    RstStream(RstStream),
    Settings(Settings<'a>),
    PushPromise(PushPromise),
    Ping(Ping),
    GoAway(GoAway<'a>),
    WindowUpdate(WindowUpdate),
    Continuation(Continuation<'a>),
    /// One that means nothing to us: PRIORITY, which is deprecated, or of a type that we do not know.
    Ignored,
}

/// What a peer does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// What the connection, or the stream, is ended with.
    pub(crate) code: ErrorCode,
    /// What is wrong, as a message says it.
    pub(crate) reason: &'static str,
    /// The stream that ends; `None` if the connection does.
    pub(crate) stream: Option<u32>,
}

impl Violation {
    /// One that ends the connection.
    pub(crate) const fn of_connection(code: ErrorCode, reason: &'static str) -> Self {
        Self { code, reason, stream: None }
    }

    /// One that ends a stream.
    pub(crate) const fn of_stream(stream: u32, code: ErrorCode, reason: &'static str) -> Self {
        Self { code, reason, stream: Some(stream) }
    }
}

/// Why a stream or a connection ends.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-7>
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    /// Nothing is wrong.
    pub const NO_ERROR: Self = Self(0x0);
    /// The protocol was not kept to, in a way that has no code of its own.
    pub const PROTOCOL_ERROR: Self = Self(0x1);
    /// Something unexpected happened within.
    pub const INTERNAL_ERROR: Self = Self(0x2);
    /// Flow control was not kept to.
    pub const FLOW_CONTROL_ERROR: Self = Self(0x3);
    /// Settings were not acknowledged in time.
    pub const SETTINGS_TIMEOUT: Self = Self(0x4);
    /// A frame came on a stream that was closed.
    pub const STREAM_CLOSED: Self = Self(0x5);
    /// A frame has a size that it cannot have.
    pub const FRAME_SIZE_ERROR: Self = Self(0x6);
    /// The stream was not processed: its request may be made again.
    pub const REFUSED_STREAM: Self = Self(0x7);
    /// The stream is not needed any more.
    pub const CANCEL: Self = Self(0x8);
    /// Header compression cannot go on.
    pub const COMPRESSION_ERROR: Self = Self(0x9);
    /// The connection of a CONNECT failed.
    pub const CONNECT_ERROR: Self = Self(0xa);
    /// The peer causes too much load.
    pub const ENHANCE_YOUR_CALM: Self = Self(0xb);
    /// The transport is not secure enough.
    pub const INADEQUATE_SECURITY: Self = Self(0xc);
    /// HTTP/1.1 is to be used.
    pub const HTTP_1_1_REQUIRED: Self = Self(0xd);

    /// How many have a name.
    pub(super) const NAMED: usize = 14;

    /// Its name in the standard, if it has one.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        const NAMES: [&str; ErrorCode::NAMED] = [
            "NO_ERROR",
            "PROTOCOL_ERROR",
            "INTERNAL_ERROR",
            "FLOW_CONTROL_ERROR",
            "SETTINGS_TIMEOUT",
            "STREAM_CLOSED",
            "FRAME_SIZE_ERROR",
            "REFUSED_STREAM",
            "CANCEL",
            "COMPRESSION_ERROR",
            "CONNECT_ERROR",
            "ENHANCE_YOUR_CALM",
            "INADEQUATE_SECURITY",
            "HTTP_1_1_REQUIRED",
        ];
        NAMES.get(self.0 as usize).copied()
    }
}

impl Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "{:#x}", self.0),
        }
    }
}

impl FrameHeader {
    fn parse(bytes: [u8; HEADER_SIZE]) -> Self {
        let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = bytes;
        Self {
            length: u32::from_be_bytes([0, l0, l1, l2]),
            kind,
            flags,
            stream: u32::from_be_bytes([s0, s1, s2, s3]) & !RESERVED,
        }
    }

    /// Appends it; the payload is to follow.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.length.to_be_bytes()[1..]);
        out.extend_from_slice(&[self.kind, self.flags]);
        out.extend_from_slice(&self.stream.to_be_bytes());
    }

    fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

impl<'a> Frame<'a> {
    /// Reads a frame that is whole and no DATA.
    fn parse(header: FrameHeader, payload: &'a [u8]) -> Result<Self, Violation> {
        Ok(match header.kind {
            kind::HEADERS => Self::Headers(Headers::parse(header, payload)?),
            kind::RST_STREAM => Self::RstStream(RstStream::parse(header, payload)?),
            kind::SETTINGS => Self::Settings(Settings::parse(header, payload)?),
            kind::PUSH_PROMISE => Self::PushPromise(PushPromise::parse(header, payload)?),
            kind::PING => Self::Ping(Ping::parse(header, payload)?),
            kind::GOAWAY => Self::GoAway(GoAway::parse(header, payload)?),
            kind::WINDOW_UPDATE => Self::WindowUpdate(WindowUpdate::parse(header, payload)?),
            kind::CONTINUATION => Self::Continuation(Continuation::parse(header, payload)?),
            kind::PRIORITY => {
                // It is deprecated, and yet what is wrong with it must be found (section 6.3).
                if header.stream == CONNECTION {
                    return Err(Violation::of_connection(
                        ErrorCode::PROTOCOL_ERROR,
                        "a PRIORITY frame on stream 0",
                    ));
                }
                if payload.len() != 5 {
                    return Err(Violation::of_stream(
                        header.stream,
                        ErrorCode::FRAME_SIZE_ERROR,
                        "a PRIORITY frame without 5 bytes",
                    ));
                }
                Self::Ignored
            }
            _ => Self::Ignored,
        })
    }
}

/// Takes the padding off a payload, if the frame says that it has some.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-6.1>
fn without_padding(header: FrameHeader, payload: &[u8]) -> Result<&[u8], Violation> {
    if !header.has(flags::PADDED) {
        return Ok(payload);
    }
    let (&padding, rest) = payload.split_first().ok_or(NO_PADDING_SIZE)?;
    let size = rest.len().checked_sub(padding.into()).ok_or(TOO_MUCH_PADDING)?;
    Ok(&rest[..size])
}

const NO_PADDING_SIZE: Violation = Violation::of_connection(
    ErrorCode::FRAME_SIZE_ERROR,
    "a padded frame without room for the size of its padding",
);

const TOO_MUCH_PADDING: Violation =
    Violation::of_connection(ErrorCode::PROTOCOL_ERROR, "more padding than payload");

/// The first four bytes as a number, and what follows them.
fn take_u32(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u32::from_be_bytes(*number), rest))
}

#[cfg(test)]
mod tests;
