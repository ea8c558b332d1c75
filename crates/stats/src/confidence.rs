//! Means of small samples and their confidence intervals.
//!
//! Intervals are two-sided, at 95 % confidence, from Student's t distribution: mean ± t · s / √n, where s is
//! the sample standard deviation and t the 0.975 quantile for n − 1 degrees of freedom. Samples are assumed
//! to be independent and, if there are few, approximately normally distributed.
//!
//! <https://www.itl.nist.gov/div898/handbook/eda/section3/eda352.htm>

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Quantile that leaves 2.5 % on either side.
const UPPER_QUANTILE: f64 = 0.975;

/// A mean or another figure with its 95 % confidence interval, in the unit of the samples. All numbers are
/// finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    value: f64,
    interval: Option<Interval>,
}

/// A 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

impl Estimate {
    /// Estimates the mean of the samples.
    ///
    /// Returns `None` if there are no samples, or if a sample or their mean is not finite. A single sample is
    /// its own mean and has no interval.
    #[must_use]
    pub fn of_mean(samples: impl IntoIterator<Item = f64>) -> Option<Self> {
        let samples: Vec<f64> = samples.into_iter().collect();
        let count = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / count;
        if !mean.is_finite() {
            return None;
        }
        let spread: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
        let margin =
            (samples.len() > 1).then(|| students_t(count - 1.0) * (spread / (count - 1.0) / count).sqrt());
        let interval = margin.and_then(|margin| Interval::finite(mean - margin, mean + margin));
        Some(Self { value: mean, interval })
    }

    /// Estimates the mean of `of − from` over pairs `(from, of)`. Influences common to both values of a pair,
    /// such as the state of the machine at the time, cancel out.
    ///
    /// Returns `None` as [`Estimate::of_mean`] does.
    #[must_use]
    pub fn of_difference(pairs: impl IntoIterator<Item = (f64, f64)>) -> Option<Self> {
        Self::of_mean(pairs.into_iter().map(|(from, of)| of - from))
    }

    /// Estimates the geometric mean of `of / to` over pairs `(to, of)`. It is computed on logarithms, so the
    /// interval is wider above the mean than below it.
    ///
    /// Returns `None` if there are no pairs, or if a value is not finite and above 0.
    #[must_use]
    pub fn of_ratio(pairs: impl IntoIterator<Item = (f64, f64)>) -> Option<Self> {
        // The logarithm of a number that is not above 0 is not finite.
        let logarithm = Self::of_mean(pairs.into_iter().map(|(to, of)| of.ln() - to.ln()))?;
        let value = logarithm.value.exp();
        let interval =
            logarithm.interval.and_then(|Interval { low, high }| Interval::finite(low.exp(), high.exp()));
        value.is_finite().then_some(Self { value, interval })
    }

    /// Creates an estimate whose interval was computed elsewhere. All numbers must be finite.
    pub(crate) fn new(value: f64, interval: Option<Interval>) -> Self {
        Self { value, interval }
    }

    /// Estimated value.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.value
    }

    /// Confidence interval; `None` if there were too few samples. A mean needs at least two.
    #[must_use]
    pub fn interval(&self) -> Option<Interval> {
        self.interval
    }

    /// Distance from the value to the farther bound of its interval: the number after a `±`.
    #[must_use]
    pub fn margin(&self) -> Option<f64> {
        self.interval.map(|Interval { low, high }| (high - self.value).max(self.value - low))
    }

    /// Returns true if the estimate differs significantly from `value`: it has an interval, and `value` is
    /// outside it.
    #[must_use]
    pub fn differs_from(&self, value: f64) -> bool {
        self.interval.is_some_and(|Interval { low, high }| value < low || high < value)
    }
}

impl Interval {
    /// Returns the interval unless one of its bounds overflows.
    fn finite(low: f64, high: f64) -> Option<Self> {
        (low.is_finite() && high.is_finite()).then_some(Self { low, high })
    }
}

