//! Both directions together, with the examples of the standard and with the sections of another encoder.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde::Deserialize;

use super::super::error::{ErrorCode, Scope, Violation};
use super::*;
use crate::header_compression::{FIELD_OVERHEAD, integer, string};

type Fields = Vec<(Vec<u8>, Vec<u8>)>;

const LIMITS: SectionLimits = SectionLimits { size: 1 << 20, fields: 1000 };

const DECOMPRESSION_FAILED: ErrorCode = ErrorCode::QPACK_DECOMPRESSION_FAILED;
const ENCODER_STREAM_ERROR: ErrorCode = ErrorCode::QPACK_ENCODER_STREAM_ERROR;
const DECODER_STREAM_ERROR: ErrorCode = ErrorCode::QPACK_DECODER_STREAM_ERROR;

/// Decodes a section; `None` if it is blocked.
fn decoded(decoder: &mut Decoder, stream: u64, section: &[u8]) -> Result<Option<Fields>, Violation> {
    let mut fields = Fields::new();
    let outcome = decoder
        .decode(stream, section, LIMITS, |name, value| fields.push((name.to_vec(), value.to_vec())))?;
    Ok(match outcome {
        Decoded::Fields { size, .. } => {
            let sizes = fields.iter().map(|(name, value)| name.len() + value.len() + FIELD_OVERHEAD);
            assert_eq!(size, sizes.sum::<usize>());
            Some(fields)
        }
        Decoded::Blocked { required_insert_count } => {
            assert!(fields.is_empty() && required_insert_count > decoder.insert_count());
            None
        }
    })
}

/// Takes what the decoder has to say.
fn instructions(decoder: &mut Decoder) -> Vec<u8> {
    let has_instructions = decoder.has_instructions();
    let mut out = Vec::new();
    decoder.take_instructions(&mut out);
    assert_eq!(has_instructions, !out.is_empty());
    assert!(!decoder.has_instructions());
    out
}

fn encoded(fields: &Fields) -> Vec<u8> {
    let mut section = Vec::new();
    begin_section(&mut section);
    fields.iter().for_each(|(name, value)| encode_field(name, value, &mut section));
    section
}

fn fields(fields: &[(&str, &str)]) -> Fields {
    fields.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec())).collect()
}

fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// A decoder whose table has the capacity 220, and has been filled as in the examples (RFC 9204, appendix B).
fn decoder_of_examples() -> Decoder {
    let mut decoder = Decoder::new(220);
    decoder.handle_encoder_stream(&hex(EXAMPLE_INSERTS)).unwrap();
    decoder
}

/// `:authority: www.example.com` and `:path: /sample/path`.
const EXAMPLE_INSERTS: &str =
    "3fbd01 c00f 7777 772e 6578 616d 706c 652e 636f 6d c10c 2f73 616d 706c 652f 7061 7468";

#[test]
fn a_literal_with_a_static_name_is_that_of_the_example() {
    // RFC 9204, appendix B.1.
    let section = hex("0000 510b 2f69 6e64 6578 2e68 746d 6c");
    let mut decoder = Decoder::new(0);
    assert_eq!(decoded(&mut decoder, 0, &section), Ok(Some(fields(&[(":path", "/index.html")]))));
    assert!(instructions(&mut decoder).is_empty(), "nothing to acknowledge");
}

#[test]
fn the_connection_of_the_examples_is_decoded() {
    // RFC 9204, appendix B.2: a section that may arrive before the insertions that it needs.
    let mut decoder = Decoder::new(220);
    let section = hex("0381 10 11");
    assert_eq!(decoded(&mut decoder, 4, &section), Ok(None));
    assert!(instructions(&mut decoder).is_empty());
    decoder.handle_encoder_stream(&hex(EXAMPLE_INSERTS)).unwrap();
    assert_eq!(decoder.insert_count(), 2);
    let both = fields(&[(":authority", "www.example.com"), (":path", "/sample/path")]);
    assert_eq!(decoded(&mut decoder, 4, &section), Ok(Some(both)));
    assert_eq!(instructions(&mut decoder), hex("84"), "which tells of both insertions too");

    // B.3: an insertion that no section refers to.
    decoder
        .handle_encoder_stream(&hex("4a63 7573 746f 6d2d 6b65 790c 6375 7374 6f6d 2d76 616c 7565"))
        .unwrap();
    assert_eq!(instructions(&mut decoder), hex("01"));

    // B.4: a duplicate that is late, and a stream that is cancelled meanwhile.
    let section = hex("0500 80 c1 81");
    assert_eq!(decoded(&mut decoder, 8, &section), Ok(None));
    decoder.cancel(8);
    assert_eq!(instructions(&mut decoder), hex("48"));
    decoder.handle_encoder_stream(&hex("02")).unwrap();
    let three = fields(&[(":authority", "www.example.com"), (":path", "/"), ("custom-key", "custom-value")]);
    assert_eq!(decoded(&mut decoder, 12, &section), Ok(Some(three)));
    assert_eq!(instructions(&mut decoder), hex("8c"));

    // B.5: an insertion that evicts the first.
    decoder.handle_encoder_stream(&hex("810d 6375 7374 6f6d 2d76 616c 7565 32")).unwrap();
    assert_eq!(decoder.insert_count(), 5);
    assert_eq!(instructions(&mut decoder), hex("01"));
    // From the newest to the oldest that is left.
    let four = fields(&[
        ("custom-key", "custom-value2"),
        (":authority", "www.example.com"),
        ("custom-key", "custom-value"),
        (":path", "/sample/path"),
    ]);
    assert_eq!(decoded(&mut decoder, 16, &hex("0600 80 81 82 83")), Ok(Some(four)));
    let evicted = decoded(&mut decoder, 20, &hex("0600 84")).unwrap_err();
    assert_eq!((evicted.code, evicted.scope), (DECOMPRESSION_FAILED, Scope::Connection));
}

