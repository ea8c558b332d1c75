//! Charts of pages: one graph each, with a title and a sentence about it.
//!
//! All text in them is ours, except for the names of load phases, which are cut and escaped; other names from outside stay
//! in the page's tables.

mod capacity;
mod compared;
mod over_time;
mod sweep;
mod tls_lab;

use httperf_report::PercentileCurve;
use httperf_report::result::Document;
use httperf_stats::Clocks;
use serde::Serialize;

use super::axis::Axis;
use super::figure::Panel;
use super::graph::Graph;
use super::percentiles;

pub use self::capacity::of_capacity;
pub use self::compared::{compared, role};
pub use self::sweep::of_sweep;
pub use self::tls_lab::of_tls_lab;

use self::over_time::Run;

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
    /// Calls that were due, requests, replies and errors, per second.
    pub throughput: Option<Chart>,
    /// Latency over time.
    pub latency: Option<Chart>,
    /// Percentiles of latency and service time.
    pub percentiles: Option<Chart>,
    /// Errors over time.
    pub errors: Option<Chart>,
    /// Lag over time.
    pub lag: Option<Chart>,
    /// Percentiles of the lag.
    pub lag_percentiles: Option<Chart>,
    /// Open connections over time.
    pub open: Option<Chart>,
}

impl Chart {
    fn new(id: &'static str, title: &'static str, about: impl Into<String>, x: &Axis, panel: &Panel) -> Self {
        let about = about.into();
        let graph = Graph::of(x, panel, &about);
        Self { id, title, about, graph }
    }

    /// Percentile curves with their names; `None` if there are no samples.
    fn of_percentiles(
        id: &'static str,
        title: &'static str,
        about: &'static str,
        curves: &[(String, PercentileCurve)],
    ) -> Option<Self> {
        let (x, panel) = percentiles::graph("", curves);
        (!panel.is_empty()).then(|| Self::new(id, title, about, &x, &panel))
    }
}

impl RunCharts {
    /// Charts of a run, whose `completed` calls had a reply.
    #[must_use]
    pub fn of(document: &Document, completed: &Clocks) -> Self {
        let lag = &document.summary.lag;
        let run = Run::of(document);
        let all = &document.figures.all_calls;
        let latency = if all.answered < all.calls { "latency of answered calls" } else { "latency" };
        let curve = |name: &str, timing| (name.to_owned(), PercentileCurve::of(timing));
        Self {
            throughput: run.throughput(),
            latency: run.latency(),
            percentiles: Chart::of_percentiles(
                "percentiles",
                "Percentiles of latency and service time",
                "Towards the right, fewer and fewer calls took longer: at p99.9, one in a thousand did.",
                &[curve(latency, &completed.latency), curve("service", &completed.service)],
            ),
            errors: run.errors(),
            lag: if lag.is_empty() { None } else { run.lag() },
            lag_percentiles: Chart::of_percentiles(
                "lag-percentiles",
                "Percentiles of the lag",
                "Of all arrivals that were due on the schedule.",
                &[curve("lag", lag)],
            ),
            open: run.open(),
        }
    }

    /// All charts, for the script.
    #[must_use]
    pub fn all(&self) -> Vec<&Chart> {
        let Self { throughput, latency, percentiles, errors, lag, lag_percentiles, open } = self;
        let all = [throughput, latency, percentiles, errors, lag, lag_percentiles, open];
        all.into_iter().flatten().collect()
    }
}
