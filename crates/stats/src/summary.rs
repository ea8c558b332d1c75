//! Everything that a run measured.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::merge_slowest;
use crate::in_flight::both_known;
use crate::merge::{Merge, merge_fields};
use crate::{
    CallOutcome, Compressed, DurationMoments, Errors, Failure, FailureCauses, Groups, GrpcSummary,
    Http2Summary, InFlight, Instant, KernelFigures, Lifetimes, Mismatches, Pauses, RateSamples, RateWindows,
    ReceiveFigures, ReplayFigures, Series, SlowCall, Stall, StatusCodes, StreamSummary, Throughput, Timing,
    TlsSummary, Usage, Visits, WebSocketSummary, Window,
};

/// Everything that a run measured. A report needs only this and the plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Length of the measured phase: from just after its first arrivals were started to the end of the run,
    /// or of the time in which load was to be offered.
    #[serde(rename = "duration_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub duration: Duration,
    /// Events inside the measured phase. `None` in results from versions that did not count them.
    #[serde(default)]
    pub window: Option<Window>,
    /// Connections for which a socket was made and a connect initiated.
    pub connections: u64,
    /// Requests written completely. A request that followed the last reply of a connection, which the server
    /// does not process, and was made again counts once; any other request counts each time it was written.
    pub requests: u64,
    /// Complete replies to requests not counted in `requests`: the server answered before it had the whole
    /// request, and the rest was not sent.
    #[serde(default)]
    pub answered_early: u64,
    /// Complete replies of status 100 to 999.
    pub replies: u64,
    /// Maximum number of open connections. Of several workers or machines, the sum of their maxima, an upper
    /// bound.
    pub concurrent_max: u64,
    /// Maximum number of connects initiated in one turn of a worker's loop, not counting the last turn.
    pub connect_burst_max: u64,
    /// From connect to close, of connections that completed at least one call.
    pub lifetimes: Lifetimes,
    /// From connect to established.
    pub connect: Timing,
    /// From the first byte of a request to the status line of its reply.
    pub response: Timing,
    /// Durations of calls, by [`CallOutcome`] in the order of its variants.
    #[serde(with = "crate::call::by_outcome")]
    #[schemars(with = "Vec<Clocks>")]
    pub calls: [Clocks; CallOutcome::ALL.len()],
    /// From the instants at which completed calls were due to the first bytes sent.
    pub wait: Timing,
    /// Lag, the generator's own error: from the instants at which scheduled arrivals were due, or pauses of a
    /// session or a connection ended, to the start of the work. For arrivals that found no room, from when
    /// there was room.
    pub lag: Timing,
    /// Periods in which the generator was ready to run but did not.
    #[serde(default)]
    pub pauses: Pauses,
    /// Receive lag: the generator's error at the other end of a call.
    #[serde(default)]
    pub receive: ReceiveFigures,
    /// Service times by the kernel's clock, if the plan requests them for some calls.
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
    /// Complete replies by status code. Empty in results from versions that did not count them.
    #[serde(default)]
    pub status_codes: StatusCodes,
    /// Complete replies that failed a check.
    #[serde(default)]
    pub mismatches: Mismatches,
    /// Compressed bodies of complete replies, as far as they were decompressed.
    #[serde(default)]
    pub compressed: Compressed,
    /// Replies per second at the sampling instants.
    pub reply_rates: RateSamples,
    /// Replies of each generator over the whole of its measured phase, window by window; if there are
    /// several, `reply_rates` follows from them. Empty in older documents.
    #[serde(default)]
    pub reply_windows: RateWindows,
    /// Resources used, and processor time lost to others.
    pub usage: Usage,
    /// Failed connections.
    pub errors: Errors,
    /// The same by cause. Empty in results from versions that did not count them.
    #[serde(default, skip_serializing_if = "FailureCauses::is_empty")]
    pub causes: FailureCauses,
    /// Figures of a session workload.
    pub sessions: Option<SessionSummary>,
    /// TLS, if the plan uses it.
    pub tls: Option<Box<TlsSummary>>,
    /// HTTP/2, if the plan uses it.
    #[serde(default)]
    pub http2: Option<Box<Http2Summary>>,
    /// Status lines with status 200 and with status 302.
    pub periodic: (u64, u64),
    /// Connections of a connection workload that the server closed, as announced, before their last call.
    pub closed_early: u64,
    /// Calls not made for that reason.
    pub calls_not_offered: u64,
    /// Arrivals skipped because too many connections were open.
    pub arrivals_skipped: u64,
    /// Sessions that failed after too many retries in a row.
    pub retries_exhausted: u64,
    /// Adherence of arrivals to their schedule.
    pub arrivals: ArrivalFigures,
    /// Time since their due instants of calls neither answered nor given up when the run ended: less than
    /// they would have taken. Arrivals that were due but had not begun are included, each as one call.
    pub unfinished: Timing,
    /// Replies that were due at a time. `None` in results from versions that did not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<InFlight>,
    /// Longest period in which replies or TLS handshakes were due and nothing came; of several workers, the
    /// part of it common to all.
    pub stall: Option<Stall>,
    /// Load offered before the measured phase, if any.
    pub warmup: Option<WarmUp>,
    /// Time series of the whole run.
    pub series: Series,
    /// Slowest calls, slowest first.
    pub slowest: Vec<SlowCall>,
    /// Calls by group, if the plan requests it.
    pub groups: Option<Groups>,
    /// Visits of scenarios, if the workload has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visits: Option<Box<Visits>>,
    /// Replies that were read as event streams, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<Box<StreamSummary>>,
    /// Calls of gRPC by their status, if replies are read as such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grpc: Option<Box<GrpcSummary>>,
    /// WebSockets, if calls were to open any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub websockets: Option<Box<WebSocketSummary>>,
    /// Comparison with the recording, if the workload is a replay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Box<ReplayFigures>>,
    /// Calls that could not be reported to an observer.
    pub calls_not_logged: u64,
    /// True if a worker gave up, as the server did not speak the protocol of the run, HTTP/2 or TLS, on its
    /// first connections.
    #[serde(default)]
    pub gave_up: bool,
    /// Time from the planned start to the instant at which the last of the workers began.
    #[serde(default, rename = "begun_late_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub begun_late: Duration,
}

