//! GOAWAY (RFC 9113, section 6.8): the end of a connection.

use super::{CONNECTION, ErrorCode, FrameHeader, RESERVED, Violation, kind, take_u32};

/// A GOAWAY frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GoAway<'a> {
    /// The last stream that was processed; requests of later ones may be made again.
    pub(crate) last_stream: u32,
    pub(crate) code: ErrorCode,
    /// Debugging information, perhaps text.
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

    /// Appends the frame.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        let length = (8 + self.debug.len()) as u32;
        FrameHeader { length, kind: kind::GOAWAY, flags: 0, stream: CONNECTION }.write(out);
        out.extend_from_slice(&self.last_stream.to_be_bytes());
        out.extend_from_slice(&self.code.0.to_be_bytes());
        out.extend_from_slice(self.debug);
    }
}
