//! What to run: targets, arrivals, workloads, limits and what to watch.
//!
//! A [`Plan`] is complete and checked; nothing changes it once a run has started. A value that no run can have is refused
//! by the type of its field, or, where it depends on other fields, by [`PlanBuilder::build`]. This crate opens no
//! file and no socket, starts no thread and reads no clock: the program reads the files that options name
//! and hands their bytes to the parsers here ([`session_file`], [`uri_list`], [`targets_file`], [`header_escapes`]).
//! Numbers in all of them, and on the command line, are read by [`number`].

pub mod header_escapes;
pub mod number;
pub mod objective;
pub mod session_file;
pub mod targets_file;
pub mod template;
pub mod uri_list;
pub mod url;

mod arrivals;
mod bounded;
mod builder;
mod expect;
mod http2;
mod limits;
mod material;
mod nanos;
mod non_empty;
mod recording;
mod route;
mod target;
mod text;
mod timeouts;
mod tls;
mod workload;

pub use arrivals::{Arrivals, Client, Shard, Step, UNLIMITED};
pub use bounded::{Bounded, Fraction, NotAFraction, OutOfBounds};
pub use builder::{Plan, PlanBuilder, PlanError};
pub use expect::{Expect, Malformed, Replies, Sha256, SizeRange, Statuses};
pub use http2::{ConnectionWindow, HeaderTable, Http2, MaxFrame, Window};
pub use limits::Limits;
pub use material::{Body, BodyFile, BodyPart, Header, HeaderError, ListedRequest};
pub use non_empty::{EmptyList, NonEmpty};
pub use objective::Objectives;
pub use recording::{Phases, Precision, Recording, ReplyClock, Split};
pub use route::{Authority, Proxy};
pub use target::{Endpoint, SourceAddresses, Target};
pub use template::Template;
pub use timeouts::{ThinkTime, Timeouts};
pub use tls::{CertificateCompression, Identity, Resumption, Tls, TlsVersion, Trust};
pub use workload::{
    Assignment, Burst, Calls, Cap, Connections, Excess, Request, Script, ScriptedSession, Sessions,
    UriSource, WorkingSet, Workload,
};

use std::num::NonZeroU32;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most threads that share the work of a run: each takes some memory, and few machines have more processors.
pub const THREADS_MAX: NonZeroU32 = NonZeroU32::new(1024).expect("it is not 0");

/// Everything a run needs to know, fixed before it starts.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Plan")]
pub struct PlanFields {
    /// The word that prefixes messages: the base name the program was started by.
    pub program: String,
    /// Which of how many co-operating generators this one is; seeds every random stream.
    pub client: Client,
    /// When connections (or sessions) start.
    pub arrivals: Arrivals,
    /// What each arrival does.
    pub workload: Workload,
    /// Where requests take their URI from, unless the workload brings its own.
    pub uris: UriSource,
    /// Servers in round-robin order.
    pub targets: NonEmpty<Target>,
    /// The parts of a request that every call shares.
    pub request: RequestTemplate,
    /// What is asked of replies, and what is checked in them.
    #[serde(default)]
    pub replies: Replies,
    /// How long to wait for a server.
    pub timeouts: Timeouts,
    /// How connections are secured; `None` leaves them in the clear.
    pub tls: Option<Tls>,
    /// How HTTP/2 is spoken, if it is.
    #[serde(default)]
    pub http2: Http2,
    /// The proxy at every target's `endpoint`, if connections go through one.
    #[serde(default)]
    pub proxy: Option<Proxy>,
    /// How sockets are made.
    pub sockets: Sockets,
    /// How long load is offered and measured, not counting the warm-up; `None` runs to the end of the workload.
    #[serde(rename = "runtime_ns", with = "crate::nanos::option")]
    #[schemars(with = "Option<u64>")]
    pub runtime: Option<Duration>,
    /// What comes before the measured phase and after it.
    pub phases: Phases,
    /// Ends the run as soon as it has measured this exactly.
    pub until: Option<Precision>,
    /// What the server is to keep to.
    #[serde(default)]
    pub objectives: Objectives,
    /// What is recorded.
    pub recording: Recording,
    /// The number of threads that share the work, all of which have some. Each call's number in the
    /// schedule then says which URI it has, whatever their number. `None`: one thread, where URIs go to calls in the
    /// order in which they are made, as with the classic tool.
    #[serde(default)]
    pub threads: Option<NonZeroU32>,
    /// Whether to poll through the last stretch before a due instant instead of sleeping.
    pub spin: bool,
    /// What to print while the run goes on.
    pub watch: Watch,
    /// Bounds on what a peer or a plan may make the generator hold.
    pub limits: Limits,
}

