//! Runs on several threads, closed loops and calls at a rate against servers that count, and a server that stands
//! still.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::machine::{alone, is_long, shared};
use crate::support::program::{Exit, Invocation, Killed, Outcome};
use crate::support::real_server::{Kind, RealServer, Settings};
use crate::support::words;
use httperf_testkit::skip;
use httperf_testkit::tcp::serve;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// How long any run may take.
const LIMIT: Duration = Duration::from_secs(60);

fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_httperf"))
}

/// A running `httperf serve`, and a folder for results.
struct Served {
    child: Killed,
    stdout: BufReader<ChildStdout>,
    port: u16,
    folder: TempDir,
}

/// What it counted.
#[derive(Debug)]
struct Counted {
    connections: u64,
    requests: u64,
    replies: u64,
}

impl Served {
    fn start() -> Self {
        let mut command = Command::new(program());
        command.args(["serve", "--listen=127.0.0.1:0"]).stdout(Stdio::piped());
        let mut child: Child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let port = line.trim_end_matches("/\n").rsplit(':').next().unwrap().parse().unwrap();
        Self { child: Killed(child), stdout, port, folder: tempfile::tempdir().unwrap() }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child.0), signal).unwrap();
    }

    fn run(&self, arguments: &str) -> Outcome {
        run(&self.folder, self.port, arguments)
    }

    /// Ends it.
    fn counted(mut self) -> Counted {
        self.signal(Signal::TERM);
        let mut text = String::new();
        self.stdout.read_to_string(&mut text).unwrap();
        let count = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.map_or(0, |rest| rest.trim().parse().unwrap())
        };
        Counted {
            connections: count("connections accepted "),
            requests: count("requests "),
            replies: count("replies "),
        }
    }
}

/// Runs the program; `@name` stands for a file in the folder.
fn run(folder: &TempDir, port: u16, arguments: &str) -> Outcome {
    invocation(folder, port, arguments).run().unwrap()
}

fn invocation(folder: &TempDir, port: u16, arguments: &str) -> Invocation {
    let arguments = arguments.replace('@', &format!("{}/", folder.path().display()));
    let line = format!("--server 127.0.0.1 --port {port} --timeout 10 --quiet {arguments}");
    Invocation { limit: LIMIT, ..Invocation::new(&program(), words(&line)) }
}

#[track_caller]
fn succeeds(outcome: &Outcome) -> String {
    assert_eq!(outcome.exit, Exit::Code(0), "{}", String::from_utf8_lossy(&outcome.stderr));
    String::from_utf8_lossy(&outcome.stdout).into_owned()
}

fn read(folder: &TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap()
}

fn document(folder: &TempDir) -> Value {
    serde_json::from_str(&read(folder, "r.json")).unwrap()
}

fn count(document: &Value, path: &str) -> u64 {
    document.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path} is no number"))
}

fn interval_counts(document: &Value, name: &str) -> u64 {
    let intervals = document["summary"]["series"]["intervals"].as_array().unwrap();
    intervals.iter().map(|interval| interval[name].as_u64().unwrap()).sum()
}

/// A row of `--calls`.
#[derive(Debug)]
struct Call {
    number: u64,
    due: String,
    connection: u64,
    uri: String,
}

fn calls(folder: &TempDir) -> Vec<Call> {
    let text = read(folder, "calls.csv");
    let calls = text.lines().skip(1).map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        let (number, due, connection, uri) = (fields[0], fields[1], fields[11], fields[13]);
        Call {
            number: number.parse().unwrap(),
            due: due.to_owned(),
            connection: connection.parse().unwrap(),
            uri: uri.to_owned(),
        }
    });
    calls.collect()
}

/// What each connection did: when its first call was due, and what its calls asked for.
fn by_connection(calls: &[Call]) -> BTreeSet<(String, Vec<String>)> {
    let mut connections: BTreeMap<u64, Vec<&Call>> = BTreeMap::new();
    for call in calls {
        connections.entry(call.connection).or_default().push(call);
    }
    connections
        .into_values()
        .map(|mut calls| {
            calls.sort_by(|a, b| a.due.cmp(&b.due).then(a.number.cmp(&b.number)));
            (calls[0].due.clone(), calls.iter().map(|call| call.uri.clone()).collect())
        })
        .collect()
}

