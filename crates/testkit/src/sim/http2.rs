//! A peer that speaks HTTP/2.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use super::{Action, Peer, Reception};
use crate::http2::{Fields, Incoming, Reply, Server};

/// A request received by an [`Http2Peer`] or an [`Http3Peer`](super::Http3Peer).
#[derive(Clone, Debug)]
pub struct StreamSeen {
    /// Number of its connection, from 0.
    pub connection: usize,
    /// Stream identifier.
    pub stream: u32,
    /// Number of earlier requests on that connection.
    pub index: usize,
    /// Time at which it was complete; of an eager peer, time of its header block.
    pub at: Duration,
    /// Fields, pseudo-header fields first.
    pub fields: Fields,
    /// Body; of an eager peer, what had come of it with the header block.
    pub body: Vec<u8>,
}

impl StreamSeen {
    /// Value of the first field with this name; empty if there is none.
    #[must_use]
    pub fn field(&self, name: &str) -> &str {
        self.fields.iter().find(|(its, _)| its == name).map_or("", |(_, value)| value)
    }

    /// Method.
    #[must_use]
    pub fn method(&self) -> &str {
        self.field(":method")
    }

    /// Request target.
    #[must_use]
    pub fn uri(&self) -> &str {
        self.field(":path")
    }
}

/// Action of an [`Http2Peer`], with the delay after the request that caused it.
#[derive(Clone, Debug)]
pub enum Deed {
    /// Answers the request, as far as the client's windows allow, continuing when they open.
    Reply(Duration, Reply),
    /// Resets the stream with an error code from [`code`](crate::http2::code).
    Reset(Duration, u32),
    /// Sends GOAWAY with the last stream answered, `None` for the last received, and an error code.
    GoAway(Duration, Option<u32>, u32),
    /// Changes settings.
    Settings(Duration, Vec<(u16, u32)>),
    /// Sends PING.
    Ping(Duration),
    /// Increases the client's window on a stream, or on the connection (0).
    Grant(Duration, u32, u32),
    /// Sends arbitrary bytes.
    Bytes(Duration, Vec<u8>),
    /// Sends nothing on this connection for the second duration, starting after the first, not even
    /// acknowledgements. Delayed frames are sent afterwards.
    Stop(Duration, Duration),
    /// Closes the connection.
    Close(Duration),
    /// Resets the connection.
    Abort(Duration),
}

impl Deed {
    /// Answers with this reply at once.
    #[must_use]
    pub fn now(reply: Reply) -> Vec<Self> {
        vec![Self::Reply(Duration::ZERO, reply)]
    }

    fn delay(&self) -> Duration {
        match *self {
            Self::Reply(delay, _)
            | Self::Reset(delay, _)
            | Self::GoAway(delay, ..)
            | Self::Settings(delay, _)
            | Self::Ping(delay)
            | Self::Grant(delay, ..)
            | Self::Bytes(delay, _)
            | Self::Stop(delay, _)
            | Self::Close(delay)
            | Self::Abort(delay) => delay,
        }
    }
}

/// Frames received on all connections, for inspection after the run.
#[derive(Clone, Debug, Default)]
pub struct Heard(Rc<RefCell<Vec<(usize, Duration, Incoming)>>>);

impl Heard {
    /// All frames in order: connection, time, frame.
    #[must_use]
    pub fn all(&self) -> Vec<(usize, Duration, Incoming)> {
        self.0.borrow().clone()
    }

    /// Error codes of the streams reset by the client.
    #[must_use]
    pub fn resets(&self) -> Vec<u32> {
        let code = |(_, _, what): &(usize, Duration, Incoming)| match what {
            Incoming::Reset { code, .. } => Some(*code),
            _ => None,
        };
        self.0.borrow().iter().filter_map(code).collect()
    }

    /// Error codes and reasons with which the client ended connections.
    #[must_use]
    pub fn goaways(&self) -> Vec<(u32, String)> {
        let goaway = |(_, _, what): &(usize, Duration, Incoming)| match what {
            Incoming::GoAway { code, debug } => Some((*code, debug.clone())),
            _ => None,
        };
        self.0.borrow().iter().filter_map(goaway).collect()
    }
}

/// Accepts every connection, speaks HTTP/2, and answers every request by a function. It panics if the client
/// violates the standard.
pub struct Http2Peer<F> {
    answer: F,
    settings: Vec<(u16, u32)>,
    connection_window: u32,
    is_eager: bool,
    grants: bool,
    heard: Heard,
    connections: BTreeMap<usize, Connection>,
}

impl<F: FnMut(&StreamSeen) -> Vec<Deed>> Http2Peer<F> {
    /// Creates a peer that acts on each request as `answer` says.
    pub fn new(answer: F) -> Self {
        Self {
            answer,
            settings: Vec::new(),
            connection_window: 65_535,
            is_eager: false,
            grants: true,
            heard: Heard::default(),
            connections: BTreeMap::new(),
        }
    }

