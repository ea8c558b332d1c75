//! Whole runs in memory: closed loops, calls at a rate over a pool of connections, and runs that are split.

use std::time::Duration;

use httperf_engine::{Observation, Observer, Silent};
use httperf_plan::{Arrivals, Assignment, Client, Excess, Phases, Plan, Shard, Shards, UNLIMITED, UriSource};
use httperf_stats::{CallOutcome, Classes, Failure, Summary, Timing};
use httperf_testkit::sim::{
    Action, Edit, HttpPeer, Link, Peer, Run, at_once, calls, connections, listed, nonzero, reply, run,
    run_observed, run_shard, sessions, uniform,
};
use proptest::prelude::*;

const NOW: Duration = Duration::ZERO;
const SECOND: Duration = Duration::from_secs(1);

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn ok_after(delay: Duration) -> impl Peer {
    HttpPeer::new(move |_| vec![Action::Send(delay, reply(200, "", "hello"))])
}

/// Stands still from 4 s to 5 s, and answers what came meanwhile all at once.
fn stalling() -> impl Peer {
    HttpPeer::new(|request| {
        let pause = if (ms(4000)..ms(5000)).contains(&request.at) { ms(5000) - request.at } else { NOW };
        vec![Action::Send(pause, reply(200, "", "hello"))]
    })
}

/// A closed loop over so many connections for a second, with unlimited calls.
fn closed_loop(concurrency: u32) -> Plan {
    connections(UNLIMITED, UNLIMITED, 1).with(|plan| {
        plan.arrivals = at_once(concurrency);
        plan.runtime = Some(SECOND);
    })
}

fn seconds(timing: &Timing, share: f64) -> f64 {
    timing.quantile(share).expect("something was timed").as_secs_f64()
}

#[test]
fn a_closed_loop_sends_the_next_call_when_the_last_reply_is_in() {
    let run = run(&closed_loop(4), Link::default(), ok_after(ms(10)));
    assert_eq!((run.connections.len(), run.summary.concurrent_max), (4, 4));
    assert_eq!((run.summary.replies, run.summary.closed_early), (400, 0));
    assert_eq!(run.summary.calls_with(CallOutcome::Success).latency.moments.max(), 0.01);
}

#[test]
fn a_closed_loop_with_a_pipeline_keeps_it_full() {
    let mut plan = closed_loop(2);
    plan.change_connections(|workload| workload.pipeline = nonzero(8));
    // Each reply takes 10 ms, however many are asked for.
    let summary = run(&plan, Link::default(), ok_after(ms(10))).summary;
    assert_eq!(summary.replies, 1600);
    assert_eq!(summary.unfinished.moments.count() + summary.replies, summary.requests);
}

#[test]
fn a_closed_loop_may_think_between_calls() {
    let mut plan = closed_loop(1);
    plan.change_connections(|workload| workload.think = ms(90));
    let summary = run(&plan, Link::default(), ok_after(ms(10))).summary;
    assert_eq!(summary.replies, 10);
    assert_eq!(
        summary.calls_with(CallOutcome::Success).latency.moments.max(),
        0.01,
        "the pause is no latency"
    );
}

#[test]
fn connections_that_the_server_closes_make_way_for_others_without_end() {
    let peer = || {
        HttpPeer::new(|request| {
            let close = if request.index % 5 == 4 { "Connection: close\r\n" } else { "" };
            vec![Action::Send(ms(10), reply(200, close, "hello"))]
        })
    };
    let run = run(&closed_loop(2), Link::default(), peer());
    assert_eq!((run.summary.replies, run.summary.errors.total()), (200, 0));
    assert_eq!(run.connections.len(), 40);
    assert_eq!(
        (run.summary.closed_early, run.summary.calls_not_offered),
        (0, 0),
        "no call was planned on them"
    );
}

