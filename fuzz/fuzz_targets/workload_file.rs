//! Arbitrary bytes as a workload file with the files that it names: never a panic, and a reason for every refusal.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| httperf_plan::workload_file::check_read(input));
