//! The observations that a worker reports during a run: warnings, and those that the plan's `watch` requests.

use std::time::Duration;

use httperf_load::scenario::Judgement;
use httperf_plan::scenario::Value;
use httperf_proto::ReplySize;
use httperf_stats::{Fate, Instant, Interval, Sample, TickRates};

/// A receiver of observations. The worker waits for it, so slow work belongs on another thread.
pub trait Observer {
    /// Handles an observation.
    fn observe(&mut self, what: Observation<'_>);

    /// Returns the number of calls observed but not logged. Called at the end of the run.
    fn calls_not_logged(&self) -> u64 {
        0
    }

    /// Handles the end of this worker while others may continue. Not called if there is only one.
    fn ended(&mut self) {}
}

/// An observation. `call` is the number of a call, from 0 in order of creation.
#[derive(Clone, Copy, Debug)]
pub enum Observation<'a> {
    /// A request was sent: its header block and its body.
    Request {
        /// The call.
        call: u64,
        /// Request line, header lines and the empty line.
        head: &'a [u8],
        /// The body.
        contents: &'a [u8],
    },
    /// The header block of a reply arrived.
    ReplyHead {
        /// The call.
        call: u64,
        /// Status line, header lines and the empty line.
        head: &'a [u8],
    },
    /// A piece of a reply's body arrived.
    ReplyBody {
        /// The call.
        call: u64,
        /// The bytes. The division into pieces is arbitrary.
        data: &'a [u8],
    },
    /// An event of a stream arrived.
    StreamEvent {
        /// The call.
        call: u64,
        /// The instant at which its last byte arrived.
        at: Instant,
        /// Its data.
        data: &'a [u8],
    },
    /// A reply is complete.
    ReplyDone {
        /// The call.
        call: u64,
        /// Its sizes.
        size: ReplySize,
    },
    /// A URI was taken from a list or a working set.
    Accessing {
        /// The request target.
        uri: &'a [u8],
    },
    /// An object of a page is fetched.
    Fetching {
        /// The request target.
        uri: &'a [u8],
    },
    /// An object of a page lies on another server and is not fetched.
    Ignoring {
        /// The reference as it stands in the page.
        uri: &'a [u8],
    },
    /// A rate sample was taken.
    Rates {
        /// The rates.
        rates: TickRates,
        /// True if the workload has sessions.
        sessions: bool,
    },
    /// A call has ended.
    Call {
        /// The call.
        sample: &'a Sample<'a>,
        /// The start of the run.
        start: Instant,
    },
    /// A reply to a step of a scenario was judged.
    Step(&'a StepSeen<'a>),
    /// A visit of a scenario has ended.
    Visit {
        /// Its number, from 0.
        visit: u64,
        /// The number of its scenario.
        scenario: u32,
        /// The way in which it ended.
        fate: Fate,
    },
    /// An interval of the series has ended, some time ago if the worker was late. Always reported.
    Interval {
        /// The interval's figures.
        interval: &'a Interval,
    },
    /// A second has passed.
    Second {
        /// The time since the start of the run.
        elapsed: Duration,
        /// The number of replies of status 200 in this second.
        ok: u64,
        /// The number of replies of status 302 in this second.
        found: u64,
    },
    /// An arrival was drawn.
    ArrivalDelay {
        /// The interval to the next arrival, in seconds.
        delay: f64,
    },
    /// A connection that completed a call has ended.
    Lifetime {
        /// The time from its connect to its end.
        lifetime: Duration,
    },
    /// The first line of a reply was not a status line. Always reported.
    BadStatusLine {
        /// The line.
        line: &'a [u8],
    },
    /// A connection failed for a reason outside the known classes. Reported once per worker.
    UnexpectedError {
        /// The system's error number.
        errno: i32,
    },
    /// A reply is a stream that may never end, in a run whose length nothing bounds. Reported once per worker.
    UnboundedStream,
    /// A proxy refused a tunnel. Reported once per worker.
    TunnelRefused {
        /// The status of its reply; 599 for a malformed status line.
        status: u16,
    },
    /// A reply was malformed. Reported once per worker.
    ProtocolError {
        /// The error.
        error: &'a httperf_proto::ProtocolError,
    },
}

/// A step of a scenario with the judgement of its reply.
#[derive(Clone, Copy, Debug)]
pub struct StepSeen<'a> {
    /// The number of the visit, from 0.
    pub visit: u64,
    /// The number of its scenario.
    pub scenario: u32,
    /// The place of the request in the plan.
    pub request: u32,
    /// The method and the request target that were sent.
    pub sent: (&'a [u8], &'a [u8]),
    /// The status of the reply.
    pub status: u16,
    /// The time from the first byte of the request to the end of the reply.
    pub duration: Duration,
    /// The judgement; `None` of a redirect that is followed.
    pub judgement: Option<Judgement>,
    /// The checks that failed, by their places.
    pub failed_checks: &'a [usize],
    /// The values that were there instead: of the capture that found no value, if one did, then of each failed check.
    pub reasons: &'a [String],
    /// The values of the visit's variables, by slot, with the captures of this reply.
    pub values: &'a [Option<Value>],
}

/// An observer that ignores all observations.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn observe(&mut self, _: Observation<'_>) {}
}
