//! Child processes: pinned to cores, with a time limit, captured output and processor time.

use std::fs::File;
use std::io::Read;
use std::net::SocketAddrV4;
use std::os::unix::fs::FileExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use rustix::process::{Pid, Signal, kill_process};

use crate::cores::on_cores;

/// A running program, which ends when this value is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    stdout: File,
    stderr: File,
}

/// Results of a program that has ended.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// User and system time over its whole life.
    pub(crate) cpu: Duration,
    /// The user time in it.
    pub(crate) user: Duration,
    /// True if it was still running at its time limit and was asked to end.
    pub(crate) overdue: bool,
}

/// Polling interval, coarse enough to keep the harness out of the measurement.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Time limit of a program after it was asked to end.
const GRACE: Duration = Duration::from_secs(5);

impl Running {
    /// Starts `command` on `core`.
    pub(crate) fn start(command: Command, core: usize) -> anyhow::Result<Self> {
        Self::start_on(command, &[core])
    }

    /// Starts `command` on `cores`. Output goes to files: a full pipe would block it.
    pub(crate) fn start_on(mut command: Command, cores: &[usize]) -> anyhow::Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        let (stdout, stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
        command.stdin(Stdio::null()).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
        let child = on_cores(cores, || Ok(command.spawn()?)).with_context(|| format!("cannot run {name}"))?;
        Ok(Running { child, stdout, stderr })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Standard output so far.
    pub(crate) fn stdout(&self) -> anyhow::Result<Vec<u8>> {
        read_whole(&self.stdout)
    }

    /// Standard error so far.
    pub(crate) fn stderr(&self) -> anyhow::Result<String> {
        Ok(String::from_utf8_lossy(&read_whole(&self.stderr)?).into_owned())
    }

    /// Address in the first line of output of a server.
    pub(crate) fn place(&mut self) -> anyhow::Result<String> {
        let deadline = Instant::now() + START_LIMIT;
        loop {
            let stdout = String::from_utf8_lossy(&self.stdout()?).into_owned();
            if let Some((place, _)) =
                stdout.strip_prefix("listening on ").and_then(|rest| rest.split_once('\n'))
            {
                return Ok(place.to_owned());
            }
            if self.has_ended()? || Instant::now() >= deadline {
                bail!("the server did not start: {}", self.stderr()?.trim());
            }
            sleep(POLL_INTERVAL);
        }
    }

    pub(crate) fn has_ended(&mut self) -> anyhow::Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    pub(crate) fn send(&self, signal: Signal) -> anyhow::Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), signal)?)
    }

    /// Waits for the end. A program that takes longer than `limit` gets SIGINT, on which both httperfs print
    /// their report, and after a grace period SIGKILL.
    pub(crate) fn finish(mut self, limit: Duration) -> anyhow::Result<Finished> {
        // No other child ends in between, so the difference belongs to this one.
        let (user_before, system_before) = cpu_of_children()?;
        let overdue = self.wait(limit)?.is_none();
        if overdue {
            self.send(Signal::INT)?;
            if self.wait(GRACE)?.is_none() {
                self.child.kill()?;
            }
        }
        let status = self.child.wait()?;
        let (user_after, system_after) = cpu_of_children()?;
        let user = user_after.saturating_sub(user_before);
        let cpu = user + system_after.saturating_sub(system_before);
        let stdout = String::from_utf8_lossy(&self.stdout()?).into_owned();
        Ok(Finished { status, stdout, stderr: self.stderr()?, cpu, user, overdue })
    }

    fn wait(&mut self, limit: Duration) -> anyhow::Result<Option<ExitStatus>> {
        let deadline = Instant::now() + limit;
        loop {
            match self.child.try_wait()? {
                Some(status) => return Ok(Some(status)),
                None if Instant::now() >= deadline => return Ok(None),
                None => sleep(POLL_INTERVAL),
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only if it has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Finished {
    /// Last lines of output, for an error message.
    pub(crate) fn last_words(&self) -> String {
        let all = format!("{}\n{}", self.stdout, self.stderr);
        let lines: Vec<&str> = all.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(5)..].join(" | ")
    }
}

/// The bench server or the reference server, as a child process.
#[derive(Debug)]
pub(crate) struct BenchServer {
    running: Running,
    pub(crate) address: SocketAddrV4,
}

/// Time limit of a server to report its address.
const START_LIMIT: Duration = Duration::from_secs(10);

impl BenchServer {
    pub(crate) fn start(core: usize, options: &[&str]) -> anyhow::Result<Self> {
        Self::start_as("server", core, options)
    }

    /// Starts one of this program's servers by its command.
    pub(crate) fn start_as(name: &str, core: usize, options: &[&str]) -> anyhow::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(name).args(options);
        let mut running = Running::start(command, core)?;
        let address = running.place()?.parse()?;
        Ok(BenchServer { running, address })
    }

    /// Stops it and returns the line with its counts.
    pub(crate) fn stop(self) -> anyhow::Result<String> {
        self.running.send(Signal::TERM)?;
        let finished = self.running.finish(GRACE)?;
        match finished.stdout.lines().find(|line| line.starts_with("server: ")) {
            Some(counts) => Ok(counts.to_owned()),
            None => bail!("the bench server ended early: {}", finished.last_words()),
        }
    }
}

/// Reads from the start without moving the position, which the child shares for writing.
fn read_whole(file: &File) -> anyhow::Result<Vec<u8>> {
    struct FromStart<'a>(&'a File, u64);
    impl Read for FromStart<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let size = self.0.read_at(buffer, self.1)?;
            self.1 += size as u64;
            Ok(size)
        }
    }
    let mut bytes = Vec::new();
    FromStart(file, 0).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// User and system time of all children that have ended.
fn cpu_of_children() -> anyhow::Result<(Duration, Duration)> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    Ok((duration_of(usage.user_time()), duration_of(usage.system_time())))
}

/// Converts a time of the system's accounting.
pub(crate) fn duration_of(time: TimeVal) -> Duration {
    Duration::from_secs(time.tv_sec().max(0) as u64) + Duration::from_micros(time.tv_usec().max(0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::Cores;

    fn shell(script: &str) -> Running {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Running::start(command, Cores::choose().unwrap().client).unwrap()
    }

    #[test]
    fn a_child_leaves_its_output_and_its_cpu_time() {
        let script = "echo said; echo complained >&2; i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done";
        let finished = shell(script).finish(Duration::from_secs(30)).unwrap();
        assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), ("said\n", "complained\n"));
        assert!(finished.status.success() && !finished.overdue);
        assert!(finished.cpu > Duration::from_millis(1), "{:?}", finished.cpu);
    }

    #[test]
    fn a_child_that_takes_too_long_is_asked_to_end() {
        // On a busy machine it takes a while until the trap is set.
        let finished = shell("trap 'echo report; exit 0' INT; while :; do sleep 0.01; done")
            .finish(Duration::from_secs(2))
            .unwrap();
        assert!(finished.overdue);
        assert_eq!(finished.stdout, "report\n");
    }
}
