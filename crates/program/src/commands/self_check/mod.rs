//! `httperf self-check`: how exact this machine's measurements are, and how much load it can offer.
//!
//! Here are its options and what is done in which order; `latency`, `kernel`, `schedule`, `streams` and `capacity` measure.

mod capacity;
mod capture;
mod kernel;
mod lab;
mod latency;
mod results;
mod schedule;
mod spread;
mod streams;
mod table;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::anyhow;
use httperf_command_line::args;
use httperf_command_line::grammar::{self, Command, Group, Opt, Order, ParseStop};
use httperf_command_line::planning;
use httperf_command_line::terminal::messages::Program;
use httperf_command_line::terminal::status_line::StatusLine;
use httperf_run::known_capacity::{self, FORMAT, VERSION};
use httperf_run::machine::MachineIdentity;

use self::capacity::{CALLS_PER_CONNECTION, Effort, Highest, Unit};
use self::kernel::StampedProtocol;
use self::lab::{Lab, Process};
use self::results::{Bounds, CapacityFigures, CheckResults};
use self::table::Table;
use crate::runner::Runner;

/// Runs `httperf self-check` with these words behind it. `program` is the program itself.
#[must_use]
pub fn main(program: &Program, words: &[OsString]) -> ExitCode {
    let program = program.subcommand(COMMAND.name);
    let mut args = SelfCheckArgs::default();
    match grammar::parse(&COMMAND, words, Order::from_environment(), &mut args) {
        Ok(()) => check(&program, &args).unwrap_or_else(|status| status),
        Err(stop) => program.stop(&COMMAND.describe(), &stop),
    }
}

/// Measures, reports and keeps the results. An early end has been explained when its exit status comes back.
fn check(program: &Program, args: &SelfCheckArgs) -> Result<ExitCode, ExitCode> {
    let results = measure(program, args).map_err(|error| program.fail(&error))?;
    let json = results.json();
    program.print_with(|out| {
        if args.json { out.write_all(json.as_bytes()) } else { write!(out, "{}", Table(&results)) }
    })?;
    if !args.no_store
        && let Err(reason) = known_capacity::keep(&json)
    {
        program.say(format_args!("warning: {reason}"));
    }
    Ok(if results.exceeded.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(EXCEEDED_STATUS) })
}

/// The exit status for a machine that is not within bounds.
const EXCEEDED_STATUS: u8 = 2;

fn measure(program: &Program, args: &SelfCheckArgs) -> anyhow::Result<CheckResults> {
    // The runs have no options.
    let usual = args::Args { server: Some(b"127.0.0.1".to_vec()), ..args::Args::default() };
    let base = planning::plan(program, &usual, &mut |warning| program.say(warning))
        .map_err(|error| anyhow!(error.text()))?;
    let runner = Runner::unrehearsed()?;
    let settings = args.settings();
    let machine = MachineIdentity::this();
    let lab = Lab::new(base, &runner);
    let mut progress = StatusLine::open();

    let mut latency = Vec::new();
    for process in Process::ALL {
        progress.show(&format!("latency, {} arrivals", process.word()));
        latency.extend(latency::measure(&lab, &settings.latency, process)?);
    }
    let mut latency_by_kernel = Vec::new();
    for protocol in StampedProtocol::ALL {
        progress.show(&format!("latency by the kernel's stamps, {}", protocol.word()));
        latency_by_kernel.extend(kernel::measure(&lab, &settings.latency, protocol)?);
    }
    let mut schedule = Vec::new();
    for process in Process::ALL {
        for &rate in &settings.rates {
            progress.show(&format!("schedule, {} arrivals at {rate}/s", process.word()));
            schedule.push(schedule::measure(&lab, process, rate, settings.schedule)?);
        }
    }
    let mut event_times = Vec::new();
    for protocol in streams::StreamProtocol::ALL {
        progress.show(&format!("events of streams, {}", protocol.word()));
        event_times.push(streams::measure(&lab, &settings.streams, protocol)?);
    }
    let mut highest = |unit: Unit, what: &str| -> anyhow::Result<Highest> {
        let search = unit.search(settings.effort);
        capacity::measure(&lab, unit, search, settings.trial, &mut |rate| {
            progress.show(&format!("capacity, {rate:.0} {what}/s"));
        })
    };
    let capacity = CapacityFigures {
        connections: highest(Unit::Connections, "connections")?,
        requests: highest(Unit::Requests, "requests")?,
        calls_per_connection: CALLS_PER_CONNECTION,
        servers: lab.server_count(),
    };
    let bounds = Bounds::DOCUMENTED;
    Ok(CheckResults {
        format: FORMAT,
        version: VERSION,
        finished_unix_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        quick: args.quick,
        machine,
        processors_split: lab.is_split(),
        kept_waiting_share: spread::rounded(lab.kept_waiting_share()),
        capture_refused: lab.capture_refused.borrow().clone(),
        exceeded: bounds.exceeded(&latency, &schedule),
        latency,
        latency_by_kernel,
        schedule,
        event_times,
        capacity,
        bounds,
    })
}

/// The arguments.
#[derive(Clone, Debug, Default)]
pub struct SelfCheckArgs {
    /// `--quick`.
    quick: bool,
    /// `--json`.
    json: bool,
    /// `--no-store`.
    no_store: bool,
    /// `--rate`, in the order given.
    rates: Vec<f64>,
}

/// The lengths of the measurements.
#[derive(Debug)]
struct CheckSettings {
    latency: latency::LatencySettings,
    rates: Vec<f64>,
    /// Each rate of the schedule.
    schedule: Duration,
    streams: streams::StreamSettings,
    /// Each trial of the capacity.
    trial: Duration,
    /// The effort of the search for the capacity.
    effort: Effort,
}

