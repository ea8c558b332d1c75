//! Socket options.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Leaves the choice of a local port to `connect`, so that one port can serve many destinations (ip(7),
/// `IP_BIND_ADDRESS_NO_PORT`; Linux uses it for IPv6 sockets as well).
///
/// # Errors
/// Those of `setsockopt`: for a descriptor that is no Internet socket.
pub fn set_bind_address_no_port(socket: impl AsFd) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the option value is a valid `int`, and its size is passed with it.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            std::ptr::from_ref(&on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
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
}
