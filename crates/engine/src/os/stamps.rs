//! The kernel's time stamps as instants of the run's clock.
//!
//! The kernel stamps received segments by the wall clock, whereas a run uses the monotonic clock. Both are read once a
//! millisecond, one right after the other. As long as the wall clock is not set, their difference is constant, since their
//! rates are corrected alike.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use httperf_stats::Instant;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::time::{ClockId, clock_gettime};

use super::now;
use crate::{Received, SentStamp};

/// The change of the clocks' difference above which the wall clock was set.
const STEP: Duration = Duration::from_millis(1);

/// The time between two comparisons of the clocks. If the wall clock is set, stamps may be wrong for so long.
const COMPARED_EVERY: Duration = Duration::from_millis(1);

/// The time between two measurements of the clocks' difference.
const MEASURED_EVERY: Duration = Duration::from_secs(1);

/// The lead by which a stamp in the future counts as current: the clocks are not read at exactly the same time.
const FUTURE_MAX: Duration = Duration::from_micros(5);

/// The number of readings for a measurement of the clocks' difference. Those with the shortest pause in between count.
const READINGS: u32 = 8;

/// The receiver of stamps from sockets that request them ([`httperf_sys::stamp_received`]).
pub(super) struct Stamps {
    /// A socket that requests stamps and receives nothing. The kernel stamps as long as there is such a socket;
    /// starting and ending this with each connection would cost more than the stamps.
    _switch: OwnedFd,
    clocks: Clocks,
    /// The instant from which the clocks are to be compared again.
    compare_at: Instant,
}

impl Stamps {
    /// Enables the kernel's stamps; returns `None` if it does not support them.
    pub(super) fn new() -> Option<Self> {
        let socket =
            rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)
                .ok()?;
        httperf_sys::stamp_received(&socket).ok()?;
        Some(Self { _switch: socket, clocks: Clocks::new(read_both()), compare_at: Instant::default() })
    }

    /// Handles a reading of the run's clock.
    #[inline]
    pub(super) fn handle_now(&mut self, now: Instant) {
        self.clocks.now = now;
        if now >= self.compare_at {
            self.compare_at = now + COMPARED_EVERY;
            self.clocks.compare(Readings { now, wall: wall_clock() }, read_both);
        }
    }

    /// Reads from a socket, or discards its data.
    pub(super) fn receive(
        &mut self,
        socket: &OwnedFd,
        buffer: &mut [u8],
        discards: bool,
    ) -> io::Result<Received> {
        let received = httperf_sys::receive(socket, buffer, discards)?;
        let stamp = received.stamp.and_then(|stamp| self.instant(stamp));
        Ok(Received { count: received.count, stamp })
    }

    /// Converts a stamp of the kernel, since the Unix epoch, to the run's clock; `None` if that is impossible.
    pub(super) fn instant(&mut self, stamp: Duration) -> Option<Instant> {
        self.clocks.instant(stamp, now)
    }

    /// Returns the oldest stamp of bytes that a socket has sent.
    pub(super) fn take_sent(&mut self, socket: &OwnedFd) -> Option<SentStamp> {
        let sent = httperf_sys::take_sent(socket).ok()?;
        Some(SentStamp { last_byte: sent.last_byte, at: self.clocks.instant(sent.stamp, now) })
    }

    /// Returns how often the wall clock was set.
    pub(super) fn clock_steps(&self) -> u64 {
        self.clocks.steps
    }
}

/// A reading of both clocks at the same time.
#[derive(Clone, Copy, Debug)]
struct Readings {
    now: Instant,
    /// Nanoseconds since the Unix epoch.
    wall: i64,
}

impl Readings {
    /// Returns the lead of the wall clock in nanoseconds.
    fn distance(self) -> i64 {
        self.wall.wrapping_sub(self.now.as_nanos().cast_signed())
    }
}

/// Returns a time since the Unix epoch in nanoseconds, which fit until the year 2262.
fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// Returns the wall-clock time in nanoseconds since the Unix epoch.
fn wall_clock() -> i64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Reads both clocks with the shortest possible pause in between: the wall clock between two readings of the other.
fn read_both() -> Readings {
    let readings = (0..READINGS).map(|_| {
        let before = now();
        let wall = wall_clock();
        let pause = now() - before;
        (pause, Readings { now: before + pause / 2, wall })
    });
    let closest = readings.min_by_key(|&(pause, _)| pause);
    closest.expect("the clocks are read more than once").1
}

/// The state of the two clocks.
#[derive(Debug)]
struct Clocks {
    /// The last reading of the run's clock.
    now: Instant,
    /// The lead of the wall clock in nanoseconds, and the instant of its measurement.
    distance: i64,
    measured: Instant,
    /// The instant at which the wall clock was last set. Earlier stamps cannot be converted to the run's clock.
    known_since: Instant,
    steps: u64,
}

impl Clocks {
    fn new(readings: Readings) -> Self {
        let (now, distance) = (readings.now, readings.distance());
        Self { now, distance, measured: now, known_since: now, steps: 0 }
    }

    /// Handles a reading of both clocks, the wall clock last. `measure` reads them more precisely.
    fn compare(&mut self, readings: Readings, measure: impl FnOnce() -> Readings) {
        let is_due = readings.now - self.measured >= MEASURED_EVERY;
        if !is_due && !self.is_step(readings) {
            return;
        }
        // An apparent step may have been a pause between the two readings.
        let readings = measure();
        if self.is_step(readings) {
            *self = Self { steps: self.steps + 1, ..Self::new(readings) };
        } else {
            (self.distance, self.measured) = (readings.distance(), readings.now);
        }
    }

