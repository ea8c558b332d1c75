//! Share of the offered load that a server answered, as a measure of whether it kept up.

use httperf_plan::{Plan, UNLIMITED, Workload};
use httperf_stats::{CallOutcome, Interval, Phase, SessionSummary, Summary, Timing};

use crate::backlog::Backlog;
use crate::number::ratio;

/// Share of a run's arrivals, or of their calls, that the server answered without an error while they kept
/// coming; `None` if none were due.
///
/// If load is offered for a fixed time, only that time counts: a queue that grows until the end and is
/// answered afterwards shows that the server did not keep up. If the number of arrivals is fixed, the wait of
/// the last ones is compared with the time in which they came. Errors count as unanswered, and so do calls
/// that were due and could not be made.
#[must_use]
pub fn answered_share(plan: &Plan, summary: &Summary) -> Option<f64> {
    let arrivals = (summary.arrivals.due + summary.arrivals_skipped) as f64;
    if arrivals == 0.0 {
        return None;
    }
    let offering = Offering::of(plan, summary);
    let share = match (&plan.workload, &summary.sessions) {
        (Workload::Sessions(_) | Workload::Scenarios(_), Some(sessions)) => {
            sessions_share(&offering, summary, sessions, arrivals)
        }
        (Workload::Connections(connections), _) if connections.calls == 0 => {
            let established = summary.connect.moments.count() as f64;
            let quickest = summary.connect.moments.min();
            established / arrivals * offering.in_time(&summary.connect, quickest, 1.0)
        }
        _ if offering.is_timed => timed_calls_share(plan, &offering, summary, arrivals),
        _ => {
            let calls = Calls::of(plan, summary, arrivals);
            let successes = &summary.calls_with(CallOutcome::Success).latency;
            let quickest = quickest_call(summary) * calls.in_turn;
            calls.answered / calls.offered * offering.in_time(successes, quickest, calls.in_turn)
        }
    };
    Some(share.clamp(0.0, 1.0))
}

/// Timing of the offered load, in seconds.
struct Offering {
    /// True if the run lasted as long as load was to be offered, rather than until its arrivals were
    /// finished.
    is_timed: bool,
    /// From the first arrival to the instant after the last at which the next would have followed.
    arriving: f64,
    /// Length of the measured phase.
    measured: f64,
    /// Length of the warm-up.
    warmup: f64,
    /// Total pauses of a connection between its calls.
    pauses: f64,
}

/// Share of the time for which load was to be offered that a run lasts which was not over before.
const WHOLE: f64 = 0.99;

/// Lateness allowed for reasons other than the server.
const JITTER: f64 = 0.01;

/// Ratio of the last wait to the 90th percentile in a steadily growing queue.
const LAST_OF_P90: f64 = 1.0 / 0.9;

impl Offering {
    fn of(plan: &Plan, summary: &Summary) -> Self {
        let measured = summary.duration.as_secs_f64();
        // A run that began late is a little shorter.
        let was_whole = plan.runtime.is_some_and(|runtime| measured >= WHOLE * runtime.as_secs_f64());
        let is_timed =
            was_whole || summary.series.intervals().iter().any(|interval| interval.phase == Phase::Drain);
        let arriving = match is_timed {
            true => measured,
            false => summary.arrivals.span_due.as_secs_f64() + plan.arrivals.mean_interval(),
        };
        let pauses = match &plan.workload {
            Workload::Connections(connections) if connections.calls != UNLIMITED => {
                let bursts = connections.calls.div_ceil(connections.burst.get());
                connections.think.as_secs_f64() * bursts.saturating_sub(1) as f64
            }
            _ => 0.0,
        };
        Self { is_timed, arriving, measured, warmup: plan.phases.warmup.as_secs_f64(), pauses }
    }

    /// Ratio of the time in which arrivals came to the time until the last was finished. `quickest`: time of an arrival that
    /// has no other before it, which is no delay. `in_turn`: number of consecutive times per arrival. A single slow one is no
    /// queue.
    fn in_time(&self, timing: &Timing, quickest: f64, in_turn: f64) -> f64 {
        let quickest = quickest + self.pauses;
        let p90 = timing.quantile(0.9).unwrap_or_default().as_secs_f64();
        let last = p90 * LAST_OF_P90 * in_turn + self.pauses;
        let last = if self.is_timed { last } else { last.min(self.measured - self.arriving) };
        ratio(self.arriving + quickest + JITTER, self.arriving + last).min(1.0)
    }
}

/// Calls of a run that were due in its measured phase.
struct Calls {
    /// Calls that were due, or would have been if their predecessors had been answered.
    offered: f64,
    /// Calls answered without an error, however late.
    answered: f64,
    /// Share of the replies without an error.
    good: f64,
    /// Number of consecutive calls per arrival.
    in_turn: f64,
}

