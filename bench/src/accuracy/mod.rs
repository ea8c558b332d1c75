//! Tables 9: latencies reported by load generators, compared with the truth from the reference server's
//! stamps.

mod delays;
pub(crate) mod server;

use anyhow::{Context, ensure};

use crate::child::BenchServer;
use crate::exchanges::{Exchange, Percentiles, Scheduled};
use crate::output::{Table, thousands};
use crate::speed::programs::{Load, Outcome, Program, Site, Timing};
use crate::tools::Bench;
use crate::words::Words;

use self::delays::Delays;
use self::server::read_record;

/// Extent of the measurement.
#[derive(Debug)]
pub(crate) struct Options {
    /// Length of a run: whole seconds, as wrk supports no others.
    pub(crate) seconds: f64,
    /// Calls per second of the open loop.
    pub(crate) rate: f64,
    pub(crate) connections: u32,
    pub(crate) delays: Vec<Delays>,
}

impl Default for Options {
    fn default() -> Self {
        Options { seconds: 8.0, rate: 800.0, connections: 32, delays: Delays::ALL.to_vec() }
    }
}

impl Options {
    pub(crate) fn parse(words: &mut Words) -> anyhow::Result<Self> {
        let default = Options::default();
        let options = Options {
            seconds: words.value("--accuracy-seconds")?.unwrap_or(default.seconds),
            rate: words.value("--accuracy-rate")?.unwrap_or(default.rate),
            connections: words.value("--accuracy-connections")?.unwrap_or(default.connections),
            delays: words.list("--accuracy-delays")?.unwrap_or(default.delays),
        };
        ensure!(options.seconds > 0.0, "--accuracy-seconds: expected a number above 0, got 0");
        ensure!(
            options.connections > 0
                && options.rate > 0.0
                && options.rate % f64::from(options.connections) == 0.0,
            "--accuracy-rate: expected a multiple of the connections, which h2load needs, got {} for {}",
            options.rate,
            options.connections
        );
        Ok(options)
    }

    /// A brief run with a stall, which covers everything the server can do.
    pub(crate) fn smoke() -> Self {
        Options { seconds: 0.5, rate: 320.0, connections: 4, delays: vec![Delays::Stall] }
    }
}

