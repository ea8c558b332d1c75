//! HTTP/3 against quinn and h3 as a client, the same crates that the server is made of: `http3_clients.rs` has others.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use h3::error::StreamError;
use httperf_origin::{
    ClientCertificate, CloseAfter, Config, Counts, Credentials, Fault, Handle, Http3, KeyType, Limits,
    StatusMix, Tickets, Tls, Versions,
};
use httperf_plan::{CertificateCompression, Endpoint, TlsVersion};
use hyper::Method;
use quinn::{ConnectionError, VarInt};
use rustls::crypto::aws_lc_rs::kx_group;

use crate::client::http3::{Client, Manner, Session};
use crate::client::{self, start};

fn tls() -> Tls {
    Tls::new(Credentials::self_signed(KeyType::default(), &Config::default().listen))
}

fn config() -> Config {
    Config { tls: Some(tls()), http3: Some(Http3::default()), ..Config::default() }
}

/// Codes of HTTP/3: <https://www.rfc-editor.org/rfc/rfc9114#section-8.1>
const NO_ERROR: u32 = 0x100;
const INTERNAL_ERROR: u32 = 0x102;
const EXCESSIVE_LOAD: u32 = 0x107;
const REQUEST_REJECTED: u32 = 0x10b;

/// How the server closed the connection.
#[track_caller]
fn check_closed(error: &ConnectionError, code: u32) {
    let ConnectionError::ApplicationClosed(close) = error else { panic!("{error:?}") };
    assert_eq!(close.error_code, VarInt::from_u32(code));
}

/// Counts after all clients have left.
fn stop(server: Handle) -> Counts {
    std::thread::sleep(Duration::from_millis(50));
    server.stop().unwrap()
}

#[test]
fn paths_ask_for_the_same_replies_as_over_http_1() {
    let server = start(Config { status: "200:1,503:1".parse().unwrap(), ..config() });
    let client = Client::new(&server);
    let mut session = client.connect();
    let mut ask = |method: Method, path: &str, body| client.run(session.request(method, path, body)).unwrap();
    let reply = ask(Method::GET, "/status/404/size/5", b"");
    assert_eq!((reply.status, &reply.body[..]), (404, &b"01234"[..]));
    assert_eq!((reply.field("content-length"), reply.field("server")), (Some("5"), Some("httperf")));
    assert_eq!(reply.field("alt-svc"), None);
    assert!(reply.field("date").is_some());
    let reply = ask(Method::GET, "/status/200/size/3m", b"");
    assert_eq!(reply.body.len(), 3 << 20);
    let reply = ask(Method::HEAD, "/status/200/size/5", b"");
    assert_eq!((reply.field("content-length"), reply.body.len()), (Some("5"), 0));
    let reply = ask(Method::GET, "/status/200/chunked/70000", b"");
    assert_eq!((reply.field("content-length"), reply.body.len()), (None, 70_000));
    let reply = ask(Method::GET, "/status/200/trailers/6", b"");
    // FNV-1a of "012345", computed elsewhere.
    assert_eq!(reply.trailers.unwrap().get("server-checksum").unwrap(), "9cc42e587f2de15e");
    let reply = ask(Method::POST, "/status/204", &[7; 100_000]);
    assert_eq!((reply.status, reply.field("content-length")), (204, None));
    assert_eq!(ask(Method::GET, "/size/x", b"").status, 400);
    let began = Instant::now();
    ask(Method::GET, "/status/200/delay/50ms", b"");
    assert!(began.elapsed() >= Duration::from_millis(50));
    let counts = stop(server);
    assert_eq!((counts.connections, counts.connections_http3, counts.connections_http2), (1, 1, 0));
    assert_eq!((counts.requests, counts.replies), (8, [6, 0, 2, 0]), "{counts}");
    assert_eq!((counts.requests_malformed, counts.streams_reset, counts.stops_sent), (0, 0, 0), "{counts}");
    assert!((3_215_000..3_300_000).contains(&counts.bytes_sent), "{counts}");
}

#[test]
fn a_seed_draws_the_same_statuses_as_over_http_1() {
    let status: StatusMix = "200:1,503:1".parse().unwrap();
    let server = start(Config { status, seed: 7, ..config() });
    let client = Client::new(&server);
    let mut session = client.connect();
    let here: Vec<u16> =
        (0..20).map(|_| client.run(session.request(Method::GET, "/", b"")).unwrap().status).collect();
    let elsewhere =
        start(Config { tls: None, http3: None, status: "200:1,503:1".parse().unwrap(), seed: 7, ..config() });
    let mut other = client::Client::connect(&elsewhere);
    let there: Vec<u16> = (0..20).map(|_| other.get("/").status).collect();
    assert_eq!(here, there);
}

