//! Sessions: which connections they use, and what follows a reply or a failure.
//!
//! A connection workload is the degenerate case: a session of one connection that nothing replaces.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::time::Duration;

use httperf_load::cookies::Jar;
use httperf_load::visit::{Step, Visit};
use httperf_plan::{HttpVersion, Limits, Plan, Script, Workload};
use httperf_proto::tls;
use httperf_stats::{Failure, Instant, SessionEnd};
use smallvec::SmallVec;

use super::calls::{Call, Phase};
use super::connections::{Lost, at_instant};
use super::pages::Page;
use super::{CallKey, ConnectionKey, SessionKey, Timer, Worker};
use crate::Network;

/// One session.
pub(super) struct Session<'p> {
    pub(super) visit: Visit<'p>,
    /// The number of its arrival; in a pool, of the last call that it was given.
    pub(super) index: u64,
    /// How many calls were made for that arrival so far, with a URI of the run's source.
    pub(super) issued: u64,
    /// Which group of a pool it belongs to.
    pub(super) group: usize,
    /// Which of the plan's targets it talks to.
    pub(super) target: usize,
    started: Instant,
    /// When it was due.
    pub(super) intended: Instant,
    /// When the calls that are ready became so: they are due since then.
    pub(super) ready_at: Instant,
    pub(super) slots: SmallVec<[Slot; 1]>,
    /// Connections that take no further calls, but answer those that they have.
    pub(super) draining: Vec<ConnectionKey>,
    /// Calls that pause before another attempt.
    pub(super) pausing: Vec<CallKey>,
    pub(super) cookies: Option<Box<Jar>>,
    pub(super) page: Option<Box<Page>>,
    /// The TLS session that its next connection offers to resume.
    pub(super) tls_session: Option<tls::Session>,
    pub(super) replies: u64,
    pub(super) established: u64,
    /// The run's time was over before it had issued all its calls.
    is_cut: bool,
    /// Its last attempt to connect came to no server.
    pub(super) is_unreached: bool,
}

/// A place for a connection, and the calls that are to travel on it.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) connection: Option<ConnectionKey>,
    /// Calls that the connection does not have yet, in order.
    pub(super) queue: VecDeque<CallKey>,
    /// Connections in a row that failed without a reply.
    pub(super) failures: u32,
    /// A retry timer runs: nothing is to be done until it fires.
    waiting: bool,
}

impl<'p> Session<'p> {
    pub(super) fn new(plan: &'p Plan, index: u64, target: usize, intended: Instant, now: Instant) -> Self {
        let (cookies, pages) = match &plan.workload {
            Workload::Connections(_) | Workload::Calls(_) => (false, false),
            Workload::Sessions(sessions) => {
                (sessions.cookies, matches!(sessions.script, Script::Pages { .. }))
            }
        };
        let port = plan.targets[target].port();
        Self {
            visit: Visit::new(&plan.workload, index),
            index,
            issued: 0,
            group: 0,
            target,
            started: now,
            intended,
            ready_at: intended,
            slots: SmallVec::new(),
            draining: Vec::new(),
            pausing: Vec::new(),
            cookies: cookies.then(|| Box::new(Jar::new(plan.limits.cookies))),
            page: pages.then(|| Box::new(Page::new(&plan.targets[target].host, port, plan.tls.is_some()))),
            tls_session: None,
            replies: 0,
            established: 0,
            is_cut: false,
            is_unreached: false,
        }
    }

    /// Whether anything depends on which URI a call has.
    pub(super) fn needs_uris(&self) -> bool {
        self.cookies.is_some() || self.page.is_some()
    }

    pub(super) fn start_page(&mut self, uri: &[u8], objects_max: usize) {
        if let Some(page) = &mut self.page {
            page.start(uri, objects_max);
        }
    }
}

/// The pause before retry number `attempt` (from 1) in a row: none, then doubling.
pub(super) fn retry_pause(limits: &Limits, attempt: u32) -> Duration {
    if attempt <= 1 {
        return Duration::ZERO;
    }
    limits.retry_pause.saturating_mul(1 << (attempt - 2).min(20)).min(limits.retry_pause_max)
}

