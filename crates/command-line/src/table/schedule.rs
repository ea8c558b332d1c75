//! The start of connections or sessions, and the end of the run.

use httperf_plan::number::{self, Base};
use httperf_plan::{Arrivals, Client, Step, units};

use super::results::precision;
use super::rules::NOT_FROM_CLASSIC_RECORD;
use crate::args::Args;
use crate::grammar::{Opt, ParseStop, Value};

pub(super) const OPTIONS: &[Opt<Args>] = &[
    Opt::with_value("rate", "X", "starts X connections or sessions per second")
        .common()
        .classic()
        .details(&[
            "They are due at their times, whatever the server does. Default: 0, which starts each when the one before has \
             ended. `inf` starts all at once. 2k is 2000, \
             600/m is 10 per second. The same as --period=d1/X; the last of --rate and --period counts.",
        ])
        .sets(&["arrivals.deterministic"])
        .apply(|args, value| {
            if value.per_second().is_some_and(|rate| rate.is_nan() || rate < 0.0) {
                return Err(value.expected("a rate above 0, or 0 for one after the other"));
            }
            args.arrivals =
                parse_rate(value).ok_or_else(|| ParseStop::illegal("illegal request rate", "a rate per second such as 100, 2k or 600/m", value))?;
            Ok(())
        }),
    Opt::with_value(
        "period",
        "[D]T1[,T2]",
        "spaces the starts by this distribution of intervals, in seconds",
    )
    .classic()
    .details(&[
        "D is a letter: d (or none) for the constant interval T1, u for intervals uniform between T1 \
             and T2, e for exponential intervals of mean T1, v for a cycle of constant intervals \
             `vT1,D1,T2,D2,...` (at most 16 pairs), in which T1 is kept for D1 seconds, then T2 for D2 \
             seconds, and so on. Times may have units, as in e10ms; in a cycle, D1 and what follows only if T1 \
             has one.",
        "Default: 0, which starts each when the one before has ended. The intervals depend on \
             --client and on nothing else, so a run can be repeated exactly.",
    ])
    .sets(&["arrivals"])
    .apply(|args, value| {
        args.arrivals = parse_period(value.bytes())?;
        Ok(())
    }),
    Opt::with_value("runtime", "X", "ends the run after X seconds, as an interrupt would")
        .classic_091()
        .details(&["Default: none; the run ends with its workload. Range: above 0."])
        .apply(|args, value| {
            let runtime = value.seconds().filter(|&seconds| seconds > 0.0);
            args.runtime = runtime.ok_or_else(|| ParseStop::illegal("illegal runtime value", "a time above 0 such as 30s", value))?;
            Ok(())
        }),
    Opt::with_value(
        "until",
        "pQ:S%",
        "ends the run as soon as a percentile of the latency is known to S percent",
    )
    .details(&["With p99:5% it ends when the 95 % confidence interval of the 99th percentile reaches no \
             further than 5 % of its value to either side; at the latest with --duration, --runtime or its workload, \
             and after 300 seconds without any of them. \
             That takes 10 seconds or more. Looked at once a second."])
    .conflicts(&[NOT_FROM_CLASSIC_RECORD])
    .sets(&["until"])
    .apply(|args, value| {
        args.results.until = Some(precision(value)?);
        Ok(())
    }),
    Opt::with_value("client", "I/N", "is the I-th (from 0) of N generators that work together")
        .classic()
        .details(&["Default: 0/1. I chooses the stream of random numbers and the place in a working set \
             (--wset), so that the generators do not all do the same, and shifts the time of the first \
             rate sample."])
        .apply(|args, value| {
            args.client = parse_client(value.bytes())?;
            Ok(())
        }),
    Opt::with_value("slack", "X", "lets starts be late by up to X seconds, so that several go together")
        .details(&["Default: 0. Range: up to 0.01. Those that are due within X of each other then cost one wake-up: less processor \
             time, at the price of a lag of up to X, which the report shows and the verdict judges. Needs a rate."])
        .sets(&["slack_ns"])
        .apply(|args, value| {
            let slack = value.seconds().filter(|seconds| (0.0..=SLACK_MAX).contains(seconds));
            args.slack = slack.ok_or_else(|| value.expected("a time from 0 to 10ms"))?;
            Ok(())
        }),
    Opt::flag("spin", "polls through the last stretch before a start instead of sleeping")
        .details(&["Starts keep closer to the schedule, at the price of a busy core."])
        .sets(&["spin"])
        .apply(|args, _| {
            args.spin = true;
            Ok(())
        }),
];

