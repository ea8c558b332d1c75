//! What happened on a connection, in numbers.

use super::ErrorCode;

/// What happened on a connection since it was last asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Streams opened.
    pub streams: u64,
    /// The most that were open at once.
    pub concurrent_max: u64,
    /// How many were open whenever one was opened, itself included; added up.
    pub concurrent_sum: u64,
    /// Streams that the peer did not process, as it said.
    pub unprocessed: u64,
    /// Streams that the peer reset, by code.
    pub resets_received: Vec<(ErrorCode, u64)>,
    /// Streams that we reset, by reason.
    pub resets_sent: Vec<(&'static str, u64)>,
    /// GOAWAY frames of the peer, by code.
    pub goaways: Vec<(ErrorCode, u64)>,
    /// Bytes of names and values of the header fields sent, and of the header blocks with them.
    pub headers_sent: Compressed,
    /// The same of those received.
    pub headers_received: Compressed,
    /// Bytes taken by the transport, and bytes that came from it.
    pub bytes_sent: u64,
    /// Bytes that came from the transport.
    pub bytes_received: u64,
}

/// What compression did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compressed {
    /// Bytes before it.
    pub plain: u64,
    /// Bytes after it.
    pub encoded: u64,
}

impl Compressed {
    pub(super) fn add(&mut self, plain: u64, encoded: usize) {
        self.plain += plain;
        self.encoded += encoded as u64;
    }
}

/// How many codes are told apart. There is a name for 14.
const CODES_MAX: usize = 64;

/// Counts one with this code. When there are too many of which nobody knows what they mean, they count as the one that such
/// may be taken for (RFC 9113, section 7).
pub(super) fn count_code(counts: &mut Vec<(ErrorCode, u64)>, code: ErrorCode) {
    let is_known = code.name().is_some() || counts.iter().any(|&(its, _)| its == code);
    let has_room = counts.len() + ErrorCode::NAMED <= CODES_MAX;
    count(counts, if is_known || has_room { code } else { ErrorCode::INTERNAL_ERROR });
}

/// Counts one of those with this name.
pub(super) fn count<T: PartialEq>(counts: &mut Vec<(T, u64)>, name: T) {
    match counts.iter_mut().find(|(its, _)| *its == name) {
        Some((_, count)) => *count += 1,
        None => counts.push((name, 1)),
    }
}
