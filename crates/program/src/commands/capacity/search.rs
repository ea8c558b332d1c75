//! Making the trials of a search, one after the other.
//!
//! ```text
//!   one request ──► trial ──► pause ──► trial ──► pause, requests until one is quick ──► …
//!     answered?      │                    └─ too much for the server: its backlog has to go
//!                    └─ warm-up, measured, drain; connections of its own
//! ```

use std::path::Path;
use std::time::{Duration, Instant};

use httperf_command_line::args::Args;
use httperf_plan::Plan;
use httperf_plan::objective::{Clock, Metric};
use httperf_report::capacity::{self, CapacityOutcome, CapacityReport, CapacitySettings, Cause, End, Found};
use httperf_report::{Finding, calls_beyond_bound};
use httperf_stats::{Summary, search as rates};

use super::args::ARRIVALS_MIN;
use super::{needed, samples_of_arrival};
use crate::commands::sweep::ports::Ports;
use crate::progress::{self, Progress};
use crate::runner::trials::{Span, Trial, Trials};
use crate::runner::{Runner, probe};

/// A single request is given up after this long.
const PROBE_LIMIT: Duration = Duration::from_secs(5);

/// The time that a server may take to recover from a trial; longer if it takes longer to answer what it was offered, at the
/// rate at which it did answer, but no longer than this.
const RECOVERY_LIMIT: Duration = Duration::from_secs(30);
const RECOVERY_LIMIT_MAX: Duration = Duration::from_secs(180);

/// Closed connections keep their local ports for a minute (`TCP_TIMEWAIT_LEN` in the kernel's `include/net/tcp.h`).
const PORT_LIMIT: Duration = Duration::from_secs(65);

/// Trials that are made again because they found too few local ports.
const PORT_WAITS: u32 = 2;

/// Between two single requests.
const PROBE_PAUSE: Duration = Duration::from_millis(200);

/// A quick reply takes at most this many times as long as the first one, plus this time.
const QUICK: (u32, Duration) = (3, Duration::from_millis(20));

/// The warm-up: this part of a trial, within these bounds.
const WARMUP_PART: u32 = 5;
const WARMUP: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(2));

/// It is longer where replies take long: after this many times their usual latency the number of calls under way has
/// settled, and grows no more unless the server falls behind. Yet not longer than this.
const SETTLING: u32 = 4;
const SETTLING_MAX: Duration = Duration::from_secs(10);

/// The bounds of the drain.
const DRAIN: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// A trial has a tenth more arrivals than objectives need, for those that fail.
const SPARE: f64 = 1.1;

/// A backlog that no objective over a time would notice.
const PATIENCE: Duration = Duration::from_secs(3600);

/// A search with its trials so far.
#[derive(Debug)]
pub(super) struct Search {
    capacity: CapacityReport,
    rates: rates::Search,
    /// `--warmup` and `--drain`, where they were given.
    warmup: Option<Duration>,
    drain: Option<Duration>,
    /// The longest time that an objective allows.
    longest: Duration,
    /// The time of a single request before the first trial.
    first: Duration,
    /// The number of processes that share the connections of a trial.
    ranks: u32,
    /// Waits for local ports behind trials that had found too few.
    port_waits: u32,
}

/// Reason to go no further.
enum Stop {
    Interrupted,
    At(End, String),
}

impl Stop {
    fn unless_interrupted(runner: &Runner, end: End, because: String) -> Self {
        if runner.is_interrupted() { Self::Interrupted } else { Self::At(end, because) }
    }
}

