//! Late reading: where the kernel's clock times replies and nothing waits for them, a worker sleeps for its schedule alone. Each run
//! is compared with one over a network that cannot sleep so, in which every reply is read at once.

use std::time::Duration;

use httperf_plan::{
    Arrivals, Assignment, Body, HttpVersion, Phases, Plan, ReplyClock, Template, Timeouts, Tls, UNLIMITED,
    UriSource,
};
use httperf_stats::{CallOutcome, Summary, Timing};
use httperf_testkit::http2;
use httperf_testkit::sim::{
    Action, Deed, Edit, Goodbye, Http2Peer, HttpPeer, Link, Peer, Run, StreamSeen, TlsPeer, calls,
    connections, listed, nonzero, reply, run, tls_server,
};
use proptest::prelude::*;

fn us(microseconds: u64) -> Duration {
    Duration::from_micros(microseconds)
}

/// Stamps on a link of 20 µs.
const LINK: Link = Link { latency: Duration::from_micros(20), stamps: true, ..Link::DEFAULT };

/// Creates a plan of calls at this rate over a pool of this size. Each call has a URI of its own.
fn numbered(count: u64, per_second: f64, connections: u32) -> Plan {
    calls(count, per_second, connections).with(|plan| {
        let uris = listed((0..count).map(|number| format!("/{number}").into_bytes()));
        plan.uris = UriSource::List { uris, wrap: true };
    })
}

/// A delay that follows from a URI, up to `most`.
fn delay(uri: &str, most: Duration) -> Duration {
    let number: u64 = uri.trim_start_matches('/').parse().unwrap_or_default();
    most.mul_f64((number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64 / f64::from(1 << 24))
}

fn answering(most: Duration, size: usize) -> impl Peer {
    HttpPeer::new(move |request| {
        vec![Action::Send(delay(request.uri(), most), reply(200, "", &"x".repeat(size)))]
    })
}

fn answering_http2(most: Duration) -> Http2Peer<impl FnMut(&StreamSeen) -> Vec<Deed>> {
    Http2Peer::new(move |seen: &StreamSeen| {
        vec![Deed::Reply(delay(seen.field(":path"), most), http2::Reply::new(200).body("hello"))]
    })
}

fn carry_out(plan: &Plan, link: Link, peer: impl Peer + 'static) -> Run {
    let run = run(plan, link, peer);
    assert!(!run.is_endless, "the run must end by itself");
    run
}

/// Both runs: the worker may read late, or cannot.
fn both<P: Peer + 'static>(plan: &Plan, link: Link, peer: impl Fn() -> P) -> [Run; 2] {
    [true, false].map(|sleeps| carry_out(plan, Link { sleeps, ..link }, peer()))
}

/// A distribution, whatever the order in which its values came.
fn shape(timing: &Timing) -> Vec<String> {
    let moments = &timing.moments;
    let ends = [moments.count() as f64, moments.min(), moments.max(), moments.mean()];
    let quantiles = (1..1000)
        .step_by(37)
        .map(|permille| timing.quantile(f64::from(permille) / 1000.0).unwrap_or_default().as_secs_f64());
    ends.into_iter().chain(quantiles).map(|value| format!("{value:.9}")).collect()
}

/// All that a user may know of two runs is the same, but when replies were read.
#[track_caller]
fn check_same(runs: &[Run; 2]) {
    let [late, prompt] = runs.each_ref().map(|run| &run.summary);
    assert_eq!(prompt.receive.read_late, 0);
    for outcome in [CallOutcome::Success, CallOutcome::Unexpected, CallOutcome::Failure] {
        let [late, prompt] = [late, prompt].map(|summary| summary.calls_with(outcome));
        assert_eq!(shape(&late.latency), shape(&prompt.latency), "latency, {outcome:?}");
        assert_eq!(shape(&late.service), shape(&prompt.service), "service, {outcome:?}");
    }
    assert_eq!(shape(&late.response), shape(&prompt.response), "response");
    assert_eq!(shape(&late.transfer), shape(&prompt.transfer), "transfer");
    assert_eq!(shape(&late.lag), shape(&prompt.lag), "lag");
    assert_eq!(
        (late.replies, late.requests, &late.errors),
        (prompt.replies, prompt.requests, &prompt.errors)
    );
    assert_eq!(shape(&late.unfinished), shape(&prompt.unfinished), "unfinished");
    let arrivals =
        |summary: &Summary| (summary.arrivals.due, summary.arrivals.started, summary.arrivals.held);
    assert_eq!(arrivals(late), arrivals(prompt));
    let in_flight = |summary: &Summary| summary.in_flight.map(|in_flight| in_flight.time_us);
    assert_eq!(in_flight(late), in_flight(prompt));
    assert_eq!(runs[0].connections.len(), runs[1].connections.len());
}

