//! The server over HTTP/2, asked with frames written by hand: what it is configured to do, and each fault frame by frame.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::thread;
use std::time::{Duration, Instant};

use crate::client::http2::{
    Client, Event, INITIAL_WINDOW_SIZE, PREFACE, Reply, frame, headers, settings_payload,
};
use crate::client::{Client as Http1Client, start};
use httperf_origin::{CloseAfter, Config, Counts, Fault, FaultMix, Handle, Http2, Limits, ServerCapacity};

/// Codes of errors.
const NO_ERROR: u32 = 0x0;
const PROTOCOL_ERROR: u32 = 0x1;
const INTERNAL_ERROR: u32 = 0x2;
const REFUSED_STREAM: u32 = 0x7;
const CANCEL: u32 = 0x8;
const ENHANCE_YOUR_CALM: u32 = 0xb;

#[test]
fn prior_knowledge_is_recognized_wherever_its_bytes_are_cut() {
    let server = start(Config::default());
    let opening = [PREFACE, &frame(0x4, 0, 0, &[]), &headers(1, "GET", "/size/5", &[], true)].concat();
    for cut in 0..=PREFACE.len() + 20 {
        let mut client = Client::silent(&server);
        client.send(&opening[..cut]);
        thread::sleep(Duration::from_millis(2));
        client.send(&opening[cut..]);
        assert_eq!(client.reply(1).body, b"01234", "cut at {cut}");
    }
    let counts = server.stop().unwrap();
    assert_eq!((counts.connections_http1, counts.connections_http2), (0, 45));
    assert_eq!(counts.replies_total(), 45);
}

#[test]
fn what_only_begins_like_the_preface_is_http_1() {
    let server = start(Config::default());
    for method in ["P", "PR", "PRI", "PRIOR", "POST"] {
        let request = format!("{method} /size/5 HTTP/1.1\r\nHost: x\r\n\r\n");
        for cut in 0..8 {
            let mut client = Http1Client::connect(&server);
            client.send(&request.as_bytes()[..cut]);
            thread::sleep(Duration::from_millis(2));
            client.send(&request.as_bytes()[cut..]);
            assert_eq!(client.reply().body, b"01234", "{method}, cut at {cut}");
        }
    }
    assert_eq!(server.stop().unwrap().connections_http1, 40);
}

#[test]
fn replies_are_those_of_http_1() {
    let server = start(Config::default());
    let mut old = Http1Client::connect(&server);
    let mut new = Client::connect(&server);
    for path in [
        "/",
        "/size/0",
        "/size/5m",
        "/status/404/size/3",
        "/status/205",
        "/chunked/0",
        "/chunked/9000",
        "/trailers/0",
        "/trailers/20000",
        "/cookie",
        "/page/3",
        "/redirect",
        "/status/777",
        "/h2-window/5/size/7",
    ] {
        let (old, new) = (old.get(path), new.get(path));
        assert_eq!((old.status, &old.body), (new.status, &new.body), "{path}");
        let comparable = |fields: &[(String, String)]| -> Vec<(String, String)> {
            let lower = fields.iter().map(|(name, value)| (name.to_lowercase(), value.to_lowercase()));
            let mut fields: Vec<_> =
                lower.filter(|(name, _)| !["date", "transfer-encoding"].contains(&name.as_str())).collect();
            fields.sort();
            fields
        };
        assert!(new.field("date").is_some(), "{path}");
        assert_eq!(comparable(&old.head), comparable(&new.fields), "{path}");
        assert_eq!(comparable(&old.trailers), comparable(&new.trailers), "{path}");
    }
    for status in [204, 304] {
        let reply = new.get(&format!("/status/{status}"));
        assert_eq!((reply.status, reply.body.len(), reply.field("content-length")), (status, 0, None));
    }
    let counts = server.stop().unwrap();
    assert_eq!((counts.connections_http1, counts.connections_http2), (1, 1));
}

