//! A recording that is made again: its requests, each at its time.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{BodyFile, Sha256};

/// The replay workload: each request of a recording is due `(t - t0) / speed` after the start, where `t` is the time at
/// which it was recorded and `t0` that of the first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Replay {
    /// The recording.
    pub recorded: Recorded,
    /// The factor by which time runs faster than in the recording; finite and above 0.
    #[serde(with = "crate::text::real")]
    #[schemars(with = "crate::text::real::Real")]
    pub speed: f64,
    /// The number of clients that stand for each client of the recording.
    pub copies: NonZeroU32,
    /// The time within which the copies of a client follow it, in nanoseconds, by the recording's clock.
    #[serde(rename = "spread_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub spread: Duration,
    /// The clients that make the requests.
    pub clients: Clients,
    /// The maximum number of calls outstanding on a connection that speaks HTTP/2. Over HTTP/1 it is 1.
    pub streams: NonZeroU32,
    /// Makes requests of all methods, not of GET and HEAD alone.
    pub all_methods: bool,
    /// The bodies of requests that were recorded without one.
    pub bodies: Vec<BodyFor>,
}

/// The clients that make recorded requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Clients {
    /// The recording's: each makes its requests in order, over connections of its own.
    Recorded {
        /// The maximum number of connections of a client.
        connections: NonZeroU32,
        /// Stores cookies and sends them back (RFC 6265).
        cookies: bool,
        /// The pause after which a client's cookies are forgotten, in nanoseconds, by the recording's clock.
        #[serde(rename = "idle_ns", with = "crate::nanos")]
        #[schemars(with = "u64")]
        idle: Duration,
    },
    /// None: any connection of a pool takes any request.
    Independent {
        /// The maximum number of connections.
        connections: NonZeroU32,
    },
}

/// A recording, as it was when it was read for the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recorded {
    /// The path of the file.
    #[serde(with = "crate::text::path")]
    #[schemars(with = "crate::text::Text")]
    pub path: PathBuf,
    /// The size of the file in bytes.
    pub size: u64,
    /// The digest of the file. A file with another one is another recording.
    pub sha256: Sha256,
    /// The form of the file.
    pub form: RecordedForm,
    /// The name of the recording's format.
    pub from: String,
    /// The instant that the recording's stamps were of.
    pub stamps: String,
    /// The resolution of the recording's stamps, in nanoseconds.
    #[serde(rename = "resolution_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub resolution: Duration,
    /// The time at which the first request was recorded, by RFC 3339.
    pub began: String,
    /// The time from the first recorded request to the last, in nanoseconds.
    #[serde(rename = "length_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub length: Duration,
    /// The number of requests that are made.
    pub requests: u64,
    /// The number of those in the busiest second.
    pub busiest: u64,
    /// The number of clients that make them.
    pub clients: u64,
    /// Requests that are not made, by reason.
    pub left_out: Vec<LeftOut>,
    /// Sentences about the recording and about what differs from it.
    pub notes: Vec<String>,
}

/// The form of a recording, and the way in which its clients are told apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordedForm {
    /// A trace of httperf, which numbers its clients.
    Trace,
    /// An access log.
    Log {
        /// The format, as `--format` takes it; `None` if the first lines tell it.
        format: Option<String>,
        /// The parts of a line by which clients are told apart, as `--client-by` takes them.
        client_by: String,
        /// The pause that ends a client's session, in nanoseconds.
        #[serde(rename = "idle_ns", with = "crate::nanos")]
        #[schemars(with = "u64")]
        idle: Duration,
    },
    /// A capture of GoReplay.
    GoReplay {
        /// The parts of a request by which clients are told apart.
        client_by: String,
        /// The pause that ends a client's session, in nanoseconds.
        #[serde(rename = "idle_ns", with = "crate::nanos")]
        #[schemars(with = "u64")]
        idle: Duration,
    },
    /// A trace of a language model, which has numbers of tokens and no requests.
    Model {
        /// The request target.
        uri: String,
        /// The model that requests name; `None` leaves the choice to the server.
        model: Option<String>,
    },
}

/// Requests that are not made, for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// The reason, in a few words.
    pub reason: String,
    /// The number of requests, or of lines.
    pub count: u64,
}

/// The body of the recorded requests of one method to one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BodyFor {
    /// The method.
    pub method: String,
    /// The path; with `*` at its end, all that begin as it does.
    pub path: String,
    /// The value of `Content-Type`, unless the request was recorded with one.
    pub content_type: String,
    /// The file that is the body.
    pub file: BodyFile,
}

impl BodyFor {
    /// Returns whether it is the body of a request of this method to this target.
    #[must_use]
    pub fn is_for(&self, method: &str, target: &str) -> bool {
        let path = target.split_once('?').map_or(target, |(path, _)| path);
        method == self.method
            && match self.path.strip_suffix('*') {
                Some(beginning) => path.starts_with(beginning),
                None => path == self.path,
            }
    }
}

impl Replay {
    /// Returns the number of requests that are due: those of all copies.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.recorded.requests.saturating_mul(self.copies.get().into())
    }

    /// Returns the time from the start to the last request: a bound, as it may be that of a copy.
    #[must_use]
    pub fn length(&self) -> Duration {
        let spread = if self.copies.get() > 1 { self.spread } else { Duration::ZERO };
        self.scaled(self.recorded.length.saturating_add(spread))
    }

    /// Returns the rate of the recording's busiest second, by the clock of the run, in requests per second.
    #[must_use]
    pub fn peak_rate(&self) -> f64 {
        self.recorded.busiest as f64 * f64::from(self.copies.get()) * self.speed
    }

    /// Returns a time of the recording's clock by that of the run.
    #[must_use]
    pub fn scaled(&self, recorded: Duration) -> Duration {
        // Exactly the same at speed 1; a float is not exact beyond 2^53 ns.
        if self.speed.to_bits() == 1f64.to_bits() {
            return recorded;
        }
        Duration::try_from_secs_f64(recorded.as_secs_f64() / self.speed).unwrap_or(Duration::MAX)
    }

    /// Returns whether a request of this method is made.
    #[must_use]
    pub fn makes(&self, method: &str) -> bool {
        self.all_methods || matches!(method, "GET" | "HEAD")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_body_is_for_one_method_and_path_or_a_beginning() {
        let body = |path: &str| BodyFor {
            method: "POST".into(),
            path: path.into(),
            content_type: "text/plain".into(),
            file: BodyFile { path: "b".into(), size: 0, sha256: Sha256([0; 32]), contents: Arc::default() },
        };
        for (path, method, target, expected) in [
            ("/x", "POST", "/x", true),
            ("/x", "POST", "/x?a=1", true),
            ("/x", "PUT", "/x", false),
            ("/x", "POST", "/x/y", false),
            ("/x*", "POST", "/x/y?z", true),
            ("/x/*", "POST", "/x", false),
            ("*", "POST", "/", true),
        ] {
            assert_eq!(body(path).is_for(method, target), expected, "{path} {method} {target}");
        }
    }
}
