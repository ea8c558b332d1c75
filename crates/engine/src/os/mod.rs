//! The real network: Linux sockets, epoll and the monotonic clock.

mod alarm;
mod counters;
mod ports;
mod sockets;
mod stamps;

use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, SystemTime};

use bytes::BytesMut;
use httperf_plan::{Endpoint, Plan, Sockets};
use httperf_proto::quic::Ecn;
use httperf_stats::{Counters, Instant, SocketBuffers, Transport};
use nix::sys::epoll::{Epoll, EpollEvent, EpollTimeout};
use rustix::event::{PollFd, PollFlags, epoll, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, SocketAddrUnix, sockopt};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, clock_nanosleep_absolute, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, Timespec, clock_gettime};

pub(crate) use self::alarm::Alarm;
use self::ports::{Ports, Search, local_ports};
use self::stamps::Stamps;
use crate::network::{Arrived, DISCARD_MAX};
use crate::{Network, Ready, Received, SentStamp, StopRequest};

pub use self::sockets::{DATAGRAM_BUFFER, SocketError, met_itself, rehearse, try_sources};

/// The maximum number of events taken from the kernel at once.
const EVENTS_MAX: usize = 1024;

/// The same for TLS: an event may cost a tenth of a millisecond of cryptography, and time limits are only checked
/// between batches.
const SECURED_EVENTS_MAX: usize = 32;

/// The same if the system only waits in whole milliseconds.
const COARSE_EVENTS_MAX: usize = 256;

/// The number of reads that take so little time that a wait need not read the clock again for it.
const READS_IN_PASSING: u32 = 4;

/// The time before a deadline at which `--spin` stops sleeping and starts polling: longer than Linux takes to wake a
/// thread on most machines, and short enough to leave the processor idle at moderate rates.
const SPIN: Duration = Duration::from_micros(300);

/// The poller's key for the request to stop. No connection has this key.
const STOP_KEY: u64 = u64::MAX;

/// The sockets of the operating system, polled by one epoll instance (epoll(7)).
pub struct OsNetwork {
    epoll: Epoll,
    _timers: ExactTimers,
    stop: StopRequest,
    options: Sockets,
    spin: bool,
    ports: Ports,
    /// Some server has a port that connections may come from, so that one of them may meet itself.
    may_meet_itself: bool,
    /// The last reading of the clock, and the number of reads of sockets since then.
    last_now: Instant,
    reads_since: u32,
    /// The kernel's time stamps, if the plan requests and the system supports them.
    stamps: Option<Stamps>,
    /// True if stamps of sent bytes are requested, which appear as errors on a working connection.
    stamps_sent: bool,
    events: Vec<epoll::Event>,
    /// The buffer for events if the system only waits in whole milliseconds; empty otherwise.
    coarse_events: Vec<EpollEvent>,
    /// The buffer for discarded bytes. It is never read, and never written over TCP, so it occupies no memory.
    discarded: Vec<u8>,
}

/// Has the timers of this thread be exact for as long as it lives: by default, Linux delays wake-ups by up to 50 µs to
/// combine them. The thread may be that of a caller who does other things afterwards.
struct ExactTimers {
    /// The slack of before, in nanoseconds.
    before: u64,
}

impl ExactTimers {
    fn set() -> io::Result<Self> {
        let before = rustix::thread::current_timer_slack()?;
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
        Ok(Self { before })
    }
}

impl Drop for ExactTimers {
    fn drop(&mut self) {
        // A slack that was valid stays valid.
        let _: Result<(), Errno> = rustix::thread::set_current_timer_slack(NonZeroU64::new(self.before));
    }
}

impl std::fmt::Debug for OsNetwork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OsNetwork").field("options", &self.options).finish_non_exhaustive()
    }
}

