//! When new work is due: the arrival process as a value. Drawing from it is the `load` crate's business.

use std::num::NonZeroU32;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::NonEmpty;

/// A number of arrivals or calls that only the end of the run bounds.
pub const UNLIMITED: u64 = u64::MAX;

/// How arrivals are spaced. Times are in seconds, as given, so that a report can say them exactly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// The next one starts when the previous one has ended.
    Sequential,
    /// This many go on at once; each that ends makes way for the next.
    Concurrent(NonZeroU32),
    /// One every `period` seconds; 0 offers all at once.
    Deterministic {
        /// Seconds between two arrivals.
        #[serde(with = "crate::text::real")]
        #[schemars(with = "crate::text::real::Real")]
        period: f64,
    },
    /// Intervals uniform in `[min, max)` seconds.
    Uniform {
        /// Shortest interval, seconds.
        #[serde(with = "crate::text::real")]
        #[schemars(with = "crate::text::real::Real")]
        min: f64,
        /// Bound of the intervals, seconds.
        #[serde(with = "crate::text::real")]
        #[schemars(with = "crate::text::real::Real")]
        max: f64,
    },
    /// Exponential intervals: a Poisson process.
    Exponential {
        /// Mean interval, seconds.
        #[serde(with = "crate::text::real")]
        #[schemars(with = "crate::text::real::Real")]
        mean: f64,
    },
    /// A cycle of deterministic steps.
    Variable(NonEmpty<Step>),
}

/// One step of [`Arrivals::Variable`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Seconds between two arrivals during this step.
    #[serde(with = "crate::text::real")]
    #[schemars(with = "crate::text::real::Real")]
    pub period: f64,
    /// Seconds until the next step.
    #[serde(with = "crate::text::real")]
    #[schemars(with = "crate::text::real::Real")]
    pub duration: f64,
}

impl Arrivals {
    /// Arrivals of the same kind at this rate per second, which is above 0 and finite. What was not timed comes at
    /// constant intervals.
    #[must_use]
    pub fn at_rate(&self, rate: f64) -> Self {
        let scale = 1.0 / (rate * self.mean_interval());
        match self {
            Self::Uniform { min, max } if scale.is_normal() => {
                Self::Uniform { min: min * scale, max: max * scale }
            }
            Self::Exponential { .. } => Self::Exponential { mean: 1.0 / rate },
            Self::Variable(steps) if scale.is_normal() => {
                Self::Variable(steps.map(|step| Step { period: step.period * scale, ..*step }))
            }
            _ => Self::Deterministic { period: 1.0 / rate },
        }
    }

    /// The mean interval in seconds; 0 when nothing is timed, or all come at once. For [`Arrivals::Variable`] it is the
    /// plain average of the periods, as the classic tool has it.
    #[must_use]
    pub fn mean_interval(&self) -> f64 {
        match self {
            Self::Sequential | Self::Concurrent(_) => 0.0,
            Self::Deterministic { period } => *period,
            Self::Uniform { min, max } => f64::midpoint(*min, *max),
            Self::Exponential { mean } => *mean,
            Self::Variable(steps) => {
                let sum: f64 = steps.iter().map(|step| step.period).sum();
                sum / steps.len() as f64
            }
        }
    }
}

/// Which of how many co-operating generators this is (`--client=I/N`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Client {
    /// Its number, from 0; below `count`.
    pub index: u32,
    /// The number of generators.
    pub count: NonZeroU32,
    /// Which of its random sequences this run draws from: 0, the classic one, in a run by itself; each of several
    /// trials has its own.
    #[serde(default, skip_serializing_if = "is_classic")]
    pub stream: u32,
}

/// Whether random numbers are those of a single run.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_classic(stream: &u32) -> bool {
    *stream == 0
}

impl Default for Client {
    fn default() -> Self {
        Self::new(0, 1)
    }
}

impl Client {
    /// The generator `index` of `count`, in a run by itself.
    ///
    /// # Panics
    /// If `count` is 0.
    #[must_use]
    pub fn new(index: u32, count: u32) -> Self {
        let count = NonZeroU32::new(count).expect("there is at least one generator");
        Self { index, count, stream: 0 }
    }

    /// The same generator in one of several trials, which draw different random numbers.
    #[must_use]
    pub fn in_trial(self, stream: u32) -> Self {
        Self { stream, ..self }
    }

    /// When this client takes its first rate sample: `(index + 1) · 5 s / count`, so that the samples of
    /// co-operating clients do not fall together.
    #[must_use]
    pub fn first_sample(&self) -> Duration {
        Duration::from_secs(5) * self.index.saturating_add(1) / self.count.get()
    }
}

/// One of the equal parts into which a run is split: threads of this process.
///
/// Everything that a schedule numbers goes round the shards: number `n` is the business of shard `n` modulo their
/// count. So no two shards have anything to settle between them while they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Its number, from 0; below `count`.
    pub index: u32,
    /// How many there are; at least 1.
    pub count: u32,
}

impl Shard {
    /// The only one.
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    /// Whether number `number` is this shard's.
    #[must_use]
    pub fn owns(self, number: u64) -> bool {
        number % u64::from(self.count) == u64::from(self.index)
    }

    /// How many of the numbers below `total` are this shard's. Of what is without end, it has no end either.
    #[must_use]
    pub fn share(self, total: u64) -> u64 {
        let (index, count) = (u64::from(self.index), u64::from(self.count));
        if total == u64::MAX { total } else { total / count + u64::from(total % count > index) }
    }

    /// The `nth` (from 0) of this shard's numbers.
    #[must_use]
    pub fn nth(self, nth: u64) -> u64 {
        nth.wrapping_mul(self.count.into()).wrapping_add(self.index.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_keep_their_kind_at_another_rate() {
        let at = |arrivals: Arrivals| arrivals.at_rate(200.0);
        assert_eq!(at(Arrivals::Sequential), Arrivals::Deterministic { period: 0.005 });
        assert_eq!(at(Arrivals::Deterministic { period: 1.0 }), Arrivals::Deterministic { period: 0.005 });
        assert_eq!(at(Arrivals::Exponential { mean: 3.0 }), Arrivals::Exponential { mean: 0.005 });
        assert_eq!(
            at(Arrivals::Uniform { min: 1.0, max: 3.0 }),
            Arrivals::Uniform { min: 0.0025, max: 0.0075 }
        );
        let steps = [(1.0, 9.0), (3.0, 4.0)].map(|(period, duration)| Step { period, duration });
        let variable = at(Arrivals::Variable(steps.into()));
        assert_eq!(variable.mean_interval(), 0.005);
        assert!(matches!(variable, Arrivals::Variable(steps) if steps[1].duration == 4.0));
    }

    #[test]
    fn shards_have_every_number_once_and_differ_by_no_more_than_one() {
        for (count, total) in [(1, 0), (1, 7), (2, 7), (7, 2), (7, 7), (7, 100)] {
            let shards = (0..count).map(|index| Shard { index, count });
            let mut numbers = Vec::new();
            for shard in shards {
                let share = shard.share(total);
                assert!((total / u64::from(count)..=total.div_ceil(u64::from(count))).contains(&share));
                numbers.extend((0..share).map(|nth| shard.nth(nth)));
                assert!((0..share).all(|nth| shard.owns(shard.nth(nth))));
            }
            numbers.sort_unstable();
            assert_eq!(numbers, (0..total).collect::<Vec<u64>>(), "{count} shards");
        }
        assert_eq!(Shard { index: 1, count: 2 }.share(UNLIMITED), UNLIMITED);
    }
}
