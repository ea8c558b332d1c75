//! Arguments about TLS.

use std::ffi::OsString;

use httperf_plan::{CertificateCompression, TlsVersion};

/// Arguments about TLS.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TlsArgs {
    /// `--ssl`, or an option that implies it.
    pub wanted: bool,
    /// The option that says so, for messages: the last one.
    pub wanted_by: &'static str,
    /// `--ssl-ciphers`.
    pub ciphers: Option<Vec<u8>>,
    /// `--ssl-no-reuse`.
    pub no_reuse: bool,
    /// `--ssl-certificate`.
    pub certificate: Option<OsString>,
    /// `--ssl-key`.
    pub key: Option<OsString>,
    /// `--ssl-verify`.
    pub verify: bool,
    /// `--ssl-ca-file`.
    pub ca_file: Option<OsString>,
    /// `--ssl-ca-path`.
    pub ca_path: Option<OsString>,
    /// `--ssl-protocol`.
    pub protocol: Option<Protocol>,
    /// `--tls-server-name`.
    pub server_name: Option<Vec<u8>>,
    /// `--tls-groups`.
    pub groups: Option<Vec<u8>>,
    /// `--tls-min`.
    pub min: Option<TlsVersion>,
    /// `--tls-max`.
    pub max: Option<TlsVersion>,
    /// `--tls-sigalgs`.
    pub signature_algorithms: Option<Vec<u8>>,
    /// `--tls-alpn`.
    pub alpn: Option<Vec<u8>>,
    /// `--tls-keylog`.
    pub key_log: Option<OsString>,
    /// `--tls-resume` in percent.
    pub resume: Option<f64>,
    /// `--tls-early-data`.
    pub early_data: bool,
    /// `--tls-handshake-only`.
    pub handshake_only: bool,
    /// `--tls-cert-compression`.
    pub certificate_compression: Vec<CertificateCompression>,
}

impl TlsArgs {
    /// The option of this name asks for TLS.
    pub fn want(&mut self, option: &'static str) {
        (self.wanted, self.wanted_by) = (true, option);
    }
}

/// A value of `--ssl-protocol`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// The usual versions.
    Auto,
    /// This version and no other.
    Only(TlsVersion),
}

impl Protocol {
    /// The value that names it in the echo line of the classic tool.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Only(TlsVersion::Tls10) => "TLSv1.0",
            Self::Only(TlsVersion::Tls11) => "TLSv1.1",
            Self::Only(TlsVersion::Tls12) => "TLSv1.2",
            Self::Only(TlsVersion::Tls13) => "TLSv1.3",
        }
    }
}
