//! Tables 8: cost of a call over HTTP/2, compared with h2load, and memory of an idle connection.

use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, ensure};
use rustix::process::Signal;

use super::Options as SpeedOptions;
use super::calls::{self, Cost, in_turn};
use super::programs::{Load, Program, Protocol, Site};
use crate::child::Running;
use crate::memory::{rss_kib, wait_for_sockets};
use crate::nghttpd::Nghttpd;
use crate::nginx::Nginx;
use crate::output::{Table, progress, thousands};
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
    /// Numbers of idle connections.
    pub(crate) idle: Vec<u64>,
    /// Letters of the tables to measure.
    pub(crate) tables: Vec<char>,
}

const SHAPES: [(u32, u32); 5] = [(1, 1), (1, 10), (1, 100), (16, 32), (64, 1)];
const FILES: [(&str, &str); 2] = [("1k", "1 KiB"), ("100k", "100 KiB")];

impl Default for Options {
    fn default() -> Self {
        Options {
            pairs: 5,
            seconds: 2.0,
            shapes: SHAPES.to_vec(),
            idle: vec![1_000, 3_000],
            tables: vec!['a', 'b', 'c', 'd', 'e'],
        }
    }
}

impl Options {
    pub(crate) fn parse(words: &mut Words) -> anyhow::Result<Self> {
        let default = Options::default();
        Ok(Options {
            pairs: words.value("--http2-pairs")?.unwrap_or(default.pairs),
            seconds: words.value("--http2-seconds")?.unwrap_or(default.seconds),
            tables: words.list("--http2-tables")?.unwrap_or(default.tables),
            ..default
        })
    }
}

/// Measures all tables on HTTP/2, or notes what is missing.
pub(crate) fn measure(bench: &Bench, options: &Options) -> anyhow::Result<Vec<String>> {
    if !bench.ours.knows("--http-version") || !bench.ours.knows("--streams") {
        return Ok(vec!["Tables 8: the program under test does not speak HTTP/2\n".to_owned()]);
    }
    if !Program::H2load.is_installed() {
        return Ok(vec!["Tables 8: h2load is not installed, so HTTP/2 is not measured\n".to_owned()]);
    }
    let mut blocks = Vec::new();
    let (nghttpd, nginx) = (Nghttpd::start(bench.cores.server)?, Nginx::start(bench.cores.server)?);
    let nghttpd_ports = nghttpd.as_ref().map(|server| (server.clear_port, server.port));
    let nginx_ports = nginx.as_ref().map(|server| (server.clear_http2_port, server.http2_port));
    for (letters, name, ports) in [(['a', 'b'], "nghttpd", nghttpd_ports), (['c', 'd'], "nginx", nginx_ports)]
    {
        let Some((clear, secure)) = ports else {
            blocks.push(format!("Tables 8{} and 8{}: {name} is not installed\n", letters[0], letters[1]));
            continue;
        };
        for (letter, port, tls) in [(letters[0], clear, false), (letters[1], secure, true)] {
            if options.tables.contains(&letter) {
                let title =
                    format!("8{letter}. HTTP/2, {name}, {}", if tls { "over TLS" } else { "in the clear" });
                blocks.push(against_h2load(bench, options, &title, port, tls)?.to_string());
            }
        }
    }
    if let Some((port, _)) = nginx_ports.or(nghttpd_ports)
        && options.tables.contains(&'e')
    {
        blocks.push(idle_memory(bench, options, port)?.to_string());
    }
    Ok(blocks)
}

/// Tables 8a to 8d.
fn against_h2load(
    bench: &Bench,
    options: &Options,
    title: &str,
    port: u16,
    tls: bool,
) -> anyhow::Result<Table> {
    let site = Site::new(bench, port)?;
    let turns = SpeedOptions { pairs: options.pairs, seconds: options.seconds, ..SpeedOptions::default() };
    let mut table = calls::table(title, &turns, Cost::CpuPerReply);
    for (file, size) in FILES {
        for &(connections, streams) in &options.shapes {
            let load = Load {
                protocol: Protocol::Http2 { tls },
                file,
                pipeline: streams,
                ..Load::closed_loop(connections, options.seconds)
            };
            let pairs = in_turn(
                options.pairs,
                || site.run(Program::Httperf, &load),
                || site.run(Program::H2load, &load),
            )?;
            let name = format!("h2load, {connections} x {streams}, {size}");
            calls::row(&mut table, &name, &pairs, Cost::CpuPerReply);
        }
    }
    table.note("connections x concurrent streams on each; both with one thread, the same windows and five header fields");
    table.note("goals: CPU at most 0.70 of h2load's, replies/s at least 1.00 of its");
    Ok(table)
}

/// Table 8e: connections with infrequent calls.
fn idle_memory(bench: &Bench, options: &Options, port: u16) -> anyhow::Result<Table> {
    let hold = |connections: u64| -> anyhow::Result<u64> {
        progress(&format!("memory with {} idle connections of HTTP/2", thousands(connections)));
        let mut command = Command::new(bench.ours.path());
        command.args([
            format!("http://127.0.0.1:{port}/1k"),
            "--http-version=2".into(),
            "--duration=60".into(),
        ]);
        // A round of calls, so that each connection has made some, takes a second; then comes another.
        command.args([format!("--concurrency={connections}"), format!("--request-rate={connections}")]);
        command.args(["--report=classic"]);
        let mut client = Running::start(command, bench.cores.client)?;
        wait_for_sockets(&mut client, connections, Duration::from_secs(30))?;
        sleep(SETTLING);
        ensure!(!client.has_ended()?, "the run ended before its time");
        let rss = rss_kib(&client)?;
        client.send(Signal::INT)?;
        let finished = client.finish(Duration::from_secs(20))?;
        let counts = bench.ours.counts(&finished)?;
        ensure!(counts.errors == 0, "{} errors: {}", counts.errors, finished.last_words());
        ensure!(counts.replies >= connections, "only {} calls were made", counts.replies);
        Ok(rss)
    };
    let mut table = Table::new(
        "Table 8e. Resident memory with idle connections of HTTP/2, in the clear",
        &["connections", "RSS KiB", "bytes per connection"],
    );
    let base = hold(BASE_CONNECTIONS).context("with few connections")?;
    table.row(vec![BASE_CONNECTIONS.to_string(), thousands(base), "base".into()]);
    for &connections in &options.idle {
        let rss = hold(connections)?;
        let each = (rss.saturating_sub(base) * 1024) as f64 / (connections - BASE_CONNECTIONS) as f64;
        table.row(vec![thousands(connections), thousands(rss), format!("{each:.0}")]);
    }
    table.note("goal: below 16 KiB; every connection has made two or three calls");
    Ok(table)
}

const BASE_CONNECTIONS: u64 = 10;
/// Time for calls before memory is measured: two or three calls per connection.
const SETTLING: Duration = Duration::from_millis(2_500);
