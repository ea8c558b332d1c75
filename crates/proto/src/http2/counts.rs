//! Counts of what happens on a connection.

use super::ErrorCode;
use crate::counts::Compressed;

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
