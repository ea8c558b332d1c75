//! Frames (RFC 9113, sections 4 and 6): a file for each type, with what a client must check in it.
//!
//! [`Reader`] finds them in the bytes that arrive, wherever those are cut. The payload of a DATA frame is
//! passed on as it arrives, any other once it is complete.

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
use crate::counts::PeerCode;

/// The size of a frame header.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-4.1>
pub(crate) const HEADER_SIZE: usize = 9;

/// The least value of SETTINGS_MAX_FRAME_SIZE, which is also the initial one.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-4.2>
pub(crate) const MAX_FRAME_SIZE_MIN: u32 = 1 << 14;

/// The largest value.
pub(crate) const MAX_FRAME_SIZE_MAX: u32 = (1 << 24) - 1;

/// The stream identifier of frames about the connection.
pub(crate) const CONNECTION: u32 = 0;

/// The reserved bit before an identifier of 31 bits.
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

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    /// The size of the payload.
    pub(crate) length: u32,
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
}

/// A complete frame other than DATA.
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
    /// A frame that is ignored: PRIORITY, which is deprecated, or an unknown type.
    Ignored,
}

/// A violation of the protocol by the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The code that ends the stream or the connection.
    pub(crate) code: ErrorCode,
    /// The reason, as messages say it.
    pub(crate) reason: &'static str,
    /// The stream that ends; `None` if the connection does.
    pub(crate) stream: Option<u32>,
}

impl Violation {
    /// Makes a violation that ends the connection.
    pub(crate) const fn of_connection(code: ErrorCode, reason: &'static str) -> Self {
        Self { code, reason, stream: None }
    }

    /// Makes a violation that ends a stream.
    pub(crate) const fn of_stream(stream: u32, code: ErrorCode, reason: &'static str) -> Self {
        Self { code, reason, stream: Some(stream) }
    }
}

/// The reason why a stream or a connection ends.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-7>
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    /// No error.
    pub const NO_ERROR: Self = Self(0x0);
    /// A violation that has no code of its own.
    pub const PROTOCOL_ERROR: Self = Self(0x1);
    /// An internal error.
    pub const INTERNAL_ERROR: Self = Self(0x2);
    /// A violation of flow control.
    pub const FLOW_CONTROL_ERROR: Self = Self(0x3);
    /// Settings were not acknowledged in time.
    pub const SETTINGS_TIMEOUT: Self = Self(0x4);
    /// A frame on a closed stream.
    pub const STREAM_CLOSED: Self = Self(0x5);
    /// A frame of invalid size.
    pub const FRAME_SIZE_ERROR: Self = Self(0x6);
    /// The stream was not processed: its request may be made again.
    pub const REFUSED_STREAM: Self = Self(0x7);
    /// The stream is no longer needed.
    pub const CANCEL: Self = Self(0x8);
    /// The header compression state is lost.
    pub const COMPRESSION_ERROR: Self = Self(0x9);
    /// The connection of a CONNECT failed.
    pub const CONNECT_ERROR: Self = Self(0xa);
    /// The peer causes too much load.
    pub const ENHANCE_YOUR_CALM: Self = Self(0xb);
    /// The transport is not secure enough.
    pub const INADEQUATE_SECURITY: Self = Self(0xc);
    /// HTTP/1.1 is required.
    pub const HTTP_1_1_REQUIRED: Self = Self(0xd);

    /// Returns its name in RFC 9113, if it has one.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        const NAMES: [&str; 14] = [
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

/// <https://www.rfc-editor.org/rfc/rfc9113#section-7>
impl PeerCode for ErrorCode {
    const OTHER: Self = Self::INTERNAL_ERROR;

    fn is_named(self) -> bool {
        self.name().is_some()
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

    /// Appends the header; the payload follows.
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
    /// Reads a complete frame other than DATA.
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
                // It is deprecated, but must still be checked (section 6.3).
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

/// Strips the padding off a payload, if the flags say that it has any.
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

/// Splits off the first four bytes as a number.
fn take_u32(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u32::from_be_bytes(*number), rest))
}

#[cfg(test)]
mod tests;
