//! Clock, link and sockets, in one event queue.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, VecDeque};
use std::io;
use std::time::Duration;

use bytes::BytesMut;
use httperf_engine::{Arrived, Ready, Received, SentStamp};
use httperf_proto::quic::Ecn;
use httperf_stats::Instant;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustix::io::Errno;

use super::{Action, Carried, Link, Peer, Reception, Stops, Trace};

pub(super) struct World {
    link: Link,
    peer: Box<dyn Peer>,
    random: Pcg64Mcg,
    now: Instant,
    waits: u64,
    events: BinaryHeap<Reverse<(Instant, u64, usize)>>,
    /// Events by number.
    pending: HashMap<u64, Event>,
    event_count: u64,
    sockets: Vec<Socket>,
    open_count: usize,
    /// Sockets whose state has changed since the last wait.
    changed: BTreeSet<usize>,
    /// Connections in the order in which they were initiated.
    traces: Vec<Trace>,
    /// What became of datagrams, to the peer and from it.
    carried: [Carried; 2],
}

enum Event {
    /// The peer is asked to accept a connection.
    Arrive,
    Established,
    Refused,
    ToPeer(Vec<u8>),
    ToWorker(Vec<u8>),
    DatagramToPeer(Datagram),
    DatagramToWorker(Datagram),
    PeerClosed,
    PeerReset,
    Writable,
    /// A readiness report without a cause.
    Spurious,
    /// A wake-up requested by the peer.
    Wake,
}

#[derive(Default)]
struct Socket {
    key: u64,
    /// Number among the initiated connections.
    connection: usize,
    state: State,
    incoming: Vec<u8>,
    /// Unread segments: number of bytes, and time of arrival.
    segments: VecDeque<(usize, Instant)>,
    /// Number of bytes written since numbering began, if it has, and send stamps not yet taken.
    numbered: Option<u32>,
    sent: VecDeque<SentStamp>,
    is_ended: bool,
    error: Option<Errno>,
    /// True if writes are refused until an event.
    is_blocked: bool,
    /// Arrival times of the last items sent, to the peer and from it: later items arrive later.
    last_arrivals: [Instant; 2],
    /// Datagrams that can be read, with the instants at which they arrived.
    datagrams: VecDeque<(Datagram, Instant)>,
    is_of_datagrams: bool,
    /// The peer's way with datagrams, once one has arrived; or that the socket has met itself.
    reception: Option<Reception>,
}

struct Datagram {
    bytes: Vec<u8>,
    ecn: Option<Ecn>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Fresh,
    Connecting,
    Open,
    Failed,
    Closed,
}

/// The number of datagrams that the system takes, or puts together, at most.
const SEGMENTS_MAX: usize = 64;

fn arrival(direction: Direction, datagram: Datagram) -> Event {
    match direction {
        Direction::Out => Event::DatagramToPeer(datagram),
        Direction::In => Event::DatagramToWorker(datagram),
    }
}

#[derive(Clone, Copy)]
enum Direction {
    Out,
    In,
}

impl World {
    pub(super) fn new(link: Link, peer: Box<dyn Peer>) -> Self {
        Self {
            link,
            peer,
            random: Pcg64Mcg::seed_from_u64(link.seed),
            now: Instant::default(),
            waits: 0,
            events: BinaryHeap::new(),
            pending: HashMap::new(),
            event_count: 0,
            sockets: Vec::new(),
            open_count: 0,
            changed: BTreeSet::new(),
            traces: Vec::new(),
            carried: [Carried::default(); 2],
        }
    }

    pub(super) fn now(&self) -> Instant {
        self.now
    }

    pub(super) fn is_endless(&self) -> bool {
        self.waits > self.link.waits_max || self.elapsed() > self.link.time_max
    }

    pub(super) fn traces(&self) -> Vec<Trace> {
        self.traces.clone()
    }

    /// What became of datagrams, to the peer and from it.
    pub(super) fn carried(&self) -> [Carried; 2] {
        self.carried
    }

    pub(super) fn open(&mut self) -> io::Result<usize> {
        if self.open_count >= self.link.sockets_max {
            return Err(Errno::MFILE.into());
        }
        self.open_count += 1;
        self.sockets.push(Socket::default());
        Ok(self.sockets.len() - 1)
    }

