//! The verdict on a run: whether the generator, the machine or the sample makes its figures unreliable.
//!
//! A verdict says nothing about the server. A run against a server that fails every call may be perfectly
//! valid; one whose generator was late is not, however good its figures look.

use std::fmt::{self, Display};
use std::time::Duration;

use httperf_plan::{Arrivals, Plan, ReplyClock, Resumption, Workload};
use httperf_stats::{CallOutcome, Failure, HandshakeKind, Summary, Timing, samples_needed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figures::Steady;
use crate::fleet::Fleet;
use crate::number::{count, fixed, percent, quantile_name, ratio, time};
use crate::places::{self, LimitSentence, Place};
use crate::streams::open_streams;

/// Reliability of a run's figures, with the reasons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Worst level of the reasons.
    pub level: Level,
    /// Reasons for the level, worst first, followed by notes.
    pub reasons: Vec<Reason>,
}

impl Verdict {
    /// Verdict for these reasons, in any order.
    fn of(mut reasons: Vec<Reason>) -> Self {
        // Stable: findings of the same level keep their order.
        reasons.sort_by_key(|reason| std::cmp::Reverse(reason.level));
        let level = reasons.first().map_or(Level::Valid, |reason| reason.level);
        Self { level, reasons }
    }

    /// Checks that the findings can be displayed.
    ///
    /// # Errors
    /// The field that is wrong, the value expected, and the value found.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (index, reason) in self.reasons.iter().enumerate() {
            if let Finding::ScheduleLag { quantile, .. } | Finding::FewSamples { quantile, .. } =
                reason.finding
                && !(quantile > 0.0 && quantile < 1.0)
            {
                return Err(format!(
                    "reasons[{index}].quantile: expected a number between 0 and 1, got {quantile}"
                ));
            }
        }
        Ok(())
    }
}

/// Reliability of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    /// The figures are reliable.
    Valid,
    /// Some figures may be off: see the reasons.
    Suspect,
    /// They describe the generator or the machine rather than the server.
    Invalid,
}

impl Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Valid => "VALID",
            Self::Suspect => "SUSPECT",
            Self::Invalid => "INVALID",
        })
    }
}

impl Verdict {
    /// Returns true if the generator or its machine was the bottleneck, so that the run says nothing about
    /// the server's capacity.
    #[must_use]
    pub fn blames_client(&self) -> bool {
        self.client_limits().next().is_some()
    }

    /// Findings that made the generator or its machine the bottleneck, worst first.
    pub fn client_limits(&self) -> impl Iterator<Item = &Finding> {
        self.reasons.iter().filter(|reason| reason.limits_client()).map(|reason| &reason.finding)
    }
}

/// A finding and its severity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// Severity. Mere notes are `VALID`.
    pub level: Level,
    /// The finding.
    #[serde(flatten)]
    pub finding: Finding,
}

impl Reason {
    /// Returns true if the finding means that less load than planned was, or could have been, offered.
    /// Findings that merely blur the figures of a load that was offered do not count, even if they make the
    /// figures worthless: occasional late starts, or a machine whose processors are shared.
    fn limits_client(&self) -> bool {
        match &self.finding {
            Finding::AtRank { finding, .. } => {
                Self { level: self.level, finding: (**finding).clone() }.limits_client()
            }
            Finding::RanksMissing { .. } => true,
            Finding::ClientCpu { .. } | Finding::Descriptors { .. } | Finding::Ports { .. } => true,
            Finding::ScheduleLag { quantile, .. } | Finding::ReceiveLag { quantile, .. } => {
                self.level == Level::Invalid && *quantile <= 0.5
            }
            Finding::Rate { .. } | Finding::ClientLimit { .. } => self.level == Level::Invalid,
            // They blur what was measured; the load was offered.
            Finding::DatagramsLost { .. } => false,
            Finding::Paused { .. } => self.level == Level::Invalid,
            Finding::ArrivalsSkipped { .. } => self.level >= Level::Suspect,
            Finding::ArrivalProcess { .. }
            | Finding::ArrivalsHeld { .. }
            | Finding::OpenedForCalls { .. }
            | Finding::FeedUsedUp { .. }
            | Finding::ClockSet { .. }
            | Finding::Unstamped { .. }
            | Finding::TimeStolen { .. }
            | Finding::KeptWaiting { .. }
            | Finding::FewSamples { .. }
            | Finding::Unfinished { .. }
            | Finding::CallsNotMade { .. }
            | Finding::LogIncomplete { .. }
            | Finding::NotRecorded
            | Finding::NotResumed { .. }
            | Finding::ServerStall { .. }
            | Finding::SteadyFrom { .. }
            | Finding::NeverSteady => false,
        }
    }

