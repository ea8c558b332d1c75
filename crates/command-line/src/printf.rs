//! Numbers as C's `printf` writes them.

/// `%g`: six significant digits, the shorter of plain and exponent notation, no trailing zeros.
#[must_use]
pub fn g(value: f64) -> String {
    const DIGITS: i32 = 6;
    if !value.is_finite() {
        return non_finite(value);
    }
    // The exponent that counts is the one after rounding to six digits.
    let rounded = format!("{value:.5e}");
    let (mantissa, exponent) = rounded.split_once('e').expect("exponent notation has an exponent");
    let exponent: i32 = exponent.parse().expect("the exponent is a small number");
    if !(-4..DIGITS).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", without_trailing_zeros(mantissa), exponent.abs())
    } else {
        let decimals = usize::try_from(DIGITS - 1 - exponent).expect("the exponent is below six");
        without_trailing_zeros(&format!("{value:.decimals$}")).to_owned()
    }
}

/// `%.3f`.
#[must_use]
pub fn f3(value: f64) -> String {
    if value.is_finite() { format!("{value:.3}") } else { non_finite(value) }
}

fn non_finite(value: f64) -> String {
    let sign = if value.is_sign_negative() { "-" } else { "" };
    format!("{sign}{}", if value.is_nan() { "nan" } else { "inf" })
}

fn without_trailing_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g_has_six_significant_digits() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (10.0, "10"),
            (0.5, "0.5"),
            (1.0 / 0.03, "33.3333"),
            (0.1, "0.1"),
            (123_456.0, "123456"),
            (999_999.4, "999999"),
            (999_999.5, "1e+06"),
            (1_234_567.0, "1.23457e+06"),
            (1e20, "1e+20"),
            (1e100, "1e+100"),
            (0.0001, "0.0001"),
            (0.000_099_999_99, "0.0001"),
            (0.000_012_345_678, "1.23457e-05"),
            (-2.5, "-2.5"),
            (100_000.5, "100000"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(g(value), text);
        }
    }

    #[test]
    fn f3_rounds_the_exact_binary_value() {
        for (value, text) in [
            (0.0, "0.000"),
            (0.25, "0.250"),
            (0.0005, "0.001"),
            (1.0005, "1.000"),
            (2.5e20, "250000000000000000000.000"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(f3(value), text);
        }
    }
}
