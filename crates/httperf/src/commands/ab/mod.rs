//! `httperf ab`: two targets, or two sets of options, that take turns.
//!
//! Here are its options and its words. `turns` makes the trials; `report::compare` computes what they mean.

mod turns;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use httperf_report::compare::{Comparison, Rounds, rounds};
use httperf_report::html::Pictures;

use self::turns::{Side, Turns};
use crate::command_line::args::{Args, os_string};
use crate::command_line::grammar::{self, Command, Group, Opt, Order, Stop, Value};
use crate::command_line::planning;
use crate::command_line::table::{self, RUN};
use crate::commands::compare::{
    CANNOT_TELL_STATUS, FAIL_IF_DETAILS, FAIL_IF_HELP, FORMAT_DETAILS, FORMAT_HELP, FORMATS, Form, conclude,
    tolerances,
};
use crate::runner::Runner;
use crate::runner::results::cannot_write;
use crate::runner::results::file::Writable;
use crate::terminal::messages::Program;
use crate::terminal::status_line::StatusLine;

/// The command line of `httperf ab`.
pub const COMMAND: Command<Args> = Command {
    name: "ab",
    summary: "Compares two targets, or two sets of options, in trials that take turns, so that drift cancels.",
    words: "URL_A URL_B | --a OPTIONS --b OPTIONS [URL]",
    groups: &[
        Group { title: "Sides", options: SIDES },
        Group { title: "Trials", options: TRIALS },
        Group { title: "Comparison", options: COMPARISON },
        Group { title: "General", options: &[Opt::help()] },
    ],
    also: RUN,
    word: |args, word| {
        args.trials.ab.words.push(word.to_vec());
        Ok(())
    },
};

const SIDES: &[Opt<Args>] = &[
    Opt::new("a", "OPTIONS", "options of a run for side A alone, as a shell would split them")
        .details(&[
            "Such as --a '--tls-groups X25519' --b '--tls-groups X25519MLKEM768'. They come after those \
             of both.",
        ])
        .apply(|args, value| {
            args.trials.ab.a = Some(value.bytes().to_vec());
            Ok(())
        }),
    Opt::new("b", "OPTIONS", "options of a run for side B alone")
        .details(&["May be empty. Side A is the base, with which B is compared."])
        .apply(|args, value| {
            args.trials.ab.b = Some(value.bytes().to_vec());
            Ok(())
        }),
];

const TRIALS: &[Opt<Args>] = &[
    Opt::new("rounds", "N", "makes N rounds, each with one trial of both sides in random order")
        .details(&[
            "Default: 10. Range: 1 to 1000. Intervals become narrower with more of them; with fewer than \
             5 nothing can be told. A round in which a trial is INVALID is left out.",
        ])
        .apply(|args, value| {
            let rounds = value.unsigned().and_then(|rounds| u32::try_from(rounds).ok());
            let rounds = rounds.filter(|rounds| (1..=ROUNDS_MAX).contains(rounds));
            let expected = || Stop::expected("--rounds", "a number from 1 to 1000", value);
            args.trials.ab.rounds = Some(rounds.ok_or_else(expected)?);
            Ok(())
        }),
    Opt::new("trial", "X", "measures X seconds in each trial")
        .details(&["Default: 3. The same as --duration. A workload that ends by itself may end earlier."])
        .apply(|args, value| {
            args.load.duration = seconds("--trial", value, |seconds| seconds > 0.0)?;
            Ok(())
        }),
    Opt::new("warmup", "X", "offers load for X seconds before each trial measures")
        .details(&["Default: 0.5."])
        .apply(|args, value| {
            args.results.warmup = seconds("--warmup", value, |seconds| seconds >= 0.0)?;
            Ok(())
        }),
    Opt::new("drain", "X", "lets what is under way at the end of a trial end for up to X seconds")
        .details(&["Default: 1. It takes no longer than the calls do."])
        .apply(|args, value| {
            args.results.drain = seconds("--drain", value, |seconds| seconds >= 0.0)?;
            Ok(())
        }),
    Opt::new("pause", "X", "waits X seconds before each trial but the first")
        .details(&["Default: 0."])
        .apply(|args, value| {
            args.trials.ab.pause = seconds("--pause", value, |seconds| seconds >= 0.0)?;
            Ok(())
        }),
    Opt::new("seed", "N", "starts the random order of the trials from N").details(&["Default: 1."]).apply(
        |args, value| {
            let seed = value.unsigned();
            args.trials.ab.seed =
                Some(seed.ok_or_else(|| Stop::expected("--seed", "a whole number", value))?);
            Ok(())
        },
    ),
];

