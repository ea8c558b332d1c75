//! The server over HTTP/3, met by clients of other makes: aioquic, and `gtlsclient` of ngtcp2.
//!
//! Where one is not installed the test says so; aioquic is fetched from PyPI, if that is within reach.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;

use httperf_origin::{
    CloseAfter, Config, Counts, Credentials, Fault, Handle, Http3, KeyType, Tickets, Tls, spawn,
};
use httperf_testkit::{python, skip};

fn config(http3: Http3, tickets: Tickets) -> Config {
    let credentials = Credentials::self_signed(KeyType::default(), &Config::default().listen);
    let tls = Tls { tickets, ..Tls::new(credentials) };
    Config { tls: Some(tls), http3: Some(http3), ..Config::default() }
}

fn start() -> Handle {
    spawn(config(Http3::default(), Tickets::On)).unwrap()
}

fn port(server: &Handle) -> String {
    server.tcp_address().unwrap().port().to_string()
}

/// The Python that has aioquic.
fn python_with_aioquic() -> Option<&'static Path> {
    static PYTHON: OnceLock<Option<PathBuf>> = OnceLock::new();
    let look = || python::with_package(Path::new(env!("CARGO_TARGET_TMPDIR")), "aioquic");
    let python = PYTHON.get_or_init(look).as_deref();
    if python.is_none() {
        skip::without("aioquic");
    }
    python
}

