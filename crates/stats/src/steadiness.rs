//! Detection of the point at which a run became steady.
//!
//! Two questions are put to a series of values, one for each interval of a run.
//!
//! *Where should its beginning be cut off?* By the rule of marginal standard errors (MSER): at the cut d,
//! within the first half, that minimizes Σ (x − mean)² / (n − d)² over the n − d values after it. Since a run
//! has few intervals, the rule is applied to single ones, smoothed by a running median.
//!
//! *Is the rest level?* It is not if the Mann-Kendall test finds a trend at the 1 % level and the last third
//! differs from the first by more than 5 % of the median, or if Pettitt's test finds a step at the 5 % level
//! and the values after it differ as much from those before it. Both tests use ranks, so the distribution of
//! values does not matter. They assume independence: noise in long waves may pass for a change.
//!
//! One or two outlying intervals in a row are no change, however far off, except at the very beginning.
//! Neither is a longer episode in the rest that comes and goes, if it is too brief for both tests, nor a
//! change so near the end that little follows it: percentiles show how high latencies went.
//!
//! * K. P. White (1997), "An effective truncation heuristic for bias reduction in simulation output", Simulation 69
//!   (6);
//!   K. P. White, S. Robinson (2010), "The problem of the initial transient (again), or why MSER works", Journal of
//!   Simulation 4 (4).
//! * H. B. Mann (1945), "Nonparametric tests against trend", Econometrica 13 (3); M. G. Kendall, "Rank Correlation
//!   Methods".
//! * A. N. Pettitt (1979), "A non-parametric approach to the change-point problem", Applied Statistics 28 (2).

/// Minimum number of values to judge.
const LENGTH_MIN: usize = 10;

/// Values on either side that the running median includes: episodes of up to this many leave no trace.
const REACH: usize = 2;

/// Largest error at the earliest acceptable cut, relative to the least error. In a level series, chance alone
/// may put the least error anywhere.
const TOLERANCE: f64 = 1.25;

/// Maximum number of groups; more values are joined before they are tested. Both tests compare each pair and
/// assume independence, which groups satisfy better than single values.
const GROUPS_MAX: usize = 40;

/// Smallest change that counts, as a share of the median.
const CHANGE_MIN: f64 = 0.05;

/// The 0.995 quantile of the standard normal distribution: both tails together hold 1 %.
const TREND_QUANTILE: f64 = 2.576;

/// Probability of finding a step where there is none.
const STEP_PROBABILITY: f64 = 0.05;

/// Steadiness of a series of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steadiness {
    /// Fewer than 10 values.
    TooShort,
    /// Steady from the value at this index, which is in the first half.
    From(usize),
    /// Not steady from any point in the first half to the end.
    Never,
}

/// Finds where a series of values became steady. Values belong to equal intervals, in order of time, and are
/// finite.
///
/// Takes linear time, plus some microseconds for the tests.
#[must_use]
pub fn steady_from(values: &[f64]) -> Steadiness {
    if values.len() < LENGTH_MIN {
        return Steadiness::TooShort;
    }
    let last_cut = values.len() / 2;
    let errors = &errors(&without_spikes(values))[..=last_cut];
    let least = errors.iter().copied().fold(f64::INFINITY, f64::min);
    let first_within = |limit: f64| errors.iter().position(|&error| error <= limit);
    // The earlier cut leaves more values. The later one is right if the beginning decays so slowly that the
    // earlier one leaves some of it.
    let cuts = [first_within(least * TOLERANCE), first_within(least)].into_iter().flatten();
    // A series best cut as late as possible either changes all the time or is so level that any cut would do.
    let mut cuts = cuts.map(|cut| if cut == last_cut { 0 } else { cut });
    cuts.find(|&cut| is_level(&values[cut..])).map_or(Steadiness::Never, Steadiness::From)
}

/// Running median. Towards the first value, which stays as it is, the window shrinks: an outlier there is
/// part of the beginning, not an episode. Towards the end it stops moving.
fn without_spikes(values: &[f64]) -> Vec<f64> {
    let around = |index: usize| {
        let middle = index.min(values.len() - 1 - REACH);
        let reach = REACH.min(middle);
        median(&values[middle - reach..=middle + reach])
    };
    (0..values.len()).map(around).collect()
}

/// Squared standard error of the mean of the values after each cut.
fn errors(values: &[f64]) -> Vec<f64> {
    let mut errors = vec![0.0; values.len()];
    // Mean and sum of squared differences from it, from the end, by Welford's method.
    let (mut mean, mut squares) = (0.0, 0.0);
    for (cut, value) in values.iter().enumerate().rev() {
        let count = (values.len() - cut) as f64;
        let before = value - mean;
        mean += before / count;
        squares += before * (value - mean);
        errors[cut] = squares / count.powi(2);
    }
    errors
}

