//! Recordings and commands of other programs against what a server sees: a hundred commands of curl with curl itself, and
//! requests of our own that are exported in each form and imported again.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::support::program::{Exit, Invocation, Outcome, stderr, stdout, under_test};
use crate::support::running::find;
use httperf_testkit::tcp;
use serde_json::json;
use tempfile::TempDir;

/// A request as a server has read it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Request {
    method: String,
    target: String,
    /// The header fields in their order.
    fields: Vec<(String, String)>,
    body: Vec<u8>,
}

/// A server that keeps what it is asked, in order.
struct Recorder {
    port: u16,
    seen: Arc<Mutex<Vec<Request>>>,
}

impl Recorder {
    fn start() -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        let port = tcp::serve(move |_, stream| {
            // A client that goes away ends its connection.
            let _ =
                answer(stream, |request| kept.lock().unwrap_or_else(PoisonError::into_inner).push(request));
        });
        Self { port, seen }
    }

    fn take(&self) -> Vec<Request> {
        std::mem::take(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

fn answer(mut stream: TcpStream, keep: impl Fn(Request)) -> std::io::Result<()> {
    let mut pending: Vec<u8> = Vec::new();
    let mut buffer = [0; 65536];
    stream.set_nodelay(true)?;
    loop {
        let end = loop {
            if let Some(at) = pending.windows(4).position(|window| window == b"\r\n\r\n") {
                break at;
            }
            match stream.read(&mut buffer)? {
                0 => return Ok(()),
                size => pending.extend_from_slice(&buffer[..size]),
            }
        };
        let head = String::from_utf8_lossy(&pending[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let first: Vec<String> = lines.next().unwrap_or_default().split(' ').map(str::to_owned).collect();
        let fields: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let field = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, value)| &value[..]);
        if field("expect").is_some() {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let size = field("content-length").and_then(|size| size.parse().ok()).unwrap_or(0);
        while pending.len() < end + 4 + size {
            match stream.read(&mut buffer)? {
                0 => return Ok(()),
                size => pending.extend_from_slice(&buffer[..size]),
            }
        }
        let whole: Vec<u8> = pending.drain(..end + 4 + size).collect();
        let is_head = first[0] == "HEAD";
        let body = whole[end + 4..].to_vec();
        keep(Request { method: first[0].clone(), target: first[1].clone(), fields, body });
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")?;
        stream.write_all(if is_head { b"" } else { b"ok" })?;
    }
}

/// Runs a program in a folder.
fn run(folder: &Path, program: &Path, words: &[&str]) -> Outcome {
    let mut invocation = Invocation::new(program, words);
    invocation.folder = Some(folder.to_owned());
    invocation.limit = Duration::from_secs(120);
    invocation.search_path = vec![PathBuf::from("/usr/bin")];
    invocation.run().expect("the program can be started")
}

#[track_caller]
fn succeeds(folder: &Path, program: &Path, words: &[&str]) -> String {
    let outcome = run(folder, program, words);
    assert_eq!(outcome.exit, Exit::Code(0), "{words:?}: {}{}", stdout(&outcome), stderr(&outcome));
    stderr(&outcome)
}

/// Commands behind `curl`; `URL` stands for the server. Those behind `*` make several requests, or have something that `like`
/// names as different: the codings of `--compressed`, and the types of files.
const COMMANDS: &[&str] = &[
    "URL",
    "URL/a?x=1",
    "'URL/a#part'",
    "URL?x=1",
    "URL/a//b",
    "URL/a/../b/./c",
    "URL/a/.. ",
    "URL/../../x",
    "URL/a/%2e%2e/b",
    "URL/a/../b --path-as-is",
    "'URL/a?x=../b'",
    "URL/%zz",
    "'URL/é'",
    "'URL/a|b' -g",
    "'URL/?a[0]=1&b={c}' -g",
    "'URL/?a[]=1'",
    r"'URL/?a\[0\]=1&b=\{c\}'",
    "* 'URL/[1-3]x[a-b]'",
    "* 'URL/{a,b}[01-03:2]'",
    "* 'URL/{a,}'",
    "* 'URL/[a-e:2]'",
    "* URL/a URL/b -d x",
    "* URL/a -d x --next URL/b -H 'X-N: N' -I",
    "* --url URL/a -X PUT --url URL/b",
    "-X DELETE URL",
    "-XPATCH -HX-A:1 URL",
    "-I URL",
    "-I -X OPTIONS URL",
    "-X POST URL",
    "-X GET -d a URL",
    "URL -d a=1",
    "URL -d a=1 -d b=2",
    "URL -d 'a=1&&b'",
    "URL -d '' -d a",
    "URL -d a -d ''",
    "URL -d ''",
    "URL -sd foo",
    "URL -d 'a\nb'",
    r"URL --data-binary $'caf\xc3\xa9 \303\251 \u00e9'",
    r"URL --data-raw $'{\'a\': \'b\'}\t\x01'",
    r"URL --data-raw $'a\0b'c",
    r"URL --data-binary $'\xff\xfe'",
    "URL --data-raw @f.txt",
    "URL -d @f.txt",
    "URL -d@f.txt -d x",
    "URL --data-ascii @g",
    "URL --data-binary @f.txt",
    "URL --data-binary @f.txt -d x",
    "URL --data-urlencode 'b=x y*~-._é/+'",
    "URL --data-urlencode @g",
    "URL --data-urlencode n@g",
    "URL --data-urlencode =a=b",
    "URL --data-urlencode 'a b'",
    "URL -d '{}' -H 'Content-Type: application/json'",
    "URL -d '{}' -H 'Content-Type:'",
    "URL -d '{{x}} {seq' -H 'Content-Type: text/plain'",
    "URL --json '{}'",
    "URL --json '{}' -H 'Content-Type: application/vnd.x+json'",
    "URL -H 'Content-Type: x' --json '{}' -H 'accept: y'",
    "URL --json '[1' --json ',2]'",
    "URL --json a -d b",
    "URL -d a --json b",
    "URL --json @g -X PUT",
    "URL --json '{\"a\": \"\\u00e9 ü\"}'",
    "URL -G -d a=1 -d b=2",
    "'URL/?x=1' -G --data-urlencode 'q=x y'",
    "URL -G -d @f.txt",
    "URL -G -d a -I",
    "URL -G -d a -X POST",
    "URL --url-query a=b --url-query 'c=d e'",
    "'URL/?x' --url-query @g",
    "URL --url-query +c=d+e",
    "URL/a --request-target /x?y",
    "URL -H 'X-A: 1' -H 'X-A: 2'",
    "URL -H 'X-A: 1' -H 'X-A:'",
    "URL -H 'X-Empty;'",
    "URL -H @hdr",
    "URL -H 'Host: shop.example'",
    "URL -H 'Host: a.example' -H 'Host: b.example'",
    "URL -H 'Accept: text/html' -H 'Accept-Language: de'",
    "URL -H 'If-None-Match: \"x\"' -H 'Cache-Control: no-cache' -H 'Sec-Fetch-Mode: cors'",
    "URL -H 'Authorization: Basic Zm9v' -u a:b",
    "URL -u a:b:c",
    "URL -u :b",
    "http://us%20er:p%40+@127.0.0.1:PORT/",
    "URL --oauth2-bearer token",
    "URL -A agent",
    "URL -A x -H 'User-Agent: y'",
    "URL -e http://x/",
    "URL -e 'http://x/;auto'",
    "URL -e x -H 'Referer: y'",
    "URL -r 600",
    "URL -r -500",
    "URL -r 0-1,4-5",
    "URL -C 100",
    "URL -r 0-5 -H 'Range: bytes=7-'",
    "URL -z 'Tue, 01 Jan 2030 00:00:00 GMT'",
    "URL -b a=1",
    "URL -b a=1 -b 'c=2; d=3'",
    "URL -b a=1 -H 'Cookie: z=1'",
    "* URL --compressed",
    "URL --compressed -H 'Accept-Encoding: br'",
    "URL --no-compressed --http1.1",
    "-T f.txt URL/",
    "-T f.txt URL",
    "-T f.txt 'URL/x?q=1'",
    "-T g 'URL/x/?q=1'",
    "-T f.txt -X POST URL/x",
    "* -T f.txt -T g URL/a URL/b",
    "URL -F a=b",
    "URL -F 'name=\"Ann; Doe\"' -F 'token=\"abc\"'",
    "URL -F 'a=b;type=text/x' -F c=d",
    "URL -F 'a=x;filename=q'",
    "URL --form-string 'a=@f;type=x'",
    "URL -F 'a=<f.txt'",
    "URL -F 'n\"m=x' -X PUT",
    "* URL -F a=@f.txt",
    "URL -F a=@g -F b=c",
    "* URL -F a=@f.txt -F b=c -F d=@h.html",
    "* URL -F 'a=@f.txt;type=x/y;filename=z' -F b=c",
    "* URL -F 'a=@g;type=a/b'",
    "* URL -F a=@data.json -F b=c",
    "URL -sSLk --fail-with-body --no-progress-meter --max-redirs 5 --retry 3 --retry-delay 1 --retry-all-errors",
    "URL --location-trusted --proto =https,http --tlsv1.2 --no-keepalive --trace-ascii /dev/null -o /dev/null",
    "URL -d '{\"a\":1}' > /dev/null 2>&1",
    "URL -d @- <<< 'here'",
    "URL --data-binary @- <<'EOF'\nline $x\n\nlast\nEOF",
];

/// The requests of a run by their numbers, without what differs in every program.
fn by_number(requests: Vec<Request>, port: u16) -> BTreeMap<usize, Vec<Request>> {
    let mut numbered: BTreeMap<usize, Vec<Request>> = BTreeMap::new();
    for mut request in requests {
        let at = request
            .fields
            .iter()
            .position(|(name, _)| name == "x-n")
            .unwrap_or_else(|| panic!("{request:?}"));
        let number = request.fields.remove(at).1.parse().unwrap();
        numbered.entry(number).or_default().push(plain(request, port));
    }
    numbered
}

fn plain(mut request: Request, port: u16) -> Request {
    let boundary = request.fields.iter().find(|(name, _)| name == "content-type").and_then(|(_, value)| {
        let boundary = value.split_once("boundary=")?.1.to_owned();
        Some(boundary)
    });
    let own = [format!("127.0.0.1:{port}"), "*/*".to_owned()];
    request.fields.retain(|(name, value)| {
        let is_usual = own.contains(value) && ["host", "accept"].contains(&&name[..])
            || name == "user-agent" && (value.starts_with("curl/") || value.starts_with("httperf/"))
            || ["expect", "connection"].contains(&&name[..])
            || name == "content-length" && (value == "0" || boundary.is_some());
        !is_usual
    });
    if let Some(boundary) = boundary {
        let body = String::from_utf8(std::mem::take(&mut request.body)).unwrap();
        request.body = body.replace(&boundary, "B").into_bytes();
        for (_, value) in &mut request.fields {
            *value = value.replace(&boundary, "B");
        }
    }
    request.fields.sort();
    // What no URL has may be percent-encoded.
    for (letter, encoded) in [("|", "%7C"), ("\"", "%22"), ("{", "%7B"), ("}", "%7D")] {
        request.target = request.target.replace(letter, encoded);
    }
    request
}

/// A folder with the files that the commands name.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in [
        ("f.txt", "l1\nl2\r\n"),
        ("g", "a b"),
        ("h.html", "<p>"),
        ("data.json", "{}"),
        ("hdr", "X-F: 1\nX-G: 2\n"),
    ] {
        fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

#[test]
fn a_server_sees_the_same_from_a_hundred_commands_of_curl_imported_and_translated() {
    let (Some(curl), Some(bash)) = (find("curl"), find("bash")) else { return };
    let server = Recorder::start();
    let folder = folder();
    let mut script = String::new();
    let mut single = String::new();
    for (number, command) in COMMANDS.iter().enumerate() {
        let (is_single, command) = match command.strip_prefix("* ") {
            Some(command) => (false, command),
            None => (true, *command),
        };
        let command = command.replace("URL", &server.url()).replace("PORT", &server.port.to_string());
        let command =
            format!("curl -H 'X-N: {number}' {}\n", command.replace("X-N: N", &format!("X-N: {number}")));
        script += &command;
        if is_single {
            single += &command;
        }
    }
    assert!(COMMANDS.len() >= 100);

    fs::write(folder.path().join("commands.sh"), &script).unwrap();
    // Bash writes \u as UTF-8 in such a locale only.
    let locale = "LC_ALL=C.UTF-8\n";
    let quiet =
        locale.to_owned() + &script.replace("curl -H", &format!("{} -s -o /dev/null -H", curl.display()));
    run(folder.path(), &bash, &["-c", &quiet]);
    let theirs = by_number(server.take(), server.port);
    assert_eq!(theirs.len(), COMMANDS.len(), "curl makes requests for each command");

    let account = succeeds(folder.path(), &under_test(), &["import", "curl", "commands.sh", "-o", "ours"]);
    assert!(!account.contains("\nleft out "), "{account}");
    // The workload finds its files without those of the commands.
    for name in ["f.txt", "g", "h.html", "data.json", "hdr"] {
        fs::rename(folder.path().join(name), folder.path().join(format!("was-{name}"))).unwrap();
    }
    succeeds(folder.path(), &under_test(), &["run", "ours/commands.toml", "--visits", "1"]);
    let imported = by_number(server.take(), server.port);
    for name in ["f.txt", "g", "h.html", "data.json", "hdr"] {
        fs::rename(folder.path().join(format!("was-{name}")), folder.path().join(name)).unwrap();
    }
    let mut differ = String::new();
    for (number, command) in COMMANDS.iter().enumerate() {
        if theirs.get(&number) != imported.get(&number) {
            let (theirs, ours) = (theirs.get(&number), imported.get(&number));
            let _ = writeln!(differ, "{command}\n  curl:   {theirs:?}\n  import: {ours:?}");
        }
    }

    let program = under_test();
    let function = format!("curl() {{ '{}' like --run curl \"$@\" > /dev/null; }}\n", program.display());
    let outcome = run(folder.path(), &bash, &["-c", &(locale.to_owned() + &function + &single)]);
    let translated = by_number(server.take(), server.port);
    for (number, command) in COMMANDS.iter().enumerate().filter(|(_, command)| !command.starts_with('*')) {
        // Standard input is that of the run.
        if theirs.get(&number) != translated.get(&number) && !command.contains("@-") {
            let (theirs, ours) = (theirs.get(&number), translated.get(&number));
            let _ = writeln!(differ, "{command}\n  curl: {theirs:?}\n  like: {ours:?}");
        }
    }
    assert!(differ.is_empty(), "{differ}\n{}", stderr(&outcome));
}

/// Requests of a run of ours, as a server has seen them.
fn recorded(server: &Recorder, folder: &Path) -> Vec<Request> {
    let steps = r#"GET {{base}}/shop?q=a%20b&l=1,2
Accept: text/html
User-Agent: browser/1 (x; y)

POST {{base}}/cart
Content-Type: application/json
X-Odd: a "quoted" 'value' \# é
{"sku": "ab'c", "text": "{{newline}}"}

PUT {{base}}/form
[Form]
name: Ann & Bob
empty:

POST {{base}}/bytes
Content-Type: application/octet-stream
base64,/wABCg0=;

GET {{base}}/last
"#;
    fs::write(folder.join("own.hurl"), steps.replace("{{newline}}", "\\u000a")).unwrap();
    let toml = format!(
        "base = \"{}\"\n[arrivals]\nrate = \"1/s\"\nfor = \"1s\"\n[[scenario]]\nname = \"own\"\nsteps = [{{ run = \"own.hurl\" }}]\n",
        server.url()
    );
    fs::write(folder.join("own.toml"), toml).unwrap();
    succeeds(folder, &under_test(), &["run", "own.toml", "--visits", "1"]);
    let requests = server.take();
    assert_eq!(requests.len(), 5);
    requests
}

/// Requests without what belongs to a connection, to compare them.
fn compared(requests: &[Request]) -> Vec<Request> {
    let without = |request: &Request| {
        let mut request = request.clone();
        request.fields.retain(|(name, value)| {
            let is_empty = name == "content-length" && value == "0";
            !is_empty && !["host", "connection"].contains(&&name[..])
        });
        request.fields.sort();
        request
    };
    requests.iter().map(without).collect()
}

fn utf8(body: &[u8]) -> Option<&str> {
    std::str::from_utf8(body).ok()
}

#[test]
fn requests_of_a_run_come_back_from_an_archive_commands_and_a_capture() {
    let server = Recorder::start();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let requests = recorded(&server, path);

    // An archive, as browsers write it: bodies that are no text in base64.
    let entries = requests.iter().enumerate().map(|(number, request)| {
        let fields = request.fields.iter().map(|(name, value)| json!({"name": name, "value": value}));
        let mut entry = json!({
            "startedDateTime": format!("2026-01-02T03:04:05.{number:03}Z"), "time": 1,
            "request": {"method": request.method, "url": format!("{}{}", server.url(), request.target), "headers": fields.collect::<Vec<_>>()},
            "response": {"status": 200},
        });
        if !request.body.is_empty() {
            let kind = request.fields.iter().find(|(name, _)| name == "content-type").map(|(_, value)| value.clone());
            let encoded = || base64(&request.body);
            entry["request"]["postData"] = match utf8(&request.body) {
                Some(text) => json!({"mimeType": kind, "text": text}),
                None => json!({"mimeType": kind, "text": encoded(), "encoding": "base64"}),
            };
        }
        entry
    });
    let archive = json!({"log": {"version": "1.2", "entries": entries.collect::<Vec<_>>()}});
    fs::write(path.join("a.har"), archive.to_string()).unwrap();
    succeeds(path, &under_test(), &["import", "har", "a.har", "-o", "har"]);
    succeeds(path, &under_test(), &["run", "har/a.toml", "--visits", "1"]);
    assert_eq!(compared(&server.take()), compared(&requests), "HAR");

    // Commands of curl, with what is no plain text in a string of bash.
    let quoted = |bytes: &[u8]| {
        let mut text = "$'".to_owned();
        for byte in bytes {
            match byte {
                b' '..=b'~' if !matches!(byte, b'\'' | b'\\') => text.push(char::from(*byte)),
                byte => write!(text, "\\x{byte:02x}").unwrap(),
            }
        }
        text + "'"
    };
    let mut commands = String::new();
    for (number, request) in requests.iter().enumerate() {
        write!(
            commands,
            "curl -g -X {} {}",
            request.method,
            quoted(format!("{}{}", server.url(), request.target).as_bytes())
        )
        .unwrap();
        for (name, value) in
            request.fields.iter().filter(|(name, _)| !["host", "content-length"].contains(&&name[..]))
        {
            write!(commands, " \\\n  -H {}", quoted(format!("{name}: {value}").as_bytes())).unwrap();
        }
        if request.body.contains(&0) {
            fs::write(path.join(format!("{number}.bin")), &request.body).unwrap();
            write!(commands, " --data-binary @{number}.bin").unwrap();
        } else if !request.body.is_empty() {
            write!(commands, " --data-binary {}", quoted(&request.body)).unwrap();
        }
        commands.push_str(" | jq .\n");
    }
    fs::write(path.join("a.sh"), commands).unwrap();
    succeeds(path, &under_test(), &["import", "curl", "a.sh", "-o", "curl"]);
    succeeds(path, &under_test(), &["run", "curl/a.toml", "--visits", "1"]);
    assert_eq!(compared(&server.take()), compared(&requests), "curl");

    // A file of GoReplay.
    let mut capture = Vec::new();
    for (number, request) in requests.iter().enumerate() {
        writeln!(capture, "1 {number:024x} {} 0", 1_700_000_000_000_000_000u64 + number as u64 * 50_000_000)
            .unwrap();
        write!(capture, "{} {} HTTP/1.1\r\n", request.method, request.target).unwrap();
        for (name, value) in &request.fields {
            write!(capture, "{name}: {value}\r\n").unwrap();
        }
        capture.extend_from_slice(b"\r\n");
        capture.extend_from_slice(&request.body);
        capture.extend_from_slice("\n🐵🙈🙉\n".as_bytes());
    }
    fs::write(path.join("a.gor"), capture).unwrap();
    succeeds(path, &under_test(), &["import", "goreplay", "a.gor", "-o", "a.trace"]);
    for recording in ["a.gor", "a.trace"] {
        // One connection, so that requests come in their order.
        let words =
            ["replay", recording, &server.url(), "--allow-unsafe", "--independent", "--connections", "1"];
        succeeds(path, &under_test(), &words);
        assert_eq!(compared(&server.take()), compared(&requests), "{recording}");
    }
}

#[test]
fn requests_of_a_run_come_back_from_every_form_of_log() {
    let server = Recorder::start();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let requests = recorded(&server, path);
    let agent = |request: &Request| {
        let found = request.fields.iter().find(|(name, _)| name == "user-agent");
        found.map_or_else(|| "-".to_owned(), |(_, value)| value.clone())
    };
    type Line = fn(&Request, &str, usize) -> String;
    let forms: [(&str, &str, Line); 8] = [
        ("combined", "", |request, agent, second| {
            format!(
                "10.0.0.1 - - [28/Nov/2025:10:00:{second:02} +0000] \"{} {} HTTP/1.1\" 200 2 \"-\" \"{agent}\"",
                request.method, request.target
            )
        }),
        ("vhost_combined", "", |request, agent, second| {
            format!(
                "shop:80 10.0.0.1 - - [28/Nov/2025:10:00:{second:02} +0000] \"{} {} HTTP/1.1\" 200 2 \"-\" \"{agent}\"",
                request.method, request.target
            )
        }),
        ("ingress-nginx", "", |request, agent, second| {
            format!(
                "10.0.0.1 - - [28/Nov/2025:10:00:{second:02} +0000] \"{} {} HTTP/1.1\" 200 2 \"-\" \"{agent}\" 75 0.003 [default-web-80] [] 10.244.0.5:80 2 0.003 200 4f2a9c",
                request.method, request.target
            )
        }),
        ("traefik", "", |request, agent, second| {
            format!(
                "10.0.0.1 - - [28/Nov/2025:10:00:{second:02} +0000] \"{} {} HTTP/1.1\" 200 2 \"-\" \"{agent}\" 1 \"web@docker\" \"http://172.18.0.3:80\" 3ms",
                request.method, request.target
            )
        }),
        ("caddy", "", |request, agent, second| {
            json!({"ts": 1_764_324_000 + second, "msg": "handled request", "duration": 0.003, "status": 200,
                "request": {"remote_ip": "10.0.0.1", "method": request.method, "uri": request.target, "headers": {"User-Agent": [agent]}}})
            .to_string()
        }),
        ("traefik-json", "", |request, agent, second| {
            json!({"StartUTC": format!("2025-11-28T10:00:{second:02}.5Z"), "ClientHost": "10.0.0.1", "Duration": 3_000_000,
                "RequestMethod": request.method, "RequestPath": request.target, "DownstreamStatus": 200, "request_User-Agent": agent})
            .to_string()
        }),
        (
            "w3c",
            "#Version: 1.0\n#Fields: date time cs-method cs-uri-stem cs-uri-query c-ip cs(User-Agent) sc-status time-taken\n",
            |request, agent, second| {
                let (stem, query) = request.target.split_once('?').unwrap_or((&request.target, "-"));
                format!(
                    "2025-11-28 10:00:{second:02} {} {stem} {query} 10.0.0.1 {} 200 3",
                    request.method,
                    agent.replace(' ', "+")
                )
            },
        ),
        ("haproxy", "", |request, _, second| {
            format!(
                "haproxy[1]: 10.0.0.1:33317 [28/Nov/2025:10:00:{second:02}.000] web web/s1 0/0/0/3/3 200 2 - - ---- 1/1/1/1/0 0/0 \"{} {} HTTP/1.1\"",
                request.method, request.target
            )
        }),
    ];
    for (form, head, line) in forms {
        let mut log = head.to_owned();
        for (second, request) in requests.iter().enumerate() {
            let _ = writeln!(log, "{}", line(request, &agent(request), second));
        }
        fs::write(path.join("a.log"), &log).unwrap();
        let account = succeeds(path, &under_test(), &["import", "log", "a.log", "-o", "a.trace", "--force"]);
        assert!(account.contains(&format!("the log's format is {form}")), "{account}");
        assert!(account.contains("carried over: 5") && !account.contains("left out"), "{account}");
        let words = [
            "replay",
            "a.trace",
            &server.url(),
            "--speed",
            "50",
            "--allow-unsafe",
            "--independent",
            "--connections",
            "1",
        ];
        succeeds(path, &under_test(), &words);
        let seen: Vec<(String, String, String)> = server
            .take()
            .iter()
            .map(|request| (request.method.clone(), request.target.clone(), agent(request)))
            .collect();
        let expected: Vec<(String, String, String)> = requests
            .iter()
            .map(|request| {
                // HAProxy does not log the agent.
                let agent = if form == "haproxy" { seen[0].2.clone() } else { agent(request) };
                (request.method.clone(), request.target.clone(), agent)
            })
            .collect();
        assert_eq!(seen, expected, "{form}: {log}");
    }
}

/// Bytes in base64.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let number =
            chunk.iter().fold(0u32, |number, byte| number << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = DIGITS[(number >> (18 - 6 * place) & 63) as usize];
            text.push(if place > chunk.len() { '=' } else { char::from(digit) });
        }
    }
    text
}
