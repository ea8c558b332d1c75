//! `httperf doctor`: what on this machine would spoil a measurement, and the command that mends it.
//!
//! Here are its options and its words; `checks` looks.

use std::ffi::OsString;
use std::fmt;
use std::net::{IpAddr, ToSocketAddrs};
use std::process::ExitCode;
use std::time::Duration;

use httperf_command_line::args::{Args, TypedUrl, os_string, unknown_word};
use httperf_command_line::grammar::help::wrap;
use httperf_command_line::grammar::{self, Command, Group, Opt, Order, ParseStop};
use httperf_command_line::planning;
use httperf_command_line::terminal::messages::Program;
use httperf_command_line::terminal::{self, USUAL_COLUMNS};
use httperf_plan::SourceAddresses;
use httperf_run::resolve;

use crate::runner::checks::{self, Finding, Level, Need, System};
use crate::runner::{Runner, probe};

/// Runs `httperf doctor` with these words behind it. `program` is the program itself.
#[must_use]
pub fn main(program: &Program, words: &[OsString]) -> ExitCode {
    let program = program.subcommand(COMMAND.name);
    let mut args = DoctorArgs::default();
    match grammar::parse(&COMMAND, words, Order::from_environment(), &mut args) {
        Ok(()) => examine(&program, &args).unwrap_or_else(|status| status),
        Err(stop) => program.stop(&COMMAND.describe(), &stop),
    }
}

/// Looks, and says what it found.
fn examine(program: &Program, args: &DoctorArgs) -> Result<ExitCode, ExitCode> {
    httperf_engine::try_sources(&args.sources).map_err(|error| {
        program.say(format_args!("--myaddr: {error}"));
        ExitCode::FAILURE
    })?;
    let first = args.url.as_ref().zip(args.rate);
    let first = first.map(|(url, rate)| first_call(ask(program, url), rate, args.connections));
    let (first, needed) = first.unzip();
    let mut findings = checks::all(&System::this(), &args.need(needed.flatten()));
    findings.extend(first);
    let columns = terminal::columns().unwrap_or(USUAL_COLUMNS).max(COLUMNS_MIN);
    let report = Report { findings: &findings, columns };
    program.print_with(|out| write!(out, "{report}"))?;
    let has_problem = findings.iter().any(|finding| finding.level == Level::Problem);
    Ok(if has_problem { ExitCode::from(PROBLEM_STATUS) } else { ExitCode::SUCCESS })
}

/// Time limit of a first call.
const FIRST_CALL_LIMIT: Duration = Duration::from_secs(2);

/// Makes a call, on a connection of its own. Returns how long both took.
///
/// # Errors
/// The reason why there was no reply, in a sentence.
fn ask(program: &Program, url: &[u8]) -> Result<Duration, String> {
    let mut args = Args::default();
    args.parse(&[os_string(url)]).map_err(|_| "no call was made, as this is no URL of a run".to_owned())?;
    let plan = planning::plan(program, &args, &mut |_| {}).map_err(|error| error.to_string())?;
    let plan = probe::probe(&plan, 1, FIRST_CALL_LIMIT);
    let run = Runner::unrehearsed().and_then(|runner| runner.run(plan.clone()));
    let summary = run.map_err(|error| format!("{error:#}"))?.summary;
    probe::slowest(&plan, &summary)
}

/// Number of connections that are open at once, from the rate of openings and the time that each lasts (J. D. C. Little, *A proof
/// for the queuing formula L = λW*, 1961).
fn open_at_once(rate: f64, lasts: Duration) -> u64 {
    // Less than a microsecond is the rounding of the product.
    (rate * lasts.as_secs_f64() - 1e-6).ceil() as u64
}

/// Finding on the connections that are open at once, after a first call, and their number, if there was a reply.
fn first_call(asked: Result<Duration, String>, rate: f64, planned: Option<u64>) -> (Finding, Option<u64>) {
    let name = "first call";
    let lasts = match asked {
        Ok(lasts) => lasts,
        Err(text) => return (Finding { level: Level::Note, name, text, remedy: None }, None),
    };
    let needed = open_at_once(rate, lasts);
    let text = format!(
        "took {:.1} ms: {rate} connections per second with a call each keep {needed} open at once",
        lasts.as_secs_f64() * 1e3
    );
    let finding = match planned.filter(|&planned| planned < needed) {
        Some(planned) => Finding {
            level: Level::Note,
            name,
            text: format!("{text}, more than the {planned} that are planned"),
            remedy: Some(format!("planning for {needed} or more, or for less per second")),
        },
        None => Finding { level: Level::Good, name, text, remedy: None },
    };
    (finding, Some(needed))
}

