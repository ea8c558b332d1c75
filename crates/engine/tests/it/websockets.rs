//! WebSockets: opening, round trips, what is pushed, and how they end, on the virtual clock.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use httperf_plan::{
    Answer, Every, Payload, Phases, Plan, Process, Template, Timeouts, WebSocket, WebSocketMessage,
};
use httperf_stats::{CallOutcome, Failure, Summary, WebSocketSummary};
use httperf_testkit::sim::{
    Action, Edit, HttpPeer, Link, Peer, Say, WebSocketPeer, WsHeard, at_once, calls, connections, reply, run,
};

const NOW: Duration = Duration::ZERO;

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn every(period: Duration) -> Option<Every> {
    Some(Every { period, process: Process::Even })
}

/// Connections at once, each a WebSocket.
fn plan(count: u32, websocket: WebSocket) -> Plan {
    let mut plan = connections(1, 1, 1).with(|plan| {
        plan.arrivals = at_once(count);
        plan.request.websocket = Some(websocket);
    });
    plan.change_connections(|connections| connections.count = count.into());
    plan
}

/// Opens after 20 ms, and echoes each message after 30 ms.
fn echoing() -> impl Peer {
    WebSocketPeer::new(ms(20), |_, heard| match heard {
        WsHeard::Opening => Vec::new(),
        WsHeard::Message(text) => vec![Say::Text(ms(30), text.to_owned())],
    })
}

fn websockets(summary: &Summary) -> &WebSocketSummary {
    summary.websockets.as_ref().expect("there were WebSockets")
}

fn fates(summary: &Summary) -> (u64, u64, u64, u64, u64) {
    let all = websockets(summary);
    (all.opened, all.refused, all.closed, all.cut, all.unfinished)
}

#[test]
fn a_message_is_answered_and_the_websocket_closed() {
    let summary = run(&plan(3, WebSocket::default()), Link::default(), echoing()).summary;
    let all = websockets(&summary);
    assert_eq!(fates(&summary), (3, 0, 3, 0, 0));
    assert_eq!((all.sent, all.expected, all.answered, all.received, all.pushed), (3, 3, 3, 3, 0));
    assert_eq!((all.opening.latency.moments.min(), all.opening.service.moments.max()), (0.02, 0.02));
    assert_eq!((all.round_trip.latency.moments.min(), all.round_trip.service.moments.max()), (0.03, 0.03));
    assert_eq!((all.sent_bytes, all.received_bytes), (96, 96));
    // A frame of a client has 6 bytes more than its payload, one of a server 2; then each closes with a code.
    assert_eq!((all.wire_sent_bytes, all.wire_received_bytes), (3 * (38 + 8), 3 * (34 + 4)));
    assert_eq!(all.closes.by_frequency(), [("client 1000 (normal closure)", 3)]);
    // The latency of a call is that of the opening.
    assert_eq!((summary.replies, summary.completed().latency.moments.max()), (3, 0.02));
    assert_eq!(
        (summary.calls_with(CallOutcome::Success).latency.moments.count(), summary.errors.total()),
        (3, 0)
    );
}

#[test]
fn messages_leave_on_their_schedule_whatever_the_server_does() {
    // From the fifth message on, the server stands still for 300 ms: what came meanwhile is answered then.
    let standing_still = WebSocketPeer::new(ms(20), |_, heard| match heard {
        WsHeard::Opening => Vec::new(),
        WsHeard::Message(text) => {
            let number: u64 = text.split(' ').next().unwrap().parse().unwrap();
            let wait = if (5..35).contains(&number) { 10 * (35 - number) } else { 1 };
            vec![Say::Text(ms(wait), text.to_owned())]
        }
    });
    let websocket =
        WebSocket { every: every(ms(10)), messages: NonZeroU64::new(100), ..WebSocket::default() };
    let summary = run(&plan(2, websocket), Link::default(), standing_still).summary;
    let all = websockets(&summary);
    assert_eq!((all.sent, all.answered, all.unanswered), (200, 200, 0));
    let latency = &all.round_trip.latency;
    assert_eq!((latency.moments.min(), latency.moments.max()), (0.001, 0.3));
    let expected = (70.0 * 0.001 + (1..=30).map(|waits| f64::from(waits) * 0.01).sum::<f64>()) / 100.0;
    assert!((latency.moments.mean() - expected).abs() < 1e-9, "{} {expected}", latency.moments.mean());
    assert_eq!(summary.lag.moments.max(), 0.0);
}

