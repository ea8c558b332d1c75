//! Charts, as input for plotly.js.
//!
//! All text in them is ours: plotly interprets some markup, so no text from a server or a user may get here.
//! Colours have a contrast of at least 3:1 with both the light and the dark background, and lines also differ
//! in their dashes; the page sets the colours of background, text and grid.

mod compared;
mod curves;
mod over_time;
pub(super) mod sweep;

use httperf_stats::Clocks;
use plotly::common::{Anchor, ExponentFormat, Font, Orientation, Title};
use plotly::layout::{Axis, AxisType, Legend, Margin, RangeMode, TicksDirection};
use plotly::{Layout, Traces};
use serde::Serialize;

use crate::curves::LINEAR_UP_TO;
use crate::number::time;
use crate::result::Document;

pub use self::compared::Pictures;
pub(super) use self::compared::{compared, role};

use self::curves::percentile_curves;
use self::over_time::Run;

const BLUE: &str = "#3b82f6";
const GREEN: &str = "#16a34a";
const ORANGE: &str = "#d97706";
const RED: &str = "#dc2626";
const PURPLE: &str = "#8b5cf6";
const TEAL: &str = "#0d9488";
const PINK: &str = "#db2777";
const GREY: &str = "#7d8590";

/// Width of lines in pixels.
const WIDTH: f64 = 2.0;

/// All charts with data to draw.
pub(super) struct Charts {
    /// Length of an interval, for people.
    pub(super) interval: String,
    pub(super) throughput: Option<Chart>,
    pub(super) latency: Option<Chart>,
    pub(super) percentiles: Option<Chart>,
    pub(super) errors: Option<Chart>,
    pub(super) lag: Option<Chart>,
    pub(super) lag_percentiles: Option<Chart>,
    pub(super) open: Option<Chart>,
}

/// A chart: an element of the page, and plotly's data for it.
#[derive(Serialize)]
pub(super) struct Chart {
    pub(super) id: &'static str,
    #[serde(skip)]
    pub(super) title: &'static str,
    #[serde(skip)]
    pub(super) about: &'static str,
    data: Traces,
    layout: Layout,
}

impl Charts {
    pub(super) fn of(document: &Document, completed: &Clocks) -> Self {
        let summary = &document.summary;
        let run = Run::of(document);
        Self {
            interval: match summary.series.width().as_secs() {
                0 | 1 => "a second".to_owned(),
                seconds => format!("{seconds} seconds"),
            },
            throughput: run.throughput(),
            latency: run.latency(),
            percentiles: percentile_curves(
                "percentiles",
                "Percentiles of latency and service time",
                "Towards the right, fewer and fewer calls took longer: at p99.9, one in a thousand did.",
                &[("latency", &completed.latency, BLUE), ("service", &completed.service, ORANGE)],
            ),
            errors: run.errors(),
            lag: if summary.lag.is_empty() { None } else { run.lag() },
            lag_percentiles: percentile_curves(
                "lag-percentiles",
                "Percentiles of the lag",
                "Of all arrivals that were due on the schedule.",
                &[("lag", &summary.lag, PURPLE)],
            ),
            open: run.open(),
        }
    }

    /// All charts, for the script.
    pub(super) fn all(&self) -> Vec<&Chart> {
        let Self { interval: _, throughput, latency, percentiles, errors, lag, lag_percentiles, open } = self;
        let all = [throughput, latency, percentiles, errors, lag, lag_percentiles, open];
        all.into_iter().flatten().collect()
    }
}

/// Common layout of all charts.
fn layout(x_axis: Axis, y_axis: Axis) -> Layout {
    let legend = Legend::new()
        .orientation(Orientation::Horizontal)
        .x(0.0)
        .x_anchor(Anchor::Left)
        .y(-0.18)
        .y_anchor(Anchor::Top);
    let usual =
        |axis: Axis| axis.auto_margin(true).zero_line(false).ticks(TicksDirection::Outside).tick_length(5);
    Layout::new()
        .auto_size(true)
        // Plotly's buttons are at the top, and below them the names of shaded periods.
        .margin(Margin::new().left(8).right(12).top(44).bottom(8))
        .legend(legend)
        .x_axis(usual(x_axis))
        .y_axis(usual(y_axis).separate_thousands(true))
}

/// Axis that begins at zero.
fn from_zero(title: &str) -> Axis {
    Axis::new().title(Title::with_text(title).font(Font::new().size(12))).range_mode(RangeMode::ToZero)
}

/// Range of the positive values.
struct Extent {
    least: f64,
    greatest: f64,
}

impl Extent {
    fn of<'a>(values: impl IntoIterator<Item = &'a f64>) -> Self {
        let nothing = Self { least: f64::INFINITY, greatest: 0.0 };
        values.into_iter().filter(|value| **value > 0.0).fold(nothing, |extent, &value| Self {
            least: extent.least.min(value),
            greatest: extent.greatest.max(value),
        })
    }

    /// Axis for these values in ms: logarithmic if their range is wide.
    fn axis_of_ms(&self) -> Axis {
        if self.greatest <= self.least * LINEAR_UP_TO {
            return from_zero("ms");
        }
        let decades: Vec<f64> = (-3..=7).map(|power| 10_f64.powi(power)).collect();
        let names = decades.iter().map(|&ms| time(ms)).collect();
        Axis::new()
            .title(Title::with_text("log scale").font(Font::new().size(12)))
            .exponent_format(ExponentFormat::None)
            .type_(AxisType::Log)
            .tick_values(decades)
            .tick_text(names)
    }
}
