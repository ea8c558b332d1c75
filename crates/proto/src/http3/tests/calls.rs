//! Calls from their beginning to their end: bodies, limits of the server, what either side gives up, the end of the
//! connection.

use std::rc::Rc;
use std::sync::Arc;

use super::*;
use crate::content::{Coding, Content, Streamed};
use crate::quic::Loss;
use crate::{Awaited, Code};

#[test]
fn a_request_is_answered() {
    let mut pair = Pair::new(Options::default());
    pair.submit(7, get());
    assert_eq!((pair.engine.pending_count(), pair.engine.open_streams()), (1, 0));
    pair.settle();
    assert_eq!(pair.engine.open_streams(), 1);
    assert_eq!(pair.sent, [Sent::Started(CallId(7)), Sent::Finished(CallId(7))]);
    let (asked, is_end) = pair.request(0).unwrap();
    // `:method: GET`, `:scheme: https`, `:authority`, `:path: /`.
    assert_eq!(asked, b"\x01\x0c\x00\x00\xd1\xd7\x50\x85\x41\x6c\xee\x5b\x3f\xc1");
    assert!(is_end);
    pair.answer(0, &ok(), true);
    pair.settle();
    assert_eq!(pair.events(), [started(7, 200), done(7, BARE, 0, 0)]);
    assert_eq!(pair.engine.pending_count(), 0);
}

#[test]
fn our_control_stream_begins_with_settings() {
    let pair = Pair::new(Options::default());
    let control = &pair.asked.iter().find(|(_, bytes, _)| bytes.first() == Some(&0)).unwrap().1;
    // MAX_FIELD_SECTION_SIZE 65,536; a table of 4,096 bytes; 16 blocked streams.
    assert_eq!(control[..], *b"\x00\x04\x0a\x06\x80\x01\x00\x00\x01\x50\x00\x07\x10");
}

#[test]
fn a_large_body_is_sent_through_a_small_window() {
    let server = peer::Options { window: 1000, ..SERVER.clone() };
    let mut pair = Pair::with(&server, Options::default());
    let bytes: Vec<u8> = (0..1 << 20_u32).map(|place: u32| (place % 251) as u8).collect();
    let begun = pair.now;
    pair.submit(0, request("PUT", &bytes));
    let mut ended = begun;
    while !pair.sent.contains(&Sent::Finished(CallId(0))) {
        ended = pair.now;
        pair.turn();
        assert!(pair.now < begun + 100_000 * MS, "it takes too long");
    }
    assert!(ended > begun);
    pair.settle();
    let (asked, is_end) = pair.request(0).unwrap();
    assert!(is_end && asked.ends_with(&[&b"\x00\x80\x10\x00\x00"[..], &bytes].concat()));
    assert_eq!(pair.stalls, [], "it is told of at the end");
    pair.answer(0, &ok(), true);
    pair.settle();
    assert_eq!(pair.events(), [started(0, 200), done(0, BARE, 0, 0)]);
    // The window was empty all the time.
    let stall = Stall { call: CallId(0), what: Awaited::Window, time: ended - begun };
    assert_eq!(pair.stalls, [stall]);
}

/// What congestion control and the way hold back is no wait for a window.
#[test]
fn a_body_that_fits_the_window_waits_for_none() {
    let server = peer::Options { window: 8 << 20, ..SERVER.clone() };
    let shared = Rc::new(Arc::from(vec![b'b'; 3 << 20]));
    let parts = RequestParts {
        method: b"PUT",
        host: Some("server"),
        body: RequestBody::Shared(&shared),
        ..RequestParts::to(b"/")
    };
    let mut pair = Pair::with(&server, Options::default());
    pair.submit(0, parts.request());
    pair.turn();
    assert_eq!(pair.sent, [Sent::Started(CallId(0)), Sent::Finished(CallId(0))]);
    while !pair.request(0).is_some_and(|(_, is_end)| is_end) {
        pair.turn();
        assert!(pair.now < 60_000 * MS, "it takes too long");
    }
    assert!(pair.request(0).unwrap().0.ends_with(&shared));
    pair.answer(0, &ok(), true);
    pair.settle();
    assert_eq!((pair.events(), &pair.stalls[..]), (vec![started(0, 200), done(0, BARE, 0, 0)], &[][..]));
}

