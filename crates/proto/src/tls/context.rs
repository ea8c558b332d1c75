//! The TLS settings that all connections of a worker share: versions, ciphers, groups, certificates, trust.

use std::fmt;
use std::sync::{Arc, OnceLock};

use boring::ex_data::Index;
use boring::pkey::PKey;
use boring::ssl::{
    Ssl, SslContext, SslContextBuilder, SslMethod, SslMode, SslSessionCacheMode, SslVerifyMode, SslVersion,
};
use boring::x509::X509;
use httperf_sys::tls::{Session, enable_early_data};

use super::compression::{Brotli, Used, Zlib};
use super::{ConfigError, DEFAULT_GROUPS, Group};

/// The TLS settings of connections.
#[derive(Clone, Default)]
pub struct Options {
    /// The oldest version offered; `None` leaves it to the library.
    pub min: Option<Version>,
    /// The newest version offered; `None` leaves it to the library.
    pub max: Option<Version>,
    /// Cipher suites of TLS 1.2 and older, as an OpenSSL cipher list. Ignored if `min` is TLS 1.3, all of
    /// whose suites are always offered.
    pub ciphers: Option<String>,
    /// Key-exchange groups, most preferred first, separated by colons. A key share is sent for the first, and for
    /// the next as well if one of them is post-quantum and the other is not.
    pub groups: Option<String>,
    /// Signature algorithms taken from the server, most preferred first, separated by colons.
    pub signature_algorithms: Option<String>,
    /// Protocols offered by ALPN, most preferred first; empty sends no ALPN.
    pub alpn: Vec<Vec<u8>>,
    /// The certificate for a server that asks for one.
    pub identity: Option<Identity>,
    /// Roots to trust in addition to the system's, in PEM; `None` accepts any certificate.
    pub trust: Option<Vec<u8>>,
    /// True if certificates may come compressed with zlib, and with Brotli.
    pub zlib: bool,
    /// See [`Options::zlib`].
    pub brotli: bool,
    /// The destination of session secrets, in the format of `SSLKEYLOGFILE`.
    pub key_log: Option<KeyLog>,
    /// True if connections hand out sessions for others to resume.
    pub sessions: bool,
    /// True if resumed sessions may carry early data.
    pub early_data: bool,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("groups", &self.groups)
            .field("ciphers", &self.ciphers)
            .finish_non_exhaustive()
    }
}

/// Receives session secrets, one line at a time without its end.
pub type KeyLog = Arc<dyn Fn(&str) + Send + Sync>;

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// RFC 2246.
    Tls10,
    /// RFC 4346.
    Tls11,
    /// RFC 5246.
    Tls12,
    /// RFC 8446.
    Tls13,
}

impl From<Version> for SslVersion {
    fn from(version: Version) -> Self {
        match version {
            Version::Tls10 => Self::TLS1,
            Version::Tls11 => Self::TLS1_1,
            Version::Tls12 => Self::TLS1_2,
            Version::Tls13 => Self::TLS1_3,
        }
    }
}

/// A certificate with its key.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    /// The certificate and those that lead from it to a root, in PEM.
    pub certificates: Vec<u8>,
    /// Its private key, not encrypted, in PEM.
    pub key: Vec<u8>,
}

impl fmt::Debug for Identity {
    /// Leaves the key out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

/// The TLS settings that all connections of a worker share, ready for use.
#[derive(Clone)]
pub struct Context {
    ssl: SslContext,
    pub(super) verifies: bool,
    pub(super) compression_used: Used,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("verifies", &self.verifies).finish_non_exhaustive()
    }
}

