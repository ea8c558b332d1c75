use proptest::prelude::*;

use super::super::error::Scope;
use super::*;

const LIMITS: Limits = Limits { section_size: 100, payload_size: 300 };

/// Pieces that were read, with payloads of DATA joined.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    Frame(String),
    Data {
        length: u64,
        payload: Vec<u8>,
    },
    Violation(Violation),
    /// The input ends within a frame.
    Cut,
}

fn read(place: Place, pieces: &[&[u8]]) -> Vec<Seen> {
    let mut reader = Reader::new(place, LIMITS);
    assert!(reader.is_between_frames());
    let mut seen = Vec::new();
    for piece in pieces {
        let mut input = *piece;
        loop {
            match reader.poll(&mut input) {
                Ok(None) => break,
                Ok(Some(Piece::Frame(Frame::Settings(settings)))) => {
                    seen.push(self::settings(settings.parameters()));
                }
                Ok(Some(Piece::Frame(frame))) => seen.push(Seen::Frame(format!("{frame:?}"))),
                Ok(Some(Piece::DataStart(Data { length }))) => {
                    seen.push(Seen::Data { length, payload: Vec::new() });
                }
                Ok(Some(Piece::Data(bytes))) => {
                    let Some(Seen::Data { payload, .. }) = seen.last_mut() else {
                        panic!("a payload without DATA")
                    };
                    assert!(!bytes.is_empty());
                    payload.extend_from_slice(bytes);
                }
                Err(violation) => {
                    seen.push(Seen::Violation(violation));
                    return seen;
                }
            }
        }
        assert!(input.is_empty());
    }
    if !reader.is_between_frames() {
        seen.push(Seen::Cut);
    }
    seen
}

/// Checks that the bytes give this wherever they are cut.
#[track_caller]
fn check(place: Place, bytes: &[u8], expected: &[Seen]) {
    for cut in 0..=bytes.len() {
        assert_eq!(read(place, &[&bytes[..cut], &bytes[cut..]]), expected, "cut at byte {cut}");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(read(place, &single), expected, "byte by byte");
}

/// Checks that the bytes are this violation, after frames that are none.
#[track_caller]
fn check_violation(place: Place, bytes: &[u8], code: ErrorCode, scope: Scope) {
    for cut in 0..=bytes.len() {
        let seen = read(place, &[&bytes[..cut], &bytes[cut..]]);
        let Some(Seen::Violation(violation)) = seen.last() else { panic!("{bytes:?} was taken: {seen:?}") };
        assert_eq!((violation.code, violation.scope), (code, scope), "{bytes:?}: {}", violation.reason);
    }
}

#[track_caller]
fn check_fatal(place: Place, bytes: &[u8], code: ErrorCode) {
    check_violation(place, bytes, code, Scope::Connection);
}

fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_header(kind, payload.len() as u64, &mut bytes);
    bytes.extend_from_slice(payload);
    bytes
}

fn seen(frame: &Frame<'_>) -> Seen {
    Seen::Frame(format!("{frame:?}"))
}

fn settings(parameters: impl Iterator<Item = Parameter>) -> Seen {
    Seen::Frame(format!("settings {:?}", parameters.collect::<Vec<_>>()))
}

fn headers(section: &[u8]) -> Seen {
    seen(&Frame::Headers(Headers { section }))
}

fn data(payload: &[u8]) -> Seen {
    Seen::Data { length: payload.len() as u64, payload: payload.to_vec() }
}

/// A frame that is in order on a control stream, after which others may follow.
fn empty_settings() -> Vec<u8> {
    frame(kind::SETTINGS, b"")
}

#[test]
fn frames_of_a_reply_are_read_as_they_were_written() {
    let mut bytes = Vec::new();
    Headers { section: b"interim" }.write(&mut bytes);
    Headers { section: b"final" }.write(&mut bytes);
    Data { length: 300 }.write(&mut bytes);
    bytes.extend_from_slice(&[b'x'; 300]);
    Data { length: 0 }.write(&mut bytes);
    Data { length: 4 }.write(&mut bytes);
    bytes.extend_from_slice(b"last");
    Headers { section: b"" }.write(&mut bytes);
    let expected =
        [headers(b"interim"), headers(b"final"), data(&[b'x'; 300]), data(b""), data(b"last"), headers(b"")];
    check(Place::Request, &bytes, &expected);
}

