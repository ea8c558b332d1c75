//! Outcomes of a run's objectives.
//!
//! Percentiles of the latency, service time or session time include calls without an answer: a call without a
//! usable reply (it failed, or its reply failed a check) counts as longer than any other. A call that was
//! pending when the run ended counts likewise once it has been due for longer than the bound; before that,
//! its outcome is unknown.

mod parts;
mod section;

use std::borrow::Cow;
use std::fmt::{self, Display};

use httperf_plan::Plan;
use httperf_plan::objective::{Clock, Figure, Metric, Objective, Scope, Share};
use httperf_stats::{CallOutcome, Merge as _, StepFigures, Summary, Timing, rank, samples_needed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::all_calls::{Latencies, Latency};
use crate::errors::ErrorFigures;
use crate::number::ratio;

pub(crate) use self::section::section;

/// Outcome of an objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    /// Objective, such as `p99<50ms`.
    pub objective: Objective,
    /// Part of the run that it is for; `None` for the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// Measured value of its figure.
    pub measured: Measured,
    /// Time in seconds that the latency exceeds for certain, if calls without a usable reply leave its value open;
    /// `None` for other figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// Number of calls, connections or sessions behind the figure, including those that failed.
    pub samples: u64,
    /// Outcome.
    pub outcome: Kept,
}

/// Measured value of an objective's figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measured {
    /// Value in the unit of the metric: seconds, a share of 1, or per second.
    Figure(f64),
    /// Longer than any time measured, because too many calls failed.
    Endless,
    /// No data.
    Nothing,
}

/// Outcome of an objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kept {
    /// The objective was met.
    Met,
    /// The objective was missed.
    Missed,
    /// There is too little data to tell.
    Unknown,
}

/// Judges all objectives of a plan: those of the whole run, then those of its parts.
#[must_use]
pub(crate) fn judge_all(plan: &Plan, summary: &Summary) -> Vec<Judged> {
    let mut judged = judge(&plan.objectives.all, summary);
    judged.extend(parts::judge(plan, summary));
    judged
}

/// Judges objectives of a whole run, in order.
#[must_use]
pub fn judge(objectives: &[Objective], summary: &Summary) -> Vec<Judged> {
    objectives.iter().map(|&objective| Judged::of(objective, summary)).collect()
}