/// Adherence of arrivals to their schedule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArrivalFigures {
    /// Number of scheduled arrivals that were due.
    pub due: u64,
    /// Number of them that were started.
    pub started: u64,
    /// Number of them that had to wait for room among the connections that may be open.
    pub held: u64,
    /// Number of those due that still waited for room when the run ended. They count among the unfinished
    /// calls.
    #[serde(default)]
    pub waiting: u64,
    /// Their waits for room: of those that were held, and of those that still waited at the end.
    #[serde(default)]
    pub waits: Timing,
    /// Times for which arrivals kept their place that found at least three quarters of them free, where the plan bounds how
    /// many may go on at once: what the server takes while that bound delays nothing. Those of the warm-up count as well.
    #[serde(default)]
    pub light: DurationMoments,
    /// Waits of calls for a connection that was opened for them, from when they were due until it was established. They are
    /// part of the latency, and none of `waits`.
    #[serde(default)]
    pub opening: DurationMoments,
    /// Due instant of the first arrival started, since the start of the run.
    #[serde(default, rename = "first_due_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub first_due: Duration,
    /// Start of that arrival, minus its wait for room.
    #[serde(default, rename = "first_started_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub first_started: Duration,
    /// Time from the first to the last arrival started, by their due instants.
    #[serde(rename = "span_due_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub span_due: Duration,
    /// Time from the first to the last arrival started, by their starts, minus their waits for room.
    #[serde(rename = "span_started_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub span_started: Duration,
    /// Intervals between arrivals, by their due instants. Each worker has those between its own arrivals.
    pub intervals_due: Timing,
    /// Intervals between arrivals, by their starts, minus their waits for room. Each worker has those between
    /// its own arrivals.
    pub intervals_started: Timing,
}

merge_fields!(fn add_rest of ArrivalFigures {
    add: due, started, held, waiting, waits, light, opening, intervals_due, intervals_started;
    apart: first_due, span_due, first_started, span_started;
});