impl Context {
    /// Makes a context from these options.
    ///
    /// # Errors
    /// When an option names something that the library does not have, or does not fit the others.
    pub fn new(options: &Options) -> Result<Self, ConfigError> {
        let mut builder = SslContextBuilder::new(SslMethod::tls())?;
        builder.set_min_proto_version(options.min.map(SslVersion::from))?;
        builder.set_max_proto_version(options.max.map(SslVersion::from))?;
        // A write hands out each record as soon as it is sealed, so that what early data has no room for is known.
        builder.set_mode(SslMode::ENABLE_PARTIAL_WRITE | SslMode::ACCEPT_MOVING_WRITE_BUFFER);
        if let Some(ciphers) = &options.ciphers
            && options.min != Some(Version::Tls13)
        {
            let list = cipher_list(ciphers);
            builder.set_cipher_list(&list.usable).map_err(|_| ConfigError::Ciphers(ciphers.clone()))?;
        }
        let groups = options.groups.as_deref().unwrap_or(DEFAULT_GROUPS);
        builder.set_curves_list(&group_list(groups)?)?;
        let algorithms = options.signature_algorithms.as_deref().unwrap_or(SIGNATURE_ALGORITHMS);
        set_signature_algorithms(&mut builder, algorithms)?;
        if !options.alpn.is_empty() {
            builder.set_alpn_protos(&alpn_list(&options.alpn)?)?;
        }
        if let Some(identity) = &options.identity {
            set_identity(&mut builder, identity)?;
        }
        match &options.trust {
            Some(roots) => {
                trust(&mut builder, roots)?;
                builder.set_verify(SslVerifyMode::PEER);
            }
            None => builder.set_verify(SslVerifyMode::NONE),
        }
        let compression_used = Used::default();
        if options.zlib {
            builder.add_certificate_compression_algorithm(Zlib(compression_used.clone()))?;
        }
        if options.brotli {
            builder.add_certificate_compression_algorithm(Brotli(compression_used.clone()))?;
        }
        if let Some(log) = options.key_log.clone() {
            builder.set_keylog_callback(move |_, line| log(line));
        }
        if options.sessions {
            builder.set_session_cache_mode(SslSessionCacheMode::CLIENT | SslSessionCacheMode::NO_INTERNAL);
            builder.set_new_session_callback(|ssl, session| {
                let session = Session::new(session, ssl);
                if let Some(sessions) = ssl.ex_data_mut(sessions_index()) {
                    // The newest are the best: a server may send any number.
                    if sessions.len() == SESSIONS_PER_CONNECTION {
                        sessions.remove(0);
                    }
                    sessions.push(session);
                }
            });
        }
        if options.early_data {
            enable_early_data(&mut builder);
        }
        Ok(Self { ssl: builder.build(), verifies: options.trust.is_some(), compression_used })
    }

    /// Makes a connection of this context, with a place for the sessions that it will be given.
    pub(super) fn connection(&self) -> Ssl {
        let mut ssl = Ssl::new(&self.ssl).expect("a connection needs nothing but memory");
        ssl.set_ex_data(sessions_index(), Vec::new());
        ssl
    }
}

/// The number of sessions that one connection keeps until they are taken.
const SESSIONS_PER_CONNECTION: usize = 4;

/// Returns the place for the sessions that a server gave a connection.
pub(super) fn sessions_index() -> Index<Ssl, Vec<Session>> {
    static INDEX: OnceLock<Index<Ssl, Vec<Session>>> = OnceLock::new();
    *INDEX.get_or_init(|| Ssl::new_ex_index().expect("an index needs nothing but memory"))
}

/// An OpenSSL cipher list as BoringSSL can use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CipherList {
    /// The list without unknown names.
    pub usable: String,
    /// Unknown names that would have added cipher suites.
    pub unknown: Vec<String>,
}

impl CipherList {
    /// Returns whether a cipher suite of TLS 1.2 or older is left: the list may name none, or remove what it adds.
    #[must_use]
    pub fn leaves_any(&self) -> bool {
        SslContextBuilder::new(SslMethod::tls())
            .is_ok_and(|mut builder| builder.set_cipher_list(&self.usable).is_ok())
    }
}

/// Separates the names of an OpenSSL cipher list that the library knows from the others. TLS 1.3 suites are
/// not among them: the library always offers all of these.
#[must_use]
pub fn cipher_list(list: &str) -> CipherList {
    let mut usable: Vec<&str> = Vec::new();
    let mut unknown = Vec::new();
    // OpenSSL lets a command follow a name without a separator: DEFAULT@SECLEVEL=0.
    let list = list.replace('@', ":@");
    for element in list.split([':', ',', ';', ' ']).filter(|element| !element.is_empty()) {
        let name = element.trim_start_matches(['!', '-', '+']);
        if is_cipher_name(name) {
            usable.push(element);
        } else if name == element {
            unknown.push(element.to_owned());
        }
    }
    CipherList { usable: usable.join(":"), unknown }
}

