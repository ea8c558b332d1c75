//! Arbitrary datagrams, and those of a server changed, cut, repeated, reordered and lost: a client of HTTP/3 never panics,
//! and never turns in circles.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    httperf_testkit::fuzz::check_datagrams(input);
});
