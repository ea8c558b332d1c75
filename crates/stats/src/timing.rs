//! Distribution of a duration: exact moments and a histogram.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::merge::Merge;
use crate::quantile::{rounded_down, samples_needed};
use crate::{Classes, DurationMoments};

/// Range of the histogram: 1 µs to 1 h. Longer times count as 1 h; the moments stay exact.
pub(crate) const MAX_US: u64 = 3_600_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;

/// HDR histogram of durations in microseconds (3 significant digits), with exact moments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Saved", into = "Saved")]
#[schemars(with = "Saved")]
pub struct Timing {
    /// Exact moments.
    pub moments: DurationMoments,
    histogram: Histogram<u64>,
}

impl Default for Timing {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, MAX_US, SIGNIFICANT_DIGITS)
            .expect("the bounds are constants that the histogram accepts");
        Self { moments: DurationMoments::default(), histogram }
    }
}

impl Timing {
    /// Adds a duration.
    pub fn add(&mut self, duration: Duration) {
        self.moments.add(duration);
        self.histogram.saturating_record(whole_micros(duration));
    }

    /// Adds the durations of a sparse histogram, as exactly as it has them.
    pub fn add_classes(&mut self, classes: &Classes) {
        for (us, count) in classes.iter() {
            self.moments.add_times(Duration::from_micros(us.into()), count.into());
            self.histogram.saturating_record_n(us.into(), count.into());
        }
    }

    /// Quantile: the least value at or below which this share (0 to 1) of the durations lie, to 3 significant
    /// digits; `None` if there are none.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        (self.moments.count() > 0).then(|| {
            let us = self.histogram.value_at_quantile(rounded_down(share));
            Duration::from_micros(us).min(Duration::from_secs_f64(self.moments.max()))
        })
    }
}

impl Merge for Timing {
    /// Adds the durations of `other`, exactly.
    fn merge(&mut self, other: &Self) {
        self.moments.merge(&other.moments);
        self.histogram.add(&other.histogram).expect("both have the same bounds");
    }
}

/// Point of a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentile {
    /// Duration.
    pub value: Duration,
    /// Share (0 to 1) of durations that are no longer.
    pub share: f64,
    /// Number of durations that are no longer.
    pub count: u64,
}

impl Timing {
    /// Points of the distribution, increasingly dense towards the maximum: `per_halving` points for each
    /// halving of the remaining share.
    pub fn percentiles(&self, per_halving: u32) -> impl Iterator<Item = Percentile> + '_ {
        let mut count = 0;
        self.histogram.iter_quantiles(per_halving).map(move |value| {
            count += value.count_since_last_iteration();
            Percentile {
                value: Duration::from_micros(value.value_iterated_to()),
                share: value.quantile_iterated_to(),
                count,
            }
        })
    }

    /// Returns true if there are no durations.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.moments.count() == 0
    }

    /// Non-empty classes, ascending: upper end in microseconds, and count.
    pub fn classes(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.histogram.iter_recorded().map(|value| (value.value_iterated_to(), value.count_at_value()))
    }

    /// First Wasserstein distance between two distributions: the mean difference between their sorted
    /// durations. Zero if one of them is empty.
    #[must_use]
    pub fn distance(&self, other: &Self) -> Duration {
        if self.is_empty() || other.is_empty() {
            return Duration::ZERO;
        }
        let (count, other_count) = (self.moments.count() as f64, other.moments.count() as f64);
        let (mut own, mut theirs) = (self.classes().peekable(), other.classes().peekable());
        // Between adjacent values, the shares at or below them differ by this much.
        let (mut share, mut other_share, mut from, mut area) = (0.0, 0.0, 0, 0.0);
        while let Some(us) = own.peek().into_iter().chain(theirs.peek()).map(|&(us, _)| us).min() {
            area += (us - from) as f64 * f64::abs(share - other_share);
            from = us;
            while let Some((_, values)) = own.next_if(|&(value, _)| value == us) {
                share += values as f64 / count;
            }
            while let Some((_, values)) = theirs.next_if(|&(value, _)| value == us) {
                other_share += values as f64 / other_count;
            }
        }
        Duration::from_secs_f64(area / 1e6)
    }

    /// Like [`Timing::quantile`], but `None` if there are too few durations for it ([`samples_needed`]).
    #[must_use]
    pub fn supported_quantile(&self, share: f64) -> Option<Duration> {
        self.quantile(share).filter(|_| self.moments.count() >= samples_needed(share))
    }

    /// Number of buckets of the histogram, and number of classes in each.
    #[must_use]
    pub fn buckets(&self) -> (u8, u32) {
        (self.histogram.buckets(), (2 * 10_u32.pow(SIGNIFICANT_DIGITS.into())).next_power_of_two())
    }
}

/// Rounds to the nearest microsecond, at most 1 h.
pub(crate) fn whole_micros(duration: Duration) -> u64 {
    let micros = crate::nanos::whole(duration).saturating_add(500) / 1000;
    micros.min(MAX_US)
}

/// A timing as saved.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Timing")]
struct Saved {
    /// Exact moments.
    moments: DurationMoments,
    /// HDR histogram of microseconds (1 to 3.6e9, 3 significant digits) in the compressed V2 encoding, in
    /// base64. Empty if there are no values.
    histogram: String,
}

