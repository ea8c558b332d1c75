//! Bodies, header fields, lists of requests, placeholders, compression and checks: what goes over the wire, against
//! servers that the tests start, and what is said of the replies.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::support::program::{Exit, Invocation, Killed, Outcome, under_test};
use crate::support::real_server::{Kind, RealServer, Settings};
use crate::support::report::Report;
use crate::support::words;
use httperf_testkit::server::{Behaviour, Reply, Server};
use httperf_testkit::tcp::listen;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

const USER_AGENT: &str = concat!("User-Agent: httperf/", env!("CARGO_PKG_VERSION"), "\r\n");

/// Runs the program with these files beside it. `PORT` in them and in the arguments is that of the server.
fn run(arguments: &str, files: &[(&str, &str)], port: u16) -> Outcome {
    let with_port = |text: &str| text.replace("PORT", &port.to_string());
    let mut invocation = Invocation::new(&under_test(), words(&with_port(arguments)));
    let files = files.iter().map(|(name, text)| ((*name).to_owned(), with_port(text).into_bytes()));
    invocation.files = files.collect();
    invocation.run().expect("the program can be started")
}

#[track_caller]
fn succeeds(outcome: &Outcome) -> String {
    let stderr = String::from_utf8_lossy(&outcome.stderr);
    assert_eq!(outcome.exit, Exit::Code(0), "{stderr}");
    String::from_utf8_lossy(&outcome.stdout).into_owned()
}

/// What the program sends, connection by connection.
#[track_caller]
fn sent(arguments: &str, files: &[(&str, &str)]) -> Vec<String> {
    let server = Server::start(Behaviour::ok()).expect("a port is free");
    succeeds(&run(arguments, files, server.port()));
    let connections = server.finish();
    connections
        .iter()
        .map(|connection| String::from_utf8(connection.bytes()).expect("the requests are text"))
        .collect()
}

/// One call with these arguments sends this. `UA` stands for the line of the program's own name.
#[track_caller]
fn check(arguments: &str, expected: &str) {
    let files = [("body", "file {seq}\n"), ("a.txt", "contents")];
    let sent = sent(&format!("--server=127.0.0.1 --port=PORT {arguments}"), &files);
    assert_eq!(sent, [expected.replace("UA", USER_AGENT)], "{arguments}");
}

#[test]
fn a_body_is_sent_with_its_length_and_makes_the_method_post() {
    check("--body 'some text'", "POST / HTTP/1.1\r\nUAHost: 127.0.0.1\r\nContent-length: 9\r\n\r\nsome text");
    check("--body '' --method PUT", "PUT / HTTP/1.1\r\nUAHost: 127.0.0.1\r\nContent-length: 0\r\n\r\n");
    check(
        "--body-file body --http-version=1.0",
        "POST / HTTP/1.0\r\nUAConnection: keep-alive\r\nHost: 127.0.0.1\r\nContent-length: 11\r\n\r\nfile {seq}\n",
    );
}

#[test]
fn a_form_is_sent_as_a_page_sends_it() {
    check(
        "--form 'a=b c' --form d=e&f --form n={seq}",
        "POST / HTTP/1.1\r\nUAHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-length: 17\r\n\r\na=b+c&d=e%26f&n=0",
    );
    check(
        "--form x=y --form file=@a.txt",
        "POST / HTTP/1.1\r\nUAHost: 127.0.0.1\r\n\
         Content-Type: multipart/form-data; boundary=httperf-form-0000000000000000\r\nContent-length: 263\r\n\r\n\
         --httperf-form-0000000000000000\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\ny\r\n\
         --httperf-form-0000000000000000\r\n\
         Content-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\
         Content-Type: application/octet-stream\r\n\r\ncontents\r\n--httperf-form-0000000000000000--\r\n",
    );
}

