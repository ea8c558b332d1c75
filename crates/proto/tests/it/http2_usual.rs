//! Servers that keep to the rules of HTTP/2 in ways that are easily got wrong.

use std::time::Duration;

use httperf_proto::http2::{Engine, Options};
use httperf_proto::{Awaited, CallId, Event, Sent, Stall};
use httperf_testkit::http2::frames::{code, flag, headers, kind, padded, setting};
use httperf_testkit::http2::{Frame, Incoming, Reply, Script, Server, owned};

use crate::common;
use crate::common::{
    NOW, body, connection, done, failed, feed, flush, gets, head, last, play, play_parts, request,
    request_for, returned, started,
};

const OK: &[(&str, &str)] = &[(":status", "200")];
const OK_TEXT: &str = "HTTP/2 200\r\n\r\n";

fn options() -> Options {
    Options { header_blocks: true, bodies: true, ..Options::default() }
}

fn server() -> Script {
    Script::new().settings(&[])
}

/// A client and a server that talk to each other.
struct Pair {
    client: Engine,
    server: Server,
    events: Vec<Event<'static>>,
    heard: Vec<Incoming>,
}

impl Pair {
    fn new(options: Options, settings: &[(u16, u32)]) -> Self {
        Self {
            client: Engine::new(options),
            server: Server::new(settings),
            events: Vec::new(),
            heard: Vec::new(),
        }
    }

    fn submit(&mut self, call: u64, method: &str, body: &[u8]) {
        self.client.submit(NOW, CallId(call), request(method, body)).expect("there is room");
    }

    /// Passes on what each has to say, until neither has anything.
    fn talk(&mut self) {
        loop {
            let from_client = flush(&mut self.client);
            self.heard.extend(self.server.receive(&from_client));
            let from_server = self.server.take_output();
            let (events, end) = feed(&mut self.client, &[], &mut Vec::new());
            assert_eq!((events, end), (Vec::new(), Ok(())));
            let mut input = &from_server[..];
            while let Some(event) = self.client.poll_event(NOW, &mut input).expect("the server is right") {
                common::join(&mut self.events, event);
            }
            if from_client.is_empty() && from_server.is_empty() {
                return;
            }
        }
    }

    /// Returns how much of the body of a stream has arrived.
    fn received(&self, stream: u32) -> usize {
        let size = |incoming: &Incoming| match incoming {
            Incoming::Data { stream: its, bytes, .. } if *its == stream => bytes.len(),
            _ => 0,
        };
        self.heard.iter().map(size).sum()
    }

    fn take_events(&mut self) -> Vec<Event<'static>> {
        std::mem::take(&mut self.events)
    }
}

// Replies.

#[test]
fn padding_and_priority_are_passed_over() {
    let mut script = server();
    let block = script.block(OK);
    let payload = padded(&[&[0x80, 0, 0, 5, 200], &block[..]].concat(), 77);
    let flags = flag::END_HEADERS | flag::PADDED | flag::PRIORITY;
    let script = script
        .frame(kind::PRIORITY, 0, 1, &[0; 5])
        .frame(kind::PRIORITY, 0, 9, &[0; 5])
        .frame(kind::HEADERS, flags, 1, &payload)
        .frame(kind::DATA, flag::PADDED, 1, &padded(b"hel", 255))
        .frame(kind::DATA, flag::PADDED, 1, &padded(b"", 7))
        .frame(kind::DATA, flag::PADDED, 1, &padded(b"lo", 0))
        .frame(kind::DATA, flag::PADDED | flag::END_STREAM, 1, &padded(b"", 0));
    let outcome = play(options(), &gets(1), script.bytes());
    assert_eq!(outcome.events, [started(0, 200), head(0, OK_TEXT), body(0, b"hello"), done(0, 14, 5, 0)]);
    assert_eq!(outcome.end, Ok(()));
}

#[test]
fn a_reply_may_have_all_its_parts_in_small_pieces() {
    let script = server()
        .head(1, &[(":status", "100")], false)
        .head_in_pieces(1, &[(":status", "103"), ("link", "</x>; rel=preload")], 1, false)
        .head_in_pieces(1, &[(":status", "200"), ("content-length", "3")], 2, false)
        .data(1, b"", false)
        .data(1, b"a", false)
        .data(1, b"bc", false)
        .head_in_pieces(1, &[("x-sum", "1"), ("x-more", "")], 1, true);
    let outcome = play(options(), &gets(1), script.bytes());
    let text = "HTTP/2 200\r\ncontent-length: 3\r\n\r\n";
    let footer = "x-sum: 1\r\nx-more: \r\n\r\n".len() as u64;
    let expected = [started(0, 200), head(0, text), body(0, b"abc"), done(0, text.len() as u64, 3, footer)];
    assert_eq!((outcome.end, outcome.events), (Ok(()), expected.to_vec()));
}

#[test]
fn empty_pieces_of_a_header_block_are_pieces_all_the_same() {
    let script = server()
        .frame(kind::HEADERS, 0, 1, b"")
        .frame(kind::CONTINUATION, 0, 1, b"\x88")
        .frame(kind::CONTINUATION, flag::END_HEADERS, 1, b"")
        .data(1, b"", true);
    let outcome = play(options(), &gets(1), script.bytes());
    assert_eq!(
        (outcome.end, outcome.events),
        (Ok(()), vec![started(0, 200), head(0, OK_TEXT), done(0, 14, 0, 0)])
    );
}

