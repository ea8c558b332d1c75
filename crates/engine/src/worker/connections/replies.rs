//! Replies in the bytes that arrive.

use std::time::Duration;

use httperf_proto::{Event as Reply, ReplySize, Reuse};
use httperf_stats::{Instant, Mismatch, SlowDetail};

use super::reading::{Reading, Source, Step};
use super::{Connections, Event, EventKind, at_instant, poll_key};
use crate::worker::run::{Answer, Run};
use crate::worker::{CallKey, ConnectionKey};
use crate::{Network, failure};

/// Outcome of an event of the protocol.
pub(super) enum Consequence {
    /// Nothing for dispatch.
    None,
    Event(EventKind),
    /// The server ends the connection.
    End,
    /// Decompression of this call's body is behind.
    Behind(CallKey),
    /// The connection fails: the failure is queued.
    Failure,
}

impl<N: Network> Connections<N> {
    /// Uses the bytes in the buffer, as the protocol has them, up to the next event.
    #[inline]
    pub(super) fn use_input(&mut self, buffer: &[u8], run: &mut Run<'_>) -> Option<Event> {
        let mut input = &buffer[self.reading.used..self.reading.filled];
        let event = self.use_bytes(&mut input, run);
        self.reading.used = self.reading.filled - input.len();
        if self.reading.step == Step::Used && event.is_none() && !self.has_happened() {
            return self.finish_use(run);
        }
        event
    }

    /// Uses bytes up to the next event, and sets the next step.
    #[inline]
    fn use_bytes(&mut self, input: &mut &[u8], run: &mut Run<'_>) -> Option<Event> {
        let Reading { key, now, source, is_news, .. } = self.reading;
        let connection = &mut self.connections[key];
        // Not all that comes over HTTP/2 is about replies.
        let is_in_order = connection.engine.is_in_order();
        if is_news && is_in_order {
            run.recorder.heard(now);
        }
        (self.reading.is_news, self.reading.holds_back) = (false, true);
        if let Some(halt) = &mut connection.halt {
            halt.input.extend_from_slice(input);
            *input = &[];
            self.reading.step = source.after_use();
            return None;
        }
        self.reading.step = Step::Use;
        loop {
            let connection = &mut self.connections[key];
            let polled = connection.engine.poll_event(at_instant(now), input, &mut self.header_cache);
            let is_heard = match &polled {
                _ if is_in_order => false,
                Ok(Some(event)) => event.call().is_some(),
                Ok(None) => connection.engine.take_content_received(),
                Err(_) => false,
            };
            if is_heard {
                run.recorder.heard(now);
            }
            match polled {
                Ok(Some(reply)) => match self.handle_reply(key, reply, now, run) {
                    Consequence::None => {}
                    Consequence::Event(kind) => {
                        if is_in_order && input.is_empty() && matches!(kind, EventKind::Complete { .. }) {
                            // No byte follows this reply: the engine need not be asked for more.
                            self.reading.step = source.after_use();
                        }
                        return Some(self.event(key, kind, now));
                    }
                    Consequence::End => return Some(self.end(key, now, run)),
                    Consequence::Behind(call) => {
                        self.halt(key, call, input, now);
                        *input = &[];
                        self.reading.step = source.after_use();
                        return None;
                    }
                    Consequence::Failure => {
                        self.reading.step = Step::Used;
                        return None;
                    }
                },
                Ok(None) => {
                    connection.record_protocol(run);
                    // Until its status line is complete, each piece of a reply renews its deadline, for a while.
                    if connection.engine.has_partial_head()
                        && let Some(front) = connection.engine.front()
                    {
                        run.status_line_heard(front.into(), now);
                    }
                    self.reading.step = source.after_use();
                    return None;
                }
                Err(error) => {
                    self.fail_protocol(key, &error, now, run);
                    self.reading.step = Step::Used;
                    return None;
                }
            }
        }
    }

