//! Charts of a sweep: replies, errors and times over the offered load.

use plotly::common::{
    Anchor, DashType, ErrorData, ErrorType, Font, Line, Marker, MarkerSymbol, Mode, Orientation, Title,
};
use plotly::layout::{
    Annotation, Axis, AxisRange, AxisType, HoverMode, Legend, RangeMode, Shape, ShapeLine, ShapeType,
};
use plotly::{Scatter, Traces};

use crate::number::rounded;
use crate::pictures::sweep_curve::{GOOD, LIMITED};
use crate::pictures::{Point, SweepCurve};

use super::{BLUE, Chart, Extent, GREEN, GREY, ORANGE, PURPLE, RED, WIDTH, from_zero, layout};

/// Size of markers in pixels.
const MARK: usize = 7;

/// Charts with data to draw.
pub(in crate::html) fn charts(curve: &SweepCurve) -> Vec<Chart> {
    if curve.points.is_empty() {
        return Vec::new();
    }
    vec![replies(curve), errors(curve), times(curve)]
}

fn replies(curve: &SweepCurve) -> Chart {
    let mut lines = Lines::of(curve);
    if let Some(ends) = curve.diagonal() {
        let (rates, replies): (Vec<f64>, Vec<f64>) = ends.into_iter().unzip();
        let line = Scatter::new(rates, replies).name("all answered").mode(Mode::Lines);
        lines.data.push(line.line(Line::new().color(GREY).width(1.0)).hover_template("%{y:,.1f}/s"));
    }
    let look =
        Look { color: BLUE, dash: DashType::Solid, symbol: MarkerSymbol::Circle, hover: "%{y:,.1f}/s" };
    let name = match curve.spread {
        "" => "replies".to_owned(),
        spread => format!("replies; bars: {spread}"),
    };
    lines.push(&name, &look, spread(curve), &|point| Some(point.replies.mean));
    if curve.has_bad_replies() {
        let look = Look { color: GREEN, dash: DashType::Dash, symbol: MarkerSymbol::Square, ..look };
        lines.push(GOOD, &look, None, &|point| Some(point.good_replies));
    }
    let axis = from_zero("replies per second");
    let axis = if curve.reaches_far() { axis.type_(AxisType::Log) } else { axis };
    let about = "It follows the diagonal as long as the server keeps up, and bends where it is saturated.";
    chart(curve, ("replies", "Reply rate", about), lines.data, axis)
}

fn errors(curve: &SweepCurve) -> Chart {
    let mut lines = Lines::of(curve);
    let look = Look { color: RED, dash: DashType::Solid, symbol: MarkerSymbol::Square, hover: "%{y:,.2f} %" };
    lines.push("errors", &look, None, &|point| Some(point.errors_percent));
    let most = curve.points.iter().map(|point| point.errors_percent).filter(|percent| percent.is_finite());
    // Markers at zero must not be cut, and tiny values must not look large.
    let top = most.fold(1.0, f64::max);
    let axis = from_zero("percent").range(AxisRange::new(rounded(-0.04 * top), rounded(1.08 * top)));
    let about = "Calls that ended without a reply, with a status of 400 and above, or with an unexpected reply; connections \
                 that failed, where no calls are made.";
    chart(curve, ("errors", "Errors", about), lines.data, axis)
}

fn times(curve: &SweepCurve) -> Chart {
    let hover = "%{y:,.3f} ms";
    let p99 = Look { color: ORANGE, dash: DashType::Dash, symbol: MarkerSymbol::TriangleUp, hover };
    let p50 = Look { color: GREEN, dash: DashType::Solid, symbol: MarkerSymbol::Square, hover };
    let response = Look { color: PURPLE, dash: DashType::Dot, symbol: MarkerSymbol::Diamond, hover };
    let mut lines = Lines::of(curve);
    lines.push("latency p99", &p99, None, &|point| point.latency_p99_ms);
    lines.push("latency p50", &p50, None, &|point| point.latency_p50_ms);
    lines.push("response time, mean", &response, None, &|point| point.response_ms);
    let all =
        curve.points.iter().flat_map(|point| [point.latency_p99_ms, point.latency_p50_ms, point.response_ms]);
    let all: Vec<f64> = all.flatten().collect();
    let about =
        "Latency counts from the instants at which calls were due, response time from the first bytes sent.";
    chart(curve, ("times", "Response time and latency", about), lines.data, Extent::of(&all).axis_of_ms())
}

/// Style of a line.
struct Look {
    color: &'static str,
    dash: DashType,
    symbol: MarkerSymbol,
    hover: &'static str,
}

/// Lines of a chart.
struct Lines<'a> {
    curve: &'a SweepCurve,
    data: Traces,
    /// True once the legend explains hollow markers.
    is_explained: bool,
}

