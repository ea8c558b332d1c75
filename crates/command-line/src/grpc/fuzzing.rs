//! The check that fuzzing drives.

use prost_reflect::{DescriptorPool, MessageDescriptor};

use super::{files, messages, reflection};
use crate::args::GrpcData;

/// Values that are tried for each field of a message.
const VALUES: [&str; 12] = [
    "1",
    "-1.5",
    "true",
    "null",
    "\"\"",
    "\"AA==\"",
    "\"1s\"",
    "[]",
    "[1,\"a\"]",
    "{}",
    "{\"1\":1}",
    "{\"a\":{}}",
];

/// Messages, and fields of each, that are tried.
const TRIED_MAX: usize = 32;

/// Checks, for fuzzing, that bytes are read as a set of descriptors and as a server's description of itself, or refused, and that JSON
/// is encoded by what they describe, or refused.
pub fn check_descriptors(input: &[u8]) {
    if let Ok(found) = files::of_set(input) {
        let mut pool = DescriptorPool::new();
        if files::add(&mut pool, found).is_ok() {
            try_messages(&pool);
        }
    }
    if let Ok(pool) = reflection::read(input) {
        try_messages(&pool);
    }
}

fn try_messages(pool: &DescriptorPool) {
    let taken = pool
        .services()
        .flat_map(|service| service.methods().map(|method| method.input()).collect::<Vec<_>>());
    for message in taken.chain(pool.all_messages()).take(TRIED_MAX) {
        try_encoding("{}".to_owned(), &message);
        for field in message.fields().take(TRIED_MAX) {
            for value in VALUES {
                try_encoding(format!("{{{:?}:{value}}}", field.json_name()), &message);
            }
        }
    }
}

fn try_encoding(json: String, message: &MessageDescriptor) {
    let _ = messages::encoded(Some(&GrpcData::Text(json.into_bytes())), message);
}

#[cfg(test)]
mod tests {
    use prost::Message;
    use prost_reflect::prost_types::FileDescriptorSet;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::grpc::descriptors;

    /// A set with all that descriptors may have.
    fn set() -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.proto");
        let text = "syntax = \"proto2\"; package a;
            import \"google/protobuf/any.proto\"; import \"google/protobuf/timestamp.proto\";
            import \"google/protobuf/struct.proto\";
            enum Kind { NONE = 0; BIG = 1; reserved 5 to 9; }
            message M { required string text = 1; repeated int64 numbers = 2 [packed = true]; optional bytes data = 3;
              optional M inner = 4; optional Kind kind = 5 [default = BIG]; map<string, M> named = 6;
              oneof either { uint32 one = 7; double other = 8; } optional group G = 9 { optional bool yes = 1; }
              optional google.protobuf.Any any = 10; optional google.protobuf.Timestamp at = 11;
              optional google.protobuf.Struct json = 12; extensions 100 to 200; reserved 20 to 30; }
            extend M { optional string more = 100; }
            service S { rpc Call(M) returns (M); }";
        std::fs::write(&file, text).unwrap();
        let pool = descriptors::of_files(&[file.into()], &[]).unwrap();
        FileDescriptorSet { file: pool.file_descriptor_protos().cloned().collect() }.encode_to_vec()
    }

    #[test]
    fn damaged_descriptors_are_read_or_refused() {
        let whole = set();
        assert!(files::of_set(&whole).is_ok());
        check_descriptors(&whole);
        for seed in 0..if cfg!(debug_assertions) { 3_000 } else { 100_000 } {
            let mut random = Pcg64Mcg::seed_from_u64(seed);
            let mut damaged = whole.clone();
            for _ in 0..random.random_range(1..4) {
                let place = random.random_range(0..damaged.len());
                match random.random_range(0..4) {
                    0 => damaged[place] ^= 1 << random.random_range(0..8),
                    1 => damaged[place] = random.random_range(0..20),
                    2 => damaged[place] = random.random(),
                    _ => {
                        let from = random.random_range(0..damaged.len());
                        damaged[place] = damaged[from];
                    }
                }
            }
            check_descriptors(&damaged);
        }
    }
}