#[test]
fn a_reply_to_head_has_the_fields_and_no_body() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    for (path, length) in [("/size/77", Some("77")), ("/chunked/77", None), ("/trailers/77", None)] {
        let stream = client.request("HEAD", path);
        let Event::Head { status, fields, is_end, .. } = client.event() else { panic!("no header") };
        let reply = Reply { fields, ..Reply::default() };
        assert_eq!((status, is_end, reply.field("content-length")), (200, true, length), "{path}");
        assert_eq!(client.get("/size/1").body, b"0", "after stream {stream}");
    }
}

#[test]
fn a_cookie_may_come_in_crumbs() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    let stream =
        client.request_with("GET", "/cookie", &[("cookie", "visits=41"), ("cookie", "theme=x")], true);
    let reply = client.reply(stream);
    assert_eq!(reply.field("set-cookie"), Some("visits=42; Path=/"));
    assert_eq!(reply.body, b"cookies received:\nvisits=41\ntheme=x\n");
}

#[test]
fn streams_do_not_wait_for_each_other() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    let slow = client.request("GET", "/delay/300ms/size/1");
    let stalled = client.request("GET", "/fault/stall");
    let order: Vec<u32> = (2..30).map(|size| client.request("GET", &format!("/size/{size}"))).collect();
    for (stream, size) in order.into_iter().zip(2..) {
        assert_eq!(client.reply(stream).body.len(), size);
    }
    assert_eq!(client.reply(slow).body.len(), 1);
    client.reset(stalled, CANCEL);
    assert_eq!(client.get("/size/3").body, b"012");
    let counts = server.stop().unwrap();
    assert_eq!((counts.requests, counts.replies_total(), counts.streams_reset_by_client), (31, 30, 1));
}

#[test]
fn capacity_and_queue_hold_over_streams_as_over_connections() {
    let capacity = Some(ServerCapacity { rate: 0.01, queue: Some(1) });
    let server = start(Config { capacity, ..Config::default() });
    let mut client = Client::connect(&server);
    assert_eq!(client.get("/").status, 200);
    client.request("GET", "/");
    let late: Vec<u32> = (0..3).map(|_| client.request("GET", "/")).collect();
    for stream in late {
        assert_eq!(client.reply(stream).status, 503);
    }
    let counts = server.stop().unwrap();
    assert_eq!((counts.replies, counts.replies_queue_full), ([1, 0, 0, 3], 3));
}

#[test]
fn delays_and_mixes_are_drawn_as_over_http_1() {
    let config = || Config {
        status: "200:1,503:1,404:1".parse().unwrap(),
        delay: "uniform:0ms,2ms".parse().unwrap(),
        ..Config::default()
    };
    let (server, other) = (start(config()), start(config()));
    let (mut new, mut old) = (Client::connect(&server), Http1Client::connect(&other));
    let statuses: Vec<u16> = (0..40).map(|_| new.get("/").status).collect();
    let expected: Vec<u16> = (0..40).map(|_| old.get("/").status).collect();
    assert_eq!(statuses, expected);
    let began = Instant::now();
    assert_eq!(new.get("/delay/40ms/status/200").status, 200);
    assert!(began.elapsed() >= Duration::from_millis(40));
}

/// Starts a server with these windows.
fn with_http2(http2: Http2) -> Handle {
    start(Config { http2: Some(http2), ..Config::default() })
}

#[test]
fn request_bodies_come_through_the_smallest_window() {
    let server = with_http2(Http2 { window: 1, ..Http2::default() });
    let mut client = Client::connect(&server);
    client.shows_all = true;
    let stream = client.request_with("POST", "/size/3", &[], false);
    assert!(
        matches!(client.event(), Event::Settings(settings) if settings.contains(&(INITIAL_WINDOW_SIZE, 1)))
    );
    for _ in 0..20 {
        client.data(stream, b"x", false);
        while client.event() != (Event::Window { stream, increment: 1 }) {}
    }
    client.data(stream, b"x", true);
    client.shows_all = false;
    assert_eq!(client.reply(stream).body, b"012");
    assert_eq!(server.stop().unwrap().requests_malformed, 0);
}

