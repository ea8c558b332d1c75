//! The transport of a connection: a socket, perhaps a tunnel through a proxy, perhaps TLS.

use std::io;

use httperf_proto::Engine;
use httperf_stats::{Instant, KernelTimes};

use super::at_instant;
use super::datagram::Datagram;
use super::progress::{Stage, Write, taken};
use super::sends::Sends;
use super::tls::{Secured, Tls};
use super::tunnel::Tunnel;
use crate::network::DISCARD_MAX;
use crate::worker::CallKey;
use crate::worker::run::Run;
use crate::{Network, Ready, Received};

/// Unwanted content of at least this many bytes is discarded in the kernel. Less comes with one read, together with what
/// follows.
const SKIP_SIZE: u64 = 64 * 1024;

/// The transport of a connection.
///
/// ```text
///   connecting ──► (tunnelling) ──► (handshaking) ──► established
/// ```
pub(super) struct Transport<S> {
    socket: S,
    stage: Stage,
    /// The request for a tunnel, while it is not answered.
    tunnel: Option<Box<Tunnel>>,
    secured: Option<Box<Secured>>,
    /// What it has of QUIC, if its socket is one of datagrams.
    datagram: Option<Box<Datagram>>,
    /// The calls whose send times the kernel is asked for.
    sends: Option<Box<Sends>>,
    /// An end or an error is known to follow the bytes that can be read, so that a short read is not the last.
    is_ending: bool,
    /// It takes no more bytes. It fails once the server's last bytes are read.
    is_broken: bool,
}

/// Outcome of a read.
pub(super) struct Read {
    pub(super) kind: ReadKind,
    /// The bytes, none if the peer sends no more.
    pub(super) received: Received,
    /// The number of bytes that there was room for.
    pub(super) wanted: usize,
}

/// A kind of bytes, and the place where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadKind {
    /// Content that nobody wants, nowhere.
    Skipped,
    /// Bytes of the server, in the buffer.
    Plain,
    /// Bytes of a proxy, in the buffer.
    Tunnel,
    /// Ciphertext, in TLS's room.
    Ciphertext,
}

impl<S> Transport<S> {
    pub(super) fn new(socket: S, secured: Option<Box<Secured>>) -> Self {
        Self {
            socket,
            stage: Stage::Connecting,
            tunnel: None,
            secured,
            datagram: None,
            sends: None,
            is_ending: false,
            is_broken: false,
        }
    }

    /// A transport over datagrams. `offered`: a session to resume is offered in its handshake. `offer`: the port of the offer of
    /// HTTP/3 for which it goes over datagrams, if for one.
    pub(super) fn over_datagrams(socket: S, offered: bool, offer: Option<u16>) -> Self {
        let datagram = Some(Box::new(Datagram::new(offered, offer)));
        Self { datagram, ..Self::new(socket, None) }
    }

    pub(super) fn datagram(&self) -> Option<&Datagram> {
        self.datagram.as_deref()
    }

    pub(super) fn datagram_mut(&mut self) -> Option<&mut Datagram> {
        self.datagram.as_deref_mut()
    }

    /// Returns whether a handshake comes before calls.
    pub(super) fn has_handshake(&self) -> bool {
        self.secured.is_some() || self.datagram.is_some()
    }

    pub(super) fn socket(&self) -> &S {
        &self.socket
    }

    pub(super) fn stage(&self) -> Stage {
        self.stage
    }

    pub(super) fn is_established(&self) -> bool {
        self.stage == Stage::Established
    }

    pub(super) fn is_secured(&self) -> bool {
        self.secured.is_some()
    }

    pub(super) fn secured(&self) -> Option<&Secured> {
        self.secured.as_deref()
    }

    pub(super) fn secured_mut(&mut self) -> Option<&mut Secured> {
        self.secured.as_deref_mut()
    }

    pub(super) fn tunnel_mut(&mut self) -> Option<&mut Tunnel> {
        self.tunnel.as_deref_mut()
    }

    pub(super) fn is_broken(&self) -> bool {
        self.is_broken
    }

    pub(super) fn is_ending(&self) -> bool {
        self.is_ending
    }

    /// Notes that the peer ends or has reset the transport.
    pub(super) fn handle_ready(&mut self, ready: &Ready) {
        self.is_ending |= ready.ended || ready.failed;
    }

    /// A write failed: the peer's last bytes are still read.
    pub(super) fn handle_broken(&mut self) {
        (self.is_broken, self.is_ending) = (true, true);
    }

    /// Asks the proxy for a tunnel first.
    pub(super) fn start_tunnel(&mut self, tunnel: Tunnel) {
        (self.stage, self.tunnel) = (Stage::Tunnelling, Some(Box::new(tunnel)));
    }

    /// The tunnel is there.
    pub(super) fn end_tunnel(&mut self) {
        self.tunnel = None;
    }

    pub(super) fn start_handshake(&mut self, at: Instant) {
        self.stage = Stage::Handshaking;
        if let Some(secured) = &mut self.secured {
            secured.start(at);
        }
        if let Some(datagram) = &mut self.datagram {
            datagram.started = at;
        }
    }

    pub(super) fn establish(&mut self) {
        self.stage = Stage::Established;
    }

    /// Returns whether bytes wait for the socket that the protocol does not know of.
    pub(super) fn has_unwritten(&self) -> bool {
        self.secured.as_ref().is_some_and(|secured| secured.has_unwritten())
            || self.datagram.as_ref().is_some_and(|datagram| datagram.has_unsent())
    }

