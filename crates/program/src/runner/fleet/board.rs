//! The standing of a meeting, which the thread of the meeting changes and others wait for.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The longest wait: for ever, and no more than the clock can count.
const EVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// A value that is waited for.
#[derive(Debug, Default)]
pub(super) struct Board<T> {
    state: Mutex<T>,
    changed: Condvar,
}

impl<T> Board<T> {
    /// The value, to look at it.
    pub(super) fn state(&self) -> MutexGuard<'_, T> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the value, and wakes those who wait for it.
    pub(super) fn change(&self, change: impl FnOnce(&mut T)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    /// Waits until something is so; `None` for the limit waits for ever.
    pub(super) fn wait(&self, limit: Option<Duration>, is_so: impl Fn(&T) -> bool) -> MutexGuard<'_, T> {
        let waits = |state: &mut T| !is_so(state);
        let waited = self.changed.wait_timeout_while(self.state(), limit.unwrap_or(EVER).min(EVER), waits);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
