//! The checked plan and its builder: the rules that hold between fields, beyond those of each field's type.

use std::fmt::Display;
use std::num::NonZeroU32;
use std::ops::Deref;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{
    Arrivals, Assignment, Calls, Client, Endpoint, Http2, HttpVersion, Limits, LoadPhase, NonEmpty,
    Objectives, Phased, Phases, PlanFields, Precision, Proxy, Quic, Recording, Replay, Replies,
    RequestTemplate, Resumption, Sockets, Target, Timeouts, Tls, UriSource, Watch, WebSocket, WebSocketError,
    Workload,
};

/// A complete and checked plan of a run. It dereferences to [`PlanFields`], and its fields cannot be assigned.
///
/// [`Plan::builder`] starts a new one and [`Plan::edit`] changes one. Reading a saved plan makes the same checks.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "PlanFields")]
#[schemars(with = "PlanFields", description = "Everything a run needs to know, complete and checked.")]
pub struct Plan(PlanFields);

/// A builder of a [`Plan`]. A field that is not set has the value of a run without options.
///
/// ```
/// use std::time::Duration;
///
/// use httperf_plan::{Arrivals, Connections, Endpoint, Plan, Target, Workload};
///
/// let target = Target::direct("localhost", None, Endpoint::Tcp(([127, 0, 0, 1], 8080).into()));
/// let plan = Plan::builder(target, Workload::Connections(Connections::new(1000, 1)))
///     .arrivals(Arrivals::Deterministic { period: 0.01 })
///     .runtime(Some(Duration::from_secs(60)))
///     .build()?;
/// assert_eq!(plan.arrivals_max(), 1000);
/// # Ok::<(), httperf_plan::PlanError>(())
/// ```
#[derive(Clone, Debug)]
pub struct PlanBuilder(PlanFields);

/// An invalid field of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{field}: expected {expected}, got {given}")]
pub struct PlanError {
    /// The path of the field in a saved plan, such as `workload.calls.connections`.
    pub field: String,
    /// A description of the values allowed.
    pub expected: String,
    /// The value given.
    pub given: String,
}

impl Plan {
    /// Creates a builder of a plan for this server and this workload.
    #[must_use]
    pub fn builder(target: Target, workload: Workload) -> PlanBuilder {
        PlanBuilder(PlanFields {
            program: "httperf".to_owned(),
            client: Client::default(),
            arrivals: Arrivals::Sequential,
            workload,
            uris: UriSource::Fixed(b"/".to_vec()),
            targets: [target].into(),
            request: RequestTemplate::default(),
            replies: Replies::default(),
            timeouts: Timeouts::default(),
            tls: None,
            http2: Http2::default(),
            quic: Quic::default(),
            proxy: None,
            sockets: Sockets::default(),
            runtime: None,
            phases: Phases::default(),
            until: None,
            objectives: Objectives::default(),
            recording: Recording::default(),
            threads: None,
            spin: false,
            slack: Duration::ZERO,
            watch: Watch::default(),
            limits: Limits::default(),
            secrets_left_out: false,
        })
    }

    /// Returns a builder that starts from this plan.
    #[must_use]
    pub fn into_builder(self) -> PlanBuilder {
        PlanBuilder(self.0)
    }

    /// Returns the plan with some fields changed.
    ///
    /// # Errors
    /// The field that has become invalid.
    pub fn edit(self, change: impl FnOnce(&mut PlanFields)) -> Result<Self, PlanError> {
        let mut fields = self.0;
        change(&mut fields);
        fields.try_into()
    }

    /// Returns the same plan for one of several trials, which draw different random numbers.
    #[must_use]
    pub fn in_trial(mut self, stream: u32) -> Self {
        self.0.client = self.0.client.in_trial(stream);
        self
    }

    /// A plan of fields that were checked before some text in them was replaced.
    pub(crate) fn of_checked(fields: PlanFields) -> Self {
        Self(fields)
    }

    /// Returns the fields by value.
    #[must_use]
    pub fn into_fields(self) -> PlanFields {
        self.0
    }
}

impl Deref for Plan {
    type Target = PlanFields;

    fn deref(&self) -> &PlanFields {
        &self.0
    }
}

