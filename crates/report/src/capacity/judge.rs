//! Whether a server sustained a rate: a run as a trial of a search.

use std::time::Duration;

use httperf_plan::objective::{Metric, Objective, Relation, Share};
use httperf_stats::search::{self, BACKLOG_SHARE, Observed};
use httperf_stats::{Classes, Interval, Outcome as CallOutcome, Phase, Summary};

use super::{Cause, Outcome, Trial};
use crate::number::ratio;
use crate::objectives::{Judged, Kept, Measured};
use crate::result::Document;
use crate::verdict::{Finding, Level, Verdict};

/// The share of the calls that may stay unanswered, unless an objective allows more.
const UNANSWERED_MAX: f64 = 0.01;

/// A server that answers less than this share of what is offered to it is overloaded.
const ANSWERED_MIN: f64 = 0.98;

/// A backlog, or error replies, so many times what the client's greatest lag explains are the server's.
const LAG_TIMES: f64 = 3.0;

/// Latency that becomes so many times as long, and longer by this, has risen.
const RISE: (u32, Duration) = (2, Duration::from_millis(5));

/// At this share of the rate that was asked for, and above, it was offered.
const OFFERED_MIN: f64 = 0.99;

/// Chance adds to the calls under way, or takes from them, about as many as the root of their number: so many times
/// that is no growth.
const CHANCE: f64 = 4.0;

impl Trial {
    /// What came of a run at this rate, whose plan has the objectives.
    #[must_use]
    pub fn of(rate: f64, run: &Document) -> Self {
        let Document { plan, verdict, objectives, figures, summary, .. } = run;
        let calls = Calls::of(summary);
        let backlog = Backlog::of(summary, plan.makes_calls());
        let offered = offered(rate, summary);
        let allowed =
            plan.objectives.all.iter().filter_map(unanswered_allowed).fold(UNANSWERED_MAX, f64::max);
        let good = calls.good();

        let mut reasons = Vec::new();
        let is_behind = backlog.has_grown();
        if is_behind {
            reasons.push(Cause::FellBehind);
        }
        let unanswered = calls.unanswered();
        let misses = |kept| objectives.iter().filter(move |judged| judged.outcome == kept);
        reasons.extend(misses(Kept::Missed).map(|judged| Cause::Missed(judged.objective)));
        if reasons.is_empty() && unanswered > allowed {
            reasons.push(Cause::Unanswered);
        }
        let rises = !reasons.is_empty() && latency_rises(summary);
        if rises && !is_behind {
            reasons.push(Cause::Rising);
        }
        let lag_s = summary.lag.moments.max();
        let blame = Blame {
            verdict,
            is_behind,
            // What was late by so much adds to the calls under way what comes in that time, and no more.
            is_behind_by_itself: rises
                || is_behind && backlog.growth() * summary.duration.as_secs_f64() > lag_s * LAG_TIMES,
            refuses_by_itself: misses(Kept::Missed)
                .any(|judged| matches!(judged.objective.metric(), Metric::Share(_)))
                && calls.errors as f64
                    > lag_s * LAG_TIMES * ratio(calls.all as f64, summary.duration.as_secs_f64()),
            has_missed_narrowly: misses(Kept::Missed).any(|judged| is_narrow(judged, lag_s)),
        };
        let named = |finding: &Finding| Cause::Client(finding.name().to_owned());
        let outcome = if reasons.is_empty() {
            if offered < rate {
                reasons.extend(blame.for_rate().map(named));
            }
            let too_few: Vec<Cause> =
                misses(Kept::Unknown).map(|judged| Cause::TooFew(judged.objective)).collect();
            let is_unclear = !too_few.is_empty();
            reasons.extend(too_few);
            if is_unclear { Outcome::Unclear } else { Outcome::Within }
        } else if let Some(finding) = blame.for_misses() {
            reasons.insert(0, named(finding));
            Outcome::Client
        } else if is_behind || rises || good < ANSWERED_MIN {
            Outcome::Overload
        } else {
            Outcome::Beyond
        };
        Self {
            rate,
            stream: plan.client.stream,
            offered,
            answered: offered * good * (1.0 - backlog.growth().max(0.0)),
            backlog_growth: backlog.growth(),
            unanswered,
            // As it was planned: what was measured differs by microseconds.
            length_s: plan.runtime.unwrap_or(summary.duration).as_secs_f64(),
            objectives: objectives.clone(),
            latency_ms: figures.latency_ms,
            outcome,
            reasons,
            verdict: verdict.clone(),
        }
    }

