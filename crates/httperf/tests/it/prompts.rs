//! `--prompts`: what a server of a language model gets, and what is read of its answers.

use crate::support::program::{Exit, Invocation, Outcome, under_test};
use crate::support::words;
use httperf_testkit::server::{Behaviour, Reply, Server};
use serde_json::{Value, json};

/// A chat completion of two tokens, with its usage.
const ANSWER: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n\
     data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n\
     data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo\"},\"finish_reason\":\"stop\"}]}\n\n\
     data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2,\"total_tokens\":5}}\n\n\
     data: [DONE]\n\n";

fn model() -> Server {
    let reply = Reply::with_header(200, "Content-Type: text/event-stream\r\n", ANSWER.as_bytes());
    Server::start(Behaviour::each(reply)).expect("a port is free")
}

/// Runs the program beside a file `prompts`. `PORT` in the arguments is that of the server.
fn run(arguments: &str, prompts: &str, port: u16) -> Outcome {
    let mut invocation = Invocation::new(&under_test(), words(&arguments.replace("PORT", &port.to_string())));
    invocation.files = vec![("prompts".to_owned(), prompts.as_bytes().to_vec())];
    invocation.run().expect("the program can be started")
}

#[track_caller]
fn succeeds(outcome: &Outcome) -> String {
    let stderr = String::from_utf8_lossy(&outcome.stderr);
    assert_eq!(outcome.exit, Exit::Code(0), "{stderr}");
    String::from_utf8_lossy(&outcome.stdout).into_owned()
}

/// The first lines and the bodies of the requests that a server got, in the order of their bodies.
fn asked(server: Server) -> Vec<(String, Value)> {
    let requests = server.finish().into_iter().flat_map(|connection| connection.requests);
    let mut asked: Vec<(String, Value)> = requests
        .map(|request| {
            let text = String::from_utf8_lossy(&request.bytes).into_owned();
            assert!(text.contains("\r\nContent-Type: application/json\r\n"), "{text}");
            (request.line(), serde_json::from_slice(request.body()).expect("the body is JSON"))
        })
        .collect();
    asked.sort_by_key(|(line, body)| (line.clone(), body.to_string()));
    asked
}

fn chat(prompt: &str, max_tokens: u64) -> Value {
    json!({
        "model": "llama",
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": max_tokens,
        "stream": true,
        "stream_options": {"include_usage": true},
    })
}

#[test]
fn prompts_are_asked_one_after_the_other() {
    let server = model();
    let report = succeeds(&run(
        "--llm openai --prompts prompts --model llama --max-tokens 16 http://127.0.0.1:PORT/v1/chat/completions \
         --request-rate 100 --num-calls 3 --report full",
        "{\"prompt\": \"a {seq}\"}\n{\"prompt\": \"b\", \"output_tokens\": 5}\n",
        server.port(),
    ));
    assert!(report.contains("replies 3"), "{report}");
    let line = "POST /v1/chat/completions HTTP/1.1".to_owned();
    let expected = [chat("b", 5), chat("a {seq}", 16), chat("a {seq}", 16)].map(|body| (line.clone(), body));
    let asked = asked(server);
    assert_eq!(asked.len(), expected.len());
    assert!(expected.iter().all(|request| asked.contains(request)), "{asked:?}");
}

#[test]
fn a_url_without_a_path_means_the_usual_one_and_the_echo_line_says_so() {
    let server = model();
    let report = succeeds(&run("--prompts prompts http://127.0.0.1:PORT", "Hello\n", server.port()));
    assert!(report.lines().next().unwrap_or_default().contains("--uri=/v1/chat/completions"), "{report}");
    let mut body = chat("Hello", 0);
    let fields = body.as_object_mut().expect("it is an object");
    fields.retain(|key, _| !matches!(&key[..], "model" | "max_tokens"));
    assert_eq!(asked(server), [("POST /v1/chat/completions HTTP/1.1".to_owned(), body)]);
}

#[test]
fn tokens_of_answers_are_counted() {
    let server = model();
    let document = succeeds(&run(
        "--prompts prompts http://127.0.0.1:PORT --num-conns 4 --output -",
        "Hello\n",
        server.port(),
    ));
    let start = document.find('{').expect("a document is printed");
    let document: Value = serde_json::from_str(&document[start..]).expect("it is JSON");
    let text = document["summary"].to_string();
    assert!(text.contains("tokens"), "{text}");
    assert_eq!(document["plan"]["uris"]["prompts"]["count"], 1);
}