#[test]
fn the_other_protocols_say_where_http_3_is_spoken() {
    let server = start(config());
    let port = server.tcp_address().unwrap().port();
    let url = format!("https://127.0.0.1:{port}/size/5");
    let announced = format!("alt-svc: h3=\":{port}\"; ma=86400");
    for version in ["--http1.1", "--http2"] {
        let output = std::process::Command::new("curl").args(["-skD-", version, &url]).output();
        let Ok(output) = output else { return httperf_testkit::skip::lacking("curl") };
        let seen = String::from_utf8_lossy(&output.stdout).to_lowercase();
        assert!(seen.contains(&announced), "{seen}");
    }
}

#[test]
fn requests_of_a_connection_are_answered_side_by_side() {
    let server = start(config());
    let client = Client::new(&server);
    let session = client.connect();
    let began = Instant::now();
    client.run(async {
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..100 {
            let mut session =
                Session { connection: session.connection.clone(), requests: session.requests.clone() };
            tasks.spawn(
                async move { session.request(Method::GET, "/delay/100ms", b"").await.unwrap().status },
            );
        }
        assert_eq!(tasks.join_all().await, [200; 100]);
    });
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(stop(server).requests, 100);
}

#[test]
fn handshakes_are_counted_as_over_tcp() {
    for (tickets, resumed, early) in
        [(Tickets::Off, 0, None), (Tickets::On, 1, None), (Tickets::EarlyData, 2, Some(true))]
    {
        let server = start(Config { tls: Some(Tls { tickets, ..tls() }), ..config() });
        let client = Client::new(&server);
        assert_eq!(client.get("/size/5").body, b"01234");
        assert_eq!(client.get("/size/5").body, b"01234");
        if let Some(early) = early {
            let (reply, accepted) = client.get_early("/size/7");
            assert_eq!((&reply.body[..], accepted), (&b"0123456"[..], early));
        }
        let counts = stop(server);
        let total = counts.connections;
        assert_eq!(
            (counts.tls.full, counts.tls.resumed),
            (total - resumed, resumed),
            "{tickets:?}\n{counts}"
        );
        // This client always offers to send some.
        let accepted = if early.is_some() { resumed } else { 0 };
        assert_eq!(counts.tls.early_data_accepted, accepted, "{counts}");
        assert_eq!((counts.tls.early_data_rejected, counts.tls.hello_retries), (0, 0));
        assert_eq!(counts.tls.versions, BTreeMap::from([("TLSv1.3", total)]));
        assert_eq!(counts.tls.groups, BTreeMap::from([("X25519", total)]));
        assert_eq!(counts.tls.protocols_chosen, total);
        assert_eq!(counts.tls.ciphers.values().sum::<u64>(), total);
        assert!(counts.tls.handshake_bytes_received >= 1200 * total);
        assert!(counts.tls.failed.is_empty(), "{counts}");
    }
}

#[test]
fn early_data_of_an_older_server_are_rejected_and_sent_again() {
    let address = {
        let port = httperf_testkit::tcp::free_port();
        Endpoint::Tcp(([127, 0, 0, 1], port).into())
    };
    let restarted = || {
        let tls = Tls { tickets: Tickets::EarlyData, ..tls() };
        start(Config { listen: address.clone(), tls: Some(tls), ..config() })
    };
    let server = restarted();
    let client = Client::new(&server);
    client.get("/");
    drop(server);
    let server = restarted();
    client.run(async {
        // h3 would not ask again by itself.
        let address = server.tcp_address().unwrap();
        let connecting = client.endpoint().connect(address, "localhost").unwrap();
        let (connection, accepted) = connecting.into_0rtt().unwrap_or_else(|_| panic!("there is a session"));
        let mut stream = connection.open_uni().await.unwrap();
        stream.write_all(b"\x00\x04\x00").await.unwrap();
        assert!(!accepted.await);
    });
    let counts = stop(server);
    assert_eq!((counts.tls.full, counts.tls.early_data_rejected), (1, 1), "{counts}");
}

