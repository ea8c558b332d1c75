//! The server's side of QUIC, without a socket: connections of one client address each, whose streams a test reads and
//! writes.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use boring::pkey::PKey;
use boring::rsa::Rsa;
use bytes::{Bytes, BytesMut};
use httperf_certificates::Draft;
pub use httperf_certificates::Identity;
use httperf_proto::quic::Ecn;
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{
    Connection, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, Event, HashedConnectionIdGenerator,
    Incoming, ServerConfig, StreamEvent, TransportConfig, VarInt, WriteError,
};
pub use quinn_proto::{ConnectionHandle, Dir, StreamId};
use rustls::crypto::aws_lc_rs::{self, kx_group};
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;

/// The options of a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// The certificate and its key.
    pub identity: Identity,
    /// Key-exchange groups that it takes.
    pub groups: Vec<&'static dyn SupportedKxGroup>,
    /// Protocols that it speaks.
    pub protocols: Vec<Vec<u8>>,
    /// Whether each new client must prove its address first (a Retry packet).
    pub retries: bool,
    /// Whether it takes early data.
    pub early_data: bool,
    /// Streams of requests that it allows at once.
    pub streams: u32,
    /// Bytes that it takes of a stream before they are read.
    pub window: u32,
    /// The authority whose certificates clients must show, in DER.
    pub clients_of: Option<Vec<u8>>,
    /// The idle time-out.
    pub idle_timeout: Option<Duration>,
}

impl Options {
    /// A server with a self-signed certificate for `server`, which speaks `h3`.
    ///
    /// # Panics
    /// Never: a certificate takes nothing but memory.
    #[must_use]
    pub fn new() -> Self {
        Self {
            identity: Identity::self_signed("server").expect("a certificate takes nothing but memory"),
            groups: kx_group_all(),
            protocols: vec![b"h3".to_vec()],
            retries: false,
            early_data: true,
            streams: 100,
            window: 1 << 20,
            clients_of: None,
            idle_timeout: Some(Duration::from_secs(30)),
        }
    }
}

impl Options {
    /// A server whose handshakes have the same size each time: signatures of RSA have, those of ECDSA have not.
    ///
    /// # Panics
    /// Never: a certificate takes nothing but memory.
    #[must_use]
    pub fn of_one_size() -> Self {
        let key = Rsa::generate(2048).and_then(PKey::from_rsa).expect("a key takes nothing but memory");
        let certificate = Draft::new("server").for_dns("server").self_signed(&key);
        let certificate = certificate.expect("a certificate takes nothing but memory");
        Self { identity: Identity { certificate, key }, ..Self::new() }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

fn kx_group_all() -> Vec<&'static dyn SupportedKxGroup> {
    vec![kx_group::X25519MLKEM768, kx_group::X25519, kx_group::SECP256R1, kx_group::SECP384R1]
}

/// What servers with the same options have in common, with the keys of their tickets: one may resume the sessions of
/// another.
#[derive(Clone)]
pub struct Config {
    endpoint: Arc<EndpointConfig>,
    server: Arc<ServerConfig>,
    retries: bool,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("retries", &self.retries).finish_non_exhaustive()
    }
}

impl Config {
    /// Prepares servers with these options.
    ///
    /// # Panics
    /// If the options do not fit each other.
    #[must_use]
    pub fn new(options: &Options) -> Self {
        let mut transport = TransportConfig::default();
        transport
            .max_concurrent_bidi_streams(options.streams.into())
            .stream_receive_window(options.window.into())
            .max_idle_timeout(
                options.idle_timeout.map(|time| time.try_into().expect("a time-out that fits")),
            );
        let crypto = QuicServerConfig::try_from(tls(options)).expect("its suites have keys for QUIC");
        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
        config.transport_config(Arc::new(transport));
        let mut endpoint = EndpointConfig::default();
        // Identifiers of one server are known to another as its own, not as damage.
        endpoint.cid_generator(|| Box::new(HashedConnectionIdGenerator::from_key(7)));
        Self { endpoint: Arc::new(endpoint), server: Arc::new(config), retries: options.retries }
    }
}

/// A server that answers datagrams when it is asked to.
pub struct Server {
    endpoint: Endpoint,
    connections: BTreeMap<ConnectionHandle, Connection>,
    config: Config,
    seed: Option<[u8; 32]>,
    epoch: Instant,
    /// Datagrams that the endpoint itself sends.
    answers: Vec<(SocketAddr, Vec<u8>)>,
}

/// Something that a client did.
#[derive(Debug)]
pub enum Happening {
    /// Its handshake is complete.
    Connected,
    /// It opened a stream.
    Opened(StreamId),
    /// A stream may have more to read.
    Readable(StreamId),
    /// It stopped a stream, with this code.
    Stopped(StreamId, u64),
    /// The connection is gone.
    Lost(quinn_proto::ConnectionError),
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("connections", &self.connections.len()).finish_non_exhaustive()
    }
}

