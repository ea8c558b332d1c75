//! Tables 6: cost of a call when only speed counts. The program under test and another one do the same work
//! in turn, against nginx on another core. And tables 8, the same over HTTP/2.

pub(crate) mod calls;
mod fixed_rate;
pub(crate) mod multiplexed;
pub(crate) mod programs;
mod reports;
mod wakeups;

use crate::nginx::Nginx;
use crate::output::Table;
use crate::tools::{Bench, find_program};
use crate::words::Words;

use self::programs::{Program, Site};

/// Extent of the measurement.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) pairs: usize,
    /// Length of a run: whole seconds, as wrk supports no others.
    pub(crate) seconds: f64,
    pub(crate) connections: Vec<u32>,
    /// Calls per second in 6e; by default half of the capacity.
    pub(crate) rate: Option<f64>,
    /// Letters of the tables to measure.
    pub(crate) tables: Vec<char>,
}

impl Default for Options {
    fn default() -> Self {
        // Odd, so that the median is a measured ratio.
        Options {
            pairs: 5,
            seconds: 3.0,
            connections: vec![1, 8, 64, 512],
            rate: None,
            tables: TABLES.iter().map(|&(letter, _)| letter).chain([WAKEUPS]).collect(),
        }
    }
}

impl Options {
    pub(crate) fn parse(words: &mut Words) -> anyhow::Result<Self> {
        let default = Options::default();
        Ok(Options {
            pairs: words.value("--speed-pairs")?.unwrap_or(default.pairs),
            seconds: words.value("--speed-seconds")?.unwrap_or(default.seconds),
            connections: words.list("--speed-connections")?.unwrap_or(default.connections),
            rate: words.value("--speed-rate")?,
            tables: words.list("--speed-tables")?.unwrap_or(default.tables),
        })
    }
}

type TakeTables = fn(&Site<'_>, &Options) -> anyhow::Result<Vec<Table>>;

const TABLES: [(char, TakeTables); 6] = [
    ('a', calls::kept),
    ('b', calls::pipelined),
    ('c', calls::connection_each),
    ('d', calls::bodies),
    ('e', fixed_rate::measure),
    ('f', calls::two_threads),
];

/// The letter of the table that has more than one port of the server.
const WAKEUPS: char = 'g';

/// Programs to compare with.
const PROGRAMS: [Program; 5] = [Program::Wrk, Program::Wrk2, Program::H2load, Program::Ab, Program::Oha];

/// Measures the requested tables, or notes what is missing.
pub(crate) fn measure(bench: &Bench, options: &Options) -> anyhow::Result<Vec<String>> {
    if !bench.ours.knows("--concurrency") {
        return Ok(vec!["Tables 6: the program under test has no --concurrency\n".to_owned()]);
    }
    let Some(server) = Nginx::start(bench.cores.server)? else {
        return Ok(vec!["Tables 6: nginx is not installed, so speed is not measured\n".to_owned()]);
    };
    let site = Site::new(bench, server.clear_port)?;
    let mut versions = Program::versions(&PROGRAMS);
    versions.extend(find_program("nginx").map(|path| programs::version(&path, "nginx")));
    let mut blocks = vec![format!("Tables 6 are measured with\n  {}\n", versions.join("\n  "))];
    for (_, take) in TABLES.iter().filter(|(letter, _)| options.tables.contains(letter)) {
        blocks.extend(take(&site, options)?.iter().map(ToString::to_string));
    }
    if options.tables.contains(&WAKEUPS) {
        blocks.push(wakeups::measure(bench, &server, options)?.to_string());
    }
    Ok(blocks)
}
