//! Table 3a: resident memory of the program under test per idle open connection.
//!
//! Connections are held by a server that reads requests and never answers. The baseline is the same run with
//! ten connections. The kernel's memory for the sockets is not included: it is the same for every client.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::process::Signal;

use crate::child::{BenchServer, Running};
use crate::output::{Table, progress, thousands};
use crate::tools::{Bench, Counts, Job};
use crate::words::Words;

/// Numbers of connections to hold.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) connections: Vec<u64>,
    pub(crate) rate: f64,
}

impl Default for Options {
    fn default() -> Self {
        Options { connections: vec![1_000, 10_000, 50_000, 100_000], rate: 5_000.0 }
    }
}

impl Options {
    pub(crate) fn parse(words: &mut Words) -> anyhow::Result<Self> {
        let default = Options::default();
        Ok(Options { connections: words.list("--connections")?.unwrap_or(default.connections), ..default })
    }
}

const BASE_CONNECTIONS: u64 = 10;
/// Generous number of files that a program opens besides its connections.
const OTHER_FILES: u64 = 200;
/// Four addresses have enough ports for 100,000 connections to one server.
const ADDRESSES: &str = "--myaddr=127.0.0.1-127.0.0.4";
/// Number of connections for which the ports of one address suffice.
const ONE_ADDRESS_MAX: u64 = 20_000;

/// Measures memory at each number that the limit on open files allows, relative to the baseline.
pub(crate) fn measure(bench: &Bench, options: &Options) -> anyhow::Result<Table> {
    let mut table = Table::new(
        "Table 3a. Resident memory with idle open connections",
        &["connections", "opened", "RSS KiB", "bytes per connection", "errors"],
    );
    let room = bench.open_files_max.saturating_sub(OTHER_FILES);
    let base = hold(bench, BASE_CONNECTIONS, options.rate)?;
    table.row(vec![
        BASE_CONNECTIONS.to_string(),
        base.opened.to_string(),
        thousands(base.rss_kib),
        "base".into(),
        base.counts.errors.to_string(),
    ]);
    let (within, beyond): (Vec<u64>, Vec<u64>) =
        options.connections.iter().partition(|&&count| count <= room);
    // A number that does not fit is reduced to the limit.
    let last = (!beyond.is_empty() && !within.contains(&room)).then_some(room);
    for connections in within.into_iter().chain(last) {
        let held = hold(bench, connections, options.rate)?;
        let added = (held.rss_kib as f64 - base.rss_kib as f64) * 1024.0;
        let per_connection = added / held.opened.saturating_sub(base.opened).max(1) as f64;
        table.row(vec![
            thousands(connections),
            thousands(held.opened),
            thousands(held.rss_kib),
            format!("{per_connection:.0}"),
            thousands(held.counts.errors),
        ]);
    }
    for connections in beyond {
        table.note(format!(
            "{} not measured: a process may open {} files here, and the limit cannot be raised",
            thousands(connections),
            thousands(bench.open_files_max)
        ));
    }
    table.note("errors are those reported at the end, after SIGINT; connections still open are not counted");
    Ok(table)
}

/// A program with open connections, observed from outside.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) opened: u64,
    rss_kib: u64,
    pub(crate) counts: Counts,
}

/// Opens `connections`, observes the program once all are open, and ends the run.
pub(crate) fn hold(bench: &Bench, connections: u64, rate: f64) -> anyhow::Result<Held> {
    progress(&format!("memory with {} open connections", thousands(connections)));
    let server = BenchServer::start(bench.cores.server, &["--stall"])?;
    let several = connections > ONE_ADDRESS_MAX && bench.ours.knows("--myaddr");
    let job = Job {
        target: server.address,
        conns: connections,
        rate,
        timeout_s: 60,
        reset: true,
        extra: if several { vec![ADDRESSES.into()] } else { Vec::new() },
        preloaded: None,
    };
    let mut client = bench.ours.start(bench.cores.client, &job)?;
    let limit = Duration::from_secs_f64(connections as f64 / rate + 10.0);
    let opened = wait_for_sockets(&mut client, connections, limit)?;
    // The last requests are still in transit.
    sleep(Duration::from_millis(300));
    let rss_kib = rss_kib(&client)?;
    client.send(Signal::INT)?;
    let counts = bench.ours.counts(&client.finish(Duration::from_secs(20))?)?;
    server.stop()?;
    Ok(Held { opened: opened.min(connections), rss_kib, counts })
}

/// Waits, at most `limit`, until a program has this many sockets; returns the number it has.
pub(crate) fn wait_for_sockets(client: &mut Running, count: u64, limit: Duration) -> anyhow::Result<u64> {
    let deadline = Instant::now() + limit;
    let mut opened = 0;
    while opened < count && Instant::now() < deadline && !client.has_ended()? {
        sleep(Duration::from_millis(100));
        opened = socket_count(client)?;
    }
    Ok(opened)
}

/// Number of sockets that a program has open.
pub(crate) fn socket_count(client: &Running) -> anyhow::Result<u64> {
    let folder = format!("/proc/{}/fd", client.pid());
    let files = std::fs::read_dir(&folder).with_context(|| format!("cannot read {folder}"))?;
    let is_socket = |path: &std::path::Path| {
        // A file may be closed between listing and inspection.
        std::fs::read_link(path).is_ok_and(|target| target.to_string_lossy().starts_with("socket:"))
    };
    Ok(files.flatten().filter(|file| is_socket(&file.path())).count() as u64)
}

/// Resident memory of a program.
pub(crate) fn rss_kib(client: &Running) -> anyhow::Result<u64> {
    memory_kib(client, "VmRSS:")
}

/// A figure of a program's memory, by its name in `/proc`.
pub(crate) fn memory_kib(client: &Running, name: &str) -> anyhow::Result<u64> {
    let path = format!("/proc/{}/status", client.pid());
    let status = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let line = status.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .with_context(|| format!("{path} has no {name} the program has ended"))
}
