//! Programs under measurement: how to run each, and how to read its output.

use std::fmt;
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail, ensure};

use crate::child::{Finished, Running};
use crate::cores::Cores;
use crate::open_files;

/// Available programs and resources.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) cores: Cores,
    /// Limit on open files of a process.
    pub(crate) open_files_max: u64,
    pub(crate) ours: Tool,
    pub(crate) classic: Option<Tool>,
    pub(crate) bare: Tool,
    pub(crate) ab: Option<Tool>,
}

impl Bench {
    /// Builds the program under test and looks for the others.
    pub(crate) fn prepare() -> anyhow::Result<Self> {
        Self::of(program_under_test()?)
    }

    /// Uses this program under test.
    pub(crate) fn of(ours: PathBuf) -> anyhow::Result<Self> {
        let open_files_max = open_files::raise();
        let found = |path: &str, kind: Kind| -> anyhow::Result<Option<Tool>> {
            if Path::new(path).exists() { Tool::new(kind, path.into()).map(Some) } else { Ok(None) }
        };
        Ok(Bench {
            cores: Cores::choose()?,
            open_files_max,
            ours: Tool::new(Kind::Ours, ours)?,
            classic: found("/usr/bin/httperf", Kind::Classic)?,
            bare: Tool::new(Kind::Bare, std::env::current_exe()?)?,
            ab: found("/usr/bin/ab", Kind::Ab)?,
        })
    }

    /// Description of the circumstances of the measurement.
    pub(crate) fn description(&self) -> String {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let cpu_info = read("/proc/cpuinfo");
        let model = cpu_info.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": unknown");
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        format!(
            "httperf bench, {}\n\
             machine: {} x{cores}, Linux {}, open files per process up to {}, load before the start {}\n\
             client on core {}, server on core {}{}\n\
             classic httperf: {}, ab: {}\n",
            chrono::Utc::now().date_naive(),
            model.trim_start_matches([' ', '\t', ':']),
            read("/proc/sys/kernel/osrelease").trim(),
            self.open_files_max,
            read("/proc/loadavg").split(' ').next().unwrap_or("unknown"),
            self.cores.client,
            self.cores.server,
            if cfg!(debug_assertions) { "\nTHIS IS A DEBUG BUILD: the figures mean nothing" } else { "" },
            presence(self.classic.as_ref()),
            presence(self.ab.as_ref()),
        )
    }
}

fn presence(tool: Option<&Tool>) -> &'static str {
    if tool.is_some() { "installed" } else { "not installed, so not measured" }
}

/// Returns `HTTPERF_BIN`, or the workspace's build in the profile of this program.
fn program_under_test() -> anyhow::Result<PathBuf> {
    build(if cfg!(debug_assertions) { "dev" } else { "release" })
}

/// Returns the workspace's program in the folder of this one, which builds of the whole workspace leave there.
pub(crate) fn workspace_build() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?.with_file_name("httperf");
    ensure!(
        cfg!(debug_assertions) && program.is_file(),
        "expected a dev build of httperf at {}\nhint: `cargo build --workspace` makes one",
        program.display()
    );
    Ok(program)
}

/// Returns `HTTPERF_BIN`, or the workspace's release build, whatever the profile of this program.
pub(crate) fn release_build() -> anyhow::Result<PathBuf> {
    build("release")
}

fn build(profile: &str) -> anyhow::Result<PathBuf> {
    if let Some(path) = std::env::var_os("HTTPERF_BIN") {
        return Ok(path.into());
    }
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // Tests have it for their own harness; builds with and without it are different ones.
    build.env_remove("RUSTC_BOOTSTRAP");
    build.args(["build", "--quiet", "--locked", "-p", "httperf", "--profile", profile]);
    if !build.status().context("cannot run cargo")?.success() {
        bail!("cannot build httperf; HTTPERF_BIN can name an existing build");
    }
    // The folders of profiles are siblings; `dev` uses that of debug.
    let own = std::env::current_exe()?;
    let target = own.parent().and_then(Path::parent).context("this program is in no folder")?;
    Ok(target.join(if profile == "dev" { "debug" } else { profile }).join("httperf"))
}

