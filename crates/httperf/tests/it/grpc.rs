//! Calls of gRPC: to our own test server, in the clear and over TLS, and to one of Python's grpcio.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use httperf_origin::{Config, Credentials, KeyType, Tls};
use httperf_stats::{CallOutcome, GrpcSummary};
use httperf_testkit::tcp::free_port;
use httperf_testkit::{python, skip};
use serde_json::Value;

use crate::support::bench::Bench;
use crate::support::machine::is_long;
use crate::support::program::{Exit, Outcome, stderr, stdout};
use crate::support::ran::{Ran, finish, run};
use crate::support::running::{Running, tool};

fn grpc(ran: &Ran) -> &GrpcSummary {
    ran.summary.grpc.as_deref().unwrap_or_else(|| panic!("no calls of gRPC: {ran}"))
}

fn secured() -> Bench {
    let config = Config::default();
    let tls = Tls::new(Credentials::self_signed(KeyType::default(), &config.listen));
    Bench::with(Config { tls: Some(tls), ..config })
}

/// The description of the test server's service.
const PROTO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../origin/src/grpc/test.proto");

#[test]
fn both_ends_count_the_same_calls() {
    for (bench, way) in [(Bench::new(), ""), (secured(), "--ssl")] {
        let (mut calls, mut failed, mut messages, mut asked) = (0, 0, 0, 0);
        for (arguments, asks) in [
            ("--grpc httperf.Test/Echo --num-conns 5 --num-calls 3".to_owned(), true),
            (format!("--grpc httperf.Test/Echo --proto {PROTO} --grpc-data {{\"size\":70000}} --num-conns 4"), false),
            ("--grpc httperf.Test/Echo --grpc-data {\"status\":9,\"message\":\"no\"} --num-conns 4".to_owned(), true),
            (
                "--grpc httperf.Test/Stream --grpc-data {\"messages\":20,\"gap_us\":500} --concurrency 2 --streams 4 \
                 --num-calls 10"
                    .to_owned(),
                true,
            ),
            ("--grpc grpc.health.v1.Health/Check --request-rate 200 --duration .2 --drain 5".to_owned(), true),
            ("--grpc httperf.Test/Echo --wsess 3,4,0 --rate 30".to_owned(), true),
        ] {
            let ran = run(bench.port, &format!("{way} {arguments}"), &[]);
            let all = grpc(&ran);
            assert_eq!((all.unanswered, all.untold, all.malformed), (0, 0, 0), "{way} {arguments}: {ran}");
            assert_eq!(all.statuses.total(), ran.summary.replies, "{way} {arguments}: {ran}");
            assert_eq!(ran.summary.errors.total(), 0, "{ran}");
            calls += all.statuses.total();
            failed += all.statuses.total() - all.ok();
            messages += all.received;
            asked += u64::from(asks);
        }
        let counts = bench.stop();
        // Each question to the server is a call with one answer.
        assert_eq!(
            (counts.rpcs, counts.rpcs_failed, counts.rpc_messages),
            (calls + asked, failed, messages + asked),
            "{way}"
        );
        assert!(failed == 4 && messages > 400, "{way}: {failed} {messages}");
    }
}

#[test]
fn messages_of_a_stream_have_times_of_their_own() {
    let bench = Bench::new();
    let data = "{\"messages\":12,\"first_us\":30000,\"gap_us\":20000}";
    let ran = run(bench.port, &format!("--grpc httperf.Test/Stream --grpc-data {data} --num-conns 3"), &[]);
    let streams = ran.summary.streams.as_ref().unwrap();
    assert_eq!((streams.completed, streams.events, grpc(&ran).received), (3, 36, 36), "{ran}");
    assert_eq!(3 + streams.gap.moments.count() + streams.coalesced, 36, "{ran}");
    // What the server waits begins before its header leaves.
    assert!(streams.first_event.latency.moments.min() >= 0.03, "{ran}");
    assert!(ran.summary.calls_with(CallOutcome::Success).latency.moments.min() >= 0.25, "{ran}");
}

