//! Figures of a sweep: a row for each rate, and conclusions about the server.

use httperf_plan::{Plan, UNLIMITED};
use httperf_stats::{CallOutcome, Estimate, RateMoments, Summary};
use schemars::JsonSchema;
use serde::Serialize;

use super::conclusion::SweepConclusion;
use super::{KEPT_UP, Knee, Point, Run, SweepSettings, Unit, knee};
use crate::all_calls::{AllCalls, Percentile};
use crate::errors::ErrorFigures;
use crate::figures::Times;
use crate::number::ratio;
use crate::objectives::Kept;
use crate::result::Document;
use crate::streams::StreamFigures;
use crate::verdict::Level;

/// Figures of a sweep. Rates are arrivals per second.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SweepFigures {
    /// Conclusion about the server. Missing in older documents, as the two other fields with a default.
    #[serde(default)]
    pub conclusion: SweepConclusion,
    /// Estimate of the rate above which replies no longer follow: what was answered at the first rate beyond it, no less and no
    /// more than `knee_between`, with no more digits than these let it have. `None` if it was not reached or cannot be
    /// determined.
    pub knee: Option<f64>,
    /// Highest rate that the server kept up with (0 if it kept up with none), and the next one; `None` if it kept up with the
    /// highest.
    #[serde(default)]
    pub knee_between: Option<(f64, f64)>,
    /// Mean of the estimates of each repeat, before they are rounded; `None` without repeats, or if one of them has none.
    #[serde(default)]
    pub knee_of_repeats: Option<Mean>,
    /// Rate with the most replies without an error, of those at which the generator was not the bottleneck;
    /// `None` if there were none.
    pub peak: Option<Peak>,
    /// Highest rate at which all objectives were met in every run; `None` if there are no objectives, or no
    /// such rate.
    pub objectives_met_at: Option<f64>,
    /// Rates with complete runs, ascending.
    pub steps: Vec<Step>,
}

/// Maximum rate of replies without an error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Peak {
    /// Rate offered.
    pub rate: f64,
    /// Replies without an error per second.
    pub good_reply_rate: f64,
}

/// Results at one rate: means over its complete runs. Runs in which the generator was the bottleneck are left
/// out unless it was in all of them.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Step {
    /// Rate requested.
    pub rate: f64,
    /// Number of complete runs.
    pub runs: u32,
    /// Number of these in which the generator was the bottleneck.
    pub client_limited_runs: u32,
    /// State of the server at this rate.
    pub state: State,
    /// Arrivals started per second.
    pub achieved: Mean,
    /// Share of the offered load that was answered without an error while load was offered.
    pub answered_share: Mean,
    /// Complete replies per second while load was offered: the throughput of a run.
    pub reply_rate: Mean,
    /// Complete replies without an error per second while load was offered: status below 400, and no failed check.
    pub good_reply_rate: Mean,
    /// Minimum of the sampled replies per second of the runs.
    pub reply_rate_min: f64,
    /// Maximum of the sampled replies per second of the runs.
    pub reply_rate_max: f64,
    /// Standard deviation of the sampled replies per second, as a mean over the runs.
    pub reply_rate_stddev: f64,
    /// From the first byte of a request to the status line of its reply, in milliseconds.
    pub response_ms: Option<Mean>,
    /// Share of the calls (or connections, if no calls are made) that ended in an error.
    pub error_share: Mean,
    /// Median of the latency of the answered calls, in milliseconds.
    pub latency_p50_ms: Option<Mean>,
    /// 99th percentile of the latency of the answered calls, in milliseconds.
    pub latency_p99_ms: Option<Mean>,
    /// Median of the latency of all calls, answered or not.
    pub all_p50: Option<Percentile>,
    /// 99th percentile of the latency of all calls, answered or not.
    pub all_p99: Option<Percentile>,
    /// 95 % confidence interval of `all_p50` in milliseconds; `None` if there is a single run, or if it is longer than known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all_p50_between: Option<(f64, f64)>,
    /// 95 % confidence interval of `all_p99`, as for `all_p50`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all_p99_between: Option<(f64, f64)>,
    /// Waits in streams; `None` if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_waits: Option<StreamWaits>,
    /// Worst verdict on a run.
    pub verdict: Level,
    /// Names of the findings behind verdicts other than VALID.
    pub reasons: Vec<String>,
    /// Outcome of the objectives over all runs; `None` if there are none.
    pub objectives: Option<Kept>,
    /// Objectives that were missed, or whose outcome is unknown.
    pub objectives_not_met: Vec<String>,
    /// True if the server or this machine had not recovered before one of these runs.
    pub lacks_recovery: bool,
}