#[test]
fn calls_wait_for_a_stream() {
    let server = peer::Options { streams: 2, ..SERVER.clone() };
    let mut pair = Pair::with(&server, Options::default());
    let begun = pair.now;
    (0..5).for_each(|call| pair.submit(call, get()));
    pair.settle();
    assert_eq!((pair.engine.pending_count(), pair.engine.open_streams()), (5, 2));
    assert_eq!(pair.stalls, []);
    let mut waits = Vec::new();
    for place in 0..5 {
        pair.answer(place, &ok(), true);
        let sent = pair.sent.len();
        // Until the server knows that the reply has arrived, which may be told late.
        for _ in 0..20 {
            let at = pair.now;
            pair.turn();
            if pair.sent[sent..].contains(&Sent::Started(CallId(place as u64 + 2))) && waits.len() == place {
                waits.push(at - begun);
            }
        }
    }
    let all = (0..5).flat_map(|call| [started(call, 200), done(call, BARE, 0, 0)]);
    assert_eq!(pair.events(), all.collect::<Vec<_>>());
    assert_eq!(waits.len(), 3);
    let stalls =
        (2..).zip(waits).map(|(call, time)| Stall { call: CallId(call), what: Awaited::Stream, time });
    assert_eq!(pair.stalls, stalls.collect::<Vec<_>>());
    let counts = pair.engine.take_counts();
    assert_eq!((counts.streams, counts.concurrent_max, counts.concurrent_sum), (5, 2, 9));
}

#[test]
fn a_cancelled_call_is_not_heard_of_again() {
    let server = peer::Options { streams: 1, ..SERVER.clone() };
    let mut pair = Pair::with(&server, Options::default());
    pair.make(&gets(3));
    pair.answer(0, &[ok(), data(b"begun")].concat(), false);
    pair.settle();
    assert_eq!(pair.events(), [started(0, 200)]);
    let now = pair.now;
    // One that waits, and one that is open.
    pair.engine.cancel(now, CallId(1));
    assert_eq!(
        pair.engine.poll_stall().map(|stall| (stall.call, stall.what)),
        Some((CallId(1), Awaited::Stream))
    );
    pair.engine.cancel(now, CallId(0));
    pair.settle();
    let code = ErrorCode::H3_REQUEST_CANCELLED.0;
    assert_eq!(pair.stopped, [(pair.stream(0), code)]);
    assert_eq!(pair.engine.take_counts().resets_sent, [("no reply in time", 1)]);
    pair.server.reset(pair.handle, pair.stream(0), 0x10c);
    (0..3).for_each(|_| pair.settle());
    assert_eq!((pair.engine.pending_count(), pair.engine.open_streams()), (1, 1));
    pair.answer(1, &ok(), true);
    pair.settle();
    assert_eq!(pair.events(), [started(2, 200), done(2, BARE, 0, 0)]);
    assert_eq!(pair.error, None);
}

#[test]
fn calls_beyond_a_goaway_are_given_back() {
    let server = peer::Options { streams: 2, ..SERVER.clone() };
    let mut pair = Pair::with(&server, Options::default());
    pair.make(&gets(3));
    pair.tell(0, &[CONTROL, b"\x07\x01\x04"].concat());
    pair.settle();
    assert_eq!(pair.events(), [returned(1), returned(2), Event::Draining]);
    assert_eq!(pair.whys, [Undone::GoAway(Code::Http3(ErrorCode::H3_NO_ERROR)); 2]);
    assert_eq!((pair.engine.capacity(), pair.engine.is_draining()), (0, true));
    assert!(pair.engine.submit(pair.now, CallId(9), get()).is_err());
    assert_eq!(pair.stopped, [(pair.stream(1), ErrorCode::H3_REQUEST_CANCELLED.0)]);
    let counts = pair.engine.take_counts();
    assert_eq!(counts.goaways, [(ErrorCode::H3_NO_ERROR.into(), 1)]);
    assert_eq!(counts.unprocessed, 1);
    // RFC 9204, section 4.4.2: nothing more of stream 4 is decoded.
    let decoder = pair.asked.iter().find(|(_, bytes, _)| bytes.first() == Some(&3));
    assert_eq!(decoder.map(|(_, bytes, _)| &bytes[..]), Some(&[0x03, 0x44][..]));
    pair.answer(0, &ok(), true);
    pair.settle();
    assert_eq!(pair.events(), [started(0, 200), done_last(0, BARE, 0)]);
}