#[test]
fn host_has_the_port_of_a_url_and_none_without_one() {
    for (arguments, host) in [
        ("http://127.0.0.1:PORT/ --num-calls 2", "127.0.0.1:PORT"),
        ("127.0.0.1:PORT --wsess 1,2,0", "127.0.0.1:PORT"),
        ("127.0.0.1:PORT --request-rate 100 --num-calls 2 --concurrency 1", "127.0.0.1:PORT"),
        ("127.0.0.1:PORT --myaddr 127.0.0.2 --num-calls 2", "127.0.0.1:PORT"),
        ("127.0.0.1:PORT --server-name www.example --num-calls 2", "www.example"),
        ("http://a.example/ --connect-to ::127.0.0.1:PORT --num-calls 2", "a.example"),
        ("http://a.example:81/ --proxy http://127.0.0.1:PORT --num-calls 2", "a.example:81"),
        ("--server 127.0.0.1 --port PORT --num-calls 2", "127.0.0.1"),
        ("--server 127.0.0.1 --port PORT --wsess 1,2,0", "127.0.0.1"),
        ("http://127.0.0.1:PORT/ --server 127.0.0.1 --port PORT --num-calls 2", "127.0.0.1"),
    ] {
        let server = Server::start(Behaviour::ok()).expect("a port is free");
        let port = server.port();
        let report = succeeds(&run(arguments, &[], port));
        let seen = hosts(server);
        let expected = host.replace("PORT", &port.to_string());
        assert_eq!(seen, [expected.clone(), expected], "{arguments}");

        // The echo line, with the classic tool's underscore mended, asks for the same.
        let again = Server::start(Behaviour::ok()).expect("a port is free");
        let line = report.lines().next().unwrap_or_default();
        let line = line.replacen("httperf", "", 1).replace("server_name", "server-name");
        let line = line.replace(&port.to_string(), &again.port().to_string());
        succeeds(&run(&line, &[], again.port()));
        let expected = host.replace("PORT", &again.port().to_string());
        assert_eq!(hosts(again), [expected.clone(), expected], "{arguments}");
    }
}

#[test]
fn a_saved_run_sends_the_same_host_again() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let result = folder.path().join("r.json");
    for target in ["http://127.0.0.1:PORT/", "--server 127.0.0.1 --port PORT"] {
        let server = Server::start(Behaviour::ok()).expect("a port is free");
        succeeds(&run(&format!("{target} --output {}", result.display()), &[], server.port()));
        succeeds(&run(&format!("rerun {}", result.display()), &[], server.port()));
        let seen = hosts(server);
        assert_eq!((seen.len(), &seen[0]), (2, &seen[1]), "{target}");
    }
}

/// The values of `Host` in the requests that a server got.
fn hosts(server: Server) -> Vec<String> {
    let requests = server.finish().into_iter().flat_map(|connection| connection.requests);
    let host = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.split("\r\n").find_map(|line| line.strip_prefix("Host: ").map(str::to_owned)).unwrap_or_default()
    };
    requests.map(|request| host(&request.bytes)).collect()
}

#[test]
fn header_fields_follow_those_of_add_header_and_replace_our_own() {
    check(
        "--add-header 'A: 1\\n' --header 'B:2' --header 'C: {seq}' --header 'B: 3'",
        "GET / HTTP/1.1\r\nUAHost: 127.0.0.1\r\nA: 1\r\nB: 2\r\nC: 0\r\nB: 3\r\n\r\n",
    );
    check(
        "--header 'Host: shop.example' --header 'user-agent: test'",
        "GET / HTTP/1.1\r\nHost: shop.example\r\nuser-agent: test\r\n\r\n",
    );
    check(
        "--header 'Connection: close' --http-version=1.0",
        "GET / HTTP/1.0\r\nUAHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
    );
    check(
        "--basic-auth 'Aladdin:open sesame'",
        "GET / HTTP/1.1\r\nUAHost: 127.0.0.1\r\nAuthorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n\r\n",
    );
    check(
        "--bearer abc.def --compressed",
        "GET / HTTP/1.1\r\nUAHost: 127.0.0.1\r\nAuthorization: Bearer abc.def\r\n\
         Accept-Encoding: gzip, br, zstd\r\n\r\n",
    );
}

