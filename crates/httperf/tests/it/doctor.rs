//! `httperf doctor` on the machine that the tests run on.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::process::{Command, Output};

use assert_cmd::cargo::cargo_bin;

fn doctor(arguments: &[&str]) -> Output {
    Command::new(cargo_bin("httperf")).arg("doctor").args(arguments).output().unwrap()
}

#[test]
fn what_little_needs_is_there_and_what_nobody_has_is_not() {
    let fit = doctor(&["--rate=1", "--connections=1"]);
    let text = String::from_utf8(fit.stdout).unwrap();
    assert!(text.starts_with("ok       open files "), "{text}");

    let unfit = doctor(&["--connections=1000000000000"]);
    assert_eq!(unfit.status.code(), Some(2));
    let text = String::from_utf8(unfit.stdout).unwrap();
    assert!(text.starts_with("problem  open files "), "{text}");
    assert!(text.contains("mended by: ulimit -n 1000000000050"), "{text}");
}

#[test]
fn what_means_nothing_is_refused_in_one_sentence() {
    let refused = doctor(&["--rate=fast"]);
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(refused.stderr, b"httperf doctor: --rate: expected a number above 0, got `fast`\n");
}
