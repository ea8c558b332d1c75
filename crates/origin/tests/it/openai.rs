//! The API in the form of OpenAI's: completions as streams and as documents, and its errors.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::{Duration, Instant};

use httperf_origin::{Config, Credentials, Http3, KeyType, Limits, ServerCapacity, Streams, Tls};
use hyper::Method;
use serde_json::{Value, json};

use crate::client::http2::Client as Http2Client;
use crate::client::http3::Client as Http3Client;
use crate::client::{Client, Reply, start};

const CHAT: &str = "/v1/chat/completions";
const TEXT: &str = "/v1/completions";

fn post(path: &str, body: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn ask(config: Config, path: &str, body: &str) -> Reply {
    let server = start(config);
    let mut client = Client::connect(&server);
    client.send(post(path, body).as_bytes());
    client.reply()
}

/// The data of events, as JSON but for the last, which has to be `[DONE]`.
#[track_caller]
fn chunks(body: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(body).unwrap();
    let mut data: Vec<&str> =
        text.split("\n\n").filter(|event| !event.is_empty()).map(|event| &event["data: ".len()..]).collect();
    assert_eq!(data.pop(), Some("[DONE]"), "{text}");
    data.into_iter().map(|data| serde_json::from_str(data).unwrap()).collect()
}

fn json(reply: &Reply) -> Value {
    assert_eq!(reply.field("content-type"), Some("application/json"));
    serde_json::from_slice(&reply.body).unwrap()
}

const STREAMED: &str = r#"{"model":"m","messages":[{"role":"user","content":"say it"}],"stream":true,"max_tokens":3,
    "stream_options":{"include_usage":true}}"#;

#[track_caller]
fn check_streamed_chat(body: &[u8]) {
    let chunks = chunks(body);
    assert_eq!(chunks.len(), 6, "{chunks:?}");
    for chunk in &chunks {
        assert_eq!((&chunk["object"], &chunk["model"]), (&json!("chat.completion.chunk"), &json!("m")));
        assert_eq!(chunk["id"], chunks[0]["id"]);
        assert!(chunk["id"].as_str().unwrap().starts_with("chatcmpl-"));
        assert!(chunk["created"].is_u64());
    }
    let delta = |index: usize| &chunks[index]["choices"][0]["delta"];
    assert_eq!(*delta(0), json!({ "role": "assistant", "content": "" }));
    for (token, chunk) in chunks[1..4].iter().enumerate() {
        assert_eq!(*delta(token + 1), json!({ "content": format!("t{token} ") }));
        assert!(chunk["httperf"]["sent_ns"].is_u64() && chunk["httperf"]["due_ns"].is_u64());
    }
    assert_eq!(*delta(4), json!({}));
    let reasons: Vec<&Value> =
        chunks[..5].iter().map(|chunk| &chunk["choices"][0]["finish_reason"]).collect();
    assert_eq!(reasons, [&Value::Null, &Value::Null, &Value::Null, &Value::Null, &json!("length")]);
    assert_eq!(chunks[5]["choices"], json!([]));
    let usage = json!({ "prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5 });
    assert_eq!(chunks[5]["usage"], usage);
    assert!(chunks[..5].iter().all(|chunk| chunk["usage"].is_null()));
}

#[test]
fn a_chat_is_streamed_token_by_token() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    client.send(post(CHAT, STREAMED).as_bytes());
    let head = client.head();
    assert_eq!((head.status, head.field("content-type")), (200, Some("text/event-stream")));
    let writes = client.chunks();
    // The role, three tokens, and the end.
    assert_eq!(writes.len(), 5);
    check_streamed_chat(&writes.concat());
    drop(client);
    let counts = server.stop().unwrap();
    assert_eq!((counts.streams, counts.events, counts.tokens), (1, 7, 3));
}

#[test]
fn a_chat_is_streamed_over_http_2_and_http_3_too() {
    let tls = Tls::new(Credentials::self_signed(KeyType::default(), &Config::default().listen));
    let server = start(Config { tls: Some(tls), http3: Some(Http3::default()), ..Config::default() });
    let client = Http3Client::new(&server);
    let mut session = client.connect();
    let reply = client.run(session.request(Method::POST, CHAT, STREAMED.as_bytes())).unwrap();
    check_streamed_chat(&reply.body);

    let server = start(Config::default());
    let mut client = Http2Client::connect(&server);
    let stream = client.request_with("POST", CHAT, &[], false);
    client.data(stream, &STREAMED.as_bytes()[..20], false);
    client.data(stream, &STREAMED.as_bytes()[20..], true);
    check_streamed_chat(&client.reply(stream).body);
}

#[test]
fn the_role_comes_with_the_header_and_the_first_token_when_it_is_due() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    client.send(post(&format!("/first/1h{CHAT}"), STREAMED).as_bytes());
    assert_eq!(client.head().status, 200);
    let role = client.take(40);
    assert!(String::from_utf8_lossy(&role).contains("data: {"));
}

#[test]
fn tokens_that_go_together_are_events_of_their_own_in_one_write() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    client.send(post(&format!("/together/2{CHAT}"), STREAMED).as_bytes());
    client.head();
    let writes = client.chunks();
    let events: Vec<usize> =
        writes.iter().map(|write| String::from_utf8_lossy(write).matches("data: ").count()).collect();
    assert_eq!(events, [1, 2, 1, 3]);
    check_streamed_chat(&writes.concat());
}