impl Search {
    /// A search before its first trial.
    pub(super) fn new(run: &Args, capacity: CapacityReport, ranks: u32) -> Self {
        let (settings, plan) = (&capacity.settings, &capacity.plan);
        let arrivals = settings
            .objectives
            .iter()
            .map(|&objective| needed(objective) * SPARE / samples_of_arrival(plan, objective));
        let bounds = plan.objectives.all.iter().filter_map(|objective| match objective.metric() {
            Metric::Time { clock, .. } => Some((clock, Duration::try_from_secs_f64(objective.bound()).ok()?)),
            _ => None,
        });
        // A backlog may wait where none of these see it.
        let sees_backlog =
            |clock: Clock| !matches!(clock, Clock::Connect | Clock::Handshake | Clock::Transfer);
        let patience = bounds.clone().filter(|&(clock, _)| sees_backlog(clock)).map(|(_, bound)| bound).min();
        let rates = rates::Search::new(rates::SearchSettings {
            start: settings.start,
            min_rate: settings.min_rate,
            max_rate: settings.max_rate,
            precision: settings.precision,
            trials: settings.trials as usize,
            length_min: Duration::from_secs_f64(settings.trial_min_s),
            length_max: Duration::from_secs_f64(settings.trial_max_s),
            length_longest: Duration::from_secs_f64(settings.trial_longest_s),
            arrivals_min: arrivals.fold(ARRIVALS_MIN, f64::max),
            patience: patience.unwrap_or(PATIENCE),
        });
        let given =
            |seconds: f64| (seconds > 0.0).then(|| Duration::try_from_secs_f64(seconds).ok()).flatten();
        let longest = bounds.map(|(_, bound)| bound).max().unwrap_or_default();
        let (warmup, drain) = (given(run.results.warmup), run.results.drain.and_then(given));
        Self { capacity, rates, warmup, drain, longest, first: Duration::ZERO, ranks, port_waits: 0 }
    }

    /// The plan of the longest trial at the highest rate that is certain to be tried.
    pub(super) fn heaviest(&self) -> Plan {
        let settings = &self.capacity.settings;
        let rate = settings.max_rate.unwrap_or(settings.start);
        let trial = self.trial(rates::Trial { rate, length: Duration::from_secs_f64(settings.trial_max_s) });
        trial.plan(std::slice::from_ref(&self.capacity.plan)).expect("it is of the only side")
    }

    /// Makes trials until the search ends, or somebody asks for the end. `save` is told what is known after each trial.
    ///
    /// # Errors
    /// The reason why the server did not answer a single request before the first trial, in a sentence.
    pub(super) fn run(
        mut self,
        runner: &Runner,
        trials: &Trials<'_>,
        progress: &mut Progress<'_>,
        save: &mut dyn FnMut(&CapacityReport),
    ) -> Result<CapacityReport, String> {
        progress.show("waiting for a first reply");
        let first = self.probe(runner);
        if runner.is_interrupted() {
            return Ok(self.interrupted(trials));
        }
        let (time, summary) = first?;
        self.first = time;
        let rate = self.capacity.settings.max_rate.map(|rate| rate / f64::from(self.ranks));
        if let Some(warning) = calls_beyond_bound(&self.capacity.plan, &summary, rate) {
            progress.warn(&warning);
        }
        loop {
            let trial = match self.rates.next() {
                rates::Next::End(end @ (rates::End::ClientLimited | rates::End::ClientDisturbed)) => {
                    let because = self.client_reason();
                    return Ok(self.end(end.into(), because));
                }
                rates::Next::End(end) => return Ok(self.end(end.into(), None)),
                rates::Next::Try(trial) => trial,
            };
            match self.make(trial, runner, trials, progress, save) {
                Ok(()) if !runner.is_interrupted() => {}
                Ok(()) | Err(Stop::Interrupted) => return Ok(self.interrupted(trials)),
                Err(Stop::At(end, because)) => return Ok(self.end(end, Some(because))),
            }
        }
    }

