//! WebSockets: calls whose replies are conversations.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::merge::merge_fields;
use crate::{Clocks, Instant, Tally, Timing};

/// Figures of WebSockets.
///
/// A message that is to be answered is, has lost its WebSocket, or waited when the run ended: `expected = answered +
/// unanswered + outstanding`. Each message that was pushed is the first on its WebSocket, ends a gap, or came together with the one before it:
/// `pushed = first_push + gap + coalesced`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WebSocketSummary {
    /// WebSockets that were opened.
    pub opened: u64,
    /// Requests that the server answered without opening one: replies with another status.
    pub refused: u64,
    /// WebSockets that both sides closed.
    pub closed: u64,
    /// WebSockets that ended without a close: their connections or HTTP streams did, or a side gave up.
    pub cut: u64,
    /// WebSockets that were open when the run ended.
    pub unfinished: u64,
    /// From the instants at which calls were due, and from the first bytes sent, to the opening.
    pub opening: Clocks,
    /// From the opening to the end of those that were closed.
    pub duration: Timing,
    /// Messages sent.
    pub sent: u64,
    /// Those of them that were to be answered.
    pub expected: u64,
    /// Those of them that were answered.
    pub answered: u64,
    /// Those of them whose WebSocket ended before.
    pub unanswered: u64,
    /// Ages of those of them that still waited for answers when the run ended: the times since they were due.
    #[serde(default)]
    pub unfinished_messages: Timing,
    /// From the instants at which messages were due, and from those at which they were sent, to their answers.
    pub round_trip: Clocks,
    /// Messages received.
    pub received: u64,
    /// Those of them that answered none.
    pub pushed: u64,
    /// Those of them that came together with an earlier one on the same WebSocket, in the same read.
    pub coalesced: u64,
    /// From the opening to the first message that was pushed.
    pub first_push: Timing,
    /// From one message that was pushed to the next that did not come together with it.
    pub gap: Timing,
    /// Bytes of the payloads of messages sent, before compression.
    pub sent_bytes: u64,
    /// Bytes of the payloads of messages received, after decompression.
    pub received_bytes: u64,
    /// Bytes sent after the opening, as HTTP carried them.
    pub wire_sent_bytes: u64,
    /// Bytes received after the opening, as HTTP carried them.
    pub wire_received_bytes: u64,
    /// WebSockets whose messages the server agreed to compress.
    pub compressed: u64,
    /// Pings sent.
    pub pings: u64,
    /// From pings to their pongs.
    pub ping: Timing,
    /// Ends by who closed and the code, such as `client 1000 (normal closure)`, or the limit of this program that was reached.
    pub closes: Tally,
    /// Breaches of the protocol by servers, which ended their WebSockets.
    pub violations: Tally,
    /// Openings that were refused, by the status and what the server says beside it.
    #[serde(default)]
    pub refusals: Tally,
}

/// Fate of a WebSocket that was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebSocketEnd {
    /// Both sides closed it.
    Closed {
        /// Who did so first and the code, in words.
        close: String,
    },
    /// It ended without a close.
    Cut,
    /// The run ended before it did.
    Unfinished,
}

impl WebSocketSummary {
    /// Records an opening at the instant `at`.
    pub fn open(&mut self, due: Instant, sent: Option<Instant>, at: Instant, is_compressed: bool) {
        self.opened += 1;
        self.compressed += u64::from(is_compressed);
        self.opening.add(due, sent, at);
    }

    /// Records a message with a payload of this size in bytes.
    pub fn send(&mut self, size: u64, is_expected: bool) {
        self.sent += 1;
        self.expected += u64::from(is_expected);
        self.sent_bytes += size;
    }

    /// Records the answer, at the instant `at`, to a message.
    pub fn answer(&mut self, due: Instant, sent: Instant, at: Instant) {
        self.answered += 1;
        self.round_trip.add(due, Some(sent), at);
    }

    /// Records a message that came, with a payload of this size in bytes.
    pub fn receive(&mut self, size: u64) {
        self.received += 1;
        self.received_bytes += size;
    }

    /// Records that this message was pushed: `since` the one before it, or since the opening if `is_first`.
    pub fn push(&mut self, since: Duration, is_first: bool) {
        self.pushed += 1;
        match (is_first, since.is_zero()) {
            (true, _) => self.first_push.add(since),
            (false, true) => self.coalesced += 1,
            (false, false) => self.gap.add(since),
        }
    }

