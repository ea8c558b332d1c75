//! Latency of all calls that were due, answered or not.
//!
//! Percentiles of the answered calls alone look best when most calls fail. Here every call counts: one without
//! a usable reply (it failed, or its reply failed a check) as longer than any other. One that was pending when
//! the run ended counts likewise for every time shorter than it had been due for; about longer ones it says
//! nothing. A percentile is then the smallest bound that an objective on it would meet.

use std::fmt::{self, Display};

use httperf_stats::{CallOutcome, Failure, Merge as _, Summary, Timing, rank, samples_needed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::number::{in_ms, time};

/// Latency of all calls that were due, in milliseconds; `None` if there are too few calls for a percentile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AllCalls {
    /// Number of calls: answered, failed and unfinished.
    pub calls: u64,
    /// Calls that ended with a usable reply.
    pub answered: u64,
    /// Calls that failed, or whose replies failed a check.
    pub failed: u64,
    /// Calls that were pending when the run ended.
    pub unfinished: u64,
    /// Most frequent reason for the lack of a reply, or `unfinished` if there is no other; `None` if all calls were
    /// answered.
    pub no_reply: Option<NoReply>,
    /// 50th percentile.
    pub p50: Option<Percentile>,
    /// 75th percentile.
    pub p75: Option<Percentile>,
    /// 90th percentile.
    pub p90: Option<Percentile>,
    /// 95th percentile.
    pub p95: Option<Percentile>,
    /// 99th percentile.
    pub p99: Option<Percentile>,
    /// 99.9th percentile.
    #[serde(rename = "p99.9")]
    pub p999: Option<Percentile>,
    /// 99.99th percentile.
    #[serde(rename = "p99.99")]
    pub p9999: Option<Percentile>,
    /// Maximum.
    pub max: Option<Percentile>,
}

/// Percentile of all calls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentile {
    /// Value in milliseconds.
    pub ms: f64,
    /// True if the percentile is longer than the value: too many calls had no usable reply, and this is how
    /// long they had waited at least.
    pub or_more: bool,
}

/// Reason why a call has no usable reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoReply {
    /// It timed out, as every connection that failed.
    TimedOut,
    /// It failed.
    Failed,
    /// Its reply failed a check.
    Unexpected,
    /// It was pending when the run ended.
    Unfinished,
}

impl AllCalls {
    /// Percentiles of all calls of a run.
    #[must_use]
    pub fn of(summary: &Summary) -> Self {
        let latencies = Latencies::of(summary);
        let quantile = |share| latencies.percentile(share);
        Self {
            calls: latencies.count(),
            answered: latencies.answered.moments.count(),
            failed: latencies.failed,
            unfinished: latencies.unfinished.moments.count(),
            no_reply: NoReply::of(summary),
            p50: quantile(0.5),
            p75: quantile(0.75),
            p90: quantile(0.9),
            p95: quantile(0.95),
            p99: quantile(0.99),
            p999: quantile(0.999),
            p9999: quantile(0.9999),
            max: quantile(1.0),
        }
    }

    /// Percentile of all calls of a run, for a share from 0 to 1; `None` if there are too few calls for it.
    #[must_use]
    pub fn percentile(summary: &Summary, share: f64) -> Option<Percentile> {
        Latencies::of(summary).percentile(share)
    }

    /// Percentiles shown in tables, with their names.
    #[must_use]
    pub fn percentiles(&self) -> [(&'static str, Option<Percentile>); 7] {
        let Self { p50, p75, p90, p95, p99, p999, max, .. } = *self;
        [("p50", p50), ("p75", p75), ("p90", p90), ("p95", p95), ("p99", p99), ("p99.9", p999), ("max", max)]
    }
}

impl Percentile {
    fn of(latency: Latency) -> Self {
        match latency {
            Latency::Exactly(seconds) => Self { ms: in_ms(seconds), or_more: false },
            Latency::Pending(seconds) | Latency::Endless(seconds) => {
                Self { ms: in_ms(seconds), or_more: true }
            }
        }
    }
}

/// The value with a unit that fits, such as `12.3 ms` or `> 1.00 s`.
impl Display for Percentile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.or_more { "> " } else { "" };
        f.pad(&format!("{sign}{}", time(self.ms)))
    }
}

impl NoReply {
    /// Most frequent reason, if there are calls without a usable reply.
    fn of(summary: &Summary) -> Option<Self> {
        let count = |outcome| summary.calls_with(outcome).latency.moments.count();
        let failed = count(CallOutcome::Failure);
        let reasons = [
            (failed, if only_timed_out(summary) { Self::TimedOut } else { Self::Failed }),
            (count(CallOutcome::Unexpected), Self::Unexpected),
            // Pending calls are the reason only where there is no other.
            (summary.unfinished.moments.count().min(1), Self::Unfinished),
        ];
        let most = reasons.iter().map(|&(calls, _)| calls).max().filter(|&calls| calls > 0)?;
        reasons.into_iter().find(|&(calls, _)| calls == most).map(|(_, reason)| reason)
    }
}

