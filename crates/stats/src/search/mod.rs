//! Search for the highest rate that a server sustains, by trials with noisy answers.
//!
//! ```text
//!               within                    within, at the highest rate allowed
//!             ┌────────┐                ┌───────────────────────────────────► never reached
//!   start ──► doubling ─┴─ beyond ──► narrowing ──► precise enough, on long trials ──► capacity
//!             │    ▲                    at the most informative rate; trials get longer
//!      beyond └────┘ halving ──► beyond at the lowest rate allowed ──► below it
//! ```
//!
//! A [`Search`] opens no socket and reads no clock: it proposes trials and takes their results. Its proposals
//! are a function of its settings and those results.
//!
//! The short trials at the beginning set bounds that may be wrong. Longer trials confirm them before the
//! result relies on them, as in multiple-loss-ratio search, a method for measuring switches (IETF,
//! `draft-ietf-bmwg-mlrsearch`). A single trial beyond the objectives does not end the doubling unless the
//! server fell behind: the same rate is tried again at once. `belief` combines the results of all trials.

mod belief;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::ConfidenceInterval;

use self::belief::Belief;

/// Allowed growth of the number of pending calls during a trial, as a share of its arrivals, if the server
/// keeps up.
pub const BACKLOG_SHARE: f64 = 0.005;

/// Settings of a search. Rates are per second; `min_rate ≤ start ≤ max_rate`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchSettings {
    /// Rate of the first trial.
    pub start: f64,
    /// Lowest rate to try.
    pub min_rate: f64,
    /// Highest rate to try; `None` for as much as the client can offer.
    pub max_rate: Option<f64>,
    /// Desired precision: distance from the capacity to either bound of its interval, as a share.
    pub precision: f64,
    /// Maximum number of trials.
    pub trials: usize,
    /// Minimum length of the first trials.
    pub length_min: Duration,
    /// Length of the last trials, and maximum for all unless a trial needs longer for its arrivals.
    pub length_max: Duration,
    /// Maximum length of a trial that needs longer for its arrivals; at least `length_max`.
    pub length_longest: Duration,
    /// Arrivals needed to judge a trial; trials are extended to reach this number.
    pub arrivals_min: f64,
    /// Wait of a call that violates an objective.
    pub patience: Duration,
}

/// Proposed trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Rate to offer.
    pub rate: f64,
    /// Length.
    pub length: Duration,
}

/// Result of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observed {
    /// Rate proposed.
    pub asked: f64,
    /// Rate offered.
    pub rate: f64,
    /// Length.
    pub length: Duration,
    /// Verdict on the server.
    pub outcome: TrialOutcome,
    /// Rate of satisfactory replies.
    pub answered: f64,
}

/// Verdict of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialOutcome {
    /// The server sustained the rate.
    Within,
    /// It did not.
    Beyond {
        /// True if the server fell behind or failed many calls; false if it only missed an objective.
        is_overload: bool,
    },
    /// The server appeared to sustain the rate, but there were too few samples.
    Unclear,
    /// The server did not sustain the rate, but the client may be the cause.
    ClientLimited,
}

/// Next step of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// Another trial.
    Try(Trial),
    /// The search is over.
    End(End),
}

/// Reason why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The capacity is known with the desired precision.
    Precise,
    /// All trials were used.
    TrialsUsedUp,
    /// The server sustained the highest rate allowed.
    NeverReached,
    /// The client cannot offer more.
    ClientLimited,
    /// The client spoiled several trials in a row, at different rates.
    ClientDisturbed,
    /// The server did not sustain even the lowest rate allowed.
    BelowMinimum,
    /// The longest trials allowed are too short to judge the rates in question.
    TooFewSamples,
}

/// Estimated capacity. Rates are per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Median: the capacity is equally likely to be above or below it.
    pub rate: f64,
    /// Interval that contains the capacity with a probability of 95 %.
    pub interval: ConfidenceInterval,
}

/// State of a search: its settings and the results so far.
#[derive(Clone, Debug)]
pub struct Search {
    settings: SearchSettings,
    observed: Vec<Observed>,
}

/// The search for the client's own limit ends when its bounds are at most this factor apart.
const CLIENT_PRECISION: f64 = 1.1;

/// Offering less than this share of the proposed rate counts as falling short.
const ACHIEVED: f64 = 0.99;

