//! WINDOW_UPDATE (RFC 9113, section 6.9): room for more.

use super::{CONNECTION, ErrorCode, FrameHeader, RESERVED, Violation, kind, take_u32};

/// A WINDOW_UPDATE frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WindowUpdate {
    /// The stream, or 0 for the connection.
    pub(crate) stream: u32,
    /// The growth of the window in bytes: 1 to 2^31 - 1.
    pub(crate) increment: u32,
}

impl WindowUpdate {
    pub(super) fn parse(header: FrameHeader, payload: &[u8]) -> Result<Self, Violation> {
        let stream = header.stream;
        let Some((increment, [])) = take_u32(payload) else {
            return Err(Violation::of_connection(
                ErrorCode::FRAME_SIZE_ERROR,
                "a WINDOW_UPDATE frame without 4 bytes",
            ));
        };
        match increment & !RESERVED {
            0 if stream == CONNECTION => {
                Err(Violation::of_connection(ErrorCode::PROTOCOL_ERROR, "a WINDOW_UPDATE frame by 0"))
            }
            0 => Err(Violation::of_stream(stream, ErrorCode::PROTOCOL_ERROR, "a WINDOW_UPDATE frame by 0")),
            increment => Ok(Self { stream, increment }),
        }
    }

    /// Appends the frame.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        FrameHeader { length: 4, kind: kind::WINDOW_UPDATE, flags: 0, stream: self.stream }.write(out);
        out.extend_from_slice(&self.increment.to_be_bytes());
    }
}
