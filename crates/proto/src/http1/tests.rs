//! Replies as bytes, and the events they must give wherever they are cut.

use proptest::prelude::*;

use super::*;
use crate::content::Coding;
use crate::request::RequestParts;

const ONE: CallId = CallId(0);
const TWO: CallId = CallId(1);

fn request(bytes: &str) -> Request {
    Request::of_bytes(bytes.as_bytes(), None)
}

fn engine_with(requests: &[&str], options: Options) -> Engine {
    let mut engine = Engine::new(options);
    for (call, bytes) in requests.iter().enumerate() {
        engine.submit(CallId(call as u64), request(bytes)).unwrap();
    }
    let mut out = Vec::new();
    while engine.poll_transmit(&mut out) {}
    engine.handle_written(out.len());
    while engine.poll_sent().is_some() {}
    engine
}

const BODIES: Options = Options {
    pipeline: usize::MAX,
    header_blocks: false,
    bodies: true,
    streamed: Streamed::Never,
    server_timing: false,
    alt_svc: false,
    limits: ReplyLimits { head_size: 1024, fields: 8, chunk_line_size: 32, interim_replies: 2 },
};

/// Hands out streams alone.
const STREAMS: Options = Options { bodies: false, streamed: Streamed::EventStreams, ..BODIES };

/// Feeds the parts, then the end of the connection if `eof`; neighbouring body events are joined.
fn feed(engine: &mut Engine, parts: &[&[u8]], eof: bool) -> (Vec<Event<'static>>, Option<ProtocolError>) {
    let mut events: Vec<Event<'static>> = Vec::new();
    let mut header_cache = HeaderCache::default();
    for part in parts {
        let mut input = *part;
        loop {
            match engine.poll_event(&mut input, &mut header_cache) {
                Ok(None) => break,
                Ok(Some(Event::ReplyBody { call, data })) => match events.last_mut() {
                    Some(Event::ReplyBody { data: joined, .. }) => joined.to_mut().extend(data.iter()),
                    _ => events.push(Event::ReplyBody { call, data }.into_owned()),
                },
                Ok(Some(event)) => events.push(event.into_owned()),
                Err(error) => return (events, Some(error)),
            }
        }
    }
    if eof {
        match engine.handle_eof() {
            Ok(event) => events.extend(event),
            Err(error) => return (events, Some(error)),
        }
    }
    (events, None)
}