#[test]
fn instructions_of_the_examples_may_be_cut_anywhere() {
    let bytes = hex(&format!(
        "{EXAMPLE_INSERTS} 4a63 7573 746f 6d2d 6b65 790c 6375 7374 6f6d 2d76 616c 7565 02 810d 6375 7374 6f6d 2d76 616c 7565 32"
    ));
    for first in 0..=bytes.len() {
        for second in first..=bytes.len() {
            let mut decoder = Decoder::new(220);
            for piece in [&bytes[..first], &bytes[first..second], &bytes[second..]] {
                decoder.handle_encoder_stream(piece).unwrap();
            }
            assert_eq!(decoder.insert_count(), 5);
            assert_eq!(instructions(&mut decoder), [5]);
            let newest = fields(&[("custom-key", "custom-value2")]);
            assert_eq!(decoded(&mut decoder, 0, &hex("0600 80")), Ok(Some(newest)));
        }
    }
}

#[test]
fn every_representation_is_decoded() {
    // Base 1 of an insert count of 2: the first field lies before it, the second behind.
    for (section, expected) in [
        ("0000", &[][..]),
        ("0000 d1 ff23", &[(":method", "GET"), ("x-frame-options", "sameorigin")]),
        ("0380 80", &[(":authority", "www.example.com")]),
        ("0380 10", &[(":path", "/sample/path")]),
        ("0380 40 0161", &[(":authority", "a")]),
        ("0380 60 0161", &[(":authority", "a")]),
        ("0380 00 0161", &[(":path", "a")]),
        ("0380 08 0161", &[(":path", "a")]),
        ("0000 50 0161", &[(":authority", "a")]),
        ("0000 7f53 00", &[("x-frame-options", "")]),
        ("0000 23 616263 0161", &[("abc", "a")]),
        ("0000 33 616263 0161", &[("abc", "a")]),
        ("0000 27 00 61626364656667 00", &[("abcdefg", "")]),
        // Huffman codes of `custom-key` and `no-cache`.
        ("0000 2f01 25a849e95ba97d7f 86 a8eb10649cbf", &[("custom-key", "no-cache")]),
        // The base may lie beyond all that is referred to.
        ("0305 86", &[(":authority", "www.example.com")]),
        ("0005 d1", &[(":method", "GET")]),
    ] {
        let mut decoder = decoder_of_examples();
        assert_eq!(decoded(&mut decoder, 0, &hex(section)), Ok(Some(fields(expected))), "{section}");
    }
}

#[test]
fn malformed_sections_are_refused() {
    for (section, reason) in [
        ("", "ends within"),
        ("00", "ends within"),
        ("ff", "ends within"),
        ("0000 ff", "ends within"),
        ("0000 51", "ends within"),
        ("0000 51 02 61", "ends within"),
        ("0000 22 61", "ends within"),
        ("0000 21 61", "ends within"),
        ("0000 21 61 ff ff ff ff ff ff ff ff 01", "ends within"),
        ("0000 ff24 ff25", "an index"),
        ("0000 ff ff ff ff ff 0f", "an index"),
        ("0000 7f54 00", "an index"),
        // Fields of a table that the section does not need.
        ("0000 80", "an index"),
        ("0000 10", "an index"),
        ("0000 40 00", "an index"),
        ("0000 00 00", "an index"),
        ("0001 80", "an index"),
        ("0200 81", "an index"),
        ("0200 10", "an index"),
        ("0201 80", "an index"),
        ("0380 11", "an index"),
        ("0380 81", "an index"),
        ("0300 10 ff ff ff ff ff ff ff ff 3f", "an index"),
        // Beyond twice the fields that the table can have, or of a time long past.
        ("0e00", "insert count"),
        ("ff00 00", "insert count"),
        ("0100", "insert count"),
        ("0c00", "insert count"),
        ("0080", "a base"),
        ("0281", "a base"),
        ("0000 51 81 18", "Huffman"),
        ("0000 29 18 00", "Huffman"),
        ("0000 51 84 ff ff ff ff", "Huffman"),
    ] {
        let violation = decoded(&mut decoder_of_examples(), 0, &hex(section)).unwrap_err();
        assert_eq!((violation.code, violation.scope), (DECOMPRESSION_FAILED, Scope::Connection), "{section}");
        assert!(violation.reason.contains(reason), "{section}: {}", violation.reason);
    }
    // Numbers that nobody must take fail the stream alone (section 7.4).
    for section in ["ff ff ff ff ff ff ff ff ff 7f 00", "0000 51 7f ff ff ff ff ff ff ff ff ff 01 61"] {
        let violation = decoded(&mut decoder_of_examples(), 0, &hex(section)).unwrap_err();
        assert_eq!((violation.code, violation.scope), (DECOMPRESSION_FAILED, Scope::Stream), "{section}");
    }
}

