//! Stamps of whole seconds, spread evenly within their second.
//!
//! Of *n* requests with the same stamp, the one that comes *k*-th in the log, counted from 0, is placed `(k + 0.5)/n`
//! seconds behind it. A second is kept until no more of its requests can be expected.

use std::collections::{BTreeMap, VecDeque};

use crate::clock::SECOND;
use crate::order::{RECORDS_MAX, WINDOW};

use super::line::Stamped;
use super::{Record, Resolution};

/// The seconds for which requests are waited for where the stamp is of the end, which the log is in the order of. They
/// allow for servers whose workers write their lines together.
const WINDOW_OF_ENDS: i64 = 10 * SECOND;

/// The records that wait for others of their second.
#[derive(Debug)]
pub(super) struct Spread {
    seconds: BTreeMap<i64, Vec<Stamped>>,
    waiting: usize,
    newest: i64,
    ready: VecDeque<Record>,
    /// The time for which a second is kept; `None` if stamps are finer.
    window: Option<i64>,
}

impl Spread {
    pub(super) fn new(resolution: Resolution, is_end: bool) -> Self {
        let window = if is_end { WINDOW_OF_ENDS } else { WINDOW };
        Self {
            seconds: BTreeMap::new(),
            waiting: 0,
            newest: i64::MIN,
            ready: VecDeque::new(),
            window: (resolution == Resolution::Second).then_some(window),
        }
    }

    pub(super) fn push(&mut self, stamped: Stamped) {
        let Some(window) = self.window else {
            self.ready.push_back(stamped.placed(0));
            return;
        };
        self.newest = self.newest.max(stamped.stamp);
        self.seconds.entry(stamped.stamp).or_default().push(stamped);
        self.waiting += 1;
        while let Some((&second, _)) = self.seconds.first_key_value()
            && (second < self.newest.saturating_sub(window) || self.waiting > RECORDS_MAX)
        {
            self.release();
        }
    }

    /// The next record, if one is ready.
    pub(super) fn pop(&mut self) -> Option<Record> {
        self.ready.pop_front()
    }

    /// Releases all that wait.
    pub(super) fn finish(&mut self) {
        while !self.seconds.is_empty() {
            self.release();
        }
    }

    /// Places the records of the first second.
    fn release(&mut self) {
        let Some((_, records)) = self.seconds.pop_first() else { return };
        self.waiting -= records.len();
        let count = i128::try_from(records.len()).unwrap_or(i128::MAX);
        for (number, stamped) in (0i128..).zip(records) {
            let later = (2 * number + 1) * i128::from(SECOND) / (2 * count);
            self.ready.push_back(stamped.placed(i64::try_from(later).unwrap_or(0)));
        }
    }
}
