//! Comparison of two sides that took turns, in rounds with one trial of each.

use std::collections::BTreeMap;

use httperf_plan::objective::Metric;
use httperf_stats::comparison::paired;
use httperf_stats::{Merge as _, Timing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rows::{Compared, rows as rows_of, value};
use super::void::{Code, Remark};
use super::{Against, Comparison, ComparisonSettings, Method, Remarks, Subject, Turns};
use crate::conclusion::ConclusionKind;
use crate::curves::PercentileCurve;
use crate::result::Document;
use crate::verdict::Level;

/// Largest share of rounds that may be left out.
const LEFT_OUT_MAX: f64 = 0.5;

/// Trials of both sides, collected as they are made.
#[derive(Clone, Debug)]
pub struct Rounds {
    asked: u32,
    seed: u64,
    metrics: Vec<Metric>,
    sides: [Side; 2],
    trials: Vec<Trial>,
}

/// One side.
#[derive(Clone, Debug, Default)]
struct Side {
    name: String,
    /// Summary of all its trials that count; `None` before the first trial.
    subject: Option<Subject>,
    latency: Timing,
    /// Conclusions of these trials, with their number.
    conclusions: BTreeMap<ConclusionKind, u32>,
}

/// One trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// Number of the round, from 1.
    pub round: u32,
    /// 0 for the base, 1 for the new side.
    pub side: usize,
    /// Start: an RFC 3339 date and time, in UTC.
    pub started: Option<String>,
    /// Reliability of its figures.
    pub verdict: Level,
    /// Names of the findings behind the verdict.
    pub reasons: Vec<String>,
    /// True if its round is left out.
    pub is_left_out: bool,
    /// Calls that ended in the trial.
    pub calls: u64,
    /// Figures by metric, in seconds, as a share of 1, or per second.
    pub figures: BTreeMap<String, Option<f64>>,
}

impl Rounds {
    /// Creates an empty collection for two sides with these names.
    #[must_use]
    pub fn new(asked: u32, seed: u64, names: [String; 2], settings: &ComparisonSettings) -> Self {
        let sides = names.map(|name| Side { name, ..Side::default() });
        Self { asked, seed, metrics: settings.metrics(), sides, trials: Vec::new() }
    }

    /// Adds a complete round: the two trials in the order in which they were made, each with its side.
    pub fn add(&mut self, trials: [(usize, &Document); 2]) {
        let round = self.made() + 1;
        let is_left_out = trials.iter().any(|(_, document)| document.verdict.level == Level::Invalid);
        for (side, document) in trials {
            let latency = document.summary.completed().latency;
            let figures = self
                .metrics
                .iter()
                .map(|&metric| (metric.to_string(), value(metric, &document.summary, &latency)));
            let reasons = document.verdict.reasons.iter();
            self.trials.push(Trial {
                round,
                side,
                started: document.parts.first().map(|part| part.started.clone()),
                verdict: document.verdict.level,
                reasons: reasons
                    .filter(|reason| reason.level > Level::Valid)
                    .map(|reason| reason.finding.name().to_owned())
                    .collect(),
                is_left_out,
                calls: document.summary.calls.iter().map(|clocks| clocks.latency.moments.count()).sum(),
                figures: figures.collect(),
            });
            self.sides[side].add(document, &latency, is_left_out);
        }
    }

    /// Number of complete rounds.
    #[must_use]
    pub fn made(&self) -> u32 {
        self.trials.last().map_or(0, |trial| trial.round)
    }

    /// All trials so far.
    #[must_use]
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// Calls of one side that ended, over the rounds that count.
    fn calls(&self, side: usize) -> u64 {
        let trials = self.trials.iter().filter(|trial| trial.side == side && !trial.is_left_out);
        trials.map(|trial| trial.calls).sum()
    }

    fn left_out(&self) -> u32 {
        let rounds = self.trials.chunks_exact(2).filter(|round| round[0].is_left_out);
        u32::try_from(rounds.count()).unwrap_or(u32::MAX)
    }
}

impl Turns {
    /// Figure of both sides in each round that counts and has it, with the number of the round.
    #[must_use]
    pub fn pairs(&self, metric: &str) -> Vec<(u32, f64, f64)> {
        pairs(&self.trials, metric)
    }
}

fn pairs(trials: &[Trial], metric: &str) -> Vec<(u32, f64, f64)> {
    let rounds = trials.chunks_exact(2).filter(|round| !round[0].is_left_out);
    rounds
        .filter_map(|round| {
            let of = |side| round.iter().find(|trial| trial.side == side)?.figures.get(metric).copied()?;
            Some((round[0].round, of(0)?, of(1)?))
        })
        .collect()
}

impl Side {
    /// Summary of its trials, with the curve of their latency.
    fn subject(&self) -> Subject {
        let subject = self.subject.clone().expect("there is at least one round");
        Subject { latency: PercentileCurve::of(&self.latency), conclusion: self.conclusion(), ..subject }
    }

