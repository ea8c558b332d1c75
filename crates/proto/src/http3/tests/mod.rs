//! HTTP/3 against a server whose every byte the test writes.

mod calls;
mod replies;
mod violations;

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use httperf_testkit::quic::{self as peer, ConnectionHandle, Happening};
use quinn_proto::ConnectionError as Lost;

use super::qpack::{begin_section, encode_field};
use super::*;
use crate::quic::{self, Context, Ticket};
use crate::request::{Request, RequestBody, RequestParts};
use crate::tls::{self, Progress};
use crate::{CallId, Event, HeaderBlock, ProtocolError, ReplyLimits, ReplySize, Reuse, Sent, Stall, Undone};

const MS: Duration = Duration::from_millis(1);

/// The usual server. Its certificate is made once.
static SERVER: LazyLock<peer::Options> = LazyLock::new(peer::Options::new);

/// An engine and a server, a millisecond apart.
struct Pair {
    engine: Engine,
    server: peer::Server,
    handle: ConnectionHandle,
    now: Duration,
    /// What the server has read of each of the client's streams, and whether it was all.
    asked: Vec<(peer::StreamId, Vec<u8>, bool)>,
    /// The streams that the server was asked to send no more of, each with the code.
    stopped: Vec<(peer::StreamId, u64)>,
    /// The code with which the client closed the connection.
    told: Option<u64>,
    /// The server's own streams.
    own: Vec<peer::StreamId>,
    progress: Vec<Progress>,
    events: Vec<Event<'static>>,
    /// The reasons of calls without a reply, in the order of `events`.
    whys: Vec<Undone>,
    error: Option<ProtocolError>,
    sent: Vec<Sent>,
    stalls: Vec<Stall>,
    tickets: Vec<Ticket>,
}

fn address() -> SocketAddr {
    "192.0.2.1:443".parse().unwrap()
}

fn context(epoch: Instant) -> Context {
    let tls = tls::Options {
        alpn: vec![b"h3".to_vec()],
        sessions: true,
        early_data: true,
        ..tls::Options::default()
    };
    Context::new(&quic::Options::default(), &tls, epoch).unwrap()
}

impl Pair {
    fn new(options: Options) -> Self {
        Self::with(&SERVER, options)
    }

    fn with(server: &peer::Options, options: Options) -> Self {
        let epoch = Instant::now();
        let mut pair = Self::begin(peer::Server::new(server, epoch), &context(epoch), None, options);
        pair.settle();
        assert_eq!(pair.progress, [Progress::Done]);
        pair
    }

    /// Begins a connection; nothing is sent yet.
    fn begin(server: peer::Server, context: &Context, ticket: Option<Ticket>, options: Options) -> Self {
        let now = Duration::from_secs(1);
        let quic = context.connect(now, address(), Some("server"), [7; 32], ticket).unwrap();
        Self {
            engine: Engine::new(quic, options),
            server,
            handle: ConnectionHandle(0),
            now,
            asked: Vec::new(),
            stopped: Vec::new(),
            told: None,
            own: Vec::new(),
            progress: Vec::new(),
            events: Vec::new(),
            whys: Vec::new(),
            error: None,
            sent: Vec::new(),
            stalls: Vec::new(),
            tickets: Vec::new(),
        }
    }

    /// Lets datagrams go both ways once, and hears what came of it.
    fn turn(&mut self) {
        if self.engine.poll_timeout().is_some_and(|timer| timer <= self.now) {
            self.engine.handle_timeout(self.now);
        }
        self.server.handle_timeout(self.now);
        let mut out = Vec::new();
        while let Some(sent) = self.engine.poll_datagrams(self.now, 10, &mut out) {
            for datagram in out.chunks(sent.segment) {
                self.server.handle(self.now + MS, "192.0.2.2:5000".parse().unwrap(), datagram);
            }
            out.clear();
        }
        self.sent.extend(std::iter::from_fn(|| self.engine.poll_sent()));
        self.now += MS;
        self.listen();
        while let Some((_, datagram)) = self.server.poll_transmit(self.now) {
            let size = datagram.len();
            let bytes = BytesMut::from(&datagram[..]);
            self.tickets.extend(self.engine.handle_datagrams(self.now + MS, bytes, size, None));
        }
        self.now += MS;
        self.progress.extend(std::iter::from_fn(|| self.engine.poll_progress(self.now)));
        self.hear();
    }

