//! The request that a receiver of OpenTelemetry takes (OTLP 1.x, metrics), as protocol buffers. Sums are cumulative,
//! histograms exponential.
//!
//! <https://opentelemetry.io/docs/specs/otlp/>, <https://opentelemetry.io/docs/specs/semconv/http/http-metrics/>

use std::time::Duration;

use httperf_stats::{Failure, Phase};
use prost::Message as _;

use crate::meter::{RANK_CPU, phase_name};
use crate::otlp_messages::{
    AggregationTemporality, AnyValue, Buckets, Data, ExponentialHistogram, ExponentialHistogramDataPoint,
    ExportMetricsServiceRequest, Gauge, InstrumentationScope, KeyValue, Metric, Number, NumberDataPoint,
    Resource, ResourceMetrics, ScopeMetrics, Sum, Value,
};
use crate::{Distribution, Meter, RankTotals, SCALE, VERDICTS};

/// The media type of a request.
pub const MEDIA_TYPE: &str = "application/x-protobuf";

/// The path of a receiver, where its URL names none.
pub const PATH: &str = "/v1/metrics";

/// The request for what is known at this time. Times since 1970.
#[must_use]
pub fn request(meter: &Meter, started: Duration, now: Duration) -> Vec<u8> {
    let about = &meter.about;
    let mut attributes = vec![
        text("service.name", "httperf"),
        text("service.version", &about.version),
        text("service.instance.id", &about.run),
        text("host.name", &about.host),
        whole("httperf.ranks", about.ranks.into()),
    ];
    attributes.extend(about.rank.map(|rank| whole("httperf.rank", rank.into())));
    let scope = InstrumentationScope { name: "httperf".to_owned(), version: about.version.clone() };
    let points = Points { started: nanos(started), now: nanos(now) };
    let scope_metrics = ScopeMetrics { scope: Some(scope), metrics: metrics(meter, &points) };
    let resource_metrics =
        ResourceMetrics { resource: Some(Resource { attributes }), scope_metrics: vec![scope_metrics] };
    ExportMetricsServiceRequest { resource_metrics: vec![resource_metrics] }.encode_to_vec()
}

fn metrics(meter: &Meter, points: &Points) -> Vec<Metric> {
    let mut metrics = Vec::new();
    let phases = &meter.phases;
    let of_phase = |phase: &Phase| vec![text("httperf.phase", phase_name(*phase))];
    if !phases.is_empty() {
        for (name, description, counts) in meter.counters() {
            let counts = phases
                .iter()
                .zip(counts)
                .map(|((phase, _), count)| points.number(of_phase(phase), Number::AsInt(signed(count))));
            metrics.push(sum(
                &format!("httperf.{}", name.replacen('_', ".", 1)),
                description,
                "1",
                counts.collect(),
            ));
        }
        for (name, description, distributions) in meter.histograms() {
            // What OpenTelemetry calls the duration of a request is our service time.
            let name = match name {
                "call_service" => "http.client.request.duration".to_owned(),
                name => format!("httperf.{}", name.replacen('_', ".", 1)),
            };
            let data_points = phases
                .iter()
                .zip(distributions)
                .map(|((phase, _), times)| points.histogram(of_phase(phase), times));
            let data = Data::ExponentialHistogram(ExponentialHistogram {
                data_points: data_points.collect(),
                aggregation_temporality: AggregationTemporality::Cumulative.into(),
            });
            metrics.push(metric(&name, description, "s", data));
        }
    }
    let errors = phases.iter().flat_map(|(phase, totals)| {
        Failure::ALL.into_iter().map(move |failure| {
            let attributes =
                vec![text("httperf.phase", phase_name(*phase)), text("error.type", &failure.to_string())];
            points.number(attributes, Number::AsInt(signed(totals.errors.count(failure))))
        })
    });
    metrics.push(sum(
        "httperf.errors",
        "Failed connections by the classes of the report",
        "1",
        errors.collect(),
    ));
    let cpu = points.number(Vec::new(), Number::AsDouble(meter.cpu.as_secs_f64()));
    metrics.push(sum("httperf.generator.cpu.time", "Processor time of the workers", "s", vec![cpu]));
    metrics.extend(of_ranks(meter, points));
    let mut gauge = |name: &str, description: &str, unit: &str, value: Number| {
        let data_points = vec![points.number(Vec::new(), value)];
        metrics.push(metric(name, description, unit, Data::Gauge(Gauge { data_points })));
    };
    let count = |count: u64| Number::AsInt(signed(count));
    gauge(
        "httperf.calls.under_way",
        "Calls that were made and have not ended",
        "1",
        count(meter.under_way()),
    );
    gauge("httperf.connections.open", "Connections that are open", "1", count(meter.last.open));
    let lag = Number::AsDouble(meter.last.lag_max.as_secs_f64());
    gauge("httperf.arrival.lag.max", "Largest lag of an arrival in the last second", "s", lag);
    if let Some(asked) = meter.now.asked_per_s {
        gauge("httperf.arrivals.asked", "Planned rate of arrivals", "1/s", Number::AsDouble(asked));
    }
    if let Some(visits) = meter.last.visits {
        gauge("httperf.visits.under_way", "Visits that have begun and not ended", "1", count(visits.open));
    }
    if let Some(streams) = &meter.last.streams {
        gauge("httperf.streams.open", "Streams and WebSockets that are open", "1", count(streams.open));
    }
    let verdicts = VERDICTS.into_iter().enumerate().map(|(index, level)| {
        let is_now = Number::AsInt((meter.now.verdict == Some(index)).into());
        points.number(vec![text("httperf.verdict", level)], is_now)
    });
    let data = Data::Gauge(Gauge { data_points: verdicts.collect() });
    metrics.push(metric("httperf.verdict", "1 for the verdict on the figures so far", "1", data));
    metrics
}

