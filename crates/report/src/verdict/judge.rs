//! Judgement of a run: its findings, with their severity.

use std::time::Duration;

use httperf_plan::{Plan, ReplyClock, Resumption, Workload};
use httperf_stats::{CallOutcome, Failure, HandshakeKind, Merge as _, Summary, Timing, samples_needed};

use super::{Finding, Level, Reason, Verdict};
use crate::figures::Steady;
use crate::fleet::Fleet;
use crate::in_flight::InFlightFigures;
use crate::number::ratio;
use crate::places;
use crate::streams::open_streams;

/// Share of a processor above which a thread is saturated.
const CPU_FULL: f64 = 0.95;

/// The same for a thread that is late: interrupts take processor time too, and no thread is charged for it.
const CPU_FULL_IF_LATE: f64 = 0.8;

/// Minimum length of a run for shares of its time to be meaningful.
const SHARES_FROM: Duration = Duration::from_millis(100);

/// Minimum lag that counts, whatever the latency.
pub(crate) const LAG_FROM: Duration = Duration::from_millis(1);

/// Share of the latency above which lag makes it suspect.
pub(crate) const LAG_SUSPECT: f64 = 0.1;

/// Share of the latency, and absolute value, above which lag dominates the measurement.
const LAG_INVALID: (f64, Duration) = (0.5, Duration::from_millis(10));

/// Shares of the scheduled rate below which the rate achieved counts as lower.
const RATE_SUSPECT: f64 = 0.99;
const RATE_INVALID: f64 = 0.9;

/// Minimum number of arrivals to compute a rate.
const RATE_ARRIVALS_MIN: u64 = 100;

/// Mean deviation of intervals, as a share of their mean and as a time, above which they follow a different
/// process.
const INTERVALS_OFF: (f64, Duration) = (0.25, Duration::from_micros(100));

/// Share of the connections or calls above which their failures count.
const SHARE_COUNTS: f64 = 0.01;

/// Shares of the time above which time lost to others counts.
const STOLEN_COUNTS: f64 = 0.05;
const WAITING_COUNTS: f64 = 0.1;

/// Shares of the time above which pauses of the generator make figures suspect or invalid.
const PAUSED_SUSPECT: f64 = 0.01;
const PAUSED_INVALID: f64 = 0.1;

/// Minimum length of a stall, absolute and as a multiple of the longest wait that is usual.
const STALL: (Duration, u32) = (Duration::from_millis(100), 10);

/// Share by which the number of replies in flight may differ from their rate times their time.
const IN_FLIGHT_OFF: f64 = 0.1;

/// Minimum number of calls for a 99th percentile.
const SAMPLES_MIN: u64 = 100;

/// Judges a run.
#[must_use]
pub fn verdict(plan: &Plan, summary: &Summary) -> Verdict {
    let mut reasons = Vec::new();
    let mut add = |level, finding| reasons.push(Reason { level, finding });
    let completed = summary.completed();
    if plan.recording.detail {
        judge_generator(plan, summary, &completed.latency, &mut add);
        judge_sample(plan, summary, &completed.latency, &mut add);
        note_server(summary, &completed.service, &mut add);
        note_steadiness(summary, &mut add);
    } else {
        add(Level::Suspect, Finding::NotRecorded);
    }
    judge_resources(summary, &mut add);
    judge_resumption(plan, summary, &mut add);
    judge_plan(summary, &mut add);
    judge_in_flight(summary, &mut add);
    if summary.calls_not_logged > 0 {
        add(Level::Suspect, Finding::LogIncomplete { calls: summary.calls_not_logged });
    }
    Verdict::of(reasons)
}

/// Judges whether times and counts agree with each other.
fn judge_in_flight(summary: &Summary, add: &mut impl FnMut(Level, Finding)) {
    if let Some(InFlightFigures { measured, by_law: Some(by_law), disagreement: Some(share) }) =
        InFlightFigures::of(summary)
        && share.abs() >= IN_FLIGHT_OFF
    {
        add(Level::Suspect, Finding::InFlight { measured, by_law });
    }
}

/// Judges a run of a fleet: the whole, and what only some ranks found.
pub(crate) fn verdict_of_fleet(plan: &Plan, summary: &Summary, fleet: Option<&Fleet>) -> Verdict {
    let Verdict { mut reasons, .. } = verdict(plan, summary);
    if let Some(fleet) = fleet {
        let further = fleet.reasons(&reasons);
        reasons.extend(further);
    }
    Verdict::of(reasons)
}

