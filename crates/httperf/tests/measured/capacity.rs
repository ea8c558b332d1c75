//! `httperf capacity` as a user meets it: against servers whose capacity is known, or can be, and with words that mean
//! nothing.
//!
//! A machine that is busy with other things spoils trials, and a search that says so is right: it is made again then.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::machine::{alone, is_long, shared};
use crate::support::program::{Exit, Invocation, Killed, Outcome, under_test};
use crate::support::real_server::{Kind, Limit, RealServer, Settings};
use crate::support::words;
use httperf_testkit::skip;
use httperf_testkit::tcp::{free_port, serve};
use serde_json::Value;

/// The number of attempts at a search that other programs spoil.
const ATTEMPTS: usize = 3;

/// Trials that are short, as a test is to be.
const SHORT: &str = "--trial-min .5 --trial-max 2 --pause .1";

/// `httperf serve`.
struct Served {
    child: Killed,
    port: u16,
}

impl Served {
    fn start(options: &[&str]) -> Self {
        let mut child = Killed(
            Command::new(under_test())
                .args(["serve", "--listen", "127.0.0.1:0"])
                .args(options)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap(),
        );
        let mut line = String::new();
        BufReader::new(child.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim_end_matches("/\n").rsplit(':').next().and_then(|port| port.parse().ok());
        Self { child, port: port.unwrap() }
    }
}

/// A server that holds each call for as long as a function of the time says, told when the call came. It has a thread
/// for each connection, which ends with the test.
fn holding(hold: impl FnMut(Duration) -> Duration + Send + 'static) -> u16 {
    let (hold, began) = (Mutex::new(hold), Instant::now());
    serve(move |_, stream| answer(stream, began, &hold))
}

fn answer(mut stream: TcpStream, began: Instant, hold: &Mutex<impl FnMut(Duration) -> Duration>) {
    let mut unread = Vec::new();
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut bytes) {
        unread.extend_from_slice(&bytes[..count]);
        while let Some(end) = unread.windows(4).position(|window| window == b"\r\n\r\n") {
            unread.drain(..end + 4);
            let time = (hold.lock().unwrap())(began.elapsed());
            thread::sleep(time);
            if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_err() {
                return;
            }
        }
    }
}

