//! The server's certificate and key: given, or made at start.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use std::time::Duration;

use boring::bn::BigNumContext;
use boring::ec::{EcGroup, EcKey, PointConversionForm};
use boring::error::ErrorStack;
use boring::hash::MessageDigest;
use boring::nid::Nid;
use boring::pkey::{Id, PKey, Private};
use boring::rsa::Rsa;
use boring::sign::Signer;
use boring::x509::X509;
use httperf_plan::{Endpoint, Identity};
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, PublicKeyData, SanType,
    SerialNumber, SignatureAlgorithm, SigningKey,
};
use time::OffsetDateTime;

use crate::config::Malformed;

/// A certificate, those that lead from it to a root, and its key.
#[derive(Clone)]
pub struct Credentials {
    pub(super) certificate: X509,
    pub(super) chain: Vec<X509>,
    /// The one that belongs to the certificate.
    pub(super) key: PKey<Private>,
}

impl fmt::Debug for Credentials {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// Why a certificate and a key will not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCredentials {
    /// What should hold the certificate does not.
    #[error("no PEM certificate")]
    Certificate,
    /// What should hold the key does not.
    #[error("no PEM private key")]
    Key,
    /// The key is encrypted.
    #[error("an encrypted private key")]
    EncryptedKey,
    /// The key is that of another certificate.
    #[error("a private key that is not the certificate's")]
    Mismatch,
}

impl Credentials {
    /// From PEM.
    pub fn from_pem(identity: &Identity) -> Result<Self, BadCredentials> {
        let certificates = X509::stack_from_pem(&identity.certificates);
        let mut chain = certificates.map_err(|_| BadCredentials::Certificate)?;
        if chain.is_empty() {
            return Err(BadCredentials::Certificate);
        }
        let certificate = chain.remove(0);
        let public_key = certificate.public_key().map_err(|_| BadCredentials::Certificate)?;
        // An empty password, lest the library ask for one on the terminal.
        let key = PKey::private_key_from_pem_callback(&identity.key, |_| Ok(0)).map_err(|_| {
            let is_encrypted = String::from_utf8_lossy(&identity.key).contains("ENCRYPTED");
            if is_encrypted { BadCredentials::EncryptedKey } else { BadCredentials::Key }
        })?;
        if !public_key.public_eq(&key) {
            return Err(BadCredentials::Mismatch);
        }
        Ok(Self { certificate, chain, key })
    }

    /// A new key with a certificate that it signs itself, valid for some weeks: for `localhost`, the loopback addresses
    /// and the address in `listen`.
    ///
    /// # Panics
    ///
    /// If there is no memory for it.
    #[must_use]
    pub fn self_signed(key_type: KeyType, listen: &Endpoint) -> Self {
        let key = key_type.generate().expect("a key needs nothing but memory");
        let certificate = self_signed(&key, key_type, names(listen));
        Self { certificate, chain: Vec::new(), key }
    }

    /// The certificate and those that lead from it to a root, in PEM. The self-signed one is its own root.
    #[must_use]
    pub fn certificates_pem(&self) -> Vec<u8> {
        let certificates = std::iter::once(&self.certificate).chain(&self.chain);
        certificates.flat_map(|one| one.to_pem().expect("PEM needs nothing but memory")).collect()
    }
}

/// The type of a key, with its size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyType {
    /// `ecdsa-p256`.
    #[default]
    EcdsaP256,
    /// `ecdsa-p384`.
    EcdsaP384,
    /// `rsa-2048`.
    Rsa2048,
    /// `rsa-3072`.
    Rsa3072,
    /// `rsa-4096`.
    Rsa4096,
    /// `ed25519`. Few browsers take it.
    Ed25519,
}

impl KeyType {
    /// Every type there is.
    pub const ALL: [Self; 6] =
        [Self::EcdsaP256, Self::EcdsaP384, Self::Rsa2048, Self::Rsa3072, Self::Rsa4096, Self::Ed25519];