    /// It as the search sees it.
    #[must_use]
    pub fn observed(&self) -> Observed {
        Observed {
            asked: self.rate,
            rate: self.offered,
            length: Duration::try_from_secs_f64(self.length_s).unwrap_or_default(),
            outcome: match self.outcome {
                Outcome::Within => search::Outcome::Within,
                Outcome::Beyond => search::Outcome::Beyond { is_overload: false },
                Outcome::Overload => search::Outcome::Beyond { is_overload: true },
                Outcome::Unclear => search::Outcome::Unclear,
                Outcome::Client => search::Outcome::ClientLimited,
            },
            answered: self.answered,
        }
    }

    /// Whether nothing was answered at all.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.answered == 0.0 && self.latency_ms.samples == 0
    }

    /// The value that was measured for an objective, in the unit of its metric.
    #[must_use]
    pub fn measured(&self, objective: Objective) -> Option<Measured> {
        let judged = self.objectives.iter().find(|judged| judged.objective == objective)?;
        Some(judged.measured)
    }
}

/// The rate that was offered, of what was asked for.
fn offered(rate: f64, summary: &Summary) -> f64 {
    let arrivals = &summary.arrivals;
    if arrivals.held > 0 || arrivals.due == 0 {
        // How those came that had to wait for room is for the server to answer for.
        return rate;
    }
    let (due, started) = (arrivals.span_due.as_secs_f64(), arrivals.span_started.as_secs_f64());
    let stretched = if started > 0.0 { (due / started).min(1.0) } else { 1.0 };
    let share = stretched * ratio(arrivals.started as f64, (arrivals.due + summary.arrivals_skipped) as f64);
    if share < OFFERED_MIN { rate * share } else { rate }
}

/// Which share of the calls an objective allows to stay unanswered.
fn unanswered_allowed(objective: &Objective) -> Option<f64> {
    let is_upper = matches!(objective.relation(), Relation::Below | Relation::AtMost);
    let is_meant = matches!(objective.metric(), Metric::Share(Share::Errors | Share::Failed));
    (is_upper && is_meant).then_some(objective.bound())
}

/// What became of calls.
struct Calls {
    all: u64,
    /// Those that were under way when the drain ended.
    unfinished: u64,
    /// Those that failed.
    failed: u64,
    /// Those whose replies were errors.
    errors: u64,
}

impl Calls {
    fn of(summary: &Summary) -> Self {
        let with = |outcome| summary.calls_with(outcome).latency.moments.count();
        let unfinished = summary.unfinished.moments.count();
        let failed = with(CallOutcome::Failure);
        let errors = with(CallOutcome::HttpError) + with(CallOutcome::Unexpected);
        let all = unfinished + failed + errors + with(CallOutcome::Success);
        if all > 0 {
            return Self { all, unfinished, failed, errors };
        }
        // Connections alone.
        Self { all: summary.connections, unfinished: 0, failed: summary.errors.total(), errors: 0 }
    }

    /// The share without an answer.
    fn unanswered(&self) -> f64 {
        ratio((self.unfinished + self.failed) as f64, self.all as f64)
    }

    /// Of those that ended, the share that was answered without an error; 0 if none ended.
    fn good(&self) -> f64 {
        let ended = self.all - self.unfinished;
        ratio(ended.saturating_sub(self.failed + self.errors) as f64, ended as f64)
    }
}

/// Calls under way, or connections that are open where no calls are made.
struct Backlog {
    before: f64,
    after: f64,
    /// Arrivals of the measured phase.
    arrivals: f64,
}

