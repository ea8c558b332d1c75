//! The command line of `httperf capacity`: its own options, in addition to those of a run.

use httperf_command_line::args::Args;
use httperf_command_line::grammar::{Borrowed, Command, Group, Opt, ParseStop, Value};
use httperf_command_line::outputs::TakesOutputs as _;
use httperf_command_line::table::{COMMAND as PROGRAM, RUN};
use httperf_plan::objective::Objective;

use super::args::{CapacityArgs, Searched};

/// The command line of `httperf capacity`.
pub const COMMAND: Command<CapacityArgs, Args> = Command {
    name: "capacity",
    summary: "Finds the highest rate that a server sustains within objectives, by trials.",
    words: "[URL]",
    groups: &[
        Group { title: "Search", options: SEARCH },
        Group { title: "Trials", options: TRIALS },
        Group { title: "Results", options: RESULTS },
        Group { title: "General", options: GENERAL },
    ],
    also: Some(Borrowed { groups: RUN, part: |args| &mut args.run }),
    word: |args, word| (PROGRAM.word)(&mut args.run, word),
};

/// Rates beyond this cannot be timed.
const RATE_MAX: f64 = 1e9;

/// The least and the most precise figure that can be asked for.
const PRECISION: (f64, f64) = (0.001, 0.5);

/// The most trials of a search, and the longest trial: a day.
const TRIALS_MAX: u64 = 1000;
const LENGTH_MAX: f64 = 86_400.0;

/// Shorter trials tell nothing.
const LENGTH_MIN: f64 = 0.1;

const SEARCH: &[Opt<CapacityArgs>] = &[
    Opt::with_value(
        "slo",
        "OBJECTIVES",
        "sets objectives, such as 'p99<50ms, errors<0.1%'",
    )
    .common()
    .details(&[
        "Required. Each is a figure, <, <=, > or >=, and a bound; with commas between them, or the option given \
         again. Figures: p50, p99.9 and the like, mean, min and max of the latency, or of the clock named \
         before a dot: service, response, transfer, connect, handshake, session. Shares of the calls: \
         errors, failed, unexpected, 1xx to 5xx.",
        "If nothing is said of errors, failed calls or statuses, `errors<1%` is meant as well. Of the \
         calls, 99 % must be answered in any case, and those under way may not grow in number.",
    ])
    .apply(|args, value| {
        let text = std::str::from_utf8(value.bytes());
        let text = text.map_err(|_| value.expected("objectives such as p99<50ms"))?;
        let objectives = Objective::parse_list(text);
        let objectives = objectives.map_err(|error| value.rejected(error))?;
        args.run.results.objectives.all.extend(objectives);
        Ok(())
    }),
    Opt::with_value(
        "search",
        "rate|request-rate",
        "searches for a rate of connections, or of calls",
    )
    .common()
    .details(&[
        "Default: rate, which is what --rate sets in a run. request-rate is what --request-rate sets; \
         --concurrency then says how many connections share the calls.",
    ])
    .apply(|args, value| {
        args.searched = match value.bytes() {
            b"rate" => Searched::Rate,
            b"request-rate" => Searched::RequestRate,
            _ => return Err(value.expected("rate or request-rate")),
        };
        Ok(())
    }),
    Opt::with_value("start", "RATE", "makes the first trial at this rate per second")
        .details(&["Default: 100. Rates are doubled from there on, or lowered if it is too high."])
        .apply(|args, value| {
            args.start = Some(rate(value)?);
            Ok(())
        }),
    Opt::with_value("min-rate", "RATE", "tries no lower rate")
        .common()
        .details(&[
            "If that is too high, the exit status is 4. Default: that at which 20 arrivals come in the longest trial, some \
             0.3 unless --trial-max is given, but no more than 1 or --start.",
        ])
        .apply(|args, value| {
            args.min_rate = Some(rate(value)?);
            Ok(())
        }),
    Opt::with_value("max-rate", "RATE", "tries no higher rate")
        .common()
        .details(&["The search ends if that is sustained. Default: as much as this client can offer."])
        .apply(|args, value| {
            args.max_rate = Some(rate(value)?);
            Ok(())
        }),
    Opt::with_value("precision", "P%", "ends when the 95 % interval is within ± P %")
        .common()
        .details(&["Default: 3%. Range: 0.1% to 50%."])
        .apply(|args, value| {
            let text = std::str::from_utf8(value.bytes()).unwrap_or_default();
            let percent: Option<f64> = text.strip_suffix('%').unwrap_or(text).trim_end().parse().ok();
            let share = percent
                .map(|percent| percent / 100.0)
                .filter(|share| (PRECISION.0..=PRECISION.1).contains(share));
            let expected = || value.expected("a percentage from 0.1% to 50%");
            args.precision = share.ok_or_else(expected)?;
            Ok(())
        }),
];

