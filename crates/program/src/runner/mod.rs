//! Carries out plans.
//!
//! A `Runner` is the sequence that every command goes through which offers load: it rehearses plans, prepares files,
//! watches for signals, and makes runs until one of those asks for the end. [`run`](run::run) is the one run of
//! `httperf` itself, which is watched, judged and reported; `Trials` makes those of a sweep, a search or
//! a comparison.

pub(crate) mod checks;
pub(crate) mod fleet;
mod gather;
pub mod monitor;
pub mod print;
pub(crate) mod probe;
pub mod results;
mod run;
mod signals;
mod trace;
pub(crate) mod trials;

use std::cell::RefCell;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use httperf_command_line::terminal::messages::Program;
use httperf_engine::{Observer, Part, Recording, SocketError, StopRequest};
use httperf_plan::Plan;
use httperf_report::result::{Document, EarlyEnd};
use httperf_run::Provenance;
use httperf_stats::Summary;

use crate::recording::Playback;

pub(crate) use self::signals::{EndSignals, let_full_files_be_errors};

pub use self::fleet::prints_report;
pub use self::run::run;
pub(crate) use self::run::{INVALID_STATUS, OBJECTIVES_STATUS, SUSPECT_STATUS};

/// Makes runs until a signal asks for the end.
#[derive(Debug)]
pub(crate) struct Runner {
    stop: StopRequest,
    signals: EndSignals,
    open_files: u64,
    /// The reason for which a recording could not be replayed to its end.
    recording_failure: RefCell<Option<String>>,
}

impl Runner {
    /// Gets ready to carry out these plans and others like them: rehearses each, then lets `prepare` open what results
    /// go to, and watches for signals from then on. Until then a signal ends the program, also while a file waits for its
    /// reader.
    ///
    /// # Errors
    /// The exit status. The reason was printed, with a hint if there is one.
    pub(crate) fn start<F>(
        program: &Program,
        plans: &[&Plan],
        prepare: impl FnOnce() -> anyhow::Result<F>,
    ) -> Result<(Self, F), ExitCode> {
        let open_files = httperf_engine::raise_descriptor_limit();
        if plans.iter().any(|plan| plan.watch.verbose >= 1) {
            let name = program.name_text();
            program
                .print(format!("{name}: maximum number of open descriptors = {open_files}\n").as_bytes())?;
        }
        for plan in plans {
            httperf_engine::rehearse(plan).map_err(|error| {
                let hint = error.hint();
                let option = option_of(&error);
                let error = anyhow::Error::from(error);
                let error = match option {
                    Some(option) => error.context(option),
                    None => error,
                };
                let status = program.fail(&error);
                hint.iter().for_each(|hint| program.say_bare(format_args!("hint: {hint}")));
                status
            })?;
        }
        let prepared = prepare().map_err(|error| program.fail(&error))?;
        let runner = Self::unrehearsed().map_err(|error| program.fail(&error))?;
        Ok((runner, prepared))
    }

    /// Watches for signals from now on. For plans whose sockets need no rehearsal.
    ///
    /// # Errors
    /// The system's refusal.
    pub(crate) fn unrehearsed() -> anyhow::Result<Self> {
        let open_files = httperf_engine::raise_descriptor_limit();
        let stop = StopRequest::new().context("cannot make a descriptor for waking up")?;
        let signals = EndSignals::watch(stop.clone())?;
        Ok(Self { stop, signals, open_files, recording_failure: RefCell::default() })
    }

    /// Warns of what may spoil a run of this plan.
    pub(crate) fn warn_of_problems(&self, program: &Program, plan: &Plan) {
        for problem in checks::problems(plan) {
            program.warn(format_args!("warning: {problem}"));
        }
    }

    /// Carries out a plan. If the end is asked for meanwhile, the result says so and has what was measured.
    ///
    /// # Errors
    /// The reason why the plan cannot be carried out.
    pub(crate) fn run(&self, plan: Plan) -> anyhow::Result<Document> {
        let provenance = self.provenance();
        let summary = self.measure(Part::whole(&plan, None))?;
        let ended_early = self.ending(&summary);
        Ok(provenance.document(plan, summary, ended_early))
    }

    /// The reason for which a run ended early that nobody watched.
    fn ending(&self, summary: &Summary) -> Option<EarlyEnd> {
        let asked = self.is_interrupted().then_some(EarlyEnd::Asked);
        asked.or(summary.gave_up.then_some(EarlyEnd::Hopeless))
    }

    /// Carries out a part of a run that nobody watches.
    ///
    /// # Errors
    /// The reason why the plan cannot be carried out.
    pub(crate) fn measure(&self, part: Part<'_>) -> Result<Summary, httperf_engine::Error> {
        self.with_recording(part, |part| httperf_run::measure(part, &self.stop))
    }

    /// Carries out a part of a run with as many workers as there are observers.
    ///
    /// # Errors
    /// The reason why the plan cannot be carried out.
    pub(crate) fn observe(
        &self,
        part: Part<'_>,
        observers: &mut [&mut (dyn Observer + Send)],
    ) -> Result<Summary, httperf_engine::Error> {
        self.with_recording(part, |part| httperf_engine::run_part(part, observers, &self.stop))
    }

    /// Opens the recording that a part of a run replays, if it is a replay, and carries it out.
    fn with_recording(
        &self,
        part: Part<'_>,
        carry_out: impl FnOnce(Part<'_>) -> Result<Summary, httperf_engine::Error>,
    ) -> Result<Summary, httperf_engine::Error> {
        let playback = Playback::of(part.plan);
        let recording = playback.as_ref().map(|playback| playback as &dyn Recording);
        let summary = carry_out(Part { recording, ..part });
        *self.recording_failure.borrow_mut() = playback.and_then(|playback| playback.failure());
        summary
    }

    /// Takes the reason for which the recording of the last run could not be replayed to its end, if it could not.
    pub(crate) fn take_recording_failure(&self) -> Option<String> {
        self.recording_failure.take()
    }

    /// The origin of a run that begins now.
    fn provenance(&self) -> Provenance {
        Provenance::now(self.open_files)
    }

    /// Returns whether the end was asked for.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.stop.is_asked()
    }

    /// Waits, unless the end is asked for.
    pub(crate) fn pause(&self, time: Duration) {
        /// The longest time for which a signal may go unnoticed.
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

    /// The exit status of a command that says this by it, unless SIGTERM or SIGHUP ended it: that says more.
    pub(crate) fn exit_code_or(&self, status: ExitCode) -> ExitCode {
        match self.exit_code() {
            ended if ended == ExitCode::SUCCESS => status,
            ended => ended,
        }
    }
}

/// Returns the option whose value this machine refuses.
pub(crate) fn option_of(error: &SocketError) -> Option<&'static str> {
    match error {
        SocketError::ForeignSource(_) | SocketError::Source { .. } => Some("--myaddr"),
        SocketError::Option { option: "TCP Fast Open", .. } => Some("--tcp-fastopen"),
        SocketError::Option { .. } => None,
    }
}
