//! Tables 13: times of streamed answers as httperf and NVIDIA's aiperf report them, compared with the truth from the
//! stream server's record.

mod clients;
pub(crate) mod server;
mod truth;

use std::time::Duration;

use anyhow::{Context, ensure};

use self::clients::{Client, Reported, Site};
use self::truth::Truth;
use crate::child::BenchServer;
use crate::exchanges::Percentiles;
use crate::output::{Table, median, thousands};
use crate::speed::programs::version;
use crate::tools::Bench;
use crate::words::Words;

/// Extent of the measurement.
#[derive(Debug)]
pub(crate) struct Options {
    /// Numbers of streams that are open at a time.
    pub(crate) streams: Vec<u32>,
    /// Length of a run, if that has enough requests.
    pub(crate) seconds: u64,
    pub(crate) requests_min: u64,
    pub(crate) rounds: usize,
    pub(crate) answer: Answer,
}

/// The answer to each request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    /// Time to its first token.
    pub(crate) first: Duration,
    /// Between two tokens.
    pub(crate) gap: Duration,
    pub(crate) tokens: u32,
}

impl Default for Options {
    fn default() -> Self {
        let answer = Answer { first: Duration::from_millis(200), gap: Duration::from_millis(50), tokens: 37 };
        Options { streams: vec![1, 100, 1_000], seconds: 30, requests_min: 100, rounds: 1, answer }
    }
}

impl Options {
    pub(crate) fn parse(words: &mut Words) -> anyhow::Result<Self> {
        let default = Options::default();
        let options = Options {
            streams: words.list("--streams")?.unwrap_or(default.streams),
            seconds: words.value("--streams-seconds")?.unwrap_or(default.seconds),
            rounds: words.value("--streams-rounds")?.unwrap_or(default.rounds),
            ..default
        };
        ensure!(!options.streams.contains(&0), "--streams: expected numbers above 0, got 0");
        ensure!(options.seconds > 0, "--streams-seconds: expected a number above 0, got 0");
        ensure!(options.rounds > 0, "--streams-rounds: expected a number above 0, got 0");
        Ok(options)
    }

    /// A run of less than a second, and aiperf's start.
    pub(crate) fn smoke() -> Self {
        let answer = Answer { first: Duration::from_millis(20), gap: Duration::from_millis(10), tokens: 4 };
        Options { streams: vec![2], seconds: 1, requests_min: 1, rounds: 1, answer }
    }
}

/// The load of a run: a rate of requests that keeps a number of streams open.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Load {
    streams: u32,
    /// Requests per second.
    rate: f64,
    requests: u64,
}

impl Load {
    fn new(options: &Options, streams: u32) -> Self {
        let rate = f64::from(streams) / options.answer.length().as_secs_f64();
        let requests = (rate * options.seconds as f64).round() as u64;
        Load { streams, rate, requests: requests.max(options.requests_min) }
    }

    /// A program that cannot keep up may take three times as long as planned, and then some.
    fn limit(&self) -> Duration {
        Duration::from_secs((3.0 * self.requests as f64 / self.rate).ceil() as u64 + 30)
    }
}

impl Answer {
    fn length(&self) -> Duration {
        self.first + self.gap * (self.tokens - 1)
    }
}

/// Times of answers.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Times {
    /// Time to first token, from sending.
    ttft: Percentiles,
    /// The same from the instant at which the request was due.
    due: Percentiles,
    /// Between two tokens of an answer.
    itl: Percentiles,
    /// Mean time between the tokens of an answer.
    tpot: Percentiles,
}

impl Times {
    const COLUMNS: [&str; 8] = ["TTFT p50", "p99", "due p50", "p99", "ITL p50", "p99", "TPOT p50", "p99"];

    fn columns_us(&self) -> [Option<f64>; 8] {
        let Times { ttft, due, itl, tpot } = self;
        [ttft.p50_us, ttft.p99_us, due.p50_us, due.p99_us, itl.p50_us, itl.p99_us, tpot.p50_us, tpot.p99_us]
    }
}

/// A run, as reported by the client and as recorded by the server.
struct Run {
    reported: Reported,
    truth: Truth,
}

