//! From the calls of a session to connections, by way of its slots.

use httperf_load::visit::Next;

use super::arrivals::is_light;
use super::policy::{Dispatch, Loss, Policy};
use super::session::Session;
use super::source::Asks;
use crate::Network;
use crate::worker::SessionKey;
use crate::worker::connections::{Cx, Opening, Owner};
use crate::worker::run::{NewCall, Origin};

impl<'a, P: Policy<'a>> Dispatch<'a, P> {
    /// Takes in a session that begins.
    pub(super) fn admit(&mut self, mut session: Session<P::Own>) -> SessionKey {
        session.is_light = self.cap.as_ref().is_some_and(|cap| is_light(self.sessions.len(), cap.places()));
        self.sessions.insert(session)
    }

    /// Moves the calls that wait on a slot to its connection, opening one if there is none.
    pub(super) fn drive_slot<N: Network>(&mut self, owner: Owner, cx: &mut Cx<'_, '_, N>) {
        self.submit_slot(owner, cx);
        self.flush_slot(owner, cx);
    }

    pub(super) fn submit_slot<N: Network>(&mut self, owner: Owner, cx: &mut Cx<'_, '_, N>) {
        let Some(session) = self.sessions.get_mut(owner.session) else { return };
        let slot = &session.slots[owner.slot];
        if slot.is_waiting || slot.queue.is_empty() {
            return;
        }
        if slot.connection.is_none() {
            self.open_connection(owner, cx);
        }
        let Some(session) = self.sessions.get_mut(owner.session) else { return };
        let slot = &mut session.slots[owner.slot];
        if let Some(connection) = slot.connection {
            cx.connections.submit(connection, &mut slot.queue, cx.now, cx.run);
        }
    }

    /// Opens a connection for a slot.
    #[inline(never)]
    pub(super) fn open_connection<N: Network>(&mut self, owner: Owner, cx: &mut Cx<'_, '_, N>) {
        let session = &mut self.sessions[owner.session];
        let (target, due) = (session.target, session.ready_at);
        let opening = Opening { owner, target, due, tls_session: session.take_tls_session() };
        match cx.connections.open(opening, cx.run) {
            Ok(connection) => {
                session.slots[owner.slot].connection = Some(connection);
                P::opening_begun(self, owner.session);
            }
            Err(failure) => {
                session.is_unreached = true;
                let count = session.slots[owner.slot].queue.len();
                P::opening_failed(self);
                P::lost(self, Loss { owner, failure, has_answered: false, count }, cx);
            }
        }
    }

    /// Sends the calls that the session's connections were given.
    pub(super) fn flush_session<N: Network>(&mut self, key: SessionKey, cx: &mut Cx<'_, '_, N>) {
        for connection in self.sessions[key].slots.iter().filter_map(|slot| slot.connection) {
            cx.connections.flush_submitted(connection, cx.now, cx.run);
        }
    }

    /// Sends the calls that a slot's connection was given.
    fn flush_slot<N: Network>(&mut self, owner: Owner, cx: &mut Cx<'_, '_, N>) {
        let slot = self.sessions.get(owner.session).and_then(|session| session.slots.get(owner.slot));
        if let Some(connection) = slot.and_then(|slot| slot.connection) {
            cx.connections.flush_submitted(connection, cx.now, cx.run);
        }
    }
}

impl<'a, P: Policy<'a, Own: Asks>> Dispatch<'a, P> {
    /// Creates the next call of a session, and queues it in a slot. Returns false if the run has no URI left for it.
    pub(super) fn create_call<N: Network>(
        &mut self,
        key: SessionKey,
        slot: usize,
        next: &Next<'_>,
        cx: &mut Cx<'_, '_, N>,
    ) -> bool {
        let session = &mut self.sessions[key];
        let clock = || cx.connections.wall_clock();
        let Some(request) = self.source.next(next, session, clock, cx.run) else { return false };
        let intended = session.ready_at;
        let new = NewCall { session: key, intended, request, origin: Origin::Source, talk: None };
        let call = cx.run.create_call(new);
        session.slots[slot].queue.push_back(call);
        true
    }
}
