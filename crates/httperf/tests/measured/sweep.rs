//! `httperf sweep` against servers of known capacity: what it finds, what it keeps, and what it refuses.
//!
//! Runs are short and rates low, so that a busy machine does not spoil them; nothing is asserted of time but wide
//! bounds.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::group::Group;
use crate::support::machine::{Guard, alone, is_long, shared};
use crate::support::program::{Exit, Invocation, Outcome, stderr, stdout, under_test};
use crate::support::real_server::{Kind, Limit, RealServer, Settings};
use crate::support::running::find;
use crate::support::words;
use httperf_report::sweep::{Sweep, schema};
use httperf_testkit::skip;
use httperf_testkit::tcp::free_port;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// A server of its own process, and a folder for results.
struct Bench {
    server: Option<Group>,
    port: u16,
    folder: TempDir,
    _machine: Guard,
}

impl Bench {
    /// The embedded server, with these options.
    fn embedded(options: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut bench = Self { server: None, port: free_port(), folder, _machine: shared() };
        bench.start(options);
        bench
    }

    fn start(&mut self, options: &str) {
        let mut command = Command::new(under_test());
        command.args(["serve", &format!("--listen=127.0.0.1:{}", self.port)]).args(words(options));
        self.spawn(&mut command);
    }

    fn spawn(&mut self, command: &mut Command) {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.server = Some(Group::spawn(command).expect("the server can be started"));
        let began = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            assert!(began.elapsed() < Duration::from_secs(20), "the server does not answer");
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn stop(&mut self) {
        self.server = None;
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn invocation(&self, arguments: &str) -> Invocation {
        let arguments = arguments.replace('@', &format!("{}/", self.folder.path().display()));
        let url = format!("http://127.0.0.1:{}/", self.port);
        let mut all = vec!["sweep".to_owned()];
        if !arguments.contains("--resume") {
            all.push(url);
        }
        all.extend(words(&arguments));
        let mut invocation = Invocation::new(&under_test(), all);
        invocation.limit = Duration::from_secs(90);
        invocation
    }

    fn sweep(&self, arguments: &str) -> Outcome {
        self.invocation(arguments).run().expect("the program can be started")
    }

    /// The document in a file, which its schema allows.
    #[track_caller]
    fn document(&self, name: &str) -> Value {
        let text = fs::read(self.path(name)).expect("the file was written");
        Sweep::read(&text).expect("it can be read");
        checked(&text)
    }
}

#[track_caller]
fn checked(text: &[u8]) -> Value {
    static VALIDATOR: OnceLock<jsonschema::Validator> = OnceLock::new();
    let validator = VALIDATOR.get_or_init(|| {
        let schema = serde_json::from_str(&schema()).expect("it is JSON");
        jsonschema::validator_for(&schema).expect("it is a schema")
    });
    let document = serde_json::from_slice(text).expect("the document is JSON");
    let errors: Vec<String> =
        validator.iter_errors(&document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    document
}

#[track_caller]
fn succeeds(outcome: &Outcome) -> String {
    assert_eq!(outcome.exit, Exit::Code(0), "{}{}", stdout(outcome), stderr(outcome));
    stdout(outcome)
}

/// Rate and repeat of each complete run.
fn runs(document: &Value) -> Vec<(u64, u64)> {
    let is_complete = |run: &&Value| run["result"]["parts"][0]["ended_early"].is_null();
    let all = document["runs"].as_array().expect("a list").iter().filter(is_complete);
    let mut runs: Vec<(u64, u64)> = all
        .map(|run| (run["rate"].as_f64().expect("a rate") as u64, run["repeat"].as_u64().expect("a number")))
        .collect();
    runs.sort_unstable();
    runs
}

fn states(document: &Value) -> Vec<String> {
    let steps = document["figures"]["steps"].as_array().expect("a list");
    steps.iter().map(|step| step["state"].as_str().expect("a word").to_owned()).collect()
}

/// Returns true if the outcome is right, and false if it is not because other programs disturbed runs: then the test is
/// skipped.
#[track_caller]
fn holds(is_right: bool, document: &Value) -> bool {
    const CODES: [&str; 6] = ["client_cpu", "kept_waiting", "paused", "rate", "schedule_lag", "time_stolen"];
    let runs = document["runs"].as_array().expect("a list");
    let reasons = runs.iter().flat_map(|run| run["result"]["verdict"]["reasons"].as_array().expect("a list"));
    let mut causes = reasons.filter(|reason| reason["level"] != "VALID").map(|reason| &reason["code"]);
    let is_disturbed = causes.any(|code| CODES.iter().any(|known| code == known));
    assert!(is_right || is_disturbed, "{:#}", document["figures"]);
    if !is_right {
        skip::disturbed("other programs disturbed runs of the sweep");
    }
    is_right
}

fn has_knee(document: &Value, lowest: f64, highest: f64) -> bool {
    document["figures"]["knee"].as_f64().is_some_and(|knee| (lowest..=highest).contains(&knee))
}

#[test]
fn the_knee_of_the_embedded_server_is_its_capacity() {
    let bench = Bench::embedded("--capacity=100 --queue=20");
    let outcome = bench.sweep(
        "--rates=40..200/40 --duration=2 --warmup=.5 --drain=1 --pause=.1 --settle=5 --output=@s.json --csv=@s.csv \
         --tsv=@s.tsv",
    );
    let table = succeeds(&outcome);
    let document = bench.document("s.json");
    let is_right = has_knee(&document, 80.0, 125.0) && states(&document)[3..] == ["saturated", "saturated"];
    if !holds(is_right, &document) {
        return;
    }
    assert_eq!(document["end"], "complete");
    assert!(table.contains("Knee: ") && table.contains("saturated: "), "{table}");
    let csv = fs::read_to_string(bench.path("s.csv")).expect("written");
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines[0].starts_with("dem_req_rate,req_rate,con_rate,min_rep_rate,avg_rep_rate,max_rep_rate,stddev_rep_rate,resp_time,net_io,errors,"));
    assert_eq!(lines.len(), 6);
    let tsv = fs::read_to_string(bench.path("s.tsv")).expect("written");
    for (line, row) in csv.lines().zip(tsv.lines()) {
        assert_eq!(line.split(',').count(), row.split('\t').count(), "{line}");
    }
    let first_row: Vec<&str> = tsv.lines().nth(1).expect("a row").split('\t').collect();
    assert_eq!(first_row[0], "40.0");
    assert!((35.0..45.0).contains(&first_row[4].parse::<f64>().expect("a rate")), "{first_row:?}");
}

#[test]
fn each_run_draws_random_numbers_of_its_own_and_can_be_made_again() {
    let bench = Bench::embedded("");
    let arguments = "--period=e1 --rates=40,60 --repeats=2 --duration=.5 --pause=0 --settle=0";
    succeeds(&bench.sweep(&format!("{arguments} --output=@s.json")));
    let document = bench.document("s.json");
    let plans: Vec<&Value> =
        document["runs"].as_array().expect("a list").iter().map(|run| &run["result"]["plan"]).collect();
    let streams: Vec<&Value> = plans.iter().map(|plan| &plan["client"]["stream"]).collect();
    assert_eq!(streams, [&Value::Null, &1.into(), &2.into(), &3.into()], "the first is as a run by itself");
    fs::write(bench.path("run.json"), document["runs"][2]["result"].to_string()).expect("written");
    let [again, run] = ["again.json", "run.json"].map(|name| bench.path(name).display().to_string());
    let arguments: Vec<String> = ["rerun", "--quiet", "--output", &again, &run].map(str::to_owned).into();
    succeeds(&Invocation::new(&under_test(), arguments).run().expect("it can be started"));
    let again: Value =
        serde_json::from_slice(&fs::read(bench.path("again.json")).expect("written")).expect("JSON");
    assert_eq!(again["plan"]["client"], plans[2]["client"]);
    assert_eq!(again["plan"]["arrivals"], plans[2]["arrivals"]);
}

#[test]
fn nginx_with_a_limit_bends_where_it_is() {
    let limit = Some(Limit { per_second: 100, burst: 20 });
    let Some(nginx) = RealServer::start(Kind::Nginx, Settings { limit, ..Settings::default() }) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let bench = Bench { server: None, port: nginx.port(), folder, _machine: shared() };
    let outcome = bench.sweep(
        "--rates=50,90,150,200,250,300 --stop-after=2 --duration=2 --warmup=.5 --pause=.3 --settle=5 --output=@s.json",
    );
    let table = succeeds(&outcome);
    let document = bench.document("s.json");
    if !holds(has_knee(&document, 80.0, 125.0) && document["end"] == "saturated", &document) {
        return;
    }
    assert!(table.contains("Higher rates were skipped after 2 rates in a row"), "{table}");
    assert!(runs(&document).len() < 6, "{table}");
}

#[test]
fn a_server_that_needs_its_processor_bends_somewhere() {
    /// Needs 10 ms of processor time for each reply.
    const SERVER: &str = r#"
import http.server, sys, time

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        end = time.thread_time() + 0.01
        while time.thread_time() < end:
            pass
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass

class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True

    def handle_error(self, *_):
        pass

Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"#;
    if !is_long() {
        return skip::unless_long();
    }
    let Some(program) = find("python3") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let mut bench = Bench { server: None, port: free_port(), folder, _machine: alone() };
    let mut command = Command::new(program);
    command.args(["-c", SERVER, &bench.port.to_string()]);
    bench.spawn(&mut command);
    let outcome = bench.sweep(
        "--rates=5..640x2 --stop-after=2 --duration=2 --warmup=.5 --drain=.5 --timeout=3 --pause=.1 --settle=15 \
         --output=@s.json",
    );
    succeeds(&outcome);
    let document = bench.document("s.json");
    // At most 100 replies per second, and fewer where the machine has other things to do.
    let knee = document["figures"]["knee"].as_f64();
    let is_plausible = knee.is_some_and(|knee| (2.0..=130.0).contains(&knee));
    holds(is_plausible && document["end"] == "saturated", &document);
}

#[test]
fn a_step_whose_generator_was_the_bottleneck_is_listed_as_such_everywhere() {
    let bench = Bench::embedded("--delay=200ms");
    let options =
        "--max-connections=1 --duration=1 --warmup=0 --drain=.5 --pause=0 --settle=5 --stop-after=2";
    let table =
        succeeds(&bench.sweep(&format!("--rates=2,40,50,60 {options} --output=@s.json --csv=@s.csv")));
    let document = bench.document("s.json");
    // One connection at a time carries five calls per second: the others are skipped.
    assert_eq!(states(&document)[1..], ["client_limited"; 3], "{table}");
    assert_eq!((&document["end"], &document["figures"]["knee"]), (&"complete".into(), &Value::Null));
    assert_eq!(table.matches("client-limited").count(), 3, "{table}");
    assert!(table.contains("this client was the bottleneck"), "{table}");
    let csv = fs::read_to_string(bench.path("s.csv")).expect("written");
    let column = csv.lines().next().expect("a header").split(',').position(|name| name == "client_limited");
    let values: Vec<&str> =
        csv.lines().skip(2).map(|row| row.split(',').nth(column.unwrap()).unwrap()).collect();
    assert_eq!(values, ["true"; 3], "{csv}");
    let strict = bench.sweep(&format!("--rates=40 {options} --strict"));
    assert!(matches!(strict.exit, Exit::Code(2 | 3)), "{:?}", strict.exit);
}

#[test]
fn an_interrupted_sweep_is_kept_and_gone_on_with() {
    let bench = Bench::embedded("");
    let arguments = "--rates=20,30,40,50 --repeats=2 --order=random --seed=5 --duration=1 --warmup=0 --drain=.2 \
                     --pause=.1 --settle=5 --output=@s.json";
    let mut invocation = bench.invocation(arguments);
    invocation.interrupt_after = Some(Duration::from_millis(3700));
    let table = succeeds(&invocation.run().expect("started"));
    let interrupted = bench.document("s.json");
    assert_eq!(interrupted["end"], "asked", "{table}");
    let done = runs(&interrupted);
    assert!((1..8).contains(&done.len()), "{done:?}");
    assert!(table.contains(&format!("Interrupted after {} of 8 runs", done.len())), "{table}");
    // Elsewhere, so that what was there can be compared.
    let resumed = succeeds(&bench.sweep("--resume=@s.json --output=@all.json --format=csv"));
    let all = bench.document("all.json");
    let expected: Vec<(u64, u64)> =
        [20, 30, 40, 50].into_iter().flat_map(|rate| [(rate, 0), (rate, 1)]).collect();
    assert_eq!((runs(&all), &all["end"]), (expected, &"complete".into()), "{resumed}");
    assert_eq!(all["runs"].as_array().expect("a list").len(), 8, "what was interrupted was made again");
    assert_eq!(resumed.lines().count(), 9);
    for (index, run) in interrupted["runs"].as_array().expect("a list").iter().take(done.len()).enumerate() {
        assert_eq!(
            run["result"]["summary"], all["runs"][index]["result"]["summary"],
            "what was done is kept"
        );
    }
    // There is nothing left to do.
    let before = fs::read(bench.path("all.json")).expect("there");
    let table = succeeds(&bench.sweep("--resume=@all.json"));
    assert!(
        table.contains("4 rates from 20 to 50 connections/s, 2 runs at each, in random order"),
        "{table}"
    );
    assert_eq!(fs::read(bench.path("all.json")).expect("there"), before);
}

#[test]
fn a_sweep_that_is_killed_keeps_the_runs_before() {
    let bench = Bench::embedded("--delay=300ms");
    let mut command = Command::new(under_test());
    let (url, output) = (format!("http://127.0.0.1:{}/", bench.port), bench.path("s.json"));
    command.args(["sweep", &url, "--rates=5,6,7,8", "--duration=1", "--warmup=0", "--pause=0"]);
    command.args(["--settle=60", "--output"]).arg(&output);
    let mut group = Group::spawn(command.stdout(Stdio::null()).stderr(Stdio::null())).expect("started");
    let began = Instant::now();
    while !output.exists() && began.elapsed() < Duration::from_secs(30) {
        thread::sleep(Duration::from_millis(20));
    }
    // Nothing can be caught of this one.
    kill_process(Pid::from_child(group.child()), Signal::KILL).expect("it runs");
    drop(group);
    let document = bench.document("s.json");
    assert!(!runs(&document).is_empty() && document["end"].is_null());
    let table = succeeds(&bench.sweep("--resume=@s.json"));
    assert_eq!(runs(&bench.document("s.json")).len(), 4, "{table}");
}

#[test]
fn a_server_that_goes_and_comes_back_leaves_its_mark_and_nothing_else() {
    let mut bench = Bench::embedded("");
    let mut invocation = bench.invocation(
        "--rates=10..60/10 --stop-after=0 --duration=1 --warmup=0 --drain=.2 --pause=.1 --settle=10 --output=@s.json",
    );
    invocation.limit = Duration::from_secs(120);
    let output = bench.path("s.json");
    let sweeping = thread::spawn(move || invocation.run().expect("started"));
    let made = || {
        fs::read(&output).ok().and_then(|text| Sweep::read(&text).ok()).map_or(0, |sweep| sweep.runs.len())
    };
    let began = Instant::now();
    while made() < 2 && began.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(20));
    }
    bench.stop();
    thread::sleep(Duration::from_millis(1500));
    bench.start("");
    let table = succeeds(&sweeping.join().expect("it ended"));
    let document = bench.document("s.json");
    assert_eq!((runs(&document).len(), &document["end"]), (6, &"complete".into()), "{table}");
    assert!(document["figures"]["knee"].is_null(), "a server that is away is not saturated: {table}");
    let total = |of: &str| -> u64 {
        let runs = document["runs"].as_array().expect("a list");
        runs.iter().map(|run| run["result"]["figures"][of].as_u64().expect("a count")).sum()
    };
    // Either calls failed, or the next run waited until the server was back.
    let waited: f64 = document["runs"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|run| run["recovery"]["server_s"].as_f64().expect("seconds"))
        .sum();
    assert!(total("errors") > 0 || waited > 0.5, "{table}");
    holds(states(&document)[5] == "kept_up", &document);
}

