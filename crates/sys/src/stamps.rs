//! The kernel's time stamps: when it received what is read from a socket (`SO_TIMESTAMPING`).
//!
//! <https://docs.kernel.org/networking/timestamping.html>

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use crate::socket::set;

/// Asks the kernel to stamp, in software, the segments that a socket receives. [`receive`] then tells the stamps.
///
/// The kernel stamps nothing while no socket of the machine asks for it, and begins a little after the first one does.
///
/// # Errors
/// Those of `setsockopt`: for a descriptor that is no socket, or where the system has no such stamps.
pub fn stamp_received(socket: impl AsFd) -> io::Result<()> {
    let flags = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
    set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags.cast_signed())
}

/// Bytes that were read from a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// Their number; 0 is the end of the stream.
    pub count: usize,
    /// When the kernel received the last segment of them, since the Unix epoch; `None` if it was not stamped.
    pub stamp: Option<Duration>,
}

/// The length of the control data that [`receive`] has room for: that of one message with three times in it.
const CONTROL_SIZE: usize = 64;

/// Room for control data, where the kernel expects it.
#[repr(C, align(8))]
struct Control([u8; CONTROL_SIZE]);

/// Reads from a socket as recv(2) does, and takes the kernel's stamp of what was read. With `discards`, TCP copies
/// nothing, and takes as many bytes from its queue as there is room for (tcp(7), `MSG_TRUNC`).
///
/// # Errors
/// Those of the call: `WouldBlock` when nothing has arrived.
pub fn receive(socket: impl AsFd, buffer: &mut [u8], discards: bool) -> io::Result<Stamped> {
    let mut control = Control([0; CONTROL_SIZE]);
    let mut piece = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: the structure has pointers and whole numbers only, for all of which zero is a value.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_iov = &raw mut piece;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = CONTROL_SIZE as _;
    let flags = if discards { libc::MSG_TRUNC } else { 0 };
    // SAFETY: the message names one piece and the control data, each valid for writes of the length given with it for
    // as long as the call takes; the kernel writes no more.
    let count = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, flags) };
    let Ok(count) = usize::try_from(count) else { return Err(io::Error::last_os_error()) };
    #[expect(clippy::unnecessary_cast, reason = "the length has other types elsewhere")]
    let length = (message.msg_controllen as usize).min(CONTROL_SIZE);
    Ok(Stamped { count, stamp: software_stamp(&control.0[..length]) })
}

/// The software time stamp in control data, since the Unix epoch, if there is one.
///
/// Control data is a sequence of messages, each with its length, level and type before its data, and aligned as a
/// length is (cmsg(3)). Of time stamps there are three, of which the first is the software's; zero is none.
fn software_stamp(mut control: &[u8]) -> Option<Duration> {
    const WORD: usize = size_of::<usize>();
    const HEAD: usize = WORD + 2 * size_of::<libc::c_int>();
    while let Some((head, _)) = control.split_at_checked(HEAD) {
        let length = usize::from_ne_bytes(head[..WORD].try_into().ok()?);
        let level = libc::c_int::from_ne_bytes(head[WORD..WORD + 4].try_into().ok()?);
        let kind = libc::c_int::from_ne_bytes(head[WORD + 4..].try_into().ok()?);
        let data = control.get(HEAD..length)?;
        if (level, kind) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) {
            return time(data).filter(|time| !time.is_zero());
        }
        control = control.get(length.next_multiple_of(WORD)..)?;
    }
    None
}

/// The time at the beginning of some data, as the kernel writes it: seconds and nanoseconds, a word each.
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
    use std::io::Write;
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
        assert_eq!(control.len(), CONTROL_SIZE);
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
