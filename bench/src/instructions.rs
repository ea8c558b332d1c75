//! Table 7: instructions per call of the program under test, outside the kernel, counted by callgrind. Unlike
//! processor time, they hardly vary between runs, however busy the machine is, so even a small increase
//! shows. Only the thread that makes the calls counts: what others do goes by the second, and is more where the machine
//! is busy.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::child::Running;
use crate::output::{Table, median, progress, results_folder, skipped, thousands};
use crate::scenarios::{SERVER, Step};
use crate::tools::{Bench, find_program, release_build, workspace_build};
use crate::words::Words;

/// Uses of the counts.
#[derive(Debug)]
pub(crate) struct Options {
    /// Fail if a count has risen too much.
    check: bool,
    /// Record the counts.
    save: bool,
    /// Build of the program to count.
    profile: Profile,
}

impl Options {
    pub(crate) fn parse(mut words: Words) -> anyhow::Result<Self> {
        let profile = if words.flag("--dev") { Profile::Dev } else { Profile::Release };
        let options = Options { check: words.flag("--check"), save: words.flag("--save"), profile };
        words.finish()?;
        Ok(options)
    }
}

/// Cargo profile of the program under test. Each has counts of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Profile {
    /// The program next to this one, as `cargo test --workspace` leaves it.
    Dev,
    Release,
}

impl Profile {
    /// Path of the program; a release is built first.
    fn program(self) -> anyhow::Result<PathBuf> {
        match self {
            Profile::Dev => workspace_build(),
            Profile::Release => release_build(),
        }
    }

    /// Ratio to the recorded count above which the check fails. In either profile, runs of one build differ by less
    /// than 1.5 %. The dev profile splits crates into many units and inlines little across them, so an edit anywhere
    /// in a crate can move a count: adding an unused function to the engine changed one by 7 %.
    fn ratio_max(self) -> f64 {
        match self {
            Profile::Dev => 1.15,
            Profile::Release => 1.03,
        }
    }

    /// Calls of the shorter of two runs; the longer one makes twice as many.
    fn calls(self) -> u32 {
        match self {
            Profile::Dev => 1_000,
            Profile::Release => 4_000,
        }
    }

    /// Options that select this profile.
    fn options(self) -> &'static str {
        match self {
            Profile::Dev => " --dev",
            Profile::Release => "",
        }
    }
}

/// Number of measurements for a reliable count.
const ROUNDS: usize = 3;
/// Time limit of a run, which takes some fifty times as long as without callgrind.
const LIMIT: Duration = Duration::from_secs(120);

const NO_VALGRIND: &str = "valgrind is not installed";

/// A kind of work. All of it uses one connection at a time, so that events are handled in the same batches in
/// every run.
#[derive(Debug, Clone, Copy)]
struct Work {
    name: &'static str,
    connection_each: bool,
    /// Calls are due at a rate, one by one: on this many connections, each with a schedule of its own.
    own_schedules: Option<u32>,
    /// Outstanding calls; over HTTP/2 each has its own stream.
    pipeline: u32,
    http2: bool,
    /// The calls are this step of a scenario.
    step: Option<Step>,
    /// The seconds are written as metrics.
    watched: bool,
}

/// One call after another on a connection.
const KEPT: Work = Work {
    name: "connection kept",
    connection_each: false,
    own_schedules: None,
    pipeline: 1,
    http2: false,
    step: None,
    watched: false,
};

const WORKS: [Work; 9] = [
    KEPT,
    Work { name: "kept, with metrics", watched: true, ..KEPT },
    Work { name: "pipelined x16", pipeline: 16, ..KEPT },
    Work { name: "connection each", connection_each: true, ..KEPT },
    Work { name: "HTTP/2", http2: true, ..KEPT },
    Work { name: "HTTP/2, 32 streams", http2: true, pipeline: 32, ..KEPT },
    Work { name: "1,000 schedules", own_schedules: Some(1_000), ..KEPT },
    Work { name: "step-plain", step: Some(Step::Plain), ..KEPT },
    Work { name: "step-full", step: Some(Step::Full), ..KEPT },
];

