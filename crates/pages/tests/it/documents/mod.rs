//! Documents for tests of the page: results of simulated runs against various servers.

#![allow(dead_code, reason = "each test file uses some of them")]

use std::io;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use httperf_plan::objective::{Objective, Objectives};
use httperf_plan::{
    Arrivals, HttpVersion, Phases, Plan, Split, Timeouts, Tls, UriSource, Workload, workload_file,
};
use httperf_report::result::{Document, EarlyEnd, Machine, Part};
use httperf_report::{of_connections, of_replies};
use httperf_stats::{
    BufferSize, Compression, CpuTime, EcnMarks, Http2Summary, QuicSummary, QuicTransport, ServerSettings,
    SocketBuffers, Summary, Tally, ThreadUsage, Transport, UdpLosses, Usage,
};
use httperf_testkit::sim::{
    Action, Edit, Goodbye, HttpPeer, Link, Peer, RequestSeen, TlsPeer, connections, reply, run, sessions,
    tls_server, uniform,
};

/// A document that is made once and copied from then on, as simulated runs take their time.
macro_rules! once {
    ($make:expr) => {{
        static MADE: LazyLock<Document> = LazyLock::new(|| $make);
        MADE.clone()
    }};
}

/// Step files of [`visits`], by name.
const STEP_FILES: [(&str, &str); 2] = [
    (
        "browse.hurl",
        "# @name browse\nGET {{base}}/list?of={{category}}\nHTTP 200\n[Captures]\nsku: regex /sku=([A-Z0-9]+)/\n\
         [Asserts]\nheader \"X-Stock\" exists\nduration < 2000\n",
    ),
    (
        "cart.hurl",
        "# @name add to cart\nPOST {{base}}/cart\n{\"sku\": \"{{sku}}\"}\nHTTP 201\n[Asserts]\n\
         body contains \"<script>\"\n# @think 50ms\nGET {{base}}/checkout\nHTTP 200\n",
    ),
];

/// Workload of [`visits`].
const WORKLOAD: &str = "base = 'http://server'
[arrivals]
phases = [{ name = 'ramp', for = '2s', rate = '5..40/s' }, { name = 'hold', for = '4s', rate = '40/s' }]
[[scenario]]
name = 'buyer'
weight = 2
steps = [{ run = 'browse.hurl', with = { category = 'shoes' } }, { think = '100ms' }, { run = 'cart.hurl' }]
[[scenario]]
name = 'visitor'
weight = 5
steps = [{ repeat = '1..3', steps = [{ run = 'browse.hurl', with = { category = 'hats' } }] }]
";

/// Markup and script that an attacker might send.
pub(crate) const HOSTILE: [&str; 4] = [
    "/</script><script>alert(1)</script>",
    "/<img src=x onerror=alert(2)>",
    "/\"'><svg/onload=alert(3)>&lt;b&gt;",
    "/<a href=\"https://evil.example/\">x</a><!--<b>%{y}</b>",
];

pub(crate) fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

pub(crate) fn part() -> Part {
    let command = [
        "httperf",
        "--server=shop.example",
        "--rate=e0.002",
        "--wlog=y,uris.txt",
        "--add-header=Accept: text/html\\n",
    ];
    Part {
        started: "2026-11-21T07:00:00Z".to_owned(),
        client: None,
        run: None,
        command: command.map(str::to_owned).into(),
        httperf: "1.0.0".to_owned(),
        ended_early: None,
        machine: Machine {
            host: "loadgen-3".to_owned(),
            system: "Linux 6.12.9".to_owned(),
            processor: Some("AMD EPYC 9354 32-Core Processor".to_owned()),
            processors: 8,
            memory: Some(33_554_432_000),
            open_files: 1_048_576,
            local_ports: Some((32_768, 60_999)),
        },
        capacity: None,
    }
}

