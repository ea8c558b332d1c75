//! What each arrival does: a connection with its calls, or a session.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ListedRequest, NonEmpty, Template};

/// What each arrival does.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Workload {
    /// Each arrival is one connection.
    Connections(Connections),
    /// Each arrival is one session.
    Sessions(Sessions),
    /// Each arrival is one call, on connections that are kept.
    Calls(Calls),
}

/// The connection workload: one connection, `calls` calls in bursts of `burst`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Connections {
    /// How many connections; 0 ends the run at once.
    pub count: u64,
    /// Calls on each; 0 opens the connection and closes it again.
    pub calls: u64,
    /// Calls written back to back; the last burst may be shorter.
    pub burst: NonZeroU64,
    /// The number of calls outstanding at once; each that is answered makes way for the next. With more than 1, calls
    /// come in no bursts.
    #[serde(default = "one")]
    pub pipeline: NonZeroU32,
    /// Pause between a burst's last reply and the next burst.
    #[serde(default, rename = "think_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub think: Duration,
    /// How many connections may be open at once.
    pub max_open: Option<Cap>,
}

impl Connections {
    /// `count` connections of `calls` calls each, one call after the other without a pause.
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

/// The call workload: each call is due by itself, and takes a connection that has room for it out of a pool.
///
/// The connections are opened before the run starts. One that fails, or that the server closes, is opened again for the
/// next call that is given to it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Calls {
    /// How many calls; 0 ends the run at once.
    pub count: u64,
    /// The number of connections; at least as many as there are targets.
    pub connections: NonZeroU32,
    /// The most calls outstanding on each.
    pub pipeline: NonZeroU32,
    /// Which connection takes a call.
    pub assignment: Assignment,
}

impl Calls {
    /// The most calls that may be outstanding on all connections together: each place takes memory from the start.
    pub const PLACES_MAX: u64 = 1 << 24;

    /// The number of calls that may be outstanding on all connections together.
    #[must_use]
    pub fn places(&self) -> u64 {
        u64::from(self.connections.get()) * u64::from(self.pipeline.get())
    }
}

/// Which connection of a pool takes a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Assignment {
    /// Any to the call's target that has room, the one first that had it first.
    AnyFree,
    /// Call `n` goes to connection `n` modulo their number, and waits for it: so each has a schedule of its own.
    InTurn,
}

/// A cap on open connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cap {
    /// The most that may be open.
    pub connections: NonZeroU32,
    /// What becomes of an arrival that finds as many.
    pub excess: Excess,
}

/// What becomes of an arrival that finds as many connections open as there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Excess {
    /// It is skipped, and counted.
    Skipped,
    /// It waits until another has ended. The wait is a part of its latency.
    Waits,
}

/// The session workload.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Sessions {
    /// How many sessions; 0 ends the run at once.
    pub count: u64,
    /// What each session asks for.
    pub script: Script,
    /// Connections a session may use at once.
    pub max_connections: NonZeroU32,
    /// Calls that may wait on one connection.
    pub max_piped_calls: NonZeroU32,
    /// How many sessions may go on at once; arrivals beyond wait until another has ended.
    #[serde(default)]
    pub max_open: Option<NonZeroU32>,
    /// Whether a failed call is tried again on a fresh connection.
    pub retry_on_failure: bool,
    /// A reply with this status fails the session.
    pub failure_status: Option<u16>,
    /// Whether cookies are kept and sent.
    pub cookies: bool,
}

impl Sessions {
    /// The number of calls that the connections of a session have room for.
    #[must_use]
    pub fn places(&self) -> u64 {
        u64::from(self.max_connections.get()) * u64::from(self.max_piped_calls.get())
    }
}

/// What a session asks for.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Script {
    /// `--wsess`: calls in bursts with a think time between them.
    Uniform {
        /// Calls in a session; 0 behaves as 1.
        calls: u64,
        /// Calls in a burst; the last burst may be shorter.
        burst: NonZeroU64,
        /// Pause between bursts.
        #[serde(rename = "think_ns", with = "crate::nanos")]
        #[schemars(with = "u64")]
        think: Duration,
    },
    /// `--wsesslog`: session k follows definition k modulo their number.
    File(NonEmpty<ScriptedSession>),
    /// `--wsesspage`: pages with the objects found in them.
    Pages {
        /// Pages in a session; 0 behaves as 1.
        pages: u64,
        /// Pause between pages.
        #[serde(rename = "think_ns", with = "crate::nanos")]
        #[schemars(with = "u64")]
        think: Duration,
    },
}

/// One session definition of a session file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScriptedSession {
    /// Bursts in order.
    pub bursts: NonEmpty<Burst>,
}

/// Requests of which the first goes alone and the others follow together once it was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Burst {
    /// Requests in order.
    pub requests: NonEmpty<Request>,
    /// Pause after the burst.
    #[serde(rename = "think_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub think: Duration,
}

/// One request of a session file. Bytes are sent as they are.
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
    /// The body; empty sends no body and no `Content-length`.
    #[serde(with = "crate::text")]
    #[schemars(with = "crate::text::Text")]
    pub contents: Vec<u8>,
}

/// Where requests take their URI from.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UriSource {
    /// Always this one (`--uri`).
    Fixed(
        #[serde(with = "crate::text")]
        #[schemars(with = "crate::text::Text")]
        Vec<u8>,
    ),
    /// One after the other (`--wlog`).
    List {
        /// The URIs in order.
        #[serde(with = "crate::text::non_empty_list")]
        #[schemars(with = "NonEmpty<crate::text::Text>")]
        uris: NonEmpty<Vec<u8>>,
        /// Whether to start again after the last; otherwise the run ends with it.
        wrap: bool,
    },
    /// A working set of generated names (`--wset`).
    WorkingSet(WorkingSet),
    /// One with placeholders in it (`--uri`).
    Template(Template),
    /// One request after the other, whole, and again from the first after the last (`--targets`).
    Requests(NonEmpty<ListedRequest>),
}

/// `--wset=N,X`: names `PREFIX/0/0/0.html` … over a set of files, moving on with a given probability.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WorkingSet {
    /// What every name begins with (`--uri`).
    #[serde(with = "crate::text")]
    #[schemars(with = "crate::text::Text")]
    pub prefix: Vec<u8>,
    /// Number of files.
    pub files: NonZeroU32,
    /// Share of calls that move on to another file, 0 to 1.
    #[serde(with = "crate::text::real")]
    #[schemars(with = "crate::text::real::Real")]
    pub miss_rate: f64,
}
