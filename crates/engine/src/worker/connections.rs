//! Connections: connecting, writing, reading, and how each of them ends.

use std::io;
use std::time::Duration;

use httperf_plan::{Arrivals, ReplyClock, UNLIMITED, Workload};
use httperf_proto::{CallId, Engine, Event, ProtocolError, ReplySize, Reuse, Sent, http1};
use httperf_stats::{Carrier, Failure, Instant, Sample, SlowDetail};
use rustix::io::Errno;
use slotmap::{Key, KeyData};

use super::calls::{self, Phase};
use super::inspection::{self, Finding};
use super::secure::Secured;
use super::sends::{self, Sends};
use super::{CallKey, ConnectionKey, READS_PER_TURN, SessionKey, Worker};
use crate::network::DISCARD_MAX;
use crate::{Network, Observation, Ready, Received, failure};

/// From how many bytes of content on that nobody asked for they are not even copied: fewer come with one read, together
/// with what follows.
const SKIP_SIZE: u64 = 64 * 1024;

/// One connection.
///
/// ```text
///   connecting ──► (tunnelling) ──► (handshaking) ──► established ──► gone
/// ```
///
/// It goes when it is closed by us, ended by the peer, failed, or timed out.
pub(super) struct Connection<S> {
    pub(super) session: SessionKey,
    /// Its place among the session's slots.
    pub(super) slot: usize,
    pub(super) socket: S,
    pub(super) engine: Engine,
    /// Its TLS side, if the plan wants one.
    pub(super) secured: Option<Box<Secured>>,
    /// What the proxy is asked for a tunnel with, if it is being asked.
    pub(super) tunnel: Option<Box<http1::Engine>>,
    pub(super) stage: Stage,
    /// Its number in the order in which connections were initiated, from 0.
    serial: u64,
    /// When it was due: when the call was for which it was opened.
    pub(super) due: Instant,
    pub(super) connect_started: Instant,
    /// How long it took to establish.
    connect: Duration,
    /// Calls whose first byte was sent on it.
    calls_sent: u64,
    /// When the request at the head of the queue got there, or the last of it was taken by the socket.
    pub(super) progress: Instant,
    /// When bytes of the server's came last.
    pub(super) heard: Instant,
    /// It was counted which protocol it speaks, if it may be HTTP/2.
    pub(super) is_told: bool,
    /// Complete replies.
    replies: u64,
    /// It was read as often as a turn allows, and is to be read on.
    pub(super) is_unread: bool,
    /// The end of the stream or an error is known to follow what there is to read, so that a short read is
    /// not the last.
    pub(super) is_ending: bool,
    /// It takes nothing more: it fails when what the server has said is read.
    pub(super) is_broken: bool,
    /// When its requests leave this machine, if the kernel is asked.
    pub(super) sends: Option<Box<Sends>>,
}

/// A connection that failed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lost {
    pub(super) failure: Failure,
    /// It had delivered at least one reply.
    pub(super) answered: bool,
    /// So many calls were on it, or waited for it. They are at the head of its slot's queue.
    pub(super) calls: usize,
}

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The transport is not there yet.
    Connecting,
    /// A proxy is asked for a tunnel.
    Tunnelling,
    /// TLS is being set up on it.
    Handshaking,
    /// It carries calls.
    Established,
}

