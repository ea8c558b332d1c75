//! What a server may not do: each violation with the bytes that are it, and what comes of it.

use proptest::prelude::*;

use super::replies::good_replies;
use super::*;

/// What comes of a violation.
#[derive(Clone, Copy, Debug)]
enum Ends {
    /// The connection, with this code.
    All(ErrorCode),
    /// The first call, with this code; the connection goes on.
    Call(ErrorCode),
}

use Ends::{All, Call};

/// A violation: what it is, what is asked for, what the server does, what ends, and the reason.
type Case = (&'static str, Vec<Request>, Vec<Step>, Ends, &'static str);

type Code = ErrorCode;

/// A case with one GET.
fn case(name: &'static str, steps: Vec<Step>, ends: Ends, reason: &'static str) -> Case {
    (name, gets(1), steps, ends, reason)
}

/// Frames on the control stream (RFC 9114, sections 6.2.1 and 7.2).
fn on_the_control_stream() -> Vec<Case> {
    let missing = All(Code::H3_MISSING_SETTINGS);
    let unexpected = All(Code::H3_FRAME_UNEXPECTED);
    let control = |bytes: &[u8]| vec![own(&[CONTROL, bytes])];
    let begins = |bytes: &[u8]| vec![own(&[b"\x00", bytes])];
    let no_settings = "a control stream that does not begin with settings";
    let http2 = "a frame of HTTP/2";
    let http2_setting = "a setting of HTTP/2";
    let settings = All(Code::H3_SETTINGS_ERROR);
    let not_a_request = "a GOAWAY frame with a stream that cannot be a request's";
    let too_long = "a frame with more than the ID that it has";
    let parameters = |count: u16| -> Vec<u8> {
        let all: Vec<u8> = (0..count).flat_map(|id| [0x41 + (id >> 8) as u8, id as u8, 0]).collect();
        frame(4, &all)
    };
    vec![
        // Section 6.2.1.
        case("GOAWAY first", begins(b"\x07\x01\x00"), missing, no_settings),
        case("DATA first", begins(b"\x00\x00"), missing, no_settings),
        case("an unknown frame first", begins(b"\x21\x00"), missing, no_settings),
        // Section 7.2.4.
        case("SETTINGS again", control(b"\x04\x00"), unexpected, "a second SETTINGS frame"),
        // Sections 7.2.1, 7.2.2, 7.2.5, 7.2.7.
        case("DATA", control(b"\x00\x00"), unexpected, "a DATA frame on the control stream"),
        case("HEADERS", control(&ok()), unexpected, "a HEADERS frame on the control stream"),
        case(
            "PUSH_PROMISE",
            control(b"\x05\x01\x00"),
            unexpected,
            "a PUSH_PROMISE frame on the control stream",
        ),
        case(
            "MAX_PUSH_ID",
            control(b"\x0d\x01\x00"),
            unexpected,
            "a MAX_PUSH_ID frame, which only clients send",
        ),
        // Section 7.2.8.
        case("PRIORITY", control(b"\x02\x00"), unexpected, http2),
        case("PING", control(b"\x06\x08"), unexpected, http2),
        case("WINDOW_UPDATE", control(b"\x08\x04"), unexpected, http2),
        case("CONTINUATION", control(b"\x09\x00"), unexpected, http2),
        // Section 7.2.3.
        case(
            "CANCEL_PUSH",
            control(b"\x03\x01\x00"),
            All(Code::H3_ID_ERROR),
            "a CANCEL_PUSH frame, although no push ID was allowed",
        ),
        // Section 7.1.
        case(
            "CANCEL_PUSH, empty",
            control(b"\x03\x00"),
            All(Code::H3_FRAME_ERROR),
            "a CANCEL_PUSH frame that is not a push ID",
        ),
        case("CANCEL_PUSH, too long", control(b"\x03\x09"), All(Code::H3_FRAME_ERROR), too_long),
        case(
            "GOAWAY, empty",
            control(b"\x07\x00"),
            All(Code::H3_FRAME_ERROR),
            "a GOAWAY frame that is not a stream ID",
        ),
        case(
            "GOAWAY, a byte too long",
            control(b"\x07\x02\x00\x00"),
            All(Code::H3_FRAME_ERROR),
            "a GOAWAY frame that is not a stream ID",
        ),
        case("GOAWAY, too long", control(b"\x07\x09"), All(Code::H3_FRAME_ERROR), too_long),
        // Sections 5.2 and 7.2.6.
        case(
            "GOAWAY with a server's request",
            control(b"\x07\x01\x01"),
            All(Code::H3_ID_ERROR),
            not_a_request,
        ),
        case("GOAWAY with our own stream", control(b"\x07\x01\x02"), All(Code::H3_ID_ERROR), not_a_request),
        case("GOAWAY with a push", control(b"\x07\x01\x03"), All(Code::H3_ID_ERROR), not_a_request),
        case(
            "GOAWAY that grows",
            control(b"\x07\x01\x08\x07\x01\x04\x07\x01\x08"),
            All(Code::H3_ID_ERROR),
            "a GOAWAY frame that takes back an earlier one",
        ),
        // Section 7.2.4.1.
        case("setting 0", begins(b"\x04\x02\x00\x00"), settings, http2_setting),
        case("ENABLE_PUSH", begins(b"\x04\x02\x02\x00"), settings, http2_setting),
        case("MAX_CONCURRENT_STREAMS", begins(b"\x04\x02\x03\x09"), settings, http2_setting),
        case("INITIAL_WINDOW_SIZE", begins(b"\x04\x02\x04\x09"), settings, http2_setting),
        case("MAX_FRAME_SIZE", begins(b"\x04\x02\x05\x09"), settings, http2_setting),
        // Section 7.2.4.
        case("a setting twice", begins(b"\x04\x04\x06\x01\x06\x01"), settings, "a setting that is repeated"),
        case(
            "a setting without a value",
            begins(b"\x04\x01\x06"),
            All(Code::H3_FRAME_ERROR),
            "a SETTINGS frame that ends within a parameter",
        ),
        // Section 10.5: our limits.
        case("129 settings", begins(&parameters(129)), All(Code::H3_EXCESSIVE_LOAD), "too many settings"),
        case(
            "long SETTINGS",
            begins(b"\x04\x42\x59"),
            All(Code::H3_EXCESSIVE_LOAD),
            "a frame larger than the limit",
        ),
    ]
}