impl PlanFields {
    /// Returns whether the workload makes calls, and does not only open connections.
    #[must_use]
    pub fn makes_calls(&self) -> bool {
        !matches!(&self.workload, Workload::Connections(connections) if connections.calls == 0)
    }

    /// The number of calls of each arrival that take their URI from [`PlanFields::uris`]; [`UNLIMITED`] if nothing but
    /// the end of the run bounds them.
    #[must_use]
    pub fn calls_per_arrival(&self) -> u64 {
        match &self.workload {
            Workload::Connections(connections) => connections.calls,
            Workload::Calls(_) => 1,
            Workload::Sessions(sessions) => match &sessions.script {
                Script::Uniform { calls: count, .. } | Script::Pages { pages: count, .. } => (*count).max(1),
                Script::File(_) => 0,
            },
        }
    }

    /// The index of the target that the arrival with this number talks to: each in turn, unless its request says.
    #[must_use]
    pub fn target_of(&self, arrival: u64) -> usize {
        match &self.uris {
            // With several servers, each arrival is one call.
            UriSource::Requests(requests) if self.targets.len() > 1 => {
                requests[(arrival % requests.len() as u64) as usize].server as usize
            }
            _ => (arrival % self.targets.len() as u64) as usize,
        }
    }

    /// The most arrivals there can be.
    #[must_use]
    pub fn arrivals_max(&self) -> u64 {
        match &self.workload {
            Workload::Connections(connections) => connections.count,
            Workload::Sessions(sessions) => sessions.count,
            Workload::Calls(calls) => calls.count,
        }
    }

    /// The number of threads that the run starts.
    #[must_use]
    pub fn workers(&self) -> NonZeroU32 {
        self.threads.unwrap_or(NonZeroU32::MIN)
    }

    /// The most threads that would have work: no more than there are arrivals, arrivals that may go on at once, and
    /// connections that calls share. At most [`THREADS_MAX`].
    #[must_use]
    pub fn threads_max(&self) -> NonZeroU32 {
        let at_once = match self.arrivals {
            Arrivals::Sequential => NonZeroU32::MIN,
            Arrivals::Concurrent(count) => count,
            _ => NonZeroU32::MAX,
        };
        let room = match &self.workload {
            Workload::Connections(connections) => connections.max_open.map(|cap| cap.connections),
            Workload::Sessions(sessions) => sessions.max_open,
            // Each thread needs a connection to each target.
            Workload::Calls(calls) => {
                let targets = u32::try_from(self.targets.len()).unwrap_or(u32::MAX);
                Some(at_least_one(calls.connections.get() / targets))
            }
        };
        let arrivals = u32::try_from(self.arrivals_max()).map_or(NonZeroU32::MAX, at_least_one);
        at_once.min(room.unwrap_or(NonZeroU32::MAX)).min(arrivals).min(THREADS_MAX)
    }
}

fn at_least_one(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN)
}

/// The version of HTTP that is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HttpVersion {
    /// HTTP/1.0, with `Connection: keep-alive`.
    Http10,
    /// HTTP/1.1.
    Http11,
    /// HTTP/2.
    Http2,
    /// HTTP/2 or HTTP/1.1, as the server chooses when TLS is set up (ALPN).
    Auto,
}

