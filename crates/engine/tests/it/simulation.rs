//! Whole runs of a worker in memory, on a virtual clock.

use std::time::Duration;

use httperf_engine::{Observation, Observer};
use httperf_plan::{Arrivals, Cap, Excess, HttpVersion, Phases, Plan, Script, Split, UriSource};
use httperf_stats::{CallOutcome, Failure, Phase, Timing};
use httperf_testkit::sim::{
    Action, Edit, HttpPeer, Link, Peer, Reception, RequestSeen, Run, Trace, at_once, connections,
    file_session, listed, nonzero, reply, run, run_observed, sessions,
};

pub(crate) const NOW: Duration = Duration::ZERO;

pub(crate) fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

pub(crate) fn uniform(calls: u64, burst: u64, think: Duration) -> Script {
    httperf_testkit::sim::uniform(calls, burst, think)
}

pub(crate) fn every(milliseconds: u64) -> Arrivals {
    Arrivals::Deterministic { period: milliseconds as f64 / 1e3 }
}

/// Answers everything with 200 and five bytes, after `delay`.
fn ok_after(delay: Duration) -> impl Peer {
    HttpPeer::new(move |_| vec![Action::Send(delay, reply(200, "", "hello"))])
}

/// Answers with the function's bytes at once.
fn answering(mut answer: impl FnMut(&RequestSeen) -> Vec<u8>) -> impl Peer {
    HttpPeer::new(move |request| vec![Action::Send(NOW, answer(request))])
}

/// Never answers.
fn silent() -> impl Peer {
    HttpPeer::new(|_| Vec::new())
}

/// Does the same with every connection.
struct Receiving(Reception);

impl Peer for Receiving {
    fn accept(&mut self, _: usize, _: Duration) -> Reception {
        self.0
    }

    fn receive(&mut self, _: usize, _: Duration, _: &[u8]) -> Vec<Action> {
        Vec::new()
    }
}

/// Refuses every second connection, and answers on the others.
fn refusing_every_second() -> impl Peer {
    struct EverySecond<P>(P);
    impl<P: Peer> Peer for EverySecond<P> {
        fn accept(&mut self, connection: usize, at: Duration) -> Reception {
            match connection % 2 {
                0 => self.0.accept(connection, at),
                _ => Reception::Refuse,
            }
        }

        fn receive(&mut self, connection: usize, at: Duration, bytes: &[u8]) -> Vec<Action> {
            self.0.receive(connection, at, bytes)
        }
    }
    EverySecond(ok_after(ms(1)))
}

fn initiated(run: &Run) -> Vec<u64> {
    run.connections.iter().map(|trace| trace.initiated.as_millis() as u64).collect()
}

#[track_caller]
fn check_counts(run: &Run, connections: u64, requests: u64, replies: u64) {
    let summary = &run.summary;
    let counts = (summary.connections, summary.requests, summary.replies);
    assert_eq!(counts, (connections, requests, replies), "connections, requests, replies");
    assert!(!run.is_endless, "the run must end by itself");
}

#[track_caller]
fn check_sessions(run: &Run, completed: u64, failed: u64, lengths: &[(u64, u64)]) {
    let sessions = run.summary.sessions.as_ref().expect("the plan has sessions");
    assert_eq!((sessions.completed, sessions.failed), (completed, failed), "completed, failed");
    assert_eq!(sessions.lengths.iter().map(|(&a, &b)| (a, b)).collect::<Vec<_>>(), lengths);
    assert!(!run.is_endless, "the run must end by itself");
}

// Arrivals.

#[test]
fn arrivals_keep_their_schedule_while_the_server_stands_still() {
    let plan = connections(50, 1, 1).with(|plan| plan.arrivals = every(10));
    let run = run(&plan, Link::default(), ok_after(Duration::from_secs(10)));
    assert_eq!(initiated(&run), (0..50).map(|index| index * 10).collect::<Vec<_>>());
    check_counts(&run, 50, 50, 50);
    assert_eq!(run.summary.concurrent_max, 50);
    assert_eq!(run.summary.duration, ms(490 + 10_000));
}

#[test]
fn without_a_rate_each_connection_waits_for_the_end_of_the_one_before() {
    let run = run(&connections(4, 1, 1), Link::default(), ok_after(ms(7)));
    assert_eq!(initiated(&run), [0, 7, 14, 21]);
    assert_eq!((run.summary.concurrent_max, run.summary.connect_burst_max), (1, 1));
}

