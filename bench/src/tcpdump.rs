//! Packet capture on the loopback interface with tcpdump.

use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use rustix::process::Signal;

use crate::child::Running;

/// A capture in progress.
#[derive(Debug)]
pub(crate) struct Tcpdump {
    running: Running,
}

/// Time limit of tcpdump to get ready, and to end.
const LIMIT: Duration = Duration::from_secs(10);
/// The kernel delivers packets in blocks; an incomplete one follows after at most a second.
const LAST_BLOCK: Duration = Duration::from_millis(1500);

impl Tcpdump {
    /// Starts tcpdump on `core` and waits until it captures, or returns the reason why it does not.
    pub(crate) fn start(core: usize, filter: &str) -> anyhow::Result<Result<Self, String>> {
        let mut command = Command::new("tcpdump");
        // Headers only, and a kernel buffer for packets that come while the server uses the core.
        command.args([
            "-i",
            "lo",
            "-n",
            "--time-stamp-precision=nano",
            "-s",
            "96",
            "-B",
            "131072",
            "-w",
            "-",
        ]);
        command.arg(filter);
        let mut running = match Running::start(command, core) {
            Ok(running) => running,
            Err(error) => return Ok(Err(format!("{error:#}"))),
        };
        let deadline = Instant::now() + LIMIT;
        loop {
            let messages = running.stderr()?;
            if messages.contains("listening on") {
                return Ok(Ok(Tcpdump { running }));
            }
            if running.has_ended()? {
                return Ok(Err(messages.trim().replace('\n', "; ")));
            }
            if Instant::now() >= deadline {
                bail!("tcpdump neither starts nor fails: {}", messages.trim());
            }
            sleep(Duration::from_millis(10));
        }
    }

    /// Stops it and returns the capture, or the reason why it is incomplete.
    pub(crate) fn finish(mut self) -> anyhow::Result<Result<Vec<u8>, String>> {
        sleep(LAST_BLOCK);
        self.running.send(Signal::INT)?;
        let deadline = Instant::now() + LIMIT;
        // Only then is everything written.
        while !self.running.has_ended()? {
            ensure!(Instant::now() < deadline, "tcpdump does not end: {}", self.running.stderr()?.trim());
            sleep(Duration::from_millis(10));
        }
        let messages = self.running.stderr()?;
        match messages.lines().find(|line| line.ends_with(" dropped by kernel") && !line.starts_with("0 ")) {
            Some(dropped) => Ok(Err(format!("tcpdump could not keep up: {dropped}"))),
            None => Ok(Ok(self.running.stdout()?)),
        }
    }
}
