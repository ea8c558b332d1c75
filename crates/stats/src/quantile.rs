//! Quantiles among counted values.

/// Rank, from 1, of a quantile among `count` values in ascending order: the lowest that has this share (0 to 1) of them.
#[must_use]
pub fn rank(share: f64, count: u64) -> u64 {
    ((rounded_down(share) * count as f64).ceil() as u64).max(1)
}

/// A share, less the error that its product with a count may have: 0.55 of 100 values are 55, not the 56 that 0.55 × 100 in
/// floating point would need.
pub(crate) fn rounded_down(share: f64) -> f64 {
    share * (1.0 - 4.0 * f64::EPSILON)
}

/// Number of samples needed for a quantile to be one of them: 0.999 needs a thousand. The maximum (a share of
/// 1) needs one.
#[must_use]
pub fn samples_needed(share: f64) -> u64 {
    if share < 1.0 { (1.0 / (1.0 - share)).round() as u64 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_that_of_exact_arithmetic() {
        for count in (1..=1000).chain([12_345, 1_000_000, 4_294_967_296]) {
            for tenths in 1..=1000_u64 {
                let exact = (tenths * count).div_ceil(1000);
                assert_eq!(rank(tenths as f64 / 1000.0, count), exact, "{tenths} of 1000, {count} values");
            }
        }
    }
}
