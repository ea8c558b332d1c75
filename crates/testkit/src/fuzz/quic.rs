//! A client of HTTP/3 to which anything may arrive: it never panics, never turns in circles, and never says more than it
//! has to.

use std::collections::{BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use httperf_proto::http3::{Engine, Options};
use httperf_proto::quic::{self, Context, Ecn};
use httperf_proto::request::RequestParts;
use httperf_proto::tls;
use httperf_proto::{CallId, Event};

use crate::http3::{CONTROL, head};
use crate::quic::{Config, ConnectionHandle, Dir, Happening, Server, StreamId};

/// What both ends are made of, once for all inputs.
struct Ends {
    epoch: Instant,
    context: Context,
    server: Config,
}

static ENDS: LazyLock<Ends> = LazyLock::new(|| {
    let epoch = Instant::now();
    let tls = tls::Options { alpn: vec![b"h3".to_vec()], sessions: true, ..tls::Options::default() };
    let context = Context::new(&quic::Options::default(), &tls, epoch).expect("the defaults fit together");
    Ends { epoch, context, server: Config::new(&crate::quic::Options::new()) }
});

/// Calls that are made in all.
const CALLS_MAX: u64 = 20;

/// Datagrams that a client may send at once, and events that it may report: requests are small, and there are few.
const DATAGRAMS_MAX: usize = 100;
const EVENTS_MAX: usize = 10_000;

/// Timers that may expire in one span of time: ends that are never answered give up before.
const TIMERS_MAX: usize = 1000;

/// Steps of an input.
const STEPS_MAX: usize = 300;

/// What came of an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fate {
    /// The handshake was completed.
    pub is_established: bool,
    /// Calls that were answered.
    pub answered: u64,
    /// The connection failed or ended.
    pub is_over: bool,
}

/// Lets a client of HTTP/3 talk with a server over a link that an input controls, and that a stranger writes to. Each
/// step is a byte, with arguments:
///
/// | byte modulo 16 | what arrives |
/// |---|---|
/// | 0 to 3 | the server's next datagram |
/// | 4 | the same, with a bit changed: where (2 bytes), which |
/// | 5 | its beginning: how much of it (2 bytes) |
/// | 6 | it twice |
/// | 7 | it behind the following one |
/// | 8 | nothing: it is lost |
/// | 9 | its beginning (1 byte: how much), and other bytes behind: their size, themselves |
/// | 10 | other bytes alone: their size (2 bytes), the size of the datagrams in them, themselves |
/// | 11 | all of the server's, in one buffer, cut anew: the size of the datagrams (2 bytes) |
/// | 12 | on the stream of a request: which, whether it ends; the size, and the bytes |
/// | 13 | on a stream of the server: which; the size, and the bytes |
/// | 14 | time: the logarithm of milliseconds |
/// | 15 | by its second byte: another request, a cancelled one, a reset, a stop, the end of the connection, a reply |
///
/// # Panics
/// If the client breaks a rule.
pub fn check_datagrams(input: &[u8]) -> Fate {
    let mut world = World::new();
    let mut input = Input(input);
    for _ in 0..STEPS_MAX {
        let Some(step) = input.byte() else { break };
        world.step(step % 16, &mut input);
        world.settle();
    }
    // All that is left arrives, and then nothing for longer than any timer.
    for _ in 0..20 {
        while let Some(datagram) = world.incoming.pop_front() {
            world.arrive(&datagram, datagram.len(), None);
        }
        world.settle();
    }
    world.pass(Duration::from_secs(1000));
    let next = world.engine.poll_timeout();
    assert!(next.is_none(), "nothing arrived for 1000 s, and still it waits until {next:?}");
    Fate { is_over: world.is_over, ..world.fate }
}

struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> usize {
        usize::from(self.byte().unwrap_or_default())
    }

    fn long(&mut self) -> usize {
        self.number() << 8 | self.number()
    }

    fn bytes(&mut self, size: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(size.min(self.0.len()));
        self.0 = rest;
        bytes
    }
}

