//! What all QUIC connections of a worker share: limits, congestion control, TLS.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::crypto::{CryptoError, HmacKey};
use quinn_proto::{
    EndpointConfig, IdleTimeout, MtuDiscoveryConfig, RandomConnectionIdGenerator, TransportConfig, VarInt,
};
use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs::{self, cipher_suite, kx_group};
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, KeyLog, SupportedCipherSuite};

use super::Connection;
use super::log::Log;
use super::session::{Sessions, VERSION};
use super::tickets::{Desk, Ticket};
use super::trust::{Trust, signature_algorithms};
use crate::tls::{self, ConfigError, DEFAULT_GROUPS, Group, Identity};

/// The options of QUIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// A connection on which nothing arrives for this long is gone; `None` for never (RFC 9000, section 10.1).
    pub idle_timeout: Option<Duration>,
    /// The window of a stream: bytes of a reply that the peer may send before it hears from us.
    pub stream_window: u64,
    /// The window of the connection, for all replies together.
    pub connection_window: u64,
    /// The largest datagram that path MTU discovery may find, in bytes of UDP payload: 1,200 to 65,527.
    pub max_datagram: u16,
    /// The largest datagram that the peer may send, in bytes of UDP payload: 1,200 to 65,527.
    pub max_udp_payload: u16,
    /// The congestion control.
    pub congestion: Congestion,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            idle_timeout: Some(Duration::from_secs(30)),
            stream_window: 1 << 20,
            connection_window: 16 << 20,
            max_datagram: 1452,
            max_udp_payload: 16_384,
            congestion: Congestion::Cubic,
        }
    }
}

/// An algorithm of congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// RFC 9438.
    Cubic,
    /// Bottleneck bandwidth and round-trip propagation time, an experiment of the library.
    Bbr,
    /// RFC 9002, section 7.
    NewReno,
}

/// Groups that our TLS over TCP has and that over QUIC lacks.
pub const ABSENT_GROUPS: &[&str] = &["P-521", "X25519Kyber768Draft00", "P256Kyber768Draft00"];

/// The number of streams of the peer's own that it may have open: three that HTTP/3 has, and some that we need not
/// understand (RFC 9114, section 6.2).
const PEER_STREAMS: u32 = 16;

/// The cipher suites that are offered, in the order of BoringSSL over TCP on a machine with instructions for AES, so that the
/// same server chooses the same one for both.
const SUITES: [SupportedCipherSuite; 3] = [
    cipher_suite::TLS13_AES_128_GCM_SHA256,
    cipher_suite::TLS13_AES_256_GCM_SHA384,
    cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
];

/// Bytes of requests that the library keeps until the peer has acknowledged them. Bodies are shared, so they take no room;
/// it is larger than what peers allow, so that a request that waits does so for the peer's window.
const SEND_WINDOW: u64 = 1 << 30;

/// The settings that all QUIC connections of a worker share, ready for use.
#[derive(Clone)]
pub struct Context {
    options: Options,
    endpoint: Arc<EndpointConfig>,
    transport: Arc<TransportConfig>,
    sessions: Arc<Sessions>,
    pub(super) desk: Arc<Desk>,
    pub(super) epoch: Instant,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("transport", &self.transport).finish_non_exhaustive()
    }
}

impl Context {
    /// Makes a context. `epoch` stands for the instant 0 of all methods of connections; nothing depends on which it is.
    ///
    /// # Errors
    /// When an option of TLS names something that the library does not have.
    pub fn new(options: &Options, tls: &tls::Options, epoch: Instant) -> Result<Self, ConfigError> {
        let desk = Arc::new(Desk::default());
        let sessions = sessions(tls, &desk)?;
        Ok(Self {
            options: *options,
            endpoint: Arc::new(endpoint(options)),
            transport: Arc::new(transport(options)),
            sessions: Arc::new(sessions),
            desk,
            epoch,
        })
    }

