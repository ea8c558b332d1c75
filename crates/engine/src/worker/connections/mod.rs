//! Connections: everything between calls and sockets.
//!
//! ```text
//!   open, submit, flush, close ──►  Connections  ──► Event: established, complete, lost, …
//!                                    │ one each
//!                                    ├─ Transport   socket, tunnel, TLS
//!                                    └─ Engine      the protocol
//! ```
//!
//! A command returns its outcome. A ready socket or a passed deadline leads to events, which [`Connections::poll_event`] returns
//! one by one. Dispatch may give commands after each, before the next is polled.

mod alternatives;
mod closing;
mod connection;
mod datagram;
mod deadlines;
mod halts;
mod handshake;
mod inputs;
mod late;
mod openings;
mod outcomes;
mod progress;
mod protocol;
mod qlog;
mod quic;
mod quic_handshake;
mod quic_inputs;
mod reading;
mod replies;
mod resumption;
mod sends;
mod talks;
mod timeouts;
mod timers;
mod tls;
mod transport;
mod tunnel;
mod writes;

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use bytes::BytesMut;
use httperf_load::page::Link;
use httperf_plan::Plan;
use httperf_proto::{CallId, HeaderBlock, ReplySize, Reuse, Undone, http1};
use httperf_stats::{Failure, FailureCause, Instant};
use slotmap::{Key, KeyData, SlotMap};

use self::alternatives::Alternatives;
use self::connection::Connection;
use self::deadlines::Deadlines;
use self::late::{LateReading, Stamping};
use self::protocol::Protocols;
use self::quic::Quic;
use self::reading::{Happening, Reading};
pub(super) use self::resumption::{KeptSession, Resumable};
use self::timers::Timers;
use self::tls::Tls;
use self::tunnel::Tunnels;
use super::run::Run;
use super::{CallKey, ConnectionKey, SessionKey};
use crate::{Network, Security};

/// The connections of a worker, with the network and all buffers they need.
pub(super) struct Connections<N: Network> {
    network: N,
    connections: SlotMap<ConnectionKey, Connection<N::Socket>>,
    /// Connections initiated so far.
    initiated: u64,
    /// Counts passes of the worker's loop.
    turn: u64,
    /// The instant since which the events of this turn may have been there: its beginning, or that at which the worker
    /// should have woken up.
    noticed: Instant,
    protocols: Protocols,
    tls: Option<Tls>,
    quic: Option<Quic>,
    /// Offers of HTTP/3 in replies, if connections may follow them over QUIC.
    alternatives: Option<Box<Alternatives>>,
    tunnels: Option<Tunnels>,
    deadlines: Deadlines,
    timers: Timers,
    /// Connections that were read as often as a turn allows, and may have more.
    unread: Vec<ConnectionKey>,
    stamping: Stamping,
    late: LateReading,
    /// Events and failures that have not been polled, in order.
    happened: VecDeque<Happening>,
    /// The connection that is being read.
    reading: Reading,
    /// Its expired calls, the first at the end.
    expired: Vec<CallKey>,
    header_cache: http1::HeaderCache,
    /// Datagrams as QUIC takes them. Its memory is used again once QUIC is done with what lies in it.
    arrived: BytesMut,
    write_buffer: Vec<u8>,
    /// What a WebSocket has for its server.
    said: Vec<u8>,
}

/// The place for which a connection is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) session: SessionKey,
    /// The number of the session's slot.
    pub(super) slot: usize,
}

/// A connection to open.
pub(super) struct Opening {
    pub(super) owner: Owner,
    /// The place of its target among the plan's.
    pub(super) target: usize,
    /// The instant at which it is due.
    pub(super) due: Instant,
    /// The TLS session that it offers to resume, where sessions of the plan keep their own.
    pub(super) tls_session: Option<KeptSession>,
}

/// An event of a connection.
pub(super) struct Event {
    pub(super) connection: ConnectionKey,
    pub(super) owner: Owner,
    /// The instant at which it is noticed.
    pub(super) now: Instant,
    pub(super) kind: EventKind,
}

