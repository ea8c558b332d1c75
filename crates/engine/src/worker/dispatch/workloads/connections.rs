//! The connection workload: each arrival is a connection, which makes its calls and is replaced by none.

use std::num::NonZeroU32;

use httperf_load::visit::Visit;
use httperf_plan::{Arrivals as Pacing, Connections, Excess, Plan, UNLIMITED};

use crate::Network;
use crate::worker::connections::{Cx, Owner};
use crate::worker::dispatch::arrivals::Due;
use crate::worker::dispatch::jars::Jars;
use crate::worker::dispatch::numbers::Issued;
use crate::worker::dispatch::policy::{Answered, Dispatch, Loss, Policy, Unit};
use crate::worker::dispatch::scripted::{Follows, Scripted};
use crate::worker::dispatch::session::Session;
use crate::worker::dispatch::source::Asks;
use crate::worker::run::Call;
use crate::worker::{CallKey, ConnectionKey, SessionKey};

/// Connections, each with a session to itself.
pub(in crate::worker::dispatch) struct SingleConnections {
    /// Connections are opened only to be closed again (`--num-calls=0`).
    opens_without_calls: bool,
    /// Calls that the server did not process, as it closed their connection, are made again on another: in a closed
    /// loop, and where calls are pipelined. Otherwise such a call ends with its connection.
    makes_calls_again: bool,
    bound: Option<(NonZeroU32, Excess)>,
}

/// The calls of a connection.
pub(in crate::worker::dispatch) struct ConnectionCalls<'a> {
    visit: Visit<'a>,
    issued: Issued,
    /// A server that takes no further calls has given some back, which are made again on another connection.
    has_returned: bool,
}

impl SingleConnections {
    pub(in crate::worker::dispatch) fn new(plan: &Plan, connections: &Connections) -> Self {
        Self {
            opens_without_calls: !plan.makes_calls(),
            makes_calls_again: connections.pipeline.get() > 1
                || matches!(plan.arrivals, Pacing::Concurrent(_)),
            bound: connections.max_open.map(|cap| (cap.connections, cap.excess)),
        }
    }
}

impl Asks for ConnectionCalls<'_> {
    fn issued(&mut self) -> &mut Issued {
        &mut self.issued
    }
}

impl<'a> Follows<'a> for ConnectionCalls<'a> {
    fn visit(&mut self) -> &mut Visit<'a> {
        &mut self.visit
    }
}

impl<'a> Policy<'a> for SingleConnections {
    type Own = ConnectionCalls<'a>;

    const UNIT: Unit = Unit::Connection;

    fn bound(&self) -> Option<(NonZeroU32, Excess)> {
        self.bound
    }

    fn start<N: Network>(
        dispatch: &mut Dispatch<'a, Self>,
        arrival: Due,
        is_late: bool,
        cx: &mut Cx<'_, '_, N>,
    ) {
        let Due { index, at, .. } = arrival;
        let plan = dispatch.plan;
        let visit = Visit::new(&plan.workload, index);
        let own = ConnectionCalls { visit, issued: Issued::of(index), has_returned: false };
        let target = plan.target_of(index);
        let key = dispatch.admit(Session::new(own, target, at, cx.now, Jars::new(None)));
        if dispatch.policy.opens_without_calls {
            let slot = dispatch.sessions[key].add_slot();
            dispatch.open_connection(Owner { session: key, slot }, cx);
        } else {
            dispatch.pump(key, cx);
        }
        if is_late && let Some(session) = dispatch.sessions.get_mut(key) {
            // Only the calls that were due with it are made.
            session.own.visit.stop_issuing();
        }
    }

    fn established<N: Network>(
        dispatch: &mut Dispatch<'a, Self>,
        connection: ConnectionKey,
        session: SessionKey,
        cx: &mut Cx<'_, '_, N>,
    ) {
        if dispatch.policy.opens_without_calls && !cx.connections.stay_for_ticket(connection, cx.now, cx.run)
        {
            dispatch.end_session(session, true, cx);
        }
    }

    fn answered<N: Network>(dispatch: &mut Dispatch<'a, Self>, answered: Answered, cx: &mut Cx<'_, '_, N>) {
        let Answered { connection, owner, call, is_last, .. } = answered;
        if is_last {
            let session = &dispatch.sessions[owner.session];
            let unanswered = session.own.visit.unanswered();
            let has_more = cx.connections.pending_count(connection) > 0
                || session.own.has_returned && session.has_more_for(owner.slot);
            if has_more && dispatch.makes_calls_again(owner.session) {
                dispatch.stop_issuing_early(owner.session, cx);
            } else if unanswered > 1 {
                // This connection ends here, though it did not fail.
                cx.run.remove_call(call);
                let sent = dispatch.drop_calls(owner.session, cx);
                dispatch.record_closed_early(owner.session, unanswered - 1 - sent, cx);
                dispatch.end_session(owner.session, false, cx);
                return;
            }
            dispatch.retire_unprocessed(connection, owner, cx);
        }
        cx.run.end_call(call, cx.now);
        dispatch.go_on(owner, cx);
    }

