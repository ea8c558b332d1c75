//! Arbitrary bytes as a server of HTTP/2: never a panic, the same events wherever they are cut, and no call lost.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| httperf_testkit::fuzz::check_replies(input));
