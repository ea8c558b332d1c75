//! WebSockets: our own test server over each protocol, and servers and clients of other makes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use httperf_origin::{Config, Credentials, KeyType, Tls};
use httperf_stats::{CallOutcome, Summary, WebSocketSummary};
use httperf_testkit::{python, skip};
use serde_json::Value;

use crate::support;
use crate::support::bench::Bench;
use crate::support::program::{Exit, Outcome, stderr, stdout};
use crate::support::running::{Running, find};

/// A run with its result.
struct Ran {
    outcome: Outcome,
    document: Value,
    summary: Summary,
}

/// Runs the program against a server, with a result.
fn run(bench: &Bench, arguments: &str) -> Ran {
    let outcome = bench.run(&format!("--websocket --timeout 20 --report full --output @r.json {arguments}"));
    let text = fs::read_to_string(bench.path("r.json")).unwrap_or_else(|_| panic!("{}", stderr(&outcome)));
    let mut document: Value = serde_json::from_str(&text).unwrap();
    let summary = serde_json::from_value(document["summary"].take()).unwrap();
    Ran { outcome, document, summary }
}

impl Ran {
    fn websockets(&self) -> &WebSocketSummary {
        self.summary.websockets.as_ref().unwrap_or_else(|| panic!("no WebSockets: {}", stdout(&self.outcome)))
    }
}

