//! Servers that do not speak the protocol of the run: it ends on its first connections.

use std::num::NonZeroU32;
use std::time::Duration;

use httperf_plan::{Arrivals, HttpVersion, Phases, Plan, Tls};
use httperf_stats::Summary;
use httperf_testkit::http2::Reply;
use httperf_testkit::sim::{
    Action, Deed, Edit, Goodbye, Http2Peer, HttpPeer, Link, Peer, Reception, StreamSeen, TlsPeer, calls,
    connections, reply, run, sessions, tls_server, uniform,
};

const NOW: Duration = Duration::ZERO;
const SECOND: Duration = Duration::from_secs(1);
const HTTP1: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
const NO_HTTP: &[u8] = b"220 mail.example ESMTP\r\n";
const HANDSHAKE_FAILURE: &[u8] = b"\x15\x03\x03\x00\x02\x02\x28";
const NO_APPLICATION_PROTOCOL: &[u8] = b"\x15\x03\x03\x00\x02\x02\x78";

/// Answers on most connections with bytes of another protocol, or none, and closes them.
struct Stranger<P> {
    answer: &'static [u8],
    is_stranger: fn(usize) -> bool,
    otherwise: P,
}

impl<P: Peer> Peer for Stranger<P> {
    fn accept(&mut self, connection: usize, at: Duration) -> Reception {
        self.otherwise.accept(connection, at)
    }

    fn receive(&mut self, connection: usize, at: Duration, bytes: &[u8]) -> Vec<Action> {
        match (self.is_stranger)(connection) {
            true => vec![Action::Send(NOW, self.answer.to_vec()), Action::Close(NOW)],
            false => self.otherwise.receive(connection, at, bytes),
        }
    }
}

/// Runs a plan over HTTP/2 in the clear.
fn over_http2(plan: Plan, answer: &'static [u8], is_stranger: fn(usize) -> bool) -> Summary {
    let otherwise = Http2Peer::new(|_: &StreamSeen| vec![Deed::Reply(NOW, Reply::new(200).body("hello"))]);
    let mut plan = plan;
    plan.change(|plan| plan.request.version = HttpVersion::Http2);
    finished(&plan, Stranger { answer, is_stranger, otherwise })
}

/// Runs a plan over TLS.
fn over_tls(plan: Plan, answer: &'static [u8], is_stranger: fn(usize) -> bool) -> Summary {
    let ok = HttpPeer::new(|_| vec![Action::Send(NOW, reply(200, "", "hello"))]);
    let otherwise = TlsPeer::new(ok, tls_server().build(), Goodbye::Said);
    finished(&plan.with(|plan| plan.tls = Some(Tls::default())), Stranger { answer, is_stranger, otherwise })
}

fn finished(plan: &Plan, peer: impl Peer + 'static) -> Summary {
    let run = run(plan, Link { latency: Duration::from_millis(1), ..Link::default() }, peer);
    assert!(!run.is_endless);
    run.summary
}

fn always(_: usize) -> bool {
    true
}

/// Sixty seconds of connections, a few at once.
fn closed_loop() -> Plan {
    connections(1_000_000, 1, 1).with(|plan| {
        plan.arrivals = Arrivals::Concurrent(NonZeroU32::new(3).expect("three"));
        plan.runtime = Some(60 * SECOND);
    })
}

/// The run ended on its first connections, and says so.
#[track_caller]
fn check_given_up(summary: &Summary) {
    assert!(summary.gave_up, "{} connections", summary.connections);
    assert!((10..=20).contains(&summary.connections), "{} connections", summary.connections);
    assert!(summary.errors.total() >= 10, "{:?}", summary.errors);
    let http2 = summary.http2.as_deref().is_some_and(|http2| http2.hopeless().is_some());
    let tls = summary.tls.as_deref().is_some_and(|tls| tls.hopeless().is_some());
    assert!(http2 || tls, "the reason must be known");
}

#[test]
fn ten_connections_without_the_protocol_end_a_run_of_any_workload() {
    let paced = sessions(1000, uniform(3, 1, SECOND)).with(|plan| {
        plan.arrivals = Arrivals::Deterministic { period: 0.1 };
    });
    for plan in [closed_loop(), connections(1000, 5, 1), calls(100_000, 1000.0, 4), paced] {
        check_given_up(&over_http2(plan.clone(), HTTP1, always));
        check_given_up(&over_http2(plan.clone(), NO_HTTP, always));
        check_given_up(&over_tls(plan, HTTP1, always));
    }
    let mut pool = calls(100_000, 1000.0, 40);
    pool.change_calls(|calls| calls.pipeline = Some(NonZeroU32::MIN));
    let summary = over_tls(pool, HTTP1, always);
    assert!(summary.gave_up && summary.connections <= 80, "{} connections", summary.connections);
}

#[test]
fn a_server_that_refuses_every_protocol_offered_is_given_up_over_http2_only() {
    let plan = |version| {
        let mut plan = connections(30, 1, 1);
        plan.change(|plan| plan.request.version = version);
        plan
    };
    let summary = over_tls(plan(HttpVersion::Auto), NO_APPLICATION_PROTOCOL, always);
    check_given_up(&summary);
    let summary = over_tls(plan(HttpVersion::Http11), NO_APPLICATION_PROTOCOL, always);
    assert_eq!((summary.gave_up, summary.connections), (false, 30));
}

#[test]
fn a_single_connection_that_speaks_the_protocol_keeps_the_run_going() {
    let but_the_tenth = |connection| connection != 9;
    let plan = connections(30, 1, 1);
    for summary in [
        over_http2(plan.clone(), HTTP1, but_the_tenth),
        over_tls(plan.clone(), HTTP1, but_the_tenth),
        // The ninth stranger is one short of the end.
        over_http2(plan.clone(), HTTP1, |connection| connection < 9),
        over_tls(plan, HTTP1, |connection| connection < 9),
    ] {
        assert_eq!((summary.gave_up, summary.connections), (false, 30));
        assert!(summary.replies > 0);
    }
}

#[test]
fn failures_with_other_reasons_do_not_end_a_run() {
    let plan = connections(30, 1, 1);
    for summary in [
        over_http2(plan.clone(), b"", always),
        over_tls(plan.clone(), b"", always),
        over_tls(plan, HANDSHAKE_FAILURE, always),
    ] {
        assert_eq!((summary.gave_up, summary.connections), (false, 30));
    }
}

#[test]
fn of_several_servers_one_may_be_a_stranger() {
    let several = connections(30, 1, 1).with(|plan| {
        let endpoint = plan.targets[0].endpoint.clone();
        plan.targets[0].further_endpoints = vec![endpoint];
    });
    let summary = over_tls(several, HTTP1, always);
    assert_eq!((summary.gave_up, summary.connections), (false, 30));
}

#[test]
fn a_run_that_is_given_up_in_its_warm_up_reports_what_it_found() {
    let plan = closed_loop().with(|plan| plan.phases = Phases { warmup: 10 * SECOND, drain: SECOND });
    check_given_up(&over_http2(plan.clone(), HTTP1, always));
    check_given_up(&over_tls(plan, HTTP1, always));
}
