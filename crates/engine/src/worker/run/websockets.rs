//! WebSockets that calls have opened.

use httperf_stats::{FailureCause, Instant};

use super::super::{CallKey, ConnectionKey};
use super::Run;
use super::call::{Call, Phase};
use super::talk::{Said, Talk, TalkCx};

impl Run<'_> {
    /// The server has agreed to the WebSocket of a call, on this connection.
    pub(in crate::worker) fn talk_opened(
        &mut self,
        key: CallKey,
        connection: ConnectionKey,
        is_http1: bool,
        now: Instant,
        out: &mut Vec<u8>,
    ) -> Said {
        let Self { calls, plan, recorder, is_closing, .. } = self;
        let call = &mut calls[key];
        let talk = call.reader.as_mut().and_then(|reader| reader.talk_mut());
        let (Phase::Answering { at, .. }, Some(talk)) = (call.phase, talk) else { return Said::default() };
        let mut cx = TalkCx { plan, recorder, due: call.intended, now, out };
        let mut said = talk.begin(&mut cx, connection, &call.request, is_http1, (call.sent, at));
        if *is_closing && !said.is_broken && !talk.goes_on(plan) {
            said = talk.finish(&mut cx);
        }
        call.deadline = talk.deadline(plan);
        said
    }

    /// Bytes have come on the WebSocket of a call.
    pub(in crate::worker) fn talk_heard(
        &mut self,
        key: CallKey,
        bytes: &[u8],
        now: Instant,
        stamp: Option<Instant>,
        out: &mut Vec<u8>,
    ) -> Said {
        self.with_talk(key, now, out, |talk, cx| talk.handle_bytes(cx, bytes, stamp.unwrap_or(now)))
    }

    /// Something may be due on the WebSocket of a call.
    pub(in crate::worker) fn talk_woken(&mut self, key: CallKey, now: Instant, out: &mut Vec<u8>) -> Said {
        self.with_talk(key, now, out, Talk::wake)
    }

    /// The WebSocket of a call is to end: nothing new is said.
    pub(in crate::worker) fn talk_finished(&mut self, key: CallKey, now: Instant, out: &mut Vec<u8>) -> Said {
        self.with_talk(key, now, out, Talk::finish)
    }

    fn with_talk(
        &mut self,
        key: CallKey,
        now: Instant,
        out: &mut Vec<u8>,
        act: impl FnOnce(&mut Talk, &mut TalkCx<'_>) -> Said,
    ) -> Said {
        let Self { calls, plan, recorder, .. } = self;
        let Some(call) = calls.get_mut(key) else { return Said::default() };
        let due = call.intended;
        let Some(talk) = call.talk_mut() else { return Said::default() };
        let said = act(talk, &mut TalkCx { plan, recorder, due, now, out });
        let deadline = talk.deadline(plan);
        call.deadline = deadline;
        said
    }

    /// Takes the cause for which a WebSocket is given up, if its server has broken a rule or gone beyond a limit.
    pub(in crate::worker) fn take_talk_fault(&mut self, key: CallKey) -> Option<FailureCause> {
        self.calls[key].talk_mut()?.take_fault()
    }

    /// The server of a WebSocket takes so little of what is sent that no more is kept for it.
    pub(in crate::worker) fn talk_blocked(&mut self, key: CallKey) {
        let due = self.calls[key].intended;
        let most = self.plan.limits.message_size;
        self.recorder.websocket(due, |figures| {
            figures.give_up(&format!("more than {most} bytes waited to be sent"));
        });
    }

    /// Stops new messages at the end of the run, except on WebSockets that go on. Returns the calls of the other open ones.
    pub(in crate::worker) fn close_talks(&mut self) -> Vec<CallKey> {
        if !self.plan.opens_websockets() {
            return Vec::new();
        }
        self.is_closing = true;
        let plan = self.plan;
        let is_open = |call: &Call| call.talk().is_some_and(|talk| !talk.goes_on(plan) && talk.is_open());
        self.calls.iter().filter(|(_, call)| is_open(call)).map(|(key, _)| key).collect()
    }

    /// Returns the connection of a call's WebSocket, if that is open.
    pub(in crate::worker) fn talk_connection(&self, key: CallKey) -> Option<ConnectionKey> {
        self.calls.get(key)?.talk()?.connection()
    }
}
