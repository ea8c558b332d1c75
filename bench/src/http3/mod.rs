//! Tables 12: HTTP/3. Calls compared with h2load and oha, handshakes with a bare loop around the library, memory of idle
//! connections, and lag compared with that over TCP.

pub(crate) mod bare;
mod server;

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use rustix::process::Signal;

use self::server::Server;
use crate::child::Running;
use crate::memory::{rss_kib, wait_for_sockets};
use crate::output::{Table, median, progress, thousands};
use crate::speed::Options as SpeedOptions;
use crate::speed::calls::{self, Cost, in_turn, medians_and_ratio};
use crate::speed::programs::{Load, Outcome, Program, Protocol, Site};
use crate::tools::Bench;
use crate::words::Words;

/// Extent of the measurement.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) pairs: usize,
    /// Length of a run.
    pub(crate) seconds: f64,
    /// Connections, and streams on each.
    pub(crate) shapes: Vec<(u32, u32)>,
    /// Handshakes of a run.
    pub(crate) handshakes: u64,
    /// Idle connections.
    pub(crate) idle: u64,
    /// Calls per second of the table of lags.
    pub(crate) lag_rate: u64,
    /// Letters of the tables to measure.
    pub(crate) tables: Vec<char>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            pairs: 5,
            seconds: 2.0,
            shapes: vec![(1, 1), (16, 1), (16, 8), (16, 32)],
            handshakes: 2_000,
            idle: 1_000,
            lag_rate: 2_000,
            tables: vec!['a', 'b', 'c', 'd'],
        }
    }
}

impl Options {
    pub(crate) fn parse(words: &mut Words) -> anyhow::Result<Self> {
        let default = Options::default();
        Ok(Options {
            pairs: words.value("--http3-pairs")?.unwrap_or(default.pairs),
            seconds: words.value("--http3-seconds")?.unwrap_or(default.seconds),
            tables: words.list("--http3-tables")?.unwrap_or(default.tables),
            ..default
        })
    }
}

/// Programs to compare with, the share of their processor time that is the goal, by streams.
const PEERS: [(Program, [(u32, f64); 3]); 2] = [
    (Program::H2loadHttp3, [(1, 0.6), (8, 0.7), (32, 0.8)]),
    (Program::Oha, [(1, 0.5), (8, 0.5), (32, 0.5)]),
];

/// Measures the requested tables, or notes what is missing.
pub(crate) fn measure(bench: &Bench, options: &Options) -> anyhow::Result<Vec<String>> {
    if !bench.ours.knows("--quic-window") {
        return Ok(vec!["Tables 12: the program under test does not speak HTTP/3\n".to_owned()]);
    }
    let (own, nginx) = (Server::own(bench)?, Server::nginx(bench)?);
    let server = nginx.as_ref().unwrap_or(&own);
    let mut blocks = vec![format!("Tables 12 are measured with {}, oha with {}\n", server.name, own.name)];
    let is_wanted = |letter| options.tables.contains(&letter);
    if is_wanted('a') {
        for (program, goals) in PEERS {
            // Each run of oha against nginx waits for half a minute until its connections are closed.
            let server = if program == Program::Oha { &own } else { server };
            blocks.push(against(bench, options, server, program, &goals)?.to_string());
        }
    }
    if is_wanted('b') {
        blocks.push(handshakes(bench, options, server)?.to_string());
    }
    if is_wanted('c') {
        blocks.push(idle_memory(bench, options, server)?.to_string());
    }
    if is_wanted('d') {
        blocks.push(lags(bench, options, server)?.to_string());
    }
    Ok(blocks)
}

