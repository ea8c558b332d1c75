//! The search for the highest rate that a server sustains, by trials whose answers may be wrong.
//!
//! ```text
//!               within                    within, at the highest rate allowed
//!             ┌────────┐                ┌───────────────────────────────────► never reached
//!   start ──► doubling ─┴─ beyond ──► narrowing ──► precise enough, on long trials ──► capacity
//!             │    ▲                    where a trial tells most; the longer, the narrower
//!      beyond └────┘ halving ──► beyond at the lowest rate allowed ──► below it
//! ```
//!
//! A [`Search`] opens no socket and reads no clock: it says what to try, and is told what came of it. What it says is a
//! function of its settings and of what it was told.
//!
//! The short trials with which a search begins set bounds that may be wrong: they are confirmed by longer ones before
//! the result rests on them, as in multiple-loss-ratio search, which measures switches (IETF,
//! `draft-ietf-bmwg-mlrsearch`). A single trial beyond the objectives does not end the doubling, unless the server fell
//! behind: at once another is made at the same rate. What is believed after all trials is the business of `belief`.

mod belief;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::ConfidenceInterval;

use self::belief::Belief;

/// By how much the calls under way may grow in a trial, as a share of what arrives in it, if the server keeps up.
pub const BACKLOG_SHARE: f64 = 0.005;

/// What is looked for, and how. Rates are per second; `min_rate ≤ start ≤ max_rate`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The rate of the first trial.
    pub start: f64,
    /// The lowest rate that is tried.
    pub min_rate: f64,
    /// The highest rate that is tried; `None` goes on as long as the client can.
    pub max_rate: Option<f64>,
    /// How exact the capacity is to be: the share by which its interval reaches to either side.
    pub precision: f64,
    /// Trials at most.
    pub trials: usize,
    /// How long the first trials are, at least.
    pub length_min: Duration,
    /// How long the last ones are, and trials at most, unless there are too few arrivals in that time.
    pub length_max: Duration,
    /// How long a trial may be for as many arrivals as it needs; at least `length_max`.
    pub length_longest: Duration,
    /// Arrivals that a trial needs to be judged; it is longer than others where that takes longer.
    pub arrivals_min: f64,
    /// How long calls may wait before an objective notices.
    pub patience: Duration,
}

/// What is to be tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// The rate to be offered.
    pub rate: f64,
    /// For how long.
    pub length: Duration,
}

/// What came of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observed {
    /// The rate that was asked for.
    pub asked: f64,
    /// The rate that was offered.
    pub rate: f64,
    /// For how long.
    pub length: Duration,
    /// Whether the server sustained it.
    pub outcome: Outcome,
    /// How much of it the server answered to satisfaction, as a rate.
    pub answered: f64,
}

/// Whether a server sustained a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It did.
    Within,
    /// It did not.
    Beyond {
        /// Whether it fell behind, or failed much of what came, rather than miss an objective only.
        is_overload: bool,
    },
    /// As far as was seen it did, but there was too little to see.
    Unclear,
    /// It did not, and that may be the client's doing.
    ClientLimited,
}

/// What a search wants next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// Another trial.
    Try(Trial),
    /// Nothing more.
    End(End),
}

/// Why a search ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The capacity is known as exactly as was asked for.
    Precise,
    /// The trials were used up.
    TrialsUsedUp,
    /// The highest rate allowed was sustained.
    NeverReached,
    /// The client cannot offer more.
    ClientLimited,
    /// Several trials in a row were spoilt by the client, whatever was tried.
    ClientDisturbed,
    /// Not even the lowest rate allowed was sustained.
    BelowMinimum,
    /// The longest trials at the rates that the server may sustain are too short to tell.
    TooFewSamples,
}

/// What is known of a capacity. Rates are per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// As likely below the capacity as above it.
    pub rate: f64,
    /// The interval in which it is with a probability of 95 %.
    pub interval: ConfidenceInterval,
}

/// A search: what it was told so far.
#[derive(Clone, Debug)]
pub struct Search {
    settings: Settings,
    observed: Vec<Observed>,
}

/// A rate that the client cannot offer is this many times what it can, at most, when the search for it ends.
const CLIENT_PRECISION: f64 = 1.1;

/// Less than this share of what was asked for is less.
const ACHIEVED: f64 = 0.99;

/// Trials at rates no further apart than this share were made at the same.
const SAME_RATE: f64 = 0.01;

/// So many trials in a row that the client spoilt are enough.
const SPOILT_MAX: usize = 4;

/// How far a guess from what an overloaded server answered may be below the last rate.
const GUESS_MIN: f64 = 1.0 / 16.0;

/// Half the width of an interval, in logarithms, up to which trials are as short as allowed: that after a doubling.
const WIDE: f64 = 0.35;