    /// Reads once: into TLS's room if the transport is secured, otherwise into `buffer`. `skippable`: bytes of unwanted
    /// content that come next. `is_asked`: of the instant at which the bytes arrived.
    pub(super) fn read<N: Network<Socket = S>>(
        &self,
        network: &mut N,
        tls: Option<&mut Tls>,
        buffer: &mut [u8],
        skippable: u64,
        is_asked: bool,
    ) -> io::Result<Read> {
        let (kind, room) = match tls {
            _ if self.tunnel.is_some() => (ReadKind::Tunnel, buffer),
            Some(tls) if self.secured.is_some() => (ReadKind::Ciphertext, tls.room()),
            _ if skippable >= SKIP_SIZE => {
                let wanted = skippable.min(DISCARD_MAX as u64) as usize;
                let received = network.discard(&self.socket, wanted)?;
                return Ok(Read { kind: ReadKind::Skipped, received, wanted });
            }
            _ => (ReadKind::Plain, buffer),
        };
        let wanted = room.len();
        let received = match is_asked {
            true => network.read(&self.socket, room)?,
            false => network.read_unstamped(&self.socket, room)?.into(),
        };
        Ok(Read { kind, received, wanted })
    }

    /// Writes the next bytes, once: of the request for a tunnel, of TLS, or of the protocol.
    pub(super) fn write<N: Network<Socket = S>>(
        &mut self,
        network: &mut N,
        tls: Option<&mut Tls>,
        engine: &mut Engine,
        buffer: &mut Vec<u8>,
        now: Instant,
        run: &Run<'_>,
    ) -> io::Result<Write> {
        buffer.clear();
        if let Some(datagram) = &mut self.datagram {
            return datagram.write(network, &self.socket, engine, buffer, now);
        }
        if let Some(tunnel) = &mut self.tunnel {
            return tunnel.write(network, &self.socket, buffer);
        }
        let Some(mut stream) = engine.byte_stream() else { return Ok(Write::Idle) };
        if let (Some(secured), Some(tls)) = (&mut self.secured, tls) {
            secured.seal(tls, &mut stream, self.stage, now, run.plan);
            secured.poll_transmit(tls, buffer);
            if buffer.is_empty() {
                return Ok(Write::Idle);
            }
            let at = network.now();
            let sends = self.sends.as_deref_mut();
            let written = write(network, run, sends, &self.socket, [buffer, &[]]);
            let Some(count) = taken(written)? else {
                secured.handle_blocked(buffer);
                return Ok(Write::Blocked);
            };
            let plaintext = secured.handle_written(buffer, count);
            // The next attempt finds out whether there is more.
            return Ok(Write::Sent { count: plaintext, at, is_all: true });
        }
        if self.stage != Stage::Established {
            return Ok(Write::Idle);
        }
        let last = stream.poll_transmit_shared(at_instant(now), buffer);
        let size = buffer.len() + last.len();
        if size == 0 {
            return Ok(Write::Idle);
        }
        let at = network.now();
        let sends = self.sends.as_deref_mut();
        match taken(write(network, run, sends, &self.socket, [&buffer[..], last]))? {
            Some(count) => Ok(Write::Sent { count, at, is_all: count == size }),
            None => {
                stream.handle_blocked();
                Ok(Write::Blocked)
            }
        }
    }

    /// Prepares to ask the kernel when it sends the requests of `calls`, if it can say.
    pub(super) fn number_sent<N: Network<Socket = S>>(
        &mut self,
        network: &mut N,
        calls: impl Iterator<Item = CallKey>,
    ) {
        if network.number_sent(&self.socket).is_ok() {
            let mut sends = Sends::default();
            calls.for_each(|call| sends.submitted(call));
            self.sends = Some(Box::new(sends));
        }
    }

    pub(super) fn sends_mut(&mut self) -> Option<&mut Sends> {
        self.sends.as_deref_mut()
    }

    /// Returns the kernel's times of a call whose reply is complete and arrived at `received_at`.
    pub(super) fn kernel_times<N: Network<Socket = S>>(
        &mut self,
        network: &mut N,
        call: CallKey,
        received_at: Option<Instant>,
        run: &Run<'_>,
    ) -> KernelTimes {
        let Some(sends) = &mut self.sends else { return KernelTimes::default() };
        while let Some(stamp) = network.take_sent(&self.socket) {
            sends.stamped(stamp);
        }
        let times = sends.times(call, received_at);
        sends.retain(|call| run.find_call(call).is_some());
        times
    }

    /// Sends the last bytes of a connection that is about to go, as far as the socket takes them: those of TLS, or `last`
    /// in the clear.
    pub(super) fn send_last<N: Network<Socket = S>>(
        &mut self,
        network: &mut N,
        tls: Option<&mut Tls>,
        last: &[u8],
    ) {
        let sealed;
        let last = match (&mut self.secured, tls) {
            (Some(secured), Some(tls)) => {
                sealed = secured.last_words(tls, self.stage);
                &sealed[..]
            }
            _ => last,
        };
        if !last.is_empty() {
            // A peer that does not take it does not miss it.
            let _: io::Result<usize> = network.write(&self.socket, [last, &[]]);
        }
    }
}

/// Writes, and asks the kernel when it sends the bytes if they may be of a request to ask about.
fn write<N: Network>(
    network: &mut N,
    run: &Run<'_>,
    sends: Option<&mut Sends>,
    socket: &N::Socket,
    pieces: [&[u8]; 2],
) -> io::Result<usize> {
    let Some(sends) = sends else { return network.write(socket, pieces) };
    let count = if sends.is_asking(|call| run.find_call(call).is_some()) {
        network.write_stamped(socket, pieces)?
    } else {
        network.write(socket, pieces)?
    };
    sends.written(count);
    Ok(count)
}