#[test]
fn malformed_instructions_are_refused() {
    for (bytes, reason) in [
        // A capacity of 221.
        ("3fbe01", "capacity"),
        ("3f ff ff ff ff ff 3f", "capacity"),
        // A field of the static or the dynamic table that there is not.
        ("ff24 00", "index"),
        ("82 00", "index"),
        ("02", "index"),
        ("1f ff ff ff ff 0f", "index"),
        ("ff ff ff ff ff ff ff ff ff 7f", "a number"),
        ("1f 80 80 80 80 80 80 80 80 80 00", "a number"),
        ("c0 81 18", "Huffman"),
        ("61 18 00", "Huffman"),
        // A value of 221 bytes, and one of 222 * 4 that is Huffman-coded, which need not arrive.
        ("c0 7f5e", "larger"),
        ("c0 ff f506", "larger"),
        ("5f be01", "larger"),
    ] {
        let mut decoder = decoder_of_examples();
        let violation = decoder.handle_encoder_stream(&hex(bytes)).unwrap_err();
        assert_eq!((violation.code, violation.scope), (ENCODER_STREAM_ERROR, Scope::Connection), "{bytes}");
        assert!(violation.reason.contains(reason), "{bytes}: {}", violation.reason);
        let mut decoder = decoder_of_examples();
        let outcome = hex(bytes).chunks(1).try_for_each(|byte| decoder.handle_encoder_stream(byte));
        assert_eq!(outcome, Err(violation), "{bytes}, byte by byte");
    }
}

#[test]
fn a_field_must_have_room_in_the_table() {
    // With its name, `:path`, and the overhead, 220 bytes.
    let insert = |size: usize| {
        let mut bytes = hex("3fbd01 c1");
        integer::encode(size as u64, 7, 0, &mut bytes);
        bytes.resize(bytes.len() + size, b'x');
        bytes
    };
    let mut decoder = Decoder::new(220);
    assert_eq!(decoder.handle_encoder_stream(&insert(220 - 32 - 5)), Ok(()));
    assert_eq!(decoder.insert_count(), 1);
    let mut decoder = Decoder::new(220);
    let violation = decoder.handle_encoder_stream(&insert(220 - 32 - 4)).unwrap_err();
    assert_eq!(violation.code, ENCODER_STREAM_ERROR);
    // At first there is no room at all.
    for capacity in [0, 220] {
        let violation = Decoder::new(capacity).handle_encoder_stream(&hex("c0 00")).unwrap_err();
        assert_eq!(violation.code, ENCODER_STREAM_ERROR);
    }
}

#[test]
fn a_smaller_table_has_only_the_newest_fields() {
    let mut decoder = decoder_of_examples();
    let changes = decoder.table_changes();
    // To 56, which is less than both fields take: the second, of 49, is left.
    decoder.handle_encoder_stream(&hex("3f19")).unwrap();
    assert_ne!(decoder.table_changes(), changes, "what was decoded before may not be the same now");
    assert_eq!(decoder.insert_count(), 2);
    assert_eq!(decoded(&mut decoder, 0, &hex("0300 80")), Ok(Some(fields(&[(":path", "/sample/path")]))));
    assert!(decoded(&mut decoder, 0, &hex("0300 81")).is_err());
    // A duplicate of a field that makes room for itself.
    decoder.handle_encoder_stream(&hex("00")).unwrap();
    assert_eq!(decoder.insert_count(), 3);
    assert_eq!(decoded(&mut decoder, 0, &hex("0400 80")), Ok(Some(fields(&[(":path", "/sample/path")]))));
    decoder.handle_encoder_stream(&hex("20")).unwrap();
    assert!(decoded(&mut decoder, 0, &hex("0400 80")).is_err());
}

