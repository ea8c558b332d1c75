//! The servers that requests go to, and the local addresses that they come from.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::route::Authority;

/// A server: its names in requests and TLS, and the endpoints at which it listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// The value of `Host`, sent unchanged. That of a URL has the port, unless it is the scheme's default; that of `--server`
    /// has none, as in the classic tool.
    pub host: String,
    /// The name sent as SNI (RFC 6066, section 3) and expected in a verified certificate. `None` for a server given by
    /// address, which sends no SNI and must have that address in a verified certificate.
    pub tls_name: Option<String>,
    /// The endpoint to connect to.
    pub endpoint: Endpoint,
    /// Further endpoints, used in turn with `endpoint` (`--all-addresses`).
    #[serde(default)]
    pub further_endpoints: Vec<Endpoint>,
    /// The host and port of the origin server, if a proxy or the substitute of `--connect-to` listens at `endpoint`.
    #[serde(default)]
    pub authority: Option<Authority>,
}

impl Target {
    /// Creates a server to which connections go directly, always to the same endpoint.
    #[must_use]
    pub fn direct(host: impl Into<String>, tls_name: Option<String>, endpoint: Endpoint) -> Self {
        Self { host: host.into(), tls_name, endpoint, further_endpoints: Vec::new(), authority: None }
    }

    /// Returns all endpoints.
    pub fn endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        std::iter::once(&self.endpoint).chain(&self.further_endpoints)
    }

    /// Returns the port of the origin server; `None` for a unix-domain socket.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        match (&self.authority, &self.endpoint) {
            (Some(authority), _) => Some(authority.port),
            (None, Endpoint::Tcp(address)) => Some(address.port()),
            (None, Endpoint::Unix(_)) => None,
        }
    }

    /// Returns the name by which a proxy is asked for the origin server.
    #[must_use]
    pub fn proxied_authority(&self) -> Authority {
        let own = || Authority { host: self.host.clone(), port: self.port().unwrap_or_default() };
        self.authority.clone().unwrap_or_else(own)
    }

    /// Returns an address of the origin server, if one is known; the server may have more.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        match (&self.authority, &self.endpoint) {
            (Some(authority), _) => authority.address(),
            (None, Endpoint::Tcp(address)) => Some(address.ip()),
            (None, Endpoint::Unix(_)) => None,
        }
    }
}

/// The address at which a server listens.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Endpoint {
    /// A TCP address, resolved before the run.
    Tcp(SocketAddr),
    /// A unix-domain stream socket.
    Unix(
        #[serde(with = "crate::text::path")]
        #[schemars(with = "crate::text::Text")]
        PathBuf,
    ),
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

/// The local addresses that connections use in turn, kept as inclusive ranges without being expanded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<(IpAddr, IpAddr)>", into = "Vec<(IpAddr, IpAddr)>")]
#[schemars(with = "Vec<(IpAddr, IpAddr)>")]
pub struct SourceAddresses {
    ranges: Vec<(IpAddr, IpAddr)>,
    count: u128,
}

impl From<SourceAddresses> for Vec<(IpAddr, IpAddr)> {
    fn from(addresses: SourceAddresses) -> Self {
        addresses.ranges
    }
}

impl TryFrom<Vec<(IpAddr, IpAddr)>> for SourceAddresses {
    type Error = String;

    fn try_from(ranges: Vec<(IpAddr, IpAddr)>) -> Result<Self, String> {
        let mut addresses = Self::default();
        match ranges.into_iter().find(|&(first, last)| !addresses.push(first, last)) {
            Some((first, last)) => Err(format!("expected a range of addresses, got {first}-{last}")),
            None => Ok(addresses),
        }
    }
}

impl SourceAddresses {
    /// Adds the addresses `first..=last`. Returns false and adds nothing if they are of different families, in the
    /// wrong order, or more than 2^64 addresses apart.
    pub fn push(&mut self, first: IpAddr, last: IpAddr) -> bool {
        let Some(size) = range_size(first, last) else { return false };
        self.ranges.push((first, last));
        self.count += size;
        true
    }

    /// Returns true if there are no addresses.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns the number of addresses.
    #[must_use]
    pub fn len(&self) -> u128 {
        self.count
    }

    /// Returns the ranges in the order in which they were added, each as its first and last address.
    #[must_use]
    pub fn ranges(&self) -> &[(IpAddr, IpAddr)] {
        &self.ranges
    }

    /// Returns the address for connection number `turn`, round robin; `None` if there are no addresses.
    #[must_use]
    pub fn nth(&self, turn: u128) -> Option<IpAddr> {
        if self.count == 0 {
            return None;
        }
        let mut offset = turn % self.count;
        for &(first, last) in &self.ranges {
            let size = range_size(first, last).expect("push accepts no other");
            if offset < size {
                return Some(match first {
                    IpAddr::V4(v4) => IpAddr::V4((u32::from(v4) + offset as u32).into()),
                    IpAddr::V6(v6) => IpAddr::V6((u128::from(v6) + offset).into()),
                });
            }
            offset -= size;
        }
        unreachable!("the offset is below the sum of the sizes")
    }
}

fn range_size(first: IpAddr, last: IpAddr) -> Option<u128> {
    let distance = match (first, last) {
        (IpAddr::V4(a), IpAddr::V4(b)) => u128::from(u32::from(b).checked_sub(u32::from(a))?),
        (IpAddr::V6(a), IpAddr::V6(b)) => u128::from(b).checked_sub(u128::from(a))?,
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => return None,
    };
    (distance < 1 << 64).then_some(distance + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn addresses_are_taken_in_turn_across_ranges() {
        let mut pool = SourceAddresses::default();
        assert!(pool.push(ip("127.0.0.1"), ip("127.0.0.2")));
        assert!(pool.push(ip("127.0.1.255"), ip("127.0.2.0")));
        let taken: Vec<String> = (0..6).map(|turn| pool.nth(turn).unwrap().to_string()).collect();
        assert_eq!(taken, ["127.0.0.1", "127.0.0.2", "127.0.1.255", "127.0.2.0", "127.0.0.1", "127.0.0.2"]);
    }

    #[test]
    fn a_range_of_mixed_families_or_in_the_wrong_order_is_refused() {
        let mut pool = SourceAddresses::default();
        assert!(!pool.push(ip("127.0.0.2"), ip("127.0.0.1")));
        assert!(!pool.push(ip("127.0.0.2"), ip("::1")));
        assert!(pool.is_empty());
        assert_eq!(pool.nth(3), None);
    }

    #[test]
    fn an_ipv6_prefix_is_not_expanded() {
        let mut pool = SourceAddresses::default();
        assert!(pool.push(ip("fd00::"), ip("fd00::ffff:ffff:ffff:ffff")));
        assert_eq!(pool.nth(u64::MAX.into()), Some(ip("fd00::ffff:ffff:ffff:ffff")));
    }
}