#[test]
fn a_websocket_lasts_as_long_as_it_is_to() {
    let websocket =
        WebSocket { every: every(ms(30)), messages: None, lasts: Some(ms(300)), ..WebSocket::default() };
    let summary = run(&plan(2, websocket), Link::default(), echoing()).summary;
    let all = websockets(&summary);
    // Messages at 0, 30, …, 270 ms; the last is answered when it is closed.
    assert_eq!((all.sent, all.answered, all.closed), (20, 20, 2));
    assert_eq!((all.duration.moments.min(), all.duration.moments.max()), (0.3, 0.3));
    let silent = WebSocket { message: None, messages: None, lasts: Some(ms(500)), ..WebSocket::default() };
    let summary = run(&plan(50, silent), Link::default(), echoing()).summary;
    assert_eq!((fates(&summary), websockets(&summary).sent), ((50, 0, 50, 0, 0), 0));
    assert_eq!(websockets(&summary).duration.moments.max(), 0.5);
}

#[test]
fn what_the_server_pushes_has_gaps() {
    let pushing = || {
        WebSocketPeer::new(ms(20), |_, heard| match heard {
            WsHeard::Opening => (0..5)
                .flat_map(|number| [ms(100 + 10 * number); 2].map(|at| Say::Text(at, "news".into())))
                .chain([Say::Close(ms(150), 1001)])
                .collect(),
            WsHeard::Message(_) => Vec::new(),
        })
    };
    let listening = WebSocket { message: None, messages: None, ..WebSocket::default() };
    let summary = run(&plan(2, listening), Link::default(), pushing()).summary;
    let all = websockets(&summary);
    assert_eq!((all.received, all.pushed, all.coalesced, all.gap.moments.count()), (20, 20, 10, 8));
    assert_eq!((all.gap.moments.min(), all.gap.moments.max()), (0.01, 0.01));
    assert_eq!((all.first_push.moments.min(), all.duration.moments.max()), (0.1, 0.15));
    assert_eq!(all.closes.by_frequency(), [("server 1001 (going away)", 2)]);
    assert_eq!((summary.mismatches.total(), summary.errors.total()), (0, 0));
}

#[test]
fn echoes_are_told_from_news_and_from_each_other() {
    // Each message is echoed behind the one after it, with news in between.
    let swapping = || {
        let mut kept: Option<String> = None;
        WebSocketPeer::new(NOW, move |_, heard| match heard {
            WsHeard::Opening => Vec::new(),
            WsHeard::Message(text) => match kept.take() {
                None => {
                    kept = Some(text.to_owned());
                    vec![Say::Text(ms(1), "news".into())]
                }
                Some(before) => [text.to_owned(), before].map(|text| Say::Text(ms(5), text)).to_vec(),
            },
        })
    };
    let websocket = |expect| WebSocket {
        every: every(ms(10)),
        messages: NonZeroU64::new(6),
        expect,
        ..WebSocket::default()
    };
    let echo = run(&plan(1, websocket(Answer::Echo)), Link::default(), swapping()).summary;
    let all = websockets(&echo);
    assert_eq!((all.answered, all.pushed, all.received), (6, 3, 9));
    // Half of them after 5 ms, half after 15.
    assert_eq!((all.round_trip.service.moments.min(), all.round_trip.service.moments.max()), (0.005, 0.015));
    let any = run(&plan(1, websocket(Answer::Any)), Link::default(), swapping()).summary;
    assert_eq!((websockets(&any).answered, websockets(&any).pushed), (6, 3));
    let none = run(&plan(1, websocket(Answer::Nothing)), Link::default(), swapping()).summary;
    assert_eq!((websockets(&none).expected, websockets(&none).answered), (0, 0));
}