    /// Returns true if the finding describes one generator and its machine, whatever others that work with it find.
    pub(crate) fn is_of_machine(&self) -> bool {
        match &self.finding {
            Finding::ClientCpu { .. }
            | Finding::ScheduleLag { .. }
            | Finding::ReceiveLag { .. }
            | Finding::ClockSet { .. }
            | Finding::Rate { .. }
            | Finding::ArrivalProcess { .. }
            | Finding::Descriptors { .. }
            | Finding::Ports { .. }
            | Finding::TimeStolen { .. }
            | Finding::KeptWaiting { .. }
            | Finding::DatagramsLost { .. }
            | Finding::Paused { .. } => true,
            // Counts and shares of the whole.
            Finding::Unstamped { .. }
            | Finding::ArrivalsSkipped { .. }
            | Finding::ArrivalsHeld { .. }
            | Finding::ClientLimit { .. }
            | Finding::OpenedForCalls { .. }
            | Finding::FeedUsedUp { .. }
            | Finding::FewSamples { .. }
            | Finding::Unfinished { .. }
            | Finding::CallsNotMade { .. }
            | Finding::LogIncomplete { .. }
            | Finding::NotRecorded
            | Finding::NotResumed { .. }
            | Finding::ServerStall { .. }
            | Finding::SteadyFrom { .. }
            | Finding::NeverSteady
            | Finding::AtRank { .. }
            | Finding::RanksMissing { .. } => false,
        }
    }
}

