//! The limit on open files: raised as far as the system lets us, and told.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// As many as the largest measurement wants on each side, and some.
const WANTED: u64 = 220_000;

/// Raises the limit of this process, and so of the children it will start; returns what it is then.
pub(crate) fn raise() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let maximum = limit.maximum.unwrap_or(u64::MAX);
    // Beyond the hard limit only with a capability; try, since it decides what can be measured.
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