impl Backlog {
    fn of(summary: &Summary, makes_calls: bool) -> Self {
        let of_phase =
            |phase| summary.series.intervals().iter().filter(move |interval| interval.phase == phase);
        let change = |phase| -> f64 {
            of_phase(phase)
                .map(|interval| {
                    interval.offered as f64 - interval.replies as f64 - interval.failed_calls as f64
                })
                .sum()
        };
        let open = |phase| of_phase(phase).next_back().map_or(0.0, |interval| interval.open as f64);
        let arrivals = &summary.arrivals;
        // Those that were due and waited for room are under way as well.
        let held = arrivals.due.saturating_sub(arrivals.started) as f64;
        let (before, after) = if makes_calls {
            let before = change(Phase::WarmUp);
            (before, before + change(Phase::Measured))
        } else {
            (open(Phase::WarmUp), open(Phase::Measured))
        };
        Self { before, after: after + held, arrivals: arrivals.due as f64 }
    }

    /// By how much it grew, as a share of the arrivals.
    fn growth(&self) -> f64 {
        ratio(self.after - self.before, self.arrivals).clamp(-1.0, 1.0)
    }

    /// Whether that is more than chance would do.
    fn has_grown(&self) -> bool {
        self.after - self.before
            > self.arrivals * BACKLOG_SHARE + CHANCE * self.before.max(self.after).max(1.0).sqrt()
    }
}

/// Whether calls took longer from third to third of the measured phase: a backlog that grows slowly. Stalls, of either
/// side, do not look like that, as it is medians that are compared.
fn latency_rises(summary: &Summary) -> bool {
    let intervals: Vec<&Interval> = summary.series.measured().collect();
    let count = intervals.len();
    let medians: Option<Vec<Duration>> = (0..3)
        .map(|third| {
            let mut latency = Classes::default();
            let part = &intervals[count * third / 3..count * (third + 1) / 3];
            part.iter().for_each(|interval| latency.merge(&interval.latency));
            latency.quantile(0.5)
        })
        .collect();
    match medians.as_deref() {
        Some(&[first, second, third]) => {
            first < second && second < third && third >= first * RISE.0 && third - first >= RISE.1
        }
        _ => false,
    }
}

/// What the client has to answer for in a trial.
struct Blame<'a> {
    verdict: &'a Verdict,
    /// Whether calls under way have grown in number.
    is_behind: bool,
    /// Whether they have grown by more than what the client did late, or latency rose all the time.
    is_behind_by_itself: bool,
    /// Whether there are more error replies than calls that the client made late, and all at once.
    refuses_by_itself: bool,
    /// Whether an objective would have been met, had the client not been late.
    has_missed_narrowly: bool,
}

impl<'a> Blame<'a> {
    /// Why objectives may have been missed although the server would have met them.
    fn for_misses(&self) -> Option<&'a Finding> {
        if self.refuses_by_itself {
            return None;
        }
        self.findings().find(|finding| match finding {
            Finding::ClientCpu { .. }
            | Finding::Rate { .. }
            | Finding::ArrivalsSkipped { .. }
            | Finding::Descriptors { .. }
            | Finding::Ports { .. } => true,
            Finding::ScheduleLag { .. } => {
                !self.is_behind_by_itself && (self.is_behind || self.has_missed_narrowly)
            }
            Finding::TimeStolen { .. } | Finding::KeptWaiting { .. } => !self.is_behind_by_itself,
            _ => false,
        })
    }

    /// Why less may have been offered than was asked for: first what has a limit that can be named.
    fn for_rate(&self) -> Option<&'a Finding> {
        let has_limit = |finding: &&Finding| {
            matches!(
                finding,
                Finding::ArrivalsSkipped { .. }
                    | Finding::Descriptors { .. }
                    | Finding::Ports { .. }
                    | Finding::ClientCpu { .. }
            )
        };
        let is_rate = |finding: &&Finding| matches!(finding, Finding::Rate { .. });
        self.findings().find(has_limit).or_else(|| self.findings().find(is_rate))
    }

    fn findings(&self) -> impl Iterator<Item = &'a Finding> {
        let reasons = self.verdict.reasons.iter();
        reasons.filter(|reason| reason.level > Level::Valid).map(|reason| &reason.finding)
    }
}

/// Whether a time would have met its objective if it had been shorter by so many seconds.
fn is_narrow(judged: &Judged, lag_s: f64) -> bool {
    match (judged.objective.metric(), judged.measured) {
        (Metric::Time { .. }, Measured::Figure(figure)) => judged.objective.is_met_by(figure - lag_s),
        _ => false,
    }
}