    /// Sets its settings ([`setting`](crate::http2::setting)).
    #[must_use]
    pub fn settings(self, settings: &[(u16, u32)]) -> Self {
        Self { settings: settings.to_vec(), ..self }
    }

    /// Sets a larger connection window.
    #[must_use]
    pub fn connection_window(self, connection_window: u32) -> Self {
        Self { connection_window, ..self }
    }

    /// Calls `answer` as soon as the header block of a request is complete, without waiting for the body.
    #[must_use]
    pub fn eager(self) -> Self {
        Self { is_eager: true, ..self }
    }

    /// Disables automatic window updates.
    #[must_use]
    pub fn without_grants(self) -> Self {
        Self { grants: false, ..self }
    }

    /// Frames received from now on.
    #[must_use]
    pub fn heard(&self) -> Heard {
        self.heard.clone()
    }

    /// Performs actions that are due, sends pending frames, and schedules the next wake-up.
    fn turn(&mut self, number: usize, at: Duration) -> Vec<Action> {
        let Some(connection) = self.connections.get_mut(&number) else { return Vec::new() };
        connection.turn(at)
    }
}

impl<F> std::fmt::Debug for Http2Peer<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Http2Peer").field("connections", &self.connections.len()).finish_non_exhaustive()
    }
}

impl<F: FnMut(&StreamSeen) -> Vec<Deed>> Peer for Http2Peer<F> {
    fn accept(&mut self, _: usize, _: Duration) -> Reception {
        Reception::Accept
    }

    fn receive(&mut self, number: usize, at: Duration, bytes: &[u8]) -> Vec<Action> {
        let (settings, window) = (&self.settings, self.connection_window);
        let connection = self.connections.entry(number).or_insert_with(|| Connection::new(settings, window));
        for incoming in connection.server.receive(bytes) {
            self.heard.0.borrow_mut().push((number, at, incoming.clone()));
            let complete = connection.take(number, at, incoming, self.is_eager, self.grants);
            if let Some(request) = complete {
                let deeds = (self.answer)(&request);
                deeds.into_iter().for_each(|deed| connection.plan(at, request.stream, deed));
            }
        }
        self.turn(number, at)
    }

    fn wake(&mut self, number: usize, at: Duration) -> Vec<Action> {
        self.turn(number, at)
    }
}

/// One connection.
#[derive(Debug)]
struct Connection {
    server: Server,
    index: usize,
    /// Incomplete requests.
    requests: BTreeMap<u32, StreamSeen>,
    /// Scheduled actions in order, with their streams.
    due: BTreeMap<(Duration, u64), (u32, Deed)>,
    due_count: u64,
    /// Scheduled wake-ups.
    wakes: BTreeSet<Duration>,
    /// Replies whose bodies are being sent, with the number of bytes sent.
    bodies: BTreeMap<u32, (Reply, usize)>,
    /// End of the current silence.
    silent_until: Duration,
}

impl Connection {
    fn new(settings: &[(u16, u32)], window: u32) -> Self {
        let mut server = Server::new(settings);
        if window > 65_535 {
            server.grant(0, window - 65_535);
        }
        Self {
            server,
            index: 0,
            requests: BTreeMap::new(),
            due: BTreeMap::new(),
            due_count: 0,
            wakes: BTreeSet::new(),
            bodies: BTreeMap::new(),
            silent_until: Duration::ZERO,
        }
    }

    /// Handles a frame of the client; returns a request that should be answered.
    fn take(
        &mut self,
        connection: usize,
        at: Duration,
        incoming: Incoming,
        is_eager: bool,
        grants: bool,
    ) -> Option<StreamSeen> {
        match incoming {
            Incoming::Request { stream, fields, end_stream } => {
                let index = self.index;
                self.index += 1;
                let request = StreamSeen { connection, stream, index, at, fields, body: Vec::new() };
                if end_stream || is_eager {
                    return Some(request);
                }
                self.requests.insert(stream, request);
                None
            }
            Incoming::Data { stream, bytes, end_stream } => {
                if grants && !bytes.is_empty() {
                    self.server.grant(0, bytes.len() as u32);
                    if !end_stream {
                        self.server.grant(stream, bytes.len() as u32);
                    }
                }
                self.requests.get_mut(&stream)?.body.extend(bytes);
                if !end_stream {
                    return None;
                }
                self.requests.remove(&stream).map(|request| StreamSeen { at, ..request })
            }
            Incoming::Reset { stream, .. } => {
                self.requests.remove(&stream);
                self.bodies.remove(&stream);
                None
            }
            _ => None,
        }
    }

    fn plan(&mut self, at: Duration, stream: u32, deed: Deed) {
        self.due.insert((at + deed.delay(), self.due_count), (stream, deed));
        self.due_count += 1;
    }

