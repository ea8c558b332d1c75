//! RST_STREAM (RFC 9113, section 6.4): the immediate end of a stream.

use super::{CONNECTION, ErrorCode, FrameHeader, Violation, kind, take_u32};

/// An RST_STREAM frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RstStream {
    pub(crate) stream: u32,
    pub(crate) code: ErrorCode,
}

impl RstStream {
    pub(super) fn parse(header: FrameHeader, payload: &[u8]) -> Result<Self, Violation> {
        if header.stream == CONNECTION {
            return Err(Violation::of_connection(
                ErrorCode::PROTOCOL_ERROR,
                "an RST_STREAM frame on stream 0",
            ));
        }
        match take_u32(payload) {
            Some((code, [])) => Ok(Self { stream: header.stream, code: ErrorCode(code) }),
            _ => Err(Violation::of_connection(
                ErrorCode::FRAME_SIZE_ERROR,
                "an RST_STREAM frame without 4 bytes",
            )),
        }
    }

    /// Appends the frame.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        FrameHeader { length: 4, kind: kind::RST_STREAM, flags: 0, stream: self.stream }.write(out);
        out.extend_from_slice(&self.code.0.to_be_bytes());
    }
}
