//! The rates of a sweep as they are typed: `100..2000/100`, `100..10000x1.5`, `100,200,500`, and mixtures.

use httperf_plan::{number, units};
use httperf_report::sweep::RATES_MAX;

/// The forms of rates.
const EXAMPLES: &str = "rates such as 100..2000/100, 100..10000x1.5 or 100,200,500";

/// The rates in a text: ascending, each once, finite and above 0.
///
/// ```text
///   rates = part *( "," part )
///   part  = rate | first ".." last ( "/" step | "x" factor )
/// ```
///
/// A range includes its last rate, even if no step meets it.
///
/// # Errors
/// The expectation, and what there is instead.
pub(super) fn parse(text: &str) -> Result<Vec<f64>, String> {
    let mut rates = Vec::new();
    for part in text.split(',') {
        if part.trim().is_empty() {
            return Err(format!("expected {EXAMPLES}, got `{text}`"));
        }
        add(part.trim(), &mut rates)?;
    }
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    Ok(rates)
}

/// A range as it is written here, if this text is one in another notation: `100-500` or `100:500`.
pub(super) fn range_meant(text: &str) -> Option<String> {
    let (range, step) = match text.split_once('/') {
        Some((range, step)) => (range, rate(step).ok()),
        None => (text, None),
    };
    let bounds = ["-", ":"].iter().find_map(|sign| range.split_once(sign));
    let (first, last) = bounds?;
    let (low, high) = (rate(first).ok()?, rate(last).ok()?);
    let step = step.unwrap_or_else(|| round_step((high - low) / 4.0));
    (low < high).then(|| format!("{first}..{last}/{step}"))
}

/// The largest of 1, 2 and 5 times a power of ten that is not above this number.
fn round_step(most: f64) -> f64 {
    let unit = 10_f64.powf(most.log10().floor());
    [5.0, 2.0, 1.0].into_iter().map(|digit| digit * unit).find(|&step| step <= most).unwrap_or(unit)
}

/// Adds the rates of one part.
fn add(part: &str, rates: &mut Vec<f64>) -> Result<(), String> {
    let Some((first, rest)) = part.split_once("..") else {
        return push(rates, rate(part)?);
    };
    let Some(at) = increment_at(rest) else {
        return Err(format!("expected a step or a factor, as in {part}/10 or {part}x1.5, got `{part}`"));
    };
    let (last, increment) = (&rest[..at], &rest[at + 1..]);
    let (first, last) = (rate(first)?, rate(last)?);
    if last < first {
        return Err(format!("expected the lower rate first, got `{part}`"));
    }
    let growth = match rest.as_bytes()[at] {
        b'/' => Growth::Step(above(0.0, "a step", units::per_second, increment)?),
        _ => Growth::Factor(above(1.0, "a factor", number::real, increment)?),
    };
    for number in 0.. {
        let rate = growth.nth(first, number);
        // A step that all but meets the last one is it.
        if rate >= last * (1.0 - 1e-9) {
            break;
        }
        push(rates, rate)?;
    }
    push(rates, last)
}

/// The step between the rates of a range.
#[derive(Clone, Copy, Debug)]
enum Growth {
    Step(f64),
    Factor(f64),
}

impl Growth {
    /// The rate number `number`, counted from 0, without what is lost in the last digits of numbers.
    fn nth(self, first: f64, number: i32) -> f64 {
        let exact = match self {
            Self::Step(step) => first + step * f64::from(number),
            Self::Factor(factor) => first * factor.powi(number),
        };
        let rounded = (exact * 1e3).round() / 1e3;
        if exact >= 1.0 && rounded.is_finite() { rounded } else { exact }
    }
}

fn push(rates: &mut Vec<f64>, rate: f64) -> Result<(), String> {
    if rates.len() == RATES_MAX {
        return Err(format!("expected at most {RATES_MAX} rates, got more"));
    }
    rates.push(rate);
    Ok(())
}

fn rate(text: &str) -> Result<f64, String> {
    above(0.0, "a rate", units::per_second, text)
}

/// The place of the sign between the last rate and the step or the factor. The slash of `/s` and `/m` is part of a rate.
fn increment_at(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_sign = |&at: &usize| match bytes[at] {
        b'x' => true,
        b'/' => !matches!(bytes.get(at + 1), Some(b's' | b'm')),
        _ => false,
    };
    (0..bytes.len()).find(is_sign)
}

