//! `httperf like`: the server sees the same requests from another tool and from its translation, and what cannot be
//! translated is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::support::nginx::Nginx;
use crate::support::program::{Exit, Invocation, Outcome, stderr, stdout, under_test};
use crate::support::running::{Running, find, optional};
use crate::support::words;
use httperf_certificates::Identity;
use httperf_command_line::args::Args;
use httperf_command_line::planning;
use httperf_command_line::terminal::messages::Program;
use httperf_program::commands;
use httperf_testkit::tcp;
use tempfile::TempDir;

/// A file that requests have as their body.
const BODY: &str = "some body\n";

/// A request, without what differs in every run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Request {
    /// Method, target and version.
    line: String,
    /// Header fields by their names in small letters.
    fields: BTreeMap<String, String>,
    body: String,
}

/// The requests of each connection, in the order in which they came.
type Seen = Vec<Vec<Request>>;

/// A server for HTTP/1 that keeps what it is asked. It closes connections as a client asks it to.
struct Recorder {
    port: u16,
    records: Arc<Records>,
}

#[derive(Default)]
struct Records {
    kept: Mutex<Kept>,
    /// A connection has ended.
    ended: Condvar,
}

#[derive(Default)]
struct Kept {
    /// The number of open connections.
    open: usize,
    /// The requests by the numbers of connections.
    seen: BTreeMap<usize, Vec<Request>>,
}

impl Recorder {
    fn start() -> Self {
        let records = Arc::new(Records::default());
        let shared = Arc::clone(&records);
        let port = tcp::serve(move |number, stream| {
            shared.lock().open += 1;
            // A client that goes away ends its connection.
            let _ = answer(stream, |request| shared.lock().seen.entry(number).or_default().push(request));
            shared.lock().open -= 1;
            shared.ended.notify_all();
        });
        Self { port, records }
    }

    /// Takes what it has seen, once all connections have ended. Those without a request do not count.
    fn take(&self) -> Seen {
        let (mut kept, _) = self
            .records
            .ended
            .wait_timeout_while(self.records.lock(), END_WAIT, |kept| kept.open > 0)
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut kept.seen).into_values().collect()
    }
}

impl Records {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time for which the ends of connections are waited for: a client that has ended has closed its own.
const END_WAIT: Duration = Duration::from_secs(10);

fn answer(mut stream: TcpStream, mut keep: impl FnMut(Request)) -> std::io::Result<()> {
    let mut pending: Vec<u8> = Vec::new();
    let mut buffer = [0; 4096];
    stream.set_nodelay(true)?;
    loop {
        let head_end = loop {
            if let Some(at) = pending.windows(4).position(|window| window == b"\r\n\r\n") {
                break at;
            }
            match stream.read(&mut buffer)? {
                0 => return Ok(()),
                size => pending.extend_from_slice(&buffer[..size]),
            }
        };
        let head = String::from_utf8_lossy(&pending[..head_end]).into_owned();
        let mut lines = head.split("\r\n");
        let line = lines.next().unwrap_or_default().to_owned();
        let fields: BTreeMap<String, String> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        if fields.contains_key("expect") {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let size = fields.get("content-length").and_then(|size| size.parse().ok()).unwrap_or(0);
        while pending.len() < head_end + 4 + size {
            match stream.read(&mut buffer)? {
                0 => return Ok(()),
                size => pending.extend_from_slice(&buffer[..size]),
            }
        }
        let request: Vec<u8> = pending.drain(..head_end + 4 + size).collect();
        let body = String::from_utf8_lossy(&request[head_end + 4..]).into_owned();
        let connection = fields.get("connection").map(|value| value.to_ascii_lowercase());
        let keeps = match connection.as_deref() {
            Some("close") => false,
            Some("keep-alive") => true,
            _ => line.ends_with("HTTP/1.1"),
        };
        let content = if line.starts_with("HEAD ") { "" } else { "ok" };
        keep(Request { line, fields, body });
        let connection = if keeps { "keep-alive" } else { "close" };
        let reply =
            format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: {connection}\r\n\r\n{content}");
        stream.write_all(reply.as_bytes())?;
        if !keeps {
            return Ok(());
        }
    }
}

/// A command line of a tool, and how the two runs may differ.
struct Row {
    /// The words behind the tool's name; `URL` stands for the server.
    words: &'static str,
    /// The number of requests; `None` if the run ends by time.
    requests: Option<usize>,
    /// The connections that the translation uses. The tool uses as many, or fewer if it shares them.
    connections: usize,
}

/// A tool, and how it differs from httperf whatever it is told.
struct Peer<'a> {
    name: &'a str,
    program: PathBuf,
    /// Header fields that the tool sends by itself, and the translation does not.
    adds: &'a [&'a str],
    /// Header fields that the translation sends, and the tool does not.
    lacks: &'a [&'a str],
    /// True if a request may go over the connection of another worker.
    shares_connections: bool,
}