#[track_caller]
fn check_late<P: Peer + 'static>(plan: &Plan, peer: impl Fn() -> P) {
    let runs = both(plan, LINK, peer);
    check_same(&runs);
    let receive = &runs[0].summary.receive;
    assert!(receive.read_late * 10 >= receive.lag.moments.count() * 9, "{}", receive.read_late);
    assert!(receive.lag.moments.max() <= 0.001, "{}", receive.lag.moments.max());
}

#[track_caller]
fn check_prompt<P: Peer + 'static>(why: &str, plan: &Plan, link: Link, peer: impl Fn() -> P) {
    let runs = both(plan, link, peer);
    check_same(&runs);
    assert_eq!(runs[0].summary.receive.read_late, 0, "{why}");
    assert_eq!(runs[0].summary.receive.lag.moments.max(), 0.0, "{why}");
}

#[test]
fn what_nothing_waits_for_is_read_late_and_every_figure_is_the_same() {
    let plan = numbered(2000, 4000.0, 64);
    let peer = || answering(us(600), 100);
    check_late(&plan, peer);
    check_late(&plan.clone().with(|plan| plan.recording.clock = ReplyClock::Kernel), peer);
    let poisson = plan.clone().with(|plan| plan.arrivals = Arrivals::Exponential { mean: 0.000_2 });
    check_late(&poisson, peer);
    let secured = plan.clone().with(|plan| plan.tls = Some(Tls::default()));
    check_late(&secured, || TlsPeer::new(peer(), tls_server().build(), Goodbye::Said));
    let http2 = plan.with(|plan| plan.request.version = HttpVersion::Http2);
    check_late(&http2, || answering_http2(us(600)));
}

#[test]
fn phases_begin_and_end_as_they_would() {
    let plan = numbered(10_000, 4000.0, 64).with(|plan| {
        plan.runtime = Some(us(700_300));
        plan.phases = Phases { warmup: us(200_100), drain: us(100_000) };
    });
    let runs = both(&plan, LINK, || answering(us(600), 100));
    check_same(&runs);
    let window = |run: &Run| {
        format!("{:?} {:?}", run.summary.window, run.summary.warmup.as_ref().map(|warmup| warmup.replies))
    };
    assert_eq!(window(&runs[0]), window(&runs[1]));
}

#[test]
fn replies_that_something_waits_for_are_read_at_once() {
    let plan = numbered(600, 4000.0, 64);
    let peer = || answering(us(600), 100);
    let check = |why, plan: &Plan| check_prompt(why, plan, LINK, peer);
    check("the program's clock", &plan.clone().with(|plan| plan.recording.clock = ReplyClock::Program));
    check("spinning", &plan.clone().with(|plan| plan.spin = true));
    check(
        "arrivals are far apart",
        &plan.clone().with(|plan| plan.arrivals = Arrivals::Deterministic { period: 0.001_1 }),
    );
    let mut in_turn = plan.clone();
    in_turn.change_calls(|calls| calls.assignment = Assignment::InTurn);
    check("each connection has a schedule", &in_turn);
    check("few places are free", &numbered(600, 4000.0, 3));
    let single = |calls| {
        connections(400, calls, 1).with(|plan| plan.arrivals = Arrivals::Deterministic { period: 0.000_25 })
    };
    check("a connection ends with its reply", &single(1));
    check("a call follows a reply", &single(3));
    check_prompt("large replies need room", &plan, LINK, || answering(us(600), 20_000));
    let small = plan.clone().with(|plan| plan.sockets.recv_buffer = Some(4096));
    check_prompt("the buffer is small", &small, LINK, || answering(us(600), 2000));
    let mut many = plan;
    many.change(|plan| plan.request.version = HttpVersion::Http2);
    many.change_calls(|calls| (calls.connections, calls.pipeline) = (Some(nonzero(1)), None));
    let runs = both(&many, LINK, || answering_http2(us(600)));
    assert_eq!(runs[0].summary.receive.read_late, 0, "one read may end several replies");
}