/// Frames on a request's stream (RFC 9114, sections 4.1, 7.1 and 7.2).
fn on_a_requests_stream() -> Vec<Case> {
    let unexpected = All(Code::H3_FRAME_UNEXPECTED);
    let cut = All(Code::H3_FRAME_ERROR);
    let cut_short = "a stream that ends within a frame";
    let misplaced = "content that is not between header and trailers";
    let http2 = "a frame of HTTP/2";
    let ends = |parts: &[&[u8]]| vec![says(parts), Step::End(0)];
    let trailers = head(&[("a", "b")]);
    vec![
        // Section 4.1.
        case("DATA first", vec![says(&[b"\x00\x00"])], unexpected, misplaced),
        case(
            "DATA behind an interim reply",
            vec![says(&[&status("103"), &data(b"a")])],
            unexpected,
            misplaced,
        ),
        case(
            "DATA behind trailers",
            vec![says(&[&ok(), &data(b"a"), &trailers, b"\x00\x00"])],
            unexpected,
            misplaced,
        ),
        case(
            "a third HEADERS frame",
            vec![says(&[&ok(), &trailers, &trailers])],
            unexpected,
            "a header block after the trailers",
        ),
        // Sections 7.2.3 to 7.2.8.
        case(
            "CANCEL_PUSH",
            vec![says(&[b"\x03\x01\x00"])],
            unexpected,
            "a CANCEL_PUSH frame on a request's stream",
        ),
        case(
            "SETTINGS",
            vec![says(&[&ok(), b"\x04\x00"])],
            unexpected,
            "a SETTINGS frame on a request's stream",
        ),
        case("GOAWAY", vec![says(&[b"\x07\x01\x00"])], unexpected, "a GOAWAY frame on a request's stream"),
        case(
            "MAX_PUSH_ID",
            vec![says(&[b"\x0d\x01\x00"])],
            unexpected,
            "a MAX_PUSH_ID frame, which only clients send",
        ),
        case("PRIORITY", vec![says(&[b"\x02\x00"])], unexpected, http2),
        case("PING", vec![says(&[b"\x06\x00"])], unexpected, http2),
        case("WINDOW_UPDATE", vec![says(&[&ok(), b"\x08\x04"])], unexpected, http2),
        case("CONTINUATION", vec![says(&[&ok(), b"\x09\x00"])], unexpected, http2),
        // Section 7.2.5.
        case(
            "PUSH_PROMISE",
            vec![says(&[&ok(), b"\x05\x03\x00\x00\x00"])],
            All(Code::H3_ID_ERROR),
            "a PUSH_PROMISE frame, although no push ID was allowed",
        ),
        case(
            "PUSH_PROMISE, empty",
            vec![says(&[b"\x05\x00"])],
            All(Code::H3_FRAME_ERROR),
            "a PUSH_PROMISE frame that ends within its push ID",
        ),
        case(
            "PUSH_PROMISE, long",
            vec![says(&[b"\x05\x42\x59"])],
            All(Code::H3_EXCESSIVE_LOAD),
            "a frame larger than the limit",
        ),
        // Section 7.1.
        case("the end within a type", ends(&[&ok(), b"\x40"]), cut, cut_short),
        case("the end within a length", ends(&[&ok(), b"\x00\x40"]), cut, cut_short),
        case("the end before a length", ends(&[b"\x01"]), cut, cut_short),
        case("the end within HEADERS", ends(&[b"\x01\x03\x00\x00"]), cut, cut_short),
        case("the end within DATA", ends(&[&ok(), b"\x00\x03ab"]), cut, cut_short),
        case("the end within an unknown frame", ends(&[&ok(), b"\x21\x03ab"]), cut, cut_short),
    ]
}