#[test]
fn replies_without_content_may_say_how_long_it_would_be() {
    for (method, status) in [("HEAD", "200"), ("GET", "304"), ("GET", "204")] {
        for end_stream in [true, false] {
            let script = server().head(1, &[(":status", status), ("content-length", "1000")], end_stream);
            let script = if end_stream { script } else { script.data(1, b"", true) };
            let outcome = play(options(), &[request(method, b"")], script.bytes());
            let text = format!("HTTP/2 {status}\r\ncontent-length: 1000\r\n\r\n");
            let status = status.parse().expect("a number");
            let expected = [started(0, status), head(0, &text), done(0, text.len() as u64, 0, 0)];
            assert_eq!((outcome.end, outcome.events), (Ok(()), expected.to_vec()), "{method} {status}");
        }
    }
}

#[test]
fn replies_are_divided_among_each_other() {
    let script = server()
        .head(5, OK, false)
        .head(1, &[(":status", "404")], false)
        .data(1, b"a", false)
        .data(5, b"b", false)
        .head(3, &[(":status", "500")], true)
        .data(1, b"c", true)
        .data(5, b"d", true);
    let outcome = play(options(), &gets(3), script.bytes());
    let expected = [
        started(2, 200),
        head(2, OK_TEXT),
        started(0, 404),
        head(0, "HTTP/2 404\r\n\r\n"),
        body(0, b"a"),
        body(2, b"b"),
        started(1, 500),
        head(1, "HTTP/2 500\r\n\r\n"),
        done(1, 14, 0, 0),
        body(0, b"c"),
        done(0, 14, 2, 0),
        body(2, b"d"),
        done(2, 14, 2, 0),
    ];
    assert_eq!((outcome.end, outcome.events), (Ok(()), expected.to_vec()));
}

#[test]
fn many_streams_are_answered_in_any_order() {
    let mut pair = Pair::new(Options::default(), &[]);
    pair.talk();
    for round in 0..5_u64 {
        let calls: Vec<u64> = (0..200).map(|call| 200 * round + call).collect();
        calls.iter().for_each(|&call| pair.submit(call, "GET", b""));
        pair.talk();
        assert_eq!(pair.server.open_count(), 200);
        // 77 and 200 have no factor in common.
        for place in 0..200 {
            let call = 200 * round + place * 77 % 200;
            pair.server.head(2 * call as u32 + 1, OK, 100, true);
        }
        pair.talk();
        let expected: Vec<_> = (0..200)
            .map(|place| 200 * round + place * 77 % 200)
            .flat_map(|call| [started(call, 200), done(call, 14, 0, 0)])
            .collect();
        assert_eq!(pair.take_events(), expected);
    }
    assert_eq!(pair.client.pending_count(), 0);
}

#[test]
fn a_reply_may_be_complete_before_its_request() {
    let mut pair = Pair::new(options(), &[(setting::INITIAL_WINDOW_SIZE, 10)]);
    pair.talk();
    pair.submit(0, "POST", &[b'x'; 100]);
    pair.submit(1, "POST", &[b'y'; 100]);
    pair.talk();
    assert_eq!((pair.received(1), pair.received(3)), (10, 10));
    pair.server.head(1, &[(":status", "413")], 100, true);
    // A server may say that it does not want the rest.
    pair.server.reset(1, code::NO_ERROR);
    pair.talk();
    assert_eq!(pair.take_events(), [started(0, 413), head(0, "HTTP/2 413\r\n\r\n"), done(0, 14, 0, 0)]);
    assert!(pair.heard.contains(&Incoming::Reset { stream: 1, code: code::CANCEL }), "{:?}", pair.heard);
    // The connection continues.
    pair.server.grant(3, 90);
    pair.talk();
    assert_eq!(pair.received(3), 100);
    pair.server.head(3, OK, 100, true);
    pair.talk();
    assert_eq!(pair.take_events(), [started(1, 200), head(1, OK_TEXT), done(1, 14, 0, 0)]);
}

#[test]
fn a_reply_may_begin_before_its_request_ends() {
    let mut pair = Pair::new(Options::default(), &[(setting::INITIAL_WINDOW_SIZE, 10)]);
    pair.talk();
    pair.submit(0, "POST", &[b'x'; 30]);
    pair.talk();
    pair.server.head(1, OK, 100, false);
    pair.server.data(1, b"early", None, false);
    pair.talk();
    pair.server.grant(1, 30);
    pair.talk();
    assert_eq!(pair.received(1), 30);
    pair.server.data(1, b"", None, true);
    pair.talk();
    assert_eq!(pair.take_events(), [started(0, 200), done(0, 14, 5, 0)]);
}

// Settings.

#[test]
fn the_server_may_speak_first() {
    let mut engine = Engine::new(options());
    engine.submit(NOW, CallId(0), request("GET", b"")).expect("there is room");
    let script = Script::new().settings(&[(setting::MAX_CONCURRENT_STREAMS, 7)]);
    assert_eq!(feed(&mut engine, &[script.bytes()], &mut Vec::new()), (vec![], Ok(())));
    let mut engine = Engine::new(options());
    engine.submit(NOW, CallId(0), request("GET", b"")).expect("there is room");
    assert_eq!(engine.poll_event(NOW, &mut script.bytes()), Ok(None));
    let mut server = Server::new(&[(setting::MAX_CONCURRENT_STREAMS, 7)]);
    let heard = server.receive(&flush(&mut engine));
    assert!(heard.contains(&Incoming::SettingsAck), "{heard:?}");
    let script = Script::new().head(1, OK, true);
    let (events, end) = feed(&mut engine, &[script.bytes()], &mut Vec::new());
    assert_eq!((events.len(), end), (3, Ok(())));
}

