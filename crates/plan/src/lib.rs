//! The plan of a run: targets, arrivals, workload, limits, and what to record and print.
//!
//! A [`Plan`] is complete, checked and immutable. The type of each field refuses invalid values;
//! [`PlanBuilder::build`] refuses those that are invalid only together with other fields. This crate opens no file and
//! no socket, starts no thread and reads no clock: the program reads the files that options name and passes their bytes
//! to the parsers here ([`session_file`], [`uri_list`], [`targets_file`], [`prompts`], [`header_escapes`]); [`workload_file`] asks it
//! for the files that a workload names. Numbers in these files and on the command line are read by [`number`].

pub mod header_escapes;
pub mod number;
pub mod objective;
pub mod prompts;
pub mod scenario;
pub mod secrets;
pub mod session_file;
pub mod targets_file;
pub mod template;
pub mod units;
pub mod uri_list;
pub mod url;
pub mod workload_file;

mod arrivals;
mod bounded;
mod builder;
mod expect;
mod http2;
mod limits;
mod material;
mod nanos;
mod non_empty;
mod quic;
mod recording;
mod replay;
mod route;
mod streams;
mod target;
mod text;
mod timeouts;
mod tls;
mod websocket;
mod workload;

pub use arrivals::{Arrivals, Client, LoadPhase, Phased, Process, Shard, Shards, Step, UNLIMITED};
pub use bounded::{Bounded, Fraction, NotAFraction, OutOfBounds};
pub use builder::{Plan, PlanBuilder, PlanError};
pub use expect::{Expect, Malformed, Replies, Sha256, SizeRange, Statuses};
pub use http2::{ConnectionWindow, HeaderTable, Http2, MaxFrame, Window};
pub use limits::Limits;
pub use material::{Body, BodyFile, BodyPart, Header, HeaderError, ListedRequest, token};
pub use non_empty::{EmptyList, NonEmpty};
pub use objective::Objectives;
pub use quic::{Congestion, MaxDatagram, Quic, QuicWindow};
pub use recording::{Phases, Precision, Recording, ReplyClock, Split};
pub use replay::{BodyFor, Clients, LeftOut, Recorded, RecordedForm, Replay};
pub use route::{Authority, Proxy};
pub use streams::{Goodput, Grpc, MalformedGoodput, ModelApi, StreamedReplies, Streams};
pub use target::{Endpoint, SourceAddresses, Target};
pub use template::Template;
pub use timeouts::{ThinkTime, Timeouts};
pub use tls::{CertificateCompression, Identity, Resumption, Tls, TlsVersion, Trust};
pub use websocket::{Answer, Every, MESSAGE_SIZE, Payload, WebSocket, WebSocketError, WebSocketMessage};
pub use workload::{
    Assignment, Burst, Calls, Cap, Connections, Excess, Request, Script, ScriptedSession, Sessions,
    UriSource, WorkingSet, Workload,
};

use std::num::NonZeroU32;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The maximum number of threads of a run: each takes some memory, and few machines have more processors.
pub const THREADS_MAX: NonZeroU32 = NonZeroU32::new(1024).expect("it is not 0");

