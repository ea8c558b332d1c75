//! The forms that Prometheus reads: OpenMetrics text, and its protocol buffers, which have native histograms.
//!
//! <https://prometheus.io/docs/specs/om/open_metrics_spec/>, <https://prometheus.io/docs/specs/native_histograms/>

use std::fmt;

use httperf_stats::Failure;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeMetric as _, MetricEncoder, NativeHistogram, NativeHistogramBuckets, NoLabelSet,
    prometheus_protobuf, text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

use crate::meter::{RANK_CPU, phase_name};
use crate::{Distribution, Meter, PHASES, SCALE, VERDICTS};

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
    let mut out = String::new();
    text::encode(&mut out, &registry(meter)).expect("a String takes everything");
    out
}

/// The metrics as protocol buffers, each with its length before it. Histograms are native and have classic buckets too.
#[must_use]
pub fn protobuf(meter: &Meter) -> Vec<u8> {
    prometheus_protobuf::encode_to_vec(&registry(meter)).expect("a Vec takes everything")
}

fn registry(meter: &Meter) -> Registry {
    let mut registry = Registry::with_prefix("httperf");
    registry.register_collector(Box::new(Metrics(meter.clone())));
    registry
}

/// All metrics of a run.
#[derive(Debug)]
struct Metrics(Meter);

type Labels = Vec<(&'static str, String)>;

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Self(meter) = self;
        self.encode_about(&mut encoder)?;
        self.encode_counters(&mut encoder)?;
        self.encode_errors(&mut encoder)?;
        self.encode_histograms(&mut encoder)?;
        self.encode_ranks(&mut encoder)?;
        let mut gauge = |name: &str, help: &str, unit: Option<&Unit>, value: f64| {
            ConstGauge::new(value).encode(encoder.encode_descriptor(name, help, unit, MetricType::Gauge)?)
        };
        let seconds = Some(&Unit::Seconds);
        gauge(
            "elapsed",
            "Time from the start of the run to the end of the last second",
            seconds,
            meter.elapsed.as_secs_f64(),
        )?;
        gauge("calls_under_way", "Calls that were made and have not ended", None, meter.under_way() as f64)?;
        gauge("connections_open", "Connections that are open", None, meter.last.open as f64)?;
        gauge(
            "arrival_lag_max",
            "Largest lag of an arrival in the last second",
            seconds,
            meter.last.lag_max.as_secs_f64(),
        )?;
        if let Some(asked) = meter.now.asked_per_s {
            gauge("arrivals_asked_per_second", "Planned rate of arrivals", None, asked)?;
        }
        if let Some(visits) = meter.last.visits {
            gauge("visits_under_way", "Visits that have begun and not ended", None, visits.open as f64)?;
        }
        if let Some(streams) = &meter.last.streams {
            gauge("streams_open", "Streams and WebSockets that are open", None, streams.open as f64)?;
        }
        Ok(())
    }
}

impl Metrics {
    fn encode_about(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Self(meter) = self;
        let about = &meter.about;
        let mut labels: Labels = vec![
            ("run", about.run.clone()),
            ("version", about.version.clone()),
            ("host", about.host.clone()),
            ("ranks", about.ranks.to_string()),
        ];
        labels.extend(about.rank.map(|rank| ("rank", rank.to_string())));
        let mut info = encoder.encode_descriptor("run", "The run", None, MetricType::Info)?;
        info.encode_info(&labels)?;
        let mut phase =
            encoder.encode_descriptor("phase", "1 for the phase of the run", None, MetricType::Gauge)?;
        for one in PHASES {
            let is_now = u32::from(meter.phase() == Some(one));
            labelled(&mut phase, &[("phase", phase_name(one))], |mut metric| metric.encode_gauge(&is_now))?;
        }
        let help = "1 for the verdict on the figures so far";
        let mut verdict = encoder.encode_descriptor("verdict", help, None, MetricType::Gauge)?;
        for (index, level) in VERDICTS.into_iter().enumerate() {
            let is_now = u32::from(meter.now.verdict == Some(index));
            labelled(&mut verdict, &[("level", level)], |mut metric| metric.encode_gauge(&is_now))?;
        }
        let help = "Processor time of the workers";
        let mut cpu =
            encoder.encode_descriptor("generator_cpu", help, Some(&Unit::Seconds), MetricType::Counter)?;
        cpu.encode_counter::<NoLabelSet, f64, f64>(&meter.cpu.as_secs_f64(), None)
    }

