//! Plans to start from: defaults are those of a run without options.

use std::time::Duration;

use httperf_plan::{
    Arrivals, Assignment, Burst, Calls, Client, Connections, Endpoint, HttpVersion, Limits, Objectives,
    Phases, Plan, Recording, Replies, Request, RequestTemplate, Script, ScriptedSession, Sessions, Sockets,
    SourceAddresses, Target, Timeouts, UriSource, Watch, Workload,
};

/// A number of sequential connections.
#[must_use]
pub fn connections(count: u64, calls: u64, burst: u64) -> Plan {
    plan(Workload::Connections(Connections::new(count, calls, burst)))
}

/// A number of sequential sessions.
#[must_use]
pub fn sessions(count: u64, script: Script) -> Plan {
    plan(Workload::Sessions(Sessions {
        count,
        script,
        max_connections: 4,
        max_piped_calls: 32,
        retry_on_failure: false,
        failure_status: None,
        cookies: false,
        max_open: None,
    }))
}

/// A number of calls at this rate, over this many connections.
#[must_use]
pub fn calls(count: u64, per_second: f64, connections: u32) -> Plan {
    let workload = Calls { count, connections, pipeline: 1, assignment: Assignment::AnyFree };
    let arrivals = Arrivals::Deterministic { period: 1.0 / per_second };
    Plan { arrivals, ..plan(Workload::Calls(workload)) }
}

/// A session of a session file: bursts of URIs, with a pause after each.
#[must_use]
pub fn file_session(bursts: &[&[&str]], think: Duration) -> ScriptedSession {
    let request =
        |uri: &&str| Request { method: b"GET".to_vec(), uri: uri.as_bytes().to_vec(), contents: Vec::new() };
    let bursts =
        bursts.iter().map(|uris| Burst { requests: uris.iter().map(request).collect(), think }).collect();
    ScriptedSession { bursts }
}

fn plan(workload: Workload) -> Plan {
    Plan {
        program: "httperf".into(),
        client: Client::default(),
        arrivals: Arrivals::Sequential,
        workload,
        uris: UriSource::Fixed(b"/".to_vec()),
        targets: vec![Target::direct("server", None, Endpoint::Tcp(([127, 0, 0, 1], 80).into()))],
        request: RequestTemplate {
            version: HttpVersion::Http11,
            method: b"GET".to_vec(),
            user_agent: "httperf/0".into(),
            host_header: true,
            extra_headers: Vec::new(),
            headers: Vec::new(),
            body: None,
        },
        replies: Replies::default(),
        timeouts: Timeouts::default(),
        sockets: Sockets {
            send_buffer: Some(4096),
            recv_buffer: Some(16384),
            no_delay: true,
            fast_open: false,
            traffic_class: 0,
            close_with_reset: false,
            hog: false,
            sources: SourceAddresses::default(),
        },
        runtime: None,
        phases: Phases::default(),
        until: None,
        objectives: Objectives::default(),
        recording: Recording::default(),
        tls: None,
        threads: None,
        http2: httperf_plan::Http2::default(),
        proxy: None,
        spin: false,
        watch: Watch::default(),
        limits: Limits::default(),
    }
}
