//! Replies over HTTP/2: the same events wherever the bytes are cut, and no call lost.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use httperf_proto::http2::{Engine, Limits, Options};
use httperf_proto::request::{RequestBody, RequestParts};
use httperf_proto::{CallId, Event, ProtocolError, ReplyLimits};

use crate::http2::frames::{self, Frame, kind};

/// The size of the header of input for [`check_replies`]: options of the connection (1 byte), number of bytes that come
/// before the second half of its calls is made (2), and place at which the bytes are cut (1).
pub const REPLIES_HEADER_SIZE: usize = 4;

/// Feeds bytes to a connection with some calls, whole, cut, byte by byte, and with as much of the content skipped as
/// possible, each followed by the end of the connection. The first [`REPLIES_HEADER_SIZE`] bytes of the input say how.
///
/// # Panics
/// If the events, the frames sent or the end differ; if a call is lost or ends twice; or if the engine wants to write
/// and has nothing to write.
pub fn check_replies(input: &[u8]) {
    let Some((&[kind, first, second, third], bytes)) = input.split_first_chunk() else { return };
    let middle = usize::from(u16::from_be_bytes([first, second])).min(bytes.len());
    let (before, after) = bytes.split_at(middle);
    let whole = play(kind, [&[before], &[after]]);
    let cut = |bytes: &[u8]| usize::from(third) * bytes.len() / 255;
    let halves = [before.split_at(cut(before)), after.split_at(cut(after))];
    let [halves_before, halves_after] = halves.map(|(left, right)| [left, right]);
    assert_eq!(whole, play(kind, [&halves_before, &halves_after]), "cut in parts");
    let single = |bytes| <[u8]>::chunks(bytes, 1).collect::<Vec<_>>();
    assert_eq!(whole, play(kind, [&single(before), &single(after)]), "byte by byte");
    assert_eq!(without_bodies(whole), play_skipping(kind, [before, after]), "content skipped");
}

/// The events of a stream of bytes, its end, and the frames that the peer was sent, except requests.
#[derive(Clone, Debug, PartialEq)]
struct Outcome {
    events: Vec<Event<'static>>,
    end: Result<(), ProtocolError>,
    told: Vec<Frame>,
}

fn play(kind: u8, halves: [&[&[u8]]; 2]) -> Outcome {
    let mut game = Game::new(kind, true);
    for parts in halves {
        game.make_calls();
        for part in parts {
            game.take(part);
        }
        game.flush();
    }
    game.end()
}

/// As [`play`], with content skipped.
fn play_skipping(kind: u8, halves: [&[u8]; 2]) -> Outcome {
    let mut game = Game::new(kind, false);
    for mut bytes in halves {
        game.make_calls();
        while !bytes.is_empty() {
            let (part, rest) = bytes.split_at(bytes.len().min(11));
            game.take(part);
            let skippable =
                usize::try_from(game.engine.skippable()).map_or(rest.len(), |size| size.min(rest.len()));
            game.engine.handle_skipped(skippable as u64);
            game.take(b"");
            bytes = &rest[skippable..];
        }
        game.flush();
    }
    without_bodies(game.end())
}

fn without_bodies(mut outcome: Outcome) -> Outcome {
    outcome.events.retain(|event| !matches!(event, Event::ReplyBody { .. }));
    outcome
}

struct Game {
    engine: Engine,
    calls: u64,
    body_size: usize,
    outcome: Outcome,
    sent: Vec<u8>,
}

impl Game {
    fn new(kind: u8, bodies: bool) -> Self {
        let small = kind & 1 != 0;
        let options = Options {
            streams: if kind & 2 == 0 { usize::MAX } else { 2 },
            window: if small { 100 } else { 1 << 20 },
            header_table: if small { 64 } else { 4096 },
            header_blocks: true,
            bodies,
            server_timing: kind & 4 != 0,
            alt_svc: kind & 4 != 0,
            limits: Limits {
                reply: ReplyLimits { head_size: 512, fields: 12, chunk_line_size: 32, interim_replies: 3 },
                continuations: 4,
                idle_frames: 30,
                resets: 3,
            },
            ..Options::default()
        };
        let outcome = Outcome { events: Vec::new(), end: Ok(()), told: Vec::new() };
        // The larger ones fill the window of the connection.
        let body_size = if kind & 8 == 0 { 300 } else { 35_000 };
        Self { engine: Engine::new(options), calls: 0, body_size, outcome, sent: Vec::new() }
    }

    /// Makes as many calls as there is room for: without a body, HEAD, and with a body.
    fn make_calls(&mut self) {
        for place in 0..3 {
            let head = place == 1;
            let body: Rc<Arc<[u8]>> = Rc::new(vec![b'x'; self.body_size].into());
            let parts = RequestParts {
                method: if head { b"HEAD" } else { b"POST" },
                body: if place == 2 { RequestBody::Shared(&body) } else { RequestBody::None },
                ..RequestParts::to(b"/")
            };
            let request = parts.request();
            if self.engine.submit(Duration::ZERO, CallId(self.calls), request).is_ok() {
                self.calls += 1;
            }
        }
        self.flush();
    }

    /// Sends all that is due.
    fn flush(&mut self) {
        loop {
            let wants_write = self.engine.wants_write();
            let bytes = self.engine.poll_transmit(Duration::ZERO);
            assert_eq!(wants_write, !bytes.is_empty());
            if bytes.is_empty() {
                break;
            }
            self.sent.extend_from_slice(bytes);
            let count = bytes.len();
            self.engine.handle_written(count);
            while self.engine.poll_sent().is_some() {}
            while self.engine.poll_stall().is_some() {}
        }
    }

    /// Collects events; neighbouring pieces of a body are joined, as their division means nothing.
    fn take(&mut self, mut input: &[u8]) {
        if self.outcome.end.is_err() {
            return;
        }
        let events = &mut self.outcome.events;
        loop {
            match self.engine.poll_event(Duration::ZERO, &mut input) {
                Ok(None) => break,
                Ok(Some(Event::ReplyBody { call, data })) => match events.last_mut() {
                    Some(Event::ReplyBody { call: before, data: joined }) if *before == call => {
                        joined.to_mut().extend_from_slice(&data);
                    }
                    _ => events.push(Event::ReplyBody { call, data }.into_owned()),
                },
                Ok(Some(event)) => events.push(event.into_owned()),
                Err(error) => {
                    self.outcome.end = Err(error);
                    return;
                }
            }
        }
        assert!(input.is_empty(), "poll_event returns None only when it used all input");
    }

    fn end(mut self) -> Outcome {
        let pending: Vec<u64> = self.engine.pending().map(|call| call.0).collect();
        let ended = self.outcome.events.iter().filter_map(|event| match event {
            Event::ReplyDone { call, .. }
            | Event::CallFailed { call, .. }
            | Event::CallReturned { call, .. } => Some(call.0),
            _ => None,
        });
        let mut calls: Vec<u64> = ended.chain(pending).collect();
        calls.sort_unstable();
        assert_eq!(calls, (0..self.calls).collect::<Vec<_>>(), "every call has one end, or is pending");
        if self.outcome.end.is_ok() {
            self.outcome.end = self.engine.handle_eof();
        }
        assert_eq!(self.engine.capacity(), 0);
        self.outcome.told = told(&self.sent);
        self.outcome
    }
}

/// The frames that were sent, except those of requests, whose order depends on when there was a turn for them.
fn told(sent: &[u8]) -> Vec<Frame> {
    let mut told = frames::all(sent);
    told.retain(|frame| !matches!(frame.kind, kind::DATA | kind::HEADERS | kind::CONTINUATION));
    told
}
