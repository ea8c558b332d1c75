//! Faults over real loopback sockets, each seen byte for byte, and clients whose fault it is.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use crate::client;
use crate::client::{Client, start};
use httperf_origin::{CloseAfter, Config, Counts, Fault, FaultMix, Handle, Limits};

/// Asks for a fault and returns all that came until the connection ended, and how it ended.
fn suffer(path: &str) -> (String, Result<(), ErrorKind>, Counts) {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    client.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes());
    let (bytes, end) = client.until_end();
    drop(client);
    let counts = server.stop().unwrap();
    assert_eq!((counts.connections, counts.requests), (1, 1));
    (String::from_utf8_lossy(&bytes).into_owned(), end, counts)
}

/// Asks for a fault that leaves the connection usable, and uses it.
fn survive(server: &Handle, path: &str) -> client::Reply {
    let mut client = Client::connect(server);
    let reply = client.get(path);
    assert_eq!(client.get("/size/3").body, b"012", "after {path}");
    reply
}

#[track_caller]
fn check_counted(counts: &Counts, fault: Fault, replies: u64) {
    let mut expected = [0; Fault::ALL.len()];
    expected[Fault::ALL.iter().position(|&other| other == fault).unwrap()] = 1;
    assert_eq!((counts.faults, counts.replies_total()), (expected, replies));
}

#[test]
fn reset_answers_with_a_reset() {
    let (bytes, end, counts) = suffer("/fault/reset");
    assert_eq!((bytes.as_str(), end), ("", Err(ErrorKind::ConnectionReset)));
    check_counted(&counts, Fault::Reset, 0);
}

#[test]
fn reset_body_resets_halfway() {
    let (bytes, end, counts) = suffer("/fault/reset-body/size/20");
    assert!(bytes.contains("Content-Length: 20\r\n") && bytes.ends_with("\r\n\r\n0123456789"), "{bytes}");
    assert_eq!(end, Err(ErrorKind::ConnectionReset));
    check_counted(&counts, Fault::ResetBody, 0);
}

#[test]
fn close_answers_with_a_close() {
    let (bytes, end, counts) = suffer("/fault/close");
    assert_eq!((bytes.as_str(), end), ("", Ok(())));
    check_counted(&counts, Fault::Close, 0);
}

#[test]
fn stall_never_answers_and_outlives_the_idle_limit() {
    let limits = Limits { idle: Duration::from_millis(300), ..Limits::default() };
    let server = start(Config { limits, ..Config::default() });
    let mut client = Client::connect(&server);
    client.send(b"GET /fault/stall HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(client.reply_within(Duration::from_millis(1000)).is_none());
    assert!(client.is_open());
    drop(client);
    let counts = server.stop().unwrap();
    check_counted(&counts, Fault::Stall, 0);
    assert_eq!(counts.connections_idled_out, 0);
}

#[test]
fn truncate_stops_short_and_closes() {
    let (bytes, end, counts) = suffer("/fault/truncate/size/20");
    assert!(bytes.contains("Content-Length: 20\r\n") && bytes.ends_with("\r\n\r\n0123456789"), "{bytes}");
    assert_eq!(end, Ok(()));
    check_counted(&counts, Fault::Truncate, 0);
}

#[test]
fn truncate_without_a_body_stops_in_the_header() {
    for path in ["/fault/truncate/size/0", "/fault/truncate/status/204"] {
        let (bytes, end, _) = suffer(path);
        assert!(bytes.starts_with("HTTP/1.1 20") && !bytes.contains("\r\n\r\n"), "{bytes}");
        assert_eq!(end, Ok(()));
    }
}

#[test]
fn garbage_is_not_http() {
    let (bytes, end, counts) = suffer("/fault/garbage");
    assert!(!bytes.is_empty() && !bytes.starts_with("HTTP/"), "{bytes}");
    assert_eq!(end, Ok(()));
    check_counted(&counts, Fault::Garbage, 0);
}

#[test]
fn trickle_sends_the_body_byte_by_byte() {
    let server = start(Config { trickle: Duration::from_millis(5), ..Config::default() });
    let start = Instant::now();
    let reply = survive(&server, "/fault/trickle/size/20");
    assert_eq!((reply.status, reply.body.len()), (200, 20));
    assert!(start.elapsed() >= Duration::from_millis(19 * 5));
    check_counted(&server.stop().unwrap(), Fault::Trickle, 2);
}

#[test]
fn no_length_ends_with_the_connection() {
    let (bytes, end, counts) = suffer("/fault/no-length/size/10");
    assert!(bytes.ends_with("\r\n\r\n0123456789"), "{bytes}");
    let lower = bytes.to_ascii_lowercase();
    assert!(!lower.contains("content-length") && !lower.contains("transfer-encoding"), "{bytes}");
    assert_eq!(end, Ok(()));
    check_counted(&counts, Fault::NoLength, 1);
}

#[test]
fn bad_length_is_not_a_number() {
    let (bytes, end, counts) = suffer("/fault/bad-length/size/10");
    assert!(bytes.contains("Content-Length: plenty\r\n") && bytes.ends_with("0123456789"), "{bytes}");
    assert_eq!(end, Ok(()));
    check_counted(&counts, Fault::BadLength, 0);
}

#[test]
fn bad_header_has_a_line_that_is_none() {
    let (bytes, end, counts) = suffer("/fault/bad-header/size/10");
    assert!(bytes.contains("\r\nthis line is no field\r\n\r\n0123456789"), "{bytes}");
    assert_eq!(end, Ok(()));
    check_counted(&counts, Fault::BadHeader, 0);
}

#[test]
fn stop_sending_answers_before_the_body_is_there() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    client.send(b"POST /fault/stop-sending/size/5 HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n0123");
    let reply = client.reply();
    assert_eq!((reply.field("connection"), &reply.body[..]), (Some("close"), &b"01234"[..]));
    assert!(client.rest().is_empty());
    drop(client);
    check_counted(&server.stop().unwrap(), Fault::StopSending, 1);
}

