//! Arbitrary courses of a meeting of ranks: strangers, damaged messages, ranks that come and go. Never a panic, and nobody who
//! does not know the secret is heard.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| httperf_fleet::fuzzing::check_meeting(input));
