//! The properties of frames and header compression that fuzzing checks, each a function of arbitrary bytes.

use super::error::Violation;
use super::frame::{Frame, Limits, Piece, Place, Reader};
use super::qpack::{Decoded, Decoder, DecoderStream, SectionLimits, begin_section, encode_field};
use super::uni::{StreamType, TypeReader};
use crate::header_compression::FIELD_OVERHEAD;

type Fields = Vec<(Vec<u8>, Vec<u8>)>;

/// What was read of a stream, with the payloads of DATA joined.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    stream: Option<StreamType>,
    pieces: Vec<String>,
    data: Vec<u8>,
    violation: Option<Violation>,
    is_between_frames: bool,
}

const FRAME_LIMITS: Limits = Limits { section_size: 200, payload_size: 100 };

const SECTION_LIMITS: SectionLimits = SectionLimits { size: 4096, fields: 60 };

/// Checks, for fuzzing, that the frames of any bytes are the same wherever the bytes are cut. The first byte tells the
/// kind of stream, the second where the bytes are cut.
///
/// # Panics
/// If they differ.
pub fn check_frames(input: &[u8]) {
    let [kind, cut, bytes @ ..] = input else { return };
    let place = if kind & 1 == 0 { Place::Request } else { Place::Control };
    let whole = frames(place, [bytes].into_iter());
    let (first, second) = bytes.split_at(bytes.len().min(usize::from(*cut)));
    assert_eq!(frames(place, [first, second].into_iter()), whole, "cut at byte {cut}");
    assert_eq!(frames(place, bytes.chunks(1)), whole, "byte by byte");
}

fn frames<'a>(place: Place, pieces: impl Iterator<Item = &'a [u8]>) -> Seen {
    let mut reader = Reader::new(place, FRAME_LIMITS);
    let mut uni = (place == Place::Control).then(TypeReader::default);
    let mut seen = Seen::default();
    for mut input in pieces {
        if let Some(reader) = &mut uni {
            let Some(stream) = reader.read(&mut input) else { continue };
            seen.stream = Some(stream);
            uni = None;
        }
        loop {
            match reader.poll(&mut input) {
                Ok(None) => break,
                Ok(Some(Piece::Data(bytes))) => {
                    assert!(!bytes.is_empty());
                    seen.data.extend_from_slice(bytes);
                }
                Ok(Some(Piece::Frame(Frame::Settings(settings)))) => {
                    let parameters: Vec<_> = settings.parameters().collect();
                    seen.pieces.push(format!("{settings:?} {parameters:?}"));
                }
                Ok(Some(piece)) => seen.pieces.push(format!("{piece:?}")),
                Err(violation) => {
                    seen.violation = Some(violation);
                    return seen;
                }
            }
        }
        assert!(input.is_empty());
    }
    seen.is_between_frames = reader.is_between_frames();
    seen
}

/// Checks, for fuzzing, that any bytes as instructions and field sections mean the same wherever they are cut, stay
/// within the limits, and that the fields in them are decoded as they are encoded. At first, two bytes are the capacity
/// of the dynamic table; each part has a byte before it that tells what it is, and two with its size.
///
/// # Panics
/// If one of these does not hold.
pub fn check_qpack(input: &[u8]) {
    let Some((&capacity, mut input)) = input.split_first_chunk() else { return };
    let capacity = u32::from(u16::from_be_bytes(capacity));
    let (mut decoder, mut bytewise) = (Decoder::new(capacity), Decoder::new(capacity));
    let (mut stream, mut bytewise_stream) = (DecoderStream::default(), DecoderStream::default());
    while let [kind, high, low, rest @ ..] = input {
        let size = usize::from(u16::from_be_bytes([*high, *low]));
        let (part, rest) = rest.split_at(rest.len().min(size));
        input = rest;
        match kind % 4 {
            0 => {
                let outcome = decoder.handle_encoder_stream(part);
                let cut = part.chunks(1).try_for_each(|byte| bytewise.handle_encoder_stream(byte));
                assert_eq!(outcome, cut);
                if outcome.is_err() {
                    return;
                }
            }
            1 | 2 => {
                let (outcome, fields) = decode(&mut decoder, part);
                assert_eq!(decode(&mut bytewise, part), (outcome, fields.clone()));
                check_encoded(&fields);
                check_encoded(&fields_in(part));
            }
            _ => {
                let outcome = stream.handle_bytes(part);
                let cut = part.chunks(1).try_for_each(|byte| bytewise_stream.handle_bytes(byte));
                assert_eq!(outcome, cut);
                if outcome.is_err() {
                    return;
                }
            }
        }
        assert_eq!(decoder.insert_count(), bytewise.insert_count());
    }
    let (mut told, mut told_bytewise) = (Vec::new(), Vec::new());
    decoder.take_instructions(&mut told);
    bytewise.take_instructions(&mut told_bytewise);
    assert_eq!(told, told_bytewise);
    assert!(!decoder.has_instructions());
}