/// The exit status for a machine that would spoil the measurement.
const PROBLEM_STATUS: u8 = 2;

/// The arguments.
#[derive(Debug, Default)]
pub struct DoctorArgs {
    /// The URL as it was typed, and its host.
    url: Option<Vec<u8>>,
    host: Option<String>,
    /// `--rate`.
    rate: Option<f64>,
    /// `--connections`.
    connections: Option<u64>,
    /// `--myaddr`.
    sources: SourceAddresses,
    /// `--all-addresses`.
    all_addresses: bool,
    /// `--hog`.
    hog: bool,
}

/// Defaults of the plan.
const RATE: f64 = 1000.0;
const CONNECTIONS: u64 = 1000;

impl DoctorArgs {
    /// `open_at_once`: the number of connections that are open at once, if that is known.
    fn need(&self, open_at_once: Option<u64>) -> Need {
        let is_local = self.host.as_deref().is_none_or(is_loopback);
        let servers = if self.all_addresses { self.server_addresses() } else { 1 };
        Need {
            rate: self.rate.unwrap_or(RATE),
            connections: self.connections.unwrap_or(CONNECTIONS.max(open_at_once.unwrap_or_default())),
            total: u64::MAX,
            pairs: checks::pairs(&self.sources, servers, self.hog),
            is_hogging: self.hog,
            threads: 1,
            is_local,
        }
    }

    /// The number of the server's addresses that can be reached from the local ones.
    fn server_addresses(&self) -> u64 {
        let host = self.host.as_deref().unwrap_or_default();
        let source = self.sources.nth(0);
        let fits = |is_ipv4: bool| source.is_none_or(|source| source.is_ipv4() == is_ipv4);
        let addresses = resolve::all(host.as_bytes());
        addresses.iter().filter(|address| fits(address.is_ipv4())).count() as u64
    }
}

/// Returns whether a host is this machine by another name. One that cannot be resolved is not.
fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match host.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => (host, 0)
            .to_socket_addrs()
            .is_ok_and(|mut addresses| addresses.any(|address| address.ip().is_loopback())),
    }
}

/// The command line of `httperf doctor`.
pub const COMMAND: Command<DoctorArgs> = Command {
    name: "doctor",
    summary: "Looks for what on this machine would spoil a measurement, and names the command that mends it.",
    words: "[URL]",
    groups: &[
        Group { title: "What is planned", options: PLANNED },
        Group { title: "General", options: GENERAL },
    ],
    also: None,
    word: server,
};

const PLANNED: &[Opt<DoctorArgs>] = &[
    Opt::with_value("rate", "X", "checks that the machine can open this many connections per second")
        .details(&[
            "Default: 1000. Decides how many local ports wait after their connection was closed. With a URL, a first \
             call is made to see for how long a connection is open.",
        ])
        .apply(|args, value| {
            let rate = value.per_second().filter(|rate| rate.is_finite() && *rate > 0.0);
            args.rate = Some(rate.ok_or_else(|| value.expected("a number above 0"))?);
            Ok(())
        }),
    Opt::with_value("connections", "N", "checks that the machine can hold this many connections at once")
        .details(&[
            "Default: 1000, or as many as --rate keeps open at once with calls as long as the first one. Each \
             takes an open file and, for one server and local address, a port.",
        ])
        .apply(|args, value| {
            let connections = value.unsigned().filter(|&connections| connections > 0);
            let expected = || value.expected("a number above 0");
            args.connections = Some(connections.ok_or_else(expected)?);
            Ok(())
        }),
    Opt::with_value("myaddr", "S", "assumes connections from these local addresses, in turn")
        .details(&[
            "As for the program itself: a host name, an address, a range or a prefix; more than once.",
        ])
        .apply(|args, value| {
            let added = planning::source_addresses(&[value.bytes().to_vec()]);
            let added = added.map_err(|error| ParseStop::rejected(error.to_string()))?;
            for &(first, last) in added.ranges() {
                assert!(args.sources.push(first, last), "what one pool has fits into another");
            }
            Ok(())
        }),
    Opt::flag("all-addresses", "assumes connections to all addresses of the server's name, in turn").apply(
        |args, _| {
            args.all_addresses = true;
            Ok(())
        },
    ),
    Opt::flag("hog", "assumes use of all local ports from 1024, not only those the kernel hands out").apply(
        |args, _| {
            args.hog = true;
            Ok(())
        },
    ),
];

