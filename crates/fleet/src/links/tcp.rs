//! Links over TCP.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::driver::{TO_HOST, now};
use crate::host_event::PeerId;
use crate::wire::Time;

use super::{Input, Links, Wake};

/// Bytes read at once.
const READ_SIZE: usize = 64 * 1024;

/// The time for one attempt to connect.
const ATTEMPT: Duration = Duration::from_secs(2);

/// The pause between attempts to connect.
const PAUSE: Duration = Duration::from_millis(100);

/// Sockets to peers, and the one at which new ones arrive.
pub(super) struct TcpLinks {
    listener: Option<TcpListener>,
    links: BTreeMap<PeerId, Link>,
    next: PeerId,
    wake: Wake,
    /// What is to be told at the next wait.
    waiting: Vec<(Time, Input)>,
}

struct Link {
    stream: TcpStream,
    unsent: VecDeque<u8>,
    /// Closed once all was sent.
    is_closing: bool,
}

impl TcpLinks {
    /// Listens at this address, on all interfaces unless it is one of this machine alone: a launcher's name of a machine
    /// may be that of another interface than the one by which others come.
    pub(super) fn listen(host: &str, port: u16) -> io::Result<Self> {
        let addresses: Vec<SocketAddr> = match (host, port).to_socket_addrs() {
            Ok(addresses) => addresses.collect(),
            Err(_) => Vec::new(),
        };
        let is_local = !addresses.is_empty() && addresses.iter().all(|address| address.ip().is_loopback());
        let listener = if is_local {
            TcpListener::bind(&addresses[..])?
        } else {
            // With a kernel without IPv6, there is only the other.
            TcpListener::bind(("::", port)).or_else(|error| match error.kind() {
                ErrorKind::AddrInUse | ErrorKind::PermissionDenied => Err(error),
                _ => TcpListener::bind(("0.0.0.0", port)),
            })?
        };
        listener.set_nonblocking(true)?;
        let (links, waiting) = (BTreeMap::new(), Vec::new());
        Ok(Self { listener: Some(listener), links, next: 0, wake: Wake::new()?, waiting })
    }

    /// Connects to rank 0.
    pub(super) fn connect(
        host: &str,
        port: u16,
        patience: Duration,
        goes_on: &dyn Fn() -> bool,
    ) -> io::Result<Self> {
        let end = Instant::now() + patience;
        let stream = loop {
            let error = match attempt(host, port) {
                Ok(stream) => break stream,
                Err(error) => error,
            };
            if !goes_on() {
                return Err(ErrorKind::Interrupted.into());
            }
            if Instant::now() >= end {
                return Err(error);
            }
            std::thread::sleep(PAUSE);
        };
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let link = Link { stream, unsent: VecDeque::new(), is_closing: false };
        let links = BTreeMap::from([(TO_HOST, link)]);
        Ok(Self { listener: None, links, next: TO_HOST + 1, wake: Wake::new()?, waiting: Vec::new() })
    }

