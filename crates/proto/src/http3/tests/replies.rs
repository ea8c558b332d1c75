//! Replies as they may be, and what they lead to wherever their bytes are cut.

use super::*;

/// A reply: what it is, what is asked for, what the server does, and the events.
type Case = (&'static str, Vec<Request>, Vec<Step>, Vec<Event<'static>>);

/// The instructions of an encoder stream that sets a capacity and inserts `a: b`.
const INSERTS: &[u8] = b"\x02\x3f\xe1\x1f\x41a\x01b";

/// A section with status 200 and the first field that was inserted.
const SECTION: &[u8] = b"\x02\x00\xd9\x80";

/// Its size in HTTP/1's form.
const SECTION_TEXT: &str = "HTTP/3 200\r\na: b\r\n\r\n";

pub(super) fn good_replies() -> Vec<Case> {
    let long = |status: &str| head(&[(":status", status), ("content-length", "5")]);
    let text = |status: u16| format!("HTTP/3 {status}\r\ncontent-length: 5\r\n\r\n");
    let size = text(200).len() as u64;
    let ended = |parts: &[&[u8]]| vec![says(parts), Step::End(0)];
    let trailers = head(&[("x-sum", "1")]);
    // RFC 9114, section 7.2.8: 0x1f * N + 0x21.
    let grease = frame(0x1f * 1_000_000 + 0x21, b"whatever");
    let hello = |call| {
        vec![started(call, 200), block(call, &text(200)), body(call, b"hello"), done(call, size, 5, 0)]
    };
    let without_content =
        |status: u16| vec![started(0, status), block(0, &text(status)), done(0, size, 0, 0)];
    let bare_done = |call| [&bare(call, 200)[..], &[done(call, BARE, 0, 0)]].concat();
    let from_table = |call, content: &'static [u8]| {
        let mut events = vec![started(call, 200), block(call, SECTION_TEXT)];
        if !content.is_empty() {
            events.push(body(call, content));
        }
        events.push(done(call, SECTION_TEXT.len() as u64, content.len() as u64, 0));
        events
    };
    let in_table = frame(1, SECTION);
    vec![
        ("a length and content", gets(1), ended(&[&long("200"), &data(b"hello")]), hello(0)),
        (
            "content in parts",
            gets(1),
            ended(&[&long("200"), &data(b"hel"), &data(b""), &data(b"lo")]),
            hello(0),
        ),
        (
            "content without a length",
            gets(1),
            ended(&[&ok(), &data(b"any")]),
            [&bare(0, 200)[..], &[body(0, b"any"), done(0, BARE, 3, 0)]].concat(),
        ),
        ("no content", gets(1), ended(&[&ok()]), bare_done(0)),
        ("the end apart", gets(1), vec![says(&[&ok()]), Step::Reply(0, vec![]), Step::End(0)], bare_done(0)),
        // RFC 9110, section 8.6: the length is that of another reply.
        ("HEAD", vec![request("HEAD", b"")], ended(&[&long("200")]), without_content(200)),
        ("status 204", gets(1), ended(&[&long("204")]), without_content(204)),
        ("status 304", gets(1), ended(&[&long("304")]), without_content(304)),
        (
            "empty DATA for HEAD",
            vec![request("HEAD", b"")],
            ended(&[&long("200"), &data(b"")]),
            without_content(200),
        ),
        (
            "trailers",
            gets(1),
            ended(&[&ok(), &data(b"no"), &trailers]),
            [&bare(0, 200)[..], &[body(0, b"no"), done(0, BARE, 2, "\r\nx-sum: 1\r\n".len() as u64)]]
                .concat(),
        ),
        (
            "trailers without content",
            gets(1),
            ended(&[&ok(), &trailers]),
            [&bare(0, 200)[..], &[done(0, BARE, 0, 12)]].concat(),
        ),
        (
            "interim replies",
            gets(1),
            ended(&[&status("103"), &head(&[(":status", "100"), ("a", "b")]), &long("200"), &data(b"hello")]),
            hello(0),
        ),
        // RFC 9114, section 9.
        (
            "unknown frames",
            gets(1),
            ended(&[&grease, &ok(), b"\x21\x00", &data(b"a"), &grease, &trailers, &grease]),
            [&bare(0, 200)[..], &[body(0, b"a"), done(0, BARE, 1, 12)]].concat(),
        ),
        (
            "unknown frames, settings and streams",
            gets(1),
            vec![
                // A setting in eight bytes, and MAX_FIELD_SECTION_SIZE.
                own(&[b"\x00\x04\x0c\xc0\x00\x00\x00\x12\x34\x56\x78\x05\x06\x40\x64", &grease]),
                Step::Own(1, b"\x21 and so on".to_vec()),
                Step::Own(2, [&b"\xff"[..], &[0xff; 7], b"abc"].concat()),
                Step::EndOwn(2),
                says(&[&long("200"), &data(b"hello")]),
                Step::End(0),
            ],
            hello(0),
        ),
        // RFC 9000, section 16: a number need not be in its least size.
        (
            "long numbers",
            gets(1),
            vec![own(&[b"\x40\x00\x40\x04\x40\x00"]), says(&[b"\x40\x01\x40\x03\x00\x00\xd9"]), Step::End(0)],
            bare_done(0),
        ),
        (
            "another order, interleaved",
            gets(3),
            vec![
                Step::Reply(2, long("200")),
                Step::Reply(0, ok()),
                Step::Reply(2, data(b"hel")),
                Step::Reply(0, data(b"a")),
                Step::Reply(2, data(b"lo")),
                Step::End(2),
                Step::Reply(1, ok()),
                Step::End(1),
                Step::End(0),
            ],
            [
                &[started(2, 200), block(2, &text(200))][..],
                &bare(0, 200),
                &[body(2, b"hel"), body(0, b"a"), body(2, b"lo"), done(2, size, 5, 0)],
                &bare_done(1),
                &[done(0, BARE, 1, 0)],
            ]
            .concat(),
        ),
        (
            "fields of the dynamic table",
            gets(2),
            vec![
                Step::Own(0, INSERTS.to_vec()),
                Step::Reply(0, in_table.clone()),
                Step::End(0),
                Step::Reply(1, in_table.clone()),
                Step::End(1),
            ],
            [from_table(0, b""), from_table(1, b"")].concat(),
        ),
        (
            "a section before its insertions, and what follows it",
            gets(2),
            vec![
                Step::Reply(0, [&in_table[..], &data(b"held")].concat()),
                Step::End(0),
                Step::Reply(1, ok()),
                Step::End(1),
                Step::Own(0, INSERTS.to_vec()),
            ],
            [bare_done(1), from_table(0, b"held")].concat(),
        ),
        (
            "more behind a section that waits",
            gets(1),
            vec![
                Step::Reply(0, [&in_table[..], b"\x00\x04he"].concat()),
                Step::Own(0, INSERTS[..5].to_vec()),
                Step::Reply(0, b"ld".to_vec()),
                Step::Own(0, INSERTS[5..].to_vec()),
                Step::Reply(0, vec![]),
                Step::End(0),
            ],
            from_table(0, b"held"),
        ),
        // RFC 9114, section 4.1.
        (
            "a request of which no more is wanted",
            gets(1),
            vec![Step::Stop(0, 0x100), says(&[&ok()]), Step::End(0)],
            bare_done(0),
        ),
        (
            "a call that its server has not processed",
            gets(2),
            vec![Step::Reset(0, 0x10b), Step::Reply(1, ok()), Step::End(1)],
            [vec![returned(0)], bare_done(1)].concat(),
        ),
        (
            "a call that its server gives up",
            gets(2),
            vec![Step::Reset(0, 0x102), says(&[]), Step::Reply(1, ok()), Step::Reset(1, 0x10b)],
            [&[failed(0)][..], &bare(1, 200), &[failed(1)]].concat(),
        ),
        (
            "GOAWAY 0",
            gets(2),
            vec![own(&[CONTROL, b"\x07\x01\x00"])],
            vec![returned(0), returned(1), Event::Draining, Event::Drained],
        ),
        (
            "GOAWAY in the middle",
            gets(3),
            vec![own(&[CONTROL, b"\x07\x01\x04"]), Step::Reply(0, ok()), Step::End(0)],
            [&[returned(1), returned(2), Event::Draining][..], &bare(0, 200), &[done_last(0, BARE, 0)]]
                .concat(),
        ),
        (
            "GOAWAY twice",
            gets(3),
            vec![
                own(&[CONTROL, b"\x07\x08\xff\xff\xff\xff\xff\xff\xff\xfc"]),
                Step::Reply(1, ok()),
                Step::Own(0, b"\x07\x01\x08\x07\x01\x08\x07\x01\x04".to_vec()),
                Step::Reset(0, 0x102),
            ],
            [
                &[Event::Draining][..],
                &bare(1, 200),
                // Its reply has begun: it was processed, whatever the server says.
                &[returned(2), failed(1), failed(0), Event::Drained],
            ]
            .concat(),
        ),
    ]
}