const GENERAL: &[Opt<DoctorArgs>] = &[Opt::help()];

/// Takes the word that names the server.
fn server(args: &mut DoctorArgs, word: &[u8]) -> Result<(), ParseStop> {
    let unusable =
        || ParseStop::rejected([b"expected a URL such as http://host:8080/, got `", word, b"`"].concat());
    let url = TypedUrl::from_word(word).ok_or_else(|| unknown_word(word))?.parsed.map_err(|_| unusable())?;
    if args.host.is_some() {
        return Err(unusable());
    }
    (args.url, args.host) = (Some(word.to_vec()), Some(url.host));
    Ok(())
}

/// The findings, a line for each check and another for its remedy.
struct Report<'a> {
    findings: &'a [Finding],
    /// The length of lines.
    columns: usize,
}

/// The column of what is said of a check.
const TEXT_COLUMN: usize = 24;

/// The least length of lines, where a terminal is narrower.
const COLUMNS_MIN: usize = 60;

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in self.findings {
            let level = match finding.level {
                Level::Good => "ok",
                Level::Note => "note",
                Level::Problem => "problem",
            };
            let mut start = format!("{level:<8} {:<14} ", finding.name);
            for line in wrap(&finding.text, self.columns - TEXT_COLUMN) {
                writeln!(f, "{start:<TEXT_COLUMN$}{line}")?;
                start.clear();
            }
            if let Some(remedy) = &finding.remedy {
                let remedy = format!("mended by: {remedy}");
                // A command is to be copied in one piece.
                let is_command = remedy.contains(['=', '>']);
                let width = if is_command { usize::MAX } else { self.columns - TEXT_COLUMN };
                for line in wrap(&remedy, width) {
                    writeln!(f, "{:TEXT_COLUMN$}{line}", "")?;
                }
            }
        }
        let count = |level| self.findings.iter().filter(|finding| finding.level == level).count();
        match (count(Level::Problem), count(Level::Note)) {
            (0, 0) => writeln!(f, "nothing here would spoil a measurement"),
            (0, notes) => writeln!(f, "nothing here must spoil a measurement; {notes} to note"),
            (problems, _) => writeln!(f, "{problems} would spoil a measurement"),
        }
    }
}

#[cfg(test)]
mod tests {
    use httperf_command_line::grammar::parse::words;

    use super::*;

    fn parsed(argv: &[&str]) -> Result<DoctorArgs, ParseStop> {
        let mut args = DoctorArgs::default();
        grammar::parse(&COMMAND, &words(argv), Order::Mixed, &mut args).map(|()| args)
    }

    #[test]
    fn what_is_planned_comes_from_the_options_and_the_url() {
        let need = parsed(&["--rate=5", "http://[::1]:80/", "--connections", "7"]).unwrap().need(None);
        assert_eq!((need.rate, need.connections, need.is_local), (5.0, 7, true));
        assert!(!parsed(&["https://192.0.2.1/"]).unwrap().need(None).is_local);
        assert!(!parsed(&["192.0.2.1:8080"]).unwrap().need(None).is_local);
        assert!(parsed(&[]).unwrap().need(None).is_local);
    }

