//! The call workload: calls that are due by themselves, and the kept connections that take them.
//!
//! Each connection of the pool is a session that never ends, whose calls are given to it. Its places, as many as calls
//! may be outstanding on it, wait in a queue for calls, or calls wait for them.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use httperf_load::visit::Next;
use httperf_plan::{Assignment, Calls, Plan, Shard};
use httperf_stats::Instant;

use super::connections::Stage;
use super::sessions::{Session, Slot};
use super::{ARRIVALS_PER_TURN, CallKey, SessionKey, Worker};
use crate::{Network, Ready};

/// How many connections are on their way at once while a pool is opened: less than servers queue.
const OPENING_MAX: usize = 100;

/// How long opening a pool takes at most. What is not open by then is when a call needs it.
const OPENING_TIME: Duration = Duration::from_secs(10);

/// The connections that take calls.
pub(super) struct Pool<'p> {
    plan: &'p Plan,
    calls: &'p Calls,
    shard: Shard,
    targets: usize,
    /// Calls and places that find each other: those of a target, or of a single connection.
    groups: Vec<Group>,
}

/// Only one of the two queues ever holds anything, but between a failure and the next turn.
#[derive(Default)]
struct Group {
    /// Places for calls, by the connection they belong to.
    free: VecDeque<SessionKey>,
    /// Calls that are due and have no place: their numbers, and when they were due.
    waiting: VecDeque<(u64, Instant)>,
}

impl<'p> Pool<'p> {
    pub(super) fn new(plan: &'p Plan, calls: &'p Calls, shard: Shard) -> Self {
        let targets = plan.targets.len();
        let connections = shard.share(calls.connections.get().into()) as usize;
        let groups = match calls.assignment {
            Assignment::AnyFree => targets,
            Assignment::InTurn => connections,
        };
        Self { plan, calls, shard, targets, groups: (0..groups).map(|_| Group::default()).collect() }
    }

    /// How many connections this shard has.
    fn connections(&self) -> usize {
        self.shard.share(self.calls.connections.get().into()) as usize
    }

    /// The group that takes an arrival.
    fn group_of(&self, index: u64) -> usize {
        match self.calls.assignment {
            Assignment::AnyFree => self.plan.target_of(index),
            Assignment::InTurn => {
                (index % u64::from(self.calls.connections.get()) / u64::from(self.shard.count)) as usize
            }
        }
    }

    /// Calls that are due and wait for a place.
    pub(super) fn waiting(&self) -> impl Iterator<Item = Instant> + '_ {
        self.groups.iter().flat_map(|group| group.waiting.iter().map(|&(_, due)| due))
    }

    /// How many they are.
    pub(super) fn waiting_count(&self) -> usize {
        self.groups.iter().map(|group| group.waiting.len()).sum()
    }

    /// Whether a call waits that has a place.
    pub(super) fn can_serve(&self) -> bool {
        self.groups.iter().any(|group| !group.free.is_empty() && !group.waiting.is_empty())
    }
}

impl<N: Network> Worker<'_, '_, N> {
    /// Opens the connections of a pool, if the plan has one, and waits until they are there or have failed.
    ///
    /// # Errors
    /// When the poller is broken.
    pub(super) fn open_pool(&mut self) -> io::Result<()> {
        let Some(pool) = &self.pool else { return Ok(()) };
        let (count, targets, assignment) = (pool.connections(), pool.targets, pool.calls.assignment);
        let pipeline = pool.calls.pipeline.get();
        let began = self.network.now();
        // However long it takes, it is no part of the measured phase if there is a warm-up before that.
        self.recorder.restart(began, Instant::from_nanos(u64::MAX));
        let limit = self.plan.timeouts.timeout.map_or(OPENING_TIME, |limit| limit.min(OPENING_TIME));
        let end = began + limit;
        let mut keys = Vec::with_capacity(count);
        let mut ready: Vec<Ready> = Vec::new();
        let mut now = began;
        loop {
            let opening =
                self.connections.values().filter(|connection| connection.stage != Stage::Established).count();
            for nth in keys.len()..count.min(keys.len() + OPENING_MAX.saturating_sub(opening)) {
                let (target, group) = match assignment {
                    Assignment::AnyFree => (nth % targets, nth % targets),
                    Assignment::InTurn => (self.shard.nth(nth as u64) as usize % targets, nth),
                };
                let mut session = Session::new(self.plan, nth as u64, target, now, now);
                session.group = group;
                session.slots.push(Slot::default());
                let key = self.sessions.insert(session);
                keys.push(key);
                self.open_connection(key, 0, now);
            }
            let is_open = keys.len() == count
                && self.connections.values().all(|connection| connection.stage == Stage::Established);
            if is_open || now >= end || self.network.stop_requested() {
                break;
            }
            if self.connections.values().all(|connection| connection.stage == Stage::Established) {
                // What was begun has failed at once: nothing will be told of it.
                now = self.network.now();
                continue;
            }
            let deadline = self.deadlines.next().map_or(end, |deadline| deadline.min(end));
            self.network.wait(Some(deadline), &mut ready)?;
            self.turn += 1;
            now = self.network.now();
            for event in &ready {
                self.handle_ready(event, now);
            }
            self.read_on();
            self.fire_deadlines(now);
        }
        // In rounds, so that calls spread over all connections before one has a second.
        for _ in 0..pipeline {
            for &key in &keys {
                let group = self.sessions[key].group;
                if let Some(pool) = &mut self.pool {
                    pool.groups[group].free.push_back(key);
                }
            }
        }
        Ok(())
    }

