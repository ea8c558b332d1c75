//! Replies to recorded requests, and those that were recorded.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::merge::Merge;
use crate::{Sample, Timing};

/// Recorded reply to a request that is made again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordedReply {
    /// Status, if it was recorded.
    pub status: Option<u16>,
    /// Time from the start of the request to the end of the reply, if it was recorded.
    pub took: Option<Duration>,
}

/// Comparison of the calls of a replay with the recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayFigures {
    /// Calls with the recorded status.
    pub same: u64,
    /// Calls with another status, or none.
    pub changes: Vec<StatusChange>,
    /// Calls with another status beyond the first [`ReplayFigures::CHANGES_MAX`] kinds.
    pub other_changes: u64,
    /// Recorded times of the calls that have a recorded and a measured one.
    pub recorded: Timing,
    /// Their measured times, from the first byte sent to the end of the reply.
    pub measured: Timing,
}

/// Calls whose status is not the recorded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatusChange {
    /// Recorded status.
    pub recorded: u16,
    /// Status of the reply; `None` if there was no reply.
    pub measured: Option<u16>,
    /// Number of calls.
    pub count: u64,
}

impl ReplayFigures {
    /// Maximum number of kinds of changes that are told apart.
    pub const CHANGES_MAX: usize = 1000;

    /// Adds a call that has ended.
    pub(crate) fn add(&mut self, recorded: RecordedReply, sample: &Sample<'_>) {
        match recorded.status {
            Some(status) if sample.status == Some(status) => self.same += 1,
            Some(recorded) => self.add_change(StatusChange { recorded, measured: sample.status, count: 1 }),
            None => {}
        }
        if sample.status.is_some()
            && let (Some(took), Some(service)) = (recorded.took, sample.service())
        {
            self.recorded.add(took);
            self.measured.add(service);
        }
    }

    fn add_change(&mut self, change: StatusChange) {
        let kind = |change: &StatusChange| (change.recorded, change.measured);
        match self.changes.iter().position(|known| kind(known) == kind(&change)) {
            Some(known) => self.changes[known].count += change.count,
            None if self.changes.len() < Self::CHANGES_MAX => self.changes.push(change),
            None => self.other_changes += change.count,
        }
    }

    /// Number of calls whose status is not the recorded one.
    #[must_use]
    pub fn changed(&self) -> u64 {
        self.changes.iter().map(|change| change.count).sum::<u64>() + self.other_changes
    }

    /// Kinds of changes, most frequent first.
    #[must_use]
    pub fn by_count(&self) -> Vec<StatusChange> {
        let mut changes = self.changes.clone();
        changes.sort_by_key(|change| (std::cmp::Reverse(change.count), change.recorded, change.measured));
        changes
    }
}

impl Merge for ReplayFigures {
    fn merge(&mut self, other: &Self) {
        self.same += other.same;
        self.other_changes += other.other_changes;
        other.changes.iter().for_each(|change| self.add_change(*change));
        // The same order whichever worker saw a change first.
        let sorted: BTreeMap<_, _> =
            self.changes.drain(..).map(|change| ((change.recorded, change.measured), change)).collect();
        self.changes = sorted.into_values().collect();
        self.recorded.merge(&other.recorded);
        self.measured.merge(&other.measured);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Instant;

    fn sample(status: Option<u16>) -> Sample<'static> {
        let at = Instant::from_nanos(1_000_000_000);
        Sample {
            call: 0,
            uri: b"/",
            status,
            intended: at,
            sent: Some(at),
            stalled: Duration::ZERO,
            first_byte: None,
            done: at + Duration::from_millis(7),
            header_size: 0,
            content_size: 0,
            footer_size: 0,
            decoded_size: None,
            mismatch: None,
            carrier: None,
            receive_lag: None,
            kernel: None,
            step: None,
            recorded: None,
            stream: None,
            rpc: None,
            expected: false,
        }
    }

    fn figures(pairs: &[(Option<u16>, Option<u16>)]) -> ReplayFigures {
        let mut figures = ReplayFigures::default();
        for &(status, measured) in pairs {
            let took = Some(Duration::from_millis(5));
            figures.add(RecordedReply { status, took }, &sample(measured));
        }
        figures
    }

    #[test]
    fn statuses_are_compared_call_by_call() {
        let figures = figures(&[
            (Some(200), Some(200)),
            (Some(200), Some(404)),
            (Some(200), Some(404)),
            (Some(404), None),
            (None, Some(200)),
        ]);
        assert_eq!((figures.same, figures.changed()), (1, 3));
        let first = StatusChange { recorded: 200, measured: Some(404), count: 2 };
        assert_eq!(figures.by_count()[0], first);
        assert_eq!(figures.recorded.moments.count(), 4, "calls without a reply have no time to compare");
        assert_eq!(figures.recorded.quantile(0.5), Some(Duration::from_millis(5)));
        assert!(figures.measured.quantile(0.5).unwrap() >= Duration::from_millis(7));
    }

    #[test]
    fn parts_add_up_in_any_order() {
        let (a, b) = (
            figures(&[(Some(200), Some(500)), (Some(301), Some(200)), (Some(200), Some(200))]),
            figures(&[(Some(301), Some(200)), (Some(200), None)]),
        );
        let merged = |first: &ReplayFigures, second: &ReplayFigures| {
            let mut merged = first.clone();
            merged.merge(second);
            merged
        };
        assert_eq!(merged(&a, &b), merged(&b, &a));
        assert_eq!(merged(&a, &b).changed(), 4);
    }

    #[test]
    fn kinds_of_changes_are_bounded() {
        let mut figures = ReplayFigures::default();
        for status in 0..1200 {
            figures.add_change(StatusChange { recorded: status, measured: None, count: 2 });
        }
        assert_eq!((figures.changes.len(), figures.other_changes), (ReplayFigures::CHANGES_MAX, 400));
        assert_eq!(figures.changed(), 2400);
    }
}
