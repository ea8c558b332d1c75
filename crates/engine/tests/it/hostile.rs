//! Random workloads in a hostile world: peers that break the rules and links that cut and delay, as a seed has it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use httperf_plan::{Arrivals, HttpVersion, Plan, Resumption, Script, Tls, TlsVersion, Workload};
use httperf_stats::CallOutcome;
use httperf_testkit::sim::{
    Action, Edit, Goodbye, HttpPeer, Link, Peer, TlsPeer, Trace, connections, nonzero, reply, run, sessions,
    tls_server,
};
use proptest::prelude::*;

use crate::simulation::{NOW, every, limited, ms, uniform};

/// Reaction of a peer to a request.
#[derive(Clone, Copy, Debug)]
enum Mood {
    Answer,
    Late,
    AnswerAndClose,
    AnnounceClose,
    Close,
    Reset,
    Truncate,
    Stall,
    Garbage,
    Surplus,
    Fail,
}

const MOODS: [Mood; 11] = [
    Mood::Answer,
    Mood::Late,
    Mood::AnswerAndClose,
    Mood::AnnounceClose,
    Mood::Close,
    Mood::Reset,
    Mood::Truncate,
    Mood::Stall,
    Mood::Garbage,
    Mood::Surplus,
    Mood::Fail,
];

/// Behaves differently from call to call, as its seed has it; mostly well.
fn moody(seed: u64, log: Rc<RefCell<HashMap<usize, usize>>>) -> impl Peer {
    let mut state = seed;
    HttpPeer::new(move |request| {
        *log.borrow_mut().entry(request.connection).or_default() += 1;
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let draw = (state >> 33) as usize % 40;
        let good = reply(200, "", "hello");
        match MOODS.get(draw).copied().unwrap_or(Mood::Answer) {
            Mood::Answer => vec![Action::Send(NOW, good)],
            Mood::Late => vec![Action::Send(ms(30), good)],
            Mood::AnswerAndClose => vec![Action::Send(NOW, good), Action::Close(NOW)],
            Mood::AnnounceClose => {
                vec![Action::Send(NOW, reply(200, "Connection: close\r\n", "bye")), Action::Close(NOW)]
            }
            Mood::Close => vec![Action::Close(NOW)],
            Mood::Reset => vec![Action::Reset(NOW)],
            Mood::Truncate => vec![Action::Send(NOW, good[..good.len() - 2].to_vec()), Action::Close(NOW)],
            Mood::Stall => Vec::new(),
            Mood::Garbage => {
                vec![Action::Send(NOW, b"\0\xff garbage \r\n\r\n".to_vec()), Action::Close(ms(1))]
            }
            Mood::Surplus => vec![Action::Send(NOW, [good, b"surplus".to_vec()].concat())],
            Mood::Fail => vec![Action::Send(NOW, reply(503, "", "sorry"))],
        }
    })
}

fn workload() -> impl Strategy<Value = Plan> {
    let by_connection =
        (1u64..20, 0u64..6, 1u64..4).prop_map(|(count, calls, burst)| connections(count, calls, burst));
    let by_session = (1u64..12, 1u64..7, 1u64..4, 0u64..20, 1u32..4, 1u32..5, any::<bool>(), any::<bool>())
        .prop_map(|(count, calls, burst, think, slots, piped, retry, fails)| {
            let mut plan = sessions(count, uniform(calls, burst, ms(think)));
            plan.change_sessions(|sessions| {
                (sessions.max_connections, sessions.max_piped_calls) = (nonzero(slots), nonzero(piped));
                sessions.retry_on_failure = retry;
                sessions.failure_status = fails.then_some(503);
            });
            plan
        });
    let version = prop_oneof![Just(HttpVersion::Http11), Just(HttpVersion::Http10)];
    let arrivals = prop_oneof![
        Just(Arrivals::Sequential),
        (1u64..30).prop_map(every),
        Just(Arrivals::Exponential { mean: 0.005 }),
    ];
    (prop_oneof![by_connection, by_session], version, arrivals).prop_map(|(mut plan, version, arrivals)| {
        plan.change(|plan| plan.request.version = version);
        plan.change(|plan| plan.arrivals = arrivals);
        limited(100, 50, plan)
    })
}

