//! When requests came and replies left, by the server's own clock: what a client's idea of it is held against.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// One request and its reply. Instants are readings of `CLOCK_MONOTONIC`, which all processes of a machine share.
///
/// They mean what they say for requests that come one after the other on their connection, and not pipelined or on
/// several streams at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The request target.
    pub target: String,
    /// When the last piece of the request before the reply was read.
    pub received: Duration,
    /// When the first byte of the reply was about to be handed to the system.
    pub handed: Duration,
}

/// Now, as a [`Stamp`] has it.
pub(crate) fn now() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::from_secs(now.tv_sec.unsigned_abs()) + Duration::from_nanos(now.tv_nsec.unsigned_abs())
}
