//! Figures of a run while it goes on: rate samples, intervals of the series, the periodic statistics.

use std::time::Duration;

use httperf_plan::{Plan, Workload};
use httperf_stats::{Instant, SAMPLE_INTERVAL};

use super::phases::Phases;
use super::run::Run;
use crate::Observation;

/// The instants of the next figures.
pub(super) struct Ticks {
    /// The next rate sample.
    next_sample: Instant,
    /// The next line of the periodic statistics, if they are shown.
    next_second: Option<Instant>,
    /// The counts that the periodic statistics have shown so far.
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

    /// Returns the earlier of `latest` and the instant of the next figure.
    #[inline]
    pub(super) fn next(&self, mut latest: Instant, phases: &Phases, run: &Run<'_>) -> Instant {
        if run.plan.recording.detail {
            latest = latest.min(run.recorder.interval_end());
        }
        if phases.is_offering() {
            latest = latest.min(self.next_sample);
        }
        self.next_second.map_or(latest, |second| latest.min(second))
    }

    /// Takes the figures whose time has come.
    #[inline]
    pub(super) fn tick(&mut self, now: Instant, phases: &Phases, run: &mut Run<'_>) {
        run.report_intervals(now);
        if now >= self.next_sample && phases.is_offering() {
            let rates = run.recorder.tick(now);
            self.next_sample = self.next_sample + SAMPLE_INTERVAL;
            if run.plan.watch.verbose >= 1 {
                let sessions = matches!(run.plan.workload, Workload::Sessions(_) | Workload::Scenarios(_));
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