#[test]
fn pings_are_timed() {
    let websocket = WebSocket {
        ping_every: Some(ms(100)),
        message: None,
        messages: None,
        lasts: Some(ms(450)),
        ..WebSocket::default()
    };
    let link = Link { latency: ms(4), ..Link::default() };
    let summary = run(&plan(2, websocket), link, echoing()).summary;
    let all = websockets(&summary);
    assert_eq!((all.pings, all.ping.moments.count()), (8, 8));
    assert_eq!((all.ping.moments.min(), all.ping.moments.max()), (0.008, 0.008));
}

#[test]
fn a_hostile_link_changes_no_count() {
    for seed in 0..30 {
        let link = Link { seed, hostile: true, latency: ms(3), jitter: ms(2), ..Link::default() };
        let message =
            WebSocketMessage { binary: false, payload: Payload::Numbered(NonZeroU32::new(700).unwrap()) };
        let websocket = WebSocket {
            message: Some(message),
            messages: NonZeroU64::new(20),
            every: every(ms(5)),
            ping_every: Some(ms(20)),
            fragment: NonZeroU32::new(100),
            ..WebSocket::default()
        };
        let summary = run(&plan(4, websocket), link, echoing()).summary;
        let all = websockets(&summary);
        assert_eq!(fates(&summary), (4, 0, 4, 0, 0), "seed {seed}");
        assert_eq!((all.sent, all.answered, all.received_bytes), (80, 80, 56_000), "seed {seed}");
        assert_eq!(all.pings, all.ping.moments.count(), "seed {seed}");
    }
}

#[test]
fn what_does_not_open_a_websocket_is_no_success() {
    let summary = |status, fields: &'static str| {
        let peer = HttpPeer::new(move |_| vec![Action::Send(ms(1), reply(status, fields, ""))]);
        run(&plan(2, WebSocket::default()), Link::default(), peer).summary
    };
    let plain = summary(200, "");
    assert_eq!((fates(&plain), plain.mismatches.status), ((0, 2, 0, 0, 0), 2));
    let refused = summary(403, "");
    assert_eq!((fates(&refused), refused.mismatches.total()), ((0, 2, 0, 0, 0), 0));
    assert_eq!(refused.calls_with(CallOutcome::HttpError).latency.moments.count(), 2);
    // It says so, and does not know the key.
    let forged = HttpPeer::new(|_| {
        let head =
            "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n";
        vec![Action::Send(ms(1), head.as_bytes().to_vec())]
    });
    let forged = run(&plan(2, WebSocket::default()), Link::default(), forged).summary;
    let violations = websockets(&forged).violations.by_frequency();
    assert_eq!(violations, [("an opening whose Sec-WebSocket-Accept does not answer the key", 2)]);
    assert_eq!((fates(&forged), forged.errors.count(Failure::Other)), ((0, 0, 0, 0, 0), 2));
}

