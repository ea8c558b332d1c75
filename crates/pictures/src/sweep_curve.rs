//! Data of pictures of a sweep: a point for each rate, and the knee.

use httperf_plan::{Plan, Script, Sessions, UNLIMITED, Workload};
use httperf_report::number::grouped;
use httperf_report::sweep::{Mean, State, Step, StreamWaits, Sweep, Unit};
use httperf_report::{Percentile, headings};

use super::axis::LINEAR_UP_TO;

/// Name of points limited by the generator.
pub(crate) const LIMITED: &str = "the generator was the bottleneck";

/// Name of replies that passed all checks.
pub(crate) const GOOD: &str = "of these, without error";

/// Meaning of ranges where runs were repeated.
pub(crate) const INTERVALS: &str = "95 % intervals of the means";

/// Meaning of arrows.
pub(crate) const ARROWS: &str = "Arrows: longer than that, as too many calls had no reply in time.";

/// Minimum share of error replies that is shown.
const BAD_SHOWN: f64 = 0.005;

/// Results of a sweep, step by step.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepCurve {
    /// The server.
    pub title: String,
    /// Unit of arrivals.
    pub unit: Unit,
    /// Number of calls per arrival, if known.
    pub calls_per_arrival: Option<f64>,
    /// Steps by ascending rate.
    pub points: Vec<Point>,
    /// Meaning of the ranges of the replies, such as `least and most sampled`; empty if they have none.
    pub spread: &'static str,
    /// Rate up to which the server kept up, if known.
    pub knee: Option<f64>,
}

/// Results at one rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Arrivals per second requested.
    pub rate: f64,
    /// Replies per second.
    pub replies: Spread,
    /// Those per second with a status below 400 that failed no check.
    pub good_replies: f64,
    /// Percentage of calls, or of connections if no calls are made, that ended in an error.
    pub errors_percent: Spread,
    /// Mean time from the first byte of a request to the status line of its reply.
    pub response_ms: Option<Spread>,
    /// Median latency of all calls.
    pub latency_p50_ms: Option<Spread>,
    /// 99th percentile of the latency of all calls; `None` if there are too few.
    pub latency_p99_ms: Option<Spread>,
    /// Waits in streams; `None` if there were none.
    pub stream_waits: Option<Waits>,
    /// True if the generator was the bottleneck.
    pub is_client_limited: bool,
}

/// Medians and 99th percentiles of waits in streams, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Waits {
    /// For the first event, or token.
    pub first_ms: [Option<Spread>; 2],
    /// For each further event, or token.
    pub gap_ms: [Option<Spread>; 2],
    /// True if they are for tokens of language models.
    pub of_tokens: bool,
}

impl Waits {
    fn of(waits: &StreamWaits) -> Self {
        let values = |means: [Option<Mean>; 2]| means.map(|mean| mean.as_ref().map(Spread::of));
        Self {
            first_ms: values([waits.first_p50_ms, waits.first_p99_ms]),
            gap_ms: values([waits.gap_p50_ms, waits.gap_p99_ms]),
            of_tokens: waits.of_tokens,
        }
    }
}

/// A mean with its range.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// True if it is longer than that: too many calls had no reply.
    pub or_more: bool,
    /// Its 95 % interval, or the least and the most sampled; `None` if it has none.
    pub range: Option<(f64, f64)>,
}

impl Spread {
    fn of(mean: &Mean) -> Self {
        Self { mean: mean.value, or_more: false, range: mean.between() }
    }

    fn of_percentile(percentile: Option<Percentile>, range: Option<(f64, f64)>) -> Option<Self> {
        percentile.map(|Percentile { ms, or_more }| Self { mean: ms, or_more, range })
    }

    /// The same times this factor, for another unit.
    fn times(self, factor: f64) -> Self {
        let range = self.range.map(|(low, high)| (low * factor, high * factor));
        Self { mean: self.mean * factor, range, ..self }
    }
}