#[test]
fn a_small_connection_window_is_refilled_as_bodies_are_read() {
    let server = with_http2(Http2 { connection_window: 1000, ..Http2::default() });
    let mut client = Client::connect(&server);
    client.shows_all = true;
    let stream = client.request_with("POST", "/size/3", &[], false);
    let (mut window, mut left) = (65_535, 200_000);
    while left > 0 {
        let size = left.min(window).min(16_384);
        left -= size;
        window -= size;
        client.data(stream, &vec![b'x'; size], left == 0);
        while left > 0 && window == 0 {
            if let Event::Window { stream: 0, increment } = client.event() {
                assert!(increment <= 1000, "{increment}");
                window += increment as usize;
            }
        }
    }
    client.shows_all = false;
    assert_eq!(client.reply(stream).body, b"012");
}

#[test]
fn what_was_sent_before_the_window_was_known_does_not_block_a_stream() {
    let server = with_http2(Http2 { window: 1000, ..Http2::default() });
    let mut client = Client::silent(&server);
    client.shows_all = true;
    // Less than half of the window that streams have at first, so that it need not be opened.
    let body = frame(0x0, 0, 1, &[b'x'; 16_000]);
    client
        .send(&[PREFACE, &frame(0x4, 0, 0, &[]), &headers(1, "POST", "/size/3", &[], false), &body].concat());
    let mut window = 65_535 - 16_000 + 1000 - 65_535;
    while window <= 0 {
        if let Event::Window { stream: 1, increment } = client.event() {
            window += i64::from(increment);
        }
    }
    assert_eq!(window, 1000);
    client.shows_all = false;
    client.data(1, b"x", true);
    assert_eq!(client.reply(1).body, b"012");
}

#[test]
fn a_body_beyond_the_window_ends_its_stream() {
    let server = with_http2(Http2 { window: 10, ..Http2::default() });
    let mut client = Client::connect(&server);
    // The window is in force when the client has acknowledged it.
    assert_eq!(client.get("/size/1").body, b"0");
    assert_eq!(client.get("/size/1").body, b"0");
    let stream = client.request_with("POST", "/", &[], false);
    client.data(stream, &[b'x'; 100], false);
    let event = client.event();
    assert!(matches!(event, Event::Reset { .. } | Event::Goaway { .. }), "{event:?}");
}

#[test]
fn the_window_can_be_changed_in_mid_connection() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    assert_eq!(client.get("/size/1").body, b"0");
    client.shows_all = true;
    for size in [5, 0, 2_147_483_647] {
        client.request("GET", &format!("/h2-window/{size}/size/1"));
        let mut events = Vec::new();
        while !matches!(events.last(), Some(Event::Data { .. })) {
            events.push(client.event());
        }
        let changed = Event::Settings(vec![(INITIAL_WINDOW_SIZE, size)]);
        assert!(events.contains(&changed), "{events:?}");
    }
    assert_eq!(client.get("/h2-window/2g").status, 400);
}

#[test]
fn what_is_configured_is_said_in_the_first_settings() {
    let http2 =
        Http2 { window: 7, connection_window: 200_000, streams: 3, frame_size: 20_000, header_table: 0 };
    let server = with_http2(http2);
    let mut client = Client::connect(&server);
    client.shows_all = true;
    let Event::Settings(settings) = client.event() else { panic!("no settings") };
    for expected in [(0x1, 0), (0x3, 3), (INITIAL_WINDOW_SIZE, 7), (0x5, 20_000)] {
        assert!(settings.contains(&expected), "{expected:?} is not in {settings:?}");
    }
    assert_eq!(client.event(), Event::SettingsAcknowledged);
    assert_eq!(client.event(), Event::Window { stream: 0, increment: 200_000 - 65_535 });
}

