//! Whole runs on the virtual clock, with their figures, objectives and verdicts.

use std::time::Duration;

use httperf_plan::objective::{Objective, Scope, ScopedObjective};
use httperf_plan::{
    Arrivals, Assignment, Cap, Every, Excess, HttpVersion, Phases, Plan, Process, UNLIMITED, WebSocket,
};
use httperf_report::result::Document;
use httperf_report::{Kept, Level, RunFigures, Verdict, calls_beyond_bound, judge, verdict};
use httperf_stats::{CallOutcome, Summary};
use httperf_testkit::http2::Reply;
use httperf_testkit::sim::{
    Action, Deed, Edit, Http2Peer, HttpPeer, Link, Peer, Say, Stops, StreamSeen, WebSocketPeer, WsHeard,
    at_once, calls, connections, nonzero, reply, run, scenarios, sessions, uniform,
};

use crate::documents;

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Answers each request after this delay, any number concurrently.
fn ok_after(delay: Duration) -> impl Peer {
    HttpPeer::new(move |_| vec![Action::Send(delay, reply(200, "", "hello"))])
}

/// Answers requests sequentially, each in this time.
fn one_by_one(service: Duration) -> impl Peer {
    let mut free_at = Duration::ZERO;
    HttpPeer::new(move |request| {
        free_at = free_at.max(request.at) + service;
        vec![Action::Send(free_at - request.at, reply(200, "", "hello"))]
    })
}

fn every(period: f64) -> Arrivals {
    Arrivals::Deterministic { period }
}

/// Connections of one call each at this rate, with a limit on open ones.
fn capped(rate: f64, most: u32, runtime: u64, drain: u64) -> Plan {
    let mut plan = connections(UNLIMITED, 1, 1).with(|plan| {
        plan.arrivals = every(1.0 / rate);
        plan.runtime = Some(seconds(runtime));
        plan.phases = Phases { drain: seconds(drain), ..Phases::default() };
    });
    plan.change_connections(|connections| {
        connections.max_open = Some(Cap { connections: nonzero(most), excess: Excess::Waits });
    });
    plan
}

fn objective(text: &str) -> Objective {
    text.parse().expect("the objective is well formed")
}

fn outcome(text: &str, summary: &Summary) -> Kept {
    judge(&[objective(text)], summary)[0].outcome
}

fn finds(verdict: &Verdict, name: &str) -> Option<Level> {
    verdict.reasons.iter().find(|reason| reason.finding.name() == name).map(|reason| reason.level)
}

fn answered(summary: &Summary) -> u64 {
    summary.calls_with(CallOutcome::Success).latency.moments.count()
}

// Arrivals that wait for room.

#[test]
fn arrivals_that_still_wait_for_room_at_the_end_are_unfinished_calls_of_a_known_age() {
    for drain in [0, 5] {
        let plan = capped(1000.0, 10, 5, drain);
        let summary = run(&plan, Link::default(), ok_after(ms(100))).summary;
        let (done, unfinished) = (answered(&summary), summary.unfinished.moments.count());
        assert_eq!(summary.arrivals.due, 5000);
        assert_eq!(done + unfinished, 5000, "every arrival is in a figure");
        assert_eq!(summary.arrivals.started + summary.arrivals.waiting, 5000);
        // 10 concurrent calls of 100 ms each, also during the drain.
        assert!((100 * (5 + drain) - 10..=100 * (5 + drain)).contains(&done), "{done}");
        assert!(summary.unfinished.moments.max() > drain as f64, "the first to wait has waited longest");
        let offered: u64 = summary.series.intervals().iter().map(|interval| interval.offered).sum();
        assert_eq!(offered, 5000);
        let verdict = verdict(&plan, &summary);
        assert_eq!(finds(&verdict, "unfinished"), Some(Level::Suspect));
        assert_eq!(finds(&verdict, "rate"), None, "the generator kept up");
        assert_eq!(
            finds(&verdict, "client limit"),
            Some(Level::Invalid),
            "ten places, where a hundred are needed"
        );
        assert!(verdict.blames_client());
        assert_eq!(outcome("p50<1s", &summary), Kept::Missed);
    }
}