impl Server {
    /// Makes a server. `epoch` is the instant 0 of its methods.
    ///
    /// # Panics
    /// If the options do not fit each other.
    #[must_use]
    pub fn new(options: &Options, epoch: Instant) -> Self {
        Self::with(&Config::new(options), None, epoch)
    }

    /// Makes a server. `seed` decides what is random in its packets, secrets and identifiers aside.
    #[must_use]
    pub fn with(config: &Config, seed: Option<[u8; 32]>, epoch: Instant) -> Self {
        let Config { endpoint, server, .. } = config.clone();
        Self {
            endpoint: Endpoint::new(endpoint, Some(server), true, seed),
            connections: BTreeMap::new(),
            config: config.clone(),
            seed,
            epoch,
            answers: Vec::new(),
        }
    }

    /// Uses a datagram.
    pub fn handle(&mut self, now: Duration, from: SocketAddr, datagram: &[u8]) {
        self.handle_marked(now, from, datagram, None);
    }

    /// Uses a datagram with its mark of congestion.
    pub fn handle_marked(&mut self, now: Duration, from: SocketAddr, datagram: &[u8], ecn: Option<Ecn>) {
        let (at, mut answer) = (self.epoch + now, Vec::new());
        let ecn = ecn.map(|ecn| match ecn {
            Ecn::Ect0 => EcnCodepoint::Ect0,
            Ecn::Ect1 => EcnCodepoint::Ect1,
            Ecn::Ce => EcnCodepoint::Ce,
        });
        match self.endpoint.handle(at, from, None, ecn, BytesMut::from(datagram), &mut answer) {
            Some(DatagramEvent::NewConnection(incoming)) => self.meet(at, from, incoming),
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(connection) = self.connections.get_mut(&handle) {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::Response(transmit)) => {
                self.answers.push((from, answer[..transmit.size].to_vec()));
            }
            None => {}
        }
        self.settle();
    }

    fn meet(&mut self, at: Instant, from: SocketAddr, incoming: Incoming) {
        let mut answer = Vec::new();
        if self.config.retries && !incoming.remote_address_validated() {
            let transmit = self.endpoint.retry(incoming, &mut answer).expect("it has no token yet");
            self.answers.push((from, answer[..transmit.size].to_vec()));
            return;
        }
        match self.endpoint.accept(incoming, at, &mut answer, None) {
            Ok((handle, connection)) => {
                self.connections.insert(handle, connection);
            }
            Err(refused) => {
                if let Some(transmit) = refused.response {
                    self.answers.push((from, answer[..transmit.size].to_vec()));
                }
            }
        }
    }

