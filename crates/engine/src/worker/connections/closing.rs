//! The ends of connections: closed by us, ended by the server, failed.

use std::io;

use httperf_proto::{Event as Reply, ProtocolError};
use httperf_stats::{CauseKind, Failure, FailureCause, Instant};
use rustix::io::Errno;

use super::connection::Connection;
use super::progress::Stage;
use super::{Connections, Cx, Event, EventKind, Handler, Lost, Sinks, at_instant, poll_key, quic};
use crate::failure::{self, Awaits};
use crate::worker::run::{Call, Run};
use crate::worker::{CallKey, ConnectionKey};
use crate::{Network, Observation};

impl<N: Network> Connections<N> {
    /// A read or a write failed.
    pub(super) fn fail_io(
        &mut self,
        key: ConnectionKey,
        error: &io::Error,
        now: Instant,
        run: &mut Run<'_>,
    ) -> Event {
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
    pub(super) fn fail(
        &mut self,
        key: ConnectionKey,
        cause: FailureCause,
        now: Instant,
        run: &mut Run<'_>,
    ) -> Event {
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
    pub(super) fn end(&mut self, key: ConnectionKey, now: Instant, run: &mut Run<'_>) -> Event {
        let owner = self.connections[key].owner;
        let kind = EventKind::Ended(self.retire(key, now, run));
        Event { connection: key, owner, kind }
    }

    /// Closes a connection. Returns its calls without a reply, in order, as if never sent.
    pub(in crate::worker) fn retire(
        &mut self,
        key: ConnectionKey,
        now: Instant,
        run: &mut Run<'_>,
    ) -> Vec<CallKey> {
        self.keep_transport(key, now, run);
        let calls: Vec<CallKey> = self.close(key, now, run);
        calls.iter().for_each(|&call| run.reset_call(call, now));
        calls
    }

    /// Keeps the state of a connection's transport for the calls that will not be answered on it.
    pub(in crate::worker) fn keep_transport(&mut self, key: ConnectionKey, now: Instant, run: &mut Run<'_>) {
        let connection = &self.connections[key];
        for call in connection.engine.pending() {
            run.keep_transport(call.into(), now, || connection.slow_detail(&mut self.network));
        }
    }

    /// Closes a connection and records its end. Returns its calls without a reply, in order.
    pub(in crate::worker) fn close(
        &mut self,
        key: ConnectionKey,
        now: Instant,
        run: &mut Run<'_>,
    ) -> Vec<CallKey> {
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
        if connection.engine.datagrams().is_some() {
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
    pub(in crate::worker) fn close_idle(&mut self, now: Instant, run: &mut Run<'_>) {
        for key in self.connections.keys().collect::<Vec<_>>() {
            if self.connections[key].engine.pending_count() == 0 {
                self.close(key, now, run);
            }
        }
    }

    /// Fails a connection, and tells the handler.
    pub(super) fn fail_and_tell<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        cause: impl Into<FailureCause>,
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        self.end_complete(key, now, to);
        if !self.connections.contains_key(key) {
            return;
        }
        let event = self.fail(key, cause.into(), now, to.run);
        to.handler.handle(event, &mut Cx { connections: self, run: to.run, now });
    }

    /// Nobody listens, and the socket has met itself: it is refused.
    #[cold]
    pub(super) fn refuse_itself<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        let event = self.fail_io(key, &Errno::CONNREFUSED.into(), now, to.run);
        to.handler.handle(event, &mut Cx { connections: self, run: to.run, now });
    }

    /// Ends the replies on a connection that are complete for their users: the server has said so. That may end the connection.
    #[inline]
    pub(super) fn end_complete<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        if to.run.plan.replies.streams.model.is_none() {
            return;
        }
        let pending: Vec<CallKey> = self.pending(key).collect();
        for call in pending {
            // The handler may have ended the connection, and other calls.
            let Some(connection) = self.connections.get_mut(key) else { return };
            let complete = to.run.find_call(call).filter(|call| call.done_at().is_some());
            let Some(content) = complete.map(Call::streamed_size) else { continue };
            if let Some(mut reply) = connection.engine.end_early(at_instant(now), call.into()) {
                if let Reply::ReplyDone { size, .. } = &mut reply {
                    size.content = content;
                }
                self.handle_reply(key, reply, now, to);
            }
        }
    }

    /// The transport ended.
    pub(super) fn handle_eof<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        let connection = &self.connections[key];
        let awaits = connection.awaits(to.run);
        if matches!(connection.transport.stage(), Stage::Tunnelling | Stage::Handshaking) {
            self.record_insecure(key, Failure::Reset, to.run);
            self.fail_and_tell(key, failure::of_end(awaits), now, to);
            return;
        }
        let is_cut = connection.engine.ends_with_connection();
        if connection.transport.is_broken() && is_cut {
            // A write has taken the error that would tell a reset from an end.
            self.fail_and_tell(key, failure::of_reset(awaits), now, to);
            return;
        }
        if connection.transport.is_secured() {
            // TLS ends with a close_notify, which ends the connection before this. Without one, a reply that seems
            // to be complete may have been cut short (RFC 9112, section 9.8).
            if is_cut {
                to.run.recorder.truncated(connection.due_of(to.run));
                self.fail_and_tell(key, CauseKind::TlsTruncated, now, to);
                return;
            }
            if connection.engine.pending_count() == 0 {
                to.run.recorder.unclean_close(connection.due());
            }
        }
        self.handle_end(key, now, to);
    }

    /// The peer sends nothing more, and has said so in the way of its transport.
    pub(super) fn handle_end<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        let connection = &mut self.connections[key];
        if let Some(halt) = &mut connection.halt {
            halt.has_ended = true;
            return;
        }
        match connection.engine.handle_eof() {
            Ok(Some(reply)) => {
                self.handle_reply(key, reply, now, to);
            }
            Ok(None) => {
                let event = self.end(key, now, to.run);
                to.handler.handle(event, &mut Cx { connections: self, run: to.run, now });
            }
            Err(error) => self.fail_protocol(key, &error, now, to),
        }
    }

    pub(super) fn fail_protocol<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        error: &ProtocolError,
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        // What was understood before counts, even if it came in the same read.
        self.connections[key].record_protocol(to.run);
        if let ProtocolError::BadStatusLine { line } = error {
            to.run.observe(Observation::BadStatusLine { line });
        }
        if let ProtocolError::Http2(error) = error {
            self.record_violation(key, error.reason.to_owned(), to.run);
            if error.is_not_http2() {
                to.run.stranger_met();
            }
        }
        if let ProtocolError::Http3(error) = error {
            self.record_violation(key, error.reason.to_owned(), to.run);
        }
        let awaits = self.connections[key].awaits(to.run);
        let cause = match error {
            ProtocolError::Quic(loss) => self.record_loss(key, loss, to.run),
            ProtocolError::Truncated => failure::of_protocol(error, awaits),
            error => match (awaits, to.run.cause_of_breach(error, awaits)) {
                (Awaits::Tunnel, _) => CauseKind::ProxyMalformed.with(error.to_string()),
                (_, cause) => cause,
            },
        };
        self.fail_and_tell(key, cause, now, to);
    }

    /// A connection ends because the server does not speak HTTP/2, or breaks its rules.
    pub(super) fn record_violation(&self, key: ConnectionKey, reason: String, run: &mut Run<'_>) {
        let due = self.connections[key].due_of(run);
        run.recorder.http2(due, |http2| http2.add_violation(reason));
    }
}
