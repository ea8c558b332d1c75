//! `httperf capacity`: the highest rate that a server sustains within objectives.
//!
//! Here is what a search needs before it begins, and what is said of it. `search` makes the trials; what to try next is
//! the business of `httperf_stats::search`, and what a trial tells that of `httperf_report::capacity`.

mod args;
mod options;
mod search;

use std::ffi::OsString;
use std::process::ExitCode;

use httperf_command_line::args::Args;
use httperf_command_line::grammar::{Order, ParseStop, parse};
use httperf_command_line::outputs::NamedFile;
use httperf_command_line::planning;
use httperf_command_line::terminal::messages::Program;
use httperf_plan::objective::{Clock, Figure, Metric, Objective, Share};
use httperf_plan::{Plan, UNLIMITED, Workload};
use httperf_report::capacity::{CapacityReport, CapacitySettings, End};
use httperf_stats::samples_needed;

use self::args::CapacityArgs;
use self::search::Search;
use crate::progress::Progress;
use crate::runner::fleet::{self, follow_trials};
use crate::runner::results::documents::DocumentFiles;
use crate::runner::results::read_files;
use crate::runner::trials::{Place, Trials};
use crate::runner::{OBJECTIVES_STATUS, Runner};

pub use self::options::COMMAND;

/// The exit status if the figure cannot be told.
const UNKNOWN_STATUS: u8 = 2;

/// The objective that is implied if none is about errors.
const IMPLIED: &str = "errors<1%";

/// Runs `httperf capacity` with these words behind it. `program` is the program itself.
#[must_use]
pub fn main(program: &Program, words: &[OsString]) -> ExitCode {
    let program = program.subcommand(COMMAND.name);
    let mut args = CapacityArgs::default();
    let parsed = take(words, &mut args);
    let program = fleet::named(&program.quieted(args.quiet), &args.run.fleet);
    args.run.notices.iter().for_each(|notice| program.warn(notice));
    if let Err(stop) = parsed {
        return program.stop(&COMMAND.describe(), &stop);
    }
    if let Some(warning) = args.run.stray_words_warning() {
        program.warn(warning);
    }
    find(&program, &args).unwrap_or_else(|status| status)
}

/// Takes the words behind `httperf capacity`.
fn take(words: &[OsString], args: &mut CapacityArgs) -> Result<(), ParseStop> {
    let order = Order::from_environment();
    parse(&COMMAND, words, order, args)?;
    args.run.note_given(&COMMAND, words, order);
    args.run.check_stray_words()?;
    args.prepare_search()
}

/// Checks the words behind `httperf capacity`, which is to be carried out elsewhere. Returns the options of a run, and the files
/// that options name to be written.
///
/// # Errors
/// The mistake in them.
pub(crate) fn elsewhere_words(words: &[OsString]) -> Result<(Args, Vec<NamedFile>), ParseStop> {
    let mut args = CapacityArgs::default();
    take(words, &mut args)?;
    Ok((args.run, args.outputs.named_files()))
}

/// Searches and reports. An early end has been explained when its exit status comes back.
fn find(program: &Program, args: &CapacityArgs) -> Result<ExitCode, ExitCode> {
    let failed = |error: &dyn std::fmt::Display| {
        program.say(error);
        ExitCode::FAILURE
    };
    let plan = planning::plan(program, &args.run, &mut |warning| program.warn(warning))
        .map_err(|error| error.explain(program))?;
    let (plan, settings) = settings(args, plan);
    check(&plan, &settings).map_err(|error| failed(&error))?;
    let (place, [plan]) = Place::of(&args.run.fleet, [plan]).map_err(|error| program.fail(&error))?;
    let seat = match &place {
        Place::First(seat) => seat.as_ref(),
        Place::Other(seat) => return follow_trials(program, seat, COMMAND.name, &[plan]),
    };
    let plans = vec![plan.clone()];
    let read = read_files(&args.run, &plan, &[]);
    let ranks = seat.map_or(1, |seat| seat.rank.size().get());
    let search = Search::new(&args.run, CapacityReport::new(settings, plan), ranks);
    let heaviest = search.heaviest();
    let (runner, mut files) =
        Runner::start(program, &[&heaviest], || DocumentFiles::prepare(&args.outputs, &read))?;
    runner.warn_of_problems(program, &heaviest);
    let trials = Trials::gather(program, &runner, seat, COMMAND.name, plans)?;
    let mut progress = Progress::new(program, &args.outputs);
    let found = search.run(&runner, &trials, &mut progress, &mut |capacity| files.write(program, capacity));
    drop(trials);
    let capacity = match found {
        Ok(capacity) => capacity,
        Err(fault) => {
            drop(progress);
            return Err(failed(&fault));
        }
    };
    files.write_last(program, &capacity);
    progress.finish(&capacity)?;
    if files.lack_something() {
        return Err(ExitCode::FAILURE);
    }
    Ok(status(&capacity, &runner))
}

