//! Packets of the loopback interface with the kernel's time stamps: the view from outside. It takes the right to
//! capture packets (CAP_NET_RAW), and a filter in the kernel lets through only what is wanted.

use std::collections::HashSet;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use httperf_stats::Instant;
use httperf_sys::{Instruction, attach_filter};
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockProtocol, SockType, recvmsg, setsockopt,
    sockopt,
};
use nix::sys::time::TimeSpec;
use rustix::time::{ClockId, clock_gettime};

use super::watch;

/// The packets wanted: those of a server on a loopback address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) port: u16,
    pub(super) kind: Kind,
    /// No more of them than this.
    pub(super) most: usize,
}

/// Packets of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The first bytes of a client's connection.
    Syn,
    /// The last packet of each request and each reply.
    Push,
}

/// A capture that goes on.
#[derive(Debug)]
pub(super) struct Capture {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Taken>>,
    before: ClockPair,
}

/// A packet, and when it passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    pub(super) at: Instant,
    /// True if the client sent it.
    pub(super) is_from_client: bool,
    /// The client's port.
    pub(super) client_port: u16,
    /// The first bytes of its payload.
    pub(super) payload: Vec<u8>,
}

/// The bytes of a packet that are kept: headers and a request line.
const SNAP_SIZE: usize = 256;

/// Bytes of packets that the kernel may hold until they are fetched. Without the right to so much it grants less.
const BUFFER_SIZE: usize = 8 << 20;

/// Packets are fetched this often, which wakes nobody in between.
const FETCH_INTERVAL: Duration = Duration::from_millis(2);

/// Linux begins to stamp packets a moment after the first socket asked for it. Those that come before bear the time at
/// which they were fetched.
const STAMPS_BEGIN: Duration = Duration::from_millis(20);

impl Capture {
    /// Starts one.
    ///
    /// # Errors
    /// It is not permitted.
    pub(super) fn start(wanted: Wanted) -> io::Result<Self> {
        // Of every protocol, though only IPv4 gets through the filter: the kernel shows packets to those who want all of
        // them first. Whoever wants one protocol has its turn behind TCP, and a stamp that is later by as long as TCP
        // and the waking of programs took: 4 to 20 us, measured.
        let (family, kind, flags) = (AddressFamily::Packet, SockType::Datagram, SockFlag::SOCK_CLOEXEC);
        let socket = nix::sys::socket::socket(family, kind, flags, SockProtocol::EthAll)?;
        attach_filter(&socket, &filter(wanted))?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        if setsockopt(&socket, sockopt::RcvBufForce, &BUFFER_SIZE).is_err() {
            setsockopt(&socket, sockopt::RcvBuf, &BUFFER_SIZE)?;
        }
        thread::sleep(STAMPS_BEGIN);
        let is_over = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&is_over);
        let before = ClockPair::read();
        let thread = thread::Builder::new()
            .name("capture".to_owned())
            .spawn(move || fetch_all(&socket, wanted, &asked))?;
        Ok(Self { is_over, thread, before })
    }

    /// Ends it. The packets, in the order in which they passed; of those that were sent again the first.
    pub(super) fn finish(self) -> Vec<Packet> {
        self.is_over.store(true, Ordering::Relaxed);
        let taken = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let after = ClockPair::read();
        let mut seen = HashSet::new();
        let mut packets: Vec<Packet> = Vec::with_capacity(taken.len());
        for Taken { wall_ns, segment } in taken {
            if seen.insert((segment.is_from_client, segment.client_port, segment.sequence)) {
                packets.push(Packet {
                    at: monotonic(wall_ns, &self.before, &after),
                    is_from_client: segment.is_from_client,
                    client_port: segment.client_port,
                    payload: segment.payload,
                });
            }
        }
        packets.sort_by_key(|packet| packet.at);
        packets
    }
}

/// A packet with the kernel's time stamp: nanoseconds of the wall clock.
#[derive(Debug)]
struct Taken {
    wall_ns: u64,
    segment: Segment,
}