#[test]
fn a_billion_arrivals_start_at_once_and_stop_when_told() {
    let plan = connections(1_000_000_000, 1, 1).with(|plan| {
        plan.arrivals = every(1);
        plan.runtime = Some(Duration::from_secs(2));
    });
    let run = run(&plan, Link::default(), ok_after(ms(1)));
    assert_eq!(run.connections.len(), 2000, "the one due at the end is not offered");
    assert_eq!(run.summary.duration, Duration::from_secs(2));
}

#[test]
fn nothing_to_do_ends_at_once() {
    for plan in [connections(0, 1, 1), sessions(0, uniform(1, 1, NOW))] {
        let run = run(&plan, Link::default(), ok_after(NOW));
        check_counts(&run, 0, 0, 0);
        assert_eq!(run.summary.duration, NOW);
    }
}

#[test]
fn connections_without_calls_are_opened_and_closed() {
    let run = run(&connections(3, 0, 1), Link { latency: ms(2), ..Link::default() }, silent());
    check_counts(&run, 3, 0, 0);
    assert_eq!(run.summary.connect.moments.count(), 3);
    assert_eq!(initiated(&run), [0, 4, 8]);
}

#[test]
fn a_cap_on_open_connections_skips_arrivals_and_still_ends() {
    let mut plan = connections(10, 1, 1).with(|plan| plan.arrivals = every(10));
    plan.change_connections(|connections| {
        connections.max_open = Some(Cap { connections: nonzero(2), excess: Excess::Skipped });
    });
    let run = run(&plan, Link::default(), ok_after(ms(35)));
    assert_eq!(initiated(&run), [0, 10, 40, 50, 80, 90]);
    assert_eq!(run.summary.arrivals_skipped, 4);
    check_counts(&run, 6, 6, 6);
}

#[test]
fn a_list_of_uris_ends_the_run_after_the_last_reply() {
    let uris = ["/a", "/b", "/c"].map(|uri| uri.as_bytes().to_vec()).to_vec();
    let plan = connections(10, 1, 1).with(|plan| {
        plan.uris = UriSource::List { uris: listed(uris), wrap: false };
        plan.arrivals = every(1);
    });
    let run = run(&plan, Link::default(), ok_after(ms(100)));
    check_counts(&run, 3, 3, 3);
    let requests: Vec<String> = run.connections.iter().flat_map(Trace::requests).collect();
    assert_eq!(requests, ["GET /a", "GET /b", "GET /c"]);
}

// Connections.

#[test]
fn bursts_are_sent_together_and_the_last_may_be_shorter() {
    let run = run(&connections(1, 5, 3), Link::default(), ok_after(ms(10)));
    check_counts(&run, 1, 5, 5);
    let sizes: Vec<usize> = run.connections[0].received.iter().map(|(_, bytes)| bytes.len() / 55).collect();
    assert_eq!(sizes, [3, 2], "requests in each write");
}

#[test]
fn a_server_that_announces_its_close_ends_a_connection_without_an_error() {
    let run = run(
        &connections(2, 3, 1),
        Link::default(),
        HttpPeer::new(|_| {
            vec![Action::Send(NOW, reply(200, "Connection: close\r\n", "")), Action::Close(NOW)]
        }),
    );
    check_counts(&run, 2, 2, 2);
    assert_eq!(run.summary.errors.total(), 0);
    assert_eq!((run.summary.closed_early, run.summary.calls_not_offered), (2, 4));
}

#[test]
fn a_close_that_was_not_announced_is_a_reset() {
    let peer = HttpPeer::new(|_| vec![Action::Send(NOW, reply(200, "", "")), Action::Close(NOW)]);
    let run = run(&connections(2, 3, 1), Link::default(), peer);
    assert_eq!(run.summary.replies, 2);
    assert_eq!(run.summary.errors.count(Failure::Reset), 2);
}

#[test]
fn bytes_after_a_reply_do_not_answer_a_request_sent_later() {
    let run = run(
        &connections(2, 2, 1),
        Link::default(),
        answering(|_| [reply(200, "", "hello"), reply(200, "", "surplus")].concat()),
    );
    check_counts(&run, 2, 2, 2);
    assert_eq!(run.summary.errors.count(Failure::Other), 2);
}

