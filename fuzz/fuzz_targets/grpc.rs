//! Arbitrary bytes as a reply of gRPC: the same messages wherever they are cut, an outcome that can be shown, never a panic.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| httperf_testkit::fuzz::check_grpc(input));