#[test]
fn bad_chunk_breaks_off_with_a_size_that_is_none() {
    let (bytes, end, counts) = suffer("/fault/bad-chunk/size/10");
    assert!(bytes.contains("Transfer-Encoding: chunked\r\n"), "{bytes}");
    assert!(bytes.ends_with("\r\n\r\n5\r\n01234\r\nnot a size\r\n"), "{bytes}");
    assert_eq!(end, Ok(()));
    check_counted(&counts, Fault::BadChunk, 0);
}

#[test]
fn huge_header_is_a_correct_reply_behind_a_megabyte() {
    let server = start(Config::default());
    let reply = survive(&server, "/fault/huge-header/size/5");
    assert!(reply.head_size > 1 << 20);
    assert_eq!(reply.body, b"01234");
    check_counted(&server.stop().unwrap(), Fault::HugeHeader, 2);
}

#[test]
fn surplus_bytes_follow_a_correct_reply() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    assert_eq!(client.get("/fault/surplus/size/5").body, b"01234");
    assert_eq!(client.take(32), b"these bytes belong to no reply\r\n");
    assert_eq!(client.get("/size/3").body, b"012");
    check_counted(&server.stop().unwrap(), Fault::Surplus, 2);
}

#[test]
fn interim_replies_come_before_the_final_one() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    client.send(b"GET /fault/interim/size/5 HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(client.head().status, 100);
    assert_eq!(client.head().status, 103);
    assert_eq!(client.reply().body, b"01234");
    assert_eq!(client.get("/size/3").body, b"012");
    check_counted(&server.stop().unwrap(), Fault::Interim, 2);
}

#[test]
fn a_status_that_forbids_content_comes_without_a_length() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    for (status, length) in [(204, None), (205, Some("0")), (304, None)] {
        client.send(format!("GET /fault/interim/status/{status} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes());
        let [.., last] = [client.head(), client.head(), client.head()];
        assert_eq!((last.status, last.field("content-length")), (status, length));
    }
    assert_eq!(client.get("/size/3").body, b"012");
}

#[test]
fn faults_of_http_2_are_resets_and_closes_over_http_1() {
    for (fault, expected) in [
        (Fault::ResetStream, Err(ErrorKind::ConnectionReset)),
        (Fault::RefuseStream, Ok(())),
        (Fault::GoawayError, Ok(())),
    ] {
        let (bytes, end, counts) = suffer(&format!("/fault/{fault}"));
        assert_eq!((bytes.as_str(), end), ("", expected), "{fault}");
        check_counted(&counts, fault, 0);
    }
}

#[test]
fn goaway_is_a_correct_reply_that_is_the_last_over_http_1() {
    for path in ["/fault/goaway/size/5", "/fault/goaway/chunked/5", "/fault/goaway/trailers/5"] {
        let server = start(Config::default());
        let mut client = Client::connect(&server);
        let reply = client.get(path);
        assert_eq!(
            (reply.field("connection"), reply.body.as_slice()),
            (Some("close"), &b"01234"[..]),
            "{path}"
        );
        assert_eq!(client.rest(), b"", "{path}");
        check_counted(&server.stop().unwrap(), Fault::Goaway, 1);
    }
}

#[test]
fn replies_before_a_fault_and_requests_after_it_are_not_lost() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    let request = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
    // The first reply is larger than what sockets hold, so it is still on its way when the fault is due.
    let requests = ["/size/20m", "/fault/interim/size/1", "/size/2", "/fault/huge-header/size/3", "/size/4"];
    client.send(requests.map(request).concat().as_bytes());
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(client.reply().body.len(), 20 << 20);
    assert_eq!((client.head().status, client.head().status), (100, 103));
    for size in 1..=4 {
        assert_eq!(client.reply().body.len(), size);
    }
    assert_eq!(server.stop().unwrap().replies_total(), 5);
}