/// A finding about a run. Shares are of 1, rates are per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Finding {
    /// A worker's thread needed nearly all of a processor.
    ClientCpu {
        /// Share of the time in which it ran or was ready to run.
        share: f64,
    },
    /// Arrivals were started late.
    ScheduleLag {
        /// Quantile at which lag and latency are compared.
        quantile: f64,
        /// Quantile of the lag, in milliseconds.
        lag_ms: f64,
        /// Quantile of the latency, in milliseconds.
        latency_ms: f64,
    },
    /// Replies waited in this machine before they were read.
    ReceiveLag {
        /// Quantile at which lag and latency are compared.
        quantile: f64,
        /// Quantile of the receive lag, in milliseconds.
        lag_ms: f64,
        /// Quantile of the latency, in milliseconds.
        latency_ms: f64,
    },
    /// The wall clock, which the kernel's stamps use, was set.
    ClockSet {
        /// Number of times.
        times: u64,
    },
    /// Replies were to be timed by the kernel's clock, but some have no stamp.
    Unstamped {
        /// Replies without a stamp.
        replies: u64,
        /// Share of all replies.
        share: f64,
    },
    /// Arrivals started at a lower rate than scheduled.
    Rate {
        /// Scheduled arrivals per second.
        asked: f64,
        /// Arrivals started per second.
        achieved: f64,
    },
    /// The intervals between arrivals deviated from the schedule.
    ArrivalProcess {
        /// Mean deviation in milliseconds, between arrivals of the same worker.
        off_ms: f64,
        /// Mean interval of the whole schedule, in milliseconds.
        mean_ms: f64,
    },
    /// Arrivals were skipped at the limit on open connections.
    ArrivalsSkipped {
        /// Number of arrivals.
        arrivals: u64,
        /// Share of the arrivals due.
        share: f64,
    },
    /// Arrivals waited for room among the connections that may be open.
    ArrivalsHeld {
        /// Number of arrivals.
        arrivals: u64,
    },
    /// Arrivals waited for a place that the plan bounds the number of, and that bound is part of the figures.
    ClientLimit {
        /// The places that they waited for.
        place: Place,
        /// Number of these places.
        places: u64,
        /// Number of arrivals that waited.
        arrivals: u64,
        /// Longest wait in milliseconds.
        longest_ms: f64,
        /// Arrivals per second.
        rate: f64,
        /// Mean time in milliseconds for which an arrival kept its place that found most of them free.
        kept_ms: f64,
        /// Number of places that this rate and time need on average.
        needed: u64,
    },
    /// Calls waited for a connection that was opened for them.
    OpenedForCalls {
        /// Number of calls that did.
        calls: u64,
        /// Number of all calls that were due.
        all: u64,
        /// Longest wait in milliseconds.
        longest_ms: f64,
    },
    /// A feed had no row left for a further visit: none started any more.
    FeedUsedUp {
        /// Name of the feed.
        feed: String,
    },
    /// Connections failed because the process or system had no file descriptors left.
    Descriptors {
        /// Number of connections.
        connections: u64,
    },
    /// Connections failed because no local port was available.
    Ports {
        /// Number of connections.
        connections: u64,
    },
    /// Datagrams were lost in buffers of this machine.
    DatagramsLost {
        /// Datagrams that arrived and found the buffer of a socket full, whatever program it belongs to. Those that came
        /// together count once, so they may be more.
        received: u64,
        /// Datagrams of them that were for the generator itself.
        own: u64,
        /// Datagrams that found no room on their way out.
        sent: u64,
    },
    /// The hypervisor gave processor time to other guests.
    TimeStolen {
        /// Share of all processors' time.
        share: f64,
    },
    /// A worker's thread was ready to run, but other programs ran.
    KeptWaiting {
        /// Share of the time; of several workers, that of the one that waited longest.
        share: f64,
        /// Number of times it was preempted.
        preempted: u64,
    },
    /// The generator did not run when it should have: it was stopped, or others had its processor.
    Paused {
        /// Share of the time in which it did not run; of several workers, that of the one that paused
        /// longest.
        share: f64,
        /// Longest pause in milliseconds.
        longest_ms: f64,
        /// Number of pauses.
        times: u64,
    },
    /// Too few calls for some percentiles.
    FewSamples {
        /// Calls with a reply; established connections if no calls are made.
        samples: u64,
        /// Lowest quantile without enough samples.
        quantile: f64,
    },
    /// Calls were pending or waiting for room when the run ended, so their latencies are unknown.
    Unfinished {
        /// Number of calls.
        calls: u64,
        /// Share of all calls due.
        share: f64,
        /// Time since the first of them was due, in seconds.
        longest_s: f64,
    },
    /// Planned calls were never made, as the server closed their connections before.
    CallsNotMade {
        /// Number of calls.
        calls: u64,
        /// Share of all calls planned on the connections that were opened.
        share: f64,
        /// Number of connections closed early.
        connections: u64,
    },
    /// Calls are missing from the call log.
    LogIncomplete {
        /// Number of calls.
        calls: u64,
    },
    /// The plan disabled the records that a verdict needs.
    NotRecorded,
    /// Handshakes were to resume sessions, but few did.
    NotResumed {
        /// Share of the handshakes that were to resume one.
        asked: f64,
        /// Share of those that did.
        share: f64,
    },
    /// The server sent nothing for a while although replies were due.
    ServerStall {
        /// Length in seconds.
        length_s: f64,
        /// Beginning, in seconds since the start of the run.
        from_s: f64,
    },
    /// The run became steady late, without a warm-up that would have kept its beginning out of the figures.
    SteadyFrom {
        /// Seconds since the beginning of the measured phase.
        seconds: f64,
    },
    /// The run never became steady.
    NeverSteady,
    /// A finding about the part of one rank of a fleet, which the whole does not show.
    AtRank {
        /// The rank.
        rank: u32,
        /// The finding.
        finding: Box<Finding>,
    },
    /// Results of ranks of a fleet are missing.
    RanksMissing {
        /// Number of ranks that are missing.
        ranks: u32,
        /// Number of ranks.
        size: u32,
    },
}

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
    if summary.calls_not_logged > 0 {
        add(Level::Suspect, Finding::LogIncomplete { calls: summary.calls_not_logged });
    }
    Verdict::of(reasons)
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
    let is_scheduled = !matches!(plan.arrivals, Arrivals::Sequential | Arrivals::Concurrent(_));
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
    judge_reading(plan.recording.clock, summary, &replied, add);
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

