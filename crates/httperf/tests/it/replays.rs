//! `httperf replay` with servers of other makes: what they log is replayed, and logged again.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::group::Group;
use crate::support::program::{Exit, Invocation, Outcome, stderr, stdout, under_test};
use crate::support::real_server::{Kind, RealServer, Settings};
use crate::support::running::tool;
use crate::support::words;
use httperf_testkit::skip;
use httperf_testkit::tcp::free_port;
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long a server may take to start, or to write its log.
const PATIENCE: Duration = Duration::from_secs(20);

/// The number of requests of the recordings here.
const REQUESTS: usize = 120;

const NGINX: &str = "'$msec $request_time $request_method $request_uri $status \"$http_user_agent\"'";
const APACHE: &str = "%{begin:usec}t %D %m %U%q %>s \"%{User-Agent}i\"";

/// A logged request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    agent: String,
    /// The start in microseconds.
    start: i64,
    request: String,
    status: u64,
}

/// A server with an access log.
struct Logging {
    /// The servers that are running, until they are dropped.
    _server: (Option<RealServer>, Option<Group>),
    folder: TempDir,
    port: u16,
    log: PathBuf,
    /// `--format`, if the log is not told from its lines.
    format: Option<&'static str>,
    read: fn(&str) -> Line,
}

impl Logging {
    fn nginx() -> Option<Self> {
        Self::real(Kind::Nginx, NGINX, NGINX.trim_matches('\''), |line| {
            let [stamp, took, method, uri, status, agent] = fields(line);
            let start = micros(&stamp) - micros(&took);
            Line { agent, start, request: format!("{method} {uri}"), status: status.parse().unwrap() }
        })
    }

    fn apache() -> Option<Self> {
        Self::real(Kind::Apache, APACHE, APACHE, |line| {
            let [stamp, _, method, uri, status, agent] = fields(line);
            let request = format!("{method} {uri}");
            Line { agent, start: stamp.parse().unwrap(), request, status: status.parse().unwrap() }
        })
    }

    fn real(kind: Kind, written: &'static str, format: &'static str, read: fn(&str) -> Line) -> Option<Self> {
        let server = RealServer::start(kind, Settings { log_format: Some(written), ..Settings::default() })?;
        let (port, log) = (server.port(), server.access_log());
        let folder = tempfile::tempdir().unwrap();
        Some(Self { _server: (Some(server), None), folder, port, log, format: Some(format), read })
    }

