//! The command line of `httperf ab`: its options, and what it makes of the words for each side.

use std::ffi::{OsStr, OsString};
use std::mem;
use std::os::unix::ffi::OsStrExt;

use httperf_command_line::args::{Args, os_string};
use httperf_command_line::grammar::{
    self, Borrowed, Command, Group, Opt, Order, ParseStop, Value, any_of, rules,
};
use httperf_command_line::outputs::TakesOutputs as _;
use httperf_command_line::table::{self, RUN};

use super::args::AbArgs;
use crate::commands::compare::{FAIL_IF_DETAILS, FAIL_IF_HELP, tolerances};

/// The command line of `httperf ab`.
pub const COMMAND: Command<AbArgs, Args> = Command {
    name: "ab",
    summary: "Compares two targets, or two sets of options, in trials that take turns, so that drift cancels.",
    words: "URL_A URL_B | --a OPTIONS --b OPTIONS [URL]",
    groups: &[
        Group { title: "Sides", options: SIDES },
        Group { title: "Trials", options: TRIALS },
        Group { title: "Comparison", options: COMPARISON },
        Group { title: "Results", options: RESULTS },
        Group { title: "General", options: &[Opt::help()] },
    ],
    also: Some(Borrowed { groups: RUN, part: |args| &mut args.run }),
    word: |args, word| {
        args.words.push(word.to_vec());
        Ok(())
    },
};

const SIDES: &[Opt<AbArgs>] = &[
    Opt::with_value("a", "OPTIONS", "options of side A alone")
        .common()
        .details(&[
            "Options of a run, split as a shell would split them. Such as --a '--tls-groups X25519' --b '--tls-groups \
             X25519MLKEM768'. They come after those of both.",
        ])
        .needs(&[any_of(&["b"]).because("it may be empty")])
        .apply(|args, value| {
            args.a = Some(value.bytes().to_vec());
            Ok(())
        }),
    Opt::with_value("b", "OPTIONS", "options of side B alone")
        .common()
        .details(&["May be empty. Side A is the base, with which B is compared."])
        .needs(&[any_of(&["a"]).because("it may be empty")])
        .apply(|args, value| {
            args.b = Some(value.bytes().to_vec());
            Ok(())
        }),
];

const TRIALS: &[Opt<AbArgs>] = &[
    Opt::with_value("rounds", "N", "makes N rounds, each with a trial of both sides")
        .common()
        .details(&[
            "Default: 10. Range: 5 to 1000, as fewer rounds cannot tell a difference from chance; 1 to 1000 with --force. \
             Intervals become narrower with more of them. A round in which a trial is INVALID is left out.",
        ])
        .apply(|args, value| {
            let rounds = value.unsigned().and_then(|rounds| u32::try_from(rounds).ok());
            let rounds = rounds.filter(|rounds| (1..=ROUNDS_MAX).contains(rounds));
            let expected = || value.expected("a number from 5 to 1000");
            args.rounds = Some(rounds.ok_or_else(expected)?);
            Ok(())
        }),
    Opt::with_value("trial", "X", "measures X seconds in each trial")
        .common()
        .details(&["Default: 3. The same as --duration. A workload that ends by itself may end earlier."])
        .apply(|args, value| {
            args.run.load.duration = seconds(value, |seconds| seconds > 0.0)?;
            Ok(())
        }),
    Opt::with_value("warmup", "X", "offers load for X seconds before each trial")
        .common()
        .details(&["Default: 0.5."])
        .apply(|args, value| {
            args.run.results.warmup = seconds(value, |seconds| seconds >= 0.0)?;
            Ok(())
        }),
    Opt::with_value("drain", "X", "lets calls under way at the end of a trial finish within X seconds")
        .details(&["Default: 1. It takes no longer than the calls do."])
        .apply(|args, value| {
            args.run.results.drain = Some(seconds(value, |seconds| seconds >= 0.0)?);
            Ok(())
        }),
    Opt::with_value("pause", "X", "waits X seconds before each trial but the first")
        .details(&["Default: 0."])
        .apply(|args, value| {
            args.pause = seconds(value, |seconds| seconds >= 0.0)?;
            Ok(())
        }),
    Opt::with_value("seed", "N", "seeds the random order of the trials with N")
        .details(&["Default: 1."])
        .apply(|args, value| {
            let seed = value.unsigned();
            args.seed = Some(seed.ok_or_else(|| value.expected("a whole number"))?);
            Ok(())
        }),
];

