//! A world in memory for whole workers: a virtual clock, a link that may be hostile, and a peer.
//!
//! A run in it takes no time and is the same every time: all chance comes from [`Link::seed`]. Where a worker
//! on real sockets would hang, the virtual clock runs out ([`Run::is_endless`]).

mod http;
mod http2;
mod plans;
mod tls;
mod world;

use std::cell::RefCell;
use std::io;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use httperf_engine::{Network, Observer, Ready, Received, SentStamp, Silent, Worker, tls_context};
use httperf_plan::{Endpoint, Plan, Shard};
use httperf_stats::{Counters, Instant, Summary, Transport};

use self::world::World;

pub use http::{HttpPeer, RequestSeen, reply};
pub use http2::{Deed, Heard, Http2Peer, StreamSeen};
pub use plans::{Edit, at_once, calls, connections, file_session, listed, nonzero, sessions, uniform};
pub use tls::{Goodbye, TlsPeer, tls_server};

/// The other end of every connection. Times are since the start of the run.
pub trait Peer {
    /// Connection number `connection` (from 0) asks to be accepted.
    fn accept(&mut self, connection: usize, at: Duration) -> Reception;

    /// Bytes of a connection have arrived.
    fn receive(&mut self, connection: usize, at: Duration, bytes: &[u8]) -> Vec<Action>;

    /// The time has come for which it asked with [`Action::Wake`].
    fn wake(&mut self, _connection: usize, _at: Duration) -> Vec<Action> {
        Vec::new()
    }
}

/// What becomes of a connection that asks to be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reception {
    /// It is established.
    Accept,
    /// It is refused.
    Refuse,
    /// Nothing happens, as when a backlog is full.
    Ignore,
}

/// What a peer does, some time after what made it do so.
#[derive(Clone, Debug)]
pub enum Action {
    /// Sends bytes.
    Send(Duration, Vec<u8>),
    /// Sends nothing more.
    Close(Duration),
    /// Resets the connection.
    Reset(Duration),
    /// Asks to be called ([`Peer::wake`]).
    Wake(Duration),
}

/// What lies between the worker and its peer.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Where chance comes from.
    pub seed: u64,
    /// How long bytes travel, each way.
    pub latency: Duration,
    /// Up to how much longer some of them take. They stay in order.
    pub jitter: Duration,
    /// Whether bytes arrive in pieces, writes are cut short or refused for a while, and sockets are reported
    /// ready that are not.
    pub hostile: bool,
    /// Sockets there may be at once.
    pub sockets_max: usize,
    /// How many sockets the poller tells of at once.
    pub told_max: usize,
    /// When the worker is stopped, if it is at times.
    pub stops: Option<Stops>,
    /// From when on, and for how long, the worker sleeps once though it is to wake up.
    pub nap: Option<(Duration, Duration)>,
    /// Whether the worker is told when what it reads arrived.
    pub stamps: bool,
    /// How long what is written lies in the worker's machine before it is sent, if the worker can be told when it is.
    pub send_lag: Option<Duration>,
    /// How much later than something happens to a socket the worker hears of it.
    pub late: Duration,
    /// The virtual time after which a run counts as endless.
    pub time_max: Duration,
    /// The number of waits after which a run counts as endless.
    pub waits_max: u64,
}

/// The worker is stopped at the end of each such time for this long, as by SIGSTOP. The peer goes on.
#[derive(Clone, Copy, Debug)]
pub struct Stops {
    /// How long a period is.
    pub every: Duration,
    /// How long the worker is stopped at the end of each.
    pub length: Duration,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            seed: 0,
            latency: Duration::ZERO,
            jitter: Duration::ZERO,
            hostile: false,
            sockets_max: usize::MAX,
            told_max: usize::MAX,
            stops: None,
            nap: None,
            stamps: false,
            send_lag: None,
            late: Duration::ZERO,
            time_max: Duration::from_secs(1_000_000),
            waits_max: 5_000_000,
        }
    }
}

/// What came of a run.
#[derive(Debug)]
pub struct Run {
    /// What the worker measured.
    pub summary: Summary,
    /// What each connection looked like from the other side, in the order in which they were initiated.
    pub connections: Vec<Trace>,
    /// Whether the run did not end by itself.
    pub is_endless: bool,
}

/// One connection as its peer saw it.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// When the worker initiated it.
    pub initiated: Duration,
    /// When the worker closed it, if it did.
    pub closed: Option<Duration>,
    /// The bytes that arrived, with the time of each piece.
    pub received: Vec<(Duration, Vec<u8>)>,
}

