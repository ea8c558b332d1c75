//! Difference between two runs, or between the members of many pairs of runs, with its uncertainty.
//!
//! **Two runs.** Each run is given as batches: the events of each of its intervals, in order of time. Batches
//! are correlated (a queue that is long now is still long a moment later), so a run carries less information
//! than its calls would if they were independent. A bootstrap over batches finds the uncertainty of a figure:
//!
//! 1. The influence function of the figure (the linear contribution of each batch) is correlated with itself
//!    at increasing lags. From the correlations of both runs, the rule of Politis and White chooses the
//!    length of blocks (`blocks`).
//! 2. Five hundred times, a run is resampled from blocks of its own batches, drawn with replacement and
//!    wrapping around its end: the circular block bootstrap (`bootstrap`). The seed is fixed, so the same
//!    runs always give the same answer. The standard deviation of the figure over the resampled runs is its
//!    standard error; for figures above 0, that of its logarithm.
//! 3. With few batches this is too small, for two reasons. Blocks are drawn around the run's own mean, which
//!    the factor n / (n − b) corrects, for n batches and blocks of length b. And blocks cut correlations off
//!    at their ends: if a first-order autoregression with the correlation of adjacent batches (from both
//!    runs, corrected for its bias in short series) has a greater variance than its blocks would show, the
//!    variance is raised to that.
//! 4. The 95 % confidence interval of the difference is ± t standard errors, with t from Student's
//!    distribution. Each run has n − 1 degrees of freedom, divided by the length of a block or by the
//!    inflation due to correlation, whichever is greater; those of both runs are combined by the
//!    Welch-Satterthwaite equation. The p-value comes from the same distribution.
//!
//! Two bounds guard against overconfidence: the variance of a share is at least that of independent calls
//! (Agresti and Caffo), and times and rates are not told apart to more than one part in 1024, the resolution
//! of latencies. A quantile needs calls beyond it worth at least [`BEYOND_MIN`] independent ones; a run needs
//! [`BATCHES_MIN`] batches. Otherwise there is an answer only if the runs are far apart: each has at least five
//! batches, and every batch of one is at least half as much again as every batch of the other. The bounds of the
//! difference are then those of the batches, and the p-value is that of an exact permutation test. A run in which a queue
//! grows to its end is an example: it has no usual latency, but a second of it is never as quick as one of an idle server.
//!
//! In simulations with 10, 30 and 60 batches (like those of the tests, with more pairs), at most 5 of 100
//! pairs that do not differ have a p-value of 5 % or less in any of seven figures, after [`holm`], and
//! intervals cover the true value in 91 to 99 of 100 cases, as long as correlations decay by a factor of e
//! within a twentieth of the run. If they take a tenth of the run, coverage is 82 to 90 %, and some 10 pairs
//! of 100 appear to differ: no run says much about waves that are hardly shorter than itself. Differences
//! from run to run that do not show within a run (memory layout, processor temperature) are invisible in a
//! single pair.
//!
//! **Pairs.** If runs were made in pairs, one after the other, slow changes affect both members and cancel
//! out ([`paired`]). Then pairs are independent, and Student's t distribution suffices.
//!
//! * D. N. Politis, J. P. Romano (1992), "A circular block-resampling procedure for stationary data", in "Exploring the
//!   Limits of Bootstrap"; (1994), "The stationary bootstrap", Journal of the American Statistical Association 89.
//! * D. N. Politis, H. White (2004), "Automatic block-length selection for the dependent bootstrap",
//!   Econometric Reviews 23; with the correction of A. Patton, D. N. Politis, H. White (2009), Econometric
//!   Reviews 28.
//! * F. H. C. Marriott, J. A. Pope (1954), "Bias in the estimation of autocorrelations", Biometrika 41.
//! * B. L. Welch (1947), "The generalization of 'Student's' problem when several different population variances are
//!   involved", Biometrika 34.
//! * A. Agresti, B. Caffo (2000), "Simple and effective confidence intervals for proportions and differences of
//!   proportions", The American Statistician 54.
//! * S. Holm (1979), "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6.

mod blocks;
mod bootstrap;
mod figure;
mod paired;

#[cfg(test)]
mod tests;

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::confidence::{Estimate, Interval, students_t};
use crate::series::SIGNIFICANT_DIGITS;

pub use self::figure::{Batches, Figure};
pub use self::paired::paired;

