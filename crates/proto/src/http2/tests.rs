//! Whole connections, against a scripted server.

use std::time::Duration;

use super::frame::{Data, FrameHeader, GoAway, Headers, Parameter, RstStream, Settings};
use super::hpack::{Encoder, Indexing};
use super::streams::Streams;
use super::*;
use crate::content::{Coding, Content, Streamed};
use crate::request::{Request, RequestBody, RequestParts};
use crate::{
    Awaited, CallId, Code, Event, HeaderBlock, ProtocolError, ReplySize, Reuse, Sent, Stall, Undone,
};

fn request(method: &str, body: &[u8]) -> Request {
    RequestParts {
        method: method.as_bytes(),
        uri: b"/",
        http10: false,
        keep_alive: false,
        user_agent: Some("httperf"),
        host: Some("localhost"),
        forward: None,
        extra_headers: b"",
        headers: b"",
        cookie: None,
        body: if body.is_empty() { RequestBody::None } else { RequestBody::Copied(body) },
        websocket: None,
    }
    .request()
}

/// A server as a script: the frames that it sends.
#[derive(Default)]
struct Script {
    encoder: Option<Encoder>,
    bytes: Vec<u8>,
}

impl Script {
    fn settings(mut self, parameters: &[Parameter]) -> Self {
        Settings::write(parameters, &mut self.bytes);
        self
    }

    fn head(mut self, stream: u32, fields: &[(&str, &str)], end_stream: bool) -> Self {
        let encoder = self.encoder.get_or_insert_with(|| Encoder::new(4096));
        let mut block = Vec::new();
        encoder.begin_block(&mut block);
        for (name, value) in fields {
            encoder.encode(name.as_bytes(), value.as_bytes(), Indexing::Incremental, &mut block);
        }
        Headers::write_block(stream, &block, end_stream, 1 << 14, &mut self.bytes);
        self
    }

    fn data(mut self, stream: u32, body: &[u8], end_stream: bool) -> Self {
        Data { stream, length: body.len() as u32, end_stream }.write(&mut self.bytes);
        self.bytes.extend_from_slice(body);
        self
    }

    fn goaway(mut self, last_stream: u32, code: ErrorCode) -> Self {
        GoAway { last_stream, code, debug: b"" }.write(&mut self.bytes);
        self
    }

    fn reset(mut self, stream: u32, code: ErrorCode) -> Self {
        RstStream { stream, code }.write(&mut self.bytes);
        self
    }

