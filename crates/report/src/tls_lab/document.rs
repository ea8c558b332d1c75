//! Results as a lasting document, for programs.

use std::time::Duration;

use httperf_stats::{Estimate, HandshakeKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Agreed, Measured, Results, TlsLabOutcome, TlsLabSettings, Trial, Variant, verdict};
use crate::document;
use crate::number::rounded;
use crate::read::{self, Kind, ReadError};

/// Indented JSON document with a line end. `docs/reference/tls-lab.md` describes it.
pub(crate) fn json(results: &Results) -> String {
    document::json(&Document::of(results))
}

/// Reads a document. Figures are computed anew.
pub(super) fn read(json: &[u8]) -> Result<Results, ReadError> {
    let document: Document = read::fields(Kind::TlsLab, json)?;
    document.results().map_err(|wrong| ReadError::Contents(Kind::TlsLab, wrong))
}

/// Schema of the documents written, with a line end.
#[must_use]
pub fn schema() -> String {
    document::schema::<Document>()
}

/// Variants of TLS, compared by alternating trials.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(title = "TLS variants compared by httperf", extend("$id" = "urn:httperf:tls-lab:1"))]
struct Document {
    /// Name of the format: `httperf-tls-lab`.
    format: String,
    /// Version of the format.
    version: u32,
    /// Version of the program.
    httperf: String,
    /// The server, such as `https://www.example.com:443`.
    server: String,
    settings: SettingsObject,
    /// Rounds in which every variant had its trial.
    rounds_complete: u64,
    /// True if the experiment ended before its last round.
    interrupted: bool,
    /// Variants in the order given.
    variants: Vec<VariantObject>,
    /// Meaning of the figures, in sentences.
    verdict: Vec<String>,
}

/// Settings of an experiment.
#[derive(Serialize, Deserialize, JsonSchema)]
struct SettingsObject {
    /// Number of rounds.
    rounds: u64,
    /// Sequential handshakes of a latency trial.
    handshakes: u64,
    /// Handshakes of a trial of the sustained rate; 0 skips these trials.
    rate_handshakes: u64,
    /// Concurrent handshakes of such a trial.
    concurrency: u32,
    /// Time limit of a connect, and of a handshake, in seconds.
    timeout_s: f64,
    /// Seed of the random order of trials.
    seed: u64,
    /// True if certificates were verified.
    verify: bool,
}

/// A variant and its outcome.
#[derive(Serialize, Deserialize, JsonSchema)]
struct VariantObject {
    /// Group or cipher suite offered.
    name: String,
    /// `full` or `resumed`.
    kind: String,
    /// `measured`, `refused`, or `lost`: accepted at first, but not in a later round.
    outcome: String,
    /// Reason why there are no figures, or why connections failed.
    reason: Option<String>,
    /// Round in which a variant was lost, from 1. Missing in older documents.
    #[serde(default)]
    lost_in_round: Option<u64>,
    /// Figures of a measured variant.
    figures: Option<Figures>,
}

/// Figures of a variant: means over rounds.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Figures {
    /// Negotiated version, such as `TLSv1.3`.
    tls_version: String,
    /// Negotiated cipher suite.
    cipher: String,
    /// Negotiated group, if any.
    group: Option<String>,
    /// Handshakes completed.
    completed: u64,
    /// Connections that failed.
    failed: u64,
    /// Median handshake, in microseconds.
    p50_us: Option<EstimateObject>,
    /// 99th percentile; missing with fewer than 100 handshakes in a trial.
    p99_us: Option<EstimateObject>,
    /// Bytes sent per handshake.
    sent_bytes: f64,
    /// Bytes received per handshake.
    received_bytes: f64,
    /// Processor time of the client per connection, in microseconds.
    cpu_us: Option<EstimateObject>,
    /// Handshakes per second at the concurrency of the settings.
    rate_per_s: Option<EstimateObject>,
    /// Median as a multiple of that of the first measured variant.
    p50_ratio: Option<EstimateObject>,
    /// Median minus that of the first measured variant.
    p50_difference_us: Option<EstimateObject>,
    /// Figures of each round.
    trials: Vec<TrialObject>,
}

/// A mean with its 95 % confidence interval.
#[derive(Serialize, Deserialize, JsonSchema)]
struct EstimateObject {
    mean: f64,
    low: Option<f64>,
    high: Option<f64>,
}

/// Figures of a variant in one round.
#[derive(Serialize, Deserialize, JsonSchema)]
struct TrialObject {
    /// Median handshake, in microseconds.
    p50_us: f64,
    /// 99th percentile.
    p99_us: Option<f64>,
    /// Bytes sent per handshake.
    sent_bytes: f64,
    /// Bytes received per handshake.
    received_bytes: f64,
    /// Processor time of the client per connection, in microseconds.
    cpu_us: f64,
    /// Handshakes per second.
    rate_per_s: Option<f64>,
    /// Handshakes completed.
    completed: u64,
    /// Connections that failed.
    failed: u64,
    /// Most frequent reason. Missing in older documents.
    #[serde(default)]
    why_failed: Option<String>,
}