#[test]
fn sessions_that_still_wait_for_room_at_the_end_count_against_objectives() {
    let script = uniform(2, 1, ms(50));
    let mut plan = sessions(UNLIMITED, script).with(|plan| {
        plan.arrivals = every(0.01);
        plan.runtime = Some(seconds(5));
        plan.phases = Phases { drain: seconds(2), ..Phases::default() };
    });
    plan.change_sessions(|sessions| sessions.max_open = Some(nonzero(2)));
    let summary = run(&plan, Link::default(), ok_after(ms(25))).summary;
    let ended = summary.sessions.as_ref().expect("the plan has sessions");
    assert_eq!(summary.arrivals.due, 500);
    assert_eq!(summary.arrivals.started + summary.arrivals.waiting, 500);
    assert!(ended.completed < 110, "two at once, a tenth of a second each: {}", ended.completed);
    assert!(ended.unfinished.moments.count() >= summary.arrivals.waiting);
    assert_eq!(outcome("session.p50<1s", &summary), Kept::Missed);
    assert!(finds(&verdict(&plan, &summary), "unfinished") >= Some(Level::Suspect));
}

#[test]
fn visits_and_messages_that_are_overdue_at_the_end_count_against_objectives() {
    let ending = |plan: Plan| {
        plan.with(|plan| {
            plan.runtime = Some(seconds(2));
            plan.phases = Phases { drain: seconds(1), ..Phases::default() };
        })
    };
    let shop = "base = \"http://shop\"\n[arrivals]\nrate = \"10/s\"\nvisits = 20\n[[scenario]]\nname = \"buyer\"\nsteps = [{ run = \"a.hurl\" }]";
    let scoped = ["session.p50<1s", "session.p50<10s"].map(|text| ScopedObjective {
        scope: Scope::Scenario("buyer".to_owned()),
        objective: objective(text),
    });
    let plan = ending(scenarios(shop, &[("a.hurl", "GET {{base}}/a\n")]))
        .with(|plan| plan.objectives.scoped.extend(scoped));
    let summary = run(&plan, Link::default(), HttpPeer::new(|_| Vec::new())).summary;
    // The last visit was due 1.1 s before the end.
    assert_eq!(outcome("session.p50<1s", &summary), Kept::Missed);
    let judged = Document::new(documents::part(), plan, summary).objectives;
    let outcomes: Vec<Kept> = judged.iter().map(|judged| judged.outcome).collect();
    assert_eq!(outcomes, [Kept::Missed, Kept::Unknown], "{judged:?}");

    let plan = ending(connections(1, 1, 1)).with(|plan| {
        let every = Some(Every { period: ms(10), process: Process::Even });
        plan.request.websocket = Some(WebSocket { every, messages: None, ..WebSocket::default() });
    });
    let standing_still = WebSocketPeer::new(ms(20), |_, heard| match heard {
        WsHeard::Message(text) if text.starts_with("1 ") => vec![Say::Text(ms(5), text.to_owned())],
        _ => Vec::new(),
    });
    let summary = run(&plan, Link::default(), standing_still).summary;
    let websockets = summary.websockets.as_ref().expect("there was one");
    assert_eq!((websockets.answered, websockets.unanswered), (1, 0));
    assert_eq!(outcome("rtt.p50<100ms", &summary), Kept::Missed);
    assert_eq!(outcome("rtt.p50<10s", &summary), Kept::Unknown);
}

#[test]
fn the_generator_is_judged_by_its_own_lateness_though_arrivals_wait_for_room() {
    let plan = capped(1000.0, 10, 5, 0);
    let mut summary = run(&plan, Link::default(), ok_after(ms(15))).summary;
    assert!(summary.arrivals.held > 0);
    assert_eq!(finds(&verdict(&plan, &summary), "arrival process"), None);
    summary.arrivals.started -= 600;
    assert_eq!(finds(&verdict(&plan, &summary), "rate"), Some(Level::Invalid), "600 were not started");
}

// Limits of the client.

/// Answers each request after this delay, over HTTP/2 with at most this many streams at once on a connection.
fn streams_after(delay: Duration, streams: u32) -> impl Peer {
    const MAX_CONCURRENT_STREAMS: u16 = 3;
    Http2Peer::new(move |_: &StreamSeen| vec![Deed::Reply(delay, Reply::new(200))])
        .settings(&[(MAX_CONCURRENT_STREAMS, streams)])
}

/// Calls at this rate for a second, or thirty if they are few, on as many connections and streams as they need, that may all be answered.
fn as_needed(rate: f64, version: HttpVersion) -> Plan {
    let mut plan = calls(UNLIMITED, rate, 1).with(|plan| {
        plan.runtime = Some(seconds(if rate < 100.0 { 30 } else { 1 }));
        plan.phases = Phases { drain: seconds(20), ..Phases::default() };
        plan.request.version = version;
    });
    plan.change_calls(|calls| (calls.connections, calls.pipeline) = (None, None));
    plan
}

