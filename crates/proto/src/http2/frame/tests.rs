use proptest::prelude::*;

use super::*;

/// Pieces that were read, with bodies joined.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    Frame(String),
    Data { stream: u32, length: u32, end_stream: bool, body: Vec<u8>, ended: bool },
    Violation(Violation),
}

fn read(pieces: &[&[u8]]) -> Vec<Seen> {
    let mut reader = Reader::new(MAX_FRAME_SIZE_MIN);
    let mut seen = Vec::new();
    for piece in pieces {
        let mut input = *piece;
        loop {
            match reader.poll(&mut input) {
                Ok(None) => break,
                Ok(Some(Piece::Frame(frame))) => seen.push(Seen::Frame(format!("{frame:?}"))),
                Ok(Some(Piece::Data(Data { stream, length, end_stream }))) => {
                    seen.push(Seen::Data { stream, length, end_stream, body: Vec::new(), ended: false });
                }
                Ok(Some(Piece::Body { bytes, .. })) => {
                    let Some(Seen::Data { body, .. }) = seen.last_mut() else {
                        panic!("a body without DATA")
                    };
                    assert!(!bytes.is_empty());
                    body.extend_from_slice(bytes);
                }
                Ok(Some(Piece::DataEnd(_))) => {
                    let Some(Seen::Data { ended, .. }) = seen.last_mut() else {
                        panic!("an end without DATA")
                    };
                    *ended = true;
                }
                Err(violation) => {
                    seen.push(Seen::Violation(violation));
                    if violation.stream.is_none() {
                        return seen;
                    }
                }
            }
        }
        assert!(input.is_empty());
    }
    seen
}

/// Checks that the bytes give this wherever they are cut.
#[track_caller]
fn check(bytes: &[u8], expected: &[Seen]) {
    for cut in 0..=bytes.len() {
        assert_eq!(read(&[&bytes[..cut], &bytes[cut..]]), expected, "cut at byte {cut}");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(read(&single), expected, "byte by byte");
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    FrameHeader { length: payload.len() as u32, kind, flags, stream }.write(&mut bytes);
    bytes.extend_from_slice(payload);
    bytes
}

fn seen(frame: &Frame<'_>) -> Seen {
    Seen::Frame(format!("{frame:?}"))
}

fn data(stream: u32, length: u32, end_stream: bool, body: &[u8]) -> Seen {
    Seen::Data { stream, length, end_stream, body: body.to_vec(), ended: true }
}

#[test]
fn a_body_comes_without_its_padding() {
    check(&frame(0, 0, 1, b"body"), &[data(1, 4, false, b"body")]);
    check(&frame(0, 1, 1, b""), &[data(1, 0, true, b"")]);
    check(&frame(0, 9, 3, b"\x02body\0\0"), &[data(3, 7, true, b"body")]);
    check(&frame(0, 8, 3, b"\x00"), &[data(3, 1, false, b"")]);
    check(&frame(0, 8, 3, b"\x03\0\0\0"), &[data(3, 4, false, b"")]);
    let two = [frame(0, 8, 3, b"\x01a\0"), frame(0, 1, 5, b"b")].concat();
    check(&two, &[data(3, 3, false, b"a"), data(5, 1, true, b"b")]);
}

#[test]
fn each_frame_is_read_as_it_was_written() {
    let mut bytes = Vec::new();
    RstStream { stream: 7, code: ErrorCode::CANCEL }.write(&mut bytes);
    Settings::write(&[Parameter::InitialWindowSize(99), Parameter::EnablePush(false)], &mut bytes);
    Settings::write_ack(&mut bytes);
    Ping { ack: true, data: *b"12345678" }.write(&mut bytes);
    GoAway { last_stream: 5, code: ErrorCode::NO_ERROR, debug: b"bye" }.write(&mut bytes);
    WindowUpdate { stream: 3, increment: 1 << 20 }.write(&mut bytes);
    Data { stream: 1, length: 2, end_stream: true }.write(&mut bytes);
    bytes.extend_from_slice(b"ok");
    let settings = frame(kind::SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 99, 0, 2, 0, 0, 0, 0]);
    let header = FrameHeader { length: 12, kind: kind::SETTINGS, flags: 0, stream: 0 };
    let no_header = FrameHeader { length: 0, flags: flags::ACK, ..header };
    check(
        &bytes,
        &[
            seen(&Frame::RstStream(RstStream { stream: 7, code: ErrorCode::CANCEL })),
            seen(&Frame::Settings(Settings::parse(header, &settings[HEADER_SIZE..]).unwrap())),
            seen(&Frame::Settings(Settings::parse(no_header, &[]).unwrap())),
            seen(&Frame::Ping(Ping { ack: true, data: *b"12345678" })),
            seen(&Frame::GoAway(GoAway { last_stream: 5, code: ErrorCode::NO_ERROR, debug: b"bye" })),
            seen(&Frame::WindowUpdate(WindowUpdate { stream: 3, increment: 1 << 20 })),
            data(1, 2, true, b"ok"),
        ],
    );
}

