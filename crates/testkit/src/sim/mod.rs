//! A simulated world for complete workers: a virtual clock, a link that may be hostile, and a peer. Sockets carry streams,
//! or datagrams that the link may also lose, repeat and reorder.
//!
//! A run takes no real time and is deterministic: all randomness comes from [`Link::seed`]. If a worker would
//! hang on real sockets, the virtual clock runs out ([`Run::is_endless`]).

mod http;
mod http2;
mod http3;
mod plans;
mod tls;
mod websocket;
mod world;

use std::cell::RefCell;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use bytes::BytesMut;
use httperf_engine::{
    Arrived, Network, Observer, Ready, Received, RecordedRequests, SentStamp, Silent, Worker, security,
};
use httperf_plan::{Endpoint, Plan, Shard};
use httperf_proto::quic::Ecn;
use httperf_stats::{Counters, Instant, Summary, Transport};

use self::world::World;

pub use http::{HttpPeer, RequestSeen, reply};
pub use http2::{Deed, Heard, Http2Peer, StreamSeen};
pub use http3::{Http3Deed, Http3Heard, Http3Peer};
pub use plans::{
    Edit, at_once, calls, connections, file_session, listed, nonzero, replay, scenarios, sessions, uniform,
};
pub use tls::{Goodbye, TlsPeer, tls_server};
pub use websocket::{Say, WebSocketPeer, WsHeard};

/// The other end of every connection. Times are since the start of the run.
pub trait Peer {
    /// Handles a request to accept connection number `connection`, from 0. Datagrams come without one: it is made when
    /// the first arrives.
    fn accept(&mut self, connection: usize, at: Duration) -> Reception;

    /// Handles bytes received on a connection.
    fn receive(&mut self, connection: usize, at: Duration, bytes: &[u8]) -> Vec<Action>;

    /// Handles a datagram received from a connection's socket, with its mark of congestion. A peer of streams has no use
    /// for it.
    fn receive_datagram(
        &mut self,
        _connection: usize,
        _at: Duration,
        _datagram: &[u8],
        _ecn: Option<Ecn>,
    ) -> Vec<Action> {
        Vec::new()
    }

    /// Handles a wake-up requested by [`Action::Wake`].
    fn wake(&mut self, _connection: usize, _at: Duration) -> Vec<Action> {
        Vec::new()
    }
}

/// Response to a connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reception {
    /// Establishes the connection.
    Accept,
    /// Refuses it. Of datagrams: answers each by a message that nobody listens.
    Refuse,
    /// Does nothing, like a full backlog.
    Ignore,
    /// Nobody listens, and the socket meets itself: it reads what it writes.
    Itself,
}

/// Action of a peer, with its delay.
#[derive(Clone, Debug)]
pub enum Action {
    /// Sends bytes.
    Send(Duration, Vec<u8>),
    /// Sends a datagram with this mark of congestion.
    Datagram(Duration, Vec<u8>, Option<Ecn>),
    /// Ends its side of the connection. If it is one of datagrams: closes its port.
    Close(Duration),
    /// Resets the connection. If it is one of datagrams: closes its port.
    Reset(Duration),
    /// Requests a call of [`Peer::wake`].
    Wake(Duration),
}

/// Properties of the link between the worker and its peer.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Seed of all randomness.
    pub seed: u64,
    /// Propagation delay in each direction.
    pub latency: Duration,
    /// Maximum additional random delay. Bytes stay in order, and datagrams.
    pub jitter: Duration,
    /// Delivers bytes in pieces, shortens or temporarily refuses writes, reports sockets as ready that are not, and
    /// delivers one by one datagrams that could be read together.
    pub hostile: bool,
    /// Share of datagrams that are lost, in each direction. This and the following: from 0 to 1.
    pub loss: f64,
    /// Share of datagrams that arrive twice.
    pub repeat: f64,
    /// Share of datagrams that are held back, up to `reorder_by`, so that later ones overtake them.
    pub reorder: f64,
    /// The longest time for which a datagram is held back.
    pub reorder_by: Duration,
    /// Share of the datagrams from senders that listen to it that are marked as having met congestion (ECN).
    pub congestion: f64,
    /// The size of the largest datagram that gets through, in bytes of payload.
    pub datagram_max: usize,
    /// Maximum number of sockets.
    pub sockets_max: usize,
    /// Maximum number of sockets that the poller reports at once.
    pub told_max: usize,
    /// Periodic stops of the worker, if any.
    pub stops: Option<Stops>,
    /// Time and length of a single oversleep of the worker.
    pub nap: Option<(Duration, Duration)>,
    /// Provides receive time stamps.
    pub stamps: bool,
    /// Delay of sent bytes in the worker's machine, if send time stamps are provided.
    pub send_lag: Option<Duration>,
    /// Delay until the worker hears of an event on a socket.
    pub late: Duration,
    /// Lets the worker sleep without hearing of sockets. True by default.
    pub sleeps: bool,
    /// The virtual time after which a run counts as endless.
    pub time_max: Duration,
    /// The number of waits after which a run counts as endless.
    pub waits_max: u64,
}

/// Periodic stops of the worker, as by SIGSTOP: for `length` at the end of each period. The peer continues.
#[derive(Clone, Copy, Debug)]
pub struct Stops {
    /// Length of a period.
    pub every: Duration,
    /// Length of a stop.
    pub length: Duration,
}