    fn add(&mut self, document: &Document, latency: &Timing, is_left_out: bool) {
        let new = Subject::of(&self.name, document);
        let subject = self.subject.get_or_insert_with(|| Subject {
            duration_s: 0.0,
            replies: 0,
            verdict: Level::Valid,
            ..new.clone()
        });
        if !is_left_out {
            subject.duration_s += new.duration_s;
            subject.replies += new.replies;
            subject.verdict = subject.verdict.max(new.verdict);
            self.latency.merge(latency);
            *self.conclusions.entry(document.conclusion.kind).or_default() += 1;
        }
    }

    /// Conclusions of its trials in words, the most frequent first.
    fn conclusion(&self) -> String {
        let trials: u32 = self.conclusions.values().sum();
        let mut kinds: Vec<_> = self.conclusions.iter().collect();
        kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        match &kinds[..] {
            [(kind, _)] => kind.words(),
            kinds => {
                let each =
                    kinds.iter().map(|(kind, count)| format!("{} ({count} of {trials})", kind.words()));
                each.collect::<Vec<_>>().join(", ")
            }
        }
    }
}

/// Compares two sides that took turns.
///
/// # Panics
/// If there is no round.
#[must_use]
pub fn rounds(rounds: &Rounds, settings: &ComparisonSettings) -> Comparison {
    let [base, new] = rounds.sides.each_ref().map(Side::subject);
    let compared = rounds.metrics.iter().map(|&metric| {
        let pairs: Vec<(f64, f64)> = pairs(&rounds.trials, &metric.to_string())
            .into_iter()
            .map(|(_, base, new)| (base, new))
            .collect();
        let mean = |of: fn(&(f64, f64)) -> f64| {
            (!pairs.is_empty()).then(|| pairs.iter().map(of).sum::<f64>() / pairs.len() as f64)
        };
        let share_of =
            matches!(metric, Metric::Share(_)).then(|| [0, 1].map(|side| rounds.calls(side) as f64));
        let values = [mean(|pair| pair.0), mean(|pair| pair.1)];
        Compared { metric, values, found: paired(&pairs, share_of) }
    });
    let remarks = Remarks { obstacles: obstacles(rounds), warnings: warnings(rounds) };
    let is_void = !remarks.obstacles.is_empty() && !settings.force;
    let rows = if is_void { Vec::new() } else { rows_of(compared.collect(), " in each trial") };
    let turns = Turns {
        rounds_asked: rounds.asked,
        rounds_made: rounds.made(),
        rounds_left_out: rounds.left_out(),
        seed: rounds.seed,
        trials: rounds.trials.clone(),
    };
    let against = vec![Against::new(new, rows, settings, remarks)];
    Comparison::new(Method::Paired(turns), base, against)
}

fn obstacles(rounds: &Rounds) -> Vec<Remark> {
    let (left_out, made) = (rounds.left_out(), rounds.made());
    let is_too_many = f64::from(left_out) > LEFT_OUT_MAX * f64::from(made);
    let text = format!(
        "{left_out} of {made} rounds have a trial that is INVALID: {}",
        reasons(rounds, Level::Invalid)
    );
    is_too_many.then_some(Remark { code: Code::Invalid, text }).into_iter().collect()
}

fn warnings(rounds: &Rounds) -> Vec<Remark> {
    let (left_out, made) = (rounds.left_out(), rounds.made());
    let mut warnings = Vec::new();
    if made < rounds.asked {
        let text = format!("interrupted after {made} of {} rounds", rounds.asked);
        warnings.push(Remark { code: Code::EndedEarly, text });
    }
    if left_out > 0 {
        let of = |count| if count == 1 { "round" } else { "rounds" };
        let (word, why) = (of(left_out), reasons(rounds, Level::Invalid));
        let text = format!("{left_out} {word} of {made} left out, with a trial that is INVALID: {why}");
        warnings.push(Remark { code: Code::Invalid, text });
    }
    let suspect =
        rounds.trials.iter().filter(|trial| !trial.is_left_out && trial.verdict == Level::Suspect).count();
    if suspect > 0 {
        let counted = rounds.trials.iter().filter(|trial| !trial.is_left_out).count();
        let text = format!("{suspect} of {counted} trials are SUSPECT: {}", reasons(rounds, Level::Suspect));
        warnings.push(Remark { code: Code::Suspect, text });
    }
    warnings
}

/// Distinct findings behind verdicts of this level.
fn reasons(rounds: &Rounds, level: Level) -> String {
    let mut names: Vec<&str> = Vec::new();
    for trial in rounds.trials.iter().filter(|trial| trial.verdict == level) {
        for reason in &trial.reasons {
            if !names.contains(&&reason[..]) {
                names.push(reason);
            }
        }
    }
    names.join(", ")
}