/// Malformed replies (RFC 9114, sections 4.1.2, 4.2, 4.3 and 4.5), and replies beyond a limit.
fn malformed_replies() -> Vec<Case> {
    let malformed = Call(Code::H3_MESSAGE_ERROR);
    let excessive = Call(Code::H3_EXCESSIVE_LOAD);
    let fields = |fields: &[(&str, &str)]| vec![says(&[&head(fields)])];
    let with = |name: &str, value: &str| fields(&[(":status", "200"), (name, value)]);
    let long = |length: &str| head(&[(":status", "200"), ("content-length", length)]);
    let outside = "a status outside 100 to 999";
    let name = "a field name with a character that it cannot have";
    let value = "a field value with a character that it cannot have";
    let blank = "a field value that begins or ends with white space";
    let connection = "a field about the connection";
    let length = "an invalid content-length";
    let too_much = "more content than its content-length";
    let no_match = "content that does not match its content-length";
    let no_header = "a reply that ends before its header";
    vec![
        // Section 4.3.2.
        case("no status", fields(&[("a", "b")]), malformed, "a reply without a status"),
        case("two statuses", fields(&[(":status", "200"), (":status", "200")]), malformed, "two statuses"),
        case("a short status", fields(&[(":status", "20")]), malformed, outside),
        case("a long status", fields(&[(":status", "2000")]), malformed, outside),
        case("a low status", fields(&[(":status", "099")]), malformed, outside),
        case("a status that is no number", fields(&[(":status", "2x0")]), malformed, outside),
        // Section 4.3.
        case(
            "a late status",
            fields(&[("a", "b"), (":status", "200")]),
            malformed,
            "a pseudo field behind another field",
        ),
        case(
            "a pseudo field of requests",
            with(":path", "/"),
            malformed,
            "a pseudo field that replies do not have",
        ),
        case(
            "a pseudo field in trailers",
            vec![says(&[&ok(), &status("200")])],
            malformed,
            "a pseudo field in trailers",
        ),
        // Section 4.5: there is no status 101.
        case("status 101", vec![says(&[&status("101")])], malformed, "a status 101"),
        // Section 4.2.
        case("a name in upper case", with("Server", "x"), malformed, name),
        case("an empty name", with("", "x"), malformed, name),
        case("a name with a space", with("a b", "x"), malformed, name),
        case("a name with a colon", with("a:b", "x"), malformed, name),
        case("a value with a line end", with("a", "b\r\nc: d"), malformed, value),
        case("a value with a NUL", with("a", "b\0"), malformed, value),
        case("a value with white space before it", with("a", " b"), malformed, blank),
        case("a value with white space behind it", with("a", "b\t"), malformed, blank),
        case("connection", with("connection", "close"), malformed, connection),
        case("keep-alive", with("keep-alive", "timeout=5"), malformed, connection),
        case("proxy-connection", with("proxy-connection", "close"), malformed, connection),
        case("transfer-encoding", with("transfer-encoding", "chunked"), malformed, connection),
        case("upgrade", with("upgrade", "foo/2"), malformed, connection),
        // Section 4.1.2; RFC 9110, section 8.6.
        case("content-length, empty", with("content-length", ""), malformed, length),
        case("content-length with a sign", with("content-length", "+5"), malformed, length),
        case("content-length with a list", with("content-length", "5, 5"), malformed, length),
        case(
            "content-length beyond 64 bits",
            with("content-length", "18446744073709551616"),
            malformed,
            length,
        ),
        case(
            "two content-lengths",
            fields(&[(":status", "200"), ("content-length", "5"), ("content-length", "6")]),
            malformed,
            length,
        ),
        case(
            "too much content",
            vec![says(&[&long("5"), &data(b"hel"), &data(b"lo!")])],
            malformed,
            too_much,
        ),
        case("content that is not due", vec![says(&[&long("0"), &data(b"a")])], malformed, too_much),
        case(
            "too little content",
            vec![says(&[&long("5"), &data(b"hell")]), Step::End(0)],
            malformed,
            no_match,
        ),
        case(
            "too little content before trailers",
            vec![says(&[&long("5"), &data(b"hell"), &head(&[("a", "b")])]), Step::End(0)],
            malformed,
            no_match,
        ),
        (
            "content for HEAD",
            vec![request("HEAD", b"")],
            vec![says(&[&long("5"), &data(b"hello")])],
            malformed,
            too_much,
        ),
        case("content with status 204", vec![says(&[&status("204"), &data(b"a")])], malformed, too_much),
        case("content with status 304", vec![says(&[&status("304"), &data(b"a")])], malformed, too_much),
        // Section 4.1: a final header section is due.
        case("no reply", vec![Step::End(0)], malformed, no_header),
        case("an interim reply alone", vec![says(&[&status("103")]), Step::End(0)], malformed, no_header),
        case("an unknown frame alone", vec![says(&[b"\x21\x00"]), Step::End(0)], malformed, no_header),
        // Section 10.5: our limits.
        case(
            "a third interim reply",
            vec![says(&[&status("103"), &status("100"), &status("103")])],
            excessive,
            "more interim replies than the limit",
        ),
        case(
            "a large section",
            vec![says(&[b"\x01\x41\x91"])],
            excessive,
            "a field section larger than the limit",
        ),
        // Section 4.2.2: what counts is the size before compression.
        case(
            "a section that grows",
            vec![says(&[&frame(1, &[&b"\x00\x00\xd9"[..], &[0xc1; 12]].concat())])],
            excessive,
            "a field section larger than the limit",
        ),
        case(
            "too many fields",
            fields(&[(":status", "200"), ("a", ""), ("b", ""), ("c", ""), ("d", ""), ("e", "")]),
            malformed,
            "a reply with more header fields than the limit",
        ),
    ]
}