#[test]
fn windows_of_streams_may_shrink_below_zero_and_grow_again() {
    let mut pair = Pair::new(Options::default(), &[(setting::INITIAL_WINDOW_SIZE, 100)]);
    pair.talk();
    pair.submit(0, "POST", &[b'x'; 1000]);
    pair.talk();
    assert_eq!(pair.received(1), 100);
    // Now it is 80 below zero.
    pair.server.settings(&[(setting::INITIAL_WINDOW_SIZE, 20)]);
    pair.talk();
    assert_eq!((pair.received(1), pair.server.receive_room(1)), (100, -80));
    pair.server.grant(1, 80);
    pair.talk();
    assert_eq!(pair.received(1), 100);
    pair.server.grant(1, 1);
    pair.talk();
    assert_eq!(pair.received(1), 101);
    pair.server.settings(&[(setting::INITIAL_WINDOW_SIZE, 0)]);
    pair.server.settings(&[(setting::INITIAL_WINDOW_SIZE, 50)]);
    pair.talk();
    assert_eq!(pair.received(1), 131);
    pair.server.settings(&[(setting::INITIAL_WINDOW_SIZE, 65_535)]);
    pair.talk();
    assert_eq!(pair.received(1), 1000);
}

/// The part of a body that a server with small windows takes at a time.
const SMALL_WINDOW: u32 = (1 << 14) - 1;

/// A client that has written this much of its first flight when the server's settings, with a smaller window, arrive. The
/// server panics if more comes than its windows allow: the first until the acknowledgement, the smaller one from there on.
#[track_caller]
fn check_window_race(written: usize, grants_before_settings: bool) -> usize {
    let body = vec![b'x'; 200_000];
    let (mut client, mut server) =
        (Engine::new(Options::default()), Server::new(&[(setting::INITIAL_WINDOW_SIZE, SMALL_WINDOW)]));
    client.submit(NOW, CallId(0), request("POST", &body)).expect("there is room");
    let mut heard = Vec::new();
    let mut left = written;
    while left > 0 && client.wants_write() {
        let bytes = client.poll_transmit(NOW);
        let count = bytes.len().min(left);
        heard.extend(server.receive(&bytes[..count]));
        client.handle_written(count);
        client.handle_blocked();
        left -= count;
    }
    let before = content(&heard);
    if grants_before_settings && before > 0 {
        server.grant(1, before as u32);
        server.grant(0, before as u32);
    }
    // The settings come first of all that the server says.
    let from_server = server.take_output();
    assert_eq!(client.poll_event(NOW, &mut &from_server[..]), Ok(None), "after {written} bytes");
    let mut granted = if grants_before_settings { before } else { 0 };
    while content(&heard) < body.len() {
        heard.extend(server.receive(&flush(&mut client)));
        assert_eq!(server.unacknowledged_count(), 0, "after {written} bytes");
        // What was on its way counts against the smaller window.
        let (room, total) = (server.receive_room(1), content(&heard));
        assert!(room <= i64::from(SMALL_WINDOW), "after {written} bytes: {room}");
        assert!(
            room <= 0 || total == body.len() || server.receive_room(0) == 0,
            "after {written} bytes: {room}"
        );
        let missing = (total - granted) as u32;
        server.grant(1, missing);
        server.grant(0, missing);
        granted = total;
        let from_server = server.take_output();
        assert_eq!(client.poll_event(NOW, &mut &from_server[..]), Ok(None), "after {written} bytes");
    }
    before
}

fn content(heard: &[Incoming]) -> usize {
    let size =
        |incoming: &Incoming| if let Incoming::Data { bytes, .. } = incoming { bytes.len() } else { 0 };
    heard.iter().map(size).sum()
}

#[test]
fn a_body_keeps_to_a_window_that_shrinks_while_its_first_bytes_are_under_way() {
    let mut sizes = std::collections::BTreeSet::new();
    for written in [0, 1, 24, 60, 100, 5_000, 16_384, 16_600, 33_000, 49_152, 60_000, 65_535, 65_600, 100_000]
    {
        for grants_before_settings in [false, true] {
            sizes.insert(check_window_race(written, grants_before_settings));
        }
    }
    // From none of the body up to all that the first window takes.
    assert_eq!((sizes.first(), sizes.last()), (Some(&0), Some(&65_535)), "{sizes:?}");
}

#[test]
fn a_setting_counts_as_it_is_said_last() {
    let twice = [(setting::INITIAL_WINDOW_SIZE, 5), (setting::INITIAL_WINDOW_SIZE, 70)];
    let mut pair = Pair::new(Options::default(), &twice);
    pair.talk();
    pair.submit(0, "POST", &[b'x'; 100]);
    pair.talk();
    assert_eq!(pair.received(1), 70);
    assert_eq!(pair.client.peer_settings().map(|settings| settings.window), Some(70));
}

