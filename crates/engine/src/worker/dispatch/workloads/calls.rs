//! The call workload: calls that are due by themselves, and the kept connections that take them.
//!
//! Each connection of the pool is a session that never ends, whose calls are given to it. A call takes a connection that has
//! room for it, one that rests, or a new one, in this order. If there may be no more, it waits for the first that has room.
//!
//! ```text
//!             a call is due                 its reply, or failure
//!   Free ─────────────────────► Taken ─────────────────────────────► Free, while it has room for another
//!   Resting ──────────────────►   │
//!   (new) ────────────────────►   └─────── its connection is gone ─► Resting
//! ```
//!
//! Some connections are opened before the run, and one more whenever few are free, so that most calls find one open.

use std::collections::VecDeque;

use httperf_load::visit::Next;
use httperf_plan::{Assignment, Calls, Plan, Shard};
use httperf_stats::Instant;

use crate::Network;
use crate::worker::connections::{Cx, Owner};
use crate::worker::dispatch::arrivals::{Due, is_light};
use crate::worker::dispatch::jars::Jars;
use crate::worker::dispatch::numbers::Issued;
use crate::worker::dispatch::policy::{Answered, Dispatch, Loss, Policy, Unit};
use crate::worker::dispatch::session::Session;
use crate::worker::dispatch::source::Asks;
use crate::worker::dispatch::turns::ARRIVALS_PER_TURN;
use crate::worker::run::Run;
use crate::worker::{CallKey, ConnectionKey, OPENING_MAX, SessionKey};

/// Connections that a pool without a schedule for each opens before the run, if it may have as many.
const OPENED_BEFORE: u64 = 10;

/// The connections that take calls.
pub(in crate::worker::dispatch) struct ConnectionPool<'a> {
    plan: &'a Plan,
    calls: &'a Calls,
    shard: Shard,
    /// Calls and connections that find each other: those of a target, or of a single connection.
    groups: Vec<Group>,
    /// Calls that may be outstanding at once, if the plan bounds them.
    places: Option<usize>,
    /// Calls that wait, in all groups.
    waiting: usize,
    /// Groups to which calls have gone in this turn: each is looked after at its end, when all that has come is read.
    taken_from: Vec<usize>,
    /// Groups in which a call waits that may have a connection.
    ready: VecDeque<usize>,
    /// Connections on their way.
    opening: usize,
    /// The last connection that was on its way came to nothing.
    is_failing: bool,
}

/// The connections of a target, or one with a schedule of its own.
#[derive(Default)]
struct Group {
    target: usize,
    /// The maximum number of its sessions, and their number.
    most: usize,
    made: usize,
    /// Sessions with room for a call, in the order in which they got it. Those that are not [`Place::Free`] any more are
    /// passed over.
    free: VecDeque<SessionKey>,
    free_count: usize,
    /// Sessions without a connection.
    resting: Vec<SessionKey>,
    /// Calls that are due and have no connection.
    waiting: VecDeque<Waiting>,
    /// It is among the groups that are ready.
    is_ready: bool,
}

/// A call that is due and has no connection.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// The number of its arrival.
    index: u64,
    due: Instant,
}

/// The place of a connection in the pool.
pub(in crate::worker::dispatch) struct Seat {
    /// The last call that it was given.
    issued: Issued,
    group: usize,
    place: Place,
    /// Its connection is on its way.
    is_opening: bool,
}

/// The state of a session of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// It has no room, or its connection is on its way.
    Taken,
    /// It has room for a call.
    Free,
    /// It has neither connection nor calls.
    Resting,
}

impl<'a> ConnectionPool<'a> {
    pub(in crate::worker::dispatch) fn new(plan: &'a Plan, calls: &'a Calls, shard: Shard) -> Self {
        let targets = plan.targets.len();
        let connections = shard.share(calls.connections_max(&plan.limits).into()) as usize;
        let groups = match calls.assignment {
            Assignment::AnyFree => (0..targets)
                .map(|target| {
                    let most = (connections + targets - 1 - target) / targets;
                    Group { target, most, ..Group::default() }
                })
                .collect(),
            Assignment::InTurn => (0..connections as u64)
                .map(|nth| Group { target: shard.nth(nth) as usize % targets, most: 1, ..Group::default() })
                .collect(),
        };
        Self {
            plan,
            calls,
            shard,
            groups,
            places: calls.places().map(|places| shard.share(places) as usize),
            waiting: 0,
            taken_from: Vec::new(),
            ready: VecDeque::new(),
            opening: 0,
            is_failing: false,
        }
    }

