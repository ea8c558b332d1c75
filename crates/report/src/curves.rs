//! Points of percentile curves, for the charts in pages and pictures.

use httperf_stats::Timing;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::number::rounded;

/// Number of points of a percentile curve for each further nine.
const POINTS_PER_NINE: f64 = 40.0;

/// Points of a percentile curve, which ends at the last sample; empty if there is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PercentileCurve {
    /// 1 / (1 − p): one in this many took longer. The last is the number of samples.
    pub odds: Vec<f64>,
    /// Times in milliseconds, one for each of them.
    pub ms: Vec<f64>,
}

impl PercentileCurve {
    /// Computes the curve of a timing.
    #[must_use]
    pub fn of(timing: &Timing) -> Self {
        let samples = timing.moments.count() as f64;
        let steps = (samples.log10() * POINTS_PER_NINE).floor() as u32;
        let odds = (0..=steps).map(|step| 10_f64.powf(f64::from(step) / POINTS_PER_NINE));
        let mut curve = Self { odds: Vec::new(), ms: Vec::new() };
        for odds in odds.filter(|&odds| odds < samples) {
            curve.push(odds, timing, 1.0 - 1.0 / odds);
        }
        curve.push(samples, timing, 1.0);
        curve
    }

    /// Number of samples.
    #[must_use]
    pub fn samples(&self) -> f64 {
        self.odds.last().copied().unwrap_or(0.0)
    }

    fn push(&mut self, odds: f64, timing: &Timing, share: f64) {
        let Some(value) = timing.quantile(share) else { return };
        self.odds.push(rounded(odds));
        self.ms.push(rounded(value.as_secs_f64() * 1e3));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_curve_goes_from_the_minimum_to_the_maximum() {
        let mut timing = Timing::default();
        (1..=1000).for_each(|ms| timing.add(Duration::from_millis(ms)));
        let curve = PercentileCurve::of(&timing);
        assert_eq!((curve.odds[0], curve.ms[0]), (1.0, 1.0));
        assert_eq!((curve.odds.last(), curve.ms.last()), (Some(&1000.0), Some(&1000.0)));
        assert!(curve.ms.is_sorted() && curve.odds.is_sorted());
        assert!(curve.odds.len() < 200);
    }

    #[test]
    fn a_single_sample_is_a_point() {
        let mut timing = Timing::default();
        timing.add(Duration::from_millis(3));
        let curve = PercentileCurve::of(&timing);
        assert_eq!((curve.odds, curve.ms), (vec![1.0], vec![3.0]));
    }
}
