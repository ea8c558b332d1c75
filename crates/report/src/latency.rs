//! The section after the classic report that shows what its averages hide.

use std::fmt::{self, Display};
use std::time::Duration;

use httperf_stats::{Summary, Timing};

use crate::number::fixed;

/// The percentiles shown.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// The section `Latency`, which begins with an empty line: percentiles of response time and connect time, in
/// ms to a precision of 3 significant digits, at best 1 µs.
///
/// A percentile that the number of samples does not support (p99.9 of fewer than 1000) shows as `n/a`.
#[must_use]
pub fn latency(summary: &Summary) -> impl Display + '_ {
    Latency { summary }
}

struct Latency<'a> {
    summary: &'a Summary,
}

impl Display for Latency<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{:<15}", "Latency [ms]")?;
        for (name, _) in QUANTILES {
            write!(f, "{name:>11}")?;
        }
        writeln!(f, "{:>11}{:>12}", "max", "samples")?;
        write_row(f, "response", &self.summary.response)?;
        write_row(f, "connect", &self.summary.connect)
    }
}

fn write_row(f: &mut fmt::Formatter<'_>, name: &str, timing: &Timing) -> fmt::Result {
    write!(f, "{name:<15}")?;
    for (_, share) in QUANTILES {
        let samples_needed = (1.0 / (1.0 - share)).round() as u64;
        let value = timing.quantile(share).filter(|_| timing.moments.count() >= samples_needed);
        write!(f, "{:>11}", in_ms(value))?;
    }
    writeln!(f, "{:>11}{:>12}", in_ms(timing.quantile(1.0)), timing.moments.count())
}

fn in_ms(value: Option<Duration>) -> String {
    value.map_or_else(|| "n/a".into(), |value| fixed(value.as_secs_f64() * 1e3, 3))
}