impl<S> Connection<S> {
    /// Whether nothing was answered on it yet.
    pub(super) fn is_new(&self) -> bool {
        self.replies == 0
    }
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

pub(super) fn poll_key(key: ConnectionKey) -> u64 {
    key.data().as_ffi()
}

/// An instant as a protocol has it.
pub(super) fn at_instant(now: Instant) -> Duration {
    now - Instant::default()
}

impl<N: Network> Worker<'_, '_, N> {
    /// Initiates a connection for a slot.
    pub(super) fn open_connection(&mut self, session_key: SessionKey, slot: usize, now: Instant) {
        let session = &self.sessions[session_key];
        let due = session.ready_at;
        let serial = self.shard.nth(self.serials.connections);
        let (source, endpoint) = self.plan.route(serial, session.target);
        self.recorder.connection_opened(due);
        let socket = match self.network.open(endpoint) {
            Ok(socket) => socket,
            Err(error) => {
                self.recorder.connection_closed(due, None);
                self.fail_to_open(session_key, slot, &error, now);
                return;
            }
        };
        self.recorder.connect_initiated(due, self.turn);
        self.serials.connections += 1;
        let connect_started = self.network.now();
        let secured = self.secure(session_key, connect_started);
        let key = self.connections.insert(Connection {
            session: session_key,
            slot,
            socket,
            engine: self.new_engine(),
            secured,
            tunnel: None,
            stage: Stage::Connecting,
            serial,
            due,
            connect_started,
            connect: Duration::ZERO,
            calls_sent: 0,
            progress: connect_started,
            heard: connect_started,
            is_told: false,
            replies: 0,
            is_unread: false,
            is_ending: false,
            is_broken: false,
            sends: None,
        });
        let socket = &self.connections[key].socket;
        if let Err(error) = self.network.connect(socket, poll_key(key), endpoint, source) {
            self.note_insecure(key, failure::of_io(&error));
            self.connections.remove(key);
            self.recorder.connection_closed(due, None);
            self.fail_to_open(session_key, slot, &error, now);
            return;
        }
        self.sessions[session_key].slots[slot].connection = Some(key);
        self.set_deadline(key, self.plan.timeouts.timeout.map(|limit| connect_started + limit));
    }

    pub(super) fn handle_ready(&mut self, ready: &Ready, now: Instant) {
        let key = ConnectionKey::from(KeyData::from_ffi(ready.key));
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.is_ending |= ready.ended || ready.failed;
        if connection.stage == Stage::Connecting {
            if ready.failed {
                let error = self.network.take_error(&connection.socket);
                let error = error.unwrap_or_else(|| Errno::CONNRESET.into());
                self.fail_io(key, &error, now);
                return;
            }
            if !ready.writable {
                return;
            }
            self.sessions[connection.session].is_unreached = false;
            self.arrivals.reached();
            match self.tunnel_request(key) {
                Some(request) => self.start_tunnel(key, request, now),
                None => self.transport_ready(key, now),
            }
            self.flush(key, now);
        }
        // A server may answer before it has the whole request and then reset the connection: what it said is read
        // before a write finds that out.
        if ready.readable || ready.ended || ready.failed {
            self.read(key, now);
        }
        if ready.writable {
            self.flush(key, now);
        }
    }

    /// There is a way to the server: over TLS if it is to be, the connection is set up on it.
    pub(super) fn transport_ready(&mut self, key: ConnectionKey, now: Instant) {
        self.number_sent(key);
        if self.connections[key].secured.is_some() {
            self.start_handshake(key, now);
        } else {
            self.establish(key, now);
        }
    }

    /// The connection is ready for calls.
    pub(super) fn establish(&mut self, key: ConnectionKey, now: Instant) {
        let connection = &mut self.connections[key];
        connection.stage = Stage::Established;
        connection.progress = now;
        connection.connect = now - connection.connect_started;
        if connection.secured.is_some() {
            self.recorder.handshake_settled();
        }
        self.recorder.connect_done(connection.due, connection.connect);
        let session = connection.session;
        self.sessions[session].established += 1;
        if self.opens_without_calls() && !self.stays_for_ticket(key, now) {
            self.end_session(session, true, now);
        }
    }

    /// Writes until everything is written or the socket takes no more.
    ///
    /// Not while the same connection's bytes are being read: what follows a reply there cannot answer a
    /// request that goes out only now. It is flushed once they are used up.
    pub(super) fn flush(&mut self, key: ConnectionKey, now: Instant) {
        if self.reading == Some(key) || self.connections.get(key).is_some_and(|found| found.is_broken) {
            return;
        }
        let mut buffer = std::mem::take(&mut self.write_buffer);
        let outcome = match self.connections.get(key) {
            Some(connection) if connection.tunnel.is_some() => self.write_out_tunnel(key, &mut buffer),
            Some(connection) if connection.secured.is_some() => self.write_out_secured(key, &mut buffer, now),
            _ => self.write_out(key, &mut buffer, now),
        };
        self.write_buffer = buffer;
        match outcome {
            Ok(()) => self.refresh_deadline(key),
            Err(error) if self.hears_out(key, &error) => {}
            Err(error) => self.fail_io(key, &error, now),
        }
    }

