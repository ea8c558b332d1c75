//! HTTP/3 over links that lose, delay and reorder datagrams, each of which is told as what it is.

use std::collections::{BTreeMap, HashMap};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use httperf_origin::{Config, Credentials, Http3, KeyType, Tls};
use httperf_stats::QuicSummary;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::http2_servers::ran::{Ran, run};
use crate::support::bench::Bench;

/// What is done to the large datagrams that go to the server. Small ones are acknowledgements, whose loss nobody notices.
#[derive(Clone, Copy, Default)]
struct Link {
    /// The share that is lost.
    loss: f64,
    /// The share that is held back until the next has passed.
    swapped: f64,
    /// The time that every datagram takes, in each direction.
    delay: Duration,
}

/// The size from which on a datagram is large.
const LARGE: usize = 600;

/// How long a datagram is held back if no other follows.
const HOLD: Duration = Duration::from_millis(5);

/// A datagram on its way: when it arrives, by which socket, and where unless the socket is connected.
type Parcel = (Instant, Arc<UdpSocket>, Option<SocketAddr>, Vec<u8>);

/// A link between clients and a server, on the loopback interface. It ends with the process.
struct Relay {
    port: u16,
    lost: Arc<AtomicU64>,
    swapped: Arc<AtomicU64>,
}