impl<'a> Lines<'a> {
    fn of(curve: &'a SweepCurve) -> Self {
        Self { curve, data: Traces::new(), is_explained: false }
    }

    /// Adds points that describe the server as a line, and those limited by the generator as separate hollow
    /// markers.
    fn push(
        &mut self,
        name: &str,
        look: &Look,
        bars: Option<ErrorData>,
        value: &dyn Fn(&Point) -> Option<f64>,
    ) {
        let value = |point: &Point| value(point).filter(|value| value.is_finite()).map(rounded);
        let (rates, values): (Vec<f64>, Vec<Option<f64>>) = self.curve.of_server(value).into_iter().unzip();
        let line = Scatter::new(rates, values)
            .name(name)
            .mode(Mode::LinesMarkers)
            .connect_gaps(false)
            .line(Line::new().color(look.color).width(WIDTH).dash(look.dash.clone()))
            .marker(Marker::new().size(MARK).symbol(look.symbol.clone()))
            .hover_template(look.hover);
        self.data.push(match bars {
            Some(bars) => line.error_y(bars),
            None => line,
        });
        let limited: Vec<&Point> = self.curve.points.iter().filter(|point| point.is_client_limited).collect();
        if limited.is_empty() {
            return;
        }
        let rates: Vec<f64> = limited.iter().map(|point| point.rate).collect();
        let values: Vec<Option<f64>> = limited.into_iter().map(value).collect();
        let marks = Scatter::new(rates, values)
            .name(LIMITED)
            .show_legend(!self.is_explained)
            .mode(Mode::Markers)
            .marker(Marker::new().size(MARK + 2).symbol(hollow(&look.symbol)).color(GREY))
            .hover_template(look.hover);
        self.data.push(marks);
        self.is_explained = true;
    }
}

fn hollow(symbol: &MarkerSymbol) -> MarkerSymbol {
    match symbol {
        MarkerSymbol::Square => MarkerSymbol::SquareOpen,
        MarkerSymbol::TriangleUp => MarkerSymbol::TriangleUpOpen,
        MarkerSymbol::Diamond => MarkerSymbol::DiamondOpen,
        _ => MarkerSymbol::CircleOpen,
    }
}

/// Spread of the replies, for the points of [`SweepCurve::of_server`].
fn spread(curve: &SweepCurve) -> Option<ErrorData> {
    let range = |end: fn(&Point) -> Option<f64>| -> Vec<f64> {
        let ends = curve.of_server(end).into_iter();
        ends.map(|(_, end)| end.filter(|end| end.is_finite()).map_or(0.0, |end| rounded(end.max(0.0))))
            .collect()
    };
    let above = range(|point| Some(point.replies.range?.1 - point.replies.mean));
    let below = range(|point| Some(point.replies.mean - point.replies.range?.0));
    let is_any = above.iter().chain(&below).any(|&end| end > 0.0);
    is_any.then(|| {
        ErrorData::new(ErrorType::Data)
            .symmetric(false)
            .array(above)
            .array_minus(below)
            .thickness(1.0)
            .width(4)
    })
}

fn chart(
    curve: &SweepCurve,
    (id, title, about): (&'static str, &'static str, &'static str),
    data: Traces,
    y_axis: Axis,
) -> Chart {
    let is_far = curve.reaches_far();
    let x_axis = Axis::new()
        .title(Title::with_text(curve.load_title()).font(Font::new().size(12)))
        .separate_thousands(true);
    let x_axis = if is_far { x_axis.type_(AxisType::Log) } else { x_axis.range_mode(RangeMode::ToZero) };
    // Below the title of the axis.
    let legend = Legend::new()
        .orientation(Orientation::Horizontal)
        .x(0.0)
        .x_anchor(Anchor::Left)
        .y(-0.2)
        .y_anchor(Anchor::Top);
    let mut layout = layout(x_axis, y_axis).hover_mode(HoverMode::X).legend(legend);
    if let Some((rate, name)) = curve.knee_name() {
        let line = Shape::new()
            .shape_type(ShapeType::Line)
            .x_ref("x")
            .y_ref("paper")
            .x0(rounded(rate))
            .x1(rounded(rate))
            .y0(0)
            .y1(1)
            .line(ShapeLine::new().color(GREY).width(2.0).dash(DashType::Dash));
        let label = Annotation::new()
            .text(name)
            .x_ref("x")
            .y_ref("paper")
            // On a logarithmic axis a label is placed by its logarithm, other than a line.
            .x(rounded(if is_far { rate.log10() } else { rate }))
            .y(1)
            .y_anchor(Anchor::Bottom)
            .show_arrow(false)
            .font(Font::new().size(11));
        layout = layout.shapes(vec![line]).annotations(vec![label]);
    }
    Chart { id, title, about, data, layout }
}
