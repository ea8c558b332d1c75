//! Whole runs in memory, for what is counted: that no call is lost, made up or counted twice, and that a server that
//! stands still is told of.

use std::time::Duration;

use httperf_plan::{Arrivals, Assignment, HttpVersion, Phases, Plan, Resumption, Timeouts, Tls, UNLIMITED};
use httperf_stats::{CallOutcome, Failure, Stall, Summary};
use httperf_testkit::http2::Reply;
use httperf_testkit::sim::{
    Action, Deed, Edit, Goodbye, Http2Peer, HttpPeer, Link, Peer, Reception, StreamSeen, TlsPeer, at_once,
    calls, connections, nonzero, reply, run, sessions, tls_server, uniform,
};

const NOW: Duration = Duration::ZERO;
const SECOND: Duration = Duration::from_secs(1);

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn limited(plan: Plan, timeout: Duration) -> Plan {
    plan.with(|plan| plan.timeouts = Timeouts { timeout: Some(timeout), think_timeout: None })
}

fn failed(summary: &Summary) -> u64 {
    summary.calls_with(CallOutcome::Failure).latency.moments.count()
}

/// Every call that was begun is answered, given up, or unfinished.
#[track_caller]
fn check_books(summary: &Summary) {
    let offered: u64 = summary.series.intervals().iter().map(|interval| interval.offered).sum();
    let ended = summary.replies + failed(summary);
    assert_eq!(offered, ended + summary.unfinished.moments.count());
}

// Before the start.

/// Ignores the connects of so many connections, and serves the others.
struct Deaf<P>(usize, P);

impl<P: Peer> Peer for Deaf<P> {
    fn accept(&mut self, connection: usize, at: Duration) -> Reception {
        if connection < self.0 { Reception::Ignore } else { self.1.accept(connection, at) }
    }

    fn receive(&mut self, connection: usize, at: Duration, bytes: &[u8]) -> Vec<Action> {
        self.1.receive(connection, at, bytes)
    }
}

fn ok() -> impl Peer {
    HttpPeer::new(|_| vec![Action::Send(NOW, reply(200, "", "hello"))])
}

#[test]
fn nothing_is_offered_while_the_connections_of_a_pool_time_out() {
    for warmup in [NOW, SECOND] {
        let plan = limited(calls(UNLIMITED, 100.0, 10), ms(500));
        let plan = plan.with(|plan| {
            plan.runtime = Some(SECOND);
            plan.phases = Phases { warmup, drain: SECOND };
        });
        // No connect succeeds before the run; the connections are opened when they are needed.
        let run = run(&plan, Link::default(), Deaf(10, ok()));
        let summary = &run.summary;
        assert_eq!((summary.arrivals.due, summary.arrivals.started, summary.arrivals.held), (100, 100, 0));
        assert_eq!((summary.replies, failed(summary), summary.lag.moments.max()), (100, 0, 0.0));
        assert_eq!(summary.duration, SECOND);
        // Connects that failed before the run belong to what comes first.
        let timed_out = |errors: httperf_stats::Errors| errors.count(Failure::ClientTimeout);
        let of_warmup = summary.warmup.map_or(0, |warmup| timed_out(warmup.errors));
        let expected = if warmup.is_zero() { (10, 0) } else { (0, 10) };
        assert_eq!((timed_out(summary.errors), of_warmup), expected);
        let of_series: u64 =
            summary.series.intervals().iter().map(|interval| timed_out(interval.errors)).sum();
        assert_eq!(of_series, 10);
    }
}

#[test]
fn a_warm_up_has_what_happens_while_a_pool_opens_however_long_that_takes() {
    let mut plan = calls(50, 100.0, 150).with(|plan| plan.phases = Phases { warmup: ms(100), drain: NOW });
    plan.change_calls(|calls| calls.assignment = Assignment::InTurn);
    // The last connections are begun when the first have taken longer than the warm-up will.
    let run = run(&plan, Link { latency: ms(200), ..Link::default() }, ok());
    assert_eq!((run.connections.len(), run.summary.connections), (150, 0));
    assert_eq!(run.summary.warmup.map(|warmup| warmup.connections), Some(150));
}

// Calls behind a close.

/// Answers the last request that it takes on a connection with a close, and no other after it.
fn closing_after(requests: usize) -> impl Peer {
    HttpPeer::new(move |request| match request.index + 1 {
        index if index < requests => vec![Action::Send(ms(1), reply(200, "", "hello"))],
        index if index == requests => {
            vec![Action::Send(ms(1), reply(200, "Connection: close\r\n", "hello")), Action::Close(ms(1))]
        }
        _ => Vec::new(),
    })
}

fn pipelined(mut plan: Plan, depth: u32) -> Plan {
    plan.change_connections(|workload| workload.pipeline = nonzero(depth));
    plan
}