#[test]
fn resets_are_counted_by_code() {
    let mut pair = Pair::new(Options::default());
    pair.make(&gets(3));
    for (place, code) in [(0, 0x10b), (1, 0x10b), (2, 0x777)] {
        pair.server.reset(pair.handle, pair.stream(place), code);
        pair.settle();
    }
    assert_eq!(pair.events(), [returned(0), returned(1), failed(2)]);
    let whys = [0x10b, 0x10b, 0x777].map(|code| Undone::Reset(Code::Http3(ErrorCode(code))));
    assert_eq!(pair.whys, whys);
    let counts = pair.engine.take_counts();
    assert_eq!(
        counts.resets_received,
        [(ErrorCode::H3_REQUEST_REJECTED.into(), 2), (ErrorCode(0x777).into(), 1)]
    );
    assert_eq!(counts.unprocessed, 2);
}

#[test]
fn a_reset_ends_a_call_whose_header_block_waits() {
    let mut pair = Pair::new(Options::default());
    pair.make(&gets(1));
    pair.answer(0, &frame(1, b"\x02\x00\x80"), false);
    pair.settle();
    assert_eq!(pair.engine.blocked.calls.len(), 1);
    pair.server.reset(pair.handle, pair.stream(0), 0x102);
    pair.settle();
    assert_eq!(pair.events(), [failed(0)]);
    assert_eq!((pair.engine.pending_count(), pair.engine.blocked.calls.len()), (0, 0));
    assert_eq!(pair.error, None);
}

/// RFC 9114, section 4.1: a server may answer before it has the whole request, and want no more of it.
#[test]
fn a_reply_may_come_before_the_request_is_complete() {
    for stops in [true, false] {
        let server = peer::Options { window: 1000, ..SERVER.clone() };
        let mut pair = Pair::with(&server, Options::default());
        let begun = pair.now;
        pair.submit(0, request("PUT", &[0; 1_000_000]));
        (0..10).for_each(|_| pair.turn());
        let ended = pair.now;
        if stops {
            pair.server.stop(pair.handle, pair.stream(0), 0x100);
            pair.settle();
            assert_eq!((pair.events(), pair.engine.pending_count()), (vec![], 1));
        }
        pair.answer(0, &ok(), true);
        pair.settle();
        assert_eq!(pair.events(), [started(0, 200), done(0, BARE, 0, 0)]);
        assert_eq!((pair.sent, pair.error), (vec![Sent::Started(CallId(0))], None));
        let [Stall { call: CallId(0), what: Awaited::Window, time }] = pair.stalls[..] else {
            panic!("{:?}", pair.stalls)
        };
        // It waits until the server has said that it wants no more, or has answered.
        assert!(
            time >= ended - begun && time <= ended - begun + 2 * MS,
            "{stops} {time:?} {:?}",
            ended - begun
        );
    }
}

