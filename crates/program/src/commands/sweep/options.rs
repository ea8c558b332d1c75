//! The command line of `httperf sweep`: its options, and what they make of those of a run.

use std::ffi::OsString;

use httperf_command_line::args::Args;
use httperf_command_line::grammar::{
    self, Borrowed, Command, Group, Opt, Order, ParseStop, Value, any_of, rules,
};
use httperf_command_line::outputs::{Outputs, TakesOutputs as _};
use httperf_command_line::table;
use httperf_command_line::values::{self, StdoutMeans};
use httperf_plan::Arrivals;
use httperf_report::sweep::{REPEATS_MAX, SweepSettings, WAIT_MAX_S};

use super::args::SweepArgs;
use super::rates;

/// The command line of `httperf sweep`.
pub const COMMAND: Command<SweepArgs, Args> = Command {
    name: "sweep",
    summary: "Makes a run at each of many rates, and finds the one at which the server falls behind.",
    words: "[URL]",
    groups: &[
        Group { title: "Rates", options: RATES },
        Group { title: "Between runs", options: BETWEEN },
        Group { title: "Results", options: RESULTS },
        Group { title: "General", options: GENERAL },
    ],
    also: Some(Borrowed { groups: table::RUN, part: |args| &mut args.run }),
    word: |args, word| (table::COMMAND.word)(&mut args.run, word),
};

const RATES: &[Opt<SweepArgs>] = &[
    Opt::with_value(
        "rates",
        "LIST",
        "makes a run at each of these connection rates",
    )
    .common()
    .details(&[
        "Rates per second of connections, or of sessions. A list with commas of rates and ranges: 100..2000/100 goes up in \
         steps of 100, 100..10000x1.5 by a factor of 1.5 each time, both to the last rate, which is always included. At most \
         1000 rates.",
        "--period sets the kind of the intervals: `--period=e1` makes each run a Poisson process.",
        "Unless told otherwise, a run offers load for 10 seconds (--duration), after one that is not \
         measured (--warmup), and lets what is under way end for 2 more (--drain). With --num-conns or a \
         session workload it ends with those, without a warm-up.",
    ])
    .conflicts(&[
        any_of(&["request-rates"]),
        any_of(&["request-period"]).because("--request-rates has rates of calls"),
    ])
    .apply(|args, value| {
        args.rates = Some(parsed_rates(value)?);
        Ok(())
    }),
    Opt::with_value(
        "request-rates",
        "LIST",
        "makes a run at each of these call rates",
    )
    .common()
    .details(&["Calls per second over connections that are kept. As --rates, with what --request-rate offers: --concurrency \
                bounds the connections, and --request-period sets the kind of the intervals."])
    .conflicts(&[any_of(&["period"]).because("--rates has rates of connections")])
    .apply(|args, value| {
        args.request_rates = Some(parsed_rates(value)?);
        Ok(())
    }),
    Opt::with_value("repeats", "N", "makes N runs at each rate")
        .common()
        .details(&[
            "Default: 1. Range: 1 to 1000. Figures are means over them, with intervals of 95 % confidence.",
        ])
        .apply(|args, value| {
            args.repeats = whole(1, REPEATS_MAX, value)?;
            Ok(())
        }),
    Opt::with_value("order", "rising|random", "makes the runs by rising rates or at random")
        .common()
        .details(&[
            "Default: rising, with the repeats of a rate one after the other. In random order each rate \
             has its turn before any is repeated.",
        ])
        .apply(|args, value| {
            args.shuffled = match value.bytes() {
                b"rising" => false,
                b"random" => true,
                _ => return Err(value.expected("rising or random")),
            };
            Ok(())
        }),
    Opt::with_value("seed", "N", "seeds the random numbers of --order=random with N")
        .details(&["Default: 1. The same seed gives the same order."])
        .needs(&[any_of(&["order=random"])])
        .apply(|args, value| {
            let seed = value.unsigned().ok_or_else(|| value.expected("a whole number"))?;
            args.seed = Some(seed);
            Ok(())
        }),
    Opt::with_value(
        "stop-after",
        "N",
        "leaves out higher rates after N in a row that the server could not keep up with",
    )
    .details(&["Default: 3; 0 leaves out none. A server keeps up with a rate if it answers 95 % of what \
         is offered, without an error and while it is offered. Runs whose generator was the bottleneck \
         say nothing of that and are passed over."])
    .apply(|args, value| {
        args.stop_after = whole(0, u32::MAX, value)?;
        Ok(())
    }),
];