impl Peer<'_> {
    #[track_caller]
    fn check(&self, rows: &[Row]) {
        let server = Recorder::start();
        for row in rows {
            let line = row.words.replace("URL", &format!("http://127.0.0.1:{}", server.port));
            self.succeeds(&self.program, &words(&line));
            let theirs = server.take();
            let like = [words("like --run"), vec![self.name.to_owned()], words(&line)].concat();
            self.succeeds(&under_test(), &like);
            let ours = server.take();

            let context = format!("{} {line}", self.name);
            assert_eq!(
                distinct(&theirs, &["user-agent"], self.adds),
                distinct(&ours, &["user-agent"], self.lacks),
                "{context}"
            );
            if let Some(requests) = row.requests {
                assert_eq!((count(&theirs), count(&ours)), (requests, requests), "{context}");
            }
            assert_eq!(ours.len(), row.connections, "connections: {context}");
            let is_alike = match self.shares_connections {
                true => theirs.len() <= ours.len(),
                false => theirs.len() == ours.len(),
            };
            assert!(is_alike, "connections: {} and {}: {context}", theirs.len(), ours.len());
        }
    }

    #[track_caller]
    fn succeeds(&self, program: &Path, arguments: &[String]) -> Outcome {
        let mut invocation = Invocation::new(program, arguments);
        if program == self.program {
            invocation.name = self.name.to_owned();
        }
        invocation.files = vec![("body.txt".to_owned(), BODY.into())];
        let outcome = invocation.run().expect("the program can be started");
        assert_eq!(
            outcome.exit,
            Exit::Code(0),
            "{} {arguments:?}: {}{}",
            program.display(),
            stdout(&outcome),
            stderr(&outcome)
        );
        outcome
    }
}

/// The requests that differ from each other in more than fields of these names.
fn distinct(seen: &Seen, names: &[&str], others: &[&str]) -> BTreeSet<Request> {
    let without = |request: &Request| {
        let mut request = request.clone();
        request.fields.retain(|name, _| !names.contains(&name.as_str()) && !others.contains(&name.as_str()));
        if let Some(connection) = request.fields.get_mut("connection") {
            connection.make_ascii_lowercase();
        }
        request
    };
    seen.iter().flatten().map(without).collect()
}

fn count(seen: &Seen) -> usize {
    seen.iter().map(Vec::len).sum()
}

const fn row(words: &'static str, requests: usize, connections: usize) -> Row {
    Row { words, requests: Some(requests), connections }
}

#[test]
fn a_server_sees_the_same_from_ab() {
    let Some(program) = find("ab") else { return };
    let peer = |lacks| Peer {
        name: "ab",
        program: program.clone(),
        adds: &["accept"],
        lacks,
        shares_connections: false,
    };
    // ab without -k leaves it to the version that the connection ends.
    peer(&["connection"]).check(&[
        row("-q -n 6 -c 2 URL/a?x=1", 6, 6),
        row("-q -n 2 -p body.txt URL/post", 2, 2),
        row("-q -n 2 -u body.txt -T text/x URL/put", 2, 2),
        row("-q -n 1 -m DELETE -A user:secret -H 'X-A: 1' URL/", 1, 1),
        row("-q -n 1 -i -C a=b -H 'Host: other.example' URL/", 1, 1),
    ]);
    peer(&[]).check(&[row("-q -k -n 6 -c 2 URL/a", 6, 2)]);
}

#[test]
fn a_server_sees_the_same_from_wrk() {
    let Some(program) = find("wrk") else { return };
    let peer = Peer { name: "wrk", program, adds: &[], lacks: &[], shares_connections: false };
    let timed = |words, connections| Row { words, requests: None, connections };
    peer.check(&[
        timed("-t1 -c2 -d1s -H 'X-A: 1' URL/a?x=1", 2),
        timed("-t2 -c3 -d1 -H 'Host: other.example' URL", 2),
    ]);
}

#[test]
fn a_server_sees_the_same_from_h2load_over_http1() {
    let Some(program) = find("h2load") else { return };
    let peer = Peer { name: "h2load", program, adds: &[], lacks: &[], shares_connections: false };
    peer.check(&[
        row("--h1 -n6 -c2 -H 'x-a: 1' URL/a?x=1", 6, 2),
        row("--h1 -n2 -d body.txt -H ':method: PUT' URL/put", 2, 1),
        row("-p http/1.1 -n4 -c2 -t2 -H ':authority: other.example' URL/", 4, 2),
    ]);
}

