//! The policy of a run: the start of arrivals, the steps of sessions, the consequences of replies and failures.
//!
//! ```text
//!   Arrivals ──► due ──► Session or Pool ──► calls ──► Connections
//!                             ▲                             │
//!                             └──────────  events  ◄────────┘
//! ```

mod arrivals;
mod jars;
mod numbers;
mod page;
mod pool;
mod replay;
mod scenario;
mod sessions;
mod source;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, SystemTime};

use httperf_plan::{Arrivals as Pacing, Excess, HttpVersion, Limits, Plan, Sessions, Shard, Workload};
use httperf_proto::Reuse;
use httperf_stats::{Fate, Instant, Mismatch};
use slotmap::SlotMap;

use self::arrivals::{Arrivals, Cap};
use self::pool::{ConnectionPool, Waiting};
use self::replay::Replaying;
use self::scenario::Scenario;
use self::sessions::Session;
use self::source::Source;
use super::connections::{Cx, Event, EventKind, Handler, Sinks};
use super::phases::Phases;
use super::run::Run;
use super::{CallKey, RecordedRequests, SessionKey};
use crate::{Network, Observation};

/// Arrivals started in a turn before the worker looks for replies again, so that a generator that fell behind does not
/// read its clock late for every reply that came meanwhile.
const ARRIVALS_PER_TURN: u32 = 64;

/// Events, timers or deadlines handled before the worker looks for arrivals again.
const EVENTS_PER_LOOK: usize = 16;

/// Starts arrivals when they are due, and decides the consequences of events.
pub(super) struct Dispatch<'a> {
    plan: &'a Plan,
    arrivals: Arrivals,
    /// The bound on connections, or sessions, that go on at once.
    cap: Option<Cap>,
    /// The instant since which the events of this turn may have been there: its beginning, or that at which the worker
    /// should have woken up.
    noticed: Instant,
    policy: Policy<'a>,
    sessions: SlotMap<SessionKey, Session<'a>>,
    source: Source<'a>,
    timers: BinaryHeap<Reverse<(Instant, Timer)>>,
}