    fn accept(&mut self, inputs: &mut Vec<(Time, Input)>) {
        while let Some(accepted) = self.listener.as_ref().map(TcpListener::accept) {
            let (stream, from) = match accepted {
                Ok((stream, from)) => (stream, from.ip().to_canonical().to_string()),
                Err(error) if is_harmless(&error) => return,
                // Without a free descriptor the next wait would end at once.
                Err(_) => return std::thread::sleep(PAUSE / 10),
            };
            // One that cannot be set up is gone already.
            if stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true)).is_ok() {
                let id = self.next;
                self.next += 1;
                self.links.insert(id, Link { stream, unsent: VecDeque::new(), is_closing: false });
                inputs.push((now(), Input::Connected(id, from)));
            }
        }
    }

    fn lose(&mut self, id: PeerId, reason: &str, inputs: &mut Vec<(Time, Input)>) {
        if let Some(link) = self.links.remove(&id)
            && !link.is_closing
        {
            inputs.push((now(), Input::Closed(id, reason.to_owned())));
        }
    }

    /// Reads once. A peer that sends without end is read again when the others had their turn.
    fn read(&mut self, id: PeerId, inputs: &mut Vec<(Time, Input)>) {
        let mut buffer = vec![0; READ_SIZE];
        let Some(link) = self.links.get_mut(&id) else { return };
        match link.stream.read(&mut buffer) {
            Ok(0) => self.lose(id, "its connection was closed", inputs),
            Ok(count) => {
                buffer.truncate(count);
                if !link.is_closing {
                    inputs.push((now(), Input::Bytes(id, buffer)));
                }
            }
            Err(error) if is_harmless(&error) => {}
            Err(error) => self.lose(id, &format!("its connection failed: {error}"), inputs),
        }
    }

    fn write(&mut self, id: PeerId, inputs: &mut Vec<(Time, Input)>) {
        let Some(link) = self.links.get_mut(&id) else { return };
        while !link.unsent.is_empty() {
            let (bytes, _) = link.unsent.as_slices();
            match link.stream.write(bytes) {
                Ok(count) => drop(link.unsent.drain(..count)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => return self.lose(id, &format!("its connection failed: {error}"), inputs),
            }
        }
        if link.is_closing {
            self.links.remove(&id);
        }
    }
}

fn attempt(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, ATTEMPT) {
            Ok(stream) if met_itself(&stream) => last = ErrorKind::ConnectionRefused.into(),
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Returns whether nobody listens at a port of this machine and a connection to it has been given that port as its own. Its
/// close is a reset then, so that the port is free for the host.
fn met_itself(stream: &TcpStream) -> bool {
    let met = matches!((stream.local_addr(), stream.peer_addr()), (Ok(own), Ok(peer)) if own == peer);
    if met {
        rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO)).ok();
    }
    met
}

fn is_harmless(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

impl Links for TcpLinks {
    fn wait(&mut self, timeout: Duration, inputs: &mut Vec<(Time, Input)>) {
        inputs.append(&mut self.waiting);
        let timeout = if inputs.is_empty() { timeout } else { Duration::ZERO };
        let ids: Vec<PeerId> = self.links.keys().copied().collect();
        let ready: Vec<bool> = {
            let mut watched = vec![PollFd::new(&*self.wake.0, PollFlags::IN)];
            watched.extend(self.listener.iter().map(|listener| PollFd::new(listener, PollFlags::IN)));
            watched.extend(self.links.values().map(|link| {
                let out = if link.unsent.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
                PollFd::new(&link.stream, PollFlags::IN | out)
            }));
            let limit = Timespec::try_from(timeout).ok();
            if poll(&mut watched, limit.as_ref()).is_err() {
                // Interrupted: the caller comes back.
                return;
            }
            watched.iter().map(|watched| !watched.revents().is_empty()).collect()
        };
        if ready[0] {
            self.wake.clear();
        }
        let listeners = usize::from(self.listener.is_some());
        for (id, _) in ids.into_iter().zip(&ready[1 + listeners..]).filter(|&(_, &is_ready)| is_ready) {
            self.write(id, inputs);
            self.read(id, inputs);
        }
        if listeners == 1 && ready[1] {
            self.accept(inputs);
        }
    }

    fn send(&mut self, peer: PeerId, bytes: Vec<u8>) {
        if let Some(link) = self.links.get_mut(&peer) {
            link.unsent.extend(bytes);
            let mut inputs = std::mem::take(&mut self.waiting);
            self.write(peer, &mut inputs);
            self.waiting = inputs;
        }
    }

    fn close(&mut self, peer: PeerId) {
        if let Some(link) = self.links.get_mut(&peer) {
            link.is_closing = true;
            if link.unsent.is_empty() {
                self.links.remove(&peer);
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.links.values().all(|link| link.unsent.is_empty())
    }

    fn wake(&self) -> Wake {
        self.wake.clone()
    }
}
