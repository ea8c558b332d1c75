//! The server's certificate and key: given, or made at start.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use boring::ec::{EcGroup, EcKey};
use boring::error::ErrorStack;
use boring::nid::Nid;
use boring::pkey::{Id, PKey, Private};
use boring::rsa::Rsa;
use boring::x509::X509;
use httperf_certificates::Draft;
use httperf_plan::{Endpoint, Identity};

use crate::text::Malformed;

/// A certificate, the chain from it to a root, and its key.
#[derive(Clone)]
pub struct Credentials {
    pub(super) certificate: X509,
    pub(super) chain: Vec<X509>,
    /// The certificate's private key.
    pub(super) key: PKey<Private>,
}

impl fmt::Debug for Credentials {
    /// Leaves out the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// A defect of a certificate or a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCredentials {
    /// There is no certificate.
    #[error("no PEM certificate")]
    Certificate,
    /// There is no key.
    #[error("no PEM private key")]
    Key,
    /// The key is encrypted.
    #[error("an encrypted private key")]
    EncryptedKey,
    /// The key belongs to another certificate.
    #[error("a private key that is not the certificate's")]
    Mismatch,
}

impl Credentials {
    /// Reads PEM.
    pub fn from_pem(identity: &Identity) -> Result<Self, BadCredentials> {
        let certificates = X509::stack_from_pem(&identity.certificates);
        let mut chain = certificates.map_err(|_| BadCredentials::Certificate)?;
        if chain.is_empty() {
            return Err(BadCredentials::Certificate);
        }
        let certificate = chain.remove(0);
        let public_key = certificate.public_key().map_err(|_| BadCredentials::Certificate)?;
        // An empty password, so that BoringSSL does not ask for one on the terminal.
        let key = PKey::private_key_from_pem_callback(&identity.key, |_| Ok(0)).map_err(|_| {
            let is_encrypted = String::from_utf8_lossy(&identity.key).contains("ENCRYPTED");
            if is_encrypted { BadCredentials::EncryptedKey } else { BadCredentials::Key }
        })?;
        if !public_key.public_eq(&key) {
            return Err(BadCredentials::Mismatch);
        }
        Ok(Self { certificate, chain, key })
    }

    /// Makes a new key with a self-signed certificate, valid for some weeks, for `localhost`, the loopback addresses and
    /// the address in `listen`.
    ///
    /// # Panics
    ///
    /// If memory runs out.
    #[must_use]
    pub fn self_signed(key_type: KeyType, listen: &Endpoint) -> Self {
        let key = key_type.generate().expect("a key needs nothing but memory");
        let certificate = draft(listen).self_signed(&key).expect("a certificate needs nothing but memory");
        Self { certificate, chain: Vec::new(), key }
    }

    /// Returns the certificate and its chain in DER.
    pub(crate) fn certificates_der(&self) -> Vec<Vec<u8>> {
        let certificates = std::iter::once(&self.certificate).chain(&self.chain);
        certificates.map(|one| one.to_der().expect("DER needs nothing but memory")).collect()
    }

    /// Returns the key in DER, as PKCS #8; `None` if the library has no such form for it.
    pub(crate) fn key_der(&self) -> Option<Vec<u8>> {
        self.key.private_key_to_der_pkcs8().ok()
    }

    /// Returns the certificate and its chain in PEM.
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
    /// `ed25519`, which few browsers support.
    Ed25519,
}

impl KeyType {
    /// All types.
    pub const ALL: [Self; 6] =
        [Self::EcdsaP256, Self::EcdsaP384, Self::Rsa2048, Self::Rsa3072, Self::Rsa4096, Self::Ed25519];

    /// The name in options.
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

/// The part of a certificate's validity before now, for clients whose clocks are slow.
const VALID_BEFORE: Duration = Duration::from_secs(24 * 3600);

/// The part from now on.
const VALID_AFTER: Duration = Duration::from_secs(30 * 24 * 3600);

/// The contents of a certificate for `localhost`, the loopback addresses and the address in `listen`.
fn draft(listen: &Endpoint) -> Draft {
    let mut addresses: Vec<IpAddr> = vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    if let Endpoint::Tcp(address) = listen
        && !addresses.contains(&address.ip())
    {
        addresses.push(address.ip());
    }
    let now = SystemTime::now();
    let draft = Draft::new("httperf test server")
        .for_dns("localhost")
        .valid(now - VALID_BEFORE, now + VALID_AFTER)
        .for_servers();
    addresses.into_iter().fold(draft, Draft::for_ip)
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
