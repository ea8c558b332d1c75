//! A descriptor by which a thread wakes another that sleeps in its poller.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};

/// A descriptor that is readable once it has rung, and stays so.
#[derive(Debug)]
pub(crate) struct Alarm(OwnedFd);

impl Alarm {
    /// Creates one that has not rung.
    ///
    /// # Errors
    /// If there is no descriptor left.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    pub(crate) fn ring(&self) {
        // This only fails if the counter is full, and then whoever waits is awake anyway.
        let _full = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