#[test]
fn the_insert_count_is_the_one_near_by() {
    // RFC 9204, section 4.5.1.1: a table of 100 bytes, 10 insertions, and an encoded value of 4 that means 9.
    let mut decoder = Decoder::new(100);
    decoder.handle_encoder_stream(&hex("3f45")).unwrap();
    for value in b'a'..b'a' + 10 {
        decoder.handle_encoder_stream(&[0xc1, 1, value]).unwrap();
    }
    assert_eq!(decoded(&mut decoder, 0, &hex("0400 80")), Ok(Some(fields(&[(":path", "i")]))));
    assert_eq!(decoded(&mut decoder, 0, &hex("0500 80")), Ok(Some(fields(&[(":path", "j")]))));
    // Of 11 to 13 insertions, which have not arrived.
    let blocked =
        |decoder: &mut Decoder, section: &str| match decoder.decode(0, &hex(section), LIMITS, |_, _| {}) {
            Ok(Decoded::Blocked { required_insert_count }) => required_insert_count,
            outcome => panic!("{section}: {outcome:?}"),
        };
    assert_eq!(blocked(&mut decoder, "0600 80"), 11);
    assert_eq!(blocked(&mut decoder, "0100 80"), 12);
    assert_eq!(blocked(&mut decoder, "0200 80"), 13);
    // There is no way to send seven counts.
    let violation = decoded(&mut decoder, 0, &hex("0700 80")).unwrap_err();
    assert_eq!(violation.code, DECOMPRESSION_FAILED);
}

#[test]
fn too_many_blocked_streams_fail_the_connection() {
    assert_eq!((TOO_MANY_BLOCKED.code, TOO_MANY_BLOCKED.scope), (DECOMPRESSION_FAILED, Scope::Connection));
}

#[test]
fn lists_beyond_the_limits_fail_their_stream() {
    let section = encoded(&fields(&[(":status", "200"), ("server", "x"), ("age", "0")]));
    let size = 3 * FIELD_OVERHEAD + 10 + 7 + 4;
    let outcome = |limits| {
        let mut count = 0;
        let outcome = Decoder::new(0).decode(0, &section, limits, |_, _| count += 1);
        (outcome.map_err(|violation| (violation.code, violation.scope)), count)
    };
    let whole = Ok(Decoded::Fields { size, required_insert_count: 0 });
    let excessive = Err((ErrorCode::H3_EXCESSIVE_LOAD, Scope::Stream));
    assert_eq!(outcome(SectionLimits { size, fields: 3 }), (whole, 3));
    assert_eq!(outcome(SectionLimits { size: size - 1, fields: 3 }), (excessive, 2));
    assert_eq!(outcome(SectionLimits { size, fields: 2 }), (excessive, 2));
}

#[test]
fn a_small_section_cannot_become_an_endless_list() {
    let mut decoder = Decoder::new(4096);
    let mut bytes = hex("3fe11f c1");
    integer::encode(3000, 7, 0, &mut bytes);
    bytes.resize(bytes.len() + 3000, b'x');
    decoder.handle_encoder_stream(&bytes).unwrap();
    let section = [hex("0200"), vec![0x80; 5000]].concat();
    let mut count = 0;
    let limits = SectionLimits { size: 64 * 1024, fields: 1000 };
    let outcome = decoder.decode(0, &section, limits, |_, _| count += 1);
    assert_eq!(outcome.map_err(|violation| violation.code), Err(ErrorCode::H3_EXCESSIVE_LOAD));
    assert_eq!(count, 64 * 1024 / 3037);
}

#[test]
fn sections_that_fail_are_not_acknowledged() {
    let mut decoder = decoder_of_examples();
    assert_eq!(instructions(&mut decoder), [2]);
    assert!(decoded(&mut decoder, 4, &hex("0380 11")).is_err());
    assert!(instructions(&mut decoder).is_empty());
}

#[test]
fn what_equals_a_section_is_acknowledged_without_decoding_it() {
    let mut decoder = decoder_of_examples();
    decoder.acknowledge(1000, 2);
    decoder.acknowledge(1004, 0);
    decoder.cancel(1000);
    assert_eq!(instructions(&mut decoder), hex("ffe906 7fa907"), "which tells of both insertions too");
}

#[test]
fn without_a_table_nothing_is_cancelled() {
    let mut decoder = Decoder::new(0);
    decoder.cancel(4);
    assert!(instructions(&mut decoder).is_empty());
    // A capacity of 0 changes nothing.
    assert_eq!(decoder.handle_encoder_stream(&hex("20")), Ok(()));
    let violation = decoder.handle_encoder_stream(&hex("21")).unwrap_err();
    assert_eq!(violation.code, ENCODER_STREAM_ERROR);
    // Nor can a section need an insertion.
    assert_eq!(decoded(&mut decoder, 0, &hex("0200 80")).unwrap_err().code, DECOMPRESSION_FAILED);
}