#[test]
fn messages_of_a_file_take_turns() {
    let bench = Bench::new();
    let lines =
        b"{\"text\":\"a\"}\n{\"status\":5,\"message\":\"no b\"}\n{\"text\":\"c\",\"payload\":\"AAEC\"}\n";
    let arguments = "--grpc httperf.Test/Echo --grpc-data @lines.json --num-conns 2 --num-calls 6";
    let ran = run(bench.port, arguments, &[("lines.json", lines)]);
    let all = grpc(&ran);
    assert_eq!((all.ok(), all.statuses.count("NOT_FOUND")), (8, 4), "{ran}");
    assert_eq!(all.messages.by_frequency(), [("NOT_FOUND: no b", 4)]);
    assert_eq!(ran.summary.mismatches.grpc, 4);
}

#[test]
fn a_deadline_is_the_server_s_to_keep() {
    let bench = Bench::new();
    let data = "{\"delay_us\":5000000}";
    let arguments = format!("--grpc httperf.Test/Echo --grpc-data {data} --grpc-deadline .05 --num-conns 3");
    let ran = run(bench.port, &arguments, &[]);
    assert_eq!(grpc(&ran).statuses.by_frequency(), [("DEADLINE_EXCEEDED", 3)], "{ran}");
    let waited = ran.summary.calls_with(CallOutcome::Unexpected).latency.moments.min();
    assert!(waited >= 0.05, "{waited}");
    // Ours, on the other hand, ends a call without a status.
    let ran = run(bench.port, &format!("--grpc httperf.Test/Echo --grpc-data {data} --timeout .1"), &[]);
    assert_eq!((grpc(&ran).statuses.total(), grpc(&ran).unanswered), (0, 1), "{ran}");
    assert_eq!(ran.summary.errors.total(), 1, "{ran}");
}

#[test]
fn faults_of_what_stands_before_a_server_have_a_status() {
    let arguments = format!("--grpc httperf.Test/Echo --proto {PROTO} --num-conns 4");
    let status = |status: &str| Config { status: status.parse().unwrap(), ..Config::default() };
    for (code, expected) in [("503", "UNAVAILABLE"), ("404", "UNIMPLEMENTED"), ("401", "UNAUTHENTICATED")] {
        let bench = Bench::with(status(code));
        let ran = run(bench.port, &arguments, &[]);
        let all = grpc(&ran);
        assert_eq!((all.statuses.by_frequency(), all.untold), (vec![(expected, 4)], 4), "{ran}");
        assert_eq!(ran.summary.calls_with(CallOutcome::HttpError).latency.moments.count(), 4, "{ran}");
    }
    // Such a server does not describe its services.
    let bench = Bench::with(status("503"));
    let finished = finish(bench.port, "--grpc httperf.Test/Echo", &[]).to_string();
    assert!(finished.contains("the server does not describe its services (UNAVAILABLE)"), "{finished}");
}

#[test]
fn a_result_of_calls_runs_again() {
    let bench = Bench::new();
    let run = |arguments: &str| {
        let outcome = bench.run(&format!("--grpc httperf.Test/Echo {arguments} --output @first.json"));
        assert_eq!(outcome.exit, Exit::Code(0), "{}", stderr(&outcome));
        let again = bench.command("rerun @first.json --output @second.json");
        assert_eq!(again.exit, Exit::Code(0), "{}", stderr(&again));
        ["first.json", "second.json"].map(|name| {
            let document: Value = serde_json::from_str(&bench.read(name)).unwrap();
            (document["plan"]["request"].clone(), document["figures"]["grpc"].clone())
        })
    };
    for data in ["", "--grpc-data {\"text\":\"ü\",\"payload\":\"//79/A==\"}"] {
        let [first, second] = run(&format!("--num-conns 3 --num-calls 2 {data}"));
        assert_eq!(first, second);
        assert_eq!(second.1["ok"], 6);
    }
}

