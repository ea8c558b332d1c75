//! Arbitrary bytes as a Hurl file: never a panic, and places that are in the file.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| httperf_hurl::check::check_any(input));