/// Fetches packets until it is over, and then those that are left. It is over as well when nobody waits for them.
fn fetch_all(socket: &OwnedFd, wanted: Wanted, is_over: &Arc<AtomicBool>) -> Vec<Taken> {
    let mut taken = Vec::with_capacity(wanted.most);
    loop {
        let was_over = is_over.load(Ordering::Relaxed) || Arc::strong_count(is_over) == 1;
        while taken.len() < wanted.most {
            match fetch(socket, wanted.port) {
                Ok(Some(packet)) => taken.push(packet),
                Ok(None) | Err(Errno::EINTR) => {}
                // Nothing is there; or the interface is gone, after which nothing will be.
                Err(_) => break,
            }
        }
        if was_over || taken.len() == wanted.most {
            return taken;
        }
        thread::sleep(FETCH_INTERVAL);
    }
}

/// Fetches one packet; `None` for one that is not wanted after all.
fn fetch(socket: &OwnedFd, port: u16) -> nix::Result<Option<Taken>> {
    let mut buffer = [0; SNAP_SIZE];
    let mut control = nix::cmsg_space!(TimeSpec);
    let mut slices = [IoSliceMut::new(&mut buffer)];
    let flags = MsgFlags::MSG_DONTWAIT;
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut slices, Some(&mut control), flags)?;
    let stamp = message.cmsgs()?.find_map(|control| match control {
        ControlMessageOwned::ScmTimestampns(stamp) => Some(stamp),
        _ => None,
    });
    let size = message.bytes;
    let Some(stamp) = stamp else { return Ok(None) };
    let wall_ns = stamp.tv_sec().unsigned_abs() * 1_000_000_000 + stamp.tv_nsec().unsigned_abs();
    Ok(Segment::read(&buffer[..size], port).map(|segment| Taken { wall_ns, segment }))
}

/// The TCP header of a packet.
#[derive(Debug, PartialEq, Eq)]
struct Segment {
    is_from_client: bool,
    client_port: u16,
    sequence: u32,
    payload: Vec<u8>,
}

impl Segment {
    /// Reads an IPv4 packet to or from the server over loopback; `None` for others.
    ///
    /// <https://www.rfc-editor.org/rfc/rfc791#section-3.1>, <https://www.rfc-editor.org/rfc/rfc9293#section-3.1>
    fn read(packet: &[u8], server_port: u16) -> Option<Self> {
        let (source, destination) = (packet.get(12..16)?, packet.get(16..20)?);
        if packet[0] >> 4 != 4 || source[0] != LOOPBACK || destination[0] != LOOPBACK {
            return None;
        }
        let tcp = packet.get(usize::from(packet[0] & 0x0f) * 4..)?;
        let port = |at: usize| Some(u16::from_be_bytes(tcp.get(at..at + 2)?.try_into().ok()?));
        let (from, to) = (port(0)?, port(2)?);
        let is_from_client = to == server_port;
        if !is_from_client && from != server_port {
            return None;
        }
        let sequence = u32::from_be_bytes(tcp.get(4..8)?.try_into().ok()?);
        let payload = tcp.get(usize::from(tcp.get(12)? >> 4) * 4..)?.to_vec();
        Some(Self { is_from_client, client_port: if is_from_client { from } else { to }, sequence, payload })
    }
}

/// The first byte of addresses of the loopback network.
const LOOPBACK: u8 = 127;

const PROTOCOL_TCP: u32 = 6;
const FLAGS_AT: u32 = 13;
const SYN: u32 = 0x02;
const PSH: u32 = 0x08;
const ACK: u32 = 0x10;
/// The field in which a filter finds the direction of a packet, and its value for one that is sent. On the loopback interface it comes
/// a second time when it is received.
const DIRECTION_AT: u32 = 0xffff_f004;
const OUTGOING: u32 = 4;