#[test]
fn header_fields_are_sent_with_every_kind_of_workload() {
    let files = [("sessions", "/a method=POST contents=x\n  /b\n"), ("uris", "/1\n/2\n")];
    let base = "--server=127.0.0.1 --port=PORT --header 'X: y'";
    for (arguments, lines) in [
        ("--wsess=1,2,0 --uri=/a --body=z", ["POST /a HTTP/1.1", "POST /a HTTP/1.1"]),
        ("--wsesslog=1,0,sessions --max-connections=1", ["POST /a HTTP/1.1", "GET /b HTTP/1.1"]),
        ("--wlog=n,uris --num-calls=2 --method=PUT --body=z", ["PUT /1 HTTP/1.1", "PUT /2 HTTP/1.1"]),
        ("--request-rate=100 --num-calls=2 --concurrency=1", ["GET / HTTP/1.1", "GET / HTTP/1.1"]),
    ] {
        let server = Server::start(Behaviour::ok()).expect("a port is free");
        succeeds(&run(&format!("{base} {arguments}"), &files, server.port()));
        let requests: Vec<_> =
            server.finish().into_iter().flat_map(|connection| connection.requests).collect();
        let sent: Vec<String> = requests.iter().map(httperf_testkit::server::Received::line).collect();
        assert_eq!(sent, lines, "{arguments}");
        for request in requests {
            assert!(request.bytes.windows(8).any(|bytes| bytes == b"\r\nX: y\r\n"), "{arguments}");
        }
    }
}

#[test]
fn listed_requests_are_sent_one_after_the_other_as_they_are_written() {
    let plain = "# first\nGET http://127.0.0.1:PORT/a?{seq}\nAccept: text/html\n\n\
                 POST http://127.0.0.1:PORT/b\nX-Name: own\n@body\n\nDELETE http://127.0.0.1:PORT/c\n";
    let json = r#"{"method":"GET","url":"http://127.0.0.1:PORT/a?{seq}","header":{"Accept":["text/html"]}}
        {"method":"POST","url":"http://127.0.0.1:PORT/b","header":{"X-Name":["own"]},"body":"Ym9keSB7c2VxfQ=="}
        {"method":"DELETE","url":"http://127.0.0.1:PORT/c"}"#;
    for (list, body) in [(plain, "file {seq}\n"), (json, "body 1")] {
        let server = Server::start(Behaviour::ok()).expect("a port is free");
        let port = server.port();
        let arguments = "--targets=list --num-calls=4 --header 'X-Name: shared'";
        succeeds(&run(arguments, &[("list", list), ("body", "file {seq}\n")], port));
        let connections = server.finish();
        let host = format!("{USER_AGENT}Host: 127.0.0.1:{port}\r\n");
        let expected = [
            format!("GET /a?0 HTTP/1.1\r\n{host}X-Name: shared\r\nAccept: text/html\r\n\r\n"),
            format!("POST /b HTTP/1.1\r\n{host}X-Name: own\r\nContent-length: {}\r\n\r\n{body}", body.len()),
            format!("DELETE /c HTTP/1.1\r\n{host}X-Name: shared\r\n\r\n"),
            format!("GET /a?3 HTTP/1.1\r\n{host}X-Name: shared\r\nAccept: text/html\r\n\r\n"),
        ];
        assert_eq!(connections.len(), 1);
        assert_eq!(String::from_utf8(connections[0].bytes()).expect("text"), expected.concat());
    }
}

#[test]
fn each_listed_request_goes_to_its_own_server() {
    for arguments in [
        "--num-conns=7",
        "--num-conns=7 --rate=200",
        "--num-conns=7 --rate=200 --threads=2",
        "--num-calls=7 --request-rate=200 --concurrency=4",
        "--num-calls=7 --request-rate=200 --concurrency=4 --threads=2",
        "--num-conns=7 --concurrency=3",
    ] {
        let servers = [(); 2].map(|()| Server::start(Behaviour::ok()).expect("a port is free"));
        let [first, second] = [servers[0].port(), servers[1].port()];
        let list = format!(
            "GET http://127.0.0.1:{first}/0?{{seq}}\n\nGET http://127.0.0.1:{second}/1?{{seq}}\n\n\
             GET http://127.0.0.1:{second}/2?{{seq}}\n"
        );
        succeeds(&run(&format!("--targets=list {arguments}"), &[("list", &list)], 0));
        let sent = servers.map(|server| -> BTreeSet<String> {
            let requests = server.finish().into_iter().flat_map(|connection| connection.requests);
            requests.map(|request| request.line()).collect()
        });
        let line = |number: u64| format!("GET /{}?{number} HTTP/1.1", number % 3);
        assert_eq!(sent[0], [0, 3, 6].map(line).into(), "{arguments}");
        assert_eq!(sent[1], [1, 2, 4, 5].map(line).into(), "{arguments}");
    }
}

