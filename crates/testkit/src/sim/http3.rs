//! A peer that speaks HTTP/3 over QUIC.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Range;
use std::rc::Rc;
use std::time::{Duration, Instant};

use httperf_proto::quic::Ecn;
use quinn_proto::ConnectionError;

use super::{Action, Peer, Reception, StreamSeen};
use crate::http2::Reply;
use crate::http3::{CONTROL, Request, code, frame, frames, kind, put_varint};
use crate::quic::{Config, ConnectionHandle, Dir, Happening, Options, Server, StreamId};

/// Action of an [`Http3Peer`], with the delay after the request that caused it.
#[derive(Clone, Debug)]
pub enum Http3Deed {
    /// Answers the request, as far as the client's windows allow, continuing when they open.
    Reply(Duration, Reply),
    /// Answers it piece by piece: the bytes of a piece, and the pause after it.
    Slowly(Duration, Reply, usize, Duration),
    /// Resets the stream with an error code from [`code`].
    Reset(Duration, u32),
    /// Asks the client to send no more of the request.
    StopSending(Duration, u32),
    /// Sends GOAWAY with the first stream that is not answered; `None` for the one after those received.
    GoAway(Duration, Option<u64>),
    /// Sends arbitrary bytes on the request's stream, and ends it if asked to.
    Bytes(Duration, Vec<u8>, bool),
    /// Sends arbitrary bytes on the control stream.
    Control(Duration, Vec<u8>),
    /// Does nothing on this connection for the second duration, starting after the first, not even acknowledge. What
    /// arrives meanwhile is read afterwards.
    Stop(Duration, Duration),
    /// Closes the connection with a code of HTTP/3.
    Close(Duration, u32),
    /// Forgets the connection: what arrives for it is answered by stateless resets.
    Forget(Duration),
    /// Closes the port: what arrives is answered by a message that nobody listens.
    Leave(Duration),
}

impl Http3Deed {
    /// Answers with this reply at once.
    #[must_use]
    pub fn now(reply: Reply) -> Vec<Self> {
        vec![Self::Reply(Duration::ZERO, reply)]
    }

    fn delay(&self) -> Duration {
        match *self {
            Self::Reply(delay, _)
            | Self::Slowly(delay, ..)
            | Self::Reset(delay, _)
            | Self::StopSending(delay, _)
            | Self::GoAway(delay, _)
            | Self::Bytes(delay, ..)
            | Self::Control(delay, _)
            | Self::Stop(delay, _)
            | Self::Close(delay, _)
            | Self::Forget(delay)
            | Self::Leave(delay) => delay,
        }
    }
}

/// What clients did on all connections, for inspection after the run.
#[derive(Clone, Debug, Default)]
pub struct Http3Heard(Rc<RefCell<Hearings>>);

#[derive(Debug, Default)]
struct Hearings {
    requests: u64,
    stopped: Vec<u64>,
    closed: Vec<u64>,
    losses: Vec<ConnectionError>,
}

impl Http3Heard {
    /// The number of requests that have arrived completely.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.0.borrow().requests
    }

    /// Error codes of the replies that the client stopped.
    #[must_use]
    pub fn stopped(&self) -> Vec<u64> {
        self.0.borrow().stopped.clone()
    }

    /// Error codes with which the client ended connections.
    #[must_use]
    pub fn closed(&self) -> Vec<u64> {
        self.0.borrow().closed.clone()
    }

    /// Ends of connections that were not the client's.
    #[must_use]
    pub fn losses(&self) -> Vec<ConnectionError> {
        self.0.borrow().losses.clone()
    }
}

/// Accepts every connection, speaks HTTP/3, and answers every request by a function. It panics if a client's streams
/// break a rule of HTTP/3.
pub struct Http3Peer<F> {
    answer: F,
    config: Config,
    other: Option<Config>,
    epoch: Instant,
    is_eager: bool,
    control: Vec<u8>,
    stands_still: Range<Duration>,
    heard: Http3Heard,
    connections: BTreeMap<usize, Connection>,
}

impl<F: FnMut(&StreamSeen) -> Vec<Http3Deed>> Http3Peer<F> {
    /// Creates a peer that acts on each request as `answer` says.
    pub fn new(answer: F) -> Self {
        Self::with(&Config::new(&Options::new()), answer)
    }

