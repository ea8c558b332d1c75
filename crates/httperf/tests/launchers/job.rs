//! A fleet that a launcher has started.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::support::group::Group;
use crate::support::program::under_test;

/// The variable by which the processes of a job are found.
const TOKEN: &str = "HTTPERF_TEST_JOB";

/// The time for something that takes a moment.
const PATIENCE: Duration = Duration::from_secs(30);

/// The variables with the rank: those of Open MPI, MPICH and Slurm.
const RANKS: [&str; 3] = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"];

/// A running job. Dropping it ends all its processes.
pub(crate) struct Job {
    group: Group,
    folder: TempDir,
    token: String,
    /// The launcher, for messages.
    name: String,
}

/// A job that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Job {
    /// Starts a fleet. `launcher` is the launcher with its options; each rank is `sh -c script` with `$RANK`, and with the
    /// program and its arguments as `"$@"`.
    pub(crate) fn start(mut launcher: Command, script: &str, arguments: &[String]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let token = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = tempfile::tempdir().expect("a folder can be made");
        let file = |name: &str| File::create(folder.path().join(name)).expect("the folder can be written to");
        let name = format!("{launcher:?}");
        let first = RANKS.iter().fold("none".to_owned(), |rest, name| format!("${{{name}:-{rest}}}"));
        // Slurm hands the variables of its launcher on: those of a test that runs below another launcher would mislead.
        launcher
            .arg("sh")
            .arg("-c")
            .arg(format!("RANK={first}; {script}"))
            .arg("sh")
            .arg(under_test())
            .args(arguments)
            .env(TOKEN, &token)
            .stdin(Stdio::null())
            .stdout(file("stdout"))
            .stderr(file("stderr"));
        let group = Group::spawn(&mut launcher).expect("the launcher can be started");
        Self { group, folder, token, name }
    }

    /// Sends a signal to the launcher alone.
    pub(crate) fn signal(&self, signal: Signal) {
        self.group.signal_leader(signal);
    }

    /// Sends a signal to a rank, once that has started.
    #[track_caller]
    pub(crate) fn signal_rank(&self, rank: u32, signal: Signal) {
        let pid = until(|| self.ranks().into_iter().find(|&(_, found)| found == Some(rank)));
        let (pid, _) = pid.unwrap_or_else(|| panic!("rank {rank} does not start: {}", self.so_far()));
        // It fails if the rank has ended meanwhile; then the test finds out.
        let _gone = kill_process(pid, signal);
    }

    /// What was printed until now.
    pub(crate) fn so_far(&self) -> String {
        format!("{}\n{}\n{}", self.name, self.printed("stdout"), self.printed("stderr"))
    }

    /// Waits until the launcher has ended, and then all ranks: none goes on without it.
    #[track_caller]
    pub(crate) fn wait(mut self) -> Ended {
        let began = Instant::now();
        let status = loop {
            match self.group.child().try_wait().expect("it can be waited for") {
                Some(status) => break status,
                None if began.elapsed() > Duration::from_secs(60) => panic!("no end: {}", self.so_far()),
                None => sleep(Duration::from_millis(10)),
            }
        };
        let are_gone = until(|| self.ranks().is_empty().then_some(()));
        assert!(are_gone.is_some(), "ranks go on without their launcher: {}", self.so_far());
        Ended { status, stdout: self.printed("stdout"), stderr: self.printed("stderr") }
    }

    fn printed(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.folder.path().join(name)).unwrap_or_default()).into_owned()
    }

    /// The processes of this job that run the program under test, with their ranks.
    fn ranks(&self) -> Vec<(Pid, Option<u32>)> {
        let program = fs::canonicalize(under_test()).expect("the program is there");
        let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
        let rank = |folder: PathBuf| {
            let pid = folder.file_name()?.to_str()?.parse().ok().and_then(Pid::from_raw)?;
            if fs::read_link(folder.join("exe")).ok()? != program {
                return None;
            }
            let variables = fs::read(folder.join("environ")).ok()?;
            let variables = String::from_utf8_lossy(&variables).into_owned();
            let value = |name: &str| {
                let mut all = variables.split('\0').filter_map(|variable| variable.split_once('='));
                all.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
            };
            (value(TOKEN)? == self.token)
                .then(|| (pid, RANKS.iter().find_map(|name| value(name)).and_then(|rank| rank.parse().ok())))
        };
        processes.flatten().filter_map(|entry| rank(entry.path())).collect()
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.ranks().into_iter().for_each(|(pid, _)| _ = kill_process(pid, Signal::KILL));
    }
}

/// Waits until there is a value.
pub(crate) fn until<T>(look: impl Fn() -> Option<T>) -> Option<T> {
    let began = Instant::now();
    loop {
        match look() {
            None if began.elapsed() < PATIENCE => sleep(Duration::from_millis(20)),
            found => return found,
        }
    }
}
