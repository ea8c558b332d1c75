//! The transport of a connection over QUIC, where it is not the library's: datagrams, their socket, and its figures.

use std::io;

use httperf_proto::Engine;
use httperf_proto::quic::{self, Datagrams, Figures};
use httperf_stats::{Instant, SocketBuffers};

use super::at_instant;
use super::progress::Write;
use super::protocol::SocketFigures;
use crate::Network;

/// The number of datagrams that are handed to the system at once (udp(7): at most 64).
const DATAGRAMS_MAX: usize = 32;

/// What a connection's transport has of QUIC.
#[derive(Debug)]
pub(super) struct Datagram {
    /// The beginning of the handshake.
    pub(super) started: Instant,
    /// A session was offered for resumption.
    pub(super) offered: bool,
    /// The port of the offer of HTTP/3 for which it goes over QUIC, if for one.
    pub(super) offer: Option<u16>,
    /// It only stays for a session ticket that others need.
    pub(super) awaits_ticket: bool,
    /// Requests that were refused as early data and are still to be sent again.
    pub(super) replays: u64,
    /// The key under which the socket is watched, from the beginning of the handshake on.
    pub(super) key: Option<u64>,
    /// Datagrams that the socket did not take, and their form.
    unsent: Option<(Vec<u8>, Datagrams)>,
    /// The socket is reported as writable.
    is_watched: bool,
    /// Figures that have been taken.
    taken: Figures,
    /// Datagrams that the socket had dropped when that was last asked.
    dropped: u64,
    /// Attempts to send that the socket refused since they were taken last.
    sends_blocked: u64,
}

impl Datagram {
    /// `offered`: a session is offered for resumption. `offer`: the port of the offer of HTTP/3 for which it goes over
    /// QUIC.
    pub(super) fn new(offered: bool, offer: Option<u16>) -> Self {
        Self {
            started: Instant::default(),
            offered,
            offer,
            awaits_ticket: false,
            unsent: None,
            key: None,
            is_watched: true,
            replays: 0,
            taken: Figures::default(),
            dropped: 0,
            sends_blocked: 0,
        }
    }

    /// Returns the figures of a connection since they were taken last.
    pub(super) fn take_figures(&mut self, quic: &quic::Connection) -> Figures {
        let now = quic.figures();
        let before = std::mem::replace(&mut self.taken, now);
        now.since(&before)
    }

    /// Returns the figures of a socket since they were taken last. `dropped`: the datagrams that it has dropped so far.
    pub(super) fn take_socket_figures(
        &mut self,
        dropped: u64,
        buffers: Option<SocketBuffers>,
    ) -> SocketFigures {
        let before = std::mem::replace(&mut self.dropped, dropped);
        let sends_blocked = std::mem::take(&mut self.sends_blocked);
        SocketFigures { dropped: dropped.saturating_sub(before), sends_blocked, buffers }
    }

    /// A request was sent completely. Returns whether it is one that had been refused as early data.
    pub(super) fn take_replay(&mut self) -> bool {
        let is_replay = self.replays > 0;
        self.replays -= u64::from(is_replay);
        is_replay
    }

    /// Returns whether datagrams wait for the socket.
    pub(super) fn has_unsent(&self) -> bool {
        self.unsent.is_some()
    }

    /// Sends the next datagrams. Out of the way of calls over TCP.
    #[inline(never)]
    pub(super) fn write<N: Network>(
        &mut self,
        network: &mut N,
        socket: &N::Socket,
        engine: &mut Engine,
        buffer: &mut Vec<u8>,
        now: Instant,
    ) -> io::Result<Write> {
        let form = match self.unsent.take() {
            Some((bytes, form)) => {
                *buffer = bytes;
                form
            }
            None => {
                let engine = engine.datagrams_mut();
                let due = engine.and_then(|it| it.poll_datagrams(at_instant(now), DATAGRAMS_MAX, buffer));
                let Some(form) = due else {
                    self.watch(network, socket, false)?;
                    return Ok(Write::Idle);
                };
                form
            }
        };
        let at = network.now();
        match network.send(socket, buffer, form.segment, form.ecn) {
            Ok(()) => Ok(Write::Sent { count: buffer.len(), at, is_all: true }),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.unsent = Some((std::mem::take(buffer), form));
                self.sends_blocked += 1;
                self.watch(network, socket, true)?;
                Ok(Write::Blocked)
            }
            // A datagram that is too large for the path is lost, which is how the path's MTU is found.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::MSGSIZE.raw_os_error()) => {
                Ok(Write::Sent { count: buffer.len(), at, is_all: true })
            }
            Err(error) => Err(error),
        }
    }

    /// Has the socket reported as writable only while datagrams wait for it.
    fn watch<N: Network>(&mut self, network: &mut N, socket: &N::Socket, writable: bool) -> io::Result<()> {
        match self.key {
            Some(key) if self.is_watched != writable => {
                network.watch_writable(socket, key, writable)?;
                self.is_watched = writable;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
