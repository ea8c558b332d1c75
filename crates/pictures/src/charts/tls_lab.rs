//! Chart of variants of TLS: the median handshake by round.

use httperf_report::tls_lab::Results;

use crate::axis::{Axis, Quantity};
use crate::figure::{Line, Panel};
use crate::over_time::MARKED_MAX;
use crate::percentiles::numbered_line;

use super::Chart;

/// Chart with a line for each measured variant; none if there is no round.
#[must_use]
pub fn of_tls_lab(results: &Results) -> Vec<Chart> {
    let measured = results.variants.iter().map(|variant| (variant.label(), variant.trials()));
    let lines: Vec<Line> = measured
        .filter(|(_, trials)| !trials.is_empty())
        .enumerate()
        .map(|(number, (name, trials))| {
            let ms = trials.iter().map(|trial| Some(trial.p50.as_secs_f64() * 1e3));
            let points: Vec<_> = (1_u32..).map(f64::from).zip(ms).collect();
            let is_marked = points.len() <= MARKED_MAX;
            numbered_line(number, name, points, is_marked)
        })
        .collect();
    let ms = lines.iter().flat_map(|line| &line.points).filter_map(|&(_, ms)| ms);
    let y = Axis::times("handshake", ms);
    let panel = Panel { name: "Median handshake", y, shades: Vec::new(), lines, mark: None, nothing: "" };
    if panel.is_empty() {
        return Vec::new();
    }
    let last = results.rounds.max(2) as f64;
    // With room for the marks at both ends.
    let x = Axis::between("round", 1.0 - 0.02 * last, 1.02 * last).of(Quantity::Round);
    let about = "Drift from round to round affects all variants and cancels out.";
    vec![Chart::new("median", "Median handshake by round", about, &x, &panel)]
}
