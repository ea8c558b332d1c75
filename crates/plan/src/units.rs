//! Times and rates with units: `10ms`, `1.5h`, `2k`, `600/m`, `9k/h`.
//!
//! A unit only continues what [`number`](crate::number) reads: a number without one means what it does there, in seconds
//! or per second.

use crate::number::{Flaw, Scanned, scan_real};

/// Parses the whole text as a time in seconds, possibly negative, infinite or not a number.
#[must_use]
pub fn seconds(text: &[u8]) -> Option<f64> {
    whole(scan_seconds(text))
}

/// Scans the time at the start of the text, in seconds. A unit is `ns`, `us`, `ms`, `s`, `m`, `min` or `h`; smaller times may
/// follow, as in `1m30s`.
#[must_use]
pub fn scan_seconds(text: &[u8]) -> Scanned<'_, f64> {
    let (first, mut had_unit) = scan_one_time(text);
    let Ok(mut seconds) = first.value else { return first };
    let (mut part, mut rest) = (seconds, first.rest);
    while had_unit && rest.first().is_some_and(u8::is_ascii_digit) {
        let (next, has_unit) = scan_one_time(rest);
        let Some(smaller) = next.value.ok().filter(|next| has_unit && *next < part) else { break };
        seconds += smaller;
        (part, rest, had_unit) = (smaller, next.rest, has_unit);
    }
    Scanned { value: Ok(seconds), rest }
}

/// Scans a number with or without a unit of time. The second value is true if there is a unit.
fn scan_one_time(text: &[u8]) -> (Scanned<'_, f64>, bool) {
    let mut has_unit = false;
    let scanned = scan(text, |rest| {
        let length = rest.iter().take_while(|byte| !byte.is_ascii() || byte.is_ascii_alphabetic()).count();
        let (unit, rest) = rest.split_at(length);
        let scale = scale_of_time(unit)?;
        has_unit = true;
        Some((scale, rest))
    });
    (scanned, has_unit)
}

/// Reads a size in bytes: a whole number, with `k`, `m` or `g` for 1024, 1024² or 1024³.
#[must_use]
pub fn size(text: &str) -> Option<u64> {
    let (digits, shift) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 10),
        b'm' | b'M' => (&text[..text.len() - 1], 20),
        b'g' | b'G' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Parses the whole text as a rate per second, possibly negative, infinite or not a number.
#[must_use]
pub fn per_second(text: &[u8]) -> Option<f64> {
    whole(scan_per_second(text))
}

/// Scans the rate at the start of the text, per second: a number, `k` or `M` for thousands or millions, `/s`, `/m` or
/// `/h` for per second, per minute or per hour.
#[must_use]
pub fn scan_per_second(text: &[u8]) -> Scanned<'_, f64> {
    scan(text, |rest| {
        let (multiple, rest) = match rest {
            [b'k' | b'K', rest @ ..] => (1e3, rest),
            [b'M', rest @ ..] => (1e6, rest),
            _ => (1.0, rest),
        };
        match rest {
            [b'/', b's', rest @ ..] => Some((Scale::By(multiple), rest)),
            [b'/', b'm', rest @ ..] => Some((Scale::Ratio(multiple, 60.0), rest)),
            [b'/', b'h', rest @ ..] => Some((Scale::Ratio(multiple, 3600.0), rest)),
            _ if multiple > 1.0 => Some((Scale::By(multiple), rest)),
            _ => None,
        }
    })
}

/// The value of a unit. Fractions are divided by a whole number, so that `10ms` is the number nearest to 0.01.
#[derive(Clone, Copy)]
enum Scale {
    By(f64),
    Ratio(f64, f64),
}

impl Scale {
    fn of(self, number: f64) -> f64 {
        match self {
            Self::By(factor) => number * factor,
            Self::Ratio(factor, divisor) => number * factor / divisor,
        }
    }
}

fn scale_of_time(unit: &[u8]) -> Option<Scale> {
    Some(match unit {
        b"ns" => Scale::Ratio(1.0, 1e9),
        b"us" => Scale::Ratio(1.0, 1e6),
        _ if unit == "µs".as_bytes() => Scale::Ratio(1.0, 1e6),
        b"ms" => Scale::Ratio(1.0, 1e3),
        b"s" => Scale::By(1.0),
        b"m" | b"min" => Scale::By(60.0),
        b"h" => Scale::By(3600.0),
        _ => return None,
    })
}

fn whole(scanned: Scanned<'_, f64>) -> Option<f64> {
    scanned.value.ok().filter(|_| scanned.rest.is_empty())
}

/// Scans a number and what `unit` finds behind it: a scale, and the rest.
fn scan<'a>(text: &'a [u8], unit: impl FnOnce(&'a [u8]) -> Option<(Scale, &'a [u8])>) -> Scanned<'a, f64> {
    let number = scan_real(text);
    let Ok(value) = number.value else { return number };
    match unit(number.rest) {
        Some((scale, rest)) if value.is_finite() => {
            let value = scale.of(value);
            Scanned { value: if value.is_finite() { Ok(value) } else { Err(Flaw::OutOfRange) }, rest }
        }
        _ => number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_counts_seconds_unless_it_has_a_unit() {
        for (text, expected) in [
            ("5", 5.0),
            (" +1e3", 1e3),
            ("0x1p-1", 0.5),
            ("-2", -2.0),
            ("inf", f64::INFINITY),
            ("1500ns", 1.5e-6),
            ("250us", 250e-6),
            ("250µs", 250e-6),
            ("10ms", 0.01),
            ("1.5s", 1.5),
            ("2m", 120.0),
            ("2min", 120.0),
            (".5h", 1800.0),
            ("1m30s", 90.0),
            ("1h2m3.5s", 3723.5),
            ("2m90s", 210.0),
            ("-1s", -1.0),
        ] {
            assert_eq!(seconds(text.as_bytes()), Some(expected), "{text}");
        }
        for text in [
            "", "s", "5 s", "5sec", "1x", "0x", "1sx", "1s2", "30s1m", "1m1m", "1m30", "-1m30s", "5M", "5S",
            "1e308h", "infs", "1,5",
        ] {
            assert_eq!(seconds(text.as_bytes()), None, "{text}");
        }
        assert_eq!(seconds("1s".repeat(100_000).as_bytes()), None, "however many there are");
    }

    #[test]
    fn a_rate_is_per_second_unless_it_says_otherwise() {
        for (text, expected) in [
            ("100", 100.0),
            ("-3", -3.0),
            ("2k", 2000.0),
            ("1.5K", 1500.0),
            ("1M", 1e6),
            ("100/s", 100.0),
            ("600/m", 10.0),
            ("6k/m", 100.0),
            ("1800/h", 0.5),
            ("1e3/s", 1e3),
        ] {
            assert_eq!(per_second(text.as_bytes()), Some(expected), "{text}");
        }
        for text in ["", "k", "fast", "5m", "5/", "5/d", "5kk", "5s", "5/sec", "1e308M", "5/s5"] {
            assert_eq!(per_second(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn what_follows_a_unit_is_left() {
        let rest = |text| scan_seconds(text).rest;
        assert_eq!(rest(b"10ms,5"), b",5");
        assert_eq!(rest(b"10,5ms"), b",5ms");
        assert_eq!(rest(b"10junk"), b"junk");
        assert_eq!(scan_per_second(b"2k/500").rest, b"/500");
        assert_eq!(scan_per_second(b"2k/s/500").rest, b"/500");
        assert_eq!(scan_per_second(b"100x1.5").rest, b"x1.5");
    }
}