    /// Creates a peer with these settings of QUIC.
    pub fn with(config: &Config, answer: F) -> Self {
        Self {
            answer,
            config: config.clone(),
            other: None,
            epoch: Instant::now(),
            is_eager: false,
            control: CONTROL.to_vec(),
            stands_still: Duration::ZERO..Duration::ZERO,
            heard: Http3Heard::default(),
            connections: BTreeMap::new(),
        }
    }

    /// Calls `answer` as soon as the fields of a request are there, without waiting for its end.
    #[must_use]
    pub fn eager(self) -> Self {
        Self { is_eager: true, ..self }
    }

    /// Serves every second connection with these settings of QUIC, under which no session of the others is known.
    #[must_use]
    pub fn in_turn_with(self, other: &Config) -> Self {
        Self { other: Some(other.clone()), ..self }
    }

    /// Sets the beginning of its control streams, in place of empty settings.
    #[must_use]
    pub fn beginning(self, control: &[u8]) -> Self {
        Self { control: control.to_vec(), ..self }
    }

    /// Lets it do nothing at all in this time, as if stopped by a signal.
    #[must_use]
    pub fn standing_still(self, time: Range<Duration>) -> Self {
        Self { stands_still: time, ..self }
    }

    /// What is heard from now on.
    #[must_use]
    pub fn heard(&self) -> Http3Heard {
        self.heard.clone()
    }

    /// Uses what has arrived on a connection, does what is due, and schedules the next wake-up.
    fn turn(&mut self, number: usize, at: Duration) -> Vec<Action> {
        let Some(connection) = self.connections.get_mut(&number) else { return Vec::new() };
        if self.stands_still.contains(&at) {
            connection.silent_until = connection.silent_until.max(self.stands_still.end);
        }
        if at < connection.silent_until {
            return connection.wake_at(at, connection.silent_until).into_iter().collect();
        }
        for (datagram, ecn) in std::mem::take(&mut connection.unread) {
            connection.server.handle_marked(at, connection.from, &datagram, ecn);
        }
        connection.server.handle_timeout(at);
        for request in connection.listen(number, at, self.is_eager, &self.control, &self.heard) {
            let id = stream_id(request.stream);
            for deed in (self.answer)(&request) {
                connection.plan(at, id, deed);
            }
        }
        connection.act(at)
    }
}

impl<F> std::fmt::Debug for Http3Peer<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Http3Peer").field("connections", &self.connections.len()).finish_non_exhaustive()
    }
}

impl<F: FnMut(&StreamSeen) -> Vec<Http3Deed>> Peer for Http3Peer<F> {
    fn accept(&mut self, _: usize, _: Duration) -> Reception {
        Reception::Accept
    }

    /// Ignores bytes of streams: nobody has a stream with it.
    fn receive(&mut self, _: usize, _: Duration, _: &[u8]) -> Vec<Action> {
        Vec::new()
    }

    fn receive_datagram(
        &mut self,
        number: usize,
        at: Duration,
        datagram: &[u8],
        ecn: Option<Ecn>,
    ) -> Vec<Action> {
        let config = self.other.as_ref().filter(|_| number % 2 == 1).unwrap_or(&self.config);
        let connection =
            self.connections.entry(number).or_insert_with(|| Connection::new(config, number, self.epoch));
        connection.unread.push((datagram.to_vec(), ecn));
        self.turn(number, at)
    }

    fn wake(&mut self, number: usize, at: Duration) -> Vec<Action> {
        if let Some(connection) = self.connections.get_mut(&number)
            && connection.woken_at == Some(at)
        {
            connection.woken_at = None;
        }
        self.turn(number, at)
    }
}

/// One connection, with a server of its own.
#[derive(Debug)]
struct Connection {
    server: Server,
    from: SocketAddr,
    handle: Option<ConnectionHandle>,
    /// Datagrams that have arrived and were not used.
    unread: Vec<(Vec<u8>, Option<Ecn>)>,
    /// Requests that were not handed to the function.
    requests: BTreeMap<StreamId, Request>,
    /// Requests so far.
    request_count: usize,
    /// What has arrived on the client's own streams.
    own: BTreeMap<StreamId, Vec<u8>>,
    control: Option<StreamId>,
    /// Scheduled actions in order, with their streams.
    due: BTreeMap<(Duration, u64), (StreamId, Http3Deed)>,
    due_count: u64,
    /// Bytes that streams did not take, each with whether the stream ends after them.
    unsent: BTreeMap<StreamId, (Vec<u8>, bool)>,
    /// The instant of the next wake-up that was asked for.
    woken_at: Option<Duration>,
    /// End of the current silence.
    silent_until: Duration,
    /// The first stream that is not answered, once that was said.
    last_stream: Option<u64>,
}

