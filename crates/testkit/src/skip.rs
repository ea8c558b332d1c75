//! Tests that cannot be carried out here.
//!
//! They pass, as Rust's test harness knows no other end, and are counted: each adds a line with its name and the reason
//! to the file that the environment variable `CHECKS_SKIPPED` names.

use std::env;
use std::fs::File;
use std::io::Write as _;
use std::thread;

/// Records that the calling test is skipped because this machine lacks something, such as a server.
///
/// # Panics
/// If the environment variable `CI` is set: on a build machine everything has to be there.
pub fn lacking(what: &str) {
    let is_build_machine = env::var_os("CI").is_some_and(|value| !value.is_empty());
    assert!(!is_build_machine, "{what} must be there where CI is set");
    record(&format!("{what} is not there"));
}

/// Records that the calling test is skipped because this machine lacks a program that no script installs for tests.
pub fn without(what: &str) {
    record(&format!("{what} is not there"));
}

/// Records that the calling test is skipped because other programs kept this machine too busy for what it measures.
pub fn disturbed(reason: &str) {
    record(reason);
}

/// Records that the calling test is skipped because it takes too long for every change.
pub fn unless_long() {
    record("it runs in `make test-long`");
}

fn record(reason: &str) {
    let thread = thread::current();
    let line = format!("{}: {reason}\n", thread.name().unwrap_or("a test"));
    print!("skipped: {line}");
    let Some(path) = env::var_os("CHECKS_SKIPPED") else { return };
    let file = File::options().append(true).create(true).open(&path);
    // One write for the line, since test programs may run at the same time.
    if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
        eprintln!("CHECKS_SKIPPED: cannot write {}: {error}", path.display());
    }
}