/// Table 12a, with one program.
fn against(
    bench: &Bench,
    options: &Options,
    server: &Server,
    program: Program,
    goals: &[(u32, f64)],
) -> anyhow::Result<Table> {
    let site = Site::new(bench, server.port)?;
    let turns = SpeedOptions { pairs: options.pairs, seconds: options.seconds, ..SpeedOptions::default() };
    let mut table = calls::table(&format!("12a. HTTP/3, against {program}"), &turns, Cost::CpuPerReply);
    if !program.is_installed() {
        table.note(format!("{program} is not installed"));
        return Ok(table);
    }
    for (file, size) in server.files {
        for &(connections, streams) in &options.shapes {
            let load = Load {
                protocol: Protocol::Http3,
                file,
                pipeline: streams,
                ..Load::closed_loop(connections, options.seconds)
            };
            let pairs =
                in_turn(options.pairs, || site.run(Program::Httperf, &load), || site.run(program, &load))?;
            let name = format!("{connections} x {streams}, {size}");
            calls::row(&mut table, &name, &pairs, Cost::CpuPerReply);
            note_drops(&mut table, &name, &pairs);
        }
    }
    let goals: Vec<String> =
        goals.iter().map(|(streams, share)| format!("{share:.1} at {streams}")).collect();
    table.note("connections x concurrent streams on each; one thread, one socket for each connection");
    table.note(format!("goals: CPU per reply of 1 KiB at most, of theirs: {}", goals.join(", ")));
    Ok(table)
}

fn note_drops(table: &mut Table, name: &str, pairs: &[(Outcome, Outcome)]) {
    let sum = |dropped: fn(&(Outcome, Outcome)) -> u64| pairs.iter().map(dropped).sum::<u64>();
    let (ours, theirs) = (sum(|pair| pair.0.dropped), sum(|pair| pair.1.dropped));
    if ours + theirs > 0 {
        table.note(format!(
            "{name}: datagrams dropped at receive buffers of this machine, both ends: {ours} in runs of httperf, {theirs} \
             in the others"
        ));
    }
}

/// Table 12b: full handshakes, one after the other.
fn handshakes(bench: &Bench, options: &Options, server: &Server) -> anyhow::Result<Table> {
    let count = options.handshakes;
    let run = |mut command: Command, name: &str| -> anyhow::Result<f64> {
        progress(&format!("{name}, {count} handshakes over QUIC"));
        command.env("RUST_BACKTRACE", "0");
        let finished = Running::start(command, bench.cores.client)?.finish(Duration::from_secs(60))?;
        ensure!(finished.status.success(), "{name} failed: {}", finished.last_words());
        Ok(finished.cpu.as_secs_f64() * 1e6 / count as f64)
    };
    let mut table = Table::new(
        format!(
            "Table 12b. Full handshakes over QUIC, one after the other, {} alternating pairs",
            options.pairs
        ),
        &["group", "CPU us each", "bare loop", "ratio", "of pairs"],
    );
    for group in ["X25519", "X25519MLKEM768"] {
        let ours = || {
            let mut command = Command::new(bench.ours.path());
            command.arg(server.url());
            command.args(["--http-version=3", "--tls-handshake-only", "--report=classic", "--timeout=5"]);
            command.args([format!("--num-conns={count}"), format!("--tls-groups={group}")]);
            run(command, "httperf")
        };
        let bare = || {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["bare-quic", "--target", &format!("127.0.0.1:{}", server.port)]);
            command.args(["--conns", &count.to_string(), "--group", group]);
            run(command, "bare loop")
        };
        let pairs = in_turn(options.pairs, ours, bare)?;
        let mut cells = vec![group.to_owned()];
        cells.extend(medians_and_ratio(&pairs, |cpu| *cpu, 1));
        table.row(cells);
    }
    table.note("goal: at most 1.15 of the bare loop, which is quinn-proto and blocking sockets");
    Ok(table)
}