impl<N: Network> Worker<'_, '_, N> {
    /// Starts a session that was due at `intended`.
    pub(super) fn start_session(&mut self, index: u64, intended: Instant, now: Instant) {
        let target = self.plan.target_of(index);
        let key = self.sessions.insert(Session::new(self.plan, index, target, intended, now));
        if self.opens_without_calls() {
            self.sessions[key].slots.push(Slot::default());
            self.open_connection(key, 0, now);
        } else {
            self.pump(key, now);
        }
        if self.phases.draining_since().is_some()
            && let Some(session) = self.sessions.get_mut(key)
        {
            // It had waited for room. Only what was due with it is made.
            session.is_cut |= session.visit.stop_issuing();
        }
    }

    /// Whether connections are opened only to be closed again (`--num-calls=0`).
    pub(super) fn opens_without_calls(&self) -> bool {
        !self.plan.makes_calls()
    }

    pub(super) fn resume_session(&mut self, key: SessionKey, now: Instant) {
        if let Some(session) = self.sessions.get_mut(key) {
            session.visit.resume();
            self.pump(key, now);
        }
    }

    pub(super) fn retry_slot(&mut self, key: SessionKey, slot: usize, now: Instant) {
        if let Some(session) = self.sessions.get_mut(key) {
            session.slots[slot].waiting = false;
            self.drive_slot(key, slot, now);
        }
    }

    /// Issues the calls that are ready, as far as the session's slots have room.
    pub(super) fn pump(&mut self, key: SessionKey, now: Instant) {
        loop {
            let Some(session) = self.sessions.get(key) else { return };
            if !session.visit.is_ready() {
                break;
            }
            let Some(slot) = self.free_slot(key) else { break };
            let next = self.sessions[key].visit.next_call().expect("a call is ready");
            let Some(call) = self.create_call(key, &next) else {
                let visit = &mut self.sessions[key].visit;
                visit.untake();
                visit.stop_issuing();
                if visit.is_idle() {
                    self.end_session(key, true, now);
                    return;
                }
                break;
            };
            self.sessions[key].slots[slot].queue.push_back(call);
            self.submit_slot(key, slot, now);
        }
        self.flush_session(key, now);
    }

    /// The first slot that takes another call; a new one if the session may have more.
    fn free_slot(&mut self, key: SessionKey) -> Option<usize> {
        let (slots_max, calls_max) = match &self.plan.workload {
            Workload::Connections(_) | Workload::Calls(_) => (1, usize::MAX),
            Workload::Sessions(sessions) => {
                (sessions.max_connections.get() as usize, sessions.max_piped_calls.get() as usize)
            }
        };
        let connections = &self.connections;
        let slots = &mut self.sessions[key].slots;
        let has_room = |slot: &Slot| {
            let submitted = slot.connection.map_or(0, |key| connections[key].engine.pending_count());
            slot.queue.len() + submitted < calls_max
        };
        slots.iter().position(has_room).or_else(|| {
            (slots.len() < slots_max).then(|| {
                slots.push(Slot::default());
                slots.len() - 1
            })
        })
    }

    /// Moves on what waits on a slot: to its connection, opening one if there is none.
    pub(super) fn drive_slot(&mut self, key: SessionKey, slot: usize, now: Instant) {
        self.submit_slot(key, slot, now);
        self.flush_session(key, now);
    }

