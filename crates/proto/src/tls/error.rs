//! Errors of a configuration, and failures of a connection.

use std::borrow::Cow;

use boring::error::ErrorStack;
use thiserror::Error;

/// The reason why a [`Context`](super::Context) cannot be made. Each is the fault of whoever wrote the
/// options.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// An unknown key-exchange group.
    #[error("no key-exchange group is called `{0}`")]
    Group(String),
    /// A key-exchange group that QUIC's library lacks.
    #[error("the key-exchange group {0} is not there over QUIC")]
    GroupOverQuic(&'static str),
    /// A cipher list that leaves no cipher suite.
    #[error("no cipher suite of TLS 1.2 or older matches `{0}`")]
    Ciphers(String),
    /// An unknown signature algorithm.
    #[error("no signature algorithm is called `{0}`")]
    SignatureAlgorithm(String),
    /// A name of an application protocol that is empty or longer than 255 bytes.
    #[error("the name of a protocol has 1 to 255 bytes")]
    Protocol,
    /// A certificate that cannot be read.
    #[error("no PEM certificate in it")]
    Certificate,
    /// A private key that cannot be read.
    #[error("no PEM private key in it")]
    Key,
    /// A private key that is encrypted.
    #[error("the private key is encrypted")]
    EncryptedKey,
    /// A private key that does not match the certificate.
    #[error("the private key does not belong to the certificate")]
    Mismatch,
    /// Roots to trust that cannot be read.
    #[error("no PEM certificate to trust in it")]
    Roots,
    /// Anything else that the library refuses.
    #[error("BoringSSL refuses it: {0}")]
    Library(String),
}

impl From<ErrorStack> for ConfigError {
    fn from(errors: ErrorStack) -> Self {
        Self::Library(errors.to_string())
    }
}

/// The reason why TLS on a connection cannot continue.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct Failure {
    /// Its kind.
    pub kind: FailureKind,
    /// The cause, such as `alert handshake_failure from the server`: the same words for the same cause.
    pub reason: Cow<'static, str>,
    /// The library's own lines about it.
    pub details: Vec<String>,
}

/// The kind of a failure: who gave up, and over what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The peer sent this alert.
    Alert(Cow<'static, str>),
    /// The peer closed a connection of QUIC with this error of the transport.
    Closed(Cow<'static, str>),
    /// The peer's answer is no TLS at all.
    NotTls,
    /// The peer's certificate is not trusted, for this reason.
    Untrusted(Cow<'static, str>),
    /// Anything else at this end.
    Own,
}

/// Error codes from here on are alerts of the peer (BoringSSL's ssl.h, `SSL_AD_REASON_OFFSET`).
const ALERT_REASON_OFFSET: i32 = 1000;

/// The library's reasons for bytes of another protocol.
const NOT_TLS: [&str; 3] = ["WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST"];

impl Failure {
    /// Reads the library's report. `untrusted` is the reason why it rejects the peer's certificate, if it
    /// does.
    pub(super) fn new(error: &boring::ssl::Error, untrusted: Option<&str>) -> Self {
        let errors = error.ssl_error().map(ErrorStack::errors).unwrap_or_default();
        let details = errors.iter().map(one_line).collect();
        // The error of TLS says more than the one underneath.
        let of_tls = errors.iter().find(|error| error.library() == Some("SSL routines"));
        let Some(first) = of_tls.or(errors.first()) else {
            let reason = Cow::Owned(format!("TLS error {}", error.code().as_raw()));
            return Self { kind: FailureKind::Own, reason, details };
        };
        let code = first.reason_code();
        match first.reason() {
            _ if (ALERT_REASON_OFFSET..ALERT_REASON_OFFSET + 256).contains(&code) => {
                Self::alert(alert_name(code - ALERT_REASON_OFFSET), details)
            }
            Some("CERTIFICATE_VERIFY_FAILED") => Self::untrusted(untrusted, details),
            Some(reason) => {
                let kind = if NOT_TLS.contains(&reason) { FailureKind::NotTls } else { FailureKind::Own };
                Self { kind, reason: reason.to_ascii_lowercase().replace('_', " ").into(), details }
            }
            None => Self { kind: FailureKind::Own, reason: "error of the TLS library".into(), details },
        }
    }

    /// Makes that of a peer that sent this alert.
    pub(crate) fn alert(name: Cow<'static, str>, details: Vec<String>) -> Self {
        let reason = format!("alert {name} from the server").into();
        Self { kind: FailureKind::Alert(name), reason, details }
    }

    /// Makes that of a certificate that is not trusted, for this reason.
    pub(crate) fn untrusted(why: Option<&str>, details: Vec<String>) -> Self {
        let reason = match why {
            Some(why) => format!("certificate not trusted: {why}").into(),
            None => "certificate not trusted".into(),
        };
        let why = why.unwrap_or_default().to_owned().into();
        Self { kind: FailureKind::Untrusted(why), reason, details }
    }

    /// Makes a failure that the library has no error for.
    #[must_use]
    pub fn plain(reason: &'static str) -> Self {
        Self { kind: FailureKind::Own, reason: reason.into(), details: Vec::new() }
    }
}

/// Returns an error of the library in one line, without the place in its source.
fn one_line(error: &boring::error::Error) -> String {
    let library = error.library().unwrap_or("unknown library");
    format!("{library}: {}", error.reason().unwrap_or("unknown reason"))
}

/// Returns the name of an alert (IANA registry of TLS alerts).
pub(crate) fn alert_name(code: i32) -> Cow<'static, str> {
    Cow::Borrowed(match code {
        0 => "close_notify",
        10 => "unexpected_message",
        20 => "bad_record_mac",
        22 => "record_overflow",
        30 => "decompression_failure",
        40 => "handshake_failure",
        42 => "bad_certificate",
        43 => "unsupported_certificate",
        44 => "certificate_revoked",
        45 => "certificate_expired",
        46 => "certificate_unknown",
        47 => "illegal_parameter",
        48 => "unknown_ca",
        49 => "access_denied",
        50 => "decode_error",
        51 => "decrypt_error",
        70 => "protocol_version",
        71 => "insufficient_security",
        80 => "internal_error",
        86 => "inappropriate_fallback",
        90 => "user_canceled",
        100 => "no_renegotiation",
        109 => "missing_extension",
        110 => "unsupported_extension",
        112 => "unrecognized_name",
        113 => "bad_certificate_status_response",
        115 => "unknown_psk_identity",
        116 => "certificate_required",
        120 => "no_application_protocol",
        121 => "ech_required",
        _ => return Cow::Owned(code.to_string()),
    })
}