/// Returns true if these values, at least 5, have no significant trend or step.
fn is_level(values: &[f64]) -> bool {
    let groups: Vec<f64> = values.chunks(values.len().div_ceil(GROUPS_MAX)).map(median).collect();
    let change_min = CHANGE_MIN * median(&groups).abs();
    let differ = |some: &[f64], others: &[f64]| (median(some) - median(others)).abs() > change_min;

    let third = groups.len() / 3;
    let trend = differ(&groups[..third], &groups[groups.len() - third..]) && has_trend(&groups);
    let step = step(&groups).is_some_and(|at| differ(&groups[..at], &groups[at..]));
    !trend && !step
}

/// Mann-Kendall test: returns true if pairs of values ascend significantly more often than they descend, or
/// less often.
fn has_trend(values: &[f64]) -> bool {
    let ascents = |(index, &value): (usize, &f64)| ascents(value, &values[index + 1..]);
    let score: f64 = values.iter().enumerate().map(ascents).sum();
    let term = |count: usize| (count * (count - 1) * (2 * count + 5)) as f64 / 18.0;
    let sorted = sorted(values);
    let ties: f64 = sorted.chunk_by(|one, other| one == other).map(|equal| term(equal.len())).sum();
    let variance = term(values.len()) - ties;
    // Scores are 2 apart: 1 is the continuity correction.
    score.abs() - 1.0 > TREND_QUANTILE * variance.sqrt()
}

/// Pettitt's test: index of the value before which the level changes, if the change is significant.
fn step(values: &[f64]) -> Option<usize> {
    let mut score = 0.0;
    let scores = values.iter().map(|&value| {
        score += ascents(value, values);
        f64::abs(score)
    });
    let (at, score) = (1..).zip(scores).max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    let count = values.len() as f64;
    let probability = 2.0 * (-6.0 * score.powi(2) / (count.powi(3) + count.powi(2))).exp();
    (probability < STEP_PROBABILITY).then_some(at)
}

/// Number of values above this one, minus the number below it.
fn ascents(value: f64, others: &[f64]) -> f64 {
    others.iter().map(|&other| f64::from(i8::from(value < other) - i8::from(value > other))).sum()
}

