//! Charts with overlaid lines of the sides of a comparison.

use httperf_report::PercentileCurve;
use httperf_report::compare::{Comparison, Method, Moment, Subject, Turns};

use crate::axis::{Axis, Quantity};
use crate::figure::{Line, Panel};
use crate::over_time::MARKED_MAX;
use crate::percentiles;

use super::Chart;

/// Name of the run with this number, if there are `several` besides the base.
#[must_use]
pub fn role(number: usize, several: usize) -> String {
    match (number, several) {
        (0, _) => "base".to_owned(),
        (_, 1) => "new".to_owned(),
        (number, _) => format!("new {number}"),
    }
}

/// Charts with data to draw.
#[must_use]
pub fn compared(comparison: &Comparison) -> Vec<Chart> {
    let sides: Vec<&Subject> = comparison.subjects().collect();
    let charts = match &comparison.method {
        Method::Bootstrap => over_time(&sides),
        Method::Paired(turns) => by_round(turns),
    };
    percentile_curves(&sides).into_iter().chain(charts.into_iter().flatten()).collect()
}

/// Points of a run.
type Points = Vec<(f64, Option<f64>)>;

/// Quantity on the vertical axis.
#[derive(Clone, Copy)]
enum Values {
    Milliseconds,
    Rate,
}

fn over_time(sides: &[&Subject]) -> [Option<Chart>; 3] {
    let line = |value: &dyn Fn(&Moment) -> Option<f64>| -> Vec<Points> {
        let points =
            |side: &&Subject| side.timeline.iter().map(|moment| (moment.at_s, value(moment))).collect();
        sides.iter().map(points).collect()
    };
    let lasted = sides.iter().map(|side| side.duration_s).fold(0.0, f64::max);
    let seconds = Axis::between("time since the beginning of the measured phase [s]", 0.0, lasted);
    let seconds = seconds.of(Quantity::Seconds);
    [
        overlaid(
            "median",
            "Median latency over time",
            "Of the calls answered in each interval.",
            line(&|moment| moment.p50_ms),
            Values::Milliseconds,
            &seconds,
        ),
        overlaid(
            "p99",
            "99th percentile of the latency over time",
            "There is a gap where an interval has too few calls for it.",
            line(&|moment| moment.p99_ms),
            Values::Milliseconds,
            &seconds,
        ),
        overlaid(
            "replies",
            "Replies over time",
            "Complete replies in each interval.",
            line(&|moment| Some(moment.replies_per_s)),
            Values::Rate,
            &seconds,
        ),
    ]
}

fn by_round(turns: &Turns) -> [Option<Chart>; 3] {
    let line = |metric: &str, scale: f64| -> Vec<Points> {
        let pairs = turns.pairs(metric);
        let line = |value: &dyn Fn(&(u32, f64, f64)) -> f64| {
            pairs.iter().map(|pair| (f64::from(pair.0), Some(value(pair) * scale))).collect()
        };
        vec![line(&|pair| pair.1), line(&|pair| pair.2)]
    };
    let last = f64::from(turns.rounds_made.max(2));
    // With room for the marks at both ends.
    let number = Axis::between("round", 1.0 - 0.02 * last, 1.02 * last).of(Quantity::Round);
    [
        overlaid(
            "median",
            "Median latency by round",
            "Drift from round to round affects both sides and cancels out.",
            line("p50", 1e3),
            Values::Milliseconds,
            &number,
        ),
        overlaid(
            "p99",
            "99th percentile of the latency by round",
            "Of the rounds that have enough calls for it.",
            line("p99", 1e3),
            Values::Milliseconds,
            &number,
        ),
        overlaid(
            "replies",
            "Replies by round",
            "Complete replies per second of each trial.",
            line("replies", 1.0),
            Values::Rate,
            &number,
        ),
    ]
}

fn percentile_curves(sides: &[&Subject]) -> Option<Chart> {
    let several = sides.len() - 1;
    let curves: Vec<(String, PercentileCurve)> =
        (0..).zip(sides).map(|(number, side)| (role(number, several), side.latency.clone())).collect();
    Chart::of_percentiles(
        "percentiles",
        "Percentiles of the latency",
        "Towards the right, fewer and fewer calls took longer: at p99.9, one in a thousand did.",
        &curves,
    )
}

/// A line for each run, the base first; `None` if none has a point.
fn overlaid(
    id: &'static str,
    title: &'static str,
    about: &'static str,
    runs: Vec<Points>,
    values: Values,
    x: &Axis,
) -> Option<Chart> {
    let shown = runs.iter().flatten().filter_map(|&(_, value)| value);
    let y = match values {
        Values::Milliseconds => Axis::times("latency", shown),
        Values::Rate => Axis::from_zero("per second", shown).of(Quantity::PerSecond),
    };
    let several = runs.len().saturating_sub(1);
    let lines: Vec<Line> = (0..)
        .zip(runs)
        .map(|(number, points)| {
            let is_marked = points.len() <= MARKED_MAX;
            percentiles::numbered_line(number, role(number, several), points, is_marked)
        })
        .collect();
    let panel = Panel { name: title, y, shades: Vec::new(), lines, mark: None, nothing: "" };
    (!panel.is_empty()).then(|| Chart::new(id, title, about, x, &panel))
}