#[track_caller]
fn check_all(
    requests: &[&str],
    bytes: &[u8],
    eof: bool,
    expected: &[Event<'_>],
    error: Option<&ProtocolError>,
) {
    for cut in 0..=bytes.len() {
        let mut engine = engine_with(requests, BODIES);
        let (events, end) = feed(&mut engine, &[&bytes[..cut], &bytes[cut..]], eof);
        assert_eq!((&events[..], end.as_ref()), (expected, error), "when cut at byte {cut}");
    }
}

#[track_caller]
fn check(bytes: &str, expected: &[Event<'_>]) {
    check_all(&["GET"], bytes.as_bytes(), false, expected, None);
}

#[track_caller]
fn check_eof(bytes: &str, expected: &[Event<'_>]) {
    check_all(&["GET"], bytes.as_bytes(), true, expected, None);
}

#[track_caller]
fn check_error(bytes: &str, expected: &[Event<'_>], error: &ProtocolError) {
    check_all(&["GET"], bytes.as_bytes(), true, expected, Some(error));
}

fn started(status: u16) -> Event<'static> {
    Event::ReplyStarted { call: ONE, status }
}

fn body(data: &str) -> Event<'static> {
    Event::ReplyBody { call: ONE, data: data.as_bytes().to_vec().into() }
}

fn done(header: u64, content: u64, footer: u64, reuse: Reuse) -> Event<'static> {
    Event::ReplyDone { call: ONE, size: ReplySize { header, content, footer }, reuse }
}

#[test]
fn an_event_stream_is_announced_and_handed_out_and_other_bodies_are_not() {
    let stream =
        |coding| Event::StreamStarted { call: ONE, content: Content { is_event_stream: true, coding } };
    for (head, content) in [
        ("Content-Type: text/event-stream\r\n", stream(Some(Coding::Identity))),
        ("content-type: Text/Event-Stream; charset=utf-8\r\n", stream(Some(Coding::Identity))),
        ("Content-Encoding: gzip\r\nContent-Type: text/event-stream\r\n", stream(Some(Coding::Gzip))),
        ("Content-Type: text/event-stream\r\nContent-Encoding: x\r\n", stream(None)),
        // What is not regular is read by another parser.
        ("Content-Type : text/event-stream\r\n", stream(Some(Coding::Identity))),
    ] {
        let block = format!("HTTP/1.1 200 OK\r\n{head}Transfer-Encoding: chunked\r\n\r\n");
        let bytes = format!("{block}9\r\ndata: a\n\n\r\n0\r\n\r\n");
        let expected =
            [started(200), content, body("data: a\n\n"), done(block.len() as u64, 9, 2, Reuse::Keep)];
        for cut in 0..=bytes.len() {
            let mut engine = engine_with(&["GET", "GET"], STREAMS);
            let (first, rest) = bytes.as_bytes().split_at(cut);
            assert_eq!(
                feed(&mut engine, &[first, rest], false),
                (expected.to_vec(), None),
                "{head} at {cut}"
            );
        }
    }
    let plain = "HTTP/1.1 200 OK\r\nContent-Type: text/event-streams\r\nContent-Length: 5\r\n\r\nhello";
    let mut engine = engine_with(&["GET"], STREAMS);
    let (events, _) = feed(&mut engine, &[plain.as_bytes()], false);
    assert_eq!(events, [started(200), done(plain.len() as u64 - 5, 5, 0, Reuse::Keep)]);
}

#[test]
fn a_known_header_block_announces_its_stream_again() {
    let bytes = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 9\r\n\r\ndata: a\n\n";
    let mut engine = engine_with(&["GET", "GET"], STREAMS);
    let (events, _) = feed(&mut engine, &[bytes.repeat(2).as_bytes()], false);
    let streams = events.iter().filter(|event| matches!(event, Event::StreamStarted { .. })).count();
    assert_eq!((events.len(), streams), (8, 2));
}

#[test]
fn a_body_of_known_length_ends_the_reply() {
    check(
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        &[started(200), body("hello"), done(38, 5, 0, Reuse::Keep)],
    );
}

#[test]
fn a_chunked_body_ends_after_its_trailers() {
    check(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=\"y\"\r\nhello\r\n00B\r\n wor\nld 123\r\n0\r\nX-T: trail\r\n\r\n",
        &[started(200), body("hello wor\nld 123"), done(47, 16, 14, Reuse::Keep)],
    );
}

#[test]
fn line_feeds_alone_end_lines() {
    check(
        "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nhello\n0\n\n",
        &[started(200), body("hello"), done(44, 5, 1, Reuse::Keep)],
    );
}

#[test]
fn without_length_the_body_ends_with_the_connection() {
    check_eof(
        "HTTP/1.1 200 OK\r\n\r\nsome text",
        &[started(200), body("some text"), done(19, 9, 0, Reuse::Close)],
    );
}

#[test]
fn statuses_without_a_body_have_none_whatever_the_header_says() {
    for status in [204, 304] {
        let head = format!("HTTP/1.1 {status} X\r\nContent-Length: 9\r\n\r\n");
        check(&head, &[started(status), done(head.len() as u64, 0, 0, Reuse::Keep)]);
    }
}

/// <https://www.rfc-editor.org/rfc/rfc9110#section-15.3.6>
#[test]
fn a_205_is_framed_by_its_fields_and_empty_without_any() {
    check("HTTP/1.1 205 X\r\n\r\n", &[started(205), done(18, 0, 0, Reuse::Keep)]);
    check("HTTP/1.1 205 X\r\nContent-Length: 0\r\n\r\n", &[started(205), done(37, 0, 0, Reuse::Keep)]);
    check(
        "HTTP/1.1 205 X\r\nContent-Length: 2\r\n\r\nab",
        &[started(205), body("ab"), done(37, 2, 0, Reuse::Keep)],
    );
    check(
        "HTTP/1.1 205 X\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        &[started(205), done(46, 0, 2, Reuse::Keep)],
    );
}

#[test]
fn the_reply_to_a_head_request_has_no_body() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 300\r\n\r\n";
    check_all(&["HEAD"], head.as_bytes(), false, &[started(200), done(40, 0, 0, Reuse::Keep)], None);
}

/// <https://www.rfc-editor.org/rfc/rfc9112#section-6.3>
#[test]
fn the_reply_to_a_connect_request_has_no_body_if_it_opens_a_tunnel_and_ends_the_connection_then() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 300\r\n\r\n";
    let opened = [started(200), done(40, 0, 0, Reuse::Close)];
    check_all(&["CONNECT"], head.as_bytes(), false, &opened, None);
    check_all(&["CONNECT"], format!("{head}of the tunnel").as_bytes(), false, &opened, None);
    let refused = "HTTP/1.1 407 X\r\nContent-Length: 2\r\n\r\nno";
    let events = [started(407), body("no"), done(37, 2, 0, Reuse::Keep)];
    check_all(&["CONNECT"], refused.as_bytes(), false, &events, None);
}

#[test]
fn interim_replies_are_passed_over() {
    check(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n\
         HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        &[started(200), done(38, 0, 0, Reuse::Keep)],
    );
}

