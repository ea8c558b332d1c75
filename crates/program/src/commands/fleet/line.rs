//! The command line of each rank: checked as the rank itself will check it, but without looking up names, which are those
//! of the cluster.

use std::ffi::{OsStr, OsString};
use std::net::{IpAddr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use httperf_command_line::args::{Args, STDOUT};
use httperf_command_line::grammar::parse::{Given, given};
use httperf_command_line::grammar::{Description, Order, ParseStop};
use httperf_command_line::terminal::messages::Program;
use httperf_command_line::{planning, table};
use httperf_plan::Plan;
use httperf_plan::workload_file::WorkloadFile;

use super::options::Launcher;
use crate::commands::{SUBCOMMANDS, ab, capacity, program_description, replay, run, sweep};

/// The command line of each rank.
#[derive(Debug)]
pub(super) struct Line {
    /// The words behind the program's name, `--fleet auto` among them.
    pub(super) words: Vec<OsString>,
    /// The options of the run.
    pub(super) args: Args,
    /// The files that it reads.
    pub(super) files: Vec<PathBuf>,
    /// Those of them that are not here.
    pub(super) missing: Vec<PathBuf>,
    /// The options that write files, with these.
    pub(super) written: Vec<(&'static str, OsString)>,
    /// The first server that is of each rank's own machine, if one is.
    pub(super) loopback: Option<String>,
}

/// Commands of which fleets are made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Run,
    Replay,
    /// One that makes trials.
    Sweep,
    Capacity,
    Ab,
}

impl Kind {
    fn description(self) -> Description {
        match self {
            Self::Plain => program_description(),
            Self::Run => run::COMMAND.describe(),
            Self::Replay => replay::COMMAND.describe(),
            Self::Sweep => sweep::COMMAND.describe(),
            Self::Capacity => capacity::COMMAND.describe(),
            Self::Ab => ab::COMMAND.describe(),
        }
    }

    /// The options among the words of a command line.
    fn given(self, words: &[OsString]) -> Vec<Given> {
        let order = Order::from_environment();
        match self {
            Self::Plain => given(&table::COMMAND, words, order),
            Self::Run => given(&run::COMMAND, words, order),
            Self::Replay => given(&replay::COMMAND, words, order),
            Self::Sweep => given(&sweep::COMMAND, words, order),
            Self::Capacity => given(&capacity::COMMAND, words, order),
            Self::Ab => given(&ab::COMMAND, words, order),
        }
    }
}

/// The time that the ranks of a launcher have to come, if they need more than usual: images are fetched at different times.
const PATIENCE: [(Launcher, &str); 1] = [(Launcher::Kubernetes, "600")];

impl Line {
    /// Checks the words behind `--`. What is wrong is said by the command that they are for, and the exit status comes back.
    pub(super) fn checked(
        root: &Program,
        own: &Program,
        launcher: Launcher,
        words: &[OsString],
    ) -> Result<Self, ExitCode> {
        let (kind, name, rest) = split(own, words)?;
        let program = name.map_or_else(|| root.clone(), |name| root.subcommand(name));
        let stop = |stop: ParseStop| match stop {
            ParseStop::Usage(_) | ParseStop::Rejected { .. } => program.stop(&kind.description(), &stop),
            ParseStop::Help(_) | ParseStop::Version | ParseStop::Print(_) => {
                own.say("expected a command line that makes a run, got one that prints something");
                ExitCode::FAILURE
            }
        };
        let typed = kind.given(rest);
        let has = |option: &str| typed.iter().any(|given| given.option.long == option);
        if has("fleet") {
            own.say("--fleet: expected none behind `--`, where `httperf fleet` puts --fleet auto");
            return Err(ExitCode::FAILURE);
        }
        let rank_words = rank_words(launcher, rest, !has("meet-timeout") && !has("start-at"));
        let (mut args, mut files) = match kind {
            Kind::Plain => (plain(&program, &rank_words).map_err(stop)?, Vec::new()),
            Kind::Run => {
                run::elsewhere_words(&rank_words).map(|(args, file)| (args, vec![file])).map_err(stop)?
            }
            Kind::Replay => replay::elsewhere_words(&rank_words).map_err(stop)?,
            Kind::Sweep | Kind::Capacity | Kind::Ab => {
                let elsewhere_words = match kind {
                    Kind::Sweep => sweep::elsewhere_words,
                    Kind::Capacity => capacity::elsewhere_words,
                    _ => ab::elsewhere_words,
                };
                let (args, outputs) = elsewhere_words(&rank_words).map_err(stop)?;
                let words = name.map(OsString::from).into_iter().chain(rank_words).collect();
                let files = named_files(&args);
                let missing = files.iter().filter(|file| std::fs::metadata(file).is_err()).cloned().collect();
                let written = outputs.into_iter().filter(|(_, name)| is_file(name)).collect();
                let loopback = loopback(args.server());
                return Ok(Self { words, args, files, missing, written, loopback });
            }
        };
        if args.prints_workload {
            return Err(stop(ParseStop::Print(String::new())));
        }
        if let Some(warning) = args.stray_words_warning() {
            program.warn(warning);
        }
        files.extend(named_files(&args));
        let is_missing = |file: &&PathBuf| std::fs::metadata(file).is_err();
        let missing: Vec<PathBuf> = files.iter().filter(is_missing).cloned().collect();
        let mut on_loopback = if kind == Kind::Run { None } else { loopback(args.server()) };
        // Of a recording, only the ranks read every line.
        if missing.is_empty() && kind != Kind::Replay {
            let mut plan = |args: &Args, file: Option<&WorkloadFile>| {
                let plan = plan(&program, args, file)?;
                on_loopback = plan.targets.iter().find_map(|target| loopback(target.host.as_bytes()));
                Ok(())
            };
            if kind == Kind::Run {
                let found = run::elsewhere(&program, &rank_words, plan)?;
                files = found.files.into_iter().chain(named_files(&found.args)).collect();
                args = found.args;
            } else {
                plan(&args, None).map_err(|error| error.explain(&program))?;
            }
        }
        let words = name.map(OsString::from).into_iter().chain(rank_words).collect();
        let written = args.written_files().into_iter().filter(|(_, name)| is_file(name)).collect();
        Ok(Self { words, args, files, missing, written, loopback: on_loopback })
    }
}

/// Tells the command from the words behind it.
fn split<'a>(
    own: &Program,
    words: &'a [OsString],
) -> Result<(Kind, Option<&'static str>, &'a [OsString]), ExitCode> {
    let Some((first, rest)) = words.split_first() else { return Ok((Kind::Plain, None, words)) };
    let Some(command) = SUBCOMMANDS.iter().find(|command| *first == command.name) else {
        return Ok((Kind::Plain, None, words));
    };
    match command.name {
        "run" => Ok((Kind::Run, Some("run"), rest)),
        "replay" => Ok((Kind::Replay, Some("replay"), rest)),
        "sweep" => Ok((Kind::Sweep, Some("sweep"), rest)),
        "capacity" => Ok((Kind::Capacity, Some("capacity"), rest)),
        "ab" => Ok((Kind::Ab, Some("ab"), rest)),
        other => {
            own.say(format_args!(
                "expected `run`, `replay`, `sweep`, `capacity`, `ab` or a run without a command behind `--`, got `{other}`"
            ));
            Err(ExitCode::FAILURE)
        }
    }
}

