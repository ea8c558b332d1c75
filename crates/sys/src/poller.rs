//! Waiting for readiness where the system lacks `epoll_pwait2`: before Linux 5.11, and under valgrind.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// How many events are taken at once.
const EVENTS_MAX: libc::c_int = 256;

/// Waits on an epoll instance as epoll_wait(2) does, in whole milliseconds, rounded up; for ever if there is no
/// `timeout`. Tells `ready` the flags and the data of each that is ready.
///
/// # Errors
/// Those of the call: for a descriptor that is no epoll instance, or when a signal came.
pub fn epoll_wait_millis(
    epoll: impl AsFd,
    timeout: Option<Duration>,
    mut ready: impl FnMut(u32, u64),
) -> io::Result<()> {
    let mut events = [const { MaybeUninit::<libc::epoll_event>::uninit() }; EVENTS_MAX as usize];
    let millis = timeout
        .map_or(-1, |timeout| i32::try_from(timeout.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX));
    // SAFETY: the pointer is valid for writes of as many events as are passed as their number.
    let count = unsafe {
        libc::epoll_wait(epoll.as_fd().as_raw_fd(), events.as_mut_ptr().cast(), EVENTS_MAX, millis)
    };
    let Ok(count) = usize::try_from(count) else { return Err(io::Error::last_os_error()) };
    for event in &events[..count] {
        // SAFETY: the call has written so many events.
        let event = unsafe { event.assume_init() };
        ready(event.events, event.u64);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_epoll_instances_can_be_waited_on() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(epoll_wait_millis(&file, Some(Duration::ZERO), |_, _| {}).is_err());
    }
}