#[test]
fn a_switch_of_protocols_is_final_if_asked_for_and_an_error_if_not() {
    let switch = "HTTP/1.1 101 X\r\nConnection: keep-alive\r\n\r\n";
    check_error(switch, &[], &ProtocolError::Unasked101);
    let headers = b"Connection: upgrade\r\nUpgrade: other\r\n";
    let asking = RequestParts { headers, ..RequestParts::to(b"/") }.request();
    assert!(asking.header_fields().any(|(name, _)| name == b"Upgrade"));
    for cut in 0..=switch.len() {
        let mut engine = Engine::new(BODIES);
        engine.submit(ONE, asking.clone()).unwrap();
        let mut out = Vec::new();
        engine.poll_transmit(&mut out);
        engine.handle_written(out.len());
        let (events, error) =
            feed(&mut engine, &[&switch.as_bytes()[..cut], &switch.as_bytes()[cut..]], false);
        assert_eq!(events, [started(101), done(switch.len() as u64, 0, 0, Reuse::Close)]);
        assert_eq!((error, engine.capacity()), (None, 0));
    }
}

#[test]
fn too_many_interim_replies_are_an_error() {
    let bytes = "HTTP/1.1 100 X\r\n\r\n".repeat(3);
    check_error(&bytes, &[], &ProtocolError::TooManyInterim { limit: 2 });
}

#[test]
fn connection_options_decide_on_reuse() {
    let cases = [
        ("HTTP/1.1", "", Reuse::Keep),
        ("HTTP/1.1", "Connection: close\r\n", Reuse::Close),
        ("HTTP/1.1", "connection: Foo, CLOSE\r\n", Reuse::Close),
        ("HTTP/1.1", "Connection: keep-alive\r\n", Reuse::Keep),
        ("HTTP/1.0", "", Reuse::Close),
        ("HTTP/1.0", "Connection: Keep-Alive\r\n", Reuse::Keep),
        ("HTTP/1.2", "", Reuse::Keep),
    ];
    for (version, field, reuse) in cases {
        let head = format!("{version} 200 OK\r\nContent-Length: 0\r\n{field}\r\n");
        check(&head, &[started(200), done(head.len() as u64, 0, 0, reuse)]);
    }
}

#[test]
fn chunked_wins_over_content_length() {
    for fields in [
        "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: x\r\nTransfer-Encoding: gzip, chunked \r\n",
        "Transfer-Encoding: gzip\r\nTransfer-Encoding: CHUNKED\r\nContent-Length: 2\r\n",
        "Transfer-Encoding: chunked,\r\n",
        "Transfer-Encoding: ,gzip,, chunked , ,\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding:\r\n",
    ] {
        let head = format!("HTTP/1.1 200 OK\r\n{fields}\r\n");
        let size = head.len() as u64;
        check(
            &format!("{head}1\r\nx\r\n0\r\n\r\n"),
            &[started(200), body("x"), done(size, 1, 2, Reuse::Keep)],
        );
    }
}

#[test]
fn a_coding_other_than_chunked_lasts_until_the_connection_ends() {
    check_eof(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nContent-Length: 1\r\n\r\nabc",
        &[started(200), body("abc"), done(63, 3, 0, Reuse::Close)],
    );
}

#[test]
fn equal_lengths_are_one_length() {
    check(
        "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nab",
        &[started(200), body("ab"), done(60, 2, 0, Reuse::Keep)],
    );
}

#[test]
fn an_impossible_length_is_an_error() {
    for value in
        ["-1", "+5", "5x", "", "5,", ",", "99999999999999999999", "5\r\nContent-Length: 6", "1, 2", "0x10"]
    {
        check_error(
            &format!("HTTP/1.1 200 OK\r\nContent-Length: {value}\r\n\r\nhello"),
            &[started(200)],
            &ProtocolError::BadLength,
        );
    }
}

#[test]
fn a_chunk_line_that_is_none_is_an_error() {
    for line in ["x", "-5", "5x", ";5", "10000000000000000", "5;01234567890123456789012345678901"] {
        check_error(
            &format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{line}\r\nhello\r\n"),
            &[started(200)],
            &ProtocolError::BadChunk,
        );
    }
}

#[test]
fn a_peer_that_speaks_something_else_is_told_by_its_first_bytes() {
    check_error("\x15\x03\x01\0\x02\x02\x28", &[], &Foreign::Tls.into());
    check_error("\x15\x03\x03\0\x02\x02\n", &[], &Foreign::Tls.into());
    check_error("\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\n", &[], &Foreign::Http2.into());
    let unknown = |text: &str| Foreign::Unknown { beginning: text.as_bytes().to_vec() };
    check_error("220 mail", &[], &unknown("220 mail").into());
    let long = "x".repeat(1000);
    check_error(&long, &[], &unknown(&long[..Foreign::BEGINNING]).into());
}

#[test]
fn a_chunk_whose_data_no_line_end_follows_is_an_error() {
    for after in ["0\r\n\r\n", "x\r\n", "\r0\r\n", "\r\r\n", " \r\n"] {
        check_error(
            &format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello{after}"),
            &[started(200), body("hello")],
            &ProtocolError::BadChunkEnd,
        );
    }
    check_error(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n\r\n0\r\n\r\n",
        &[started(200), body("hello")],
        &ProtocolError::BadChunk,
    );
}