/// A program for the kernel that lets through the wanted packets of IPv4.
///
/// <https://docs.kernel.org/networking/filter.html>
fn filter(wanted: Wanted) -> Vec<Instruction> {
    let (load_byte, load_half) = (0x30, 0x28);
    // From here the offset is that of TCP in the packet and the number in the instruction.
    let (load_tcp_offset, load_tcp_byte, load_tcp_half) = (0xb1, 0x50, 0x48);
    let (jump_if_equal, jump_if_any_bit, and, end) = (0x15, 0x45, 0x54, 0x06);
    let port = u32::from(wanted.port);
    // A jump names how many instructions to leave out if it is so, and if not. The last lets nothing through, the one
    // before it all that comes there.
    let instructions: &[(u16, u8, u8, u32)] = match wanted.kind {
        Kind::Syn => &[
            (load_byte, 0, 0, DIRECTION_AT),
            (jump_if_equal, 11, 0, OUTGOING),
            (load_byte, 0, 0, 9),
            (jump_if_equal, 0, 9, PROTOCOL_TCP),
            (load_half, 0, 0, 6),
            (jump_if_any_bit, 7, 0, 0x1fff),
            (load_tcp_offset, 0, 0, 0),
            (load_tcp_half, 0, 0, 2),
            (jump_if_equal, 0, 4, port),
            (load_tcp_byte, 0, 0, FLAGS_AT),
            (and, 0, 0, SYN | ACK),
            (jump_if_equal, 0, 1, SYN),
            (end, 0, 0, SNAP_SIZE as u32),
            (end, 0, 0, 0),
        ],
        Kind::Push => &[
            (load_byte, 0, 0, DIRECTION_AT),
            (jump_if_equal, 12, 0, OUTGOING),
            (load_byte, 0, 0, 9),
            (jump_if_equal, 0, 10, PROTOCOL_TCP),
            (load_half, 0, 0, 6),
            (jump_if_any_bit, 8, 0, 0x1fff),
            (load_tcp_offset, 0, 0, 0),
            (load_tcp_half, 0, 0, 0),
            (jump_if_equal, 2, 0, port),
            (load_tcp_half, 0, 0, 2),
            (jump_if_equal, 0, 3, port),
            (load_tcp_byte, 0, 0, FLAGS_AT),
            (jump_if_any_bit, 0, 1, PSH),
            (end, 0, 0, SNAP_SIZE as u32),
            (end, 0, 0, 0),
        ],
    };
    let instruction = |&(code, jump_true, jump_false, value): &(u16, u8, u8, u32)| Instruction {
        code,
        jump_true,
        jump_false,
        value,
    };
    instructions.iter().map(instruction).collect()
}

/// Both clocks at one instant: packets have the wall clock's time, runs that of the other.
#[derive(Clone, Copy, Debug)]
struct ClockPair {
    monotonic_ns: u64,
    wall_ns: u64,
}

/// The number of times the clocks are read; the closest pair counts.
const CLOCK_READINGS: usize = 16;

impl ClockPair {
    fn read() -> Self {
        let readings = (0..CLOCK_READINGS).map(|_| {
            let before = watch::now().as_nanos();
            let wall = clock_gettime(ClockId::Realtime);
            let after = watch::now().as_nanos();
            let wall_ns = wall.tv_sec.unsigned_abs() * 1_000_000_000 + wall.tv_nsec.unsigned_abs();
            (after - before, Self { monotonic_ns: before.midpoint(after), wall_ns })
        });
        let closest = readings.min_by_key(|&(width, _)| width);
        closest.expect("the clocks are read more than once").1
    }
}