struct World {
    engine: Engine,
    server: Server,
    handle: Option<ConnectionHandle>,
    now: Duration,
    /// The server's datagrams on their way.
    incoming: VecDeque<Vec<u8>>,
    /// The server's own streams; the first is its control stream.
    own: Vec<StreamId>,
    /// Calls without an end.
    calls: BTreeSet<u64>,
    call_count: u64,
    is_over: bool,
    fate: Fate,
}

fn client() -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 2], 5000))
}

impl World {
    fn new() -> Self {
        let (now, server) = (Duration::from_secs(1), SocketAddr::from(([192, 0, 2, 1], 443)));
        let quic = ENDS.context.connect(now, server, Some("server"), [7; 32], None);
        let engine = Engine::new(quic.expect("it is a name"), Options { bodies: true, ..Options::default() });
        let mut world = Self {
            engine,
            server: Server::with(&ENDS.server, Some([8; 32]), ENDS.epoch),
            handle: None,
            now,
            incoming: VecDeque::new(),
            own: Vec::new(),
            calls: BTreeSet::new(),
            call_count: 0,
            is_over: false,
            fate: Fate::default(),
        };
        world.submit();
        world.settle();
        world
    }

    fn submit(&mut self) {
        if self.call_count < CALLS_MAX && self.engine.capacity() > 0 {
            let call = CallId(self.call_count);
            let request = RequestParts { host: Some("server"), ..RequestParts::to(b"/") }.request();
            self.engine.submit(self.now, call, request).expect("it has capacity");
            self.calls.insert(call.0);
            self.call_count += 1;
        }
    }

    fn step(&mut self, step: u8, input: &mut Input<'_>) {
        let next = if step < 10 { self.incoming.pop_front().unwrap_or_default() } else { Vec::new() };
        match step {
            0..4 => self.arrive(&next, next.len(), None),
            4 => {
                let (place, bit) = (input.long(), input.number());
                let mut changed = next;
                if !changed.is_empty() {
                    let place = place % changed.len();
                    changed[place] ^= 1 << (bit % 8);
                }
                self.arrive(&changed, changed.len(), Some(Ecn::Ce));
            }
            5 => {
                let size = input.long().min(next.len());
                self.arrive(&next[..size], size, None);
            }
            6 => {
                self.arrive(&next, next.len(), Some(Ecn::Ect0));
                self.arrive(&next, next.len(), None);
            }
            7 => self.incoming.insert(self.incoming.len().min(1), next),
            8 => {}
            9 => {
                let (kept, size) = (input.number().min(next.len()), input.number());
                let bytes = [&next[..kept], input.bytes(size)].concat();
                self.arrive(&bytes, bytes.len(), None);
            }
            10 => {
                let (size, segment) = (input.long(), input.number());
                self.arrive(input.bytes(size), segment, Some(Ecn::Ect1));
            }
            11 => {
                let segment = input.long();
                let bytes: Vec<u8> = self.incoming.drain(..).flatten().collect();
                self.arrive(&bytes, segment, None);
            }
            12 => {
                let (place, end, size) = (input.number(), input.number() % 2 == 1, input.number());
                self.reply(place, input.bytes(size), end);
            }
            13 => {
                let (place, size) = (input.number() % 5, input.number());
                let bytes = input.bytes(size);
                if let Some(handle) = self.handle
                    && self.server.has(handle)
                {
                    if place >= self.own.len() {
                        self.own.extend(self.server.try_open(handle));
                    }
                    if let Some(&id) = self.own.get(place) {
                        self.server.write(handle, id, bytes, false);
                    }
                }
            }
            14 => self.pass(Duration::from_millis(1 << (input.number() % 16))),
            _ => self.command(input),
        }
    }