const COMPARISON: &[Opt<AbArgs>] = &[
    Opt::with_value("fail-if", "CHANGE", FAIL_IF_HELP).common().details(FAIL_IF_DETAILS).apply(
        |args, value| {
            args.settings.tolerances.extend(tolerances(value)?);
            Ok(())
        },
    ),
    Opt::flag("force", "reports figures even if there are few rounds or most are left out").apply(
        |args, _| {
            args.settings.force = true;
            Ok(())
        },
    ),
];

const RESULTS: &[Opt<AbArgs>] = &[
    AbArgs::OUTPUT,
    AbArgs::JSON,
    AbArgs::CSV,
    AbArgs::HTML,
    AbArgs::SVG,
    AbArgs::PNG,
    AbArgs::TITLE,
    AbArgs::JUNIT,
    AbArgs::FORMAT,
];

/// The fewest rounds that can tell a difference from chance.
const ROUNDS_MIN: u32 = 5;

/// The most rounds. More would be days.
const ROUNDS_MAX: u32 = 1000;

/// Defaults.
pub(super) const ROUNDS: u32 = 10;
pub(super) const SEED: u64 = 1;
const TRIAL_S: f64 = 3.0;
const WARMUP_S: f64 = 0.5;
const DRAIN_S: f64 = 1.0;

/// A trial, a warm-up or a pause is no longer than a day.
const SECONDS_MAX: f64 = 86_400.0;

fn seconds(value: Value<'_>, fits: fn(f64) -> bool) -> Result<f64, ParseStop> {
    let seconds = value.seconds().filter(|&seconds| fits(seconds) && seconds <= SECONDS_MAX);
    let least = if fits(0.0) { "from 0" } else { "above 0 and up" };
    seconds.ok_or_else(|| {
        value.expected(&format!("a number of seconds {least} to 86400, or a time such as 500ms"))
    })
}