#[test]
fn every_form_has_the_same_figures() {
    let bench = Bench::new();
    let data = "{\"status\":5,\"message\":\"<b>no\"}{\"text\":\"x\"}{\"text\":\"y\"}";
    let outcome = bench.run(&format!(
        "--grpc httperf.Test/Echo --grpc-data {data} --num-conns 10 --num-calls 6 --report full --output @r.json \
         --csv @r.csv --html @r.html"
    ));
    assert_eq!(outcome.exit, Exit::Code(0), "{}", stderr(&outcome));
    let document: Value = serde_json::from_str(&bench.read("r.json")).unwrap();
    let figures = &document["figures"]["grpc"];
    let csv = bench.read("r.csv");
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let names: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let row = reader.records().next().unwrap().unwrap();
    for (column, field, expected) in [
        ("grpc_calls", "calls", "60"),
        ("grpc_ok", "ok", "40"),
        ("grpc_failed", "failed", "20"),
        ("grpc_unanswered", "unanswered", "0"),
        ("grpc_untold", "untold", "0"),
        ("grpc_messages", "received", "40"),
        ("grpc_malformed", "malformed", "0"),
    ] {
        let at = names.iter().position(|name| name == column).unwrap();
        assert_eq!((&row[at], &figures[field].to_string()[..]), (expected, expected), "{column}");
    }
    assert_eq!(document["summary"]["mismatches"]["grpc"], 20);
    let (text, page) = (stdout(&outcome), bench.read("r.html"));
    let url = format!("127.0.0.1:{}/httperf.Test/Echo", bench.port);
    assert!(text.contains(&format!("\nhttp://{url}: ")) && page.contains(&url), "{text}");
    assert!(page.contains("/httperf.Test/Echo, with 3 messages in turn"));
    assert!(text.contains("\ngRPC calls      OK 40, NOT_FOUND 20\n"), "{text}");
    assert!(text.contains("\ngrpc         OK 40, NOT_FOUND 20; NOT_FOUND: <b>no\n"), "{text}");
    assert!(
        text.contains("Unexpected replies: 20 of 60: status 0 undecodable 0 size 0 hash 0 grpc 20\n"),
        "{text}"
    );
    assert!(page.contains("OK 40, NOT_FOUND 20") && page.contains("66.7 %") && !page.contains("<b>no"));
}

#[track_caller]
fn check_said(outcome: &Outcome, expected: &str) {
    assert_eq!(outcome.exit, Exit::Code(1), "{}", stderr(outcome));
    assert_eq!(stderr(outcome), format!("httperf: {expected}\n"));
}

#[test]
fn what_cannot_be_called_is_said_in_a_sentence() {
    let bench = Bench::new();
    let run = |arguments: &str| bench.run(arguments);
    check_said(
        &run("--grpc httperf.Test/Sing"),
        "--grpc: expected a method of httperf.Test, got `Sing`; it has Echo, Stream",
    );
    check_said(
        &run("--grpc some.Service/Call"),
        "--grpc: expected a service that the server describes, got `some.Service`; it describes grpc.health.v1.Health, \
         grpc.reflection.v1.ServerReflection, grpc.reflection.v1alpha.ServerReflection, httperf.Test\nhint: --proto FILE \
         or --protoset FILE describes it; --grpc-raw FILE sends bytes",
    );
    check_said(
        &run("--grpc grpc.reflection.v1.ServerReflection/ServerReflectionInfo"),
        "--grpc: expected a method that takes one message, got \
         `grpc.reflection.v1.ServerReflection.ServerReflectionInfo`, which takes a stream",
    );
    check_said(
        &run("--grpc httperf.Test/Echo --grpc-data {\"text\":7}"),
        "--grpc-data: expected JSON of httperf.Request: invalid type: integer `7`, expected a string at line 1 column 9",
    );
    fs::write(bench.path("empty"), "").unwrap();
    fs::write(bench.path("bad.proto"), "syntax = \"proto3\";\nmessage M { Oops x = 1; }\n").unwrap();
    check_said(
        &run("--grpc a.B/C --proto @bad.proto"),
        "--proto: bad.proto:2:13: name 'Oops' is not defined",
    );
    check_said(
        &run("--grpc a.B/C --protoset @empty"),
        "--grpc: expected a service of --protoset, got `a.B`; known: none",
    );
    check_said(
        &run(&format!("--grpc a.B/C --proto {PROTO}")),
        "--grpc: expected a service of --proto, got `a.B`; known: httperf.Test",
    );
    let missing = bench.path("missing");
    check_said(
        &run("--grpc a.B/C --grpc-raw @missing"),
        &format!("--grpc-raw: cannot read `{}`: No such file or directory (os error 2)", missing.display()),
    );
    let port = free_port();
    check_said(
        &bench.command(&format!("--server 127.0.0.1 --port {port} --grpc a.B/C")),
        &format!(
            "--grpc: the server cannot be asked to describe its services: no reply: connection refused by \
             127.0.0.1:{port} (1 of 1). Is the server up?"
        ),
    );
}

/// A server of grpcio: a service whose messages it passes on as bytes, health, and reflection in its older version. Its
/// calls are lines of a file.
const PYTHON: &str = r#"
import sys, threading, time
from concurrent import futures
import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

calls = open(sys.argv[2], "a", buffering=1)