    pub(super) fn connect(&mut self, number: usize, key: u64) {
        let connection = self.traces.len();
        let socket = &mut self.sockets[number];
        (socket.key, socket.connection, socket.state) = (key, connection, State::Connecting);
        self.traces.push(Trace { initiated: self.elapsed(), ..Trace::default() });
        self.schedule(number, Direction::Out, Duration::ZERO, Event::Arrive);
    }

    /// Connects a socket of datagrams. The peer hears nothing of it, and the socket can be written to at once.
    pub(super) fn connect_datagrams(&mut self, number: usize, key: u64) {
        let connection = self.traces.len();
        let socket = &mut self.sockets[number];
        (socket.key, socket.connection, socket.state) = (key, connection, State::Open);
        socket.is_of_datagrams = true;
        self.traces.push(Trace { initiated: self.elapsed(), ..Trace::default() });
        self.change(number);
    }

    /// Sends datagrams: all of them, or none if the socket is full.
    pub(super) fn send(
        &mut self,
        number: usize,
        datagrams: &[u8],
        segment: usize,
        ecn: Option<Ecn>,
    ) -> io::Result<()> {
        let socket = &mut self.sockets[number];
        if let Some(errno) = socket.error.take() {
            return Err(errno.into());
        }
        assert!(socket.state == State::Open, "only a connected socket sends datagrams");
        assert!(segment > 0 && datagrams.len().div_ceil(segment) <= SEGMENTS_MAX, "the system takes no more");
        if socket.is_blocked {
            return Err(Errno::AGAIN.into());
        }
        if self.link.hostile && self.random.random_bool(0.3) {
            self.sockets[number].is_blocked = true;
            let pause = Duration::from_micros(self.random.random_range(1..500));
            self.put(number, self.now + pause, Event::Writable);
            return Err(Errno::AGAIN.into());
        }
        for bytes in datagrams.chunks(segment) {
            self.carry(number, Direction::Out, Duration::ZERO, Datagram { bytes: bytes.to_vec(), ecn });
        }
        Ok(())
    }

    /// Reads datagrams of one size and mark that lie behind each other; the last may be shorter. A hostile link does not
    /// put all of them together.
    pub(super) fn receive(&mut self, number: usize, buffer: &mut BytesMut) -> io::Result<Arrived> {
        let socket = &mut self.sockets[number];
        if let Some(errno) = socket.error.take() {
            return Err(errno.into());
        }
        let Some((Datagram { bytes, ecn }, at)) = socket.datagrams.pop_front() else {
            return Err(Errno::AGAIN.into());
        };
        let segment = bytes.len();
        let (mut count, mut last, mut joined) = (segment, segment, 1);
        let room = buffer.capacity() - buffer.len();
        buffer.extend_from_slice(&bytes);
        while let Some((next, _)) = socket.datagrams.front()
            && last == segment
            && next.bytes.len() <= segment
            && next.ecn == ecn
            && count + next.bytes.len() <= room
            && joined < SEGMENTS_MAX
            && !(self.link.hostile && self.random.random_bool(0.5))
        {
            last = next.bytes.len();
            buffer.extend_from_slice(&next.bytes);
            (count, joined) = (count + last, joined + 1);
            socket.datagrams.pop_front();
        }
        Ok(Arrived { segment, ecn, stamp: Some(at).filter(|_| self.link.stamps) })
    }

    pub(super) fn close(&mut self, number: usize) {
        self.open_count -= 1;
        self.changed.remove(&number);
        let elapsed = self.elapsed();
        let socket = &mut self.sockets[number];
        if std::mem::replace(&mut socket.state, State::Closed) != State::Fresh {
            self.traces[socket.connection].closed = Some(elapsed);
        }
    }

    pub(super) fn met_itself(&self, number: usize) -> bool {
        self.sockets[number].reception == Some(Reception::Itself)
    }

    pub(super) fn take_error(&mut self, number: usize) -> Option<io::Error> {
        self.sockets[number].error.take().map(io::Error::from)
    }

