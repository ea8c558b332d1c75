//! Deadlines that pass: the connections and calls that they end.

use httperf_stats::{Failure, Instant};

use super::progress::Stage;
use super::reading::{Reading, Step};
use super::{Connections, Event, EventKind, poll_key};
use crate::Network;
use crate::failure::{self, Awaits};
use crate::worker::ConnectionKey;
use crate::worker::run::Run;

impl<N: Network> Connections<N> {
    /// The deadline of a connection has come.
    pub(in crate::worker) fn time_out(&mut self, key: ConnectionKey, now: Instant, run: &mut Run<'_>) {
        let Some(connection) = self.connections.get(key) else { return };
        // The poller tells of a limited number of sockets at once. After a pause of this program, bytes that came in
        // time may not have had their turn yet: they have it now.
        if connection.transport.stage() == Stage::Connecting {
            let ready = self.network.readiness(connection.transport.socket(), poll_key(key));
            self.handle_ready(&ready, now, run);
        } else {
            self.begin_reading(self.reading_of(key, now));
        }
        if self.reading.step == Step::Done {
            self.begin_reading(Reading::new(key, Step::Late, now));
        }
        self.reading.last = Step::Late;
    }

    /// Begins to handle a deadline, after all bytes that came in time are read.
    pub(super) fn handle_late(&mut self, key: ConnectionKey, now: Instant, run: &mut Run<'_>) {
        let has_models = run.plan.replies.streams.model.is_some();
        let is_late = |call| run.linger(call).is_some_and(|deadline| deadline <= now);
        let ends_complete = has_models && self.pending(key).any(is_late);
        self.reading.step = match has_models {
            true if ends_complete => Step::EndComplete,
            true => Step::StillLate,
            false => Step::TimeOut,
        };
        if self.connections[key].wants_write() {
            self.flush(key, now, run);
        }
    }

    /// Goes on once the complete replies have ended: perhaps the deadline was only theirs.
    pub(super) fn handle_still_late(&mut self, key: ConnectionKey, now: Instant, run: &mut Run<'_>) {
        self.reading.step = Step::TimeOut;
        if self.connections[key].wants_write() {
            self.flush(key, now, run);
        }
        let connection = &self.connections[key];
        // Without a time limit, only such a reply had a deadline.
        if run.plan.timeouts.reply().is_some()
            || !connection.engine.is_in_order()
            || !connection.transport.is_established()
            || connection.awaits_ticket()
        {
            return;
        }
        let next = connection.front_deadline(run);
        self.set_deadline(key, next);
        if next.is_none_or(|next| next > now) {
            self.reading.step = Step::Done;
        }
    }

    /// Gives up the calls, the wait for a ticket, or the connection whose deadline has passed.
    pub(super) fn give_up(&mut self, key: ConnectionKey, now: Instant, run: &mut Run<'_>) {
        self.reading.step = Step::Done;
        let connection = &self.connections[key];
        let awaits_ticket = connection.awaits_ticket();
        let is_settled = connection.is_idle() && !awaits_ticket;
        if is_settled || self.deadlines.get(poll_key(key)).is_some_and(|next| next > now) {
            return;
        }
        if let Some(expired) = connection.expired(now, run) {
            self.set_deadline(key, expired.next);
            self.expired.extend(expired.calls.into_iter().rev());
            self.reading.step = if self.expired.is_empty() { Step::EndDrained } else { Step::Cancel };
            return;
        }
        if awaits_ticket {
            self.give_up_ticket(key, now);
            return;
        }
        let awaits = connection.awaits(run);
        // What has come of a reply may be no part of one: then more of it is awaited in vain.
        let cause = match connection.engine.foreign() {
            Some(foreign) => failure::of_foreign(&foreign),
            None => failure::of_timeout(awaits).into(),
        };
        self.record_insecure(key, Failure::ClientTimeout, run);
        // Where its calls have nothing in common but the connection, each of them counts.
        let connection = &self.connections[key];
        if connection.calls_end_alone(run) {
            for call in connection.engine.pending().into_iter().skip(1) {
                let due = run.call(call.into()).intended();
                run.recorder.failed(due, cause.clone());
            }
        }
        self.fail(key, cause, now);
    }

    /// Cancels the next expired call of a connection that goes on.
    pub(super) fn cancel_next(
        &mut self,
        key: ConnectionKey,
        now: Instant,
        run: &mut Run<'_>,
    ) -> Option<Event> {
        let Some(call) = self.expired.pop() else {
            self.reading.step = Step::EndDrained;
            self.flush(key, now, run);
            return None;
        };
        let awaits = match run.call(call) {
            call if call.is_talking() => Awaits::Message,
            call if call.is_answering() => Awaits::Body,
            call if call.is_written() => Awaits::Reply,
            _ => Awaits::Request,
        };
        self.connections[key].cancel(call, now, run);
        let kind = EventKind::CallFailed { call, cause: failure::of_timeout(awaits).into() };
        Some(self.event(key, kind, now))
    }

    /// Ends a draining connection that has no calls left.
    pub(super) fn end_drained(
        &mut self,
        key: ConnectionKey,
        now: Instant,
        run: &mut Run<'_>,
    ) -> Option<Event> {
        self.reading.step = Step::Done;
        self.connections[key].is_drained().then(|| self.end(key, now, run))
    }
}
