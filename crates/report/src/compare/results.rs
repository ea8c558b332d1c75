//! Comparison of saved results with a base.

use httperf_plan::objective::{Clock, Figure as TimeFigure, Metric, Share};
use httperf_stats::comparison::{Batches, Difference, Figure, Measured, Unknown, difference};
use httperf_stats::{Interval, Phase, Summary, Timing};

use super::named::Named;
use super::rows::{Compared, rows, value};
use super::void::{obstacles, warnings};
use super::{Against, Comparison, ComparisonSettings, Method, Remarks, Subject};
use crate::result::Document;

/// Compares results with a base.
#[must_use]
pub fn results(base: Named<'_>, new: &[Named<'_>], settings: &ComparisonSettings) -> Comparison {
    let base_run = Run::of(base.document);
    let against = new.iter().map(|new| {
        let remarks = Remarks { obstacles: obstacles(base, *new), warnings: warnings(base, *new) };
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
        Against::new(Subject::of(new.name, new.document), rows, settings, remarks)
    });
    let against = against.collect();
    Comparison::new(Method::Bootstrap, Subject::of(base.name, base.document), against)
}

/// A run, prepared for comparison.
struct Run<'a> {
    summary: &'a Summary,
    latency: Timing,
    /// Intervals of the measured phase. Those of the drain are merged into the last.
    intervals: Vec<Interval>,
}

impl<'a> Run<'a> {
    fn of(document: &'a Document) -> Self {
        let summary = &document.summary;
        let half = summary.series.width() / 2;
        let mut intervals: Vec<Interval> = Vec::new();
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
                    last.merge(interval);
                    last.length = length;
                }
            }
        }
        Self { summary, latency: summary.completed().latency, intervals }
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
            Metric::Replies => Batches {
                counts: all(&|interval| interval.replies as f64),
                whole: all(&|interval| interval.length.as_secs_f64()),
                latency: Vec::new(),
            },
            Metric::Share(share) => {
                let has_calls =
                    self.intervals.iter().any(|interval| interval.replies + interval.failed_calls > 0);
                let part = |interval: &Interval| match share {
                    _ if !has_calls => interval.errors.total(),
                    Share::Failed => interval.failed_calls,
                    Share::Unexpected => interval.unexpected,
                    _ => interval.failed_calls + interval.http_errors + interval.unexpected,
                };
                let whole = |interval: &Interval| match has_calls {
                    true => interval.replies + interval.failed_calls,
                    false => interval.arrivals.max(interval.errors.total()),
                };
                Batches {
                    // An unexpected reply may also be an error.
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