/// More than is read of a connection in one turn, with the end of the connection right behind it.
#[test]
fn a_large_body_is_read_to_its_end_and_beyond() {
    let body = "x".repeat(3_000_000);
    let peer = HttpPeer::new(move |_| vec![Action::Send(NOW, reply(200, "", &body)), Action::Close(NOW)]);
    let run = run(&sessions(1, uniform(2, 1, ms(10))), Link::default(), peer);
    check_counts(&run, 2, 2, 2);
    assert_eq!((run.summary.content_bytes, run.summary.errors.total()), (6_000_000, 0));
    assert_eq!(run.connections[0].closed, Some(NOW), "the end was noticed while the session was thinking");
}

#[test]
fn refused_connections_are_counted_and_their_time_is_not() {
    let run = run(&connections(3, 1, 1), Link::default(), Receiving(Reception::Refuse));
    check_counts(&run, 3, 0, 0);
    assert_eq!(run.summary.errors.count(Failure::Refused), 3);
    assert_eq!(run.summary.connect.moments.count(), 0);
}

/// Three seconds of connections that fail at once.
fn three_seconds(arrivals: Arrivals, link: Link) -> Run {
    let plan = connections(httperf_plan::UNLIMITED, 1, 1).with(|plan| {
        plan.arrivals = arrivals;
        plan.runtime = Some(Duration::from_secs(3));
    });
    run(&plan, link, Receiving(Reception::Refuse))
}

#[test]
fn a_closed_loop_that_comes_to_no_server_pauses_longer_and_longer_up_to_a_bound() {
    let link = Link::default();
    let refused = three_seconds(Arrivals::Sequential, link);
    assert_eq!(initiated(&refused)[..7], [0, 1, 3, 7, 15, 25, 35]);
    check_counts(&refused, 303, 0, 0);
    assert_eq!(refused.summary.errors.count(Failure::Refused), 303);
    // All places together try as often as one alone.
    let refused = three_seconds(at_once(50), link);
    check_counts(&refused, 50 * 9, 0, 0);
    // Without descriptors nothing is connected at all.
    let full = three_seconds(Arrivals::Sequential, Link { sockets_max: 0, ..link });
    assert_eq!((full.summary.errors.count(Failure::FdUnavailable), full.summary.connections), (303, 0));
    assert!(!full.is_endless);
}

#[test]
fn arrivals_with_a_schedule_fail_when_they_are_due() {
    let refused = three_seconds(every(1), Link::default());
    check_counts(&refused, 3000, 0, 0);
    assert!(initiated(&refused).into_iter().eq(0..3000));
}

#[test]
fn places_whose_connections_are_refused_do_not_hold_up_the_others() {
    let plan = connections(httperf_plan::UNLIMITED, 1, 1).with(|plan| {
        plan.arrivals = at_once(20);
        plan.runtime = Some(Duration::from_secs(3));
    });
    let run = run(&plan, Link::default(), refusing_every_second());
    let (refused, replies) = (run.summary.errors.count(Failure::Refused), run.summary.replies);
    // A place rests for 20 ms after each refusal, and is answered within a millisecond.
    assert!((2000..=3200).contains(&replies), "{replies}");
    assert!(refused.abs_diff(replies) < 50, "{refused} refused, {replies} answered");
}

#[test]
fn descriptors_that_run_out_are_counted_and_the_run_goes_on() {
    let plan = connections(20, 1, 1).with(|plan| plan.arrivals = every(1));
    let run = run(&plan, Link { sockets_max: 7, ..Link::default() }, ok_after(ms(500)));
    check_counts(&run, 7, 7, 7);
    assert_eq!(run.summary.errors.count(Failure::FdUnavailable), 13);
}

// Time limits.

pub(crate) fn limited(timeout: u64, think: u64, plan: Plan) -> Plan {
    let limit = |value: u64| (value > 0).then(|| ms(value));
    let think_timeout = limit(think).map(httperf_plan::ThinkTime::More);
    plan.with(|plan| plan.timeouts = httperf_plan::Timeouts { timeout: limit(timeout), think_timeout })
}

#[track_caller]
fn check_timeout(run: &Run, count: u64, after: u64) {
    assert_eq!(run.summary.errors.count(Failure::ClientTimeout), count);
    assert_eq!(run.summary.errors.total(), count);
    assert_eq!(run.summary.duration, ms(after));
    assert!(!run.is_endless);
}

#[test]
fn a_reply_is_due_both_limits_after_its_request() {
    for (timeout, think, after) in [(300, 400, 700), (0, 500, 500), (300, 0, 300)] {
        let run = run(&limited(timeout, think, connections(1, 1, 1)), Link::default(), silent());
        check_timeout(&run, 1, after);
    }
}

