//! Table 5: cost of recording, in processor time and memory, and effect of a display on the schedule.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::process::Signal;

use crate::child::{BenchServer, Running};
use crate::memory::rss_kib;
use crate::output::{Table, median, progress, thousands};
use crate::rates::spread_row;
use crate::tools::{Bench, Job, find_program};
use crate::words::Words;

/// Extent of the measurement.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) pairs: usize,
    /// Requests of a run in 5a and 5d.
    pub(crate) requests: u64,
    /// The two instants between which the growth of memory is measured, in seconds.
    pub(crate) growth: (f64, f64),
    /// Length of a run with or without a display, in seconds.
    pub(crate) display_seconds: f64,
}

impl Default for Options {
    fn default() -> Self {
        Options { pairs: 9, requests: 300_000, growth: (60.0, 600.0), display_seconds: 5.0 }
    }
}

impl Options {
    pub(crate) fn parse(words: &mut Words) -> anyhow::Result<Self> {
        let default = Options::default();
        let growth_end = words.value("--growth-seconds")?.unwrap_or(default.growth.1);
        Ok(Options {
            pairs: words.value("--record-pairs")?.unwrap_or(default.pairs),
            requests: words.value("--record-requests")?.unwrap_or(default.requests),
            growth: (default.growth.0.min(growth_end / 2.0), growth_end),
            ..default
        })
    }
}

/// Number of persistent connections, each with sequential calls.
const KEPT: u64 = 20;

/// Measures all four tables.
pub(crate) fn measure(bench: &Bench, options: &Options) -> anyhow::Result<Vec<Table>> {
    Ok(vec![
        recording(bench, options)?,
        growth(bench, options)?,
        display(bench, options)?,
        stamps(bench, options)?,
    ])
}

/// Compares full recording with the classic record.
fn recording(bench: &Bench, options: &Options) -> anyhow::Result<Table> {
    let title =
        format!("Table 5a. CPU per request with all recording on, {} alternating pairs", options.pairs);
    let sides = ["full", "classic"].map(|record| Side { name: record, record, preloaded: None });
    compare(bench, options, title, sides)
}

/// Compares full recording with and without the kernel's time stamps.
fn stamps(bench: &Bench, options: &Options) -> anyhow::Result<Table> {
    let title = format!("Table 5d. CPU per request with timestamps, {} alternating pairs", options.pairs);
    let folder = tempfile::tempdir()?;
    let Some(library) = unstamped(folder.path())? else {
        let mut table = Table::new(title, &["workload"]);
        table.note("left out: there is no C compiler");
        return Ok(table);
    };
    let stamped = Side { name: "stamped", record: "full", preloaded: None };
    let unstamped = Side { name: "unstamped", preloaded: Some(&library), ..stamped };
    compare(bench, options, title, [stamped, unstamped])
}

/// Builds the library that hides time stamps; returns `None` without a C compiler.
fn unstamped(folder: &Path) -> anyhow::Result<Option<PathBuf>> {
    let Some(compiler) = find_program("cc") else { return Ok(None) };
    let (source, library) = (folder.join("unstamped.c"), folder.join("unstamped.so"));
    std::fs::write(&source, include_str!("unstamped.c"))?;
    let mut command = Command::new(compiler);
    command.args(["-O2", "-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-ldl");
    anyhow::ensure!(command.status()?.success(), "the C compiler fails");
    Ok(Some(library))
}

/// A way to run the program.
#[derive(Debug, Clone, Copy)]
struct Side<'a> {
    name: &'a str,
    record: &'a str,
    /// Library to load before the C library.
    preloaded: Option<&'a Path>,
}

