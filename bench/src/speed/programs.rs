//! Programs to compare, and how to run each.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use tempfile::TempDir;

use super::reports::{
    Reported, percentiles_of_h2load, percentiles_of_httperf, reported_by_ab, reported_by_bare,
    reported_by_h2load, reported_by_hey, reported_by_httperf, reported_by_oha, reported_by_wrk,
};
use crate::child::{Finished, Running};
use crate::exchanges::{Percentiles, Schedule};
use crate::output::progress;
use crate::tools::{Bench, find_program};

/// A program to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    /// The program under test.
    Httperf,
    /// `httperf-bench bare-kept`.
    Bare,
    /// `httperf-bench bare-scheduled`.
    BareScheduled,
    Wrk,
    Wrk2,
    /// `h2load --h1` over HTTP/1.
    H2load,
    /// A build of h2load with HTTP/3, which Debian's lack (`scripts/sid-tree.sh h2load`).
    H2loadHttp3,
    Ab,
    Oha,
    Hey,
}

/// Ways of timing calls, for programs that have a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timing {
    /// By its own clock, and at a fixed rate from the due instants if supported.
    Usual,
    /// With the kernel's receive stamps: httperf's `--clock=kernel`.
    KernelClock,
    /// When the program reads: httperf's `--clock=program`. The bare client wakes up for each reply.
    ProgramClock,
    /// From sending: oha without `--latency-correction`.
    FromSending,
}

/// Protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// HTTP/1.1 in the clear.
    Http1,
    /// HTTP/1.1 over TLS, supported only by the program under test and the bare client.
    Http1Tls,
    /// HTTP/2, supported only by the program under test and h2load.
    Http2 { tls: bool },
    /// HTTP/3, supported only by the program under test, oha and a build of h2load.
    Http3,
}

/// Work for a program: a closed loop unless there is a rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) protocol: Protocol,
    pub(crate) file: &'static str,
    pub(crate) connections: u32,
    /// Outstanding calls per connection: streams over HTTP/2.
    pub(crate) pipeline: u32,
    /// Makes httperf wait for all replies of a pipeline before it fills it again.
    pub(crate) in_bursts: bool,
    /// A new connection for each call.
    pub(crate) connection_each: bool,
    /// Calls per second, over all connections.
    pub(crate) rate: Option<f64>,
    /// The time by which calls may be late to go together, supported only by the program under test and the bare client.
    pub(crate) slack: Duration,
    pub(crate) threads: u32,
    pub(crate) seconds: f64,
    /// Requests percentiles, which some programs only print on request.
    pub(crate) percentiles: bool,
    pub(crate) timing: Timing,
}

impl Load {
    pub(crate) fn closed_loop(connections: u32, seconds: f64) -> Self {
        Load {
            protocol: Protocol::Http1,
            file: "1k",
            connections,
            pipeline: 1,
            in_bursts: false,
            connection_each: false,
            rate: None,
            slack: Duration::ZERO,
            threads: 1,
            seconds,
            percentiles: false,
            timing: Timing::Usual,
        }
    }
}

/// Target of the load.
#[derive(Debug)]
pub(crate) struct Site<'a> {
    pub(crate) bench: &'a Bench,
    pub(crate) port: u16,
    /// Folder for scripts and results.
    folder: TempDir,
}

/// Counts and costs of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) replies: u64,
    pub(crate) errors: u64,
    pub(crate) rate: f64,
    pub(crate) cpu: Duration,
    /// User time, which is part of the CPU time.
    pub(crate) user: Duration,
    /// Percentiles reported by the program: its latency, which may count from the due instants, and its time
    /// from sending.
    pub(crate) latency: Percentiles,
    pub(crate) service: Percentiles,
    /// Datagrams that this machine dropped meanwhile, as a socket's receive buffer was full.
    pub(crate) dropped: u64,
}

impl Outcome {
    pub(crate) fn cpu_us_per_reply(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.replies as f64
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Program::Httperf => "httperf",
            Program::Bare => "bare epoll",
            Program::BareScheduled => "bare, scheduled",
            Program::Wrk => "wrk",
            Program::Wrk2 => "wrk2",
            Program::H2load => "h2load",
            Program::H2loadHttp3 => "h2load --h3",
            Program::Ab => "ab",
            Program::Oha => "oha",
            Program::Hey => "hey",
        })
    }
}