/// Header compression (RFC 9204).
fn of_header_compression() -> Vec<Case> {
    let section = |bytes: &[u8]| vec![says(&[&frame(1, bytes)])];
    let encoder = |bytes: &[u8]| vec![own(&[b"\x02", bytes])];
    let decoder = |bytes: &[u8]| vec![own(&[b"\x03", bytes])];
    let sections = All(Code::QPACK_DECOMPRESSION_FAILED);
    let encoders = All(Code::QPACK_ENCODER_STREAM_ERROR);
    let decoders = All(Code::QPACK_DECODER_STREAM_ERROR);
    let no_field = "a field section with an index that stands for no field";
    let cut = "a field section that ends within a field";
    let count = "a field section with an impossible insert count";
    let no_entry = "an instruction with an index that stands for no field";
    let large = "an instruction that inserts a field larger than the table";
    let number = [0xff; 12];
    // Needs one insertion, and is the field inserted.
    let waits = frame(1, b"\x02\x00\x80");
    vec![
        // Section 4.5.
        case("an empty section", section(b""), sections, cut),
        case("half a prefix", section(b"\x00"), sections, cut),
        case("a cut field", section(b"\x00\x00\x54\x05a"), sections, cut),
        // Sections 3.1 and 3.2: indices.
        case("static field 99", section(b"\x00\x00\xff\x24"), sections, no_field),
        case("the name of static field 99", section(b"\x00\x00\x5f\x54\x00"), sections, no_field),
        case("a dynamic field of an empty table", section(b"\x00\x00\x80"), sections, no_field),
        case("the name of such a field", section(b"\x00\x00\x40\x00"), sections, no_field),
        case("a field behind the base", section(b"\x00\x00\x10"), sections, no_field),
        case("the name of such a field", section(b"\x00\x00\x00\x00"), sections, no_field),
        // Section 4.1.2; RFC 7541, section 5.2.
        case(
            "a bad Huffman code",
            section(b"\x00\x00\x54\x81\xff"),
            sections,
            "a field section with a malformed Huffman code",
        ),
        // Section 4.5.1.1.
        case("an insert count beyond the range", section(b"\xff\x2d\x00"), sections, count),
        case("an insert count too far away", section(b"\x8a\x00"), sections, count),
        // Section 4.5.1.2.
        case("a base below zero", section(b"\x02\x81"), sections, "a field section with a base below zero"),
        // Section 7.4: a number larger than we take fails the stream alone.
        case(
            "a large number",
            section(&[&b"\x00\x00"[..], &number].concat()),
            Call(Code::QPACK_DECOMPRESSION_FAILED),
            "a field section with a number that is too large",
        ),
        // Section 2.1.2.
        (
            "two blocked streams",
            gets(2),
            vec![Step::Reply(0, waits.clone()), Step::Reply(1, waits)],
            sections,
            "more streams blocked than allowed",
        ),
        // Section 4.3.1.
        case(
            "a capacity beyond ours",
            encoder(b"\x3f\xe2\x1f"),
            encoders,
            "an instruction that sets a capacity beyond the limit",
        ),
        // Section 3.2.2.
        case("an insertion without a table", encoder(b"\xc0\x00"), encoders, large),
        case("an insertion that cannot fit", encoder(b"\x3f\x01\xc0\x7f\x00"), encoders, large),
        // Sections 4.3.2 to 4.3.4.
        case("the name of static field 99", encoder(b"\x3f\xe1\x1f\xff\x24\x00"), encoders, no_entry),
        case("the name of no field", encoder(b"\x3f\xe1\x1f\x80\x00"), encoders, no_entry),
        case("a duplicate of no field", encoder(b"\x00"), encoders, no_entry),
        case(
            "a bad Huffman code inserted",
            encoder(b"\x3f\xe1\x1f\xc0\x81\xff"),
            encoders,
            "an instruction with a malformed Huffman code",
        ),
        case(
            "a large number inserted",
            encoder(&[&b"\x3f"[..], &number].concat()),
            encoders,
            "an instruction with a number that is too large",
        ),
        // Section 4.4: we refer to no table.
        case(
            "an acknowledgment",
            decoder(b"\x80"),
            decoders,
            "an acknowledgment of a section that needs none",
        ),
        case(
            "an increment",
            decoder(b"\x01"),
            decoders,
            "an acknowledgment of an insertion that was not made",
        ),
        case(
            "a large cancellation",
            decoder(&[&b"\x7f"[..], &number].concat()),
            decoders,
            "a cancellation with a number that is too large",
        ),
    ]
}