#[test]
fn a_header_block_is_cut_into_frames_that_are_small_enough() {
    let block: Vec<u8> = (0..25).collect();
    let mut bytes = Vec::new();
    Headers::write_block(9, &block, true, 10, &mut bytes);
    check(
        &bytes,
        &[
            seen(&Frame::Headers(Headers {
                stream: 9,
                fragment: &block[..10],
                end_stream: true,
                end_headers: false,
            })),
            seen(&Frame::Continuation(Continuation {
                stream: 9,
                fragment: &block[10..20],
                end_headers: false,
            })),
            seen(&Frame::Continuation(Continuation { stream: 9, fragment: &block[20..], end_headers: true })),
        ],
    );
}

#[test]
fn padding_and_priority_of_headers_are_passed_over() {
    let payload = b"\x02\x80\0\0\x01\xffblock\0\0";
    let expected = Headers { stream: 1, fragment: b"block", end_stream: true, end_headers: true };
    check(&frame(kind::HEADERS, 0x2d, 1, payload), &[seen(&Frame::Headers(expected))]);
}

#[test]
fn what_means_nothing_is_passed_over() {
    let bytes = [
        frame(0x42, 0xff, 0x7fff_ffff, b"whatever"),
        frame(kind::PRIORITY, 0, 3, b"12345"),
        frame(kind::PING, 0xfe, 0, b"12345678"),
    ]
    .concat();
    let ping = seen(&Frame::Ping(Ping { ack: false, data: *b"12345678" }));
    check(&bytes, &[seen(&Frame::Ignored), seen(&Frame::Ignored), ping]);
}

#[test]
fn the_reserved_bit_of_a_stream_means_nothing() {
    check(&frame(0, 0, 0x8000_0001, b"x"), &[data(1, 1, false, b"x")]);
    let update = frame(kind::WINDOW_UPDATE, 0, 0x8000_0001, &[0x80, 0, 0, 1]);
    check(&update, &[seen(&Frame::WindowUpdate(WindowUpdate { stream: 1, increment: 1 }))]);
}

#[test]
fn frames_that_cannot_be_are_violations() {
    use ErrorCode as E;
    let too_large = FrameHeader { length: MAX_FRAME_SIZE_MIN + 1, kind: 0x42, flags: 0, stream: 0 };
    let mut header = Vec::new();
    too_large.write(&mut header);
    let cases: [(Vec<u8>, ErrorCode, Option<u32>); 29] = [
        (header, E::FRAME_SIZE_ERROR, None),
        (frame(kind::DATA, 0, 0, b""), E::PROTOCOL_ERROR, None),
        (frame(kind::DATA, 8, 1, b""), E::FRAME_SIZE_ERROR, None),
        (frame(kind::DATA, 8, 1, b"\x01"), E::PROTOCOL_ERROR, None),
        (frame(kind::DATA, 8, 1, b"\x03ab"), E::PROTOCOL_ERROR, None),
        (frame(kind::HEADERS, 4, 0, b""), E::PROTOCOL_ERROR, None),
        (frame(kind::HEADERS, 8, 1, b""), E::FRAME_SIZE_ERROR, None),
        (frame(kind::HEADERS, 8, 1, b"\x02a"), E::PROTOCOL_ERROR, None),
        (frame(kind::HEADERS, 0x20, 1, b"1234"), E::FRAME_SIZE_ERROR, None),
        (frame(kind::PRIORITY, 0, 0, b"12345"), E::PROTOCOL_ERROR, None),
        (frame(kind::PRIORITY, 0, 3, b"1234"), E::FRAME_SIZE_ERROR, Some(3)),
        (frame(kind::RST_STREAM, 0, 0, b"1234"), E::PROTOCOL_ERROR, None),
        (frame(kind::RST_STREAM, 0, 1, b"12345"), E::FRAME_SIZE_ERROR, None),
        (frame(kind::RST_STREAM, 0, 1, b"123"), E::FRAME_SIZE_ERROR, None),
        (frame(kind::SETTINGS, 0, 1, b""), E::PROTOCOL_ERROR, None),
        (frame(kind::SETTINGS, 1, 0, b"123456"), E::FRAME_SIZE_ERROR, None),
        (frame(kind::SETTINGS, 0, 0, b"12345"), E::FRAME_SIZE_ERROR, None),
        (frame(kind::PUSH_PROMISE, 4, 1, b"\0\0\0\x02"), E::PROTOCOL_ERROR, None),
        (frame(kind::PING, 0, 1, b"12345678"), E::PROTOCOL_ERROR, None),
        (frame(kind::PING, 0, 0, b"1234567"), E::FRAME_SIZE_ERROR, None),
        (frame(kind::PING, 0, 0, b"123456789"), E::FRAME_SIZE_ERROR, None),
        (frame(kind::GOAWAY, 0, 1, b"12345678"), E::PROTOCOL_ERROR, None),
        (frame(kind::GOAWAY, 0, 0, b"1234567"), E::FRAME_SIZE_ERROR, None),
        (frame(kind::WINDOW_UPDATE, 0, 0, b"\0\0\0\0"), E::PROTOCOL_ERROR, None),
        (frame(kind::WINDOW_UPDATE, 0, 5, b"\x80\0\0\0"), E::PROTOCOL_ERROR, Some(5)),
        (frame(kind::WINDOW_UPDATE, 0, 0, b"\0\0\0"), E::FRAME_SIZE_ERROR, None),
        (frame(kind::WINDOW_UPDATE, 0, 0, b"\0\0\0\x01\0"), E::FRAME_SIZE_ERROR, None),
        (frame(kind::CONTINUATION, 4, 0, b""), E::PROTOCOL_ERROR, None),
        (frame(kind::PUSH_PROMISE, 4, 0, b""), E::PROTOCOL_ERROR, None),
    ];
    for (bytes, code, stream) in cases {
        for cut in 0..=bytes.len() {
            let seen = read(&[&bytes[..cut], &bytes[cut..]]);
            let violation = seen.iter().find_map(|seen| match seen {
                Seen::Violation(violation) => Some(*violation),
                _ => None,
            });
            let violation = violation.unwrap_or_else(|| panic!("{bytes:?} was taken"));
            assert_eq!((violation.code, violation.stream), (code, stream), "{bytes:?}: {}", violation.reason);
        }
    }
}

