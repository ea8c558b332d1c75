//! The ends of connections: closed by us, ended by the server, failed.

use std::io;

use httperf_proto::{Event as Reply, ProtocolError};
use httperf_stats::{CauseKind, Failure, FailureCause, Instant};

use super::connection::Connection;
use super::progress::Stage;
use super::{Connections, Event, EventKind, Lost, at_instant, poll_key, quic};
use crate::failure::{self, Awaits};
use crate::worker::run::{Call, Run};
use crate::worker::{CallKey, ConnectionKey};
use crate::{Network, Observation};

impl<N: Network> Connections<N> {
    /// Removes a connection whose read or write failed. Returns its last event.
    pub(super) fn lose_by(
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
            self.lose(key, cause, now, run)
        }
    }

    /// Removes a connection that failed. Returns its last event.
    pub(super) fn lose(
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
        let has_answered = connection.has_answered();
        // A connection that timed out took its time.
        let is_unreached = connection.is_unreached() && failure != Failure::ClientTimeout;
        let owner = connection.owner;
        let calls = self.retire(key, now, run);
        let kind = EventKind::Lost(Lost { failure, has_answered, is_unreached, calls });
        Event { connection: key, owner, now, kind }
    }

    /// The peer ended a connection while no reply was due.
    pub(super) fn end(&mut self, key: ConnectionKey, now: Instant, run: &mut Run<'_>) -> Event {
        let owner = self.connections[key].owner;
        let kind = EventKind::Ended(self.retire(key, now, run));
        Event { connection: key, owner, now, kind }
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
        let Connection { transport, engine, .. } = connection;
        let Some(mut stream) = engine.byte_stream() else {
            self.close_quic(connection, now);
            return;
        };
        let stage = transport.stage();
        match (transport.secured_mut(), &mut self.tls) {
            (Some(secured), Some(tls)) => {
                secured.close(tls, stage, &mut stream);
                transport.send_last(&mut self.network, Some(tls), &[]);
            }
            _ if stage == Stage::Established => {
                transport.send_last(&mut self.network, None, stream.goodbye());
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

    /// Ends the next reply whose stream the server has marked as done. Returns its event; `None` if no such reply is left.
    #[inline]
    pub(super) fn end_complete(
        &mut self,
        key: ConnectionKey,
        now: Instant,
        run: &mut Run<'_>,
    ) -> Option<Event> {
        run.plan.replies.streams.model.as_ref()?;
        for call in self.pending(key) {
            let complete = run.find_call(call).filter(|call| call.done_at().is_some());
            let Some(content) = complete.map(Call::streamed_size) else { continue };
            let reply = self.connections[key].engine.end_early(at_instant(now), call.into());
            if let Some(Reply::ReplyDone { mut size, reuse, .. }) = reply {
                size.content = content;
                return Some(self.event(key, EventKind::Complete { call, size, reuse }, now));
            }
        }
        None
    }

    /// The transport ended.
    pub(super) fn handle_eof(
        &mut self,
        key: ConnectionKey,
        now: Instant,
        run: &mut Run<'_>,
    ) -> Option<Event> {
        let connection = &mut self.connections[key];
        let awaits = connection.awaits(run);
        if matches!(connection.transport.stage(), Stage::Tunnelling | Stage::Handshaking) {
            self.record_insecure(key, Failure::Reset, run);
            self.fail(key, failure::of_end(awaits), now);
            return None;
        }
        let is_cut = connection.engine.byte_stream().is_some_and(|stream| stream.ends_with_connection());
        if connection.transport.is_broken() && is_cut {
            // A write has taken the error that would tell a reset from an end.
            self.fail(key, failure::of_reset(awaits), now);
            return None;
        }
        if connection.transport.is_secured() {
            // TLS ends with a close_notify, which ends the connection before this. Without one, a reply that seems
            // to be complete may have been cut short (RFC 9112, section 9.8).
            if is_cut {
                run.recorder.truncated(connection.due_of(run));
                self.fail(key, CauseKind::TlsTruncated, now);
                return None;
            }
            if connection.engine.pending_count() == 0 {
                run.recorder.unclean_close(connection.due());
            }
        }
        self.handle_end(key, now, run)
    }

    /// The peer sends nothing more, and has said so in the way of its transport.
    pub(super) fn handle_end(
        &mut self,
        key: ConnectionKey,
        now: Instant,
        run: &mut Run<'_>,
    ) -> Option<Event> {
        let connection = &mut self.connections[key];
        if let Some(halt) = &mut connection.halt {
            halt.has_ended = true;
            return None;
        }
        let ended = connection.engine.byte_stream().map_or(Ok(None), |mut stream| stream.handle_eof());
        match ended {
            Ok(Some(Reply::ReplyDone { call, size, reuse })) => {
                let kind = EventKind::Complete { call: call.into(), size, reuse };
                Some(self.event(key, kind, now))
            }
            Ok(_) => Some(self.end(key, now, run)),
            Err(error) => {
                self.fail_protocol(key, &error, now, run);
                None
            }
        }
    }

    pub(super) fn fail_protocol(
        &mut self,
        key: ConnectionKey,
        error: &ProtocolError,
        now: Instant,
        run: &mut Run<'_>,
    ) {
        // What was understood before counts, even if it came in the same read.
        self.connections[key].record_protocol(run);
        if let ProtocolError::BadStatusLine { line } = error {
            run.observe(Observation::BadStatusLine { line });
        }
        if let ProtocolError::Http2(error) = error {
            self.record_violation(key, error.reason.to_owned(), run);
            if error.is_not_http2() {
                run.stranger_met();
            }
        }
        if let ProtocolError::Http3(error) = error {
            self.record_violation(key, error.reason.to_owned(), run);
        }
        let awaits = self.connections[key].awaits(run);
        let cause = match error {
            ProtocolError::Quic(loss) => self.record_loss(key, loss, run),
            ProtocolError::Truncated => failure::of_protocol(error, awaits),
            error => match (awaits, run.cause_of_breach(error, awaits)) {
                (Awaits::Tunnel, _) => CauseKind::ProxyMalformed.with(error.to_string()),
                (_, cause) => cause,
            },
        };
        self.fail(key, cause, now);
    }

    /// A connection ends because the server does not speak HTTP/2, or breaks its rules.
    pub(super) fn record_violation(&self, key: ConnectionKey, reason: String, run: &mut Run<'_>) {
        let due = self.connections[key].due_of(run);
        run.recorder.http2(due, |http2| http2.add_violation(reason));
    }
}
