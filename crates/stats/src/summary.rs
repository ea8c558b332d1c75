//! All that a run measured.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::merge_slowest;
use crate::{
    Compressed, Errors, Groups, Http2Summary, KernelFigures, Lifetimes, Mismatches, Outcome, Pauses,
    RateSamples, RateWindows, ReceiveFigures, Series, SlowCall, Stall, Throughput, Timing, TlsSummary, Usage,
    Window,
};

/// All that a run measured. With the plan, it is all that a report needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// How long the measured phase was: from just after its first arrivals were started to the end of the run, or of
    /// the time for which it was to be offered load.
    #[serde(rename = "duration_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub duration: Duration,
    /// What happened inside the measured phase. `None` in results from before it was counted.
    #[serde(default)]
    pub window: Option<Window>,
    /// Connections for which a socket was made and a connect initiated.
    pub connections: u64,
    /// Requests written completely. One that went out behind the last reply of a connection, where the server processes
    /// nothing, and was made again counts once; any other counts each time it was written.
    pub requests: u64,
    /// Complete replies to requests that are not among those, as the server answered before it had the whole request and
    /// the rest was not sent.
    #[serde(default)]
    pub answered_early: u64,
    /// Complete replies of status 100 to 599.
    pub replies: u64,
    /// Most connections alive at once. Of several workers or machines it is the sum of what each had at most, which is
    /// no less than there were.
    pub concurrent_max: u64,
    /// Most connects initiated in one turn of a worker's loop, the last turn left out.
    pub connect_burst_max: u64,
    /// From connect to close, of connections that completed at least one call.
    pub lifetimes: Lifetimes,
    /// From connect to established.
    pub connect: Timing,
    /// From the first byte of a request to the status line of its reply.
    pub response: Timing,
    /// How long calls took, by [`Outcome`] in the order of its variants.
    #[serde(with = "crate::call::by_outcome")]
    #[schemars(with = "Vec<Clocks>")]
    pub calls: [Clocks; Outcome::ALL.len()],
    /// From the instants at which completed calls were due to the first bytes of their requests.
    pub wait: Timing,
    /// From the instants at which scheduled arrivals were due, or pauses of a session or a connection were over, to the
    /// work on them: the generator's own error. For arrivals that found no room, from when there was room.
    pub lag: Timing,
    /// Times in which the generator should have run and did not.
    #[serde(default)]
    pub pauses: Pauses,
    /// How long replies lay in this machine before they were read: its error at the other end.
    #[serde(default)]
    pub receive: ReceiveFigures,
    /// Service as the kernel saw it, of the calls about which it was asked, if the plan wants that.
    #[serde(default)]
    pub kernel: Option<Box<KernelFigures>>,
    /// From status lines to the ends of their replies.
    pub transfer: Timing,
    /// Bytes of requests written completely.
    pub request_bytes: u64,
    /// Bytes of the header blocks of complete replies.
    pub header_bytes: u64,
    /// Bytes of their bodies.
    pub content_bytes: u64,
    /// Bytes of their trailers.
    pub footer_bytes: u64,
    /// Complete replies by class: 1xx to 5xx.
    pub statuses: [u64; 5],
    /// Complete replies that are not what was expected.
    #[serde(default)]
    pub mismatches: Mismatches,
    /// Bodies of complete replies that came compressed, as far as they were looked at.
    #[serde(default)]
    pub compressed: Compressed,
    /// Replies per second at the sampling instants.
    pub reply_rates: RateSamples,
    /// The replies of each generator from the beginning of its measured phase to the end, window by window; of
    /// several, `reply_rates` follows from them. Empty in older documents.
    #[serde(default)]
    pub reply_windows: RateWindows,
    /// What it took from the machine, and the machine from it.
    pub usage: Usage,
    /// Failed connections.
    pub errors: Errors,
    /// Figures of a session workload.
    pub sessions: Option<SessionSummary>,
    /// What TLS did, if the plan asked for it.
    pub tls: Option<Box<TlsSummary>>,
    /// What HTTP/2 did, if the plan asked for it.
    #[serde(default)]
    pub http2: Option<Box<Http2Summary>>,
    /// Status lines of exactly 200, and of exactly 302.
    pub periodic: (u64, u64),
    /// Connections of a connection workload that the server closed, as announced, before their last call.
    pub closed_early: u64,
    /// The calls that were not made for that reason.
    pub calls_not_offered: u64,
    /// Arrivals skipped because too many connections were open.
    pub arrivals_skipped: u64,
    /// Sessions given up after too many retries in a row.
    pub retries_exhausted: u64,
    /// How the arrivals kept to their schedule.
    pub arrivals: ArrivalFigures,
    /// For how long calls had been due that were neither answered nor given up when the run ended: less than they would
    /// have taken. Arrivals that were due and had not begun are among them, each as one call.
    pub unfinished: Timing,
    /// The longest time in which replies or TLS handshakes were due and nothing came; of several workers, the part of it that all of them
    /// heard nothing in.
    pub stall: Option<Stall>,
    /// What was offered before it was measured, if anything was.
    pub warmup: Option<WarmUp>,
    /// The whole run, interval by interval.
    pub series: Series,
    /// The slowest calls, the slowest first.
    pub slowest: Vec<SlowCall>,
    /// Calls told apart, if the plan asked for it.
    pub groups: Option<Groups>,
    /// Calls of which an observer was to be told and could not be.
    pub calls_not_logged: u64,
}

