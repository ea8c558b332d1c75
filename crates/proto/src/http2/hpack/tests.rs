//! Both directions together, and with the blocks of others.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde::Deserialize;

use super::*;

type Fields = Vec<(Vec<u8>, Vec<u8>)>;

const LIST_SIZE_MAX: usize = 1 << 20;

#[track_caller]
fn decoded(decoder: &mut Decoder, block: &[u8]) -> Result<Fields, DecodeError> {
    let mut fields = Fields::new();
    let size =
        decoder.decode(block, LIST_SIZE_MAX, |name, value| fields.push((name.to_vec(), value.to_vec())))?;
    assert_eq!(size, fields.iter().map(|(name, value)| name.len() + value.len() + 32).sum::<usize>());
    Ok(fields)
}

fn fields(fields: &[(&str, &str)]) -> Fields {
    fields.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec())).collect()
}

fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// RFC 7541, appendices C.3 and C.4: three requests on a connection.
const REQUESTS: [&[(&str, &str)]; 3] = [
    &[(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "www.example.com")],
    &[
        (":method", "GET"),
        (":scheme", "http"),
        (":path", "/"),
        (":authority", "www.example.com"),
        ("cache-control", "no-cache"),
    ],
    &[
        (":method", "GET"),
        (":scheme", "https"),
        (":path", "/index.html"),
        (":authority", "www.example.com"),
        ("custom-key", "custom-value"),
    ],
];

#[test]
fn requests_of_the_examples_are_decoded() {
    let plain = [
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ];
    let huffman = [
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ];
    for blocks in [plain, huffman] {
        let mut decoder = Decoder::new(DEFAULT_TABLE_SIZE);
        for (block, request) in blocks.into_iter().zip(REQUESTS) {
            assert_eq!(decoded(&mut decoder, &hex(block)), Ok(fields(request)));
        }
    }
}

#[test]
fn requests_of_the_examples_are_encoded_as_there() {
    let blocks = [
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ];
    let mut encoder = Encoder::new(DEFAULT_TABLE_SIZE);
    for (block, request) in blocks.into_iter().zip(REQUESTS) {
        let mut out = Vec::new();
        encoder.begin_block(&mut out);
        for (name, value) in request {
            encoder.encode(name.as_bytes(), value.as_bytes(), Indexing::Incremental, &mut out);
        }
        assert_eq!(out, hex(block));
    }
}

#[test]
fn replies_of_the_examples_evict_what_has_no_room() {
    // RFC 7541, appendix C.6.
    let replies: [(&str, &[(&str, &str)]); 3] = [
        (
            "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 \
             8f0b 97c8 e9ae 82ae 43d3",
            &[
                (":status", "302"),
                ("cache-control", "private"),
                ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
                ("location", "https://www.example.com"),
            ],
        ),
        (
            "4883 640e ffc1 c0bf",
            &[
                (":status", "307"),
                ("cache-control", "private"),
                ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
                ("location", "https://www.example.com"),
            ],
        ),
        (
            "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 \
             dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
            &[
                (":status", "200"),
                ("cache-control", "private"),
                ("date", "Mon, 21 Oct 2013 20:13:22 GMT"),
                ("location", "https://www.example.com"),
                ("content-encoding", "gzip"),
                ("set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"),
            ],
        ),
    ];
    let mut decoder = Decoder::new(256);
    for (block, reply) in replies {
        assert_eq!(decoded(&mut decoder, &hex(block)), Ok(fields(reply)));
    }
}

#[derive(Deserialize)]
struct Story {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    header_table_size: Option<u32>,
    wire: String,
    headers: Vec<std::collections::BTreeMap<String, String>>,
}

fn stories() -> Vec<(PathBuf, Story)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/hpack");
    let encoders = ["go-hpack", "nghttp2-change-table-size", "swift-nio-hpack-huffman"];
    let files = encoders.iter().flat_map(|encoder| fs::read_dir(folder.join(encoder)).unwrap());
    let stories: Vec<_> = files
        .map(|file| {
            let path = file.unwrap().path();
            let story = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            (path, story)
        })
        .collect();
    assert_eq!(stories.len(), 36, "stories are missing");
    stories
}

#[test]
fn the_blocks_of_other_encoders_are_decoded() {
    for (path, story) in stories() {
        let mut decoder = Decoder::new(DEFAULT_TABLE_SIZE);
        for (number, case) in story.cases.iter().enumerate() {
            if let Some(size) = case.header_table_size {
                decoder.set_size_limit(size);
            }
            let expected: Fields = case
                .headers
                .iter()
                .flatten()
                .map(|(name, value)| (name.clone().into(), value.clone().into()))
                .collect();
            let got = decoded(&mut decoder, &hex(&case.wire));
            assert_eq!(got, Ok(expected), "{}, case {number}", path.display());
        }
    }
}

#[test]
fn what_was_encoded_of_them_is_decoded() {
    for (path, story) in stories() {
        let (mut encoder, mut decoder) = (Encoder::new(DEFAULT_TABLE_SIZE), Decoder::new(DEFAULT_TABLE_SIZE));
        for (number, case) in story.cases.iter().enumerate() {
            if let Some(size) = case.header_table_size {
                encoder.set_size_limit(size);
                decoder.set_size_limit(size);
            }
            let mut block = Vec::new();
            encoder.begin_block(&mut block);
            let indexings = [Indexing::Incremental, Indexing::Without, Indexing::Never].into_iter().cycle();
            for ((name, value), indexing) in case.headers.iter().flatten().zip(indexings.skip(number)) {
                encoder.encode(name.as_bytes(), value.as_bytes(), indexing, &mut block);
            }
            let expected: Fields = case
                .headers
                .iter()
                .flatten()
                .map(|(name, value)| (name.clone().into(), value.clone().into()))
                .collect();
            assert_eq!(decoded(&mut decoder, &block), Ok(expected), "{}, case {number}", path.display());
        }
    }
}

