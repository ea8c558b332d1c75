//! Streams and answers of language models: our own test server over each protocol, and servers of other makes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::Path;
use std::process::Command;

use httperf_origin::{Config, Credentials, Http3, KeyType, Streams, Tls};
use httperf_stats::{CallOutcome, StreamSummary, Summary};
use httperf_testkit::{python, skip};
use serde_json::Value;

use crate::support;
use crate::support::bench::Bench;
use crate::support::nginx::Nginx;
use crate::support::program::{Exit, Outcome, stderr, stdout};
use crate::support::running::{Running, find};

/// A run with its result.
struct Ran {
    outcome: Outcome,
    document: Value,
    summary: Summary,
}

/// Runs the program against a server, with a result.
fn run(bench: &Bench, arguments: &str) -> Ran {
    let outcome = bench.run(&format!("--timeout 20 --report full --output @r.json {arguments}"));
    let text = fs::read_to_string(bench.path("r.json")).unwrap_or_else(|_| panic!("{}", stderr(&outcome)));
    let mut document: Value = serde_json::from_str(&text).unwrap();
    let summary = serde_json::from_value(document["summary"].take()).unwrap();
    Ran { outcome, document, summary }
}

impl Ran {
    fn streams(&self) -> &StreamSummary {
        self.summary.streams.as_ref().unwrap_or_else(|| panic!("no streams: {}", stdout(&self.outcome)))
    }
}

