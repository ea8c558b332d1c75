//! QUIC on a connection: datagrams, the handshake inside, timers and sessions to resume.

use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, UNIX_EPOCH};

use bytes::BytesMut;
use httperf_plan::{Plan, Resumption, Target};
use httperf_proto::quic::{self, Context, Datagrams, Figures, Log, Loss, Ticket};
use httperf_proto::tls::{EarlyData, Failure as Refusal, Progress};
use httperf_proto::{Engine, ProtocolError};
use httperf_stats::{
    EarlyRequests, FailureCause, HandshakeFailure, HandshakeFailureClass, HandshakeKind, Instant,
    QuicTransport, SlowDetail, SocketBuffers,
};

use super::connection::Connection;
use super::handshake::{outcome, shown};
use super::progress::{Stage, Write};
use super::protocol::SocketFigures;
use super::qlog::Qlogs;
use super::resumption::{KeptSession, ResumptionPool};
use super::{Connections, Cx, EventKind, Handler, Sinks, at_instant, poll_key};
use crate::worker::run::Run;
use crate::worker::{ConnectionKey, READ_SIZE};
use crate::{Network, Ready};

/// The number of reads of a connection in a turn before the others have theirs.
const READS_PER_TURN: u32 = 8;

/// The number of datagrams that are handed to the system at once (udp(7): at most 64).
const DATAGRAMS_MAX: usize = 32;

/// The room for datagrams that is allocated at once. The library keeps parts of it for as long as bytes of a stream lack
/// those before them; then most of it is used before there is another.
const ROOM_SIZE: usize = 4 * READ_SIZE;

/// The library's context, and the sessions that all QUIC connections of a worker share.
pub(super) struct Quic {
    context: Context,
    resumption: Resumption,
    /// For the connections of a connection workload, one per target.
    pools: Vec<ResumptionPool<Ticket>>,
    /// Decides, with the number of a connection, what is random in its packets.
    seed: u64,
    /// The buffers of the sockets, once they were asked for: all have the same.
    buffers: Option<SocketBuffers>,
    /// The files of `--qlog`, if it is given.
    qlogs: Option<Qlogs>,
}

impl Quic {
    pub(super) fn new(plan: &Plan, context: Context) -> Self {
        Self {
            context,
            resumption: plan.tls.as_ref().map_or(Resumption::Never, |tls| tls.resumption),
            pools: plan.targets.iter().map(|_| ResumptionPool::new(plan.limits.tls_sessions)).collect(),
            seed: u64::from(plan.client.index) << 32 | u64::from(plan.client.stream),
            buffers: None,
            qlogs: plan.quic.qlog.as_deref().map(Qlogs::new),
        }
    }

    /// Returns the log of a connection, if it is to have one. `at`: the time since the start of the run.
    pub(super) fn log(&mut self, serial: u64, at: Duration) -> Option<Log> {
        self.qlogs.as_mut()?.begin(serial, at)
    }

    /// Completes all logs. Returns how many lack something.
    pub(super) fn complete_logs(&mut self) -> u64 {
        self.qlogs.as_mut().map_or(0, Qlogs::complete)
    }

    /// Begins a connection to a target. `own`: the session that the plan's session has to resume. Returns it, and whether
    /// it offers a session to resume.
    #[expect(clippy::too_many_arguments, reason = "each is another part of what a connection begins with")]
    pub(super) fn connect(
        &mut self,
        place: usize,
        target: &Target,
        server: SocketAddr,
        serial: u64,
        own: Option<KeptSession>,
        log: Option<Log>,
        now: Instant,
    ) -> Result<(quic::Connection, bool), Refusal> {
        let ticket = match self.resumption {
            Resumption::Share(share) => self.pools[place].next(share),
            Resumption::WithinSession => own.and_then(KeptSession::quic),
            Resumption::Never => None,
        };
        let offers = ticket.is_some();
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&self.seed.to_le_bytes());
        seed[8..16].copy_from_slice(&serial.to_le_bytes());
        let name = target.tls_name.as_deref();
        let (context, now) = (&self.context, at_instant(now));
        let connection = match log {
            None => context.connect(now, server, name, seed, ticket)?,
            Some(log) => context.connect_logged(now, server, name, seed, ticket, log)?,
        };
        Ok((connection, offers))
    }

    /// Returns the pool of a target, if the plan wants a share of connections to resume.
    fn pool(&mut self, place: usize) -> Option<&mut ResumptionPool<Ticket>> {
        match self.resumption {
            Resumption::Share(_) => Some(&mut self.pools[place]),
            Resumption::Never | Resumption::WithinSession => None,
        }
    }
}