#[test]
fn placeholders_depend_on_the_client_and_the_number_of_the_call_alone() {
    let of = |arguments: &str| -> BTreeSet<String> {
        let uri = "--uri=/{seq}/{rand:1-1000000}/{uuid}";
        let base = format!("--server=127.0.0.1 --port=PORT {uri} --body={{rand:5-9}} --timeout=5");
        let server = Server::start(Behaviour::ok()).expect("a port is free");
        succeeds(&run(&format!("{base} {arguments}"), &[], server.port()));
        let requests = server.finish().into_iter().flat_map(|connection| connection.requests);
        requests
            .map(|request| format!("{} {}", request.line(), String::from_utf8_lossy(request.body())))
            .collect()
    };
    let once = of("--client=1/3 --num-conns=12");
    assert_eq!(once.len(), 12);
    for arguments in [
        "--num-conns=12",
        "--num-calls=12",
        "--num-conns=12 --rate=300",
        "--num-conns=12 --rate=300 --threads=2",
        "--num-conns=4 --num-calls=3 --rate=300 --threads=2",
        "--request-rate=300 --num-calls=12 --threads=2",
        "--wsess=3,4,0 --burst-length=4",
    ] {
        assert_eq!(of(&format!("--client=1/3 {arguments}")), once, "{arguments}");
    }
    let other = of("--client=2/3 --num-conns=12");
    assert!(once.iter().map(|line| &line[12..]).all(|rest| !other.iter().any(|line| line.ends_with(rest))));
}

/// How large a body is that is not to be copied.
const LARGE_BODY: u64 = 100 * 1024 * 1024;

#[test]
fn a_large_file_is_held_once_and_sent_whole() {
    const CALLS: u64 = 4;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("large");
    let mut file = fs::File::create(&path).expect("a file");
    let mut expected = Sha256::new();
    for number in 0..LARGE_BODY / 8192 {
        let block = vec![number as u8; 8192];
        file.write_all(&block).expect("the disk has room");
        expected.update(&block);
    }
    drop(file);
    let (port, sink) = sink(CALLS);
    let mut command = Command::new(under_test());
    command.arg("--body-file").arg(&path).args(["--server=127.0.0.1", "--num-conns=2", "--num-calls=2"]);
    command.args(["--concurrency=2", "--send-buffer=1048576"]).arg(format!("--port={port}"));
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it can be started");
    let mut child = Killed(child);
    let status = format!("/proc/{}/status", child.0.id());
    let mut most = 0;
    let exit = loop {
        if let Some(exit) = child.0.try_wait().expect("it is a child") {
            break exit;
        }
        most = most.max(peak_memory(Path::new(&status)).unwrap_or(0));
        thread::sleep(Duration::from_millis(2));
    };
    assert!(exit.success());
    let digests = sink.join().expect("the server does not panic");
    let expected = expected.finalize();
    assert_eq!(digests, vec![expected.to_vec(); CALLS as usize]);
    assert!(most > LARGE_BODY && most < LARGE_BODY + (48 << 20), "{most} bytes at the most");
}