/// A server that speaks all protocols, with the options of each.
fn protocols() -> (Bench, [&'static str; 3]) {
    let config = Config::default();
    let tls = Some(Tls::new(Credentials::self_signed(KeyType::default(), &config.listen)));
    let config = Config { tls, http3: Some(Http3::default()), ..config };
    (Bench::with(config), ["--ssl --http-version 1.1", "--ssl --http-version 2", "--ssl --http-version 3"])
}

#[test]
fn streams_have_the_same_counts_over_each_protocol() {
    let (bench, protocols) = protocols();
    let mut sent = 0;
    for protocol in protocols {
        let ran = run(
            &bench,
            &format!("{protocol} --uri /sse/12/first/30ms/gap/jitter:5ms,2ms --num-conns 6 --num-calls 2"),
        );
        let streams = ran.streams();
        assert_eq!(
            (streams.started, streams.completed, streams.cut, streams.events),
            (12, 12, 0, 144),
            "{protocol}"
        );
        let timed = streams.first_event.latency.moments.count() + streams.gap.moments.count();
        assert_eq!(timed + streams.coalesced, streams.events, "{protocol}");
        // No sooner than the server sends; a first event that was read late leaves less of the stream.
        let first = &streams.first_event.service.moments;
        assert!(first.min() >= 0.03, "{protocol}");
        assert!(first.max() + streams.duration.moments.min() >= 0.05, "{protocol}");
        sent += streams.events;
    }
    let counts = bench.stop();
    assert_eq!((counts.streams, counts.events), (36, sent), "both ends count the same");
}

#[test]
fn events_that_are_written_together_have_no_gap_between_them() {
    let (bench, protocols) = protocols();
    for protocol in protocols {
        let ran = run(&bench, &format!("{protocol} --uri /sse/20/together/4/gap/30ms --num-conns 3"));
        let streams = ran.streams();
        assert_eq!(streams.events, 60, "{protocol}");
        // At least the three after the first of each four.
        assert!(streams.coalesced >= 45, "{protocol}: {}", streams.coalesced);
        assert!(stdout(&ran.outcome).contains("came together with the one before"), "{protocol}");
    }
}

#[test]
fn streams_that_break_off_are_cut_and_their_calls_fail() {
    let (bench, protocols) = protocols();
    for protocol in protocols {
        let ran = run(&bench, &format!("{protocol} --uri /sse/9/cut/4/gap/2ms --num-conns 5"));
        let streams = ran.streams();
        assert_eq!((streams.started, streams.completed, streams.cut), (5, 0, 5), "{protocol}");
        assert_eq!(streams.events, 20, "{protocol}");
        let failed = ran.summary.calls_with(CallOutcome::Failure).latency.moments.count();
        assert_eq!(failed, 5, "{protocol}: {}", stdout(&ran.outcome));
        assert!(stdout(&ran.outcome).contains("streams         0 complete, 5 cut"), "{protocol}");
    }
}

/// The options of a request for an answer with this many tokens.
fn prompt(tokens: u32) -> String {
    format!(
        "--uri /v1/chat/completions --method POST --header Content-Type:application/json --body \
         {{\"model\":\"m\",\"stream\":true,\"stream_options\":{{\"include_usage\":true}},\"max_tokens\":{tokens},\
         \"messages\":[{{\"role\":\"user\",\"content\":\"one-two\"}}]}}"
    )
}

fn model(first: &str, gap: &str) -> Bench {
    let streams = Streams { first: first.parse().unwrap(), gap: gap.parse().unwrap(), ..Streams::default() };
    Bench::with(Config { streams, ..Config::default() })
}

#[test]
fn answers_of_a_model_are_counted_in_tokens() {
    let bench = model("40ms", "5ms");
    let goodput = "--goodput ttft<10s,tpot<10s,e2e<20s --slo ttft.p50<10s,goodput>99%";
    let ran = run(&bench, &format!("--llm openai {goodput} --num-conns 4 --calls @calls.csv {}", prompt(8)));
    let streams = ran.streams();
    let model = streams.model.as_ref().unwrap();
    assert_eq!(
        (model.answers, model.good, model.undone, model.malformed),
        (4, 4, 0, 0),
        "{}",
        stdout(&ran.outcome)
    );
    assert_eq!(
        (model.output_tokens, model.told, model.counted, model.finish_reasons.count("length")),
        (32, 4, 0, 4)
    );
    // The role comes with the header, and is no token.
    assert!(streams.first_event.service.moments.min() < model.first_token.service.moments.min());
    let first = &model.first_token.service.moments;
    assert!(first.min() >= 0.04);
    // The eighth token is due 75 ms after the header; a first one that was read late leaves less between them.
    let per_token = model.per_token.moments.min();
    assert!(first.max() + 7.0 * per_token >= 0.074, "{}, {per_token}", first.max());
    assert_eq!(ran.outcome.exit, Exit::Code(0), "{}", stderr(&ran.outcome));
    let calls = bench.read("calls.csv");
    let rows: Vec<Vec<&str>> = calls.lines().map(|line| line.split(',').collect()).collect();
    let column = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
    for row in &rows[1..] {
        assert_eq!((row[column("events")], row[column("output_tokens")]), ("12", "8"), "{calls}");
        assert!(row[column("first_token_s")] > row[column("first_event_s")], "{calls}");
    }
}

#[test]
fn every_form_has_the_same_figures() {
    let bench = model("20ms", "jitter:4ms,1ms");
    let ran = run(
        &bench,
        &format!(
            "--llm openai --goodput ttft<10s --num-conns 30 --rate 60 --csv @r.csv --html @r.html --interval-log @log {}",
            prompt(6)
        ),
    );
    let text = stdout(&ran.outcome);
    let figures = &ran.document["figures"]["streams"];
    let csv = bench.read("r.csv");
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let names: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let row = reader.records().next().unwrap().unwrap();
    let cell =
        |name: &str| row.get(names.iter().position(|column| column == name).unwrap()).unwrap().to_owned();
    let page = bench.read("r.html");
    for (column, value) in [
        ("first_event_p50_ms", &figures["first_event_ms"]["p50"]),
        ("gap_p99_ms", &figures["gap_ms"]["p99"]),
        ("ttft_p50_ms", &figures["model"]["ttft_ms"]["p50"]),
        ("itl_p99_ms", &figures["model"]["itl_ms"]["p99"]),
        ("tpot_p50_ms", &figures["model"]["tpot_ms"]["p50"]),
    ] {
        let ms = value.as_f64().unwrap_or_else(|| panic!("{column}: {value}"));
        assert_eq!(cell(column), format!("{ms:.3}"), "{column}");
        assert!(page.contains(&format!("{ms:.3}")), "{column}: {ms} is not on the page");
    }
    for (column, value) in [
        ("events", &figures["events"]),
        ("events_coalesced", &figures["coalesced"]),
        ("streams_completed", &figures["completed"]),
        ("answers", &figures["model"]["answers"]),
        ("output_tokens", &figures["model"]["output_tokens"]),
    ] {
        assert_eq!(cell(column), value.to_string(), "{column}");
    }
    assert_eq!(cell("goodput_percent"), "100.00");
    assert!(text.contains("/s, 100.0 % of the calls that were due, met ttft<10000ms"), "{text}");
    assert!(text.contains("output tokens   180 ("), "{text}");
    let log = bench.read("log");
    let seconds = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["streams"].take());
    let seconds: Vec<Value> = seconds.filter(|streams| !streams.is_null()).collect();
    let sum =
        |of: fn(&Value) -> &Value| seconds.iter().map(|second| of(second).as_u64().unwrap()).sum::<u64>();
    assert_eq!(Some(sum(|second| &second["events"])), figures["events"].as_u64(), "{log}");
    assert_eq!(sum(|second| &second["tokens"]), 180, "{log}");
    assert_eq!(sum(|second| &second["first_us"]["count"]), 30, "{log}");
    assert_eq!(seconds.last().unwrap()["open"], 0, "{log}");
    assert!(page.contains("Language model") && page.contains("180 ("), "the page has the tokens");
}