/// Judges whether the generator kept its schedule.
fn judge_generator(plan: &Plan, summary: &Summary, latency: &Timing, add: &mut impl FnMut(Level, Finding)) {
    let is_scheduled = plan.arrivals.is_scheduled();
    let is_late = summary.lag.quantile(0.99).is_some_and(|lag| lag >= LAG_FROM);
    let seconds = summary.duration.as_secs_f64();
    let usage = &summary.usage;
    if summary.duration >= SHARES_FROM {
        let busiest = usage.workers.iter().map(|worker| worker.cpu.total() + worker.kept_waiting).max();
        let busy = ratio(busiest.unwrap_or_default().as_secs_f64(), seconds).min(1.0);
        // A thread that polls is always busy, but has time to spare as long as it is not late.
        let is_full = match is_late {
            true => busy >= CPU_FULL_IF_LATE,
            false => busy >= CPU_FULL && !(plan.spin && is_scheduled),
        };
        if is_full {
            let level = if is_scheduled && is_late { Level::Invalid } else { Level::Suspect };
            add(level, Finding::ClientCpu { share: busy });
        }
        let stolen = ratio(usage.stolen.as_secs_f64(), seconds * f64::from(usage.processors));
        if stolen >= STOLEN_COUNTS {
            add(Level::Suspect, Finding::TimeStolen { share: stolen.min(1.0) });
        }
        if let Some(worker) = usage.workers.iter().max_by_key(|worker| worker.kept_waiting) {
            let share = ratio(worker.kept_waiting.as_secs_f64(), seconds).min(1.0);
            if share >= WAITING_COUNTS && !is_full {
                add(Level::Suspect, Finding::KeptWaiting { share, preempted: worker.preempted });
            }
        }
    }
    if let Some((level, finding)) = lag_against(&summary.lag, latency) {
        add(level, finding);
    }
    judge_pauses(summary, add);
    // Replies that are not as they should be were read as well.
    let mut replied = latency.clone();
    replied.merge(&summary.calls_with(CallOutcome::Unexpected).latency);
    judge_reading(plan, summary, &replied, add);
    judge_arrivals(summary, add);
    if let Some((level, finding)) = places::judge(plan, summary, latency) {
        add(level, finding);
    }
    let opening = &summary.arrivals.opening;
    if opening.count() > 0 {
        let (calls, longest_ms) = (opening.count(), opening.max() * 1e3);
        let all = summary.arrivals.due.max(calls);
        add(Level::Valid, Finding::OpenedForCalls { calls, all, longest_ms });
    }
    judge_feeds(plan, summary, add);
}

/// The share of replies without a stamp from which it is told where none was asked for: the kernel begins to stamp a little
/// after it is told to.
const UNSTAMPED_TOLD: f64 = 0.05;

/// Judges whether replies were read as soon as they came.
fn judge_reading(plan: &Plan, summary: &Summary, latency: &Timing, add: &mut impl FnMut(Level, Finding)) {
    let receive = &summary.receive;
    let unstamped = receive.share_stamped().map_or(0.0, |share| 1.0 - share);
    let is_asked = plan.recording.clock == ReplyClock::Kernel;
    let by_kernel = is_asked || plan.times_by_kernel() && unstamped < 1.0;
    if by_kernel {
        // Replies without a stamp are timed differently from the rest.
        let (level, from) =
            if is_asked { (level_of_share(unstamped), 0.0) } else { (Level::Valid, UNSTAMPED_TOLD) };
        if unstamped > from {
            add(level, Finding::Unstamped { replies: receive.unstamped, share: unstamped });
        }
    }
    // Latencies by the kernel's clock exclude the lag. Where a call waits for a reply, it delays the call.
    let delays_calls = match &plan.workload {
        Workload::Calls(_) | Workload::Replay(_) => false,
        Workload::Connections(connections) => connections.calls > 1,
        Workload::Sessions(_) | Workload::Scenarios(_) => true,
    };
    let is_harmless = !delays_calls && unstamped <= UNSTAMPED_TOLD;
    if !(is_asked || by_kernel && is_harmless)
        && let Some((level, Finding::ScheduleLag { quantile, lag_ms, latency_ms })) =
            lag_against(&receive.lag, latency)
    {
        add(level, Finding::ReceiveLag { quantile, lag_ms, latency_ms });
    }
    if receive.clock_steps > 0 {
        let level = if by_kernel { Level::Suspect } else { Level::Valid };
        add(level, Finding::ClockSet { times: receive.clock_steps });
    }
}

/// The lag, if it is a significant part of the latency. Of two quantiles at the same level, the median says
/// more.
fn lag_against(lag: &Timing, latency: &Timing) -> Option<(Level, Finding)> {
    let judged = [0.99, 0.5].into_iter().filter_map(|quantile| {
        let (late, whole) = (lag.quantile(quantile)?, latency.quantile(quantile).unwrap_or_default());
        let share = late.as_secs_f64() / whole.as_secs_f64().max(f64::MIN_POSITIVE);
        let level = match share {
            share if share >= LAG_INVALID.0 && late >= LAG_INVALID.1 => Level::Invalid,
            share if share >= LAG_SUSPECT && late >= LAG_FROM => Level::Suspect,
            _ => return None,
        };
        let finding = Finding::ScheduleLag { quantile, lag_ms: in_ms(late), latency_ms: in_ms(whole) };
        Some((level, finding))
    });
    judged.max_by_key(|(level, _)| *level)
}

