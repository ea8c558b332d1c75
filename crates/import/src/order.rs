//! A sorter for records that come roughly in order of end and leave in order of start, with bounded memory.
//!
//! A record leaves when all that could still go before it have come: when another has come that ended [`WINDOW`] after
//! its start. Records that come later than that, as in a log that is a concatenation in the wrong order, are left out
//! and counted: placed at the edge they would make a burst that never was. If more than [`RECORDS_MAX`] records wait,
//! the first leave early.

use std::collections::BTreeMap;

use crate::clock::{SECOND, to_rfc3339};
use crate::report::Report;

/// The time by which a record may come late: 60 s, in nanoseconds.
pub const WINDOW: i64 = 60 * SECOND;

/// The maximum number of records that wait.
pub const RECORDS_MAX: usize = 1 << 20;

/// The place of a waiting record.
pub type Key = (i64, u64);

/// Records in order of start.
#[derive(Debug)]
pub struct Order<T> {
    waiting: BTreeMap<Key, T>,
    pushed: u64,
    newest: i64,
    /// The start of the last record that left.
    left: i64,
    late: u64,
    first_late: Option<i64>,
    /// The number of records that may wait: 0 at the end.
    room: usize,
}

impl<T> Default for Order<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Order<T> {
    /// A sorter without records.
    #[must_use]
    pub fn new() -> Self {
        Self {
            waiting: BTreeMap::new(),
            pushed: 0,
            newest: i64::MIN,
            left: i64::MIN,
            late: 0,
            first_late: None,
            room: RECORDS_MAX,
        }
    }

    /// Takes a record with its start and its end, in nanoseconds. Returns its place, or `None` if it comes too late.
    pub fn push(&mut self, start: i64, end: i64, record: T) -> Option<Key> {
        self.newest = self.newest.max(end).max(start);
        if start < self.left {
            self.late += 1;
            self.first_late.get_or_insert(start);
            return None;
        }
        self.pushed += 1;
        let key = (start, self.pushed);
        self.waiting.insert(key, record);
        Some(key)
    }

    /// The record at this place, while it waits.
    pub fn waiting(&mut self, key: Key) -> Option<&mut T> {
        self.waiting.get_mut(&key)
    }

    /// The next record with its start, if none can go before it any more.
    pub fn pop(&mut self) -> Option<(i64, T)> {
        let (&(start, _), _) = self.waiting.first_key_value()?;
        if start >= self.newest.saturating_sub(WINDOW) && self.waiting.len() <= self.room {
            return None;
        }
        self.left = start;
        self.waiting.pop_first().map(|((start, _), record)| (start, record))
    }

    /// Says that no more records come: all that wait may leave.
    pub fn finish(&mut self) {
        self.room = 0;
    }

    /// The number of records that came too late.
    #[must_use]
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Moves the late records in a report from those that are carried to those that are left out.
    pub(crate) fn account(&self, report: &mut Report) {
        report.carried = report.carried.saturating_sub(self.late);
        let Some(first) = self.first_late else { return };
        let reason = "requests that are logged more than 60 s too late to be put in order";
        report.leave_out_many(reason, self.late, || format!("from {}", to_rfc3339(first)));
        report.note("requests were left out for their order: sort the recording by time first");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sorted(records: &[(i64, i64)]) -> (Vec<i64>, u64) {
        let mut order = Order::new();
        let mut out = Vec::new();
        for &(start, end) in records {
            order.push(start * SECOND, end * SECOND, ());
            while let Some((start, ())) = order.pop() {
                out.push(start / SECOND);
            }
        }
        order.finish();
        while let Some((start, ())) = order.pop() {
            out.push(start / SECOND);
        }
        (out, order.late())
    }

    #[test]
    fn records_in_order_of_end_leave_in_order_of_start() {
        assert_eq!(sorted(&[(5, 6), (7, 8), (0, 59), (58, 60)]), (vec![0, 5, 7, 58], 0));
    }

    #[test]
    fn what_comes_later_than_the_window_is_left_out_and_counted() {
        assert_eq!(
            sorted(&[(0, 0), (100, 100), (200, 200), (50, 50), (150, 150)]),
            (vec![0, 100, 150, 200], 1)
        );
        let mut report = Report { carried: 5, ..Report::default() };
        let mut order = Order::<()>::new();
        order.push(0, 0, ());
        order.push(100 * SECOND, 100 * SECOND, ());
        assert!(order.pop().is_some());
        for _ in 0..3 {
            order.push(-SECOND, -SECOND, ());
        }
        order.account(&mut report);
        assert_eq!((report.carried, report.left_out_count()), (2, 3));
        assert_eq!(report.left_out[0].examples, ["from 1969-12-31T23:59:59Z"]);
    }

    #[test]
    fn waiting_records_are_bounded() {
        let mut order = Order::new();
        for number in 0..i64::try_from(RECORDS_MAX).unwrap() + 10 {
            order.push(number, number, ());
        }
        let early = std::iter::from_fn(|| order.pop()).count();
        assert_eq!(early, 10);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_that_is_at_most_the_window_late(
            delays in proptest::collection::vec((0i64..1000, 0i64..60), 0..200)
        ) {
            let mut records: Vec<(i64, i64)> =
                delays.iter().map(|(start, took)| (*start, start + took)).collect();
            records.sort_by_key(|(_, end)| *end);
            let (out, late) = sorted(&records);
            prop_assert_eq!((out.len(), late), (records.len(), 0));
            prop_assert!(out.is_sorted());
        }
    }
}
