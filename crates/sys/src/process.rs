//! What this process has used of the machine, and what it does on signals.

use std::mem::MaybeUninit;
use std::ptr;
use std::time::Duration;

/// Processor time used by a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuUsage {
    /// In its own code.
    pub user: Duration,
    /// In the kernel on its behalf.
    pub system: Duration,
}

/// The processor time this process has used so far, all threads together.
#[must_use]
pub fn cpu_usage() -> CpuUsage {
    usage_of(libc::RUSAGE_SELF).0
}

/// The processor time that the calling thread has used so far, and how often it was taken off a processor that it still
/// needed.
#[must_use]
pub fn thread_usage() -> (CpuUsage, u64) {
    usage_of(libc::RUSAGE_THREAD)
}

/// Whether this process ignores a signal, as those do that `nohup` started with SIGHUP. False for what is no signal.
#[must_use]
pub fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: without a new action nothing is changed, and the last pointer is valid for writes of a whole `sigaction`.
    let result = unsafe { libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) };
    if result != 0 {
        return false;
    }
    // SAFETY: the call succeeded, so it has written the whole structure.
    let action = unsafe { action.assume_init() };
    action.sa_sigaction == libc::SIG_IGN
}

fn usage_of(who: libc::c_int) -> (CpuUsage, u64) {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the pointer is valid for writes of a whole `rusage`.
    let result = unsafe { libc::getrusage(who, usage.as_mut_ptr()) };
    assert_eq!(result, 0, "getrusage fails only for a wrong first argument or a bad pointer");
    // SAFETY: the call succeeded, so it has written the whole structure.
    let usage = unsafe { usage.assume_init() };
    let cpu = CpuUsage { user: duration(usage.ru_utime), system: duration(usage.ru_stime) };
    (cpu, usage.ru_nivcsw.unsigned_abs())
}

fn duration(time: libc::timeval) -> Duration {
    let (seconds, micros) = (time.tv_sec.unsigned_abs(), time.tv_usec.unsigned_abs());
    Duration::from_secs(seconds) + Duration::from_micros(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_ignored_or_not() {
        // Rust's programs ignore SIGPIPE from the start.
        assert!(is_ignored(libc::SIGPIPE));
        assert!(!is_ignored(libc::SIGTERM));
        assert!(!is_ignored(0) && !is_ignored(-1) && !is_ignored(100_000));
    }

    #[test]
    fn processor_time_grows_with_work() {
        let before = cpu_usage();
        let mut sum = 0_u64;
        while cpu_usage() == before {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        let after = cpu_usage();
        assert!(after.user + after.system > before.user + before.system, "after {sum} additions");
        let (thread, _) = thread_usage();
        assert!(thread.user + thread.system > Duration::ZERO);
    }
}