impl HttpVersion {
    /// Whether HTTP/2 is spoken, or may be.
    #[must_use]
    pub fn may_be_http2(self) -> bool {
        matches!(self, Self::Http2 | Self::Auto)
    }
}

/// The parts of a request that every call of a run shares. Bytes are sent as they are.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RequestTemplate {
    /// The version that is spoken.
    pub version: HttpVersion,
    /// The method, unless a session file names another.
    #[serde(with = "crate::text")]
    #[schemars(with = "crate::text::Text")]
    pub method: Vec<u8>,
    /// The value of `User-Agent`.
    pub user_agent: String,
    /// Whether to send `Host`.
    pub host_header: bool,
    /// Header lines (each with its own line end) placed after `Host`.
    #[serde(with = "crate::text")]
    #[schemars(with = "crate::text::Text")]
    pub extra_headers: Vec<u8>,
    /// Header fields placed after those lines. They take the place of the lines of the same names that the program
    /// writes itself.
    #[serde(default)]
    pub headers: Vec<Header>,
    /// The body, unless the request comes with its own.
    #[serde(default)]
    pub body: Option<Body>,
}

/// A GET over HTTP/1.1, with `Host` and this program's `User-Agent`.
impl Default for RequestTemplate {
    fn default() -> Self {
        Self {
            version: HttpVersion::Http11,
            method: b"GET".to_vec(),
            user_agent: concat!("httperf/", env!("CARGO_PKG_VERSION")).to_owned(),
            host_header: true,
            extra_headers: Vec::new(),
            headers: Vec::new(),
            body: None,
        }
    }
}

/// How sockets are made and closed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Sockets {
    /// `SO_SNDBUF` in bytes; `None` leaves it to the kernel.
    pub send_buffer: Option<usize>,
    /// `SO_RCVBUF` in bytes; `None` leaves it to the kernel.
    pub recv_buffer: Option<usize>,
    /// `TCP_NODELAY`: small segments go out at once.
    #[serde(default = "always")]
    pub no_delay: bool,
    /// `TCP_FASTOPEN_CONNECT`: the first bytes travel with the SYN, where the server allows it.
    #[serde(default)]
    pub fast_open: bool,
    /// `IP_TOS` or `IPV6_TCLASS`: the DSCP in its upper six bits.
    #[serde(default)]
    pub traffic_class: u8,
    /// Close with RST (`SO_LINGER` on, 0 s).
    pub close_with_reset: bool,
    /// Choose local ports here instead of leaving it to the kernel.
    pub hog: bool,
    /// Local addresses to bind, used in turn; empty leaves the choice to the kernel.
    pub sources: SourceAddresses,
}

/// The buffers of the classic tool, and all else as the kernel has it.
impl Default for Sockets {
    fn default() -> Self {
        Self {
            send_buffer: Some(4096),
            recv_buffer: Some(16 * 1024),
            no_delay: true,
            fast_open: false,
            traffic_class: 0,
            close_with_reset: false,
            hog: false,
            sources: SourceAddresses::default(),
        }
    }
}

/// The value in results that were saved before there was an option to turn it off.
fn always() -> bool {
    true
}

/// What to print while the run goes on.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Watch {
    /// `-v` given this many times.
    pub verbose: u8,
    /// Requests as they are sent.
    pub requests: Option<Parts>,
    /// Replies as they arrive.
    pub replies: Option<Parts>,
    /// One `Connection lifetime = X.Y` line per connection.
    pub lifetimes: bool,
    /// One line per second with the replies of status 200 and 302.
    pub periodic: bool,
    /// Each call as it ends.
    pub calls: bool,
}

/// Which parts of a message to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Parts {
    /// Start line and header.
    Header,
    /// Body.
    Body,
    /// Both.
    All,
}

impl Parts {
    /// Whether the header is among them.
    #[must_use]
    pub fn header(self) -> bool {
        matches!(self, Self::Header | Self::All)
    }

    /// Whether the body is among them.
    #[must_use]
    pub fn body(self) -> bool {
        matches!(self, Self::Body | Self::All)
    }
}