    /// What options call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::EcdsaP256 => "ecdsa-p256",
            Self::EcdsaP384 => "ecdsa-p384",
            Self::Rsa2048 => "rsa-2048",
            Self::Rsa3072 => "rsa-3072",
            Self::Rsa4096 => "rsa-4096",
            Self::Ed25519 => "ed25519",
        }
    }

    fn generate(self) -> Result<PKey<Private>, ErrorStack> {
        let on_curve = |curve| PKey::from_ec_key(EcKey::generate(&*EcGroup::from_curve_name(curve)?)?);
        let rsa = |bits| PKey::from_rsa(Rsa::generate(bits)?);
        match self {
            Self::EcdsaP256 => on_curve(Nid::X9_62_PRIME256V1),
            Self::EcdsaP384 => on_curve(Nid::SECP384R1),
            Self::Rsa2048 => rsa(2048),
            Self::Rsa3072 => rsa(3072),
            Self::Rsa4096 => rsa(4096),
            Self::Ed25519 => PKey::generate(Id::ED25519),
        }
    }

    fn signature_algorithm(self) -> &'static SignatureAlgorithm {
        match self {
            Self::EcdsaP256 => &rcgen::PKCS_ECDSA_P256_SHA256,
            Self::EcdsaP384 => &rcgen::PKCS_ECDSA_P384_SHA384,
            Self::Rsa2048 | Self::Rsa3072 | Self::Rsa4096 => &rcgen::PKCS_RSA_SHA256,
            Self::Ed25519 => &rcgen::PKCS_ED25519,
        }
    }

    fn digest(self) -> Option<MessageDigest> {
        match self {
            Self::EcdsaP384 => Some(MessageDigest::sha384()),
            Self::EcdsaP256 | Self::Rsa2048 | Self::Rsa3072 | Self::Rsa4096 => Some(MessageDigest::sha256()),
            // It hashes by itself.
            Self::Ed25519 => None,
        }
    }
}

impl fmt::Display for KeyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for KeyType {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        Self::ALL.into_iter().find(|key_type| key_type.name() == text).ok_or_else(|| {
            Malformed::new("ecdsa-p256, ecdsa-p384, rsa-2048, rsa-3072, rsa-4096 or ed25519", text)
        })
    }
}

/// What the certificate is for.
fn names(listen: &Endpoint) -> Vec<SanType> {
    let mut addresses: Vec<IpAddr> = vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    if let Endpoint::Tcp(address) = listen
        && !addresses.contains(&address.ip())
    {
        addresses.push(address.ip());
    }
    let localhost = SanType::DnsName("localhost".try_into().expect("it is ASCII"));
    let addresses = addresses.into_iter().map(SanType::IpAddress);
    std::iter::once(localhost).chain(addresses).collect()
}

/// A clock that goes a little wrong does no harm.
const VALID_BEFORE: Duration = Duration::from_secs(24 * 3600);
const VALID_AFTER: Duration = Duration::from_secs(30 * 24 * 3600);

fn self_signed(key: &PKey<Private>, key_type: KeyType, names: Vec<SanType>) -> X509 {
    let now = OffsetDateTime::now_utc();
    let mut serial = [0; 16];
    boring::rand::rand_bytes(&mut serial).expect("the library's random numbers never run out");
    // A positive number, and in the same number of bytes.
    serial[0] = serial[0] & 0x7f | 0x40;

    let mut certificate = CertificateParams::default();
    certificate.not_before = now - VALID_BEFORE;
    certificate.not_after = now + VALID_AFTER;
    certificate.serial_number = Some(SerialNumber::from_slice(&serial));
    certificate.subject_alt_names = names;
    certificate.distinguished_name = DistinguishedName::new();
    certificate.distinguished_name.push(DnType::CommonName, "httperf test server");
    certificate.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];

    let public_key = public_key(key).expect("a key that was just made has a public half");
    let signer = SelfSigner { key, key_type, public_key };
    let certificate = certificate.self_signed(&signer).expect("everything in it is well-formed");
    X509::from_der(certificate.der()).expect("it is a certificate")
}

