//! Tables 11: what it costs to be a rank of a fleet, how far apart ranks start, how long they wait for it, and merging.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::channel;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use chrono::{SecondsFormat, Utc};
use serde_json::Value;

use crate::child::{BenchServer, Finished, Running};
use crate::output::{Table, median, progress, thousands};
use crate::rates::spread_row;
use crate::tools::Bench;
use crate::words::Words;

/// Extent of the measurement.
#[derive(Debug)]
pub(crate) struct Options {
    /// Pairs of runs in 11a, and runs of each size in 11b.
    pub(crate) pairs: usize,
    /// Length of a run in 11a, in seconds.
    pub(crate) seconds: u64,
    /// Requests per second of a rank in 11a.
    pub(crate) rate: u64,
    /// Numbers of ranks in 11b.
    pub(crate) sizes: Vec<usize>,
    /// Documents in 11c.
    pub(crate) documents: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { pairs: 9, seconds: 10, rate: 5_000, sizes: vec![2, 4, 16], documents: 64 }
    }
}

impl Options {
    pub(crate) fn parse(words: &mut Words) -> anyhow::Result<Self> {
        let default = Options::default();
        Ok(Options {
            pairs: words.value("--fleet-pairs")?.unwrap_or(default.pairs),
            seconds: words.value("--fleet-seconds")?.unwrap_or(default.seconds),
            sizes: words.list("--fleet-sizes")?.unwrap_or(default.sizes),
            ..default
        })
    }
}

/// The time until processes that start at a time of day are ready.
const AHEAD: Duration = Duration::from_secs(2);

/// The most that a run may take beyond its length.
const LIMIT: Duration = Duration::from_secs(60);

/// Measures all three tables.
pub(crate) fn measure(bench: &Bench, options: &Options) -> anyhow::Result<Vec<Table>> {
    if !bench.ours.knows("--fleet") {
        let mut table = Table::new("Tables 11. Fleets", &["fleet"]);
        table.note("left out: the program under test has no --fleet");
        return Ok(vec![table]);
    }
    Ok(vec![reports(bench, options)?, starts(bench, options)?, merging(bench, options)?])
}

/// Starts rank `rank` of `size`.
fn start(bench: &Bench, rank: usize, size: usize, arguments: &[String]) -> anyhow::Result<Running> {
    let mut command = Command::new(bench.ours.path());
    command.args(arguments).arg("--quiet").arg(format!("--fleet={rank}/{size}"));
    Running::start(command, bench.cores.client)
}

fn checked(finished: Finished) -> anyhow::Result<Finished> {
    ensure!(finished.status.success(), "a rank failed: {}", finished.last_words());
    Ok(finished)
}

fn judged(is_met: bool) -> &'static str {
    if is_met { "met" } else { "missed" }
}

fn address(server: &SocketAddr) -> [String; 2] {
    [format!("--server={}", server.ip()), format!("--port={}", server.port())]
}

/// A port to meet at. Somebody else could take it before rank 0 does; then the run fails.
fn meeting() -> anyhow::Result<String> {
    Ok(format!("--meet={}", TcpListener::bind("127.0.0.1:0")?.local_addr()?))
}

/// What rank 1 of two does besides its calls.
#[derive(Clone, Copy, Debug)]
enum Told {
    /// Nothing: it starts by the time of day.
    Nothing,
    /// It meets rank 0, and sends it each second.
    RankZero,
    /// It starts by the time of day, and serves metrics.
    Metrics,
}

const TOLD: [Told; 3] = [Told::Nothing, Told::RankZero, Told::Metrics];