    fn raw(mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Self {
        FrameHeader { length: payload.len() as u32, kind, flags, stream }.write(&mut self.bytes);
        self.bytes.extend_from_slice(payload);
        self
    }
}

/// Makes a connection on which these calls were sent.
fn connection(options: Options, requests: &[Request]) -> Engine {
    let mut engine = Engine::new(options);
    for (call, request) in (0..).zip(requests) {
        engine.submit(Duration::ZERO, CallId(call), request.clone()).unwrap();
    }
    flush(&mut engine);
    engine
}

/// Sends all that is due; returns it.
fn flush(engine: &mut Engine) -> Vec<u8> {
    let mut sent = Vec::new();
    loop {
        let bytes = engine.poll_transmit(Duration::ZERO).to_vec();
        if bytes.is_empty() {
            assert!(!engine.wants_write());
            return sent;
        }
        engine.handle_written(bytes.len());
        sent.extend(bytes);
    }
}

/// Feeds what leads to no event that matters.
fn tell(engine: &mut Engine, script: &Script) {
    let (_, end) = feed(engine, &[&script.bytes]);
    assert_eq!(end, Ok(()));
}

type Outcome = (Vec<Event<'static>>, Result<(), ProtocolError>);

fn feed(engine: &mut Engine, parts: &[&[u8]]) -> Outcome {
    let mut events: Vec<Event<'static>> = Vec::new();
    for part in parts {
        let mut input = *part;
        loop {
            match engine.poll_event(Duration::ZERO, &mut input) {
                Ok(None) => break,
                Ok(Some(event)) => match (events.last_mut(), event) {
                    (Some(Event::ReplyBody { data: joined, .. }), Event::ReplyBody { data, .. }) => {
                        joined.to_mut().extend_from_slice(&data);
                    }
                    (_, event) => events.push(event.into_owned()),
                },
                Err(error) => return (events, Err(error)),
            }
        }
        assert!(input.is_empty(), "all of the input is used");
    }
    (events, Ok(()))
}

/// Checks the events that a server's bytes lead to, wherever they are cut.
#[track_caller]
fn check(requests: &[Request], script: &Script, expected: &[Event<'static>]) -> Engine {
    check_outcome(requests, script, expected, Ok(()))
}

#[track_caller]
fn check_outcome(
    requests: &[Request],
    script: &Script,
    expected: &[Event<'static>],
    end: Result<(), ProtocolError>,
) -> Engine {
    let options = Options { header_blocks: true, bodies: true, ..Options::default() };
    let bytes = &script.bytes[..];
    for cut in 0..=bytes.len() {
        let mut engine = connection(options, requests);
        let outcome = feed(&mut engine, &[&bytes[..cut], &bytes[cut..]]);
        assert_eq!(outcome, (expected.to_vec(), end.clone()), "cut at byte {cut}");
    }
    let mut engine = connection(options, requests);
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(feed(&mut engine, &single), (expected.to_vec(), end), "byte by byte");
    engine
}

/// A connection that hands out streams alone, or every body as one.
fn streaming(streamed: Streamed) -> Engine {
    let requests = [request("GET", b""), request("GET", b"")];
    connection(Options { streamed, ..Options::default() }, &requests)
}

#[test]
fn event_streams_are_handed_out_and_other_bodies_if_all_are_wanted() {
    let stream = |call, is_event_stream| Event::StreamStarted {
        call: CallId(call),
        content: Content { is_event_stream, coding: Some(Coding::Identity) },
    };
    let typed = |kind| [(":status", "200"), ("content-type", kind)];
    let script = Script::default()
        .settings(&[])
        .head(1, &typed("text/event-stream"), false)
        .data(1, b"data: a\n\n", true)
        .head(3, &typed("text/plain"), false)
        .data(3, b"hello", true);
    for (streamed, expected) in [
        (Streamed::Never, [None, None]),
        (Streamed::EventStreams, [Some(stream(0, true)), None]),
        (Streamed::All, [Some(stream(0, true)), Some(stream(1, false))]),
    ] {
        let bytes = script.bytes.clone();
        for cut in [0, bytes.len() / 2, bytes.len() - 3] {
            let (events, end) = feed(&mut streaming(streamed), &[&bytes[..cut], &bytes[cut..]]);
            assert_eq!(end, Ok(()));
            let mut told = events.iter().filter(|event| matches!(event, Event::StreamStarted { .. }));
            let bodies = events.iter().filter(|event| matches!(event, Event::ReplyBody { .. })).count();
            assert_eq!(bodies >= 1, expected[0].is_some(), "{streamed:?}");
            for started in expected.iter().flatten() {
                assert_eq!(told.next(), Some(started), "{streamed:?}");
            }
            assert_eq!(told.next(), None);
        }
    }
}

fn started(call: u64, status: u16) -> Event<'static> {
    Event::ReplyStarted { call: CallId(call), status }
}

fn head(call: u64, text: &str) -> Event<'static> {
    Event::ReplyHead { call: CallId(call), head: HeaderBlock::new(text.as_bytes()) }
}

fn body(call: u64, data: &[u8]) -> Event<'static> {
    Event::ReplyBody { call: CallId(call), data: data.to_vec().into() }
}

fn done(call: u64, header: u64, content: u64, footer: u64) -> Event<'static> {
    let size = ReplySize { header, content, footer };
    Event::ReplyDone { call: CallId(call), size, reuse: Reuse::Keep }
}

fn refused(code: ErrorCode, reason: &'static str) -> Result<(), ProtocolError> {
    Err(ProtocolError::Http2(ConnectionError { code, reason }))
}

