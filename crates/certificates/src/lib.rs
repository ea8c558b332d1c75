//! X.509 certificates made on the spot by BoringSSL: for `httperf serve`, and for tests that need servers, clients
//! and authorities of their own.

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use boring::asn1::Asn1Time;
use boring::bn::BigNum;
use boring::ec::{EcGroup, EcKey};
use boring::error::ErrorStack;
use boring::hash::MessageDigest;
use boring::nid::Nid;
use boring::pkey::{Id, PKey, PKeyRef, Private};
use boring::x509::extension::{
    BasicConstraints, ExtendedKeyUsage, SubjectAlternativeName, SubjectKeyIdentifier,
};
use boring::x509::{X509, X509Builder, X509Name, X509NameRef};
use httperf_sys::tls::sign_without_digest;

/// A certificate with its private key.
#[derive(Clone)]
pub struct Identity {
    /// The certificate.
    pub certificate: X509,
    /// The key that belongs to it.
    pub key: PKey<Private>,
}

impl std::fmt::Debug for Identity {
    /// Leaves out the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

impl Identity {
    /// Makes a self-signed certificate for one DNS name, with an ECDSA P-256 key.
    ///
    /// # Errors
    /// Those of the library, when it runs out of memory.
    pub fn self_signed(name: &str) -> Result<Self, ErrorStack> {
        let key = p256_key()?;
        let certificate = Draft::new(name).for_dns(name).self_signed(&key)?;
        Ok(Self { certificate, key })
    }

    /// Returns the certificate in PEM.
    ///
    /// # Panics
    /// If the library runs out of memory.
    #[must_use]
    pub fn certificate_pem(&self) -> Vec<u8> {
        self.certificate.to_pem().expect("PEM takes nothing but memory")
    }

    /// Returns the key in PEM, as PKCS #8.
    ///
    /// # Panics
    /// If the library runs out of memory.
    #[must_use]
    pub fn key_pem(&self) -> Vec<u8> {
        self.key.private_key_to_pem_pkcs8().expect("PEM takes nothing but memory")
    }
}

/// Generates an ECDSA P-256 key.
///
/// # Errors
/// Those of the library, when it runs out of memory.
pub fn p256_key() -> Result<PKey<Private>, ErrorStack> {
    PKey::from_ec_key(EcKey::generate(&*EcGroup::from_curve_name(Nid::X9_62_PRIME256V1)?)?)
}

/// The contents of a certificate that is still to be signed.
#[derive(Clone, Debug)]
pub struct Draft {
    subject: String,
    names: Vec<Name>,
    /// Seconds since the Unix epoch.
    not_before: i64,
    not_after: i64,
    is_authority: bool,
    for_servers: bool,
    for_clients: bool,
}

/// A subject alternative name.
#[derive(Clone, Debug)]
enum Name {
    Dns(String),
    Ip(IpAddr),
}

/// 1975-01-01.
const EARLIEST: i64 = 157_766_400;

/// 4096-01-01.
const LATEST: i64 = 67_090_118_400;

impl Draft {
    /// Starts a certificate for a subject with this common name, valid from 1975 to 4096 and for any use.
    #[must_use]
    pub fn new(subject: &str) -> Self {
        Self {
            subject: subject.to_owned(),
            names: Vec::new(),
            not_before: EARLIEST,
            not_after: LATEST,
            is_authority: false,
            for_servers: false,
            for_clients: false,
        }
    }

    /// Adds a DNS name.
    #[must_use]
    pub fn for_dns(mut self, name: &str) -> Self {
        self.names.push(Name::Dns(name.to_owned()));
        self
    }

    /// Adds an IP address.
    #[must_use]
    pub fn for_ip(mut self, address: IpAddr) -> Self {
        self.names.push(Name::Ip(address));
        self
    }