/// The streams of the server (RFC 9114, section 6.2; RFC 9204, section 4.2).
fn of_streams() -> Vec<Case> {
    let second = "a second stream of a type of which there is one";
    let creation = All(Code::H3_STREAM_CREATION_ERROR);
    let closed = All(Code::H3_CLOSED_CRITICAL_STREAM);
    let needed = "a server that ends a stream which the connection needs";
    let both = |first: &[u8], again: &[u8]| vec![own(&[first]), Step::Own(1, again.to_vec())];
    vec![
        case("a second control stream", both(CONTROL, b"\x00"), creation, second),
        case("a second encoder stream", both(b"\x02", b"\x02"), creation, second),
        case("a second decoder stream", both(b"\x03", b"\x40\x03"), creation, second),
        case("the end of the control stream", vec![own(&[CONTROL]), Step::EndOwn(0)], closed, needed),
        case("a reset of the control stream", vec![own(&[CONTROL]), Step::ResetOwn(0)], closed, needed),
        case("the end of the encoder stream", vec![own(&[b"\x02"]), Step::EndOwn(0)], closed, needed),
        case("a reset of the encoder stream", vec![own(&[b"\x02"]), Step::ResetOwn(0)], closed, needed),
        case("the end of the decoder stream", vec![own(&[b"\x03"]), Step::EndOwn(0)], closed, needed),
        case("a reset of the decoder stream", vec![own(&[b"\x03"]), Step::ResetOwn(0)], closed, needed),
        case(
            "STOP_SENDING of our control stream",
            vec![Step::StopControl],
            closed,
            "a server that stops a stream which the connection needs",
        ),
        // Section 4.6.
        case(
            "a push stream",
            vec![own(&[b"\x01\x00"])],
            All(Code::H3_ID_ERROR),
            "a push that was not allowed",
        ),
    ]
}