    fn command(&mut self, input: &mut Input<'_>) {
        let (command, place) = (input.number() % 8, input.number());
        let Some(handle) = self.handle else { return self.submit() };
        match command {
            0 => self.submit(),
            1 => {
                if let Some(&call) = self.calls.iter().nth(place % self.calls.len().max(1)) {
                    self.engine.cancel(self.now, CallId(call));
                    self.calls.remove(&call);
                }
            }
            2 => self.server.reset(handle, stream(place), place as u32),
            3 => self.server.stop(handle, stream(place), place as u32),
            4 => self.server.close(self.now, handle, place as u32, b"words"),
            5 => self.server.start_again(),
            6 => self.engine.close(self.now),
            _ => {
                let content = [&head(&[(":status", "200")])[..], &[0, 5], b"hello"].concat();
                self.reply(place, &content, true);
            }
        }
    }

    /// Writes to a request's stream, if there is one.
    fn reply(&mut self, place: usize, bytes: &[u8], end: bool) {
        if let Some(handle) = self.handle
            && self.server.has(handle)
        {
            self.server.write(handle, stream(place), bytes, end);
        }
    }

    /// Lets bytes arrive at the client.
    fn arrive(&mut self, bytes: &[u8], segment: usize, ecn: Option<Ecn>) {
        self.engine.handle_datagrams(self.now, BytesMut::from(bytes), segment, ecn);
        self.hear();
    }

    /// Takes what the client reports.
    fn hear(&mut self) {
        for _ in 0..EVENTS_MAX {
            if self.engine.poll_progress(self.now).is_none() {
                break;
            }
            self.fate.is_established = true;
        }
        for count in 0.. {
            assert!(count < EVENTS_MAX, "no end of events");
            if self.is_over {
                break;
            }
            let ended = match self.engine.poll_event(self.now) {
                Ok(None) => break,
                Ok(Some(Event::ReplyDone { call, .. })) => {
                    self.fate.answered += 1;
                    Some(call)
                }
                Ok(Some(Event::CallFailed { call, .. } | Event::CallReturned { call, .. })) => Some(call),
                Ok(Some(Event::Drained)) => {
                    assert!(self.calls.is_empty(), "nothing is left");
                    self.is_over = true;
                    None
                }
                Ok(Some(event)) => {
                    let of = event.call();
                    assert!(of.is_none_or(|call| self.calls.contains(&call.0)), "{event:?} behind the end");
                    None
                }
                Err(_) => {
                    self.is_over = true;
                    None
                }
            };
            if let Some(call) = ended {
                assert!(self.calls.remove(&call.0), "a call ends once");
            }
        }
        while self.engine.poll_stall().is_some() || self.engine.poll_sent().is_some() {}
    }

    /// Takes what the client has to say to the server, and what that answers.
    fn settle(&mut self) {
        let mut out = Vec::new();
        let mut sent = 0;
        while let Some(form) = self.engine.poll_datagrams(self.now, 10, &mut out) {
            assert!(form.segment > 0 && out.len() <= 10 * 1500, "{} bytes in {form:?}", out.len());
            for datagram in out.chunks(form.segment) {
                self.server.handle(self.now, client(), datagram);
                sent += 1;
            }
            assert!(sent <= DATAGRAMS_MAX, "no end of datagrams");
            out.clear();
        }
        self.server.handle_timeout(self.now);
        for (handle, happening) in self.server.happenings() {
            self.handle = Some(handle);
            match happening {
                Happening::Connected => {
                    self.own.extend(self.server.try_open(handle));
                    self.server.write(handle, self.own[0], CONTROL, false);
                }
                Happening::Opened(id) | Happening::Readable(id) => {
                    self.server.read(handle, id);
                }
                Happening::Stopped(..) | Happening::Lost(_) => {}
            }
        }
        while let Some((_, datagram)) = self.server.poll_transmit(self.now) {
            self.incoming.push_back(datagram);
        }
        self.hear();
    }

