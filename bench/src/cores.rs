//! Which core does what: the client under test has one to itself, the server another.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The cores of a measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cores {
    pub(crate) client: usize,
    pub(crate) server: usize,
    /// A second one for a client of two threads: the server's if there are just two, the only one if there is one.
    pub(crate) second_client: usize,
}

impl Cores {
    /// The last and the first of the cores this process may use for client and server: the first one tends to serve
    /// interrupts. They are the same where there is just one.
    pub(crate) fn choose() -> anyhow::Result<Self> {
        let usable = sched_getaffinity(None)?;
        let mut cores = (0..CpuSet::MAX_CPU).filter(|&core| usable.is_set(core));
        let first = cores.next().expect("this process runs on some core");
        let client = cores.next_back().unwrap_or(first);
        Ok(Cores { client, server: first, second_client: cores.next_back().unwrap_or(first) })
    }
}

/// Starts something on `cores`: a child process begins where its parent was, so this thread moves there and back.
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
