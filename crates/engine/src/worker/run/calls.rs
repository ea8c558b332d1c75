//! Calls: a request and its reply, from creation to the last byte.

mod ends;
mod websockets;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use httperf_load::page::{Link, Scanner};
use httperf_load::replay::RecordedRequest;
use httperf_plan::{Plan, ReplyClock, Split};
use httperf_proto::content::Content;
use httperf_proto::grpc;
use httperf_proto::request::Request;
use httperf_proto::{HeaderBlock, ReplySize};
use httperf_stats::{
    Carrier, FailedLook, Instant, KernelTimes, Mismatch, RecordedReply, Recorder, Sample, SlowDetail,
    StepCall, StepPlace, StreamFate, StreamNews,
};

use self::ends::end_stream;
use super::super::{CallKey, SessionKey};
use super::Run;
use super::inspection::{self, Finding, Inspection};
use super::kept::Kept;
use super::stream::{Reading, Stream};
use super::talk::{self, Talk};
use crate::{Observation, Observer};

/// One call.
pub(in crate::worker) struct Call {
    session: SessionKey,
    /// The instant at which it was due.
    intended: Instant,
    /// Its number in order of creation, from 0.
    serial: u64,
    request: Request,
    /// Its request target as outputs may show it, if a secret is in that.
    shown_uri: Option<Box<[u8]>>,
    phase: Phase,
    /// The instant at which its connection took it.
    submitted: Instant,
    /// The instant at which its first byte was last sent.
    sent: Option<Instant>,
    /// The connection that carried that byte.
    carrier: Option<Carrier>,
    /// The time for which its body waited for the server's windows there.
    stalled: Duration,
    /// The state of the transport of a connection that ended without answering it. Only slow calls have it.
    transport: Option<Box<SlowDetail>>,
    /// Its request counts as written. A request that the server cannot have processed, and that is written again,
    /// counts once.
    is_written: bool,
    /// The instant by which its reply must be complete, or go on before the status line is complete. `None` before the
    /// request is written, or without a time limit.
    deadline: Option<Instant>,
    /// The instant by which it must be answered once a server has not processed it, however often it is made again. `None`
    /// before, or without a time limit.
    again_until: Option<Instant>,
    /// The instant by which its status line must be complete, once it has begun.
    status_line_due: Option<Instant>,
    /// It found most of the places free that calls may take at once, where the plan bounds them.
    is_light: bool,
    /// Attempts in a row that ended in the failure status, or that the server did not process.
    attempts: u32,
    /// The parser of its reply, if that is a page.
    scanner: Option<Box<Scanner>>,
    /// The state of its reply's body, if bodies are inspected.
    inspection: Option<Box<Inspection>>,
    /// The stream that its reply is, if it is one.
    stream: Option<Box<Stream>>,
    /// The last header section of its reply, if it is a call of gRPC.
    section: Option<HeaderBlock>,
    /// The WebSocket that it opens, if it opens one.
    talk: Option<Box<Talk>>,
    /// The step that made it, if one did.
    look: Option<Look>,
    /// The recorded request that it is, if it is one.
    recorded: Option<Arc<RecordedRequest>>,
    /// The parts of its reply that the step looks at.
    kept: Option<Box<Kept>>,
}

/// The step of a call, and what it looks at.
#[derive(Clone, Copy, Debug)]
pub(in crate::worker) struct Look {
    pub(in crate::worker) place: StepPlace,
    /// The status of its reply is one that the step expects.
    pub(in crate::worker) expects_status: bool,
    pub(in crate::worker) wants_head: bool,
    pub(in crate::worker) wants_body: bool,
    /// The first expectation that its reply failed.
    pub(in crate::worker) failed: Option<FailedLook>,
}

/// Progress of a call on its present connection.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Nothing of it was sent.
    Waiting,
    /// Its first byte was sent.
    Sent { at: Instant },
    /// The status line of its reply was complete.
    Answering { at: Instant, status: u16 },
}

