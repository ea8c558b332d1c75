//! From what was typed about addresses to the way of connections: local addresses, those of servers, what stands in for
//! them. Resolves names.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use httperf_plan::{Authority, Endpoint, Proxy, Sockets, SourceAddresses, Target, Workload};
use httperf_run::resolve;

use super::{Error, host_value, text};
use crate::args::{Args, ConnectTo, ProxyUrl};

/// Errors in the route of connections.
#[derive(Debug, Error)]
pub enum SourceError {
    /// A prefix of local addresses with an impossible length.
    #[error("--myaddr: expected a prefix length of {min} to {max}, got `{value}`")]
    PrefixLength {
        /// The shortest.
        min: u8,
        /// The longest.
        max: u8,
        /// The whole value.
        value: String,
    },
    /// Local addresses of both IP versions.
    #[error("--myaddr: expected addresses of one IP version, got `{0}` and `{1}`")]
    MixedVersions(IpAddr, IpAddr),
    /// A server that cannot be reached from the local addresses.
    #[error("--myaddr: expected {version} addresses, as `{server}` has no others, got `{source_address}`")]
    OtherVersion {
        /// The server's own properties.
        version: &'static str,
        /// The server.
        server: String,
        /// One of the local addresses.
        source_address: IpAddr,
    },
    /// A proxy whose name cannot be resolved.
    #[error("--proxy: cannot resolve `{0}`")]
    Proxy(String),
    /// A stand-in whose name cannot be resolved.
    #[error("--connect-to: cannot resolve `{name}` in `{value}`")]
    ConnectTo {
        /// The name.
        name: String,
        /// The whole value.
        value: String,
    },
    /// Fast open without a byte to send.
    #[error("--tcp-fastopen: expected requests to send with the SYN, got --num-calls=0")]
    NothingToSend,
}

/// The options of sockets.
pub(super) fn sockets(
    args: &Args,
    workload: &Workload,
    sources: SourceAddresses,
) -> Result<Sockets, SourceError> {
    let given = &args.sources;
    // Fast open puts the SYN off until there is something to send with it.
    if given.fast_open && args.session.is_none() && args.num_calls == Some(0) && !args.uses_tls() {
        return Err(SourceError::NothingToSend);
    }
    // Steps may open WebSockets, of which the options do not know.
    let talks = matches!(workload, Workload::Scenarios(scenarios) if scenarios.open_websockets());
    let are_systems = args.has_system_buffers() || talks && args.leaves_buffers_open();
    let buffer = |size: u32| (!are_systems).then_some(size as usize);
    Ok(Sockets {
        send_buffer: buffer(args.send_buffer),
        recv_buffer: buffer(args.recv_buffer),
        no_delay: given.no_delay,
        fast_open: given.fast_open,
        traffic_class: given.tos.or(given.dscp).unwrap_or(0),
        close_with_reset: args.close_with_reset,
        hog: args.hog,
        sources,
    })
}

/// The way to servers.
pub(super) struct Route<'a> {
    args: &'a Args,
    /// A local address, if connections have given ones; it stands for the IP version of all.
    source: Option<IpAddr>,
    /// The proxy and its addresses.
    proxy: Option<(&'a ProxyUrl, Vec<SocketAddr>)>,
}

impl<'a> Route<'a> {
    pub(super) fn new(args: &'a Args, sources: &SourceAddresses) -> Result<Self, Error> {
        let source = sources.nth(0);
        let mut firsts = sources.ranges().iter().map(|&(first, _)| first);
        if let Some(source) = source
            && let Some(other) = firsts.find(|first| first.is_ipv4() != source.is_ipv4())
        {
            return Err(SourceError::MixedVersions(source, other).into());
        }
        let mut route = Self { args, source, proxy: None };
        if let Some(url) = &args.sources.proxy {
            let unknown = || SourceError::Proxy(url.host.clone()).into();
            let addresses = route.addresses(url.host.as_bytes(), url.port, unknown)?;
            route.proxy = Some((url, addresses));
        }
        Ok(route)
    }