/// How arrivals kept to their schedule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArrivalFigures {
    /// How many were due, on a schedule.
    pub due: u64,
    /// How many of them were started.
    pub started: u64,
    /// How many of them had to wait for room among the connections that may be open.
    pub held: u64,
    /// How many of those due still waited for room when the run ended. They are among the unfinished calls.
    #[serde(default)]
    pub waiting: u64,
    /// When the first of those started was due, since the start of the run.
    #[serde(default, rename = "first_due_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub first_due: Duration,
    /// When it was started, less its wait for room.
    #[serde(default, rename = "first_started_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub first_started: Duration,
    /// From the first to the last of those started, as they were due.
    #[serde(rename = "span_due_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub span_due: Duration,
    /// From the first to the last of those started, as they were started, less their waits for room.
    #[serde(rename = "span_started_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub span_started: Duration,
    /// The intervals between them, as they were due. Each worker has those between its own.
    pub intervals_due: Timing,
    /// The intervals between them, as they were started, less their waits for room. Each worker has those between its own.
    pub intervals_started: Timing,
}

impl ArrivalFigures {
    fn merge(&mut self, other: &Self) {
        let (own, their) = (self.spans(), other.spans());
        (self.first_due, self.span_due) = joined(own.map(|own| own[0]), their.map(|their| their[0]));
        (self.first_started, self.span_started) = joined(own.map(|own| own[1]), their.map(|their| their[1]));
        self.due += other.due;
        self.started += other.started;
        self.held += other.held;
        self.waiting += other.waiting;
        self.intervals_due.merge(&other.intervals_due);
        self.intervals_started.merge(&other.intervals_started);
    }

    /// Beginning and length of the time in which arrivals were due, and in which they were started; `None` if none
    /// were.
    fn spans(&self) -> Option<[(Duration, Duration); 2]> {
        let spans = [(self.first_due, self.span_due), (self.first_started, self.span_started)];
        (self.started > 0).then_some(spans)
    }
}

/// Beginning and length of the time that two times side by side cover together.
fn joined(own: Option<(Duration, Duration)>, their: Option<(Duration, Duration)>) -> (Duration, Duration) {
    let (Some(own), Some(their)) = (own, their) else { return own.or(their).unwrap_or_default() };
    let from = own.0.min(their.0);
    (from, (own.0 + own.1).max(their.0 + their.1) - from)
}

/// What was offered before it was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WarmUp {
    /// How long.
    #[serde(rename = "duration_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub duration: Duration,
    /// Connections initiated.
    pub connections: u64,
    /// Requests sent.
    pub requests: u64,
    /// Complete replies.
    pub replies: u64,
    /// Connections that failed.
    pub errors: Errors,
}

impl WarmUp {
    fn merge(&mut self, other: &Self) {
        self.duration = self.duration.max(other.duration);
        self.connections += other.connections;
        self.requests += other.requests;
        self.replies += other.replies;
        self.errors.merge(&other.errors);
    }
}