/// Floods, one beyond each limit (RFC 9114, section 10.5).
fn floods() -> Vec<Case> {
    let load = All(Code::H3_EXCESSIVE_LOAD);
    let idle = "too many frames in a row that bring no reply further";
    let unknown = "too many streams of unknown types";
    let resets = "too many streams reset in a row";
    let malformed = |place| Step::Reply(place, status("101"));
    vec![
        case("unknown frames", vec![says(&[&b"\x21\x01a".repeat(21)])], load, idle),
        case("empty DATA", vec![says(&[&ok(), &b"\x00\x00".repeat(21)])], load, idle),
        case("frames of the control stream", vec![own(&[CONTROL, &b"\x21\x00".repeat(20)])], load, idle),
        case("the same GOAWAY", vec![own(&[CONTROL, &b"\x07\x01\x04".repeat(20)])], load, idle),
        case("instructions for no table", vec![own(&[b"\x02", &b"\x20".repeat(21)])], load, idle),
        case("cancellations", vec![own(&[b"\x03", &b"\x41".repeat(21)])], load, idle),
        ("resets", gets(5), (0..4).map(|place| Step::Reset(place, 0x102)).collect(), load, resets),
        ("malformed replies", gets(5), (0..4).map(malformed).collect(), load, resets),
        case(
            "unknown streams",
            (0..3).map(|place| Step::Own(place, b"\x21abc".to_vec())).collect(),
            load,
            unknown,
        ),
        case(
            "streams without a type",
            (0..3).flat_map(|place| [Step::Own(place, b"\x40".to_vec()), Step::EndOwn(place)]).collect(),
            load,
            unknown,
        ),
    ]
}

fn all_cases() -> Vec<Case> {
    let groups = [
        on_the_control_stream(),
        on_a_requests_stream(),
        malformed_replies(),
        of_header_compression(),
        of_streams(),
        floods(),
    ];
    groups.concat()
}

/// Checks a table, each case written whole and byte by byte.
#[track_caller]
fn check(cases: Vec<Case>) {
    for (name, requests, steps, ends, reason) in cases {
        let (whole, mut pair) = run(&requests, &steps, &Cut::Whole);
        match ends {
            All(code) => {
                let error = ProtocolError::Http3(ConnectionError { code, reason });
                assert_eq!(whole.error, Some(error), "{name}");
                assert_eq!(whole.told, Some(code.0), "{name}");
            }
            Call(code) => {
                assert_eq!(whole.error, None, "{name}");
                assert_eq!(whole.events.last(), Some(&failed(0)), "{name}");
                assert_eq!(pair.whys, [Undone::Rejected(reason)], "{name}");
                // A stream that has ended is not stopped.
                let is_over = matches!(steps.last(), Some(Step::End(_)));
                assert_eq!(whole.stopped, if is_over { vec![] } else { vec![(0, code.0)] }, "{name}");
                assert_eq!(pair.engine.take_counts().resets_sent, [(reason, 1)], "{name}");
                pair.submit(9, get());
                pair.settle();
                pair.answer(1, &ok(), true);
                pair.settle();
                let expected = [&bare(9, 200)[..], &[done(9, BARE, 0, 0)]].concat();
                assert_eq!(pair.events(), expected, "{name}: the connection goes on");
            }
        }
        let (bytewise, _) = run(&requests, &steps, &Cut::Bytes);
        assert_eq!(bytewise, whole, "{name}, byte by byte");
    }
}

#[test]
fn frames_have_their_place_on_the_control_stream() {
    check(on_the_control_stream());
}

#[test]
fn frames_have_their_place_on_a_requests_stream() {
    check(on_a_requests_stream());
}

#[test]
fn a_malformed_reply_fails_its_call_alone() {
    check(malformed_replies());
}

#[test]
fn header_compression_has_its_rules() {
    check(of_header_compression());
}

#[test]
fn streams_of_the_server_have_their_rules() {
    check(of_streams());
}

#[test]
fn floods_end_at_a_limit() {
    check(floods());
}

