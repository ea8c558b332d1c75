//! Which arrivals have started and ended, and when the next is due.

use std::iter::Peekable;

use httperf_load::schedule::Schedule;
use httperf_plan::{Plan, Workload};
use httperf_stats::Instant;

/// Up to where the arrivals are counted that a run could not start.
const MISSED_MAX: usize = 10_000_000;

/// The arrivals of a run, started and ended.
pub(super) struct Arrivals {
    start: Instant,
    total: u64,
    started: u64,
    ended: u64,
    pace: Pace,
}

/// What makes an arrival due.
enum Pace {
    /// That fewer than this many go on.
    Open(usize),
    /// Its time.
    Schedule(Peekable<Schedule>),
}

/// An arrival that is due.
pub(super) struct Due {
    /// Its number, from 0.
    pub(super) index: u64,
    /// When it was due.
    pub(super) at: Instant,
    /// Seconds to the next one, if it was drawn (the first of a run is not).
    pub(super) delay: Option<f64>,
}

impl Arrivals {
    pub(super) fn new(plan: &Plan, start: Instant) -> Self {
        let total = match &plan.workload {
            Workload::Connections(connections) => connections.count,
            Workload::Sessions(sessions) => sessions.count,
        };
        let pace = match &plan.arrivals {
            httperf_plan::Arrivals::Sequential => Pace::Open(1),
            httperf_plan::Arrivals::Concurrent(count) => Pace::Open(*count as usize),
            timed => Pace::Schedule(Schedule::new(timed, plan.client).peekable()),
        };
        Self { start, total, started: 0, ended: 0, pace }
    }

    /// Takes the next arrival if it is due. `open`: how many of those before are still going on.
    pub(super) fn take_due(&mut self, now: Instant, open: usize) -> Option<Due> {
        if self.started == self.total {
            return None;
        }
        let index = self.started;
        let (at, delay) = match &mut self.pace {
            Pace::Open(most) if open < *most => (now, None),
            Pace::Open(_) => return None,
            Pace::Schedule(schedule) => {
                let start = self.start;
                let arrival = schedule.next_if(|arrival| start + arrival.at <= now)?;
                (start + arrival.at, (index > 0).then_some(arrival.delay))
            }
        };
        self.started += 1;
        Some(Due { index, at, delay })
    }

    /// When the next arrival is due; `open` as in [`Arrivals::take_due`], and what depends on that is due at once,
    /// at `at_once`.
    pub(super) fn next_due(&mut self, open: usize, at_once: Instant) -> Option<Instant> {
        if self.started == self.total {
            return None;
        }
        match &mut self.pace {
            Pace::Open(most) => (open < *most).then_some(at_once),
            Pace::Schedule(schedule) => schedule.peek().map(|arrival| self.start + arrival.at),
        }
    }

    /// How many arrivals were due before `end` and have not started. Beyond [`MISSED_MAX`] they are not counted.
    pub(super) fn missed(&self, end: Instant) -> u64 {
        let Pace::Schedule(schedule) = &self.pace else { return 0 };
        let left = usize::try_from(self.total - self.started).unwrap_or(usize::MAX);
        let due = schedule.clone().take(left.min(MISSED_MAX));
        due.take_while(|arrival| self.start + arrival.at < end).count() as u64
    }

    /// Whether arrivals have times of their own, so that they can be late.
    pub(super) fn is_scheduled(&self) -> bool {
        matches!(self.pace, Pace::Schedule(_))
    }

    /// One of those that started has ended.
    pub(super) fn ended(&mut self) {
        self.ended += 1;
    }

    pub(super) fn all_ended(&self) -> bool {
        self.ended == self.total
    }
}
