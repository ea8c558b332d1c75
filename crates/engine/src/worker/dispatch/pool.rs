//! The call workload: calls that are due by themselves, and the kept connections that take them.
//!
//! Each connection of the pool is a session that never ends, whose calls are given to it. Its places, as many as calls
//! may be outstanding on it, wait in a queue for calls, or calls wait for them.

use std::collections::VecDeque;

use httperf_load::visit::Next;
use httperf_plan::{Assignment, Calls, Plan, Shard};
use httperf_stats::Instant;

use super::sessions::Session;
use super::{Dispatch, Policy};
use crate::Network;
use crate::worker::connections::{Cx, Owner};
use crate::worker::{CallKey, SessionKey};

/// The connections that take calls.
pub(super) struct ConnectionPool<'a> {
    plan: &'a Plan,
    calls: &'a Calls,
    shard: Shard,
    /// Calls and places that find each other: those of a target, or of a single connection.
    groups: Vec<Group>,
}

/// Only one of the two queues ever holds anything, but between a failure and the next turn.
#[derive(Default)]
struct Group {
    /// Places for calls, by the connection they belong to.
    free: VecDeque<SessionKey>,
    /// Calls that are due and have no place.
    waiting: VecDeque<Waiting>,
}

/// A call that is due and has no place.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    /// The number of its arrival.
    pub(super) index: u64,
    pub(super) due: Instant,
}

impl<'a> ConnectionPool<'a> {
    pub(super) fn new(plan: &'a Plan, calls: &'a Calls, shard: Shard) -> Self {
        let connections = shard.share(calls.connections.get().into()) as usize;
        let groups = match calls.assignment {
            Assignment::AnyFree => plan.targets.len(),
            Assignment::InTurn => connections,
        };
        Self { plan, calls, shard, groups: (0..groups).map(|_| Group::default()).collect() }
    }

    /// Returns the number of connections of this shard.
    pub(super) fn connections(&self) -> usize {
        self.shard.share(self.calls.connections.get().into()) as usize
    }

    /// Returns the number of calls that may be outstanding on a connection.
    pub(super) fn places_each(&self) -> u32 {
        self.calls.pipeline.get()
    }

    /// Returns the target and the group of the `nth` connection of this shard.
    pub(super) fn place_of(&self, nth: usize) -> (usize, usize) {
        let targets = self.plan.targets.len();
        match self.calls.assignment {
            Assignment::AnyFree => (nth % targets, nth % targets),
            Assignment::InTurn => (self.shard.nth(nth as u64) as usize % targets, nth),
        }
    }

    /// Returns the group that takes an arrival.
    fn group_of(&self, index: u64) -> usize {
        match self.calls.assignment {
            Assignment::AnyFree => self.plan.target_of(index),
            Assignment::InTurn => {
                (index % u64::from(self.calls.connections.get()) / u64::from(self.shard.count)) as usize
            }
        }
    }

    /// Returns the instants at which the calls were due that wait for a place.
    pub(super) fn waiting(&self) -> impl Iterator<Item = Instant> + '_ {
        self.groups.iter().flat_map(|group| group.waiting.iter().map(|call| call.due))
    }

    /// Returns the number of calls that wait for a place.
    pub(super) fn waiting_count(&self) -> usize {
        self.groups.iter().map(|group| group.waiting.len()).sum()
    }

    /// Returns whether a call waits that has a place.
    pub(super) fn can_serve(&self) -> bool {
        self.groups.iter().any(Group::can_serve)
    }

    /// Returns the connection that takes a call which is due. If there is none, the call waits.
    pub(super) fn offer(&mut self, call: Waiting) -> Option<SessionKey> {
        let group = self.group_of(call.index);
        let group = &mut self.groups[group];
        let place = group.free.pop_front();
        if place.is_none() {
            group.waiting.push_back(call);
        }
        place
    }

    /// A place of a connection in this group is free. It is not for calls that wait before the next turn.
    pub(super) fn free(&mut self, group: usize, connection: SessionKey) {
        self.groups[group].free.push_back(connection);
    }

    /// A place of a connection in this group is free. Returns the call that it is for; if none waits, the place does.
    pub(super) fn next_for(&mut self, group: usize, connection: SessionKey) -> Option<Waiting> {
        let group = &mut self.groups[group];
        let call = group.waiting.pop_front();
        if call.is_none() {
            group.free.push_back(connection);
        }
        call
    }

    /// Returns a call that waited, and the connection that takes it.
    pub(super) fn next_served(&mut self) -> Option<(SessionKey, Waiting)> {
        let group = self.groups.iter_mut().find(|group| group.can_serve())?;
        Some((group.free.pop_front()?, group.waiting.pop_front()?))
    }
}

impl Group {
    fn can_serve(&self) -> bool {
        !self.free.is_empty() && !self.waiting.is_empty()
    }
}

impl Dispatch<'_> {
    /// Opens a connection of a pool, as the `nth` of this shard. Returns its session; `None` if there is no pool.
    pub(in crate::worker) fn open_of_pool<N: Network>(
        &mut self,
        nth: usize,
        cx: &mut Cx<'_, '_, N>,
    ) -> Option<SessionKey> {
        let Policy::Pool(pool) = &self.policy else { return None };
        let (target, group) = pool.place_of(nth);
        let key = self.sessions.insert(Session::of_pool(self.plan, nth as u64, target, group, cx.now));
        self.open_connection(Owner { session: key, slot: 0 }, cx);
        Some(key)
    }

    /// Returns the number of connections that a pool opens before the run.
    pub(in crate::worker) fn pool_size(&self) -> usize {
        match &self.policy {
            Policy::Pool(pool) => pool.connections(),
            Policy::Connections { .. }
            | Policy::Sessions { .. }
            | Policy::Scenarios(_)
            | Policy::Replay(_) => 0,
        }
    }

    /// Offers the places of a pool's connections: in rounds, so that calls spread over all of them before one has a
    /// second.
    pub(in crate::worker) fn offer_places(&mut self, connections: &[SessionKey]) {
        let Policy::Pool(pool) = &mut self.policy else { return };
        for _ in 0..pool.places_each() {
            for &key in connections {
                pool.free(self.sessions[key].group(), key);
            }
        }
    }

    /// Gives a call that is due to a connection of the pool.
    pub(super) fn give_call<N: Network>(&mut self, key: SessionKey, call: Waiting, cx: &mut Cx<'_, '_, N>) {
        self.sessions[key].assign(call);
        if !self.create_call(key, 0, &Next::FromSource, cx) {
            self.arrivals.ended();
            self.free_place(key);
            return;
        }
        self.drive_slot(Owner { session: key, slot: 0 }, cx);
    }

    /// A call on a connection of the pool was answered: its place is for the next.
    pub(super) fn handle_pool_answer<N: Network>(&mut self, key: SessionKey, cx: &mut Cx<'_, '_, N>) {
        self.arrivals.ended();
        let Policy::Pool(pool) = &mut self.policy else { return };
        if let Some(call) = pool.next_for(self.sessions[key].group(), key) {
            self.give_call(key, call, cx);
        }
        // Calls that were behind it on a connection which the server closed go to another.
        if self.sessions[key].has_queued(0) {
            self.drive_slot(Owner { session: key, slot: 0 }, cx);
        }
    }

    /// A connection of the pool failed, and its calls with it: the first `count` of its queue. Calls that wait for their
    /// places are served in the next turn, as they may fail as well.
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
        self.free_place(key);
    }

    fn free_place(&mut self, key: SessionKey) {
        if let Policy::Pool(pool) = &mut self.policy {
            pool.free(self.sessions[key].group(), key);
        }
    }
}