#[test]
fn a_server_sees_the_same_from_hey() {
    let Some(program) = optional("hey") else { return };
    // Of a request without a body, hey names the type all the same.
    let peer =
        |adds| Peer { name: "hey", program: program.clone(), adds, lacks: &[], shares_connections: true };
    peer(&["content-type"]).check(&[
        row("-n 6 -c 2 URL/a?x=1", 6, 2),
        row("-n 7 -c 3 -H 'X-A: 1' -disable-compression URL/", 6, 3),
        row("-n 4 -c 2 -disable-keepalive -m DELETE -host other.example URL/", 4, 4),
        row("-n 4 -c 2 -disable-keepalive=false -disable-compression=true URL/", 4, 2),
    ]);
    peer(&[]).check(&[
        row("-n 2 -c 1 -m POST -d text URL/post", 2, 1),
        row("-n 2 -c 1 -m PUT -D body.txt -T text/x -A text/y URL/put", 2, 1),
    ]);
}

#[test]
fn a_server_sees_the_same_from_oha() {
    let Some(program) = optional("oha") else { return };
    let peer =
        |adds, lacks| Peer { name: "oha", program: program.clone(), adds, lacks, shares_connections: true };
    peer(&["accept"], &[]).check(&[
        row("--no-tui -n 6 -c 2 URL/a?x=1", 6, 2),
        row("--no-tui -n 4 -c 2 --disable-keepalive --host other.example URL/", 4, 4),
        row("--no-tui -n 2 -c 1 -m PUT -D body.txt -T text/x -a user:secret URL/put", 2, 1),
    ]);
    peer(&[], &[]).check(&[row("--no-tui -n 2 -c 1 -d text -A text/x --disable-compression URL/", 2, 1)]);
    peer(&["accept"], &["connection"]).check(&[row("--no-tui -n 2 -c 1 --http-version 1.0 URL/", 2, 2)]);
}

#[test]
fn a_server_sees_the_same_from_curl() {
    let Some(program) = find("curl") else { return };
    let peer =
        |adds, lacks| Peer { name: "curl", program: program.clone(), adds, lacks, shares_connections: false };
    peer(&["accept"], &[]).check(&[
        row("-s URL/a?x=1", 1, 1),
        row("-sI URL/", 1, 1),
        row("-s -G -d a=1 --data-urlencode 'b=x y' URL/?q", 1, 1),
        row("-s -d a=1 --data-raw b=@2 --data-urlencode 'c=x y&z' URL/post", 1, 1),
        row("-s --data-binary @body.txt -H 'Content-Type: text/x' URL/post", 1, 1),
        row("-s -XPUT -d '' URL/put", 1, 1),
        row("-s -u user:secret -b a=1 -b 'c=2; d=3' -e http://x.example/ -r 0-9 URL/", 1, 1),
        row("-s -X DELETE -H 'X-Empty;' -H 'Host: other.example' -H 'Accept:' URL/", 1, 1),
    ]);
    peer(&[], &[]).check(&[row("-s --json {} URL/json", 1, 1)]);
    peer(&["accept", "expect"], &[]).check(&[row("-s -T body.txt URL/put", 1, 1)]);
    peer(&["accept"], &["connection"]).check(&[row("-s -0 URL/", 1, 1)]);
    // The codings are the same but for deflate.
    peer(&["accept", "accept-encoding"], &["accept-encoding"]).check(&[row("-s --compressed URL/", 1, 1)]);
}

#[test]
fn a_server_sees_the_same_from_what_a_browser_copies_for_curl() {
    let Some(program) = find("curl") else { return };
    let peer = Peer { name: "curl", program, adds: &[], lacks: &[], shares_connections: false };
    peer.check(&[row(
        "-s URL/api/items?page=2 -X POST -H 'accept: application/json' -H 'accept-language: en-GB,en;q=0.9' \
         -H 'content-type: application/json' -b 'session=abc; theme=dark' -H 'origin: http://shop.example' \
         -H 'sec-ch-ua: \"Chromium\";v=\"140\"' -H 'accept-encoding: gzip, deflate, br, zstd' --compressed \
         --data-raw '{\"name\":\"a b\",\"price\":5}'",
        1,
        1,
    )]);
}