    fn write_out(&mut self, key: ConnectionKey, buffer: &mut Vec<u8>, now: Instant) -> io::Result<()> {
        while let Some(connection) = self.connections.get_mut(key) {
            if connection.stage != Stage::Established {
                break;
            }
            buffer.clear();
            let last = connection.engine.poll_transmit_shared(at_instant(now), buffer);
            let size = buffer.len() + last.len();
            if size == 0 {
                break;
            }
            let at = self.network.now();
            let sends = connection.sends.as_deref_mut();
            let pieces = [&buffer[..], last];
            let count = match sends::write(&mut self.network, &self.calls, sends, &connection.socket, pieces)
            {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    connection.engine.handle_blocked();
                    break;
                }
                Err(error) => return Err(error),
            };
            self.note_sent(key, count, at);
            if count < size {
                // There is room again when the poller says so, but for a signal that came in between.
                self.connections[key].engine.handle_blocked();
                if count > 0 {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The transport took `count` further bytes of requests, at `at`.
    pub(super) fn note_sent(&mut self, key: ConnectionKey, count: usize, at: Instant) {
        let connection = &mut self.connections[key];
        connection.engine.handle_written(count);
        if count > 0 {
            connection.progress = at;
        }
        while let Some(sent) = self.connections[key].engine.poll_sent() {
            match sent {
                Sent::Started(call) => {
                    let connection = &mut self.connections[key];
                    let carrier = Carrier {
                        connection: connection.serial,
                        reused: connection.calls_sent > 0,
                        connect: connection.connect,
                    };
                    connection.calls_sent += 1;
                    let call = &mut self.calls[CallKey::from(call)];
                    (call.phase, call.sent, call.carrier) = (Phase::Sent { at }, Some(at), Some(carrier));
                    self.recorder.reply_awaited(at);
                }
                Sent::Finished(call) => {
                    let call = CallKey::from(call);
                    if let Some(sends) = &mut self.connections[key].sends {
                        sends.finished(call, at);
                    }
                    let size = self.request_size(key, call);
                    let call = &mut self.calls[call];
                    let request = &call.request;
                    if !std::mem::replace(&mut call.is_written, true) {
                        self.recorder.request_sent(call.intended, size);
                    }
                    if !call.is_answering() {
                        call.deadline = self.plan.timeouts.reply().map(|limit| at + limit);
                    }
                    if self.plan.watch.requests.is_some() {
                        let head = &self.connections[key].engine.request_head(request);
                        let contents = request.body();
                        self.observer.observe(Observation::Request { call: call.serial, head, contents });
                    }
                    self.note_replay(key);
                }
            }
        }
        self.note_stalls(key);
    }

    /// Reads until there is nothing more, or until it is others' turn.
    ///
    /// As long as replies are due on other streams of the connection, what a reply led to is not sent until nothing more
    /// has arrived: servers answer what was sent at once one after the other, and each answer would be a write.
    fn read(&mut self, key: ConnectionKey, mut now: Instant) {
        let mut buffer = std::mem::take(&mut self.read_buffer);
        let mut reads = 0;
        let mut is_unsettled = false;
        while let Some(connection) = self.connections.get_mut(key) {
            if reads == READS_PER_TURN {
                if !std::mem::replace(&mut connection.is_unread, true) {
                    self.unread.push(key);
                }
                break;
            }
            reads += 1;
            let (is_ending, is_broken) = (connection.is_ending, connection.is_broken);
            let is_tunnelling = connection.tunnel.is_some();
            let is_secured = connection.secured.is_some() && !is_tunnelling;
            let skippable = if is_secured || is_tunnelling { 0 } else { connection.engine.skippable() };
            let skips = skippable >= SKIP_SIZE;
            let room = match &mut self.tls {
                Some(tls) if is_secured => tls.room(),
                _ => &mut buffer,
            };
            let wanted = if skips { skippable.min(DISCARD_MAX as u64) as usize } else { room.len() };
            let read = if skips {
                self.network.discard(&connection.socket, wanted)
            } else {
                self.network.read(&connection.socket, room)
            };
            match read {
                Ok(Received { count: 0, .. }) => {
                    self.handle_eof(key, now);
                    break;
                }
                Ok(Received { count, stamp }) => {
                    connection.heard = now;
                    self.stamp = stamp;
                    if skips {
                        self.recorder.heard(now);
                        connection.engine.handle_skipped(count as u64);
                        self.handle_bytes(key, &[], now);
                    } else if is_tunnelling {
                        self.handle_tunnel_bytes(key, &buffer[..count], now);
                    } else if is_secured {
                        self.handle_ciphertext(key, count, now);
                    } else {
                        self.handle_bytes(key, &buffer[..count], now);
                    }
                    self.stamp = None;
                    is_unsettled = self.awaits_more(key);
                    if is_unsettled {
                        now = self.network.now();
                        continue;
                    }
                    if !is_tunnelling {
                        self.settle(key, now);
                    }
                    if count < wanted && !is_ending {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && !is_broken => break,
                Err(error) => {
                    let is_exhausted = error.kind() == io::ErrorKind::WouldBlock;
                    let error = if is_exhausted { Errno::PIPE.into() } else { error };
                    self.fail_io(key, &error, now);
                    break;
                }
            }
        }
        self.read_buffer = buffer;
        if is_unsettled {
            self.settle(key, now);
        }
    }

    /// Whether replies are due on streams of a connection.
    fn awaits_more(&self, key: ConnectionKey) -> bool {
        self.may_speak_http2()
            && self.connections.get(key).is_some_and(|connection| connection.engine.open_streams() > 0)
    }

    /// Goes on with connections that had more to read than a turn allows.
    pub(super) fn read_on(&mut self) {
        for key in std::mem::take(&mut self.unread) {
            // What the others sent took its time to read.
            let now = self.network.now();
            self.start_due(now);
            if let Some(connection) = self.connections.get_mut(key) {
                connection.is_unread = false;
                self.read(key, now);
            }
        }
    }

    /// Uses bytes that have arrived. To be followed by [`Worker::settle`].
    pub(super) fn handle_bytes(&mut self, key: ConnectionKey, bytes: &[u8], now: Instant) {
        self.reading = Some(key);
        self.use_bytes(key, bytes, now);
        self.reading = None;
    }

    /// What arrived is used up: sends what that led to.
    fn settle(&mut self, key: ConnectionKey, now: Instant) {
        let Some(connection) = self.connections.get(key) else { return };
        let has_unwritten = connection.secured.as_ref().is_some_and(|secured| secured.has_unwritten());
        if connection.engine.wants_write() || has_unwritten {
            self.flush(key, now);
        } else {
            self.refresh_deadline(key);
        }
    }

    pub(super) fn use_bytes(&mut self, key: ConnectionKey, bytes: &[u8], now: Instant) {
        let (mut input, mut is_news) = (bytes, !bytes.is_empty());
        while let Some(connection) = self.connections.get_mut(key) {
            let polled = connection.engine.poll_event(at_instant(now), &mut input, &mut self.header_cache);
            // Not all that comes over HTTP/2 is about replies.
            let is_heard = match &polled {
                _ if connection.engine.is_in_order() => std::mem::take(&mut is_news),
                Ok(Some(event)) => event.call().is_some(),
                Ok(None) => connection.engine.take_content_received(),
                Err(_) => false,
            };
            if is_heard {
                self.recorder.heard(now);
            }
            match polled {
                Ok(Some(event)) => self.handle_event(key, event, now),
                Ok(None) => {
                    self.tell_protocol(key);
                    let Some(connection) = self.connections.get_mut(key) else { return };
                    // Until its status line is complete, each piece of a reply renews its deadline, for a while.
                    if connection.engine.has_partial_head()
                        && let Some(front) = connection.engine.front()
                    {
                        let call = &mut self.calls[CallKey::from(front)];
                        if !call.is_answering() {
                            let line_limit = self.plan.limits.status_line_timeouts;
                            call.renew_deadline(now, self.plan.timeouts.reply(), line_limit);
                        }
                    }
                    return;
                }
                Err(error) => {
                    self.fail_protocol(key, &error, now);
                    return;
                }
            }
        }
    }

    fn handle_event(&mut self, key: ConnectionKey, event: Event<'_>, now: Instant) {
        match event {
            Event::BadStatusLine { line, .. } => {
                self.observer.observe(Observation::BadStatusLine { line: &line });
            }
            Event::ReplyStarted { call, status } => {
                let deadline = self.reply_deadline(now);
                let now = self.received_at(now);
                let call = &mut self.calls[CallKey::from(call)];
                let Phase::Sent { at } = call.phase else {
                    unreachable!("a reply answers a request that was sent")
                };
                call.phase = Phase::Answering { at: now.max(at), status };
                call.deadline = deadline;
                self.recorder.reply_started(call.intended, status, now - at);
            }
            Event::ReplyHead { call, head } => self.handle_head(call.into(), &head, now),
            Event::ReplyBody { call, data } => self.handle_body(call.into(), &data, now),
            Event::ReplyDone { call, size, reuse } => self.handle_done(key, call.into(), size, reuse, now),
            Event::CallReturned { call } => self.return_call(key, call.into(), now),
            Event::CallFailed { call } => self.fail_call(key, call.into(), Failure::Reset, now),
            Event::Draining => self.let_drain(key, now),
            Event::Drained => self.lose_idle(key, now),
            Event::Upgraded { call } => self.upgrade(key, call, now),
        }
    }

    fn handle_done(
        &mut self,
        key: ConnectionKey,
        call_key: CallKey,
        size: ReplySize,
        reuse: Reuse,
        now: Instant,
    ) {
        self.note_stalls(key);
        let call = &mut self.calls[call_key];
        let Phase::Answering { at, status } = call.phase else {
            unreachable!("a reply ends after it started")
        };
        let inspection = call.inspection.take().map(|inspection| *inspection);
        let Finding { decoded_size, mismatch } = inspection::judge(self.plan, status, inspection);
        let done = self.received_at(now).max(at);
        let kernel = self.kernel_times(key, call_key);
        let call = &self.calls[call_key];
        let connection = &self.connections[key];
        let sample = Sample {
            status: Some(status),
            first_byte: Some(at),
            header_size: size.header,
            content_size: size.content,
            footer_size: size.footer,
            decoded_size,
            mismatch,
            receive_lag: self.stamp.map(|stamp| now - stamp),
            kernel,
            ..call.sample(done)
        };
        self.recorder.reply_settled();
        if !call.is_written {
            self.recorder.answered_early(call.intended);
        }
        calls::record(&mut self.recorder, self.plan, &sample, || SlowDetail {
            transport: self.network.transport(&connection.socket),
            server_timing: calls::text(connection.engine.server_timing()),
        });
        if self.plan.watch.calls {
            self.observer.observe(Observation::Call { sample: &sample, start: self.start });
        }
        if self.plan.watch.replies.is_some() {
            self.observer.observe(Observation::ReplyDone { call: call.serial, size });
        }
        let connection = &mut self.connections[key];
        connection.replies += 1;
        let (session_key, slot) = (connection.session, connection.slot);
        self.tell_protocol(key);
        let session = &mut self.sessions[session_key];
        session.replies += 1;
        session.slots[slot].failures = 0;
        if reuse == Reuse::Close || self.closes_after_reply() {
            let unanswered = self.sessions[session_key].visit.unanswered();
            if self.makes_calls_again() && self.connections[key].engine.pending_count() > 0 {
                self.stop_issuing_early(session_key);
            } else if matches!(self.plan.workload, Workload::Connections(_)) && unanswered > 1 {
                // The workload is made of connections: this one ends here, though it did not fail.
                self.calls.remove(call_key);
                let sent = self.drop_calls(session_key, now);
                self.note_closed_early(session_key, unanswered - 1 - sent);
                self.end_session(session_key, false, now);
                return;
            }
            self.retire_unprocessed(key, now);
        }
        self.handle_answer(session_key, slot, call_key, status, now);
    }

    /// When what is being read arrived, by the clock by which replies end.
    fn received_at(&self, now: Instant) -> Instant {
        match (self.plan.recording.clock, self.stamp) {
            (ReplyClock::Kernel, Some(stamp)) => stamp,
            (ReplyClock::Program, _) | (_, None) => now,
        }
    }

    /// Closes a connection behind whose last reply the server processes nothing (RFC 9112, section 9.6). Calls that were
    /// sent there are made again, and count as sent once; but for sessions, where they count each time, as in the classic
    /// tool.
    fn retire_unprocessed(&mut self, key: ConnectionKey, now: Instant) {
        let mut behind = self.connections[key].engine.pending();
        behind.retain(|&call| self.calls[CallKey::from(call)].is_written);
        self.retire_connection(key, now);
        if !matches!(self.plan.workload, Workload::Sessions(_)) {
            behind.into_iter().for_each(|call| self.calls[CallKey::from(call)].is_written = true);
        }
    }

    /// Whether calls of a connection workload that the server did not process, as it closed their connection, are made
    /// again on another: in a closed loop, and where calls are pipelined. Otherwise the workload is made of connections,
    /// and such a call ends with its own.
    pub(super) fn makes_calls_again(&self) -> bool {
        match &self.plan.workload {
            Workload::Connections(workload) => {
                workload.pipeline.get() > 1 || matches!(self.plan.arrivals, Arrivals::Concurrent(_))
            }
            Workload::Calls(_) | Workload::Sessions(_) => false,
        }
    }

    /// The server has closed a connection some of whose calls are made again. If a number of calls was planned on it, no
    /// more are made than those; otherwise the connection that replaces it goes on.
    pub(super) fn stop_issuing_early(&mut self, session: SessionKey) {
        if self.plan.calls_per_arrival() == UNLIMITED {
            return;
        }
        let visit = &mut self.sessions[session].visit;
        let unanswered = visit.unanswered();
        visit.stop_issuing();
        let not_made = unanswered - visit.unanswered();
        if not_made > 0 {
            self.note_closed_early(session, not_made);
        }
    }

    /// The server ended a connection of a connection workload before so many of its calls were made.
    pub(super) fn note_closed_early(&mut self, session: SessionKey, calls_left: u64) {
        if self.plan.calls_per_arrival() != UNLIMITED {
            self.recorder.closed_early(self.sessions[session].ready_at, calls_left);
        }
    }

    /// The transport ended.
    fn handle_eof(&mut self, key: ConnectionKey, now: Instant) {
        let connection = &mut self.connections[key];
        if matches!(connection.stage, Stage::Tunnelling | Stage::Handshaking) {
            self.note_insecure(key, Failure::Reset);
            self.fail(key, Failure::Reset, now);
            return;
        }
        if connection.is_broken && connection.engine.ends_with_connection() {
            // A write has taken the error that would tell a reset from an end.
            self.fail(key, Failure::Reset, now);
            return;
        }
        if connection.secured.is_some() {
            // TLS ends with a close_notify, which ends the connection before this. Without one, a reply that seems
            // to be complete may have been cut short (RFC 9112, section 9.8).
            if connection.engine.ends_with_connection() {
                self.recorder.truncated(self.due_of(key));
                self.fail(key, Failure::Reset, now);
                return;
            }
            if connection.engine.pending_count() == 0 {
                self.recorder.unclean_close(connection.due);
            }
        }
        self.handle_end(key, now);
    }

    /// The peer sends nothing more, and has said so in whatever way the transport has for it.
    pub(super) fn handle_end(&mut self, key: ConnectionKey, now: Instant) {
        let connection = &mut self.connections[key];
        match connection.engine.handle_eof() {
            Ok(Some(event)) => self.handle_event(key, event, now),
            Ok(None) => self.lose_idle(key, now),
            Err(error) => self.fail_protocol(key, &error, now),
        }
    }

    /// The peer ended an idle connection: no one's failure.
    pub(super) fn lose_idle(&mut self, key: ConnectionKey, now: Instant) {
        let connection = &self.connections[key];
        let (session, slot) = (connection.session, connection.slot);
        self.retire_connection(key, now);
        if self.makes_calls_again() && !self.sessions[session].slots[slot].queue.is_empty() {
            self.stop_issuing_early(session);
            self.drive_slot(session, slot, now);
        } else if matches!(self.plan.workload, Workload::Connections(_)) {
            // During a pause there may be calls left, or calls that the server did not process.
            let left = self.sessions[session].visit.unanswered();
            if left > 0 {
                self.drop_calls(session, now);
                self.note_closed_early(session, left);
            }
            self.end_session(session, false, now);
        } else {
            self.drive_slot(session, slot, now);
        }
    }

    pub(super) fn time_out(&mut self, key: ConnectionKey, now: Instant) {
        let Some(connection) = self.connections.get(key) else { return };
        // The poller tells of so many sockets at once. After a pause of this program, what came in time may not
        // have had its turn yet: it has it now.
        if connection.stage == Stage::Connecting {
            let ready = self.network.readiness(&connection.socket, poll_key(key));
            self.handle_ready(&ready, now);
        } else {
            self.read(key, now);
            if self.connections.get(key).is_some_and(|connection| connection.engine.wants_write()) {
                self.flush(key, now);
            }
        }
        let Some(connection) = self.connections.get(key) else { return };
        let is_idle = connection.stage == Stage::Established && connection.engine.pending_count() == 0;
        let awaits_ticket = self.awaits_ticket(key);
        if is_idle && !awaits_ticket || self.deadlines.get(poll_key(key)).is_some_and(|next| next > now) {
            return;
        }
        if self.cancel_expired(key, now) {
            return;
        }
        if awaits_ticket {
            self.give_up_ticket(key, now);
            return;
        }
        self.note_insecure(key, Failure::ClientTimeout);
        self.fail(key, Failure::ClientTimeout, now);
    }

    pub(super) fn fail_protocol(&mut self, key: ConnectionKey, error: &ProtocolError, now: Instant) {
        if let ProtocolError::Http2(error) = error {
            self.note_violation(key, error.reason.to_owned());
        }
        let failure = failure::of_protocol(error);
        if failure == Failure::Other && !std::mem::replace(&mut self.told.protocol_error, true) {
            self.observer.observe(Observation::ProtocolError { error });
        }
        self.fail(key, failure, now);
    }

    fn fail_io(&mut self, key: ConnectionKey, error: &io::Error, now: Instant) {
        let failure = self.classify(error);
        let connection = &self.connections[key];
        if connection.stage == Stage::Established && connection.engine.pending_count() == 0 {
            // Reset while idle is as good as closed while idle.
            self.lose_idle(key, now);
        } else {
            self.note_insecure(key, failure);
            self.fail(key, failure, now);
        }
    }

    pub(super) fn fail(&mut self, key: ConnectionKey, failure: Failure, now: Instant) {
        self.recorder.failed(self.due_of(key), failure);
        self.note_silence(key, failure);
        let connection = &self.connections[key];
        let (session, slot, answered) = (connection.session, connection.slot, connection.replies > 0);
        // What timed out took its time.
        self.sessions[session].is_unreached =
            connection.stage == Stage::Connecting && failure != Failure::ClientTimeout;
        let lost = self.retire_connection(key, now);
        self.handle_failure(session, slot, Lost { failure, answered, calls: lost }, now);
    }

    /// A connection that never came to be watched.
    fn fail_to_open(&mut self, session: SessionKey, slot: usize, error: &io::Error, now: Instant) {
        let failure = self.classify(error);
        self.recorder.failed(self.sessions[session].ready_at, failure);
        self.sessions[session].is_unreached = true;
        let calls = self.sessions[session].slots[slot].queue.len();
        self.handle_failure(session, slot, Lost { failure, answered: false, calls }, now);
    }

    fn classify(&mut self, error: &io::Error) -> Failure {
        let failure = failure::of_io(error);
        if failure == Failure::Other && !std::mem::replace(&mut self.told.unexpected_error, true) {
            let errno = error.raw_os_error().unwrap_or_default();
            self.observer.observe(Observation::UnexpectedError { errno });
        }
        failure
    }

    /// Closes a connection; calls without a reply go back to the head of the slot's queue. Returns how many they are.
    pub(super) fn retire_connection(&mut self, key: ConnectionKey, now: Instant) -> usize {
        self.note_transport(key, now);
        let (session, slot) = (self.connections[key].session, self.connections[key].slot);
        let pending = self.close_connection(key, now);
        pending.iter().for_each(|&call| self.reset_call(call.into(), now));
        let session = &mut self.sessions[session];
        session.draining.retain(|&draining| draining != key);
        let slot = &mut session.slots[slot];
        if slot.connection == Some(key) {
            slot.connection = None;
        }
        pending.iter().rev().for_each(|&call| slot.queue.push_front(call.into()));
        pending.len()
    }

    /// Asks, before a connection goes, what its transport has to say about the calls that will not be answered on it.
    pub(super) fn note_transport(&mut self, key: ConnectionKey, now: Instant) {
        let connection = &self.connections[key];
        for call in connection.engine.pending() {
            // One that was forgotten is of no interest.
            let Some(call) = self.calls.get_mut(CallKey::from(call)) else { continue };
            if call.is_sent() && self.recorder.is_slow(call.intended, now) {
                call.transport = self.network.transport(&connection.socket).map(Box::new);
            }
        }
    }

    /// When it was due what happens on a connection: the call at the head of its queue, or the connection itself.
    pub(super) fn due_of(&self, key: ConnectionKey) -> Instant {
        let connection = &self.connections[key];
        connection.engine.front().map_or(connection.due, |front| self.calls[CallKey::from(front)].intended)
    }

    /// Closes a connection and counts it. Returns its calls without a reply.
    pub(super) fn close_connection(&mut self, key: ConnectionKey, now: Instant) -> Vec<CallId> {
        self.note_stalls(key);
        self.take_counts(key, now);
        self.say_goodbye(key);
        self.make_room(now);
        let connection = &self.connections[key];
        if connection.stage == Stage::Handshaking {
            self.recorder.handshake_given_up(now);
        }
        self.deadlines.remove(poll_key(key));
        let pending = connection.engine.pending();
        let lifetime = (connection.replies > 0).then(|| now - connection.connect_started);
        self.recorder.connection_closed(connection.due, lifetime);
        if let Some(lifetime) = lifetime
            && self.plan.watch.lifetimes
        {
            self.observer.observe(Observation::Lifetime { lifetime });
        }
        self.connections.remove(key);
        pending
    }

    pub(super) fn set_deadline(&mut self, key: ConnectionKey, deadline: Option<Instant>) {
        self.deadlines.set(poll_key(key), deadline);
    }

    /// Sets the deadline that is in force: for the connect, for the request at the head of the queue to be
    /// written, or for its reply.
    pub(super) fn refresh_deadline(&mut self, key: ConnectionKey) {
        let timeouts = &self.plan.timeouts;
        if timeouts.reply().is_none() {
            return;
        }
        let Some(connection) = self.connections.get(key) else { return };
        if !connection.engine.is_in_order() && self.deadlines.get(poll_key(key)).is_some() {
            // Which call is due next is found out when the time has come: most are answered by then.
            return;
        }
        if connection.stage != Stage::Established
            || connection.engine.pending_count() == 0 && self.awaits_ticket(key)
        {
            return;
        }
        let deadline = connection.engine.front().and_then(|front| {
            let call = &self.calls[CallKey::from(front)];
            call.deadline.or_else(|| timeouts.timeout.map(|limit| connection.progress + limit))
        });
        self.deadlines.set(poll_key(key), deadline);
    }
}