impl SweepCurve {
    /// Extracts the results of a sweep.
    #[must_use]
    pub fn of(sweep: &Sweep) -> Self {
        Self {
            title: headings::title(&sweep.plan),
            unit: sweep.unit(),
            calls_per_arrival: calls_per_arrival(&sweep.plan),
            points: sweep.figures.steps.iter().map(Point::of).collect(),
            spread: if sweep.settings.repeats > 1 { INTERVALS } else { "least and most sampled" },
            knee: sweep.figures.knee,
        }
    }

    /// Both ends of the diagonal, on which all calls offered are answered, within the range shown.
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

    /// Returns true if the range of rates is wide enough for logarithmic axes.
    pub(crate) fn reaches_far(&self) -> bool {
        let rates =
            || self.points.iter().map(|point| point.rate).filter(|rate| rate.is_finite() && *rate > 0.0);
        let (least, greatest) = (rates().reduce(f64::min), rates().reduce(f64::max));
        least.zip(greatest).is_some_and(|(least, greatest)| greatest > least * LINEAR_UP_TO)
    }

    /// A figure over the rate, without the points limited by the generator. A rate at which all runs were
    /// limited is a gap.
    pub(crate) fn of_server(&self, value: impl Fn(&Point) -> Option<Spread>) -> Vec<(f64, Option<Spread>)> {
        let tells = |rate| self.points.iter().any(|point| point.rate == rate && !point.is_client_limited);
        let shown = self.points.iter().filter(|point| !(point.is_client_limited && tells(point.rate)));
        shown.map(|point| (point.rate, value(point).filter(|_| !point.is_client_limited))).collect()
    }

    /// Returns true if ranges are intervals of means over several runs.
    pub(crate) fn has_intervals(&self) -> bool {
        self.spread == INTERVALS
    }

    /// Returns true if the share of error replies is large enough to show.
    pub(crate) fn has_bad_replies(&self) -> bool {
        self.points.iter().any(|point| point.good_replies < point.replies.mean * (1.0 - BAD_SHOWN))
    }

    /// Position and name of the knee, such as `knee: 1,200/s`.
    pub(crate) fn knee_name(&self) -> Option<(f64, String)> {
        let rate = self.knee.filter(|rate| rate.is_finite())?;
        let digits = grouped(rate, 3);
        Some((rate, format!("knee: about {}/s", digits.trim_end_matches('0').trim_end_matches('.'))))
    }

    /// Title of the axis of rates.
    pub(crate) fn load_title(&self) -> String {
        format!("offered load [{}/s]", self.unit.name())
    }
}

impl Point {
    fn of(step: &Step) -> Self {
        Self {
            rate: step.rate,
            replies: Spread {
                // Of a single run, there is no interval.
                range: step.reply_rate.between().or(Some((step.reply_rate_min, step.reply_rate_max))),
                ..Spread::of(&step.reply_rate)
            },
            good_replies: step.good_reply_rate.value,
            errors_percent: Spread::of(&step.error_share).times(100.0),
            response_ms: step.response_ms.as_ref().map(Spread::of),
            latency_p50_ms: Spread::of_percentile(step.all_p50, step.all_p50_between),
            latency_p99_ms: Spread::of_percentile(step.all_p99, step.all_p99_between),
            stream_waits: step.stream_waits.as_ref().map(Waits::of),
            is_client_limited: step.state == State::ClientLimited,
        }
    }

    /// Returns true if only a lower bound of a percentile is known.
    pub(crate) fn is_open(&self) -> bool {
        [self.latency_p50_ms, self.latency_p99_ms].into_iter().flatten().any(|figure| figure.or_more)
    }

    /// Largest rate of replies shown.
    pub(crate) fn most_replies(&self) -> f64 {
        self.replies.range.map_or(self.replies.mean, |(_, most)| most.max(self.replies.mean))
    }
}

/// Number of calls per arrival; `None` if a session's calls follow from a file or from the pages it loads, or
/// never end.
fn calls_per_arrival(plan: &Plan) -> Option<f64> {
    if let Workload::Sessions(Sessions { script: Script::File(_) | Script::Pages { .. }, .. }) =
        &plan.workload
    {
        return None;
    }
    Some(plan.calls_per_arrival()).filter(|&calls| calls != UNLIMITED).map(|calls| calls as f64)
}