/// Name, program, and way of taking times.
type Contestant = (&'static str, Program, Timing);

const CLOSED_LOOP: [Contestant; 7] = [
    ("httperf", Program::Httperf, Timing::Usual),
    ("httperf --clock=kernel", Program::Httperf, Timing::KernelClock),
    ("oha", Program::Oha, Timing::Usual),
    ("wrk", Program::Wrk, Timing::Usual),
    ("h2load", Program::H2load, Timing::Usual),
    ("hey", Program::Hey, Timing::Usual),
    ("ab", Program::Ab, Timing::Usual),
];

const OPEN_LOOP: [Contestant; 7] = [
    ("httperf", Program::Httperf, Timing::Usual),
    ("httperf --clock=program", Program::Httperf, Timing::ProgramClock),
    ("oha, corrected", Program::Oha, Timing::Usual),
    ("oha", Program::Oha, Timing::FromSending),
    ("wrk2", Program::Wrk2, Timing::Usual),
    ("h2load", Program::H2load, Timing::Usual),
    ("hey", Program::Hey, Timing::Usual),
];

/// Programs other than ours.
const PROGRAMS: [Program; 6] =
    [Program::Wrk, Program::Wrk2, Program::H2load, Program::Ab, Program::Oha, Program::Hey];

/// Reciprocal of the stall's share of a run. The stall begins in the middle.
const STALL_SHARE: u64 = 8;

/// Measures a table for each kind of delays and each loop.
pub(crate) fn measure(bench: &Bench, options: &Options) -> anyhow::Result<Vec<String>> {
    if !bench.ours.knows("--request-rate") {
        return Ok(vec!["Tables 9: the program under test has no --request-rate\n".to_owned()]);
    }
    let mut blocks =
        vec![format!("Tables 9 are measured with\n  {}\n", Program::versions(&PROGRAMS).join("\n  "))];
    for &delays in &options.delays {
        blocks.push(closed_loop(bench, options, delays)?.to_string());
        blocks.push(open_loop(bench, options, delays)?.to_string());
    }
    Ok(blocks)
}

const COLUMNS: [&str; 11] =
    ["program", "p50", "true", "p90", "true", "p99", "true", "max", "true", "calls/s", "true"];

fn closed_loop(bench: &Bench, options: &Options, delays: Delays) -> anyhow::Result<Table> {
    let mut table = Table::new(
        format!(
            "Table 9. Closed loop, {} connections, {} s; {}; ms, reported and true",
            options.connections,
            options.seconds,
            delays.description()
        ),
        &COLUMNS,
    );
    let load = Load { percentiles: true, ..Load::closed_loop(options.connections, options.seconds) };
    for contestant in CLOSED_LOOP {
        let Some(run) = run(&mut table, bench, &load, delays, contestant)? else { continue };
        // In a closed loop, our latency counts from when a call could be made, that of the others from
        // sending.
        let reported =
            if contestant.1 == Program::Httperf { run.outcome.service } else { run.outcome.latency };
        table.row(row(contestant.0, &run, &reported, &run.service()));
    }
    table.note("true: from the kernel's receipt of the request to the writing of its reply, at the server");
    Ok(table)
}

fn open_loop(bench: &Bench, options: &Options, delays: Delays) -> anyhow::Result<Table> {
    let mut columns = COLUMNS.to_vec();
    columns.push("service p99");
    let mut table = Table::new(
        format!(
            "Table 9. {} calls/s on {} connections, {} s; {}; ms, reported and true",
            thousands(options.rate as u64),
            options.connections,
            options.seconds,
            delays.description()
        ),
        &columns,
    );
    let load = Load {
        rate: Some(options.rate),
        percentiles: true,
        ..Load::closed_loop(options.connections, options.seconds)
    };
    for contestant in OPEN_LOOP {
        let Some(run) = run(&mut table, bench, &load, delays, contestant)? else { continue };
        let schedule = contestant.1.schedule();
        let scheduled = Scheduled::of(&run.exchanges, schedule, options.rate, options.connections);
        let mut cells =
            row(contestant.0, &run, &run.outcome.latency, &Percentiles::of(scheduled.latencies_us));
        cells.push(in_ms(run.service().p99_us));
        table.row(cells);
    }
    table.note("true: from when the request was due to the writing of its reply, at the server");
    table.note("service p99: the same from the kernel's receipt of the request");
    table.note("wrk and ab have no fixed rate");
    Ok(table)
}

/// A run, as reported by the program and as seen by the server.
struct Run {
    outcome: Outcome,
    exchanges: Vec<Exchange>,
    seconds: f64,
}

impl Run {
    /// Requests received per second of the run, which begins with the first.
    fn rate(&self) -> f64 {
        let end_ns = self.exchanges[0].request_ns + (self.seconds * 1e9) as u64;
        self.exchanges.partition_point(|exchange| exchange.request_ns < end_ns) as f64 / self.seconds
    }

    /// Time from the arrival of each request to its reply.
    fn service(&self) -> Percentiles {
        Percentiles::of(self.exchanges.iter().filter_map(Exchange::service_us).collect())
    }
}

/// Makes one run against a fresh server; adds a note instead if the program is not available.
fn run(
    table: &mut Table,
    bench: &Bench,
    load: &Load,
    delays: Delays,
    (name, program, timing): Contestant,
) -> anyhow::Result<Option<Run>> {
    if !program.is_installed() {
        table.note(format!("{name}: not installed"));
        return Ok(None);
    }
    if timing == Timing::KernelClock && !bench.ours.knows("--clock") {
        table.note(format!("{name}: the program under test has no such option"));
        return Ok(None);
    }
    let folder = tempfile::tempdir()?;
    let record = folder.path().join("record");
    let mut options = vec!["--delays".to_owned(), delays.to_string()];
    options.extend(["--record".to_owned(), record.display().to_string()]);
    if delays == Delays::Stall {
        let run_ms = (load.seconds * 1e3) as u64;
        options.extend(["--stall-after-ms".to_owned(), (run_ms / 2).to_string()]);
        options.extend(["--stall-ms".to_owned(), (run_ms / STALL_SHARE).to_string()]);
    }
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let server = BenchServer::start_as("accuracy-server", bench.cores.server, &options)?;
    let site = Site::new(bench, server.address.port())?;
    let outcome = site.run(program, &Load { timing, ..*load })?;
    let counts = server.stop()?;

    if !counts.ends_with(" unstamped 0") {
        table.note(format!("{name}: some requests without a kernel timestamp: {counts}"));
    }
    if outcome.errors > 0 {
        table.note(format!("{name}: {} errors", thousands(outcome.errors)));
    }
    let text = std::fs::read_to_string(&record)
        .with_context(|| format!("no record of the server in {}", record.display()))?;
    let exchanges = read_record(&text)?;
    ensure!(exchanges.len() > 1, "the server saw no requests of {name}: {counts}");
    Ok(Some(Run { outcome, exchanges, seconds: load.seconds }))
}

fn row(name: &str, run: &Run, reported: &Percentiles, truth: &Percentiles) -> Vec<String> {
    let mut cells = vec![name.to_owned()];
    for percentile in [
        |of: &Percentiles| of.p50_us,
        |of: &Percentiles| of.p90_us,
        |of: &Percentiles| of.p99_us,
        |of: &Percentiles| of.max_us,
    ] {
        cells.extend([in_ms(percentile(reported)), in_ms(percentile(truth))]);
    }
    cells.extend([run.outcome.rate, run.rate()].map(|rate| thousands(rate.round() as u64)));
    cells
}

/// Formats milliseconds with two decimals, and from a hundred as an integer.
fn in_ms(time_us: Option<f64>) -> String {
    match time_us {
        None => "-".to_owned(),
        Some(us) if us >= 100_000.0 => format!("{:.0}", us / 1e3),
        Some(us) => format!("{:.2}", us / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_have_a_suitable_number_of_digits() {
        assert_eq!(in_ms(None), "-");
        assert_eq!(in_ms(Some(1_062.0)), "1.06");
        assert_eq!(in_ms(Some(51_230.0)), "51.23");
        assert_eq!(in_ms(Some(1_000_400.0)), "1000");
    }

    #[test]
    fn the_rate_is_over_the_planned_time() {
        let at = |request_ns| Exchange { connection: 1, request_ns, replied_ns: None };
        let outcome = Outcome {
            replies: 3,
            errors: 0,
            rate: 3.0,
            cpu: Duration::ZERO,
            user: Duration::ZERO,
            latency: Percentiles::default(),
            service: Percentiles::default(),
            dropped: 0,
        };
        let exchanges = vec![at(7), at(500_000_000), at(1_000_000_000), at(1_000_000_007)];
        assert_eq!(Run { outcome, exchanges, seconds: 1.0 }.rate(), 3.0);
    }

    #[test]
    fn options_make_sense_together() {
        let parse = |line: &str| Options::parse(&mut Words::new(line.split(' ').map(String::from)));
        assert_eq!(parse("--accuracy-delays stall,jitter").unwrap().delays, [Delays::Stall, Delays::Jitter]);
        assert!(parse("--accuracy-rate 100").is_err());
        assert!(parse("--accuracy-connections 0").is_err());
        assert!(parse("--accuracy-seconds 0").is_err());
    }
}