/// The fields of a [`Plan`]: everything that a run needs to know, fixed before it starts.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Plan")]
pub struct PlanFields {
    /// The prefix of messages: the base name under which the program was started.
    pub program: String,
    /// This generator's place among several that work together; seeds every random stream.
    pub client: Client,
    /// The schedule on which connections, sessions or calls start.
    pub arrivals: Arrivals,
    /// The work of each arrival.
    pub workload: Workload,
    /// The source of request URIs, unless the workload brings its own.
    pub uris: UriSource,
    /// The servers, used in round-robin order.
    pub targets: NonEmpty<Target>,
    /// The parts of a request that every call shares.
    pub request: RequestTemplate,
    /// The reply encodings to ask for and the checks on replies. No checks by default.
    #[serde(default)]
    pub replies: Replies,
    /// The time limits for the server's actions.
    pub timeouts: Timeouts,
    /// The TLS settings; `None` for plaintext connections.
    pub tls: Option<Tls>,
    /// The HTTP/2 settings, used if connections speak HTTP/2.
    #[serde(default)]
    pub http2: Http2,
    /// The QUIC settings, used if connections speak HTTP/3.
    #[serde(default)]
    pub quic: Quic,
    /// The proxy that listens at every target's `endpoint`, if connections go through one.
    #[serde(default)]
    pub proxy: Option<Proxy>,
    /// The socket options.
    pub sockets: Sockets,
    /// The time for which load is offered and measured, in nanoseconds, without the warm-up; `None` runs to the end of
    /// the workload.
    #[serde(rename = "runtime_ns", with = "crate::nanos::option")]
    #[schemars(with = "Option<u64>")]
    pub runtime: Option<Duration>,
    /// The lengths of the phases before and after the measured one.
    pub phases: Phases,
    /// The precision at which the run ends early; `None` to run to the end.
    pub until: Option<Precision>,
    /// The objectives that the server must meet. None by default.
    #[serde(default)]
    pub objectives: Objectives,
    /// The measurements to record.
    pub recording: Recording,
    /// The number of threads, from 1 to [`PlanFields::threads_max`]. A call's URI then follows from its number in the
    /// schedule, so that it is the same for any number of threads. `None`, the default: one thread, which assigns URIs
    /// to calls in the order in which they are made, as the classic tool does.
    #[serde(default)]
    pub threads: Option<NonZeroU32>,
    /// Busy-polls shortly before each due instant instead of sleeping.
    pub spin: bool,
    /// The time by which arrivals may be late so that they start together, in nanoseconds. 0 by default.
    #[serde(rename = "slack_ns", with = "crate::nanos", default)]
    #[schemars(with = "u64")]
    pub slack: Duration,
    /// The output to print during the run.
    pub watch: Watch,
    /// The bounds on memory, retries and work that a peer or a plan may cause.
    pub limits: Limits,
    /// Stands `...` for what is secret in requests, as in a document that was printed: the plan cannot be run again. False by
    /// default.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secrets_left_out: bool,
}

impl PlanFields {
    /// Returns whether the clock of the kernel times replies that it has stamped.
    #[must_use]
    pub fn times_by_kernel(&self) -> bool {
        match self.recording.clock {
            ReplyClock::Program => false,
            ReplyClock::Kernel => true,
            ReplyClock::Auto => self.arrivals.is_scheduled() && self.recording.detail,
        }
    }

    /// Returns whether connections begin over TCP, and may go over QUIC once a server has offered HTTP/3.
    #[must_use]
    pub fn learns_alt_svc(&self) -> bool {
        self.request.version == HttpVersion::Auto && self.tls.is_some() && self.quic.follows_alt_svc
    }

