//! Counts of what happens on a connection.

use super::ErrorCode;

/// Counts of what happened on a connection since they were last taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Streams opened.
    pub streams: u64,
    /// The largest number of streams open at once.
    pub concurrent_max: u64,
    /// The sum over opened streams of how many were open then, itself included.
    pub concurrent_sum: u64,
    /// Streams that the peer said it had not processed.
    pub unprocessed: u64,
    /// Streams that the peer reset, by code.
    pub resets_received: Vec<(ErrorCode, u64)>,
    /// Streams that we reset, by reason.
    pub resets_sent: Vec<(&'static str, u64)>,
    /// GOAWAY frames of the peer, by code.
    pub goaways: Vec<(ErrorCode, u64)>,
    /// The sizes of the header fields sent.
    pub headers_sent: Compressed,
    /// The sizes of the header fields received.
    pub headers_received: Compressed,
    /// Bytes taken by the transport.
    pub bytes_sent: u64,
    /// Bytes that came from the transport.
    pub bytes_received: u64,
}

/// The effect of header compression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compressed {
    /// Bytes of names and values, before compression.
    pub plain: u64,
    /// Bytes of header blocks, after compression.
    pub encoded: u64,
}

impl Compressed {
    pub(crate) fn add(&mut self, plain: u64, encoded: usize) {
        self.plain += plain;
        self.encoded += encoded as u64;
    }
}

/// The number of distinct codes; 14 have a name.
const CODES_MAX: usize = 64;

/// Counts an error code. Beyond [`CODES_MAX`], unknown codes count as INTERNAL_ERROR, as RFC 9113 allows
/// (section 7).
pub(super) fn count_code(counts: &mut Vec<(ErrorCode, u64)>, code: ErrorCode) {
    let is_known = code.name().is_some() || counts.iter().any(|&(its, _)| its == code);
    let has_room = counts.len() + ErrorCode::NAMED <= CODES_MAX;
    count(counts, if is_known || has_room { code } else { ErrorCode::INTERNAL_ERROR });
}

/// Counts a name.
pub(crate) fn count<T: PartialEq>(counts: &mut Vec<(T, u64)>, name: T) {
    match counts.iter_mut().find(|(its, _)| *its == name) {
        Some((_, count)) => *count += 1,
        None => counts.push((name, 1)),
    }
}