#[test]
fn a_server_that_ends_it_badly_is_told_of() {
    let ending = |say: Say| {
        let peer = WebSocketPeer::new(ms(1), move |_, heard| match heard {
            WsHeard::Opening => Vec::new(),
            WsHeard::Message(_) => vec![say.clone()],
        });
        run(&plan(2, WebSocket::default()), Link::default(), peer).summary
    };
    let cut = ending(Say::End(ms(5)));
    assert_eq!((fates(&cut), cut.errors.count(Failure::Reset)), ((2, 0, 0, 2, 0), 2));
    assert_eq!(
        (websockets(&cut).unanswered, cut.calls_with(CallOutcome::Failure).latency.moments.count()),
        (2, 2)
    );
    let failed = ending(Say::Close(ms(5), 1011));
    assert_eq!((fates(&failed), failed.mismatches.close, failed.errors.total()), ((2, 0, 2, 0, 0), 2, 0));
    assert_eq!(websockets(&failed).closes.by_frequency(), [("server 1011 (internal error)", 2)]);
    let early = ending(Say::Close(ms(5), 1000));
    assert_eq!((early.mismatches.close, websockets(&early).unanswered), (2, 2));
    for (bytes, rule) in [
        (&b"\x81\x80\x01\x02\x03\x04"[..], "a masked frame from a server"),
        (b"\x83\x00", "a frame with a reserved opcode"),
        (b"\xC1\x00", "a compressed frame where none may be"),
        (b"\x81\x01\xFF", "text that is not UTF-8"),
    ] {
        let broken = ending(Say::Raw(ms(5), bytes.to_vec()));
        assert_eq!(websockets(&broken).violations.by_frequency(), [(rule, 2)]);
        assert_eq!((fates(&broken), broken.errors.count(Failure::Other)), ((2, 0, 0, 2, 0), 2), "{rule}");
    }
}

#[test]
fn an_answer_that_does_not_come_times_out_and_silence_alone_does_not() {
    let limited = |websocket| {
        plan(2, websocket)
            .with(|plan| plan.timeouts = Timeouts { timeout: Some(ms(100)), ..Timeouts::default() })
    };
    let mute = || WebSocketPeer::new(ms(20), |_, _| Vec::new());
    let summary = run(&limited(WebSocket::default()), Link::default(), mute()).summary;
    assert_eq!((fates(&summary), summary.errors.count(Failure::ClientTimeout)), ((2, 0, 0, 2, 0), 2));
    let silent = WebSocket { message: None, messages: None, lasts: Some(ms(2000)), ..WebSocket::default() };
    let summary = run(&limited(silent), Link::default(), mute()).summary;
    assert_eq!((fates(&summary), summary.errors.total()), ((2, 0, 2, 0, 0), 0));
}

#[test]
fn the_end_of_the_run_closes_what_is_open() {
    let endless = WebSocket { every: every(ms(50)), messages: None, ..WebSocket::default() };
    let ending = |drain| {
        plan(3, endless.clone()).with(|plan| {
            plan.runtime = Some(ms(1000));
            plan.phases = Phases { drain, ..Phases::default() };
        })
    };
    let drained = run(&ending(ms(500)), Link::default(), echoing()).summary;
    assert_eq!((fates(&drained), websockets(&drained).unanswered), ((3, 0, 3, 0, 0), 0));
    // Opened at 20 ms, the last message is due at 970 ms.
    assert_eq!((websockets(&drained).sent, websockets(&drained).answered), (60, 60));
    // To those who watch the run, the opening is the reply.
    let told: u64 = drained.series.intervals().iter().map(|interval| interval.replies).sum();
    assert_eq!((told, drained.in_window().replies, drained.replies), (3, 3, 3));
    assert_eq!(drained.series.intervals()[0].replies, 3);
    let stopped = run(&ending(NOW), Link::default(), echoing()).summary;
    assert_eq!((fates(&stopped), stopped.replies), ((3, 0, 0, 0, 3), 3));
    assert_eq!(stopped.unfinished.moments.count(), 0, "the calls did what they were to do");
}