const COMPARISON: &[Opt<Args>] = &[
    Opt::new("format", FORMATS, FORMAT_HELP).details(FORMAT_DETAILS).apply(|args, value| {
        args.trials.ab.form = Form::parse(value)?;
        Ok(())
    }),
    Opt::new("output", "FILE", "writes the comparison as a JSON document to a file as well")
        .details(&["It has the figures of every trial."])
        .apply(|args, value| {
            if value.bytes().is_empty() || value.os_str() == crate::command_line::args::STDOUT {
                return Err(Stop::expected("--output", "the name of a file", value));
            }
            args.trials.ab.output = Some(value.os_str().to_owned());
            Ok(())
        }),
    Opt::new("fail-if", "CHANGE", FAIL_IF_HELP).details(FAIL_IF_DETAILS).apply(|args, value| {
        args.trials.ab.settings.tolerances.extend(tolerances(value)?);
        Ok(())
    }),
    Opt::flag("force", "tells what there is to tell even if most rounds are left out").apply(|args, _| {
        args.trials.ab.settings.force = true;
        Ok(())
    }),
];

/// The most rounds. More would be days.
const ROUNDS_MAX: u32 = 1000;

/// What holds unless something else is typed.
const ROUNDS: u32 = 10;
const SEED: u64 = 1;
const TRIAL_S: f64 = 3.0;
const WARMUP_S: f64 = 0.5;
const DRAIN_S: f64 = 1.0;

/// A trial, a warm-up or a pause is no longer than a day.
const SECONDS_MAX: f64 = 86_400.0;

fn seconds(name: &str, value: Value<'_>, fits: fn(f64) -> bool) -> Result<f64, Stop> {
    let seconds = value.real().filter(|&seconds| fits(seconds) && seconds <= SECONDS_MAX);
    let least = if fits(0.0) { "from 0" } else { "above 0 and up" };
    seconds.ok_or_else(|| Stop::expected(name, &format!("a number of seconds {least} to 86400"), value))
}

/// Runs `httperf ab` with these words behind it. `program` is the program itself.
#[must_use]
pub fn main(program: &Program, words: &[OsString]) -> ExitCode {
    let program = program.subcommand(COMMAND.name);
    match parsed(words) {
        Ok(sides) => compare(&program, &sides).unwrap_or_else(|status| status),
        Err(stop) => program.stop(&COMMAND.describe(), &stop),
    }
}

/// Both sides as if they had been typed as runs of their own; the first has what both have in common.
fn parsed(words: &[OsString]) -> Result<[Named; 2], Stop> {
    let mut args = Args::default();
    (args.results.warmup, args.results.drain) = (WARMUP_S, DRAIN_S);
    grammar::parse(&COMMAND, words, Order::from_environment(), &mut args)?;
    let ab = args.trials.ab.clone();
    let [a, b] = match (&ab.a, &ab.b, &ab.words[..]) {
        (None, None, [a, b]) => {
            if let Some(option) = args.target_option() {
                let message = format!("{option}: expected none beside two URLs, which say what is compared");
                return Err(Stop::rejected(message));
            }
            [a, b].map(|url| (String::from_utf8_lossy(url).into_owned(), vec![os_string(url)]))
        }
        (None, None, words) => {
            let message = format!("expected two URLs, or --a and --b, got {}", counted(words.len()));
            return Err(Stop::rejected(message));
        }
        (Some(_), None, _) => return Err(Stop::rejected("--a: needs --b, which may be empty")),
        (None, Some(_), _) => return Err(Stop::rejected("--b: needs --a, which may be empty")),
        (Some(a), Some(b), words @ ([] | [_])) => {
            words.iter().try_for_each(|url| take_url(&mut args, url))?;
            [split("--a", a)?, split("--b", b)?]
        }
        (Some(_), Some(_), words) => {
            let message =
                format!("expected one URL at most beside --a and --b, got {}", counted(words.len()));
            return Err(Stop::rejected(message));
        }
    };
    let own = |(name, words): (String, Vec<OsString>), option: &str| -> Result<Named, Stop> {
        let mut args = args.clone();
        let placed = |stop| within(if ab.a.is_some() { option } else { "" }, stop);
        grammar::parse(&SIDE, &words, Order::Mixed, &mut args).map_err(placed)?;
        if args.load.duration == 0.0 && args.runtime == 0.0 {
            args.load.duration = TRIAL_S;
        }
        let ends_early =
            [("--until", args.results.until.is_some()), ("--abort-on-slo", args.results.objectives.abort)];
        if let Some((option, _)) = ends_early.into_iter().find(|&(_, is_given)| is_given) {
            let message = format!("{option}: expected none, as trials that take turns are of equal length");
            return Err(placed(Stop::rejected(message)));
        }
        // What can only be judged when all words are known.
        args.parse(&[]).map_err(placed)?;
        Ok(Named { name, args })
    };
    Ok([own(a, "--a")?, own(b, "--b")?])
}

