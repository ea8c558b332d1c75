//! Sockets of datagrams, several of which the kernel takes and returns at once (udp(7): `UDP_SEGMENT`, `UDP_GRO`), with
//! their marks of congestion.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use bytes::BytesMut;
use nix::libc;
use nix::sys::socket::{setsockopt, sockopt};

use crate::messages::{Control, append_message, message_data, number, send_message};
use crate::stamps::software_stamp;

/// Datagrams that arrived in one buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Bytes of each but the last, which may be shorter.
    pub segment: usize,
    /// The lower bits of the traffic class: the mark of congestion (RFC 3168, section 5).
    pub ecn: u8,
    /// The time at which the kernel received the first of them, since the Unix epoch; `None` unless the socket asks for stamps
    /// ([`stamp_received`](crate::stamp_received)).
    pub stamp: Option<Duration>,
}

/// Prepares a UDP socket: datagrams of one peer that arrive together are returned together, with their marks of
/// congestion, and none that is sent is fragmented.
///
/// # Errors
/// Those of `setsockopt`, for a descriptor that is no UDP socket. What a system lacks is done without.
pub fn prepare_datagrams(socket: impl AsFd, is_ipv4: bool) -> io::Result<()> {
    // Linux before 5.0 returns each by itself.
    setsockopt(&socket, sockopt::UdpGroSegment, &true).ok();
    if is_ipv4 {
        setsockopt(&socket, sockopt::IpRecvTos, &true)?;
        set_number(&socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE)
    } else {
        setsockopt(&socket, sockopt::Ipv6RecvTClass, &true)?;
        set_number(&socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE)
    }
}

/// Sets an option whose value is a number.
fn set_number(
    socket: impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;
    let size = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the value is valid for reads of the size given with it until the call returns.
    let result = unsafe {
        libc::setsockopt(socket.as_fd().as_raw_fd(), level, option, (&raw const value).cast(), size)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sends datagrams that lie in one buffer over a connected socket, each of `segment` bytes but the last.
///
/// # Errors
/// Those of the call: `WouldBlock` when the socket takes nothing. Where the system cannot divide a buffer (Linux before
/// 4.18), `InvalidInput` or `Other` for more than one datagram.
pub fn send_datagrams(socket: impl AsFd, datagrams: &[u8], segment: usize) -> io::Result<()> {
    let control = if datagrams.len() > segment {
        let segment = u16::try_from(segment).map_err(|_| io::ErrorKind::InvalidInput)?;
        Control::with(libc::SOL_UDP, libc::UDP_SEGMENT, &segment.to_ne_bytes())
    } else {
        Control::empty()
    };
    send_message(socket, [datagrams, &[]], &control).map(drop)
}

/// Appends the datagrams that have arrived to a buffer, as many as the kernel has put together: it should have room for
/// 64 KiB.
///
/// # Errors
/// Those of the call: `WouldBlock` when nothing has arrived, `ConnectionRefused` when the peer's machine has said that
/// nobody listens.
pub fn receive_datagrams(socket: impl AsFd, buffer: &mut BytesMut) -> io::Result<Arrived> {
    let mut control = Control::empty();
    let before = buffer.len();
    let control = append_message(socket, buffer, &mut control)?;
    let count = buffer.len() - before;
    let segment = message_data(control, |level, kind| (level, kind) == (libc::SOL_UDP, libc::UDP_GRO));
    let segment = segment.and_then(number).and_then(|size| usize::try_from(size).ok());
    let class = |level, kind| {
        (level, kind) == (libc::IPPROTO_IP, libc::IP_TOS)
            || (level, kind) == (libc::IPPROTO_IPV6, libc::IPV6_TCLASS)
    };
    let ecn = message_data(control, class).and_then(|data| data.first()).map_or(0, |class| class & 3);
    let segment = segment.filter(|&size| size > 0).unwrap_or(count);
    Ok(Arrived { segment, ecn, stamp: software_stamp(control) })
}

/// Returns how many datagrams a socket has dropped so far, as its buffer was full (`SO_MEMINFO`); `None` where the system
/// does not tell (Linux before 4.12).
#[must_use]
pub fn dropped_datagrams(socket: impl AsFd) -> Option<u32> {
    use std::os::fd::AsRawFd as _;
    let mut figures = [0_u32; MEMORY_FIGURES];
    let mut size = size_of_val(&figures) as libc::socklen_t;
    // SAFETY: the pointer is valid for writes of `size` bytes, and the kernel writes no more.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            figures.as_mut_ptr().cast(),
            &raw mut size,
        )
    };
    let has_drops = size as usize > DROPS * size_of::<u32>();
    (result == 0 && has_drops).then_some(figures[DROPS])
}

