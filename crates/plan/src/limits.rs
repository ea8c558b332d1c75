//! Named bounds on the memory, retries and work that a peer or a plan may cause.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The bounds on the memory, retries and work that a peer or a plan may cause.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// The maximum size of a reply's head, status line included, and of its trailers, in bytes. 65,536 by default.
    pub reply_head_size: usize,
    /// The maximum number of header fields in a reply. 256 by default.
    pub reply_fields: usize,
    /// The maximum size of a chunk-size line with its extensions, in bytes. 4096 by default.
    pub chunk_line_size: usize,
    /// The maximum number of interim (1xx) replies before the final one. 32 by default.
    pub interim_replies: u32,
    /// The maximum duration of a status line from its first byte, as a multiple of the reply's time limit, which each
    /// received piece of the line restarts. 4 by default.
    #[serde(default = "status_line_timeouts")]
    pub status_line_timeouts: u32,
    /// The maximum number of consecutive attempts for the same call, or for a connection that answers nothing, before
    /// the session fails (`--retry-on-failure`). 10 by default.
    pub retries: u32,
    /// The pause before the second consecutive retry, in nanoseconds; it doubles with each further one, and the first
    /// retry is immediate. 10 ms by default.
    #[serde(rename = "retry_pause_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub retry_pause: Duration,
    /// The longest pause between retries, in nanoseconds. 1 s by default.
    #[serde(rename = "retry_pause_max_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub retry_pause_max: Duration,
    /// In a closed loop, the pause after an arrival that reached no server (connection refused; no port, descriptor or
    /// route left), in nanoseconds. With `n` arrivals at once, each pauses `n` times as long, but at most
    /// `retry_pause_max`. The pause doubles after every `n` consecutive failures, up to `unreached_pause_max`.
    /// 1 ms by default.
    #[serde(rename = "unreached_pause_ns", with = "crate::nanos", default = "unreached_pause")]
    #[schemars(with = "u64")]
    pub unreached_pause: Duration,
    /// The upper bound of the doubled `unreached_pause`, in nanoseconds. 10 ms by default.
    #[serde(rename = "unreached_pause_max_ns", with = "crate::nanos", default = "unreached_pause_max")]
    #[schemars(with = "u64")]
    pub unreached_pause_max: Duration,
    /// The maximum number of connections that calls share where a plan sets none: far more than a server of a second
    /// needs at 50,000 calls per second. 65,536 by default.
    #[serde(default = "pool_connections")]
    pub pool_connections: u32,
    /// The maximum number of cookies in a session; the oldest is dropped first. 128 by default.
    pub cookies: usize,
    /// The maximum number of TLS sessions kept for resumption per target; the oldest is dropped first. 64 by default.
    pub tls_sessions: usize,
    /// The time for which an otherwise finished connection waits for a session ticket that others need, in
    /// nanoseconds. 1 s by default.
    #[serde(rename = "tls_ticket_wait_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub tls_ticket_wait: Duration,
    /// The maximum number of objects fetched for a page (`--wsesspage`). 1000 by default.
    pub page_objects: usize,
    /// The maximum size in bytes of a decompressed body that a step of a scenario looks at; a larger one counts as
    /// undecodable. 16 MiB by default.
    #[serde(default = "kept_body_size")]
    pub kept_body_size: usize,
    /// The maximum size in bytes of an event of a stream, and of a model's reply that is not streamed; of a larger one, the
    /// beginning is read. 1 MiB by default.
    #[serde(default = "event_size")]
    pub event_size: usize,
    /// The maximum size in bytes of a message on a WebSocket, decompressed; a larger one ends it. 16 MiB by default.
    #[serde(default = "message_size")]
    pub message_size: usize,
    /// The maximum size of a decompressed body in bytes; a larger one counts as undecodable. 4 GiB by default.
    #[serde(default = "decoded_size")]
    pub decoded_size: u64,
}

const fn pool_connections() -> u32 {
    1 << 16
}

const fn kept_body_size() -> usize {
    16 << 20
}

const fn event_size() -> usize {
    1 << 20
}

const fn message_size() -> usize {
    16 << 20
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
            pool_connections: pool_connections(),
            cookies: 128,
            tls_sessions: 64,
            tls_ticket_wait: Duration::from_secs(1),
            page_objects: 1000,
            kept_body_size: kept_body_size(),
            event_size: event_size(),
            message_size: message_size(),
            decoded_size: decoded_size(),
        }
    }
}