    /// Sets the period of validity.
    #[must_use]
    pub fn valid(mut self, not_before: SystemTime, not_after: SystemTime) -> Self {
        (self.not_before, self.not_after) = (unix_seconds(not_before), unix_seconds(not_after));
        self
    }

    /// Lets the subject sign certificates.
    #[must_use]
    pub fn as_authority(mut self) -> Self {
        self.is_authority = true;
        self
    }

    /// Restricts the use to server authentication, or adds that use.
    #[must_use]
    pub fn for_servers(mut self) -> Self {
        self.for_servers = true;
        self
    }

    /// Restricts the use to client authentication, or adds that use.
    #[must_use]
    pub fn for_clients(mut self) -> Self {
        self.for_clients = true;
        self
    }

    /// Makes the certificate of this key, signed by itself.
    ///
    /// # Errors
    /// Those of the library: for a subject longer than 64 characters, or when it runs out of memory.
    pub fn self_signed(&self, key: &PKeyRef<Private>) -> Result<X509, ErrorStack> {
        self.sign(key, &*common_name(&self.subject)?, key)
    }

    /// Makes the certificate of this key, signed by an authority.
    ///
    /// # Errors
    /// As for [`Draft::self_signed`].
    pub fn signed_by(&self, issuer: &Identity, key: &PKeyRef<Private>) -> Result<X509, ErrorStack> {
        self.sign(key, issuer.certificate.subject_name(), &issuer.key)
    }

    fn sign(
        &self,
        key: &PKeyRef<Private>,
        issuer: &X509NameRef,
        issuer_key: &PKeyRef<Private>,
    ) -> Result<X509, ErrorStack> {
        let mut builder = X509Builder::new()?;
        // Counted from 0: version 3.
        builder.set_version(2)?;
        builder.set_serial_number(&*serial_number()?.to_asn1_integer()?)?;
        builder.set_subject_name(&*common_name(&self.subject)?)?;
        builder.set_issuer_name(issuer)?;
        builder.set_not_before(&*Asn1Time::from_unix(self.not_before)?)?;
        builder.set_not_after(&*Asn1Time::from_unix(self.not_after)?)?;
        builder.set_pubkey(key)?;
        self.append_extensions(&mut builder)?;
        match digest(issuer_key)? {
            Some(digest) => {
                builder.sign(issuer_key, digest)?;
                Ok(builder.build())
            }
            None => sign_without_digest(builder, issuer_key),
        }
    }

    fn append_extensions(&self, builder: &mut X509Builder) -> Result<(), ErrorStack> {
        if !self.names.is_empty() {
            let mut names = SubjectAlternativeName::new();
            for name in &self.names {
                match name {
                    Name::Dns(name) => names.dns(name),
                    Name::Ip(address) => names.ip(&address.to_string()),
                };
            }
            let names = names.build(&builder.x509v3_context(None, None))?;
            builder.append_extension(&names)?;
        }
        if self.for_servers || self.for_clients {
            let mut usage = ExtendedKeyUsage::new();
            if self.for_servers {
                usage.server_auth();
            }
            if self.for_clients {
                usage.client_auth();
            }
            builder.append_extension(&*usage.build()?)?;
        }
        if self.is_authority {
            let identifier = SubjectKeyIdentifier::new().build(&builder.x509v3_context(None, None))?;
            builder.append_extension(&identifier)?;
            builder.append_extension(&*BasicConstraints::new().critical().ca().build()?)?;
        }
        Ok(())
    }
}

fn common_name(text: &str) -> Result<X509Name, ErrorStack> {
    let mut name = X509Name::builder()?;
    name.append_entry_by_nid(Nid::COMMONNAME, text)?;
    Ok(name.build())
}

/// Draws a positive serial number of 16 bytes.
fn serial_number() -> Result<BigNum, ErrorStack> {
    let mut serial = [0; 16];
    boring::rand::rand_bytes(&mut serial)?;
    serial[0] = serial[0] & 0x7f | 0x40;
    BigNum::from_slice(&serial)
}

/// The digest that goes with a signing key; `None` if its signatures hash by themselves.
fn digest(key: &PKeyRef<Private>) -> Result<Option<MessageDigest>, ErrorStack> {
    Ok(match key.id() {
        Id::ED25519 => None,
        Id::EC if key.ec_key()?.group().curve_name() == Some(Nid::SECP384R1) => Some(MessageDigest::sha384()),
        _ => Some(MessageDigest::sha256()),
    })
}

/// Seconds since the Unix epoch, rounded down; negative before it.
fn unix_seconds(time: SystemTime) -> i64 {
    let seconds = |time: Duration| i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => seconds(since),
        Err(before) => -seconds(before.duration()),
    }
}