#[test]
fn replies_are_reported_wherever_their_bytes_are_cut() {
    for (name, requests, steps, events) in good_replies() {
        for cut in [Cut::Whole, Cut::Bytes] {
            let (outcome, _) = run(&requests, &steps, &cut);
            assert_eq!(outcome.error, None, "{name}, {cut:?}");
            assert_eq!(outcome.events, events, "{name}, {cut:?}");
            assert_eq!(outcome.told, None, "{name}, {cut:?}");
        }
    }
}

#[test]
fn what_nobody_asked_for_is_not_handed_out() {
    let mut pair = Pair::new(Options::default());
    pair.make(&gets(1));
    assert!(!pair.engine.take_content_received());
    pair.answer(0, &[ok(), data(b"content")].concat(), true);
    pair.settle();
    assert_eq!(pair.events(), [started(0, 200), done(0, BARE, 7, 0)]);
    assert!(pair.engine.take_content_received() && !pair.engine.take_content_received());
    assert_eq!(pair.engine.server_timing(), b"");
}

#[test]
fn server_timing_is_that_of_the_reply_that_ended_last() {
    let mut pair = Pair::new(Options { server_timing: true, ..Options::default() });
    pair.make(&gets(4));
    let timed = |value| head(&[(":status", "200"), ("server-timing", value), ("server-timing", "z")]);
    // The second is known from the first, and ends before it; interim replies and trailers say nothing.
    pair.answer(0, &timed("a"), false);
    pair.answer(1, &[head(&[(":status", "103"), ("server-timing", "x")]), timed("a")].concat(), true);
    pair.settle();
    assert_eq!(pair.engine.server_timing(), b"a, z");
    pair.answer(2, &[timed("b"), head(&[("server-timing", "x")])].concat(), true);
    pair.settle();
    assert_eq!(pair.engine.server_timing(), b"b, z");
    pair.answer(3, &ok(), true);
    pair.settle();
    assert_eq!(pair.engine.server_timing(), b"");
    pair.answer(0, b"", true);
    pair.settle();
    assert_eq!(pair.engine.server_timing(), b"a, z");
}