/// Number of standard errors on either side of the mean.
pub(crate) fn students_t(degrees_of_freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, degrees_of_freedom)
        .expect("two samples or more leave at least one degree of freedom")
        .inverse_cdf(UPPER_QUANTILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Additional hours of sleep of ten patients under each of two drugs.
    ///
    /// Student (1908), "The Probable Error of a Mean", Biometrika 6 (1), section IX.
    const SLEEP: [(f64, f64); 10] = [
        (0.7, 1.9),
        (-1.6, 0.8),
        (-0.2, 1.1),
        (-1.2, 0.1),
        (-0.1, -0.1),
        (3.4, 4.4),
        (3.7, 5.5),
        (0.8, 1.6),
        (0.0, 4.6),
        (2.0, 3.4),
    ];

    #[track_caller]
    fn check(estimate: Option<Estimate>, value: f64, low: f64, high: f64) {
        let estimate = estimate.unwrap();
        let interval = estimate.interval().unwrap();
        for (got, expected) in [(estimate.value(), value), (interval.low, low), (interval.high, high)] {
            assert!((got - expected).abs() < 1e-6, "{estimate:?}: expected {expected}");
        }
    }

    #[test]
    fn quantiles_are_those_of_published_tables() {
        // https://www.itl.nist.gov/div898/handbook/eda/section3/eda3672.htm
        for (degrees, expected) in [
            (1.0, 12.706),
            (2.0, 4.303),
            (3.0, 3.182),
            (4.0, 2.776),
            (5.0, 2.571),
            (9.0, 2.262),
            (10.0, 2.228),
            (19.0, 2.093),
            (29.0, 2.045),
            (60.0, 2.000),
            (100.0, 1.984),
            (1e6, 1.960),
        ] {
            assert!((students_t(degrees) - expected).abs() < 6e-4, "{degrees}: {}", students_t(degrees));
        }
    }

    #[test]
    fn the_difference_of_pairs_is_that_of_the_worked_example() {
        let difference = Estimate::of_difference(SLEEP);
        check(difference, 1.58, 0.700_114_2, 2.459_885_8);
        assert!(difference.unwrap().differs_from(0.0));
        assert!(!difference.unwrap().differs_from(1.0));
    }

    #[test]
    fn the_mean_of_a_sample_lies_in_the_middle_of_its_interval() {
        // By hand: s = √2.5, t = 2.776445, and 2.776445 · √(2.5 / 5) = 1.963243.
        check(Estimate::of_mean([1.0, 2.0, 3.0, 4.0, 5.0]), 3.0, 1.036_757, 4.963_243);
    }

    #[test]
    fn ratios_are_averaged_by_their_logarithms() {
        // By hand, from ln 1.1, ln 1.2 and ln 1.3 with t = 4.302653.
        let ratio = Estimate::of_ratio([(10.0, 11.0), (100.0, 120.0), (1.0, 1.3)]);
        check(ratio, 1.1972158, 0.9728220, 1.4733689);
        let opposite = Estimate::of_ratio([(11.0, 10.0), (120.0, 100.0), (1.3, 1.0)]).unwrap();
        assert!((opposite.value() * ratio.unwrap().value() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_margin_is_the_longer_side() {
        let Some(ratio) = Estimate::of_ratio([(1.0, 1.0), (1.0, 4.0)]) else { panic!("there are two pairs") };
        assert_eq!(ratio.margin(), ratio.interval().map(|interval| interval.high - 2.0));
    }

    #[test]
    fn equal_samples_have_an_interval_of_no_width() {
        check(Estimate::of_mean([7.0; 4]), 7.0, 7.0, 7.0);
        let same = Estimate::of_ratio([(3.0, 3.0), (5.0, 5.0)]).unwrap();
        assert_eq!((same.value(), same.differs_from(1.0)), (1.0, false));
    }

    #[test]
    fn a_single_sample_has_no_interval() {
        let single = Estimate::of_mean([7.0]).unwrap();
        assert_eq!((single.value(), single.interval(), single.margin()), (7.0, None, None));
        assert!(!single.differs_from(0.0));
    }

    #[test]
    fn values_that_are_not_finite_give_no_estimate() {
        assert_eq!(Estimate::of_mean([]), None);
        assert_eq!(Estimate::of_mean([1.0, f64::NAN]), None);
        assert_eq!(Estimate::of_mean([f64::INFINITY, 1.0]), None);
        assert_eq!(Estimate::of_mean([f64::MAX, f64::MAX]), None);
        assert_eq!(Estimate::of_ratio([]), None);
        assert_eq!(Estimate::of_ratio([(0.0, 1.0)]), None);
        assert_eq!(Estimate::of_ratio([(1.0, 0.0)]), None);
        assert_eq!(Estimate::of_ratio([(-1.0, 1.0)]), None);
        assert_eq!(Estimate::of_ratio([(f64::MIN_POSITIVE, f64::MAX); 2]), None);
    }

    #[test]
    fn an_interval_that_overflows_is_none() {
        assert_eq!(Estimate::of_mean([-1e200, 1e200]).unwrap().interval(), None);
        assert_eq!(Estimate::of_ratio([(1e-150, 1e150), (1e150, 1e-150)]).unwrap().interval(), None);
    }
}