/// Returns true if connections failed, every one of them because of a time-out.
fn only_timed_out(summary: &Summary) -> bool {
    let timeouts =
        summary.errors.count(Failure::ClientTimeout) + summary.errors.count(Failure::SocketTimeout);
    timeouts > 0 && timeouts == summary.errors.total()
}

impl NoReply {
    /// Clause that says the same of several calls.
    #[must_use]
    pub fn of_calls(self) -> &'static str {
        match self {
            Self::TimedOut => "calls timed out",
            Self::Failed => "calls failed",
            Self::Unexpected => "calls had unexpected replies",
            Self::Unfinished => "calls were pending when the run ended",
        }
    }
}

/// Past participle or adjective for "the call …": `timed out`.
impl Display for NoReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TimedOut => "timed out",
            Self::Failed => "failed",
            Self::Unexpected => "unexpected reply",
            Self::Unfinished => "unfinished",
        })
    }
}

/// Latencies of all calls.
pub(crate) struct Latencies<'a> {
    /// Calls with a usable reply.
    pub(crate) answered: Timing,
    /// Number of calls that failed, or whose replies failed a check.
    failed: u64,
    /// Ages of the calls that were pending at the end.
    unfinished: &'a Timing,
    /// Least possible latency of every call: for those without a usable reply, the time they are known to have
    /// waited.
    least: Timing,
}

/// Latency in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Latency {
    /// That of an answered call.
    Exactly(f64),
    /// Longer than this: calls of this age were pending when the run ended, and nothing is known of longer times.
    Pending(f64),
    /// Longer than any time: too many calls had no usable reply. This is how long they had waited, or the longest
    /// answered call if that took longer.
    Endless(f64),
}

impl<'a> Latencies<'a> {
    pub(crate) fn of(summary: &'a Summary) -> Self {
        let answered = summary.completed().latency;
        let without = [CallOutcome::Failure, CallOutcome::Unexpected]
            .map(|outcome| &summary.calls_with(outcome).latency);
        let mut least = answered.clone();
        without.iter().for_each(|timing| least.merge(timing));
        least.merge(&summary.unfinished);
        let failed = without.iter().map(|timing| timing.moments.count()).sum();
        Self { answered, failed, unfinished: &summary.unfinished, least }
    }

    pub(crate) fn count(&self) -> u64 {
        self.least.moments.count()
    }

    /// Quantile; `None` if there are too few calls for it.
    fn percentile(&self, share: f64) -> Option<Percentile> {
        if self.count() < samples_needed(share) { None } else { self.quantile(share).map(Percentile::of) }
    }

    /// Quantile; `None` if there are no calls.
    pub(crate) fn quantile(&self, share: f64) -> Option<Latency> {
        if self.failed == 0 && self.unfinished.is_empty() {
            return self.answered.quantile(share).map(|value| Latency::Exactly(value.as_secs_f64()));
        }
        let least = self.least.quantile(share)?.as_secs_f64();
        // Calls that failed at once are no shorter than those that were answered.
        let least = least.max(self.answered.moments.max());
        Some(self.smallest_bound(share).unwrap_or(Latency::Endless(least)))
    }