#[test]
fn a_server_that_takes_early_data_can_ask_for_another_group() {
    let tls = Tls { groups: "P-256".parse().unwrap(), tickets: Tickets::EarlyData, ..tls() };
    let server = start(Config { tls: Some(tls), ..config() });
    let groups = vec![kx_group::X25519, kx_group::SECP256R1];
    Client::with(&server, Manner { groups, ..Manner::default() }).get("/");
    let counts = stop(server);
    assert_eq!((counts.requests, counts.replies_total(), counts.tls.hello_retries), (1, 1, 1), "{counts}");
}

#[test]
fn every_group_is_accepted_and_another_can_be_asked_for() {
    let server = start(config());
    let groups = [
        kx_group::X25519MLKEM768,
        kx_group::MLKEM1024,
        kx_group::X25519,
        kx_group::SECP256R1,
        kx_group::SECP384R1,
    ];
    for group in groups {
        Client::with(&server, Manner { groups: vec![group], ..Manner::default() }).get("/");
    }
    let counts = stop(server);
    let names = ["MLKEM1024", "P-256", "P-384", "X25519", "X25519MLKEM768"];
    assert_eq!(counts.tls.groups, names.map(|name| (name, 1)).into());
    assert_eq!(counts.tls.hello_retries, 0);

    let tls = Tls { groups: "P-256".parse().unwrap(), ..tls() };
    let server = start(Config { tls: Some(tls), ..config() });
    let groups = vec![kx_group::X25519, kx_group::SECP256R1];
    Client::with(&server, Manner { groups, ..Manner::default() }).get("/");
    let stranger = Client::with(&server, Manner { groups: vec![kx_group::X25519], ..Manner::default() });
    assert!(stranger.try_connect().is_err());
    let counts = stop(server);
    assert_eq!((counts.tls.hello_retries, counts.tls.full, counts.tls.failed_total()), (1, 1, 1), "{counts}");
}

#[test]
fn a_client_certificate_can_be_asked_for_and_insisted_on() {
    let identity = httperf_certificates::Identity::self_signed("client").unwrap();
    let identity = (identity.certificate.to_der().unwrap(), identity.key.private_key_to_der_pkcs8().unwrap());
    for (wanted, is_required) in [(ClientCertificate::Requested, false), (ClientCertificate::Required, true)]
    {
        let tls = Tls { client_certificate: wanted, ..tls() };
        let server = start(Config { tls: Some(tls), ..config() });
        Client::with(&server, Manner { identity: Some(identity.clone()), ..Manner::default() }).get("/");
        let without = Client::new(&server);
        let was_served = without
            .try_connect()
            .is_ok_and(|mut session| without.run(session.request(Method::GET, "/", b"")).is_ok());
        assert_eq!(was_served, !is_required);
        let counts = stop(server);
        assert_eq!(counts.tls.client_certificates, 1, "{counts}");
        assert_eq!(counts.tls.failed_total(), u64::from(is_required), "{counts}");
    }
}

#[test]
fn a_client_of_another_protocol_is_turned_away() {
    let server = start(config());
    let client = Client::with(&server, Manner { protocol: b"hq-interop", ..Manner::default() });
    assert!(matches!(client.try_connect(), Err(ConnectionError::ConnectionClosed(_))));
    let counts = stop(server);
    assert_eq!(
        (counts.connections, counts.connections_http3, counts.tls.failed_total()),
        (1, 0, 1),
        "{counts}"
    );
}

#[test]
fn each_new_connection_can_be_sent_a_retry() {
    let server = start(Config { http3: Some(Http3 { retries: true, ..Http3::default() }), ..config() });
    for _ in 0..3 {
        assert_eq!(Client::new(&server).get("/size/5").body, b"01234");
    }
    let counts = stop(server);
    assert_eq!((counts.retries, counts.connections, counts.connections_http3), (3, 3, 3), "{counts}");
}

#[test]
fn the_first_flight_can_be_lost() {
    let server = start(Config { http3: Some(Http3 { lost: 2, ..Http3::default() }), ..config() });
    for _ in 0..2 {
        let began = Instant::now();
        assert_eq!(Client::new(&server).get("/size/5").body, b"01234");
        // The client takes the round trip for 50 ms, and the first probe time for three of them.
        assert!(began.elapsed() >= Duration::from_millis(150), "{:?}", began.elapsed());
    }
    let counts = stop(server);
    assert_eq!((counts.datagrams_lost, counts.connections_http3), (4, 2), "{counts}");
}

