//! Closed loops, calls at a rate, threads.

use httperf_plan::{Arrivals, THREADS_MAX};

use super::rules::{ARRIVALS, CALL_ARRIVALS, KEPT_BUSY, NOT_OF_ARRIVALS, SESSIONS};
use super::schedule::{parse_period, parse_rate};
use crate::args::{Args, Threads};
use crate::grammar::{Opt, Rule, any_of};
use crate::values::{SECONDS_MAX, nonzero, positive, seconds};

/// Rules of the options that offer calls at a rate.
const CALL_ARRIVALS_CONFLICTS: &[Rule] = &[
    any_of(SESSIONS),
    any_of(ARRIVALS).because("--rate and --period offer connections"),
    any_of(&["num-conns", "max-connections"]).because("--concurrency says how many connections there are"),
    any_of(&["burst-length"]).because("each call has a time of its own"),
    any_of(&["tls-handshake-only"]).because("handshakes alone make no calls"),
];
const CALL_ARRIVALS_NEEDS: &[Rule] =
    &[any_of(&["duration", "runtime", "num-calls", "until"]).because("one of them says when the run ends")];

pub(super) const OPTIONS: &[Opt<Args>] = &[
    Opt::with_value(
        "duration",
        "X",
        "offers load for X seconds",
    )
    .common()
    .details(&[
        "It makes as many connections and calls as that takes. As --runtime, but neither --num-conns nor, with \
         --concurrency, --num-calls has to be given; where they are, the run ends with whichever comes first.",
    ])
    .conflicts(&[any_of(&["runtime"])])
    .sets(&["runtime_ns"])
    .apply(|args, value| {
        let duration = value.seconds().filter(|&seconds| seconds > 0.0 && seconds <= SECONDS_MAX.into());
        let expected = || {
            value.expected(&format!("a time above 0 such as 30s or 2m, at most {SECONDS_MAX} s"))
        };
        args.load.duration = duration.ok_or_else(expected)?;
        Ok(())
    }),
    Opt::with_value("warmup", "X", "offers load for X seconds before it is measured")
        .common()
        .details(&[
            "Default: 0. What is due in that time is not in the figures, however late it ends; --runtime \
             counts from its end on.",
        ])
        .sets(&["phases.warmup_ns"])
        .apply(|args, value| {
            args.results.warmup = seconds(value)?;
            Ok(())
        }),
    Opt::with_value("drain", "X", "gives the last calls X seconds to finish")
        .common()
        .details(&[
            "Default: with --duration or the phases of a workload file as long as a call may take (--timeout), 10 without \
             --timeout; with --runtime 0. It takes no longer than the calls, sessions and visits do. Nothing is \
             offered meanwhile, and rates do not count it. With 0 it stays unknown how long they would have taken.",
        ])
        .needs(&[any_of(&["duration", "runtime"]).because("they say when nothing is offered any more")])
        .sets(&["phases.drain_ns"])
        .apply(|args, value| {
            args.results.drain = Some(seconds(value)?);
            Ok(())
        }),
    Opt::with_value(
        "concurrency",
        "N",
        "keeps N connections busy, with a call each",
    )
    .common()
    .details(&[
        "Each sends its next call when the last reply is in. Such a closed loop slows down when the server does. A \
         connection that ends, after --num-calls or because the server closes it, makes way for the next; there are N in all \
         unless --num-conns or --duration says otherwise. Latencies count from when a call could be made, and so do not show \
         how long it would have had to wait had it been due at a time of its own.",
        "With --rate or --period it caps the connections that are open: an arrival that finds N waits \
         until one has ended. Its wait is part of its latency, and the report says how many had to. With \
         --request-rate it bounds the connections that share the calls, each with --streams calls \
         at a time or one. --connections N is the same, as other tools call it.",
    ])
    .conflicts(&[
        any_of(SESSIONS).because("--max-open bounds the connections of sessions"),
        any_of(&["max-connections"]),
    ])
    .sets(&["workload.calls.connections"])
    .apply(|args, value| {
        args.load.concurrency = Some(positive(value)?);
        Ok(())
    }),
    Opt::with_value(
        "pipeline",
        "N",
        "keeps up to N calls outstanding on each connection of a closed loop or a pool",
    )
    .details(&[
        "Default: 1. Each reply makes way for the next call, unlike with --burst-length.",
    ])
    .conflicts(&[
        NOT_OF_ARRIVALS,
        any_of(&["burst-length"]),
        any_of(&["http-version=2", "http-version=3", "http-version=auto"])
            .because("there, --streams says how many calls may be outstanding"),
        any_of(&["http-version=1.0"]).when("pipeline above 1").because("HTTP/1.0 has no pipelining"),
        any_of(&["websocket"])
            .when("pipeline above 1")
            .because("over HTTP/1.1, a WebSocket has its connection to itself"),
    ])
    .needs(&[KEPT_BUSY])
    .sets(&["workload.connections.pipeline", "workload.calls.pipeline"])
    .apply(|args, value| {
        args.load.pipeline = Some(positive(value)?);
        Ok(())
    }),
    Opt::with_value(
        "call-pause",
        "X",
        "thinks for X seconds between a reply and the next call of a connection",
    )
    .details(&["Default: 0. With --burst-length, between bursts. A call is due when the pause is over."])
    .conflicts(&[
        any_of(SESSIONS).because("sessions have think times of their own"),
        any_of(CALL_ARRIVALS).because("the rate says when calls are due"),
        any_of(&["pipeline above 1", "streams above 1"]),
    ])
    .sets(&["workload.connections.think_ns"])
    .apply(|args, value| {
        args.load.call_pause = seconds(value)?;
        Ok(())
    }),
    Opt::with_value(
        "request-rate",
        "X",
        "offers X calls per second over kept connections",
    )
    .common()
    .details(&[
        "Each call is due at a time of its own, whatever the server does, and takes a connection that has room: over HTTP/2 \
         and HTTP/3, as many calls share one as the server allows. If none has room, another is opened and kept, and the \
         time this takes is part of the call's latency; some are opened ahead. --num-calls is the number of all calls here.",
        "--concurrency bounds the connections and --streams the calls on each. A call that finds no room then waits, and if \
         such waits are a visible part of the latency, the verdict says that the figures describe this bound.",
        "The same as --request-period=d1/X; the last of both counts.",
    ])
    .conflicts(CALL_ARRIVALS_CONFLICTS)
    .needs(CALL_ARRIVALS_NEEDS)
    .apply(|args, value| {
        let arrivals = parse_rate(value).filter(|arrivals| *arrivals != Arrivals::Sequential);
        let arrivals = arrivals.ok_or_else(|| {
            value.expected("a number of calls per second such as 100 or 2k")
        })?;
        args.load.call_arrivals = Some(arrivals);
        Ok(())
    }),
    Opt::with_value(
        "request-period",
        "[D]T1[,T2]",
        "spaces calls over kept connections by this distribution of intervals, in seconds",
    )
    .details(&[
        "As --request-rate, with the distributions of --period: e0.001 is a Poisson process of 1,000/s.",
    ])
    .conflicts(CALL_ARRIVALS_CONFLICTS)
    .needs(CALL_ARRIVALS_NEEDS)
    .apply(|args, value| {
        let arrivals = parse_period(value.bytes())?;
        if arrivals == Arrivals::Sequential {
            return Err(value.expected("a mean interval above 0"));
        }
        args.load.call_arrivals = Some(arrivals);
        Ok(())
    }),
    Opt::flag(
        "per-connection",
        "gives each connection a schedule of its own, every N-th call of --request-rate",
    )
    .details(&["A call then waits for its connection, even if another is free. --concurrency sets their number (default: 10)."])
    .needs(&[any_of(CALL_ARRIVALS)])
    .apply(|args, _| {
        args.load.per_connection = true;
        Ok(())
    }),
    Opt::with_value(
        "max-open",
        "N",
        "keeps at most N connections open; further arrivals wait for one to end",
    )
    .details(&["Default: no bound. The wait is part of the latency. A session counts with all the \
             connections that it may open (--max-connections)."])
    .conflicts(&[
        any_of(CALL_ARRIVALS).because("--concurrency says how many connections there are"),
        any_of(&["max-connections"]).because("--max-connections skips arrivals instead of letting them wait"),
    ])
    .needs(&[
        any_of(&["rate", "period", "wsess", "wsesslog", "wsesspage"])
            .because("otherwise connections come one after the other, or are as many as --concurrency says"),
    ])
    .sets(&["workload.connections.max_open"])
    .apply(|args, value| {
        args.load.max_open = Some(positive(value)?);
        Ok(())
    }),
    Opt::with_value("threads", "N|auto", "shares the work among N threads, each tied to a processor")
        .details(&[
            "Default: one thread, not tied. Every thread follows the same schedule and starts its own \
             part of the arrivals: what is due when, and which URI each call has, does not depend on \
             their number. auto takes one where one suffices for the rate, and as many as there are \
             processors for a closed loop; the report says how many.",
        ])
        .sets(&["threads"])
        .apply(|args, value| {
            args.load.threads = Some(match value.bytes() {
                b"auto" => Threads::Auto,
                _ => {
                    let count = nonzero(value).filter(|count| *count <= THREADS_MAX);
                    let expected = format!("a number from 1 to {THREADS_MAX}, or auto");
                    Threads::Count(count.ok_or_else(|| value.expected(&expected))?)
                }
            });
            Ok(())
        }),
];