fn secured_workload() -> impl Strategy<Value = Plan> {
    let resumption = prop_oneof![
        Just(Resumption::Never),
        Just(Resumption::WithinSession),
        (0.0..=1.0).prop_map(Resumption::Share),
    ];
    let max = prop_oneof![Just(TlsVersion::Tls12), Just(TlsVersion::Tls13)];
    (workload(), resumption, max, any::<bool>()).prop_map(|(plan, resumption, max, early_data)| {
        plan.with(|plan| plan.tls = Some(Tls { resumption, max, early_data, ..Tls::default() }))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Every run ends, and every arrival and request is accounted for. A failing case names its seeds.
    #[test]
    fn every_run_ends_and_its_accounts_are_in_order(
        plan in prop_oneof![workload(), secured_workload()],
        seed in any::<u64>(),
        hostile in any::<bool>(),
        latency in 0u64..5,
        jitter in 0u64..5,
    ) {
        let log = Rc::default();
        let link = Link { seed, latency: ms(latency), jitter: ms(jitter), hostile, ..Link::default() };
        let peer = moody(seed, Rc::clone(&log));
        let run = match &plan.tls {
            Some(_) => run(&plan, link, TlsPeer::new(peer, tls_server().build(), Goodbye::Said)),
            None => run(&plan, link, peer),
        };
        let summary = &run.summary;

        prop_assert!(!run.is_endless, "the run must end by itself");
        prop_assert!(run.connections.iter().all(|trace| trace.closed.is_some()), "all is closed at the end");
        prop_assert_eq!(summary.connections, run.connections.len() as u64);
        prop_assert_eq!(summary.replies, summary.statuses.iter().sum::<u64>());
        prop_assert!(summary.replies <= summary.requests);
        prop_assert!(summary.errors.total() <= summary.connections);
        let completed = summary.completed();
        let intervals = summary.series.intervals();
        if !intervals.is_empty() {
            let offered: u64 = intervals.iter().map(|interval| interval.offered).sum();
            let failed = summary.calls_with(CallOutcome::Failure).latency.moments.count();
            let unfinished = summary.unfinished.moments.count();
            prop_assert_eq!(offered, summary.replies + failed + unfinished, "every call that was begun has one end");
        }
        prop_assert_eq!(completed.latency.moments.count(), summary.replies);
        prop_assert!(completed.service.moments.sum() <= completed.latency.moments.sum() + 1e-9);
        let seen: usize = log.borrow().values().sum();
        prop_assert!(seen as u64 <= summary.requests, "the peer saw {seen} requests");
        match &plan.workload {
            Workload::Connections(connections) => {
                prop_assert_eq!(summary.connections, connections.count);
                let offered = connections.count * connections.calls;
                prop_assert!(summary.requests <= offered);
                if summary.errors.total() == 0 {
                    // Those that were sent on a connection which its server closed have failed.
                    let failed = summary.calls_with(CallOutcome::Failure).latency.moments.count();
                    prop_assert_eq!(summary.replies + failed + summary.calls_not_offered, offered);
                }
            }
            Workload::Calls(_) | Workload::Scenarios(_) | Workload::Replay(_) => {
                unreachable!("no plan here has calls of their own or scenarios")
            }
            Workload::Sessions(sessions) => {
                let ended = summary.sessions.as_ref().expect("the plan has sessions");
                prop_assert_eq!(ended.completed + ended.failed, sessions.count);
                prop_assert_eq!(ended.lengths.values().sum::<u64>(), sessions.count);
                let replies: u64 = ended.lengths.iter().map(|(length, count)| length * count).sum();
                prop_assert_eq!(replies, summary.replies);
                let Script::Uniform { calls, .. } = sessions.script else { unreachable!() };
                prop_assert!(ended.completed * calls <= summary.replies);
            }
        }
    }

    /// The same seeds give the same run.
    #[test]
    fn a_run_can_be_repeated(plan in workload(), seed in any::<u64>()) {
        let link = Link { seed, latency: ms(1), jitter: ms(2), hostile: true, ..Link::default() };
        let again = || {
            let run = run(&plan, link, moody(seed, Rc::default()));
            (run.summary.duration, run.connections.iter().map(Trace::text).collect::<Vec<_>>())
        };
        prop_assert_eq!(again(), again());
    }
}