/// The most memory that a process has had, in bytes.
fn peak_memory(status: &Path) -> Option<u64> {
    let status = fs::read_to_string(status).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// A server that takes so many bodies in all and gives their digests.
fn sink(calls: u64) -> (u16, JoinHandle<Vec<Vec<u8>>>) {
    let (listener, port) = listen();
    let serve = move || {
        let mut threads: Vec<JoinHandle<Vec<Vec<u8>>>> = Vec::new();
        // Two connections, each with half of the calls.
        for _ in 0..2 {
            let (stream, _) = listener.accept().expect("a client connects");
            threads.push(thread::spawn(move || (0..calls / 2).map(|_| take_body(&stream)).collect()));
        }
        threads.into_iter().flat_map(|thread| thread.join().expect("the client sends it all")).collect()
    };
    (port, thread::spawn(serve))
}

fn take_body(stream: &TcpStream) -> Vec<u8> {
    let mut reader = BufReader::with_capacity(1 << 16, stream);
    let mut size = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("the client sends a header");
        if let Some(value) = line.strip_prefix("Content-length: ") {
            size = value.trim().parse().expect("a size");
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut digest = Sha256::new();
    let mut body = reader.take(size);
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = body.read(&mut buffer).expect("the client sends a body");
        if count == 0 {
            break;
        }
        digest.update(&buffer[..count]);
    }
    let mut stream = stream;
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").expect("the client is there");
    digest.finalize().to_vec()
}

/// Runs against a server on this port and gives the document, and the full report.
#[track_caller]
fn measured(port: u16, arguments: &str) -> (Value, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let result = folder.path().join("r.json");
    let base = "--server=127.0.0.1 --port=PORT --report=full";
    let outcome = run(&format!("{base} {arguments} --output={}", result.display()), &[], port);
    let report = succeeds(&outcome);
    let document = fs::read(&result).expect("the result was written");
    (serde_json::from_slice(&document).expect("it is JSON"), report)
}

#[test]
fn nginx_compresses_when_asked_and_bytes_are_counted_both_ways() {
    let Some(server) = RealServer::start(Kind::Nginx, Settings::default()) else { return };
    let (document, report) = measured(server.port(), "--uri=/gzip/medium.bin --num-calls=5 --compressed");
    let compressed = &document["summary"]["compressed"];
    assert_eq!(
        (compressed["replies"].as_u64(), compressed["decoded_bytes"].as_u64()),
        (Some(5), Some(1_500_000))
    );
    let bytes = compressed["bytes"].as_u64().expect("a number");
    assert!(bytes > 0 && bytes < 20_000, "{bytes}");
    assert_eq!(document["summary"]["content_bytes"], bytes, "what came is what the classic report counts");
    let line = format!("Compressed replies: 5 of 5: {bytes} bytes received, 1500000 bytes decompressed (");
    assert!(report.contains(&line), "{report}");
    let (document, report) = measured(server.port(), "--uri=/gzip/medium.bin --num-calls=5");
    assert_eq!(document["summary"]["compressed"]["replies"], 0);
    assert!(!report.contains("Compressed replies"), "{report}");
}

#[test]
fn every_coding_is_decompressed_and_what_cannot_be_is_counted() {
    let Some(server) = RealServer::start(Kind::Nginx, Settings::default()) else { return };
    let text: Vec<u8> = (0..40_000_u32).flat_map(|number| format!("{number} ").into_bytes()).collect();
    let docs = server.documents();
    let mut brotli = Vec::new();
    brotli::CompressorReader::new(&text[..], 4096, 5, 22).read_to_end(&mut brotli).expect("it is in memory");
    let zstd = zstd::stream::encode_all(&text[..], 3).expect("it is in memory");
    fs::write(docs.join("page.br"), &brotli).expect("the folder is there");
    fs::write(docs.join("page.zst"), &zstd).expect("the folder is there");
    fs::write(docs.join("cut.zst"), &zstd[..zstd.len() / 2]).expect("the folder is there");
    fs::write(docs.join("text.gz"), &text).expect("the folder is there");
    fs::write(docs.join("text"), &text).expect("the folder is there");
    let hash: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
    let checks = format!("--expect-size={} --expect-body-hash=sha256:{hash} --num-calls=3", text.len());
    for (uri, unexpected) in [
        ("/gzip/text", None),
        ("/page.br", None),
        ("/page.zst", None),
        ("/text", None),
        ("/cut.zst", Some("undecodable")),
        ("/text.gz", Some("undecodable")),
        ("/small.txt", Some("size")),
    ] {
        let (document, _) = measured(server.port(), &format!("--uri={uri} --compressed {checks}"));
        let mismatches = &document["summary"]["mismatches"];
        for kind in ["status", "undecodable", "size", "hash"] {
            let expected = if unexpected == Some(kind) { 3 } else { 0 };
            assert_eq!(mismatches[kind], expected, "{kind} of {uri}");
        }
        assert_eq!(document["figures"]["unexpected"], if unexpected.is_some() { 3 } else { 0 }, "{uri}");
    }
}

#[test]
fn unexpected_replies_are_an_outcome_of_their_own() {
    let server = Server::start(Behaviour::statuses(&[200, 404, 200, 503])).expect("a port is free");
    let folder = tempfile::tempdir().expect("a folder");
    let calls = folder.path().join("calls.csv");
    let arguments = format!("--num-calls=8 --expect-status=2xx,503 --calls={}", calls.display());
    let (document, report) = measured(server.port(), &arguments);
    assert!(
        report.contains("Unexpected replies: 2 of 8: status 2 undecodable 0 size 0 hash 0\n"),
        "{report}"
    );
    assert!(report.contains("\nof unexpected "), "{report}");
    let counts: Vec<u64> = document["summary"]["calls"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|clocks| clocks["latency"]["moments"]["count"].as_u64().expect("a number"))
        .collect();
    assert_eq!(counts, [6, 0, 0, 2], "successful, HTTP errors, failed, unexpected");
    assert_eq!(document["figures"]["latency_ms"]["samples"], 6);
    assert_eq!(document["figures"]["unexpected_ms"]["samples"], 2);
    let rows = fs::read_to_string(&calls).expect("the log was written");
    let outcomes: Vec<&str> =
        rows.lines().skip(1).map(|row| row.split(',').nth(7).expect("it has")).collect();
    let turn = ["success", "unexpected_status", "success", "success"];
    assert_eq!(outcomes, [turn, turn].concat());
    let (classic, _) = report.split_once("\nTimes  ").expect("the classic report comes first");
    let classic = Report::parse(classic).expect("it is as ever");
    assert_eq!([classic.text("replies"), classic.text("4xx"), classic.text("5xx")], ["8", "2", "2"]);
}

#[test]
fn a_digest_is_that_of_the_body_and_of_nothing_else() {
    let server = Server::start(Behaviour::each(Reply::ok(b"abc"))).expect("a port is free");
    let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let (document, _) = measured(server.port(), &format!("--num-calls=2 --expect-body-hash={hash}"));
    assert_eq!(document["figures"]["unexpected"], 0);
    let other = hash.replace('b', "c");
    let (document, _) = measured(server.port(), &format!("--num-calls=2 --expect-body-hash=sha256:{other}"));
    assert_eq!(document["summary"]["mismatches"]["hash"], 2);
}

#[test]
fn python_gives_back_the_bodies_it_was_sent() {
    let Some(server) = RealServer::start(Kind::Python, Settings::default()) else { return };
    let body: Vec<u8> = (0..300_000_u32).map(|number| (number % 251) as u8).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("body");
    fs::write(&path, &body).expect("the folder is there");
    let hash: String = Sha256::digest(&body).iter().map(|byte| format!("{byte:02x}")).collect();
    let file = path.display();
    let arguments =
        format!("--uri=/echo --body-file={file} --num-conns=3 --num-calls=4 --expect-body-hash={hash}");
    let (document, _) = measured(server.port(), &arguments);
    assert_eq!(
        (document["figures"]["replies"].as_u64(), document["figures"]["unexpected"].as_u64()),
        (Some(12), Some(0))
    );
    let arguments = "--uri=/echo --body={uuid} --num-conns=2 --num-calls=20 --expect-size=36";
    let (document, _) = measured(server.port(), arguments);
    assert_eq!(document["figures"]["unexpected"], 0);
}

#[test]
fn a_result_names_the_file_of_a_body_and_reads_it_again() {
    let server = Server::start(Behaviour::ok()).expect("a port is free");
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("body"), "first contents").expect("the folder is there");
    let base = "--server=127.0.0.1 --port=PORT";
    let arguments = format!("{base} --body-file={} --output={}", path("body"), path("r.json"));
    succeeds(&run(&arguments, &[], server.port()));
    let document = fs::read_to_string(path("r.json")).expect("the result was written");
    assert!(document.contains("\"sha256\"") && !document.contains("first contents"));
    succeeds(&run(&format!("rerun {}", path("r.json")), &[], 0));
    fs::write(path("body"), "other contents").expect("the folder is there");
    let changed = run(&format!("rerun {}", path("r.json")), &[], 0);
    assert_eq!(changed.exit, Exit::Code(1));
    let message = String::from_utf8_lossy(&changed.stderr).into_owned();
    assert!(message.contains("to be what it was, got a file of another SHA-256"), "{message}");
    let requests: Vec<_> = server.finish().into_iter().flat_map(|connection| connection.requests).collect();
    assert_eq!(requests.len(), 2);
    assert!(requests.iter().all(|request| request.body() == b"first contents"));
}