    /// Returns what keeps connections from going over QUIC, such as `a proxy is about TCP`; `None` if they can.
    #[must_use]
    pub fn bound_to_tcp(&self) -> Option<&'static str> {
        let is_unix = |endpoint: &Endpoint| matches!(endpoint, Endpoint::Unix(_));
        let tls = self.tls.as_ref();
        let is_other_alpn = |tls: &Tls| tls.alpn != [&b"h2"[..], b"http/1.1"];
        let obstacles = [
            ("a proxy is about TCP", self.proxy.is_some()),
            (
                "a unix-domain socket is another transport",
                self.targets.iter().flat_map(Target::endpoints).any(is_unix),
            ),
            ("TCP Fast Open is about TCP", self.sockets.fast_open),
            ("closing with a reset is about TCP", self.sockets.close_with_reset),
            ("the choice of local ports is about TCP", self.sockets.hog),
            ("HTTP/3 has TLS inside", tls.is_none()),
            ("the newest TLS version is below 1.3", tls.is_some_and(|tls| tls.max < TlsVersion::Tls13)),
            ("the ciphers given are of older versions of TLS", tls.is_some_and(|tls| tls.ciphers.is_some())),
            (
                "compressed certificates are not there over QUIC",
                tls.is_some_and(|tls| !tls.certificate_compression.is_empty()),
            ),
            ("ALPN does not offer it", tls.is_some_and(is_other_alpn)),
        ];
        obstacles.into_iter().find(|&(_, is_given)| is_given).map(|(what, _)| what)
    }

    /// Returns what is said on the WebSockets that calls open, if they open any: those of this request of a scenario, or of
    /// the whole run.
    #[must_use]
    pub fn websocket(&self, step: Option<u32>) -> Option<&WebSocket> {
        match (step, &self.workload) {
            (Some(place), Workload::Scenarios(scenarios)) => {
                scenarios.requests[place as usize].websocket.as_ref()
            }
            _ => self.request.websocket.as_ref(),
        }
    }

    /// Returns true if calls open WebSockets.
    #[must_use]
    pub fn opens_websockets(&self) -> bool {
        match &self.workload {
            Workload::Scenarios(scenarios) => scenarios.open_websockets(),
            _ => self.request.websocket.is_some(),
        }
    }

    /// Returns true if the workload makes calls, false if it only opens connections.
    #[must_use]
    pub fn makes_calls(&self) -> bool {
        !matches!(&self.workload, Workload::Connections(connections) if connections.calls == 0)
    }

    /// Returns the number of calls per arrival that take their URI from [`PlanFields::uris`]; [`UNLIMITED`] if only the
    /// end of the run bounds them.
    #[must_use]
    pub fn calls_per_arrival(&self) -> u64 {
        match &self.workload {
            Workload::Connections(connections) => connections.calls,
            Workload::Calls(_) => 1,
            Workload::Sessions(sessions) => match &sessions.script {
                Script::Uniform { calls: count, .. } | Script::Pages { pages: count, .. } => (*count).max(1),
                Script::File(_) => 0,
            },
            Workload::Scenarios(_) | Workload::Replay(_) => 0,
        }
    }

    /// Returns the index of the target of this arrival: targets in turn, or the server that its listed request names. The
    /// steps of a scenario name their own.
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

    /// Returns the maximum number of arrivals.
    #[must_use]
    pub fn arrivals_max(&self) -> u64 {
        match &self.workload {
            Workload::Connections(connections) => connections.count,
            Workload::Sessions(sessions) => sessions.count,
            Workload::Calls(calls) => calls.count,
            Workload::Scenarios(scenarios) => scenarios.count,
            Workload::Replay(replay) => replay.count(),
        }
    }

    /// Returns the number of connections that the calls of a pool are likely to need, if each takes a tenth of a second:
    /// their maximum at most.
    #[must_use]
    pub fn pool_connections_expected(&self, calls: &Calls) -> u32 {
        const CALL_SECONDS: f64 = 0.1;
        let most = calls.connections_max(&self.limits);
        let interval = self.arrivals.mean_interval();
        match calls.connections {
            None if interval > 0.0 => ((CALL_SECONDS / interval) as u32).clamp(1, most),
            _ => most,
        }
    }

    /// Returns the number of load phases of the schedule.
    #[must_use]
    pub fn load_phases(&self) -> usize {
        match &self.arrivals {
            Arrivals::Phased(phased) => phased.phases.len(),
            _ => 1,
        }
    }

    /// Returns the number of threads that the run starts.
    #[must_use]
    pub fn workers(&self) -> NonZeroU32 {
        self.threads.unwrap_or(NonZeroU32::MIN)
    }

    /// Returns the time, from the start, after which no work is due any more, almost certainly if intervals are random. `None`
    /// if that is not known before, such as where work waits for the server.
    #[must_use]
    pub fn last_due(&self) -> Option<Duration> {
        let count = match &self.workload {
            Workload::Calls(calls) => calls.count,
            Workload::Connections(connections) if connections.calls <= 1 => connections.count,
            Workload::Replay(replay) => return Some(replay.length()),
            Workload::Connections(_) | Workload::Sessions(_) | Workload::Scenarios(_) => return None,
        };
        let later = count.saturating_sub(1) as f64;
        let seconds = match &self.arrivals {
            Arrivals::Sequential if count <= 1 => 0.0,
            Arrivals::Concurrent(most) if count <= most.get().into() => 0.0,
            Arrivals::Sequential
            | Arrivals::Concurrent(_)
            | Arrivals::Phased(_)
            | Arrivals::Recorded { .. } => return None,
            Arrivals::Deterministic { period } => later * period,
            Arrivals::Uniform { max, .. } => later * max,
            Arrivals::Exponential { mean } => later * mean * 2.0,
            Arrivals::Variable(steps) => later * steps.iter().map(|step| step.period).fold(0.0, f64::max),
        };
        Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
    }

    /// Returns the maximum number of threads that would have work: the least of the number of arrivals, the number that
    /// may be in progress at once, the connections per target in a pool, and [`THREADS_MAX`].
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
            Workload::Scenarios(scenarios) => scenarios.max_open,
            Workload::Replay(replay) => match replay.clients {
                Clients::Recorded { .. } => None,
                Clients::Independent { connections } => Some(connections),
            },
            // Each thread needs a connection to each target.
            Workload::Calls(calls) => {
                let targets = u32::try_from(self.targets.len()).unwrap_or(u32::MAX);
                Some(at_least_one(calls.connections_max(&self.limits) / targets))
            }
        };
        let arrivals = u32::try_from(self.arrivals_max()).map_or(NonZeroU32::MAX, at_least_one);
        at_once.min(room.unwrap_or(NonZeroU32::MAX)).min(arrivals).min(THREADS_MAX)
    }
}

fn at_least_one(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN)
}