/// What a client sees of a reply.
#[track_caller]
fn check_fault(
    fault: Fault,
    check: impl FnOnce(&Result<client::http3::Reply, StreamError>, &Client, &mut Session),
) {
    let server = start(config());
    let client = Client::new(&server);
    let mut session = client.connect();
    let path = format!("/fault/{fault}/size/20");
    let result = client.run(session.request(Method::GET, &path, b""));
    check(&result, &client, &mut session);
    let counts = stop(server);
    assert_eq!((counts.requests, counts.faults_of(fault)), (1, 1), "{fault}\n{counts}");
    assert_eq!(counts.replies_total(), u64::from(fault.completes_reply()), "{fault}\n{counts}");
    assert_eq!(counts.requests_malformed, 0, "{fault}\n{counts}");
}

#[test]
fn faults_that_end_the_connection_do_it_with_their_code() {
    for (fault, code) in [
        (Fault::Reset, INTERNAL_ERROR),
        (Fault::ResetBody, INTERNAL_ERROR),
        (Fault::Close, NO_ERROR),
        (Fault::GoawayError, EXCESSIVE_LOAD),
    ] {
        check_fault(fault, |result, client, session| {
            assert!(result.is_err(), "{fault}");
            check_closed(&client.run(session.connection.closed()), code);
        });
    }
}

#[test]
fn faults_that_reset_the_stream_leave_the_others_alone() {
    for (fault, code) in [
        (Fault::ResetStream, "H3_INTERNAL_ERROR"),
        (Fault::RefuseStream, "H3_REQUEST_REJECTED"),
        (Fault::BadChunk, "H3_INTERNAL_ERROR"),
    ] {
        check_fault(fault, |result, _, session| {
            let error = result.as_ref().unwrap_err();
            let StreamError::RemoteTerminate { code: seen, .. } = error else { panic!("{fault}: {error:?}") };
            assert_eq!(seen.to_string(), code, "{fault}");
            assert_eq!(session.connection.close_reason(), None);
        });
    }
}

#[test]
fn malformed_replies_are_taken_for_what_they_are() {
    for (fault, code) in [
        (Fault::Garbage, "H3_FRAME_ERROR"),
        (Fault::BadHeader, "QPACK_DECOMPRESSION_FAILED"),
        (Fault::BadFrame, "H3_FRAME_UNEXPECTED"),
    ] {
        check_fault(fault, |result, _, _| {
            let error = format!("{:?}", result.as_ref().unwrap_err());
            assert!(error.contains(code), "{fault}: {error}");
        });
    }
}

#[test]
fn awkward_replies_are_whole() {
    for fault in Fault::ALL.into_iter().filter(|fault| fault.completes_reply() && *fault != Fault::HugeHeader)
    {
        check_fault(fault, |result, _, _| {
            let reply = result.as_ref().unwrap();
            assert_eq!((reply.status, reply.body.len()), (200, 20), "{fault}");
            assert_eq!(reply.field("content-length").is_some(), fault != Fault::NoLength, "{fault}");
        });
    }
    for (fault, length) in [(Fault::BadLength, "plenty"), (Fault::Truncate, "20")] {
        check_fault(fault, |result, _, _| {
            let reply = result.as_ref().unwrap();
            assert_eq!(reply.field("content-length"), Some(length), "{fault}");
            assert_eq!(reply.body.len(), if fault == Fault::Truncate { 10 } else { 20 });
        });
    }
}

#[test]
fn a_megabyte_of_header_is_whole_too() {
    check_fault(Fault::HugeHeader, |result, _, _| {
        let reply = result.as_ref().unwrap();
        assert_eq!(reply.fields.len(), 128 + 4);
        assert_eq!(reply.body.len(), 20);
    });
}

