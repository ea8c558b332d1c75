//! Offers HTTP load to a server and reports what came back.

use std::ffi::OsString;
use std::process::ExitCode;

use httperf::command_line::args::Args;
use httperf::command_line::echo;
use httperf::command_line::planning;
use httperf::commands::{self, SUBCOMMANDS};
use httperf::runner;
use httperf::terminal::messages::Program;

fn main() -> ExitCode {
    let argv: Vec<OsString> = std::env::args_os().collect();
    let (program, words) = match argv.split_first() {
        Some((typed, words)) => (Program::started_as(typed), words),
        None => (Program::started_as(&"httperf".into()), &[][..]),
    };
    let named = words.split_first().and_then(|(word, rest)| {
        let subcommand = SUBCOMMANDS.iter().find(|subcommand| *word == subcommand.name)?;
        Some((subcommand, rest))
    });
    match named {
        Some((subcommand, rest)) => (subcommand.main)(&program, rest),
        None => offer_load(&program, words).unwrap_or_else(|status| status),
    }
}

/// The program without a subcommand. An early end has been explained when its exit status comes back.
fn offer_load(program: &Program, words: &[OsString]) -> Result<ExitCode, ExitCode> {
    let args = parse(program, words)?;
    let program = &program.quieted(args.quiet);
    if !args.results.document_on_stdout() {
        program.print(&echo::line(program.name(), &args))?;
    }
    let plan = planning::plan(program, &args, &mut |warning| program.warn(warning))
        .map_err(|error| error.explain(program))?;
    runner::run(program, &args, plan)
}

fn parse(program: &Program, words: &[OsString]) -> Result<Args, ExitCode> {
    let mut args = Args::default();
    let parsed = args.parse(words);
    let program = &program.quieted(args.quiet);
    for notice in &args.notices {
        program.warn(notice);
    }
    parsed.map_err(|stop| program.stop(&commands::program_description(), &stop))?;
    if let Some(warning) = args.stray_words_warning() {
        program.warn(warning);
    }
    Ok(args)
}