/// Median: the middle value, or the mean of the two in the middle.
fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_distr::StandardNormal;
    use rand_pcg::Pcg64Mcg;

    use super::*;

    const RUNS: u64 = 200;

    /// Checks that `often` of the runs are steady from the expected point. Each run has `length` intervals,
    /// whose values are spread around `level` by the share `spread`.
    #[track_caller]
    fn check(
        length: usize,
        spread: f64,
        level: impl Fn(usize) -> f64,
        often: f64,
        expected: impl Fn(Steadiness) -> bool,
    ) {
        let as_expected = (0..RUNS).filter(|&seed| {
            let mut random = Pcg64Mcg::seed_from_u64(seed);
            let mut value = |index| level(index) * (spread * random.sample::<f64, _>(StandardNormal)).exp();
            let values: Vec<f64> = (0..length).map(&mut value).collect();
            expected(steady_from(&values))
        });
        let share = as_expected.count() as f64 / RUNS as f64;
        assert!(share >= often, "only {share} of the runs of {length} intervals, spread {spread}");
    }

    fn from(range: std::ops::RangeInclusive<usize>) -> impl Fn(Steadiness) -> bool {
        move |steadiness| matches!(steadiness, Steadiness::From(index) if range.contains(&index))
    }

    fn never(steadiness: Steadiness) -> bool {
        steadiness == Steadiness::Never
    }

    #[test]
    fn noise_about_one_level_is_steady_from_near_the_beginning() {
        for spread in [0.01, 0.2, 1.0] {
            for length in [10, 20, 60, 1000] {
                check(length, spread, |_| 5.0, 0.95, from(0..=length / 2));
            }
            check(60, spread, |_| 5.0, 0.8, from(0..=10));
            check(1000, spread, |_| 5.0, 0.9, from(0..=20));
        }
    }

    #[test]
    fn a_warm_up_that_decays_is_cut_off() {
        // After 10 intervals, 4 % of the excess is left, 14 % of the level.
        let warming_up = |index: usize| 1.0 + 4.0 * (-(index as f64) / 3.0).exp();
        check(60, 0.02, warming_up, 0.95, from(8..=25));
        check(60, 0.2, warming_up, 0.95, from(4..=29));
        check(300, 0.1, warming_up, 0.95, from(5..=30));
        let half_started = |index: usize| if index < 15 { 0.5 } else { 1.0 };
        check(60, 0.1, half_started, 0.95, from(13..=25));
    }

    #[test]
    fn an_outlying_first_interval_is_cut_off() {
        check(30, 0.02, |index| if index == 0 { 50.0 } else { 1.0 }, 0.9, from(1..=14));
    }

    #[test]
    fn constant_growth_is_never_steady() {
        for length in [10, 12, 20, 60, 300, 1000] {
            let overloaded = |index| 0.1 + index as f64 / length as f64;
            check(length, 0.02, overloaded, 1.0, never);
            check(length, 0.2, overloaded, 0.65, never);
            check(length, 0.02, |index| 1.0 / overloaded(index), 1.0, never);
        }
        check(60, 0.2, |index| 0.1 + index as f64, 0.98, never);
    }

    #[test]
    fn a_late_change_of_level_is_never_steady() {
        for (length, spread) in [(20, 0.02), (60, 0.02), (60, 0.2), (1000, 0.2)] {
            for level in [0.5, 1.5] {
                check(length, spread, |index| if index < length * 3 / 4 { 1.0 } else { level }, 0.95, never);
            }
        }
    }

    #[test]
    fn a_slight_drift_does_not_count() {
        for length in [10, 60, 1000] {
            check(
                length,
                0.005,
                |index| 1.0 + 0.04 * index as f64 / length as f64,
                1.0,
                from(0..=length / 2),
            );
        }
    }

    #[test]
    fn one_or_two_outlying_intervals_change_nothing() {
        for length in [12, 60, 300] {
            for at in (1..length - 1).step_by(length / 12) {
                for spike in [0.0, 50.0] {
                    let level = |index| if index == at { spike } else { 1.0 };
                    check(length, 0.05, level, 0.95, from(0..=length / 2));
                    let level = |index| if index == at || index == at + 1 { spike } else { 1.0 };
                    check(length, 0.05, level, 0.9, from(0..=length / 2));
                }
            }
        }
    }

    #[test]
    fn series_without_noise_are_exact() {
        for value in [0.0, 0.1, -3.0, 1e300] {
            assert_eq!(steady_from(&[value; 10]), Steadiness::From(0));
            assert_eq!(steady_from(&[value; 1001]), Steadiness::From(0));
        }
        let step = |at: usize, length: usize| -> Vec<f64> {
            (0..length).map(|index| if index < at { 2.0 } else { 1.0 }).collect()
        };
        for at in 0..30 {
            assert_eq!(steady_from(&step(at, 60)), Steadiness::From(at));
        }
        // Near the middle, the remainder may pass for an episode; near the end, too little follows.
        for at in 40..=50 {
            assert_eq!(steady_from(&step(at, 60)), Steadiness::Never, "{at}");
        }
    }

    #[test]
    fn fewer_than_ten_values_are_too_short() {
        for length in 0..10 {
            assert_eq!(steady_from(&vec![1.0; length]), Steadiness::TooShort);
        }
    }

    #[test]
    fn a_trend_is_found_as_in_the_tables() {
        // With 10 values, the score must exceed 2.576 · √125 + 1 = 29.8: tables have 29 to 31 for the 1 %
        // level.
        let mut values: Vec<f64> = (0..10).map(f64::from).collect();
        values[..5].reverse();
        assert!(!has_trend(&values), "the score is 25");
        values[..5].reverse();
        values[..4].reverse();
        assert!(has_trend(&values), "the score is 33");
        assert!(!has_trend(&[1.0; 40]));
    }

    #[test]
    fn a_step_is_found_where_it_is() {
        let values: Vec<f64> =
            (0..40).map(|index| if index < 13 { 1.0 } else { 2.0 } + f64::from(index % 3) / 10.0).collect();
        assert_eq!(step(&values), Some(13));
        assert_eq!(step(&[1.0; 40]), None);
    }

    proptest! {
        #[test]
        fn the_unit_of_values_makes_no_difference(values in prop::collection::vec(0..1000_u16, 0..80)) {
            let of = |unit: f64| steady_from(&values.iter().map(|&value| f64::from(value) * unit).collect::<Vec<_>>());
            prop_assert_eq!(of(1.0), of(1024.0));
            if let Steadiness::From(index) = of(1.0) {
                prop_assert!(index < values.len() / 2);
            }
        }
    }
}