#[test]
fn the_body_of_a_request_can_be_refused() {
    let server = start(config());
    let client = Client::new(&server);
    let mut session = client.connect();
    client.run(async {
        let request = hyper::Request::post("https://localhost/fault/stop-sending/size/5").body(()).unwrap();
        let mut stream = session.requests.send_request(request).await.unwrap();
        // The reply comes although the request is not complete.
        assert_eq!(stream.recv_response().await.unwrap().status(), 200);
        let block = bytes::Bytes::from_static(&[7; 1000]);
        let error = loop {
            if let Err(error) = stream.send_data(block.clone()).await {
                break error;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        };
        let StreamError::RemoteTerminate { code, .. } = error else { panic!("{error:?}") };
        assert_eq!(code.to_string(), "H3_NO_ERROR");
    });
    let counts = stop(server);
    assert_eq!((counts.stops_sent, counts.replies_total()), (1, 1), "{counts}");
}

#[test]
fn a_stalled_request_is_given_up_with_its_client_and_others_are_answered() {
    let server = start(config());
    let client = Client::new(&server);
    let mut session = client.connect();
    client.run(async {
        let request = hyper::Request::get("https://localhost/fault/stall").body(()).unwrap();
        let mut stream = session.requests.send_request(request).await.unwrap();
        stream.finish().await.unwrap();
        assert_eq!(session.request(Method::GET, "/", b"").await.unwrap().status, 200);
        stream.stop_sending(h3::error::Code::H3_REQUEST_CANCELLED);
        assert_eq!(session.request(Method::GET, "/delay/50ms", b"").await.unwrap().status, 200);
    });
    let counts = stop(server);
    assert_eq!((counts.stops_received, counts.streams_reset), (1, 1), "{counts}");
}

#[test]
fn a_silent_connection_sends_nothing_and_others_are_answered() {
    let server = start(config());
    let client = Client::new(&server);
    let mut session = client.connect();
    client.run(async {
        let received = |session: &Session| session.connection.stats().udp_rx.datagrams;
        assert_eq!(session.request(Method::GET, "/", b"").await.unwrap().status, 200);
        let request = hyper::Request::get("https://localhost/fault/silence").body(()).unwrap();
        let mut stream = session.requests.send_request(request).await.unwrap();
        stream.finish().await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        let before = received(&session);
        let silent = session.request(Method::GET, "/", b"");
        assert!(tokio::time::timeout(Duration::from_millis(300), silent).await.is_err());
        assert_eq!(received(&session), before);
        session.connection.close(VarInt::from_u32(NO_ERROR), b"");
    });
    assert_eq!(Client::new(&server).get("/").status, 200);
    assert_eq!(stop(server).faults_of(Fault::Silence), 1);
}

#[test]
fn a_goaway_comes_before_the_last_reply() {
    let close_after = Some(CloseAfter { replies: 3, announced: true });
    let server = start(Config { close_after, ..config() });
    let client = Client::new(&server);
    let mut session = client.connect();
    client.run(async {
        let ask = |path: &'static str| {
            let mut session =
                Session { connection: session.connection.clone(), requests: session.requests.clone() };
            async move { session.request(Method::GET, path, b"").await }
        };
        let (first, second, third) =
            tokio::join!(ask("/delay/300ms/size/1m"), ask("/delay/100ms"), ask("/delay/200ms"));
        assert_eq!([first, second, third].map(|reply| reply.unwrap().status), [200; 3]);
    });
    check_closed(&client.run(session.connection.closed()), NO_ERROR);
    assert!(client.run(session.request(Method::GET, "/", b"")).is_err());
    let counts = stop(server);
    assert_eq!((counts.requests, counts.goaways_sent), (3, 1), "{counts}");
}

#[test]
fn requests_behind_a_goaway_are_rejected_and_those_before_it_answered() {
    let server = start(config());
    let client = Client::new(&server);
    let mut session = client.connect();
    client.run(async {
        let request = hyper::Request::get("https://localhost/delay/400ms/size/7").body(()).unwrap();
        let mut slow = session.requests.send_request(request).await.unwrap();
        slow.finish().await.unwrap();
        let last = session.request(Method::GET, "/fault/goaway", b"").await.unwrap();
        assert_eq!(last.status, 200);
        // h3 would send no more.
        let (mut send, mut receive) = session.connection.open_bi().await.unwrap();
        send.write_all(b"\x01").await.unwrap();
        let rejected = receive.read_to_end(100).await.unwrap_err();
        let expected =
            quinn::ReadToEndError::Read(quinn::ReadError::Reset(VarInt::from_u32(REQUEST_REJECTED)));
        assert_eq!(rejected, expected);
        assert_eq!(slow.recv_response().await.unwrap().status(), 200);
    });
    check_closed(&client.run(session.connection.closed()), NO_ERROR);
    let counts = stop(server);
    assert_eq!((counts.requests, counts.goaways_sent, counts.streams_reset), (2, 1, 1), "{counts}");
}

