//! Arbitrary bytes as instructions and field sections of HTTP/3: never a panic, the same fields wherever instructions are
//! cut, and what is encoded is decoded.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| httperf_proto::http3::check_qpack(input));