fn judge_pauses(summary: &Summary, add: &mut impl FnMut(Level, Finding)) {
    let pauses = &summary.pauses;
    let share = ratio(pauses.total.as_secs_f64(), summary.duration.as_secs_f64()).min(1.0);
    if summary.duration < SHARES_FROM || share < PAUSED_SUSPECT {
        return;
    }
    let level = if share >= PAUSED_INVALID { Level::Invalid } else { Level::Suspect };
    add(level, Finding::Paused { share, longest_ms: in_ms(pauses.longest), times: pauses.count });
}

/// Tells of a feed that ended the run.
fn judge_feeds(plan: &Plan, summary: &Summary, add: &mut impl FnMut(Level, Finding)) {
    let Workload::Scenarios(scenarios) = &plan.workload else { return };
    let used_up = summary.visits.as_ref().and_then(|visits| visits.feed_used_up);
    if let Some(feed) = used_up.and_then(|feed| scenarios.feeds.get(feed as usize)) {
        add(Level::Valid, Finding::FeedUsedUp { feed: feed.name.clone() });
    }
}

fn judge_arrivals(summary: &Summary, add: &mut impl FnMut(Level, Finding)) {
    let arrivals = &summary.arrivals;
    let (span_due, span_started) = (arrivals.span_due.as_secs_f64(), arrivals.span_started.as_secs_f64());
    // The generator could not start arrivals that still waited for room at the end. In results without a
    // window, the spans of started arrivals include waits.
    let startable = arrivals.due.saturating_sub(arrivals.waiting);
    let has_own_lateness = arrivals.held == 0 || summary.window.is_some();
    if has_own_lateness
        && startable >= RATE_ARRIVALS_MIN
        && arrivals.span_due.max(arrivals.span_started) >= SHARES_FROM
    {
        let of_those_started = if span_started > 0.0 { (span_due / span_started).min(1.0) } else { 1.0 };
        let share = of_those_started * ratio(arrivals.started as f64, startable as f64);
        if share < RATE_SUSPECT {
            let asked = ratio(arrivals.started.saturating_sub(1) as f64, span_due);
            let level = if share < RATE_INVALID { Level::Invalid } else { Level::Suspect };
            add(level, Finding::Rate { asked, achieved: asked * share });
        }
        let off = arrivals.intervals_due.distance(&arrivals.intervals_started);
        // Each worker knows the intervals between its own arrivals only. Those of the whole are shorter.
        let mean = ratio(span_due, arrivals.started.saturating_sub(1) as f64);
        if off >= INTERVALS_OFF.1 && off.as_secs_f64() >= mean * INTERVALS_OFF.0 {
            add(Level::Suspect, Finding::ArrivalProcess { off_ms: in_ms(off), mean_ms: mean * 1e3 });
        }
    }
    if summary.arrivals_skipped > 0 {
        let due = arrivals.due + summary.arrivals_skipped;
        let share = ratio(summary.arrivals_skipped as f64, due as f64);
        let finding = Finding::ArrivalsSkipped { arrivals: summary.arrivals_skipped, share };
        add(level_of_share(share), finding);
    }
}

/// Judges whether there are enough calls, and whether any are missing.
fn judge_sample(plan: &Plan, summary: &Summary, latency: &Timing, add: &mut impl FnMut(Level, Finding)) {
    let answered = latency.moments.count();
    let samples = if plan.makes_calls() { answered } else { summary.connect.moments.count() };
    let unfinished = &summary.unfinished.moments;
    if samples < SAMPLES_MIN {
        // The least of those that reports show.
        let quantile = [0.5, 0.75, 0.9, 0.95].into_iter().find(|&share| samples < samples_needed(share));
        add(Level::Suspect, Finding::FewSamples { samples, quantile: quantile.unwrap_or(0.99) });
    } else if samples < 1000 {
        add(Level::Valid, Finding::FewSamples { samples, quantile: 0.999 });
    }
    // A stream that was open is no call without an answer.
    let calls = unfinished.count().saturating_sub(open_streams(summary));
    if calls > 0 {
        let count = |outcome| summary.calls_with(outcome).latency.moments.count();
        let ended: u64 = CallOutcome::ALL.into_iter().map(count).sum();
        // Where no calls are made, arrivals are what was still waiting.
        let all = if plan.makes_calls() { calls + ended } else { summary.arrivals.due };
        let share = ratio(calls as f64, all.max(calls) as f64);
        add(level_of_share(share), Finding::Unfinished { calls, share, longest_s: unfinished.max() });
    }
}

