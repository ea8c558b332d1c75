//! Charts with overlaid lines of several runs.

use httperf_stats::{Interval, Timing};
use plotly::common::{Line, Marker, Mode};
use plotly::layout::{Axis, HoverMode};
use plotly::{Scatter, Traces};

use crate::compare::Rounds;
use crate::number::rounded;
use crate::result::Document;

use super::curves::{DASHES, percentile_curves};
use super::{BLUE, Chart, Extent, GREEN, ORANGE, PINK, PURPLE, TEAL, WIDTH, from_zero, layout};

/// Data for the charts of a comparison.
#[derive(Clone, Copy, Debug)]
pub enum Pictures<'a> {
    /// Results, the base first.
    Runs(&'a [&'a Document]),
    /// Trials of two sides that took turns.
    Rounds(&'a Rounds),
}

/// Colours of the runs, the base first, used cyclically.
const COLORS: [&str; 6] = [BLUE, ORANGE, GREEN, PURPLE, TEAL, PINK];

/// Maximum number of points with markers.
const MARKED_MAX: usize = 60;

/// Minimum length of an interval with a meaningful rate, as a share of the others.
const SHORTEST: f64 = 0.5;

/// Name of the run with this number, if there are `several` besides the base.
pub(in crate::html) fn role(number: usize, several: usize) -> String {
    match (number, several) {
        (0, _) => "base".to_owned(),
        (_, 1) => "new".to_owned(),
        (number, _) => format!("new {number}"),
    }
}

/// Charts with data to draw.
pub(in crate::html) fn compared(pictures: Pictures<'_>) -> Vec<Chart> {
    let charts = match pictures {
        Pictures::Runs(documents) => runs(documents),
        Pictures::Rounds(rounds) => turns(rounds),
    };
    charts.into_iter().flatten().collect()
}

fn runs(documents: &[&Document]) -> [Option<Chart>; 4] {
    let latencies: Vec<Timing> =
        documents.iter().map(|document| document.summary.completed().latency).collect();
    let over_time = |value: &dyn Fn(&Interval) -> Option<f64>| {
        documents.iter().map(|document| line(document, value)).collect::<Vec<_>>()
    };
    let quantile = |share| {
        move |interval: &Interval| Some(interval.latency.supported_quantile(share)?.as_secs_f64() * 1e3)
    };
    let seconds = || Axis::new().hover_format(",.1f").tick_suffix(" s");
    [
        percentiles(&latencies.iter().collect::<Vec<_>>()),
        overlaid(
            "median",
            "Median latency over time",
            "Of the calls answered in each interval. Seconds are counted from the beginning of the measured phase.",
            &over_time(&quantile(0.5)),
            Values::Milliseconds,
            seconds(),
        ),
        overlaid(
            "p99",
            "99th percentile of the latency over time",
            "There is a gap where an interval has too few calls for it.",
            &over_time(&quantile(0.99)),
            Values::Milliseconds,
            seconds(),
        ),
        overlaid(
            "replies",
            "Replies over time",
            "Complete replies in each interval.",
            &over_time(&|interval| Some(interval.rate(interval.replies))),
            Values::Rate,
            seconds(),
        ),
    ]
}

fn turns(rounds: &Rounds) -> [Option<Chart>; 4] {
    let by_round = |metric: &str, scale: f64| {
        let pairs = rounds.pairs(metric);
        let line = |value: &dyn Fn(&(u32, f64, f64)) -> f64| Points {
            x: pairs.iter().map(|pair| f64::from(pair.0)).collect(),
            y: pairs.iter().map(|pair| Some(value(pair) * scale)).collect(),
        };
        vec![line(&|pair| pair.1), line(&|pair| pair.2)]
    };
    let number =
        || Axis::new().tick_prefix("round ").dtick(1.0_f64.max(f64::from(rounds.made()) / 10.0).ceil());
    [
        percentiles(&rounds.latencies()),
        overlaid(
            "median",
            "Median latency by round",
            "Drift from round to round affects both sides and cancels out.",
            &by_round("p50", 1e3),
            Values::Milliseconds,
            number(),
        ),
        overlaid(
            "p99",
            "99th percentile of the latency by round",
            "Of the rounds that have enough calls for it.",
            &by_round("p99", 1e3),
            Values::Milliseconds,
            number(),
        ),
        overlaid(
            "replies",
            "Replies by round",
            "Complete replies per second of each trial.",
            &by_round("replies", 1.0),
            Values::Rate,
            number(),
        ),
    ]
}

fn percentiles(latencies: &[&Timing]) -> Option<Chart> {
    let roles: Vec<String> = (0..latencies.len()).map(|number| role(number, latencies.len() - 1)).collect();
    let curves: Vec<(&str, &Timing, &'static str)> = roles
        .iter()
        .zip(latencies)
        .zip(COLORS.into_iter().cycle())
        .map(|((role, timing), color)| (&role[..], *timing, color))
        .collect();
    percentile_curves(
        "percentiles",
        "Percentiles of the latency",
        "Towards the right, fewer and fewer calls took longer: at p99.9, one in a thousand did.",
        &curves,
    )
}

/// Line of a run.
struct Points {
    x: Vec<f64>,
    y: Vec<Option<f64>>,
}

fn line(document: &Document, value: &dyn Fn(&Interval) -> Option<f64>) -> Points {
    let series = &document.summary.series;
    let shortest = series.width().mul_f64(SHORTEST);
    let from = series.measured().next().map(|interval| interval.from).unwrap_or_default();
    let long: Vec<&Interval> = series.measured().filter(|interval| interval.length >= shortest).collect();
    let middle =
        |interval: &&Interval| (interval.from.saturating_sub(from) + interval.length / 2).as_secs_f64();
    Points {
        x: long.iter().map(|interval| rounded(middle(interval))).collect(),
        y: long.iter().map(|interval| value(interval)).collect(),
    }
}

/// Quantity on the vertical axis.
#[derive(Clone, Copy)]
enum Values {
    Milliseconds,
    Rate,
}

/// A line for each run, the base first; `None` if none has a point.
fn overlaid(
    id: &'static str,
    title: &'static str,
    about: &'static str,
    lines: &[Points],
    values: Values,
    x_axis: Axis,
) -> Option<Chart> {
    let shown: Vec<f64> = lines.iter().flat_map(|line| line.y.iter().copied().flatten()).collect();
    if shown.is_empty() {
        return None;
    }
    let mut data = Traces::new();
    for (number, points) in lines.iter().enumerate() {
        let marked = points.x.len() <= MARKED_MAX;
        let name = role(number, lines.len() - 1);
        let unit = match values {
            Values::Milliseconds => "%{y:,.3f} ms",
            Values::Rate => "%{y:,.1f}/s",
        };
        let y: Vec<Option<f64>> = points.y.iter().map(|value| value.map(rounded)).collect();
        let style = Line::new()
            .color(COLORS[number % COLORS.len()])
            .width(WIDTH)
            .dash(DASHES[number % DASHES.len()].clone());
        data.push(
            Scatter::new(points.x.clone(), y)
                .name(name)
                .mode(if marked { Mode::LinesMarkers } else { Mode::Lines })
                .line(style)
                .marker(Marker::new().size(if points.x.len() <= 2 { 9 } else { 4 }))
                .hover_template(unit),
        );
    }
    let y_axis = match values {
        Values::Milliseconds => Extent::of(&shown).axis_of_ms(),
        Values::Rate => from_zero("per second"),
    };
    let layout = layout(x_axis, y_axis).hover_mode(HoverMode::XUnified);
    Some(Chart { id, title, about, data, layout })
}