impl Calls {
    fn of(plan: &Plan, summary: &Summary, arrivals: f64) -> Self {
        let count = |outcome| summary.calls_with(outcome).latency.moments.count() as f64;
        let answered = count(CallOutcome::Success);
        let replies = answered + count(CallOutcome::HttpError) + count(CallOutcome::Unexpected);
        let made = replies + count(CallOutcome::Failure) + summary.unfinished.moments.count() as f64;
        let (offered, in_turn) = match plan.calls_per_arrival() {
            UNLIMITED => (made, 1.0),
            calls => (arrivals * calls as f64 - summary.calls_not_offered as f64, calls as f64),
        };
        let good = if replies > 0.0 { answered / replies } else { 1.0 };
        Self { offered: offered.max(made).max(1.0), answered, good, in_turn }
    }
}

fn timed_calls_share(plan: &Plan, offering: &Offering, summary: &Summary, arrivals: f64) -> f64 {
    let calls = Calls::of(plan, summary, arrivals);
    let sum = |phase, of: fn(&Interval) -> u64| {
        let intervals = summary.series.intervals().iter().filter(|interval| interval.phase == phase);
        intervals.map(of).sum::<u64>() as f64
    };
    let ended = |phase| [sum(phase, |one| one.replies), sum(phase, |one| one.failed_calls)];
    let [replies, failed] = ended(Phase::Measured);
    // If the server kept up, calls pending at the beginning of the measured phase are no longer pending at
    // its end. By chance there may be a few more, or the calls of an arrival that had just come.
    let before = (sum(Phase::WarmUp, |one| one.offered) - ended(Phase::WarmUp).iter().sum::<f64>()).max(0.0);
    let by_chance = calls.in_turn.min(calls.offered / arrivals) + 2.0 * (2.0 * before).sqrt();
    // Without a warm-up as long as the fastest calls, calls are pending at the end only.
    let quickest = quickest_call(summary) * calls.in_turn + offering.pauses;
    let not_yet = calls.offered * ratio(quickest - offering.warmup, offering.measured);
    let left = (calls.offered - replies - failed - by_chance - not_yet.max(0.0)).max(0.0);
    1.0 - (left + failed + replies * (1.0 - calls.good)) / calls.offered
}

/// Share of the calls made in the measured phase that were pending at its end, beyond those before it and those that had just
/// come.
fn pending_share(offering: &Offering, summary: &Summary) -> f64 {
    let offered = summary.series.measured().map(|interval| interval.offered).sum::<u64>() as f64;
    let Backlog { before, after, .. } = Backlog::of(summary, true);
    let (grown, before) = (after - before, before.max(0.0));
    let not_yet = offered * ratio(quickest_call(summary) - offering.warmup, offering.measured);
    let by_chance = 1.0 + 2.0 * (2.0 * before).sqrt();
    ratio((grown - by_chance - not_yet.max(0.0)).max(0.0), offered)
}

/// Time in seconds that a server takes for a call without others before it, as far as the run shows it; 0 if no call was
/// answered.
///
/// Of an overloaded server, the quickest measured call has waited in the queue that the warm-up left. So calls of the warm-up
/// count too; and the very first call found no queue, so that a call takes no longer than the time until the first reply.
fn quickest_call(summary: &Summary) -> f64 {
    let intervals = summary.series.intervals();
    let first_reply = intervals.iter().find(|interval| interval.replies > 0).map(Interval::end);
    let in_series = intervals.iter().filter_map(|interval| interval.latency.quantile(0.0)).min();
    let successes = summary.calls_with(CallOutcome::Success);
    let measured = [&successes.latency, &successes.service].map(|timing| timing.moments.min());
    let known = first_reply.into_iter().chain(in_series).map(|time| time.as_secs_f64());
    known.chain(measured).reduce(f64::min).unwrap_or_default()
}

/// Mean time in seconds of a completed session without the time that its calls spent in a queue that grew during the run.
///
/// Calls at the beginning of the run show how long they take without that queue.
fn usual_session(summary: &Summary, sessions: &SessionSummary) -> f64 {
    let mean = sessions.latency.moments.mean();
    let calls: u64 = sessions.lengths.iter().map(|(length, sessions)| length * sessions).sum();
    let ended = sessions.completed + sessions.failed;
    let mut intervals = summary.series.intervals().iter();
    let Some(first) = intervals.find(|interval| !interval.latency.is_empty()) else { return mean };
    let usual = first.latency.quantile(0.5).unwrap_or_default().as_secs_f64();
    let measured = summary.completed().latency.quantile(0.5).unwrap_or_default().as_secs_f64();
    let queued = (measured - usual).max(0.0) * ratio(calls as f64, ended as f64);
    (mean - queued).max(0.0)
}

fn sessions_share(offering: &Offering, summary: &Summary, sessions: &SessionSummary, arrivals: f64) -> f64 {
    let completed = sessions.completed as f64;
    let usual = usual_session(summary, sessions);
    if !offering.is_timed {
        let quickest = sessions.latency.moments.min().min(usual);
        return completed / arrivals * offering.in_time(&sessions.latency, quickest, 1.0);
    }
    // At the observed pace, late sessions cannot have ended yet; chance may account for one more.
    let not_yet = ratio(usual, offering.measured).min(1.0);
    let expected = arrivals * (1.0 - not_yet) - 1.0;
    let share = if completed >= expected && completed > 0.0 { 1.0 } else { ratio(completed, expected) };
    // Sessions that were late may have ended behind the time that counts: then calls piled up in it.
    share.min(1.0 - pending_share(offering, summary))
}
