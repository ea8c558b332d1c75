//! The clock of another rank, estimated from round trips.
//!
//! A ping leaves at `sent`, the other answers with its time, the answer is here at `received`. The other's clock was read
//! at some instant between, so its offset is known to half the round trip. Of several, the shortest round trip says most
//! (D. Mills, RFC 5905, section 10).

use std::time::Duration;

use crate::wire::Time;

/// The number of round trips of a measurement.
pub(crate) const ROUNDS: u32 = 16;

/// The clock of another rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockOffset {
    /// The clock of the other's run less the own, in nanoseconds. Two machines have different origins.
    pub clock_ns: i64,
    /// The other's clock on the wall less the own, in nanoseconds.
    pub wall_ns: i64,
    /// The bound on the error of both.
    pub uncertainty: Duration,
}

impl ClockOffset {
    /// Converts an instant of the own clock to the other's.
    #[must_use]
    pub fn to_other(&self, own: Duration) -> Duration {
        shifted(own, self.clock_ns)
    }

    /// Converts an instant of the other's clock to the own.
    #[must_use]
    pub fn to_own(&self, other: Duration) -> Duration {
        shifted(other, self.clock_ns.saturating_neg())
    }
}

fn shifted(time: Duration, by_ns: i64) -> Duration {
    let by = Duration::from_nanos(by_ns.unsigned_abs());
    if by_ns < 0 { time.saturating_sub(by) } else { time.saturating_add(by) }
}

/// A measurement under way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measurement {
    /// The round trip that is awaited, and its beginning.
    sent: Option<(u32, Time)>,
    taken: u32,
    best: Option<ClockOffset>,
    longest: Duration,
}

impl Measurement {
    /// Takes note that a ping leaves now. Returns its number.
    pub(crate) fn send(&mut self, now: Time) -> u32 {
        self.sent = Some((self.taken, now));
        self.taken
    }

    /// Takes the answer to a ping, which has arrived now. Returns false if that ping was not awaited.
    pub(crate) fn receive(&mut self, number: u32, theirs: Time, now: Time) -> bool {
        let Some((_, sent)) = self.sent.take_if(|(awaited, _)| *awaited == number) else { return false };
        self.taken += 1;
        let round_trip = now.clock.saturating_sub(sent.clock);
        self.longest = self.longest.max(round_trip);
        let uncertainty = half(round_trip);
        if self.best.is_none_or(|best| uncertainty < best.uncertainty) {
            let clock_ns = difference(theirs.clock, sent.clock + round_trip / 2);
            let wall_ns = difference(theirs.wall, sent.wall + round_trip / 2);
            self.best = Some(ClockOffset { clock_ns, wall_ns, uncertainty });
        }
        true
    }

    /// The offset and the longest round trip, once there were enough of them.
    pub(crate) fn result(&self) -> Option<(ClockOffset, Duration)> {
        self.best.filter(|_| self.taken >= ROUNDS).map(|best| (best, self.longest))
    }
}

/// Half of a round trip, rounded up: a bound must not be too small.
fn half(round_trip: Duration) -> Duration {
    (round_trip + Duration::from_nanos(1)) / 2
}

/// `a − b` in nanoseconds.
fn difference(a: Duration, b: Duration) -> i64 {
    let nanos = |duration: Duration| i128::try_from(duration.as_nanos()).unwrap_or(i128::MAX);
    i64::try_from(nanos(a) - nanos(b)).unwrap_or(if a > b { i64::MAX } else { i64::MIN })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn time(nanos: u64) -> Time {
        let clock = Duration::from_nanos(nanos);
        Time { clock, wall: clock + Duration::from_secs(1_000_000) }
    }

    proptest! {
        #[test]
        fn the_offset_is_found_within_its_uncertainty(
            offset in -1_000_000_000_i64..1_000_000_000,
            trips in prop::collection::vec((0_u64..5_000_000, 0_u64..5_000_000), ROUNDS as usize),
        ) {
            let mut measurement = Measurement::default();
            let mut now = 10_000_000_000_u64;
            for (there, back) in trips {
                prop_assert_eq!(measurement.result(), None);
                let number = measurement.send(time(now));
                let theirs = time((now + there).checked_add_signed(offset).unwrap_or_default());
                now += there + back;
                prop_assert!(measurement.receive(number, theirs, time(now)));
            }
            let (found, longest) = measurement.result().expect("there were enough");
            prop_assert!(found.clock_ns.abs_diff(offset) <= found.uncertainty.as_nanos() as u64);
            prop_assert!(found.wall_ns.abs_diff(offset) <= found.uncertainty.as_nanos() as u64);
            prop_assert!(found.uncertainty <= half(longest));
            let there = found.to_other(Duration::from_secs(20));
            prop_assert_eq!(found.to_own(there), Duration::from_secs(20));
        }
    }

    #[test]
    fn only_the_ping_that_is_under_way_is_answered() {
        let mut measurement = Measurement::default();
        let number = measurement.send(time(5));
        assert!(!measurement.receive(number + 1, time(6), time(7)));
        assert!(measurement.receive(number, time(6), time(7)));
        assert!(!measurement.receive(number, time(6), time(8)), "it was answered already");
    }
}
