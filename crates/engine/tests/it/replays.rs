//! Recordings that are made again: whole runs in memory, on the virtual clock.

use std::time::Duration;

use httperf_engine::{RecordedRequests, Silent};
use httperf_load::replay::{RecordedRequest, Requests};
use httperf_plan::{Client, Clients, Header, HttpVersion, Plan, Shard, Workload};
use httperf_stats::CallOutcome;
use httperf_testkit::http2::Reply;
use httperf_testkit::quic::{Config, Options};
use httperf_testkit::sim::{
    Action, Edit, Http3Deed, Http3Peer, HttpPeer, Link, Peer, Reception, RequestSeen, Run, StreamSeen, Trace,
    nonzero, replay, reply, run_replay,
};
use proptest::prelude::*;

use super::http3::over_http3;
use super::simulation::{NOW, ms};

/// A recorded request: when, by which client, and of what.
type Line = (u64, u64, &'static str);

fn recorded(&(at, client, line): &Line) -> RecordedRequest {
    let (method, uri) = line.split_once(' ').unwrap_or(("GET", line));
    RecordedRequest {
        at: ms(at),
        client,
        method: method.into(),
        uri: uri.into(),
        headers: Vec::new(),
        body: None,
        status: Some(200),
        took: Some(ms(5)),
    }
}

fn requests_of(plan: &Plan, lines: &[Line], shard: Shard) -> RecordedRequests {
    let Workload::Replay(replay) = &plan.workload else { panic!("the plan has a replay") };
    let lines: Vec<RecordedRequest> = lines.iter().map(recorded).collect();
    Box::new(Requests::new(lines.into_iter(), replay, plan.client, shard))
}

fn replayed(plan: &Plan, lines: &[Line], link: Link, peer: impl Peer + 'static) -> Run {
    let requests = requests_of(plan, lines, Shard::WHOLE);
    let run = run_replay(plan, Shard::WHOLE, Some(requests), link, peer, &mut Silent);
    assert!(!run.is_endless, "the run must end by itself");
    run
}

fn plan(lines: &[Line], connections: u32) -> Plan {
    replay(lines.len() as u64, 1, connections)
}

fn ok_after(delay: Duration) -> impl Peer {
    HttpPeer::new(move |_: &RequestSeen| vec![Action::Send(delay, reply(200, "", "hello"))])
}

/// Request lines with the times at which they came, in milliseconds, of each connection.
fn seen(run: &Run) -> Vec<Vec<(u128, String)>> {
    let of = |trace: &Trace| {
        let times = trace.received.iter().map(|(at, _)| at.as_millis());
        times.zip(trace.requests()).collect()
    };
    run.connections.iter().map(of).collect()
}

fn outcomes(run: &Run) -> [u64; 4] {
    CallOutcome::ALL.map(|outcome| run.summary.calls[outcome as usize].latency.moments.count())
}

#[test]
fn requests_are_made_when_they_were_recorded_on_the_connection_of_their_client() {
    let lines = &[(0, 7, "/a"), (30, 8, "/b"), (50, 7, "/c"), (4000, 8, "/d")];
    let run = replayed(&plan(lines, 1), lines, Link::default(), ok_after(ms(10)));
    let line = |at, uri: &str| (at, format!("GET {uri}"));
    assert_eq!(seen(&run), [[line(0, "/a"), line(50, "/c")], [line(30, "/b"), line(4000, "/d")]]);
    assert_eq!(outcomes(&run), [4, 0, 0, 0]);
    let figures = run.summary.replay.as_ref().unwrap();
    assert_eq!((figures.same, figures.changed()), (4, 0));
    assert!((figures.recorded.moments.mean() - 0.005).abs() < 1e-9);
    assert!((figures.measured.moments.mean() - 0.01).abs() < 1e-9);
}

#[test]
fn a_request_waits_for_a_connection_of_its_client_and_its_latency_counts_that() {
    let lines = &[(0, 0, "/a"), (10, 0, "/b"), (20, 0, "/c"), (30, 1, "/d")];
    let one = replayed(&plan(lines, 1), lines, Link::default(), ok_after(ms(100)));
    let line = |at, uri: &str| (at, format!("GET {uri}"));
    assert_eq!(seen(&one), [vec![line(0, "/a"), line(100, "/b"), line(200, "/c")], vec![line(30, "/d")]]);
    let longest = one.summary.calls[CallOutcome::Success as usize].latency.moments.max();
    assert!((longest - 0.28).abs() < 1e-6, "{longest}");
    let two = replayed(&plan(lines, 2), lines, Link::default(), ok_after(ms(100)));
    assert_eq!(
        seen(&two),
        [vec![line(0, "/a"), line(100, "/c")], vec![line(10, "/b")], vec![line(30, "/d")]]
    );
}

#[test]
fn cookies_belong_to_their_client() {
    let lines = &[(0, 0, "/login"), (10, 1, "/a"), (20, 0, "/b")];
    let peer = || {
        HttpPeer::new(|request: &RequestSeen| {
            let cookie = if request.uri() == "/login" { "Set-Cookie: sid=1\r\n" } else { "" };
            vec![Action::Send(NOW, reply(200, cookie, ""))]
        })
    };
    let cookies = |run: &Run| -> Vec<usize> {
        run.connections.iter().map(|trace| trace.text().matches("Cookie: sid=1\r\n").count()).collect()
    };
    let plan = plan(lines, 1);
    assert_eq!(cookies(&replayed(&plan, lines, Link::default(), peer())), [1, 0]);
    let mut without = plan;
    without.change_replay(|replay| {
        let connections = nonzero(1);
        replay.clients = Clients::Recorded { connections, cookies: false, idle: Duration::ZERO };
    });
    assert_eq!(cookies(&replayed(&without, lines, Link::default(), peer())), [0, 0]);
}

#[test]
fn idle_connections_are_closed_and_cookies_stay() {
    let lines = &[
        (0, 0, "/login"),
        (70_000, 1, "/x"),
        (80_000, 0, "/b"),
        (150_000, 2, "/y"),
        (9_000_000, 0, "/c"),
        (9_000_000, 3, "/z"),
    ];
    let peer = HttpPeer::new(|request: &RequestSeen| {
        let cookie = if request.uri() == "/login" { "Set-Cookie: sid=1\r\n" } else { "" };
        vec![Action::Send(NOW, reply(200, cookie, ""))]
    });
    let run = replayed(&plan(lines, 1), lines, Link::default(), peer);
    let closed: Vec<Option<u64>> =
        run.connections.iter().map(|trace| trace.closed.map(|at| at.as_secs())).collect();
    assert_eq!(closed[0], Some(70), "a minute without a request");
    let with_cookie = |uri: &str| {
        let sent = run.connections.iter().map(Trace::text).find(|text| text.contains(uri)).unwrap();
        sent.contains("Cookie: ")
    };
    assert!(with_cookie("GET /b "), "the cookie outlives its connection");
    assert!(!with_cookie("GET /c "), "after the pause that ends a session it is another");
}

#[test]
fn what_is_idempotent_is_made_again_when_a_kept_connection_closes() {
    let lines = &[(0, 0, "/a"), (10, 0, "/b"), (20, 0, "POST /c"), (30, 0, "/d")];
    // Connections answer their first request and close when the second comes.
    let peer = HttpPeer::new(|request: &RequestSeen| match request.index {
        0 => vec![Action::Send(NOW, reply(200, "", ""))],
        _ => vec![Action::Reset(NOW)],
    });
    let run = replayed(&plan(lines, 1), lines, Link::default(), peer);
    let uris: Vec<Vec<String>> = run.connections.iter().map(Trace::requests).collect();
    assert_eq!(uris, [&["GET /a", "GET /b"][..], &["GET /b", "POST /c"], &["GET /d"]]);
    assert_eq!(outcomes(&run), [3, 0, 1, 0], "the POST may have been processed");
    assert_eq!(run.summary.replay.as_ref().unwrap().by_count()[0].measured, None);
}

#[test]
fn requests_that_fail_do_not_hold_up_the_others() {
    struct Refusing;
    impl Peer for Refusing {
        fn accept(&mut self, _: usize, _: Duration) -> Reception {
            Reception::Refuse
        }
        fn receive(&mut self, _: usize, _: Duration, _: &[u8]) -> Vec<Action> {
            Vec::new()
        }
    }
    let lines: Vec<Line> = (0..300).map(|number| (number / 100, number % 3, "/")).collect();
    let link = Link { latency: ms(20), ..Link::default() };
    let run = replayed(&plan(&lines, 1), &lines, link, Refusing);
    assert_eq!(outcomes(&run), [0, 0, 300, 0]);
}

#[test]
fn a_recorded_error_is_expected_below_500() {
    for (recorded_status, status, expected) in
        [(404, 404, [1, 0, 0, 0]), (200, 404, [0, 1, 0, 0]), (503, 503, [0, 1, 0, 0])]
    {
        let plan = replay(1, 1, 1);
        let Workload::Replay(workload) = &plan.workload else { panic!("the plan has a replay") };
        let request = RecordedRequest { status: Some(recorded_status), ..recorded(&(0, 0, "/")) };
        let requests = Requests::new([request].into_iter(), workload, Client::default(), Shard::WHOLE);
        let peer = HttpPeer::new(move |_: &RequestSeen| vec![Action::Send(NOW, reply(status, "", ""))]);
        let run =
            run_replay(&plan, Shard::WHOLE, Some(Box::new(requests)), Link::default(), peer, &mut Silent);
        assert_eq!(outcomes(&run), expected, "{recorded_status} {status}");
    }
}

#[test]
fn recorded_fields_and_bodies_are_sent() {
    let plan = replay(1, 1, 1);
    let Workload::Replay(workload) = &plan.workload else { panic!("the plan has a replay") };
    let fields = ["User-Agent: Lynx {seq}", "Accept: */*"];
    let headers = fields.iter().map(|line| {
        let (name, value) = line.split_once(": ").unwrap();
        Header { name: name.into(), value: httperf_plan::Template::literal(value.as_bytes()) }
    });
    let body = Some(b"a=1"[..].into());
    let request = RecordedRequest { headers: headers.collect(), body, ..recorded(&(0, 0, "POST /form?x=1")) };
    let requests = Requests::new([request].into_iter(), workload, Client::default(), Shard::WHOLE);
    let link = Link::default();
    let run = run_replay(&plan, Shard::WHOLE, Some(Box::new(requests)), link, ok_after(NOW), &mut Silent);
    let text = run.connections[0].text();
    assert!(text.starts_with("POST /form?x=1 HTTP/1.1\r\n"), "{text}");
    assert!(text.contains("\r\nUser-Agent: Lynx {seq}\r\nAccept: */*\r\n"), "{text}");
    assert_eq!(text.matches("User-Agent").count(), 1);
    assert!(text.ends_with("\r\n\r\na=1"), "{text}");
}

#[test]
fn independent_requests_share_connections() {
    let lines: Vec<Line> = (0..100).map(|number| (number * 10, number, "/")).collect();
    let mut plan = plan(&lines, 1);
    plan.change_replay(|replay| replay.clients = Clients::Independent { connections: nonzero(3) });
    let run = replayed(&plan, &lines, Link::default(), ok_after(ms(25)));
    assert_eq!(run.connections.len(), 3, "25 ms each, one every 10 ms");
    assert_eq!(outcomes(&run), [100, 0, 0, 0]);
    assert!(run.connections.iter().all(|trace| trace.requests().len() >= 33));
}

#[test]
fn independent_requests_that_wait_for_a_stream_are_made_when_there_is_one() {
    let lines: Vec<Line> = (0..30).map(|number| (number, number, "/")).collect();
    for streams in [1, 2, 100] {
        let mut plan = over_http3(plan(&lines, 1));
        plan.change_replay(|replay| replay.clients = Clients::Independent { connections: nonzero(1) });
        let server = Config::new(&Options { streams, ..Options::new() });
        let peer = Http3Peer::with(&server, |_: &StreamSeen| vec![Http3Deed::Reply(ms(10), Reply::new(200))]);
        let run = replayed(&plan, &lines, Link::default(), peer);
        assert_eq!(outcomes(&run), [30, 0, 0, 0], "{streams} streams");
    }
}

#[test]
fn the_end_of_the_time_leaves_the_rest_unmade() {
    let lines: Vec<Line> = (0..100).map(|number| (number * 100, 0, "/")).collect();
    let plan = plan(&lines, 1).with(|plan| plan.runtime = Some(Duration::from_secs(5)));
    let run = replayed(&plan, &lines, Link::default(), ok_after(ms(10)));
    assert_eq!(outcomes(&run), [50, 0, 0, 0]);
    assert_eq!(run.summary.duration, Duration::from_secs(5));
}

#[test]
fn requests_that_wait_when_the_time_is_over_are_unfinished() {
    let lines: Vec<Line> = (0..10).map(|_| (0, 0, "/")).collect();
    let plan = plan(&lines, 1).with(|plan| plan.runtime = Some(Duration::from_millis(150)));
    let run = replayed(&plan, &lines, Link::default(), ok_after(ms(100)));
    assert_eq!(outcomes(&run)[0] + run.summary.unfinished.moments.count(), 10, "{:?}", outcomes(&run));
}

/// Requests of all shards with the times at which they came, in order.
fn of_shards(plan: &Plan, lines: &[Line], count: u32) -> Vec<(u128, String)> {
    let mut all = Vec::new();
    for index in 0..count {
        let shard = Shard { index, count };
        let requests = requests_of(plan, lines, shard);
        let run = run_replay(plan, shard, Some(requests), Link::default(), ok_after(ms(3)), &mut Silent);
        all.extend(seen(&run).into_iter().flatten());
    }
    all.sort_unstable();
    all
}

#[test]
fn any_number_of_threads_makes_the_same_requests_at_the_same_times() {
    const URIS: [&str; 5] = ["/0", "/1", "/2", "/3", "/4"];
    let lines: Vec<Line> =
        (0..200_u64).map(|number| (number * 7, number * number % 17, URIS[(number % 5) as usize])).collect();
    let mut plan = plan(&lines, 6);
    plan.change_replay(|replay| {
        (replay.copies, replay.spread, replay.speed) = (nonzero(2), ms(500), 2.0);
    });
    let whole = of_shards(&plan, &lines, 1);
    assert_eq!(whole.len(), 400);
    assert_eq!(of_shards(&plan, &lines, 2), whole);
    assert_eq!(of_shards(&plan, &lines, 7), whole);
}

#[test]
fn a_replay_over_http2_takes_one_connection_for_each_client() {
    use httperf_testkit::http2::Reply;
    use httperf_testkit::sim::{Deed, Http2Peer, StreamSeen};
    let lines: Vec<Line> = (0..40).map(|number| (number, number % 2, "/")).collect();
    let plan = plan(&lines, 1).with(|plan| plan.request.version = HttpVersion::Http2);
    let peer = Http2Peer::new(|_: &StreamSeen| vec![Deed::Reply(ms(50), Reply::new(200))]);
    let run = replayed(&plan, &lines, Link::default(), peer);
    assert_eq!((run.connections.len(), outcomes(&run)), (2, [40, 0, 0, 0]));
    let longest = run.summary.calls[CallOutcome::Success as usize].latency.moments.max();
    assert!(longest < 0.06, "{longest}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_request_ends_in_one_way_whatever_the_server_does(
        seed: u64,
        gaps in proptest::collection::vec((0u64..40, 0u64..4), 1..40),
        connections in 1u32..4,
        deeds in proptest::collection::vec(0u8..6, 1..20),
    ) {
        let mut at = 0;
        let lines: Vec<Line> = gaps.iter().map(|&(gap, client)| { at += gap; (at, client, "/") }).collect();
        let plan = plan(&lines, connections).with(|plan| {
            plan.timeouts = httperf_plan::Timeouts::from_seconds(0.2, 0.0, Duration::from_secs(1_000_000));
        });
        let mut turn = 0;
        let peer = HttpPeer::new(move |_: &RequestSeen| {
            turn += 1;
            match deeds[turn % deeds.len()] {
                0 => vec![Action::Reset(ms(3))],
                1 => vec![Action::Send(ms(2), reply(200, "Connection: close\r\n", "bye")), Action::Close(ms(2))],
                2 => Vec::new(),
                3 => vec![Action::Send(ms(1), b"HTTP/1.1 nonsense\r\n\r\n".to_vec())],
                4 => vec![Action::Close(NOW)],
                _ => vec![Action::Send(ms(5), reply(200, "", "hello"))],
            }
        });
        let link = Link { seed, hostile: true, latency: ms(1), ..Link::default() };
        let run = replayed(&plan, &lines, link, peer);
        prop_assert_eq!(outcomes(&run).iter().sum::<u64>(), lines.len() as u64, "{:?}", outcomes(&run));
    }
}
