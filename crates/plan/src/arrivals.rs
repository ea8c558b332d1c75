//! The arrival process as a value. The `load` crate draws the due instants from it.

use std::num::NonZeroU32;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::NonEmpty;

/// The number of arrivals or calls if only the end of the run bounds it.
pub const UNLIMITED: u64 = u64::MAX;

/// The arrival process: the spacing of arrivals. Times are in seconds as they were given, so that a report shows them
/// exactly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// A closed loop of one: each arrival starts when the previous one has ended.
    Sequential,
    /// A closed loop of this many at once: when one ends, the next starts.
    Concurrent(NonZeroU32),
    /// Constant intervals.
    Deterministic {
        /// The interval in seconds; 0 starts all at once.
        #[serde(with = "crate::text::real")]
        #[schemars(with = "crate::text::real::Real")]
        period: f64,
    },
    /// Intervals uniform in `[min, max)` seconds.
    Uniform {
        /// The shortest interval in seconds, inclusive.
        #[serde(with = "crate::text::real")]
        #[schemars(with = "crate::text::real::Real")]
        min: f64,
        /// The upper bound of the intervals in seconds, exclusive.
        #[serde(with = "crate::text::real")]
        #[schemars(with = "crate::text::real::Real")]
        max: f64,
    },
    /// Exponentially distributed intervals: a Poisson process.
    Exponential {
        /// The mean interval in seconds.
        #[serde(with = "crate::text::real")]
        #[schemars(with = "crate::text::real::Real")]
        mean: f64,
    },
    /// Steps with constant intervals, repeated after the last.
    Variable(NonEmpty<Step>),
}

/// One step of [`Arrivals::Variable`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// The interval between arrivals during this step, in seconds.
    #[serde(with = "crate::text::real")]
    #[schemars(with = "crate::text::real::Real")]
    pub period: f64,
    /// The length of this step in seconds.
    #[serde(with = "crate::text::real")]
    #[schemars(with = "crate::text::real::Real")]
    pub duration: f64,
}

impl Arrivals {
    /// Returns the same kind of arrivals scaled to `rate` per second, which must be finite and above 0. A closed loop
    /// becomes constant intervals.
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

    /// Returns the mean interval in seconds; 0 for a closed loop, or if all start at once. For [`Arrivals::Variable`],
    /// it is the unweighted average of the periods, as in the classic tool.
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

/// One of several generators that work together (`--client=I/N`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Client {
    /// Its number, from 0; below `count`.
    pub index: u32,
    /// The number of generators; at least 1.
    pub count: NonZeroU32,
    /// The number of its random sequence: 0, the classic one, for a single run; each of several trials has its own.
    /// 0 by default.
    #[serde(default, skip_serializing_if = "is_classic")]
    pub stream: u32,
}

/// Returns true if random numbers are those of a single run.
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
    /// Creates generator `index` of `count` for a single run.
    ///
    /// # Panics
    /// If `count` is 0.
    #[must_use]
    pub fn new(index: u32, count: u32) -> Self {
        let count = NonZeroU32::new(count).expect("there is at least one generator");
        Self { index, count, stream: 0 }
    }

    /// Returns the same generator for one of several trials, which draw different random numbers.
    #[must_use]
    pub fn in_trial(self, stream: u32) -> Self {
        Self { stream, ..self }
    }

    /// Returns the time from the start to this client's first rate sample: `(index + 1) · 5 s / count`, so that
    /// co-operating clients sample at different instants.
    #[must_use]
    pub fn first_sample(&self) -> Duration {
        Duration::from_secs(5) * self.index.saturating_add(1) / self.count.get()
    }
}

/// One of the equal parts into which a run is split, one for each thread.
///
/// Everything that the schedule numbers is dealt out in turn: number `n` belongs to shard `n` modulo their count, so
/// shards need no coordination while they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Its number, from 0; below `count`.
    pub index: u32,
    /// The number of shards; at least 1.
    pub count: u32,
}

impl Shard {
    /// The only shard of a run that is not split.
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    /// Returns true if `number` belongs to this shard.
    #[must_use]
    pub fn owns(self, number: u64) -> bool {
        number % u64::from(self.count) == u64::from(self.index)
    }

    /// Returns how many of the numbers below `total` belong to this shard; [`UNLIMITED`] if `total` is.
    #[must_use]
    pub fn share(self, total: u64) -> u64 {
        let (index, count) = (u64::from(self.index), u64::from(self.count));
        if total == u64::MAX { total } else { total / count + u64::from(total % count > index) }
    }

    /// Returns the `nth` of this shard's numbers, from 0.
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
