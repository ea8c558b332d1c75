//! The policy of a run: the start of arrivals, the steps of sessions, the consequences of replies and failures.
//!
//! ```text
//!   Arrivals ──► due ──► Policy of the workload ──► calls in slots of sessions ──► Connections
//!                             ▲                                                        │
//!                             └────────────────────────  events  ◄─────────────────────┘
//! ```
//!
//! Each kind of workload is a type in `workloads`, which answers the questions of [`policy::Policy`]. `policy::Dispatch` is
//! generic over it; [`AnyDispatch`] is the one that the plan has.

mod arrivals;
mod ends;
mod events;
mod jars;
mod numbers;
mod policy;
mod scripted;
mod session;
mod slots;
mod source;
mod turns;
mod workloads;

use httperf_plan::{Plan, Shard, Workload};
use httperf_stats::Instant;

use self::policy::Dispatch;
use self::workloads::{ConnectionPool, Replaying, ScenarioVisits, SingleConnections, UserSessions};
use super::RecordedRequests;
use super::connections::{Cx, Event};
use super::phases::Phases;
use super::run::Run;
use crate::Network;

/// The dispatch of the workload that a plan has.
pub(super) struct AnyDispatch<'a>(Any<'a>);

enum Any<'a> {
    Connections(Dispatch<'a, SingleConnections>),
    Sessions(Dispatch<'a, UserSessions<'a>>),
    Calls(Dispatch<'a, ConnectionPool<'a>>),
    Scenarios(Box<Dispatch<'a, ScenarioVisits<'a>>>),
    Replay(Dispatch<'a, Replaying<'a>>),
}

/// Asks the dispatch of whichever workload it is.
macro_rules! ask {
    ($any:expr, $dispatch:ident => $answer:expr) => {
        match $any {
            Any::Connections($dispatch) => $answer,
            Any::Sessions($dispatch) => $answer,
            Any::Calls($dispatch) => $answer,
            Any::Scenarios($dispatch) => $answer,
            Any::Replay($dispatch) => $answer,
        }
    };
}

impl<'a> AnyDispatch<'a> {
    pub(super) fn new(plan: &'a Plan, shard: Shard, start: Instant) -> Self {
        Self(match &plan.workload {
            Workload::Connections(connections) => {
                let policy = SingleConnections::new(plan, connections);
                Any::Connections(Dispatch::new(plan, shard, start, policy))
            }
            Workload::Sessions(sessions) => {
                let policy = UserSessions::new(plan, sessions);
                Any::Sessions(Dispatch::new(plan, shard, start, policy))
            }
            Workload::Calls(calls) => {
                let policy = ConnectionPool::new(plan, calls, shard);
                Any::Calls(Dispatch::new(plan, shard, start, policy))
            }
            Workload::Scenarios(scenarios) => {
                let policy = ScenarioVisits::new(plan, scenarios);
                Any::Scenarios(Box::new(Dispatch::new(plan, shard, start, policy)))
            }
            Workload::Replay(replay) => {
                let policy = Replaying::new(replay, shard);
                Any::Replay(Dispatch::new(plan, shard, start, policy))
            }
        })
    }

    /// Sets the instant at which the schedule begins.
    pub(super) fn restart(&mut self, start: Instant) {
        ask!(&mut self.0, dispatch => dispatch.restart(start));
    }

    /// Sets the requests that a recording has for this shard.
    pub(super) fn set_recorded(&mut self, requests: RecordedRequests) {
        ask!(&mut self.0, dispatch => dispatch.set_recorded(requests));
    }

    /// Ends the run at the end of this turn.
    pub(super) fn give_up(&mut self) {
        ask!(&mut self.0, dispatch => dispatch.give_up());
    }

    /// Returns the number of connections that are opened before the run.
    pub(super) fn opened_before(&self) -> usize {
        ask!(&self.0, dispatch => dispatch.opened_before())
    }

    /// Opens a connection before the run, as the `nth` of this shard.
    pub(super) fn open_before<N: Network>(&mut self, nth: usize, cx: &mut Cx<'_, '_, N>) {
        ask!(&mut self.0, dispatch => dispatch.open_before(nth, cx));
    }

