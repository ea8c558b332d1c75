//! Judging of a run as a trial of a search: whether the server sustained the rate.

use std::time::Duration;

use httperf_plan::objective::{Metric, Objective, Relation, Share};
use httperf_stats::Summary;
use httperf_stats::search::{self, Observed};

use super::{CapacityOutcome, Cause, Trial};
use crate::backlog::{Backlog, latency_rises};
use crate::errors::ErrorFigures;
use crate::number::ratio;
use crate::objectives::{Judged, Kept, Measured};
use crate::result::Document;
use crate::verdict::{Finding, Level, Verdict};

/// Share of the calls that may stay unanswered, unless an objective allows more.
const UNANSWERED_MAX: f64 = 0.01;

/// Minimum share of satisfactory replies; below it, the server is overloaded.
const ANSWERED_MIN: f64 = 0.98;

/// Multiple of the number of calls explained by the client's largest lag above which a backlog, or error
/// replies, are blamed on the server.
const LAG_TIMES: f64 = 3.0;

/// Minimum share of the requested rate that counts as offered.
const OFFERED_MIN: f64 = 0.99;

impl Trial {
    /// Judges a run at this rate, whose plan has the objectives.
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
        reasons.extend(misses(Kept::Missed).map(|judged| Cause::Missed(judged.name())));
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
            // Lateness adds at most the arrivals of that time to the pending calls.
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
                misses(Kept::Unknown).map(|judged| Cause::TooFew(judged.name())).collect();
            let is_unclear = !too_few.is_empty();
            reasons.extend(too_few);
            if is_unclear { CapacityOutcome::Unclear } else { CapacityOutcome::Within }
        } else if let Some(finding) = blame.for_misses() {
            reasons.insert(0, named(finding));
            CapacityOutcome::Client
        } else if is_behind || rises || good < ANSWERED_MIN {
            CapacityOutcome::Overload
        } else {
            CapacityOutcome::Beyond
        };
        Self {
            rate,
            stream: plan.client.stream,
            offered,
            answered: offered * good * (1.0 - backlog.growth().max(0.0)),
            backlog_growth: backlog.growth(),
            unanswered,
            // As planned: the measured length differs by microseconds.
            length_s: plan.runtime.unwrap_or(summary.duration).as_secs_f64(),
            objectives: objectives.clone(),
            latency_ms: figures.latency_ms,
            outcome,
            reasons,
            verdict: verdict.clone(),
            ranks: run.fleet.as_ref().map(|fleet| fleet.size),
        }
    }

    /// Converts the trial for the search.
    #[must_use]
    pub fn observed(&self) -> Observed {
        Observed {
            asked: self.rate,
            rate: self.offered,
            length: Duration::try_from_secs_f64(self.length_s).unwrap_or_default(),
            outcome: match self.outcome {
                CapacityOutcome::Within => search::TrialOutcome::Within,
                CapacityOutcome::Beyond => search::TrialOutcome::Beyond { is_overload: false },
                CapacityOutcome::Overload => search::TrialOutcome::Beyond { is_overload: true },
                CapacityOutcome::Unclear => search::TrialOutcome::Unclear,
                CapacityOutcome::Client => search::TrialOutcome::ClientLimited,
            },
            answered: self.answered,
        }
    }

    /// Returns true if nothing was answered at all.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.answered == 0.0 && self.latency_ms.samples == 0
    }

    /// Outcome of an objective for the whole run.
    #[must_use]
    pub fn judged(&self, objective: Objective) -> Option<&Judged> {
        self.objectives.iter().find(|judged| judged.objective == objective && judged.scope.is_none())
    }
}

/// Rate offered, given the rate requested.
fn offered(rate: f64, summary: &Summary) -> f64 {
    let arrivals = &summary.arrivals;
    if arrivals.held > 0 || arrivals.due == 0 {
        // The server determines when arrivals that waited for room start.
        return rate;
    }
    let (due, started) = (arrivals.span_due.as_secs_f64(), arrivals.span_started.as_secs_f64());
    let stretched = if started > 0.0 { (due / started).min(1.0) } else { 1.0 };
    let share = stretched * ratio(arrivals.started as f64, (arrivals.due + summary.arrivals_skipped) as f64);
    if share < OFFERED_MIN { rate * share } else { rate }
}

/// Share of the calls that an objective allows to stay unanswered.
fn unanswered_allowed(objective: &Objective) -> Option<f64> {
    let is_upper = matches!(objective.relation(), Relation::Below | Relation::AtMost);
    let is_meant = matches!(objective.metric(), Metric::Share(Share::Errors | Share::Failed));
    (is_upper && is_meant).then_some(objective.bound())
}

/// Numbers of calls by outcome.
struct Calls {
    all: u64,
    /// Pending when the drain ended.
    unfinished: u64,
    /// Failed.
    failed: u64,
    /// Answered with an error.
    errors: u64,
}

impl Calls {
    fn of(summary: &Summary) -> Self {
        let figures = ErrorFigures::of(summary);
        let failed = if figures.of_connections { figures.connections_failed } else { figures.failed };
        Self {
            all: figures.whole(),
            unfinished: figures.due - figures.ended,
            failed,
            errors: figures.errors() - failed,
        }
    }

    /// Share of the calls without an answer.
    fn unanswered(&self) -> f64 {
        ratio((self.unfinished + self.failed) as f64, self.all as f64)
    }

    /// Share of the ended calls that were answered without an error; 0 if none ended.
    fn good(&self) -> f64 {
        let ended = self.all - self.unfinished;
        ratio(ended.saturating_sub(self.failed + self.errors) as f64, ended as f64)
    }
}

/// Evidence for whether the client is to blame for a trial.
struct Blame<'a> {
    verdict: &'a Verdict,
    /// True if the number of pending calls has grown.
    is_behind: bool,
    /// True if it has grown by more than the client's lateness explains, or if latency kept rising.
    is_behind_by_itself: bool,
    /// True if there are more error replies than calls that the client made late and in a burst.
    refuses_by_itself: bool,
    /// True if an objective would have been met without the client's lag.
    has_missed_narrowly: bool,
}

impl<'a> Blame<'a> {
    /// Finding that may have caused misses although the server would have met its objectives.
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
            Finding::ClientLimit { places, needed, .. } => needed > places,
            Finding::ScheduleLag { .. } => {
                !self.is_behind_by_itself && (self.is_behind || self.has_missed_narrowly)
            }
            Finding::TimeStolen { .. } | Finding::KeptWaiting { .. } => !self.is_behind_by_itself,
            _ => false,
        })
    }

    /// Finding that may have reduced the offered rate: preferably one that names a limit.
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
        reasons.filter(|reason| reason.level > Level::Valid).map(|reason| match &reason.finding {
            // Whatever limits one rank limits all.
            Finding::AtRank { finding, .. } => finding,
            finding => finding,
        })
    }
}

/// Returns true if a time would have met its objective had it been shorter by this lag, in seconds.
fn is_narrow(judged: &Judged, lag_s: f64) -> bool {
    match (judged.objective.metric(), judged.measured) {
        (Metric::Time { .. }, Measured::Figure(figure)) => judged.objective.is_met_by(figure - lag_s),
        _ => false,
    }
}
