//! The kernel's time stamps of bytes that a socket receives and sends (`SO_TIMESTAMPING`).
//!
//! <https://docs.kernel.org/networking/timestamping.html>

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use nix::libc;
use nix::sys::socket::{TimestampingFlag, setsockopt, sockopt};

use crate::messages::{Control, message_data, number, send_message, take_message};

/// Asks the kernel to stamp, in software, the segments that a socket receives. [`receive`] then returns the stamps, and so does
/// [`receive_datagrams`](crate::receive_datagrams) for a socket of datagrams.
///
/// The kernel stamps nothing while no socket of the machine asks for it, and begins a little after the first one does.
///
/// # Errors
/// Those of `setsockopt`: for a descriptor that is no socket, or where the system has no such stamps.
pub fn stamp_received(socket: impl AsFd) -> io::Result<()> {
    Ok(setsockopt(&socket, sockopt::Timestamping, &received_in_software())?)
}

/// Asks the kernel to number the bytes that a TCP socket sends from now on, so that [`send_stamped`] can have some of
/// them stamped. Received segments are stamped as well.
///
/// All bytes written before must have been acknowledged. (From Linux 6.2 on, `OPT_ID_TCP` would lift that condition.)
///
/// # Errors
/// Those of `setsockopt`: as for [`stamp_received`], and for a socket that is not connected.
pub fn number_sent(socket: impl AsFd) -> io::Result<()> {
    let flags = received_in_software()
        | TimestampingFlag::SOF_TIMESTAMPING_OPT_ID
        | TimestampingFlag::SOF_TIMESTAMPING_OPT_TSONLY;
    Ok(setsockopt(&socket, sockopt::Timestamping, &flags)?)
}

fn received_in_software() -> TimestampingFlag {
    TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE
}

/// Bytes read from a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// Their number; 0 at the end of the stream.
    pub count: usize,
    /// The time at which the kernel received their last segment, since the Unix epoch; `None` if it was not stamped.
    pub stamp: Option<Duration>,
}

/// The time at which the kernel handed the last byte of a write to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The number of that byte, counted from 0 at [`number_sent`], modulo 2^32.
    pub last_byte: u32,
    /// Since the Unix epoch.
    pub stamp: Duration,
}

/// Reads from a socket as recv(2) does, with the kernel's stamp of the bytes read. With `discards`, TCP copies nothing
/// and drops as many bytes from its queue as the buffer could hold (tcp(7), `MSG_TRUNC`).
///
/// # Errors
/// Those of the call: `WouldBlock` when nothing has arrived.
pub fn receive(socket: impl AsFd, buffer: &mut [u8], discards: bool) -> io::Result<Stamped> {
    let mut control = Control::empty();
    let (count, control) =
        take_message(socket, buffer, &mut control, if discards { libc::MSG_TRUNC } else { 0 })?;
    Ok(Stamped { count, stamp: software_stamp(control) })
}

/// Takes the oldest stamp of a byte that a socket has sent since [`number_sent`]. A retransmitted segment has two.
///
/// # Errors
/// `WouldBlock` when there is none.
pub fn take_sent(socket: impl AsFd) -> io::Result<Sent> {
    let mut control = Control::empty();
    loop {
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        let (_, control) = take_message(&socket, &mut [], &mut control, flags)?;
        // The queue may hold other kinds of errors, which nobody waits for.
        if let (Some(last_byte), Some(stamp)) = (sent_number(control), software_stamp(control)) {
            return Ok(Sent { last_byte, stamp });
        }
    }
}

/// Writes as much of two pieces, one after the other, as the socket takes, without raising SIGPIPE, and asks the kernel
/// to stamp the last byte written when it is sent ([`take_sent`]). The socket's bytes must be numbered
/// ([`number_sent`]).
///
/// # Errors
/// Those of the call: `WouldBlock` when the socket takes nothing.
pub fn send_stamped(socket: impl AsFd, pieces: [&[u8]; 2]) -> io::Result<usize> {
    let data = libc::SOF_TIMESTAMPING_TX_SOFTWARE.to_ne_bytes();
    let control = Control::with(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &data);
    send_message(socket, pieces, &control)
}

/// The software time stamp in control data, since the Unix epoch, if there is one: the first of three times, where zero
/// stands for none.
pub(crate) fn software_stamp(control: &[u8]) -> Option<Duration> {
    let data =
        message_data(control, |level, kind| (level, kind) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING))?;
    time(data).filter(|time| !time.is_zero())
}

