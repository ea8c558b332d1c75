//! Replies: from their status lines to their samples.

use std::time::Duration;

use httperf_load::page::{Link, Scanner};
use httperf_proto::content::Content;
use httperf_proto::{HeaderBlock, ReplySize, grpc};
use httperf_stats::{FailedLook, Instant, KernelTimes, Mismatch, Sample, SlowDetail, StreamFate, StreamNews};

use super::super::CallKey;
use super::Run;
use super::call::Phase;
use super::inspection::{self, Finding, Inspection};
use super::kept::Kept;
use super::reader::{Form, Taken};
use super::samples::record;
use super::stream::{Reading, Stream};
use super::stream_ends::end_stream;
use super::talk::{self, Talk};
use crate::Observation;

/// The time for which the end of a reply is awaited whose answer is complete.
const LINGER: Duration = Duration::from_secs(1);

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

impl Run<'_> {
    /// Returns the arrival of a segment, by the clock that measures replies.
    pub(in crate::worker) fn received_at(&self, now: Instant, stamp: Option<Instant>) -> Instant {
        stamp.filter(|_| self.times_by_kernel).unwrap_or(now)
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
        let has_section = streams.grpc.is_some() || streams.model.is_some();
        let inspects = self.plan.replies.reads_bodies();
        let look = call.look().filter(|look| look.wants_head || look.wants_body);
        if !has_section && !inspects && look.is_none() && call.reader.is_none() {
            return;
        }
        let reader = call.reader.get_or_insert_with(|| self.spare.reader());
        if has_section {
            reader.section = Some(head.clone());
        }
        if let Form::Talk(talk) = &mut reader.form {
            talk.take_head(head.clone());
        }
        if inspects {
            reader.inspection = Some(Box::new(Inspection::new(head, self.plan)));
        }
        if let Some(look) = look {
            let mut kept = self.spare.kept();
            kept.start(head, look.wants_body, self.plan.limits.kept_body_size);
            reader.taken = Taken::Parts(kept);
        }
    }

    /// Takes the trailers of a reply.
    pub(in crate::worker) fn reply_trailers(&mut self, key: CallKey, fields: HeaderBlock) {
        let reader = &mut self.calls[key].reader;
        reader.get_or_insert_with(|| self.spare.reader()).section = Some(fields);
    }

    /// Takes the parts of a complete reply that its step looks at. Hand them back with [`Run::give_back`].
    pub(in crate::worker) fn take_kept(&mut self, key: CallKey) -> Option<Box<Kept>> {
        self.calls[key].reader.as_mut()?.take_parts()
    }

    /// The status of the reply to a call is one that its step expects.
    pub(in crate::worker) fn status_expected(&mut self, key: CallKey) {
        if let Some(look) = self.calls[key].look_mut() {
            look.expects_status = true;
        }
    }

    /// Takes note of the first expectation that the reply to a call failed.
    pub(in crate::worker) fn look_failed(&mut self, key: CallKey, failed: FailedLook) {
        if let Some(look) = self.calls[key].look_mut() {
            look.failed = Some(failed);
        }
    }

    /// Keeps memory for the next reply that is looked at.
    pub(in crate::worker) fn give_back(&mut self, kept: Option<Box<Kept>>) {
        if let Some(kept) = kept {
            self.spare.take_kept(kept);
        }
    }

    /// Looks for links in the body of a reply from here on.
    pub(in crate::worker) fn scan_reply(&mut self, key: CallKey, scanner: Scanner) {
        let reader = &mut self.calls[key].reader;
        reader.get_or_insert_with(|| self.spare.reader()).taken = Taken::Links(Box::new(scanner));
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
        let section = call.reader.as_ref().and_then(|reader| reader.section.as_ref());
        let reading = match (streams.grpc, section) {
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
        let reader = call.reader.get_or_insert_with(|| self.spare.reader());
        if reading == Reading::Events
            && streams.model.is_some()
            && let Taken::Parts(kept) = &mut reader.taken
        {
            kept.expect_streamed_answer();
        }
        let stream = Stream::new(reading, content, self.plan);
        let is_at_leisure = stream.is_at_leisure();
        reader.form = Form::Stream(Box::new(stream));
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
        if self.calls[key].stream().is_some() {
            let deadline = self.reply_deadline(now);
            self.read_stream(key, stamp.unwrap_or(now), deadline, |stream, at| stream.push(data, at));
        }
        let call = &mut self.calls[key];
        if self.plan.watch.replies.is_some_and(httperf_plan::Parts::body) {
            self.observer.observe(Observation::ReplyBody { call: call.serial, data });
        }
        call.reader.as_mut().map_or_else(Vec::new, |reader| reader.push(data))
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
        let Some(stream) = call.reader.as_mut().and_then(|reader| reader.stream_mut()) else { return };
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
        let call = self.calls.get(key);
        call.is_some_and(|call| call.reader.as_ref().is_some_and(|reader| reader.is_behind()))
    }

    /// Decompresses some more of what came for a call at `at`. What is read late does not renew its deadline.
    pub(in crate::worker) fn catch_up(&mut self, key: CallKey, at: Instant) {
        let Some(call) = self.calls.get_mut(key) else { return };
        if let Some(reader) = &mut call.reader {
            reader.go_on();
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
        let inspection = call.reader.as_mut().and_then(|reader| reader.inspection.take());
        let inspection = inspection.map(|inspection| *inspection);
        let Finding { decoded_size, mismatch } = inspection::judge(self.plan, status, inspection);
        let ended = end_stream(&mut self.recorder, self.plan, call, StreamFate::Completed, received_at);
        let mismatch = mismatch.or(ended.as_ref().and_then(|ended| ended.mismatch));
        let (mut done, mut mismatch, mut was_told) = (received_at.max(at), mismatch.or(failed_check), false);
        if call.opens_websocket() {
            let end = call.end_talk(talk::Fate::Closed, received_at, &mut self.recorder);
            mismatch = mismatch.or(talk::mismatch(end, status));
            match end {
                // The wait of a user is over when it is open.
                Some(end) => (done, was_told) = (end.opened.max(at), true),
                None => {
                    let words = call.talk().map(Talk::refusal).unwrap_or_default();
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