/// Trials whose rates differ by at most this share count as trials at the same rate.
const SAME_RATE: f64 = 0.01;

/// Number of consecutive trials spoiled by the client that ends the search.
const SPOILED_MAX: usize = 4;

/// Lower bound of a guess from the replies of an overloaded server, relative to the last rate.
const GUESS_MIN: f64 = 1.0 / 16.0;

/// Half the width of the interval, in logarithms, above which trials have minimum length: the width after a
/// doubling.
const WIDE: f64 = 0.35;

impl SearchSettings {
    /// Share by which a rate may exceed the capacity and still pass a trial of this length in seconds.
    fn slack(&self, rate: f64, length_s: f64) -> f64 {
        // The backlog grows by (r / C − 1) seconds per second. A few more or fewer calls pending go
        // unnoticed.
        let unnoticed = BACKLOG_SHARE + 16.0 / (rate * length_s);
        (self.patience.as_secs_f64() / length_s).min(unnoticed)
    }

    /// Minimum length of a trial that can confirm a shorter one.
    fn confirms(&self) -> Duration {
        let (min, max) = (self.length_min.as_secs_f64(), self.length_max.as_secs_f64());
        Duration::from_secs_f64((min * max).sqrt())
    }

    /// Length of a trial for this half-width of the interval, in logarithms.
    fn length(&self, half_width: f64) -> Duration {
        let (min, max) = (self.length_min.as_secs_f64(), self.length_max.as_secs_f64());
        let narrow = self.precision.ln_1p().min(WIDE / 2.0);
        let progress = ((WIDE / half_width).ln() / (WIDE / narrow).ln()).clamp(0.0, 1.0);
        Duration::from_secs_f64(min * (max / min).powf(progress))
    }

    /// Trial at this rate, clamped to the range allowed, of this length, or longer if it needs more arrivals.
    fn trial(&self, rate: f64, length: Duration) -> Trial {
        let rate = rounded(rate).clamp(self.min_rate, self.max_rate.unwrap_or(f64::MAX));
        Trial { rate, length: length.max(self.needed(rate)).min(self.longest(rate)) }
    }

    /// Length at which a trial at this rate gets the arrivals it needs.
    fn needed(&self, rate: f64) -> Duration {
        Duration::try_from_secs_f64(self.arrivals_min / rate).unwrap_or(Duration::MAX)
    }

    /// Maximum length of a trial at this rate.
    fn longest(&self, rate: f64) -> Duration {
        self.needed(rate).min(self.length_longest).max(self.length_max)
    }
}

impl Search {
    /// Creates a search without results.
    #[must_use]
    pub fn new(settings: SearchSettings) -> Self {
        Self { settings, observed: Vec::new() }
    }

    /// Adds the result of a trial.
    pub fn note(&mut self, observed: Observed) {
        self.observed.push(observed);
    }

    /// Results so far, in order.
    #[must_use]
    pub fn observed(&self) -> &[Observed] {
        &self.observed
    }

    /// Next step.
    #[must_use]
    pub fn next(&self) -> Next {
        match self.wanted() {
            Next::Try(_) if self.observed.len() >= self.settings.trials => Next::End(End::TrialsUsedUp),
            next => next,
        }
    }

    /// Estimated capacity; `None` until some rates were sustained and others were not.
    #[must_use]
    pub fn estimate(&self) -> Option<Estimate> {
        self.sustained()?;
        self.belief().map(|belief| belief.estimate())
    }

    /// Highest rate sustained, if any. A trial with too few samples does not show that its rate was.
    #[must_use]
    pub fn sustained(&self) -> Option<f64> {
        self.highest(|outcome| outcome == TrialOutcome::Within)
    }

    /// Highest rate at which nothing was missed, if any: the search goes on above it.
    fn passed(&self) -> Option<f64> {
        self.highest(|outcome| matches!(outcome, TrialOutcome::Within | TrialOutcome::Unclear))
    }

