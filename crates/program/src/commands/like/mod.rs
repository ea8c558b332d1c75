//! `httperf like`: the command that does what another tool's command line does.
//!
//! `httperf_import::words` reads other tools' command lines, each by a table in the file of the tool; `translation` has the form that they
//! share, and turns it into options of httperf.

mod ab;
mod autobench;
mod bombardier;
mod curl;
mod h2load;
mod hey;
mod oha;
mod translation;
mod vegeta;
mod wrk;

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt as _;
use std::process::{self, ExitCode};

use httperf_command_line::args::Args;
use httperf_command_line::grammar::help::wrap;
use httperf_command_line::grammar::{self, Command, Group, Opt, Order, ParseStop};
use httperf_command_line::terminal::USUAL_COLUMNS;
use httperf_command_line::terminal::messages::Program;

use self::translation::Load;
use crate::commands::sweep;

/// The command line of `httperf like`.
pub const COMMAND: Command<LikeArgs> = Command {
    name: "like",
    summary: "Prints the command that does what a command line of wrk, ab, hey, curl or another such tool does.",
    words: "TOOL [ARGUMENT]...",
    groups: &[
        Group { title: "Translation", options: OPTIONS },
        Group { title: "General", options: &[Opt::help()] },
    ],
    also: None,
    word: |args, word| {
        args.words.push(word.to_vec());
        Ok(())
    },
};

/// The arguments of `httperf like`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LikeArgs {
    /// `--run`.
    run: bool,
    /// The other tool's name, and its words.
    words: Vec<Vec<u8>>,
}

const OPTIONS: &[Opt<LikeArgs>] = &[Opt::flag("run", "runs the command instead of printing it")
    .details(&[
        "Goes before the name of the tool: ab, autobench, bombardier, curl, h2load, hey, oha, vegeta, wrk or wrk2. All \
         words behind the name are those of the tool, as in `httperf like wrk -t4 -c100 -d30s http://host/`.",
        "The command is printed on standard output, quoted for a shell. A line on standard error, `note: …`, \
         names each thing that cannot be the same, and what would measure better. docs/guide/coming-from.md \
         lists the options of each tool with their counterparts.",
    ])
    .apply(|args, _| {
        args.run = true;
        Ok(())
    })];

/// A tool whose command lines can be translated.
struct Tool {
    /// The name of its program.
    name: &'static str,
    /// Translates the words behind its name, or says in a sentence why not.
    translate: fn(&[Vec<u8>]) -> Result<Load, String>,
}

const TOOLS: &[Tool] = &[
    ab::AB,
    autobench::AUTOBENCH,
    bombardier::BOMBARDIER,
    curl::CURL,
    h2load::H2LOAD,
    hey::HEY,
    oha::OHA,
    vegeta::VEGETA,
    wrk::WRK,
    wrk::WRK2,
];

/// Runs `httperf like` with these words behind it. `program` is the program itself.
#[must_use]
pub fn main(program: &Program, words: &[OsString]) -> ExitCode {
    let command = program.subcommand(COMMAND.name);
    let mut args = LikeArgs::default();
    let parsed = grammar::parse(&COMMAND, words, Order::OptionsFirst, &mut args);
    let Translation { words, notes } = match parsed.and_then(|()| translate(&args.words)) {
        Ok(translation) => translation,
        Err(stop) => return command.stop(&COMMAND.describe(), &stop),
    };
    for note in notes {
        command.say_bare(shown(&note));
    }
    if args.run {
        return run(program, &words);
    }
    let line = [program.typed(), b" ", &quoted(&words), b"\n"].concat();
    command.print(&line).map_or_else(|status| status, |()| ExitCode::SUCCESS)
}

/// A note, in lines that fit a terminal; where nobody looks, a line for each note.
fn shown(note: &str) -> String {
    const START: &str = "note: ";
    match io::stderr().is_terminal() {
        true => {
            let between = format!("\n{:width$}", "", width = START.len());
            START.to_owned() + &wrap(note, USUAL_COLUMNS - START.len()).join(&between)
        }
        false => format!("{START}{note}"),
    }
}

/// A command line that does what another does.
#[derive(Debug)]
struct Translation {
    /// The words behind `httperf`.
    words: Vec<OsString>,
    /// Sentences about what is different.
    notes: Vec<String>,
}

/// Translates the name of a tool with its words.
fn translate(typed: &[Vec<u8>]) -> Result<Translation, ParseStop> {
    let known = || TOOLS.iter().map(|tool| tool.name).collect::<Vec<_>>().join(", ");
    let Some((name, words)) = typed.split_first() else {
        let message = format!("expected the name of a tool ({}) and its words, got none", known());
        return Err(ParseStop::rejected(message));
    };
    let name = String::from_utf8_lossy(name).into_owned();
    let base_name = name.rsplit('/').next().unwrap_or_default();
    if base_name == "k6" {
        return Err(ParseStop::rejected(NO_SCRIPTS));
    }
    let tool = TOOLS.iter().find(|tool| tool.name == base_name).ok_or_else(|| {
        ParseStop::rejected(format!("expected the name of a tool ({}), got `{name}`", known()))
    })?;
    let refused = |reason: &str| ParseStop::rejected(format!("{}: {reason}", tool.name));
    let load = (tool.translate)(words).map_err(|reason| refused(&reason))?;
    let (words, notes) = load.into_words();
    let parsed = match words.split_first() {
        Some((command, words)) if command == sweep::COMMAND.name => sweep::elsewhere_words(words).map(drop),
        _ => Args::default().parse(&words),
    };
    parsed.map_err(|stop| match stop {
        ParseStop::Usage(_) | ParseStop::Rejected { .. } => {
            refused(&format!("cannot be translated: {}", stop.text()))
        }
        other => other,
    })?;
    Ok(Translation { words, notes })
}

/// The refusal of k6, whose requests are in a program.
const NO_SCRIPTS: &str = "k6: its scripts cannot be translated; of its options, --vus 10 --duration 30s is --concurrency 10 \
                          --duration 30, --iterations N is --num-calls N, and a constant-arrival-rate is --request-rate R";

/// Words as a shell takes them.
fn quoted(words: &[OsString]) -> Vec<u8> {
    shlex::bytes::try_join(words.iter().map(|word| word.as_bytes())).expect("a command line has no NUL bytes")
}

/// Puts this program with other words in the place of this process.
fn run(program: &Program, words: &[OsString]) -> ExitCode {
    let started = std::env::current_exe()
        .map(|file| process::Command::new(file).arg0(OsStr::from_bytes(program.typed())).args(words).exec());
    let error = started.unwrap_or_else(|error| error);
    program.fail(&anyhow::Error::new(error).context("cannot start the program again"))
}