    /// The server that was typed like this, at this port, with the way to it.
    pub(super) fn target(
        &self,
        host: String,
        tls_name: Option<String>,
        server: &[u8],
        port: u16,
    ) -> Result<Target, Error> {
        if let Some(path) = &self.args.unix_socket {
            return Ok(Target::direct(host, tls_name, Endpoint::Unix(PathBuf::from(path))));
        }
        let unknown = || Error::ServerAddress(text(server));
        let (addresses, is_other) = match (&self.proxy, self.stand_in(server, port)) {
            (Some((_, addresses)), _) if server.is_empty() => return Err(unknown()),
            (Some((_, addresses)), _) => (addresses.clone(), true),
            (None, Some(stand_in)) => (self.stand_in_addresses(stand_in, server, port)?, true),
            (None, None) => (self.addresses(server, port, unknown)?, false),
        };
        let mut endpoints = addresses.into_iter().map(Endpoint::Tcp);
        let endpoint = endpoints.next().ok_or_else(unknown)?;
        Ok(Target {
            further_endpoints: endpoints.collect(),
            authority: is_other.then(|| Authority { host: host_value(resolve::bare(server)), port }),
            ..Target::direct(host, tls_name, endpoint)
        })
    }

    /// The proxy of the plan.
    pub(super) fn proxy(&self) -> Option<Proxy> {
        let (url, _) = self.proxy.as_ref()?;
        Some(Proxy {
            authority: Authority { host: url.host.clone(), port: url.port },
            authorization: url
                .credentials
                .as_ref()
                .map(|credentials| format!("Basic {}", STANDARD.encode(credentials))),
            tunnel: self.args.sources.proxy_tunnel || self.args.uses_tls(),
        })
    }

    /// Names the values of `--connect-to` that are about no server.
    pub(super) fn warn_of_unused(&self, targets: &[Target], warn: &mut dyn FnMut(String)) {
        for connect_to in &self.args.sources.connect_to {
            let fits = |authority: &Authority| fits(connect_to, authority.host.as_bytes(), authority.port);
            // A server that nothing stands in for has no authority of its own.
            if !targets.iter().filter_map(|target| target.authority.as_ref()).any(fits) {
                warn(format!("warning: --connect-to: `{}` fits no server", connect_to.typed));
            }
        }
    }

    /// The address that stands in for a server: the first that fits.
    fn stand_in(&self, server: &[u8], port: u16) -> Option<&'a ConnectTo> {
        self.args.sources.connect_to.iter().find(|connect_to| fits(connect_to, server, port))
    }

    fn stand_in_addresses(
        &self,
        connect_to: &ConnectTo,
        server: &[u8],
        port: u16,
    ) -> Result<Vec<SocketAddr>, Error> {
        let port = connect_to.to_port.unwrap_or(port);
        match &connect_to.to_host {
            None => self.addresses(server, port, || Error::ServerAddress(text(server))),
            Some(name) => self.addresses(name.as_bytes(), port, || {
                SourceError::ConnectTo { name: name.clone(), value: connect_to.typed.clone() }.into()
            }),
        }
    }

    /// Stand-ins for the addresses of a host whose name is not looked up; none for what is no name.
    fn assumed(&self, host: &[u8]) -> Vec<SocketAddr> {
        let name = text(resolve::bare(host));
        if name.is_empty() || name.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
            return Vec::new();
        }
        let loopback = match self.source {
            Some(IpAddr::V6(_)) => IpAddr::from(Ipv6Addr::LOCALHOST),
            Some(IpAddr::V4(_)) | None => IpAddr::from(Ipv4Addr::LOCALHOST),
        };
        vec![SocketAddr::new(name.parse().unwrap_or(loopback), 0)]
    }

    /// The addresses of a host that connections take: all, or the first. Never empty.
    fn addresses(
        &self,
        host: &[u8],
        port: u16,
        unknown: impl Fn() -> Error,
    ) -> Result<Vec<SocketAddr>, Error> {
        let mut addresses = if self.args.asks_nobody { self.assumed(host) } else { resolve::all(host) };
        let first = *addresses.first().ok_or_else(&unknown)?;
        if let Some(source_address) = self.source {
            addresses.retain(|address| address.is_ipv4() == source_address.is_ipv4());
            if addresses.is_empty() {
                let version = if first.is_ipv4() { "IPv4" } else { "IPv6" };
                let server = text(host);
                return Err(SourceError::OtherVersion { version, server, source_address }.into());
            }
        }
        if !self.args.sources.all_addresses {
            addresses = resolve::preferred(&addresses).into_iter().collect();
        }
        addresses.iter_mut().for_each(|address| address.set_port(port));
        Ok(addresses)
    }
}