#[test]
fn a_stream_too_many_is_refused() {
    let server = with_http2(Http2 { streams: 2, ..Http2::default() });
    let mut client = Client::connect(&server);
    let open: Vec<u32> = (0..2).map(|_| client.request("GET", "/delay/200ms/size/3")).collect();
    let stream = client.request("GET", "/");
    assert_eq!(client.event(), Event::Reset { stream, code: REFUSED_STREAM });
    for stream in open {
        assert_eq!(client.reply(stream).body, b"012");
    }
    let counts = server.stop().unwrap();
    assert_eq!((counts.requests, counts.streams_reset), (2, 1));
}

#[test]
fn replies_keep_to_the_windows_of_the_client() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    client.opens_windows = false;
    client.settings(&[(INITIAL_WINDOW_SIZE, 3)]);
    let stream = client.request("GET", "/size/10");
    let head = client.event();
    assert!(matches!(head, Event::Head { status: 200, is_end: false, .. }), "{head:?}");
    let data = |bytes: &[u8], is_end| Event::Data { stream, bytes: bytes.to_vec(), is_end };
    assert_eq!(client.event(), data(b"012", false));
    assert!(client.is_silent_for(Duration::from_millis(50)));
    client.open_window(stream, 2);
    assert_eq!(client.event(), data(b"34", false));
    client.open_window(stream, 100);
    assert_eq!(client.event(), data(b"56789", true));
    // The window of the connection: 65,535 bytes, of which 10 are used up.
    client.settings(&[(INITIAL_WINDOW_SIZE, 1 << 20)]);
    let stream = client.request("GET", "/size/65536");
    let mut size = 0;
    while size < 65_525 {
        if let Event::Data { bytes, .. } = client.event() {
            size += bytes.len();
        }
    }
    assert!(client.is_silent_for(Duration::from_millis(50)));
    client.open_window(0, 11);
    assert_eq!(client.event(), Event::Data { stream, bytes: b"RSTUVWXYZ.\n".to_vec(), is_end: true });
}

#[test]
fn a_client_that_asks_first_is_told_to_continue() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    let fields = [("expect", "100-continue"), ("content-length", "2")];
    let stream = client.request_with("POST", "/size/3", &fields, false);
    assert!(matches!(client.event(), Event::Head { status: 100, is_end: false, .. }));
    client.data(stream, b"hi", true);
    assert_eq!(client.reply(stream).body, b"012");
}

#[test]
fn a_connection_says_that_it_closes_and_answers_what_is_under_way() {
    let close_after = Some(CloseAfter { replies: 2, announced: true });
    let server = start(Config { close_after, size: 3, ..Config::default() });
    let mut client = Client::connect(&server);
    let slow = client.request("GET", "/delay/200ms");
    assert_eq!(client.get("/").body, b"012");
    let second = client.request("GET", "/");
    let under_way = client.request("GET", "/delay/100ms");
    assert_eq!(client.event(), Event::Goaway { last: (1 << 31) - 1, code: NO_ERROR });
    for stream in [second, under_way, slow] {
        assert_eq!(client.reply(stream).body, b"012");
    }
    let rest = client.until_end();
    assert_eq!(rest, [Event::Goaway { last: under_way, code: NO_ERROR }, Event::Closed]);
    let counts = server.stop().unwrap();
    assert_eq!((counts.requests, counts.replies_total(), counts.goaways_sent), (4, 4, 2));
}

#[test]
fn a_connection_closes_after_its_last_reply_without_a_word() {
    let close_after = Some(CloseAfter { replies: 2, announced: false });
    for path in ["/size/60000", "/size/0", "/chunked/9000", "/trailers/9000", "/status/204"] {
        let server = start(Config { close_after, ..Config::default() });
        let mut client = Client::connect(&server);
        client.get(path);
        client.get(path);
        assert_eq!(client.until_end(), [Event::Closed], "{path}");
        drop(client);
        let counts = server.stop().unwrap();
        assert_eq!((counts.requests, counts.replies_total(), counts.goaways_sent), (2, 2, 0), "{path}");
    }
}