    /// Returns the group that takes an arrival.
    fn group_of(&self, index: u64) -> usize {
        match self.calls.assignment {
            Assignment::AnyFree => self.plan.target_of(index),
            Assignment::InTurn => {
                let connections = u64::from(self.calls.connections_max(&self.plan.limits));
                (index % connections / u64::from(self.shard.count)) as usize
            }
        }
    }

    /// Returns whether calls take other connections rather than wait for a stream: as many are opened as they need.
    fn spreads(&self) -> bool {
        self.calls.connections.is_none()
    }

    /// Returns whether a call finds most of the places free while `outstanding` others have one: it is answered as if the plan
    /// had no bound.
    fn is_light(&self, outstanding: usize) -> bool {
        self.places.is_some_and(|places| is_light(outstanding, places))
    }

    fn hold(&mut self, group: usize, call: Waiting) {
        self.groups[group].waiting.push_back(call);
        self.waiting += 1;
    }

    fn next_waiting(&mut self, group: usize) -> Option<Waiting> {
        let call = self.groups[group].waiting.pop_front();
        self.waiting -= usize::from(call.is_some());
        call
    }

    /// Lets the calls that wait in a group be served at the end of this turn.
    fn make_ready(&mut self, group: usize) {
        let state = &mut self.groups[group];
        if !state.waiting.is_empty() && !state.is_ready {
            state.is_ready = true;
            self.ready.push_back(group);
        }
    }

    fn next_ready(&mut self) -> Option<usize> {
        let group = self.ready.pop_front()?;
        self.groups[group].is_ready = false;
        Some(group)
    }

    /// Returns whether another connection may be on its way. Those with schedules of their own wait for none.
    fn may_open(&self) -> bool {
        self.opening < OPENING_MAX || self.calls.assignment == Assignment::InTurn
    }

    /// Returns whether a group has fewer free connections than the calls under way are likely to need soon: their number
    /// varies by its square root.
    fn is_short(&self, group: usize) -> bool {
        let Group { most, made, free_count, ref resting, .. } = self.groups[group];
        let open = made - resting.len();
        let beyond = free_count.saturating_sub(1);
        let most = most.min(usize::try_from(self.calls.count).unwrap_or(usize::MAX));
        open < most && beyond * beyond < open
    }
}

impl Asks for Seat {
    #[inline]
    fn issued(&mut self) -> &mut Issued {
        &mut self.issued
    }
}

