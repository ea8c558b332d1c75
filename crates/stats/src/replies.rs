//! Unexpected replies and compressed bodies.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::merge::merge_fields;

/// Check that a reply failed. A reply that failed several counts under the first in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mismatch {
    /// Unexpected status.
    Status,
    /// Body that cannot be decompressed.
    Undecodable,
    /// Unexpected size of the body.
    Size,
    /// Unexpected digest of the body.
    Hash,
    /// Reply without the value of a capture.
    Capture,
    /// Reply that failed a check of its step.
    Check,
    /// Reply of a language model with a status of 2xx that tells of an error, has no end, or is not what its API says.
    Answer,
    /// WebSocket that the server closed with the code of an error, or with messages unanswered.
    Close,
    /// Call of gRPC with a status other than OK, or with messages that are none.
    Rpc,
}

impl Mismatch {
    /// All checks, in order.
    pub const ALL: [Self; 9] = [
        Self::Status,
        Self::Undecodable,
        Self::Size,
        Self::Hash,
        Self::Capture,
        Self::Check,
        Self::Answer,
        Self::Close,
        Self::Rpc,
    ];
}

/// Name of the check in the report.
impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Status => "status",
            Self::Undecodable => "undecodable",
            Self::Size => "size",
            Self::Hash => "hash",
            Self::Capture => "capture",
            Self::Check => "check",
            Self::Answer => "answer",
            Self::Close => "close",
            Self::Rpc => "grpc",
        })
    }
}

/// Unexpected replies by the check they failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mismatches {
    /// Replies with an unexpected status.
    pub status: u64,
    /// Replies whose bodies could not be decompressed.
    pub undecodable: u64,
    /// Replies whose body has an unexpected size.
    pub size: u64,
    /// Replies whose body has an unexpected digest.
    pub hash: u64,
    /// Replies without the value of a capture.
    #[serde(default)]
    pub capture: u64,
    /// Replies that failed a check of their step.
    #[serde(default)]
    pub check: u64,
    /// Replies of a language model that are no answers.
    #[serde(default)]
    pub answer: u64,
    /// WebSockets that the server closed for an error, or before it had answered all messages.
    #[serde(default)]
    pub close: u64,
    /// Calls of gRPC with a status other than OK.
    #[serde(default)]
    pub grpc: u64,
}

impl Mismatches {
    pub(crate) fn add(&mut self, mismatch: Mismatch) {
        match mismatch {
            Mismatch::Status => self.status += 1,
            Mismatch::Undecodable => self.undecodable += 1,
            Mismatch::Size => self.size += 1,
            Mismatch::Hash => self.hash += 1,
            Mismatch::Capture => self.capture += 1,
            Mismatch::Check => self.check += 1,
            Mismatch::Answer => self.answer += 1,
            Mismatch::Close => self.close += 1,
            Mismatch::Rpc => self.grpc += 1,
        }
    }

    /// Number of replies that failed this check.
    #[must_use]
    pub fn count(&self, mismatch: Mismatch) -> u64 {
        match mismatch {
            Mismatch::Status => self.status,
            Mismatch::Undecodable => self.undecodable,
            Mismatch::Size => self.size,
            Mismatch::Hash => self.hash,
            Mismatch::Capture => self.capture,
            Mismatch::Check => self.check,
            Mismatch::Answer => self.answer,
            Mismatch::Close => self.close,
            Mismatch::Rpc => self.grpc,
        }
    }

    /// Number of unexpected replies.
    #[must_use]
    pub fn total(&self) -> u64 {
        Mismatch::ALL.into_iter().map(|mismatch| self.count(mismatch)).sum()
    }
}

merge_fields!(Mismatches {
    add: status, undecodable, size, hash, capture, check, answer, close, grpc;
});

/// Compressed bodies that were decompressed successfully.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Compressed {
    /// Number of replies.
    pub replies: u64,
    /// Bytes on the wire.
    pub bytes: u64,
    /// Bytes after decompression.
    pub decoded_bytes: u64,
}

merge_fields!(Compressed {
    add: replies, bytes, decoded_bytes;
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::Merge as _;

    #[test]
    fn mismatches_are_counted_by_kind() {
        let mut mismatches = Mismatches::default();
        for (times, mismatch) in (1..).zip(Mismatch::ALL) {
            (0..times).for_each(|_| mismatches.add(mismatch));
        }
        let mut twice = mismatches;
        twice.merge(&mismatches);
        assert_eq!(Mismatch::ALL.map(|mismatch| twice.count(mismatch)), [2, 4, 6, 8, 10, 12, 14, 16, 18]);
        assert_eq!(twice.total(), 90);
    }
}