/// Waits until nginx has logged so many requests: it does so a moment after the reply.
fn logged(server: &RealServer, expected: u64) -> Vec<(u64, String)> {
    let began = Instant::now();
    loop {
        let logged = server.logged();
        if logged.len() as u64 >= expected || began.elapsed() > Duration::from_secs(5) {
            return logged;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn any_number_of_threads_makes_the_same_calls_at_the_same_times() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let list: Vec<String> = (0..50).map(|number| format!("/small.txt?{number}")).collect();
    fs::write(folder.path().join("list"), list.join("\n")).unwrap();
    for (workload, is_pool) in [
        ("--period=e0.002 --num-conns=300", false),
        ("--period=e0.004 --num-conns=150 --num-calls=2", false),
        ("--wsess=100,4,0.01 --burst-length=2 --period=e0.005", false),
        ("--request-period=e0.002 --num-calls=300 --concurrency=9", true),
        ("--request-period=e0.002 --num-calls=300 --concurrency=7 --per-connection", true),
    ] {
        let mut first = None;
        for threads in [1, 2, 7] {
            let settings = Settings { has_log: true, ..Settings::default() };
            let Some(server) = RealServer::start(Kind::Nginx, settings) else { return };
            let arguments = format!(
                "{workload} --threads={threads} --wlog=y,@list --calls @calls.csv --output @r.json --client=3/8"
            );
            succeeds(&run(&folder, server.port(), &arguments));
            let (calls, document) = (calls(&folder), document(&folder));
            let what = format!("{workload} --threads={threads}");

            assert_eq!(calls.len() as u64, count(&document, "/summary/replies"), "{what}");
            assert_eq!(document["summary"]["usage"]["workers"].as_array().unwrap().len(), threads, "{what}");
            let numbers: BTreeSet<u64> = calls.iter().map(|call| call.number).collect();
            assert_eq!(numbers.len(), calls.len(), "{what}: numbers of calls are not unique");

            // Which connection of a pool takes a call depends on which is free.
            let made = if is_pool {
                calls.iter().map(|call| (call.due.clone(), vec![call.uri.clone()])).collect()
            } else {
                by_connection(&calls)
            };
            let mut asked: Vec<String> = calls.into_iter().map(|call| call.uri).collect();
            let mut seen: Vec<String> =
                logged(&server, asked.len() as u64).into_iter().map(|(_, uri)| uri).collect();
            asked.sort_unstable();
            seen.sort_unstable();
            assert_eq!(seen, asked, "{what}: the server saw other requests");
            assert_eq!(first.get_or_insert_with(|| (made.clone(), asked.clone())), &(made, asked), "{what}");
        }
    }
}

#[test]
fn both_ends_count_the_same() {
    let _shared = shared();
    let connections_of = |server: &RealServer, requests| {
        logged(server, requests).iter().map(|(connection, _)| *connection).collect::<BTreeSet<_>>().len()
            as u64
    };
    for (workload, connections, requests) in [
        ("--concurrency=4 --num-calls=25", 4, 100..=100),
        ("--concurrency=3 --num-conns=10 --num-calls=7", 10, 70..=70),
        ("--concurrency=2 --pipeline=4 --num-calls=40", 2, 80..=80),
        // A call on each connection every 50 ms at most; a machine that is very busy makes fewer.
        ("--concurrency=3 --duration=1 --call-pause=0.05 --drain=5", 3, 6..=63),
        ("--rate=200 --num-conns=50 --num-calls=4 --max-open=2", 50, 200..=200),
        ("--rate=200 --duration=0.5 --concurrency=3 --drain=5", 100, 100..=100),
        ("--request-rate=200 --duration=0.5 --concurrency=4 --drain=5", 4, 100..=100),
        ("--request-rate=400 --num-calls=101 --concurrency=4 --pipeline=2 --per-connection", 4, 101..=101),
    ] {
        for threads in ["", "--threads=2"] {
            let what = format!("{workload} {threads}");
            let arguments = format!("{what} --uri=/small.txt --output @r.json");
            let check = |document: &Value, at_server: (u64, u64)| {
                assert_eq!(
                    count(document, "/figures/errors"),
                    0,
                    "{what}: {}",
                    document["summary"]["errors"]
                );
                let here = (count(document, "/summary/connections"), count(document, "/summary/requests"));
                assert_eq!(here, at_server, "{what}: connections and requests, here and there");
                assert_eq!(count(document, "/summary/replies"), here.1, "{what}");
                assert_eq!(count(document, "/summary/series/intervals/0/failed_calls"), 0, "{what}");
                assert_eq!(here.0, connections, "{what}");
                assert!(requests.contains(&here.1), "{what}: {} requests", here.1);
            };
            let served = Served::start();
            succeeds(&served.run(&arguments));
            let result = document(&served.folder);
            let counted = served.counted();
            assert_eq!(counted.replies, counted.requests, "{what}");
            check(&result, (counted.connections, counted.requests));

            let settings = Settings { has_log: true, ..Settings::default() };
            let Some(server) = RealServer::start(Kind::Nginx, settings) else { continue };
            let folder = tempfile::tempdir().unwrap();
            succeeds(&run(&folder, server.port(), &arguments));
            let result = document(&folder);
            let requests = count(&result, "/summary/requests");
            let seen = logged(&server, requests).len() as u64;
            check(&result, (connections_of(&server, requests), seen));
        }
    }
}

#[test]
fn a_schedule_for_each_connection_gives_each_its_share() {
    let _shared = shared();
    let settings = Settings { has_log: true, ..Settings::default() };
    let Some(server) = RealServer::start(Kind::Nginx, settings) else { return };
    let folder = tempfile::tempdir().unwrap();
    let arguments = "--request-rate=400 --num-calls=102 --concurrency=5 --per-connection --threads=2";
    succeeds(&run(&folder, server.port(), arguments));
    let mut calls: BTreeMap<u64, u64> = BTreeMap::new();
    logged(&server, 102).iter().for_each(|(connection, _)| *calls.entry(*connection).or_default() += 1);
    let mut calls: Vec<u64> = calls.into_values().collect();
    calls.sort_unstable();
    assert_eq!(calls, [20, 20, 20, 21, 21]);
}

#[test]
fn processor_time_of_the_process_is_counted_once() {
    let _alone = alone();
    let served = Served::start();
    succeeds(&served.run("--concurrency=8 --duration=1.5 --threads=2 --output @r.json"));
    let usage = &document(&served.folder)["summary"]["usage"];
    let total = |cpu: &Value| cpu["user_ns"].as_u64().unwrap() + cpu["system_ns"].as_u64().unwrap();
    let process = Duration::from_nanos(total(&usage["cpu"]));
    let workers = Duration::from_nanos(
        usage["workers"].as_array().unwrap().iter().map(|worker| total(&worker["cpu"])).sum(),
    );
    // Beside the workers there is next to nothing.
    let slack = Duration::from_millis(100);
    assert!(process + slack >= workers && process <= workers * 3 / 2 + slack, "{process:?} of {workers:?}");
}

#[test]
fn lines_while_the_run_goes_on_are_sums_of_all_threads() {
    let _shared = shared();
    let served = Served::start();
    let text = succeeds(&served.run("--rate=100 --num-conns=620 --threads=2 -v --periodic-stats"));
    let rates: Vec<f64> = text
        .lines()
        .filter_map(|line| line.strip_prefix("reply-rate = "))
        .map(|rate| rate.trim().parse().unwrap())
        .collect();
    assert!(rates.len() == 1 && (60.0..=120.0).contains(&rates[0]), "{rates:?} in\n{text}");
    let seconds: Vec<(f64, u64)> = text
        .lines()
        .filter_map(|line| line.strip_prefix('[')?.split_once(" s] 200="))
        .map(|(second, rest)| (second.parse().unwrap(), rest.split_once(',').unwrap().0.parse().unwrap()))
        .collect();
    assert!((5..=6).contains(&seconds.len()), "{text}");
    assert!(seconds.is_sorted_by(|a, b| a.0 < b.0), "{text}");
    let shown: u64 = seconds.iter().map(|second| second.1).sum();
    assert!((400..=620).contains(&shown), "{text}");
    assert!(text.contains("\nPeriodic stats: 200=620 302=0\n"), "{text}");
}

#[test]
fn printed_requests_and_replies_are_whole_lines() {
    let _shared = shared();
    let served = Served::start();
    let options = "--concurrency=8 --num-conns=8 --num-calls=200 --threads=4 --print-request --print-reply";
    let text = succeeds(&served.run(options));
    let (printed, _) = text.split_once("Maximum connect burst length").unwrap();
    let mut summaries = [BTreeSet::new(), BTreeSet::new()];
    for line in printed.lines().skip(1) {
        let kind = line.get(..2).unwrap_or_default();
        let (number, _) = line.get(2..).and_then(|rest| rest.split_once(':')).expect(line);
        let number: u64 = number.parse().expect(line);
        assert!(["SH", "SB", "SS", "RH", "RB", "RS"].contains(&kind), "{line}");
        match kind {
            "SS" => assert!(summaries[0].insert(number), "{line}"),
            "RS" => assert!(summaries[1].insert(number), "{line}"),
            _ => {}
        }
    }
    assert_eq!(summaries.map(|summaries| summaries.len()), [1600, 1600]);
}

#[test]
fn what_is_said_once_in_a_run_is_said_once() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let port = serve(|_, mut stream| {
        let reply = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno number\r\n";
        // The client may go first.
        let _ = stream.write_all(reply).and_then(|()| stream.read(&mut [0; 1000]));
    });
    let outcome = run(&folder, port, "--rate=100 --num-conns=20 --threads=4");
    succeeds(&outcome);
    let text = String::from_utf8_lossy(&outcome.stderr);
    assert_eq!(text.matches("a reply could not be understood").count(), 1, "{text}");
}

#[test]
fn the_interval_log_has_a_row_for_each_second_of_all_threads() {
    let _shared = shared();
    let served = Served::start();
    succeeds(&served.run("--rate=200 --num-conns=700 --threads=2 --interval-log @log --output @r.json"));
    let rows: Vec<Value> =
        read(&served.folder, "log").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let from: BTreeSet<u64> = rows.iter().map(|row| (row["from_s"].as_f64().unwrap() * 1e3) as u64).collect();
    assert_eq!(from.len(), rows.len(), "a second has two rows");
    let document = document(&served.folder);
    assert_eq!(rows.len(), document["summary"]["series"]["intervals"].as_array().unwrap().len());
    for name in ["sent", "replies", "failed_calls"] {
        let sum: u64 = rows.iter().map(|row| row[name].as_u64().unwrap()).sum();
        assert_eq!(sum, interval_counts(&document, name), "{name}");
    }
    assert_eq!(interval_counts(&document, "replies"), 700);
}

#[test]
fn a_signal_ends_all_threads_and_they_report() {
    let _shared = shared();
    for (signal, exit) in [(Signal::INT, 0), (Signal::TERM, 143)] {
        let served = Served::start();
        let arguments = "--rate=200 --duration=50 --threads=3 --output @r.json";
        let line = arguments.replace('@', &format!("{}/", served.folder.path().display()));
        let began = Instant::now();
        let mut child = Killed(
            Command::new(program())
                .args(words(&format!("--server 127.0.0.1 --port {} --quiet {line}", served.port)))
                .stdout(Stdio::null())
                .spawn()
                .unwrap(),
        );
        thread::sleep(Duration::from_secs(1));
        kill_process(Pid::from_child(&child.0), signal).unwrap();
        let status = loop {
            match child.0.try_wait().unwrap() {
                Some(status) => break status,
                None => thread::sleep(Duration::from_millis(10)),
            }
            assert!(began.elapsed() < Duration::from_secs(30), "{signal:?} did not end it");
        };
        assert_eq!(status.code(), Some(exit), "{signal:?}");
        let document = document(&served.folder);
        assert_eq!(document["parts"][0]["ended_early"], "asked");
        assert_eq!(document["summary"]["usage"]["workers"].as_array().unwrap().len(), 3);
        let requests = count(&document, "/summary/requests");
        assert!(requests > 0);
        // Some may be on their way when it ends.
        assert!(served.counted().requests.abs_diff(requests) <= 20);
    }
}

#[test]
fn threads_that_cannot_be_set_up_end_the_run_with_a_sentence() {
    let _shared = shared();
    let served = Served::start();
    // Room for the first few.
    for descriptors in 12..18 {
        let mut invocation =
            invocation(&served.folder, served.port, "--rate=100 --num-conns=100 --threads=32");
        invocation.descriptors = Some(descriptors);
        let outcome = invocation.run().unwrap();
        let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
        assert_eq!(outcome.exit, Exit::Code(1), "{descriptors}: {said}");
        assert_eq!(said.lines().count(), 1, "{descriptors}: {said}");
        assert!(said.contains("Too many open files"), "{descriptors}: {said}");
    }
    assert_eq!(served.counted().requests, 0, "a part of the load was offered");
}

#[test]
fn a_result_runs_again_on_as_many_threads() {
    let _shared = shared();
    let served = Served::start();
    let file = |name: &str| served.folder.path().join(name).into_os_string();
    succeeds(&served.run("--rate=200 --num-conns=60 --threads=3 --output @r.json"));
    let rerun = |name: &str| {
        let arguments = ["rerun".into(), file(name), "--quiet".into(), "--output".into(), file("again.json")];
        Invocation { limit: LIMIT, ..Invocation::new(&program(), arguments) }.run().unwrap()
    };
    succeeds(&rerun("r.json"));
    let again: Value = serde_json::from_str(&read(&served.folder, "again.json")).unwrap();
    assert_eq!((again["plan"]["threads"].as_u64(), count(&again, "/summary/replies")), (Some(3), 60));
    assert_eq!(again["summary"]["usage"]["workers"].as_array().unwrap().len(), 3);

    let refused = [
        (0, "plan.threads: invalid value: integer `0`, expected a nonzero u32"),
        (61, "plan.threads: expected a number from 1 to 60, as no more threads have work, got 61"),
    ];
    for (threads, expected) in refused {
        let mut other = document(&served.folder);
        other["plan"]["threads"] = threads.into();
        fs::write(file("other.json"), other.to_string()).unwrap();
        let outcome = rerun("other.json");
        let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
        assert_eq!(outcome.exit, Exit::Code(1), "{said}");
        assert!(said.contains(expected), "{said}");
    }
    // A plan of a version that had no threads.
    let mut older = document(&served.folder);
    older["plan"].as_object_mut().unwrap().remove("threads").unwrap();
    fs::write(file("older.json"), older.to_string()).unwrap();
    succeeds(&rerun("older.json"));
    let again: Value = serde_json::from_str(&read(&served.folder, "again.json")).unwrap();
    assert_eq!(again["plan"]["threads"], Value::Null);
    assert_eq!(again["summary"]["usage"]["workers"].as_array().unwrap().len(), 1);
}

/// The stall test: calls at a rate over a pool, and a server that is stopped for a second of four, or of ten in the long
/// form.
mod stall {
    use httperf_stats::{Summary, Timing};

    use super::*;

    const RATE: u64 = 1000;
    const SECONDS: u64 = 4;
    const SECONDS_LONG: u64 = 10;

    const ATTEMPTS: usize = 3;

    /// A machine on which the generator waited for a processor for this share of the time was busy with other things,
    /// and then the server takes long to answer what has gathered.
    const DISTURBED_SHARE: f64 = 0.02;

    /// What came of a run.
    enum Outcome {
        AsExpected,
        /// It is off, and the machine was busy with other things.
        Disturbed,
        /// It is off, in words.
        Off(String),
    }

    fn attempt(options: &str, catch_up: f64) -> Outcome {
        let served = Served::start();
        let seconds = if is_long() { SECONDS_LONG } else { SECONDS };
        let rate = format!("--request-rate={RATE} --concurrency=8 --duration={seconds} --drain=10");
        let stopped = thread::scope(|scope| {
            let stopped = scope.spawn(|| {
                thread::sleep(Duration::from_millis(430 * seconds));
                served.signal(Signal::STOP);
                let began = Instant::now();
                thread::sleep(Duration::from_secs(1));
                served.signal(Signal::CONT);
                began.elapsed()
            });
            succeeds(&served.run(&format!("{rate} {options} --output @r.json")));
            stopped.join().unwrap()
        });
        let summary: Summary = serde_json::from_value(document(&served.folder)["summary"].clone()).unwrap();
        let arrivals = &summary.arrivals;
        assert_eq!((summary.replies, arrivals.due), (arrivals.started, RATE * seconds), "calls were dropped");
        assert_eq!(summary.errors.total(), 0);

        let mut off = Vec::new();
        if arrivals.started < arrivals.due {
            // A generator that overslept the end does not start what was due in its last moments.
            off.push(format!("{} calls were not made", arrivals.due - arrivals.started));
        }
        let completed = summary.completed();
        let ms = |timing: &Timing, share| timing.quantile(share).unwrap().as_secs_f64() * 1e3;
        // A call that is due in the stall waits for its end: latencies there are spread evenly over its length.
        let stall_ms = stopped.as_secs_f64() * 1e3;
        for quantile in [0.95, 0.99] {
            let beyond_ms = (1.0 - quantile) * seconds as f64 * 1e3;
            let (expected, measured) = (stall_ms - beyond_ms, ms(&completed.latency, quantile));
            if measured < 0.95 * expected || measured > (1.05 + catch_up) * expected {
                off.push(format!("latency at {quantile} is {measured:.1} ms, not {expected:.1} ms"));
            }
        }
        let service = ms(&completed.service, 0.95);
        if service >= 5.0 {
            off.push(format!("service at 0.95 is {service:.1} ms"));
        }
        let waited = summary.usage.workers.iter().map(|worker| worker.kept_waiting).max().unwrap_or_default();
        let is_disturbed = waited.as_secs_f64() >= DISTURBED_SHARE * seconds as f64;
        eprintln!("kept waiting for {waited:?}; off: {off:?}");
        match off.is_empty() {
            true => Outcome::AsExpected,
            false if is_disturbed => Outcome::Disturbed,
            false => Outcome::Off(off.join(", ")),
        }
    }

    /// `catch_up`: by which share of the stall latencies may be longer, as the server needs time to answer what came
    /// meanwhile.
    #[track_caller]
    fn check(options: &str, catch_up: f64) {
        let _alone = alone();
        let mut failures = Vec::new();
        for _ in 0..ATTEMPTS {
            match attempt(options, catch_up) {
                Outcome::AsExpected => return,
                Outcome::Disturbed => {}
                Outcome::Off(how) => failures.push(how),
            }
        }
        assert!(failures.is_empty(), "{failures:#?}");
    }

    #[test]
    fn a_server_that_stands_still_shows_in_the_latency_and_not_in_the_service_time() {
        check("", 0.0);
    }

    #[test]
    fn a_stall_shows_the_same_with_two_threads() {
        if !is_long() {
            return skip::unless_long();
        }
        check("--threads=2", 0.0);
    }

    #[test]
    fn a_stall_shows_the_same_over_http2() {
        if !is_long() {
            return skip::unless_long();
        }
        // Without optimisation the test server's HTTP/2 takes a while for a thousand requests.
        check("--http-version=2", 0.15);
    }
}
