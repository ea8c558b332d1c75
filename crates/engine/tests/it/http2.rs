//! Whole runs over HTTP/2, in memory and on the virtual clock. The peer panics if anything that it is sent is wrong.

use std::time::Duration;

use httperf_plan::{
    Body, BodyPart, HeaderTable, Http2, HttpVersion, Phases, Plan, Script, Template, Timeouts, UNLIMITED,
    Window,
};
use httperf_stats::{CallOutcome, Failure, Http2Summary, Summary, Timing};
use httperf_testkit::http2::{Reply, code, setting};
use httperf_testkit::sim::{
    Action, Deed, Edit, Http2Peer, Link, Peer, Reception, Run, StreamSeen, at_once, calls, connections,
    file_session, nonzero, run, sessions, uniform,
};
use proptest::prelude::*;

const NOW: Duration = Duration::ZERO;
const SECOND: Duration = Duration::from_secs(1);

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn over_http2(mut plan: Plan) -> Plan {
    plan.change(|plan| plan.request.version = HttpVersion::Http2);
    plan
}

/// Calls at a rate over connections with so many streams.
fn streams(count: u64, per_second: f64, connections: u32, streams: u32) -> Plan {
    let mut plan = over_http2(calls(count, per_second, connections));
    plan.change_calls(|workload| workload.pipeline = Some(nonzero(streams)));
    plan
}

fn with_body(mut plan: Plan, size: usize) -> Plan {
    plan.change(|plan| plan.request.method = b"POST".to_vec());
    plan.change(|plan| {
        plan.request.body = Some(Body { parts: vec![BodyPart::Text(Template::literal(&vec![b'x'; size]))] });
    });
    plan
}

fn with_timeout(plan: Plan, timeout: Duration) -> Plan {
    plan.with(|plan| plan.timeouts = Timeouts { timeout: Some(timeout), think_timeout: None })
}

fn ok() -> Reply {
    Reply::new(200).body("hello")
}

fn ok_after(delay: Duration) -> Http2Peer<impl FnMut(&StreamSeen) -> Vec<Deed>> {
    Http2Peer::new(move |_: &StreamSeen| vec![Deed::Reply(delay, ok())])
}

fn http2(summary: &Summary) -> &Http2Summary {
    summary.http2.as_ref().expect("the plan asks for HTTP/2")
}

fn seconds(timing: &Timing, share: f64) -> f64 {
    timing.quantile(share).expect("something was timed").as_secs_f64()
}

/// Every call was answered, and nothing went wrong.
#[track_caller]
fn check_answered(run: &Run, calls: u64) {
    let summary = &run.summary;
    assert!(!run.is_endless);
    assert_eq!((summary.replies, summary.errors.total()), (calls, 0));
    assert_eq!(summary.calls_with(CallOutcome::Success).latency.moments.count(), calls);
    assert_eq!(summary.calls_with(CallOutcome::Failure).latency.moments.count(), 0);
}

#[test]
fn the_calls_of_a_burst_are_concurrent_streams_of_one_connection() {
    let run = run(&over_http2(connections(3, 10, 5)), Link::default(), ok_after(ms(10)));
    check_answered(&run, 30);
    let summary = &run.summary;
    assert_eq!((summary.connections, summary.requests), (3, 30));
    let figures = http2(summary);
    assert_eq!((figures.streams, figures.concurrent_max, figures.concurrent_mean()), (30, 5, Some(3.0)));
    assert_eq!(figures.spoken.by_frequency(), [("HTTP/2", 3)]);
    // `HTTP/2 200`, and the empty line.
    assert_eq!((summary.header_bytes, summary.content_bytes), (30 * 14, 30 * 5));
    let request = "GET / HTTP/2\r\nhost: server\r\nuser-agent: httperf/0\r\n\r\n";
    assert_eq!(summary.request_bytes, 30 * request.len() as u64);
    assert!(figures.request_headers.ratio().unwrap() < 0.5 && figures.reply_headers.encoded <= 30);
}