#[test]
fn a_saved_run_asks_again_what_is_still_there() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let (prompts, result) = (folder.path().join("p.txt"), folder.path().join("r.json"));
    std::fs::write(&prompts, "Hello\n").expect("a file can be written");
    let server = model();
    let arguments =
        format!("--prompts {} http://127.0.0.1:PORT --output {}", prompts.display(), result.display());
    succeeds(&run(&arguments, "", server.port()));
    let rerun = format!("rerun {}", result.display());
    succeeds(&run(&rerun, "", server.port()));
    std::fs::write(&prompts, "Hullo\n").expect("a file can be written");
    let outcome = run(&rerun, "", server.port());
    let stderr = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert!(stderr.contains("p.txt` to be what it was, got a file of another SHA-256"), "{stderr}");
    let asked = asked(server);
    assert_eq!((asked.len(), &asked[0]), (2, &asked[1]));
}

#[test]
fn nothing_is_asked_of_a_file_with_mistakes() {
    let server = model();
    let outcome = run(
        "--prompts prompts http://127.0.0.1:PORT",
        "{\"prompt\": \"fine\"}\n{\"question\": \"a\"}\nHello\n",
        server.port(),
    );
    assert_eq!(outcome.exit, Exit::Code(1));
    assert_eq!(
        String::from_utf8_lossy(&outcome.stderr),
        "httperf: --prompts: prompts:2: expected a `prompt`, `messages`, `conversations`, or `body` with one of them, got \
         `question`\n--prompts: prompts:3: expected an object of JSON, got `Hello`\n"
    );
    assert!(server.finish().is_empty());
}

/// The number of words, the first words, and the bound of each request, in the order in which they were due.
fn replayed(trace: &str, options: &str) -> Vec<(usize, String, u64)> {
    let server = model();
    let arguments = format!("replay prompts http://127.0.0.1:PORT {options}");
    let report = succeeds(&run(&arguments, trace, server.port()));
    assert!(report.contains("Replay of 3 requests independent of each other in prompts"), "{report}");
    assert!(report.contains("replies 3"), "{report}");
    let mut requests: Vec<_> =
        server.finish().into_iter().flat_map(|connection| connection.requests).collect();
    requests.sort_by_key(|request| request.at);
    let told = |bytes: &[u8]| {
        let body: Value = serde_json::from_slice(bytes).expect("the body is JSON");
        assert_eq!((&body["model"], &body["ignore_eos"]), (&json!("llama"), &json!(true)));
        let words: Vec<&str> =
            body["messages"][0]["content"].as_str().unwrap_or_default().split(' ').collect();
        (words.len(), words[..3].join(" "), body["max_tokens"].as_u64().unwrap_or_default())
    };
    requests.iter().map(|request| told(request.body())).collect()
}

#[test]
fn a_trace_of_mooncake_asks_as_many_words_as_it_had_tokens() {
    let row = |at: u64, input: u64, output: u64, ids: &str| {
        let line = json!({"timestamp": at, "input_length": input, "output_length": output});
        format!("{},\"hash_ids\":{ids}}}\n", line.to_string().trim_end_matches('}'))
    };
    let trace = row(0, 600, 7, "[1,2]") + &row(300, 1000, 8, "[1,3]") + &row(600, 5, 9, "[4]");
    let requests = replayed(&trace, "--model llama");
    let lengths: Vec<(usize, u64)> = requests.iter().map(|(input, _, output)| (*input, *output)).collect();
    assert_eq!(lengths, [(600, 7), (1000, 8), (5, 9)]);
    assert_eq!(requests[0].1, requests[1].1);
    assert_ne!(requests[0].1, requests[2].1);
}

#[test]
fn a_trace_of_azure_is_replayed_at_its_times() {
    let trace = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n\
                 2023-11-16 18:15:47.6805900,396,109\n2023-11-16 18:15:48.6805900,879,55\n";
    let requests = replayed(trace, "--model llama --speed 10");
    let lengths: Vec<(usize, u64)> = requests.iter().map(|(input, _, output)| (*input, *output)).collect();
    assert_eq!(lengths, [(374, 44), (396, 109), (879, 55)]);
}