/// The least time until a wake-up: two turns in the same instant do the same.
const TICK: Duration = Duration::from_nanos(1);

impl Connection {
    fn new(config: &Config, number: usize, epoch: Instant) -> Self {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&(number as u64).to_le_bytes());
        let port = 1024 + (number % 60_000) as u16;
        Self {
            server: Server::with(config, Some(seed), epoch),
            from: SocketAddr::from(([192, 0, 2, 2], port)),
            handle: None,
            unread: Vec::new(),
            requests: BTreeMap::new(),
            request_count: 0,
            own: BTreeMap::new(),
            control: None,
            due: BTreeMap::new(),
            due_count: 0,
            unsent: BTreeMap::new(),
            woken_at: None,
            silent_until: Duration::ZERO,
            last_stream: None,
        }
    }

    /// Takes what the client did; returns the requests that should be answered.
    fn listen(
        &mut self,
        connection: usize,
        at: Duration,
        is_eager: bool,
        control: &[u8],
        heard: &Http3Heard,
    ) -> Vec<StreamSeen> {
        let mut heard = heard.0.borrow_mut();
        let mut complete = Vec::new();
        for (handle, happening) in self.server.happenings() {
            self.handle = Some(handle);
            match happening {
                Happening::Connected => {
                    self.control = self.server.try_open(handle);
                    self.tell(control);
                }
                Happening::Opened(id) | Happening::Readable(id) => {
                    let (bytes, is_end) = self.server.read(handle, id);
                    if id.dir() == Dir::Uni {
                        let own = self.own.entry(id).or_default();
                        own.extend(bytes);
                        check_own(own);
                        continue;
                    }
                    let Some(request) = self.request(id) else { continue };
                    request.handle_bytes(&bytes);
                    let is_there = request.fields.is_some();
                    if is_end {
                        request.handle_end();
                        heard.requests += 1;
                    }
                    if is_end || is_eager && is_there {
                        complete.push(id);
                    }
                }
                Happening::Stopped(id, code) => {
                    heard.stopped.push(code);
                    self.unsent.remove(&id);
                }
                Happening::Lost(ConnectionError::ApplicationClosed(close)) => {
                    heard.closed.push(close.error_code.into());
                }
                Happening::Lost(reason) => heard.losses.push(reason),
            }
        }
        let seen = complete.into_iter().filter_map(|id| self.seen(connection, at, id));
        seen.collect()
    }

    /// The request on a stream, if it was not handed to the function before.
    fn request(&mut self, id: StreamId) -> Option<&mut Request> {
        let place = usize::try_from(id.index()).expect("there are few streams");
        while self.request_count <= place {
            let id = StreamId::new(quinn_proto::Side::Client, Dir::Bi, self.request_count as u64);
            self.requests.insert(id, Request::default());
            self.request_count += 1;
        }
        self.requests.get_mut(&id)
    }

    fn seen(&mut self, connection: usize, at: Duration, id: StreamId) -> Option<StreamSeen> {
        let Request { fields, body, .. } = self.requests.remove(&id)?;
        let number = u64::from(quinn_proto::VarInt::from(id));
        if self.last_stream.is_some_and(|last| number >= last) {
            self.plan(at, id, Http3Deed::Reset(Duration::ZERO, code::REQUEST_REJECTED));
            return None;
        }
        Some(StreamSeen {
            connection,
            stream: u32::try_from(number).expect("there are few streams"),
            index: usize::try_from(id.index()).expect("there are few streams"),
            at,
            fields: fields?,
            body,
        })
    }

    fn plan(&mut self, at: Duration, id: StreamId, deed: Http3Deed) {
        self.due.insert((at + deed.delay(), self.due_count), (id, deed));
        self.due_count += 1;
    }

    /// Does what is due, and returns the datagrams that came of it and the wake-up that is needed.
    fn act(&mut self, at: Duration) -> Vec<Action> {
        let mut actions = Vec::new();
        while at >= self.silent_until
            && let Some(entry) = self.due.first_entry()
            && entry.key().0 <= at
        {
            let (id, deed) = entry.remove();
            if matches!(deed, Http3Deed::Leave(_) | Http3Deed::Stop(..) | Http3Deed::Forget(_)) {
                // What is to be said before is said.
                self.transmit(at, &mut actions);
            }
            match deed {
                Http3Deed::Reply(_, reply) => self.send(id, &frames(&reply), true),
                Http3Deed::Slowly(_, reply, piece, pause) => {
                    let bytes = frames(&reply);
                    let pieces = bytes.chunks(piece.max(1));
                    let last = pieces.len() - 1;
                    for (place, piece) in pieces.enumerate() {
                        let wait = pause * u32::try_from(place).expect("there are few pieces");
                        self.plan(at, id, Http3Deed::Bytes(wait, piece.to_vec(), place == last));
                    }
                }
                Http3Deed::Bytes(_, bytes, is_end) => self.send(id, &bytes, is_end),
                Http3Deed::Control(_, bytes) => self.tell(&bytes),
                Http3Deed::GoAway(_, last) => {
                    let last = last.unwrap_or(self.request_count as u64 * 4);
                    self.last_stream = Some(last);
                    let mut payload = Vec::new();
                    put_varint(last, &mut payload);
                    self.tell(&frame(kind::GOAWAY, &payload));
                }
                Http3Deed::Reset(_, code) => {
                    self.unsent.remove(&id);
                    if let Some(handle) = self.handle {
                        self.server.reset(handle, id, code);
                    }
                }
                Http3Deed::StopSending(_, code) => {
                    if let Some(handle) = self.handle {
                        self.server.stop(handle, id, code);
                    }
                }
                Http3Deed::Stop(_, time) => self.silent_until = at.saturating_add(time),
                Http3Deed::Close(_, code) => {
                    if let Some(handle) = self.handle {
                        self.server.close(at, handle, code, b"");
                    }
                }
                Http3Deed::Forget(_) => self.server.start_again(),
                Http3Deed::Leave(_) => actions.push(Action::Close(Duration::ZERO)),
            }
        }
        if at >= self.silent_until {
            self.go_on();
            self.transmit(at, &mut actions);
        }
        let due = self.due.first_key_value().map(|(&(due, _), _)| due);
        let next = self.server.poll_timeout().into_iter().chain(due).min();
        let wake = next.and_then(|next| self.wake_at(at, next.max(self.silent_until)));
        actions.extend(wake);
        actions
    }

    /// Requests a wake-up, unless there will be one before.
    fn wake_at(&mut self, at: Duration, next: Duration) -> Option<Action> {
        let next = next.max(at + TICK);
        if next == Duration::MAX || self.woken_at.is_some_and(|woken| woken <= next) {
            return None;
        }
        self.woken_at = Some(next);
        Some(Action::Wake(next - at))
    }

    fn transmit(&mut self, at: Duration, actions: &mut Vec<Action>) {
        while let Some((_, datagram, ecn)) = self.server.poll_marked(at) {
            actions.push(Action::Datagram(Duration::ZERO, datagram, ecn));
        }
    }

    /// Sends bytes on the control stream, if there is one.
    fn tell(&mut self, bytes: &[u8]) {
        if let Some(id) = self.control {
            self.send(id, bytes, false);
        }
    }

    /// Sends bytes on a stream, behind those that it did not take.
    fn send(&mut self, id: StreamId, bytes: &[u8], end: bool) {
        let (unsent, is_end) = self.unsent.entry(id).or_default();
        unsent.extend_from_slice(bytes);
        *is_end |= end;
    }

    /// Sends what streams take.
    fn go_on(&mut self) {
        let Some(handle) = self.handle.filter(|&handle| self.server.has(handle)) else {
            self.unsent.clear();
            return;
        };
        let server = &mut self.server;
        self.unsent.retain(|&id, (bytes, is_end)| {
            let written = server.write(handle, id, bytes, *is_end);
            bytes.drain(..written);
            !bytes.is_empty()
        });
    }
}

fn stream_id(number: u32) -> StreamId {
    StreamId::new(quinn_proto::Side::Client, Dir::Bi, u64::from(number / 4))
}

/// Checks what a client sent so far on a stream of its own: its control stream begins with SETTINGS, and the only other
/// one is that of its decoder.
fn check_own(bytes: &[u8]) {
    match bytes {
        [] | [0] | [0, 4, ..] | [3, ..] => {}
        _ => panic!("a client's own stream does not begin with {bytes:?}"),
    }
}
