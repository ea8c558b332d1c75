//! Load: closed loops, pools of connections, caps and threads.

use std::num::NonZeroU32;
use std::thread::available_parallelism;
use std::time::Duration;

use httperf_plan::{Arrivals, Assignment, Calls, Cap, Connections, Excess, Plan, UNLIMITED, Workload};
use thiserror::Error;

use super::pause;
use crate::args::{Args, Threads, Version};
use crate::printf;

/// Connections with schedules of their own (`--per-connection`) unless `--concurrency` says otherwise.
const POOL: NonZeroU32 = NonZeroU32::new(10).expect("it is not 0");

/// Errors in the load.
#[derive(Debug, Error)]
pub enum LoadError {
    /// More threads than there is work for.
    #[error("--threads: expected at most {most}, as no more can go on at once in this run, got `{asked}`")]
    Threads {
        /// The number that was asked for.
        asked: NonZeroU32,
        /// The number that have work.
        most: NonZeroU32,
    },
    /// Fewer connections than servers.
    #[error(
        "--concurrency: expected a connection for each of the {servers} servers at least, got `{connections}`"
    )]
    Servers {
        /// The number of servers.
        servers: usize,
        /// The number of connections.
        connections: NonZeroU32,
    },
    /// Schedules of connections that talk to different servers.
    #[error("--per-connection: expected a single server, got {0}")]
    PerConnection(usize),
    /// A warm-up in which all work is due.
    #[error(
        "--warmup: expected less than the load takes, as the last arrival is due after {} s, got `{} s` (--duration X offers \
         load for longer)",
        printf::g(*.last_s), printf::g(*.warmup_s)
    )]
    Warmup {
        /// The length of the warm-up.
        warmup_s: f64,
        /// The time of the last start.
        last_s: f64,
    },
    /// A slack for arrivals that have no schedule.
    #[error(
        "--slack: expected a rate, as arrivals of a closed loop are due when a reply has come (--rate or --request-rate sets one)"
    )]
    Slack,
    /// A cap that no session fits under.
    #[error(
        "--max-open: expected at least {needed}, the connections that a session may open (--max-connections), got `{max_open}`"
    )]
    MaxOpen {
        /// The limits of a session's connections.
        needed: NonZeroU32,
        /// The cap.
        max_open: NonZeroU32,
    },
}

/// Returns the schedule of arrivals.
pub(super) fn arrivals(args: &Args) -> Arrivals {
    match (&args.load.call_arrivals, args.load.concurrency, &args.arrivals) {
        (Some(calls), _, _) => calls.clone(),
        (None, Some(most), Arrivals::Sequential) => Arrivals::Concurrent(most),
        (None, _, arrivals) => arrivals.clone(),
    }
}

/// The calls of each arrival, unless it is a session.
pub(super) fn workload(args: &Args, servers: usize) -> Result<Workload, LoadError> {
    let load = &args.load;
    let is_endless = args.duration() > 0.0;
    let outstanding = args.outstanding();
    if load.call_arrivals.is_some() {
        let connections = load.concurrency.or_else(|| load.per_connection.then_some(POOL));
        if let Some(connections) = connections
            && (connections.get() as usize) < servers
        {
            return Err(LoadError::Servers { servers, connections });
        }
        if load.per_connection && servers > 1 {
            return Err(LoadError::PerConnection(servers));
        }
        return Ok(Workload::Calls(Calls {
            count: args.num_calls.unwrap_or(UNLIMITED),
            connections,
            pipeline: outstanding.or_else(|| connections.map(|_| NonZeroU32::MIN)),
            assignment: if load.per_connection { Assignment::InTurn } else { Assignment::AnyFree },
        }));
    }
    let pipeline = outstanding.unwrap_or(NonZeroU32::MIN);
    let is_timed = args.arrivals != Arrivals::Sequential;
    let closed_loop = load.concurrency.filter(|_| !is_timed);
    let count = match (args.num_conns, closed_loop) {
        (Some(count), _) => count,
        (None, _) if is_endless => UNLIMITED,
        (None, Some(connections)) => connections.get().into(),
        (None, None) => 1,
    };
    let calls = match (args.num_calls, closed_loop) {
        (Some(calls), _) => calls,
        // Over HTTP/1.1 a WebSocket has its connection to itself, so that each is an arrival.
        (None, Some(_))
            if is_endless && !(args.websocket().is_some() && args.version() == Version::HTTP_11) =>
        {
            UNLIMITED
        }
        (None, _) => 1,
    };
    let cap = |connections, excess| Cap { connections, excess };
    let waits = [load.concurrency.filter(|_| is_timed), load.max_open].into_iter().flatten().min();
    Ok(Workload::Connections(Connections {
        count,
        calls: if args.tls.handshake_only { 0 } else { calls },
        burst: args.burst_length,
        pipeline,
        think: pause(load.call_pause),
        max_open: match waits {
            Some(most) => Some(cap(most, Excess::Waits)),
            None => NonZeroU32::new(args.max_connections).map(|most| cap(most, Excess::Skipped)),
        },
    }))
}

