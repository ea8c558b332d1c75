//! The request that a receiver of OpenTelemetry takes (OTLP 1.x, metrics), as protocol buffers. Sums are cumulative,
//! histograms exponential.
//!
//! <https://opentelemetry.io/docs/specs/otlp/>, <https://opentelemetry.io/docs/specs/semconv/http/http-metrics/>

use std::time::Duration;

use prost::Message as _;

use crate::families::{Family, Kind, Label, LabelValue, Unit, Value, about, families};
use crate::otlp_messages::{
    AggregationTemporality, AnyValue, Buckets, Data, ExponentialHistogram, ExponentialHistogramDataPoint,
    ExportMetricsServiceRequest, Gauge, InstrumentationScope, KeyValue, Metric, Number, NumberDataPoint,
    Resource, ResourceMetrics, ScopeMetrics, Sum, Value as AttributeValue,
};
use crate::{Meter, SCALE};

/// The media type of a request.
pub const MEDIA_TYPE: &str = "application/x-protobuf";

/// The path of a receiver, where its URL names none.
pub const PATH: &str = "/v1/metrics";

/// The request for what is known at this time. Times since 1970.
#[must_use]
pub fn request(meter: &Meter, started: Duration, now: Duration) -> Vec<u8> {
    let service = AnyValue { value: Some(AttributeValue::StringValue("httperf".to_owned())) };
    let mut attributes = vec![KeyValue { key: "service.name".to_owned(), value: Some(service) }];
    attributes.extend(about(meter).iter().map(attribute));
    let points = Points { started: nanos(started), now: nanos(now) };
    let version = meter.about.version.clone();
    let scope_metrics = ScopeMetrics {
        scope: Some(InstrumentationScope { name: "httperf".to_owned(), version }),
        metrics: families(meter).iter().filter_map(|family| metric(family, &points)).collect(),
    };
    let resource_metrics =
        ResourceMetrics { resource: Some(Resource { attributes }), scope_metrics: vec![scope_metrics] };
    ExportMetricsServiceRequest { resource_metrics: vec![resource_metrics] }.encode_to_vec()
}

/// The form of a family; `None` if it says what is an attribute of the whole request.
fn metric(family: &Family<'_>, points: &Points) -> Option<Metric> {
    let each = family.metrics.iter().map(|(labels, value)| (labels.iter().map(attribute).collect(), value));
    let aggregation_temporality = AggregationTemporality::Cumulative.into();
    let numbers = || each.clone().filter_map(|(labels, value)| points.number(labels, value)).collect();
    let data = match family.kind {
        Kind::Info => return None,
        Kind::Counter => {
            Data::Sum(Sum { data_points: numbers(), aggregation_temporality, is_monotonic: true })
        }
        Kind::Gauge => Data::Gauge(Gauge { data_points: numbers() }),
        Kind::Histogram => Data::ExponentialHistogram(ExponentialHistogram {
            data_points: each.filter_map(|(labels, value)| points.histogram(labels, value)).collect(),
            aggregation_temporality,
        }),
    };
    let unit = match family.unit {
        Unit::One => "1",
        Unit::Seconds => "s",
        Unit::PerSecond => "1/s",
    };
    let description = family.help.to_owned();
    Some(Metric { name: name(family.name), description, unit: unit.to_owned(), data: Some(data) })
}

/// The name of a family by the semantic conventions.
fn name(name: &str) -> String {
    match name {
        // The duration of a request is our service time.
        "call.service" => "http.client.request.duration".to_owned(),
        name if name.ends_with(".cpu") => format!("httperf.{name}.time"),
        name => format!("httperf.{name}"),
    }
}

fn attribute((label, value): &(Label, LabelValue)) -> KeyValue {
    let key = match label {
        Label::Run => "service.instance.id",
        Label::Version => "service.version",
        Label::Host => "host.name",
        Label::Ranks => "httperf.ranks",
        Label::Rank => "httperf.rank",
        Label::Phase => "httperf.phase",
        Label::Level => "httperf.verdict",
        Label::Kind => "error.type",
        Label::Outcome => "httperf.outcome",
    };
    let value = match value {
        LabelValue::Text(text) => AttributeValue::StringValue(text.to_string()),
        LabelValue::Number(number) => AttributeValue::IntValue((*number).into()),
    };
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }) }
}

/// Makes points of one time.
struct Points {
    started: u64,
    now: u64,
}

impl Points {
    fn number(&self, attributes: Vec<KeyValue>, value: &Value<'_>) -> Option<NumberDataPoint> {
        let value = match *value {
            Value::Whole(count) => Number::AsInt(i64::try_from(count).unwrap_or(i64::MAX)),
            Value::Real(value) => Number::AsDouble(value),
            Value::Times(_) => return None,
        };
        Some(NumberDataPoint {
            attributes,
            start_time_unix_nano: self.started,
            time_unix_nano: self.now,
            value: Some(value),
        })
    }

    fn histogram(
        &self,
        attributes: Vec<KeyValue>,
        value: &Value<'_>,
    ) -> Option<ExponentialHistogramDataPoint> {
        let Value::Times(times) = value else { return None };
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
        Some(ExponentialHistogramDataPoint {
            attributes,
            start_time_unix_nano: self.started,
            time_unix_nano: self.now,
            count: times.count(),
            sum: Some(times.sum_s()),
            scale: SCALE,
            positive,
        })
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use httperf_stats::{Interval, Phase, VisitCounts};

    use super::*;
    use crate::meter::tests::{meter, second};
    use crate::{Distribution, Now};

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
        assert_eq!(of_ranks.data_points[3].attributes, [attribute(&(Label::Rank, LabelValue::Number(3)))]);
    }

    #[test]
    fn a_request_has_every_metric_of_every_kind_of_run() {
        let mut meter = meter();
        let visits = Some(VisitCounts { completed: 3, abandoned: 1, ..VisitCounts::default() });
        meter.add(&Interval { visits, ..second(3, Phase::Measured) }, Now::default());
        let bytes = request(&meter, Duration::ZERO, Duration::from_secs(4));
        let read = ExportMetricsServiceRequest::decode(&bytes[..]).expect("it is a request");
        let sent: Vec<_> =
            read.resource_metrics[0].scope_metrics[0].metrics.iter().map(|metric| &metric.name[..]).collect();
        let families = families(&meter);
        let expected: Vec<_> = families
            .iter()
            .filter(|family| family.kind != Kind::Info)
            .map(|family| name(family.name))
            .collect();
        assert_eq!(sent, expected);
        assert!(sent.contains(&"httperf.visits") && sent.contains(&"httperf.elapsed"), "{sent:?}");
    }

    #[test]
    fn without_times_a_histogram_has_no_buckets() {
        let points = Points { started: 0, now: 1 };
        let times = Distribution::default();
        let point = points.histogram(Vec::new(), &Value::Times(&times)).expect("these are times");
        assert_eq!(point.positive, None);
    }
}
