//! Minimal QUIC client: connect, handshake, close, one after the other, with quinn-proto and blocking sockets.

use std::net::{SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bytes::BytesMut;
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig, Event, VarInt,
};
use rustls::DigitallySignedStruct;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};

use crate::words::Words;

/// Options of the client.
#[derive(Debug)]
pub(crate) struct Options {
    target: SocketAddrV4,
    conns: u64,
    group: String,
}

impl Options {
    pub(crate) fn parse(mut words: Words) -> anyhow::Result<Self> {
        let options = Options {
            target: words.value("--target")?.context("--target: expected ADDR:PORT, got nothing")?,
            conns: words.value("--conns")?.context("--conns: expected a number, got nothing")?,
            group: words.value("--group")?.unwrap_or_else(|| "X25519".to_owned()),
        };
        words.finish()?;
        Ok(options)
    }
}

/// Makes the handshakes and prints their number.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let mut provider = aws_lc_rs::default_provider();
    provider.kx_groups.retain(|group| format!("{:?}", group.name()) == options.group);
    ensure!(
        !provider.kx_groups.is_empty(),
        "--group: expected a name such as X25519, got `{}`",
        options.group
    );
    let provider = Arc::new(provider);
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    tls.resumption = rustls::client::Resumption::disabled();
    let config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    let endpoint = Arc::new(EndpointConfig::default());
    let mut failed = 0;
    for _ in 0..options.conns {
        let is_complete = Handshake::begin(options.target, &endpoint, config.clone())?.finish()?;
        failed += u64::from(!is_complete);
    }
    println!("bare-quic: handshakes {} failed {failed}", options.conns);
    ensure!(failed <= options.conns / 100, "{failed} of {} handshakes failed", options.conns);
    Ok(())
}

/// Time in which a handshake must be complete.
const LIMIT: Duration = Duration::from_secs(5);

/// A handshake under way.
struct Handshake {
    socket: UdpSocket,
    server: SocketAddr,
    endpoint: Endpoint,
    handle: ConnectionHandle,
    connection: Connection,
    buffer: Vec<u8>,
}

impl Handshake {
    fn begin(
        target: SocketAddrV4,
        endpoint: &Arc<EndpointConfig>,
        config: ClientConfig,
    ) -> anyhow::Result<Self> {
        let server = SocketAddr::V4(target);
        let socket = UdpSocket::bind(("0.0.0.0", 0))?;
        socket.connect(server)?;
        let mut endpoint = Endpoint::new(Arc::clone(endpoint), None, true, None);
        let (handle, connection) = endpoint.connect(Instant::now(), config, server, "localhost")?;
        Ok(Handshake { socket, server, endpoint, handle, connection, buffer: Vec::new() })
    }

    /// Returns whether it was completed, and not refused by the server.
    fn finish(mut self) -> anyhow::Result<bool> {
        let end = Instant::now() + LIMIT;
        let mut datagram = [0; 2048];
        loop {
            self.send()?;
            let now = Instant::now();
            ensure!(now < end, "a handshake is not complete after {} s", LIMIT.as_secs());
            let timer = self.connection.poll_timeout();
            let wait = timer.map_or(LIMIT, |timer| timer.saturating_duration_since(now));
            self.socket.set_read_timeout(Some(wait.max(Duration::from_micros(1))))?;
            match self.socket.recv(&mut datagram) {
                Ok(count) => self.handle(&datagram[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    self.connection.handle_timeout(Instant::now());
                }
                Err(error) => return Err(error.into()),
            }
            while let Some(event) = self.connection.poll() {
                match event {
                    Event::Connected => {
                        self.connection.close(Instant::now(), VarInt::from_u32(0x100), bytes::Bytes::new());
                        self.send()?;
                        return Ok(true);
                    }
                    Event::ConnectionLost { .. } => return Ok(false),
                    _ => {}
                }
            }
        }
    }

    fn handle(&mut self, datagram: &[u8]) {
        let bytes = BytesMut::from(datagram);
        let mut answer = Vec::new();
        let event = self.endpoint.handle(Instant::now(), self.server, None, None, bytes, &mut answer);
        if let Some(DatagramEvent::ConnectionEvent(_, event)) = event {
            self.connection.handle_event(event);
        }
        while let Some(event) = self.connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(self.handle, event) {
                self.connection.handle_event(event);
            }
        }
    }

    fn send(&mut self) -> anyhow::Result<()> {
        self.buffer.clear();
        while self.connection.poll_transmit(Instant::now(), 1, &mut self.buffer).is_some() {
            self.socket.send(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }
}

/// Takes any certificate, and checks that the server has its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("QUIC has TLS 1.3".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