/// Waits in streams at a rate: medians and 99th percentiles in milliseconds, as means over the runs. `None` if a run has too few
/// samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct StreamWaits {
    /// Median of the times from when calls were due to the first events; of language models, to the first tokens.
    pub first_p50_ms: Option<Mean>,
    /// 99th percentile of the times from when calls were due to the first events; of language models, to the first tokens.
    pub first_p99_ms: Option<Mean>,
    /// Median of the gaps between events; of language models, of the times per output token.
    pub gap_p50_ms: Option<Mean>,
    /// 99th percentile of the gaps between events; of language models, of the times per output token.
    pub gap_p99_ms: Option<Mean>,
    /// True if these are of the tokens of language models.
    pub of_tokens: bool,
}

impl StreamWaits {
    fn of(runs: &[&Run]) -> Option<Self> {
        let figures: Vec<&StreamFigures> =
            runs.iter().filter_map(|run| run.result.figures.streams.as_ref()).collect();
        let of_tokens = figures.first()?.model.is_some();
        let mean = |of: fn(&StreamFigures) -> &Times, share: fn(&Times) -> Option<f64>| {
            let values = figures.iter().map(|figures| share(of(figures)));
            Mean::of(values.collect::<Option<Vec<f64>>>()?)
        };
        let first: fn(&StreamFigures) -> &Times =
            |figures| figures.model.as_ref().map_or(&figures.first_event_ms, |model| &model.ttft_ms);
        let gap: fn(&StreamFigures) -> &Times =
            |figures| figures.model.as_ref().map_or(&figures.gap_ms, |model| &model.tpot_ms);
        Some(Self {
            first_p50_ms: mean(first, |times| times.p50),
            first_p99_ms: mean(first, |times| times.p99),
            gap_p50_ms: mean(gap, |times| times.p50),
            gap_p99_ms: mean(gap, |times| times.p99),
            of_tokens,
        })
    }
}

/// A mean over runs, with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Mean {
    /// Mean.
    pub value: f64,
    /// Lower bound; `None` if there is a single run.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
}

/// State of the server at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It answered nearly all of the load.
    KeptUp,
    /// It did not.
    Saturated,
    /// It answered nothing at all.
    Unanswered,
    /// The generator or its machine was the bottleneck, so nothing is known about the server.
    ClientLimited,
}

impl SweepFigures {
    /// Computes the figures of these runs.
    #[must_use]
    pub fn of(settings: &SweepSettings, plan: &Plan, runs: &[Run]) -> Self {
        let unit = Unit::of(plan);
        let steps: Vec<Step> = settings.rates.iter().filter_map(|&rate| Step::of(rate, unit, runs)).collect();
        let of_server = || steps.iter().filter(|step| step.state != State::ClientLimited);
        let calls = Some(plan.calls_per_arrival()).filter(|&calls| calls > 0 && calls != UNLIMITED);
        let found = knee_of(of_server(), calls);
        let peaks =
            of_server().map(|step| Peak { rate: step.rate, good_reply_rate: step.good_reply_rate.value });
        let peak =
            peaks.reduce(|best, next| if next.good_reply_rate > best.good_reply_rate { next } else { best });
        let objectives_met_at =
            of_server().filter(|step| step.objectives == Some(Kept::Met)).map(|step| step.rate).next_back();
        let knee_of_repeats = found.and_then(|_| {
            let estimate = |repeat| {
                let of_repeat = runs.iter().filter(|run| run.repeat == repeat).cloned().collect::<Vec<_>>();
                let steps = settings.rates.iter().filter_map(|&rate| Step::of(rate, unit, &of_repeat));
                let steps: Vec<Step> = steps.filter(|step| step.state != State::ClientLimited).collect();
                knee_of(steps.iter(), calls)?.estimate
            };
            let repeats = (0..settings.repeats).filter(|_| settings.repeats > 1);
            Mean::of(repeats.map(estimate).collect::<Option<Vec<f64>>>()?)
        });
        Self {
            conclusion: SweepConclusion::of(unit, &steps, found.as_ref()),
            knee: found.and_then(|knee| knee.rounded()),
            knee_between: found.map(|knee| (knee.kept_up, knee.fell_behind)),
            knee_of_repeats,
            peak: peak.filter(|peak| peak.good_reply_rate > 0.0),
            objectives_met_at,
            steps,
        }
    }
}