#[test]
fn a_server_sees_the_same_from_vegeta() {
    let Some(program) = optional("vegeta") else { return };
    let server = Recorder::start();
    let targets = format!(
        "GET http://127.0.0.1:{port}/a\nX-A: 1\n\nPOST http://127.0.0.1:{port}/post\n@body.txt\n",
        port = server.port
    );
    let run = |program: &Path, name: &str, arguments: &str| {
        let mut invocation = Invocation::new(program, words(arguments));
        invocation.name = name.to_owned();
        invocation.files =
            vec![("body.txt".to_owned(), BODY.into()), ("list".to_owned(), targets.clone().into())];
        let outcome = invocation.run().expect("the program can be started");
        assert_eq!(outcome.exit, Exit::Code(0), "{arguments}: {}", stderr(&outcome));
        server.take()
    };
    for line in [
        "attack -targets=list -rate 20 -duration=1s -header 'X-B: 2' -output out",
        "attack -targets=list -rate 600/1m -duration=1s -keepalive=false -output out",
    ] {
        let theirs = run(&program, "vegeta", line);
        let ours = run(&under_test(), "httperf", &format!("like --run vegeta {line}"));
        let context = format!("{line}\ntheirs: {theirs:#?}\nours: {ours:#?}");
        // vegeta numbers its requests.
        let own = ["user-agent", "x-vegeta-seq"];
        assert_eq!(distinct(&theirs, &own, &[]), distinct(&ours, &own, &[]), "{context}");
        assert_eq!(count(&theirs), count(&ours), "{context}");
        let is_kept = |seen: &Seen| seen.iter().any(|requests| requests.len() > 1);
        assert_eq!(is_kept(&theirs), is_kept(&ours), "{context}");
    }
}

#[test]
fn a_server_sees_the_same_over_http2() {
    let (Some(nginx), Some(h2load), Some(curl)) = (find("nginx"), find("h2load"), find("curl")) else {
        return;
    };
    let server = Running::start(
        "127.0.0.1",
        1,
        |folder| {
            fs::create_dir(folder.join("docs"))?;
            fs::write(folder.join("docs/small.txt"), "small\n")
        },
        |folder, ports| {
            Nginx::new(folder)
                .listen(format!("127.0.0.1:{} http2", ports[0]))
                .log("'$connection|$request_method $request_uri $server_protocol|$http_host|$http_x_a'")
                .command(&nginx)
        },
    );
    let url = format!("http://127.0.0.1:{}/small.txt", server.port(0));
    let mut logged = 0;
    for (program, name, arguments, requests, connections) in [
        (&h2load, "h2load", format!("-n6 -c2 -m3 -H 'x-a: 1' {url}?a=b"), 6, 2),
        (&h2load, "h2load", format!("-n1 -H ':method: HEAD' -H ':authority: other.example' {url}"), 1, 1),
        (&curl, "curl", format!("-s --http2-prior-knowledge -H 'X-A: 1' {url}"), 1, 1),
    ] {
        let mut seen = |program: &Path, arguments: &str| {
            let outcome =
                Invocation::new(program, words(arguments)).run().expect("the program can be started");
            assert_eq!(outcome.exit, Exit::Code(0), "{arguments}: {}", stderr(&outcome));
            let lines = server.lines("access.log", logged + requests).split_off(logged);
            logged += lines.len();
            let split = lines.iter().map(|line| line.split_once('|').expect("the log has several fields"));
            let (connections, mut lines): (BTreeSet<String>, Vec<String>) =
                split.map(|(connection, line)| (connection.to_owned(), line.to_owned())).unzip();
            lines.sort();
            (connections.len(), lines)
        };
        let theirs = seen(program, &arguments);
        let ours = seen(&under_test(), &format!("like --run {name} {arguments}"));
        assert_eq!(theirs, ours, "{name} {arguments}");
        assert_eq!((ours.0, ours.1.len()), (connections, requests), "{name} {arguments}");
    }
}

#[test]
fn the_printed_command_is_one_line_for_a_shell_and_the_notes_are_elsewhere() {
    let server = Recorder::start();
    let words = format!("like curl -s -d 'it'\\''s \"$HOME\"' http://127.0.0.1:{}/a", server.port);
    let arguments = shell_words(&words);
    let outcome = Invocation::new(&under_test(), arguments).run().expect("the program can be started");
    assert_eq!(outcome.exit, Exit::Code(0), "{}", stderr(&outcome));
    let line = stdout(&outcome);
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(stderr(&outcome).lines().all(|line| line.starts_with("note: ")), "{}", stderr(&outcome));
    let program = under_test();
    let script = line.replacen("httperf", &program.display().to_string(), 1);
    // Where words end the options, too.
    for script in [script.clone(), format!("POSIXLY_CORRECT=1 {script}")] {
        let outcome = Invocation::new(Path::new("/bin/sh"), ["-c", &script]).run().expect("there is a shell");
        assert_eq!(outcome.exit, Exit::Code(0), "{}", stderr(&outcome));
        assert_eq!(server.take().concat()[0].body, "it's \"$HOME\"");
    }
}

/// Splits a line as a shell does.
fn shell_words(line: &str) -> Vec<String> {
    // Words may have line ends in them.
    let script = format!("printf '%s\\0' {line}");
    let outcome = Invocation::new(Path::new("/bin/sh"), ["-c", &script]).run().expect("there is a shell");
    stdout(&outcome).split_terminator('\0').map(str::to_owned).collect()
}