    /// Gives a call that is due to a connection, or lets it wait for one.
    pub(super) fn offer_call(&mut self, index: u64, due: Instant, now: Instant) {
        let Some(pool) = &mut self.pool else { return };
        let group = pool.group_of(index);
        let group = &mut pool.groups[group];
        match group.free.pop_front() {
            Some(session) => self.give_call(session, index, due, now),
            None => {
                group.waiting.push_back((index, due));
                self.recorder.arrival_held(due);
            }
        }
    }

    fn give_call(&mut self, key: SessionKey, index: u64, due: Instant, now: Instant) {
        let session = &mut self.sessions[key];
        session.ready_at = due;
        session.index = index;
        session.issued = 0;
        let Some(call) = self.create_call(key, &Next::FromSource) else {
            self.arrivals.ended();
            self.free_place(key);
            return;
        };
        self.sessions[key].slots[0].queue.push_back(call);
        self.drive_slot(key, 0, now);
    }

    /// A call on a connection of the pool was answered: its place is for the next.
    pub(super) fn handle_pool_answer(&mut self, key: SessionKey, now: Instant) {
        self.arrivals.ended();
        let Some(pool) = &mut self.pool else { return };
        let group = &mut pool.groups[self.sessions[key].group];
        match group.waiting.pop_front() {
            Some((index, due)) => self.give_call(key, index, due, now),
            None => group.free.push_back(key),
        }
        // Calls that were behind it on a connection which the server closed go to another.
        if !self.sessions[key].slots[0].queue.is_empty() {
            self.drive_slot(key, 0, now);
        }
    }

    /// A connection of the pool failed: so have its calls, so many, which are at the head of its queue. What waits for
    /// their places is served in the next turn, as it may fail as well.
    pub(super) fn handle_pool_failure(&mut self, key: SessionKey, calls: usize, now: Instant) {
        for _ in 0..calls {
            let Some(call) = self.sessions[key].slots[0].queue.pop_front() else { break };
            self.give_up_call(key, call, now);
        }
        if !self.sessions[key].slots[0].queue.is_empty() {
            self.drive_slot(key, 0, now);
        }
    }

    /// A call of the pool has failed: its place is for another.
    pub(super) fn give_up_call(&mut self, key: SessionKey, call: CallKey, now: Instant) {
        self.abandon_call(call, now);
        self.arrivals.ended();
        self.free_place(key);
    }

    fn free_place(&mut self, key: SessionKey) {
        let group = self.sessions[key].group;
        if let Some(pool) = &mut self.pool {
            pool.groups[group].free.push_back(key);
        }
    }

    /// Gives calls that wait to the places that failures have freed.
    pub(super) fn serve_waiting(&mut self, now: Instant) {
        for _ in 0..ARRIVALS_PER_TURN {
            let Some(pool) = &mut self.pool else { return };
            let mut groups = pool.groups.iter_mut();
            let Some(group) = groups.find(|group| !group.free.is_empty() && !group.waiting.is_empty()) else {
                return;
            };
            if let (Some(key), Some((index, due))) = (group.free.pop_front(), group.waiting.pop_front()) {
                self.give_call(key, index, due, now);
            }
        }
    }

    /// The run is over: closes the connections of the pool that have nothing outstanding.
    pub(super) fn close_pool(&mut self, now: Instant) {
        if self.pool.is_none() {
            return;
        }
        for key in self.connections.keys().collect::<Vec<_>>() {
            if self.connections[key].engine.pending_count() == 0 {
                self.close_connection(key, now);
            }
        }
    }
}