#[test]
fn a_closed_loop_makes_calls_again_that_were_behind_a_close() {
    let endless = pipelined(connections(UNLIMITED, UNLIMITED, 1), 8).with(|plan| {
        plan.arrivals = at_once(2);
        plan.runtime = Some(SECOND);
    });
    let run = run(&endless, Link::default(), closing_after(100));
    let summary = &run.summary;
    assert_eq!((summary.errors.total(), failed(summary), summary.closed_early), (0, 0, 0));
    assert!(summary.replies > 10_000, "{}", summary.replies);
    let unfinished = summary.unfinished.moments.count();
    let once = summary.replies..=summary.replies + unfinished;
    assert!(once.contains(&summary.requests), "{} for {} replies", summary.requests, summary.replies);
    assert!(run.connections.len() as u64 <= summary.replies / 100 + 2, "{}", run.connections.len());
    check_books(summary);
}

#[test]
fn calls_behind_a_close_are_due_since_they_were() {
    // Two calls on a connection at once, of which the server takes one; each takes 10 ms.
    let peer = HttpPeer::new(|request| match request.index {
        0 => vec![Action::Send(ms(10), reply(200, "Connection: close\r\n", "")), Action::Close(ms(10))],
        _ => Vec::new(),
    });
    let plan = pipelined(connections(1, 2, 1), 2).with(|plan| plan.arrivals = at_once(1));
    let summary = run(&plan, Link::default(), peer).summary;
    let latency = &summary.calls_with(CallOutcome::Success).latency.moments;
    assert_eq!((latency.count(), latency.min(), latency.max()), (2, 0.01, 0.02));
    assert_eq!((summary.requests, summary.connections), (2, 2));
}

#[test]
fn a_planned_number_of_calls_on_a_connection_that_closes_early_is_not_exceeded() {
    let plan = pipelined(connections(3, 50, 1), 4).with(|plan| plan.arrivals = at_once(3));
    let summary = run(&plan, Link::default(), closing_after(20)).summary;
    // Twenty calls are answered on the first connection of each, and the three behind them on another.
    assert_eq!((summary.replies, summary.requests, failed(&summary)), (69, 69, 0));
    assert_eq!((summary.closed_early, summary.calls_not_offered), (3, 3 * 27));
    assert_eq!((summary.connections, summary.errors.total()), (6, 0));
    check_books(&summary);
}

#[test]
fn a_pool_counts_a_request_once_that_was_behind_a_close() {
    let mut plan = calls(500, 4000.0, 2);
    plan.change_calls(|workload| workload.pipeline = Some(nonzero(8)));
    let summary = run(&plan, Link::default(), closing_after(20)).summary;
    assert_eq!((summary.replies, summary.requests, summary.errors.total()), (500, 500, 0));
    check_books(&summary);
}

#[test]
fn a_closed_loop_over_http2_makes_calls_again_that_were_not_processed() {
    // The server answers 50 streams of each connection and announces that before.
    let peer = Http2Peer::new(|request: &StreamSeen| match request.index {
        49 => vec![Deed::Reply(ms(1), Reply::new(200)), Deed::GoAway(NOW, Some(request.stream), 0)],
        0..49 => vec![Deed::Reply(ms(1), Reply::new(200))],
        _ => Vec::new(),
    });
    let mut plan = pipelined(connections(UNLIMITED, UNLIMITED, 1), 8).with(|plan| {
        plan.arrivals = at_once(1);
        plan.runtime = Some(SECOND);
    });
    plan.change(|plan| plan.request.version = HttpVersion::Http2);
    let summary = run(&plan, Link { latency: ms(1), ..Link::default() }, peer).summary;
    assert_eq!((summary.errors.total(), failed(&summary)), (0, 0));
    assert!(summary.replies > 1000, "{}", summary.replies);
    let http2 = summary.http2.as_ref().unwrap();
    assert!(http2.unprocessed > 0 && http2.retried == http2.unprocessed, "{http2:?}");
    check_books(&summary);
}

// The books.

#[test]
fn calls_that_a_closed_connection_did_not_take_are_not_in_the_books() {
    // Bursts of five, of which the server takes two.
    let peer = HttpPeer::new(|request| match request.index {
        0 => vec![Action::Send(ms(1), reply(200, "", ""))],
        1 => vec![Action::Send(ms(1), reply(200, "Connection: close\r\n", "")), Action::Close(ms(1))],
        _ => Vec::new(),
    });
    let mut plan = connections(4, 5, 5);
    plan.change(|plan| plan.request.extra_headers = format!("X: {}\r\n", "x".repeat(50_000)).into_bytes());
    for seed in 0..20 {
        let link = Link { hostile: true, seed, ..Link::default() };
        let peer = HttpPeer::new(|request| match request.index {
            1 => vec![Action::Send(NOW, reply(200, "Connection: close\r\n", "")), Action::Close(NOW)],
            _ => vec![Action::Send(NOW, reply(200, "", ""))],
        });
        check_books(&run(&plan, link, peer).summary);
    }
    let summary = run(&plan, Link::default(), peer).summary;
    assert_eq!((summary.replies, failed(&summary), summary.calls_not_offered), (8, 12, 0));
    check_books(&summary);
}

