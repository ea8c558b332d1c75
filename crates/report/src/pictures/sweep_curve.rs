//! What pictures of a sweep show: a point for each rate, and the knee.

use httperf_plan::{Plan, Script, Sessions, UNLIMITED, Workload};
use httperf_stats::{Outcome, Summary, Timing};

use crate::curves::LINEAR_UP_TO;
use crate::html::about;
use crate::number::{grouped, ratio};
use crate::result::EarlyEnd;
use crate::sweep::{Run, Sweep, Unit};
use crate::verdict::Level;

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
        let mut runs: Vec<&Run> = sweep.runs.iter().filter(|run| is_complete(run)).collect();
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

    /// A figure over the rate, of the points that tell of the server. A rate at which all runs were limited is a gap.
    pub(crate) fn of_server(&self, value: impl Fn(&Point) -> Option<f64>) -> Vec<(f64, Option<f64>)> {
        let tells = |rate| self.points.iter().any(|point| point.rate == rate && !point.is_client_limited);
        let shown = self.points.iter().filter(|point| !(point.is_client_limited && tells(point.rate)));
        shown.map(|point| (point.rate, value(point).filter(|_| !point.is_client_limited))).collect()
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

/// Whether a run went on until its end, and not only until a signal came.
fn is_complete(run: &Run) -> bool {
    run.result.parts.iter().all(|part| part.ended_early != Some(EarlyEnd::Asked))
}

/// Whether the figures of a run describe the generator.
pub(crate) fn is_client_limited(run: &Run) -> bool {
    run.result.verdict.level == Level::Invalid
}

/// Errors, and what they are a part of: the calls that ended, or the connections where no calls are made.
pub(crate) fn errors(summary: &Summary) -> (u64, u64) {
    let calls = |outcome| summary.calls_with(outcome).latency.moments.count();
    let errors = calls(Outcome::Failure) + calls(Outcome::Unexpected) + calls(Outcome::HttpError);
    match errors + calls(Outcome::Success) {
        0 => (summary.errors.total(), summary.connections),
        ended => (errors, ended),
    }
}

/// `None` where a session's calls follow from its file, or from what it finds in pages, and where they never end.
fn calls_per_arrival(plan: &Plan) -> Option<f64> {
    if let Workload::Sessions(Sessions { script: Script::File(_) | Script::Pages { .. }, .. }) =
        &plan.workload
    {
        return None;
    }
    Some(plan.calls_per_arrival()).filter(|&calls| calls != UNLIMITED).map(|calls| calls as f64)
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