/// Reply time limit, for programs that have one.
const TIMEOUT_S: &str = "10";
/// The classic program's buffers of 4 and 16 KiB slow down large bodies and take two calls per connection.
/// The other programs leave buffers to the kernel, and so does ours where this matters.
const SYSTEM_BUFFERS: &str = "--system-buffers";
/// Time after which a run that takes too long is stopped.
const SPARE: Duration = Duration::from_secs(20);
/// Number of runs after which a program without a reply has failed.
const ATTEMPTS: u32 = 3;
/// ab needs a number of requests in addition to a time, and memory for it. Twice its capacity.
const AB_PER_SECOND: u64 = 50_000;
/// Flow-control windows of streams and of the connection, for both programs, where h2load's are a power of
/// two minus one. Large enough that no server waits for them.
const WINDOW_BITS: u32 = 23;
const CONNECTION_WINDOW_BITS: u32 = 24;

impl<'a> Site<'a> {
    pub(crate) fn new(bench: &'a Bench, port: u16) -> anyhow::Result<Self> {
        Ok(Site { bench, port, folder: tempfile::tempdir()? })
    }

    /// Runs a program to its end. A run without a single reply is repeated: on a busy machine the server may stand still
    /// for a second, which is as long as a short run takes. A capture of packets then has both runs.
    pub(crate) fn run(&self, program: Program, load: &Load) -> anyhow::Result<Outcome> {
        progress(&format!(
            "{program}, {} connections x{}, {} thread(s){}, /{}",
            load.connections,
            load.pipeline,
            load.threads,
            if load.connection_each { ", one call each" } else { "" },
            load.file
        ));
        let mut left = ATTEMPTS;
        loop {
            let (finished, outcome) = self.run_once(program, load)?;
            if outcome.replies > 0 {
                return Ok(outcome);
            }
            left -= 1;
            ensure!(left > 0, "{program} got no reply in {ATTEMPTS} runs: {}", finished.last_words());
            progress(&format!("{program} got no reply, and runs again: {}", finished.last_words()));
        }
    }

    fn run_once(&self, program: Program, load: &Load) -> anyhow::Result<(Finished, Outcome)> {
        let cores = self.bench.cores;
        let cores: &[usize] =
            if load.threads > 1 { &[cores.client, cores.second_client] } else { &[cores.client] };
        let dropped = datagrams_dropped();
        let running = Running::start_on(self.command(program, load)?, cores)?;
        let finished = running.finish(Duration::from_secs_f64(load.seconds) + SPARE)?;
        ensure!(finished.status.success(), "{program} failed: {}", finished.last_words());
        let reported = self
            .read(program, load, &finished)
            .with_context(|| format!("no figures from {program}: {}", finished.last_words()))?;
        let outcome = Outcome {
            replies: reported.replies,
            errors: reported.errors,
            rate: reported.rate,
            cpu: finished.cpu,
            user: finished.user,
            latency: reported.latency,
            service: reported.service,
            dropped: datagrams_dropped() - dropped,
        };
        Ok((finished, outcome))
    }

