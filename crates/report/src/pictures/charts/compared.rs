//! Charts with overlaid lines of several runs.

use httperf_stats::{Interval, Timing};

use crate::compare::Rounds;
use crate::pictures::axis::{Axis, Quantity};
use crate::pictures::figure::{Line, Panel};
use crate::pictures::percentiles;
use crate::pictures::timeline::MARKED_MAX;
use crate::result::Document;

use super::Chart;

/// Data for the charts of a comparison.
#[derive(Clone, Copy, Debug)]
pub enum Pictures<'a> {
    /// Results, the base first.
    Runs(&'a [&'a Document]),
    /// Trials of two sides that took turns.
    Rounds(&'a Rounds),
}

/// Minimum length of an interval with a meaningful rate, as a share of the others.
const SHORTEST: f64 = 0.5;

/// Name of the run with this number, if there are `several` besides the base.
pub(crate) fn role(number: usize, several: usize) -> String {
    match (number, several) {
        (0, _) => "base".to_owned(),
        (_, 1) => "new".to_owned(),
        (number, _) => format!("new {number}"),
    }
}

/// Charts with data to draw.
pub(crate) fn compared(pictures: Pictures<'_>) -> Vec<Chart> {
    let charts = match pictures {
        Pictures::Runs(documents) => runs(documents),
        Pictures::Rounds(rounds) => turns(rounds),
    };
    charts.into_iter().flatten().collect()
}

/// Points of a run.
type Points = Vec<(f64, Option<f64>)>;

/// Quantity on the vertical axis.
#[derive(Clone, Copy)]
enum Values {
    Milliseconds,
    Rate,
}

fn runs(documents: &[&Document]) -> [Option<Chart>; 4] {
    let latencies: Vec<Timing> =
        documents.iter().map(|document| document.summary.completed().latency).collect();
    let over_time = |value: &dyn Fn(&Interval) -> Option<f64>| -> Vec<Points> {
        documents.iter().map(|document| points(document, value)).collect()
    };
    let quantile = |share| {
        move |interval: &Interval| Some(interval.latency.supported_quantile(share)?.as_secs_f64() * 1e3)
    };
    let lasted = documents.iter().map(|document| document.figures.duration_s).fold(0.0, f64::max);
    let seconds = Axis::between("time since the beginning of the measured phase [s]", 0.0, lasted);
    let seconds = seconds.of(Quantity::Seconds);
    [
        percentile_curves(&latencies.iter().collect::<Vec<_>>()),
        overlaid(
            "median",
            "Median latency over time",
            "Of the calls answered in each interval.",
            over_time(&quantile(0.5)),
            Values::Milliseconds,
            &seconds,
        ),
        overlaid(
            "p99",
            "99th percentile of the latency over time",
            "There is a gap where an interval has too few calls for it.",
            over_time(&quantile(0.99)),
            Values::Milliseconds,
            &seconds,
        ),
        overlaid(
            "replies",
            "Replies over time",
            "Complete replies in each interval.",
            over_time(&|interval| Some(interval.rate(interval.replies))),
            Values::Rate,
            &seconds,
        ),
    ]
}

fn turns(rounds: &Rounds) -> [Option<Chart>; 4] {
    let by_round = |metric: &str, scale: f64| -> Vec<Points> {
        let pairs = rounds.pairs(metric);
        let line = |value: &dyn Fn(&(u32, f64, f64)) -> f64| {
            pairs.iter().map(|pair| (f64::from(pair.0), Some(value(pair) * scale))).collect()
        };
        vec![line(&|pair| pair.1), line(&|pair| pair.2)]
    };
    let last = f64::from(rounds.made().max(2));
    // With room for the marks at both ends.
    let number = Axis::between("round", 1.0 - 0.02 * last, 1.02 * last).of(Quantity::Round);
    [
        percentile_curves(&rounds.latencies()),
        overlaid(
            "median",
            "Median latency by round",
            "Drift from round to round affects both sides and cancels out.",
            by_round("p50", 1e3),
            Values::Milliseconds,
            &number,
        ),
        overlaid(
            "p99",
            "99th percentile of the latency by round",
            "Of the rounds that have enough calls for it.",
            by_round("p99", 1e3),
            Values::Milliseconds,
            &number,
        ),
        overlaid(
            "replies",
            "Replies by round",
            "Complete replies per second of each trial.",
            by_round("replies", 1.0),
            Values::Rate,
            &number,
        ),
    ]
}

fn percentile_curves(latencies: &[&Timing]) -> Option<Chart> {
    let roles: Vec<String> = (0..latencies.len()).map(|number| role(number, latencies.len() - 1)).collect();
    let timings: Vec<(&str, &Timing)> =
        roles.iter().map(String::as_str).zip(latencies.iter().copied()).collect();
    Chart::of_percentiles(
        "percentiles",
        "Percentiles of the latency",
        "Towards the right, fewer and fewer calls took longer: at p99.9, one in a thousand did.",
        &timings,
    )
}

fn points(document: &Document, value: &dyn Fn(&Interval) -> Option<f64>) -> Points {
    let series = &document.summary.series;
    let shortest = series.width().mul_f64(SHORTEST);
    let from = series.measured().next().map(|interval| interval.from).unwrap_or_default();
    let middle =
        |interval: &Interval| (interval.from.saturating_sub(from) + interval.length / 2).as_secs_f64();
    let long = series.measured().filter(|interval| interval.length >= shortest);
    long.map(|interval| (middle(interval), value(interval))).collect()
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
