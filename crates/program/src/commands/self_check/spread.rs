//! The spread of errors: a few figures for many of them.

use serde::Serialize;

/// Errors in µs, all of them at least 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Spread {
    /// Their number; above 0.
    pub(super) count: usize,
    pub(super) p50_us: f64,
    /// Of fewer than 100 there is none.
    pub(super) p99_us: Option<f64>,
    pub(super) max_us: f64,
}

impl Spread {
    /// Of errors in µs, whatever their sign. `None` if there are none.
    pub(super) fn of(errors_us: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sizes: Vec<f64> = errors_us.into_iter().map(f64::abs).collect();
        sizes.sort_by(f64::total_cmp);
        let count = sizes.len();
        Some(Self {
            count,
            p50_us: rounded(quantile(&sizes, 0.5)?),
            p99_us: quantile(&sizes, 0.99).filter(|_| count >= 100).map(rounded),
            max_us: rounded(*sizes.last()?),
        })
    }
}

/// The least of these sorted values that so large a share of them does not exceed.
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

/// The median, of an even number of values the lower of the middle ones; `None` of nothing.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile(&sorted, 0.5)
}

/// The mean; `None` of nothing.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// `later - earlier` in µs, from instants in ns.
pub(super) fn difference_us(later: u64, earlier: u64) -> f64 {
    (i128::from(later) - i128::from(earlier)) as f64 / 1e3
}

/// With three decimals at most, as documents for programs have it.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_of_sizes_whatever_their_sign() {
        let spread = Spread::of([-3.0, 1.0, 2.0]).unwrap();
        assert_eq!(spread, Spread { count: 3, p50_us: 2.0, p99_us: None, max_us: 3.0 });
        assert_eq!(Spread::of([]), None);
    }

    #[test]
    fn of_a_hundred_p99_is_the_second_largest() {
        let spread = Spread::of((1..=100).map(f64::from)).unwrap();
        assert_eq!((spread.p50_us, spread.p99_us, spread.max_us), (50.0, Some(99.0), 100.0));
        assert_eq!(Spread::of((1..=99).map(f64::from)).unwrap().p99_us, None);
    }

    #[test]
    fn differences_have_a_sign() {
        assert_eq!((difference_us(2_500, 1_000), difference_us(1_000, 2_500)), (1.5, -1.5));
        assert_eq!((mean(&[]), mean(&[1.0, 2.0])), (None, Some(1.5)));
        assert_eq!(rounded(1.234_56), 1.235);
    }
}
