//! CONTINUATION (RFC 9113, section 6.10): more of a header block.

use super::{CONNECTION, ErrorCode, FrameHeader, Violation, flags};

/// A CONTINUATION frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Continuation<'a> {
    pub(crate) stream: u32,
    /// Its part of the header block.
    pub(crate) fragment: &'a [u8],
    /// True if it ends the header block.
    pub(crate) end_headers: bool,
}

impl<'a> Continuation<'a> {
    pub(super) fn parse(header: FrameHeader, payload: &'a [u8]) -> Result<Self, Violation> {
        if header.stream == CONNECTION {
            return Err(Violation::of_connection(
                ErrorCode::PROTOCOL_ERROR,
                "a CONTINUATION frame on stream 0",
            ));
        }
        Ok(Self { stream: header.stream, fragment: payload, end_headers: header.has(flags::END_HEADERS) })
    }
}
