//! Results as JSON, for programs.

use httperf_stats::Estimate;
use serde::Serialize;

use super::{Agreed, Measured, Results, TlsLabSettings, Trial, Variant, verdict};
use crate::document;
use crate::number::rounded;

/// Version of the format. Within a version, fields may be added, but are never removed or redefined.
const VERSION: u32 = 1;

/// An indented JSON document with a line end. `docs/reference/tls-lab.md` describes it.
#[must_use]
pub fn json(results: &Results) -> String {
    document::json(&Document::of(results))
}

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    httperf: &'static str,
    server: &'a str,
    settings: SettingsObject,
    rounds_complete: u64,
    interrupted: bool,
    variants: Vec<VariantObject<'a>>,
    verdict: Vec<String>,
}

#[derive(Serialize)]
struct SettingsObject {
    rounds: u64,
    handshakes: u64,
    rate_handshakes: u64,
    concurrency: u32,
    timeout_s: f64,
    seed: u64,
    verify: bool,
}

#[derive(Serialize)]
struct VariantObject<'a> {
    name: &'a str,
    kind: String,
    outcome: &'static str,
    reason: Option<&'a str>,
    figures: Option<Figures<'a>>,
}

#[derive(Serialize)]
struct Figures<'a> {
    tls_version: &'a str,
    cipher: &'a str,
    group: Option<&'a str>,
    completed: u64,
    failed: u64,
    p50_us: Option<EstimateObject>,
    p99_us: Option<EstimateObject>,
    sent_bytes: f64,
    received_bytes: f64,
    cpu_us: Option<EstimateObject>,
    rate_per_s: Option<EstimateObject>,
    p50_ratio: Option<EstimateObject>,
    p50_difference_us: Option<EstimateObject>,
    trials: Vec<TrialObject>,
}

#[derive(Serialize)]
struct EstimateObject {
    mean: f64,
    low: Option<f64>,
    high: Option<f64>,
}

#[derive(Serialize)]
struct TrialObject {
    p50_us: f64,
    p99_us: Option<f64>,
    sent_bytes: f64,
    received_bytes: f64,
    cpu_us: f64,
    rate_per_s: Option<f64>,
    completed: u64,
    failed: u64,
}

impl<'a> Document<'a> {
    fn of(results: &'a Results) -> Self {
        let base = results.base();
        Self {
            format: "httperf-tls-lab",
            version: VERSION,
            httperf: env!("CARGO_PKG_VERSION"),
            server: &results.server,
            settings: SettingsObject::of(&results.settings),
            rounds_complete: results.rounds,
            interrupted: results.is_interrupted(),
            variants: results
                .variants
                .iter()
                .map(|variant| VariantObject::of(variant, base.as_ref()))
                .collect(),
            verdict: verdict(results),
        }
    }
}

impl SettingsObject {
    fn of(settings: &TlsLabSettings) -> Self {
        let TlsLabSettings { rounds, handshakes, rate_handshakes, concurrency, timeout, seed, is_verified } =
            *settings;
        let timeout_s = timeout.as_secs_f64();
        Self { rounds, handshakes, rate_handshakes, concurrency, timeout_s, seed, verify: is_verified }
    }
}

impl<'a> VariantObject<'a> {
    fn of(variant: &'a Variant, base: Option<&Measured<'_>>) -> Self {
        let measured = Measured::of(variant);
        Self {
            name: &variant.name,
            kind: variant.kind.to_string(),
            outcome: variant.outcome.word(),
            reason: variant.outcome.reason(),
            figures: measured.zip(base).map(|(measured, base)| Figures::of(&measured, base)),
        }
    }
}

impl<'a> Figures<'a> {
    fn of(measured: &Measured<'a>, base: &Measured<'_>) -> Self {
        let Agreed { version, cipher, group } = measured.agreed;
        Self {
            tls_version: version,
            cipher,
            group: group.as_deref(),
            completed: measured.completed(),
            failed: measured.failed(),
            p50_us: estimate(measured.p50(), 1e6),
            p99_us: estimate(measured.p99(), 1e6),
            sent_bytes: rounded(measured.sent()),
            received_bytes: rounded(measured.received()),
            cpu_us: estimate(measured.cpu(), 1e6),
            rate_per_s: estimate(measured.rate(), 1.0),
            p50_ratio: estimate(measured.p50_ratio_to(base), 1.0),
            p50_difference_us: estimate(measured.p50_difference_from(base), 1e6),
            trials: measured.trials.iter().map(TrialObject::of).collect(),
        }
    }
}

impl TrialObject {
    fn of(trial: &Trial) -> Self {
        let us = |duration: std::time::Duration| rounded(duration.as_secs_f64() * 1e6);
        Self {
            p50_us: us(trial.p50),
            p99_us: trial.p99.map(us),
            sent_bytes: rounded(trial.sent),
            received_bytes: rounded(trial.received),
            cpu_us: us(trial.cpu),
            rate_per_s: trial.rate.map(rounded),
            completed: trial.completed,
            failed: trial.failed,
        }
    }
}

/// An estimate, times `scale`.
fn estimate(estimate: Option<Estimate>, scale: f64) -> Option<EstimateObject> {
    let estimate = estimate?;
    let interval = estimate.interval();
    Some(EstimateObject {
        mean: rounded(estimate.value() * scale),
        low: interval.map(|interval| rounded(interval.low * scale)),
        high: interval.map(|interval| rounded(interval.high * scale)),
    })
}
