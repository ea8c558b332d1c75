//! The timers of connections whose protocol has one: QUIC's loss detection, acknowledgements and idle time-out.

use std::collections::BTreeSet;

use httperf_stats::Instant;

use crate::worker::ConnectionKey;

/// Instants at which connections are to be looked at, one for each, the earliest first. A connection whose timer was set
/// later, or cleared, stays filed: it is looked at in vain, and filed again.
#[derive(Debug, Default)]
pub(super) struct Timers(BTreeSet<(Instant, ConnectionKey)>);

impl Timers {
    /// Files a connection under an instant, in place of the one under which it is filed.
    pub(super) fn file(&mut self, key: ConnectionKey, filed: Option<Instant>, at: Instant) {
        self.remove(key, filed);
        self.0.insert((at, key));
    }

    /// Removes a connection that is filed under this instant, if under any.
    pub(super) fn remove(&mut self, key: ConnectionKey, filed: Option<Instant>) {
        if let Some(filed) = filed {
            self.0.remove(&(filed, key));
        }
    }

    /// Returns the earliest instant.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.first().map(|&(at, _)| at)
    }

    /// Returns how many connections are filed.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes a connection whose instant has come.
    pub(super) fn pop(&mut self, now: Instant) -> Option<ConnectionKey> {
        self.next().filter(|at| *at <= now)?;
        self.0.pop_first().map(|(_, key)| key)
    }
}

#[cfg(test)]
mod tests {
    use slotmap::SlotMap;

    use super::*;

    #[test]
    fn each_connection_is_filed_once() {
        let mut keys = SlotMap::<ConnectionKey, ()>::with_key();
        let [one, two] = [(); 2].map(|()| keys.insert(()));
        let at = Instant::from_nanos;
        let mut timers = Timers::default();
        timers.file(one, None, at(30));
        timers.file(two, None, at(20));
        timers.file(one, Some(at(30)), at(10));
        assert_eq!((timers.len(), timers.next(), timers.pop(at(9))), (2, Some(at(10)), None));
        assert_eq!((timers.pop(at(10)), timers.pop(at(10)), timers.len()), (Some(one), None, 1));
        timers.remove(two, Some(at(20)));
        timers.remove(one, None);
        assert_eq!(timers.next(), None);
    }
}