    /// Takes what the client told the server.
    fn listen(&mut self) {
        for (handle, happening) in self.server.happenings() {
            self.handle = handle;
            match happening {
                Happening::Opened(id) | Happening::Readable(id) => {
                    let (bytes, is_end) = self.server.read(handle, id);
                    match self.asked.iter_mut().find(|(its, ..)| *its == id) {
                        Some((_, asked, was_end)) => {
                            asked.extend(bytes);
                            *was_end |= is_end;
                        }
                        None => self.asked.push((id, bytes, is_end)),
                    }
                }
                Happening::Stopped(id, code) => self.stopped.push((id, code)),
                Happening::Lost(Lost::ApplicationClosed(close)) => self.told = Some(close.error_code.into()),
                Happening::Lost(_) | Happening::Connected => {}
            }
        }
    }

    /// Takes what the engine reports. Neighbouring parts of a body are joined.
    fn hear(&mut self) {
        while self.error.is_none() {
            match self.engine.poll_event(self.now) {
                Ok(None) => break,
                Ok(Some(event)) => match (self.events.last_mut(), event) {
                    (
                        Some(Event::ReplyBody { call: before, data: joined }),
                        Event::ReplyBody { call, data },
                    ) if *before == call => joined.to_mut().extend_from_slice(&data),
                    (_, mut event) => {
                        if let Event::CallReturned { why, .. } | Event::CallFailed { why, .. } = &mut event {
                            self.whys.push(std::mem::replace(why, ANY));
                        }
                        self.events.push(event);
                    }
                },
                Err(error) => self.error = Some(error),
            }
        }
        self.stalls.extend(std::iter::from_fn(|| self.engine.poll_stall()));
    }

    /// Lets all that is to be said be said.
    fn settle(&mut self) {
        (0..8).for_each(|_| self.turn());
    }

    fn submit(&mut self, call: u64, request: Request) {
        self.engine.submit(self.now, CallId(call), request).unwrap();
    }

    /// Makes these requests, and lets the server hear of them.
    fn make(&mut self, requests: &[Request]) {
        (0..).zip(requests).for_each(|(call, request)| self.submit(call, request.clone()));
        self.settle();
    }

    /// The stream of the request with this place.
    fn stream(&self, place: usize) -> peer::StreamId {
        peer::StreamId::new(quinn_proto::Side::Client, peer::Dir::Bi, place as u64)
    }

    /// The bytes of the request with this place, and whether they are all.
    fn request(&self, place: usize) -> Option<(&[u8], bool)> {
        let id = self.stream(place);
        self.asked.iter().find(|(its, ..)| *its == id).map(|(_, bytes, end)| (&bytes[..], *end))
    }

    fn answer(&mut self, place: usize, bytes: &[u8], end: bool) {
        let (handle, id) = (self.handle, self.stream(place));
        assert_eq!(self.server.write(handle, id, bytes, end), bytes.len());
    }

    /// Writes to the server's own stream with this place, which is opened if it is the next.
    fn tell(&mut self, place: usize, bytes: &[u8]) {
        if place == self.own.len() {
            self.own.push(self.server.open(self.handle));
        }
        self.server.write(self.handle, self.own[place], bytes, false);
    }

