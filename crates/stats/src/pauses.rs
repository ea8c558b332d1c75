//! Pauses of the generator: periods in which a worker was ready to run but did not.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::merge::merge_fields;

/// Periods in which a worker was ready to run but did not: it was stopped, its processor ran something else,
/// or its quota was exhausted. Whatever arrived meanwhile was noticed late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pauses {
    /// Number of pauses, over all workers.
    pub count: u64,
    /// Total length; of several workers, the largest total.
    #[serde(rename = "total_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub total: Duration,
    /// Longest pause of any worker.
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
}

merge_fields!(Pauses {
    add: count;
    max: total, longest;
});