    #[test]
    fn connections_are_as_many_as_are_open_at_once_unless_their_number_is_given() {
        let connections = |argv: &[&str], known| parsed(argv).unwrap().need(known).connections;
        assert_eq!(connections(&[], None), 1000);
        assert_eq!(connections(&["--rate=9"], Some(7)), 1000);
        assert_eq!(connections(&["--rate=9000"], Some(4500)), 4500);
        assert_eq!(connections(&["--rate=9000", "--connections=8"], Some(4500)), 8);
        let found = |planned| first_call(Ok(Duration::from_micros(20_400)), 5000.0, planned).0;
        assert_eq!(
            found(None).text,
            "took 20.4 ms: 5000 connections per second with a call each keep 102 open at once"
        );
        assert!(found(Some(101)).text.ends_with(", more than the 101 that are planned"));
        assert_eq!((found(Some(102)).level, found(Some(101)).level), (Level::Good, Level::Note));
    }

    #[test]
    fn ports_are_those_of_all_pairs_of_addresses() {
        let pairs = |argv: &[&str]| parsed(argv).unwrap().need(None).pairs;
        assert_eq!(pairs(&["http://127.0.0.1/", "--all-addresses"]), 1);
        assert_eq!(pairs(&["--myaddr=127.0.9.0/29", "--myaddr", "127.0.0.1-127.0.0.2"]), 10);
        assert_eq!(pairs(&["http://[::1]/", "--all-addresses", "--myaddr=::1", "--hog"]), 1);
        assert!(parsed(&["--hog"]).unwrap().need(None).is_hogging);
        let refused = "--myaddr: expected a prefix length of 0 to 32, got `10.0.0.0/40`";
        assert_eq!(parsed(&["--myaddr=10.0.0.0/40"]).map(drop), Err(ParseStop::rejected(refused)));
    }

    #[test]
    fn what_means_nothing_is_refused() {
        for (argv, message) in [
            (&["--rate=0"][..], "--rate: expected a number above 0, got `0`"),
            (&["--rate=inf"], "--rate: expected a number above 0, got `inf`"),
            (&["--connections=-3"], "--connections: expected a number above 0, got `-3`"),
            (
                &["name"],
                "expected a URL such as http://host:8080/path, got `name`\nhint: did you mean http://name/?",
            ),
            (&["ftp://host/"], "expected a URL such as http://host:8080/, got `ftp://host/`"),
            (&["http://a/", "http://b/"], "expected a URL such as http://host:8080/, got `http://b/`"),
        ] {
            assert_eq!(parsed(argv).map(drop), Err(ParseStop::rejected(message)), "{argv:?}");
        }
    }

    #[test]
    fn findings_are_aligned_with_what_mends_them_below() {
        let finding = |level, name, remedy: Option<&str>| Finding {
            level,
            name,
            text: "as it is".to_owned(),
            remedy: remedy.map(str::to_owned),
        };
        let findings =
            [finding(Level::Good, "clock", None), finding(Level::Problem, "open files", Some("ulimit"))];
        assert_eq!(
            Report { findings: &findings, columns: USUAL_COLUMNS }.to_string(),
            "ok       clock          as it is\n\
             problem  open files     as it is\n\
             \x20                       mended by: ulimit\n\
             1 would spoil a measurement\n"
        );
    }

    #[test]
    fn long_lines_are_broken_but_not_in_commands() {
        let finding = |remedy: &str| Finding {
            level: Level::Problem,
            name: "local ports",
            text: "28232 local ports for one server, 2000000 are needed at 1000 connections per second"
                .to_owned(),
            remedy: Some(remedy.to_owned()),
        };
        let findings = [
            finding("sysctl -w net.core.rmem_max=2097152 net.core.wmem_max=2097152"),
            finding("waiting until it is done, or stopping it (`top` shows what it is)"),
        ];
        assert_eq!(
            Report { findings: &findings, columns: USUAL_COLUMNS }.to_string(),
            "problem  local ports    28232 local ports for one server, 2000000 are needed at\n\
             \x20                       1000 connections per second\n\
             \x20                       mended by: sysctl -w net.core.rmem_max=2097152 net.core.wmem_max=2097152\n\
             problem  local ports    28232 local ports for one server, 2000000 are needed at\n\
             \x20                       1000 connections per second\n\
             \x20                       mended by: waiting until it is done, or stopping it\n\
             \x20                       (`top` shows what it is)\n\
             2 would spoil a measurement\n"
        );
    }
}
