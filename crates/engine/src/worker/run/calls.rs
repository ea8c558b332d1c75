//! Calls from their creation to their end, with or without a reply.

use std::rc::Rc;
use std::time::Duration;

use httperf_proto::ReplySize;
use httperf_proto::request::Request;
use httperf_stats::{Instant, Sample, SlowDetail, StepCall, StreamFate};

use super::super::{CallKey, SessionKey};
use super::Run;
use super::call::{Call, Origin, Phase};
use super::reader::Form;
use super::replies::Answer;
use super::samples::{record, unsent};
use super::stream::Stream;
use super::stream_ends::end_stream;
use super::talk::{Fate, Talk};

/// A call to create.
pub(in crate::worker) struct NewCall {
    pub(in crate::worker) session: SessionKey,
    /// The instant at which it is due.
    pub(in crate::worker) intended: Instant,
    pub(in crate::worker) request: Request,
    pub(in crate::worker) origin: Origin,
    /// The WebSocket that it opens, if a step opens one: the place of its request, and the text of its messages, if that
    /// was filled in.
    pub(in crate::worker) talk: Option<(u32, Option<Rc<[u8]>>)>,
}

/// Creation.
impl Run<'_> {
    pub(in crate::worker) fn create_call(&mut self, call: NewCall) -> CallKey {
        let NewCall { session, intended, request, origin, talk } = call;
        let serial = self.next_serial();
        let reader = request.opens_websocket().then(|| {
            let (step, text) = talk.map_or((None, None), |(step, text)| (Some(step), text));
            let mut reader = self.spare.reader();
            reader.form = Form::Talk(Box::new(Talk::new(step, text, serial)));
            reader
        });
        self.calls_created += 1;
        self.recorder.call_made(intended);
        self.calls.insert(Call {
            session,
            intended,
            serial,
            request,
            origin,
            phase: Phase::Waiting,
            submitted: intended,
            sent: None,
            carrier: None,
            stalled: Duration::ZERO,
            transport: None,
            is_written: false,
            deadline: None,
            again_until: None,
            status_line_due: None,
            is_light: false,
            attempts: 0,
            reader,
        })
    }

    /// Returns the number of the next call that is created.
    pub(in crate::worker) fn next_serial(&self) -> u64 {
        self.shard.nth(self.calls_created)
    }

    pub(in crate::worker) fn call(&self, key: CallKey) -> &Call {
        &self.calls[key]
    }

    /// Returns a call, unless it has ended.
    pub(in crate::worker) fn find_call(&self, key: CallKey) -> Option<&Call> {
        self.calls.get(key)
    }

    pub(in crate::worker) fn calls_count(&self) -> usize {
        self.calls.len()
    }

    /// A call finds most of the places free that the plan allows.
    pub(in crate::worker) fn mark_light(&mut self, key: CallKey) {
        self.calls[key].is_light = true;
    }
}

