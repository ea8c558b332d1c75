//! Error codes (RFC 9114, section 8.1; RFC 9204, section 6) and violations.

use std::fmt::{self, Display};

use crate::counts::PeerCode;

/// The reason why a stream or a connection ends.
///
/// <https://www.rfc-editor.org/rfc/rfc9114#section-8.1>
/// <https://www.rfc-editor.org/rfc/rfc9204#section-6>
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ErrorCode(pub u64);

impl ErrorCode {
    /// No error.
    pub const H3_NO_ERROR: Self = Self(0x100);
    /// A violation that has no code of its own.
    pub const H3_GENERAL_PROTOCOL_ERROR: Self = Self(0x101);
    /// An internal error.
    pub const H3_INTERNAL_ERROR: Self = Self(0x102);
    /// A stream that is not accepted.
    pub const H3_STREAM_CREATION_ERROR: Self = Self(0x103);
    /// The end of a stream that the connection needs.
    pub const H3_CLOSED_CRITICAL_STREAM: Self = Self(0x104);
    /// A frame where it may not be.
    pub const H3_FRAME_UNEXPECTED: Self = Self(0x105);
    /// A frame of invalid layout or size.
    pub const H3_FRAME_ERROR: Self = Self(0x106);
    /// The peer causes too much load.
    pub const H3_EXCESSIVE_LOAD: Self = Self(0x107);
    /// An identifier that may not be used, or not again.
    pub const H3_ID_ERROR: Self = Self(0x108);
    /// An invalid setting.
    pub const H3_SETTINGS_ERROR: Self = Self(0x109);
    /// A control stream that does not begin with settings.
    pub const H3_MISSING_SETTINGS: Self = Self(0x10a);
    /// The request was not processed: it may be made again.
    pub const H3_REQUEST_REJECTED: Self = Self(0x10b);
    /// The stream is no longer needed.
    pub const H3_REQUEST_CANCELLED: Self = Self(0x10c);
    /// The request ended early.
    pub const H3_REQUEST_INCOMPLETE: Self = Self(0x10d);
    /// A malformed message.
    pub const H3_MESSAGE_ERROR: Self = Self(0x10e);
    /// The connection of a CONNECT failed.
    pub const H3_CONNECT_ERROR: Self = Self(0x10f);
    /// HTTP/1.1 is required.
    pub const H3_VERSION_FALLBACK: Self = Self(0x110);
    /// A field section that cannot be decoded.
    pub const QPACK_DECOMPRESSION_FAILED: Self = Self(0x200);
    /// An encoder stream that cannot be read.
    pub const QPACK_ENCODER_STREAM_ERROR: Self = Self(0x201);
    /// A decoder stream that cannot be read.
    pub const QPACK_DECODER_STREAM_ERROR: Self = Self(0x202);

    /// Returns its name in the standards, if it has one.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::H3_NO_ERROR => "H3_NO_ERROR",
            Self::H3_GENERAL_PROTOCOL_ERROR => "H3_GENERAL_PROTOCOL_ERROR",
            Self::H3_INTERNAL_ERROR => "H3_INTERNAL_ERROR",
            Self::H3_STREAM_CREATION_ERROR => "H3_STREAM_CREATION_ERROR",
            Self::H3_CLOSED_CRITICAL_STREAM => "H3_CLOSED_CRITICAL_STREAM",
            Self::H3_FRAME_UNEXPECTED => "H3_FRAME_UNEXPECTED",
            Self::H3_FRAME_ERROR => "H3_FRAME_ERROR",
            Self::H3_EXCESSIVE_LOAD => "H3_EXCESSIVE_LOAD",
            Self::H3_ID_ERROR => "H3_ID_ERROR",
            Self::H3_SETTINGS_ERROR => "H3_SETTINGS_ERROR",
            Self::H3_MISSING_SETTINGS => "H3_MISSING_SETTINGS",
            Self::H3_REQUEST_REJECTED => "H3_REQUEST_REJECTED",
            Self::H3_REQUEST_CANCELLED => "H3_REQUEST_CANCELLED",
            Self::H3_REQUEST_INCOMPLETE => "H3_REQUEST_INCOMPLETE",
            Self::H3_MESSAGE_ERROR => "H3_MESSAGE_ERROR",
            Self::H3_CONNECT_ERROR => "H3_CONNECT_ERROR",
            Self::H3_VERSION_FALLBACK => "H3_VERSION_FALLBACK",
            Self::QPACK_DECOMPRESSION_FAILED => "QPACK_DECOMPRESSION_FAILED",
            Self::QPACK_ENCODER_STREAM_ERROR => "QPACK_ENCODER_STREAM_ERROR",
            Self::QPACK_DECODER_STREAM_ERROR => "QPACK_DECODER_STREAM_ERROR",
            _ => return None,
        })
    }
}

/// <https://www.rfc-editor.org/rfc/rfc9114#section-9>
impl PeerCode for ErrorCode {
    const OTHER: Self = Self::H3_NO_ERROR;

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

/// A violation of the protocol by the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The code that ends the stream or the connection.
    pub(crate) code: ErrorCode,
    /// The reason, as messages say it.
    pub(crate) reason: &'static str,
    pub(crate) scope: Scope,
}

/// The extent of a violation: what cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Connection,
    /// The stream that was read; others go on.
    Stream,
}

impl Violation {
    /// Makes a violation that ends the connection.
    pub(crate) const fn of_connection(code: ErrorCode, reason: &'static str) -> Self {
        Self { code, reason, scope: Scope::Connection }
    }

    /// Makes a violation that ends the stream that was read.
    pub(crate) const fn of_stream(code: ErrorCode, reason: &'static str) -> Self {
        Self { code, reason, scope: Scope::Stream }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_names_of_the_standards() {
        assert_eq!(ErrorCode(0x100).to_string(), "H3_NO_ERROR");
        assert_eq!(ErrorCode(0x105).to_string(), "H3_FRAME_UNEXPECTED");
        assert_eq!(ErrorCode(0x110).to_string(), "H3_VERSION_FALLBACK");
        assert_eq!(ErrorCode(0x200).to_string(), "QPACK_DECOMPRESSION_FAILED");
        assert_eq!(ErrorCode(0x202).to_string(), "QPACK_DECODER_STREAM_ERROR");
        assert_eq!(ErrorCode(0x1234).to_string(), "0x1234");
        let named = (0..0x1000).filter(|&code| ErrorCode(code).name().is_some()).count();
        assert_eq!(named, 20);
    }
}
