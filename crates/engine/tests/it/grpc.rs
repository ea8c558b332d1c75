//! Calls of gRPC on the virtual clock: statuses in trailers and without, messages and their times, and a server that
//! stands still.

use std::time::Duration;

use httperf_plan::{Body, Grpc, Header, HttpVersion, Plan, Template, Timeouts};
use httperf_proto::grpc::frame;
use httperf_stats::{CallOutcome, GrpcSummary, Summary};
use httperf_testkit::http2::{Reply, code, frames};
use httperf_testkit::sim::{Deed, Edit, Http2Peer, Link, Peer, StreamSeen, calls, connections, nonzero, run};

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// The plan with requests of gRPC.
fn over_grpc(mut plan: Plan, server_streams: bool) -> Plan {
    let mut body = Vec::new();
    frame(b"hello", &mut body);
    let field = |name: &str, value: &[u8]| Header { name: name.to_owned(), value: Template::literal(value) };
    plan.change(|plan| {
        plan.request.version = HttpVersion::Http2;
        plan.request.method = b"POST".to_vec();
        plan.request.headers = vec![field("Content-Type", b"application/grpc"), field("TE", b"trailers")];
        plan.request.body = Some(Body::text(Template::literal(&body)));
        plan.replies.streams.grpc = Some(Grpc { server_streams });
    });
    plan
}

fn message(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame(text.as_bytes(), &mut bytes);
    bytes
}

fn ok() -> Reply {
    Reply::new(200)
        .field("content-type", "application/grpc")
        .body(message("hi there"))
        .trailer("grpc-status", "0")
}

fn answering(answer: impl Fn(&StreamSeen) -> Reply) -> impl Peer {
    Http2Peer::new(move |request: &StreamSeen| vec![Deed::Reply(ms(5), answer(request))])
}

fn grpc(summary: &Summary) -> &GrpcSummary {
    summary.grpc.as_deref().expect("calls are those of gRPC")
}

#[test]
fn a_call_sends_a_message_and_ends_with_a_status() {
    let plan = over_grpc(connections(2, 3, 1), false);
    let summary = run(
        &plan,
        Link::default(),
        answering(|request| {
            assert_eq!((request.method(), request.field("te")), ("POST", "trailers"));
            assert_eq!(request.field("content-type"), "application/grpc");
            assert_eq!(request.body, b"\0\0\0\0\x05hello");
            ok()
        }),
    )
    .summary;
    let grpc = grpc(&summary);
    assert_eq!(grpc.statuses.by_frequency(), [("OK", 6)]);
    assert_eq!((grpc.received, grpc.received_bytes), (6, 48));
    assert_eq!((grpc.unanswered, grpc.untold, grpc.malformed), (0, 0, 0));
    assert_eq!(summary.calls_with(CallOutcome::Success).latency.moments.count(), 6);
    // The messages of a unary call have no times of their own.
    assert!(summary.streams.is_none());
}

#[test]
fn statuses_come_in_trailers_without_a_message_or_follow_from_http() {
    let plan = over_grpc(connections(1, 6, 1), false);
    let summary = run(
        &plan,
        Link::default(),
        answering(|request| {
            let head = |status| Reply::new(status).field("content-type", "application/grpc");
            match request.index {
                0 => ok(),
                1 => head(200).field("grpc-status", "5").field("grpc-message", "no%20such%0Athing"),
                2 => head(200).body(message("a")).trailer("grpc-status", "8").trailer("grpc-message", "full"),
                // Nothing in the trailers says how it ended.
                3 => head(200).body(message("a")).trailer("other", "0"),
                4 => Reply::new(503).field("content-type", "text/html").body("<html>"),
                _ => Reply::new(200).field("content-type", "text/html").body("<html>"),
            }
        }),
    )
    .summary;
    let grpc = grpc(&summary);
    let mut statuses = grpc.statuses.by_frequency();
    statuses.sort_unstable();
    let expected =
        [("NOT_FOUND", 1), ("OK", 1), ("RESOURCE_EXHAUSTED", 1), ("UNAVAILABLE", 1), ("UNKNOWN", 2)];
    assert_eq!(statuses, expected);
    assert_eq!((grpc.untold, grpc.malformed, grpc.received), (3, 0, 3));
    let said = grpc.messages.by_frequency();
    assert!(said.contains(&("NOT_FOUND: no such\\nthing", 1)), "{said:?}");
    assert!(said.contains(&("RESOURCE_EXHAUSTED: full", 1)), "{said:?}");
    let count = |outcome| summary.calls_with(outcome).latency.moments.count();
    // The status of HTTP says already what is wrong with the reply of status 503.
    assert_eq!((count(CallOutcome::Success), count(CallOutcome::HttpError)), (1, 1));
    assert_eq!((count(CallOutcome::Unexpected), summary.mismatches.grpc), (4, 4));
}

