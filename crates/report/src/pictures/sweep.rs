//! A sweep as the three graphs of the classic paper (D. Mosberger, T. Jin: "httperf: a tool for measuring web server
//! performance", 1998), one above the other over the load that was offered: the rate of replies, which follows the diagonal
//! until the server is saturated; errors; and how long replies took.

use httperf_plan::{Plan, Script, Workload};
use httperf_stats::{Outcome, Summary, Timing};

use crate::curves::LINEAR_UP_TO;
use crate::html::about;
use crate::number::{count, grouped, ratio};
use crate::sweep::{Run, Sweep, Unit};
use crate::verdict::Level;

use super::axis::Axis;
use super::draw::draw;
use super::figure::{Dash, Figure, Line, Mark, Marked, Panel, Shape};
use super::theme::Ink;
use super::{Picture, Style};

/// What is said of points that the generator limited.
pub(crate) const LIMITED: &str = "the generator was the bottleneck";

/// What the replies are called that are what was expected.
pub(crate) const GOOD: &str = "of these, without error";

/// From this share of the replies on it is shown that some are errors.
const BAD_SHOWN: f64 = 0.005;

/// What a sweep found, step by step.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepCurve {
    /// The server.
    pub title: String,
    /// What arrives.
    pub unit: Unit,
    /// Calls that each arrival makes, if that is known.
    pub calls_per_arrival: Option<f64>,
    /// The steps by ascending rate. A rate has two if only some of its runs were limited by the generator.
    pub points: Vec<Point>,
    /// What the spread of the replies is, such as `least and most in 5 s`; empty if there is none.
    pub spread: &'static str,
    /// The rate up to which the server kept up, if it is known.
    pub knee: Option<f64>,
}

/// What came of a rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Arrivals per second that were asked for.
    pub rate: f64,
    /// Replies per second.
    pub replies: Spread,
    /// Those of them per second that are what was expected, with a status below 400.
    pub good_replies: f64,
    /// Calls that ended in an error, or connections where no calls are made, in percent.
    pub errors_percent: f64,
    /// The mean time from the first byte of a request to the status line of its reply.
    pub response_ms: Option<f64>,
    /// The median latency.
    pub latency_p50_ms: Option<f64>,
    /// The 99th percentile of the latency; `None` with too few calls.
    pub latency_p99_ms: Option<f64>,
    /// Whether the generator was the bottleneck.
    pub is_client_limited: bool,
}

/// A mean, and how far what it is of spreads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The least and the greatest, if they are known.
    pub range: Option<(f64, f64)>,
}

impl SweepCurve {
    /// What a sweep found.
    #[must_use]
    pub fn of(sweep: &Sweep) -> Self {
        let mut runs: Vec<&Run> = sweep.runs.iter().collect();
        let key = |run: &Run| (run.rate, is_client_limited(run));
        runs.sort_by(|a, b| a.rate.total_cmp(&b.rate).then(key(a).1.cmp(&key(b).1)));
        let steps: Vec<&[&Run]> = runs.chunk_by(|a, b| key(a) == key(b)).collect();
        let spreading = Spreading::of(&steps);
        Self {
            title: about::title(&sweep.plan),
            unit: Unit::of(&sweep.plan),
            calls_per_arrival: calls_per_arrival(&sweep.plan),
            points: steps.iter().map(|step| Point::of(step, spreading)).collect(),
            spread: spreading.name(),
            knee: None,
        }
    }

    /// The line on which as many replies come as calls are offered, up to what is shown: its two ends.
    pub(crate) fn diagonal(&self) -> Option<[(f64, f64); 2]> {
        let calls = self.calls_per_arrival.filter(|&calls| calls > 0.0)?;
        let rates =
            || self.points.iter().map(|point| point.rate).filter(|rate| rate.is_finite() && *rate > 0.0);
        let (least, greatest) = (rates().reduce(f64::min)?, rates().reduce(f64::max)?);
        let replies = self.points.iter().map(Point::most_replies).filter(|replies| replies.is_finite());
        let top = replies.fold(0.0, f64::max) * 1.15;
        let end = greatest.min(top / calls);
        let from = if self.reaches_far() { least } else { 0.0 };
        (end > from).then(|| [from, end].map(|rate| (rate, rate * calls)))
    }