fn status(capacity: &CapacityReport, runner: &Runner) -> ExitCode {
    let found = &capacity.found;
    let is_known = found.capacity.is_some() || found.sustained.is_some();
    match found.end {
        Some(End::Asked) if is_known => runner.exit_code(),
        Some(End::Asked) => runner.exit_code_or(ExitCode::from(UNKNOWN_STATUS)),
        Some(End::Broken) => ExitCode::FAILURE,
        Some(End::BelowMinimum) => ExitCode::from(OBJECTIVES_STATUS),
        Some(End::TooFewSamples) => ExitCode::from(UNKNOWN_STATUS),
        _ if is_known => ExitCode::SUCCESS,
        _ => ExitCode::from(UNKNOWN_STATUS),
    }
}

/// The settings of a search. The plan gets the implied objectives, and nothing that ends its trials but their time.
fn settings(args: &CapacityArgs, plan: Plan) -> (Plan, CapacitySettings) {
    let CapacityArgs { max_rate, precision, trials, trial_min, pause, .. } = *args;
    let objectives = args.run.results.objectives.all.clone();
    let says_of_errors = |objective: &Objective| {
        matches!(objective.metric(), Metric::Share(Share::Errors | Share::Failed | Share::Status(_)))
    };
    let implied = (!objectives.iter().any(says_of_errors))
        .then(|| IMPLIED.parse().expect("the implied objective is one"));
    let plan = plan.edit(|plan| {
        plan.objectives.all.extend(implied);
        match &mut plan.workload {
            Workload::Connections(connections) => connections.count = UNLIMITED,
            Workload::Sessions(sessions) => sessions.count = UNLIMITED,
            Workload::Scenarios(scenarios) => scenarios.count = UNLIMITED,
            Workload::Calls(calls) => calls.count = UNLIMITED,
            // No option of a search asks for one.
            Workload::Replay(_) => {}
        }
    });
    let settings = CapacitySettings {
        objectives,
        implied,
        start: args.start(),
        min_rate: args.min_rate(),
        max_rate,
        precision,
        trials,
        trial_min_s: trial_min,
        trial_max_s: args.trial_max(),
        trial_longest_s: args.trial_longest(),
        pause_s: pause,
    };
    (plan.expect("whatever can be run can be run for longer"), settings)
}

/// Refuses objectives that no trial could ever be judged by.
fn check(plan: &Plan, settings: &CapacitySettings) -> Result<(), String> {
    for objective in &settings.objectives {
        let is_before_calls =
            matches!(objective.metric(), Metric::Time { clock: Clock::Connect | Clock::Handshake, .. });
        if is_before_calls && matches!(plan.workload, Workload::Calls(_)) {
            return Err(format!(
                "--slo: expected another figure, as connections are opened before the calls, got `{objective}`"
            ));
        }
        let (needed, each) = (needed(*objective), samples_of_arrival(plan, *objective));
        let Some(max_rate) = settings.max_rate else { continue };
        let shortest = needed / each / max_rate;
        if settings.trial_longest_s < shortest {
            return Err(format!(
                "--trial-max: expected at least {} s, as {} needs {needed} samples and --max-rate is {max_rate}, got `{}`",
                shortest.ceil(),
                objective.metric(),
                settings.trial_longest_s
            ));
        }
    }
    Ok(())
}

/// The number of samples that an objective needs.
fn needed(objective: Objective) -> f64 {
    match objective.metric() {
        Metric::Time { figure: Figure::Quantile(share), .. } => samples_needed(share) as f64,
        _ => 1.0,
    }
}

/// The number of samples for an objective that an arrival brings.
fn samples_of_arrival(plan: &Plan, objective: Objective) -> f64 {
    let calls = plan.calls_per_arrival();
    match objective.metric() {
        Metric::Time { clock: Clock::Connect | Clock::Handshake | Clock::Session, .. } => 1.0,
        // Sessions from files have one at least.
        _ => {
            if calls == UNLIMITED {
                1.0
            } else {
                calls.max(1) as f64
            }
        }
    }
}
