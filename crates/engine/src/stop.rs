//! Asking a run to end, from another thread.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{EventfdFlags, eventfd};

/// A request to end the run; clones share it. Asking wakes a worker that sleeps.
#[derive(Clone, Debug)]
pub struct Stop {
    asked: Arc<AtomicBool>,
    wake: Arc<OwnedFd>,
}

impl Stop {
    /// Nobody has asked yet.
    ///
    /// # Errors
    /// When there is no descriptor left.
    pub fn new() -> io::Result<Self> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { asked: Arc::default(), wake: Arc::new(wake) })
    }

    /// Asks for the end of the run.
    pub fn ask(&self) {
        self.asked.store(true, Ordering::Relaxed);
        // It can only fail when the counter is full, and then the worker is awake anyway.
        let _full = rustix::io::write(&*self.wake, &1u64.to_ne_bytes());
    }

    /// Whether someone asked.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// The descriptor that wakes a sleeping worker.
    pub(crate) fn wake_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}