/// Asks for a fault and then, if the connection can be used, for something else. Returns what came before that.
fn suffer(path: &str) -> (Vec<Event>, Counts) {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    let stream = client.request("GET", path);
    let mut events = Vec::new();
    let survives = loop {
        match client.event() {
            Event::Head { status, is_end, .. } => {
                // What else is in it is compared elsewhere.
                events.push(Event::Head { stream, status, fields: Vec::new(), is_end });
            }
            end @ (Event::Closed | Event::Cut | Event::Garbage(_)) => {
                events.push(end);
                break false;
            }
            event => events.push(event),
        }
        let is_over = match events.last() {
            Some(Event::Head { is_end, .. } | Event::Data { is_end, .. }) => *is_end,
            Some(Event::Reset { .. }) => true,
            _ => false,
        };
        if is_over {
            break true;
        }
    };
    if survives {
        assert_eq!(client.get("/size/3").body, b"012", "after {path}");
    }
    drop(client);
    (events, server.stop().unwrap())
}

const STREAM: u32 = 1;

fn head(status: u16) -> Event {
    Event::Head { stream: STREAM, status, fields: Vec::new(), is_end: false }
}

fn data(bytes: &[u8], is_end: bool) -> Event {
    Event::Data { stream: STREAM, bytes: bytes.to_vec(), is_end }
}

#[track_caller]
fn check(fault: Fault, rest: &str, expected: &[Event]) {
    let (events, counts) = suffer(&format!("/fault/{fault}{rest}"));
    assert_eq!(events, expected, "{fault}");
    assert_eq!(counts.faults_of(fault), 1, "{fault}");
    let is_usable = !matches!(events.last(), Some(Event::Closed | Event::Cut | Event::Garbage(_)));
    let replies = u64::from(fault.completes_reply()) + u64::from(is_usable);
    assert_eq!(counts.replies_total(), replies, "{fault}");
}

#[test]
fn faults_of_a_connection_end_it() {
    check(Fault::Reset, "", &[Event::Cut]);
    check(Fault::Close, "", &[Event::Closed]);
    check(Fault::ResetBody, "/size/20", &[head(200), data(b"0123456789", false), Event::Cut]);
    check(Fault::ResetBody, "/size/0", &[head(200), Event::Cut]);
    let garbage = b"\x16\x03\x01\x00\xfa this is not HTTP \xff\xfe\x00\r\n\r\n";
    check(Fault::Garbage, "", &[Event::Garbage(garbage.to_vec())]);
    let error = Event::Goaway { last: STREAM, code: ENHANCE_YOUR_CALM };
    check(Fault::GoawayError, "", &[error, Event::Closed]);
}

#[test]
fn faults_of_a_stream_leave_the_connection_usable() {
    let reset = |code| Event::Reset { stream: STREAM, code };
    check(Fault::ResetStream, "", &[reset(INTERNAL_ERROR)]);
    check(Fault::RefuseStream, "", &[reset(REFUSED_STREAM)]);
    let half = data(b"0123456789", false);
    check(Fault::Truncate, "/size/20", &[head(200), half.clone(), data(b"", true)]);
    check(Fault::Truncate, "/size/0", &[head(200), reset(INTERNAL_ERROR)]);
    check(Fault::Truncate, "/status/204", &[head(204), reset(INTERNAL_ERROR)]);
    check(Fault::BadChunk, "/size/20", &[head(200), half, reset(INTERNAL_ERROR)]);
    check(Fault::BadChunk, "/size/1", &[head(200), reset(INTERNAL_ERROR)]);
    check(Fault::NoLength, "/size/5", &[head(200), data(b"01234", true)]);
    check(Fault::BadLength, "/size/5", &[head(200), data(b"01234", true)]);
    check(Fault::HugeHeader, "/size/5", &[head(200), data(b"01234", true)]);
    check(Fault::Interim, "/size/5", &[head(100), head(103), head(200), data(b"01234", true)]);
}