/// The two clocks of a call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clocks {
    /// From the instant at which the call was due to its end: what a user who arrives on schedule waits. Free of
    /// coordinated omission.
    pub latency: Timing,
    /// From the first byte of its request to its end: what the server is asked to account for.
    pub service: Timing,
}

/// Figures of a session workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionSummary {
    /// Completed sessions per second at the sampling instants.
    pub rates: RateSamples,
    /// The completed sessions of each generator, window by window, as `reply_windows`.
    #[serde(default)]
    pub windows: RateWindows,
    /// Sessions whose every call was answered to satisfaction.
    pub completed: u64,
    /// Sessions that failed.
    pub failed: u64,
    /// Connections established by completed sessions.
    pub connections: u64,
    /// Lifetimes of completed sessions, added up.
    #[serde(rename = "lifetime_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub lifetime: Duration,
    /// Lifetimes of failed sessions, added up.
    #[serde(rename = "failtime_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub failtime: Duration,
    /// From the instants at which completed sessions were due to their ends.
    pub latency: Timing,
    /// From their beginnings to their ends.
    pub service: Timing,
    /// From the instants at which failed sessions were due to their ends.
    pub failed_latency: Timing,
    /// For how long sessions had been due that had not ended, or not begun, when the run did.
    #[serde(default)]
    pub unfinished: Timing,
    /// Sessions, completed or failed, by the number of complete replies they received.
    pub lengths: BTreeMap<u64, u64>,
}

impl SessionSummary {
    /// `durations`: how long both measured phases were.
    fn merge(&mut self, other: &Self, durations: [Duration; 2]) {
        self.windows = self.windows.or_of(&self.rates, self.completed, durations[0]);
        self.windows.merge(&other.windows.or_of(&other.rates, other.completed, durations[1]));
        self.rates = self.windows.samples();
        self.completed += other.completed;
        self.failed += other.failed;
        self.connections += other.connections;
        self.lifetime += other.lifetime;
        self.failtime += other.failtime;
        self.latency.merge(&other.latency);
        self.service.merge(&other.service);
        self.failed_latency.merge(&other.failed_latency);
        self.unfinished.merge(&other.unfinished);
        for (&length, count) in &other.lengths {
            *self.lengths.entry(length).or_default() += count;
        }
    }
}

/// What a reader of the figures should know about how they came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// TLS handshakes failed.
    HandshakesFailed {
        /// How many.
        handshakes: u64,
        /// The commonest reason.
        reason: String,
    },
    /// TLS ended established connections.
    TlsErrors {
        /// How many connections.
        connections: u64,
        /// The commonest reason.
        reason: String,
    },
    /// Replies ended with their connection, and nobody vouched for their end.
    Truncated {
        /// How many.
        replies: u64,
    },
    /// The server broke the rules of HTTP/2, or went beyond a limit.
    Http2Violations {
        /// Connections that ended for it.
        connections: u64,
        /// The commonest reason.
        reason: String,
    },
    /// The server reset streams whose calls it had begun to work on.
    StreamsReset {
        /// How many.
        streams: u64,
        /// The commonest code.
        code: String,
    },
    /// Most calls waited for one of the streams that the server allows.
    StreamsScarce {
        /// How many waited.
        calls: u64,
        /// Of how many.
        streams: u64,
        /// How many streams the server allows at once on a connection, if it said so.
        allowed: Option<u32>,
    },
    /// The server ended connections before the workload did.
    ClosedEarly {
        /// Connections it ended.
        connections: u64,
        /// Calls not made for that reason.
        calls: u64,
    },
    /// The cap on open connections held arrivals back.
    ArrivalsSkipped {
        /// How many.
        arrivals: u64,
    },
    /// Sessions gave up retrying.
    RetriesExhausted {
        /// How many.
        sessions: u64,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HandshakesFailed { handshakes, reason } => {
                write!(f, "{handshakes} TLS handshakes failed, the most frequent reason: {reason}")
            }
            Self::TlsErrors { connections, reason } => {
                write!(f, "TLS ended {connections} connections, the most frequent reason: {reason}")
            }
            Self::Truncated { replies } => write!(
                f,
                "{replies} replies ended with their connection but without a TLS close_notify; they count as failed"
            ),
            Self::Http2Violations { connections, reason } => write!(
                f,
                "{connections} connections ended because the server broke the rules of HTTP/2 or went beyond a limit, the \
                 most frequent reason: {reason}"
            ),
            Self::StreamsReset { streams, code } => {
                write!(f, "the server reset {streams} streams, the most frequent code: {code}")
            }
            Self::StreamsScarce { calls, streams, allowed } => {
                write!(f, "{calls} of {streams} calls waited for a stream, as the server allows ")?;
                match allowed {
                    Some(count) => write!(f, "{count} at once on a connection")?,
                    None => f.write_str("only so many at once on a connection")?,
                }
                f.write_str("; the wait is part of their latency")
            }
            Self::ClosedEarly { connections, calls } => write!(
                f,
                "the server closed {connections} connections before their last call; {calls} calls were not made"
            ),
            Self::ArrivalsSkipped { arrivals } => {
                write!(f, "{arrivals} arrivals were skipped because --max-connections were open")
            }
            Self::RetriesExhausted { sessions } => write!(
                f,
                "{sessions} sessions failed because a call did not succeed after the last of its retries"
            ),
        }
    }
}

