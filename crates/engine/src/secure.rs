//! The TLS context of a plan, and its QUIC.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use httperf_plan::{self as plan, CertificateCompression, HttpVersion, Plan, Resumption, Tls, TlsVersion};
use httperf_proto::quic;
use httperf_proto::tls::{ConfigError, Context, Identity, KeyLog, Options, Version};
use thiserror::Error;

/// The reason why the TLS settings of a plan cannot be used. Failures of the server are not among them.
#[derive(Debug, Error)]
pub enum TlsError {
    /// The library refuses a setting.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The file for session secrets cannot be opened.
    #[error("cannot open the file for TLS keys `{}`", path.display())]
    KeyLog {
        /// The path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The folder for logs of connections cannot be made, or no file in it.
    #[error("cannot write qlog files in {}", path.display())]
    Qlog {
        /// The path of the folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// What secures the connections of a plan.
#[derive(Clone, Debug)]
pub enum Security {
    /// TLS over TCP.
    Tls(Context),
    /// QUIC, which has TLS inside.
    Quic(quic::Context),
    /// TLS over TCP, and QUIC once a server has said that it speaks HTTP/3.
    Either {
        /// That of connections over TCP.
        tls: Context,
        /// That of connections over QUIC, or the reason why none goes over it, such as `a proxy is about TCP`.
        quic: Result<quic::Context, String>,
    },
}

/// Creates what all connections of a worker share to be secured; `None` if they are not.
///
/// # Errors
/// As [`tls_context`].
pub fn security(plan: &Plan) -> Result<Option<Security>, TlsError> {
    let Some(tls) = &plan.tls else { return Ok(None) };
    Ok(Some(match plan.request.version {
        HttpVersion::Http3 => Security::Quic(quic_context(&plan.quic, tls)?),
        HttpVersion::Auto if plan.learns_alt_svc() => {
            Security::Either { tls: tls_context(tls)?, quic: quic_beside(plan, tls) }
        }
        HttpVersion::Http10 | HttpVersion::Http11 | HttpVersion::Http2 | HttpVersion::Auto => {
            Security::Tls(tls_context(tls)?)
        }
    }))
}

/// Creates the QUIC context of a plan whose connections begin over TCP, or says why it cannot have one.
fn quic_beside(plan: &Plan, tls: &Tls) -> Result<quic::Context, String> {
    match plan.bound_to_tcp() {
        Some(option) => Err(option.to_owned()),
        None => quic_context(&plan.quic, tls).map_err(|error| error.to_string()),
    }
}

/// Creates the QUIC context that all connections of a worker share.
///
/// # Errors
/// As [`tls_context`], if a setting names something that only TLS over TCP has, and if the folder for logs cannot be
/// written in. It is made if it does not exist.
pub fn quic_context(settings: &plan::Quic, tls: &Tls) -> Result<quic::Context, TlsError> {
    if let Some(folder) = &settings.qlog {
        try_folder(folder).map_err(|source| TlsError::Qlog { path: folder.clone(), source })?;
    }
    let options = quic::Options {
        // What does not fit its field (RFC 9000, section 18.2) is for ever.
        idle_timeout: Some(settings.idle_timeout),
        stream_window: settings.stream_window.get().into(),
        connection_window: settings.window.get().into(),
        max_datagram: settings.max_datagram.get() as u16,
        max_udp_payload: settings.max_udp_payload.get() as u16,
        congestion: match settings.congestion {
            plan::Congestion::Cubic => quic::Congestion::Cubic,
            plan::Congestion::Bbr => quic::Congestion::Bbr,
            plan::Congestion::NewReno => quic::Congestion::NewReno,
        },
    };
    let alpn = vec![b"h3".to_vec()];
    Ok(quic::Context::new(&options, &Options { alpn, ..tls_options(tls)? }, Instant::now())?)
}

/// Makes a folder if it is missing, and tries to write in it.
fn try_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    // Others may try at the same time.
    let (process, thread) = (std::process::id(), std::thread::current().id());
    let trial = folder.join(format!(".httperf-{process}-{thread:?}"));
    File::create(&trial)?;
    fs::remove_file(&trial)
}

/// Creates the TLS context that all connections of a worker share.
///
/// # Errors
/// If the library does not know a name in the settings, or the file for session secrets cannot be opened. The file is
/// created if it does not exist.
pub fn tls_context(tls: &Tls) -> Result<Context, TlsError> {
    Ok(Context::new(&tls_options(tls)?)?)
}

fn tls_options(tls: &Tls) -> Result<Options, TlsError> {
    let offers = |wanted| tls.certificate_compression.contains(&wanted);
    Ok(Options {
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
    })
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
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
    let file = file.map_err(|source| TlsError::KeyLog { path: path.to_owned(), source })?;
    Ok(Arc::new(move |line| append_line(&file, line)))
}

/// Appends a line in a single write, so that lines of several workers do not mix.
fn append_line(mut file: &File, line: &str) {
    // A failure to log secrets does not affect the run.
    file.write_all(format!("{line}\n").as_bytes()).unwrap_or_default();
}
