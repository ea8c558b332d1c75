//! Formatting of numbers, for all reports.

/// Formats a figure with this many decimals, like C's `%.Nf`. Anything but a finite positive number prints as
/// zero, so that no report ever shows `inf`, `nan` or a sign.
#[must_use]
pub fn fixed(value: f64, decimals: usize) -> String {
    let value = if value.is_finite() && value > 0.0 { value } else { 0.0 };
    format!("{value:.decimals$}")
}

/// Formats a figure like [`fixed`], with commas between thousands.
#[must_use]
pub fn grouped(value: f64, decimals: usize) -> String {
    with_commas(&fixed(value, decimals))
}

/// Formats a rate: `1,234.5/s`.
#[must_use]
pub fn per_second(rate: f64) -> String {
    format!("{}/s", grouped(rate, 1))
}

/// Formats a count with commas between thousands.
#[must_use]
pub fn count(count: u64) -> String {
    with_commas(&count.to_string())
}

/// Formats a signed difference with this many decimals and commas between thousands. Values that round to
/// zero or are not finite print as `+0`.
pub(crate) fn signed(value: f64, decimals: usize) -> String {
    let digits = format!("{:.decimals$}", if value.is_finite() { value.abs() } else { 0.0 });
    let is_zero = digits.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    let sign = if value < 0.0 && !is_zero { '-' } else { '+' };
    format!("{sign}{}", with_commas(&digits))
}

fn with_commas(digits: &str) -> String {
    let whole_length = digits.find('.').unwrap_or(digits.len());
    let mut text = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && index < whole_length && (whole_length - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a time given in milliseconds to three significant digits, but no finer than 1 µs, in a suitable
/// unit.
#[must_use]
pub fn time(ms: f64) -> String {
    let (value, unit) = match ms {
        ms if ms >= 999.5 => (ms / 1e3, "s"),
        ms if ms < 0.9995 => return format!("{} µs", fixed(ms * 1e3, 0)),
        ms => (ms, "ms"),
    };
    let decimals = match value {
        value if value >= 99.95 => 0,
        value if value >= 9.995 => 1,
        _ => 2,
    };
    format!("{} {unit}", grouped(value, decimals))
}

/// Formats a share of 1 as a percentage with one decimal; a small share shows as `< 0.1 %` rather than zero, and one that is
/// almost all as `> 99.9 %` rather than all.
#[must_use]
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent > 0.0 && percent < 0.05 => "< 0.1 %".to_owned(),
        // Nearer to 100 is the error of a division.
        percent if (99.95..100.0 - 1e-9).contains(&percent) => "> 99.9 %".to_owned(),
        percent => format!("{} %", fixed(percent, 1)),
    }
}

/// Formats a share of 1 as a percentage with two decimals, or three near none and all; what is not quite either shows as
/// `< 0.001 %` or `> 99.999 %`.
pub(crate) fn fine_percent(share: f64) -> String {
    // Nearer to 100 is the error of a division.
    match share * 100.0 {
        percent if percent > 0.0 && percent < 0.0005 => "< 0.001 %".to_owned(),
        percent if percent > 0.0 && percent < 1.0 => format!("{} %", fixed(percent, 3)),
        percent if (99.9995..100.0 - 1e-9).contains(&percent) => "> 99.999 %".to_owned(),
        percent if (99.995..99.9995).contains(&percent) => format!("{} %", fixed(percent, 3)),
        percent => format!("{} %", fixed(percent, 2)),
    }
}

/// Converts seconds to milliseconds, rounded to the nanosecond: anything finer is rounding error.
pub(crate) fn in_ms(seconds: f64) -> f64 {
    (seconds * 1e9).round() / 1e6
}

/// Rounds to three decimals, as in JSON documents; zero if the value is not finite.
pub(crate) fn rounded(value: f64) -> f64 {
    let value = (value * 1e3).round() / 1e3;
    if value.is_finite() { value } else { 0.0 }
}

/// Returns `a / b`, or zero unless `b` is positive.
#[must_use]
pub fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

/// Name of a quantile, such as `p99.9`: one more digit for each nine.
#[must_use]
pub fn quantile_name(share: f64) -> String {
    // No histogram has more digits than this.
    let nines = (-(1.0 - share).log10()).floor().clamp(0.0, 12.0) as usize;
    let digits = format!("{:.nines$}", share * 100.0);
    let digits = match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => &digits,
    };
    format!("p{digits}")
}

/// A number of things, in words: `1 call`, `2,000 replies`.
#[must_use]
pub fn counted(number: u64, thing: &str) -> String {
    let things = match (number, thing.strip_suffix('y')) {
        (1, _) => thing.to_owned(),
        (_, Some(start)) => format!("{start}ies"),
        (_, None) => format!("{thing}s"),
    };
    format!("{} {things}", count(number))
}

/// The verb for a number of things.
pub(crate) fn were(number: u64) -> &'static str {
    if number == 1 { "was" } else { "were" }
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
    fn times_have_a_suitable_unit() {
        let cases = [
            (0.0, "0 µs"),
            (0.0004, "0 µs"),
            (0.412, "412 µs"),
            (0.9994, "999 µs"),
            (0.9996, "1.00 ms"),
            (2.507, "2.51 ms"),
            (9.996, "10.0 ms"),
            (99.96, "100 ms"),
            (999.4, "999 ms"),
            (999.6, "1.00 s"),
            (12_345.0, "12.3 s"),
            (3_600_000.0, "3,600 s"),
            (f64::NAN, "0.00 ms"),
        ];
        for (ms, expected) in cases {
            assert_eq!(time(ms), expected, "{ms}");
        }
    }

    #[test]
    fn thousands_are_separated_by_commas() {
        assert_eq!(grouped(1_234_567.89, 1), "1,234,567.9");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000), "1,000");
    }

    #[test]
    fn values_that_are_not_positive_and_finite_print_as_zero() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, -3.5, -1e-12] {
            assert_eq!(fixed(value, 1), "0.0", "{value}");
        }
        assert_eq!(ratio(1.0, 0.0), 0.0);
        assert_eq!(ratio(0.0, 0.0), 0.0);
    }

    #[test]
    fn neither_a_few_nor_almost_all_are_rounded_away() {
        let cases = [
            (0.0, "0.0 %", "0.00 %"),
            (1e-6, "< 0.1 %", "< 0.001 %"),
            (1e-4, "< 0.1 %", "0.010 %"),
            (0.0005, "0.1 %", "0.050 %"),
            (0.123_45, "12.3 %", "12.35 %"),
            (0.9994, "99.9 %", "99.94 %"),
            (0.9996, "> 99.9 %", "99.96 %"),
            (0.999_96, "> 99.9 %", "99.996 %"),
            (0.999_999, "> 99.9 %", "> 99.999 %"),
            (1.0, "100.0 %", "100.00 %"),
        ];
        for (share, expected, finely) in cases {
            assert_eq!(
                (percent(share), fine_percent(share)),
                (expected.to_owned(), finely.to_owned()),
                "{share}"
            );
        }
    }

    #[test]
    fn percentiles_are_named_with_as_many_nines_as_they_have() {
        let cases =
            [(0.0, "p0"), (0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9"), (0.9999, "p99.99")];
        for (share, expected) in cases {
            assert_eq!(quantile_name(share), expected, "{share}");
        }
    }
}
