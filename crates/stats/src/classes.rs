//! Durations in classes: a histogram as small as what is in it.

use std::time::Duration;

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Durations in classes: how many of each value, in ascending order, as pairs of microseconds and a count.
///
/// The values are upper ends of the classes of an HDR histogram, so what was recorded in histograms of the same precision
/// merges exactly.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Classes {
    counts: Vec<(u32, u32)>,
}

impl Classes {
    /// Those of these pairs of microseconds and counts.
    #[must_use]
    pub fn new(counts: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut counts: Vec<(u32, u32)> = counts.into_iter().filter(|&(_, count)| count > 0).collect();
        counts.sort_unstable();
        counts.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            is_same
        });
        Self { counts }
    }

    pub(crate) fn from_histogram(histogram: &Histogram<u32>) -> Self {
        let counts = histogram.iter_recorded().map(|value| {
            (u32::try_from(value.value_iterated_to()).unwrap_or(u32::MAX), value.count_at_value())
        });
        Self { counts: counts.collect() }
    }

    /// The pairs of microseconds and counts, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u32, u32)> + '_ {
        self.counts.iter().copied()
    }

    /// How many durations there are.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|&(_, count)| u64::from(count)).sum()
    }

    /// Their sum in microseconds.
    #[must_use]
    pub fn sum_us(&self) -> u64 {
        self.counts.iter().map(|&(us, count)| u64::from(us) * u64::from(count)).sum()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The least value at or below which this share (0 to 1) of the durations lie; `None` if there are none.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let rank = ((share * self.total() as f64).ceil() as u64).max(1);
        let mut seen = 0;
        self.iter()
            .find(|&(_, count)| {
                seen += u64::from(count);
                seen >= rank
            })
            .map(|(us, _)| Duration::from_micros(us.into()))
    }

    /// Adds all that another has.
    pub fn merge(&mut self, other: &Self) {
        if self.is_empty() {
            self.counts.clone_from(&other.counts);
        } else if !other.is_empty() {
            *self = Self::new(self.iter().chain(other.iter()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_one_class() {
        let classes = Classes::new([(7, 1), (3, 2), (7, 4), (5, 0)]);
        assert_eq!(classes.iter().collect::<Vec<_>>(), [(3, 2), (7, 5)]);
        assert_eq!((classes.total(), classes.sum_us()), (7, 41));
    }

    #[test]
    fn quantiles_are_values_that_were_recorded() {
        let classes = Classes::new((1..=100).map(|us| (us, 1)));
        for (share, us) in [(0.0, 1), (0.5, 50), (0.991, 100), (1.0, 100)] {
            assert_eq!(classes.quantile(share), Some(Duration::from_micros(us)), "{share}");
        }
        assert_eq!(Classes::default().quantile(0.5), None);
    }

    #[test]
    fn merging_takes_any_order() {
        let (a, b, c) =
            (Classes::new([(1, 1), (9, 2)]), Classes::new([(1, 5)]), Classes::new([(4, 3), (9, 1)]));
        let merged = |order: [&Classes; 3]| {
            let mut all = Classes::default();
            order.iter().for_each(|part| all.merge(part));
            all
        };
        assert_eq!(merged([&a, &b, &c]), merged([&c, &b, &a]));
        assert_eq!(merged([&a, &b, &c]), Classes::new([(1, 6), (4, 3), (9, 3)]));
    }
}
