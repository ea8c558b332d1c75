//! Socket options.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// Leaves the choice of a local port to `connect`, so that one port can serve many destinations (ip(7),
/// `IP_BIND_ADDRESS_NO_PORT`; Linux uses it for IPv6 sockets as well).
///
/// # Errors
/// Those of `setsockopt`: for a descriptor that is no Internet socket.
pub fn set_bind_address_no_port(socket: impl AsFd) -> io::Result<()> {
    enable(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT)
}

/// Lets `connect` choose the local port from this range alone, of the ephemeral ports (ip(7), `IP_LOCAL_PORT_RANGE`;
/// Linux uses it for IPv6 sockets as well). Two zeros take that back. A range outside of the ephemeral ports counts for
/// nothing.
///
/// # Errors
/// Those of `setsockopt`: `ENOPROTOOPT` before Linux 6.3.
pub fn set_local_port_range(socket: impl AsFd, first: u16, last: u16) -> io::Result<()> {
    /// From Linux's `include/uapi/linux/in.h`.
    const IP_LOCAL_PORT_RANGE: libc::c_int = 51;
    let range = u32::from(last) << 16 | u32::from(first);
    set(socket, libc::IPPROTO_IP, IP_LOCAL_PORT_RANGE, range.cast_signed())
}

/// Lets the first bytes written travel with the SYN once the kernel has a cookie of the server (tcp(7),
/// `TCP_FASTOPEN_CONNECT`). `connect` then seems to succeed at once.
///
/// # Errors
/// Those of `setsockopt`: for a descriptor that is no TCP socket, and where `net.ipv4.tcp_fastopen` forbids it.
pub fn set_tcp_fastopen_connect(socket: impl AsFd) -> io::Result<()> {
    enable(socket, libc::IPPROTO_TCP, libc::TCP_FASTOPEN_CONNECT)
}

/// Switches an option on that takes an `int`.
fn enable(socket: impl AsFd, level: libc::c_int, option: libc::c_int) -> io::Result<()> {
    set(socket, level, option, 1)
}

/// Sets an option that takes an `int`.
pub(crate) fn set(
    socket: impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: the option value is a valid `int`, and its size is passed with it.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            std::ptr::from_ref(&value).cast(),
            size_of_val(&value) as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// What the kernel says of a TCP connection (tcp(7), `TCP_INFO`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpInfo {
    /// The smoothed round-trip time.
    pub rtt: Duration,
    /// How far it varies.
    pub rtt_variance: Duration,
    /// Segments retransmitted since the connection began.
    pub retransmits: u32,
}

/// What the kernel says of a TCP connection; `None` for a socket of another kind.
#[must_use]
pub fn tcp_info(socket: impl AsFd) -> Option<TcpInfo> {
    let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
    let mut size = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the pointer is valid for writes of `size` bytes, and the kernel writes no more.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut size,
        )
    };
    if result != 0 {
        return None;
    }
    // SAFETY: the structure has whole numbers only, so that zeros stand for what an older kernel left out.
    let info = unsafe { info.assume_init() };
    Some(TcpInfo {
        rtt: Duration::from_micros(info.tcpi_rtt.into()),
        rtt_variance: Duration::from_micros(info.tcpi_rttvar.into()),
        retransmits: info.tcpi_total_retrans,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_takes_the_option_and_a_file_does_not() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        set_bind_address_no_port(&socket).unwrap();
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(set_bind_address_no_port(&file).is_err());
    }

    #[test]
    fn only_a_tcp_socket_takes_fast_open() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(set_tcp_fastopen_connect(&socket).is_err());
    }

    #[test]
    fn the_kernel_tells_of_tcp_connections_and_of_no_other_socket() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let info = tcp_info(&stream).unwrap();
        assert!(info.rtt > Duration::ZERO && info.rtt < Duration::from_secs(1), "{info:?}");
        assert_eq!(info.retransmits, 0);
        assert_eq!(tcp_info(std::net::UdpSocket::bind("127.0.0.1:0").unwrap()), None);
    }
}