#[test]
fn a_connect_is_due_after_the_first_limit() {
    let plan = limited(700, 100, connections(2, 1, 1));
    let run = run(&plan, Link::default(), Receiving(Reception::Ignore));
    check_timeout(&run, 2, 1400);
    assert_eq!(run.summary.requests, 0);
}

/// Sends the bytes one at a time, with a pause before each.
fn trickling(bytes: Vec<u8>, pause: Duration) -> impl Peer {
    HttpPeer::new(move |_| {
        let times = 1..=bytes.len() as u32;
        times.zip(&bytes).map(|(time, &byte)| Action::Send(pause * time, vec![byte])).collect()
    })
}

#[test]
fn a_body_that_trickles_is_due_after_the_first_byte_whatever_its_progress() {
    let mut bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n".to_vec();
    let head = bytes.clone();
    bytes = vec![b'x'; 20];
    let peer = HttpPeer::new(move |_| {
        let mut actions = vec![Action::Send(NOW, head.clone())];
        actions.extend((1..).zip(&bytes).map(|(time, &byte)| Action::Send(ms(200) * time, vec![byte])));
        actions
    });
    let run = run(&limited(1000, 0, connections(1, 1, 1)), Link::default(), peer);
    check_timeout(&run, 1, 1000);
}

#[test]
fn a_status_line_that_trickles_is_not_late_while_it_goes_on() {
    let peer = trickling(b"HTTP/1.1 204 X\r\n\r\n".to_vec(), ms(200));
    let run = run(&limited(1000, 0, connections(1, 1, 1)), Link::default(), peer);
    check_counts(&run, 1, 1, 1);
    assert_eq!(run.summary.duration, ms(18 * 200));
}

#[test]
fn each_pipelined_call_is_due_by_the_end_of_its_own_sending() {
    let peer = HttpPeer::new(|request: &RequestSeen| {
        vec![Action::Send(ms(400) * (request.index as u32 + 1), reply(200, "", ""))]
    });
    let run = run(&limited(600, 0, connections(1, 3, 3)), Link::default(), peer);
    assert_eq!(run.summary.replies, 1);
    check_timeout(&run, 1, 600);
}

#[test]
fn sequential_sessions_go_on_after_a_timeout() {
    let plan = limited(100, 0, sessions(3, uniform(2, 1, NOW)));
    let run = run(&plan, Link::default(), silent());
    check_timeout(&run, 3, 300);
    check_sessions(&run, 0, 3, &[(0, 3)]);
}

// Sessions.

#[test]
fn a_session_thinks_between_bursts_and_keeps_its_connection() {
    let run = run(&sessions(2, uniform(6, 3, ms(50))), Link::default(), ok_after(ms(10)));
    check_counts(&run, 2, 12, 12);
    check_sessions(&run, 2, 0, &[(6, 2)]);
    let times: Vec<u64> = run.connections[0].received.iter().map(|(at, _)| at.as_millis() as u64).collect();
    assert_eq!(times, [0, 10, 70, 80]);
}

#[test]
fn calls_go_to_the_first_slot_with_room() {
    let mut plan = sessions(1, uniform(7, 7, NOW));
    plan.change_sessions(|sessions| {
        (sessions.max_connections, sessions.max_piped_calls) = (nonzero(3), nonzero(2));
    });
    let run = run(&plan, Link::default(), ok_after(ms(10)));
    let calls: Vec<usize> = run.connections.iter().map(|trace| trace.requests().len()).collect();
    assert_eq!(calls, [3, 2, 2]);
}

#[test]
fn sessions_in_http10_use_a_connection_for_each_call() {
    let mut plan = sessions(1, uniform(6, 3, NOW));
    plan.change(|plan| plan.request.version = HttpVersion::Http10);
    plan.change_sessions(|sessions| sessions.max_piped_calls = nonzero(1));
    let run = run(&plan, Link::default(), ok_after(ms(10)));
    assert_eq!(initiated(&run), [0, 10, 10, 20, 30, 30]);
    check_sessions(&run, 1, 0, &[(6, 1)]);
    assert_eq!(run.summary.errors.total(), 0);
}