/// The ways in which WebSockets are opened, each with a server for it.
fn ways() -> [(Bench, &'static str); 4] {
    let config = Config::default();
    let tls = || Some(Tls::new(Credentials::self_signed(KeyType::default(), &config.listen)));
    let secured = || Bench::with(Config { tls: tls(), ..Config::default() });
    [
        (Bench::new(), "--http-version 1.1"),
        (Bench::new(), "--http-version 2"),
        (secured(), "--ssl --http-version 1.1"),
        (secured(), "--ssl --http-version 2"),
    ]
}

#[test]
fn both_ends_count_the_same_messages_over_each_protocol() {
    for (bench, way) in ways() {
        let (mut opened, mut sent, mut received) = (0, 0, 0);
        for arguments in [
            "--uri /ws --num-conns 5",
            "--uri /ws --num-conns 4 --ws-messages 9 --ws-size 5000 --ws-fragment 700 --ws-deflate",
            "--uri /ws/gap/2ms --num-conns 3 --rate 50 --ws-every 5ms --ws-for 100ms --ws-ping 20ms --ws-binary",
            "--uri /ws/push/30/gap/1ms/together/3 --num-conns 3 --ws-messages 0 --ws-for 10",
            "--uri /ws/silent --num-conns 3 --ws-expect none --ws-messages 20",
        ] {
            let ran = run(&bench, &format!("{way} {arguments}"));
            let all = ran.websockets();
            assert_eq!((all.cut, all.unanswered, all.closed), (0, 0, all.opened), "{way} {arguments}");
            assert_eq!(all.expected, all.answered, "{way} {arguments}");
            assert_eq!(all.received, all.answered + all.pushed, "{way} {arguments}");
            assert_eq!(all.pings, all.ping.moments.count(), "{way} {arguments}");
            assert_eq!(ran.outcome.exit, Exit::Code(0), "{way} {arguments}: {}", stderr(&ran.outcome));
            opened += all.opened;
            sent += all.sent;
            received += all.received;
        }
        let counts = bench.stop();
        assert_eq!(
            (counts.websockets, counts.messages_received, counts.messages_sent),
            (opened, sent, received),
            "{way}"
        );
        assert_eq!((opened, received > 130), (18, true), "{way}");
    }
}

#[test]
fn many_share_a_connection_of_http2() {
    let bench = Bench::new();
    let many = "--http-version 2 --concurrency 1 --streams 20 --num-calls 60 --ws-messages 5 --ws-ping 1ms";
    let ran = run(&bench, many);
    let all = ran.websockets();
    assert_eq!((all.opened, all.closed, all.answered, ran.summary.connections), (60, 60, 300, 1));
    let counts = bench.stop();
    assert_eq!((counts.connections, counts.websockets, counts.streams_reset), (1, 60, 0));
}

#[test]
fn what_is_pushed_keeps_its_gaps() {
    for (bench, way) in ways() {
        let ran = run(
            &bench,
            &format!("{way} --uri /ws/push/12/first/30ms/gap/20ms --ws-messages 0 --ws-for 9 --num-conns 3"),
        );
        let all = ran.websockets();
        assert_eq!((all.pushed, all.first_push.moments.count()), (36, 3), "{way}");
        assert_eq!(all.first_push.moments.count() + all.gap.moments.count() + all.coalesced, 36, "{way}");
        // The server's 30 ms and 250 ms begin when it has taken the request, ours when its answer was read.
        let opening = ran.summary.calls_with(CallOutcome::Success).latency.moments.max();
        let (first, whole) = (all.first_push.moments.min(), all.duration.moments.min());
        assert!(opening + first >= 0.03 && opening + whole >= 0.25, "{way}: {opening}, {first}, {whole}");
    }
}

#[test]
fn ends_that_were_not_meant_are_failures() {
    for (bench, way) in ways() {
        let closed = run(&bench, &format!("{way} --uri /ws/close/1011 --num-conns 3"));
        assert_eq!((closed.websockets().closed, closed.summary.mismatches.close), (3, 3), "{way}");
        assert!(stdout(&closed.outcome).contains("server 1011 (internal error)"), "{way}");
        let cut = run(&bench, &format!("{way} --uri /ws/cut/1 --num-conns 3"));
        let failed = cut.summary.calls_with(CallOutcome::Failure).latency.moments.count();
        assert_eq!((cut.websockets().cut, failed), (3, 3), "{way}");
        assert!(
            stdout(&cut.outcome).contains("3 of 3 WebSockets ended without a close") || failed == 3,
            "{way}"
        );
        let refused = run(&bench, &format!("{way} --uri /status/404 --num-conns 3"));
        assert_eq!((refused.websockets().opened, refused.websockets().refused), (0, 3), "{way}");
    }
}

#[test]
fn a_server_without_websockets_over_http2_is_named() {
    let Some(server) = find("nghttpd") else { return };
    let server = Running::start(
        "127.0.0.1",
        1,
        |_| Ok(()),
        |root, ports| {
            let mut command = Command::new(&server);
            command.args(["--no-tls", "--address=127.0.0.1", "-d"]).arg(root).arg(ports[0].to_string());
            command
        },
    );
    let ran =
        support::ran::run(server.port(0), "--websocket --http-version 2 --num-conns 2 --report full", &[]);
    assert!(ran.to_string().contains("takes no WebSockets over HTTP/2 (RFC 8441)"), "{ran}");
}

#[test]
fn every_form_has_the_same_figures() {
    let bench = Bench::new();
    let ran = run(
        &bench,
        "--uri /ws/gap/3ms --num-conns 30 --rate 60 --ws-messages 8 --ws-ping 5ms --slo rtt.p50<10s,ping.max<10s \
         --csv @r.csv --html @r.html --interval-log @log",
    );
    assert_eq!(ran.outcome.exit, Exit::Code(0), "{}", stderr(&ran.outcome));
    let text = stdout(&ran.outcome);
    let figures = &ran.document["figures"]["websockets"];
    let log = bench.read("log");
    let seconds = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["streams"].take());
    let seconds: Vec<Value> = seconds.filter(|streams| !streams.is_null()).collect();
    for (name, total) in [("sent", &figures["sent"]), ("events", &figures["received"])] {
        let sum: u64 = seconds.iter().map(|second| second[name].as_u64().unwrap()).sum();
        assert_eq!(Some(sum), total.as_u64(), "{name}: {log}");
    }
    assert_eq!(seconds.last().unwrap()["open"], 0, "{log}");
    let csv = bench.read("r.csv");
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let names: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let row = reader.records().next().unwrap().unwrap();
    let cell =
        |name: &str| row.get(names.iter().position(|column| column == name).unwrap()).unwrap().to_owned();
    let page = bench.read("r.html");
    for (column, value) in [
        ("round_trip_p50_ms", &figures["round_trip_ms"]["p50"]),
        ("round_trip_p99_ms", &figures["round_trip_ms"]["p99"]),
        ("ping_p50_ms", &figures["ping_ms"]["p50"]),
    ] {
        let ms = value.as_f64().unwrap_or_else(|| panic!("{column}: {value}"));
        assert_eq!(cell(column), format!("{ms:.3}"), "{column}");
        assert!(page.contains(&format!("{ms:.3}")), "{column}: {ms} is not on the page");
    }
    for (column, value) in [
        ("websockets_opened", &figures["opened"]),
        ("websockets_closed", &figures["closed"]),
        ("messages_sent", &figures["sent"]),
        ("messages_answered", &figures["answered"]),
        ("messages_received", &figures["received"]),
    ] {
        assert_eq!(cell(column), value.to_string(), "{column}");
    }
    assert_eq!(cell("messages_sent"), "240");
    for form in [&text, &page] {
        assert!(form.contains("30 opened, 30 closed"), "{form}");
        assert!(form.contains("240 sent (") && form.contains("240 answered"), "{form}");
    }
    assert!(text.contains("ws://127.0.0.1") && text.contains("round trip   "), "{text}");
}

