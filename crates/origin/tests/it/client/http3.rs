//! A client of HTTP/3: quinn and h3.

use std::future::{Future, poll_fn};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use h3::client::SendRequest;
use h3::error::StreamError;
use httperf_origin::Handle;
use hyper::{HeaderMap, Method, Request};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, ConnectionError, Endpoint, TransportConfig, VarInt};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use tokio::runtime::Runtime;

use super::PATIENCE;

/// One whole reply.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) fields: HeaderMap,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Option<HeaderMap>,
}

impl Reply {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(|value| value.to_str().unwrap())
    }
}

/// How a client goes about it.
#[derive(Clone, Debug)]
pub(crate) struct Manner {
    /// The groups it offers, with a key share for the first.
    pub(crate) groups: Vec<&'static dyn SupportedKxGroup>,
    /// Its certificate and key, in DER.
    pub(crate) identity: Option<(Vec<u8>, Vec<u8>)>,
    pub(crate) protocol: &'static [u8],
}

impl Default for Manner {
    fn default() -> Self {
        Self { groups: aws_lc_rs::DEFAULT_KX_GROUPS.to_vec(), identity: None, protocol: b"h3" }
    }
}

/// A client, which keeps its sessions, with the runtime that all of it happens on.
pub(crate) struct Client {
    runtime: Runtime,
    endpoint: Endpoint,
    server: SocketAddr,
}

impl Client {
    pub(crate) fn new(server: &Handle) -> Self {
        Self::with(server, Manner::default())
    }

    pub(crate) fn with(server: &Handle, manner: Manner) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let endpoint = {
            let _inside = runtime.enter();
            let mut endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
            endpoint.set_default_client_config(config(manner));
            endpoint
        };
        Self { runtime, endpoint, server: server.tcp_address().unwrap() }
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Does something with patience.
    pub(crate) fn run<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(async { tokio::time::timeout(PATIENCE, future).await.unwrap() })
    }

    /// Connects, and waits until the handshake is complete. The server may find fault with the client's part of it only then, and
    /// close the connection at any time.
    pub(crate) fn try_connect(&self) -> Result<Session, ConnectionError> {
        self.run(async {
            let connection = self.endpoint.connect(self.server, "localhost").unwrap().await?;
            Session::new(connection).await
        })
    }

    pub(crate) fn connect(&self) -> Session {
        self.try_connect().unwrap()
    }

    /// Connects, asks with early data, and tells whether they were accepted.
    pub(crate) fn get_early(&self, path: &str) -> (Reply, bool) {
        self.run(async {
            let connecting = self.endpoint.connect(self.server, "localhost").unwrap();
            let (connection, accepted) =
                connecting.into_0rtt().unwrap_or_else(|_| panic!("there is a session"));
            let mut session = Session::new(connection).await.unwrap();
            let reply = session.request(Method::GET, path, b"").await.unwrap();
            (reply, accepted.await)
        })
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        let mut session = self.connect();
        self.run(session.request(Method::GET, path, b"")).unwrap()
    }
}

/// A connection.
pub(crate) struct Session {
    pub(crate) connection: Connection,
    pub(crate) requests: SendRequest<h3_quinn::OpenStreams, Bytes>,
}

impl Session {
    async fn new(connection: Connection) -> Result<Self, ConnectionError> {
        let pipe = h3_quinn::Connection::new(connection.clone());
        let (mut driver, requests) = match h3::client::new(pipe).await {
            Ok(begun) => begun,
            Err(error) => return Err(connection.close_reason().unwrap_or_else(|| panic!("{error}"))),
        };
        tokio::spawn(async move { poll_fn(|context| driver.poll_close(context)).await });
        Ok(Self { connection, requests })
    }

    /// Asks, and reads the whole reply.
    pub(crate) async fn request(
        &mut self,
        method: Method,
        path: &str,
        body: &'static [u8],
    ) -> Result<Reply, StreamError> {
        let request = Request::builder().method(method).uri(format!("https://localhost{path}"));
        let mut stream = self.requests.send_request(request.body(()).unwrap()).await?;
        if !body.is_empty() {
            // The server may not want it.
            drop(stream.send_data(Bytes::from_static(body)).await);
        }
        drop(stream.finish().await);
        let mut head = stream.recv_response().await?;
        while head.status().is_informational() {
            head = stream.recv_response().await?;
        }
        let mut reply = Reply {
            status: head.status().as_u16(),
            fields: head.headers().clone(),
            body: Vec::new(),
            trailers: None,
        };
        while let Some(mut data) = stream.recv_data().await? {
            reply.body.extend_from_slice(&data.copy_to_bytes(data.remaining()));
        }
        reply.trailers = stream.recv_trailers().await?;
        Ok(reply)
    }
}

fn config(manner: Manner) -> ClientConfig {
    let provider = CryptoProvider { kx_groups: manner.groups, ..aws_lc_rs::default_provider() };
    let builder = rustls::ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyServer));
    let mut tls = match manner.identity {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key));
            builder.with_client_auth_cert(vec![CertificateDer::from(certificate)], key).unwrap()
        }
    };
    tls.alpn_protocols = vec![manner.protocol.to_vec()];
    tls.enable_early_data = true;
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()));
    let mut transport = TransportConfig::default();
    transport.max_idle_timeout(Some(VarInt::from_u32(PATIENCE.as_millis() as u32).into()));
    transport.initial_rtt(Duration::from_millis(50));
    config.transport_config(Arc::new(transport));
    config
}

/// Takes the server for what it says it is.
#[derive(Debug)]
struct AnyServer;

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        unreachable!("QUIC is for TLS 1.3")
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = aws_lc_rs::default_provider().signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, &algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        aws_lc_rs::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