#[test]
fn a_reply_is_handed_out_in_the_form_of_http1() {
    let script = Script::default()
        .settings(&[])
        .head(1, &[(":status", "200"), ("server", "x"), ("content-length", "5")], false)
        .data(1, b"hel", false)
        .data(1, b"lo", true);
    let text = "HTTP/2 200\r\nserver: x\r\ncontent-length: 5\r\n\r\n";
    let expected = [started(0, 200), head(0, text), body(0, b"hello"), done(0, text.len() as u64, 5, 0)];
    let mut engine = check(&[request("GET", b"")], &script, &expected);
    assert_eq!(engine.pending_count(), 0);
    let counts = engine.take_counts();
    assert_eq!(
        (counts.streams, counts.concurrent_max, counts.bytes_received),
        (1, 1, script.bytes.len() as u64)
    );
    assert_eq!(counts.headers_received.plain, 7 + 3 + 6 + 1 + 14 + 1);
}

#[test]
fn replies_come_in_any_order_behind_interim_ones_and_before_trailers() {
    let script = Script::default()
        .settings(&[])
        .head(3, &[(":status", "103")], false)
        .head(3, &[(":status", "404")], false)
        .head(1, &[(":status", "204")], true)
        .data(3, b"no", false)
        .head(3, &[("x-sum", "1")], true);
    let expected = [
        started(1, 404),
        head(1, "HTTP/2 404\r\n\r\n"),
        started(0, 204),
        head(0, "HTTP/2 204\r\n\r\n"),
        done(0, 14, 0, 0),
        body(1, b"no"),
        done(1, 14, 2, 12),
    ];
    check(&[request("GET", b""), request("GET", b"")], &script, &expected);
}

#[test]
fn streams_beyond_the_last_of_a_goaway_are_returned_and_the_others_answered() {
    let requests = [request("GET", b""), request("GET", b""), request("GET", b"")];
    let script = Script::default()
        .settings(&[])
        .goaway(3, ErrorCode::NO_ERROR)
        .reset(3, ErrorCode::INTERNAL_ERROR)
        .head(1, &[(":status", "200")], true);
    let last = Event::ReplyDone {
        call: CallId(0),
        size: ReplySize { header: 14, ..ReplySize::default() },
        reuse: Reuse::Close,
    };
    let expected = [
        Event::CallReturned { call: CallId(2), why: Undone::GoAway(Code::Http2(ErrorCode::NO_ERROR)) },
        Event::Draining,
        Event::CallFailed { call: CallId(1), why: Undone::Reset(Code::Http2(ErrorCode::INTERNAL_ERROR)) },
        started(0, 200),
        head(0, "HTTP/2 200\r\n\r\n"),
        last,
    ];
    let mut engine = check(&requests, &script, &expected);
    assert_eq!(engine.capacity(), 0);
    let counts = engine.take_counts();
    assert_eq!(counts.goaways, [(ErrorCode::NO_ERROR.into(), 1)]);
    assert_eq!(counts.resets_received, [(ErrorCode::INTERNAL_ERROR.into(), 1)]);
    assert_eq!(counts.unprocessed, 1);
}

#[test]
fn a_call_is_pending_until_its_end_is_told() {
    let mut engine = connection(Options::default(), &[request("GET", b""), request("GET", b"")]);
    let script = Script::default().settings(&[]).goaway(0, ErrorCode::NO_ERROR);
    let mut input = &script.bytes[..];
    let event = engine.poll_event(Duration::ZERO, &mut input).unwrap();
    assert!(matches!(event, Some(Event::CallReturned { call: CallId(0), .. })), "{event:?}");
    assert_eq!(engine.pending().collect::<Vec<_>>(), [CallId(1)]);
}

