//! Streams of events over each protocol: what they consist of, when their events are due, and how they break off.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::{Duration, Instant};

use h3::error::StreamError;
use httperf_origin::{
    Config, Counts, Credentials, Fault, Http3, KeyType, Limits, ServerCapacity, Streams, Tls,
};
use hyper::Method;
use serde_json::Value;

use crate::client::http2::{Client as Http2Client, Event};
use crate::client::http3::Client as Http3Client;
use crate::client::{Client, start};

/// The code of HTTP/2 for a stream that breaks off.
const INTERNAL_ERROR: u32 = 0x2;

fn with_http3(config: Config) -> Config {
    let tls = Tls::new(Credentials::self_signed(KeyType::default(), &Config::default().listen));
    Config { tls: Some(tls), http3: Some(Http3::default()), ..config }
}

/// An event of a stream.
#[derive(Debug)]
struct Numbered {
    number: u64,
    sent_ns: u64,
    due_ns: u64,
    data: String,
}

/// Reads whole events.
#[track_caller]
fn events(bytes: &[u8]) -> Vec<Numbered> {
    let text = std::str::from_utf8(bytes).unwrap();
    let read = |event: &str| {
        let (id, data) = event.split_once("\ndata: ").unwrap();
        let fields: Value = serde_json::from_str(data).unwrap();
        let number = fields["event"].as_u64().unwrap();
        assert_eq!(id, format!("id: {number}"));
        let time = |name: &str| fields[name].as_u64().unwrap();
        Numbered { number, sent_ns: time("sent_ns"), due_ns: time("due_ns"), data: data.to_owned() }
    };
    let mut events: Vec<&str> = text.split("\n\n").collect();
    assert_eq!(events.pop(), Some(""), "{text}");
    events.into_iter().map(read).collect()
}

#[track_caller]
fn check_numbers(bytes: &[u8], count: u64) {
    let numbers: Vec<u64> = events(bytes).iter().map(|event| event.number).collect();
    assert_eq!(numbers, (0..count).collect::<Vec<_>>());
}

fn data(events: Vec<Event>) -> Vec<Vec<u8>> {
    let data = events.into_iter().filter_map(|event| match event {
        Event::Data { bytes, .. } => Some(bytes),
        _ => None,
    });
    data.filter(|bytes| !bytes.is_empty()).collect()
}

/// Asks over HTTP/2, and returns what comes up to the end of the stream.
fn ask_http2(client: &mut Http2Client, path: &str) -> Vec<Event> {
    client.request("GET", path);
    let mut events = Vec::new();
    loop {
        let event = client.event();
        let is_last = matches!(event, Event::Data { is_end: true, .. } | Event::Reset { .. });
        events.push(event);
        if is_last {
            return events;
        }
    }
}

#[test]
fn a_stream_has_its_events_one_to_a_chunk_and_the_connection_goes_on() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    for _ in 0..2 {
        client.send(b"GET /sse/5 HTTP/1.1\r\nHost: x\r\n\r\n");
        let head = client.head();
        assert_eq!(head.status, 200);
        assert_eq!(head.field("content-type"), Some("text/event-stream"));
        assert_eq!(head.field("cache-control"), Some("no-store"));
        assert_eq!(head.field("transfer-encoding"), Some("chunked"));
        let chunks = client.chunks();
        assert_eq!(chunks.len(), 5);
        check_numbers(&chunks.concat(), 5);
        assert!(chunks.iter().all(|chunk| events(chunk).len() == 1));
    }
    drop(client);
    let counts = server.stop().unwrap();
    assert_eq!((counts.streams, counts.events, counts.tokens, counts.streams_cut), (2, 10, 0, 0));
    assert_eq!((counts.connections, counts.replies_total()), (1, 2));
}

#[test]
fn over_http_2_each_event_is_a_data_frame() {
    let server = start(Config::default());
    let mut client = Http2Client::connect(&server);
    let got = ask_http2(&mut client, "/sse/5");
    let Event::Head { status: 200, fields, is_end: false, .. } = &got[0] else { panic!("{got:?}") };
    let field = |name: &str| fields.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str());
    assert_eq!(field("content-type"), Some("text/event-stream"));
    assert_eq!(field("cache-control"), Some("no-store"));
    assert_eq!(field("content-length"), None);
    let data = data(got);
    assert_eq!(data.len(), 5);
    check_numbers(&data.concat(), 5);
    assert_eq!(server.stop().unwrap().events, 5);
}

#[test]
fn over_http_3_the_events_are_the_same() {
    let server = start(with_http3(Config::default()));
    let client = Http3Client::new(&server);
    let reply = client.get("/sse/5/gap/1ms/size/2000");
    assert_eq!((reply.status, reply.field("content-type")), (200, Some("text/event-stream")));
    assert_eq!((reply.field("cache-control"), reply.field("content-length")), (Some("no-store"), None));
    check_numbers(&reply.body, 5);
    assert!(events(&reply.body).iter().all(|event| event.data.len() == 2000));
    let mut session = client.connect();
    let reply = client.run(session.request(Method::HEAD, "/sse/5", b"")).unwrap();
    assert_eq!((reply.status, reply.body.len()), (200, 0));
    let counts = server.stop().unwrap();
    assert_eq!((counts.streams, counts.events), (1, 5));
}

