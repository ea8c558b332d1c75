//! What each arrival does: a connection with its calls, or a session.

use std::time::Duration;

/// What each arrival does.
#[derive(Clone, Debug)]
pub enum Workload {
    /// Each arrival is one connection.
    Connections(Connections),
    /// Each arrival is one session.
    Sessions(Sessions),
}

/// The connection workload: one connection, `calls` calls in bursts of `burst`.
#[derive(Clone, Debug)]
pub struct Connections {
    /// How many connections; 0 ends the run at once.
    pub count: u64,
    /// Calls on each; 0 opens the connection and closes it again.
    pub calls: u64,
    /// Calls written back to back; the last burst may be shorter.
    pub burst: u64,
    /// An arrival that finds this many connections open is skipped (and counted).
    pub max_open: Option<u32>,
}

/// The session workload.
#[derive(Clone, Debug)]
pub struct Sessions {
    /// How many sessions; 0 ends the run at once.
    pub count: u64,
    /// What each session asks for.
    pub script: Script,
    /// Connections a session may use at once.
    pub max_connections: u32,
    /// Calls that may wait on one connection.
    pub max_piped_calls: u32,
    /// Whether a failed call is tried again on a fresh connection.
    pub retry_on_failure: bool,
    /// A reply with this status fails the session.
    pub failure_status: Option<u16>,
    /// Whether cookies are kept and sent.
    pub cookies: bool,
}

/// What a session asks for.
#[derive(Clone, Debug)]
pub enum Script {
    /// `--wsess`: calls in bursts with a think time between them.
    Uniform {
        /// Calls in a session; 0 behaves as 1.
        calls: u64,
        /// Calls in a burst; the last burst may be shorter.
        burst: u64,
        /// Pause between bursts.
        think: Duration,
    },
    /// `--wsesslog`: session k follows definition k modulo their number; never empty.
    File(Vec<ScriptedSession>),
    /// `--wsesspage`: pages with the objects found in them.
    Pages {
        /// Pages in a session; 0 behaves as 1.
        pages: u64,
        /// Pause between pages.
        think: Duration,
    },
}

/// One session definition of a session file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptedSession {
    /// Bursts in order; never empty.
    pub bursts: Vec<Burst>,
}

/// Requests of which the first goes alone and the others follow together once it was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Requests in order; never empty.
    pub requests: Vec<Request>,
    /// Pause after the burst.
    pub think: Duration,
}

/// One request of a session file. Bytes are sent as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: Vec<u8>,
    /// The request target.
    pub uri: Vec<u8>,
    /// The body; empty sends no body and no `Content-length`.
    pub contents: Vec<u8>,
}

/// Where requests take their URI from.
#[derive(Clone, Debug)]
pub enum UriSource {
    /// Always this one (`--uri`).
    Fixed(Vec<u8>),
    /// One after the other (`--wlog`).
    List {
        /// The URIs; never empty.
        uris: Vec<Vec<u8>>,
        /// Whether to start again after the last; otherwise the run ends with it.
        wrap: bool,
    },
    /// A working set of generated names (`--wset`).
    WorkingSet(WorkingSet),
}

/// `--wset=N,X`: names `PREFIX/0/0/0.html` … over a set of files, moving on with a given probability.
#[derive(Clone, Debug)]
pub struct WorkingSet {
    /// What every name begins with (`--uri`).
    pub prefix: Vec<u8>,
    /// Number of files.
    pub files: u32,
    /// Share of calls that move on to another file, 0 to 1.
    pub miss_rate: f64,
}