    /// Whether the rates reach so far that the axes are logarithmic.
    pub(crate) fn reaches_far(&self) -> bool {
        let rates =
            || self.points.iter().map(|point| point.rate).filter(|rate| rate.is_finite() && *rate > 0.0);
        let (least, greatest) = (rates().reduce(f64::min), rates().reduce(f64::max));
        least.zip(greatest).is_some_and(|(least, greatest)| greatest > least * LINEAR_UP_TO)
    }

    /// Whether it matters that some of the replies are errors.
    pub(crate) fn has_bad_replies(&self) -> bool {
        self.points.iter().any(|point| point.good_replies < point.replies.mean * (1.0 - BAD_SHOWN))
    }

    /// Such as `knee: 1,200/s`.
    pub(crate) fn knee_name(&self) -> Option<(f64, String)> {
        let rate = self.knee.filter(|rate| rate.is_finite())?;
        Some((rate, format!("knee: {}/s", grouped(rate, if rate < 10.0 { 1 } else { 0 }))))
    }

    /// The title of the axis of rates.
    pub(crate) fn load_title(&self) -> String {
        format!("offered load [{}/s]", self.unit.name())
    }
}

impl Point {
    fn of(step: &[&Run], spreading: Spreading) -> Self {
        let summaries = || step.iter().map(|run| &run.result.summary);
        let (errors, ended) =
            summaries().map(errors).fold((0, 0), |(a, b), (errors, ended)| (a + errors, b + ended));
        let merged = |timing: &dyn Fn(&Summary) -> Timing| {
            let mut all = Timing::default();
            summaries().for_each(|summary| all.merge(&timing(summary)));
            all
        };
        let response = merged(&|summary| summary.response.clone());
        let latency = merged(&|summary| summary.completed().latency);
        let quantile = |share| latency.supported_quantile(share).map(|value| value.as_secs_f64() * 1e3);
        let replies: u64 = summaries().map(|summary| summary.replies).sum();
        let good = summaries().map(|summary| summary.calls_with(Outcome::Success).latency.moments.count());
        let good: u64 = good.sum();
        let seconds: f64 = summaries().map(|summary| summary.duration.as_secs_f64()).sum();
        Self {
            rate: step[0].rate,
            replies: Spread { mean: ratio(replies as f64, seconds), range: spreading.range(step) },
            good_replies: ratio(good as f64, seconds),
            errors_percent: 100.0 * ratio(errors as f64, ended as f64),
            response_ms: (!response.is_empty()).then(|| response.moments.mean() * 1e3),
            latency_p50_ms: quantile(0.5),
            latency_p99_ms: quantile(0.99),
            is_client_limited: is_client_limited(step[0]),
        }
    }

    /// The most replies per second that are shown of it.
    pub(crate) fn most_replies(&self) -> f64 {
        self.replies.range.map_or(self.replies.mean, |(_, most)| most.max(self.replies.mean))
    }
}

/// Whether the figures of a run describe the generator.
fn is_client_limited(run: &Run) -> bool {
    run.result.verdict.level == Level::Invalid
}

/// Errors, and what they are a part of: the calls that ended, or the connections where no calls are made.
fn errors(summary: &Summary) -> (u64, u64) {
    let calls = |outcome| summary.calls_with(outcome).latency.moments.count();
    let errors = calls(Outcome::Failure) + calls(Outcome::Unexpected) + calls(Outcome::HttpError);
    match errors + calls(Outcome::Success) {
        0 => (summary.errors.total(), summary.connections),
        ended => (errors, ended),
    }
}

