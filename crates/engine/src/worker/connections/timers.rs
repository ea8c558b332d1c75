//! The timers of connections whose protocol has one: QUIC's loss detection, acknowledgements and idle time-out.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use httperf_stats::Instant;

use crate::worker::ConnectionKey;

/// Instants at which connections are to be looked at, the earliest first. A connection whose timer was set later, or
/// cleared, stays filed: it is looked at in vain, and filed again.
#[derive(Debug, Default)]
pub(super) struct Timers(BinaryHeap<Reverse<(Instant, ConnectionKey)>>);

impl Timers {
    pub(super) fn push(&mut self, at: Instant, key: ConnectionKey) {
        self.0.push(Reverse((at, key)));
    }

    /// Returns the earliest instant.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    /// Returns how many connections are filed, some of them more than once.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes a connection whose instant has come.
    pub(super) fn pop(&mut self, now: Instant) -> Option<ConnectionKey> {
        self.next().filter(|at| *at <= now)?;
        self.0.pop().map(|Reverse((_, key))| key)
    }
}