#[test]
fn words_that_mean_nothing_are_refused_in_one_sentence() {
    let mut transcript = String::new();
    for line in [
        "",
        "--nothing",
        "--run",
        "siege -c10 http://127.0.0.1:9/",
        "k6 run --vus 10 --duration 30s script.js",
        "wrk",
        "wrk -t4 127.0.0.1:9",
        "wrk http://127.0.0.1:9/ http://127.0.0.1:9/b",
        "wrk -R none http://127.0.0.1:9/",
        "wrk -k http://127.0.0.1:9/",
        "wrk -s post.lua http://127.0.0.1:9/",
        "wrk -t4 -c2 http://127.0.0.1:9/",
        "wrk -d soon http://127.0.0.1:9/",
        "wrk -H nothing http://127.0.0.1:9/",
        "wrk2 -c2 http://127.0.0.1:9/",
        "ab -n 10 -c 20 http://127.0.0.1:9/",
        "ab http://127.0.0.1:9/ -n 10",
        "ab -n",
        "hey -n 10 -c 20 http://127.0.0.1:9/",
        "oha --http-version 4 http://127.0.0.1:9/",
        "h2load -w 40 http://127.0.0.1:9/",
        "vegeta",
        "vegeta report results.bin",
        "vegeta attack http://127.0.0.1:9/",
        "vegeta attack -rate=0",
        "bombardier -n 5 -d 5s http://127.0.0.1:9/",
        "autobench --low_rate 20 --high_rate 200 --rate_step 20",
        "autobench --single_host --host1 127.0.0.1 --num_conn 100",
        "autobench --host1 127.0.0.1 --low_rate 200 --high_rate 20 --rate_step 20",
        "autobench --host1 127.0.0.1 --low_rate 20 --high_rate 200 --rate_step 20 --output_fmt xml",
        "curl -d @- http://127.0.0.1:9/",
        "curl -F a=b -d c=d http://127.0.0.1:9/",
        "curl -F 'a=<missing' http://127.0.0.1:9/",
        "curl -E 'pkcs11:id=1' https://127.0.0.1:9/",
        "hey -disable-keepalive=maybe http://127.0.0.1:9/",
        "curl http://127.0.0.1:9/ http://127.0.0.1:9/b",
        "curl 'http://127.0.0.1:9/{a,b}/[1-3]'",
        "curl --no-such-option http://127.0.0.1:9/",
        "curl ftp://127.0.0.1/",
        "curl -H 'X: {rand:9-1}' http://127.0.0.1:9/",
    ] {
        let arguments = words(&format!("like {line}"));
        let outcome = Invocation::new(&under_test(), arguments).run().expect("the program can be started");
        assert_eq!((outcome.exit, &*stdout(&outcome)), (Exit::Code(1), ""), "{line}: {}", stderr(&outcome));
        transcript += &format!("$ httperf like {line}\n{}\n", stderr(&outcome));
    }
    insta::assert_snapshot!(transcript);
}