/// Measures both sides in turn, for each kind of work.
fn compare(bench: &Bench, options: &Options, title: String, sides: [Side<'_>; 2]) -> anyhow::Result<Table> {
    let mut table = Table::new(title, &["workload", "", "median", "smallest", "largest"]);
    let kept = Work {
        name: "persistent connections",
        conns: KEPT,
        calls: options.requests / KEPT,
        rate: f64::INFINITY,
    };
    let new = Work { name: "a connection per call", conns: options.requests / 10, calls: 1, rate: 10_000.0 };
    for work in [kept, new] {
        let mut cpu_us = [Vec::new(), Vec::new()];
        // The first run warms the caches.
        work.run(bench, sides[0])?;
        for pair in 0..options.pairs {
            // The order alternates, so that neither always finds the state left by the other.
            let order = if pair % 2 == 0 { [0, 1] } else { [1, 0] };
            for side in order {
                cpu_us[side].push(work.run(bench, sides[side])?);
            }
        }
        let mut row = |name: &str, values: &[f64], digits| {
            let mut cells = vec![work.name.to_owned()];
            cells.extend(spread_row(name, values, digits));
            table.row(cells);
        };
        for (side, values) in sides.iter().zip(&cpu_us) {
            row(&format!("{}, us", side.name), values, 2);
        }
        let ratios: Vec<f64> =
            cpu_us[0].iter().zip(&cpu_us[1]).map(|(first, second)| first / second).collect();
        row("ratio of a pair", &ratios, 3);
        table.note(format!(
            "{}: {} connections, {} calls on each",
            work.name,
            thousands(work.conns),
            work.calls
        ));
    }
    Ok(table)
}

struct Work {
    name: &'static str,
    conns: u64,
    calls: u64,
    rate: f64,
}

impl Work {
    /// CPU time per request in microseconds.
    fn run(&self, bench: &Bench, side: Side<'_>) -> anyhow::Result<f64> {
        progress(&format!("{}, {}", self.name, side.name));
        let server = BenchServer::start(bench.cores.server, &[])?;
        let job = Job {
            target: server.address,
            conns: self.conns,
            rate: self.rate,
            timeout_s: 5,
            reset: true,
            extra: vec![format!("--num-calls={}", self.calls), format!("--record={}", side.record)],
            preloaded: side.preloaded.map(Path::to_owned),
        };
        let measured = bench.ours.measure(bench.cores.client, &job, Duration::from_secs(120))?;
        server.stop()?;
        Ok(measured.cpu_us_per_connection())
    }
}

/// Resident memory at two instants of a run at 10,000 requests per second.
fn growth(bench: &Bench, options: &Options) -> anyhow::Result<Table> {
    let (first, last) = options.growth;
    let mut table = Table::new(
        "Table 5b. Resident memory over time, 10,000 requests per second, 100 connections per second",
        &["after s", "requests", "RSS KiB", "growth KiB"],
    );
    progress(&format!("memory over {last} s"));
    let server = BenchServer::start(bench.cores.server, &[])?;
    let job = Job {
        target: server.address,
        conns: 100_000_000,
        rate: 100.0,
        timeout_s: 5,
        reset: true,
        extra: vec!["--num-calls=100".into(), format!("--runtime={}", last + 5.0)],
        preloaded: None,
    };
    let mut client = bench.ours.start(bench.cores.client, &job)?;
    let began = Instant::now();
    let mut base = None;
    for moment in [first, last] {
        sleep(Duration::from_secs_f64(moment).saturating_sub(began.elapsed()));
        anyhow::ensure!(!client.has_ended()?, "the run ended before its time");
        let rss = rss_kib(&client)?;
        let base = *base.get_or_insert(rss);
        table.row(vec![
            format!("{moment:.0}"),
            thousands((moment * 10_000.0) as u64),
            thousands(rss),
            (rss.cast_signed() - base.cast_signed()).to_string(),
        ]);
    }
    client.send(Signal::INT)?;
    let counts = bench.ours.counts(&client.finish(Duration::from_secs(20))?)?;
    server.stop()?;
    table.note(format!("{} replies in all, {} errors", thousands(counts.replies), counts.errors));
    Ok(table)
}

/// Lag at 2,000 connections per second without a display, with the progress line, and with the full-screen
/// view.
fn display(bench: &Bench, options: &Options) -> anyhow::Result<Table> {
    let mut table = Table::new(
        format!(
            "Table 5c. Lag with and without a display, 2,000 conn/s, {} s, 5 alternating runs",
            options.display_seconds
        ),
        &["display", "lag p50 us", "lag p99 us", "p99 smallest", "p99 largest"],
    );
    if !Path::new("/usr/bin/script").exists() {
        table.note("left out: `script`, which provides a terminal, is not installed");
        return Ok(table);
    }
    let displays = [("none", "--quiet"), ("progress line", ""), ("--live", "--live")];
    let mut lags: Vec<(Vec<f64>, Vec<f64>)> = vec![Default::default(); displays.len()];
    for _ in 0..5 {
        for ((_, option), (p50, p99)) in displays.iter().zip(&mut lags) {
            let lag = displayed(bench, options, option)?;
            p50.push(lag.0);
            p99.push(lag.1);
        }
    }
    for ((name, _), (p50, p99)) in displays.iter().zip(&lags) {
        let mut cells = vec![(*name).to_owned(), format!("{:.0}", median(p50))];
        cells.extend(spread_row("", p99, 0).into_iter().skip(1));
        table.row(cells);
    }
    table.note("lag as the program reports it, on a terminal made by script(1); the display's thread shares its core");
    Ok(table)
}

/// p50 and p99 of the lag in microseconds.
fn displayed(bench: &Bench, options: &Options, option: &str) -> anyhow::Result<(f64, f64)> {
    progress(&format!("lag with {}", if option.is_empty() { "the progress line" } else { option }));
    let server = BenchServer::start(bench.cores.server, &[])?;
    let file = tempfile::NamedTempFile::new()?;
    let line = format!(
        "{} --server={} --port={} --rate=2000 --num-conns=10000000 --runtime={} --close-with-reset --output={} {option}",
        bench.ours.path().display(),
        server.address.ip(),
        server.address.port(),
        options.display_seconds,
        file.path().display()
    );
    let mut command = Command::new("/usr/bin/script");
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]).env("TERM", "xterm-256color");
    let finished = Running::start(command, bench.cores.client)?
        .finish(Duration::from_secs_f64(options.display_seconds + 10.0))?;
    server.stop()?;
    let text = std::fs::read(file.path())?;
    let document: serde_json::Value =
        serde_json::from_slice(&text).with_context(|| format!("no result: {}", finished.last_words()))?;
    let lag = &document["figures"]["lag_ms"];
    let us =
        |name: &str| lag[name].as_f64().map(|ms| ms * 1e3).with_context(|| format!("no {name} of the lag"));
    Ok((us("p50")?, us("p99")?))
}
