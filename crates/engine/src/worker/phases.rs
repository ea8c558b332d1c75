//! Warm-up, measured phase and drain: their ends, and the length and cost of the measured one.

use std::time::Duration;

use httperf_plan::Plan;
use httperf_stats::{Counters, Instant, Phase, Usage};

/// The progress of a run.
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
    /// The instant from which no more is offered, if the plan sets it.
    measured_to: Option<Instant>,
    drain: Duration,
    /// The instant at which measuring really began, and the counters then.
    began: (Instant, Counters),
    /// Length and cost of the measured phase, once it is over.
    measured: Option<Measured>,
}

/// The measured phase.
pub(super) struct Measured {
    pub(super) duration: Duration,
    pub(super) usage: Usage,
    /// Arrivals due before this instant were to be offered.
    pub(super) end: Instant,
    /// Arrivals waited for room at its end, and those that have not begun still do.
    pub(super) was_full: bool,
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

    /// The run starts: arrivals are offered from now on.
    pub(super) fn open(&mut self) {
        self.has_begun = true;
    }

    /// Counts duration and cost from `now` on.
    pub(super) fn set_began(&mut self, now: Instant, counters: Counters) {
        self.began = (now, counters);
    }

    /// The warm-up is over.
    pub(super) fn begin_measuring(&mut self, now: Instant, counters: Counters) {
        self.now = Phase::Measured;
        self.set_began(now, counters);
    }

    /// Measures no further. `was_full`: arrivals waited for room.
    pub(super) fn end_measuring(&mut self, now: Instant, counters: &Counters, was_full: bool) {
        let (from, before) = &self.began;
        let end = self.measured_to.unwrap_or(now).min(now);
        self.measured =
            Some(Measured { duration: now - *from, usage: counters.since(before), end, was_full });
    }

    /// Goes on with the drain. Returns false if there is none: then the run is over.
    pub(super) fn begin_draining(&mut self) -> bool {
        if self.drain.is_zero() {
            self.is_over = true;
        } else {
            self.now = Phase::Drain;
        }
        !self.is_over
    }

    pub(super) fn end(&mut self) {
        self.is_over = true;
    }

    /// Returns length and cost of the measured phase, now that the run is over.
    pub(super) fn finish(&mut self, now: Instant, counters: &Counters, was_full: bool) -> Measured {
        if self.now == Phase::WarmUp {
            // It was stopped before anything was measured.
            self.began.0 = now;
        }
        if self.measured.is_none() {
            self.end_measuring(now, counters, was_full);
        }
        self.measured.take().expect("measuring has ended")
    }

    /// Returns the phase that is over at `now`, and the instant at which it was.
    pub(super) fn ended(&self, now: Instant) -> Option<(Phase, Instant)> {
        let at = self.next_change().filter(|&at| !self.is_over && now >= at)?;
        Some((self.now, at))
    }

    /// Returns the last instant at which an arrival that is due is offered, if `now` is later.
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

    /// Returns whether new work is offered.
    pub(super) fn is_offering(&self) -> bool {
        self.has_begun && !self.is_over && self.now != Phase::Drain
    }

    /// Returns the end of the measured phase while arrivals that were due in it may still begin.
    pub(super) fn draining_since(&self) -> Option<Instant> {
        self.measured_to.filter(|_| !self.is_over && self.now == Phase::Drain)
    }

    /// Returns the instant at which the present phase ends at the latest.
    pub(super) fn next_change(&self) -> Option<Instant> {
        match self.now {
            Phase::WarmUp => Some(self.measured_from),
            Phase::Measured => self.measured_to,
            Phase::Drain => self.measured_to.map(|end| end + self.drain),
        }
    }
}
