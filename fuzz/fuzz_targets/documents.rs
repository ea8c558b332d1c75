//! Saved documents with values replaced: never a panic or an endless loop in what is done with them, a run of the plan
//! included.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| httperf_testkit::documents::check_edits(input));
