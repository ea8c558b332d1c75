//! How connections are secured.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How connections are secured. Lists are in BoringSSL's syntax and words; whoever makes a plan has checked
/// that the library knows them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tls {
    /// The oldest version offered.
    pub min: TlsVersion,
    /// The newest version offered; not below `min`.
    pub max: TlsVersion,
    /// Cipher suites of TLS 1.2 and older, as an OpenSSL cipher list; `None` leaves the choice to the library.
    pub ciphers: Option<String>,
    /// Key-exchange groups, most preferred first, separated by colons; `None` offers what browsers do.
    pub groups: Option<String>,
    /// Signature algorithms taken from the server, most preferred first, separated by colons.
    pub signature_algorithms: Option<String>,
    /// Protocols offered by ALPN, most preferred first; empty sends no ALPN.
    #[serde(with = "crate::text::list")]
    #[schemars(with = "Vec<crate::text::Text>")]
    pub alpn: Vec<Vec<u8>>,
    /// What to show to a server that asks for a certificate.
    pub identity: Option<Identity>,
    /// Whom to trust; `None` takes any certificate.
    pub verify: Option<Trust>,
    /// How certificates may be compressed (RFC 8879).
    pub certificate_compression: Vec<CertificateCompression>,
    /// A file to append session secrets to, in the format of `SSLKEYLOGFILE`.
    #[serde(with = "crate::text::optional_path")]
    #[schemars(with = "Option<crate::text::Text>")]
    pub key_log: Option<PathBuf>,
    /// Which connections resume an earlier TLS session.
    pub resumption: Resumption,
    /// Whether safe requests travel as 0-RTT data where a resumed session allows it.
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
    /// RFC 2246.
    Tls10,
    /// RFC 4346.
    Tls11,
    /// RFC 5246.
    Tls12,
    /// RFC 8446.
    Tls13,
}

/// A certificate with its key, to show to a server that asks for one.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// The certificate and those that lead from it to a root, in PEM.
    #[serde(with = "crate::text")]
    #[schemars(with = "crate::text::Text")]
    pub certificates: Vec<u8>,
    /// Its private key, not encrypted, in PEM. It is not written into result files; empty if it was read from one.
    #[serde(skip)]
    pub key: Vec<u8>,
}

impl std::fmt::Debug for Identity {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").field("certificates", &self.certificates.len()).finish_non_exhaustive()
    }
}

/// Whom to trust when certificates are checked: the system's roots, and these.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trust {
    /// Further roots, in PEM.
    #[serde(with = "crate::text")]
    #[schemars(with = "crate::text::Text")]
    pub roots: Vec<u8>,
}

/// How a certificate may be compressed (RFC 8879).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CertificateCompression {
    /// RFC 1950.
    Zlib,
    /// RFC 7932.
    Brotli,
}

/// Which connections resume an earlier TLS session.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resumption {
    /// None: each connection makes a full handshake.
    Never,
    /// Those of a session after its first. In a connection workload none does.
    WithinSession,
    /// This share (0 to 1) of the connections of a connection workload, spread evenly over the run.
    Share(f64),
}