    /// Begins a connection, whose first datagrams are then to be sent. `name` is the server's name, sent as SNI; without
    /// one, a checked certificate must bear the address. `seed` decides what is random in its packets, secrets aside.
    ///
    /// # Errors
    /// When no certificate bears such a name.
    pub fn connect(
        &self,
        now: Duration,
        server: SocketAddr,
        name: Option<&str>,
        seed: [u8; 32],
        ticket: Option<Ticket>,
    ) -> Result<Connection, tls::Failure> {
        self.begin(now, server, name, seed, ticket, Arc::clone(&self.transport))
    }

    /// As [`connect`](Self::connect), for a connection whose events are logged.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn connect_logged(
        &self,
        now: Duration,
        server: SocketAddr,
        name: Option<&str>,
        seed: [u8; 32],
        ticket: Option<Ticket>,
        log: Log,
    ) -> Result<Connection, tls::Failure> {
        let mut transport = transport(&self.options);
        transport.qlog_stream(log.begin(self.epoch + now));
        self.begin(now, server, name, seed, ticket, Arc::new(transport))
    }

    fn begin(
        &self,
        now: Duration,
        server: SocketAddr,
        name: Option<&str>,
        seed: [u8; 32],
        ticket: Option<Ticket>,
        transport: Arc<TransportConfig>,
    ) -> Result<Connection, tls::Failure> {
        let address = server.ip().to_string();
        let mut config = quinn_proto::ClientConfig::new(Arc::clone(&self.sessions) as _);
        config.transport_config(transport).version(VERSION);
        self.desk.offer(ticket);
        // Whoever sends datagrams forbids their fragmentation, so that what is too large for a path is lost.
        let finds_mtu = true;
        let endpoint = quinn_proto::Endpoint::new(Arc::clone(&self.endpoint), None, finds_mtu, Some(seed));
        let begun = Connection::begin(self, endpoint, config, now, server, name.unwrap_or(&address));
        self.desk.offer(None);
        begun
    }
}

fn endpoint(options: &Options) -> EndpointConfig {
    let mut config = EndpointConfig::new(Arc::new(NoResets));
    // A socket of its own tells each connection: its peer need not name it.
    config.cid_generator(|| Box::new(RandomConnectionIdGenerator::new(0)));
    config.supported_versions(vec![VERSION]);
    config.max_udp_payload_size(options.max_udp_payload.max(1200)).expect("it is 1,200 at least");
    config
}

fn transport(options: &Options) -> TransportConfig {
    let mut config = TransportConfig::default();
    let window = |size: u64| VarInt::from_u64(size).unwrap_or(VarInt::MAX);
    config
        .max_concurrent_bidi_streams(0_u32.into())
        .max_concurrent_uni_streams(PEER_STREAMS.into())
        .stream_receive_window(window(options.stream_window))
        .receive_window(window(options.connection_window))
        .send_window(SEND_WINDOW)
        .datagram_receive_buffer_size(None)
        .max_idle_timeout(options.idle_timeout.and_then(|time| IdleTimeout::try_from(time).ok()));
    let mut discovery = MtuDiscoveryConfig::default();
    discovery.upper_bound(options.max_datagram);
    config.mtu_discovery_config(Some(discovery));
    let congestion: Arc<dyn ControllerFactory + Send + Sync> = match options.congestion {
        Congestion::Cubic => Arc::new(CubicConfig::default()),
        Congestion::Bbr => Arc::new(BbrConfig::default()),
        Congestion::NewReno => Arc::new(NewRenoConfig::default()),
    };
    config.congestion_controller_factory(congestion);
    config
}

/// The key of stateless resets, which a client whose socket is connected never sends.
struct NoResets;

impl HmacKey for NoResets {
    fn sign(&self, _: &[u8], out: &mut [u8]) {
        out.fill(0);
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, _: &[u8], _: &[u8]) -> Result<(), CryptoError> {
        Err(CryptoError)
    }
}