#[test]
fn a_closed_connection_is_drained_if_it_was_idle() {
    let closes = |pair: &mut Pair, code| pair.server.close(pair.now, pair.handle, code, b"");
    let mut pair = Pair::new(Options::default());
    closes(&mut pair, 0x100);
    pair.settle();
    assert_eq!((pair.events(), &pair.error), (vec![Event::Drained], &None));
    assert_eq!(pair.engine.capacity(), 0);

    let mut pair = Pair::new(Options::default());
    closes(&mut pair, 0x107);
    pair.settle();
    assert_eq!(pair.error, Some(ProtocolError::Quic(Loss::Closed(0x107, String::new()))));

    let mut pair = Pair::new(Options::default());
    pair.make(&gets(1));
    closes(&mut pair, 0x100);
    pair.settle();
    assert_eq!(pair.events(), []);
    assert_eq!(pair.error, Some(ProtocolError::Quic(Loss::Closed(0x100, String::new()))));
    assert_eq!(pair.engine.pending().collect::<Vec<_>>(), [CallId(0)]);
}

#[test]
fn what_arrived_before_a_close_is_reported() {
    let mut pair = Pair::new(Options { bodies: true, ..Options::default() });
    pair.make(&gets(2));
    pair.answer(0, &[ok(), data(b"all")].concat(), true);
    pair.answer(1, &[ok(), data(b"part")].concat(), false);
    let (mut datagrams, sent) = (Vec::new(), pair.now + MS);
    while let Some((_, datagram)) = pair.server.poll_transmit(sent) {
        datagrams.push(datagram);
    }
    pair.server.close(sent, pair.handle, 0x100, b"");
    datagrams.extend(pair.server.poll_transmit(sent).map(|(_, datagram)| datagram));
    pair.now += 2 * MS;
    for datagram in datagrams {
        let size = datagram.len();
        pair.engine.handle_datagrams(pair.now, BytesMut::from(&datagram[..]), size, None);
    }
    // As an owner does that asks for the handshake first.
    assert_eq!(pair.engine.poll_progress(pair.now), None);
    pair.hear();
    assert_eq!(
        pair.events(),
        [started(0, 200), body(0, b"all"), done(0, BARE, 3, 0), started(1, 200), body(1, b"part")]
    );
    assert_eq!(pair.error, Some(ProtocolError::Quic(Loss::Closed(0x100, String::new()))));
    assert_eq!(pair.engine.pending().collect::<Vec<_>>(), [CallId(1)]);
}

#[test]
fn event_streams_are_handed_out_and_other_bodies_if_all_are_wanted() {
    let stream = |call, is_event_stream| Event::StreamStarted {
        call: CallId(call),
        content: Content { is_event_stream, coding: Some(Coding::Identity) },
    };
    for (streamed, announced) in [
        (Streamed::Never, vec![]),
        (Streamed::EventStreams, vec![stream(0, true)]),
        (Streamed::All, vec![stream(0, true), stream(1, false)]),
    ] {
        let mut pair = Pair::new(Options { streamed, ..Options::default() });
        pair.make(&gets(2));
        for (call, kind) in (0..).zip(["text/event-stream", "text/plain"]) {
            let head = head(&[(":status", "200"), ("content-type", kind)]);
            pair.answer(call, &[head, data(b"data: a\n\n")].concat(), true);
        }
        pair.settle();
        let events = pair.events();
        let told: Vec<_> =
            events.iter().filter(|event| matches!(event, Event::StreamStarted { .. })).cloned().collect();
        let bodies = events.iter().filter(|event| matches!(event, Event::ReplyBody { .. })).count();
        assert_eq!((bodies, told), (announced.len(), announced), "{streamed:?}");
    }
}

#[test]
fn an_idle_connection_times_out() {
    for count in [0, 1] {
        let mut pair = Pair::new(Options::default());
        pair.make(&gets(count));
        pair.server.forget_all();
        for _ in 0..1000 {
            let Some(timer) = pair.engine.poll_timeout() else { break };
            pair.now = pair.now.max(timer);
            pair.engine.handle_timeout(pair.now);
            let mut out = Vec::new();
            while pair.engine.poll_datagrams(pair.now, 10, &mut out).is_some() {
                out.clear();
            }
            pair.hear();
        }
        let (events, error) = match count {
            0 => (vec![Event::Drained], None),
            _ => (vec![], Some(ProtocolError::Quic(Loss::TimedOut))),
        };
        assert_eq!((pair.events(), pair.error), (events, error), "{count} calls");
    }
}