/// Measures both tables.
pub(crate) fn measure(bench: &Bench, options: &Options) -> anyhow::Result<Vec<String>> {
    if !bench.ours.knows("--llm") {
        return Ok(vec!["Tables 13: the program under test has no --llm\n".to_owned()]);
    }
    let aiperf = match Client::Aiperf.program(bench) {
        Some(path) => format!("aiperf {}", version(&path, "aiperf")),
        None => "aiperf: not installed, so not measured".to_owned(),
    };
    let Answer { first, gap, tokens } = options.answer;
    let columns = [&["streams, program"], &Times::COLUMNS[..], &["answers"]].concat();
    let shape = format!("{tokens} tokens, the first after {first:?}, the others {gap:?} apart");
    let runs = if options.rounds == 1 {
        "one run each".to_owned()
    } else {
        format!("medians of {} runs", options.rounds)
    };
    let mut errors = Table::new(
        format!("Table 13a. Reported minus true times in ms, {shape}; {runs}"),
        &[&columns[..], &["CPU s"]].concat(),
    );
    let mut truths = Table::new(format!("Table 13b. True times in ms, {runs}"), &columns);
    for &streams in &options.streams {
        let load = Load::new(options, streams);
        let clients: Vec<Client> = Client::ALL.into_iter().filter(|it| it.program(bench).is_some()).collect();
        let mut runs: Vec<Vec<Run>> = clients.iter().map(|_| Vec::new()).collect();
        for _ in 0..options.rounds {
            for (client, runs) in clients.iter().zip(&mut runs) {
                runs.push(run(bench, options, &load, *client)?);
            }
        }
        for (client, runs) in clients.iter().zip(&runs) {
            let name = format!("{}, {}", thousands(streams.into()), client.name());
            errors.row(error_cells(&name, &load, runs));
            truths.row(truth_cells(&name, runs));
            note_troubles(&mut errors, options, &name, &load, runs);
        }
    }
    errors.note("TTFT: from sending; due: from the schedule, with which aiperf's only TTFT, from sending, is compared too");
    errors.note("aiperf: ITL is its inter-chunk latency, TPOT is what it calls inter-token latency");
    errors.note(
        "answers: complete ones, of the requests of a run; CPU: of the whole process, its start included",
    );
    truths.note(
        "TTFT: from the kernel's receipt of the request, at the server, to the writing of the first token",
    );
    Ok(vec![format!("Tables 13 are measured with {aiperf}\n"), errors.to_string(), truths.to_string()])
}

/// Makes one run against a fresh server.
fn run(bench: &Bench, options: &Options, load: &Load, client: Client) -> anyhow::Result<Run> {
    let folder = tempfile::tempdir()?;
    let record = folder.path().join("record");
    let Answer { first, gap, tokens } = options.answer;
    let [first, gap] = [first, gap].map(|time| time.as_millis().to_string());
    let tokens_text = tokens.to_string();
    let server = BenchServer::start_as(
        "stream-server",
        bench.cores.server,
        &[
            "--first-ms",
            &first,
            "--gap-ms",
            &gap,
            "--tokens",
            &tokens_text,
            "--record",
            &record.to_string_lossy(),
        ],
    )?;
    let site = Site { bench, port: server.address.port(), folder: folder.path() };
    let reported = client.run(&site, load)?;
    let counts = server.stop()?;
    ensure!(counts.ends_with(" unstamped 0"), "requests without a kernel timestamp: {counts}");
    let text = std::fs::read_to_string(&record)
        .with_context(|| format!("no record of the server in {}", record.display()))?;
    let truth = Truth::of(&server::read_record(&text)?, load.rate, tokens);
    ensure!(truth.answers > 0, "the server finished no answer for {}: {counts}", client.name());
    Ok(Run { reported, truth })
}

fn error_cells(name: &str, load: &Load, runs: &[Run]) -> Vec<String> {
    let mut cells = vec![name.to_owned()];
    for column in 0..Times::COLUMNS.len() {
        let error = |run: &Run| {
            Some(run.reported.times.columns_us()[column]? - run.truth.times.columns_us()[column]?)
        };
        cells.push(median_of(runs, error).map_or_else(|| "-".to_owned(), |us| format!("{:+.3}", us / 1e3)));
    }
    let answers = median_of(runs, |run| Some(run.reported.answers as f64)).unwrap_or(0.0);
    cells.push(format!("{} of {}", thousands(answers as u64), thousands(load.requests)));
    let cpu = median_of(runs, |run| Some(run.reported.cpu.as_secs_f64())).unwrap_or(0.0);
    cells.push(format!("{cpu:.2}"));
    cells
}