/// Each case, cut once behind each of the first bytes; where it is cut further on makes no difference in kind.
#[test]
fn a_violation_is_the_same_at_every_cut() {
    for (name, requests, steps, ..) in all_cases() {
        let size = |step: &Step| match step {
            Step::Reply(_, bytes) | Step::Own(_, bytes) => bytes.len(),
            _ => 0,
        };
        let longest = steps.iter().map(size).max().unwrap_or_default();
        let (whole, _) = run(&requests, &steps, &Cut::Whole);
        for cut in 1..longest.min(12) {
            let (pieces, _) = run(&requests, &steps, &Cut::Pieces(vec![cut, usize::MAX]));
            assert_eq!(pieces, whole, "{name}, cut behind byte {cut}");
        }
    }
}

#[test]
fn what_comes_up_to_a_limit_is_taken() {
    let idle = [
        Step::Own(0, [CONTROL, &b"\x21\x00".repeat(9)].concat()),
        says(&[
            &b"\x21\x00".repeat(10),
            &ok(),
            &b"\x00\x00".repeat(20),
            &data(b"a"),
            &b"\x00\x00".repeat(20),
        ]),
        Step::End(0),
        Step::Own(1, b"\x21".to_vec()),
        Step::Own(2, b"\x21".to_vec()),
        Step::Reset(1, 0x102),
        Step::Reset(2, 0x102),
        Step::Reset(3, 0x102),
        Step::Reply(4, ok()),
        Step::End(4),
        Step::Reset(5, 0x102),
    ];
    for cut in [Cut::Whole, Cut::Bytes] {
        let (outcome, _) = run(&gets(6), &idle, &cut);
        let expected = [
            &bare(0, 200)[..],
            &[body(0, b"a"), done(0, BARE, 1, 0), failed(1), failed(2), failed(3)],
            &bare(4, 200),
            &[done(4, BARE, 0, 0), failed(5)],
        ];
        assert_eq!((outcome.error, outcome.events), (None, expected.concat()), "{cut:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn where_bytes_are_cut_does_not_show(
        which in any::<prop::sample::Index>(),
        sizes in prop::collection::vec(1..9_usize, 1..8),
    ) {
        let violations = all_cases().into_iter().map(|(name, requests, steps, ..)| (name, requests, steps));
        let good = good_replies().into_iter().map(|(name, requests, steps, _)| (name, requests, steps));
        let all: Vec<_> = violations.chain(good).collect();
        let (name, requests, steps) = which.get(&all);
        let (whole, _) = run(requests, steps, &Cut::Whole);
        let (pieces, _) = run(requests, steps, &Cut::Pieces(sizes));
        prop_assert_eq!(pieces, whole, "{}", name);
    }

    #[test]
    fn no_bytes_on_a_requests_stream_panic(
        has_header in any::<bool>(),
        bytes in prop::collection::vec(prop_oneof![0..16_u8, any::<u8>()], 0..60),
    ) {
        let header = if has_header { ok() } else { Vec::new() };
        let steps = [Step::Reply(0, [header, bytes].concat()), Step::End(0)];
        let (outcome, pair) = run(&gets(1), &steps, &Cut::Whole);
        // The call ends in one way or another.
        let (bytewise, _) = run(&gets(1), &steps, &Cut::Bytes);
        prop_assert_eq!((bytewise.events, bytewise.error), (outcome.events, outcome.error.clone()));
        prop_assert!(outcome.error.is_some() || pair.engine.pending_count() <= pair.engine.blocked.calls.len());
    }

    #[test]
    fn no_bytes_on_a_stream_of_the_server_panic(
        kind in 0..4_u8,
        bytes in prop::collection::vec(prop_oneof![0..16_u8, any::<u8>()], 0..60),
    ) {
        let settings: &[u8] = if kind == 0 { &[0x04, 0x00] } else { &[] };
        let steps = [Step::Own(0, [&[kind], settings, &bytes].concat())];
        let (outcome, _) = run(&gets(1), &steps, &Cut::Whole);
        let (bytewise, _) = run(&gets(1), &steps, &Cut::Bytes);
        prop_assert_eq!(&bytewise, &outcome);
        let code = outcome.error.map(|error| match error {
            ProtocolError::Http3(error) => error.code.0,
            other => panic!("{other:?}"),
        });
        prop_assert_eq!(outcome.told, code);
    }
}