fn median(summary: &Summary) -> Duration {
    summary.calls_with(CallOutcome::Success).latency.quantile(0.5).unwrap_or_default()
}

#[test]
fn a_server_without_a_limit_is_measured_as_it_is_whatever_the_rate() {
    for delay in [1, 20, 500, 5_000] {
        for rate in [10.0, 300.0, 5_000.0] {
            for streams in [None, Some(1), Some(7), Some(100), Some(u32::MAX)] {
                let version = if streams.is_some() { HttpVersion::Http2 } else { HttpVersion::Http11 };
                let plan = as_needed(rate, version);
                let summary = match streams {
                    None => run(&plan, Link::default(), ok_after(ms(delay))).summary,
                    Some(streams) => run(&plan, Link::default(), streams_after(ms(delay), streams)).summary,
                };
                let what = format!("{delay} ms, {rate}/s, {streams:?} streams");
                assert_eq!(answered(&summary), summary.arrivals.due, "{what}");
                let median = median(&summary).as_secs_f64() * 1e3;
                assert!((median - delay as f64).abs() <= 0.01 * delay as f64 + 0.2, "{what}: {median} ms");
                let verdict = verdict(&plan, &summary);
                assert_eq!(finds(&verdict, "client limit"), None, "{what}: {verdict:?}");
                assert!(summary.unfinished.moments.count() == 0 && !verdict.blames_client(), "{what}");
            }
        }
    }
}

#[test]
fn connections_are_opened_when_calls_need_them() {
    let connections = |rate: f64, delay: u64| {
        let run = run(&as_needed(rate, HttpVersion::Http11), Link::default(), ok_after(ms(delay)));
        run.connections.len()
    };
    assert_eq!(connections(10.0, 20), 10, "those that are opened before the run suffice");
    let many = connections(1_000.0, 100);
    assert!((100..=130).contains(&many), "100 are busy, a few more are open: {many}");
    let mut two = as_needed(10.0, HttpVersion::Http11);
    two.change_calls(|calls| calls.count = 2);
    assert_eq!(run(&two, Link::default(), ok_after(ms(1))).connections.len(), 2, "no more than calls");
}

#[test]
fn a_call_that_needs_a_connection_has_its_setup_in_its_latency_and_that_is_told() {
    // All come at once: ten connections are open, and each of the others has to be opened first, which takes a round trip.
    let mut plan = as_needed(1e6, HttpVersion::Http11).with(|plan| plan.runtime = None);
    plan.change_calls(|calls| calls.count = 50);
    let summary = run(&plan, Link { latency: ms(30), ..Link::default() }, ok_after(ms(10))).summary;
    let opening = summary.arrivals.opening;
    assert!(opening.count() >= 30, "{}", opening.count());
    assert!((opening.max() - 0.06).abs() < 0.005, "{}", opening.max());
    assert_eq!(finds(&verdict(&plan, &summary), "opened for calls"), Some(Level::Valid));
    let latency = &summary.calls_with(CallOutcome::Success).latency;
    assert!((latency.moments.max() - 0.13).abs() < 0.01, "{}", latency.moments.max());
}