#[test]
fn frames_that_break_the_rules_come_instead_of_a_reply() {
    for (fault, stream) in [(Fault::BadHeader, 3_u8), (Fault::BadFrame, 0)] {
        let server = start(Config::default());
        let mut client = Client::connect(&server);
        // Settings come before the first reply.
        client.get("/size/3");
        client.request("GET", &format!("/fault/{fault}"));
        assert_eq!(client.take(9), [0, 0, 16, 1, 4, 0, 0, 0, stream], "{fault}");
        assert_eq!(client.take(16), [0xff; 16], "{fault}");
        drop(client);
        assert_eq!(server.stop().unwrap().faults_of(fault), 1);
    }
}

#[test]
fn the_body_of_a_request_can_be_refused() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    let stream = client.request_with("POST", "/fault/stop-sending/size/5", &[], false);
    assert_eq!(client.reply(stream).body, b"01234");
    assert_eq!(client.event(), Event::Reset { stream, code: NO_ERROR });
    assert_eq!(client.get("/size/3").body, b"012");
}

#[test]
fn a_connection_falls_silent_for_all_its_streams() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    assert_eq!(client.get("/size/3").body, b"012");
    client.request("GET", "/fault/silence");
    client.request("GET", "/delay/50ms");
    assert!(client.is_silent_for(Duration::from_millis(300)));
}

#[test]
fn faulty_headers_say_of_the_size_what_they_should() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    for (fault, length) in [
        ("truncate", Some("6")),
        ("bad-length", Some("plenty")),
        ("no-length", None),
        ("trickle", Some("6")),
        ("huge-header", Some("6")),
        ("goaway", Some("6")),
    ] {
        let reply = client.get(&format!("/fault/{fault}/size/6"));
        assert_eq!(reply.field("content-length"), length, "{fault}");
        let size: usize = reply.fields.iter().map(|(name, value)| name.len() + value.len()).sum();
        assert_eq!(size > 1 << 20, fault == "huge-header", "{fault}");
    }
}

#[test]
fn surplus_bytes_follow_on_the_stream_that_has_ended() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    let stream = client.request("GET", "/fault/surplus/size/5");
    assert_eq!(client.reply(stream).body, b"01234");
    let bytes = b"these bytes belong to no reply\r\n".to_vec();
    assert_eq!(client.event(), Event::Data { stream, bytes, is_end: false });
    assert_eq!(client.get("/size/3").body, b"012");
}

#[test]
fn a_goaway_comes_before_the_reply_that_is_to_be_the_last() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    let slow = client.request("GET", "/delay/100ms/size/1");
    let stream = client.request("GET", "/fault/goaway/size/5");
    assert_eq!(client.event(), Event::Goaway { last: (1 << 31) - 1, code: NO_ERROR });
    assert_eq!(client.reply(stream).body, b"01234");
    assert_eq!(client.reply(slow).body, b"0");
    assert_eq!(client.until_end(), [Event::Goaway { last: stream, code: NO_ERROR }, Event::Closed]);
    let counts = server.stop().unwrap();
    assert_eq!((counts.faults_of(Fault::Goaway), counts.replies_total()), (1, 2));
}

#[test]
fn a_trickling_reply_holds_up_nobody_else() {
    let server = start(Config { trickle: Duration::from_millis(20), ..Config::default() });
    let mut client = Client::connect(&server);
    let slow = client.request("GET", "/fault/trickle/size/10");
    let quick = client.request("GET", "/size/100");
    let mut order = Vec::new();
    while order.len() < 2 {
        if let Event::Data { stream, is_end: true, .. } = client.event() {
            order.push(stream);
        }
    }
    assert_eq!(order, [quick, slow]);
}

#[test]
fn a_stalled_stream_outlives_the_idle_limit_and_a_silent_connection_does_not() {
    let limits = Limits { idle: Duration::from_millis(300), ..Limits::default() };
    let server = start(Config { limits, ..Config::default() });
    let mut silent = Client::connect(&server);
    let mut unsaid = Client::silent(&server);
    let mut stalled = Client::connect(&server);
    let stream = stalled.request("GET", "/fault/stall");
    stalled.request("GET", "/size/1");
    while !matches!(stalled.event(), Event::Data { .. }) {}
    assert_eq!(silent.until_end(), [Event::Closed]);
    assert_eq!(unsaid.until_end(), [Event::Closed]);
    assert!(stalled.is_silent_for(Duration::from_millis(700)));
    stalled.reset(stream, CANCEL);
    assert_eq!(stalled.until_end(), [Event::Closed]);
    assert_eq!(server.stop().unwrap().connections_idled_out, 3);
}