impl Judged {
    /// Name in reports: the objective, behind the part of the run that it is for, if it is for one.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.scope {
            None => self.objective.to_string(),
            Some(scope) => scope.name_of(self.objective),
        }
    }

    /// Judges an objective of a run.
    #[must_use]
    pub fn of(objective: Objective, summary: &Summary) -> Self {
        match objective.metric() {
            Metric::Time { clock, figure } => {
                let times = Times::of(clock, objective.bound(), summary);
                match (clock, figure) {
                    (Clock::Latency, Figure::Quantile(share)) => {
                        Self::of_latency(objective, share, &times, summary)
                    }
                    (Clock::Latency, Figure::Max) => Self::of_latency(objective, 1.0, &times, summary),
                    _ => Self::of_times(objective, figure, times.figure(figure), &times),
                }
            }
            Metric::Share(Share::Good) => Self::of_goodput(objective, summary),
            Metric::Share(share) => Self::of_figure(objective, of_share(share, summary)),
            Metric::Replies => {
                let rate = (!summary.duration.is_zero()).then(|| summary.throughput().replies);
                Self::of_figure(objective, rate.map(|rate| (rate, summary.in_window().replies)))
            }
        }
    }

    /// Judges a percentile of the latency, which is that of all calls in every report.
    fn of_latency(objective: Objective, share: f64, times: &Times<'_>, summary: &Summary) -> Self {
        let (measured, at_least) = match Latencies::of(summary).quantile(share) {
            None => (Measured::Nothing, None),
            Some(Latency::Exactly(seconds)) => (Measured::Figure(seconds), None),
            Some(Latency::Pending(seconds)) => (Measured::Figure(seconds), Some(seconds)),
            Some(Latency::Endless(seconds)) => (Measured::Endless, Some(seconds)),
        };
        Self { at_least, ..Self::of_times(objective, Figure::Quantile(share), measured, times) }
    }

    fn of_times(objective: Objective, figure: Figure, measured: Measured, times: &Times<'_>) -> Self {
        let samples = times.count();
        let needed = samples_for(figure);
        let is_missed = |measured| match measured {
            Measured::Figure(figure) => !objective.is_met_by(figure),
            Measured::Endless => objective.relation().is_upper(),
            Measured::Nothing => false,
        };
        let outcome = match (measured, figure) {
            (Measured::Nothing, _) => Kept::Unknown,
            (_, Figure::Quantile(share)) if samples < needed => {
                // Fills up to the samples needed with values on the right side of the bound: if the objective
                // is missed even so, it is missed for certain.
                let missing = if objective.relation().is_upper() { needed - samples } else { 0 };
                let rank = rank(share, needed).saturating_sub(missing);
                if is_missed(times.at_rank(rank)) { Kept::Missed } else { Kept::Unknown }
            }
            _ if is_missed(measured) => Kept::Missed,
            _ => Kept::Met,
        };
        Self { objective, scope: None, measured, at_least: None, samples, outcome }
    }

    /// Judges the goodput, which the calls that are pending may still raise.
    fn of_goodput(objective: Objective, summary: &Summary) -> Self {
        let judged = Self::of_figure(objective, of_share(Share::Good, summary));
        let model = summary.streams.as_deref().and_then(|streams| streams.model.as_deref());
        let (Measured::Figure(_), Some(model)) = (judged.measured, model) else { return judged };
        let open = summary.unfinished.moments.count().saturating_sub(model.unfinished_missed);
        let most = ratio((model.good + open) as f64, judged.samples as f64);
        let is_certain = objective.is_met_by(most) == (judged.outcome == Kept::Met);
        Self { outcome: if is_certain { judged.outcome } else { Kept::Unknown }, ..judged }
    }

    /// Judges an exact figure, given with its number of samples; `None` if there is none.
    fn of_figure(objective: Objective, known: Option<(f64, u64)>) -> Self {
        let (measured, samples) =
            known.map_or((Measured::Nothing, 0), |(figure, samples)| (Measured::Figure(figure), samples));
        let outcome = match known {
            None => Kept::Unknown,
            Some((figure, _)) if objective.is_met_by(figure) => Kept::Met,
            Some(_) => Kept::Missed,
        };
        Self { objective, scope: None, measured, at_least: None, samples, outcome }
    }

    /// Number of samples that the figure needs.
    #[must_use]
    pub fn samples_needed(&self) -> u64 {
        match self.objective.metric() {
            Metric::Time { figure, .. } => samples_for(figure),
            Metric::Share(_) | Metric::Replies => 1,
        }
    }

    /// Distance from the bound as a share of it: positive on the right side, negative on the wrong one.
    /// `None` if it is undefined.
    #[must_use]
    pub fn margin(&self) -> Option<f64> {
        let (bound, Measured::Figure(figure)) = (self.objective.bound(), self.measured) else { return None };
        let sign = if self.objective.relation().is_upper() { 1.0 } else { -1.0 };
        (bound > 0.0).then(|| sign * (bound - figure) / bound)
    }
}

fn samples_for(figure: Figure) -> u64 {
    match figure {
        Figure::Quantile(share) => samples_needed(share),
        Figure::Mean | Figure::Min | Figure::Max => 1,
    }
}

/// Times measured, and a number of further ones that are longer than any of them.
struct Times<'a> {
    taken: Cow<'a, Timing>,
    endless: u64,
}

