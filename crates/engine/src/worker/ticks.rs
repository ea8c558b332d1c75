//! Figures of a run while it goes on: rate samples, intervals of the series, the periodic statistics.

use std::time::Duration;

use httperf_plan::{Plan, Workload};
use httperf_stats::{Instant, SAMPLE_INTERVAL};

use super::phases::Phases;
use super::run::Run;
use crate::Observation;

/// When figures are taken next.
pub(super) struct Ticks {
    /// The next rate sample.
    next_sample: Instant,
    /// The next line of the periodic statistics, if they are shown.
    next_second: Option<Instant>,
    /// The replies that the periodic statistics have shown so far: those that are fine, and all that were found.
    shown: (u64, u64),
}

impl Ticks {
    pub(super) fn new(plan: &Plan, start: Instant, measured_from: Instant) -> Self {
        Self {
            next_sample: measured_from + plan.client.first_sample(),
            next_second: plan.watch.periodic.then(|| start + Duration::from_secs(1)),
            shown: (0, 0),
        }
    }

    /// Returns the instant at which a figure is taken next.
    pub(super) fn next(&self, phases: &Phases, run: &Run<'_>) -> Option<Instant> {
        let interval = run.plan.recording.detail.then(|| run.recorder.interval_end());
        let sample = phases.is_offering().then_some(self.next_sample);
        [interval, sample, self.next_second].into_iter().flatten().min()
    }

    /// Takes the figures whose time has come.
    pub(super) fn tick(&mut self, now: Instant, phases: &Phases, run: &mut Run<'_>) {
        run.report_intervals(now);
        if now >= self.next_sample && phases.is_offering() {
            let rates = run.recorder.tick(now);
            self.next_sample = self.next_sample + SAMPLE_INTERVAL;
            if run.plan.watch.verbose >= 1 {
                let sessions = matches!(run.plan.workload, Workload::Sessions(_));
                run.observe(Observation::Rates { rates, sessions });
            }
        }
        if let Some(second) = self.next_second
            && now >= second
        {
            let (ok, found) = run.recorder.periodic();
            run.observe(Observation::Second {
                elapsed: now - run.start(),
                ok: ok - self.shown.0,
                found: found - self.shown.1,
            });
            self.shown = (ok, found);
            self.next_second = Some(second + Duration::from_secs(1));
        }
    }
}