#[test]
fn a_decoder_may_only_cancel_streams() {
    let outcome = |bytes: &str| {
        let bytes = hex(bytes);
        let mut outcomes = (0..=bytes.len()).map(|cut| {
            let mut stream = DecoderStream::default();
            stream.handle_bytes(&bytes[..cut])?;
            stream.handle_bytes(&bytes[cut..])
        });
        let outcome = outcomes.next().unwrap();
        assert!(outcomes.all(|other| other == outcome), "cut somewhere");
        outcome.map_err(|violation: Violation| (violation.code, violation.scope))
    };
    let refused = Err((DECODER_STREAM_ERROR, Scope::Connection));
    assert_eq!(outcome(""), Ok(()));
    assert_eq!(outcome("40 48 7e"), Ok(()));
    assert_eq!(outcome("7f00 44 7f8001 44"), Ok(()));
    assert_eq!(outcome("7fffffffffffffffff3f 44"), Ok(()));
    assert_eq!(outcome("7f80808080808080808080"), refused);
    // Acknowledgments of sections and insertions.
    assert_eq!(outcome("80"), refused);
    assert_eq!(outcome("40 84"), refused);
    assert_eq!(outcome("ff00"), refused);
    assert_eq!(outcome("00"), refused);
    assert_eq!(outcome("7f80 00 01"), refused);
    assert_eq!(outcome("3f00"), refused);
}

#[test]
fn requests_are_encoded_with_the_static_table() {
    for (name, value, expected) in [
        (":method", "GET", "d1"),
        (":scheme", "https", "d7"),
        (":path", "/", "c1"),
        ("accept", "*/*", "dd"),
        (":authority", "www.example.com", "50 8c f1e3c2e5f23a6ba0ab90f4ff"),
        ("user-agent", "no-cache", "5f50 86 a8eb10649cbf"),
        (":path", "\u{1}", "51 01 01"),
        ("x-a", "no-cache", "23 782d61 86 a8eb10649cbf"),
        ("custom-key", "", "2f01 25a849e95ba97d7f 00"),
        // Secrets are never put into a table, nor taken from one.
        ("authorization", "302", "7f45 82 6402"),
        ("authorization", "", "7f45 00"),
    ] {
        let section = encoded(&fields(&[(name, value)]));
        assert_eq!(section, hex(&format!("0000 {expected}")), "{name}: {value}");
    }
    let mut secret = hex("0000");
    string::encode(b"proxy-authorization", 3, 0x30, &mut secret);
    string::encode(b"secret", 7, 0, &mut secret);
    assert_eq!(encoded(&fields(&[("proxy-authorization", "secret")])), secret);
}

#[derive(Deserialize)]
struct Story {
    capacity: u32,
    blocked_streams: usize,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    stream: u64,
    encoder: String,
    section: String,
    headers: Vec<(String, String)>,
}

impl Case {
    fn fields(&self) -> Fields {
        self.headers.iter().map(|(name, value)| (name.clone().into(), value.clone().into())).collect()
    }
}

fn stories() -> Vec<(PathBuf, Story)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/qpack");
    let paths = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let stories: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| {
            let story = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            (path, story)
        })
        .collect();
    assert_eq!(stories.len(), 6, "stories are missing");
    stories
}

#[test]
fn the_sections_of_another_encoder_are_decoded() {
    for (path, story) in stories() {
        let mut decoder = Decoder::new(story.capacity);
        for case in &story.cases {
            decoder.handle_encoder_stream(&hex(&case.encoder)).unwrap();
            let got = decoded(&mut decoder, case.stream, &hex(&case.section));
            assert_eq!(got, Ok(Some(case.fields())), "{}, stream {}", path.display(), case.stream);
        }
    }
}

#[test]
fn the_sections_of_another_encoder_may_come_before_what_they_need() {
    for (path, story) in stories() {
        if story.blocked_streams == 0 {
            continue;
        }
        let mut decoder = Decoder::new(story.capacity);
        let mut blocked_count = 0;
        for case in &story.cases {
            let section = hex(&case.section);
            let mut got = decoded(&mut decoder, case.stream, &section).unwrap();
            for byte in hex(&case.encoder).chunks(1) {
                decoder.handle_encoder_stream(byte).unwrap();
            }
            if got.is_none() {
                blocked_count += 1;
                got = decoded(&mut decoder, case.stream, &section).unwrap();
            }
            assert_eq!(got, Some(case.fields()), "{}, stream {}", path.display(), case.stream);
        }
        assert!(blocked_count > 0, "{}: nothing was blocked", path.display());
    }
}