/// The instant that a time of the wall clock stands for. Between two readings the clocks are taken to drift evenly, for
/// the wall clock may be in the course of being corrected.
fn monotonic(wall_ns: u64, before: &ClockPair, after: &ClockPair) -> Instant {
    let since = |time: u64, origin: u64| (i128::from(time) - i128::from(origin)) as f64;
    let wall_span = since(after.wall_ns, before.wall_ns);
    let drift =
        if wall_span > 0.0 { since(after.monotonic_ns, before.monotonic_ns) / wall_span } else { 1.0 };
    let elapsed = since(wall_ns, before.wall_ns) * drift;
    Instant::from_nanos(before.monotonic_ns.saturating_add_signed(elapsed.round() as i64))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// An IPv4 packet without options, with a TCP header of 24 bytes.
    fn packet(from: ([u8; 4], u16), to: ([u8; 4], u16), payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 44];
        bytes[0] = 0x45;
        bytes[12..16].copy_from_slice(&from.0);
        bytes[16..20].copy_from_slice(&to.0);
        bytes[20..22].copy_from_slice(&from.1.to_be_bytes());
        bytes[22..24].copy_from_slice(&to.1.to_be_bytes());
        bytes[24..28].copy_from_slice(&7_u32.to_be_bytes());
        bytes[32] = 6 << 4;
        bytes.extend(payload);
        bytes
    }

    #[test]
    fn segments_are_told_apart_by_who_sent_them() {
        let (client, server) = (([127, 0, 0, 1], 4000), ([127, 0, 0, 1], 80));
        let request = Segment::read(&packet(client, server, b"GET /"), 80).unwrap();
        let expected =
            Segment { is_from_client: true, client_port: 4000, sequence: 7, payload: b"GET /".to_vec() };
        assert_eq!(request, expected);
        let reply = Segment::read(&packet(server, client, b""), 80).unwrap();
        assert_eq!((reply.is_from_client, reply.client_port, reply.payload.len()), (false, 4000, 0));
    }

    #[test]
    fn what_is_of_others_or_cut_short_is_left_out() {
        let (client, server) = (([127, 0, 0, 1], 4000), ([127, 0, 0, 1], 80));
        let whole = packet(client, server, b"");
        assert_eq!(Segment::read(&whole, 81), None);
        assert_eq!(Segment::read(&packet(([10, 0, 0, 1], 4000), server, b""), 80), None);
        for size in 0..whole.len() {
            assert_eq!(Segment::read(&whole[..size], 80), None, "{size} bytes");
        }
    }

    #[test]
    fn times_of_the_wall_clock_are_laid_between_both_readings() {
        let before = ClockPair { monotonic_ns: 1_000, wall_ns: 5_000_000 };
        let after = ClockPair { monotonic_ns: 3_000, wall_ns: 5_001_000 };
        for (wall_ns, expected) in [(5_000_000, 1_000), (5_000_500, 2_000), (5_001_000, 3_000)] {
            assert_eq!(monotonic(wall_ns, &before, &after).as_nanos(), expected);
        }
        assert_eq!(monotonic(4_999_900, &before, &before).as_nanos(), 900, "without a span they run alike");
    }

    #[test]
    fn where_it_is_permitted_the_kernel_shows_what_passed_and_when() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        for kind in [Kind::Syn, Kind::Push] {
            let Ok(capture) = Capture::start(Wanted { port, kind, most: 10 }) else { return };
            let began = watch::now();
            let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let (mut server, _) = listener.accept().unwrap();
            client.write_all(b"ping").unwrap();
            server.read_exact(&mut [0; 4]).unwrap();
            server.write_all(b"pong!").unwrap();
            client.read_exact(&mut [0; 5]).unwrap();
            let ended = watch::now();
            let packets = capture.finish();
            let seen: Vec<(bool, &[u8])> =
                packets.iter().map(|packet| (packet.is_from_client, &packet.payload[..])).collect();
            match kind {
                Kind::Syn => assert_eq!(seen, [(true, &b""[..])]),
                Kind::Push => assert_eq!(seen, [(true, &b"ping"[..]), (false, &b"pong!"[..])]),
            }
            let client_port = client.local_addr().unwrap().port();
            let slack = Duration::from_millis(1);
            for packet in &packets {
                assert_eq!(packet.client_port, client_port);
                assert!(began < packet.at + slack && packet.at < ended + slack, "{packet:?}");
            }
        }
    }
}