/// Defines a method for each field that sets it.
macro_rules! setters {
    ($($(#[$doc:meta])+ $field:ident: $type:ty,)+) => {$(
        $(#[$doc])+
        #[must_use]
        pub fn $field(mut self, $field: $type) -> Self {
            self.0.$field = $field;
            self
        }
    )+};
}

impl PlanBuilder {
    setters! {
        /// Sets the prefix of messages; `httperf` by default.
        program: String,
        /// Sets this generator's place among several; the only one by default.
        client: Client,
        /// Sets the arrival process; by default, each arrival starts when the previous one has ended.
        arrivals: Arrivals,
        /// Sets the source of request URIs; always `/` by default.
        uris: UriSource,
        /// Sets the servers, in round-robin order, in place of the one that the builder started with.
        targets: NonEmpty<Target>,
        /// Sets the parts of a request that every call shares; a GET over HTTP/1.1 by default.
        request: RequestTemplate,
        /// Sets the reply encodings to ask for and the checks on replies; none by default.
        replies: Replies,
        /// Sets the time limits for the server's actions; none by default.
        timeouts: Timeouts,
        /// Sets the TLS settings; plaintext by default.
        tls: Option<Tls>,
        /// Sets the HTTP/2 settings, used if the request's version allows HTTP/2; like those of browsers by default.
        http2: Http2,
        /// Sets the QUIC settings, used if the request's version is HTTP/3.
        quic: Quic,
        /// Sets the proxy that listens at every target's `endpoint`; none by default.
        proxy: Option<Proxy>,
        /// Sets the socket options; `Sockets::default()` by default.
        sockets: Sockets,
        /// Sets the time for which load is offered and measured; to the end of the workload by default.
        runtime: Option<Duration>,
        /// Sets the phases before and after the measured one; none by default.
        phases: Phases,
        /// Sets the precision at which the run ends early; none by default.
        until: Option<Precision>,
        /// Sets the objectives that the server must meet; none by default.
        objectives: Objectives,
        /// Sets the measurements to record; everything by default.
        recording: Recording,
        /// Sets the number of threads; `None`, the default, is one thread with URIs in the classic order.
        threads: Option<NonZeroU32>,
        /// Sets whether to busy-poll shortly before each due instant; sleeps by default.
        spin: bool,
        /// Sets the time by which arrivals may be late so that they start together; none by default.
        slack: Duration,
        /// Sets the output to print during the run; none by default.
        watch: Watch,
        /// Sets the bounds on memory, retries and work that a peer or a plan may cause.
        limits: Limits,
    }

    /// Checks the fields against one another and returns the plan.
    ///
    /// # Errors
    /// The first invalid field.
    pub fn build(self) -> Result<Plan, PlanError> {
        self.0.try_into()
    }
}

impl TryFrom<PlanFields> for Plan {
    type Error = PlanError;

    fn try_from(fields: PlanFields) -> Result<Self, PlanError> {
        check_arrivals(&fields.arrivals)?;
        check_uris(&fields)?;
        check_workload(&fields)?;
        fields.tls.as_ref().map_or(Ok(()), check_tls)?;
        check_http3(&fields)?;
        check_websocket(&fields)?;
        check_grpc(&fields)?;
        let most = fields.threads_max();
        match fields.threads {
            Some(threads) if threads > most => Err(wrong(
                "threads",
                format!("a number from 1 to {most}, as no more threads have work"),
                threads,
            )),
            _ => Ok(Self(fields)),
        }
    }
}

fn wrong(field: impl Into<String>, expected: impl Into<String>, given: impl Display) -> PlanError {
    PlanError { field: field.into(), expected: expected.into(), given: given.to_string() }
}

/// HTTP/3 has TLS inside, and goes over UDP alone.
fn check_http3(plan: &PlanFields) -> Result<(), PlanError> {
    if plan.request.version != HttpVersion::Http3 {
        return Ok(());
    }
    let is_datagrams = |endpoint: &Endpoint| matches!(endpoint, Endpoint::Tcp(_));
    if plan.tls.is_none() {
        return Err(wrong("tls", "TLS settings, as HTTP/3 has TLS inside", "none"));
    }
    if plan.proxy.is_some() {
        return Err(wrong("proxy", "no proxy, as HTTP/3 goes over UDP", "one"));
    }
    if !plan.targets.iter().flat_map(Target::endpoints).all(is_datagrams) {
        return Err(wrong(
            "targets",
            "addresses with ports, as HTTP/3 goes over UDP",
            "a unix-domain socket",
        ));
    }
    Ok(())
}

/// A WebSocket has a connection to itself, or a stream of HTTP/2.
fn check_websocket(plan: &PlanFields) -> Result<(), PlanError> {
    if !plan.opens_websockets() {
        return Ok(());
    }
    let check = |field: &str, websocket: &WebSocket| {
        let given = |error: &WebSocketError| match error {
            WebSocketError::Size { .. } => "larger ones",
            _ => "none",
        };
        let most = plan.limits.message_size;
        websocket.check(most).map_err(|error| wrong(field, error.to_string(), given(&error)))
    };
    plan.request.websocket.iter().try_for_each(|websocket| check("request.websocket", websocket))?;
    if let Workload::Scenarios(scenarios) = &plan.workload {
        let opened = scenarios.requests.iter().filter_map(|request| request.websocket.as_ref());
        opened
            .into_iter()
            .try_for_each(|websocket| check("workload.scenarios.requests.websocket", websocket))?;
    }
    let version = plan.request.version;
    if !matches!(version, HttpVersion::Http11 | HttpVersion::Http2) {
        let expected = "HTTP/1.1 or HTTP/2, which WebSockets are opened with";
        return Err(wrong("request.version", expected, format_args!("{version:?}")));
    }
    match &plan.workload {
        Workload::Connections(connections) if version == HttpVersion::Http11 && connections.calls != 1 => {
            let expected = "1, as a WebSocket has the connection to itself over HTTP/1.1";
            Err(wrong("workload.connections.calls", expected, connections.calls))
        }
        Workload::Calls(Calls { pipeline: Some(pipeline), .. })
            if version == HttpVersion::Http11 && pipeline.get() > 1 =>
        {
            let expected = "1, as a WebSocket has the connection to itself over HTTP/1.1";
            Err(wrong("workload.calls.pipeline", expected, pipeline))
        }
        Workload::Replay(_) => Err(wrong("workload", "no replay, which opens no WebSockets", "one")),
        Workload::Sessions(_) => Err(wrong("workload", "no sessions, which open no WebSockets", "some")),
        Workload::Scenarios(_) if plan.request.websocket.is_some() => {
            Err(wrong("request.websocket", "none, as the steps of a scenario have their own", "one"))
        }
        Workload::Connections(_) | Workload::Calls(_) | Workload::Scenarios(_) => Ok(()),
    }
}

/// Calls of gRPC are streams of HTTP/2.
fn check_grpc(plan: &PlanFields) -> Result<(), PlanError> {
    let version = plan.request.version;
    if plan.replies.streams.grpc.is_some() && version != HttpVersion::Http2 {
        return Err(wrong(
            "request.version",
            "HTTP/2, which gRPC is spoken over",
            format_args!("{version:?}"),
        ));
    }
    Ok(())
}

fn check_arrivals(arrivals: &Arrivals) -> Result<(), PlanError> {
    let interval = |field: &str, seconds: f64| match seconds >= 0.0 {
        true => Ok(()),
        false => Err(wrong(format!("arrivals.{field}"), "0 seconds or more", seconds)),
    };
    match arrivals {
        Arrivals::Sequential | Arrivals::Concurrent(_) => Ok(()),
        Arrivals::Deterministic { period } => interval("deterministic.period", *period),
        Arrivals::Uniform { min, max } => interval("uniform.min", *min).and(interval("uniform.max", *max)),
        Arrivals::Exponential { mean } => interval("exponential.mean", *mean),
        Arrivals::Variable(steps) => (0..).zip(steps).try_for_each(|(index, step): (usize, _)| {
            interval(&format!("variable[{index}].period"), step.period)
        }),
        Arrivals::Phased(phased) => check_phases(phased),
        Arrivals::Recorded { mean } => interval("recorded.mean", *mean),
    }
}

fn check_phases(phased: &Phased) -> Result<(), PlanError> {
    let phases = &phased.phases[..];
    for (index, phase) in phases.iter().enumerate() {
        let path = |field: &str| format!("arrivals.phased.phases[{index}].{field}");
        for (field, rate) in [("from", phase.from), ("to", phase.to)] {
            if !(0.0..f64::INFINITY).contains(&rate) {
                return Err(wrong(path(field), "a rate of 0 or more per second", rate));
            }
        }
        if phases[..index].iter().any(|earlier| earlier.name == phase.name) {
            return Err(wrong(
                path("name"),
                "a name that no other phase has",
                format_args!("`{}`", phase.name),
            ));
        }
    }
    let sum: f64 = phases.iter().map(LoadPhase::arrivals).sum();
    match sum > 0.0 && sum.is_finite() {
        true => Ok(()),
        false => Err(wrong("arrivals.phased", "a phase with a length and a rate above 0", "none")),
    }
}

fn check_uris(plan: &PlanFields) -> Result<(), PlanError> {
    let count = plan.targets.len();
    match &plan.uris {
        UriSource::Requests(requests) => {
            let stray = requests.iter().position(|request| request.server as usize >= count);
            stray.map_or(Ok(()), |index| {
                let expected = format!("a number below {count}, the number of targets");
                Err(wrong(format!("uris.requests[{index}].server"), expected, requests[index].server))
            })
        }
        UriSource::WorkingSet(set) if !(0.0..=1.0).contains(&set.miss_rate) => {
            Err(wrong("uris.working_set.miss_rate", "a number from 0 to 1", set.miss_rate))
        }
        _ => Ok(()),
    }
}

fn check_workload(plan: &PlanFields) -> Result<(), PlanError> {
    let servers = plan.targets.len();
    let are_apart = servers > 1 && matches!(plan.uris, UriSource::Requests(_));
    match &plan.workload {
        Workload::Replay(replay) => check_replay(plan, replay),
        _ if matches!(plan.arrivals, Arrivals::Recorded { .. }) => {
            Err(wrong("arrivals", "a schedule, as only a replay has recorded ones", "recorded"))
        }
        Workload::Connections(connections) if are_apart && connections.calls > 1 => Err(wrong(
            "workload.connections.calls",
            "at most 1, as the requests name several servers",
            connections.calls,
        )),
        Workload::Sessions(_) if are_apart => {
            Err(wrong("workload", "connections or calls, as the requests name several servers", "sessions"))
        }
        Workload::Calls(calls) if (calls.connections_max(&plan.limits) as usize) < servers => Err(wrong(
            "workload.calls.connections",
            format!("at least {servers}, one for each of the targets"),
            calls.connections_max(&plan.limits),
        )),
        Workload::Calls(Calls { connections: None, assignment: Assignment::InTurn, .. }) => Err(wrong(
            "workload.calls.connections",
            "the number of connections that take calls in turn",
            "none",
        )),
        Workload::Scenarios(scenarios) => {
            crate::scenario::check::check(scenarios, servers, plan.load_phases())
        }
        Workload::Connections(_) | Workload::Sessions(_) | Workload::Calls(_) => Ok(()),
    }
}

fn check_replay(plan: &PlanFields, replay: &Replay) -> Result<(), PlanError> {
    if !matches!(plan.arrivals, Arrivals::Recorded { .. }) {
        return Err(wrong("arrivals", "recorded ones, as the workload is a replay", "others"));
    }
    match replay.speed > 0.0 && replay.speed.is_finite() {
        true => Ok(()),
        false => Err(wrong("workload.replay.speed", "a number above 0", replay.speed)),
    }
}

fn check_tls(tls: &Tls) -> Result<(), PlanError> {
    match tls.resumption {
        Resumption::Share(share) if !(0.0..=1.0).contains(&share) => {
            Err(wrong("tls.resumption.share", "a number from 0 to 1", share))
        }
        _ if tls.min > tls.max => {
            Err(wrong("tls.max", format!("a version not below {:?}", tls.min), format_args!("{:?}", tls.max)))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Connections, Endpoint, ListedRequest, Process, Step, Template, TlsVersion, WorkingSet};

    use super::*;

    fn builder() -> PlanBuilder {
        let target = Target::direct("server", None, Endpoint::Tcp(([127, 0, 0, 1], 80).into()));
        Plan::builder(target, Workload::Connections(Connections::new(10, 1)))
    }

    #[track_caller]
    fn refused(change: impl FnOnce(&mut PlanFields), expected: &str) {
        let plan = builder().build().unwrap();
        assert_eq!(plan.edit(change).unwrap_err().to_string(), expected);
    }

    #[test]
    fn fields_that_depend_on_others_are_refused_by_their_paths() {
        refused(
            |plan| plan.arrivals = Arrivals::Deterministic { period: f64::NAN },
            "arrivals.deterministic.period: expected 0 seconds or more, got NaN",
        );
        refused(
            |plan| plan.arrivals = Arrivals::Uniform { min: 0.0, max: -1.0 },
            "arrivals.uniform.max: expected 0 seconds or more, got -1",
        );
        let step = |period| Step { period, duration: 1.0 };
        refused(
            |plan| plan.arrivals = Arrivals::Variable([step(1.0), step(-2.0)].into()),
            "arrivals.variable[1].period: expected 0 seconds or more, got -2",
        );
        let phase = |name: &str, from| LoadPhase {
            name: name.to_owned(),
            length: Duration::from_secs(1),
            from,
            to: 1.0,
        };
        let phased = |phases: [LoadPhase; 2]| {
            Arrivals::Phased(Phased { process: Process::Even, phases: phases.into() })
        };
        refused(
            |plan| plan.arrivals = phased([phase("a", 0.0), phase("b", f64::INFINITY)]),
            "arrivals.phased.phases[1].from: expected a rate of 0 or more per second, got inf",
        );
        refused(
            |plan| plan.arrivals = phased([phase("a", 0.0), phase("a", 0.0)]),
            "arrivals.phased.phases[1].name: expected a name that no other phase has, got `a`",
        );
        let empty = |name| LoadPhase { length: Duration::ZERO, ..phase(name, 1.0) };
        refused(
            |plan| plan.arrivals = phased([empty("a"), LoadPhase { to: 0.0, ..phase("b", 0.0) }]),
            "arrivals.phased: expected a phase with a length and a rate above 0, got none",
        );
        let request = ListedRequest {
            server: 1,
            method: b"GET".to_vec(),
            uri: Template::literal(b"/"),
            headers: Vec::new(),
            body: None,
        };
        refused(
            |plan| plan.uris = UriSource::Requests([request].into()),
            "uris.requests[0].server: expected a number below 1, the number of targets, got 1",
        );
        let set = WorkingSet { prefix: Vec::new(), files: NonZeroU32::MIN, miss_rate: 1.5 };
        refused(
            |plan| plan.uris = UriSource::WorkingSet(set),
            "uris.working_set.miss_rate: expected a number from 0 to 1, got 1.5",
        );
        refused(
            |plan| plan.tls = Some(Tls { resumption: Resumption::Share(f64::NAN), ..Tls::default() }),
            "tls.resumption.share: expected a number from 0 to 1, got NaN",
        );
        refused(
            |plan| plan.tls = Some(Tls { max: TlsVersion::Tls10, ..Tls::default() }),
            "tls.max: expected a version not below Tls12, got Tls10",
        );
        refused(
            |plan| plan.threads = NonZeroU32::new(2),
            "threads: expected a number from 1 to 1, as no more threads have work, got 2",
        );
    }

    #[test]
    fn a_saved_plan_goes_through_the_same_checks() {
        let plan = builder().build().unwrap();
        let mut saved = serde_json::to_value(&plan).unwrap();
        assert!(serde_json::from_value::<Plan>(saved.clone()).is_ok());
        saved["threads"] = 7.into();
        let error = serde_json::from_value::<Plan>(saved).unwrap_err().to_string();
        assert!(error.starts_with("threads: expected a number from 1 to 1"), "{error}");
    }

    #[test]
    fn what_is_not_set_is_as_in_a_run_without_options() {
        let plan = builder().build().unwrap();
        assert_eq!(plan.arrivals, Arrivals::Sequential);
        assert_eq!((&plan.program[..], &plan.request.method[..]), ("httperf", &b"GET"[..]));
        assert_eq!((plan.runtime, plan.threads), (None, None));
        let timed = plan.into_builder().runtime(Some(Duration::from_secs(1))).build().unwrap();
        assert_eq!(timed.runtime, Some(Duration::from_secs(1)));
    }
}
