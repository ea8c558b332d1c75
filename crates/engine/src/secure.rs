//! The TLS context of a plan.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use httperf_plan::{CertificateCompression, Resumption, Tls, TlsVersion};
use httperf_proto::tls::{ConfigError, Context, Identity, KeyLog, Options, Version};
use thiserror::Error;

/// The reason why the TLS settings of a plan cannot be used. Failures of the server are not among them.
#[derive(Debug, Error)]
pub enum TlsError {
    /// The library refuses a setting.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The file for session secrets cannot be opened.
    #[error("--tls-keylog, or SSLKEYLOGFILE: cannot open {}", path.display())]
    KeyLog {
        /// The path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Creates the TLS context that all connections of a worker share.
///
/// # Errors
/// If the library does not know a name in the settings, or the file for session secrets cannot be opened. The file is
/// created if it does not exist.
pub fn tls_context(tls: &Tls) -> Result<Context, TlsError> {
    let offers = |wanted| tls.certificate_compression.contains(&wanted);
    let options = Options {
        min: Some(version(tls.min)),
        max: Some(version(tls.max)),
        ciphers: tls.ciphers.clone(),
        groups: tls.groups.clone(),
        signature_algorithms: tls.signature_algorithms.clone(),
        alpn: tls.alpn.clone(),
        identity: tls.identity.as_ref().map(|identity| Identity {
            certificates: identity.certificates.clone(),
            key: identity.key.clone(),
        }),
        trust: tls.verify.as_ref().map(|trust| trust.roots.clone()),
        zlib: offers(CertificateCompression::Zlib),
        brotli: offers(CertificateCompression::Brotli),
        key_log: tls.key_log.as_deref().map(open_key_log).transpose()?,
        sessions: tls.resumption != Resumption::Never,
        early_data: tls.early_data,
    };
    Ok(Context::new(&options)?)
}

fn version(version: TlsVersion) -> Version {
    match version {
        TlsVersion::Tls10 => Version::Tls10,
        TlsVersion::Tls11 => Version::Tls11,
        TlsVersion::Tls12 => Version::Tls12,
        TlsVersion::Tls13 => Version::Tls13,
    }
}

fn open_key_log(path: &Path) -> Result<KeyLog, TlsError> {
    let file = OpenOptions::new().append(true).create(true).open(path);
    let file = file.map_err(|source| TlsError::KeyLog { path: path.to_owned(), source })?;
    Ok(Arc::new(move |line| append_line(&file, line)))
}

/// Appends a line in a single write, so that lines of several workers do not mix.
fn append_line(mut file: &File, line: &str) {
    // A failure to log secrets does not affect the run.
    file.write_all(format!("{line}\n").as_bytes()).unwrap_or_default();
}