/// A finite number above this one.
fn above(bound: f64, what: &str, read: fn(&[u8]) -> Option<f64>, text: &str) -> Result<f64, String> {
    let number = read(text.trim().as_bytes()).filter(|&number| number.is_finite() && number > bound);
    number.ok_or_else(|| format!("expected {what} above {bound}, got `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[f64]) {
        assert_eq!(parse(text).as_deref(), Ok(expected), "{text}");
    }

    #[track_caller]
    fn check_error(text: &str, expected: &str) {
        assert_eq!(parse(text), Err(expected.to_owned()), "{text}");
    }

    #[test]
    fn a_list_is_sorted_and_has_each_rate_once() {
        check("500,100,200.5,100", &[100.0, 200.5, 500.0]);
        check("7", &[7.0]);
        check(" 1e3 , 2e3", &[1000.0, 2000.0]);
    }

    #[test]
    fn a_range_has_both_ends() {
        check("100..500/100", &[100.0, 200.0, 300.0, 400.0, 500.0]);
        check("100..250/100", &[100.0, 200.0, 250.0]);
        check("0.1..0.5/0.1", &[0.1, 0.2, 0.300_000_000_000_000_04, 0.4, 0.5]);
        check("1.1..1.4/0.1", &[1.1, 1.2, 1.3, 1.4]);
        check("5..5/1", &[5.0]);
        check("5..6/100", &[5.0, 6.0]);
    }

    #[test]
    fn a_factor_makes_geometric_steps() {
        check("100..800x2", &[100.0, 200.0, 400.0, 800.0]);
        check("100..1000x1.5", &[100.0, 150.0, 225.0, 337.5, 506.25, 759.375, 1000.0]);
    }

    #[test]
    fn parts_mix() {
        check("10..30/10,100..400x2,50,20", &[10.0, 20.0, 30.0, 50.0, 100.0, 200.0, 400.0]);
    }

    #[test]
    fn there_are_a_thousand_at_most() {
        assert_eq!(parse("1..1000/1").map(|rates| rates.len()), Ok(1000));
        check_error("1..1001/1", "expected at most 1000 rates, got more");
        check_error("1..1e300/1e-300", "expected at most 1000 rates, got more");
        check_error("1..1e308x1.0001", "expected at most 1000 rates, got more");
    }

    #[test]
    fn a_range_in_another_notation_is_understood() {
        for (typed, meant) in [
            ("100-500", Some("100..500/100")),
            ("100:1000", Some("100..1000/200")),
            ("1k-5k/500", Some("1k..5k/500")),
            ("100..200", None),
            ("0.5-1", Some("0.5..1/0.1")),
            ("500-100", None),
            ("fast", None),
            ("-5", None),
        ] {
            assert_eq!(range_meant(typed).as_deref(), meant, "{typed}");
            assert!(meant.is_none_or(|meant| parse(meant).is_ok()), "{typed}");
        }
    }

    #[test]
    fn what_is_no_rate_is_named() {
        check_error("", &format!("expected {EXAMPLES}, got ``"));
        check_error("100,,200", &format!("expected {EXAMPLES}, got `100,,200`"));
        check_error("fast", "expected a rate above 0, got `fast`");
        check_error("0", "expected a rate above 0, got `0`");
        check_error("100,-5", "expected a rate above 0, got `-5`");
        check_error("inf", "expected a rate above 0, got `inf`");
        check_error("nan", "expected a rate above 0, got `nan`");
        check_error("0..100/10", "expected a rate above 0, got `0`");
        check_error(
            "100..200",
            "expected a step or a factor, as in 100..200/10 or 100..200x1.5, got `100..200`",
        );
        check_error("200..100/10", "expected the lower rate first, got `200..100/10`");
        check_error("100..200/0", "expected a step above 0, got `0`");
        check_error("100..200/", "expected a step above 0, got ``");
        check_error("100..200x1", "expected a factor above 1, got `1`");
        check_error("100..x2", "expected a rate above 0, got ``");
        check_error("100..200..300/5", "expected a rate above 0, got `200..300`");
    }
}
