//! HTTP/3 against a server whose every byte the test writes.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use httperf_testkit::quic::{self as peer, ConnectionHandle, Happening};

use super::*;
use crate::quic::{self, Context};
use crate::request::{Request, RequestParts};
use crate::tls::{self, Progress};
use crate::{CallId, Event, ProtocolError, ReplySize, Reuse, Sent};

const MS: Duration = Duration::from_millis(1);

/// An engine and a server, a millisecond apart.
struct Pair {
    engine: Engine,
    server: peer::Server,
    handle: ConnectionHandle,
    now: Duration,
    /// What the server has read of each of the client's streams, and whether it was all.
    asked: Vec<(peer::StreamId, Vec<u8>, bool)>,
    events: Vec<Event<'static>>,
    error: Option<ProtocolError>,
    sent: Vec<Sent>,
}

fn address() -> SocketAddr {
    "192.0.2.1:443".parse().unwrap()
}

impl Pair {
    fn new(options: Options) -> Self {
        Self::with(&peer::Options::new(), options)
    }

    fn with(server: &peer::Options, options: Options) -> Self {
        let (epoch, now) = (Instant::now(), Duration::from_secs(1));
        let tls = tls::Options { alpn: vec![b"h3".to_vec()], ..tls::Options::default() };
        let context = Context::new(&quic::Options::default(), &tls, epoch).unwrap();
        let quic = context.connect(now, address(), Some("server"), [7; 32], None).unwrap();
        let mut pair = Self {
            engine: Engine::new(quic, options),
            server: peer::Server::new(server, epoch),
            handle: ConnectionHandle(0),
            now,
            asked: Vec::new(),
            events: Vec::new(),
            error: None,
            sent: Vec::new(),
        };
        let mut is_done = false;
        for _ in 0..20 {
            pair.exchange();
            is_done |= pair.engine.poll_progress(pair.now) == Some(Progress::Done);
        }
        assert!(is_done, "the handshake is complete");
        pair
    }

    /// Lets datagrams go both ways once.
    fn exchange(&mut self) {
        let mut out = Vec::new();
        while let Some(sent) = self.engine.poll_datagrams(self.now, 10, &mut out) {
            for datagram in out.chunks(sent.segment) {
                self.server.handle(self.now + MS, "192.0.2.2:5000".parse().unwrap(), datagram);
            }
            out.clear();
        }
        self.sent.extend(std::iter::from_fn(|| self.engine.poll_sent()));
        self.now += MS;
        for (handle, happening) in self.server.happenings() {
            self.handle = handle;
            if let Happening::Opened(id) | Happening::Readable(id) = happening {
                let (bytes, is_end) = self.server.read(handle, id);
                match self.asked.iter_mut().find(|(its, ..)| *its == id) {
                    Some((_, asked, was_end)) => {
                        asked.extend(bytes);
                        *was_end |= is_end;
                    }
                    None => self.asked.push((id, bytes, is_end)),
                }
            }
        }
        while let Some((_, datagram)) = self.server.poll_transmit(self.now) {
            let size = datagram.len();
            self.engine.handle_datagrams(self.now + MS, BytesMut::from(&datagram[..]), size, None);
        }
        self.now += MS;
    }

    /// Lets all that is to be said be said.
    fn settle(&mut self) {
        for _ in 0..8 {
            self.exchange();
            while self.error.is_none() {
                match self.engine.poll_event(self.now) {
                    Ok(Some(event)) => self.events.push(event),
                    Ok(None) => break,
                    Err(error) => self.error = Some(error),
                }
            }
        }
    }

    fn submit(&mut self, call: u64, request: Request) {
        self.engine.submit(self.now, CallId(call), request).unwrap();
    }

    /// The stream of the request with this place.
    fn stream(&self, place: usize) -> peer::StreamId {
        self.asked.iter().filter(|(id, ..)| id.dir() == peer::Dir::Bi).nth(place).expect("it was made").0
    }

    fn answer(&mut self, place: usize, bytes: &[u8], end: bool) {
        let (handle, id) = (self.handle, self.stream(place));
        assert_eq!(self.server.write(handle, id, bytes, end), bytes.len());
    }

    /// Opens a stream of the server's own that begins with these bytes.
    fn open(&mut self, bytes: &[u8]) -> peer::StreamId {
        let id = self.server.open(self.handle);
        self.server.write(self.handle, id, bytes, false);
        id
    }
}

fn get(path: &str) -> Request {
    RequestParts { host: Some("server"), ..RequestParts::to(path.as_bytes()) }.request()
}

/// `:status: 200`, `content-length: 5`; five bytes.
const REPLY: &[u8] = b"\x01\x0a\x00\x00\xd9\x54\x015\x00\x05hello";

#[test]
fn a_request_is_answered() {
    let mut pair = Pair::new(Options::default());
    pair.submit(7, get("/index.html"));
    assert_eq!((pair.engine.pending_count(), pair.engine.open_streams()), (1, 0));
    pair.settle();
    assert_eq!(pair.sent, [Sent::Started(CallId(7)), Sent::Finished(CallId(7))]);
    let (_, asked, is_end) = pair.asked.iter().find(|(id, ..)| id.dir() == peer::Dir::Bi).unwrap();
    assert!(*is_end && asked.starts_with(&[1]), "{asked:?}");
    let section = b"\x01\x0a\x00\x00\xd9\x54\x015".len();
    assert_eq!(section, 8);
    pair.answer(0, b"\x01\x06\x00\x00\xd9\x54\x015\x00\x05hello", true);
    pair.settle();
    assert_eq!(pair.error, None);
    let [started, done] = &pair.events[..] else { panic!("{:?}", pair.events) };
    assert_eq!(*started, Event::ReplyStarted { call: CallId(7), status: 200 });
    let size = ReplySize { header: 7 + 3 + 2 + 17 + 2 + 2, content: 5, footer: 0 };
    assert!(
        matches!(done, Event::ReplyDone { call: CallId(7), size: its, reuse: Reuse::Keep } if its.content == size.content),
        "{done:?}"
    );
}
