//! Tables 10: cost of a step of a scenario, and memory of visits under way.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::child::{BenchServer, Finished, Running};
use crate::memory::{memory_kib, socket_count};
use crate::output::{Table, median, progress, thousands};
use crate::rates::spread_row;
use crate::speed::programs::{Load, Program, Site, version};
use crate::tools::{Bench, find_program};
use crate::words::Words;

/// Extent of the measurement.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) rounds: usize,
    /// Requests of a run of the program under test.
    pub(crate) steps: u64,
    /// Length of a run of a program that makes plain requests: whole seconds, as wrk supports no others.
    pub(crate) seconds: f64,
    /// Visits under way at a time.
    pub(crate) visits: u64,
    /// Visits that start per second.
    pub(crate) rate: u64,
}

impl Default for Options {
    fn default() -> Self {
        // Odd, so that the median is a measured difference.
        Options { rounds: 7, steps: 600_000, seconds: 3.0, visits: 100_000, rate: 5_000 }
    }
}

impl Options {
    pub(crate) fn parse(words: &mut Words) -> anyhow::Result<Self> {
        let default = Options::default();
        Ok(Options {
            rounds: words.value("--scenario-rounds")?.unwrap_or(default.rounds),
            steps: words.value("--scenario-steps")?.unwrap_or(default.steps),
            visits: words.value("--scenario-visits")?.unwrap_or(default.visits),
            ..default
        })
    }
}

/// Options of the bench server: a page from which a step can take a value.
pub(crate) const SERVER: [&str; 2] = ["--nginx-head", "--page"];
/// Path of the page, and the file of a [`Site`].
const PAGE: &str = "page";
/// Persistent connections, each with sequential calls.
const KEPT: u64 = 20;
/// Time limit of a run.
const LIMIT: Duration = Duration::from_secs(120);
/// Goal for a full step over a plain call, in microseconds of user time.
const STEP_US_MAX: f64 = 1.0;
/// Goal for the memory of the visits of table 10b.
const MEMORY_MB_MAX: f64 = 400.0;
/// Visits of the run that other memory is compared with.
const BASE_VISITS: u64 = 10;

/// Measures both tables.
pub(crate) fn measure(bench: &Bench, options: &Options) -> anyhow::Result<Vec<String>> {
    if !bench.ours.makes_scenarios()? {
        return Ok(vec!["Tables 10: the program under test has no scenarios\n".to_owned()]);
    }
    let mut versions = Program::versions(&PLAIN_PROGRAMS);
    versions.push(
        find_program("hurl")
            .map_or_else(|| "hurl: not installed, so not measured".to_owned(), |path| version(&path, "hurl")),
    );
    Ok(vec![
        format!("Tables 10 are measured with\n  {}\n", versions.join("\n  ")),
        costs(bench, options)?.to_string(),
        memory(bench, options)?.to_string(),
    ])
}

/// A step of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// A request of which nothing is expected.
    Plain,
    /// A request with a template, the expected status, a capture and two checks.
    Full,
}

impl Step {
    /// The step as an entry of a Hurl file.
    fn entry(self) -> &'static str {
        match self {
            Step::Plain => "GET {{base}}/page\n",
            Step::Full => {
                "GET {{base}}/page?id={{newUuid}}\n\
                 HTTP 200\n\
                 [Captures]\n\
                 basket: regex /basket\\/([0-9a-f]+)/\n\
                 [Asserts]\n\
                 header \"Content-Type\" contains \"text/\"\n\
                 body contains \"</html>\"\n"
            }
        }
    }

    /// Writes a workload of visits that begin at once and make this step again and again; returns its path.
    pub(crate) fn write_workload(
        self,
        folder: &Path,
        visits: u64,
        steps_each: u64,
    ) -> anyhow::Result<PathBuf> {
        write(folder, "step.hurl", self.entry())?;
        let text = format!(
            "[arrivals]\nusers = {visits}\nvisits = {visits}\n\n\
             [[scenario]]\nname = \"steps\"\n\
             steps = [{{ repeat = {steps_each}, steps = [{{ run = \"step.hurl\" }}] }}]\n"
        );
        write(folder, "steps.toml", &text)
    }
}

fn write(folder: &Path, name: &str, text: &str) -> anyhow::Result<PathBuf> {
    let path = folder.join(name);
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Programs that make plain requests.
const PLAIN_PROGRAMS: [Program; 3] = [Program::Wrk, Program::Wrk2, Program::Oha];

/// A way to make requests.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Work {
    /// Plain calls of the program under test, without a scenario.
    Calls,
    Step(Step),
    Other(Program),
    /// The full step, made by Hurl.
    Hurl,
}