/// A server of the package `websockets`: an echo, ten messages one every 10 ms, and a close with a code of its own.
const PYTHON: &str = r#"
import asyncio, sys
from websockets.asyncio.server import serve

async def talk(socket):
    path = socket.request.path
    if path == "/push":
        for number in range(10):
            await asyncio.sleep(0.01)
            await socket.send(f"news {number}")
        await socket.close(1001, "over")
    elif path == "/close":
        await socket.recv()
        await socket.close(4001, "as asked")
    else:
        async for message in socket:
            await socket.send(message)

async def main():
    def choose(connection, offered):
        return "chat" if "chat" in offered else None
    async with serve(talk, "127.0.0.1", int(sys.argv[1]), select_subprotocol=choose):
        await asyncio.get_running_loop().create_future()

asyncio.run(main())
"#;

/// A server of Hypercorn, which has WebSockets from `wsproto`, over HTTP/1.1 and HTTP/2: an echo.
const HYPERCORN: &str = r#"
import asyncio, sys
from hypercorn.asyncio import serve
from hypercorn.config import Config

async def app(scope, receive, send):
    if scope["type"] != "websocket":
        return
    await receive()
    await send({"type": "websocket.accept"})
    while True:
        event = await receive()
        if event["type"] == "websocket.disconnect":
            return
        await send({"type": "websocket.send", "text": event.get("text"), "bytes": event.get("bytes")})

config = Config()
config.bind = [f"127.0.0.1:{sys.argv[1]}"]
asyncio.run(serve(app, config))
"#;

/// Starts a server in Python that needs a package.
fn python_server(package: &str, source: &str) -> Option<Running> {
    let Some(python) = python::with_package(Path::new(env!("CARGO_TARGET_TMPDIR")), package) else {
        skip::lacking(&format!("{package} from PyPI"));
        return None;
    };
    Some(Running::python(&python, source))
}