impl<'a> Policy<'a> for ConnectionPool<'a> {
    type Own = Seat;

    const UNIT: Unit = Unit::Call;

    /// Gives a call that is due to a connection of the pool. If there may be no further one, the call waits.
    fn start<N: Network>(dispatch: &mut Dispatch<'a, Self>, arrival: Due, _: bool, cx: &mut Cx<'_, '_, N>) {
        let call = Waiting { index: arrival.index, due: arrival.at };
        let group = dispatch.policy.group_of(call.index);
        match dispatch.take_free(group, cx).or_else(|| dispatch.take_closed(group, cx)) {
            Some(key) => dispatch.give_call(key, call, cx),
            None => {
                cx.run.recorder.arrival_held(call.due);
                dispatch.policy.hold(group, call);
            }
        }
        let pool = &mut dispatch.policy;
        if pool.calls.assignment == Assignment::AnyFree && pool.taken_from.last() != Some(&group) {
            pool.taken_from.push(group);
        }
    }

    #[inline]
    fn waiting_count(&self) -> usize {
        self.waiting
    }

    #[inline]
    fn can_serve(&self) -> bool {
        !self.ready.is_empty()
    }

    fn serve_waiting<N: Network>(dispatch: &mut Dispatch<'a, Self>, cx: &mut Cx<'_, '_, N>) {
        let mut left = ARRIVALS_PER_TURN;
        while left > 0
            && let Some(group) = dispatch.policy.next_ready()
        {
            while left > 0
                && !dispatch.policy.groups[group].waiting.is_empty()
                && let Some(key) = dispatch.take_free(group, cx).or_else(|| dispatch.take_closed(group, cx))
            {
                left -= 1;
                if let Some(call) = dispatch.policy.next_waiting(group) {
                    cx.run.recorder.had_waited(call.due, cx.now);
                    dispatch.give_call(key, call, cx);
                }
            }
            if left == 0 {
                dispatch.policy.make_ready(group);
            }
        }
        while let Some(group) = dispatch.policy.taken_from.pop() {
            if dispatch.policy.is_short(group)
                && !dispatch.policy.is_failing
                && let Some(key) = dispatch.take_closed(group, cx)
            {
                dispatch.open_ahead(key, cx);
            }
        }
    }

    /// Not while most connections are free.
    fn awaits_replies(dispatch: &mut Dispatch<'a, Self>, run: &Run<'_>) -> bool {
        let Some(next) = dispatch.arrivals.next_index() else { return true };
        let pool = &dispatch.policy;
        let group = pool.group_of(next);
        let is_full = pool.places.is_some() && !pool.is_light(run.calls_count());
        pool.waiting > 0 || pool.opening > 0 || pool.groups[group].free_count < 2 || is_full
    }

    fn opened_before(&self) -> usize {
        let all = u64::from(self.calls.connections_max(&self.plan.limits));
        let targets = self.plan.targets.len() as u64;
        let wanted = match self.calls.assignment {
            Assignment::InTurn => all,
            Assignment::AnyFree => OPENED_BEFORE.max(targets).min(self.calls.count).min(all),
        };
        self.shard.share(wanted) as usize
    }

    fn open_before<N: Network>(dispatch: &mut Dispatch<'a, Self>, nth: usize, cx: &mut Cx<'_, '_, N>) {
        let group = nth % dispatch.policy.groups.len();
        if let Some(key) = dispatch.take_closed(group, cx) {
            dispatch.open_ahead(key, cx);
        }
    }

    fn opening_begun(dispatch: &mut Dispatch<'a, Self>, session: SessionKey) {
        dispatch.policy.opening += 1;
        dispatch.sessions[session].own.is_opening = true;
    }

    fn opening_failed(dispatch: &mut Dispatch<'a, Self>) {
        dispatch.policy.is_failing = true;
    }

    fn opening_ended<N: Network>(
        dispatch: &mut Dispatch<'a, Self>,
        connection: ConnectionKey,
        session: SessionKey,
        is_established: bool,
        cx: &mut Cx<'_, '_, N>,
    ) {
        let Dispatch { policy: pool, sessions, .. } = dispatch;
        let session = &mut sessions[session];
        if !session.own.is_opening || session.slots[0].connection != Some(connection) {
            return;
        }
        session.own.is_opening = false;
        pool.opening -= 1;
        pool.is_failing = !is_established;
        if pool.waiting > 0 && pool.calls.assignment == Assignment::AnyFree {
            (0..pool.groups.len()).for_each(|group| pool.make_ready(group));
        }
        if is_established {
            for call in cx.connections.pending(connection) {
                let due = cx.run.call(call).intended();
                cx.run.recorder.waited_for_connection(due, cx.now);
            }
        }
    }

    fn slot_changed<N: Network>(dispatch: &mut Dispatch<'a, Self>, owner: Owner, cx: &mut Cx<'_, '_, N>) {
        dispatch.settle(owner.session, cx);
    }

    /// The place of a call that was answered is for the next.
    fn answered<N: Network>(dispatch: &mut Dispatch<'a, Self>, answered: Answered, cx: &mut Cx<'_, '_, N>) {
        let Answered { connection, owner, call, is_last, .. } = answered;
        if is_last {
            dispatch.retire_unprocessed(connection, owner, cx);
        }
        cx.run.end_call(call, cx.now);
        dispatch.arrivals.ended();
        let key = owner.session;
        // Calls that were behind it on a connection which the server closed go to another.
        if !dispatch.sessions[key].slots[0].queue.is_empty() {
            dispatch.drive_slot(Owner { session: key, slot: 0 }, cx);
        }
        let Dispatch { policy: pool, sessions, .. } = dispatch;
        let session = &sessions[key];
        if pool.waiting > 0
            && session.own.place == Place::Taken
            && session.place_now(pool.spreads(), cx) != Place::Taken
            && let Some(call) = pool.next_waiting(session.own.group)
        {
            cx.run.recorder.had_waited(call.due, cx.now);
            dispatch.give_call(key, call, cx);
            return;
        }
        dispatch.settle(key, cx);
    }

    /// The calls of a connection fail with it.
    fn lost<N: Network>(dispatch: &mut Dispatch<'a, Self>, loss: Loss, cx: &mut Cx<'_, '_, N>) {
        let key = loss.owner.session;
        for _ in 0..loss.count {
            let Some(call) = dispatch.sessions[key].slots[0].queue.pop_front() else { break };
            dispatch.give_up_call(key, call, cx);
        }
        if !dispatch.sessions[key].slots[0].queue.is_empty() {
            dispatch.drive_slot(Owner { session: key, slot: 0 }, cx);
        }
        dispatch.settle(key, cx);
    }

    fn failed<N: Network>(
        dispatch: &mut Dispatch<'a, Self>,
        owner: Owner,
        call: CallKey,
        cx: &mut Cx<'_, '_, N>,
    ) {
        dispatch.give_up_call(owner.session, call, cx);
    }

    fn record_unfinished(dispatch: &Dispatch<'a, Self>, run: &mut Run<'_>, now: Instant) {
        for Waiting { due, .. } in dispatch.policy.groups.iter().flat_map(|group| &group.waiting) {
            run.recorder.had_waited(*due, now);
            run.recorder.call_made(*due);
            run.recorder.unfinished(*due, now);
        }
    }
}