/// The policy of each kind of workload.
enum Policy<'a> {
    /// A session is a connection that nothing replaces.
    Connections {
        /// Connections are opened only to be closed again (`--num-calls=0`).
        opens_without_calls: bool,
        /// Calls that the server did not process, as it closed their connection, are made again on another: in a closed
        /// loop, and where calls are pipelined. Otherwise such a call ends with its connection.
        makes_calls_again: bool,
    },
    Sessions {
        sessions: &'a Sessions,
        /// A connection is closed after each reply: HTTP/1.0 is spoken that way, as by the classic tool.
        closes_after_reply: bool,
    },
    /// Calls are due by themselves.
    Pool(ConnectionPool<'a>),
    /// A session makes the calls of a scenario one after the other.
    Scenarios(Box<Scenario<'a>>),
    /// A session is a client of a recording, and makes its requests.
    Replay(Box<Replaying<'a>>),
}

/// An action at an instant that always comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// A session's pause ends.
    Think(SessionKey),
    /// A slot of a session tries again to connect.
    Retry(SessionKey, u32),
    /// A slot of a session tries a call again whose stream was refused.
    Again(SessionKey, u32, CallKey),
    /// Something is due on the WebSocket of a call.
    Talk(CallKey),
}

impl<'a> Dispatch<'a> {
    pub(super) fn new(plan: &'a Plan, shard: Shard, start: Instant) -> Self {
        let policy = match &plan.workload {
            Workload::Connections(connections) => Policy::Connections {
                opens_without_calls: !plan.makes_calls(),
                makes_calls_again: connections.pipeline.get() > 1
                    || matches!(plan.arrivals, Pacing::Concurrent(_)),
            },
            Workload::Sessions(sessions) => {
                Policy::Sessions { sessions, closes_after_reply: plan.request.version == HttpVersion::Http10 }
            }
            Workload::Calls(calls) => Policy::Pool(ConnectionPool::new(plan, calls, shard)),
            Workload::Scenarios(scenarios) => Policy::Scenarios(Box::new(Scenario::new(plan, scenarios))),
            Workload::Replay(replay) => Policy::Replay(Box::new(Replaying::new(replay, shard))),
        };
        Self {
            plan,
            arrivals: Arrivals::new(plan, shard, start),
            cap: Cap::new(plan, shard),
            noticed: start,
            policy,
            sessions: SlotMap::with_key(),
            source: Source::new(plan, shard),
            timers: BinaryHeap::new(),
        }
    }

    /// Sets the instant at which the schedule begins.
    pub(super) fn restart(&mut self, start: Instant) {
        self.arrivals.restart(start);
    }

    /// Sets the requests that a recording has for this shard.
    pub(super) fn set_recorded(&mut self, requests: RecordedRequests) {
        self.arrivals.set_recorded(requests);
    }

    /// Ends the run at the end of this turn.
    pub(super) fn give_up(&mut self) {
        self.arrivals.give_up();
    }

    /// A turn begins. Its events may have been there since `noticed`.
    pub(super) fn begin_turn(&mut self, noticed: Instant) {
        self.noticed = noticed;
    }

    /// Returns whether the workload is done.
    #[inline]
    pub(super) fn is_finished(&mut self, phases: &Phases, run: &Run<'_>) -> bool {
        if self.arrivals.all_ended() {
            return true;
        }
        self.open_count(run) == 0 && (!self.may_start(phases) || self.requests_are_used_up())
    }

    /// Returns whether arrivals may still start. The drain starts those of a schedule that waited for room when no more
    /// was offered, but no sessions: it cuts them.
    #[inline]
    fn may_start(&mut self, phases: &Phases) -> bool {
        if phases.is_offering() {
            return true;
        }
        let waits = matches!(self.policy, Policy::Connections { .. })
            && self.cap.as_ref().is_some_and(Cap::is_waited_for);
        waits && phases.draining_since().is_some_and(|end| self.arrivals.is_due_before(end))
    }

    /// Returns the number of arrivals that have started and have not ended.
    #[inline]
    fn open_count(&self, run: &Run<'_>) -> usize {
        match &self.policy {
            Policy::Pool(pool) => run.calls_count() + pool.waiting_count(),
            Policy::Replay(replaying) => run.calls_count() + replaying.waiting_count(),
            Policy::Connections { .. } | Policy::Sessions { .. } | Policy::Scenarios(_) => {
                self.sessions.len()
            }
        }
    }

    #[inline]
    fn requests_are_used_up(&mut self) -> bool {
        let arrivals = &mut self.arrivals;
        if let Policy::Scenarios(scenario) = &mut self.policy {
            return arrivals.next_index().is_some_and(|visit| scenario.used_up(visit).is_some());
        }
        if let Policy::Replay(_) = &self.policy {
            return arrivals.next_index().is_none();
        }
        self.source.is_used_up(|| arrivals.next_index())
    }

    /// Returns whether a call waits that can be given to a connection at once.
    pub(super) fn can_serve(&self) -> bool {
        match &self.policy {
            Policy::Pool(pool) => pool.can_serve(),
            Policy::Replay(replaying) => replaying.can_serve(),
            Policy::Connections { .. } | Policy::Sessions { .. } | Policy::Scenarios(_) => false,
        }
    }

    /// Returns the instant at which the next arrival is due; `at_once` if that is now.
    #[inline]
    pub(super) fn next_arrival(
        &mut self,
        at_once: Instant,
        phases: &Phases,
        run: &Run<'_>,
    ) -> Option<Instant> {
        if self.is_full(run) || !self.may_start(phases) || self.requests_are_used_up() {
            return None;
        }
        let open = self.open_count(run);
        self.arrivals.next_due(open, at_once)
    }

    /// Returns the instant of the next timer.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        self.timers.peek().map(|Reverse((at, _))| *at)
    }

    /// Returns the fate of an arrival that finds no room under the bound.
    #[inline]
    fn excess(&self, run: &Run<'_>) -> Option<Excess> {
        let cap = self.cap.as_ref()?;
        cap.excess(match &self.policy {
            Policy::Connections { .. } | Policy::Pool(_) | Policy::Replay(_) => run.recorder.open(),
            Policy::Sessions { .. } | Policy::Scenarios(_) => self.sessions.len() as u64,
        })
    }

    /// Returns whether arrivals wait for room.
    pub(super) fn is_full(&self, run: &Run<'_>) -> bool {
        self.excess(run) == Some(Excess::Waits)
    }

    /// One of `open` connections or sessions ends. There is room since the bytes that ended it arrived, or, where
    /// that is not known, since they could be noticed.
    fn make_room(&mut self, open: u64, stamp: Option<Instant>, now: Instant) {
        if let Some(cap) = &mut self.cap {
            cap.make_room(open, stamp.unwrap_or(self.noticed).min(now));
        }
    }

    /// Starts the arrivals that are due, as far as there is room for them.
    pub(super) fn start_due<N: Network>(&mut self, phases: &Phases, cx: &mut Cx<'_, '_, N>) {
        if !self.may_start(phases) {
            return;
        }
        for _ in 0..ARRIVALS_PER_TURN {
            let excess = self.excess(cx.run);
            if excess == Some(Excess::Waits) || self.requests_are_used_up() {
                return;
            }
            let open = self.open_count(cx.run);
            let Some(arrival) = self.arrivals.take_due(phases.offered_to(cx.now), open) else { return };
            if let Some(delay) = arrival.delay
                && self.plan.watch.verbose >= 3
            {
                cx.run.observe(Observation::ArrivalDelay { delay });
            }
            if excess == Some(Excess::Skipped) {
                cx.run.recorder.arrival_skipped(arrival.at);
                self.arrivals.ended();
                continue;
            }
            if self.arrivals.is_scheduled() {
                let room_since = self.cap.as_ref().and_then(|cap| cap.waited_until(arrival.at));
                cx.run.recorder.arrival_started(arrival.at, room_since, cx.connections.now());
            }
            match &self.policy {
                Policy::Pool(_) => {
                    self.take_call(Waiting { index: arrival.index, due: arrival.at }, cx);
                }
                Policy::Replay(_) => {
                    if let Some(request) = arrival.request {
                        self.take_request(request, arrival.at, cx);
                    }
                }
                Policy::Connections { .. } | Policy::Sessions { .. } | Policy::Scenarios(_) => {
                    let is_late = phases.draining_since().is_some();
                    self.start_session(arrival.index, arrival.at, is_late, cx);
                }
            }
        }
    }

    /// Counts one of the things that a turn does, and looks for arrivals after each [`EVENTS_PER_LOOK`] of them.
    pub(super) fn look_for_arrivals<N: Network>(
        &mut self,
        done: &mut usize,
        phases: &Phases,
        cx: &mut Cx<'_, '_, N>,
    ) {
        *done += 1;
        if done.is_multiple_of(EVENTS_PER_LOOK) {
            let now = cx.connections.now();
            self.start_due(phases, &mut Cx { connections: cx.connections, run: cx.run, now });
        }
    }

    /// Takes the actions of timers that are over.
    pub(super) fn fire_timers<N: Network>(&mut self, phases: &Phases, cx: &mut Cx<'_, '_, N>) {
        let mut fired = 0;
        while let Some(&Reverse((at, timer))) = self.timers.peek() {
            if at > cx.now {
                return;
            }
            self.timers.pop();
            match timer {
                Timer::Think(session) => {
                    cx.run.recorder.timer_fired(at, cx.connections.now());
                    self.resume_session(session, cx);
                }
                Timer::Retry(session, slot) => self.retry_slot(session, slot as usize, cx),
                Timer::Again(session, slot, call) => self.end_pause(session, slot as usize, call, cx),
                Timer::Talk(call) => self.wake_talk(call, at, cx),
            }
            self.look_for_arrivals(&mut fired, phases, cx);
        }
    }

    /// Something is due on a WebSocket since `at`.
    fn wake_talk<N: Network>(&mut self, call: CallKey, at: Instant, cx: &mut Cx<'_, '_, N>) {
        if cx.run.find_call(call).is_none() {
            return;
        }
        let now = cx.connections.now();
        cx.run.recorder.timer_fired(at, now);
        let mut to = Sinks { run: cx.run, handler: self };
        if let Some(next) = cx.connections.wake_talk(call, now, &mut to) {
            self.set_timer(next, Timer::Talk(call));
        }
    }

    /// The run's time is over: closes the WebSockets that are open.
    pub(super) fn finish_talks<N: Network>(&mut self, cx: &mut Cx<'_, '_, N>) {
        if self.plan.opens_websockets() {
            cx.connections.finish_talks(cx.now, &mut Sinks { run: cx.run, handler: self });
        }
    }

    fn set_timer(&mut self, at: Instant, timer: Timer) {
        self.timers.push(Reverse((at, timer)));
    }

    /// Gives calls that wait to connections that failures have freed, or that may be opened.
    pub(super) fn serve_waiting<N: Network>(&mut self, cx: &mut Cx<'_, '_, N>) {
        self.resume_clients(cx);
        self.serve_pool(cx);
    }

    /// Closes the connections that have no calls, of a pool or of a recording's clients, now that the run is over.
    pub(super) fn close_idle<N: Network>(&self, cx: &mut Cx<'_, '_, N>) {
        if let Policy::Pool(_) | Policy::Replay(_) = &self.policy {
            cx.connections.close_idle(cx.now, cx.run);
        }
    }

    /// Records the calls and sessions that have not ended, now that the run is over.
    pub(super) fn record_unfinished(&self, run: &mut Run<'_>, now: Instant) {
        run.record_unfinished_calls(now);
        if let Policy::Pool(pool) = &self.policy {
            for due in pool.waiting() {
                run.recorder.had_waited(due, now);
                run.recorder.call_made(due);
                run.recorder.unfinished(due, now);
            }
            return;
        }
        if let Policy::Replay(_) = &self.policy {
            self.record_waiting(run, now);
            return;
        }
        for session in self.sessions.values() {
            run.recorder.session_unfinished(session.intended(), now);
            Self::record_fate(session, Fate::Cut, now, run);
        }
    }

    /// Records the arrivals that were due before `end` and have not started. `was_full`: they waited for room then.
    pub(super) fn record_missed(&mut self, end: Instant, was_full: bool, run: &mut Run<'_>, now: Instant) {
        if let Policy::Scenarios(scenario) = &mut self.policy
            && let Some(visit) = self.arrivals.next_index()
            && let Some(feed) = scenario.used_up(visit)
        {
            run.recorder.feed_used_up(feed);
        }
        if self.requests_are_used_up() {
            return;
        }
        for due in self.arrivals.missed(end) {
            run.recorder.arrival_missed(due, was_full, now);
        }
    }
}

