//! The arguments: the value of every option as it was typed, before anything was looked up.

mod conditions;
mod files;
mod fleet;
mod grpc;
mod http2;
mod load;
mod material;
mod metrics;
mod quic;
mod results;
mod sources;
mod tls;
mod url;
mod websocket;
mod words;

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::num::{NonZeroU32, NonZeroU64};
use std::os::unix::ffi::OsStrExt;

use httperf_plan::objective::Objective;
use httperf_plan::prompts::CHAT_COMPLETIONS;
use httperf_plan::{Arrivals, Client, Parts};

use crate::grammar::{Given, ParseStop};
use crate::terminal::colour::ColourChoice;
use crate::terminal::shows_stdout;

pub use fleet::{FleetArgs, RankChoice};
pub use grpc::{GrpcArgs, GrpcData, GrpcMethod};
pub use http2::{Http2Args, Version};
pub use load::{LoadArgs, Threads};
pub use material::{FormField, FormValue, MaterialArgs, PromptArgs};
pub use metrics::{InfluxTarget, MetricsArgs};
pub use quic::QuicArgs;
pub use results::{ResultArgs, STDOUT};
pub use sources::{ConnectTo, ProxyUrl, SourceArgs};
pub use tls::{Protocol, TlsArgs};
pub use url::TypedUrl;
pub use websocket::WebSocketArgs;
pub use words::unknown_word;

/// The path under which servers of models have their API.
const API: &[u8] = b"/v1";

/// The arguments of a run. Text is kept as bytes, because a command line need not be UTF-8.
#[derive(Clone, Debug, PartialEq)]
pub struct Args {
    /// `--server`.
    pub server: Option<Vec<u8>>,
    /// `--server-name`.
    pub server_name: Option<Vec<u8>>,
    /// `--servers`: a file of server names.
    pub servers: Option<OsString>,
    /// `--port`.
    pub port: Option<u16>,
    /// `--uri`.
    pub uri: Option<Vec<u8>>,
    /// The words that are URLs. The only one is the target, unless `--server`, `--port` or `--uri` is given ([`Args::url`]).
    pub typed_urls: Vec<TypedUrl>,
    /// `--unix-socket`.
    pub unix_socket: Option<OsString>,

    /// `--rate` or `--period`.
    pub arrivals: Arrivals,
    /// `--runtime` in seconds; 0 if not given.
    pub runtime: f64,
    /// `--client`.
    pub client: Client,

    /// `--num-conns`.
    pub num_conns: Option<u64>,
    /// `--num-calls`.
    pub num_calls: Option<u64>,
    /// `--burst-length`; at least 1.
    pub burst_length: NonZeroU64,
    /// The last of `--wlog` and `--wset`.
    pub uri_choice: UriChoice,
    /// `--wlog`.
    pub wlog: Option<UriLog>,
    /// `--wset`.
    pub wset: Option<FileSet>,

    /// The last of `--wsess`, `--wsesslog` and `--wsesspage`.
    pub session: Option<SessionArgs>,
    /// `--session-cookies`.
    pub session_cookies: bool,
    /// `--failure-status`.
    pub failure_status: Option<u32>,
    /// `--retry-on-failure`.
    pub retry_on_failure: bool,
    /// `--max-connections`; 0 if not given.
    pub max_connections: u32,
    /// `--max-piped-calls`; 0 if not given.
    pub max_piped_calls: u32,

    /// `--method`.
    pub method: Option<Vec<u8>>,
    /// `--http-version`.
    pub http_version: Option<Version>,
    /// All about HTTP/2.
    pub http2: Http2Args,
    /// About QUIC.
    pub quic: QuicArgs,
    /// `--add-header`, with its escapes.
    pub add_header: Option<Vec<u8>>,
    /// `--add-header-file`.
    pub add_header_file: Option<OsString>,
    /// `--no-host-hdr`.
    pub no_host_header: bool,

    /// Bodies, header fields, lists of requests, and what is checked in replies.
    pub material: MaterialArgs,
    /// About WebSockets.
    pub websockets: WebSocketArgs,
    /// About gRPC.
    pub grpc: GrpcArgs,

    /// True if the URLs of a list of whole requests begin with https://.
    pub lists_https: bool,
    /// All about TLS.
    pub tls: TlsArgs,