/// Decodes a section; returns the fields up to a violation, if there is one.
fn decode(decoder: &mut Decoder, section: &[u8]) -> (Result<Decoded, Violation>, Fields) {
    let mut fields = Fields::new();
    let outcome = decoder
        .decode(4, section, SECTION_LIMITS, |name, value| fields.push((name.to_vec(), value.to_vec())));
    let fields_size =
        fields.iter().map(|(name, value)| name.len() + value.len() + FIELD_OVERHEAD).sum::<usize>();
    assert!(fields_size <= SECTION_LIMITS.size && fields.len() <= SECTION_LIMITS.fields);
    match outcome {
        Ok(Decoded::Fields { size, .. }) => assert_eq!(size, fields_size),
        Ok(Decoded::Blocked { required_insert_count }) => {
            assert!(fields.is_empty() && required_insert_count > decoder.insert_count());
        }
        Err(_) => {}
    }
    (outcome, fields)
}

fn check_encoded(fields: &Fields) {
    let mut section = Vec::new();
    begin_section(&mut section);
    fields.iter().for_each(|(name, value)| encode_field(name, value, &mut section));
    let mut decoded = Fields::new();
    let limits = SectionLimits { size: usize::MAX, fields: usize::MAX };
    let outcome = Decoder::new(0)
        .decode(0, &section, limits, |name, value| decoded.push((name.to_vec(), value.to_vec())));
    assert!(
        matches!(outcome, Ok(Decoded::Fields { required_insert_count: 0, .. })) && decoded == *fields,
        "{outcome:?}: {fields:?} became {decoded:?}",
    );
}

/// Arbitrary bytes as fields: each ends at a zero, its name at a colon that is not its first byte.
fn fields_in(bytes: &[u8]) -> Fields {
    let field = |field: &[u8]| {
        let colon =
            field.iter().skip(1).position(|&byte| byte == b':').map_or(field.len(), |colon| colon + 1);
        (field[..colon].to_vec(), field[colon..].to_vec())
    };
    bytes.split(|&byte| byte == 0).map(field).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    mod seeds;

    #[test]
    fn what_is_too_short_says_nothing() {
        for input in [&b""[..], b"\0", b"\0\0", b"\x01\x05", b"\x01\x05x"] {
            check_frames(input);
            check_qpack(input);
        }
    }

    /// A frame of a type that there is, whose payload is often right.
    fn frame() -> impl Strategy<Value = Vec<u8>> {
        let kind = prop_oneof![4 => 0..16_u8, 1 => Just(0x21)];
        let payload = prop_oneof![
            prop::collection::vec(any::<u8>(), 0..12),
            prop::sample::select(vec![vec![], vec![4], vec![1, 0x40, 0], vec![7, 5, 6, 9], vec![0x40, 8]]),
        ];
        (kind, payload).prop_map(|(kind, payload)| {
            [&[kind, u8::try_from(payload.len()).unwrap()][..], &payload].concat()
        })
    }

    /// An instruction or a section, often of the right form.
    fn part() -> impl Strategy<Value = Vec<u8>> {
        let instructions = prop_oneof![
            Just(b"\x3f\xe1\x01".to_vec()),
            Just(b"\x3f\x41\xc0\x03abc\x41x\x01y".to_vec()),
            Just(b"\x00\x81\x01z\x02".to_vec()),
            prop::collection::vec(any::<u8>(), 0..20),
        ];
        let section = prop_oneof![
            (0..6_u8, prop_oneof![0..4_u8, 0x80..0x84_u8], prop::collection::vec(0x80..0x84_u8, 0..5))
                .prop_map(|(count, base, fields)| [&[count, base][..], &fields].concat()),
            (0..6_u8, 0..4_u8, prop::collection::vec(0x10..0x14_u8, 0..5))
                .prop_map(|(count, base, fields)| [&[count, 0x80 | base][..], &fields].concat()),
            (Just(b"\0\0".to_vec()), prop::collection::vec(any::<u8>(), 0..20))
                .prop_map(|(prefix, fields)| [prefix, fields].concat()),
            prop::collection::vec(any::<u8>(), 0..20),
        ];
        prop_oneof![
            instructions.prop_map(|bytes| (0, bytes)),
            section.prop_map(|bytes| (1, bytes)),
            prop::collection::vec(prop_oneof![9 => 0x40..0x80_u8, 1 => any::<u8>()], 0..9)
                .prop_map(|bytes| (3, bytes)),
        ]
        .prop_map(|(kind, bytes): (u8, Vec<u8>)| {
            [&[kind, 0, u8::try_from(bytes.len()).unwrap()][..], &bytes].concat()
        })
    }

    proptest! {
        #[test]
        fn frames_are_the_same_wherever_they_are_cut(
            cut in any::<u8>(),
            is_control in any::<bool>(),
            frames in prop::collection::vec(frame(), 0..8),
        ) {
            let begin: &[u8] = if is_control { &[1, cut, 0, 4, 2, 1, 0] } else { &[0, cut] };
            check_frames(&[begin, &frames.concat()].concat());
        }

        #[test]
        fn instructions_and_sections_mean_the_same_wherever_they_are_cut(parts in prop::collection::vec(part(), 0..20)) {
            check_qpack(&[&[1, 0][..], &parts.concat()].concat());
        }

        #[test]
        fn no_bytes_are_too_odd(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            check_frames(&bytes);
            check_qpack(&bytes);
        }
    }
}
