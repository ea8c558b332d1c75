//! A client that is fed with what a server says, wherever that is cut.

#![expect(clippy::unwrap_used, reason = "a test that fails says where")]
#![allow(dead_code, reason = "each test file uses its part")]

use std::time::Duration;

use httperf_proto::http2::{ConnectionError, Engine, ErrorCode, Options};
use httperf_proto::request::{Request, RequestBody, RequestParts};
use httperf_proto::{CallId, Event, HeaderBlock, ProtocolError, ReplySize, Reuse, Undone};
use httperf_testkit::http2::frames::{self, Frame, kind};

pub(crate) const NOW: Duration = Duration::ZERO;

/// A request without a body, or with one.
pub(crate) fn request(method: &str, body: &[u8]) -> Request {
    request_for(method, "/", body)
}

pub(crate) fn request_for(method: &str, uri: &str, body: &[u8]) -> Request {
    RequestParts {
        method: method.as_bytes(),
        uri: uri.as_bytes(),
        http10: false,
        keep_alive: false,
        user_agent: Some("httperf"),
        host: Some("localhost"),
        forward: None,
        extra_headers: b"",
        headers: b"",
        cookie: None,
        body: if body.is_empty() { RequestBody::None } else { RequestBody::Copied(body) },
        websocket: None,
    }
    .request()
}

/// Makes `count` GETs.
pub(crate) fn gets(count: usize) -> Vec<Request> {
    vec![request("GET", b""); count]
}

/// The outcome of a server's bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    /// Neighbouring pieces of a body are joined.
    pub(crate) events: Vec<Event<'static>>,
    pub(crate) end: Result<(), ProtocolError>,
    /// The client's answers, except requests.
    pub(crate) said: Vec<Frame>,
    /// Calls without an end.
    pub(crate) pending: Vec<CallId>,
}

/// Makes a connection on which these requests were sent.
pub(crate) fn connection(options: Options, requests: &[Request]) -> Engine {
    let mut engine = Engine::new(options);
    for (call, request) in (0..).zip(requests) {
        engine.submit(NOW, CallId(call), request.clone()).unwrap();
    }
    flush(&mut engine);
    engine
}

/// Sends all that is due; returns it.
pub(crate) fn flush(engine: &mut Engine) -> Vec<u8> {
    let mut sent = Vec::new();
    loop {
        let wants_write = engine.wants_write();
        let bytes = engine.poll_transmit(NOW).to_vec();
        assert_eq!(wants_write, !bytes.is_empty(), "it wants to write when it has something to write");
        if bytes.is_empty() {
            while engine.poll_sent().is_some() {}
            return sent;
        }
        engine.handle_written(bytes.len());
        sent.extend(bytes);
    }
}

/// Collects events until the parts are used up, or the connection has failed.
pub(crate) fn feed(
    engine: &mut Engine,
    parts: &[&[u8]],
    said: &mut Vec<u8>,
) -> (Vec<Event<'static>>, Result<(), ProtocolError>) {
    let mut events: Vec<Event<'static>> = Vec::new();
    for part in parts {
        let mut input = *part;
        loop {
            match engine.poll_event(NOW, &mut input) {
                Ok(None) => break,
                Ok(Some(event)) => join(&mut events, event),
                Err(error) => {
                    // What comes behind an error is of no interest.
                    assert_eq!(engine.poll_event(NOW, &mut &b"anything"[..]), Ok(None));
                    assert_eq!(engine.capacity(), 0);
                    said.extend(flush(engine));
                    return (events, Err(error));
                }
            }
        }
        assert!(input.is_empty(), "all of the input is used");
        said.extend(flush(engine));
    }
    (events, Ok(()))
}

/// Adds an event; neighbouring pieces of a body are joined.
pub(crate) fn join(events: &mut Vec<Event<'static>>, event: Event<'_>) {
    match (events.last_mut(), event) {
        (Some(Event::ReplyBody { call: before, data: joined }), Event::ReplyBody { call, data })
            if *before == call =>
        {
            joined.to_mut().extend_from_slice(&data);
        }
        (_, event) => events.push(event.into_owned()),
    }
}