/// Counts and their environment: with another compiler, C library or processor, the same source takes
/// different instructions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Record {
    environment: Environment,
    instructions_per_call: BTreeMap<String, u64>,
}

/// Everything besides the source that affects the counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Environment {
    profile: Profile,
    /// Environment variables that change the profile's settings.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    profile_settings: String,
    rustc: String,
    rustflags: String,
    valgrind: String,
    libc: String,
    architecture: String,
    /// Features of the processor by which libraries choose implementations, as far as valgrind exposes them.
    processor: String,
}

/// Counts, and compares with the recorded counts.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    ensure!(
        std::env::var_os("HTTPERF_BIN").is_none() || !(options.check || options.save),
        "HTTPERF_BIN: what is checked or recorded is the workspace's own program"
    );
    if find_program("valgrind").is_none() {
        return skipped(&format!("instructions: {NO_VALGRIND}"));
    }
    let profile = options.profile;
    let environment = Environment::here(profile)?;
    let mut records = read_records()?;
    let recorded = records.iter().position(|record| record.environment == environment);
    if options.check && recorded.is_none() {
        println!("{}", environment.differences(&records));
        println!("(`httperf-bench instructions{} --save` records them)", profile.options());
        return skipped("instructions: none are recorded for this environment");
    }

    let bench = Bench::of(profile.program()?)?;
    let expected = recorded.map(|index| records[index].instructions_per_call.clone()).unwrap_or_default();
    let counts =
        if options.save { measure_surely(&bench, profile)? } else { measure(&bench, profile, &expected)? };
    println!("{}", table(&counts, profile, &expected));
    if options.save {
        let record = Record { environment, instructions_per_call: counts };
        match recorded {
            Some(index) => records[index] = record,
            None => records.push(record),
        }
        let path = records_path();
        let text = serde_json::to_string_pretty(&records)?;
        std::fs::write(&path, text + "\n").with_context(|| format!("cannot write {}", path.display()))?;
        println!("recorded in {}", path.display());
        return Ok(());
    }
    let risen = risen(&counts, profile, &expected);
    if options.check && !risen.is_empty() {
        bail!(
            "{}\nhint: make calls cheaper, or record the new counts with `httperf-bench instructions{} --save`",
            risen.join("; "),
            profile.options(),
        );
    }
    Ok(())
}

/// The table alone, for measurements of all tables.
pub(crate) fn measure_table() -> anyhow::Result<String> {
    if find_program("valgrind").is_none() {
        return Ok(format!("Table 7: {NO_VALGRIND}, so instructions are not counted\n"));
    }
    let bench = Bench::of(release_build()?)?;
    if !bench.ours.knows("--concurrency") {
        return Ok("Table 7: the program under test has no --concurrency\n".to_owned());
    }
    let environment = Environment::here(Profile::Release)?;
    let recorded = read_records()?.into_iter().find(|record| record.environment == environment);
    let expected = recorded.map(|record| record.instructions_per_call).unwrap_or_default();
    let counts = measure_surely(&bench, Profile::Release)?;
    Ok(table(&counts, Profile::Release, &expected).to_string())
}

/// Checks briefly that counting works; returns `None` if valgrind is not installed.
pub(crate) fn smoke(bench: &Bench) -> anyhow::Result<Option<u64>> {
    if find_program("valgrind").is_none() {
        return Ok(None);
    }
    /// Enough calls not to be lost in variations between runs, such as the number of wake-ups.
    const CALLS: u32 = 500;
    WORKS[0].instructions_per_call(bench, CALLS).map(Some)
}

/// Measures each count once; repeats those that look too high and takes the median of three.
fn measure(
    bench: &Bench,
    profile: Profile,
    expected: &BTreeMap<String, u64>,
) -> anyhow::Result<BTreeMap<String, u64>> {
    let mut counts = BTreeMap::new();
    for work in WORKS {
        let first = work.instructions_per_call(bench, work.calls(profile))?;
        let is_high =
            expected.get(work.name).is_some_and(|&expected| ratio(first, expected) > profile.ratio_max());
        let count = if is_high { work.median_of(bench, profile)? } else { first };
        counts.insert(work.name.to_owned(), count);
    }
    Ok(counts)
}

