//! Comparison of saved results with a base.

use httperf_plan::objective::{Clock, Figure as TimeFigure, Metric, Share};
use httperf_stats::comparison::{Batches, Difference, Figure, Measured, Unknown, difference};
use httperf_stats::{Interval, Merge as _, Phase, Summary, Timing};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::named::Named;
use super::rows::{Compared, rows, value};
use super::void::{obstacles, warnings};
use super::{Against, Comparison, ComparisonSettings, Method, Remarks, Subject};
use crate::curves::PercentileCurve;
use crate::errors::ErrorFigures;
use crate::number::rounded;
use crate::result::Document;

/// Compares results with a base.
#[must_use]
pub fn results(base: Named<'_>, new: &[Named<'_>], settings: &ComparisonSettings) -> Comparison {
    let base_run = Run::of(base.document);
    let against = new.iter().map(|new| {
        let options = &settings.options;
        let remarks =
            Remarks { obstacles: obstacles(base, *new, options), warnings: warnings(base, *new, options) };
        let is_void = !remarks.obstacles.is_empty() && !settings.force;
        let rows = match is_void {
            true => Vec::new(),
            false => {
                let new_run = Run::of(new.document);
                let compared = settings.metrics().into_iter().map(|metric| {
                    let values = [&base_run, &new_run].map(|run| run.value(metric));
                    Compared { metric, values, found: base_run.difference(&new_run, metric) }
                });
                rows(compared.collect(), "")
            }
        };
        Against::new(subject(*new), rows, settings, remarks)
    });
    let against = against.collect();
    Comparison::new(Method::Bootstrap, subject(base), against)
}

/// One interval of the measured phase, for charts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Moment {
    /// Its middle, in seconds since the beginning of the measured phase.
    pub at_s: f64,
    /// Complete replies per second.
    pub replies_per_s: f64,
    /// Median latency of the calls answered in it, in milliseconds; `None` if there are too few.
    pub p50_ms: Option<f64>,
    /// 99th percentile, likewise.
    pub p99_ms: Option<f64>,
}

/// Minimum length of an interval with a meaningful rate, as a share of the others.
const SHORTEST: f64 = 0.5;

/// Side of a comparison that is a result, with its curves.
fn subject(Named { name, document }: Named<'_>) -> Subject {
    Subject {
        latency: PercentileCurve::of(&document.summary.completed().latency),
        timeline: timeline(document),
        ..Subject::of(name, document)
    }
}

fn timeline(document: &Document) -> Vec<Moment> {
    let series = &document.summary.series;
    let shortest = series.width().mul_f64(SHORTEST);
    let from = series.measured().next().map(|interval| interval.from).unwrap_or_default();
    let moment = |interval: &Interval| {
        let ms = |share| Some(rounded(interval.latency.supported_quantile(share)?.as_secs_f64() * 1e3));
        Moment {
            at_s: (interval.from.saturating_sub(from) + interval.length / 2).as_secs_f64(),
            replies_per_s: interval.rate(interval.replies),
            p50_ms: ms(0.5),
            p99_ms: ms(0.99),
        }
    };
    series.measured().filter(|interval| interval.length >= shortest).map(moment).collect()
}

/// A run, prepared for comparison.
struct Run<'a> {
    summary: &'a Summary,
    latency: Timing,
    /// Intervals of the measured phase. Those of the drain are merged into the last.
    intervals: Vec<Interval>,
    /// Replies of the drain, which are among those of the last interval.
    drained: u64,
}

impl<'a> Run<'a> {
    fn of(document: &'a Document) -> Self {
        let summary = &document.summary;
        let half = summary.series.width() / 2;
        let mut intervals: Vec<Interval> = Vec::new();
        let mut drained = 0;
        for interval in summary.series.intervals() {
            match (interval.phase, intervals.last_mut()) {
                (Phase::WarmUp, _) | (Phase::Drain, None) => {}
                (Phase::Measured, Some(last)) if interval.length < half => {
                    let length = last.length + interval.length;
                    last.merge(interval);
                    last.length = length;
                }
                (Phase::Measured, _) => intervals.push(interval.clone()),
                (Phase::Drain, Some(last)) => {
                    let length = last.length;
                    drained += interval.replies;
                    last.merge(interval);
                    last.length = length;
                }
            }
        }
        Self { summary, latency: summary.completed().latency, intervals, drained }
    }