#[test]
fn a_connection_can_be_closed_silently_after_its_last_reply() {
    let close_after = Some(CloseAfter { replies: 2, announced: false });
    let server = start(Config { close_after, ..config() });
    let client = Client::new(&server);
    let mut session = client.connect();
    for _ in 0..2 {
        let reply = client.run(session.request(Method::GET, "/size/300k", b"")).unwrap();
        assert_eq!(reply.body.len(), 300 << 10);
    }
    check_closed(&client.run(session.connection.closed()), NO_ERROR);
    let counts = stop(server);
    assert_eq!((counts.requests, counts.goaways_sent), (2, 0), "{counts}");
}

#[test]
fn limits_hold_over_quic_too() {
    let limits = Limits { connections: Some(1), idle: Duration::from_millis(200), ..Limits::default() };
    let server = start(Config { limits, ..config() });
    let client = Client::new(&server);
    let mut session = client.connect();
    assert_eq!(client.run(session.request(Method::GET, "/", b"")).unwrap().status, 200);
    assert!(Client::new(&server).try_connect().is_err());
    // A connection that waits for its reply is not idle.
    assert_eq!(client.run(session.request(Method::GET, "/delay/700ms", b"")).unwrap().status, 200);
    check_closed(&client.run(session.connection.closed()), NO_ERROR);
    let counts = stop(server);
    assert_eq!(
        (counts.connections, counts.connections_refused, counts.connections_idled_out),
        (1, 1, 1),
        "{counts}"
    );
}

#[test]
fn a_client_may_have_as_many_requests_open_as_it_was_told() {
    let http3 = Some(Http3 { streams: 2, window: 1000, connection_window: 1500, ..Http3::default() });
    let server = start(Config { http3, ..config() });
    let client = Client::new(&server);
    let session = client.connect();
    let began = Instant::now();
    client.run(async {
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..6 {
            let mut session =
                Session { connection: session.connection.clone(), requests: session.requests.clone() };
            tasks.spawn(async move {
                session.request(Method::POST, "/delay/100ms", &[7; 50_000]).await.unwrap().status
            });
        }
        assert_eq!(tasks.join_all().await, [200; 6]);
    });
    assert!(began.elapsed() >= Duration::from_millis(300), "{:?}", began.elapsed());
}

#[test]
fn a_server_that_stops_says_so() {
    let server = start(config());
    let client = Client::new(&server);
    let mut session = client.connect();
    client.run(session.request(Method::GET, "/", b"")).unwrap();
    drop(server);
    check_closed(&client.run(session.connection.closed()), NO_ERROR);
}

#[test]
fn stray_datagrams_harm_nobody() {
    let server = start(config());
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for bytes in [&b""[..], b"x", &[0xff; 1500], &[0xc0; 1200], &[0x40; 40]] {
        socket.send_to(bytes, server.tcp_address().unwrap()).unwrap();
    }
    assert_eq!(Client::new(&server).get("/").status, 200);
    assert_eq!(stop(server).connections, 1);
}

#[test]
fn what_http_3_cannot_be_spoken_with_is_refused_when_the_server_starts() {
    let with = |tls: Tls| Config { tls: Some(tls), ..config() };
    let cases = [
        (Config { tls: None, ..config() }, "HTTP/3 needs TLS"),
        (Config { listen: Endpoint::Unix("/nowhere".into()), ..config() }, "HTTP/3 needs a port"),
        (
            with(Tls { versions: Versions::only(TlsVersion::Tls12), ..tls() }),
            "TLS 1.3 is not accepted, and HTTP/3 has no other",
        ),
        (
            with(Tls { groups: "X25519:P-521".parse().unwrap(), ..tls() }),
            "HTTP/3 does not have the key-exchange group P-521",
        ),
        (
            with(Tls { certificate_compression: vec![CertificateCompression::Zlib], ..tls() }),
            "the certificate is not compressed over HTTP/3",
        ),
    ];
    for (config, expected) in cases {
        assert_eq!(httperf_origin::spawn(config).unwrap_err().to_string(), expected);
    }
}

#[test]
fn every_type_of_key_serves() {
    for key_type in KeyType::ALL {
        let tls = Tls::new(Credentials::self_signed(key_type, &Config::default().listen));
        let server = start(Config { tls: Some(tls), ..config() });
        assert_eq!(Client::new(&server).get("/size/5").body, b"01234", "{key_type:?}");
    }
}
