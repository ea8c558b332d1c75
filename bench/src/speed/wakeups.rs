//! Table 6g: processor time of a call at a fixed rate. Most of it goes into waking up.

use std::time::Duration;

use super::Options;
use super::calls::{Cost, in_turn, row, table};
use super::programs::{Load, Program, Protocol, Site, Timing};
use crate::nginx::Nginx;
use crate::output::Table;
use crate::tools::Bench;

/// Number of connections.
const CONNECTIONS: u32 = 64;
/// Calls per second, unless asked for others.
const RATE: f64 = 8000.0;
/// Slack of the runs whose arrivals go together.
const SLACK: Duration = Duration::from_micros(200);

/// Ways of waiting: what a program wakes up for.
const WAYS: [(&str, Timing, Duration); 3] = [
    ("for each event", Timing::ProgramClock, Duration::ZERO),
    ("for arrivals", Timing::Usual, Duration::ZERO),
    ("for arrivals within 200 us", Timing::Usual, SLACK),
];

/// Compares each way with a bare client that does the same.
pub(super) fn measure(bench: &Bench, server: &Nginx, options: &Options) -> anyhow::Result<Table> {
    let rate = options.rate.unwrap_or(RATE);
    let title = format!("6g. {rate} calls/s over {CONNECTIONS} connections, waking up less");
    let mut table = table(&title, options, Cost::CpuPerReply);
    if !bench.ours.knows("--slack") {
        table.note("not measured: the program under test has no --slack");
        return Ok(table);
    }
    let protocols = [
        ("HTTP/1.1", Protocol::Http1, server.clear_port),
        ("HTTP/1.1, TLS", Protocol::Http1Tls, server.port),
        ("HTTP/2", Protocol::Http2 { tls: false }, server.clear_http2_port),
        ("HTTP/2, TLS", Protocol::Http2 { tls: true }, server.http2_port),
    ];
    for (name, protocol, port) in protocols {
        let site = Site::new(bench, port)?;
        for (way, timing, slack) in WAYS {
            let rate = Some(rate);
            let load =
                Load { protocol, rate, slack, timing, ..Load::closed_loop(CONNECTIONS, options.seconds) };
            let pairs = in_turn(
                options.pairs,
                || site.run(Program::Httperf, &load),
                || site.run(Program::BareScheduled, &load),
            )?;
            row(&mut table, &format!("bare, {name}, {way}"), &pairs, Cost::CpuPerReply);
        }
    }
    table.note("each event: --clock=program; arrivals: by default; within 200 us: --slack 0.0002. The bare client does the same");
    table.note("goals over HTTP/1.1: CPU at most 1.15 of the second bare client's, and 1.25 of the third's");
    Ok(table)
}
