//! The phases of a run and the measurements to record.

use std::num::NonZeroU32;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Fraction;

/// The phases before and after the measured one.
///
/// ```text
///   start ─── warm-up ─── measured ─────────────── drain ─── end
///             offered,    offered, measured        not offered: work in progress may end
///             not measured
/// ```
///
/// Each call, connection and session belongs to the phase in which it was due. Work due during the warm-up is not
/// measured even if it ends later, and work due during the measured phase is measured however late it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Phases {
    /// The time for which load is offered before it is measured, in nanoseconds. 0 by default.
    #[serde(rename = "warmup_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub warmup: Duration,
    /// The time that work in progress has to end after the plan's `runtime`, in nanoseconds. 0 by default.
    #[serde(rename = "drain_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub drain: Duration,
}

impl Phases {
    /// The drain of a load of a given length that says nothing else: long enough for every call to end, if calls have a time
    /// limit.
    #[must_use]
    pub fn usual_drain(timeout: Option<Duration>) -> Duration {
        timeout.unwrap_or(Duration::from_secs(10))
    }
}

/// The measurements to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recording {
    /// Records everything: latency and service time by outcome, the series, the slowest calls. Otherwise only the
    /// figures of the classic report. On by default.
    pub detail: bool,
    /// The property that splits calls into classes with figures of their own; none by default.
    pub split: Option<Split>,
    /// The number of slowest calls to keep. 3 by default.
    pub slowest: u32,
    /// The clock that times the end of replies.
    #[serde(default)]
    pub clock: ReplyClock,
    /// The interval, in calls, at which the kernel is asked when it sent a request (`--kernel-sends`); `None` never
    /// asks.
    #[serde(default)]
    pub kernel_sends: Option<NonZeroU32>,
}

impl Default for Recording {
    fn default() -> Self {
        Self { detail: true, split: None, slowest: 3, clock: ReplyClock::Auto, kernel_sends: None }
    }
}

impl Recording {
    /// Returns true if the kernel is asked when it sent the request of the call with this number.
    #[must_use]
    pub fn asks_of(&self, call: u64) -> bool {
        self.kernel_sends.is_some_and(|every| call.is_multiple_of(every.get().into()))
    }
}

/// The clock that times the status line and the end of a reply.
///
/// The default is that of documents which do not name one; that of plans is [`ReplyClock::Auto`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplyClock {
    /// The instant at which the program read the bytes.
    #[default]
    Program,
    /// The instant at which the kernel received the last segment; without a time stamp, as [`ReplyClock::Program`].
    Kernel,
    /// As [`ReplyClock::Kernel`] where arrivals have a schedule, if the kernel stamps what it receives; otherwise as
    /// [`ReplyClock::Program`].
    Auto,
}

/// The property that splits calls into classes in a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// The request target.
    Uri,
    /// The status of the reply; calls without a reply form one class.
    Status,
}

/// The precision at which a run may end: the width of the 95 % confidence interval of a latency quantile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Precision {
    /// The quantile.
    pub quantile: Fraction,
    /// Half the width of the interval as a share of the quantile's value.
    pub share: Fraction,
}
