//! Results of `httperf tls-lab`: variants of TLS compared by alternating trials.
//!
//! [`Results`] hold every trial; the forms in which they are shown (tables with a verdict in words, CSV, JSON, a
//! page) are computed here. Each round has one trial of each variant, so figures of the same round were taken
//! under similar conditions: comparisons are made within rounds and averaged over them.

pub(crate) mod csv;
pub(crate) mod document;
pub mod text;
mod verdict;

pub use self::document::schema;
pub use self::verdict::verdict;

use std::time::Duration;

use httperf_stats::{Estimate, Failure, HandshakeKind, Summary};

use crate::number::ratio;
use crate::read::ReadError;

/// All results of an experiment.
#[derive(Clone, Debug)]
pub struct Results {
    /// The server, such as `https://www.example.com:443`.
    pub server: String,
    /// Settings.
    pub settings: TlsLabSettings,
    /// Complete rounds; fewer than requested if the experiment was interrupted.
    pub rounds: u64,
    /// The variants, in the order given.
    pub variants: Vec<Variant>,
}

/// Settings of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlsLabSettings {
    /// Number of rounds.
    pub rounds: u64,
    /// Sequential handshakes of a latency trial.
    pub handshakes: u64,
    /// Handshakes of a trial of the sustained rate; 0 skips these trials.
    pub rate_handshakes: u64,
    /// Concurrent handshakes of such a trial.
    pub concurrency: u32,
    /// Time limit of a connect, and of a handshake.
    pub timeout: Duration,
    /// Seed of the random order of trials.
    pub seed: u64,
    /// True if certificates were verified.
    pub is_verified: bool,
}

/// A variant of the handshake.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Group or cipher suite offered.
    pub name: String,
    /// Full or resumed handshakes.
    pub kind: HandshakeKind,
    /// Outcome.
    pub outcome: TlsLabOutcome,
}

/// Outcome of a variant.
#[derive(Clone, Debug)]
pub enum TlsLabOutcome {
    /// The server did not accept it.
    Refused {
        /// Reason.
        reason: String,
    },
    /// The server accepted it at first, but no handshake of a later trial succeeded.
    Lost {
        /// Number of the round, from 1.
        round: u64,
        /// Reason.
        reason: String,
    },
    /// It was measured.
    Measured {
        /// Negotiated parameters.
        agreed: Agreed,
        /// Trials, one for each complete round.
        trials: Vec<Trial>,
    },
}

/// Parameters that client and server negotiated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreed {
    /// Protocol version, such as `TLSv1.3`.
    pub version: String,
    /// Cipher suite.
    pub cipher: String,
    /// Key-exchange group, if any.
    pub group: Option<String>,
}

/// Figures of one variant in one round.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Median of the handshake's time, without the connect.
    pub p50: Duration,
    /// 99th percentile: the second slowest of 100 handshakes; `None` if there were fewer than 100.
    pub p99: Option<Duration>,
    /// Mean number of bytes sent per handshake.
    pub sent: f64,
    /// Mean number of bytes received per handshake.
    pub received: f64,
    /// Mean processor time of the client per connection, handshake included.
    pub cpu: Duration,
    /// Completed handshakes per second at the concurrency of the settings; `None` if not measured.
    pub rate: Option<f64>,
    /// Handshakes completed in the round.
    pub completed: u64,
    /// Connections that failed in the round.
    pub failed: u64,
    /// Most frequent reason.
    pub why_failed: Option<String>,
}

impl Trial {
    /// Computes the figures of a round, from a run with sequential handshakes of this kind, and one with
    /// concurrent ones. Returns `None` if the first completed no handshake of that kind.
    #[must_use]
    pub fn of(kind: HandshakeKind, latency: &Summary, rate: Option<&Summary>) -> Option<Self> {
        let handshakes = latency.tls.as_deref()?.handshakes_of(kind);
        let time = &handshakes.time;
        let p99 = time.quantile(0.99).filter(|_| time.moments.count() >= 100);
        let cpu = latency.usage.cpu.total();
        Some(Self {
            p50: time.quantile(0.5)?,
            p99,
            sent: handshakes.sent.mean(),
            received: handshakes.received.mean(),
            cpu: cpu.div_f64(completed(latency).max(1) as f64),
            rate: rate.map(|rate| ratio(completed(rate) as f64, rate.duration.as_secs_f64())),
            completed: completed(latency) + rate.map_or(0, completed),
            failed: latency.errors.total() + rate.map_or(0, |rate| rate.errors.total()),
            why_failed: why_failed(latency).or_else(|| rate.and_then(why_failed)),
        })
    }
}

fn why_failed(summary: &Summary) -> Option<String> {
    let handshakes = summary.tls.as_ref().and_then(|tls| tls.failures.by_frequency().first().copied());
    if let Some((reason, _)) = handshakes {
        return Some(reason.to_owned());
    }
    let commonest = Failure::ALL.into_iter().max_by_key(|&failure| summary.errors.count(failure));
    commonest
        .filter(|&failure| summary.errors.count(failure) > 0)
        .map(|failure| format!("no connection ({failure})"))
}