#[test]
fn messages_without_an_answer_at_the_end_of_the_run_have_waited_for_a_known_time() {
    let websocket = WebSocket { every: every(ms(100)), messages: None, ..WebSocket::default() };
    let plan = plan(2, websocket).with(|plan| {
        plan.runtime = Some(ms(1000));
        plan.phases = Phases { drain: ms(500), ..Phases::default() };
    });
    let mute = WebSocketPeer::new(ms(20), |_, _| Vec::new());
    let summary = run(&plan, Link::default(), mute).summary;
    let all = websockets(&summary);
    // Opened at 20 ms, the first message is due at once, and the last one at 920 ms. The drain ends at 1,500 ms.
    assert_eq!((all.expected, all.answered, all.unanswered, all.outstanding()), (20, 0, 0, 20));
    let waited = &all.unfinished_messages.moments;
    assert_eq!((waited.min(), waited.max()), (0.58, 1.48));
}

#[test]
fn calls_of_a_pool_open_websockets_one_after_the_other() {
    let plan = calls(20, 100.0, 4).with(|plan| plan.request.websocket = Some(WebSocket::default()));
    let summary = run(&plan, Link::default(), echoing()).summary;
    assert_eq!((fates(&summary), summary.errors.total()), ((20, 0, 20, 0, 0), 0));
}

#[test]
fn messages_are_the_same_on_any_thread() {
    let heard = |plan: &Plan| {
        let texts = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        let kept = std::rc::Rc::clone(&texts);
        let peer = WebSocketPeer::new(NOW, move |_, heard| match heard {
            WsHeard::Opening => Vec::new(),
            WsHeard::Message(text) => {
                kept.borrow_mut().push(text.to_owned());
                vec![Say::Text(NOW, text.to_owned())]
            }
        });
        run(plan, Link::default(), peer);
        let mut texts = texts.take();
        texts.sort();
        texts
    };
    let payload = Payload::Text(Template::parse(b"{seq} {rand:0-999999} {uuid}").unwrap());
    let websocket = WebSocket {
        message: Some(WebSocketMessage { binary: false, payload }),
        messages: NonZeroU64::new(3),
        ..WebSocket::default()
    };
    let texts = heard(&plan(4, websocket.clone()));
    assert_eq!((texts.len(), heard(&plan(4, websocket))), (12, texts.clone()));
    assert!(texts.windows(2).all(|pair| pair[0] != pair[1]), "{texts:?}");
}

/// The longest silence of a server that owed something.
fn stall(plan: &Plan, peer: impl Peer + 'static) -> Duration {
    run(plan, Link::default(), peer).summary.stall.map_or(NOW, |stall| stall.length)
}

#[test]
fn a_server_that_owes_nothing_does_not_stall() {
    let slow = WebSocket {
        every: every(ms(500)),
        messages: None,
        lasts: Some(ms(4000)),
        ping_every: Some(ms(700)),
        ..WebSocket::default()
    };
    assert_eq!(stall(&plan(1, slow.clone()), echoing()), ms(30), "each message is answered at once");
    let pushing = || {
        WebSocketPeer::new(ms(20), |_, heard| match heard {
            WsHeard::Opening => (1..8).map(|number| Say::Text(ms(500 * number), "news".into())).collect(),
            WsHeard::Message(_) => Vec::new(),
        })
    };
    let listening =
        WebSocket { message: None, messages: None, lasts: Some(ms(4000)), ..WebSocket::default() };
    assert_eq!(stall(&plan(1, listening), pushing()), ms(20), "it speaks when there is news");
    let telling = WebSocket { expect: Answer::Nothing, ..slow };
    assert_eq!(stall(&plan(1, telling), pushing()), ms(20), "no message is to be answered");
}

#[test]
fn a_server_that_does_not_answer_messages_stalls() {
    // The third message is answered after 700 ms.
    let pausing = WebSocketPeer::new(ms(20), |_, heard| match heard {
        WsHeard::Opening => Vec::new(),
        WsHeard::Message(text) => {
            let wait = if text.starts_with("2 ") { ms(700) } else { ms(30) };
            vec![Say::Text(wait, text.to_owned())]
        }
    });
    let websocket = WebSocket { messages: NonZeroU64::new(5), ..WebSocket::default() };
    assert_eq!(stall(&plan(1, websocket), pausing), ms(700));
}