fn calls_per_arrival(plan: &Plan) -> Option<f64> {
    match &plan.workload {
        Workload::Connections(connections) => Some(connections.calls as f64),
        Workload::Calls(_) => Some(1.0),
        Workload::Sessions(sessions) => match &sessions.script {
            Script::Uniform { calls, .. } => Some((*calls).max(1) as f64),
            Script::File(_) | Script::Pages { .. } => None,
        },
    }
}

/// What the spread of the replies at a rate is.
#[derive(Clone, Copy)]
enum Spreading {
    /// That of the samples of 5 s each, as the classic report has them.
    Samples,
    /// That of the runs.
    Repeats,
    Unknown,
}

impl Spreading {
    fn of(steps: &[&[&Run]]) -> Self {
        let mut runs = steps.iter().flat_map(|step| step.iter());
        if !steps.is_empty() && runs.all(|run| run.result.summary.reply_rates.moments().count() > 1) {
            return Self::Samples;
        }
        if steps.iter().any(|step| step.len() > 1) { Self::Repeats } else { Self::Unknown }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Samples => "least and most in 5 s",
            Self::Repeats => "least and most of the runs",
            Self::Unknown => "",
        }
    }

    fn range(self, step: &[&Run]) -> Option<(f64, f64)> {
        let ends = |run: &&Run| match self {
            Self::Samples => {
                let moments = run.result.summary.reply_rates.moments();
                Some((moments.min(), moments.max()))
            }
            Self::Repeats if step.len() > 1 => {
                Some((run.result.figures.reply_rate, run.result.figures.reply_rate))
            }
            Self::Repeats | Self::Unknown => None,
        };
        step.iter()
            .filter_map(ends)
            .reduce(|(least, most), (low, high)| (f64::min(least, low), f64::max(most, high)))
    }
}

/// The three graphs of the classic paper.
#[must_use]
pub fn sweep(curve: &SweepCurve, style: &Style) -> Picture {
    let rates: Vec<f64> = curve
        .points
        .iter()
        .map(|point| point.rate)
        .chain(curve.knee)
        .filter(|rate| rate.is_finite())
        .collect();
    let x = match curve.reaches_far() {
        true => {
            let above_zero = || rates.iter().copied().filter(|&rate| rate > 0.0);
            let (least, greatest) =
                (above_zero().fold(f64::INFINITY, f64::min), above_zero().fold(0.0, f64::max));
            Axis::logarithmic(format!("{} (log scale)", curve.load_title()), least / 1.15, greatest * 1.15)
        }
        false => Axis::from_zero(curve.load_title(), rates),
    };
    let limited = curve.points.iter().filter(|point| point.is_client_limited).count();
    let mut facts = vec![match curve.points.len() {
        1 => "1 step".to_owned(),
        steps => format!("{} steps", count(steps as u64)),
    }];
    if limited > 0 {
        facts.push(format!(
            "At {} of them, drawn hollow, {LIMITED}: they say nothing about the server.",
            count(limited as u64)
        ));
    }
    let knee = curve.knee_name();
    let about = format!(
        "Three graphs over the {}. Top: replies per second. Middle: errors in percent. Bottom: response time and latency in \
         milliseconds. {}",
        curve.load_title(),
        knee.as_ref().map_or_else(String::new, |(_, name)| format!("The {name}.")),
    );
    let mut panels = vec![replies(curve), errors_panel(curve), times(curve)];
    panels.iter_mut().for_each(|panel| panel.mark = knee.clone());
    let title = format!("Sweep of {}", curve.title);
    draw(&Figure { title, facts, about, x, panels, usual_height: 860 }, style)
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
        });
    }
    let name = match curve.spread {
        "" => "replies".to_owned(),
        spread => format!("replies; bars: {spread}"),
    };
    let mut both =
        lines_of(curve, &name, |point| Some(point.replies.mean), (Ink::Blue, Dash::Solid, Shape::Disc));
    for (line, limited) in both.iter_mut().zip([false, true]) {
        let points = curve.points.iter().filter(|point| point.is_client_limited == limited);
        line.whiskers = points
            .filter_map(|point| {
                let (least, most) = point.replies.range?;
                Some((point.rate, least, most))
            })
            .collect();
    }
    both[1].name = LIMITED.to_owned();
    let [server, generator] = both;
    lines.push(server);
    if curve.has_bad_replies() {
        let style = (Ink::Green, Dash::Short, Shape::Square);
        let good = lines_of(curve, GOOD, |point| Some(point.good_replies), style);
        lines.extend(unnamed_if_limited(good));
    }
    lines.push(generator);
    let y = match curve.reaches_far() {
        true => {
            let above_zero = || values.iter().copied().filter(|&value| value > 0.0 && value.is_finite());
            let (least, greatest) =
                (above_zero().fold(f64::INFINITY, f64::min), above_zero().fold(0.0, f64::max));
            Axis::logarithmic("replies/s (log scale)", least / 1.25, greatest * 1.25)
        }
        false => Axis::from_zero("replies/s", values),
    };
    Panel { name: "Reply rate", y, shades: Vec::new(), lines, mark: None, nothing: "no run was made" }
}

