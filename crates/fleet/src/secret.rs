//! The proof that two ranks know the same secret, which itself never travels: HMAC-SHA-256 (RFC 2104) over numbers that
//! each has drawn for this connection.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// What all ranks of a fleet know and nobody else does.
#[derive(Clone)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// A secret of these bytes.
    #[must_use]
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A number that is drawn once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nonce(pub [u8; 32]);

/// A proof of knowing the secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag(pub(crate) [u8; 32]);

/// The two sides of a connection: a proof of one is none of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Guest,
    Host,
}

/// The numbers and the rank of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exchange {
    pub(crate) rank: u32,
    pub(crate) guest: Nonce,
    pub(crate) host: Nonce,
}

impl Exchange {
    /// The proof of this side.
    pub(crate) fn tag(&self, side: Side, secret: &Secret) -> Tag {
        Tag(self.mac(side, secret).finalize().into_bytes().into())
    }

    /// Returns whether this is the proof of this side, in the same time for all wrong ones.
    pub(crate) fn is_proven(&self, side: Side, secret: &Secret, tag: &Tag) -> bool {
        self.mac(side, secret).verify_slice(&tag.0).is_ok()
    }

    fn mac(&self, side: Side, secret: &Secret) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&secret.0).expect("keys of any length are taken");
        mac.update(match side {
            Side::Guest => b"httperf fleet 1 guest",
            Side::Host => b"httperf fleet 1 host",
        });
        mac.update(&self.rank.to_be_bytes());
        mac.update(&self.guest.0);
        mac.update(&self.host.0);
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_one_of_this_side_of_this_connection_with_this_secret() {
        let exchange = Exchange { rank: 1, guest: Nonce([1; 32]), host: Nonce([2; 32]) };
        let secret = Secret::new("swordfish");
        let tag = exchange.tag(Side::Guest, &secret);
        assert!(exchange.is_proven(Side::Guest, &secret, &tag));
        assert!(!exchange.is_proven(Side::Host, &secret, &tag));
        assert!(!exchange.is_proven(Side::Guest, &Secret::new("swordfisH"), &tag));
        let swapped = Exchange { guest: exchange.host, host: exchange.guest, ..exchange };
        assert!(!swapped.is_proven(Side::Guest, &secret, &tag));
        assert!(!Exchange { rank: 2, ..exchange }.is_proven(Side::Guest, &secret, &tag));
    }

    #[test]
    fn a_secret_does_not_show() {
        assert_eq!(format!("{:?}", Secret::new("swordfish")), "Secret(…)");
    }
}