/// Returns whether this is to stand in for the server at this port.
fn fits(connect_to: &ConnectTo, server: &[u8], port: u16) -> bool {
    let server = text(resolve::bare(server));
    connect_to.port.is_none_or(|own| own == port)
        && connect_to.host.as_ref().is_none_or(|host| is_same_host(host, &server))
}

fn is_same_host(one: &str, other: &str) -> bool {
    match (one.parse::<IpAddr>(), other.parse::<IpAddr>()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one.eq_ignore_ascii_case(other),
    }
}

/// The local addresses of all values of `--myaddr`.
pub fn source_addresses(values: &[Vec<u8>]) -> Result<SourceAddresses, Error> {
    let mut pool = SourceAddresses::default();
    for value in values {
        let (first, last) = address_range(value)?;
        if !pool.push(first, last) {
            return Err(Error::AddressList(text(value)));
        }
    }
    Ok(pool)
}

/// One address twice, or the ends of a prefix or range. Host names may contain dashes too, so a range is what does not
/// resolve as a whole.
fn address_range(value: &[u8]) -> Result<(IpAddr, IpAddr), Error> {
    let whole = text(value);
    if let Some((address, length)) = whole.split_once('/')
        && let Ok(address) = address.parse::<IpAddr>()
    {
        return Ok(prefix(address, length, &whole)?);
    }
    let ends = whole.split_once('-');
    let looks_like_range = ends.is_some_and(|(start, _)| start.parse::<IpAddr>().is_ok());
    if !looks_like_range && let Some(address) = resolve::address(value) {
        return Ok((address, address));
    }
    let Some((start, end)) = ends else { return Err(Error::AddressList(whole)) };
    let first = resolve::address(start.as_bytes())
        .ok_or_else(|| Error::StartingAddress { start: start.to_owned(), range: whole.clone() })?;
    let last = resolve::address(end.as_bytes())
        .ok_or_else(|| Error::EndingAddress { end: end.to_owned(), range: whole.clone() })?;
    Ok((first, last))
}

