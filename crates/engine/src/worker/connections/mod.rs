//! Connections: everything between calls and sockets.
//!
//! ```text
//!   open, submit, flush, close ──►  Connections  ──► Event: established, answered, lost, …
//!                                    │ one each
//!                                    ├─ Transport   socket, tunnel, TLS
//!                                    └─ Engine      the protocol
//! ```
//!
//! A command returns its outcome. Events that happen by themselves, because a socket is ready or a deadline has passed, go
//! to a [`Handler`], which may give further commands before it returns.

mod alternatives;
mod connection;
mod deadlines;
mod handshake;
mod inputs;
mod progress;
mod protocol;
mod qlog;
mod quic;
mod resumption;
mod sends;
mod talks;
mod timers;
mod tls;
mod transport;
mod tunnel;

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, SystemTime};

use bytes::BytesMut;
use httperf_load::page::Link;
use httperf_plan::{Endpoint, Plan};
use httperf_proto::{CallId, HeaderBlock, Reuse, Undone, http1};
use httperf_stats::{CauseKind, Failure, FailureCause, Instant, Mismatch};
use slotmap::{Key, KeyData, SlotMap};

use self::alternatives::Alternatives;
use self::connection::Connection;
use self::deadlines::Deadlines;
use self::progress::{Stage, Write};
use self::protocol::Protocols;
use self::quic::Quic;
pub(super) use self::resumption::{KeptSession, Resumable};
use self::timers::Timers;
use self::tls::Tls;
use self::transport::Transport;
use self::tunnel::Tunnels;
use super::run::Run;
use super::{CallKey, ConnectionKey, READ_SIZE, SessionKey};
use crate::failure::{self, Awaits};
use crate::{Network, Observation, Security};

/// The connections of a worker, with the network and all buffers they need.
pub(super) struct Connections<N: Network> {
    network: N,
    connections: SlotMap<ConnectionKey, Connection<N::Socket>>,
    /// Connections initiated so far.
    initiated: u64,
    /// Counts passes of the worker's loop.
    turn: u64,
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
    /// The connection whose bytes are being used.
    reading: Option<ConnectionKey>,
    /// The kernel's stamp of the last segment of the bytes that are being used.
    stamp: Option<Instant>,
    header_cache: http1::HeaderCache,
    read_buffer: Vec<u8>,
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
    TlsSession(KeptSession),
    /// It need not stay for a ticket any more.
    TicketSettled,
    /// The header block of a reply arrived. Only if a plan asks for header blocks.
    ReplyHead { call: CallKey, head: HeaderBlock },
    /// The body of a reply, which is a page, contains links.
    LinksFound { call: CallKey, links: Vec<Link> },
    /// The WebSocket of a call is open, and is to be looked after at this instant.
    Opened { call: CallKey, wake: Option<Instant> },
    /// A reply is complete and recorded.
    Answered { call: CallKey, status: u16, reuse: Reuse },
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

/// The receiver of the events of connections.
pub(super) trait Handler<N: Network> {
    /// Handles an event. On return, the connection may be gone.
    fn handle(&mut self, event: Event, cx: &mut Cx<'_, '_, N>);

    /// Judges a complete reply before it is recorded. Returns the check that it failed, if the handler makes any.
    fn judge(
        &mut self,
        call: CallKey,
        received_at: Instant,
        wall_clock: &mut dyn FnMut() -> SystemTime,
        run: &mut Run<'_>,
    ) -> Option<Mismatch>;
}

/// The parts of a worker to which inputs of connections go.
pub(super) struct Sinks<'c, 'a, H> {
    pub(super) run: &'c mut Run<'a>,
    pub(super) handler: &'c mut H,
}

/// The parts of a worker that a handler, or its caller, works with, and the present instant.
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
            tls,
            quic,
            alternatives,
            tunnels: plan.proxy.as_ref().and_then(|proxy| Tunnels::new(plan, proxy, limits)),
            protocols,
            deadlines: Deadlines::default(),
            timers: Timers::default(),
            unread: Vec::new(),
            reading: None,
            stamp: None,
            header_cache: http1::HeaderCache::default(),
            read_buffer: vec![0; READ_SIZE],
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

    /// A pass of the loop begins.
    pub(super) fn begin_turn(&mut self) {
        self.turn += 1;
    }

    /// Returns whether connections are secured.
    pub(super) fn are_secured(&self) -> bool {
        self.tls.is_some() || self.quic.is_some()
    }

    /// Returns the kernel's stamp of the last segment of the bytes that are being used, if any are.
    pub(super) fn stamp(&self) -> Option<Instant> {
        self.stamp
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
        self.connections[key].engine.capacity() > 0
    }

