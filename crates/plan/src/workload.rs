//! The work of each arrival: a connection with its calls, a session, or a call.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::prompts::Prompts;
use crate::scenario::Scenarios;
use crate::{Limits, ListedRequest, NonEmpty, Replay, Template};

/// The work of each arrival.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Workload {
    /// Each arrival is one connection.
    Connections(Connections),
    /// Each arrival is one session.
    Sessions(Sessions),
    /// Each arrival is one call on a pool of connections.
    Calls(Calls),
    /// Each arrival is one visit, which follows a scenario.
    Scenarios(Box<Scenarios>),
    /// Each arrival is one call, as a recording has it.
    Replay(Box<Replay>),
}

/// The connection workload: connections with `calls` calls each, in bursts of `burst`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Connections {
    /// The number of connections; 0 ends the run at once.
    pub count: u64,
    /// The number of calls on each; with 0, the connection is opened and closed again.
    pub calls: u64,
    /// The number of calls written back to back; the last burst may be shorter.
    pub burst: NonZeroU64,
    /// The number of calls outstanding at once; each reply lets the next call start. Above 1, `burst` has no effect.
    /// 1 by default.
    #[serde(default = "one")]
    pub pipeline: NonZeroU32,
    /// The pause between the last reply of a burst and the next burst, in nanoseconds. 0 by default.
    #[serde(default, rename = "think_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub think: Duration,
    /// The cap on connections open at once; `None` sets none.
    pub max_open: Option<Cap>,
}

impl Connections {
    /// Creates a workload of `count` connections with `calls` calls each, one after the other without a pause.
    #[must_use]
    pub fn new(count: u64, calls: u64) -> Self {
        Self {
            count,
            calls,
            burst: NonZeroU64::MIN,
            pipeline: NonZeroU32::MIN,
            think: Duration::ZERO,
            max_open: None,
        }
    }
}

fn one() -> NonZeroU32 {
    NonZeroU32::MIN
}

/// The call workload: each call is due by itself and uses a connection with room for it from a pool.
///
/// A few connections are opened before the run starts, and others when calls need them; where each call has its connection
/// by its number, all are opened before. A connection that fails or that the server closes is reopened for a later call.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Calls {
    /// The number of calls; 0 ends the run at once.
    pub count: u64,
    /// The maximum number of connections; at least the number of targets. `None` for as many as the calls need, up to
    /// [`Limits::pool_connections`](crate::Limits::pool_connections).
    pub connections: Option<NonZeroU32>,
    /// The maximum number of calls outstanding on each connection. `None` for as many as the server allows; over HTTP/1
    /// that is one.
    pub pipeline: Option<NonZeroU32>,
    /// The rule that assigns calls to connections.
    pub assignment: Assignment,
}

impl Calls {
    /// Returns the maximum number of connections.
    #[must_use]
    pub fn connections_max(&self, limits: &Limits) -> u32 {
        self.connections.map_or(limits.pool_connections, NonZeroU32::get)
    }

    /// Returns the number of calls that may be outstanding at once, as far as the plan bounds it.
    #[must_use]
    pub fn places(&self) -> Option<u64> {
        Some(u64::from(self.connections?.get()) * u64::from(self.pipeline?.get()))
    }
}

/// The rule that assigns calls to the connections of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Assignment {
    /// A connection to the call's target that has room, the one that has had room for longest first; a new one if none has.
    AnyFree,
    /// Connection `n` modulo their number takes call `n`, which waits for it: each connection has its own schedule. Their
    /// number is [`Calls::connections`].
    InTurn,
}

/// A cap on open connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cap {
    /// The maximum number of open connections.
    pub connections: NonZeroU32,
    /// The handling of an arrival at the maximum.
    pub excess: Excess,
}

/// The handling of an arrival when the maximum number of connections is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Excess {
    /// The arrival is skipped and counted.
    Skipped,
    /// The arrival waits until a connection has closed. The wait is part of its latency.
    Waits,
}

