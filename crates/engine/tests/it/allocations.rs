//! Calls of a run that goes on allocate no memory: a test counts what a long run allocates beyond a short one.

use std::io;
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use httperf_engine::{Network, Ready, Received, Silent, Worker};
use httperf_plan::{Arrivals, Endpoint, HttpVersion, Plan, Shard, Timeouts, UNLIMITED, UriSource};
use httperf_stats::{Counters, Instant, Transport};
use httperf_testkit::sim::{Edit, at_once, calls, connections, listed, nonzero};

const REPLY: &[u8] =
    b"HTTP/1.1 200 OK\r\nServer: memory\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello";

/// A server in memory that answers each request a microsecond after it was written. It allocates nothing itself once it
/// has met all connections, and as many requests at once as there are.
struct Memory {
    speaks_http2: bool,
    now: Instant,
    sockets: Vec<Socket>,
}

#[derive(Default)]
struct Socket {
    key: u64,
    /// It has not been reported writable.
    is_fresh: bool,
    /// Requests without a reply, by the streams that they came on: over HTTP/1 0.
    requests: Vec<u32>,
    /// The client has told its settings, which are neither acknowledged nor answered by ours.
    owes_settings: bool,
}

impl Socket {
    fn take_http1(&mut self, bytes: &[u8]) {
        let requests = bytes.windows(4).filter(|end| *end == b"\r\n\r\n").count();
        self.requests.resize(self.requests.len() + requests, 0);
    }

    /// Takes whole frames, which is how the engine hands them out.
    fn take_http2(&mut self, bytes: &[u8]) {
        let mut rest = bytes.strip_prefix(PREFACE).unwrap_or(bytes);
        while let Some((&[a, b, c, kind, flags, w, x, y, z], payload)) = rest.split_first_chunk::<9>() {
            match kind {
                HEADERS => self.requests.push(u32::from_be_bytes([w, x, y, z])),
                SETTINGS => self.owes_settings |= flags & ACK == 0,
                _ => {}
            }
            rest = &payload[u32::from_be_bytes([0, a, b, c]) as usize..];
        }
        assert!(rest.is_empty(), "frames are written whole");
    }

    fn owes_answer(&self) -> bool {
        self.owes_settings || !self.requests.is_empty()
    }

    /// Writes what is due and returns how long that is.
    fn answer(&mut self, speaks_http2: bool, mut room: &mut [u8]) -> usize {
        let size = room.len();
        if std::mem::take(&mut self.owes_settings) {
            put_frame(&mut room, SETTINGS, 0, 0, &[]);
            put_frame(&mut room, SETTINGS, ACK, 0, &[]);
        }
        for stream in self.requests.drain(..) {
            if speaks_http2 {
                // `:status: 200`, and a `content-length: 5` that is kept in no table.
                put_frame(&mut room, HEADERS, END_HEADERS, stream, b"\x88\x0f\x0d\x015");
                put_frame(&mut room, DATA, END_STREAM, stream, b"hello");
            } else {
                put(&mut room, REPLY);
            }
        }
        size - room.len()
    }
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Types and flags of frames.
const DATA: u8 = 0x0;
const HEADERS: u8 = 0x1;
const SETTINGS: u8 = 0x4;
const ACK: u8 = 0x1;
const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;

/// Puts a frame at the beginning of what room there is.
fn put_frame(room: &mut &mut [u8], kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    let [a, b, c, d] = stream.to_be_bytes();
    put(room, &[0, 0, payload.len() as u8, kind, flags, a, b, c, d]);
    put(room, payload);
}

fn put(room: &mut &mut [u8], bytes: &[u8]) {
    room.split_off_mut(..bytes.len()).expect("all replies fit").copy_from_slice(bytes);
}

impl Network for Memory {
    type Socket = usize;

    fn now(&mut self) -> Instant {
        self.now
    }

    fn wall_clock(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }

    fn open(&mut self, _: &Endpoint) -> io::Result<usize> {
        self.sockets.push(Socket::default());
        Ok(self.sockets.len() - 1)
    }

    fn connect(&mut self, socket: &usize, key: u64, _: &Endpoint, _: Option<IpAddr>) -> io::Result<()> {
        (self.sockets[*socket].key, self.sockets[*socket].is_fresh) = (key, true);
        Ok(())
    }

    fn take_error(&mut self, _: &usize) -> Option<io::Error> {
        None
    }

    fn read(&mut self, socket: &usize, buffer: &mut [u8]) -> io::Result<Received> {
        match self.sockets[*socket].answer(self.speaks_http2, buffer) {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            count => Ok(Received { count, stamp: Some(self.now) }),
        }
    }

    fn discard(&mut self, _: &usize, _: usize) -> io::Result<Received> {
        unreachable!("the replies are small")
    }

    fn write(&mut self, socket: &usize, pieces: [&[u8]; 2]) -> io::Result<usize> {
        let socket = &mut self.sockets[*socket];
        for piece in pieces {
            if self.speaks_http2 { socket.take_http2(piece) } else { socket.take_http1(piece) }
        }
        Ok(pieces.iter().map(|piece| piece.len()).sum())
    }