    /// Returns whether a connection takes another call, which need not wait for a stream there.
    pub(super) fn has_room(&self, key: ConnectionKey) -> bool {
        self.connections[key].engine.has_room()
    }

    /// Returns the calls on a connection without a complete reply.
    pub(super) fn pending(&self, key: ConnectionKey) -> impl Iterator<Item = CallKey> + use<N> {
        self.connections[key].engine.pending().into_iter().map(CallKey::from)
    }

    /// Initiates a connection.
    ///
    /// # Errors
    /// Why it cannot be: that is counted.
    #[inline(never)]
    pub(super) fn open(&mut self, opening: Opening, run: &mut Run<'_>) -> Result<ConnectionKey, Failure> {
        let Opening { owner, target, due, mut tls_session } = opening;
        let serial = run.shard.nth(self.initiated);
        let (source, endpoint) = run.plan.route(serial, target);
        run.recorder.connection_opened(due);
        let over_quic = match endpoint {
            Endpoint::Tcp(server) => self.over_quic(target, *server, run.plan),
            Endpoint::Unix(_) => None,
        };
        let opened = match &over_quic {
            Some((server, _)) => self.network.open_datagrams(server),
            None => self.network.open(endpoint),
        };
        let socket = match opened {
            Ok(socket) => socket,
            Err(error) => {
                run.recorder.connection_closed(due, None);
                return Err(Self::fail_to_open(due, &error, run));
            }
        };
        run.recorder.connect_initiated(due, self.turn);
        self.initiated += 1;
        let now = self.network.now();
        let (transport, engine) = match (&mut self.quic, over_quic) {
            (Some(shared), Some((server, offer))) => {
                let log = shared.log(serial, now - run.start());
                let target_of = &run.plan.targets[target];
                let begun = shared.connect(target, target_of, server, serial, tls_session, log, now);
                let (connection, offered) = match begun {
                    Ok(begun) => begun,
                    Err(refusal) => {
                        let cause = failure::of_tls(&refusal);
                        let refused = quic::refused(refusal);
                        self.alternative_failed(target, offer, due, refused.reason.clone(), run);
                        run.recorder.handshake_failed(due, refused);
                        run.recorder.connection_closed(due, None);
                        let class = cause.class();
                        run.recorder.failed(due, cause);
                        return Err(class);
                    }
                };
                if offer.is_some() {
                    run.recorder.http2(due, |http2| http2.alt_svc.get_or_insert_default().followed += 1);
                }
                (Transport::over_datagrams(socket, offered, offer), self.protocols.http3_engine(connection))
            }
            _ => {
                let secured = self.tls.as_mut().map(|tls| {
                    let own = tls_session.take_if(|kept| matches!(kept, KeptSession::Tls(_)));
                    let secured = tls.secure(target, &run.plan.targets[target], own, now);
                    Box::new(secured)
                });
                (Transport::new(socket, secured), self.protocols.engine())
            }
        };
        let key =
            self.connections.insert(Connection::new(transport, engine, owner, target, serial, due, now));
        let socket = self.connections[key].transport.socket();
        let connected = match &over_quic {
            Some((server, _)) => self.network.connect_datagrams(socket, poll_key(key), server, source),
            None => self.network.connect(socket, poll_key(key), endpoint, source),
        };
        if let Err(error) = connected {
            let failure = failure::of_io(&error, Awaits::Connect).class();
            if failure == Failure::AddressUnavailable
                && let Some(datagram) = self.connections[key].transport.datagram_mut()
            {
                // The lack of a local port is not the server's.
                datagram.offer = None;
            }
            self.record_insecure(key, failure, run);
            self.connections.remove(key);
            run.recorder.connection_closed(due, None);
            return Err(Self::fail_to_open(due, &error, run));
        }
        self.set_deadline(key, run.plan.timeouts.timeout.map(|limit| now + limit));
        Ok(key)
    }

    /// A connection never came to be watched.
    fn fail_to_open(due: Instant, error: &io::Error, run: &mut Run<'_>) -> Failure {
        let cause = run.cause_of(error, Awaits::Connect);
        let class = cause.class();
        run.recorder.failed(due, cause);
        class
    }