#[test]
fn a_fault_waits_for_the_body_of_its_request() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    client.send(b"POST /fault/interim/size/5 HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n");
    client.send(&vec![b'x'; 300_000]);
    assert_eq!((client.head().status, client.head().status), (100, 103));
    assert_eq!(client.reply().body, b"01234");
    assert_eq!(client.get("/size/3").body, b"012");
}

#[test]
fn faulty_replies_to_head_have_no_body() {
    let server = start(Config::default());
    for fault in ["surplus", "huge-header", "interim"] {
        let mut client = Client::connect(&server);
        client.send(format!("HEAD /fault/{fault}/size/5 HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes());
        if fault == "interim" {
            assert_eq!((client.head().status, client.head().status), (100, 103));
        }
        assert_eq!(client.head().field("content-length"), Some("5"), "{fault}");
        if fault == "surplus" {
            client.take(32);
        }
        assert_eq!(client.get("/size/3").body, b"012", "{fault}");
    }
}

#[test]
fn a_fault_keeps_to_what_connection_says() {
    let server = start(Config::default());
    for request in [
        "GET /fault/huge-header HTTP/1.1\r\nHost: x\r\nConnection: foo, Close\r\n\r\n",
        "GET /fault/huge-header HTTP/1.0\r\n\r\n",
    ] {
        let mut client = Client::connect(&server);
        client.send(request.as_bytes());
        assert_eq!(client.reply().field("connection"), Some("close"), "{request}");
        assert_eq!(client.rest(), b"");
    }
    let mut client = Client::connect(&server);
    client.send(b"GET /fault/huge-header HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_eq!(client.reply().field("connection"), Some("keep-alive"));
    assert_eq!(client.get("/size/3").body, b"012");
}

#[test]
fn a_faulty_reply_can_be_a_connections_last() {
    for (announced, field) in [(true, Some("close")), (false, None)] {
        let close_after = Some(CloseAfter { replies: 2, announced });
        let server = start(Config { close_after, ..Config::default() });
        let mut client = Client::connect(&server);
        assert_eq!(client.get("/fault/huge-header").field("connection"), None);
        assert_eq!(client.get("/fault/huge-header").field("connection"), field);
        assert_eq!(client.rest(), b"");
    }
}

#[test]
fn faults_come_by_chance_and_the_same_for_the_same_seed() {
    let outcomes = |seed| -> Vec<bool> {
        let faults = FaultMix::new(vec!["close:0.3".parse().unwrap()]).unwrap();
        let server = start(Config { faults, seed, ..Config::default() });
        let outcomes: Vec<bool> = (0..60).map(|_| Client::connect(&server).try_get("/").is_some()).collect();
        let counts = server.stop().unwrap();
        assert_eq!(counts.faults_of(Fault::Close), outcomes.iter().filter(|&&whole| !whole).count() as u64);
        assert_eq!(counts.requests, 60);
        outcomes
    };
    let first = outcomes(1);
    assert!(first.contains(&true) && first.contains(&false), "{first:?}");
    assert_eq!(first, outcomes(1));
    assert_ne!(first, outcomes(2));
}

#[test]
fn no_client_can_bring_the_server_down() {
    let server = start(Config::default());
    let long_line = [b"GET /".as_slice(), &vec![b'a'; 1 << 20]].concat();
    let offences: [&[u8]; 10] = [
        b"",
        b"\r\n\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nbroken header\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nshort",
        b"GET /size/18446744073709551615 HTTP/1.1\r\nHost: x\r\n\r\n",
        &long_line,
    ];
    for (index, offence) in offences.into_iter().enumerate() {
        for path in ["", "GET /fault/interim HTTP/1.1\r\nHost: x\r\n\r\n"] {
            let mut client = Client::connect(&server);
            // The server may hang up while it is being sent too much.
            client.try_send(&[path.as_bytes(), offence].concat());
            client.read_some();
            drop(client);
            assert_eq!(Client::connect(&server).get("/size/3").body, b"012", "after offence {index}");
        }
    }
    let counts = server.stop().unwrap();
    assert!(counts.requests_malformed >= 6, "{counts}");
}

#[test]
fn a_client_that_leaves_early_is_forgotten() {
    let server = start(Config::default());
    for path in [
        "/delay/1h",
        "/size/1g",
        "/fault/stall",
        "/fault/trickle",
        "/fault/no-length/size/1g",
        "/trailers/1g",
    ] {
        let mut client = Client::connect(&server);
        client.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes());
        if !path.starts_with("/delay") && path != "/fault/stall" {
            client.take(10);
        }
        drop(client);
        assert_eq!(Client::connect(&server).get("/size/3").body, b"012", "after {path}");
    }
}