    fn wanted(&self) -> Next {
        let settings = &self.settings;
        let Some(last) = self.observed.last() else {
            return Next::Try(settings.trial(settings.start, settings.length_min));
        };
        let again = |length| Next::Try(settings.trial(last.asked, length));
        if last.outcome == TrialOutcome::Unclear && last.length < settings.longest(last.asked) {
            return again(last.length * 2);
        }
        if last.outcome == TrialOutcome::ClientLimited
            && self.count_at(last.asked, TrialOutcome::ClientLimited) < 2
        {
            return again(last.length);
        }
        let within = self.passed();
        let beyond = self.bound(within);
        if let (Some(cap), Some(within)) = (self.client_cap(), within)
            && beyond.is_none_or(|beyond| cap <= beyond)
        {
            return self.towards_cap(within, cap);
        }
        let is_spoiled = |trial: &&Observed| trial.outcome == TrialOutcome::ClientLimited;
        if self.observed.iter().rev().take_while(is_spoiled).count() >= SPOILED_MAX {
            return Next::End(End::ClientDisturbed);
        }
        match (within, beyond) {
            (Some(_), Some(_)) => self.narrow(),
            (None, Some(beyond)) => self.lower(beyond),
            _ if matches!(last.outcome, TrialOutcome::Beyond { .. }) => again(settings.confirms()),
            (Some(within), None) => self.higher(within),
            // The client cannot offer this rate; perhaps it can offer a lower one.
            (None, None) if last.asked <= settings.min_rate => Next::End(End::ClientLimited),
            (None, None) => Next::Try(settings.trial(last.asked / 2.0, settings.length_min)),
        }
    }

    /// Next step if all rates so far, up to this one, were sustained.
    fn higher(&self, within: f64) -> Next {
        let settings = &self.settings;
        let Some(max) = settings.max_rate.filter(|&max| within >= max * ACHIEVED) else {
            return Next::Try(settings.trial(within * 2.0, settings.length_min));
        };
        let at_max = self.at(max);
        let is_unclear = at_max.clone().any(|trial| trial.outcome == TrialOutcome::Unclear);
        if is_unclear {
            return Next::End(End::TooFewSamples);
        }
        let is_confirmed = at_max
            .filter(|trial| trial.outcome == TrialOutcome::Within)
            .any(|trial| trial.length >= settings.confirms());
        match is_confirmed {
            true => Next::End(End::NeverReached),
            false => Next::Try(settings.trial(max, settings.length_max)),
        }
    }

    /// Next step if none of the rates so far, down to this one, was sustained.
    fn lower(&self, beyond: f64) -> Next {
        let settings = &self.settings;
        if beyond <= settings.min_rate {
            let times = self.at(beyond).filter(|trial| trial.is_beyond()).count();
            return match times {
                0 | 1 => Next::Try(settings.trial(beyond, settings.confirms())),
                _ => Next::End(End::BelowMinimum),
            };
        }
        let answered = self.at(beyond).map(|trial| trial.answered).fold(0.0, f64::max);
        let guess = answered * (1.0 - settings.precision);
        let next = if guess < beyond * ACHIEVED { guess.max(beyond * GUESS_MIN) } else { beyond / 2.0 };
        let next = if self.has_overload_at(beyond) { next } else { beyond / 2.0 };
        Next::Try(settings.trial(next, settings.length_min))
    }

    /// Next step if the capacity, or the client's limit, lies between these rates.
    fn towards_cap(&self, within: f64, cap: f64) -> Next {
        // The client was asked for a higher rate and offered no more than before.
        let offered: Vec<f64> =
            self.observed.iter().filter(|trial| trial.is_short_of_rate()).map(|trial| trial.rate).collect();
        let is_level = match offered[..] {
            [.., one, other] => (one / other).max(other / one) <= CLIENT_PRECISION,
            _ => false,
        };
        if is_level || cap <= within * CLIENT_PRECISION {
            return Next::End(End::ClientLimited);
        }
        Next::Try(self.settings.trial((within * cap).sqrt(), self.settings.length_min))
    }

    /// Next step if some rates were sustained and others were not.
    fn narrow(&self) -> Next {
        let settings = &self.settings;
        let belief = self.belief().expect("there are trials on both sides");
        let Estimate { rate, interval } = belief.estimate();
        let half_width = (interval.high / interval.low).ln() / 2.0;
        let length = settings.length(half_width);
        let share = 1.0 + settings.precision;
        if rate > interval.low * share || interval.high > rate * share {
            let rate = belief.most_telling(length.as_secs_f64(), settings);
            return Next::Try(settings.trial(rate, length));
        }
        let long = |trial: &&Observed| trial.length >= settings.confirms();
        let mut long_ones = self.observed.iter().filter(long);
        if long_ones
            .clone()
            .any(|trial| trial.outcome == TrialOutcome::Unclear && trial.rate * share >= interval.low)
        {
            return Next::End(End::TooFewSamples);
        }
        let has_within = long_ones
            .clone()
            .any(|trial| trial.outcome == TrialOutcome::Within && trial.rate * share >= interval.low);
        let has_beyond = long_ones.any(|trial| trial.is_beyond() && trial.rate <= interval.high * share);
        match (has_within, has_beyond) {
            (true, true) => Next::End(End::Precise),
            (false, _) => Next::Try(settings.trial(belief.quantile(0.1), settings.length_max)),
            (true, false) => Next::Try(settings.trial(belief.quantile(0.9), settings.length_max)),
        }
    }

