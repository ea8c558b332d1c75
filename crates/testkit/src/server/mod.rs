//! A scripted HTTP server on a real loopback socket, for end-to-end tests.
//!
//! Its behaviour is a value, a [`Behaviour`]; its observations are [`ConnectionRecord`]s: raw bytes with
//! times, the order of connections, their source ports and how each one ended. It understands just enough
//! HTTP to find the end of a request: everything it sends is in its script, so it can be as wrong as a test
//! requires.
//!
//! Each connection has two threads, one that reads and one that replies, so that times of arrival are
//! accurate while a reply is delayed. All threads are stopped and joined when the server is dropped.

mod behaviour;
mod connection;
mod record;
mod requests;

pub use behaviour::{Behaviour, Order, Reply, Script, Step};
pub use record::{ConnectionRecord, End, Ended, Read, Received};

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::net;

use connection::Shared;

/// Maximum number of connections that a server accepts; further ones are closed unread.
const CONNECTIONS_MAX: usize = 10_000;

/// Time that [`Server::finish`] waits for clients to close their connections.
const FINISH_WAIT: Duration = Duration::from_millis(500);

/// Time limit of an attempt to fill a backlog or to wake the accepting thread.
const CONNECT_WAIT: Duration = Duration::from_millis(200);

/// Maximum number of connections tried to fill a backlog of 0.
const BACKLOG_FILL_MAX: usize = 8;

/// A running server. Dropping it stops and joins its threads.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
    /// Keeps the port bound; for a [`Behaviour`] that serves, the acceptor owns the listener.
    _port: Option<HeldPort>,
}

impl Server {
    /// Starts a server on a free port of 127.0.0.1, chosen by the kernel.
    ///
    /// # Errors
    ///
    /// If no socket can be opened, or a backlog cannot be filled.
    pub fn start(behaviour: Behaviour) -> io::Result<Self> {
        match behaviour {
            Behaviour::Serve(script) => Self::serving(script),
            Behaviour::FullBacklog => Self::with_full_backlog(),
            Behaviour::Refuse => Self::refusing(),
        }
    }

    /// Address of the server.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Port of [`Server::address`].
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Records so far, in order of acceptance.
    #[must_use]
    pub fn connections(&self) -> Vec<ConnectionRecord> {
        self.shared.records()
    }

    /// Waits, for a bounded time, until clients have closed all connections; then stops the server and
    /// returns the records. A connection that is still open has no end in its record.
    #[must_use]
    pub fn finish(self) -> Vec<ConnectionRecord> {
        // Connections are accepted in order: once this one is, so are all that clients opened before it.
        let last = match self.acceptor {
            Some(_) => TcpStream::connect_timeout(&self.address, CONNECT_WAIT).ok(),
            None => None,
        };
        let last_port = last.as_ref().and_then(|last| last.local_addr().ok()).map(|address| address.port());
        self.shared.wait_until_ended_up_to(last_port, FINISH_WAIT);
        let mut records = self.shared.records();
        records.retain(|record| Some(record.peer_port) != last_port);
        records
    }

    fn serving(script: Script) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::new(script));
        let for_acceptor = Arc::clone(&shared);
        let acceptor =
            thread::Builder::new().name("acceptor".into()).spawn(move || accept(&listener, &for_acceptor))?;
        Ok(Self { address, shared, acceptor: Some(acceptor), _port: None })
    }

    /// Listens without ever accepting, with a full backlog: further SYNs are dropped, so a client waits for
    /// its connection.
    fn with_full_backlog() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        net::listen(&listener, 0)?;
        let address = listener.local_addr()?;
        let mut fillers = Vec::new();
        loop {
            match TcpStream::connect_timeout(&address, CONNECT_WAIT) {
                Ok(filler) if fillers.len() < BACKLOG_FILL_MAX => fillers.push(filler),
                Ok(_) => return Err(io::Error::other("the backlog of the listener cannot be filled")),
                Err(error) if error.kind() == io::ErrorKind::TimedOut => break,
                Err(error) => return Err(error),
            }
        }
        let port = HeldPort::Full { _listener: listener, _fillers: fillers };
        Ok(Self { address, shared: Arc::default(), acceptor: None, _port: Some(port) })
    }

    /// Binds a port without listening: connections are refused, and nobody else can use the port.
    fn refusing() -> io::Result<Self> {
        let socket = net::socket(net::AddressFamily::INET, net::SocketType::STREAM, None)?;
        net::bind(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let bound = TcpListener::from(socket);
        let address = bound.local_addr()?;
        let port = HeldPort::Silent { _socket: bound };
        Ok(Self { address, shared: Arc::default(), acceptor: None, _port: Some(port) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop();
        let Some(acceptor) = self.acceptor.take() else { return };
        // The acceptor sleeps in accept(): one more connection wakes it. If that fails, the backlog is full
        // of others, which wake it too.
        drop(TcpStream::connect_timeout(&self.address, CONNECT_WAIT));
        if acceptor.join().is_err() && !thread::panicking() {
            panic!("the accepting thread of the scripted server panicked");
        }
    }
}

#[derive(Debug)]
enum HeldPort {
    Full { _listener: TcpListener, _fillers: Vec<TcpStream> },
    Silent { _socket: TcpListener },
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    loop {
        let accepted = listener.accept();
        if shared.stopped() {
            break;
        }
        // A client that left before it was accepted, or a lack of descriptors, is no reason to stop.
        let Ok((stream, peer)) = accepted else {
            thread::sleep(Duration::from_millis(1));
            continue;
        };
        threads.retain(|thread| !thread.is_finished());
        if let Some(connection) = shared.admit(stream, peer, CONNECTIONS_MAX)
            && let Ok(thread) =
                thread::Builder::new().name("connection".into()).spawn(move || connection.run())
        {
            threads.push(thread);
        }
    }
    for thread in threads {
        thread.join().expect("a connection's thread reports errors in its record and does not panic");
    }
}

#[cfg(test)]
mod tests;
