//! The part of dispatch that a turn of the worker asks for: arrivals that are due, timers, the end of the run.

use std::cmp::Reverse;
use std::time::Duration;

use httperf_plan::Excess;
use httperf_stats::Instant;

use super::arrivals::Cap;
use super::policy::{Dispatch, Policy, Timer, Unit};
use crate::worker::connections::{Cx, Owner};
use crate::worker::phases::Phases;
use crate::worker::run::Run;
use crate::worker::{CallKey, RecordedRequests, SessionKey};
use crate::{Network, Observation};

/// Arrivals started in a turn before the worker looks for replies again, so that a generator that fell behind does not
/// read its clock late for every reply that came meanwhile.
pub(super) const ARRIVALS_PER_TURN: u32 = 64;

impl<'a, P: Policy<'a>> Dispatch<'a, P> {
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

    /// Returns the number of connections that are opened before the run.
    pub(super) fn opened_before(&self) -> usize {
        self.policy.opened_before()
    }

    /// Opens a connection before the run, as the `nth` of this shard.
    pub(super) fn open_before<N: Network>(&mut self, nth: usize, cx: &mut Cx<'_, '_, N>) {
        P::open_before(self, nth, cx);
    }

    /// Returns whether the workload is done.
    #[inline]
    pub(super) fn is_finished(&mut self, phases: &Phases, run: &Run<'_>) -> bool {
        if self.arrivals.all_ended() {
            return true;
        }
        self.open_count(run) == 0 && (!self.may_start(phases) || P::is_used_up(self))
    }

    /// Returns whether arrivals may still start. The drain starts those of a schedule that waited for room when no more
    /// was offered, but no sessions: it cuts them.
    #[inline]
    fn may_start(&mut self, phases: &Phases) -> bool {
        if phases.is_offering() {
            return true;
        }
        let waits = P::UNIT == Unit::Connection && self.cap.as_ref().is_some_and(Cap::is_waited_for);
        waits && phases.draining_since().is_some_and(|end| self.arrivals.is_due_before(end))
    }

    /// Returns the number of arrivals that have started and have not ended.
    #[inline]
    fn open_count(&self, run: &Run<'_>) -> usize {
        match P::UNIT {
            Unit::Call => run.calls_count() + self.policy.waiting_count(),
            Unit::Connection | Unit::Session => self.sessions.len(),
        }
    }

    /// Returns the instant at which something is to be done by itself: a call waits that can be given to a connection, an
    /// arrival is due, or a timer is over. `at_once` if that is now.
    #[inline]
    pub(super) fn next_instant(
        &mut self,
        at_once: Instant,
        phases: &Phases,
        run: &Run<'_>,
    ) -> Option<Instant> {
        if self.policy.can_serve() {
            return Some(at_once);
        }
        let timer = self.timers.peek().map(|Reverse((at, _))| *at);
        match (self.next_arrival(at_once, phases, run), timer) {
            (Some(arrival), Some(timer)) => Some(arrival.min(timer)),
            (arrival, timer) => arrival.or(timer),
        }
    }

    /// Returns whether what is due next may depend on replies that have come and are not read.
    #[inline]
    pub(super) fn awaits_replies(&mut self, run: &Run<'_>) -> bool {
        !self.timers.is_empty() || P::awaits_replies(self, run)
    }

    /// Returns whether an arrival that was due before `end` has waited for others, as the plan lets it, not for the worker.
    pub(super) fn holds_back(&mut self, end: Instant, phases: &Phases, run: &Run<'_>) -> bool {
        let slack = self.plan.slack;
        !slack.is_zero()
            && self
                .next_arrival(Instant::default(), phases, run)
                .is_some_and(|latest| latest >= end && latest < end + slack)
    }

    fn next_arrival(&mut self, at_once: Instant, phases: &Phases, run: &Run<'_>) -> Option<Instant> {
        if self.is_full(run) || !self.may_start(phases) || P::is_used_up(self) {
            return None;
        }
        let open = self.open_count(run);
        // Arrivals of a closed loop are due at once, and wait for nothing.
        let slack = if self.arrivals.is_scheduled() { self.plan.slack } else { Duration::ZERO };
        self.arrivals.next_due(open, at_once).map(|due| due + slack)
    }

    /// Returns the fate of an arrival that finds no room under the bound.
    #[inline]
    fn excess(&self, run: &Run<'_>) -> Option<Excess> {
        let cap = self.cap.as_ref()?;
        cap.excess(match P::UNIT {
            Unit::Connection | Unit::Call => run.recorder.open(),
            Unit::Session => self.sessions.len() as u64,
        })
    }

    /// Returns whether arrivals wait for room.
    #[inline]
    pub(super) fn is_full(&self, run: &Run<'_>) -> bool {
        self.excess(run) == Some(Excess::Waits)
    }

    /// One of `open` connections or sessions ends. There is room since the bytes that ended it arrived, or, where
    /// that is not known, since they could be noticed.
    pub(super) fn make_room<N: Network>(&mut self, open: u64, cx: &Cx<'_, '_, N>) {
        if let Some(cap) = &mut self.cap {
            cap.make_room(open, cx.connections.noticed().min(cx.now));
        }
    }

    /// Starts the arrivals that are due, as far as there is room for them.
    pub(super) fn start_due<N: Network>(&mut self, phases: &Phases, cx: &mut Cx<'_, '_, N>) {
        if !self.may_start(phases) {
            return;
        }
        for _ in 0..ARRIVALS_PER_TURN {
            let excess = self.excess(cx.run);
            if excess == Some(Excess::Waits) || P::is_used_up(self) {
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
            P::start(self, arrival, phases.draining_since().is_some(), cx);
        }
    }

    pub(super) fn set_timer(&mut self, at: Instant, timer: Timer) {
        self.timers.push(Reverse((at, timer)));
    }

    /// Returns whether a timer is over.
    #[inline]
    pub(super) fn has_timer(&self, now: Instant) -> bool {
        self.timers.peek().is_some_and(|Reverse((at, _))| *at <= now)
    }

    /// Takes the action of the timer that is the first to be over.
    pub(super) fn fire_timer<N: Network>(&mut self, cx: &mut Cx<'_, '_, N>) {
        let Some(Reverse((at, timer))) = self.timers.pop() else { return };
        match timer {
            Timer::Think(session) => {
                cx.run.recorder.timer_fired(at, cx.connections.now());
                P::resumed(self, session, cx);
            }
            Timer::Retry(session, slot) => self.retry_slot(session, slot as usize, cx),
            Timer::Again(session, slot, call) => self.end_pause(session, slot as usize, call, cx),
            Timer::Talk(call) => self.wake_talk(call, at, cx),
        }
    }

    /// The pause of a slot is over that tries again to connect.
    fn retry_slot<N: Network>(&mut self, session: SessionKey, slot: usize, cx: &mut Cx<'_, '_, N>) {
        if let Some(retrying) = self.sessions.get_mut(session) {
            retrying.slots[slot].is_waiting = false;
            self.drive_slot(Owner { session, slot }, cx);
        }
    }

    /// Something is due on a WebSocket since `at`.
    fn wake_talk<N: Network>(&mut self, call: CallKey, at: Instant, cx: &mut Cx<'_, '_, N>) {
        if cx.run.find_call(call).is_none() {
            return;
        }
        let now = cx.connections.now();
        cx.run.recorder.timer_fired(at, now);
        if let Some(next) = cx.connections.wake_talk(call, now, cx.run) {
            self.set_timer(next, Timer::Talk(call));
        }
    }

    /// Starts what has waited for the end of something else in this turn.
    #[inline]
    pub(super) fn end_turn<N: Network>(&mut self, phases: &Phases, cx: &mut Cx<'_, '_, N>) {
        P::serve_waiting(self, cx);
        self.start_due(phases, cx);
    }

    /// Nothing more is offered.
    pub(super) fn cut<N: Network>(&mut self, cx: &mut Cx<'_, '_, N>) {
        P::cut(self, cx);
    }

    /// Closes the connections that have no calls, of a pool or of a recording's clients, now that the run is over.
    pub(super) fn close_idle<N: Network>(&self, cx: &mut Cx<'_, '_, N>) {
        if P::UNIT == Unit::Call {
            cx.connections.close_idle(cx.now, cx.run);
        }
    }

    /// Records the calls and sessions that have not ended, now that the run is over.
    pub(super) fn record_unfinished(&self, run: &mut Run<'_>, now: Instant) {
        run.record_unfinished_calls(now);
        P::record_unfinished(self, run, now);
    }

    /// Records the arrivals that were due before `end` and have not started. `was_full`: they waited for room then.
    pub(super) fn record_missed(&mut self, end: Instant, was_full: bool, run: &mut Run<'_>, now: Instant) {
        P::record_used_up(self, run);
        if P::is_used_up(self) {
            return;
        }
        for due in self.arrivals.missed(end) {
            run.recorder.arrival_missed(due, was_full, now);
        }
    }
}