def note(name, context):
    metadata = dict(context.invocation_metadata())
    remaining = context.time_remaining()
    has_deadline = remaining is not None and remaining < 3600
    calls.write(f"{name} {metadata.get('x-tenant')} {metadata.get('x-data-bin')} {has_deadline}\n")

def echo(request, context):
    note("echo", context)
    return request

def fail(request, context):
    note("fail", context)
    context.abort(grpc.StatusCode.FAILED_PRECONDITION, "not now: 100 %, ü\n\x1b[31m")

def slow(request, context):
    note("slow", context)
    time.sleep(0.5)
    return request

def stream(request, context):
    note("stream", context)
    for _ in range(5):
        time.sleep(0.02)
        yield request

def half(request, context):
    note("half", context)
    yield request
    context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "that is all")

handlers = {
    "Echo": grpc.unary_unary_rpc_method_handler(echo),
    "Fail": grpc.unary_unary_rpc_method_handler(fail),
    "Slow": grpc.unary_unary_rpc_method_handler(slow),
    "Stream": grpc.unary_stream_rpc_method_handler(stream),
    "Half": grpc.unary_stream_rpc_method_handler(half),
}
server = grpc.server(futures.ThreadPoolExecutor(max_workers=20))
server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("t.Test", handlers)])
health_pb2_grpc.add_HealthServicer_to_server(health.HealthServicer(), server)
reflection.enable_server_reflection(["grpc.health.v1.Health", reflection.SERVICE_NAME], server)
server.add_insecure_port(f"127.0.0.1:{sys.argv[1]}")
server.start()
server.wait_for_termination()
"#;

/// The description of its service, in two files.
const TEST_PROTO: &[u8] = br#"
syntax = "proto3";
package t;
import "message.proto";
service Test {
  rpc Echo(M) returns (M);
  rpc Fail(M) returns (M);
  rpc Slow(M) returns (M);
  rpc Stream(M) returns (stream M);
  rpc Half(M) returns (stream M);
  rpc Talk(stream M) returns (stream M);
}
"#;

const MESSAGE_PROTO: &[u8] = br#"
syntax = "proto3";
package t;
message M { string text = 1; repeated int64 numbers = 2; }
"#;

#[test]
fn a_server_of_grpcio_agrees() {
    let packages = ["grpcio-reflection", "grpcio-health-checking"];
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let Some(python) = python::with_module(folder, "grpc_reflection", &packages) else {
        return skip::lacking("grpcio from PyPI");
    };
    let furnish = |root: &Path| {
        fs::write(root.join("server.py"), PYTHON)?;
        fs::write(root.join("calls"), "")
    };
    let server = Running::start("127.0.0.1", 1, furnish, |root, ports| {
        let mut command = Command::new(&python);
        command.arg(root.join("server.py")).arg(ports[0].to_string()).arg(root.join("calls"));
        command
    });
    let mut calls = 0;
    let mut run = |method: &str, arguments: &str| {
        let files = [("test.proto", TEST_PROTO), ("message.proto", MESSAGE_PROTO)];
        let line = format!("--grpc t.Test/{method} --proto test.proto {arguments}");
        let ran = run(server.port(0), &line, &files);
        calls += ran.summary.replies;
        ran
    };
    let ran = run(
        "Echo",
        "--grpc-data {\"text\":\"hi\",\"numbers\":[1,2]} --header x-tenant:blue --header x-data-bin:AAEC --num-conns 3 \
         --num-calls 5 --grpc-deadline 30",
    );
    assert_eq!((grpc(&ran).ok(), grpc(&ran).received_bytes), (15, 15 * 8), "{ran}");
    let ran = run("Fail", "--num-conns 4");
    assert_eq!(
        grpc(&ran).messages.by_frequency(),
        [("FAILED_PRECONDITION: not now: 100 %, ü\\n\\u{1b}[31m", 4)],
        "{ran}"
    );
    let ran = run("Stream", "--num-conns 4 --rate 50 --grpc-data {\"text\":\"hello\"}");
    let streams = ran.summary.streams.as_ref().unwrap();
    assert_eq!((grpc(&ran).ok(), grpc(&ran).received, streams.events), (4, 20, 20), "{ran}");
    assert!(streams.first_event.latency.moments.min() >= 0.02, "{ran}");
    assert!(ran.summary.calls_with(CallOutcome::Success).latency.moments.min() >= 0.1, "{ran}");
    let ran = run("Half", "--num-conns 4");
    let all = grpc(&ran);
    assert_eq!((all.statuses.by_frequency(), all.received), (vec![("RESOURCE_EXHAUSTED", 4)], 4), "{ran}");
    let ran = run("Slow", "--num-conns 3 --grpc-deadline .1");
    assert_eq!(grpc(&ran).statuses.by_frequency(), [("DEADLINE_EXCEEDED", 3)], "{ran}");
    let lines = server.lines("calls", usize::try_from(calls).unwrap());
    let count = |line: &str| lines.iter().filter(|seen| *seen == line).count();
    assert_eq!(count("echo blue b'\\x00\\x01\\x02' True"), 15, "{lines:?}");
    assert_eq!((count("fail None None False"), count("slow None None True")), (4, 3), "{lines:?}");
    assert_eq!((lines.len() as u64, count("stream None None False")), (calls, 4), "{lines:?}");
    // It says itself what it knows of.
    let ran =
        crate::support::ran::run(server.port(0), "--grpc grpc.health.v1.Health/Check --num-conns 3", &[]);
    assert_eq!((grpc(&ran).ok(), grpc(&ran).received_bytes), (3, 6), "{ran}");
    let finished = finish(server.port(0), "--grpc t.Test/Echo", &[]).to_string();
    assert!(finished.contains("it describes grpc.health.v1.Health, grpc.reflection.v1alpha"), "{finished}");
}