#[test]
fn what_was_encoded_of_them_is_decoded() {
    for (_, story) in stories() {
        for case in story.cases {
            let fields = case.fields();
            assert_eq!(decoded(&mut Decoder::new(0), 0, &encoded(&fields)), Ok(Some(fields)));
        }
    }
}

#[test]
fn sections_are_decoded_without_allocation() {
    let mut decoder = decoder_of_examples();
    let section = hex("0380 80 10 d1 00 84 41496153 2f01 25a849e95ba97d7f 86 a8eb10649cbf");
    let insert = hex("c1 86 a8eb10649cbf 00");
    let mut out = Vec::new();
    let mut turn = || {
        let mut count = 0;
        decoder.decode(4, &section, LIMITS, |_, _| count += 1).map(|_| count).unwrap_or_default()
    };
    assert_eq!(turn(), 5);
    let measured = allocation_counter::measure(|| {
        for _ in 0..10 {
            turn();
        }
    });
    // Acknowledgments wait to be taken.
    assert!(measured.count_total <= 1, "{measured:?}");
    // Nor does a table that has reached its size allocate.
    let mut insert = |times: usize| {
        for _ in 0..times {
            for byte in insert.chunks(2) {
                decoder.handle_encoder_stream(byte).unwrap();
            }
            out.clear();
            decoder.take_instructions(&mut out);
        }
    };
    insert(100);
    assert_eq!(allocation_counter::measure(|| insert(1000)).count_total, 0);
}

/// An encoder with a dynamic table, which does what a number says wherever there is a choice.
struct Encoder {
    /// The number of fields that a table of the announced capacity can have.
    entries_max: u64,
    capacity_max: usize,
    capacity: usize,
    entries: VecDeque<(Vec<u8>, Vec<u8>)>,
    insert_count: u64,
    known_received_count: u64,
    /// For each stream with a section that is not acknowledged, the oldest field that it refers to, and the insertions
    /// that it needs.
    unacknowledged: BTreeMap<u64, (u64, u64)>,
    /// What was written on the encoder stream and not delivered.
    stream: Vec<u8>,
}

/// A field, as a number chooses how to send it.
#[derive(Clone, Debug)]
struct Choice {
    form: u8,
    index: u16,
    name: &'static str,
    value: Vec<u8>,
}

/// A step of an encoder, its network and its peer.
#[derive(Clone, Debug)]
enum Step {
    SetCapacity(u16),
    Insert(Choice),
    Duplicate(u16),
    Send { base: u16, fields: Vec<Choice> },
    DeliverInstructions(usize),
    DeliverSection(u16),
    Cancel(u16),
    Answer,
}

struct Section {
    stream: u64,
    required_insert_count: u64,
    bytes: Vec<u8>,
    fields: Fields,
}

impl Encoder {
    fn new(capacity_max: u32) -> Self {
        Self {
            entries_max: u64::from(capacity_max) / 32,
            capacity_max: capacity_max as usize,
            capacity: 0,
            entries: VecDeque::new(),
            insert_count: 0,
            known_received_count: 0,
            unacknowledged: BTreeMap::new(),
            stream: Vec::new(),
        }
    }

    /// The number of fields that were evicted.
    fn dropped_count(&self) -> u64 {
        self.insert_count - self.entries.len() as u64
    }

    /// Evicts fields until the others take at most this size, if they may be evicted (RFC 9204, section 2.1.1).
    fn shrink_to(&mut self, size: usize) -> bool {
        let sizes = self.entries.iter().map(|(name, value)| name.len() + value.len() + 32);
        let mut rest: usize = sizes.clone().sum();
        let count = sizes.take_while(|size_of| {
            let is_evicted = rest > size;
            rest -= size_of;
            is_evicted
        });
        let count = count.count();
        let pinned = self.unacknowledged.values().map(|&(oldest, _)| oldest).min();
        let evictable =
            pinned.map_or(self.known_received_count, |pinned| pinned.min(self.known_received_count));
        let may = self.dropped_count() + count as u64 <= evictable.max(self.dropped_count());
        if may {
            self.entries.drain(..count);
        }
        may
    }

    fn set_capacity(&mut self, number: u16) {
        let capacity = usize::from(number) % (self.capacity_max + 1);
        if self.shrink_to(capacity) {
            self.capacity = capacity;
            integer::encode(capacity as u64, 5, 0x20, &mut self.stream);
        }
    }

    /// Adds a field, if that is possible, with this instruction.
    fn add(&mut self, name: Vec<u8>, value: Vec<u8>, instruction: &[u8]) {
        let size = name.len() + value.len() + 32;
        if size <= self.capacity && self.shrink_to(self.capacity - size) {
            self.stream.extend_from_slice(instruction);
            self.entries.push_back((name, value));
            self.insert_count += 1;
        }
    }

