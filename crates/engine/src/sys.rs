//! The system calls that have no safe wrapper elsewhere. Every `unsafe` block of the project is in this file.

#![expect(unsafe_code, reason = "the one place for it; each block says why it is sound")]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use httperf_stats::CpuTime;

/// The processor time this process has used so far, all threads together.
pub(crate) fn process_cpu_time() -> CpuTime {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the pointer is valid for writes of a whole `rusage`.
    let result = unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    assert_eq!(result, 0, "getrusage fails only for a wrong first argument or a bad pointer");
    // SAFETY: the call succeeded, so it has written the whole structure.
    let usage = unsafe { usage.assume_init() };
    CpuTime { user: duration(usage.ru_utime), system: duration(usage.ru_stime) }
}

fn duration(time: libc::timeval) -> Duration {
    let (seconds, micros) = (time.tv_sec.unsigned_abs(), time.tv_usec.unsigned_abs());
    Duration::from_secs(seconds) + Duration::from_micros(micros)
}

/// Leaves the choice of a local port to `connect`, so that one port can serve many destinations (ip(7),
/// `IP_BIND_ADDRESS_NO_PORT`; Linux uses it for IPv6 sockets as well).
pub(crate) fn set_bind_address_no_port(socket: impl AsFd) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the option value is a valid `int`, and its size is passed with it.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            std::ptr::from_ref(&on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