/// The knee that steps show which the generator did not limit. With this many calls for each arrival, it lies no higher than there
/// were replies.
fn knee_of<'a>(steps: impl Iterator<Item = &'a Step>, calls: Option<u64>) -> Option<Knee> {
    let steps: Vec<&Step> = steps.collect();
    let point = |step: &&Step| Point { offered: step.rate, answered: step.rate * step.answered_share.value };
    let knee = knee(&steps.iter().map(point).collect::<Vec<_>>())?;
    let replies = steps.iter().map(|step| step.reply_rate.value).fold(0.0, f64::max);
    let most = calls.map_or(f64::INFINITY, |calls| replies / calls as f64);
    let estimate = knee.estimate.map(|estimate| estimate.min(most).max(knee.kept_up));
    Some(Knee { estimate, ..knee })
}

impl Step {
    /// Returns `None` if there is no complete run at this rate.
    fn of(rate: f64, unit: Unit, runs: &[Run]) -> Option<Self> {
        let all: Vec<&Run> = runs.iter().filter(|run| run.rate == rate && run.is_complete()).collect();
        let verdicts = || all.iter().map(|run| &run.result.verdict);
        let limited = verdicts().filter(|verdict| verdict.blames_client()).count();
        let is_limited = limited == all.len();
        let counted: Vec<&Run> =
            all.iter().copied().filter(|run| is_limited || !run.result.verdict.blames_client()).collect();
        let mean = |of: &dyn Fn(&Run) -> f64| Mean::of(counted.iter().map(|run| of(run)));
        let mean_of_some = |of: &dyn Fn(&Document) -> Option<f64>| {
            Mean::of(counted.iter().map(|run| of(&run.result)).collect::<Option<Vec<f64>>>()?)
        };
        let answered_share = mean(&|run| run.answered_share.unwrap_or(1.0))?;
        let state = match answered_share.value {
            _ if is_limited => State::ClientLimited,
            0.0 => State::Unanswered,
            share if share < KEPT_UP => State::Saturated,
            _ => State::KeptUp,
        };
        let samples: Vec<RateMoments> = counted.iter().map(|run| reply_rates(&run.result)).collect();
        let sampled = |of: fn(&RateMoments) -> f64| samples.iter().map(of);
        let bad =
            verdicts().flat_map(|verdict| &verdict.reasons).filter(|reason| reason.level > Level::Valid);
        let mut reasons: Vec<String> = Vec::new();
        for name in bad.map(|reason| reason.finding.name()) {
            if !reasons.iter().any(|known| known == name) {
                reasons.push(name.to_owned());
            }
        }
        let (objectives, objectives_not_met) = objectives(&all);
        let (all_p50, all_p50_between) = of_all(&counted, |all| all.p50);
        let (all_p99, all_p99_between) = of_all(&counted, |all| all.p99);
        Some(Self {
            rate,
            runs: all.len() as u32,
            client_limited_runs: limited as u32,
            state,
            achieved: mean(&|run| achieved(&run.result, unit))?,
            answered_share,
            reply_rate: mean(&|run| run.result.figures.reply_rate)?,
            good_reply_rate: mean(&|run| run.result.figures.reply_rate * good_share(&run.result.summary))?,
            reply_rate_min: sampled(RateMoments::min).fold(f64::INFINITY, f64::min),
            reply_rate_max: sampled(RateMoments::max).fold(0.0, f64::max),
            reply_rate_stddev: sampled(RateMoments::stddev).sum::<f64>() / counted.len() as f64,
            response_ms: mean_of_some(&|result| result.figures.response_ms.mean),
            error_share: mean(&|run| error_share(&run.result.summary))?,
            latency_p50_ms: mean_of_some(&|result| result.figures.latency_ms.p50),
            latency_p99_ms: mean_of_some(&|result| result.figures.latency_ms.p99),
            all_p50,
            all_p99,
            all_p50_between,
            all_p99_between,
            stream_waits: StreamWaits::of(&counted),
            verdict: verdicts().map(|verdict| verdict.level).max()?,
            reasons,
            objectives,
            objectives_not_met,
            lacks_recovery: all.iter().any(|run| run.recovery.lacking.is_some()),
        })
    }
}