    /// Chooses a field of the table: its absolute index, its name and value.
    fn choose(&self, number: u16) -> Option<(u64, Vec<u8>, Vec<u8>)> {
        let place = usize::from(number).checked_rem(self.entries.len())?;
        let (name, value) = self.entries[place].clone();
        Some((self.dropped_count() + place as u64, name, value))
    }

    fn insert(&mut self, choice: &Choice) {
        let mut instruction = Vec::new();
        let name = match (choice.form % 3, self.choose(choice.index)) {
            (0, Some((index, name, _))) => {
                integer::encode(self.insert_count - 1 - index, 6, 0x80, &mut instruction);
                name
            }
            (1, _) => {
                let index = u64::from(choice.index) % 99;
                integer::encode(index, 6, 0xc0, &mut instruction);
                static_table::get(index).unwrap().0.to_vec()
            }
            _ => {
                string::encode(choice.name.as_bytes(), 5, 0x40, &mut instruction);
                choice.name.into()
            }
        };
        string::encode(&choice.value, 7, 0, &mut instruction);
        self.add(name, choice.value.clone(), &instruction);
    }

    fn duplicate(&mut self, number: u16) {
        if let Some((index, name, value)) = self.choose(number) {
            let mut instruction = Vec::new();
            integer::encode(self.insert_count - 1 - index, 5, 0x00, &mut instruction);
            self.add(name, value, &instruction);
        }
    }

    fn section(&mut self, stream: u64, base: u16, choices: &[Choice]) -> Section {
        let base = u64::from(base) % (self.insert_count + 3);
        let (mut lines, mut fields) = (Vec::new(), Fields::new());
        let (mut oldest, mut required) = (u64::MAX, 0);
        for choice in choices {
            let mut refer = |index: u64, [before, behind]: [(u32, u8); 2], lines: &mut Vec<u8>| {
                oldest = oldest.min(index);
                required = required.max(index + 1);
                match index.checked_sub(base) {
                    Some(index) => integer::encode(index, behind.0, behind.1, lines),
                    None => integer::encode(base - 1 - index, before.0, before.1, lines),
                }
            };
            match (choice.form % 6, self.choose(choice.index)) {
                (0 | 1, Some((index, name, value))) => {
                    refer(index, [(6, 0x80), (4, 0x10)], &mut lines);
                    fields.push((name, value));
                    continue;
                }
                (2, Some((index, name, _))) => {
                    refer(index, [(4, 0x40), (3, 0x00)], &mut lines);
                    fields.push((name, choice.value.clone()));
                }
                (3, Some((index, name, _))) => {
                    refer(index, [(4, 0x60), (3, 0x08)], &mut lines);
                    fields.push((name, choice.value.clone()));
                }
                (4, _) => {
                    let (name, value) = (choice.name.as_bytes(), &choice.value);
                    encode_field(name, value, &mut lines);
                    fields.push((name.to_vec(), value.clone()));
                    continue;
                }
                _ => {
                    string::encode(choice.name.as_bytes(), 3, 0x20, &mut lines);
                    fields.push((choice.name.into(), choice.value.clone()));
                }
            }
            string::encode(&choice.value, 7, 0, &mut lines);
        }
        let mut bytes = Vec::new();
        integer::encode(
            if required == 0 { 0 } else { required % (2 * self.entries_max) + 1 },
            8,
            0,
            &mut bytes,
        );
        match base.checked_sub(required) {
            Some(delta) => integer::encode(delta, 7, 0x00, &mut bytes),
            None => integer::encode(required - base - 1, 7, 0x80, &mut bytes),
        }
        bytes.extend(lines);
        if required > 0 {
            self.unacknowledged.insert(stream, (oldest, required));
        }
        Section { stream, required_insert_count: required, bytes, fields }
    }

    /// Reads what the decoder says; panics if that cannot be.
    fn handle_answer(&mut self, mut answer: &[u8]) {
        while let Some(first) = answer.first() {
            match first {
                0x80.. => {
                    let stream = integer::decode_u62(7, &mut answer).unwrap();
                    let (_, required) = self.unacknowledged.remove(&stream).expect("it is acknowledged once");
                    self.known_received_count = self.known_received_count.max(required);
                }
                0x40.. => {
                    self.unacknowledged.remove(&integer::decode_u62(6, &mut answer).unwrap());
                }
                _ => {
                    let increment = integer::decode_u62(6, &mut answer).unwrap();
                    assert!(increment > 0);
                    self.known_received_count += increment;
                    assert!(self.known_received_count <= self.insert_count);
                }
            }
        }
    }
}

/// Both ends of a connection, and what is between them.
struct Connection {
    encoder: Encoder,
    decoder: Decoder,
    next_stream: u64,
    under_way: Vec<Section>,
    blocked: Vec<Section>,
}