/// Command lines of each tool; `DIR` is the folder of [`files`].
const TRANSLATED: &[&str] = &[
    // wrk and wrk2.
    "wrk http://127.0.0.1/",
    "wrk -t4 -c100 -d30s -H 'X: y' http://127.0.0.1:8080/index.html?a=b",
    "wrk -t12 -c1k -d2m --latency --timeout 5s https://localhost/",
    "wrk -t3 -c100 -d30 http://[::1]:8080/",
    "wrk -c 1 -t 1 --header 'Host: www.example' --header User-Agent:x http://127.0.0.1:8080/",
    "wrk -t2 -c100 -d1m -R 500 http://127.0.0.1/",
    "wrk2 -t2 -c100 -d30s -R2000 --u_latency http://127.0.0.1:8080/",
    "/usr/local/bin/wrk2 --rate 1k -L -c10 -t2 http://127.0.0.1/",
    // ab.
    "ab http://127.0.0.1/",
    "ab -n 1000 -c 10 -k http://127.0.0.1:8080/",
    "ab -kc 3 -n 100 127.0.0.1/path",
    "ab -t 10 -c 5 http://127.0.0.1/",
    "ab -t 10 -n 20 -k -c 5 http://127.0.0.1/",
    "ab -n 4 -c 2 -p DIR/body.txt -T application/json -A user:secret -C a=b -s 5 http://127.0.0.1/",
    "ab -n 1 -u DIR/body.txt -r -l -q http://127.0.0.1/",
    "ab -n 1 -i -b 65536 -B 127.0.0.1 -X 127.0.0.1:3128 -P user:secret http://127.0.0.1/",
    "ab -n 1 -m PATCH -f TLS1.2 -Z ECDHE-RSA-AES128-GCM-SHA256 -E DIR/both.pem -g plot -e csv -w -v 2 https://localhost/",
    // hey.
    "hey http://127.0.0.1/",
    "hey -n 1000 -c 7 -t 0 -disable-compression -disable-redirects http://127.0.0.1:8080/",
    "hey -z 1m30s -c 20 -q 5 http://127.0.0.1/",
    "hey -n 100 -c 10 -q 2.5 -o csv http://127.0.0.1/",
    "hey -n 10 -c 5 -m POST -d '{\"a\": 1}' -T application/json -U agent/1 -H 'X: y' -a user:secret -host www.example http://127.0.0.1/",
    "hey -z 5s -c 2 -disable-keepalive -m PUT -D DIR/body.txt -A text/html -x 127.0.0.1:3128 http://127.0.0.1/",
    "hey -n 50 -c 5 -h2 -cpus 4 https://localhost/",
    // oha.
    "oha http://127.0.0.1/",
    "oha -n 10k -c 100 --no-tui --disable-compression https://localhost:8443/",
    "oha -z 30s -q 1000 -c 20 --latency-correction -w http://127.0.0.1/",
    "oha -n 100 -q 50 http://127.0.0.1/",
    "oha -n 100 -c 10 --http2 -p 8 --insecure -r 3 https://localhost/",
    "oha -n 100 -c 10 -p 8 http://127.0.0.1/",
    "oha -n 100 -c 10 --http-version 3 -p 8 https://localhost/",
    "h2load --h3 -n 100 -c 4 -m 8 --max-udp-payload-size 1400 https://localhost/",
    "curl --http3-only https://localhost/",
    "oha -n 4 -c 8 --disable-keepalive -m POST -D DIR/body.txt -T text/plain -a user:secret --host www.example http://127.0.0.1/",
    "oha -n 2 -c 1 -F a=b -F file=@DIR/body.txt -t 500ms --unix-socket /run/x --output-format json http://127.0.0.1/",
    "oha -n 2 -c 1 --http-version 1.0 --worker-threads 4 --cacert DIR/cert.pem --cert DIR/cert.pem --key DIR/key.pem https://localhost/",
    "oha -n 2 -c 1 --connect-to localhost:443:127.0.0.1:8443 --urls-from-file --rand-regex-url https://localhost/",
    "oha -n 2 -c 1 -x http://127.0.0.1:3128 --burst-delay 2s --burst-rate 4 http://127.0.0.1/",
    // h2load.
    "h2load http://127.0.0.1:8080/",
    "h2load -n100000 -c100 -m10 -t4 https://localhost/",
    "h2load --h1 -n1000 -c10 -m4 http://127.0.0.1:8080/",
    "h2load -D 30s --warm-up-time=5 -c10 -m 32 -w 20 -W 24 https://localhost/ https://localhost/b",
    "h2load -n 1000 -c 100 -r 20 --rate-period=2s http://127.0.0.1/",
    "h2load -n 100 -c 10 --rps 5 -d DIR/body.txt -H ':method: PUT' -H 'X: y' http://127.0.0.1/",
    "h2load -n 3 -c 2 --npn-list=http/1.1 --groups X25519 --connect-to 127.0.0.1:8443 -N 5 -T 10 https://localhost/",
    "h2load -n 1 -B unix:/run/x -f 32K --header-table-size 8K --log-file=log --ktls http://localhost/",
    // vegeta.
    "vegeta attack -duration=5s",
    "vegeta attack -targets=DIR/list -rate=100/1m -duration=1m -max-workers 50",
    "vegeta attack -targets DIR/tls-list -header 'X: y' -insecure -redirects -1 -output results.bin -name x",
    "vegeta attack -targets DIR/list -rate=100 -duration=10s -lazy=false -chunked=false -h2c=false -insecure=false",
    "vegeta attack -targets DIR/list -rate=0 -max-workers=16 -duration=10s -keepalive=false -http2=false -body DIR/body.txt",
    "vegeta attack -targets DIR/list -rate 10 -duration 2s -timeout 5s -h2c -connections 5 -laddr 127.0.0.1 -lazy",
    // bombardier.
    "bombardier 127.0.0.1:8080",
    "bombardier -c 200 -n 10000 -l -m POST -b text -H 'X: y' http://127.0.0.1/",
    "bombardier -c 10 -d 5s -r 100 -k --http2 -t 10s -q -o json https://localhost/",
    "bombardier -a -n 10 -c 5 -m PUT -f DIR/body.txt -s --cert DIR/cert.pem --key DIR/key.pem https://localhost/",
    // autobench.
    "autobench --single_host --host1 127.0.0.1 --port1 8080 --uri1 /10K --quiet --low_rate 20 --high_rate 200 --rate_step 20 --num_call 10 --num_conn 5000 --timeout 5 --file bench.tsv",
    "autobench --host1 127.0.0.1 --host2 127.0.0.2 --port2 81 --low_rate=1 --high=9.5 --rate_step=0.5 --const_test_time 60 --output_fmt csv --httperf_hog --httperf_method HEAD",
    // curl.
    "curl http://127.0.0.1/",
    "curl -sSL -o file localhost:8080/a#part",
    "curl 'http://user:p%40ss@127.0.0.1:8080/'",
    "curl 'http://127.0.0.1/api' -H 'accept: */*' -H 'accept-encoding: gzip, deflate, br' --compressed --data-raw '{\"a\": \"b c\"}'",
    "curl 'https://localhost/' --compressed --insecure -H 'User-Agent: Mozilla/5.0' -H 'Connection: keep-alive' -b 'a=1; b=2'",
    "curl -d @DIR/body.txt -H 'Content-Length: 5' -H 'Content-Type:' http://127.0.0.1/",
    "curl -G -d a=1 --data-urlencode 'q=x y' --url-query b=2 'http://127.0.0.1/?c'",
    "curl --json '{\"a\":{seq}}' -XPATCH --oauth2-bearer token http://127.0.0.1/",
    "curl -F a=b -F 'file=@DIR/body.txt;type=text/plain' --http1.1 -m 2.5 http://127.0.0.1/",
    "curl -F a=b --http2 http://127.0.0.1/",
    "curl -sSfL --compressed --tlsv1.2 --retry 3 --no-progress-meter -o file -g 'http://127.0.0.1/a[1]?b={c}'",
    "curl --json '{}' -H 'Content-Type: application/vnd.api+json' -H Host:www.example -r 600 --path-as-is http://127.0.0.1/a/../b",
    "curl -F 'a=<DIR/value.txt' -F b=@DIR/body.txt http://127.0.0.1/",
    "curl -E DIR/both.pem:secret --pass secret --interface host!127.0.0.2 https://localhost/",
    "curl --interface eth0 http://127.0.0.1/",
    "curl --interface 127.0.0.2 http://127.0.0.1/",
    "curl -I --http2-prior-knowledge --resolve www.example:80:127.0.0.1 -e http://x/ -r 0-9 http://www.example/",
    "curl -T DIR/body.txt -0 --cacert DIR/cert.pem -E DIR/cert.pem --key DIR/key.pem --tlsv1.2 --tls-max 1.3 --curves X25519 https://localhost/",
    "curl -u user:secret --digest --retry 3 -c jar -b jar --limit-rate 1k -x 127.0.0.1:3128 -p http://127.0.0.1/",
];

