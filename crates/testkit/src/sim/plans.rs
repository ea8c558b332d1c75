//! Plans to start from: defaults are those of a run without options.

use std::io;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::Path;
use std::time::Duration;

use httperf_plan::scenario::Scenarios;
use httperf_plan::url::HttpUrl;
use httperf_plan::workload_file::{Files, Given, read};
use httperf_plan::{
    Arrivals, Assignment, Burst, Calls, Clients, Connections, Endpoint, NonEmpty, Plan, PlanFields, Recorded,
    RecordedForm, Replay, Request, RequestTemplate, Script, ScriptedSession, Sessions, Sha256, Target,
    UNLIMITED, Workload,
};

/// Edits of plans.
pub trait Edit: Sized {
    /// The plan with some fields changed.
    ///
    /// # Panics
    /// If no run can have them.
    #[must_use]
    fn with(self, change: impl FnOnce(&mut PlanFields)) -> Self;

    /// Changes some fields in place.
    ///
    /// # Panics
    /// If no run can have them.
    fn change(&mut self, change: impl FnOnce(&mut PlanFields));

    /// Changes a connection workload in place.
    ///
    /// # Panics
    /// If it is another workload, or no run can have it.
    #[track_caller]
    fn change_connections(&mut self, change: impl FnOnce(&mut Connections)) {
        self.change(|plan| match &mut plan.workload {
            Workload::Connections(connections) => change(connections),
            _ => panic!("the plan has connections"),
        });
    }

    /// Changes a session workload in place.
    ///
    /// # Panics
    /// If it is another workload, or no run can have it.
    #[track_caller]
    fn change_sessions(&mut self, change: impl FnOnce(&mut Sessions)) {
        self.change(|plan| match &mut plan.workload {
            Workload::Sessions(sessions) => change(sessions),
            _ => panic!("the plan has sessions"),
        });
    }

    /// Changes the scenarios in place.
    ///
    /// # Panics
    /// If it is another workload, or no run can have it.
    #[track_caller]
    fn change_scenarios(&mut self, change: impl FnOnce(&mut Scenarios)) {
        self.change(|plan| match &mut plan.workload {
            Workload::Scenarios(scenarios) => change(scenarios),
            _ => panic!("the plan has scenarios"),
        });
    }

    /// Changes a replay in place.
    ///
    /// # Panics
    /// If it is another workload, or no run can have it.
    #[track_caller]
    fn change_replay(&mut self, change: impl FnOnce(&mut Replay)) {
        self.change(|plan| match &mut plan.workload {
            Workload::Replay(replay) => change(replay),
            _ => panic!("the plan has a replay"),
        });
    }

    /// Changes a call workload in place.
    ///
    /// # Panics
    /// If it is another workload, or no run can have it.
    #[track_caller]
    fn change_calls(&mut self, change: impl FnOnce(&mut Calls)) {
        self.change(|plan| match &mut plan.workload {
            Workload::Calls(calls) => change(calls),
            _ => panic!("the plan has calls"),
        });
    }
}

impl Edit for Plan {
    #[track_caller]
    fn with(self, change: impl FnOnce(&mut PlanFields)) -> Self {
        self.edit(change).expect("it remains a plan")
    }

    #[track_caller]
    fn change(&mut self, change: impl FnOnce(&mut PlanFields)) {
        *self = self.clone().with(change);
    }
}

/// Converts a number that is not 0.
#[must_use]
#[track_caller]
pub const fn nonzero(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).expect("the number is not 0")
}

/// A closed loop with `count` arrivals at a time.
#[must_use]
#[track_caller]
pub const fn at_once(count: u32) -> Arrivals {
    Arrivals::Concurrent(nonzero(count))
}

/// A session of `calls` calls in bursts of `burst`.
#[must_use]
#[track_caller]
pub fn uniform(calls: u64, burst: u64, think: Duration) -> Script {
    Script::Uniform { calls, burst: NonZeroU64::new(burst).expect("a burst has a call"), think }
}

/// Collects a list that is not empty.
#[must_use]
#[track_caller]
pub fn listed<T>(elements: impl IntoIterator<Item = T>) -> NonEmpty<T> {
    let elements: Vec<T> = elements.into_iter().collect();
    elements.try_into().expect("the list has an element")
}

/// A number of sequential connections.
#[must_use]
#[track_caller]
pub fn connections(count: u64, calls: u64, burst: u64) -> Plan {
    let burst = NonZeroU64::new(burst).expect("a burst has a call");
    plan(Workload::Connections(Connections { burst, ..Connections::new(count, calls) }))
}

/// A number of sequential sessions.
#[must_use]
pub fn sessions(count: u64, script: Script) -> Plan {
    plan(Workload::Sessions(Sessions {
        count,
        script,
        max_connections: nonzero(4),
        max_piped_calls: nonzero(32),
        retry_on_failure: false,
        failure_status: None,
        cookies: false,
        max_open: None,
    }))
}

