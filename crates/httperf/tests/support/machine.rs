//! Who has the machine. Tests that measure have it to themselves; the other tests of the same program share it.

use std::env;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

static MACHINE: RwLock<()> = RwLock::new(());

/// Holds the machine, or a share of it, until it is dropped.
#[must_use]
pub(crate) struct Guard {
    _alone: Option<RwLockWriteGuard<'static, ()>>,
    _shared: Option<RwLockReadGuard<'static, ()>>,
}

/// Returns true if tests are to take their long form, as in `make test-long`: more runs, and longer ones.
pub(crate) fn is_long() -> bool {
    env::var_os("HTTPERF_LONG").is_some()
}

/// Waits until no other test of this program runs, and keeps them all waiting.
pub(crate) fn alone() -> Guard {
    Guard { _alone: Some(MACHINE.write().unwrap_or_else(PoisonError::into_inner)), _shared: None }
}

/// Waits until no test has the machine to itself.
pub(crate) fn shared() -> Guard {
    Guard { _alone: None, _shared: Some(MACHINE.read().unwrap_or_else(PoisonError::into_inner)) }
}
