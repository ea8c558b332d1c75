//! Conversations with a language model: visits whose later questions repeat what was answered before.

use std::fs;

use httperf_origin::{Config, Streams};
use serde_json::Value;

use crate::support::bench::Bench;
use crate::support::program::{Exit, stderr, stdout};
use crate::support::running::{Running, find};
use crate::workload_files::files_shown;

/// A model in Python, with the standard library alone: it answers with the number of messages, and with characters that must
/// be escaped. It refuses a question that repeats an answer wrongly. The first word takes 30 ms, in a later turn 5 ms.
const MODEL: &str = r#"
import http.server, json, sys, time

TEXT = 'a "quote", a \\ and\na line; é 🙂 {{braces}} '

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        messages = request["messages"]
        for number, message in enumerate(messages):
            answered = number % 2 == 1
            if message["role"] != ("assistant" if answered else "user"):
                return self.refuse("roles do not take turns")
            if answered and message["content"] != TEXT + str(number):
                return self.refuse("that was not the answer: " + message["content"])
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.delta({"role": "assistant", "content": ""})
        time.sleep(0.03 if len(messages) == 1 else 0.005)
        for character in TEXT + str(len(messages)):
            self.delta({"content": character})
        self.delta({}, "stop")
        self.event("[DONE]")
        self.piece(b"")

    def refuse(self, reason):
        body = json.dumps({"error": {"message": reason}}).encode()
        self.send_response(400)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def delta(self, delta, reason=None):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        self.event(json.dumps({"object": "chat.completion.chunk", "choices": [choice]}))

    def event(self, data):
        self.piece(f"data: {data}\n\n".encode())

    def piece(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"#;

const TALK: &str = r#"
# @name first turn
POST {{base}}/v1/chat/completions
{"stream": true, "messages": [{"role": "user", "content": "{{first}}"}]}
HTTP 200
[Captures]
answer: jsonpath "$.choices[0].message.content"
[Asserts]
jsonpath "$.object" == "chat.completion"
jsonpath "$.choices[0].finish_reason" == "stop"

# @name second turn
# @think 10ms
POST {{base}}/v1/chat/completions
{
  "stream": true,
  "messages": [
    {"role": "user", "content": "{{first}}"},
    {"role": "assistant", "content": "{{answer}}"},
    {"role": "user", "content": "{{second}}"}
  ]
}
HTTP 200
[Asserts]
jsonpath "$.choices[0].message.content" contains "🙂"
"#;

const WORKLOAD: &str = r#"
[options]
llm = "openai"
timeout = 20

[arrivals]
rate = "40/s"
visits = 20

[feed.questions]
file = "questions.csv"
order = "cycle"

[[scenario]]
name = "talk"
feed = "questions"
steps = [{ run = "talk.hurl" }]

[objectives.step]
"first turn" = "ttft.p50>25ms, first.p50<10s"
"second turn" = "ttft.p50<10s, ttft.max<10us"
"#;

fn model() -> Option<Running> {
    Some(Running::python(&find("python3")?, MODEL))
}

#[test]
fn a_later_turn_repeats_what_was_answered() {
    let Some(model) = model() else { return };
    let bench = Bench::new();
    for (name, text) in [
        ("talk.toml", WORKLOAD),
        ("talk.hurl", TALK),
        ("questions.csv", "first,second\n\"Say \"\"hello\"\"\",Why?\nWho?,\"And\nthen?\"\n"),
    ] {
        fs::write(bench.path(name), text).unwrap();
    }
    let files = "--report full --output @r.json --steps @steps.csv --html @r.html";
    let outcome = bench.command(&format!("run @talk.toml --base http://127.0.0.1:{} {files}", model.port(0)));
    let text = stdout(&outcome);
    // One objective cannot be met.
    assert_eq!(outcome.exit, Exit::Code(4), "{text}{}", stderr(&outcome));
    let document: Value = serde_json::from_str(&bench.read("r.json")).unwrap();
    let visits = &document["figures"]["visits"]["total"][0];
    assert_eq!(visits["completed"], 20, "{text}");
    let csv = bench.read("steps.csv");
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let names: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let page = bench.read("r.html");
    for (number, turn) in ["first turn", "second turn"].into_iter().enumerate() {
        let step = &visits["steps"][number];
        assert_eq!(
            (&step["step"], &step["calls"], &step["checks_failed"]),
            (&turn.into(), &20.into(), &0.into())
        );
        let row = &rows[number];
        let cell = |name: &str| &row[names.iter().position(|column| column == name).unwrap()];
        for (column, value) in
            [("ttft_p50_ms", &step["ttft_ms"]["p50"]), ("first_event_p50_ms", &step["first_event_ms"]["p50"])]
        {
            let ms = value.as_f64().unwrap_or_else(|| panic!("{column}: {value} in {text}"));
            assert_eq!(cell(column), format!("{ms:.3}"), "{column}");
        }
        let ttft = step["ttft_ms"]["p50"].as_f64().unwrap();
        assert!(
            text.contains(&format!("{ttft:.2}")) && page.contains(&format!("{ttft:.3}")),
            "{ttft}: {text}"
        );
        assert!(ttft >= if number == 0 { 30.0 } else { 5.0 }, "{text}");
        assert!(step["first_event_ms"]["p50"].as_f64().unwrap() < ttft);
    }
    assert!(text.contains("TTFT") && page.contains("TTFT p50"), "{text}");
    for (objective, is_met) in
        [("ttft.p50>25ms", true), ("first.p50<10s", true), ("ttft.p50<10s", true), ("ttft.max<10us", false)]
    {
        let line = text.lines().find(|line| line.contains("turn: ") && line.contains(objective));
        let line = line.unwrap_or_else(|| panic!("{objective} in {text}"));
        assert_eq!(line.contains("met "), is_met, "{line}");
    }
}

#[test]
fn the_conversations_of_the_guide_can_be_had() {
    let streams =
        Streams { first: "20ms".parse().unwrap(), gap: "1ms".parse().unwrap(), ..Streams::default() };
    let bench = Bench::with(Config { streams, ..Config::default() });
    let guide = fs::read_to_string(xtask::root().join("docs/guide/llm.md")).unwrap();
    for (name, text) in files_shown(&guide) {
        // Less time, and bounds that a busy machine keeps.
        let text = text.replace("ms\"", "00ms\"").replace("\"30s\"", "\"2s\"").replace("(500ms)", "(50ms)");
        fs::write(bench.path(&name), text).unwrap();
    }
    let outcome = bench.command(&format!(
        "run @talk.toml --base http://127.0.0.1:{} --seed 3 --report full --output @r.json --calls @calls.csv",
        bench.port
    ));
    let text = stdout(&outcome);
    assert_eq!(outcome.exit, Exit::Code(0), "{text}{}", stderr(&outcome));
    let document: Value = serde_json::from_str(&bench.read("r.json")).unwrap();
    let visits = &document["figures"]["visits"]["total"][0];
    let (talks, cut) = (visits["completed"].as_u64().unwrap(), visits["cut"].as_u64().unwrap());
    assert!(talks + cut >= 1 && visits["abandoned"] == 0, "{text}");
    let model = &document["figures"]["streams"]["model"];
    assert!(model["output_tokens"].as_u64().unwrap() >= 32 * talks, "{text}");
}
