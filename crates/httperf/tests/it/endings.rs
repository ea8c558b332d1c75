//! How a run ends from outside: by signals, and by a reader of its output that leaves.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use httperf_testkit::server::{Behaviour, Server};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::support::program::{Killed, but_for_the_verdict, under_test};
use crate::support::report::Report;

/// How long something that is expected may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A run of 50 connections a second against this server, for much longer than a test waits.
fn load(server: &Server, options: &[&str]) -> Command {
    let mut command = Command::new(under_test());
    let port = format!("--port={}", server.port());
    command.args(["--server=127.0.0.1", &port, "--rate=50", "--num-conns=100000", "--timeout=60"]);
    command.args(options).stdin(Stdio::null());
    command
}

/// A run that goes on.
struct Going {
    child: Killed,
    /// Where its output goes.
    folder: tempfile::TempDir,
}

impl Going {
    /// Starts a command, and waits until the server has seen a connection.
    fn start(mut command: Command, server: &Server) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = |name| File::create(folder.path().join(name)).unwrap();
        let child = command.stdout(file("stdout")).stderr(file("stderr")).process_group(0).spawn().unwrap();
        let going = Self { child: Killed(child), folder };
        wait_until("a connection", || !server.connections().is_empty());
        going
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child.0)
    }

    /// Its exit status and what it printed.
    fn end(mut self) -> (Option<i32>, String) {
        let status = wait(&mut self.child.0);
        (status, fs::read_to_string(self.folder.path().join("stdout")).unwrap())
    }
}

#[track_caller]
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "not seen: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// The exit status; `None` if a signal killed it.
#[track_caller]
fn wait(child: &mut Child) -> Option<i32> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        assert!(began.elapsed() < PATIENCE, "it does not end");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_signal_ends_the_run_with_a_report_and_a_status_that_names_it() {
    for (signal, status) in [(Signal::INT, 0), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let server = Server::start(Behaviour::ok()).unwrap();
        let run = Going::start(load(&server, &[]), &server);
        kill_process(run.pid(), signal).unwrap();
        let (code, printed) = run.end();
        assert_eq!(code, Some(status), "{signal:?}: {printed}");
        assert!(Report::parse(&printed).unwrap().number("connections") >= 1.0, "{signal:?}");
    }
}

#[test]
fn a_search_that_is_ended_before_it_knows_anything_has_the_status_of_its_signal() {
    for (signal, status) in [(Signal::INT, 2), (Signal::TERM, 143), (Signal::HUP, 129)] {
        for words in
            [&["capacity", "--slo=p50<10s", "--trial-min=60", "--trial-max=60"][..], &["ab", "--trial=60"]]
        {
            let server = Server::start(Behaviour::ok()).unwrap();
            let mut command = Command::new(under_test());
            let url = format!("http://127.0.0.1:{}/", server.port());
            command.args(words).arg(&url).stdin(Stdio::null());
            if words[0] == "ab" {
                command.arg(&url);
            }
            let run = Going::start(command, &server);
            kill_process(run.pid(), signal).unwrap();
            let (code, printed) = run.end();
            assert_eq!(code, Some(status), "{words:?}, {signal:?}: {printed}");
        }
    }
}

#[test]
fn a_hangup_that_the_run_was_started_to_ignore_stays_ignored() {
    let server = Server::start(Behaviour::delayed(Duration::from_millis(300))).unwrap();
    let mut command = Command::new("/bin/sh");
    let port = format!("--port={}", server.port());
    let script = "trap '' HUP; exec \"$@\"";
    command.args(["-c", script, "sh"]).arg(under_test());
    command.args(["--server=127.0.0.1", &port, "--num-conns=4", "--timeout=60"]);
    let run = Going::start(command, &server);
    kill_process(run.pid(), Signal::HUP).unwrap();
    let (code, printed) = run.end();
    assert_eq!(code, Some(0), "{printed}");
    assert_eq!(Report::parse(&printed).unwrap().number("replies"), 4.0);
}