impl Link {
    /// A link that takes no time and does nothing by chance.
    pub const DEFAULT: Self = Self {
        seed: 0,
        latency: Duration::ZERO,
        jitter: Duration::ZERO,
        hostile: false,
        loss: 0.0,
        repeat: 0.0,
        reorder: 0.0,
        reorder_by: Duration::ZERO,
        congestion: 0.0,
        datagram_max: usize::MAX,
        sockets_max: usize::MAX,
        told_max: usize::MAX,
        stops: None,
        nap: None,
        stamps: false,
        send_lag: None,
        late: Duration::ZERO,
        sleeps: true,
        time_max: Duration::from_secs(1_000_000),
        waits_max: 5_000_000,
    };
}

impl Default for Link {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Result of a run.
#[derive(Debug)]
pub struct Run {
    /// Summary of the worker.
    pub summary: Summary,
    /// Connections from the peer's side, in the order in which they were initiated.
    pub connections: Vec<Trace>,
    /// What became of the datagrams to the peer.
    pub to_peer: Carried,
    /// What became of the datagrams to the worker.
    pub to_worker: Carried,
    /// True if the run did not end by itself.
    pub is_endless: bool,
}

/// What became of datagrams on a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Datagrams that were sent.
    pub sent: u64,
    /// Those that were lost.
    pub lost: u64,
    /// Those that were too large.
    pub too_large: u64,
    /// Those that arrived twice.
    pub repeated: u64,
    /// Those that were held back.
    pub held_back: u64,
    /// Those that were marked as having met congestion.
    pub marked: u64,
}

/// A connection from the peer's side.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Time at which the worker initiated it.
    pub initiated: Duration,
    /// Time at which the worker closed it, if it did.
    pub closed: Option<Duration>,
    /// Pieces received, or datagrams, with their times.
    pub received: Vec<(Duration, Vec<u8>)>,
}

impl Trace {
    /// All bytes received, as text.
    #[must_use]
    pub fn text(&self) -> String {
        let bytes: Vec<u8> = self.received.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Request lines received, without the version.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        let text = self.text();
        let lines = text.lines().filter_map(|line| line.rsplit_once(" HTTP/1.")).map(|(line, _)| line);
        lines.map(str::to_owned).collect()
    }
}

/// Runs a plan against a peer.
pub fn run(plan: &Plan, link: Link, peer: impl Peer + 'static) -> Run {
    run_observed(plan, link, peer, &mut Silent)
}

/// Runs a plan against a peer, with an observer.
///
/// # Panics
/// If the library does not support the plan's TLS settings, or if the worker's poller fails, which this one
/// never does.
pub fn run_observed(plan: &Plan, link: Link, peer: impl Peer + 'static, observer: &mut dyn Observer) -> Run {
    run_shard(plan, Shard::WHOLE, link, peer, observer)
}

/// Runs one shard of a plan against its own peer, with an observer.
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
    run_replay(plan, shard, None, link, peer, observer)
}

/// Runs one shard of a plan against its own peer, with the requests of the recording that the plan replays, if it is a
/// replay.
///
/// # Panics
/// As [`run_observed`].
pub fn run_replay(
    plan: &Plan,
    shard: Shard,
    recorded: Option<RecordedRequests>,
    link: Link,
    peer: impl Peer + 'static,
    observer: &mut dyn Observer,
) -> Run {
    let world = Rc::new(RefCell::new(World::new(link, Box::new(peer))));
    let network = SimNetwork { world: Rc::clone(&world) };
    let security = security(plan).expect("the library knows what the plan names");
    let mut worker = Worker::new(plan, shard, security, network, observer);
    if let Some(recorded) = recorded {
        worker.replay(recorded);
    }
    worker.prepare().expect("the poller in memory never fails");
    let summary = worker.run().expect("the poller in memory never fails");
    let world = world.borrow();
    let [to_peer, to_worker] = world.carried();
    Run { summary, connections: world.traces(), to_peer, to_worker, is_endless: world.is_endless() }
}

/// The worker's view of the world.
struct SimNetwork {
    world: Rc<RefCell<World>>,
}

/// A simulated socket. Dropping it closes the connection.
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

    fn sleep(&mut self, deadline: Instant) -> bool {
        self.world.borrow_mut().sleep(deadline)
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

    fn met_itself(&mut self, socket: &SimSocket) -> bool {
        self.world.borrow_mut().met_itself(socket.number)
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

    fn open_datagrams(&mut self, _: &SocketAddr) -> io::Result<SimSocket> {
        let number = self.world.borrow_mut().open()?;
        Ok(SimSocket { number, world: Rc::clone(&self.world) })
    }

    fn connect_datagrams(
        &mut self,
        socket: &SimSocket,
        key: u64,
        _: &SocketAddr,
        _: Option<IpAddr>,
    ) -> io::Result<()> {
        self.world.borrow_mut().connect_datagrams(socket.number, key);
        Ok(())
    }

    fn send(
        &mut self,
        socket: &SimSocket,
        datagrams: &[u8],
        segment: usize,
        ecn: Option<Ecn>,
    ) -> io::Result<()> {
        self.world.borrow_mut().send(socket.number, datagrams, segment, ecn)
    }

    fn receive(&mut self, socket: &SimSocket, buffer: &mut BytesMut) -> io::Result<Arrived> {
        self.world.borrow_mut().receive(socket.number, buffer)
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