#[test]
fn a_session_replaces_connections_that_the_server_closes_between_calls() {
    for announced in [true, false] {
        let fields = if announced { "Connection: close\r\n" } else { "" };
        let peer =
            HttpPeer::new(move |_| vec![Action::Send(NOW, reply(200, fields, "")), Action::Close(NOW)]);
        let run = run(&sessions(1, uniform(3, 1, ms(5))), Link::default(), peer);
        check_counts(&run, 3, 3, 3);
        check_sessions(&run, 1, 0, &[(3, 1)]);
        assert_eq!(run.summary.errors.total(), 0);
    }
}

#[test]
fn calls_left_on_a_closed_connection_are_made_on_the_next() {
    let script = Script::File([file_session(&[&["/a", "/b", "/c", "/d"]], NOW)].into());
    let peer = HttpPeer::new(|request: &RequestSeen| match request.index {
        0 | 1 => vec![Action::Send(NOW, reply(200, "", ""))],
        2 => vec![Action::Send(ms(1), reply(200, "Connection: close\r\n", "")), Action::Close(ms(1))],
        _ => Vec::new(),
    });
    let run = run(&sessions(1, script), Link::default(), peer);
    check_counts(&run, 2, 5, 4);
    assert_eq!(run.connections[1].requests(), ["GET /d"]);
    check_sessions(&run, 1, 0, &[(4, 1)]);
}

#[test]
fn a_refused_session_retries_with_longer_and_longer_pauses_and_then_gives_up() {
    let mut plan = sessions(1, uniform(1, 1, NOW));
    plan.change_sessions(|sessions| sessions.retry_on_failure = true);
    let run = run(&plan, Link::default(), Receiving(Reception::Refuse));
    assert_eq!(initiated(&run), [0, 0, 10, 30, 70, 150, 310, 630, 1270, 2270, 3270]);
    assert_eq!(run.summary.errors.count(Failure::Refused), 11);
    assert_eq!(run.summary.retries_exhausted, 1);
    check_sessions(&run, 0, 1, &[(0, 1)]);
}

#[test]
fn a_failure_status_fails_the_session_or_is_retried() {
    let mut plan = sessions(2, uniform(3, 1, NOW));
    plan.change_sessions(|sessions| sessions.failure_status = Some(503));
    let failing = |run: &Run| check_sessions(run, 0, 2, &[(1, 2)]);
    failing(&run(&plan, Link::default(), answering(|_| reply(503, "", ""))));

    plan.change_sessions(|sessions| sessions.retry_on_failure = true);
    let mut turn = 0;
    let run = run(
        &plan,
        Link::default(),
        answering(move |_| {
            turn += 1;
            reply(if turn % 2 == 1 { 503 } else { 200 }, "", "")
        }),
    );
    check_counts(&run, 2, 12, 12);
    check_sessions(&run, 2, 0, &[(6, 2)]);
}

#[test]
fn cookies_are_kept_for_a_session_and_sent_with_its_later_calls() {
    let script = Script::File([file_session(&[&["/one"], &["/two"], &["/deep/three"]], NOW)].into());
    let mut plan = sessions(2, script);
    plan.change_sessions(|sessions| sessions.cookies = true);
    let run = run(
        &plan,
        Link::default(),
        answering(|request| {
            let fields =
                format!("Set-Cookie: S={}; path=/\r\nSet-Cookie: T=x; Path=/deep\r\n", request.connection);
            reply(200, if request.index == 0 { &fields } else { "" }, "")
        }),
    );
    let cookies = |connection: usize| -> Vec<String> {
        let text = run.connections[connection].text();
        text.lines().filter(|line| line.starts_with("Cookie")).map(str::to_owned).collect()
    };
    assert_eq!(cookies(0), ["Cookie: S=0", "Cookie: T=x; S=0"]);
    assert_eq!(cookies(1), ["Cookie: S=1", "Cookie: T=x; S=1"]);
}

#[test]
fn objects_of_a_page_are_fetched_once_for_each_page() {
    let plan = sessions(1, Script::Pages { pages: 2, think: ms(100) })
        .with(|plan| plan.uris = UriSource::Fixed(b"/dir/page.html".to_vec()));
    for hostile in [false, true] {
        let link = Link { hostile, seed: 7, ..Link::default() };
        let run = run(
            &plan,
            link,
            answering(|request| match request.uri() {
                "/dir/page.html" => reply(
                    200,
                    "Content-Type: text/html; charset=utf-8\r\n",
                    "<img src='a.png'><!-- <img src=no.png> --><IMG SRC=a.png><iframe src=\"/frame.html\"></iframe>\
                 <img src=http://server/b.png><img src=http://elsewhere/c.png>",
                ),
                "/frame.html" => {
                    reply(200, "Content-Type: text/html\r\n", "<img src=/dir/a.png><img src=/d.png>")
                }
                _ => reply(200, "", "data"),
            }),
        );
        let mut requests: Vec<String> = run.connections.iter().flat_map(Trace::requests).collect();
        requests.sort();
        let expected = ["/b.png", "/d.png", "/dir/a.png", "/dir/page.html", "/frame.html"];
        let expected: Vec<String> = expected.iter().flat_map(|uri| vec![format!("GET {uri}"); 2]).collect();
        assert_eq!(requests, expected);
        check_sessions(&run, 1, 0, &[(10, 1)]);
    }
}