impl Document {
    fn of(results: &Results) -> Self {
        let base = results.base();
        Self {
            format: Kind::TlsLab.format().to_owned(),
            version: Kind::TlsLab.version(),
            httperf: env!("CARGO_PKG_VERSION").to_owned(),
            server: results.server.clone(),
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

    /// Returns the results, or the field that has an impossible value.
    fn results(self) -> Result<Results, String> {
        let settings = self.settings.settings().map_err(|wrong| format!("settings.{wrong}"))?;
        let variants = self.variants.into_iter().enumerate();
        let variants = variants
            .map(|(index, variant)| variant.variant().map_err(|wrong| format!("variants[{index}].{wrong}")))
            .collect::<Result<Vec<Variant>, String>>()?;
        Ok(Results { server: self.server, settings, rounds: self.rounds_complete, variants })
    }
}

impl SettingsObject {
    fn of(settings: &TlsLabSettings) -> Self {
        let TlsLabSettings { rounds, handshakes, rate_handshakes, concurrency, timeout, seed, is_verified } =
            *settings;
        let timeout_s = timeout.as_secs_f64();
        Self { rounds, handshakes, rate_handshakes, concurrency, timeout_s, seed, verify: is_verified }
    }

    fn settings(self) -> Result<TlsLabSettings, String> {
        let Self { rounds, handshakes, rate_handshakes, concurrency, timeout_s, seed, verify } = self;
        let timeout = Duration::try_from_secs_f64(timeout_s)
            .map_err(|_| format!("timeout_s: expected seconds from 0, got {timeout_s}"))?;
        Ok(TlsLabSettings {
            rounds,
            handshakes,
            rate_handshakes,
            concurrency,
            timeout,
            seed,
            is_verified: verify,
        })
    }
}

impl VariantObject {
    fn of(variant: &Variant, base: Option<&Measured<'_>>) -> Self {
        let measured = Measured::of(variant);
        Self {
            name: variant.name.clone(),
            kind: variant.kind.to_string(),
            outcome: variant.outcome.word().to_owned(),
            reason: variant.outcome.reason().map(str::to_owned),
            lost_in_round: match variant.outcome {
                TlsLabOutcome::Lost { round, .. } => Some(round),
                TlsLabOutcome::Refused { .. } | TlsLabOutcome::Measured { .. } => None,
            },
            figures: measured.zip(base).map(|(measured, base)| Figures::of(&measured, base)),
        }
    }

    fn variant(self) -> Result<Variant, String> {
        let Self { name, kind, outcome, reason, lost_in_round, figures } = self;
        let kind = HandshakeKind::ALL
            .into_iter()
            .find(|known| known.to_string() == kind)
            .ok_or_else(|| format!("kind: expected full, resumed or early-data, got `{kind}`"))?;
        let reason = || reason.unwrap_or_default();
        let outcome = match &outcome[..] {
            "refused" => TlsLabOutcome::Refused { reason: reason() },
            "lost" => TlsLabOutcome::Lost { round: lost_in_round.unwrap_or_default(), reason: reason() },
            "measured" => match figures {
                Some(figures) => figures.measured().map_err(|wrong| format!("figures.{wrong}"))?,
                None => TlsLabOutcome::Measured { agreed: Agreed::default(), trials: Vec::new() },
            },
            _ => return Err(format!("outcome: expected measured, refused or lost, got `{outcome}`")),
        };
        Ok(Variant { name, kind, outcome })
    }
}

impl Figures {
    fn of(measured: &Measured<'_>, base: &Measured<'_>) -> Self {
        let Agreed { version, cipher, group } = measured.agreed.clone();
        Self {
            tls_version: version,
            cipher,
            group,
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

    fn measured(self) -> Result<TlsLabOutcome, String> {
        let agreed = Agreed { version: self.tls_version, cipher: self.cipher, group: self.group };
        let trials = self.trials.into_iter().enumerate();
        let trials = trials
            .map(|(index, trial)| trial.trial().map_err(|wrong| format!("trials[{index}].{wrong}")))
            .collect::<Result<Vec<Trial>, String>>()?;
        Ok(TlsLabOutcome::Measured { agreed, trials })
    }
}

/// The figures of a round are saved as exactly as they are known, so that those computed from them are the same when the
/// document is read.
impl TrialObject {
    fn of(trial: &Trial) -> Self {
        let us = |duration: Duration| duration.as_nanos() as f64 / 1e3;
        Self {
            p50_us: us(trial.p50),
            p99_us: trial.p99.map(us),
            sent_bytes: trial.sent,
            received_bytes: trial.received,
            cpu_us: us(trial.cpu),
            rate_per_s: trial.rate,
            completed: trial.completed,
            failed: trial.failed,
            why_failed: trial.why_failed.clone(),
        }
    }

    fn trial(self) -> Result<Trial, String> {
        let time = |field: &str, us: f64| {
            let ns = us * 1e3;
            let is_time = (0.0..=u64::MAX as f64).contains(&ns);
            // A time was saved to the nanosecond.
            let wrong = || format!("{field}: expected microseconds from 0, got {us}");
            is_time.then(|| Duration::from_nanos(ns.round() as u64)).ok_or_else(wrong)
        };
        Ok(Trial {
            p50: time("p50_us", self.p50_us)?,
            p99: self.p99_us.map(|us| time("p99_us", us)).transpose()?,
            sent: self.sent_bytes,
            received: self.received_bytes,
            cpu: time("cpu_us", self.cpu_us)?,
            rate: self.rate_per_s,
            completed: self.completed,
            failed: self.failed,
            why_failed: self.why_failed,
        })
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
