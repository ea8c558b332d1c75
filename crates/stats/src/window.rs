//! Throughput: events inside the measured window.

use std::ops::Sub;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::merge::merge_fields;

/// Counts of events inside the measured window, whichever phase the calls were due in.
///
/// Latency belongs to the calls that were due in the window, however late they end. Throughput counts what
/// arrives in it: a server gains nothing by working off its queue during the drain, and answering the
/// warm-up's queue in the window counts as work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// Connects initiated.
    pub connections: u64,
    /// Requests written completely.
    pub requests: u64,
    /// Complete replies; of calls that open WebSockets, the openings.
    pub replies: u64,
    /// Sessions completed.
    pub sessions: u64,
    /// Bytes of these requests.
    pub request_bytes: u64,
    /// Bytes of the header blocks and bodies of these replies.
    pub reply_bytes: u64,
    /// Events of streams.
    #[serde(default)]
    pub events: u64,
    /// Messages received on WebSockets.
    #[serde(default)]
    pub messages: u64,
    /// Tokens of models' answers that became complete.
    #[serde(default)]
    pub output_tokens: u64,
}

merge_fields!(Window {
    add: connections, requests, replies, sessions, request_bytes, reply_bytes, events, messages, output_tokens;
});

impl Sub for Window {
    type Output = Self;

    /// Returns the counts since an earlier state of the same counters.
    fn sub(self, earlier: Self) -> Self {
        Self {
            connections: self.connections - earlier.connections,
            requests: self.requests - earlier.requests,
            replies: self.replies - earlier.replies,
            sessions: self.sessions - earlier.sessions,
            request_bytes: self.request_bytes - earlier.request_bytes,
            reply_bytes: self.reply_bytes - earlier.reply_bytes,
            events: self.events - earlier.events,
            messages: self.messages - earlier.messages,
            output_tokens: self.output_tokens - earlier.output_tokens,
        }
    }
}

/// Rates per second over the measured window; all 0 if the window has no length.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Throughput {
    /// Connects initiated.
    pub connections: f64,
    /// Requests written completely.
    pub requests: f64,
    /// Complete replies.
    pub replies: f64,
    /// Sessions completed.
    pub sessions: f64,
    /// Bytes of requests, and of the header blocks and bodies of replies.
    pub bytes: f64,
    /// Events of streams.
    pub events: f64,
    /// Messages received on WebSockets.
    pub messages: f64,
    /// Tokens of models' answers that became complete.
    pub output_tokens: f64,
}

impl Throughput {
    /// Divides the counts by the length of the window.
    #[must_use]
    pub fn of(window: &Window, length: Duration) -> Self {
        let seconds = length.as_secs_f64();
        let per_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        Self {
            connections: per_second(window.connections),
            requests: per_second(window.requests),
            replies: per_second(window.replies),
            sessions: per_second(window.sessions),
            bytes: per_second(window.request_bytes + window.reply_bytes),
            events: per_second(window.events),
            messages: per_second(window.messages),
            output_tokens: per_second(window.output_tokens),
        }
    }
}
