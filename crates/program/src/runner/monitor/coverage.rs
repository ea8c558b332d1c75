//! The intervals of a run that a consumer has taken, so that it can take the others from the series at the end.

use std::time::Duration;

use httperf_stats::Interval;

/// The time that was taken, up to the end of the last interval.
#[derive(Debug, Default)]
pub(super) struct Coverage {
    /// The end of the last interval that was taken.
    end: Duration,
    /// Times before that in which none was: from, to.
    gaps: Vec<(Duration, Duration)>,
}

impl Coverage {
    /// Takes note of the next interval; `is_taken`: it is not to be taken again.
    pub(super) fn note(&mut self, interval: &Interval, is_taken: bool) {
        if interval.from > self.end {
            self.add_gap(self.end, interval.from);
        }
        if !is_taken {
            self.add_gap(interval.from, interval.end());
        }
        self.end = interval.end();
    }

    /// Returns true if nothing of this interval of the series was taken.
    pub(super) fn lacks(&self, interval: &Interval) -> bool {
        let (from, to) = (interval.from, interval.end());
        from >= self.end || self.gaps.iter().any(|gap| gap.0 <= from && to <= gap.1)
    }

    fn add_gap(&mut self, from: Duration, to: Duration) {
        match self.gaps.last_mut() {
            Some(last) if last.1 == from => last.1 = to,
            _ => self.gaps.push((from, to)),
        }
    }
}
