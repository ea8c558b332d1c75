//! The end of streams and connections.

use super::*;

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