#[test]
fn an_end_before_the_end_of_the_reply_is_an_error() {
    check_error("", &[], &ProtocolError::Truncated);
    check_error("HTTP/1.1 20", &[], &ProtocolError::Truncated);
    check_error("HTTP/1.1 200 OK\r\nContent", &[started(200)], &ProtocolError::Truncated);
    check_error("HTTP/1.1 100 Continue\r\n\r\n", &[], &ProtocolError::Truncated);
    check_error(
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
        &[started(200), body("hello")],
        &ProtocolError::Truncated,
    );
    check_error(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n",
        &[started(200)],
        &ProtocolError::Truncated,
    );
}

#[test]
fn a_status_outside_100_to_999_is_an_error() {
    for status in ["600", "999"] {
        let head = format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n");
        check(&head, &[started(status.parse().unwrap()), done(head.len() as u64, 0, 0, Reuse::Keep)]);
    }
    for status in ["99", "1000", "-200", "0", "99999999999999999999999"] {
        check_error(&format!("HTTP/1.1 {status} X\r\n\r\n"), &[], &ProtocolError::BadStatus);
    }
}

#[test]
fn a_reply_that_begins_with_no_status_line_is_an_error() {
    for line in ["FOO", "HTTP/2 200", "http/1.1 200 OK", "HTTP/1.1", "HTTP/1.1 abc", "220 mail ESMTP"] {
        let bytes = format!("{line}\r\nContent-Length: 2\r\n\r\nab");
        check_error(&bytes, &[], &ProtocolError::BadStatusLine { line: line.as_bytes().into() });
    }
}

#[test]
fn odd_header_lines_are_passed_over() {
    check(
        "\r\nHTTP/1.1 200\r\nno colon here\r\nBad Name: x\r\nX: a\r\n folded\r\nContent-Length : 1\r\n\r\nb",
        &[started(200), body("b"), done(81, 1, 0, Reuse::Keep)],
    );
}

/// <https://www.rfc-editor.org/rfc/rfc9110#section-5.5-5>
#[test]
fn a_nul_or_a_bare_carriage_return_in_the_header_is_an_error() {
    for field in ["A: \0", "A\0: b", "A: b\rc"] {
        check_error(&format!("HTTP/1.1 200 OK\r\n{field}\r\n\r\n"), &[started(200)], &ProtocolError::BadHead);
    }
}

#[test]
fn a_header_beyond_the_limits_is_an_error() {
    let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(1024));
    check_error(&long, &[started(200)], &ProtocolError::HeadTooLarge { limit: 1024 });
    let endless = "x".repeat(2000);
    check_error(&endless, &[], &ProtocolError::HeadTooLarge { limit: 1024 });
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(9));
    check_error(&many, &[started(200)], &ProtocolError::TooManyFields { limit: 8 });
    let trailers =
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n{}", "A: b\r\n".repeat(300));
    check_error(&trailers, &[started(200)], &ProtocolError::HeadTooLarge { limit: 1024 });
}

#[test]
fn pipelined_replies_answer_calls_in_order() {
    let reply = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n";
    let bytes = format!("{reply}a{reply}b");
    let size = ReplySize { header: 38, content: 1, footer: 0 };
    let of = |call, data: &str| {
        [
            Event::ReplyStarted { call, status: 200 },
            Event::ReplyBody { call, data: data.as_bytes().to_vec().into() },
            Event::ReplyDone { call, size, reuse: Reuse::Keep },
        ]
    };
    let expected = [of(ONE, "a"), of(TWO, "b")].concat();
    check_all(&["GET", "GET"], bytes.as_bytes(), true, &expected, None);
}

#[test]
fn after_an_announced_close_nothing_more_is_read_or_accepted() {
    let bytes = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n";
    let mut engine = engine_with(&["GET", "GET"], BODIES);
    let (events, error) = feed(&mut engine, &[bytes.as_bytes()], true);
    assert_eq!(events, [started(200), done(57, 0, 0, Reuse::Close)]);
    assert_eq!(error, None);
    assert_eq!(engine.capacity(), 0);
    assert_eq!(engine.pending().collect::<Vec<_>>(), [TWO]);
    assert_eq!(engine.submit(CallId(9), request("GET")), Err(Full));
}

#[test]
fn bytes_that_answer_no_request_are_an_error() {
    let bytes = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nX";
    check_error(bytes, &[started(200), done(38, 0, 0, Reuse::Keep)], &ProtocolError::Unsolicited);
}