#[test]
fn a_server_that_is_not_there_ends_the_sweep_at_once() {
    let mut bench = Bench::embedded("");
    bench.stop();
    let outcome = bench.sweep("--rates=10,20 --duration=1 --output=@s.json --csv=@s.csv");
    let message = format!(
        "httperf sweep: no reply: connection refused by 127.0.0.1:{} (5 of 5). Is the server up?\n",
        bench.port
    );
    assert_eq!((outcome.exit, stderr(&outcome), stdout(&outcome)), (Exit::Code(1), message, String::new()));
    assert!(!bench.path("s.json").exists() && !bench.path("s.csv").exists(), "nothing was written");
    bench.start("--status=404");
    let outcome = bench.sweep("--rates=10,20 --duration=1");
    assert!(
        stderr(&outcome).ends_with("every reply was 404 (5 of 5). Is the path right?\n"),
        "{}",
        stderr(&outcome)
    );
    assert_eq!(outcome.exit, Exit::Code(1));
}

#[test]
fn a_server_that_answers_nothing_is_told_from_a_saturated_one() {
    let mut bench = Bench::embedded("");
    bench.stop();
    let arguments = "--rates=10,20,30 --stop-after=2 --duration=.5 --warmup=0 --drain=.1 --pause=0 --settle=0 --output=@s.json";
    let table = succeeds(&bench.sweep(arguments));
    let document = bench.document("s.json");
    if !holds(states(&document) == ["unanswered"; 2], &document) {
        return;
    }
    assert_eq!((&document["end"], &document["figures"]["knee"]), (&"saturated".into(), &Value::Null));
    assert!(table.contains("nothing answered"), "{table}");
}

