//! Replies that are none, and content that is not as it was announced.

use super::*;

// What replies say.

#[test]
fn a_reply_has_one_status_between_100_and_999() {
    for fields in [
        &[("server", "x")][..],
        &[(":status", "200"), (":status", "200")],
        &[(":status", "99")],
        &[(":status", "099")],
        &[(":status", "abc")],
        &[(":status", "")],
        &[(":status", "2000")],
        &[(":status", "+20")],
        &[(":status", "20 ")],
    ] {
        resets(server().head(1, fields, true), code::PROTOCOL_ERROR);
        resets(server().head(1, fields, false).data(1, b"more", true), code::PROTOCOL_ERROR);
    }
    // A block with no field at all.
    resets(server().raw(&frames::headers(1, b"", true)), code::PROTOCOL_ERROR);
}

#[test]
fn there_is_no_status_101() {
    resets(server().head(1, &[(":status", "101")], false), code::PROTOCOL_ERROR);
}

#[test]
fn an_interim_reply_does_not_end_its_stream() {
    for status in ["100", "103", "199"] {
        resets(server().head(1, &[(":status", status)], true), code::PROTOCOL_ERROR);
    }
}

#[test]
fn interim_replies_have_a_limit() {
    let interim = &[(":status", "103")];
    let script = (0..4).fold(server(), |script, _| script.head(1, interim, false));
    resets(script, code::ENHANCE_YOUR_CALM);
    is_passed_over((0..3).fold(server(), |script, _| script.head(1, interim, false)));
}

#[test]
fn field_names_and_values_have_only_the_characters_that_they_may_have() {
    for (name, value) in [
        ("Server", "x"),
        ("sErver", "x"),
        ("", "x"),
        ("a b", "x"),
        ("a:b", "x"),
        ("a\0", "x"),
        ("a\u{fc}", "x"),
        ("x", "a\rb"),
        ("x", "a\nb"),
        ("x", "a\0b"),
        ("x", " a"),
        ("x", "a "),
        ("x", "\ta"),
        ("x", "a\t"),
    ] {
        resets(server().head(1, &[(":status", "200"), (name, value)], true), code::PROTOCOL_ERROR);
        let events = [started(0, 200), head(0, OK_TEXT)];
        resets_behind(
            server().head(1, OK, false).head(1, &[(name, value)], true),
            &events,
            code::PROTOCOL_ERROR,
        );
    }
}

#[test]
fn fields_about_the_connection_have_no_place() {
    for name in ["connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade"] {
        resets(server().head(1, &[(":status", "200"), (name, "x")], true), code::PROTOCOL_ERROR);
        let events = [started(0, 200), head(0, OK_TEXT)];
        resets_behind(
            server().head(1, OK, false).head(1, &[(name, "x")], true),
            &events,
            code::PROTOCOL_ERROR,
        );
    }
}

#[test]
fn pseudo_fields_are_those_of_replies_and_come_first() {
    for fields in [
        &[("server", "x"), (":status", "200")][..],
        &[(":status", "200"), (":path", "/")],
        &[(":status", "200"), (":method", "GET")],
        &[(":status", "200"), (":unknown", "")],
        &[(":status", "200"), (":", "")],
        &[(":status", "200"), ("server", "x"), (":scheme", "http")],
    ] {
        resets(server().head(1, fields, true), code::PROTOCOL_ERROR);
    }
}

#[test]
fn trailers_have_no_pseudo_fields_and_end_their_stream() {
    let events = [started(0, 200), head(0, OK_TEXT)];
    let begun = || server().head(1, OK, false);
    resets_behind(begun().head(1, OK, true), &events, code::PROTOCOL_ERROR);
    resets_behind(begun().head(1, OK, false), &events, code::PROTOCOL_ERROR);
    resets_behind(begun().head(1, &[("x-sum", "1")], false), &events, code::PROTOCOL_ERROR);
    resets_behind(
        begun().head(1, &[("x-sum", "1"), (":status", "200")], true),
        &events,
        code::PROTOCOL_ERROR,
    );
}

// Content.

#[test]
fn content_comes_behind_a_header() {
    resets(server().data(1, b"x", false), code::PROTOCOL_ERROR);
    resets(server().data(1, b"", true), code::PROTOCOL_ERROR);
    resets(server().raw(&frames::padded_data(1, b"x", 7, true)), code::PROTOCOL_ERROR);
    resets(server().head(1, &[(":status", "100")], false).data(1, b"x", true), code::PROTOCOL_ERROR);
}

