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

use super::sessions::Session;
use super::{ARRIVALS_PER_TURN, Dispatch, Policy, is_light};
use crate::Network;
use crate::worker::connections::{Cx, Owner};
use crate::worker::{CallKey, ConnectionKey, OPENING_MAX, SessionKey};

/// Connections that a pool without a schedule for each opens before the run, if it may have as many.
const OPENED_BEFORE: u64 = 10;

/// The connections that take calls.
pub(super) struct ConnectionPool<'a> {
    plan: &'a Plan,
    calls: &'a Calls,
    shard: Shard,
    /// Calls and connections that find each other: those of a target, or of a single connection.
    groups: Vec<Group>,
    /// Calls that may be outstanding at once, if the plan bounds them.
    places: Option<usize>,
    /// Calls that wait, in all groups.
    waiting: usize,
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
pub(super) struct Waiting {
    /// The number of its arrival.
    pub(super) index: u64,
    pub(super) due: Instant,
}

/// The state of a session of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    /// It has no room, or its connection is on its way.
    #[default]
    Taken,
    /// It has room for a call.
    Free,
    /// It has neither connection nor calls.
    Resting,
}

impl<'a> ConnectionPool<'a> {
    pub(super) fn new(plan: &'a Plan, calls: &'a Calls, shard: Shard) -> Self {
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
            ready: VecDeque::new(),
            opening: 0,
            is_failing: false,
        }
    }

    /// Returns the number of connections that this shard opens before the run.
    fn opened_before(&self) -> usize {
        let all = u64::from(self.calls.connections_max(&self.plan.limits));
        let targets = self.plan.targets.len() as u64;
        let wanted = match self.calls.assignment {
            Assignment::InTurn => all,
            Assignment::AnyFree => OPENED_BEFORE.max(targets).min(self.calls.count).min(all),
        };
        self.shard.share(wanted) as usize
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

    /// Returns the instants at which the calls were due that wait for a connection.
    pub(super) fn waiting(&self) -> impl Iterator<Item = Instant> + '_ {
        self.groups.iter().flat_map(|group| group.waiting.iter().map(|call| call.due))
    }

    /// Returns the number of calls that wait for a connection.
    pub(super) fn waiting_count(&self) -> usize {
        self.waiting
    }

    /// Returns whether a call waits that may have a connection.
    pub(super) fn can_serve(&self) -> bool {
        !self.ready.is_empty()
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
        open < most && beyond * beyond < open && self.calls.assignment == Assignment::AnyFree
    }
}