/// The first and the last usable address of the prefix that an address is in.
fn prefix(address: IpAddr, length: &str, value: &str) -> Result<(IpAddr, IpAddr), SourceError> {
    // A pool has at most 2^64 addresses.
    let (min, max) = if address.is_ipv4() { (0, 32) } else { (64, 128) };
    let is_number = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    let length = length.parse::<u8>().ok().filter(|length| is_number && (min..=max).contains(length));
    let Some(length) = length else {
        return Err(SourceError::PrefixLength { min, max, value: value.to_owned() });
    };
    Ok(match address {
        IpAddr::V4(v4) => {
            let host_bits = u32::MAX.checked_shr(length.into()).unwrap_or(0);
            let (first, last) = (u32::from(v4) & !host_bits, u32::from(v4) | host_bits);
            // Addresses of a network and of all hosts in it, where there is such a thing: not between two ends of a
            // wire (RFC 3021), nor within the loopback interface, which has all of them.
            let is_loopback = length >= 8 && Ipv4Addr::from(first).is_loopback();
            let margin = u32::from(length < 31 && !is_loopback);
            (Ipv4Addr::from(first + margin).into(), Ipv4Addr::from(last - margin).into())
        }
        IpAddr::V6(v6) => {
            let host_bits = u128::MAX.checked_shr(length.into()).unwrap_or(0);
            let bits = u128::from(v6);
            (IpAddr::V6((bits & !host_bits).into()), IpAddr::V6((bits | host_bits).into()))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::parse::words;
    use crate::terminal::messages::Program;

    fn planned(argv: &[&str]) -> (Result<httperf_plan::Plan, Error>, Vec<String>) {
        let mut args = Args::default();
        args.parse(&words(argv)).unwrap();
        let mut warnings = Vec::new();
        let program = Program::started_as(&"httperf".into());
        let plan = super::super::plan(&program, &args, &mut |warning| warnings.push(warning));
        (plan, warnings)
    }

    #[track_caller]
    fn target(argv: &[&str]) -> Target {
        let (plan, warnings) = planned(argv);
        assert_eq!(warnings, [""; 0]);
        plan.unwrap().targets.first().clone()
    }

    #[track_caller]
    fn check_error(argv: &[&str], expected: &str) {
        assert_eq!(planned(argv).0.map(|_| "a plan").unwrap_err().text(), expected, "{argv:?}");
    }

    fn tcp(address: &str) -> Endpoint {
        Endpoint::Tcp(address.parse().unwrap())
    }

    #[track_caller]
    fn check_pool(value: &str, first: &str, last: &str) {
        let pool = source_addresses(&[value.into()]).unwrap();
        assert_eq!(pool.ranges(), [(first.parse().unwrap(), last.parse().unwrap())], "{value}");
    }

    #[test]
    fn source_addresses_are_names_addresses_or_ranges() {
        let pool = source_addresses(&[b"127.0.0.1".to_vec(), b"127.0.1.1-127.0.1.3".to_vec()]).unwrap();
        assert_eq!(pool.len(), 4);
        check_pool("localhost", "127.0.0.1", "127.0.0.1");
        check_pool("::1", "::1", "::1");
        check_error(&["--myaddr=127.0.0.2-127.0.0.1"], ": invalid address list 127.0.0.2-127.0.0.1");
        check_error(&["--myaddr="], ": invalid address list ");
        check_error(&["--myaddr=127.0.0.1-x y"], ": invalid ending address x y in 127.0.0.1-x y");
        check_error(&["--myaddr=x y-127.0.0.1"], ": invalid starting address x y in x y-127.0.0.1");
        check_error(&["--myaddr=x y/24"], ": invalid address list x y/24");
    }

    #[test]
    fn a_prefix_stands_for_the_addresses_that_hosts_have() {
        check_pool("10.0.0.0/24", "10.0.0.1", "10.0.0.254");
        check_pool("10.0.0.77/24", "10.0.0.1", "10.0.0.254");
        check_pool("10.0.0.0/30", "10.0.0.1", "10.0.0.2");
        check_pool("10.0.0.0/31", "10.0.0.0", "10.0.0.1");
        check_pool("10.0.0.7/32", "10.0.0.7", "10.0.0.7");
        check_pool("0.0.0.0/0", "0.0.0.1", "255.255.255.254");
        check_pool("127.0.9.0/29", "127.0.9.0", "127.0.9.7");
        check_pool("127.0.0.0/8", "127.0.0.0", "127.255.255.255");
        check_pool("126.0.0.0/7", "126.0.0.1", "127.255.255.254");
        check_pool("fd00::5/64", "fd00::", "fd00::ffff:ffff:ffff:ffff");
        check_pool("fd00::5/126", "fd00::4", "fd00::7");
        check_pool("fd00::5/128", "fd00::5", "fd00::5");
        for (value, lengths) in [
            ("10.0.0.0/33", "0 to 32"),
            ("10.0.0.0/", "0 to 32"),
            ("10.0.0.0/+8", "0 to 32"),
            ("10.0.0.0/24-10.0.1.0", "0 to 32"),
            ("fd00::/63", "64 to 128"),
            ("fd00::/129", "64 to 128"),
        ] {
            let message = format!(": --myaddr: expected a prefix length of {lengths}, got `{value}`");
            check_error(&[&format!("--myaddr={value}")], &message);
        }
    }

    #[test]
    fn servers_are_reached_over_the_ip_version_of_the_local_addresses() {
        let localhost = |source: &str| target(&["--server=localhost", "--myaddr", source]).endpoint;
        assert_eq!(localhost("127.0.0.2"), tcp("127.0.0.1:80"));
        check_error(
            &["--server=::1", "--myaddr=127.0.0.2"],
            ": --myaddr: expected IPv6 addresses, as `::1` has no others, got `127.0.0.2`",
        );
        check_error(
            &["--server=127.0.0.1", "--myaddr=::1", "--myaddr=127.0.0.1"],
            ": --myaddr: expected addresses of one IP version, got `::1` and `127.0.0.1`",
        );
    }

    #[test]
    fn the_first_of_what_to_connect_to_that_fits_stands_in_for_a_server() {
        let at = |connect_to: &[&str]| {
            let mut argv = vec!["--server=A.invalid", "--port=8080"];
            connect_to.iter().for_each(|value| argv.extend(["--connect-to", value]));
            planned(&argv).0.unwrap().targets.first().clone()
        };
        let named = Some(Authority { host: "A.invalid".into(), port: 8080 });
        for (values, endpoint) in [
            (&["a.INVALID:8080:127.0.0.2:81"][..], "127.0.0.2:81"),
            (&["::127.0.0.2:"], "127.0.0.2:8080"),
            (&[":8080:[::1]:81"], "[::1]:81"),
            (
                &["a.invalid:81:127.0.0.3:1", "b.invalid::127.0.0.3:1", "a.invalid::127.0.0.2:2"],
                "127.0.0.2:2",
            ),
        ] {
            let target = at(values);
            assert_eq!((&target.host[..], &target.endpoint), ("A.invalid", &tcp(endpoint)), "{values:?}");
            assert_eq!(target.authority, named, "{values:?}");
        }
        let target = target(&["--server=0:0::1", "--connect-to=[::1]:80::81"]);
        assert_eq!((target.endpoint, target.authority.unwrap().host), (tcp("[::1]:81"), "[0:0::1]".into()));
    }

    #[test]
    fn what_to_connect_to_has_to_be_known_and_of_use() {
        check_error(
            &["--server=127.0.0.1", "--connect-to=::no such:1"],
            ": --connect-to: cannot resolve `no such` in `::no such:1`",
        );
        let (plan, warnings) = planned(&["--server=127.0.0.1", "--connect-to=a.example:80:127.0.0.2:1"]);
        assert_eq!(plan.unwrap().targets[0], Target::direct("127.0.0.1", None, tcp("127.0.0.1:80")));
        assert_eq!(warnings, ["warning: --connect-to: `a.example:80:127.0.0.2:1` fits no server"]);
    }

    #[test]
    fn a_proxy_takes_the_place_of_servers_which_it_resolves_itself() {
        let argv = ["http://a.invalid/", "--proxy=http://u:p@127.0.0.1:3128"];
        let plan = planned(&argv).0.unwrap();
        let target = &plan.targets[0];
        assert_eq!((&target.endpoint, target.port()), (&tcp("127.0.0.1:3128"), Some(80)));
        assert_eq!(target.authority.as_ref().unwrap().http_origin(), "http://a.invalid");
        let proxy = plan.proxy.as_ref().unwrap();
        assert_eq!((proxy.authorization.as_deref(), proxy.tunnel), (Some("Basic dTpw"), false));
        let tunnel = |argv: &[&str]| planned(argv).0.unwrap().proxy.as_ref().unwrap().tunnel;
        assert!(tunnel(&["http://a.invalid/", "--proxy=http://127.0.0.1:1", "--proxy-tunnel"]));
        assert!(tunnel(&["https://a.invalid/", "--proxy=http://127.0.0.1:1"]));
        check_error(&["--proxy=http://no..such:1"], ": --proxy: cannot resolve `no..such`");
        check_error(
            &["--proxy=http://127.0.0.1:1", "--server="],
            ".core_addr_intern: invalid server address ",
        );
    }

    #[test]
    fn an_address_that_was_typed_is_what_a_certificate_must_bear() {
        let address = |argv: &[&str]| target(argv).address().map(|address| address.to_string());
        let away = "--connect-to=::127.0.0.2:1";
        assert_eq!(address(&["https://127.0.0.1/", away]).as_deref(), Some("127.0.0.1"));
        assert_eq!(address(&["https://[::1]/", away]).as_deref(), Some("::1"));
        assert_eq!(address(&["https://localhost/", away]), None);
        assert_eq!(address(&["https://127.0.0.1/"]).as_deref(), Some("127.0.0.1"));
    }

    #[test]
    fn sockets_are_as_they_always_were_unless_told_otherwise() {
        let sockets = |argv: &[&str]| planned(argv).0.unwrap().sockets.clone();
        let usual = sockets(&[]);
        assert_eq!((usual.send_buffer, usual.recv_buffer), (Some(4096), Some(16384)));
        assert!(usual.no_delay && !usual.fast_open && usual.traffic_class == 0);
        let other = sockets(&["--system-buffers", "--tcp-nodelay=no", "--tcp-fastopen", "--dscp=ef"]);
        assert_eq!((other.send_buffer, other.recv_buffer), (None, None));
        assert!(!other.no_delay && other.fast_open && other.traffic_class == 0xb8);
        assert_eq!(sockets(&["--tos=0x10"]).traffic_class, 16);
        check_error(
            &["--tcp-fastopen", "--num-calls=0"],
            ": --tcp-fastopen: expected requests to send with the SYN, got --num-calls=0",
        );
    }
}