impl Summary {
    /// Looks whether it is one that a run can have, as far as reports rely on it.
    ///
    /// # Errors
    /// The field that is wrong, what was expected there, and what there is.
    pub fn check(&self) -> Result<(), String> {
        self.series.check().map_err(|wrong| format!("series.{wrong}"))?;
        if let Some(sessions) = &self.sessions
            && let Some((&longest, _)) = sessions.lengths.last_key_value()
        {
            let replies = self.replies + self.warmup.map_or(0, |warmup| warmup.replies);
            if longest > replies {
                return Err(format!(
                    "sessions.lengths: expected sessions of at most {replies} replies, which is all, got one of {longest}"
                ));
            }
        }
        Ok(())
    }

    /// How long calls with this outcome took.
    #[must_use]
    pub fn calls_with(&self, outcome: Outcome) -> &Clocks {
        &self.calls[outcome as usize]
    }

    /// How long calls with a reply took, whatever its status, unless it was unexpected.
    #[must_use]
    pub fn completed(&self) -> Clocks {
        let mut all = self.calls_with(Outcome::Success).clone();
        let errors = self.calls_with(Outcome::HttpError);
        all.latency.merge(&errors.latency);
        all.service.merge(&errors.service);
        all
    }

    /// Adds what another worker of the same process measured in the same run. As [`Summary::merge`], but for what all
    /// workers see: what the process used is told by the one that measured longest, and a stall is what none of them
    /// heard anything in.
    pub fn merge_worker(&mut self, other: &Self, slowest_kept: usize) {
        let longest = if other.duration > self.duration { other } else { &*self };
        let Usage { cpu, stolen, processors, workers: _ } = longest.usage;
        let stall = self.stall.zip(other.stall).and_then(|(own, their)| own.shared_with(their));
        let mut reply_windows = std::mem::take(&mut self.reply_windows);
        let mut windows = self.sessions.as_mut().map(|sessions| std::mem::take(&mut sessions.windows));
        self.merge(other, slowest_kept);
        let usage = &mut self.usage;
        (usage.cpu, usage.stolen, usage.processors) = (cpu, stolen, processors);
        self.stall = stall;
        // Workers are sampled at the same instants.
        reply_windows.merge_worker(&other.reply_windows);
        self.reply_rates = reply_windows.samples();
        self.reply_windows = reply_windows;
        if let (Some(own), Some(their)) = (&mut self.sessions, &other.sessions) {
            let windows = windows.get_or_insert_default();
            windows.merge_worker(&their.windows);
            own.rates = windows.samples();
            own.windows = std::mem::take(windows);
        }
    }

