//! DATA (RFC 9113, section 6.1): part of a body. The payload is read piece by piece; this is the beginning of
//! the frame.

use super::{CONNECTION, ErrorCode, FrameHeader, Violation, flags, kind};

/// The beginning of a DATA frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Data {
    pub(crate) stream: u32,
    /// The size of the payload, padding included: what it takes of the flow-control windows.
    pub(crate) length: u32,
    /// True if it ends its stream.
    pub(crate) end_stream: bool,
}

impl Data {
    pub(super) fn parse(header: FrameHeader) -> Result<Self, Violation> {
        if header.stream == CONNECTION {
            return Err(Violation::of_connection(ErrorCode::PROTOCOL_ERROR, "a DATA frame on stream 0"));
        }
        Ok(Self { stream: header.stream, length: header.length, end_stream: header.has(flags::END_STREAM) })
    }

    /// Appends the beginning of a frame without padding; the payload follows.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        let flags = if self.end_stream { flags::END_STREAM } else { 0 };
        FrameHeader { length: self.length, kind: kind::DATA, flags, stream: self.stream }.write(out);
    }
}