/// Bytes that servers send on connections that they close as nothing came, and line ends behind bodies.
#[test]
fn a_408_and_line_ends_on_an_idle_connection_are_no_errors() {
    let reply = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let answered = [started(200), done(38, 0, 0, Reuse::Keep)];
    check(&format!("{reply}\r\n\n\r"), &answered);
    check_eof(&format!("{reply}\r\n"), &answered);
    let closed = [&answered[..], &[Event::Drained]].concat();
    for late in
        ["HTTP/1.0 408 Request Time-out\r\n\r\nabc", "\r\nHTTP/1.1 408 X\r\nContent-Length: 9\r\n\r\nab"]
    {
        check(&format!("{reply}{late}"), &closed);
        check_eof(&format!("{reply}{late}"), &closed);
    }
    for late in ["HTTP/1.1 400 X\r\n\r\n", "HTTP/1.1 40", "HTTP/1.2 408 X\r\n\r\n", "\r\nX"] {
        check_error(&format!("{reply}{late}"), &answered, &ProtocolError::Unsolicited);
    }
    // One that was not sent yet is not answered by it.
    let mut engine = engine_with(&[], BODIES);
    engine.submit(ONE, request("GET")).unwrap();
    let (events, error) = feed(&mut engine, &[b"HTTP/1.1 4", b"08 X\r\n\r\n"], false);
    assert_eq!((&events[..], error, engine.capacity()), (&[Event::Drained][..], None, 0));
    assert_eq!(engine.pending().collect::<Vec<_>>(), [ONE]);
}

#[test]
fn a_reply_to_a_request_not_yet_sent_is_an_error() {
    let mut engine = engine_with(&["GET"], BODIES);
    engine.submit(TWO, request("GET")).unwrap();
    let reply = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let (events, error) = feed(&mut engine, &[reply.repeat(2).as_bytes()], false);
    assert_eq!(events.len(), 2);
    assert_eq!(error, Some(ProtocolError::Unsolicited));
}

#[test]
fn a_reply_before_the_end_of_its_request_ends_the_connection() {
    let mut engine = Engine::new(BODIES);
    engine.submit(ONE, request("POST with a long body")).unwrap();
    let mut out = Vec::new();
    engine.poll_transmit(&mut out);
    engine.handle_written(4);
    let (events, error) = feed(&mut engine, &[b"HTTP/1.1 413 X\r\nContent-Length: 0\r\n\r\n"], false);
    assert_eq!(events, [started(413), done(37, 0, 0, Reuse::Close)]);
    assert_eq!(error, None);
}

#[test]
fn the_rest_of_a_request_is_not_sent_after_its_reply() {
    let mut engine = Engine::new(BODIES);
    engine.submit(ONE, request(&"x".repeat(TRANSMIT_SIZE + 10))).unwrap();
    let mut out = Vec::new();
    engine.poll_transmit(&mut out);
    engine.handle_written(out.len());
    let (events, _) = feed(&mut engine, &[b"HTTP/1.1 413 X\r\nContent-Length: 0\r\n\r\n"], false);
    assert_eq!(events, [started(413), done(37, 0, 0, Reuse::Close)]);
    assert!(!engine.poll_transmit(&mut out));
}

#[test]
fn partial_writes_report_each_request_when_it_starts_and_ends() {
    let mut engine = Engine::new(Options::default());
    engine.submit(ONE, request("abc")).unwrap();
    engine.submit(TWO, request("defg")).unwrap();
    let mut out = Vec::new();
    assert!(engine.poll_transmit(&mut out));
    assert_eq!(out, b"abcdefg");
    assert!(!engine.poll_transmit(&mut out), "everything was handed out");
    let mut sent = |count| {
        engine.handle_written(count);
        std::iter::from_fn(|| engine.poll_sent()).collect::<Vec<_>>()
    };
    assert_eq!(sent(2), [Sent::Started(ONE)]);
    assert_eq!(sent(3), [Sent::Finished(ONE), Sent::Started(TWO)]);
    assert_eq!(sent(1), []);
    assert_eq!(sent(1), [Sent::Finished(TWO)]);
    assert!(!engine.wants_write());
}

#[test]
fn a_large_request_is_handed_out_in_bounded_pieces() {
    let mut engine = Engine::new(Options::default());
    let large = "x".repeat(TRANSMIT_SIZE + 10);
    engine.submit(ONE, request(&large)).unwrap();
    engine.submit(TWO, request("tail")).unwrap();
    let mut out = Vec::new();
    assert!(engine.poll_transmit(&mut out));
    assert_eq!(out.len(), TRANSMIT_SIZE);
    assert!(engine.poll_transmit(&mut out));
    assert_eq!(out, format!("{large}tail").as_bytes());
}

#[test]
fn requests_of_which_nothing_was_used_do_not_count_as_transmitted() {
    let mut engine = Engine::new(Options::default());
    engine.submit(ONE, request("GET")).unwrap();
    engine.submit(TWO, request("GET")).unwrap();
    let mut out = Vec::new();
    assert_eq!(engine.transmitted_count(0), 0);
    engine.poll_transmit_safe(&mut out);
    let size = out.len() / 2;
    let counts = [0, size - 1, size, 2 * size - 1, 2 * size].map(|unused| engine.transmitted_count(unused));
    assert_eq!(counts, [2, 2, 1, 1, 0]);
}

