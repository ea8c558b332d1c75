//! Arbitrary bytes as replies: never a panic, and the same events wherever they are cut.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: (&[u8], u8, u8)| httperf_testkit::fuzz::check_cuts(
    input.0,
    usize::from(input.1),
    input.2 % 4,
    input.2 & 4 != 0
));
