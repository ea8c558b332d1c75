//! DATA (RFC 9114, section 7.2.1): part of a body. The payload is read piece by piece; this is the beginning of the
//! frame.

use super::{kind, write_header};

/// The beginning of a DATA frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Data {
    /// The size of the payload.
    pub(crate) length: u64,
}

impl Data {
    /// Appends the beginning of a frame; the payload follows.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        write_header(kind::DATA, self.length, out);
    }
}
