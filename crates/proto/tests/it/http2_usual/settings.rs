//! Settings that change what was agreed while streams are under way.

use super::*;

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
