//! The programs that are compared, and how each is told what to do.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use tempfile::TempDir;

use super::reports::{
    Said, percentiles_of_h2load, percentiles_of_httperf, said_by_ab, said_by_bare, said_by_h2load,
    said_by_hey, said_by_httperf, said_by_oha, said_by_wrk,
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
    Wrk,
    Wrk2,
    /// Over HTTP/1 `h2load --h1`.
    H2load,
    Ab,
    Oha,
    Hey,
}

/// The ways to take the times of calls, where a program has a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timing {
    /// By its own clock, and at a fixed rate from when calls were due if it can do that.
    Usual,
    /// With the kernel's stamps of what it receives: `--clock=kernel` of httperf.
    KernelClock,
    /// From when calls were sent: oha without `--latency-correction`.
    FromSending,
}

/// What is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// HTTP/1.1 in the clear.
    Http1,
    /// HTTP/2, which only the program under test and h2load speak.
    Http2 { tls: bool },
}

/// What it is to do, in a closed loop unless there is a rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) protocol: Protocol,
    pub(crate) file: &'static str,
    pub(crate) connections: u32,
    /// Calls under way on a connection: over HTTP/2 its streams.
    pub(crate) pipeline: u32,
    /// Whether httperf waits for all replies of a pipeline before it fills it again.
    pub(crate) in_bursts: bool,
    /// A new connection for each call.
    pub(crate) connection_each: bool,
    /// Calls per second, over all connections.
    pub(crate) rate: Option<f64>,
    pub(crate) threads: u32,
    pub(crate) seconds: u64,
    /// Whether the program is to tell percentiles, which some do only if they are asked to.
    pub(crate) percentiles: bool,
    pub(crate) timing: Timing,
}

impl Load {
    pub(crate) fn closed_loop(connections: u32, seconds: u64) -> Self {
        Load {
            protocol: Protocol::Http1,
            file: "1k",
            connections,
            pipeline: 1,
            in_bursts: false,
            connection_each: false,
            rate: None,
            threads: 1,
            seconds,
            percentiles: false,
            timing: Timing::Usual,
        }
    }
}

/// Where the load goes.
#[derive(Debug)]
pub(crate) struct Site<'a> {
    pub(crate) bench: &'a Bench,
    pub(crate) port: u16,
    /// For scripts and results.
    folder: TempDir,
}

/// What was done, and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) replies: u64,
    pub(crate) errors: u64,
    pub(crate) rate: f64,
    pub(crate) cpu: Duration,
    /// What the program itself says: what it calls latency, which may count from when a call was due, and what it says
    /// to count from when it was sent.
    pub(crate) latency: Percentiles,
    pub(crate) service: Percentiles,
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
            Program::Wrk => "wrk",
            Program::Wrk2 => "wrk2",
            Program::H2load => "h2load",
            Program::Ab => "ab",
            Program::Oha => "oha",
            Program::Hey => "hey",
        })
    }
}

/// For one that can be told how long to wait for a reply.
const TIMEOUT_S: &str = "10";
/// The classic program's buffers are 4 and 16 KiB, which large bodies pass through slowly, and which take two calls for
/// each connection. The others leave buffers to the kernel, and so does ours where either matters.
const SYSTEM_BUFFERS: &str = "--system-buffers";
/// A run that takes this much longer than it should is stopped.
const SPARE: Duration = Duration::from_secs(20);
/// ab wants a number besides a time, and room for it. Twice what it can do.
const AB_PER_SECOND: u64 = 50_000;
/// The flow-control windows of streams and of the connection, for both programs: that of h2load is a power of two less
/// one. Large enough that no server waits for them.
const WINDOW_BITS: u32 = 23;
const CONNECTION_WINDOW_BITS: u32 = 24;

impl<'a> Site<'a> {
    pub(crate) fn new(bench: &'a Bench, port: u16) -> anyhow::Result<Self> {
        Ok(Site { bench, port, folder: tempfile::tempdir()? })
    }

    /// Runs a program to its end.
    pub(crate) fn run(&self, program: Program, load: &Load) -> anyhow::Result<Outcome> {
        progress(&format!(
            "{program}, {} connections x{}, {} thread(s){}, /{}",
            load.connections,
            load.pipeline,
            load.threads,
            if load.connection_each { ", one call each" } else { "" },
            load.file
        ));
        let cores = self.bench.cores;
        let cores: &[usize] =
            if load.threads > 1 { &[cores.client, cores.second_client] } else { &[cores.client] };
        let running = Running::start_on(self.command(program, load)?, cores)?;
        let finished = running.finish(Duration::from_secs(load.seconds) + SPARE)?;
        ensure!(finished.status.success(), "{program} failed: {}", finished.last_words());
        let said = self
            .read(program, load, &finished)
            .with_context(|| format!("no figures from {program}: {}", finished.last_words()))?;
        ensure!(said.replies > 0, "{program} got no reply: {}", finished.last_words());
        Ok(Outcome {
            replies: said.replies,
            errors: said.errors,
            rate: said.rate,
            cpu: finished.cpu,
            latency: said.latency,
            service: said.service,
        })
    }