    /// Gives a connection as many of these calls as it takes, from the first on.
    #[inline]
    pub(super) fn submit(
        &mut self,
        key: ConnectionKey,
        calls: &mut VecDeque<CallKey>,
        now: Instant,
        run: &mut Run<'_>,
    ) {
        let connection = &mut self.connections[key];
        connection.expect_call(now);
        while connection.engine.capacity() > 0
            && let Some(key) = calls.pop_front()
        {
            let call = run.call_submitted(key, now);
            let is_new = !connection.has_answered();
            let request = self.protocols.form_of(call.request(), &connection.engine, is_new);
            let submitted = connection.engine.submit(at_instant(now), key.into(), request);
            submitted.expect("the engine has capacity");
            if let Some(sends) = connection.transport.sends_mut()
                && run.plan.recording.asks_of(run.call(key).serial())
            {
                sends.submitted(key);
            }
        }
    }

    /// Sends the calls that a connection was given, as far as its socket takes them. Returns the event if that ends
    /// the connection.
    #[inline]
    pub(super) fn flush_submitted(
        &mut self,
        key: ConnectionKey,
        now: Instant,
        run: &mut Run<'_>,
    ) -> Option<Event> {
        if self.connections[key].engine.wants_write() {
            return self.flush(key, now, run);
        }
        // A call that waits for a stream has its time limit as well.
        self.refresh_deadline(key, run);
        None
    }

    /// Writes until everything is written or the socket takes no more. Returns the event if that ends the connection.
    ///
    /// Not while the same connection's bytes are being used: what follows a reply there cannot answer a request that
    /// goes out only now. It is flushed once they are used up.
    fn flush(&mut self, key: ConnectionKey, now: Instant, run: &mut Run<'_>) -> Option<Event> {
        let connection = self.connections.get(key)?;
        if self.reading == Some(key) || connection.transport.is_broken() {
            return None;
        }
        let mut buffer = std::mem::take(&mut self.write_buffer);
        let outcome = self.write_out(key, &mut buffer, now, run);
        self.write_buffer = buffer;
        match outcome {
            Ok(()) => {
                self.refresh_deadline(key, run);
                if self.quic.is_some() {
                    self.set_timer(key);
                }
                None
            }
            Err(error) if self.drain_before_close(key, &error) => None,
            Err(error) => Some(self.fail_io(key, &error, now, run)),
        }
    }

    fn write_out(
        &mut self,
        key: ConnectionKey,
        buffer: &mut Vec<u8>,
        now: Instant,
        run: &mut Run<'_>,
    ) -> io::Result<()> {
        let connection = &mut self.connections[key];
        loop {
            let Connection { transport, engine, .. } = connection;
            match transport.write(&mut self.network, self.tls.as_mut(), engine, buffer, now, run)? {
                Write::Idle | Write::Blocked => return Ok(()),
                Write::Sent { count, at, is_all } => {
                    connection.handle_written(count, at, run);
                    if !is_all {
                        // There is room again when the poller says so, but for a signal that came in between.
                        connection.engine.handle_blocked();
                        if count > 0 {
                            return Ok(());
                        }
                    }
                }
            }
        }
    }

    /// After a failed write, has the buffered bytes read first: a server may answer before it has the whole request and
    /// close, or say which calls it has not processed. Returns false if the connection should fail at once.
    fn drain_before_close(&mut self, key: ConnectionKey, error: &io::Error) -> bool {
        let connection = &mut self.connections[key];
        if !connection.transport.is_established()
            || failure::of_io(error, Awaits::Reply).class() != Failure::Reset
        {
            return false;
        }
        connection.transport.handle_broken();
        if !std::mem::replace(&mut connection.is_unread, true) {
            self.unread.push(key);
        }
        true
    }

    /// A read or a write failed.
    fn fail_io(&mut self, key: ConnectionKey, error: &io::Error, now: Instant, run: &mut Run<'_>) -> Event {
        let cause = run.cause_of(error, self.connections[key].awaits(run));
        if self.connections[key].is_idle() {
            // Reset while idle is as good as closed while idle.
            self.end(key, now, run)
        } else {
            self.record_insecure(key, cause.class(), run);
            self.fail(key, cause, now, run)
        }
    }

    /// A connection fails.
    fn fail(&mut self, key: ConnectionKey, cause: FailureCause, now: Instant, run: &mut Run<'_>) -> Event {
        let connection = &self.connections[key];
        let failure = cause.class();
        let cause = match (cause.kind, connection.engine.goaway()) {
            // A server that ends a connection may have said why before.
            (
                CauseKind::ClosedUnanswered
                | CauseKind::ClosedMidReply
                | CauseKind::ResetUnanswered
                | CauseKind::ResetMidReply,
                Some(code),
            ) => CauseKind::GoAway.with(code.name()),
            _ => cause,
        };
        run.recorder.failed(connection.due_of(run), cause);
        connection.record_silence(failure, run);
        let (owner, has_answered) = (connection.owner, connection.has_answered());
        // A connection that timed out took its time.
        let is_unreached = connection.is_unreached() && failure != Failure::ClientTimeout;
        let calls = self.retire(key, now, run);
        let kind = EventKind::Lost(Lost { failure, has_answered, is_unreached, calls });
        Event { connection: key, owner, kind }
    }