/// The session workload.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Sessions {
    /// The number of sessions; 0 ends the run at once.
    pub count: u64,
    /// The requests of each session.
    pub script: Script,
    /// The maximum number of connections that a session uses at once.
    pub max_connections: NonZeroU32,
    /// The maximum number of calls outstanding on each connection.
    pub max_piped_calls: NonZeroU32,
    /// The maximum number of sessions in progress; further arrivals wait until one has ended. `None` sets none.
    #[serde(default)]
    pub max_open: Option<NonZeroU32>,
    /// Retries a failed call on a new connection (`--retry-on-failure`).
    pub retry_on_failure: bool,
    /// The status that fails a session (`--failure-status`); `None` for no status.
    pub failure_status: Option<u16>,
    /// Stores cookies and sends them back (RFC 6265).
    pub cookies: bool,
}

impl Sessions {
    /// Returns the maximum number of calls outstanding in a session.
    #[must_use]
    pub fn places(&self) -> u64 {
        u64::from(self.max_connections.get()) * u64::from(self.max_piped_calls.get())
    }
}

/// The requests of a session.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Script {
    /// `--wsess`: calls in bursts with a think time between them.
    Uniform {
        /// The number of calls in a session; 0 behaves as 1.
        calls: u64,
        /// The number of calls in a burst; the last burst may be shorter.
        burst: NonZeroU64,
        /// The pause between bursts, in nanoseconds.
        #[serde(rename = "think_ns", with = "crate::nanos")]
        #[schemars(with = "u64")]
        think: Duration,
    },
    /// `--wsesslog`: session `k` follows definition `k` modulo their number.
    File(NonEmpty<ScriptedSession>),
    /// `--wsesspage`: pages with the objects found in them.
    Pages {
        /// The number of pages in a session; 0 behaves as 1.
        pages: u64,
        /// The pause between pages, in nanoseconds.
        #[serde(rename = "think_ns", with = "crate::nanos")]
        #[schemars(with = "u64")]
        think: Duration,
    },
}

/// One session definition of a session file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScriptedSession {
    /// The bursts, in order.
    pub bursts: NonEmpty<Burst>,
}

/// A burst of a session: the first request is sent alone, the others together after its reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Burst {
    /// The requests, in order.
    pub requests: NonEmpty<Request>,
    /// The pause after the burst, in nanoseconds.
    #[serde(rename = "think_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub think: Duration,
}

/// One request of a session file. Bytes are sent unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// The method.
    #[serde(with = "crate::text")]
    #[schemars(with = "crate::text::Text")]
    pub method: Vec<u8>,
    /// The request target.
    #[serde(with = "crate::text")]
    #[schemars(with = "crate::text::Text")]
    pub uri: Vec<u8>,
    /// The body; if empty, neither a body nor `Content-length` is sent.
    #[serde(with = "crate::text")]
    #[schemars(with = "crate::text::Text")]
    pub contents: Vec<u8>,
}

/// The source of request URIs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UriSource {
    /// The same URI for each call (`--uri`).
    Fixed(
        #[serde(with = "crate::text")]
        #[schemars(with = "crate::text::Text")]
        Vec<u8>,
    ),
    /// A list of URIs, used in order (`--wlog`).
    List {
        /// The URIs, in order.
        #[serde(with = "crate::text::non_empty_list")]
        #[schemars(with = "NonEmpty<crate::text::Text>")]
        uris: NonEmpty<Vec<u8>>,
        /// Starts again after the last; otherwise the run ends there.
        wrap: bool,
    },
    /// A working set of generated names (`--wset`).
    WorkingSet(WorkingSet),
    /// A URI with placeholders (`--uri`).
    Template(Template),
    /// Whole requests, used in order and again from the first after the last (`--targets`).
    Requests(NonEmpty<ListedRequest>),
    /// Prompts for a language model, used in order and again from the first after the last (`--prompts`).
    Prompts(Prompts),
}

/// A working set (`--wset=N,X`): names such as `PREFIX/0/0/0.html` over a set of files, moving to the next file with a
/// given probability.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WorkingSet {
    /// The prefix of every name (`--uri`).
    #[serde(with = "crate::text")]
    #[schemars(with = "crate::text::Text")]
    pub prefix: Vec<u8>,
    /// The number of files.
    pub files: NonZeroU32,
    /// The share of calls that move on to another file, 0 to 1.
    #[serde(with = "crate::text::real")]
    #[schemars(with = "crate::text::real::Real")]
    pub miss_rate: f64,
}
