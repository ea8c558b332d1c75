//! The parts of a server's certificate that operators look at.

use boring::asn1::Asn1Time;
use boring::ec::EcKeyRef;
use boring::nid::Nid;
use boring::pkey::{Id, PKeyRef, Public};
use boring::ssl::SslRef;
use boring::x509::{X509, X509NameRef, X509Ref};

/// A server's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The subject in one line, most specific name first, such as `CN=www.example.com, O=Example`.
    pub subject: String,
    /// Its key, such as `EC P-256` or `RSA 2048`.
    pub key: String,
    /// The number of certificates in the chain, itself included.
    pub chain_length: usize,
    /// Whole days from `now` to its end; negative once it has expired.
    pub days_left: i64,
}

impl Certificate {
    /// Reads the certificate that the server showed. `now` is in seconds since 1970.
    pub(super) fn of(ssl: &SslRef, now: i64) -> Option<Self> {
        let certificate = ssl.peer_certificate()?;
        let chain_length = ssl.peer_cert_chain().map_or(1, |chain| chain.len().max(1));
        Some(Self::read(&certificate, chain_length, now))
    }

    /// Reads the first certificate of a chain, each in DER.
    pub(crate) fn of_chain(chain: &[Vec<u8>], now: i64) -> Option<Self> {
        let certificate = X509::from_der(chain.first()?).ok()?;
        Some(Self::read(&certificate, chain.len(), now))
    }

    fn read(certificate: &X509Ref, chain_length: usize, now: i64) -> Self {
        Self {
            subject: subject(certificate),
            key: certificate.public_key().map_or_else(|_| "unknown".to_owned(), |key| key_name(&key)),
            chain_length,
            days_left: days_left(certificate, now).unwrap_or(0),
        }
    }
}

/// Returns the subject; the first alternative name stands in for an empty one.
fn subject(certificate: &X509Ref) -> String {
    let subject = one_line(certificate.subject_name());
    if !subject.is_empty() {
        return subject;
    }
    let names = certificate.subject_alt_names();
    let name = names.as_ref().and_then(|names| names.iter().find_map(|name| name.dnsname()));
    name.map_or_else(|| "without a name".to_owned(), |name| format!("DNS:{}", printable(name)))
}

fn one_line(name: &X509NameRef) -> String {
    let mut parts: Vec<String> = name
        .entries()
        .map(|entry| {
            let kind = entry.object().nid().short_name().unwrap_or("?");
            let value = entry.data().as_utf8().map(|text| text.to_string()).unwrap_or_default();
            format!("{kind}={}", printable(&value))
        })
        .collect();
    parts.reverse();
    parts.join(", ")
}

/// Makes a peer's text fit for a terminal.
fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

fn key_name(key: &PKeyRef<Public>) -> String {
    match key.id() {
        Id::RSA => format!("RSA {}", key.bits()),
        Id::EC => {
            let curve = key.ec_key().ok().and_then(|key| curve_name(&key));
            curve.map_or_else(|| format!("EC {}", key.bits()), |curve| format!("EC {curve}"))
        }
        Id::ED25519 => "Ed25519".to_owned(),
        Id::DSA => format!("DSA {}", key.bits()),
        _ => format!("{} bits", key.bits()),
    }
}

fn curve_name(key: &EcKeyRef<Public>) -> Option<&'static str> {
    match key.group().curve_name()? {
        Nid::X9_62_PRIME256V1 => Some("P-256"),
        Nid::SECP384R1 => Some("P-384"),
        Nid::SECP521R1 => Some("P-521"),
        _ => None,
    }
}

fn days_left(certificate: &X509Ref, now: i64) -> Option<i64> {
    let now = Asn1Time::from_unix(now).ok()?;
    let left = now.diff(certificate.not_after()).ok()?;
    // Both parts have the same sign. A part of a day over is a day over.
    Some(i64::from(left.days) - i64::from(left.secs < 0))
}