/// The bytes in the `subjectPublicKey` of a certificate (RFC 3279, 5480 and 8410).
fn public_key(key: &PKey<Private>) -> Result<Vec<u8>, ErrorStack> {
    match key.id() {
        Id::RSA => key.rsa()?.public_key_to_der_pkcs1(),
        Id::EC => {
            let key = key.ec_key()?;
            let form = PointConversionForm::UNCOMPRESSED;
            key.public_key().to_bytes(key.group(), form, &mut *BigNumContext::new()?)
        }
        _ => {
            let mut bytes = vec![0; key.raw_public_key_len()?];
            let size = key.raw_public_key(&mut bytes)?.len();
            bytes.truncate(size);
            Ok(bytes)
        }
    }
}

/// Signs with BoringSSL what `rcgen` puts together, so that no second library of cryptography comes in.
struct SelfSigner<'a> {
    key: &'a PKey<Private>,
    key_type: KeyType,
    public_key: Vec<u8>,
}

impl PublicKeyData for SelfSigner<'_> {
    fn der_bytes(&self) -> &[u8] {
        &self.public_key
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        self.key_type.signature_algorithm()
    }
}

impl SigningKey for SelfSigner<'_> {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        let signer = match self.key_type.digest() {
            Some(digest) => Signer::new(digest, self.key),
            None => Signer::new_without_digest(self.key),
        };
        signer
            .and_then(|mut signer| signer.sign_oneshot_to_vec(message))
            .map_err(|_| rcgen::Error::RemoteKeyError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listen() -> Endpoint {
        Endpoint::Tcp(([192, 0, 2, 7], 443).into())
    }

    fn pem(credentials: &Credentials) -> Identity {
        let key = credentials.key.private_key_to_pem_pkcs8().unwrap();
        Identity { certificates: credentials.certificates_pem(), key }
    }

    #[test]
    fn a_self_signed_certificate_of_every_type_bears_its_own_signature() {
        for key_type in KeyType::ALL {
            assert_eq!(key_type.name().parse(), Ok(key_type));
            let credentials = Credentials::self_signed(key_type, &listen());
            let certificate = &credentials.certificate;
            assert!(certificate.verify(&certificate.public_key().unwrap()).unwrap(), "{key_type}");
            assert!(Credentials::from_pem(&pem(&credentials)).is_ok(), "{key_type}");
        }
    }

    #[test]
    fn a_self_signed_certificate_is_for_this_machine_and_the_address_that_is_listened_on() {
        let Credentials { certificate, .. } = Credentials::self_signed(KeyType::default(), &listen());
        let names = certificate.subject_alt_names().unwrap();
        let names: Vec<_> = names.iter().map(|name| (name.dnsname(), name.ipaddress())).collect();
        let six = Ipv6Addr::LOCALHOST.octets();
        let expected: [(_, Option<&[u8]>); 4] = [
            (Some("localhost"), None),
            (None, Some(&[127, 0, 0, 1])),
            (None, Some(&six)),
            (None, Some(&[192, 0, 2, 7])),
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn a_certificate_and_a_key_that_do_not_belong_together_are_refused() {
        let [one, other] = [0; 2].map(|_| Credentials::self_signed(KeyType::default(), &listen()));
        let (one, other) = (pem(&one), pem(&other));
        let check = |certificates: &[u8], key: &[u8], expected| {
            let identity = Identity { certificates: certificates.to_vec(), key: key.to_vec() };
            assert_eq!(Credentials::from_pem(&identity).unwrap_err(), expected);
        };
        check(&one.certificates, &other.key, BadCredentials::Mismatch);
        check(&one.key, &one.key, BadCredentials::Certificate);
        check(b"", &one.key, BadCredentials::Certificate);
        check(&one.certificates, &one.certificates, BadCredentials::Key);
    }

    #[test]
    fn an_encrypted_key_is_called_that() {
        let credentials = Credentials::self_signed(KeyType::default(), &listen());
        let cipher = boring::symm::Cipher::aes_128_cbc();
        let key = credentials.key.private_key_to_pem_pkcs8_passphrase(cipher, b"secret").unwrap();
        let identity = Identity { certificates: credentials.certificates_pem(), key };
        assert_eq!(Credentials::from_pem(&identity).unwrap_err(), BadCredentials::EncryptedKey);
    }
}
