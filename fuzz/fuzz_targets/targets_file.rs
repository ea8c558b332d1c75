//! Arbitrary bytes as a list of requests: never a panic, and what is read is the same when it is printed and read
//! again.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| httperf_plan::targets_file::check_printed(input));
