//! Belief about the capacity after some trials: a probability for each rate on a grid.
//!
//! This is Bayesian search for a threshold with noisy answers: probabilistic bisection (Horstein, "Sequential
//! transmission using noiseless feedback", 1963; Waeber, Frazier, Henderson, "Bisection search with noisy
//! responses", 2013), and QUEST (Watson, Pelli, 1983) and its successors, which find thresholds of
//! perception. The prior is flat in the logarithm of the rate: before the first trial, all orders of
//! magnitude are equally likely. Each trial at rate `r` of length `T` multiplies the probability of each
//! capacity `C` by the likelihood of its result:
//!
//! ```text
//!   above = logistic((ln C + slack(T)/2 − ln r) / (blur · √(T_max / T)))   1 if the capacity is far above the rate
//!   within:  above + (1 − above) · WRONG_WITHIN
//!   beyond:  (1 − above) + above · WRONG_BEYOND
//! ```
//!
//! *Slack*: just above its capacity, a server needs time until its backlog shows, so a trial passes up to `C
//! · (1 + slack)`; anything in between is equally likely. *Blur*: the capacity of a server varies from second
//! to second, and longer trials average this out. The amount of variation is unknown and estimated too: each
//! of several blurs is weighted by its agreement with the trials, and the capacity is averaged over all of
//! them. Contradictory trials therefore widen the interval. *Wrong*: any other disturbance, regardless of
//! length. Disturbances make a good rate look bad; they hardly ever make a bad one look good.

use super::{Observed, SearchSettings, TrialOutcome};

/// Probability that a trial passes although the server does not sustain the rate, slack included; and the
/// same for a trial that is too short to judge.
const WRONG_WITHIN: f64 = 0.01;
const WRONG_UNCLEAR: f64 = 0.1;

/// Probability that a trial fails although the server sustains the rate: if it kept up with the arrivals, and
/// if it fell behind, for which there is hardly a cause other than too high a rate.
const WRONG_BEYOND: f64 = 0.1;
const WRONG_OVERLOAD: f64 = 0.02;

/// Variation of a server's capacity in the longest trials, as a share, and prior probability of each: most
/// servers vary little.
const BLURS: [f64; 4] = [0.002, 0.006, 0.02, 0.1];
const BLUR_WEIGHTS: [f64; BLURS.len()] = [0.3, 0.4, 0.2, 0.1];

/// A server offered slightly too much often answers exactly at its capacity, so capacities near the rate of
/// its replies, within about this share, get this much more weight. A server that collapses answers less, and
/// the trials soon outweigh the hint.
const HINT_WEIGHT: f64 = 30.0;
const HINT_WIDTH: f64 = 0.02;

/// Number of points on the grid, and number of times it is refined to the range that is left.
const POINTS: usize = 160;
const PASSES: usize = 3;

/// Probability cut off on either side when the grid is refined.
const NEGLIGIBLE: f64 = 1e-4;

/// Number of rates among which the next is chosen.
const CANDIDATES: usize = 32;

/// Probabilities of rates on a grid.
#[derive(Clone, Debug)]
pub(super) struct Belief {
    /// Logarithms of the rates, evenly spaced, ascending.
    points: Vec<f64>,
    /// Joint probability of each rate and each blur. They sum to 1.
    weights: Vec<[f64; BLURS.len()]>,
}

impl Belief {
    /// Computes the belief after these trials, at least one, about capacities in this range.
    pub(super) fn after(trials: &[Observed], range: (f64, f64), settings: &SearchSettings) -> Self {
        let hint = hint(trials);
        let (mut low, mut high) = (range.0.ln(), range.1.ln());
        for pass in 1.. {
            let belief = Self::on_grid(low, high, trials, hint, settings);
            if pass == PASSES {
                return belief;
            }
            let step = belief.step();
            let left = (belief.ln_quantile(NEGLIGIBLE) - step, belief.ln_quantile(1.0 - NEGLIGIBLE) + step);
            (low, high) = (left.0.max(low), left.1.min(high));
        }
        unreachable!("the last pass returns")
    }