#[test]
fn a_pool_serves_calls_from_the_connections_it_has() {
    let plan = calls(UNLIMITED, 1000.0, 8).with(|plan| plan.runtime = Some(SECOND));
    let link = Link { latency: ms(2), ..Link::default() };
    let run = run(&plan, link, ok_after(ms(1)));
    assert_eq!(run.connections.len(), 8);
    let summary = run.summary;
    assert_eq!((summary.arrivals.due, summary.arrivals.started, summary.arrivals.held), (1000, 1000, 0));
    // A call takes 5 ms, so that of the last four no reply can have come.
    assert_eq!((summary.replies, summary.unfinished.moments.count()), (996, 4));
    assert_eq!(
        seconds(&summary.calls_with(CallOutcome::Success).latency, 1.0),
        0.005,
        "no call waits for a connect"
    );
    assert_eq!(summary.lag.moments.max(), 0.0);
    let share: Vec<usize> = run.connections.iter().map(|trace| trace.requests().len()).collect();
    assert!(share.iter().all(|&requests| requests.abs_diff(125) <= 1), "{share:?}");
}

#[test]
fn calls_over_a_pool_wait_out_a_server_that_stands_still_and_latency_counts_it() {
    for assignment in [Assignment::AnyFree, Assignment::InTurn] {
        let mut plan = calls(10_000, 1000.0, 8);
        plan.change_calls(|calls| calls.assignment = assignment);
        let run = run(&plan, Link::default(), stalling());
        let summary = run.summary;
        let clocks = summary.calls_with(CallOutcome::Success);
        assert_eq!(clocks.latency.moments.count(), 10_000, "nothing is dropped");
        assert!((seconds(&clocks.latency, 0.95) - 0.5).abs() < 0.025, "{}", seconds(&clocks.latency, 0.95));
        assert!((seconds(&clocks.latency, 0.99) - 0.9).abs() < 0.045, "{}", seconds(&clocks.latency, 0.99));
        assert!(seconds(&clocks.service, 0.95) < 0.005, "only eight calls saw the server stand still");
        assert_eq!((run.connections.len(), summary.arrivals.held), (8, 993));
        assert_eq!(summary.lag.moments.max(), 0.0, "the generator was never late");
    }
}

#[test]
fn a_connection_with_a_schedule_of_its_own_takes_no_other_call() {
    let mut plan = calls(40, 1000.0, 4);
    plan.change_calls(|calls| calls.assignment = Assignment::InTurn);
    plan.change(|plan| {
        plan.uris =
            UriSource::List { uris: listed((0..40).map(|n| format!("/{n}").into_bytes())), wrap: false }
    });
    // The first connection is slow; the others do not help it.
    let peer = HttpPeer::new(|request| {
        let pause = if request.connection == 0 { ms(50) } else { NOW };
        vec![Action::Send(pause, reply(200, "", "hello"))]
    });
    let run = run(&plan, Link::default(), peer);
    for (number, trace) in run.connections.iter().enumerate() {
        let expected: Vec<String> = (0..10).map(|nth| format!("GET /{}", nth * 4 + number)).collect();
        assert_eq!(trace.requests(), expected, "connection {number}");
    }
    assert_eq!(run.summary.replies, 40);
}

#[test]
fn a_connection_of_a_pool_takes_as_many_calls_as_its_pipeline_holds() {
    let mut plan = calls(100, 1000.0, 2);
    plan.change_calls(|calls| calls.pipeline = Some(nonzero(4)));
    let summary = run(&plan, Link::default(), ok_after(ms(7))).summary;
    assert_eq!(
        (summary.replies, summary.arrivals.held),
        (100, 0),
        "eight calls of 7 ms at one each millisecond"
    );
    plan.change_calls(|calls| calls.pipeline = Some(nonzero(3)));
    let summary = run(&plan, Link::default(), ok_after(ms(7))).summary;
    assert_eq!(summary.replies, 100);
    assert!(summary.arrivals.held > 0);
}

