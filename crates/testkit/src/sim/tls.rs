//! A peer that speaks TLS.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read, Write};
use std::time::Duration;

use boring::ssl::{ErrorCode, Ssl, SslContext, SslContextBuilder, SslMethod, SslStream, SslVersion};
use httperf_certificates::Identity;

use super::{Action, Peer, Reception};

/// TLS settings of a server with a self-signed certificate for `server`, to be customized: they accept every
/// version and early data, and issue tickets.
///
/// # Panics
/// Never: the certificate is valid.
#[must_use]
pub fn tls_server() -> SslContextBuilder {
    let Identity { certificate, key } =
        Identity::self_signed("server").expect("a certificate takes nothing but memory");
    let mut builder = SslContextBuilder::new(SslMethod::tls()).expect("a context needs nothing but memory");
    builder.set_certificate(&certificate).expect("a certificate that was just made");
    builder.set_private_key(&key).expect("the key of the certificate");
    builder.set_min_proto_version(Some(SslVersion::TLS1)).expect("the library has every version");
    httperf_sys::tls::enable_early_data(&mut builder);
    builder
}

/// End of the data of a [`TlsPeer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goodbye {
    /// Sends a close_notify, as required.
    Said,
    /// Sends none.
    Withheld,
    /// Sends a close_notify as soon as the handshake is complete, together with the session tickets.
    AtOnce,
}

/// Speaks TLS with the worker and plaintext with an inner peer.
pub struct TlsPeer<P> {
    inner: P,
    server: SslContext,
    goodbye: Goodbye,
    connections: HashMap<usize, SslStream<Pipe>>,
}

impl<P: Peer> TlsPeer<P> {
    /// Wraps `inner` in TLS.
    pub fn new(inner: P, server: SslContext, goodbye: Goodbye) -> Self {
        Self { inner, server, goodbye, connections: HashMap::new() }
    }

    fn stream(&mut self, connection: usize) -> &mut SslStream<Pipe> {
        self.connections.entry(connection).or_insert_with(|| {
            let ssl = Ssl::new(&self.server).expect("a connection needs nothing but memory");
            SslStream::new(ssl, Pipe::default()).expect("a stream needs nothing but memory")
        })
    }

    /// Converts the inner peer's actions to TLS.
    fn encrypted(&mut self, connection: usize, asked: Vec<Action>) -> Vec<Action> {
        let goodbye = self.goodbye;
        let mut actions = Vec::new();
        let stream = self.stream(connection);
        for action in asked {
            match action {
                Action::Send(delay, plaintext) => {
                    // Only a connection that has sent close_notify accepts no more data.
                    if stream.write_all(&plaintext).is_ok() {
                        actions.push(stream.get_mut().send(delay));
                    }
                }
                Action::Close(delay) => {
                    if goodbye == Goodbye::Said {
                        // Pointless if the worker has already ended the connection.
                        stream.shutdown().map(drop).unwrap_or_default();
                        actions.push(stream.get_mut().send(delay));
                    }
                    actions.push(Action::Close(delay));
                }
                Action::Datagram(..) | Action::Reset(_) | Action::Wake(_) => actions.push(action),
            }
        }
        actions
    }
}

impl<P> std::fmt::Debug for TlsPeer<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsPeer").field("connections", &self.connections.len()).finish_non_exhaustive()
    }
}

impl<P: Peer> Peer for TlsPeer<P> {
    fn accept(&mut self, connection: usize, at: Duration) -> Reception {
        self.inner.accept(connection, at)
    }

    fn receive(&mut self, connection: usize, at: Duration, bytes: &[u8]) -> Vec<Action> {
        let goodbye = self.goodbye;
        let stream = self.stream(connection);
        stream.get_mut().incoming.extend(bytes);
        let Ok(plaintext) = read_all(stream) else {
            // An alert may be pending.
            return vec![stream.get_mut().send(Duration::ZERO), Action::Close(Duration::ZERO)];
        };
        httperf_sys::tls::flush(stream.ssl_mut());
        if goodbye == Goodbye::AtOnce && stream.ssl().is_init_finished() {
            // Repeating it has no effect.
            stream.shutdown().map(drop).unwrap_or_default();
            return vec![stream.get_mut().send(Duration::ZERO), Action::Close(Duration::ZERO)];
        }
        let mut actions = vec![stream.get_mut().send(Duration::ZERO)];
        let asked =
            if plaintext.is_empty() { Vec::new() } else { self.inner.receive(connection, at, &plaintext) };
        actions.extend(self.encrypted(connection, asked));
        actions
    }

    fn wake(&mut self, connection: usize, at: Duration) -> Vec<Action> {
        let asked = self.inner.wake(connection, at);
        self.encrypted(connection, asked)
    }
}

/// Plaintext received; an error if TLS failed.
fn read_all(stream: &mut SslStream<Pipe>) -> Result<Vec<u8>, ()> {
    let waits = |code| matches!(code, ErrorCode::WANT_READ | ErrorCode::WANT_WRITE);
    if !stream.ssl().is_init_finished() {
        match stream.accept() {
            Ok(()) => {}
            Err(error) if waits(error.code()) => return Ok(Vec::new()),
            Err(_) => return Err(()),
        }
    }
    let (mut plaintext, mut room) = (Vec::new(), [0; 4096]);
    loop {
        match stream.ssl_read(&mut room) {
            Ok(count) => plaintext.extend_from_slice(&room[..count]),
            Err(error) if waits(error.code()) || error.code() == ErrorCode::ZERO_RETURN => {
                return Ok(plaintext);
            }
            Err(_) => return Err(()),
        }
    }
}

/// Server side of the wire.
#[derive(Debug, Default)]
struct Pipe {
    incoming: VecDeque<u8>,
    outgoing: Vec<u8>,
}

impl Pipe {
    fn send(&mut self, delay: Duration) -> Action {
        Action::Send(delay, std::mem::take(&mut self.outgoing))
    }
}

impl Read for Pipe {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.incoming.is_empty() { Err(io::ErrorKind::WouldBlock.into()) } else { self.incoming.read(out) }
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.outgoing.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