#[test]
fn the_pipeline_is_bounded() {
    let mut engine = Engine::new(Options { pipeline: 1, ..Options::default() });
    assert_eq!(engine.capacity(), 1);
    engine.submit(ONE, request("GET")).unwrap();
    assert_eq!(engine.submit(TWO, request("GET")), Err(Full));
}

#[test]
fn fields_are_read_without_the_blanks_around_values() {
    let head = b"HTTP/1.1 200 OK\r\nSet-Cookie:  a=b ; path=/ \r\nnothing\r\n folded: x\r\nA:\r\n\r\n";
    let read: Vec<(&[u8], &[u8])> = fields(head).collect();
    assert_eq!(read, [(&b"Set-Cookie"[..], &b"a=b ; path=/"[..]), (b"A", b"")]);
}

#[test]
fn close_wins_wherever_it_stands() {
    for fields in [
        "Connection: close\r\nConnection: keep-alive",
        "Connection: keep-alive, close",
        "Connection: close, keep-alive",
    ] {
        let reply = format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{fields}\r\n\r\n");
        let mut engine = engine_with(&["GET"], Options::default());
        let (mut input, mut header_cache) = (reply.as_bytes(), HeaderCache::default());
        let mut last = None;
        while let Some(event) = engine.poll_event(&mut input, &mut header_cache).unwrap() {
            last = Some(event);
        }
        assert!(matches!(last, Some(Event::ReplyDone { reuse: Reuse::Close, .. })), "{fields}");
    }
}

#[test]
fn server_timing_is_kept_if_it_was_asked_for() {
    let reply = b"HTTP/1.1 103 Early Hints\r\nServer-Timing: early\r\n\r\n\
                  HTTP/1.1 200 OK\r\nserver-timing: db;dur=53\r\nContent-Length: 0\r\nServer-Timing: app;dur=47.2\r\n\r\n\
                  HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    for (asked, first) in [(true, &b"db;dur=53, app;dur=47.2"[..]), (false, b"")] {
        let mut engine = engine_with(&["GET", "GET"], Options { server_timing: asked, ..Options::default() });
        let (mut input, mut header_cache) = (&reply[..], HeaderCache::default());
        let mut kept = Vec::new();
        while let Some(event) = engine.poll_event(&mut input, &mut header_cache).unwrap() {
            if matches!(event, Event::ReplyDone { .. }) {
                kept.push(engine.server_timing().to_vec());
            }
        }
        assert_eq!(kept, [first, b""], "asked: {asked}");
    }
}

#[test]
fn alt_svc_is_handed_out_once_for_each_reply_if_it_was_asked_for() {
    let same = "HTTP/1.1 200 OK\r\nAlt-Svc: h3=\":1\"\r\nContent-Length: 0\r\nalt-svc: h2=\":2\"\r\n\r\n";
    let without = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let early = "HTTP/1.1 103 Early Hints\r\nAlt-Svc: clear\r\n\r\n";
    let replies = [same, same, without, without, early, without].concat();
    for asked in [true, false] {
        for cut in 0..replies.len() {
            let mut engine = engine_with(&["GET"; 5], Options { alt_svc: asked, ..Options::default() });
            let (mut header_cache, mut kept) = (HeaderCache::default(), Vec::new());
            for mut input in [&replies.as_bytes()[..cut], &replies.as_bytes()[cut..]] {
                while let Some(event) = engine.poll_event(&mut input, &mut header_cache).unwrap() {
                    if matches!(event, Event::ReplyDone { .. }) {
                        kept.push(String::from_utf8(engine.take_alt_svc().to_vec()).unwrap());
                        assert_eq!(engine.take_alt_svc(), b"");
                    }
                }
            }
            let value = if asked { "h3=\":1\", h2=\":2\"" } else { "" };
            assert_eq!(kept, [value, value, "", "", ""], "asked: {asked}, split at byte {cut}");
        }
    }
}

#[test]
fn a_header_block_that_came_before_says_the_same_again() {
    let replies = [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\ncd",
        // A longer block that begins like the one before.
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nef",
    ];
    let requests = ["GET"; 3];
    let expected = [
        vec![started(200), body("ab"), done(38, 2, 0, Reuse::Keep)],
        vec![started(200), body("cd"), done(38, 2, 0, Reuse::Keep)],
        vec![started(200), body("ef"), done(57, 2, 0, Reuse::Close)],
    ];
    let mut engine = engine_with(&requests, BODIES);
    let (events, error) = feed(&mut engine, &[replies.concat().as_bytes()], false);
    assert_eq!(error, None);
    let statuses: Vec<String> = events.iter().map(|event| format!("{event:?}")).collect();
    let wanted: Vec<String> = expected
        .into_iter()
        .enumerate()
        .flat_map(|(call, events)| {
            events
                .into_iter()
                .map(move |event| format!("{event:?}").replace("CallId(0)", &format!("CallId({call})")))
        })
        .collect();
    assert_eq!(statuses, wanted);
}

