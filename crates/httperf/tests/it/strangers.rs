//! Servers that do not speak the protocol of the run: it is found on the first connections.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use httperf_testkit::tcp;
use serde_json::Value;

use crate::support::program::{Exit, Finished, Invocation, under_test};
use crate::support::words;

/// Maximum time of a run on a machine that has other things to do. It has ten minutes for itself.
const LIMIT: Duration = Duration::from_secs(60);

/// A server of HTTP/1 in the clear. Returns its port and the number of its connections.
fn plain() -> (u16, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let port = tcp::serve(move |_, mut stream| {
        counted.fetch_add(1, Ordering::Relaxed);
        let mut buffer = [0; 64 * 1024];
        let mut has_answered = false;
        while stream.read(&mut buffer).is_ok_and(|count| count > 0) {
            if !std::mem::replace(&mut has_answered, true) {
                let _gone = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
            }
        }
    });
    (port, count)
}

/// Runs the program against a plain server. The run has ended on its first connections, and its document says so.
#[track_caller]
fn finish(arguments: &str) -> Finished {
    let (port, count) = plain();
    let folder = tempfile::tempdir().unwrap();
    let result = folder.path().join("result.json");
    let line = arguments.replace("PORT", &port.to_string());
    let line = format!("{line} --duration 10m --timeout 20 --output {}", result.display());
    let mut invocation = Invocation::new(&under_test(), words(&line));
    invocation.limit = LIMIT;
    let finished = Finished::of(&invocation);
    let connections = count.load(Ordering::Relaxed);
    assert!((10..=60).contains(&connections), "{connections} connections: {finished}");
    let document: Value = serde_json::from_slice(&fs::read(&result).unwrap()).unwrap();
    assert_eq!(document["parts"][0]["ended_early"], "hopeless", "{finished}");
    assert_eq!(document["summary"]["gave_up"], true, "{finished}");
    finished
}

#[test]
fn a_server_of_http1_ends_a_run_over_http2_at_once() {
    let said = "httperf: HTTP/2 cannot be spoken: the server answers in HTTP/1\n\
                hint: without --http-version=2, HTTP/1.1 is spoken\n";
    for load in [
        "--concurrency 2",
        "--rate 200",
        "--request-rate 200 --concurrency 4",
        "--concurrency 4 --threads 2",
        "--concurrency 2 --warmup 5m",
    ] {
        let finished = finish(&format!("http://127.0.0.1:PORT/ --http-version 2 {load}"));
        assert_eq!(finished.exit, Exit::Code(1), "{finished}");
        assert!(finished.stderr.ends_with(said), "{finished}");
    }
}

#[test]
fn a_plain_port_ends_a_run_over_tls_at_once() {
    for load in [
        "https://127.0.0.1:PORT/ --concurrency 2",
        "https://127.0.0.1:PORT/ --http-version 2 --rate 200",
        "--server 127.0.0.1 --port PORT --ssl --rate 200",
        "https://127.0.0.1:PORT/ --concurrency 2 --warmup 5m",
    ] {
        let finished = finish(load);
        assert_eq!(finished.exit, Exit::Code(255), "{finished}");
        let said = "httperf: failed to connect to SSL server (err=-1, reason=1)\n\
                    httperf: the first TLS handshake failed: wrong version number\n";
        assert!(finished.stderr.contains(said), "{finished}");
    }
}