#[test]
fn a_close_tells_the_server() {
    let mut pair = Pair::new(Options::default());
    pair.make(&gets(1));
    pair.engine.close(pair.now);
    assert_eq!(pair.engine.capacity(), 0);
    pair.settle();
    assert_eq!(pair.told, Some(ErrorCode::H3_NO_ERROR.0));
    assert_eq!((pair.events(), pair.error), (vec![], None));
}

/// A connection with a ticket of one before, to the same server or another; nothing is sent yet.
fn resumed(is_same: bool, options: Options) -> Pair {
    let epoch = Instant::now();
    let context = context(epoch);
    let mut before = Pair::begin(peer::Server::new(&SERVER, epoch), &context, None, Options::default());
    before.settle();
    let ticket = before.tickets.pop().expect("the server gives tickets");
    let server = if is_same { before.server } else { peer::Server::new(&SERVER, epoch) };
    Pair::begin(server, &context, Some(ticket), options)
}

#[test]
fn safe_requests_are_sent_as_early_data() {
    let mut pair = resumed(true, Options::default());
    for (call, request) in [get(), get(), request("PUT", b"a"), get()].into_iter().enumerate() {
        pair.submit(call as u64, request);
    }
    let mut out = Vec::new();
    while pair.engine.poll_datagrams(pair.now, 10, &mut out).is_some() {
        out.clear();
    }
    // Those behind one that must wait wait as well.
    assert_eq!((pair.engine.open_streams(), pair.engine.early_count()), (2, 2));

    let mut pair = resumed(true, Options::default());
    pair.submit(0, get());
    pair.submit(1, request("PUT", b"a"));
    pair.settle();
    assert_eq!(pair.progress, [Progress::Done]);
    assert_eq!((pair.engine.early_count(), pair.engine.quic().early_data()), (1, tls::EarlyData::Accepted));
    pair.answer(1, &ok(), true);
    pair.answer(0, &ok(), true);
    pair.settle();
    let mut events = pair.events();
    events.sort_by_key(|event| event.call().map(|call| call.0));
    let each = |call| [started(call, 200), done(call, BARE, 0, 0)];
    assert_eq!(events, [each(0), each(1)].concat());
}

#[test]
fn requests_are_made_again_if_early_data_was_refused() {
    let mut pair = resumed(false, Options::default());
    (0..3).for_each(|call| pair.submit(call, get()));
    pair.submit(3, request("PUT", b"a"));
    let mut out = Vec::new();
    while let Some(sent) = pair.engine.poll_datagrams(pair.now, 10, &mut out) {
        for datagram in out.chunks(sent.segment) {
            pair.server.handle(pair.now + MS, "192.0.2.2:5000".parse().unwrap(), datagram);
        }
        out.clear();
    }
    assert_eq!(pair.engine.open_streams(), 3);
    pair.engine.cancel(pair.now, CallId(1));
    pair.settle();
    assert_eq!(pair.progress, [Progress::EarlyDataRejected, Progress::Done]);
    assert_eq!(pair.engine.pending().collect::<Vec<_>>(), [CallId(0), CallId(2), CallId(3)]);
    let control = pair.asked.iter().filter(|(_, bytes, _)| bytes.starts_with(CONTROL[..2].as_ref())).count();
    assert_eq!(control, 1);
    for place in 0..3 {
        assert!(pair.request(place).unwrap().1);
        pair.answer(place, &ok(), true);
        pair.settle();
    }
    let each = |call| [started(call, 200), done(call, BARE, 0, 0)];
    assert_eq!(pair.events(), [each(0), each(2), each(3)].concat());
    assert_eq!(pair.error, None);
}

