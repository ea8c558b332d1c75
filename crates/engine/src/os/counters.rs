//! Linux's counters of this process, this thread and this machine.

use std::fs;
use std::time::Duration;

use httperf_stats::{Counters, CpuTime, ThreadUsage};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;

/// Reads all counters. Those that the system lacks are 0.
pub(super) fn read() -> Counters {
    let usage = |who| getrusage(who).expect("getrusage knows processes and threads");
    let thread = usage(UsageWho::RUSAGE_THREAD);
    let machine = fs::read_to_string("/proc/stat").ok().and_then(|text| machine(&text)).unwrap_or_default();
    Counters {
        process: cpu_time(&usage(UsageWho::RUSAGE_SELF)),
        thread: ThreadUsage {
            cpu: cpu_time(&thread),
            kept_waiting: kept_waiting().unwrap_or_default(),
            preempted: thread.involuntary_context_switches().unsigned_abs(),
        },
        stolen: machine.stolen,
        processors: machine.processors,
    }
}

fn cpu_time(usage: &Usage) -> CpuTime {
    CpuTime { user: duration(usage.user_time()), system: duration(usage.system_time()) }
}

fn duration(time: TimeVal) -> Duration {
    Duration::from_secs(time.tv_sec().unsigned_abs()) + Duration::from_micros(time.tv_usec().unsigned_abs())
}

/// Returns the time this thread waited for a processor: the second number of `schedstat`, in nanoseconds.
///
/// <https://docs.kernel.org/scheduler/sched-stats.html#proc-pid-schedstat>
fn kept_waiting() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// The figures of `/proc/stat` (proc_stat(5)).
#[derive(Debug, Default, PartialEq, Eq)]
struct Machine {
    stolen: Duration,
    processors: u32,
}

/// Parses the `steal` column of the first line, in ticks of 10 ms, and counts the processors, each with its own line,
/// whether or not this thread may use them.
fn machine(stat: &str) -> Option<Machine> {
    let mut lines = stat.lines();
    let ticks: u64 = lines.next()?.split_whitespace().nth(8)?.parse().ok()?;
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Some(Machine {
        stolen: Duration::from_nanos(ticks.saturating_mul(1_000_000_000 / per_second)),
        processors: u32::try_from(lines.take_while(|line| line.starts_with("cpu")).count()).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_all_of_its_processors() {
        let stat =
            "cpu  1 2 3 4 5 6 7 250 0 0\ncpu0 1 1 1 1 1 1 1 100 0 0\ncpu3 0 1 2 3 4 5 6 150 0 0\nintr 5 6\n";
        let stolen = Duration::from_millis(2500);
        assert_eq!(machine(stat), Some(Machine { stolen, processors: 2 }));
        assert_eq!(machine(""), None);
    }

    #[test]
    fn linux_says_what_a_thread_has_used() {
        let before = read();
        let mut sum = 0_u64;
        while read().thread.cpu == before.thread.cpu {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        let usage = read().since(&before);
        assert!(usage.workers[0].cpu.total() > Duration::ZERO, "after {sum} additions");
        // The two are read one after the other.
        let slack = Duration::from_millis(50);
        assert!(usage.cpu.total() + slack >= usage.workers[0].cpu.total());
        assert!(usage.processors > 0);
    }
}