#[cfg(test)]
mod tests {
    use boring::rsa::Rsa;

    use super::*;

    fn keys() -> Vec<PKey<Private>> {
        let p384 = EcGroup::from_curve_name(Nid::SECP384R1).unwrap();
        vec![
            p256_key().unwrap(),
            PKey::from_ec_key(EcKey::generate(&p384).unwrap()).unwrap(),
            PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap(),
            PKey::generate(Id::ED25519).unwrap(),
        ]
    }

    #[test]
    fn every_type_of_key_signs_its_own_certificate_and_those_of_others() {
        let subject = p256_key().unwrap();
        for key in keys() {
            let certificate = Draft::new("an authority").as_authority().self_signed(&key).unwrap();
            assert!(certificate.verify(&key).unwrap());
            let issuer = Identity { certificate, key };
            let certificate = Draft::new("somebody").signed_by(&issuer, &subject).unwrap();
            assert!(certificate.verify(&issuer.key).unwrap());
            assert!(!certificate.verify(&subject).unwrap());
            assert!(issuer.certificate.issued(&certificate).is_ok());
        }
    }

    #[test]
    fn names_appear_in_the_order_given() {
        let draft = Draft::new("x").for_dns("localhost").for_ip([127, 0, 0, 1].into()).for_dns("other");
        let certificate = draft.self_signed(&p256_key().unwrap()).unwrap();
        let names = certificate.subject_alt_names().unwrap();
        let names: Vec<_> = names.iter().map(|name| (name.dnsname(), name.ipaddress())).collect();
        let address: &[u8] = &[127, 0, 0, 1];
        assert_eq!(names, [(Some("localhost"), None), (None, Some(address)), (Some("other"), None)]);
    }

    #[test]
    fn validity_is_to_the_second_and_can_lie_beyond_2050() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let draft = Draft::new("x").valid(at(1_577_836_800), at(3_786_912_000));
        let certificate = draft.self_signed(&p256_key().unwrap()).unwrap();
        assert_eq!(certificate.not_before().to_string(), "Jan  1 00:00:00 2020 GMT");
        assert_eq!(certificate.not_after().to_string(), "Jan  1 00:00:00 2090 GMT");
        let certificate = Draft::new("x").self_signed(&p256_key().unwrap()).unwrap();
        assert_eq!(certificate.not_before().to_string(), "Jan  1 00:00:00 1975 GMT");
        assert_eq!(certificate.not_after().to_string(), "Jan  1 00:00:00 4096 GMT");
    }

    #[test]
    fn serial_numbers_differ_and_are_positive() {
        let [one, other] = [0; 2].map(|_| serial_number().unwrap());
        assert_ne!(one, other);
        assert!(!one.is_negative() && one.num_bytes() == 16);
    }

    #[test]
    fn an_identity_in_pem_is_read_again() {
        let made = Identity::self_signed("client").unwrap();
        let read = X509::from_pem(&made.certificate_pem()).unwrap();
        let key = PKey::private_key_from_pem(&made.key_pem()).unwrap();
        assert!(read.public_key().unwrap().public_eq(&key));
        assert!(read.check_host("client").unwrap() && !read.check_host("other").unwrap());
    }
}
