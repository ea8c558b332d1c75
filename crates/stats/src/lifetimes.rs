//! Lifetimes of connections: the classic histogram with bins of 1 ms.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::DurationMoments;
use crate::merge::Merge;

/// Bins kept in an array, as in the classic tool (0 to 100 s). Longer lifetimes are rare and go into a map.
const DENSE_BINS: usize = 100_000;

/// Lifetimes of connections that completed at least one call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Saved", into = "Saved")]
#[schemars(with = "Saved")]
pub struct Lifetimes {
    /// Exact moments.
    pub moments: DurationMoments,
    /// Grows with the longest lifetime seen, up to [`DENSE_BINS`].
    dense: Vec<u64>,
    sparse: BTreeMap<u64, u64>,
}

impl Lifetimes {
    /// Adds a lifetime.
    pub fn add(&mut self, lifetime: Duration) {
        self.moments.add(lifetime);
        self.add_to_bin(u64::try_from(lifetime.as_millis()).unwrap_or(u64::MAX), 1);
    }

    fn add_to_bin(&mut self, bin: u64, count: u64) {
        match usize::try_from(bin) {
            Ok(index) if index < DENSE_BINS => {
                if index >= self.dense.len() {
                    self.dense.resize(index + 1, 0);
                }
                self.dense[index] += count;
            }
            _ => *self.sparse.entry(bin).or_default() += count,
        }
    }

    /// Non-empty bins in ascending order: lower edge in ms, and count.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let dense = self.dense.iter().enumerate().map(|(bin, &count)| (bin as u64, count));
        let sparse = self.sparse.iter().map(|(&bin, &count)| (bin, count));
        dense.chain(sparse).filter(|&(_, count)| count > 0)
    }

    /// The classic median in ms: the middle of the first bin at which half of the lifetimes are reached, so
    /// always x.5; 0 if there are none.
    #[must_use]
    pub fn median_ms(&self) -> f64 {
        let mut seen = 0;
        for (bin, count) in self.bins() {
            seen += count;
            if 2 * seen >= self.moments.count() {
                return bin as f64 + 0.5;
            }
        }
        0.0
    }
}

impl Merge for Lifetimes {
    /// Adds the lifetimes of `other`.
    fn merge(&mut self, other: &Self) {
        self.moments.merge(&other.moments);
        other.bins().for_each(|(bin, count)| self.add_to_bin(bin, count));
    }
}

/// Lifetimes as saved.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Lifetimes")]
struct Saved {
    /// Exact moments.
    moments: DurationMoments,
    /// Non-empty bins in ascending order: lower edge in ms, and count.
    bins_ms: Vec<(u64, u64)>,
}

impl From<Lifetimes> for Saved {
    fn from(lifetimes: Lifetimes) -> Self {
        Self { moments: lifetimes.moments, bins_ms: lifetimes.bins().collect() }
    }
}

impl From<Saved> for Lifetimes {
    fn from(saved: Saved) -> Self {
        let mut lifetimes = Self { moments: saved.moments, ..Self::default() };
        saved.bins_ms.into_iter().for_each(|(bin, count)| lifetimes.add_to_bin(bin, count));
        lifetimes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(milliseconds: &[u64]) -> Lifetimes {
        let mut lifetimes = Lifetimes::default();
        milliseconds.iter().for_each(|&ms| lifetimes.add(Duration::from_micros(1000 * ms + 200)));
        lifetimes
    }

    #[test]
    fn the_median_is_the_middle_of_a_bin() {
        assert_eq!(of(&[]).median_ms(), 0.0);
        assert_eq!(of(&[0]).median_ms(), 0.5);
        assert_eq!(of(&[51, 288]).median_ms(), 51.5);
        assert_eq!(of(&[1, 2, 3]).median_ms(), 2.5);
    }

    #[test]
    fn lifetimes_beyond_the_classic_table_are_counted() {
        let long = of(&[5, 100_000, 3_600_000, 3_600_000]);
        assert_eq!(long.bins().collect::<Vec<_>>(), [(5, 1), (100_000, 1), (3_600_000, 2)]);
        assert_eq!(of(&[3_600_000]).median_ms(), 3_600_000.5);
    }
}
