//! The forms that Prometheus reads: OpenMetrics text, and its protocol buffers, which have native histograms.
//!
//! <https://prometheus.io/docs/specs/om/open_metrics_spec/>, <https://prometheus.io/docs/specs/native_histograms/>

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{self, Registry};
use prost::Message as _;

use crate::families::{Family, Kind, Label, LabelValue, Labels, Unit, Value, families};
use crate::prometheus_messages::{Bucket, BucketSpan, Histogram, LabelPair, Metric, MetricFamily, Number};
use crate::{Distribution, Meter, SCALE};

/// Beginning of the names of all metrics.
const PREFIX: &str = "httperf";

/// End of the names of rates.
const PER_SECOND: &str = "per_second";

/// The media type of [`text()`].
pub const TEXT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The media type of [`protobuf()`].
pub const PROTOBUF_TYPE: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

/// Returns true if a client that accepts these media types wants [`protobuf()`].
#[must_use]
pub fn wants_protobuf(accept: &str) -> bool {
    // Clients list what they like best first.
    let first = accept.split(',').next().unwrap_or_default().replace(' ', "").to_ascii_lowercase();
    first.starts_with("application/vnd.google.protobuf")
        && first.contains("proto=io.prometheus.client.metricfamily")
        && first.contains("encoding=delimited")
}

/// The metrics as text.
#[must_use]
pub fn text(meter: &Meter) -> String {
    let mut registry = Registry::with_prefix(PREFIX);
    registry.register_collector(Box::new(Metrics(meter.clone())));
    let mut out = String::new();
    text::encode(&mut out, &registry).expect("a String takes everything");
    out
}

/// The metrics as protocol buffers, each with its length before it. Histograms are native and have classic buckets too.
#[must_use]
pub fn protobuf(meter: &Meter) -> Vec<u8> {
    families(meter)
        .iter()
        .flat_map(|family| MetricFamily::of(family).encode_length_delimited_to_vec())
        .collect()
}

/// All metrics of a run, for the text.
#[derive(Debug)]
struct Metrics(Meter);

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Self(meter) = self;
        families(meter).iter().try_for_each(|family| encode(family, &mut encoder))
    }
}

/// The name of a family without the common beginning, unit and suffix.
fn name(family: &Family<'_>) -> String {
    family.name.replace('.', "_")
}

impl Label {
    fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Version => "version",
            Self::Host => "host",
            Self::Ranks => "ranks",
            Self::Rank => "rank",
            Self::Phase => "phase",
            Self::Level => "level",
            Self::Kind => "kind",
            Self::Outcome => "outcome",
        }
    }
}

