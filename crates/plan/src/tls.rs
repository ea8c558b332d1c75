//! The TLS settings.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The TLS settings of connections. Lists are in BoringSSL's syntax; the maker of a plan must have checked that the
/// library knows their elements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tls {
    /// The oldest version offered. TLS 1.2 by default.
    pub min: TlsVersion,
    /// The newest version offered; not below `min`. TLS 1.3 by default.
    pub max: TlsVersion,
    /// Cipher suites of TLS 1.2 and older, as an OpenSSL cipher list; `None` leaves the choice to the library.
    pub ciphers: Option<String>,
    /// Key-exchange groups, most preferred first, separated by colons; `None` offers those of browsers.
    pub groups: Option<String>,
    /// Signature algorithms accepted from the server, most preferred first, separated by colons; `None` leaves the
    /// choice to the library.
    pub signature_algorithms: Option<String>,
    /// Protocols offered by ALPN (RFC 7301), most preferred first; if empty, no ALPN is sent.
    #[serde(with = "crate::text::list")]
    #[schemars(with = "Vec<crate::text::Text>")]
    pub alpn: Vec<Vec<u8>>,
    /// The certificate to present to a server that requests one.
    pub identity: Option<Identity>,
    /// The roots to trust; `None`, the default, accepts any certificate.
    pub verify: Option<Trust>,
    /// The certificate compression algorithms offered (RFC 8879); none by default.
    pub certificate_compression: Vec<CertificateCompression>,
    /// A file to append session secrets to, in the format of `SSLKEYLOGFILE`.
    #[serde(with = "crate::text::optional_path")]
    #[schemars(with = "Option<crate::text::Text>")]
    pub key_log: Option<PathBuf>,
    /// The connections that resume an earlier TLS session.
    pub resumption: Resumption,
    /// Sends safe requests as 0-RTT data (RFC 8446, section 2.3) if a resumed session allows it. Off by default.
    pub early_data: bool,
}

impl Default for Tls {
    fn default() -> Self {
        Self {
            min: TlsVersion::Tls12,
            max: TlsVersion::Tls13,
            ciphers: None,
            groups: None,
            signature_algorithms: None,
            alpn: Vec::new(),
            identity: None,
            verify: None,
            certificate_compression: Vec::new(),
            key_log: None,
            resumption: Resumption::WithinSession,
            early_data: false,
        }
    }
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TlsVersion {
    /// TLS 1.0 (RFC 2246).
    Tls10,
    /// TLS 1.1 (RFC 4346).
    Tls11,
    /// TLS 1.2 (RFC 5246).
    Tls12,
    /// TLS 1.3 (RFC 8446).
    Tls13,
}

/// A client certificate with its key, for a server that requests one.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// The certificate and its chain of issuers, in PEM.
    #[serde(with = "crate::text")]
    #[schemars(with = "crate::text::Text")]
    pub certificates: Vec<u8>,
    /// The private key, not encrypted, in PEM. It is not saved in result files; empty if read from one.
    #[serde(skip)]
    pub key: Vec<u8>,
}

impl std::fmt::Debug for Identity {
    /// Writes all but the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").field("certificates", &self.certificates.len()).finish_non_exhaustive()
    }
}

/// The trusted roots for verifying certificates: those of the system, and further ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trust {
    /// Further roots, in PEM.
    #[serde(with = "crate::text")]
    #[schemars(with = "crate::text::Text")]
    pub roots: Vec<u8>,
}

/// A certificate compression algorithm (RFC 8879).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CertificateCompression {
    /// zlib (RFC 1950).
    Zlib,
    /// Brotli (RFC 7932).
    Brotli,
}

/// The connections that resume an earlier TLS session.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resumption {
    /// No connection: each makes a full handshake.
    Never,
    /// Each connection of a session after its first; none in a connection workload.
    WithinSession,
    /// A share (0 to 1) of the connections of a connection workload, spread evenly over the run.
    Share(f64),
}
