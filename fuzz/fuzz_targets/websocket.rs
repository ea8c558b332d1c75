//! Arbitrary bytes on a WebSocket: the same events wherever they are cut, never a panic.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| httperf_testkit::fuzz::check_websocket(input));
