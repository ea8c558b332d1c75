//! Named bounds on what a peer or a plan may make the generator hold or do.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bounds on what a peer or a plan may make the generator hold or do.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Bytes of a reply's header block, status line included; also of its trailers.
    pub reply_head_size: usize,
    /// Header fields in a reply.
    pub reply_fields: usize,
    /// Bytes of a chunk-size line with its extensions.
    pub chunk_line_size: usize,
    /// Interim (1xx) replies before a final one.
    pub interim_replies: u32,
    /// How many times the time limit of a reply its status line may take, once it has begun. Each piece of it renews that
    /// time limit.
    #[serde(default = "status_line_timeouts")]
    pub status_line_timeouts: u32,
    /// Attempts in a row that a session makes for the same call, or for a connection that answers nothing,
    /// before it counts as failed (`--retry-on-failure`).
    pub retries: u32,
    /// Pause before the second retry in a row; doubles with each one (the first is immediate).
    #[serde(rename = "retry_pause_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub retry_pause: Duration,
    /// Longest pause between retries.
    #[serde(rename = "retry_pause_max_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub retry_pause_max: Duration,
    /// In a closed loop, pause before the next arrival when one came to no server (refused, or without port, descriptor
    /// or route), where one goes on at a time; where several do, each of their places rests so many times as long, but no
    /// longer than `retry_pause_max`. It doubles each time that as many as go on at once have failed in a row.
    #[serde(rename = "unreached_pause_ns", with = "crate::nanos", default = "unreached_pause")]
    #[schemars(with = "u64")]
    pub unreached_pause: Duration,
    /// The pause up to which that is doubled.
    #[serde(rename = "unreached_pause_max_ns", with = "crate::nanos", default = "unreached_pause_max")]
    #[schemars(with = "u64")]
    pub unreached_pause_max: Duration,
    /// Cookies a session keeps; the oldest goes first.
    pub cookies: usize,
    /// TLS sessions kept for other connections to resume, per target; the oldest goes first.
    pub tls_sessions: usize,
    /// How long a connection that has nothing else to do waits for a session ticket that others need.
    #[serde(rename = "tls_ticket_wait_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub tls_ticket_wait: Duration,
    /// Objects fetched for one page (`--wsesspage`).
    pub page_objects: usize,
    /// Bytes of a reply's body, decompressed: beyond them it counts as one that cannot be decompressed.
    #[serde(default = "decoded_size")]
    pub decoded_size: u64,
}

const fn decoded_size() -> u64 {
    1 << 32
}

const fn status_line_timeouts() -> u32 {
    4
}

const fn unreached_pause() -> Duration {
    Duration::from_millis(1)
}

const fn unreached_pause_max() -> Duration {
    Duration::from_millis(10)
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            reply_head_size: 64 * 1024,
            reply_fields: 256,
            chunk_line_size: 4096,
            interim_replies: 32,
            status_line_timeouts: status_line_timeouts(),
            retries: 10,
            retry_pause: Duration::from_millis(10),
            retry_pause_max: Duration::from_secs(1),
            unreached_pause: unreached_pause(),
            unreached_pause_max: unreached_pause_max(),
            cookies: 128,
            tls_sessions: 64,
            tls_ticket_wait: Duration::from_secs(1),
            page_objects: 1000,
            decoded_size: decoded_size(),
        }
    }
}