    /// `--timeout` in seconds; 0 if not given.
    pub timeout: f64,
    /// `--think-timeout` in seconds; 0 if not given.
    pub think_timeout: f64,
    /// `--send-buffer` in bytes.
    pub send_buffer: u32,
    /// `--recv-buffer` in bytes.
    pub recv_buffer: u32,
    /// `--close-with-reset`.
    pub close_with_reset: bool,
    /// `--hog`.
    pub hog: bool,
    /// `--myaddr`, each time it was given.
    pub my_addresses: Vec<Vec<u8>>,
    /// All about the way to servers, and about sockets.
    pub sources: SourceArgs,
    /// `--slack`, in seconds.
    pub slack: f64,
    /// `--spin`.
    pub spin: bool,
    /// `--use-timer-cache`.
    pub use_timer_cache: bool,

    /// Load that the classic tool cannot offer.
    pub load: LoadArgs,
    /// All about the processes that carry out the run together.
    pub fleet: FleetArgs,
    /// All about results.
    pub results: ResultArgs,
    /// `--report`.
    pub report: ReportForm,
    /// `--color`.
    pub colour: ColourChoice,
    /// `--print-reply`.
    pub print_reply: Option<Parts>,
    /// `--print-request`.
    pub print_request: Option<Parts>,
    /// `--print-lifetimes`.
    pub print_lifetimes: bool,
    /// `--periodic-stats`.
    pub periodic_stats: bool,
    /// The number of times `-v` was given.
    pub verbose: u8,
    /// `--interval-log`.
    pub interval_log: Option<OsString>,
    /// `--metrics`, `--otlp`, `--influx`.
    pub metrics: MetricsArgs,
    /// `--live`.
    pub live: bool,
    /// `--quiet`.
    pub quiet: bool,

    /// True if nobody is asked over the network, neither for addresses of names nor for descriptions of services: a plan
    /// is made only to be checked or shown.
    pub asks_nobody: bool,
    /// The options of a run as they were typed, in order.
    pub given: Vec<Given>,
    /// Options whose part a workload file or a recording plays: what needs one of them need not have it typed.
    pub brought: Vec<&'static str>,
    /// `--print-workload`.
    pub prints_workload: bool,
    /// The notices of options, in the order in which they were typed.
    pub notices: Vec<String>,
    /// Words that are neither options nor URLs.
    pub stray_words: Vec<Vec<u8>>,
}

/// The source of URIs, unless sessions bring their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UriChoice {
    /// `--uri`.
    Fixed,
    /// [`Args::wlog`].
    Log,
    /// [`Args::wset`].
    Set,
}

/// `--wlog=B,F`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UriLog {
    /// True if B is `y`.
    pub wrap: bool,
    /// F.
    pub file: OsString,
}

/// `--wset=N,X`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FileSet {
    /// N.
    pub files: u32,
    /// X.
    pub miss_rate: f64,
}

/// One of the session workloads.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionArgs {
    /// The number of sessions.
    pub count: u64,
    /// The think time in seconds; infinite or not a number if so given.
    pub think: f64,
    /// The kind of each session.
    pub kind: SessionKind,
}

/// The kind of each session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionKind {
    /// `--wsess`, with the number of calls.
    Calls(u64),
    /// `--wsesslog`, with the file.
    File(OsString),
    /// `--wsesspage`, with the number of pages.
    Pages(u64),
}

/// Longest run with `--until` and without another end, in seconds.
const UNTIL_MOST_S: f64 = 300.0;

/// `--report`: which report is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportForm {
    /// The answer on a terminal if a URL or a file was named, else the full one; the classic one elsewhere.
    #[default]
    Auto,
    /// The answer alone.
    Answer,
    /// The classic block alone, byte for byte.
    Classic,
    /// The classic block and what has been added to it.
    Full,
}

impl ReportForm {
    /// This form, or what stands for `Auto` on a terminal and elsewhere.
    #[must_use]
    pub fn or(self, on_terminal: Self, elsewhere: Self) -> Self {
        match self {
            Self::Auto if shows_stdout() => on_terminal,
            Self::Auto => elsewhere,
            form => form,
        }
    }
}