fn truth_cells(name: &str, runs: &[Run]) -> Vec<String> {
    let mut cells = vec![name.to_owned()];
    for column in 0..Times::COLUMNS.len() {
        let us = median_of(runs, |run| run.truth.times.columns_us()[column]);
        cells.push(us.map_or_else(|| "-".to_owned(), |us| format!("{:.3}", us / 1e3)));
    }
    let answers = median_of(runs, |run| Some(run.truth.answers as f64)).unwrap_or(0.0);
    cells.push(thousands(answers as u64));
    cells
}

/// Median over runs; `None` if one has no value.
fn median_of(runs: &[Run], value: impl Fn(&Run) -> Option<f64>) -> Option<f64> {
    let values: Option<Vec<f64>> = runs.iter().map(value).collect();
    values.map(|values| median(&values))
}

/// Adds what a reader of the figures should know of these runs.
fn note_troubles(table: &mut Table, options: &Options, name: &str, load: &Load, runs: &[Run]) {
    let errors: u64 = runs.iter().map(|run| run.reported.errors).sum();
    if errors > 0 {
        table.note(format!("{name}: {} errors", thousands(errors)));
    }
    let stopped = runs.iter().filter(|run| run.reported.overdue).count();
    if stopped > 0 {
        table.note(format!("{name}: stopped before the end in {stopped} run(s)"));
    }
    let differing = runs.iter().filter(|run| run.reported.answers != run.truth.answers).count();
    if differing > 0 {
        table.note(format!(
            "{name}: not all answers that the server finished were counted, in {differing} run(s)"
        ));
    }
    let without = |run: &Run| {
        (run.reported.answers * u64::from(options.answer.tokens - 1)).saturating_sub(run.reported.gaps)
    };
    let together = runs.iter().map(without).max().unwrap_or(0);
    if together > 0 {
        table.note(format!(
            "{name}: up to {} tokens of a run came together with another",
            thousands(together)
        ));
    }
    let seconds = median_of(runs, |run| Some(run.truth.seconds)).unwrap_or(0.0);
    let planned = load.requests as f64 / load.rate;
    if seconds > 1.05 * planned {
        table.note(format!("{name}: requests came over {seconds:.0} s instead of {planned:.0} s"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_keeps_as_many_streams_open_as_wanted() {
        let options = Options::default();
        let load = |streams| Load::new(&options, streams);
        assert_eq!(load(1_000), Load { streams: 1_000, rate: 500.0, requests: 15_000 });
        assert_eq!(load(1), Load { streams: 1, rate: 0.5, requests: 100 });
        assert_eq!(load(1).limit(), Duration::from_secs(630));
    }

    #[test]
    fn options_make_sense() {
        let parse = |line: &str| Options::parse(&mut Words::new(line.split(' ').map(String::from)));
        assert_eq!(parse("--streams 1,100").unwrap().streams, [1, 100]);
        assert!(parse("--streams 1,0").is_err());
        assert!(parse("--streams-seconds 0").is_err());
        assert!(parse("--streams-rounds 0").is_err());
    }

    /// A run with these counts of answers, and with all times alike.
    fn run(answers: u64, finished: u64, gaps: u64) -> Run {
        let times = |us| Percentiles { p50_us: Some(us), p90_us: None, p99_us: None, max_us: None };
        let reported = Reported {
            answers,
            errors: 0,
            times: Times { ttft: times(1_250.0), due: times(1_250.0), itl: times(500.0), tpot: times(500.0) },
            gaps,
            cpu: Duration::from_millis(1_500),
            overdue: false,
        };
        let times =
            Times { ttft: times(1_000.0), due: times(2_000.0), itl: times(750.0), tpot: times(750.0) };
        Run { reported, truth: Truth { answers: finished, seconds: 1.0, times } }
    }

    #[test]
    fn errors_are_reported_minus_true_times() {
        let load = Load { streams: 2, rate: 2.0, requests: 4 };
        let cells = error_cells("name", &load, &[run(4, 4, 12)]);
        assert_eq!(
            cells,
            ["name", "+0.250", "-", "-0.750", "-", "-0.250", "-", "-0.250", "-", "4 of 4", "1.50"]
        );
    }

    #[test]
    fn a_note_tells_of_answers_and_gaps_that_were_not_counted() {
        let (options, load) = (Options::smoke(), Load { streams: 2, rate: 4.0, requests: 4 });
        let notes = |run: Run| {
            let mut table = Table::new("", &["name"]);
            note_troubles(&mut table, &options, "name", &load, &[run]);
            table.to_string().matches("note: ").count()
        };
        assert_eq!(notes(run(4, 4, 12)), 0);
        assert_eq!(notes(run(3, 4, 9)), 1);
        assert_eq!(notes(run(4, 4, 10)), 1);
    }
}