/// The number of the byte that was sent, if control data reports one.
///
/// It comes as an error (ip(7), `struct sock_extended_err`): the error number (32 bits), its origin, a type, a code and
/// padding (8 bits each), the event that was stamped, and the number of the byte (32 bits each).
fn sent_number(control: &[u8]) -> Option<u32> {
    let is_error = |level, kind| {
        (level, kind) == (libc::SOL_IP, libc::IP_RECVERR)
            || (level, kind) == (libc::SOL_IPV6, libc::IPV6_RECVERR)
    };
    let data = message_data(control, is_error)?;
    let is_stamp = *data.get(4)? == libc::SO_EE_ORIGIN_TIMESTAMPING && number(data.get(8..)?)? == SENT;
    is_stamp.then(|| number(data.get(12..)?).map(libc::c_int::cast_unsigned)).flatten()
}

/// The event of a segment that was handed to the device (`SCM_TSTAMP_SND`).
const SENT: libc::c_int = 0;

/// The time at the beginning of some data: seconds and nanoseconds, a word each.
fn time(data: &[u8]) -> Option<Duration> {
    const WORD: usize = size_of::<libc::c_long>();
    let word = |bytes: &[u8]| Some(libc::c_long::from_ne_bytes(bytes.try_into().ok()?));
    let seconds = word(data.get(..WORD)?)?;
    let nanos = word(data.get(WORD..2 * WORD)?)?;
    let nanos = u32::try_from(nanos).ok().filter(|&nanos| nanos < 1_000_000_000)?;
    Some(Duration::new(u64::try_from(seconds).ok()?, nanos))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;
    use std::thread::sleep;
    use std::time::SystemTime;

    use super::*;

    /// A message of control data.
    fn message(level: libc::c_int, kind: libc::c_int, data: &[u8]) -> Vec<u8> {
        let mut bytes = (16 + data.len()).to_ne_bytes().to_vec();
        bytes.extend(level.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    /// The three times of a message of time stamps.
    fn times(times: [(i64, i64); 3]) -> Vec<u8> {
        times
            .iter()
            .flat_map(|&(seconds, nanos)| [seconds.to_ne_bytes(), nanos.to_ne_bytes()].concat())
            .collect()
    }

    fn stamps(all: [(i64, i64); 3]) -> Vec<u8> {
        message(libc::SOL_SOCKET, libc::SCM_TIMESTAMPING, &times(all))
    }

    #[test]
    fn the_first_of_three_times_is_the_softwares() {
        let control = stamps([(1_700_000_000, 5), (0, 0), (0, 0)]);
        assert_eq!(software_stamp(&control), Some(Duration::new(1_700_000_000, 5)));
        assert_eq!(software_stamp(&stamps([(0, 0), (0, 0), (7, 7)])), None, "a stamp of the hardware alone");
    }

    #[test]
    fn other_control_data_is_passed_over() {
        let other = message(libc::SOL_SOCKET, libc::SCM_RIGHTS, &[1, 2, 3, 4]);
        let both = [&other[..], &stamps([(9, 1), (0, 0), (0, 0)])].concat();
        assert_eq!(software_stamp(&both), Some(Duration::new(9, 1)));
        assert_eq!(software_stamp(&other), None);
        assert_eq!(software_stamp(&[]), None);
    }

    #[test]
    fn control_data_that_is_cut_short_or_makes_no_sense_has_no_stamp() {
        let whole = stamps([(9, 1), (0, 0), (0, 0)]);
        for length in 0..whole.len() {
            assert_eq!(software_stamp(&whole[..length]), None, "{length}");
        }
        for (seconds, nanos) in [(-1, 0), (1, -1), (1, 1_000_000_000)] {
            assert_eq!(software_stamp(&stamps([(seconds, nanos), (0, 0), (0, 0)])), None);
        }
        for length in [0, 1, 15, usize::MAX] {
            let mut odd = whole.clone();
            odd[..8].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(software_stamp(&odd), None, "{length}");
        }
    }

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (ours, listener.accept().unwrap().0)
    }

    #[test]
    fn what_a_socket_receives_is_stamped_when_it_comes_and_not_when_it_is_read() {
        let (ours, mut theirs) = pair();
        stamp_received(&ours).unwrap();
        let mut buffer = [0; 100];
        // The kernel begins to stamp a little after it was asked to.
        let stamped = (0..500).find_map(|_| {
            let before = SystemTime::now();
            theirs.write_all(b"hello").unwrap();
            sleep(Duration::from_millis(10));
            let Stamped { count, stamp } = receive(&ours, &mut buffer, false).unwrap();
            assert_eq!(&buffer[..count], b"hello");
            let lag = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH + stamp?).unwrap();
            let age = SystemTime::now().duration_since(before).unwrap();
            Some((lag, age))
        });
        let (lag, age) = stamped.expect("the kernel stamps what comes in");
        assert!(lag >= Duration::from_millis(8) && lag <= age, "{lag:?} of {age:?}");
    }

    /// All stamps of sent bytes, for which the kernel may need a moment.
    fn sent(socket: &TcpStream, count: usize) -> Vec<Sent> {
        let mut all = Vec::new();
        for _ in 0..5000 {
            match take_sent(socket) {
                Ok(sent) => all.push(sent),
                Err(error) => {
                    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
                    if all.len() >= count {
                        break;
                    }
                    sleep(Duration::from_millis(1));
                }
            }
        }
        all
    }

    #[test]
    fn what_a_socket_sends_is_stamped_where_that_is_asked_for() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let mut ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let mut theirs = listener.accept().unwrap().0;
            number_sent(&ours).unwrap();
            let before = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
            ours.write_all(b"not stamped").unwrap();
            assert_eq!(send_stamped(&ours, [b"stamped", b" too"]).unwrap(), 11);
            ours.write_all(b"not stamped").unwrap();
            assert_eq!(send_stamped(&ours, [b"", b"x"]).unwrap(), 1);
            let stamps = sent(&ours, 2);
            let after = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
            let numbers: Vec<u32> = stamps.iter().map(|sent| sent.last_byte).collect();
            assert_eq!(numbers, [21, 33], "{address}");
            assert!(
                before <= stamps[0].stamp && stamps[0].stamp <= stamps[1].stamp && stamps[1].stamp <= after
            );
            let mut received = [0; 34];
            theirs.read_exact(&mut received).unwrap();
            assert_eq!(&received, b"not stampedstamped toonot stampedx");
        }
    }

    #[test]
    fn sends_are_numbered_on_connected_sockets_only_and_fail_as_others_do() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_eq!(take_sent(&socket).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(number_sent(&listener).is_err());
        let (ours, theirs) = pair();
        drop(theirs);
        let broken = (0..500).find_map(|_| {
            sleep(Duration::from_millis(1));
            send_stamped(&ours, [b"1", b"2"]).err()
        });
        let broken = broken.expect("nobody reads").kind();
        assert!(matches!(broken, io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset), "{broken:?}");
    }

    #[test]
    fn only_errors_that_tell_of_sending_have_a_number() {
        let error = |origin: u8, what: u32| {
            let mut data = [0; 32];
            (data[0], data[4]) = (42, origin);
            data[8..12].copy_from_slice(&what.to_ne_bytes());
            data[12..16].copy_from_slice(&0xfeed_u32.to_ne_bytes());
            message(libc::SOL_IP, libc::IP_RECVERR, &data)
        };
        let both = [stamps([(9, 1), (0, 0), (0, 0)]), error(4, 0)].concat();
        assert_eq!((sent_number(&both), software_stamp(&both)), (Some(0xfeed), Some(Duration::new(9, 1))));
        assert_eq!(sent_number(&error(2, 0)), None, "what ICMP says");
        assert_eq!(sent_number(&error(4, 2)), None, "that it was acknowledged");
        let whole = error(4, 0);
        for length in 0..whole.len() {
            assert_eq!(sent_number(&whole[..length]), None, "{length}");
        }
    }

    #[test]
    fn bytes_are_read_with_or_without_stamps_and_errors_are_the_systems() {
        let (ours, mut theirs) = pair();
        ours.set_nonblocking(true).unwrap();
        let mut buffer = [0; 4];
        assert_eq!(receive(&ours, &mut buffer, false).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        theirs.write_all(b"123456").unwrap();
        drop(theirs);
        ours.set_nonblocking(false).unwrap();
        assert_eq!(receive(&ours, &mut buffer, false).unwrap(), Stamped { count: 4, stamp: None });
        assert_eq!((receive(&ours, &mut buffer, true).unwrap().count, &buffer), (2, b"1234"));
        assert_eq!(receive(&ours, &mut buffer, false).unwrap().count, 0);
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(receive(&file, &mut buffer, false).is_err() && stamp_received(&file).is_err());
    }

    #[test]
    fn a_unix_socket_has_no_stamps() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let _ = stamp_received(&ours);
        theirs.write_all(b"12").unwrap();
        assert_eq!(receive(&ours, &mut [0; 4], false).unwrap(), Stamped { count: 2, stamp: None });
    }
}