    fn resumed<N: Network>(dispatch: &mut Dispatch<'a, Self>, session: SessionKey, cx: &mut Cx<'_, '_, N>) {
        dispatch.end_think(session, cx);
    }

    fn ended<N: Network>(dispatch: &mut Dispatch<'a, Self>, owner: Owner, cx: &mut Cx<'_, '_, N>) {
        let session = &dispatch.sessions[owner.session];
        if dispatch.makes_calls_again(owner.session) && session.has_more_for(owner.slot) {
            dispatch.stop_issuing_early(owner.session, cx);
            dispatch.drive_slot(owner, cx);
            return;
        }
        // During a pause there may be calls left, or calls that the server did not process.
        let left = session.own.visit.unanswered();
        if left > 0 {
            dispatch.drop_calls(owner.session, cx);
            dispatch.record_closed_early(owner.session, left, cx);
        }
        dispatch.end_session(owner.session, false, cx);
    }

    fn lost<N: Network>(dispatch: &mut Dispatch<'a, Self>, loss: Loss, cx: &mut Cx<'_, '_, N>) {
        dispatch.end_session(loss.owner.session, false, cx);
    }

    fn attempts(dispatch: &mut Dispatch<'a, Self>, session: SessionKey, is_draining: bool) -> u32 {
        dispatch.sessions[session].own.has_returned |= is_draining;
        // As for other workloads, if its calls are made again at all.
        if is_draining && dispatch.policy.makes_calls_again { dispatch.plan.limits.retries } else { 1 }
    }

    fn failed<N: Network>(
        dispatch: &mut Dispatch<'a, Self>,
        owner: Owner,
        call: CallKey,
        cx: &mut Cx<'_, '_, N>,
    ) {
        cx.run.abandon_call(call, cx.now);
        dispatch.go_on(owner, cx);
    }

    /// Connections issue no further calls, and end with the replies they wait for.
    fn cut<N: Network>(dispatch: &mut Dispatch<'a, Self>, cx: &mut Cx<'_, '_, N>) {
        for key in dispatch.sessions.keys().collect::<Vec<SessionKey>>() {
            let visit = &mut dispatch.sessions[key].own.visit;
            visit.stop_issuing();
            if visit.is_idle() && !dispatch.policy.opens_without_calls {
                dispatch.end_session(key, true, cx);
            }
        }
    }
}

impl Scripted<'_> for SingleConnections {
    #[inline]
    fn slots_max(&self) -> usize {
        1
    }

    #[inline]
    fn calls_max(&self) -> usize {
        usize::MAX
    }
}

impl Dispatch<'_, SingleConnections> {
    /// Returns whether a session whose connection the server closes, with calls left that it has not processed, makes them
    /// again on another.
    fn makes_calls_again(&self, key: SessionKey) -> bool {
        self.policy.makes_calls_again || self.sessions[key].own.has_returned
    }

    /// The server has closed a connection some of whose calls are made again. If a number of calls was planned on it, no
    /// more are made than those; otherwise the connection that replaces it goes on.
    fn stop_issuing_early<N: Network>(&mut self, key: SessionKey, cx: &mut Cx<'_, '_, N>) {
        if self.plan.calls_per_arrival() == UNLIMITED {
            return;
        }
        let visit = &mut self.sessions[key].own.visit;
        let unanswered = visit.unanswered();
        visit.stop_issuing();
        let not_made = unanswered - visit.unanswered();
        if not_made > 0 {
            self.record_closed_early(key, not_made, cx);
        }
    }

    /// The server ended a connection before `calls_left` of its calls were made.
    fn record_closed_early<N: Network>(&mut self, key: SessionKey, calls_left: u64, cx: &mut Cx<'_, '_, N>) {
        if self.plan.calls_per_arrival() != UNLIMITED {
            cx.run.recorder.closed_early(self.sessions[key].ready_at, calls_left);
        }
    }

    /// Drops the calls of a session that have not been answered: those that were sent have failed, the others were
    /// never made. Returns the number of those that were sent.
    fn drop_calls<N: Network>(&mut self, key: SessionKey, cx: &mut Cx<'_, '_, N>) -> u64 {
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
}
