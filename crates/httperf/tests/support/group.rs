//! Children that do not outlive the test.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// How long they may take to end when asked to.
const STOP_WAIT: Duration = Duration::from_secs(3);

/// A child with all its children, stopped when dropped.
#[derive(Debug)]
pub(crate) struct Group(Child);

impl Group {
    pub(crate) fn spawn(command: &mut Command) -> Result<Self, String> {
        let child = command.process_group(0).spawn();
        child.map(Self).map_err(|error| error.to_string())
    }

    /// Sends a signal to all of them.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process_group(Pid::from_child(&self.0), signal).expect("it was not waited for");
    }

    /// Sends a signal to the child alone.
    pub(crate) fn signal_leader(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).expect("it was not waited for");
    }

    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let group = Pid::from_child(&self.0);
        // It fails when all have ended, which is what is wanted.
        let _ = kill_process_group(group, Signal::TERM);
        let began = Instant::now();
        while began.elapsed() < STOP_WAIT && matches!(self.0.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(10));
        }
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.0.wait();
    }
}
