//! The route to a server: the local address, the server's address and the proxy.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Endpoint, Plan, SourceAddresses, Target};

/// The default port of `http` URLs, which an origin leaves out.
const HTTP_PORT: u16 = 80;

/// The host and port of a server in a URL (RFC 3986, section 3.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Authority {
    /// A name or an address; an IPv6 address is in brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Authority {
    /// Returns the host if it is an address.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        match self.host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')) {
            Some(inner) => inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
            None => self.host.parse().ok(),
        }
    }

    /// Returns the origin of this server over plaintext HTTP, such as `http://localhost:8080`.
    #[must_use]
    pub fn http_origin(&self) -> String {
        match self.port {
            HTTP_PORT => format!("http://{}", self.host),
            _ => format!("http://{self}"),
        }
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// An HTTP proxy to which connections go instead of to the servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Proxy {
    /// The host and port of the proxy.
    pub authority: Authority,
    /// The value of `Proxy-Authorization`; `None` sends none.
    pub authorization: Option<String>,
    /// Opens a tunnel to the server with `CONNECT` (RFC 9110, section 9.3.6). Otherwise requests name the server in
    /// absolute form (RFC 9112, section 3.2.2).
    pub tunnel: bool,
}

impl Plan {
    /// Returns the local address, if one is set, and the endpoint of connection number `turn` to this target.
    ///
    /// Each list is used in turn. If their lengths had a common divisor, some combinations would never occur, so one
    /// list advances by one more whenever the pattern would repeat. All combinations of local address, target and
    /// address of the target occur equally often.
    #[must_use]
    pub fn route(&self, turn: u64, target: usize) -> (Option<IpAddr>, &Endpoint) {
        route(&self.sockets.sources, &self.targets, turn, target)
    }
}

fn route<'a>(
    sources: &SourceAddresses,
    targets: &'a [Target],
    turn: u64,
    target: usize,
) -> (Option<IpAddr>, &'a Endpoint) {
    let target_count = targets.len() as u128;
    let target = &targets[target];
    if sources.is_empty() && target.further_endpoints.is_empty() {
        return (None, &target.endpoint);
    }
    let (turn, source_count) = (u128::from(turn), sources.len().max(1));
    let common = greatest_common_divisor(source_count, target_count);
    // The number of connections after which sources and targets would repeat.
    let cycle = source_count / common * target_count;
    let source = sources.nth(turn + turn / cycle % common);
    // The number of connections in which every source meets every target once.
    let round = cycle * common;
    let count = 1 + target.further_endpoints.len() as u128;
    let step = (turn / round + turn % round / target_count) % count;
    let endpoint = match step {
        0 => &target.endpoint,
        step => &target.further_endpoints[step as usize - 1],
    };
    (source, endpoint)
}

fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn sources(count: u8) -> SourceAddresses {
        let mut pool = SourceAddresses::default();
        assert!(count == 0 || pool.push([127, 0, 0, 1].into(), [127, 0, 0, count].into()));
        pool
    }

    /// Returns a number of servers with a number of addresses each.
    fn targets(count: u8, addresses: u8) -> Vec<Target> {
        let endpoint = |target, address| Endpoint::Tcp(([127, 1, target, address], 80).into());
        let target = |target| Target {
            further_endpoints: (1..addresses).map(|address| endpoint(target, address)).collect(),
            ..Target::direct("server", None, endpoint(target, 0))
        };
        (0..count).map(target).collect()
    }

    /// Returns the routes of a number of connections, which use the targets in turn.
    fn routes<'a>(
        sources: &SourceAddresses,
        targets: &'a [Target],
        count: u64,
    ) -> Vec<(Option<IpAddr>, &'a Endpoint)> {
        let target_of = |turn: u64| (turn % targets.len() as u64) as usize;
        (0..count).map(|turn| route(sources, targets, turn, target_of(turn))).collect()
    }

    #[test]
    fn every_source_meets_every_address_of_every_target_equally_often() {
        for case in 0..6_u8.pow(3) {
            // The digits of a number to the base of 6.
            let [source_count, target_count, address_count] = [1, 6, 36].map(|place| 1 + case / place % 6);
            let targets = targets(target_count, address_count);
            let combinations = u64::from(source_count) * u64::from(target_count) * u64::from(address_count);
            let mut met = HashMap::new();
            for route in routes(&sources(source_count), &targets, 2 * combinations) {
                *met.entry(route).or_insert(0) += 1;
            }
            let case = format!("{source_count} sources, {target_count} targets, {address_count} addresses");
            assert_eq!(met.len() as u64, combinations, "{case}");
            assert!(met.values().all(|&count| count == 2), "{case}");
        }
    }

    #[test]
    fn each_list_by_itself_is_taken_in_turn() {
        let texts = |routes: Vec<(Option<IpAddr>, &Endpoint)>| -> Vec<String> {
            let text = |(source, endpoint): (Option<IpAddr>, &Endpoint)| {
                source.map_or_else(|| endpoint.to_string(), |source| source.to_string())
            };
            routes.into_iter().map(text).collect()
        };
        let one_target = targets(1, 1);
        assert_eq!(
            texts(routes(&sources(3), &one_target, 5)),
            ["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.1", "127.0.0.2"]
        );
        let three_addresses = targets(1, 3);
        assert_eq!(
            texts(routes(&sources(0), &three_addresses, 4)),
            ["127.1.0.0:80", "127.1.0.1:80", "127.1.0.2:80", "127.1.0.0:80"]
        );
    }

    #[test]
    fn a_pool_beyond_all_bounds_is_taken_in_turn_too() {
        let mut pool = SourceAddresses::default();
        assert!(pool.push("fd00::".parse().unwrap(), "fd00::ffff:ffff:ffff:ffff".parse().unwrap()));
        let targets = targets(2, 2);
        let (source, endpoint) = route(&pool, &targets, 5, 1);
        assert_eq!(source, Some("fd00::5".parse().unwrap()));
        assert_eq!(endpoint.to_string(), "127.1.1.0:80");
        assert!(route(&pool, &targets, u64::MAX, 1).0.is_some());
    }

    #[test]
    fn an_authority_is_written_as_in_a_url() {
        let check = |host: &str, port, origin, address: Option<&str>| {
            let authority = Authority { host: host.into(), port };
            assert_eq!(authority.http_origin(), origin);
            assert_eq!(authority.address(), address.map(|text| text.parse().unwrap()));
        };
        check("a.example", 80, "http://a.example", None);
        check("a.example", 8080, "http://a.example:8080", None);
        check("[::1]", 443, "http://[::1]:443", Some("::1"));
        check("127.0.0.1", 80, "http://127.0.0.1", Some("127.0.0.1"));
    }
}