impl<N: Network> Handler<N> for Dispatch<'_> {
    #[inline]
    fn handle(&mut self, event: Event, cx: &mut Cx<'_, '_, N>) {
        let Event { connection, owner, kind } = event;
        match kind {
            EventKind::Reached => {
                self.sessions[owner.session].handle_reached();
                self.arrivals.reached();
            }
            EventKind::Established => {
                self.handle_established(connection, owner, cx);
                self.settle_slot(owner, cx);
            }
            EventKind::HasRoom => {
                self.drive_slot(owner, cx);
                self.settle_slot(owner, cx);
            }
            EventKind::TlsSession(session) => self.sessions[owner.session].keep_tls_session(session),
            EventKind::TicketSettled => self.end_session(owner.session, true, cx),
            EventKind::ReplyHead { call, head } => self.handle_head(call, &head, cx),
            EventKind::LinksFound { call, links } => {
                let session = cx.run.call(call).session();
                self.add_objects(session, links, cx);
                self.pump(session, cx);
            }
            EventKind::Opened { call, wake } => {
                if let Some(at) = wake {
                    self.set_timer(at, Timer::Talk(call));
                }
            }
            EventKind::Answered { call, status, reuse } => {
                let is_last = reuse == Reuse::Close;
                self.handle_answered(connection, owner, call, status, is_last, cx);
            }
            EventKind::Returned { call, why, is_draining } => {
                self.handle_returned(owner, call, why, is_draining, cx);
                self.settle_slot(owner, cx);
            }
            EventKind::CallFailed { call, cause } => self.handle_call_failed(owner, call, cause, cx),
            EventKind::Draining => {
                self.let_drain(connection, owner, cx);
                self.settle_slot(owner, cx);
            }
            EventKind::Ended(calls) => {
                self.end_opening(connection, owner.session, false, cx);
                self.detach(connection, owner, &calls, cx);
                self.handle_ended(owner, cx);
                self.settle_slot(owner, cx);
            }
            EventKind::Lost(lost) => {
                self.sessions[owner.session].set_unreached(lost.is_unreached);
                let (failure, has_answered) = (lost.failure, lost.has_answered);
                self.end_opening(connection, owner.session, false, cx);
                let count = self.detach(connection, owner, &lost.calls, cx);
                self.handle_lost(owner, failure, has_answered, count, cx);
                if cx.run.gives_up() {
                    self.give_up();
                }
            }
        }
    }

    #[inline]
    fn judge(
        &mut self,
        call: CallKey,
        received_at: Instant,
        wall_clock: &mut dyn FnMut() -> SystemTime,
        run: &mut Run<'_>,
    ) -> Option<Mismatch> {
        match self.policy {
            Policy::Scenarios(_) => self.judge_step(call, received_at, wall_clock, run),
            Policy::Connections { .. } | Policy::Sessions { .. } | Policy::Pool(_) | Policy::Replay(_) => {
                None
            }
        }
    }
}

/// Returns whether an arrival finds most of the places free, so that nothing of ours delays it.
fn is_light(taken: usize, places: usize) -> bool {
    taken.saturating_mul(4) <= places
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
