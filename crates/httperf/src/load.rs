//! From what a test asks for to the plan of a run, and the run itself.

use std::fmt::Display;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use httperf_engine::{Part, StopRequest};
use httperf_plan::objective::{Need, Objective};
use httperf_plan::url::{HttpUrl, UrlError};
use httperf_plan::{
    Arrivals, Assignment, Authority, Body, Calls, Cap, Client, Connections, Endpoint, Excess, Header,
    HttpVersion, Objectives, Phases, Plan, Replies, RequestTemplate, Statuses, Target, Template, Timeouts,
    Tls, Trust, UNLIMITED, UriSource, Workload, token,
};
use httperf_report::result::EarlyEnd;
use httperf_run::{Provenance, resolve};

use crate::{Error, Report};

/// The longest that a call may take unless [`Load::timeout`] says otherwise.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A load: which requests, when, for how long. A value that is changed by its methods and offered by [`run`](Self::run).
///
/// A load needs two things besides its requests: when they are due ([`rate`](Self::rate) or
/// [`closed_loop`](Self::closed_loop)), and an end ([`for_secs`](Self::for_secs), [`for_duration`](Self::for_duration) or
/// [`calls`](Self::calls)). What a method was given is checked by [`run`](Self::run).
///
/// ```
/// use httperf::Load;
///
/// let load = Load::post("http://127.0.0.1:8080/orders", r#"{"item": 7}"#)
///     .header("Content-Type", "application/json")
///     .expect_status("201")
///     .rate(200.0)
///     .poisson()
///     .for_secs(5);
/// ```
#[derive(Clone, Debug)]
#[must_use = "a load does nothing until it runs"]
pub struct Load {
    url: String,
    method: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
    protocol: Protocol,
    verify: bool,
    roots: Vec<u8>,
    address: Option<SocketAddr>,
    pace: Option<Pace>,
    poisson: bool,
    connections: Option<u32>,
    connection_per_call: bool,
    calls: Option<u64>,
    duration: Option<Duration>,
    warm_up: Duration,
    timeout: Duration,
    expected_status: Option<String>,
    objectives: Option<String>,
    seed: u32,
    threads: Option<u32>,
}

/// The version of HTTP that is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2: by ALPN with `https://`, by prior knowledge (RFC 9113, section 3.3) with `http://`.
    Http2,
    /// HTTP/3, which takes an `https://` URL.
    Http3,
}

/// When calls are due.
#[derive(Clone, Copy, Debug)]
enum Pace {
    /// This many per second.
    Rate(f64),
    /// When one of this many has its reply, the next.
    Closed(u32),
}

impl Load {
    /// GET requests for a URL.
    pub fn get(url: impl Into<String>) -> Self {
        Self::request("GET", url)
    }

    /// POST requests with this body.
    pub fn post(url: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Self::request("POST", url).body(body)
    }

