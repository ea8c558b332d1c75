//! The time that a client gives a call: `grpc-timeout`.

use std::time::Duration;

/// Reads a timeout: one to eight digits and a unit. `None` if it is malformed.
///
/// <https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md#requests>
pub(super) fn parse_timeout(text: &str) -> Option<Duration> {
    let (unit_at, unit) = text.char_indices().next_back()?;
    let digits = &text[..unit_at];
    if !(1..=DIGITS_MAX).contains(&digits.len()) || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let count = digits.parse().ok()?;
    Some(match unit {
        'H' => Duration::from_secs(count * 3600),
        'M' => Duration::from_secs(count * 60),
        'S' => Duration::from_secs(count),
        'm' => Duration::from_millis(count),
        'u' => Duration::from_micros(count),
        'n' => Duration::from_nanos(count),
        _ => return None,
    })
}

const DIGITS_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use httperf_proto::grpc::timeout;

    use super::*;

    #[test]
    fn timeouts_of_every_unit_are_read() {
        for (text, nanos) in [
            ("1H", 3_600_000_000_000),
            ("2M", 120_000_000_000),
            ("3S", 3_000_000_000),
            ("04m", 4_000_000),
            ("5u", 5_000),
            ("99999999n", 99_999_999),
        ] {
            assert_eq!(parse_timeout(text), Some(Duration::from_nanos(nanos)), "{text}");
        }
        assert_eq!(parse_timeout("99999999H"), Some(Duration::from_secs(99_999_999 * 3600)));
    }

    #[test]
    fn what_clients_of_our_own_write_is_read() {
        for nanos in [0, 7, 99_999_999, 250_000_000, 100_000_000_000] {
            let written = Duration::from_nanos(nanos);
            assert_eq!(parse_timeout(&timeout(written)), Some(written));
        }
    }

    #[test]
    fn malformed_timeouts_are_refused() {
        for text in ["", "5", "S", "5s", "-5S", "+5S", " 5S", "5.0S", "123456789S", "5µ", "5SS"] {
            assert_eq!(parse_timeout(text), None, "{text}");
        }
    }
}
