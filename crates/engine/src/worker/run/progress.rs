//! The progress of calls on their connections, up to their replies.

use std::time::Duration;

use httperf_stats::{Carrier, Instant, SlowDetail};

use super::super::CallKey;
use super::Run;
use super::call::{Call, Phase};

impl Run<'_> {
    pub(in crate::worker) fn call_submitted(&mut self, key: CallKey, now: Instant) -> &Call {
        let call = &mut self.calls[key];
        call.submitted = now;
        call
    }

    /// The first byte of a request was sent.
    pub(in crate::worker) fn call_sent(&mut self, key: CallKey, at: Instant, carrier: Carrier) {
        let call = &mut self.calls[key];
        (call.phase, call.sent, call.carrier) = (Phase::Sent { at }, Some(at), Some(carrier));
        self.recorder.reply_awaited(at);
    }

    /// The last byte of a request was sent. `size`: in bytes.
    pub(in crate::worker) fn call_written(&mut self, key: CallKey, at: Instant, size: u64) {
        let deadline = self.reply_deadline(at);
        let call = &mut self.calls[key];
        if !std::mem::replace(&mut call.is_written, true) {
            self.recorder.request_sent(call.intended, size);
        }
        if !call.is_answering() {
            call.deadline = call.bounded(deadline);
        }
    }

    /// A part of a call's status line has arrived: renews its deadline, a few times.
    pub(in crate::worker) fn status_line_heard(&mut self, key: CallKey, now: Instant) {
        let call = &mut self.calls[key];
        if call.is_answering() {
            return;
        }
        let Some(limit) = self.plan.timeouts.reply() else { return };
        let line_limit = limit.saturating_mul(self.plan.limits.status_line_timeouts);
        let due = *call.status_line_due.get_or_insert(now + line_limit);
        call.deadline = Some(due.min(now + limit));
    }

    /// A call had to wait for the server's windows for this long.
    pub(in crate::worker) fn call_stalled(&mut self, key: CallKey, time: Duration) {
        self.calls[key].stalled += time;
    }

    /// Returns whether the slowest calls are kept, with the state of their transports.
    pub(in crate::worker) fn keeps_slowest(&self) -> bool {
        self.plan.recording.detail && self.plan.recording.slowest > 0
    }

    /// Keeps the state of the transport for a call whose connection ends without answering it, if the call is slow.
    pub(in crate::worker) fn keep_transport(
        &mut self,
        key: CallKey,
        now: Instant,
        transport: impl FnOnce() -> SlowDetail,
    ) {
        // A call that was given up is not reported again.
        let Some(call) = self.calls.get_mut(key) else { return };
        if call.is_sent() && self.recorder.is_slow(call.intended, now) {
            call.transport = Some(Box::new(transport()));
        }
    }
}
