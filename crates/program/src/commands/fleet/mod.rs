//! `httperf fleet`: what a scheduler takes to start a fleet, a job script or manifests.
//!
//! `line` checks the command line that all ranks are to have, `slurm` and `kubernetes` print, the latter
//! by way of `yaml`.

mod kubernetes;
mod line;
mod options;
mod slurm;
mod yaml;

use std::ffi::OsString;
use std::process::ExitCode;

use httperf_command_line::grammar::{self, Order, ParseStop};
use httperf_command_line::terminal::messages::Program;

use self::line::Line;
use self::options::{FleetArgs, Launcher};

pub use self::options::COMMAND;

/// Processors of a rank that are not for its threads: one for what watches and reports.
const SPARE_CPUS: u32 = 1;

/// Runs `httperf fleet` with these words behind it. `program` is the program itself.
#[must_use]
pub fn main(program: &Program, words: &[OsString]) -> ExitCode {
    print(program, words).unwrap_or_else(|status| status)
}

/// Prints what was asked for. An early end has been explained when its exit status comes back.
fn print(root: &Program, words: &[OsString]) -> Result<ExitCode, ExitCode> {
    let program = root.subcommand(COMMAND.name);
    let stop = |stop: ParseStop| program.stop(&COMMAND.describe(), &stop);
    let (own, behind) = match words.iter().position(|word| word == "--") {
        Some(place) => (&words[..place], Some(&words[place + 1..])),
        None => (words, None),
    };
    let mut args = FleetArgs::default();
    let parsed = grammar::parse(&COMMAND, own, Order::from_environment(), &mut args);
    parsed.map_err(|mistake| stop(if behind.is_none() { with_place(mistake) } else { mistake }))?;
    let launcher = args.launcher().map_err(stop)?;
    let ranks = args.ranks_of(launcher).map_err(stop)?;
    let behind = behind.filter(|words| !words.is_empty()).ok_or_else(|| {
        let example =
            format!("httperf fleet {} --ranks 8 -- URL --rate 1000 --duration 30s", launcher.name());
        stop(
            ParseStop::rejected("expected `--` and the command line of each rank, got none")
                .with_hint(Some(example)),
        )
    })?;
    let line = Line::checked(root, &program, launcher, behind)?;
    let cpus = args.cpus_of(&line).map_err(stop)?;
    let job = Job { args: &args, ranks, cpus, line: &line };
    let printed = match launcher {
        Launcher::Slurm => slurm::script(root, &job),
        Launcher::Kubernetes => kubernetes::manifests(&job),
    };
    let printed = printed.map_err(|error| program.fail(&error))?;
    program.print(&printed.text)?;
    if let Some(host) = &line.loopback {
        program.say_bare(format_args!(
            "warning: each rank loads `{host}`, which is its own machine or pod, and not one server"
        ));
    }
    for note in printed.notes {
        program.say_bare(format_args!("note: {note}"));
    }
    program.say_bare(format_args!("next: {}", printed.next));
    Ok(ExitCode::SUCCESS)
}

/// Adds to the message about an option that `httperf fleet` does not have, where none is behind `--`, that it may be one of
/// the ranks. An option that is near in letters is then no likely remedy.
fn with_place(mistake: ParseStop) -> ParseStop {
    match mistake {
        ParseStop::Usage(message) => {
            let line = message.split(|&byte| byte == b'\n').next().unwrap_or_default().to_vec();
            let hint = "options of the run go behind `--`: httperf fleet slurm --ranks 8 -- URL --rate 1000 --duration 30s";
            ParseStop::Usage(line).with_hint(Some(hint.to_owned()))
        }
        other => other,
    }
}

/// A fleet that a scheduler is to start.
struct Job<'a> {
    args: &'a FleetArgs,
    ranks: u32,
    /// Processors of each rank.
    cpus: u32,
    line: &'a Line,
}

/// The text for a scheduler, and what a person is told.
struct Printed {
    text: Vec<u8>,
    notes: Vec<String>,
    /// The commands to type next.
    next: String,
}