impl Dispatch<'_> {
    /// Returns the number of connections that a pool opens before the run.
    pub(in crate::worker) fn pool_size(&self) -> usize {
        match &self.policy {
            Policy::Pool(pool) => pool.opened_before(),
            Policy::Connections { .. }
            | Policy::Sessions { .. }
            | Policy::Scenarios(_)
            | Policy::Replay(_) => 0,
        }
    }

    /// Opens a connection of a pool before the run, as the `nth` of this shard.
    pub(in crate::worker) fn open_of_pool<N: Network>(&mut self, nth: usize, cx: &mut Cx<'_, '_, N>) {
        let Policy::Pool(pool) = &self.policy else { return };
        let group = nth % pool.groups.len();
        if let Some(key) = self.take_closed(group, cx) {
            self.open_ahead(key, cx);
        }
    }

    /// Gives a call that is due to a connection of the pool. If there may be no further one, the call waits.
    pub(super) fn take_call<N: Network>(&mut self, call: Waiting, cx: &mut Cx<'_, '_, N>) {
        let Policy::Pool(pool) = &self.policy else { return };
        let group = pool.group_of(call.index);
        match self.take_free(group, cx).or_else(|| self.take_closed(group, cx)) {
            Some(key) => self.give_call(key, call, cx),
            None => {
                cx.run.recorder.arrival_held(call.due);
                if let Policy::Pool(pool) = &mut self.policy {
                    pool.hold(group, call);
                }
            }
        }
        let Policy::Pool(pool) = &self.policy else { return };
        if pool.is_short(group)
            && !pool.is_failing
            && let Some(key) = self.take_closed(group, cx)
        {
            self.open_ahead(key, cx);
        }
    }

    /// Takes a session that has room for a call.
    fn take_free<N: Network>(&mut self, group: usize, cx: &Cx<'_, '_, N>) -> Option<SessionKey> {
        let Policy::Pool(pool) = &mut self.policy else { return None };
        let spreads = pool.spreads();
        let state = &mut pool.groups[group];
        while let Some(key) = state.free.pop_front() {
            let session = &mut self.sessions[key];
            if session.place == Place::Free {
                session.place = Place::Taken;
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
        let Policy::Pool(pool) = &mut self.policy else { return None };
        if !pool.may_open() {
            return None;
        }
        let state = &mut pool.groups[group];
        if let Some(key) = state.resting.pop() {
            self.sessions[key].place = Place::Taken;
            return Some(key);
        }
        (state.made < state.most).then(|| {
            state.made += 1;
            self.sessions.insert(Session::of_pool(self.plan, state.target, group, cx.now))
        })
    }

    /// Opens the connection of a session for calls to come.
    fn open_ahead<N: Network>(&mut self, key: SessionKey, cx: &mut Cx<'_, '_, N>) {
        self.sessions[key].ready_at = cx.now;
        self.open_connection(Owner { session: key, slot: 0 }, cx);
        self.settle(key, cx);
    }

    fn give_call<N: Network>(&mut self, key: SessionKey, call: Waiting, cx: &mut Cx<'_, '_, N>) {
        self.sessions[key].assign(call);
        let is_light = matches!(&self.policy, Policy::Pool(pool) if pool.is_light(cx.run.calls_count()));
        if self.create_call(key, 0, &Next::FromSource, cx) {
            if is_light && let Some(call) = self.sessions[key].queued(0).last() {
                cx.run.mark_light(call);
            }
            self.drive_slot(Owner { session: key, slot: 0 }, cx);
        } else {
            self.arrivals.ended();
        }
        self.settle(key, cx);
    }

    /// Something has changed for a slot: calls that wait find it. Those of a replay are made, as far as there is room.
    pub(super) fn settle_slot<N: Network>(&mut self, owner: Owner, cx: &mut Cx<'_, '_, N>) {
        if let Policy::Replay(_) = &self.policy {
            self.note_room(owner);
            self.make_requests(owner.session, cx);
        } else {
            self.settle(owner.session, cx);
        }
    }

    /// Something has changed for a session of a pool: files it where calls find it. Calls that wait may have it at the end of
    /// the turn, and not before: it may be one of several whose connections fail.
    pub(super) fn settle<N: Network>(&mut self, key: SessionKey, cx: &mut Cx<'_, '_, N>) {
        let Policy::Pool(pool) = &mut self.policy else { return };
        let session = &mut self.sessions[key];
        let (before, place, group) = (session.place, session.place_now(pool.spreads(), cx), session.group());
        if place == before {
            return;
        }
        session.place = place;
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

    /// A connection of a pool is on its way.
    pub(super) fn begin_opening(&mut self, key: SessionKey) {
        if let Policy::Pool(pool) = &mut self.policy {
            pool.opening += 1;
            self.sessions[key].is_opening = true;
        }
    }

    /// A connection of a pool could not be begun.
    pub(super) fn fail_opening(&mut self) {
        if let Policy::Pool(pool) = &mut self.policy {
            pool.is_failing = true;
        }
    }

    /// A connection of a pool that may have been on its way is established, or gone.
    pub(super) fn end_opening<N: Network>(
        &mut self,
        connection: ConnectionKey,
        key: SessionKey,
        is_established: bool,
        cx: &mut Cx<'_, '_, N>,
    ) {
        let Policy::Pool(pool) = &mut self.policy else { return };
        let session = &mut self.sessions[key];
        if !session.is_opening || !session.has_connection(0, connection) {
            return;
        }
        session.is_opening = false;
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

    /// A call on a connection of the pool was answered: its place is for the next.
    pub(super) fn handle_pool_answer<N: Network>(&mut self, key: SessionKey, cx: &mut Cx<'_, '_, N>) {
        self.arrivals.ended();
        // Calls that were behind it on a connection which the server closed go to another.
        if self.sessions[key].has_queued(0) {
            self.drive_slot(Owner { session: key, slot: 0 }, cx);
        }
        let Policy::Pool(pool) = &mut self.policy else { return };
        let session = &self.sessions[key];
        if pool.waiting > 0
            && session.place == Place::Taken
            && session.place_now(pool.spreads(), cx) != Place::Taken
            && let Some(call) = pool.next_waiting(session.group())
        {
            cx.run.recorder.had_waited(call.due, cx.now);
            self.give_call(key, call, cx);
            return;
        }
        self.settle(key, cx);
    }

    /// Gives calls that wait to connections that have room for them since a failure, or may be opened.
    pub(super) fn serve_pool<N: Network>(&mut self, cx: &mut Cx<'_, '_, N>) {
        let mut left = ARRIVALS_PER_TURN;
        while let Policy::Pool(pool) = &mut self.policy
            && left > 0
            && let Some(group) = pool.next_ready()
        {
            while left > 0
                && let Policy::Pool(pool) = &self.policy
                && !pool.groups[group].waiting.is_empty()
                && let Some(key) = self.take_free(group, cx).or_else(|| self.take_closed(group, cx))
            {
                left -= 1;
                let Policy::Pool(pool) = &mut self.policy else { return };
                if let Some(call) = pool.next_waiting(group) {
                    cx.run.recorder.had_waited(call.due, cx.now);
                    self.give_call(key, call, cx);
                }
            }
            if left == 0
                && let Policy::Pool(pool) = &mut self.policy
            {
                pool.make_ready(group);
            }
        }
    }

    /// A connection of the pool failed, and its calls with it: the first `count` of its queue.
    pub(super) fn handle_pool_failure<N: Network>(
        &mut self,
        key: SessionKey,
        count: usize,
        cx: &mut Cx<'_, '_, N>,
    ) {
        for _ in 0..count {
            let Some(call) = self.sessions[key].pop_queued(0) else { break };
            self.give_up_call(key, call, cx);
        }
        if self.sessions[key].has_queued(0) {
            self.drive_slot(Owner { session: key, slot: 0 }, cx);
        }
        self.settle(key, cx);
    }

    /// A call of the pool has failed: its place is for another.
    pub(super) fn give_up_call<N: Network>(
        &mut self,
        key: SessionKey,
        call: CallKey,
        cx: &mut Cx<'_, '_, N>,
    ) {
        cx.run.abandon_call(call, cx.now);
        self.arrivals.ended();
        self.settle(key, cx);
    }
}

impl Session<'_> {
    /// Returns what a session of a pool can do now.
    fn place_now<N: Network>(&self, spreads: bool, cx: &Cx<'_, '_, N>) -> Place {
        let slot = &self.slots()[0];
        if self.is_opening || self.is_pausing() || !slot.has_room(spreads, cx) {
            Place::Taken
        } else if slot.is_connected() {
            Place::Free
        } else {
            Place::Resting
        }
    }
}