impl From<Timing> for Saved {
    fn from(timing: Timing) -> Self {
        let mut bytes = Vec::new();
        if !timing.is_empty() {
            V2DeflateSerializer::new()
                .serialize(&timing.histogram, &mut bytes)
                .expect("writing to memory does not fail");
        }
        Self { moments: timing.moments, histogram: STANDARD.encode(bytes) }
    }
}

impl TryFrom<Saved> for Timing {
    type Error = String;

    fn try_from(saved: Saved) -> Result<Self, String> {
        let mut timing = Self { moments: saved.moments, ..Self::default() };
        let bytes = STANDARD.decode(&saved.histogram).map_err(|error| format!("histogram: {error}"))?;
        if !bytes.is_empty() {
            let histogram: Histogram<u64> = Deserializer::new()
                .deserialize(&mut &bytes[..])
                .map_err(|error| format!("histogram: expected the compressed V2 encoding: {error}"))?;
            timing.histogram.add(&histogram).map_err(|_| "histogram: values beyond 1 h".to_owned())?;
        }
        if timing.histogram.len() != timing.moments.count() {
            return Err(format!(
                "histogram: expected {} values, got {}",
                timing.moments.count(),
                timing.histogram.len()
            ));
        }
        Ok(timing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_keep_three_digits() {
        let mut timing = Timing::default();
        (1..=1000).for_each(|ms| timing.add(Duration::from_millis(ms)));
        let near = |share: f64, ms: f64| {
            let got = timing.quantile(share).unwrap().as_secs_f64() * 1e3;
            assert!((got - ms).abs() <= ms * 1e-3, "{share}: {got} ms, expected {ms}");
        };
        near(0.5, 500.0);
        near(0.99, 990.0);
        near(1.0, 1000.0);
    }

    #[test]
    fn a_quantile_is_the_one_of_exact_arithmetic() {
        let mut timing = Timing::default();
        (1..=100).for_each(|ms| timing.add(Duration::from_millis(ms)));
        assert_eq!(timing.quantile(0.55).map(|value| value.as_millis()), Some(55));
    }

    #[test]
    fn merged_timings_are_those_of_all_values() {
        let values: Vec<Duration> = (1..=1000).map(|us| Duration::from_micros(us * us)).collect();
        let of = |values: &[Duration]| {
            let mut timing = Timing::default();
            values.iter().for_each(|&value| timing.add(value));
            timing
        };
        let (whole, mut left) = (of(&values), of(&values[..300]));
        left.merge(&of(&values[300..]));
        left.merge(&Timing::default());
        assert_eq!(left.moments, whole.moments);
        for share in [0.0, 0.1, 0.5, 0.9, 0.99, 1.0] {
            assert_eq!(left.quantile(share), whole.quantile(share));
        }
    }

    #[test]
    fn times_beyond_the_range_do_not_get_lost() {
        let mut timing = Timing::default();
        assert_eq!(timing.quantile(0.5), None);
        timing.add(Duration::from_secs(7200));
        timing.add(Duration::ZERO);
        assert_eq!(timing.moments.count(), 2);
        assert_eq!(timing.quantile(0.5), Some(Duration::ZERO));
        assert!(timing.quantile(1.0).unwrap() >= Duration::from_secs(3590));
    }

    #[test]
    fn the_distance_is_the_mean_difference_of_sorted_values() {
        let of = |milliseconds: &[u64]| {
            let mut timing = Timing::default();
            milliseconds.iter().for_each(|&ms| timing.add(Duration::from_millis(ms)));
            timing
        };
        let distance_ms = |a: &[u64], b: &[u64]| of(a).distance(&of(b)).as_secs_f64() * 1e3;
        let near = |got: f64, expected: f64| assert!((got - expected).abs() < 0.01, "{got}, not {expected}");
        near(distance_ms(&[1, 2, 3], &[3, 1, 2]), 0.0);
        near(distance_ms(&[1, 1, 1], &[1, 1, 4]), 1.0);
        near(distance_ms(&[0, 0, 0, 4], &[1]), 1.5);
        near(distance_ms(&[], &[1]), 0.0);
        near(distance_ms(&[1, 2], &[3, 4, 3, 4]), 2.0);
    }

    #[test]
    fn saving_and_loading_preserves_a_timing() {
        let mut timing = Timing::default();
        (0..2000).for_each(|us: u64| timing.add(Duration::from_nanos(us.pow(3))));
        for timing in [timing, Timing::default()] {
            let json = serde_json::to_string(&timing).unwrap();
            assert_eq!(serde_json::from_str::<Timing>(&json).unwrap(), timing, "{json}");
        }
    }

    #[test]
    fn a_saved_timing_that_was_tampered_with_is_refused() {
        let mut timing = Timing::default();
        timing.add(Duration::from_millis(1));
        timing.add(Duration::from_millis(3));
        let json = serde_json::to_string(&timing).unwrap();
        for (count, expected) in
            [("3", "expected 3 values, got 2"), ("1", "expected consistent moments, got 1")]
        {
            let other = json.replace("\"count\":2", &format!("\"count\":{count}"));
            let error = serde_json::from_str::<Timing>(&other).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let broken = json.replace("HIST", "HISS");
        assert!(serde_json::from_str::<Timing>(&broken).is_err());
    }
}