#[test]
fn a_bound_of_the_plan_that_decides_the_figures_is_never_valid() {
    let phases = Phases { drain: seconds(60), ..Phases::default() };
    let at_a_rate = |rate: f64, connections: u32, streams: u32, version| {
        let mut plan = calls(UNLIMITED, rate, connections).with(|plan| {
            (plan.runtime, plan.phases, plan.request.version) = (Some(seconds(3)), phases, version);
        });
        plan.change_calls(|calls| calls.pipeline = Some(nonzero(streams)));
        plan
    };
    let mut own_schedules = at_a_rate(700.0, 10, 1, HttpVersion::Http11);
    own_schedules.change_calls(|calls| calls.assignment = Assignment::InTurn);
    let mut visits = sessions(UNLIMITED, uniform(2, 1, ms(10))).with(|plan| {
        (plan.runtime, plan.phases, plan.arrivals) = (Some(seconds(3)), phases, every(0.01));
    });
    visits.change_sessions(|sessions| sessions.max_open = Some(nonzero(4)));
    let over_http1 = [
        ("10 connections", at_a_rate(700.0, 10, 1, HttpVersion::Http11)),
        ("a pipeline", at_a_rate(700.0, 5, 2, HttpVersion::Http11)),
        ("schedules of their own", own_schedules),
        ("open connections", capped(700.0, 10, 3, 60)),
        ("sessions", visits),
    ];
    let check = |what: &str, plan: &Plan, summary: &Summary| {
        let verdict = verdict(plan, summary);
        assert_eq!(finds(&verdict, "client limit"), Some(Level::Invalid), "{what}: {verdict:?}");
        assert!(verdict.blames_client(), "{what}");
        let text = verdict.reasons[0].finding.to_string();
        assert!(text.contains("these figures describe that limit") && text.contains(" or more"), "{text}");
    };
    for (what, plan) in over_http1 {
        check(what, &plan, &run(&plan, Link::default(), ok_after(ms(20))).summary);
    }
    for (what, connections, streams, allowed) in
        [("one stream each", 10, 1, 100), ("the server's streams", 2, 100, 5)]
    {
        let plan = at_a_rate(700.0, connections, streams, HttpVersion::Http2);
        check(what, &plan, &run(&plan, Link::default(), streams_after(ms(20), allowed)).summary);
    }
}

#[test]
fn what_does_not_fit_into_a_bound_is_known_once_a_first_call_was_answered() {
    let mut plan = calls(1, 1.0, 10);
    let first = run(&plan, Link::default(), ok_after(ms(20))).summary;
    assert_eq!(calls_beyond_bound(&plan, &first, Some(400.0)), None);
    let told = calls_beyond_bound(&plan, &first, Some(700.0)).expect("it needs more than there are");
    let expected = "10 connections (--concurrency) have room for 450.0/s at 20.0 ms each: trials beyond that describe \
                    this limit, not the server; 700.0/s need 16";
    assert_eq!(told, expected);
    // A search without a highest rate comes to any bound that was given.
    assert!(calls_beyond_bound(&plan, &first, None).is_some());
    plan.change_calls(|calls| calls.connections = None);
    assert_eq!(calls_beyond_bound(&plan, &first, None), None);
    assert_eq!(calls_beyond_bound(&plan, &first, Some(1e5)), None);
    assert_eq!(calls_beyond_bound(&connections(1, 1, 1), &first, Some(1e9)), None);
}

#[test]
fn a_bound_that_would_do_is_not_blamed_for_a_server_that_is_overloaded_or_stands_still() {
    let plan = calls(UNLIMITED, 1_000.0, 64).with(|plan| {
        plan.runtime = Some(seconds(3));
        plan.phases = Phases { warmup: seconds(1), drain: seconds(1) };
    });
    // 500 per second, one after the other.
    let overloaded = run(&plan, Link::default(), one_by_one(ms(2))).summary;
    let mut until = Duration::ZERO;
    let stalling = HttpPeer::new(move |request| {
        if request.at > until + seconds(1) {
            until = request.at + ms(300);
        }
        vec![Action::Send(until.saturating_sub(request.at) + ms(2), reply(200, "", "hello"))]
    });
    let stalled = run(&plan, Link::default(), stalling).summary;
    // A server of 100 per second that is offered ten times as much, by no more connections than a quick one would need.
    let capped = capped(1_000.0, 10, 3, 1);
    let tenfold = run(&capped, Link::default(), one_by_one(ms(10))).summary;
    for (plan, summary) in [(&plan, &overloaded), (&plan, &stalled), (&capped, &tenfold)] {
        assert!(summary.arrivals.held > 250, "{}", summary.arrivals.held);
        let verdict = verdict(plan, summary);
        assert_eq!(finds(&verdict, "client limit"), None, "{verdict:?}");
        assert_eq!(finds(&verdict, "arrivals held"), Some(Level::Valid));
    }
}

// Pauses of the generator.

