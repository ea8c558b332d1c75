//! Arbitrary bytes as a format and a log, and as a recording of each form: never a panic, every record has a method and
//! a target, and requests are in order of start.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    httperf_import::log::check_bytes(input);
    httperf_import::recording::check_bytes(input);
});
