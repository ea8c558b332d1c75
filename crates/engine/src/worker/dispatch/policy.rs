//! The questions that each kind of workload answers for itself, and the parts that all of them share.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU32;

use httperf_load::page::Link;
use httperf_plan::{Excess, Plan, Shard};
use httperf_proto::HeaderBlock;
use httperf_stats::{Failure, Instant, Mismatch};
use slotmap::SlotMap;

use super::arrivals::{Arrivals, Cap, Due};
use super::session::Session;
use super::source::Source;
use crate::Network;
use crate::worker::connections::{Cx, Owner};
use crate::worker::run::Run;
use crate::worker::{CallKey, ConnectionKey, SessionKey};

/// Starts the arrivals of a workload when they are due, and decides the consequences of events.
pub(super) struct Dispatch<'a, P: Policy<'a>> {
    pub(super) plan: &'a Plan,
    pub(super) policy: P,
    pub(super) sessions: SlotMap<SessionKey, Session<P::Own>>,
    pub(super) arrivals: Arrivals,
    /// The bound on connections, or sessions, that go on at once.
    pub(super) cap: Option<Cap>,
    pub(super) source: Source<'a>,
    pub(super) timers: BinaryHeap<Reverse<(Instant, Timer)>>,
}

/// An action at an instant that always comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// A session's pause ends.
    Think(SessionKey),
    /// A slot of a session tries again to connect.
    Retry(SessionKey, u32),
    /// A slot of a session tries a call again whose stream was refused.
    Again(SessionKey, u32, CallKey),
    /// Something is due on the WebSocket of a call.
    Talk(CallKey),
}

/// The thing that an arrival starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// A connection: it has a session to itself, and nothing replaces it.
    Connection,
    Session,
    /// A call, which is due by itself: sessions only stand for the connections that take calls.
    Call,
}

/// A call that was answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answered {
    pub(super) connection: ConnectionKey,
    pub(super) owner: Owner,
    pub(super) call: CallKey,
    pub(super) status: u16,
    /// The server processes nothing behind this reply (RFC 9112, section 9.6).
    pub(super) is_last: bool,
}

/// A connection of a slot that failed, or could not be opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loss {
    pub(super) owner: Owner,
    pub(super) failure: Failure,
    /// It had delivered at least one reply.
    pub(super) has_answered: bool,
    /// The number of its calls: the first of the slot's queue.
    pub(super) count: usize,
}

/// How a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conclusion {
    Completed,
    /// It was given up.
    Failed,
    /// The run ended before.
    Cut,
}

