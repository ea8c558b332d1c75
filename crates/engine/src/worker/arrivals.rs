//! Which arrivals have started and ended, and when the next is due.

use std::iter::Peekable;

use httperf_load::schedule::Schedule;
use httperf_plan::{Plan, Workload};
use httperf_stats::Instant;

/// The arrivals of a run, started and ended.
pub(super) struct Arrivals {
    start: Instant,
    total: u64,
    started: u64,
    ended: u64,
    /// `None`: each starts when the one before has ended.
    schedule: Option<Peekable<Schedule>>,
}

/// An arrival that is due.
pub(super) struct Due {
    /// Its number, from 0.
    pub(super) index: u64,
    /// Seconds to the next one, if it was drawn (the first of a run is not).
    pub(super) delay: Option<f64>,
}

impl Arrivals {
    pub(super) fn new(plan: &Plan, start: Instant) -> Self {
        let total = match &plan.workload {
            Workload::Connections(connections) => connections.count,
            Workload::Sessions(sessions) => sessions.count,
        };
        let schedule = (plan.arrivals != httperf_plan::Arrivals::Sequential)
            .then(|| Schedule::new(&plan.arrivals, plan.client).peekable());
        Self { start, total, started: 0, ended: 0, schedule }
    }

    /// Takes the next arrival if it is due. `idle`: nothing that arrived before is still going on.
    pub(super) fn take_due(&mut self, now: Instant, idle: bool) -> Option<Due> {
        if self.started == self.total {
            return None;
        }
        let index = self.started;
        let delay = match &mut self.schedule {
            None if idle => None,
            None => return None,
            Some(schedule) => {
                let start = self.start;
                let arrival = schedule.next_if(|arrival| start + arrival.at <= now)?;
                (index > 0).then_some(arrival.delay)
            }
        };
        self.started += 1;
        Some(Due { index, delay })
    }

    /// When the next arrival is due; `idle` as in [`Arrivals::take_due`], and then a sequential one is due
    /// at once, at `at_once`.
    pub(super) fn next_due(&mut self, idle: bool, at_once: Instant) -> Option<Instant> {
        if self.started == self.total {
            return None;
        }
        match &mut self.schedule {
            None => idle.then_some(at_once),
            Some(schedule) => schedule.peek().map(|arrival| self.start + arrival.at),
        }
    }

    /// One of those that started has ended.
    pub(super) fn ended(&mut self) {
        self.ended += 1;
    }

    pub(super) fn all_ended(&self) -> bool {
        self.ended == self.total
    }
}
