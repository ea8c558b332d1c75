//! The consequences of events, as all workloads have them in common.

use httperf_proto::{HeaderBlock, Reuse};

use super::policy::{Answered, Dispatch, Loss, Policy, Timer};
use crate::Network;
use crate::worker::CallKey;
use crate::worker::connections::{Cx, Event, EventKind};

impl<'a, P: Policy<'a>> Dispatch<'a, P> {
    /// Handles an event. On return, its connection may be gone.
    pub(super) fn handle<N: Network>(&mut self, event: Event, cx: &mut Cx<'_, '_, N>) {
        let Event { connection, owner, kind, .. } = event;
        match kind {
            EventKind::Reached => {
                self.sessions[owner.session].is_unreached = false;
                self.arrivals.reached();
            }
            EventKind::Established => {
                self.sessions[owner.session].established += 1;
                P::opening_ended(self, connection, owner.session, true, cx);
                P::established(self, connection, owner.session, cx);
                P::slot_changed(self, owner, cx);
            }
            EventKind::HasRoom => {
                self.drive_slot(owner, cx);
                P::slot_changed(self, owner, cx);
            }
            EventKind::TlsSession(session) => self.sessions[owner.session].keep_tls_session(*session),
            EventKind::TicketSettled => self.end_session(owner.session, true, cx),
            EventKind::ReplyHead { call, head } => self.handle_head(call, &head, cx),
            EventKind::LinksFound { call, links } => P::take_links(self, call, links, cx),
            EventKind::Opened { call, wake } => {
                if let Some(at) = wake {
                    self.set_timer(at, Timer::Talk(call));
                }
            }
            EventKind::Complete { call, size, reuse } => {
                let mismatch = P::judge(self, call, cx);
                let status = cx.connections.record_reply(connection, (call, size), mismatch, cx.now, cx.run);
                let is_last = reuse == Reuse::Close;
                self.handle_answered(Answered { connection, owner, call, status, is_last }, cx);
            }
            EventKind::Returned { call, why, is_draining } => {
                self.handle_returned(owner, call, why, is_draining, cx);
                P::slot_changed(self, owner, cx);
            }
            EventKind::CallFailed { call, cause } => self.handle_call_failed(owner, call, cause, cx),
            EventKind::Draining => {
                self.let_drain(connection, owner, cx);
                P::slot_changed(self, owner, cx);
            }
            EventKind::Ended(calls) => {
                P::opening_ended(self, connection, owner.session, false, cx);
                self.detach(connection, owner, &calls, cx);
                P::ended(self, owner, cx);
                P::slot_changed(self, owner, cx);
            }
            EventKind::Lost(lost) => {
                self.sessions[owner.session].is_unreached = lost.is_unreached;
                P::opening_ended(self, connection, owner.session, false, cx);
                let count = self.detach(connection, owner, &lost.calls, cx);
                let (failure, has_answered) = (lost.failure, lost.has_answered);
                P::lost(self, Loss { owner, failure, has_answered, count }, cx);
                if cx.run.gives_up() {
                    self.give_up();
                }
            }
        }
    }

    /// Takes the cookies and the objects that a header block has.
    fn handle_head<N: Network>(&mut self, key: CallKey, head: &HeaderBlock, cx: &mut Cx<'_, '_, N>) {
        let call = cx.run.call(key);
        let session = &mut self.sessions[call.session()];
        if session.jars.are_used() {
            let uri = call.request().target();
            for value in head.cookies() {
                session.jars.store(session.target, value, uri, cx.connections.wall_clock());
            }
        }
        P::take_head(self, key, head, cx);
    }

    fn handle_answered<N: Network>(&mut self, answered: Answered, cx: &mut Cx<'_, '_, N>) {
        let session = &mut self.sessions[answered.owner.session];
        session.replies += 1;
        session.slots[answered.owner.slot].failures = 0;
        P::answered(self, answered, cx);
    }
}
