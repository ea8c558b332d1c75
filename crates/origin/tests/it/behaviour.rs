//! The server over real loopback sockets, asked with bytes written by hand: what it is configured to do.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use crate::client::{Client, start};
use httperf_origin::{CloseAfter, Config, Counts, Framing, Limits, ServerCapacity};
use httperf_plan::Endpoint;

#[test]
fn a_plain_reply_has_the_configured_size_and_both_ends_count_alike() {
    let server = start(Config { size: 300, ..Config::default() });
    let mut client = Client::connect(&server);
    for _ in 0..3 {
        client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        let reply = client.reply();
        assert_eq!(reply.status, 200);
        assert_eq!(reply.field("content-length"), Some("300"));
        assert_eq!(reply.field("server"), Some("httperf"));
        assert!(reply.field("date").is_some());
        assert!(reply.body.starts_with(b"0123456789abc"));
    }
    let received = client.bytes_received;
    drop(client);
    let counts = server.stop().unwrap();
    let expected = Counts {
        connections: 1,
        connections_open_max: 1,
        connections_http1: 1,
        requests: 3,
        replies: [3, 0, 0, 0],
        bytes_sent: received,
        ..Counts::default()
    };
    assert_eq!(counts, expected);
}

#[test]
fn a_large_body_arrives_whole() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    let reply = client.get("/size/5m");
    assert_eq!(reply.body.len(), 5 << 20);
    assert_eq!(reply.body[..64], reply.body[(5 << 20) - 64..]);
}

#[test]
fn an_http_1_0_client_is_answered_and_let_go() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    client.send(b"GET /size/10 HTTP/1.0\r\n\r\n");
    let reply = String::from_utf8(client.rest()).unwrap();
    assert!(reply.starts_with("HTTP/1.0 200 OK\r\n"), "{reply}");
    assert!(reply.ends_with("\r\n\r\n0123456789"), "{reply}");
}

#[test]
fn an_http_1_0_client_may_keep_its_connection() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    for _ in 0..2 {
        client.send(b"GET /size/10 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        let reply = client.reply();
        assert_eq!(reply.field("connection"), Some("keep-alive"));
        assert_eq!(reply.body, b"0123456789");
    }
}

#[test]
fn an_http_1_0_client_is_told_that_a_body_without_size_ends_with_the_connection() {
    for path in ["/chunked/10", "/trailers/10"] {
        let server = start(Config::default());
        let mut client = Client::connect(&server);
        client.send(format!("GET {path} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").as_bytes());
        let head = client.head();
        assert_eq!(head.field("connection"), Some("close"), "{path}");
        assert_eq!(head.field("transfer-encoding"), None, "{path}");
        assert_eq!(client.rest(), b"0123456789", "{path}");
    }
}

#[test]
fn a_reply_to_head_has_the_fields_and_no_body() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    client.send(b"HEAD /size/77 HTTP/1.1\r\nHost: x\r\n\r\nHEAD /chunked/77 HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(client.head().field("content-length"), Some("77"));
    assert_eq!(client.head().field("content-length"), None);
    assert_eq!(client.get("/size/1").body, b"0");
}

#[test]
fn replies_of_bodiless_statuses_have_none() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    for (status, length) in [(204, None), (205, Some("0")), (304, None)] {
        client.send(format!("GET /status/{status} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes());
        let head = client.head();
        assert_eq!((head.status, head.field("content-length")), (status, length));
        assert_eq!(head.field("transfer-encoding"), None, "{status}");
    }
    assert_eq!(client.get("/size/1").body, b"0");
}

#[test]
fn the_body_of_a_request_is_read_and_forgotten() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    let contents = vec![b'x'; 200_000];
    client.send(b"POST /size/3 HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n");
    client.send(&contents);
    assert_eq!(client.reply().body, b"012");
    client
        .send(b"POST /size/3 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n");
    assert_eq!(client.reply().body, b"012");
}

#[test]
fn a_client_that_asks_first_is_told_to_continue() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    client.send(b"POST /size/3 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(client.head().status, 100);
    client.send(b"hi");
    assert_eq!(client.reply().body, b"012");
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    let requests: String =
        (1..=40).map(|size| format!("GET /size/{size} HTTP/1.1\r\nHost: x\r\n\r\n")).collect();
    client.send(requests.as_bytes());
    for size in 1..=40 {
        assert_eq!(client.reply().body.len(), size);
    }
}

#[test]
fn a_chunked_reply_is_chunked_even_when_empty() {
    let server = start(Config { framing: Framing::Chunked, size: 10_000, ..Config::default() });
    let mut client = Client::connect(&server);
    for (path, size) in [("/", 10_000), ("/chunked/0", 0), ("/chunked/1", 1)] {
        let reply = client.get(path);
        assert_eq!(reply.field("transfer-encoding"), Some("chunked"));
        assert_eq!(reply.field("content-length"), None);
        assert_eq!(reply.body.len(), size);
    }
}

