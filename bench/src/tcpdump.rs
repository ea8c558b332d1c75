//! A packet capture on the loopback interface, by tcpdump.

use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use rustix::process::Signal;

use crate::child::Running;

/// A capture that is under way.
#[derive(Debug)]
pub(crate) struct Tcpdump {
    running: Running,
}

/// How long tcpdump takes at most to say that it is ready, or to end.
const LIMIT: Duration = Duration::from_secs(10);
/// The kernel hands packets over in blocks; one that is not full comes after a second at the latest.
const LAST_BLOCK: Duration = Duration::from_millis(1500);

impl Tcpdump {
    /// Starts it on `core` and waits until it captures, or returns why it does not, in its words or the system's.
    pub(crate) fn start(core: usize, filter: &str) -> anyhow::Result<Result<Self, String>> {
        let mut command = Command::new("tcpdump");
        // Heads only, and room in the kernel for what comes while the server has the core.
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
            let said = running.stderr()?;
            if said.contains("listening on") {
                return Ok(Ok(Tcpdump { running }));
            }
            if running.has_ended()? {
                return Ok(Err(said.trim().replace('\n', "; ")));
            }
            if Instant::now() >= deadline {
                bail!("tcpdump neither starts nor fails: {}", said.trim());
            }
            sleep(Duration::from_millis(10));
        }
    }

    /// Ends it and returns the capture, or why it is not complete.
    pub(crate) fn finish(mut self) -> anyhow::Result<Result<Vec<u8>, String>> {
        sleep(LAST_BLOCK);
        self.running.send(Signal::INT)?;
        let deadline = Instant::now() + LIMIT;
        // Only then has everything been written.
        while !self.running.has_ended()? {
            ensure!(Instant::now() < deadline, "tcpdump does not end: {}", self.running.stderr()?.trim());
            sleep(Duration::from_millis(10));
        }
        let said = self.running.stderr()?;
        match said.lines().find(|line| line.ends_with(" dropped by kernel") && !line.starts_with("0 ")) {
            Some(dropped) => Ok(Err(format!("tcpdump could not keep up: {dropped}"))),
            None => Ok(Ok(self.running.stdout()?)),
        }
    }
}