    fn encode_counters(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let phases = &self.0.phases;
        if phases.is_empty() {
            return Ok(());
        }
        for (name, help, counts) in self.0.counters() {
            let mut counter = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for ((phase, _), count) in phases.iter().zip(counts) {
                labelled(&mut counter, &[("phase", phase_name(*phase))], |mut metric| {
                    metric.encode_counter::<NoLabelSet, u64, f64>(&count, None)
                })?;
            }
        }
        if phases.iter().all(|(_, totals)| totals.visits.is_none()) {
            return Ok(());
        }
        let mut visits =
            encoder.encode_descriptor("visits", "Visits that have ended", None, MetricType::Counter)?;
        for (phase, totals) in phases {
            let ended = totals.visits.unwrap_or_default();
            for (outcome, count) in [("completed", ended.completed), ("abandoned", ended.abandoned)] {
                let labels = [("phase", phase_name(*phase)), ("outcome", outcome)];
                labelled(&mut visits, &labels, |mut metric| {
                    metric.encode_counter::<NoLabelSet, u64, f64>(&count, None)
                })?;
            }
        }
        Ok(())
    }

    fn encode_errors(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Failed connections by the classes of the report";
        let mut errors = encoder.encode_descriptor("errors", help, None, MetricType::Counter)?;
        for (phase, totals) in &self.0.phases {
            for failure in Failure::ALL {
                let (kind, count) = (failure.to_string(), totals.errors.count(failure));
                let labels = [("phase", phase_name(*phase)), ("kind", &kind[..])];
                labelled(&mut errors, &labels, |mut metric| {
                    metric.encode_counter::<NoLabelSet, u64, f64>(&count, None)
                })?;
            }
        }
        Ok(())
    }

    fn encode_ranks(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let ranks = &self.0.ranks;
        let Some(first) = ranks.first() else { return Ok(()) };
        let seconds = Some(&Unit::Seconds);
        for (index, (name, help, _)) in first.counters().into_iter().enumerate() {
            let mut counter = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (rank, totals) in ranks.iter().enumerate() {
                let count = totals.counters()[index].2;
                labelled(&mut counter, &[("rank", &rank.to_string())], |mut metric| {
                    metric.encode_counter::<NoLabelSet, u64, f64>(&count, None)
                })?;
            }
        }
        let (name, help) = RANK_CPU;
        let mut cpu = encoder.encode_descriptor(name, help, seconds, MetricType::Counter)?;
        for (rank, totals) in ranks.iter().enumerate() {
            labelled(&mut cpu, &[("rank", &rank.to_string())], |mut metric| {
                metric.encode_counter::<NoLabelSet, f64, f64>(&totals.cpu.as_secs_f64(), None)
            })?;
        }
        for (index, (name, help, _)) in first.gauges().into_iter().enumerate() {
            let mut gauge = encoder.encode_descriptor(name, help, seconds, MetricType::Gauge)?;
            for (rank, totals) in ranks.iter().enumerate() {
                let time = totals.gauges()[index].2.as_secs_f64();
                labelled(&mut gauge, &[("rank", &rank.to_string())], |mut metric| {
                    metric.encode_gauge(&time)
                })?;
            }
        }
        Ok(())
    }

    fn encode_histograms(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let phases = &self.0.phases;
        if phases.is_empty() {
            return Ok(());
        }
        for (name, help, distributions) in self.0.histograms() {
            let mut histogram =
                encoder.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Histogram)?;
            for ((phase, _), times) in phases.iter().zip(distributions) {
                labelled(&mut histogram, &[("phase", phase_name(*phase))], |metric| {
                    encode_histogram(metric, times)
                })?;
            }
        }
        Ok(())
    }
}

/// Encodes a metric of a family, with these labels.
fn labelled(
    family: &mut MetricEncoder<'_>,
    labels: &[(&str, &str)],
    encode: impl FnOnce(MetricEncoder<'_>) -> fmt::Result,
) -> fmt::Result {
    let labels = labels.to_vec();
    encode(family.encode_family(&labels)?)
}

fn encode_histogram(mut metric: MetricEncoder<'_>, times: &Distribution) -> fmt::Result {
    let (spans, deltas) = spans(&times.exponential());
    let positive = NativeHistogramBuckets { spans: &spans, deltas: &deltas };
    let negative = NativeHistogramBuckets { spans: &[], deltas: &[] };
    let native = NativeHistogram {
        schema: SCALE,
        zero_threshold: 0.0,
        zero_count: 0,
        negative,
        positive,
        created: None,
    };
    metric.encode_histogram_with_native::<NoLabelSet>(
        times.sum_s(),
        times.count(),
        &times.buckets(),
        None,
        native,
    )
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
            "httperf_calls_under_way 3.0",
            "httperf_connections_open 3.0",
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
