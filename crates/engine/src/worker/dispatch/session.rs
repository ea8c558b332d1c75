//! Sessions: their connections, and the calls that wait for these.

use std::collections::VecDeque;

use httperf_stats::Instant;
use smallvec::SmallVec;

use super::jars::Jars;
use crate::Network;
use crate::worker::connections::{Cx, KeptSession, Resumable};
use crate::worker::{CallKey, ConnectionKey};

/// One session. `O` is the part that only sessions of its workload have.
///
/// A connection workload is the simplest case: a session of one connection, which nothing replaces.
pub(super) struct Session<O> {
    pub(super) own: O,
    /// The place of its target among the plan's; in a scenario, of that of its last call.
    pub(super) target: usize,
    pub(super) started: Instant,
    /// The instant at which it was due.
    pub(super) intended: Instant,
    /// The instant at which the calls that are ready became so: they are due since then.
    pub(super) ready_at: Instant,
    pub(super) slots: SmallVec<[Slot; 1]>,
    /// Connections that take no further calls, but answer those that they have.
    pub(super) draining: Vec<ConnectionKey>,
    /// Calls that pause before another attempt.
    pub(super) pausing: Vec<CallKey>,
    pub(super) jars: Jars,
    /// The TLS session that its next connection to a target offers to resume, with that target.
    tls_session: Option<(usize, KeptSession)>,
    pub(super) replies: u64,
    pub(super) established: u64,
    /// It found most of the places free that sessions may take at once, where the plan bounds them.
    pub(super) is_light: bool,
    /// Its last attempt to connect came to no server.
    pub(super) is_unreached: bool,
}

/// A place for a connection, and the calls that are to travel on it.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// The place of its target, where a session has a slot for each.
    pub(super) target: usize,
    pub(super) connection: Option<ConnectionKey>,
    /// Calls that the connection does not have yet, in order.
    pub(super) queue: VecDeque<CallKey>,
    /// Connections in a row that failed without a reply.
    pub(super) failures: u32,
    /// A retry timer runs: nothing is to be done until it fires.
    pub(super) is_waiting: bool,
    /// The client of a recording has noted that it may have room.
    pub(super) is_noted: bool,
}

impl<O> Session<O> {
    /// A session that was due at `intended` and begins now.
    pub(super) fn new(own: O, target: usize, intended: Instant, now: Instant, jars: Jars) -> Self {
        Self {
            own,
            target,
            started: now,
            intended,
            ready_at: intended,
            slots: SmallVec::new(),
            draining: Vec::new(),
            pausing: Vec::new(),
            jars,
            tls_session: None,
            replies: 0,
            established: 0,
            is_light: false,
            is_unreached: false,
        }
    }

    pub(super) fn keep_tls_session(&mut self, session: KeptSession) {
        self.tls_session = Some((self.target, session));
    }

    /// Takes the TLS session that the next connection to its target offers to resume. Keeps one that may be offered again.
    pub(super) fn take_tls_session(&mut self) -> Option<KeptSession> {
        let target = self.target;
        let (server, kept) = self.tls_session.take_if(|(server, _)| *server == target)?;
        self.tls_session = kept.again().map(|again| (server, again));
        Some(kept)
    }

    /// Returns whether calls are to be made on the connection of a slot: they wait for it, or pause.
    pub(super) fn has_more_for(&self, slot: usize) -> bool {
        !self.slots[slot].queue.is_empty() || !self.pausing.is_empty()
    }

    /// Adds a slot. Returns its place.
    pub(super) fn add_slot(&mut self) -> usize {
        self.slots.push(Slot::default());
        self.slots.len() - 1
    }

    /// Returns all its connections.
    pub(super) fn connections(&self) -> impl Iterator<Item = ConnectionKey> {
        self.draining.iter().copied().chain(self.slots.iter().filter_map(|slot| slot.connection))
    }
}

impl Slot {
    /// Returns whether it takes another call at once. `spreads`: calls do not wait for a stream if they can go elsewhere.
    pub(super) fn has_room<N: Network>(&self, spreads: bool, cx: &Cx<'_, '_, N>) -> bool {
        self.queue.is_empty()
            && !self.is_waiting
            && self.connection.is_none_or(|connection| match spreads {
                true => cx.connections.has_room(connection),
                false => cx.connections.has_capacity(connection),
            })
    }

    /// Returns whether it has no calls.
    pub(super) fn is_idle<N: Network>(&self, cx: &Cx<'_, '_, N>) -> bool {
        self.queue.is_empty()
            && self.connection.is_none_or(|connection| cx.connections.pending_count(connection) == 0)
    }
}
