//! The choice of reads that ask the kernel when bytes came, and of replies that wait to be read.
//!
//! *Late reading*: replies that nothing waits for are read when the worker wakes up for the next arrival.
//!
//! ```text
//!   arrival      reply 1     reply 2                 arrival
//!   ──┬────────────┬───────────┬───────────────────────┬──►
//!   write          └ stamp     └ stamp               write, read 1, read 2
//!                  (the kernel's: when it came)      (one wake-up instead of three)
//! ```
//!
//! A reply ends when the kernel received it, so reading it late changes no latency. The receive lag tells how late it was read.

use std::time::Duration;

use httperf_plan::{Assignment, HttpVersion, Plan, Workload};
use httperf_proto::ReplySize;

/// Replies in a row that the kernel has stamped before any is read late.
const STAMPED_BEFORE: u32 = 16;

/// The size of the largest reply that may wait, in bytes: it fits into what a server sends at first (RFC 6928), and leaves most of
/// a usual buffer free.
const WAITING_MAX: u64 = 14_600;

/// The time within which the parts of a reply come that may be read together: they then have one stamp.
const TRANSFER_MAX: Duration = Duration::from_micros(100);

/// The number of replies that are read at once after one whose parts came apart.
const REST: u32 = 1024;

/// The number of sleeps for the schedule among which one wakes for replies as well.
const PROBED_EVERY: u32 = 32;

/// The part of a receive buffer of a size of its own that a reply that waits may fill.
const BUFFER_SHARE: u64 = 4;

/// The mean number of reads among which one asks, where no latency depends on it.
const ASKED_EVERY: u32 = 16;

/// The choice of reads that ask the kernel when their last segment came, which costs a tenth of a microsecond.
#[derive(Debug)]
pub(super) struct Stamping {
    asked: Asked,
    /// Reads until the next that asks.
    left: u32,
    /// The state of a generator of numbers, so that no pattern of reads is asked always or never.
    state: u32,
}

/// The reads that ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    None,
    Sample,
    All,
}

impl Stamping {
    pub(super) fn new(plan: &Plan) -> Self {
        let is_sample = !plan.arrivals.is_scheduled()
            && !plan.times_by_kernel()
            && plan.recording.kernel_sends.is_none()
            && !plan.watch.calls;
        let asked = match plan.recording.detail {
            true if is_sample => Asked::Sample,
            true => Asked::All,
            false => Asked::None,
        };
        Self { asked, left: 0, state: 1 }
    }

    /// Returns whether the next read asks.
    #[inline]
    pub(super) fn asks(&mut self) -> bool {
        match (self.asked, self.left) {
            (Asked::All, _) => true,
            (Asked::None, _) => false,
            (Asked::Sample, 0) => {
                // Of a linear congruential generator (Numerical Recipes) the high bits: 0 to twice the mean.
                self.state = self.state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                self.left = (self.state >> 16) % (2 * ASKED_EVERY - 1);
                true
            }
            (Asked::Sample, left) => {
                self.left = left - 1;
                false
            }
        }
    }

    /// Notes a reply whose parts have times of their own: from now on each read asks.
    pub(super) fn note_stream(&mut self) {
        if self.asked == Asked::Sample {
            self.asked = Asked::All;
        }
    }
}

/// The state of late reading.
#[derive(Debug)]
pub(super) struct LateReading {
    /// The plan lets replies be read late.
    is_planned: bool,
    /// A reply has come that could not wait.
    is_over: bool,
    /// Replies until others may wait again, as the parts of one came apart.
    resting: u32,
    reply_max: u64,
    /// Replies that the kernel has stamped since the last that it has not.
    stamped: u32,
    /// Since no call was under way, a connection had several, so that one read might end more than one reply, or could not write
    /// all that it had.
    is_crowded: bool,
    /// Sleeps until the next after which replies are read at once.
    left: u32,
    /// The replies of this turn are read late.
    is_on: bool,
}

impl LateReading {
    pub(super) fn new(plan: &Plan) -> Self {
        let buffer = plan.sockets.recv_buffer.map_or(u64::MAX, |size| size as u64 / BUFFER_SHARE);
        Self {
            is_planned: plan.times_by_kernel()
                && matches!(&plan.workload, Workload::Calls(calls) if calls.assignment == Assignment::AnyFree)
                && plan.request.version != HttpVersion::Http3
                && !plan.learns_alt_svc()
                && !plan.spin,
            is_over: false,
            resting: 0,
            reply_max: WAITING_MAX.min(buffer),
            stamped: 0,
            is_crowded: false,
            left: PROBED_EVERY,
            is_on: false,
        }
    }

    /// Returns whether the replies to `calls` calls may wait.
    #[inline]
    pub(super) fn may_wait(&mut self, calls: usize) -> bool {
        self.is_crowded &= calls > 0;
        if !self.is_planned
            || self.is_over
            || self.resting > 0
            || self.is_crowded
            || self.stamped < STAMPED_BEFORE
        {
            return false;
        }
        // Whether the parts of replies come apart does not show where all are read at once.
        self.left = self.left.checked_sub(1).unwrap_or(PROBED_EVERY - 1);
        self.left > 0
    }

    /// Returns whether the plan lets replies be read late.
    #[inline]
    pub(super) fn is_planned(&self) -> bool {
        self.is_planned
    }

    /// A turn begins, in which replies are read late or not.
    #[inline]
    pub(super) fn begin_turn(&mut self, is_on: bool) {
        self.is_on = is_on;
    }

    /// Notes a complete reply, whose parts came within `transfer`. Returns whether it was read late.
    #[inline]
    pub(super) fn note_reply(&mut self, size: ReplySize, transfer: Duration, is_stamped: bool) -> bool {
        self.stamped = if is_stamped { self.stamped.saturating_add(1) } else { 0 };
        self.is_over |= size.header + size.content + size.footer > self.reply_max;
        self.resting = if transfer < TRANSFER_MAX { self.resting.saturating_sub(1) } else { REST };
        self.is_on
    }

    /// Notes that a connection has several calls, or cannot write all that it has.
    #[inline]
    pub(super) fn note_crowd(&mut self) {
        self.is_crowded = true;
    }

    /// Notes a reply whose parts have times of their own.
    pub(super) fn note_stream(&mut self) {
        self.is_over = true;
    }
}
