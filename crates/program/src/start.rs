//! Where the program begins: a command, or else the options of a run.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

use httperf_command_line::args::{Args, ReportForm};
use httperf_command_line::echo;
use httperf_command_line::grammar::ParseStop;
use httperf_command_line::hints;
use httperf_command_line::planning;
use httperf_command_line::terminal::messages::Program;
use httperf_command_line::workload_file;

use crate::commands::{self, SUBCOMMANDS, idleconn};
use crate::runner;

/// Does what the words of this process say, and returns its exit status.
#[must_use]
pub fn main() -> ExitCode {
    runner::let_full_files_be_errors();
    let argv: Vec<OsString> = std::env::args_os().collect();
    let (program, words) = match argv.split_first() {
        Some((typed, words)) => (Program::started_as(typed), words),
        None => (Program::started_as(&"httperf".into()), &[][..]),
    };
    if program.name() == idleconn::COMMAND.name.as_bytes() {
        return idleconn::main(&program, words);
    }
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
    if args.prints_workload {
        let text = workload_file::text(&args)
            .map_err(|stop| program.stop(&commands::program_description(), &stop))?;
        return program.print(text.as_bytes()).map(|()| ExitCode::SUCCESS);
    }
    let is_echoed = !args.results.document_on_stdout() && args.report_form() != ReportForm::Answer;
    if is_echoed && runner::prints_report(&args) {
        program.print(&echo::line(program.name(), &args))?;
    }
    let plan = planning::plan(program, &args, &mut |warning| program.warn(warning))
        .map_err(|error| error.explain(program))?;
    if let Some(note) = args.implied_end() {
        program.warn(note);
    }
    let is_shown = io::stderr().is_terminal();
    let note = args.short_run_note().filter(|_| is_shown || args.url().is_some());
    let tell = || note.iter().for_each(|note| program.warn(note));
    if !is_shown {
        tell();
    }
    let status = runner::run(program, &args, plan, &[]);
    // On a terminal, the last lines are those that are seen.
    if is_shown {
        tell();
    }
    status
}

fn parse(program: &Program, words: &[OsString]) -> Result<Args, ExitCode> {
    check_first_word(words).map_err(|stop| program.stop(&commands::program_description(), &stop))?;
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

/// Refuses a misspelt command, and explains the program to a person who types its name alone. A script that does so loads
/// the default server, as ever.
fn check_first_word(words: &[OsString]) -> Result<(), ParseStop> {
    let Some(first) = words.first() else {
        let is_person = io::stdin().is_terminal() && io::stdout().is_terminal();
        return if is_person { Err(ParseStop::Print(commands::help::overview())) } else { Ok(()) };
    };
    match hints::misspelt_command(first) {
        Some(command) => {
            let typed = first.to_string_lossy();
            let message = format!("expected a command or a URL, got `{typed}`");
            Err(ParseStop::rejected(message).with_hint(Some(format!("did you mean {command}?"))))
        }
        None => Ok(()),
    }
}
