//! Calls over HTTP/3 allocate no memory of ours: a run is counted against the library alone, which makes the same calls
//! over the same kind of connection.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, SystemTime};

use allocation_counter::{measure, opt_out};
use bytes::{Bytes, BytesMut};
use httperf_engine::{Arrived, Network, Ready, Received, Silent, Worker, quic_context, security};
use httperf_plan::{Arrivals, Endpoint, Plan, Quic, Shard, Tls, UNLIMITED, UriSource};
use httperf_proto::quic::{Chunk, Ecn, StreamId};
use httperf_stats::{Counters, Instant, Transport};
use httperf_testkit::http3::{CONTROL, frame, head};
use httperf_testkit::quic::{Config, Dir, Happening, Options, Server};
use httperf_testkit::sim::{Edit, at_once, connections, listed, nonzero};

use super::http3::{over_http3, streams};

const TURN: Duration = Duration::from_micros(1);

/// A server in memory that answers each request in the turn after it. What it allocates is not counted.
struct Memory {
    now: Instant,
    server: Server,
    reply: Vec<u8>,
    sockets: Vec<Socket>,
}

#[derive(Default)]
struct Socket {
    key: u64,
    is_fresh: bool,
    incoming: VecDeque<Vec<u8>>,
}

fn client(socket: usize) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 2], 1024 + socket as u16))
}

fn server() -> Server {
    Server::with(&Config::new(&Options::new()), Some([1; 32]), std::time::Instant::now())
}

fn reply() -> Vec<u8> {
    [head(&[(":status", "200"), ("content-length", "5")]), frame(0, b"hello")].concat()
}

/// Reads requests, and answers those that are complete.
fn serve(server: &mut Server, reply: &[u8]) {
    for (handle, happening) in server.happenings() {
        match happening {
            Happening::Connected => {
                let id = server.open(handle);
                server.write(handle, id, CONTROL, false);
            }
            Happening::Opened(id) | Happening::Readable(id) => {
                let (_, is_end) = server.read(handle, id);
                if is_end && id.dir() == Dir::Bi {
                    server.write(handle, id, reply, true);
                }
            }
            Happening::Stopped(..) | Happening::Lost(_) => {}
        }
    }
}

impl Memory {
    fn since(&self) -> Duration {
        self.now - Instant::default()
    }

