//! Servers that break the rules of HTTP/2, each in its own way: what ends a stream, what ends the connection, and what the
//! server is told. Everything is fed whole, cut at every byte, and byte by byte.

use httperf_proto::http2::{Limits, Options};
use httperf_proto::{Event, ReplyLimits};
use httperf_testkit::http2::frames::{self, code, flag, kind, setting};
use httperf_testkit::http2::{Frame, Reply, Script};

use crate::common;
use crate::common::{Outcome, body, broken, done, failed, gets, head, play, request, returned, started};

/// Limits within the reach of a short script.
const LIMITS: Limits = Limits {
    reply: ReplyLimits { head_size: 600, fields: 8, chunk_line_size: 32, interim_replies: 3 },
    continuations: 4,
    idle_frames: 20,
    resets: 5,
};

fn options() -> Options {
    Options { header_blocks: true, bodies: true, limits: LIMITS, ..Options::default() }
}

/// A server that has said its settings, as it must.
fn server() -> Script {
    Script::new().settings(&[])
}

const OK: &[(&str, &str)] = &[(":status", "200")];
const OK_TEXT: &str = "HTTP/2 200\r\n\r\n";

/// Two calls are sent, on streams 1 and 3. The server's bytes end the connection, and we send it the reason.
#[track_caller]
fn breaks(script: &Script, code: u32, reason: &'static str) -> Outcome {
    breaks_with(options(), script, code, reason)
}

#[track_caller]
fn breaks_with(options: Options, script: &Script, code: u32, reason: &'static str) -> Outcome {
    let outcome = play(options, &gets(2), script.bytes());
    assert_eq!(outcome.end, broken(code, reason));
    let goaway = outcome.said.last().expect("the server is told");
    let payload = [&0_u32.to_be_bytes()[..], &code.to_be_bytes(), reason.as_bytes()].concat();
    assert_eq!(*goaway, Frame { kind: kind::GOAWAY, flags: 0, stream: 0, payload });
    assert_eq!(outcome.said.iter().filter(|frame| frame.kind == kind::GOAWAY).count(), 1);
    outcome
}

/// Two calls are sent, on streams 1 and 3. What the server says ends stream 1, and it is told why; the other call is
/// answered as if nothing had happened.
#[track_caller]
fn resets(script: Script, code: u32) {
    resets_behind(script, &[], code);
}