/// A number of calls at this rate, over this many connections.
#[must_use]
pub fn calls(count: u64, per_second: f64, connections: u32) -> Plan {
    let workload = Calls {
        count,
        connections: Some(nonzero(connections)),
        pipeline: Some(NonZeroU32::MIN),
        assignment: Assignment::AnyFree,
    };
    let arrivals = Arrivals::Deterministic { period: 1.0 / per_second };
    plan(Workload::Calls(workload)).with(|plan| plan.arrivals = arrivals)
}

/// The scenarios, arrivals and servers of a workload file that names these files. Unless the file says otherwise, visits
/// follow each other, and one is made.
///
/// # Panics
/// If something is wrong in a file.
#[must_use]
#[track_caller]
pub fn scenarios(toml: &str, files: &[(&str, &str)]) -> Plan {
    let file = match read(Path::new("load.toml"), toml, &mut Folder(files), &Given::default()) {
        Ok(file) => file,
        Err(problems) => {
            panic!("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
        }
    };
    let mut scenarios = file.scenarios;
    if scenarios.count == UNLIMITED && file.runtime.is_none() && !scenarios.end_with_rows() {
        scenarios.count = 1;
    }
    let endpoint = Endpoint::Tcp(([127, 0, 0, 1], 80).into());
    let target = |url: &HttpUrl| Target::direct(url.authority(), None, endpoint.clone());
    Plan::builder(target(&file.origins[0]), Workload::Scenarios(Box::new(scenarios)))
        .targets(listed(file.origins.iter().map(target)))
        .arrivals(file.arrivals.unwrap_or(Arrivals::Sequential))
        .runtime(file.runtime)
        .build()
        .expect("it is a plan")
}

/// A replay of a recording of this many requests by this many clients, each of which has cookies and as many connections.
///
/// # Panics
/// If a number is 0 that must not be.
#[must_use]
#[track_caller]
pub fn replay(requests: u64, clients: u64, connections: u32) -> Plan {
    let recorded = Recorded {
        path: "recorded.trace".into(),
        size: 0,
        sha256: Sha256([0; 32]),
        form: RecordedForm::Trace,
        from: "combined".into(),
        stamps: "start".into(),
        resolution: Duration::ZERO,
        began: "2026-01-02T03:04:05Z".into(),
        length: Duration::ZERO,
        requests,
        clients,
        busiest: 1,
        left_out: Vec::new(),
        notes: Vec::new(),
    };
    let idle = Duration::from_secs(1800);
    let replay = Replay {
        recorded,
        speed: 1.0,
        copies: NonZeroU32::MIN,
        spread: Duration::ZERO,
        clients: Clients::Recorded { connections: nonzero(connections), cookies: true, idle },
        streams: nonzero(100),
        all_methods: true,
        bodies: Vec::new(),
    };
    let endpoint = Endpoint::Tcp(([127, 0, 0, 1], 80).into());
    Plan::builder(Target::direct("server", None, endpoint), Workload::Replay(Box::new(replay)))
        .arrivals(Arrivals::Recorded { mean: 1.0 })
        .build()
        .expect("it is a plan")
}

/// Files by their names.
struct Folder<'a>(&'a [(&'a str, &'a str)]);

impl Files for Folder<'_> {
    fn read(&mut self, path: &Path) -> io::Result<Vec<u8>> {
        let file = self.0.iter().find(|(name, _)| Path::new(name) == path);
        Ok(file.ok_or(io::ErrorKind::NotFound)?.1.as_bytes().to_vec())
    }
}

/// A session of a session file: bursts of URIs, with a pause after each.
///
/// # Panics
/// If there is no burst, or one without a URI.
#[must_use]
#[track_caller]
pub fn file_session(bursts: &[&[&str]], think: Duration) -> ScriptedSession {
    let request =
        |uri: &&str| Request { method: b"GET".to_vec(), uri: uri.as_bytes().to_vec(), contents: Vec::new() };
    let burst = |uris: &&[&str]| {
        let requests: Vec<Request> = uris.iter().map(request).collect();
        Burst { requests: requests.try_into().expect("a burst has a request"), think }
    };
    let bursts: Vec<Burst> = bursts.iter().map(burst).collect();
    ScriptedSession { bursts: bursts.try_into().expect("a session has a burst") }
}

#[track_caller]
fn plan(workload: Workload) -> Plan {
    let target = Target::direct("server", None, Endpoint::Tcp(([127, 0, 0, 1], 80).into()));
    Plan::builder(target, workload)
        .request(RequestTemplate { user_agent: "httperf/0".into(), ..RequestTemplate::default() })
        .build()
        .expect("it is a plan")
}
