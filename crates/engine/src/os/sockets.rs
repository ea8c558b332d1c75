//! The creation of sockets with a plan's options, and its rehearsal before a run.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use httperf_plan::{Endpoint, HttpVersion, Plan, ReplyClock, Sockets, SourceAddresses, Target};
use httperf_stats::{BufferSize, SocketBuffers};
use nix::sys::socket::sockopt::{IpBindAddressNoPort, TcpFastOpenConnect};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use thiserror::Error;

/// The number of local addresses tried before a run, in addition to the ends of each range: a hundredth of a second of
/// work.
const SOURCES_TRIED_MAX: u128 = 4096;

/// The reason why this machine cannot create the sockets of a plan.
#[derive(Debug, Error)]
pub enum SocketError {
    /// The system refuses a socket option.
    #[error("this system refuses {option}")]
    Option {
        /// The option, in words.
        option: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A local address belongs to another machine.
    #[error("expected local addresses of this machine, got `{0}`")]
    ForeignSource(IpAddr),
    /// A local address cannot be used for another reason.
    #[error("cannot use the local address `{address}`")]
    Source {
        /// The address.
        address: IpAddr,
        /// The system's error.
        source: io::Error,
    },
}

impl SocketError {
    /// Returns a remedy, if one is known.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Option { option: FAST_OPEN, .. } => Some("sysctl -w net.ipv4.tcp_fastopen=1"),
            Self::Option { .. } | Self::ForeignSource(_) | Self::Source { .. } => None,
        }
    }
}

/// TCP Fast Open, which a system setting can disable (tcp(7)).
const FAST_OPEN: &str = "TCP Fast Open";

/// Checks, without connecting, that this machine can create the sockets of a plan.
///
/// # Errors
/// The first option or address that the system refuses. Errors that depend on the run, such as a lack of descriptors,
/// are left to the run, which counts them.
pub fn rehearse(plan: &Plan) -> Result<(), SocketError> {
    let endpoints = || plan.targets.iter().flat_map(Target::endpoints);
    for ip_version in [SocketAddr::is_ipv4, SocketAddr::is_ipv6] {
        let is_such =
            |endpoint: &&Endpoint| matches!(endpoint, Endpoint::Tcp(address) if ip_version(address));
        let Some(endpoint) = endpoints().find(is_such) else { continue };
        let (socket, options_set) = match (plan.request.version, endpoint) {
            (HttpVersion::Http3, Endpoint::Tcp(server)) => {
                let Ok(socket) = unconnected_datagrams(server) else { continue };
                let options_set = set_datagram_options(&socket, server, &plan.sockets);
                (socket, options_set)
            }
            _ => {
                let Ok(socket) = unconnected(endpoint) else { continue };
                let options_set = set_options(&socket, endpoint, &plan.sockets);
                (socket, options_set)
            }
        };
        options_set.map_err(|(option, errno)| SocketError::Option { option, source: errno.into() })?;
        if plan.recording.clock == ReplyClock::Kernel {
            httperf_sys::stamp_received(&socket)
                .map_err(|source| SocketError::Option { option: "the kernel's time stamps", source })?;
        }
    }
    try_sources(&plan.sockets.sources)
}

/// Creates a socket that can be connected to this endpoint, with the options set.
pub(super) fn open(endpoint: &Endpoint, options: &Sockets) -> io::Result<OwnedFd> {
    let socket = unconnected(endpoint)?;
    set_options(&socket, endpoint, options).map_err(|(_, errno)| errno)?;
    Ok(socket)
}

/// Creates a socket of datagrams that can be connected to this server, with the options set. Its buffers are as large as
/// the system lets them be, unless the plan says how large: what does not fit into them is lost.
///
/// ECN: what is sent bears ECT(0) (RFC 9000, section 13.4.1).
pub(super) fn open_datagrams(server: &SocketAddr, options: &Sockets) -> io::Result<OwnedFd> {
    let socket = unconnected_datagrams(server)?;
    set_datagram_options(&socket, server, options).map_err(|(_, errno)| errno)?;
    Ok(socket)
}

fn unconnected_datagrams(server: &SocketAddr) -> io::Result<OwnedFd> {
    let family = if server.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(family, SocketType::DGRAM, flags, None)?;
    httperf_sys::prepare_datagrams(&socket, server.is_ipv4())?;
    Ok(socket)
}

/// Sets the options of a socket of datagrams; on failure, returns the name of the first that the system refuses.
fn set_datagram_options(
    socket: &OwnedFd,
    server: &SocketAddr,
    options: &Sockets,
) -> Result<(), (&'static str, Errno)> {
    let of = |option: &'static str| move |errno| (option, errno);
    let [send, receive] = asked_buffers(options);
    sockopt::set_socket_send_buffer_size(socket, send).map_err(of("the size of the send buffer"))?;
    sockopt::set_socket_recv_buffer_size(socket, receive).map_err(of("the size of the receive buffer"))?;
    let class = options.traffic_class & !ECN_MASK | ECT0;
    match server {
        SocketAddr::V4(_) => sockopt::set_ip_tos(socket, class),
        SocketAddr::V6(_) => sockopt::set_ipv6_tclass(socket, class.into()),
    }
    .map_err(of("the traffic class"))
}

