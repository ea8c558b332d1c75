//! The figures that people and their scripts ask for, worked out from what was measured. Times are in milliseconds,
//! rates per second.

use httperf_plan::Plan;
use httperf_stats::{
    BatchedEstimate, Classes, Estimate, Interval, KernelFigures, Outcome, Phase, Steadiness, Summary, Timing,
    steady_from,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::number::quantile_name;

/// The figures of a run. Times are in milliseconds, rates per second of the measured phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    /// How long the measured phase was, in seconds.
    pub duration_s: f64,
    /// Connections initiated.
    pub connections: u64,
    /// Requests sent.
    pub requests: u64,
    /// Complete replies.
    pub replies: u64,
    /// Connections that failed.
    pub errors: u64,
    /// Replies by class of status, 1xx to 5xx.
    pub statuses: [u64; 5],
    /// Replies that are not what was expected.
    #[serde(default)]
    pub unexpected: u64,
    /// Arrivals per second that were asked for, of all parts together; `None` where arrivals wait for each other.
    pub rate_asked: Option<f64>,
    /// Connections initiated in the measured phase, per second of it, whatever phase they were due in; so are the rates
    /// that follow.
    pub connection_rate: f64,
    /// Requests sent per second.
    pub request_rate: f64,
    /// Complete replies per second: the throughput.
    pub reply_rate: f64,
    /// Bytes per second of requests and replies, as the classic report counts them.
    pub bytes_per_second: f64,
    /// Processor time of the program for each reply, in microseconds; `None` without replies.
    pub cpu_us_per_reply: Option<f64>,
    /// From the instants at which calls were due to the ends of their replies.
    pub latency_ms: Times,
    /// From the first bytes of requests to the ends of their replies.
    pub service_ms: Times,
    /// From the first bytes of requests to the status lines of their replies.
    pub response_ms: Times,
    /// From the status lines of replies to their ends.
    pub transfer_ms: Times,
    /// From connect to established, TLS included.
    pub connect_ms: Times,
    /// From the instants at which arrivals were due to the work on them.
    pub lag_ms: Times,
    /// From the kernel's receipt of the segments that completed replies to the reading of them.
    #[serde(default)]
    pub receive_lag_ms: Times,
    /// The share (0 to 1) of replies of which that is known; `None` without replies.
    #[serde(default)]
    pub receive_lag_share: Option<f64>,
    /// From the writes of the last bytes of requests to the instants at which the kernel gave these to the device, of
    /// calls about which it was asked.
    #[serde(default)]
    pub send_lag_ms: Times,
    /// From then to its receipt of the segments that completed the replies.
    #[serde(default)]
    pub kernel_ms: Times,
    /// The share (0 to 1) of the replies to such calls of which that is known; `None` without them.
    #[serde(default)]
    pub kernel_share: Option<f64>,
    /// How long calls took whose replies were not what was expected.
    #[serde(default)]
    pub unexpected_ms: Times,
    /// How long calls took that were given up.
    pub failed_ms: Times,
    /// For how long calls had been due that were under way when the run ended.
    pub unfinished_ms: Times,
    /// From the instants at which completed sessions were due to their ends; `None` without sessions.
    pub session_ms: Option<Times>,
    /// How far figures of the latency can be relied on.
    pub confidence: Vec<Confidence>,
    /// Where the run became steady.
    pub steady: Steady,
}

/// Percentiles of a time, in milliseconds; `None` where there are too few samples for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Times {
    /// How many there are.
    pub samples: u64,
    /// Their mean.
    pub mean: Option<f64>,
    /// The least.
    pub min: Option<f64>,
    /// The 50th percentile.
    pub p50: Option<f64>,
    /// The 90th.
    pub p90: Option<f64>,
    /// The 99th.
    pub p99: Option<f64>,
    /// The 99.9th.
    #[serde(rename = "p99.9")]
    pub p999: Option<f64>,
    /// The 99.99th.
    #[serde(rename = "p99.99")]
    pub p9999: Option<f64>,
    /// The greatest.
    pub max: Option<f64>,
}

/// A figure of the latency with its interval of 95 % confidence, in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Confidence {
    /// `mean`, `p50` and so on.
    pub figure: String,
    /// The figure, from latencies to two digits.
    pub value: f64,
    /// The lower end of the interval; `None` if there are too few samples or too little time for one.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// How many times the variance is that of as many independent calls.
    pub inflation: f64,
}

/// Where a run became steady.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Steady {
    /// The run is too short to say.
    Unknown,
    /// From here on.
    From {
        /// Seconds since the measured phase began.
        seconds: f64,
    },
    /// It did not.
    Never,
}

/// The quantiles whose confidence is shown.
const CONFIDENT: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

