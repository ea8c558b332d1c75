//! GOAWAY (RFC 9113, section 6.8): the connection comes to its end.

use super::{CONNECTION, ErrorCode, FrameHeader, RESERVED, Violation, kind, take_u32};

/// A GOAWAY frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GoAway<'a> {
    /// Streams beyond this one were not processed, and their requests may be made again.
    pub(crate) last_stream: u32,
    pub(crate) code: ErrorCode,
    /// For people to read, perhaps.
    pub(crate) debug: &'a [u8],
}

impl<'a> GoAway<'a> {
    pub(super) fn parse(header: FrameHeader, payload: &'a [u8]) -> Result<Self, Violation> {
        if header.stream != CONNECTION {
            return Err(Violation::of_connection(
                ErrorCode::PROTOCOL_ERROR,
                "a GOAWAY frame on a stream that is not 0",
            ));
        }
        let parsed = take_u32(payload).and_then(|(last, rest)| Some((last, take_u32(rest)?)));
        let Some((last, (code, debug))) = parsed else {
            return Err(Violation::of_connection(
                ErrorCode::FRAME_SIZE_ERROR,
                "a GOAWAY frame of less than 8 bytes",
            ));
        };
        Ok(Self { last_stream: last & !RESERVED, code: ErrorCode(code), debug })
    }

    /// Appends it.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        let length = (8 + self.debug.len()) as u32;
        FrameHeader { length, kind: kind::GOAWAY, flags: 0, stream: CONNECTION }.write(out);
        out.extend_from_slice(&self.last_stream.to_be_bytes());
        out.extend_from_slice(&self.code.0.to_be_bytes());
        out.extend_from_slice(self.debug);
    }
}