    fn turn(&mut self) {
        let now = self.since();
        self.server.handle_timeout(now);
        serve(&mut self.server, &self.reply);
        while let Some((to, datagram)) = self.server.poll_transmit(now) {
            self.sockets[usize::from(to.port() - 1024)].incoming.push_back(datagram);
        }
    }
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
        unreachable!("HTTP/3 goes over datagrams")
    }

    fn connect(&mut self, _: &usize, _: u64, _: &Endpoint, _: Option<IpAddr>) -> io::Result<()> {
        unreachable!("HTTP/3 goes over datagrams")
    }

    fn take_error(&mut self, _: &usize) -> Option<io::Error> {
        None
    }

    fn read(&mut self, _: &usize, _: &mut [u8]) -> io::Result<Received> {
        unreachable!("HTTP/3 goes over datagrams")
    }

    fn discard(&mut self, _: &usize, _: usize) -> io::Result<Received> {
        unreachable!("HTTP/3 goes over datagrams")
    }

    fn write(&mut self, _: &usize, _: [&[u8]; 2]) -> io::Result<usize> {
        unreachable!("HTTP/3 goes over datagrams")
    }

    fn open_datagrams(&mut self, _: &SocketAddr) -> io::Result<usize> {
        self.sockets.push(Socket::default());
        Ok(self.sockets.len() - 1)
    }

    fn connect_datagrams(
        &mut self,
        socket: &usize,
        key: u64,
        _: &SocketAddr,
        _: Option<IpAddr>,
    ) -> io::Result<()> {
        (self.sockets[*socket].key, self.sockets[*socket].is_fresh) = (key, true);
        Ok(())
    }

    fn send(&mut self, socket: &usize, datagrams: &[u8], segment: usize, _: Option<Ecn>) -> io::Result<()> {
        let now = self.since();
        opt_out(|| {
            for datagram in datagrams.chunks(segment) {
                self.server.handle(now, client(*socket), datagram);
            }
        });
        Ok(())
    }

    fn receive(&mut self, socket: &usize, buffer: &mut BytesMut) -> io::Result<Arrived> {
        let Some(datagram) = self.sockets[*socket].incoming.pop_front() else {
            return Err(io::ErrorKind::WouldBlock.into());
        };
        buffer.extend_from_slice(&datagram);
        Ok(Arrived { segment: datagram.len(), ecn: None, stamp: None })
    }

    fn wait(&mut self, deadline: Option<Instant>, ready: &mut Vec<Ready>) -> io::Result<()> {
        opt_out(|| self.turn());
        ready.clear();
        for socket in &mut self.sockets {
            let (writable, readable) = (std::mem::take(&mut socket.is_fresh), !socket.incoming.is_empty());
            if writable || readable {
                ready.push(Ready { key: socket.key, writable, readable, ..Ready::default() });
            }
        }
        let next = self.now + TURN;
        self.now = match deadline {
            Some(deadline) if ready.is_empty() => next.max(deadline.min(self.now + 100 * TURN)),
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
fn count(plan: &Plan, length: Duration) -> (u64, u64) {
    let plan = plan.clone().with(|plan| plan.runtime = Some(length));
    let mut silent = Silent;
    let memory = Memory { now: Instant::default(), server: server(), reply: reply(), sockets: Vec::new() };
    let security = security(&plan).expect("the library knows what the plan names");
    let mut replies = 0;
    let info = measure(|| {
        let mut worker = Worker::new(&plan, Shard::WHOLE, security, memory, &mut silent);
        worker.prepare().expect("memory never fails");
        replies = worker.run().expect("memory never fails").replies;
    });
    (info.count_total, replies)
}

/// Blocks of memory that are allocated for each call of a run that goes on.
fn per_call(plan: &Plan) -> f64 {
    let (short, few) = count(plan, Duration::from_millis(2));
    let (long, many) = count(plan, Duration::from_millis(5));
    assert!(many > few + 500, "{few} and {many} calls");
    long.saturating_sub(short) as f64 / (many - few) as f64
}

/// Blocks of memory that the library allocates for each call, if `together` are made at a time: a connection without the
/// rest of us.
fn per_call_of_library(together: usize) -> f64 {
    let context = quic_context(&Quic::default(), &Tls::default()).expect("the defaults fit together");
    let mut now = Duration::from_secs(1);
    let address = SocketAddr::from(([192, 0, 2, 1], 443));
    let mut client = context.connect(now, address, Some("server"), [7; 32], None).expect("it is a name");
    let request = Bytes::from(head(&[
        (":method", "GET"),
        (":scheme", "https"),
        (":authority", "server"),
        (":path", "/"),
        ("user-agent", "httperf/0"),
    ]));
    let (mut server, reply) = (server(), reply());
    let (mut out, mut arrived) = (Vec::new(), BytesMut::with_capacity(64 * 1024));
    let mut open: Vec<StreamId> = Vec::with_capacity(together);
    let mut round = |calls: u64| {
        let mut done = 0;
        while done < calls {
            now += TURN;
            while client.is_established() && open.len() < together {
                let Some(id) = client.open_request() else { break };
                client.write_shared(id, &request);
                client.finish(id);
                open.push(id);
            }
            while let Some(form) = client.poll_transmit(now, 32, &mut out) {
                opt_out(|| {
                    for datagram in out.chunks(form.segment) {
                        server.handle(now, self::client(0), datagram);
                    }
                });
                out.clear();
            }
            opt_out(|| {
                server.handle_timeout(now);
                serve(&mut server, &reply);
            });
            loop {
                let mut next = None;
                opt_out(|| next = server.poll_transmit(now));
                let Some((_, datagram)) = next else { break };
                arrived.extend_from_slice(&datagram);
                client.handle_datagrams(now, arrived.split(), datagram.len(), None);
            }
            while client.poll().is_some() {}
            open.retain(|&id| {
                loop {
                    match client.read(id) {
                        Chunk::Bytes(_) => {}
                        Chunk::Pending => break true,
                        Chunk::End | Chunk::Reset(_) => {
                            done += 1;
                            break false;
                        }
                    }
                }
            });
            if client.poll_timeout().is_some_and(|timer| timer <= now) {
                client.handle_timeout(now);
            }
        }
        done
    };
    round(1_000);
    let mut made = 0;
    let info = measure(|| made = round(1_500));
    info.count_total as f64 / made as f64
}

fn closed_loop(open: u32, streams: u32) -> Plan {
    let mut plan =
        over_http3(connections(UNLIMITED, UNLIMITED, 1).with(|plan| plan.arrivals = at_once(open)));
    plan.change_connections(|workload| workload.pipeline = nonzero(streams));
    plan
}

#[track_caller]
fn check(what: &str, plan: &Plan, together: usize) {
    let (all, of_library) = (per_call(plan), per_call_of_library(together));
    println!("{what}: {all:.3} blocks per call, {of_library:.3} of them the library's");
    // Tables may still grow now and then.
    assert!(
        all <= of_library + 0.05,
        "{what}: {all:.3} blocks per call, and {of_library:.3} of the library's"
    );
}

#[test]
fn a_closed_loop_over_http3_allocates_no_more_than_the_library() {
    check("one stream", &closed_loop(1, 1), 1);
    check("four connections of one stream", &closed_loop(4, 1), 1);
    check("eight streams", &closed_loop(1, 8), 8);
    check("32 streams", &closed_loop(2, 32), 32);
}

#[test]
fn calls_at_a_rate_over_http3_allocate_no_more_than_the_library() {
    let poisson = Arrivals::Exponential { mean: 1.0 / 300_000.0 };
    check("a rate", &streams(UNLIMITED, 300_000.0, 4, 32), 1);
    check("random arrivals", &streams(UNLIMITED, 1.0, 4, 32).with(|plan| plan.arrivals = poisson), 1);
}

#[test]
fn a_list_of_uris_over_http3_allocates_no_more_than_the_library() {
    let uris = listed((0..100).map(|number| format!("/{number}").into_bytes()));
    let uris = UriSource::List { uris, wrap: true };
    check("a list", &closed_loop(2, 8).with(|plan| plan.uris = uris), 8);
}