// What the observer hears.

#[derive(Default)]
struct Heard {
    lines: Vec<String>,
}

impl Observer for Heard {
    fn observe(&mut self, what: Observation<'_>) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        self.lines.push(match what {
            Observation::Request { call, head, contents } => {
                format!("request {call}: {} {}", head.len(), text(contents))
            }
            Observation::ReplyHead { call, head } => format!("head {call}: {}", head.len()),
            Observation::ReplyBody { call, data } => format!("body {call}: {}", text(data)),
            Observation::ReplyDone { call, size } => format!("done {call}: {}", size.content),
            Observation::BadStatusLine { line } => format!("bad status line {}", text(line)),
            other => format!("{other:?}"),
        });
    }
}

#[test]
fn requests_and_replies_are_shown_with_the_number_of_their_call() {
    let mut plan = connections(1, 2, 2);
    plan.change(|plan| plan.watch.requests = Some(httperf_plan::Parts::All));
    plan.change(|plan| plan.watch.replies = Some(httperf_plan::Parts::All));
    let mut heard = Heard::default();
    run_observed(&plan, Link::default(), answering(|_| reply(200, "", "hi")), &mut heard);
    assert_eq!(
        heard.lines,
        [
            "request 0: 55 ",
            "request 1: 55 ",
            "head 0: 37",
            "body 0: hi",
            "done 0: 2",
            "head 1: 37",
            "body 1: hi",
            "done 1: 2",
        ]
    );
}

#[test]
fn what_is_no_status_line_is_shown_and_fails_the_call() {
    let mut heard = Heard::default();
    let run = run_observed(
        &connections(1, 1, 1),
        Link::default(),
        HttpPeer::new(|_| vec![Action::Send(NOW, b"FOO\r\n\r\n".to_vec()), Action::Close(NOW)]),
        &mut heard,
    );
    assert_eq!(heard.lines[0], "bad status line FOO");
    assert_eq!((run.summary.replies, run.summary.errors.count(Failure::Other)), (0, 1));
}

/// Answers at once, except that from 4 s to 5 s of the run it stands still.
fn stalling() -> impl Peer {
    HttpPeer::new(|request| {
        let stall = Duration::from_secs(4)..Duration::from_secs(5);
        let pause = if stall.contains(&request.at) { stall.end - request.at } else { NOW };
        vec![Action::Send(pause, reply(200, "", "hello"))]
    })
}

#[test]
fn a_server_that_stands_still_shows_in_both_clocks_of_calls_with_connections_of_their_own() {
    let plan = connections(10_000, 1, 1).with(|plan| plan.arrivals = every(1));
    let summary = run(&plan, Link::default(), stalling()).summary;
    let clocks = summary.calls_with(CallOutcome::Success);
    for (clock, timing) in [("latency", &clocks.latency), ("service", &clocks.service)] {
        let at = |share: f64| timing.quantile(share).unwrap().as_secs_f64();
        assert_eq!(timing.moments.count(), 10_000, "{clock}: nothing is dropped");
        // A tenth of the calls came during the stall, evenly, and waited for its end.
        assert!((at(0.95) - 0.5).abs() < 0.025, "{clock}: {}", at(0.95));
        assert!((at(0.99) - 0.9).abs() < 0.045, "{clock}: {}", at(0.99));
        assert!(at(0.89) < 0.005, "{clock}: {}", at(0.89));
    }
    assert_eq!(summary.lag.moments.max(), 0.0, "the generator was never late");
}

