//! A duration that is measured again and again: its moments and its percentiles.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::DurationMoments;

/// The range of the histogram: 1 µs to 1 h. Longer times count as 1 h; the moments stay exact.
const MAX_US: u64 = 3_600_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;

/// Durations in an HDR histogram of microseconds (3 significant digits), with exact moments beside it.
#[derive(Clone, Debug)]
pub struct Timing {
    /// Count, mean and so on, exact.
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
    /// Adds one.
    pub fn add(&mut self, duration: Duration) {
        self.moments.add(duration);
        // Rounded to the nearest microsecond.
        let us = u64::try_from((duration.as_nanos() + 500) / 1000).unwrap_or(u64::MAX);
        self.histogram.saturating_record(us.min(MAX_US));
    }

    /// Adds all that another has, exactly.
    pub fn merge(&mut self, other: &Self) {
        self.moments.merge(&other.moments);
        self.histogram.add(&other.histogram).expect("both have the same bounds");
    }

    /// The value below or at which this share (0 to 1) of the durations lie, to 3 significant digits; `None`
    /// if there are none.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        (self.moments.count() > 0).then(|| {
            let us = self.histogram.value_at_quantile(share);
            Duration::from_micros(us).min(Duration::from_secs_f64(self.moments.max()))
        })
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
}