fn is_cipher_name(name: &str) -> bool {
    if name == "@STRENGTH" {
        return true;
    }
    SslContextBuilder::new(SslMethod::tls())
        .is_ok_and(|mut builder| builder.set_strict_cipher_list(name).is_ok())
}

fn group_list(list: &str) -> Result<String, ConfigError> {
    let mut names: Vec<&str> = Vec::new();
    for name in list.split([':', ',']) {
        let group = Group::named(name.trim()).ok_or_else(|| ConfigError::Group(name.to_owned()))?;
        // The library refuses a name that it has had.
        if !names.contains(&group.name) {
            names.push(group.name);
        }
    }
    Ok(names.join(":"))
}

/// Defaults of what is accepted: all that servers have, in the library's order. By itself, it leaves out
/// certificates of Ed25519 and P-521.
const SIGNATURE_ALGORITHMS: &str = "ecdsa_secp256r1_sha256:rsa_pss_rsae_sha256:rsa_pkcs1_sha256:\
    ecdsa_secp384r1_sha384:rsa_pss_rsae_sha384:rsa_pkcs1_sha384:ed25519:ecdsa_secp521r1_sha512:\
    rsa_pss_rsae_sha512:rsa_pkcs1_sha512:rsa_pkcs1_sha1";

fn set_signature_algorithms(builder: &mut SslContextBuilder, list: &str) -> Result<(), ConfigError> {
    let unknown = |name: &str| ConfigError::SignatureAlgorithm(name.to_owned());
    let mut names: Vec<&str> = Vec::new();
    for name in list.split([':', ',']).map(str::trim) {
        builder.set_sigalgs_list(name).map_err(|_| unknown(name))?;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    builder.set_sigalgs_list(&names.join(":")).map_err(|_| unknown(list))
}

/// Encodes protocol names, each after a byte with its length (RFC 7301, section 3.1).
fn alpn_list(protocols: &[Vec<u8>]) -> Result<Vec<u8>, ConfigError> {
    let mut list = Vec::new();
    for protocol in protocols {
        match u8::try_from(protocol.len()) {
            Ok(size @ 1..) => {
                list.push(size);
                list.extend_from_slice(protocol);
            }
            Ok(0) | Err(_) => return Err(ConfigError::Protocol),
        }
    }
    Ok(list)
}

fn set_identity(builder: &mut SslContextBuilder, identity: &Identity) -> Result<(), ConfigError> {
    let certificates = X509::stack_from_pem(&identity.certificates).map_err(|_| ConfigError::Certificate)?;
    let mut certificates = certificates.into_iter();
    let own = certificates.next().ok_or(ConfigError::Certificate)?;
    let key = PKey::private_key_from_pem_callback(&identity.key, |_| Ok(0)).map_err(|_| {
        let text = String::from_utf8_lossy(&identity.key);
        if text.contains("ENCRYPTED") { ConfigError::EncryptedKey } else { ConfigError::Key }
    })?;
    if !own.public_key().is_ok_and(|public| public.public_eq(&key)) {
        return Err(ConfigError::Mismatch);
    }
    builder.set_certificate(&own)?;
    builder.set_private_key(&key)?;
    for certificate in certificates {
        builder.add_extra_chain_cert(certificate)?;
    }
    Ok(())
}

/// Returns whether this is one certificate or more in PEM that the library can read.
#[must_use]
pub fn are_certificates(pem: &[u8]) -> bool {
    X509::stack_from_pem(pem).is_ok_and(|certificates| !certificates.is_empty())
}

fn trust(builder: &mut SslContextBuilder, roots: &[u8]) -> Result<(), ConfigError> {
    builder.set_default_verify_paths()?;
    if roots.is_empty() {
        return Ok(());
    }
    let certificates = X509::stack_from_pem(roots).map_err(|_| ConfigError::Roots)?;
    if certificates.is_empty() {
        return Err(ConfigError::Roots);
    }
    for certificate in &certificates {
        builder.cert_store_mut().add_cert(certificate)?;
    }
    Ok(())
}