impl Merge for ArrivalFigures {
    fn merge(&mut self, other: &Self) {
        let (own, their) = (self.spans(), other.spans());
        (self.first_due, self.span_due) = joined(own.map(|own| own[0]), their.map(|their| their[0]));
        (self.first_started, self.span_started) = joined(own.map(|own| own[1]), their.map(|their| their[1]));
        self.add_rest(other);
    }
}

impl ArrivalFigures {
    /// Beginning and length of the period in which arrivals were due, and of that in which they were started;
    /// `None` if there were none.
    fn spans(&self) -> Option<[(Duration, Duration); 2]> {
        let spans = [(self.first_due, self.span_due), (self.first_started, self.span_started)];
        (self.started > 0).then_some(spans)
    }
}

/// Beginning and length of the smallest period that contains two parallel ones.
fn joined(own: Option<(Duration, Duration)>, their: Option<(Duration, Duration)>) -> (Duration, Duration) {
    let (Some(own), Some(their)) = (own, their) else { return own.or(their).unwrap_or_default() };
    let from = own.0.min(their.0);
    (from, (own.0 + own.1).max(their.0 + their.1) - from)
}

/// Load offered before the measured phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WarmUp {
    /// Length of the warm-up.
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

merge_fields!(WarmUp {
    max: duration;
    add: connections, requests, replies, errors;
});

/// Durations of calls by two clocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clocks {
    /// From the instant at which the call was due to its end: the wait of a user who arrives on schedule.
    /// Free of coordinated omission.
    pub latency: Timing,
    /// From the first byte sent to the end: the time for which the server is accountable.
    pub service: Timing,
}

impl Clocks {
    /// Adds the time from `due`, and from `sent` if anything was sent, to `at`.
    pub(crate) fn add(&mut self, due: Instant, sent: Option<Instant>, at: Instant) {
        self.latency.add(at - due);
        if let Some(sent) = sent {
            self.service.add(at - sent);
        }
    }
}

merge_fields!(Clocks {
    add: latency, service;
});

/// Figures of a session workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionSummary {
    /// Completed sessions per second at the sampling instants.
    pub rates: RateSamples,
    /// Completed sessions of each generator, window by window, like `reply_windows`.
    #[serde(default)]
    pub windows: RateWindows,
    /// Sessions whose every call was answered satisfactorily.
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
    /// From the beginnings of completed sessions to their ends.
    pub service: Timing,
    /// From the instants at which failed sessions were due to their ends.
    pub failed_latency: Timing,
    /// Time since their due instants of sessions that had not ended, or not begun, when the run did.
    #[serde(default)]
    pub unfinished: Timing,
    /// Sessions, completed or failed, by the number of complete replies they received.
    pub lengths: BTreeMap<u64, u64>,
}

merge_fields!(fn add_rest of SessionSummary {
    apart: rates, windows;
    add: completed, failed, connections;
    sum: lifetime, failtime;
    add: latency, service, failed_latency, unfinished, lengths;
});

impl SessionSummary {
    /// `durations`: lengths of the two measured phases.
    fn merge(&mut self, other: &Self, durations: [Duration; 2]) {
        self.windows = self.windows.or_of(&self.rates, self.completed, durations[0]);
        self.windows.merge(&other.windows.or_of(&other.rates, other.completed, durations[1]));
        self.rates = self.windows.samples();
        self.add_rest(other);
    }
}

