//! Offers HTTP load to a server and reports what came back.

use std::ffi::OsString;
use std::process::ExitCode;

use httperf::args::Args;
use httperf::messages::Program;
use httperf::results::{merge, report, rerun};
use httperf::{
    ab, capacity, compare, doctor, echo, options, planning, plot, run, self_check, serve, sweep, tls_lab,
};

fn main() -> ExitCode {
    let argv: Vec<OsString> = std::env::args_os().collect();
    let (program, words) = match argv.split_first() {
        Some((typed, words)) => (Program::started_as(typed), words),
        None => (Program::started_as(&"httperf".into()), &[][..]),
    };
    match words.split_first() {
        Some((word, words)) if *word == ab::COMMAND.name => ab::main(&program, words),
        Some((word, words)) if *word == compare::COMMAND.name => compare::main(&program, words),
        Some((word, words)) if *word == capacity::COMMAND.name => capacity::main(&program, words),
        Some((word, words)) if *word == doctor::COMMAND.name => doctor::main(&program, words),
        Some((word, words)) if *word == self_check::COMMAND.name => self_check::main(&program, words),
        Some((word, words)) if *word == serve::COMMAND.name => serve::main(&program, words),
        Some((word, words)) if *word == sweep::COMMAND.name => sweep::main(&program, words),
        Some((word, words)) if *word == tls_lab::COMMAND.name => tls_lab::main(&program, words),
        Some((word, words)) if *word == report::COMMAND.name => report::main(&program, words),
        Some((word, words)) if *word == merge::COMMAND.name => merge::main(&program, words),
        Some((word, words)) if *word == plot::COMMAND.name => plot::main(&program, words),
        Some((word, words)) if *word == rerun::COMMAND.name => rerun::main(&program, words),
        _ => offer_load(&program, words).unwrap_or_else(|status| status),
    }
}

/// The program without a subcommand. An early end has been explained when its exit status comes back.
fn offer_load(program: &Program, words: &[OsString]) -> Result<ExitCode, ExitCode> {
    let args = parse(program, words)?;
    let program = &program.quieted(args.quiet);
    if !args.results.document_on_stdout() {
        program.print(&echo::line(program.name(), &args))?;
    }
    let plan = planning::plan(program, &args, &mut |warning| program.warn(warning)).map_err(|error| {
        program.say_bytes(error.text().as_bytes());
        error.status()
    })?;
    run::run(program, &args, plan)
}

fn parse(program: &Program, words: &[OsString]) -> Result<Args, ExitCode> {
    let mut args = Args::default();
    let parsed = args.parse(words);
    let program = &program.quieted(args.quiet);
    for notice in &args.notices {
        program.warn(notice);
    }
    parsed.map_err(|stop| program.stop(&options::program::COMMAND.describe(), &stop))?;
    if let Some(warning) = args.stray_words_warning() {
        program.warn(warning);
    }
    Ok(args)
}