#[test]
fn a_connection_of_a_pool_that_is_closed_or_fails_is_opened_again() {
    let peer = HttpPeer::new(|request| match request.index {
        4 => vec![Action::Send(NOW, reply(200, "Connection: close\r\n", "hello")), Action::Close(NOW)],
        _ if request.connection == 3 => vec![Action::Reset(NOW)],
        _ => vec![Action::Send(NOW, reply(200, "", "hello"))],
    });
    let run = run(&calls(100, 1000.0, 2), Link::default(), peer);
    let summary = run.summary;
    assert_eq!(summary.errors.count(Failure::Reset), 1);
    assert_eq!((summary.replies, summary.calls_with(CallOutcome::Failure).latency.moments.count()), (99, 1));
    assert!(run.connections.len() > 15, "{}", run.connections.len());
}

#[test]
fn calls_fail_one_by_one_where_nothing_listens() {
    struct Refusing;
    impl Peer for Refusing {
        fn accept(&mut self, _: usize, _: Duration) -> httperf_testkit::sim::Reception {
            httperf_testkit::sim::Reception::Refuse
        }
        fn receive(&mut self, _: usize, _: Duration, _: &[u8]) -> Vec<Action> {
            Vec::new()
        }
    }
    let run = run(&calls(10_000, f64::INFINITY, 2), Link::default(), Refusing);
    assert!(!run.is_endless);
    let failed = run.summary.calls_with(CallOutcome::Failure).latency.moments.count();
    // Two connects more were made before the run began.
    assert_eq!((failed, run.summary.errors.count(Failure::Refused)), (10_000, 10_002));
}

#[test]
fn a_drain_lets_calls_go_that_wait_for_a_connection() {
    let plan = calls(UNLIMITED, 100.0, 1).with(|plan| {
        plan.runtime = Some(SECOND);
        plan.phases = Phases { warmup: ms(500), drain: Duration::from_secs(60) };
    });
    // Half of what is offered can be served.
    let summary = run(&plan, Link::default(), ok_after(ms(20))).summary;
    assert_eq!((summary.replies, summary.unfinished.moments.count()), (100, 0));
    assert_eq!(summary.duration, SECOND);
    assert!((seconds(&summary.calls_with(CallOutcome::Success).latency, 1.0) - 1.51).abs() < 0.02);
}

#[test]
fn sessions_wait_for_others_to_end_under_a_cap() {
    let mut plan = sessions(20, uniform(1, 1, NOW))
        .with(|plan| plan.arrivals = Arrivals::Deterministic { period: 0.01 });
    plan.change_sessions(|workload| workload.max_open = Some(nonzero(2)));
    let summary = run(&plan, Link::default(), ok_after(ms(100))).summary;
    assert_eq!((summary.concurrent_max, summary.arrivals.held), (2, 18));
    assert_eq!(summary.lag.moments.max(), 0.0, "who waits for room does not wait for the generator");
    let ended = summary.sessions.unwrap();
    assert_eq!(ended.completed, 20);
    // The last two are due at 180 and 190 ms and are served from 900 ms on.
    assert!((seconds(&ended.latency, 1.0) - 0.82).abs() < 0.02, "{}", seconds(&ended.latency, 1.0));
}

#[test]
fn large_bodies_count_to_the_byte_though_nobody_reads_them() {
    let body = "x".repeat(1_000_000);
    for fields in ["", "Transfer-Encoding: chunked\r\n"] {
        for hostile in [false, true] {
            let chunked: String = [&body[..400_000], &body[400_000..]]
                .iter()
                .map(|chunk| format!("{:x}\r\n{chunk}\r\n", chunk.len()))
                .collect::<String>()
                + "0\r\n\r\n";
            let whole = if fields.is_empty() {
                reply(200, "", &body)
            } else {
                format!("HTTP/1.1 200 OK\r\n{fields}\r\n{chunked}").into_bytes()
            };
            let peer = HttpPeer::new(move |_| vec![Action::Send(NOW, whole.clone())]);
            let link = Link { seed: 7, latency: ms(1), jitter: ms(1), hostile, ..Link::default() };
            let summary = run(&connections(2, 3, 1), link, peer).summary;
            assert_eq!((summary.replies, summary.content_bytes), (6, 6_000_000), "{fields} {hostile}");
        }
    }
}

/// When each call was due, in nanoseconds since the start of the run, and its URI.
#[derive(Default)]
struct Called(Vec<(u64, String)>);