    /// The peer ended a connection while no reply was due.
    fn end(&mut self, key: ConnectionKey, now: Instant, run: &mut Run<'_>) -> Event {
        let owner = self.connections[key].owner;
        let kind = EventKind::Ended(self.retire(key, now, run));
        Event { connection: key, owner, kind }
    }

    /// Closes a connection. Returns its calls without a reply, in order, as if never sent.
    pub(super) fn retire(&mut self, key: ConnectionKey, now: Instant, run: &mut Run<'_>) -> Vec<CallKey> {
        self.keep_transport(key, now, run);
        let calls: Vec<CallKey> = self.close(key, now, run);
        calls.iter().for_each(|&call| run.reset_call(call, now));
        calls
    }

    /// Keeps the state of a connection's transport for the calls that will not be answered on it.
    pub(super) fn keep_transport(&mut self, key: ConnectionKey, now: Instant, run: &mut Run<'_>) {
        let connection = &self.connections[key];
        for call in connection.engine.pending() {
            run.keep_transport(call.into(), now, || quic::slow_detail(&mut self.network, connection));
        }
    }

    /// Closes a connection and records its end. Returns its calls without a reply, in order.
    pub(super) fn close(&mut self, key: ConnectionKey, now: Instant, run: &mut Run<'_>) -> Vec<CallKey> {
        let Some(mut connection) = self.connections.remove(key) else { return Vec::new() };
        connection.record_stalls(run);
        connection.record_protocol(run);
        let socket = quic::take_socket_figures(&mut self.network, self.quic.as_mut(), &mut connection);
        // Its last datagram is one of those that it sent.
        self.say_goodbye(&mut connection, now);
        connection.record_counts(now, socket, run);
        if connection.transport.stage() == Stage::Handshaking {
            run.recorder.handshake_given_up(now);
        }
        self.deadlines.remove(poll_key(key));
        if self.quic.is_some() {
            self.timers.remove(key, connection.filed);
        }
        let lifetime = connection.has_answered().then(|| connection.age(now));
        run.recorder.connection_closed(connection.due(), lifetime);
        if let Some(lifetime) = lifetime
            && run.plan.watch.lifetimes
        {
            run.observe(Observation::Lifetime { lifetime });
        }
        connection.engine.pending().into_iter().map(CallKey::from).collect()
    }

    /// Says that nothing more comes.
    fn say_goodbye(&mut self, connection: &mut Connection<N::Socket>, now: Instant) {
        if connection.engine.is_over_datagrams() {
            self.close_quic(connection, now);
            return;
        }
        let Connection { transport, engine, .. } = connection;
        let stage = transport.stage();
        match (transport.secured_mut(), &mut self.tls) {
            (Some(secured), Some(tls)) => {
                secured.close(tls, stage, engine);
                transport.send_last(&mut self.network, Some(tls), &[]);
            }
            _ if stage == Stage::Established => {
                transport.send_last(&mut self.network, None, engine.goodbye());
            }
            _ => {}
        }
    }

    /// Closes the connections that have nothing outstanding.
    pub(super) fn close_idle(&mut self, now: Instant, run: &mut Run<'_>) {
        for key in self.connections.keys().collect::<Vec<_>>() {
            if self.connections[key].engine.pending_count() == 0 {
                self.close(key, now, run);
            }
        }
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

    fn set_deadline(&mut self, key: ConnectionKey, deadline: Option<Instant>) {
        self.deadlines.set(poll_key(key), deadline);
    }

    /// Sets the deadline that is in force: for the connect, for the request at the head of the queue to be written, or
    /// for its reply.
    fn refresh_deadline(&mut self, key: ConnectionKey, run: &Run<'_>) {
        if run.plan.timeouts.reply().is_none() {
            return;
        }
        let Some(connection) = self.connections.get(key) else { return };
        if !connection.engine.is_in_order() && self.deadlines.get(poll_key(key)).is_some() {
            // On shared connections deadlines are checked lazily: most calls are answered by then.
            return;
        }
        if !connection.transport.is_established() || connection.is_idle() && connection.awaits_ticket() {
            return;
        }
        self.deadlines.set(poll_key(key), connection.front_deadline(run));
    }
}