    fn value(&self, metric: Metric) -> Option<f64> {
        value(metric, self.summary, &self.latency)
    }

    fn difference(&self, new: &Self, metric: Metric) -> Result<Difference, Unknown> {
        let figure = match metric {
            Metric::Replies => Figure::Rate,
            Metric::Share(_) => Figure::Share,
            Metric::Time { clock: Clock::Latency, figure: TimeFigure::Mean } => Figure::Mean,
            Metric::Time { clock: Clock::Latency, figure: TimeFigure::Quantile(share) } => {
                Figure::Quantile(share)
            }
            Metric::Time { .. } => return Err(Unknown::Nothing),
        };
        let [base_batches, new_batches] = [self, new].map(|run| run.batches(metric));
        let measured = |run: &Self, batches| Measured { value: run.value(metric), batches };
        difference(figure, measured(self, &base_batches), measured(new, &new_batches))
    }

    fn batches(&self, metric: Metric) -> Batches {
        let all = |count: &dyn Fn(&Interval) -> f64| self.intervals.iter().map(count).collect();
        match metric {
            Metric::Replies => {
                // The throughput is that of the measured phase, as are the lengths.
                let mut counts: Vec<f64> = all(&|interval| interval.replies as f64);
                if let Some(last) = counts.last_mut() {
                    *last -= self.drained as f64;
                }
                let whole = all(&|interval| interval.length.as_secs_f64());
                Batches { counts, whole, latency: Vec::new() }
            }
            Metric::Share(share) => {
                let of_connections = ErrorFigures::of(self.summary).of_connections;
                let part = |interval: &Interval| match share {
                    _ if of_connections => interval.errors.total(),
                    Share::Failed => interval.failed_calls,
                    Share::Unexpected => interval.unexpected,
                    // Results from before they were counted have both kinds of replies apart.
                    _ => {
                        let wrong = interval.http_errors.max(interval.unexpected);
                        interval.failed_calls + interval.error_replies.max(wrong)
                    }
                };
                // Those that ended: errors count where they happen.
                let whole = |interval: &Interval| match of_connections {
                    true => interval.arrivals.max(interval.errors.total()),
                    false => interval.replies + interval.failed_calls,
                };
                Batches {
                    counts: all(&|interval| part(interval).min(whole(interval)) as f64),
                    whole: all(&|interval| whole(interval) as f64),
                    latency: Vec::new(),
                }
            }
            Metric::Time { .. } => {
                let latency = self.intervals.iter().map(|interval| interval.latency.clone()).collect();
                Batches { latency, ..Batches::default() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use httperf_plan::{Arrivals, Phases, UNLIMITED};
    use httperf_testkit::sim::{Action, Edit, HttpPeer, Link, connections, reply, run};

    use super::*;
    use crate::result::Part;

    #[test]
    fn replies_of_the_drain_are_not_those_of_the_last_second() {
        let plan = connections(UNLIMITED, 1, 1).with(|plan| {
            plan.arrivals = Arrivals::Deterministic { period: 0.01 };
            plan.runtime = Some(Duration::from_secs(5));
            plan.phases = Phases { drain: Duration::from_secs(1), ..Phases::default() };
        });
        let peer = HttpPeer::new(|_| vec![Action::Send(Duration::from_millis(400), reply(200, "", "hello"))]);
        let summary = run(&plan, Link::default(), peer).summary;
        assert_eq!((summary.replies, summary.in_window().replies), (500, 460), "40 came in the drain");
        let document = Document::new(Part::of_a_test(), plan, summary);
        let run = Run::of(&document);
        assert_eq!(run.batches(Metric::Replies).counts, [60.0, 100.0, 100.0, 100.0, 100.0]);
        // The times of calls are those of all that were due.
        assert_eq!(run.intervals.iter().map(|interval| interval.replies).sum::<u64>(), 500);
    }
}