impl Work {
    fn name(self) -> String {
        match self {
            Work::Calls => "httperf, plain calls".to_owned(),
            Work::Step(Step::Plain) => "httperf run, plain step".to_owned(),
            Work::Step(Step::Full) => "httperf run, full step".to_owned(),
            Work::Other(program) => format!("{program}, plain requests"),
            Work::Hurl => "hurl, full step".to_owned(),
        }
    }

    fn is_installed(self) -> bool {
        match self {
            Work::Calls | Work::Step(_) => true,
            Work::Other(program) => program.is_installed(),
            Work::Hurl => find_program("hurl").is_some(),
        }
    }
}

/// Processor time of a request.
#[derive(Debug, Clone, Copy)]
struct Cost {
    user_us: f64,
    system_us: f64,
}

impl Cost {
    fn of(cpu: Duration, user: Duration, requests: u64) -> Self {
        let us_each = |time: Duration| time.as_secs_f64() * 1e6 / requests as f64;
        Cost { user_us: us_each(user), system_us: us_each(cpu.saturating_sub(user)) }
    }

    fn cpu_us(self) -> f64 {
        self.user_us + self.system_us
    }
}

/// Table 10a.
fn costs(bench: &Bench, options: &Options) -> anyhow::Result<Table> {
    let mut table = Table::new(
        format!(
            "Table 10a. CPU per step, {KEPT} persistent connections, {} alternating rounds",
            options.rounds
        ),
        &["work", "user us", "system us", "user - calls", "smallest", "largest", "CPU / calls"],
    );
    let all = [Work::Calls, Work::Step(Step::Plain), Work::Step(Step::Full)]
        .into_iter()
        .chain(PLAIN_PROGRAMS.map(Work::Other))
        .chain([Work::Hurl]);
    let (works, missing): (Vec<Work>, Vec<Work>) = all.partition(|work| work.is_installed());
    let runs = Runs { bench, options, folder: tempfile::tempdir()? };
    // The first run warms the caches.
    runs.run(Work::Calls)?;
    let mut rounds: Vec<Vec<Cost>> = vec![Vec::new(); works.len()];
    for round in 0..options.rounds {
        // The order alternates, so that none always finds the state left by the same other.
        let order: Vec<usize> =
            if round % 2 == 0 { (0..works.len()).collect() } else { (0..works.len()).rev().collect() };
        for index in order {
            rounds[index].push(runs.run(works[index])?);
        }
    }
    let calls = rounds[0].clone();
    let mut full_step_us = f64::NAN;
    for (work, costs) in works.iter().zip(&rounds) {
        let of_pairs = |value: fn(Cost, Cost) -> f64| -> Vec<f64> {
            costs.iter().zip(&calls).map(|(&cost, &calls)| value(cost, calls)).collect()
        };
        let median_of = |value: fn(Cost, Cost) -> f64| format!("{:.2}", median(&of_pairs(value)));
        let added = of_pairs(|cost, calls| cost.user_us - calls.user_us);
        let mut cells =
            vec![work.name(), median_of(|cost, _| cost.user_us), median_of(|cost, _| cost.system_us)];
        match work {
            Work::Calls => cells.extend(["-", "-", "-"].map(str::to_owned)),
            _ => cells.extend(spread_row("", &added, 2).into_iter().skip(1)),
        }
        cells.push(median_of(|cost, calls| cost.cpu_us() / calls.cpu_us()));
        table.row(cells);
        if *work == Work::Step(Step::Full) {
            full_step_us = median(&added);
        }
    }
    let verdict = if full_step_us <= STEP_US_MAX { "met" } else { "missed" };
    table.note(format!(
        "goal: at most {STEP_US_MAX:.2} us of user time more for a full step than for a plain call: {verdict}, {full_step_us:.2} us"
    ));
    table.note("full step: a template, the expected status, a capture and two checks; the last three look at the reply");
    for work in missing {
        table.note(format!("{}: not installed", work.name()));
    }
    Ok(table)
}

/// Everything that runs need.
struct Runs<'a> {
    bench: &'a Bench,
    options: &'a Options,
    folder: TempDir,
}

/// Entries of the file for Hurl, which has a connection for each time that it makes them all.
const HURL_ENTRIES: u64 = 100;
/// Requests of the program under test in place of which Hurl makes one.
const HURL_SHARE: u64 = 60;