/// What a connection's transport has of QUIC.
#[derive(Debug)]
pub(super) struct Datagram {
    /// The beginning of the handshake.
    pub(super) started: Instant,
    /// A session was offered for resumption.
    pub(super) offered: bool,
    /// The port of the offer of HTTP/3 for which it goes over QUIC, if for one.
    pub(super) offer: Option<u16>,
    /// It only stays for a session ticket that others need.
    pub(super) awaits_ticket: bool,
    /// Datagrams that the socket did not take, and their form.
    unsent: Option<(Vec<u8>, Datagrams)>,
    /// The key under which the socket is watched, from the beginning of the handshake on.
    key: Option<u64>,
    /// The socket is reported as writable.
    is_watched: bool,
    /// Requests that were refused as early data and are still to be sent again.
    replays: u64,
    /// Figures that have been taken.
    taken: Figures,
    /// Datagrams that the socket had dropped when that was last asked.
    dropped: u64,
    /// Attempts to send that the socket refused since they were taken last.
    sends_blocked: u64,
}

impl Datagram {
    /// `offered`: a session is offered for resumption. `offer`: the port of the offer of HTTP/3 for which it goes over
    /// QUIC.
    pub(super) fn new(offered: bool, offer: Option<u16>) -> Self {
        Self {
            started: Instant::default(),
            offered,
            offer,
            awaits_ticket: false,
            unsent: None,
            key: None,
            is_watched: true,
            replays: 0,
            taken: Figures::default(),
            dropped: 0,
            sends_blocked: 0,
        }
    }

    /// Returns the figures of a connection since they were taken last.
    pub(super) fn take_figures(&mut self, quic: &quic::Connection) -> Figures {
        let now = quic.figures();
        let before = std::mem::replace(&mut self.taken, now);
        now.since(&before)
    }

    /// Returns the figures of a socket since they were taken last. `dropped`: the datagrams that it has dropped so far.
    fn take_socket_figures(&mut self, dropped: u64, buffers: Option<SocketBuffers>) -> SocketFigures {
        let before = std::mem::replace(&mut self.dropped, dropped);
        let sends_blocked = std::mem::take(&mut self.sends_blocked);
        SocketFigures { dropped: dropped.saturating_sub(before), sends_blocked, buffers }
    }

    /// A request was sent completely. Returns whether it is one that had been refused as early data.
    pub(super) fn take_replay(&mut self) -> bool {
        let is_replay = self.replays > 0;
        self.replays -= u64::from(is_replay);
        is_replay
    }

    /// Returns whether datagrams wait for the socket.
    pub(super) fn has_unsent(&self) -> bool {
        self.unsent.is_some()
    }

