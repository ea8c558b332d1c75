//! HEADERS (RFC 9114, section 7.2.2): a header or trailer section.

use super::{kind, write_header};

/// A HEADERS frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Headers<'a> {
    /// The encoded field section.
    pub(crate) section: &'a [u8],
}

impl Headers<'_> {
    /// Appends the frame.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        write_header(kind::HEADERS, self.section.len() as u64, out);
        out.extend_from_slice(self.section);
    }
}