/// The longest slack, in seconds.
const SLACK_MAX: f64 = 0.01;

/// The most steps of a variable rate.
const STEPS: usize = 16;

/// Evenly spaced arrivals at a rate per second; sequential ones if it is 0.
pub(super) fn parse_rate(value: Value<'_>) -> Option<Arrivals> {
    let rate = value.per_second()?;
    // Not a number compares as false, and is sequential too.
    Some(if rate > 0.0 { Arrivals::Deterministic { period: 1.0 / rate } } else { Arrivals::Sequential })
}

pub(super) fn parse_period(text: &[u8]) -> Result<Arrivals, ParseStop> {
    let Some(&first) = text.first() else { return Err(illegal_distribution(text)) };
    let (distribution, times) = match first {
        b'0'..=b'9' | b'.' => (b'd', text),
        letter => (letter.to_ascii_lowercase(), &text[1..]),
    };
    let arrivals = match distribution {
        b'd' => Arrivals::Deterministic { period: parse_mean(times)? },
        b'e' => Arrivals::Exponential { mean: parse_mean(times)? },
        b'u' => parse_uniform(times)?,
        b'v' => parse_steps(times)?,
        _ => return Err(illegal_distribution(text)),
    };
    // A mean that is infinite, or not a number, gives no rate: the classic tool is sequential then.
    let mean = arrivals.mean_interval();
    Ok(if mean > 0.0 && mean.is_finite() { arrivals } else { Arrivals::Sequential })
}

fn illegal_distribution(text: &[u8]) -> ParseStop {
    let letter = &text[..text.len().min(1)];
    ParseStop::rejected([b"illegal interarrival distribution '", letter, b"' in ", text].concat())
}

fn parse_mean(text: &[u8]) -> Result<f64, ParseStop> {
    let mean = units::seconds(text).filter(|&mean| !is_negative(mean));
    mean.ok_or_else(|| ParseStop::rejected([b"illegal mean interarrival time ", text].concat()))
}

fn parse_uniform(text: &[u8]) -> Result<Arrivals, ParseStop> {
    let scanned = units::scan_seconds(text);
    let Some(min) = scanned.value.ok().filter(|&min| !is_negative(min)) else {
        return Err(ParseStop::rejected([b"illegal minimum interarrival time ", text].concat()));
    };
    let Some(rest) = scanned.rest.strip_prefix(b",") else {
        let message: &[u8] = b"minimum interarrival time not followed by `,MAX_IAT' (rest: `";
        return Err(ParseStop::rejected([message, scanned.rest, b"')"].concat()));
    };
    let Some(max) = units::seconds(rest).filter(|&max| !is_negative(max)) else {
        return Err(ParseStop::rejected([b"illegal request period ", rest].concat()));
    };
    Ok(Arrivals::Uniform { min, max })
}

fn parse_steps(text: &[u8]) -> Result<Arrivals, ParseStop> {
    let mut steps: Vec<Step> = Vec::new();
    let mut rest = text;
    // The classic tool ignores text behind the number of a duration, and refuses it in an interval.
    let mut has_units = false;
    loop {
        if steps.len() == STEPS {
            return Err(ParseStop::rejected("too many rates"));
        }
        let period = units::scan_seconds(rest);
        has_units |= period.rest.len() < number::scan_real(rest).rest.len();
        let Some(seconds) = period.value.ok().filter(|&seconds| !is_negative(seconds)) else {
            return Err(ParseStop::rejected([b"illegal mean interarrival time ", rest].concat()));
        };
        let Some(after_comma) = period.rest.strip_prefix(b",") else {
            let message: &[u8] = b"interarrival time not followed by `,duration' (rest: `";
            return Err(ParseStop::rejected([message, period.rest, b"')"].concat()));
        };
        let duration =
            if has_units { units::scan_seconds(after_comma) } else { number::scan_real(after_comma) };
        let Some(lasts) = duration.value.ok().filter(|&lasts| !is_negative(lasts)) else {
            return Err(ParseStop::rejected([b"illegal duration ", after_comma].concat()));
        };
        steps.push(Step { period: seconds, duration: lasts });
        // Anything but a comma ends the list, as in the classic tool.
        match duration.rest.strip_prefix(b",") {
            Some(next) => rest = next,
            None => {
                return Ok(Arrivals::Variable(steps.try_into().expect("one was pushed above")));
            }
        }
    }
}

