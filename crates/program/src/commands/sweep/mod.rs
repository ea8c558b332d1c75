//! `httperf sweep`: a run at each of many rates, and what they say of the server together.
//!
//! Here is the course of a sweep. What follows from its runs is the business of the `report` crate.

mod args;
mod options;
mod order;
pub(crate) mod ports;
mod rates;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use httperf_command_line::args::{Args, os_string};
use httperf_command_line::grammar::parse::given;
use httperf_command_line::grammar::{Order, ParseStop};
use httperf_command_line::outputs::{FileForm, NamedFile, ReadFile};
use httperf_command_line::planning::{self, make_runnable};
use httperf_command_line::terminal::messages::Program;
use httperf_report::sweep::{End, Lacking, Recovery, Run, Sweep};
use httperf_report::{Form, Level, Written as _, calls_beyond_bound};

use self::args::SweepArgs;
use self::order::{Turn, order};
use self::ports::Ports;
use crate::progress::Progress;
use crate::runner::fleet::{self, follow_trials};
use crate::runner::probe;
use crate::runner::results::documents::DocumentFiles;
use crate::runner::results::file::is_same;
use crate::runner::results::read_files;
use crate::runner::trials::{Place, Trial, Trials};
use crate::runner::{INVALID_STATUS, OBJECTIVES_STATUS, Runner, SUSPECT_STATUS};

pub use self::options::COMMAND;

/// Runs `httperf sweep` with these words behind it. `program` is the program itself.
#[must_use]
pub fn main(program: &Program, words: &[OsString]) -> ExitCode {
    let named = program.subcommand(COMMAND.name);
    match options::parse(words) {
        Ok(args) => {
            let named = fleet::named(&named.quieted(args.quiet), &args.run.fleet);
            run(program, &named, &args).unwrap_or_else(|status| status)
        }
        Err(stop) => named.stop(&COMMAND.describe(), &stop),
    }
}

/// Checks the words behind `httperf sweep`, which is to be carried out elsewhere. Returns the options of a run, and the files
/// that options name to be written.
///
/// # Errors
/// The mistake in them.
pub(crate) fn elsewhere_words(words: &[OsString]) -> Result<(Args, Vec<NamedFile>), ParseStop> {
    let args = options::parse(words)?;
    Ok((args.run, args.outputs.named_files()))
}