#[test]
fn calls_over_a_pool_wait_out_a_server_that_stands_still_and_latency_counts_it() {
    // It stops on each connection, whichever request comes first after 4 s.
    let mut stopped = [false; 2];
    let peer = Http2Peer::new(move |request: &StreamSeen| {
        let mut deeds = vec![Deed::Reply(NOW, ok())];
        if request.at >= ms(4000) && !std::mem::replace(&mut stopped[request.connection], true) {
            deeds.insert(0, Deed::Stop(NOW, ms(5000) - request.at));
        }
        deeds
    });
    let run = run(&streams(10_000, 1000.0, 2, 4), Link::default(), peer);
    check_answered(&run, 10_000);
    let summary = run.summary;
    let clocks = summary.calls_with(CallOutcome::Success);
    assert!((seconds(&clocks.latency, 0.95) - 0.5).abs() < 0.025, "{}", seconds(&clocks.latency, 0.95));
    assert!((seconds(&clocks.latency, 0.99) - 0.9).abs() < 0.045, "{}", seconds(&clocks.latency, 0.99));
    assert!(seconds(&clocks.service, 0.95) < 0.005, "only eight calls saw the server stand still");
    assert_eq!(summary.lag.moments.max(), 0.0, "the generator was never late");
}

#[test]
fn calls_wait_for_the_streams_that_the_server_allows_and_the_wait_is_told() {
    let settings = [(setting::MAX_CONCURRENT_STREAMS, 2)];
    // Twenty calls at once, of which two at a time take 10 ms.
    let mut plan = streams(20, 1e6, 1, 20);
    plan.change(|plan| plan.phases = Phases { warmup: NOW, drain: SECOND });
    let run = run(&plan, Link::default(), ok_after(ms(10)).settings(&settings));
    check_answered(&run, 20);
    let figures = http2(&run.summary);
    assert_eq!(figures.concurrent_max, 2);
    assert_eq!(figures.server_settings.unwrap().max_streams, Some(2));
    assert_eq!(figures.stream_waits.moments.count(), 18);
    assert!((seconds(&figures.stream_waits, 1.0) - 0.09).abs() < 0.001);
    let clocks = run.summary.calls_with(CallOutcome::Success);
    assert!((seconds(&clocks.latency, 1.0) - 0.1).abs() < 0.001);
    assert!((seconds(&clocks.service, 1.0) - 0.01).abs() < 0.001, "{}", seconds(&clocks.service, 1.0));
}

#[test]
fn a_body_that_waits_for_windows_takes_longer_but_its_service_does_not() {
    // The window opens after 100 ms; the reply comes 10 ms after the whole request.
    let mut granted = false;
    let peer = Http2Peer::new(move |_: &StreamSeen| match std::mem::replace(&mut granted, true) {
        false => vec![
            Deed::Grant(ms(100), 0, 200_000),
            Deed::Grant(ms(100), 1, 200_000),
            Deed::Reply(ms(110), ok()),
        ],
        true => Vec::new(),
    });
    let plan = with_body(over_http2(connections(1, 1, 1)), 100_000);
    let run = run(&plan, Link::default(), peer.eager().without_grants());
    check_answered(&run, 1);
    let (figures, clocks) = (http2(&run.summary), run.summary.calls_with(CallOutcome::Success));
    assert_eq!(figures.window_waits.moments.count(), 1);
    assert!((seconds(&figures.window_waits, 1.0) - 0.1).abs() < 0.001);
    assert!((seconds(&clocks.latency, 1.0) - 0.11).abs() < 0.001);
    assert!((seconds(&clocks.service, 1.0) - 0.01).abs() < 0.001, "{}", seconds(&clocks.service, 1.0));
}

#[test]
fn streams_that_are_refused_are_made_again_once() {
    // Every second one, and none is sent while another is under way.
    let peer = || {
        Http2Peer::new(|request: &StreamSeen| match request.index % 2 {
            0 => vec![Deed::Reset(ms(1), code::REFUSED_STREAM)],
            _ => vec![Deed::Reply(ms(1), ok())],
        })
    };
    let plans = [
        streams(50, 100.0, 1, 10),
        over_http2(connections(5, 10, 1)),
        over_http2(sessions(
            5,
            Script::File([file_session(&[&["/a"], &["/b"], &["/c"], &["/d"]], ms(1))].into()),
        )),
    ];
    for (plan, calls) in plans.iter().zip([50, 50, 20]) {
        let run = run(plan, Link::default(), peer());
        check_answered(&run, calls);
        let figures = http2(&run.summary);
        assert_eq!(figures.unprocessed, figures.retried);
        assert_eq!(figures.retried, calls);
        assert_eq!(figures.resets_received.by_frequency(), [("REFUSED_STREAM", figures.retried)]);
    }
}