impl Relay {
    fn start(server: u16, link: Link) -> Self {
        let front = Arc::new(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free"));
        let port = front.local_addr().expect("it is bound").port();
        let relay = Self { port, lost: Arc::default(), swapped: Arc::default() };
        let (lost, swapped) = (Arc::clone(&relay.lost), Arc::clone(&relay.swapped));
        let (wire, parcels) = mpsc::channel();
        thread::spawn(move || carry(&parcels));
        thread::spawn(move || {
            let mut random = Pcg64Mcg::seed_from_u64(7);
            let mut ways: HashMap<SocketAddr, (Arc<UdpSocket>, Option<Vec<u8>>)> = HashMap::new();
            let mut buffer = vec![0; 65_536];
            while let Ok((count, client)) = front.recv_from(&mut buffer) {
                let (back, held) = ways
                    .entry(client)
                    .or_insert_with(|| (open_way(server, client, &front, link.delay, wire.clone()), None));
                let is_large = count >= LARGE;
                if is_large && random.random_bool(link.loss) {
                    lost.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                let send = |bytes: Vec<u8>, at: Instant| {
                    let parcel = (at + link.delay, Arc::clone(back), None, bytes);
                    wire.send(parcel).expect("the wire is there");
                };
                let (now, bytes) = (Instant::now(), buffer[..count].to_vec());
                match held.take() {
                    Some(earlier) => {
                        swapped.fetch_add(1, Ordering::Relaxed);
                        send(bytes, now);
                        send(earlier, now);
                    }
                    None if is_large && random.random_bool(link.swapped) => {
                        // Should none follow, it is on its way all the same; a copy that comes twice is ignored.
                        send(bytes.clone(), now + HOLD);
                        *held = Some(bytes);
                    }
                    None => send(bytes, now),
                }
            }
        });
        relay
    }

    fn run(&self, arguments: &str) -> Ran {
        run(self.port, &format!("--http-version 3 --ssl {arguments}"), &[("body", &[b'b'; 100_000])])
    }
}

/// Opens a client's way to the server, and begins to carry what comes back.
fn open_way(
    server: u16,
    client: SocketAddr,
    front: &Arc<UdpSocket>,
    delay: Duration,
    wire: mpsc::Sender<Parcel>,
) -> Arc<UdpSocket> {
    let back = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    back.connect((Ipv4Addr::LOCALHOST, server)).expect("it is an address of this machine");
    let back = Arc::new(back);
    let (from, front) = (Arc::clone(&back), Arc::clone(front));
    thread::spawn(move || {
        let mut buffer = vec![0; 65_536];
        while let Ok(count) = from.recv(&mut buffer) {
            let at = Instant::now() + delay;
            let parcel = (at, Arc::clone(&front), Some(client), buffer[..count].to_vec());
            if wire.send(parcel).is_err() {
                return;
            }
        }
    });
    back
}

/// Delivers what is on its way, each at its time.
fn carry(parcels: &mpsc::Receiver<Parcel>) {
    type Waiting = BTreeMap<(Instant, u64), (Arc<UdpSocket>, Option<SocketAddr>, Vec<u8>)>;
    let mut waiting = Waiting::new();
    for number in 0_u64.. {
        let now = Instant::now();
        while waiting.first_key_value().is_some_and(|((at, _), _)| *at <= now) {
            let Some((_, (socket, to, bytes))) = waiting.pop_first() else { break };
            // A peer that is gone has no use for it.
            let _refused = match to {
                Some(to) => socket.send_to(&bytes, to),
                None => socket.send(&bytes),
            };
        }
        let next = waiting.first_key_value().map(|((at, _), _)| at.saturating_duration_since(now));
        match parcels.recv_timeout(next.unwrap_or(Duration::from_secs(60))) {
            Ok((at, socket, to, bytes)) => drop(waiting.insert((at, number), (socket, to, bytes))),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn server() -> Bench {
    let tls = Tls::new(Credentials::self_signed(KeyType::default(), &Config::default().listen));
    Bench::with(Config { tls: Some(tls), http3: Some(Http3::default()), ..Config::default() })
}

fn quic(ran: &Ran) -> QuicSummary {
    ran.summary.http2.as_ref().and_then(|http3| http3.quic.clone()).expect("HTTP/3 was asked for")
}

/// Bodies of 100 kB: most datagrams to the server are large.
const BODIES: &str = "--concurrency 4 --num-calls 60 --body-file body --timeout 30";

#[test]
fn loss_is_told_as_it_was_made() {
    let server = server();
    let relay = Relay::start(server.port, Link { loss: 0.01, ..Link::default() });
    let ran = relay.run(BODIES);
    ran.check("errors=0");
    assert_eq!(ran.summary.replies, 240, "{ran}");
    let (lost, told) = (relay.lost.load(Ordering::Relaxed), quic(&ran).packets_lost);
    assert!(lost >= 100, "{lost} were lost: {ran}");
    // What this machine has dropped besides is lost as well.
    let most = lost as f64 * 1.1 + ran.summary.usage.udp.receive as f64;
    assert!((lost as f64 * 0.9..=most).contains(&(told as f64)), "{lost} were lost, {told} told: {ran}");
}

#[test]
fn delay_is_told_as_round_trip() {
    let server = server();
    let relay = Relay::start(server.port, Link { delay: Duration::from_millis(15), ..Link::default() });
    let ran = relay.run("--concurrency 2 --num-calls 5 --timeout 30");
    ran.check("errors=0");
    let least = Duration::from_nanos(quic(&ran).rtt_min_ns.expect("connections were answered"));
    assert!((30..100).contains(&least.as_millis()), "{least:?}: {ran}");
    // A call takes a round trip, and the handshake another.
    let shortest = ran.summary.calls.iter().filter_map(|clocks| clocks.latency.quantile(0.0)).min();
    assert!(shortest >= Some(Duration::from_millis(30)), "{shortest:?}: {ran}");
}

/// A packet counts as lost once the third after it has arrived (RFC 9002, section 6.1.1), so one that is overtaken by a single
/// other does not.
#[test]
fn reordering_is_not_told_as_loss() {
    let server = server();
    let relay = Relay::start(server.port, Link { swapped: 0.05, ..Link::default() });
    let ran = relay.run(BODIES);
    ran.check("errors=0");
    let (swapped, told) = (relay.swapped.load(Ordering::Relaxed), quic(&ran).packets_lost);
    assert!(swapped >= 300, "{swapped} came in another order: {ran}");
    let most = swapped / 20 + ran.summary.usage.udp.receive;
    assert!(told <= most, "{told} told as lost of {swapped} that were swapped: {ran}");
}