/// The most sessions that may go on at once, if each may open this many connections.
pub(super) fn sessions_max(
    args: &Args,
    connections_each: NonZeroU32,
) -> Result<Option<NonZeroU32>, LoadError> {
    let Some(max_open) = args.load.max_open else { return Ok(None) };
    match NonZeroU32::new(max_open.get() / connections_each) {
        None => Err(LoadError::MaxOpen { needed: connections_each, max_open }),
        sessions => Ok(sessions),
    }
}

/// The time for which load is offered, in seconds; 0 for as long as the workload takes.
pub(super) fn runtime(args: &Args) -> f64 {
    if args.duration() > 0.0 { args.duration() } else { args.runtime }
}

/// Refuses a warm-up in which all work is due: nothing would be measured.
pub(super) fn check_warmup(plan: &Plan) -> Result<(), LoadError> {
    match (plan.phases.warmup, plan.last_due()) {
        (warmup, Some(last)) if last < warmup => {
            Err(LoadError::Warmup { warmup_s: warmup.as_secs_f64(), last_s: last.as_secs_f64() })
        }
        _ => Ok(()),
    }
}

/// Refuses a slack where nothing is due by itself.
pub(super) fn check_slack(plan: &Plan) -> Result<(), LoadError> {
    if plan.slack.is_zero() || plan.arrivals.is_scheduled() { Ok(()) } else { Err(LoadError::Slack) }
}

/// The number of threads that share the work of this plan.
pub(super) fn threads(args: &Args, plan: &Plan) -> Result<Option<NonZeroU32>, LoadError> {
    let most = plan.threads_max();
    match args.load.threads {
        None => Ok(None),
        Some(Threads::Count(asked)) if asked > most => Err(LoadError::Threads { asked, most }),
        Some(Threads::Count(asked)) => Ok(Some(asked)),
        Some(Threads::Auto) => {
            let processors = available_parallelism().ok().and_then(|count| NonZeroU32::try_from(count).ok());
            Ok(Some(wanted_by(plan, processors.unwrap_or(NonZeroU32::MIN)).min(most)))
        }
    }
}

/// The processor time of a connection, a TLS handshake and a call on a machine that is not fast, and the share of a
/// processor up to which a worker keeps its schedule well.
const CONNECTION_COST: Duration = Duration::from_micros(60);
const HANDSHAKE_COST: Duration = Duration::from_micros(250);
const CALL_COST: Duration = Duration::from_micros(10);
const SHARE: f64 = 0.5;