/// Every workload, against a server that answers in 10 ms.
fn workloads() -> Vec<(&'static str, Plan)> {
    let runtime = Some(seconds(10));
    let mut paused = connections(UNLIMITED, UNLIMITED, 1).with(|plan| {
        plan.arrivals = at_once(4);
        plan.runtime = runtime;
    });
    paused.change_connections(|connections| {
        connections.think = ms(20);
    });
    let script = uniform(10, 1, ms(30));
    vec![
        (
            "open loop",
            connections(UNLIMITED, 1, 1).with(|plan| {
                plan.arrivals = every(0.005);
                plan.runtime = runtime;
            }),
        ),
        ("open loop with a cap", capped(200.0, 20, 10, 0)),
        ("calls at a rate", calls(UNLIMITED, 200.0, 4).with(|plan| plan.runtime = runtime)),
        (
            "sessions",
            sessions(UNLIMITED, script).with(|plan| {
                plan.arrivals = every(0.05);
                plan.runtime = runtime;
            }),
        ),
        ("closed loop with a pause", paused),
        (
            "closed loop",
            connections(UNLIMITED, UNLIMITED, 1).with(|plan| {
                plan.arrivals = at_once(4);
                plan.runtime = runtime;
            }),
        ),
    ]
}

#[test]
fn a_stopped_generator_is_to_blame_with_any_workload() {
    let stops = Some(Stops { every: seconds(1), length: ms(400) });
    for (name, plan) in workloads() {
        let summary = run(&plan, Link { stops, ..Link::default() }, ok_after(ms(10))).summary;
        let verdict = verdict(&plan, &summary);
        assert_eq!(verdict.level, Level::Invalid, "{name}: {verdict:?}");
        assert_eq!(finds(&verdict, "paused"), Some(Level::Invalid), "{name}: {verdict:?}");
        assert_eq!(finds(&verdict, "server stall"), None, "{name}: {verdict:?}");
        assert_eq!(summary.pauses.count, 10, "{name}");
        assert!((0.35..=0.4).contains(&summary.pauses.longest.as_secs_f64()), "{name}: {:?}", summary.pauses);
    }
}

#[test]
fn a_generator_that_runs_has_no_pauses() {
    for (name, plan) in workloads() {
        let summary = run(&plan, Link::default(), ok_after(ms(10))).summary;
        let verdict = verdict(&plan, &summary);
        assert_eq!(verdict.level, Level::Valid, "{name}: {verdict:?}");
        assert_eq!(summary.pauses.count, 0, "{name}");
    }
}

#[test]
fn lag_counts_from_the_instant_at_which_work_became_possible() {
    let stops = Some(Stops { every: seconds(1), length: ms(400) });
    for (name, plan) in workloads() {
        let summary = run(&plan, Link { stops, ..Link::default() }, ok_after(ms(10))).summary;
        if name != "closed loop" {
            let late = summary.lag.quantile(0.99).expect("lag is recorded").as_secs_f64();
            assert!(late > 0.2, "{name}: {late}");
        }
    }
}

// Throughput.

/// Replies per second in the figures and in the classic block, for a server that answers 500 per second.
fn reply_rates(plan: &Plan) -> (f64, f64) {
    let link = Link { latency: ms(1), ..Link::default() };
    let summary = match plan.request.version {
        HttpVersion::Http2 => run(plan, link, streams_one_by_one(ms(2))).summary,
        _ => run(plan, link, one_by_one(ms(2))).summary,
    };
    (RunFigures::of(plan, &summary, 1).reply_rate, summary.reply_rates.moments().mean())
}

fn streams_one_by_one(service: Duration) -> impl Peer {
    let mut free_at = Duration::ZERO;
    Http2Peer::new(move |stream: &StreamSeen| {
        free_at = free_at.max(stream.at) + service;
        vec![Deed::Reply(free_at - stream.at, Reply::new(200))]
    })
}

#[test]
fn throughput_counts_replies_that_arrive_in_the_measured_phase_whenever_they_were_due() {
    for (warmup, drain) in [(0, 0), (0, 2), (2, 8), (3, 0)] {
        for offered in [250.0, 500.0, 1500.0] {
            let phases = Phases { warmup: seconds(warmup), drain: seconds(drain) };
            let runtime = Some(seconds(6));
            let open = connections(UNLIMITED, 1, 1).with(|plan| plan.arrivals = every(1.0 / offered));
            let mut over_http2 = calls(UNLIMITED, offered, 2);
            over_http2.change(|plan| plan.request.version = HttpVersion::Http2);
            for plan in [open, calls(UNLIMITED, offered, 8), over_http2] {
                let plan = plan.with(|plan| {
                    plan.runtime = runtime;
                    plan.phases = phases;
                });
                let (rate, sampled) = reply_rates(&plan);
                let expected = offered.min(500.0);
                for found in [rate, sampled] {
                    assert!(
                        (found - expected).abs() <= 0.02 * expected,
                        "{found} of {expected}, {offered} offered, warm-up {warmup}, drain {drain}"
                    );
                }
            }
        }
    }
}