/// Rank 1 of two, once for each way of telling of its seconds.
fn reports(bench: &Bench, options: &Options) -> anyhow::Result<Table> {
    let mut table = Table::new(
        format!(
            "Table 11a. CPU of the worker of a rank that makes {} requests per second for {} s, {} rounds",
            thousands(options.rate),
            options.seconds,
            options.pairs
        ),
        &["rank 1 of 2", "median", "smallest", "largest"],
    );
    let mut cpu_ms = TOLD.map(|_| Vec::new());
    for round in 0..options.pairs {
        for place in 0..TOLD.len() {
            let side = (place + round) % TOLD.len();
            cpu_ms[side].push(worker_cpu_ms(bench, options, TOLD[side])?);
        }
    }
    let [nothing, rank_zero, metrics] = &cpu_ms;
    let ratios = |to: &[f64]| -> Vec<f64> { to.iter().zip(nothing).map(|(to, of)| to / of).collect() };
    let (with_reports, with_metrics) = (ratios(rank_zero), ratios(metrics));
    table.row(spread_row("tells nobody of its seconds, ms", nothing, 0));
    table.row(spread_row("tells rank 0, ms", rank_zero, 0));
    table.row(spread_row("tells Prometheus, ms", metrics, 0));
    table.row(spread_row("ratio of rank 0 to nobody", &with_reports, 3));
    table.row(spread_row("ratio of Prometheus to nobody", &with_metrics, 3));
    for (whom, ratios) in [("rank 0", with_reports), ("Prometheus", with_metrics)] {
        table.note(format!("goal for {whom}: a ratio of at most 1.01: {}", judged(median(&ratios) <= 1.01)));
    }
    table.note("processor time of the thread that makes the calls, as the result has it");
    Ok(table)
}

/// CPU time of the worker of rank 1 of two, in milliseconds.
fn worker_cpu_ms(bench: &Bench, options: &Options, told: Told) -> anyhow::Result<f64> {
    progress(&format!("a rank that tells {told:?}"));
    let server = BenchServer::start(bench.cores.server, &[])?;
    let folder = tempfile::tempdir()?;
    // A hundred calls on each connection.
    let connections = (2 * options.rate / 100).max(1);
    let mut arguments = address(&server.address.into()).to_vec();
    arguments.extend([
        format!("--rate={connections}"),
        format!("--num-conns={}", connections * options.seconds),
        "--num-calls=100".into(),
        format!("--output={}/", folder.path().display()),
    ]);
    arguments.push(match told {
        Told::RankZero => meeting()?,
        Told::Nothing | Told::Metrics => format!("--start-at={}", soon()),
    });
    let zero = start(bench, 0, 2, &arguments)?;
    if matches!(told, Told::Metrics) {
        arguments.push(format!("--metrics={}", TcpListener::bind("127.0.0.1:0")?.local_addr()?));
    }
    let one = start(bench, 1, 2, &arguments)?;
    let limit = Duration::from_secs(options.seconds) + LIMIT;
    for rank in [zero, one] {
        checked(rank.finish(limit)?)?;
    }
    server.stop()?;
    let document: Value = serde_json::from_slice(&std::fs::read(folder.path().join("rank-1.json"))?)?;
    let cpu = &document["summary"]["usage"]["workers"][0]["cpu"];
    let ns = |kind: &str| cpu[kind].as_f64().with_context(|| format!("the result has no {kind}"));
    Ok((ns("user_ns")? + ns("system_ns")?) / 1e6)
}