impl Connection {
    fn step(&mut self, step: &Step) {
        match step {
            Step::SetCapacity(number) => self.encoder.set_capacity(*number),
            Step::Insert(choice) => self.encoder.insert(choice),
            Step::Duplicate(number) => self.encoder.duplicate(*number),
            Step::Send { base, fields } => {
                self.under_way.push(self.encoder.section(self.next_stream, *base, fields));
                self.next_stream += 4;
            }
            Step::DeliverInstructions(size) => {
                let size = self.encoder.stream.len().min(*size);
                let bytes: Vec<u8> = self.encoder.stream.drain(..size).collect();
                self.decoder.handle_encoder_stream(&bytes).unwrap();
                let insert_count = self.decoder.insert_count();
                let is_ready = |section: &mut Section| section.required_insert_count <= insert_count;
                let ready: Vec<Section> = self.blocked.extract_if(.., is_ready).collect();
                ready.into_iter().for_each(|section| self.deliver(section));
            }
            Step::DeliverSection(number) => {
                if let Some(place) = usize::from(*number).checked_rem(self.under_way.len()) {
                    let section = self.under_way.swap_remove(place);
                    self.deliver(section);
                }
            }
            Step::Cancel(number) => {
                if let Some(place) = usize::from(*number).checked_rem(self.under_way.len()) {
                    self.decoder.cancel(self.under_way.swap_remove(place).stream);
                }
            }
            Step::Answer => self.encoder.handle_answer(&instructions(&mut self.decoder)),
        }
    }

    fn deliver(&mut self, section: Section) {
        let required_insert_count = section.required_insert_count;
        if required_insert_count > self.decoder.insert_count() {
            let outcome = self.decoder.decode(section.stream, &section.bytes, LIMITS, |_, _| {});
            assert_eq!(outcome, Ok(Decoded::Blocked { required_insert_count }));
            self.blocked.push(section);
            return;
        }
        let got = decoded(&mut self.decoder, section.stream, &section.bytes);
        assert_eq!(got, Ok(Some(section.fields)));
    }
}

fn some_choice() -> impl Strategy<Value = Choice> {
    let name = prop::sample::select(vec![":path", ":status", "server", "a", "x-long-name", "authorization"]);
    let value = prop_oneof![
        prop::sample::select(vec!["", "GET", "/", "200", "value"]).prop_map(|text| text.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..60),
    ];
    (any::<u8>(), any::<u16>(), name, value).prop_map(|(form, index, name, value)| Choice {
        form,
        index,
        name,
        value,
    })
}

fn some_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => any::<u16>().prop_map(Step::SetCapacity),
        6 => some_choice().prop_map(Step::Insert),
        2 => any::<u16>().prop_map(Step::Duplicate),
        6 => (any::<u16>(), prop::collection::vec(some_choice(), 0..6))
            .prop_map(|(base, fields)| Step::Send { base, fields }),
        6 => (0..200_usize).prop_map(Step::DeliverInstructions),
        6 => any::<u16>().prop_map(Step::DeliverSection),
        1 => any::<u16>().prop_map(Step::Cancel),
        4 => Just(Step::Answer),
    ]
}

proptest! {
    #[test]
    fn both_ends_stay_in_step(
        capacity_max in 32..400_u32,
        steps in prop::collection::vec(some_step(), 0..200),
    ) {
        let mut connection = Connection {
            encoder: Encoder::new(capacity_max),
            decoder: Decoder::new(capacity_max),
            next_stream: 0,
            under_way: Vec::new(),
            blocked: Vec::new(),
        };
        connection.step(&Step::SetCapacity(u16::try_from(capacity_max).unwrap()));
        steps.iter().for_each(|step| connection.step(step));
        connection.step(&Step::DeliverInstructions(usize::MAX));
        while !connection.under_way.is_empty() {
            connection.step(&Step::DeliverSection(0));
        }
        connection.step(&Step::Answer);
        prop_assert!(connection.blocked.is_empty());
        prop_assert_eq!(connection.encoder.known_received_count, connection.encoder.insert_count);
        prop_assert_eq!(connection.encoder.unacknowledged.len(), 0);
    }

    #[test]
    fn what_was_encoded_is_decoded(choices in prop::collection::vec(some_choice(), 0..12)) {
        let fields: Fields =
            choices.into_iter().map(|choice| (choice.name.into(), choice.value)).collect();
        prop_assert_eq!(decoded(&mut Decoder::new(0), 0, &encoded(&fields)), Ok(Some(fields)));
    }

    #[test]
    fn any_name_and_value_is_encoded(
        fields in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..40), prop::collection::vec(any::<u8>(), 0..200)), 0..6),
    ) {
        prop_assert_eq!(decoded(&mut Decoder::new(0), 0, &encoded(&fields)), Ok(Some(fields)));
    }
}
