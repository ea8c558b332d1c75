//! Sizes, durations and rates read from text.

use std::time::Duration;

use httperf_plan::units;

/// Text that an option or a step of a path cannot read. Its `Display` fits behind the name of the option.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, got `{given}`")]
pub struct Malformed {
    /// A description of the text that would do.
    pub expected: &'static str,
    /// The text that was given.
    pub given: String,
}

impl Malformed {
    pub(crate) fn new(expected: &'static str, given: &str) -> Self {
        Self { expected, given: given.to_owned() }
    }
}

/// Reads a size in bytes, as [`units::size`] does.
pub fn parse_size(text: &str) -> Result<u64, Malformed> {
    units::size(text).ok_or_else(|| Malformed::new("a size such as 1024, 16k or 2m", text))
}

/// Reads a duration: a number with a unit (`s`, `ms`, `us`, `ns`, `m` or `min`, `h`); a bare number counts seconds.
pub fn parse_duration(text: &str) -> Result<Duration, Malformed> {
    duration(text).ok_or_else(|| Malformed::new("a duration such as 50ms", text))
}

pub(crate) fn duration(text: &str) -> Option<Duration> {
    let end = text.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 = number.parse().ok()?;
    let seconds = match unit {
        "" | "s" => number,
        "ms" => number / 1e3,
        "us" | "µs" => number / 1e6,
        "ns" => number / 1e9,
        "m" | "min" => number * 60.0,
        "h" => number * 3600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(seconds).ok()
}

/// Reads a rate in replies per second: a number above 0, perhaps with `k`, `M`, `/s` or `/m` behind it.
pub fn parse_rate(text: &str) -> Result<f64, Malformed> {
    match units::per_second(text.as_bytes()) {
        Some(rate) if rate.is_finite() && rate > 0.0 => Ok(rate),
        _ => Err(Malformed::new("a rate above 0 such as 500 or 2k", text)),
    }
}

/// Reads a probability: a number from 0 to 1, or a percentage.
pub(crate) fn parse_probability(text: &str) -> Option<f64> {
    let probability = match text.strip_suffix('%') {
        Some(percent) => percent.parse::<f64>().ok()? / 100.0,
        None => text.parse().ok()?,
    };
    (0.0..=1.0).contains(&probability).then_some(probability)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_count_in_1024s() {
        for (text, size) in [("0", 0), ("17", 17), ("4k", 4096), ("3M", 3 << 20), ("2g", 2 << 30)] {
            assert_eq!(parse_size(text), Ok(size), "{text}");
        }
    }

    #[test]
    fn sizes_that_are_not_whole_numbers_are_refused() {
        for text in ["", "k", "-1", "+1", "1.5k", "10q", "99999999999g", "1 k", "é"] {
            let message = format!("expected a size such as 1024, 16k or 2m, got `{text}`");
            assert_eq!(parse_size(text).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn durations_carry_their_unit() {
        for (text, micros) in [
            ("50ms", 50_000),
            ("0.2s", 200_000),
            ("100us", 100),
            ("1500ns", 1),
            ("2", 2_000_000),
            ("1min", 60_000_000),
            ("2m", 120_000_000),
            (".5h", 1_800_000_000),
        ] {
            assert_eq!(parse_duration(text).unwrap().as_micros(), micros, "{text}");
        }
    }

    #[test]
    fn durations_without_a_number_or_with_an_odd_unit_are_refused() {
        for text in ["", "x", "ms", "-1s", "1.2.3s", "5 ms", "5msec", "inf", "1e400s"] {
            let message = format!("expected a duration such as 50ms, got `{text}`");
            assert_eq!(parse_duration(text).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn rates_are_above_0() {
        assert_eq!(parse_rate("2.5"), Ok(2.5));
        assert_eq!(parse_rate("1.5k"), Ok(1500.0));
        for text in ["0", "-1", "inf", "nan", "", "fast"] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
    }
}
