//! Timeline of a run: throughput, with the latency below.

use httperf_report::headings;
use httperf_report::result::Document;
use httperf_stats::{Classes, Interval, Merge as _, Phase};

use super::axis::Axis;
use super::figure::{Dash, Figure, Line, Mark, Marked, Panel, Shade, Shape};
use super::percentiles::{doubt, facts};
use super::periods::{LoadPhaseSpan, Stretch, StretchKind, load_phases};
use super::text::{LABEL_SIZE, cleaned, fitted};
use super::theme::Ink;
use super::{Picture, Style};

/// Maximum number of points.
const POINTS_MAX: usize = 240;

/// Maximum number of points with markers, which make single points between gaps visible.
pub(super) const MARKED_MAX: usize = 60;

/// Minimum length of an interval with a meaningful rate, as a share of the others.
pub(super) const SHORTEST: f64 = 0.1;

/// Maximum width of the name of a load phase in pixels.
const PHASE_NAME_WIDTH: f64 = 150.0;

/// Offered load, replies and latency over the time of the run.
#[must_use]
pub fn timeline(document: &Document, style: &Style) -> Picture {
    let series = &document.summary.series;
    let moments = moments(series.intervals(), series.width().as_secs_f64());
    let mut facts = vec![facts(document)];
    facts.extend(doubt(document));
    if let Some(seconds) =
        moments.iter().map(|moment| moment.seconds).reduce(f64::max).filter(|&seconds| seconds > 1.5)
    {
        facts.push(format!("Each point is of {} seconds.", httperf_report::number::grouped(seconds, 0)));
    }
    let ends = moments.first().zip(moments.last());
    let (from, to) = ends.map_or((0.0, 1.0), |(first, last)| (first.from_s, last.from_s + last.seconds));
    let panels = vec![throughput(&moments, shades(document)), latency(&moments, shades(document))];
    let figure = Figure {
        title: format!("{} over time", headings::title(&document.plan)),
        facts,
        about: "Two graphs over the time of the run in seconds. Above: calls offered, replies and errors per second. Below: \
                median, 99th percentile and maximum of the latency."
            .to_owned(),
        x: Axis::between("time since the start [s]", from, to),
        panels,
        usual_height: 600,
    };
    Picture { figure, style: *style }
}

fn throughput(moments: &[Moment], shades: Vec<Shade>) -> Panel {
    let rate = |count: fn(&Moment) -> u64| -> Vec<Option<f64>> {
        moments.iter().map(|moment| Some(count(moment) as f64 / moment.seconds)).collect()
    };
    // The line of offered load is wide, since replies cover it when all is well.
    let lines = vec![
        line("offered", moments, rate(|moment| moment.offered), (Ink::Soft, Dash::Solid, 4.0), Shape::Disc),
        line(
            "replies",
            moments,
            rate(|moment| moment.replies),
            (Ink::Green, Dash::Solid, 2.0),
            Shape::Square,
        ),
        line(
            "errors",
            moments,
            rate(|moment| moment.errors),
            (Ink::Vermilion, Dash::Short, 2.0),
            Shape::Triangle,
        ),
    ];
    let y = Axis::from_zero("per second", values(&lines));
    Panel {
        name: "Throughput",
        y,
        shades,
        lines,
        mark: None,
        nothing: "the run was too short to be shown over time",
    }
}

fn latency(moments: &[Moment], shades: Vec<Shade>) -> Panel {
    let quantile = |share: f64, calls_needed: u64| -> Vec<Option<f64>> {
        let ms = |moment: &Moment| {
            let value = moment.latency.quantile(share)?;
            (moment.latency.total() >= calls_needed).then_some(value.as_secs_f64() * 1e3)
        };
        moments.iter().map(ms).collect()
    };
    let lines = vec![
        line("p50", moments, quantile(0.5, 2), (Ink::Blue, Dash::Solid, 2.0), Shape::Disc),
        line("p99", moments, quantile(0.99, 100), (Ink::Orange, Dash::Long, 2.0), Shape::Diamond),
        line("max", moments, quantile(1.0, 1), (Ink::Soft, Dash::Dotted, 1.6), Shape::Triangle),
    ];
    let y = Axis::times("latency", values(&lines));
    Panel { name: "Latency", y, shades, lines, mark: None, nothing: "no call was answered" }
}