#[test]
fn what_is_no_message_fails_a_call_of_status_ok() {
    let plan = over_grpc(connections(1, 4, 1), false);
    let summary = run(
        &plan,
        Link::default(),
        answering(|request| {
            let bodies = [&b"\0\0\0\0\x09hi"[..], b"\x01\0\0\0\x02hi", b"\0\0\0", b"\0\0\0\0\0"];
            ok().body(bodies[request.index])
        }),
    )
    .summary;
    let grpc = grpc(&summary);
    assert_eq!((grpc.ok(), grpc.malformed, grpc.received), (4, 3, 1));
    assert_eq!(summary.mismatches.grpc, 3);
}

#[test]
fn a_unary_call_of_status_ok_has_one_message() {
    let bodies = [Vec::new(), message("a"), [message("a"), message("b")].concat()];
    let answer = move |request: &StreamSeen| ok().body(bodies[request.index].clone());
    let summary = run(&over_grpc(connections(1, 3, 1), false), Link::default(), answering(answer)).summary;
    let unary = grpc(&summary);
    assert_eq!(unary.statuses.by_frequency(), [("INTERNAL", 2), ("OK", 1)]);
    assert_eq!(summary.mismatches.grpc, 2);
    let mut said = unary.messages.by_frequency();
    said.sort_unstable();
    assert_eq!(
        said,
        [
            ("INTERNAL: status OK with several messages, where one is expected", 1),
            ("INTERNAL: status OK without a message", 1),
        ]
    );
    // A reply that has a header block alone.
    let alone =
        |_: &StreamSeen| Reply::new(200).field("content-type", "application/grpc").field("grpc-status", "0");
    let summary = run(&over_grpc(connections(1, 1, 1), false), Link::default(), answering(alone)).summary;
    assert_eq!(grpc(&summary).statuses.by_frequency(), [("INTERNAL", 1)]);
    // A stream may have any number.
    let bodies = [Vec::new(), message("a"), [message("a"), message("b")].concat()];
    let answer = move |request: &StreamSeen| ok().body(bodies[request.index].clone());
    let summary = run(&over_grpc(connections(1, 3, 1), true), Link::default(), answering(answer)).summary;
    assert_eq!((grpc(&summary).ok(), grpc(&summary).received, summary.mismatches.grpc), (3, 3, 0));
}

#[test]
fn messages_may_be_compressed_as_was_accepted() {
    for (encoding, flag, malformed) in
        [("gzip", 0, 0), ("gzip", 1, 0), ("gzip", 2, 1), ("identity", 1, 1), ("deflate", 1, 1)]
    {
        let answer = move |_: &StreamSeen| {
            let mut body = message("hi");
            body[0] = flag;
            ok().field("grpc-encoding", encoding).body(body)
        };
        let summary =
            run(&over_grpc(connections(1, 1, 1), false), Link::default(), answering(answer)).summary;
        assert_eq!(
            (grpc(&summary).malformed, summary.mismatches.grpc),
            (malformed, malformed),
            "{encoding} {flag}"
        );
    }
}

#[test]
fn calls_that_get_no_whole_reply_have_no_status() {
    let mut plan = over_grpc(connections(4, 1, 1), false);
    plan.change(|plan| plan.timeouts = Timeouts { timeout: Some(ms(300)), think_timeout: None });
    let mut number = 0;
    let peer = Http2Peer::new(move |_: &StreamSeen| {
        number += 1;
        match number {
            1 => vec![Deed::Reply(ms(5), ok())],
            2 => vec![Deed::Reset(ms(5), code::CANCEL)],
            3 => Vec::new(),
            _ => vec![Deed::Abort(ms(5))],
        }
    });
    let summary = run(&plan, Link::default(), peer).summary;
    let grpc = grpc(&summary);
    assert_eq!((grpc.statuses.by_frequency(), grpc.unanswered), (vec![("OK", 1)], 3));
    assert_eq!(summary.errors.total(), 3);
}