impl Runs<'_> {
    fn run(&self, work: Work) -> anyhow::Result<Cost> {
        let server = BenchServer::start(self.bench.cores.server, &SERVER)?;
        let base = format!("http://{}", server.address);
        let steps_each = self.options.steps.div_ceil(KEPT);
        let cost = match work {
            Work::Calls => {
                let mut command = Command::new(self.bench.ours.path());
                command.args([format!("{base}/{PAGE}"), "--report=classic".to_owned()]);
                command.args([format!("--concurrency={KEPT}"), format!("--num-conns={KEPT}")]);
                command.arg(format!("--num-calls={steps_each}"));
                self.ours(work, command, KEPT * steps_each)
            }
            Work::Step(step) => {
                let workload = step.write_workload(self.folder.path(), KEPT, steps_each)?;
                let mut command = Command::new(self.bench.ours.path());
                command.arg("run").arg(workload).args(["--base", &base, "--report=classic"]);
                self.ours(work, command, KEPT * steps_each)
            }
            Work::Other(program) => {
                let site = Site::new(self.bench, server.address.port())?;
                let connections = u32::try_from(KEPT)?;
                let mut load = Load { file: PAGE, ..Load::closed_loop(connections, self.options.seconds) };
                // wrk2 needs a rate: one that nothing reaches makes it a closed loop.
                load.rate = (program == Program::Wrk2).then_some(1e6);
                let outcome = site.run(program, &load)?;
                Ok(Cost::of(outcome.cpu, outcome.user, outcome.replies))
            }
            Work::Hurl => self.hurl(&base),
        }?;
        server.stop()?;
        Ok(cost)
    }

    fn ours(&self, work: Work, command: Command, expected: u64) -> anyhow::Result<Cost> {
        progress(&work.name());
        let finished = Running::start(command, self.bench.cores.client)?.finish(LIMIT)?;
        let counts = self.bench.ours.counts(&finished)?;
        ensure!(
            counts.replies == expected && counts.errors == 0,
            "{}: expected {expected} replies, got {counts:?}",
            work.name()
        );
        Ok(Cost::of(finished.cpu, finished.user, counts.replies))
    }

    fn hurl(&self, base: &str) -> anyhow::Result<Cost> {
        progress("hurl, full step");
        let entries = format!("{}\n", Step::Full.entry()).repeat(usize::try_from(HURL_ENTRIES)?);
        let file = write(self.folder.path(), "many.hurl", &entries)?;
        let rounds = (self.options.steps / HURL_SHARE / HURL_ENTRIES).max(1);
        let mut command = Command::new(find_program("hurl").context("hurl is not installed")?);
        command.args(["--test", "--jobs=1", &format!("--repeat={rounds}")]);
        command.args(["--variable", &format!("base={base}")]).arg(file);
        let finished = Running::start(command, self.bench.cores.client)?.finish(LIMIT)?;
        ensure!(finished.status.success(), "hurl failed: {}", finished.last_words());
        let requests = hurl_requests(&finished.stderr)
            .with_context(|| format!("no figures from hurl: {}", finished.last_words()))?;
        ensure!(requests > 0, "hurl made no request");
        Ok(Cost::of(finished.cpu, finished.user, requests))
    }
}

/// Parses the number of requests in the summary of `hurl --test`.
fn hurl_requests(output: &str) -> Option<u64> {
    let line = output.lines().find(|line| line.starts_with("Executed requests:"))?;
    line.split_whitespace().nth(2)?.parse().ok()
}

/// Table 10b.
fn memory(bench: &Bench, options: &Options) -> anyhow::Result<Table> {
    let mut table = Table::new(
        "Table 10b. Peak resident memory of visits under way",
        &["visits", "under way", "open sockets", "peak MB", "bound MB", "bytes per visit", "errors"],
    );
    let mut base = None;
    for visits in [BASE_VISITS, options.visits] {
        let held = hold(bench, visits, options.rate)?;
        let per_visit = base.map_or_else(
            || "base".to_owned(),
            |base: f64| format!("{:.0}", (held.peak_mb - base) * 1e6 / visits as f64),
        );
        base.get_or_insert(held.peak_mb);
        table.row(vec![
            thousands(visits),
            thousands(held.under_way),
            held.sockets.to_string(),
            format!("{:.1}", held.peak_mb),
            format!("{MEMORY_MB_MAX:.0}"),
            per_visit,
            thousands(held.errors),
        ]);
    }
    table.note(
        "under way: the first step made, with a captured value of 32 bytes, and in a pause before the second",
    );
    table.note(
        "a connection for each call (`connections = \"step\"`), so that a pause takes no file descriptor",
    );
    Ok(table)
}