    fn settle(&mut self) {
        for (handle, connection) in &mut self.connections {
            while let Some(event) = connection.poll_endpoint_events() {
                if let Some(event) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(event);
                }
            }
        }
    }

    /// Returns the next datagram to send.
    pub fn poll_transmit(&mut self, now: Duration) -> Option<(SocketAddr, Vec<u8>)> {
        self.poll_marked(now).map(|(to, datagram, _)| (to, datagram))
    }

    /// Returns the next datagram to send, with its mark of congestion.
    pub fn poll_marked(&mut self, now: Duration) -> Option<(SocketAddr, Vec<u8>, Option<Ecn>)> {
        if let Some((to, answer)) = self.answers.pop() {
            return Some((to, answer, None));
        }
        let mut out = Vec::new();
        let at = self.epoch + now;
        let sent =
            self.connections.values_mut().find_map(|connection| connection.poll_transmit(at, 1, &mut out));
        self.settle();
        let transmit = sent?;
        let ecn = transmit.ecn.map(|ecn| match ecn {
            EcnCodepoint::Ect0 => Ecn::Ect0,
            EcnCodepoint::Ect1 => Ecn::Ect1,
            EcnCodepoint::Ce => Ecn::Ce,
        });
        Some((transmit.destination, out, ecn))
    }

    /// Returns the instant at which the first timer expires.
    pub fn poll_timeout(&mut self) -> Option<Duration> {
        let earliest = self.connections.values_mut().filter_map(Connection::poll_timeout).min()?;
        Some(earliest.saturating_duration_since(self.epoch))
    }

    /// Timers may have expired.
    pub fn handle_timeout(&mut self, now: Duration) {
        let at = self.epoch + now;
        for connection in self.connections.values_mut() {
            if connection.poll_timeout().is_some_and(|timer| timer <= at) {
                connection.handle_timeout(at);
            }
        }
        self.settle();
    }

    /// Returns what clients did since this was called last.
    pub fn happenings(&mut self) -> Vec<(ConnectionHandle, Happening)> {
        let mut happened = Vec::new();
        for (&handle, connection) in &mut self.connections {
            while let Some(event) = connection.poll() {
                match event {
                    Event::Connected => happened.push((handle, Happening::Connected)),
                    Event::ConnectionLost { reason } => happened.push((handle, Happening::Lost(reason))),
                    Event::Stream(StreamEvent::Opened { dir }) => {
                        while let Some(id) = connection.streams().accept(dir) {
                            happened.push((handle, Happening::Opened(id)));
                        }
                    }
                    Event::Stream(StreamEvent::Readable { id }) => {
                        happened.push((handle, Happening::Readable(id)));
                    }
                    Event::Stream(StreamEvent::Stopped { id, error_code }) => {
                        happened.push((handle, Happening::Stopped(id, error_code.into_inner())));
                    }
                    _ => {}
                }
            }
        }
        happened
    }

    /// Reads what has arrived on a stream; true if that was the last of it.
    pub fn read(&mut self, handle: ConnectionHandle, id: StreamId) -> (Vec<u8>, bool) {
        let mut bytes = Vec::new();
        let connection = self.connections.get_mut(&handle).expect("it is there");
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return (bytes, false) };
        let is_end = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => bytes.extend_from_slice(&chunk.bytes),
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        let _ = chunks.finalize();
        (bytes, is_end)
    }

    /// Returns whether a connection is there.
    #[must_use]
    pub fn has(&self, handle: ConnectionHandle) -> bool {
        self.connections.contains_key(&handle)
    }

    /// Opens a stream of the server's own.
    ///
    /// # Panics
    /// If the client allows none.
    pub fn open(&mut self, handle: ConnectionHandle) -> StreamId {
        self.try_open(handle).expect("the client allows some")
    }

    /// Opens a stream of the server's own, if the client allows one.
    pub fn try_open(&mut self, handle: ConnectionHandle) -> Option<StreamId> {
        self.connection(handle).streams().open(Dir::Uni)
    }

    /// Writes to a stream as much as the client allows, and ends it if asked to. Returns how much it wrote.
    pub fn write(&mut self, handle: ConnectionHandle, id: StreamId, bytes: &[u8], end: bool) -> usize {
        let connection = self.connection(handle);
        let mut written = 0;
        while written < bytes.len() {
            match connection.send_stream(id).write(&bytes[written..]) {
                Ok(count) => written += count,
                Err(WriteError::Blocked | WriteError::Stopped(_) | WriteError::ClosedStream) => break,
            }
        }
        if end && written == bytes.len() {
            connection.send_stream(id).finish().ok();
        }
        written
    }

    /// Gives a stream up, unless its connection is forgotten.
    pub fn reset(&mut self, handle: ConnectionHandle, id: StreamId, code: u32) {
        if let Some(connection) = self.connections.get_mut(&handle) {
            connection.send_stream(id).reset(code.into()).ok();
        }
    }

    /// Wants no more of a stream, unless its connection is forgotten.
    pub fn stop(&mut self, handle: ConnectionHandle, id: StreamId, code: u32) {
        if let Some(connection) = self.connections.get_mut(&handle) {
            connection.recv_stream(id).stop(code.into()).ok();
        }
    }

    /// Closes a connection, unless it is forgotten.
    pub fn close(&mut self, now: Duration, handle: ConnectionHandle, code: u32, words: &'static [u8]) {
        let at = self.epoch + now;
        if let Some(connection) = self.connections.get_mut(&handle) {
            connection.close(at, VarInt::from_u32(code), Bytes::from_static(words));
        }
    }

    /// Does nothing more on any connection: what arrives for them is not answered.
    pub fn forget_all(&mut self) {
        self.connections.clear();
    }

    /// Starts again, with the same keys: what arrives for the connections so far is answered by stateless resets.
    pub fn start_again(&mut self) {
        self.connections.clear();
        let Config { endpoint, server, .. } = self.config.clone();
        self.endpoint = Endpoint::new(endpoint, Some(server), true, self.seed);
    }

    fn connection(&mut self, handle: ConnectionHandle) -> &mut Connection {
        self.connections.get_mut(&handle).expect("it is there")
    }
}

fn tls(options: &Options) -> rustls::ServerConfig {
    let provider =
        Arc::new(CryptoProvider { kx_groups: options.groups.clone(), ..aws_lc_rs::default_provider() });
    let builder = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("the provider has TLS 1.3");
    let builder = match &options.clients_of {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let mut roots = rustls::RootCertStore::empty();
            roots.add(CertificateDer::from(authority.clone())).expect("a certificate");
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().expect("roots"))
        }
    };
    let Identity { certificate, key } = &options.identity;
    let certificate = CertificateDer::from(certificate.to_der().expect("DER takes nothing but memory"));
    let key = key.private_key_to_der_pkcs8().expect("DER takes nothing but memory");
    let key = PrivateKeyDer::try_from(key).expect("a key of PKCS #8");
    let mut config = builder.with_single_cert(vec![certificate], key).expect("the key of the certificate");
    config.alpn_protocols.clone_from(&options.protocols);
    config.max_early_data_size = if options.early_data { u32::MAX } else { 0 };
    config
}