/// A header block without compression.
fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            block.push(u8::try_from(text.len()).expect("it is short"));
            block.extend_from_slice(text.as_bytes());
        }
    }
    block
}

/// Sends the header at once, a message after 100 ms and then every 10 ms, `together` of them at a time, and the trailers
/// with the last.
fn streaming(messages: u64, together: usize) -> impl Peer {
    Http2Peer::new(move |request: &StreamSeen| {
        let head = block(&[(":status", "200"), ("content-type", "application/grpc")]);
        let mut deeds = vec![Deed::Bytes(ms(0), frames::headers(request.stream, &head, false))];
        let data = message("tick").repeat(together);
        deeds
            .extend((0..messages).map(|number| {
                Deed::Bytes(ms(100 + 10 * number), frames::data(request.stream, &data, false))
            }));
        let end = frames::headers(request.stream, &block(&[("grpc-status", "0")]), true);
        deeds.push(Deed::Bytes(ms(100 + 10 * (messages - 1)), end));
        deeds
    })
}

#[test]
fn messages_of_a_stream_have_times_of_their_own() {
    let plan = over_grpc(connections(3, 1, 1), true);
    let summary = run(&plan, Link::default(), streaming(5, 1)).summary;
    let streams = summary.streams.as_ref().expect("the server streams");
    assert_eq!((streams.started, streams.completed, streams.events, streams.coalesced), (3, 3, 15, 0));
    assert_eq!(streams.first_event.latency.moments.max(), 0.1);
    assert_eq!(
        (streams.gap.moments.count(), streams.gap.moments.min(), streams.gap.moments.max()),
        (12, 0.01, 0.01)
    );
    assert_eq!(streams.duration.moments.max(), 0.04);
    let grpc = grpc(&summary);
    assert_eq!((grpc.ok(), grpc.received, grpc.received_bytes), (3, 15, 60));
}

#[test]
fn a_hostile_link_changes_no_count() {
    for seed in 0..30 {
        let link = Link { seed, hostile: true, latency: ms(3), jitter: ms(2), ..Link::default() };
        let plan = over_grpc(connections(4, 3, 3), true);
        let summary = run(&plan, link, streaming(7, 2)).summary;
        let (grpc, streams) = (grpc(&summary), summary.streams.as_ref().expect("the server streams"));
        assert_eq!((grpc.ok(), grpc.received, grpc.malformed), (12, 168, 0), "seed {seed}");
        assert_eq!((streams.completed, streams.events), (12, 168), "seed {seed}");
        let timed = streams.first_event.latency.moments.count() + streams.gap.moments.count();
        assert_eq!(timed + streams.coalesced, streams.events, "seed {seed}");
    }
}

#[test]
fn a_server_that_stands_still_shows_in_the_latency() {
    // 100 calls a second for 10 s over 4 connections of 100 streams each, answered after 10 ms, but for those whose reply
    // would come from 4 s to 5 s: it comes at 5 s.
    let mut plan = over_grpc(calls(1000, 100.0, 4), false);
    plan.change_calls(|workload| workload.pipeline = Some(nonzero(100)));
    let (from, to) = (ms(4000), ms(5000));
    let peer = Http2Peer::new(move |request: &StreamSeen| {
        let at = request.at + ms(10);
        let at = if (from..to).contains(&at) { to } else { at };
        vec![Deed::Reply(at - request.at, ok())]
    });
    let summary = run(&plan, Link::default(), peer).summary;
    let latency = &summary.calls_with(CallOutcome::Success).latency;
    assert_eq!((latency.moments.count(), grpc(&summary).ok()), (1000, 1000));
    assert!((latency.moments.max() - 1.01).abs() < 1e-3, "{}", latency.moments.max());
    let waits = (2..=101).map(|call| f64::from(call) * 0.01).sum::<f64>();
    let expected = (waits + 900.0 * 0.01) / 1000.0;
    let mean = latency.moments.mean();
    assert!((mean - expected).abs() < 2e-3, "{mean} rather than {expected}");
}