#[test]
fn a_body_waits_for_both_windows() {
    let mut engine = connection(Options::default(), &[request("POST", &[b'x'; 100_000])]);
    let mut sent = Vec::new();
    while let Some(event) = engine.poll_sent() {
        sent.push(event);
    }
    assert_eq!(sent, [Sent::Started(CallId(0))]);
    // Both windows are used up by now.
    let settings = Script::default().settings(&[Parameter::InitialWindowSize(100_000)]);
    tell(&mut engine, &settings);
    let ack = flush(&mut engine);
    assert_eq!(ack.len(), 9, "the connection has no window yet");
    let update = Script::default().raw(8, 0, 0, &100_000_u32.to_be_bytes());
    let mut input = &update.bytes[..];
    assert_eq!(engine.poll_event(Duration::from_millis(5), &mut input), Ok(None));
    let bytes = engine.poll_transmit(Duration::from_millis(7)).to_vec();
    engine.handle_written(bytes.len());
    assert!(bytes.len() > 100_000 - 65_535, "{}", bytes.len());
    assert_eq!(engine.poll_sent(), Some(Sent::Finished(CallId(0))));
    let reply = Script::default().head(1, &[(":status", "200")], true);
    tell(&mut engine, &reply);
    let stall = engine.poll_stall().unwrap();
    assert_eq!((stall.what, stall.time), (Awaited::Window, Duration::from_millis(7)));
}

#[test]
fn calls_beyond_the_streams_of_the_peer_wait_and_are_told_of() {
    let mut engine = connection(Options::default(), &[]);
    tell(&mut engine, &Script::default().settings(&[Parameter::MaxConcurrentStreams(1)]));
    for call in 0..2 {
        engine.submit(Duration::from_millis(1), CallId(call), request("GET", b"")).unwrap();
    }
    flush(&mut engine);
    assert_eq!(engine.pending().collect::<Vec<_>>(), [CallId(0), CallId(1)]);
    assert_eq!(engine.poll_stall(), None);
    tell(&mut engine, &Script::default().head(1, &[(":status", "200")], true));
    let bytes = engine.poll_transmit(Duration::from_millis(4)).len();
    engine.handle_written(bytes);
    let stall = engine.poll_stall().unwrap();
    let expected = Stall { call: CallId(1), what: Awaited::Stream, time: Duration::from_millis(3) };
    assert_eq!(stall, expected);
}

#[test]
fn a_server_may_speak_before_us() {
    let mut engine = Engine::new(Options::default());
    let script = Script::default().settings(&[Parameter::MaxConcurrentStreams(7)]);
    tell(&mut engine, &script.raw(0x8, 0, 0, &[0, 0, 1, 0]));
    assert_eq!(engine.peer_settings().and_then(|settings| settings.max_streams), Some(7));
    engine.submit(Duration::ZERO, CallId(0), request("GET", b"")).unwrap();
    assert!(flush(&mut engine).starts_with(b"PRI * HTTP/2.0\r\n"));
    let script = Script::default().head(1, &[(":status", "204")], true);
    assert_eq!(feed(&mut engine, &[&script.bytes]).0, [started(0, 204), done(0, 14, 0, 0)]);
}

#[test]
fn a_server_of_http1_is_told_from_a_broken_one() {
    let script = Script { bytes: b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), ..Script::default() };
    let end = refused(ErrorCode::HTTP_1_1_REQUIRED, "the server answers in HTTP/1");
    check_outcome(&[request("GET", b"")], &script, &[], end);
    // Python's answers what it takes for a client of HTTP/0.9.
    let script = Script { bytes: b"<!DOCTYPE HTML>\n".to_vec(), ..Script::default() };
    let end = refused(ErrorCode::PROTOCOL_ERROR, "the server's first bytes are not HTTP");
    check_outcome(&[request("GET", b"")], &script, &[], end);
}

#[test]
fn equal_requests_have_equal_blocks_once_the_table_has_their_fields() {
    let mut engine = connection(Options::default(), &[]);
    let same = request("GET", b"");
    let sizes: Vec<usize> = (0..4)
        .map(|call| {
            engine.submit(Duration::ZERO, CallId(call), same.clone()).unwrap();
            flush(&mut engine).len()
        })
        .collect();
    assert!(sizes[0] > sizes[1] && sizes[1] == sizes[2] && sizes[2] == sizes[3], "{sizes:?}");
    assert_eq!(sizes[3], 9 + 5, "a frame header and an index for each field");
}