    fn turn(&mut self, at: Duration) -> Vec<Action> {
        self.wakes.remove(&at);
        let mut actions = Vec::new();
        while at >= self.silent_until
            && let Some(entry) = self.due.first_entry()
            && entry.key().0 <= at
        {
            let (stream, deed) = entry.remove();
            if matches!(deed, Deed::Close(_) | Deed::Abort(_) | Deed::Stop(..)) {
                // Pending frames are sent first.
                actions.extend(self.say());
            }
            match deed {
                Deed::Close(_) => actions.push(Action::Close(Duration::ZERO)),
                Deed::Abort(_) => actions.push(Action::Reset(Duration::ZERO)),
                Deed::Stop(_, time) => self.silent_until = at + time,
                Deed::Reply(_, reply) => self.begin(stream, reply),
                Deed::Reset(_, code) => {
                    self.bodies.remove(&stream);
                    self.server.reset(stream, code);
                }
                Deed::GoAway(_, last, code) => self.go_away(last, code),
                Deed::Settings(_, settings) => self.server.settings(&settings),
                Deed::Ping(_) => self.server.ping(*b"httperf!"),
                Deed::Grant(_, stream, increment) => self.server.grant(stream, increment),
                Deed::Bytes(_, bytes) => self.server.raw(&bytes),
            }
        }
        let next = self.due.first_key_value().map(|(&(due, _), _)| due.max(self.silent_until));
        if at >= self.silent_until {
            actions.extend(self.say());
        }
        let silence = Some(self.silent_until).filter(|&until| at < until);
        for instant in [next, silence].into_iter().flatten() {
            if self.wakes.insert(instant) {
                actions.push(Action::Wake(instant - at));
            }
        }
        actions
    }

    /// Pending frames.
    fn say(&mut self) -> Option<Action> {
        self.go_on_with_bodies();
        let bytes = self.server.take_output();
        (!bytes.is_empty()).then_some(Action::Send(Duration::ZERO, bytes))
    }

    fn go_away(&mut self, last: Option<u32>, code: u32) {
        let last = last.unwrap_or(self.server.last_stream());
        self.bodies.retain(|&stream, _| stream <= last);
        self.requests.retain(|&stream, _| stream <= last);
        self.server.goaway(last, code);
    }

    fn begin(&mut self, stream: u32, reply: Reply) {
        if !self.server.can_send(stream) {
            // The client has given up the call.
            return;
        }
        let whole = self.server.frame_max();
        for status in &reply.interim {
            self.server.head(stream, &[(":status", &status.to_string())], whole, false);
        }
        let status = reply.status.to_string();
        let mut fields = vec![(":status", status.as_str())];
        fields.extend(borrowed(&reply.fields));
        let is_all = reply.body.is_empty() && reply.trailers.is_empty();
        self.server.head(stream, &fields, whole, is_all);
        if !is_all {
            self.bodies.insert(stream, (reply, 0));
        }
    }

    /// Sends frames of all bodies in turn, as far as the windows allow.
    fn go_on_with_bodies(&mut self) {
        loop {
            let mut has_sent = false;
            self.bodies.retain(|&stream, (reply, sent)| {
                if !self.server.can_send(stream) {
                    return false;
                }
                let extra = reply.padding.map_or(0, |padding| usize::from(padding) + 1);
                let room = self.server.room(stream).min(self.server.frame_max()).saturating_sub(extra);
                let count = (reply.body.len() - *sent).min(room).min(reply.piece.max(1));
                let has_trailers = !reply.trailers.is_empty();
                if count > 0 {
                    let bytes = &reply.body[*sent..*sent + count];
                    *sent += count;
                    has_sent = true;
                    let is_last = *sent == reply.body.len() && !has_trailers;
                    self.server.data(stream, bytes, reply.padding, is_last);
                }
                let is_sent = *sent == reply.body.len();
                if is_sent && has_trailers {
                    self.server.head(stream, &borrowed(&reply.trailers), self.server.frame_max(), true);
                }
                !is_sent
            });
            if !has_sent {
                return;
            }
        }
    }
}