/// Measures the median of each count.
fn measure_surely(bench: &Bench, profile: Profile) -> anyhow::Result<BTreeMap<String, u64>> {
    WORKS.into_iter().map(|work| Ok((work.name.to_owned(), work.median_of(bench, profile)?))).collect()
}

impl Work {
    fn calls(self, profile: Profile) -> u32 {
        match profile {
            // Beyond 7,000 connections, the program chooses local ports itself; both runs are beyond.
            Profile::Release if self.connection_each => 8_000,
            _ => profile.calls(),
        }
    }

    fn median_of(self, bench: &Bench, profile: Profile) -> anyhow::Result<u64> {
        let counts: anyhow::Result<Vec<f64>> =
            (0..ROUNDS).map(|_| Ok(self.instructions_per_call(bench, self.calls(profile))? as f64)).collect();
        Ok(median(&counts?).round() as u64)
    }

    /// Instructions for `calls` more calls: start and end of the program are in both runs and cancel out.
    fn instructions_per_call(self, bench: &Bench, calls: u32) -> anyhow::Result<u64> {
        progress(&format!("instructions, {}, {calls} calls and twice as many", self.name));
        let mut server = if self.http2 {
            // The bench server does not support HTTP/2.
            let mut command = Command::new(bench.ours.path());
            command.args(["serve", "--listen=127.0.0.1:0"]);
            Running::start(command, bench.cores.server)?
        } else {
            let mut command = Command::new(std::env::current_exe()?);
            command.arg("server").args(SERVER);
            Running::start(command, bench.cores.server)?
        };
        let place = server.place()?;
        let url = if place.contains("://") { place } else { format!("http://{place}/") };
        let short = self.instructions(bench, &url, calls)?;
        let long = self.instructions(bench, &url, 2 * calls)?;
        let more = long.checked_sub(short).context("the longer run took fewer instructions")?;
        Ok((more as f64 / f64::from(calls)).round() as u64)
    }

    fn instructions(self, bench: &Bench, url: &str, calls: u32) -> anyhow::Result<u64> {
        let mut command = Command::new("valgrind");
        let (folder, counts) = (tempfile::tempdir()?, tempfile::tempdir()?);
        let file = format!("--callgrind-out-file={}", counts.path().join("thread").display());
        command.args(["--tool=callgrind", "--separate-threads=yes", &file]).arg(bench.ours.path());
        if let Some(step) = self.step {
            command.arg("run").arg(step.write_workload(folder.path(), 1, calls.into())?);
            command.args(["--base", url.trim_end_matches('/'), "--report=classic"]);
        } else if let Some(connections) = self.own_schedules {
            command.args([url, "--request-rate=1000", "--per-connection", "--report=classic"]);
            command.args([format!("--concurrency={connections}"), format!("--num-calls={calls}")]);
        } else {
            command.args([url, "--concurrency=1", "--report=classic"]);
            let (connections, calls_each) = if self.connection_each { (calls, 1) } else { (1, calls) };
            command.args([format!("--num-conns={connections}"), format!("--num-calls={calls_each}")]);
        }
        if self.watched {
            command.arg("--influx=/dev/null");
        }
        if self.connection_each {
            command.arg("--close-with-reset");
        }
        if self.http2 {
            command.args(["--http-version=2".to_owned(), format!("--streams={}", self.pipeline)]);
        } else if self.pipeline > 1 {
            command.arg(format!("--pipeline={}", self.pipeline));
        }
        let finished = Running::start(command, bench.cores.client)?.finish(LIMIT)?;
        ensure!(finished.status.success(), "httperf fails under callgrind: {}", finished.last_words());
        let replies = bench.ours.counts(&finished)?.replies;
        ensure!(replies == u64::from(calls), "expected {calls} replies, got {replies}");
        let mut most = None;
        for file in std::fs::read_dir(counts.path())? {
            most = most.max(total(&std::fs::read_to_string(file?.path())?));
        }
        most.with_context(|| format!("no count from callgrind: {}", finished.last_words()))
    }
}