/// Finds a program on PATH, among Debian's servers, or where `scripts/bench-tools.sh` installs others.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = std::env::current_exe().ok();
    let target = own.as_deref().and_then(Path::parent).and_then(Path::parent);
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into()])
        .chain(target.map(|folder| folder.join("tools")))
        .map(|folder| folder.join(name))
        .find(|candidate| candidate.is_file())
}

/// A program.
#[derive(Debug)]
pub(crate) struct Tool {
    kind: Kind,
    path: PathBuf,
    /// Its help text.
    help: String,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// The program under test.
    Ours,
    /// Debian's httperf 0.9.0.
    Classic,
    Bare,
    Ab,
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self.kind {
            Kind::Ours => "httperf",
            Kind::Classic => "classic 0.9.0",
            Kind::Bare => "bare client",
            Kind::Ab => "ab",
        })
    }
}

/// A test with one call per connection.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) target: SocketAddrV4,
    pub(crate) conns: u64,
    /// Connections per second; 0 for a closed loop, the only mode of `ab`.
    pub(crate) rate: f64,
    pub(crate) timeout_s: u64,
    /// Close with RST, so that no port is left in TIME_WAIT.
    pub(crate) reset: bool,
    /// Additional arguments for the httperfs.
    pub(crate) extra: Vec<String>,
    /// Library to load before the C library, for the httperfs.
    pub(crate) preloaded: Option<PathBuf>,
}

/// Counts reported by a program.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Counts {
    pub(crate) connections: u64,
    pub(crate) replies: u64,
    pub(crate) errors: u64,
    pub(crate) duration_s: f64,
}

/// Measurements of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    pub(crate) counts: Counts,
    pub(crate) cpu: Duration,
    pub(crate) overdue: bool,
}

impl Measured {
    pub(crate) fn cpu_us_per_connection(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.counts.replies.max(1) as f64
    }
}

/// Concurrent connections in a closed loop.
const CLOSED_LOOP_WINDOW: &str = "64";

impl Tool {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn new(kind: Kind, path: PathBuf) -> anyhow::Result<Self> {
        let help = match kind {
            Kind::Ours | Kind::Classic => {
                let output = Command::new(&path).arg("--help").output();
                let output = output.with_context(|| format!("cannot run {}", path.display()))?;
                String::from_utf8_lossy(&output.stdout).into_owned()
            }
            Kind::Bare | Kind::Ab => String::new(),
        };
        Ok(Tool { kind, path, help })
    }

    /// Returns true if its help lists an option. The program under test may be an older one, or the classic
    /// one.
    pub(crate) fn knows(&self, option: &str) -> bool {
        self.help.contains(option)
    }

    /// Returns true if it makes visits of scenarios. An older program takes `run` for a server's name, and the classic
    /// one ignores it.
    pub(crate) fn makes_scenarios(&self) -> anyhow::Result<bool> {
        let output = Command::new(&self.path).args(["run", "--help"]).output();
        let output = output.with_context(|| format!("cannot run {}", self.path.display()))?;
        Ok(String::from_utf8_lossy(&output.stdout).contains(".hurl"))
    }