/// The words of each rank: those of its run, behind the options that make it one of a fleet. It waits for the others as long
/// as its launcher may need, unless the options say how long.
fn rank_words(launcher: Launcher, words: &[OsString], may_wait: bool) -> Vec<OsString> {
    let patience = PATIENCE.iter().find(|(of, _)| may_wait && *of == launcher);
    let patience = patience.into_iter().flat_map(|(_, patience)| ["--meet-timeout", patience]);
    ["--fleet", "auto"].into_iter().chain(patience).map(OsString::from).chain(words.iter().cloned()).collect()
}

/// Reads the options of a run without a command.
fn plain(program: &Program, words: &[OsString]) -> Result<Args, ParseStop> {
    let mut args = Args::default();
    let parsed = args.parse(words);
    args.notices.iter().for_each(|notice| program.warn(notice));
    parsed.map(|()| args)
}

/// Makes the plan as a rank makes it, except that servers and proxies are those of the cluster, so that their names are not
/// looked up here, and that local addresses are those of other machines.
fn plan(program: &Program, args: &Args, file: Option<&WorkloadFile>) -> Result<Plan, planning::Error> {
    let mut args = Args { asks_nobody: true, ..args.clone() };
    args.my_addresses.clear();
    let mut warn = |warning| program.warn(warning);
    match file {
        Some(file) => planning::plan_of_file(program, &args, file, &mut warn),
        None => planning::plan(program, &args, &mut warn),
    }
}

/// The server, if it is one of the machine itself.
fn loopback(host: &[u8]) -> Option<String> {
    let host = std::str::from_utf8(host).ok()?;
    // A list of requests names hosts with their ports.
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let name = match host.parse::<Ipv6Addr>() {
        Ok(_) => host,
        Err(_) => name.map_or(host, |(name, _)| name).trim_matches(['[', ']']),
    };
    let is_loopback = name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    is_loopback.then(|| host.to_owned())
}

/// The files that options name to be read.
fn named_files(args: &Args) -> Vec<PathBuf> {
    args.read_files().into_iter().map(|file| PathBuf::from(file.name)).collect()
}

/// Returns true if this names a file that stays where it is written.
fn is_file(name: &OsStr) -> bool {
    name != STDOUT && !Path::new(name).starts_with("/dev")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_the_machine_itself_is_known_by_its_name() {
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1", "127.1.2.3:8080", "::1", "[::1]:80"] {
            assert_eq!(loopback(host.as_bytes()).as_deref(), Some(host));
        }
        for host in ["localhost.example", "10.0.0.1", "fe80::1", "shop:80", "1270.0.0.1"] {
            assert_eq!(loopback(host.as_bytes()), None, "{host}");
        }
    }
}
