//! The section after the classic report that shows what its averages hide.

use std::fmt::{self, Display};

use httperf_stats::Summary;

use crate::table::{write_times, write_times_head};

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
        writeln!(f)?;
        write_times_head(f, "Latency [ms]")?;
        write_times(f, "response", &self.summary.response)?;
        write_times(f, "connect", &self.summary.connect)
    }
}
