//! The server over HTTP/2, met by real clients: `curl`, `nghttp` and `h2load`.
//!
//! Where one is not installed the test says so, and fails if `CI` is set.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use httperf_origin::{CloseAfter, Config, Counts, Credentials, Handle, Http2, KeyType, Tls, spawn};
use httperf_testkit::skip;
use tempfile::NamedTempFile;

/// Longer than anything here takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs a client to its end, and not for ever. `None` if it is not installed.
fn run(client: &str, arguments: &[&str]) -> Option<Output> {
    let child = Command::new(client)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        skip::lacking(client);
        return None;
    };
    let watched = thread::scope(|scope| {
        let mut pipes = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        // What is not read might fill a pipe.
        let stdout = scope.spawn(move || std::io::read_to_string(&mut pipes.0).unwrap().into_bytes());
        let stderr = scope.spawn(move || std::io::read_to_string(&mut pipes.1).unwrap().into_bytes());
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break Some(status);
            }
            if Instant::now() > deadline {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            thread::sleep(Duration::from_millis(5));
        };
        let (stdout, stderr) = (stdout.join().unwrap(), stderr.join().unwrap());
        status.map(|status| Output { status, stdout, stderr })
    });
    Some(watched.unwrap_or_else(|| panic!("{client} {arguments:?} did not end")))
}

/// What a client that must end well printed.
fn printed(client: &str, arguments: &[&str]) -> Option<String> {
    let output = run(client, arguments)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{client} {arguments:?}: {text}{complaint}");
    Some(text)
}

fn url(server: &Handle, scheme: &str, path: &str) -> String {
    format!("{scheme}://{}{path}", server.tcp_address().unwrap())
}

fn start(config: Config) -> Handle {
    spawn(config).unwrap()
}

fn tls() -> Option<Tls> {
    Some(Tls::new(Credentials::self_signed(KeyType::default(), &Config::default().listen)))
}

/// A file of so many bytes.
fn file(size: usize) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(&vec![b'x'; size]).unwrap();
    file
}

/// Asks with `curl`, which then tells the version of HTTP, how much it received, and the status.
fn curl(options: &[&str], url: &str) -> Option<String> {
    let common = ["-sSk", "--noproxy", "*", "--max-time", "20", "-o", "/dev/null"];
    let told = ["-w", "%{http_version} %{size_download} %{http_code}"];
    printed("curl", &[&common[..], &told, options, &[url]].concat())
}

#[test]
fn curl_is_served_by_prior_knowledge_and_by_alpn() {
    let server = start(Config::default());
    let path = url(&server, "http", "/size/2m");
    for (options, expected) in [
        (&["--http2-prior-knowledge"][..], "2 2097152 200"),
        // It asks for an upgrade, and takes the answer over HTTP/1.1.
        (&["--http2"], "1.1 2097152 200"),
        (&["--http1.1"], "1.1 2097152 200"),
        (&["--http2-prior-knowledge", "-d", "body"], "2 2097152 200"),
    ] {
        let Some(told) = curl(options, &path) else { return };
        assert_eq!(told, expected, "{options:?}");
    }
    let counts = server.stop().unwrap();
    assert_eq!((counts.connections_http1, counts.connections_http2), (2, 2));

    for (http2, options, expected) in [
        (Some(Http2::default()), &[][..], "2 2097152 200"),
        (Some(Http2::default()), &["--http1.1"], "1.1 2097152 200"),
        (None, &["--http2"], "1.1 2097152 200"),
    ] {
        let server = start(Config { tls: tls(), http2, ..Config::default() });
        let Some(told) = curl(options, &url(&server, "https", "/size/2m")) else { return };
        assert_eq!(told, expected, "{options:?}");
    }
}

#[test]
fn curl_sends_bodies_through_small_windows() {
    let body = file(300_000);
    let data = format!("@{}", body.path().display());
    for (window, connection_window) in [(100, 1 << 20), (1 << 20, 1000), (10_000_000, 10_000_000)] {
        let http2 = Some(Http2 { window, connection_window, ..Http2::default() });
        for (scheme, tls) in [("http", None), ("https", tls())] {
            let server = start(Config { http2, tls, ..Config::default() });
            let options = ["--http2-prior-knowledge", "--data-binary", &data];
            let Some(told) = curl(&options, &url(&server, scheme, "/size/3")) else { return };
            assert_eq!(told, "2 3 200", "{window}, {connection_window}, {scheme}");
        }
    }
}

#[test]
fn nghttp_sees_trailers_interim_replies_and_settings() {
    let http2 = Some(Http2 { streams: 7, window: 70_000, ..Http2::default() });
    let server = start(Config { http2, ..Config::default() });
    let ask = |path: &str| printed("nghttp", &["-nv", &url(&server, "http", path)]);
    let Some(seen) = ask("/trailers/6") else { return };
    // FNV-1a of "012345", computed elsewhere.
    assert!(seen.contains("server-checksum: 9cc42e587f2de15e"), "{seen}");
    assert!(seen.contains("SETTINGS_MAX_CONCURRENT_STREAMS(0x03):7"), "{seen}");
    assert!(seen.contains("SETTINGS_INITIAL_WINDOW_SIZE(0x04):70000"), "{seen}");
    let seen = ask("/fault/interim").unwrap();
    for status in [100, 103, 200] {
        assert!(seen.contains(&format!(":status: {status}")), "{seen}");
    }
}