impl OsNetwork {
    /// Sets up the poller.
    ///
    /// # Errors
    /// The system's error.
    pub fn new(plan: &Plan, stop: &StopRequest) -> io::Result<Self> {
        let epoll = Epoll(epoll::create(epoll::CreateFlags::CLOEXEC)?);
        let key = epoll::EventData::new_u64(STOP_KEY);
        epoll::add(&epoll.0, stop.wake_fd(), key, epoll::EventFlags::IN)?;
        let timers = ExactTimers::set()?;
        let mut network = Self {
            epoll,
            _timers: timers,
            stop: stop.clone(),
            options: plan.sockets.clone(),
            spin: plan.spin,
            ports: Ports::new(plan, Path::new("/")),
            may_meet_itself: may_meet_itself(plan),
            last_now: now(),
            reads_since: 0,
            stamps: if plan.recording.detail { Stamps::new() } else { None },
            stamps_sent: plan.recording.kernel_sends.is_some(),
            discarded: vec![0; DISCARD_MAX],
            coarse_events: Vec::new(),
            events: Vec::with_capacity(if plan.tls.is_some() { SECURED_EVENTS_MAX } else { EVENTS_MAX }),
        };
        network.poll(Some(Duration::ZERO))?;
        Ok(network)
    }

    /// Waits for readiness up to `timeout`, for ever if `None`.
    fn poll(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        self.events.clear();
        if !self.coarse_events.is_empty() {
            return self.poll_coarsely(timeout);
        }
        let exact = timeout.map(|timeout| Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        });
        let buffer = rustix::buffer::spare_capacity(&mut self.events);
        match epoll::wait(&self.epoll.0, buffer, exact.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(Errno::NOSYS) => self.poll_coarsely(timeout),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Waits in whole milliseconds, rounded up, from now on: valgrind and Linux before 5.11 lack `epoll_pwait2`
    /// (epoll_wait(2)).
    fn poll_coarsely(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        let millis = timeout.map_or(EpollTimeout::NONE, |timeout| {
            EpollTimeout::try_from(timeout.as_nanos().div_ceil(1_000_000)).unwrap_or(EpollTimeout::MAX)
        });
        self.coarse_events.resize(COARSE_EVENTS_MAX, EpollEvent::empty());
        match self.epoll.wait(&mut self.coarse_events, millis) {
            Ok(count) => {
                self.events.extend(self.coarse_events[..count].iter().map(|event| epoll::Event {
                    flags: epoll::EventFlags::from_bits_retain(event.events().bits().cast_unsigned()),
                    data: epoll::EventData::new_u64(event.data()),
                }));
                Ok(())
            }
            Err(nix::Error::EINTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Connects from a port selected here, if this run selects ports itself.
    fn connect_tcp(
        &mut self,
        socket: &OwnedFd,
        server: &SocketAddr,
        source: Option<IpAddr>,
    ) -> Result<(), Errno> {
        if let Ports::Hogged(rounds) = &mut self.ports {
            let source = source.unwrap_or_else(|| any_address(server));
            let search = rounds.find(source, |port| {
                match rustix::net::bind(socket, &SocketAddr::new(source, port)) {
                    Ok(()) => Ok(true),
                    Err(Errno::ADDRINUSE | Errno::ACCESS) => Ok(false),
                    Err(errno) => Err(errno),
                }
            })?;
            return match search {
                Search::Found => rustix::net::connect(socket, server),
                Search::InVain | Search::InVainAgain => Err(Errno::ADDRNOTAVAIL),
            };
        }
        if let Some(source) = source {
            sockets::bind_address(socket, source)?;
        }
        self.ports.note_connection();
        if let Ports::Ephemeral(rounds) = &mut self.ports {
            let found = rounds.find((source, *server), |port| {
                httperf_sys::set_local_port_range(socket, port, port).map_err(|_| Attempt::Unsupported)?;
                match rustix::net::connect(socket, server) {
                    Ok(()) | Err(Errno::INPROGRESS) => Ok(true),
                    Err(Errno::ADDRNOTAVAIL) => Ok(false),
                    Err(errno) => Err(Attempt::Failed(errno)),
                }
            });
            match found {
                Ok(Search::Found) => return Ok(()),
                Err(Attempt::Failed(errno)) => return Err(errno),
                // The next ports in the round have been closed for longest: if they are not free yet, hardly any is.
                Ok(Search::InVainAgain) => return Err(Errno::ADDRNOTAVAIL),
                // The kernel searches all ports, so it may still find one.
                Ok(Search::InVain) => {
                    httperf_sys::set_local_port_range(socket, 0, 0).map_err(|error| errno_of(&error))?;
                }
                Err(Attempt::Unsupported) => self.ports.leave_to_kernel(),
            }
        }
        rustix::net::connect(socket, server)
    }

    /// Clears `ready`, and fills it with what the poller has found.
    fn tell(&self, ready: &mut Vec<Ready>) {
        ready.clear();
        ready.extend(self.events.iter().filter(|event| event.data.u64() != STOP_KEY).map(|event| {
            let found = event.flags;
            let has = |flags| found.intersects(flags);
            Ready {
                key: event.data.u64(),
                readable: has(epoll::EventFlags::IN),
                writable: has(epoll::EventFlags::OUT),
                ended: has(epoll::EventFlags::RDHUP | epoll::EventFlags::HUP),
                failed: self.is_failure(has(epoll::EventFlags::ERR), has(epoll::EventFlags::HUP)),
            }
        }));
    }

    /// Returns true if a connection for which the poller reports an error has failed. A failed TCP connection has ended
    /// as well; if it has not ended, the error is a stamp.
    fn is_failure(&self, has_error: bool, has_ended: bool) -> bool {
        has_error && (has_ended || !self.stamps_sent)
    }
}

/// The events for which a socket of datagrams is watched. Linux reports one as writable after each datagram that leaves it, even if there
/// was room all the time: each would wake the worker once more.
fn datagram_interest(writable: bool) -> epoll::EventFlags {
    let always = epoll::EventFlags::IN | epoll::EventFlags::ET;
    if writable { always | epoll::EventFlags::OUT } else { always }
}

/// The reason why a port could not be tried.
enum Attempt {
    /// The system does not let a program name the port.
    Unsupported,
    /// The connection cannot be made from any port.
    Failed(Errno),
}

fn errno_of(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// Returns whether a connection of a plan may come from the port of its server.
fn may_meet_itself(plan: &Plan) -> bool {
    let (first, last) = local_ports(plan, Path::new("/"));
    let endpoints = plan.targets.iter().flat_map(httperf_plan::Target::endpoints);
    let mut addresses = endpoints.filter_map(|endpoint| match endpoint {
        Endpoint::Tcp(address) => Some(address),
        Endpoint::Unix(_) => None,
    });
    addresses.any(|address| (first..=last).contains(&address.port()))
}

impl Network for OsNetwork {
    type Socket = OwnedFd;

    fn now(&mut self) -> Instant {
        let now = now();
        (self.last_now, self.reads_since) = (now, 0);
        if let Some(stamps) = &mut self.stamps {
            stamps.handle_now(now);
        }
        now
    }

    fn wall_clock(&self) -> SystemTime {
        SystemTime::now()
    }

    fn open(&mut self, endpoint: &Endpoint) -> io::Result<OwnedFd> {
        let socket = sockets::open(endpoint, &self.options)?;
        if let (Some(_), Endpoint::Tcp(_)) = (&self.stamps, endpoint) {
            // A connection also works without stamps.
            httperf_sys::stamp_received(&socket).ok();
        }
        Ok(socket)
    }

    fn connect(
        &mut self,
        socket: &OwnedFd,
        key: u64,
        endpoint: &Endpoint,
        source: Option<IpAddr>,
    ) -> io::Result<()> {
        let connected = match endpoint {
            Endpoint::Tcp(address) => self.connect_tcp(socket, address, source),
            Endpoint::Unix(path) => rustix::net::connect(socket, &SocketAddrUnix::new(path)?),
        };
        match connected {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(errno) => return Err(errno.into()),
        }
        let interest =
            epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        epoll::add(&self.epoll.0, socket, epoll::EventData::new_u64(key), interest)?;
        Ok(())
    }

    fn met_itself(&mut self, socket: &OwnedFd) -> bool {
        self.may_meet_itself && met_itself(socket)
    }

    fn open_datagrams(&mut self, server: &SocketAddr) -> io::Result<OwnedFd> {
        let socket = sockets::open_datagrams(server, &self.options)?;
        if self.stamps.is_some() {
            // A connection also works without stamps.
            httperf_sys::stamp_received(&socket).ok();
        }
        Ok(socket)
    }

    fn connect_datagrams(
        &mut self,
        socket: &OwnedFd,
        key: u64,
        server: &SocketAddr,
        source: Option<IpAddr>,
    ) -> io::Result<()> {
        if let Some(source) = source {
            rustix::net::bind(socket, &SocketAddr::new(source, 0))?;
        }
        rustix::net::connect(socket, server)?;
        if self.met_itself(socket) {
            return Err(Errno::CONNREFUSED.into());
        }
        epoll::add(&self.epoll.0, socket, epoll::EventData::new_u64(key), datagram_interest(true))?;
        Ok(())
    }

    fn watch_writable(&mut self, socket: &OwnedFd, key: u64, is_watched: bool) -> io::Result<()> {
        epoll::modify(&self.epoll.0, socket, epoll::EventData::new_u64(key), datagram_interest(is_watched))?;
        Ok(())
    }

    fn send(
        &mut self,
        socket: &OwnedFd,
        datagrams: &[u8],
        segment: usize,
        _ecn: Option<Ecn>,
    ) -> io::Result<()> {
        httperf_sys::send_datagrams(socket, datagrams, segment)
    }

    fn receive(&mut self, socket: &OwnedFd, buffer: &mut BytesMut) -> io::Result<Arrived> {
        self.reads_since += 1;
        let arrived = httperf_sys::receive_datagrams(socket, buffer)?;
        let ecn = match arrived.ecn {
            1 => Some(Ecn::Ect1),
            2 => Some(Ecn::Ect0),
            3 => Some(Ecn::Ce),
            _ => None,
        };
        let stamp = match (&mut self.stamps, arrived.stamp) {
            (Some(stamps), Some(stamp)) => stamps.instant(stamp),
            _ => None,
        };
        Ok(Arrived { segment: arrived.segment, ecn, stamp })
    }

    fn take_error(&mut self, socket: &OwnedFd) -> Option<io::Error> {
        match sockopt::socket_error(socket) {
            Ok(Ok(())) => None,
            Ok(Err(errno)) | Err(errno) => Some(errno.into()),
        }
    }

    fn read(&mut self, socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<Received> {
        self.reads_since += 1;
        match &mut self.stamps {
            Some(stamps) => stamps.receive(socket, buffer, false),
            None => Ok(self.read_unstamped(socket, buffer)?.into()),
        }
    }

    fn read_unstamped(&mut self, socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
        self.reads_since += 1;
        // `recv` takes a tenth of a microsecond less than `read`.
        Ok(rustix::net::recv(socket, buffer, RecvFlags::empty())?.1)
    }

    fn discard(&mut self, socket: &OwnedFd, count: usize) -> io::Result<Received> {
        self.reads_since += 1;
        let room = &mut self.discarded[..count];
        // With `MSG_TRUNC`, TCP copies nothing (tcp(7)); other sockets do.
        match &mut self.stamps {
            Some(stamps) => stamps.receive(socket, room, true),
            None => Ok(rustix::net::recv(socket, room, RecvFlags::TRUNC)?.1.into()),
        }
    }

    fn write(&mut self, socket: &OwnedFd, pieces: [&[u8]; 2]) -> io::Result<usize> {
        // Unlike `write`, this returns an error instead of raising SIGPIPE if the peer is gone.
        let flags = SendFlags::NOSIGNAL;
        Ok(match pieces {
            [bytes, []] | [[], bytes] => rustix::net::send(socket, bytes, flags)?,
            pieces => {
                let pieces = pieces.map(IoSlice::new);
                rustix::net::sendmsg(socket, &pieces, &mut SendAncillaryBuffer::default(), flags)?
            }
        })
    }

    fn number_sent(&mut self, socket: &OwnedFd) -> io::Result<()> {
        httperf_sys::number_sent(socket)
    }

    fn write_stamped(&mut self, socket: &OwnedFd, pieces: [&[u8]; 2]) -> io::Result<usize> {
        httperf_sys::send_stamped(socket, pieces)
    }

    fn take_sent(&mut self, socket: &OwnedFd) -> Option<SentStamp> {
        self.stamps.as_mut()?.take_sent(socket)
    }

    fn wait(&mut self, deadline: Option<Instant>, ready: &mut Vec<Ready>) -> io::Result<()> {
        loop {
            // A sleep has lasted until then.
            let left = deadline.map(|deadline| match self.last_now < deadline {
                true => deadline - now(),
                false => Duration::ZERO,
            });
            let is_last = match left {
                // Sleeps until shortly before the deadline, then polls.
                Some(left) if self.spin => {
                    self.poll(Some(left.saturating_sub(SPIN)))?;
                    left.is_zero()
                }
                left => {
                    self.poll(left)?;
                    true
                }
            };
            if is_last || !self.events.is_empty() || self.stop.is_asked() {
                break;
            }
        }
        self.tell(ready);
        Ok(())
    }

    fn wait_about(&mut self, deadline: Instant, ready: &mut Vec<Ready>) -> io::Result<()> {
        let since = if self.reads_since > READS_IN_PASSING { now() } else { self.last_now };
        self.poll(Some(deadline - since))?;
        self.tell(ready);
        Ok(())
    }

    fn sleep(&mut self, deadline: Instant) -> bool {
        let until = Timespec {
            tv_sec: (deadline.as_nanos() / 1_000_000_000).cast_signed(),
            tv_nsec: (deadline.as_nanos() % 1_000_000_000).cast_signed(),
        };
        // A signal asks the run to stop: there is nothing to sleep for any more.
        let _: Result<(), Errno> = clock_nanosleep_absolute(ClockId::Monotonic, &until);
        self.last_now = self.last_now.max(deadline);
        true
    }

    fn readiness(&mut self, socket: &OwnedFd, key: u64) -> Ready {
        let mut asked = [PollFd::new(socket, PollFlags::IN | PollFlags::OUT | PollFlags::RDHUP)];
        let found = match poll(&mut asked, Some(&Timespec::default())) {
            Ok(_) => asked[0].revents(),
            Err(_) => PollFlags::empty(),
        };
        Ready {
            key,
            readable: found.contains(PollFlags::IN),
            writable: found.contains(PollFlags::OUT),
            ended: found.intersects(PollFlags::RDHUP | PollFlags::HUP),
            failed: self.is_failure(found.contains(PollFlags::ERR), found.contains(PollFlags::HUP)),
        }
    }

    fn counters(&mut self) -> Counters {
        counters::read()
    }

    fn transport(&mut self, socket: &OwnedFd) -> Option<Transport> {
        httperf_sys::tcp_info(socket).map(|info| Transport {
            rtt: info.rtt,
            rtt_variance: info.rtt_variance,
            retransmits: info.retransmits,
        })
    }

    fn dropped_datagrams(&mut self, socket: &OwnedFd) -> u64 {
        httperf_sys::dropped_datagrams(socket).map_or(0, u64::from)
    }

    fn buffers(&mut self, socket: &OwnedFd) -> Option<SocketBuffers> {
        sockets::buffers(socket, &self.options).ok()
    }

    fn clock_steps(&self) -> u64 {
        self.stamps.as_ref().map_or(0, Stamps::clock_steps)
    }

    fn stop_requested(&self) -> bool {
        self.stop.is_asked()
    }
}

/// Returns the time of the monotonic clock.
pub(crate) fn now() -> Instant {
    let now = clock_gettime(ClockId::Monotonic);
    Instant::from_nanos((now.tv_sec * 1_000_000_000 + now.tv_nsec).cast_unsigned())
}

/// Pins the calling thread to one of the processors that it may use: a different one for each `index`, as long as there
/// are enough.
pub(crate) fn pin(index: u32) -> io::Result<()> {
    let allowed = sched_getaffinity(None)?;
    let processors: Vec<usize> =
        (0..CpuSet::MAX_CPU).filter(|&processor| allowed.is_set(processor)).collect();
    let Some(&processor) = processors.get(index as usize % processors.len().max(1)) else { return Ok(()) };
    let mut own = CpuSet::new();
    own.set(processor);
    Ok(sched_setaffinity(None, &own)?)
}

fn any_address(destination: &SocketAddr) -> IpAddr {
    match destination {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

/// Raises the limit on open descriptors as far as the system allows, and returns it (getrlimit(2)).
pub fn raise_descriptor_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let Some(maximum) = limit.maximum else { return limit.current.unwrap_or(u64::MAX) };
    // If the system refuses, the limit stays as it was, and connections that reach it are counted.
    match setrlimit(Resource::Nofile, Rlimit { current: Some(maximum), maximum: Some(maximum) }) {
        Ok(()) => maximum,
        Err(_) => limit.current.unwrap_or(maximum),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use httperf_testkit::sim::{Edit, connections};

    use super::*;

    /// Returns the local ports of connections that are open at once, made according to the plan.
    fn local_ports(plan: &Plan, count: u64) -> Vec<u16> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let endpoint = Endpoint::Tcp(listener.local_addr().expect("it has an address"));
        let stop = StopRequest::new().expect("a descriptor is free");
        let mut network = OsNetwork::new(plan, &stop).expect("the poller can be set up");
        let sockets: Vec<OwnedFd> = (0..count)
            .map(|key| {
                let socket = network.open(&endpoint).expect("a descriptor is free");
                network.connect(&socket, key, &endpoint, None).expect("it is accepted");
                socket
            })
            .collect();
        let port = |socket: &OwnedFd| {
            SocketAddr::try_from(rustix::net::getsockname(socket).expect("it is bound"))
                .map(|local| local.port())
        };
        sockets.iter().map(|socket| port(socket).expect("it is an Internet socket")).collect()
    }

    #[test]
    fn ports_that_are_chosen_here_follow_each_other() {
        let hogging = |mut plan: Plan| {
            plan.change(|plan| plan.sockets.hog = true);
            plan
        };
        // A run with an unknown number of connections, and one with `--hog`.
        for plan in [connections(httperf_plan::UNLIMITED, 1, 1), hogging(connections(1, 1, 1))] {
            let ports = local_ports(&plan, 50);
            let close =
                ports.windows(2).filter(|pair| (1..=8).contains(&(i32::from(pair[1]) - i32::from(pair[0]))));
            // Others have some, and a round may end. Linux before 6.3 chooses itself.
            let is_unknown = !plan.sockets.hog && !names_ports();
            assert!(is_unknown || close.count() >= 40, "{ports:?}");
            assert!(ports.iter().all(|&port| port >= 1024));
        }
        assert_eq!(local_ports(&connections(1, 1, 1), 3).len(), 3);
    }

    /// Returns true if this system lets a program name the port of a connection.
    fn names_ports() -> bool {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port is free");
        httperf_sys::set_local_port_range(&socket, 0, 0).is_ok()
    }

    /// The shortest of many waits of 50 µs, so that nothing but the wait itself can make it long.
    fn shortest_wait(mut wait: impl FnMut(&mut OsNetwork, Duration)) -> Duration {
        let stop = StopRequest::new().expect("a descriptor is free");
        let mut network = OsNetwork::new(&connections(1, 1, 1), &stop).expect("the poller can be set up");
        let lengths = (0..50).map(|_| {
            let before = now();
            wait(&mut network, Duration::from_micros(50));
            now() - before
        });
        lengths.min().unwrap_or_default()
    }

    #[test]
    fn waits_are_not_rounded_to_milliseconds_but_where_the_system_knows_no_others() {
        let exact = shortest_wait(|network, time| network.poll(Some(time)).expect("it works"));
        assert!(exact < Duration::from_micros(900), "{exact:?}");
        let coarse = shortest_wait(|network, time| network.poll_coarsely(Some(time)).expect("it works"));
        assert!(coarse >= Duration::from_micros(900), "{coarse:?}");
    }
}
