//! Graphs over the time of a run, from its series of intervals: one home for pictures and charts of pages.

use httperf_report::result::Document;
use httperf_stats::{Failure, Interval};

use super::axis::{Axis, Quantity};
use super::figure::{DASHES, Dash, Line, Mark, Marked, Panel, SHAPES, Shade, Shape};
use super::periods::{LoadPhaseSpan, Stretch, StretchKind, load_phases};
use super::text::{LABEL_SIZE, cleaned, fitted};
use super::theme::{Ink, SERIES};

/// Number of intervals beyond which neighbours are joined.
const POINTS_MAX: usize = 120;

/// Maximum number of points with markers, which make single points between gaps visible.
pub(super) const MARKED_MAX: usize = 60;

/// Minimum length of an interval with a meaningful rate, as a share of the others.
const SHORTEST: f64 = 0.1;

/// Maximum width of the name of a load phase in pixels.
const PHASE_NAME_WIDTH: f64 = 150.0;

/// Intervals of a run that are long enough to be shown.
pub(super) struct OverTime {
    pub(super) intervals: Vec<Interval>,
    shades: Vec<Shade>,
}

/// Look of a line: colour, dashes, width in pixels, and shape of its marks.
type Look = (Ink, Dash, f64, Shape);

impl OverTime {
    pub(super) fn of(document: &Document) -> Self {
        let mut intervals = document.summary.series.joined(POINTS_MAX);
        let shortest = longest(&intervals) * SHORTEST;
        let is_only = intervals.len() == 1;
        intervals.retain(|interval| {
            let seconds = interval.length.as_secs_f64();
            seconds > 0.0 && (is_only || seconds >= shortest)
        });
        Self { intervals, shades: shades(document) }
    }

    /// Length of an interval in seconds: the longest, as the last of a phase may be shorter.
    pub(super) fn seconds(&self) -> f64 {
        longest(&self.intervals)
    }

    /// Axis of the time of the run.
    pub(super) fn axis(&self) -> Axis {
        let ends = self.intervals.first().zip(self.intervals.last());
        let (from, to) =
            ends.map_or((0.0, 1.0), |(first, last)| (first.from.as_secs_f64(), last.end().as_secs_f64()));
        Axis::between("time since the start [s]", from, to).of(Quantity::Seconds)
    }

    /// Calls that were due, requests, replies and errors, per second.
    pub(super) fn throughput(&self) -> Panel {
        let errors = |interval: &Interval| interval.failed_calls + interval.error_replies;
        // The others cover the line of offered load when all is well, so it is wide and comes first.
        let lines = vec![
            self.rates("offered", |interval| interval.offered, (Ink::Pale, Dash::Solid, 7.0, Shape::Disc)),
            self.rates("sent", |interval| interval.sent, (Ink::Blue, Dash::Solid, 2.0, Shape::Disc)),
            self.rates("replies", |interval| interval.replies, (Ink::Green, Dash::Long, 2.0, Shape::Square)),
            self.rates("errors", errors, (Ink::Vermilion, Dash::Dotted, 2.0, Shape::Triangle)),
        ];
        let y = Axis::from_zero("per second", values(&lines)).of(Quantity::PerSecond);
        self.panel("Throughput", lines, y, "the run was too short to be shown over time")
    }

    /// Median, 99th percentile and maximum of the latency.
    pub(super) fn latency(&self) -> Panel {
        let lines = [
            ("p50", 0.5, 2, (Ink::Blue, Dash::Solid, 2.0, Shape::Disc)),
            ("p99", 0.99, 100, (Ink::Orange, Dash::Long, 2.0, Shape::Diamond)),
            ("max", 1.0, 1, (Ink::Soft, Dash::Dotted, 1.6, Shape::Triangle)),
        ];
        let lines = lines.map(|(name, share, calls_needed, look)| {
            let ms = |interval: &Interval| {
                let value = interval.latency.quantile(share)?;
                (interval.latency.total() >= calls_needed).then_some(value.as_secs_f64() * 1e3)
            };
            self.line(name, ms, look)
        });
        let y = Axis::times("latency", values(&lines));
        self.panel("Latency", lines.into(), y, "no call was answered")
    }

