//! Every piece of the bench works, and calls take no more instructions than recorded. How quick anything is does not
//! matter here, so both tests can run at the same time.

use std::path::Path;
use std::process::Command;

#[test]
fn every_bench_works() {
    let bench = Path::new(env!("CARGO_BIN_EXE_httperf-bench"));
    let mut command = Command::new(bench);
    command.arg("smoke");
    // The program that the other tests run. Without it, when the tests of this crate alone are run, the bench builds one.
    let program = bench.with_file_name("httperf");
    if program.exists() {
        command.env("HTTPERF_BIN", program);
    }
    succeeds(&mut command);
}

#[test]
fn calls_take_no_more_instructions_than_recorded() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_httperf-bench"));
    succeeds(command.args(["instructions", "--dev", "--check"]).env_remove("HTTPERF_BIN"));
}

/// Runs a program to its end; its output appears only if it fails, or with `--nocapture`.
fn succeeds(command: &mut Command) {
    let output = command.output().expect("the bench can be started");
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    println!("{stdout}");
    assert!(output.status.success(), "{stderr}");
}