#[test]
fn windows_may_be_of_a_byte() {
    let mut pair = Pair::new(Options::default(), &[(setting::INITIAL_WINDOW_SIZE, 1)]);
    pair.talk();
    let content: Vec<u8> = (0..15_000_u32).map(|place| place as u8).collect();
    pair.submit(0, "POST", &content);
    // More of them in a row than frames are allowed that bring nobody further.
    for size in 1..15_000 {
        pair.talk();
        assert_eq!(pair.received(1), size);
        pair.server.grant(1, 1);
        if size % 1000 == 0 {
            pair.server.grant(0, 1000);
        }
    }
    pair.talk();
    assert_eq!(pair.received(1), 15_000);
    let pieces: Vec<u8> = pair
        .heard
        .iter()
        .filter_map(|incoming| match incoming {
            Incoming::Data { bytes, .. } => Some(bytes.clone()),
            _ => None,
        })
        .flatten()
        .collect();
    assert_eq!(pieces, content);
}

#[test]
fn windows_of_ours_may_be_of_a_byte() {
    let mut pair = Pair::new(Options { window: 1, ..options() }, &[]);
    pair.talk();
    pair.submit(0, "GET", b"");
    pair.talk();
    pair.server.head(1, &[(":status", "200"), ("content-length", "300")], 100, false);
    for _ in 0..300 {
        assert_eq!(pair.server.room(1), 1);
        pair.server.data(1, b"x", None, false);
        pair.talk();
    }
    pair.server.data(1, b"", None, true);
    pair.talk();
    assert_eq!(pair.take_events()[2..], [body(0, &[b'x'; 300]), done(0, 35, 300, 0)]);
}

#[test]
fn the_window_of_the_connection_is_shared_in_turn() {
    let mut pair = Pair::new(Options::default(), &[(setting::INITIAL_WINDOW_SIZE, 1 << 20)]);
    pair.talk();
    (0..4).for_each(|call| pair.submit(call, "POST", &[b'x'; 100_000]));
    pair.talk();
    let received = |pair: &Pair| [1, 3, 5, 7].map(|stream| pair.received(stream));
    assert_eq!(received(&pair), [16_384, 16_384, 16_384, 16_383]);
    pair.server.grant(0, 40_000);
    pair.talk();
    assert_eq!(received(&pair).iter().sum::<usize>(), 65_535 + 40_000);
    let [first, second, third, fourth] = received(&pair);
    assert_eq!((first, second, third + fourth), (32_768, 32_768, 40_000 - 1), "{third} and {fourth}");
    pair.server.grant(0, 16_384);
    pair.talk();
    assert_eq!(received(&pair)[3], fourth + 16_384, "who has waited longest is next");
    pair.server.grant(0, 400_000);
    pair.talk();
    assert_eq!(received(&pair), [100_000; 4]);
}

#[test]
fn frames_are_as_large_as_the_server_takes_them() {
    let mut pair = Pair::new(Options::default(), &[(setting::INITIAL_WINDOW_SIZE, 1 << 20)]);
    pair.server.grant(0, 1 << 20);
    pair.talk();
    let largest = |pair: &Pair, stream| {
        let size = |incoming: &Incoming| match incoming {
            Incoming::Data { stream: its, bytes, .. } if *its == stream => Some(bytes.len()),
            _ => None,
        };
        pair.heard.iter().filter_map(size).max()
    };
    pair.submit(0, "POST", &[b'x'; 50_000]);
    pair.talk();
    assert_eq!(largest(&pair, 1), Some(16_384));
    pair.server.settings(&[(setting::MAX_FRAME_SIZE, 30_000)]);
    pair.talk();
    pair.submit(1, "POST", &[b'x'; 50_000]);
    pair.talk();
    assert_eq!(largest(&pair, 3), Some(30_000));
    // Beyond some size nothing is won, and memory is lost.
    pair.server.settings(&[(setting::MAX_FRAME_SIZE, (1 << 24) - 1)]);
    pair.talk();
    pair.submit(2, "POST", &[b'x'; 500_000]);
    pair.talk();
    assert_eq!(largest(&pair, 5), Some(65_536));
    pair.server.settings(&[(setting::MAX_FRAME_SIZE, 16_384)]);
    pair.talk();
    pair.submit(3, "POST", &[b'x'; 50_000]);
    pair.talk();
    assert_eq!(largest(&pair, 7), Some(16_384));
}

#[test]
fn a_header_block_goes_on_in_frames_that_the_server_takes() {
    let mut pair = Pair::new(Options::default(), &[]);
    pair.talk();
    let uri = format!("/{}", "\u{7f}~".repeat(20_000));
    let long = request_for("GET", &uri, b"");
    pair.client.submit(NOW, CallId(0), long).expect("there is room");
    pair.talk();
    let Some(Incoming::Request { fields, .. }) = pair.heard.last() else { panic!("{:?}", pair.heard) };
    assert!(fields.contains(&(":path".to_owned(), uri)));
}

#[test]
fn the_servers_table_may_shrink_and_grow() {
    let mut pair = Pair::new(Options::default(), &[]);
    pair.talk();
    let mut sizes = Vec::new();
    for (call, size) in
        (0..).zip([None, None, Some(0), None, Some(4096), None, Some(100), Some(60), Some(65_536), None])
    {
        if let Some(size) = size {
            pair.server.settings(&[(setting::HEADER_TABLE_SIZE, size)]);
            pair.talk();
        }
        let before = pair.client.take_counts();
        drop(before);
        pair.submit(call, "GET", b"");
        pair.talk();
        let Some(Incoming::Request { fields, .. }) = pair.heard.last() else { panic!("{:?}", pair.heard) };
        let expected = owned(&[
            (":method", "GET"),
            (":scheme", "http"),
            (":authority", "localhost"),
            (":path", "/"),
            ("user-agent", "httperf"),
        ]);
        assert_eq!(*fields, expected);
        sizes.push(pair.client.take_counts().headers_sent.encoded);
    }
    assert!(sizes[1] < sizes[0] && sizes[2] > sizes[1] && sizes[5] < sizes[4], "{sizes:?}");
    // In one frame: it must be said that everything was dropped, even if the size is the same in the end.
    pair.server.settings(&[(setting::HEADER_TABLE_SIZE, 0), (setting::HEADER_TABLE_SIZE, 65_536)]);
    pair.talk();
    pair.submit(100, "GET", b"");
    pair.talk();
    let counts = pair.client.take_counts();
    assert!(counts.headers_sent.encoded > sizes[9], "{counts:?} {sizes:?}");
}