#[test]
fn alt_svc_is_that_of_the_reply_that_starts() {
    let mut pair = Pair::new(Options { alt_svc: true, ..Options::default() });
    pair.make(&gets(6));
    let elsewhere = |value| head(&[(":status", "200"), ("alt-svc", value), ("alt-svc", "z")]);
    let long = head(&[(":status", "200"), ("alt-svc", "d"), ("x", &"x".repeat(1100))]);
    let trailed = [elsewhere("a"), head(&[("alt-svc", "x")])].concat();
    for (call, answer, expected) in [
        (0, &trailed, "a, z"),
        (1, &elsewhere("a"), "a, z"),
        (2, &ok(), ""),
        (3, &elsewhere("b"), "b, z"),
        // It is too long to be remembered.
        (4, &long, "d"),
        (5, &elsewhere("b"), "b, z"),
    ] {
        pair.answer(call, answer, true);
        pair.settle();
        assert_eq!(String::from_utf8_lossy(pair.engine.alt_svc()), expected, "{call}");
    }
}

#[test]
fn settings_of_the_server_are_known() {
    let mut pair = Pair::new(Options::default());
    assert_eq!(pair.engine.peer_settings(), None);
    pair.tell(0, b"\x00\x04\x07\x01\x20\x06\x50\x00\x07\x09");
    pair.settle();
    let expected = PeerSettings { header_table: 32, blocked_streams: 9, field_section: Some(0x1000) };
    assert_eq!(pair.engine.peer_settings(), Some(expected));
}

/// RFC 9204, section 4.4.
#[test]
fn the_server_is_told_what_became_of_its_table() {
    let mut pair = Pair::new(Options::default());
    pair.make(&gets(5));
    pair.answer(0, &frame(1, SECTION), true);
    pair.settle();
    assert_eq!(pair.events(), []);
    pair.tell(0, INSERTS);
    pair.settle();
    // The same section again; then it is the same bytes, but `c: d` has changed the table; then it is another field.
    pair.answer(1, &frame(1, SECTION), true);
    pair.settle();
    pair.tell(0, b"\x41c\x01d");
    pair.settle();
    pair.answer(2, &frame(1, SECTION), true);
    pair.answer(3, &frame(1, b"\x03\x00\xd9\x80"), true);
    pair.settle();
    let size = SECTION_TEXT.len() as u64;
    let each = |call| [started(call, 200), done(call, size, 0, 0)];
    assert_eq!(pair.events(), [each(0), each(1), each(2), each(3)].concat());
    pair.engine.cancel(pair.now, CallId(4));
    pair.settle();
    let decoder = pair.asked.iter().find(|(_, bytes, _)| bytes.first() == Some(&3)).unwrap();
    // Sections of streams 0 and 4, an insertion, sections of streams 8 and 12; stream 16 is cancelled.
    assert_eq!(decoder.1, [0x03, 0x80, 0x84, 0x01, 0x88, 0x8c, 0x50]);
}