#[test]
fn frames_of_a_control_stream_are_read_as_they_were_written() {
    let parameters = [
        Parameter::QpackMaxTableCapacity(4096),
        Parameter::QpackBlockedStreams(100),
        Parameter::MaxFieldSectionSize(varint::MAX),
        Parameter::Unknown(0x21, 7),
        Parameter::Unknown(0x33, 1),
    ];
    let mut bytes = Vec::new();
    Settings::write(&parameters, &mut bytes);
    GoAway { id: varint::MAX - 3 }.write(&mut bytes);
    GoAway { id: 0 }.write(&mut bytes);
    let expected = [
        settings(parameters.into_iter()),
        seen(&Frame::GoAway(GoAway { id: varint::MAX - 3 })),
        seen(&Frame::GoAway(GoAway { id: 0 })),
    ];
    check(Place::Control, &bytes, &expected);
}

#[test]
fn numbers_may_take_more_bytes_than_they_need() {
    check(
        Place::Request,
        b"\x40\x01\x80\0\0\x02ab\xc0\0\0\0\0\0\0\0\x40\x01x",
        &[headers(b"ab"), data(b"x")],
    );
    check(
        Place::Control,
        b"\x04\x03\x40\x06\x05",
        &[settings([Parameter::MaxFieldSectionSize(5)].into_iter())],
    );
}

#[test]
fn what_means_nothing_is_passed_over_whatever_its_size() {
    let bytes = [
        frame(0x21, b"whatever"),
        frame(kind::HEADERS, b"head"),
        frame(0x1f * 1_000_000 + 0x21, &[0; 1000]),
        frame(0x0a, b""),
        frame(varint::MAX, b"x"),
        frame(kind::DATA, b"body"),
        frame(0x40, b"y"),
    ]
    .concat();
    let ignored = seen(&Frame::Ignored);
    let expected = [
        ignored.clone(),
        headers(b"head"),
        ignored.clone(),
        ignored.clone(),
        ignored.clone(),
        data(b"body"),
        ignored.clone(),
    ];
    check(Place::Request, &bytes, &expected);
    let control = [empty_settings(), frame(0x21, b"whatever"), frame(kind::GOAWAY, &[8])].concat();
    let expected = [settings([].into_iter()), ignored.clone(), seen(&Frame::GoAway(GoAway { id: 8 }))];
    check(Place::Control, &control, &expected);

    let mut endless = Vec::new();
    write_header(0x21, varint::MAX, &mut endless);
    let mut reader = Reader::new(Place::Request, LIMITS);
    assert!(matches!(reader.poll(&mut &endless[..]), Ok(Some(Piece::Frame(Frame::Ignored)))));
    assert_eq!(reader.poll(&mut &[0; 100_000][..]), Ok(None));
    assert!(!reader.is_between_frames());
}

#[test]
fn a_stream_that_ends_within_a_frame_is_noticed() {
    let bytes =
        [frame(kind::HEADERS, b"head"), frame(0x1234, b"ignored"), frame(kind::DATA, b"body")].concat();
    // Where one of the frames ends.
    let ends = [0, 6, 6 + 10, 6 + 10 + 6];
    for cut in 0..=bytes.len() {
        let is_cut = read(Place::Request, &[&bytes[..cut]]).contains(&Seen::Cut);
        assert_eq!(is_cut, !ends.contains(&cut), "cut at byte {cut}");
    }
}

#[test]
fn data_is_read_where_it_lies() {
    let bytes = frame(kind::DATA, b"some content");
    let mut reader = Reader::new(Place::Request, LIMITS);
    let mut input = &bytes[..6];
    assert_eq!(reader.poll(&mut input), Ok(Some(Piece::DataStart(Data { length: 12 }))));
    let Ok(Some(Piece::Data(piece))) = reader.poll(&mut input) else { panic!("there is content") };
    assert!(std::ptr::eq(piece, &raw const bytes[2..6]));
    assert_eq!(reader.poll(&mut input), Ok(None));
}