fn errors_panel(curve: &SweepCurve) -> Panel {
    let lines = lines_of(
        curve,
        "errors",
        |point| Some(point.errors_percent),
        (Ink::Vermilion, Dash::Solid, Shape::Square),
    );
    let y = Axis::percent("errors [%]", curve.points.iter().map(|point| point.errors_percent));
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
        lines_of(
            curve,
            "latency p99",
            |point| point.latency_p99_ms,
            (Ink::Orange, Dash::Long, Shape::Triangle),
        ),
        lines_of(
            curve,
            "latency p50",
            |point| point.latency_p50_ms,
            (Ink::Green, Dash::Solid, Shape::Square),
        ),
        lines_of(
            curve,
            "response time, mean",
            |point| point.response_ms,
            (Ink::Purple, Dash::Short, Shape::Diamond),
        ),
    ];
    let lines: Vec<Line> = clocks.into_iter().flat_map(unnamed_if_limited).collect();
    let values: Vec<f64> = lines.iter().flat_map(|line| &line.points).filter_map(|&(_, ms)| ms).collect();
    let y = Axis::times("time", values);
    Panel {
        name: "Response time and latency",
        y,
        shades: Vec::new(),
        lines,
        mark: None,
        nothing: "no call was answered",
    }
}

/// The line through the points that tell of the server, and those that tell of the generator, which are not joined.
fn lines_of(
    curve: &SweepCurve,
    name: &str,
    value: impl Fn(&Point) -> Option<f64>,
    (ink, dash, shape): (Ink, Dash, Shape),
) -> [Line; 2] {
    let of = |limited: bool| curve.points.iter().filter(move |point| point.is_client_limited == limited);
    let at = |point: &Point, value| (point.rate, value);
    // A rate at which all runs were limited is a gap.
    let is_gap = |point: &Point| point.is_client_limited && of(false).all(|other| other.rate != point.rate);
    let of_server = curve.points.iter().filter(|&point| !point.is_client_limited || is_gap(point));
    let server = Line {
        name: name.to_owned(),
        ink,
        dash,
        width: 2.0,
        mark: Mark { shape, is_hollow: false, which: Marked::All },
        points: of_server.map(|point| at(point, value(point).filter(|_| !point.is_client_limited))).collect(),
        whiskers: Vec::new(),
    };
    let generator = Line {
        ink: Ink::Soft,
        dash: Dash::None,
        mark: Mark { is_hollow: true, ..server.mark.clone() },
        points: of(true).map(|point| at(point, value(point))).collect(),
        ..server.clone()
    };
    [server, generator]
}

/// The legend of the first graph says for all of them what the generator limited.
fn unnamed_if_limited([server, generator]: [Line; 2]) -> Vec<Line> {
    vec![server, Line { name: String::new(), ..generator }]
}