#[test]
fn a_prompt_is_completed_without_a_role() {
    let body = r#"{"prompt":"a b c","stream":true}"#;
    let streams = Streams { events: 2, ..Streams::default() };
    let chunks = chunks(&ask(Config { streams, ..Config::default() }, TEXT, body).body);
    let choices: Vec<&Value> = chunks.iter().map(|chunk| &chunk["choices"][0]).collect();
    let texts: Vec<&str> = choices.iter().map(|choice| choice["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["t0 ", "t1 ", ""]);
    assert_eq!(choices[2]["finish_reason"], "stop");
    assert!(chunks.iter().all(|chunk| chunk["object"] == "text_completion" && chunk["model"] == "httperf"));
    assert!(chunks.iter().all(|chunk| chunk.get("usage").is_none()));
}

#[test]
fn without_a_stream_the_whole_completion_comes_when_its_last_token_would() {
    let streams = Streams {
        first: "30ms".parse().unwrap(),
        gap: "10ms".parse().unwrap(),
        // Not of documents.
        cut: "1".parse().unwrap(),
        ..Streams::default()
    };
    let server = start(Config { streams, ..Config::default() });
    let mut client = Client::connect(&server);
    let begin = Instant::now();
    client.send(post(CHAT, r#"{"messages":[{"role":"user","content":"a b"}],"max_tokens":4}"#).as_bytes());
    let reply = client.reply();
    assert!(begin.elapsed() >= Duration::from_millis(60));
    assert!(reply.field("content-length").is_some());
    let completion = json(&reply);
    assert_eq!(completion["object"], "chat.completion");
    assert_eq!(
        completion["choices"],
        json!([{
            "index": 0,
            "message": { "role": "assistant", "content": "t0 t1 t2 t3 " },
            "logprobs": null,
            "finish_reason": "length",
        }])
    );
    let usage = json!({ "prompt_tokens": 2, "completion_tokens": 4, "total_tokens": 6 });
    assert_eq!(completion["usage"], usage);
    client.send(post(TEXT, r#"{"prompt":"a","max_tokens":1}"#).as_bytes());
    let completion = json(&client.reply());
    assert_eq!(completion["object"], "text_completion");
    assert_eq!(completion["choices"][0]["text"], "t0 ");
    drop(client);
    let counts = server.stop().unwrap();
    assert_eq!((counts.streams, counts.events, counts.tokens, counts.replies_total()), (0, 0, 5, 2));
}

#[test]
fn errors_have_the_form_of_the_api() {
    let server =
        start(Config { limits: Limits { request_kept: 1000, ..Limits::default() }, ..Config::default() });
    let mut client = Client::connect(&server);
    let large = format!(r#"{{"prompt":"{}"}}"#, "x".repeat(1000));
    for (request, status, param, code) in [
        (post(CHAT, "{"), 400, Value::Null, Value::Null),
        (post(CHAT, ""), 400, Value::Null, Value::Null),
        (post(CHAT, "{}"), 400, json!("messages"), Value::Null),
        (post(TEXT, r#"{"prompt":"a","max_tokens":"b"}"#), 400, json!("max_tokens"), Value::Null),
        (post(TEXT, &large), 413, Value::Null, Value::Null),
        (post("/v1/embeddings", "{}"), 404, Value::Null, json!("unknown_url")),
        (format!("GET {CHAT} HTTP/1.1\r\nHost: x\r\n\r\n"), 405, Value::Null, json!("method_not_supported")),
        (post("/v1/models", "{}"), 405, Value::Null, json!("method_not_supported")),
    ] {
        client.send(request.as_bytes());
        let reply = client.reply();
        assert_eq!(reply.status, status, "{request}");
        let error = &json(&reply)["error"];
        assert_eq!((&error["param"], &error["code"]), (&param, &code), "{request}");
        assert_eq!(error["type"], "invalid_request_error", "{request}");
        assert!(error["message"].is_string(), "{request}");
        assert_eq!(reply.field("allow").is_some(), status == 405, "{request}");
    }
    assert_eq!(client.get("/size/1").body, b"0");
}

#[test]
fn the_one_model_is_listed() {
    let server = start(Config::default());
    let models = json(&Client::connect(&server).get("/v1/models"));
    assert_eq!((&models["object"], &models["data"][0]["id"]), (&json!("list"), &json!("httperf")));
}

#[test]
fn statuses_and_a_full_queue_are_errors_of_the_api_too() {
    let busy = Config { status: "429".parse().unwrap(), ..Config::default() };
    let reply = ask(busy, CHAT, STREAMED);
    assert_eq!((reply.status, &json(&reply)["error"]["type"]), (429, &json!("rate_limit_error")));
    let capacity = Some(ServerCapacity { rate: 0.001, queue: Some(0) });
    let server = start(Config { capacity, ..Config::default() });
    let mut client = Client::connect(&server);
    client.send(post(CHAT, STREAMED).as_bytes());
    check_streamed_chat(&client.reply().body);
    client.send(post(CHAT, STREAMED).as_bytes());
    let reply = client.reply();
    assert_eq!((reply.status, &json(&reply)["error"]["type"]), (503, &json!("server_error")));
}

#[test]
fn a_chat_may_break_off_halfway() {
    let streams = Streams { cut: "1".parse().unwrap(), events: 8, ..Streams::default() };
    let server = start(Config { streams, ..Config::default() });
    let mut client = Client::connect(&server);
    client.send(post(CHAT, r#"{"messages":[{"role":"user","content":"a"}],"stream":true}"#).as_bytes());
    assert_eq!(client.head().status, 200);
    let (bytes, end) = client.until_end();
    assert_eq!(end, Ok(()));
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains("t3 ") && !text.contains("t4 ") && !text.contains("[DONE]"), "{text}");
    drop(client);
    let counts = server.stop().unwrap();
    assert_eq!((counts.streams_cut, counts.tokens, counts.replies_total()), (1, 4, 0));
}