/// The time for which the end of a reply is awaited whose answer is complete.
const LINGER: Duration = Duration::from_secs(1);

/// Replies whose memory is kept for others: those that arrive at once, at most.
const SPARE_MAX: usize = 256;

/// A call to create.
pub(in crate::worker) struct NewCall {
    pub(in crate::worker) session: SessionKey,
    /// The instant at which it is due.
    pub(in crate::worker) intended: Instant,
    pub(in crate::worker) request: Request,
    /// Its request target as outputs may show it, if a secret is in that.
    pub(in crate::worker) shown_uri: Option<Box<[u8]>>,
    /// The step that makes it, if one does.
    pub(in crate::worker) look: Option<Look>,
    /// The recorded request that it is, if it is one.
    pub(in crate::worker) recorded: Option<Arc<RecordedRequest>>,
    /// The WebSocket that it opens, if a step opens one: the place of its request, and the text of its messages, if that
    /// was filled in.
    pub(in crate::worker) talk: Option<(u32, Option<Rc<[u8]>>)>,
}

/// A complete reply, as its connection saw it.
#[derive(Clone, Copy)]
pub(in crate::worker) struct Answer {
    pub(in crate::worker) size: ReplySize,
    pub(in crate::worker) now: Instant,
    /// The kernel's stamp of the last segment.
    pub(in crate::worker) stamp: Option<Instant>,
    pub(in crate::worker) kernel: Option<KernelTimes>,
    /// The check that the reply failed, if its step made any.
    pub(in crate::worker) mismatch: Option<Mismatch>,
}

impl Call {
    pub(in crate::worker) fn session(&self) -> SessionKey {
        self.session
    }

    pub(in crate::worker) fn intended(&self) -> Instant {
        self.intended
    }

    pub(in crate::worker) fn serial(&self) -> u64 {
        self.serial
    }

    pub(in crate::worker) fn request(&self) -> &Request {
        &self.request
    }

    pub(in crate::worker) fn submitted(&self) -> Instant {
        self.submitted
    }

    /// Returns the instant at which its first byte was last sent, on whichever connection.
    pub(in crate::worker) fn sent(&self) -> Option<Instant> {
        self.sent
    }

    pub(in crate::worker) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Returns the instant by which it must be written, if its connection has got on with that since `since`.
    pub(in crate::worker) fn write_deadline(&self, since: Instant, run: &Run<'_>) -> Option<Instant> {
        self.bounded(run.plan.timeouts.timeout.map(|limit| since + limit))
    }

    /// Returns the instant after which it is not made again.
    pub(in crate::worker) fn again_until(&self) -> Option<Instant> {
        self.again_until
    }

    /// Returns a deadline that is not later than the one of all attempts together.
    fn bounded(&self, deadline: Option<Instant>) -> Option<Instant> {
        match self.again_until {
            None => deadline,
            Some(until) => deadline.map(|deadline| deadline.min(until)),
        }
    }

    pub(in crate::worker) fn is_written(&self) -> bool {
        self.is_written
    }

    /// Returns whether its first byte was sent on its present connection.
    pub(in crate::worker) fn is_sent(&self) -> bool {
        !matches!(self.phase, Phase::Waiting)
    }