#[test]
fn a_full_disk_loses_the_file_and_not_the_sweep() {
    let bench = Bench::embedded("");
    let outcome = bench
        .sweep("--rates=20,30 --duration=.5 --warmup=0 --pause=0 --settle=5 --output=/dev/full --tsv=@s.tsv");
    assert_eq!(outcome.exit, Exit::Code(1));
    let message =
        "httperf sweep: --output: cannot write `/dev/full`: No space left on device (os error 28)\n";
    assert_eq!(stderr(&outcome), message, "said once");
    assert!(
        stdout(&outcome).contains("keeps up with 30 connections/s, the highest rate"),
        "{}",
        stdout(&outcome)
    );
    assert_eq!(fs::read_to_string(bench.path("s.tsv")).expect("written").lines().count(), 3);
}

#[test]
fn calls_and_sessions_are_swept_like_connections() {
    let bench = Bench::embedded("");
    let short = "--pause=0 --settle=5 --format=json";
    let json = |arguments: &str| {
        let outcome = bench.sweep(&format!("{arguments} {short}"));
        checked(succeeds(&outcome).as_bytes())
    };
    let calls = json(
        "--request-rates=50,100 --concurrency=4 --request-period=e1 --duration=1 --warmup=.2 --drain=.2",
    );
    assert_eq!(calls["plan"]["arrivals"]["exponential"]["mean"], 0.01);
    assert_eq!(calls["runs"][0]["result"]["plan"]["arrivals"]["exponential"]["mean"], 0.02);
    holds(states(&calls)[0] == "kept_up", &calls);
    let sessions = json("--rates=20,40 --wsess=20,3,.01");
    assert_eq!(sessions["runs"][1]["result"]["summary"]["sessions"]["completed"], 20);
    holds(states(&sessions)[0] == "kept_up", &sessions);
    let counted = json("--rates=50,100 --num-conns=50 --num-calls=2 --period=u1,3 --threads=2");
    assert_eq!(counted["runs"][1]["result"]["figures"]["replies"], 100);
    holds(states(&counted)[0] == "kept_up", &counted);
}