#[test]
fn a_reply_whose_parts_come_apart_ends_late_reading() {
    // The header at once, the body a little later.
    let apart = |by: Duration| {
        move || {
            HttpPeer::new(move |_| {
                let whole = reply(200, "", "hello");
                let (head, body) = whole.split_at(whole.len() - 5);
                vec![Action::Send(us(30), head.to_vec()), Action::Send(us(30) + by, body.to_vec())]
            })
        }
    };
    let plan = numbered(4000, 3000.0, 64);
    let runs = both(&plan, LINK, apart(us(150)));
    let late = runs[0].summary.receive.read_late;
    assert!(late < 100, "one of the first sleeps shows it: {late}");
    let transfer = &runs[0].summary.transfer;
    assert!(transfer.quantile(0.5) == runs[1].summary.transfer.quantile(0.5), "{transfer:?}");
    let runs = both(&plan, LINK, apart(us(40)));
    assert!(runs[0].summary.receive.read_late > 3000, "a tenth of a millisecond is one instant");
    assert_eq!(
        shape(&runs[0].summary.calls_with(CallOutcome::Success).latency),
        shape(&runs[1].summary.calls_with(CallOutcome::Success).latency)
    );
}

#[test]
fn a_body_that_waits_for_the_servers_window_is_not_kept_waiting() {
    // The server lets 5,000 bytes come at a time, and allows more as they come.
    let plan = numbered(600, 1100.0, 64).with(|plan| {
        plan.request.version = HttpVersion::Http2;
        plan.request.method = b"POST".to_vec();
        plan.request.body = Some(Body::text(Template::literal(&vec![b'x'; 20_000])));
    });
    let peer = || answering_http2(us(100)).settings(&[(0x4, 5000)]);
    check_prompt("a window is awaited", &plan, LINK, peer);
}

#[test]
fn without_stamps_nothing_is_read_late() {
    let runs = both(&numbered(600, 4000.0, 64), Link { stamps: false, ..LINK }, || answering(us(600), 100));
    check_same(&runs);
    assert_eq!((runs[0].summary.receive.read_late, runs[0].summary.receive.unstamped), (0, 600));
}

#[test]
fn no_arrival_goes_to_a_connection_that_the_server_closed_meanwhile() {
    // Each is closed 300 µs after its twentieth reply, while it is idle.
    let peer = || {
        HttpPeer::new(|request| {
            let mut actions = vec![Action::Send(us(50), reply(200, "", "hello"))];
            actions.extend((request.index == 19).then_some(Action::Close(us(350))));
            actions
        })
    };
    let plan = numbered(3000, 1900.0, 64);
    let runs = both(&plan, LINK, peer);
    assert!(runs[0].summary.receive.read_late > 1000, "{}", runs[0].summary.receive.read_late);
    for run in &runs {
        assert_eq!((run.summary.replies, run.summary.errors.total()), (3000, 0));
    }
}