fn completed(summary: &Summary) -> u64 {
    summary.tls.as_ref().map_or(0, |tls| tls.completed())
}

impl Results {
    /// Reads a document. Figures are computed anew.
    ///
    /// # Errors
    /// If it is of another kind, too new, or broken.
    pub fn read(json: &[u8]) -> Result<Self, ReadError> {
        document::read(json)
    }

    /// Returns true if the experiment ended before its last round.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.rounds < self.settings.rounds
    }

    /// Reference variant: the first that was measured.
    fn base(&self) -> Option<Measured<'_>> {
        self.variants.iter().find_map(Measured::of)
    }
}

impl TlsLabOutcome {
    /// Name of the outcome in documents.
    fn word(&self) -> &'static str {
        match self {
            Self::Refused { .. } => "refused",
            Self::Lost { .. } => "lost",
            Self::Measured { .. } => "measured",
        }
    }

    /// Reason why there are no figures, or why connections failed.
    fn reason(&self) -> Option<&str> {
        match self {
            Self::Refused { reason } | Self::Lost { reason, .. } => Some(reason),
            Self::Measured { trials, .. } => trials.iter().find_map(|trial| trial.why_failed.as_deref()),
        }
    }
}

impl Variant {
    /// Trials of a measured variant.
    #[must_use]
    pub fn trials(&self) -> &[Trial] {
        match &self.outcome {
            TlsLabOutcome::Measured { trials, .. } => trials,
            TlsLabOutcome::Refused { .. } | TlsLabOutcome::Lost { .. } => &[],
        }
    }

    /// Name of the variant, with its kind unless it is full.
    #[must_use]
    pub fn label(&self) -> String {
        match self.kind {
            HandshakeKind::Full => self.name.clone(),
            HandshakeKind::Resumed | HandshakeKind::EarlyData => format!("{} {}", self.name, self.kind),
        }
    }
}

/// A variant with figures. Times are in seconds.
#[derive(Clone, Copy, Debug)]
struct Measured<'a> {
    variant: &'a Variant,
    agreed: &'a Agreed,
    /// Not empty.
    trials: &'a [Trial],
}

impl<'a> Measured<'a> {
    fn of(variant: &'a Variant) -> Option<Self> {
        match &variant.outcome {
            TlsLabOutcome::Measured { agreed, trials } if !trials.is_empty() => {
                Some(Self { variant, agreed, trials })
            }
            TlsLabOutcome::Measured { .. } | TlsLabOutcome::Refused { .. } | TlsLabOutcome::Lost { .. } => {
                None
            }
        }
    }

    fn p50(&self) -> Option<Estimate> {
        Estimate::of_mean(self.trials.iter().map(p50))
    }

    /// 99th percentile; `None` unless each trial has one.
    fn p99(&self) -> Option<Estimate> {
        let values: Option<Vec<f64>> =
            self.trials.iter().map(|trial| Some(trial.p99?.as_secs_f64())).collect();
        Estimate::of_mean(values?)
    }

    fn sent(&self) -> f64 {
        self.mean(|trial| trial.sent)
    }

    fn received(&self) -> f64 {
        self.mean(|trial| trial.received)
    }

    fn cpu(&self) -> Option<Estimate> {
        Estimate::of_mean(self.trials.iter().map(|trial| trial.cpu.as_secs_f64()))
    }

    fn rate(&self) -> Option<Estimate> {
        let values: Option<Vec<f64>> = self.trials.iter().map(|trial| trial.rate).collect();
        Estimate::of_mean(values?)
    }

    fn p50_ratio_to(&self, other: &Self) -> Option<Estimate> {
        Estimate::of_ratio(self.p50_pairs(other))
    }

    fn p50_difference_from(&self, other: &Self) -> Option<Estimate> {
        Estimate::of_difference(self.p50_pairs(other))
    }

    /// Medians of `other` and of this variant in each round.
    fn p50_pairs(&self, other: &Self) -> impl Iterator<Item = (f64, f64)> {
        other.trials.iter().map(p50).zip(self.trials.iter().map(p50))
    }

    fn completed(&self) -> u64 {
        self.trials.iter().map(|trial| trial.completed).sum()
    }

    fn failed(&self) -> u64 {
        self.trials.iter().map(|trial| trial.failed).sum()
    }

    fn mean(&self, of: impl Fn(&Trial) -> f64) -> f64 {
        self.trials.iter().map(of).sum::<f64>() / self.trials.len() as f64
    }

    fn is_resumed(&self) -> bool {
        self.variant.kind != HandshakeKind::Full
    }

    /// Returns true if both are the same row. Names do not tell: a variant may be listed twice.
    fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self.variant, other.variant)
    }
}

fn p50(trial: &Trial) -> f64 {
    trial.p50.as_secs_f64()
}