#[test]
fn an_http_1_0_client_gets_events_until_the_close() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    client.send(b"GET /sse/3 HTTP/1.0\r\n\r\n");
    assert_eq!(client.head().field("transfer-encoding"), None);
    check_numbers(&client.rest(), 3);
}

#[test]
fn a_reply_to_head_has_no_events() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    client.send(b"HEAD /sse/3/gap/1h HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(client.head().field("content-type"), Some("text/event-stream"));
    assert_eq!(client.get("/size/1").body, b"0");
    assert_eq!(server.stop().unwrap().streams, 0);
}

#[test]
fn events_are_due_after_the_first_delay_at_the_gaps() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    let start = Instant::now();
    let body = client.get("/sse/6/first/30ms/gap/10ms").body;
    assert!(start.elapsed() >= Duration::from_millis(80));
    let events = events(&body);
    for (event, next) in events.iter().zip(&events[1..]) {
        assert_eq!(next.due_ns - event.due_ns, 10_000_000);
    }
    for event in &events {
        // Nothing leaves early. The two clocks are read one after the other, hence the millisecond.
        assert!(event.sent_ns + 1_000_000 >= event.due_ns, "{event:?}");
    }
}

#[test]
fn a_header_does_not_wait_for_the_first_event() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    client.send(b"GET /sse/2/first/1h HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(client.head().status, 200);
    let mut client = Http2Client::connect(&server);
    client.request("GET", "/sse/2/first/1h");
    assert!(matches!(client.event(), Event::Head { status: 200, .. }));
}

#[test]
fn events_that_go_together_share_a_write_and_its_instant() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    client.send(b"GET /sse/7/together/3/gap/1ms HTTP/1.1\r\nHost: x\r\n\r\n");
    client.head();
    let chunks = client.chunks();
    let sizes: Vec<usize> = chunks.iter().map(|chunk| events(chunk).len()).collect();
    assert_eq!(sizes, [3, 3, 1]);
    check_numbers(&chunks.concat(), 7);
    for chunk in &chunks {
        let events = events(chunk);
        assert!(events.iter().all(|event| event.due_ns == events[0].due_ns));
    }
    let frames = data(ask_http2(&mut Http2Client::connect(&server), "/sse/7/together/3/gap/1ms"));
    let sizes: Vec<usize> = frames.iter().map(|frame| events(frame).len()).collect();
    assert_eq!(sizes, [3, 3, 1]);
}

#[test]
fn options_apply_where_the_path_says_nothing() {
    let streams = Streams {
        first: "5ms".parse().unwrap(),
        gap: "2ms".parse().unwrap(),
        together: 2,
        events: 4,
        ..Streams::default()
    };
    let server = start(Config { streams, ..Config::default() });
    let mut client = Client::connect(&server);
    let body = client.get("/sse").body;
    check_numbers(&body, 4);
    let due: Vec<u64> = events(&body).iter().map(|event| event.due_ns).collect();
    assert_eq!([due[1] - due[0], due[2] - due[0], due[3] - due[0]], [0, 2_000_000, 2_000_000]);
    let body = client.get("/gap/3ms/together/1/sse/3").body;
    let due: Vec<u64> = events(&body).iter().map(|event| event.due_ns).collect();
    assert_eq!([due[1] - due[0], due[2] - due[0]], [3_000_000, 6_000_000]);
}

#[test]
fn a_size_pads_the_data_of_events() {
    let server = start(Config::default());
    let body = Client::connect(&server).get("/sse/12/size/1k").body;
    assert!(events(&body).iter().all(|event| event.data.len() == 1024));
}

#[test]
fn steps_of_streams_out_of_range_are_refused() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    for path in [
        "/sse/0",
        "/sse/x",
        "/sse/1000001",
        "/sse/1/first/x",
        "/sse/1/gap/exp:",
        "/sse/1/together/0",
        "/sse/1/together/1001",
        "/sse/1/cut/x",
        "/sse/1/size/65k",
    ] {
        assert_eq!(client.get(path).status, 400, "{path}");
    }
    assert_eq!(client.get("/sse/1/size/64k").status, 200);
}

#[track_caller]
fn check_cut(counts: &Counts, events: u64) {
    assert_eq!((counts.streams, counts.streams_cut, counts.events), (1, 1, events));
    assert_eq!((counts.requests, counts.replies_total()), (1, 0), "a stream that is cut is no reply");
}

#[test]
fn a_cut_closes_the_connection_without_the_last_chunk() {
    for (path, count) in [("/sse/9/cut/3", 3), ("/sse/9/cut/0", 0), ("/sse/3/cut/9", 3)] {
        let server = start(Config::default());
        let mut client = Client::connect(&server);
        client.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes());
        assert_eq!(client.head().status, 200);
        let (bytes, end) = client.until_end();
        assert_eq!(end, Ok(()), "{path}");
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text.matches("id: ").count(), count, "{path}: {text}");
        assert!(text.is_empty() || text.ends_with("}\n\n\r\n"), "{text}");
        drop(client);
        check_cut(&server.stop().unwrap(), count as u64);
    }
}