const BETWEEN: &[Opt<SweepArgs>] = &[
    Opt::with_value("pause", "X", "waits at least X seconds between two runs")
        .common()
        .details(&["Default: 1. Range: 0 to 86400."])
        .apply(|args, value| {
            args.pause = wait(value)?;
            Ok(())
        }),
    Opt::with_value("settle", "X", "then waits up to X seconds until server and local ports have recovered")
        .details(&[
            "Default: 60. Range: 0 to 86400; 0 does not look. There must be local ports for the \
             connections of the next run, as closed ones keep theirs for a minute (TIME_WAIT); and five \
             calls, each on a new connection, must be answered about as quickly as before the first run: \
             their median within twice that, or 10 ms.",
            "What was waited for is in the result. If it did not help, the run is made all the same, and \
             marked. A server that answers none of the five calls before the first run ends the sweep at \
             once.",
        ])
        .apply(|args, value| {
            args.settle = wait(value)?;
            Ok(())
        }),
];

const RESULTS: &[Opt<SweepArgs>] = &[
    SweepArgs::OUTPUT,
    SweepArgs::JSON,
    Opt::with_value("resume", "FILE", "continues the sweep of a saved document")
        .common()
        .details(&[
            "By the settings and the plan in it, with no other options than those of this group. Runs \
             that were interrupted are made again. The file is written anew unless --output names another.",
        ])
        .apply(|args, value| values::file(&mut args.resume, value, StdoutMeans::Nothing)),
    SweepArgs::CSV,
    SweepArgs::TSV,
    SweepArgs::HTML,
    SweepArgs::SVG,
    SweepArgs::PNG,
    SweepArgs::TITLE,
    SweepArgs::LABEL,
    SweepArgs::JUNIT,
    SweepArgs::FORMAT,
    Opt::flag("strict", "exits with status 2 if a run is SUSPECT, and 3 if one is INVALID")
        .details(&[
            "Otherwise the exit status is 4 if there are objectives that no rate has met, and else 0.",
        ])
        .apply(|args, _| {
            args.strict = true;
            Ok(())
        }),
    Opt::flag("quiet", "prints only errors on standard error")
        .details(&["No warnings, and no progress line on a terminal."])
        .apply(|args, _| {
            args.quiet = true;
            Ok(())
        }),
];

const GENERAL: &[Opt<SweepArgs>] = &[Opt::help()];

/// The default length of a run, of its warm-up and of its drain, in seconds.
const DURATION: f64 = 10.0;
const WARMUP: f64 = 1.0;
const DRAIN: f64 = 2.0;

/// The value of an option that was not given: no option takes such a value.
const NOT_GIVEN: f64 = f64::NAN;

/// The arguments in a command line, complete: as those of a run at the highest rate.
pub(super) fn parse(words: &[OsString]) -> Result<SweepArgs, ParseStop> {
    let mut args = SweepArgs::default();
    args.run.results.warmup = NOT_GIVEN;
    let order = Order::from_environment();
    grammar::parse(&COMMAND, words, order, &mut args)?;
    args.run.note_given(&COMMAND, words, order);
    if let Some(word) = args.run.stray_words.first() {
        return Err(args.run.stray_word(word));
    }
    if args.resume.is_some() {
        check_resumed(&args)?;
        return Ok(args);
    }
    check(&args)?;
    rules::check_own(&COMMAND, words, order, &[("order=random", args.shuffled)])?;
    complete(&mut args)?;
    args.run.check()?;
    Ok(args)
}

/// The settings of a sweep, from arguments that are complete.
pub(super) fn settings(given: &SweepArgs) -> SweepSettings {
    SweepSettings {
        rates: given.rates.as_ref().or(given.request_rates.as_ref()).cloned().unwrap_or_default(),
        repeats: given.repeats,
        shuffled_by: given.shuffled.then(|| given.seed.unwrap_or(1)),
        stop_after: Some(given.stop_after).filter(|&count| count > 0),
        pause_s: given.pause,
        settle_s: given.settle,
    }
}

