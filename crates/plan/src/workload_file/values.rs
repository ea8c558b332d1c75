//! The forms of values: times, rates, pauses and numbers of times.

use std::time::Duration;

use crate::scenario::Pause;
use crate::{number, units};

/// The longest time, in seconds: some 31 years. Sums of several fit every counter.
const SECONDS_MAX: f64 = 1e9;

/// The greatest number of times that `repeat` makes steps.
const TIMES_MAX: u32 = 1_000_000;

/// The greatest `sigma` of a log-normal pause.
const SIGMA_MAX: f64 = 10.0;

/// Parses a time: `500ms`, `3s`, `2m`, `1h`; a number without a unit counts seconds.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let seconds = units::seconds(text.trim().as_bytes())?;
    (0.0..=SECONDS_MAX).contains(&seconds).then(|| Duration::from_secs_f64(seconds))
}

/// Parses a rate per second, `50/s`, or a ramp from one to another, `0..50/s`. The first rate of a ramp has the unit of
/// the second unless it has its own.
pub(super) fn rate(text: &str) -> Option<(f64, f64)> {
    let text = text.trim();
    let Some((from, to)) = text.split_once("..") else {
        let rate = constant_rate(text)?;
        return Some((rate, rate));
    };
    let scanned = number::scan_real(to.as_bytes());
    scanned.value.ok()?;
    let unit = std::str::from_utf8(scanned.rest).ok()?;
    let has_unit = number::real(from.as_bytes()).is_none();
    let from = if has_unit { from.to_owned() } else { format!("{from}{unit}") };
    Some((constant_rate(&from)?, constant_rate(to)?))
}

fn constant_rate(text: &str) -> Option<f64> {
    units::per_second(text.as_bytes()).filter(|rate| (0.0..f64::INFINITY).contains(rate))
}

/// Parses a number of times, `3`, or a range of numbers, `2..6`.
pub(super) fn times(text: &str) -> Option<(u32, u32)> {
    let whole = |text: &str| {
        let number = u32::try_from(number::unsigned(text.as_bytes())?).ok()?;
        (number <= TIMES_MAX).then_some(number)
    };
    let (min, max) = text.trim().split_once("..").unwrap_or((text.trim(), text.trim()));
    let (min, max) = (whole(min)?, whole(max)?);
    (min <= max).then_some((min, max))
}

/// Parses a pause: `3s`, `uniform(1s, 3s)`, `exp(3s)` or `lognormal(3s, 0.5)`.
pub(super) fn pause(text: &str) -> Option<Pause> {
    let text = text.trim();
    let Some((name, arguments)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) else {
        return Some(Pause::Fixed { length: duration(text)? });
    };
    let arguments: Vec<&str> = arguments.split(',').map(str::trim).collect();
    match (name.trim_end(), &arguments[..]) {
        ("uniform", &[min, max]) => {
            let (min, max) = (duration(min)?, duration(max)?);
            (min <= max).then_some(Pause::Uniform { min, max })
        }
        ("exp", &[mean]) => Some(Pause::Exponential { mean: duration(mean)? }),
        ("lognormal", &[median, sigma]) => {
            let sigma = number::real(sigma.as_bytes()).filter(|sigma| (0.0..=SIGMA_MAX).contains(sigma))?;
            Some(Pause::LogNormal { median: duration(median)?, sigma })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    #[test]
    fn a_time_is_one_of_the_command_line() {
        assert_eq!(duration("500ms"), Some(seconds(0.5)));
        assert_eq!(duration(" 2m "), Some(seconds(120.0)));
        assert_eq!(duration("1.5"), Some(seconds(1.5)));
        for text in ["", "-1s", "inf", "nan", "2e9", "1 s", "fast"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn a_rate_is_constant_or_rises_or_falls() {
        assert_eq!(rate("50/s"), Some((50.0, 50.0)));
        assert_eq!(rate("0..50/s"), Some((0.0, 50.0)));
        assert_eq!(rate("120..60/m"), Some((2.0, 1.0)));
        assert_eq!(rate("1/s..120/m"), Some((1.0, 2.0)));
        assert_eq!(rate("0.5..2"), Some((0.5, 2.0)));
        assert_eq!(rate("2k"), Some((2000.0, 2000.0)));
        for text in ["", "..", "1..", "..5", "-1", "1..-2", "inf", "0..inf", "fast", "1..2..3", "5/d"] {
            assert_eq!(rate(text), None, "{text}");
        }
    }

    #[test]
    fn a_number_of_times_may_be_a_range() {
        assert_eq!(times("3"), Some((3, 3)));
        assert_eq!(times("0..2"), Some((0, 2)));
        for text in ["", "-1", "2..1", "1..", "1.5", "9999999", "99999999999999999999", "1..2..3"] {
            assert_eq!(times(text), None, "{text}");
        }
    }

    #[test]
    fn a_pause_has_a_distribution() {
        assert_eq!(pause("3s"), Some(Pause::Fixed { length: seconds(3.0) }));
        assert_eq!(pause("uniform(1s, 3s)"), Some(Pause::Uniform { min: seconds(1.0), max: seconds(3.0) }));
        assert_eq!(pause("exp( 3s )"), Some(Pause::Exponential { mean: seconds(3.0) }));
        let pause_of_reading = Pause::LogNormal { median: seconds(3.0), sigma: 0.5 };
        assert_eq!(pause("lognormal(3s, 0.5)"), Some(pause_of_reading));
        for text in [
            "",
            "exp",
            "exp()",
            "exp(3s",
            "uniform(3s, 1s)",
            "uniform(1s)",
            "lognormal(3s, -1)",
            "lognormal(3s, nan)",
            "normal(1s, 2s)",
            "exp(3s) ",
            "exp(exp(3s))",
        ] {
            assert_eq!(pause(text).is_some(), text == "exp(3s) ", "{text}");
        }
    }
}
