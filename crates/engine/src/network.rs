//! What a worker asks of the world: a clock, sockets and a poller.

use std::io;
use std::net::IpAddr;
use std::time::SystemTime;

use httperf_plan::Endpoint;
use httperf_stats::{Counters, Instant, Transport};

/// How many bytes are discarded at once.
pub(crate) const DISCARD_MAX: usize = 4 * 1024 * 1024;

/// A clock, non-blocking stream sockets, and a poller over them.
///
/// Readiness is edge-triggered: a socket is reported when its state changes, so whoever is told that it is
/// readable reads until it would block (or until a short read, unless [`Ready::ended`] is set).
pub trait Network {
    /// An open socket. Dropping it closes it.
    type Socket;

    /// The time now.
    fn now(&mut self) -> Instant;

    /// The wall-clock time now, for what expires by date.
    fn wall_clock(&self) -> SystemTime;

    /// Makes a socket of the kind that `endpoint` needs, with the plan's options set.
    ///
    /// # Errors
    /// The system's.
    fn open(&mut self, endpoint: &Endpoint) -> io::Result<Self::Socket>;

    /// Initiates a connect, from `source` if given, and watches the socket under `key`.
    ///
    /// # Errors
    /// Those that show at once; others show as readiness and are told by [`Network::take_error`].
    fn connect(
        &mut self,
        socket: &Self::Socket,
        key: u64,
        endpoint: &Endpoint,
        source: Option<IpAddr>,
    ) -> io::Result<()>;

    /// The error that waits on a socket, if there is one.
    fn take_error(&mut self, socket: &Self::Socket) -> Option<io::Error>;

    /// Reads what has arrived; nothing is the end of the stream.
    ///
    /// # Errors
    /// `WouldBlock` when nothing has arrived; otherwise the system's.
    fn read(&mut self, socket: &Self::Socket, buffer: &mut [u8]) -> io::Result<Received>;

    /// Takes what has arrived, up to `count` bytes (4 MiB at most), and forgets it; nothing is the end of the stream.
    ///
    /// # Errors
    /// As [`Network::read`].
    fn discard(&mut self, socket: &Self::Socket, count: usize) -> io::Result<Received>;

    /// Writes what the socket takes of two pieces, one after the other, of which one may be empty.
    ///
    /// # Errors
    /// `WouldBlock` when it takes nothing; otherwise the system's.
    fn write(&mut self, socket: &Self::Socket, pieces: [&[u8]; 2]) -> io::Result<usize>;

    /// Has what is written to an established socket stamped from now on, where [`Network::write_stamped`] asks for it.
    /// What was written before must have been answered.
    ///
    /// # Errors
    /// Where the transport, or the system, has no such stamps.
    fn number_sent(&mut self, _socket: &Self::Socket) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// As [`Network::write`], and has it stamped when the last byte of it leaves this machine.
    ///
    /// # Errors
    /// As [`Network::write`].
    fn write_stamped(&mut self, socket: &Self::Socket, pieces: [&[u8]; 2]) -> io::Result<usize> {
        self.write(socket, pieces)
    }

    /// The oldest stamp of what was sent that was not taken yet.
    fn take_sent(&mut self, _socket: &Self::Socket) -> Option<SentStamp> {
        None
    }

    /// Waits until a socket is ready, until `deadline` (for ever if `None`), or until someone asks for the
    /// end of the run. Clears `ready` and fills it; it may stay empty.
    ///
    /// # Errors
    /// When the poller itself is broken.
    fn wait(&mut self, deadline: Option<Instant>, ready: &mut Vec<Ready>) -> io::Result<()>;

    /// Readiness of a socket that was connected under `key`, whether or not a wait has told it. A network whose
    /// waits tell all that is ready has nothing to say.
    fn readiness(&mut self, _socket: &Self::Socket, key: u64) -> Ready {
        Ready { key, ..Ready::default() }
    }

    /// What the machine's counters say now.
    fn counters(&mut self) -> Counters;

    /// What the transport says of a connection, if it has anything to say.
    fn transport(&mut self, socket: &Self::Socket) -> Option<Transport>;

    /// Number of times so far that the clock was set by which received data is stamped.
    fn clock_steps(&self) -> u64 {
        0
    }

    /// Whether someone asked for the end of the run.
    fn stop_requested(&self) -> bool;
}

/// Bytes that were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Their number; 0 is the end of the stream.
    pub count: usize,
    /// When the last segment of them reached this machine, if that is known.
    pub stamp: Option<Instant>,
}

impl From<usize> for Received {
    fn from(count: usize) -> Self {
        Self { count, stamp: None }
    }
}

/// When bytes left this machine that were written with [`Network::write_stamped`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentStamp {
    /// The number of the last of them, from 0, counted since [`Network::number_sent`] modulo 2^32.
    pub last_byte: u32,
    /// When that was, if it is known.
    pub at: Option<Instant>,
}

/// A socket whose state changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    /// The key it was connected under.
    pub key: u64,
    /// There is something to read, perhaps the end of the stream.
    pub readable: bool,
    /// It takes bytes.
    pub writable: bool,
    /// The peer sends nothing more.
    pub ended: bool,
    /// An error waits on it.
    pub failed: bool,
}
