//! The intervals of a run, put together from those of its workers. Time is an argument.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use httperf_stats::{Interval, Phase};

/// How long the others wait for a worker that is late with an interval. What it tells later is in the report alone.
const LATE: Duration = Duration::from_secs(2);

/// Which interval: all workers have the same.
type Key = (Phase, Duration);

/// Adds up what all workers did in the same interval.
#[derive(Debug)]
pub(super) struct Assembly {
    workers: Vec<Worker>,
    /// Intervals of which something was told, the oldest first.
    waiting: VecDeque<Waiting>,
    /// The last that was handed on.
    handed_on: Option<Key>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Worker {
    /// The last interval it told of.
    told: Option<Key>,
    has_ended: bool,
}

#[derive(Debug)]
struct Waiting {
    sum: Interval,
    /// Whose parts it has.
    has: Vec<bool>,
    /// Since when it waits for the others.
    since: Instant,
}

/// An interval, as far as it was told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Assembled {
    /// All workers' parts together.
    Whole(Interval),
    /// A worker was too late with its part, or there was no room for it.
    Partial(Interval),
}

impl Assembly {
    /// Nothing has been told by so many workers.
    pub(super) fn new(workers: usize) -> Self {
        Self { workers: vec![Worker::default(); workers], waiting: VecDeque::new(), handed_on: None }
    }

    /// Takes a worker's part of an interval, which has arrived now.
    pub(super) fn add(&mut self, worker: usize, part: Interval, now: Instant) {
        let key = key_of(&part);
        self.workers[worker].told = Some(key);
        if self.handed_on.is_some_and(|last| key <= last) {
            return;
        }
        let place = self.waiting.binary_search_by_key(&key, |waiting| key_of(&waiting.sum));
        let index = match place {
            Ok(index) => {
                self.waiting[index].sum.merge(&part);
                index
            }
            Err(index) => {
                let has = vec![false; self.workers.len()];
                self.waiting.insert(index, Waiting { sum: part, has, since: now });
                index
            }
        };
        self.waiting[index].has[worker] = true;
    }

    /// A worker will tell no more.
    pub(super) fn end(&mut self, worker: usize) {
        self.workers[worker].has_ended = true;
    }

    /// The next interval, unless it waits for somebody.
    pub(super) fn next(&mut self, now: Instant) -> Option<Assembled> {
        let first = self.waiting.front()?;
        let key = key_of(&first.sum);
        let is_late = now.saturating_duration_since(first.since) >= LATE;
        let mut lacks = false;
        for (worker, &has) in self.workers.iter().zip(&first.has) {
            // Who has told of a later one has missed this one.
            let has_missed = !has && worker.told.is_some_and(|told| told > key);
            if !has && !has_missed && !worker.has_ended && !is_late {
                return None;
            }
            lacks |= has_missed || !has && !worker.has_ended;
        }
        self.handed_on = Some(key);
        let sum = self.waiting.pop_front()?.sum;
        Some(if lacks { Assembled::Partial(sum) } else { Assembled::Whole(sum) })
    }
}

fn key_of(interval: &Interval) -> Key {
    (interval.phase, interval.from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second in which so many replies came.
    fn second(number: u64, replies: u64) -> Interval {
        let from = Duration::from_secs(number);
        Interval { from, length: Duration::from_secs(1), replies, ..Interval::default() }
    }

    /// What can be handed on now: its second, its replies, and whether it is whole.
    fn next_of(assembly: &mut Assembly, now: Instant) -> Vec<(u64, u64, bool)> {
        std::iter::from_fn(|| assembly.next(now))
            .map(|assembled| match assembled {
                Assembled::Whole(sum) => (sum.from.as_secs(), sum.replies, true),
                Assembled::Partial(sum) => (sum.from.as_secs(), sum.replies, false),
            })
            .collect()
    }

    #[test]
    fn an_interval_is_handed_on_when_all_have_told_their_parts() {
        let (mut assembly, now) = (Assembly::new(3), Instant::now());
        for (worker, number, replies) in [(0, 0, 1), (0, 1, 10), (2, 0, 2), (2, 1, 20), (1, 0, 4)] {
            assert_eq!(next_of(&mut assembly, now), []);
            assembly.add(worker, second(number, replies), now);
        }
        assert_eq!(next_of(&mut assembly, now), [(0, 7, true)]);
        assembly.add(1, second(1, 40), now);
        assert_eq!(next_of(&mut assembly, now), [(1, 70, true)]);
    }

    #[test]
    fn nobody_waits_for_a_worker_that_has_ended() {
        let (mut assembly, now) = (Assembly::new(2), Instant::now());
        assembly.add(0, second(0, 1), now);
        assembly.add(1, second(0, 2), now);
        assembly.add(1, second(1, 20), now);
        assert_eq!(next_of(&mut assembly, now), [(0, 3, true)]);
        assembly.end(0);
        assert_eq!(next_of(&mut assembly, now), [(1, 20, true)]);
    }

    #[test]
    fn a_late_worker_is_waited_for_and_not_for_ever() {
        let (mut assembly, now) = (Assembly::new(2), Instant::now());
        assembly.add(0, second(0, 1), now);
        assert_eq!(next_of(&mut assembly, now + LATE / 2), []);
        assert_eq!(next_of(&mut assembly, now + LATE), [(0, 1, false)]);
        assembly.add(1, second(0, 2), now + LATE);
        assembly.add(0, second(1, 10), now + LATE);
        assembly.add(1, second(1, 20), now + LATE);
        assert_eq!(next_of(&mut assembly, now + LATE), [(1, 30, true)], "the late part is counted elsewhere");
    }

    #[test]
    fn a_part_that_was_lost_on_the_way_holds_nobody_up() {
        let (mut assembly, now) = (Assembly::new(2), Instant::now());
        assembly.add(0, second(0, 1), now);
        assembly.add(0, second(1, 10), now);
        assembly.add(1, second(1, 20), now);
        assert_eq!(next_of(&mut assembly, now), [(0, 1, false), (1, 30, true)]);
    }

    #[test]
    fn the_last_intervals_of_phases_are_not_confused() {
        let (mut assembly, now) = (Assembly::new(2), Instant::now());
        let at = |phase, from, length| Interval {
            phase,
            from: Duration::from_millis(from),
            length: Duration::from_millis(length),
            replies: 1,
            ..Interval::default()
        };
        let all = [at(Phase::WarmUp, 0, 500), at(Phase::Measured, 500, 1000), at(Phase::Drain, 1500, 40)];
        for worker in 0..2 {
            all.iter().for_each(|interval| assembly.add(worker, interval.clone(), now));
        }
        for expected in all {
            let Some(Assembled::Whole(sum)) = assembly.next(now) else { panic!("{expected:?} is missing") };
            assert_eq!((sum.phase, sum.from, sum.length), (expected.phase, expected.from, expected.length));
            assert_eq!(sum.replies, 2);
        }
    }
}