    fn submit_slot(&mut self, key: SessionKey, slot: usize, now: Instant) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        let place = &session.slots[slot];
        if place.waiting || place.queue.is_empty() {
            return;
        }
        if place.connection.is_none() {
            self.open_connection(key, slot, now);
        }
        let Some(session) = self.sessions.get_mut(key) else { return };
        let place = &mut session.slots[slot];
        let Some(connection) = place.connection else { return };
        let connection = &mut self.connections[connection];
        if connection.engine.pending_count() == 0 {
            connection.progress = now;
        }
        while connection.engine.capacity() > 0
            && let Some(call) = place.queue.pop_front()
        {
            let waiting = &mut self.calls[call];
            waiting.submitted = now;
            let request = connection.form_of(&waiting.request, self.plan, &self.http2);
            let submitted = connection.engine.submit(at_instant(now), call.into(), request);
            submitted.expect("the engine has capacity");
            if let Some(sends) = &mut connection.sends
                && self.plan.recording.asks_of(waiting.serial)
            {
                sends.submitted(call);
            }
        }
    }

    /// Sends what the session's connections have been given.
    fn flush_session(&mut self, key: SessionKey, now: Instant) {
        let mut slot = 0;
        while let Some(session) = self.sessions.get(key)
            && let Some(place) = session.slots.get(slot)
        {
            if let Some(connection) = place.connection {
                if self.connections[connection].engine.wants_write() {
                    self.flush(connection, now);
                } else {
                    // A call that waits for a stream has its time limit as well.
                    self.refresh_deadline(connection);
                }
            }
            slot += 1;
        }
    }

    /// A call was answered on `connection`, which is gone by now if it was its last.
    pub(super) fn handle_answer(
        &mut self,
        key: SessionKey,
        slot: usize,
        call: CallKey,
        status: u16,
        now: Instant,
    ) {
        if let Workload::Sessions(sessions) = &self.plan.workload
            && sessions.failure_status == Some(status)
        {
            if sessions.retry_on_failure {
                self.retry_call(key, slot, call, now);
            } else {
                self.calls.remove(call);
                self.end_session(key, false, now);
            }
            return;
        }
        self.calls.remove(call);
        if self.pool.is_some() {
            self.handle_pool_answer(key, now);
            return;
        }
        self.go_on(key, slot, now);
    }

    /// A call of a session has ended: goes on with what follows it.
    pub(super) fn go_on(&mut self, key: SessionKey, slot: usize, now: Instant) {
        let session = &mut self.sessions[key];
        // What only waits for room on a connection has been due since before this reply.
        let had_ready = session.visit.is_ready();
        match session.visit.handle_reply() {
            Step::Finished => self.end_session(key, true, now),
            Step::Think(pause) => {
                session.ready_at = now + pause;
                self.timers.push(Reverse((now + pause, Timer::Think(key))));
                self.drive_slot(key, slot, now);
            }
            Step::Continue => {
                if !had_ready {
                    session.ready_at = now;
                }
                self.submit_slot(key, slot, now);
                self.pump(key, now);
            }
        }
    }

    /// Makes a call again whose reply had the failure status.
    fn retry_call(&mut self, key: SessionKey, slot: usize, call_key: CallKey, now: Instant) {
        let call = &mut self.calls[call_key];
        // It was answered, so that no reply is awaited until it is sent again.
        call.phase = Phase::Waiting;
        self.reset_call(call_key, now);
        let call = &mut self.calls[call_key];
        call.attempts += 1;
        let attempts = call.attempts;
        if attempts > self.plan.limits.retries {
            self.calls.remove(call_key);
        } else {
            // Its reply is recorded: what is made now is another call, which was due when the first was.
            self.recorder.call_made(call.intended);
            self.sessions[key].slots[slot].queue.push_front(call_key);
        }
        self.wait_and_retry(key, slot, attempts, now);
    }

    fn wait_and_retry(&mut self, key: SessionKey, slot: usize, attempts: u32, now: Instant) {
        let limits = &self.plan.limits;
        if attempts > limits.retries {
            self.recorder.retries_exhausted(self.sessions[key].ready_at);
            self.end_session(key, false, now);
            return;
        }
        let pause = retry_pause(limits, attempts);
        if pause.is_zero() {
            self.drive_slot(key, slot, now);
        } else {
            self.sessions[key].slots[slot].waiting = true;
            self.timers.push(Reverse((now + pause, Timer::Retry(key, slot as u32))));
        }
    }

    /// The connection of a slot failed. Its calls are back in the slot's queue.
    pub(super) fn handle_failure(&mut self, key: SessionKey, slot: usize, lost: Lost, now: Instant) {
        let sessions = match &self.plan.workload {
            Workload::Sessions(sessions) => sessions,
            Workload::Connections(_) => {
                self.end_session(key, false, now);
                return;
            }
            Workload::Calls(_) => {
                self.handle_pool_failure(key, lost.calls, now);
                return;
            }
        };
        let place = &mut self.sessions[key].slots[slot];
        if lost.failure == Failure::ClientTimeout {
            self.end_session(key, false, now);
        } else if place.queue.is_empty() {
            // It was idle: the next call opens another.
        } else if lost.answered {
            self.drive_slot(key, slot, now);
        } else if sessions.retry_on_failure {
            place.failures += 1;
            let failures = place.failures;
            self.wait_and_retry(key, slot, failures, now);
        } else {
            self.end_session(key, false, now);
        }
    }

    /// Drops the calls of a session that have not been answered: those that were sent have failed, the others were
    /// never made. Returns how many were sent.
    pub(super) fn drop_calls(&mut self, key: SessionKey, now: Instant) -> u64 {
        let mut dropped: Vec<CallKey> = Vec::new();
        let session = &mut self.sessions[key];
        let connections =
            session.draining.iter().copied().chain(session.slots.iter().filter_map(|slot| slot.connection));
        for connection in connections {
            dropped.extend(self.connections[connection].engine.pending().into_iter().map(CallKey::from));
        }
        for slot in &mut session.slots {
            dropped.extend(slot.queue.drain(..));
        }
        dropped.append(&mut session.pausing);
        let mut sent = 0;
        for call in dropped {
            if self.calls.get(call).is_some_and(Call::is_sent) {
                sent += 1;
                self.abandon_call(call, now);
            } else if let Some(call) = self.calls.remove(call) {
                self.recorder.call_withdrawn(call.intended);
            }
        }
        sent
    }

    /// Ends a session and all that belongs to it. Calls that have not been answered count as failed.
    pub(super) fn end_session(&mut self, key: SessionKey, completed: bool, now: Instant) {
        if matches!(self.plan.workload, Workload::Sessions(_)) {
            self.make_room(now);
        }
        let Some(session) = self.sessions.remove(key) else { return };
        let connections = session.slots.iter().filter_map(|slot| slot.connection).chain(session.draining);
        for connection in connections {
            self.note_transport(connection, now);
            for call in self.close_connection(connection, now) {
                self.abandon_call(call.into(), now);
            }
        }
        let queued = session.slots.iter().flat_map(|slot| &slot.queue);
        for call in queued.chain(&session.pausing) {
            self.abandon_call(*call, now);
        }
        if !session.is_cut || !completed {
            self.recorder.session_ended(SessionEnd {
                completed,
                intended: session.intended,
                started: session.started,
                ended: now,
                replies: session.replies,
                connections: session.established,
            });
        }
        if session.is_unreached {
            self.arrivals.unreached(&self.plan.limits, now);
        }
        self.arrivals.ended();
    }

    /// The run's time is over: sessions issue nothing more, and end with the replies they wait for.
    pub(super) fn cut_sessions(&mut self, now: Instant) {
        if self.pool.is_some() {
            // Its calls are given to it, and those that are due are still to be made.
            return;
        }
        let opens_without_calls = self.opens_without_calls();
        for key in self.sessions.keys().collect::<Vec<SessionKey>>() {
            let session = &mut self.sessions[key];
            session.is_cut |= session.visit.stop_issuing();
            if session.visit.is_idle() && !opens_without_calls {
                self.end_session(key, true, now);
            }
        }
    }

    /// Whether a session closes a connection after each reply: it speaks HTTP/1.0 that way, as the classic
    /// tool does.
    pub(super) fn closes_after_reply(&self) -> bool {
        matches!(self.plan.workload, Workload::Sessions(_))
            && self.plan.request.version == HttpVersion::Http10
    }
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
