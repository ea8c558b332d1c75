//! The arrivals that have started and ended, and the instant of the next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::{self, Peekable};
use std::time::Duration;

use httperf_load::replay::DueRequest;
use httperf_load::schedule::{Arrival, Schedule};
use httperf_plan::{Assignment, Excess, Limits, Plan, Shard, UNLIMITED, Workload};
use httperf_stats::Instant;

use crate::worker::RecordedRequests;

/// Most arrivals counted of those that a run could not start.
const MISSED_MAX: usize = 10_000_000;

/// The arrivals of a shard, started and ended.
pub(super) struct Arrivals {
    start: Instant,
    /// Number of arrivals in all; 0 once the run is given up.
    total: u64,
    started: u64,
    ended: u64,
    pace: Pace,
}

/// The condition that makes an arrival due.
enum Pace {
    /// Fewer than the places go on.
    Open { shard: Shard, places: Places },
    /// Its time.
    Schedule(Peekable<Own>),
    /// The time of its request.
    Recorded(Peekable<RecordedRequests>),
}

/// An arrival that is due.
pub(super) struct Due {
    /// Its number among those of all shards, from 0.
    pub(super) index: u64,
    /// The instant at which it was due.
    pub(super) at: Instant,
    /// Seconds to the next one, if it was drawn (the first of a run is not).
    pub(super) delay: Option<f64>,
    /// The recorded request that it is to make, if it is one.
    pub(super) request: Option<DueRequest>,
}

impl Arrivals {
    pub(super) fn new(plan: &Plan, shard: Shard, start: Instant) -> Self {
        let count = plan.arrivals_max();
        let share = Share::new(plan, shard);
        let pace = match &plan.arrivals {
            // As in the classic tool, a number of connections is made one after the other whatever becomes of them.
            httperf_plan::Arrivals::Sequential => {
                Pace::Open { shard, places: Places::new(shard.share(1), count == UNLIMITED) }
            }
            httperf_plan::Arrivals::Concurrent(most) => {
                Pace::Open { shard, places: Places::new(shard.share(most.get().into()), true) }
            }
            // Which of them are this shard's follows from their clients.
            httperf_plan::Arrivals::Recorded { .. } => {
                let none: RecordedRequests = Box::new(iter::empty());
                let pace = Pace::Recorded(none.peekable());
                return Self { start, total: UNLIMITED, started: 0, ended: 0, pace };
            }
            timed => {
                let schedule = Schedule::new(timed, plan.client);
                Pace::Schedule(Own { schedule, next: 0, share }.peekable())
            }
        };
        Self { start, total: share.of(count), started: 0, ended: 0, pace }
    }

    /// Sets the requests that a recording has for this shard.
    pub(super) fn set_recorded(&mut self, requests: RecordedRequests) {
        self.pace = Pace::Recorded(requests.peekable());
    }

    /// Sets the instant at which the schedule begins. None has started before.
    pub(super) fn restart(&mut self, start: Instant) {
        self.start = start;
    }

    /// Takes the next arrival if it is due. `open`: how many of those before are still going on.
    pub(super) fn take_due(&mut self, now: Instant, open: usize) -> Option<Due> {
        if self.started >= self.total {
            return None;
        }
        let due = match &mut self.pace {
            Pace::Open { shard, places } => {
                if !places.has_room(now, open) {
                    return None;
                }
                Due { index: shard.nth(self.started), at: now, delay: None, request: None }
            }
            Pace::Schedule(schedule) => {
                let start = self.start;
                let (index, arrival) = schedule.next_if(|(_, arrival)| start + arrival.at <= now)?;
                let delay = (index > 0).then_some(arrival.delay);
                Due { index, at: start + arrival.at, delay, request: None }
            }
            Pace::Recorded(requests) => {
                let start = self.start;
                let request = requests.next_if(|request| start + request.at <= now)?;
                Due { index: request.number, at: start + request.at, delay: None, request: Some(request) }
            }
        };
        self.started += 1;
        Some(due)
    }

    /// Returns the instant at which the next arrival is due; `open` as in [`Arrivals::take_due`]. An arrival that only
    /// depends on that is due at `at_once`.
    pub(super) fn next_due(&mut self, open: usize, at_once: Instant) -> Option<Instant> {
        if self.started >= self.total {
            return None;
        }
        match &mut self.pace {
            Pace::Open { places, .. } => places.next_room(open, at_once),
            Pace::Schedule(schedule) => schedule.peek().map(|(_, arrival)| self.start + arrival.at),
            Pace::Recorded(requests) => requests.peek().map(|request| self.start + request.at),
        }
    }

    /// The number of the next arrival among those of all shards; `None` after the last.
    pub(super) fn next_index(&mut self) -> Option<u64> {
        if self.started >= self.total {
            return None;
        }
        match &mut self.pace {
            Pace::Open { shard, .. } => Some(shard.nth(self.started)),
            Pace::Schedule(schedule) => schedule.peek().map(|(index, _)| *index),
            Pace::Recorded(requests) => requests.peek().map(|request| request.number),
        }
    }

