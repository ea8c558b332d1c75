//! Causes of failures in words: the answer, the page and the document say the same.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::io::{Read as _, Write as _};

use httperf_testkit::tcp;
use serde_json::Value;

use crate::support::program::{Finished, Invocation, under_test};
use crate::support::words;

/// A server that answers the first bytes of each connection with these, and closes it if it is to.
fn answering(answer: Vec<u8>, closes: bool) -> u16 {
    tcp::serve(move |_, mut stream| {
        let mut buffer = [0; 64 * 1024];
        if stream.read(&mut buffer).is_ok_and(|count| count > 0) {
            let _gone = stream.write_all(&answer);
        }
        while !closes && stream.read(&mut buffer).is_ok_and(|count| count > 0) {}
    })
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Settings, their acknowledgement, and further frames.
fn frames(further: &[Vec<u8>]) -> Vec<u8> {
    [frame(4, 0, 0, b""), frame(4, 1, 0, b""), further.concat()].concat()
}

/// Three connections fail for this cause. `expected`: its kind, its sentence and its remedy. Returns how the run finished.
#[track_caller]
fn check(line: &str, (answer, closes): (Vec<u8>, bool), expected: [&str; 3]) -> Finished {
    let [cause, sentence, hint] = expected;
    let port = answering(answer, closes).to_string();
    let folder = tempfile::tempdir().unwrap();
    let [json, page] = ["result.json", "page.html"].map(|name| folder.path().join(name));
    let line = format!(
        "{line} --num-conns 3 --timeout 1 --report=full --output {} --html {}",
        json.display(),
        page.display()
    );
    let finished = Finished::of(&Invocation::new(&under_test(), words(&line.replace("PORT", &port))));
    let sentence = sentence.replace("PORT", &port);
    let document: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    let first = &document["figures"]["causes"][0];
    assert_eq!(
        (first["cause"].as_str(), first["failures"].as_u64(), first["sentence"].as_str()),
        (Some(cause), Some(3), Some(&sentence[..])),
        "{finished}"
    );
    assert_eq!(first["hint"].as_str().unwrap_or_default(), hint, "{finished}");
    let said = finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let remedy = if hint.is_empty() { String::new() } else { format!(". {hint}") };
    let answered = format!("no reply: {sentence} (3 of 3){remedy}");
    assert!(said.contains(&answered), "expected {answered}: {finished}");
    assert!(fs::read_to_string(&page).unwrap().contains(&sentence), "the page says {sentence}");
    finished
}

const HTTP2: &str = "http://127.0.0.1:PORT/ --http-version 2";

#[test]
fn what_a_server_of_http2_did_is_named() {
    let reset = frame(3, 0, 1, &2_u32.to_be_bytes());
    check(
        HTTP2,
        (frames(&[reset]), false),
        [
            "stream_reset",
            "127.0.0.1:PORT reset the stream of the call with INTERNAL_ERROR",
            "Its log may say why",
        ],
    );
    let goaway = frame(7, 0, 0, &[1_u32.to_be_bytes(), 11_u32.to_be_bytes()].concat());
    check(
        HTTP2,
        (frames(&[goaway]), true),
        [
            "go_away",
            "127.0.0.1:PORT ended the connection by GOAWAY with ENHANCE_YOUR_CALM",
            "It finds that this client asks too much of it",
        ],
    );
    check(
        HTTP2,
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), true),
        ["speaks_http1", "127.0.0.1:PORT answers in HTTP/1, not in HTTP/2", "Try --http-version 1.1"],
    );
}

#[test]
fn our_own_reset_is_not_blamed_on_the_server_and_warns() {
    let short = [frame(1, 4, 1, b"\x88\x0f\x0d\x0210"), frame(0, 1, 1, b"ok")];
    let finished = check(
        HTTP2,
        (frames(&short), false),
        [
            "reply_rejected",
            "a reply of 127.0.0.1:PORT broke a rule of HTTP/2, and httperf reset its stream: content that does not match its \
             content-length",
            "",
        ],
    );
    let warning = "3 replies broke a rule of HTTP/2 or went beyond a limit, so that httperf reset the stream";
    assert!(finished.stderr.contains(warning), "{finished}");
    assert!(finished.stdout.contains("other 3"), "its class is not connreset: {finished}");
}

#[test]
fn what_is_below_http_is_named() {
    check(
        "https://127.0.0.1:PORT/",
        (b"\x15\x03\x03\x00\x02\x02\x74".to_vec(), true),
        [
            "tls_alert",
            "127.0.0.1:PORT ended TLS with the alert certificate_required",
            "It wants a certificate of the client: --ssl-certificate FILE shows one",
        ],
    );
    check(
        "http://127.0.0.1:PORT/",
        (b"\x15\x03\x01\x00\x02\x02\x28".to_vec(), true),
        ["speaks_tls", "127.0.0.1:PORT speaks TLS", "Try https://"],
    );
    check(
        "https://server.example:8443/ --proxy http://127.0.0.1:PORT",
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n".to_vec(), true),
        [
            "proxy_refused",
            "the proxy 127.0.0.1:PORT refused a tunnel with status 407",
            "It wants credentials: --proxy http://USER:PASSWORD@HOST sends them",
        ],
    );
}