#[test]
fn over_http_2_a_cut_resets_the_stream_behind_the_events() {
    for (path, count) in [("/sse/9/cut/3", 3), ("/sse/9/cut/0", 0)] {
        let server = start(Config::default());
        let mut client = Http2Client::connect(&server);
        let got = ask_http2(&mut client, path);
        assert!(matches!(got.last(), Some(Event::Reset { code: INTERNAL_ERROR, .. })), "{got:?}");
        check_numbers(&data(got).concat(), count);
        assert_eq!(client.get("/size/1").body, b"0");
        let counts = server.stop().unwrap();
        assert_eq!((counts.streams_cut, counts.streams_reset, counts.events), (1, 1, count));
    }
}

#[test]
fn over_http_3_a_cut_resets_the_stream() {
    let server = start(with_http3(Config::default()));
    let client = Http3Client::new(&server);
    let mut session = client.connect();
    let error = client.run(session.request(Method::GET, "/sse/9/cut/3", b"")).unwrap_err();
    let StreamError::RemoteTerminate { code, .. } = error else { panic!("{error:?}") };
    assert_eq!(code.to_string(), "H3_INTERNAL_ERROR");
    assert_eq!(session.connection.close_reason(), None);
    drop(session);
    check_cut(&server.stop().unwrap(), 3);
}

#[test]
fn streams_break_off_by_chance_halfway() {
    let streams = Streams { cut: "1".parse().unwrap(), events: 10, ..Streams::default() };
    let server = start(Config { streams, ..Config::default() });
    let got = ask_http2(&mut Http2Client::connect(&server), "/sse");
    assert!(matches!(got.last(), Some(Event::Reset { code: INTERNAL_ERROR, .. })), "{got:?}");
    check_numbers(&data(got).concat(), 5);
}

#[test]
fn faults_meet_streams_too() {
    let ask = |path: &str| {
        let server = start(Config::default());
        let mut client = Client::connect(&server);
        client.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes());
        let (bytes, _) = client.until_end();
        drop(client);
        (String::from_utf8_lossy(&bytes).into_owned(), server.stop().unwrap())
    };
    for (fault, events, is_whole) in [
        (Fault::Truncate, 2, false),
        (Fault::ResetBody, 2, false),
        (Fault::BadChunk, 2, false),
        (Fault::NoLength, 4, false),
        (Fault::Interim, 4, true),
        (Fault::Goaway, 4, true),
        (Fault::HugeHeader, 4, true),
        (Fault::Trickle, 4, true),
        (Fault::StopSending, 4, true),
    ] {
        let (text, counts) = ask(&format!("/sse/4/gap/1ms/cut/1/fault/{fault}"));
        assert_eq!(text.matches("data: ").count(), events, "{fault}: {text}");
        assert_eq!(text.ends_with("\r\n0\r\n\r\n"), is_whole, "{fault}: {text}");
        assert_eq!((counts.faults_of(fault), counts.streams_cut), (1, 0), "{fault}");
    }
    for fault in [Fault::Close, Fault::Reset, Fault::Garbage] {
        let (text, counts) = ask(&format!("/sse/4/fault/{fault}"));
        assert!(!text.contains("data: "), "{fault}: {text}");
        assert_eq!((counts.faults_of(fault), counts.streams), (1, 0), "{fault}");
    }
}

#[test]
fn over_http_2_a_truncated_stream_ends_halfway_in_order() {
    let server = start(Config::default());
    let got = ask_http2(&mut Http2Client::connect(&server), "/sse/4/fault/truncate");
    assert!(matches!(got.last(), Some(Event::Data { is_end: true, .. })), "{got:?}");
    check_numbers(&data(got).concat(), 2);
}

#[test]
fn streams_take_turns_at_a_server_of_limited_capacity() {
    let capacity = Some(ServerCapacity { rate: 0.001, queue: Some(0) });
    let server = start(Config { capacity, ..Config::default() });
    let mut client = Client::connect(&server);
    assert_eq!(client.get("/sse/2").status, 200);
    assert_eq!(client.get("/sse/2").status, 503);
}

#[test]
fn a_connection_is_not_idle_between_two_events() {
    let limits = Limits { idle: Duration::from_millis(200), ..Limits::default() };
    let server = start(Config { limits, ..Config::default() });
    let mut client = Client::connect(&server);
    check_numbers(&client.get("/sse/3/gap/700ms").body, 3);
    drop(client);
    assert_eq!(server.stop().unwrap().connections_idled_out, 0);
}

#[test]
fn streams_of_one_connection_run_side_by_side() {
    let server = start(Config::default());
    let mut client = Http2Client::connect(&server);
    let slow = client.request("GET", "/sse/2/first/1h");
    let quick: Vec<u32> = (0..20).map(|_| client.request("GET", "/sse/5/gap/2ms")).collect();
    for stream in quick {
        check_numbers(&client.reply(stream).body, 5);
    }
    client.reset(slow, 0x8);
    assert_eq!(client.get("/size/1").body, b"0");
}
