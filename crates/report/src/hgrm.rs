//! Percentile distribution of a timing in the text format `.hgrm`, for HdrHistogram's plotters.

use std::fmt::{self, Display};

use httperf_stats::Timing;

/// Number of lines for each halving of the distance to the highest percentile.
const TICKS: u32 = 5;

/// Percentile distribution of a timing in milliseconds. Each line has a value, the share of times that are no
/// longer, their number, and the reciprocal of the share of longer ones.
///
/// <https://hdrhistogram.github.io/HdrHistogram/plotFiles.html>
#[must_use]
pub fn hgrm(timing: &Timing) -> impl Display + '_ {
    Hgrm { timing }
}

struct Hgrm<'a> {
    timing: &'a Timing,
}

impl Display for Hgrm<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moments = &self.timing.moments;
        writeln!(
            f,
            "{:>12} {:>14} {:>10} {:>14}\n",
            "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
        )?;
        for point in self.timing.percentiles(TICKS) {
            let (ms, share, count) = (point.value.as_secs_f64() * 1e3, point.share, point.count);
            write!(f, "{ms:>12.3} {share:>2.12} {count:>10}")?;
            if share < 1.0 {
                write!(f, " {:>14.2}", 1.0 / (1.0 - share))?;
            }
            writeln!(f)?;
        }
        let (mean, stddev, max) = (moments.mean() * 1e3, moments.stddev() * 1e3, moments.max() * 1e3);
        writeln!(f, "#[Mean    = {mean:>12.3}, StdDeviation   = {stddev:>12.3}]")?;
        writeln!(f, "#[Max     = {max:>12.3}, Total count    = {:>12}]", moments.count())?;
        let (buckets, classes) = self.timing.buckets();
        writeln!(f, "#[Buckets = {buckets:>12}, SubBuckets     = {classes:>12}]")
    }
}
