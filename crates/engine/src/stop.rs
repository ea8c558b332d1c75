//! The request to end a run, from another thread.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{EventfdFlags, eventfd};

/// A shared flag that requests the end of the run. Setting it wakes a sleeping worker.
#[derive(Clone, Debug)]
pub struct StopRequest {
    asked: Arc<AtomicBool>,
    wake: Arc<OwnedFd>,
}

impl StopRequest {
    /// Creates a flag that is not set.
    ///
    /// # Errors
    /// If there is no descriptor left.
    pub fn new() -> io::Result<Self> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { asked: Arc::default(), wake: Arc::new(wake) })
    }

    /// Requests the end of the run.
    pub fn ask(&self) {
        self.asked.store(true, Ordering::Relaxed);
        // This only fails if the counter is full, and then the worker is awake anyway.
        let _full = rustix::io::write(&*self.wake, &1u64.to_ne_bytes());
    }

    /// Returns true if the end was requested.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Returns the descriptor that wakes a sleeping worker.
    pub(crate) fn wake_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}