#[test]
fn errors_of_a_model_are_told_in_its_words() {
    let bench = model("1ms", "1ms");
    let body = "--uri /v1/chat/completions --method POST --header Content-Type:application/json --body {\"model\":\"m\"}";
    let ran = run(&bench, &format!("--llm openai --num-conns 3 {body}"));
    let model = ran.streams().model.as_ref().unwrap();
    assert_eq!((model.answers, model.errors.total()), (0, 3));
    let (message, _) = model.errors.by_frequency()[0];
    assert!(message.contains("messages"), "{message}");
    assert!(stdout(&ran.outcome).contains(message), "{}", stdout(&ran.outcome));
}

#[test]
fn an_answer_that_is_not_streamed_has_tokens_and_no_first_one() {
    let bench = model("10ms", "1ms");
    let whole = prompt(5).replace("\"stream\":true", "\"stream\":false");
    let ran = run(&bench, &format!("--llm openai --num-conns 2 {whole}"));
    let streams = ran.streams();
    let model = streams.model.as_ref().unwrap();
    assert_eq!((streams.started, model.answers, model.whole, model.output_tokens), (0, 2, 2, 10));
    assert!(model.first_token.latency.is_empty() && model.per_token.is_empty());
}

/// Events that a server in Python sends with the standard library alone: ten, one every 10 ms, in chunks.
const PYTHON: &str = r#"
import http.server, sys, time

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number in range(10):
            time.sleep(0.01)
            self.piece(f": comment\r\nevent: tick\r\ndata: {number}\r\n\r\n".encode())
        self.piece(b"")

    def piece(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"#;

/// A server of the standard library of Python, and nginx in front of it, which passes on what comes at once.
fn python_behind_nginx() -> Option<[Running; 2]> {
    let (python, nginx) = (find("python3")?, find("nginx")?);
    let python = Running::python(&python, PYTHON);
    let origin = python.port(0);
    let proxy = format!(
        "location / {{ proxy_pass http://127.0.0.1:{origin}; proxy_http_version 1.1; proxy_buffering off; }}"
    );
    let nginx = Running::start(
        "127.0.0.1",
        1,
        |_| Ok(()),
        |root, ports| {
            Nginx::new(root).listen(format!("127.0.0.1:{}", ports[0])).server(&proxy).command(&nginx)
        },
    );
    Some([python, nginx])
}

#[test]
fn streams_of_other_servers_are_read_directly_and_through_a_proxy() {
    let Some(servers) = python_behind_nginx() else { return };
    for server in &servers {
        let ran = support::ran::run(server.port(0), "--num-conns 5", &[]);
        ran.check("replies=5 errors=0");
        let streams = ran.summary.streams.as_ref().unwrap();
        assert_eq!((streams.completed, streams.events, streams.comments), (5, 50, 50), "{ran}");
        let first = &streams.first_event.service.moments;
        assert!(first.min() >= 0.01 && first.max() + streams.duration.moments.min() >= 0.09, "{ran}");
    }
}

/// A server of starlette on uvicorn: events that it writes as bytes, and those of sse-starlette, which has lines of its own
/// for each field. A line of a file tells of each stream: its path, how many events the server was asked for, and the time
/// from the request to the last of them.
const STARLETTE: &str = r#"
import asyncio, sys, time
import uvicorn
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route

streams = open(sys.argv[2], "a", buffering=1)

async def paced(name, make):
    began = last = time.monotonic()
    sent = 0
    try:
        for number in range(12):
            await asyncio.sleep(0.04 if number == 0 else 0.01)
            if name == "broken" and number == 5:
                raise RuntimeError("it breaks off")
            sent, last = sent + 1, time.monotonic()
            yield make(number)
    finally:
        streams.write(f"{name} {sent} {last - began}\n")

async def plain(request):
    name = request.path_params["name"]
    events = paced(name, lambda number: f"id: {number}\nevent: tick\ndata: one\ndata: {number}\n\n".encode())
    return StreamingResponse(events, media_type="text/event-stream")

async def made(request):
    def make(number):
        return ServerSentEvent(data="ä" * 3000, event="tick", id=str(number), retry=500, comment="a comment")
    return EventSourceResponse(paced("made", make))

app = Starlette(routes=[Route("/made", made), Route("/{name}", plain)])
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]))
"#;

