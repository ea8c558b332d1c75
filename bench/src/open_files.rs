//! Limit on open files: raised as far as the system allows.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Enough for the largest measurement on each side, with some spare.
const WANTED: u64 = 220_000;

/// Raises the limit of this process, and so of its future children; returns the new limit.
pub(crate) fn raise() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let maximum = limit.maximum.unwrap_or(u64::MAX);
    // Exceeding the hard limit needs a capability; try it, since the limit decides what can be measured.
    if maximum < WANTED {
        let beyond = Rlimit { current: Some(WANTED), maximum: Some(WANTED) };
        if setrlimit(Resource::Nofile, beyond).is_ok() {
            return WANTED;
        }
    }
    let within = Rlimit { current: Some(maximum.min(WANTED)), maximum: limit.maximum };
    match setrlimit(Resource::Nofile, within) {
        Ok(()) => maximum.min(WANTED),
        Err(_) => limit.current.unwrap_or(u64::MAX),
    }
}
