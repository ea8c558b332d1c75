//! Charts over the time of the run, from its series of intervals.

use httperf_stats::{Failure, Interval};
use plotly::common::{Anchor, DashType, Font, Line, Marker, Mode, Pattern, PatternFillMode, PatternShape};
use plotly::layout::{
    Annotation, Axis, AxisRange, BarMode, HoverMode, Shape, ShapeLayer, ShapeLine, ShapeType,
};
use plotly::{Bar, Scatter, Traces};

use crate::curves::{Stretch, StretchKind};
use crate::number::rounded;
use crate::result::Document;

use super::{BLUE, Chart, Extent, GREEN, GREY, ORANGE, PINK, PURPLE, RED, TEAL, WIDTH, from_zero, layout};

/// Warm-up and drain.
const PHASE_SHADE: &str = "rgba(125, 133, 144, 0.16)";

/// Stalls of the server.
const STALL_SHADE: &str = "rgba(217, 119, 6, 0.20)";

/// Maximum number of points with markers, which make single points between gaps visible.
const MARKED_MAX: usize = 60;

/// Minimum length of an interval with a meaningful rate, as a share of the others.
const SHORTEST: f64 = 0.1;

/// Colours and patterns of bars: one for each class of failure, and two for replies.
const BARS: [(&str, PatternShape); Failure::ALL.len() + 2] = [
    (RED, PatternShape::None),
    (ORANGE, PatternShape::RightDiagonalLine),
    (PURPLE, PatternShape::DiagonalCross),
    (BLUE, PatternShape::HorizontalLine),
    (TEAL, PatternShape::Dot),
    (PINK, PatternShape::LeftDiagonalLine),
    (GREY, PatternShape::VerticalLine),
    (GREEN, PatternShape::Cross),
    (RED, PatternShape::Dot),
    (ORANGE, PatternShape::Cross),
];

/// Intervals of a run.
pub(super) struct Run<'a> {
    intervals: Vec<&'a Interval>,
    /// Middles of the intervals, in seconds since the start.
    seconds: Vec<f64>,
    shades: Vec<Shade>,
}

/// A shaded period.
struct Shade {
    from_s: f64,
    to_s: f64,
    name: &'static str,
    /// Position of the name, chosen to avoid overlaps.
    anchor: Anchor,
    color: &'static str,
}

impl<'a> Run<'a> {
    pub(super) fn of(document: &'a Document) -> Self {
        let series = &document.summary.series;
        let shortest = series.width().mul_f64(SHORTEST);
        let is_only = series.intervals().len() == 1;
        let long = series.intervals().iter().filter(|interval| is_only || interval.length >= shortest);
        let intervals: Vec<&Interval> = long.collect();
        let middle = |interval: &&Interval| rounded((interval.from + interval.length / 2).as_secs_f64());
        Self { seconds: intervals.iter().map(middle).collect(), intervals, shades: shades(document) }
    }

    pub(super) fn throughput(&self) -> Option<Chart> {
        let style = |color: &'static str, width, dash| Line::new().color(color).width(width).dash(dash);
        let failed = |interval: &Interval| interval.failed_calls + interval.http_errors;
        // The line of offered load is wide, since the others cover it when all is well.
        let lines = [
            ("offered", self.rates(|interval| interval.offered), style(GREY, 2.0 * WIDTH, DashType::Solid)),
            ("sent", self.rates(|interval| interval.sent), style(BLUE, WIDTH, DashType::Solid)),
            ("replied", self.rates(|interval| interval.replies), style(GREEN, WIDTH, DashType::Dash)),
            ("errors", self.rates(failed), style(RED, WIDTH, DashType::Dot)),
        ];
        let mut data = Traces::new();
        for (name, rates, style) in lines {
            data.push(self.line(name, rates, style, "%{y:,.1f}/s"));
        }
        self.chart(
            "throughput",
            "Throughput",
            "Calls that were due, requests sent, replies that came, and calls that ended in an error.",
            data,
            from_zero("per second"),
        )
    }

    pub(super) fn latency(&self) -> Option<Chart> {
        let lines = [
            ("p50", 0.5, 2, BLUE, DashType::Solid),
            ("p90", 0.9, 10, TEAL, DashType::Dash),
            ("p99", 0.99, 100, ORANGE, DashType::DashDot),
            ("max", 1.0, 1, GREY, DashType::Dot),
        ];
        let mut data = Traces::new();
        let mut shown = Vec::new();
        for (name, share, calls_needed, color, dash) in lines {
            let values = self.values(|interval| {
                let value = interval.latency.quantile(share)?;
                (interval.latency.total() >= calls_needed).then_some(value.as_secs_f64() * 1e3)
            });
            shown.extend(values.iter().flatten().copied());
            let style = Line::new().color(color).width(WIDTH).dash(dash);
            data.push(self.line(name, values, style, "%{y:,.3f} ms"));
        }
        if shown.is_empty() {
            return None;
        }
        self.chart(
            "latency",
            "Latency",
            "Of the calls answered in each interval, from the instants at which they were due. A percentile has a gap \
             where there were too few calls for it.",
            data,
            Extent::of(&shown).axis_of_ms(),
        )
    }

