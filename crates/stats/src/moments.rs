//! Count, mean, extremes and standard deviation, without keeping the values.

use std::time::Duration;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::merge::Merge;

/// Moments of durations. Sums are integers, so they are exact and independent of order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DurationMoments {
    /// Number of values.
    count: u64,
    /// Sum of the values, in decimal digits: it may exceed the integer range of other programs.
    #[serde(with = "digits")]
    #[schemars(with = "String")]
    sum_ns: u128,
    /// Sum of the squares, in decimal digits.
    #[serde(with = "digits")]
    #[schemars(with = "String")]
    sum_ns2: u128,
    /// Minimum.
    min_ns: u64,
    /// Maximum.
    max_ns: u64,
}

impl<'de> Deserialize<'de> for DurationMoments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Fields as saved, before they are validated.
        #[derive(Deserialize)]
        #[serde(rename = "DurationMoments")]
        struct Saved {
            count: u64,
            #[serde(with = "digits")]
            sum_ns: u128,
            #[serde(with = "digits")]
            sum_ns2: u128,
            min_ns: u64,
            max_ns: u64,
        }
        let Saved { count, sum_ns, sum_ns2, min_ns, max_ns } = Saved::deserialize(deserializer)?;
        let sum_of = |each: u64| u128::from(count) * u128::from(each);
        if min_ns > max_ns || !(sum_of(min_ns)..=sum_of(max_ns)).contains(&sum_ns) {
            return Err(D::Error::custom(format!(
                "expected consistent moments, got {count} times from {min_ns} to {max_ns} ns with a sum of {sum_ns} ns"
            )));
        }
        Ok(Self { count, sum_ns, sum_ns2, min_ns, max_ns })
    }
}

/// Integers as strings of decimal digits.
mod digits {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(number: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        number.to_string().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl DurationMoments {
    /// Adds a value.
    pub fn add(&mut self, duration: Duration) {
        let ns = crate::nanos::whole(duration);
        self.min_ns = if self.count == 0 { ns } else { self.min_ns.min(ns) };
        self.max_ns = self.max_ns.max(ns);
        self.count += 1;
        self.sum_ns += u128::from(ns);
        self.sum_ns2 = self.sum_ns2.saturating_add(u128::from(ns).pow(2));
    }

    /// Adds a value this many times.
    pub fn add_times(&mut self, duration: Duration, count: u64) {
        if count == 0 {
            return;
        }
        let ns = crate::nanos::whole(duration);
        let (times, squared) = (u128::from(count), u128::from(ns).pow(2));
        let sum_ns2 = squared.saturating_mul(times);
        self.merge(&Self { count, sum_ns: u128::from(ns) * times, sum_ns2, min_ns: ns, max_ns: ns });
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Minimum in seconds; 0 if there are no values.
    #[must_use]
    pub fn min(&self) -> f64 {
        self.min_ns as f64 / 1e9
    }

    /// Maximum in seconds; 0 if there are no values.
    #[must_use]
    pub fn max(&self) -> f64 {
        self.max_ns as f64 / 1e9
    }

    /// Sum in seconds.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.sum_ns as f64 / 1e9
    }

    /// Mean in seconds; 0 if there are no values.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum() / self.count as f64 }
    }

    /// Sample standard deviation in seconds; 0 for fewer than two values.
    #[must_use]
    pub fn stddev(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let n = u128::from(self.count);
        // n·Σx² − (Σx)², in integers if it fits: in floating point, the difference of two such large numbers
        // may be nothing but rounding error.
        let spread = match (self.sum_ns2.checked_mul(n), self.sum_ns.checked_mul(self.sum_ns)) {
            (Some(a), Some(b)) => a.saturating_sub(b) as f64,
            _ => (self.sum_ns2 as f64 * n as f64 - (self.sum_ns as f64).powi(2)).max(0.0),
        };
        (spread / n as f64 / (n - 1) as f64).sqrt() / 1e9
    }
}

impl Merge for DurationMoments {
    /// Adds the values of `other`.
    fn merge(&mut self, other: &Self) {
        self.min_ns = match (self.count, other.count) {
            (0, _) => other.min_ns,
            (_, 0) => self.min_ns,
            _ => self.min_ns.min(other.min_ns),
        };
        self.max_ns = self.max_ns.max(other.max_ns);
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.sum_ns2 = self.sum_ns2.saturating_add(other.sum_ns2);
    }
}

/// Moments of sizes in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SizeMoments {
    /// Number of values.
    count: u64,
    /// Sum.
    sum: u64,
    /// Minimum.
    min: u64,
    /// Maximum.
    max: u64,
}

