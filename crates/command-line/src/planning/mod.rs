//! From what was typed to what it means: reads the files that options name, resolves names, and refuses what
//! cannot be run.

mod grpc;
mod http2;
mod load;
pub mod material;
mod objectives;
pub mod replay;
mod saved;
mod scenario;
mod sources;
mod streams;
mod tls;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, IsTerminal};
use std::num::NonZeroU32;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;
use std::time::Duration;

use httperf_plan::workload_file::WorkloadFile;
use httperf_plan::{
    HttpVersion, NonEmpty, Phases, Plan, PlanError, Replay, RequestTemplate, Script, Sessions, Target,
    Timeouts, UriSource, Watch, WorkingSet, Workload, header_escapes, session_file, uri_list,
};
use httperf_run::resolve;
use thiserror::Error;

use self::material::{RequestList, Shared};
use self::sources::{Route, sockets};
use crate::args::{Args, SessionArgs, SessionKind, UriChoice, Version};
use crate::grpc::GrpcError;
use crate::terminal::messages::Program;
use crate::values::SECONDS_MAX;

pub use self::http2::Http2Error;
pub use self::load::LoadError;
pub use self::material::MaterialError;
pub use self::material::files_of;
pub use self::objectives::ObjectiveError;
pub use self::objectives::can_watch;
pub use self::saved::make_runnable;
pub use self::sources::SourceError;
pub use self::sources::source_addresses;
pub use self::streams::StreamError;
pub use self::tls::TlsError;

/// Connections of a session unless `--max-connections` says otherwise.
const SESSION_CONNECTIONS: NonZeroU32 = NonZeroU32::new(4).expect("it is not 0");

/// Calls in flight on a connection of a session unless `--max-piped-calls` says otherwise.
const PIPED_CALLS: NonZeroU32 = NonZeroU32::new(32).expect("it is not 0");

/// A time beyond this never comes.
const FOREVER: Duration = Duration::from_secs(SECONDS_MAX as u64);

/// Turns what was typed into a plan; `warn` is told what looks wrong but does not stop the run.
///
/// # Errors
///
/// A file, a name or a combination of options that cannot be used.
pub fn plan(program: &Program, args: &Args, warn: &mut dyn FnMut(String)) -> Result<Plan, Error> {
    plan_of(program, args, &Source::Options, warn)
}

/// Turns a workload file, with the options of its run, into a plan.
///
/// # Errors
///
/// As [`plan`].
pub fn plan_of_file(
    program: &Program,
    args: &Args,
    file: &WorkloadFile,
    warn: &mut dyn FnMut(String),
) -> Result<Plan, Error> {
    plan_of(program, args, &Source::File(file), warn)
}

/// Turns a recording, with the options of its replay, into a plan.
///
/// # Errors
///
/// As [`plan`].
pub fn plan_of_replay(
    program: &Program,
    args: &Args,
    replay: Replay,
    warn: &mut dyn FnMut(String),
) -> Result<Plan, Error> {
    plan_of(program, args, &Source::Recording(Box::new(replay)), warn)
}

/// The source of the workload.
enum Source<'a> {
    /// The options themselves.
    Options,
    /// A workload file with scenarios.
    File(&'a WorkloadFile),
    /// A recording.
    Recording(Box<Replay>),
}

