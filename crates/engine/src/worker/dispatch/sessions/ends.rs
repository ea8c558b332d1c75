//! The ends of connections, calls and sessions: failures, further attempts, closing.

use httperf_proto::Undone;
use httperf_stats::{CauseKind, Failure, FailureCause, SessionEnd};

use crate::worker::connections::{Cx, Owner};
use crate::worker::dispatch::{Dispatch, Policy, Timer, retry_pause};
use crate::worker::run::Call;
use crate::worker::{CallKey, ConnectionKey, SessionKey};
use crate::{Network, failure};

/// Failures.
impl Dispatch<'_> {
    /// Makes a call again whose reply had the failure status.
    pub(super) fn repeat_call<N: Network>(&mut self, owner: Owner, call: CallKey, cx: &mut Cx<'_, '_, N>) {
        cx.run.repeat_call(call);
        let attempts = cx.run.count_attempt(call);
        if attempts > self.plan.limits.retries {
            cx.run.remove_call(call);
        } else {
            // Its reply is recorded. The next attempt is another call, due when the first was.
            cx.run.call_repeated(call);
            self.sessions[owner.session].slots[owner.slot].queue.push_front(call);
        }
        self.wait_and_retry(owner, attempts, cx);
    }

    fn wait_and_retry<N: Network>(&mut self, owner: Owner, attempts: u32, cx: &mut Cx<'_, '_, N>) {
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

    /// A connection is gone: its calls without a reply wait for another, before those that waited already. Returns the
    /// number of them.
    pub(in crate::worker::dispatch) fn detach<N: Network>(
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
        if !self.is_made_of_sessions() {
            self.make_room(cx.run.recorder.open() + 1, cx.connections.stamp(), cx.now);
        }
    }

    /// The connection of a slot failed, or could not be opened. Its calls are the first `count` of the slot's queue.
    pub(in crate::worker::dispatch) fn handle_lost<N: Network>(
        &mut self,
        owner: Owner,
        failure: Failure,
        has_answered: bool,
        count: usize,
        cx: &mut Cx<'_, '_, N>,
    ) {
        let retries = match &self.policy {
            Policy::Sessions { sessions, .. } => sessions.retry_on_failure,
            Policy::Scenarios(_) => false,
            Policy::Connections { .. } => {
                self.end_session(owner.session, false, cx);
                return;
            }
            Policy::Pool(_) => {
                self.handle_pool_failure(owner.session, count, cx);
                return;
            }
            Policy::Replay(_) => {
                let may_repeat = has_answered && failure != Failure::ClientTimeout;
                self.handle_replay_failure(owner, may_repeat, count, cx);
                return;
            }
        };
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

    /// The server ended the connection of a slot while no reply was due: no failure.
    pub(in crate::worker::dispatch) fn handle_ended<N: Network>(
        &mut self,
        owner: Owner,
        cx: &mut Cx<'_, '_, N>,
    ) {
        let session = &self.sessions[owner.session];
        if self.makes_calls_again(owner.session) && session.has_more_for(owner.slot) {
            self.stop_issuing_early(owner.session, cx);
            self.drive_slot(owner, cx);
        } else if self.is_made_of_connections() {
            // During a pause there may be calls left, or calls that the server did not process.
            let left = session.visit.unanswered();
            if left > 0 {
                self.drop_calls(owner.session, cx);
                self.record_closed_early(owner.session, left, cx);
            }
            self.end_session(owner.session, false, cx);
        } else {
            self.drive_slot(owner, cx);
        }
    }

    /// A connection takes no further calls, and still answers those that it has. Its place is another's.
    pub(in crate::worker::dispatch) fn let_drain<N: Network>(
        &mut self,
        connection: ConnectionKey,
        owner: Owner,
        cx: &mut Cx<'_, '_, N>,
    ) {
        if self.is_made_of_connections() {
            return;
        }
        let session = &mut self.sessions[owner.session];
        if session.slots[owner.slot].connection == Some(connection) {
            session.slots[owner.slot].connection = None;
            session.draining.push(connection);
        }
        self.drive_slot(owner, cx);
    }

    /// The server has not processed a call: makes it again, on another connection if `is_draining`: its own takes no further
    /// calls.
    pub(in crate::worker::dispatch) fn handle_returned<N: Network>(
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
        self.sessions[owner.session].has_returned |= is_draining;
        // A server may end any number of connections as it restarts. One that refuses a stream twice has refused the call.
        let retries = match self.policy {
            Policy::Connections { makes_calls_again: false, .. } => 1,
            _ if is_draining => self.plan.limits.retries,
            _ => 1,
        };
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
    fn try_again<N: Network>(
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
    pub(in crate::worker::dispatch) fn end_pause<N: Network>(
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
    pub(in crate::worker::dispatch) fn handle_call_failed<N: Network>(
        &mut self,
        owner: Owner,
        call: CallKey,
        cause: FailureCause,
        cx: &mut Cx<'_, '_, N>,
    ) {
        cx.run.recorder.failed(cx.run.call(call).intended(), cause);
        match &self.policy {
            Policy::Pool(_) => self.give_up_call(owner.session, call, cx),
            Policy::Replay(_) => self.give_up_request(owner, call, cx),
            Policy::Connections { .. } => {
                cx.run.abandon_call(call, cx.now);
                self.go_on(owner, cx);
            }
            Policy::Sessions { sessions, .. } if sessions.retry_on_failure => {
                cx.run.reset_call(call, cx.now);
                if self.try_again(owner, call, self.plan.limits.retries, cx).is_err() {
                    cx.run.recorder.retries_exhausted(self.sessions[owner.session].ready_at);
                    cx.run.abandon_call(call, cx.now);
                    self.end_session(owner.session, false, cx);
                }
            }
            Policy::Sessions { .. } | Policy::Scenarios(_) => {
                cx.run.abandon_call(call, cx.now);
                self.end_session(owner.session, false, cx);
            }
        }
    }
}

/// Ends.
impl Dispatch<'_> {
    /// Drops the calls of a session that have not been answered: those that were sent have failed, the others were
    /// never made. Returns the number of those that were sent.
    pub(super) fn drop_calls<N: Network>(&mut self, key: SessionKey, cx: &mut Cx<'_, '_, N>) -> u64 {
        let session = &mut self.sessions[key];
        let mut dropped: Vec<CallKey> = Vec::new();
        session.connections().for_each(|connection| dropped.extend(cx.connections.pending(connection)));
        for slot in &mut session.slots {
            dropped.extend(slot.queue.drain(..));
        }
        dropped.append(&mut session.pausing);
        let mut sent = 0;
        for call in dropped {
            if cx.run.find_call(call).is_some_and(Call::is_sent) {
                sent += 1;
                cx.run.abandon_call(call, cx.now);
            } else {
                cx.run.withdraw_call(call);
            }
        }
        sent
    }

    /// Ends a session and all that belongs to it. Calls that have not been answered count as failed.
    pub(in crate::worker::dispatch) fn end_session<N: Network>(
        &mut self,
        key: SessionKey,
        completed: bool,
        cx: &mut Cx<'_, '_, N>,
    ) {
        if self.is_made_of_sessions() {
            self.make_room(self.sessions.len() as u64, cx.connections.stamp(), cx.now);
        }
        let Some(session) = self.sessions.remove(key) else { return };
        for connection in session.connections() {
            self.close_connection(connection, cx);
        }
        let queued = session.slots.iter().flat_map(|slot| &slot.queue);
        for call in queued.chain(&session.pausing) {
            cx.run.abandon_call(*call, cx.now);
        }
        Self::record_visit(&session, completed, cx.now, cx.run);
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
    pub(in crate::worker::dispatch) fn close_connections<N: Network>(
        &mut self,
        key: SessionKey,
        cx: &mut Cx<'_, '_, N>,
    ) {
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

    /// Nothing more is offered: connections issue no further calls, and end with the replies they wait for. Sessions go on:
    /// those that are cut are the long ones, and without them the others would look shorter than they are.
    pub(in crate::worker) fn cut_connections<N: Network>(&mut self, cx: &mut Cx<'_, '_, N>) {
        if !self.is_made_of_connections() {
            return;
        }
        let opens_without_calls = self.opens_without_calls();
        for key in self.sessions.keys().collect::<Vec<SessionKey>>() {
            let session = &mut self.sessions[key];
            session.visit.stop_issuing();
            if session.visit.is_idle() && !opens_without_calls {
                self.end_session(key, true, cx);
            }
        }
    }
}
