//! Frames that come where they may not, or of a size that they may not have, and header blocks.

use super::*;

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
    for (bytes, reason) in [
        (&b"220 mail.example.org ESMTP\r\n"[..], "the server's first bytes are not HTTP"),
        (b"\x15\x03\x01\x00\x02\x02\x46\0\0", "the server speaks TLS"),
    ] {
        breaks(&Script::new().raw(bytes), code::PROTOCOL_ERROR, reason);
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
