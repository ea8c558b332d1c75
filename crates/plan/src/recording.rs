//! What of a run is measured, and how closely.

use std::num::NonZeroU32;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Fraction;

/// The phases around the measured one.
///
/// ```text
///   start ─── warm-up ─── measured ─────────────── drain ─── end
///             offered,    offered, measured        not offered: what is under way may end
///             not measured
/// ```
///
/// A call belongs to the phase in which it was due, and so does a connection or a session: what a slow start leaves
/// behind does not count as measured, and what was due while it was measured counts however late it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Phases {
    /// How long load is offered before it is measured.
    #[serde(rename = "warmup_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub warmup: Duration,
    /// How long what is under way has to end, once the plan's `runtime` is over.
    #[serde(rename = "drain_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub drain: Duration,
}

/// What is recorded of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recording {
    /// Everything: both clocks of a call by outcome, the series, the slowest calls. Otherwise only what the classic
    /// report shows.
    pub detail: bool,
    /// By what calls are told apart.
    pub split: Option<Split>,
    /// How many of the slowest calls are kept.
    pub slowest: u32,
    /// By which clock replies end.
    #[serde(default)]
    pub clock: ReplyClock,
    /// Of each so many calls, by number, one about which the kernel is asked when it sent its request.
    #[serde(default)]
    pub kernel_sends: Option<NonZeroU32>,
}

impl Default for Recording {
    fn default() -> Self {
        Self { detail: true, split: None, slowest: 10, clock: ReplyClock::Program, kernel_sends: None }
    }
}

impl Recording {
    /// Whether the kernel is asked when it sent the request of the call with this number.
    #[must_use]
    pub fn asks_of(&self, call: u64) -> bool {
        self.kernel_sends.is_some_and(|every| call.is_multiple_of(every.get().into()))
    }
}

/// By which clock a reply ends, and its status line is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplyClock {
    /// When the program found it.
    #[default]
    Program,
    /// When the kernel received its last segment, if that was stamped; otherwise when the program found it.
    Kernel,
}

/// By what calls are told apart in a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// By the request target.
    Uri,
    /// By the status of the reply; calls without one are one class.
    Status,
}

/// When a run has measured exactly enough: the 95 % confidence interval of a quantile of the latency is this narrow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Precision {
    /// The quantile.
    pub quantile: Fraction,
    /// The width of half its interval as a share of its value.
    pub share: Fraction,
}
