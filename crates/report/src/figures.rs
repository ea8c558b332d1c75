//! Derived figures for people and scripts. Times are in milliseconds, rates per second.

use httperf_plan::Plan;
use httperf_stats::{
    BatchedEstimate, CallOutcome, Classes, Estimate, Interval, KernelFigures, Phase, Steadiness, Summary,
    Timing, steady_from,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::all_calls::AllCalls;
use crate::causes::CauseFigures;
use crate::errors::ErrorFigures;
use crate::in_flight::InFlightFigures;
use crate::number::{in_ms, quantile_name};
use crate::replay::ReplayComparison;
use crate::rpc::GrpcFigures;
use crate::streams::StreamFigures;
use crate::visits::VisitFigures;
use crate::websocket::WebSocketFigures;

/// Figures of a run. Times are in milliseconds, rates per second of the measured phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunFigures {
    /// Length of the measured phase in seconds.
    pub duration_s: f64,
    /// Connections initiated.
    pub connections: u64,
    /// Requests sent.
    pub requests: u64,
    /// Complete replies.
    pub replies: u64,
    /// Failed connections.
    pub errors: u64,
    /// Failed connections by cause, most frequent first.
    #[serde(default)]
    pub causes: Vec<CauseFigures>,
    /// Calls in error, of the calls that were due: the share of errors.
    #[serde(default)]
    pub error_share: ErrorFigures,
    /// Replies by class of status, 1xx to 5xx.
    pub statuses: [u64; 5],
    /// Replies that failed a check.
    #[serde(default)]
    pub unexpected: u64,
    /// Scheduled arrivals per second, of all parts together; `None` if arrivals wait for each other.
    pub rate_asked: Option<f64>,
    /// Arrivals per second that were due in the measured phase, which in a run of a fixed number ends with the last
    /// of them; `None` if arrivals wait for each other, if there were fewer than two, or if they were not recorded.
    #[serde(default)]
    pub offered_rate: Option<f64>,
    /// Connections initiated per second of the measured phase, whatever phase they were due in.
    pub connection_rate: f64,
    /// Requests sent per second of the measured phase, whatever phase they were due in.
    pub request_rate: f64,
    /// Complete replies per second of the measured phase, whatever phase they were due in: the throughput.
    pub reply_rate: f64,
    /// Bytes of requests and replies per second of the measured phase, as the classic report counts them.
    pub bytes_per_second: f64,
    /// Processor time of the program per reply, in microseconds; `None` if there are no replies.
    pub cpu_us_per_reply: Option<f64>,
    /// Replies that were due at a time; `None` in results from versions that did not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<InFlightFigures>,
    /// From the instants at which calls were due to the ends of their replies: answered calls only.
    pub latency_ms: Times,
    /// From the instants at which calls were due to the ends of their replies: all calls, answered or not.
    #[serde(default)]
    pub all_calls: AllCalls,
    /// From the first byte of a request to the end of its reply.
    pub service_ms: Times,
    /// From the first byte of a request to the status line of its reply.
    pub response_ms: Times,
    /// From the status line of a reply to its end.
    pub transfer_ms: Times,
    /// From connect to established, TLS included.
    pub connect_ms: Times,
    /// From the instants at which arrivals were due to the start of the work.
    pub lag_ms: Times,
    /// From the kernel's receipt of the segment that completed a reply to the program's read.
    #[serde(default)]
    pub receive_lag_ms: Times,
    /// Share (0 to 1) of replies with a known receive lag; `None` if there are no replies.
    #[serde(default)]
    pub receive_lag_share: Option<f64>,
    /// From the write of the last bytes of a request to the instant at which the kernel passed them to the
    /// device, for calls stamped by the kernel.
    #[serde(default)]
    pub send_lag_ms: Times,
    /// From the instant at which the kernel passed the last bytes of a request to the device to its receipt of the
    /// segment that completed the reply, for calls stamped by the kernel.
    #[serde(default)]
    pub kernel_ms: Times,
    /// Share (0 to 1) of the replies to calls stamped by the kernel with a known time; `None` if there are none.
    #[serde(default)]
    pub kernel_share: Option<f64>,
    /// Latencies of calls whose replies failed a check.
    #[serde(default)]
    pub unexpected_ms: Times,
    /// Latencies of calls that failed.
    pub failed_ms: Times,
    /// Time since their due instants of calls that were pending when the run ended.
    pub unfinished_ms: Times,
    /// From the instants at which completed sessions were due to their ends; `None` if there are no sessions.
    pub session_ms: Option<Times>,
    /// Visits of scenarios, by scenario, step and load phase; `None` if the workload has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visits: Option<VisitFigures>,
    /// Comparison with the recording; `None` if the workload is no replay, or nothing was recorded to compare with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayComparison>,
    /// Streams and answers of language models; `None` if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<StreamFigures>,
    /// WebSockets; `None` if calls opened none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub websockets: Option<WebSocketFigures>,
    /// Calls of gRPC; `None` if calls are others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grpc: Option<GrpcFigures>,
    /// Confidence intervals of the latency.
    pub confidence: Vec<Confidence>,
    /// Point at which the run became steady.
    pub steady: Steady,
}