    /// Returns its sample if it ends at `now` without a reply.
    fn sample(&self, now: Instant) -> Sample<'_> {
        Sample {
            call: self.serial,
            uri: self.shown_uri.as_deref().unwrap_or_else(|| self.request.target()),
            status: None,
            intended: self.intended,
            sent: self.sent,
            stalled: self.stalled,
            first_byte: None,
            done: now,
            header_size: 0,
            content_size: 0,
            footer_size: 0,
            decoded_size: None,
            mismatch: None,
            carrier: self.carrier,
            receive_lag: None,
            kernel: None,
            step: self.look.map(|Look { place, failed, .. }| StepCall { place, failed }),
            recorded: self.recorded.as_deref().map(recorded_reply),
            stream: None,
            rpc: None,
            expected: false,
        }
    }

    /// Returns when it was due, the status of its reply, and its service time if it is complete at `done`.
    pub(in crate::worker) fn answer_by(&self, done: Instant) -> Option<(Instant, u16, Duration)> {
        let Phase::Answering { status, .. } = self.phase else { return None };
        Some((self.intended, status, self.sent.map_or(Duration::ZERO, |sent| done - sent)))
    }

    /// Returns whether the status of its reply is one that the plan or its step expects, or one below 500 that was recorded.
    fn expects(&self, plan: &Plan, status: u16) -> bool {
        self.look.is_some_and(|look| look.expects_status)
            || plan.replies.expect.statuses.as_ref().is_some_and(|statuses| statuses.contains(status))
            || status < 500 && self.recorded.as_ref().is_some_and(|recorded| recorded.status == Some(status))
    }

    /// Returns the instant from which on its reply is complete for its user, if the server has said so and goes on.
    pub(in crate::worker) fn done_at(&self) -> Option<Instant> {
        self.stream.as_ref().and_then(|stream| stream.done_at())
    }

    /// Returns the bytes of its reply's body that were read as a stream.
    pub(in crate::worker) fn streamed_size(&self) -> u64 {
        self.stream.as_ref().map_or(0, |stream| stream.size())
    }

    /// Ends its WebSocket, if that is open.
    fn end_talk(&mut self, fate: talk::Fate, now: Instant, recorder: &mut Recorder) -> Option<talk::TalkEnd> {
        self.talk.as_mut()?.end(fate, self.intended, now, recorder)
    }

    /// Returns its sample if it has opened a WebSocket at this instant, which goes on at `now`.
    fn opened(&self, plan: &Plan, at: Instant, now: Instant) -> Sample<'_> {
        let Phase::Answering { at: first_byte, status } = self.phase else { return self.sample(now) };
        Sample {
            status: Some(status),
            first_byte: Some(first_byte),
            expected: self.expects(plan, status),
            ..self.sample(at.max(first_byte))
        }
    }

    /// Returns whether it opens a WebSocket.
    pub(in crate::worker) fn opens_websocket(&self) -> bool {
        self.talk.is_some()
    }

    /// Returns whether it has a WebSocket that is open.
    pub(in crate::worker) fn is_talking(&self) -> bool {
        self.talk.as_ref().is_some_and(|talk| talk.is_open())
    }

    /// Returns whether the status line of its reply is complete.
    pub(in crate::worker) fn is_answering(&self) -> bool {
        matches!(self.phase, Phase::Answering { .. })
    }

    /// Returns whether the server owes it something: its reply, until that is a stream on which the server speaks when it has
    /// something to say. What is awaited on an open WebSocket is counted message by message.
    fn is_reply_due(&self) -> bool {
        self.is_sent()
            && !self.is_talking()
            && !self.stream.as_ref().is_some_and(|stream| stream.is_at_leisure())
    }

    /// Forgets the connection that it was on: it is made again.
    fn reset(&mut self) {
        self.phase = Phase::Waiting;
        self.stalled = Duration::ZERO;
        self.is_written = false;
        self.deadline = None;
        self.again_until = None;
        self.status_line_due = None;
        self.scanner = None;
        self.inspection = None;
        self.stream = None;
        self.kept = None;
        if let Some(look) = &mut self.look {
            (look.failed, look.expects_status) = (None, false);
        }
    }
}