    /// Returns whether the workload is done.
    #[inline]
    pub(super) fn is_finished(&mut self, phases: &Phases, run: &Run<'_>) -> bool {
        ask!(&mut self.0, dispatch => dispatch.is_finished(phases, run))
    }

    /// Returns the instant at which something is to be done by itself; `at_once` if that is now.
    #[inline]
    pub(super) fn next_instant(
        &mut self,
        at_once: Instant,
        phases: &Phases,
        run: &Run<'_>,
    ) -> Option<Instant> {
        ask!(&mut self.0, dispatch => dispatch.next_instant(at_once, phases, run))
    }

    /// Returns whether what is due next may depend on replies that have come and are not read.
    #[inline]
    pub(super) fn awaits_replies(&mut self, run: &Run<'_>) -> bool {
        ask!(&mut self.0, dispatch => dispatch.awaits_replies(run))
    }

    /// Returns whether an arrival that was due before `end` has waited for others, as the plan lets it, not for the worker.
    pub(super) fn holds_back(&mut self, end: Instant, phases: &Phases, run: &Run<'_>) -> bool {
        ask!(&mut self.0, dispatch => dispatch.holds_back(end, phases, run))
    }

    /// Returns whether arrivals wait for room.
    pub(super) fn is_full(&self, run: &Run<'_>) -> bool {
        ask!(&self.0, dispatch => dispatch.is_full(run))
    }

    /// Starts the arrivals that are due, as far as there is room for them.
    #[inline]
    pub(super) fn start_due<N: Network>(&mut self, phases: &Phases, cx: &mut Cx<'_, '_, N>) {
        ask!(&mut self.0, dispatch => dispatch.start_due(phases, cx));
    }

    /// Returns whether a timer is over.
    #[inline]
    pub(super) fn has_timer(&self, now: Instant) -> bool {
        ask!(&self.0, dispatch => dispatch.has_timer(now))
    }

    /// Takes the action of the timer that is the first to be over.
    pub(super) fn fire_timer<N: Network>(&mut self, cx: &mut Cx<'_, '_, N>) {
        ask!(&mut self.0, dispatch => dispatch.fire_timer(cx));
    }

    /// Handles an event. On return, its connection may be gone.
    #[inline]
    pub(super) fn handle<N: Network>(&mut self, event: Event, cx: &mut Cx<'_, '_, N>) {
        ask!(&mut self.0, dispatch => dispatch.handle(event, cx));
    }

    /// Nothing more is offered: connections issue no further calls.
    pub(super) fn cut<N: Network>(&mut self, cx: &mut Cx<'_, '_, N>) {
        ask!(&mut self.0, dispatch => dispatch.cut(cx));
    }

    /// Starts what has waited for the end of something else in this turn: calls go to connections that failures have freed,
    /// or that may be opened, and arrivals start that had no room.
    #[inline]
    pub(super) fn end_turn<N: Network>(&mut self, phases: &Phases, cx: &mut Cx<'_, '_, N>) {
        ask!(&mut self.0, dispatch => dispatch.end_turn(phases, cx));
    }

    /// Closes the connections that have no calls, of a pool or of a recording's clients, now that the run is over.
    pub(super) fn close_idle<N: Network>(&self, cx: &mut Cx<'_, '_, N>) {
        ask!(&self.0, dispatch => dispatch.close_idle(cx));
    }

    /// Records the calls and sessions that have not ended, now that the run is over.
    pub(super) fn record_unfinished(&self, run: &mut Run<'_>, now: Instant) {
        ask!(&self.0, dispatch => dispatch.record_unfinished(run, now));
    }

    /// Records the arrivals that were due before `end` and have not started. `was_full`: they waited for room then.
    pub(super) fn record_missed(&mut self, end: Instant, was_full: bool, run: &mut Run<'_>, now: Instant) {
        ask!(&mut self.0, dispatch => dispatch.record_missed(end, was_full, run, now));
    }
}