/// Sweeps and reports. An early end has been explained when its exit status comes back. `program` runs the plan,
/// `named` is what speaks.
fn run(program: &Program, named: &Program, given: &SweepArgs) -> Result<ExitCode, ExitCode> {
    let mut sweep = match &given.resume {
        Some(name) => resumed(name).map_err(|error| named.fail(&error))?,
        None => {
            let plan = planning::plan(program, &given.run, &mut |warning| named.warn(warning))
                .map_err(|error| error.explain(named))?;
            Sweep::new(options::settings(given), plan)
        }
    };
    let (place, [plan]) =
        Place::of(&given.run.fleet, [sweep.plan.clone()]).map_err(|error| named.fail(&error))?;
    sweep.plan = plan;
    let seat = match &place {
        Place::First(seat) => seat.as_ref(),
        Place::Other(seat) => return follow_trials(named, seat, COMMAND.name, &[sweep.plan]),
    };
    let mut outputs = given.outputs.clone();
    if let (None, Some(name)) = (outputs.document(), &given.resume) {
        outputs.set("--resume", FileForm::Text(Form::Json), name.clone());
    }
    if given.resume.is_some() {
        for (option, form, name) in earlier_tables(&sweep) {
            if outputs.files().iter().all(|file| file.form != FileForm::Text(form)) {
                outputs.set(option, FileForm::Text(form), name);
            }
        }
    }
    let mut read = read_files(&given.run, &sweep.plan, &[]);
    // The document may go on in the file that it was in.
    let resumed =
        given.resume.as_ref().filter(|name| !outputs.document().is_some_and(|own| is_same(own, name)));
    read.extend(resumed.map(|name| ReadFile { option: Some("--resume"), name: name.clone() }));
    let (runner, mut files) =
        Runner::start(named, &[&sweep.plan], || DocumentFiles::prepare(&outputs, &read))?;
    runner.warn_of_problems(named, &sweep.plan);
    let trials = Trials::gather(named, &runner, seat, COMMAND.name, vec![sweep.plan.clone()])?;
    let order = order(&sweep.settings);
    let mut progress = Progress::new(named, &outputs);
    let ranks = seat.map_or(1, |seat| seat.rank.size().get());
    let mut course = Course { program: named, runner: &runner, trials, ranks, sweep, order, usual: None };
    let carried_out = course.carry_out(&mut files, &mut progress);
    let Course { sweep, trials, .. } = course;
    drop(trials);
    if let Err(Failed::AtOnce(error)) = &carried_out {
        drop(progress);
        return Err(named.fail(error));
    }
    if !sweep.runs.is_empty() {
        files.write_last(named, &sweep);
    }
    let printed = progress.finish(&sweep);
    if let Err(Failed::MeanWhile(error)) = &carried_out {
        return Err(named.fail(error));
    }
    printed?;
    if let (Some(End::Asked), Some(name)) = (sweep.end, outputs.document()) {
        named.warn(format_args!("interrupted; --resume={} goes on", name.to_string_lossy()));
    }
    if files.lack_something() {
        return Err(ExitCode::FAILURE);
    }
    exit_code(&sweep, given.strict).map_or_else(|| Ok(runner.exit_code()), Err)
}

/// The exit status for what was found out, if it says something.
fn exit_code(sweep: &Sweep, is_strict: bool) -> Option<ExitCode> {
    let steps = &sweep.figures.steps;
    let worst = steps.iter().map(|step| step.verdict).max().unwrap_or(Level::Valid);
    let has_objectives = !sweep.plan.objectives.all.is_empty() && !steps.is_empty();
    match worst {
        Level::Invalid if is_strict => Some(ExitCode::from(INVALID_STATUS)),
        Level::Suspect if is_strict => Some(ExitCode::from(SUSPECT_STATUS)),
        _ if has_objectives && sweep.figures.objectives_met_at.is_none() => {
            Some(ExitCode::from(OBJECTIVES_STATUS))
        }
        _ => None,
    }
}

/// The sweep in a file, to go on with.
fn resumed(name: &OsStr) -> anyhow::Result<Sweep> {
    let shown = name.to_string_lossy();
    let bytes = fs::read(name).with_context(|| format!("--resume: cannot read `{shown}`"))?;
    let mut sweep = Sweep::read(&bytes).with_context(|| format!("--resume: `{shown}`"))?;
    sweep.plan = make_runnable(sweep.plan).with_context(|| format!("--resume: `{shown}`"))?;
    sweep.reopen();
    Ok(sweep)
}

/// The tables that the command of the last run of a resumed sweep wrote, so that they go on too: those that are there, and have
/// the columns of a sweep in their first line. Nothing else is replaced because a document says so.
fn earlier_tables(sweep: &Sweep) -> Vec<(&'static str, Form, OsString)> {
    let part = sweep.runs.last().and_then(|run| run.result.parts.first());
    let words: Vec<OsString> =
        part.map_or(&[][..], |part| &part.command).iter().skip(2).map(OsString::from).collect();
    let given = given(&COMMAND, &words, Order::from_environment());
    let named = |option: &str| given.iter().rfind(|given| given.option.long == option)?.value.as_deref();
    let tables = [("csv", "--csv", Form::Csv), ("tsv", "--tsv", Form::Tsv)];
    let is_table = |form: Form, name: &OsStr| {
        let table = sweep.written(form).unwrap_or_default();
        let text = fs::read(name).unwrap_or_default();
        let header = table.lines().next().unwrap_or_default().as_bytes();
        text.strip_prefix(header).is_some_and(|rest| rest.starts_with(b"\n"))
    };
    tables
        .into_iter()
        .filter_map(|(long, option, form)| Some((option, form, os_string(named(long)?))))
        .filter(|(_, form, name)| is_table(*form, name))
        .collect()
}

