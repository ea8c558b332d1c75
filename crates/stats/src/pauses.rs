//! Pauses of the generator: times in which a worker should have run and did not.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Times in which a worker should have run and did not: it was stopped, its processor was given to others, or its
/// quota was used up. Whatever arrived meanwhile was noticed late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pauses {
    /// How many there were, of all workers.
    pub count: u64,
    /// Their sum, of the worker that paused for longest.
    #[serde(rename = "total_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub total: Duration,
    /// The longest of any worker.
    #[serde(rename = "longest_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub longest: Duration,
}

impl Pauses {
    pub(crate) fn add(&mut self, length: Duration) {
        self.count += 1;
        self.total += length;
        self.longest = self.longest.max(length);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.total = self.total.max(other.total);
        self.longest = self.longest.max(other.longest);
    }
}