    fn on_grid(
        low: f64,
        high: f64,
        trials: &[Observed],
        hint: Option<f64>,
        settings: &SearchSettings,
    ) -> Self {
        let step = (high - low) / (POINTS - 1) as f64;
        let points: Vec<f64> = (0..POINTS).map(|index| low + step * index as f64).collect();
        let prior = |ln_rate: f64| {
            hint.map_or(1.0, |hint| {
                1.0 + HINT_WEIGHT * (-0.5 * ((ln_rate - hint) / HINT_WIDTH.max(step)).powi(2)).exp()
            })
        };
        let mut weights: Vec<_> =
            points.iter().map(|&ln_rate| BLUR_WEIGHTS.map(|weight| weight * prior(ln_rate))).collect();
        for trial in trials {
            let wrong = match trial.outcome {
                TrialOutcome::Within => WRONG_WITHIN,
                TrialOutcome::Beyond { is_overload: false } => WRONG_BEYOND,
                TrialOutcome::Beyond { is_overload: true } => WRONG_OVERLOAD,
                TrialOutcome::Unclear => WRONG_UNCLEAR,
                // The trial says nothing about the server.
                TrialOutcome::ClientLimited => continue,
            };
            let edges =
                BLURS.map(|blur| Edge::new(trial.rate, trial.length.as_secs_f64(), blur, step, settings));
            for (&ln_rate, weights) in points.iter().zip(&mut weights) {
                for (edge, weight) in edges.iter().zip(weights) {
                    let above = edge.above(ln_rate);
                    let own = if trial.is_beyond() { 1.0 - above } else { above };
                    *weight *= own + (1.0 - own) * wrong;
                }
            }
        }
        let sum: f64 = weights.iter().flatten().sum();
        weights.iter_mut().flatten().for_each(|weight| *weight /= sum);
        Self { points, weights }
    }

    /// Rate below which the capacity lies with this probability.
    pub(super) fn quantile(&self, share: f64) -> f64 {
        self.ln_quantile(share).exp()
    }

    fn ln_quantile(&self, share: f64) -> f64 {
        let step = self.step();
        let mut below = 0.0;
        for (&ln_rate, weights) in self.points.iter().zip(&self.weights) {
            let weight: f64 = weights.iter().sum();
            if below + weight >= share && weight > 0.0 {
                // The weight of a point is spread over one step around it.
                return ln_rate + step * ((share - below) / weight - 0.5);
            }
            below += weight;
        }
        self.points[self.points.len() - 1]
    }

    fn step(&self) -> f64 {
        self.points[1] - self.points[0]
    }

    /// Rate at which a trial of this length, in seconds, is expected to be most informative: its answer is
    /// uncertain, but would be certain if the capacity were known.
    pub(super) fn most_telling(&self, length_s: f64, settings: &SearchSettings) -> f64 {
        let (low, high) = (self.ln_quantile(0.005), self.ln_quantile(0.995));
        let candidates = (0..CANDIDATES).map(|n| low + (high - low) * n as f64 / (CANDIDATES - 1) as f64);
        let told = candidates.map(|ln_rate| (ln_rate, self.told_at(ln_rate.exp(), length_s, settings)));
        let best = told.max_by(|one, other| one.1.total_cmp(&other.1));
        best.expect("there are candidates").0.exp()
    }

    /// Expected information of a trial about the capacity: their mutual information, in nats.
    fn told_at(&self, rate: f64, length_s: f64, settings: &SearchSettings) -> f64 {
        let edges = BLURS.map(|blur| Edge::new(rate, length_s, blur, self.step(), settings));
        let (mut within, mut left_open) = (0.0, 0.0);
        for (&ln_rate, weights) in self.points.iter().zip(&self.weights) {
            let weight: f64 = weights.iter().sum();
            if weight < NEGLIGIBLE / POINTS as f64 {
                continue;
            }
            let above: f64 =
                edges.iter().zip(weights).map(|(edge, weight)| edge.above(ln_rate) * weight).sum();
            let share = WRONG_WITHIN + (1.0 - WRONG_WITHIN - WRONG_BEYOND) * above / weight;
            within += share * weight;
            left_open += entropy(share) * weight;
        }
        entropy(within) - left_open
    }
}

/// Rate at which the expected answer of a trial changes.
struct Edge {
    ln_rate: f64,
    scale: f64,
}

impl Edge {
    fn new(rate: f64, length_s: f64, blur: f64, step: f64, settings: &SearchSettings) -> Self {
        let slack = settings.slack(rate, length_s).ln_1p();
        let varying = blur * (settings.length_max.as_secs_f64() / length_s).sqrt();
        // A quarter of the slack spreads the edge over it. The grid cannot resolve anything finer than its
        // step.
        let scale = varying.hypot(slack / 4.0).max(step / 2.0);
        Self { ln_rate: rate.ln() - slack / 2.0, scale }
    }

    /// Position of a capacity relative to this edge: from 0, far below, to 1, far above.
    fn above(&self, ln_capacity: f64) -> f64 {
        1.0 / (1.0 + ((self.ln_rate - ln_capacity) / self.scale).exp())
    }
}

/// Logarithm of the rate of replies in the trial with the smallest overload.
fn hint(trials: &[Observed]) -> Option<f64> {
    let overloads = trials.iter().filter(|trial| trial.outcome == TrialOutcome::Beyond { is_overload: true });
    let least = overloads.min_by(|one, other| one.rate.total_cmp(&other.rate))?;
    (least.answered > 0.0).then(|| least.answered.ln())
}

/// Entropy of a yes/no question with this probability of a yes, in nats.
fn entropy(share: f64) -> f64 {
    let term = |share: f64| if share > 0.0 { -share * share.ln() } else { 0.0 };
    term(share) + term(1.0 - share)
}