    /// Handles an event of the protocol.
    #[inline]
    fn handle_reply(
        &mut self,
        key: ConnectionKey,
        reply: Reply<'_>,
        now: Instant,
        run: &mut Run<'_>,
    ) -> Consequence {
        let connection = &mut self.connections[key];
        Consequence::Event(match reply {
            Reply::ReplyStarted { call, status } => {
                run.reply_started(call.into(), status, now, self.reading.stamp);
                if self.alternatives.is_some() && !connection.engine.is_in_order() {
                    self.learn_alternatives(key, status, now, run);
                }
                return Consequence::None;
            }
            Reply::ReplyHead { call, head } => {
                let call = call.into();
                run.reply_head(call, &head);
                EventKind::ReplyHead { call, head }
            }
            Reply::StreamStarted { call, .. } if run.call(call.into()).opens_websocket() => {
                self.note_stream();
                return self.open_talk(key, call.into(), now, run);
            }
            Reply::StreamStarted { call, content } => {
                run.stream_started(call.into(), content, now, self.reading.stamp);
                self.note_stream();
                return Consequence::None;
            }
            Reply::ReplyBody { call, data } => return self.handle_body(key, call.into(), &data, now, run),
            Reply::ReplyTrailers { call, fields } => {
                run.reply_trailers(call.into(), fields);
                return Consequence::None;
            }
            Reply::ReplyDone { call, size, reuse } => EventKind::Complete { call: call.into(), size, reuse },
            Reply::CallReturned { call, why } => {
                connection.record_stalls(run);
                EventKind::Returned { call: call.into(), why, is_draining: connection.engine.capacity() == 0 }
            }
            Reply::CallFailed { call, .. } if run.call(call.into()).done_at().is_some() => {
                // The server has said that the answer is complete, and ended the stream in its own way.
                let call = call.into();
                let size = ReplySize { content: run.call(call).streamed_size(), ..ReplySize::default() };
                EventKind::Complete { call, size, reuse: Reuse::Keep }
            }
            Reply::CallFailed { call, why } => {
                connection.record_stalls(run);
                EventKind::CallFailed { call: call.into(), cause: failure::of_undone(why) }
            }
            Reply::Draining => EventKind::Draining,
            Reply::Drained => return Consequence::End,
        })
    }

    /// Notes a reply whose parts have times of their own.
    #[cold]
    fn note_stream(&mut self) {
        self.stamping.note_stream();
        self.late.note_stream();
    }

    /// Takes a piece of a reply's body.
    #[inline]
    fn handle_body(
        &mut self,
        key: ConnectionKey,
        call: CallKey,
        data: &[u8],
        now: Instant,
        run: &mut Run<'_>,
    ) -> Consequence {
        if run.call(call).is_talking() {
            return self.hear_talk(key, call, data, now, run);
        }
        let links = run.reply_body(call, data, now, self.reading.stamp);
        if run.plan.replies.streams.model.is_some()
            && let Some(end) = run.linger(call)
        {
            let next = self.deadlines.get(poll_key(key));
            self.set_deadline(key, Some(next.map_or(end, |next| next.min(end))));
        }
        let is_behind = run.is_behind(call);
        match (links.is_empty(), is_behind) {
            (true, false) => Consequence::None,
            (false, false) => Consequence::Event(EventKind::LinksFound { call, links }),
            (is_empty, true) => {
                if !is_empty {
                    self.tell(key, EventKind::LinksFound { call, links }, now);
                }
                Consequence::Behind(call)
            }
        }
    }

    /// Returns the arrival of the bytes that are being used, by the clock that measures replies.
    pub(in crate::worker) fn received_at(&self, now: Instant, run: &Run<'_>) -> Instant {
        run.received_at(now, self.reading.stamp)
    }

    /// Records a complete reply. `mismatch`: the check of its step that it failed. Returns its status.
    #[inline]
    pub(in crate::worker) fn record_reply(
        &mut self,
        key: ConnectionKey,
        (call, size): (CallKey, ReplySize),
        mismatch: Option<Mismatch>,
        now: Instant,
        run: &mut Run<'_>,
    ) -> u16 {
        let Self { connections, network, reading, late, .. } = self;
        if late.is_planned() {
            let begun = run.call(call).answering_since();
            let transfer = begun.map_or(Duration::ZERO, |begun| run.received_at(now, reading.stamp) - begun);
            if late.note_reply(size, transfer, reading.stamp.is_some()) {
                run.recorder.read_late(run.call(call).intended());
            }
        }
        if reading.is_asked && reading.stamp.is_none() {
            run.recorder.unstamped(run.call(call).intended());
        }
        let (connection, stamp) = (&mut connections[key], reading.stamp);
        connection.record_stalls(run);
        let is_asked = run.plan.recording.asks_of(run.call(call).serial());
        let kernel = is_asked.then(|| connection.transport.kernel_times(network, call, stamp, run));
        let answer = Answer { size, now, stamp, kernel, mismatch };
        let status = run.reply_done(call, answer, || SlowDetail {
            server_timing: text(connection.engine.server_timing()),
            ..connection.slow_detail(network)
        });
        connection.count_reply();
        connection.record_protocol(run);
        if self.alternatives.is_some() && self.connections[key].engine.is_in_order() {
            self.learn_alternatives(key, status, now, run);
        }
        status
    }
}

impl Source {
    /// Returns the step after bytes from here are used.
    fn after_use(self) -> Step {
        match self {
            Self::Records => Step::Open,
            Self::Stream | Self::Datagrams { .. } | Self::Timer | Self::Halt { .. } => Step::Used,
        }
    }
}

/// Returns bytes from the server as text; `None` for none.
fn text(bytes: &[u8]) -> Option<String> {
    (!bytes.is_empty()).then(|| String::from_utf8_lossy(bytes).into_owned())
}