#[test]
fn our_table_may_be_larger_or_smaller_than_usual() {
    for size in [0, 64, 4096, 100_000] {
        let mut pair = Pair::new(Options { header_table: size, ..options() }, &[]);
        pair.talk();
        for call in 0..20 {
            pair.submit(call, "GET", b"");
            pair.talk();
            let number = call.to_string();
            let fields = [(":status", "200"), ("x-number", &number), ("server", "x")];
            pair.server.head(2 * call as u32 + 1, &fields, 100, true);
            pair.talk();
            let text = format!("HTTP/2 200\r\nx-number: {number}\r\nserver: x\r\n\r\n");
            let expected = [started(call, 200), head(call, &text), done(call, text.len() as u64, 0, 0)];
            assert_eq!(pair.take_events(), expected);
        }
    }
}

#[test]
fn the_number_of_streams_may_fall_to_none_and_rise_again() {
    let mut pair = Pair::new(Options::default(), &[(setting::MAX_CONCURRENT_STREAMS, 2)]);
    pair.talk();
    (0..5).for_each(|call| pair.submit(call, "GET", b""));
    pair.talk();
    assert_eq!(pair.server.open_count(), 2);
    pair.server.settings(&[(setting::MAX_CONCURRENT_STREAMS, 0)]);
    pair.talk();
    pair.server.head(1, OK, 100, true);
    pair.server.head(3, OK, 100, true);
    pair.talk();
    assert_eq!((pair.server.open_count(), pair.client.pending_count()), (0, 3));
    assert!(!pair.client.wants_write());
    pair.server.settings(&[(setting::MAX_CONCURRENT_STREAMS, 1)]);
    pair.talk();
    assert_eq!(pair.server.open_count(), 1);
    pair.server.settings(&[(setting::MAX_CONCURRENT_STREAMS, 100)]);
    pair.talk();
    assert_eq!(pair.server.open_count(), 3);
}

#[test]
fn a_call_waits_for_a_stream_from_when_there_is_none() {
    let ms = Duration::from_millis;
    let stream = |call, time| Stall { call: CallId(call), what: Awaited::Stream, time };
    let mut engine = connection(Options::default(), &[]);
    let script = Script::new().settings(&[(setting::MAX_CONCURRENT_STREAMS, 1)]);
    assert_eq!(engine.poll_event(ms(1), &mut script.bytes()), Ok(None));
    // There is room for the first when it comes, and yet no longer when it could go out.
    (0..2).for_each(|call| engine.submit(ms(2), CallId(call), request("GET", b"")).expect("there is room"));
    let fewer = Script::new().settings(&[(setting::MAX_CONCURRENT_STREAMS, 0)]);
    assert_eq!(engine.poll_event(ms(5), &mut fewer.bytes()), Ok(None));
    let more = Script::new().settings(&[(setting::MAX_CONCURRENT_STREAMS, 9)]);
    assert_eq!(engine.poll_event(ms(9), &mut more.bytes()), Ok(None));
    assert_ne!(engine.poll_transmit(ms(9)), b"");
    assert_eq!(engine.poll_stall(), Some(stream(0, ms(4))));
    assert_eq!(engine.poll_stall(), Some(stream(1, ms(7))));
    assert_eq!(engine.poll_stall(), None);
}

#[test]
fn a_body_waits_for_a_window_from_when_there_is_none() {
    let ms = Duration::from_millis;
    let mut engine = connection(Options::default(), &[]);
    assert_eq!(engine.poll_event(ms(0), &mut server().bytes()), Ok(None));
    // Together they want a byte more than the connection has.
    engine.submit(ms(1), CallId(0), request("POST", &[b'x'; 65_535])).expect("there is room");
    engine.submit(ms(1), CallId(1), request("POST", b"y")).expect("there is room");
    let mut sent = 0;
    while engine.wants_write() {
        let count = engine.poll_transmit(ms(1)).len();
        assert_ne!(count, 0);
        engine.handle_written(count);
        sent += count;
    }
    assert!(sent > 65_535, "{sent}");
    let script = Script::new().window_update(0, 10);
    assert_eq!(engine.poll_event(ms(8), &mut script.bytes()), Ok(None));
    assert_eq!(engine.poll_transmit(ms(8)).len(), 10);
    engine.handle_written(10);
    let script = Script::new().head(3, OK, true).head(1, OK, true);
    let mut input = script.bytes();
    while engine.poll_event(ms(20), &mut input).expect("the server is right").is_some() {}
    assert_eq!(engine.poll_stall(), Some(Stall { call: CallId(0), what: Awaited::Window, time: ms(7) }));
    assert_eq!(engine.poll_stall(), None, "the other had its turn");
}

