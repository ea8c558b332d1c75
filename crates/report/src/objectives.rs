//! Whether a run kept to its objectives.
//!
//! A percentile of the latency, the service time or the session time is meant for those who were not answered too: a call
//! that failed counts as one that took longer than any other. One that was under way when the run ended counts from the
//! moment on at which it had been due for longer than the bound; before that, nobody knows.

use std::fmt::{self, Display};

use httperf_plan::objective::{Clock, Figure, Metric, Objective, Share};
use httperf_stats::{Outcome, Summary, Timing, samples_needed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::number::ratio;

/// What came of an objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    /// The objective, such as `p99<50ms`.
    pub objective: Objective,
    /// The figure that it is about.
    pub measured: Measured,
    /// Whether it was met.
    pub outcome: Kept,
}

/// A figure that an objective is about.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measured {
    /// In the unit of the metric: seconds, a share of 1, or per second.
    Figure(f64),
    /// A time that is longer than any that was measured, for so many calls failed.
    Endless,
    /// There is nothing to tell it from.
    Nothing,
}

/// Whether an objective was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kept {
    /// It was.
    Met,
    /// It was not.
    Missed,
    /// There is too little to tell.
    Unknown,
}

impl Judged {
    /// What came of an objective in a run.
    #[must_use]
    pub fn of(objective: Objective, summary: &Summary) -> Self {
        let measured = match objective.metric() {
            Metric::Time { clock, figure } => time(clock, figure, objective.bound(), summary),
            Metric::Share(share) => Some(shares(share, summary)),
            Metric::Replies => {
                let seconds = summary.duration.as_secs_f64();
                (seconds > 0.0).then(|| Known::enough(Measured::Figure(summary.replies as f64 / seconds)))
            }
        };
        let Known { measured, is_enough } =
            measured.unwrap_or(Known { measured: Measured::Nothing, is_enough: false });
        let outcome = match measured {
            Measured::Nothing => Kept::Unknown,
            Measured::Endless if objective.relation().is_upper() => Kept::Missed,
            Measured::Figure(figure) if !objective.is_met_by(figure) => Kept::Missed,
            _ if is_enough => Kept::Met,
            _ => Kept::Unknown,
        };
        Self { objective, measured, outcome }
    }

    /// By how much of the bound the figure is on the right side of it, or, below zero, on the wrong one. `None` if that is no
    /// number.
    #[must_use]
    pub fn margin(&self) -> Option<f64> {
        let (bound, Measured::Figure(figure)) = (self.objective.bound(), self.measured) else { return None };
        let sign = if self.objective.relation().is_upper() { 1.0 } else { -1.0 };
        (bound > 0.0).then(|| sign * (bound - figure) / bound)
    }
}

/// What came of all objectives of a plan, in their order.
#[must_use]
pub fn judge(objectives: &[Objective], summary: &Summary) -> Vec<Judged> {
    objectives.iter().map(|&objective| Judged::of(objective, summary)).collect()
}

/// A figure, and whether there are enough samples for it.
struct Known {
    measured: Measured,
    is_enough: bool,
}

impl Known {
    fn enough(measured: Measured) -> Self {
        Self { measured, is_enough: true }
    }
}

fn time(clock: Clock, figure: Figure, bound: f64, summary: &Summary) -> Option<Known> {
    let completed;
    let handshakes;
    let none = Timing::default();
    let failed = |clock: fn(&httperf_stats::Clocks) -> &Timing| {
        let failed = clock(summary.calls_with(Outcome::Failure)).moments.count();
        let unfinished = &summary.unfinished;
        failed
            + unfinished
                .classes()
                .filter(|&(us, _)| us as f64 / 1e6 > bound)
                .map(|(_, count)| count)
                .sum::<u64>()
    };
    let (timing, endless) = match clock {
        Clock::Latency | Clock::Service => {
            completed = summary.completed();
            if clock == Clock::Latency {
                (&completed.latency, failed(|clocks| &clocks.latency))
            } else {
                (&completed.service, failed(|clocks| &clocks.latency))
            }
        }
        Clock::Response => (&summary.response, 0),
        Clock::Transfer => (&summary.transfer, 0),
        Clock::Connect => (&summary.connect, 0),
        Clock::Handshake => {
            let mut all = Timing::default();
            let figures = summary.tls.iter().flat_map(|tls| &tls.handshakes);
            figures.for_each(|figures| all.merge(&figures.time));
            handshakes = all;
            (&handshakes, 0)
        }
        Clock::Session => summary
            .sessions
            .as_ref()
            .map_or((&none, 0), |sessions| (&sessions.latency, sessions.failed_latency.moments.count())),
        Clock::Lag => (&summary.lag, 0),
    };
    let (count, moments) = (timing.moments.count(), &timing.moments);
    let all = count + endless;
    if all == 0 {
        return None;
    }
    let known = match figure {
        Figure::Quantile(share) => {
            // The rank of the quantile among those that ended, as failures come behind them all.
            let rank = (share * all as f64).ceil().max(1.0);
            let measured = if rank > count as f64 {
                Measured::Endless
            } else {
                Measured::Figure(timing.quantile(rank / count as f64)?.as_secs_f64())
            };
            Known { measured, is_enough: all >= samples_needed(share) }
        }
        Figure::Max if endless > 0 => Known::enough(Measured::Endless),
        _ if count == 0 => return None,
        Figure::Max => Known::enough(Measured::Figure(moments.max())),
        Figure::Min => Known::enough(Measured::Figure(moments.min())),
        Figure::Mean => Known::enough(Measured::Figure(moments.mean())),
    };
    Some(known)
}

fn shares(share: Share, summary: &Summary) -> Known {
    let calls = |outcome| summary.calls_with(outcome).latency.moments.count();
    let (failed, unexpected) = (calls(Outcome::Failure), calls(Outcome::Unexpected));
    let errors = failed + unexpected + calls(Outcome::HttpError);
    let ended = errors + calls(Outcome::Success);
    let (part, whole) = match share {
        // Where no calls are made, connections are what may fail.
        Share::Errors | Share::Failed if ended == 0 => (summary.errors.total(), summary.connections),
        Share::Errors => (errors, ended),
        Share::Failed => (failed, ended),
        Share::Unexpected => (unexpected, ended),
        Share::Status(class) => (summary.statuses[usize::from(class) - 1], summary.replies),
    };
    if whole == 0 {
        return Known { measured: Measured::Nothing, is_enough: false };
    }
    Known::enough(Measured::Figure(ratio(part as f64, whole as f64)))
}

impl Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Met => "met",
            Self::Missed => "MISSED",
            Self::Unknown => "UNKNOWN",
        })
    }
}
