//! Arbitrary bytes as frames of HTTP/3: never a panic, and the same frames wherever they are cut.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| httperf_proto::http3::check_frames(input));
