//! Certificates of servers, checked as over TCP: by BoringSSL, against the same roots.

use std::fmt;
use std::sync::Arc;

use boring::hash::MessageDigest;
use boring::rsa::Padding;
use boring::sign::{RsaPssSaltlen, Verifier};
use boring::stack::Stack;
use boring::x509::store::{X509Store, X509StoreBuilder};
use boring::x509::verify::X509VerifyParam;
use boring::x509::{X509, X509StoreContext};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

use super::tickets::Desk;
use crate::tls::ConfigError;

/// The signature algorithms taken from servers, most preferred first: those of BoringSSL that TLS 1.3 allows.
const SCHEMES: &[SignatureScheme] = &[
    SignatureScheme::ECDSA_NISTP256_SHA256,
    SignatureScheme::RSA_PSS_SHA256,
    SignatureScheme::RSA_PKCS1_SHA256,
    SignatureScheme::ECDSA_NISTP384_SHA384,
    SignatureScheme::RSA_PSS_SHA384,
    SignatureScheme::RSA_PKCS1_SHA384,
    SignatureScheme::ED25519,
    SignatureScheme::ECDSA_NISTP521_SHA512,
    SignatureScheme::RSA_PSS_SHA512,
    SignatureScheme::RSA_PKCS1_SHA512,
];

/// The names of these algorithms, as BoringSSL has them.
const NAMES: &[(SignatureScheme, &str)] = &[
    (SignatureScheme::ECDSA_NISTP256_SHA256, "ecdsa_secp256r1_sha256"),
    (SignatureScheme::ECDSA_NISTP384_SHA384, "ecdsa_secp384r1_sha384"),
    (SignatureScheme::ECDSA_NISTP521_SHA512, "ecdsa_secp521r1_sha512"),
    (SignatureScheme::ED25519, "ed25519"),
    (SignatureScheme::RSA_PSS_SHA256, "rsa_pss_rsae_sha256"),
    (SignatureScheme::RSA_PSS_SHA384, "rsa_pss_rsae_sha384"),
    (SignatureScheme::RSA_PSS_SHA512, "rsa_pss_rsae_sha512"),
];

/// Returns the name of a signature algorithm.
pub(super) fn signature_name(scheme: SignatureScheme) -> Option<&'static str> {
    NAMES.iter().find(|(its, _)| *its == scheme).map(|&(_, name)| name)
}

/// Returns the signature algorithms of a list, separated by colons.
pub(super) fn signature_algorithms(list: &str) -> Result<Vec<SignatureScheme>, ConfigError> {
    let named = |name: &str| NAMES.iter().find(|(_, its)| its.eq_ignore_ascii_case(name.trim()));
    list.split([':', ','])
        .map(|name| {
            let found = named(name).ok_or_else(|| ConfigError::SignatureAlgorithm(name.to_owned()))?;
            Ok(found.0)
        })
        .collect()
}

/// Checks the certificates of servers, or takes any, and notes how they signed.
pub(super) struct Trust {
    /// The roots; `None` takes any certificate.
    roots: Option<X509Store>,
    schemes: Vec<SignatureScheme>,
    desk: Arc<Desk>,
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trust").field("verifies", &self.roots.is_some()).finish_non_exhaustive()
    }
}

impl Trust {
    /// `roots`: those to trust beside the system's, in PEM; `None` takes any certificate.
    pub(super) fn new(
        roots: Option<&[u8]>,
        schemes: Option<Vec<SignatureScheme>>,
        desk: Arc<Desk>,
    ) -> Result<Self, ConfigError> {
        let roots = roots.map(store).transpose()?;
        Ok(Self { roots, schemes: schemes.unwrap_or_else(|| SCHEMES.to_vec()), desk })
    }

    /// Returns the reason why a certificate is not to be trusted, if it is not.
    fn problem(
        roots: &X509Store,
        own: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<Option<String>, boring::error::ErrorStack> {
        let own = X509::from_der(own)?;
        let mut others = Stack::new()?;
        for certificate in chain {
            others.push(X509::from_der(certificate)?)?;
        }
        let mut expected = X509VerifyParam::new()?;
        match name {
            ServerName::DnsName(name) => expected.set_host(name.as_ref())?,
            ServerName::IpAddress(address) => expected.set_ip((*address).into())?,
            _ => return Ok(Some("a name that no certificate bears".to_owned())),
        }
        expected.set_time(i64::try_from(now.as_secs()).unwrap_or(i64::MAX));
        let mut context = X509StoreContext::new()?;
        context.init(roots, &own, &others, |context| {
            context.verify_param_mut().copy_from(&expected)?;
            let is_good = context.verify_cert()?;
            let reason = context.verify_result().err().map(|why| why.error_string().to_owned());
            Ok(if is_good { None } else { reason.or_else(|| Some("unknown reason".to_owned())) })
        })
    }
}

fn store(roots: &[u8]) -> Result<X509Store, ConfigError> {
    let mut store = X509StoreBuilder::new()?;
    store.set_default_paths()?;
    if !roots.is_empty() {
        let certificates = X509::stack_from_pem(roots).map_err(|_| ConfigError::Roots)?;
        if certificates.is_empty() {
            return Err(ConfigError::Roots);
        }
        for certificate in &certificates {
            store.add_cert(certificate)?;
        }
    }
    Ok(store.build())
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(roots) = &self.roots else { return Ok(ServerCertVerified::assertion()) };
        match Self::problem(roots, end_entity, intermediates, server_name, now) {
            Ok(None) => Ok(ServerCertVerified::assertion()),
            Ok(Some(reason)) => {
                self.desk.note_untrusted(&reason);
                Err(CertificateError::ApplicationVerificationFailure.into())
            }
            Err(_) => Err(CertificateError::BadEncoding.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("QUIC has no TLS 1.2".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.desk.note_signature(signed.scheme);
        match is_signed(message, certificate, signed) {
            Ok(true) => Ok(HandshakeSignatureValid::assertion()),
            Ok(false) => Err(CertificateError::BadSignature.into()),
            Err(_) => Err(CertificateError::BadEncoding.into()),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}

/// Checks a signature of a handshake (RFC 8446, section 4.4.3).
fn is_signed(
    message: &[u8],
    certificate: &CertificateDer<'_>,
    signed: &DigitallySignedStruct,
) -> Result<bool, boring::error::ErrorStack> {
    let key = X509::from_der(certificate)?.public_key()?;
    let digest = match signed.scheme {
        SignatureScheme::ED25519 => {
            return Verifier::new_without_digest(&key)?.verify_oneshot(signed.signature(), message);
        }
        SignatureScheme::ECDSA_NISTP256_SHA256 | SignatureScheme::RSA_PSS_SHA256 => MessageDigest::sha256(),
        SignatureScheme::ECDSA_NISTP384_SHA384 | SignatureScheme::RSA_PSS_SHA384 => MessageDigest::sha384(),
        SignatureScheme::ECDSA_NISTP521_SHA512 | SignatureScheme::RSA_PSS_SHA512 => MessageDigest::sha512(),
        // Only certificates may be signed in other ways.
        _ => return Ok(false),
    };
    let is_pss = matches!(
        signed.scheme,
        SignatureScheme::RSA_PSS_SHA256 | SignatureScheme::RSA_PSS_SHA384 | SignatureScheme::RSA_PSS_SHA512
    );
    let mut verifier = Verifier::new(digest, &key)?;
    if is_pss {
        verifier.set_rsa_padding(Padding::PKCS1_PSS)?;
        verifier.set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH)?;
    }
    verifier.verify_oneshot(signed.signature(), message)
}
