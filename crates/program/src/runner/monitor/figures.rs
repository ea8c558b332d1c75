//! Figures as they are shown while a run goes on: short, at the precision that they have.

use std::time::Duration;

/// A rate per second.
pub(super) fn rate(rate: f64) -> String {
    let decimals = if rate >= 100.0 { 0 } else { 1 };
    format!("{rate:.decimals$}")
}

/// Milliseconds, to two digits or the microsecond: intervals know no more. `n/a` if there are none.
pub(super) fn millis(duration: Option<Duration>) -> String {
    let Some(duration) = duration else { return "n/a".into() };
    let millis = duration.as_secs_f64() * 1e3;
    let decimals = match millis {
        ..0.1 => 3,
        ..1.0 => 2,
        ..10.0 => 1,
        _ => 0,
    };
    format!("{millis:.decimals$}")
}

/// A time as clocks show it: `12s`, `1:05`, `1:00:05`.
pub(super) fn clock(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let seconds_left = seconds % 60;
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}:{seconds_left:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds_left:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_precision_of_what_was_measured() {
        let shown = |us| millis(Some(Duration::from_micros(us)));
        assert_eq!([7, 312, 3120, 31_200, 312_000].map(shown), ["0.007", "0.31", "3.1", "31", "312"]);
        assert_eq!(millis(None), "n/a");
        assert_eq!([0.0, 9.96, 99.94, 1000.4].map(rate), ["0.0", "10.0", "99.9", "1000"]);
    }

    #[test]
    fn times_are_as_short_as_they_can_be() {
        let shown = |seconds| clock(Duration::from_secs(seconds));
        assert_eq!(
            [0, 59, 60, 3599, 3600, 86_465].map(shown),
            ["0s", "59s", "1:00", "59:59", "1:00:00", "24:01:05"]
        );
    }
}