/// Minimum number of batches of a run.
pub const BATCHES_MIN: usize = 10;

/// Minimum number of pairs.
pub const PAIRS_MIN: usize = 5;

/// Minimum number of independent calls, or their equivalent, on either side of a quantile.
pub const BEYOND_MIN: f64 = 10.0;

/// Minimum number of batches of each of two runs that are compared by their ranges.
const APART_BATCHES_MIN: usize = 5;

/// Minimum ratio between the closest batches of two runs that are compared by their ranges.
const APART_MIN: f64 = 1.5;

/// Reciprocal of the relative resolution of latencies.
const RESOLUTION: f64 = 1024.0;

/// Difference: new minus base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Difference in the unit of the figure.
    pub absolute: Estimate,
    /// Difference as a share of the base's figure; `None` if that is 0.
    pub relative: Option<Estimate>,
    /// Probability of a difference at least this large if there is none.
    pub p_value: f64,
}

/// Reason why a difference is unknown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unknown {
    /// One of the runs has no data for the figure.
    Nothing,
    /// One of the runs has too few batches.
    Batches {
        /// Number of batches.
        batches: usize,
    },
    /// There are too few pairs.
    Pairs {
        /// Number of pairs.
        pairs: usize,
    },
    /// One of the runs has too few calls beyond a quantile.
    Beyond {
        /// Equivalent number of independent calls.
        independent: f64,
    },
}

/// A figure of a run.
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
    /// Value, in seconds, as a share of 1, or per second; as exact as it is known.
    pub value: Option<f64>,
    /// Events by interval.
    pub batches: &'a Batches,
}

/// Compares the same figure of two runs.
///
/// # Errors
/// The reason why the difference is unknown.
pub fn difference(figure: Figure, base: Measured<'_>, new: Measured<'_>) -> Result<Difference, Unknown> {
    let values = base.value.zip(new.value).ok_or(Unknown::Nothing)?;
    let (base, new) = match [base, new].map(|run| run.batches.prepare(figure)) {
        [Ok(base), Ok(new)] => (base, new),
        [Err(unknown), _] | [_, Err(unknown)] => {
            return apart(figure, values, [base, new].map(|run| run.batches)).ok_or(unknown);
        }
    };
    let likeness = blocks::Likeness::of(&base.influence, &new.influence);
    let errors = [&base, &new].map(|run| bootstrap::standard_error(run, &likeness));
    Ok(between(figure, values, errors))
}

/// Difference of two runs whose batches do not overlap by far: too few or too correlated for a bootstrap, yet apart.
/// The bounds are those of the batches; the p-value is that of a permutation test.
fn apart(figure: Figure, (base, new): (f64, f64), batches: [&Batches; 2]) -> Option<Difference> {
    let [base_figures, new_figures] = batches.map(|batches| batches.figures(figure));
    let (of_base, of_new) = (base_figures?, new_figures?);
    let range = |figures: &[f64]| {
        let least = figures.iter().copied().fold(f64::INFINITY, f64::min);
        (least, figures.iter().copied().fold(0.0, f64::max))
    };
    let ((base_least, base_most), (new_least, new_most)) = (range(&of_base), range(&of_new));
    let is_enough = of_base.len().min(of_new.len()) >= APART_BATCHES_MIN;
    let is_apart = new_least > base_most * APART_MIN || base_least > new_most * APART_MIN;
    if !is_enough || !is_apart || base_least <= 0.0 || base <= 0.0 {
        return None;
    }
    // A run as a whole may be beyond its batches, as some have too few calls for a figure of their own.
    let estimate = |value: f64, low: f64, high: f64| {
        Estimate::new(value, Some(Interval { low: low.min(value), high: high.max(value) }))
    };
    let all = (of_base.len() + of_new.len()) as u64;
    Some(Difference {
        absolute: estimate(new - base, new_least - base_most, new_most - base_least),
        relative: Some(estimate(new / base - 1.0, new_least / base_most - 1.0, new_most / base_least - 1.0)),
        p_value: (2.0 / statrs::function::factorial::binomial(all, of_base.len() as u64)).min(1.0),
    })
}

/// Uncertainty of a figure of a run.
#[derive(Clone, Copy, Debug)]
struct StandardError {
    /// Standard error in the unit of the figure, or of its logarithm if differences are tested as ratios.
    error: f64,
    degrees_of_freedom: f64,
}