/// The description of the service of `grpc_go/server.go`.
const GO_PROTO: &[u8] = br#"
syntax = "proto3";
package t;
import "google/protobuf/wrappers.proto";
service Test {
  rpc Echo(google.protobuf.StringValue) returns (google.protobuf.StringValue);
  rpc Fail(google.protobuf.StringValue) returns (google.protobuf.StringValue);
  rpc Slow(google.protobuf.StringValue) returns (google.protobuf.StringValue);
  rpc Stream(google.protobuf.StringValue) returns (stream google.protobuf.StringValue);
}
"#;

/// Builds the server, whose modules are fetched if they are within reach.
fn go_server() -> Option<PathBuf> {
    let go = tool("go")?;
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("grpc-go-server");
    let mut command = Command::new(go);
    command.args(["build", "-buildvcs=false", "-o"]).arg(&program).arg(".");
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/grpc_go")).env("GOTOOLCHAIN", "local");
    let is_built = command.output().is_ok_and(|output| output.status.success());
    if !is_built {
        skip::without("gRPC for Go, or Go 1.25");
    }
    is_built.then_some(program)
}

#[test]
fn a_server_of_go_agrees() {
    if !is_long() {
        return skip::unless_long();
    }
    let Some(program) = go_server() else { return };
    let server = Running::start(
        "127.0.0.1",
        1,
        |_: &Path| Ok(()),
        |_, ports| {
            let mut command = Command::new(&program);
            command.arg(ports[0].to_string());
            command
        },
    );
    let run = |method: &str, arguments: &str| {
        let line = format!("--grpc t.Test/{method} --proto test.proto --grpc-data \"tea\" {arguments}");
        run(server.port(0), &line, &[("test.proto", GO_PROTO)])
    };
    let ran = run("Echo", "--concurrency 2 --streams 10 --num-calls 50");
    assert_eq!((grpc(&ran).ok(), grpc(&ran).received_bytes), (100, 500), "{ran}");
    let ran = run("Fail", "--num-conns 3");
    let said = [("ALREADY_EXISTS: there is tea already: 100 %", 3)];
    assert_eq!(grpc(&ran).messages.by_frequency(), said, "{ran}");
    let ran = run("Slow", "--num-conns 3 --grpc-deadline .1");
    assert_eq!(grpc(&ran).statuses.count("DEADLINE_EXCEEDED") + grpc(&ran).unanswered, 3, "{ran}");
    let ran = run("Stream", "--num-conns 3");
    let streams = ran.summary.streams.as_ref().unwrap();
    assert_eq!((grpc(&ran).ok(), grpc(&ran).received, streams.events), (3, 18, 18), "{ran}");
    // Its reflection is of version 1.
    let ran =
        crate::support::ran::run(server.port(0), "--grpc grpc.health.v1.Health/Check --num-conns 3", &[]);
    assert_eq!((grpc(&ran).ok(), grpc(&ran).received_bytes), (3, 6), "{ran}");
}