impl Observer for Called {
    fn observe(&mut self, what: Observation<'_>) {
        if let Observation::Call { sample, start } = what {
            let due = u64::try_from((sample.intended - start).as_nanos()).expect("runs are short");
            self.0.push((due, String::from_utf8_lossy(sample.uri).into_owned()));
        }
    }
}

/// The whole plan in so many shards: what was called for, in order, and what was measured.
fn split(plan: &Plan, shards: u32) -> (Vec<(u64, String)>, Summary) {
    let mut calls = Called::default();
    let mut whole: Option<Summary> = None;
    for index in 0..shards {
        let shard = Shard { index, count: shards };
        let Run { summary, is_endless, .. } =
            run_shard(plan, shard, Link::default(), ok_after(NOW), &mut calls);
        assert!(!is_endless);
        match &mut whole {
            None => whole = Some(summary),
            Some(whole) => whole.merge(&summary, 10),
        }
    }
    calls.0.sort();
    (calls.0, whole.expect("there is a shard"))
}

fn timed_workload() -> impl Strategy<Value = Plan> {
    let by_connection = (7u64..100, 1u64..4).prop_map(|(count, calls)| connections(count, calls, 1));
    let by_session = (7u64..50, 1u64..4, 1u64..3)
        .prop_map(|(count, calls, burst)| sessions(count, uniform(calls, burst, ms(3))));
    let by_call = (7u64..200, 7u32..20, any::<bool>()).prop_map(|(count, connections, in_turn)| {
        let mut plan = calls(count, 1.0, connections);
        if in_turn {
            plan.change_calls(|calls| calls.assignment = Assignment::InTurn);
        }
        plan
    });
    let arrivals = prop_oneof![
        (1u32..30).prop_map(|period| Arrivals::Deterministic { period: f64::from(period) / 1e3 }),
        (1u32..30).prop_map(|mean| Arrivals::Exponential { mean: f64::from(mean) / 1e3 }),
        (1u32..30).prop_map(|max| Arrivals::Uniform { min: 0.0, max: f64::from(max) / 1e3 }),
    ];
    let uris = prop_oneof![
        (1usize..40, any::<bool>()).prop_map(|(count, wrap)| UriSource::List {
            uris: listed((0..count).map(|n| format!("/{n}").into_bytes())),
            wrap
        }),
        (2u32..500, 0.0..=1.0).prop_map(|(files, miss_rate)| UriSource::WorkingSet(
            httperf_plan::WorkingSet { prefix: b"/set".to_vec(), files: nonzero(files), miss_rate }
        )),
    ];
    (prop_oneof![by_connection, by_session, by_call], arrivals, uris, 0u32..5, any::<bool>()).prop_map(
        |(plan, arrivals, uris, client, is_cut)| {
            let mut plan = plan.with(|plan| {
                plan.arrivals = arrivals;
                plan.uris = uris;
                plan.client = Client::new(client, 5);
            });
            plan.change(|plan| plan.watch.calls = true);
            plan.change(|plan| plan.runtime = is_cut.then_some(ms(100)));
            plan
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// What is due when, and which request it is, does not depend on how the work is split.
    #[test]
    fn a_split_run_makes_the_same_calls_at_the_same_times(plan in timed_workload()) {
        let plan = plan.with(|plan| plan.threads = Some(nonzero(1)));
        let (whole, summary) = split(&plan, 1);
        for shards in [2, 7] {
            let (parts, merged) = split(&plan.clone().with(|plan| plan.threads = Some(nonzero(shards))), shards);
            prop_assert_eq!(&whole, &parts);
            prop_assert_eq!(summary.arrivals.due, merged.arrivals.due);
            prop_assert_eq!(summary.replies, merged.replies);
            prop_assert_eq!(summary.lag.moments.count(), merged.lag.moments.count());
        }
    }

    /// One thread without a number in the schedule asks for the same, where each arrival makes one call.
    #[test]
    fn numbers_of_a_schedule_change_nothing_where_arrivals_make_one_call(
        count in 1u64..60, period in 1u32..20, uris in 1usize..30, wrap in any::<bool>(),
    ) {
        let uris = listed((0..uris).map(|n| format!("/{n}").into_bytes()));
        let mut plan = connections(count, 1, 1).with(|plan| {
plan.arrivals = Arrivals::Exponential { mean: f64::from(period) / 1e3 };
plan.uris = UriSource::List { uris, wrap };
});
        plan.change(|plan| plan.watch.calls = true);
        let (classic, _) = split(&plan, 1);
        plan.change(|plan| plan.threads = Some(nonzero(1)));
        prop_assert_eq!(classic, split(&plan, 1).0);
    }
}

#[test]
fn sixty_four_ranks_measure_what_one_process_does_bucket_by_bucket() {
    let ranks = nonzero(64);
    let plan = connections(640, 2, 1).with(|plan| {
        plan.arrivals = Arrivals::Exponential { mean: 1e-3 };
        plan.threads = Some(nonzero(1));
    });
    let (_, alone) = split(&plan, 1);
    let part = |rank| {
        let shard = Shards::of_rank(rank, ranks, nonzero(1)).expect("there is such a rank").nth(0);
        run_shard(&plan, shard, Link::default(), ok_after(NOW), &mut Silent).summary
    };
    let merged = (1..ranks.get()).fold(part(0), |mut merged, rank| {
        merged.merge_rank(&part(rank), 10);
        merged
    });
    assert_eq!((merged.connections, merged.replies), (640, 1280));
    assert_eq!(merged.calls, alone.calls);
    let clocks = |summary: &Summary| {
        [&summary.connect, &summary.response, &summary.transfer, &summary.lag].map(Timing::clone)
    };
    assert_eq!(clocks(&merged), clocks(&alone));
    let seconds = |summary: &Summary| -> Vec<(Duration, u64, u64, Classes)> {
        let intervals = summary.series.intervals().iter();
        intervals.map(|one| (one.from, one.offered, one.replies, one.latency.clone())).collect()
    };
    assert_eq!(seconds(&merged), seconds(&alone));
}

#[test]
fn shards_share_what_is_capped() {
    let mut plan =
        connections(100, 1, 1).with(|plan| plan.arrivals = Arrivals::Deterministic { period: 0.001 });
    plan.change_connections(|workload| {
        workload.max_open = Some(httperf_plan::Cap { connections: nonzero(5), excess: Excess::Waits });
    });
    for shards in [1, 2, 3, 5] {
        let open: Vec<u64> = (0..shards)
            .map(|index| {
                let shard = Shard { index, count: shards };
                run_shard(&plan, shard, Link::default(), ok_after(ms(100)), &mut Silent)
                    .summary
                    .concurrent_max
            })
            .collect();
        assert_eq!(open.iter().sum::<u64>(), 5, "{open:?}");
    }
    let plan = closed_loop(5);
    let open: Vec<u64> = (0..3)
        .map(|index| {
            let shard = Shard { index, count: 3 };
            run_shard(&plan, shard, Link::default(), ok_after(ms(100)), &mut Silent).summary.concurrent_max
        })
        .collect();
    assert_eq!(open, [2, 2, 1]);
}

#[test]
fn a_run_that_is_observed_says_which_call_is_which_whatever_the_shard() {
    #[derive(Default)]
    struct Numbers(Vec<u64>);
    impl Observer for Numbers {
        fn observe(&mut self, what: Observation<'_>) {
            if let Observation::Call { sample, .. } = what {
                self.0.push(sample.call);
            }
        }
    }
    let mut plan = calls(20, 1000.0, 4);
    plan.change(|plan| plan.watch.calls = true);
    let mut numbers = Numbers::default();
    for index in 0..3 {
        let shard = Shard { index, count: 3 };
        run_shard(&plan, shard, Link::default(), ok_after(NOW), &mut numbers);
    }
    numbers.0.sort_unstable();
    assert_eq!(numbers.0, (0..20).collect::<Vec<u64>>());
    let mut alone = Numbers::default();
    run_observed(&plan, Link::default(), ok_after(NOW), &mut alone);
    assert_eq!(alone.0, (0..20).collect::<Vec<u64>>());
}
