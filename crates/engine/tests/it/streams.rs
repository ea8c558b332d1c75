//! Replies that stream in: event times, streams that are cut, and a server that stands still, on the virtual clock.

use std::num::NonZeroU32;
use std::time::Duration;

use httperf_plan::{Goodput, ModelApi, StreamedReplies, Streams, Timeouts};
use httperf_stats::{CallOutcome, StreamSummary, Summary};
use httperf_testkit::http2;
use httperf_testkit::sim::{
    Action, Edit, Http3Deed, Http3Peer, HttpPeer, Link, Peer, Stops, StreamSeen, calls, connections, reply,
    run,
};

const NOW: Duration = Duration::ZERO;

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

/// A chunk that comes so late.
fn chunk(at: Duration, data: &str) -> Action {
    Action::Send(at, format!("{:x}\r\n{data}\r\n", data.len()).into_bytes())
}

fn head(at: Duration) -> Action {
    Action::Send(at, HEAD.as_bytes().to_vec())
}

fn end(at: Duration) -> Action {
    Action::Send(at, b"0\r\n\r\n".to_vec())
}

/// Sends a stream's header after 20 ms, an event after 100 ms and then every 10 ms, `together` of them at a time.
fn streaming(events: u64, together: usize) -> impl Peer {
    HttpPeer::new(move |_| {
        let mut actions = vec![head(ms(20))];
        let event = "data: x\n\n".repeat(together);
        actions.extend((0..events).map(|number| chunk(ms(100 + 10 * number), &event)));
        actions.push(end(ms(100 + 10 * events)));
        actions
    })
}

fn streams(summary: &Summary) -> &StreamSummary {
    summary.streams.as_ref().expect("there were streams")
}

#[test]
fn events_are_timed_from_the_schedule_and_from_sending() {
    let summary = run(&connections(3, 1, 1), Link::default(), streaming(5, 1)).summary;
    let streams = streams(&summary);
    assert_eq!((streams.started, streams.completed, streams.events, streams.coalesced), (3, 3, 15, 0));
    assert_eq!(
        (streams.first_byte.latency.moments.min(), streams.first_byte.latency.moments.max()),
        (0.02, 0.02)
    );
    assert_eq!(streams.first_event.latency.moments.max(), 0.1);
    assert_eq!(streams.first_event.service.moments.max(), 0.1);
    assert_eq!(
        (streams.gap.moments.count(), streams.gap.moments.min(), streams.gap.moments.max()),
        (12, 0.01, 0.01)
    );
    assert_eq!((streams.duration.moments.max(), streams.longest_gap.moments.max()), (0.04, 0.01));
    assert_eq!(streams.events_per_stream.median(), Some(5));
    assert!(streams.model.is_none());
}

#[test]
fn a_worker_that_stops_makes_no_gaps_of_its_own_where_the_kernel_stamps_what_comes() {
    let stops = Some(Stops { every: ms(25), length: ms(4) });
    let link = |stamps| Link { latency: ms(1), stops, stamps, ..Link::default() };
    let over_http3 = || {
        let body = "data: x\n\n".repeat(8);
        let reply = http2::Reply::new(200).field("content-type", "text/event-stream").body(body);
        Http3Peer::new(move |_: &StreamSeen| vec![Http3Deed::Slowly(ms(20), reply.clone(), 9, ms(10))])
    };
    let http1 = |stamps| run(&connections(3, 1, 1), link(stamps), streaming(8, 1)).summary;
    let http3 = |stamps| {
        let plan = crate::http3::over_http3(connections(3, 1, 1));
        run(&plan, link(stamps), over_http3()).summary
    };
    for (summary, unstamped) in [(http1(true), http1(false)), (http3(true), http3(false))] {
        let gaps = |summary: &Summary| {
            let streams = streams(summary);
            assert_eq!((streams.completed, streams.events, streams.gap.moments.count()), (3, 24, 21));
            (streams.gap.moments.min(), streams.gap.moments.max())
        };
        let ((shortest, longest), (_, read)) = (gaps(&summary), gaps(&unstamped));
        assert!((shortest - 0.01).abs() < 1e-9 && (longest - 0.01).abs() < 1e-9, "{shortest} to {longest}");
        assert!(read > 0.0101, "{read}");
    }
}