#[test]
fn each_reply_to_a_call_that_is_made_again_answers_a_call_in_the_books() {
    let mut plan = sessions(2, uniform(3, 1, ms(10)));
    plan.change_sessions(|workload| (workload.retry_on_failure, workload.failure_status) = (true, Some(503)));
    let summary =
        run(&plan, Link::default(), HttpPeer::new(|_| vec![Action::Send(ms(1), reply(503, "", ""))]));
    let summary = summary.summary;
    assert_eq!((summary.replies, failed(&summary), summary.retries_exhausted), (22, 0, 2));
    check_books(&summary);
}

#[test]
fn calls_that_wait_for_a_connection_at_the_end_are_in_the_books() {
    let plan = calls(UNLIMITED, 100.0, 1).with(|plan| plan.runtime = Some(SECOND));
    let peer = HttpPeer::new(|_| vec![Action::Send(ms(45), reply(200, "", "hello"))]);
    let summary = run(&plan, Link::default(), peer).summary;
    assert_eq!((summary.replies, summary.unfinished.moments.count()), (22, 78));
    check_books(&summary);
}

// Requests that are answered before they are written.

#[test]
fn a_reply_before_the_whole_request_is_no_request_and_is_told() {
    // The link takes a part of what is written, and the server answers that part.
    struct Early;
    impl Peer for Early {
        fn accept(&mut self, _: usize, _: Duration) -> Reception {
            Reception::Accept
        }
        fn receive(&mut self, _: usize, _: Duration, _: &[u8]) -> Vec<Action> {
            vec![Action::Send(NOW, reply(413, "Connection: close\r\n", "too large"))]
        }
    }
    let mut plan = connections(20, 1, 1);
    plan.change(|plan| plan.request.extra_headers = format!("X: {}\r\n", "x".repeat(100_000)).into_bytes());
    let summary = run(&plan, Link { hostile: true, seed: 3, ..Link::default() }, Early).summary;
    assert_eq!((summary.replies, summary.errors.total()), (20, 0));
    assert!(summary.answered_early > 0);
    assert_eq!(summary.requests + summary.answered_early, 20);
}

// Time limits.

#[test]
fn a_status_line_that_trickles_without_end_is_late_at_last() {
    let peer = HttpPeer::new(|_| {
        let mut actions = vec![Action::Send(ms(900), b"HTTP/1.1 200 ".to_vec())];
        actions.extend((1..10_000).map(|time| Action::Send(ms(900 + 100 * time), b"x".to_vec())));
        actions
    });
    let summary = run(&limited(connections(1, 1, 1), SECOND), Link::default(), peer).summary;
    assert_eq!(summary.errors.count(Failure::ClientTimeout), 1);
    // It begins after 0.9 s, and has four times the limit of a second from there.
    assert_eq!(summary.duration, ms(4900));
}

#[test]
fn a_connection_that_was_established_in_time_counts_though_the_poller_tells_of_it_late() {
    // The worker sleeps through its time limit, and the poller tells of one socket at a time.
    let plan = limited(connections(3, 1, 1).with(|plan| plan.arrivals = at_once(3)), ms(100));
    let link = Link { latency: ms(10), nap: Some((ms(5), ms(300))), told_max: 1, ..Link::default() };
    let summary = run(&plan, link, ok()).summary;
    assert_eq!((summary.replies, summary.errors.total()), (3, 0));
    // One that is not there by then is late.
    let summary = run(&plan, link, Deaf(1, ok())).summary;
    assert_eq!((summary.replies, summary.errors.count(Failure::ClientTimeout)), (2, 1));
}

// A server that stands still.

/// Stands still for two seconds from 3 s on, and does then what it would have done meanwhile.
struct Stopped<P>(P);

impl<P> Stopped<P> {
    fn late(at: Duration, actions: Vec<Action>) -> Vec<Action> {
        let from = Duration::from_secs(3);
        let pause = if (from..2 * SECOND + from).contains(&at) { from + 2 * SECOND - at } else { NOW };
        let late = |action| match action {
            Action::Send(delay, bytes) => Action::Send(delay + pause, bytes),
            Action::Datagram(delay, bytes, ecn) => Action::Datagram(delay + pause, bytes, ecn),
            Action::Close(delay) => Action::Close(delay + pause),
            Action::Reset(delay) => Action::Reset(delay + pause),
            Action::Wake(delay) => Action::Wake(delay + pause),
        };
        actions.into_iter().map(late).collect()
    }
}