impl Figures {
    /// The figures of a run that so many generators made together, each by this plan.
    #[must_use]
    pub fn of(plan: &Plan, summary: &Summary, parts: usize) -> Self {
        let seconds = summary.duration.as_secs_f64();
        let completed = summary.completed();
        let kernel = summary.kernel.as_deref();
        let mean_interval = plan.arrivals.mean_interval();
        let throughput = summary.throughput();
        let cpu_us = summary.usage.cpu.total().as_secs_f64() * 1e6;
        Self {
            duration_s: seconds,
            connections: summary.connections,
            requests: summary.requests,
            replies: summary.replies,
            errors: summary.errors.total(),
            statuses: summary.statuses,
            unexpected: summary.mismatches.total(),
            rate_asked: (mean_interval > 0.0).then(|| parts as f64 / mean_interval),
            connection_rate: throughput.connections,
            request_rate: throughput.requests,
            reply_rate: throughput.replies,
            bytes_per_second: throughput.bytes,
            cpu_us_per_reply: (summary.replies > 0).then(|| cpu_us / summary.replies as f64),
            latency_ms: Times::of(&completed.latency),
            service_ms: Times::of(&completed.service),
            response_ms: Times::of(&summary.response),
            transfer_ms: Times::of(&summary.transfer),
            connect_ms: Times::of(&summary.connect),
            lag_ms: Times::of(&summary.lag),
            receive_lag_ms: Times::of(&summary.receive.lag),
            receive_lag_share: summary.receive.share_stamped(),
            send_lag_ms: kernel.map_or_else(Times::default, |kernel| Times::of(&kernel.send_lag)),
            kernel_ms: kernel.map_or_else(Times::default, |kernel| Times::of(&kernel.service)),
            kernel_share: kernel.and_then(KernelFigures::share_stamped),
            unexpected_ms: Times::of(&summary.calls_with(Outcome::Unexpected).latency),
            failed_ms: Times::of(&summary.calls_with(Outcome::Failure).latency),
            unfinished_ms: Times::of(&summary.unfinished),
            session_ms: summary.sessions.as_ref().map(|sessions| Times::of(&sessions.latency)),
            confidence: confidence(summary),
            steady: Steady::of(summary),
        }
    }
}

impl Times {
    /// Those of a timing.
    #[must_use]
    pub fn of(timing: &Timing) -> Self {
        let moments = &timing.moments;
        let is_any = !timing.is_empty();
        let quantile = |share| timing.supported_quantile(share).map(|value| in_ms(value.as_secs_f64()));
        Self {
            samples: moments.count(),
            mean: is_any.then(|| in_ms(moments.mean())),
            min: is_any.then(|| in_ms(moments.min())),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p999: quantile(0.999),
            p9999: quantile(0.9999),
            max: is_any.then(|| in_ms(moments.max())),
        }
    }
}

/// Seconds as milliseconds, to the nanosecond: what is beyond is the noise of arithmetic.
fn in_ms(seconds: f64) -> f64 {
    (seconds * 1e9).round() / 1e6
}

/// The latencies of the measured phase, interval by interval.
fn batches(summary: &Summary) -> Vec<&Classes> {
    let intervals = summary.series.intervals().iter();
    intervals.filter(|interval| interval.phase != Phase::WarmUp).map(|interval| &interval.latency).collect()
}

fn confidence(summary: &Summary) -> Vec<Confidence> {
    let batches = batches(summary);
    let named = |figure: String, batched: BatchedEstimate| {
        let Ends { low, high } = Ends::of(&batched.estimate);
        let value = in_ms(batched.estimate.value());
        Confidence { figure, value, low, high, inflation: batched.inflation }
    };
    let mean = BatchedEstimate::of_mean(&batches).map(|mean| named("mean".to_owned(), mean));
    let quantiles = CONFIDENT.into_iter().filter_map(|share| {
        let batched = BatchedEstimate::of_quantile(&batches, share)?;
        Some(named(quantile_name(share), batched))
    });
    mean.into_iter().chain(quantiles).collect()
}

/// Both ends of an interval in milliseconds; a time is not negative.
struct Ends {
    low: Option<f64>,
    high: Option<f64>,
}

impl Ends {
    fn of(estimate: &Estimate) -> Self {
        let interval = estimate.interval();
        Self {
            low: interval.map(|interval| in_ms(interval.low.max(0.0))),
            high: interval.map(|interval| in_ms(interval.high)),
        }
    }
}

/// A beginning whose median differs by no more than this share is as good as the rest: what is cut off there is noise.
const WORTH_CUTTING: f64 = 0.1;

/// The middle of some values; 0 if there are none.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

impl Steady {
    pub(crate) fn of(summary: &Summary) -> Self {
        let width = summary.series.width();
        let whole: Vec<&Interval> =
            summary.series.measured().filter(|interval| interval.length == width).collect();
        let medians: Vec<f64> = whole
            .iter()
            .filter_map(|interval| interval.latency.quantile(0.5))
            .map(|median| median.as_secs_f64())
            .collect();
        if medians.len() < whole.len() {
            // Nothing came back for a second or more: there is no latency to be steady.
            return Self::Unknown;
        }
        match steady_from(&medians) {
            Steadiness::TooShort => Self::Unknown,
            Steadiness::From(index) => {
                let (before, after) = medians.split_at(index);
                let is_other = (median(before) - median(after)).abs() > WORTH_CUTTING * median(after);
                Self::From { seconds: if is_other { width.as_secs_f64() * index as f64 } else { 0.0 } }
            }
            Steadiness::Never => Self::Never,
        }
    }
}