#[test]
fn one_who_wants_to_write_has_something_to_write() {
    let mut engine = connection(Options::default(), &[request("POST", &[b'x'; 100_000])]);
    let tell = |engine: &mut Engine, script: &Script| {
        assert_eq!(engine.poll_event(NOW, &mut script.bytes()), Ok(None));
    };
    tell(&mut engine, &server());
    flush(&mut engine);
    assert!(!engine.wants_write(), "no window is left");
    tell(&mut engine, &Script::new().window_update(1, 100));
    assert!(!engine.wants_write(), "none of the connection");
    tell(&mut engine, &Script::new().window_update(0, 100));
    assert!(engine.wants_write());
    tell(&mut engine, &Script::new().settings(&[(setting::INITIAL_WINDOW_SIZE, 0)]));
    // The acknowledgement and nothing else: `flush` compares.
    assert_eq!(flush(&mut engine).len(), 9);
    tell(&mut engine, &Script::new().window_update(1, 1 << 20));
    assert_eq!(flush(&mut engine).len(), 9 + 100);
}

// The end of streams and connections.

#[test]
fn a_call_may_be_given_up_at_any_time() {
    let mut pair =
        Pair::new(options(), &[(setting::INITIAL_WINDOW_SIZE, 10), (setting::MAX_CONCURRENT_STREAMS, 3)]);
    pair.talk();
    (0..4).for_each(|call| pair.submit(call, "POST", &[b'x'; 100]));
    pair.talk();
    pair.server.head(3, OK, 100, false);
    pair.server.data(3, b"some", None, false);
    pair.talk();
    assert_eq!(pair.take_events(), [started(1, 200), head(1, OK_TEXT), body(1, b"some")]);
    // One that waits, one whose body waits, one whose reply has begun, and one that is not there.
    for call in [3, 0, 1, 9] {
        pair.client.cancel(NOW, CallId(call));
    }
    assert_eq!(pair.client.pending().collect::<Vec<_>>(), [CallId(2)]);
    // What the server has sent meanwhile.
    pair.server.head(1, OK, 100, false);
    pair.server.data(1, b"late", None, true);
    pair.server.data(3, b"late", None, true);
    pair.talk();
    assert_eq!(pair.take_events(), []);
    for stream in [1, 3] {
        assert!(pair.heard.contains(&Incoming::Reset { stream, code: code::CANCEL }), "{:?}", pair.heard);
    }
    pair.server.grant(5, 90);
    pair.talk();
    pair.server.head(5, OK, 100, true);
    pair.talk();
    assert_eq!(pair.take_events(), [started(2, 200), head(2, OK_TEXT), done(2, 14, 0, 0)]);
    // What was thrown away has been given back to the server.
    assert_eq!(pair.client.take_counts().resets_sent, [("no reply in time", 2)]);
}

#[test]
fn what_was_thrown_away_does_not_use_up_the_window_of_the_connection() {
    let mut pair = Pair::new(options(), &[]);
    pair.talk();
    for call in 0..20 {
        pair.submit(call, "GET", b"");
        pair.talk();
        let stream = 2 * call as u32 + 1;
        pair.server.head(stream, OK, 100, false);
        pair.client.cancel(NOW, CallId(call));
        (0..2).for_each(|_| pair.server.data(stream, &[b'x'; 16_000], Some(200), false));
        pair.talk();
    }
    assert!(pair.server.open_count() == 0 && pair.client.pending_count() == 0);
}

#[test]
fn goaway_lets_uploads_end_and_begins_none() {
    let mut pair = Pair::new(
        Options::default(),
        &[(setting::INITIAL_WINDOW_SIZE, 10), (setting::MAX_CONCURRENT_STREAMS, 2)],
    );
    pair.talk();
    (0..3).for_each(|call| pair.submit(call, "POST", &[b'x'; 100]));
    pair.talk();
    pair.server.goaway(1, code::NO_ERROR);
    pair.talk();
    assert_eq!(pair.take_events(), [returned(1), returned(2), Event::Draining]);
    assert_eq!((pair.client.capacity(), pair.client.is_draining()), (0, true));
    pair.server.grant(1, 90);
    pair.talk();
    assert_eq!(pair.received(1), 100);
    pair.server.head(1, OK, 100, true);
    pair.talk();
    assert_eq!(pair.take_events(), [started(0, 200), last(0, 14, 0, 0)]);
}

#[test]
fn a_graceful_goaway_is_followed_by_the_final_one() {
    let script = server()
        .goaway(i32::MAX as u32, code::NO_ERROR)
        .head(1, OK, true)
        .goaway(3, code::NO_ERROR)
        .head(3, OK, true);
    let outcome = play(options(), &gets(3), script.bytes());
    let expected = [
        Event::Draining,
        started(0, 200),
        head(0, OK_TEXT),
        done(0, 14, 0, 0),
        returned(2),
        started(1, 200),
        head(1, OK_TEXT),
        last(1, 14, 0, 0),
    ];
    assert_eq!((outcome.end, outcome.events), (Ok(()), expected.to_vec()));
}

#[test]
fn a_refused_stream_is_returned_and_another_is_not() {
    let script = server().reset(1, code::REFUSED_STREAM).reset(3, code::NO_ERROR).reset(5, 0x1234);
    let outcome = play(options(), &gets(3), script.bytes());
    assert_eq!((outcome.end, outcome.events), (Ok(()), vec![returned(0), failed(1), failed(2)]));
}