/// Judges whether replies were read as soon as they came.
fn judge_reading(
    clock: ReplyClock,
    summary: &Summary,
    latency: &Timing,
    add: &mut impl FnMut(Level, Finding),
) {
    let receive = &summary.receive;
    if clock == ReplyClock::Kernel {
        // Latencies exclude the lag. Replies without a stamp are timed differently from the rest.
        if let Some(share) = receive.share_stamped().map(|share| 1.0 - share)
            && share > 0.0
        {
            add(level_of_share(share), Finding::Unstamped { replies: receive.unstamped, share });
        }
    } else if let Some((level, Finding::ScheduleLag { quantile, lag_ms, latency_ms })) =
        lag_against(&receive.lag, latency)
    {
        add(level, Finding::ReceiveLag { quantile, lag_ms, latency_ms });
    }
    if receive.clock_steps > 0 {
        let level = if clock == ReplyClock::Kernel { Level::Suspect } else { Level::Valid };
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

impl Finding {
    /// Name of the finding, such as `client cpu`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::ClientCpu { .. } => "client cpu",
            Self::ScheduleLag { .. } => "schedule lag",
            Self::ReceiveLag { .. } => "receive lag",
            Self::ClockSet { .. } => "clock set",
            Self::Unstamped { .. } => "unstamped",
            Self::Rate { .. } => "rate",
            Self::ArrivalProcess { .. } => "arrival process",
            Self::ArrivalsSkipped { .. } => "arrivals skipped",
            Self::ArrivalsHeld { .. } => "arrivals held",
            Self::ClientLimit { .. } => "client limit",
            Self::OpenedForCalls { .. } => "opened for calls",
            Self::FeedUsedUp { .. } => "feed used up",
            Self::Paused { .. } => "paused",
            Self::Descriptors { .. } => "descriptors",
            Self::Ports { .. } => "ports",
            Self::DatagramsLost { .. } => "datagrams lost",
            Self::TimeStolen { .. } => "time stolen",
            Self::KeptWaiting { .. } => "kept waiting",
            Self::FewSamples { .. } => "few samples",
            Self::Unfinished { .. } => "unfinished",
            Self::CallsNotMade { .. } => "calls not made",
            Self::LogIncomplete { .. } => "log incomplete",
            Self::NotRecorded => "not recorded",
            Self::NotResumed { .. } => "not resumed",
            Self::ServerStall { .. } => "server stall",
            Self::SteadyFrom { .. } => "steady from",
            Self::NeverSteady => "never steady",
            Self::AtRank { finding, .. } => finding.name(),
            Self::RanksMissing { .. } => "ranks missing",
        }
    }
}