/// Warning that a reader of the figures should see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// TLS handshakes failed.
    HandshakesFailed {
        /// Number of handshakes.
        handshakes: u64,
        /// Most frequent reason.
        reason: String,
    },
    /// TLS ended established connections.
    TlsErrors {
        /// Number of connections.
        connections: u64,
        /// Most frequent reason.
        reason: String,
    },
    /// Replies were delimited by the end of their connection, which no close_notify confirmed.
    Truncated {
        /// Number of replies.
        replies: u64,
    },
    /// The server violated HTTP/2 or HTTP/3, or exceeded a limit.
    Http2Violations {
        /// Connections that ended for this reason.
        connections: u64,
        /// Most frequent reason.
        reason: String,
        /// `HTTP/2`, `HTTP/3`, or both.
        protocol: &'static str,
    },
    /// The server reset streams of calls that it may have processed.
    StreamsReset {
        /// Number of streams.
        streams: u64,
        /// Most frequent error code.
        code: String,
    },
    /// The server ended connections by GOAWAY with an error.
    GoneAway {
        /// Number of connections.
        connections: u64,
        /// Most frequent error code.
        code: String,
    },
    /// This program reset streams whose replies broke rules or went beyond limits.
    RepliesRejected {
        /// Number of streams.
        streams: u64,
        /// Most frequent reason.
        reason: String,
        /// `HTTP/2`, `HTTP/3`, or both.
        protocol: &'static str,
    },
    /// Connections that were opened over QUIC because the server offered HTTP/3 did not reach it.
    OfferInVain {
        /// Number of connections.
        connections: u64,
        /// Most frequent reason.
        reason: String,
    },
    /// Most calls waited for one of the streams that the server allows.
    StreamsScarce {
        /// Calls that waited.
        calls: u64,
        /// All calls.
        streams: u64,
        /// Limit on concurrent streams per connection, if the server set one.
        allowed: Option<u32>,
    },
    /// Files of `--qlog` are incomplete.
    QlogsCut {
        /// Number of files.
        files: u64,
    },
    /// The server ended connections before the workload did.
    ClosedEarly {
        /// Number of connections.
        connections: u64,
        /// Calls not made for this reason.
        calls: u64,
    },
    /// Arrivals were skipped at the limit on open connections.
    ArrivalsSkipped {
        /// Number of arrivals.
        arrivals: u64,
    },
    /// Sessions failed after their last retry.
    RetriesExhausted {
        /// Number of sessions.
        sessions: u64,
    },
}

/// A number of things, such as `1 session` or `2 sessions`.
fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HandshakesFailed { handshakes, reason } => {
                let handshakes = counted(*handshakes, "TLS handshake");
                write!(f, "{handshakes} failed, the most frequent reason: {reason}")
            }
            Self::TlsErrors { connections, reason } => {
                let connections = counted(*connections, "connection");
                write!(f, "TLS ended {connections}, the most frequent reason: {reason}")
            }
            Self::Truncated { replies: 1 } => f.write_str(
                "1 reply ended with its connection but without a TLS close_notify; it counts as failed",
            ),
            Self::Truncated { replies } => write!(
                f,
                "{replies} replies ended with their connection but without a TLS close_notify; they count as failed"
            ),
            Self::Http2Violations { connections, reason, protocol } => write!(
                f,
                "{} ended because the server broke the rules of {protocol} or went beyond a limit, the most frequent \
                 reason: {reason}",
                counted(*connections, "connection")
            ),
            Self::StreamsReset { streams, code } => {
                let streams = counted(*streams, "stream");
                write!(f, "the server reset {streams}, the most frequent code: {code}")
            }
            Self::GoneAway { connections, code } => {
                let connections = counted(*connections, "connection");
                write!(f, "the server ended {connections} with an error, the most frequent code: {code}")
            }
            Self::RepliesRejected { streams, reason, protocol } => {
                let replies = if *streams == 1 { "1 reply".to_owned() } else { format!("{streams} replies") };
                write!(
                    f,
                    "{replies} broke a rule of {protocol} or went beyond a limit, so that httperf reset the stream, the most \
                     frequent reason: {reason}"
                )
            }
            Self::OfferInVain { connections, reason } => write!(
                f,
                "the server offered HTTP/3 (Alt-Svc), but {} did not reach it over QUIC, the most frequent reason: {reason}; \
                 later ones went over TCP",
                counted(*connections, "connection")
            ),
            Self::QlogsCut { files: 1 } => {
                f.write_str("--qlog: 1 file is incomplete: it could not be written, or reached 16 MiB")
            }
            Self::QlogsCut { files } => {
                write!(
                    f,
                    "--qlog: {files} files are incomplete: they could not be written, or reached 16 MiB"
                )
            }
            Self::StreamsScarce { calls, streams, allowed } => {
                write!(f, "{calls} of {streams} calls waited for a stream because the server allows ")?;
                match allowed {
                    Some(count) => write!(f, "{count} at once on a connection")?,
                    None => f.write_str("only a limited number at once on a connection")?,
                }
                f.write_str("; the wait is part of their latency")
            }
            Self::ClosedEarly { connections, calls } => write!(
                f,
                "the server closed {} before {} last call; {} not made",
                counted(*connections, "connection"),
                if *connections == 1 { "its" } else { "their" },
                if *calls == 1 { "1 call was".to_owned() } else { format!("{calls} calls were") }
            ),
            Self::ArrivalsSkipped { arrivals } => {
                let were = if *arrivals == 1 { "was" } else { "were" };
                write!(
                    f,
                    "{} {were} skipped because --max-connections were open",
                    counted(*arrivals, "arrival")
                )
            }
            Self::RetriesExhausted { sessions } => write!(
                f,
                "{} failed because a call did not succeed after the last of its retries",
                counted(*sessions, "session")
            ),
        }
    }
}