#[test]
fn a_known_header_block_means_what_its_own_request_makes_of_it() {
    let reply = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
    let mut engine = engine_with(&["GET", "HEAD", "GET"], BODIES);
    let bytes = [reply, "ab", reply, reply, "cd"].concat();
    let (events, error) = feed(&mut engine, &[bytes.as_bytes()], false);
    assert_eq!(error, None);
    let sizes: Vec<u64> = events
        .iter()
        .filter_map(|event| if let Event::ReplyDone { size, .. } = event { Some(size.content) } else { None })
        .collect();
    assert_eq!(sizes, [2, 0, 2]);
}

/// Skips content where it may, and reads the rest.
fn skip_through(bytes: &[u8], most: usize, requests: &[&str], eof: bool) -> Vec<Event<'static>> {
    let mut engine = engine_with(requests, Options { bodies: false, ..BODIES });
    let (mut events, mut header_cache, mut rest) = (Vec::new(), HeaderCache::default(), bytes);
    while !rest.is_empty() {
        let skippable = usize::try_from(engine.skippable()).unwrap_or(usize::MAX).min(most).min(rest.len());
        let mut input = &rest[..skippable.max(1)];
        if skippable > 0 {
            engine.handle_skipped(skippable as u64);
            rest = &rest[skippable..];
            input = &[];
        } else {
            rest = &rest[1..];
        }
        while let Some(event) = engine.poll_event(&mut input, &mut header_cache).unwrap() {
            events.push(event.into_owned());
        }
    }
    if eof {
        events.extend(engine.handle_eof().unwrap());
    }
    events
}

#[test]
fn content_that_nobody_asked_for_can_be_skipped() {
    let replies = [
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\na\r\n0123456789\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall that comes",
    ]
    .concat();
    let mut engine = engine_with(&["GET"; 3], Options { bodies: false, ..BODIES });
    let (expected, error) = feed(&mut engine, &[replies.as_bytes()], true);
    assert_eq!((expected.len(), error), (6, None));
    for most in [1, 3, 1000] {
        assert_eq!(skip_through(replies.as_bytes(), most, &["GET"; 3], true), expected, "{most} at a time");
    }
    assert_eq!(engine_with(&["GET"], BODIES).skippable(), 0);
}

#[test]
fn what_is_large_or_alone_is_handed_out_without_being_copied() {
    let large = "x".repeat(SHARED_SIZE);
    let mut engine = Engine::new(Options::default());
    let shared = Request::of_bytes(b"POST", Some(large.as_bytes()));
    engine.submit(ONE, request("GET")).unwrap();
    engine.submit(TWO, shared.clone()).unwrap();
    engine.submit(CallId(2), request("HEAD")).unwrap();
    let mut out = Vec::new();
    let last = engine.poll_transmit_shared(&mut out);
    assert_eq!(last.as_ptr(), shared.body().as_ptr());
    assert_eq!((&out[..], last.len()), (&b"GETPOST"[..], SHARED_SIZE));
    // The transport takes a part of the body.
    engine.handle_written(7 + 100);
    engine.handle_blocked();
    out.clear();
    assert_eq!(engine.poll_transmit_shared(&mut out), b"");
    assert_eq!(out, [&large.as_bytes()[100..], b"HEAD"].concat(), "the rest is small enough to be copied");
    engine.handle_written(out.len());
    let sent: Vec<Sent> = std::iter::from_fn(|| engine.poll_sent()).collect();
    assert_eq!(sent.len(), 6);
    assert!(!engine.wants_write());
    assert_eq!(engine.poll_transmit_shared(&mut Vec::new()), b"");
}

proptest! {
    #[test]
    fn the_same_bytes_go_out_however_they_are_handed_out(
        requests in prop::collection::vec((1usize..9000, 0usize..9000), 1..6),
        takes in prop::collection::vec(1usize..20_000, 1..200),
    ) {
        let requests: Vec<Request> = requests
            .into_iter()
            .enumerate()
            .map(|(number, (size, body))| {
                let letter = (b'a' + number as u8) as char;
                let body = vec![b'0' + number as u8; body];
                Request::of_bytes(letter.to_string().repeat(size).as_bytes(), (!body.is_empty()).then_some(&body))
            })
            .collect();
        let whole: Vec<u8> =
            requests.iter().flat_map(|request| [request.http1_head(), request.body()].concat()).collect();
        let fresh = || {
            let mut engine = Engine::new(Options::default());
            for (call, request) in requests.iter().enumerate() {
                engine.submit(CallId(call as u64), request.clone()).unwrap();
            }
            engine
        };
        let (mut engine, mut sent, mut out) = (fresh(), Vec::new(), Vec::new());
        for take in takes.into_iter().chain(std::iter::repeat(usize::MAX)).take(300) {
            out.clear();
            let last = engine.poll_transmit_shared(&mut out).to_vec();
            let offered = [&out[..], &last].concat();
            let taken = offered.len().min(take);
            sent.extend_from_slice(&offered[..taken]);
            engine.handle_written(taken);
            if taken < offered.len() {
                engine.handle_blocked();
            }
        }
        prop_assert!(sent == whole);
        let (mut engine, mut copied) = (fresh(), Vec::new());
        while engine.poll_transmit(&mut copied) {}
        prop_assert!(copied == whole);
    }
}

