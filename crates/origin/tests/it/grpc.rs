//! Calls of gRPC by a client that someone else wrote.

use std::path::Path;
use std::process::{Command, Stdio};

use httperf_origin::{Config, spawn};
use httperf_testkit::{python, skip};

#[test]
fn grpcio_is_answered() {
    let packages = ["grpcio-reflection", "grpcio-health-checking"];
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let Some(python) = python::with_module(folder, "grpc_reflection", &packages) else {
        return skip::lacking("grpcio from PyPI");
    };
    let server = spawn(Config::default()).unwrap();
    let port = server.tcp_address().unwrap().port().to_string();
    let output = Command::new("timeout")
        .arg("60")
        .arg(python)
        .args(["-c", include_str!("client/grpcio.py"), &port])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen = String::from_utf8_lossy(&output.stdout).into_owned();
    let expected = "\
services grpc.health.v1.Health grpc.reflection.v1.ServerReflection grpc.reflection.v1alpha.ServerReflection httperf.Test
methods Echo Stream
echo hello 0001 0 True
size 3000000
stream 0 1 2 3 4 True True
failed - NOT_FOUND no such thing: 100 % ü
failed - RESOURCE_EXHAUSTED that is all
failed - DEADLINE_EXCEEDED
failed - DEADLINE_EXCEEDED
failed - UNIMPLEMENTED unknown method: /httperf.Test/Sing
failed - RESOURCE_EXHAUSTED a message may have 4194304 bytes
failed - INTERNAL
health 1
health - NOT_FOUND unknown service
watch 1
";
    assert_eq!(seen, expected);
    let counts = server.stop().unwrap();
    assert!(counts.rpcs_failed >= 7 && counts.rpcs >= 11 && counts.requests_malformed == 0, "{counts}");
}
