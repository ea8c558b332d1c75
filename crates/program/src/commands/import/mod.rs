//! `httperf import`: recordings as workload files and traces.
//!
//! The crate `httperf-import` reads the recordings; here are the options, the files, and the account of what was
//! carried over.

mod nearby;
mod output;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use httperf_command_line::args::{STDOUT, os_string};
use httperf_command_line::grammar::{self, Command, Group, Opt, Order, ParseStop};
use httperf_command_line::terminal::messages::Program;
use httperf_import::clients::{By, IDLE};
use httperf_import::log::Format;
use httperf_import::workload::Workload;
use httperf_import::{Error, Report, curl, goreplay, gzip, har, log, openapi};

use self::output::{Failure, Imported, Output};
use crate::commands::recordings;

/// The command line of `httperf import`.
pub const COMMAND: Command<ImportArgs> = Command {
    name: "import",
    summary: "Makes a workload or a trace of a recording: an access log, HAR, curl, OpenAPI, GoReplay.",
    words: "log|har|curl|openapi|goreplay FILE",
    groups: &[
        Group { title: "Recording", options: RECORDING },
        Group { title: "Output", options: OUTPUT },
        Group { title: "General", options: &[Opt::help()] },
    ],
    also: None,
    word: |args, word| {
        args.words.push(os_string(word));
        Ok(())
    },
};

const RECORDING: &[Opt<ImportArgs>] = &[
    Opt::with_value("format", "FORMAT", "reads a log in this format").common().details(recordings::FORMAT).apply(
        |args, value| {
            args.format = Some(recordings::format(value)?.0);
            Ok(())
        },
    ),
    Opt::with_value("client-by", "PARTS", "tells clients apart by address, agent and user, joined by `+`")
        .details(recordings::CLIENT_BY)
        .apply(|args, value| {
            args.by = Some(recordings::client_by(value)?.0);
            Ok(())
        }),
    Opt::with_value("idle", "X", "ends a client's session after a pause of X seconds")
        .details(&["Default: 1800."])
        .apply(|args, value| {
            args.idle = Some(recordings::idle(value)?);
            Ok(())
        }),
    Opt::flag("all-origins", "takes the requests of a HAR to all servers, not to the main one alone").common().apply(
        |args, _| {
            args.all_origins = true;
            Ok(())
        },
    ),
    Opt::flag("one-visit", "makes one scenario of all pages of a HAR, and not one of each")
        .details(&[
            "For pages that need what an earlier one has set, such as a login: a visit begins without cookies.",
        ])
        .apply(|args, _| {
            args.one_visit = true;
            Ok(())
        }),
];

const OUTPUT: &[Opt<ImportArgs>] = &[
    Opt::with_value("output", "NAME", "writes the trace to this file, or the workload into this folder")
        .common()
        .short('o')
        .details(&[
            "log and goreplay make a trace, by default FILE's name with .trace; har, curl and openapi a workload \
             (a .toml file, and .hurl files with the steps), by default in a folder with FILE's name. Both are in \
             the current folder. `-` writes a trace, or the only file of steps, to standard output.",
        ])
        .apply(|args, value| {
            if value.bytes().is_empty() {
                return Err(value.expected("the name of a file or a folder"));
            }
            args.output = Some(value.os_str().to_owned());
            Ok(())
        }),
    Opt::flag("force", "replaces files that exist").common().apply(|args, _| {
        args.force = true;
        Ok(())
    }),
];

/// The arguments.
#[derive(Debug, Default)]
pub struct ImportArgs {
    words: Vec<OsString>,
    format: Option<Format>,
    by: Option<By>,
    idle: Option<Duration>,
    all_origins: bool,
    one_visit: bool,
    output: Option<OsString>,
    force: bool,
}

/// A kind of recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Log,
    Har,
    Curl,
    OpenApi,
    GoReplay,
}

const KINDS: [(&str, Kind); 5] = [
    ("log", Kind::Log),
    ("har", Kind::Har),
    ("curl", Kind::Curl),
    ("openapi", Kind::OpenApi),
    ("goreplay", Kind::GoReplay),
];

/// Returns whether a word is the name of a kind of recording.
pub(super) fn is_kind(word: &str) -> bool {
    KINDS.iter().any(|(name, _)| *name == word)
}