#[test]
fn a_server_of_uvicorn_has_sent_what_was_counted() {
    let packages = ["uvicorn", "starlette", "sse-starlette"];
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let Some(python) = python::with_module(folder, "sse_starlette", &packages) else {
        return skip::lacking("uvicorn with sse-starlette from PyPI");
    };
    let furnish = |root: &Path| {
        fs::write(root.join("server.py"), STARLETTE)?;
        fs::write(root.join("streams"), "")
    };
    let server = Running::start("127.0.0.1", 1, furnish, |root, ports| {
        let mut command = Command::new(&python);
        command.arg(root.join("server.py")).arg(ports[0].to_string()).arg(root.join("streams"));
        command
    });
    let mut count = 0;
    for (name, is_whole, comments) in [("plain", true, 0), ("made", true, 12), ("broken", false, 0)] {
        let arguments = format!("--uri /{name} --num-conns 6 --num-calls 2 --rate 50");
        let ran = support::ran::run(server.port(0), &arguments, &[]);
        let streams = ran.summary.streams.as_ref().unwrap();
        // A connection on which a stream was cut has no second call.
        let expected = if is_whole { (12, 12, 0) } else { (6, 0, 6) };
        assert_eq!((streams.started, streams.completed, streams.cut), expected, "{ran}");
        count += usize::try_from(streams.started).unwrap();
        let lines = server.lines("streams", count);
        let told: Vec<(u64, f64)> = lines
            .iter()
            .filter_map(|line| line.strip_prefix(name)?.trim().split_once(' '))
            .map(|(events, seconds)| (events.parse().unwrap(), seconds.parse().unwrap()))
            .collect();
        assert_eq!(told.len() as u64, streams.started, "{lines:?}");
        assert_eq!(streams.events, told.iter().map(|(events, _)| events).sum::<u64>(), "{ran}");
        assert_eq!(streams.comments, comments * streams.started, "{ran}");
        // Each event is the first of its stream, ends a gap, or came together with the one before.
        let first = &streams.first_event;
        assert_eq!(first.latency.moments.count(), streams.started, "{ran}");
        assert_eq!(
            first.latency.moments.count() + streams.gap.moments.count() + streams.coalesced,
            streams.events,
            "{ran}"
        );
        assert!(first.service.moments.min() >= 0.04, "{ran}");
        // The server's time begins later than ours and ends sooner.
        let longest = told.iter().map(|&(_, seconds)| seconds).fold(0.0, f64::max);
        let duration = streams.duration.moments.max();
        assert!(!is_whole || first.service.moments.max() + duration >= longest, "{longest} {ran}");
        let said = ran.finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        let broken = "6 closed by the server in a reply";
        assert_eq!(said.contains(broken), !is_whole, "{ran}");
    }
}