#[test]
fn a_trailer_carries_the_checksum_of_the_body() {
    let server = start(Config { framing: Framing::Trailers, size: 6, ..Config::default() });
    let mut client = Client::connect(&server);
    for path in ["/", "/trailers/6"] {
        let reply = client.get(path);
        assert_eq!(reply.field("trailer"), Some("Server-Checksum"));
        assert_eq!(reply.body, b"012345");
        // FNV-1a of "012345", computed elsewhere.
        assert_eq!(reply.trailers, [("Server-Checksum".to_owned(), "9cc42e587f2de15e".to_owned())]);
    }
    assert_eq!(client.get("/trailers/20000").body.len(), 20_000);
    drop(client);
    let counts = server.stop().unwrap();
    assert_eq!((counts.connections, counts.replies_total()), (1, 3));
}

#[test]
fn a_delayed_reply_comes_no_earlier() {
    let server = start(Config { delay: "30ms".parse().unwrap(), ..Config::default() });
    let mut client = Client::connect(&server);
    for (path, least) in [("/", 30), ("/delay/60ms", 60), ("/delay/uniform:40ms,50ms", 40)] {
        let start = Instant::now();
        assert_eq!(client.get(path).status, 200);
        assert!(start.elapsed() >= Duration::from_millis(least), "{path}");
    }
}

#[test]
fn a_delay_holds_up_nobody_else() {
    let server = start(Config::default());
    let mut slow = Client::connect(&server);
    slow.send(b"GET /delay/30s HTTP/1.1\r\nHost: x\r\n\r\n");
    let mut quick = Client::connect(&server);
    let start = Instant::now();
    assert_eq!(quick.get("/").status, 200);
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn the_status_mix_is_the_same_for_the_same_seed() {
    let statuses = |seed| -> Vec<u16> {
        let mix = "200:1,503:1,404:1".parse().unwrap();
        let server = start(Config { status: mix, seed, ..Config::default() });
        let mut client = Client::connect(&server);
        (0..60).map(|_| client.get("/").status).collect()
    };
    let first = statuses(1);
    assert!([200, 404, 503].iter().all(|status| first.contains(status)), "{first:?}");
    assert_eq!(first, statuses(1));
    assert_ne!(first, statuses(2));
}

#[test]
fn a_connection_closes_after_its_last_reply_and_says_so() {
    let close_after = Some(CloseAfter { replies: 2, announced: true });
    let server = start(Config { close_after, size: 3, ..Config::default() });
    let mut client = Client::connect(&server);
    assert_eq!(client.get("/").field("connection"), None);
    assert_eq!(client.get("/").field("connection"), Some("close"));
    assert_eq!(client.rest(), b"");
}

#[test]
fn an_http_1_0_client_that_would_stay_is_told_of_the_last_reply_too() {
    let close_after = Some(CloseAfter { replies: 2, announced: true });
    let server = start(Config { close_after, size: 3, ..Config::default() });
    let mut client = Client::connect(&server);
    for connection in ["keep-alive", "close"] {
        client.send(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        assert_eq!(client.reply().field("connection"), Some(connection));
    }
    assert_eq!(client.rest(), b"");
}

#[test]
fn a_connection_closes_after_its_last_reply_without_a_word() {
    let close_after = Some(CloseAfter { replies: 2, announced: false });
    for path in ["/size/300000", "/size/0", "/chunked/9000", "/trailers/9000", "/status/204"] {
        let server = start(Config { close_after, ..Config::default() });
        let mut client = Client::connect(&server);
        // The third request was there in time, and still nobody reads it.
        client.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").repeat(3).as_bytes());
        for _ in 0..2 {
            assert_eq!(client.reply().field("connection"), None, "{path}");
        }
        assert_eq!(client.rest(), b"", "{path}");
        drop(client);
        let counts = server.stop().unwrap();
        assert_eq!((counts.requests, counts.replies_total()), (2, 2), "{path}");
    }
}

#[test]
fn beyond_its_capacity_the_server_takes_its_time() {
    let capacity = Some(ServerCapacity { rate: 100.0, queue: None });
    let server = start(Config { capacity, ..Config::default() });
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = Client::connect(&server);
                for _ in 0..5 {
                    assert_eq!(client.get("/").status, 200);
                }
            });
        }
    });
    // 20 replies, the first at once, the others 10 ms apart.
    assert!(start.elapsed() >= Duration::from_millis(190), "{:?}", start.elapsed());
    assert_eq!(server.stop().unwrap().replies_total(), 20);
}