/// With `--resume`, all that a run or a sweep is comes from the file.
fn check_resumed(args: &SweepArgs) -> Result<(), ParseStop> {
    let mut others = args.clone();
    (others.outputs, others.resume) = (Outputs::default(), None);
    (others.strict, others.quiet) = (false, false);
    (others.run.results.warmup, others.run.results.drain) = (0.0, None);
    if others != SweepArgs::default() {
        return Err(ParseStop::rejected(
            "--resume: expected nothing beside it but files to write, --format, --strict and --quiet, as \
             the file says what a run is",
        ));
    }
    Ok(())
}

/// Refuses what makes no sense in a sweep.
fn check(given: &SweepArgs) -> Result<(), ParseStop> {
    let run = &given.run;
    let (starts, calls) = (&run.arrivals, &run.load.call_arrivals);
    let is_constant = |arrivals: &Arrivals| matches!(arrivals, Arrivals::Deterministic { .. });
    let is_cycle = |arrivals: &Arrivals| matches!(arrivals, Arrivals::Variable(_));
    let contradictions = [
        (
            given.rates.is_none() && given.request_rates.is_none(),
            "expected --rates or --request-rates, such as --rates=100..1000/100",
        ),
        (
            is_constant(starts) || calls.as_ref().is_some_and(is_constant),
            "--rate: expected none beside the rates of a sweep, nor a constant --period",
        ),
        (
            is_cycle(starts) || calls.as_ref().is_some_and(is_cycle),
            "--period: expected intervals of the kinds d, u or e beside the rates of a sweep, got a cycle \
             of rates",
        ),
        (run.results.until.is_some(), "--until: expected none in a sweep, whose runs are of equal length"),
        (
            run.results.objectives.abort,
            "--abort-on-slo: expected none in a sweep, whose runs are of equal length",
        ),
        (
            run.results.classic_record,
            "--record: expected full in a sweep, as no run can be judged by what the classic report shows",
        ),
    ];
    match contradictions.into_iter().find(|&(is_given, _)| is_given) {
        Some((_, message)) => Err(ParseStop::rejected(message)),
        None => Ok(()),
    }
}

/// Puts in what was not given, and the highest rate.
fn complete(given: &mut SweepArgs) -> Result<(), ParseStop> {
    let highest = |rates: &Option<Vec<f64>>| rates.as_ref().and_then(|rates| rates.last().copied());
    let run = &mut given.run;
    if let Some(rate) = highest(&given.request_rates) {
        let kind = run.load.call_arrivals.as_ref().unwrap_or(&Arrivals::Sequential);
        run.load.call_arrivals = Some(kind.at_rate(rate));
    }
    if let Some(rate) = highest(&given.rates) {
        run.arrivals = run.arrivals.at_rate(rate);
    }
    let is_counted = match run.load.call_arrivals {
        Some(_) => run.num_calls.is_some(),
        None => run.num_conns.is_some() || run.session.is_some(),
    };
    if !is_counted && run.load.duration == 0.0 && run.runtime == 0.0 {
        run.load.duration = DURATION;
    }
    let is_timed = run.load.duration > 0.0 || run.runtime > 0.0;
    let usual = |usual| if is_timed { usual } else { 0.0 };
    if run.results.warmup.is_nan() {
        run.results.warmup = usual(WARMUP);
    }
    run.results.drain.get_or_insert(usual(DRAIN));
    Ok(())
}

fn parsed_rates(value: Value<'_>) -> Result<Vec<f64>, ParseStop> {
    let text = String::from_utf8_lossy(value.bytes());
    rates::parse(&text).map_err(|what| {
        let hint = rates::range_meant(&text).map(|range| format!("a range is FIRST..LAST/STEP: {range}"));
        value.rejected(what).with_hint(hint)
    })
}

fn whole(least: u32, most: u32, value: Value<'_>) -> Result<u32, ParseStop> {
    let number = value.unsigned().and_then(|number| u32::try_from(number).ok());
    number.filter(|number| (least..=most).contains(number)).ok_or_else(|| {
        let what = match most {
            u32::MAX => "a number of rates, or 0 for none".to_owned(),
            _ => format!("a number from {least} to {most}"),
        };
        value.expected(&what)
    })
}