fn line(
    name: &str,
    moments: &[Moment],
    values: Vec<Option<f64>>,
    (ink, dash, width): (Ink, Dash, f64),
    shape: Shape,
) -> Line {
    let which = if moments.len() <= MARKED_MAX { Marked::All } else { Marked::Lone };
    let points = moments.iter().map(Moment::middle).zip(values).collect();
    Line {
        name: name.to_owned(),
        ink,
        dash,
        width,
        mark: Mark { shape, is_hollow: false, which },
        points,
        whiskers: Vec::new(),
    }
}

/// Values of all points of the lines.
pub(super) fn values(lines: &[Line]) -> Vec<f64> {
    lines.iter().flat_map(|line| &line.points).filter_map(|&(_, value)| value).collect()
}

/// Warm-up, drain, load phases, and stalls of the server, by their beginning.
pub(super) fn shades(document: &Document) -> Vec<Shade> {
    let mut shades: Vec<Shade> = Stretch::all(document)
        .into_iter()
        .map(|Stretch { from_s, to_s, kind }| {
            let ink = if kind == StretchKind::Stall { Ink::Stall } else { Ink::Phase };
            Shade { from: from_s, to: to_s, name: kind.name().into(), ink: Some(ink) }
        })
        .collect();
    let end = document.summary.series.intervals().last().map_or(0.0, |last| last.end().as_secs_f64());
    let phases = load_phases(document).into_iter().filter(|phase| phase.from_s < end);
    shades.extend(phases.map(|LoadPhaseSpan { name, from_s, to_s }| Shade {
        from: from_s,
        to: to_s.min(end),
        name: fitted(&cleaned(name), LABEL_SIZE, PHASE_NAME_WIDTH).into(),
        ink: None,
    }));
    shades.sort_by(|a, b| a.from.total_cmp(&b.from));
    shades
}

/// Events of one interval, or of several consecutive ones.
struct Moment {
    from_s: f64,
    seconds: f64,
    phase: Phase,
    /// Number of intervals.
    intervals: usize,
    offered: u64,
    replies: u64,
    errors: u64,
    latency: Classes,
}

/// Joins the intervals to at most [`POINTS_MAX`] moments.
fn moments(intervals: &[Interval], width_s: f64) -> Vec<Moment> {
    let is_only = intervals.len() == 1;
    let is_shown = |interval: &&Interval| {
        let seconds = interval.length.as_secs_f64();
        seconds > 0.0 && (is_only || seconds >= SHORTEST * width_s)
    };
    let together = intervals.len().div_ceil(POINTS_MAX);
    let mut moments: Vec<Moment> = Vec::new();
    for interval in intervals.iter().filter(is_shown) {
        match moments.last_mut() {
            Some(last) if last.intervals < together && last.phase == interval.phase => last.add(interval),
            _ => moments.push(Moment::of(interval)),
        }
    }
    moments
}

impl Moment {
    fn of(interval: &Interval) -> Self {
        Self {
            from_s: interval.from.as_secs_f64(),
            seconds: interval.length.as_secs_f64(),
            phase: interval.phase,
            intervals: 1,
            offered: interval.offered,
            replies: interval.replies,
            errors: interval.failed_calls + interval.http_errors,
            latency: interval.latency.clone(),
        }
    }

    fn add(&mut self, next: &Interval) {
        let next = Self::of(next);
        self.seconds += next.seconds;
        self.intervals += 1;
        self.offered += next.offered;
        self.replies += next.replies;
        self.errors += next.errors;
        self.latency.merge(&next.latency);
    }

    fn middle(&self) -> f64 {
        self.from_s + self.seconds / 2.0
    }
}