/// Adds what simulated runs lack: lag, processor time, and the kernel's view of connections.
fn with_machine(mut summary: Summary) -> Summary {
    let lag = |index: usize| Duration::from_secs_f64(12e-6 + 90e-6 * chance(index, 5).powi(6));
    let arrivals = std::mem::take(&mut summary.lag).moments.count() as usize;
    (0..arrivals).for_each(|index| summary.lag.add(lag(index)));
    let mut series = serde_json::to_value(&summary.series).expect("a series can be saved");
    for (index, interval) in
        series["intervals"].as_array_mut().expect("a series has intervals").iter_mut().enumerate()
    {
        interval["lag_max_ns"] = (60_000 + (40e3 * chance(index, 6)) as u64).into();
    }
    summary.series = serde_json::from_value(series).expect("it is still one");
    let cpu = CpuTime { user: summary.duration / 30, system: summary.duration / 12 };
    let worker = ThreadUsage { cpu, kept_waiting: summary.duration / 2000, preempted: 17 };
    summary.usage =
        Usage { cpu, workers: vec![worker], stolen: Duration::ZERO, processors: 8, ..Usage::default() };
    for (index, call) in (0..).zip(&mut summary.slowest) {
        let rtt = Duration::from_micros(412 + 7 * u64::from(index));
        call.transport = Some(Transport { rtt, rtt_variance: rtt / 4, retransmits: index % 3 });
    }
    summary
}

pub(crate) fn document(plan: Plan, summary: Summary) -> Document {
    Document::new(part(), plan, with_machine(summary))
}

/// The sections with these names in the text of a run.
pub(crate) fn sections(ids: &[&str], plan: &Plan, summary: &Summary) -> String {
    let document = Document::new(part(), plan.clone(), summary.clone());
    let (replies, connections) = (of_replies(&document), of_connections(&document));
    let all = replies.iter().chain(&connections);
    all.filter(|section| ids.contains(&section.id)).map(ToString::to_string).collect()
}

fn simulated(plan: Plan, peer: impl Peer + 'static) -> Document {
    let link =
        Link { latency: Duration::from_micros(200), jitter: Duration::from_micros(80), ..Link::default() };
    let outcome = run(&plan, link, peer);
    assert!(!outcome.is_endless);
    document(plan, outcome.summary)
}