/// Returns what was typed, and each side as if it had been typed as a run of its own.
pub(super) fn parsed(words: &[OsString]) -> Result<(AbArgs, [Named; 2]), ParseStop> {
    let mut ab = AbArgs::default();
    (ab.run.results.warmup, ab.run.results.drain) = (WARMUP_S, Some(DRAIN_S));
    let order = Order::from_environment();
    grammar::parse(&COMMAND, words, order, &mut ab)?;
    rules::check_own(&COMMAND, words, order, &[])?;
    if let Some(rounds) = ab.rounds.filter(|&rounds| rounds < ROUNDS_MIN && !ab.settings.force) {
        let message = format!(
            "--rounds: expected at least {ROUNDS_MIN}, as fewer cannot tell a difference from chance, got `{rounds}`"
        );
        let hint = "--force makes them nevertheless".to_owned();
        return Err(ParseStop::rejected(message).with_hint(Some(hint)));
    }
    ab.run.note_given(&COMMAND, words, order);
    let [a, b] = match (ab.a.as_ref().zip(ab.b.as_ref()), &ab.words[..]) {
        (None, [a, b]) => {
            if let Some(option) = ab.run.target_option() {
                let message = format!("{option}: expected none beside two URLs, which say what is compared");
                return Err(ParseStop::rejected(message));
            }
            [a, b].map(|url| (String::from_utf8_lossy(url).into_owned(), vec![os_string(url)]))
        }
        (None, words) => {
            let message = format!("expected two URLs, or --a and --b, got {}", counted(words.len()));
            return Err(ParseStop::rejected(message));
        }
        (Some((a, b)), words @ ([] | [_])) => {
            words.iter().try_for_each(|url| take_url(&mut ab.run, url))?;
            [split("--a", a)?, split("--b", b)?]
        }
        (Some(_), words) => {
            let message =
                format!("expected one URL at most beside --a and --b, got {}", counted(words.len()));
            return Err(ParseStop::rejected(message));
        }
    };
    let own = |(name, words): (String, Vec<OsString>), option: &str| -> Result<Named, ParseStop> {
        let mut args = ab.run.clone();
        // A URL of a side alone takes the place of one for both.
        let common = mem::take(&mut args.typed_urls);
        let placed = |stop| within(if ab.a.is_some() { option } else { "" }, stop);
        grammar::parse(&SIDE, &words, Order::Mixed, &mut args).map_err(placed)?;
        args.note_given(&SIDE, &words, Order::Mixed);
        if args.typed_urls.is_empty() {
            args.typed_urls = common;
        }
        if args.load.duration == 0.0 && args.runtime == 0.0 {
            args.load.duration = TRIAL_S;
        }
        if args.fleet != ab.run.fleet {
            let message = "--fleet: expected it for both sides, not for one of them";
            return Err(placed(ParseStop::rejected(message)));
        }
        let ends_early =
            [("--until", args.results.until.is_some()), ("--abort-on-slo", args.results.objectives.abort)];
        if let Some((option, _)) = ends_early.into_iter().find(|&(_, is_given)| is_given) {
            let message = format!("{option}: expected none, as trials that take turns are of equal length");
            return Err(placed(ParseStop::rejected(message)));
        }
        // Checks options that depend on each other, now that all words are known.
        args.parse(&[]).map_err(placed)?;
        Ok(Named { name, args })
    };
    let sides = [own(a, "--a")?, own(b, "--b")?];
    Ok((ab, sides))
}

fn counted(words: usize) -> String {
    match words {
        0 => "none".to_owned(),
        1 => "1 URL".to_owned(),
        words => format!("{words} URLs"),
    }
}

/// One of the two, with what was typed for it.
pub(super) struct Named {
    pub(super) name: String,
    pub(super) args: Args,
}

/// The command line of one side: the options of a run, and a URL.
const SIDE: Command<Args> =
    Command { name: COMMAND.name, summary: "", words: "", groups: RUN, also: None, word: take_url };

/// Takes a URL; nothing else is a target here.
fn take_url(args: &mut Args, word: &[u8]) -> Result<(), ParseStop> {
    (table::COMMAND.word)(args, word)?;
    match args.stray_words.is_empty() {
        true => Ok(()),
        false => Err(args.stray_word(word)),
    }
}

/// The words of a value, as a shell would split it.
fn split(option: &str, value: &[u8]) -> Result<(String, Vec<OsString>), ParseStop> {
    let mut splitter = shlex::bytes::Shlex::new(value);
    let words: Vec<OsString> = splitter.by_ref().map(|word| OsStr::from_bytes(&word).to_owned()).collect();
    if splitter.had_error {
        let start = format!("{option}: expected options as a shell takes them, got `");
        return Err(ParseStop::rejected([start.as_bytes(), value, b"` (a quote is open)"].concat()));
    }
    let name = String::from_utf8_lossy(value).trim().to_owned();
    Ok((if name.is_empty() { "(no options of its own)".to_owned() } else { name }, words))
}

/// Adds the option in whose value the mistake is.
fn within(option: &str, stop: ParseStop) -> ParseStop {
    match stop {
        ParseStop::Usage(_) | ParseStop::Rejected { .. } => {
            let place = if option.is_empty() { String::new() } else { format!("{option}: ") };
            ParseStop::rejected(place + &stop.text())
        }
        other => other,
    }
}