/// The reason why a sweep was not completed.
enum Failed {
    /// There is nothing to report.
    AtOnce(anyhow::Error),
    /// There are runs to report.
    MeanWhile(anyhow::Error),
}

/// The number of calls of a probe.
const PROBE_CALLS: u64 = 5;

/// A sweep that goes on.
struct Course<'a> {
    program: &'a Program,
    runner: &'a Runner,
    trials: Trials<'a>,
    /// The number of processes that share the connections of a run.
    ranks: u32,
    sweep: Sweep,
    order: Vec<Turn>,
    /// The usual latency of the idle server; `None` if nobody looks.
    usual: Option<Duration>,
}

impl Course<'_> {
    /// Makes all runs that are to be made, until a signal asks for the end.
    fn carry_out(&mut self, files: &mut DocumentFiles, progress: &mut Progress<'_>) -> Result<(), Failed> {
        let all = self.order.len();
        let before = self.sweep.runs.len();
        if before > 0 {
            progress.rows(&self.sweep);
        }
        let mut is_first = true;
        while let Some(turn) = self.next() {
            let what = format!(
                "{} {}/s, run {} of {all}",
                turn.rate,
                self.sweep.unit().name(),
                self.sweep.runs.len() + 1
            );
            let trial = self.trial(turn);
            if is_first {
                progress.show("asking the server");
                if let Some(warning) = self.ask_first().map_err(Failed::AtOnce)? {
                    progress.warn(&warning);
                }
            }
            let recovery = self.recover(&trial, is_first, &mut |waited_for| {
                progress.show(&format!("{what}: waiting {waited_for}"));
            });
            is_first = false;
            if self.runner.is_interrupted() {
                break;
            }
            let made = self.sweep.runs.len() - before;
            progress.show_part(&what, made, all - before);
            let result = recovery.and_then(|recovery| Ok((recovery, self.trials.make(&trial)?)));
            let (recovery, Some(result)) = result.map_err(Failed::MeanWhile)? else { break };
            self.sweep.add(Run::new(turn.rate, turn.repeat, recovery, result));
            progress.rows(&self.sweep);
            files.write(self.program, &self.sweep);
            if self.runner.is_interrupted() {
                break;
            }
        }
        if let Some(failure) = self.trials.failure() {
            return Err(Failed::MeanWhile(failure));
        }
        let is_left_out = || self.order.iter().any(|turn| !self.sweep.has(turn.rate, turn.repeat));
        self.sweep.end = Some(match self.next() {
            Some(_) => End::Asked,
            None if is_left_out() => End::Saturated,
            None => End::Complete,
        });
        Ok(())
    }

    /// The run that comes next.
    fn next(&self) -> Option<Turn> {
        let is_due =
            |turn: &&Turn| !self.sweep.has(turn.rate, turn.repeat) && !self.sweep.is_far_below(turn.rate);
        self.order.iter().find(is_due).copied()
    }

    /// Returns what is tried in a run. Each draws random numbers of its own, which follow from its place in the order, so that a
    /// sweep that is resumed goes on with them.
    fn trial(&self, turn: Turn) -> Trial {
        let place = self.order.iter().position(|other| *other == turn).unwrap_or_default();
        let number = u32::try_from(place).unwrap_or(u32::MAX);
        Trial { number, rate: Some(turn.rate), ..Trial::default() }
    }

    /// Finds out how quick the server is when it has nothing else to do, if that matters. Returns a warning if the highest
    /// rate does not fit into a bound of the plan.
    fn ask_first(&mut self) -> anyhow::Result<Option<String>> {
        let limit = Duration::from_secs_f64(self.sweep.settings.settle_s);
        if limit.is_zero() {
            return Ok(None);
        }
        let probe = probe::probe(&self.sweep.plan, PROBE_CALLS, limit);
        let summary = self.runner.run(probe.clone())?.summary;
        match probe::median(&probe, &summary) {
            Ok(median) => self.usual = Some(median),
            Err(_) if self.runner.is_interrupted() => {}
            Err(fault) => anyhow::bail!(fault),
        }
        let highest = self.order.iter().map(|turn| turn.rate).fold(0.0, f64::max) / f64::from(self.ranks);
        Ok(calls_beyond_bound(&self.sweep.plan, &summary, Some(highest)))
    }

    /// Waits until this can be tried: for the pause, for local ports, and for the server.
    fn recover(&self, trial: &Trial, is_first: bool, show: &mut dyn FnMut(&str)) -> anyhow::Result<Recovery> {
        let settings = &self.sweep.settings;
        let mut recovery = Recovery::default();
        if !is_first && settings.pause_s > 0.0 {
            show("between runs");
            recovery.pause_s = seconds(|| self.runner.pause(Duration::from_secs_f64(settings.pause_s))).1;
        }
        let Some(usual) = self.usual else { return Ok(recovery) };
        let deadline = Instant::now() + Duration::from_secs_f64(settings.settle_s);
        let (ports, ports_s) = seconds(|| self.await_ports(trial, deadline, show));
        recovery.ports_s = ports_s;
        recovery.lacking = ports.map(|Ports { free, needed, .. }| Lacking::Ports { free, needed });
        if !is_first {
            let (lacking, server_s) = seconds(|| self.await_server(usual, deadline, show));
            recovery.server_s = server_s;
            recovery.lacking = recovery.lacking.or(lacking?);
        }
        Ok(recovery)
    }

    /// Waits until there are local ports for a run. Those there are, if that takes too long.
    fn await_ports(&self, trial: &Trial, deadline: Instant, show: &mut dyn FnMut(&str)) -> Option<Ports> {
        let plan = trial.plan(std::slice::from_ref(&self.sweep.plan))?;
        let look = || Ports::look(&plan, self.ranks, Path::new("/"));
        Ports::await_enough(&look, self.runner, deadline, &mut || show("for local ports"))
    }

    /// Waits until the server is as quick as usual. How quick it is, if that takes too long.
    fn await_server(
        &self,
        usual: Duration,
        deadline: Instant,
        show: &mut dyn FnMut(&str),
    ) -> anyhow::Result<Option<Lacking>> {
        /// The pause between two looks at a server that has not recovered.
        const GLANCE: Duration = Duration::from_millis(250);
        /// The least time for a look at it, even after the deadline.
        const LOOK_MIN: Duration = Duration::from_secs(1);
        loop {
            show("for the server");
            let left = deadline.saturating_duration_since(Instant::now());
            let probe = probe::probe(&self.sweep.plan, PROBE_CALLS, left.max(LOOK_MIN));
            let summary = self.runner.run(probe.clone())?.summary;
            let median = probe::median(&probe, &summary).ok();
            if median.is_some_and(|median| probe::has_recovered(median, usual))
                || self.runner.is_interrupted()
            {
                return Ok(None);
            }
            if Instant::now() >= deadline {
                let ms = |time: Duration| time.as_secs_f64() * 1e3;
                return Ok(Some(Lacking::Server { probe_ms: median.map(ms), usual_ms: ms(usual) }));
            }
            self.runner.pause(GLANCE.min(deadline.saturating_duration_since(Instant::now())));
        }
    }
}

/// Returns the outcome of a function with the seconds that it took, to the millisecond.
fn seconds<T>(what: impl FnOnce() -> T) -> (T, f64) {
    let began = Instant::now();
    let outcome = what();
    (outcome, began.elapsed().as_millis() as f64 / 1e3)
}