#[test]
fn the_first_reply_to_a_seed_goes_wrong_over_both_protocols() {
    let outcomes = |is_http2: bool| -> Vec<bool> {
        let faults = FaultMix::new(vec!["bad-length:0.3".parse().unwrap()]).unwrap();
        let server = start(Config { faults, ..Config::default() });
        let of_http1 = || {
            let mut client = Http1Client::connect(&server);
            client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
            client.head().field("content-length") == Some("plenty")
        };
        let of_http2 = || Client::connect(&server).get("/").field("content-length") == Some("plenty");
        (0..40).map(|_| if is_http2 { of_http2() } else { of_http1() }).collect()
    };
    let over_http2 = outcomes(true);
    assert!(over_http2.contains(&true) && over_http2.contains(&false), "{over_http2:?}");
    assert_eq!(over_http2, outcomes(false));
}

#[test]
fn what_a_client_gives_up_is_not_prepared_any_longer() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    for path in ["/delay/1h", "/fault/stall", "/fault/trickle/size/1m", "/size/1g"] {
        client.opens_windows = false;
        let stream = client.request("GET", path);
        thread::sleep(Duration::from_millis(20));
        client.reset(stream, CANCEL);
        client.opens_windows = true;
        // What was on its way has used up the window of the connection.
        client.open_window(0, 1 << 20);
        assert_eq!(client.get("/size/3").body, b"012", "after {path}");
    }
    assert_eq!(server.stop().unwrap().streams_reset_by_client, 4);
}

#[test]
fn a_client_that_leaves_early_is_forgotten() {
    let server = start(Config::default());
    for path in ["/delay/1h", "/size/1g", "/fault/stall", "/fault/trickle", "/trailers/1g", "/fault/reset"] {
        let mut client = Client::connect(&server);
        client.request("GET", path);
        // Its first settings.
        client.take(9);
        drop(client);
        assert_eq!(Client::connect(&server).get("/size/3").body, b"012", "after {path}");
    }
}

#[test]
fn no_client_can_bring_the_server_down() {
    let server = start(Config::default());
    let opened = |frames: &[u8]| [PREFACE, &frame(0x4, 0, 0, &[]), frames].concat();
    let offences = [
        PREFACE.to_vec(),
        [PREFACE, b"this is no frame, and yet it comes"].concat(),
        opened(&frame(0x0, 0, 1, b"data of no stream")),
        opened(&frame(0x0, 0, 0, b"data of the connection")),
        opened(&frame(0x1, 0x5, 2, &[0x82])),
        opened(&frame(0x1, 0x5, 1, &[0xff; 20])),
        opened(&frame(0x1, 0x1, 1, &[0x82])),
        opened(&frame(0x4, 0, 0, &[0; 5])),
        opened(&frame(0x4, 0, 0, &settings_payload(&[(INITIAL_WINDOW_SIZE, u32::MAX)]))),
        opened(&frame(0x8, 0, 0, &[0; 4])),
        opened(&frame(0x9, 0, 1, &[0x82])),
        opened(&vec![0xff; 100_000]),
        opened(&headers(1, "GET", "/", &[("Upper", "case")], true)),
        opened(&headers(1, "GET", "/", &[("connection", "close")], true)),
        opened(&headers(1, "GET", "", &[], true)),
        opened(&headers(1, "GET", "/size/18446744073709551615", &[], true)),
    ];
    for (index, offence) in offences.iter().enumerate() {
        let mut client = Client::silent(&server);
        // The server may hang up while it is being sent too much.
        client.try_send(offence);
        client.read_some();
        drop(client);
        assert_eq!(Client::connect(&server).get("/size/3").body, b"012", "after offence {index}");
    }
    let counts = server.stop().unwrap();
    assert!(counts.requests_malformed >= 8, "{counts}");
}

