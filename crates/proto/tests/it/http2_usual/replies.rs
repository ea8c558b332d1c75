//! Replies in pieces, in any order, and earlier than their requests.

use super::*;

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
