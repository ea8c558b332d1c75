//! The difference between two runs, or between the two of many pairs of runs, with how far it can be relied on.
//!
//! **Two runs.** Each is known as its batches: what happened in each interval of it, in the order of time. What is
//! alike in them (a queue that is long now is still long a moment later) makes a run say less than its calls would if
//! they were independent. How much a figure varies is found by a bootstrap over batches:
//!
//! 1. The share that each batch has in the figure (its linear influence) is correlated with that of the batches after
//!    it. From this, of both runs together, the length of blocks is chosen by the rule of Politis and White
//!    (`blocks`).
//! 2. Five hundred times a run is put together anew from blocks of its own batches, which are drawn with replacement and
//!    reach around its end: the circular block bootstrap (`bootstrap`). The draws come from a fixed seed, so the same
//!    runs always give the same answer. The standard deviation of the figure over those runs is its standard error; for
//!    figures above 0, that of its logarithm.
//! 3. Few batches make that too small, in two ways. A block is drawn towards the run's own mean, which n / (n − b)
//!    corrects, for n batches and blocks of b. And blocks cut likeness off at their ends: where a first-order
//!    autoregression with the correlation of neighbours (of both runs, corrected for its bias in short series) has a
//!    greater variance than its blocks would show, the variance is raised to that.
//! 4. The difference lies within t standard errors with 95 % confidence, t from Student's distribution. Its degrees of
//!    freedom are n − 1 over the length of a block, or over the inflation by likeness if that is greater, of both runs
//!    joined as Welch and Satterthwaite do. The p-value comes from the same distribution.
//!
//! Two bounds keep it from telling too much: a share varies no less than that of independent calls (Agresti and Caffo),
//! and a time or a rate is not told apart to more than a part in 1024, to which latencies are kept. A quantile needs as
//! many calls beyond it as say as much as [`BEYOND_MIN`] independent ones; runs need [`BATCHES_MIN`] batches. Below
//! that there is no answer.
//!
//! In simulations with 10, 30 and 60 batches (like those of the tests, with more pairs) at most 5 of 100 pairs that do
//! not differ have a p-value of 5 % or less in any of seven figures, after [`holm`], and intervals hold the truth in 91
//! to 99 of 100 cases, as long as what makes batches alike fades by a factor of e within a twentieth of the run. Where
//! it takes a tenth of the run, it is 82 to 90, and some 10 pairs of 100: no run says much about waves that are hardly
//! shorter than itself. What differs from run to run and not within one (where memory lies, how warm a processor is)
//! cannot be seen in a single pair at all.
//!
//! **Pairs.** Where runs were made in pairs one after the other, what changes slowly meets both and cancels out
//! ([`paired`]). Then pairs are what is independent, and Student's t distribution is all that is needed.
//!
//! * D. N. Politis, J. P. Romano (1992), "A circular block-resampling procedure for stationary data", in "Exploring the
//!   Limits of Bootstrap"; (1994), "The stationary bootstrap", Journal of the American Statistical Association 89.
//! * D. N. Politis, H. White (2004), "Automatic block-length selection for the dependent bootstrap", Econometric
//!   Reviews
//!   23; with the correction of A. Patton, D. N. Politis, H. White (2009), Econometric Reviews 28.
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

/// With fewer batches than this nothing is said of how much they vary.
pub const BATCHES_MIN: usize = 10;

/// With fewer pairs than this nothing is said of how much they vary.
pub const PAIRS_MIN: usize = 5;

/// As many independent calls must take longer than a quantile (and as many less long).
pub const BEYOND_MIN: f64 = 10.0;

/// Differences of a part in so many are within what latencies are rounded to.
const RESOLUTION: f64 = 1024.0;

/// A difference, new less base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// In the unit of the figure.
    pub absolute: Estimate,
    /// As a share of the base's figure; `None` if that is 0.
    pub relative: Option<Estimate>,
    /// How likely a difference as large as this or larger is if there is none.
    pub p_value: f64,
}

/// Why nothing is said of a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unknown {
    /// One of the runs has nothing to find the figure from.
    Nothing,
    /// One of the runs has too few batches.
    Batches {
        /// How many.
        batches: usize,
    },
    /// There are too few pairs.
    Pairs {
        /// How many.
        pairs: usize,
    },
    /// One of the runs has too few calls beyond a quantile.
    Beyond {
        /// As many independent calls say as much.
        independent: f64,
    },
}

/// A figure of a run.
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
    /// Its value, in seconds, as a share of 1, or per second; as exactly as it is known.
    pub value: Option<f64>,
    /// What happened when.
    pub batches: &'a Batches,
}

/// How far the same figure of two runs is apart.
///
/// # Errors
/// Why that is not known.
pub fn difference(figure: Figure, base: Measured<'_>, new: Measured<'_>) -> Result<Difference, Unknown> {
    let values = base.value.zip(new.value).ok_or(Unknown::Nothing)?;
    let [base, new] = [base, new].map(|run| run.batches.prepare(figure));
    let (base, new) = (base?, new?);
    let likeness = blocks::Likeness::of(&base.influence, &new.influence);
    let errors = [&base, &new].map(|run| bootstrap::standard_error(run, &likeness));
    Ok(between(figure, values, errors))
}

/// How exactly a figure of a run is known.
#[derive(Clone, Copy, Debug)]
struct StandardError {
    /// In the unit of the figure, or, of a figure above 0 that is no share, of its logarithm.
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
    /// Of two independent figures.
    fn of(value: f64, errors: [StandardError; 2]) -> Self {
        let variances = errors.map(|known| known.error.powi(2));
        let variance = variances[0] + variances[1];
        let spread = |side: usize| variances[side].powi(2) / errors[side].degrees_of_freedom;
        let degrees_of_freedom = variance.powi(2) / (spread(0) + spread(1));
        let degrees_of_freedom =
            if degrees_of_freedom.is_finite() { degrees_of_freedom.max(1.0) } else { 1.0 };
        Self { value, error: variance.sqrt(), degrees_of_freedom }
    }

    /// With its interval, on the scale to which `back` leads.
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

/// P-values corrected for there being several, by Holm's method: with those at or below 5 % taken for differences, at
/// most 5 of 100 sets in which there are none have one. In the order in which they came; where there is none, none
/// comes back.
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

/// How wide the class of latencies is whose upper end this is, in microseconds, as a series keeps them.
fn class_width(us: u32) -> u32 {
    // An HDR histogram has two classes at least for each unit of its last digit, and each time the values have doubled,
    // classes are twice as wide.
    let halves = (2 * 10_u32.pow(SIGNIFICANT_DIGITS.into())).next_power_of_two().ilog2() - 1;
    1 << us.max(1).ilog2().saturating_sub(halves)
}