impl Settings {
    /// By which share a rate may be above the capacity and pass a trial of so many seconds.
    fn slack(&self, rate: f64, length_s: f64) -> f64 {
        // The backlog grows by (r / C − 1) seconds in a second. A few calls more or less under way are not noticed.
        let unnoticed = BACKLOG_SHARE + 16.0 / (rate * length_s);
        (self.patience.as_secs_f64() / length_s).min(unnoticed)
    }

    /// Lengths from which on a trial confirms a shorter one.
    fn confirms(&self) -> Duration {
        let (min, max) = (self.length_min.as_secs_f64(), self.length_max.as_secs_f64());
        Duration::from_secs_f64((min * max).sqrt())
    }

    /// How long trials are when half the interval is so wide, in logarithms.
    fn length(&self, half_width: f64) -> Duration {
        let (min, max) = (self.length_min.as_secs_f64(), self.length_max.as_secs_f64());
        let narrow = self.precision.ln_1p().min(WIDE / 2.0);
        let progress = ((WIDE / half_width).ln() / (WIDE / narrow).ln()).clamp(0.0, 1.0);
        Duration::from_secs_f64(min * (max / min).powf(progress))
    }

    /// A trial at this rate, in the range allowed, of this length, or longer if it needs more arrivals.
    fn trial(&self, rate: f64, length: Duration) -> Trial {
        let rate = rounded(rate).clamp(self.min_rate, self.max_rate.unwrap_or(f64::MAX));
        Trial { rate, length: length.max(self.needed(rate)).min(self.longest(rate)) }
    }

    /// How long a trial at this rate is for as many arrivals as it needs.
    fn needed(&self, rate: f64) -> Duration {
        Duration::try_from_secs_f64(self.arrivals_min / rate).unwrap_or(Duration::MAX)
    }

    /// How long a trial at this rate may be.
    fn longest(&self, rate: f64) -> Duration {
        self.needed(rate).min(self.length_longest).max(self.length_max)
    }
}

