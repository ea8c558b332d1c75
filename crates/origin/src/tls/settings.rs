//! The server's settings of TLS.

use std::str::FromStr;

use boring::ssl::{SslContextBuilder, SslMethod};
use httperf_plan::{CertificateCompression, TlsVersion};
use httperf_proto::tls::{DEFAULT_GROUPS, GROUPS, Group, cipher_list};

use super::credentials::Credentials;
use crate::text::Malformed;

/// The server's settings of TLS.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The server's certificate and key.
    pub credentials: Credentials,
    /// The versions it accepts.
    pub versions: Versions,
    /// The key-exchange groups it accepts.
    pub groups: Groups,
    /// The cipher suites of TLS 1.2 and older that it accepts; `None` leaves the choice to BoringSSL.
    pub ciphers: Option<Ciphers>,
    /// The sessions that clients may resume.
    pub tickets: Tickets,
    /// The demand for client certificates.
    pub client_certificate: ClientCertificate,
    /// The algorithms with which it compresses its certificate for clients that support them, most preferred first.
    pub certificate_compression: Vec<CertificateCompression>,
}

impl Tls {
    /// Makes settings with TLS 1.2 and 1.3, every group of BoringSSL, tickets, and no client certificates.
    #[must_use]
    pub fn new(credentials: Credentials) -> Self {
        Self {
            credentials,
            versions: Versions::default(),
            groups: Groups::default(),
            ciphers: None,
            tickets: Tickets::On,
            client_certificate: ClientCertificate::None,
            certificate_compression: Vec::new(),
        }
    }
}

/// A range of versions; never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    pub(super) min: TlsVersion,
    pub(super) max: TlsVersion,
}

impl Versions {
    /// Makes the range from `min` to `max`; `None` if it is empty.
    #[must_use]
    pub fn new(min: TlsVersion, max: TlsVersion) -> Option<Self> {
        (min <= max).then_some(Self { min, max })
    }

    /// Makes a range of one version.
    #[must_use]
    pub fn only(version: TlsVersion) -> Self {
        Self { min: version, max: version }
    }

    /// Returns true if this version is accepted.
    pub(crate) fn includes(self, version: TlsVersion) -> bool {
        (self.min..=self.max).contains(&version)
    }

    /// Returns the newest version.
    #[must_use]
    pub fn max(self) -> TlsVersion {
        self.max
    }
}

impl Default for Versions {
    fn default() -> Self {
        Self { min: TlsVersion::Tls12, max: TlsVersion::Tls13 }
    }
}

/// Key-exchange groups; the client's preference decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups(Vec<&'static Group>);

impl Groups {
    /// Formats the groups for BoringSSL.
    pub(super) fn to_list(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|group| group.name).collect();
        names.join(":")
    }
}

impl Groups {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'static Group> {
        self.0.iter().copied()
    }
}

impl Default for Groups {
    /// Returns all groups of BoringSSL, those that browsers offer first.
    fn default() -> Self {
        let usual = DEFAULT_GROUPS.split(':').filter_map(Group::named);
        let mut groups: Vec<&Group> = usual.collect();
        for group in GROUPS {
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        Self(groups)
    }
}

impl FromStr for Groups {
    type Err = Malformed;

    /// Reads names separated by colons or commas.
    fn from_str(text: &str) -> Result<Self, Malformed> {
        let groups = text.split([':', ',']).map(|name| Group::named(name.trim()));
        let groups: Option<Vec<_>> = groups.collect();
        groups.map(Self).ok_or_else(|| {
            Malformed::new("key-exchange groups such as X25519MLKEM768, X25519, P-256 or P-384", text)
        })
    }
}

/// Cipher suites of TLS 1.2 and older, as an OpenSSL cipher list with names that BoringSSL knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ciphers(pub(super) String);

impl FromStr for Ciphers {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let list = cipher_list(text);
        if list.usable.is_empty() || !list.unknown.is_empty() || !accepts_ciphers(&list.usable) {
            return Err(Malformed::new("cipher suites of TLS 1.2 or older that BoringSSL has", text));
        }
        Ok(Self(list.usable))
    }
}

/// Returns true if a cipher list leaves any cipher suite.
fn accepts_ciphers(list: &str) -> bool {
    SslContextBuilder::new(SslMethod::tls()).is_ok_and(|mut builder| builder.set_cipher_list(list).is_ok())
}

/// The sessions that clients may resume, by tickets: the server keeps no sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tickets {
    /// None: every handshake is a full one.
    Off,
    /// Any session of this run of the server.
    On,
    /// As [`Tickets::On`], and with TLS 1.3 also early data, without protection against replay.
    EarlyData,
}

/// The server's demand for client certificates. Any certificate that matches its key is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientCertificate {
    /// The server does not ask for one.
    None,
    /// It asks for one and goes on without it.
    Requested,
    /// It asks for one and fails the handshake without it.
    Required,
}

/// Reads a version of TLS: 1.0 to 1.3.
pub fn parse_tls_version(text: &str) -> Result<TlsVersion, Malformed> {
    match text {
        "1.0" => Ok(TlsVersion::Tls10),
        "1.1" => Ok(TlsVersion::Tls11),
        "1.2" => Ok(TlsVersion::Tls12),
        "1.3" => Ok(TlsVersion::Tls13),
        _ => Err(Malformed::new("1.0, 1.1, 1.2 or 1.3", text)),
    }
}

/// Reads algorithms for certificate compression, separated by colons or commas.
pub fn parse_certificate_compression(text: &str) -> Result<Vec<CertificateCompression>, Malformed> {
    let ways = text.split([':', ',']).map(|name| match name.trim() {
        "zlib" => Ok(CertificateCompression::Zlib),
        "brotli" => Ok(CertificateCompression::Brotli),
        _ => Err(Malformed::new("zlib, brotli or both", text)),
    });
    ways.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_go_by_their_names_in_the_order_given() {
        let groups: Groups = "p-384,X25519MLKEM768:prime256v1".parse().unwrap();
        assert_eq!(groups.to_list(), "P-384:X25519MLKEM768:P-256");
        for text in ["", "P-257", "X25519,", "X25519 P-256"] {
            assert!(text.parse::<Groups>().is_err(), "{text}");
        }
    }

    #[test]
    fn unless_told_otherwise_every_group_is_accepted() {
        let Groups(groups) = Groups::default();
        assert_eq!(groups.len(), GROUPS.len());
        assert_eq!(groups[0].name, "X25519MLKEM768");
    }

    #[test]
    fn cipher_lists_name_what_the_library_has() {
        for text in ["ECDHE-RSA-AES128-GCM-SHA256:AES128-SHA", "HIGH:!aNULL", "ALL"] {
            assert!(text.parse::<Ciphers>().is_ok(), "{text}");
        }
        for text in ["", "RC4-MD5", "AES128-SHA:nonsense", "!aNULL"] {
            assert!(text.parse::<Ciphers>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_range_of_versions_is_never_empty() {
        assert!(Versions::new(TlsVersion::Tls12, TlsVersion::Tls12).is_some());
        assert!(Versions::new(TlsVersion::Tls13, TlsVersion::Tls12).is_none());
    }

    #[test]
    fn versions_and_compressions_are_read_from_text() {
        assert_eq!(parse_tls_version("1.0"), Ok(TlsVersion::Tls10));
        assert!(parse_tls_version("1.4").is_err());
        let both = vec![CertificateCompression::Brotli, CertificateCompression::Zlib];
        assert_eq!(parse_certificate_compression("brotli,zlib"), Ok(both));
        assert!(parse_certificate_compression("zstd").is_err());
    }
}
