//! Carrying out one plan after another, for commands that make several runs.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use httperf_engine::{Observer, Silent, Stop};
use httperf_plan::Plan;
use httperf_report::result::{Document, EarlyEnd};

use crate::runner::results::Provenance;
use crate::runner::signals::EndSignals;

/// Makes runs until a signal asks for the end.
#[derive(Debug)]
pub(crate) struct Trials {
    stop: Stop,
    signals: EndSignals,
    open_files: u64,
}

impl Trials {
    /// Watches for signals from now on.
    ///
    /// # Errors
    /// What the system refuses.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let open_files = httperf_engine::raise_descriptor_limit();
        let stop = Stop::new().context("cannot make a descriptor for waking up")?;
        let signals = EndSignals::watch(stop.clone())?;
        Ok(Self { stop, signals, open_files })
    }

    /// Carries out a plan. If the end is asked for meanwhile, the result says so and has what was measured.
    ///
    /// # Errors
    /// What keeps the plan from being carried out.
    pub(crate) fn run(&self, plan: Plan) -> anyhow::Result<Document> {
        let workers = plan.workers().get() as usize;
        let provenance = Provenance::now(self.open_files);
        let mut silent = vec![Silent; workers];
        let mut observers: Vec<&mut (dyn Observer + Send)> = silent.iter_mut().map(|one| one as _).collect();
        let summary = httperf_engine::run(&plan, &mut observers, &self.stop)?;
        let ended_early = self.is_interrupted().then_some(EarlyEnd::Asked);
        Ok(provenance.document(plan, summary, ended_early))
    }

    /// Whether the end was asked for.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.stop.is_asked()
    }

    /// Waits, unless the end is asked for.
    pub(crate) fn pause(&self, time: Duration) {
        /// How long a signal may go unnoticed.
        const GLANCE: Duration = Duration::from_millis(50);
        let end = Instant::now() + time;
        while !self.is_interrupted() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            std::thread::sleep(left.min(GLANCE));
        }
    }

    /// The exit status of a command that did all it could: 143 after SIGTERM, 129 after SIGHUP, else 0.
    pub(crate) fn exit_code(&self) -> ExitCode {
        self.signals.exit_code()
    }
}