/// What aioquic sees of a reply: lines of a word and a value. `None` if it is not to be had.
fn aioquic(server: &Handle, path: &str, body: usize, connections: usize) -> Option<Vec<String>> {
    let output = Command::new(python_with_aioquic()?)
        .args(["-c", include_str!("client/aioquic.py"), &port(server), path])
        .args([body, connections].map(|number| number.to_string()))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

#[track_caller]
fn check_seen(seen: &[String], expected: &[&str]) {
    for line in expected {
        assert!(seen.iter().any(|seen| seen == line), "{line}: {seen:?}");
    }
}

#[test]
fn aioquic_is_answered() {
    let server = start();
    let Some(seen) = aioquic(&server, "/trailers/6", 0, 1) else { return };
    // FNV-1a of "012345", computed elsewhere.
    check_seen(&seen, &["resumed False", "status 200", "server-checksum 9cc42e587f2de15e", "body 6"]);
    check_seen(&aioquic(&server, "/size/3m/status/404", 0, 1).unwrap(), &["status 404", "body 3145728"]);
    check_seen(&aioquic(&server, "/size/7", 3_000_000, 1).unwrap(), &["status 200", "body 7"]);
    let counts = server.stop().unwrap();
    assert_eq!((counts.connections_http3, counts.requests, counts.replies), (3, 3, [2, 0, 1, 0]), "{counts}");
    assert_eq!((counts.requests_malformed, counts.tls.full), (0, 3), "{counts}");
}

#[test]
fn aioquic_resumes_and_sends_early_data() {
    let server = spawn(config(Http3::default(), Tickets::EarlyData)).unwrap();
    let Some(seen) = aioquic(&server, "/size/5", 0, 2) else { return };
    let expected = ["status 200", "body 5", "resumed True", "early True"];
    check_seen(&seen, &expected);
    let counts = server.stop().unwrap();
    let tls = &counts.tls;
    assert_eq!((tls.full, tls.resumed, tls.early_data_accepted), (1, 1, 1), "{counts}");
}

#[test]
fn aioquic_follows_a_retry_and_sends_again_what_was_lost() {
    let http3 = Http3 { retries: true, lost: 2, ..Http3::default() };
    let server = spawn(config(http3, Tickets::On)).unwrap();
    let Some(seen) = aioquic(&server, "/size/5", 0, 1) else { return };
    check_seen(&seen, &["status 200", "body 5"]);
    let counts = server.stop().unwrap();
    assert_eq!((counts.retries, counts.datagrams_lost, counts.connections), (1, 2, 1), "{counts}");
}

#[test]
fn aioquic_sees_the_faults() {
    if python_with_aioquic().is_none() {
        return;
    }
    let cases = [
        (Fault::Reset, &["closed 0x102"][..]),
        (Fault::ResetBody, &["status 200", "closed 0x102"]),
        (Fault::Close, &["closed 0x100"]),
        (Fault::GoawayError, &["closed 0x107"]),
        (Fault::Goaway, &["status 200", "body 20", "closed 0x100"]),
        (Fault::ResetStream, &["reset 0x102"]),
        (Fault::RefuseStream, &["reset 0x10b"]),
        (Fault::BadChunk, &["status 200", "reset 0x102"]),
        (Fault::Surplus, &["status 200", "body 20"]),
        (Fault::Interim, &["status 100", "status 103", "status 200", "body 20"]),
        (Fault::Trickle, &["status 200", "body 20"]),
        (Fault::NoLength, &["status 200", "body 20"]),
        // The rest is what aioquic makes of it: QPACK_DECOMPRESSION_FAILED, H3_FRAME_UNEXPECTED, H3_MESSAGE_ERROR, and
        // the end of its patience.
        (Fault::BadHeader, &["closed 0x200"]),
        (Fault::BadFrame, &["closed 0x105"]),
        (Fault::Truncate, &["closed 0x10e"]),
        (Fault::Silence, &["closed 0x1"]),
    ];
    let suffer = |fault: Fault, expected: &[&str]| {
        let server = start();
        let seen = aioquic(&server, &format!("/fault/{fault}/size/20"), 0, 1).unwrap();
        check_seen(&seen, expected);
        let counts = server.stop().unwrap();
        assert_eq!(counts.faults_of(fault), 1, "{fault}\n{counts}");
    };
    // Each waits most of the time.
    thread::scope(|scope| {
        for (fault, expected) in cases {
            scope.spawn(move || suffer(fault, expected));
        }
    });
}

#[test]
fn aioquic_is_told_that_its_body_is_not_wanted() {
    let server = start();
    let Some(seen) = aioquic(&server, "/fault/stop-sending/size/5", 20_000_000, 1) else { return };
    check_seen(&seen, &["stopped 0x100", "status 200", "body 5"]);
}

/// Has `gtlsclient` ask for these paths, and returns what it tells, with the server's counts.
fn gtlsclient(config: Config, options: &[&str], paths: &[&str]) -> Option<(String, Counts)> {
    let server = spawn(config).unwrap();
    let port = port(&server);
    let urls = paths.iter().map(|path| format!("https://localhost:{port}{path}"));
    let output = Command::new("timeout")
        .args(["20", "gtlsclient", "--exit-on-all-streams-close", "--no-quic-dump"])
        .args(options)
        .args(["127.0.0.1", &port])
        .args(urls)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    if matches!(output.status.code(), Some(126 | 127)) {
        skip::lacking("gtlsclient");
        return None;
    }
    let seen = [output.stdout, output.stderr].concat();
    Some((String::from_utf8_lossy(&seen).into_owned(), server.stop().unwrap()))
}

#[test]
fn gtlsclient_is_answered() {
    let config = config(Http3::default(), Tickets::On);
    let paths = ["/size/5", "/trailers/6", "/size/100k"];
    let Some((seen, counts)) = gtlsclient(config, &["--no-http-dump"], &paths) else { return };
    assert!(seen.contains("server-checksum: 9cc42e587f2de15e"), "{seen}");
    assert_eq!(seen.matches("[:status: 200]").count(), 3, "{seen}");
    assert_eq!((counts.connections_http3, counts.requests, counts.replies), (1, 3, [3, 0, 0, 0]), "{counts}");
    assert_eq!((counts.requests_malformed, counts.tls.full), (0, 1), "{counts}");
}

#[test]
fn gtlsclient_follows_a_retry_and_a_goaway_and_loses_packets() {
    let http3 = Http3 { retries: true, ..Http3::default() };
    let close_after = Some(CloseAfter { replies: 3, announced: true });
    let config = Config { close_after, ..config(http3, Tickets::On) };
    let paths = ["/size/100k", "/size/5", "/size/5"];
    let Some((seen, counts)) = gtlsclient(config, &["--no-http-dump", "-r", "0.05"], &paths) else { return };
    assert_eq!((counts.retries >= 1, counts.requests), (true, 3), "{seen}\n{counts}");
    assert_eq!((counts.replies_total(), counts.goaways_sent), (3, 1), "{counts}");
}