fn between(figure: Figure, (base, new): (f64, f64), errors: [StandardError; 2]) -> Difference {
    let is_logarithmic = figure.is_logarithmic();
    let rounding = if is_logarithmic { 1.0 / RESOLUTION / 12.0_f64.sqrt() } else { 0.0 };
    let errors = errors.map(|known| StandardError { error: known.error.hypot(rounding), ..known });
    let scaled = |by: [f64; 2]| {
        [0, 1].map(|side| StandardError { error: errors[side].error * by[side], ..errors[side] })
    };
    let linear = Contrast::of(new - base, if is_logarithmic { scaled([base, new]) } else { errors });
    let logarithm = (base > 0.0 && new > 0.0).then(|| {
        let errors = if is_logarithmic { errors } else { scaled([1.0 / base, 1.0 / new]) };
        Contrast::of(new.ln() - base.ln(), errors)
    });
    let relative = match logarithm {
        Some(contrast) => contrast.estimate(f64::exp_m1),
        None => (base > 0.0).then(|| linear.estimate(|change| change / base)).flatten(),
    };
    let tested = logarithm.filter(|_| is_logarithmic).unwrap_or(linear);
    Difference {
        absolute: linear.estimate(|change| change).unwrap_or(Estimate::new(new - base, None)),
        relative,
        p_value: tested.p_value(),
    }
}

/// A difference of two figures, or the mean of many, on the scale on which it is tested.
#[derive(Clone, Copy, Debug)]
struct Contrast {
    value: f64,
    error: f64,
    degrees_of_freedom: f64,
}

impl Contrast {
    /// Difference of two independent figures.
    fn of(value: f64, errors: [StandardError; 2]) -> Self {
        let variances = errors.map(|known| known.error.powi(2));
        let variance = variances[0] + variances[1];
        let spread = |side: usize| variances[side].powi(2) / errors[side].degrees_of_freedom;
        let degrees_of_freedom = variance.powi(2) / (spread(0) + spread(1));
        let degrees_of_freedom =
            if degrees_of_freedom.is_finite() { degrees_of_freedom.max(1.0) } else { 1.0 };
        Self { value, error: variance.sqrt(), degrees_of_freedom }
    }

    /// The estimate with its interval, mapped back by `back`.
    fn estimate(&self, back: impl Fn(f64) -> f64) -> Option<Estimate> {
        let margin = students_t(self.degrees_of_freedom) * self.error;
        let [value, low, high] = [self.value, self.value - margin, self.value + margin].map(back);
        let interval = (low.is_finite() && high.is_finite()).then_some(Interval { low, high });
        value.is_finite().then(|| Estimate::new(value, interval))
    }

    fn p_value(&self) -> f64 {
        if self.value == 0.0 {
            return 1.0;
        }
        if self.error <= 0.0 {
            return 0.0;
        }
        let distribution = StudentsT::new(0.0, 1.0, self.degrees_of_freedom)
            .expect("there is at least one degree of freedom");
        (2.0 * distribution.cdf(-(self.value / self.error).abs())).min(1.0)
    }
}

/// Corrects several p-values by Holm's method: if those at or below 5 % are taken for differences, at most 5
/// of 100 sets without any difference have one. The order is kept; missing values stay missing.
#[must_use]
pub fn holm(p_values: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut order: Vec<usize> = (0..p_values.len()).filter(|&index| p_values[index].is_some()).collect();
    order.sort_by(|&a, &b| p_values[a].partial_cmp(&p_values[b]).expect("p-values are numbers"));
    let mut corrected = vec![None; p_values.len()];
    let mut before = 0.0_f64;
    for (smaller, &index) in order.iter().enumerate() {
        let p_value = p_values[index].expect("only those were taken");
        before = before.max((p_value * (order.len() - smaller) as f64).min(1.0));
        corrected[index] = Some(before);
    }
    corrected
}

/// Width of the class of latencies with this upper end, in microseconds, as kept by a series.
fn class_width(us: u32) -> u32 {
    // An HDR histogram has at least two classes for each unit of the last digit; each time values double,
    // classes double in width.
    let halves = (2 * 10_u32.pow(SIGNIFICANT_DIGITS.into())).next_power_of_two().ilog2() - 1;
    1 << us.max(1).ilog2().saturating_sub(halves)
}
