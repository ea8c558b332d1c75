//! Figures of streams and their messages: event streams, WebSockets, calls of gRPC.

use std::time::Duration;

use super::Recorder;
use crate::{GrpcEnd, Instant, Phase, StreamEnd, StreamNews, StreamSummary, WebSocketEnd, WebSocketSummary};

impl Recorder {
    /// Records the beginning of a stream, with its status line at the instant `at`.
    pub fn stream_started(&mut self, due: Instant, sent: Option<Instant>, at: Instant) {
        self.series.stream_opened();
        self.streams(due).start(due, sent, at);
    }

    /// Records what came of a stream at the instant `at`.
    pub fn stream_news(&mut self, due: Instant, sent: Option<Instant>, at: Instant, news: &StreamNews) {
        let has_first = if self.figures.models { news.has_first_token } else { news.has_first };
        if has_first && (self.is_measured(due) || self.series.current().phase == Phase::WarmUp) {
            self.series.add_first(at - due);
        }
        if let Some(counts) = self.series.streams() {
            counts.events += news.events;
            counts.tokens += news.tokens;
        }
        self.streams(due).add(due, sent, at, news);
    }

    /// Records the end of a stream, or of a model's reply that was not streamed.
    pub fn stream_ended(&mut self, due: Instant, end: &StreamEnd) {
        if end.is_streamed {
            self.series.stream_ended();
        }
        self.streams(due).end(end);
    }

    /// Records a call to a model that was pending when the run ended. `is_missed`: it can no longer meet all bounds of the goodput.
    pub fn answer_pending(&mut self, due: Instant, is_missed: bool) {
        if let Some(model) = &mut self.streams(due).model {
            model.unfinished_missed += u64::from(is_missed);
        }
    }

    /// Records the end of a call of gRPC whose reply is complete.
    pub fn grpc_ended(&mut self, due: Instant, end: &GrpcEnd) {
        self.of(due).grpc.get_or_insert_default().add(end);
    }

    /// Records the end of a call of gRPC that had no reply, or part of one.
    pub fn grpc_unanswered(&mut self, due: Instant) {
        self.of(due).grpc.get_or_insert_default().unanswered += 1;
    }

    /// Records the opening of a WebSocket at the instant `at`, which is the reply of its call for all who watch the run.
    pub fn websocket_opened(
        &mut self,
        due: Instant,
        sent: Option<Instant>,
        at: Instant,
        is_compressed: bool,
    ) {
        self.series.current().replies += 1;
        self.series.stream_opened();
        self.websocket(due, |figures| figures.open(due, sent, at, is_compressed));
    }

    /// Records a message that came on a WebSocket at the instant `at`. `size`: in bytes.
    pub fn message_received(&mut self, at: Instant, size: u64) {
        if let Some(counts) = self.series.streams() {
            counts.events += 1;
        }
        self.websocket(at, |figures| figures.receive(size));
    }

    /// Records a message that was sent on a WebSocket. `size`: in bytes. `is_expected`: it is to be answered.
    pub fn message_sent(&mut self, due: Instant, size: u64, is_expected: bool) {
        if let Some(counts) = self.series.streams() {
            counts.sent += 1;
        }
        self.websocket(due, |figures| figures.send(size, is_expected));
    }

    /// Records the end of a WebSocket that was open for the time `open`. `wire`: bytes that it sent and received.
    pub fn websocket_ended(&mut self, due: Instant, end: WebSocketEnd, open: Duration, wire: [u64; 2]) {
        self.series.stream_ended();
        self.websocket(due, |figures| {
            figures.wire_sent_bytes += wire[0];
            figures.wire_received_bytes += wire[1];
            figures.end(end, open);
        });
    }

    /// The reply that has just been recorded was told of when its WebSocket was opened.
    pub fn reply_was_told(&mut self) {
        let interval = self.series.current();
        interval.replies = interval.replies.saturating_sub(1);
    }

    /// Records something of WebSockets that was due at `due`.
    pub fn websocket(&mut self, due: Instant, note: impl FnOnce(&mut WebSocketSummary)) {
        note(self.of(due).websockets.get_or_insert_default());
    }

    fn streams(&mut self, due: Instant) -> &mut StreamSummary {
        let models = self.figures.models;
        self.of(due).streams.get_or_insert_with(|| {
            let model = models.then(Box::default);
            Box::new(StreamSummary { model, ..StreamSummary::default() })
        })
    }
}