    /// Lets time pass, with the timers of both.
    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        for count in 0.. {
            assert!(count < TIMERS_MAX, "no end of timers");
            let ours = self.engine.poll_timeout();
            let next = ours.into_iter().chain(self.server.poll_timeout()).min();
            let Some(timer) = next.filter(|timer| *timer <= end) else { break };
            self.now = self.now.max(timer);
            if ours.is_some_and(|timer| timer <= self.now) {
                self.engine.handle_timeout(self.now);
            }
            self.hear();
            self.settle();
        }
        self.now = end;
        self.settle();
    }
}

fn stream(place: usize) -> StreamId {
    StreamId::new(quinn_proto::Side::Client, Dir::Bi, place as u64 % CALLS_MAX)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    /// Lets the server's datagrams arrive.
    const ARRIVE: [u8; 8] = [0; 8];

    #[test]
    fn a_link_that_does_nothing_lets_a_call_be_answered() {
        let input = [&ARRIVE[..], &[15, 7, 0], &ARRIVE].concat();
        assert_eq!(check_datagrams(&input), Fate { is_established: true, answered: 1, is_over: true });
    }

    #[test]
    fn a_bit_that_changes_costs_a_datagram_and_no_more() {
        let input =
            [&[4, 0, 50, 3][..], &[14, 12], &ARRIVE, &[14, 12], &ARRIVE, &[15, 7, 0], &ARRIVE].concat();
        assert_eq!(check_datagrams(&input).answered, 1);
    }

    #[test]
    fn a_frame_that_breaks_a_rule_ends_the_connection() {
        let input = [&ARRIVE[..], &[13, 0, 2, 0, 0], &ARRIVE].concat();
        assert_eq!(check_datagrams(&input), Fate { is_established: true, answered: 0, is_over: true });
    }

    fn seed(name: &str) -> Vec<u8> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/quic_datagrams");
        std::fs::read(format!("{folder}/{name}")).expect("the seed is there")
    }

    /// `DATAGRAM_INPUTS`: the number of inputs. `DATAGRAM_INPUT`: the only one.
    #[test]
    fn nothing_that_arrives_is_too_odd() {
        let number =
            |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().expect("a number"));
        let numbers = match number("DATAGRAM_INPUT") {
            Some(number) => number..number + 1,
            None => 0..number("DATAGRAM_INPUTS").unwrap_or(300),
        };
        let names = ["flipped", "garbage", "losses", "reply", "reset", "streams", "three_calls", "violation"];
        let seeds = names.map(seed);
        for number in numbers {
            let mut random = Pcg64Mcg::seed_from_u64(number);
            let any: Vec<u8> = (0..400).map(|_| random.random()).collect();
            let input = match random.random_range(0..4) {
                0 => any,
                // Past the handshake.
                1 => [&ARRIVE[..], &any].concat(),
                // Two seeds, one behind the other, with some bytes replaced, removed and inserted.
                _ => {
                    let [one, other] = [(); 2].map(|()| &seeds[random.random_range(0..seeds.len())]);
                    let mut input = [&one[..], other].concat();
                    for _ in 0..random.random_range(1..20) {
                        let place = random.random_range(0..input.len());
                        match random.random_range(0..3) {
                            0 => input[place] = random.random(),
                            1 => input.insert(place, random.random_range(0..16)),
                            _ => drop(input.remove(place)),
                        }
                    }
                    input
                }
            };
            let fate = std::panic::catch_unwind(|| check_datagrams(&input));
            assert!(fate.is_ok(), "DATAGRAM_INPUT={number} went wrong");
        }
    }

    #[test]
    fn the_seeds_of_the_fuzz_target_do_what_they_are_for() {
        let fate = |name: &str| check_datagrams(&seed(name));
        assert_eq!(fate("reply").answered, 1);
        assert_eq!(fate("losses").answered, 1);
        assert_eq!(fate("three_calls").answered, 3);
        assert_eq!(fate("violation").answered, 0);
        assert!(fate("flipped").is_over && fate("garbage").is_over && fate("reset").is_over);
    }
}