/// Makes a connection that has identifiers for this many streams.
fn connection_with_numbers(count: u32) -> Engine {
    let mut engine = Engine::new(Options::default());
    engine.connection.streams = Streams::starting_at((1 << 31) + 1 - 2 * count);
    engine
}

#[test]
fn a_connection_ends_with_its_stream_numbers() {
    const LAST: u32 = (1 << 31) - 1;
    let mut engine = connection_with_numbers(2);
    assert_eq!(engine.capacity(), 2);
    for call in 0..2 {
        engine.submit(Duration::ZERO, CallId(call), request("GET", b"")).unwrap();
    }
    assert_eq!(engine.submit(Duration::ZERO, CallId(2), request("GET", b"")), Err(crate::Full));
    flush(&mut engine);
    let script = Script::default().settings(&[]).head(LAST, &[(":status", "200")], true).head(
        LAST - 2,
        &[(":status", "200")],
        true,
    );
    let (events, end) = feed(&mut engine, &[&script.bytes]);
    let size = ReplySize { header: 14, ..ReplySize::default() };
    let last = Event::ReplyDone { call: CallId(0), size, reuse: Reuse::Close };
    assert_eq!((events, end), (vec![started(1, 200), done(1, 14, 0, 0), started(0, 200), last], Ok(())));
    assert_eq!(engine.capacity(), 0);
}

#[test]
fn a_connection_whose_last_stream_is_reset_is_of_no_further_use() {
    let mut engine = connection_with_numbers(1);
    engine.submit(Duration::ZERO, CallId(0), request("GET", b"")).unwrap();
    flush(&mut engine);
    let script = Script::default().settings(&[]).reset((1 << 31) - 1, ErrorCode::INTERNAL_ERROR);
    let (events, end) = feed(&mut engine, &[&script.bytes]);
    let why = Undone::Reset(Code::Http2(ErrorCode::INTERNAL_ERROR));
    assert_eq!((events, end), (vec![Event::CallFailed { call: CallId(0), why }, Event::Drained], Ok(())));
}

#[test]
fn a_connection_that_drains_is_of_no_further_use_once_its_last_call_is_given_up() {
    let mut engine = connection(Options::default(), &[request("GET", b""), request("GET", b"")]);
    let script = Script::default().settings(&[]).goaway(3, ErrorCode::NO_ERROR);
    assert_eq!(feed(&mut engine, &[&script.bytes]).0, [Event::Draining]);
    engine.cancel(Duration::ZERO, CallId(0));
    assert_eq!(engine.poll_event(Duration::ZERO, &mut &b""[..]), Ok(None));
    engine.cancel(Duration::ZERO, CallId(1));
    assert_eq!(engine.poll_event(Duration::ZERO, &mut &b""[..]), Ok(Some(Event::Drained)));
    assert_eq!(engine.poll_event(Duration::ZERO, &mut &b""[..]), Ok(None));
}

#[test]
fn nothing_is_told_of_a_call_that_was_given_up() {
    let options = Options { header_blocks: true, ..Options::default() };
    let mut engine = connection(options, &[request("GET", b""), request("GET", b"")]);
    let script = Script::default().settings(&[]).head(1, &[(":status", "200")], true).head(
        3,
        &[(":status", "200")],
        true,
    );
    let mut input = &script.bytes[..];
    assert_eq!(engine.poll_event(Duration::ZERO, &mut input), Ok(Some(started(0, 200))));
    engine.cancel(Duration::ZERO, CallId(0));
    let (events, end) = feed(&mut engine, &[input]);
    let expected = vec![started(1, 200), head(1, "HTTP/2 200\r\n\r\n"), done(1, 14, 0, 0)];
    assert_eq!((events, end), (expected, Ok(())));
}

/// Hands out streams alone.
fn handing_out_streams() -> Options {
    Options { streamed: Streamed::EventStreams, ..Options::default() }
}