#[test]
fn each_command_line_has_its_translation() {
    let folder = files();
    let mut transcript = String::new();
    for &line in TRANSLATED {
        let outcome = like(&folder, line);
        assert_eq!(outcome.exit, Exit::Code(0), "{line}: {}", stderr(&outcome));
        let text = format!("$ httperf like {line}\n{}{}\n", stdout(&outcome), stderr(&outcome));
        transcript += &text.replace(&folder.path().display().to_string(), "DIR");
    }
    insta::assert_snapshot!(transcript);
}

#[test]
fn each_translation_is_a_plan() {
    let folder = files();
    let program = Program::started_as(&"httperf".into());
    for &line in TRANSLATED {
        let printed = stdout(&like(&folder, line));
        // No targets come from the input of this test.
        let printed = printed.replace("/dev/stdin", &folder.path().join("list").display().to_string());
        let words: Vec<OsString> = shell_words(&printed).into_iter().skip(1).map(OsString::from).collect();
        // It has been checked as that of a sweep.
        if words[0] == "sweep" {
            continue;
        }
        let mut args = Args::default();
        args.parse(&words).unwrap_or_else(|stop| panic!("{line}: {words:?}: {stop:?}"));
        let mut warnings = Vec::new();
        let plan = planning::plan(&program, &args, &mut |warning| warnings.push(warning));
        assert!(plan.is_ok(), "{line}: {words:?}: {:?}", plan.err().map(|error| error.text()));
        let left_out = "HTTP/2 forbids header fields";
        assert!(warnings.iter().all(|warning| warning.contains(left_out)), "{line}: {warnings:?}");
    }
}

#[test]
fn the_schedule_that_a_note_names_fits_into_the_command() {
    let folder = files();
    let mut count = 0;
    for &line in TRANSLATED {
        let outcome = like(&folder, line);
        let notes = stderr(&outcome);
        let change =
            notes.lines().find_map(|note| note.split_once("the next request; ")?.1.split_once(" keeps"));
        let Some((change, _)) = change else { continue };
        let change = change.replace(" R", " 100");
        let printed = stdout(&outcome);
        let changed = match change.split_once(" in place of ") {
            Some((new, old)) => {
                assert!(printed.contains(old), "{line}: no `{old}` in {printed}");
                printed.replace(old, new)
            }
            None => printed.trim_end().to_owned() + " " + &change,
        };
        let words: Vec<OsString> = shell_words(&changed).into_iter().skip(1).map(OsString::from).collect();
        let parsed = Args::default().parse(&words);
        assert!(parsed.is_ok(), "{line}: {changed}: {parsed:?}");
        count += 1;
    }
    assert!(count > 20, "{count} command lines have such a note");
}