    /// Returns the instants of arrivals that were due before `end` and have not started: the first [`MISSED_MAX`].
    pub(super) fn missed(&mut self, end: Instant) -> impl Iterator<Item = Instant> {
        let left = usize::try_from(self.total.saturating_sub(self.started)).unwrap_or(usize::MAX);
        let start = self.start;
        let offsets: Box<dyn Iterator<Item = Duration>> = match &mut self.pace {
            Pace::Schedule(schedule) => Box::new(schedule.clone().map(|(_, arrival)| arrival.at)),
            Pace::Recorded(requests) => Box::new(requests.map(|request| request.at)),
            Pace::Open { .. } => Box::new(iter::empty()),
        };
        let due = offsets.map(move |offset| start + offset);
        due.take(left.min(MISSED_MAX)).take_while(move |&due| due < end)
    }

    /// Returns true if an arrival was due before `end` and has not started.
    pub(super) fn is_due_before(&mut self, end: Instant) -> bool {
        let start = self.start;
        self.started < self.total
            && match &mut self.pace {
                Pace::Open { .. } => false,
                Pace::Schedule(schedule) => {
                    schedule.peek().is_some_and(|(_, arrival)| start + arrival.at < end)
                }
                Pace::Recorded(requests) => requests.peek().is_some_and(|request| start + request.at < end),
            }
    }

    /// Returns whether arrivals have times of their own, so that they can be late.
    pub(super) fn is_scheduled(&self) -> bool {
        matches!(self.pace, Pace::Schedule(_) | Pace::Recorded(_))
    }

    /// One of those that started has ended.
    pub(super) fn ended(&mut self) {
        self.ended += 1;
    }

    /// One of those that started, and is about to end, came to no server. In a closed loop its place rests for a while:
    /// the next would start at once, fail at once, and so on.
    pub(super) fn unreached(&mut self, limits: &Limits, now: Instant) {
        if let Pace::Open { places, .. } = &mut self.pace {
            places.rest(limits, now);
        }
    }

    /// One came to a server.
    pub(super) fn reached(&mut self) {
        if let Pace::Open { places, .. } = &mut self.pace {
            places.unreached = 0;
        }
    }

    /// None starts any more, and none of those under way is waited for.
    pub(super) fn give_up(&mut self) {
        self.total = 0;
    }

    pub(super) fn all_ended(&self) -> bool {
        self.ended >= self.total
    }
}

/// The places of a closed loop: an arrival takes one while it goes on.
struct Places {
    most: usize,
    /// The ends of the rests of places whose arrivals came to no server.
    resting: BinaryHeap<Reverse<Instant>>,
    /// Arrivals in a row that reached no server.
    unreached: u64,
    /// A place whose arrival reached no server rests before the next.
    rests: bool,
}

impl Places {
    fn new(most: u64, rests: bool) -> Self {
        Self { most: most as usize, resting: BinaryHeap::new(), unreached: 0, rests }
    }

    /// Returns true if a place is free while `open` arrivals go on.
    fn has_room(&mut self, now: Instant, open: usize) -> bool {
        while self.resting.peek().is_some_and(|Reverse(until)| *until <= now) {
            self.resting.pop();
        }
        open + self.resting.len() < self.most
    }

    /// The instant at which a place is free: `at_once`, or when one has rested. `None` if all are taken.
    fn next_room(&self, open: usize, at_once: Instant) -> Option<Instant> {
        if open + self.resting.len() < self.most {
            return Some(at_once);
        }
        self.resting.peek().map(|Reverse(until)| *until)
    }

    fn rest(&mut self, limits: &Limits, now: Instant) {
        if !self.rests {
            return;
        }
        let pause = pause(limits, self.most, self.unreached);
        self.unreached += 1;
        self.resting.push(Reverse(now + pause));
    }
}

/// Time for which one of `most` places rests after `unreached` failures in a row.
fn pause(limits: &Limits, most: usize, unreached: u64) -> Duration {
    let doublings = (unreached / most.max(1) as u64).min(20) as u32;
    let between = limits.unreached_pause.saturating_mul(1 << doublings).min(limits.unreached_pause_max);
    between.saturating_mul(u32::try_from(most).unwrap_or(u32::MAX)).min(limits.retry_pause_max)
}

/// A shard's part of a cap on connections or sessions.
pub(super) struct Cap {
    /// The number that may go on at once.
    most: u64,
    excess: Excess,
    /// The instant at which there was room again for an arrival after there had been none.
    room_since: Option<Instant>,
}

impl Cap {
    pub(super) fn new(most: u64, excess: Excess) -> Self {
        Self { most, excess, room_since: None }
    }

    /// Returns the number of arrivals that may go on at once.
    pub(super) fn places(&self) -> usize {
        usize::try_from(self.most).unwrap_or(usize::MAX)
    }