impl Search {
    /// A search that knows nothing yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings, observed: Vec::new() }
    }

    /// Takes what came of a trial.
    pub fn note(&mut self, observed: Observed) {
        self.observed.push(observed);
    }

    /// What was noted, in order.
    #[must_use]
    pub fn observed(&self) -> &[Observed] {
        &self.observed
    }

    /// What to do next.
    #[must_use]
    pub fn next(&self) -> Next {
        match self.wanted() {
            Next::Try(_) if self.observed.len() >= self.settings.trials => Next::End(End::TrialsUsedUp),
            next => next,
        }
    }

    /// The capacity, as far as it is known: `None` unless there are rates that were sustained and some that were not.
    #[must_use]
    pub fn estimate(&self) -> Option<Estimate> {
        self.belief().map(|belief| belief.estimate())
    }

    /// The highest rate that was sustained, if any was.
    #[must_use]
    pub fn sustained(&self) -> Option<f64> {
        self.highest(|outcome| matches!(outcome, Outcome::Within | Outcome::Unclear))
    }

    fn wanted(&self) -> Next {
        let settings = &self.settings;
        let Some(last) = self.observed.last() else {
            return Next::Try(settings.trial(settings.start, settings.length_min));
        };
        let again = |length| Next::Try(settings.trial(last.asked, length));
        if last.outcome == Outcome::Unclear && last.length < settings.longest(last.asked) {
            return again(last.length * 2);
        }
        if last.outcome == Outcome::ClientLimited && self.count_at(last.asked, Outcome::ClientLimited) < 2 {
            return again(last.length);
        }
        let within = self.sustained();
        let beyond = self.bound(within);
        if let (Some(cap), Some(within)) = (self.client_cap(), within)
            && beyond.is_none_or(|beyond| cap <= beyond)
        {
            return self.towards_cap(within, cap);
        }
        let is_spoilt = |trial: &&Observed| trial.outcome == Outcome::ClientLimited;
        if self.observed.iter().rev().take_while(is_spoilt).count() >= SPOILT_MAX {
            return Next::End(End::ClientDisturbed);
        }
        match (within, beyond) {
            (Some(_), Some(_)) => self.narrow(),
            (None, Some(beyond)) => self.lower(beyond),
            _ if matches!(last.outcome, Outcome::Beyond { .. }) => again(settings.confirms()),
            (Some(within), None) => self.higher(within),
            // What the client cannot offer, it cannot offer; perhaps it can offer less.
            (None, None) if last.asked <= settings.min_rate => Next::End(End::ClientLimited),
            (None, None) => Next::Try(settings.trial(last.asked / 2.0, settings.length_min)),
        }
    }

    /// All have been within so far, up to this rate.
    fn higher(&self, within: f64) -> Next {
        let settings = &self.settings;
        let Some(max) = settings.max_rate.filter(|&max| within >= max * ACHIEVED) else {
            return Next::Try(settings.trial(within * 2.0, settings.length_min));
        };
        let at_max = self.at(max);
        let is_unclear = at_max.clone().any(|trial| trial.outcome == Outcome::Unclear);
        if is_unclear {
            return Next::End(End::TooFewSamples);
        }
        let is_confirmed = at_max
            .filter(|trial| trial.outcome == Outcome::Within)
            .any(|trial| trial.length >= settings.confirms());
        match is_confirmed {
            true => Next::End(End::NeverReached),
            false => Next::Try(settings.trial(max, settings.length_max)),
        }
    }

    /// All have been beyond so far, down to this rate.
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

    /// The capacity, or the client's limit, lies between these rates.
    fn towards_cap(&self, within: f64, cap: f64) -> Next {
        // Asked for more, it offered no more than before.
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

    /// Some were within, and some beyond.
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
            .any(|trial| trial.outcome == Outcome::Unclear && trial.rate * share >= interval.low)
        {
            return Next::End(End::TooFewSamples);
        }
        let has_within = long_ones
            .clone()
            .any(|trial| trial.outcome == Outcome::Within && trial.rate * share >= interval.low);
        let has_beyond = long_ones.any(|trial| trial.is_beyond() && trial.rate <= interval.high * share);
        match (has_within, has_beyond) {
            (true, true) => Next::End(End::Precise),
            (false, _) => Next::Try(settings.trial(belief.quantile(0.1), settings.length_max)),
            (true, false) => Next::Try(settings.trial(belief.quantile(0.9), settings.length_max)),
        }
    }

    fn belief(&self) -> Option<Belief> {
        let within = self.sustained()?;
        self.bound(Some(within))?;
        let told = || self.observed.iter().filter(|trial| trial.tells());
        let lowest = told().map(|trial| trial.rate).fold(f64::INFINITY, f64::min);
        let highest = told().map(|trial| trial.rate).fold(0.0, f64::max);
        Some(Belief::after(&self.observed, (lowest / 2.0, highest * 2.0), &self.settings))
    }

    /// The lowest rate above this one that the server does not sustain, if that is settled: by one trial in which it
    /// was overloaded, or by two.
    fn bound(&self, within: Option<f64>) -> Option<f64> {
        let above = |trial: &&Observed| trial.is_beyond() && within.is_none_or(|within| trial.rate > within);
        let all: Vec<f64> = self.observed.iter().filter(above).map(|trial| trial.rate).collect();
        let is_settled = all.len() > 1 || all.iter().any(|&rate| self.has_overload_at(rate));
        all.into_iter().min_by(f64::total_cmp).filter(|_| is_settled)
    }

    /// The lowest rate that the client cannot offer. One that could offer as much another time is disturbed, not
    /// limited.
    fn client_cap(&self) -> Option<f64> {
        let offered = self.highest(|outcome| outcome != Outcome::ClientLimited).unwrap_or_default();
        let limited = self.observed.iter().filter(|trial| {
            trial.is_short_of_rate() || self.count_at(trial.asked, Outcome::ClientLimited) > 1
        });
        limited.map(|trial| trial.asked).filter(|&asked| asked > offered).min_by(f64::total_cmp)
    }

    fn highest(&self, is_meant: impl Fn(Outcome) -> bool) -> Option<f64> {
        let meant = self.observed.iter().filter(|trial| is_meant(trial.outcome));
        meant.map(|trial| trial.rate).max_by(f64::total_cmp)
    }

    fn at(&self, rate: f64) -> impl Iterator<Item = &Observed> + Clone {
        self.observed.iter().filter(move |trial| (trial.asked / rate - 1.0).abs() <= SAME_RATE)
    }

    fn count_at(&self, rate: f64, outcome: Outcome) -> usize {
        self.at(rate).filter(|trial| trial.outcome == outcome).count()
    }

    fn has_overload_at(&self, rate: f64) -> bool {
        self.at(rate).any(|trial| trial.outcome == Outcome::Beyond { is_overload: true })
    }
}

impl Observed {
    fn is_beyond(&self) -> bool {
        matches!(self.outcome, Outcome::Beyond { .. })
    }

    /// Whether it says something of the server.
    fn tells(&self) -> bool {
        !matches!(self.outcome, Outcome::ClientLimited)
    }

    /// Whether the client offered less than it was asked for, and all was well with that.
    fn is_short_of_rate(&self) -> bool {
        self.outcome == Outcome::Within && self.rate < self.asked * ACHIEVED
    }
}

impl Belief {
    fn estimate(&self) -> Estimate {
        let interval = ConfidenceInterval { low: self.quantile(0.025), high: self.quantile(0.975) };
        Estimate { rate: self.quantile(0.5), interval }
    }
}

/// To four digits, which are easier to read.
fn rounded(rate: f64) -> f64 {
    let decimals = 3 - rate.log10().floor() as i32;
    // A power of ten that is a whole number keeps the result as close to the decimal fraction as can be.
    let unit = 10_f64.powi(decimals.abs());
    if decimals > 0 { (rate * unit).round() / unit } else { (rate / unit).round() * unit }
}
