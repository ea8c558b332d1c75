//! Programs compared over TLS: how to run each, and how to read its output.

use std::fmt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};

use crate::child::Running;
use crate::tools::Bench;

/// A program to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    /// The program under test.
    Httperf,
    /// `httperf-bench bare-tls`.
    Bare,
    /// `openssl s_time`.
    OpenSsl,
    Wrk,
    /// `h2load --h1`.
    H2load,
}

/// Work for a program.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Work {
    Handshakes { count: u64, resume: bool },
    Requests { count: u64, connections: u64 },
    Bodies { count: u64 },
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Work::Handshakes { count, resume: false } => write!(f, "{count} full handshakes"),
            Work::Handshakes { count, resume: true } => write!(f, "{count} resumed handshakes"),
            Work::Requests { count, connections } => {
                write!(f, "{count} requests on {connections} connections")
            }
            Work::Bodies { count } => write!(f, "{count} bodies of 1 MiB"),
        }
    }
}

/// Counts and costs of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Done {
    pub(crate) count: u64,
    pub(crate) cpu: Duration,
}

/// Time limit of a program.
const LIMIT: Duration = Duration::from_secs(60);

/// Length of a run, for programs that take a time and not a number.
const SECONDS: &str = "2";

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Peer::Httperf => "httperf",
            Peer::Bare => "bare BoringSSL",
            Peer::OpenSsl => "openssl s_time",
            Peer::Wrk => "wrk",
            Peer::H2load => "h2load --h1",
        })
    }
}

impl Peer {
    /// All programs, the one under test first.
    pub(crate) const ALL: [Peer; 5] = [Peer::Httperf, Peer::Bare, Peer::OpenSsl, Peer::Wrk, Peer::H2load];

    /// Returns true if it supports this work.
    pub(crate) fn does(self, work: &Work) -> bool {
        match self {
            Peer::Httperf => true,
            Peer::Bare | Peer::OpenSsl => matches!(work, Work::Handshakes { .. }),
            Peer::Wrk | Peer::H2load => !matches!(work, Work::Handshakes { .. }),
        }
    }

    pub(crate) fn is_installed(self) -> bool {
        match self {
            Peer::Httperf | Peer::Bare => true,
            Peer::OpenSsl => Path::new("/usr/bin/openssl").exists(),
            Peer::Wrk => Path::new("/usr/bin/wrk").exists(),
            Peer::H2load => Path::new("/usr/bin/h2load").exists(),
        }
    }

    /// Does the work against a port of this machine.
    pub(crate) fn work(self, bench: &Bench, port: u16, work: &Work) -> anyhow::Result<Done> {
        let url = |file: &str| format!("https://127.0.0.1:{port}/{file}");
        let command = match (self, *work) {
            (Peer::Httperf, Work::Handshakes { count, resume }) => {
                let share = if resume { "--tls-resume=100" } else { "--tls-resume=0" };
                let count = format!("--num-conns={count}");
                self.command(bench, port, &["--tls-handshake-only", "--tls-groups=X25519", share, &count])
            }
            (Peer::Httperf, Work::Requests { count, connections }) => {
                let sessions = format!("--wsess={connections},{},0", count / connections);
                self.command(bench, port, &["--ssl", "--uri=/1k", &sessions, "--rate=1000"])
            }
            (Peer::Httperf, Work::Bodies { count }) => {
                let calls = format!("--num-calls={count}");
                self.command(bench, port, &["--ssl", "--uri=/1m", "--recv-buffer=1048576", &calls])
            }
            (Peer::Bare, Work::Handshakes { count, resume }) => {
                let mut command = Command::new(std::env::current_exe()?);
                command.arg("bare-tls").args(["--target", &format!("127.0.0.1:{port}")]);
                command.args(["--conns", &count.to_string()]);
                if resume {
                    command.arg("--resume");
                }
                command
            }
            (Peer::OpenSsl, Work::Handshakes { resume, .. }) => {
                let mut command = Command::new("/usr/bin/openssl");
                command.args(["s_time", "-connect", &format!("127.0.0.1:{port}"), "-time", SECONDS]);
                command.arg(if resume { "-reuse" } else { "-new" });
                command
            }
            (Peer::Wrk, Work::Requests { connections, .. }) => {
                let mut command = Command::new("/usr/bin/wrk");
                command.args(["-t1", &format!("-c{connections}"), &format!("-d{SECONDS}"), &url("1k")]);
                command
            }
            (Peer::Wrk, Work::Bodies { .. }) => {
                let mut command = Command::new("/usr/bin/wrk");
                command.args(["-t1", "-c1", &format!("-d{SECONDS}"), &url("1m")]);
                command
            }
            (Peer::H2load, Work::Requests { count, connections }) => {
                let mut command = Command::new("/usr/bin/h2load");
                command.args(["--h1", "-t1", &format!("-c{connections}"), &format!("-n{count}"), &url("1k")]);
                command
            }
            (Peer::H2load, Work::Bodies { count }) => {
                let mut command = Command::new("/usr/bin/h2load");
                command.args(["--h1", "-t1", "-c1", &format!("-n{count}"), &url("1m")]);
                command
            }
            (Peer::Bare | Peer::OpenSsl, Work::Requests { .. } | Work::Bodies { .. })
            | (Peer::Wrk | Peer::H2load, Work::Handshakes { .. }) => unreachable!("it does not do this work"),
        };
        let finished = Running::start(command, bench.cores.client)?.finish(LIMIT)?;
        ensure!(finished.status.success(), "{self} failed: {}", finished.last_words());
        let count = self.count(&finished.stdout, work);
        let count = count.with_context(|| format!("no count from {self}: {}", finished.last_words()))?;
        Ok(Done { count, cpu: finished.cpu })
    }