impl<'a> Dispatch<'a, ConnectionPool<'a>> {
    /// Takes a session that has room for a call.
    fn take_free<N: Network>(&mut self, group: usize, cx: &Cx<'_, '_, N>) -> Option<SessionKey> {
        let pool = &mut self.policy;
        let spreads = pool.spreads();
        let state = &mut pool.groups[group];
        while let Some(key) = state.free.pop_front() {
            let session = &mut self.sessions[key];
            if session.own.place == Place::Free {
                session.own.place = Place::Taken;
                state.free_count -= 1;
                // The server may allow fewer calls than before.
                if session.place_now(spreads, cx) == Place::Free {
                    return Some(key);
                }
            }
        }
        None
    }

    /// Takes a session whose connection is to be opened: one that rests, or a new one.
    fn take_closed<N: Network>(&mut self, group: usize, cx: &Cx<'_, '_, N>) -> Option<SessionKey> {
        let pool = &mut self.policy;
        if !pool.may_open() {
            return None;
        }
        let state = &mut pool.groups[group];
        if let Some(key) = state.resting.pop() {
            self.sessions[key].own.place = Place::Taken;
            return Some(key);
        }
        (state.made < state.most).then(|| {
            state.made += 1;
            let own = Seat { issued: Issued::of(0), group, place: Place::Taken, is_opening: false };
            let mut session = Session::new(own, state.target, cx.now, cx.now, Jars::new(None));
            session.add_slot();
            self.sessions.insert(session)
        })
    }

    /// Opens the connection of a session for calls to come.
    fn open_ahead<N: Network>(&mut self, key: SessionKey, cx: &mut Cx<'_, '_, N>) {
        self.sessions[key].ready_at = cx.now;
        self.open_connection(Owner { session: key, slot: 0 }, cx);
        self.settle(key, cx);
    }

    fn give_call<N: Network>(&mut self, key: SessionKey, call: Waiting, cx: &mut Cx<'_, '_, N>) {
        let session = &mut self.sessions[key];
        (session.ready_at, session.own.issued) = (call.due, Issued::of(call.index));
        let is_light = self.policy.is_light(cx.run.calls_count());
        if self.create_call(key, 0, &Next::FromSource, cx) {
            if is_light && let Some(call) = self.sessions[key].slots[0].queue.back() {
                cx.run.mark_light(*call);
            }
            self.drive_slot(Owner { session: key, slot: 0 }, cx);
        } else {
            self.arrivals.ended();
        }
        self.settle(key, cx);
    }

    /// Something has changed for a session: files it where calls find it. Calls that wait may have it at the end of the turn,
    /// and not before: it may be one of several whose connections fail.
    fn settle<N: Network>(&mut self, key: SessionKey, cx: &mut Cx<'_, '_, N>) {
        let pool = &mut self.policy;
        let session = &mut self.sessions[key];
        let place = session.place_now(pool.spreads(), cx);
        let Seat { group, place: before, .. } = session.own;
        if place == before {
            return;
        }
        session.own.place = place;
        let state = &mut pool.groups[group];
        match before {
            Place::Free => state.free_count -= 1,
            // A call that was given back takes a session that rests, while its connection drains.
            Place::Resting => state.resting.retain(|&other| other != key),
            Place::Taken => {}
        }
        match place {
            Place::Taken => return,
            Place::Free => {
                state.free.push_back(key);
                state.free_count += 1;
            }
            Place::Resting => state.resting.push(key),
        }
        pool.make_ready(group);
    }

    /// A call has failed: its place is for another.
    fn give_up_call<N: Network>(&mut self, key: SessionKey, call: CallKey, cx: &mut Cx<'_, '_, N>) {
        cx.run.abandon_call(call, cx.now);
        self.arrivals.ended();
        self.settle(key, cx);
    }
}

impl Session<Seat> {
    /// Returns what it can do now.
    fn place_now<N: Network>(&self, spreads: bool, cx: &Cx<'_, '_, N>) -> Place {
        let slot = &self.slots.as_slice()[0];
        if self.own.is_opening || !self.pausing.is_empty() || !slot.has_room(spreads, cx) {
            Place::Taken
        } else if slot.connection.is_some() {
            Place::Free
        } else {
            Place::Resting
        }
    }
}