#[test]
fn settings_are_checked() {
    use ErrorCode as E;
    let parameter = |id: u16, value: u32| {
        let payload = [&id.to_be_bytes()[..], &value.to_be_bytes()].concat();
        let header = FrameHeader { length: 6, kind: kind::SETTINGS, flags: 0, stream: 0 };
        let settings = Settings::parse(header, &payload).unwrap();
        let parameter = settings.parameters().next().unwrap();
        parameter.map_err(|violation| violation.code)
    };
    assert_eq!(parameter(1, u32::MAX), Ok(Parameter::HeaderTableSize(u32::MAX)));
    assert_eq!(parameter(2, 0), Ok(Parameter::EnablePush(false)));
    assert_eq!(parameter(2, 1), Err(E::PROTOCOL_ERROR));
    assert_eq!(parameter(2, 2), Err(E::PROTOCOL_ERROR));
    assert_eq!(parameter(3, 0), Ok(Parameter::MaxConcurrentStreams(0)));
    assert_eq!(parameter(4, WINDOW_MAX), Ok(Parameter::InitialWindowSize(WINDOW_MAX)));
    assert_eq!(parameter(4, WINDOW_MAX + 1), Err(E::FLOW_CONTROL_ERROR));
    assert_eq!(parameter(5, 16_383), Err(E::PROTOCOL_ERROR));
    assert_eq!(parameter(5, 16_384), Ok(Parameter::MaxFrameSize(16_384)));
    assert_eq!(parameter(5, 16_777_216), Err(E::PROTOCOL_ERROR));
    assert_eq!(parameter(6, 5), Ok(Parameter::MaxHeaderListSize(5)));
    assert_eq!(parameter(0x99, 5), Ok(Parameter::Unknown(0x99, 5)));
}

#[test]
fn a_body_may_be_passed_over_unread() {
    let mut reader = Reader::new(MAX_FRAME_SIZE_MIN);
    let bytes = [frame(0, 0, 1, &[b'x'; 1000]), frame(0, 1, 1, b"last")].concat();
    let mut input = &bytes[..HEADER_SIZE + 10];
    assert!(matches!(reader.poll(&mut input), Ok(Some(Piece::Data(_)))));
    assert!(matches!(reader.poll(&mut input), Ok(Some(Piece::Body { bytes, .. })) if bytes.len() == 10));
    assert_eq!(reader.poll(&mut input), Ok(None));
    assert_eq!(reader.skippable(), 990);
    reader.handle_skipped(990);
    let mut input = &bytes[HEADER_SIZE + 1000..];
    assert!(matches!(reader.poll(&mut input), Ok(Some(Piece::DataEnd(_)))));
    assert!(matches!(reader.poll(&mut input), Ok(Some(Piece::Data(Data { end_stream: true, .. })))));
}

#[test]
fn codes_have_the_names_of_the_standard() {
    assert_eq!(ErrorCode::HTTP_1_1_REQUIRED.to_string(), "HTTP_1_1_REQUIRED");
    assert_eq!(ErrorCode(0x1234).to_string(), "0x1234");
}

proptest! {
    #[test]
    fn where_bytes_are_cut_makes_no_difference(
        frames in prop::collection::vec((0..12_u8, any::<u8>(), 0..4_u32, prop::collection::vec(0..5_u8, 0..30)), 0..8),
        cuts in prop::collection::vec(0..400_usize, 0..8),
    ) {
        let bytes: Vec<u8> =
            frames.iter().flat_map(|(kind, flags, stream, payload)| frame(*kind, *flags, *stream, payload)).collect();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect();
        prop_assert_eq!(read(&pieces), read(&[&bytes]));
    }
}