fn capacity(port: u16, options: &str) -> Invocation {
    let url = format!("http://127.0.0.1:{port}/");
    let mut arguments = words(&format!("capacity {options}"));
    arguments.push(url);
    Invocation { limit: Duration::from_secs(120), ..Invocation::new(&under_test(), arguments) }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The document that a search prints.
#[track_caller]
fn document(outcome: &Outcome) -> Value {
    let errors = text(&outcome.stderr);
    serde_json::from_slice(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"))
}

/// Returns whether the machine had something else to do in a trial.
fn is_disturbed(document: &Value) -> bool {
    let codes = ["client_cpu", "kept_waiting", "time_stolen", "schedule_lag", "rate"];
    let trials = document["trials"].as_array().unwrap();
    let mut reasons = trials.iter().flat_map(|trial| trial["verdict"]["reasons"].as_array().unwrap());
    reasons.any(|reason| reason["level"] != "VALID" && codes.iter().any(|code| reason["code"] == *code))
}

/// Searches until what came of it is right, at most [`ATTEMPTS`] times as long as other programs disturb the trials: a
/// search writes its document to the file that it is given. `None` if they disturbed every attempt: the test is skipped
/// then.
#[track_caller]
fn undisturbed(
    mut search: impl FnMut(&Path) -> Outcome,
    is_right: impl Fn(&Outcome, &Value) -> bool,
) -> Option<(Outcome, Value)> {
    for attempt in 1..=ATTEMPTS {
        let file = tempfile::NamedTempFile::new().unwrap();
        let outcome = search(file.path());
        let (printed, errors) = (text(&outcome.stdout), text(&outcome.stderr));
        let document: Value = serde_json::from_slice(&fs::read(file.path()).unwrap())
            .unwrap_or_else(|error| panic!("{error}: {printed}{errors}"));
        if is_right(&outcome, &document) {
            return Some((outcome, document));
        }
        assert!(is_disturbed(&document), "attempt {attempt}: {printed}{errors}{:?}", outcome.exit);
        println!("attempt {attempt} was disturbed: {printed}");
    }
    skip::disturbed("trials of every search were disturbed");
    None
}

/// Searches until the document is right ([`undisturbed`]).
#[track_caller]
fn found(port: u16, options: &str, is_right: impl Fn(&Value) -> bool) -> Option<Value> {
    let is_right = |outcome: &Outcome, document: &Value| outcome.exit == Exit::Code(0) && is_right(document);
    undisturbed(|file| capacity(port, &written(options, file)).run().unwrap(), is_right)
        .map(|(_, document)| document)
}

/// Options with those that write the document to a file.
fn written(options: &str, file: &Path) -> String {
    format!("{options} --output {}", file.display())
}

/// A search in a few lines.
fn shown(document: &Value) -> String {
    let trials = document["trials"].as_array().unwrap().iter().map(|trial| {
        format!("\n{} for {} s: {} {}", trial["rate"], trial["length_s"], trial["outcome"], trial["reasons"])
    });
    format!("{}{}", document["found"], trials.collect::<String>())
}

/// Returns whether the figure is this one, within the default precision of a search.
fn is_near(document: &Value, expected: f64) -> bool {
    is_within(document, expected, 0.03)
}

fn is_within(document: &Value, expected: f64, share: f64) -> bool {
    let rate = document["found"]["capacity"]["rate"].as_f64();
    rate.is_some_and(|rate| (rate / expected - 1.0).abs() <= share)
}

#[test]
fn the_capacity_of_a_token_bucket_is_found_in_twelve_trials_or_fewer() {
    let _shared = shared();
    let server = Served::start(&["--capacity", "2000"]);
    let Some(found) = found(server.port, &format!("--slo 'p99<50ms, errors<0.1%' {SHORT}"), |document| {
        is_near(document, 2000.0) && document["trials"].as_array().unwrap().len() <= 12
    }) else {
        return;
    };
    let Value::Object(figure) = &found["found"]["capacity"] else { panic!("{}", shown(&found)) };
    assert!(
        figure["low"].as_f64() < figure["rate"].as_f64() && figure["rate"].as_f64() < figure["high"].as_f64()
    );
    assert_eq!(found["found"]["end"], "precise");
    assert_eq!(found["settings"]["implied"], Value::Null);
}

#[test]
fn each_trial_draws_random_numbers_of_its_own() {
    let _shared = shared();
    let server = Served::start(&[]);
    let options =
        "--slo 'p90<1s' --period e1 --max-rate 200 --trial-min .3 --trial-max .6 --pause 0 --trials 4 --json";
    let outcome = capacity(server.port, options).run().unwrap();
    let document = document(&outcome);
    let trials = document["trials"].as_array().unwrap();
    assert!(trials.len() > 1);
    assert!(trials.iter().map(|trial| trial["stream"].as_u64().unwrap()).eq(0..trials.len() as u64));
    assert_eq!(document["plan"]["client"]["stream"], Value::Null);
}

#[test]
fn calls_over_kept_connections_have_a_capacity_too() {
    let _shared = shared();
    let server = Served::start(&["--capacity", "800"]);
    let options = format!("--slo 'p99<50ms' --search=request-rate --concurrency=100 {SHORT}");
    let Some(found) = found(server.port, &options, |document| is_near(document, 800.0)) else { return };
    assert_eq!(found["settings"]["implied"], "errors<1%");
}

#[test]
fn a_server_that_degrades_slowly_is_found_where_it_passes_the_bound() {
    if !is_long() {
        return skip::unless_long();
    }
    let _shared = shared();
    // 10 ms when it is idle, 100 ms at nine tenths of 500 calls a second.
    let mut last = std::collections::VecDeque::new();
    let port = holding(move |at| {
        last.push_back(at);
        if last.len() > 100 {
            last.pop_front();
        }
        let span = (at - last[0]).as_secs_f64();
        let load = ((last.len() - 1) as f64 / span.max(1e-9) / 500.0).min(0.95);
        Duration::from_secs_f64(0.01 / (1.0 - load))
    });
    let options = format!("--slo 'p50<50ms' --search=request-rate --concurrency=100 {SHORT}");
    // On a busy machine replies come some milliseconds later than that, and the bound is passed earlier: 3 ms are 3 %.
    found(port, &options, |document| is_within(document, 400.0, 0.05));
}

#[test]
fn a_server_that_collapses_is_found_at_its_knee() {
    if !is_long() {
        return skip::unless_long();
    }
    let _shared = shared();
    // Each call takes its turn, which is twice as long when twenty are waiting.
    let mut free = Duration::ZERO;
    let port = holding(move |at| {
        let turn = free.max(at);
        let is_crowded = (turn - at) > Duration::from_millis(40);
        free = turn + Duration::from_millis(if is_crowded { 4 } else { 2 });
        turn - at
    });
    let options = format!("--slo 'p99<100ms' --search=request-rate --concurrency=100 {SHORT}");
    found(port, &options, |document| is_near(document, 500.0));
}

/// The result.
fn last_line(outcome: &Outcome) -> &str {
    text(&outcome.stdout).lines().last().unwrap()
}

#[test]
fn the_highest_rate_allowed_may_be_sustained() {
    let _shared = shared();
    let server = Served::start(&[]);
    let options = format!("--slo 'p99<1s' --max-rate 250 {SHORT}");
    undisturbed(
        |file| capacity(server.port, &written(&options, file)).run().unwrap(),
        |outcome, _| {
            outcome.exit == Exit::Code(0)
                && last_line(outcome) == "capacity at least 250 connections/s (--max-rate was sustained)"
        },
    );
}

#[test]
fn the_lowest_rate_allowed_may_be_too_high() {
    let _shared = shared();
    let server = Served::start(&["--delay", "100ms"]);
    let options = format!("--slo 'p50<50ms' --min-rate 50 --start 100 {SHORT}");
    undisturbed(
        |file| capacity(server.port, &written(&options, file)).run().unwrap(),
        |outcome, _| {
            outcome.exit == Exit::Code(4)
                && last_line(outcome) == "capacity below 50 connections/s (--min-rate was not sustained)"
                && text(&outcome.stdout).contains("beyond: missed p50<50ms")
        },
    );
}

#[test]
fn a_client_that_cannot_offer_more_says_so() {
    let _shared = shared();
    let server = Served::start(&["--delay", "100ms"]);
    // Ten connections at a time, each for a tenth of a second.
    let options = format!("--slo 'p99<10s' --max-connections=10 --start 50 {SHORT}");
    found(server.port, &options, |document| {
        let found = &document["found"];
        found["end"] == "client_limited"
            && found["sustained"].as_f64().unwrap() < 120.0
            && found["because"].as_str().unwrap().starts_with("arrivals skipped: ")
            && found["capacity"].is_null()
    });
}

#[test]
fn descriptors_that_run_out_are_the_client_s_limit() {
    let _shared = shared();
    let server = Served::start(&["--delay", "200ms"]);
    let options = format!("--slo 'errors<1%' --start 160 {SHORT}");
    let limited = |file: &Path| {
        let mut invocation = capacity(server.port, &written(&options, file));
        invocation.descriptors = Some(64);
        invocation.run().unwrap()
    };
    let is_right = |outcome: &Outcome, document: &Value| {
        let found = &document["found"];
        outcome.exit == Exit::Code(0)
            && found["end"] == "client_limited"
            && found["because"].as_str().unwrap().starts_with("descriptors: ")
    };
    let searched = undisturbed(limited, is_right);
    if let Some((_, document)) = searched {
        assert!(shown(&document).contains(r#"{"client":"descriptors"}"#), "{}", shown(&document));
    }
}

#[test]
fn an_interrupt_leaves_what_is_known() {
    let _shared = shared();
    let server = Served::start(&[]);
    let interrupted = |file: &Path| {
        let options = written("--slo 'p99<1s' --trial-min .5 --trial-max 2 --pause .1", file);
        let mut invocation = capacity(server.port, &options);
        invocation.interrupt_after = Some(Duration::from_secs(4));
        invocation.run().unwrap()
    };
    let is_right = |outcome: &Outcome, document: &Value| {
        let trials = document["trials"].as_array().unwrap();
        let last = last_line(outcome);
        (outcome.exit, text(&outcome.stderr)) == (Exit::Code(0), "")
            && last.starts_with("capacity at least ")
            && last.ends_with(" (interrupted)")
            && document["found"]["end"] == "asked"
            && !trials.is_empty()
            && text(&outcome.stdout).lines().count() == 5 + trials.len()
    };
    undisturbed(interrupted, is_right);
}

#[test]
fn a_server_that_vanishes_ends_the_search_and_leaves_what_is_known() {
    // The search waits for the server for a minute, and tests that need the machine alone wait for this one.
    if !is_long() {
        return skip::unless_long();
    }
    let _shared = shared();
    let vanishing = |file: &Path| {
        let Served { mut child, port } = Served::start(&[]);
        let killer = thread::spawn(move || {
            thread::sleep(Duration::from_secs(3));
            child.0.kill().unwrap();
        });
        let options = written("--slo 'p99<1s' --trial-min .5 --trial-max 1 --pause .1", file);
        let outcome = capacity(port, &options).run().unwrap();
        killer.join().unwrap();
        outcome
    };
    // A figure by then with its interval, rather than a bound, if the server vanished within a trial.
    let is_right = |outcome: &Outcome, _: &Value| {
        let last = last_line(outcome);
        outcome.exit == Exit::Code(1)
            && last.starts_with("capacity ")
            && last.ends_with("ended early: the server no longer answers)")
    };
    undisturbed(vanishing, is_right);
}

#[test]
fn a_document_follows_its_schema() {
    let _shared = shared();
    let server = Served::start(&[]);
    let options = format!("--slo 'p99<1s' --max-rate 120 --json {SHORT}");
    let document = document(&capacity(server.port, &options).run().unwrap());
    let schema: Value = serde_json::from_str(&httperf_report::capacity::schema()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn the_limit_that_nginx_is_set_to_is_found_by_its_refusals() {
    let _shared = shared();
    let limit = Some(Limit { per_second: 600, burst: 25 });
    let Some(nginx) = RealServer::start(Kind::Nginx, Settings { limit, ..Settings::default() }) else {
        return;
    };
    let Some(found) =
        found(nginx.port(), &format!("--slo '5xx<1%, p99<1s' {SHORT} --trial-max 4"), |document| {
            // What it lets through in a burst adds to what it allows: 25 calls of a trial.
            is_near(document, 605.0)
        })
    else {
        return;
    };
    let trials = found["trials"].as_array().unwrap();
    assert!(trials.iter().any(|trial| trial["outcome"] == "overload"), "{}", shown(&found));
}

/// A server in Python that computes for about 4 ms for each reply, one at a time.
const BUSY_SERVER: &str = r#"
import http.server, socketserver, time

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self):
        end = time.thread_time() + 0.004
        while time.thread_time() < end:
            pass
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *args):
        pass

class Server(socketserver.ThreadingTCPServer):
    request_queue_size = 1024
    daemon_threads = True

with Server(("127.0.0.1", 0), Handler) as server:
    print(server.server_address[1], flush=True)
    server.serve_forever()
"#;

#[test]
fn a_server_that_computes_is_found_near_what_a_closed_loop_gets_out_of_it() {
    if !is_long() {
        return skip::unless_long();
    }
    let _alone = alone();
    let mut command = Command::new("python3");
    let spawned = command.args(["-c", BUSY_SERVER]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let Ok(child) = spawned else {
        skip::lacking("python3");
        return;
    };
    let mut child = Killed(child);
    let mut line = String::new();
    BufReader::new(child.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let port: u16 = line.trim().parse().unwrap();
    let closed_loop = || {
        let url = format!("http://127.0.0.1:{port}/");
        let arguments = ["--concurrency=4", "--duration=3", "--output=-", &url];
        let outcome = Invocation::new(&under_test(), arguments).run().unwrap();
        document(&outcome)["figures"]["reply_rate"].as_f64().unwrap()
    };
    let options =
        format!("--slo 'p90<300ms' --search=request-rate --concurrency=4 --start 20 --precision 10% {SHORT}");
    found(port, &options, |document| {
        let most = closed_loop();
        // Other programs take their part of the processor, now more and now less.
        document["found"]["capacity"]["rate"]
            .as_f64()
            .is_some_and(|rate| most / 2.0 < rate && rate < most * 2.0)
    });
}

/// The messages about a command line, with the address of a server that is not there in place of `URL`.
#[track_caller]
fn check_refused(options: &str, expected: &str) {
    let arguments = words(&format!("capacity {options}"));
    let outcome = Invocation::new(&under_test(), arguments).run().unwrap();
    let expected = format!("httperf capacity: {expected}\n");
    assert_eq!((text(&outcome.stderr), text(&outcome.stdout)), (&expected[..], ""), "{options}");
    assert_eq!(outcome.exit, Exit::Code(1), "{options}");
}

#[test]
fn what_makes_no_sense_is_refused_in_a_sentence() {
    let _shared = shared();
    for (options, expected) in [
        ("", "--slo: expected objectives such as `p99<50ms, errors<0.1%`, got none"),
        ("--slo p99<fast", "--slo: expected a number at character 5, got `p99<fast`\n  p99<fast\n      ^"),
        (
            "--slo p99<5ms --slo p99>=5ms",
            "--slo: expected an upper bound, as times get longer with the rate, got `p99>=5ms`",
        ),
        (
            "--slo errors<1%,failed>2%",
            "--slo: expected objectives that can be met together, got `errors<1%` and `failed>2%`",
        ),
        (
            "--slo replies>900",
            "--slo: expected a time or a share, as the rate is what is searched for, got `replies>900/s`",
        ),
        (
            "--slo lag.p99<1ms",
            "--slo: expected a figure of the server's, as the lag is the client's own, got `lag.p99<1ms`",
        ),
        (
            "--slo session.p99<1s",
            "--slo: `session.p99<1s` needs a session workload (--wsess, --wsesslog or --wsesspage, or a workload file)",
        ),
        (
            "--slo handshake.p99<1s",
            "--slo: `handshake.p99<1s` needs TLS, which an https:// URL or --ssl asks for",
        ),
        (
            "--slo p99.99<1s --max-rate 100",
            "--trial-max: expected at least 100 s, as p99.99 needs 10000 samples and --max-rate is 100, got `60`",
        ),
        (
            "--slo p99<1s --start 0",
            "--start: expected a rate per second above 0, at most 1e9, such as 100 or 2k, got `0`",
        ),
        (
            "--slo p99<1s --min-rate -5",
            "--min-rate: expected a rate per second above 0, at most 1e9, such as 100 or 2k, got `-5`",
        ),
        (
            "--slo p99<1s --max-rate inf",
            "--max-rate: expected a rate per second above 0, at most 1e9, such as 100 or 2k, got `inf`",
        ),
        ("--slo p99<1s --min-rate 9 --max-rate 5", "--max-rate: expected at least --min-rate 9, got `5`"),
        ("--slo p99<1s --min-rate 9 --start 5", "--start: expected at least --min-rate 9, got `5`"),
        ("--slo p99<1s --start 9 --max-rate 5", "--start: expected at most --max-rate 5, got `9`"),
        ("--slo p99<1s --trial-max 1", "--trial-max: expected at least --trial-min 2, got `1`"),
        ("--slo p99<1s --precision 0%", "--precision: expected a percentage from 0.1% to 50%, got `0%`"),
        ("--slo p99<1s --trials 0", "--trials: expected a number from 1 to 1000, got `0`"),
        ("--slo p99<1s --search calls", "--search: expected rate or request-rate, got `calls`"),
        (
            "--slo p99<1s --rate 100",
            "--rate: expected none, as the search chooses rates; --start, --min-rate and --max-rate bound them, and \
             --period=e1 makes arrivals a Poisson process",
        ),
        (
            "--slo p99<1s --num-conns 100",
            "--num-conns: expected none, as the search chooses how long trials are; --trial-min and --trial-max bound it",
        ),
        (
            "--slo p99<1s --duration 10",
            "--duration: expected none, as the search chooses how long trials are; --trial-min and --trial-max bound it",
        ),
        (
            "--slo p99<1s --search=request-rate --num-calls 10",
            "--num-calls: expected none, as the search chooses how long trials are; --trial-min and --trial-max bound it",
        ),
        ("--slo p99<1s --request-period e1", "--request-period: expected --search=request-rate beside it"),
        (
            "--slo p99<1s --search=request-rate --wsess=1,1,1",
            "--search=request-rate: expected no session workload beside it",
        ),
        (
            "--slo p99<1s --abort-on-slo",
            "--abort-on-slo: expected none, as a search learns from trials that miss an objective",
        ),
        (
            "--slo p99<1s --record=classic",
            "--record: expected full, as objectives need the figures that classic leaves out",
        ),
    ] {
        check_refused(options, expected);
    }
}

#[test]
fn a_server_that_is_not_there_is_one_sentence() {
    let _shared = shared();
    let port = free_port();
    let expected = format!("no reply: connection refused by 127.0.0.1:{port} (1 of 1). Is the server up?");
    check_refused(&format!("--slo p99<1s --server 127.0.0.1 --port {port}"), &expected);
}

#[test]
fn a_file_that_cannot_be_written_is_found_before_the_first_trial() {
    let _shared = shared();
    let server = Served::start(&[]);
    let began = Instant::now();
    let outcome = capacity(server.port, "--slo p99<1s --output /no/such/file").run().unwrap();
    let message = text(&outcome.stderr);
    assert!(message.starts_with("httperf capacity: --output: cannot write `/no/such/file`: "), "{message}");
    assert_eq!((outcome.exit, message.lines().count()), (Exit::Code(1), 1));
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_search_that_cannot_save_goes_on_and_says_so_once() {
    let _shared = shared();
    let server = Served::start(&[]);
    let options = format!("--slo 'p99<1s' --max-rate 250 --output /dev/full {SHORT}");
    let outcome = capacity(server.port, &options).run().unwrap();
    assert!(last_line(&outcome).starts_with("capacity "), "{}", text(&outcome.stdout));
    assert_eq!((outcome.exit, text(&outcome.stderr).lines().count()), (Exit::Code(1), 1));
}
