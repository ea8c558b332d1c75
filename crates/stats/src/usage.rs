//! Resources that a run used, and processor time that it lost to others.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::merge::merge_fields;

/// Processor time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuTime {
    /// In user space.
    #[serde(rename = "user_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub user: Duration,
    /// In the kernel, on behalf of the process.
    #[serde(rename = "system_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub system: Duration,
}

impl CpuTime {
    /// User and system time together.
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
}

/// Monotonic system counters at one moment, as far as the system has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Processor time of the process, all threads together.
    pub process: CpuTime,
    /// Usage of the worker's thread.
    pub thread: ThreadUsage,
    /// Time that the hypervisor gave to other guests, all processors together.
    pub stolen: Duration,
    /// Number of processors.
    pub processors: u32,
    /// Datagrams that this machine has lost.
    pub udp: UdpLosses,
}

impl Counters {
    /// Returns the increase since `earlier`.
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
            udp: self.udp.since(earlier.udp),
        }
    }
}

/// UDP datagrams that the machine lost in buffers of its own, of all programs in its network namespace, over IPv4 and
/// IPv6 (`/proc/net/snmp`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UdpLosses {
    /// Datagrams that arrived and found a socket's buffer full, or no memory (`RcvbufErrors`, `MemErrors`). The kernel
    /// counts datagrams that it had put together (GRO, GSO over the loopback interface) once.
    pub receive: u64,
    /// Datagrams that found no room on their way out (`SndbufErrors`). Attempts to send that a full socket's buffer refused
    /// are among them; what they tried to send is not lost.
    pub send: u64,
}

impl UdpLosses {
    fn since(self, earlier: Self) -> Self {
        Self {
            receive: self.receive.saturating_sub(earlier.receive),
            send: self.send.saturating_sub(earlier.send),
        }
    }
}

/// Processor usage of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadUsage {
    /// Processor time.
    pub cpu: CpuTime,
    /// Time it was ready to run but no processor was free (`/proc/thread-self/schedstat`).
    #[serde(rename = "kept_waiting_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub kept_waiting: Duration,
    /// Number of times it was preempted (involuntary context switches).
    pub preempted: u64,
}

/// Resources used during the measured phase, and processor time lost to others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Processor time of the process, all threads together.
    pub cpu: CpuTime,
    /// Usage of each worker's thread.
    pub workers: Vec<ThreadUsage>,
    /// Time that the hypervisor gave to other guests, all processors together.
    #[serde(rename = "stolen_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub stolen: Duration,
    /// Number of processors; of all machines, if results were merged.
    pub processors: u32,
    /// Datagrams that the machine lost in buffers of its own; of all machines, if results were merged. Where ranks of a fleet
    /// shared one, each counted all of them, and the sum is an upper bound.
    #[serde(default)]
    pub udp: UdpLosses,
}

merge_fields!(CpuTime {
    sum: user, system;
});

merge_fields!(UdpLosses {
    add: receive, send;
});

// What parts on several machines used.
merge_fields!(Usage {
    add: cpu, udp;
    join: workers;
    sum: stolen, processors;
});

/// All workers, in an order that does not depend on that of the parts.
fn join(own: &mut Vec<ThreadUsage>, other: &[ThreadUsage]) {
    own.extend_from_slice(other);
    own.sort_by_key(|worker| (worker.cpu.user, worker.cpu.system, worker.kept_waiting));
}
