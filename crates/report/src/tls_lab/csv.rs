//! Results as CSV, for spreadsheets.

use httperf_stats::Estimate;
use serde::Serialize;

use super::{Measured, Results, Variant};
use crate::number::rounded;

/// A header line and a line for each variant. Unknown values are empty. `docs/reference/tls-lab.md` describes
/// it.
pub(crate) fn csv(results: &Results) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let base = results.base();
    for variant in &results.variants {
        writer.serialize(Row::of(variant, base.as_ref())).expect("a row is flat, and memory takes it");
    }
    let bytes = writer.into_inner().expect("memory takes what was written");
    String::from_utf8(bytes).expect("all of it is text")
}

/// A line. New columns go at the end.
#[derive(Debug, Default, Serialize)]
struct Row<'a> {
    variant: &'a str,
    kind: String,
    outcome: &'static str,
    reason: Option<&'a str>,
    tls_version: Option<&'a str>,
    cipher: Option<&'a str>,
    group: Option<&'a str>,
    rounds: usize,
    completed: u64,
    failed: u64,
    p50_us: Option<f64>,
    p50_us_low: Option<f64>,
    p50_us_high: Option<f64>,
    p99_us: Option<f64>,
    p99_us_low: Option<f64>,
    p99_us_high: Option<f64>,
    sent_bytes: Option<f64>,
    received_bytes: Option<f64>,
    cpu_us: Option<f64>,
    cpu_us_low: Option<f64>,
    cpu_us_high: Option<f64>,
    rate_per_s: Option<f64>,
    rate_per_s_low: Option<f64>,
    rate_per_s_high: Option<f64>,
    p50_ratio: Option<f64>,
    p50_ratio_low: Option<f64>,
    p50_ratio_high: Option<f64>,
}

impl<'a> Row<'a> {
    fn of(variant: &'a Variant, base: Option<&Measured<'_>>) -> Self {
        let named = Self {
            variant: &variant.name,
            kind: variant.kind.to_string(),
            outcome: variant.outcome.word(),
            reason: variant.outcome.reason(),
            ..Self::default()
        };
        let (Some(measured), Some(base)) = (Measured::of(variant), base) else { return named };
        let [p50_us, p50_us_low, p50_us_high] = columns(measured.p50(), 1e6);
        let [p99_us, p99_us_low, p99_us_high] = columns(measured.p99(), 1e6);
        let [cpu_us, cpu_us_low, cpu_us_high] = columns(measured.cpu(), 1e6);
        let [rate_per_s, rate_per_s_low, rate_per_s_high] = columns(measured.rate(), 1.0);
        let [p50_ratio, p50_ratio_low, p50_ratio_high] = columns(measured.p50_ratio_to(base), 1.0);
        Self {
            tls_version: Some(&measured.agreed.version),
            cipher: Some(&measured.agreed.cipher),
            group: measured.agreed.group.as_deref(),
            rounds: measured.trials.len(),
            completed: measured.completed(),
            failed: measured.failed(),
            p50_us,
            p50_us_low,
            p50_us_high,
            p99_us,
            p99_us_low,
            p99_us_high,
            sent_bytes: Some(rounded(measured.sent())),
            received_bytes: Some(rounded(measured.received())),
            cpu_us,
            cpu_us_low,
            cpu_us_high,
            rate_per_s,
            rate_per_s_low,
            rate_per_s_high,
            p50_ratio,
            p50_ratio_low,
            p50_ratio_high,
            ..named
        }
    }
}

/// Mean and bounds of the interval, times `scale`.
fn columns(estimate: Option<Estimate>, scale: f64) -> [Option<f64>; 3] {
    let interval = estimate.and_then(|estimate| estimate.interval());
    [
        estimate.map(|estimate| estimate.value()),
        interval.map(|interval| interval.low),
        interval.map(|interval| interval.high),
    ]
    .map(|number| number.map(|number| rounded(number * scale)))
}