/// Table 12c: connections with infrequent calls.
fn idle_memory(bench: &Bench, options: &Options, server: &Server) -> anyhow::Result<Table> {
    let hold = |connections: u64| -> anyhow::Result<u64> {
        progress(&format!("memory with {} idle connections of HTTP/3", thousands(connections)));
        let mut command = Command::new(bench.ours.path());
        command.arg(server.url());
        command.args(["--http-version=3", "--duration=60", "--report=classic"]);
        // A round of calls, so that each connection has made some, takes a second; then comes another.
        command.args([format!("--concurrency={connections}"), format!("--request-rate={connections}")]);
        let mut client = Running::start(command, bench.cores.client)?;
        wait_for_sockets(&mut client, connections, Duration::from_secs(30))?;
        // Sockets are there at once, connections only after their handshakes.
        std::thread::sleep(SETTLING + HANDSHAKE * connections as u32);
        ensure!(!client.has_ended()?, "the run ended before its time");
        let rss = rss_kib(&client)?;
        client.send(Signal::INT)?;
        let finished = client.finish(Duration::from_secs(20))?;
        let counts = bench.ours.counts(&finished)?;
        ensure!(counts.errors == 0, "{} errors: {}", counts.errors, finished.last_words());
        ensure!(counts.replies >= connections, "only {} calls were made", counts.replies);
        Ok(rss)
    };
    let base = hold(BASE_CONNECTIONS).context("with few connections")?;
    let rss = hold(options.idle)?;
    let each = rss.saturating_sub(base) as f64 / (options.idle - BASE_CONNECTIONS) as f64;
    let mut table = Table::new(
        "Table 12c. Resident memory with idle connections of HTTP/3",
        &["connections", "RSS KiB", "KiB per connection"],
    );
    table.row(vec![BASE_CONNECTIONS.to_string(), thousands(base), "base".into()]);
    table.row(vec![thousands(options.idle), thousands(rss), format!("{each:.1}")]);
    table.note("goal: below 40 KiB; every connection has made some calls");
    Ok(table)
}

const BASE_CONNECTIONS: u64 = 10;
/// Time for calls before memory is measured: two or three calls per connection, or some more.
const SETTLING: Duration = Duration::from_millis(2_500);
/// More than a handshake takes a server.
const HANDSHAKE: Duration = Duration::from_millis(5);

/// Table 12d: the lag that the program reports, of the same calls over TCP and over UDP.
fn lags(bench: &Bench, options: &Options, server: &Server) -> anyhow::Result<Table> {
    let rate = options.lag_rate;
    let mut table = Table::new(
        format!(
            "Table 12d. Lag as httperf reports it, {} calls/s on 16 connections, {} runs of {} s in turn",
            thousands(rate),
            options.pairs,
            options.seconds
        ),
        &["protocol", "lag p50 us", "lag p99 us"],
    );
    let versions = ["1.1", "2", "3"];
    let mut measured = vec![(Vec::new(), Vec::new()); versions.len()];
    for _ in 0..options.pairs {
        for (version, (p50, p99)) in versions.iter().zip(&mut measured) {
            progress(&format!("lag over HTTP/{version}"));
            let file = tempfile::NamedTempFile::new()?;
            let mut command = Command::new(bench.ours.path());
            command.arg(server.url());
            command.args([format!("--http-version={version}"), format!("--request-rate={rate}")]);
            command.args([format!("--duration={}", options.seconds), "--concurrency=16".into()]);
            command.args(["--report=classic", "--output"]).arg(file.path());
            let finished = Running::start(command, bench.cores.client)?
                .finish(Duration::from_secs_f64(options.seconds + 20.0))?;
            let document: serde_json::Value = serde_json::from_slice(&std::fs::read(file.path())?)
                .with_context(|| format!("no result: {}", finished.last_words()))?;
            let lag = &document["figures"]["lag_ms"];
            let us = |name: &str| lag[name].as_f64().map(|ms| ms * 1e3);
            p50.push(us("p50").context("no p50 of the lag")?);
            p99.push(us("p99").context("no p99 of the lag")?);
        }
    }
    for (version, (p50, p99)) in versions.iter().zip(&measured) {
        let name = format!("HTTP/{version}");
        table.row(vec![name, format!("{:.1}", median(p50)), format!("{:.1}", median(p99))]);
    }
    table.note("medians over the runs; goal: over HTTP/3 as over TCP");
    Ok(table)
}
