//! What Linux counts of this process, this thread and this machine.

use std::fs;
use std::time::Duration;

use httperf_stats::{Counters, CpuTime, ThreadUsage};
use httperf_sys::CpuUsage;

/// Reads them all. What the system does not have stays zero.
pub(super) fn read() -> Counters {
    let (thread, preempted) = httperf_sys::thread_usage();
    Counters {
        process: cpu_time(httperf_sys::cpu_usage()),
        thread: ThreadUsage {
            cpu: cpu_time(thread),
            kept_waiting: kept_waiting().unwrap_or_default(),
            preempted,
        },
        stolen: stolen().unwrap_or_default(),
        processors: std::thread::available_parallelism().map_or(1, |count| count.get() as u32),
    }
}

fn cpu_time(usage: CpuUsage) -> CpuTime {
    CpuTime { user: usage.user, system: usage.system }
}

/// The second of the numbers of `schedstat`: nanoseconds spent waiting for a processor.
///
/// <https://docs.kernel.org/scheduler/sched-stats.html#proc-pid-schedstat>
fn kept_waiting() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// The `steal` column of the first line of `/proc/stat` (proc_stat(5)), in ticks, of which there are a hundred in a
/// second.
fn stolen() -> Option<Duration> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let ticks: u64 = text.lines().next()?.split_whitespace().nth(8)?.parse().ok()?;
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Some(Duration::from_nanos(ticks.saturating_mul(1_000_000_000 / per_second)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_says_what_a_thread_has_used() {
        let before = read();
        let mut sum = 0_u64;
        while read().thread.cpu == before.thread.cpu {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        let usage = read().since(&before);
        assert!(usage.workers[0].cpu.total() > Duration::ZERO, "after {sum} additions");
        // Both are read one after the other.
        let slack = Duration::from_millis(50);
        assert!(usage.cpu.total() + slack >= usage.workers[0].cpu.total());
        assert!(usage.processors > 0);
    }
}
