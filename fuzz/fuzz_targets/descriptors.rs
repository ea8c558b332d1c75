//! Arbitrary bytes as a set of protobuf descriptors, and as what a server of gRPC says of itself: read or refused, never a panic.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| httperf_command_line::grpc::check_descriptors(input));
