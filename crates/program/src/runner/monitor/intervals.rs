//! The intervals of a run, put together from those of its workers. Time is an argument.

use std::time::{Duration, Instant};

use httperf_stats::{Interval, Merge as _, Phase};

use crate::runner::gather::{Gathered, Gathering, Part};

/// The time for which the others wait for a worker that is late with an interval. What it tells later is in the report
/// alone.
const LATE: Duration = Duration::from_secs(2);

/// The place of an interval in the run: all workers have the same.
type Place = (Phase, Duration);

/// Adds up what all workers did in the same interval.
#[derive(Debug)]
pub(super) struct Intervals(Gathering<Place, Interval>);

impl Part for Interval {
    fn add(&mut self, other: Self) {
        self.merge(&other);
    }
}

impl Intervals {
    /// The intervals of this many workers, before any of them has reported one.
    pub(super) fn new(workers: usize) -> Self {
        Self(Gathering::impatient(workers, LATE))
    }

    /// Takes a worker's part of an interval, which has arrived now.
    pub(super) fn add(&mut self, worker: usize, part: Interval, now: Instant) {
        self.0.add(worker, (part.phase, part.from), part, now);
    }

    /// Takes note that a worker will tell no more.
    pub(super) fn end(&mut self, worker: usize) {
        self.0.end(worker);
    }

    /// The next interval, unless it waits for somebody.
    pub(super) fn next(&mut self, now: Instant) -> Option<Gathered<Interval>> {
        self.0.next(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second with this many replies.
    fn second(number: u64, replies: u64) -> Interval {
        let from = Duration::from_secs(number);
        Interval { from, length: Duration::from_secs(1), replies, ..Interval::default() }
    }

    /// Returns the seconds that can be handed on now: start, replies, and whether all workers have reported.
    fn next_of(intervals: &mut Intervals, now: Instant) -> Vec<(u64, u64, bool)> {
        std::iter::from_fn(|| intervals.next(now))
            .map(|gathered| match gathered {
                Gathered::Whole(sum) => (sum.from.as_secs(), sum.replies, true),
                Gathered::Partial(sum) => (sum.from.as_secs(), sum.replies, false),
            })
            .collect()
    }

    #[test]
    fn an_interval_is_handed_on_when_all_have_told_their_parts() {
        let (mut intervals, now) = (Intervals::new(3), Instant::now());
        for (worker, number, replies) in [(0, 0, 1), (0, 1, 10), (2, 0, 2), (2, 1, 20), (1, 0, 4)] {
            assert_eq!(next_of(&mut intervals, now), []);
            intervals.add(worker, second(number, replies), now);
        }
        assert_eq!(next_of(&mut intervals, now), [(0, 7, true)]);
        intervals.add(1, second(1, 40), now);
        assert_eq!(next_of(&mut intervals, now), [(1, 70, true)]);
    }

    #[test]
    fn nobody_waits_for_a_worker_that_has_ended() {
        let (mut intervals, now) = (Intervals::new(2), Instant::now());
        intervals.add(0, second(0, 1), now);
        intervals.add(1, second(0, 2), now);
        intervals.add(1, second(1, 20), now);
        assert_eq!(next_of(&mut intervals, now), [(0, 3, true)]);
        intervals.end(0);
        assert_eq!(next_of(&mut intervals, now), [(1, 20, true)]);
    }

    #[test]
    fn a_late_worker_is_waited_for_and_not_for_ever() {
        let (mut intervals, now) = (Intervals::new(2), Instant::now());
        intervals.add(0, second(0, 1), now);
        assert_eq!(next_of(&mut intervals, now + LATE / 2), []);
        assert_eq!(next_of(&mut intervals, now + LATE), [(0, 1, false)]);
        intervals.add(1, second(0, 2), now + LATE);
        intervals.add(0, second(1, 10), now + LATE);
        intervals.add(1, second(1, 20), now + LATE);
        assert_eq!(
            next_of(&mut intervals, now + LATE),
            [(1, 30, true)],
            "the late part is counted elsewhere"
        );
    }

    #[test]
    fn a_part_that_was_lost_on_the_way_holds_nobody_up() {
        let (mut intervals, now) = (Intervals::new(2), Instant::now());
        intervals.add(0, second(0, 1), now);
        intervals.add(0, second(1, 10), now);
        intervals.add(1, second(1, 20), now);
        assert_eq!(next_of(&mut intervals, now), [(0, 1, false), (1, 30, true)]);
    }

    #[test]
    fn the_last_intervals_of_phases_are_not_confused() {
        let (mut intervals, now) = (Intervals::new(2), Instant::now());
        let at = |phase, from, length| Interval {
            phase,
            from: Duration::from_millis(from),
            length: Duration::from_millis(length),
            replies: 1,
            ..Interval::default()
        };
        let all = [at(Phase::WarmUp, 0, 500), at(Phase::Measured, 500, 1000), at(Phase::Drain, 1500, 40)];
        for worker in 0..2 {
            all.iter().for_each(|interval| intervals.add(worker, interval.clone(), now));
        }
        for expected in all {
            let Some(Gathered::Whole(sum)) = intervals.next(now) else { panic!("{expected:?} is missing") };
            assert_eq!((sum.phase, sum.from, sum.length), (expected.phase, expected.from, expected.length));
            assert_eq!(sum.replies, 2);
        }
    }
}