    fn wait(&mut self, deadline: Option<Instant>, ready: &mut Vec<Ready>) -> io::Result<()> {
        ready.clear();
        for socket in &mut self.sockets {
            let (writable, readable) = (std::mem::take(&mut socket.is_fresh), socket.owes_answer());
            if writable || readable {
                ready.push(Ready { key: socket.key, writable, readable, ..Ready::default() });
            }
        }
        let next = self.now + Duration::from_micros(1);
        self.now = match deadline {
            Some(deadline) if ready.is_empty() => next.max(deadline),
            _ => next,
        };
        Ok(())
    }

    fn counters(&mut self) -> Counters {
        Counters::default()
    }

    fn transport(&mut self, _: &usize) -> Option<Transport> {
        None
    }

    fn stop_requested(&self) -> bool {
        false
    }
}

/// Returns the number of blocks of memory that a run of this length allocates, and the number of its calls.
fn measure(plan: &Plan, length: Duration) -> (u64, u64) {
    let plan = plan.clone().with(|plan| plan.runtime = Some(length));
    let mut replies = 0;
    let info = allocation_counter::measure(|| {
        let mut silent = Silent;
        let speaks_http2 = plan.request.version == HttpVersion::Http2;
        let memory = Memory { speaks_http2, now: Instant::default(), sockets: Vec::new() };
        let mut worker = Worker::new(&plan, Shard::WHOLE, None, memory, &mut silent);
        worker.prepare().expect("memory never fails");
        replies = worker.run().expect("memory never fails").replies;
    });
    (info.count_total, replies)
}

/// Beyond the first two milliseconds, in which tables grow to their size, nothing may be allocated per call. A queue
/// may still grow when more wait than ever before.
#[track_caller]
fn check(plan: &Plan) {
    let (short, few) = measure(plan, Duration::from_millis(2));
    let (long, many) = measure(plan, Duration::from_millis(6));
    assert!(many > few + 1000, "{few} and {many} calls");
    let allocated = long.saturating_sub(short);
    assert!(allocated * 100 < many - few, "{allocated} blocks for {} calls", many - few);
}

fn closed_loop(connections_open: u32) -> Plan {
    connections(UNLIMITED, UNLIMITED, 1).with(|plan| {
        plan.arrivals = at_once(connections_open);
        plan.timeouts = Timeouts { timeout: Some(Duration::from_secs(5)), think_timeout: None };
    })
}

#[test]
fn a_closed_loop_allocates_nothing_per_call() {
    check(&closed_loop(1));
    check(&closed_loop(8));
}

#[test]
fn a_pipeline_allocates_nothing_per_call() {
    let mut plan = closed_loop(4);
    plan.change_connections(|workload| workload.pipeline = nonzero(16));
    check(&plan);
}

#[test]
fn bursts_and_pauses_allocate_nothing_per_call() {
    let mut plan = closed_loop(8);
    plan.change_connections(|workload| {
        (workload.burst, workload.think) = (nonzero(3).into(), Duration::from_micros(50));
    });
    check(&plan);
}

#[test]
fn calls_at_a_rate_allocate_nothing() {
    check(&calls(UNLIMITED, 500_000.0, 8));
    let poisson = Arrivals::Exponential { mean: 1.0 / 400_000.0 };
    check(&calls(UNLIMITED, 1.0, 4).with(|plan| plan.arrivals = poisson));
}

#[test]
fn a_list_of_uris_allocates_nothing_once_each_was_asked_for() {
    let uris = listed((0..100).map(|number| format!("/{number}").into_bytes()));
    let uris = UriSource::List { uris, wrap: true };
    check(&closed_loop(8).with(|plan| plan.uris = uris.clone()));
    check(&calls(UNLIMITED, 500_000.0, 8).with(|plan| plan.uris = uris));
}

fn http2(plan: Plan) -> Plan {
    plan.with(|plan| plan.request.version = HttpVersion::Http2)
}

/// Lets so many calls be outstanding on each connection of a pool.
fn streams(mut plan: Plan, streams: u32) -> Plan {
    plan.change_calls(|calls| calls.pipeline = Some(nonzero(streams)));
    plan
}

#[test]
fn bursts_over_http2_allocate_nothing_per_call() {
    check(&http2(closed_loop(1)));
    let mut plan = http2(closed_loop(8));
    plan.change_connections(|workload| {
        (workload.burst, workload.think) = (nonzero(3).into(), Duration::from_micros(50));
    });
    check(&plan);
}

#[test]
fn a_closed_loop_of_streams_allocates_nothing_per_call() {
    let mut plan = http2(closed_loop(4));
    plan.change_connections(|workload| workload.pipeline = nonzero(32));
    check(&plan);
}

#[test]
fn calls_at_a_rate_allocate_nothing_over_http2() {
    let plan = http2(streams(calls(UNLIMITED, 500_000.0, 8), 32));
    check(&plan);
    let poisson = Arrivals::Exponential { mean: 1.0 / 400_000.0 };
    check(&http2(streams(calls(UNLIMITED, 1.0, 1), 100)).with(|plan| plan.arrivals = poisson));
}

#[test]
fn a_list_of_uris_allocates_nothing_over_http2() {
    let uris = listed((0..100).map(|number| format!("/{number}").into_bytes()));
    let uris = UriSource::List { uris, wrap: true };
    check(&http2(streams(calls(UNLIMITED, 500_000.0, 8), 32)).with(|plan| plan.uris = uris));
}