/// The total of a thread, from the file that callgrind writes of it; there is another one without.
fn total(profile: &str) -> Option<u64> {
    profile.lines().find_map(|line| line.strip_prefix("totals: "))?.parse().ok()
}

fn ratio(count: u64, expected: u64) -> f64 {
    count as f64 / expected as f64
}

fn table(counts: &BTreeMap<String, u64>, profile: Profile, expected: &BTreeMap<String, u64>) -> Table {
    let mut table = Table::new(
        "Table 7. Instructions per call in user space, by callgrind",
        &["work", "counted", "recorded", "ratio"],
    );
    for work in WORKS {
        let Some(&count) = counts.get(work.name) else { continue };
        let (recorded, shown_ratio) = match expected.get(work.name) {
            Some(&recorded) => (thousands(recorded), format!("{:.3}", ratio(count, recorded))),
            None => ("-".to_owned(), "-".to_owned()),
        };
        table.row(vec![work.name.to_owned(), thousands(count), recorded, shown_ratio]);
        if expected.get(work.name).is_some_and(|&recorded| ratio(count, recorded) < 1.0 / profile.ratio_max())
        {
            table.note(format!(
                "{}: less than recorded; `httperf-bench instructions{} --save` records the new count",
                work.name,
                profile.options()
            ));
        }
    }
    if expected.is_empty() {
        table.note("no counts are recorded for this compiler, C library, valgrind and processor");
    }
    table
}

/// A sentence for each count that has risen too much.
fn risen(counts: &BTreeMap<String, u64>, profile: Profile, expected: &BTreeMap<String, u64>) -> Vec<String> {
    expected
        .iter()
        .filter_map(|(name, &expected)| Some((name, *counts.get(name)?, expected)))
        .filter(|&(_, count, expected)| ratio(count, expected) > profile.ratio_max())
        .map(|(name, count, expected)| {
            format!(
                "{name}: {} instructions per call, where {} are recorded, {:.1} % more",
                thousands(count),
                thousands(expected),
                (ratio(count, expected) - 1.0) * 100.0
            )
        })
        .collect()
}

impl Environment {
    fn here(profile: Profile) -> anyhow::Result<Self> {
        Ok(Environment {
            profile,
            profile_settings: profile_settings(std::env::vars()),
            rustc: first_line("rustc", "--version")?,
            rustflags: std::env::var("RUSTFLAGS").unwrap_or_default(),
            valgrind: first_line("valgrind", "--version")?,
            libc: first_line("getconf", "GNU_LIBC_VERSION").unwrap_or_else(|_| "unknown".to_owned()),
            architecture: std::env::consts::ARCH.to_owned(),
            processor: processor(&std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default()),
        })
    }