/// The figures of each rank of a fleet.
fn of_ranks(meter: &Meter, points: &Points) -> Vec<Metric> {
    let ranks = &meter.ranks;
    let Some(first) = ranks.first() else { return Vec::new() };
    let each = |value: &dyn Fn(&RankTotals) -> Number| -> Vec<NumberDataPoint> {
        let point = |(rank, totals): (i64, &RankTotals)| {
            points.number(vec![whole("httperf.rank", rank)], value(totals))
        };
        (0..).zip(ranks).map(point).collect()
    };
    let title = |name: &str| format!("httperf.{}", name.replace('_', "."));
    let mut metrics = Vec::new();
    for (index, (name, description, _)) in first.counters().into_iter().enumerate() {
        let counts = each(&|totals| Number::AsInt(signed(totals.counters()[index].2)));
        metrics.push(sum(&title(name), description, "1", counts));
    }
    let cpu = each(&|totals| Number::AsDouble(totals.cpu.as_secs_f64()));
    metrics.push(sum("httperf.rank.generator.cpu.time", RANK_CPU.1, "s", cpu));
    for (index, (name, description, _)) in first.gauges().into_iter().enumerate() {
        let data_points = each(&|totals| Number::AsDouble(totals.gauges()[index].2.as_secs_f64()));
        metrics.push(metric(&title(name), description, "s", Data::Gauge(Gauge { data_points })));
    }
    metrics
}

fn metric(name: &str, description: &str, unit: &str, data: Data) -> Metric {
    Metric {
        name: name.to_owned(),
        description: description.to_owned(),
        unit: unit.to_owned(),
        data: Some(data),
    }
}

fn sum(name: &str, description: &str, unit: &str, data_points: Vec<NumberDataPoint>) -> Metric {
    let aggregation_temporality = AggregationTemporality::Cumulative.into();
    metric(
        name,
        description,
        unit,
        Data::Sum(Sum { data_points, aggregation_temporality, is_monotonic: true }),
    )
}

/// Makes points of one time.
struct Points {
    started: u64,
    now: u64,
}

impl Points {
    fn number(&self, attributes: Vec<KeyValue>, value: Number) -> NumberDataPoint {
        NumberDataPoint {
            attributes,
            start_time_unix_nano: self.started,
            time_unix_nano: self.now,
            value: Some(value),
        }
    }

    fn histogram(&self, attributes: Vec<KeyValue>, times: &Distribution) -> ExponentialHistogramDataPoint {
        let buckets = times.exponential();
        let positive = buckets.first().map(|&(first, _)| {
            let last = buckets.last().map_or(first, |&(last, _)| last);
            let mut bucket_counts = vec![0; (last - first) as usize + 1];
            for (index, count) in &buckets {
                bucket_counts[(index - first) as usize] = *count;
            }
            // Here the lower bound of bucket `i` is the i-th power of the base.
            Buckets { offset: first - 1, bucket_counts }
        });
        ExponentialHistogramDataPoint {
            attributes,
            start_time_unix_nano: self.started,
            time_unix_nano: self.now,
            count: times.count(),
            sum: Some(times.sum_s()),
            scale: SCALE,
            positive,
        }
    }
}

fn text(key: &str, value: &str) -> KeyValue {
    attribute(key, Value::StringValue(value.to_owned()))
}

fn whole(key: &str, value: i64) -> KeyValue {
    attribute(key, Value::IntValue(value))
}

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }) }
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::tests::meter;

    #[test]
    fn a_request_can_be_read_again() {
        let bytes = request(&meter(), Duration::from_secs(100), Duration::from_secs(103));
        let read = ExportMetricsServiceRequest::decode(&bytes[..]).expect("it is a request");
        let metrics = &read.resource_metrics[0].scope_metrics[0].metrics;
        let data = |name: &str| {
            let found = metrics.iter().find(|metric| metric.name == name);
            found.and_then(|metric| metric.data.clone()).unwrap_or_else(|| panic!("no {name}"))
        };
        let Data::Sum(replies) = data("httperf.replies") else { panic!("not a sum") };
        let values: Vec<_> = replies.data_points.iter().map(|point| point.value).collect();
        assert_eq!(values, [Some(Number::AsInt(8)), Some(Number::AsInt(16))]);
        assert_eq!(replies.data_points[0].start_time_unix_nano, 100_000_000_000);
        let Data::ExponentialHistogram(times) = data("httperf.call.latency") else { panic!("no histogram") };
        let point = &times.data_points[1];
        assert_eq!((point.count, point.scale), (16, SCALE));
        let buckets = point.positive.as_ref().expect("there are times");
        assert_eq!(buckets.bucket_counts.iter().sum::<u64>(), 16);
        // 1 ms is between 2^(-319/32) s and 2^(-318/32) s.
        assert_eq!((buckets.offset, buckets.bucket_counts[0]), (-319, 12));
        let Data::ExponentialHistogram(_) = data("http.client.request.duration") else { panic!() };
        let Data::Sum(of_ranks) = data("httperf.rank.calls.offered") else { panic!("not a sum") };
        let values: Vec<_> = of_ranks.data_points.iter().map(|point| point.value).collect();
        assert_eq!(values, [10, 0, 0, 20].map(|count| Some(Number::AsInt(count))));
        assert_eq!(of_ranks.data_points[3].attributes, [whole("httperf.rank", 3)]);
    }

    #[test]
    fn without_times_a_histogram_has_no_buckets() {
        let points = Points { started: 0, now: 1 };
        assert_eq!(points.histogram(Vec::new(), &Distribution::default()).positive, None);
    }
}