#[test]
fn a_body_may_be_of_any_size() {
    let mut bytes = Vec::new();
    Data { length: varint::MAX }.write(&mut bytes);
    let mut reader = Reader::new(Place::Request, LIMITS);
    let mut input = &bytes[..];
    assert_eq!(reader.poll(&mut input), Ok(Some(Piece::DataStart(Data { length: varint::MAX }))));
    let mut content = &[0; 100_000][..];
    assert!(matches!(reader.poll(&mut content), Ok(Some(Piece::Data(bytes))) if bytes.len() == 100_000));
}

#[test]
fn each_frame_has_its_stream() {
    use ErrorCode as E;
    for kind in [kind::CANCEL_PUSH, kind::SETTINGS, kind::GOAWAY, kind::MAX_PUSH_ID] {
        check_fatal(Place::Request, &frame(kind, &[4]), E::H3_FRAME_UNEXPECTED);
    }
    for kind in [kind::DATA, kind::HEADERS, kind::PUSH_PROMISE, kind::MAX_PUSH_ID, kind::SETTINGS] {
        let bytes = [empty_settings(), frame(kind, &[4])].concat();
        check_fatal(Place::Control, &bytes, E::H3_FRAME_UNEXPECTED);
    }
}

#[test]
fn frames_of_http2_are_refused() {
    for kind in [0x02, 0x06, 0x08, 0x09] {
        let frame = frame(kind, b"12345678");
        check_fatal(Place::Request, &frame, ErrorCode::H3_FRAME_UNEXPECTED);
        check_fatal(Place::Control, &[empty_settings(), frame].concat(), ErrorCode::H3_FRAME_UNEXPECTED);
    }
}

#[test]
fn a_control_stream_begins_with_settings() {
    for kind in [kind::DATA, kind::HEADERS, kind::CANCEL_PUSH, kind::GOAWAY, kind::MAX_PUSH_ID, 0x02, 0x21] {
        check_fatal(Place::Control, &frame(kind, &[4]), ErrorCode::H3_MISSING_SETTINGS);
    }
}

#[test]
fn settings_are_checked() {
    use ErrorCode as E;
    check(Place::Control, &empty_settings(), &[settings([].into_iter())]);
    for (payload, code) in [
        // Of HTTP/2.
        (&[0x00, 0][..], E::H3_SETTINGS_ERROR),
        (&[0x02, 0], E::H3_SETTINGS_ERROR),
        (&[0x03, 0], E::H3_SETTINGS_ERROR),
        (&[0x04, 0], E::H3_SETTINGS_ERROR),
        (&[0x40, 0x05, 0], E::H3_SETTINGS_ERROR),
        // Repeated.
        (&[0x01, 5, 0x01, 5], E::H3_SETTINGS_ERROR),
        (&[0x21, 5, 0x06, 1, 0x40, 0x21, 6], E::H3_SETTINGS_ERROR),
        // Cut.
        (&[0x06], E::H3_FRAME_ERROR),
        (&[0x06, 0x40], E::H3_FRAME_ERROR),
        (&[0x40], E::H3_FRAME_ERROR),
        (&[0x06, 1, 0x80, 0, 0], E::H3_FRAME_ERROR),
    ] {
        check_fatal(Place::Control, &frame(kind::SETTINGS, payload), code);
    }
    let many = |count: u8| {
        let parameters: Vec<_> = (0..count).map(|id| Parameter::Unknown(0x1000 + u64::from(id), 0)).collect();
        let mut bytes = Vec::new();
        Settings::write(&parameters, &mut bytes);
        bytes
    };
    let reader = |bytes: &[u8]| {
        let mut reader = Reader::new(Place::Control, Limits { payload_size: 10_000, ..LIMITS });
        reader.poll(&mut &bytes[..]).map(|piece| piece.is_some()).map_err(|violation| violation.code)
    };
    assert_eq!(reader(&many(128)), Ok(true));
    assert_eq!(reader(&many(129)), Err(E::H3_EXCESSIVE_LOAD));
}

