//! Stamps of requests and replies by the server's clock, to compare with those of a client.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// One request and its reply. Instants are readings of `CLOCK_MONOTONIC`, which all processes of a machine share.
///
/// They are exact for requests that follow one another on their connection, but not for pipelined ones and those on
/// several streams at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The request target.
    pub target: String,
    /// The instant of the last read before the reply.
    pub received: Duration,
    /// The instant just before the first byte of the reply was handed to the system.
    pub handed: Duration,
}

/// Reads the clock of a [`Stamp`].
pub(crate) fn now() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::from_secs(now.tv_sec.unsigned_abs()) + Duration::from_nanos(now.tv_nsec.unsigned_abs())
}

/// The times of an event of a stream, in nanoseconds of Unix time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Departure {
    /// The instant at which it is handed over.
    pub(crate) sent_ns: u64,
    /// The instant of the schedule.
    pub(crate) due_ns: u64,
}

/// Reads the clock of a [`Departure`] together with the monotonic one. Of a few attempts, that counts in which the
/// readings were closest: an interruption between them would shift every instant of a schedule.
pub(crate) fn both_clocks() -> (Instant, u64) {
    let attempt = || {
        let (before, unix_ns, after) = (Instant::now(), unix_ns(), Instant::now());
        (after - before, before + (after - before) / 2, unix_ns)
    };
    let attempts = [attempt(), attempt(), attempt()];
    let (_, instant, unix_ns) = attempts.into_iter().min().expect("there are attempts");
    (instant, unix_ns)
}

/// Reads the clock of a [`Departure`].
pub(crate) fn unix_ns() -> u64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}