impl<P: Peer> Peer for Stopped<P> {
    fn accept(&mut self, connection: usize, at: Duration) -> Reception {
        self.0.accept(connection, at)
    }

    fn receive(&mut self, connection: usize, at: Duration, bytes: &[u8]) -> Vec<Action> {
        Self::late(at, self.0.receive(connection, at, bytes))
    }

    fn wake(&mut self, connection: usize, at: Duration) -> Vec<Action> {
        Self::late(at, self.0.wake(connection, at))
    }
}

/// A connection for each call, kept connections at a rate, and a closed loop with and without a time limit that the
/// stall exceeds; all for six seconds.
fn loads() -> [(&'static str, Plan); 4] {
    let of = |plan: Plan| plan.with(|plan| plan.runtime = Some(6 * SECOND));
    let closed = || connections(UNLIMITED, UNLIMITED, 1).with(|plan| plan.arrivals = at_once(4));
    let each =
        connections(UNLIMITED, 1, 1).with(|plan| plan.arrivals = Arrivals::Deterministic { period: 0.01 });
    [
        ("connections", of(each)),
        ("pool", of(calls(UNLIMITED, 100.0, 4))),
        ("closed loop", of(closed())),
        ("impatient closed loop", limited(of(closed()), ms(700))),
    ]
}

#[track_caller]
fn check_stall(what: &str, summary: &Summary) {
    let Some(Stall { length, from }) = summary.stall else { panic!("{what}: no stall") };
    let near = |time: Duration, other: Duration| time.abs_diff(other) < ms(50);
    assert!(near(length, 2 * SECOND) && near(from, 3 * SECOND), "{what}: {length:?} from {from:?}");
}

/// Answers after 2 ms, so that time passes in closed loops.
fn soon() -> HttpPeer<impl FnMut(&httperf_testkit::sim::RequestSeen) -> Vec<Action>> {
    HttpPeer::new(|_| vec![Action::Send(ms(2), reply(200, "", "hello"))])
}

#[test]
fn a_server_that_stands_still_is_told_of_in_the_clear() {
    for (what, plan) in loads() {
        check_stall(what, &run(&plan, Link::default(), Stopped(soon())).summary);
    }
}

#[test]
fn a_server_that_stands_still_is_told_of_over_tls() {
    for (what, mut plan) in loads() {
        plan.change(|plan| plan.targets[0].tls_name = Some("server".to_owned()));
        for resumption in [Resumption::Never, Resumption::Share(0.5)] {
            plan.change(|plan| plan.tls = Some(Tls { resumption, ..Tls::default() }));
            let server = || tls_server().build();
            // All of it stops, handshakes as well.
            let peer = Stopped(TlsPeer::new(soon(), server(), Goodbye::Said));
            check_stall(what, &run(&plan, Link { latency: ms(1), ..Link::default() }, peer).summary);
            // What lies behind TLS stops, and handshakes go on.
            let peer = TlsPeer::new(Stopped(soon()), server(), Goodbye::Said);
            check_stall(what, &run(&plan, Link { latency: ms(1), ..Link::default() }, peer).summary);
        }
    }
}

#[test]
fn a_server_that_stands_still_is_told_of_over_http2() {
    let soon = || Http2Peer::new(|_: &StreamSeen| vec![Deed::Reply(ms(2), Reply::new(200).body("hello"))]);
    for (what, mut plan) in loads() {
        plan.change(|plan| plan.request.version = HttpVersion::Http2);
        check_stall(what, &run(&plan, Link::default(), Stopped(soon())).summary);
        // What lies behind HTTP/2 stops, and settings are answered.
        let peer = Http2Peer::new(|request: &StreamSeen| {
            let (from, to) = (3 * SECOND, 5 * SECOND);
            let pause = if (from..to).contains(&request.at) { to - request.at } else { NOW };
            vec![Deed::Reply(pause + ms(2), Reply::new(200).body("hello"))]
        });
        check_stall(what, &run(&plan, Link::default(), peer).summary);
    }
}

#[test]
fn handshakes_without_calls_are_no_silence() {
    let mut plan = connections(50, 0, 1).with(|plan| plan.arrivals = Arrivals::Deterministic { period: 0.1 });
    plan.change(|plan| plan.targets[0].tls_name = Some("server".to_owned()));
    plan.change(|plan| plan.tls = Some(Tls::default()));
    let link = Link { latency: ms(10), ..Link::default() };
    let stall = run(&plan, link, TlsPeer::new(ok(), tls_server().build(), Goodbye::Said)).summary.stall;
    assert!(stall.is_none_or(|stall| stall.length <= ms(40)), "{stall:?}");
}