#[test]
fn malformed_blocks_are_refused() {
    for (block, error) in [
        ("80", DecodeError::Index),
        ("be", DecodeError::Index),
        ("7e 01 61", DecodeError::Index),
        ("ff", DecodeError::Truncated),
        ("ff ff ff ff ff ff 01", DecodeError::Number),
        ("40", DecodeError::Truncated),
        ("40 03 61 62", DecodeError::Truncated),
        ("40 01 61", DecodeError::Truncated),
        ("00 81 18 00", DecodeError::Huffman),
        ("40 01 61 84 ff ff ff ff", DecodeError::Huffman),
        ("3f e2 1f", DecodeError::TableSize),
        ("82 20", DecodeError::TableSizePlace),
    ] {
        assert_eq!(decoded(&mut Decoder::new(DEFAULT_TABLE_SIZE), &hex(block)), Err(error), "{block}");
    }
}

#[test]
fn a_smaller_limit_must_be_taken_note_of() {
    let mut decoder = Decoder::new(DEFAULT_TABLE_SIZE);
    decoder.set_size_limit(100);
    assert_eq!(decoded(&mut decoder, &hex("82")), Err(DecodeError::TableSizePlace));
    assert_eq!(decoded(&mut decoder, &hex("3f 45 82")).map(|fields| fields.len()), Ok(1), "to 100");
    assert_eq!(decoded(&mut decoder, &hex("3f 46 82")), Err(DecodeError::TableSize), "to 101");
    // A larger one may be used, or not.
    decoder.set_size_limit(200);
    assert_eq!(decoded(&mut decoder, &hex("82")).map(|fields| fields.len()), Ok(1));
}

#[test]
fn a_table_that_shrank_and_grew_again_says_both() {
    let mut encoder = Encoder::new(DEFAULT_TABLE_SIZE);
    let mut block = Vec::new();
    encoder.encode(b"a", b"b", Indexing::Incremental, &mut block);
    encoder.set_size_limit(0);
    encoder.set_size_limit(4096);
    block.clear();
    encoder.begin_block(&mut block);
    assert_eq!(block, hex("20 3f e1 1f"));
    block.clear();
    encoder.begin_block(&mut block);
    assert!(block.is_empty());
}

#[test]
fn an_encoder_that_wants_less_than_is_usual_says_so_at_once() {
    let mut block = Vec::new();
    Encoder::new(0).begin_block(&mut block);
    assert_eq!(block, hex("20"));
}

#[test]
fn a_small_block_cannot_become_an_endless_list() {
    // A large field, and then that again and again.
    let value = vec![b'\x01'; 3000];
    let mut block = Vec::new();
    Encoder::new(DEFAULT_TABLE_SIZE).encode(b"a", &value, Indexing::Incremental, &mut block);
    let field_size = 1 + value.len() + FIELD_OVERHEAD;
    block.extend_from_slice(&[0xbe; 5000]);
    let mut count = 0;
    let outcome = Decoder::new(DEFAULT_TABLE_SIZE).decode(&block, 64 * 1024, |_, _| count += 1);
    assert_eq!(outcome, Err(DecodeError::ListSize));
    assert_eq!(count, 64 * 1024 / field_size);
}

fn some_fields() -> impl Strategy<Value = Vec<(Vec<u8>, Vec<u8>, u8)>> {
    let name = prop::sample::select(vec![":path", ":method", "cookie", "a", "x-long-name"]);
    let value = prop_oneof![
        prop::sample::select(vec!["", "GET", "/", "value"]).prop_map(|text| text.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..80),
    ];
    prop::collection::vec((name.prop_map(|name| name.as_bytes().to_vec()), value, 0..3_u8), 0..12)
}

proptest! {
    #[test]
    fn both_ends_stay_in_step(blocks in prop::collection::vec((some_fields(), prop::option::of(0..300_u32)), 0..20)) {
        let (mut encoder, mut decoder) = (Encoder::new(DEFAULT_TABLE_SIZE), Decoder::new(DEFAULT_TABLE_SIZE));
        for (fields, size) in blocks {
            if let Some(size) = size {
                encoder.set_size_limit(size);
                decoder.set_size_limit(size);
            }
            let mut block = Vec::new();
            encoder.begin_block(&mut block);
            for (name, value, indexing) in &fields {
                let indexing = [Indexing::Incremental, Indexing::Without, Indexing::Never][usize::from(*indexing)];
                encoder.encode(name, value, indexing, &mut block);
            }
            let expected: Fields = fields.into_iter().map(|(name, value, _)| (name, value)).collect();
            prop_assert_eq!(decoded(&mut decoder, &block), Ok(expected));
        }
    }

    #[test]
    fn no_block_is_too_odd(blocks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..8)) {
        let mut decoder = Decoder::new(DEFAULT_TABLE_SIZE);
        for block in blocks {
            let mut size = 0;
            let outcome = decoder.decode(&block, 4096, |name, value| size += name.len() + value.len() + 32);
            prop_assert!(size <= 4096);
            prop_assert!(outcome.is_err() || outcome == Ok(size));
        }
    }
}
