//! The one-sample Kolmogorov-Smirnov test of samples against a distribution.
//!
//! D is the largest distance between the empirical distribution function and the given one. For many samples,
//! the probability that chance alone makes D that large follows from Kolmogorov's distribution of √n · D;
//! with Stephens' correction it is accurate to some thousandths from five samples. The distribution must not
//! have been fitted to the samples.
//!
//! * <https://www.itl.nist.gov/div898/handbook/eda/section3/eda35g.htm>
//! * G. Marsaglia, W. W. Tsang, J. Wang (2003): "Evaluating Kolmogorov's Distribution", Journal of Statistical
//!   Software 8 (18), <https://doi.org/10.18637/jss.v008.i18>
//! * M. A. Stephens (1970): "Use of the Kolmogorov-Smirnov, Cramér-Von Mises and Related Statistics Without Extensive
//!   Tables", Journal of the Royal Statistical Society B 32 (1)

use std::f64::consts::PI;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Result of the test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KolmogorovSmirnov {
    /// Largest distance between the two distribution functions, 0 to 1.
    pub d: f64,
    /// Number of samples; above 0.
    pub count: u64,
    /// Probability that samples of the distribution are at least this far from it, 0 to 1. If it is small,
    /// the samples come from another distribution.
    pub p_value: f64,
}

impl KolmogorovSmirnov {
    /// Compares samples with a distribution, given as its cumulative distribution function.
    ///
    /// Returns `None` if there are no samples, or if one of them is NaN.
    #[must_use]
    pub fn of(samples: impl IntoIterator<Item = f64>, distribution: impl Fn(f64) -> f64) -> Option<Self> {
        let mut samples: Vec<f64> = samples.into_iter().collect();
        if samples.is_empty() || samples.iter().any(|sample| sample.is_nan()) {
            return None;
        }
        samples.sort_by(f64::total_cmp);
        let count = samples.len() as f64;
        // The empirical distribution jumps at each sample: both sides of the jump are compared.
        let d = samples.iter().zip(0_u32..).fold(0.0, |most: f64, (&sample, before)| {
            let share = distribution(sample);
            let before = f64::from(before);
            most.max(share - before / count).max((before + 1.0) / count - share)
        });
        Some(Self { d, count: samples.len() as u64, p_value: p_value(d, count) })
    }

    /// Compares intervals with the exponential distribution of this mean: a test for Poisson arrivals.
    ///
    /// Returns `None` as [`KolmogorovSmirnov::of`] does.
    #[must_use]
    pub fn of_exponential(intervals: impl IntoIterator<Item = f64>, mean: f64) -> Option<Self> {
        Self::of(intervals, |interval| -(-interval.max(0.0) / mean).exp_m1())
    }
}

/// Probability of a distance of at least `d` between `count` samples and the distribution they are from.
fn p_value(d: f64, count: f64) -> f64 {
    let root = count.sqrt();
    kolmogorov((root + 0.12 + 0.11 / root) * d)
}

/// One minus Kolmogorov's distribution at `x`. Each of its two series converges within a few terms where it
/// is used.
fn kolmogorov(x: f64) -> f64 {
    if x < 1.0 {
        let terms = (1..=4).map(|k| {
            let odd = f64::from(2 * k - 1);
            (-(odd * PI / x).powi(2) / 8.0).exp()
        });
        let below = (2.0 * PI).sqrt() / x.max(f64::MIN_POSITIVE) * terms.sum::<f64>();
        return (1.0 - below).clamp(0.0, 1.0);
    }
    let terms = (1..=8).map(|k| {
        let sign = if k % 2 == 1 { 2.0 } else { -2.0 };
        sign * (-2.0 * (f64::from(k) * x).powi(2)).exp()
    });
    terms.sum::<f64>().clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_samples_have_the_published_critical_values() {
        // Marsaglia, Tsang, Wang, and every table of the asymptotic distribution.
        for (x, expected) in [
            (0.5, 0.963_945_2),
            (0.827_574, 0.5),
            (1.0, 0.269_999_7),
            (1.223_848, 0.10),
            (1.358_099, 0.05),
            (1.480_204, 0.025),
            (1.627_624, 0.01),
            (1.949_475, 0.001),
        ] {
            let found = kolmogorov(x);
            assert!(
                (found - expected).abs() < 1e-4 * expected.max(0.1),
                "{x}: {found} instead of {expected}"
            );
        }
    }

    #[test]
    fn few_samples_have_the_published_critical_values() {
        // L. H. Miller (1956): "Table of Percentage Points of Kolmogorov Statistics", Journal of the American
        // Statistical Association 51.
        for (count, at_10, at_5, at_1) in [
            (5.0, 0.509, 0.563, 0.669),
            (10.0, 0.369, 0.409, 0.489),
            (20.0, 0.265, 0.294, 0.352),
            (50.0, 0.170, 0.188, 0.226),
            (100.0, 0.121, 0.134, 0.161),
        ] {
            for (d, expected) in [(at_10, 0.10), (at_5, 0.05), (at_1, 0.01)] {
                let found = p_value(d, count);
                assert!((found - expected).abs() < 0.004, "{d} of {count}: {found} instead of {expected}");
            }
        }
    }

    #[test]
    fn the_series_meet_and_the_ends_are_0_and_1() {
        let (below, above) = (kolmogorov(1.0 - 1e-9), kolmogorov(1.0));
        assert!((below - above).abs() < 1e-7, "{below} {above}");
        assert_eq!((kolmogorov(0.0), kolmogorov(1e-3), kolmogorov(20.0)), (1.0, 1.0, 0.0));
    }

    #[test]
    fn the_distance_counts_on_both_sides_of_each_sample() {
        let uniform = |value: f64| value.clamp(0.0, 1.0);
        // Four samples: the empirical distribution jumps from 0 to 1/4 at 0.4, and from 3/4 to 1 at 0.8.
        let test = KolmogorovSmirnov::of([0.8, 0.4, 0.6, 0.5], uniform).unwrap();
        assert!((test.d - 0.4).abs() < 1e-12, "{test:?}");
        assert_eq!(test.count, 4);
        let exact = KolmogorovSmirnov::of([0.125, 0.375, 0.625, 0.875], uniform).unwrap();
        assert!((exact.d - 0.125).abs() < 1e-12 && exact.p_value > 0.999, "{exact:?}");
    }

    #[test]
    fn exponential_intervals_pass_and_even_ones_do_not() {
        // Quantiles of the distribution itself: the best fit a thousand samples can have.
        let mean = 0.02;
        let quantiles = (0..1000).map(|index| -mean * (1.0 - (f64::from(index) + 0.5) / 1000.0).ln());
        let test = KolmogorovSmirnov::of_exponential(quantiles.clone(), mean).unwrap();
        assert!(test.d < 0.001 && test.p_value > 0.999, "{test:?}");
        let slower = KolmogorovSmirnov::of_exponential(quantiles, mean * 1.2).unwrap();
        assert!(slower.p_value < 0.001, "{slower:?}");
        let even = KolmogorovSmirnov::of_exponential(std::iter::repeat_n(mean, 1000), mean).unwrap();
        assert!(even.d > 0.6 && even.p_value < 1e-9, "{even:?}");
    }

    #[test]
    fn no_samples_and_nan_give_no_result() {
        assert_eq!(KolmogorovSmirnov::of_exponential([], 1.0), None);
        assert_eq!(KolmogorovSmirnov::of_exponential([1.0, f64::NAN], 1.0), None);
    }
}