    /// Sends the next datagrams. Out of the way of calls over TCP.
    #[inline(never)]
    pub(super) fn write<N: Network>(
        &mut self,
        network: &mut N,
        socket: &N::Socket,
        engine: &mut Engine,
        buffer: &mut Vec<u8>,
        now: Instant,
    ) -> io::Result<Write> {
        let form = match self.unsent.take() {
            Some((bytes, form)) => {
                *buffer = bytes;
                form
            }
            None => match engine.poll_datagrams(at_instant(now), DATAGRAMS_MAX, buffer) {
                Some(form) => form,
                None => {
                    self.watch(network, socket, false)?;
                    return Ok(Write::Idle);
                }
            },
        };
        let at = network.now();
        match network.send(socket, buffer, form.segment, form.ecn) {
            Ok(()) => Ok(Write::Sent { count: buffer.len(), at, is_all: true }),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.unsent = Some((std::mem::take(buffer), form));
                self.sends_blocked += 1;
                self.watch(network, socket, true)?;
                Ok(Write::Blocked)
            }
            // A datagram that is too large for the path is lost, which is how the path's MTU is found.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::MSGSIZE.raw_os_error()) => {
                Ok(Write::Sent { count: buffer.len(), at, is_all: true })
            }
            Err(error) => Err(error),
        }
    }

    /// Has the socket reported as writable only while datagrams wait for it.
    fn watch<N: Network>(&mut self, network: &mut N, socket: &N::Socket, writable: bool) -> io::Result<()> {
        match self.key {
            Some(key) if self.is_watched != writable => {
                network.watch_writable(socket, key, writable)?;
                self.is_watched = writable;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Has an empty buffer begin anew where nobody keeps a part of it, so that the same memory is used again and again, and
/// makes room for one read.
fn make_room(buffer: &mut BytesMut) {
    if !buffer.try_reclaim(ROOM_SIZE) && buffer.capacity() < READ_SIZE {
        *buffer = BytesMut::with_capacity(ROOM_SIZE);
    }
}

/// Returns the figures of a connection's socket since they were taken last; none of a socket that is no socket of datagrams.
pub(super) fn take_socket_figures<N: Network>(
    network: &mut N,
    shared: Option<&mut Quic>,
    connection: &mut Connection<N::Socket>,
) -> SocketFigures {
    if connection.transport.datagram().is_none() {
        return SocketFigures::default();
    }
    let socket = connection.transport.socket();
    let dropped = network.dropped_datagrams(socket);
    let buffers = shared.and_then(|shared| {
        shared.buffers = shared.buffers.or_else(|| network.buffers(socket));
        shared.buffers
    });
    let datagram = connection.transport.datagram_mut().expect("it was just there");
    datagram.take_socket_figures(dropped, buffers)
}

/// Returns the state of a connection's transport, for a call that is slow.
pub(super) fn slow_detail<N: Network>(network: &mut N, connection: &Connection<N::Socket>) -> SlowDetail {
    let quic = connection.engine.quic();
    SlowDetail {
        transport: if quic.is_none() { network.transport(connection.transport.socket()) } else { None },
        quic: quic.map(|quic| QuicTransport { rtt: quic.rtt(), packets_lost: quic.packets_lost() }),
        server_timing: None,
    }
}

/// A connection that cannot begin.
pub(super) fn refused(refusal: Refusal) -> HandshakeFailure {
    let Refusal { kind: _, reason, details } = refusal;
    HandshakeFailure { class: HandshakeFailureClass::Protocol, reason, details }
}

impl<N: Network> Connections<N> {
    /// Handles the readiness of a socket of datagrams. Out of the way of calls over TCP.
    #[inline(never)]
    pub(super) fn handle_datagrams_ready<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        ready: &Ready,
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        if self.connections[key].transport.stage() == Stage::Connecting && ready.writable {
            self.start_quic(key, now, to);
        }
        // An error is what the next read returns.
        if (ready.readable || ready.failed) && self.connections.contains_key(key) {
            self.read_datagrams(key, now, to);
        }
        if ready.writable && self.connections.contains_key(key) {
            self.flush_and_tell(key, now, to);
        }
    }

    /// A socket of datagrams is there: begins the handshake.
    pub(super) fn start_quic<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        let started = self.network.now();
        to.run.recorder.handshake_awaited(started);
        let transport = &mut self.connections[key].transport;
        transport.start_handshake(started);
        if let Some(datagram) = transport.datagram_mut() {
            datagram.key = Some(poll_key(key));
        }
        self.flush_and_tell(key, now, to);
    }

    /// Reads datagrams until there are no more, or until it is others' turn.
    pub(super) fn read_datagrams<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        mut now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        let mut reads = 0;
        while let Some(connection) = self.connections.get_mut(key) {
            if reads == READS_PER_TURN {
                if !std::mem::replace(&mut connection.is_unread, true) {
                    self.unread.push(key);
                }
                break;
            }
            reads += 1;
            make_room(&mut self.arrived);
            let arrived = match self.network.receive(connection.transport.socket(), &mut self.arrived) {
                Ok(arrived) => arrived,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    let event = self.fail_io(key, &error, now, to.run);
                    to.handler.handle(event, &mut Cx { connections: self, run: to.run, now });
                    return;
                }
            };
            connection.handle_heard(now);
            if connection.transport.stage() == Stage::Handshaking {
                to.run.recorder.handshake_heard(now);
            }
            let bytes = self.arrived.split();
            let tickets =
                connection.engine.handle_datagrams(at_instant(now), bytes, arrived.segment, arrived.ecn);
            // The replies that came with them may end the connection.
            let is_settled = self.keep_tickets(key, tickets, now, to);
            self.stamp = arrived.stamp;
            self.use_datagrams(key, now, to);
            self.stamp = None;
            if is_settled && self.connections.contains_key(key) {
                let now = self.network.now();
                self.tell(key, EventKind::TicketSettled, now, to);
            }
            if reads < READS_PER_TURN {
                now = self.network.now();
            }
        }
        self.settle(key, now, to);
    }

    /// Takes what datagrams, or the passing of time, have led to.
    fn use_datagrams<H: Handler<N>>(&mut self, key: ConnectionKey, now: Instant, to: &mut Sinks<'_, '_, H>) {
        while let Some(connection) = self.connections.get_mut(key)
            && let Some(progress) = connection.engine.poll_progress(at_instant(now))
        {
            match progress {
                Progress::Done => self.handle_quic_done(key, to),
                Progress::EarlyDataRejected => {
                    let early = connection.engine.early_count();
                    if let Some(datagram) = connection.transport.datagram_mut() {
                        datagram.replays = early;
                    }
                    let pending = connection.engine.pending();
                    pending.into_iter().for_each(|call| to.run.reset_call(call.into(), now));
                }
                Progress::Pending | Progress::EarlyData => {}
            }
        }
        if self.connections.contains_key(key) {
            self.reading = Some(key);
            self.use_bytes(key, &[], now, to);
            self.reading = None;
        }
    }

    /// The handshake is complete.
    fn handle_quic_done<H: Handler<N>>(&mut self, key: ConnectionKey, to: &mut Sinks<'_, '_, H>) {
        let now = self.network.now();
        self.record_quic_handshake(key, now, to.run);
        self.tell(key, EventKind::Reached, now, to);
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.establish(now, to.run);
        connection.record_protocol_now(to.run);
        self.tell(key, EventKind::Established, now, to);
    }

    fn record_quic_handshake(&mut self, key: ConnectionKey, now: Instant, run: &mut Run<'_>) {
        let connection = &self.connections[key];
        let (due, target) = (connection.due(), connection.target);
        let (Some(quic), Some(datagram)) = (connection.engine.quic(), connection.transport.datagram()) else {
            return;
        };
        let handshake = quic.handshake();
        let done = outcome(&handshake, now - datagram.started);
        let kind = done.kind;
        run.recorder.handshake_done(due, &done);
        let early = connection.engine.early_count();
        let early = match quic.early_data() {
            EarlyData::Accepted => EarlyRequests { accepted: early, ..EarlyRequests::default() },
            EarlyData::Rejected => EarlyRequests { rejected: early, ..EarlyRequests::default() },
            EarlyData::None | EarlyData::Offered => EarlyRequests::default(),
        };
        run.recorder.early_requests(due, early);
        let figures = quic.handshake_figures();
        let is_retried = quic.is_retried();
        run.recorder.http2(due, |http3| {
            let quic = http3.quic.get_or_insert_default();
            quic.retries += u64::from(is_retried);
            quic.handshake_datagrams_sent += figures.datagrams_sent;
            quic.handshake_datagrams_received += figures.datagrams_received;
        });
        if kind == HandshakeKind::Full {
            let unix_now = self.network.wall_clock().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
            run.recorder.certificate_shown(due, || {
                quic.certificate(i64::try_from(unix_now).unwrap_or(i64::MAX)).map(shown)
            });
        }
        let is_refused = datagram.offered && kind == HandshakeKind::Full;
        if is_refused && let Some(pool) = self.quic.as_mut().and_then(|quic| quic.pool(target)) {
            pool.handle_refusal();
        }
    }

    /// Keeps the sessions that the server has given for other connections to resume. Returns whether the connection has
    /// stayed for that.
    fn keep_tickets<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        mut tickets: Vec<Ticket>,
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) -> bool {
        let (Some(connection), Some(quic)) = (self.connections.get(key), &mut self.quic) else {
            return false;
        };
        if tickets.is_empty() {
            return false;
        }
        let target = connection.target;
        let awaits_ticket = connection.awaits_ticket();
        match quic.resumption {
            Resumption::Share(_) => quic.pools[target].put(tickets),
            Resumption::WithinSession => {
                let last = tickets.pop().map(KeptSession::Quic);
                last.into_iter().for_each(|last| self.tell(key, EventKind::TlsSession(last), now, to));
            }
            Resumption::Never => {}
        }
        awaits_ticket
    }

    /// As [`stay_for_ticket`](Self::stay_for_ticket), over QUIC.
    pub(super) fn may_stay_for_ticket(&mut self, key: ConnectionKey) -> bool {
        let connection = &mut self.connections[key];
        let (Some(datagram), Some(quic)) = (connection.transport.datagram_mut(), &mut self.quic) else {
            return false;
        };
        let needs_tickets = matches!(quic.resumption, Resumption::Share(share) if share > 0.0);
        datagram.awaits_ticket = needs_tickets && quic.pools[connection.target].is_short();
        datagram.awaits_ticket
    }

    /// A connection of QUIC waited for a ticket, and none came.
    pub(super) fn handle_vain_wait(&mut self, key: ConnectionKey) {
        let target = self.connections[key].target;
        if let Some(pool) = self.quic.as_mut().and_then(|quic| quic.pool(target)) {
            pool.handle_vain_wait();
        }
    }

    /// The timer of a connection has expired.
    pub(in crate::worker) fn fire_timer<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.filed = None;
        // It may have been set later meanwhile.
        if connection.timer.is_some_and(|timer| timer <= now) {
            connection.timer = None;
            connection.engine.handle_timeout(at_instant(now));
            self.use_datagrams(key, now, to);
        }
        self.settle(key, now, to);
        self.set_timer(key);
    }

    /// Sets the timer of a connection as its protocol has it now. Out of the way of calls over TCP.
    #[inline(never)]
    pub(super) fn set_timer(&mut self, key: ConnectionKey) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        if !connection.engine.is_over_datagrams() {
            return;
        }
        let timer = connection.engine.poll_timeout().map(|timeout| Instant::default() + timeout);
        connection.timer = timer;
        if let Some(timer) = timer
            && connection.filed.is_none_or(|filed| filed > timer)
        {
            self.timers.file(key, connection.filed.replace(timer), timer);
        }
    }

    /// A connection of QUIC is gone. Returns how its calls failed, having recorded a handshake that did.
    pub(super) fn record_loss(&mut self, key: ConnectionKey, loss: &Loss, run: &mut Run<'_>) -> FailureCause {
        let connection = &self.connections[key];
        let due = connection.due();
        let failure = run.cause_of_breach(&ProtocolError::Quic(loss.clone()), connection.awaits(run));
        if connection.transport.stage() == Stage::Established {
            if let Loss::Closed(code, _) = loss
                && httperf_proto::http3::ErrorCode(*code) != httperf_proto::http3::ErrorCode::H3_NO_ERROR
            {
                let code = httperf_proto::http3::ErrorCode(*code);
                run.recorder.http2(due, |http3| http3.goaways.add(code.to_string()));
            }
            return failure;
        }
        let (class, error) = match loss {
            Loss::Failed(refusal) => (HandshakeFailureClass::Protocol, refusal.clone()),
            Loss::NoVersion => (
                HandshakeFailureClass::Protocol,
                Refusal::plain("the server speaks no version of QUIC that we do"),
            ),
            Loss::TimedOut => (HandshakeFailureClass::Transport, Refusal::plain("no answer in time")),
            Loss::Reset | Loss::Closed(..) | Loss::ByUs => {
                (HandshakeFailureClass::Transport, Refusal::plain("the server closed the connection"))
            }
        };
        let failed = HandshakeFailure { class, reason: error.reason, details: error.details };
        let is_stranger = failed.is_no_protocol() && self.alternatives.is_none();
        let reason = failed.reason.clone();
        run.recorder.handshake_failed(due, failed);
        if is_stranger {
            run.stranger_met();
        }
        self.give_up_quic(key, reason, run);
        failure
    }

    /// A connection fails for a reason outside QUIC. Records its handshake as failed, if it was not complete.
    pub(super) fn record_quic_failure(
        &mut self,
        key: ConnectionKey,
        reason: &'static str,
        run: &mut Run<'_>,
    ) {
        let connection = &self.connections[key];
        if connection.transport.stage() == Stage::Established {
            return;
        }
        let refusal = Refusal::plain(reason);
        let failed = HandshakeFailure {
            class: HandshakeFailureClass::Transport,
            reason: refusal.reason,
            details: refusal.details,
        };
        run.recorder.handshake_failed(connection.due(), failed);
        self.give_up_quic(key, reason.into(), run);
    }

    /// A connection goes without having completed its handshake, for this reason.
    fn give_up_quic(&mut self, key: ConnectionKey, reason: Cow<'static, str>, run: &mut Run<'_>) {
        let connection = &self.connections[key];
        let datagram = connection.transport.datagram();
        let (offered, offer) = datagram.map_or((false, None), |datagram| (datagram.offered, datagram.offer));
        let (target, due) = (connection.target, connection.due());
        self.alternative_failed(target, offer, due, reason, run);
        if let Some(pool) = self.quic.as_mut().and_then(|quic| quic.pool(target)) {
            pool.handle_failure(offered);
        }
    }

    /// Says that nothing more comes.
    pub(super) fn close_quic(&mut self, connection: &mut Connection<N::Socket>, now: Instant) {
        connection.engine.close(at_instant(now));
        let mut buffer = Vec::new();
        // A peer that does not hear of it does not miss it.
        if let Some(form) = connection.engine.poll_datagrams(at_instant(now), 1, &mut buffer) {
            let socket = connection.transport.socket();
            self.network.send(socket, &buffer, form.segment, form.ecn).ok();
        }
    }
}
