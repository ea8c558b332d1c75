//! Warm-up, measured phase and drain: when each ends, and what the machine's counters said between them.

use std::time::Duration;

use httperf_plan::{Excess, Plan};
use httperf_stats::{Counters, End, Instant, Phase, Summary, Usage};

use super::Worker;
use super::pool::Pool;
use crate::Network;

/// Where a run stands.
///
/// ```text
///   WarmUp ──► Measured ──► Drain ──► over
///     └── without a warm-up ─┘└── without a drain ─┘
/// ```
pub(super) struct Phases {
    now: Phase,
    /// The run has started: connections of a pool are opened before.
    has_begun: bool,
    is_over: bool,
    measured_from: Instant,
    /// When no more is offered, if the plan says when.
    measured_to: Option<Instant>,
    drain: Duration,
    /// When measuring really began, and what the counters said then.
    began: (Instant, Counters),
    /// How long the measured phase was and what it took, once it is over.
    measured: Option<Measured>,
}

struct Measured {
    duration: Duration,
    usage: Usage,
    /// What was due before then was to be offered.
    end: Instant,
    /// Whether arrivals waited for room then: what has not begun still does.
    is_full: bool,
}

impl Phases {
    pub(super) fn new(plan: &Plan, start: Instant) -> Self {
        let measured_from = start + plan.phases.warmup;
        Self {
            now: if measured_from > start { Phase::WarmUp } else { Phase::Measured },
            has_begun: false,
            is_over: false,
            measured_from,
            measured_to: plan.runtime.map(|runtime| measured_from + runtime),
            drain: plan.phases.drain,
            began: (start, Counters::default()),
            measured: None,
        }
    }

    /// The last instant at which what is due is offered, if `now` is later.
    pub(super) fn offered_to(&self, now: Instant) -> Instant {
        let last = self.measured_to.map(|end| Instant::from_nanos(end.as_nanos().saturating_sub(1)));
        last.map_or(now, |last| now.min(last))
    }

    pub(super) fn measured_from(&self) -> Instant {
        self.measured_from
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether new work is offered.
    pub(super) fn is_offering(&self) -> bool {
        self.has_begun && !self.is_over && self.now != Phase::Drain
    }

    /// When the measured phase was over, if what was due in it may still begin.
    pub(super) fn draining_since(&self) -> Option<Instant> {
        self.measured_to.filter(|_| !self.is_over && self.now == Phase::Drain)
    }

    /// When the present phase ends at the latest.
    pub(super) fn next_change(&self) -> Option<Instant> {
        match self.now {
            Phase::WarmUp => Some(self.measured_from),
            Phase::Measured => self.measured_to,
            Phase::Drain => self.measured_to.map(|end| end + self.drain),
        }
    }
}

impl<N: Network> Worker<'_, '_, N> {
    /// Starts what is due at once, and begins to measure if there is no warm-up.
    pub(super) fn begin(&mut self) {
        let counters = self.network.counters();
        self.phases.has_begun = true;
        self.start_due(self.start);
        // As in the classic tool, the test lasts from when the first are under way.
        self.phases.began = (self.network.now(), counters);
    }

    /// Goes on to the next phase if it is time.
    pub(super) fn change_phase(&mut self, now: Instant) {
        while !self.phases.is_over
            && let Some(at) = self.phases.next_change()
            && now >= at
        {
            match self.phases.now {
                Phase::WarmUp => {
                    self.take_all_counts(self.start);
                    self.phases.now = Phase::Measured;
                    self.phases.began = (now, self.network.counters());
                    self.recorder.begin_measuring(now);
                }
                Phase::Measured => {
                    // A worker that wakes up late still starts what was due just before the end.
                    self.start_due(now);
                    self.end_measuring(now);
                    if self.phases.drain.is_zero() {
                        self.phases.is_over = true;
                    } else {
                        self.phases.now = Phase::Drain;
                        self.recorder.begin_draining(at);
                        self.cut_sessions(now);
                    }
                }
                Phase::Drain => self.phases.is_over = true,
            }
        }
    }

    fn end_measuring(&mut self, now: Instant) {
        let (from, before) = self.phases.began;
        let usage = self.network.counters().since(&before);
        let end = self.phases.measured_to.unwrap_or(now).min(now);
        let is_full = self.is_full() == Some(Excess::Waits);
        self.phases.measured = Some(Measured { duration: now - from, usage, end, is_full });
    }

    /// Notes the arrivals that were due and have not begun, now that the run ends.
    fn note_missed(&mut self, measured: &Measured, now: Instant) {
        if self.requests_are_used_up() {
            return;
        }
        for due in self.arrivals.missed(measured.end) {
            self.recorder.arrival_missed(due, measured.is_full, now);
        }
    }

    /// The run is over: what it measured.
    pub(super) fn finish(mut self) -> Summary {
        let now = self.network.now();
        if self.phases.now == Phase::WarmUp {
            // It was stopped before anything was measured.
            self.phases.began.0 = now;
        }
        if self.phases.measured.is_none() {
            self.end_measuring(now);
        }
        for call in self.calls.values() {
            self.recorder.unfinished(call.intended, now);
        }
        for due in self.pool.iter().flat_map(Pool::waiting) {
            self.recorder.call_made(due);
            self.recorder.unfinished(due, now);
        }
        let measured = self.phases.measured.take().expect("measuring has ended");
        if self.pool.is_none() {
            for session in self.sessions.values() {
                self.recorder.session_unfinished(session.intended, now);
            }
        }
        self.note_missed(&measured, now);
        self.close_pool(now);
        self.take_all_counts(now);
        self.recorder.clock_stepped(self.network.clock_steps());
        self.recorder.end_last_interval(now);
        self.tell_intervals(now);
        self.recorder.finish(End {
            at: now,
            duration: measured.duration,
            usage: measured.usage,
            calls_not_logged: self.observer.calls_not_logged(),
        })
    }
}
