//! Assignment of cores: the client under test has one to itself, the server another.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Cores of a measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cores {
    pub(crate) client: usize,
    pub(crate) server: usize,
    /// Second core for a client with two threads: the server's if there are only two.
    pub(crate) second_client: usize,
}

impl Cores {
    /// Chooses the last usable core for the client and the first for the server, since the first tends to
    /// serve interrupts. They are the same if there is only one.
    pub(crate) fn choose() -> anyhow::Result<Self> {
        let usable = sched_getaffinity(None)?;
        let mut cores = (0..CpuSet::MAX_CPU).filter(|&core| usable.is_set(core));
        let first = cores.next().expect("this process runs on some core");
        let client = cores.next_back().unwrap_or(first);
        Ok(Cores { client, server: first, second_client: cores.next_back().unwrap_or(first) })
    }
}

/// Keeps this process, and all that it starts from now on, on one core.
pub(crate) fn stay_on_one() -> anyhow::Result<()> {
    let mut only = CpuSet::new();
    only.set(Cores::choose()?.client);
    Ok(sched_setaffinity(None, &only)?)
}

/// Starts something on `cores`: a child inherits the affinity, so this thread moves there and back.
pub(crate) fn on_cores<T>(cores: &[usize], start: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let usable = sched_getaffinity(None)?;
    let mut only = CpuSet::new();
    for &core in cores {
        only.set(core);
    }
    sched_setaffinity(None, &only)?;
    let started = start();
    sched_setaffinity(None, &usable)?;
    started
}
