//! A sweep as the three graphs of the classic paper (D. Mosberger, T. Jin: "httperf: a tool for measuring web
//! server performance", 1998), above one another over the offered load: the reply rate, which follows the
//! diagonal until the server is saturated; errors; and response times.

use httperf_report::number::count;

use super::axis::{Axis, Quantity};
use super::figure::{Dash, Figure, Line, Mark, Marked, Panel, Shape};
use super::sweep_curve::{ARROWS, GOOD, INTERVALS, LIMITED, Point, Spread, SweepCurve, Waits};
use super::theme::Ink;
use super::{Picture, Style};

/// Least ratio of the ends of axes of times.
const TIMES_RATIO: f64 = 10.0;

/// The three graphs of the classic paper.
#[must_use]
pub fn sweep(curve: &SweepCurve, style: &Style) -> Picture {
    let limited = curve.points.iter().filter(|point| point.is_client_limited).count();
    let mut facts = vec![steps(curve.points.len())];
    if limited > 0 {
        let steps = steps(limited);
        facts.push(format!("At {steps}, drawn hollow, {LIMITED}: that says nothing about the server."));
    }
    if curve.points.iter().any(Point::is_open) {
        facts.push(ARROWS.to_owned());
    }
    if curve.has_intervals() {
        facts.push(format!("Bars: {INTERVALS}."));
    }
    let knee = curve.knee_name();
    let about = format!(
        "Three graphs over the {}. Top: replies per second. Middle: errors in percent. Bottom: response time and latency in \
         milliseconds. {}",
        curve.load_title(),
        knee.as_ref().map_or_else(String::new, |(_, name)| format!("The {name}.")),
    );
    let title = format!("Sweep of {}", curve.title);
    let (x, panels) = (axis(curve), panels(curve));
    // Streams have a graph more.
    let usual_height = if panels.len() > 3 { 1120 } else { 860 };
    Picture { figure: Figure { title, facts, about, x, panels, usual_height }, style: *style }
}

/// Axis of the offered load.
pub(super) fn axis(curve: &SweepCurve) -> Axis {
    let rates = curve.points.iter().map(|point| point.rate).chain(curve.knee);
    let axis = match curve.reaches_far() {
        true => Axis::logarithmic(&curve.load_title(), rates),
        false => Axis::from_zero(curve.load_title(), rates),
    };
    axis.of(Quantity::PerSecond)
}

/// Reply rate, errors, and times; of streams, also the waits in them.
pub(super) fn panels(curve: &SweepCurve) -> Vec<Panel> {
    let mut panels = vec![replies(curve), errors_panel(curve), times(curve)];
    panels.extend(stream_waits(curve));
    panels.iter_mut().for_each(|panel| panel.mark = curve.knee_name());
    panels
}

fn steps(number: usize) -> String {
    if number == 1 { "1 step".to_owned() } else { format!("{} steps", count(number as u64)) }
}

fn replies(curve: &SweepCurve) -> Panel {
    let mut lines = Vec::new();
    let mut values: Vec<f64> = curve.points.iter().map(Point::most_replies).collect();
    if let Some(ends) = curve.diagonal() {
        values.extend(ends.map(|(_, replies)| replies));
        lines.push(Line {
            name: "all answered".to_owned(),
            ink: Ink::Soft,
            dash: Dash::Solid,
            width: 1.0,
            mark: Mark { shape: Shape::Disc, is_hollow: false, which: Marked::Lone },
            points: ends.map(|(rate, replies)| (rate, Some(replies))).to_vec(),
            whiskers: Vec::new(),
            arrows: Vec::new(),
        });
    }
    let name = match curve.spread {
        // All graphs have them.
        "" | INTERVALS => "replies".to_owned(),
        spread => format!("replies; bars: {spread}"),
    };
    let mut both =
        lines_of(curve, &name, |point| Some(point.replies), (Ink::Green, Dash::Solid, Shape::Disc));
    both[1].name = LIMITED.to_owned();
    let [server, generator] = both;
    lines.push(server);
    if curve.has_bad_replies() {
        let style = (Ink::Sky, Dash::Short, Shape::Square);
        let good = |point: &Point| Some(Spread { mean: point.good_replies, ..Spread::default() });
        let good = lines_of(curve, GOOD, good, style);
        lines.extend(unnamed_if_limited(good));
    }
    lines.push(generator);
    let y = match curve.reaches_far() {
        true => Axis::logarithmic("replies/s", values),
        false => Axis::from_zero("replies/s", values),
    }
    .of(Quantity::PerSecond);
    Panel { name: "Reply rate", y, shades: Vec::new(), lines, mark: None, nothing: "no run was made" }
}

