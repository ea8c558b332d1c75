//! What each arrival does: a connection with its calls, or a session.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ListedRequest, Template};

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
    pub burst: u64,
    /// How many calls are outstanding at once, each that is answered making way for the next; at least 1. With more
    /// than 1, calls come in no bursts.
    #[serde(default = "one")]
    pub pipeline: u32,
    /// Pause between a burst's last reply and the next burst.
    #[serde(default, rename = "think_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub think: Duration,
    /// How many connections may be open at once.
    pub max_open: Option<Cap>,
}

impl Connections {
    /// So many connections of so many calls in bursts, without a pause between them.
    #[must_use]
    pub fn new(count: u64, calls: u64, burst: u64) -> Self {
        Self { count, calls, burst, pipeline: 1, think: Duration::ZERO, max_open: None }
    }
}

fn one() -> u32 {
    1
}

/// The call workload: each call is due by itself, and takes a connection that has room for it out of a pool.
///
/// The connections are opened before the run starts. One that fails, or that the server closes, is opened again for the
/// next call that is given to it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Calls {
    /// How many calls; 0 ends the run at once.
    pub count: u64,
    /// How many connections there are; at least 1, and as many as there are targets.
    pub connections: u32,
    /// How many calls may be outstanding on each; at least 1.
    pub pipeline: u32,
    /// Which connection takes a call.
    pub assignment: Assignment,
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
    /// How many may be open.
    pub connections: u32,
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
    pub max_connections: u32,
    /// Calls that may wait on one connection.
    pub max_piped_calls: u32,
    /// How many sessions may go on at once; arrivals beyond wait until another has ended.
    #[serde(default)]
    pub max_open: Option<u32>,
    /// Whether a failed call is tried again on a fresh connection.
    pub retry_on_failure: bool,
    /// A reply with this status fails the session.
    pub failure_status: Option<u16>,
    /// Whether cookies are kept and sent.
    pub cookies: bool,
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
        burst: u64,
        /// Pause between bursts.
        #[serde(rename = "think_ns", with = "crate::nanos")]
        #[schemars(with = "u64")]
        think: Duration,
    },
    /// `--wsesslog`: session k follows definition k modulo their number; never empty.
    File(Vec<ScriptedSession>),
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScriptedSession {
    /// Bursts in order; never empty.
    pub bursts: Vec<Burst>,
}

/// Requests of which the first goes alone and the others follow together once it was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Burst {
    /// Requests in order; never empty.
    pub requests: Vec<Request>,
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
        /// The URIs; never empty.
        #[serde(with = "crate::text::list")]
        #[schemars(with = "Vec<crate::text::Text>")]
        uris: Vec<Vec<u8>>,
        /// Whether to start again after the last; otherwise the run ends with it.
        wrap: bool,
    },
    /// A working set of generated names (`--wset`).
    WorkingSet(WorkingSet),
    /// One with placeholders in it (`--uri`).
    Template(Template),
    /// One request after the other, whole, and again from the first after the last (`--targets`); never empty.
    Requests(Vec<ListedRequest>),
}

/// `--wset=N,X`: names `PREFIX/0/0/0.html` … over a set of files, moving on with a given probability.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WorkingSet {
    /// What every name begins with (`--uri`).
    #[serde(with = "crate::text")]
    #[schemars(with = "crate::text::Text")]
    pub prefix: Vec<u8>,
    /// Number of files.
    pub files: u32,
    /// Share of calls that move on to another file, 0 to 1.
    #[serde(with = "crate::text::real")]
    #[schemars(with = "crate::text::real::Real")]
    pub miss_rate: f64,
}