impl Default for Args {
    fn default() -> Self {
        Self {
            server: None,
            server_name: None,
            servers: None,
            port: None,
            uri: None,
            typed_urls: Vec::new(),
            unix_socket: None,
            arrivals: Arrivals::Sequential,
            runtime: 0.0,
            client: Client::default(),
            num_conns: None,
            num_calls: None,
            burst_length: NonZeroU64::MIN,
            uri_choice: UriChoice::Fixed,
            wlog: None,
            wset: None,
            session: None,
            session_cookies: false,
            failure_status: None,
            retry_on_failure: false,
            max_connections: 0,
            max_piped_calls: 0,
            method: None,
            http_version: None,
            http2: Http2Args::default(),
            quic: QuicArgs::default(),
            add_header: None,
            add_header_file: None,
            no_host_header: false,
            material: MaterialArgs::default(),
            websockets: WebSocketArgs::default(),
            grpc: GrpcArgs::default(),
            lists_https: false,
            tls: TlsArgs::default(),
            timeout: 0.0,
            think_timeout: 0.0,
            send_buffer: 4096,
            recv_buffer: 16384,
            close_with_reset: false,
            hog: false,
            my_addresses: Vec::new(),
            sources: SourceArgs::default(),
            slack: 0.0,
            spin: false,
            use_timer_cache: false,
            load: LoadArgs::default(),
            fleet: FleetArgs::default(),
            results: ResultArgs::default(),
            report: ReportForm::Auto,
            colour: ColourChoice::Auto,
            print_reply: None,
            print_request: None,
            print_lifetimes: false,
            periodic_stats: false,
            verbose: 0,
            interval_log: None,
            metrics: MetricsArgs::default(),
            live: false,
            quiet: false,
            asks_nobody: false,
            given: Vec::new(),
            brought: Vec::new(),
            prints_workload: false,
            notices: Vec::new(),
            stray_words: Vec::new(),
        }
    }
}

impl Args {
    /// The server to name and to connect to.
    #[must_use]
    pub fn server(&self) -> &[u8] {
        let url_host = || self.url().map_or(&b"localhost"[..], |url| url.host.as_bytes());
        self.server.as_deref().unwrap_or_else(url_host)
    }

    /// The port to connect to.
    #[must_use]
    pub fn port(&self) -> u16 {
        let usual = if self.uses_tls() { 443 } else { 80 };
        self.port.or_else(|| self.url()?.port).unwrap_or(usual)
    }