/// A kind of event.
pub(super) enum EventKind {
    /// The transport reached a server.
    Reached,
    /// It is ready for calls.
    Established,
    /// It may take more calls than before.
    HasRoom,
    /// The server gave a TLS session, for connections of the same session of the plan.
    TlsSession(Box<KeptSession>),
    /// It need not stay for a ticket any more.
    TicketSettled,
    /// The header block of a reply arrived. Only if a plan asks for header blocks.
    ReplyHead { call: CallKey, head: HeaderBlock },
    /// The body of a reply, which is a page, contains links.
    LinksFound { call: CallKey, links: Vec<Link> },
    /// The WebSocket of a call is open, and is to be looked after at this instant.
    Opened { call: CallKey, wake: Option<Instant> },
    /// A reply is complete. It is to be [recorded](Connections::record_reply) before anything else.
    Complete { call: CallKey, size: ReplySize, reuse: Reuse },
    /// The server has not processed a call. `is_draining`: the connection takes no further calls.
    Returned { call: CallKey, why: Undone, is_draining: bool },
    /// A call failed, and the connection goes on.
    CallFailed { call: CallKey, cause: FailureCause },
    /// It takes no further calls, and still answers those that it has.
    Draining,
    /// The server ended it while no reply was due: no failure. It is gone.
    Ended(Vec<CallKey>),
    /// It failed, and is gone.
    Lost(Lost),
}

/// A connection that failed.
#[derive(Debug)]
pub(super) struct Lost {
    pub(super) failure: Failure,
    /// It had delivered at least one reply.
    pub(super) has_answered: bool,
    /// It came to no server.
    pub(super) is_unreached: bool,
    /// Its calls without a reply, in order. They are as if never sent.
    pub(super) calls: Vec<CallKey>,
}

/// The parts of a worker that dispatch works with, and the present instant.
pub(super) struct Cx<'c, 'a, N: Network> {
    pub(super) connections: &'c mut Connections<N>,
    pub(super) run: &'c mut Run<'a>,
    pub(super) now: Instant,
}

impl From<CallKey> for CallId {
    fn from(key: CallKey) -> Self {
        Self(key.data().as_ffi())
    }
}

impl From<CallId> for CallKey {
    fn from(id: CallId) -> Self {
        KeyData::from_ffi(id.0).into()
    }
}

fn poll_key(key: ConnectionKey) -> u64 {
    key.data().as_ffi()
}

/// An instant as a protocol has it.
fn at_instant(now: Instant) -> Duration {
    now - Instant::default()
}

impl<N: Network> Connections<N> {
    /// `security`: what secures connections, made of the same plan.
    pub(super) fn new(plan: &Plan, security: Option<Security>, network: N) -> Self {
        let (tls, quic, alternatives) = match security {
            None => (None, None, None),
            Some(Security::Tls(context)) => (Some(Tls::new(plan, context)), None, None),
            Some(Security::Quic(context)) => (None, Some(Quic::new(plan, context)), None),
            Some(Security::Either { tls, quic }) => {
                let (quic, obstacle) = match quic {
                    Ok(context) => (Some(Quic::new(plan, context)), None),
                    Err(obstacle) => (None, Some(obstacle)),
                };
                (Some(Tls::new(plan, tls)), quic, Some(Box::new(Alternatives::new(plan, obstacle))))
            }
        };
        let protocols = Protocols::new(plan);
        let limits = protocols.reply_limits();
        Self {
            network,
            connections: SlotMap::with_key(),
            initiated: 0,
            turn: 0,
            noticed: Instant::default(),
            tls,
            quic,
            alternatives,
            tunnels: plan.proxy.as_ref().and_then(|proxy| Tunnels::new(plan, proxy, limits)),
            protocols,
            deadlines: Deadlines::default(),
            timers: Timers::default(),
            unread: Vec::new(),
            stamping: Stamping::new(plan),
            late: LateReading::new(plan),
            happened: VecDeque::new(),
            reading: Reading::default(),
            expired: Vec::new(),
            header_cache: http1::HeaderCache::default(),
            arrived: BytesMut::new(),
            write_buffer: Vec::new(),
            said: Vec::new(),
        }
    }

    /// Returns the network, for its clock, its poller and its counters.
    pub(super) fn network(&mut self) -> &mut N {
        &mut self.network
    }

