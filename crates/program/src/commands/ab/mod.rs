//! `httperf ab`: two targets, or two sets of options, that take turns.
//!
//! `options` has its options and its words, `turns` makes the trials; `report::compare` computes what they mean.

mod args;
mod options;
mod turns;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use httperf_command_line::args::Args;
use httperf_command_line::grammar::ParseStop;
use httperf_command_line::outputs::{NamedFile, ReadFile};
use httperf_command_line::planning;
use httperf_command_line::terminal::messages::Program;
use httperf_plan::Plan;
use httperf_report::compare::{Rounds, rounds};

use self::args::AbArgs;
use self::options::{Named, ROUNDS, SEED, parsed};
use self::turns::{Event, SIDES, Turns};
use crate::commands::compare::{CANNOT_TELL_STATUS, conclude};
use crate::progress::Progress;
use crate::runner::fleet::{self, follow_trials};
use crate::runner::results::documents::DocumentFiles;
use crate::runner::results::read_files;
use crate::runner::trials::{Place, Trials};
use crate::runner::{Runner, probe};

pub use self::options::COMMAND;

/// Runs `httperf ab` with these words behind it. `program` is the program itself.
#[must_use]
pub fn main(program: &Program, words: &[OsString]) -> ExitCode {
    let program = program.subcommand(COMMAND.name);
    match parsed(words) {
        Ok((args, sides)) => {
            let program = fleet::named(&program, &args.run.fleet);
            compare(&program, &args, &sides).unwrap_or_else(|status| status)
        }
        Err(stop) => program.stop(&COMMAND.describe(), &stop),
    }
}

/// Checks the words behind `httperf ab`, which is to be carried out elsewhere. Returns the options of a run, and the files
/// that options name to be written.
///
/// # Errors
/// The mistake in them.
pub(crate) fn elsewhere_words(words: &[OsString]) -> Result<(Args, Vec<NamedFile>), ParseStop> {
    let (args, _) = parsed(words)?;
    Ok((args.run, args.outputs.named_files()))
}

/// Compares and reports. An early end has been explained when its exit status comes back.
fn compare(program: &Program, args: &AbArgs, sides: &[Named; 2]) -> Result<ExitCode, ExitCode> {
    // What is the same for both is said once.
    let mut told: Vec<String> = Vec::new();
    let mut warn = |warning: String| {
        if !told.contains(&warning) {
            program.warn(&warning);
            told.push(warning);
        }
    };
    sides.iter().flat_map(|side| &side.args.notices).for_each(|notice| warn(notice.clone()));
    let mut plan =
        |side: &Named| planning::plan(program, &side.args, &mut warn).map_err(|error| error.explain(program));
    let plans = [plan(&sides[0])?, plan(&sides[1])?];
    let (place, plans) = Place::of(&args.run.fleet, plans).map_err(|error| program.fail(&error))?;
    let seat = match &place {
        Place::First(seat) => seat.as_ref(),
        Place::Other(seat) => return follow_trials(program, seat, COMMAND.name, &plans),
    };
    let read: Vec<ReadFile> =
        sides.iter().zip(&plans).flat_map(|(side, plan)| read_files(&side.args, plan, &[])).collect();
    let (runner, mut files) =
        Runner::start(program, &plans.each_ref(), || DocumentFiles::prepare(&args.outputs, &read))?;
    let trials = Trials::gather(program, &runner, seat, COMMAND.name, plans.to_vec())?;
    let mut progress = Progress::new(program, &args.outputs);
    if let Err(error) = check(&runner, &plans, &mut progress) {
        drop(progress);
        return Err(program.fail(&error));
    }
    let turns = Turns {
        rounds: args.rounds.unwrap_or(ROUNDS),
        pause: Duration::from_secs_f64(args.pause),
        seed: args.seed.unwrap_or(SEED),
    };
    let names = [&sides[0], &sides[1]].map(|side| side.name.clone());
    let mut made = Rounds::new(turns.rounds, turns.seed, names, &args.settings);
    let carried_out = turns.make(
        &mut |trial| trials.make(trial),
        &|time| runner.pause(time),
        &|| runner.is_interrupted(),
        &mut made,
        &mut |event| match event {
            Event::Trial { round, side } => {
                let what = format!("round {} of {}: {side}", round + 1, turns.rounds);
                progress.show_part(&what, round as usize, turns.rounds as usize);
            }
            Event::Round(made) => {
                let comparison = rounds(made, &args.settings);
                progress.rows(&comparison);
                files.write(program, &comparison);
            }
        },
    );
    let carried_out = carried_out.and_then(|()| trials.failure().map_or(Ok(()), Err));
    drop(trials);
    if made.made() == 0 {
        drop(progress);
        carried_out.map_err(|error| program.fail(&error))?;
        program.say("interrupted before the first round was complete");
        return Err(runner.exit_code_or(ExitCode::from(CANNOT_TELL_STATUS)));
    }
    let comparison = rounds(&made, &args.settings);
    files.write_last(program, &comparison);
    let status = conclude(program, &comparison, progress);
    carried_out.map_err(|error| program.fail(&error))?;
    if files.lack_something() {
        return Err(ExitCode::FAILURE);
    }
    Ok(runner.exit_code_or(status))
}

/// Makes a single call to both sides, so that nobody waits for rounds of nothing.
fn check(runner: &Runner, plans: &[Plan; 2], progress: &mut Progress<'_>) -> anyhow::Result<()> {
    /// A single call is given up after this long.
    const LIMIT: Duration = Duration::from_secs(5);
    for (plan, side) in plans.iter().zip(SIDES) {
        progress.show(&format!("asking {side}"));
        let probe = probe::probe(plan, 1, LIMIT);
        let summary = runner.run(probe.clone())?.summary;
        if runner.is_interrupted() {
            break;
        }
        // Any reply will do: what is compared may be errors.
        if let Err(fault) = probe::slowest(&probe, &summary) {
            anyhow::bail!("{side}: {fault}");
        }
    }
    Ok(())
}
