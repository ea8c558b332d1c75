//! What a run took from the machine, and what the machine took from it.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Processor time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuTime {
    /// Spent in this program.
    #[serde(rename = "user_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub user: Duration,
    /// Spent in the kernel on its behalf.
    #[serde(rename = "system_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub system: Duration,
}

impl CpuTime {
    /// Both together.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.user + self.system
    }

    fn since(self, earlier: Self) -> Self {
        Self {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
        }
    }

    fn add(&mut self, other: Self) {
        self.user += other.user;
        self.system += other.system;
    }
}

/// What the machine's counters say at one moment, as far as it has them; all of them only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Processor time of the process, all threads together.
    pub process: CpuTime,
    /// What the worker's thread used, and had to wait.
    pub thread: ThreadUsage,
    /// Time that a hypervisor gave to others, all processors together.
    pub stolen: Duration,
    /// Processors of the machine.
    pub processors: u32,
}

impl Counters {
    /// What has come since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Usage {
        Usage {
            cpu: self.process.since(earlier.process),
            workers: vec![ThreadUsage {
                cpu: self.thread.cpu.since(earlier.thread.cpu),
                kept_waiting: self.thread.kept_waiting.saturating_sub(earlier.thread.kept_waiting),
                preempted: self.thread.preempted.saturating_sub(earlier.thread.preempted),
            }],
            stolen: self.stolen.saturating_sub(earlier.stolen),
            processors: self.processors,
        }
    }
}

/// What one thread used of a processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadUsage {
    /// Its processor time.
    pub cpu: CpuTime,
    /// How long it could have run but no processor was free (`/proc/thread-self/schedstat`).
    #[serde(rename = "kept_waiting_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub kept_waiting: Duration,
    /// How often it was taken off a processor that it still needed (involuntary context switches).
    pub preempted: u64,
}

/// What a run took from the machine while it was measured, and what the machine took from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Processor time of the process, all threads together.
    pub cpu: CpuTime,
    /// What each worker's thread used.
    pub workers: Vec<ThreadUsage>,
    /// Time that a hypervisor gave to others, all processors together.
    #[serde(rename = "stolen_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub stolen: Duration,
    /// Processors of the machine; of all machines, where results were merged.
    pub processors: u32,
}

impl Usage {
    /// Adds that of another part of the same run, on another machine.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.cpu.add(other.cpu);
        self.workers.extend_from_slice(&other.workers);
        self.workers.sort_by_key(|worker| (worker.cpu.user, worker.cpu.system, worker.kept_waiting));
        self.stolen += other.stolen;
        self.processors += other.processors;
    }
}