const TRIALS: &[Opt<CapacityArgs>] = &[
    Opt::with_value("trials", "N", "makes at most N trials")
        .common()
        .details(&["Default: 20. The figure is then as exact as they made it."])
        .apply(|args, value| {
            let count = value.unsigned().filter(|count| (1..=TRIALS_MAX).contains(count));
            let count = count.and_then(|count| u32::try_from(count).ok());
            let expected = || value.expected(&format!("a number from 1 to {TRIALS_MAX}"));
            args.trials = count.ok_or_else(expected)?;
            Ok(())
        }),
    Opt::with_value("trial-min", "X", "measures the first trials for X seconds, or longer if they need it")
        .details(&[
            "Default: 2. Trials get longer as the figure gets more exact. One with too few calls for a \
             percentile is made longer as well.",
        ])
        .apply(|args, value| {
            args.trial_min = length(value)?;
            Ok(())
        }),
    Opt::with_value("trial-max", "X", "measures no trial for longer than X seconds")
        .common()
        .details(&[
            "Default: 10, or up to 60 at low rates, for as many calls as a trial needs. Load is offered \
             for a fifth of a trial, 2 s at most, before it is measured (longer where replies take long; \
             --warmup says otherwise), and what is under way may end behind it, for a second or twice the \
             longest bound (--drain).",
        ])
        .apply(|args, value| {
            args.trial_max = Some(length(value)?);
            Ok(())
        }),
    Opt::with_value("pause", "X", "waits X seconds between two trials")
        .details(&[
            "Default: 1. After a trial that was too much, single requests are made until one is answered \
             quickly again, for 30 s at most.",
        ])
        .apply(|args, value| {
            let seconds = value.seconds().filter(|seconds| (0.0..=LENGTH_MAX).contains(seconds));
            let expected = || value.expected("a number of seconds from 0 to 86400, or a time such as 500ms");
            args.pause = seconds.ok_or_else(expected)?;
            Ok(())
        }),
];

const RESULTS: &[Opt<CapacityArgs>] = &[
    CapacityArgs::OUTPUT,
    CapacityArgs::JSON,
    CapacityArgs::CSV,
    CapacityArgs::HTML,
    CapacityArgs::SVG,
    CapacityArgs::PNG,
    CapacityArgs::TITLE,
    CapacityArgs::LABEL,
    CapacityArgs::FORMAT,
];

const GENERAL: &[Opt<CapacityArgs>] = &[
    Opt::help(),
    Opt::flag("quiet", "prints only errors on standard error").apply(|args, _| {
        args.quiet = true;
        Ok(())
    }),
];

fn rate(value: Value<'_>) -> Result<f64, ParseStop> {
    let rate = value.per_second().filter(|&rate| rate > 0.0 && rate <= RATE_MAX);
    rate.ok_or_else(|| value.expected("a rate per second above 0, at most 1e9, such as 100 or 2k"))
}

fn length(value: Value<'_>) -> Result<f64, ParseStop> {
    let seconds = value.seconds().filter(|seconds| (LENGTH_MIN..=LENGTH_MAX).contains(seconds));
    seconds.ok_or_else(|| value.expected("a number of seconds from 0.1 to 86400, or a time such as 500ms"))
}