/// Judges whether the calls that were planned were made.
fn judge_plan(summary: &Summary, add: &mut impl FnMut(Level, Finding)) {
    let calls = summary.calls_not_offered;
    if calls > 0 {
        let count = |outcome| summary.calls_with(outcome).latency.moments.count();
        let made: u64 = CallOutcome::ALL.into_iter().map(count).sum();
        let all = calls + made + summary.unfinished.moments.count();
        let share = ratio(calls as f64, all as f64);
        let finding = Finding::CallsNotMade { calls, share, connections: summary.closed_early };
        add(level_of_share(share), finding);
    }
}

/// Judges whether the machine had the resources that the plan needed.
fn judge_resources(summary: &Summary, add: &mut impl FnMut(Level, Finding)) {
    let errors = &summary.errors;
    let descriptors = errors.count(Failure::FdUnavailable) + errors.count(Failure::FileTableFull);
    let ports = errors.count(Failure::AddressUnavailable);
    let attempts = summary.attempts() as f64;
    let level = |count: u64| {
        if ratio(count as f64, attempts) >= SHARE_COUNTS { Level::Invalid } else { Level::Suspect }
    };
    if let Some(quic) = summary.http2.as_ref().and_then(|http3| http3.quic.as_ref()) {
        let lost = summary.usage.udp;
        // A full socket counts as well, but what it refuses is sent later.
        let sent = lost.send.saturating_sub(quic.sends_blocked);
        let (received, own) = (lost.receive.max(quic.socket_drops), quic.socket_drops);
        if received + sent > 0 {
            add(Level::Suspect, Finding::DatagramsLost { received, own, sent });
        }
    }
    if descriptors > 0 {
        add(level(descriptors), Finding::Descriptors { connections: descriptors });
    }
    if ports > 0 {
        add(level(ports), Finding::Ports { connections: ports });
    }
}

/// Judges whether handshakes resumed sessions as planned: a full one costs the server much more.
fn judge_resumption(plan: &Plan, summary: &Summary, add: &mut impl FnMut(Level, Finding)) {
    let Some(Resumption::Share(asked)) = plan.tls.as_ref().map(|tls| tls.resumption) else { return };
    let Some(figures) = summary.tls.as_deref() else { return };
    let count = |kind| figures.handshakes_of(kind).time.moments.count() as f64;
    let [full, resumed, early] = HandshakeKind::ALL.map(count);
    let (all, resumed) = (full + resumed + early, resumed + early);
    // The first ones have nothing to resume.
    if resumed + 1.0 < all * asked / 2.0 {
        add(Level::Suspect, Finding::NotResumed { asked, share: ratio(resumed, all) });
    }
}

/// Notes events on the server that a reader of the figures should know about.
fn note_server(summary: &Summary, service: &Timing, add: &mut impl FnMut(Level, Finding)) {
    if let (Some(stall), Some(usual)) = (summary.stall, usual_wait(summary, service))
        && stall.length >= STALL.0
        && stall.length >= usual * STALL.1
    {
        let (length_s, from_s) = (stall.length.as_secs_f64(), stall.from.as_secs_f64());
        add(Level::Valid, Finding::ServerStall { length_s, from_s });
    }
}

/// Longest of the waits that are usual in a run: for a reply, for an answer on a WebSocket, for a stream and for tokens. `None` if
/// nothing was answered.
fn usual_wait(summary: &Summary, service: &Timing) -> Option<Duration> {
    let websockets = summary.websockets.as_deref().map(|websockets| &websockets.round_trip.service);
    let streams = summary.streams.as_deref();
    let begun = streams.map(|streams| &streams.first_byte.service);
    let model = streams.and_then(|streams| streams.model.as_deref());
    let tokens = model.into_iter().flat_map(|model| [&model.first_token.service, &model.token_gap]);
    let waits = [Some(service), websockets, begun].into_iter().flatten().chain(tokens);
    waits.filter_map(|times| times.quantile(0.5)).max()
}

fn note_steadiness(summary: &Summary, add: &mut impl FnMut(Level, Finding)) {
    match Steady::of(summary) {
        Steady::From { seconds } if seconds > 0.0 => add(Level::Valid, Finding::SteadyFrom { seconds }),
        Steady::Never => add(Level::Valid, Finding::NeverSteady),
        Steady::From { .. } | Steady::Unknown => {}
    }
}

fn level_of_share(share: f64) -> Level {
    if share >= SHARE_COUNTS { Level::Suspect } else { Level::Valid }
}

fn in_ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