#[test]
fn a_bounded_number_of_connections_waits_before_it_sends_and_latency_counts_that() {
    let mut plan = connections(10_000, 1, 1).with(|plan| plan.arrivals = every(1));
    plan.change_connections(|connections| {
        connections.max_open = Some(Cap { connections: nonzero(8), excess: Excess::Waits });
    });
    let summary = run(&plan, Link::default(), stalling()).summary;
    let clocks = summary.calls_with(CallOutcome::Success);
    let at = |timing: &Timing, share: f64| timing.quantile(share).unwrap().as_secs_f64();
    assert_eq!(clocks.latency.moments.count(), 10_000, "nothing is dropped");
    assert!((at(&clocks.latency, 0.95) - 0.5).abs() < 0.025, "{}", at(&clocks.latency, 0.95));
    assert!((at(&clocks.latency, 0.99) - 0.9).abs() < 0.045, "{}", at(&clocks.latency, 0.99));
    assert!(at(&clocks.service, 0.95) < 0.005, "only eight calls saw the server stand still");
    assert_eq!((summary.concurrent_max, summary.arrivals.held), (8, 992));
    assert_eq!(summary.lag.moments.max(), 0.0, "who waits for room does not wait for the generator");
}

#[test]
fn the_time_in_which_the_server_stood_still_is_told() {
    let plan = connections(10_000, 1, 1).with(|plan| plan.arrivals = every(1));
    let stall = run(&plan, Link::default(), stalling()).summary.stall.unwrap();
    assert_eq!((stall.from, stall.length), (Duration::from_secs(4), Duration::from_secs(1)));
}

/// 100 connections per second for 3 s after a warm-up of 2 s.
fn phased(drain: Duration) -> Plan {
    connections(1_000_000, 1, 1).with(|plan| {
        plan.arrivals = every(10);
        plan.runtime = Some(Duration::from_secs(3));
        plan.phases = Phases { warmup: Duration::from_secs(2), drain };
    })
}

#[test]
fn what_is_due_in_the_warm_up_is_offered_and_not_measured() {
    // In the first second each reply takes a second and a half, later 5 ms.
    let peer = HttpPeer::new(|request| {
        let pause = if request.at < Duration::from_secs(1) { ms(1500) } else { ms(5) };
        vec![Action::Send(pause, reply(200, "", "hello"))]
    });
    let run = run(&phased(NOW), Link::default(), peer);
    let summary = run.summary;
    assert_eq!(run.connections.len(), 500);
    assert_eq!((summary.connections, summary.requests, summary.replies), (300, 300, 300));
    assert_eq!(summary.duration, Duration::from_secs(3));
    assert_eq!(summary.completed().latency.moments.max(), 0.005);
    let warmup = summary.warmup.unwrap();
    assert_eq!((warmup.connections, warmup.replies), (200, 200));
    assert_eq!((summary.arrivals.due, summary.arrivals.started), (300, 300));
    let phases: Vec<(Phase, u64)> =
        summary.series.intervals().iter().map(|interval| (interval.phase, interval.arrivals)).collect();
    let (warm_up, measured) = ((Phase::WarmUp, 100), (Phase::Measured, 100));
    assert_eq!(phases, [warm_up, warm_up, measured, measured, measured]);
}

#[test]
fn a_drain_lets_what_is_under_way_end_and_offers_nothing() {
    let slow = || HttpPeer::new(|_| vec![Action::Send(ms(500), reply(200, "", "hello"))]);
    let cut = run(&phased(NOW), Link::default(), slow()).summary;
    assert_eq!((cut.requests, cut.replies), (300, 251));
    assert_eq!((cut.unfinished.moments.count(), cut.unfinished.moments.max()), (49, 0.49));
    let drained = run(&phased(Duration::from_secs(2)), Link::default(), slow());
    let summary = drained.summary;
    assert_eq!(
        (drained.connections.len(), summary.replies, summary.unfinished.moments.count()),
        (500, 300, 0)
    );
    assert_eq!(summary.duration, Duration::from_secs(3), "rates do not count the drain");
    let last = summary.series.intervals().last().unwrap();
    assert_eq!(
        (last.phase, last.arrivals, last.length),
        (Phase::Drain, 0, ms(490)),
        "it ends with the last reply"
    );
}

#[test]
fn a_drain_lets_sessions_end_that_are_under_way_and_starts_none() {
    let plan = sessions(1000, uniform(10, 1, ms(150))).with(|plan| {
        plan.runtime = Some(Duration::from_secs(1));
        plan.phases = Phases { warmup: NOW, drain: Duration::from_secs(60) };
    });
    let summary = run(&plan, Link::default(), ok_after(ms(100))).summary;
    assert_eq!(summary.replies, 10, "at 100, 350, 600 and 850 ms, and six more in the drain");
    let ended = summary.sessions.unwrap();
    assert_eq!((ended.completed, ended.failed), (1, 0), "the session that was under way has completed");
    assert!(summary.unfinished.is_empty());
}