impl Trace {
    /// All bytes that arrived, as text.
    #[must_use]
    pub fn text(&self) -> String {
        let bytes: Vec<u8> = self.received.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The request lines that arrived, without version.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        let text = self.text();
        let lines = text.lines().filter_map(|line| line.rsplit_once(" HTTP/1.")).map(|(line, _)| line);
        lines.map(str::to_owned).collect()
    }
}

/// Carries out a plan against a peer.
pub fn run(plan: &Plan, link: Link, peer: impl Peer + 'static) -> Run {
    run_observed(plan, link, peer, &mut Silent)
}

/// Carries out a plan against a peer, and tells an observer.
///
/// # Panics
/// If the plan wants TLS in a way that the library does not know, or the worker's poller fails, which this one never
/// does.
pub fn run_observed(plan: &Plan, link: Link, peer: impl Peer + 'static, observer: &mut dyn Observer) -> Run {
    run_shard(plan, Shard::WHOLE, link, peer, observer)
}

/// Carries out one shard of a plan against a peer that it has to itself, and tells an observer.
///
/// # Panics
/// As [`run_observed`].
pub fn run_shard(
    plan: &Plan,
    shard: Shard,
    link: Link,
    peer: impl Peer + 'static,
    observer: &mut dyn Observer,
) -> Run {
    let world = Rc::new(RefCell::new(World::new(link, Box::new(peer))));
    let network = SimNetwork { world: Rc::clone(&world) };
    let context =
        plan.tls.as_ref().map(|tls| tls_context(tls).expect("the library knows what the plan names"));
    let mut worker = Worker::new(plan, shard, context, network, observer);
    worker.prepare().expect("the poller in memory never fails");
    let summary = worker.run().expect("the poller in memory never fails");
    let world = world.borrow();
    Run { summary, connections: world.traces(), is_endless: world.is_endless() }
}

/// The worker's side of the world.
struct SimNetwork {
    world: Rc<RefCell<World>>,
}

/// A socket in memory. Dropping it closes the connection.
struct SimSocket {
    number: usize,
    world: Rc<RefCell<World>>,
}

impl Drop for SimSocket {
    fn drop(&mut self) {
        self.world.borrow_mut().close(self.number);
    }
}

impl Network for SimNetwork {
    type Socket = SimSocket;

    fn now(&mut self) -> Instant {
        self.world.borrow().now()
    }

    fn wall_clock(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + (self.world.borrow().now() - Instant::default())
    }

    fn open(&mut self, _: &Endpoint) -> io::Result<SimSocket> {
        let number = self.world.borrow_mut().open()?;
        Ok(SimSocket { number, world: Rc::clone(&self.world) })
    }

    fn connect(&mut self, socket: &SimSocket, key: u64, _: &Endpoint, _: Option<IpAddr>) -> io::Result<()> {
        self.world.borrow_mut().connect(socket.number, key);
        Ok(())
    }

    fn take_error(&mut self, socket: &SimSocket) -> Option<io::Error> {
        self.world.borrow_mut().take_error(socket.number)
    }

    fn read(&mut self, socket: &SimSocket, buffer: &mut [u8]) -> io::Result<Received> {
        self.world.borrow_mut().read(socket.number, buffer)
    }

    fn discard(&mut self, socket: &SimSocket, count: usize) -> io::Result<Received> {
        self.world.borrow_mut().read(socket.number, &mut vec![0; count])
    }

    fn write(&mut self, socket: &SimSocket, pieces: [&[u8]; 2]) -> io::Result<usize> {
        self.world.borrow_mut().write(socket.number, &pieces.concat())
    }

    fn number_sent(&mut self, socket: &SimSocket) -> io::Result<()> {
        self.world.borrow_mut().number_sent(socket.number)
    }

    fn write_stamped(&mut self, socket: &SimSocket, pieces: [&[u8]; 2]) -> io::Result<usize> {
        self.world.borrow_mut().write_stamped(socket.number, &pieces.concat())
    }

    fn take_sent(&mut self, socket: &SimSocket) -> Option<SentStamp> {
        self.world.borrow_mut().take_sent(socket.number)
    }

    fn wait(&mut self, deadline: Option<Instant>, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.world.borrow_mut().wait(deadline, ready);
        Ok(())
    }

    fn readiness(&mut self, socket: &SimSocket, _: u64) -> Ready {
        self.world.borrow().readiness(socket.number)
    }

    fn counters(&mut self) -> Counters {
        Counters::default()
    }

    fn transport(&mut self, _: &SimSocket) -> Option<Transport> {
        None
    }

    fn stop_requested(&self) -> bool {
        self.world.borrow().is_endless()
    }
}