    fn belief(&self) -> Option<Belief> {
        let within = self.passed()?;
        self.bound(Some(within))?;
        let told = || self.observed.iter().filter(|trial| trial.tells());
        let lowest = told().map(|trial| trial.rate).fold(f64::INFINITY, f64::min);
        let highest = told().map(|trial| trial.rate).fold(0.0, f64::max);
        Some(Belief::after(&self.observed, (lowest / 2.0, highest * 2.0), &self.settings))
    }

    /// Lowest rate above this one that the server does not sustain, once this is settled: by one trial with
    /// an overload, or by two trials.
    fn bound(&self, within: Option<f64>) -> Option<f64> {
        let above = |trial: &&Observed| trial.is_beyond() && within.is_none_or(|within| trial.rate > within);
        let all: Vec<f64> = self.observed.iter().filter(above).map(|trial| trial.rate).collect();
        let is_settled = all.len() > 1 || all.iter().any(|&rate| self.has_overload_at(rate));
        all.into_iter().min_by(f64::total_cmp).filter(|_| is_settled)
    }

    /// Lowest rate that the client cannot offer. A client that offered as much in another trial is disturbed,
    /// not limited.
    fn client_cap(&self) -> Option<f64> {
        let offered = self.highest(|outcome| outcome != TrialOutcome::ClientLimited).unwrap_or_default();
        let limited = self.observed.iter().filter(|trial| {
            trial.is_short_of_rate() || self.count_at(trial.asked, TrialOutcome::ClientLimited) > 1
        });
        limited.map(|trial| trial.asked).filter(|&asked| asked > offered).min_by(f64::total_cmp)
    }

    fn highest(&self, is_meant: impl Fn(TrialOutcome) -> bool) -> Option<f64> {
        let meant = self.observed.iter().filter(|trial| is_meant(trial.outcome));
        meant.map(|trial| trial.rate).max_by(f64::total_cmp)
    }

    fn at(&self, rate: f64) -> impl Iterator<Item = &Observed> + Clone {
        self.observed.iter().filter(move |trial| (trial.asked / rate - 1.0).abs() <= SAME_RATE)
    }

    fn count_at(&self, rate: f64, outcome: TrialOutcome) -> usize {
        self.at(rate).filter(|trial| trial.outcome == outcome).count()
    }

    fn has_overload_at(&self, rate: f64) -> bool {
        self.at(rate).any(|trial| trial.outcome == TrialOutcome::Beyond { is_overload: true })
    }
}

impl Observed {
    fn is_beyond(&self) -> bool {
        matches!(self.outcome, TrialOutcome::Beyond { .. })
    }

    /// Returns true if the trial says something about the server.
    fn tells(&self) -> bool {
        !matches!(self.outcome, TrialOutcome::ClientLimited)
    }

    /// Returns true if the client offered less than the proposed rate, and the server sustained that.
    fn is_short_of_rate(&self) -> bool {
        self.outcome == TrialOutcome::Within && self.rate < self.asked * ACHIEVED
    }
}

impl Belief {
    fn estimate(&self) -> Estimate {
        let interval = ConfidenceInterval { low: self.quantile(0.025), high: self.quantile(0.975) };
        Estimate { rate: self.quantile(0.5), interval }
    }
}

/// Rounds to four digits, which are easier to read.
fn rounded(rate: f64) -> f64 {
    let decimals = 3 - rate.log10().floor() as i32;
    // An integer power of ten keeps the result as close as possible to the decimal fraction.
    let unit = 10_f64.powi(decimals.abs());
    if decimals > 0 { (rate * unit).round() / unit } else { (rate / unit).round() * unit }
}