#[test]
fn a_run_that_is_stopped_in_its_warm_up_has_measured_nothing() {
    let plan =
        connections(3, 1, 1).with(|plan| plan.phases = Phases { warmup: Duration::from_secs(9), drain: NOW });
    let summary = run(&plan, Link::default(), ok_after(ms(1))).summary;
    assert_eq!((summary.connections, summary.replies, summary.duration), (0, 0, NOW));
    assert_eq!(summary.warmup.unwrap().replies, 3);
}

#[test]
fn the_slowest_calls_say_where_their_time_went() {
    let mut plan = connections(100, 1, 1).with(|plan| plan.arrivals = every(10));
    plan.change(|plan| plan.recording.slowest = 2);
    let peer = HttpPeer::new(|request| {
        let pause = if request.at > ms(500) && request.at < ms(515) { ms(80) } else { ms(1) };
        vec![Action::Send(pause, reply(200, "Server-Timing: db;dur=79\r\n", "hello"))]
    });
    let link = Link { latency: ms(10), ..Link::default() };
    let slowest = run(&plan, link, peer).summary.slowest;
    assert_eq!(slowest.len(), 2);
    let first = &slowest[0];
    assert_eq!((first.latency, first.wait, first.response), (ms(120), Some(ms(20)), Some(ms(100))));
    assert_eq!((first.connect, first.reused, first.status), (Some(ms(20)), false, Some(200)));
    assert_eq!((&*first.uri, first.server_timing.as_deref()), ("/", Some("db;dur=79")));
}

#[test]
fn calls_are_told_apart_by_status_or_request_target() {
    let statuses = || {
        HttpPeer::new(|request| {
            let status = if request.connection % 4 == 0 { 503 } else { 200 };
            vec![Action::Send(NOW, reply(status, "", ""))]
        })
    };
    let split = |split| {
        let mut plan = connections(20, 1, 1);
        plan.change(|plan| plan.recording.split = Some(split));
        plan.change(|plan| {
            plan.uris = UriSource::List { uris: [b"/a".to_vec(), b"/b".to_vec()].into(), wrap: true };
        });
        let groups = run(&plan, Link::default(), statuses()).summary.groups.unwrap();
        groups.iter().map(|(name, group)| (name.unwrap().to_owned(), group.outcomes)).collect::<Vec<_>>()
    };
    assert_eq!(split(Split::Status), [("200".into(), [15, 0, 0, 0]), ("503".into(), [0, 5, 0, 0])]);
    assert_eq!(split(Split::Uri), [("/a".into(), [5, 5, 0, 0]), ("/b".into(), [10, 0, 0, 0])]);
}

#[test]
fn latency_counts_from_the_instant_at_which_a_call_was_due() {
    // Two calls with a pause between them; each reply takes 5 ms, and a connect 20 ms.
    let script = uniform(2, 1, ms(100));
    let link = Link { latency: ms(10), ..Link::default() };
    let summary = run(&sessions(3, script), link, ok_after(ms(5))).summary;
    let clocks = summary.calls_with(CallOutcome::Success);
    let ms_of = |timing: &Timing, share| (timing.quantile(share).unwrap().as_secs_f64() * 1e3).round();
    assert_eq!((ms_of(&clocks.service, 0.0), ms_of(&clocks.service, 1.0)), (25.0, 25.0));
    assert_eq!((ms_of(&clocks.latency, 0.0), ms_of(&clocks.latency, 1.0)), (25.0, 45.0));
    let sessions = summary.sessions.unwrap();
    assert_eq!((sessions.latency.moments.count(), ms_of(&sessions.latency, 1.0)), (3, 170.0));
}

#[test]
fn calls_without_a_reply_are_timed_until_they_are_given_up() {
    let plan = limited(50, 0, connections(4, 3, 3));
    let summary = run(&plan, Link::default(), silent()).summary;
    let clocks = summary.calls_with(CallOutcome::Failure);
    assert_eq!(clocks.latency.moments.count(), 12);
    assert_eq!((clocks.latency.moments.min(), clocks.latency.moments.max()), (0.05, 0.05));
    assert_eq!(clocks.service.moments.count(), 12);
    assert_eq!(summary.completed().latency.moments.count(), 0);
}
