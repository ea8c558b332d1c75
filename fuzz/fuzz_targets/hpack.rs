//! Arbitrary bytes as header blocks and as fields: never a panic, and what is encoded is decoded.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| httperf_testkit::fuzz::check_blocks(input));
