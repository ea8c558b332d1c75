//! Programs under test, and running them: always in a directory of their own, always under a time limit.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::report::Report;

/// Names a binary to be tested in place of the one just built.
const UNDER_TEST: &str = "HTTPERF_UNDER_TEST";

/// How a reference introduces itself.
const REFERENCE_VERSION: &str = "httperf-0.9.0 ";

/// How often a running child is looked at.
const POLL: Duration = Duration::from_millis(2);

/// The program under test: the one just built, or what `HTTPERF_UNDER_TEST` names.
pub(crate) fn under_test() -> PathBuf {
    env::var_os(UNDER_TEST).map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_httperf")), PathBuf::from)
}

/// Whether the program under test is itself a reference, so that a table can be checked against it.
pub(crate) fn under_test_is_reference() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| is_reference(&under_test()))
}

/// The classic program, version 0.9.0, if the search path has it.
pub(crate) fn reference() -> Option<&'static Path> {
    static ANSWER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || {
        let path = env::var_os("PATH")?;
        env::split_paths(&path).map(|folder| folder.join("httperf")).find(|file| is_reference(file))
    };
    ANSWER.get_or_init(find).as_deref()
}

fn is_reference(program: &Path) -> bool {
    // `--help` because the classic program goes on to run a test after `--version`.
    let mut invocation = Invocation::new(program, ["--version", "--help"]);
    invocation.limit = Duration::from_secs(5);
    program.is_file()
        && invocation
            .run()
            .is_ok_and(|outcome| String::from_utf8_lossy(&outcome.stdout).contains(REFERENCE_VERSION))
}

/// A program with what it is given.
#[derive(Clone, Debug)]
pub(crate) struct Invocation {
    pub(crate) program: PathBuf,
    /// What the program is told that it is called.
    pub(crate) name: String,
    pub(crate) arguments: Vec<OsString>,
    /// Its directory, if it is not to be one of its own.
    pub(crate) folder: Option<PathBuf>,
    /// Folders in which it looks for programs, before those of the system.
    pub(crate) search_path: Vec<PathBuf>,
    /// Files that are in its directory.
    pub(crate) files: Vec<(String, Vec<u8>)>,
    /// It is killed after this long.
    pub(crate) limit: Duration,
    /// How many files it may have open.
    pub(crate) descriptors: Option<u32>,
    /// When it is sent a SIGINT.
    pub(crate) interrupt_after: Option<Duration>,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Code(i32),
    Signal(i32),
    /// It was killed because its time was over.
    TimedOut,
}

/// What came of running a program.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) exit: Exit,
    pub(crate) elapsed: Duration,
}

impl Invocation {
    pub(crate) fn new<A: Into<OsString>>(program: &Path, arguments: impl IntoIterator<Item = A>) -> Self {
        Self {
            program: program.to_owned(),
            name: "httperf".to_owned(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            folder: None,
            search_path: Vec::new(),
            files: Vec::new(),
            limit: Duration::from_secs(30),
            descriptors: None,
            interrupt_after: None,
        }
    }

    /// Runs the program to its end, or to that of its time.
    pub(crate) fn run(&self) -> std::io::Result<Outcome> {
        let own = tempfile::tempdir()?;
        let directory = self.folder.as_deref().unwrap_or(own.path());
        let (stdout, stderr) = (own.path().join(".stdout"), own.path().join(".stderr"));
        for (name, contents) in &self.files {
            fs::write(directory.join(name), contents)?;
        }
        let system = ["/usr/bin", "/bin"].map(PathBuf::from);
        let search_path = env::join_paths(self.search_path.iter().chain(&system))
            .map_err(|error| std::io::Error::new(std::io::ErrorKind::InvalidInput, error))?;
        let began = Instant::now();
        let mut child = Killed(
            self.command()
                .current_dir(directory)
                .env_clear()
                .env("PATH", search_path)
                .env("LC_ALL", "C")
                .stdin(Stdio::null())
                .stdout(File::create(&stdout)?)
                .stderr(File::create(&stderr)?)
                .spawn()?,
        );
        let exit = self.wait(&mut child.0, began)?;
        let elapsed = began.elapsed();
        drop(child);
        Ok(Outcome { stdout: fs::read(stdout)?, stderr: fs::read(stderr)?, exit, elapsed })
    }

    fn command(&self) -> Command {
        let mut command = match self.descriptors {
            None => {
                let mut command = Command::new(&self.program);
                command.arg0(&self.name);
                command
            }
            Some(limit) => {
                let mut command = Command::new("/bin/sh");
                command
                    .arg("-c")
                    .arg(format!("ulimit -n {limit} && exec \"$@\""))
                    .arg("sh")
                    .arg(&self.program);
                command
            }
        };
        command.args(&self.arguments);
        command
    }

    fn wait(&self, child: &mut Child, began: Instant) -> std::io::Result<Exit> {
        let mut interrupt_after = self.interrupt_after;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Exit::from(status));
            }
            let elapsed = began.elapsed();
            if interrupt_after.is_some_and(|due| elapsed >= due) {
                interrupt_after = None;
                kill_process(Pid::from_child(child), Signal::INT)?;
            }
            if elapsed >= self.limit {
                return Ok(Exit::TimedOut);
            }
            thread::sleep(POLL);
        }
    }
}

/// What a program printed on standard output.
pub(crate) fn stdout(outcome: &Outcome) -> String {
    String::from_utf8_lossy(&outcome.stdout).into_owned()
}

/// What a program printed on standard error.
pub(crate) fn stderr(outcome: &Outcome) -> String {
    String::from_utf8_lossy(&outcome.stderr).into_owned()
}

/// Returns messages without the verdict that a run on a busy machine ends with.
pub(crate) fn but_for_the_verdict(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.contains(": verdict: INVALID: "));
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// What came of running a program, as text.
#[derive(Clone, Debug)]
pub(crate) struct Finished {
    /// The program's name and its arguments.
    pub(crate) command: String,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) exit: Exit,
}

impl Finished {
    /// Runs a program that can be started.
    pub(crate) fn of(invocation: &Invocation) -> Self {
        let outcome = invocation.run().expect("the program can be started");
        Self {
            command: format!("{} {:?}", invocation.program.display(), invocation.arguments),
            stdout: stdout(&outcome),
            stderr: stderr(&outcome),
            exit: outcome.exit,
        }
    }

    /// The classic report at the beginning of this text has these values, as printed.
    #[track_caller]
    pub(crate) fn check_report(&self, text: &str, expected: &str) {
        let report = Report::parse(text).unwrap_or_else(|error| panic!("{error}: {self}"));
        for pair in expected.split_whitespace() {
            let (name, value) = pair.split_once('=').expect("a value is written NAME=VALUE");
            assert_eq!(report.text(name), value, "{name}: {self}");
        }
    }
}

impl fmt::Display for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}{}{:?}", self.command, self.stdout, self.stderr, self.exit)
    }
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, signal) => Self::Signal(signal.unwrap_or(0)),
        }
    }
}

/// A child that does not outlive the test, however that ends.
#[derive(Debug)]
pub(crate) struct Killed(pub(crate) Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // Both fail when the child has ended and was waited for, which is what is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
