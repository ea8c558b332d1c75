//! Table 1: one request per connection at increasing rates, and the CPU time of each connection.

use std::time::Duration;

use crate::child::BenchServer;
use crate::output::{Table, median, progress, thousands};
use crate::tools::{Bench, Job, Measured, Tool};
use crate::words::Words;

/// Rates, duration, and number of pairs.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) rates: Vec<f64>,
    pub(crate) seconds: f64,
    pub(crate) pairs: usize,
    pub(crate) pair_rate: f64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            rates: vec![2e3, 5e3, 1e4, 1.5e4, 2e4, 2.5e4, 3e4],
            seconds: 3.0,
            // Odd, so that the median is a measured ratio.
            pairs: 7,
            pair_rate: 1e4,
        }
    }
}

impl Options {
    pub(crate) fn parse(words: &mut Words) -> anyhow::Result<Self> {
        let default = Options::default();
        Ok(Options {
            rates: words.list("--rates")?.unwrap_or(default.rates),
            seconds: words.value("--seconds")?.unwrap_or(default.seconds),
            pairs: words.value("--pairs")?.unwrap_or(default.pairs),
            pair_rate: words.value("--pair-rate")?.unwrap_or(default.pair_rate),
        })
    }
}

/// Measures each program at each rate.
pub(crate) fn measure_rates(bench: &Bench, options: &Options) -> anyhow::Result<Table> {
    let mut table = Table::new(
        format!("Table 1a. One request per connection, 1 KiB reply, {} s at each rate", options.seconds),
        &["program", "asked conn/s", "replies/s", "replies", "errors", "CPU us/conn", "x bare"],
    );
    for &rate in &options.rates {
        let bare = run(bench, &bench.bare, rate, options.seconds)?;
        for tool in [Some(&bench.ours), bench.classic.as_ref()].into_iter().flatten() {
            let measured = run(bench, tool, rate, options.seconds)?;
            table.row(row(&thousands(rate as u64), tool, &measured, &bare));
        }
        table.row(row(&thousands(rate as u64), &bench.bare, &bare, &bare));
    }
    if let (Some(ab), Some(&rate)) = (&bench.ab, options.rates.iter().max_by(|a, b| a.total_cmp(b))) {
        let conns = (rate * options.seconds).round() as u64;
        let limit = limit(options.seconds);
        let bare = run_job(bench, &bench.bare, conns, 0.0, limit)?;
        table.row(row("closed loop", ab, &run_job(bench, ab, conns, 0.0, limit)?, &bare));
        table.row(row("closed loop", &bench.bare, &bare, &bare));
        table.note("closed loop: 64 connections at a time, as fast as replies come");
    }
    table.note(
        "all but ab close with RST, so that no port is blocked; `*`: stopped, as it took more than twice its time",
    );
    table.note(
        "CPU is user and system time of the client's whole process, including start and report, per reply",
    );
    Ok(table)
}

/// Measures the program under test and the bare client in turn, at one rate: disturbances affect both.
pub(crate) fn measure_pairs(bench: &Bench, options: &Options) -> anyhow::Result<Table> {
    let mut ours = Vec::new();
    let mut bare = Vec::new();
    for _ in 0..options.pairs {
        ours.push(run(bench, &bench.ours, options.pair_rate, options.seconds)?.cpu_us_per_connection());
        bare.push(run(bench, &bench.bare, options.pair_rate, options.seconds)?.cpu_us_per_connection());
    }
    let ratios: Vec<f64> = ours.iter().zip(&bare).map(|(ours, bare)| ours / bare).collect();

    let mut table = Table::new(
        format!(
            "Table 1b. {} pairs at {} conn/s, {} s each, alternating",
            options.pairs,
            thousands(options.pair_rate as u64),
            options.seconds
        ),
        &["CPU us/conn", "median", "smallest", "largest"],
    );
    for (name, values) in [(bench.ours.to_string(), &ours), (bench.bare.to_string(), &bare)] {
        table.row(spread_row(&name, values, 1));
    }
    table.row(spread_row("ratio of a pair", &ratios, 3));
    Ok(table)
}

/// Makes one run at a rate against a fresh server.
pub(crate) fn run(bench: &Bench, tool: &Tool, rate: f64, seconds: f64) -> anyhow::Result<Measured> {
    run_job(bench, tool, (rate * seconds).round() as u64, rate, limit(seconds))
}

/// Time limit of a run that should take `seconds`.
fn limit(seconds: f64) -> Duration {
    Duration::from_secs_f64(2.0 * seconds + 3.0)
}

/// Makes one run against a fresh server. A rate of 0 is a closed loop.
fn run_job(bench: &Bench, tool: &Tool, conns: u64, rate: f64, limit: Duration) -> anyhow::Result<Measured> {
    let how = if rate > 0.0 { format!("{rate} per second") } else { "a closed loop".to_owned() };
    progress(&format!("{tool}, {conns} connections, {how}"));
    let server = BenchServer::start(bench.cores.server, tool.server_options())?;
    let job = Job {
        target: server.address,
        conns,
        rate,
        // Short, because of the classic program: above its capacity it accumulates waiting connections.
        timeout_s: 1,
        reset: true,
        extra: Vec::new(),
        preloaded: None,
    };
    let measured = tool.measure(bench.cores.client, &job, limit)?;
    server.stop()?;
    Ok(measured)
}

fn row(rate: &str, tool: &Tool, measured: &Measured, bare: &Measured) -> Vec<String> {
    let cpu = measured.cpu_us_per_connection();
    vec![
        format!("{tool}{}", if measured.overdue { " *" } else { "" }),
        rate.to_owned(),
        thousands((measured.counts.replies as f64 / measured.counts.duration_s) as u64),
        thousands(measured.counts.replies),
        thousands(measured.counts.errors),
        format!("{cpu:.1}"),
        format!("{:.2}", cpu / bare.cpu_us_per_connection()),
    ]
}

/// Name, with median, minimum and maximum of the values.
pub(crate) fn spread_row(name: &str, values: &[f64], digits: usize) -> Vec<String> {
    let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut cells = vec![name.to_owned()];
    cells.extend([median(values), smallest, largest].map(|value| format!("{value:.digits$}")));
    cells
}