/// The sizes that are asked for of the buffers of a socket of datagrams: to send, and to receive.
fn asked_buffers(options: &Sockets) -> [usize; 2] {
    [options.send_buffer, options.recv_buffer].map(|given| given.unwrap_or(DATAGRAM_BUFFER))
}

/// Returns the sizes of the buffers of a socket of datagrams that has the options of the plan.
pub(super) fn buffers(socket: &OwnedFd, options: &Sockets) -> io::Result<SocketBuffers> {
    let [send, receive] = asked_buffers(options);
    // The kernel has doubled what it grants (socket(7)).
    let size = |asked: usize, doubled: usize| BufferSize { asked: asked as u64, granted: doubled as u64 / 2 };
    Ok(SocketBuffers {
        receive: size(receive, sockopt::socket_recv_buffer_size(socket)?),
        send: size(send, sockopt::socket_send_buffer_size(socket)?),
    })
}

/// The size of buffers that is asked for; the system gives as much of it as `net.core.rmem_max` and `wmem_max` allow.
pub const DATAGRAM_BUFFER: usize = 2 << 20;

/// The bits of a traffic class that mark congestion, and ECT(0) (RFC 3168, section 5).
const ECN_MASK: u8 = 3;
const ECT0: u8 = 2;

fn unconnected(endpoint: &Endpoint) -> io::Result<OwnedFd> {
    let family = match endpoint {
        Endpoint::Tcp(SocketAddr::V4(_)) => AddressFamily::INET,
        Endpoint::Tcp(SocketAddr::V6(_)) => AddressFamily::INET6,
        Endpoint::Unix(_) => AddressFamily::UNIX,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(rustix::net::socket_with(family, SocketType::STREAM, flags, None)?)
}

/// Sets the options; on failure, returns the name of the first that the system refuses.
fn set_options(
    socket: &OwnedFd,
    endpoint: &Endpoint,
    options: &Sockets,
) -> Result<(), (&'static str, Errno)> {
    let of = |option: &'static str| move |errno| (option, errno);
    if let Some(size) = options.send_buffer {
        sockopt::set_socket_send_buffer_size(socket, size).map_err(of("the size of the send buffer"))?;
    }
    if let Some(size) = options.recv_buffer {
        sockopt::set_socket_recv_buffer_size(socket, size).map_err(of("the size of the receive buffer"))?;
    }
    if options.close_with_reset {
        sockopt::set_socket_linger(socket, Some(Duration::ZERO)).map_err(of("closing with a reset"))?;
    }
    let Endpoint::Tcp(address) = endpoint else { return Ok(()) };
    if options.no_delay {
        sockopt::set_tcp_nodelay(socket, true).map_err(of("TCP_NODELAY"))?;
    }
    if options.fast_open {
        nix::sys::socket::setsockopt(socket, TcpFastOpenConnect, &true)
            .map_err(errno_of)
            .map_err(of(FAST_OPEN))?;
    }
    if options.traffic_class > 0 {
        match address {
            SocketAddr::V4(_) => sockopt::set_ip_tos(socket, options.traffic_class),
            SocketAddr::V6(_) => sockopt::set_ipv6_tclass(socket, options.traffic_class.into()),
        }
        .map_err(of("the traffic class"))?;
    }
    Ok(())
}

/// Checks that local addresses belong to this machine. In a large pool, only the ends of each range and some evenly
/// spread addresses are tried.
///
/// # Errors
/// The first address that cannot be used.
pub fn try_sources(sources: &SourceAddresses) -> Result<(), SocketError> {
    let ends = sources.ranges().iter().flat_map(|&(first, last)| [first, last]);
    let step = sources.len().div_ceil(SOURCES_TRIED_MAX).max(1);
    let spread = (0..SOURCES_TRIED_MAX).map(|number| number * step).take_while(|turn| *turn < sources.len());
    ends.chain(spread.filter_map(|turn| sources.nth(turn))).try_for_each(try_source)
}

fn try_source(address: IpAddr) -> Result<(), SocketError> {
    let Ok(socket) = unconnected(&Endpoint::Tcp((address, 0).into())) else { return Ok(()) };
    match bind_address(&socket, address) {
        Ok(()) => Ok(()),
        Err(Errno::ADDRNOTAVAIL) => Err(SocketError::ForeignSource(address)),
        Err(errno) => Err(SocketError::Source { address, source: errno.into() }),
    }
}

/// Binds a socket to a local address and leaves the selection of the port to `connect`, so that one port can serve many
/// destinations (ip(7), `IP_BIND_ADDRESS_NO_PORT`; on Linux it applies to IPv6 sockets as well).
pub(super) fn bind_address(socket: &OwnedFd, address: IpAddr) -> Result<(), Errno> {
    nix::sys::socket::setsockopt(socket, IpBindAddressNoPort, &true).map_err(errno_of)?;
    rustix::net::bind(socket, &SocketAddr::new(address, 0))
}

/// Returns whether a stream socket is connected to itself, and has its close be a reset then.
///
/// A connect to a port of this machine at which nobody listens may be given that port as its own, and meets itself (RFC
/// 9293, section 3.5). An orderly close would keep the port from a server that wants it.
pub fn met_itself(socket: &OwnedFd) -> bool {
    let ends = (rustix::net::getsockname(socket), rustix::net::getpeername(socket));
    let met = matches!(&ends, (Ok(own), Ok(Some(peer))) if own == peer);
    if met {
        sockopt::set_socket_linger(socket, Some(Duration::ZERO)).ok();
    }
    met
}

fn errno_of(errno: nix::Error) -> Errno {
    Errno::from_raw_os_error(errno as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(first: &str, last: &str) -> SourceAddresses {
        let mut pool = SourceAddresses::default();
        assert!(pool.push(first.parse().unwrap(), last.parse().unwrap()));
        pool
    }

    #[test]
    fn all_of_the_loopback_network_is_this_machines() {
        try_sources(&pool("127.0.0.1", "127.255.255.254")).unwrap();
        try_sources(&SourceAddresses::default()).unwrap();
    }

    #[test]
    fn an_address_of_documentation_is_no_machines() {
        let error = try_sources(&pool("192.0.2.1", "192.0.2.1")).unwrap_err();
        assert_eq!(error.to_string(), "expected local addresses of this machine, got `192.0.2.1`");
    }

    #[test]
    fn the_ends_of_a_range_are_always_tried() {
        let error = try_sources(&pool("127.255.255.250", "128.0.0.0")).unwrap_err();
        assert!(matches!(error, SocketError::ForeignSource(address) if address.to_string() == "128.0.0.0"));
    }

    #[test]
    fn a_socket_that_meets_itself_is_known_and_leaves_its_port_free() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let endpoint = |address| Endpoint::Tcp(address);
            let socket = unconnected(&endpoint(address.parse().unwrap())).unwrap();
            rustix::net::bind(&socket, &address.parse::<SocketAddr>().unwrap()).unwrap();
            assert!(!met_itself(&socket), "it is not connected");
            let own = SocketAddr::try_from(rustix::net::getsockname(&socket).unwrap()).unwrap();
            // It meets itself within the call; the poller would tell.
            match rustix::net::connect(&socket, &own) {
                Ok(()) | Err(Errno::INPROGRESS) => {}
                Err(errno) => panic!("{errno}"),
            }
            assert!(met_itself(&socket), "{own}");
            drop(socket);
            let listener = std::net::TcpListener::bind(own).unwrap();
            let other = unconnected(&endpoint(own)).unwrap();
            rustix::net::connect(&other, &own)
                .or_else(|errno| (errno == Errno::INPROGRESS).then_some(()).ok_or(errno))
                .unwrap();
            assert!(!met_itself(&other));
            drop(listener);
        }
    }

    #[test]
    fn sockets_have_the_options_of_the_plan() {
        let options = Sockets {
            send_buffer: Some(10_000),
            recv_buffer: None,
            no_delay: false,
            fast_open: false,
            traffic_class: 0xb8,
            close_with_reset: true,
            hog: false,
            sources: SourceAddresses::default(),
        };
        for address in ["127.0.0.1:1", "[::1]:1"] {
            let socket = open_datagrams(&address.parse().unwrap(), &options).unwrap();
            let buffers = buffers(&socket, &options).unwrap();
            assert_eq!(buffers.send, BufferSize { asked: 10_000, granted: 10_000 });
            assert_eq!(buffers.receive.asked, DATAGRAM_BUFFER as u64);
            assert!((1..=buffers.receive.asked).contains(&buffers.receive.granted), "{buffers:?}");
            let class = match address {
                "[::1]:1" => sockopt::ipv6_tclass(&socket),
                _ => sockopt::ip_tos(&socket).map(u32::from),
            };
            assert_eq!(class, Ok(0xb8 | u32::from(ECT0)), "{address}");
        }
        let default = unconnected(&Endpoint::Tcp(([127, 0, 0, 1], 1).into())).unwrap();
        for address in ["127.0.0.1:1", "[::1]:1"] {
            let socket = open(&Endpoint::Tcp(address.parse().unwrap()), &options).unwrap();
            // The kernel doubles the requested size (socket(7)).
            assert_eq!(sockopt::socket_send_buffer_size(&socket), Ok(20_000));
            assert_eq!(sockopt::socket_recv_buffer_size(&socket), sockopt::socket_recv_buffer_size(&default));
            assert_eq!(sockopt::tcp_nodelay(&socket), Ok(false));
            assert_eq!(sockopt::socket_linger(&socket), Ok(Some(Duration::ZERO)));
            let class = match address {
                "[::1]:1" => sockopt::ipv6_tclass(&socket),
                _ => sockopt::ip_tos(&socket).map(u32::from),
            };
            assert_eq!(class, Ok(0xb8), "{address}");
        }
    }
}