/// Creation and the ways to end.
impl Run<'_> {
    pub(in crate::worker) fn create_call(&mut self, call: NewCall) -> CallKey {
        let NewCall { session, intended, request, shown_uri, look, recorded, talk } = call;
        let serial = self.next_serial();
        let talk = request.opens_websocket().then(|| {
            let (step, text) = talk.map_or((None, None), |(step, text)| (Some(step), text));
            Box::new(Talk::new(step, text, serial))
        });
        self.calls_created += 1;
        self.recorder.call_made(intended);
        self.calls.insert(Call {
            session,
            intended,
            serial,
            request,
            shown_uri,
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
            scanner: None,
            inspection: None,
            stream: None,
            section: None,
            talk,
            look,
            recorded,
            kept: None,
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

    /// Drops a call that was answered at `now`, whose reply is recorded. Records how long it took if it found most places free.
    #[inline]
    pub(in crate::worker) fn end_call(&mut self, key: CallKey, now: Instant) {
        if let Some(Call { is_light: true, sent: Some(sent), intended, .. }) = self.calls.remove(key) {
            self.recorder.held_place_lightly(intended, now - sent);
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
        call.end_talk(talk::Fate::Cut, now, &mut self.recorder);
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
        let sample = Sample {
            call,
            uri: b"(not made)",
            status: None,
            intended,
            sent: None,
            stalled: Duration::ZERO,
            first_byte: None,
            done: now,
            header_size: 0,
            content_size: 0,
            footer_size: 0,
            decoded_size: None,
            mismatch: None,
            carrier: None,
            receive_lag: None,
            kernel: None,
            step,
            recorded: None,
            stream: None,
            rpc: None,
            expected: false,
        };
        record(self.plan, &mut self.recorder, &mut *self.observer, self.start, &sample, SlowDetail::default);
    }

    /// Records the calls that have not ended, now that the run is over.
    pub(in crate::worker) fn record_unfinished_calls(&mut self, now: Instant) {
        // What a step expects of a reply is looked at when all of it is there.
        let complete = |(key, call): (CallKey, &Call)| {
            call.done_at().filter(|_| call.look.is_none()).map(|_| (key, call.streamed_size()))
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
                let first = call.stream.as_mut().and_then(|stream| stream.first_token());
                let is_missed =
                    goodput.is_missed(first.map(|first| first - call.intended), now - call.intended);
                self.recorder.answer_pending(call.intended, is_missed);
            }
            let ended = end_stream(&mut self.recorder, self.plan, call, StreamFate::Unfinished, now);
            if let Some(ended) = call.end_talk(talk::Fate::Unfinished, now, &mut self.recorder) {
                // It was opened, as it was to be, and held until the end.
                let sample = call.opened(self.plan, ended.opened, now);
                let detail = SlowDetail::default;
                record(self.plan, &mut self.recorder, &mut *self.observer, self.start, &sample, detail);
                self.recorder.reply_was_told();
                continue;
            }
            self.recorder.unfinished(call.intended, now);
            if let Some(look) = call.look {
                let stream = ended.as_ref().and_then(|ended| ended.call.as_ref());
                self.recorder.step_unfinished(look.place, call.intended, now, stream);
            }
        }
    }

    /// Takes a call back from a connection that does not answer it.
    pub(in crate::worker) fn reset_call(&mut self, key: CallKey, now: Instant) {
        let call = &mut self.calls[key];
        if call.is_reply_due() {
            self.recorder.reply_given_up(now);
        }
        end_stream(&mut self.recorder, self.plan, call, StreamFate::Cut, now);
        call.end_talk(talk::Fate::Cut, now, &mut self.recorder);
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

/// Progress on a connection.
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

/// Replies.
impl Run<'_> {
    /// Returns the arrival of a segment, by the clock that measures replies.
    pub(in crate::worker) fn received_at(&self, now: Instant, stamp: Option<Instant>) -> Instant {
        match (self.plan.recording.clock, stamp) {
            (ReplyClock::Kernel, Some(stamp)) => stamp,
            (ReplyClock::Program, _) | (_, None) => now,
        }
    }

    #[inline]
    pub(in crate::worker) fn reply_started(
        &mut self,
        key: CallKey,
        status: u16,
        now: Instant,
        stamp: Option<Instant>,
    ) {
        let deadline = self.reply_deadline(now);
        let now = self.received_at(now, stamp);
        let call = &mut self.calls[key];
        let Phase::Sent { at } = call.phase else { unreachable!("a reply answers a request that was sent") };
        call.phase = Phase::Answering { at: now.max(at), status };
        call.deadline = call.bounded(deadline);
        self.recorder.reply_started(call.intended, status, now - at);
    }

    /// Takes the header block of a reply.
    pub(in crate::worker) fn reply_head(&mut self, key: CallKey, head: &HeaderBlock) {
        let call = &mut self.calls[key];
        if self.plan.watch.replies.is_some_and(httperf_plan::Parts::header) {
            self.observer.observe(Observation::ReplyHead { call: call.serial, head: head.as_bytes() });
        }
        let streams = &self.plan.replies.streams;
        if streams.grpc.is_some() || streams.model.is_some() {
            call.section = Some(head.clone());
        }
        if let Some(talk) = &mut call.talk {
            talk.take_head(head.clone());
        }
        if self.plan.replies.reads_bodies() {
            call.inspection = Some(Box::new(Inspection::new(head, self.plan)));
        }
        if let Some(look) = call.look
            && (look.wants_head || look.wants_body)
        {
            let mut kept = self.spare.pop().unwrap_or_default();
            kept.start(head, look.wants_body, self.plan.limits.kept_body_size);
            call.kept = Some(kept);
        }
    }

    /// Takes the trailers of a reply.
    pub(in crate::worker) fn reply_trailers(&mut self, key: CallKey, fields: HeaderBlock) {
        self.calls[key].section = Some(fields);
    }

    /// Takes the parts of a complete reply that its step looks at. Hand them back with [`Run::give_back`].
    pub(in crate::worker) fn take_kept(&mut self, key: CallKey) -> Option<Box<Kept>> {
        let mut kept = self.calls[key].kept.take()?;
        kept.finish();
        Some(kept)
    }

    /// The status of the reply to a call is one that its step expects.
    pub(in crate::worker) fn status_expected(&mut self, key: CallKey) {
        if let Some(look) = &mut self.calls[key].look {
            look.expects_status = true;
        }
    }

    /// Takes note of the first expectation that the reply to a call failed.
    pub(in crate::worker) fn look_failed(&mut self, key: CallKey, failed: FailedLook) {
        if let Some(look) = &mut self.calls[key].look {
            look.failed = Some(failed);
        }
    }

    /// Keeps memory for the next reply that is looked at.
    pub(in crate::worker) fn give_back(&mut self, kept: Option<Box<Kept>>) {
        if let Some(mut kept) = kept
            && self.spare.len() < SPARE_MAX
        {
            kept.trim();
            self.spare.push(kept);
        }
    }

    /// Looks for links in the body of a reply from here on.
    pub(in crate::worker) fn scan_reply(&mut self, key: CallKey, scanner: Scanner) {
        self.calls[key].scanner = Some(Box::new(scanner));
    }

    /// The content of a reply, whose header block is complete, is wanted as it streams in.
    pub(in crate::worker) fn stream_started(
        &mut self,
        key: CallKey,
        content: Content,
        now: Instant,
        stamp: Option<Instant>,
    ) {
        let call = &mut self.calls[key];
        let Phase::Answering { at, status } = call.phase else {
            unreachable!("a stream begins after its status line")
        };
        let streams = &self.plan.replies.streams;
        let reading = match (streams.grpc, &call.section) {
            (Some(grpc), Some(head)) => {
                let is_grpc = (200..300).contains(&status) && grpc::is_reply(head.as_bytes());
                is_grpc.then(|| Reading::Messages {
                    are_timed: grpc.server_streams,
                    may_be_compressed: grpc::is_compressed(head.as_bytes()),
                })
            }
            _ => Reading::of(status, content, streams),
        };
        let Some(reading) = reading else { return };
        if reading.is_timed() {
            // Its events have the kernel's stamps, and none of them precedes it.
            let at = at.min(stamp.unwrap_or(now));
            self.recorder.stream_started(call.intended, call.sent, at);
        }
        if reading == Reading::Events
            && streams.model.is_some()
            && let Some(kept) = &mut call.kept
        {
            kept.expect_streamed_answer();
        }
        let stream = Stream::new(reading, content, self.plan);
        let is_at_leisure = stream.is_at_leisure();
        call.stream = Some(Box::new(stream));
        if is_at_leisure {
            self.recorder.reply_settled(at);
            self.stream_opened();
        }
    }

    /// Takes the next piece of a reply's body. Returns the links found in it.
    pub(in crate::worker) fn reply_body(
        &mut self,
        key: CallKey,
        data: &[u8],
        now: Instant,
        stamp: Option<Instant>,
    ) -> Vec<Link> {
        if self.calls[key].stream.is_some() {
            let deadline = self.reply_deadline(now);
            self.read_stream(key, stamp.unwrap_or(now), deadline, |stream, at| stream.push(data, at));
        }
        let call = &mut self.calls[key];
        if self.plan.watch.replies.is_some_and(httperf_plan::Parts::body) {
            self.observer.observe(Observation::ReplyBody { call: call.serial, data });
        }
        if let Some(inspection) = &mut call.inspection {
            inspection.push(data);
        }
        if let Some(kept) = &mut call.kept {
            kept.push(data);
        }
        let Some(scanner) = &mut call.scanner else { return Vec::new() };
        scanner.push(data);
        scanner.take_found()
    }

    /// Returns the deadline of a call whose reply is complete for its user and goes on.
    pub(in crate::worker) fn linger(&self, key: CallKey) -> Option<Instant> {
        let call = &self.calls[key];
        call.done_at().and(call.deadline)
    }

    /// Reads a stream, whose bytes arrived at `at`. `deadline`: that of its call, if anything comes of them.
    fn read_stream(
        &mut self,
        key: CallKey,
        at: Instant,
        deadline: Option<Instant>,
        read: impl FnOnce(&mut Stream, Instant) -> StreamNews,
    ) {
        let call = &mut self.calls[key];
        let Some(stream) = &mut call.stream else { return };
        let was_due = !stream.is_at_leisure();
        let news = read(stream, at);
        if was_due && stream.is_at_leisure() {
            self.recorder.reply_settled(at);
        }
        if let Some(done_at) = stream.done_at() {
            // The rest of the reply is awaited for the sake of the connection, and not for long.
            let end = done_at + LINGER;
            call.deadline = Some(call.deadline.map_or(end, |deadline| deadline.min(end)));
        } else if !news.is_empty() {
            // A stream may last for as long as something comes.
            call.deadline = deadline;
        }
        if !news.is_empty() && stream.is_timed() {
            self.recorder.stream_news(call.intended, call.sent, at, &news);
        }
        for data in stream.take_untold() {
            self.observer.observe(Observation::StreamEvent { call: call.serial, at, data: &data });
        }
    }

    /// Returns whether some of what came for a call is not decompressed yet: a few bytes may stand for gigabytes, which are
    /// decompressed in steps between which others have their turn.
    pub(in crate::worker) fn is_behind(&self, key: CallKey) -> bool {
        self.calls.get(key).is_some_and(|call| {
            call.inspection.as_ref().is_some_and(|inspection| inspection.is_behind())
                || call.kept.as_ref().is_some_and(|kept| kept.is_behind())
                || call.stream.as_ref().is_some_and(|stream| stream.is_behind())
                || call.talk.as_ref().is_some_and(|talk| talk.is_behind())
        })
    }

    /// Decompresses some more of what came for a call at `at`. What is read late does not renew its deadline.
    pub(in crate::worker) fn catch_up(&mut self, key: CallKey, at: Instant) {
        let Some(call) = self.calls.get_mut(key) else { return };
        if let Some(inspection) = &mut call.inspection {
            inspection.go_on();
        }
        if let Some(kept) = &mut call.kept {
            kept.go_on();
        }
        let deadline = call.deadline;
        self.read_stream(key, at, deadline, Stream::go_on);
    }

    /// Records a call whose reply is complete. `detail` is asked only if the call is one of the slowest. Returns the
    /// status of the reply.
    pub(in crate::worker) fn reply_done(
        &mut self,
        key: CallKey,
        answer: Answer,
        detail: impl FnOnce() -> SlowDetail,
    ) -> u16 {
        let Answer { size, now, stamp, kernel, mismatch: failed_check } = answer;
        let received_at = self.received_at(now, stamp);
        let call = &mut self.calls[key];
        let received_at = call.done_at().unwrap_or(received_at);
        let Phase::Answering { at, status } = call.phase else {
            unreachable!("a reply ends after it started")
        };
        if call.is_reply_due() {
            self.recorder.reply_settled(received_at.max(at));
        }
        let inspection = call.inspection.take().map(|inspection| *inspection);
        let Finding { decoded_size, mismatch } = inspection::judge(self.plan, status, inspection);
        let ended = end_stream(&mut self.recorder, self.plan, call, StreamFate::Completed, received_at);
        let mismatch = mismatch.or(ended.as_ref().and_then(|ended| ended.mismatch));
        let (mut done, mut mismatch, mut was_told) = (received_at.max(at), mismatch.or(failed_check), false);
        if call.talk.is_some() {
            let end = call.end_talk(talk::Fate::Closed, received_at, &mut self.recorder);
            mismatch = mismatch.or(talk::mismatch(end, status));
            match end {
                // The wait of a user is over when it is open.
                Some(end) => (done, was_told) = (end.opened.max(at), true),
                None => {
                    let words = call.talk.as_ref().map(|talk| talk.refusal()).unwrap_or_default();
                    self.recorder.websocket(call.intended, |figures| figures.refuse(words));
                }
            }
        }
        let call = &*call;
        let sample = Sample {
            status: Some(status),
            first_byte: Some(at),
            header_size: size.header,
            content_size: size.content,
            footer_size: size.footer,
            decoded_size,
            mismatch,
            expected: call.expects(self.plan, status),
            receive_lag: stamp.map(|stamp| now - stamp),
            kernel,
            stream: ended.as_ref().and_then(|ended| ended.call.as_ref()),
            rpc: ended.as_ref().and_then(|ended| ended.rpc.as_deref()),
            ..call.sample(done)
        };
        if !call.is_written {
            self.recorder.answered_early(call.intended);
        }
        record(self.plan, &mut self.recorder, &mut *self.observer, self.start, &sample, detail);
        if was_told {
            self.recorder.reply_was_told();
        }
        if self.plan.watch.replies.is_some() {
            self.observer.observe(Observation::ReplyDone { call: call.serial, size });
        }
        status
    }
}

/// The reply that was recorded for a request.
fn recorded_reply(request: &RecordedRequest) -> RecordedReply {
    RecordedReply { status: request.status, took: request.took }
}

/// Records a call that has ended. `detail` is asked only if the call is one of the slowest.
fn record(
    plan: &Plan,
    recorder: &mut Recorder,
    observer: &mut dyn Observer,
    start: Instant,
    sample: &Sample<'_>,
    detail: impl FnOnce() -> SlowDetail,
) {
    match plan.recording.split {
        None => recorder.record(sample, None),
        Some(Split::Uri) => recorder.record(sample, Some(sample.uri)),
        Some(Split::Status) => {
            let status = sample.status.map_or_else(|| "none".to_owned(), |status| status.to_string());
            recorder.record(sample, Some(status.as_bytes()));
        }
    }
    if recorder.is_slow(sample.intended, sample.done) {
        recorder.record_slow(sample, detail());
    }
    if plan.watch.calls {
        observer.observe(Observation::Call { sample, start });
    }
}