/// A request that opens a WebSocket.
fn opening() -> Request {
    let opening = crate::request::Opening { key: "k", extensions: "", protocols: "" };
    RequestParts { websocket: Some(opening), ..RequestParts::to(b"/ws") }.request()
}

/// An engine that has sent a request that opens a WebSocket.
fn opened() -> Engine {
    let mut engine = Engine::new(Options { bodies: false, ..BODIES });
    engine.submit(ONE, opening()).unwrap();
    let mut out = Vec::new();
    while engine.poll_transmit(&mut out) {}
    engine.handle_written(out.len());
    while engine.poll_sent().is_some() {}
    engine
}

const AGREED: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";

#[test]
fn a_websocket_is_a_reply_that_lasts_until_both_sides_have_closed_it() {
    let bytes = [AGREED.as_bytes(), b"\x81\x02hi\x88\x00"].concat();
    for cut in 0..=bytes.len() {
        let mut engine = opened();
        let (events, error) = feed(&mut engine, &[&bytes[..cut], &bytes[cut..]], false);
        let expected = [
            Event::ReplyStarted { call: ONE, status: 101 },
            Event::ReplyHead { call: ONE, head: HeaderBlock::new(AGREED.as_bytes()) },
            Event::StreamStarted { call: ONE, content: Content::default() },
            Event::ReplyBody { call: ONE, data: b"\x81\x02hi\x88\x00"[..].into() },
        ];
        assert_eq!((&events[..], error), (&expected[..], None), "cut at {cut}");
        assert_eq!((engine.capacity(), engine.pending_count(), engine.skippable()), (0, 1, 0));
        engine.finish();
        let size = ReplySize { header: AGREED.len() as u64, content: 6, footer: 0 };
        let done = Event::ReplyDone { call: ONE, size, reuse: Reuse::Close };
        assert_eq!(feed(&mut engine, &[b""], false), (vec![done], None));
        assert_eq!(feed(&mut engine, &[b"more"], true), (Vec::new(), None), "what follows is ignored");
    }
}

#[test]
fn what_is_sent_on_a_websocket_goes_out_in_order() {
    let mut engine = opened();
    engine.send(b"too early: it is dropped");
    assert!(!engine.wants_write());
    feed(&mut engine, &[AGREED.as_bytes()], false);
    engine.send(b"one");
    engine.send(b"two");
    let mut out = Vec::new();
    assert_eq!(engine.poll_transmit_shared(&mut out), b"onetwo");
    assert_eq!(engine.unsent(), 6);
    engine.handle_written(4);
    assert_eq!(engine.poll_sent(), None);
    engine.handle_blocked();
    engine.send(b"three");
    let mut rest = Vec::new();
    assert!(engine.poll_transmit(&mut rest) && !engine.poll_transmit(&mut rest));
    assert_eq!((&rest[..], engine.goodbye()), (&b"wothree"[..], &b""[..]));
    engine.handle_written(7);
    assert!(!engine.wants_write() && engine.unsent() == 0);
    engine.send(b"bye");
    engine.finish();
    feed(&mut engine, &[b""], false);
    assert_eq!(engine.goodbye(), b"bye", "it goes before the connection is closed");
}

#[test]
fn a_websocket_that_ends_without_a_close_is_cut() {
    let mut engine = opened();
    let (events, error) = feed(&mut engine, &[AGREED.as_bytes(), b"\x81"], true);
    assert_eq!((events.len(), error), (4, Some(ProtocolError::Truncated)));
    // Any other reply is one like those to other requests.
    let mut engine = opened();
    let (events, error) = feed(&mut engine, &[b"HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno"], false);
    assert!(
        matches!(events[..], [Event::ReplyStarted { status: 403, .. }, Event::ReplyDone { .. }]),
        "{events:?}"
    );
    assert_eq!((error, engine.capacity() > 0), (None, true));
}

#[test]
fn nothing_may_wait_behind_a_websocket() {
    let mut engine = opened();
    engine.submit(TWO, opening()).unwrap();
    let mut out = Vec::new();
    while engine.poll_transmit(&mut out) {}
    engine.handle_written(out.len());
    let (_, error) = feed(&mut engine, &[AGREED.as_bytes()], false);
    assert_eq!(error, Some(ProtocolError::Unsolicited));
}
