//! Calls of a run that goes on allocate no memory: a test counts what a long run allocates beyond a short one.

use std::io;
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use httperf_engine::{Network, Ready, Silent, Worker};
use httperf_plan::{Arrivals, Endpoint, Plan, Shard, Timeouts, UNLIMITED, UriSource, Workload};
use httperf_stats::{Counters, Instant, Transport};
use httperf_testkit::sim::{calls, connections};

const REPLY: &[u8] =
    b"HTTP/1.1 200 OK\r\nServer: memory\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello";

/// A server in memory that answers each request a microsecond after it was written. It allocates nothing itself once it
/// has met all connections.
#[derive(Default)]
struct Memory {
    now: Instant,
    sockets: Vec<Socket>,
}

#[derive(Default)]
struct Socket {
    key: u64,
    /// It has not been reported writable.
    is_fresh: bool,
    /// Requests without a reply.
    requests: usize,
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

    fn read(&mut self, socket: &usize, buffer: &mut [u8]) -> io::Result<usize> {
        let requests = std::mem::take(&mut self.sockets[*socket].requests);
        if requests == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        for place in buffer.chunks_exact_mut(REPLY.len()).take(requests) {
            place.copy_from_slice(REPLY);
        }
        Ok(requests * REPLY.len())
    }

    fn discard(&mut self, _: &usize, _: usize) -> io::Result<usize> {
        unreachable!("the replies are small")
    }

    fn write(&mut self, socket: &usize, pieces: [&[u8]; 2]) -> io::Result<usize> {
        let requests: usize =
            pieces.iter().map(|piece| piece.windows(4).filter(|end| *end == b"\r\n\r\n").count()).sum();
        self.sockets[*socket].requests += requests;
        Ok(pieces.iter().map(|piece| piece.len()).sum())
    }

    fn wait(&mut self, deadline: Option<Instant>, ready: &mut Vec<Ready>) -> io::Result<()> {
        ready.clear();
        for socket in &mut self.sockets {
            let (writable, readable) = (std::mem::take(&mut socket.is_fresh), socket.requests > 0);
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

/// How many blocks of memory are allocated in a run of this length, and how many calls it makes.
fn measure(plan: &Plan, length: Duration) -> (u64, u64) {
    let plan = Plan { runtime: Some(length), ..plan.clone() };
    let mut replies = 0;
    let info = allocation_counter::measure(|| {
        let mut silent = Silent;
        let mut worker = Worker::new(&plan, Shard::WHOLE, None, Memory::default(), &mut silent);
        worker.prepare().expect("memory never fails");
        replies = worker.run().expect("memory never fails").replies;
    });
    (info.count_total, replies)
}

/// Beyond the first few milliseconds, in which tables grow to their size, nothing may be allocated per call. A queue
/// may still grow when more wait than ever before.
#[track_caller]
fn check(plan: &Plan) {
    let (short, few) = measure(plan, Duration::from_millis(5));
    let (long, many) = measure(plan, Duration::from_millis(25));
    assert!(many > few + 1000, "{few} and {many} calls");
    let allocated = long.saturating_sub(short);
    assert!(allocated * 100 < many - few, "{allocated} blocks for {} calls", many - few);
}

fn closed_loop(connections_open: u32) -> Plan {
    Plan {
        arrivals: Arrivals::Concurrent(connections_open),
        timeouts: Timeouts { timeout: Some(Duration::from_secs(5)), think_timeout: None },
        ..connections(UNLIMITED, UNLIMITED, 1)
    }
}

#[test]
fn a_closed_loop_allocates_nothing_per_call() {
    check(&closed_loop(1));
    check(&closed_loop(8));
}

#[test]
fn a_pipeline_allocates_nothing_per_call() {
    let mut plan = closed_loop(4);
    let Workload::Connections(workload) = &mut plan.workload else { unreachable!() };
    workload.pipeline = 16;
    check(&plan);
}

#[test]
fn bursts_and_pauses_allocate_nothing_per_call() {
    let mut plan = closed_loop(8);
    let Workload::Connections(workload) = &mut plan.workload else { unreachable!() };
    (workload.burst, workload.think) = (3, Duration::from_micros(50));
    check(&plan);
}

#[test]
fn calls_at_a_rate_allocate_nothing() {
    check(&calls(UNLIMITED, 500_000.0, 8));
    let poisson = Arrivals::Exponential { mean: 1.0 / 400_000.0 };
    check(&Plan { arrivals: poisson, ..calls(UNLIMITED, 1.0, 4) });
}

#[test]
fn a_list_of_uris_allocates_nothing_once_each_was_asked_for() {
    let uris = (0..100).map(|number| format!("/{number}").into_bytes()).collect();
    let uris = UriSource::List { uris, wrap: true };
    check(&Plan { uris: uris.clone(), ..closed_loop(8) });
    check(&Plan { uris, ..calls(UNLIMITED, 500_000.0, 8) });
}