    /// Records a pong.
    pub fn pong(&mut self, time: Duration) {
        self.ping.add(time);
    }

    /// Records a breach of the protocol.
    pub fn violate(&mut self, reason: String) {
        self.violations.add(reason);
    }

    /// Records an opening that the server refused, with what it says about that.
    pub fn refuse(&mut self, words: String) {
        self.refused += 1;
        self.refusals.add(words);
    }

    /// Records that this program ended a WebSocket at a limit of its own.
    pub fn give_up(&mut self, reason: &str) {
        self.closes.add(format!("client, as {reason}"));
    }

    /// Records the end of a WebSocket that was opened.
    pub fn end(&mut self, end: WebSocketEnd, lasted: Duration) {
        match end {
            WebSocketEnd::Closed { close } => {
                self.closed += 1;
                self.duration.add(lasted);
                self.closes.add(close);
            }
            WebSocketEnd::Cut => self.cut += 1,
            WebSocketEnd::Unfinished => self.unfinished += 1,
        }
    }

    /// WebSockets that have been opened and whose replies have not been counted: that are open, or were cut.
    pub(crate) fn open_or_cut(&self) -> u64 {
        self.opened.saturating_sub(self.closed + self.unfinished)
    }

    /// Messages that had not been answered when the run ended.
    #[must_use]
    pub fn outstanding(&self) -> u64 {
        self.unfinished_messages.moments.count()
    }

    /// Share (0 to 1) of pushed messages that came together with an earlier one; `None` if none was pushed.
    #[must_use]
    pub fn share_coalesced(&self) -> Option<f64> {
        (self.pushed > 0).then(|| self.coalesced as f64 / self.pushed as f64)
    }
}

merge_fields!(WebSocketSummary {
    add: opened, refused, closed, cut, unfinished, sent, expected, answered, unanswered, received, pushed,
        coalesced, sent_bytes, received_bytes, wire_sent_bytes, wire_received_bytes, compressed, pings,
        opening, duration, unfinished_messages, round_trip, first_push, gap, ping, closes, violations,
        refusals;
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::Merge as _;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn every_pushed_message_is_first_ends_a_gap_or_came_with_another() {
        let mut summary = WebSocketSummary::default();
        for (since, is_first) in [(0, true), (0, false), (20, false), (0, false), (30, false)] {
            summary.receive(4);
            summary.push(ms(since), is_first);
        }
        assert_eq!((summary.received, summary.received_bytes, summary.pushed), (5, 20, 5));
        assert_eq!((summary.coalesced, summary.gap.moments.count(), summary.gap.moments.max()), (2, 2, 0.03));
        assert_eq!(summary.share_coalesced(), Some(0.4));
    }

    #[test]
    fn what_is_to_be_answered_is_answered_unanswered_or_outstanding() {
        let mut summary = WebSocketSummary::default();
        for is_expected in [true, true, true, false] {
            summary.send(10, is_expected);
        }
        summary.answer(at(5), at(7), at(10));
        summary.unanswered += 1;
        summary.unfinished_messages.add(ms(40));
        assert_eq!((summary.sent, summary.expected, summary.outstanding()), (4, 3, 1));
        let round_trip = &summary.round_trip;
        assert_eq!((round_trip.latency.moments.max(), round_trip.service.moments.max()), (0.005, 0.003));
    }

    #[test]
    fn only_what_was_closed_has_a_duration_and_a_code() {
        let mut summary = WebSocketSummary::default();
        summary.open(at(10), Some(at(12)), at(20), true);
        let close = "client 1000 (normal closure)".to_owned();
        summary.end(WebSocketEnd::Closed { close }, ms(70));
        summary.end(WebSocketEnd::Cut, ms(500));
        summary.end(WebSocketEnd::Unfinished, ms(900));
        let mut both = summary.clone();
        both.merge(&summary);
        assert_eq!((both.closed, both.cut, both.unfinished, both.compressed), (2, 2, 2, 2));
        assert_eq!((both.duration.moments.count(), both.duration.moments.max()), (2, 0.07));
        assert_eq!((both.closes.total(), both.opening.service.moments.max()), (2, 0.008));
    }
}
