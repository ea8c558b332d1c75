//! The ends of connections, calls and sessions: further attempts, closing.

use std::time::Duration;

use httperf_plan::Limits;
use httperf_proto::Undone;
use httperf_stats::{CauseKind, Failure, FailureCause, SessionEnd};

use super::policy::{Conclusion, Dispatch, Loss, Policy, Timer, Unit};
use crate::worker::connections::{Cx, Owner};
use crate::worker::{CallKey, ConnectionKey, SessionKey};
use crate::{Network, failure};

/// Connections.
impl<'a, P: Policy<'a>> Dispatch<'a, P> {
    /// A connection is gone: its calls without a reply wait for another, before those that waited already. Returns the
    /// number of them.
    pub(super) fn detach<N: Network>(
        &mut self,
        connection: ConnectionKey,
        owner: Owner,
        calls: &[CallKey],
        cx: &mut Cx<'_, '_, N>,
    ) -> usize {
        self.make_room_of_connection(cx);
        let session = &mut self.sessions[owner.session];
        session.draining.retain(|&draining| draining != connection);
        let slot = &mut session.slots[owner.slot];
        if slot.connection == Some(connection) {
            slot.connection = None;
        }
        calls.iter().rev().for_each(|&call| slot.queue.push_front(call));
        calls.len()
    }

    /// A connection was closed.
    fn make_room_of_connection<N: Network>(&mut self, cx: &mut Cx<'_, '_, N>) {
        if P::UNIT != Unit::Session {
            self.make_room(cx.run.recorder.open() + 1, cx);
        }
    }

    /// Closes a connection behind whose last reply the server processes nothing. Calls that were sent there are made
    /// again, and count as sent once; but for sessions, where they count each time, as in the classic tool.
    pub(super) fn retire_unprocessed<N: Network>(
        &mut self,
        connection: ConnectionKey,
        owner: Owner,
        cx: &mut Cx<'_, '_, N>,
    ) {
        let mut behind: Vec<CallKey> = cx.connections.pending(connection).collect();
        behind.retain(|&call| cx.run.call(call).is_written());
        let calls = cx.connections.retire(connection, cx.now, cx.run);
        self.detach(connection, owner, &calls, cx);
        if P::UNIT != Unit::Session {
            behind.into_iter().for_each(|call| cx.run.keep_written(call));
        }
    }

    /// The connection of a slot failed, or could not be opened: another is opened for the calls that may be made on one, or
    /// the session ends. `retries`: calls are made again whose connection failed without a reply.
    pub(super) fn replace_lost<N: Network>(&mut self, loss: Loss, retries: bool, cx: &mut Cx<'_, '_, N>) {
        let Loss { owner, failure, has_answered, .. } = loss;
        let slot = &mut self.sessions[owner.session].slots[owner.slot];
        if failure == Failure::ClientTimeout {
            self.end_session(owner.session, false, cx);
        } else if slot.queue.is_empty() {
            // It was idle: the next call opens another.
        } else if has_answered {
            self.drive_slot(owner, cx);
        } else if retries {
            slot.failures += 1;
            let failures = slot.failures;
            self.wait_and_retry(owner, failures, cx);
        } else {
            self.end_session(owner.session, false, cx);
        }
    }

    pub(super) fn wait_and_retry<N: Network>(&mut self, owner: Owner, attempts: u32, cx: &mut Cx<'_, '_, N>) {
        let limits = &self.plan.limits;
        if attempts > limits.retries {
            cx.run.recorder.retries_exhausted(self.sessions[owner.session].ready_at);
            self.end_session(owner.session, false, cx);
            return;
        }
        let pause = retry_pause(limits, attempts);
        if pause.is_zero() {
            self.drive_slot(owner, cx);
        } else {
            self.sessions[owner.session].slots[owner.slot].is_waiting = true;
            self.set_timer(cx.now + pause, Timer::Retry(owner.session, owner.slot as u32));
        }
    }

    /// A connection takes no further calls, and still answers those that it has. Its place is another's.
    pub(super) fn let_drain<N: Network>(
        &mut self,
        connection: ConnectionKey,
        owner: Owner,
        cx: &mut Cx<'_, '_, N>,
    ) {
        if P::UNIT == Unit::Connection {
            return;
        }
        let session = &mut self.sessions[owner.session];
        if session.slots[owner.slot].connection == Some(connection) {
            session.slots[owner.slot].connection = None;
            session.draining.push(connection);
        }
        self.drive_slot(owner, cx);
    }
}