    /// Adds what another part of the same run measured, on another machine. Counts and histograms add up exactly, in
    /// any order; times that parts spent side by side do not add up: the longest counts, or from the earliest beginning
    /// to the latest end. How many connections were open at once is the sum of what each part had at most, which is no
    /// less than it was; the longest burst of connects is that of a single worker. Of the slowest calls, `slowest_kept`
    /// stay.
    pub fn merge(&mut self, other: &Self, slowest_kept: usize) {
        // Results from before it was counted have their totals instead.
        let window = (self.window.is_some() || other.window.is_some()).then(|| {
            let mut both = self.in_window();
            both += other.in_window();
            both
        });
        self.window = window;
        let durations = [self.duration, other.duration];
        self.reply_windows = self.reply_windows.or_of(&self.reply_rates, self.replies, self.duration);
        self.reply_windows.merge(&other.reply_windows.or_of(
            &other.reply_rates,
            other.replies,
            other.duration,
        ));
        self.reply_rates = self.reply_windows.samples();
        self.duration = self.duration.max(other.duration);
        self.connections += other.connections;
        self.requests += other.requests;
        self.answered_early += other.answered_early;
        self.replies += other.replies;
        self.concurrent_max += other.concurrent_max;
        self.connect_burst_max = self.connect_burst_max.max(other.connect_burst_max);
        self.lifetimes.merge(&other.lifetimes);
        for (own, their) in self.calls.iter_mut().zip(&other.calls) {
            own.latency.merge(&their.latency);
            own.service.merge(&their.service);
        }
        for (own, their) in [
            (&mut self.connect, &other.connect),
            (&mut self.response, &other.response),
            (&mut self.transfer, &other.transfer),
            (&mut self.wait, &other.wait),
            (&mut self.lag, &other.lag),
            (&mut self.unfinished, &other.unfinished),
        ] {
            own.merge(their);
        }
        self.receive.merge(&other.receive);
        self.request_bytes += other.request_bytes;
        self.header_bytes += other.header_bytes;
        self.content_bytes += other.content_bytes;
        self.footer_bytes += other.footer_bytes;
        self.statuses.iter_mut().zip(other.statuses).for_each(|(own, their)| *own += their);
        self.mismatches.merge(&other.mismatches);
        self.compressed.merge(&other.compressed);
        self.usage.merge(&other.usage);
        self.pauses.merge(&other.pauses);
        self.errors.merge(&other.errors);
        merge_option(&mut self.sessions, other.sessions.as_ref(), |own, their| own.merge(their, durations));
        merge_option(&mut self.kernel, other.kernel.as_ref(), |own, their| own.merge(their));
        merge_option(&mut self.tls, other.tls.as_ref(), |own, their| own.merge(their));
        merge_option(&mut self.http2, other.http2.as_ref(), |own, their| own.merge(their));
        self.periodic.0 += other.periodic.0;
        self.periodic.1 += other.periodic.1;
        self.closed_early += other.closed_early;
        self.calls_not_offered += other.calls_not_offered;
        self.arrivals_skipped += other.arrivals_skipped;
        self.retries_exhausted += other.retries_exhausted;
        self.arrivals.merge(&other.arrivals);
        self.stall = self.stall.max(other.stall);
        merge_option(&mut self.warmup, other.warmup.as_ref(), WarmUp::merge);
        self.series.merge(&other.series);
        merge_slowest(&mut self.slowest, &other.slowest, slowest_kept);
        merge_option(&mut self.groups, other.groups.as_ref(), Groups::merge);
        self.calls_not_logged += other.calls_not_logged;
    }

    /// What happened inside the measured phase; of a result from before that was counted, its totals.
    #[must_use]
    pub fn in_window(&self) -> Window {
        self.window.unwrap_or_else(|| self.totals())
    }

    /// Throughput: what happened inside the measured phase, per second of it.
    #[must_use]
    pub fn throughput(&self) -> Throughput {
        Throughput::of(&self.in_window(), self.duration)
    }

    /// All that has happened so far with what was due in the measured phase.
    pub(crate) fn totals(&self) -> Window {
        Window {
            connections: self.connections,
            requests: self.requests,
            replies: self.replies,
            sessions: self.sessions.as_ref().map_or(0, |sessions| sessions.completed),
            request_bytes: self.request_bytes,
            reply_bytes: self.header_bytes + self.content_bytes,
        }
    }

