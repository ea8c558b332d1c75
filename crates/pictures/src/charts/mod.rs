//! Charts of pages: one graph each, with a title and a sentence about it.
//!
//! All text in them is ours, except for the names of load phases, which are cut and escaped; other names from outside stay
//! in the page's tables.

mod capacity;
mod compared;
mod histogram;
mod over_time;
mod sweep;
mod tls_lab;

use httperf_report::PercentileCurve;
use httperf_report::result::Document;
use httperf_stats::Clocks;
use serde::Serialize;

use super::axis::Axis;
use super::figure::{Blocks, Panel};
use super::graph::Graph;
use super::over_time::OverTime;
use super::percentiles;

pub use self::capacity::of_capacity;
pub use self::compared::{compared, role};
pub use self::sweep::of_sweep;
pub use self::tls_lab::of_tls_lab;

/// A chart of a page.
#[derive(Clone, Debug, Serialize)]
pub struct Chart {
    /// Id of its element.
    pub id: &'static str,
    /// Title.
    #[serde(skip)]
    pub title: &'static str,
    /// Sentence about it.
    #[serde(skip)]
    pub about: String,
    /// Graph.
    #[serde(flatten)]
    pub graph: Graph,
}

/// Charts of a run that have data to draw.
#[derive(Clone, Debug)]
pub struct RunCharts {
    /// Length in seconds of the intervals of charts over time.
    pub interval_s: f64,
    /// Histogram of the latency.
    pub histogram: Option<Chart>,
    /// Latency over time.
    pub latency: Option<Chart>,
    /// Calls that were due, requests, replies and errors, per second.
    pub throughput: Option<Chart>,
    /// Errors over time.
    pub errors: Option<Chart>,
    /// Lag over time.
    pub lag: Option<Chart>,
    /// Percentiles of the lag.
    pub lag_percentiles: Option<Chart>,
    /// Open connections over time.
    pub open: Option<Chart>,
    /// Percentiles of latency and service time.
    pub percentiles: Option<Chart>,
}

impl Chart {
    fn new(id: &'static str, title: &'static str, about: impl Into<String>, x: &Axis, panel: &Panel) -> Self {
        Self::with_blocks(id, title, about, x, panel, &Blocks::default())
    }

    fn with_blocks(
        id: &'static str,
        title: &'static str,
        about: impl Into<String>,
        x: &Axis,
        panel: &Panel,
        blocks: &Blocks,
    ) -> Self {
        let about = about.into();
        let graph = Graph::of(x, panel, blocks, &about);
        Self { id, title, about, graph }
    }

    /// Percentile curves with their names; `None` if there are no samples.
    fn of_percentiles(
        id: &'static str,
        title: &'static str,
        about: &'static str,
        curves: &[(String, PercentileCurve)],
    ) -> Option<Self> {
        let curves: Vec<_> = curves.iter().map(|(name, curve)| (name.clone(), thinned(curve))).collect();
        let (x, panel) = percentiles::graph("", &curves);
        (!panel.is_empty()).then(|| Self::new(id, title, about, &x, &panel))
    }
}

impl RunCharts {
    /// Charts of a run, whose `completed` calls had a reply.
    #[must_use]
    pub fn of(document: &Document, completed: &Clocks) -> Self {
        let lag = &document.summary.lag;
        let run = OverTime::of(document);
        let all = &document.figures.all_calls;
        let latency = if all.answered < all.calls { "latency of answered calls" } else { "latency" };
        let curve = |name: &str, timing| (name.to_owned(), PercentileCurve::of(timing));
        let mut charts = Self {
            interval_s: run.seconds(),
            histogram: histogram::of(document, &completed.latency),
            latency: over_time::latency(&run),
            throughput: over_time::throughput(&run),
            errors: over_time::errors(&run),
            lag: if lag.is_empty() { None } else { over_time::lag(&run) },
            lag_percentiles: Chart::of_percentiles(
                "lag-percentiles",
                "Percentiles of the lag",
                "Of all arrivals that were due on the schedule.",
                &[curve("lag", lag)],
            ),
            open: over_time::open(&run),
            percentiles: Chart::of_percentiles(
                "percentiles",
                "Percentiles of latency and service time",
                "Towards the right, fewer and fewer calls took longer: at p99.9, one in a thousand did.",
                &[curve(latency, &completed.latency), curve("service", &completed.service)],
            ),
        };
        let Self { latency, throughput, errors, open, .. } = &mut charts;
        align([latency, throughput, errors, open].into_iter().flatten());
        charts
    }

    /// All charts in the order of the page, for the script.
    #[must_use]
    pub fn all(&self) -> Vec<&Chart> {
        let Self { histogram, latency, throughput, errors, lag, lag_percentiles, open, percentiles, .. } =
            self;
        let all = [histogram, latency, throughput, errors, lag, lag_percentiles, open, percentiles];
        all.into_iter().flatten().collect()
    }
}

/// Every other point of a curve, and its end: pages need no more, and are smaller.
fn thinned(curve: &PercentileCurve) -> PercentileCurve {
    let last = curve.odds.len().saturating_sub(1);
    let kept = |values: &[f64]| {
        let kept = values.iter().enumerate().filter(|&(index, _)| index % 2 == 0 || index == last);
        kept.map(|(_, &value)| value).collect()
    };
    PercentileCurve { odds: kept(&curve.odds), ms: kept(&curve.ms) }
}

/// Has the plots of charts with a common x axis begin below one another.
fn align<'c>(charts: impl IntoIterator<Item = &'c mut Chart>) {
    let charts: Vec<&mut Chart> = charts.into_iter().collect();
    let left = charts.iter().map(|chart| chart.graph.left).max().unwrap_or(0);
    charts.into_iter().for_each(|chart| chart.graph.left = left);
}
