//! Table 3b: more connections to one server than one address has ports for. They are closed normally, so each
//! port stays in TIME_WAIT for a minute on the client's side.

use std::time::Duration;

use crate::child::BenchServer;
use crate::output::{Table, progress, thousands};
use crate::tools::{Bench, Counts, Job};
use crate::words::Words;

/// Number and rate of connections.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) total: u64,
    pub(crate) rate: f64,
}

impl Default for Options {
    fn default() -> Self {
        Options { total: 100_000, rate: 10_000.0 }
    }
}

impl Options {
    pub(crate) fn parse(words: &mut Words) -> anyhow::Result<Self> {
        let default = Options::default();
        Ok(Options { total: words.value("--total")?.unwrap_or(default.total), ..default })
    }
}

/// Source addresses of connections: with the default range, 28,232 ports each.
const ADDRESSES: &str = "--myaddr=127.0.0.1-127.0.0.4";

/// Makes many connections from four addresses, with ports chosen by the system and by the program.
pub(crate) fn measure(bench: &Bench, options: &Options) -> anyhow::Result<Table> {
    let mut table = Table::new(
        format!("Table 3b. {} connections to one server, closed without RST", thousands(options.total)),
        &["options", "connections", "replies", "errors", "replies/s"],
    );
    if !bench.ours.knows("--myaddr") {
        table.note("not measured: the program under test has no --myaddr");
        return Ok(table);
    }
    for extra in [vec![ADDRESSES], vec![ADDRESSES, "--hog"]] {
        let counts = run(bench, options, &extra)?;
        table.row(vec![
            extra.join(" "),
            thousands(counts.connections),
            thousands(counts.replies),
            thousands(counts.errors),
            thousands((counts.replies as f64 / counts.duration_s) as u64),
        ]);
    }
    Ok(table)
}

/// Makes one run with additional options.
pub(crate) fn run(bench: &Bench, options: &Options, extra: &[&str]) -> anyhow::Result<Counts> {
    progress(&format!("{} connections with {}", thousands(options.total), extra.join(" ")));
    let server = BenchServer::start(bench.cores.server, &[])?;
    let job = Job {
        target: server.address,
        conns: options.total,
        rate: options.rate,
        timeout_s: 5,
        reset: false,
        extra: extra.iter().map(ToString::to_string).collect(),
        preloaded: None,
    };
    let limit = Duration::from_secs_f64(3.0 * options.total as f64 / options.rate + 10.0);
    let counts = bench.ours.measure(bench.cores.client, &job, limit)?.counts;
    server.stop()?;
    Ok(counts)
}
