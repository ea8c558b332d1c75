//! Adding up what several workers tell in turn, such as a line for each second: the first of one goes with the first of
//! the others. What is not whole waits for the worker that is late.

use std::collections::VecDeque;

/// What is told in parts.
pub(crate) trait Part {
    /// Adds another worker's part of the same.
    fn add(&mut self, other: Self);
}

/// Parts on their way to be whole.
#[derive(Debug)]
pub(crate) struct Gathering<T> {
    workers: Vec<Worker>,
    /// What was told and not yet handed on, the oldest first.
    waiting: VecDeque<T>,
    /// How many were handed on: no more than any worker has told that goes on.
    handed_on: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Worker {
    /// How many it has told.
    told: usize,
    has_ended: bool,
}

impl<T: Part> Gathering<T> {
    /// Nothing has been told by so many workers.
    pub(crate) fn new(workers: usize) -> Self {
        Self { workers: vec![Worker::default(); workers], waiting: VecDeque::new(), handed_on: 0 }
    }

    /// Takes the next part of a worker that has not ended.
    pub(crate) fn tell(&mut self, worker: usize, part: T) {
        let worker = &mut self.workers[worker];
        match self.waiting.get_mut(worker.told - self.handed_on) {
            Some(whole) => whole.add(part),
            None => self.waiting.push_back(part),
        }
        worker.told += 1;
    }

    /// A worker will tell no more.
    pub(crate) fn end(&mut self, worker: usize) {
        self.workers[worker].has_ended = true;
    }

    /// The next that is whole: of which every worker has told its part, or has ended.
    pub(crate) fn next(&mut self) -> Option<T> {
        let is_whole = self.workers.iter().all(|worker| worker.has_ended || worker.told > self.handed_on);
        let whole = if is_whole { self.waiting.pop_front() } else { None };
        self.handed_on += usize::from(whole.is_some());
        whole
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

    fn next_of(gathering: &mut Gathering<u32>) -> Vec<u32> {
        std::iter::from_fn(|| gathering.next()).collect()
    }

    #[test]
    fn the_nth_of_one_goes_with_the_nth_of_the_others() {
        let mut gathering = Gathering::new(3);
        for (worker, part) in [(0, 1), (0, 10), (1, 2), (0, 100)] {
            gathering.tell(worker, part);
            assert_eq!(gathering.next(), None);
        }
        gathering.tell(2, 4);
        assert_eq!(next_of(&mut gathering), [7]);
        gathering.tell(2, 40);
        gathering.tell(1, 20);
        assert_eq!(next_of(&mut gathering), [70]);
    }

    #[test]
    fn nobody_waits_for_a_worker_that_has_ended() {
        let mut gathering = Gathering::new(2);
        gathering.tell(0, 1);
        gathering.tell(1, 2);
        gathering.tell(1, 20);
        gathering.end(0);
        gathering.tell(1, 200);
        assert_eq!(next_of(&mut gathering), [3, 20, 200]);
        gathering.end(1);
        assert!(next_of(&mut gathering).is_empty());
    }

    #[test]
    fn what_a_single_worker_tells_is_whole_at_once() {
        let mut gathering = Gathering::new(1);
        for part in [5, 6] {
            gathering.tell(0, part);
            assert_eq!(next_of(&mut gathering), [part]);
        }
    }
}