#[test]
fn a_stream_that_is_wanted_is_not_skipped() {
    for (content_type, skippable) in [("text/event-stream", 0), ("text/plain", 900)] {
        let mut engine = connection(handing_out_streams(), &[request("GET", b"")]);
        let script = Script::default()
            .settings(&[])
            .head(1, &[(":status", "200"), ("content-type", content_type)], false)
            .data(1, &[b'x'; 1000], false);
        let (_, end) = feed(&mut engine, &[&script.bytes[..script.bytes.len() - 900]]);
        assert_eq!((end, engine.skippable()), (Ok(()), skippable), "{content_type}");
    }
}

fn opening() -> Request {
    let opening = crate::request::Opening { key: "k", extensions: "", protocols: "" };
    RequestParts { websocket: Some(opening), host: Some("h"), ..RequestParts::to(b"/ws") }.request()
}

const WEBSOCKETS: &[Parameter] = &[Parameter::EnableConnectProtocol(true)];

/// The frames among these bytes: kind, flags, stream and payload.
fn frames(mut bytes: &[u8]) -> Vec<(u8, u8, u32, Vec<u8>)> {
    let mut found = Vec::new();
    while let [a, b, c, kind, flags, s0, s1, s2, s3, rest @ ..] = bytes {
        let size = u32::from_be_bytes([0, *a, *b, *c]) as usize;
        let (payload, behind) = rest.split_at(size);
        found.push((*kind, *flags, u32::from_be_bytes([*s0, *s1, *s2, *s3]), payload.to_vec()));
        bytes = behind;
    }
    found
}

const DATA: u8 = 0;
const RST_STREAM: u8 = 3;
const GOAWAY: u8 = 7;

#[test]
fn a_websocket_waits_for_the_settings_and_is_a_stream_that_goes_on() {
    let mut engine = connection(Options::default(), &[opening(), request("GET", b"")]);
    // Behind it, even a plain call waits: nothing overtakes.
    assert_eq!((engine.open_streams(), engine.pending_count()), (0, 2));
    tell(&mut engine, &Script::default().settings(WEBSOCKETS));
    let sent = frames(&flush(&mut engine));
    let heads: Vec<(u8, u32)> =
        sent.iter().filter(|frame| frame.0 == 1).map(|frame| (frame.1, frame.2)).collect();
    assert_eq!(heads, [(4, 1), (5, 3)], "the first goes on, the second ends its stream");
    assert_eq!(engine.poll_sent(), Some(Sent::Started(CallId(0))));
    assert_eq!(engine.poll_sent(), Some(Sent::Finished(CallId(0))));
    let script = Script::default().head(1, &[(":status", "200")], false).data(1, b"\x81\x02hi", false);
    for cut in [0, 1, 9, 12, script.bytes.len()] {
        let mut engine = connection(handing_out_streams(), &[opening()]);
        tell(&mut engine, &Script::default().settings(WEBSOCKETS));
        flush(&mut engine);
        let (events, end) = feed(&mut engine, &[&script.bytes[..cut], &script.bytes[cut..]]);
        let is_begun = matches!(
            &events[..],
            [Event::ReplyStarted { status: 200, .. }, Event::StreamStarted { .. }, Event::ReplyBody { data, .. }]
                if data[..] == b"\x81\x02hi"[..]
        );
        assert!(is_begun && end.is_ok(), "cut at {cut}: {events:?} {end:?}");
    }
}

#[test]
fn what_is_sent_on_a_websocket_keeps_to_the_windows() {
    let small = [Parameter::EnableConnectProtocol(true), Parameter::InitialWindowSize(5)];
    let mut engine = connection(Options { bodies: true, ..Options::default() }, &[opening()]);
    tell(&mut engine, &Script::default().settings(&small));
    flush(&mut engine);
    tell(&mut engine, &Script::default().head(1, &[(":status", "200")], false));
    flush(&mut engine);
    engine.send(CallId(0), b"abcdefgh");
    assert_eq!(frames(&flush(&mut engine)), [(DATA, 0, 1, b"abcde".to_vec())]);
    assert_eq!(engine.unsent(CallId(0)), 8);
    engine.send(CallId(0), b"ij");
    assert!(!engine.wants_write());
    tell(&mut engine, &Script::default().raw(8, 0, 1, &[0, 0, 0, 100]));
    assert_eq!(frames(&flush(&mut engine)), [(DATA, 0, 1, b"fghij".to_vec())]);
    assert_eq!(engine.unsent(CallId(0)), 0);
    engine.send(CallId(0), b"bye");
    engine.finish(Duration::ZERO, CallId(0));
    engine.send(CallId(0), b"too late");
    let (events, _) = feed(&mut engine, &[b""]);
    assert!(
        matches!(events[..], [Event::ReplyDone { call: CallId(0), reuse: Reuse::Keep, .. }]),
        "{events:?}"
    );
    assert_eq!(frames(&flush(&mut engine)), [(DATA, 1, 1, b"bye".to_vec())]);
    // The peer may end its side now, or with the connection.
    tell(&mut engine, &Script::default().data(1, b"", true));
    assert_eq!((engine.pending_count(), engine.handle_eof()), (0, Ok(())));
}

