//! Combines the parts that several workers tell of the same thing, such as a second of the run. Time is an argument.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A thing that workers tell in parts.
pub(crate) trait Part {
    /// Adds another worker's part of the same.
    fn add(&mut self, other: Self);
}

/// Parts on their way to be whole. `K` tells which parts belong together, and what comes first.
#[derive(Debug)]
pub(crate) struct Gathering<K, T> {
    workers: Vec<Worker<K>>,
    /// The things that are not whole yet, the oldest first.
    waiting: VecDeque<Waiting<K, T>>,
    /// The last that was handed on.
    handed_on: Option<K>,
    /// The time after which a worker that is late is waited for no longer; `None` waits for ever.
    patience: Option<Duration>,
}

#[derive(Clone, Copy, Debug)]
struct Worker<K> {
    /// The last thing it told of.
    told: Option<K>,
    has_ended: bool,
}

#[derive(Debug)]
struct Waiting<K, T> {
    key: K,
    sum: T,
    /// The workers whose parts it has.
    has: Vec<bool>,
    /// The arrival of the first part.
    since: Instant,
}

/// A thing, as far as it was told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Gathered<T> {
    /// All workers' parts together.
    Whole(T),
    /// A worker was too late with its part, or there was no room for it.
    Partial(T),
}

impl<K: Copy + Ord, T: Part> Gathering<K, T> {
    /// Waits for all parts, however late they come.
    pub(crate) fn patient(workers: usize) -> Self {
        let worker = Worker { told: None, has_ended: false };
        Self { workers: vec![worker; workers], waiting: VecDeque::new(), handed_on: None, patience: None }
    }

    /// Waits no longer than this for a worker that is late.
    pub(crate) fn impatient(workers: usize, patience: Duration) -> Self {
        Self { patience: Some(patience), ..Self::patient(workers) }
    }

    /// Takes a worker's part of a thing, which has arrived now.
    pub(crate) fn add(&mut self, worker: usize, key: K, part: T, now: Instant) {
        self.workers[worker].told = Some(key);
        if self.handed_on.is_some_and(|last| key <= last) {
            return;
        }
        let index = match self.waiting.binary_search_by_key(&key, |waiting| waiting.key) {
            Ok(index) => {
                self.waiting[index].sum.add(part);
                index
            }
            Err(index) => {
                let has = vec![false; self.workers.len()];
                self.waiting.insert(index, Waiting { key, sum: part, has, since: now });
                index
            }
        };
        self.waiting[index].has[worker] = true;
    }

    /// Takes note that a worker will tell no more.
    pub(crate) fn end(&mut self, worker: usize) {
        self.workers[worker].has_ended = true;
    }

    /// The next thing, unless it waits for somebody.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Gathered<T>> {
        let first = self.waiting.front()?;
        let key = first.key;
        let waited = now.saturating_duration_since(first.since);
        let is_late = self.patience.is_some_and(|patience| waited >= patience);
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
        Some(if lacks { Gathered::Partial(sum) } else { Gathered::Whole(sum) })
    }
}

/// Things that every worker tells in the same order: the first of one goes with the first of the others.
impl<T: Part> Gathering<u64, T> {
    /// Takes the next part of a worker that has not ended.
    pub(crate) fn add_next(&mut self, worker: usize, part: T, now: Instant) {
        let number = self.workers[worker].told.map_or(0, |told| told + 1);
        self.add(worker, number, part, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Part for u32 {
        fn add(&mut self, other: Self) {
            *self += other;
        }
    }

    /// Returns the seconds that can be handed on now, whole.
    fn next_of(gathering: &mut Gathering<u64, u32>, now: Instant) -> Vec<u32> {
        std::iter::from_fn(|| gathering.next(now))
            .map(|gathered| match gathered {
                Gathered::Whole(sum) => sum,
                Gathered::Partial(sum) => panic!("{sum} lacks a part"),
            })
            .collect()
    }

    #[test]
    fn the_nth_of_one_goes_with_the_nth_of_the_others() {
        let (mut gathering, now) = (Gathering::patient(3), Instant::now());
        for (worker, part) in [(0, 1), (0, 10), (1, 2), (0, 100)] {
            gathering.add_next(worker, part, now);
            assert_eq!(gathering.next(now), None);
        }
        gathering.add_next(2, 4, now);
        assert_eq!(next_of(&mut gathering, now), [7]);
        gathering.add_next(2, 40, now);
        gathering.add_next(1, 20, now);
        assert_eq!(next_of(&mut gathering, now), [70]);
    }

    #[test]
    fn nobody_waits_for_a_worker_that_has_ended() {
        let (mut gathering, now) = (Gathering::patient(2), Instant::now());
        gathering.add_next(0, 1, now);
        gathering.add_next(1, 2, now);
        gathering.add_next(1, 20, now);
        gathering.end(0);
        gathering.add_next(1, 200, now);
        assert_eq!(next_of(&mut gathering, now), [3, 20, 200]);
        gathering.end(1);
        assert!(next_of(&mut gathering, now).is_empty());
    }

    #[test]
    fn what_a_single_worker_tells_is_whole_at_once() {
        let (mut gathering, now) = (Gathering::patient(1), Instant::now());
        for part in [5, 6] {
            gathering.add_next(0, part, now);
            assert_eq!(next_of(&mut gathering, now), [part]);
        }
    }
}