fn errors_panel(curve: &SweepCurve) -> Panel {
    let lines = lines_of(
        curve,
        "errors",
        |point| Some(point.errors_percent),
        (Ink::Vermilion, Dash::Solid, Shape::Square),
    );
    let y = Axis::percent("errors [%]", lines.iter().flat_map(Line::values));
    Panel {
        name: "Errors",
        y,
        shades: Vec::new(),
        lines: unnamed_if_limited(lines),
        mark: None,
        nothing: "no run was made",
    }
}

fn times(curve: &SweepCurve) -> Panel {
    let clocks = [
        // Dashes are drawn above, so that lines can be told apart where they coincide.
        lines_of(curve, "latency p50", |point| point.latency_p50_ms, (Ink::Blue, Dash::Solid, Shape::Disc)),
        lines_of(
            curve,
            "latency p99",
            |point| point.latency_p99_ms,
            (Ink::Orange, Dash::Long, Shape::Diamond),
        ),
        lines_of(
            curve,
            "response time, mean",
            |point| point.response_ms,
            (Ink::Purple, Dash::Short, Shape::Triangle),
        ),
    ];
    let lines: Vec<Line> = clocks.into_iter().flat_map(unnamed_if_limited).collect();
    let y = Axis::logarithmic_times("time", lines.iter().flat_map(Line::values), TIMES_RATIO);
    Panel {
        name: "Response time and latency",
        y,
        shades: Vec::new(),
        lines,
        mark: None,
        nothing: "no call was answered",
    }
}

/// Waits for the first event and for further ones; `None` if no point has any.
fn stream_waits(curve: &SweepCurve) -> Option<Panel> {
    let of_tokens = curve.points.iter().find_map(|point| point.stream_waits)?.of_tokens;
    let names = match of_tokens {
        true => ["TTFT p99", "TTFT p50", "TPOT p99", "TPOT p50"],
        false => ["first event p99", "first event p50", "gap p99", "gap p50"],
    };
    let [first_p99, first_p50, gap_p99, gap_p50] = names;
    let of = |value: fn(Waits) -> Option<Spread>| move |point: &Point| point.stream_waits.and_then(value);
    let clocks = [
        lines_of(curve, first_p50, of(|waits| waits.first_ms[0]), (Ink::Blue, Dash::Solid, Shape::Disc)),
        lines_of(curve, first_p99, of(|waits| waits.first_ms[1]), (Ink::Orange, Dash::Long, Shape::Diamond)),
        lines_of(curve, gap_p50, of(|waits| waits.gap_ms[0]), (Ink::Green, Dash::Dotted, Shape::Square)),
        lines_of(curve, gap_p99, of(|waits| waits.gap_ms[1]), (Ink::Purple, Dash::Short, Shape::Triangle)),
    ];
    let lines: Vec<Line> = clocks.into_iter().flat_map(unnamed_if_limited).collect();
    let y = Axis::logarithmic_times("time", lines.iter().flat_map(Line::values), TIMES_RATIO);
    let name = if of_tokens { "Waits for tokens" } else { "Waits for events" };
    Some(Panel { name, y, shades: Vec::new(), lines, mark: None, nothing: "no event came" })
}

/// The line through the points that describe the server, and the unconnected points limited by the generator.
fn lines_of(
    curve: &SweepCurve,
    name: &str,
    value: impl Fn(&Point) -> Option<Spread>,
    (ink, dash, shape): (Ink, Dash, Shape),
) -> [Line; 2] {
    let limited = curve.points.iter().filter(|point| point.is_client_limited);
    let limited: Vec<_> = limited.map(|point| (point.rate, value(point))).collect();
    let mark = Mark { shape, is_hollow: false, which: Marked::All };
    let server = through(name, &curve.of_server(&value), (ink, dash, mark.clone()));
    let mark = Mark { is_hollow: true, ..mark };
    [server, through(name, &limited, (Ink::Soft, Dash::None, mark))]
}

/// Line through figures, with their ranges, and arrows where only a lower bound is known.
fn through(name: &str, figures: &[(f64, Option<Spread>)], (ink, dash, mark): (Ink, Dash, Mark)) -> Line {
    let known = || figures.iter().filter_map(|&(rate, figure)| Some((rate, figure?)));
    let range = |(rate, figure): (f64, Spread)| figure.range.map(|(low, high)| (rate, low, high));
    Line {
        name: name.to_owned(),
        ink,
        dash,
        width: 2.0,
        mark,
        whiskers: known().filter_map(range).collect(),
        arrows: known().filter(|(_, figure)| figure.or_more).map(|(rate, _)| rate).collect(),
        points: figures.iter().map(|&(rate, figure)| (rate, figure.map(|figure| figure.mean))).collect(),
    }
}

/// Removes the name of the limited points: the legend of the first graph explains them for all.
fn unnamed_if_limited([server, generator]: [Line; 2]) -> Vec<Line> {
    vec![server, Line { name: String::new(), ..generator }]
}