/// The policy of a kind of workload: what its arrivals start, and what follows a reply or a failure.
///
/// A question that concerns the run as a whole is asked of the whole [`Dispatch`].
pub(super) trait Policy<'a>: Sized {
    /// The part of a session that no other workload has.
    type Own;

    const UNIT: Unit;

    /// Starts an arrival that is due, and for which there is room. `is_late`: it had waited for that, and the run's time is over.
    fn start<N: Network>(
        dispatch: &mut Dispatch<'a, Self>,
        arrival: Due,
        is_late: bool,
        cx: &mut Cx<'_, '_, N>,
    );

    /// Returns the bound on arrivals that go on at once, in all shards, and the fate of those that find no room.
    fn bound(&self) -> Option<(NonZeroU32, Excess)> {
        None
    }

    /// Returns whether no arrival is left for which there are requests.
    #[inline]
    fn is_used_up(dispatch: &mut Dispatch<'a, Self>) -> bool {
        let Dispatch { source, arrivals, .. } = dispatch;
        source.is_used_up(|| arrivals.next_index())
    }

    /// Records why no arrival is left, if a feed of values has no rows left.
    fn record_used_up(_dispatch: &mut Dispatch<'a, Self>, _run: &mut Run<'_>) {}

    /// Returns the number of calls that are due and wait for a connection.
    #[inline]
    fn waiting_count(&self) -> usize {
        0
    }

    /// Returns whether a call waits that can be given to a connection at once.
    #[inline]
    fn can_serve(&self) -> bool {
        false
    }

    /// Gives calls that wait to connections that failures have freed, or that may be opened.
    #[inline]
    fn serve_waiting<N: Network>(_dispatch: &mut Dispatch<'a, Self>, _cx: &mut Cx<'_, '_, N>) {}

    /// Returns whether the next arrival may depend on replies that have come and are not read: it is late, or goes elsewhere,
    /// as long as they are not.
    #[inline]
    fn awaits_replies(_dispatch: &mut Dispatch<'a, Self>, _run: &Run<'_>) -> bool {
        true
    }

    /// Returns the number of connections that are opened before the run.
    fn opened_before(&self) -> usize {
        0
    }

    /// Opens a connection before the run, as the `nth` of this shard.
    fn open_before<N: Network>(_dispatch: &mut Dispatch<'a, Self>, _nth: usize, _cx: &mut Cx<'_, '_, N>) {}

    /// A connection of a session is on its way.
    #[inline]
    fn opening_begun(_dispatch: &mut Dispatch<'a, Self>, _session: SessionKey) {}

    /// A connection could not be begun.
    #[inline]
    fn opening_failed(_dispatch: &mut Dispatch<'a, Self>) {}

    /// A connection that may have been on its way is established, or gone.
    #[inline]
    fn opening_ended<N: Network>(
        _dispatch: &mut Dispatch<'a, Self>,
        _connection: ConnectionKey,
        _session: SessionKey,
        _is_established: bool,
        _cx: &mut Cx<'_, '_, N>,
    ) {
    }

    /// A connection is ready for calls.
    #[inline]
    fn established<N: Network>(
        _dispatch: &mut Dispatch<'a, Self>,
        _connection: ConnectionKey,
        _session: SessionKey,
        _cx: &mut Cx<'_, '_, N>,
    ) {
    }

    /// Something has changed for a slot, which may have room for calls that wait.
    #[inline]
    fn slot_changed<N: Network>(_dispatch: &mut Dispatch<'a, Self>, _owner: Owner, _cx: &mut Cx<'_, '_, N>) {}

    /// Takes the objects that a header block has.
    #[inline]
    fn take_head<N: Network>(
        _dispatch: &mut Dispatch<'a, Self>,
        _call: CallKey,
        _head: &HeaderBlock,
        _cx: &mut Cx<'_, '_, N>,
    ) {
    }

    /// Takes the links that the body of a reply contains.
    fn take_links<N: Network>(
        _dispatch: &mut Dispatch<'a, Self>,
        _call: CallKey,
        _links: Vec<Link>,
        _cx: &mut Cx<'_, '_, N>,
    ) {
    }

    /// Judges a complete reply before it is recorded. Returns the check that it failed.
    #[inline]
    fn judge<N: Network>(
        _dispatch: &mut Dispatch<'a, Self>,
        _call: CallKey,
        _cx: &mut Cx<'_, '_, N>,
    ) -> Option<Mismatch> {
        None
    }

    /// A call was answered, and its reply is recorded.
    fn answered<N: Network>(dispatch: &mut Dispatch<'a, Self>, answered: Answered, cx: &mut Cx<'_, '_, N>);

    /// The pause of a session is over.
    fn resumed<N: Network>(
        _dispatch: &mut Dispatch<'a, Self>,
        _session: SessionKey,
        _cx: &mut Cx<'_, '_, N>,
    ) {
    }

    /// The server ended the connection of a slot while no reply was due: no failure.
    fn ended<N: Network>(dispatch: &mut Dispatch<'a, Self>, owner: Owner, cx: &mut Cx<'_, '_, N>) {
        dispatch.drive_slot(owner, cx);
    }

    /// The connection of a slot failed, or could not be opened.
    fn lost<N: Network>(dispatch: &mut Dispatch<'a, Self>, loss: Loss, cx: &mut Cx<'_, '_, N>);

    /// Returns the number of times that a call is made again which the server has not processed. `is_draining`: its connection
    /// takes no further calls.
    fn attempts(dispatch: &mut Dispatch<'a, Self>, _session: SessionKey, is_draining: bool) -> u32 {
        // A server may end any number of connections as it restarts. One that refuses a stream twice has refused the call.
        if is_draining { dispatch.plan.limits.retries } else { 1 }
    }

    /// A call failed, and its connection goes on.
    fn failed<N: Network>(
        dispatch: &mut Dispatch<'a, Self>,
        owner: Owner,
        call: CallKey,
        cx: &mut Cx<'_, '_, N>,
    );

    /// Nothing more is offered. Sessions go on: those that are cut are the long ones, and without them the others would look
    /// shorter than they are.
    fn cut<N: Network>(_dispatch: &mut Dispatch<'a, Self>, _cx: &mut Cx<'_, '_, N>) {}

    /// Records how a session ends, beyond what all sessions record.
    fn record_end(_session: &Session<Self::Own>, _conclusion: Conclusion, _now: Instant, _run: &mut Run<'_>) {
    }

    /// Records the arrivals that have not ended, now that the run is over. Calls that have a connection are recorded.
    fn record_unfinished(dispatch: &Dispatch<'a, Self>, run: &mut Run<'_>, now: Instant) {
        for session in dispatch.sessions.values() {
            run.recorder.session_unfinished(session.intended, now);
            Self::record_end(session, Conclusion::Cut, now, run);
        }
    }
}

impl<'a, P: Policy<'a>> Dispatch<'a, P> {
    pub(super) fn new(plan: &'a Plan, shard: Shard, start: Instant, policy: P) -> Self {
        let cap = policy.bound().map(|(most, excess)| Cap::new(shard.share(most.get().into()), excess));
        Self {
            plan,
            policy,
            sessions: SlotMap::with_key(),
            arrivals: Arrivals::new(plan, shard, start),
            cap,
            source: Source::new(plan, shard),
            timers: BinaryHeap::new(),
        }
    }
}