    /// Smallest time at or below which this share of the calls were answered. Calls that were pending at the
    /// end count only for times shorter than their ages. `None` if there is none because of calls that failed.
    fn smallest_bound(&self, share: f64) -> Option<Latency> {
        let (mut answered, mut pending) =
            (self.answered.classes().peekable(), self.unfinished.classes().peekable());
        let certain = self.answered.moments.count() + self.failed;
        let (mut below, mut older) = (0, self.unfinished.moments.count());
        while let Some(us) = answered.peek().into_iter().chain(pending.peek()).map(|&(us, _)| us).min() {
            let before = below;
            while let Some((_, calls)) = answered.next_if(|&(value, _)| value == us) {
                below += calls;
            }
            while let Some((_, calls)) = pending.next_if(|&(value, _)| value == us) {
                older -= calls;
            }
            if below > 0 && below >= rank(share, certain + older) {
                // The histogram rounds up; no time is above the maximum.
                let seconds = (us as f64 / 1e6).min(self.least.moments.max());
                let is_answered = below > before;
                return Some(if is_answered { Latency::Exactly(seconds) } else { Latency::Pending(seconds) });
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn timing(ms: &[u64]) -> Timing {
        let mut timing = Timing::default();
        ms.iter().for_each(|&ms| timing.add(Duration::from_millis(ms)));
        timing
    }

    fn summary(answered: &[u64], failed: &[u64], unfinished: &[u64]) -> Summary {
        let mut summary = Summary { unfinished: timing(unfinished), ..Summary::default() };
        summary.calls[CallOutcome::Success as usize].latency = timing(answered);
        summary.calls[CallOutcome::Failure as usize].latency = timing(failed);
        summary
    }

    fn quantile(summary: &Summary, share: f64) -> String {
        Percentile::of(Latencies::of(summary).quantile(share).expect("there are calls")).to_string()
    }

    #[test]
    fn calls_that_timed_out_are_longer_than_all_others() {
        let answered: Vec<u64> = (1..=98).collect();
        let summary = summary(&answered, &[1000, 1000], &[]);
        assert_eq!(quantile(&summary, 0.5), "50.0 ms");
        assert_eq!(quantile(&summary, 0.98), "98.0 ms");
        assert_eq!(quantile(&summary, 0.99), "> 1.00 s");
        assert_eq!(quantile(&summary, 1.0), "> 1.00 s");
    }

    #[test]
    fn calls_that_failed_at_once_are_not_short() {
        let most = summary(&[20; 10], &[1; 90], &[]);
        assert_eq!(quantile(&most, 0.1), "20.0 ms");
        assert_eq!(quantile(&most, 0.5), "> 20.0 ms");
        let none = summary(&[], &[1; 4], &[]);
        assert_eq!(quantile(&none, 0.5), "> 1.00 ms");
        assert_eq!(AllCalls::of(&none).no_reply, Some(NoReply::Failed));
    }

    #[test]
    fn a_pending_call_counts_for_times_shorter_than_its_age() {
        // Nothing is known of how long it would have taken beyond 5 ms, where most were answered later.
        assert_eq!(quantile(&summary(&[10, 10, 10, 20], &[], &[5]), 1.0), "20.0 ms");
        assert_eq!(quantile(&summary(&[10, 10, 10], &[], &[500]), 0.75), "10.0 ms");
        assert_eq!(quantile(&summary(&[10, 10, 10], &[], &[500]), 0.76), "> 500 ms");
        let none = summary(&[], &[], &[300, 500]);
        assert_eq!(quantile(&none, 0.5), "> 300 ms");
        assert_eq!(AllCalls::of(&none).no_reply, Some(NoReply::Unfinished));
    }

    #[test]
    fn without_failures_it_is_the_latency_of_the_answered() {
        let times = timing(&[3, 1, 4, 1, 5, 9, 2, 6]);
        let mut summary = Summary::default();
        summary.calls[CallOutcome::Success as usize].latency = times.clone();
        for share in [0.1, 0.5, 0.9, 1.0] {
            let expected = times.quantile(share).unwrap().as_secs_f64();
            assert_eq!(Latencies::of(&summary).quantile(share), Some(Latency::Exactly(expected)));
        }
        let all = AllCalls::of(&summary);
        assert_eq!((all.calls, all.answered, all.no_reply), (8, 8, None));
        assert_eq!((all.p50.unwrap().to_string().as_str(), all.p99), ("3.00 ms", None));
        assert_eq!(AllCalls::of(&Summary::default()), AllCalls::default());
    }

    proptest! {
        #[test]
        fn a_percentile_is_the_smallest_bound_that_is_met(
            answered in proptest::collection::vec(1..100_u64, 0..50),
            failed in proptest::collection::vec(1..100_u64, 0..10),
            unfinished in proptest::collection::vec(1..100_u64, 0..10),
            share in 0.01..1.0,
        ) {
            let summary = summary(&answered, &failed, &unfinished);
            let is_met = |bound: u64| {
                let below = answered.iter().filter(|&&ms| ms <= bound).count() as u64;
                let older = unfinished.iter().filter(|&&ms| ms > bound).count() as u64;
                below > 0 && below >= rank(share, (answered.len() + failed.len()) as u64 + older)
            };
            // The histogram keeps three digits.
            let is_near = |seconds: f64, ms: u64| (seconds * 1e3 - ms as f64).abs() <= 2e-3 * ms as f64;
            let (found, bound) = (Latencies::of(&summary).quantile(share), (1..=100).find(|&bound| is_met(bound)));
            let agrees = match (found, bound) {
                (Some(Latency::Exactly(seconds)), Some(bound)) => {
                    is_near(seconds, bound) && answered.contains(&bound)
                }
                (Some(Latency::Pending(seconds)), Some(bound)) => {
                    is_near(seconds, bound) && !answered.contains(&bound)
                }
                (Some(Latency::Endless(_)), None) => true,
                (None, _) => answered.is_empty() && failed.is_empty() && unfinished.is_empty(),
                _ => false,
            };
            prop_assert!(agrees, "{found:?}, {bound:?}");
        }
    }
}