/// As [`resets`], and these events come before.
#[track_caller]
fn resets_behind(script: Script, events: &[Event<'static>], code: u32) {
    resets_request(&gets(2), script, events, code);
}

#[track_caller]
fn resets_request(
    requests: &[httperf_proto::request::Request],
    script: Script,
    events: &[Event<'static>],
    code: u32,
) {
    let script = script.head(3, OK, false).data(3, b"fine", true);
    let outcome = play(options(), requests, script.bytes());
    assert_eq!(outcome.end, Ok(()));
    let rest = [failed(0), started(1, 200), head(1, OK_TEXT), body(1, b"fine"), done(1, 14, 4, 0)];
    assert_eq!(outcome.events, [events, &rest].concat());
    let resets: Vec<_> = outcome.said.into_iter().filter(|frame| frame.kind == kind::RST_STREAM).collect();
    let payload = code.to_be_bytes().to_vec();
    assert_eq!(resets, [Frame { kind: kind::RST_STREAM, flags: 0, stream: 1, payload }]);
}

/// Two calls are sent, on streams 1 and 3. What the server says means nothing, and both are answered.
#[track_caller]
fn is_passed_over(script: Script) {
    let script = script.head(3, OK, true).head(1, OK, true);
    let outcome = play(options(), &gets(2), script.bytes());
    assert_eq!(outcome.end, Ok(()));
    let expected = [
        started(1, 200),
        head(1, OK_TEXT),
        done(1, 14, 0, 0),
        started(0, 200),
        head(0, OK_TEXT),
        done(0, 14, 0, 0),
    ];
    assert_eq!(outcome.events, expected);
}

// What a connection begins with.

#[test]
fn a_server_that_begins_with_anything_but_its_settings_is_none() {
    let reason = "a server that does not begin with its settings";
    for first in [
        frames::settings_ack(),
        frames::ping([0; 8]),
        frames::headers(1, b"\x88", true),
        frames::data(1, b"x", true),
        frames::window_update(0, 1),
        frames::window_update(1, 0),
        frames::goaway(0, 0),
        frames::reset(1, 0),
        frames::frame(kind::PRIORITY, 0, 1, &[0; 5]),
        frames::frame(kind::PRIORITY, 0, 1, &[0; 4]),
        frames::frame(0x20, 0, 0, b"unknown"),
    ] {
        breaks(&Script::new().raw(&first).settings(&[]), code::PROTOCOL_ERROR, reason);
    }
}

#[test]
fn a_server_that_speaks_http1_is_told_from_a_broken_one() {
    let reason = "the server answers in HTTP/1";
    breaks(&Script::new().raw(b"HTTP/1.1 400 Bad Request\r\n\r\n"), code::HTTP_1_1_REQUIRED, reason);
    breaks(&Script::new().raw(b"HTTP/"), code::HTTP_1_1_REQUIRED, reason);
}

#[test]
fn what_is_no_http_at_all_is_refused() {
    for bytes in [&b"220 mail.example.org ESMTP\r\n"[..], b"\x15\x03\x01\x00\x02\x02\x46\0\0"] {
        breaks(&Script::new().raw(bytes), code::PROTOCOL_ERROR, "the server's first bytes are not HTTP");
    }
    breaks(&Script::new().raw(&[0; 20]), code::PROTOCOL_ERROR, "a DATA frame on stream 0");
}

// Streams that frames may not be on.

#[test]
fn frames_of_streams_are_not_on_stream_0() {
    let cases: [(u8, &[u8], &'static str); 6] = [
        (kind::DATA, b"x", "a DATA frame on stream 0"),
        (kind::HEADERS, b"\x88", "a HEADERS frame on stream 0"),
        (kind::PRIORITY, &[0; 5], "a PRIORITY frame on stream 0"),
        (kind::RST_STREAM, &[0; 4], "an RST_STREAM frame on stream 0"),
        (kind::CONTINUATION, b"", "a CONTINUATION frame on stream 0"),
        (kind::PUSH_PROMISE, &[0; 4], "a PUSH_PROMISE frame, although pushing is disabled"),
    ];
    for (kind, payload, reason) in cases {
        breaks(&server().frame(kind, flag::END_HEADERS, 0, payload), code::PROTOCOL_ERROR, reason);
    }
}

#[test]
fn frames_of_the_connection_are_on_stream_0() {
    let cases: [(u8, &[u8], &'static str); 3] = [
        (kind::SETTINGS, b"", "a SETTINGS frame on a stream that is not 0"),
        (kind::PING, &[0; 8], "a PING frame on a stream that is not 0"),
        (kind::GOAWAY, &[0; 8], "a GOAWAY frame on a stream that is not 0"),
    ];
    for (kind, payload, reason) in cases {
        breaks(&server().frame(kind, 0, 1, payload), code::PROTOCOL_ERROR, reason);
    }
}

#[test]
fn streams_that_were_not_opened_have_no_frames() {
    let reason = "a frame on a stream that was not opened";
    for stream in [2, 4, 5, 0x7fff_fffe, 0x7fff_ffff] {
        for frame in [
            frames::headers(stream, b"\x88", true),
            frames::data(stream, b"x", true),
            frames::reset(stream, 0),
            frames::window_update(stream, 1),
        ] {
            breaks(&server().raw(&frame), code::PROTOCOL_ERROR, reason);
        }
    }
}

#[test]
fn the_reserved_bit_of_a_stream_means_nothing() {
    is_passed_over(server().frame(kind::PING, 0, 1 << 31, &[0; 8]).frame(
        kind::WINDOW_UPDATE,
        0,
        1 << 31,
        &[0x80, 0, 0, 1],
    ));
}

#[test]
fn streams_that_have_ended_have_no_frames() {
    let reason = "a frame on a stream that has ended";
    let ended = || server().head(1, OK, true);
    breaks(&ended().head(1, OK, true), code::STREAM_CLOSED, reason);
    breaks(&ended().data(1, b"x", false), code::STREAM_CLOSED, reason);
    breaks(&ended().data(1, b"", true), code::STREAM_CLOSED, reason);
    let reset = || server().reset(1, code::INTERNAL_ERROR);
    breaks(&reset().head(1, OK, true), code::STREAM_CLOSED, reason);
    breaks(&reset().data(1, b"x", false), code::STREAM_CLOSED, reason);
}

#[test]
fn a_stream_that_has_ended_may_be_reset_and_given_window() {
    let script =
        server().head(1, OK, true).reset(1, code::NO_ERROR).window_update(1, 5).window_update(1, 1 << 30);
    let outcome = play(options(), &gets(1), script.bytes());
    assert_eq!((outcome.end, outcome.events.len()), (Ok(()), 3));
}

#[test]
fn a_frame_that_is_wrong_by_itself_is_wrong_on_a_stream_that_has_ended_too() {
    let ended = || server().head(1, OK, true);
    breaks(&ended().window_update(1, 0), code::PROTOCOL_ERROR, "a WINDOW_UPDATE frame by 0");
    let priority = ended().frame(kind::PRIORITY, 0, 1, &[0; 4]);
    breaks(&priority, code::FRAME_SIZE_ERROR, "a PRIORITY frame without 5 bytes");
}

#[test]
fn what_comes_on_a_stream_that_we_have_reset_is_passed_over() {
    // Content before the header, and then everything that a server may have sent before it learns of the reset.
    let script = server()
        .data(1, b"x", false)
        .head(1, &[(":status", "200"), ("x-new", "to the table")], false)
        .data(1, b"more", false)
        .window_update(1, 10)
        .frame(kind::PRIORITY, 0, 1, &[0; 5])
        .head_in_pieces(1, &[("x-trailer", "1"), ("x-new", "to the table")], 3, true)
        .reset(1, code::NO_ERROR)
        .head(3, &[(":status", "200"), ("x-new", "to the table")], true);
    let outcome = play(options(), &gets(2), script.bytes());
    let text = "HTTP/2 200\r\nx-new: to the table\r\n\r\n";
    let rest = [failed(0), started(1, 200), head(1, text), done(1, text.len() as u64, 0, 0)];
    assert_eq!((outcome.end, outcome.events), (Ok(()), rest.to_vec()));
}

// Sizes of frames.

#[test]
fn frames_have_sizes_that_they_can_have() {
    let error = code::FRAME_SIZE_ERROR;
    let cases: [(u8, u8, u32, usize, &'static str); 14] = [
        (kind::RST_STREAM, 0, 1, 3, "an RST_STREAM frame without 4 bytes"),
        (kind::RST_STREAM, 0, 1, 5, "an RST_STREAM frame without 4 bytes"),
        (kind::SETTINGS, 0, 0, 5, "a SETTINGS frame of a size that it cannot have"),
        (kind::SETTINGS, 0, 0, 7, "a SETTINGS frame of a size that it cannot have"),
        (kind::SETTINGS, flag::ACK, 0, 6, "a SETTINGS frame of a size that it cannot have"),
        (kind::PING, 0, 0, 7, "a PING frame without 8 bytes"),
        (kind::PING, flag::ACK, 0, 9, "a PING frame without 8 bytes"),
        (kind::GOAWAY, 0, 0, 7, "a GOAWAY frame of less than 8 bytes"),
        (kind::WINDOW_UPDATE, 0, 0, 3, "a WINDOW_UPDATE frame without 4 bytes"),
        (kind::WINDOW_UPDATE, 0, 1, 5, "a WINDOW_UPDATE frame without 4 bytes"),
        (kind::HEADERS, flag::PRIORITY, 1, 4, "a HEADERS frame without room for its priority"),
        (kind::HEADERS, flag::PRIORITY | flag::PADDED, 1, 4, "a HEADERS frame without room for its priority"),
        (kind::HEADERS, flag::PADDED, 1, 0, "a padded frame without room for the size of its padding"),
        (kind::DATA, flag::PADDED, 1, 0, "a padded frame without room for the size of its padding"),
    ];
    for (kind, flags, stream, size, reason) in cases {
        breaks(&server().frame(kind, flags, stream, &vec![0; size]), error, reason);
    }
}

#[test]
fn no_frame_is_larger_than_we_take() {
    let reason = "a frame larger than allowed";
    for kind in [kind::DATA, kind::HEADERS, kind::SETTINGS, kind::PING, 0x20] {
        let frame = frames::frame_of_length(16_385, kind, 0, 1, b"it need not have arrived");
        breaks(&server().raw(&frame), code::FRAME_SIZE_ERROR, reason);
    }
    is_passed_over(server().raw(&frames::frame(0x20, 0xff, 77, &[0; 300])));
}

#[test]
fn larger_frames_are_taken_if_we_said_so() {
    let big = vec![b'x'; 20_000];
    let script = server().head(1, OK, false).data(1, &big, true);
    let options = Options { max_frame: 20_000, ..options() };
    let outcome = common::play_parts(options, &gets(1), &[script.bytes()]);
    let expected = [started(0, 200), head(0, OK_TEXT), body(0, &big), done(0, 14, 20_000, 0)];
    assert_eq!((outcome.end, outcome.events), (Ok(()), expected.to_vec()));
}

#[test]
fn a_priority_of_another_size_ends_its_stream() {
    for size in [0, 4, 6] {
        resets(server().frame(kind::PRIORITY, 0, 1, &vec![0; size]), code::FRAME_SIZE_ERROR);
    }
}

#[test]
fn padding_is_no_longer_than_its_frame() {
    let reason = "more padding than payload";
    breaks(
        &server().head(1, OK, false).frame(kind::DATA, flag::PADDED, 1, &[4, 0, 0, 0]),
        code::PROTOCOL_ERROR,
        reason,
    );
    breaks(
        &server().head(1, OK, false).frame(kind::DATA, flag::PADDED, 1, &[1]),
        code::PROTOCOL_ERROR,
        reason,
    );
    let flags = flag::PADDED | flag::END_HEADERS;
    breaks(&server().frame(kind::HEADERS, flags, 1, &[2, 0x88]), code::PROTOCOL_ERROR, reason);
    // With the priority there is no room for the padding.
    let flags = flags | flag::PRIORITY;
    let payload = [2, 0, 0, 0, 0, 0, 0];
    breaks(
        &server().frame(kind::HEADERS, flags, 1, &payload),
        code::FRAME_SIZE_ERROR,
        "a HEADERS frame without room for its priority",
    );
}

// Header blocks.

#[test]
fn nothing_comes_between_the_frames_of_a_header_block() {
    let reason = "a frame in the middle of a header block";
    for between in [
        frames::data(1, b"x", false),
        frames::data(3, b"", true),
        frames::headers(1, b"\x88", true),
        frames::headers(3, b"\x88", true),
        frames::ping([0; 8]),
        frames::settings(&[]),
        frames::settings_ack(),
        frames::reset(3, 0),
        frames::goaway(3, 0),
        frames::window_update(0, 1),
        frames::window_update(3, 0),
        frames::frame(kind::PRIORITY, 0, 3, &[0; 5]),
        frames::frame(kind::PRIORITY, 0, 3, &[0; 3]),
        frames::frame(0x20, 0, 0, b"unknown"),
        frames::frame(0x20, 0, 0, b""),
    ] {
        let script = server().frame(kind::HEADERS, 0, 1, b"\x88").raw(&between);
        let script = script.frame(kind::CONTINUATION, flag::END_HEADERS, 1, b"");
        breaks(&script, code::PROTOCOL_ERROR, reason);
    }
}

#[test]
fn a_continuation_continues_a_header_block() {
    let reason = "a CONTINUATION frame that continues nothing";
    let more = frames::frame(kind::CONTINUATION, flag::END_HEADERS, 1, b"");
    breaks(&server().raw(&more), code::PROTOCOL_ERROR, reason);
    breaks(&server().head(1, OK, false).raw(&more), code::PROTOCOL_ERROR, reason);
    breaks(&server().frame(kind::HEADERS, 0, 3, b"\x88").raw(&more), code::PROTOCOL_ERROR, reason);
}

#[test]
fn continuations_have_a_limit() {
    let more = frames::frame(kind::CONTINUATION, 0, 1, b"");
    let script = server().frame(kind::HEADERS, 0, 1, b"\x88");
    breaks(&script.repeated(5, &more), code::ENHANCE_YOUR_CALM, "more CONTINUATION frames than the limit");
    let script = server().frame(kind::HEADERS, 0, 1, b"\x88").repeated(3, &more);
    let script = script.frame(kind::CONTINUATION, flag::END_HEADERS, 1, b"").reset(1, 0);
    let outcome = play(options(), &gets(1), script.bytes());
    assert_eq!((outcome.end, outcome.events), (Ok(()), vec![started(0, 200), head(0, OK_TEXT), failed(0)]));
}

#[test]
fn header_blocks_and_lists_have_limits() {
    let reason = "a header block larger than the limit";
    let script = server().frame(kind::HEADERS, 0, 1, &[0x88; 601]);
    breaks(&script, code::ENHANCE_YOUR_CALM, reason);
    let script =
        server().frame(kind::HEADERS, 0, 1, &[0x88; 400]).frame(kind::CONTINUATION, 0, 1, &[0x88; 201]);
    breaks(&script, code::ENHANCE_YOUR_CALM, reason);
    // However it is cut into frames.
    breaks(&server().raw(&frames::headers(1, &[0x88; 601], true)), code::ENHANCE_YOUR_CALM, reason);
    // A list much larger than its block.
    let long = "x".repeat(300);
    let script = server().head(1, &[(":status", "200"), ("x", &long), ("x", &long)], true);
    breaks(&script, code::ENHANCE_YOUR_CALM, "a header list larger than the limit");
}

#[test]
fn a_reply_has_no_more_fields_than_the_limit() {
    let fields: Vec<_> =
        std::iter::once((":status", "200")).chain(std::iter::repeat_n(("x", "y"), 8)).collect();
    resets(server().head(1, &fields, true), code::PROTOCOL_ERROR);
    is_passed_over(server().head(1, &[(":status", "103"), ("a", ""), ("b", "")], false));
}

#[test]
fn blocks_that_cannot_be_decoded_end_the_connection() {
    let cases: [(&[u8], &'static str); 13] = [
        (b"\x40", "a header block that ends within a field"),
        (b"\x88\x00\x01x\x05abc", "a header block that ends within a field"),
        (b"\x3f", "a header block that ends within a field"),
        (b"\xff\xff\xff\xff\xff\xff\x0f", "a header block with a number that is too large"),
        (b"\x40\x7f\xff\xff\xff\xff\xff\x01", "a header block with a number that is too large"),
        (b"\x80", "a header block with an index that stands for no field"),
        (b"\xbe", "a header block with an index that stands for no field"),
        (b"\x7e\x01x", "a header block with an index that stands for no field"),
        (b"\x00\x81\xff\x00", "a header block with a malformed Huffman code"),
        (b"\x00\x84\xff\xff\xff\xff\x00", "a header block with a malformed Huffman code"),
        (b"\x00\x81\x18\x00", "a header block with a malformed Huffman code"),
        (b"\x3f\xe2\x1f\x88", "a header block that sets a table size beyond the limit"),
        (b"\x88\x20", "a header block that does not change the table size where it must"),
    ];
    for (block, reason) in cases {
        let script = server().raw(&frames::headers(1, block, true));
        breaks(&script, code::COMPRESSION_ERROR, reason);
        // Whatever becomes of the stream, the tables must stay the same.
        let script = server().data(1, b"x", false).raw(&frames::headers(1, block, true));
        breaks(&script, code::COMPRESSION_ERROR, reason);
        if block.len() > 1 {
            let script = server().raw(&frames::headers_in_pieces(1, block, block.len() / 2, true));
            breaks(&script, code::COMPRESSION_ERROR, reason);
        }
    }
}

#[test]
fn a_smaller_table_of_ours_is_to_be_acknowledged_in_the_next_block() {
    let options = Options { header_table: 100, ..options() };
    let reason = "a header block that does not change the table size where it must";
    let script = server().ack().raw(&frames::headers(1, b"\x88", true));
    breaks_with(options, &script, code::COMPRESSION_ERROR, reason);
    // Also if it is one that has been seen before.
    let script =
        server().raw(&frames::headers(1, b"\x88", true)).ack().raw(&frames::headers(3, b"\x88", true));
    let quiet = Options { header_blocks: false, ..options };
    breaks_with(quiet, &script, code::COMPRESSION_ERROR, reason);
    let script = server().ack().raw(&frames::headers(1, b"\x3f\x46\x88", true));
    let reason = "a header block that sets a table size beyond the limit";
    breaks_with(options, &script, code::COMPRESSION_ERROR, reason);
    let script = server().ack().raw(&frames::headers(1, b"\x3f\x45\x88", true));
    assert_eq!(play(options, &gets(1), script.bytes()).end, Ok(()));
}

#[test]
fn a_larger_table_of_ours_is_as_large_as_the_server_says() {
    // It has not said that its own is larger, so this field has no place in it.
    let options = Options { header_table: 65_536, limits: Limits::default(), ..options() };
    let mut block = vec![0x88, 0x40, 0x01, b'x', 0x7f, 0x81, 0x27];
    block.extend(vec![b'y'; 5120]);
    let script =
        server().ack().raw(&frames::headers(1, &block, true)).raw(&frames::headers(3, b"\x88\xbe", true));
    let reason = "a header block with an index that stands for no field";
    let outcome = common::play_parts(options, &gets(2), &[script.bytes()]);
    assert_eq!(outcome.end, broken(code::COMPRESSION_ERROR, reason));
    let larger = [&b"\x3f\xe1\xff\x03"[..], &block].concat();
    let script =
        server().ack().raw(&frames::headers(1, &larger, true)).raw(&frames::headers(3, b"\x88\xbe", true));
    assert_eq!(common::play_parts(options, &gets(2), &[script.bytes()]).end, Ok(()));
}

// What replies say.

#[test]
fn a_reply_has_one_status_between_100_and_599() {
    for fields in [
        &[("server", "x")][..],
        &[(":status", "200"), (":status", "200")],
        &[(":status", "99")],
        &[(":status", "099")],
        &[(":status", "600")],
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
    assert_eq!((events, end), (expected.to_vec(), Ok(())));
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

// Windows of ours that the server opens too far.

#[test]
fn a_window_update_is_by_something() {
    let reason = "a WINDOW_UPDATE frame by 0";
    breaks(&server().window_update(0, 0), code::PROTOCOL_ERROR, reason);
    breaks(&server().window_update(0, 1 << 31), code::PROTOCOL_ERROR, reason);
    resets(server().window_update(1, 0), code::PROTOCOL_ERROR);
}

#[test]
fn no_window_grows_beyond_31_bits() {
    let most = (1 << 31) - 1;
    let reason = "a window beyond 2^31 - 1";
    breaks(&server().window_update(0, most), code::FLOW_CONTROL_ERROR, reason);
    breaks(&server().window_update(0, most - 65_535).window_update(0, 1), code::FLOW_CONTROL_ERROR, reason);
    resets(server().window_update(1, most), code::FLOW_CONTROL_ERROR);
    resets(server().window_update(1, most - 65_535).window_update(1, 1), code::FLOW_CONTROL_ERROR);
    let script = server().window_update(3, most - 65_535).settings(&[(setting::INITIAL_WINDOW_SIZE, 65_536)]);
    breaks(&script, code::FLOW_CONTROL_ERROR, reason);
    let script = server().settings(&[(setting::INITIAL_WINDOW_SIZE, 0)]).window_update(3, most);
    breaks(&script.settings(&[(setting::INITIAL_WINDOW_SIZE, 1)]), code::FLOW_CONTROL_ERROR, reason);
    is_passed_over(
        server().settings(&[(setting::INITIAL_WINDOW_SIZE, most)]).window_update(0, most - 65_535),
    );
}

// Settings.

#[test]
fn settings_have_values_that_they_can_have() {
    let push = "a server that enables pushing to itself";
    let window = "an initial window beyond 2^31 - 1";
    let frame = "a largest frame size that is not allowed";
    for (id, value, code, reason) in [
        (setting::ENABLE_PUSH, 1, code::PROTOCOL_ERROR, push),
        (setting::ENABLE_PUSH, 2, code::PROTOCOL_ERROR, push),
        (setting::INITIAL_WINDOW_SIZE, 1 << 31, code::FLOW_CONTROL_ERROR, window),
        (setting::INITIAL_WINDOW_SIZE, u32::MAX, code::FLOW_CONTROL_ERROR, window),
        (setting::MAX_FRAME_SIZE, 0, code::PROTOCOL_ERROR, frame),
        (setting::MAX_FRAME_SIZE, 16_383, code::PROTOCOL_ERROR, frame),
        (setting::MAX_FRAME_SIZE, 1 << 24, code::PROTOCOL_ERROR, frame),
    ] {
        breaks(&Script::new().settings(&[(id, value)]), code, reason);
        breaks(&server().settings(&[(setting::MAX_CONCURRENT_STREAMS, 5), (id, value)]), code, reason);
    }
    is_passed_over(Script::new().settings(&[
        (setting::ENABLE_PUSH, 0),
        (setting::MAX_FRAME_SIZE, (1 << 24) - 1),
        (setting::MAX_CONCURRENT_STREAMS, u32::MAX),
        (setting::HEADER_TABLE_SIZE, u32::MAX),
        (setting::MAX_HEADER_LIST_SIZE, 0),
        (0, 1),
        (8, 1),
        (0xffff, u32::MAX),
    ]));
}

#[test]
fn pushing_is_disabled() {
    let reason = "a PUSH_PROMISE frame, although pushing is disabled";
    for payload in [&b"\0\0\0\x02\x88"[..], b""] {
        let script = server().frame(kind::PUSH_PROMISE, flag::END_HEADERS, 1, payload);
        breaks(&script, code::PROTOCOL_ERROR, reason);
    }
}

#[test]
fn settings_and_pings_are_acknowledged_in_their_order() {
    let script = server().ping(*b"12345678").settings(&[]).raw(&frames::ping_ack([0; 8])).ack().ping([7; 8]);
    let outcome = play(options(), &gets(1), script.bytes());
    let expected = [
        frames::settings_ack(),
        frames::ping_ack(*b"12345678"),
        frames::settings_ack(),
        frames::ping_ack([7; 8]),
    ];
    assert_eq!(outcome.said.iter().flat_map(Frame::bytes).collect::<Vec<_>>(), expected.concat());
}

// Too much of something that brings nobody further.

#[test]
fn frames_that_bring_no_call_further_have_a_limit_in_a_row() {
    let reason = "too many frames in a row that bring no reply further";
    let begun = || server().head(1, OK, false);
    for frame in [
        frames::ping([0; 8]),
        frames::ping_ack([0; 8]),
        frames::settings(&[]),
        frames::settings(&[(setting::INITIAL_WINDOW_SIZE, 65_535)]),
        frames::settings_ack(),
        frames::window_update(0, 1),
        frames::window_update(1, 1),
        frames::frame(kind::PRIORITY, 0, 1, &[0; 5]),
        frames::frame(kind::PRIORITY, 0, 1001, &[0; 5]),
        frames::frame(0x20, 0, 0, b""),
        frames::frame(0x20, 0, 1, b"payload"),
        frames::data(1, b"", false),
        frames::padded_data(1, b"", 0, false),
        frames::padded_data(1, b"", 9, false),
        frames::goaway(3, 0),
    ] {
        breaks(&begun().repeated(21, &frame), code::ENHANCE_YOUR_CALM, reason);
        // A frame that does bring one further is the beginning of another row.
        let script = begun().repeated(20, &frame).data(1, b"x", false).repeated(20, &frame);
        assert_eq!(play(options(), &gets(2), script.bytes()).end, Ok(()));
    }
}

#[test]
fn one_frame_of_settings_does_not_change_windows_again_and_again() {
    let many: Vec<_> = (0..21).map(|size| (setting::INITIAL_WINDOW_SIZE, size)).collect();
    let reason = "too many frames in a row that bring no reply further";
    breaks(&server().settings(&many), code::ENHANCE_YOUR_CALM, reason);
    is_passed_over(server().settings(&[(setting::INITIAL_WINDOW_SIZE, 65_535); 300]));
}

#[test]
fn frames_on_streams_that_have_ended_bring_no_call_further() {
    let reason = "too many frames in a row that bring no reply further";
    let script = server().head(1, OK, true).repeated(21, &frames::reset(1, 0));
    breaks(&script, code::ENHANCE_YOUR_CALM, reason);
    let script = server().head(1, OK, true).repeated(21, &frames::window_update(1, 1));
    breaks(&script, code::ENHANCE_YOUR_CALM, reason);
    // A stream that we have reset.
    let late = frames::data(1, b"late", false);
    breaks(&server().data(1, b"", true).repeated(21, &late), code::ENHANCE_YOUR_CALM, reason);
    let late = frames::headers(1, b"\x88", false);
    breaks(&server().data(1, b"", true).repeated(21, &late), code::ENHANCE_YOUR_CALM, reason);
}

#[test]
fn resets_have_a_limit_in_a_row() {
    let reason = "too many streams reset in a row";
    let script = (0..6).fold(server(), |script, stream| script.reset(2 * stream + 1, code::REFUSED_STREAM));
    let outcome = play(options(), &gets(7), script.bytes());
    assert_eq!(outcome.end, broken(code::ENHANCE_YOUR_CALM, reason));
    assert_eq!(outcome.events, (0..6).map(returned).collect::<Vec<_>>(), "none is lost");
    // Those that we have to reset count as well.
    let script = (0..6).fold(server(), |script, stream| script.data(2 * stream + 1, b"", true));
    let outcome = play(options(), &gets(7), script.bytes());
    assert_eq!(outcome.end, broken(code::ENHANCE_YOUR_CALM, reason));
    assert_eq!(outcome.events, (0..6).map(failed).collect::<Vec<_>>());
    // A reply ends the row.
    let script = (0..5).fold(server(), |script, stream| script.reset(2 * stream + 1, code::REFUSED_STREAM));
    let script = (6..11).fold(script.head(11, OK, true), |script, stream| script.reset(2 * stream + 1, 0));
    assert_eq!(play(options(), &gets(12), script.bytes()).end, Ok(()));
}

#[test]
fn a_goaway_too_many_loses_no_call() {
    let script = server().repeated(19, &frames::ping([0; 8])).goaway(0, 0);
    let outcome =
        breaks(&script, code::ENHANCE_YOUR_CALM, "too many frames in a row that bring no reply further");
    assert_eq!(outcome.events, [returned(0), returned(1), Event::Draining, Event::Drained]);
}

#[test]
fn a_server_that_does_not_read_what_it_asks_for_is_left() {
    let mut engine = common::connection(Options::default(), &gets(1));
    let settings = server();
    let begun = settings.head(1, OK, false);
    assert_eq!(engine.poll_event(common::NOW, &mut begun.bytes()), Ok(Some(started(0, 200))));
    // Nothing of this is written any more. Each row is short enough, and yet there is no end of answers.
    let row = Script::new().repeated(9_000, &frames::ping([0; 8])).data(1, b"x", false);
    let mut kept = 0;
    let end = (0..1000).find_map(|_| {
        kept = kept.max(engine.poll_transmit(common::NOW).len());
        engine.handle_blocked();
        engine.poll_event(common::NOW, &mut row.bytes()).err()
    });
    let reason = "a server that does not read the answers to its frames";
    assert_eq!(end.map_or(Ok(()), Err), broken(code::ENHANCE_YOUR_CALM, reason));
    assert!(kept < 2 << 20, "{kept} bytes");
}

// The end of a connection.

#[test]
fn goaway_returns_what_is_beyond_its_last_stream_and_may_say_less_later() {
    let script = server().goaway(5, code::NO_ERROR).goaway(1, code::INTERNAL_ERROR).head(1, OK, true);
    let outcome = play(options(), &gets(4), script.bytes());
    let expected = [
        returned(3),
        Event::Draining,
        returned(1),
        returned(2),
        started(0, 200),
        head(0, OK_TEXT),
        common::last(0, 14, 0, 0),
    ];
    assert_eq!((outcome.end, outcome.events), (Ok(()), expected.to_vec()));
}

#[test]
fn goaway_that_says_more_later_changes_nothing() {
    let script = server().goaway(1, code::NO_ERROR).goaway(7, code::NO_ERROR).head(1, OK, true);
    let outcome = play(options(), &gets(2), script.bytes());
    let expected =
        [returned(1), Event::Draining, started(0, 200), head(0, OK_TEXT), common::last(0, 14, 0, 0)];
    assert_eq!((outcome.end, outcome.events), (Ok(()), expected.to_vec()));
}

#[test]
fn the_end_of_draining_is_told_once() {
    let script = server().goaway(0, 0).goaway(0, 0).goaway(0, 0);
    let outcome = play(options(), &gets(1), script.bytes());
    assert_eq!(outcome.events, [returned(0), Event::Draining, Event::Drained]);
    let script = server().goaway(1, 0).head(1, OK, true).goaway(1, 0);
    let outcome = play(options(), &gets(1), script.bytes());
    let expected = [Event::Draining, started(0, 200), head(0, OK_TEXT), common::last(0, 14, 0, 0)];
    assert_eq!(outcome.events, expected);
    let script = server().goaway(1, 0).reset(1, 0).goaway(1, 0);
    let outcome = play(options(), &gets(1), script.bytes());
    assert_eq!(outcome.events, [Event::Draining, failed(0), Event::Drained]);
}

#[test]
fn a_call_whose_reply_has_begun_was_processed_whatever_the_server_says() {
    let events = [started(0, 200), head(0, OK_TEXT), failed(0)];
    let script = server().head(1, OK, false).reset(1, code::REFUSED_STREAM);
    assert_eq!(play(options(), &gets(1), script.bytes()).events, events);
    let script = server().head(1, OK, false).goaway(0, 0);
    let outcome = play(options(), &gets(1), script.bytes());
    assert_eq!(outcome.events, [&events[..], &[Event::Draining, Event::Drained]].concat());
}

#[test]
fn a_server_that_ends_in_the_middle_of_anything_leaves_its_calls_pending() {
    let reply =
        Reply::new(200).interim(103).field("server", "x").body("hello").trailer("x-sum", "1").padded(3);
    let script = server()
        .ack()
        .ping([0; 8])
        .reply(1, &reply)
        .head_in_pieces(3, &[(":status", "200"), ("content-length", "4")], 1, false)
        .window_update(0, 7)
        .data(3, b"1234", true)
        .raw(&frames::frame(0x20, 0, 0, b"unknown"))
        .goaway(5, 0)
        .head(5, OK, true);
    for size in 0..=script.bytes().len() {
        let mut engine = common::connection(options(), &gets(3));
        let (events, end) = common::feed(&mut engine, &[&script.bytes()[..size]], &mut Vec::new());
        assert_eq!(end, Ok(()), "{size} bytes");
        let pending: Vec<_> = engine.pending().collect();
        common::check_calls(&events, &pending, 3);
        let expected = if pending.is_empty() { Ok(()) } else { Err(httperf_proto::ProtocolError::Truncated) };
        assert_eq!(engine.handle_eof(), expected, "{size} bytes");
        assert_eq!(engine.capacity(), 0);
        assert_eq!(pending.is_empty(), size == script.bytes().len());
    }
}

#[test]
fn a_server_of_which_nothing_comes_behind_its_goaway_leaves_its_calls_pending() {
    let script = server().goaway(3, code::NO_ERROR);
    let outcome = play(options(), &gets(2), script.bytes());
    assert_eq!((outcome.events, outcome.pending.len()), (vec![Event::Draining], 2));
}

#[test]
fn calls_that_wait_for_a_stream_are_not_forgotten_when_the_server_ends() {
    let mut engine = common::connection(options(), &[]);
    let settings = Script::new().settings(&[(setting::MAX_CONCURRENT_STREAMS, 1)]);
    assert_eq!(common::feed(&mut engine, &[settings.bytes()], &mut Vec::new()), (Vec::new(), Ok(())));
    for call in 0..2 {
        let get = request("GET", b"");
        engine.submit(common::NOW, httperf_proto::CallId(call), get).expect("there is room");
    }
    common::flush(&mut engine);
    // The second could go out now, and yet there is nobody any more.
    let reply = Script::new().head(1, OK, true);
    let mut input = reply.bytes();
    while engine.poll_event(common::NOW, &mut input).expect("the server is right").is_some() {}
    assert_eq!(engine.handle_eof(), Err(httperf_proto::ProtocolError::Truncated));
    assert_eq!(engine.pending().collect::<Vec<_>>(), [httperf_proto::CallId(1)]);
}

#[test]
fn codes_that_nobody_knows_are_kept_apart_only_as_far_as_there_is_room() {
    let mut engine = common::connection(Options::default(), &gets(1));
    let script = (0..1000).fold(server(), |script, unknown| script.goaway(1, 1000 + unknown));
    let (events, end) = common::feed(&mut engine, &[script.bytes()], &mut Vec::new());
    assert_eq!((events, end), (vec![Event::Draining], Ok(())));
    let goaways = engine.take_counts().goaways;
    assert!(goaways.len() <= 64, "{}", goaways.len());
    assert_eq!(goaways.iter().map(|&(_, count)| count).sum::<u64>(), 1000);
}