fn wait(value: Value<'_>) -> Result<f64, ParseStop> {
    let seconds = value.seconds().filter(|seconds| (0.0..=WAIT_MAX_S).contains(seconds));
    seconds.ok_or_else(|| {
        value.expected(&format!("a number of seconds from 0 to {WAIT_MAX_S}, or a time such as 500ms"))
    })
}

#[cfg(test)]
mod tests {
    use httperf_command_line::grammar::parse::words;
    use httperf_report::Form;

    use super::*;

    fn parsed(argv: &[&str]) -> SweepArgs {
        parse(&words(argv)).unwrap()
    }

    #[test]
    fn a_run_lasts_ten_seconds_unless_it_is_told_otherwise() {
        let times = |argv: &[&str]| {
            let args = parsed(argv).run;
            (args.load.duration, args.results.warmup, args.results.drain.expect("it is complete"))
        };
        assert_eq!(times(&["--rates=1"]), (10.0, 1.0, 2.0));
        assert_eq!(times(&["--request-rates=1"]), (10.0, 1.0, 2.0));
        assert_eq!(times(&["--rates=1", "--num-calls=5"]), (10.0, 1.0, 2.0));
        assert_eq!(times(&["--rates=1", "--num-conns=5"]), (0.0, 0.0, 0.0));
        assert_eq!(times(&["--request-rates=1", "--num-calls=5"]), (0.0, 0.0, 0.0));
        assert_eq!(times(&["--rates=1", "--wsess=5,1,0"]), (0.0, 0.0, 0.0));
        assert_eq!(times(&["--rates=1", "--num-conns=5", "--duration=3"]), (3.0, 1.0, 2.0));
        assert_eq!(times(&["--rates=1", "--runtime=3", "--warmup=0", "--drain=.5"]), (0.0, 0.0, 0.5));
    }

    #[test]
    fn the_kind_of_the_intervals_stays() {
        let args = parsed(&["--rates=10,20", "--period=e5"]);
        assert_eq!(args.run.arrivals, Arrivals::Exponential { mean: 0.05 });
        let args = parsed(&["--request-rates=10,20", "--request-period=u0,2"]);
        assert_eq!(args.run.load.call_arrivals, Some(Arrivals::Uniform { min: 0.0, max: 0.1 }));
        assert_eq!(parsed(&["--rates=10,20"]).run.arrivals, Arrivals::Deterministic { period: 0.05 });
    }

    #[test]
    fn every_option_finds_its_place() {
        let args = parsed(&[
            "http://127.0.0.1:81/x",
            "--rates=1..3/1",
            "--repeats=4",
            "--order=random",
            "--seed=9",
            "--stop-after=0",
            "--pause=0",
            "--settle=2.5",
        ]);
        let expected = SweepSettings {
            rates: vec![1.0, 2.0, 3.0],
            repeats: 4,
            shuffled_by: Some(9),
            stop_after: None,
            pause_s: 0.0,
            settle_s: 2.5,
        };
        assert_eq!((settings(&args), args.run.port(), &args.run.uri()[..]), (expected, 81, &b"/x"[..]));
        let args = parsed(&[
            "--resume=a",
            "--output=b",
            "--csv=c",
            "--tsv=d",
            "--format=json",
            "--strict",
            "--quiet",
        ]);
        let names: Vec<_> =
            args.outputs.files().iter().map(|file| (file.option, file.name.clone())).collect();
        let expected = [("--output", "b"), ("--csv", "c"), ("--tsv", "d")];
        assert_eq!(names, expected.map(|(option, name)| (option, name.into())));
        assert_eq!(args.resume.as_deref(), Some("a".as_ref()));
        assert_eq!((args.outputs.form, args.strict, args.quiet), (Form::Json, true, true));
    }

    #[test]
    fn every_option_is_described_in_one_line_without_full_stop() {
        for option in COMMAND.groups.iter().flat_map(|group| group.options).map(|option| option.text) {
            assert!(!option.help.is_empty() && option.help.len() <= 90, "--{}", option.long);
            assert!(!option.help.ends_with('.'), "--{}", option.long);
            assert!(option.details.iter().all(|paragraph| paragraph.ends_with('.')), "--{}", option.long);
        }
    }
}
