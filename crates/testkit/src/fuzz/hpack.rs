//! Header compression: no block is too odd, and what is encoded is decoded.

use httperf_proto::http2::hpack::{DEFAULT_TABLE_SIZE, Decoder, Encoder, FIELD_OVERHEAD, Indexing};

type Fields = Vec<(Vec<u8>, Vec<u8>)>;

/// The largest list of fields.
const LIST_SIZE_MAX: usize = 4096;

/// In place of the size of a block, the mark of a size for the tables.
const RESIZE: u16 = u16::MAX;

/// Decodes the input as header blocks, encodes what is in them and what is between them, and decodes that again. The
/// size of each block precedes it, in two bytes.
///
/// # Panics
/// If a list is larger than allowed, or what was encoded is not decoded.
pub fn check_blocks(mut input: &[u8]) {
    let mut decoder = Decoder::new(DEFAULT_TABLE_SIZE);
    let (mut encoder, mut back) = (Encoder::new(DEFAULT_TABLE_SIZE), Decoder::new(DEFAULT_TABLE_SIZE));
    let mut is_broken = false;
    while let Some((&size, rest)) = input.split_first_chunk() {
        let size = u16::from_be_bytes(size);
        if size == RESIZE {
            let Some((&limit, rest)) = rest.split_first_chunk() else { return };
            let limit = u32::from(u16::from_be_bytes(limit));
            decoder.set_size_limit(limit);
            encoder.set_size_limit(limit);
            back.set_size_limit(limit.min(DEFAULT_TABLE_SIZE));
            input = rest;
            continue;
        }
        let (block, rest) = rest.split_at(rest.len().min(size.into()));
        input = rest;
        if !is_broken {
            let (fields, outcome) = decode(&mut decoder, block);
            is_broken = outcome.is_none();
            check_encoded(&mut encoder, &mut back, &fields);
        }
        check_encoded(&mut encoder, &mut back, &fields_in(block));
    }
}

/// The fields of a block as far as it can be decoded, and the size of the list if all of it can.
fn decode(decoder: &mut Decoder, block: &[u8]) -> (Fields, Option<usize>) {
    let mut fields = Fields::new();
    let outcome =
        decoder.decode(block, LIST_SIZE_MAX, |name, value| fields.push((name.to_vec(), value.to_vec())));
    let size = fields.iter().map(|(name, value)| name.len() + value.len() + FIELD_OVERHEAD).sum::<usize>();
    assert!(size <= LIST_SIZE_MAX);
    assert!(outcome.is_err() || outcome == Ok(size));
    (fields, outcome.ok())
}

fn check_encoded(encoder: &mut Encoder, decoder: &mut Decoder, fields: &Fields) {
    let mut block = Vec::new();
    encoder.begin_block(&mut block);
    for (name, value) in fields {
        let indexing = match name.len() + value.len() {
            size if size % 7 == 0 => Indexing::Never,
            size if size % 5 == 0 => Indexing::Without,
            _ => Indexing::Incremental,
        };
        encoder.encode(name, value, indexing, &mut block);
    }
    let mut decoded = Fields::new();
    let outcome =
        decoder.decode(&block, usize::MAX, |name, value| decoded.push((name.to_vec(), value.to_vec())));
    assert!(outcome.is_ok() && decoded == *fields, "{outcome:?}: {fields:?} became {decoded:?}");
}

/// Arbitrary bytes as fields: each ends at a zero, its name at a colon.
fn fields_in(bytes: &[u8]) -> Fields {
    let field = |field: &[u8]| {
        let colon = field.iter().position(|&byte| byte == b':').unwrap_or(field.len());
        (field[..colon].to_vec(), field[colon..].to_vec())
    };
    bytes.split(|&byte| byte == 0).map(field).collect()
}
