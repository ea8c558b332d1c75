//! Sockets of servers that record the truth: a listener, connections with the kernel's receive stamps, a poller, and the
//! clocks.

use std::collections::HashMap;
use std::net::SocketAddrV4;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, bail};
use httperf_sys::{receive, stamp_received};
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrAny, SocketFlags, SocketType, accept_with, bind, getsockname, listen,
    socket_with,
};
use rustix::thread::set_current_timer_slack;
use signal_hook::consts::{SIGINT, SIGTERM};

/// A listener, and a poller for it, its connections, and the signals that end the process.
#[derive(Debug)]
pub(crate) struct Sockets {
    poller: OwnedFd,
    listener: OwnedFd,
    /// A byte arrives here when the process is asked to end.
    _stop: UnixStream,
    /// By number, in order of acceptance.
    connections: HashMap<u64, Connection>,
    accepted: u64,
    buffer: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) socket: OwnedFd,
    /// Incomplete request.
    pub(crate) input: Vec<u8>,
}

/// Instants of a read that brought something.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) read: Instant,
    /// Kernel's receipt of the last segment by the wall clock, or the read if that is not known.
    pub(crate) received_ns: u64,
    pub(crate) is_stamped: bool,
}

/// A report of the poller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ready {
    /// The process is asked to end.
    Stop,
    Listener,
    /// A connection, by its number.
    Connection(u64),
}

const BACKLOG: i32 = 4096;
const EVENT_BATCH: usize = 1024;
/// Larger than any request of the programs, so one read empties the socket.
const READ_SIZE: usize = 16 * 1024;
/// A connection is closed if its request has not ended by then.
const REQUEST_SIZE_MAX: usize = READ_SIZE;

const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;

impl Sockets {
    /// Listens at a free port of the loopback interface. The calling thread is to do the waiting.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let listener = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        // The kernel begins to stamp shortly after the first socket requests it.
        stamp_received(&listener).context("the kernel does not timestamp received data")?;
        bind(&listener, &SocketAddrV4::new([127, 0, 0, 1].into(), 0))?;
        listen(&listener, BACKLOG)?;

        let (stop, stop_writer) = UnixStream::pair()?;
        signal_hook::low_level::pipe::register(SIGTERM, stop_writer.try_clone()?)?;
        signal_hook::low_level::pipe::register(SIGINT, stop_writer)?;

        let poller = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&poller, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        epoll::add(&poller, &stop, EventData::new_u64(STOP), EventFlags::IN)?;
        // For maximum precision: by default Linux wakes sleepers up to 50 us late.
        set_current_timer_slack(NonZeroU64::new(1))?;
        let connections = HashMap::new();
        Ok(Sockets { poller, listener, _stop: stop, connections, accepted: 0, buffer: vec![0; READ_SIZE] })
    }

    pub(crate) fn address(&self) -> anyhow::Result<SocketAddrV4> {
        let address: SocketAddrAny = getsockname(&self.listener)?;
        Ok(SocketAddrV4::try_from(address)?)
    }

    /// Waits until something is ready or due, and returns what is ready.
    pub(crate) fn wait(&self, due: Option<Instant>) -> anyhow::Result<Vec<Ready>> {
        let mut events = Vec::with_capacity(EVENT_BATCH);
        match epoll::wait(&self.poller, spare_capacity(&mut events), due.map(until).as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready = |event: epoll::Event| match event.data.u64() {
            STOP => Ready::Stop,
            LISTENER => Ready::Listener,
            number => Ready::Connection(number),
        };
        Ok(events.into_iter().map(ready).collect())
    }

    /// Accepts all connections that wait.
    pub(crate) fn accept(&mut self) -> anyhow::Result<()> {
        loop {
            let number = self.accepted;
            let socket = match accept_with(&self.listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                Ok(socket) => socket,
                Err(Errno::AGAIN) => return Ok(()),
                // The peer gave up while it waited in the queue.
                Err(Errno::CONNABORTED | Errno::INTR) => continue,
                Err(error) => bail!("cannot accept connection {}: {error}", number + 1),
            };
            stamp_received(&socket)?;
            epoll::add(&self.poller, &socket, EventData::new_u64(number), EventFlags::IN)?;
            self.accepted += 1;
            self.connections.insert(number, Connection { socket, input: Vec::new() });
        }
    }

    /// Returns a connection, unless it has ended.
    pub(crate) fn connection(&mut self, number: u64) -> Option<&mut Connection> {
        self.connections.get_mut(&number)
    }

    /// Appends what has arrived to the input of a connection. `None` if nothing has, or the connection has ended.
    pub(crate) fn read(&mut self, number: u64) -> Option<Arrival> {
        let connection = self.connections.get_mut(&number)?;
        match receive(&connection.socket, &mut self.buffer, false) {
            Ok(stamped) if stamped.count > 0 => {
                let read = Instant::now();
                connection.input.extend_from_slice(&self.buffer[..stamped.count]);
                let received_ns = stamped.stamp.map_or_else(wall_clock_ns, in_ns);
                Some(Arrival { read, received_ns, is_stamped: stamped.stamp.is_some() })
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => None,
            // The end of the stream, or an error, which ends it too.
            _ => {
                self.close(number);
                None
            }
        }
    }

    /// Closes a connection whose request does not end.
    pub(crate) fn close_if_endless(&mut self, number: u64) {
        if self.connections.get(&number).is_some_and(|connection| connection.input.len() > REQUEST_SIZE_MAX) {
            self.close(number);
        }
    }

    pub(crate) fn close(&mut self, number: u64) {
        self.connections.remove(&number);
    }
}

fn until(at: Instant) -> Timespec {
    let duration = at.saturating_duration_since(Instant::now());
    Timespec::try_from(duration).expect("a delay does not last for ages")
}

/// Reads the clock of the kernel's stamps.
pub(crate) fn wall_clock_ns() -> u64 {
    in_ns(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}

fn in_ns(time: Duration) -> u64 {
    time.as_nanos() as u64
}