/// Visits in their pause, observed from outside.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) under_way: u64,
    sockets: u64,
    peak_mb: f64,
    errors: u64,
}

impl Held {
    /// True if all visits were under way, without errors, in less memory than the goal allows.
    pub(crate) fn is_within_bounds(&self, visits: u64) -> bool {
        self.under_way == visits && self.errors == 0 && self.peak_mb < MEMORY_MB_MAX
    }
}

/// Time limit beyond the schedule, for slow machines.
const SPARE: Duration = Duration::from_secs(60);

/// Starts `visits`, observes the program once all of them pause, and ends the run.
pub(crate) fn hold(bench: &Bench, visits: u64, rate: u64) -> anyhow::Result<Held> {
    progress(&format!("memory with {} visits under way", thousands(visits)));
    let server = BenchServer::start(bench.cores.server, &SERVER)?;
    let folder = tempfile::tempdir()?;
    write(folder.path(), "first.hurl", Step::Full.entry())?;
    write(folder.path(), "second.hurl", "GET {{base}}/basket/{{basket}}\nHTTP 200\n")?;
    let text = format!(
        "[arrivals]\nrate = \"{rate}/s\"\nvisits = {visits}\n\n[[scenario]]\nname = \"pause\"\n\
         steps = [{{ run = \"first.hurl\" }}, {{ think = \"1h\" }}, {{ run = \"second.hurl\" }}]\n\n\
         [options]\nconnections = \"step\"\nclose-with-reset = true\n"
    );
    let workload = write(folder.path(), "pause.toml", &text)?;
    let result = folder.path().join("result.json");
    let mut command = Command::new(bench.ours.path());
    command.arg("run").arg(workload).args(["--base", &format!("http://{}", server.address), "--quiet"]);
    command.args(["--report=classic", "--output"]).arg(&result);
    let mut client = Running::start(command, bench.cores.client)?;
    wait_for_pauses(&mut client, Duration::from_secs_f64(visits as f64 / rate as f64))?;
    let sockets = socket_count(&client)?;
    let peak_kib = memory_kib(&client, "VmHWM:")?;
    client.send(Signal::INT)?;
    let finished = client.finish(Duration::from_secs(20))?;
    server.stop()?;
    let under_way = visits_cut(&result, &finished)?;
    let errors = bench.ours.counts(&finished)?.errors;
    Ok(Held { under_way, sockets, peak_mb: peak_kib as f64 * 1024.0 / 1e6, errors })
}

/// Waits until all visits should have started, and then until the program rests for a second.
fn wait_for_pauses(client: &mut Running, schedule: Duration) -> anyhow::Result<()> {
    sleep(schedule);
    let deadline = Instant::now() + SPARE;
    loop {
        let before = ticks(client)?;
        sleep(Duration::from_secs(1));
        ensure!(!client.has_ended()?, "the run ended before its time: {}", client.stderr()?.trim());
        if ticks(client)? <= before + 1 || Instant::now() >= deadline {
            return Ok(());
        }
    }
}

/// Processor time of a program in the system's ticks.
fn ticks(client: &Running) -> anyhow::Result<u64> {
    let path = format!("/proc/{}/stat", client.pid());
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    // User and system time are fields 14 and 15; the name, in parentheses, is field 2 and may have spaces.
    let after_name = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let mut times = after_name.split_whitespace().skip(11).map_while(|field| field.parse::<u64>().ok());
    times
        .next()
        .zip(times.next())
        .map(|(user, system)| user + system)
        .with_context(|| format!("{path} has no times"))
}

/// Number of visits that the end of the run cut short.
fn visits_cut(result: &Path, finished: &Finished) -> anyhow::Result<u64> {
    let text = fs::read(result).with_context(|| format!("no result: {}", finished.last_words()))?;
    let document: serde_json::Value = serde_json::from_slice(&text)?;
    let cut = document["figures"]["visits"]["total"][0]["cut"].as_u64();
    cut.context("the result has no figures of visits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_of_hurl_is_read() {
        let summary = "many.hurl: Success (200 request(s) in 80 ms)\n--------------------\n\
                       Executed files:    2\nExecuted requests: 200 (2439.0/s)\nSucceeded files:   2 (100.0%)\n";
        assert_eq!(hurl_requests(summary), Some(200));
        assert_eq!(hurl_requests("error: no such file"), None);
    }
}
