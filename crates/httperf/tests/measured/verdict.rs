//! The verdict on real runs, several of each kind: none of them may be wrong.
//!
//! A machine that is busy with other things spoils runs, and a verdict that says so is right. So a probe on the same
//! machine sleeps and wakes up while they go on: where it was late too, the run that was to be valid may be suspect.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::support::machine::{alone, is_long};
use crate::support::program::{Invocation, under_test};
use crate::support::words;
use httperf_testkit::skip;
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde_json::Value;

/// Runs of each kind.
const RUNS: usize = 3;

/// Runs of each kind in the long form.
const RUNS_LONG: usize = 20;

fn runs() -> usize {
    if is_long() { RUNS_LONG } else { RUNS }
}

/// `httperf serve` on a processor of its own, where there are two.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start() -> Self {
        let mut child = on_processor(1)
            .arg(under_test())
            .args(["serve", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("taskset and the program can be started");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("it is a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("it says where it listens");
        let port = line.trim_end_matches("/\n").rsplit(':').next().and_then(|port| port.parse().ok());
        Self { child, port: port.expect("it names its port") }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has not ended by itself, and whether it can be killed does not matter any more.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What starts a program on one processor.
fn on_processor(wanted: usize) -> Command {
    let count = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut command = Command::new("taskset");
    command.args(["-c", &(wanted % count).to_string()]);
    command
}

/// Sleeps and wakes up, a thousand times a second, and remembers how late it was.
struct Probe {
    began: Instant,
    pressure: Option<Duration>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Duration>>,
}

impl Probe {
    fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            // Where the generator is.
            let mut first = CpuSet::new();
            first.set(0);
            sched_setaffinity(None, &first).expect("there is a first processor");
            let mut late = Vec::new();
            let mut due = Instant::now();
            while !asked.load(Ordering::Relaxed) {
                due += Duration::from_millis(1);
                thread::sleep(due.saturating_duration_since(Instant::now()));
                late.push(due.elapsed());
            }
            late
        });
        Self { began: Instant::now(), pressure: cpu_pressure(), stop, thread }
    }

    /// Whether it was late by half a millisecond and more, once in two hundred times, or programs had to wait for a
    /// processor for a twentieth of the time.
    fn was_disturbed(self) -> bool {
        let waited = cpu_pressure().zip(self.pressure).map(|(now, before)| now.saturating_sub(before));
        let has_pressure = waited.is_some_and(|waited| waited * 20 > self.began.elapsed());
        self.stop.store(true, Ordering::Relaxed);
        let mut late = self.thread.join().expect("it does not panic");
        late.sort_unstable();
        has_pressure
            || late.get(late.len() * 995 / 1000).is_some_and(|late| *late > Duration::from_micros(500))
    }
}

/// For how long some program has waited for a processor since the machine was started, if Linux keeps account of it.
fn cpu_pressure() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/pressure/cpu").ok()?;
    let micros = text.lines().next()?.rsplit_once("total=")?.1.trim().parse().ok()?;
    Some(Duration::from_micros(micros))
}

/// Runs the program on the first processor, and returns its verdict.
fn verdict(port: u16, arguments: &str) -> Value {
    let program = under_test();
    let line = format!("-c 0 {} --server 127.0.0.1 --port {port} --output - {arguments}", program.display());
    let mut invocation = Invocation::new("/usr/bin/taskset".as_ref(), words(&line));
    invocation.limit = Duration::from_secs(60);
    let outcome = invocation.run().expect("taskset can be started");
    let document: Value = serde_json::from_slice(&outcome.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&outcome.stderr)));
    document["verdict"].clone()
}

/// Records the test as skipped if every run was disturbed, since it has shown nothing then.
fn count_disturbed(disturbed: usize) {
    if disturbed == runs() {
        skip::disturbed("other programs disturbed every run");
    } else {
        println!("{disturbed} of {} runs were disturbed", runs());
    }
}

fn codes(verdict: &Value) -> Vec<&str> {
    let reasons = verdict["reasons"].as_array().expect("a list");
    reasons.iter().filter_map(|reason| reason["code"].as_str()).collect()
}

#[test]
fn a_generator_that_is_asked_for_three_times_what_it_can_do_is_invalid() {
    let _alone = alone();
    let server = Server::start();
    for run in 0..runs() {
        // No processor opens 300,000 connections in a second.
        let verdict = verdict(server.port, "--rate 300000 --num-conns 10000000 --runtime 0.5 --timeout 1");
        assert_eq!(verdict["level"], "INVALID", "run {run}: {verdict}");
        // Unless a hypervisor or another program took the processor away, the generator needed all of it.
        let codes = codes(&verdict);
        let causes = ["client_cpu", "time_stolen", "paused"];
        assert!(causes.iter().any(|cause| codes.contains(cause)), "run {run}: {verdict}");
    }
}

#[test]
fn a_server_that_stands_still_for_a_second_leaves_the_run_valid_and_is_named() {
    let _alone = alone();
    let server = Server::start();
    let (mut disturbed, mut paused) = (0, 0);
    for run in 0..runs() {
        let probe = Probe::start();
        let verdict = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(400));
                server.signal(Signal::STOP);
                thread::sleep(Duration::from_secs(1));
                server.signal(Signal::CONT);
            });
            verdict(server.port, "--rate 200 --num-conns 100000 --runtime 2 --drain 5")
        });
        if probe.was_disturbed() {
            disturbed += 1;
            continue;
        }
        if codes(&verdict).contains(&"paused") {
            // A page that comes from the disk stops the generator and not the probe. It does not come every time.
            println!("run {run} was paused by itself: {verdict}");
            paused += 1;
            continue;
        }
        assert_eq!(verdict["level"], "VALID", "run {run}: {verdict}");
        let reasons = verdict["reasons"].as_array().expect("a list");
        let stall = reasons.iter().find(|reason| reason["code"] == "server_stall");
        let length = stall.and_then(|stall| stall["length_s"].as_f64()).unwrap_or_default();
        assert!((0.8..1.5).contains(&length), "run {run}: {verdict}");
    }
    assert!(paused <= runs() / 3, "{paused} of {} runs were paused, and the probe was not", runs());
    count_disturbed(disturbed);
}

#[test]
fn an_idle_machine_at_a_fifth_of_its_capacity_is_valid() {
    let _alone = alone();
    let server = Server::start();
    let mut disturbed = 0;
    for run in 0..runs() {
        let probe = Probe::start();
        let verdict = verdict(server.port, "--rate 1000 --num-conns 100000 --runtime 1.5 --drain 1");
        if probe.was_disturbed() {
            disturbed += 1;
        } else {
            assert_eq!(verdict["level"], "VALID", "run {run}: {verdict}");
        }
    }
    count_disturbed(disturbed);
}
