//! All that a run measured.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::{Errors, Lifetimes, RateMoments, Timing, TlsSummary};

/// All that a run measured. With the plan, it is all that a report needs.
#[derive(Clone, Debug)]
pub struct Summary {
    /// From just after the first arrivals were started to the end of the run.
    pub duration: Duration,
    /// Connections for which a socket was made and a connect initiated.
    pub connections: u64,
    /// Requests written completely, each time they were.
    pub requests: u64,
    /// Complete replies of status 100 to 599.
    pub replies: u64,
    /// Most connections alive at once.
    pub concurrent_max: u64,
    /// Most connects initiated in one turn of the loop, the last turn left out.
    pub connect_burst_max: u64,
    /// From connect to close, of connections that completed at least one call.
    pub lifetimes: Lifetimes,
    /// From connect to established.
    pub connect: Timing,
    /// From the first byte of a request to the status line of its reply.
    pub response: Timing,
    /// How long calls took, by [`Outcome`] in the order of its variants.
    pub calls: [Clocks; Outcome::ALL.len()],
    /// From the instants at which completed calls were due to the first bytes of their requests.
    pub wait: Timing,
    /// From the instants at which scheduled arrivals were due to the work on them: the generator's own error.
    pub lag: Timing,
    /// From status lines to the ends of their replies, added up.
    pub transfer: Duration,
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
    /// Replies per second at the sampling instants.
    pub reply_rates: RateMoments,
    /// Processor time of the run.
    pub cpu: CpuTime,
    /// Failed connections.
    pub errors: Errors,
    /// Figures of a session workload.
    pub sessions: Option<SessionSummary>,
    /// What TLS did, if the plan asked for it.
    pub tls: Option<Box<TlsSummary>>,
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
}

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A reply of status 399 or below.
    Success,
    /// A reply of status 400 or above.
    HttpError,
    /// No reply.
    Failure,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Success, Self::HttpError, Self::Failure];
}

/// The two clocks of a call.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    /// From the instant at which the call was due to its end: what a user who arrives on schedule waits. Free of
    /// coordinated omission.
    pub latency: Timing,
    /// From the first byte of its request to its end: what the server is asked to account for.
    pub service: Timing,
}

/// Figures of a session workload.
#[derive(Clone, Debug)]
pub struct SessionSummary {
    /// Completed sessions per second at the sampling instants.
    pub rates: RateMoments,
    /// Sessions whose every call was answered to satisfaction.
    pub completed: u64,
    /// Sessions that failed.
    pub failed: u64,
    /// Connections established by completed sessions.
    pub connections: u64,
    /// Lifetimes of completed sessions, added up.
    pub lifetime: Duration,
    /// Lifetimes of failed sessions, added up.
    pub failtime: Duration,
    /// From the instants at which completed sessions were due to their ends.
    pub latency: Timing,
    /// Sessions, completed or failed, by the number of complete replies they received.
    pub lengths: BTreeMap<u64, u64>,
}

/// Processor time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// Spent in this program.
    pub user: Duration,
    /// Spent in the kernel on its behalf.
    pub system: Duration,
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
    /// How long calls with this outcome took.
    #[must_use]
    pub fn calls_with(&self, outcome: Outcome) -> &Clocks {
        &self.calls[outcome as usize]
    }

    /// How long calls with a reply took, whatever its status.
    #[must_use]
    pub fn completed(&self) -> Clocks {
        let mut all = self.calls_with(Outcome::Success).clone();
        let errors = self.calls_with(Outcome::HttpError);
        all.latency.merge(&errors.latency);
        all.service.merge(&errors.service);
        all
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
