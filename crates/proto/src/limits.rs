//! Bounds on replies, the same for every version of HTTP.

use crate::http1::MAX_FIELDS;

/// The number of bytes of `Server-Timing` that are kept.
pub(crate) const SERVER_TIMING_SIZE: usize = 512;

/// Bounds on a reply. Beyond one of them the call or its connection fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyLimits {
    /// Bytes of a header block, and of a trailer section. Over HTTP/2, both of the encoded block and of the header list as
    /// RFC 9113 counts it (section 10.5.1).
    pub head_size: usize,
    /// Number of header fields (at most [`MAX_FIELDS`] over HTTP/1).
    pub fields: usize,
    /// Bytes of a chunk-size line. Only HTTP/1 has such lines.
    pub chunk_line_size: usize,
    /// Number of interim replies before a final one.
    pub interim_replies: u32,
}

impl Default for ReplyLimits {
    fn default() -> Self {
        Self { head_size: 64 * 1024, fields: MAX_FIELDS, chunk_line_size: 4096, interim_replies: 32 }
    }
}