#[test]
fn a_peer_that_ends_its_side_first_gets_the_rest() {
    let opened = || {
        let mut engine = connection(handing_out_streams(), &[opening()]);
        tell(&mut engine, &Script::default().settings(WEBSOCKETS));
        flush(&mut engine);
        tell(&mut engine, &Script::default().head(1, &[(":status", "200")], false));
        flush(&mut engine);
        engine
    };
    let mut engine = opened();
    let script = Script::default().data(1, b"\x88\x00", true);
    let mut input = &script.bytes[..];
    let event = engine.poll_event(Duration::ZERO, &mut input).unwrap();
    assert!(matches!(event, Some(Event::ReplyBody { .. })), "{event:?}");
    engine.send(CallId(0), b"bye");
    engine.finish(Duration::ZERO, CallId(0));
    let (events, end) = feed(&mut engine, &[input]);
    assert!(matches!(events[..], [Event::ReplyDone { .. }]) && end.is_ok(), "{events:?}");
    assert_eq!(frames(&flush(&mut engine)), [(DATA, 1, 1, b"bye".to_vec())]);
    // Without a close, it is cut.
    let mut engine = opened();
    let (events, _) = feed(&mut engine, &[&Script::default().data(1, b"\x81", true).bytes]);
    assert!(
        matches!(events[..], [Event::ReplyBody { .. }, Event::CallFailed { call: CallId(0), .. }]),
        "{events:?}"
    );
    assert_eq!(frames(&flush(&mut engine))[0].0, RST_STREAM);
}

#[test]
fn a_websocket_that_is_refused_is_a_reply() {
    let mut engine = connection(Options { bodies: true, ..Options::default() }, &[opening()]);
    tell(&mut engine, &Script::default().settings(WEBSOCKETS));
    flush(&mut engine);
    let script = Script::default().head(1, &[(":status", "403")], false).data(1, b"no", true);
    let (events, _) = feed(&mut engine, &[&script.bytes]);
    let is_reply = matches!(
        events[..],
        [Event::ReplyStarted { status: 403, .. }, Event::ReplyBody { .. }, Event::ReplyDone { .. }]
    );
    assert!(is_reply, "{events:?}");
    assert_eq!(frames(&flush(&mut engine)), [(DATA, 1, 1, Vec::new())], "our side ends as well");
}

#[test]
fn a_server_that_takes_no_websockets_is_named() {
    let mut engine = connection(handing_out_streams(), &[opening()]);
    let (events, end) = feed(&mut engine, &[&Script::default().settings(&[]).bytes]);
    let error = end.unwrap_err();
    assert_eq!((events.len(), engine.pending_count()), (0, 1));
    assert!(error.to_string().contains("takes no WebSockets over HTTP/2"), "{error}");
    assert!(frames(&flush(&mut engine)).iter().any(|frame| frame.0 == GOAWAY));
    // The same once its settings are known.
    let mut engine = connection(Options::default(), &[]);
    tell(&mut engine, &Script::default().settings(&[]));
    engine.submit(Duration::ZERO, CallId(0), opening()).unwrap();
    flush(&mut engine);
    let (_, end) = feed(&mut engine, &[b""]);
    assert_eq!(end.unwrap_err(), error);
}