#[test]
fn a_server_that_refuses_everything_is_given_up() {
    let peer = || Http2Peer::new(|_: &StreamSeen| vec![Deed::Reset(NOW, code::REFUSED_STREAM)]);
    let run = run(&streams(5, 1000.0, 1, 10), Link::default(), peer());
    assert!(!run.is_endless);
    let summary = run.summary;
    assert_eq!((summary.replies, summary.errors.count(Failure::Reset)), (0, 5));
    assert_eq!(summary.calls_with(CallOutcome::Failure).latency.moments.count(), 5);
    assert_eq!(http2(&summary).retried, 5);
}

/// Plans of every kind, each with these calls in all, the first of a connection being sent alone.
fn of_every_kind() -> [(&'static str, Plan, u64); 5] {
    let closed_loop = |plan: Plan| plan.with(|plan| plan.arrivals = at_once(2));
    [
        ("pool", streams(20, 100.0, 2, 4), 20),
        ("connections", over_http2(connections(20, 1, 1)), 20),
        ("closed loop", closed_loop(over_http2(connections(20, 1, 1))), 20),
        ("sessions", over_http2(sessions(20, uniform(1, 1, NOW))), 20),
        ("longer connections", over_http2(connections(5, 4, 1)), 20),
    ]
}

/// Each call has an end or was not made, and each of those that failed is an error.
#[track_caller]
fn check_ends(what: &str, summary: &Summary, planned: u64) {
    let failed = summary.calls_with(CallOutcome::Failure).latency.moments.count();
    assert_eq!(summary.replies + failed + summary.calls_not_offered, planned, "{what}: {summary:?}");
    assert_eq!(summary.errors.total(), failed, "{what}");
}

/// A server that turns every second connection away, or all of them.
fn turning_away(code: u32, is_reset: bool, all: bool) -> Http2Peer<impl FnMut(&StreamSeen) -> Vec<Deed>> {
    Http2Peer::new(move |request: &StreamSeen| {
        if !all && request.connection % 2 == 1 {
            return vec![Deed::Reply(ms(1), ok())];
        }
        let end = if is_reset { Deed::Abort(ms(1)) } else { Deed::Close(ms(1)) };
        vec![Deed::GoAway(NOW, Some(0), code), end]
    })
}

#[test]
fn calls_that_a_goaway_turns_away_with_the_code_of_an_error_have_failed() {
    for (what, plan, planned) in of_every_kind() {
        for is_reset in [false, true] {
            let summary =
                run(&plan, Link::default(), turning_away(code::ENHANCE_YOUR_CALM, is_reset, true)).summary;
            check_ends(what, &summary, planned);
            assert!(summary.replies == 0 && summary.errors.total() > 0, "{what}");
            let figures = http2(&summary);
            assert_eq!(figures.goaways.count("ENHANCE_YOUR_CALM"), figures.streams, "{what}: {figures:?}");
            assert_eq!((figures.retried, figures.unprocessed), (0, figures.streams), "{what}");
        }
    }
}

#[test]
fn calls_that_a_goaway_without_an_error_turns_away_are_made_again_on_another_connection() {
    for (what, plan, planned) in of_every_kind() {
        for is_reset in [false, true] {
            let summary = run(&plan, Link::default(), turning_away(code::NO_ERROR, is_reset, false)).summary;
            check_ends(what, &summary, planned);
            // Of the longer connections, the calls behind the first are not made.
            assert_eq!(summary.replies, planned - summary.calls_not_offered, "{what}: {:?}", summary.errors);
            assert!(http2(&summary).retried > 0, "{what}");
        }
    }
}

#[test]
fn a_server_that_turns_all_calls_away_ends_them_soon() {
    for (what, plan, planned) in of_every_kind() {
        let run = run(&plan, Link::default(), turning_away(code::NO_ERROR, false, true));
        check_ends(what, &run.summary, planned);
        let figures = http2(&run.summary);
        assert!(!run.is_endless && run.summary.replies == 0, "{what}");
        assert!(figures.streams <= 11 * planned, "{what}: {figures:?}");
        // All attempts together have the time of one call.
        let limited = with_timeout(plan, ms(100));
        let summary =
            httperf_testkit::sim::run(&limited, Link::default(), turning_away(code::NO_ERROR, false, true))
                .summary;
        check_ends(what, &summary, planned);
        let slowest = summary.calls_with(CallOutcome::Failure).latency.moments.max();
        assert!(slowest <= 0.3, "{what}: {slowest}");
    }
}

#[test]
fn rules_that_are_broken_in_the_first_bytes_do_not_hide_the_protocol() {
    let bad_ping = b"\0\0\x01\x06\0\0\0\0\0x".to_vec();
    for apart in [NOW, ms(5)] {
        let bad_ping = bad_ping.clone();
        let peer = Http2Peer::new(move |_: &StreamSeen| vec![Deed::Bytes(apart, bad_ping.clone())]);
        let summary = run(&over_http2(connections(3, 1, 1)), Link::default(), peer).summary;
        assert_eq!(http2(&summary).spoken.by_frequency(), [("HTTP/2", 3)], "{apart:?}");
        assert_eq!(http2(&summary).violations.by_frequency(), [("a PING frame without 8 bytes", 3)]);
    }
}

#[test]
fn a_stream_that_is_reset_fails_its_call_and_no_other() {
    let peer = || {
        Http2Peer::new(|request: &StreamSeen| match request.index {
            3 => vec![Deed::Reset(ms(1), code::INTERNAL_ERROR)],
            _ => vec![Deed::Reply(ms(2), ok())],
        })
    };
    for plan in [streams(20, 1000.0, 1, 10), over_http2(connections(1, 20, 5))] {
        let run = run(&plan, Link::default(), peer());
        let summary = run.summary;
        assert_eq!((summary.replies, summary.errors.count(Failure::Reset)), (19, 1));
        assert_eq!((summary.errors.total(), run.connections.len()), (1, 1));
        assert_eq!(http2(&summary).resets_received.by_frequency(), [("INTERNAL_ERROR", 1)]);
    }
    // A session whose call fails has failed, unless it may try again.
    let mut plan = over_http2(sessions(1, uniform(20, 5, NOW)));
    let failed = run(&plan, Link::default(), peer()).summary.sessions.unwrap();
    assert_eq!((failed.completed, failed.failed), (0, 1));
    plan.change_sessions(|workload| workload.retry_on_failure = true);
    let retried = run(&plan, Link::default(), peer()).summary;
    assert_eq!((retried.sessions.unwrap().completed, retried.replies), (1, 20));
}

#[test]
fn connections_that_go_away_make_way_for_others_and_no_call_is_lost() {
    // After ten requests a connection takes no more; what came meanwhile was not processed.
    let peer = || {
        Http2Peer::new(|request: &StreamSeen| {
            let mut deeds = vec![Deed::Reply(ms(20), ok())];
            if request.index == 9 {
                deeds.push(Deed::GoAway(NOW, Some(19), code::NO_ERROR));
            }
            deeds
        })
    };
    let plans = [streams(500, 1000.0, 2, 50), over_http2(sessions(10, uniform(50, 25, ms(1))))];
    for plan in plans {
        let link = Link { latency: ms(5), ..Link::default() };
        let run = run(&plan, link, peer());
        check_answered(&run, 500);
        let figures = http2(&run.summary);
        assert!(figures.goaways.count("NO_ERROR") >= 40, "{figures:?}");
        assert!(figures.retried > 0 && figures.unprocessed <= figures.retried, "{figures:?}");
    }
}

#[test]
fn a_connection_workload_counts_the_calls_that_a_goaway_left_unmade() {
    let peer = Http2Peer::new(|request: &StreamSeen| match request.index {
        2 => vec![Deed::GoAway(NOW, None, code::NO_ERROR), Deed::Reply(NOW, ok())],
        _ => vec![Deed::Reply(NOW, ok())],
    });
    let run = run(&over_http2(connections(4, 10, 2)), Link::default(), peer);
    let summary = run.summary;
    assert_eq!((summary.replies, summary.errors.total()), (16, 0), "the burst was there as a whole");
    assert_eq!((summary.closed_early, summary.calls_not_offered), (4, 24));
}

#[test]
fn a_call_without_a_reply_ends_alone_where_calls_are_due_by_themselves() {
    let peer = || {
        Http2Peer::new(|request: &StreamSeen| match request.index {
            5 => Vec::new(),
            _ => vec![Deed::Reply(ms(1), ok())],
        })
    };
    let peer_of_pool = peer();
    let heard = peer_of_pool.heard();
    let run = run(&with_timeout(streams(100, 100.0, 1, 10), ms(200)), Link::default(), peer_of_pool);
    let summary = run.summary;
    assert_eq!((summary.replies, summary.errors.count(Failure::ClientTimeout)), (99, 1));
    assert_eq!((run.connections.len(), heard.resets()), (1, vec![code::CANCEL]));
    let failed = summary.calls_with(CallOutcome::Failure);
    assert!((seconds(&failed.latency, 1.0) - 0.2).abs() < 0.01, "{}", seconds(&failed.latency, 1.0));
    // In a connection workload the connection fails.
    let plan = with_timeout(over_http2(connections(1, 100, 10)), ms(200));
    let summary = httperf_testkit::sim::run(&plan, Link::default(), peer()).summary;
    assert_eq!((summary.replies, summary.errors.count(Failure::ClientTimeout)), (9, 1));
}

#[test]
fn a_call_that_never_gets_a_stream_has_its_time_limit() {
    let settings = [(setting::MAX_CONCURRENT_STREAMS, 0)];
    let plan = with_timeout(streams(20, 100.0, 1, 4), ms(200));
    let run = run(&plan, Link::default(), ok_after(NOW).settings(&settings));
    assert!(!run.is_endless);
    assert_eq!(run.summary.errors.count(Failure::ClientTimeout), run.summary.errors.total());
    let failed = &run.summary.calls_with(CallOutcome::Failure).latency;
    // A fresh connection opens streams before it knows that it may not.
    assert_eq!(run.summary.replies + failed.moments.count(), 20);
    assert!(failed.moments.count() >= 8, "{}", run.summary.replies);
    // One that waits behind another has as much time once it is sent.
    let settings = [(setting::MAX_CONCURRENT_STREAMS, 1)];
    let plan = with_timeout(streams(2, 1e6, 1, 4), ms(200));
    let run = httperf_testkit::sim::run(&plan, Link::default(), ok_after(ms(150)).settings(&settings));
    assert_eq!((run.summary.replies, run.summary.errors.total()), (2, 0));
}

#[test]
fn a_server_that_falls_silent_loses_its_connections() {
    let peer = Http2Peer::new(|request: &StreamSeen| match (request.connection, request.index) {
        (0, 10..) => Vec::new(),
        _ => vec![Deed::Reply(ms(1), ok())],
    });
    let run = run(&with_timeout(streams(200, 100.0, 1, 100), ms(200)), Link::default(), peer);
    let summary = run.summary;
    assert_eq!(run.connections.len(), 2);
    assert_eq!(summary.replies + summary.calls_with(CallOutcome::Failure).latency.moments.count(), 200);
    assert!((20..=22).contains(&(200 - summary.replies)), "{}", summary.replies);
    assert_eq!(
        summary.errors.count(Failure::ClientTimeout),
        200 - summary.replies,
        "each of them is an error"
    );
}

#[test]
fn a_server_that_breaks_the_rules_is_told_so_and_left() {
    let peer = Http2Peer::new(|request: &StreamSeen| match (request.connection, request.index) {
        (0, 4) => vec![Deed::Bytes(NOW, b"\0\0\x01\x06\0\0\0\0\0x".to_vec())],
        _ => vec![Deed::Reply(NOW, ok())],
    });
    let heard = peer.heard();
    let run = run(&streams(20, 1000.0, 1, 10), Link::default(), peer);
    let figures = http2(&run.summary);
    assert_eq!(figures.violations.by_frequency(), [("a PING frame without 8 bytes", 1)]);
    let goaway = heard.goaways().remove(0);
    assert_eq!(goaway, (code::FRAME_SIZE_ERROR, "a PING frame without 8 bytes".to_owned()));
    assert_eq!((run.summary.replies, run.summary.errors.count(Failure::Other)), (19, 1));
    assert_eq!(run.connections.len(), 2);
}

#[test]
fn what_is_sent_before_it_is_measured_is_kept_apart() {
    let mut plan = streams(UNLIMITED, 1000.0, 1, 10);
    plan.change(|plan| plan.runtime = Some(SECOND));
    plan.change(|plan| plan.phases = Phases { warmup: SECOND, drain: SECOND });
    let run = run(&plan, Link::default(), ok_after(ms(1)));
    let figures = http2(&run.summary);
    assert_eq!(run.summary.replies, 1000);
    assert!(figures.streams.abs_diff(1000) <= 2, "{}", figures.streams);
    assert!(figures.request_headers.ratio().unwrap() < 0.1, "the first block is of the warm-up");
}

#[test]
fn a_window_that_is_small_lets_everything_through_in_portions() {
    let mut plan = over_http2(connections(2, 4, 2));
    plan.change(|plan| {
        plan.http2 =
            Http2 { window: Window::constant::<100>(), header_table: HeaderTable::MIN, ..Http2::default() }
    });
    let body = "0123456789".repeat(10_000);
    let peer = Http2Peer::new(move |_: &StreamSeen| {
        vec![Deed::Reply(NOW, Reply::new(200).body(body.clone()).trailer("sum", "1"))]
    });
    let run = run(&plan, Link::default(), peer);
    check_answered(&run, 8);
    assert_eq!((run.summary.content_bytes, run.summary.footer_bytes), (800_000, 8 * 10));
}

#[test]
fn a_closed_loop_keeps_all_its_streams_busy() {
    let mut plan = over_http2(connections(UNLIMITED, UNLIMITED, 1).with(|plan| {
        plan.arrivals = at_once(2);
        plan.runtime = Some(SECOND);
    }));
    plan.change_connections(|workload| workload.pipeline = nonzero(8));
    let summary = run(&plan, Link::default(), ok_after(ms(10))).summary;
    assert_eq!(summary.replies, 1600);
    assert_eq!(http2(&summary).concurrent_max, 8);
}

/// Some of whose connections meet themselves, as nobody listens for a moment: those whose numbers have this remainder.
struct Absent<P> {
    of: usize,
    remainder: usize,
    peer: P,
}

impl<P: Peer> Peer for Absent<P> {
    fn accept(&mut self, connection: usize, at: Duration) -> Reception {
        match connection % self.of == self.remainder {
            true => Reception::Itself,
            false => self.peer.accept(connection, at),
        }
    }

    fn receive(&mut self, connection: usize, at: Duration, bytes: &[u8]) -> Vec<Action> {
        self.peer.receive(connection, at, bytes)
    }

    fn wake(&mut self, connection: usize, at: Duration) -> Vec<Action> {
        self.peer.wake(connection, at)
    }
}

#[test]
fn a_connection_to_itself_is_refused_in_every_kind_of_run() {
    for (what, plan, planned) in of_every_kind() {
        for version in [HttpVersion::Http11, HttpVersion::Http2] {
            let mut plan = plan.clone();
            plan.change(|plan| plan.request.version = version);
            if version == HttpVersion::Http11 && what == "pool" {
                plan.change_calls(|workload| workload.pipeline = Some(nonzero(1)));
            }
            let run = run(&plan, Link::default(), Absent { of: 1, remainder: 0, peer: ok_after(NOW) });
            let summary = run.summary;
            assert!(!run.is_endless, "{what}");
            assert_eq!(
                (summary.replies, summary.errors.total()),
                (0, summary.errors.count(Failure::Refused)),
                "{what}"
            );
            let failed = summary.calls_with(CallOutcome::Failure).latency.moments.count();
            assert!(
                failed > 0 && failed <= planned && summary.errors.total() >= failed,
                "{what}: {:?}",
                summary.errors
            );
        }
    }
}

/// What a server does to a request, by a number at random.
fn whim(number: u8, request: &StreamSeen) -> Vec<Deed> {
    let delay = ms(u64::from(number % 16));
    match number {
        0..=9 => vec![Deed::Reset(delay, code::REFUSED_STREAM)],
        10..=19 => vec![Deed::Reset(delay, code::INTERNAL_ERROR)],
        20..=29 => vec![Deed::Reply(delay, ok()), Deed::GoAway(delay, None, code::NO_ERROR)],
        30..=31 => vec![Deed::GoAway(delay, Some(request.stream / 2), code::ENHANCE_YOUR_CALM)],
        32 => vec![Deed::GoAway(delay, Some(0), code::INTERNAL_ERROR), Deed::Close(delay)],
        33 => vec![Deed::GoAway(delay, Some(request.stream / 2), code::NO_ERROR), Deed::Abort(delay)],
        34 => vec![Deed::GoAway(delay, Some(0), code::NO_ERROR)],
        35..=39 => vec![Deed::Reply(NOW, ok()), Deed::Close(delay)],
        40..=44 => vec![Deed::Abort(delay)],
        45..=49 => Vec::new(),
        50..=59 => vec![
            Deed::Settings(NOW, vec![(setting::MAX_CONCURRENT_STREAMS, u32::from(number % 4))]),
            Deed::Settings(ms(5), vec![(setting::MAX_CONCURRENT_STREAMS, 3)]),
            Deed::Reply(delay, ok()),
        ],
        60..=69 => vec![
            Deed::Settings(NOW, vec![(setting::INITIAL_WINDOW_SIZE, 10 + u32::from(number))]),
            Deed::Reply(delay, ok()),
        ],
        70..=79 => {
            vec![Deed::Reply(delay, Reply::new(503).interim(103).body("x".repeat(30_000)).trailer("a", "b"))]
        }
        _ => vec![Deed::Reply(delay, ok())],
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever a server does, each call has one end, no run is endless, and the same happens again.
    #[test]
    fn every_call_has_one_end(
        whims in prop::collection::vec(any::<u8>(), 40),
        kind in 0..4_u8,
        together in 1..12_u32,
        body in prop_oneof![Just(0_usize), 1..200_usize],
        seed in any::<u64>(),
        retries in any::<bool>(),
        absent in 0..12_usize,
    ) {
        let plan = match kind {
            0 => streams(60, 500.0, 2, together),
            1 => over_http2(connections(6, 10, together.into())),
            2 => {
                let mut plan = over_http2(connections(6, 10, 1));
                plan.change_connections(|workload| workload.pipeline = nonzero(together));
                plan.with(|plan| plan.arrivals = at_once(2))
            }
            _ => {
                let mut plan = over_http2(sessions(6, uniform(10, together.into(), ms(1))));
                plan.change_sessions(|workload| workload.retry_on_failure = retries);
                plan
            }
        };
        let plan = if body > 0 { with_body(plan, body) } else { plan };
        let plan = with_timeout(plan, ms(100));
        let peer = || {
            let whims = whims.clone();
            let mut next = 0;
            let peer = Http2Peer::new(move |request: &StreamSeen| {
                next += 1;
                whim(whims[next % whims.len()], request)
            });
            // Up to half of the connections, or none.
            Absent { of: 2 + absent, remainder: if absent > 8 { usize::MAX } else { 0 }, peer }
        };
        let link = Link { seed, latency: ms(1), ..Link::default() };
        let first = run(&plan, link, peer());
        prop_assert!(!first.is_endless);
        let summary = first.summary;
        let ended: u64 = CallOutcome::ALL.iter().map(|&outcome| summary.calls_with(outcome).latency.moments.count()).sum();
        if kind == 0 {
            prop_assert_eq!(ended, 60);
        }
        prop_assert!(summary.replies <= ended && ended <= 60);
        prop_assert_eq!(summary.unfinished.moments.count(), 0);
        let offered: u64 = summary.series.intervals().iter().map(|interval| interval.offered).sum();
        prop_assert_eq!(offered, ended, "each call that was begun has an end in the books");
        let figures = http2(&summary);
        prop_assert!(figures.streams >= summary.replies);
        let again = run(&plan, link, peer()).summary;
        prop_assert_eq!(again.http2, summary.http2);
        prop_assert_eq!(again.errors, summary.errors);
    }
}
