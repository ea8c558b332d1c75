//! The Autobahn test suite judges our WebSockets: its fuzzing server our codec as a client that echoes, which the program
//! is not, and its fuzzing client our test server.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use httperf_proto::websocket::{Accepted, Connection, Event, Key, Offer, Options, Role};
use httperf_testkit::skip;
use serde::Deserialize;

use crate::support::bench::Bench;
use crate::support::machine::is_long;
use crate::support::running::Running;

/// The suite, and the versions of what it imports that it asks for: in a file that its package lacks, so that pip does not
/// know.
const PACKAGES: [&str; 20] = [
    "autobahntestsuite==25.10.1",
    "autobahn==0.10.9",
    "Automat==22.10.0",
    "Twisted==19.10.0",
    "Werkzeug==1.0.1",
    "cryptography==3.3.2",
    "hyperlink==21.0.0",
    "incremental==16.10.1",
    "jinja2==2.11.3",
    "klein==17.10.0",
    "markupsafe==1.1.1",
    "pyOpenSSL==19.1.0",
    "service_identity==18.1.0",
    "setuptools==44.0.0",
    "six==1.16.0",
    "txaio==2.1.0",
    "unittest2==1.1.0",
    // It checks text and takes masks off in C.
    "wsaccel==0.6.2",
    "zope.interface==4.6.0",
    "attrs==21.4.0",
];

/// Python 2.7, in which the suite is written. With pyenv, the variable chooses among its versions.
fn python() -> Command {
    let mut command = Command::new("python2.7");
    command.env("PYENV_VERSION", "2.7");
    command
}

/// The folder of the suite, which is fetched if it is within reach.
fn suite() -> Option<PathBuf> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("autobahn");
    if !folder.exists() {
        let own = folder.with_extension(process::id().to_string());
        let installs = ["-m", "pip", "install", "--quiet", "--retries=0", "--timeout=10", "--target"];
        let installed = python().args(installs).arg(&own).args(PACKAGES).output();
        if installed.is_ok_and(|output| output.status.success()) {
            let _ = fs::rename(&own, &folder);
        }
        let _ = fs::remove_dir_all(&own);
    }
    if !folder.exists() {
        skip::without("Python 2.7, or the Autobahn test suite from PyPI,");
        return None;
    }
    Some(folder)
}

/// All cases but most of those of large compressed messages, a thousand of up to 128 KiB each: they take the suite's Python
/// many minutes. A thousand of 64 KiB of each kind of data remain.
const CASES: &str = r#"{
    "cases": ["*"],
    "exclude-cases": [
        "12.*.6", "12.*.7", "12.*.8", "12.*.10", "12.*.12", "12.*.13", "12.*.14", "12.*.15", "12.*.16", "12.*.17", "12.*.18",
        "13.*.6", "13.*.7", "13.*.8", "13.*.9", "13.*.10", "13.*.12", "13.*.13", "13.*.14", "13.*.15", "13.*.16", "13.*.17",
        "13.*.18"
    ],
    "exclude-agent-cases": {}
}"#;

/// The number of these cases.
const CASE_COUNT: usize = 378;

/// The fuzzing server, at the loopback interface only.
const SERVER: &str = r#"
import json, site, sys
site.addsitedir(sys.argv[1])
from autobahntestsuite.fuzzing import FuzzingServerFactory
from autobahn.twisted.websocket import listenWS
from twisted.internet import reactor

spec = json.loads(sys.argv[4])
spec.update({"url": "ws://127.0.0.1:" + sys.argv[2], "outdir": sys.argv[3]})
listenWS(FuzzingServerFactory(spec), interface="127.0.0.1")
reactor.run()
"#;

#[test]
fn the_client_passes_all_cases() {
    if !is_long() {
        return skip::unless_long();
    }
    let Some(suite) = suite() else { return };
    let server = Running::start(
        "127.0.0.1",
        1,
        |root| fs::write(root.join("server.py"), SERVER),
        |root, ports| {
            let mut command = python();
            command.arg(root.join("server.py")).arg(&suite).arg(ports[0].to_string());
            command.arg(root.join("reports")).arg(CASES);
            command
        },
    );
    let converse = |path: &str| Conversation::open(server.port(0), path).echo_all();
    let count: u32 = String::from_utf8(converse("/getCaseCount")).unwrap().parse().unwrap();
    for case in 1..=count {
        converse(&format!("/runCase?case={case}&agent=httperf"));
    }
    converse("/updateReports?agent=httperf");
    check(&server.folder().join("reports"), &["OK", "INFORMATIONAL"]);
}

/// The fuzzing client, which ends by itself.
const CLIENT: &str = r#"
import json, site, sys
site.addsitedir(sys.argv[1])
from autobahntestsuite.fuzzing import FuzzingClientFactory
from twisted.internet import reactor

spec = json.loads(sys.argv[4])
servers = [{"agent": "httperf", "url": "ws://127.0.0.1:" + sys.argv[2] + "/ws"}]
spec.update({"servers": servers, "outdir": sys.argv[3]})
FuzzingClientFactory(spec)
reactor.run()
"#;

