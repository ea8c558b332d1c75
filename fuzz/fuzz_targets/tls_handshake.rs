//! Arbitrary bytes in place of a server's side of TLS: never a panic, never a wait for nothing.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| httperf_testkit::fuzz::check_garbage(input));
