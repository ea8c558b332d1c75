//! What is believed of a capacity after some trials: a probability for each rate on a grid.
//!
//! That is the Bayesian way to look for a threshold with answers that may be wrong: probabilistic bisection (Horstein,
//! "Sequential transmission using noiseless feedback", 1963; Waeber, Frazier, Henderson, "Bisection search with noisy
//! responses", 2013), and QUEST (Watson, Pelli, 1983) and its successors, which find thresholds of perception. Before
//! the first trial all orders of magnitude are alike: the prior is flat in the logarithm of the rate. Then, for each
//! trial at rate `r` that lasted `T`, the belief in each capacity `C` is multiplied by how likely that answer is if `C`
//! is true:
//!
//! ```text
//!   above = logistic((ln C + slack(T)/2 − ln r) / (blur · √(T_max / T)))   how far the capacity is above the rate
//!   within:  above + (1 − above) · WRONG_WITHIN
//!   beyond:  (1 − above) + above · WRONG_BEYOND
//! ```
//!
//! *Slack*: just above its capacity a server needs time until its backlog shows, so that a trial passes up to
//! `C · (1 + slack)`; anything between is as likely. *Blur*: a server's capacity varies from second to second, and the
//! longer a trial is, the less of that is left. How much it varies is not known, and found out as well: each blur of a
//! few is believed in as far as the trials agree with it, and the capacity is judged over all of them. So trials that
//! contradict each other make the interval wider. *Wrong*: whatever else may disturb a trial, however long. A
//! disturbance makes a good rate look bad; hardly any makes a bad one look good.

use super::{Observed, Outcome, Settings};

/// How often a trial is within the objectives at a rate that the server does not sustain, beyond its slack; and how
/// often one is that is too short to judge by.
const WRONG_WITHIN: f64 = 0.01;
const WRONG_UNCLEAR: f64 = 0.1;

/// How often a trial is beyond them at a rate that the server does sustain: if it kept answering what came, and if it
/// did not, which hardly anything but too high a rate brings about.
const WRONG_BEYOND: f64 = 0.1;
const WRONG_OVERLOAD: f64 = 0.02;

/// By how much a server's capacity may vary in the longest trials, as a share, and how likely that is beforehand: most
/// servers vary little.
const BLURS: [f64; 4] = [0.002, 0.006, 0.02, 0.1];
const BLUR_WEIGHTS: [f64; BLURS.len()] = [0.3, 0.4, 0.2, 0.1];

/// A server that is offered too much often answers just what it can: so many times likelier than others are capacities
/// near the rate at which it answered, within about this share. One that collapses answers less, and the trials soon
/// outweigh this.
const HINT_WEIGHT: f64 = 30.0;
const HINT_WIDTH: f64 = 0.02;

/// Rates on the grid, and how often it is laid anew over what is left of the range.
const POINTS: usize = 160;
const PASSES: usize = 3;

/// What is left out on either side when the grid is laid anew.
const NEGLIGIBLE: f64 = 1e-4;

/// Rates among which the next is chosen.
const CANDIDATES: usize = 32;

/// A probability for each rate on a grid.
#[derive(Clone, Debug)]
pub(super) struct Belief {
    /// Logarithms of the rates, evenly spaced and ascending.
    points: Vec<f64>,
    /// The probability of each with each blur. They add up to 1.
    weights: Vec<[f64; BLURS.len()]>,
}

impl Belief {
    /// What is believed after these trials, of which there is one at least, of capacities in this range.
    pub(super) fn after(trials: &[Observed], range: (f64, f64), settings: &Settings) -> Self {
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

    fn on_grid(low: f64, high: f64, trials: &[Observed], hint: Option<f64>, settings: &Settings) -> Self {
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
                Outcome::Within => WRONG_WITHIN,
                Outcome::Beyond { is_overload: false } => WRONG_BEYOND,
                Outcome::Beyond { is_overload: true } => WRONG_OVERLOAD,
                Outcome::Unclear => WRONG_UNCLEAR,
                // It says nothing of the server.
                Outcome::ClientLimited => continue,
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

    /// The rate below which the capacity is with this probability.
    pub(super) fn quantile(&self, share: f64) -> f64 {
        self.ln_quantile(share).exp()
    }

    fn ln_quantile(&self, share: f64) -> f64 {
        let step = self.step();
        let mut below = 0.0;
        for (&ln_rate, weights) in self.points.iter().zip(&self.weights) {
            let weight: f64 = weights.iter().sum();
            if below + weight >= share && weight > 0.0 {
                // The weight of a point is spread over the step around it.
                return ln_rate + step * ((share - below) / weight - 0.5);
            }
            below += weight;
        }
        self.points[self.points.len() - 1]
    }

    fn step(&self) -> f64 {
        self.points[1] - self.points[0]
    }

    /// Of all rates the one at which a trial of this length, in seconds, is expected to tell most of the capacity:
    /// where the answer is open, but would not be if the capacity were known.
    pub(super) fn most_telling(&self, length_s: f64, settings: &Settings) -> f64 {
        let (low, high) = (self.ln_quantile(0.005), self.ln_quantile(0.995));
        let candidates = (0..CANDIDATES).map(|n| low + (high - low) * n as f64 / (CANDIDATES - 1) as f64);
        let told = candidates.map(|ln_rate| (ln_rate, self.told_at(ln_rate.exp(), length_s, settings)));
        let best = told.max_by(|one, other| one.1.total_cmp(&other.1));
        best.expect("there are candidates").0.exp()
    }

    /// How much a trial is expected to tell of the capacity: their mutual information, in nats.
    fn told_at(&self, rate: f64, length_s: f64, settings: &Settings) -> f64 {
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

/// Where the answers of trials of a rate and a length change.
struct Edge {
    ln_rate: f64,
    scale: f64,
}

impl Edge {
    fn new(rate: f64, length_s: f64, blur: f64, step: f64, settings: &Settings) -> Self {
        let slack = settings.slack(rate, length_s).ln_1p();
        let varying = blur * (settings.length_max.as_secs_f64() / length_s).sqrt();
        // A quarter of the slack spreads the edge over it. What is finer than the grid cannot be told apart on it.
        let scale = varying.hypot(slack / 4.0).max(step / 2.0);
        Self { ln_rate: rate.ln() - slack / 2.0, scale }
    }

    /// How far a capacity is above this edge: from 0 to 1.
    fn above(&self, ln_capacity: f64) -> f64 {
        1.0 / (1.0 + ((self.ln_rate - ln_capacity) / self.scale).exp())
    }
}

/// The logarithm of the rate at which the server answered when it was offered only a little too much.
fn hint(trials: &[Observed]) -> Option<f64> {
    let overloads = trials.iter().filter(|trial| trial.outcome == Outcome::Beyond { is_overload: true });
    let least = overloads.min_by(|one, other| one.rate.total_cmp(&other.rate))?;
    (least.answered > 0.0).then(|| least.answered.ln())
}

/// How open a question is that is answered yes with this probability, in nats.
fn entropy(share: f64) -> f64 {
    let term = |share: f64| if share > 0.0 { -share * share.ln() } else { 0.0 };
    term(share) + term(1.0 - share)
}