    /// Options of the bench server for this program: `ab` reads until the server closes.
    pub(crate) fn server_options(&self) -> &'static [&'static str] {
        if self.kind == Kind::Ab { &["--close"] } else { &[] }
    }

    pub(crate) fn start(&self, core: usize, job: &Job) -> anyhow::Result<Running> {
        Running::start(self.command(job), core)
    }

    /// Runs a job to its end, or for `limit`.
    pub(crate) fn measure(&self, core: usize, job: &Job, limit: Duration) -> anyhow::Result<Measured> {
        let finished = self.start(core, job)?.finish(limit)?;
        let counts = self.counts(&finished)?;
        Ok(Measured { counts, cpu: finished.cpu, overdue: finished.overdue })
    }

    fn command(&self, job: &Job) -> Command {
        let mut command = Command::new(&self.path);
        match self.kind {
            Kind::Ours | Kind::Classic => {
                command.args([
                    format!("--server={}", job.target.ip()),
                    format!("--port={}", job.target.port()),
                    format!("--num-conns={}", job.conns),
                    format!("--rate={}", job.rate),
                    format!("--timeout={}", job.timeout_s),
                ]);
                if job.reset {
                    command.arg("--close-with-reset");
                }
                if self.knows("--report") {
                    command.arg("--report=classic");
                }
                command.args(&job.extra);
                command.envs(job.preloaded.iter().map(|library| ("LD_PRELOAD", library)));
            }
            Kind::Bare => {
                command.arg("bare").args(["--target", &job.target.to_string()]);
                command.args(["--conns", &job.conns.to_string(), "--rate", &job.rate.to_string()]);
                if job.rate == 0.0 {
                    command.args(["--window", CLOSED_LOOP_WINDOW]);
                }
                if job.reset {
                    command.arg("--close-with-reset");
                }
            }
            Kind::Ab => {
                command.args([
                    "-q",
                    "-c",
                    CLOSED_LOOP_WINDOW,
                    "-s",
                    &job.timeout_s.to_string(),
                    "-n",
                    &job.conns.to_string(),
                ]);
                command.arg(format!("http://{}/", job.target));
            }
        }
        command
    }

    /// Parses the counts in a program's report.
    pub(crate) fn counts(&self, finished: &Finished) -> anyhow::Result<Counts> {
        let counts = match self.kind {
            Kind::Ours | Kind::Classic => classic_counts(&finished.stdout),
            Kind::Bare => bare_counts(&finished.stdout),
            Kind::Ab => ab_counts(&finished.stdout),
        };
        counts.with_context(|| {
            format!("no report from {self} ({}): {}", finished.status, finished.last_words())
        })
    }
}

fn classic_counts(report: &str) -> Option<Counts> {
    let total = report.lines().find(|line| line.starts_with("Total: connections "))?;
    let errors = report.lines().find(|line| line.starts_with("Errors: total "))?;
    Some(Counts {
        connections: number_after(total, "connections")?,
        replies: number_after(total, "replies")?,
        errors: number_after(errors, "total")?,
        duration_s: number_after(total, "test-duration")?,
    })
}

fn bare_counts(report: &str) -> Option<Counts> {
    let line = report.lines().find(|line| line.starts_with("bare: connections "))?;
    Some(Counts {
        connections: number_after(line, "connections")?,
        replies: number_after(line, "replies")?,
        errors: number_after(line, "errors")?,
        duration_s: number_after(line, "duration")?,
    })
}

fn ab_counts(report: &str) -> Option<Counts> {
    let value_of = |name: &str| report.lines().find(|line| line.starts_with(name));
    let replies = number_after(value_of("Complete requests:")?, "requests:")?;
    Some(Counts {
        connections: replies,
        replies,
        errors: number_after(value_of("Failed requests:")?, "requests:")?,
        duration_s: number_after(value_of("Time taken for tests:")?, "tests:")?,
    })
}

/// Parses the number that follows a word.
fn number_after<T: std::str::FromStr>(line: &str, word: &str) -> Option<T> {
    let mut words = line.split_whitespace();
    words.find(|candidate| *candidate == word)?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_classic_report_is_read() {
        let report = "\n\nTotal: connections 100 requests 99 replies 98 test-duration 0.990 s\n\n\
                      Errors: total 2 client-timo 1 socket-timo 0 connrefused 0 connreset 1\n\
                      Errors: fd-unavail 0 addrunavail 0 ftab-full 0 other 0\n";
        let expected = Counts { connections: 100, replies: 98, errors: 2, duration_s: 0.99 };
        assert_eq!(classic_counts(report), Some(expected));
        assert_eq!(classic_counts("Total: connections 100"), None);
    }

    #[test]
    fn a_report_of_ab_is_read() {
        let report = "Concurrency Level:      64\nTime taken for tests:   1.250 seconds\n\
                      Complete requests:      20000\nFailed requests:        3\n";
        let expected = Counts { connections: 20_000, replies: 20_000, errors: 3, duration_s: 1.25 };
        assert_eq!(ab_counts(report), Some(expected));
    }

    #[test]
    fn a_report_of_the_bare_client_is_read() {
        let report = "bare: connections 10 replies 9 errors 1 duration 0.500000 s\n";
        let expected = Counts { connections: 10, replies: 9, errors: 1, duration_s: 0.5 };
        assert_eq!(bare_counts(report), Some(expected));
    }
}