#[test]
fn requests_beyond_the_queue_are_turned_away() {
    let capacity = Some(ServerCapacity { rate: 0.01, queue: Some(1) });
    let server = start(Config { capacity, ..Config::default() });
    let mut first = Client::connect(&server);
    assert_eq!(first.get("/").status, 200);
    let mut waiting = Client::connect(&server);
    waiting.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    // It waits as soon as another one is turned away.
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let mut late = Client::connect(&server);
        late.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        if let Some(reply) = late.reply_within(Duration::from_millis(200)) {
            assert_eq!(reply.status, 503);
            break;
        }
        assert!(Instant::now() < deadline, "nobody was turned away");
    }
    let counts = server.stop().unwrap();
    assert!(counts.replies_queue_full >= 1);
    assert_eq!(counts.replies, [1, 0, 0, counts.replies_queue_full]);
}

#[test]
fn a_page_its_images_cookies_and_a_redirect_are_served() {
    let server = start(Config::default());
    let mut client = Client::connect(&server);
    let page = client.get("/page/2");
    assert_eq!(page.field("content-type"), Some("text/html; charset=utf-8"));
    let html = String::from_utf8(page.body).unwrap();
    assert!(html.contains("<img src=\"/size/1000?i=1\""), "{html}");
    assert_eq!(client.get("/size/1000?i=1").body.len(), 1000);

    let redirect = client.get("/redirect");
    assert_eq!((redirect.status, redirect.field("location")), (302, Some("/")));

    let cookies = client.get("/cookie");
    assert_eq!(cookies.fields("set-cookie"), ["visits=1; Path=/", "theme=plain; Path=/; HttpOnly"]);
    client.send(b"GET /cookie HTTP/1.1\r\nHost: x\r\nCookie: visits=1; theme=plain\r\n\r\n");
    let cookies = client.reply();
    assert_eq!(cookies.fields("set-cookie")[0], "visits=2; Path=/");
    assert_eq!(cookies.body, b"cookies received:\nvisits=1\ntheme=plain\n");

    assert_eq!(client.get("/status/777").status, 400);
}

#[test]
fn connections_beyond_the_limit_are_reset() {
    let limits = Limits { connections: Some(2), ..Limits::default() };
    let server = start(Config { limits, ..Config::default() });
    let mut kept: Vec<Client> = (0..2).map(|_| Client::connect(&server)).collect();
    for client in &mut kept {
        assert_eq!(client.get("/").status, 200);
    }
    assert!(Client::connect(&server).is_cut_off());
    assert_eq!(kept[0].get("/").status, 200);
    drop(kept.pop());
    // The place comes free as soon as the server has seen the close.
    let deadline = Instant::now() + Duration::from_secs(10);
    while Client::connect(&server).try_get("/").is_none() {
        assert!(Instant::now() < deadline, "the place never came free");
    }
    let counts = server.stop().unwrap();
    assert!(counts.connections_refused >= 1);
    assert_eq!((counts.connections, counts.connections_open_max), (3, 2));
}

#[test]
fn a_connection_on_which_nothing_moves_is_closed() {
    let limits = Limits { idle: Duration::from_millis(500), ..Limits::default() };
    let server = start(Config { limits, ..Config::default() });
    let mut silent = Client::connect(&server);
    let mut half = Client::connect(&server);
    half.send(b"GET / HTTP/1.1\r\nHos");
    // What waits for its own delay is not idle.
    let mut slow = Client::connect(&server);
    assert_eq!(slow.get("/delay/1200ms").status, 200);
    assert_eq!(silent.rest(), b"");
    assert_eq!(half.rest(), b"");
    assert!(server.stop().unwrap().connections_idled_out >= 2);
}

#[test]
fn a_unix_socket_works_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("origin.sock");
    // A file that a server killed earlier would have left.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let server = start(Config { listen: Endpoint::Unix(path.clone()), ..Config::default() });
    assert_eq!(server.tcp_address(), None);

    let mut stream = UnixStream::connect(&path).unwrap();
    stream.write_all(b"GET /size/5 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n") && reply.ends_with("\r\n\r\n01234"), "{reply}");

    let taken = httperf_origin::spawn(Config { listen: Endpoint::Unix(path.clone()), ..Config::default() });
    assert_eq!(taken.unwrap_err().kind(), std::io::ErrorKind::AddrInUse);

    assert_eq!(server.stop().unwrap().replies_total(), 1);
    assert!(!path.exists());
}

#[test]
fn a_port_in_use_is_an_error() {
    let server = start(Config::default());
    let again = httperf_origin::spawn(Config { listen: server.address().clone(), ..Config::default() });
    assert_eq!(again.unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
}

#[test]
fn a_server_stopped_before_it_ran_returns_at_once() {
    let server = httperf_origin::Server::bind(Config::default()).unwrap();
    server.stopper().stop();
    assert_eq!(server.run().unwrap(), Counts::default());
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
