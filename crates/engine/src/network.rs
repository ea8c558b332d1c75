//! The interface between a worker and the world: a clock, sockets and a poller.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::SystemTime;

use bytes::BytesMut;
use httperf_plan::Endpoint;
use httperf_proto::quic::Ecn;
use httperf_stats::{Counters, Instant, SocketBuffers, Transport};

/// The maximum number of bytes discarded at once.
pub(crate) const DISCARD_MAX: usize = 4 * 1024 * 1024;

/// A clock, non-blocking stream sockets, and a poller over them.
///
/// Readiness is edge-triggered: a socket is reported when its state changes, so the worker must read a readable socket
/// until it would block (or until a short read, unless [`Ready::ended`] is set).
pub trait Network {
    /// An open socket. Dropping it closes it.
    type Socket;

    /// Returns the current time of the monotonic clock.
    fn now(&mut self) -> Instant;

    /// Returns the current wall-clock time, for cookies and certificates, which expire by date.
    fn wall_clock(&self) -> SystemTime;

    /// Creates a socket of the kind that `endpoint` needs, with the plan's options.
    ///
    /// # Errors
    /// The system's error.
    fn open(&mut self, endpoint: &Endpoint) -> io::Result<Self::Socket>;

    /// Initiates a connect, from `source` if given, and watches the socket under `key`.
    ///
    /// # Errors
    /// Immediate errors. Later ones show as readiness and are returned by [`Network::take_error`].
    fn connect(
        &mut self,
        socket: &Self::Socket,
        key: u64,
        endpoint: &Endpoint,
        source: Option<IpAddr>,
    ) -> io::Result<()>;

    /// Returns and clears the pending error of a socket, if there is one.
    fn take_error(&mut self, socket: &Self::Socket) -> Option<io::Error>;

    /// Returns whether a stream socket is connected to itself, as can happen on one machine if nobody listens: then nobody
    /// has accepted it, and its close is a reset.
    fn met_itself(&mut self, _socket: &Self::Socket) -> bool {
        false
    }

    /// Reads the bytes that have arrived; none at the end of the stream.
    ///
    /// # Errors
    /// `WouldBlock` if nothing has arrived; otherwise the system's error.
    fn read(&mut self, socket: &Self::Socket, buffer: &mut [u8]) -> io::Result<Received>;

    /// Reads as [`Network::read`] does, without asking when the bytes arrived.
    ///
    /// # Errors
    /// As [`Network::read`].
    fn read_unstamped(&mut self, socket: &Self::Socket, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(self.read(socket, buffer)?.count)
    }

    /// Discards up to `count` bytes (4 MiB at most) that have arrived; none at the end of the stream.
    ///
    /// # Errors
    /// As [`Network::read`].
    fn discard(&mut self, socket: &Self::Socket, count: usize) -> io::Result<Received>;

    /// Writes as much of two consecutive pieces as the socket accepts; one of them may be empty.
    ///
    /// # Errors
    /// `WouldBlock` if the socket accepts nothing; otherwise the system's error.
    fn write(&mut self, socket: &Self::Socket, pieces: [&[u8]; 2]) -> io::Result<usize>;

    /// Creates a socket of datagrams for a server at this address, with the plan's options.
    ///
    /// # Errors
    /// The system's error; `Unsupported` if the network has no datagrams.
    fn open_datagrams(&mut self, _server: &SocketAddr) -> io::Result<Self::Socket> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Connects a socket of datagrams, from `source` if given, and watches it under `key`.
    ///
    /// # Errors
    /// The system's error.
    fn connect_datagrams(
        &mut self,
        _socket: &Self::Socket,
        _key: u64,
        _server: &SocketAddr,
        _source: Option<IpAddr>,
    ) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Sets whether a socket of datagrams is reported as writable. At first it is.
    ///
    /// # Errors
    /// The system's error.
    fn watch_writable(&mut self, _socket: &Self::Socket, _key: u64, _is_watched: bool) -> io::Result<()> {
        Ok(())
    }