impl<'a> Times<'a> {
    /// Times of a clock. Unfinished ones count if they had been due for longer than `bound`, in seconds.
    fn of(clock: Clock, bound: f64, summary: &'a Summary) -> Self {
        let without_end = |taken| Self { taken, endless: 0 };
        match clock {
            Clock::Latency => {
                let endless = unusable(summary) + overdue(bound, &summary.unfinished);
                Self { taken: Cow::Owned(summary.completed().latency), endless }
            }
            Clock::Service => {
                let endless =
                    unusable(summary) + overdue(bound, &summary.unfinished).min(unanswered(summary));
                Self { taken: Cow::Owned(summary.completed().service), endless }
            }
            Clock::Session => match &summary.sessions {
                Some(sessions) => Self {
                    taken: Cow::Borrowed(&sessions.latency),
                    endless: sessions.failed_latency.moments.count() + overdue(bound, &sessions.unfinished),
                },
                None => without_end(Cow::Owned(Timing::default())),
            },
            Clock::Handshake => {
                let mut all = Timing::default();
                let figures = summary.tls.iter().flat_map(|tls| &tls.handshakes);
                figures.for_each(|figures| all.merge(&figures.time));
                without_end(Cow::Owned(all))
            }
            Clock::Response => without_end(Cow::Borrowed(&summary.response)),
            Clock::Transfer => without_end(Cow::Borrowed(&summary.transfer)),
            Clock::Connect => without_end(Cow::Borrowed(&summary.connect)),
            Clock::Lag => without_end(Cow::Borrowed(&summary.lag)),
            Clock::RoundTrip => match summary.websockets.as_deref() {
                Some(websockets) => Self {
                    taken: Cow::Borrowed(&websockets.round_trip.latency),
                    endless: websockets.unanswered + overdue(bound, &websockets.unfinished_messages),
                },
                None => without_end(Cow::Owned(Timing::default())),
            },
            Clock::Ping => without_end(match summary.websockets.as_deref() {
                Some(websockets) => Cow::Borrowed(&websockets.ping),
                None => Cow::Owned(Timing::default()),
            }),
            Clock::Gap if summary.streams.is_none() && summary.websockets.is_some() => without_end(
                summary
                    .websockets
                    .as_deref()
                    .map_or_else(Cow::default, |websockets| Cow::Borrowed(&websockets.gap)),
            ),
            Clock::FirstEvent | Clock::Gap | Clock::FirstToken | Clock::TokenGap | Clock::PerToken => {
                Self::of_streams(clock, bound, summary)
                    .unwrap_or_else(|| without_end(Cow::Owned(Timing::default())))
            }
        }
    }