    /// Takes the events so far.
    fn events(&mut self) -> Vec<Event<'static>> {
        std::mem::take(&mut self.events)
    }

    /// Does a step of a server, cut as told.
    fn step(&mut self, step: &Step, cut: &Cut) {
        match step {
            Step::Reply(place, bytes) => {
                let id = self.stream(*place);
                self.write(bytes, cut, |pair, piece| {
                    pair.server.write(pair.handle, id, piece, false);
                });
            }
            Step::End(place) => {
                self.server.write(self.handle, self.stream(*place), b"", true);
            }
            Step::Own(place, bytes) => self.write(bytes, cut, |pair, piece| pair.tell(*place, piece)),
            Step::EndOwn(place) => {
                self.server.write(self.handle, self.own[*place], b"", true);
            }
            Step::Reset(place, code) => self.server.reset(self.handle, self.stream(*place), *code),
            Step::ResetOwn(place) => self.server.reset(self.handle, self.own[*place], 0x102),
            Step::Stop(place, code) => self.server.stop(self.handle, self.stream(*place), *code),
            Step::StopControl => {
                let id = self.asked.iter().find(|(_, bytes, _)| bytes.first() == Some(&0)).unwrap().0;
                self.server.stop(self.handle, id, 0x100);
            }
        }
    }

    /// Writes all but the last piece in datagrams of their own.
    fn write(&mut self, bytes: &[u8], cut: &Cut, write: impl Fn(&mut Self, &[u8])) {
        let mut rest = bytes;
        let sizes: &[usize] = match cut {
            Cut::Whole => &[usize::MAX],
            Cut::Bytes => &[1],
            Cut::Pieces(sizes) => sizes,
        };
        for &size in sizes.iter().cycle() {
            let (piece, after) = rest.split_at(size.min(rest.len()));
            if self.error.is_none() && self.told.is_none() {
                write(self, piece);
            }
            rest = after;
            if rest.is_empty() {
                break;
            }
            self.turn();
        }
    }
}

/// Something that a server does.
#[derive(Clone, Debug)]
enum Step {
    /// Bytes on the stream of the request with this place.
    Reply(usize, Vec<u8>),
    /// The end of that stream.
    End(usize),
    /// Bytes on the server's own stream with this place.
    Own(usize, Vec<u8>),
    EndOwn(usize),
    /// The stream of a request is given up, with this code.
    Reset(usize, u32),
    ResetOwn(usize),
    /// No more of a request is wanted.
    Stop(usize, u32),
    /// No more of our control stream is wanted.
    StopControl,
}

/// The way in which a server's bytes are cut.
#[derive(Clone, Debug)]
enum Cut {
    /// Not at all.
    Whole,
    /// Each byte has a datagram of its own.
    Bytes,
    /// Pieces of these sizes, again and again.
    Pieces(Vec<usize>),
}

/// What a script led to.
#[derive(Debug, PartialEq)]
struct Outcome {
    events: Vec<Event<'static>>,
    error: Option<ProtocolError>,
    /// The code with which the connection was closed.
    told: Option<u64>,
    /// Streams of requests that were stopped, by place, each with the code.
    stopped: Vec<(u64, u64)>,
}

/// Limits that are soon reached.
fn narrow() -> Options {
    let reply = ReplyLimits { head_size: 400, fields: 5, interim_replies: 2, ..ReplyLimits::default() };
    let limits = Limits {
        reply,
        control_frame: 600,
        blocked_streams: 1,
        idle_frames: 20,
        resets: 3,
        unknown_streams: 2,
    };
    Options { bodies: true, header_blocks: true, limits, ..Options::default() }
}

