//! What HTTP/2 did in a run: streams and how they ended, what calls waited for, what was saved by compression.

use std::ops::AddAssign;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Tally, Timing};

/// What HTTP/2 did in a run.
///
/// What cannot be told of a single call, such as the figures of compression, belongs to the phase in which it happened.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Http2Summary {
    /// Established connections by the protocol that was spoken on them: `HTTP/2`, `HTTP/1.1`.
    pub spoken: Tally,
    /// Streams opened.
    pub streams: u64,
    /// The most that were open on a connection at once.
    pub concurrent_max: u64,
    /// How many were open on the connection whenever one was opened, itself included; added up.
    pub concurrent_sum: u64,
    /// Streams that the server did not process, as it said: refused, or beyond the last of a GOAWAY.
    pub unprocessed: u64,
    /// Calls that were made again for that reason.
    pub retried: u64,
    /// Streams that the server reset, by code.
    pub resets_received: Tally,
    /// Streams that we reset, by reason: what was wrong with a reply, or that nobody waits for it any more.
    pub resets_sent: Tally,
    /// GOAWAY frames of the server, by code.
    pub goaways: Tally,
    /// Connections that ended because the server broke the protocol or went beyond a limit, by reason.
    pub violations: Tally,
    /// How long calls waited for one of the streams that the server allows at once; only those that did.
    pub stream_waits: Timing,
    /// How long the bodies of requests waited for the server's flow-control windows; only those that did. It is part of
    /// a call's latency, and no part of its service time.
    pub window_waits: Timing,
    /// The header fields of requests.
    pub request_headers: Compression,
    /// The header fields of replies, trailers and interim replies included.
    pub reply_headers: Compression,
    /// Bytes of frames sent, whatever their type.
    pub bytes_sent: u64,
    /// Bytes of frames received.
    pub bytes_received: u64,
    /// What the server's settings were on the first connection.
    pub server_settings: Option<ServerSettings>,
    /// Why the first connection ended on which HTTP/2 could not be spoken, or its rules were broken, if there is one.
    pub first_violation: Option<String>,
}

/// What compression did to header fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Compression {
    /// Bytes of names and values.
    pub plain: u64,
    /// Bytes of the header blocks that held them.
    pub encoded: u64,
}

impl Compression {
    /// What it was compressed to, 1 being as large as before; `None` if there was nothing.
    #[must_use]
    pub fn ratio(self) -> Option<f64> {
        (self.plain > 0).then(|| self.encoded as f64 / self.plain as f64)
    }
}

impl AddAssign for Compression {
    fn add_assign(&mut self, other: Self) {
        self.plain += other.plain;
        self.encoded += other.encoded;
    }
}

/// The settings of a server (RFC 9113, section 6.5.2); what it did not say has the value that holds then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ServerSettings {
    /// Bytes of the table with which it decompresses header fields.
    pub header_table: u32,
    /// How many streams it allows at once; `None` for any number.
    pub max_streams: Option<u32>,
    /// The flow-control window with which streams begin.
    pub window: u32,
    /// Bytes of the largest frame that it takes.
    pub max_frame: u32,
    /// The largest list of header fields that it takes; `None` for any.
    pub header_list: Option<u32>,
}

impl Http2Summary {
    /// A connection ended because HTTP/2 is not what the server speaks, or as it breaks its rules.
    pub fn add_violation(&mut self, reason: String) {
        self.first_violation.get_or_insert_with(|| reason.clone());
        self.violations.add(reason);
    }

    /// Why the run as a whole counts as unable to speak HTTP/2 with the server: it was spoken on no connection.
    #[must_use]
    pub fn hopeless(&self) -> Option<&str> {
        self.first_violation.as_deref().filter(|_| self.spoken.count("HTTP/2") == 0)
    }

    /// How many streams were open on a connection when one was opened, in the mean.
    #[must_use]
    pub fn concurrent_mean(&self) -> Option<f64> {
        (self.streams > 0).then(|| self.concurrent_sum as f64 / self.streams as f64)
    }

    /// Adds that of another part of the same run. Of several settings of the server, the least in order stay.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.streams += other.streams;
        self.concurrent_max = self.concurrent_max.max(other.concurrent_max);
        self.concurrent_sum += other.concurrent_sum;
        self.unprocessed += other.unprocessed;
        self.retried += other.retried;
        for (own, their) in [
            (&mut self.spoken, &other.spoken),
            (&mut self.resets_received, &other.resets_received),
            (&mut self.resets_sent, &other.resets_sent),
            (&mut self.goaways, &other.goaways),
            (&mut self.violations, &other.violations),
        ] {
            own.merge(their);
        }
        self.stream_waits.merge(&other.stream_waits);
        self.window_waits.merge(&other.window_waits);
        self.request_headers += other.request_headers;
        self.reply_headers += other.reply_headers;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        if let Some(their) = &other.first_violation
            && self.first_violation.as_ref().is_none_or(|own| their < own)
        {
            self.first_violation = Some(their.clone());
        }
        self.server_settings = match (self.server_settings, other.server_settings) {
            (Some(own), Some(their)) => Some(own.min(their)),
            (own, their) => own.or(their),
        };
    }
}
