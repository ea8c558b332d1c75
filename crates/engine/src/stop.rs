//! The request to end a run, from another thread.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::os::Alarm;

/// A shared flag that requests the end of the run. Setting it wakes a sleeping worker.
#[derive(Clone, Debug)]
pub struct StopRequest {
    asked: Arc<AtomicBool>,
    alarm: Arc<Alarm>,
}

impl StopRequest {
    /// Creates a flag that is not set.
    ///
    /// # Errors
    /// If there is no descriptor left.
    pub fn new() -> io::Result<Self> {
        Ok(Self { asked: Arc::default(), alarm: Arc::new(Alarm::new()?) })
    }

    /// Requests the end of the run.
    pub fn ask(&self) {
        self.asked.store(true, Ordering::Relaxed);
        self.alarm.ring();
    }

    /// Returns true if the end was requested.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Returns the descriptor that wakes a sleeping worker.
    pub(crate) fn wake_fd(&self) -> BorrowedFd<'_> {
        self.alarm.as_fd()
    }
}