#[test]
fn our_test_server_passes_all_cases() {
    if !is_long() {
        return skip::unless_long();
    }
    let Some(suite) = suite() else { return };
    let bench = Bench::new();
    let reports = bench.path("reports");
    let mut command = python();
    let done =
        command.args(["-c", CLIENT]).arg(suite).arg(bench.port.to_string()).arg(&reports).arg(CASES).output();
    let done = done.unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    // Echoes of what came before a violation, together with it, may be left out.
    check(&reports, &["OK", "NON-STRICT", "INFORMATIONAL"]);
}

/// A verdict of the suite on a case.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Judgement {
    /// Of what was said.
    behavior: String,
    /// Of how it was closed.
    behavior_close: String,
}

/// Checks that all cases were judged as one of these. Cases of section 13 may want a smaller window for compression, which we
/// do not have: the opening then agrees on none.
#[track_caller]
fn check(reports: &Path, good: &[&str]) {
    let text = fs::read(reports.join("index.json")).unwrap();
    let mut agents: BTreeMap<String, BTreeMap<String, Judgement>> = serde_json::from_slice(&text).unwrap();
    let cases = agents.remove("httperf").unwrap();
    let is_good = |case: &str, judgement: &Judgement| {
        let Judgement { behavior, behavior_close } = judgement;
        let has_other_window = behavior == "UNIMPLEMENTED" && case.starts_with("13.");
        (good.contains(&&behavior[..]) || has_other_window) && good.contains(&&behavior_close[..])
    };
    let bad: Vec<_> = cases.iter().filter(|(case, judgement)| !is_good(case, judgement)).collect();
    assert!(bad.is_empty(), "{bad:?}");
    let passed = |section: &str| {
        cases
            .iter()
            .filter(|(case, judgement)| case.starts_with(section) && judgement.behavior == "OK")
            .count()
    };
    // Compression, without a window's size: of five kinds of data, and with and without the context of earlier messages.
    assert_eq!(["12.", "13.1.", "13.2.", "13.7."].map(passed), [35, 6, 6, 6], "{cases:?}");
    assert_eq!(cases.len(), CASE_COUNT, "{cases:?}");
}

/// A WebSocket of ours at a server.
struct Conversation {
    stream: TcpStream,
    /// Bytes behind the reply that opened it.
    input: Vec<u8>,
    connection: Connection,
}

/// Limit for a server that is busy.
const PATIENCE: Duration = Duration::from_secs(300);

/// The size of the largest message of the suite is 16 MiB.
const MESSAGE_SIZE: usize = 32 << 20;

impl Conversation {
    /// Opens a WebSocket, and offers compression.
    fn open(port: u16, path: &str) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        let key = Key::new(*b"sixteen bytes :)");
        let offer = Offer { deflate: true, ..Offer::default() };
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Key: {}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Extensions: {}\r\n\r\n",
            key.as_str(),
            offer.extensions(),
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut input = Vec::new();
        let end = loop {
            if let Some(end) = input.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break end;
            }
            assert!(read_more(&mut stream, &mut input), "{path}: {}", String::from_utf8_lossy(&input));
        };
        let head = String::from_utf8(input[..end].to_vec()).unwrap();
        input.drain(..end + 4);
        assert!(head.starts_with("HTTP/1.1 101 "), "{path}: {head}");
        let Accepted { deflate, .. } = offer
            .check(Some(key.as_str().as_bytes()), |name| {
                head.lines().filter_map(move |line| {
                    let (its, value) = line.split_once(':')?;
                    its.as_bytes().eq_ignore_ascii_case(name).then_some(value.as_bytes())
                })
            })
            .unwrap_or_else(|refusal| panic!("{path}: {refusal}: {head}"));
        let role = Role::Client { seed: 1 };
        let options = Options { role, message_size: MESSAGE_SIZE, deflate, fragment: None };
        Self { stream, input, connection: Connection::new(options) }
    }

    /// Sends each message back until the WebSocket is closed. Returns the last one.
    fn echo_all(mut self) -> Vec<u8> {
        let mut last = Vec::new();
        let mut is_open = true;
        while is_open {
            is_open = self.handle_input(&mut last);
            let mut output = Vec::new();
            self.connection.take_output(&mut output);
            if self.stream.write_all(&output).is_err() {
                break;
            }
            is_open = is_open && read_more(&mut self.stream, &mut self.input);
        }
        // The server ends the connection. What it sends before that is read, so that no reset overtakes our close.
        let _ = self.stream.shutdown(Shutdown::Write);
        while read_more(&mut self.stream, &mut self.input) {
            self.input.clear();
        }
        last
    }

    /// Handles what was read. Returns false once nothing more is to be said: the server has closed it, or broke a rule.
    fn handle_input(&mut self, last: &mut Vec<u8>) -> bool {
        let mut rest = &self.input[..];
        let is_open = loop {
            let (kind, data) = match self.connection.poll_event(&mut rest) {
                Ok(None) => break true,
                Ok(Some(Event::Message { kind, data })) => (kind, data.to_vec()),
                Ok(Some(Event::Ping | Event::Pong(_))) => continue,
                Ok(Some(Event::Closed { .. })) | Err(_) => break false,
            };
            self.connection.send(kind, &data);
            *last = data;
        };
        self.input.clear();
        is_open
    }
}

/// Appends what comes next. Returns false at the end.
fn read_more(stream: &mut TcpStream, input: &mut Vec<u8>) -> bool {
    let mut bytes = [0; 64 * 1024];
    let count = stream.read(&mut bytes).unwrap_or(0);
    input.extend_from_slice(&bytes[..count]);
    count > 0
}
