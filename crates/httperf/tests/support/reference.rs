//! Runs this program and the classic one side by side.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use httperf_testkit::skip;

/// The output of a program, and its exit status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    /// The same without the hints below messages, which the classic program does not give.
    pub(crate) fn without_hints(mut self) -> Self {
        let lines = self.stderr.lines().filter(|line| !line.starts_with("hint: "));
        self.stderr = lines.fold(String::new(), |text, line| text + line + "\n");
        self
    }

    pub(crate) fn echo_line(&self) -> &str {
        self.stdout.lines().next().unwrap_or_default()
    }
}

/// This program.
pub(crate) fn ours<S: AsRef<OsStr>>(argv: &[S], folder: &Path) -> Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_httperf"));
    // Messages of the option parser show the name as it was typed.
    command.arg0("httperf");
    outcome(command.args(argv), folder)
}

/// The classic program.
pub(crate) fn theirs<S: AsRef<OsStr>>(argv: &[S], folder: &Path) -> Outcome {
    let mut command = Command::new("timeout");
    let mut outcome = outcome(command.args(["10", "httperf"]).args(argv), folder);
    assert_ne!(outcome.status, 124, "the classic program ran into the time limit");
    // Debian's build always says that it cannot use all descriptors; this program can.
    outcome.stderr = outcome
        .stderr
        .lines()
        .filter(|line| !line.contains("FD_SETSIZE"))
        .fold(String::new(), |text, line| text + line + "\n");
    outcome
}

/// Returns whether the classic program, release 0.9.0, can be compared with. Reports it if not; on CI it has to be there.
pub(crate) fn is_installed() -> bool {
    // With the invalid option it prints its version and runs nothing.
    let version = Command::new("timeout").args(["10", "httperf", "-V", "--bogus"]).output();
    let installed = version.is_ok_and(|output| output.stdout.starts_with(b"httperf: httperf-0.9.0 "));
    if !installed {
        skip::lacking("the classic httperf");
    }
    installed
}

fn outcome(command: &mut Command, folder: &Path) -> Outcome {
    let output = command.current_dir(folder).env_remove("POSIXLY_CORRECT").output();
    let Output { status, stdout, stderr } = output.expect("the program can be started");
    Outcome {
        status: status.code().expect("the program ends by itself"),
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
    }
}
