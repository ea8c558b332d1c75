//! The settings of TLS, for rustls: those that BoringSSL has for TCP, as far as TLS 1.3 over QUIC has them too.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use httperf_plan::TlsVersion;
use quinn::crypto::rustls::QuicServerConfig;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{
    CryptoProvider, SupportedKxGroup, WebPkiSupportedAlgorithms, aws_lc_rs, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ServerConfig, StoresServerSessions};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, PeerIncompatible, SignatureScheme, version};

use super::session::Observed;
use crate::tls::settings::{ClientCertificate, Groups, Tickets, Tls};

/// The name of HTTP/3 in ALPN.
const HTTP3: &[u8] = b"h3";

/// Makes a source of sessions with these settings.
pub(super) fn sessions(tls: &Tls) -> io::Result<Observed> {
    let config = QuicServerConfig::try_from(config(tls)?).map_err(io::Error::other)?;
    Ok(Observed(Arc::new(config)))
}

fn config(tls: &Tls) -> io::Result<ServerConfig> {
    let provider = Arc::new(CryptoProvider { kx_groups: groups(tls), ..aws_lc_rs::default_provider() });
    let algorithms = provider.signature_verification_algorithms;
    let certified = certified(tls, &provider).map_err(io::Error::other)?;
    let builder = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&version::TLS13])
        .map_err(io::Error::other)?;
    let builder = match tls.client_certificate {
        ClientCertificate::None => builder.with_no_client_auth(),
        wanted => builder.with_client_cert_verifier(Arc::new(AnyCertificate {
            is_required: wanted == ClientCertificate::Required,
            algorithms,
        })),
    };
    let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
    config.alpn_protocols = vec![HTTP3.to_vec()];
    match tls.tickets {
        Tickets::Off => config.send_tls13_tickets = 0,
        Tickets::On => config.ticketer = aws_lc_rs::Ticketer::new().map_err(io::Error::other)?,
        Tickets::EarlyData => {
            // rustls takes early data only of sessions that it keeps itself.
            config.session_storage = Arc::new(Sessions::default());
            // The one size that QUIC knows (RFC 9001, section 4.6.1).
            config.max_early_data_size = u32::MAX;
        }
    }
    Ok(config)
}

/// Returns the groups of rustls among those accepted.
fn groups(tls: &Tls) -> Vec<&'static dyn SupportedKxGroup> {
    tls.groups.iter().filter_map(|group| group_of(group.id)).collect()
}

fn group_of(id: u16) -> Option<&'static dyn SupportedKxGroup> {
    aws_lc_rs::ALL_KX_GROUPS.iter().find(|group| u16::from(group.name()) == id).copied()
}

/// A setting of TLS that HTTP/3 cannot be spoken with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnfitForHttp3 {
    /// TLS 1.3 is not accepted.
    #[error("TLS 1.3 is not accepted, and HTTP/3 has no other")]
    NoTls13,
    /// A key-exchange group that was chosen by name is missing over QUIC.
    #[error("HTTP/3 does not have the key-exchange group {0}")]
    Group(&'static str),
    /// The certificate is to be compressed.
    #[error("the certificate is not compressed over HTTP/3")]
    CertificateCompression,
    /// The key is of a type that the server has over TCP only.
    #[error("HTTP/3 does not take the private key's type")]
    Key,
}

/// Finds what keeps these settings from being used for HTTP/3.
pub fn fits_http3(tls: &Tls) -> Result<(), UnfitForHttp3> {
    if !tls.versions.includes(TlsVersion::Tls13) {
        return Err(UnfitForHttp3::NoTls13);
    }
    if tls.groups != Groups::default()
        && let Some(missing) = tls.groups.iter().find(|group| group_of(group.id).is_none())
    {
        return Err(UnfitForHttp3::Group(missing.name));
    }
    if !tls.certificate_compression.is_empty() {
        return Err(UnfitForHttp3::CertificateCompression);
    }
    certified(tls, &aws_lc_rs::default_provider()).map(drop).map_err(|_| UnfitForHttp3::Key)
}

fn certified(tls: &Tls, provider: &CryptoProvider) -> Result<CertifiedKey, Error> {
    let chain = tls.credentials.certificates_der().into_iter().map(CertificateDer::from).collect();
    let key = tls.credentials.key_der().ok_or(Error::General("a key without PKCS #8".to_owned()))?;
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key));
    Ok(CertifiedKey::new(chain, provider.key_provider.load_private_key(key)?))
}

/// A verifier that accepts any certificate whose key the client has.
#[derive(Debug)]
struct AnyCertificate {
    is_required: bool,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ClientCertVerifier for AnyCertificate {
    fn client_auth_mandatory(&self) -> bool {
        self.is_required
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerIncompatible::Tls12NotOffered.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Sessions kept for tickets, which can be used any number of times, as those over TCP can.
#[derive(Debug, Default)]
struct Sessions(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    sessions: HashMap<Vec<u8>, Vec<u8>>,
    /// Their keys, oldest first.
    order: VecDeque<Vec<u8>>,
}

/// Sessions kept at once; an older one is forgotten for each further one.
const SESSIONS_MAX: usize = 100_000;

impl Sessions {
    fn with<T>(&self, use_kept: impl FnOnce(&mut Kept) -> T) -> T {
        use_kept(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl StoresServerSessions for Sessions {
    fn put(&self, key: Vec<u8>, session: Vec<u8>) -> bool {
        self.with(|kept| {
            if kept.order.len() == SESSIONS_MAX
                && let Some(oldest) = kept.order.pop_front()
            {
                kept.sessions.remove(&oldest);
            }
            kept.order.push_back(key.clone());
            kept.sessions.insert(key, session);
        });
        true
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.with(|kept| kept.sessions.get(key).cloned())
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.get(key)
    }

    fn can_cache(&self) -> bool {
        true
    }
}