#[test]
fn a_server_of_python_s_websockets_agrees() {
    let Some(server) = python_server("websockets", PYTHON) else { return };
    let run = |arguments: &str| {
        let ran = support::ran::run(server.port(0), &format!("--websocket {arguments}"), &[]);
        let all = ran.summary.websockets.clone().unwrap();
        (ran, all)
    };
    for arguments in [
        "--num-conns 5",
        "--num-conns 3 --ws-messages 20 --ws-size 70000 --ws-fragment 999 --ws-binary",
        "--num-conns 3 --ws-messages 20 --ws-size 3000 --ws-deflate",
        "--num-conns 3 --rate 100 --ws-every 5ms --ws-messages 20 --ws-ping 10ms --ws-protocol other,chat",
    ] {
        let (ran, all) = run(arguments);
        assert_eq!((all.closed, all.cut, all.answered), (all.opened, 0, all.sent), "{arguments}: {ran}");
        assert_eq!(all.closes.by_frequency(), [("client 1000 (normal closure)", all.opened)], "{arguments}");
        assert_eq!((all.violations.total(), all.pings), (0, all.ping.moments.count()), "{arguments}: {ran}");
        assert_eq!(all.compressed, if arguments.contains("deflate") { all.opened } else { 0 }, "{arguments}");
    }
    let (ran, pushed) = run("--uri /push --num-conns 4 --ws-messages 0 --ws-for 10");
    assert_eq!((pushed.pushed, pushed.closed), (40, 4), "{ran}");
    // The server's time begins when it has taken the request, ours when its answer was read.
    let opening = pushed.opening.service.moments.max();
    assert!(opening + pushed.first_push.moments.min() >= 0.009, "{ran}");
    assert!(opening + pushed.duration.moments.min() >= 0.09, "{ran}");
    assert_eq!(pushed.closes.by_frequency(), [("server 1001 (going away): over", 4)]);
    let (ran, closed) = run("--uri /close --num-conns 4");
    assert_eq!(
        (closed.closes.by_frequency(), ran.summary.mismatches.close),
        (vec![("server 4001: as asked", 4)], 4),
        "{ran}"
    );
}

#[test]
fn a_server_of_hypercorn_agrees_over_http1_and_http2() {
    let Some(server) = python_server("hypercorn", HYPERCORN) else { return };
    for version in ["1.1", "2"] {
        for arguments in
            ["--num-conns 4", "--num-conns 3 --ws-messages 15 --ws-size 4000 --ws-deflate --ws-fragment 500"]
        {
            let arguments = format!("--websocket --http-version {version} {arguments}");
            let ran = support::ran::run(server.port(0), &arguments, &[]);
            let all = ran.summary.websockets.as_ref().unwrap();
            assert_eq!((all.closed, all.cut, all.answered), (all.opened, 0, all.sent), "{arguments}: {ran}");
            assert_eq!(
                (all.violations.total(), all.compressed > 0),
                (0, arguments.contains("deflate")),
                "{ran}"
            );
        }
    }
}

/// The package `ws` of Node, an echo over all that it offers.
const NODE: &str = r#"
const { WebSocketServer } = require("ws");
const server = new WebSocketServer({ host: "127.0.0.1", port: Number(process.argv[2]), perMessageDeflate: true });
server.on("connection", (socket) => {
    socket.on("message", (data, isBinary) => socket.send(data, { binary: isBinary }));
});
"#;

/// The folder of the package `ws`, which is fetched if it is within reach.
fn node_ws() -> Option<PathBuf> {
    let npm = find("npm")?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("node-ws");
    if !folder.join("node_modules/ws").exists() {
        fs::create_dir_all(&folder).unwrap();
        let installs = ["install", "--silent", "--no-audit", "--no-fund", "ws@8"];
        let done = Command::new(npm).current_dir(&folder).args(installs).output();
        if !done.is_ok_and(|done| done.status.success()) {
            skip::without("ws from npm");
            return None;
        }
    }
    Some(folder)
}

#[test]
fn a_server_of_node_s_ws_agrees() {
    let (Some(node), Some(folder)) = (find("node"), node_ws()) else { return };
    let server = Running::start(
        "127.0.0.1",
        1,
        |root| fs::write(root.join("server.js"), NODE),
        |root, ports| {
            let mut command = Command::new(&node);
            command
                .env("NODE_PATH", folder.join("node_modules"))
                .arg(root.join("server.js"))
                .arg(ports[0].to_string());
            command
        },
    );
    for arguments in [
        "--num-conns 4",
        "--num-conns 3 --ws-messages 15 --ws-size 4000 --ws-deflate --ws-fragment 500",
        "--num-conns 3 --rate 100 --ws-every 5ms --ws-messages 10 --ws-ping 10ms --ws-binary",
    ] {
        let ran = support::ran::run(server.port(0), &format!("--websocket {arguments}"), &[]);
        let all = ran.summary.websockets.as_ref().unwrap();
        assert_eq!((all.closed, all.cut, all.answered), (all.opened, 0, all.sent), "{arguments}: {ran}");
        assert_eq!((all.violations.total(), all.compressed > 0), (0, arguments.contains("deflate")), "{ran}");
    }
}