fn sessions(options: &tls::Options, desk: &Arc<Desk>) -> Result<Sessions, ConfigError> {
    let provider = CryptoProvider {
        cipher_suites: SUITES.to_vec(),
        kx_groups: groups(options.groups.as_deref().unwrap_or(DEFAULT_GROUPS))?,
        ..aws_lc_rs::default_provider()
    };
    warm_up(&provider)?;
    let algorithms = options.signature_algorithms.as_deref().map(signature_algorithms).transpose()?;
    let trust = Trust::new(options.trust.as_deref(), algorithms, Arc::clone(desk))?;
    let builder = ClientConfig::builder_with_provider(Arc::new(provider.clone()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| library(&error))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(trust));
    let mut config = match &options.identity {
        Some(identity) => with_identity(builder, identity)?,
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols.clone_from(&options.alpn);
    config.resumption = match options.sessions {
        true => Resumption::store(Arc::clone(desk) as _),
        false => Resumption::disabled(),
    };
    config.enable_early_data = options.early_data;
    if let Some(log) = options.key_log.clone() {
        config.key_log = Arc::new(Secrets(log));
    }
    let initial =
        cipher_suite::TLS13_AES_128_GCM_SHA256.tls13().and_then(rustls::Tls13CipherSuite::quic_suite);
    Ok(Sessions {
        config: Arc::new(config),
        initial: initial.expect("it is a suite of TLS 1.3 with keys for QUIC"),
        desk: Arc::clone(desk),
    })
}

/// Has the library do now what it puts off until it is first needed, such as the seeding of its source of randomness, which
/// takes tens of milliseconds unless it is built as `.cargo/config.toml` says: it would be part of the first handshake's time.
fn warm_up(provider: &CryptoProvider) -> Result<(), ConfigError> {
    for group in &provider.kx_groups {
        group.start().map_err(|error| library(&error))?;
    }
    Ok(())
}

fn library(error: &rustls::Error) -> ConfigError {
    ConfigError::Library(error.to_string())
}

/// Returns the key-exchange groups of a list.
fn groups(list: &str) -> Result<Vec<&'static dyn SupportedKxGroup>, ConfigError> {
    let mut groups: Vec<&'static dyn SupportedKxGroup> = Vec::new();
    for name in list.split([':', ',']).map(str::trim) {
        let known = Group::named(name).ok_or_else(|| ConfigError::Group(name.to_owned()))?;
        let group = match known.name {
            "X25519MLKEM768" => kx_group::X25519MLKEM768,
            "MLKEM1024" => kx_group::MLKEM1024,
            "X25519" => kx_group::X25519,
            "P-256" => kx_group::SECP256R1,
            "P-384" => kx_group::SECP384R1,
            absent => return Err(ConfigError::GroupOverQuic(absent)),
        };
        if !groups.iter().any(|its| its.name() == group.name()) {
            groups.push(group);
        }
    }
    Ok(groups)
}

fn with_identity(
    builder: rustls::ConfigBuilder<ClientConfig, rustls::client::WantsClientCert>,
    identity: &Identity,
) -> Result<ClientConfig, ConfigError> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&identity.certificates).collect();
    let chain = chain.map_err(|_| ConfigError::Certificate)?;
    if chain.is_empty() {
        return Err(ConfigError::Certificate);
    }
    let key = PrivateKeyDer::from_pem_slice(&identity.key).map_err(|_| {
        let text = String::from_utf8_lossy(&identity.key);
        if text.contains("ENCRYPTED") { ConfigError::EncryptedKey } else { ConfigError::Key }
    })?;
    builder.with_client_auth_cert(chain, key).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => ConfigError::Mismatch,
        error => library(&error),
    })
}

/// Writes session secrets down, in the format of `SSLKEYLOGFILE`.
struct Secrets(tls::KeyLog);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

impl KeyLog for Secrets {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let hex = |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("{byte:02x}")).collect() };
        (self.0)(&format!("{label} {} {}", hex(client_random), hex(secret)));
    }
}