    fn is_step(&self, readings: Readings) -> bool {
        let moved = readings.distance().saturating_sub(self.distance);
        u128::from(moved.unsigned_abs()) >= STEP.as_nanos()
    }

    /// Converts a stamp to the run's clock; `None` if that is unknown or impossible. `fresh` reads that clock.
    fn instant(&mut self, wall: Duration, fresh: impl FnOnce() -> Instant) -> Option<Instant> {
        let at = u64::try_from(nanos(wall).checked_sub(self.distance)?).ok().map(Instant::from_nanos)?;
        if at < self.known_since {
            return None;
        }
        if at > self.now {
            // The segment arrived in the course of this turn.
            self.now = fresh();
        }
        (at <= self.now + FUTURE_MAX).then_some(at.min(self.now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;
    /// The initial lead of the wall clock.
    const AHEAD: u64 = 1_700_000_000 * SECOND;

    /// Returns readings at this time of the run, with the wall clock set by the given amount.
    fn at(nanos: u64, set_by: i64) -> Readings {
        let wall = AHEAD.strict_add_signed(set_by) + nanos;
        Readings { now: Instant::from_nanos(nanos), wall: wall.cast_signed() }
    }

    /// Compares the clocks at this time, with a pause before the reading of the wall clock that makes it seem ahead.
    fn compare(clocks: &mut Clocks, nanos: u64, set_by: i64, pause: i64) {
        clocks.now = Instant::from_nanos(nanos);
        let readings = Readings { wall: at(nanos, set_by + pause).wall, ..at(nanos, 0) };
        clocks.compare(readings, || at(nanos + pause.unsigned_abs(), set_by));
    }

    /// Converts a stamp made at this time of the run to the run's clock.
    fn stamped(clocks: &mut Clocks, nanos: u64, set_by: i64, fresh: u64) -> Option<u64> {
        let wall = Duration::from_nanos(at(nanos, set_by).wall.cast_unsigned());
        clocks.instant(wall, || Instant::from_nanos(fresh)).map(Instant::as_nanos)
    }

    #[test]
    fn a_stamp_is_told_in_the_runs_time() {
        let mut clocks = Clocks::new(at(5 * SECOND, 0));
        compare(&mut clocks, 9 * SECOND, 0, 0);
        assert_eq!(stamped(&mut clocks, 8 * SECOND + 7, 0, 9 * SECOND), Some(8 * SECOND + 7));
        assert_eq!(stamped(&mut clocks, 4 * SECOND, 0, 9 * SECOND), None, "from before it was known");
    }

    #[test]
    fn what_came_in_the_course_of_a_turn_is_told_and_what_has_not_come_yet_is_not() {
        let mut clocks = Clocks::new(at(5 * SECOND, 0));
        compare(&mut clocks, 9 * SECOND, 0, 0);
        assert_eq!(
            stamped(&mut clocks, 9 * SECOND + 50_000, 0, 9 * SECOND + 60_000),
            Some(9 * SECOND + 50_000)
        );
        // A few microseconds are the error of the clocks' readings.
        assert_eq!(
            stamped(&mut clocks, 9 * SECOND + 64_000, 0, 9 * SECOND + 60_000),
            Some(9 * SECOND + 60_000)
        );
        assert_eq!(stamped(&mut clocks, 9 * SECOND + 66_000, 0, 9 * SECOND + 60_000), None);
    }

    #[test]
    fn a_pause_between_two_readings_is_no_step_and_moves_no_stamp() {
        let mut clocks = Clocks::new(at(5 * SECOND, 0));
        for (second, pause) in [(6, 900_000), (7, 0), (8, 30_000_000), (9, 500_000)] {
            compare(&mut clocks, second * SECOND, 0, pause);
            compare(&mut clocks, second * SECOND + SECOND / 2, 0, 0);
        }
        assert_eq!(clocks.steps, 0);
        assert_eq!(stamped(&mut clocks, 9 * SECOND, 0, 10 * SECOND), Some(9 * SECOND));
    }

    #[test]
    fn each_time_the_wall_clock_is_set_is_counted_and_older_stamps_are_not_told() {
        for set_by in [3_600_000_000_000, -3_600_000_000_000, 2_000_000, -2_000_000] {
            let mut clocks = Clocks::new(at(5 * SECOND, 0));
            compare(&mut clocks, 9 * SECOND, set_by, 0);
            assert_eq!(clocks.steps, 1, "{set_by}");
            // A stamp made just before that, by the clock as it was.
            assert_eq!(stamped(&mut clocks, 9 * SECOND - 100_000, 0, 9 * SECOND), None, "{set_by}");
            let after = 9 * SECOND + 200_000;
            compare(&mut clocks, after, set_by, 0);
            assert_eq!(stamped(&mut clocks, after - 50_000, set_by, after), Some(after - 50_000), "{set_by}");
            compare(&mut clocks, 10 * SECOND, 0, 0);
            assert_eq!(clocks.steps, 2, "{set_by}");
        }
    }

    #[test]
    fn the_clocks_of_this_machine_are_compared_without_a_step() {
        let Some(mut stamps) = Stamps::new() else { return };
        for _ in 0..1000 {
            stamps.compare_at = Instant::default();
            stamps.handle_now(now());
        }
        assert_eq!(stamps.clock_steps(), 0);
        let (stamp, fresh) = (Duration::from_nanos(wall_clock().cast_unsigned()), now());
        let at = stamps.clocks.instant(stamp, now).expect("it is now");
        assert!(at <= fresh + FUTURE_MAX && fresh - at < Duration::from_secs(10), "{at:?} {fresh:?}");
    }
}