#[test]
fn content_is_as_long_as_its_content_length_says() {
    let begun = |length: &str| server().head(1, &[(":status", "200"), ("content-length", length)], false);
    let text = "HTTP/2 200\r\ncontent-length: 5\r\n\r\n";
    let events = [started(0, 200), head(0, text)];
    let with = |content: &[u8]| [&events[..], &[body(0, content)]].concat();
    resets_behind(begun("5").data(1, b"123456", true), &with(b"123456"), code::PROTOCOL_ERROR);
    resets_behind(
        begun("5").data(1, b"123", false).data(1, b"456", false),
        &with(b"123456"),
        code::PROTOCOL_ERROR,
    );
    resets_behind(begun("5").data(1, b"1234", true), &with(b"1234"), code::PROTOCOL_ERROR);
    resets_behind(begun("5").data(1, b"", true), &events, code::PROTOCOL_ERROR);
    resets_behind(begun("5").head(1, &[("x-sum", "1")], true), &events, code::PROTOCOL_ERROR);
    let all = server().head(1, &[(":status", "200"), ("content-length", "5")], true);
    resets_behind(all, &events, code::PROTOCOL_ERROR);
    // Padding is no content.
    let padded = begun("5").raw(&frames::padded_data(1, b"1234", 1, true));
    resets_behind(padded, &with(b"1234"), code::PROTOCOL_ERROR);
}

#[test]
fn a_content_length_is_one_number() {
    for value in ["", "-1", "+5", "5x", "0x5", "5, 5", "18446744073709551616"] {
        let fields = [(":status", "200"), ("content-length", value)];
        resets(server().head(1, &fields, false), code::PROTOCOL_ERROR);
    }
    let two = [(":status", "200"), ("content-length", "5"), ("content-length", "6")];
    resets(server().head(1, &two, false), code::PROTOCOL_ERROR);
    let same = [(":status", "200"), ("content-length", "5"), ("content-length", "05")];
    let script = server().head(1, &same, false).data(1, b"12345", true);
    assert_eq!(play(options(), &gets(1), script.bytes()).events.len(), 4);
}

#[test]
fn a_reply_that_has_no_content_has_none() {
    let requests = [request("HEAD", b""), request("GET", b"")];
    for (requests, status) in [(&requests[..], "200"), (&gets(2), "204"), (&gets(2), "304")] {
        let text = format!("HTTP/2 {status}\r\n\r\n");
        let status_number = status.parse().expect("a number");
        let script = server().head(1, &[(":status", status)], false).data(1, b"x", true);
        let events = [started(0, status_number), head(0, &text), body(0, b"x")];
        resets_request(requests, script, &events, code::PROTOCOL_ERROR);
    }
}

#[test]
fn content_stays_within_the_window_of_its_stream() {
    let options = Options { window: 10, ..options() };
    let script = server().ack().head(1, OK, false).data(1, b"12345678901", false).head(3, OK, true);
    let outcome = play(options, &gets(2), script.bytes());
    // The streams were opened before the server knew of our window, so it may use the one that it knew of.
    assert_eq!((outcome.end, outcome.pending.len(), outcome.events.contains(&failed(0))), (Ok(()), 1, false));
    let mut engine = common::connection(options, &[]);
    let mut said = Vec::new();
    let early = server().ack();
    assert_eq!(common::feed(&mut engine, &[early.bytes()], &mut said), (Vec::new(), Ok(())));
    for call in 0..2 {
        let get = request("GET", b"");
        engine.submit(common::NOW, httperf_proto::CallId(call), get).expect("there is room");
    }
    common::flush(&mut engine);
    let script = Script::new().head(1, OK, false).data(1, b"12345678901", false).head(3, OK, true);
    let (events, end) = common::feed(&mut engine, &[script.bytes()], &mut said);
    let expected =
        [started(0, 200), head(0, OK_TEXT), failed(0), started(1, 200), head(1, OK_TEXT), done(1, 14, 0, 0)];
    assert_eq!((common::without_reasons(events), end), (expected.to_vec(), Ok(())));
    let told =
        frames::all(&said).into_iter().find(|frame| frame.kind == kind::RST_STREAM).expect("it is told");
    assert_eq!((told.stream, told.number(0)), (1, code::FLOW_CONTROL_ERROR));
}

#[test]
fn content_stays_within_the_window_of_the_connection() {
    // Padding counts, and so does what comes on streams that we have reset.
    let full = frames::padded_data(1, &[b'x'; 16_000], 255, false);
    let small = |size| frames::data(1, &vec![b'x'; size], false);
    let options = Options { window: 1 << 20, connection_window: 65_535, ..options() };
    // Whenever half of it is used up, the server may use it all again.
    let script = server().head(1, OK, false).repeated(10, &full);
    assert_eq!(common::play_parts(options, &gets(1), &[script.bytes()]).end, Ok(()));
    // We cannot be asked to keep up: what a frame uses up is granted at once. So only one larger than the window is.
    let options = Options { max_frame: 1 << 20, ..options };
    let reason = "more content than the window allows";
    let script = server().head(1, OK, false).raw(&small(65_536));
    let outcome = common::play_parts(options, &gets(1), &[script.bytes()]);
    assert_eq!(outcome.end, broken(code::FLOW_CONTROL_ERROR, reason));
    let script = server().data(1, b"", true).raw(&small(32_767)).raw(&small(32_768));
    assert_eq!(common::play_parts(options, &gets(1), &[script.bytes()]).end, Ok(()));
    let script = server().data(1, b"", true).raw(&small(32_766)).raw(&small(32_770));
    let outcome = common::play_parts(options, &gets(1), &[script.bytes()]);
    assert_eq!(outcome.end, broken(code::FLOW_CONTROL_ERROR, reason));
}