/// Plays a server's bytes, and checks that the outcome is the same wherever they are cut. Calls are undone for
/// [`SOME_REASON`].
#[track_caller]
pub(crate) fn play(options: Options, requests: &[Request], bytes: &[u8]) -> Outcome {
    let whole = play_parts(options, requests, &[bytes]);
    for cut in 1..bytes.len() {
        let cut_there = play_parts(options, requests, &[&bytes[..cut], &bytes[cut..]]);
        assert_eq!(cut_there, whole, "cut at byte {cut}");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(play_parts(options, requests, &single), whole, "byte by byte");
    Outcome { events: without_reasons(whole.events), ..whole }
}

/// Any reason why a call is undone: where it matters, the tests of the engine expect it.
const SOME_REASON: Undone = Undone::Rejected("some reason");

/// Replaces the reasons why calls are undone.
pub(crate) fn without_reasons(mut events: Vec<Event<'static>>) -> Vec<Event<'static>> {
    for event in &mut events {
        if let Event::CallFailed { why, .. } | Event::CallReturned { why, .. } = event {
            *why = SOME_REASON;
        }
    }
    events
}

/// As [`play`], cut as it is, with the reasons.
#[track_caller]
pub(crate) fn play_parts(options: Options, requests: &[Request], parts: &[&[u8]]) -> Outcome {
    let mut engine = connection(options, requests);
    let mut said = Vec::new();
    let (events, end) = feed(&mut engine, parts, &mut said);
    let pending: Vec<CallId> = engine.pending().collect();
    check_calls(&events, &pending, requests.len());
    let mut said = frames::all(&said);
    said.retain(|frame| !matches!(frame.kind, kind::DATA | kind::HEADERS | kind::CONTINUATION));
    Outcome { events, end, said, pending }
}

/// Checks that every call ends once, or is still pending, and that nothing is reported of it after its end.
#[track_caller]
pub(crate) fn check_calls(events: &[Event<'static>], pending: &[CallId], count: usize) {
    let mut ended: Vec<u64> = pending.iter().map(|call| call.0).collect();
    for event in events {
        let (call, is_end) = match event {
            Event::ReplyDone { call, .. }
            | Event::CallFailed { call, .. }
            | Event::CallReturned { call, .. } => (call, true),
            Event::ReplyStarted { call, .. }
            | Event::ReplyHead { call, .. }
            | Event::StreamStarted { call, .. }
            | Event::ReplyBody { call, .. }
            | Event::ReplyTrailers { call, .. } => (call, false),
            Event::Draining | Event::Drained => continue,
        };
        let is_pending = pending.contains(call);
        assert!(is_pending && !is_end || !ended.contains(&call.0), "{event:?} behind the end in {events:?}");
        if is_end {
            ended.push(call.0);
        }
    }
    ended.sort_unstable();
    assert_eq!(
        ended,
        (0..count as u64).collect::<Vec<_>>(),
        "all calls have an end, or are pending: {events:?}"
    );
}

pub(crate) fn started(call: u64, status: u16) -> Event<'static> {
    Event::ReplyStarted { call: CallId(call), status }
}

pub(crate) fn head(call: u64, text: &str) -> Event<'static> {
    Event::ReplyHead { call: CallId(call), head: HeaderBlock::new(text.as_bytes()) }
}

pub(crate) fn body(call: u64, data: &[u8]) -> Event<'static> {
    Event::ReplyBody { call: CallId(call), data: data.to_vec().into() }
}

pub(crate) fn done(call: u64, header: u64, content: u64, footer: u64) -> Event<'static> {
    let size = ReplySize { header, content, footer };
    Event::ReplyDone { call: CallId(call), size, reuse: Reuse::Keep }
}

pub(crate) fn last(call: u64, header: u64, content: u64, footer: u64) -> Event<'static> {
    let size = ReplySize { header, content, footer };
    Event::ReplyDone { call: CallId(call), size, reuse: Reuse::Close }
}

pub(crate) fn failed(call: u64) -> Event<'static> {
    Event::CallFailed { call: CallId(call), why: SOME_REASON }
}

pub(crate) fn returned(call: u64) -> Event<'static> {
    Event::CallReturned { call: CallId(call), why: SOME_REASON }
}

pub(crate) fn broken(code: u32, reason: &'static str) -> Result<(), ProtocolError> {
    Err(ProtocolError::Http2(ConnectionError { code: ErrorCode(code), reason }))
}