/// Percentiles of a time, in milliseconds; `None` if there are too few samples for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Times {
    /// Number of samples.
    pub samples: u64,
    /// Mean.
    pub mean: Option<f64>,
    /// Minimum.
    pub min: Option<f64>,
    /// 50th percentile.
    pub p50: Option<f64>,
    /// 75th percentile.
    #[serde(default)]
    pub p75: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    #[serde(default)]
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    #[serde(rename = "p99.9")]
    pub p999: Option<f64>,
    /// 99.99th percentile.
    #[serde(rename = "p99.99")]
    pub p9999: Option<f64>,
    /// Maximum.
    pub max: Option<f64>,
}

/// A figure of the latency with its 95 % confidence interval, in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Confidence {
    /// Name: `mean`, `p50` and so on.
    pub figure: String,
    /// Value, from latencies rounded to two digits.
    pub value: f64,
    /// Lower bound; `None` if there are too few samples, or the run is too short or never became steady.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
    /// Variance of the figure, divided by that of as many independent calls.
    pub inflation: f64,
}

/// Point at which a run became steady.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Steady {
    /// The run is too short to tell.
    Unknown,
    /// Steady from this point.
    From {
        /// Seconds since the beginning of the measured phase.
        seconds: f64,
    },
    /// Never steady.
    Never,
}

/// Quantiles shown with a confidence interval.
const CONFIDENT: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

impl RunFigures {
    /// Figures of a run by `parts` generators that each followed this plan.
    #[must_use]
    pub fn of(plan: &Plan, summary: &Summary, parts: usize) -> Self {
        let seconds = summary.duration.as_secs_f64();
        let completed = summary.completed();
        let kernel = summary.kernel.as_deref();
        let mean_interval = plan.arrivals.mean_interval();
        let throughput = summary.throughput();
        let cpu_us = summary.usage.cpu.total().as_secs_f64() * 1e6;
        let steady = Steady::of(summary);
        Self {
            duration_s: seconds,
            connections: summary.connections,
            requests: summary.requests,
            replies: summary.replies,
            errors: summary.errors.total(),
            causes: CauseFigures::of(plan, summary),
            error_share: ErrorFigures::of(summary),
            statuses: summary.statuses,
            unexpected: summary.mismatches.total(),
            offered_rate: (mean_interval > 0.0 && plan.recording.detail)
                .then(|| offered_rate(plan, summary))
                .flatten(),
            rate_asked: (mean_interval > 0.0).then(|| parts as f64 / mean_interval),
            connection_rate: throughput.connections,
            request_rate: throughput.requests,
            reply_rate: throughput.replies,
            bytes_per_second: throughput.bytes,
            cpu_us_per_reply: (summary.replies > 0).then(|| cpu_us / summary.replies as f64),
            in_flight: InFlightFigures::of(summary),
            latency_ms: Times::of(&completed.latency),
            all_calls: AllCalls::of(summary),
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
            unexpected_ms: Times::of(&summary.calls_with(CallOutcome::Unexpected).latency),
            failed_ms: Times::of(&summary.calls_with(CallOutcome::Failure).latency),
            unfinished_ms: Times::of(&summary.unfinished),
            session_ms: summary.sessions.as_ref().map(|sessions| Times::of(&sessions.latency)),
            visits: VisitFigures::of(plan, summary),
            replay: ReplayComparison::of(plan, summary),
            streams: StreamFigures::of(plan, summary),
            websockets: WebSocketFigures::of(summary),
            grpc: GrpcFigures::of(summary),
            confidence: confidence(summary, steady),
            steady,
        }
    }
}

/// Arrivals per second that were due. If their number ends the run and not its length, replies take part of that length:
/// the time from the first to the last arrival counts.
fn offered_rate(plan: &Plan, summary: &Summary) -> Option<f64> {
    let arrivals = &summary.arrivals;
    let (seconds, intervals) = match plan.runtime {
        Some(_) => (summary.duration.as_secs_f64(), arrivals.due),
        None => (arrivals.span_due.as_secs_f64(), arrivals.started.saturating_sub(1)),
    };
    (seconds > 0.0 && arrivals.due > 1).then(|| intervals as f64 / seconds)
}

impl Times {
    /// Percentiles of a timing.
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
            p75: quantile(0.75),
            p90: quantile(0.9),
            p95: quantile(0.95),
            p99: quantile(0.99),
            p999: quantile(0.999),
            p9999: quantile(0.9999),
            max: is_any.then(|| in_ms(moments.max())),
        }
    }
}

/// Latencies from the measured phase to the end, interval by interval.
fn batches(summary: &Summary) -> Vec<&Classes> {
    let intervals = summary.series.intervals().iter();
    intervals.filter(|interval| interval.phase != Phase::WarmUp).map(|interval| &interval.latency).collect()
}

/// Figures with their intervals. The figures of a run that never became steady are not those of a longer one: it has none.
fn confidence(summary: &Summary, steady: Steady) -> Vec<Confidence> {
    let batches = batches(summary);
    let named = |figure: String, batched: BatchedEstimate| {
        let ends = Ends::of(&batched.estimate);
        let Ends { low, high } = if steady == Steady::Never { Ends { low: None, high: None } } else { ends };
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

/// Bounds of an interval in milliseconds; times are not negative.
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

/// Largest relative difference between the medians before and after the cut at which the beginning counts as
/// steady too.
const WORTH_CUTTING: f64 = 0.1;

/// Middle one of the sorted values; 0 if there are none.
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
            // Nothing came back for a second or more: there is no latency to judge.
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
