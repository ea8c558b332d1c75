//! Numbers as they are printed: the one place where figures become text.

/// A figure with this many decimals, as C's `%.Nf` has it. What is not a finite positive number prints as
/// zero, so that no report ever shows `inf`, `nan` or a sign.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    let value = if value.is_finite() && value > 0.0 { value } else { 0.0 };
    format!("{value:.decimals$}")
}

/// `a / b`, or zero where that is no number.
pub(crate) fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_rounded_as_c_does() {
        let cases = [
            (0.25, 1, "0.2"),
            (0.35, 1, "0.3"),
            (0.05, 1, "0.1"),
            (2.5, 0, "2"),
            (1234.5678, 3, "1234.568"),
            (1e15, 1, "1000000000000000.0"),
        ];
        for (value, decimals, expected) in cases {
            assert_eq!(fixed(value, decimals), expected, "{value}");
        }
    }

    #[test]
    fn what_is_no_number_prints_as_zero() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, -3.5, -1e-12] {
            assert_eq!(fixed(value, 1), "0.0", "{value}");
        }
        assert_eq!(ratio(1.0, 0.0), 0.0);
        assert_eq!(ratio(0.0, 0.0), 0.0);
    }
}