#[test]
fn replies_in_the_drain_do_not_help_an_objective_on_replies() {
    let plan = connections(UNLIMITED, 1, 1).with(|plan| {
        plan.arrivals = every(0.001);
        plan.runtime = Some(seconds(5));
        plan.phases = Phases { drain: seconds(8), ..Phases::default() };
    });
    let summary = run(&plan, Link::default(), one_by_one(ms(2))).summary;
    assert_eq!(answered(&summary), 5000, "all were answered in the end");
    assert_eq!(outcome("replies>600", &summary), Kept::Missed);
    assert_eq!(outcome("replies>490", &summary), Kept::Met);
}

// Replies in flight.

#[test]
fn replies_in_flight_are_their_rate_times_their_time() {
    let ending = |plan: Plan| plan.with(|plan| plan.runtime = Some(seconds(20)));
    let closed = ending(connections(UNLIMITED, UNLIMITED, 1))
        .with(|plan| plan.arrivals = Arrivals::Concurrent(nonzero(8)));
    let warmed_up = ending(calls(UNLIMITED, 100.0, 50))
        .with(|plan| plan.phases = Phases { warmup: seconds(5), drain: seconds(1) });
    let http2 = ending(calls(UNLIMITED, 200.0, 2)).with(|plan| plan.request.version = HttpVersion::Http2);
    for (name, plan, expected) in [
        ("calls at a rate", ending(calls(UNLIMITED, 100.0, 50)), 5.0),
        ("with a warm-up", warmed_up, 5.0),
        ("a closed loop", closed, 8.0),
        (
            "a connection each",
            ending(connections(UNLIMITED, 1, 1)).with(|plan| plan.arrivals = every(0.01)),
            5.0,
        ),
        ("HTTP/2", http2, 2.0),
    ] {
        let is_http2 = plan.request.version == HttpVersion::Http2;
        let summary = match is_http2 {
            true => run(&plan, Link::default(), streams_after(ms(50), 100)).summary,
            false => run(&plan, Link::default(), ok_after(ms(50))).summary,
        };
        let verdict = verdict(&plan, &summary);
        let figures = RunFigures::of(&plan, &summary, 1).in_flight.expect("it is counted");
        assert!((figures.measured - expected).abs() < 0.2, "{name}: {figures:?}");
        let disagreement = figures.disagreement.unwrap_or_else(|| panic!("{name}: {figures:?}"));
        assert!(disagreement.abs() < 0.01, "{name}: {figures:?}");
        assert_eq!(finds(&verdict, "in flight"), None, "{name}");
    }
}

#[test]
fn of_a_call_that_is_sent_again_only_the_last_attempt_is_in_flight() {
    // Each reply closes its connection, and the two calls behind it go to the next one.
    let mut plan = connections(UNLIMITED, UNLIMITED, 1).with(|plan| {
        plan.arrivals = Arrivals::Concurrent(nonzero(2));
        plan.runtime = Some(seconds(20));
    });
    plan.change_connections(|connections| connections.pipeline = nonzero(3));
    let closing = HttpPeer::new(|_| {
        vec![Action::Send(ms(20), reply(200, "Connection: close\r\n", "hello")), Action::Close(ms(20))]
    });
    let summary = run(&plan, Link::default(), closing).summary;
    let figures = RunFigures::of(&plan, &summary, 1).in_flight.expect("it is counted");
    let by_law = figures.by_law.expect("there are replies");
    assert!((figures.measured - by_law).abs() < 0.05 * by_law, "{figures:?}");
    assert_eq!(finds(&verdict(&plan, &summary), "in flight"), None, "{figures:?}");
}

#[test]
fn counts_and_times_that_cannot_both_be_right_are_found() {
    let plan = calls(2000, 100.0, 50);
    let summary = run(&plan, Link::default(), ok_after(ms(50))).summary;
    assert_eq!(finds(&verdict(&plan, &summary), "in flight"), None);
    let mut lost = summary.clone();
    lost.window.as_mut().expect("it is counted").replies -= 300;
    assert_eq!(
        finds(&verdict(&plan, &lost), "in flight"),
        Some(Level::Suspect),
        "300 replies are in no figure"
    );
    let mut short = summary;
    short.in_flight.as_mut().expect("it is counted").time_us /= 2;
    assert_eq!(finds(&verdict(&plan, &short), "in flight"), Some(Level::Suspect), "times are too long");
}
