//! Names of servers, and the addresses behind them.

use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6, ToSocketAddrs};

use url::Host;

/// All addresses of a host, in the order of the resolver; the ports in them mean nothing. A scope (`fe80::1%eth0`) is
/// part of an address.
#[must_use]
pub fn all(host: &[u8]) -> Vec<SocketAddr> {
    let Some(host) = std::str::from_utf8(bare(host)).ok().filter(|host| !host.is_empty()) else {
        return Vec::new();
    };
    if let Some(address) = with_zone(host) {
        return vec![address];
    }
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for address in (host, 0).to_socket_addrs().into_iter().flatten() {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    addresses
}

/// An IPv6 address with a zone: the name or the number of an interface of this machine.
fn with_zone(host: &str) -> Option<SocketAddr> {
    let (address, zone) = host.split_once('%')?;
    let address: Ipv6Addr = address.parse().ok()?;
    // The resolver knows interfaces by name, but only beside an address for which a zone matters.
    let local = format!("fe80::1%{zone}");
    let mut known = (local.as_str(), 0).to_socket_addrs().ok()?;
    match known.next()? {
        SocketAddr::V6(known) => Some(SocketAddrV6::new(address, 0, 0, known.scope_id()).into()),
        SocketAddr::V4(_) => None,
    }
}

/// The address that is taken where one is wanted: IPv4 before IPv6, as old scripts expect.
#[must_use]
pub fn preferred(addresses: &[SocketAddr]) -> Option<SocketAddr> {
    addresses.iter().find(|address| address.is_ipv4()).or_else(|| addresses.first()).copied()
}

/// The preferred address of a host; `None` if it has none.
#[must_use]
pub fn address(host: &[u8]) -> Option<IpAddr> {
    preferred(&all(host)).map(|address| address.ip())
}

/// A host without the brackets that an IPv6 address may have.
#[must_use]
pub fn bare(host: &[u8]) -> &[u8] {
    host.strip_prefix(b"[").and_then(|inner| inner.strip_suffix(b"]")).unwrap_or(host)
}

/// A host as a URL or `Host` has it: an IPv6 address in brackets and without its scope, anything else as it is.
#[must_use]
pub fn bracketed(host: &str) -> String {
    let address = host.split_once('%').map_or(host, |(address, _)| address);
    match address.parse::<Ipv6Addr>() {
        Ok(_) => format!("[{address}]"),
        Err(_) => host.to_owned(),
    }
}

/// The name that a TLS handshake asks for (RFC 6066, section 3): a host name without the port and the final dot that a
/// Host line may have; `None` for an address.
#[must_use]
pub fn server_name(name: &str) -> Option<String> {
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let name = match name.rsplit_once(':') {
        Some((host, port)) if is_port(port) && !host.contains(':') => host,
        _ => name,
    };
    match Host::parse(name.strip_suffix('.').unwrap_or(name)) {
        Ok(Host::Domain(domain)) if !domain.is_empty() => Some(domain),
        Ok(_) | Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_their_own_and_ipv4_is_preferred() {
        assert_eq!(address(b"127.0.0.1"), Some([127, 0, 0, 1].into()));
        assert_eq!(address(b"[::1]"), address(b"::1"));
        assert_eq!((address(b""), address(b"\xff")), (None, None));
        let both: Vec<SocketAddr> =
            ["[::1]:0", "10.0.0.1:0"].iter().map(|address| address.parse().unwrap()).collect();
        assert_eq!(preferred(&both), Some(both[1]));
        assert_eq!(preferred(&both[..1]), Some(both[0]));
        assert_eq!(preferred(&[]), None);
    }

    #[test]
    fn an_address_may_have_a_zone() {
        for host in ["fe80::1%lo", "fe80::1%1", "::1%lo", "[::1%lo]"] {
            let addresses = all(host.as_bytes());
            let [SocketAddr::V6(address)] = addresses[..] else { panic!("{host}: {addresses:?}") };
            assert_eq!(
                (address.scope_id(), address.port()),
                (1, 0),
                "{host}: the loopback interface is the first"
            );
        }
        assert_eq!(all(b"::1%no-such-interface"), []);
    }

    #[test]
    fn addresses_with_colons_are_in_brackets() {
        for (host, expected) in [("fe80::1%lo", "[fe80::1]"), ("10.0.0.1", "10.0.0.1"), ("a%b", "a%b")] {
            assert_eq!(bracketed(host), expected);
        }
    }

    #[test]
    fn handshakes_ask_for_names_and_not_for_addresses() {
        for (typed, name) in [
            ("example.org", Some("example.org")),
            ("example.org.:443", Some("example.org")),
            ("10.0.0.1", None),
            ("10.0.0.1:80", None),
            ("::1", None),
            ("", None),
        ] {
            assert_eq!(server_name(typed).as_deref(), name, "{typed}");
        }
    }
}