fn plan_of(
    program: &Program,
    args: &Args,
    source: &Source<'_>,
    warn: &mut dyn FnMut(String),
) -> Result<Plan, Error> {
    let file = match source {
        Source::File(file) => Some(*file),
        Source::Options | Source::Recording(_) => None,
    };
    args.unused_url_warning().into_iter().for_each(&mut *warn);
    match source {
        // Checked when they were read.
        Source::Options => streams::check(args)?,
        Source::File(_) | Source::Recording(_) => {
            args.check_rules().map_err(|stop| Error::Rules(stop.text()))?;
        }
    }
    let version = http_version(args.version())?;
    let list = RequestList::read(args)?;
    let args = &*list.as_ref().map_or(Cow::Borrowed(args), |list| list.with_scheme(args));
    let http2 = http2::plan(args)?;
    let sources = source_addresses(&args.my_addresses)?;
    let route = Route::new(args, &sources)?;
    let (targets, listed) = match (&list, file) {
        (Some(list), _) => list.plan(args, &route).map(|(targets, requests)| (targets, Some(requests)))?,
        (None, Some(file)) => (scenario::targets(args, &route, file)?, None),
        (None, None) => (targets(args, &route)?, None),
    };
    route.warn_of_unused(&targets, warn);
    let proxy = route.proxy();
    let extra_headers = extra_headers(args, warn)?;
    let shared = material::shared(args, &extra_headers)?;
    let request = request(args, version, extra_headers, shared);
    let (workload, arrivals) = match source {
        Source::Options => (workload(args, version, targets.len(), warn)?, load::arrivals(args)),
        Source::File(file) => (scenario::workload(args, file), scenario::arrivals(args, file)),
        Source::Recording(replay) => (Workload::Replay(replay.clone()), replay::arrivals(args, replay)),
    };
    let uris = listed.map_or_else(|| uris(args, warn), Ok)?;
    let tls = tls::plan(args, warn)?;
    let sockets = sockets(args, &workload, sources)?;
    material::check_servers(&targets, &uris, &workload)?;
    let timeouts = Timeouts::from_seconds(args.timeout, args.think_timeout, FOREVER);
    let file_time = file.and_then(|file| scenario::runtime(args, file));
    let drain = match args.results.drain {
        Some(seconds) => pause(seconds),
        // As in the classic tool, --runtime cuts off what is under way.
        None if args.duration() > 0.0 || file_time.is_some() => Phases::usual_drain(timeouts.timeout),
        None => Duration::ZERO,
    };
    let plan = Plan::builder(targets.first().clone(), workload)
        .targets(targets)
        .program(program.name_text())
        .client(args.client)
        .arrivals(arrivals)
        .uris(uris)
        .request(request)
        .replies(args.material.replies.clone())
        .timeouts(timeouts)
        .tls(tls)
        .http2(http2)
        .quic(http2::quic(args))
        .proxy(proxy)
        .sockets(sockets)
        .runtime(file_time.or(limit(load::runtime(args))))
        .phases(Phases { warmup: pause(args.results.warmup), drain })
        .until(args.results.until)
        .objectives(scenario::objectives(args, file, warn))
        .recording(args.results.recording())
        .slack(pause(args.slack))
        .spin(args.spin)
        .watch(watch(args))
        .build()?;
    load::check_warmup(&plan)?;
    load::check_slack(&plan)?;
    let threads = load::threads(args, &plan)?;
    let plan = plan.into_builder().threads(threads).build()?;
    let plan = match &args.grpc.method {
        Some(method) => grpc::complete(args, method, plan)?,
        None => plan,
    };
    http2::check_requests(args, &plan, warn)?;
    scenario::check(&plan)?;
    objectives::check(&plan)?;
    Ok(plan)
}

/// The parts that all requests share.
fn request(args: &Args, version: HttpVersion, extra_headers: Vec<u8>, shared: Shared) -> RequestTemplate {
    let Shared { headers, body } = shared;
    let has_body = body.is_some() || args.material.prompts.file.is_some() || args.grpc.method.is_some();
    let usual_method = || if has_body { b"POST".to_vec() } else { b"GET".to_vec() };
    RequestTemplate {
        version,
        method: args.method.clone().filter(|method| !method.is_empty()).unwrap_or_else(usual_method),
        user_agent: concat!("httperf/", env!("CARGO_PKG_VERSION")).to_owned(),
        host_header: !args.no_host_header,
        extra_headers,
        headers,
        body,
        websocket: args.websocket(),
    }
}

