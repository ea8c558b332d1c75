//! Histogram of the latency, on a logarithmic axis.

use httperf_report::number::{count, time};
use httperf_report::result::Document;
use httperf_report::{AllCalls, Histogram};
use httperf_stats::Timing;

use crate::axis::{Axis, Quantity};
use crate::figure::{Block, Blocks, Dash, Layer, Line, Mark, Marked, Panel, Shade, Shape};
use crate::theme::Ink;

use super::Chart;

/// Maximum number of bars.
const BARS: usize = 60;

/// Share of its class that a bar is wide.
const BAR: f64 = 0.9;

/// Least height of a bar as a share of the highest: one call is to be seen beside a thousand.
const LEAST: f64 = 0.008;

/// Least ratio of the ends of the axis.
const RATIO: f64 = 1.05;

/// Chart of the latencies of answered calls; `None` if they do not differ.
pub(super) fn of(document: &Document, latency: &Timing) -> Option<Chart> {
    let histogram = Histogram::of_at_most(latency, BARS)?;
    let (low, high) = histogram.ends();
    let x = Axis::logarithmic_times("latency", [low, high], RATIO);
    let most = histogram.counts.iter().copied().max()? as f64;
    let y = Axis::from_zero("calls", [most]).of(Quantity::Count);
    let bars = (0..).zip(&histogram.counts).filter(|(_, calls)| **calls > 0);
    let bars = bars.map(|(index, &calls)| {
        let (from, to) = histogram.class(index);
        Block { x: (from, from * (to / from).powf(BAR)), y: (0.0, (calls as f64).max(LEAST * most)) }
    });
    let layer = Layer { ink: Ink::Blue, name: String::new(), blocks: bars.collect() };
    let (places, names): (Vec<f64>, Vec<String>) = (0..histogram.counts.len())
        .map(|index| {
            let (from, to) = histogram.class(index);
            ((from * to).sqrt(), format!("{} to {}", time(from), time(to)))
        })
        .unzip();
    let calls = histogram.counts.iter().map(|&calls| Some(calls as f64));
    let line = Line {
        name: "calls".to_owned(),
        ink: Ink::Blue,
        dash: Dash::None,
        width: 2.0,
        mark: Mark { shape: Shape::Square, is_hollow: false, which: Marked::At(Vec::new()) },
        points: places.into_iter().zip(calls).collect(),
        whiskers: Vec::new(),
        arrows: Vec::new(),
    };
    let all = &document.figures.all_calls;
    let marks = percentiles(all, (low, high));
    let mut about = "Calls by latency, from the instants at which they were due to the ends of their replies. Classes are equally long \
                     on the logarithmic axis; a class of few calls is drawn a little higher than it is."
        .to_owned();
    if all.answered < all.calls {
        let missing = count(all.calls - all.answered);
        about
            .push_str(&format!(" {missing} of {} calls have no usable reply, and no bar.", count(all.calls)));
        if !marks.is_empty() {
            about.push_str(" Dashed lines are percentiles of all calls, these among them.");
        }
    }
    let panel = Panel {
        name: "Histogram of the latency",
        y,
        shades: marks,
        lines: vec![line],
        mark: None,
        nothing: "",
    };
    let blocks = Blocks { layers: vec![layer] };
    let mut chart = Chart::with_blocks("histogram", "Histogram of the latency", about, &x, &panel, &blocks);
    chart.graph.name_places(names);
    Some(chart)
}

/// Percentiles of all calls that are between the shortest and the longest answered call.
fn percentiles(all: &AllCalls, (low, high): (f64, f64)) -> Vec<Shade> {
    let shown = [("p50", all.p50), ("p90", all.p90), ("p99", all.p99)];
    let known = shown.into_iter().filter_map(|(name, percentile)| {
        let ms = percentile.filter(|percentile| !percentile.or_more)?.ms;
        (low..=high).contains(&ms).then(|| Shade {
            from: ms,
            to: ms,
            name: format!("{name} {}", time(ms)).into(),
            ink: None,
        })
    });
    known.collect()
}
