//! `httperf sweep`: a run at each of many rates, and what they say of the server together.
//!
//! Here is the course of a sweep. What follows from its runs is the business of the `report` crate.

mod args;
mod options;
mod order;
mod ports;
mod rates;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use httperf_plan::Plan;
use httperf_report::junit::{self, Suite};
use httperf_report::pictures::{self, Picture, Style, SweepCurve};
use httperf_report::sweep::{self as report, End, Lacking, Recovery, Run, Sweep};
use httperf_report::{Level, html};

use self::args::{SweepArgs, SweepForm};
use self::order::{Turn, order};
use self::ports::Ports;
use crate::command_line::planning::{self, make_runnable};
use crate::runner::probe;
use crate::runner::results::file::Writable;
use crate::runner::results::{cannot_write, ensure_distinct};
use crate::runner::{INVALID_STATUS, OBJECTIVES_STATUS, Runner, SUSPECT_STATUS};
use crate::terminal::messages::Program;
use crate::terminal::status_line::StatusLine;

pub use self::options::COMMAND;

/// Runs `httperf sweep` with these words behind it. `program` is the program itself.
#[must_use]
pub fn main(program: &Program, words: &[OsString]) -> ExitCode {
    let named = program.subcommand(COMMAND.name);
    match options::parse(words) {
        Ok(args) => run(program, &named.quieted(args.quiet), &args).unwrap_or_else(|status| status),
        Err(stop) => named.stop(&COMMAND.describe(), &stop),
    }
}