    /// Reads everything available, up to the size of the buffer: a short read means that nothing is left.
    pub(super) fn read(&mut self, number: usize, buffer: &mut [u8]) -> io::Result<Received> {
        let socket = &mut self.sockets[number];
        if socket.incoming.is_empty() {
            if let Some(errno) = socket.error.take() {
                return Err(errno.into());
            }
            return if socket.is_ended { Ok(0.into()) } else { Err(Errno::AGAIN.into()) };
        }
        let count = buffer.len().min(socket.incoming.len());
        buffer[..count].copy_from_slice(&socket.incoming[..count]);
        socket.incoming.drain(..count);
        let (mut left, mut stamp) = (count, None);
        while left > 0 {
            let (size, at) = socket.segments.front_mut().expect("all bytes came in segments");
            let taken = left.min(*size);
            (left, *size, stamp) = (left - taken, *size - taken, Some(*at));
            if *size == 0 {
                socket.segments.pop_front();
            }
        }
        Ok(Received { count, stamp: stamp.filter(|_| self.link.stamps) })
    }

    pub(super) fn write(&mut self, number: usize, bytes: &[u8]) -> io::Result<usize> {
        let socket = &mut self.sockets[number];
        if let Some(errno) = socket.error.take() {
            return Err(errno.into());
        }
        if socket.state == State::Failed {
            return Err(Errno::PIPE.into());
        }
        assert!(socket.state == State::Open, "only an established connection is written to");
        if socket.is_blocked {
            return Err(Errno::AGAIN.into());
        }
        let mut count = bytes.len();
        if self.link.hostile && self.random.random_bool(0.3) {
            count = self.random.random_range(0..=bytes.len());
            self.sockets[number].is_blocked = true;
            let pause = Duration::from_micros(self.random.random_range(1..500));
            self.schedule(number, Direction::In, pause, Event::Writable);
            if count == 0 {
                return Err(Errno::AGAIN.into());
            }
        }
        let send_lag = self.link.send_lag.unwrap_or_default();
        self.schedule(number, Direction::Out, send_lag, Event::ToPeer(bytes[..count].to_vec()));
        if let Some(written) = &mut self.sockets[number].numbered {
            *written = written.wrapping_add(count as u32);
        }
        Ok(count)
    }

    pub(super) fn number_sent(&mut self, number: usize) -> io::Result<()> {
        if self.link.send_lag.is_none() {
            return Err(Errno::NOPROTOOPT.into());
        }
        assert!(self.sockets[number].state == State::Open, "only what a connection sends can be numbered");
        self.sockets[number].numbered = Some(0);
        Ok(())
    }

    /// Like [`World::write`], but the worker gets a stamp when the last byte is sent, and the poller reports
    /// it.
    pub(super) fn write_stamped(&mut self, number: usize, bytes: &[u8]) -> io::Result<usize> {
        let count = self.write(number, bytes)?;
        let at = self.now + self.link.send_lag.unwrap_or_default();
        let socket = &mut self.sockets[number];
        let written = socket.numbered.expect("the bytes are numbered of which a stamp is asked for");
        socket.sent.push_back(SentStamp { last_byte: written.wrapping_sub(1), at: Some(at) });
        self.put(number, at, Event::Spurious);
        Ok(count)
    }

    pub(super) fn take_sent(&mut self, number: usize) -> Option<SentStamp> {
        let sent = &mut self.sockets[number].sent;
        if sent.front()?.at <= Some(self.now) { sent.pop_front() } else { None }
    }

    pub(super) fn wait(&mut self, deadline: Option<Instant>, ready: &mut Vec<Ready>) {
        ready.clear();
        self.waits += 1;
        if let Some((_, length)) = self.link.nap.take_if(|(from, _)| self.now >= Instant::default() + *from) {
            self.pass(length);
        }
        loop {
            while let Some(&Reverse((at, ..))) = self.events.peek()
                && at <= self.now
            {
                self.happen_next();
            }
            let resumes = self.resumes();
            let is_due = !self.changed.is_empty() || deadline.is_some_and(|deadline| deadline <= self.now);
            if is_due && resumes.is_none() {
                break;
            }
            let next = self.events.peek().map(|Reverse((at, ..))| *at);
            self.now = match (next, resumes.or(deadline)) {
                (Some(next), Some(deadline)) => next.min(deadline),
                (Some(instant), None) | (None, Some(instant)) => instant,
                // Nothing will ever happen.
                (None, None) => Instant::default() + self.link.time_max + Duration::from_secs(1),
            };
            if self.is_endless() {
                return;
            }
        }
        if !self.changed.is_empty() && !self.link.late.is_zero() {
            self.pass(self.link.late);
        }
        for _ in 0..self.link.told_max {
            let Some(number) = self.changed.pop_first() else { break };
            ready.push(self.readiness(number));
        }
    }

