//! Stamps of requests and replies by the server's clock, to compare with those of a client.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// One request and its reply. Instants are readings of `CLOCK_MONOTONIC`, which all processes of a machine share.
///
/// They are exact for requests that follow one another on their connection, but not for pipelined ones and those on
/// several streams at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The request target.
    pub target: String,
    /// The instant of the last read before the reply.
    pub received: Duration,
    /// The instant just before the first byte of the reply was handed to the system.
    pub handed: Duration,
}

/// Reads the clock of a [`Stamp`].
pub(crate) fn now() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::from_secs(now.tv_sec.unsigned_abs()) + Duration::from_nanos(now.tv_nsec.unsigned_abs())
}