    fn command(&self, program: Program, load: &Load) -> anyhow::Result<Command> {
        let scheme = if load.protocol == (Protocol::Http2 { tls: true }) { "https" } else { "http" };
        let url = format!("{scheme}://127.0.0.1:{}/{}", self.port, load.file);
        let Load { connections, pipeline, rate, seconds, .. } = load;
        let mut command = Command::new(program.path(self.bench)?);
        match program {
            Program::Httperf => {
                command.args([&url, "--report=classic", &format!("--timeout={TIMEOUT_S}")]);
                command.args([format!("--concurrency={connections}"), format!("--duration={seconds}")]);
                let is_http2 = matches!(load.protocol, Protocol::Http2 { .. });
                if is_http2 {
                    command.args(["--http-version=2".to_owned(), format!("--streams={pipeline}")]);
                    command.arg(format!("--h2-window={}", (1_u64 << WINDOW_BITS) - 1));
                    command.arg(format!("--h2-connection-window={}", (1_u64 << CONNECTION_WINDOW_BITS) - 1));
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
                if load.timing == Timing::KernelClock {
                    command.arg("--clock=kernel");
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
            Program::Wrk | Program::Wrk2 => {
                command.args(["-t1", &format!("-c{connections}"), &format!("-d{seconds}s")]);
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
            Program::H2load => {
                match load.protocol {
                    Protocol::Http1 => command.arg("--h1"),
                    Protocol::Http2 { .. } => {
                        command.args([format!("-w{WINDOW_BITS}"), format!("-W{CONNECTION_WINDOW_BITS}")])
                    }
                };
                command.args(["-t1", &format!("-c{connections}"), &format!("-m{pipeline}")]);
                command.args([format!("-D{seconds}"), "--warm-up-time=0".to_owned()]);
                if let Some(rate) = rate {
                    // It takes the rate of each of its connections, in whole numbers.
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
                command.args([format!("-t{seconds}"), format!("-n{}", AB_PER_SECOND * seconds), url]);
            }
            Program::Oha => {
                command.args(["--no-tui", "--output-format", "json", "-c", &connections.to_string()]);
                command.args(["-z", &format!("{seconds}s"), "--worker-threads=1"]);
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
                    // It takes the rate of each of its workers.
                    command.args(["-q", &(rate / f64::from(*connections)).to_string()]);
                }
                command.arg(url);
            }
        }
        Ok(command)
    }

    /// Writes the requests of a pipeline at once; wrk counts each reply.
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

    /// Where a program writes figures that are not in its report.
    fn result(&self) -> PathBuf {
        self.folder.path().join("result")
    }

    fn read(&self, program: Program, load: &Load, finished: &Finished) -> Option<Said> {
        let mut said = match program {
            Program::Httperf => said_by_httperf(&finished.stdout),
            Program::Bare => said_by_bare(&finished.stdout),
            Program::Wrk | Program::Wrk2 => said_by_wrk(&finished.stdout),
            Program::H2load => said_by_h2load(&finished.stdout),
            Program::Ab => said_by_ab(&finished.stdout),
            Program::Oha => said_by_oha(&finished.stdout),
            Program::Hey => said_by_hey(&finished.stdout),
        }?;
        if load.percentiles {
            let result = || std::fs::read_to_string(self.result()).ok();
            match program {
                Program::Httperf => {
                    (said.latency, said.service) = percentiles_of_httperf(&result()?)?;
                }
                Program::H2load => said.latency = percentiles_of_h2load(&result()?)?,
                _ => {}
            }
        }
        Some(said)
    }
}

impl Program {
    /// The way in which it lays calls at a fixed rate on its connections.
    pub(crate) fn schedule(self) -> Schedule {
        match self {
            Program::H2load | Program::Wrk2 => Schedule::PerConnection,
            Program::Hey => Schedule::Bursts,
            _ => Schedule::Common,
        }
    }

    pub(crate) fn is_installed(self) -> bool {
        self.name().is_none_or(|name| find_program(name).is_some())
    }

    /// How it is called, if it is not ours.
    fn name(self) -> Option<&'static str> {
        match self {
            Program::Httperf | Program::Bare => None,
            Program::Wrk => Some("wrk"),
            Program::Wrk2 => Some("wrk2"),
            Program::H2load => Some("h2load"),
            Program::Ab => Some("ab"),
            Program::Oha => Some("oha"),
            Program::Hey => Some("hey"),
        }
    }

    fn path(self, bench: &Bench) -> anyhow::Result<PathBuf> {
        match self.name() {
            Some(name) => find_program(name).with_context(|| format!("{name} is not installed")),
            None if self == Program::Bare => Ok(std::env::current_exe()?),
            None => Ok(bench.ours.path().to_owned()),
        }
    }

    /// The version of each of these, as it says it, if it is installed.
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

/// The first line of what a program says when it is asked for its version, in one of three ways.
pub(super) fn version(path: &Path, name: &str) -> String {
    let option = match name {
        "hey" => return "hey, which does not tell its version".to_owned(),
        "wrk" | "wrk2" | "nginx" => "-v",
        "ab" => "-V",
        _ => "--version",
    };
    let said = Command::new(path).arg(option).output();
    let said = said.map(|said| [said.stdout, said.stderr].concat()).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    said.lines().next().filter(|line| !line.is_empty()).unwrap_or(name).to_owned()
}
