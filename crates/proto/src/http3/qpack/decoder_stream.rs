//! The server's decoder stream (RFC 9204, section 4.4): what it says of a table that we do not use.

use super::super::error::{ErrorCode, Violation};
use crate::header_compression::integer::CONTINUATION_MAX_U62;

/// Reads the instructions of a decoder to an encoder that never refers to a dynamic table. It may only cancel streams.
#[derive(Debug, Default)]
pub(crate) struct DecoderStream {
    /// The number of bytes that were read of a stream ID beyond its prefix, if it goes on.
    continued: Option<u32>,
    cancellations: u64,
}

impl DecoderStream {
    /// Returns the number of cancellations that were read.
    pub(crate) fn cancellations(&self) -> u64 {
        self.cancellations
    }

    /// Reads bytes of the stream.
    ///
    /// # Errors
    /// When an instruction acknowledges what was never sent, or is malformed. Read nothing more then.
    pub(crate) fn handle_bytes(&mut self, bytes: &[u8]) -> Result<(), Violation> {
        for &byte in bytes {
            self.continued = match (self.continued, byte) {
                // Section acknowledgment (section 4.4.1).
                (None, 0x80..) => {
                    return Err(violation("an acknowledgment of a section that needs none"));
                }
                // Stream cancellation (section 4.4.2).
                (None, 0x7f) => Some(0),
                (None, 0x40..) => None,
                // Insert count increment (section 4.4.3).
                (None, _) => return Err(violation("an acknowledgment of an insertion that was not made")),
                (Some(CONTINUATION_MAX_U62), _) => {
                    return Err(violation("a cancellation with a number that is too large"));
                }
                (Some(count), byte) => (byte & 0x80 != 0).then_some(count + 1),
            };
            self.cancellations += u64::from(self.continued.is_none());
        }
        Ok(())
    }
}

const fn violation(reason: &'static str) -> Violation {
    Violation::of_connection(ErrorCode::QPACK_DECODER_STREAM_ERROR, reason)
}