fn counted(words: usize) -> String {
    match words {
        0 => "none".to_owned(),
        1 => "1 URL".to_owned(),
        words => format!("{words} URLs"),
    }
}

/// One of the two, with what was typed for it.
struct Named {
    name: String,
    args: Args,
}

/// What may be typed for one side: the options of a run, and a URL.
const SIDE: Command<Args> =
    Command { name: COMMAND.name, summary: "", words: "", groups: RUN, also: &[], word: take_url };

/// Takes a URL; nothing else is a target here.
fn take_url(args: &mut Args, word: &[u8]) -> Result<(), Stop> {
    (table::COMMAND.word)(args, word)?;
    match args.stray_words.is_empty() {
        true => Ok(()),
        false => {
            Err(Stop::rejected([b"expected a URL such as http://host:8080/path, got `", word, b"`"].concat()))
        }
    }
}

/// The words of a value, as a shell would split it.
fn split(option: &str, value: &[u8]) -> Result<(String, Vec<OsString>), Stop> {
    let mut splitter = shlex::bytes::Shlex::new(value);
    let words: Vec<OsString> = splitter.by_ref().map(|word| OsStr::from_bytes(&word).to_owned()).collect();
    if splitter.had_error {
        let start = format!("{option}: expected options as a shell takes them, got `");
        return Err(Stop::rejected([start.as_bytes(), value, b"` (a quote is open)"].concat()));
    }
    let name = String::from_utf8_lossy(value).trim().to_owned();
    Ok((if name.is_empty() { "(no options of its own)".to_owned() } else { name }, words))
}

/// What is wrong, with the option in whose value it is.
fn within(option: &str, stop: Stop) -> Stop {
    let message = match stop {
        Stop::Usage(message) => message,
        Stop::Rejected { message, .. } => message,
        other => return other,
    };
    let place = if option.is_empty() { Vec::new() } else { format!("{option}: ").into_bytes() };
    Stop::rejected([place, message].concat())
}

/// Compares and reports. An early end has been explained when its exit status comes back.
fn compare(program: &Program, sides: &[Named; 2]) -> Result<ExitCode, ExitCode> {
    let args = &sides[0].args;
    // What is the same for both is said once.
    let mut told: Vec<String> = Vec::new();
    let mut warn = |warning: String| {
        if !told.contains(&warning) {
            program.warn(&warning);
            told.push(warning);
        }
    };
    sides.iter().flat_map(|side| &side.args.notices).for_each(|notice| warn(notice.clone()));
    let mut plan =
        |side: &Named| planning::plan(program, &side.args, &mut warn).map_err(|error| error.explain(program));
    let plans = [plan(&sides[0])?, plan(&sides[1])?];
    let ab = &args.trials.ab;
    let (runner, output) = Runner::start(program, &plans.each_ref(), || {
        let open = |name| Writable::new(name).with_context(|| cannot_write("--output", name));
        ab.output.as_ref().map(|name| open(name).map(|file| (name, file))).transpose()
    })?;
    let [a, b] = plans;
    let turns = Turns {
        sides: [Side { name: "A", plan: a }, Side { name: "B", plan: b }],
        rounds: ab.rounds.unwrap_or(ROUNDS),
        pause: Duration::from_secs_f64(ab.pause),
        seed: ab.seed.unwrap_or(SEED),
    };
    let names = [&sides[0], &sides[1]].map(|side| side.name.clone());
    let mut made = Rounds::new(turns.rounds, turns.seed, names, &ab.settings);
    {
        let mut progress = StatusLine::new();
        turns
            .make(
                &mut |plan| runner.run(plan),
                &|time| runner.pause(time),
                &|| runner.is_interrupted(),
                &mut made,
                &mut |what| {
                    progress.show(what);
                },
            )
            .map_err(|error| program.fail(&error))?;
    }
    if made.made() == 0 {
        program.say("interrupted before the first round was complete");
        return Err(ExitCode::from(CANNOT_TELL_STATUS));
    }
    let comparison = rounds(&made, &ab.settings);
    let status = report(program, args, &comparison, &made, output.as_ref())?;
    // A signal that is not the user's says more than what was measured until then.
    let ended = runner.exit_code();
    Ok(if ended == ExitCode::SUCCESS { status } else { ended })
}

fn report(
    program: &Program,
    args: &Args,
    comparison: &Comparison,
    made: &Rounds,
    output: Option<&(&OsString, Writable)>,
) -> Result<ExitCode, ExitCode> {
    let ab = &args.trials.ab;
    let status = conclude(program, comparison, ab.form, Pictures::Rounds(made));
    let Some((name, file)) = output else { return Ok(status) };
    file.replace(comparison.json().as_bytes())
        .with_context(|| cannot_write("--output", name))
        .map_err(|error| program.fail(&error))?;
    Ok(status)
}