/// Runs `httperf import` with these words behind it. `program` is the program itself.
#[must_use]
pub fn main(program: &Program, words: &[OsString]) -> ExitCode {
    let program = program.subcommand(COMMAND.name);
    let mut args = ImportArgs::default();
    let parsed = grammar::parse(&COMMAND, words, Order::from_environment(), &mut args);
    let (kind, file) = match parsed.and_then(|()| args.checked()) {
        Ok(checked) => checked,
        Err(stop) => return program.stop(&COMMAND.describe(), &stop),
    };
    match import(&program, &args, kind, &file) {
        Ok(Imported { report, next }) => {
            program.say_bare(report.to_string().trim_end());
            if let Some(next) = next {
                program.say_bare(format_args!("next: {next}"));
            }
            ExitCode::SUCCESS
        }
        Err(Failure::Recording(error)) => {
            program.say(error.about(&file.to_string_lossy()));
            ExitCode::FAILURE
        }
        Err(Failure::Other(error)) => program.fail(&error),
        Err(Failure::Stdout(status)) => status,
    }
}

impl ImportArgs {
    /// The kind and the file, if the options fit the kind.
    fn checked(&self) -> Result<(Kind, OsString), ParseStop> {
        let names = || KINDS.map(|(name, _)| name).join(", ");
        let Some(word) = self.words.first() else {
            return Err(ParseStop::rejected(format!("expected a kind of recording ({}), got none", names())));
        };
        let shown = word.to_string_lossy();
        let Some((name, kind)) = KINDS.into_iter().find(|(name, _)| word == name) else {
            let message = format!("expected a kind of recording ({}), got `{shown}`", names());
            return Err(ParseStop::rejected(message));
        };
        let [_, file] = &self.words[..] else {
            let count = self.words.len() - 1;
            return Err(ParseStop::rejected(format!("{name}: expected the name of one file, got {count}")));
        };
        let makes_trace = matches!(kind, Kind::Log | Kind::GoReplay);
        for (option, is_given, fits) in [
            ("--format", self.format.is_some(), kind == Kind::Log),
            ("--client-by", self.by.is_some(), makes_trace),
            ("--idle", self.idle.is_some(), makes_trace),
            ("--all-origins", self.all_origins, kind == Kind::Har),
            ("--one-visit", self.one_visit, kind == Kind::Har),
        ] {
            if is_given && !fits {
                return Err(ParseStop::rejected(format!("{option}: does nothing for {name}")));
            }
        }
        Ok((kind, file.clone()))
    }
}

fn import(program: &Program, args: &ImportArgs, kind: Kind, file: &OsStr) -> Result<Imported, Failure> {
    let output = Output {
        program,
        name: args.output.as_deref(),
        force: args.force,
        recording: file,
        stem: stem(file),
    };
    let (by, idle) = (args.by.unwrap_or_default(), args.idle.unwrap_or(IDLE));
    match kind {
        Kind::Log => {
            let options = log::Options { format: args.format.clone(), by, idle };
            output.trace(|out| log::to_trace(open(file)?, &options, out))
        }
        Kind::GoReplay => {
            output.trace(|out| goreplay::to_trace(open(file)?, goreplay::Options { by, idle }, out))
        }
        Kind::Har => {
            let options = har::Options { all_origins: args.all_origins, one_visit: args.one_visit };
            workload(&output, har::read(open(file)?, options))
        }
        Kind::Curl => {
            let mut files = |path: &str| nearby::read(file, path);
            workload(&output, curl::read(open(file)?, &output.stem, &mut files))
        }
        Kind::OpenApi => workload(&output, openapi::read(open(file)?, &output.stem)),
    }
}

fn workload(output: &Output<'_>, read: Result<(Workload, Report), Error>) -> Result<Imported, Failure> {
    let (workload, report) = read?;
    let next = output.workload(&workload)?;
    Ok(Imported { report, next })
}

/// Opens a file, or standard input for `-`. What is compressed by gzip is decompressed.
fn open(name: &OsStr) -> Result<BufReader<Box<dyn Read>>, Error> {
    /// The size of the reads of large logs.
    const BUFFER: usize = 256 * 1024;
    let reader: Box<dyn Read> =
        if name == STDOUT { Box::new(io::stdin().lock()) } else { Box::new(File::open(name)?) };
    let plain = gzip::plain(BufReader::with_capacity(BUFFER, reader))?;
    Ok(BufReader::with_capacity(BUFFER, Box::new(plain)))
}

/// The name of what is made: that of the file, without folder and ending.
fn stem(file: &OsStr) -> String {
    let stem = Path::new(file).file_stem().filter(|_| file != STDOUT);
    let stem = stem.map(|stem| stem.to_string_lossy().into_owned());
    let safe =
        stem.map(|stem| stem.chars().map(|letter| if letter.is_control() { '_' } else { letter }).collect());
    safe.unwrap_or_else(|| "imported".to_owned())
}