    /// What a reader of the figures should know, most important first.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if let Some(tls) = &self.tls {
            if let Some((reason, _)) = tls.failures.by_frequency().first() {
                warnings.push(Warning::HandshakesFailed {
                    handshakes: tls.failed(),
                    reason: (*reason).to_owned(),
                });
            }
            if let Some((reason, _)) = tls.errors.by_frequency().first() {
                warnings.push(Warning::TlsErrors {
                    connections: tls.errors.total(),
                    reason: (*reason).to_owned(),
                });
            }
            if tls.truncated > 0 {
                warnings.push(Warning::Truncated { replies: tls.truncated });
            }
        }
        if let Some(http2) = &self.http2 {
            warnings.extend(http2.warnings());
        }
        if self.arrivals_skipped > 0 {
            warnings.push(Warning::ArrivalsSkipped { arrivals: self.arrivals_skipped });
        }
        if self.closed_early > 0 {
            warnings
                .push(Warning::ClosedEarly { connections: self.closed_early, calls: self.calls_not_offered });
        }
        if self.retries_exhausted > 0 {
            warnings.push(Warning::RetriesExhausted { sessions: self.retries_exhausted });
        }
        warnings
    }
}

fn merge_option<T: Clone>(own: &mut Option<T>, their: Option<&T>, merge: impl FnOnce(&mut T, &T)) {
    match (own, their) {
        (Some(own), Some(their)) => merge(own, their),
        (own @ None, Some(their)) => *own = Some(their.clone()),
        (_, None) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CpuTime, ThreadUsage};

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// What a worker measured in so many milliseconds, by the end of which the process had used half of them.
    fn worker(duration: u64) -> Summary {
        let cpu = CpuTime { user: ms(duration / 2), system: Duration::ZERO };
        let own = ThreadUsage { cpu: CpuTime { user: ms(duration / 4), ..cpu }, ..ThreadUsage::default() };
        Summary {
            duration: ms(duration),
            usage: Usage { cpu, workers: vec![own], stolen: ms(duration / 10), processors: 4 },
            ..Summary::default()
        }
    }

    #[test]
    fn the_process_is_counted_once_however_many_workers_it_has() {
        for order in [[400, 1000, 800], [1000, 400, 800], [800, 400, 1000]] {
            let mut whole = worker(order[0]);
            order[1..].iter().for_each(|&duration| whole.merge_worker(&worker(duration), 0));
            assert_eq!(whole.duration, ms(1000));
            assert_eq!(
                (whole.usage.cpu.user, whole.usage.stolen, whole.usage.processors),
                (ms(500), ms(100), 4)
            );
            let own: Vec<Duration> = whole.usage.workers.iter().map(|worker| worker.cpu.user).collect();
            assert_eq!(own, [100, 200, 250].map(ms), "{order:?}");
        }
    }

    #[test]
    fn machines_add_up() {
        let mut whole = worker(1000);
        whole.merge(&worker(800), 0);
        assert_eq!((whole.usage.cpu.user, whole.usage.processors), (ms(900), 8));
    }

    #[test]
    fn a_stall_is_one_of_all_workers() {
        let with = |stall: Option<(u64, u64)>| Summary {
            stall: stall.map(|(from, to)| Stall { from: ms(from), length: ms(to - from) }),
            ..Summary::default()
        };
        let both = |own, their| {
            let mut whole = with(own);
            whole.merge_worker(&with(their), 0);
            whole.stall.map(|stall| (stall.from, stall.from + stall.length))
        };
        assert_eq!(both(Some((100, 900)), Some((200, 1000))), Some((ms(200), ms(900))));
        assert_eq!(both(Some((100, 300)), Some((400, 1000))), None);
        assert_eq!(both(Some((100, 300)), None), None);
    }

    #[test]
    fn arrivals_last_from_the_first_of_any_worker_to_the_last_of_any() {
        let arrivals = |started, first: u64, last: u64| ArrivalFigures {
            started,
            first_due: ms(first),
            span_due: ms(last - first),
            first_started: ms(first + 1),
            span_started: ms(last - first + 5),
            ..ArrivalFigures::default()
        };
        let (one, two, idle) = (arrivals(10, 100, 900), arrivals(10, 200, 1000), arrivals(0, 0, 0));
        for order in [[&one, &two, &idle], [&idle, &two, &one], [&two, &idle, &one]] {
            let mut whole = ArrivalFigures::default();
            order.iter().for_each(|part| whole.merge(part));
            assert_eq!((whole.started, whole.first_due, whole.span_due), (20, ms(100), ms(900)));
            assert_eq!((whole.first_started, whole.span_started), (ms(101), ms(905)));
        }
    }
}