    pub(super) fn now(&mut self) -> Instant {
        self.network.now()
    }

    pub(super) fn wall_clock(&self) -> SystemTime {
        self.network.wall_clock()
    }

    /// A pass of the loop begins. Its events may have been there since `noticed`. `reads_late`: it has slept for the schedule
    /// alone.
    pub(super) fn begin_turn(&mut self, noticed: Instant, reads_late: bool) {
        self.turn += 1;
        self.noticed = noticed;
        self.late.begin_turn(reads_late);
    }

    /// Returns whether what arrives may wait to be read, as far as connections are concerned.
    #[inline]
    pub(super) fn may_read_late(&mut self, run: &Run<'_>) -> bool {
        self.late.may_wait(run.calls_count()) && !self.has_unread()
    }

    /// Returns whether connections are secured.
    pub(super) fn are_secured(&self) -> bool {
        self.tls.is_some() || self.quic.is_some()
    }

    /// Returns the instant at which the bytes that are being used arrived, by the kernel's stamp; without one, that since
    /// which the events of this turn may have been there.
    pub(super) fn noticed(&self) -> Instant {
        self.reading.stamp.unwrap_or(self.noticed)
    }

    pub(super) fn count(&self) -> usize {
        self.connections.len()
    }

    /// Returns the number of connections that are not established yet.
    pub(super) fn opening_count(&self) -> usize {
        self.connections.values().filter(|connection| !connection.transport.is_established()).count()
    }

    /// Returns the earliest deadline, or instant at which a timer expires.
    #[inline]
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let deadline = self.deadlines.next();
        // Without QUIC nobody pays for its timers.
        match &self.quic {
            None => deadline,
            Some(_) => deadline.into_iter().chain(self.timers.next()).min(),
        }
    }

    /// Takes a connection whose timer may have expired.
    pub(super) fn pop_timer(&mut self, now: Instant) -> Option<ConnectionKey> {
        self.timers.pop(now)
    }

    /// Returns how many timers there are at most.
    pub(super) fn timer_count(&self) -> usize {
        self.timers.len()
    }

    /// Takes a connection whose deadline may be over.
    pub(super) fn pop_expired(&mut self, now: Instant) -> Option<ConnectionKey> {
        self.deadlines.pop_expired(now).map(|key| ConnectionKey::from(KeyData::from_ffi(key)))
    }

    pub(super) fn has_unread(&self) -> bool {
        !self.unread.is_empty()
    }

    /// Takes the connections that are to be read on.
    pub(super) fn take_unread(&mut self) -> Vec<ConnectionKey> {
        std::mem::take(&mut self.unread)
    }

    /// Returns the number of calls on a connection without a complete reply.
    pub(super) fn pending_count(&self, key: ConnectionKey) -> usize {
        self.connections[key].engine.pending_count()
    }

    /// Returns whether a connection takes another call, which may wait for a stream there.
    pub(super) fn has_capacity(&self, key: ConnectionKey) -> bool {
        !self.connections[key].is_failing && self.connections[key].engine.capacity() > 0
    }

    /// Returns whether a connection takes another call, which need not wait for a stream there.
    pub(super) fn has_room(&self, key: ConnectionKey) -> bool {
        !self.connections[key].is_failing && self.connections[key].engine.has_room()
    }

    /// Returns the calls on a connection without a complete reply.
    pub(super) fn pending(&self, key: ConnectionKey) -> impl Iterator<Item = CallKey> + use<N> {
        self.connections[key].engine.pending().into_iter().map(CallKey::from)
    }

    /// Records the counts of all connections so far, in the phase to which `at` belongs.
    pub(super) fn record_counts(&mut self, at: Instant, run: &mut Run<'_>) {
        if run.may_have_streams() {
            for connection in self.connections.values_mut() {
                let socket = quic::take_socket_figures(&mut self.network, self.quic.as_mut(), connection);
                connection.record_counts(at, socket, run);
            }
        }
    }

    /// Completes the files of `--qlog`. Returns how many lack something.
    pub(super) fn complete_qlogs(&mut self) -> u64 {
        self.quic.as_mut().map_or(0, Quic::complete_logs)
    }
}