#[test]
fn events_that_come_together_have_no_gap() {
    let summary = run(&connections(2, 1, 1), Link::default(), streaming(4, 3)).summary;
    let streams = streams(&summary);
    assert_eq!((streams.events, streams.coalesced, streams.gap.moments.count()), (24, 16, 6));
    assert_eq!(streams.gap.moments.min(), 0.01);
}

#[test]
fn a_hostile_link_changes_no_count() {
    for seed in 0..30 {
        let link = Link { seed, hostile: true, latency: ms(3), jitter: ms(2), ..Link::default() };
        let summary = run(&connections(4, 3, 1), link, streaming(7, 2)).summary;
        let streams = streams(&summary);
        let counts = (streams.completed, streams.cut, streams.events, streams.without_event);
        assert_eq!(counts, (12, 0, 168, 0), "seed {seed}");
        let timed = streams.first_event.latency.moments.count() + streams.gap.moments.count();
        assert_eq!(timed + streams.coalesced, streams.events, "seed {seed}");
    }
}

/// A server that stands still from 4 s to 5 s: what would be sent meanwhile is sent at 5 s.
fn standing_still() -> impl Peer {
    HttpPeer::new(|request| {
        let (from, to) = (ms(4000), ms(5000));
        let delay = |after: Duration| {
            let at = request.at + after;
            if (from..to).contains(&at) { to - request.at } else { after }
        };
        vec![head(delay(ms(1))), chunk(delay(ms(10)), "data: x\n\n"), end(delay(ms(10)))]
    })
}

#[test]
fn a_server_that_stands_still_shows_in_the_first_events() {
    // 100 calls a second for 10 s, each answered after 10 ms, but for those whose event would come from 4 s to 5 s: it comes
    // at 5 s, 1010 ms after the first of them was due and 20 ms after the last.
    let summary = run(&calls(1000, 100.0, 200), Link::default(), standing_still()).summary;
    let first = &streams(&summary).first_event.latency;
    assert_eq!(first.moments.count(), 1000);
    assert_eq!(first.moments.max(), 1.01);
    let waits = (2..=101).map(|call| f64::from(call) * 0.01).sum::<f64>();
    let expected = (waits + 900.0 * 0.01) / 1000.0;
    assert!(
        (first.moments.mean() - expected).abs() < 2e-4,
        "{} rather than {expected}",
        first.moments.mean()
    );
    let near = |share: f64, expected: f64| {
        let found = first.quantile(share).unwrap().as_secs_f64();
        assert!((found - expected).abs() <= 1e-3, "{share}: {found} rather than {expected}");
    };
    // The 50th and the 90th of the hundred that waited.
    near(0.95, 0.51);
    near(0.99, 0.91);
}

#[test]
fn a_stream_whose_connection_ends_is_cut_and_its_call_fails() {
    let peer = || {
        HttpPeer::new(|request| {
            let mut actions = vec![head(NOW), chunk(ms(10), "data: a\n\ndata: b\n\n")];
            match request.connection % 2 {
                0 => actions.push(Action::Close(ms(20))),
                _ => actions.push(end(ms(20))),
            }
            actions
        })
    };
    let summary = run(&connections(6, 1, 1), Link::default(), peer()).summary;
    let streams = streams(&summary);
    assert_eq!((streams.started, streams.completed, streams.cut, streams.events), (6, 3, 3, 12));
    assert_eq!(summary.calls_with(CallOutcome::Failure).latency.moments.count(), 3);
}