    /// Failed connections by class, and replies by what is wrong with them, per second.
    pub(super) fn errors(&self) -> Panel {
        type Count = Box<dyn Fn(&Interval) -> u64>;
        let mut kinds: Vec<(String, Count)> = Failure::ALL
            .into_iter()
            .map(|failure| {
                let count: Count = Box::new(move |interval| interval.errors.count(failure));
                (format!("connections: {}", in_words(failure)), count)
            })
            .collect();
        kinds.push(("replies: 4xx and 5xx".to_owned(), Box::new(|interval| interval.http_errors)));
        kinds.push(("replies: unexpected".to_owned(), Box::new(|interval| interval.unexpected)));
        kinds.retain(|(_, count)| self.intervals.iter().any(|interval| count(interval) > 0));
        // Errors first in their usual colour.
        let inks =
            [Ink::Vermilion].into_iter().chain(SERIES.into_iter().filter(|&ink| ink != Ink::Vermilion));
        let lines: Vec<Line> = kinds
            .iter()
            .zip(inks.cycle())
            .enumerate()
            .map(|(index, ((name, count), ink))| {
                let look = (ink, DASHES[index % DASHES.len()], 2.0, SHAPES[index % SHAPES.len()]);
                self.rates(name, count, look)
            })
            .collect();
        let y = Axis::from_zero("per second", values(&lines)).of(Quantity::PerSecond);
        self.panel("Errors", lines, y, "")
    }

    /// Largest lag of an arrival.
    pub(super) fn lag(&self) -> Panel {
        let ms = |interval: &Interval| Some(interval.lag_max.as_secs_f64() * 1e3);
        let lines = vec![self.line("largest lag", ms, (Ink::Purple, Dash::Solid, 2.0, Shape::Disc))];
        let y = Axis::from_zero("ms", values(&lines)).of(Quantity::Time);
        self.panel("Lag", lines, y, "")
    }

    /// Open connections; without a line if there never were any.
    pub(super) fn open(&self) -> Panel {
        let mut lines = Vec::new();
        if self.intervals.iter().any(|interval| interval.open > 0) {
            let open = |interval: &Interval| Some(interval.open as f64);
            lines.push(self.line("open", open, (Ink::Green, Dash::Solid, 2.0, Shape::Disc)));
        }
        let y = Axis::from_zero("connections", values(&lines)).of(Quantity::Count);
        self.panel("Connections open", lines, y, "")
    }

    fn panel(&self, name: &'static str, lines: Vec<Line>, y: Axis, nothing: &'static str) -> Panel {
        Panel { name, y, shades: self.shades.clone(), lines, mark: None, nothing }
    }

    fn rates(&self, name: &str, count: impl Fn(&Interval) -> u64, look: Look) -> Line {
        self.line(name, |interval| Some(interval.rate(count(interval))), look)
    }

    fn line(
        &self,
        name: &str,
        value: impl Fn(&Interval) -> Option<f64>,
        (ink, dash, width, shape): Look,
    ) -> Line {
        let which = if self.intervals.len() <= MARKED_MAX { Marked::All } else { Marked::Lone };
        let middle = |interval: &Interval| (interval.from + interval.length / 2).as_secs_f64();
        Line {
            name: name.to_owned(),
            ink,
            dash,
            width,
            mark: Mark { shape, is_hollow: false, which },
            points: self.intervals.iter().map(|interval| (middle(interval), value(interval))).collect(),
            whiskers: Vec::new(),
            arrows: Vec::new(),
        }
    }
}

/// Class of failed connections, in words and in the classic report.
fn in_words(failure: Failure) -> String {
    let words = match failure {
        Failure::ClientTimeout => "timed out",
        Failure::SocketTimeout => "timed out by the kernel",
        Failure::Refused => "refused",
        Failure::Reset => "reset or closed",
        Failure::FdUnavailable => "no file descriptor",
        Failure::AddressUnavailable => "no local port",
        Failure::FileTableFull => "file table full",
        Failure::Other => return "other".to_owned(),
    };
    format!("{words} ({failure})")
}

fn longest(intervals: &[Interval]) -> f64 {
    intervals.iter().map(|interval| interval.length.as_secs_f64()).fold(0.0, f64::max)
}

/// Values of all points of the lines.
fn values(lines: &[Line]) -> Vec<f64> {
    lines.iter().flat_map(|line| &line.points).filter_map(|&(_, value)| value).collect()
}

/// Warm-up, drain, load phases, and stalls of the server, by their beginning.
fn shades(document: &Document) -> Vec<Shade> {
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