#[test]
fn goodbye_is_said_once_and_nothing_behind_it() {
    let mut engine = connection(Options::default(), &[request("POST", &[b'x'; 200_000])]);
    let script = server().window_update(0, 1000).window_update(1, 1000);
    assert_eq!(engine.poll_event(NOW, &mut script.bytes()), Ok(None));
    let bytes = engine.goodbye().to_vec();
    let frames = httperf_testkit::http2::frames::all(&bytes);
    let kinds: Vec<u8> = frames.iter().map(|frame: &Frame| frame.kind).collect();
    assert_eq!(kinds, [kind::SETTINGS, kind::GOAWAY]);
    engine.handle_written(bytes.len());
    assert!(!engine.wants_write());
    assert_eq!(engine.poll_transmit(NOW), b"");
    assert_eq!(engine.goodbye(), b"");
    // Nor behind an error.
    let mut engine = connection(Options::default(), &[request("POST", &[b'x'; 200_000])]);
    let script = script.window_update(0, 0);
    assert!(engine.poll_event(NOW, &mut script.bytes()).is_err());
    let kinds: Vec<u8> =
        httperf_testkit::http2::frames::all(&flush(&mut engine)).iter().map(|frame| frame.kind).collect();
    assert_eq!(kinds, [kind::SETTINGS, kind::GOAWAY]);
}

#[test]
fn a_server_that_answers_before_the_request_was_written_did_not_read_it() {
    let mut engine = Engine::new(options());
    engine.submit(NOW, CallId(0), request("GET", b"")).expect("there is room");
    let size = engine.poll_transmit(NOW).len();
    // All but the request; then the beginning of it.
    let mut input = server().head(1, OK, true).bytes().to_vec();
    engine.handle_written(size - 40);
    assert!(engine.poll_event(NOW, &mut &input[..]).is_err());
    let mut engine = Engine::new(options());
    engine.submit(NOW, CallId(0), request("GET", b"")).expect("there is room");
    let size = engine.poll_transmit(NOW).len();
    engine.handle_written(size - 1);
    input.truncate(input.len());
    assert_eq!(feed_only(&mut engine, &input).len(), 3);
}

fn feed_only(engine: &mut Engine, mut input: &[u8]) -> Vec<Event<'static>> {
    let mut events = Vec::new();
    while let Some(event) = engine.poll_event(NOW, &mut input).expect("the server is right") {
        events.push(event.into_owned());
    }
    events
}

#[test]
fn a_long_body_that_nobody_asked_for_is_passed_over() {
    let options = Options { header_blocks: true, ..Options::default() };
    let reply = Reply::new(200).body("x".repeat(1000)).padded(20).in_pieces_of(300);
    let script = server().reply(1, &reply);
    let mut engine = connection(options, &gets(1));
    let (mut input, mut events, mut skipped) = (script.bytes(), Vec::new(), 0);
    while !input.is_empty() {
        let mut first = &input[..1];
        while let Some(event) = engine.poll_event(NOW, &mut first).expect("the server is right") {
            events.push(event.into_owned());
        }
        input = &input[1..];
        let skippable = usize::try_from(engine.skippable()).expect("it is small").min(77);
        engine.handle_skipped(skippable as u64);
        skipped += skippable;
        input = &input[skippable..];
        while let Some(event) = engine.poll_event(NOW, &mut &b""[..]).expect("the server is right") {
            events.push(event.into_owned());
        }
    }
    assert_eq!(events, [started(0, 200), head(0, OK_TEXT), done(0, 14, 1000, 0)]);
    assert!(skipped > 900, "{skipped}");
    assert_eq!(engine.take_counts().bytes_received, script.bytes().len() as u64);
    assert_eq!(play_parts(options, &gets(1), &[script.bytes()]).events, events);
}

#[test]
fn the_timing_of_a_reply_is_its_own() {
    let options = Options { server_timing: true, ..Options::default() };
    let timed = |value| [(":status", "200"), ("server-timing", value)];
    let script = server()
        .head(1, &[(":status", "200"), ("server-timing", "a"), ("server-timing", "b;dur=1")], false)
        .head(3, OK, false)
        .head(5, &timed("c"), false)
        .head(7, &timed("c"), false)
        .head(9, &[(":status", "103"), ("server-timing", "early")], false)
        .head(9, OK, false)
        .data(5, b"", true)
        .data(1, b"", true)
        .data(3, b"", true)
        .head(7, &[("server-timing", "too late")], true)
        .data(9, b"", true);
    let mut engine = connection(options, &gets(5));
    let (mut input, mut timings) = (script.bytes(), Vec::new());
    while let Some(event) = engine.poll_event(NOW, &mut input).expect("the server is right") {
        if let Event::ReplyDone { call, .. } = event {
            timings.push((call.0, String::from_utf8(engine.server_timing().to_vec()).expect("text")));
        }
    }
    let expected = [(2, "c"), (0, "a, b;dur=1"), (1, ""), (3, "c"), (4, "")];
    assert_eq!(timings, expected.map(|(call, timing)| (call, timing.to_owned())));
}