/// Early requests, and the server's answer that refuses them, of which the engine has not told yet.
fn refused(count: u64) -> Pair {
    let mut pair = resumed(false, Options::default());
    (0..count).for_each(|call| pair.submit(call, get()));
    let mut out = Vec::new();
    while let Some(sent) = pair.engine.poll_datagrams(pair.now, 10, &mut out) {
        for datagram in out.chunks(sent.segment) {
            pair.server.handle(pair.now + MS, "192.0.2.2:5000".parse().unwrap(), datagram);
        }
        out.clear();
    }
    pair.now += MS;
    while let Some((_, datagram)) = pair.server.poll_transmit(pair.now) {
        let size = datagram.len();
        pair.engine.handle_datagrams(pair.now + MS, BytesMut::from(&datagram[..]), size, None);
    }
    pair.now += MS;
    pair
}

#[test]
fn what_is_done_before_the_refusal_is_told_does_no_harm() {
    let mut pair = refused(3);
    pair.engine.cancel(pair.now, CallId(1));
    pair.submit(3, get());
    pair.settle();
    assert_eq!(pair.progress, [Progress::EarlyDataRejected, Progress::Done]);
    for place in 0..3 {
        pair.answer(place, &ok(), true);
        pair.settle();
    }
    let each = |call| [started(call, 200), done(call, BARE, 0, 0)];
    assert_eq!(pair.events(), [each(0), each(2), each(3)].concat());
    // The stream of the call that was cancelled is now that of another.
    assert!(!pair.asked.iter().any(|(_, bytes, _)| bytes.first() == Some(&3)));
    assert_eq!(pair.error, None);
}

#[test]
fn a_violation_behind_our_close_is_not_told() {
    let mut pair = Pair::new(Options::default());
    pair.step(&Step::StopControl, &Cut::Whole);
    while let Some((_, datagram)) = pair.server.poll_transmit(pair.now) {
        let size = datagram.len();
        pair.engine.handle_datagrams(pair.now, BytesMut::from(&datagram[..]), size, None);
    }
    pair.engine.close(pair.now);
    pair.settle();
    assert_eq!((pair.told, pair.error), (Some(ErrorCode::H3_NO_ERROR.0), None));
}

#[test]
fn a_call_may_be_cancelled_between_two_events_of_its_reply() {
    let mut pair = Pair::new(Options { bodies: true, ..Options::default() });
    pair.make(&gets(2));
    for place in 0..2 {
        pair.answer(place, &[ok(), data(b"content")].concat(), true);
    }
    while let Some((_, datagram)) = pair.server.poll_transmit(pair.now) {
        let size = datagram.len();
        pair.engine.handle_datagrams(pair.now, BytesMut::from(&datagram[..]), size, None);
    }
    assert_eq!(pair.engine.poll_event(pair.now), Ok(Some(started(0, 200))));
    // The rest of the reply is there, but was not read yet.
    pair.engine.cancel(pair.now, CallId(0));
    assert_eq!(pair.engine.poll_event(pair.now), Ok(Some(started(1, 200))));
    pair.engine.cancel(pair.now, CallId(1));
    assert_eq!(pair.engine.poll_event(pair.now), Ok(None));
}

#[test]
fn nothing_is_reported_of_a_call_that_ended_while_its_datagrams_waited() {
    let mut pair = Pair::new(Options::default());
    let mut out = Vec::new();
    pair.submit(0, get());
    assert!(pair.engine.poll_datagrams(pair.now, 10, &mut out).is_some());
    // The socket does not take them, and the owner gives up.
    pair.engine.cancel(pair.now, CallId(0));
    assert_eq!(pair.engine.poll_sent(), None);
}

#[test]
fn a_call_that_waits_for_a_stream_does_not_wait_for_an_acknowledgement() {
    let server = peer::Options { streams: 1, ..peer::Options::new() };
    let mut pair = Pair::with(&server, Options::default());
    pair.make(&gets(2));
    assert!(pair.request(1).is_none(), "the server allows a stream at a time");
    pair.answer(0, &ok(), true);
    // The reply, our acknowledgement, another stream, and the request on it: less than the 25 ms of a delayed one.
    let before = pair.now;
    (0..4).for_each(|_| pair.turn());
    assert!(pair.request(1).is_some() && pair.now - before < 20 * MS);
}