    /// Makes a trial, and waits until the server has recovered from it.
    fn make(
        &mut self,
        trial: rates::Trial,
        runner: &Runner,
        trials: &Trials<'_>,
        progress: &mut Progress<'_>,
        save: &mut dyn FnMut(&CapacityReport),
    ) -> Result<(), Stop> {
        let (number, unit) = (self.capacity.trials.len() + 1, self.capacity.unit().name());
        let seconds = trial.length.as_secs_f64();
        let what = format!(
            "trial {number} of {} at most: {} {unit}/s for {seconds:.1} s",
            self.capacity.settings.trials, trial.rate
        );
        let what = match self.time_left(trial) {
            Some(seconds) => format!("{what}, about {} left", progress::in_words(seconds)),
            None => what,
        };
        let waiting = format!("{what}: waiting for local ports");
        let planned = self.trial(trial);
        if let Some(lacking) = self.await_ports(&planned, runner, &mut || progress.show(&waiting)) {
            return Err(Stop::unless_interrupted(runner, End::ClientLimited, lacking));
        }
        if runner.is_interrupted() {
            return Err(Stop::Interrupted);
        }
        progress.show(&what);
        let run = match trials.make(&planned) {
            // What was cut short says nothing.
            Ok(_) if runner.is_interrupted() => return Err(Stop::Interrupted),
            Ok(Some(run)) => run,
            Ok(None) => return Err(Stop::Interrupted),
            Err(error) => return Err(Stop::At(End::Broken, format!("{error:#}"))),
        };
        let made = capacity::Trial::of(trial.rate, &run);
        if lacks_ports(&made)
            && self.port_waits < PORT_WAITS
            && self.await_closed(&planned, runner, &mut || progress.show(&waiting))
        {
            // It says nothing about the server.
            self.port_waits += 1;
            return Ok(());
        }
        let (observed, outcome, is_silent) = (made.observed(), made.outcome, made.is_silent());
        self.capacity.part.get_or_insert_with(|| run.parts[0].clone());
        self.capacity.trials.push(made);
        // A server that is gone has no capacity: what was known of it before stays.
        if is_silent && !self.has_recovered(runner) {
            let because = "the server no longer answers".to_owned();
            return Err(Stop::unless_interrupted(runner, End::Broken, because));
        }
        self.rates.note(observed);
        self.capacity.found = Found::of(&self.rates, None);
        progress.rows(&self.capacity);
        save(&self.capacity);
        if matches!(self.rates.next(), rates::Next::Try(_)) {
            progress.show(&format!("pause after trial {number}"));
            runner.pause(Duration::from_secs_f64(self.capacity.settings.pause_s));
            if !matches!(outcome, CapacityOutcome::Within | CapacityOutcome::Unclear) {
                self.has_recovered(runner);
            }
        }
        Ok(())
    }

    /// Time in seconds until the capacity is known as precisely as asked, if each trial halves the interval; `None` before
    /// there is one.
    fn time_left(&self, trial: rates::Trial) -> Option<f64> {
        let CapacitySettings { precision, trials, trial_max_s, pause_s, .. } = self.capacity.settings;
        let interval = self.capacity.found.capacity?;
        let half_width = (interval.high / interval.low).ln() / 2.0;
        let left = trials.saturating_sub(self.capacity.trials.len() as u32);
        let halvings = (half_width / precision).log2().ceil().min(left.into()).max(1.0);
        let phases = self.capacity.plan.phases;
        let each = trial_max_s.max(trial.length.as_secs_f64()) + pause_s + phases.warmup.as_secs_f64();
        Some(halvings * each)
    }

    /// The end of a search that cannot go on: somebody asked for it, or a rank of the fleet is gone.
    fn interrupted(self, trials: &Trials<'_>) -> CapacityReport {
        match trials.failure() {
            Some(failure) => self.end(End::Broken, Some(format!("{failure:#}"))),
            None => self.end(End::Asked, None),
        }
    }

    fn end(mut self, end: End, because: Option<String>) -> CapacityReport {
        self.capacity.found = Found { because, ..Found::of(&self.rates, Some(end)) };
        self.capacity
    }

    /// Waits until there are local ports for a trial, which other runs may have used up. Returns what is lacking, if that
    /// takes too long.
    fn await_ports(&self, trial: &Trial, runner: &Runner, show: &mut dyn FnMut()) -> Option<String> {
        let plan = trial.plan(std::slice::from_ref(&self.capacity.plan))?;
        let look = || Ports::look(&plan, self.ranks, Path::new("/"));
        let Ports { free, needed, .. } =
            Ports::await_enough(&look, runner, Instant::now() + PORT_LIMIT, show)?;
        Some(format!(
            "ports: {free} local ports are free, and a trial needs {needed}; closed connections keep the others"
        ))
    }

    /// Waits until closed connections have given back enough local ports for a trial. Returns false if there will never be
    /// enough.
    fn await_closed(&self, trial: &Trial, runner: &Runner, show: &mut dyn FnMut()) -> bool {
        let Some(plan) = trial.plan(std::slice::from_ref(&self.capacity.plan)) else { return false };
        let look = || Ports::count(&plan, self.ranks, Path::new("/"));
        look().is_some_and(|ports| ports.needed < ports.all)
            && Ports::await_enough(&look, runner, Instant::now() + PORT_LIMIT, show).is_none()
    }