#[test]
fn the_same_signal_twice_at_once_is_one_request_for_the_end() {
    for number in 0..40 {
        let server = Server::start(Behaviour::ok()).unwrap();
        let run = Going::start(load(&server, &[]), &server);
        // As `timeout` does it: to the program, and to its group.
        kill_process(run.pid(), Signal::TERM).unwrap();
        thread::sleep(Duration::from_micros(100 * number));
        kill_process_group(run.pid(), Signal::TERM).unwrap();
        let (code, printed) = run.end();
        assert_eq!(code, Some(143), "{printed}");
        Report::parse(&printed).unwrap();
    }
}

#[test]
fn runs_that_timeout_ends_print_their_reports() {
    let server = Server::start(Behaviour::ok()).unwrap();
    let ended = |_| {
        let run = load(&server, &[]);
        let mut command = Command::new("timeout");
        let output = command.arg("2").arg(run.get_program()).args(run.get_args()).output().unwrap();
        assert_eq!(output.status.code(), Some(124), "{output:?}");
        Report::parse(&String::from_utf8_lossy(&output.stdout))
            .unwrap_or_else(|error| panic!("{error}: {output:?}"));
    };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..5).for_each(ended));
        }
    });
}

/// A run whose output nobody reads, so that it waits for that and cannot end in order.
fn stuck(server: &Server) -> (Killed, ChildStdout) {
    let mut command = load(server, &["--print-reply", "--num-calls=10000", "--burst-length=100"]);
    let mut child = Killed(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let pipe = child.0.stdout.take().unwrap();
    let filled = || rustix::io::ioctl_fionread(&pipe).unwrap();
    wait_until("output", || filled() > 0);
    // The pipe is full when no more comes.
    let (mut size, mut since) = (filled(), Instant::now());
    while since.elapsed() < Duration::from_millis(500) {
        if filled() != size {
            (size, since) = (filled(), Instant::now());
        }
        thread::sleep(Duration::from_millis(10));
    }
    (child, pipe)
}

#[test]
fn a_second_interrupt_after_a_while_ends_it_at_once() {
    let server = Server::start(Behaviour::ok()).unwrap();
    // A machine that is very busy may make more of the time between the first two than there is to be.
    let is_checked = (0..5).any(|_| {
        let (mut child, _pipe) = stuck(&server);
        let pid = Pid::from_child(&child.0);
        let began = Instant::now();
        kill_process(pid, Signal::INT).unwrap();
        thread::sleep(Duration::from_millis(50));
        kill_process(pid, Signal::INT).unwrap();
        let is_soon = began.elapsed() < Duration::from_millis(300);
        thread::sleep(Duration::from_secs(1));
        let goes_on = child.0.try_wait().unwrap().is_none();
        assert!(goes_on || !is_soon, "two right behind each other were taken for more than one request");
        if goes_on {
            kill_process(pid, Signal::INT).unwrap();
        }
        assert_eq!(wait(&mut child.0), None, "it is as if the signal had not been handled");
        is_soon
    });
    assert!(is_checked);
}

#[test]
fn a_signal_in_the_drain_ends_it_as_before() {
    let server = Server::start(Behaviour::stall()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let log_option = format!("--interval-log={}", log.display());
    let run = Going::start(load(&server, &["--duration=1", "--drain=50", &log_option]), &server);
    let has_drained = || fs::read_to_string(&log).is_ok_and(|lines| lines.contains("\"drain\""));
    wait_until("a second of the drain", has_drained);
    kill_process(run.pid(), Signal::TERM).unwrap();
    let (code, printed) = run.end();
    assert_eq!(code, Some(143), "{printed}");
    assert_eq!(Report::parse(&printed).unwrap().number("replies"), 0.0);
}

/// Runs a command whose output nobody reads.
fn unread(command: &mut Command) -> Output {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let child = command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    let mut child = Killed(child);
    let code = wait(&mut child.0);
    assert!(code.is_some(), "{command:?}");
    let mut stderr = Vec::new();
    child.0.stderr.take().unwrap().read_to_end(&mut stderr).unwrap();
    Output { status: child.0.wait().unwrap(), stdout: Vec::new(), stderr }
}

/// Returns the messages of a run, the verdict of a busy machine aside.
fn said(output: &Output) -> String {
    but_for_the_verdict(&String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_reader_that_leaves_early_is_no_error_of_the_run() {
    let server = Server::start(Behaviour::ok()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let given = |option: &str, name: &str| format!("--{option}={}", file(name).display());
    let files = [
        given("output", "run.json"),
        given("csv", "run.csv"),
        given("html", "run.html"),
        given("calls", "calls.csv"),
    ];
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    for options in [&files[..], &["--print-reply", "-v"], &["--output=-"], &["--report=full"]] {
        let mut command = Command::new(under_test());
        let port = format!("--port={}", server.port());
        let output = unread(command.args(["--server=127.0.0.1", &port, "--num-conns=5"]).args(options));
        assert_eq!((output.status.code(), &said(&output)[..]), (Some(0), ""), "{options:?}");
    }
    let rows = fs::read_to_string(file("calls.csv")).unwrap();
    assert_eq!(rows.lines().count(), 6, "{rows}");
    for name in ["run.json", "run.csv", "run.html"] {
        assert!(fs::metadata(file(name)).unwrap().len() > 0, "{name}");
    }

    // Nor is it one of the commands that take results up again.
    let document = file("run.json");
    for words in [
        &["report"][..],
        &["report", "--format=html"],
        &["merge"],
        &["plot"],
        &["compare", "--force", document.to_str().unwrap()],
        &["rerun"],
    ] {
        let output = unread(Command::new(under_test()).args(words).arg(&document));
        let expected = if words[0] == "compare" { 2 } else { 0 };
        assert_eq!((output.status.code(), &said(&output)[..]), (Some(expected), ""), "{words:?}");
    }
}

#[test]
fn nor_is_it_one_of_commands_that_make_several_runs() {
    let server = Server::start(Behaviour::ok()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let url = format!("http://127.0.0.1:{}/", server.port());
    let sweep = format!("--output={}", folder.path().join("sweep.json").display());
    for (words, statuses) in [
        (&["sweep", &url, "--rates=50", "--num-conns=5", "--settle=0", &sweep][..], &[0][..]),
        // With so few trials nothing can be told.
        (
            &[
                "capacity",
                &url,
                "--slo=p50<10s",
                "--trials=1",
                "--trial-min=0.1",
                "--trial-max=0.1",
                "--max-rate=50",
                "--pause=0",
            ],
            &[0, 2],
        ),
        (&["ab", &url, &url, "--rounds=1", "--force", "--trial=0.1", "--warmup=0", "--concurrency=1"], &[2]),
        (&["doctor"], &[0, 2]),
    ] {
        let output = unread(Command::new(under_test()).args(words));
        let status = output.status.code().unwrap();
        assert!(statuses.contains(&status), "{words:?}: {status}");
        assert_eq!(said(&output).find("cannot write"), None, "{words:?}");
    }
    assert!(fs::metadata(folder.path().join("sweep.json")).unwrap().len() > 0);
}

/// A socket that is not there is counted and reported, as a port that refuses connections is.
#[test]
fn a_socket_that_is_not_there_is_named_with_the_reason() {
    let mut command = Command::new(under_test());
    let output =
        command.args(["--unix-socket=/no/such/socket", "--num-conns=2", "--report=full"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let (printed, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(said, "httperf: connection failed with unexpected error 2 (No such file or directory)\n",);
    let printed = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(printed.contains("/no/such/socket does not exist (2 of 2). Is the socket there,"), "{printed}");
}

#[test]
fn a_full_disk_is_still_an_error_of_the_run() {
    let server = Server::start(Behaviour::ok()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let document = folder.path().join("run.json");
    let run = |stdout: Stdio| {
        let mut command = Command::new(under_test());
        let port = format!("--port={}", server.port());
        let output = format!("--output={}", document.display());
        command.args(["--server=127.0.0.1", &port, &output]).stdout(stdout).output().unwrap()
    };
    assert!(run(Stdio::null()).status.success());
    let full = || Stdio::from(File::options().write(true).open(Path::new("/dev/full")).unwrap());
    let report = || {
        let mut command = Command::new(under_test());
        command.arg("report").arg(&document).stdout(full()).output().unwrap()
    };
    for output in [run(full()), report()] {
        assert_eq!(output.status.code(), Some(1));
        assert!(
            said(&output).ends_with("cannot write to standard output: No space left on device (os error 28)")
        );
    }
}