    fn command(&self, program: Program, load: &Load) -> anyhow::Result<Command> {
        let scheme = match load.protocol {
            Protocol::Http1 | Protocol::Http2 { tls: false } => "http",
            Protocol::Http1Tls | Protocol::Http2 { tls: true } | Protocol::Http3 => "https",
        };
        let url = format!("{scheme}://127.0.0.1:{}/{}", self.port, load.file);
        let Load { connections, pipeline, rate, seconds, .. } = load;
        // For those that take whole seconds only.
        let seconds_up = seconds.ceil();
        let mut command = Command::new(program.path(self.bench)?);
        match program {
            Program::Httperf => {
                command.args([&url, "--report=classic", &format!("--timeout={TIMEOUT_S}")]);
                command.args([format!("--concurrency={connections}"), format!("--duration={seconds}")]);
                let windows = [WINDOW_BITS, CONNECTION_WINDOW_BITS].map(|bits| (1_u64 << bits) - 1);
                let is_http2 = matches!(load.protocol, Protocol::Http2 { .. });
                if is_http2 {
                    command.args(["--http-version=2".to_owned(), format!("--streams={pipeline}")]);
                    command.arg(format!("--h2-window={}", windows[0]));
                    command.arg(format!("--h2-connection-window={}", windows[1]));
                } else if load.protocol == Protocol::Http3 {
                    command.args(["--http-version=3".to_owned(), format!("--streams={pipeline}")]);
                    command.arg(format!("--quic-stream-window={}", windows[0]));
                    command.arg(format!("--quic-window={}", windows[1]));
                } else if *pipeline > 1 {
                    let option = if load.in_bursts { "--burst-length" } else { "--pipeline" };
                    command.arg(format!("{option}={pipeline}"));
                }
                if load.connection_each {
                    command.args(["--num-calls=1", "--add-header=Connection: close\\n"]);
                }
                if load.file == "1m" || load.connection_each || is_http2 {
                    command.arg(SYSTEM_BUFFERS);
                }
                if let Some(rate) = rate {
                    command.arg(format!("--request-rate={rate}"));
                }
                if load.percentiles {
                    command.arg("--output").arg(self.result());
                }
                match load.timing {
                    Timing::KernelClock => drop(command.arg("--clock=kernel")),
                    Timing::ProgramClock => drop(command.arg("--clock=program")),
                    Timing::Usual | Timing::FromSending => {}
                }
                if !load.slack.is_zero() {
                    command.arg(format!("--slack={}", load.slack.as_secs_f64()));
                }
                if self.bench.ours.knows("--threads") {
                    command.arg(format!("--threads={}", load.threads));
                }
            }
            Program::Bare => {
                command.arg("bare-kept").args(["--target", &format!("127.0.0.1:{}", self.port)]);
                command.args(["--uri", &format!("/{}", load.file), "--seconds", &seconds.to_string()]);
                command.args([
                    "--connections",
                    &connections.to_string(),
                    "--pipeline",
                    &pipeline.to_string(),
                ]);
            }
            Program::BareScheduled => {
                command.arg("bare-scheduled").args(["--target", &format!("127.0.0.1:{}", self.port)]);
                command.args(["--uri", &format!("/{}", load.file), "--seconds", &seconds.to_string()]);
                command.args(["--connections", &connections.to_string()]);
                command.args(["--rate", &rate.unwrap_or_default().to_string()]);
                command.args(["--slack-us", &load.slack.as_micros().to_string()]);
                let options = [
                    ("--http2", matches!(load.protocol, Protocol::Http2 { .. })),
                    ("--tls", scheme == "https"),
                    ("--read-late", load.timing != Timing::ProgramClock),
                ];
                command.args(options.iter().filter(|(_, is_set)| *is_set).map(|(option, _)| option));
            }
            Program::Wrk | Program::Wrk2 => {
                command.args(["-t1", &format!("-c{connections}"), &format!("-d{seconds_up}s")]);
                command.args(["--timeout", TIMEOUT_S]);
                if let Some(rate) = rate {
                    command.arg(format!("-R{rate}"));
                }
                if load.percentiles {
                    command.arg("--latency");
                }
                if load.connection_each {
                    command.args(["-H", "Connection: close"]);
                }
                if *pipeline > 1 {
                    command.arg("-s").arg(self.pipelining_script(load)?);
                }
                command.arg(url);
            }
            Program::H2load | Program::H2loadHttp3 => {
                match load.protocol {
                    Protocol::Http1 | Protocol::Http1Tls => command.arg("--h1"),
                    Protocol::Http2 { .. } => &mut command,
                    Protocol::Http3 => command.arg("--alpn-list=h3"),
                };
                if load.protocol != Protocol::Http1 {
                    command.args([format!("-w{WINDOW_BITS}"), format!("-W{CONNECTION_WINDOW_BITS}")]);
                }
                command.args(["-t1", &format!("-c{connections}"), &format!("-m{pipeline}")]);
                command.args([format!("-D{:.0}ms", seconds * 1e3), "--warm-up-time=0".to_owned()]);
                if let Some(rate) = rate {
                    // h2load takes the rate per connection, as an integer.
                    command.arg(format!("--rps={}", (rate / f64::from(*connections)).round()));
                }
                if load.percentiles {
                    command.arg("--log-file").arg(self.result());
                }
                command.arg(url);
            }
            Program::Ab => {
                command.args(["-q", &format!("-c{connections}"), "-s", TIMEOUT_S]);
                if !load.connection_each {
                    command.arg("-k");
                }
                command.args([
                    format!("-t{seconds_up}"),
                    format!("-n{}", AB_PER_SECOND * seconds_up as u64),
                    url,
                ]);
            }
            Program::Oha => {
                command.args(["--no-tui", "--output-format", "json", "-c", &connections.to_string()]);
                command.args(["-z", &format!("{seconds}s"), "--worker-threads=1"]);
                if load.protocol == Protocol::Http3 {
                    command.args(["--http-version=3", "--insecure", "-p", &pipeline.to_string()]);
                }
                if let Some(rate) = rate {
                    command.args(["-q", &rate.to_string()]);
                    if load.timing != Timing::FromSending {
                        command.arg("--latency-correction");
                    }
                }
                command.arg(url);
            }
            Program::Hey => {
                command.args(["-c", &connections.to_string(), "-z", &format!("{seconds}s")]);
                command.args(["-t", TIMEOUT_S, "-cpus", "1"]);
                if let Some(rate) = rate {
                    // hey takes the rate per worker.
                    command.args(["-q", &(rate / f64::from(*connections)).to_string()]);
                }
                command.arg(url);
            }
        }
        Ok(command)
    }