    fn caddy() -> Option<Self> {
        let program = tool("caddy")?;
        let folder = tempfile::tempdir().unwrap();
        let (port, path) = (free_port(), folder.path().display());
        fs::create_dir(folder.path().join("docs")).unwrap();
        for name in ["small.txt", "empty.txt"] {
            fs::write(folder.path().join("docs").join(name), name.replace("empty.txt", "")).unwrap();
        }
        let text = format!(
            "{{\n admin off\n auto_https off\n storage file_system {path}/storage\n}}\n\
             http://127.0.0.1:{port} {{\n bind 127.0.0.1\n root * {path}/docs\n file_server\n \
             log {{\n output file {path}/access.log\n format json\n }}\n}}\n"
        );
        fs::write(folder.path().join("Caddyfile"), text).unwrap();
        let mut command = Command::new(program);
        command.args(["run", "--adapter", "caddyfile", "--config"]).arg(folder.path().join("Caddyfile"));
        command.env("HOME", folder.path()).env("XDG_CONFIG_HOME", folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let group = Group::spawn(&mut command).unwrap();
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(began.elapsed() < PATIENCE, "caddy does not start");
            thread::sleep(Duration::from_millis(20));
        }
        let log = folder.path().join("access.log");
        let read = |line: &str| {
            let line: Value = serde_json::from_str(line).unwrap();
            let (ts, took) = (line["ts"].as_f64().unwrap(), line["duration"].as_f64().unwrap());
            let request = &line["request"];
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            Line {
                agent: text(&request["headers"]["User-Agent"][0]),
                start: ((ts - took) * 1e6).round() as i64,
                request: format!("{} {}", text(&request["method"]), text(&request["uri"])),
                status: line["status"].as_u64().unwrap(),
            }
        };
        Some(Self { _server: (None, Some(group)), folder, port, log, format: None, read })
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The lines of the log once there are so many, in order of start.
    fn logged(&self, count: usize) -> Vec<Line> {
        let began = Instant::now();
        loop {
            let text = fs::read_to_string(&self.log).unwrap_or_default();
            let lines: Vec<&str> = text.split_inclusive('\n').filter(|line| line.ends_with('\n')).collect();
            if lines.len() >= count {
                let mut lines: Vec<Line> =
                    lines.into_iter().map(|line| (self.read)(line.trim_end())).collect();
                lines.sort_by_key(|line| line.start);
                return lines;
            }
            assert!(began.elapsed() < PATIENCE, "{} lines of {count}", lines.len());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Replays a recording against the server.
    fn replay(&self, recording: &Path, options: &str) -> Outcome {
        replay(&format!("{} {} {options}", recording.display(), self.url()))
    }

    /// Offers load of four clients, and returns what of it was logged: the recording.
    fn record(&self) -> PathBuf {
        let trace = self.path("first.trace");
        fs::write(&trace, trace_of_four()).unwrap();
        let outcome = self.replay(&trace, "--connections 1");
        assert_eq!(outcome.exit, Exit::Code(0), "{}", stderr(&outcome));
        self.logged(REQUESTS);
        let recording = self.path("recorded.log");
        fs::copy(&self.log, &recording).unwrap();
        recording
    }

    /// The options that tell how to read its log.
    fn reading(&self) -> String {
        self.format.map_or_else(String::new, |format| format!("--format '{format}'"))
    }
}

fn replay(arguments: &str) -> Outcome {
    let mut invocation = Invocation::new(&under_test(), words(&format!("replay {arguments}")));
    invocation.limit = Duration::from_secs(60);
    invocation.run().expect("the program can be started")
}

/// Fields apart by blanks; the last may be in quotes.
fn fields(line: &str) -> [String; 6] {
    let mut fields = line.split(' ').map(|field| field.trim_matches('"').to_owned());
    std::array::from_fn(|_| fields.next().unwrap_or_else(|| panic!("six fields: {line}")))
}

/// Seconds with three digits behind the point, in microseconds.
fn micros(seconds: &str) -> i64 {
    let (whole, digits) = seconds.split_once('.').unwrap();
    (whole.parse::<i64>().unwrap() * 1000 + digits.parse::<i64>().unwrap()) * 1000
}

/// A trace of requests of four clients, every 10 ms.
fn trace_of_four() -> String {
    let mut text = String::from(
        "{\"httperf-trace\":1,\"from\":\"test\",\"resolution_ns\":1,\"stamps\":\"start\",\
         \"began\":\"2026-01-02T03:04:05Z\"}\n",
    );
    for number in 0..REQUESTS {
        let (method, uri) = match number % 6 {
            0 => ("GET", "/missing?a=1"),
            1 => ("HEAD", "/small.txt"),
            2 => ("GET", "/empty.txt"),
            _ => ("GET", "/small.txt"),
        };
        let client = number * number % 4 + number % 3;
        let line = json!({
            "at": number as f64 / 100.0, "client": client, "method": method, "uri": uri,
            "headers": [["User-Agent", format!("agent-{client}")]],
        });
        text += &format!("{line}\n");
    }
    text
}

/// The requests of each client, in order.
fn by_client(lines: &[Line]) -> Vec<(String, String, u64)> {
    let mut lines = lines.to_vec();
    lines.sort_by(|a, b| (&a.agent, a.start).cmp(&(&b.agent, b.start)));
    lines.into_iter().map(|line| (line.agent, line.request, line.status)).collect()
}

/// The values of columns of a CSV file.
fn columns<const N: usize>(file: &Path, names: [&str; N]) -> Vec<[String; N]> {
    let mut reader = csv::Reader::from_path(file).unwrap();
    let head = reader.headers().unwrap().clone();
    let places = names.map(|name| head.iter().position(|column| column == name).expect(name));
    reader.records().map(|row| places.map(|place| row.as_ref().unwrap()[place].to_owned())).collect()
}

/// Replays the log of a server against it, and compares the two logs.
fn a_log_is_replayed(server: &Logging) {
    let recording = server.record();
    let recorded = server.logged(REQUESTS);
    let (calls, result) = (server.path("calls.csv"), server.path("result.json"));
    let options = format!(
        "{} --speed 2 --connections 1 --threads 2 --calls {} --output {}",
        server.reading(),
        calls.display(),
        result.display()
    );
    let outcome = server.replay(&recording, &options);
    let text = stdout(&outcome);
    assert_eq!(outcome.exit, Exit::Code(0), "{}{text}", stderr(&outcome));
    assert!(text.contains(&format!("status          as recorded {REQUESTS}, another 0\n")), "{text}");
    assert!(text.contains("\nerrors       none\n"), "recorded 404s are none: {text}");

    // Each call was due when its request was recorded, at twice the speed.
    let rows = columns(&calls, ["due_s", "recorded_status", "status"]);
    let mut due: Vec<f64> = rows.iter().map(|[due, ..]| due.parse().unwrap()).collect();
    due.sort_by(f64::total_cmp);
    assert_eq!(due.len(), REQUESTS);
    for (due, line) in due.iter().zip(&recorded) {
        let expected = (line.start - recorded[0].start) as f64 / 2e6;
        assert!((due - expected).abs() < 5e-6, "{due} {expected}");
    }
    assert!(rows.iter().all(|[_, recorded, status]| recorded == status), "{rows:?}");

    // The server has logged the same requests of the same clients in the same order.
    let all = server.logged(2 * REQUESTS);
    let (first, second) = all.split_at(REQUESTS);
    assert_eq!(by_client(first), by_client(second));

    let document: Value = serde_json::from_slice(&fs::read(&result).unwrap()).unwrap();
    assert_eq!(document["figures"]["replay"]["same"], REQUESTS);
    assert_eq!(document["plan"]["workload"]["replay"]["recorded"]["requests"], REQUESTS);
}

#[test]
fn the_log_of_nginx_is_replayed() {
    let Some(server) = Logging::nginx() else { return };
    a_log_is_replayed(&server);
}

#[test]
fn the_log_of_apache_is_replayed() {
    let Some(server) = Logging::apache() else { return };
    a_log_is_replayed(&server);
}

#[test]
fn the_log_of_caddy_is_replayed() {
    let Some(server) = Logging::caddy() else { return };
    a_log_is_replayed(&server);
}

#[test]
fn all_outputs_say_the_same_of_a_replay() {
    let Some(server) = Logging::nginx() else { return };
    // A recording of another server: what is missing here was there.
    let recording = server.path("other.trace");
    let trace =
        trace_of_four().replace("\"method\":\"GET\",", "\"method\":\"GET\",\"status\":200,\"took\":0.25,");
    fs::write(&recording, trace).unwrap();
    let [json, csv, html] = ["r.json", "r.csv", "r.html"].map(|name| server.path(name));
    let options =
        format!("--speed 4 --output {} --csv {} --html {}", json.display(), csv.display(), html.display());
    let outcome = server.replay(&recording, &options);
    assert_eq!(outcome.exit, Exit::Code(0), "{}", stderr(&outcome));
    let text = stdout(&outcome);
    // A sixth of the requests finds nothing, another sixth is HEAD, of which no reply was recorded.
    let (same, changed) = (REQUESTS / 6 * 4, REQUESTS / 6);
    assert!(text.contains(&format!("status          as recorded {same}, another {changed}\n")), "{text}");
    assert!(text.contains(&format!("\n                200, now 404: {changed}\n")), "{text}");
    assert!(text.contains("\nrecorded          250 ms  250 ms"), "{text}");
    let answer = format!(
        "\nrecorded     {same} statuses as recorded, {changed} others (200, now 404: {changed})\n             p50 250 ms then, "
    );
    assert!(text.contains(&answer), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 200), "{text}");
    let document: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    let replay = &document["figures"]["replay"];
    assert_eq!((&replay["same"], &replay["changed"]), (&json!(same), &json!(changed)));
    let rows = columns(&csv, ["status_as_recorded", "status_changed", "recorded_p50_ms", "replayed_p50_ms"]);
    let measured = replay["measured_ms"]["p50"].as_f64().unwrap();
    let expected = [same.to_string(), changed.to_string(), "250.000".to_owned(), format!("{measured:.3}")];
    assert_eq!(rows, [expected]);
    let page = fs::read_to_string(&html).unwrap();
    for cell in [format!("<td>{same}</td>"), format!("<td>{changed}</td>"), "200, now 404".to_owned()] {
        assert!(page.contains(&cell), "{cell}");
    }
    let again = Invocation::new(&under_test(), ["report", &json.display().to_string()]).run().unwrap();
    assert!(text.starts_with(&*stdout(&again)) || stdout(&again).contains("as recorded"), "{text}");
}

#[test]
fn a_replay_runs_again_and_only_with_the_same_recording() {
    let Some(server) = Logging::nginx() else { return };
    let (recording, result) = (server.path("a.trace"), server.path("r.json"));
    fs::write(&recording, trace_of_four()).unwrap();
    let outcome = server.replay(&recording, &format!("--speed 10 --output {}", result.display()));
    assert_eq!(outcome.exit, Exit::Code(0), "{}", stderr(&outcome));
    let rerun = || Invocation::new(&under_test(), ["rerun".into(), result.clone()]).run().unwrap();
    let again = rerun();
    assert_eq!(again.exit, Exit::Code(0), "{}", stderr(&again));
    assert!(stdout(&again).contains(&format!("requests {REQUESTS} replies {REQUESTS} ")));
    fs::write(&recording, trace_of_four().replace("/small.txt", "/other.txt")).unwrap();
    let changed = rerun();
    assert_eq!(changed.exit, Exit::Code(1));
    let said = stderr(&changed);
    assert!(said.contains("a.trace` to be what it was, got a file of another SHA-256"), "{said}");
}

#[test]
fn requests_that_change_things_are_made_when_that_is_asked_for() {
    let Some(server) = RealServer::start(Kind::Python, Settings::default()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let [log, body, calls] = ["log", "cart.json", "calls.csv"].map(|name| folder.path().join(name));
    let line = |method: &str, uri: &str| {
        format!(
            "10.0.0.1 - - [22/Nov/2026:22:42:30 +0000] \"{method} {uri} HTTP/1.1\" 200 2 \"-\" \"curl\"\n"
        )
    };
    fs::write(&log, line("GET", "/small.txt") + &line("POST", "/echo") + &line("PUT", "/echo")).unwrap();
    fs::write(&body, "{\"sku\": 5}").unwrap();
    let url = format!("http://127.0.0.1:{}", server.port());
    let run = |options: &str| {
        replay(&format!("{} {url} --speed 100 --calls {} {options}", log.display(), calls.display()))
    };
    let outcome = run("");
    assert_eq!(outcome.exit, Exit::Code(0), "{}", stderr(&outcome));
    let text = stdout(&outcome);
    assert!(text.contains("\nleft out        1: POST requests (--allow-unsafe makes them)\n"), "{text}");
    assert!(
        text.contains("\nleft out     1: POST requests (--allow-unsafe makes them); 1: PUT requests\n"),
        "{text}"
    );
    assert_eq!(columns(&calls, ["uri"]), [["/small.txt"]]);
    let outcome = run(&format!("--allow-unsafe --body-for 'POST /echo={}'", body.display()));
    assert_eq!(outcome.exit, Exit::Code(0), "{}", stderr(&outcome));
    let mut rows = columns(&calls, ["uri", "content_bytes"]);
    rows.sort();
    let expected = [["/echo", "0"], ["/echo", "10"], ["/small.txt", "6"]];
    assert_eq!(rows, expected.map(|row| row.map(str::to_owned)));
    let text = stdout(&outcome);
    let note = "note            1 POST, PUT and PATCH requests are made without a body";
    assert!(text.contains(note), "{text}");
    let outcome = run(&format!("--allow-unsafe --body-for 'POST /ecko={}' --dry-run", body.display()));
    let note = "note            no POST request to /ecko lacks a body, so this";
    assert!(stdout(&outcome).contains(note), "{outcome:?}");
}

#[test]
fn independent_requests_share_connections_and_compressed_recordings_are_read() {
    let Some(server) = Logging::nginx() else { return };
    let recording = server.path("a.trace");
    fs::write(&recording, trace_of_four()).unwrap();
    let Ok(status) = Command::new("gzip").arg(&recording).status() else {
        skip::lacking("gzip");
        return;
    };
    assert!(status.success());
    // All are due within 0.2 ms: the second before the first can be answered.
    let outcome = server.replay(&server.path("a.trace.gz"), "--speed 10000 --independent --connections 2");
    let text = stdout(&outcome);
    assert_eq!(outcome.exit, Exit::Code(0), "{}", stderr(&outcome));
    assert!(text.contains(&format!("connections 2 requests {REQUESTS} replies {REQUESTS} ")), "{text}");
    assert!(text.contains("requests independent of each other in a.trace.gz"), "{text}");
}

#[test]
fn a_recording_that_cannot_be_read_to_its_end_leaves_what_was_measured() {
    let Some(server) = Logging::nginx() else { return };
    let recording = server.path("a.trace");
    let line = |at: f64| format!("{{\"at\":{at},\"client\":0,\"method\":\"GET\",\"uri\":\"/small.txt\"}}\n");
    let head = trace_of_four().lines().next().unwrap().to_owned() + "\n";
    // More than is read ahead, so that the last line is read when the run has begun.
    let ahead: String = (0..20_000).map(|number| line(f64::from(number) / 10_000.0)).collect();
    let whole = format!("{head}{ahead}{}", line(2.5));
    fs::write(&recording, &whole).unwrap();
    let mut invocation = Invocation::new(
        &under_test(),
        words(&format!("replay {} {} --independent", recording.display(), server.url())),
    );
    invocation.limit = Duration::from_secs(60);
    // The file is cut while it is replayed: the same file, as it is open already.
    let cut = thread::spawn(move || {
        thread::sleep(Duration::from_millis(700));
        let mut file = fs::OpenOptions::new().write(true).open(&recording).unwrap();
        file.set_len(whole.len() as u64 - 40).unwrap();
        file.flush().unwrap();
    });
    let outcome = invocation.run().unwrap();
    cut.join().unwrap();
    let text = stdout(&outcome);
    if outcome.exit == Exit::Code(0) {
        skip::disturbed("the recording was read before it was cut");
        return;
    }
    assert_eq!(outcome.exit, Exit::Code(1), "{text}");
    assert!(text.contains("\nTotal: connections "), "what was measured is reported: {text}");
    assert!(stderr(&outcome).contains("a.trace:20002:"), "{}", stderr(&outcome));
}

#[test]
fn what_cannot_be_replayed_is_refused_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("empty"), "").unwrap();
    fs::write(path("notes.txt"), "not a log\nat all\n").unwrap();
    let post = "10.0.0.1 - - [22/Nov/2026:22:42:30 +0000] \"POST /a HTTP/1.1\" 200 2 \"-\" \"curl\"\n";
    fs::write(path("post.log"), post).unwrap();
    fs::write(path("a.trace"), trace_of_four()).unwrap();
    let url = "http://127.0.0.1:9";
    let usage = "\nhint: httperf replay access.log http://127.0.0.1:8080";
    for (arguments, message) in [
        (String::new(), format!("expected a log or a trace, got none{usage}")),
        (url.to_owned(), format!("expected a log or a trace first, got `{url}`{usage}")),
        ("@post.log".into(), format!("expected the URL of the server behind the recording, got none{usage}")),
        ("@post.log shop".into(), format!("expected the URL of the server, got `shop`{usage}")),
        (format!("@post.log @a.trace {url}"), "expected one recording, got also `@a.trace`".into()),
        (
            format!("@post.log {url}/app"),
            "expected a URL without a path, as the recording has the paths, got `/app`".into(),
        ),
        (
            format!("- {url}"),
            "expected a file, as it is read twice, got `-`\nhint: `httperf import log -` makes a trace of standard input"
                .into(),
        ),
        (
            format!("@none.log {url}"),
            "@none.log: cannot be read: No such file or directory (os error 2)".into(),
        ),
        (format!("@empty {url}"), "@empty: expected a log in one of the forms caddy, traefik-json, w3c, haproxy, alb, ingress-nginx, traefik, vhost_combined, combined, common, got no lines\nhint: --format takes the server's own log_format or LogFormat".into()),
        (format!("@notes.txt {url}"), "@notes.txt: expected a log in one of the forms caddy, traefik-json, w3c, haproxy, alb, ingress-nginx, traefik, vhost_combined, combined, common, got `not a log`\nhint: --format takes the server's own log_format or LogFormat".into()),
        (
            format!("@post.log {url}"),
            "@post.log: expected requests that can be made, got only POST requests (--allow-unsafe makes them): 1".into(),
        ),
        (format!("@a.trace {url} --speed 0"), "--speed: expected a number from 0.001 to 1000000, got `0`".into()),
        (format!("@a.trace {url} --copies 0"), "--copies: expected a number above 0, got `0`".into()),
        (format!("@a.trace {url} --spread 5"), "--spread needs --copies".into()),
        (
            format!("@a.trace {url} --rate 5"),
            "--rate cannot be used with a recording: it says that itself\nhint: --speed and --copies change the load"
                .into(),
        ),
        (
            format!("@a.trace {url} --num-calls 5"),
            "--num-calls cannot be used with a recording: it says that itself".into(),
        ),
        (
            format!("@a.trace {url} --body-for 'POST /a=@post.log'"),
            "--body-for needs --allow-unsafe".into(),
        ),
        (
            format!("@a.trace {url} --allow-unsafe --body-for '/a=b'"),
            "--body-for: expected METHOD PATH=FILE, such as 'POST /cart=cart.json', got `/a=b`".into(),
        ),
        (
            format!("@a.trace {url} --client-by address"),
            "@a.trace: expected a log for --client-by and --format, got a trace, which has its clients".into(),
        ),
    ] {
        let outcome = replay(&arguments.replace('@', &format!("{}/", folder.path().display())));
        let said = stderr(&outcome).replace(&format!("{}/", folder.path().display()), "@");
        assert_eq!(said, format!("httperf replay: {message}\n"), "{arguments}");
        assert_eq!((outcome.exit, stdout(&outcome)), (Exit::Code(1), String::new()), "{arguments}");
    }
}

#[test]
fn what_would_be_replayed_can_be_seen_first() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("access.log");
    let line = |second: u32, method: &str| {
        format!(
            "10.0.0.{second} - - [22/Nov/2026:22:42:{second} +0000] \"{method} /a HTTP/1.1\" 200 2 \"-\" \"x\"\n"
        )
    };
    fs::write(&log, line(30, "GET") + &line(31, "POST") + &line(34, "HEAD")).unwrap();
    let outcome = replay(&format!("{} --speed 2 --dry-run", log.display()));
    assert_eq!(
        stdout(&outcome),
        "Replay of 2 requests of 2 clients in access.log (combined), recorded in 4.00 s,\n\
         at 2 times the speed\n\
         load            1.0/s for 2.00 s, up to 2.0/s in the busiest second of the\n\
         \x20               recording\n\
         left out        1: POST requests (--allow-unsafe makes them)\n\
         note            the log's format is combined\n\
         note            nginx stamps the end of a request and Apache its start; the\n\
         \x20               stamps are taken for the end, and nothing tells the start\n\
         \x20               (--format apache takes them for the start)\n\
         note            recorded to 1 s; the requests of a second are spread evenly\n\
         \x20               within it\n\
         \n     due s  client  request\n     0.000       0  GET /a\n     2.000       2  HEAD /a\n"
    );
    assert_eq!((outcome.exit, stderr(&outcome)), (Exit::Code(0), String::new()));
}