merge_fields!(fn add_rest of Summary {
    apart: window, reply_rates, reply_windows, sessions, slowest;
    both_known: in_flight;
    max: duration, connect_burst_max, stall, gave_up, begun_late;
    add: connections, requests, answered_early, replies, concurrent_max, lifetimes, connect, response, calls, wait, lag,
        pauses, receive, kernel, transfer, request_bytes, header_bytes, content_bytes, footer_bytes, statuses, status_codes,
        mismatches, compressed, usage, errors, causes, tls, http2, periodic, closed_early, calls_not_offered,
        arrivals_skipped, retries_exhausted, arrivals, unfinished, warmup, series, groups, visits, streams, grpc, websockets,
        replay, calls_not_logged;
});

impl Summary {
    /// Checks that the summary is one that a run can have, as far as reports rely on it.
    ///
    /// # Errors
    /// The field that is wrong, the value expected, and the value found.
    pub fn check(&self) -> Result<(), String> {
        self.series.check().map_err(|wrong| format!("series.{wrong}"))?;
        if let Some(sessions) = &self.sessions
            && let Some((&longest, _)) = sessions.lengths.last_key_value()
        {
            let replies = self.replies + self.warmup.map_or(0, |warmup| warmup.replies);
            if longest > replies {
                return Err(format!(
                    "sessions.lengths: expected sessions of at most {replies} replies, the total, got one of {longest}"
                ));
            }
        }
        Ok(())
    }

    /// The number of connections that were tried: those initiated, and those for which there was no descriptor.
    #[must_use]
    pub fn attempts(&self) -> u64 {
        let without_socket = [Failure::FdUnavailable, Failure::FileTableFull];
        self.connections + without_socket.into_iter().map(|failure| self.errors.count(failure)).sum::<u64>()
    }

    /// Durations of the calls with this outcome.
    #[must_use]
    pub fn calls_with(&self, outcome: CallOutcome) -> &Clocks {
        &self.calls[outcome as usize]
    }

    /// Durations of completed calls: those with a reply, whatever its status, that failed no check.
    #[must_use]
    pub fn completed(&self) -> Clocks {
        let mut all = self.calls_with(CallOutcome::Success).clone();
        let errors = self.calls_with(CallOutcome::HttpError);
        all.latency.merge(&errors.latency);
        all.service.merge(&errors.service);
        all
    }

    /// Adds what another worker of the same process measured in the same run. Works as [`Summary::merge_rank`],
    /// except for what all workers share: the usage of the process is that of the worker that measured longest.
    pub fn merge_worker(&mut self, other: &Self, slowest_kept: usize) {
        let longest = if other.duration > self.duration { other } else { &*self };
        let Usage { cpu, stolen, processors, udp, workers: _ } = longest.usage;
        self.merge_rank(other, slowest_kept);
        let usage = &mut self.usage;
        (usage.cpu, usage.stolen, usage.processors, usage.udp) = (cpu, stolen, processors, udp);
    }