    /// Differences from each of the records.
    fn differences(&self, records: &[Record]) -> String {
        let fields = |of: &Environment| {
            [
                ("profile", format!("{:?}", of.profile).to_lowercase()),
                ("its settings", of.profile_settings.clone()),
                ("rustc", of.rustc.clone()),
                ("RUSTFLAGS", of.rustflags.clone()),
                ("valgrind", of.valgrind.clone()),
                ("libc", of.libc.clone()),
                ("architecture", of.architecture.clone()),
                ("processor", of.processor.clone()),
            ]
        };
        let line = |record: &Record| {
            let differing: Vec<String> = fields(self)
                .into_iter()
                .zip(fields(&record.environment))
                .filter(|(here, there)| here != there)
                .map(|((name, here), (_, there))| format!("{name} is `{here}` and was `{there}`"))
                .collect();
            format!("  {}", differing.join(", "))
        };
        records.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// Environment variables that override settings of a profile.
fn profile_settings(variables: impl Iterator<Item = (String, String)>) -> String {
    let mut settings: Vec<String> = variables
        .filter(|(name, _)| name == "CARGO_INCREMENTAL" || name.starts_with("CARGO_PROFILE_"))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    settings.sort();
    settings.join(" ")
}

/// The C library and memchr choose implementations by these; valgrind hides later ones.
fn processor(cpu_info: &str) -> String {
    const TELLING: [&str; 7] = ["sse4_2", "avx", "avx2", "bmi2", "erms", "movbe", "rtm"];
    let flags = cpu_info.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let flags: Vec<&str> = flags.split_whitespace().collect();
    TELLING.into_iter().filter(|name| flags.contains(name)).collect::<Vec<_>>().join(" ")
}

fn first_line(program: &str, argument: &str) -> anyhow::Result<String> {
    let output =
        Command::new(program).arg(argument).output().with_context(|| format!("cannot run {program}"))?;
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    output
        .lines()
        .next()
        .map(|line| line.trim().to_owned())
        .with_context(|| format!("{program} printed nothing"))
}

fn records_path() -> PathBuf {
    results_folder().join("instructions.json")
}

fn read_records() -> anyhow::Result<Vec<Record>> {
    let path = records_path();
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is not a list of counts", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(count: u64) -> BTreeMap<String, u64> {
        BTreeMap::from([("connection kept".to_owned(), count)])
    }

    #[test]
    fn the_count_of_callgrind_is_read() {
        assert_eq!(total("events: Ir\nsummary: 17\n\nfn=(1) f\n2 40\n\ntotals: 2474478\n"), Some(2_474_478));
        assert_eq!(total("events: Ir\n"), None);
    }

    #[test]
    fn a_rise_of_more_than_three_per_cent_is_flagged() {
        assert_eq!(risen(&counts(1_030), Profile::Release, &counts(1_000)), [""; 0]);
        let expected = "connection kept: 1,031 instructions per call, where 1,000 are recorded, 3.1 % more";
        assert_eq!(risen(&counts(1_031), Profile::Release, &counts(1_000)), [expected]);
        assert_eq!(risen(&counts(500), Profile::Release, &counts(1_000)), [""; 0]);
    }

    #[test]
    fn counts_of_a_dev_build_may_rise_further() {
        assert_eq!(risen(&counts(1_150), Profile::Dev, &counts(1_000)), [""; 0]);
        let expected = "connection kept: 1,151 instructions per call, where 1,000 are recorded, 15.1 % more";
        assert_eq!(risen(&counts(1_151), Profile::Dev, &counts(1_000)), [expected]);
    }

    #[test]
    fn settings_of_a_profile_are_part_of_the_environment() {
        let variables = [("PATH", "/bin"), ("CARGO_PROFILE_DEV_DEBUG", "2"), ("CARGO_INCREMENTAL", "0")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(profile_settings(variables.into_iter()), "CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=2");
    }

    #[test]
    fn counts_without_a_record_cannot_have_risen() {
        assert_eq!(risen(&counts(5_000), Profile::Release, &BTreeMap::new()), [""; 0]);
    }

    #[test]
    fn the_processor_is_described_by_the_features_that_libraries_use() {
        let cpu_info = "processor\t: 0\nflags\t\t: fpu sse4_2 avx avx2 avx512f erms\nbugs\t\t: none\n";
        assert_eq!(processor(cpu_info), "sse4_2 avx avx2 erms");
        assert_eq!(processor("Features\t: fp asimd\n"), "");
    }

    #[test]
    fn differences_of_environments_are_named() {
        let here = Environment {
            profile: Profile::Release,
            profile_settings: String::new(),
            rustc: "rustc 1.96.0".into(),
            rustflags: String::new(),
            valgrind: "valgrind-3.19.0".into(),
            libc: "glibc 2.36".into(),
            architecture: "x86_64".into(),
            processor: "avx2".into(),
        };
        let there = Environment { rustc: "rustc 1.95.0".into(), ..here.clone() };
        let record = Record { environment: there, instructions_per_call: BTreeMap::new() };
        assert_eq!(here.differences(&[record]), "  rustc is `rustc 1.96.0` and was `rustc 1.95.0`");
    }
}