    /// Command of the program under test with these arguments.
    pub(crate) fn command(self, bench: &Bench, port: u16, arguments: &[&str]) -> Command {
        let mut command = Command::new(bench.ours.path());
        command.args(["--server=127.0.0.1", &format!("--port={port}"), "--report=classic"]).args(arguments);
        command
    }

    /// Amount of work done, from its output.
    fn count(self, output: &str, work: &Work) -> Option<u64> {
        let number_before = |word: &str| {
            let line = output.lines().find(|line| line.contains(word))?;
            line.split(word).next()?.split_whitespace().next_back()?.parse().ok()
        };
        let number_after = |start: &str, word: &str| -> Option<u64> {
            let line = output.lines().find(|line| line.starts_with(start))?;
            line.split(word).nth(1)?.split_whitespace().next()?.trim_end_matches(',').parse().ok()
        };
        match (self, work) {
            (Peer::Httperf, Work::Handshakes { .. }) => {
                let failed = number_after("Errors: total", "total")?;
                Some(number_after("Total:", "connections")?.saturating_sub(failed))
            }
            (Peer::Httperf, Work::Requests { .. } | Work::Bodies { .. }) => number_after("Total:", "replies"),
            (Peer::Bare, _) => number_after("bare-tls:", "handshakes"),
            (Peer::OpenSsl, _) => number_before(" connections in "),
            (Peer::Wrk, _) => number_before(" requests in "),
            (Peer::H2load, _) => number_before(" succeeded, "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(peer: Peer, output: &str, expected: u64) {
        let work = match peer {
            Peer::Bare | Peer::OpenSsl => Work::Handshakes { count: 1, resume: false },
            Peer::Httperf | Peer::Wrk | Peer::H2load => Work::Bodies { count: 1 },
        };
        assert_eq!(peer.count(output, &work), Some(expected), "{peer}");
    }

    #[test]
    fn what_each_program_says_of_its_work_is_read() {
        check(Peer::Httperf, "\nTotal: connections 1 requests 20 replies 19 test-duration 0.1 s\n", 19);
        check(Peer::Bare, "bare-tls: handshakes 500 resumed 499\n", 500);
        check(
            Peer::OpenSsl,
            "Collecting\n8646 connections in 3.44s; 2513.37 connections/user sec, bytes read 0\n\
             8646 connections in 6 real seconds, 0 bytes read per connection\n",
            8646,
        );
        check(Peer::Wrk, "Running\n  127596 requests in 8.10s, 153.81MB read\n", 127_596);
        check(
            Peer::H2load,
            "requests: 100 total, 100 started, 100 done, 99 succeeded, 1 failed, 0 errored, 0 timeout\n",
            99,
        );
    }
}