#[test]
fn streams_that_are_open_at_the_end_are_neither_complete_nor_cut() {
    let mut plan = connections(2, 1, 1);
    plan.change(|plan| plan.runtime = Some(ms(500)));
    let endless = HttpPeer::new(|request| match request.connection {
        0 => [vec![head(NOW)], (0..1000).map(|number| chunk(ms(10 * number), "data: x\n\n")).collect()]
            .concat(),
        _ => vec![head(NOW)],
    });
    let mut plan = plan.with(|plan| plan.arrivals = httperf_testkit::sim::at_once(2));
    plan.change_connections(|connections| connections.count = 2);
    let summary = run(&plan, Link::default(), endless).summary;
    let streams = streams(&summary);
    assert_eq!(
        (streams.completed, streams.cut, streams.unfinished, streams.unfinished_with_event),
        (0, 0, 2, 1)
    );
    assert!((45..=51).contains(&streams.events), "{} events", streams.events);
}

#[test]
fn a_stream_times_out_when_nothing_comes_and_not_before() {
    let plan = |limit| {
        connections(1, 1, 1).with(|plan| {
            plan.timeouts = Timeouts { timeout: Some(limit), ..Timeouts::default() };
        })
    };
    // 100 ms to the first event and 10 ms between 50 others: the stream as a whole takes 600 ms.
    let lasting = run(&plan(ms(150)), Link::default(), streaming(50, 1)).summary;
    assert_eq!((streams(&lasting).completed, lasting.errors.total()), (1, 0));
    let impatient = run(&plan(ms(60)), Link::default(), streaming(50, 1)).summary;
    let figures = streams(&impatient);
    assert_eq!((figures.completed, figures.cut, figures.events), (0, 1, 0));
    assert_eq!(impatient.errors.count(httperf_stats::Failure::ClientTimeout), 1);
}

#[test]
fn other_replies_are_no_streams_unless_all_are() {
    let plain = || HttpPeer::new(|_| vec![Action::Send(ms(5), reply(200, "", "data: x\n\ndata: y\n\n"))]);
    let read = |read| {
        let plan =
            connections(2, 1, 1).with(|plan| plan.replies.streams = Streams { read, ..Streams::default() });
        run(&plan, Link::default(), plain())
            .summary
            .streams
            .map(|streams| (streams.completed, streams.events))
    };
    assert_eq!(read(StreamedReplies::EventStreams), None);
    assert_eq!(read(StreamedReplies::None), None);
    assert_eq!(read(StreamedReplies::All), Some((2, 4)));
    let off = connections(1, 1, 1)
        .with(|plan| plan.replies.streams = Streams { read: StreamedReplies::None, ..Streams::default() });
    assert_eq!(run(&off, Link::default(), streaming(3, 1)).summary.streams, None);
}

fn of_a_model(goodput: Goodput) -> httperf_plan::Plan {
    let streams = Streams { model: Some(ModelApi::OpenAi), goodput, ..Streams::default() };
    let mut plan = calls(4, 100.0, 4).with(|plan| plan.replies.streams = streams);
    plan.change_calls(|calls| calls.pipeline = Some(NonZeroU32::MIN));
    plan
}

/// Answers by the number of the connection: an answer of four tokens, one without an end, an error in its stream, and an
/// error of HTTP.
fn model() -> impl Peer {
    let delta = |text: &str| format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
    HttpPeer::new(move |request| {
        let role = chunk(ms(5), "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n");
        match request.connection {
            0 => {
                let mut actions = vec![head(NOW), role];
                actions.extend((0..4).map(|token| chunk(ms(50 + 10 * token), &delta("x"))));
                actions.push(chunk(
                    ms(85),
                    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
                ));
                actions.push(chunk(
                    ms(85),
                    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4}}\n\ndata: [DONE]\n\n",
                ));
                actions.push(end(ms(85)));
                actions
            }
            1 => vec![head(NOW), role, chunk(ms(50), &delta("x")), end(ms(60))],
            2 => {
                let error = "data: {\"error\":{\"message\":\"the engine died\"}}\n\ndata: [DONE]\n\n";
                vec![head(NOW), chunk(ms(10), error), end(ms(10))]
            }
            _ => vec![Action::Send(ms(1), reply(503, "", "{\"error\":{\"message\":\"busy\"}}"))],
        }
    })
}