#[test]
fn nghttp_sees_the_faults() {
    let server = start(Config::default());
    for (fault, expected) in [
        ("reset-stream", "(error_code=INTERNAL_ERROR(0x02))"),
        ("refuse-stream", "(error_code=REFUSED_STREAM(0x07))"),
        ("goaway", "(last_stream_id=2147483647, error_code=NO_ERROR(0x00)"),
        ("goaway-error", "error_code=ENHANCE_YOUR_CALM(0x0b)"),
        // What nghttp says of them.
        ("truncate", "(error_code=PROTOCOL_ERROR(0x01))"),
        ("bad-length", "(error_code=PROTOCOL_ERROR(0x01))"),
        ("bad-chunk", "(error_code=INTERNAL_ERROR(0x02))"),
        ("reset", "Some requests were not processed"),
        ("reset-body", "Some requests were not processed"),
        ("close", "Some requests were not processed"),
        ("garbage", "Some requests were not processed"),
    ] {
        let path = url(&server, "http", &format!("/fault/{fault}/size/20"));
        let Some(output) = run("nghttp", &["-nv", &path]) else { return };
        let seen = [output.stdout, output.stderr].concat();
        let seen = String::from_utf8_lossy(&seen);
        assert!(seen.contains(expected), "{fault}: {seen}");
    }
    let counts = server.stop().unwrap();
    assert_eq!((counts.connections_http2, counts.requests, counts.requests_malformed), (11, 11, 0));
    assert_eq!((counts.streams_reset, counts.streams_reset_by_client), (3, 2));
}

#[test]
fn nghttp_sends_bodies_with_padding_continuations_and_other_tables() {
    let http2 = Http2 { window: 1000, header_table: 100, frame_size: 1 << 20, ..Http2::default() };
    let body = file(50_000);
    let path = body.path().display().to_string();
    for (scheme, tls) in [("http", None), ("https", tls())] {
        let server = start(Config { http2: Some(http2), tls, ..Config::default() });
        let options = ["-n", "-m", "20", "-d", &path, "-b", "200", "--continuation", "-c", "0"];
        let url = url(&server, scheme, "/trailers/20000");
        let more = ["--trailer", "a: b", "--expect-continue", "-w", "10", &url];
        let Some(output) = run("nghttp", &[&options[..], &more].concat()) else { return };
        assert!(output.stderr.is_empty() || scheme == "https", "{output:?}");
        let counts = server.stop().unwrap();
        assert_eq!((counts.requests, counts.replies), (20, [20, 0, 0, 0]), "{counts}");
    }
}

/// Has `h2load` ask so often, and all of it succeed.
fn load(config: Config, scheme: &str, path: &str, requests: u64, options: &[&str]) -> Option<Counts> {
    let server = start(config);
    let count = requests.to_string();
    let url = url(&server, scheme, path);
    let seen = printed("h2load", &[&["-n", &count][..], options, &[&url]].concat())?;
    let expected = format!("{requests} done, {requests} succeeded, 0 failed, 0 errored, 0 timeout");
    assert!(seen.contains(&expected), "{seen}");
    let counts = server.stop().unwrap();
    assert_eq!((counts.requests, counts.replies_total()), (requests, requests), "{counts}");
    assert_eq!((counts.requests_malformed, counts.streams_reset_by_client), (0, 0), "{counts}");
    Some(counts)
}

#[test]
fn h2load_and_the_server_count_alike() {
    for (scheme, tls) in [("http", None), ("https", tls())] {
        let config = || Config { tls: tls.clone(), ..Config::default() };
        let Some(counts) = load(config(), scheme, "/", 3000, &["-c", "3", "-m", "100"]) else { return };
        assert_eq!((counts.connections, counts.connections_http2), (3, 3));
        load(config(), scheme, "/size/300k", 100, &["-c", "2", "-m", "10"]);
        load(config(), scheme, "/trailers/30k", 100, &["-c", "2", "-m", "10", "-w", "10", "-W", "12"]);
        load(config(), scheme, "/delay/uniform:0ms,20ms", 1000, &["-c", "1", "-m", "500"]);
    }
}

#[test]
fn h2load_keeps_to_one_stream_and_sends_bodies_through_small_windows() {
    let body = file(20_000);
    let path = body.path().display().to_string();
    let http2 = Some(Http2 { streams: 1, window: 3000, connection_window: 5000, ..Http2::default() });
    load(Config { http2, ..Config::default() }, "http", "/", 60, &["-c", "2", "-m", "1", "-d", &path]);
}

#[test]
fn h2load_is_told_to_go_away_in_order() {
    let close_after = Some(CloseAfter { replies: 50, announced: true });
    let server = start(Config { close_after, ..Config::default() });
    let url = url(&server, "http", "/");
    let Some(output) = run("h2load", &["-n", "200", "-c", "1", "-m", "10", &url]) else { return };
    let seen = String::from_utf8_lossy(&output.stdout);
    // It does not come back, but what it had sent was answered.
    let counts = server.stop().unwrap();
    assert!(seen.contains(&format!("{} succeeded", counts.requests)), "{seen}{counts}");
    assert!((50..200).contains(&counts.requests), "{counts}");
    assert_eq!(counts.replies_total(), counts.requests, "{counts}");
    assert!(counts.goaways_sent >= 1, "{counts}");
}

#[test]
fn a_thousand_streams_are_open_at_once() {
    let config = Config { delay: "300ms".parse().unwrap(), ..Config::default() };
    let began = Instant::now();
    if load(config, "http", "/", 2000, &["-c", "2", "-m", "1000"]).is_some() {
        // One after the other they would have taken ten minutes.
        assert!(began.elapsed() < PATIENCE);
    }
}
