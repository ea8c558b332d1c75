//! `httperf ab`: two targets, or two sets of options, that take turns.
//!
//! `options` has its options and its words, `turns` makes the trials; `report::compare` computes what they mean.

mod args;
mod options;
mod turns;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use httperf_report::compare::{Comparison, Rounds, rounds};
use httperf_report::html::Pictures;

use self::args::AbArgs;
use self::options::{Named, ROUNDS, SEED, parsed};
use self::turns::{Side, Turns};
use crate::command_line::planning;
use crate::commands::compare::{CANNOT_TELL_STATUS, conclude};
use crate::runner::Runner;
use crate::runner::results::cannot_write;
use crate::runner::results::file::Writable;
use crate::terminal::messages::Program;
use crate::terminal::status_line::StatusLine;

pub use self::options::COMMAND;

/// Runs `httperf ab` with these words behind it. `program` is the program itself.
#[must_use]
pub fn main(program: &Program, words: &[OsString]) -> ExitCode {
    let program = program.subcommand(COMMAND.name);
    match parsed(words) {
        Ok((args, sides)) => compare(&program, &args, &sides).unwrap_or_else(|status| status),
        Err(stop) => program.stop(&COMMAND.describe(), &stop),
    }
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
    let (runner, output) = Runner::start(program, &plans.each_ref(), || {
        let open = |name| Writable::new(name).with_context(|| cannot_write("--output", name));
        args.output.as_ref().map(|name| open(name).map(|file| (name, file))).transpose()
    })?;
    let [a, b] = plans;
    let turns = Turns {
        sides: [Side { name: "A", plan: a }, Side { name: "B", plan: b }],
        rounds: args.rounds.unwrap_or(ROUNDS),
        pause: Duration::from_secs_f64(args.pause),
        seed: args.seed.unwrap_or(SEED),
    };
    let names = [&sides[0], &sides[1]].map(|side| side.name.clone());
    let mut made = Rounds::new(turns.rounds, turns.seed, names, &args.settings);
    {
        let mut progress = StatusLine::new();
        turns
            .make(
                &mut |plan| runner.run(plan),
                &|time| runner.pause(time),
                &|| runner.is_interrupted(),
                &mut made,
                &mut |what| {
                    progress.show(what);
                },
            )
            .map_err(|error| program.fail(&error))?;
    }
    if made.made() == 0 {
        program.say("interrupted before the first round was complete");
        return Err(ExitCode::from(CANNOT_TELL_STATUS));
    }
    let comparison = rounds(&made, &args.settings);
    let status = report(program, args, &comparison, &made, output.as_ref())?;
    // A signal that is not the user's says more than what was measured until then.
    let ended = runner.exit_code();
    Ok(if ended == ExitCode::SUCCESS { status } else { ended })
}

fn report(
    program: &Program,
    args: &AbArgs,
    comparison: &Comparison,
    made: &Rounds,
    output: Option<&(&OsString, Writable)>,
) -> Result<ExitCode, ExitCode> {
    let status = conclude(program, comparison, args.form, Pictures::Rounds(made));
    let Some((name, file)) = output else { return Ok(status) };
    file.replace(comparison.json().as_bytes())
        .with_context(|| cannot_write("--output", name))
        .map_err(|error| program.fail(&error))?;
    Ok(status)
}
