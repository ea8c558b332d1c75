//! What a worker tells whoever watches the run. Nothing is told that the plan's `watch` does not ask for,
//! warnings aside.

use std::time::Duration;

use httperf_proto::ReplySize;
use httperf_stats::{Instant, Interval, Sample, TickRates};

/// Watches a run. The worker waits for it, so whatever takes time is for another thread to do.
pub trait Observer {
    /// Something happened.
    fn observe(&mut self, what: Observation<'_>);

    /// How many calls it was told of and could not keep. Asked when the run ends.
    fn calls_not_logged(&self) -> u64 {
        0
    }

    /// The worker has ended and will not tell of anything more, while others may go on. Not told where there is one.
    fn ended(&mut self) {}
}

/// Something that happened. `call` is the serial number of a call, counted from 0 in order of creation.
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
        /// The bytes; how a body is divided into pieces means nothing.
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
        /// Whether the workload has sessions.
        sessions: bool,
    },
    /// A call has ended.
    Call {
        /// The call.
        sample: &'a Sample<'a>,
        /// When the run began.
        start: Instant,
    },
    /// An interval of the series has ended, some time ago if the worker was late. Always told.
    Interval {
        /// What happened in it.
        interval: &'a Interval,
    },
    /// A second has passed.
    Second {
        /// Since the start of the run.
        elapsed: Duration,
        /// Status lines of 200 in this second.
        ok: u64,
        /// Status lines of 302 in this second.
        found: u64,
    },
    /// An arrival was drawn: seconds to the one after it.
    ArrivalDelay {
        /// Seconds.
        delay: f64,
    },
    /// A connection that completed a call is gone.
    Lifetime {
        /// From its connect to its end.
        lifetime: Duration,
    },
    /// The first line of a reply was no status line. Always told.
    BadStatusLine {
        /// The line.
        line: &'a [u8],
    },
    /// The first connection failed for a reason outside the known classes. Told once per worker.
    UnexpectedError {
        /// The system's error number.
        errno: i32,
    },
    /// A proxy refused a tunnel for the first time. Told once per worker.
    TunnelRefused {
        /// The status of its reply; 599 stands for a line that is no status line.
        status: u16,
    },
    /// The first reply that could not be understood. Told once per worker.
    ProtocolError {
        /// What was wrong with it.
        error: &'a httperf_proto::ProtocolError,
    },
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn observe(&mut self, _: Observation<'_>) {}
}
