//! `httperf run`: a workload described by a file.
//!
//! `options` has its options and joins those of the file with those of the command line, `files` reads the files, `shown`
//! prints what visits would send.

mod files;
mod options;
mod shown;

use std::ffi::OsString;
use std::io;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use httperf_command_line::args::{Args, ReportForm};
use httperf_command_line::grammar::ParseStop;
use httperf_command_line::planning;
use httperf_command_line::terminal::messages::Program;
use httperf_plan::workload_file::{self, FileProblem, Missing, OptionsFile, WorkloadFile};
use httperf_plan::{Arrivals, Plan, Workload};

use self::files::FileReader;
use self::options::RunArgs;
use crate::runner;
use crate::runner::results::ensure_run_apart;

pub use self::options::COMMAND;

/// Runs `httperf run` with these words behind it. `program` is the program itself.
#[must_use]
pub fn main(program: &Program, words: &[OsString]) -> ExitCode {
    let program = program.subcommand(COMMAND.name);
    match RunArgs::parse(words) {
        Ok(args) => run(&program.quieted(args.run.quiet), &args, words).unwrap_or_else(|status| status),
        Err(stop) => program.stop(&COMMAND.describe(), &stop),
    }
}

/// Reads the file and makes of it what was asked for. An early end has been explained when its exit status comes back.
fn run(program: &Program, args: &RunArgs, words: &[OsString]) -> Result<ExitCode, ExitCode> {
    let text = FileReader::text(&args.file).map_err(|error| program.fail(&error))?;
    let options = if is_hurl(&args.file) { Ok(None) } else { workload_file::read_options(&args.file, &text) };
    if let Some(file) = options.map_err(|problems| tell(program, &problems))? {
        return run_options(program, args, &file, words);
    }
    let stop = |stop: ParseStop| program.stop(&COMMAND.describe(), &stop);
    options::check_fit(words).and_then(|()| options::check_base(args)).map_err(stop)?;
    let mut files = FileReader::beside(&args.file);
    let file = read(args, &text, &mut files).map_err(|problems| tell(program, &problems))?;
    options::check_variables(args, &file).map_err(stop)?;
    let mut joined = options::join(&file, words).map_err(|problems| tell(program, &problems))?;
    choose_report(&mut joined);
    joined.asks_nobody = args.checks_only || args.shows_only;
    let plan = planning::plan_of_file(program, &joined, &file, &mut |warning| program.warn(warning))
        .map_err(|error| error.explain(program))?;
    files.read.push(args.file.clone());
    let gaps = match &plan.workload {
        Workload::Scenarios(scenarios) => scenarios.gaps(),
        _ => Vec::new(),
    };
    if args.checks_only {
        if !gaps.is_empty() {
            gaps.iter().for_each(|gap| program.say_bare(gap));
            return Err(fail_with(program, gaps.len()));
        }
        ensure_run_apart(&joined, &plan, &files.read).map_err(|error| program.fail(&error))?;
        return Ok(nothing_is_wrong(program, args));
    }
    if args.shows_only {
        return program.print(&shown::visits(&plan, args.visits_shown())).map(|()| ExitCode::SUCCESS);
    }
    let plan =
        plan.edit(|plan| plan.watch.steps = args.traces).map_err(|error| program.fail(&error.into()))?;
    // Some visits may never come to it.
    gaps.iter().for_each(|gap| program.warn(format_args!("{gap}; visits that come to it are abandoned")));
    warn_of_closed_loop(program, &plan);
    let is_single = matches!(&plan.workload, Workload::Scenarios(scenarios) if scenarios.count == 1);
    let status = runner::run(program, &joined, plan, &files.read);
    if is_single && is_plain(args) && io::stderr().is_terminal() {
        program.warn("one visit was made; --rate 10 --duration 30s offers load");
    }
    status
}

/// Makes the run of a file without scenarios: that of the program itself with the same options.
fn run_options(
    program: &Program,
    args: &RunArgs,
    file: &OptionsFile,
    words: &[OsString],
) -> Result<ExitCode, ExitCode> {
    let stop = |stop: ParseStop| program.stop(&COMMAND.describe(), &stop);
    options::check_without_scenarios(args).map_err(stop)?;
    let line = options::command_line(file, words).map_err(|problems| tell(program, &problems))?;
    let mut joined = Args::default();
    joined.parse(&line).map_err(stop)?;
    joined.notices.iter().for_each(|notice| program.warn(notice));
    choose_report(&mut joined);
    joined.asks_nobody = args.checks_only;
    let plan = planning::plan(program, &joined, &mut |warning| program.warn(warning))
        .map_err(|error| error.explain(program))?;
    let read = std::slice::from_ref(&args.file);
    if args.checks_only {
        ensure_run_apart(&joined, &plan, read).map_err(|error| program.fail(&error))?;
        return Ok(nothing_is_wrong(program, args));
    }
    runner::run(program, &joined, plan, read)
}

