//! Arbitrary bytes as a format and a log: never a panic, and every record has a method and a target.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| httperf_import::log::check_bytes(input));