#[test]
fn alt_svc_is_that_of_the_reply_that_starts() {
    let options = Options { alt_svc: true, ..Options::default() };
    let elsewhere = |value| [(":status", "200"), ("alt-svc", value)];
    let long = "x".repeat(1100);
    let script = server()
        .head(1, &[(":status", "200"), ("alt-svc", "a=\":1\""), ("alt-svc", "b=\":2\"")], false)
        .head(3, OK, false)
        .head(5, &elsewhere("c"), false)
        .head(7, &elsewhere("c"), false)
        .head(9, &[(":status", "103"), ("alt-svc", "early")], false)
        .head(9, &elsewhere("c"), false)
        .head(7, &[("alt-svc", "too late")], true)
        .head(11, &elsewhere("c"), false)
        // It is too long to be remembered, and says something else.
        .head(13, &[(":status", "200"), ("alt-svc", "d"), ("x", &long)], false)
        .head(15, &elsewhere("c"), false)
        .head(17, OK, false);
    for asked in [true, false] {
        let mut engine = connection(Options { alt_svc: asked, ..options }, &gets(9));
        let (mut input, mut values) = (script.bytes(), Vec::new());
        while let Some(event) = engine.poll_event(NOW, &mut input).expect("the server is right") {
            if let Event::ReplyStarted { call, .. } = event {
                values.push((call.0, String::from_utf8(engine.alt_svc().to_vec()).expect("text")));
            }
        }
        let expected = ["a=\":1\", b=\":2\"", "", "c", "c", "c", "c", "d", "c", ""];
        let expected = expected.map(|value| if asked { value } else { "" }.to_owned());
        assert_eq!(values, (0..).zip(expected).collect::<Vec<_>>(), "asked: {asked}");
    }
}

#[test]
fn a_block_that_goes_out_again_is_what_the_table_makes_of_it() {
    let mut pair = Pair::new(Options::default(), &[]);
    pair.talk();
    let same = request("GET", b"");
    for call in 0..40 {
        // Between them are others that push its fields out of the table, and the table changes.
        let between = request_for("GET", &format!("/{}", "x".repeat(150 * call as usize)), b"");
        match call % 8 {
            3 => pair.client.submit(NOW, CallId(call), between).expect("there is room"),
            5 => {
                pair.server.settings(&[(setting::HEADER_TABLE_SIZE, 500 * (call as u32 % 3))]);
                pair.talk();
                pair.client.submit(NOW, CallId(call), same.clone()).expect("there is room");
            }
            _ => pair.client.submit(NOW, CallId(call), same.clone()).expect("there is room"),
        }
        pair.talk();
        let Some(Incoming::Request { fields, .. }) = pair.heard.last() else { panic!("{:?}", pair.heard) };
        let path = fields.iter().find(|(name, _)| name == ":path").map(|(_, path)| path.len());
        assert_eq!((fields.len(), path), (5, Some(if call % 8 == 3 { 150 * call as usize + 1 } else { 1 })));
    }
}

#[test]
fn a_block_that_comes_again_is_what_the_table_makes_of_it() {
    let insert = |stream, status: &[u8; 3]| headers(stream, &[b"\x48\x03", &status[..]].concat(), true);
    let again = |stream| headers(stream, b"\xbe", true);
    let script = server()
        .raw(&insert(1, b"404"))
        .raw(&again(3))
        .raw(&again(5))
        .raw(&insert(7, b"500"))
        .raw(&again(9))
        .raw(&again(11))
        .raw(&headers(13, b"\x20\x3f\xe1\x1f\x88", true))
        .raw(&again(15));
    let outcome = play(Options::default(), &gets(8), script.bytes());
    let statuses: Vec<u16> = outcome
        .events
        .iter()
        .filter_map(|event| match event {
            Event::ReplyStarted { status, .. } => Some(*status),
            _ => None,
        })
        .collect();
    assert_eq!(statuses, [404, 404, 404, 500, 500, 500, 200]);
    assert!(outcome.end.is_err(), "nothing is left of the table");
}

#[test]
fn requests_that_were_handed_out_are_counted() {
    let mut engine = Engine::new(Options::default());
    (0..3).for_each(|call| engine.submit(NOW, CallId(call), request("GET", b"")).expect("there is room"));
    let preface = Engine::new(Options::default()).poll_transmit(NOW).len();
    let size = engine.poll_transmit(NOW).len();
    assert_eq!(engine.transmitted_count(0), 3);
    assert_eq!(engine.transmitted_count(1), 3);
    assert_eq!(engine.transmitted_count(size - preface - 1), 1);
    assert_eq!(engine.transmitted_count(size - preface), 0);
    engine.handle_written(preface + 1);
    assert_eq!(engine.poll_sent(), Some(Sent::Started(CallId(0))));
    assert_eq!(engine.transmitted_count(0), 2, "the first was told of");
    assert_eq!(engine.poll_sent(), None);
}

#[test]
fn only_what_is_safe_goes_out_early_and_all_of_it_again_if_it_was_refused() {
    let mut engine = Engine::new(Options::default());
    let methods = ["GET", "POST", "GET"];
    for (call, method) in (0..).zip(methods) {
        engine.submit(NOW, CallId(call), request(method, b"")).expect("there is room");
    }
    let methods_in = |bytes: &[u8]| -> Vec<String> {
        let method = |incoming: &Incoming| match incoming {
            Incoming::Request { fields, .. } => Some(fields[0].1.clone()),
            _ => None,
        };
        Server::new(&[]).receive(bytes).iter().filter_map(method).collect()
    };
    let early = engine.poll_transmit_safe(NOW).to_vec();
    assert_eq!(methods_in(&early), ["GET"]);
    engine.handle_written(early.len());
    let late = flush(&mut engine);
    assert_eq!(methods_in(&[&early[..], &late].concat()), methods);
    engine.rewind(NOW);
    assert_eq!(engine.pending().collect::<Vec<_>>(), [0, 1, 2].map(CallId));
    let again = flush(&mut engine);
    assert_eq!(methods_in(&again), methods);
}