const DELAYS: &[Duration] =
    &[Duration::ZERO, Duration::from_millis(1), Duration::from_millis(10), Duration::from_millis(100)];

/// Rates of the schedule, unless `--rate` is given.
const RATES: &[f64] = &[100.0, 1000.0, 5000.0];

/// The range of `--rate`: more are not offered on one thread, and fewer take too long to be a sample.
const RATE_MIN: f64 = 50.0;
const RATE_MAX: f64 = 100_000.0;

/// The most rates that can be asked for.
const RATES_MAX: usize = 10;

impl SelfCheckArgs {
    fn settings(&self) -> CheckSettings {
        let rates = if self.rates.is_empty() { RATES } else { &self.rates }.to_vec();
        if self.quick {
            CheckSettings {
                latency: latency::LatencySettings {
                    delays: &DELAYS[..3],
                    rate: 400.0,
                    duration: Duration::from_millis(900),
                },
                rates,
                schedule: Duration::from_millis(400),
                streams: streams::StreamSettings { streams: 100, duration: Duration::from_millis(800) },
                trial: Duration::from_millis(400),
                effort: Effort { bisections: 2, attempts: 2 },
            }
        } else {
            CheckSettings {
                latency: latency::LatencySettings {
                    delays: DELAYS,
                    rate: 400.0,
                    duration: Duration::from_secs(4),
                },
                rates,
                schedule: Duration::from_secs(2),
                streams: streams::StreamSettings { streams: 1000, duration: Duration::from_secs(3) },
                trial: Duration::from_secs(1),
                effort: Effort { bisections: 4, attempts: 3 },
            }
        }
    }
}

/// The command line of `httperf self-check`.
pub const COMMAND: Command<SelfCheckArgs> = Command {
    name: "self-check",
    summary: "Measures how exact this machine's measurements are, and how much load it can offer.",
    words: "",
    groups: &[
        Group { title: "Extent", options: EXTENT },
        Group { title: "Results", options: RESULTS },
        Group { title: "General", options: GENERAL },
    ],
    also: None,
    word: |_, word| Err(ParseStop::rejected([b"expected nothing but options, got `", word, b"`"].concat())),
};

const EXTENT: &[Opt<SelfCheckArgs>] = &[
    Opt::flag("quick", "takes about 20 seconds instead of a minute")
        .details(&["Fewer samples and a coarser search; the delay of 100 ms is left out."])
        .apply(|args, _| {
            args.quick = true;
            Ok(())
        }),
    Opt::with_value(
        "rate",
        "X",
        "checks how exactly X arrivals per second keep their schedule; may be repeated",
    )
    .details(&["Default: 100, 1000 and 5000. Range: 50 to 100000; at most ten of them. Each takes some 4 \
             seconds, or one with --quick."])
    .apply(|args, value| {
        let rate = value.per_second().filter(|rate| (RATE_MIN..=RATE_MAX).contains(rate));
        let rate = rate.ok_or_else(|| value.expected("a number from 50 to 100000"))?;
        if args.rates.len() == RATES_MAX {
            return Err(value.expected("at most ten rates"));
        }
        args.rates.push(rate);
        Ok(())
    }),
];

const RESULTS: &[Opt<SelfCheckArgs>] = &[
    Opt::flag("json", "prints JSON instead of a table")
        .details(&["docs/reference/self-check.md describes it."])
        .apply(|args, _| {
            args.json = true;
            Ok(())
        }),
    Opt::flag("no-store", "does not keep the results")
        .details(&[
            "Otherwise they replace those in $XDG_STATE_HOME/httperf/self-check.json (in ~/.local/state, \
             unless that is set), by which later runs know the capacity of this machine.",
        ])
        .apply(|args, _| {
            args.no_store = true;
            Ok(())
        }),
];

const GENERAL: &[Opt<SelfCheckArgs>] = &[Opt::help()];

#[cfg(test)]
mod tests {
    use httperf_command_line::grammar::parse::words;

    use super::*;

    fn parsed(argv: &[&str]) -> Result<SelfCheckArgs, ParseStop> {
        let mut args = SelfCheckArgs::default();
        grammar::parse(&COMMAND, &words(argv), Order::Mixed, &mut args).map(|()| args)
    }

    #[test]
    fn rates_replace_the_usual_ones() {
        assert_eq!(parsed(&[]).unwrap().settings().rates, RATES);
        let settings = parsed(&["--quick", "--rate=200", "--rate", "1e3"]).unwrap().settings();
        assert_eq!((settings.rates, settings.latency.delays.len()), (vec![200.0, 1000.0], 3));
    }

    #[test]
    fn what_means_nothing_is_refused() {
        let eleven = ["--rate=50"; 11];
        for (argv, message) in [
            (&["--rate=0"][..], "--rate: expected a number from 50 to 100000, got `0`"),
            (&["--rate=49.9"], "--rate: expected a number from 50 to 100000, got `49.9`"),
            (&["--rate=nan"], "--rate: expected a number from 50 to 100000, got `nan`"),
            (&["--rate=fast"], "--rate: expected a number from 50 to 100000, got `fast`"),
            (&eleven, "--rate: expected at most ten rates, got `50`"),
            (&["now"], "expected nothing but options, got `now`"),
        ] {
            assert_eq!(parsed(argv).map(drop), Err(ParseStop::rejected(message)), "{argv:?}");
        }
    }

    #[test]
    fn every_option_is_described_in_one_line_without_full_stop() {
        for option in COMMAND.options() {
            assert!(!option.help.is_empty() && option.help.len() <= 90, "--{}", option.long);
            assert!(!option.help.ends_with('.'), "--{}", option.long);
            assert!(option.details.iter().all(|paragraph| paragraph.ends_with('.')), "--{}", option.long);
        }
    }
}