    /// The URI to ask for: that of a method of gRPC. Prompts whose URL has no path, or that of an API as a whole, go where most
    /// servers of models take them.
    #[must_use]
    pub fn uri(&self) -> Cow<'_, [u8]> {
        if let Some(method) = &self.grpc.method {
            return Cow::Borrowed(method.path.as_bytes());
        }
        match self.typed_uri() {
            b"/" if self.material.prompts.file.is_some() => Cow::Borrowed(CHAT_COMPLETIONS.as_bytes()),
            typed if self.material.prompts.file.is_some() => {
                let base = typed.strip_suffix(b"/").unwrap_or(typed);
                match base.strip_suffix(API) {
                    Some(before) => Cow::Owned([before, CHAT_COMPLETIONS.as_bytes()].concat()),
                    None => Cow::Borrowed(typed),
                }
            }
            typed => Cow::Borrowed(typed),
        }
    }

    /// Returns whether the URL says no more than where the API of a model is.
    #[must_use]
    pub fn names_no_endpoint(&self) -> bool {
        matches!(self.typed_uri(), b"/" | b"/v1" | b"/v1/")
    }

    /// The URI that was typed: a slash if none was.
    #[must_use]
    pub fn typed_uri(&self) -> &[u8] {
        let url_uri = || self.url().map_or(&b"/"[..], |url| &url.uri);
        self.uri.as_deref().unwrap_or_else(url_uri)
    }

    /// Returns whether connections speak TLS.
    #[must_use]
    pub fn uses_tls(&self) -> bool {
        self.tls.wanted || self.lists_https || self.url().is_some_and(|url| url.https)
    }

    /// Leaves the sizes of buffers to the system for HTTP/3, unless an option gives them: the usual ones are the classic
    /// tool's, and datagrams that do not fit in are lost. If one is given, the other is what is asked for without.
    pub(super) fn settle_buffers(&mut self) {
        if self.version() != Version::HTTP_3 {
            return;
        }
        if self.leaves_buffers_open() {
            self.sources.system_buffers = true;
        } else {
            let usual = httperf_engine::DATAGRAM_BUFFER as u32;
            if !self.sources.sizes_send_buffer {
                self.send_buffer = usual;
            }
            if !self.sources.sizes_recv_buffer {
                self.recv_buffer = usual;
            }
        }
    }

    /// Returns whether the sizes of buffers are left to the system: if asked for, and for prompts, WebSockets and gRPC unless
    /// an option gives them. Their messages may be long, and the usual buffers, the classic tool's, would hold them up.
    #[must_use]
    pub fn has_system_buffers(&self) -> bool {
        let sends_messages =
            self.material.prompts.file.is_some() || self.websocket().is_some() || self.grpc.method.is_some();
        self.sources.system_buffers || sends_messages && self.leaves_buffers_open()
    }

    /// Returns whether no option gives the size of a buffer.
    pub fn leaves_buffers_open(&self) -> bool {
        !self.sources.sizes_send_buffer && !self.sources.sizes_recv_buffer
    }

    /// The version of HTTP to speak.
    #[must_use]
    pub fn version(&self) -> Version {
        let usual = if self.grpc.method.is_some() { Version::HTTP_2 } else { Version::HTTP_11 };
        self.http_version.unwrap_or(usual)
    }

    /// The option that says so, for messages.
    pub(crate) fn version_option(&self) -> String {
        match self.http_version {
            None if self.grpc.method.is_some() => "--grpc".to_owned(),
            _ => format!("--http-version={}", self.version()),
        }
    }

    /// Returns the number of calls that may be outstanding on a connection; `None` if no option sets it.
    #[must_use]
    pub fn outstanding(&self) -> Option<NonZeroU32> {
        self.http2.streams.or(self.load.pipeline)
    }

    /// The report to print. A person who names a URL wants an answer; scripts know the classic tool's report.
    #[must_use]
    pub fn report_form(&self) -> ReportForm {
        let is_new = self.url().is_some() || self.material.targets.is_some();
        let on_terminal = if is_new { ReportForm::Answer } else { ReportForm::Full };
        self.report.or(on_terminal, ReportForm::Classic)
    }

    /// Returns true if options give the number of arrivals, or that of calls over kept connections.
    fn is_counted(&self) -> bool {
        let calls_are = self.load.concurrency.is_some() || self.load.call_arrivals.is_some();
        self.num_conns.is_some() || self.session.is_some() || calls_are && self.num_calls.is_some()
    }

    /// Returns true if `--until` alone ends the run, which then gets a time limit.
    fn needs_duration(&self) -> bool {
        self.results.until.is_some() && !self.is_counted() && self.load.duration == 0.0
    }

    /// Time for which work arrives as long as load is offered, in seconds; 0 if arrivals are counted.
    #[must_use]
    pub fn duration(&self) -> f64 {
        match self.needs_duration() {
            true if self.runtime > 0.0 => self.runtime,
            true => UNTIL_MOST_S,
            false => self.load.duration,
        }
    }

    /// A note on an end that no option has named.
    #[must_use]
    pub fn implied_end(&self) -> Option<String> {
        (self.needs_duration() && self.runtime == 0.0).then(|| {
            format!(
                "--until ends the run, after {UNTIL_MOST_S} s at the latest; --duration X allows it X seconds"
            )
        })
    }

    /// A note on a run that is over at once although its load was described, for a person who did not expect that.
    #[must_use]
    pub fn short_run_note(&self) -> Option<String> {
        let load = &self.load;
        if self.is_counted() || self.duration() > 0.0 || load.call_arrivals.is_some() {
            return None;
        }
        let calls = match self.num_calls.unwrap_or(1) {
            1 => "one call".to_owned(),
            calls => format!("{calls} calls"),
        };
        match (&self.arrivals, load.concurrency) {
            (Arrivals::Sequential, Some(connections)) => Some(format!(
                "--concurrency alone makes {calls} on each of {connections} connections; --duration 10s keeps them busy for \
                 ten seconds"
            )),
            (Arrivals::Sequential, None) => None,
            _ => Some(
                "--rate alone makes one connection; --duration 10s keeps up the rate for ten seconds"
                    .to_owned(),
            ),
        }
    }

    /// Checks options that depend on each other.
    ///
    /// # Errors
    /// Options that contradict each other.
    pub fn check(&self) -> Result<(), ParseStop> {
        let has_server = self.server.is_some() || self.url().is_some();
        if has_server && self.servers.is_some() {
            return Err(ParseStop::Rejected {
                message: b"--server S or --servers file".to_vec(),
                plain: None,
                status: 255,
            });
        }
        self.check_url()?;
        if self.url().is_some_and(|url| !url.https) && self.tls.wanted {
            let option = self.tls.wanted_by;
            return Err(ParseStop::rejected(format!(
                "{option}: the URL begins with http://, expected https://"
            )));
        }
        self.check_rules()?;
        self.check_results()?;
        self.material.check()?;
        self.websockets.check(self)?;
        self.grpc.check(self)?;
        if self.session_cookies && self.session.is_none() {
            return Err(ParseStop::Rejected {
                message: b"--session-cookie requires session-oriented workload (e.g., --wsess)".to_vec(),
                plain: None,
                status: 255,
            });
        }
        Ok(())
    }

    fn check_results(&self) -> Result<(), ParseStop> {
        let results = &self.results;
        if results.output_folder().is_some() && self.fleet.rank.is_none() {
            return Err(ParseStop::rejected(
                "--output: expected the name of a file, got a folder, which is for the ranks of a fleet (--fleet)",
            ));
        }
        if let Some((upper, lower)) = Objective::contradiction(&results.objectives.all) {
            return Err(ParseStop::rejected(format!(
                "--slo: expected objectives that one run can meet, got `{upper}` and `{lower}`"
            )));
        }
        Ok(())
    }
}

