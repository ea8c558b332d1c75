//! Tables of times: one row of percentiles for each clock.

use std::fmt;
use std::time::Duration;

use httperf_stats::Timing;

use crate::number::fixed;

/// Letters that the names of rows take up, here and in what stands around such tables.
pub(crate) const NAME_WIDTH: usize = 15;

/// The percentiles shown.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// The line of titles, the first of which should name the unit: ms.
pub(crate) fn write_times_head(f: &mut fmt::Formatter<'_>, title: &str) -> fmt::Result {
    write!(f, "{title:<NAME_WIDTH$}")?;
    for (name, _) in QUANTILES {
        write!(f, "{name:>11}")?;
    }
    writeln!(f, "{:>11}{:>12}", "max", "samples")
}

/// A row, in ms to a precision of 3 significant digits, at best 1 µs.
///
/// A percentile that the number of samples does not support (p99.9 of fewer than 1000) shows as `n/a`.
pub(crate) fn write_times(f: &mut fmt::Formatter<'_>, name: &str, timing: &Timing) -> fmt::Result {
    write!(f, "{name:<NAME_WIDTH$}")?;
    for (_, share) in QUANTILES {
        write!(f, "{:>11}", in_ms(timing.supported_quantile(share)))?;
    }
    writeln!(f, "{:>11}{:>12}", in_ms(timing.quantile(1.0)), timing.moments.count())
}

fn in_ms(value: Option<Duration>) -> String {
    value.map_or_else(|| "n/a".into(), |value| fixed(value.as_secs_f64() * 1e3, 3))
}