/// Calls.
impl<'a, P: Policy<'a>> Dispatch<'a, P> {
    /// The server has not processed a call: makes it again, on another connection if `is_draining`: its own takes no further
    /// calls.
    pub(super) fn handle_returned<N: Network>(
        &mut self,
        owner: Owner,
        call: CallKey,
        why: Undone,
        is_draining: bool,
        cx: &mut Cx<'_, '_, N>,
    ) {
        let was_sent = cx.run.call(call).is_sent();
        let intended = cx.run.call(call).intended();
        cx.run.take_back(call, cx.now);
        let retries = P::attempts(self, owner.session, is_draining);
        match self.try_again(owner, call, retries, cx) {
            Ok(()) => cx.run.recorder.http2(intended, |http2| http2.retried += u64::from(was_sent)),
            Err(limit) => {
                let cause = limit.map_or_else(|| failure::of_undone(why), Into::into);
                self.handle_call_failed(owner, call, cause, cx);
            }
        }
    }

    /// Makes a call again, up to `retries` times in a row: at once the first time, and later each time after. If it may not
    /// be, returns its cause of failure if that is the time limit of all attempts.
    pub(super) fn try_again<N: Network>(
        &mut self,
        owner: Owner,
        call: CallKey,
        retries: u32,
        cx: &mut Cx<'_, '_, N>,
    ) -> Result<(), Option<CauseKind>> {
        let attempts = cx.run.count_attempt(call);
        if attempts > retries.min(self.plan.limits.retries) {
            return Err(None);
        }
        let until = cx.run.call(call).again_until();
        if until.is_some_and(|until| until <= cx.now) {
            return Err(Some(CauseKind::ReplyTimedOut));
        }
        let pause = retry_pause(&self.plan.limits, attempts);
        if pause.is_zero() {
            self.make_again(owner, call, cx);
        } else {
            self.sessions[owner.session].pausing.push(call);
            let next = cx.now + pause;
            let at = until.map_or(next, |until| next.min(until));
            self.set_timer(at, Timer::Again(owner.session, owner.slot as u32, call));
        }
        Ok(())
    }

    /// The pause before another attempt is over, if the call is still to be made.
    pub(super) fn end_pause<N: Network>(
        &mut self,
        session: SessionKey,
        slot: usize,
        call: CallKey,
        cx: &mut Cx<'_, '_, N>,
    ) {
        if let Some(paused) = self.sessions.get_mut(session)
            && let Some(place) = paused.pausing.iter().position(|&pausing| pausing == call)
        {
            paused.pausing.swap_remove(place);
            let owner = Owner { session, slot };
            if cx.run.call(call).again_until().is_some_and(|until| until <= cx.now) {
                self.handle_call_failed(owner, call, CauseKind::ReplyTimedOut.into(), cx);
            } else {
                self.make_again(owner, call, cx);
            }
        }
    }

    fn make_again<N: Network>(&mut self, owner: Owner, call: CallKey, cx: &mut Cx<'_, '_, N>) {
        self.sessions[owner.session].slots[owner.slot].queue.push_back(call);
        self.drive_slot(owner, cx);
    }

    /// A call failed, and its connection goes on.
    pub(super) fn handle_call_failed<N: Network>(
        &mut self,
        owner: Owner,
        call: CallKey,
        cause: FailureCause,
        cx: &mut Cx<'_, '_, N>,
    ) {
        cx.run.recorder.failed(cx.run.call(call).intended(), cause);
        P::failed(self, owner, call, cx);
    }
}

/// Sessions.
impl<'a, P: Policy<'a>> Dispatch<'a, P> {
    /// Ends a session and all that belongs to it. Calls that have not been answered count as failed.
    pub(super) fn end_session<N: Network>(
        &mut self,
        key: SessionKey,
        completed: bool,
        cx: &mut Cx<'_, '_, N>,
    ) {
        if P::UNIT == Unit::Session {
            self.make_room(self.sessions.len() as u64, cx);
        }
        let Some(session) = self.sessions.remove(key) else { return };
        for connection in session.connections() {
            self.close_connection(connection, cx);
        }
        let queued = session.slots.iter().flat_map(|slot| &slot.queue);
        for call in queued.chain(&session.pausing) {
            cx.run.abandon_call(*call, cx.now);
        }
        let conclusion = if completed { Conclusion::Completed } else { Conclusion::Failed };
        P::record_end(&session, conclusion, cx.now, cx.run);
        if session.is_light && completed {
            cx.run.recorder.held_place_lightly(session.intended, cx.now - session.started);
        }
        cx.run.recorder.session_ended(SessionEnd {
            completed,
            intended: session.intended,
            started: session.started,
            ended: cx.now,
            replies: session.replies,
            connections: session.established,
        });
        if session.is_unreached {
            self.arrivals.unreached(&self.plan.limits, cx.now);
        }
        self.arrivals.ended();
    }

    /// Closes the connections of a session that goes on.
    pub(super) fn close_connections<N: Network>(&mut self, key: SessionKey, cx: &mut Cx<'_, '_, N>) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        let open: Vec<ConnectionKey> = session.connections().collect();
        session.draining.clear();
        session.slots.iter_mut().for_each(|slot| slot.connection = None);
        open.into_iter().for_each(|connection| self.close_connection(connection, cx));
    }

    fn close_connection<N: Network>(&mut self, connection: ConnectionKey, cx: &mut Cx<'_, '_, N>) {
        cx.connections.keep_transport(connection, cx.now, cx.run);
        for call in cx.connections.close(connection, cx.now, cx.run) {
            cx.run.abandon_call(call, cx.now);
        }
        self.make_room_of_connection(cx);
    }
}

/// Returns the pause before retry number `attempt` (from 1) in a row: none, then doubling.
fn retry_pause(limits: &Limits, attempt: u32) -> Duration {
    if attempt <= 1 {
        return Duration::ZERO;
    }
    limits.retry_pause.saturating_mul(1 << (attempt - 2).min(20)).min(limits.retry_pause_max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_pause_longer_each_time_up_to_a_bound() {
        let limits = Limits::default();
        let pauses: Vec<u128> =
            (1..=limits.retries).map(|attempt| retry_pause(&limits, attempt).as_millis()).collect();
        assert_eq!(pauses, [0, 10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
        assert_eq!(retry_pause(&limits, u32::MAX), limits.retry_pause_max);
    }
}