#[test]
fn a_push_is_never_allowed() {
    use ErrorCode as E;
    check_fatal(Place::Request, &frame(kind::PUSH_PROMISE, b"\0section"), E::H3_ID_ERROR);
    check_fatal(Place::Request, &frame(kind::PUSH_PROMISE, b"\0"), E::H3_ID_ERROR);
    check_fatal(Place::Request, &frame(kind::PUSH_PROMISE, b""), E::H3_FRAME_ERROR);
    check_fatal(Place::Request, &frame(kind::PUSH_PROMISE, b"\x40"), E::H3_FRAME_ERROR);
    for (payload, code) in [
        (&[0][..], E::H3_ID_ERROR),
        (&[0xff; 8], E::H3_ID_ERROR),
        (&[], E::H3_FRAME_ERROR),
        (&[0, 0], E::H3_FRAME_ERROR),
        (&[0x40], E::H3_FRAME_ERROR),
        (&[0xff; 9], E::H3_FRAME_ERROR),
    ] {
        check_fatal(Place::Control, &[empty_settings(), frame(kind::CANCEL_PUSH, payload)].concat(), code);
    }
}

#[test]
fn goaway_tells_of_a_request() {
    use ErrorCode as E;
    for (payload, code) in [
        (&[1][..], E::H3_ID_ERROR),
        (&[2], E::H3_ID_ERROR),
        (&[3], E::H3_ID_ERROR),
        (&[0xff; 8], E::H3_ID_ERROR),
        (&[], E::H3_FRAME_ERROR),
        (&[4, 0], E::H3_FRAME_ERROR),
        (&[0x40], E::H3_FRAME_ERROR),
        (&[0x80, 0, 0, 0, 4], E::H3_FRAME_ERROR),
        (&[0; 9], E::H3_FRAME_ERROR),
    ] {
        check_fatal(Place::Control, &[empty_settings(), frame(kind::GOAWAY, payload)].concat(), code);
    }
    // That it has more than an ID is clear before all of it has arrived.
    let mut bytes = empty_settings();
    write_header(kind::GOAWAY, varint::MAX, &mut bytes);
    check_fatal(Place::Control, &bytes, E::H3_FRAME_ERROR);
}

#[test]
fn frames_beyond_the_limits_are_refused_before_they_have_arrived() {
    let begin = |kind: u64, length: usize| {
        let mut bytes = Vec::new();
        write_header(kind, length as u64, &mut bytes);
        bytes
    };
    let (section, payload) = (LIMITS.section_size, LIMITS.payload_size);
    check(
        Place::Request,
        &frame(kind::HEADERS, &[0; LIMITS.section_size]),
        &[headers(&[0; LIMITS.section_size])],
    );
    let excessive = ErrorCode::H3_EXCESSIVE_LOAD;
    check_violation(Place::Request, &begin(kind::HEADERS, section + 1), excessive, Scope::Stream);
    check(Place::Control, &begin(kind::SETTINGS, payload), &[Seen::Cut]);
    check_fatal(Place::Control, &begin(kind::SETTINGS, payload + 1), excessive);
    check(Place::Request, &begin(kind::PUSH_PROMISE, payload), &[Seen::Cut]);
    check_fatal(Place::Request, &begin(kind::PUSH_PROMISE, payload + 1), excessive);
}

proptest! {
    #[test]
    fn where_bytes_are_cut_makes_no_difference(
        is_control in any::<bool>(),
        frames in prop::collection::vec((0..15_u64, prop::collection::vec(0..8_u8, 0..30)), 0..8),
        cuts in prop::collection::vec(0..300_usize, 0..8),
    ) {
        let place = if is_control { Place::Control } else { Place::Request };
        let mut bytes = if is_control { empty_settings() } else { Vec::new() };
        frames.iter().for_each(|(kind, payload)| bytes.extend(frame(*kind, payload)));
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect();
        prop_assert_eq!(read(place, &pieces), read(place, &[&bytes]));
    }
}
