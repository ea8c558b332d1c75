//! Every piece of the bench works. How quick anything is does not matter here.

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
    let output = command.output().expect("the bench can be started");
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(output.status.success(), "{stdout}{stderr}");
}