fn is_negative(seconds: f64) -> bool {
    seconds < 0.0
}

fn parse_client(text: &[u8]) -> Result<Client, ParseStop> {
    let complain = |what: &str, rest: &[u8]| {
        ParseStop::rejected([format!("{what} (rest: `").as_bytes(), rest, b"')"].concat())
    };
    let index = number::scan_unsigned(text, Base::Detected);
    let Ok(wide_index) = index.value else { return Err(complain("bad client id", text)) };
    let Some(after_slash) = index.rest.strip_prefix(b"/") else {
        return Err(complain("client id not followed by `/'", index.rest));
    };
    let count = number::scan_unsigned(after_slash, Base::Detected).value.ok();
    let client = u32::try_from(wide_index)
        .ok()
        .zip(count.and_then(|count| u32::try_from(count).ok()))
        .filter(|(index, count)| index < count);
    let Some((index, count)) = client else {
        return Err(complain("bad number of clients", after_slash));
    };
    Ok(Client::new(index, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(period: &str, expected: &Result<Arrivals, &str>) {
        let expected = expected.clone().map_err(ParseStop::rejected);
        assert_eq!(parse_period(period.as_bytes()), expected, "{period}");
    }

    #[test]
    fn a_period_may_be_constant_uniform_exponential_or_variable() {
        check("2", &Ok(Arrivals::Deterministic { period: 2.0 }));
        check(".5", &Ok(Arrivals::Deterministic { period: 0.5 }));
        check("D0x1p-1", &Ok(Arrivals::Deterministic { period: 0.5 }));
        check("e0.05", &Ok(Arrivals::Exponential { mean: 0.05 }));
        check("U.1,.3", &Ok(Arrivals::Uniform { min: 0.1, max: 0.3 }));
        let steps = [Step { period: 1.0, duration: 2.0 }, Step { period: 3.0, duration: 4.0 }];
        check("v1,2,3,4junk", &Ok(Arrivals::Variable(steps.into())));
    }

    #[test]
    fn times_of_a_period_may_have_units() {
        check("20ms", &Ok(Arrivals::Deterministic { period: 0.02 }));
        check("e10ms", &Ok(Arrivals::Exponential { mean: 0.01 }));
        check("u5ms,1s", &Ok(Arrivals::Uniform { min: 0.005, max: 1.0 }));
        let steps = [Step { period: 0.1, duration: 60.0 }, Step { period: 0.05, duration: 2.0 }];
        check("v100ms,1m,50ms,2", &Ok(Arrivals::Variable(steps.into())));
        // As ever: the list ends where a duration has something behind it.
        let steps = [Step { period: 0.1, duration: 1.0 }];
        check("v.1,1m,.05,2", &Ok(Arrivals::Variable(steps.into())));
        check("e1x", &Err("illegal mean interarrival time 1x"));
    }

    #[test]
    fn a_mean_that_gives_no_rate_is_sequential() {
        for period in ["0", "u0,0", "e0", "dnan", "dinf", "u0,inf", "v0,1"] {
            check(period, &Ok(Arrivals::Sequential));
        }
    }

    #[test]
    fn a_variable_rate_has_at_most_sixteen_steps_of_two_numbers() {
        check(&format!("v{}", ["1,2"; 17].join(",")), &Err("too many rates"));
        assert!(parse_period(format!("v{}", ["1,2"; 16].join(",")).as_bytes()).is_ok());
        check("v1", &Err("interarrival time not followed by `,duration' (rest: `')"));
        check("v1,x", &Err("illegal duration x"));
        check("v1,2,", &Err("illegal mean interarrival time "));
        check("v-1,2", &Err("illegal mean interarrival time -1,2"));
    }

    #[test]
    fn a_client_is_below_the_number_of_clients() {
        assert_eq!(parse_client(b"0x1/010z"), Ok(Client::new(1, 8)));
        assert_eq!(parse_client(b" 0/ 1"), Ok(Client::new(0, 1)));
        for text in ["1/1", "0/0", "0/-1", "0/4294967297", "4294967297/5000000000"] {
            assert!(parse_client(text.as_bytes()).is_err(), "{text}");
        }
    }
}
