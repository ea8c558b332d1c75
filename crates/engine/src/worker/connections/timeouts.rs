//! Deadlines that pass: the connections and calls that they end.

use httperf_stats::{Failure, Instant};

use super::connection::Connection;
use super::progress::Stage;
use super::{Connections, Cx, EventKind, Handler, Sinks, poll_key};
use crate::Network;
use crate::failure::{self, Awaits};
use crate::worker::{CallKey, ConnectionKey};

impl<N: Network> Connections<N> {
    /// The deadline of a connection has come.
    pub(in crate::worker) fn time_out<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        let Some(connection) = self.connections.get(key) else { return };
        // The poller tells of a limited number of sockets at once. After a pause of this program, bytes that came in
        // time may not have had their turn yet: they have it now.
        if connection.transport.stage() == Stage::Connecting {
            let ready = self.network.readiness(connection.transport.socket(), poll_key(key));
            self.handle_ready(&ready, now, to);
        } else {
            self.read_any(key, now, to);
            if self.connections.get(key).is_some_and(|connection| connection.engine.wants_write()) {
                self.flush_and_tell(key, now, to);
            }
        }
        if self.connections.contains_key(key) && self.end_late(key, now, to) {
            return;
        }
        let Some(connection) = self.connections.get(key) else { return };
        let awaits_ticket = connection.awaits_ticket();
        let is_settled = connection.is_idle() && !awaits_ticket;
        if is_settled || self.deadlines.get(poll_key(key)).is_some_and(|next| next > now) {
            return;
        }
        if let Some(expired) = connection.expired(now, to.run) {
            self.set_deadline(key, expired.next);
            self.cancel(key, &expired.calls, now, to);
            return;
        }
        if awaits_ticket {
            self.give_up_ticket(key, now, to);
            return;
        }
        let awaits = connection.awaits(to.run);
        // What has come of a reply may be no part of one: then more of it is awaited in vain.
        let cause = match connection.engine.foreign() {
            Some(foreign) => failure::of_foreign(&foreign),
            None => failure::of_timeout(awaits).into(),
        };
        self.record_insecure(key, Failure::ClientTimeout, to.run);
        // Where its calls have nothing in common but the connection, each of them counts.
        let connection = &self.connections[key];
        if connection.calls_end_alone(to.run) {
            for call in connection.engine.pending().into_iter().skip(1) {
                let due = to.run.call(call.into()).intended();
                to.run.recorder.failed(due, cause.clone());
            }
        }
        self.fail_and_tell(key, cause, now, to);
    }

    /// A deadline has come, perhaps that of a reply which is complete for its user. Returns whether nothing else is late.
    fn end_late<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) -> bool {
        if to.run.plan.replies.streams.model.is_none() {
            return false;
        }
        let is_late = |call| to.run.linger(call).is_some_and(|deadline| deadline <= now);
        if self.pending(key).any(is_late) {
            self.end_complete(key, now, to);
        }
        let Some(connection) = self.connections.get(key) else { return true };
        if connection.wants_write() {
            self.flush_and_tell(key, now, to);
        }
        let Some(connection) = self.connections.get(key) else { return true };
        // Without a time limit, only such a reply had a deadline.
        if to.run.plan.timeouts.reply().is_some()
            || !connection.engine.is_in_order()
            || !connection.transport.is_established()
            || connection.awaits_ticket()
        {
            return false;
        }
        let next = connection.front_deadline(to.run);
        self.set_deadline(key, next);
        next.is_none_or(|next| next > now)
    }

    /// Gives up calls of a connection that goes on, unless they were all that it was kept for.
    fn cancel<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        calls: &[CallKey],
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        for &call in calls {
            // The handler may have ended the connection, and with it the other calls.
            let Some(connection) = self.connections.get_mut(key) else { break };
            let awaits = match to.run.call(call) {
                call if call.is_talking() => Awaits::Message,
                call if call.is_answering() => Awaits::Body,
                call if call.is_written() => Awaits::Reply,
                _ => Awaits::Request,
            };
            connection.cancel(call, now, to.run);
            let kind = EventKind::CallFailed { call, cause: failure::of_timeout(awaits).into() };
            self.tell(key, kind, now, to);
        }
        if !calls.is_empty() {
            self.flush_and_tell(key, now, to);
        }
        if self.connections.get(key).is_some_and(Connection::is_drained) {
            let event = self.end(key, now, to.run);
            to.handler.handle(event, &mut Cx { connections: self, run: to.run, now });
        }
    }
}