/// A pseudorandom number from 0 to 1 that is the same each time.
fn chance(index: usize, stream: u64) -> f64 {
    let mut bits =
        (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ stream.wrapping_mul(0xff51_afd7_ed55_8ccd);
    bits = (bits ^ (bits >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// A minute of 500 connections per second, as in real use: some errors, and a stall of one second.
pub(crate) fn a_busy_minute() -> Document {
    once!(busy(60, 500.0, ms(5_000)))
}

/// A small version of the same, for tests that only need its variety.
pub(crate) fn a_busy_moment() -> Document {
    once!(busy(12, 120.0, ms(2_000)))
}

/// The same for ten minutes: each second has its percentiles and errors.
pub(crate) fn ten_minutes() -> Document {
    once!(busy(600, 110.0, ms(5_000)))
}

fn busy(seconds: u64, rate: f64, warmup: Duration) -> Document {
    let uris =
        ["/", "/catalogue?page=2", "/basket", "/static/app.9f3c1d.js", "/search?q=red+shoes&sort=price"];
    let mut plan = connections(10_000_000, 1, 1).with(|plan| {
        plan.arrivals = Arrivals::Exponential { mean: 1.0 / rate };
        plan.runtime = Some(Duration::from_secs(seconds));
        plan.phases = Phases { warmup, drain: ms(3_000) };
        plan.timeouts = Timeouts { timeout: Some(ms(2_000)), think_timeout: None };
        plan.uris = UriSource::List { uris: uris.map(|uri| uri.as_bytes().to_vec()).into(), wrap: true };
    });
    plan.change(|plan| plan.targets[0].host = "shop.example".to_owned());
    plan.change(|plan| plan.recording.split = Some(Split::Uri));
    let stall =
        (warmup + Duration::from_secs(seconds) / 2)..(warmup + Duration::from_secs(seconds) / 2 + ms(1_000));
    let warmed_up = warmup.as_secs_f64();
    let peer = HttpPeer::new(move |request| {
        let index = request.connection;
        // A cold server is slow at first; later most replies take some ms, and a few many.
        let cold = 1.0 + 4.0 * (-request.at.as_secs_f64() * 3.0 / warmed_up).exp();
        let tail = if chance(index, 1) < 0.02 { 8.0 } else { 1.0 };
        let took = Duration::from_secs_f64(1e-3 * cold * tail * (1.2 + 2.5 * chance(index, 2).powi(3)));
        let due = request.at + took;
        let due = if stall.contains(&due) { stall.end + took / 4 } else { due };
        let took = due - request.at;
        let timing = format!(
            "Server-Timing: db;dur={:.1}, app;dur={:.1}\r\n",
            0.6 * took.as_secs_f64() * 1e3,
            0.3 * took.as_secs_f64() * 1e3
        );
        match chance(index, 3) {
            share if share < 0.004 => vec![Action::Send(took, reply(503, &timing, "busy"))],
            share if share < 0.005 => vec![Action::Reset(took)],
            share if share < 0.0051 => Vec::new(),
            _ => {
                let body = "x".repeat(200 + (2_000.0 * chance(index, 4)) as usize);
                let reply = reply(200, &timing, &body);
                let (head, rest) = reply.split_at(reply.len() / 2);
                vec![
                    Action::Send(took, head.to_vec()),
                    Action::Send(took + Duration::from_micros(300), rest.to_vec()),
                ]
            }
        }
    });
    simulated(plan, peer)
}

/// The same, aborted for missing one of its objectives: some are met, some missed, others unknown.
pub(crate) fn with_objectives() -> Document {
    let Document { mut plan, summary, .. } = a_busy_moment();
    let all = "p50<5ms, p99<50ms, p99.9<1500ms, max<1s, service.p90<=20ms, errors<0.1%, 5xx<=1%, replies>=100, p99.99<3s";
    plan.change(|plan| {
        let all = Objective::parse_list(all).expect("objectives");
        plan.objectives = Objectives { all, abort: true, ..Objectives::default() };
    });
    let part = Part { ended_early: Some(EarlyEnd::Missed), ..part() };
    Document::new(part, plan, summary)
}

/// Reads the step files of [`visits`].
struct StepFiles;

impl workload_file::Files for StepFiles {
    fn read(&mut self, path: &Path) -> io::Result<Vec<u8>> {
        let file = STEP_FILES.into_iter().find(|(name, _)| Path::new(name) == path);
        Ok(file.ok_or(io::ErrorKind::NotFound)?.1.into())
    }
}

/// Visits of two scenarios in two load phases, some of which fail checks and captures.
pub(crate) fn visits() -> Document {
    once!(simulated(visits_plan(), HttpPeer::new(shop)))
}

/// The same, with markup in all names.
pub(crate) fn hostile_visits() -> Document {
    once!({
        let plan = visits_plan().with(|plan| {
            let Workload::Scenarios(scenarios) = &mut plan.workload else { unreachable!("it has scenarios") };
            for (scenario, name) in scenarios.scenarios.iter_mut().zip(HOSTILE) {
                scenario.name = name.to_owned();
            }
            for request in &mut scenarios.requests {
                request.name = HOSTILE[1].to_owned();
                request.origin = HOSTILE[2].to_owned();
                request.checks.iter_mut().for_each(|check| check.label = HOSTILE[3].to_owned());
                request.captures.iter_mut().for_each(|capture| capture.label = HOSTILE[0].to_owned());
            }
            let Arrivals::Phased(phased) = &mut plan.arrivals else { unreachable!("it has phases") };
            phased.phases.iter_mut().zip(HOSTILE).for_each(|(phase, name)| phase.name = name.to_owned());
        });
        simulated(plan, HttpPeer::new(shop))
    })
}

fn visits_plan() -> Plan {
    let path = Path::new("shop.toml");
    let file = workload_file::read(path, WORKLOAD, &mut StepFiles, &workload_file::Given::default());
    let file = file.expect("it is a workload");
    sessions(1, uniform(1, 1, ms(0))).with(|plan| {
        plan.workload = Workload::Scenarios(Box::new(file.scenarios));
        plan.arrivals = file.arrivals.expect("it has arrivals");
        plan.runtime = file.runtime;
    })
}

fn shop(request: &RequestSeen) -> Vec<Action> {
    let took = Duration::from_secs_f64(1e-3 * (1.0 + 8.0 * chance(request.connection, 7).powi(4)));
    let share = chance(3 * request.connection + request.index, 8);
    let reply = match request.uri() {
        _ if share < 0.01 => return vec![Action::Reset(took)],
        _ if share < 0.02 => reply(503, "", "busy"),
        "/cart" => reply(201, "", if share < 0.1 { "none" } else { "<script>" }),
        "/checkout" => reply(200, "", "thanks"),
        _ => reply(
            200,
            if share < 0.2 { "" } else { "X-Stock: 3\r\n" },
            if share < 0.05 { "" } else { "sku=A1" },
        ),
    };
    vec![Action::Send(took, reply)]
}

/// Sessions over TLS whose connections resume, some of which break.
pub(crate) fn sessions_over_tls() -> Document {
    once!({
        let script = uniform(4, 2, ms(300));
        let plan = sessions(200, script).with(|plan| {
            plan.arrivals = Arrivals::Deterministic { period: 0.05 };
            plan.tls = Some(Tls::default());
        });
        let peer = HttpPeer::new(|request| match chance(request.connection, 1) {
            share if share < 0.03 => vec![Action::Reset(ms(3))],
            _ => vec![
                Action::Send(ms(60), reply(200, "Connection: close\r\n", "secret")),
                Action::Close(ms(60)),
            ],
        });
        simulated(plan, TlsPeer::new(peer, tls_server().build(), Goodbye::Said))
    })
}

/// Calls over HTTP/2 with all kinds of failures. The figures of HTTP/2 are invented.
pub(crate) fn over_http2() -> Document {
    let Document { mut plan, mut summary, .. } = one_second();
    plan.change(|plan| plan.request.version = HttpVersion::Http2);
    let tally = |name: &'static str| {
        let mut tally = Tally::default();
        tally.add(name);
        tally
    };
    let mut figures = Http2Summary {
        spoken: tally("HTTP/2"),
        streams: 1200,
        concurrent_max: 100,
        concurrent_sum: 119_000,
        unprocessed: 3,
        retried: 2,
        resets_received: tally("INTERNAL_ERROR"),
        resets_sent: tally("nobody waits for the reply any more"),
        goaways: tally("NO_ERROR"),
        violations: tally(HOSTILE[1]),
        request_headers: Compression { plain: 166_800, encoded: 6_120 },
        reply_headers: Compression { plain: 253_200, encoded: 16_080 },
        bytes_sent: 17_432,
        bytes_received: 1_264_321,
        server_settings: Some(ServerSettings {
            header_table: 4096,
            max_streams: Some(100),
            window: 65_535,
            max_frame: 16_384,
            header_list: None,
        }),
        ..Http2Summary::default()
    };
    (0..900).for_each(|turn| figures.stream_waits.add(Duration::from_micros(100 + turn)));
    figures.window_waits.add(ms(12));
    summary.http2 = Some(Box::new(figures));
    document(plan, summary)
}

/// The same over HTTP/3, with figures of QUIC.
pub(crate) fn over_http3() -> Document {
    let Document { mut plan, mut summary, .. } = over_http2();
    plan.change(|plan| (plan.request.version, plan.tls) = (HttpVersion::Http3, Some(Tls::default())));
    let mut quic = QuicSummary {
        datagrams_sent: 2_300,
        datagrams_received: 2_450,
        packets_sent: 2_400,
        packets_lost: 24,
        bytes_lost: 28_800,
        congestion_events: 3,
        mtu_probes_sent: 12,
        mtu_probes_lost: 5,
        black_holes: 1,
        retries: 1,
        handshake_datagrams_sent: 9,
        handshake_datagrams_received: 12,
        mtu_max: 1452,
        ecn: EcnMarks { ect0: 2_000, ect1: 1, ce: 17 },
        ecn_unconfirmed: 1,
        socket_drops: 6,
        sends_blocked: 2,
        buffers: Some(SocketBuffers {
            receive: BufferSize { asked: 2_097_152, granted: 212_992 },
            send: BufferSize { asked: 65_536, granted: 65_536 },
        }),
        qlogs_cut: 2,
        ..QuicSummary::default()
    };
    for (rtt, window) in [(412, 14_520), (1_530, 120_345), (980, 36_007)] {
        quic.note_rtt(Duration::from_micros(rtt - 100));
        quic.add_path(Duration::from_micros(rtt), window);
    }
    summary.usage.udp = UdpLosses { receive: 16, send: 5 };
    if let Some(http3) = &mut summary.http2 {
        http3.quic = Some(quic);
        http3.spoken = Tally::default();
        http3.spoken.add("HTTP/3");
    }
    for (index, call) in (0..).zip(&mut summary.slowest) {
        let rtt = call.transport.take().map_or(Duration::ZERO, |transport| transport.rtt);
        call.quic = Some(QuicTransport { rtt, packets_lost: index % 3 });
    }
    Document::new(part(), plan, summary)
}

/// URIs and `Server-Timing` fields full of markup, wherever a page shows them.
pub(crate) fn hostile() -> Document {
    once!({
        let mut plan = connections(1_000, 1, 1).with(|plan| {
            plan.arrivals = Arrivals::Deterministic { period: 0.01 };
            plan.runtime = Some(Duration::from_secs(3));
            plan.uris =
                UriSource::List { uris: HOSTILE.map(|uri| uri.as_bytes().to_vec()).into(), wrap: true };
        });
        plan.change(|plan| plan.recording.split = Some(Split::Uri));
        plan.change(|plan| plan.targets[0].host = HOSTILE[0].to_owned());
        plan.change(|plan| plan.request.extra_headers = format!("X: {}\r\n", HOSTILE[1]).into_bytes());
        let peer = HttpPeer::new(|_| {
            let fields = format!("Server-Timing: {}\r\n", HOSTILE.join(", "));
            // Long enough for connections to be open at the ends of seconds.
            vec![Action::Send(ms(20), reply(200, &fields, ""))]
        });
        let mut document = simulated(plan, peer);
        let part = &mut document.parts[0];
        part.command = HOSTILE.map(str::to_owned).into();
        part.started = HOSTILE[0].to_owned();
        part.httperf = HOSTILE[2].to_owned();
        part.machine.host = HOSTILE[1].to_owned();
        part.machine.system = HOSTILE[2].to_owned();
        part.machine.processor = Some(HOSTILE[3].to_owned());
        document
    })
}

/// A server that answers nothing.
pub(crate) fn without_replies() -> Document {
    once!({
        let plan = connections(200, 1, 1).with(|plan| {
            plan.arrivals = Arrivals::Deterministic { period: 0.02 };
            plan.timeouts = Timeouts { timeout: Some(ms(500)), think_timeout: None };
        });
        simulated(plan, HttpPeer::new(|_| Vec::new()))
    })
}

/// A run with nothing to do.
pub(crate) fn without_anything() -> Document {
    let mut document = document(connections(0, 1, 1), Summary::default());
    document.parts[0].ended_early = Some(EarlyEnd::Asked);
    document
}

/// A single call.
pub(crate) fn one_call() -> Document {
    simulated(connections(1, 1, 1), HttpPeer::new(|_| vec![Action::Send(ms(2), reply(200, "", "ok"))]))
}

/// A second of load without findings.
pub(crate) fn one_second() -> Document {
    once!({
        let mut plan = connections(1_000, 1, 1).with(|plan| {
            plan.arrivals = Arrivals::Deterministic { period: 0.005 };
            plan.runtime = Some(Duration::from_secs(1));
        });
        plan.change(|plan| plan.recording.split = Some(Split::Status));
        simulated(plan, HttpPeer::new(|_| vec![Action::Send(ms(2), reply(404, "", "ok"))]))
    })
}

/// Twenty minutes, with every second kept.
pub(crate) fn twenty_minutes() -> Document {
    once!({
        let plan = connections(1_000_000, 1, 1).with(|plan| {
            plan.arrivals = Arrivals::Deterministic { period: 0.1 };
            plan.runtime = Some(Duration::from_secs(1_199));
        });
        simulated(plan, HttpPeer::new(|_| vec![Action::Send(ms(2), reply(200, "", "ok"))]))
    })
}

/// Connections that take longer to establish than their calls to be answered.
pub(crate) fn slow_to_connect() -> Document {
    once!({
        let plan =
            connections(200, 1, 1).with(|plan| plan.arrivals = Arrivals::Deterministic { period: 0.02 });
        let link = Link { latency: ms(20), ..Link::default() };
        let peer = HttpPeer::new(|_| vec![Action::Send(ms(1), reply(200, "", "ok"))]);
        let summary = run(&plan, link, peer).summary;
        document(plan, summary)
    })
}

/// A run that recorded only what the classic report shows.
pub(crate) fn without_detail() -> Document {
    once!({
        let mut plan = connections(1_000, 1, 1).with(|plan| {
            plan.arrivals = Arrivals::Deterministic { period: 0.01 };
            plan.runtime = Some(Duration::from_secs(3));
        });
        plan.change(|plan| plan.recording.detail = false);
        simulated(plan, HttpPeer::new(|_| vec![Action::Send(ms(2), reply(200, "", "ok"))]))
    })
}