#[test]
fn with_no_more_than_a_table_asked_for_stderr_is_silent() {
    let bench = Bench::embedded("");
    let outcome = bench.sweep("--rates=20 --duration=.5 --warmup=0 --pause=0 --settle=5");
    let table = succeeds(&outcome);
    assert_eq!(stderr(&outcome), "");
    assert!(
        table.starts_with(&format!("127.0.0.1:{}: 20 connections/s; 0.5 s each\n\n", bench.port)),
        "{table}"
    );
}

/// What is refused, and in which words.
#[test]
fn what_makes_no_sense_is_refused_in_one_sentence() {
    let _shared = shared();
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("written");
        path.display().to_string()
    };
    let result = file("result.json", r#"{"format": "httperf-result", "version": 1}"#);
    let other = file("other.json", r#"{"rates": [1]}"#);
    let newer = file("newer.json", r#"{"format": "httperf-sweep", "version": 2}"#);
    let broken = file("broken.json", r#"{"format": "httperf-sweep", "#);
    let bare = file("bare.json", r#"{"format": "httperf-sweep", "version": 1}"#);
    let nowhere = folder.path().join("no/such/file").display().to_string();
    let cases: Vec<(String, String)> = [
        ("", "expected --rates or --request-rates, such as --rates=100..1000/100"),
        ("--rates=", "--rates: expected rates such as 100..2000/100, 100..10000x1.5 or 100,200,500, got ``"),
        ("--rates=0", "--rates: expected a rate above 0, got `0`"),
        ("--rates=100,fast", "--rates: expected a rate above 0, got `fast`"),
        ("--rates=1..inf/1", "--rates: expected a rate above 0, got `inf`"),
        ("--rates=200..100/10", "--rates: expected the lower rate first, got `200..100/10`"),
        ("--rates=100..200", "--rates: expected a step or a factor, as in 100..200/10 or 100..200x1.5, got `100..200`"),
        ("--rates=100..200/0", "--rates: expected a step above 0, got `0`"),
        ("--rates=100..200x1", "--rates: expected a factor above 1, got `1`"),
        ("--rates=1..2000/1", "--rates: expected at most 1000 rates, got more"),
        ("--rates=1 --request-rates=1", "--rates cannot be used with --request-rates"),
        ("--rates=1 --rate=5", "--rate: expected none beside the rates of a sweep, nor a constant --period"),
        ("--request-rates=1 --request-rate=5", "--rate: expected none beside the rates of a sweep, nor a constant --period"),
        (
            "--rates=1 --period=v1,2,3,4",
            "--period: expected intervals of the kinds d, u or e beside the rates of a sweep, got a cycle of rates",
        ),
        ("--rates=1 --request-period=e1", "--rates cannot be used with --request-period: --request-rates has rates of calls"),
        ("--request-rates=1 --period=e1", "--request-rates cannot be used with --period: --rates has rates of connections"),
        ("--rates=1 --repeats=0", "--repeats: expected a number from 1 to 1000, got `0`"),
        ("--rates=1 --order=up", "--order: expected rising or random, got `up`"),
        ("--rates=1 --seed=3", "--seed needs --order=random"),
        ("--rates=1 --stop-after=-1", "--stop-after: expected a number of rates, or 0 for none, got `-1`"),
        ("--rates=1 --pause=-1", "--pause: expected a number of seconds from 0 to 86400, or a time such as 500ms, got `-1`"),
        ("--rates=1 --settle=inf", "--settle: expected a number of seconds from 0 to 86400, or a time such as 500ms, got `inf`"),
        ("--rates=1 --format=xml", "--format: expected text, csv, tsv, json, html or junit, got `xml`"),
        ("--rates=1 --csv=-", "--csv: expected the name of a file, got `-`"),
        ("--rates=1 --until=p99:5%", "--until: expected none in a sweep, whose runs are of equal length"),
        (
            "--rates=1 --record=classic",
            "--record: expected full in a sweep, as no run can be judged by what the classic report shows",
        ),
        ("--rates=1 --num-conns=5 --drain=1", "--drain needs --duration or --runtime: they say when nothing is offered any more"),
        ("--rates=1 12", "expected a URL such as http://host:8080/path, got `12`"),
        (
            "--resume=x --rates=1",
            "--resume: expected nothing beside it but files to write, --format, --strict and --quiet, as the file says what a run \
             is",
        ),
        ("--resume=/nonexistent", "--resume: cannot read `/nonexistent`: No such file or directory (os error 2)"),
    ]
    .map(|(arguments, message)| (arguments.to_owned(), message.to_owned()))
    .into_iter()
    .chain([
        (format!("--resume={result}"), format!("--resume: `{result}`: not a sweep of httperf, but a result")),
        (format!("--resume={other}"), format!("--resume: `{other}`: not a sweep of httperf: its `format` is not `httperf-sweep`")),
        (
            format!("--resume={newer}"),
            format!("--resume: `{newer}`: version 2 of the format is newer than this program, which reads up to 1"),
        ),
        (
            format!("--resume={broken}"),
            format!("--resume: `{broken}`: not JSON: EOF while parsing a value at line 1 column 28"),
        ),
        (
            format!("--resume={bare}"),
            format!("--resume: `{bare}`: not a sweep of version 1: missing field `settings` at line 1 column 41"),
        ),
        (
            format!("--rates=1 --output={nowhere}"),
            format!("--output: cannot write `{nowhere}`: No such file or directory (os error 2)"),
        ),
    ])
    .collect();
    for (arguments, message) in cases {
        let mut all = vec!["sweep".to_owned()];
        all.extend(words(&arguments));
        let outcome = Invocation::new(&under_test(), all).run().expect("started");
        let expected = format!("httperf sweep: {message}\n");
        assert_eq!((outcome.exit, stderr(&outcome)), (Exit::Code(1), expected), "{arguments}");
        assert_eq!(stdout(&outcome), "", "{arguments}");
    }
}

/// A program on the search path or where servers are; `None`, with a word on stdout, if it is not installed.
#[test]
fn pictures_a_page_and_test_cases_are_written_when_it_is_over() {
    let bench = Bench::embedded("--capacity 200");
    let outcome = bench.sweep(
        "--rates=20,40 --duration=1 --warmup=0 --pause=0 --settle=0 --timeout=5 --slo=p90<0.001ms,errors<1% \
         --html=@sweep.html --svg=@sweep.svg --png=@sweep.png --junit=@sweep.xml",
    );
    assert_eq!(outcome.exit, Exit::Code(4), "{}{}", stdout(&outcome), stderr(&outcome));
    let text = |name: &str| fs::read_to_string(bench.path(name)).expect("the file was written");
    assert!(text("sweep.html").contains("<!DOCTYPE html>"), "no page");
    assert!(text("sweep.svg").starts_with("<svg"), "{}", &text("sweep.svg")[..100]);
    assert!(fs::read(bench.path("sweep.png")).unwrap().starts_with(b"\x89PNG"), "no PNG");
    let suites = quick_junit::Report::deserialize_from_str(&text("sweep.xml")).unwrap().test_suites;
    let names: Vec<&str> = suites.iter().map(|suite| suite.name.as_str()).collect();
    assert_eq!(names, ["20 connections/s", "40 connections/s"]);
    assert!(suites.iter().all(|suite| suite.failures == 1), "{suites:?}");
}