/// The number of threads that suffice for a plan on a machine with this many processors.
fn wanted_by(plan: &Plan, processors: NonZeroU32) -> NonZeroU32 {
    let interval = match &plan.arrivals {
        Arrivals::Sequential => return NonZeroU32::MIN,
        Arrivals::Variable(steps) => {
            steps.iter().map(|step| step.period).filter(|&period| period > 0.0).fold(f64::INFINITY, f64::min)
        }
        arrivals => arrivals.mean_interval(),
    };
    if interval <= 0.0 {
        return processors;
    }
    let calls = match &plan.workload {
        Workload::Scenarios(scenarios) => scenarios.requests.len() as u32,
        _ => plan.calls_per_arrival().min(u32::MAX.into()) as u32,
    };
    let handshake = if plan.tls.is_some() { HANDSHAKE_COST } else { Duration::ZERO };
    let cost = match plan.workload {
        Workload::Calls(_) => CALL_COST,
        // Clients that make few requests open a connection for nearly each.
        Workload::Replay(_) => CONNECTION_COST + handshake + CALL_COST,
        Workload::Connections(_) | Workload::Sessions(_) | Workload::Scenarios(_) => {
            CONNECTION_COST + handshake + CALL_COST.saturating_mul(calls)
        }
    };
    let workers = (cost.as_secs_f64() / interval / SHARE).ceil();
    NonZeroU32::new(workers as u32).map_or(NonZeroU32::MIN, |workers| workers.min(processors))
}

#[cfg(test)]
mod tests {
    use httperf_testkit::sim::{at_once, nonzero};

    use super::super::tests::{check_error, planned};
    use super::*;

    fn workload_of(argv: &[&str]) -> Plan {
        planned(argv).0.unwrap()
    }

    fn connections_of(argv: &[&str]) -> (Arrivals, Connections) {
        let plan = workload_of(argv);
        let Workload::Connections(connections) = &plan.workload else { panic!("{argv:?}") };
        (plan.arrivals.clone(), connections.clone())
    }

    #[test]
    fn a_closed_loop_has_as_many_connections_as_it_keeps_busy_unless_told_otherwise() {
        let counts = |argv: &[&str]| {
            let (arrivals, connections) = connections_of(argv);
            assert_eq!(arrivals, at_once(8), "{argv:?}");
            (connections.count, connections.calls)
        };
        assert_eq!(counts(&["--concurrency=8"]), (8, 1));
        assert_eq!(counts(&["--concurrency=8", "--num-calls=100"]), (8, 100));
        assert_eq!(counts(&["--concurrency=8", "--num-conns=100"]), (100, 1));
        assert_eq!(counts(&["--concurrency=8", "--duration=2"]), (UNLIMITED, UNLIMITED));
        assert_eq!(counts(&["--concurrency=8", "--duration=2", "--num-calls=1"]), (UNLIMITED, 1));
        assert_eq!(counts(&["--concurrency=8", "--duration=2", "--num-conns=9"]), (9, UNLIMITED));
    }

    #[test]
    fn a_duration_bounds_what_has_a_rate() {
        let (_, connections) = connections_of(&["--rate=10", "--duration=2"]);
        assert_eq!((connections.count, connections.calls), (UNLIMITED, 1));
        assert_eq!(workload_of(&["--rate=10", "--duration=2"]).runtime, Some(Duration::from_secs(2)));
    }

    #[test]
    fn with_a_rate_the_arrivals_beyond_a_cap_wait() {
        for (argv, most) in [
            (&["--rate=10", "--concurrency=8"][..], 8),
            (&["--rate=10", "--max-open=5"], 5),
            (&["--rate=10", "--max-open=5", "--concurrency=8"], 5),
        ] {
            let cap = connections_of(argv).1.max_open;
            assert_eq!(cap, Some(Cap { connections: nonzero(most), excess: Excess::Waits }), "{argv:?}");
        }
        let plan = workload_of(&["--wsess=10,1,0", "--max-open=9"]);
        let Workload::Sessions(sessions) = &plan.workload else { panic!("sessions were asked for") };
        assert_eq!(sessions.max_open, Some(nonzero(2)));
        check_error(
            &["--wsess=10,1,0", "--max-open=3"],
            ": --max-open: expected at least 4, the connections that a session may open (--max-connections), got `3`",
        );
    }

