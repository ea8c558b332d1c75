//! `httperf idleconn`, beside the program of the classic package.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use httperf_testkit::tcp::{free_port, listen};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::program::under_test;
use crate::support::running::find;

/// Limit for events that are due at once.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that says nothing. It keeps its connections.
struct Silent {
    port: u16,
    kept: Arc<Mutex<Vec<TcpStream>>>,
}

impl Silent {
    fn start() -> Self {
        let (listener, port) = listen();
        let kept = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&kept);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                all.lock().unwrap().push(stream);
            }
        });
        Self { port, kept }
    }

    /// Waits for a number of connections.
    fn wait_for(&self, count: usize) {
        let began = Instant::now();
        while self.kept.lock().unwrap().len() < count {
            assert!(began.elapsed() < PATIENCE, "{} connections", self.kept.lock().unwrap().len());
            thread::sleep(Duration::from_millis(5));
        }
    }
}

fn start(program: impl AsRef<Path>, words: &[&str]) -> Child {
    let mut command = Command::new(program.as_ref());
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn end(child: Child, signal: Signal) -> (Output, String) {
    kill_process(Pid::from_child(&child), signal).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    (output, text)
}

/// The last line of the program, with a number for the rate.
fn totals(text: &str) -> (u64, f64) {
    let last = text.lines().last().unwrap();
    let rest = last.strip_prefix("idleconn: total # conn. created = ").unwrap_or_else(|| panic!("{text}"));
    let (created, rate) = rest.split_once(", close() rate = ").unwrap_or_else(|| panic!("{text}"));
    (created.parse().unwrap(), rate.strip_suffix(" conn/sec").unwrap().parse().unwrap())
}

#[test]
fn connections_that_a_server_closes_are_opened_again() {
    let classic = find("idleconn");
    for (program, words) in [(Some(under_test()), &["idleconn"][..]), (classic, &[])]
        .into_iter()
        .filter_map(|(program, words)| Some((program?, words)))
    {
        let server = Silent::start();
        let port = server.port.to_string();
        let child = start(&program, &[words, &["127.0.0.1", &port, "30"]].concat());
        server.wait_for(30);
        // Closes some, and says something on another: it is no longer idle.
        server.kept.lock().unwrap().drain(..10);
        server.kept.lock().unwrap()[0].write_all(b"hello").unwrap();
        server.wait_for(31);
        let (output, text) = end(child, Signal::INT);
        assert_eq!(output.status.code(), Some(0), "{program:?}: {text}");
        assert!(text.starts_with("idleconn: creating and maintaining 30 idle connections\n"), "{text}");
        let (created, rate) = totals(&text);
        // The last one may just have arrived.
        assert!((40..=41).contains(&created) && rate > 0.0, "{program:?}: {text}");
    }
}

#[test]
fn a_server_that_is_not_there_is_asked_again() {
    let port = free_port();
    let mut child = start(under_test(), &["idleconn", "127.0.0.1", &port.to_string(), "5"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert_eq!(next(), "idleconn: creating and maintaining 5 idle connections");
    assert_eq!(next(), "connect: Connection refused");
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let kept: Vec<TcpStream> = (0..5).map(|_| listener.accept().unwrap().0).collect();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let last = lines.map(Result::unwrap).last().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let created = totals(&last).0;
    // The last one may just have arrived.
    assert!((4..=5).contains(&created), "{last}");
    drop(kept);
}

#[test]
fn it_is_found_by_the_name_of_the_classic_program_too_and_ends_when_asked_to() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("idleconn");
    symlink(under_test(), &link).unwrap();
    let server = Silent::start();
    let output = start(&link, &["--duration=500ms", "localhost", &server.port.to_string(), "3"]);
    let output = output.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!((output.status.code(), totals(&text)), (Some(0), (3, 0.0)), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn what_is_wrong_is_said_in_a_sentence() {
    for (words, expected) in [
        (&["a"][..], "expected a server, a port and a number of connections, got `a`"),
        (&["127.0.0.1", "x", "3"], "expected a port from 1 to 65535, got `x`"),
        (&["127.0.0.1", "0", "3"], "expected a port from 1 to 65535, got `0`"),
        (&["127.0.0.1", "80", "-3"], "expected a number of connections from 1 to 4294967295, got `-3`"),
        (&["no.such.invalid", "80", "3"], "invalid server address no.such.invalid"),
    ] {
        let words = [&["idleconn", "--"], words].concat();
        let mut child = start(under_test(), &words);
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(255), "{words:?}");
        assert_eq!(said.lines().next(), Some(&format!("httperf idleconn: {expected}")[..]), "{said}");
    }
    for (words, expected) in [
        (&[][..], "expected a server, a port and a number of connections, got none"),
        (&["127.0.0.1", "80", "-5"], "expected a number of connections from 1 to 4294967295, got `-5`"),
        (&["-5"], "expected a number of connections from 1 to 4294967295, got `-5`"),
    ] {
        let output = start(under_test(), &[&["idleconn"], words].concat()).wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(255), "{words:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), format!("httperf idleconn: {expected}\n"));
    }
    let output =
        start(under_test(), &["idleconn", "--duration=0", "a", "1", "1"]).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--duration: expected a time above 0, got `0`"));
}
