//! Facts about the system, read from below a folder, so that tests can make one up.

use std::fs;
use std::path::PathBuf;

use rustix::process::{Resource, getrlimit};
use rustix::thread::{CpuSet, sched_getaffinity};

/// A system to look at.
#[derive(Clone, Debug)]
pub(crate) struct System {
    /// The folder that stands for `/`.
    pub(crate) root: PathBuf,
    /// Files that one process may open, now and at most.
    pub(crate) open_files: (u64, u64),
    /// Processors that this process may use.
    pub(crate) processors: usize,
}

impl System {
    /// This machine.
    pub(crate) fn this() -> Self {
        let limit = getrlimit(Resource::Nofile);
        let usable = sched_getaffinity(None)
            .map_or(1, |set| (0..CpuSet::MAX_CPU).filter(|&processor| set.is_set(processor)).count());
        Self {
            root: PathBuf::from("/"),
            open_files: (limit.current.unwrap_or(u64::MAX), limit.maximum.unwrap_or(u64::MAX)),
            processors: usable.max(1),
        }
    }

    /// The contents of a file, without the end of its last line; `None` if it is not there.
    pub(crate) fn read(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.root.join(path.trim_start_matches('/'))).ok()?;
        Some(text.trim_end().to_owned())
    }

    /// The number in a file.
    pub(crate) fn number(&self, path: &str) -> Option<u64> {
        self.read(path)?.parse().ok()
    }

    /// The names in a folder, in order; none if it is not there.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(path.trim_start_matches('/')));
        let mut names: Vec<String> = entries
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }
}