/// Bytes of the command line as the system takes them.
pub fn os_string(bytes: &[u8]) -> OsString {
    OsStr::from_bytes(bytes).to_os_string()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::grammar::parse::words;

    /// A command line as the program takes it.
    pub(crate) fn parsed(argv: &[&str]) -> Result<Args, ParseStop> {
        let mut args = Args::default();
        args.parse(&words(argv)).map(|()| args)
    }

    #[test]
    fn a_later_occurrence_overrides_an_earlier_one() {
        let args = parsed(&["--num-conns", "3", "--rate=5", "--num-conns=4", "--period=2"]).unwrap();
        assert_eq!(args.num_conns, Some(4));
        assert_eq!(args.arrivals, Arrivals::Deterministic { period: 2.0 });
    }

    #[test]
    fn of_several_session_workloads_the_last_counts() {
        let args = parsed(&["--wsesslog=1,0,f", "--wsess=2,3,.5"]).unwrap();
        assert_eq!(args.session, Some(SessionArgs { count: 2, think: 0.5, kind: SessionKind::Calls(3) }));
    }

    #[test]
    fn the_port_follows_the_scheme_unless_given() {
        assert_eq!(parsed(&[]).unwrap().port(), 80);
        assert_eq!(parsed(&["--ssl"]).unwrap().port(), 443);
        assert_eq!(parsed(&["--ssl", "--port=8443"]).unwrap().port(), 8443);
        assert_eq!(parsed(&["https://host/"]).unwrap().port(), 443);
    }

    #[test]
    fn words_that_are_no_urls_are_remembered() {
        let args = parsed(&["foo", "--server=a", "--hog", "--", "--rate"]).unwrap();
        assert_eq!(args.stray_words, [&b"foo"[..], b"--rate"]);
    }

    #[test]
    fn session_cookies_need_sessions_and_servers_exclude_server() {
        for argv in [&["--session-cookies"][..], &["--server=a", "--servers=f"], &["http://a", "--servers=f"]]
        {
            let Err(ParseStop::Rejected { status, .. }) = parsed(argv) else {
                panic!("{argv:?} was accepted")
            };
            assert_eq!(status, 255);
        }
        assert!(parsed(&["--session-cookies", "--wsess=0,1,0"]).is_ok());
    }

    #[test]
    fn verbosity_counts() {
        assert_eq!(parsed(&["-v", "--verbose", "-vv"]).unwrap().verbose, 4);
    }
}
