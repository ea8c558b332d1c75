//! Sparse histograms of durations.

use std::time::Duration;

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::merge::Merge;
use crate::quantile::{rank, samples_needed};

/// Latencies of one interval of time, in classes: values in microseconds with their counts.
///
/// Values are the upper ends of the classes of an HDR histogram, so histograms recorded with the same
/// precision merge exactly.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Vec<(u32, u32)>", into = "Vec<(u32, u32)>")]
#[schemars(with = "Vec<(u32, u32)>")]
pub struct Classes {
    /// Pairs of value in microseconds and count. Values ascend strictly, and no count is 0.
    counts: Vec<(u32, u32)>,
    /// The sum of all counts.
    total: u64,
}

impl Classes {
    /// Creates a histogram from pairs of a value in microseconds and its count. Values saturate at 71
    /// minutes, counts at 4 billion.
    ///
    /// # Panics
    ///
    /// If a value is less than the one before it.
    #[must_use]
    pub fn from_ascending(counts: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let saturate = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let counts = counts.into_iter().filter(|&(_, count)| count > 0);
        let counts: Vec<_> = counts.map(|(us, count)| (saturate(us), saturate(count))).collect();
        assert!(counts.is_sorted_by_key(|&(us, _)| us), "values are handed over in ascending order");
        Self::from_sorted(counts)
    }

    /// Pairs of value in microseconds and count. Values ascend strictly, and no count is 0.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        self.counts.iter().copied()
    }

    /// Converts a histogram of microseconds.
    pub(crate) fn from_histogram(histogram: &Histogram<u32>) -> Self {
        let recorded = histogram.iter_recorded();
        Self::from_ascending(recorded.map(|value| (value.value_iterated_to(), value.count_at_value().into())))
    }

    /// Quantile: the least value at or below which this share (0 to 1) of the latencies lie; `None` if there
    /// are none.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let rank = rank(share, self.total);
        let mut seen = 0;
        self.iter()
            .find(|&(_, count)| {
                seen += u64::from(count);
                seen >= rank
            })
            .map(|(us, _)| Duration::from_micros(us.into()))
    }

    /// Like [`Classes::quantile`], but `None` if there are too few latencies for it ([`samples_needed`]).
    #[must_use]
    pub fn supported_quantile(&self, share: f64) -> Option<Duration> {
        self.quantile(share).filter(|_| self.total >= samples_needed(share))
    }

    /// Returns true if there are no latencies.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Pairs of value in microseconds and count.
    pub(crate) fn counts(&self) -> &[(u32, u32)] {
        &self.counts
    }

    /// Number of latencies.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Sum of all latencies in microseconds.
    #[must_use]
    pub fn sum_us(&self) -> u128 {
        self.iter().map(|(us, count)| u128::from(u64::from(us) * u64::from(count))).sum()
    }

    /// Creates a histogram from non-zero counts by ascending value, joining those of equal values.
    fn from_sorted(mut counts: Vec<(u32, u32)>) -> Self {
        counts.dedup_by(|(us, count), (us_before, count_before)| {
            let equal = us == us_before;
            if equal {
                *count_before = count_before.saturating_add(*count);
            }
            equal
        });
        let total = sum_of_counts(&counts);
        Self { counts, total }
    }

    /// Number of latencies before the first whose value in microseconds is not `low`.
    pub(crate) fn count_while(&self, low: impl Fn(u32) -> bool) -> u64 {
        sum_of_counts(&self.counts[..self.counts.partition_point(|&(us, _)| low(us))])
    }
}

impl Merge for Classes {
    /// Adds the latencies of `other`. The order of merges makes no difference.
    fn merge(&mut self, other: &Self) {
        let mut counts = std::mem::take(&mut self.counts);
        counts.extend_from_slice(&other.counts);
        // A stable sort detects the two ascending runs and takes linear time.
        counts.sort_by_key(|&(us, _)| us);
        *self = Self::from_sorted(counts);
    }
}

impl From<Vec<(u32, u32)>> for Classes {
    fn from(mut counts: Vec<(u32, u32)>) -> Self {
        counts.retain(|&(_, count)| count > 0);
        counts.sort_unstable();
        Self::from_sorted(counts)
    }
}

impl From<Classes> for Vec<(u32, u32)> {
    fn from(classes: Classes) -> Self {
        classes.counts
    }
}

pub(crate) fn sum_of_counts(counts: &[(u32, u32)]) -> u64 {
    counts.iter().map(|&(_, count)| u64::from(count)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_one_class() {
        let classes = Classes::from(vec![(7, 1), (3, 2), (7, 4), (5, 0)]);
        assert_eq!(classes.iter().collect::<Vec<_>>(), [(3, 2), (7, 5)]);
        assert_eq!((classes.total(), classes.sum_us()), (7, 41));
    }

    #[test]
    fn quantiles_are_values_that_were_recorded() {
        let classes = Classes::from_ascending((1..=100).map(|us| (us, 1)));
        for (share, us) in [(0.0, 1), (0.5, 50), (0.991, 100), (1.0, 100)] {
            assert_eq!(classes.quantile(share), Some(Duration::from_micros(us)), "{share}");
        }
        assert_eq!(Classes::default().quantile(0.5), None);
    }

    #[test]
    fn merging_takes_any_order() {
        let (a, b, c) = (
            Classes::from_ascending([(1, 1), (9, 2)]),
            Classes::from_ascending([(1, 5)]),
            Classes::from_ascending([(4, 3), (9, 1)]),
        );
        let merged = |order: [&Classes; 3]| {
            let mut all = Classes::default();
            order.iter().for_each(|part| all.merge(part));
            all
        };
        assert_eq!(merged([&a, &b, &c]), merged([&c, &b, &a]));
        assert_eq!(merged([&a, &b, &c]), Classes::from_ascending([(1, 6), (4, 3), (9, 3)]));
    }

    #[test]
    fn a_quantile_needs_enough_durations() {
        let classes = |count| Classes::from_ascending([(10, count)]);
        assert_eq!(classes(99).supported_quantile(0.99), None);
        assert!(classes(100).supported_quantile(0.99).is_some());
        assert_eq!(classes(999).supported_quantile(0.999), None);
        assert!(classes(1000).supported_quantile(0.999).is_some());
        assert!(classes(1).supported_quantile(1.0).is_some());
        assert_eq!(classes(0).supported_quantile(1.0), None);
    }
}