    /// Writes a script that sends the requests of a pipeline at once; wrk counts each reply.
    fn pipelining_script(&self, load: &Load) -> anyhow::Result<PathBuf> {
        let path = self.folder.path().join("pipeline.lua");
        let text = format!(
            "init = function(args)\n\
             local requests = {{}}\n\
             for i = 1, {} do requests[i] = wrk.format(nil, \"/{}\") end\n\
             all = table.concat(requests)\n\
             end\n\
             request = function() return all end\n",
            load.pipeline, load.file
        );
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    /// File for figures that are not in a program's report.
    fn result(&self) -> PathBuf {
        self.folder.path().join("result")
    }

    fn read(&self, program: Program, load: &Load, finished: &Finished) -> Option<Reported> {
        let mut reported = match program {
            Program::Httperf => reported_by_httperf(&finished.stdout),
            Program::Bare | Program::BareScheduled => reported_by_bare(&finished.stdout),
            Program::Wrk | Program::Wrk2 => reported_by_wrk(&finished.stdout),
            Program::H2load | Program::H2loadHttp3 => reported_by_h2load(&finished.stdout),
            Program::Ab => reported_by_ab(&finished.stdout),
            Program::Oha => reported_by_oha(&finished.stdout),
            Program::Hey => reported_by_hey(&finished.stdout),
        }?;
        if load.percentiles {
            let result = || std::fs::read_to_string(self.result()).ok();
            match program {
                Program::Httperf => {
                    (reported.latency, reported.service) = percentiles_of_httperf(&result()?)?;
                }
                Program::H2load | Program::H2loadHttp3 => {
                    reported.latency = percentiles_of_h2load(&result()?)?;
                }
                _ => {}
            }
        }
        Some(reported)
    }
}

impl Program {
    /// Assignment of calls at a fixed rate to connections.
    pub(crate) fn schedule(self) -> Schedule {
        match self {
            Program::H2load | Program::H2loadHttp3 | Program::Wrk2 => Schedule::PerConnection,
            Program::Hey => Schedule::Bursts,
            _ => Schedule::Common,
        }
    }

    pub(crate) fn is_installed(self) -> bool {
        self.name().is_none_or(|name| find_program(name).is_some())
    }

    /// Name of the executable, if it is not ours.
    fn name(self) -> Option<&'static str> {
        match self {
            Program::Httperf | Program::Bare | Program::BareScheduled => None,
            Program::Wrk => Some("wrk"),
            Program::Wrk2 => Some("wrk2"),
            Program::H2load => Some("h2load"),
            Program::H2loadHttp3 => Some("h2load-h3/h2load"),
            Program::Ab => Some("ab"),
            Program::Oha => Some("oha"),
            Program::Hey => Some("hey"),
        }
    }

    fn path(self, bench: &Bench) -> anyhow::Result<PathBuf> {
        match self.name() {
            Some(name) => find_program(name).with_context(|| format!("{name} is not installed")),
            None if self != Program::Httperf => Ok(std::env::current_exe()?),
            None => Ok(bench.ours.path().to_owned()),
        }
    }

    /// Versions of those programs that are installed.
    pub(crate) fn versions(programs: &[Program]) -> Vec<String> {
        programs
            .iter()
            .filter_map(|program| program.name())
            .map(|name| match find_program(name) {
                Some(path) => version(&path, name),
                None => format!("{name}: not installed, so not measured"),
            })
            .collect()
    }
}

/// First line of a program's version output, requested in one of three ways.
pub(crate) fn version(path: &Path, name: &str) -> String {
    let option = match name {
        "hey" => return "hey, which does not tell its version".to_owned(),
        "wrk" | "wrk2" | "nginx" => "-v",
        "ab" => "-V",
        _ => "--version",
    };
    let reported = Command::new(path).arg(option).output();
    let reported = reported.map(|reported| [reported.stdout, reported.stderr].concat()).unwrap_or_default();
    let reported = String::from_utf8_lossy(&reported);
    reported.lines().next().filter(|line| !line.is_empty()).unwrap_or(name).to_owned()
}

/// Datagrams that this machine has dropped since it started, as a socket's receive buffer was full.
fn datagrams_dropped() -> u64 {
    let read = std::fs::read_to_string("/proc/net/snmp").unwrap_or_default();
    let mut lines = read.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let mut counts = names.split(' ').zip(values.split(' '));
    let dropped = counts.find(|&(name, _)| name == "RcvbufErrors");
    dropped.and_then(|(_, count)| count.parse().ok()).unwrap_or(0)
}