/// A version of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HttpVersion {
    /// HTTP/1.0, with `Connection: keep-alive`.
    Http10,
    /// HTTP/1.1.
    Http11,
    /// HTTP/2.
    Http2,
    /// HTTP/3, over QUIC.
    Http3,
    /// HTTP/2 or HTTP/1.1, as the server selects by ALPN (RFC 7301), and HTTP/3 once it has offered that (`Alt-Svc`, RFC 7838).
    Auto,
}

impl HttpVersion {
    /// Returns true if connections speak HTTP/2 or may negotiate it.
    #[must_use]
    pub fn may_be_http2(self) -> bool {
        matches!(self, Self::Http2 | Self::Auto)
    }

    /// Returns true if calls may have streams of their own: over HTTP/2 and HTTP/3.
    #[inline]
    #[must_use]
    pub fn may_have_streams(self) -> bool {
        self.may_be_http2() || self == Self::Http3
    }
}

/// The parts of a request that every call of a run shares. Bytes are sent unchanged.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RequestTemplate {
    /// The HTTP version.
    pub version: HttpVersion,
    /// The method, unless a session file or a list of requests names another.
    #[serde(with = "crate::text")]
    #[schemars(with = "crate::text::Text")]
    pub method: Vec<u8>,
    /// The value of `User-Agent`.
    pub user_agent: String,
    /// Sends the `Host` field.
    pub host_header: bool,
    /// Header lines, each with its line end, placed after `Host`.
    #[serde(with = "crate::text")]
    #[schemars(with = "crate::text::Text")]
    pub extra_headers: Vec<u8>,
    /// Header fields placed after those lines. They replace fields of the same name that the program would write
    /// itself.
    #[serde(default)]
    pub headers: Vec<Header>,
    /// The body, unless the request brings its own.
    #[serde(default)]
    pub body: Option<Body>,
    /// What is said on the WebSockets that calls open; `None` if calls open none.
    #[serde(default)]
    pub websocket: Option<WebSocket>,
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
            websocket: None,
        }
    }
}

/// The options with which sockets are opened and closed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Sockets {
    /// `SO_SNDBUF` in bytes (socket(7)); `None` leaves it to the kernel.
    pub send_buffer: Option<usize>,
    /// `SO_RCVBUF` in bytes (socket(7)); `None` leaves it to the kernel.
    pub recv_buffer: Option<usize>,
    /// `TCP_NODELAY` (tcp(7)): sends small segments at once. On by default.
    #[serde(default = "always")]
    pub no_delay: bool,
    /// `TCP_FASTOPEN_CONNECT` (tcp(7)): sends the first bytes with the SYN if the server allows it. Off by default.
    #[serde(default)]
    pub fast_open: bool,
    /// `IP_TOS` or `IPV6_TCLASS` (ip(7), ipv6(7)): the DSCP in the upper six bits. 0 by default.
    #[serde(default)]
    pub traffic_class: u8,
    /// Closes with a RST: `SO_LINGER` with 0 s (socket(7)).
    pub close_with_reset: bool,
    /// Selects local ports in the program instead of in the kernel (`--hog`).
    pub hog: bool,
    /// The local addresses to bind, used in turn; if empty, the kernel selects one.
    pub sources: SourceAddresses,
}

/// The buffer sizes of the classic tool, `TCP_NODELAY`, and the kernel's defaults otherwise.
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

/// Returns the value of `no_delay` for results that were saved before it could be turned off.
fn always() -> bool {
    true
}

/// The output to print during a run.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Watch {
    /// The number of times `-v` was given.
    pub verbose: u8,
    /// The parts of each request to print as it is sent.
    pub requests: Option<Parts>,
    /// The parts of each reply to print as it arrives.
    pub replies: Option<Parts>,
    /// Prints a line `Connection lifetime = X.Y` for each connection.
    pub lifetimes: bool,
    /// Prints a line every second with the number of replies of status 200 and 302.
    pub periodic: bool,
    /// Reports each call as it ends.
    pub calls: bool,
    /// Reports each step of a scenario as it is judged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub steps: bool,
    /// Reports service times and lags with each interval.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub clocks: bool,
    /// Tells of each event of a stream as it arrives.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub events: bool,
}

/// The parts of a message to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Parts {
    /// The start line and the header.
    Header,
    /// The body.
    Body,
    /// Both.
    All,
}

impl Parts {
    /// Returns true if the header is printed.
    #[must_use]
    pub fn header(self) -> bool {
        matches!(self, Self::Header | Self::All)
    }

    /// Returns true if the body is printed.
    #[must_use]
    pub fn body(self) -> bool {
        matches!(self, Self::Body | Self::All)
    }
}