    /// Adds what another process measured that carried out other shards of the same plan from the same start. Works as
    /// [`Summary::merge`], except for what follows from the common start: rates are sampled at the same instants, and
    /// a stall is a period in which nobody received anything.
    pub fn merge_rank(&mut self, other: &Self, slowest_kept: usize) {
        let stall = self.stall.zip(other.stall).and_then(|(own, their)| own.shared_with(their));
        let mut reply_windows = std::mem::take(&mut self.reply_windows);
        let mut windows = self.sessions.as_mut().map(|sessions| std::mem::take(&mut sessions.windows));
        self.merge(other, slowest_kept);
        self.stall = stall;
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

    /// Adds what another part of the same run measured, on another machine. Counts and histograms add up
    /// exactly, in any order. Parallel durations do not add up: the longest counts, or the time from the
    /// earliest beginning to the latest end. The maximum of open connections is the sum of the maxima, an
    /// upper bound; the longest burst of connects is that of a single worker. The `slowest_kept` slowest
    /// calls are kept.
    pub fn merge(&mut self, other: &Self, slowest_kept: usize) {
        // Results without a window contribute their totals.
        let window = (self.window.is_some() || other.window.is_some()).then(|| {
            let mut both = self.in_window();
            both.merge(&other.in_window());
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
        match (&mut self.sessions, &other.sessions) {
            (Some(own), Some(their)) => own.merge(their, durations),
            (own @ None, Some(their)) => *own = Some(their.clone()),
            (_, None) => {}
        }
        merge_slowest(&mut self.slowest, &other.slowest, slowest_kept);
        self.add_rest(other);
    }

    /// Events inside the measured phase; for results from versions that did not count them, the totals.
    #[must_use]
    pub fn in_window(&self) -> Window {
        self.window.unwrap_or_else(|| self.totals())
    }

    /// Throughput: events inside the measured phase, per second.
    #[must_use]
    pub fn throughput(&self) -> Throughput {
        Throughput::of(&self.in_window(), self.duration)
    }

    /// Totals of what was due in this phase.
    pub(crate) fn totals(&self) -> Window {
        let streams = self.streams.as_deref();
        Window {
            connections: self.connections,
            requests: self.requests,
            replies: self.replies + self.websockets.as_ref().map_or(0, |websockets| websockets.open_or_cut()),
            sessions: self.sessions.as_ref().map_or(0, |sessions| sessions.completed),
            request_bytes: self.request_bytes,
            reply_bytes: self.header_bytes + self.content_bytes,
            events: streams.map_or(0, |streams| streams.events),
            messages: self.websockets.as_ref().map_or(0, |websockets| websockets.received),
            output_tokens: streams
                .and_then(|streams| streams.model.as_ref())
                .map_or(0, |model| model.output_tokens),
        }
    }

    /// Warnings that a reader of the figures should see, most important first.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CpuTime, ThreadUsage, UdpLosses};

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Summary of a worker that measured for `duration` milliseconds; by then the process had used half of
    /// that time.
    fn worker(duration: u64) -> Summary {
        let cpu = CpuTime { user: ms(duration / 2), system: Duration::ZERO };
        let own = ThreadUsage { cpu: CpuTime { user: ms(duration / 4), ..cpu }, ..ThreadUsage::default() };
        Summary {
            duration: ms(duration),
            usage: Usage {
                cpu,
                workers: vec![own],
                stolen: ms(duration / 10),
                processors: 4,
                udp: UdpLosses { receive: duration, send: 1 },
            },
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
            assert_eq!(whole.usage.udp, UdpLosses { receive: 1000, send: 1 });
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
    fn a_stall_is_common_to_all_workers() {
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
    fn arrivals_span_from_the_first_of_any_worker_to_the_last_of_any() {
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

    #[test]
    fn a_warning_counts_one_thing_as_one() {
        for (warning, text) in [
            (
                Warning::ClosedEarly { connections: 1, calls: 1 },
                "the server closed 1 connection before its last call; 1 call was not made",
            ),
            (
                Warning::ClosedEarly { connections: 2, calls: 3 },
                "the server closed 2 connections before their last call; 3 calls were not made",
            ),
            (
                Warning::ArrivalsSkipped { arrivals: 1 },
                "1 arrival was skipped because --max-connections were open",
            ),
            (
                Warning::HandshakesFailed { handshakes: 1, reason: "reset".to_owned() },
                "1 TLS handshake failed, the most frequent reason: reset",
            ),
        ] {
            assert_eq!(warning.to_string(), text);
        }
    }
}