    /// Sleeps until an instant, if it lets the worker do so.
    pub(super) fn sleep(&mut self, deadline: Instant) -> bool {
        if self.link.sleeps {
            self.pass(deadline - self.now);
        }
        self.link.sleeps
    }

    pub(super) fn readiness(&self, number: usize) -> Ready {
        let socket = &self.sockets[number];
        Ready {
            key: socket.key,
            readable: !socket.incoming.is_empty()
                || !socket.datagrams.is_empty()
                || socket.is_ended
                || socket.error.is_some(),
            writable: socket.state == State::Open && !socket.is_blocked,
            ended: socket.is_ended,
            failed: socket.error.is_some(),
        }
    }

    /// Instant at which the worker resumes, if it is stopped now.
    fn resumes(&self) -> Option<Instant> {
        let Stops { every, length } = self.link.stops?;
        let since = Duration::from_nanos((self.elapsed().as_nanos() % every.as_nanos()) as u64);
        (since >= every - length).then(|| self.now + (every - since))
    }

    /// Advances the clock while the worker hears nothing.
    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(&Reverse((at, ..))) = self.events.peek()
            && at <= end
        {
            self.now = self.now.max(at);
            self.happen_next();
        }
        self.now = end;
    }

    fn elapsed(&self) -> Duration {
        self.now - Instant::default()
    }

    /// Schedules an event at the other end of the link, after earlier items in the same direction.
    fn schedule(&mut self, number: usize, direction: Direction, delay: Duration, event: Event) {
        let mut travel = self.link.latency;
        if !self.link.jitter.is_zero() {
            travel += self.link.jitter.mul_f64(self.random.random());
        }
        let last = &mut self.sockets[number].last_arrivals[direction as usize];
        *last = (*last).max(self.now + delay + travel);
        let at = *last;
        self.put(number, at, event);
    }

    /// Carries a datagram to the other end, or loses it.
    fn carry(&mut self, number: usize, direction: Direction, delay: Duration, mut datagram: Datagram) {
        let Link { loss, repeat, reorder, reorder_by, congestion, datagram_max, .. } = self.link;
        self.carried[direction as usize].sent += 1;
        if datagram.bytes.len() > datagram_max {
            self.carried[direction as usize].too_large += 1;
            return;
        }
        if self.happens(loss) {
            self.carried[direction as usize].lost += 1;
            return;
        }
        if datagram.ecn.is_some() && self.happens(congestion) {
            self.carried[direction as usize].marked += 1;
            datagram.ecn = Some(Ecn::Ce);
        }
        if self.happens(repeat) {
            self.carried[direction as usize].repeated += 1;
            let Datagram { bytes, ecn } = &datagram;
            let copy = Datagram { bytes: bytes.clone(), ecn: *ecn };
            self.schedule(number, direction, delay, arrival(direction, copy));
        }
        if self.happens(reorder) {
            self.carried[direction as usize].held_back += 1;
            let held = reorder_by.mul_f64(self.random.random());
            self.put(number, self.now + delay + self.link.latency + held, arrival(direction, datagram));
        } else {
            self.schedule(number, direction, delay, arrival(direction, datagram));
        }
    }

    /// Decides what happens with this probability. What never happens draws nothing.
    fn happens(&mut self, share: f64) -> bool {
        share > 0.0 && self.random.random_bool(share)
    }

    fn put(&mut self, number: usize, at: Instant, event: Event) {
        self.events.push(Reverse((at, self.event_count, number)));
        self.pending.insert(self.event_count, event);
        self.event_count += 1;
    }

    fn happen_next(&mut self) {
        if let Some(Reverse((_, event, number))) = self.events.pop() {
            let event = self.pending.remove(&event).expect("every event in the queue is known");
            self.happen(number, event);
        }
    }

    fn happen(&mut self, number: usize, event: Event) {
        let (connection, state) = (self.sockets[number].connection, self.sockets[number].state);
        let at = self.elapsed();
        match event {
            Event::Arrive => match self.peer.accept(connection, at) {
                Reception::Accept => {
                    self.schedule(number, Direction::In, Duration::ZERO, Event::Established);
                }
                Reception::Refuse => self.schedule(number, Direction::In, Duration::ZERO, Event::Refused),
                Reception::Ignore => {}
                Reception::Itself => {
                    self.sockets[number].reception = Some(Reception::Itself);
                    self.schedule(number, Direction::In, Duration::ZERO, Event::Established);
                }
            },
            Event::ToPeer(bytes) if self.sockets[number].reception == Some(Reception::Itself) => {
                self.act(number, Action::Send(Duration::ZERO, bytes));
            }
            Event::ToPeer(bytes) => {
                self.traces[connection].received.push((at, bytes.clone()));
                for action in self.peer.receive(connection, at, &bytes) {
                    self.act(number, action);
                }
            }
            Event::DatagramToPeer(Datagram { bytes, ecn }) => {
                let asked = self.sockets[number].reception;
                let reception = asked.unwrap_or_else(|| self.peer.accept(connection, at));
                self.sockets[number].reception = Some(reception);
                match reception {
                    Reception::Accept => {
                        let actions = self.peer.receive_datagram(connection, at, &bytes, ecn);
                        self.traces[connection].received.push((at, bytes));
                        actions.into_iter().for_each(|action| self.act(number, action));
                    }
                    Reception::Refuse | Reception::Itself => {
                        self.schedule(number, Direction::In, Duration::ZERO, Event::Refused);
                    }
                    Reception::Ignore => {}
                }
            }
            Event::PeerClosed | Event::PeerReset if self.sockets[number].is_of_datagrams => {
                self.sockets[number].reception = Some(Reception::Refuse);
            }
            _ if state == State::Closed => {}
            Event::DatagramToWorker(datagram) => {
                self.sockets[number].datagrams.push_back((datagram, self.now));
                self.change(number);
            }
            // The answer to a datagram, a message of ICMP.
            Event::Refused if self.sockets[number].is_of_datagrams => {
                self.sockets[number].error = Some(Errno::CONNREFUSED);
                self.change(number);
            }
            Event::Wake => {
                for action in self.peer.wake(connection, at) {
                    self.act(number, action);
                }
            }
            Event::Established => {
                self.sockets[number].state = State::Open;
                self.change(number);
            }
            Event::Refused => {
                self.fail(number, Errno::CONNREFUSED);
            }
            Event::ToWorker(bytes) => {
                let socket = &mut self.sockets[number];
                socket.segments.push_back((bytes.len(), self.now));
                socket.incoming.extend(bytes);
                self.change(number);
            }
            Event::PeerClosed => {
                self.sockets[number].is_ended = true;
                self.change(number);
            }
            Event::PeerReset => {
                self.sockets[number].incoming.clear();
                self.sockets[number].segments.clear();
                self.fail(number, Errno::CONNRESET);
            }
            Event::Writable => {
                self.sockets[number].is_blocked = false;
                self.change(number);
            }
            Event::Spurious => self.change(number),
        }
    }

    fn act(&mut self, number: usize, action: Action) {
        match action {
            Action::Datagram(delay, bytes, ecn) => {
                self.carry(number, Direction::In, delay, Datagram { bytes, ecn });
            }
            // The port of a peer that takes datagrams is closed where it is.
            Action::Close(delay) | Action::Reset(delay) if self.sockets[number].is_of_datagrams => {
                self.put(number, self.now + delay, Event::PeerClosed);
            }
            Action::Close(delay) => self.schedule(number, Direction::In, delay, Event::PeerClosed),
            Action::Reset(delay) => self.schedule(number, Direction::In, delay, Event::PeerReset),
            Action::Wake(delay) => self.put(number, self.now + delay, Event::Wake),
            Action::Send(delay, bytes) if !self.link.hostile => {
                self.schedule(number, Direction::In, delay, Event::ToWorker(bytes));
            }
            Action::Send(delay, bytes) => {
                let mut rest = &bytes[..];
                while !rest.is_empty() {
                    let (piece, after) = rest.split_at(self.random.random_range(1..=rest.len()));
                    self.schedule(number, Direction::In, delay, Event::ToWorker(piece.to_vec()));
                    if self.random.random_bool(0.2) {
                        self.schedule(number, Direction::In, delay, Event::Spurious);
                    }
                    rest = after;
                }
            }
        }
    }

    fn fail(&mut self, number: usize, errno: Errno) {
        let socket = &mut self.sockets[number];
        (socket.state, socket.error) = (State::Failed, Some(errno));
        self.change(number);
    }

    fn change(&mut self, number: usize) {
        self.changed.insert(number);
    }
}
