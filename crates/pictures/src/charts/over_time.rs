//! Charts over the time of the run, from its series of intervals.

use httperf_report::result::Document;
use httperf_stats::{Failure, Interval};

use crate::axis::{Axis, Quantity};
use crate::figure::{DASHES, Dash, Line, Mark, Marked, Panel, SHAPES, Shade, Shape};
use crate::theme::{Ink, SERIES};
use crate::timeline::{MARKED_MAX, SHORTEST, shades, values};

use super::Chart;

/// Intervals of a run.
pub(super) struct Run<'a> {
    intervals: Vec<&'a Interval>,
    shades: Vec<Shade>,
}

/// Look of a line: colour, dashes, width in pixels, and shape of its marks.
type Look = (Ink, Dash, f64, Shape);

impl<'a> Run<'a> {
    pub(super) fn of(document: &'a Document) -> Self {
        let series = &document.summary.series;
        let shortest = series.width().mul_f64(SHORTEST);
        let is_only = series.intervals().len() == 1;
        let long = series.intervals().iter().filter(|interval| is_only || interval.length >= shortest);
        Self { intervals: long.collect(), shades: shades(document) }
    }

    pub(super) fn throughput(&self) -> Option<Chart> {
        let failed = |interval: &Interval| interval.failed_calls + interval.http_errors;
        // The others cover the line of offered load when all is well, so it is wide and comes first.
        let lines = vec![
            self.rates("offered", |interval| interval.offered, (Ink::Pale, Dash::Solid, 7.0, Shape::Disc)),
            self.rates("sent", |interval| interval.sent, (Ink::Blue, Dash::Solid, 2.0, Shape::Disc)),
            self.rates("replied", |interval| interval.replies, (Ink::Green, Dash::Long, 2.0, Shape::Square)),
            self.rates("errors", failed, (Ink::Vermilion, Dash::Dotted, 2.0, Shape::Triangle)),
        ];
        let axis = Axis::from_zero("per second", values(&lines)).of(Quantity::PerSecond);
        self.chart(
            "throughput",
            "Throughput",
            "Calls that were due, requests sent, replies that came, and calls that ended in an error.",
            lines,
            axis,
        )
    }

    pub(super) fn latency(&self) -> Option<Chart> {
        let lines = [
            ("p50", 0.5, 2, (Ink::Blue, Dash::Solid, 2.0, Shape::Disc)),
            ("p90", 0.9, 10, (Ink::Green, Dash::Long, 2.0, Shape::Square)),
            ("p99", 0.99, 100, (Ink::Orange, Dash::Short, 2.0, Shape::Diamond)),
            ("max", 1.0, 1, (Ink::Soft, Dash::Dotted, 1.6, Shape::Triangle)),
        ];
        let lines = lines.map(|(name, share, calls_needed, look)| {
            let ms = |interval: &Interval| {
                let value = interval.latency.quantile(share)?;
                (interval.latency.total() >= calls_needed).then_some(value.as_secs_f64() * 1e3)
            };
            self.line(name, ms, look)
        });
        let axis = Axis::times("latency", values(&lines));
        self.chart(
            "latency",
            "Latency",
            "Of the calls answered in each interval, from the instants at which they were due. A percentile has a gap \
             where there were too few calls for it.",
            lines.into(),
            axis,
        )
    }

    pub(super) fn errors(&self) -> Option<Chart> {
        type Count = Box<dyn Fn(&Interval) -> u64>;
        let mut kinds: Vec<(String, Count)> = Failure::ALL
            .into_iter()
            .map(|failure| {
                let count: Count = Box::new(move |interval| interval.errors.count(failure));
                (format!("connections: {failure}"), count)
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
                self.line(name, |interval| Some(count(interval) as f64), look)
            })
            .collect();
        let axis = Axis::from_zero("count", values(&lines)).of(Quantity::Count);
        self.chart(
            "errors",
            "Errors",
            "Failed connections by class, replies with status 400 and above, and unexpected replies, in each interval.",
            lines,
            axis,
        )
    }

    pub(super) fn lag(&self) -> Option<Chart> {
        let ms = |interval: &Interval| Some(interval.lag_max.as_secs_f64() * 1e3);
        let lines = vec![self.line("largest lag", ms, (Ink::Purple, Dash::Solid, 2.0, Shape::Disc))];
        let axis = Axis::from_zero("ms", values(&lines)).of(Quantity::Time);
        self.chart("lag", "Lag", "Largest lag of an arrival in each interval.", lines, axis)
    }

    pub(super) fn open(&self) -> Option<Chart> {
        if self.intervals.iter().all(|interval| interval.open == 0) {
            return None;
        }
        let open = |interval: &Interval| Some(interval.open as f64);
        let lines = vec![self.line("open", open, (Ink::Green, Dash::Solid, 2.0, Shape::Disc))];
        let axis = Axis::from_zero("connections", values(&lines)).of(Quantity::Count);
        self.chart("open", "Connections open", "At the end of each interval.", lines, axis)
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
        }
    }

    /// A chart over the time of the run; `None` if no line has a point.
    fn chart(
        &self,
        id: &'static str,
        title: &'static str,
        about: &'static str,
        lines: Vec<Line>,
        y: Axis,
    ) -> Option<Chart> {
        let (first, last) = (self.intervals.first()?, self.intervals.last()?);
        let (from, to) = (first.from.as_secs_f64(), last.end().as_secs_f64());
        let x = Axis::between("time since the start [s]", from, to).of(Quantity::Seconds);
        let panel = Panel { name: title, y, shades: self.shades.clone(), lines, mark: None, nothing: "" };
        (!panel.is_empty()).then(|| Chart::new(id, title, about, &x, &panel))
    }
}