impl SizeMoments {
    /// Adds a value.
    pub fn add(&mut self, size: u64) {
        self.min = if self.count == 0 { size } else { self.min.min(size) };
        self.max = self.max.max(size);
        self.count += 1;
        self.sum = self.sum.saturating_add(size);
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Minimum in bytes; 0 if there are no values.
    #[must_use]
    pub fn min(&self) -> u64 {
        self.min
    }

    /// Maximum in bytes; 0 if there are no values.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Mean in bytes; 0 if there are no values.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }
}

impl Merge for SizeMoments {
    /// Adds the values of `other`.
    fn merge(&mut self, other: &Self) {
        self.min = match (self.count, other.count) {
            (0, _) => other.min,
            (_, 0) => self.min,
            _ => self.min.min(other.min),
        };
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
    }
}

/// Moments of rates (replies or sessions per second), by Welford's method.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateMoments {
    count: u64,
    mean: f64,
    /// Sum of squared differences from the mean.
    spread: f64,
    min: f64,
    max: f64,
}

impl RateMoments {
    /// Adds a value.
    pub fn add(&mut self, rate: f64) {
        self.min = if self.count == 0 { rate } else { self.min.min(rate) };
        self.max = self.max.max(rate);
        self.count += 1;
        let before = rate - self.mean;
        self.mean += before / self.count as f64;
        self.spread += before * (rate - self.mean);
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Minimum; 0 if there are no values.
    #[must_use]
    pub fn min(&self) -> f64 {
        self.min
    }

    /// Maximum; 0 if there are no values.
    #[must_use]
    pub fn max(&self) -> f64 {
        self.max
    }

    /// Mean; 0 if there are no values.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Sample standard deviation; 0 for fewer than two values.
    #[must_use]
    pub fn stddev(&self) -> f64 {
        if self.count < 2 { 0.0 } else { (self.spread / (self.count - 1) as f64).max(0.0).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(milliseconds: &[u64]) -> DurationMoments {
        let mut moments = DurationMoments::default();
        milliseconds.iter().for_each(|&ms| moments.add(Duration::from_millis(ms)));
        moments
    }

    #[test]
    fn no_values_give_zeros() {
        let none = of(&[]);
        assert_eq!((none.min(), none.mean(), none.max(), none.stddev()), (0.0, 0.0, 0.0, 0.0));
        let none = RateMoments::default();
        assert_eq!((none.min(), none.mean(), none.max(), none.stddev()), (0.0, 0.0, 0.0, 0.0));
    }

    #[test]
    fn stddev_is_the_sample_standard_deviation() {
        let moments = of(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert!((moments.mean() - 0.005).abs() < 1e-12);
        assert!((moments.stddev() - 0.002_138_089_935).abs() < 1e-12);
        assert_eq!(of(&[7]).stddev(), 0.0);
    }

    #[test]
    fn equal_values_have_no_deviation_even_if_large() {
        assert_eq!(of(&[86_400_000; 1000]).stddev(), 0.0);
        let mut rates = RateMoments::default();
        (0..1000).for_each(|_| rates.add(0.1 + 0.2));
        assert!(rates.stddev() < 1e-12);
    }
}
