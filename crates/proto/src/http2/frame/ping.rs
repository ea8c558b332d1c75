//! PING (RFC 9113, section 6.7): a test of whether the other end is there.

use super::{CONNECTION, ErrorCode, FrameHeader, Violation, flags, kind};

/// A PING frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ping {
    /// True if it answers ours.
    pub(crate) ack: bool,
    /// Opaque data, which the answer repeats.
    pub(crate) data: [u8; 8],
}

impl Ping {
    pub(super) fn parse(header: FrameHeader, payload: &[u8]) -> Result<Self, Violation> {
        if header.stream != CONNECTION {
            return Err(Violation::of_connection(
                ErrorCode::PROTOCOL_ERROR,
                "a PING frame on a stream that is not 0",
            ));
        }
        let wrong_size =
            Violation::of_connection(ErrorCode::FRAME_SIZE_ERROR, "a PING frame without 8 bytes");
        let data = payload.try_into().map_err(|_| wrong_size)?;
        Ok(Self { ack: header.has(flags::ACK), data })
    }

    /// Appends the frame.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        let flags = if self.ack { flags::ACK } else { 0 };
        FrameHeader { length: 8, kind: kind::PING, flags, stream: CONNECTION }.write(out);
        out.extend_from_slice(&self.data);
    }
}