/// The observations that options ask for during a run.
fn watch(args: &Args) -> Watch {
    Watch {
        verbose: args.verbose,
        requests: args.print_request,
        replies: args.print_reply,
        lifetimes: args.print_lifetimes,
        periodic: args.periodic_stats,
        calls: args.results.calls.is_some(),
        steps: false,
        clocks: args.metrics.are_taken(),
        events: false,
    }
}

/// Errors in a command line. The exit status is 1 for all of them.
#[derive(Debug, Error)]
pub enum Error {
    /// Connections that cannot be secured as was asked for.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Load that cannot be offered as was asked for.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A way to the servers that cannot be taken.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Requests that cannot be made as was asked for.
    #[error(transparent)]
    Material(#[from] MaterialError),
    /// Answers of a model that cannot be read as was asked for.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// A method of gRPC that cannot be called.
    #[error(transparent)]
    Grpc(#[from] GrpcError),
    /// Objectives that cannot be judged.
    #[error(transparent)]
    Objective(#[from] ObjectiveError),
    /// HTTP/2 that cannot be spoken as was asked for.
    #[error(transparent)]
    Http2(#[from] Http2Error),
    /// A plan that cannot be.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Options that cannot be used together.
    #[error("{0}")]
    Rules(String),
    /// A regular expression or JSONPath that is malformed.
    #[error("{0}")]
    Scenario(String),
    /// A workload file without requests.
    #[error("expected at least one request in the workload file, got none")]
    NoRequests,
    /// A version of HTTP that cannot be spoken.
    #[error("unexpected version code {:x}", .major.wrapping_mul(0x1_0000).wrapping_add(*.minor))]
    HttpVersion {
        /// The number before the point.
        major: u32,
        /// The number behind it.
        minor: u32,
    },
    /// A server that cannot be resolved.
    #[error("invalid server address {0}")]
    ServerAddress(String),
    /// A file that cannot be read.
    #[error("can't open {0}")]
    Unreadable(String),
    /// A file without a byte.
    #[error("file {0} is empty")]
    Empty(String),
    /// A list of servers without a name.
    #[error("{0} does not contain any server names")]
    NoServers(String),
    /// An unusable list of URIs.
    #[error("{}", .reason.message(.file))]
    UriList {
        /// The file's name.
        file: String,
        /// The mistake in it.
        reason: uri_list::Error,
    },
    /// An unusable session file.
    #[error(transparent)]
    SessionFile(#[from] session_file::Error),
    /// A page without an absolute URI.
    #[error("URI specified with --uri must be absolute")]
    RelativePage,
    /// A burst of `--wsess` that no session could ever send.
    #[error("too many calls pending!\n\tIncrease --max-connections and/or --max-piped-calls.")]
    TooManyCalls,
    /// A `--myaddr` that is no address, name or range.
    #[error("invalid address list {0}")]
    AddressList(String),
    /// A range of `--myaddr` with an unusable start.
    #[error("invalid starting address {start} in {range}")]
    StartingAddress {
        /// The start.
        start: String,
        /// The whole value.
        range: String,
    },
    /// A range of `--myaddr` with an unusable end.
    #[error("invalid ending address {end} in {range}")]
    EndingAddress {
        /// The end.
        end: String,
        /// The whole value.
        range: String,
    },
}

impl Error {
    /// The text behind the program's name: a colon and the message, after the origin that the classic tool names.
    #[must_use]
    pub fn text(&self) -> String {
        let origin = match self {
            Self::ServerAddress(_) => ".core_addr_intern",
            Self::TooManyCalls => ".session_issue_call",
            Self::Tls(_)
            | Self::Load(_)
            | Self::Source(_)
            | Self::Material(_)
            | Self::Stream(_)
            | Self::Grpc(_)
            | Self::Objective(_)
            | Self::Http2(_)
            | Self::Plan(_)
            | Self::Rules(_)
            | Self::Scenario(_)
            | Self::NoRequests
            | Self::HttpVersion { .. }
            | Self::Unreadable(_)
            | Self::Empty(_)
            | Self::NoServers(_)
            | Self::UriList { .. }
            | Self::SessionFile(_)
            | Self::RelativePage
            | Self::AddressList(_)
            | Self::StartingAddress { .. }
            | Self::EndingAddress { .. } => "",
        };
        format!("{origin}: {self}")
    }

    /// Prints it, and returns the exit status for it.
    pub fn explain(&self, program: &Program) -> ExitCode {
        // Scripts know the classic tool's words.
        let is_read = program.is_subcommand() || io::stderr().is_terminal();
        match self {
            Self::ServerAddress(name) if is_read => program.say(format_args!("cannot resolve `{name}`")),
            Self::HttpVersion { major, minor } if is_read => program
                .say(format_args!("--http-version: expected 1.0, 1.1, 2, 3 or auto, got `{major}.{minor}`")),
            _ => program.say_bytes(self.text().as_bytes()),
        }
        ExitCode::FAILURE
    }
}

/// The version of HTTP that a version of the command line stands for.
///
/// # Errors
/// A version that the program does not speak.
pub fn http_version(version: Version) -> Result<HttpVersion, Error> {
    match version {
        Version::HTTP_10 => Ok(HttpVersion::Http10),
        Version::HTTP_11 => Ok(HttpVersion::Http11),
        Version::HTTP_2 => Ok(HttpVersion::Http2),
        Version::HTTP_3 => Ok(HttpVersion::Http3),
        Version::Auto => Ok(HttpVersion::Auto),
        Version::Numbered { major, minor } => Err(Error::HttpVersion { major, minor }),
    }
}

fn targets(args: &Args, route: &Route<'_>) -> Result<NonEmpty<Target>, Error> {
    let Some(file) = &args.servers else {
        let server = args.server();
        let host = match (&args.server_name, args.url()) {
            (Some(name), _) => text(name),
            (None, Some(url)) => url.authority(),
            (None, None) => host_value(server),
        };
        let tls_name = tls_name(args, &[args.server_name.as_deref(), Some(server)]);
        return Ok([route.target(host, tls_name, server, args.port())?].into());
    };
    let names = uri_list::parse(&read(file)?).map_err(|error| match error {
        uri_list::Error::Empty => Error::Empty(file_name(file)),
        uri_list::Error::NoUris => Error::NoServers(file_name(file)),
    })?;
    names.try_map(|entry| {
        let line_end = entry.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
        let name = &entry[..line_end.unwrap_or(entry.len())];
        route.target(host_value(name), tls_name(args, &[Some(name)]), name, args.port())
    })
}

/// Returns the server's name for TLS, if that is spoken: the given one, or the first of `names` that is a name.
fn tls_name(args: &Args, names: &[Option<&[u8]>]) -> Option<String> {
    if !args.uses_tls() {
        return None;
    }
    match &args.tls.server_name {
        // As it was typed.
        Some(name) => Some(text(name)),
        None => tls::server_name(names),
    }
}

/// The value of `Host` for a server: its name as it was typed, an IPv6 address in brackets and without scope.
fn host_value(server: &[u8]) -> String {
    resolve::bracketed(&text(server))
}

fn extra_headers(args: &Args, warn: &mut dyn FnMut(String)) -> Result<Vec<u8>, Http2Error> {
    let mut headers = Vec::new();
    if let Some(raw) = &args.add_header {
        let expanded = header_escapes::expand(raw);
        for warning in &expanded.warnings {
            let place = match warning {
                header_escapes::Warning::UnknownEscape(_) => "in",
                header_escapes::Warning::TrailingBackslash => "of",
            };
            warn(format!("{warning} {place} --add-header"));
        }
        http2::check_lines(args, "--add-header", &expanded.bytes)?;
        headers = expanded.bytes;
    }
    if let Some(file) = &args.add_header_file {
        match fs::read(file) {
            Ok(bytes) => {
                http2::check_lines(args, "--add-header-file", &bytes)?;
                headers.extend_from_slice(&bytes);
            }
            Err(_) => warn("failed to open header file".to_owned()),
        }
    }
    if !headers.is_empty() && !ends_a_line(&headers) {
        let option = if args.add_header_file.is_some() { "--add-header-file" } else { "--add-header" };
        warn(format!(
            "warning: {option}: expected a \\n at the end, without which the server does not see where the request ends"
        ));
    }
    Ok(headers)
}

/// Returns whether what follows these header lines begins a line, or the header has ended in them.
fn ends_a_line(lines: &[u8]) -> bool {
    let has = |text: &[u8]| lines.windows(text.len()).any(|part| part == text);
    lines.ends_with(b"\n") || has(b"\n\n") || has(b"\n\r\n")
}

fn workload(
    args: &Args,
    version: HttpVersion,
    servers: usize,
    warn: &mut dyn FnMut(String),
) -> Result<Workload, Error> {
    let Some(session) = &args.session else { return Ok(load::workload(args, servers)?) };
    let default_piped_calls = match version {
        HttpVersion::Http10 => NonZeroU32::MIN,
        HttpVersion::Http11 | HttpVersion::Http2 | HttpVersion::Http3 | HttpVersion::Auto => PIPED_CALLS,
    };
    let max_connections = or_default(args.max_connections, SESSION_CONNECTIONS);
    let sessions = Sessions {
        count: session.count,
        script: script(args, session, warn)?,
        max_connections,
        max_open: load::sessions_max(args, max_connections)?,
        max_piped_calls: or_default(args.max_piped_calls, default_piped_calls),
        retry_on_failure: args.retry_on_failure,
        // No reply has a status that does not fit, so such a one never matches.
        failure_status: args.failure_status.and_then(|status| u16::try_from(status).ok()),
        cookies: args.session_cookies,
    };
    if let Script::Uniform { calls, burst, .. } = sessions.script {
        // The first call of a burst goes alone; the others must find a place all at once.
        let at_once = burst.get().min(calls.max(1)) - 1;
        if at_once > sessions.places() {
            return Err(Error::TooManyCalls);
        }
    }
    Ok(Workload::Sessions(sessions))
}

fn script(args: &Args, session: &SessionArgs, warn: &mut dyn FnMut(String)) -> Result<Script, Error> {
    let think = pause(session.think);
    match &session.kind {
        SessionKind::Calls(calls) => Ok(Script::Uniform { calls: *calls, burst: args.burst_length, think }),
        SessionKind::Pages(_) if !args.uri().contains(&b'/') => Err(Error::RelativePage),
        SessionKind::Pages(pages) => Ok(Script::Pages { pages: *pages, think }),
        SessionKind::File(file) => {
            let (sessions, warnings) = session_file::parse(&read(file)?, &file_name(file), think)?;
            for warning in warnings {
                warn(warning.to_string());
            }
            Ok(Script::File(sessions))
        }
    }
}

fn uris(args: &Args, warn: &mut dyn FnMut(String)) -> Result<UriSource, Error> {
    if let Some(file) = &args.material.prompts.file {
        return Ok(material::prompts(args, file, warn)?);
    }
    let brings_its_own = matches!(&args.session, Some(SessionArgs { kind: SessionKind::File(_), .. }));
    match (args.uri_choice, &args.wlog, args.wset) {
        (UriChoice::Log, Some(log), _) if !brings_its_own => {
            let uris = uri_list::parse(&read(&log.file)?)
                .map_err(|reason| Error::UriList { file: file_name(&log.file), reason })?;
            Ok(UriSource::List { uris, wrap: log.wrap })
        }
        (UriChoice::Set, _, Some(wset)) if !brings_its_own => Ok(UriSource::WorkingSet(WorkingSet {
            prefix: args.uri().to_vec(),
            // A set of no files behaves as one of a single file.
            files: NonZeroU32::new(wset.files).unwrap_or(NonZeroU32::MIN),
            miss_rate: wset.miss_rate,
        })),
        // A session file names all URIs, and this one goes unused.
        _ if brings_its_own => Ok(UriSource::Fixed(args.uri().to_vec())),
        _ => Ok(material::uri(args)?),
    }
}

fn read(file: &OsStr) -> Result<Vec<u8>, Error> {
    fs::read(file).map_err(|_| Error::Unreadable(file_name(file)))
}

fn file_name(file: &OsStr) -> String {
    text(file.as_bytes())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn or_default(given: u32, default: NonZeroU32) -> NonZeroU32 {
    NonZeroU32::new(given).unwrap_or(default)
}

/// A time limit in seconds; none if it is not above 0, or beyond what can be waited for.
fn limit(seconds: f64) -> Option<Duration> {
    let duration = (seconds > 0.0).then(|| Duration::try_from_secs_f64(seconds).ok()).flatten();
    duration.filter(|duration| *duration <= FOREVER)
}

/// A pause in seconds; what is beyond all bounds is the longest there is.
fn pause(seconds: f64) -> Duration {
    if seconds > 0.0 { Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX) } else { Duration::ZERO }
}

#[cfg(test)]
mod tests {
    use httperf_plan::{Arrivals, Connections, Endpoint};

    use super::*;
    use crate::grammar::parse::words;

    pub(super) fn planned(argv: &[&str]) -> (Result<Plan, Error>, Vec<String>) {
        let mut args = Args::default();
        args.parse(&words(argv)).unwrap();
        let mut warnings = Vec::new();
        let plan =
            plan(&Program::started_as(&"httperf".into()), &args, &mut |warning| warnings.push(warning));
        (plan, warnings)
    }

    #[track_caller]
    pub(super) fn check_error(argv: &[&str], expected: &str) {
        let (plan, _) = planned(argv);
        assert_eq!(plan.map(|_| "a plan").unwrap_err().text(), expected, "{argv:?}");
    }

    fn file(contents: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), contents).unwrap();
        file
    }

    fn named(option: &str, file: &tempfile::NamedTempFile) -> String {
        format!("{option}{}", file.path().to_str().unwrap())
    }

    #[test]
    fn a_literal_ipv6_server_is_bracketed_in_host() {
        let plan = planned(&["--server=::1", "--port=81"]).0.unwrap();
        assert_eq!(plan.targets, [Target::direct("[::1]", None, Endpoint::Tcp("[::1]:81".parse().unwrap()))]);
        let plan = planned(&["http://[::1]:81/"]).0.unwrap();
        assert_eq!(plan.targets[0].host, "[::1]:81");
        assert_eq!(host_value(b"fe80::1%lo"), "[fe80::1]");
    }

    #[test]
    fn of_a_url_host_has_the_port_unless_it_is_the_usual_one() {
        for (argv, host) in [
            (&["http://127.0.0.1:8080/"][..], "127.0.0.1:8080"),
            (&["127.0.0.1:8080"], "127.0.0.1:8080"),
            (&["http://127.0.0.1:443/"], "127.0.0.1:443"),
            (&["http://127.0.0.1:80/"], "127.0.0.1"),
            (&["https://127.0.0.1:443/"], "127.0.0.1"),
            (&["https://127.0.0.1:8443/"], "127.0.0.1:8443"),
            (&["http://127.0.0.1:8080/", "--server-name=www.example"], "www.example"),
            (&["http://www.example:8080/", "--connect-to=::127.0.0.1:9"], "www.example:8080"),
            (&["http://www.example:8080/", "--unix-socket=/run/x"], "www.example:8080"),
            // The classic options never send the port, whatever URL stands beside them.
            (&["--server=127.0.0.1", "--port=8080"], "127.0.0.1"),
            (&["http://127.0.0.1:8080/", "--port=8080"], "localhost"),
        ] {
            assert_eq!(planned(argv).0.unwrap().targets[0].host, host, "{argv:?}");
        }
    }

    #[test]
    fn localhost_is_the_ipv4_one() {
        let plan = planned(&["--server=localhost"]).0.unwrap();
        assert_eq!(
            plan.targets,
            [Target::direct("localhost", None, Endpoint::Tcp("127.0.0.1:80".parse().unwrap()))]
        );
    }

    #[test]
    fn a_unix_socket_needs_no_resolution() {
        let plan = planned(&["--unix-socket=/run/x", "--server=no.such.invalid"]).0.unwrap();
        assert_eq!(plan.targets, [Target::direct("no.such.invalid", None, Endpoint::Unix("/run/x".into()))]);
    }

    #[test]
    fn servers_are_named_by_their_file_and_cut_at_line_ends() {
        let list = file(b"127.0.0.1\r\n\x00127.0.0.2\0");
        let plan = planned(&[&named("--servers=", &list), "--server-name=ignored"]).0.unwrap();
        let hosts: Vec<&str> = plan.targets.iter().map(|target| &target.host[..]).collect();
        assert_eq!(hosts, ["127.0.0.1", "127.0.0.2"]);
    }

    #[test]
    fn an_empty_method_is_get() {
        assert_eq!(planned(&["--method="]).0.unwrap().request.method, b"GET");
        assert_eq!(planned(&["--method=A B"]).0.unwrap().request.method, b"A B");
    }

    #[test]
    fn extra_headers_are_the_expanded_ones_and_then_those_of_the_file() {
        let extra = file(b"B: \\n\r\n");
        let (plan, warnings) = planned(&["--add-header=A: \\x\\n", &named("--add-header-file=", &extra)]);
        assert_eq!(plan.unwrap().request.extra_headers, b"A: x\r\nB: \\n\r\n");
        assert_eq!(warnings, ["ignoring unknown escape sequence `\\x' in --add-header"]);
        let (plan, warnings) = planned(&["--add-header-file=/nonexistent/file"]);
        assert!(plan.is_ok());
        assert_eq!(warnings, ["failed to open header file"]);
    }

    #[test]
    fn limits_of_sessions_default_by_http_version() {
        for (argv, connections, calls) in [
            (&["--wsess=1,1,0"][..], 4, 32),
            (&["--wsess=1,1,0", "--http-version=1.0"], 4, 1),
            (&["--wsess=1,1,0", "--max-connections=50", "--max-piped-calls=100"], 50, 100),
        ] {
            let Workload::Sessions(sessions) = planned(argv).0.unwrap().into_fields().workload else {
                panic!("{argv:?}")
            };
            assert_eq!(
                (sessions.max_connections.get(), sessions.max_piped_calls.get()),
                (connections, calls)
            );
        }
    }

    #[test]
    fn a_burst_must_fit_into_the_connections_of_a_session() {
        let fits = ["--wsess=1,5,0", "--burst-length=9", "--http-version=1.0"];
        assert!(planned(&fits).0.is_ok());
        check_error(
            &["--wsess=1,10,0", "--burst-length=6", "--http-version=1.0"],
            ".session_issue_call: too many calls pending!\n\tIncrease --max-connections and/or --max-piped-calls.",
        );
        assert!(planned(&["--wsess=1,0,0", "--burst-length=1000"]).0.is_ok());
    }

    #[test]
    fn a_session_file_brings_its_own_uris() {
        let sessions = file(b"/a think=2\n");
        let argv = [&named("--wsesslog=3,1,", &sessions), "--wlog=y,/nonexistent/file"];
        let plan = planned(&argv).0.unwrap();
        assert!(matches!(plan.uris, UriSource::Fixed(_)));
        let Workload::Sessions(sessions) = plan.into_fields().workload else {
            panic!("a session workload was asked for")
        };
        let Script::File(definitions) = sessions.script else { panic!("a file was named") };
        assert_eq!(definitions[0].bursts[0].think, Duration::from_secs(2));
    }

    #[test]
    fn of_wlog_and_wset_the_last_counts() {
        let list = file(b"/a\0/b\0");
        let wlog = named("--wlog=n,", &list);
        let plan = planned(&["--wset=5,.5", &wlog]).0.unwrap();
        let UriSource::List { uris, wrap } = plan.into_fields().uris else { panic!("a list was asked for") };
        assert_eq!((uris, wrap), ([b"/a".to_vec(), b"/b".to_vec()].into(), false));
        let plan = planned(&[&wlog, "--wset=0,.5"]).0.unwrap();
        let UriSource::WorkingSet(set) = plan.into_fields().uris else {
            panic!("a working set was asked for")
        };
        assert_eq!(set.files.get(), 1);
    }

    #[test]
    fn times_that_never_come_are_no_limits() {
        let plan = planned(&["--timeout=inf", "--think-timeout=nan", "--runtime=1.5"]).0.unwrap();
        assert_eq!((plan.timeouts.timeout, plan.timeouts.think_timeout), (None, None));
        assert_eq!(plan.runtime, Some(Duration::from_millis(1500)));
        assert_eq!((pause(f64::NAN), pause(f64::INFINITY)), (Duration::ZERO, Duration::MAX));
    }

    #[test]
    fn an_infinite_rate_offers_all_at_once() {
        let plan = planned(&["--rate=inf"]).0.unwrap();
        assert_eq!(plan.arrivals, Arrivals::Deterministic { period: 0.0 });
    }

    #[test]
    fn what_cannot_be_run_is_said_in_the_classic_words() {
        check_error(&["--http-version=3.1"], ": unexpected version code 30001");
        check_error(&["--server="], ".core_addr_intern: invalid server address ");
        check_error(&["--wlog=y"], ": can't open ");
        check_error(&["--wlog=y,/dev/null"], ": file /dev/null is empty");
        check_error(&["--wsesslog=1,0,/nonexistent/file"], ": can't open /nonexistent/file");
        check_error(&["--wsesspage=1,1,0", "--uri=x"], ": URI specified with --uri must be absolute");
        let blank = file(b"\0\0");
        let name = blank.path().to_str().unwrap();
        check_error(&[&named("--wlog=n,", &blank)], &format!(": {name} does not contain any valid URIs"));
        check_error(&[&named("--servers=", &blank)], &format!(": {name} does not contain any server names"));
    }

    #[test]
    fn tls_is_planned_with_the_name_of_the_server() {
        let name = |argv: &[&str]| planned(argv).0.unwrap().targets[0].tls_name.clone();
        assert_eq!(name(&["https://localhost/"]).as_deref(), Some("localhost"));
        assert_eq!(
            name(&["https://127.0.0.1/", "--server-name=www.example:8443"]).as_deref(),
            Some("www.example")
        );
        assert_eq!(name(&["--ssl", "--server=127.0.0.1"]), None);
        assert_eq!(
            name(&["--tls-server-name=x.example", "--server-name=y.example"]).as_deref(),
            Some("x.example")
        );
        assert_eq!(name(&["--server=localhost"]), None, "without TLS nobody asks");
        assert!(planned(&["https://localhost/"]).0.unwrap().tls.is_some());
        assert!(matches!(planned(&["--tls-groups=X"]).0, Err(Error::Tls(_))));
    }

    #[test]
    fn handshakes_alone_are_connections_without_calls() {
        let plan = planned(&["https://localhost/", "--tls-handshake-only", "--num-calls=5"]).0.unwrap();
        assert!(matches!(plan.workload, Workload::Connections(Connections { calls: 0, .. })));
    }
}