    /// Returns the fate of an arrival while `open` others go on; `None` if there is room for it.
    pub(super) fn excess(&self, open: u64) -> Option<Excess> {
        (open >= self.most).then_some(self.excess)
    }

    /// Returns whether arrivals wait for room rather than be skipped.
    pub(super) fn is_waited_for(&self) -> bool {
        self.excess == Excess::Waits
    }

    /// One of `open` that went on ends, at `at`.
    pub(super) fn make_room(&mut self, open: u64, at: Instant) {
        if self.excess(open) == Some(Excess::Waits) {
            self.room_since = Some(at);
        }
    }

    /// Returns the instant since which there is room for an arrival that was due at `due`, if it had to wait for that.
    pub(super) fn waited_until(&self, due: Instant) -> Option<Instant> {
        self.room_since.filter(|since| *since > due)
    }
}

/// Returns whether an arrival finds most of the places free, so that nothing of ours delays it.
pub(super) fn is_light(taken: usize, places: usize) -> bool {
    taken.saturating_mul(4) <= places
}

/// The share of a shard in the arrivals of a schedule.
#[derive(Clone, Copy)]
struct Share {
    shard: Shard,
    /// Arrivals whose numbers are equal modulo this belong together; [`UNLIMITED`] if none do.
    cycle: u64,
}

impl Share {
    fn new(plan: &Plan, shard: Shard) -> Self {
        let cycle = match &plan.workload {
            Workload::Calls(calls) if calls.assignment == Assignment::InTurn => {
                calls.connections_max(&plan.limits).into()
            }
            _ => UNLIMITED,
        };
        Self { shard, cycle }
    }

    #[cfg(test)]
    fn has(self, index: u64) -> bool {
        self.shard.owns(index % self.cycle)
    }

    /// Returns how many arrivals from this one on are other shards', up to the first that is its own.
    fn others_before(self, index: u64) -> u64 {
        let (own, count) = (u64::from(self.shard.index), u64::from(self.shard.count));
        let place = index % self.cycle;
        let others = (own + count - place % count) % count;
        if place + others < self.cycle {
            return others;
        }
        // None is left in this cycle. Each shard has one in the next, or has none at all.
        self.cycle - place + own
    }

    /// Returns the shard's number of arrivals among the first `count`.
    fn of(self, count: u64) -> u64 {
        if count == UNLIMITED || self.cycle == UNLIMITED {
            return self.shard.share(count);
        }
        count / self.cycle * self.shard.share(self.cycle) + self.shard.share(count % self.cycle)
    }
}

/// The arrivals of a schedule that are a shard's, with their numbers. The others are passed over, so that the schedule is
/// the same for any number of shards.
#[derive(Clone)]
struct Own {
    schedule: Schedule,
    next: u64,
    share: Share,
}

impl Iterator for Own {
    type Item = (u64, Arrival);

    fn next(&mut self) -> Option<(u64, Arrival)> {
        let others = self.share.others_before(self.next);
        if others > 0 {
            self.schedule.skip_next(others);
        }
        let index = self.next + others;
        self.next = index + 1;
        Some((index, self.schedule.next()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_rest_longer_the_more_failures_follow_each_other_up_to_a_bound() {
        let limits = Limits::default();
        let pauses = |most: usize, each: u64| -> Vec<u128> {
            (0..6).map(|round| pause(&limits, most, round * each).as_millis()).collect()
        };
        assert_eq!(pauses(1, 1), [1, 2, 4, 8, 10, 10]);
        assert_eq!(
            pauses(8, 8),
            [8, 16, 32, 64, 80, 80],
            "all places together fail a hundred times a second"
        );
        assert_eq!(pauses(8, 1), [8; 6], "the first eight failed side by side, not one after the other");
        assert_eq!(pauses(10_000, 10_000), [1000; 6], "no place rests longer than a session would");
        assert_eq!(pause(&limits, 1, u64::MAX), limits.unreached_pause_max);
    }

    #[test]
    fn connections_with_schedules_of_their_own_keep_them_whatever_the_shard() {
        for (shards, connections, count) in [(1, 4, 10), (2, 5, 23), (3, 7, 7), (3, 3, 2)] {
            let mut total = 0;
            for index in 0..shards {
                let share = Share { shard: Shard { index, count: shards }, cycle: connections };
                let own: Vec<u64> = (0..count).filter(|&number| share.has(number)).collect();
                assert!(
                    own.iter().all(|number| (number % connections) % u64::from(shards) == u64::from(index))
                );
                assert_eq!(share.of(count), own.len() as u64, "{shards} {connections} {count}");
                for number in 0..count.saturating_sub(connections) {
                    let next =
                        (number..).find(|&number| share.has(number)).expect("each shard has one in a cycle");
                    assert_eq!(number + share.others_before(number), next, "{shards} {connections} {number}");
                }
                total += own.len() as u64;
            }
            assert_eq!(total, count);
        }
    }
}