#[test]
fn a_header_that_is_too_large_is_refused_and_one_that_is_large_is_not() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    let value = "x".repeat(10_000);
    for (count, status) in [(1, 200), (90, 200), (120, 431)] {
        let stream = client.request_with("GET", "/size/3", &vec![("filler", value.as_str()); count], true);
        assert_eq!(client.reply(stream).status, status, "{count}");
    }
    assert_eq!(client.get("/size/3").body, b"012");
}

#[test]
fn a_body_that_is_not_as_long_as_it_says_is_malformed() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    let stream = client.request_with("POST", "/", &[("content-length", "5")], false);
    client.data(stream, b"hi", true);
    assert_eq!(client.event(), Event::Reset { stream, code: PROTOCOL_ERROR });
    assert_eq!(client.get("/size/3").body, b"012");
    assert_eq!(server.stop().unwrap().requests_malformed, 1);
}

#[test]
fn a_client_that_ends_in_order_is_let_go() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    assert_eq!(client.get("/size/3").body, b"012");
    client.send(&frame(0x7, 0, 0, &[0; 8]));
    let events = client.until_end();
    assert_eq!(events.last(), Some(&Event::Closed), "{events:?}");
    assert_eq!(server.stop().unwrap().goaways_received, 1);
}

#[test]
fn both_ends_count_alike() {
    let server = start(Config { size: 300, ..Config::default() });
    let mut client = Client::connect(&server);
    for _ in 0..3 {
        assert_eq!(client.get("/").body.len(), 300);
    }
    drop(client);
    let counts = server.stop().unwrap();
    let expected = Counts {
        connections: 1,
        connections_open_max: 1,
        connections_http2: 1,
        requests: 3,
        replies: [3, 0, 0, 0],
        bytes_sent: counts.bytes_sent,
        ..Counts::default()
    };
    assert_eq!(counts, expected);
}

#[test]
fn the_server_notes_when_requests_came_and_replies_left() {
    let server = start(Config { stamps: 2, ..Config::default() });
    let mut client = Client::connect(&server);
    for path in ["/delay/20ms?1", "/?2", "/?3"] {
        assert_eq!(client.get(path).status, 200);
    }
    let stamps = server.stop().unwrap().stamps;
    let targets: Vec<&str> = stamps.iter().map(|stamp| stamp.target.as_str()).collect();
    assert_eq!(targets, ["/delay/20ms?1", "/?2"]);
    assert!(stamps[0].handed - stamps[0].received >= Duration::from_millis(20), "{stamps:?}");
    assert!(stamps[0].handed < stamps[1].received && stamps[1].received < stamps[1].handed, "{stamps:?}");
}

#[test]
fn without_http_2_its_preface_is_a_malformed_request() {
    let server = start(Config { http2: None, ..Config::default() });
    let mut client = Http1Client::connect(&server);
    client.send(&[PREFACE, &frame(0x4, 0, 0, &[])].concat());
    client.read_some();
    let counts = server.stop().unwrap();
    assert_eq!((counts.connections_http1, counts.connections_http2), (1, 0));
    assert_eq!(counts.requests_malformed, 1);
}

#[test]
fn a_request_that_asks_for_http_2_by_an_upgrade_is_answered_over_http_1() {
    for http2 in [Some(Http2::default()), None] {
        let server = start(Config { http2, ..Config::default() });
        let mut client = Http1Client::connect(&server);
        let asking = "GET /size/3 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\
                      HTTP2-Settings: AAQAAAAK\r\n\r\n";
        for _ in 0..2 {
            client.send(asking.as_bytes());
            let reply = client.reply();
            assert_eq!((reply.status, &reply.body[..]), (200, &b"012"[..]));
        }
        let counts = server.stop().unwrap();
        assert_eq!((counts.connections_http1, counts.connections_http2, counts.requests), (1, 0, 2));
    }
}