    /// The client's fault in the last trial that had one.
    fn client_reason(&self) -> Option<String> {
        self.capacity.trials.iter().rev().find_map(|trial| {
            let name = trial.reasons.iter().find_map(|reason| match reason {
                Cause::Client(name) => Some(name),
                _ => None,
            })?;
            let mut findings = trial.verdict.reasons.iter().map(|reason| &reason.finding);
            let finding = findings.find(|finding| finding.name() == name)?;
            Some(format!("{name}: {finding}"))
        })
    }

    fn trial(&self, trial: rates::Trial) -> Trial {
        let warmup = self.warmup.unwrap_or_else(|| {
            let settling = (self.usual_latency() * SETTLING).min(SETTLING_MAX);
            (trial.length / WARMUP_PART).clamp(WARMUP.0, WARMUP.1).max(settling)
        });
        let drain = self.drain.unwrap_or_else(|| self.longest.saturating_mul(2).clamp(DRAIN.0, DRAIN.1));
        Trial {
            side: 0,
            // What is odd in a few seconds of arrivals is not in all of them.
            number: u32::try_from(self.capacity.trials.len()).unwrap_or(u32::MAX),
            rate: Some(trial.rate),
            span: Some(Span { measured: trial.length, warmup, drain }),
        }
    }

    /// The usual latency while the server keeps up.
    fn usual_latency(&self) -> Duration {
        let at_ease = self.capacity.trials.iter().find(|trial| trial.outcome == CapacityOutcome::Within);
        let median = at_ease.and_then(|trial| trial.latency_ms.p50);
        median.map_or(self.first, |ms| Duration::try_from_secs_f64(ms / 1e3).unwrap_or_default())
    }

    /// Makes a single request, and says how long its reply took, with the figures of this run, or why there was none.
    fn probe(&self, runner: &Runner) -> Result<(Duration, Summary), String> {
        let plan = probe::probe(&self.capacity.plan, 1, PROBE_LIMIT);
        let run = runner.run(plan.clone()).map_err(|error| format!("{error:#}"))?;
        // Any reply will do.
        Ok((probe::slowest(&plan, &run.summary)?, run.summary))
    }

    /// The time that the server may take to recover from the last trial.
    fn recovery_limit(&self) -> Duration {
        let trials = &self.capacity.trials;
        // One that answered a single call and then none of many may have a long backlog. One that answered many, and then
        // nothing, is gone, or will be back soon.
        if trials.iter().all(|trial| trial.answered == 0.0) {
            return RECOVERY_LIMIT_MAX;
        }
        let last = trials.last().filter(|trial| trial.answered > 0.0);
        let backlog = last.map_or(0.0, |trial| {
            // A fifth more was offered to warm up.
            (trial.offered / trial.answered - 1.0).max(0.0) * trial.length_s * 1.2
        });
        let needed = Duration::try_from_secs_f64(backlog).unwrap_or(Duration::MAX);
        needed.clamp(RECOVERY_LIMIT, RECOVERY_LIMIT_MAX)
    }

    /// Makes single requests until one is answered quickly. Returns whether any was answered.
    fn has_recovered(&self, runner: &Runner) -> bool {
        let quick = self.first * QUICK.0 + QUICK.1;
        let began = Instant::now();
        let mut has_answered = false;
        let limit = self.recovery_limit();
        while began.elapsed() < limit && !runner.is_interrupted() {
            let answer = self.probe(runner);
            has_answered |= answer.is_ok();
            if answer.is_ok_and(|(time, _)| time <= quick) {
                break;
            }
            runner.pause(PROBE_PAUSE);
        }
        has_answered
    }
}

/// Returns whether a trial is limited by a lack of local ports.
fn lacks_ports(trial: &capacity::Trial) -> bool {
    trial.outcome == CapacityOutcome::Client
        && trial.verdict.reasons.iter().any(|reason| matches!(reason.finding, Finding::Ports { .. }))
}