/// Ends.
impl Run<'_> {
    /// Drops a call that was answered at `now`, whose reply is recorded. Records how long it took if it found most places free.
    #[inline]
    pub(in crate::worker) fn end_call(&mut self, key: CallKey, now: Instant) {
        let Some(call) = self.calls.remove(key) else { return };
        if let Call { is_light: true, sent: Some(sent), intended, .. } = call {
            self.recorder.held_place_lightly(intended, now - sent);
        }
        if let Some(reader) = call.reader {
            self.spare.take_reader(reader);
        }
    }

    /// Drops a call whose reply is recorded.
    pub(in crate::worker) fn remove_call(&mut self, key: CallKey) {
        self.calls.remove(key);
    }

    /// Drops a call that was never sent, as if it had not been created.
    pub(in crate::worker) fn withdraw_call(&mut self, key: CallKey) {
        if let Some(call) = self.calls.remove(key) {
            self.recorder.call_withdrawn(call.intended);
        }
    }

    /// Ends a call that will have no reply.
    pub(in crate::worker) fn abandon_call(&mut self, key: CallKey, now: Instant) {
        let Some(mut call) = self.calls.remove(key) else { return };
        if call.is_reply_due() {
            self.recorder.reply_given_up(now);
        }
        let ended = end_stream(&mut self.recorder, self.plan, &mut call, StreamFate::Cut, now);
        if self.plan.replies.streams.grpc.is_some() {
            self.recorder.grpc_unanswered(call.intended);
        }
        call.end_talk(Fate::Cut, now, &mut self.recorder);
        let sample =
            Sample { stream: ended.as_ref().and_then(|ended| ended.call.as_ref()), ..call.sample(now) };
        let detail = || call.transport.as_deref().cloned().unwrap_or_default();
        record(self.plan, &mut self.recorder, &mut *self.observer, self.start, &sample, detail);
    }

    /// Records a call that was due and could not be made: one that failed before anything of it was sent.
    pub(in crate::worker) fn call_unmade(&mut self, step: Option<StepCall>, intended: Instant, now: Instant) {
        let call = self.next_serial();
        self.calls_created += 1;
        self.recorder.call_made(intended);
        if self.plan.replies.streams.grpc.is_some() {
            self.recorder.grpc_unanswered(intended);
        }
        let sample = Sample { step, ..unsent(call, b"(not made)", intended, now) };
        record(self.plan, &mut self.recorder, &mut *self.observer, self.start, &sample, SlowDetail::default);
    }

    /// Records the calls that have not ended, now that the run is over.
    pub(in crate::worker) fn record_unfinished_calls(&mut self, now: Instant) {
        // What a step expects of a reply is looked at when all of it is there.
        let complete = |(key, call): (CallKey, &Call)| {
            call.done_at().filter(|_| call.look().is_none()).map(|_| (key, call.streamed_size()))
        };
        let complete: Vec<(CallKey, u64)> = self.calls.iter().filter_map(complete).collect();
        for (key, content) in complete {
            let size = ReplySize { content, ..ReplySize::default() };
            let answer = Answer { size, now, stamp: None, kernel: None, mismatch: None };
            self.reply_done(key, answer, SlowDetail::default);
            self.remove_call(key);
        }
        let goodput = self.plan.replies.streams.goodput;
        for call in self.calls.values_mut() {
            if !goodput.is_empty() {
                let first = call.stream_mut().and_then(Stream::first_token);
                let is_missed =
                    goodput.is_missed(first.map(|first| first - call.intended), now - call.intended);
                self.recorder.answer_pending(call.intended, is_missed);
            }
            let ended = end_stream(&mut self.recorder, self.plan, call, StreamFate::Unfinished, now);
            if let Some(ended) = call.end_talk(Fate::Unfinished, now, &mut self.recorder) {
                // It was opened, as it was to be, and held until the end.
                let sample = call.opened(self.plan, ended.opened, now);
                let detail = SlowDetail::default;
                record(self.plan, &mut self.recorder, &mut *self.observer, self.start, &sample, detail);
                self.recorder.reply_was_told();
                continue;
            }
            self.recorder.unfinished(call.intended, now);
            if let Some(look) = call.look() {
                let stream = ended.as_ref().and_then(|ended| ended.call.as_ref());
                self.recorder.step_unfinished(look.place, call.intended, now, stream);
            }
        }
    }
}

/// Further attempts.
impl Run<'_> {
    /// Takes a call back from a connection that does not answer it.
    pub(in crate::worker) fn reset_call(&mut self, key: CallKey, now: Instant) {
        let call = &mut self.calls[key];
        if call.is_reply_due() {
            self.recorder.reply_taken_back(call.sent.unwrap_or(now), now);
        }
        end_stream(&mut self.recorder, self.plan, call, StreamFate::Cut, now);
        call.end_talk(Fate::Cut, now, &mut self.recorder);
        call.reset();
    }

    /// Takes a call back that the server has not processed. All attempts together have the time of one.
    pub(in crate::worker) fn take_back(&mut self, key: CallKey, now: Instant) {
        let call = &self.calls[key];
        let begun = if call.is_sent() { call.sent } else { None }.unwrap_or(call.submitted);
        let until = call.again_until.or_else(|| self.reply_deadline(begun));
        self.reset_call(key, now);
        self.calls[key].again_until = until;
    }

    /// Takes a call back that was answered, and is to be made again.
    pub(in crate::worker) fn repeat_call(&mut self, key: CallKey) {
        self.calls[key].reset();
    }

    /// Records a call that was answered and is made again as another one, due when the first was.
    pub(in crate::worker) fn call_repeated(&mut self, key: CallKey) {
        self.recorder.call_made(self.calls[key].intended);
    }

    /// Counts a further attempt. Returns the number of them in a row.
    pub(in crate::worker) fn count_attempt(&mut self, key: CallKey) -> u32 {
        let call = &mut self.calls[key];
        call.attempts += 1;
        call.attempts
    }

    /// Counts the request of a call as written, though the call is to be sent again.
    pub(in crate::worker) fn keep_written(&mut self, key: CallKey) {
        self.calls[key].is_written = true;
    }
}