    #[test]
    fn calls_at_a_rate_share_a_pool() {
        let plan =
            workload_of(&["--request-rate=100", "--num-calls=50", "--concurrency=3", "--per-connection"]);
        let Workload::Calls(calls) = &plan.workload else { panic!("calls were asked for") };
        assert_eq!((calls.count, calls.connections, calls.places()), (50, Some(nonzero(3)), Some(3)));
        assert_eq!(calls.assignment, Assignment::InTurn);
        assert_eq!(plan.arrivals, Arrivals::Deterministic { period: 0.01 });
        let plan = workload_of(&["--request-period=e.5", "--duration=1"]);
        let Workload::Calls(calls) = &plan.workload else { panic!("calls were asked for") };
        assert_eq!((calls.count, calls.connections, calls.pipeline), (UNLIMITED, None, None));
        for (options, connections, pipeline) in [
            (&[][..], None, None),
            (&["--concurrency=3"], Some(3), Some(1)),
            (&["--concurrency=3", "--pipeline=2"], Some(3), Some(2)),
            (&["--pipeline=4"], None, Some(4)),
            (&["--per-connection"], Some(10), Some(1)),
        ] {
            let model = ["--llm=openai", "--body=x", "--request-rate=4", "--duration=1"];
            let Workload::Calls(calls) = &workload_of(&[&model, options].concat()).workload else {
                panic!("calls were asked for")
            };
            let bounds = (calls.connections.map(NonZeroU32::get), calls.pipeline.map(NonZeroU32::get));
            assert_eq!(bounds, (connections, pipeline), "{options:?}");
        }
    }

    #[test]
    fn there_are_no_more_threads_than_have_work() {
        let threads = |argv: &[&str]| workload_of(argv).threads;
        assert_eq!(threads(&["--rate=10", "--num-conns=8", "--threads=8"]), Some(nonzero(8)));
        assert_eq!(threads(&["--rate=10", "--num-conns=8"]), None);
        for argv in [
            &["--rate=10", "--num-conns=3", "--threads=4"][..],
            &["--concurrency=3", "--threads=4"],
            &["--rate=10", "--num-conns=9", "--concurrency=3", "--threads=4"],
            &["--request-rate=1", "--concurrency=3", "--num-calls=9", "--threads=4"],
        ] {
            check_error(
                argv,
                ": --threads: expected at most 3, as no more can go on at once in this run, got `4`",
            );
        }
    }

    #[test]
    fn a_warm_up_leaves_something_to_measure() {
        let message = |warmup: &str, last: &str| {
            format!(
                ": --warmup: expected less than the load takes, as the last arrival is due after {last} s, got `{warmup} s` \
                 (--duration X offers load for longer)"
            )
        };
        check_error(&["--warmup=1"], &message("1", "0"));
        check_error(&["--warmup=1", "--concurrency=8"], &message("1", "0"));
        check_error(&["--warmup=2", "--rate=10", "--num-conns=20"], &message("2", "1.9"));
        check_error(&["--warmup=2s", "--request-rate=10", "--num-calls=20"], &message("2", "1.9"));
        for argv in [
            &["--warmup=2", "--rate=10", "--num-conns=21"][..],
            &["--warmup=2", "--rate=10", "--duration=1"],
            &["--warmup=2", "--num-conns=2"],
            &["--warmup=2", "--num-calls=2"],
            &["--warmup=2", "--concurrency=8", "--duration=1"],
            &["--warmup=0"],
        ] {
            workload_of(argv);
        }
    }

    #[test]
    fn one_thread_does_where_one_suffices() {
        let wanted = |argv: &[&str]| wanted_by(&workload_of(argv), nonzero(16)).get();
        assert_eq!(wanted(&["--num-conns=100"]), 1);
        assert_eq!(wanted(&["--rate=1000", "--num-conns=100"]), 1);
        assert_eq!(wanted(&["--rate=20000", "--num-conns=100"]), 3);
        assert_eq!(wanted(&["--rate=1e6", "--num-conns=100"]), 16);
        assert_eq!(wanted(&["--request-rate=100000", "--num-calls=100"]), 2);
        assert_eq!(wanted(&["--concurrency=64", "--duration=1"]), 16);
        assert_eq!(wanted(&["--period=v1,1,0.0001,1", "--num-conns=100"]), 2);
    }
}