/// A client of the package `websockets`, against our test server.
const CLIENT: &str = r#"
import asyncio, sys
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

async def main(base):
    for options in ({}, {"compression": None}):
        async with connect(base + "/ws", subprotocols=["chat"], max_size=None, **options) as socket:
            assert socket.subprotocol == "chat"
            for message in ["", "hello", "\u00e4" * 70000, b"", bytes(range(256)) * 300]:
                await socket.send(message)
                assert await socket.recv() == message
            await socket.send(["in ", "three ", "fragments"])
            assert await socket.recv() == "in three fragments"
            await asyncio.wait_for(await socket.ping(b"data"), 10)
    async with connect(base + "/ws/push/5/size/300") as socket:
        messages = [message async for message in socket]
        assert len(messages) == 5 and all(len(message) == 300 for message in messages), messages
    async with connect(base + "/ws/close/4007") as socket:
        await socket.send("x")
        try:
            await socket.recv()
            assert False, "it is closed"
        except ConnectionClosed as closed:
            assert closed.rcvd.code == 4007, closed
    async with connect(base + "/ws/cut/1") as socket:
        await socket.send("x")
        try:
            await socket.recv()
            assert False, "it is cut"
        except ConnectionClosed as closed:
            assert closed.rcvd is None, closed
    try:
        async with connect(base + "/status/403"):
            assert False, "it is refused"
    except InvalidStatus as refused:
        assert refused.response.status_code == 403

asyncio.run(main(sys.argv[1]))
print("agreed")
"#;

#[test]
fn a_client_of_python_s_websockets_agrees_with_our_server() {
    let Some(python) = python::with_package(Path::new(env!("CARGO_TARGET_TMPDIR")), "websockets") else {
        skip::lacking("websockets from PyPI");
        return;
    };
    let bench = Bench::new();
    let base = format!("ws://127.0.0.1:{}", bench.port);
    let done = Command::new(python).args(["-c", CLIENT, &base]).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert_eq!(said.trim(), "agreed", "{}", String::from_utf8_lossy(&done.stderr));
    let plain = bench.run("--uri /ws --report full");
    assert!(stdout(&plain).contains("426: 1"), "{}", stdout(&plain));
}

#[test]
fn steps_of_a_workload_file_open_websockets() {
    let bench = Bench::new();
    let file = format!(
        "base = \"http://127.0.0.1:{}\"\n\
         [arrivals]\nrate = 50\nvisits = 10\n\
         [[scenario]]\nname = \"talker\"\n\
         steps = [\n\
         {{ ws = \"/ws\", name = \"chat\", send = \"hello {{{{newUuid}}}}\", messages = 4, ping = \"1ms\" }},\n\
         {{ ws = \"{{{{base}}}}/ws/push/5/gap/2ms\", messages = 0, for = \"20s\" }},\n\
         {{ run = \"a.hurl\" }},\n]\n",
        bench.port
    );
    fs::write(bench.path("w.toml"), file).unwrap();
    fs::write(bench.path("a.hurl"), "GET {{base}}/size/9\nHTTP 200\n").unwrap();
    let outcome = bench.command("run @w.toml --timeout 20 --report full --output @r.json");
    let document: Value = serde_json::from_str(&bench.read("r.json")).unwrap();
    let summary: Summary = serde_json::from_value(document["summary"].clone()).unwrap();
    let all = summary.websockets.as_ref().unwrap();
    assert_eq!((all.opened, all.closed, all.answered, all.pushed), (20, 20, 40, 50), "{}", stdout(&outcome));
    // "hello " and a UUID.
    assert_eq!(all.sent_bytes, 40 * 42);
    let steps = &document["figures"]["visits"]["total"][0];
    assert_eq!(steps["completed"], 10, "{}", stdout(&outcome));
    assert!(stdout(&outcome).contains("chat"), "{}", stdout(&outcome));
    let counts = bench.stop();
    assert_eq!(
        (counts.websockets, counts.messages_received, counts.messages_sent, counts.replies_total()),
        (20, 40, 90, 10)
    );
}