    pub(super) fn errors(&self) -> Option<Chart> {
        let counts = |count: &dyn Fn(&Interval) -> u64| {
            self.intervals.iter().map(|interval| count(interval)).collect()
        };
        let mut kinds: Vec<(String, Vec<u64>)> = Failure::ALL
            .into_iter()
            .map(|failure| {
                (format!("connections: {failure}"), counts(&|interval| interval.errors.count(failure)))
            })
            .collect();
        kinds.push(("replies: 4xx and 5xx".to_owned(), counts(&|interval| interval.http_errors)));
        kinds.push(("replies: unexpected".to_owned(), counts(&|interval| interval.unexpected)));
        kinds.retain(|(_, counts)| counts.iter().any(|&count| count > 0));
        if kinds.is_empty() {
            return None;
        }
        let mut data = Traces::new();
        for ((name, counts), (color, shape)) in kinds.into_iter().zip(BARS) {
            let pattern = Pattern::new().shape(shape).fill_mode(PatternFillMode::Overlay).solidity(0.2);
            let bars = Bar::new(self.seconds.clone(), counts)
                .name(name)
                .marker(Marker::new().color(color).pattern(pattern))
                .show_legend(true)
                .hover_template("%{y:,}");
            data.push(bars);
        }
        self.chart(
            "errors",
            "Errors",
            "Failed connections by class, replies with status 400 and above, and unexpected replies, in each interval.",
            data,
            from_zero("count"),
        )
    }

    pub(super) fn lag(&self) -> Option<Chart> {
        let values = self.values(|interval| Some(interval.lag_max.as_secs_f64() * 1e3));
        let mut data = Traces::new();
        data.push(self.line("largest lag", values, Line::new().color(PURPLE).width(WIDTH), "%{y:,.3f} ms"));
        let about = "Largest lag of an arrival in each interval.";
        self.chart("lag", "Lag", about, data, from_zero("ms"))
    }

    pub(super) fn open(&self) -> Option<Chart> {
        let values = self.values(|interval| Some(interval.open as f64));
        if values.iter().flatten().all(|&open| open == 0.0) {
            return None;
        }
        let mut data = Traces::new();
        data.push(self.line("open", values, Line::new().color(TEAL).width(WIDTH), "%{y:,}"));
        let about = "At the end of each interval.";
        self.chart("open", "Connections open", about, data, from_zero("connections"))
    }

    fn rates(&self, count: impl Fn(&Interval) -> u64) -> Vec<Option<f64>> {
        self.values(|interval| Some(interval.rate(count(interval))))
    }

    fn values(&self, value: impl Fn(&Interval) -> Option<f64>) -> Vec<Option<f64>> {
        self.intervals.iter().map(|interval| value(interval).map(rounded)).collect()
    }

    fn line(
        &self,
        name: &str,
        values: Vec<Option<f64>>,
        style: Line,
        hover: &str,
    ) -> Box<Scatter<f64, Option<f64>>> {
        let mode = if values.len() <= MARKED_MAX { Mode::LinesMarkers } else { Mode::Lines };
        // One or two points make no visible line.
        let size = if values.len() <= 2 { 9 } else { 4 };
        Scatter::new(self.seconds.clone(), values)
            .name(name)
            .mode(mode)
            .line(style)
            .marker(Marker::new().size(size))
            .hover_template(hover)
    }

    /// A chart over the time of the run; `None` if there are no intervals.
    fn chart(
        &self,
        id: &'static str,
        title: &'static str,
        about: &'static str,
        data: Traces,
        y_axis: Axis,
    ) -> Option<Chart> {
        let (first, last) = (self.intervals.first()?, self.intervals.last()?);
        let x_axis = Axis::new()
            .range(AxisRange::new(rounded(first.from.as_secs_f64()), rounded(last.end().as_secs_f64())))
            .hover_format(",.1f")
            .tick_suffix(" s");
        let layout = layout(x_axis, y_axis)
            .hover_mode(HoverMode::XUnified)
            .bar_mode(BarMode::Stack)
            .shapes(self.shades.iter().map(Shade::shape).collect())
            .annotations(self.shades.iter().map(Shade::label).collect());
        Some(Chart { id, title, about, data, layout })
    }
}

/// Warm-up, drain, and stalls of the server.
fn shades(document: &Document) -> Vec<Shade> {
    let shade = |Stretch { from_s, to_s, kind }| {
        let (anchor, color) = match kind {
            StretchKind::WarmUp => (Anchor::Left, PHASE_SHADE),
            StretchKind::Drain => (Anchor::Right, PHASE_SHADE),
            StretchKind::Stall => (Anchor::Center, STALL_SHADE),
        };
        Shade { from_s, to_s, name: kind.name(), anchor, color }
    };
    Stretch::all(document).into_iter().map(shade).collect()
}

impl Shade {
    fn shape(&self) -> Shape {
        Shape::new()
            .shape_type(ShapeType::Rect)
            .x_ref("x")
            .y_ref("paper")
            .x0(rounded(self.from_s))
            .x1(rounded(self.to_s))
            .y0(0)
            .y1(1)
            .fill_color(self.color)
            .line(ShapeLine::new().width(0.0))
            .layer(ShapeLayer::Below)
    }

    fn label(&self) -> Annotation {
        let x = match self.anchor {
            Anchor::Left => self.from_s,
            Anchor::Right => self.to_s,
            _ => f64::midpoint(self.from_s, self.to_s),
        };
        Annotation::new()
            .text(self.name)
            .x_ref("x")
            .y_ref("paper")
            .x(rounded(x))
            .x_anchor(self.anchor.clone())
            .y(1)
            .y_anchor(Anchor::Bottom)
            .show_arrow(false)
            .font(Font::new().size(11))
    }
}