/// Sweeps and reports. An early end has been explained when its exit status comes back. `program` runs the plan,
/// `named` is what speaks.
fn run(program: &Program, named: &Program, given: &SweepArgs) -> Result<ExitCode, ExitCode> {
    let sweep = match &given.resume {
        Some(name) => resumed(name).map_err(|error| named.fail(&error))?,
        None => {
            let plan = planning::plan(program, &given.run, &mut |warning| named.warn(warning))
                .map_err(|error| error.explain(named))?;
            Sweep::new(options::settings(given), plan)
        }
    };
    let (runner, mut files) = Runner::start(named, &[&sweep.plan], || Files::prepare(given))?;
    runner.warn_of_problems(named, &sweep.plan);
    let order = order(&sweep.settings);
    let mut course = Course { program: named, runner: &runner, sweep, order, usual: None };
    let carried_out = course.carry_out(&mut files);
    let sweep = course.sweep;
    if let Err(Failed::AtOnce(error)) = &carried_out {
        return Err(named.fail(error));
    }
    if !sweep.runs.is_empty() {
        files.write_last(named, &sweep);
    }
    let printed = named.print_with(|out| match given.form {
        SweepForm::Table => write!(out, "{}", report::table(&sweep)),
        SweepForm::Tsv => out.write_all(report::tsv(&sweep).as_bytes()),
        SweepForm::Csv => out.write_all(report::csv(&sweep).as_bytes()),
        SweepForm::Json => out.write_all(sweep.json().as_bytes()),
    });
    if let Err(Failed::MeanWhile(error)) = &carried_out {
        return Err(named.fail(error));
    }
    printed?;
    if let (Some(End::Asked), Some(name)) = (sweep.end, given.output.as_ref().or(given.resume.as_ref())) {
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
    sweep: Sweep,
    order: Vec<Turn>,
    /// The usual latency of the idle server; `None` if nobody looks.
    usual: Option<Duration>,
}

impl Course<'_> {
    /// Makes all runs that are to be made, until a signal asks for the end.
    fn carry_out(&mut self, files: &mut Files) -> Result<(), Failed> {
        let mut progress = (!self.program.is_quiet()).then(StatusLine::new);
        let mut show = |text: &str| {
            if let Some(line) = &mut progress {
                line.show(text);
            }
        };
        let all = self.order.len();
        let mut is_first = true;
        while let Some(turn) = self.next() {
            let what = format!(
                "{} {}/s, run {} of {all}",
                turn.rate,
                self.sweep.unit().name(),
                self.sweep.runs.len() + 1
            );
            let plan = self.plan(turn);
            if is_first {
                show("asking the server");
                self.ask_first().map_err(Failed::AtOnce)?;
            }
            let recovery = self
                .recover(&plan, is_first, &mut |waited_for| show(&format!("{what}: waiting {waited_for}")));
            is_first = false;
            if self.runner.is_interrupted() {
                break;
            }
            show(&what);
            let result = recovery.and_then(|recovery| Ok((recovery, self.runner.run(plan)?)));
            let (recovery, result) = result.map_err(Failed::MeanWhile)?;
            self.sweep.add(Run::new(turn.rate, turn.repeat, recovery, result));
            show("");
            files.write(self.program, &self.sweep);
            if self.runner.is_interrupted() {
                break;
            }
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

    /// Returns the plan of a run. Each draws random numbers of its own, which follow from its place in the order, so that a sweep
    /// that is resumed goes on with them.
    fn plan(&self, turn: Turn) -> Plan {
        let plan = self.sweep.plan.clone();
        let place = self.order.iter().position(|other| *other == turn).unwrap_or_default();
        plan.edit(|plan| plan.arrivals = plan.arrivals.at_rate(turn.rate))
            .expect("whatever can be run can be run at another rate")
            .in_trial(u32::try_from(place).unwrap_or(u32::MAX))
    }

    /// Finds out how quick the server is when it has nothing else to do, if that matters.
    fn ask_first(&mut self) -> anyhow::Result<()> {
        let limit = Duration::from_secs_f64(self.sweep.settings.settle_s);
        if limit.is_zero() {
            return Ok(());
        }
        let probe = probe::probe(&self.sweep.plan, PROBE_CALLS, limit);
        let summary = self.runner.run(probe.clone())?.summary;
        match probe::median(&probe, &summary) {
            Ok(median) => self.usual = Some(median),
            Err(_) if self.runner.is_interrupted() => {}
            Err(why) => {
                let servers: Vec<String> =
                    self.sweep.plan.targets.iter().map(|target| target.endpoint.to_string()).collect();
                anyhow::bail!(
                    "{}: no call before the first run was answered well: {why}",
                    servers.join(", ")
                );
            }
        }
        Ok(())
    }

    /// Waits until this plan can be run: for the pause, for local ports, and for the server.
    fn recover(&self, plan: &Plan, is_first: bool, show: &mut dyn FnMut(&str)) -> anyhow::Result<Recovery> {
        let settings = &self.sweep.settings;
        let mut recovery = Recovery::default();
        if !is_first && settings.pause_s > 0.0 {
            show("between runs");
            recovery.pause_s = seconds(|| self.runner.pause(Duration::from_secs_f64(settings.pause_s))).1;
        }
        let Some(usual) = self.usual else { return Ok(recovery) };
        let deadline = Instant::now() + Duration::from_secs_f64(settings.settle_s);
        let (ports, ports_s) = seconds(|| self.await_ports(plan, deadline, show));
        recovery.ports_s = ports_s;
        recovery.lacking = ports.map(|Ports { free, needed }| Lacking::Ports { free, needed });
        if !is_first {
            let (lacking, server_s) = seconds(|| self.await_server(usual, deadline, show));
            recovery.server_s = server_s;
            recovery.lacking = recovery.lacking.or(lacking?);
        }
        Ok(recovery)
    }

    /// Waits until there are local ports for a run. Those there are, if that takes too long.
    fn await_ports(&self, plan: &Plan, deadline: Instant, show: &mut dyn FnMut(&str)) -> Option<Ports> {
        /// The time between two readings of the kernel's tables, which may be long.
        const GLANCE: Duration = Duration::from_millis(500);
        loop {
            let ports = Ports::look(plan, Path::new("/")).filter(|ports| !ports.suffice())?;
            if Instant::now() >= deadline || self.runner.is_interrupted() {
                return Some(ports);
            }
            show("for local ports");
            self.runner.pause(GLANCE.min(deadline.saturating_duration_since(Instant::now())));
        }
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

/// The files that a sweep goes to.
struct Files {
    files: Vec<SweepFile>,
}

struct SweepFile {
    option: &'static str,
    name: OsString,
    render: Render,
    file: Writable,
    /// The reason why it could not be written the last time.
    error: Option<String>,
}

/// A form of a sweep.
#[derive(Clone, Copy)]
enum Render {
    /// One that is written again after each run, so that what was measured is not lost.
    Always(fn(&Sweep) -> String),
    /// One that takes a while to make, and can be made of the document.
    AtTheEnd(fn(&Sweep) -> Vec<u8>),
}

/// The three graphs.
fn picture(sweep: &Sweep) -> Picture {
    pictures::sweep(&SweepCurve::of(sweep), &Style::default())
}

/// A suite of test cases for each run.
fn junit(sweep: &Sweep) -> Vec<u8> {
    let unit = sweep.unit().name();
    let suites = sweep.runs.iter().map(|run| {
        let name = match run.repeat {
            0 => format!("{} {unit}/s", run.rate),
            repeat => format!("{} {unit}/s, again ({repeat})", run.rate),
        };
        Suite { name, ..Suite::of(&run.result) }
    });
    junit::xml("httperf sweep", &suites.collect::<Vec<_>>()).into_bytes()
}

impl Files {
    /// Looks whether the files can be written, so that nobody measures for an hour in vain.
    fn prepare(given: &SweepArgs) -> anyhow::Result<Self> {
        let (document, option) = match (&given.output, &given.resume) {
            (Some(name), _) => (Some(name), "--output"),
            (None, name) => (name.as_ref(), "--resume"),
        };
        let all = [
            (option, document, Render::Always(Sweep::json)),
            ("--csv", given.csv.as_ref(), Render::Always(report::csv)),
            ("--tsv", given.tsv.as_ref(), Render::Always(report::tsv)),
            ("--html", given.html.as_ref(), Render::AtTheEnd(|sweep| html::sweep_page(sweep).into_bytes())),
            ("--svg", given.svg.as_ref(), Render::AtTheEnd(|sweep| picture(sweep).svg().as_bytes().to_vec())),
            ("--png", given.png.as_ref(), Render::AtTheEnd(|sweep| picture(sweep).png())),
            ("--junit", given.junit.as_ref(), Render::AtTheEnd(junit)),
        ];
        let names = all.iter().filter_map(|&(option, name, _)| Some((option, name?.as_os_str())));
        ensure_distinct(names)?;
        let mut files = Vec::new();
        for (option, name, render) in all {
            let Some(name) = name else { continue };
            let file = Writable::new(name).with_context(|| cannot_write(option, name))?;
            files.push(SweepFile { option, name: name.clone(), render, file, error: None });
        }
        Ok(Self { files })
    }

    /// Writes what is to keep the runs so far. What goes wrong is said, and tried again the next time.
    fn write(&mut self, program: &Program, sweep: &Sweep) {
        // What was written to a pipe or a device cannot be replaced.
        self.write_if(program, sweep, |one| {
            matches!(one.render, Render::Always(_)) && !one.file.is_special()
        });
    }

    /// Writes all of them, when there will be no more runs.
    fn write_last(&mut self, program: &Program, sweep: &Sweep) {
        self.write_if(program, sweep, |_| true);
    }

    fn write_if(&mut self, program: &Program, sweep: &Sweep, is_due: impl Fn(&SweepFile) -> bool) {
        for one in self.files.iter_mut().filter(|file| is_due(file)) {
            let contents = match one.render {
                Render::Always(render) => render(sweep).into_bytes(),
                Render::AtTheEnd(render) => render(sweep),
            };
            let written = one.file.replace(&contents);
            let error = written.with_context(|| cannot_write(one.option, &one.name)).err();
            let error = error.map(|error| format!("{error:#}"));
            if let Some(error) = error.as_ref().filter(|&error| one.error.as_ref() != Some(error)) {
                program.say(error);
            }
            one.error = error;
        }
    }

    /// Returns whether one of them is not what it should be.
    fn lack_something(&self) -> bool {
        self.files.iter().any(|file| file.error.is_some())
    }
}