impl Mean {
    fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let estimate = Estimate::of_mean(values)?;
        let interval = estimate.interval();
        Some(Self {
            value: estimate.value(),
            // None of these figures is below 0.
            low: interval.map(|interval| interval.low.max(0.0)),
            high: interval.map(|interval| interval.high),
        })
    }

    /// Both bounds, if they are known.
    #[must_use]
    pub fn between(&self) -> Option<(f64, f64)> {
        self.low.zip(self.high)
    }

    /// The number after a `±`.
    #[must_use]
    pub fn margin(&self) -> Option<f64> {
        self.high.map(|high| high - self.value)
    }
}

/// Mean of a percentile over the runs, with its interval; the largest if calls without a reply leave it open in one of them.
/// `None` if one of them lacks it.
fn of_all(
    runs: &[&Run],
    of: fn(&AllCalls) -> Option<Percentile>,
) -> (Option<Percentile>, Option<(f64, f64)>) {
    let all: Option<Vec<Percentile>> = runs.iter().map(|run| of(&run.result.figures.all_calls)).collect();
    let all = all.unwrap_or_default();
    let ms = || all.iter().map(|percentile| percentile.ms);
    if all.iter().any(|percentile| percentile.or_more) {
        return (Some(Percentile { ms: ms().fold(0.0, f64::max), or_more: true }), None);
    }
    let mean = Mean::of(ms());
    let percentile = mean.map(|mean| Percentile { ms: mean.value, or_more: false });
    (percentile, mean.and_then(|mean| mean.between()))
}

/// Arrivals started per second.
fn achieved(result: &Document, unit: Unit) -> f64 {
    match unit {
        Unit::Connections => result.figures.connection_rate,
        Unit::Calls => result.figures.request_rate,
        Unit::Sessions | Unit::Visits => {
            ratio(result.summary.arrivals.started as f64, result.figures.duration_s)
        }
    }
}

/// Sampled replies per second, by the whole seconds of the run. A run without any has its classic samples, or else its
/// average.
pub(super) fn reply_rates(result: &Document) -> RateMoments {
    let Document { summary, figures, .. } = result;
    let mut moments = RateMoments::default();
    let whole = summary.series.measured().filter(|interval| interval.length >= summary.series.width());
    whole.for_each(|interval| moments.add(interval.rate(interval.replies)));
    if moments.count() > 0 {
        return moments;
    }
    let classic = summary.reply_rates.moments();
    if classic.count() > 0 {
        return classic;
    }
    moments.add(figures.reply_rate);
    moments
}

/// Share of the replies without an error.
fn good_share(summary: &Summary) -> f64 {
    let count = |outcome| summary.calls_with(outcome).latency.moments.count() as f64;
    let good = count(CallOutcome::Success);
    ratio(good, good + count(CallOutcome::HttpError) + count(CallOutcome::Unexpected))
}

/// Share of errors; 0 if it is not known.
#[must_use]
pub fn error_share(summary: &Summary) -> f64 {
    ErrorFigures::of(summary).share.unwrap_or(0.0)
}

/// Combined outcome of the objectives of these runs, and those that were not met.
fn objectives(runs: &[&Run]) -> (Option<Kept>, Vec<String>) {
    let judged = || runs.iter().flat_map(|run| &run.result.objectives);
    let worst = |kept: Kept| judged().any(|judged| judged.outcome == kept);
    let outcome = if worst(Kept::Missed) {
        Kept::Missed
    } else if worst(Kept::Unknown) {
        Kept::Unknown
    } else {
        Kept::Met
    };
    let mut not_met: Vec<String> = Vec::new();
    for judged in judged().filter(|judged| judged.outcome != Kept::Met) {
        let text = judged.name();
        if !not_met.contains(&text) {
            not_met.push(text);
        }
    }
    (judged().next().map(|_| outcome), not_met)
}