/// Prints the answer on a terminal and the full report elsewhere: no script knows this command from the classic tool.
fn choose_report(args: &mut Args) {
    args.report = args.report.or(ReportForm::Answer, ReportForm::Full);
}

fn nothing_is_wrong(program: &Program, args: &RunArgs) -> ExitCode {
    program.say_bare(format!("{}: nothing is wrong", args.file_name()));
    ExitCode::SUCCESS
}

fn is_hurl(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("hurl"))
}

/// Returns whether nothing was said about how many visits to make.
fn is_plain(args: &RunArgs) -> bool {
    args.visits.is_none() && args.run.arrivals == Arrivals::Sequential
}

fn read(args: &RunArgs, text: &str, files: &mut FileReader) -> Result<WorkloadFile, Vec<FileProblem>> {
    let path = &args.file;
    let read = if is_hurl(path) { workload_file::of_hurl } else { workload_file::read };
    read(path, text, files, &args.given())
}

/// A command line of `httperf run` that is to be carried out elsewhere.
#[derive(Debug)]
pub(crate) struct Elsewhere {
    /// Its options, joined with those of the workload file.
    pub(crate) args: Args,
    /// The workload file and all that it names.
    pub(crate) files: Vec<PathBuf>,
}

/// Checks the words behind `httperf run` without the options that only print something.
///
/// # Errors
/// The mistake in them.
pub(crate) fn elsewhere_words(words: &[OsString]) -> Result<(Args, PathBuf), ParseStop> {
    let args = RunArgs::parse(words)?;
    match [("--check", args.checks_only), ("--dry-run", args.shows_only)]
        .into_iter()
        .find(|(_, given)| *given)
    {
        Some((option, _)) => {
            Err(ParseStop::rejected(format!("{option}: expected a run, not a look at its file")))
        }
        None => Ok((args.run, args.file)),
    }
}

/// Reads the workload file of a run that is to be carried out elsewhere. An early end has been explained.
///
/// # Errors
/// The exit status, if something is wrong with the files.
pub(crate) fn elsewhere(
    program: &Program,
    words: &[OsString],
    plan: impl FnOnce(&Args, Option<&WorkloadFile>) -> Result<(), planning::Error>,
) -> Result<Elsewhere, ExitCode> {
    let stop = |stop: ParseStop| program.stop(&COMMAND.describe(), &stop);
    let args = RunArgs::parse(words).map_err(stop)?;
    let text = FileReader::text(&args.file).map_err(|error| program.fail(&error))?;
    let options = if is_hurl(&args.file) { Ok(None) } else { workload_file::read_options(&args.file, &text) };
    let mut files = FileReader::beside(&args.file);
    files.read.push(args.file.clone());
    let (joined, file) = match options.map_err(|problems| tell(program, &problems))? {
        Some(file) => {
            options::check_without_scenarios(&args).map_err(stop)?;
            let line = options::command_line(&file, words).map_err(|problems| tell(program, &problems))?;
            let mut joined = Args::default();
            joined.parse(&line).map_err(stop)?;
            (joined, None)
        }
        None => {
            options::check_fit(words).and_then(|()| options::check_base(&args)).map_err(stop)?;
            let file = read(&args, &text, &mut files).map_err(|problems| tell(program, &problems))?;
            options::check_variables(&args, &file).map_err(stop)?;
            let joined = options::join(&file, words).map_err(|problems| tell(program, &problems))?;
            (joined, Some(file))
        }
    };
    plan(&joined, file.as_ref()).map_err(|error| error.explain(program))?;
    Ok(Elsewhere { args: joined, files: files.read })
}

/// Prints all problems, with their number if there are several.
fn tell(program: &Program, problems: &[FileProblem]) -> ExitCode {
    for problem in problems {
        // The hint, which is the last line, goes on with the option.
        match problem.missing_value() {
            Some(Missing::Base) => program.say_bare(format_args!("{problem}, or --base URL")),
            Some(Missing::Variable(name)) => {
                program.say_bare(format_args!("{problem}, or --variable {name}=VALUE"));
            }
            None => program.say_bare(problem),
        }
    }
    fail_with(program, problems.len())
}

/// Ends with this many problems, which have been told.
fn fail_with(program: &Program, problems: usize) -> ExitCode {
    if problems > 1 {
        program.say(format_args!("{problems} problems"));
    }
    ExitCode::FAILURE
}

/// A closed loop slows down when the server does, and does not see it.
fn warn_of_closed_loop(program: &Program, plan: &Plan) {
    if let (Arrivals::Concurrent(users), Workload::Scenarios(_)) = (&plan.arrivals, &plan.workload) {
        program.warn(format_args!(
            "{users} users wait for replies before they go on: a slow server is asked less, and its latency looks \
             better than visitors would find it"
        ));
    }
}
