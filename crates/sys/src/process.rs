//! The process's reaction to signals.

use std::mem::MaybeUninit;
use std::ptr;

use nix::libc;

/// Returns true if this process ignores a signal, as one started by `nohup` ignores SIGHUP. False for a number that is
/// no signal.
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
}