/// Translates a command line that names files in a folder.
fn like(folder: &TempDir, line: &str) -> Outcome {
    let line = line.replace("DIR", &folder.path().display().to_string());
    Invocation::new(&under_test(), words(&format!("like {line}"))).run().expect("the program can be started")
}

/// A folder with the files that the command lines name.
fn files() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let own = Identity::self_signed("client").expect("a certificate takes nothing but memory");
    let [certificate, key] =
        [own.certificate_pem(), own.key_pem()].map(|pem| String::from_utf8(pem).expect("PEM is text"));
    for (name, contents) in [
        ("body.txt", BODY),
        ("value.txt", "two words"),
        ("list", "# One server.\nGET http://127.0.0.1:8080/\n\nPOST http://127.0.0.1:8080/b\n@body.txt\n"),
        ("tls-list", "GET https://localhost/\n"),
        ("cert.pem", &certificate),
        ("key.pem", &key),
        ("both.pem", &format!("{certificate}{key}")),
    ] {
        fs::write(folder.path().join(name), contents).expect("it can be written to");
    }
    folder
}

/// The page that explains the translations.
const PAGE: &str = include_str!("../../../../docs/guide/coming-from.md");

#[test]
fn the_commands_of_the_guide_are_translated_as_it_says() {
    let folder = files();
    let mut lines = PAGE.lines().map(str::trim).peekable();
    let mut count = 0;
    while let Some(line) = lines.next() {
        let Some(command) = line.strip_prefix("$ httperf like ") else { continue };
        let outcome = like(&folder, command);
        assert_eq!(lines.next().unwrap_or_default(), stdout(&outcome).trim(), "{line}");
        while let Some(note) = lines.next_if(|line| line.starts_with("note: ")) {
            assert!(
                stderr(&outcome).lines().any(|line| line == note),
                "{line}: {note}: {}",
                stderr(&outcome)
            );
        }
        count += 1;
    }
    assert!(count >= 9, "the page has {count} commands");
}

#[test]
fn the_guide_has_each_option_that_can_be_translated() {
    let folder = files();
    let documented = |tool: &str| -> BTreeSet<String> {
        let title = format!("## {tool}");
        let section = PAGE.split("\n## ").find(|section| {
            section.lines().next().is_some_and(|line| line.split(" and ").any(|name| name == tool))
        });
        let section = section.unwrap_or_else(|| panic!("the page has no `{title}`"));
        let rows = section.lines().filter(|line| line.starts_with("| `"));
        let cells = rows.filter_map(|line| line.split('|').nth(1));
        let codes =
            cells.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>());
        codes.filter_map(|code| Some(code.split([' ', '=']).next()?.to_owned())).collect()
    };
    // The options of curl are too many for a refusal to list them: a test of the program compares them.
    for tool in ["ab", "bombardier", "h2load", "hey", "oha", "vegeta", "wrk2"] {
        let command = if tool == "vegeta" { "vegeta attack" } else { tool };
        let refusal = stderr(&like(&folder, &format!("{command} --unknown-option")));
        let known = refusal.split(['(', ')']).nth(1).unwrap_or_else(|| panic!("{refusal}"));
        let known: BTreeSet<String> = known.split(' ').map(str::to_owned).collect();
        let documented = documented(tool);
        let missing: Vec<_> = known.difference(&documented).collect();
        assert!(missing.is_empty(), "{tool}: not in the guide: {missing:?}");
        let unknown: Vec<_> = documented.difference(&known).collect();
        assert!(unknown.is_empty(), "{tool}: in the guide alone: {unknown:?}");
    }
}

#[test]
fn the_guide_names_options_that_exist() {
    let commands = commands::descriptions();
    // The program's own command line has no name.
    let options = |name: &str| {
        let command = commands.iter().find(|command| command.name == name).expect("a command has this name");
        command.options().map(|option| option.long).collect::<BTreeSet<_>>()
    };
    for section in PAGE.split("\n## ") {
        let known = match section.split([' ', ',', '\n']).next() {
            Some("GoReplay") => options("replay"),
            Some("autobench") => &options("") | &options("sweep"),
            _ => &options("") | &options("run"),
        };
        let counterparts =
            section.lines().filter(|line| line.starts_with('|')).filter_map(|line| line.split('|').nth(2));
        let codes = counterparts.flat_map(|cell| cell.split('`').skip(1).step_by(2));
        let names = codes.flat_map(str::split_whitespace).filter_map(|word| word.strip_prefix("--"));
        for name in names {
            let name = name.split(['=', '[']).next().unwrap_or(name);
            assert!(known.contains(name), "--{name}");
        }
    }
}