    /// Requests with any method, such as `PUT`.
    pub fn request(method: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            method: method.into(),
            headers: Vec::new(),
            body: None,
            protocol: Protocol::default(),
            verify: false,
            roots: Vec::new(),
            address: None,
            pace: None,
            poisson: false,
            connections: None,
            connection_per_call: false,
            calls: None,
            duration: None,
            warm_up: Duration::ZERO,
            timeout: TIMEOUT,
            expected_status: None,
            objectives: None,
            seed: 0,
            threads: None,
        }
    }

    /// Adds a header field to every request. `Host` and `User-Agent`, and `Content-Length` where there is a body, are there
    /// without it; one of the first two replaces the usual one. Fields of a single connection, such as `Connection`, are
    /// left out over HTTP/2 and HTTP/3, which forbid them (RFC 9113, section 8.2.2).
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the body of every request, as it is; `Content-Length` follows from it.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Makes this many calls per second, evenly spaced, on connections that are kept and shared
    /// ([`connections`](Self::connections)): an open loop. Of [`rate`](Self::rate) and
    /// [`closed_loop`](Self::closed_loop), the last one counts.
    pub fn rate(mut self, calls_per_second: f64) -> Self {
        self.pace = Some(Pace::Rate(calls_per_second));
        self
    }

    /// Makes the times between calls random, so that calls come as from many independent users: a Poisson process with
    /// the same rate.
    pub fn poisson(mut self) -> Self {
        self.poisson = true;
        self
    }

    /// Makes the next call when one has its reply, on this many connections: a closed loop, which measures what a server
    /// can do and not how long users wait, as a slow server gets fewer calls. Ends with
    /// [`for_duration`](Self::for_duration) alone.
    pub fn closed_loop(mut self, connections: u32) -> Self {
        self.pace = Some(Pace::Closed(connections));
        self
    }

    /// Bounds the number of connections that share the calls of a [`rate`](Self::rate): by default as many are opened as
    /// the calls need. A call that finds none free waits, and that counts as latency; the verdict says so if this decides
    /// the figures. With [`connection_per_call`](Self::connection_per_call), the number that may be open at once.
    pub fn connections(mut self, count: u32) -> Self {
        self.connections = Some(count);
        self
    }

    /// Opens a connection for each call, as the classic httperf does with `--rate`.
    pub fn connection_per_call(mut self) -> Self {
        self.connection_per_call = true;
        self
    }

    /// Ends the load after this many calls, those of a [`warm_up`](Self::warm_up) included.
    pub fn calls(mut self, count: u64) -> Self {
        self.calls = Some(count);
        self
    }

    /// Ends the load after this many seconds.
    pub fn for_secs(self, seconds: u64) -> Self {
        self.for_duration(Duration::from_secs(seconds))
    }

    /// Ends the load after this time, the warm-up not included. Calls that are pending then may still end within the
    /// [`timeout`](Self::timeout).
    pub fn for_duration(mut self, duration: Duration) -> Self {
        self.duration = Some(duration);
        self
    }

    /// Offers the same load for a while before the measurement begins: what was due then has no part in the figures of the
    /// [`Report`]. A load that is over by then, almost certainly if it is [`poisson`](Self::poisson), is refused.
    pub fn warm_up(mut self, duration: Duration) -> Self {
        self.warm_up = duration;
        self
    }

    /// Gives up what takes longer than this, 10 s by default: a connect, writing a request, waiting for the first byte of
    /// its reply, and from there to its end, each by itself and whether or not bytes keep coming. A call that was given up
    /// has failed. The wait for a free connection has no limit.
    pub fn timeout(mut self, duration: Duration) -> Self {
        self.timeout = duration;
        self
    }

    /// Says which statuses are right, such as `200,204` or `2xx`; a reply with another one counts as failed. Without it,
    /// every complete reply is an answer, also one that says `404 Not Found`.
    pub fn expect_status(mut self, statuses: impl Into<String>) -> Self {
        self.expected_status = Some(statuses.into());
        self
    }

    /// Sets bounds that the server is to keep, in the words of `--slo`: `p99<20ms, errors<0.1%`. The outcome is
    /// [`Report::met_objectives`]. Those that the load can tell nothing about, and those that contradict each other, are
    /// refused.
    pub fn objectives(mut self, list: impl Into<String>) -> Self {
        self.objectives = Some(list.into());
        self
    }

    /// Chooses the version of HTTP: HTTP/1.1 by default.
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// Verifies the server's certificate by the roots of the system. Without this any is accepted, as tests mostly have
    /// certificates that nobody signed.
    pub fn verify_certificate(mut self) -> Self {
        self.verify = true;
        self
    }

    /// Verifies the server's certificate by these roots too, in PEM.
    pub fn trust(mut self, pem: impl AsRef<[u8]>) -> Self {
        self.roots.extend_from_slice(pem.as_ref());
        self.roots.push(b'\n');
        self.verify_certificate()
    }

    /// Connects to this address, whatever the URL's host is: that is still the one in `Host` and in the TLS handshake.
    pub fn connect_to(mut self, address: SocketAddr) -> Self {
        self.address = Some(address);
        self
    }

    /// Draws other random numbers: each seed has its own, the same on each run. 0 by default.
    pub fn seed(mut self, seed: u32) -> Self {
        self.seed = seed;
        self
    }

    /// Shares the work among threads, each pinned to a processor. Without this, the calling thread does it all, which is
    /// enough for tens of thousands of calls per second in a release build.
    pub fn threads(mut self, count: u32) -> Self {
        self.threads = Some(count);
        self
    }

    /// Offers the load and returns what was measured. Blocks until it is over, which is earlier than asked for if the server
    /// does not speak the protocol ([`Report::ended_early`]).
    ///
    /// # Errors
    /// If the load cannot be: a malformed URL or setting, or a system that refuses a socket. What the server does is no
    /// error.
    pub fn run(&self) -> Result<Report, Error> {
        let plan = self.plan()?;
        httperf_engine::rehearse(&plan).map_err(system)?;
        let provenance = Provenance::now(httperf_engine::raise_descriptor_limit());
        let stop = StopRequest::new().map_err(system)?;
        let summary = httperf_run::measure(Part::whole(&plan, None), &stop).map_err(system)?;
        let ended_early = summary.gave_up.then_some(EarlyEnd::Hopeless);
        Ok(Report::of(provenance.document(plan, summary, ended_early)))
    }

    fn plan(&self) -> Result<Plan, Error> {
        self.check_not_nothing()?;
        let url = self.parsed_url()?;
        let target = self.target(&url)?;
        let (arrivals, workload) = self.schedule()?;
        let drain = self.duration.map_or(Duration::ZERO, |_| Phases::usual_drain(Some(self.timeout)));
        let plan = Plan::builder(target, workload)
            .client(Client::default().in_trial(self.seed))
            .arrivals(arrivals)
            .uris(UriSource::Fixed(url.uri.clone()))
            .request(self.template()?)
            .replies(self.replies()?)
            .timeouts(Timeouts { timeout: Some(self.timeout), think_timeout: None })
            .tls(url.https.then(|| self.tls()))
            .runtime(self.duration)
            .phases(Phases { warmup: self.warm_up, drain })
            .objectives(Objectives { all: self.parsed_objectives()?, ..Objectives::default() })
            .threads(self.threads.map(|count| at_least_one("threads", count)).transpose()?)
            .build()
            .map_err(|error| Error::Contradiction(error.to_string()))?;
        check_objectives(&plan)?;
        match plan.last_due() {
            Some(last) if last < self.warm_up => {
                let given = format!("{:?} with the last call due after {last:?}", self.warm_up);
                Err(setting("warm_up", "a load that outlasts it, such as one with `for_duration`", given))
            }
            _ => Ok(plan),
        }
    }

    /// Refuses numbers and times of 0, which would leave nothing to measure.
    fn check_not_nothing(&self) -> Result<(), Error> {
        let times = [("for_duration", self.duration), ("timeout", Some(self.timeout))];
        if let Some((method, _)) = times.into_iter().find(|(_, time)| time.is_some_and(|time| time.is_zero()))
        {
            return Err(setting(method, "a time above 0", "0"));
        }
        match self.calls {
            Some(0) => Err(setting("calls", "at least 1", "0")),
            Some(UNLIMITED) => Err(setting("calls", "a smaller number", UNLIMITED)),
            _ => Ok(()),
        }
    }

    fn parsed_url(&self) -> Result<HttpUrl, Error> {
        let malformed =
            |reason: &dyn Display| Error::Url { url: self.url.clone(), reason: reason.to_string() };
        if !self.url.contains("://") {
            return Err(malformed(&UrlError::Scheme));
        }
        let url = HttpUrl::parse(self.url.as_bytes()).map_err(|error| malformed(&error))?;
        if self.protocol == Protocol::Http3 && !url.https {
            return Err(malformed(&"HTTP/3 takes an https:// URL, as it has TLS inside"));
        }
        if self.verify && !url.https {
            return Err(malformed(&"a certificate to verify takes an https:// URL"));
        }
        Ok(url)
    }

    fn target(&self, url: &HttpUrl) -> Result<Target, Error> {
        let port = url.port.unwrap_or(if url.https { 443 } else { 80 });
        let tls_name = if url.https { resolve::server_name(&url.host) } else { None };
        let direct = |address| Target::direct(url.authority(), tls_name, Endpoint::Tcp(address));
        if let Some(address) = self.address {
            let authority = Some(Authority { host: resolve::bracketed(&url.host), port });
            return Ok(Target { authority, ..direct(address) });
        }
        let mut address = resolve::preferred(&resolve::all(url.host.as_bytes()))
            .ok_or_else(|| Error::Unresolved { host: url.host.clone() })?;
        address.set_port(port);
        Ok(direct(address))
    }

    fn schedule(&self) -> Result<(Arrivals, Workload), Error> {
        let count = self.calls.unwrap_or(UNLIMITED);
        match self.pace {
            _ if self.duration.is_none() && self.calls.is_none() => {
                Err(setting("for_duration", "an end of the load, which `calls` sets too", "none"))
            }
            None => Err(setting("rate", "calls per second, or a `closed_loop`", "neither")),
            Some(Pace::Rate(rate)) => {
                let connections =
                    self.connections.map(|count| at_least_one("connections", count)).transpose()?;
                Ok((self.arrivals(rate)?, self.rated(count, connections)))
            }
            Some(Pace::Closed(connections)) => {
                self.check_closed()?;
                let connections = at_least_one("closed_loop", connections)?;
                let calls_each = if self.connection_per_call { 1 } else { UNLIMITED };
                let workload = Workload::Connections(Connections::new(UNLIMITED, calls_each));
                Ok((Arrivals::Concurrent(connections), workload))
            }
        }
    }

    /// Refuses what means nothing in a closed loop.
    fn check_closed(&self) -> Result<(), Error> {
        if let Some(count) = self.calls {
            return Err(setting("calls", "`for_duration` alone with a `closed_loop`", count));
        }
        if let Some(count) = self.connections {
            return Err(setting("connections", "a `rate`, as a `closed_loop` has its own number", count));
        }
        if self.poisson {
            return Err(setting("poisson", "a `rate`", "a `closed_loop`"));
        }
        Ok(())
    }

    fn arrivals(&self, rate: f64) -> Result<Arrivals, Error> {
        let interval = 1.0 / rate;
        if !(rate > 0.0 && interval > 0.0 && interval.is_finite()) {
            return Err(setting("rate", "a number above 0", rate));
        }
        Ok(match self.poisson {
            true => Arrivals::Exponential { mean: interval },
            false => Arrivals::Deterministic { period: interval },
        })
    }

    /// The work of calls that are due at a rate.
    fn rated(&self, count: u64, connections: Option<NonZeroU32>) -> Workload {
        if self.connection_per_call {
            let max_open = connections.map(|connections| Cap { connections, excess: Excess::Waits });
            return Workload::Connections(Connections { max_open, ..Connections::new(count, 1) });
        }
        Workload::Calls(Calls {
            count,
            connections,
            pipeline: connections.map(|_| NonZeroU32::MIN),
            assignment: Assignment::AnyFree,
        })
    }

    fn template(&self) -> Result<RequestTemplate, Error> {
        if token(self.method.as_bytes()).is_none() {
            return Err(setting("request", "a method such as `PUT`", format_args!("`{}`", self.method)));
        }
        if self.method == "CONNECT" && self.protocol != Protocol::Http1 {
            return Err(setting("request", "another method over HTTP/2 and HTTP/3", "`CONNECT`"));
        }
        for name in ["Host", "User-Agent", "Content-Type"] {
            if self.headers.iter().filter(|(given, _)| given.eq_ignore_ascii_case(name)).count() > 1 {
                return Err(setting("header", format_args!("`{name}` once"), "it more than once"));
            }
        }
        let header = |(name, value): &(String, String)| {
            // What a line has between braces is text here.
            Header::literal(name.as_bytes(), value.as_bytes())
                .map_err(|error| setting("header", &error, format_args!("`{name}: {value}`")))
        };
        Ok(RequestTemplate {
            version: match self.protocol {
                Protocol::Http1 => HttpVersion::Http11,
                Protocol::Http2 => HttpVersion::Http2,
                Protocol::Http3 => HttpVersion::Http3,
            },
            method: self.method.clone().into_bytes(),
            user_agent: concat!("httperf/", env!("CARGO_PKG_VERSION")).to_owned(),
            headers: self.headers.iter().map(header).collect::<Result<_, _>>()?,
            body: self.body.as_ref().map(|body| Body::text(Template::literal(body))),
            ..RequestTemplate::default()
        })
    }

    fn replies(&self) -> Result<Replies, Error> {
        let mut replies = Replies::default();
        if let Some(statuses) = &self.expected_status {
            let wrong = |_| {
                setting("expect_status", "statuses such as `200,204` or `2xx`", format_args!("`{statuses}`"))
            };
            replies.expect.statuses = Some(statuses.parse::<Statuses>().map_err(wrong)?);
        }
        Ok(replies)
    }

    fn tls(&self) -> Tls {
        Tls {
            alpn: match self.protocol {
                Protocol::Http1 => Vec::new(),
                Protocol::Http2 => vec![b"h2".to_vec()],
                Protocol::Http3 => vec![b"h3".to_vec()],
            },
            verify: self.verify.then(|| Trust { roots: self.roots.clone() }),
            ..Tls::default()
        }
    }

    fn parsed_objectives(&self) -> Result<Vec<Objective>, Error> {
        let Some(list) = &self.objectives else { return Ok(Vec::new()) };
        let wrong = |error| setting("objectives", error, format_args!("`{list}`"));
        let objectives = Objective::parse_list(list).map_err(wrong)?;
        match Objective::contradiction(&objectives) {
            Some((upper, lower)) => {
                let given = format!("`{upper}` and `{lower}`");
                Err(setting("objectives", "bounds that one run can keep", given))
            }
            None => Ok(objectives),
        }
    }
}

/// Refuses objectives that no run of this plan can tell anything about.
fn check_objectives(plan: &Plan) -> Result<(), Error> {
    let needing = |&objective: &Objective| objective.need(plan).map(|need| (objective, need));
    let Some((objective, need)) = plan.objectives.all.iter().find_map(needing) else { return Ok(()) };
    let needed = match need {
        Need::Tls => "an https:// URL",
        Need::Schedule => "a `rate`",
        Need::Expectation => "`expect_status`",
        Need::Sessions
        | Need::Streams
        | Need::Answers
        | Need::Pings
        | Need::Model
        | Need::Goodput
        | Need::Calls
        | Need::Checks => "what the program `httperf` can do and a `Load` cannot",
    };
    let given = format!("`{objective}`, which needs {needed}");
    Err(setting("objectives", "what this load can tell", given))
}

fn at_least_one(method: &'static str, count: u32) -> Result<NonZeroU32, Error> {
    NonZeroU32::new(count).ok_or_else(|| setting(method, "at least 1", count))
}

fn setting(method: &'static str, expected: impl Display, given: impl Display) -> Error {
    Error::Setting { method, expected: expected.to_string(), given: given.to_string() }
}

fn system(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::System(error.into())
}
