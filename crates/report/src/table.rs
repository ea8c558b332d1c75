//! Lines with a name and a value, and tables of times: one row of percentiles per clock.

use std::fmt::{self, Display};
use std::time::Duration;

use httperf_stats::{Tally, Timing};

use crate::number::fixed;

/// Width of the first column, here and in adjacent sections.
pub(crate) const NAME_WIDTH: usize = 15;

/// Writes `name` and `what` in two columns.
pub(crate) fn line(f: &mut fmt::Formatter<'_>, name: &str, what: impl Display) -> fmt::Result {
    writeln!(f, "{name:<NAME_WIDTH$} {what}")
}

/// Writes one line per reason, since reasons are long.
pub(crate) fn write_reasons(f: &mut fmt::Formatter<'_>, mut name: &str, reasons: &Tally) -> fmt::Result {
    for (reason, count) in reasons.by_frequency() {
        line(f, name, format_args!("{reason} {count}"))?;
        name = "";
    }
    Ok(())
}

/// Writes all counts in one line, most frequent first.
pub(crate) fn write_tally(f: &mut fmt::Formatter<'_>, name: &str, tally: &Tally) -> fmt::Result {
    let counts: Vec<String> =
        tally.by_frequency().into_iter().map(|(name, count)| format!("{name} {count}")).collect();
    if counts.is_empty() { Ok(()) } else { line(f, name, counts.join(", ")) }
}

/// Percentiles shown.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// Writes the header. `title` should name the unit, ms.
pub(crate) fn write_times_head(f: &mut fmt::Formatter<'_>, title: &str) -> fmt::Result {
    write!(f, "{title:<NAME_WIDTH$}")?;
    for (name, _) in QUANTILES {
        write!(f, "{name:>11}")?;
    }
    writeln!(f, "{:>11}{:>12}", "max", "samples")
}

/// Writes a row, in ms to 3 significant digits, but no finer than 1 µs.
///
/// A percentile without enough samples (p99.9 of fewer than 1000) shows as `n/a`.
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