#[test]
fn slack_lets_arrivals_start_together_and_its_lag_is_told() {
    for (slack, together) in [(us(0), 1), (us(400), 2), (us(999), 4), (us(9_999), 40)] {
        let plan = numbered(820, 4000.0, 820).with(|plan| plan.slack = slack);
        let run = carry_out(&plan, LINK, answering(us(100), 100));
        let summary = &run.summary;
        assert_eq!((summary.replies, summary.errors.total()), (820, 0));
        let mut starts: Vec<Duration> =
            run.connections.iter().flat_map(|trace| trace.received.iter().map(|(at, _)| *at)).collect();
        starts.sort_unstable();
        starts.dedup();
        // A wake-up for another reason starts what is due.
        assert!(
            starts.len() >= 820 / together && starts.len() <= 820 / together + 820 / 4,
            "{slack:?}: {}",
            starts.len()
        );
        assert!(summary.lag.moments.max() <= slack.as_secs_f64(), "{slack:?}: {}", summary.lag.moments.max());
        let latency = &summary.calls_with(CallOutcome::Success).latency;
        let service = &summary.calls_with(CallOutcome::Success).service;
        let added = latency.moments.mean() - service.moments.mean() - summary.lag.moments.mean();
        // Some wait for a connection, which takes 40 µs.
        assert!((-1e-9..0.000_04).contains(&added), "latency counts from when a call was due: {added}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// At any rate, with servers that leave some calls unanswered.
    #[test]
    fn however_calls_end_the_books_are_the_same(
        per_second in 500.0..20_000.0_f64,
        is_poisson in any::<bool>(),
        connections in 1_u32..100,
        most in 1_u64..5000,
        limit in 500_u64..4000,
        slack in prop_oneof![Just(0), 0_u64..2000],
        closes in 3_u64..40,
        seed in any::<u64>(),
    ) {
        let plan = numbered(400, per_second, connections).with(|plan| {
            if is_poisson {
                plan.arrivals = Arrivals::Exponential { mean: 1.0 / per_second };
            }
            plan.timeouts = Timeouts { timeout: Some(us(limit)), think_timeout: None };
            plan.slack = us(slack);
        });
        let peer = || HttpPeer::new(move |request: &httperf_testkit::sim::RequestSeen| {
            let number: u64 = request.uri().trim_start_matches('/').parse().unwrap_or_default();
            match number % closes {
                0 => vec![Action::Close(us(number % 700))],
                1 => vec![Action::Reset(us(number % 700))],
                2 => Vec::new(),
                _ => vec![Action::Send(delay(request.uri(), us(most)), reply(200, "", "hello"))],
            }
        });
        let link = Link { seed, jitter: us(5), ..LINK };
        for run in both(&plan, link, peer) {
            let summary = &run.summary;
            let failed = summary.calls_with(CallOutcome::Failure).latency.moments.count();
            prop_assert_eq!(summary.replies + failed + summary.unfinished.moments.count(), 400);
            prop_assert!(summary.lag.moments.max() <= us(slack).as_secs_f64());
            let answered = &summary.completed().service.moments;
            prop_assert!(answered.count() == 0 || answered.max() <= us(limit).as_secs_f64(), "a late reply counts as none");
        }
    }

    /// The same, over a link that delivers in pieces and refuses writes.
    #[test]
    fn on_a_hostile_link_every_call_is_in_the_books(seed in any::<u64>(), is_http2 in any::<bool>()) {
        let plan = numbered(300, 6000.0, 64).with(|plan| {
            if is_http2 {
                plan.request.version = HttpVersion::Http2;
            }
        });
        let link = Link { seed, hostile: true, jitter: us(300), ..LINK };
        let run = if is_http2 {
            carry_out(&plan, link, answering_http2(us(600)))
        } else {
            carry_out(&plan, link, answering(us(600), 300))
        };
        prop_assert_eq!((run.summary.replies, run.summary.errors.total()), (300, 0));
        prop_assert_eq!(run.summary.receive.lag.moments.count(), 300);
    }
}

#[test]
fn what_slack_holds_back_starts_before_the_load_ends() {
    // Some ninety are held back when it ends, more than a turn starts.
    let mut plan = numbered(1000, 10_000.0, 1000).with(|plan| {
        plan.slack = us(10_000);
        plan.runtime = Some(us(109_000));
        plan.phases = Phases { warmup: us(0), drain: us(100_000) };
    });
    plan.change_calls(|calls| calls.count = UNLIMITED);
    let summary = carry_out(&plan, LINK, answering(us(100), 100)).summary;
    assert_eq!((summary.arrivals.due, summary.arrivals.started, summary.replies), (1090, 1090, 1090));
    assert_eq!(summary.unfinished.moments.count(), 0);
}

#[test]
fn a_run_that_is_told_to_end_does() {
    let plan = numbered(1000, 4000.0, 64).with(|plan| plan.runtime = Some(us(50_000)));
    let mut plan = plan;
    plan.change_calls(|calls| calls.count = UNLIMITED);
    let runs = both(&plan, LINK, || answering(us(600), 100));
    check_same(&runs);
    assert_eq!(runs[0].summary.arrivals.due, 200);
}
