//! Servers that break the rules of HTTP/2, each in its own way: what ends a stream, what ends the connection, and what the
//! server is told. Everything is fed whole, cut at every byte, and byte by byte.

mod connection;
mod framing;
mod replies;

use httperf_proto::http2::{Limits, Options};
use httperf_proto::{Event, ReplyLimits};
use httperf_testkit::http2::frames::{self, code, flag, kind, setting};
use httperf_testkit::http2::{Frame, Reply, Script};

use crate::common;
use crate::common::{Outcome, body, broken, done, failed, gets, head, play, request, returned, started};

/// Limits within the reach of a short script.
const LIMITS: Limits = Limits {
    reply: ReplyLimits { head_size: 600, fields: 8, chunk_line_size: 32, interim_replies: 3 },
    continuations: 4,
    idle_frames: 20,
    resets: 5,
};

fn options() -> Options {
    Options { header_blocks: true, bodies: true, limits: LIMITS, ..Options::default() }
}

/// A server that has said its settings, as it must.
fn server() -> Script {
    Script::new().settings(&[])
}

const OK: &[(&str, &str)] = &[(":status", "200")];
const OK_TEXT: &str = "HTTP/2 200\r\n\r\n";

/// Two calls are sent, on streams 1 and 3. The server's bytes end the connection, and we send it the reason.
#[track_caller]
fn breaks(script: &Script, code: u32, reason: &'static str) -> Outcome {
    breaks_with(options(), script, code, reason)
}

#[track_caller]
fn breaks_with(options: Options, script: &Script, code: u32, reason: &'static str) -> Outcome {
    let outcome = play(options, &gets(2), script.bytes());
    assert_eq!(outcome.end, broken(code, reason));
    let goaway = outcome.said.last().expect("the server is told");
    let payload = [&0_u32.to_be_bytes()[..], &code.to_be_bytes(), reason.as_bytes()].concat();
    assert_eq!(*goaway, Frame { kind: kind::GOAWAY, flags: 0, stream: 0, payload });
    assert_eq!(outcome.said.iter().filter(|frame| frame.kind == kind::GOAWAY).count(), 1);
    outcome
}

/// Two calls are sent, on streams 1 and 3. What the server says ends stream 1, and it is told why; the other call is
/// answered as if nothing had happened.
#[track_caller]
fn resets(script: Script, code: u32) {
    resets_behind(script, &[], code);
}

/// As [`resets`], and these events come before.
#[track_caller]
fn resets_behind(script: Script, events: &[Event<'static>], code: u32) {
    resets_request(&gets(2), script, events, code);
}

#[track_caller]
fn resets_request(
    requests: &[httperf_proto::request::Request],
    script: Script,
    events: &[Event<'static>],
    code: u32,
) {
    let script = script.head(3, OK, false).data(3, b"fine", true);
    let outcome = play(options(), requests, script.bytes());
    assert_eq!(outcome.end, Ok(()));
    let rest = [failed(0), started(1, 200), head(1, OK_TEXT), body(1, b"fine"), done(1, 14, 4, 0)];
    assert_eq!(outcome.events, [events, &rest].concat());
    let resets: Vec<_> = outcome.said.into_iter().filter(|frame| frame.kind == kind::RST_STREAM).collect();
    let payload = code.to_be_bytes().to_vec();
    assert_eq!(resets, [Frame { kind: kind::RST_STREAM, flags: 0, stream: 1, payload }]);
}

/// Two calls are sent, on streams 1 and 3. What the server says means nothing, and both are answered.
#[track_caller]
fn is_passed_over(script: Script) {
    let script = script.head(3, OK, true).head(1, OK, true);
    let outcome = play(options(), &gets(2), script.bytes());
    assert_eq!(outcome.end, Ok(()));
    let expected = [
        started(1, 200),
        head(1, OK_TEXT),
        done(1, 14, 0, 0),
        started(0, 200),
        head(0, OK_TEXT),
        done(0, 14, 0, 0),
    ];
    assert_eq!(outcome.events, expected);
}
