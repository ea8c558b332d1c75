//! Socket options that have no safe wrapper elsewhere.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use nix::libc;

/// Restricts the ephemeral ports from which `connect` chooses the local one to this range (ip(7),
/// `IP_LOCAL_PORT_RANGE`; on Linux it applies to IPv6 sockets as well). Two zeros lift the restriction. A range outside
/// the ephemeral ports has no effect.
///
/// # Errors
/// Those of `setsockopt`: `ENOPROTOOPT` before Linux 6.3.
pub fn set_local_port_range(socket: impl AsFd, first: u16, last: u16) -> io::Result<()> {
    /// From Linux's `include/uapi/linux/in.h`.
    const IP_LOCAL_PORT_RANGE: libc::c_int = 51;
    set(socket, libc::IPPROTO_IP, IP_LOCAL_PORT_RANGE, &(u32::from(last) << 16 | u32::from(first)))
}

/// An instruction of the kernel's packet filter.
///
/// <https://docs.kernel.org/networking/filter.html>
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The operation.
    pub code: u16,
    /// Number of instructions to skip if a condition holds.
    pub jump_true: u8,
    /// Number of instructions to skip if it does not.
    pub jump_false: u8,
    /// The operand.
    pub value: u32,
}

/// Lets only those packets reach a socket that a program accepts (socket(7), `SO_ATTACH_FILTER`).
///
/// # Errors
/// Those of `setsockopt`: for a program that is empty, too long or malformed.
pub fn attach_filter(socket: impl AsFd, program: &[Instruction]) -> io::Result<()> {
    let mut program: Vec<libc::sock_filter> = program
        .iter()
        .map(|one| libc::sock_filter { code: one.code, jt: one.jump_true, jf: one.jump_false, k: one.value })
        .collect();
    let Ok(len) = u16::try_from(program.len()) else { return Err(io::ErrorKind::InvalidInput.into()) };
    let program = libc::sock_fprog { len, filter: program.as_mut_ptr() };
    set(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// Sets an option of a socket. If its value holds pointers, they must be valid for what the kernel reads behind them.
fn set<T>(socket: impl AsFd, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: the pointer is valid for reads of the size that is passed with it, and the kernel writes nothing there.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The kernel's view of a TCP connection (tcp(7), `TCP_INFO`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpInfo {
    /// The smoothed round-trip time.
    pub rtt: Duration,
    /// The mean deviation of the round-trip time.
    pub rtt_variance: Duration,
    /// Segments retransmitted since the connection began.
    pub retransmits: u32,
}

/// Asks the kernel about a TCP connection; `None` for a socket of another kind.
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
    // SAFETY: the structure holds integers only, and what an older kernel did not write is zero.
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
    fn the_kernel_lets_only_what_a_filter_accepts_through() {
        let receiver = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        let instruction =
            |code, jump_true, jump_false, value| Instruction { code, jump_true, jump_false, value };
        // Accepts datagrams whose first byte, behind 8 bytes of header, is 'x'.
        let program = [
            instruction(0x30, 0, 0, 8),
            instruction(0x15, 0, 1, u32::from(b'x')),
            instruction(0x06, 0, 0, u32::MAX),
            instruction(0x06, 0, 0, 0),
        ];
        attach_filter(&receiver, &program).unwrap();
        sender.send(b"no").unwrap();
        sender.send(b"xyz").unwrap();
        let mut buffer = [0; 8];
        assert_eq!(receiver.recv(&mut buffer).unwrap(), 3);
        assert!(attach_filter(&receiver, &[]).is_err());
        assert!(attach_filter(&receiver, &[instruction(0x06, 0, 0, 0); 70_000]).is_err());
    }

    #[test]
    fn a_socket_takes_a_range_of_ports_and_a_file_does_not() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        // Linux knows the option from 6.3 on.
        if let Err(error) = set_local_port_range(&socket, 0, 0) {
            assert_eq!(error.raw_os_error(), Some(libc::ENOPROTOOPT));
        }
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(set_local_port_range(&file, 0, 0).is_err());
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
