//! Numbers as they are printed: the one place where figures become text.

/// A figure with this many decimals, as C's `%.Nf` has it. What is not a finite positive number prints as
/// zero, so that no report ever shows `inf`, `nan` or a sign.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    let value = if value.is_finite() && value > 0.0 { value } else { 0.0 };
    format!("{value:.decimals$}")
}

/// A difference with its sign, this many decimals, and commas between thousands. What rounds to zero is `+0`; so is
/// what is not finite.
pub(crate) fn signed(value: f64, decimals: usize) -> String {
    let digits = format!("{:.decimals$}", if value.is_finite() { value.abs() } else { 0.0 });
    let is_zero = digits.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    let sign = if value < 0.0 && !is_zero { '-' } else { '+' };
    let whole_length = digits.find('.').unwrap_or(digits.len());
    let mut text = String::from(sign);
    for (index, digit) in digits.char_indices() {
        if index > 0 && index < whole_length && (whole_length - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with three decimals at most, as documents for programs have it; zero if it is not finite.
pub(crate) fn rounded(value: f64) -> f64 {
    let value = (value * 1e3).round() / 1e3;
    if value.is_finite() { value } else { 0.0 }
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
    fn differences_have_a_sign_and_commas() {
        let cases = [
            (74.4, 0, "+74"),
            (-0.6, 1, "-0.6"),
            (-0.4, 0, "+0"),
            (0.0, 1, "+0.0"),
            (999.0, 0, "+999"),
            (2272.0, 0, "+2,272"),
            (-123_456.78, 1, "-123,456.8"),
            (1_234_567.0, 0, "+1,234,567"),
            (f64::NEG_INFINITY, 0, "+0"),
            (f64::NAN, 1, "+0.0"),
        ];
        for (value, decimals, expected) in cases {
            assert_eq!(signed(value, decimals), expected, "{value}");
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