/// A time of day that processes that start now can keep.
fn soon() -> String {
    (Utc::now() + AHEAD).to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// How far apart ranks start, and the time from the last one to the start.
fn starts(bench: &Bench, options: &Options) -> anyhow::Result<Table> {
    let mut table = Table::new(
        format!("Table 11b. Starts of ranks on one core, {} runs each", options.pairs),
        &["ranks", "spread us", "smallest", "largest", "last to start ms", "smallest", "largest"],
    );
    for &size in &options.sizes {
        let (mut spreads, mut waits) = (Vec::new(), Vec::new());
        for _ in 0..options.pairs {
            progress(&format!("a start of {size} ranks"));
            let (spread, wait) = common_start(bench, size)?;
            spreads.push(spread);
            waits.push(wait);
        }
        let mut cells = spread_row(&size.to_string(), &spreads, 0);
        cells.extend(spread_row("", &waits, 0).into_iter().skip(1));
        table.row(cells);
    }
    table.note(
        "spread: between the earliest and the latest first turn of a rank's loop, as the report has it",
    );
    table.note(
        "last to start: from the start of the last rank's process to the first connection at the server",
    );
    Ok(table)
}

/// The spread of the starts in microseconds, and the time from the last rank to the first connection in milliseconds.
fn common_start(bench: &Bench, size: usize) -> anyhow::Result<(f64, f64)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let server = listener.local_addr()?;
    let (sender, first) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _heard = sender.send(Instant::now());
            std::thread::spawn(move || answer(stream));
        }
    });
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("r.json");
    let mut arguments = address(&server).to_vec();
    arguments.extend([
        "--rate=100".into(),
        format!("--num-conns={}", size * 4),
        meeting()?,
        format!("--output={}", file.display()),
    ]);
    let mut ranks = Vec::new();
    for rank in 0..size - 1 {
        ranks.push(start(bench, rank, size, &arguments)?);
    }
    sleep(Duration::from_millis(500));
    let last = Instant::now();
    ranks.push(start(bench, size - 1, size, &arguments)?);
    let began = first.recv_timeout(LIMIT).context("no rank connects")?;
    for rank in ranks {
        checked(rank.finish(LIMIT)?)?;
    }
    let document: Value = serde_json::from_slice(&std::fs::read(file)?)?;
    let ranks = document["fleet"]["ranks"].as_array().context("the result has no ranks")?;
    let late: Vec<f64> = ranks.iter().filter_map(|rank| rank["begun_late_ns"].as_f64()).collect();
    ensure!(late.len() == size, "expected {size} ranks, got {late:?}");
    let (least, most) =
        late.iter().fold((f64::MAX, 0.0_f64), |(least, most), &ns| (least.min(ns), most.max(ns)));
    Ok(((most - least) / 1e3, began.duration_since(last).as_secs_f64() * 1e3))
}

/// Answers each read, until the end of the connection.
fn answer(mut stream: TcpStream) {
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer).is_ok_and(|count| count > 0) {
        if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").is_err() {
            return;
        }
    }
}

/// The time of `httperf merge`.
fn merging(bench: &Bench, options: &Options) -> anyhow::Result<Table> {
    let mut table = Table::new(
        format!("Table 11c. Merging the documents of {} ranks, {} runs", options.documents, options.pairs),
        &["documents", "KiB in all", "merge ms", "smallest", "largest"],
    );
    progress("documents to merge");
    let server = BenchServer::start(bench.cores.server, &[])?;
    let folder = tempfile::tempdir()?;
    let mut arguments = address(&server.address.into()).to_vec();
    // Enough for histograms with something in them.
    arguments.extend([
        format!("--rate={}", options.documents),
        format!("--num-conns={}", options.documents * 4),
        "--num-calls=20".into(),
        format!("--start-at={}", soon()),
        format!("--output={}/", folder.path().display()),
    ]);
    let ranks: Vec<Running> = (0..options.documents)
        .map(|rank| start(bench, rank, options.documents, &arguments))
        .collect::<anyhow::Result<_>>()?;
    for rank in ranks {
        checked(rank.finish(LIMIT)?)?;
    }
    server.stop()?;
    let files: Vec<_> =
        (0..options.documents).map(|rank| folder.path().join(format!("rank-{rank}.json"))).collect();
    let size = |file: &Path| std::fs::metadata(file).map_or(0, |data| data.len());
    let bytes: u64 = files.iter().map(|file| size(file)).sum();
    let mut times_ms = Vec::new();
    for _ in 0..options.pairs {
        let mut command = Command::new(bench.ours.path());
        command.arg("merge").args(&files);
        let merged = checked(Running::start(command, bench.cores.client)?.finish(LIMIT)?)?;
        times_ms.push(merged.cpu.as_secs_f64() * 1e3);
    }
    let mut cells = vec![options.documents.to_string(), thousands(bytes / 1024)];
    cells.extend(spread_row("", &times_ms, 0).into_iter().skip(1));
    table.row(cells);
    table.note(format!("goal: less than a second: {}", judged(median(&times_ms) < 1000.0)));
    table.note("CPU time of the process, which reads, merges and writes");
    Ok(table)
}