fn borrowed(fields: &Fields) -> Vec<(&str, &str)> {
    fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use httperf_proto::http2::{Engine, Options};
    use httperf_proto::request::{Request, RequestBody, RequestParts};
    use httperf_proto::{CallId, Event};

    use super::*;
    use crate::http2::{code, setting};

    const NOW: Duration = Duration::ZERO;

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    fn request(method: &str, uri: &str, body: &[u8]) -> Request {
        RequestParts {
            method: method.as_bytes(),
            uri: uri.as_bytes(),
            http10: false,
            keep_alive: false,
            user_agent: None,
            host: Some("server"),
            forward: None,
            extra_headers: b"",
            headers: b"",
            cookie: None,
            body: if body.is_empty() { RequestBody::None } else { RequestBody::Copied(body) },
            websocket: None,
        }
        .request()
    }

    /// Lets a client with these requests and a peer exchange bytes until neither has anything to send.
    /// Returns the outcome and time of each call.
    fn talk(peer: &mut impl Peer, requests: &[Request]) -> Vec<(u64, &'static str, Duration)> {
        let mut client = Engine::new(Options { bodies: true, ..Options::default() });
        for (call, request) in (0..).zip(requests) {
            client.submit(NOW, CallId(call), request.clone()).expect("there is room");
        }
        let (mut now, mut wakes, mut outcome) = (NOW, BTreeSet::new(), Vec::new());
        loop {
            let bytes = client.poll_transmit(now).to_vec();
            client.handle_written(bytes.len());
            let actions = if !bytes.is_empty() {
                peer.receive(0, now, &bytes)
            } else if let Some(next) = wakes.pop_first() {
                now = next;
                peer.wake(0, now)
            } else {
                return outcome;
            };
            for action in actions {
                match action {
                    Action::Send(_, bytes) => {
                        let mut input = &bytes[..];
                        while let Some(event) = client.poll_event(now, &mut input).expect("the peer is right")
                        {
                            match event {
                                Event::ReplyDone { call, .. } => outcome.push((call.0, "done", now)),
                                Event::CallFailed { call, .. } => outcome.push((call.0, "failed", now)),
                                Event::CallReturned { call, .. } => outcome.push((call.0, "returned", now)),
                                _ => {}
                            }
                        }
                    }
                    Action::Wake(delay) => {
                        wakes.insert(now + delay);
                    }
                    Action::Close(_) | Action::Reset(_) => return outcome,
                    Action::Datagram(..) => unreachable!("HTTP/2 has streams"),
                }
            }
        }
    }

    #[test]
    fn replies_come_when_they_are_due_in_any_order() {
        let mut peer = Http2Peer::new(|request: &StreamSeen| {
            let delay = request.uri().trim_start_matches('/').parse().expect("a number");
            vec![Deed::Reply(ms(delay), Reply::new(200).body("x".repeat(100_000)).trailer("a", "b"))]
        });
        let requests = ["/30", "/10", "/20"].map(|uri| request("GET", uri, b""));
        let expected = [(1, "done", ms(10)), (2, "done", ms(20)), (0, "done", ms(30))];
        assert_eq!(talk(&mut peer, &requests), expected);
    }

    #[test]
    fn a_stopped_peer_is_silent_until_it_resumes() {
        let mut peer = Http2Peer::new(|request: &StreamSeen| match request.index {
            0 => [Deed::now(Reply::new(200)), vec![Deed::Stop(ms(1), ms(1000))]].concat(),
            _ => vec![Deed::Reply(ms(2), Reply::new(204))],
        });
        let requests = ["/", "/"].map(|uri| request("GET", uri, b""));
        assert_eq!(talk(&mut peer, &requests), [(0, "done", NOW), (1, "done", ms(1001))]);
    }

    #[test]
    fn bodies_arrive_within_small_windows_and_settings_change_on_the_way() {
        let body: Vec<u8> = (0..50_000).map(|place| place as u8).collect();
        let expected = body.clone();
        let mut peer = Http2Peer::new(move |request: &StreamSeen| {
            assert_eq!((request.method(), &request.body), ("POST", &expected));
            Deed::now(Reply::new(200).interim(103).body("hello").padded(9))
        })
        .settings(&[(setting::INITIAL_WINDOW_SIZE, 1000), (setting::MAX_CONCURRENT_STREAMS, 1)]);
        let requests = [request("POST", "/", &body), request("POST", "/", &body)];
        assert_eq!(talk(&mut peer, &requests), [(0, "done", NOW), (1, "done", NOW)]);
    }

    #[test]
    fn streams_are_reset_and_returned() {
        let mut peer = Http2Peer::new(|request: &StreamSeen| match request.index {
            0 => vec![
                Deed::Reset(ms(1), code::INTERNAL_ERROR),
                Deed::Ping(ms(1)),
                Deed::Settings(ms(1), vec![]),
            ],
            1 => vec![Deed::GoAway(ms(2), Some(3), code::NO_ERROR), Deed::Reply(ms(3), Reply::new(200))],
            _ => Vec::new(),
        });
        let heard = peer.heard();
        let requests = ["/", "/", "/"].map(|uri| request("GET", uri, b""));
        let expected = [(0, "failed", ms(1)), (2, "returned", ms(2)), (1, "done", ms(3))];
        assert_eq!(talk(&mut peer, &requests), expected);
        let heard = heard.all();
        assert!(heard.contains(&(0, ms(1), Incoming::PingAck(*b"httperf!"))), "{heard:?}");
    }
}