/// The number of figures that `SO_MEMINFO` has, and the place of the datagrams dropped (`linux/sock_diag.h`).
const MEMORY_FIGURES: usize = 9;
const DROPS: usize = 8;

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::thread::sleep;
    use std::time::{Instant, SystemTime};

    use super::*;

    fn pair(address: &str) -> (UdpSocket, UdpSocket) {
        let [one, two] = [(); 2].map(|()| UdpSocket::bind((address, 0)).unwrap());
        for (socket, other) in [(&one, &two), (&two, &one)] {
            socket.connect(other.local_addr().unwrap()).unwrap();
            socket.set_nonblocking(true).unwrap();
            prepare_datagrams(socket, address == "127.0.0.1").unwrap();
        }
        (one, two)
    }

    /// All datagrams that arrive, with their marks, once there are as many bytes.
    fn receive_all(socket: &UdpSocket, bytes: usize) -> Vec<(Vec<u8>, u8)> {
        let (mut buffer, mut all, mut count) = (BytesMut::with_capacity(65_536), Vec::new(), 0);
        let began = Instant::now();
        while count < bytes && began.elapsed() < Duration::from_secs(10) {
            buffer.clear();
            if let Ok(arrived) = receive_datagrams(socket, &mut buffer) {
                count += buffer.len();
                let datagrams = buffer.chunks(arrived.segment.max(1));
                all.extend(datagrams.map(|datagram| (datagram.to_vec(), arrived.ecn)));
            }
        }
        all
    }

    #[test]
    fn a_buffer_is_divided_into_datagrams_and_their_marks_arrive() {
        for address in ["127.0.0.1", "::1"] {
            let (one, two) = pair(address);
            let bytes: Vec<u8> = (0..2500_u32).map(|place| place as u8).collect();
            send_datagrams(&one, &bytes, 1200).unwrap();
            let arrived: Vec<Vec<u8>> =
                receive_all(&two, 2500).into_iter().map(|(datagram, _)| datagram).collect();
            assert_eq!(arrived.iter().map(Vec::len).collect::<Vec<_>>(), [1200, 1200, 100], "{address}");
            assert_eq!(arrived.concat(), bytes);
            if address == "127.0.0.1" {
                setsockopt(&one, sockopt::Ipv4Tos, &2).unwrap();
            } else {
                setsockopt(&one, sockopt::Ipv6TClass, &2).unwrap();
            }
            send_datagrams(&one, b"marked", 6).unwrap();
            assert_eq!(receive_all(&two, 6), [(b"marked".to_vec(), 2)]);
            let nothing = receive_datagrams(&two, &mut BytesMut::with_capacity(10)).unwrap_err();
            assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
        }
    }

    #[test]
    fn what_finds_no_room_is_counted_as_dropped() {
        let (one, two) = pair("127.0.0.1");
        setsockopt(&two, sockopt::RcvBuf, &4096).unwrap();
        assert_eq!(dropped_datagrams(&two), Some(0));
        (0..100).for_each(|_| send_datagrams(&one, &[7; 1000], 1000).unwrap());
        let (mut buffer, mut arrived) = (BytesMut::with_capacity(65_536), 0);
        while receive_datagrams(&two, &mut buffer).is_ok() {
            arrived += buffer.len() / 1000;
            buffer.clear();
        }
        let dropped = dropped_datagrams(&two).unwrap() as usize;
        assert!(dropped > 0 && arrived + dropped == 100, "{arrived} arrived, {dropped} dropped");
    }

    #[test]
    fn datagrams_are_stamped_when_they_come_and_not_when_they_are_read() {
        for address in ["127.0.0.1", "::1"] {
            let (one, two) = pair(address);
            crate::stamp_received(&two).unwrap();
            // The kernel begins to stamp a little after it was asked to.
            let stamped = (0..500).find_map(|_| {
                let before = SystemTime::now();
                send_datagrams(&one, &[7; 2500], 1200).unwrap();
                sleep(Duration::from_millis(10));
                let mut buffer = BytesMut::with_capacity(65_536);
                let mut stamp = None;
                while let Ok(arrived) = receive_datagrams(&two, &mut buffer) {
                    stamp = arrived.stamp;
                }
                assert_eq!(buffer.len(), 2500, "{address}");
                let now = SystemTime::now();
                let lag = now.duration_since(SystemTime::UNIX_EPOCH + stamp?).unwrap();
                Some((lag, now.duration_since(before).unwrap()))
            });
            let (lag, age) = stamped.expect("the kernel stamps what comes in");
            assert!(lag >= Duration::from_millis(8) && lag <= age, "{address}: {lag:?} of {age:?}");
        }
    }

    #[test]
    fn nobody_listening_is_told() {
        let (one, two) = pair("127.0.0.1");
        drop(two);
        send_datagrams(&one, b"hello", 5).unwrap();
        let began = Instant::now();
        let told = loop {
            match receive_datagrams(&one, &mut BytesMut::with_capacity(10)) {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => break true,
                _ if began.elapsed() > Duration::from_secs(10) => break false,
                _ => {}
            }
        };
        assert!(told);
    }
}
