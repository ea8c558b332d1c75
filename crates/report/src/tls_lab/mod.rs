//! What `httperf tls-lab` found out: variants of TLS compared by trials that took turns.
//!
//! [`Results`] hold each trial; what is shown of them (a table with a verdict in words, CSV, JSON) is computed here.
//! Each round has one trial of each variant, so that figures of the same round were taken under about the same
//! conditions: comparisons are made within rounds, and averaged over them.

mod csv;
mod json;
mod table;
mod verdict;

pub use self::csv::csv;
pub use self::json::json;
pub use self::table::table;
pub use self::verdict::verdict;

use std::time::Duration;

use httperf_stats::{Estimate, Failure, HandshakeKind, Summary};

use crate::number::ratio;

/// All that was found out.
#[derive(Clone, Debug)]
pub struct Results {
    /// The server, such as `https://www.example.com:443`.
    pub server: String,
    /// What was asked for.
    pub settings: Settings,
    /// Complete rounds; fewer than asked for if the experiment was interrupted.
    pub rounds: u64,
    /// The variants in the order in which they were named.
    pub variants: Vec<Variant>,
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Rounds.
    pub rounds: u64,
    /// Handshakes of a trial of latency, which are made one after the other.
    pub handshakes: u64,
    /// Handshakes of a trial of the sustained rate; 0 leaves that out.
    pub rate_handshakes: u64,
    /// How many of these go on at once.
    pub concurrency: u32,
    /// How long a connect may take, and then a handshake.
    pub timeout: Duration,
    /// Where the order of the trials comes from.
    pub seed: u64,
    /// Whether certificates were checked.
    pub is_verified: bool,
}

/// A way of making handshakes.
#[derive(Clone, Debug)]
pub struct Variant {
    /// What is offered: the name of a group or of a cipher suite.
    pub name: String,
    /// Whether its handshakes are full or resumed.
    pub kind: HandshakeKind,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a variant.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The server did not accept it.
    Refused {
        /// Why.
        reason: String,
    },
    /// The server accepted it at first, but no handshake of a later trial succeeded.
    Lost {
        /// The round, counted from 1.
        round: u64,
        /// Why.
        reason: String,
    },
    /// It was measured.
    Measured {
        /// What was agreed on.
        agreed: Agreed,
        /// One trial for each complete round.
        trials: Vec<Trial>,
    },
}

/// What client and server agreed on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreed {
    /// Such as `TLSv1.3`.
    pub version: String,
    /// The cipher suite.
    pub cipher: String,
    /// The key-exchange group, if there was one.
    pub group: Option<String>,
}

/// The figures of one variant in one round.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The median of the handshake's time, without that of the connect.
    pub p50: Duration,
    /// Of 100 handshakes, the time of the second slowest; `None` if there were fewer.
    pub p99: Option<Duration>,
    /// Bytes sent for a handshake, on average.
    pub sent: f64,
    /// Bytes received for a handshake, on average.
    pub received: f64,
    /// Processor time of the client for a connection with its handshake, on average.
    pub cpu: Duration,
    /// Completed handshakes in a second at the concurrency asked for; `None` if that was not measured.
    pub rate: Option<f64>,
    /// Handshakes completed in the round.
    pub completed: u64,
    /// Connections that failed in the round.
    pub failed: u64,
    /// Why, for most of them.
    pub why_failed: Option<String>,
}

impl Trial {
    /// The figures of a round, from a run with handshakes of this kind one after the other, and one with several at
    /// once. `None` if the first did not complete any of that kind.
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
    /// Whether the experiment ended before its last round.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.rounds < self.settings.rounds
    }

    /// The variant that all are compared with: the first that was measured.
    fn base(&self) -> Option<Measured<'_>> {
        self.variants.iter().find_map(Measured::of)
    }
}

impl Outcome {
    /// The word for it in documents.
    fn word(&self) -> &'static str {
        match self {
            Self::Refused { .. } => "refused",
            Self::Lost { .. } => "lost",
            Self::Measured { .. } => "measured",
        }
    }

    /// Why there are no figures, or why connections failed.
    fn reason(&self) -> Option<&str> {
        match self {
            Self::Refused { reason } | Self::Lost { reason, .. } => Some(reason),
            Self::Measured { trials, .. } => trials.iter().find_map(|trial| trial.why_failed.as_deref()),
        }
    }
}

impl Variant {
    /// Its name, with its kind unless that is the usual one.
    fn label(&self) -> String {
        match self.kind {
            HandshakeKind::Full => self.name.clone(),
            HandshakeKind::Resumed | HandshakeKind::EarlyData => format!("{} {}", self.name, self.kind),
        }
    }
}

/// A variant of which there are figures. Times are in seconds.
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
            Outcome::Measured { agreed, trials } if !trials.is_empty() => {
                Some(Self { variant, agreed, trials })
            }
            Outcome::Measured { .. } | Outcome::Refused { .. } | Outcome::Lost { .. } => None,
        }
    }

    fn p50(&self) -> Option<Estimate> {
        Estimate::of_mean(self.trials.iter().map(p50))
    }

    /// Unless each trial has one.
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
        Estimate::of_ratio(self.p50_beside(other))
    }

    fn p50_difference_from(&self, other: &Self) -> Option<Estimate> {
        Estimate::of_difference(self.p50_beside(other))
    }

    /// The medians of the other and of this in each round.
    fn p50_beside(&self, other: &Self) -> impl Iterator<Item = (f64, f64)> {
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

    /// Whether this is the same row as the other. Names are no help: a variant may be named twice.
    fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self.variant, other.variant)
    }
}

fn p50(trial: &Trial) -> f64 {
    trial.p50.as_secs_f64()
}
