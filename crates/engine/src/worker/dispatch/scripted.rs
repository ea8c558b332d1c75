//! Sessions whose calls follow a script of bursts: connections, and sessions of users.

use std::time::Duration;

use httperf_load::visit::{Step, Visit};

use super::policy::{Dispatch, Policy, Timer};
use super::session::Slot;
use super::source::Asks;
use crate::Network;
use crate::worker::SessionKey;
use crate::worker::connections::{Cx, Owner};

/// The part of a session that knows its next calls.
pub(super) trait Follows<'a>: Asks {
    fn visit(&mut self) -> &mut Visit<'a>;
}

/// A workload whose sessions follow a script.
pub(super) trait Scripted<'a>: Policy<'a, Own: Follows<'a>> {
    /// Returns the number of connections that a session may have.
    fn slots_max(&self) -> usize;

    /// Returns the number of calls that may be outstanding on one of them.
    fn calls_max(&self) -> usize;
}

impl<'a, P: Scripted<'a>> Dispatch<'a, P> {
    /// Issues the calls that are ready, as far as the session's slots have room.
    pub(super) fn pump<N: Network>(&mut self, key: SessionKey, cx: &mut Cx<'_, '_, N>) {
        loop {
            let Some(session) = self.sessions.get_mut(key) else { return };
            if !session.own.visit().is_ready() {
                break;
            }
            let Some(slot) = self.free_slot(key, cx) else { break };
            let next = self.sessions[key].own.visit().next_call().expect("a call is ready");
            if !self.create_call(key, slot, &next, cx) {
                let visit = self.sessions[key].own.visit();
                visit.untake();
                visit.stop_issuing();
                if visit.is_idle() {
                    self.end_session(key, true, cx);
                    return;
                }
                break;
            }
            self.submit_slot(Owner { session: key, slot }, cx);
        }
        self.flush_session(key, cx);
    }

    /// Returns the first slot that takes another call; a new one if the session may have more.
    fn free_slot<N: Network>(&mut self, key: SessionKey, cx: &Cx<'_, '_, N>) -> Option<usize> {
        let (slots_max, calls_max) = (self.policy.slots_max(), self.policy.calls_max());
        let session = &mut self.sessions[key];
        let has_room = |slot: &Slot| {
            let submitted = slot.connection.map_or(0, |key| cx.connections.pending_count(key));
            slot.queue.len() + submitted < calls_max
        };
        let found = session.slots.iter().position(has_room);
        found.or_else(|| (session.slots.len() < slots_max).then(|| session.add_slot()))
    }

    /// A call of a session has ended: takes the next step of its script.
    pub(super) fn go_on<N: Network>(&mut self, owner: Owner, cx: &mut Cx<'_, '_, N>) {
        let key = owner.session;
        let session = &mut self.sessions[key];
        let visit = session.own.visit();
        // Calls that only wait for room on a connection have been due since before this reply.
        let had_ready = visit.is_ready();
        match visit.handle_reply() {
            Step::Finished => self.end_session(key, true, cx),
            Step::Think(pause) => self.think(owner, pause, cx),
            Step::Continue => {
                if !had_ready {
                    session.ready_at = cx.now;
                }
                self.submit_slot(owner, cx);
                self.pump(key, cx);
            }
        }
    }

    fn think<N: Network>(&mut self, owner: Owner, pause: Duration, cx: &mut Cx<'_, '_, N>) {
        let at = cx.now + pause;
        self.sessions[owner.session].ready_at = at;
        self.set_timer(at, Timer::Think(owner.session));
        self.drive_slot(owner, cx);
    }

    /// The pause of a session is over.
    pub(super) fn end_think<N: Network>(&mut self, key: SessionKey, cx: &mut Cx<'_, '_, N>) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        session.own.visit().resume();
        self.pump(key, cx);
    }
}