    /// Sends datagrams that lie in one buffer, each of `segment` bytes but the last, with this mark of congestion.
    ///
    /// # Errors
    /// `WouldBlock` if the socket accepts nothing; otherwise the system's error.
    fn send(
        &mut self,
        _socket: &Self::Socket,
        _datagrams: &[u8],
        _segment: usize,
        _ecn: Option<Ecn>,
    ) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Appends datagrams that have arrived to a buffer with room for 64 KiB, as many as the system has put together.
    ///
    /// # Errors
    /// `WouldBlock` if none has arrived; otherwise the system's error.
    fn receive(&mut self, _socket: &Self::Socket, _buffer: &mut BytesMut) -> io::Result<Arrived> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Enables stamps of [`Network::write_stamped`] on an established socket. Everything written before must have been
    /// answered.
    ///
    /// # Errors
    /// If the transport or the system does not support such stamps.
    fn number_sent(&mut self, _socket: &Self::Socket) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Writes as [`Network::write`], and requests a stamp for the instant at which the last byte leaves this machine.
    ///
    /// # Errors
    /// As [`Network::write`].
    fn write_stamped(&mut self, socket: &Self::Socket, pieces: [&[u8]; 2]) -> io::Result<usize> {
        self.write(socket, pieces)
    }

    /// Returns the oldest stamp of sent bytes that was not returned before.
    fn take_sent(&mut self, _socket: &Self::Socket) -> Option<SentStamp> {
        None
    }

    /// Waits until a socket is ready, until `deadline` (for ever if `None`), or until the end of the run is requested.
    /// Clears `ready` and fills it; it may stay empty.
    ///
    /// # Errors
    /// If the poller itself fails.
    fn wait(&mut self, deadline: Option<Instant>, ready: &mut Vec<Ready>) -> io::Result<()>;

    /// Waits as [`Network::wait`] does. A network may save a reading of its clock and take its last one instead, so that it waits
    /// longer by the time since then.
    ///
    /// # Errors
    /// As [`Network::wait`].
    fn wait_about(&mut self, deadline: Instant, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.wait(Some(deadline), ready)
    }

    /// Sleeps until `deadline`, and does not wake for sockets. A signal may end it before. Returns false, at once, if the
    /// network cannot do that.
    fn sleep(&mut self, _deadline: Instant) -> bool {
        false
    }

    /// Returns the readiness of the socket connected under `key`, even if no wait has reported it yet. A network whose
    /// waits report every ready socket need not implement this.
    fn readiness(&mut self, _socket: &Self::Socket, key: u64) -> Ready {
        Ready { key, ..Ready::default() }
    }

    /// Returns the machine's counters.
    fn counters(&mut self) -> Counters;

    /// Returns the transport's figures of a connection, if it has any.
    fn transport(&mut self, socket: &Self::Socket) -> Option<Transport>;

    /// Returns how many datagrams a socket has dropped so far, as its buffer was full.
    fn dropped_datagrams(&mut self, _socket: &Self::Socket) -> u64 {
        0
    }

    /// Returns the sizes of the buffers of a socket of datagrams, if the network has any.
    fn buffers(&mut self, _socket: &Self::Socket) -> Option<SocketBuffers> {
        None
    }

    /// Returns how often the clock that stamps received data has been set so far.
    fn clock_steps(&self) -> u64 {
        0
    }

    /// Returns true if the end of the run was requested.
    fn stop_requested(&self) -> bool;
}

/// Bytes that were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The number of bytes; 0 at the end of the stream.
    pub count: usize,
    /// The instant at which their last segment reached this machine, if known.
    pub stamp: Option<Instant>,
}

impl From<usize> for Received {
    fn from(count: usize) -> Self {
        Self { count, stamp: None }
    }
}

/// Datagrams that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Bytes of each but the last, which may be shorter.
    pub segment: usize,
    /// Their mark of congestion.
    pub ecn: Option<Ecn>,
    /// The instant at which the first of them reached this machine, if known.
    pub stamp: Option<Instant>,
}

/// The instant at which bytes written by [`Network::write_stamped`] left this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentStamp {
    /// The number of the last byte, from 0, counted since [`Network::number_sent`], modulo 2^32.
    pub last_byte: u32,
    /// The instant, if known.
    pub at: Option<Instant>,
}

/// A socket whose state changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    /// The key under which it was connected.
    pub key: u64,
    /// Data can be read, or the end of the stream.
    pub readable: bool,
    /// Data can be written.
    pub writable: bool,
    /// The peer has ended its side of the stream.
    pub ended: bool,
    /// An error is pending.
    pub failed: bool,
}