    /// Times of streams; `None` if there are none of this clock.
    ///
    /// A stream that ended without the event that is waited for counts as longer than any other, and so does a call that
    /// failed before it became a stream. Replies that are no streams have no such times.
    fn of_streams(clock: Clock, bound: f64, summary: &'a Summary) -> Option<Self> {
        let streams = summary.streams.as_deref()?;
        let failed = calls(CallOutcome::Failure, summary).saturating_sub(streams.cut);
        let overdue = overdue(bound, &summary.unfinished);
        // `came_late`: unfinished streams in which the event has come.
        let first = |taken: &'a Timing, came_late: u64| {
            let open = streams.unfinished - came_late;
            let in_vain = streams.started.saturating_sub(taken.moments.count() + open);
            let pending = summary.unfinished.moments.count().saturating_sub(came_late);
            Self { taken: Cow::Borrowed(taken), endless: in_vain + failed + overdue.min(pending) }
        };
        let without_end = |taken| Self { taken: Cow::Borrowed(taken), endless: 0 };
        let model = streams.model.as_deref();
        Some(match clock {
            Clock::FirstEvent => first(&streams.first_event.latency, streams.unfinished_with_event),
            Clock::Gap => without_end(&streams.gap),
            Clock::FirstToken => {
                let model = model?;
                first(&model.first_token.latency, model.unfinished_with_token)
            }
            Clock::TokenGap => without_end(&model?.token_gap),
            _ => Self { taken: Cow::Borrowed(&model?.per_token), endless: unusable(summary) + overdue },
        })
    }

    fn count(&self) -> u64 {
        self.taken.moments.count() + self.endless
    }

    fn figure(&self, figure: Figure) -> Measured {
        let moments = &self.taken.moments;
        let count = moments.count();
        match figure {
            _ if self.count() == 0 => Measured::Nothing,
            Figure::Quantile(share) => self.at_rank(rank(share, self.count())),
            Figure::Max if self.endless > 0 => Measured::Endless,
            _ if count == 0 => Measured::Endless,
            Figure::Max => Measured::Figure(moments.max()),
            Figure::Min => Measured::Figure(moments.min()),
            Figure::Mean => Measured::Figure(moments.mean()),
        }
    }

    /// The time with this rank in ascending order, from 1.
    fn at_rank(&self, rank: u64) -> Measured {
        let count = self.taken.moments.count();
        match rank {
            rank if rank == 0 || rank > self.count() => Measured::Nothing,
            rank if rank > count => Measured::Endless,
            rank => {
                // Half a rank less, so that rounding does not lead to the next rank.
                let value = self.taken.quantile((rank as f64 - 0.5) / count as f64);
                value.map_or(Measured::Nothing, |value| Measured::Figure(value.as_secs_f64()))
            }
        }
    }
}

/// Number of calls with this outcome.
fn calls(outcome: CallOutcome, summary: &Summary) -> u64 {
    summary.calls_with(outcome).latency.moments.count()
}

/// Calls that ended without a usable reply.
fn unusable(summary: &Summary) -> u64 {
    calls(CallOutcome::Failure, summary) + calls(CallOutcome::Unexpected, summary)
}

/// Unfinished calls or sessions that had been due for longer than `bound` when the run ended.
fn overdue(bound: f64, unfinished: &Timing) -> u64 {
    let classes = unfinished.classes();
    classes.filter(|&(us, _)| us as f64 / 1e6 > bound).map(|(_, count)| count).sum()
}

/// Requests that were sent and neither answered nor given up.
fn unanswered(summary: &Summary) -> u64 {
    let ended = summary.calls.iter().map(|clocks| clocks.service.moments.count()).sum();
    (summary.requests + summary.answered_early).saturating_sub(ended)
}

/// A share, and its denominator.
fn of_share(share: Share, summary: &Summary) -> Option<(f64, u64)> {
    let (part, whole) = match share {
        Share::Errors | Share::Failed | Share::Unexpected => {
            let errors = ErrorFigures::of(summary);
            return errors.share_of(share).map(|found| (found, errors.whole()));
        }
        Share::Abandoned => {
            let sessions = summary.sessions.as_ref()?;
            (sessions.failed, sessions.completed + sessions.failed)
        }
        Share::Checks => {
            let visits = summary.visits.as_ref()?.total();
            let steps = || visits.scenarios.iter().flat_map(|scenario| &scenario.steps);
            let made: u64 = steps().map(|step| step.checks_made).sum();
            let failed: u64 = steps().map(StepFigures::checks_failed).sum();
            (made - failed.min(made), made)
        }
        Share::Good => (summary.streams.as_ref()?.model.as_ref()?.good, ErrorFigures::of(summary).due),
        Share::Status(class) => (summary.statuses[usize::from(class) - 1], summary.replies),
    };
    (whole > 0).then(|| (ratio(part as f64, whole as f64), whole))
}

impl Kept {
    /// Outcome of all objectives together, as reports begin with it.
    #[must_use]
    pub fn headline(self) -> &'static str {
        match self {
            Self::Met => "PASS",
            Self::Missed => "FAIL",
            Self::Unknown => "UNDECIDED",
        }
    }
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

#[cfg(test)]
mod tests;