fn encode(family: &Family<'_>, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let kind = match family.kind {
        Kind::Info => MetricType::Info,
        Kind::Counter => MetricType::Counter,
        Kind::Gauge => MetricType::Gauge,
        Kind::Histogram => MetricType::Histogram,
    };
    let unit = match family.unit {
        Unit::One => None,
        Unit::Seconds => Some(registry::Unit::Seconds),
        Unit::PerSecond => Some(registry::Unit::Other(PER_SECOND.to_owned())),
    };
    let name = name(family);
    let mut metrics = encoder.encode_descriptor(&name, family.help, unit.as_ref(), kind)?;
    for (labels, value) in &family.metrics {
        let labels: Vec<_> = labels.iter().map(|(label, value)| (label.name(), value.to_string())).collect();
        if family.kind == Kind::Info {
            metrics.encode_info(&labels)?;
        } else if labels.is_empty() {
            encode_value(family.kind, value, &mut metrics)?;
        } else {
            encode_value(family.kind, value, &mut metrics.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

fn encode_value(kind: Kind, value: &Value<'_>, metric: &mut MetricEncoder<'_>) -> fmt::Result {
    match (kind, value) {
        (Kind::Counter, Value::Whole(value)) => metric.encode_counter::<NoLabelSet, u64, f64>(value, None),
        (Kind::Counter, Value::Real(value)) => metric.encode_counter::<NoLabelSet, f64, f64>(value, None),
        (_, Value::Whole(value)) => metric.encode_gauge(value),
        (_, Value::Real(value)) => metric.encode_gauge(value),
        (_, Value::Times(times)) => {
            metric.encode_histogram::<NoLabelSet>(times.sum_s(), times.count(), &times.buckets(), None)
        }
    }
}

impl MetricFamily {
    fn of(family: &Family<'_>) -> Self {
        // Of `io.prometheus.client.MetricType`.
        let (suffix, kind) = match family.kind {
            Kind::Info => ("_info", 1),
            Kind::Counter => ("_total", 0),
            Kind::Gauge => ("", 1),
            Kind::Histogram => ("", 4),
        };
        let unit = match family.unit {
            Unit::One => "",
            Unit::Seconds => "seconds",
            Unit::PerSecond => PER_SECOND,
        };
        let separator = if unit.is_empty() { "" } else { "_" };
        Self {
            name: format!("{PREFIX}_{}{separator}{unit}{suffix}", name(family)),
            help: family.help.to_owned(),
            kind,
            metric: family
                .metrics
                .iter()
                .map(|(labels, value)| Metric::of(family.kind, labels, value))
                .collect(),
            unit: unit.to_owned(),
        }
    }
}

impl Metric {
    fn of(kind: Kind, labels: &Labels, value: &Value<'_>) -> Self {
        let label = |(label, value): &(Label, LabelValue)| LabelPair {
            name: label.name().to_owned(),
            value: value.to_string(),
        };
        let mut metric = Self { label: labels.iter().map(label).collect(), ..Self::default() };
        let number = match *value {
            Value::Whole(value) => value as f64,
            Value::Real(value) => value,
            Value::Times(times) => {
                metric.histogram = Some(Histogram::of(times));
                return metric;
            }
        };
        match kind {
            Kind::Counter => metric.counter = Some(Number { value: number }),
            _ => metric.gauge = Some(Number { value: number }),
        }
        metric
    }
}

impl Histogram {
    fn of(times: &Distribution) -> Self {
        let (spans, deltas) = spans(&times.exponential());
        let mut cumulative_count = 0;
        let bucket = times.buckets().into_iter().map(|(upper_bound, count)| {
            cumulative_count += count;
            Bucket { cumulative_count, upper_bound }
        });
        Self {
            sample_count: times.count(),
            sample_sum: times.sum_s(),
            bucket: bucket.collect(),
            schema: SCALE,
            positive_span: spans.into_iter().map(|(offset, length)| BucketSpan { offset, length }).collect(),
            positive_delta: deltas,
        }
    }
}

/// Buckets as native histograms have them: spans of buckets without gaps (distance from the end of the span before, and
/// length), and the difference of each count from the one before.
fn spans(buckets: &[(i32, u64)]) -> (Vec<(i32, u32)>, Vec<i64>) {
    let (mut spans, mut deltas) = (Vec::<(i32, u32)>::new(), Vec::new());
    let (mut end, mut count_before) = (0, 0);
    for &(index, count) in buckets {
        match spans.last_mut() {
            Some(span) if index == end => span.1 += 1,
            _ => spans.push((index - end, 1)),
        }
        end = index + 1;
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        deltas.push(count - count_before);
        count_before = count;
    }
    if spans.is_empty() {
        // An empty span tells a native histogram without times from one that has classic buckets alone.
        spans.push((0, 0));
    }
    (spans, deltas)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::tests::meter;

    #[test]
    fn text_has_every_figure() {
        let text = text(&meter());
        for line in [
            r#"httperf_run_info{run="r1",version="1.0.0",host="n 1",ranks="4"} 1"#,
            r#"httperf_phase{phase="measured"} 1"#,
            r#"httperf_phase{phase="drain"} 0"#,
            r#"httperf_verdict{level="suspect"} 1"#,
            "httperf_generator_cpu_seconds_total 0.06",
            r#"httperf_arrivals_total{phase="measured"} 20"#,
            r#"httperf_replies_total{phase="warm_up"} 8"#,
            r#"httperf_calls_failed_total{phase="measured"} 2"#,
            r#"httperf_errors_total{phase="measured",kind="connrefused"} 2"#,
            r#"httperf_call_latency_seconds_count{phase="measured"} 16"#,
            r#"httperf_call_latency_seconds_bucket{le="0.001",phase="measured"} 12"#,
            r#"httperf_call_service_seconds_bucket{le="+Inf",phase="measured"} 16"#,
            r#"httperf_arrival_lag_seconds_count{phase="measured"} 20"#,
            "httperf_elapsed_seconds 3.0",
            "httperf_calls_under_way 3",
            "httperf_connections_open 3",
            "httperf_arrivals_asked_per_second 12.5",
            r#"httperf_rank_replies_total{rank="0"} 8"#,
            r#"httperf_rank_replies_total{rank="1"} 0"#,
            r#"httperf_rank_arrivals_total{rank="3"} 20"#,
            r#"httperf_rank_generator_cpu_seconds_total{rank="3"} 0.04"#,
            r#"httperf_rank_elapsed_seconds{rank="3"} 3.0"#,
            "# EOF",
        ] {
            assert!(text.lines().any(|found| found == line), "no `{line}` in:\n{text}");
        }
    }

    #[test]
    fn before_the_first_second_there_is_little() {
        let text = text(&Meter::default());
        assert!(text.contains("httperf_verdict{level=\"valid\"} 0\n") && text.ends_with("# EOF\n"), "{text}");
    }

    #[test]
    fn both_forms_have_the_same_figures() {
        let (meter, mut in_text) = (meter(), Vec::new());
        let text = text(&meter);
        let mut rest = &protobuf(&meter)[..];
        while !rest.is_empty() {
            let family = MetricFamily::decode_length_delimited(&mut rest).expect("it is a family");
            for metric in &family.metric {
                let labels = metric.label.iter().map(|label| format!("{}=\"{}\"", label.name, label.value));
                let labels = labels.collect::<Vec<_>>().join(",");
                let (name, number) = match (&metric.counter, &metric.gauge, &metric.histogram) {
                    (Some(number), None, None) | (None, Some(number), None) => {
                        (family.name.clone(), number.value)
                    }
                    (None, None, Some(times)) => {
                        let last = times.bucket.last().expect("there are buckets");
                        assert_eq!(
                            (last.upper_bound, last.cumulative_count),
                            (f64::INFINITY, times.sample_count)
                        );
                        (format!("{}_count", family.name), times.sample_count as f64)
                    }
                    _ => panic!("{metric:?}"),
                };
                in_text.push((if labels.is_empty() { name } else { format!("{name}{{{labels}}}") }, number));
            }
        }
        let is_of_histogram = |name: &str| name.contains("_bucket{") || name.contains("_sum{");
        let lines =
            text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.rsplit_once(' '));
        let lines: Vec<_> = lines
            .filter(|(name, _)| !is_of_histogram(name))
            .map(|(name, number)| (name.to_owned(), number.parse::<f64>().expect("a number")))
            .collect();
        assert!(lines.len() > 50);
        assert_eq!(in_text, lines);
    }

    #[test]
    fn buckets_become_spans_and_differences() {
        assert_eq!(spans(&[(-3, 2), (-2, 5), (4, 1)]), (vec![(-3, 2), (5, 1)], vec![2, 3, -4]));
        assert_eq!(spans(&[]), (vec![(0, 0)], vec![]));
    }

    #[test]
    fn protocol_buffers_are_for_those_who_like_them_best() {
        let native = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,\
                      application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1";
        assert!(wants_protobuf(native));
        assert!(!wants_protobuf("application/openmetrics-text;version=1.0.0,*/*"));
        assert!(!wants_protobuf("") && !wants_protobuf("*/*"));
        assert!(!protobuf(&meter()).is_empty());
    }
}