/// Makes requests of a server that does these steps.
fn run(requests: &[Request], steps: &[Step], cut: &Cut) -> (Outcome, Pair) {
    let mut pair = Pair::new(narrow());
    pair.make(requests);
    for (place, step) in steps.iter().enumerate() {
        if pair.error.is_some() {
            break;
        }
        pair.step(step, cut);
        // The end goes with the last bytes.
        if !matches!(steps.get(place + 1), Some(Step::End(_))) {
            (0..3).for_each(|_| pair.turn());
        }
    }
    pair.settle();
    // A datagram has them in an order that means nothing.
    let stopped = pair.stopped.iter().filter(|(id, _)| id.dir() == peer::Dir::Bi);
    let mut stopped: Vec<_> = stopped.map(|(id, code)| (id.index(), *code)).collect();
    stopped.sort_unstable();
    let outcome = Outcome {
        events: std::mem::take(&mut pair.events),
        error: pair.error.clone(),
        told: pair.told,
        stopped,
    };
    (outcome, pair)
}

fn request(method: &str, body: &[u8]) -> Request {
    RequestParts {
        method: method.as_bytes(),
        host: Some("server"),
        body: if body.is_empty() { RequestBody::None } else { RequestBody::Copied(body) },
        ..RequestParts::to(b"/")
    }
    .request()
}

fn get() -> Request {
    request("GET", b"")
}

fn gets(count: usize) -> Vec<Request> {
    vec![get(); count]
}

fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    crate::varint::write(kind, &mut bytes);
    crate::varint::write(payload.len() as u64, &mut bytes);
    [&bytes, payload].concat()
}

/// A HEADERS frame.
fn head(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut section = Vec::new();
    begin_section(&mut section);
    for (name, value) in fields {
        encode_field(name.as_bytes(), value.as_bytes(), &mut section);
    }
    frame(1, &section)
}

fn data(content: &[u8]) -> Vec<u8> {
    frame(0, content)
}

/// A HEADERS frame with this status and nothing else.
fn status(status: &str) -> Vec<u8> {
    head(&[(":status", status)])
}

fn ok() -> Vec<u8> {
    status("200")
}

/// Bytes on the stream of the first request.
fn says(parts: &[&[u8]]) -> Step {
    Step::Reply(0, parts.concat())
}

/// Bytes on the server's first stream.
fn own(parts: &[&[u8]]) -> Step {
    Step::Own(0, parts.concat())
}

/// The beginning of a control stream: its type, and empty SETTINGS.
const CONTROL: &[u8] = &[0x00, 0x04, 0x00];

fn started(call: u64, status: u16) -> Event<'static> {
    Event::ReplyStarted { call: CallId(call), status }
}

fn block(call: u64, text: &str) -> Event<'static> {
    Event::ReplyHead { call: CallId(call), head: HeaderBlock::new(text.as_bytes()) }
}

fn body(call: u64, bytes: &[u8]) -> Event<'static> {
    Event::ReplyBody { call: CallId(call), data: Cow::Owned(bytes.to_vec()) }
}

fn done(call: u64, header: u64, content: u64, footer: u64) -> Event<'static> {
    let size = ReplySize { header, content, footer };
    Event::ReplyDone { call: CallId(call), size, reuse: Reuse::Keep }
}

/// As [`done`], on a connection that is of no further use.
fn done_last(call: u64, header: u64, content: u64) -> Event<'static> {
    let size = ReplySize { header, content, footer: 0 };
    Event::ReplyDone { call: CallId(call), size, reuse: Reuse::Close }
}

/// Stands for any reason in events, which are compared without.
const ANY: Undone = Undone::Rejected("any");

fn failed(call: u64) -> Event<'static> {
    Event::CallFailed { call: CallId(call), why: ANY }
}

fn returned(call: u64) -> Event<'static> {
    Event::CallReturned { call: CallId(call), why: ANY }
}

/// The size of the header block of a reply with a status alone, in HTTP/1's form.
const BARE: u64 = "HTTP/3 200\r\n\r\n".len() as u64;

/// The header block of a reply with a status alone.
fn bare(call: u64, status: u16) -> [Event<'static>; 2] {
    [started(call, status), block(call, &format!("HTTP/3 {status}\r\n\r\n"))]
}