#[test]
fn answers_of_a_model_are_told_from_those_that_are_none() {
    let goodput: Goodput = "ttft<60ms,tpot<11ms".parse().expect("it is one");
    let summary = run(&of_a_model(goodput), Link::default(), model()).summary;
    let streams = streams(&summary);
    let model = streams.model.as_ref().expect("a model was asked");
    assert_eq!((streams.started, streams.completed), (3, 3));
    assert_eq!(
        (model.answers, model.good, model.undone, model.output_tokens, model.prompt_tokens),
        (1, 1, 1, 4, 9)
    );
    assert_eq!(
        (model.first_token.latency.moments.count(), model.first_token.latency.moments.max()),
        (2, 0.05)
    );
    assert_eq!((model.token_gap.moments.count(), model.per_token.moments.max()), (3, 0.01));
    assert_eq!(
        (model.errors.count("the engine died"), model.errors.count("busy"), model.errors.total()),
        (1, 1, 2)
    );
    assert_eq!(summary.mismatches.answer, 2);
    assert_eq!(summary.calls_with(CallOutcome::Success).latency.moments.count(), 1);
    assert_eq!(summary.calls_with(CallOutcome::HttpError).latency.moments.count(), 1);
    let missed: Goodput = "ttft<60ms,tpot<10ms".parse().expect("it is one");
    let summary = run(&of_a_model(missed), Link::default(), self::model()).summary;
    assert_eq!(summary.streams.and_then(|streams| streams.model).map(|model| model.good), Some(0));
}

/// Sends a stream's header after 20 ms and an event every 500 ms; it does not end.
fn ticking(event: &'static str) -> impl Peer {
    HttpPeer::new(move |_| {
        let mut actions = vec![head(ms(20))];
        actions.extend((1..20).map(|number| chunk(ms(500 * number), event)));
        actions
    })
}

#[test]
fn a_stream_awaits_its_beginning_and_the_answer_of_a_model_its_end() {
    let stall = |model, event| {
        let mut plan = connections(1, 1, 1);
        plan.change(|plan| {
            plan.runtime = Some(ms(4100));
            plan.replies.streams.model = model;
        });
        run(&plan, Link::default(), ticking(event)).summary.stall.map(|stall| stall.length)
    };
    assert_eq!(stall(None, "data: x\n\n"), Some(ms(20)));
    let token = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n";
    assert_eq!(stall(Some(ModelApi::OpenAi), token), Some(ms(500)));
}

#[test]
fn an_answer_is_complete_when_the_server_says_so_though_its_reply_goes_on() {
    let token = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n";
    let done = "data: [DONE]\n\n";
    let begun = move || vec![head(ms(20)), chunk(ms(100), token), chunk(ms(110), done)];
    let comments = move || (2..100).map(|number| chunk(ms(100 * number), ": still here\n\n"));
    type Peer = fn(Vec<Action>, Vec<Action>) -> Vec<Action>;
    let peers: [Peer; 3] = [
        // It says nothing more, it goes on for a while, or it closes the connection.
        |begun, _| begun,
        |begun, comments| begun.into_iter().chain(comments).collect(),
        |begun, _| begun.into_iter().chain([Action::Close(ms(150))]).collect(),
    ];
    for timeout in [None, Some(ms(300)), Some(ms(5000))] {
        for (number, peer) in peers.into_iter().enumerate() {
            let mut plan = calls(3, 10.0, 3);
            plan.change(|plan| {
                plan.replies.streams.model = Some(ModelApi::OpenAi);
                plan.timeouts = Timeouts { timeout, think_timeout: None };
            });
            let answering = HttpPeer::new(move |_| peer(begun(), comments().collect()));
            let summary = run(&plan, Link::default(), answering).summary;
            let of = streams(&summary);
            let model = of.model.as_ref().expect("replies are those of a model");
            assert_eq!((model.answers, of.completed, of.cut), (3, 3, 0), "{timeout:?} {number}");
            assert_eq!((summary.replies, summary.errors.total()), (3, 0), "{timeout:?} {number}");
            let latency = &summary.calls_with(CallOutcome::Success).latency;
            assert_eq!(latency.moments.max(), 0.11, "{timeout:?} {number}");
            assert!(summary.stall.is_none_or(|stall| stall.length <= ms(80)), "{:?}", summary.stall);
        }
    }
}