/// Describes the finding and its meaning in one clause.
impl Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ClientCpu { share } => write!(
                f,
                "a generator thread was busy for {} of the time: the generator set the pace, not the server",
                percent(share)
            ),
            // Nothing was answered as it should be.
            Self::ScheduleLag { quantile, lag_ms, latency_ms: 0.0 } => {
                write!(f, "arrivals started {} ms late ({})", fixed(lag_ms, 3), quantile_name(quantile))
            }
            Self::ScheduleLag { quantile, lag_ms, latency_ms } => write!(
                f,
                "arrivals started {} ms late, out of a latency of {} ms ({})",
                fixed(lag_ms, 3),
                fixed(latency_ms, 3),
                quantile_name(quantile)
            ),
            Self::ReceiveLag { quantile, lag_ms, latency_ms } => write!(
                f,
                "replies waited {} ms in this machine before they were read, out of a latency of {} ms ({})",
                fixed(lag_ms, 3),
                fixed(latency_ms, 3),
                quantile_name(quantile)
            ),
            Self::ClockSet { times } => write!(
                f,
                "the wall clock was set during the run (count: {times}): replies received at that moment have no receive lag"
            ),
            Self::Unstamped { replies, share } => write!(
                f,
                "{replies} replies ({}) have no kernel time stamp; their times include the wait until they were read",
                percent(share)
            ),
            Self::Rate { asked, achieved } => write!(
                f,
                "{} arrivals per second were due, but only {} were started",
                fixed(asked, 1),
                fixed(achieved, 1)
            ),
            Self::ArrivalProcess { off_ms, mean_ms } => write!(
                f,
                "intervals between arrivals deviated by {} ms on average, from a mean of {} ms: arrivals came in bursts",
                fixed(off_ms, 3),
                fixed(mean_ms, 3)
            ),
            Self::ArrivalsSkipped { arrivals, share } => write!(
                f,
                "{arrivals} arrivals ({}) were skipped because --max-connections were open",
                percent(share)
            ),
            Self::ArrivalsHeld { arrivals } => write!(
                f,
                "{arrivals} arrivals waited at the limit on open connections; the wait is part of their latency"
            ),
            Self::ClientLimit { place, places, longest_ms, rate, kept_ms, needed, .. } => {
                LimitSentence { place, places, longest_ms, rate, kept_ms, needed }.fmt(f)
            }
            Self::OpenedForCalls { calls, all, longest_ms } => write!(
                f,
                "{} of {} calls waited for a connection to open, up to {}; that is part of their latency",
                count(calls),
                count(all),
                time(longest_ms)
            ),
            Self::FeedUsedUp { ref feed } => {
                write!(f, "no visit started after the feed `{feed}` had no row left")
            }
            Self::Descriptors { connections } => {
                write!(f, "{connections} connections failed because no file descriptor was left (ulimit -n)")
            }
            Self::Ports { connections } => write!(
                f,
                "{connections} connections failed because no local port was left; more local addresses help \
                 (--myaddr)"
            ),
            Self::DatagramsLost { received, own, sent } => {
                // A server on this machine may have lost what was not for us.
                let elsewhere = if received > own { "on the way" } else { "at the server or on the way" };
                write!(
                    f,
                    "{} datagrams or more were lost in this machine's own buffers, not {elsewhere}: {received} that \
                     arrived ({own} of them for the generator), {sent} on their way out; larger buffers help \
                     (net.core.rmem_max and --recv-buffer)",
                    received + sent
                )
            }
            Self::TimeStolen { share } => {
                write!(f, "{} of the machine's time went to other virtual machines", percent(share))
            }
            Self::KeptWaiting { share, preempted } => write!(
                f,
                "a generator thread waited for a processor {} of the time and was preempted {preempted} times",
                percent(share)
            ),
            Self::Paused { share, longest_ms, times } => write!(
                f,
                "the generator was paused for {} of the time, {times} times, for up to {} ms: replies that came meanwhile \
                 were read late",
                percent(share),
                fixed(longest_ms, 1)
            ),
            Self::FewSamples { samples, quantile } => {
                let are = if samples == 1 { "sample is" } else { "samples are" };
                write!(f, "{samples} {are} too few for {} and above", quantile_name(quantile))
            }
            Self::Unfinished { calls, share, longest_s } => write!(
                f,
                "{calls} calls ({}) were still unanswered when the run ended, the oldest after {} s: percentiles of \
                 answered calls leave them out; --drain lets them finish",
                percent(share),
                fixed(longest_s, 3)
            ),
            Self::CallsNotMade { calls, share, connections } => write!(
                f,
                "{calls} planned calls ({}) were never made: the server closed their connections early ({connections})",
                percent(share)
            ),
            Self::LogIncomplete { calls } => write!(f, "{calls} calls are missing from the call log"),
            Self::NotRecorded => f.write_str("--record=classic omits the figures that a verdict needs"),
            Self::NotResumed { asked, share } => write!(
                f,
                "{} of the handshakes were to resume a session, but {} did: the server gave no tickets, or took none",
                percent(asked),
                percent(share)
            ),
            Self::ServerStall { length_s, from_s } => write!(
                f,
                "the server stalled for {} s, {} s into the run: replies were due, but nothing came",
                fixed(length_s, 2),
                fixed(from_s, 2)
            ),
            Self::SteadyFrom { seconds } => write!(
                f,
                "the run was steady after {} s; --warmup would exclude the time before that from the figures",
                fixed(seconds, 0)
            ),
            Self::NeverSteady => f.write_str("latency never became steady during the measured phase"),
            Self::AtRank { rank, ref finding } => write!(f, "rank {rank}: {finding}"),
            Self::RanksMissing { ranks, size } => write!(
                f,
                "the results of {ranks} of {size} ranks are missing: {} of the load is not in the figures",
                percent(ratio(f64::from(ranks), f64::from(size)))
            ),
        }
    }
}

/// The section `Verdict`, starting with an empty line.
#[must_use]
pub fn verdict_section(verdict: &Verdict) -> impl Display + '_ {
    Section { verdict }
}

struct Section<'a> {
    verdict: &'a Verdict,
}

impl Display for Section<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nVerdict: {}", self.verdict.level)?;
        for reason in &self.verdict.reasons {
            let word = match reason.level {
                Level::Valid => "note",
                Level::Suspect => "suspect",
                Level::Invalid => "invalid",
            };
            writeln!(f, "  {word:<8} {:<16} {}", reason.finding.name(), reason.finding)?;
        }
        Ok(())
    }
}
