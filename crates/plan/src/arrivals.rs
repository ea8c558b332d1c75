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
    /// Phases with rates of their own, one after the other; nothing arrives after the last.
    Phased(Phased),
    /// The instants at which the requests of a recording were made ([`Replay`](crate::Replay)).
    Recorded {
        /// The mean interval in seconds.
        #[serde(with = "crate::text::real")]
        #[schemars(with = "crate::text::real::Real")]
        mean: f64,
    },
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

/// Phases with rates of their own, one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Phased {
    /// The distribution of the intervals around the rate of each instant.
    pub process: Process,
    /// The phases, in order. No two have the same name.
    pub phases: NonEmpty<LoadPhase>,
}

/// The distribution of intervals whose mean follows from a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Process {
    /// Constant intervals, or those that change as the rate does.
    #[default]
    Even,
    /// Intervals uniform between 0 and twice their mean.
    Uniform,
    /// Exponentially distributed intervals: a Poisson process.
    Poisson,
}

/// A named stretch of the schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPhase {
    /// The name.
    pub name: String,
    /// The length in nanoseconds.
    #[serde(rename = "length_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub length: Duration,
    /// The rate at its beginning, in arrivals per second; 0 or more.
    pub from: f64,
    /// The rate at its end, which the rate approaches linearly; 0 or more.
    pub to: f64,
}

impl LoadPhase {
    /// Returns the number of arrivals that are due in the phase on average.
    #[must_use]
    pub fn arrivals(&self) -> f64 {
        self.length.as_secs_f64() * f64::midpoint(self.from, self.to)
    }

    /// Returns the rate this long after the beginning of the phase, in arrivals per second.
    #[must_use]
    pub fn rate_at(&self, since: Duration) -> f64 {
        let length = self.length.as_secs_f64();
        let share = if length > 0.0 { (since.as_secs_f64() / length).min(1.0) } else { 1.0 };
        self.from + (self.to - self.from) * share
    }
}

impl Phased {
    /// Returns the length of all phases together.
    #[must_use]
    pub fn length(&self) -> Duration {
        self.phases.iter().fold(Duration::ZERO, |sum, phase| sum.saturating_add(phase.length))
    }

    /// Returns the phases in order, each with the time from the start to its beginning.
    pub fn starts(&self) -> impl Iterator<Item = (Duration, &LoadPhase)> {
        self.phases.iter().scan(Duration::ZERO, |end, phase| {
            let start = *end;
            *end = start.saturating_add(phase.length);
            Some((start, phase))
        })
    }

    /// Returns the phase of work that is due this long after the start, with the time at which it begins. What is due after
    /// all phases belongs to the last one.
    #[must_use]
    pub fn phase_at(&self, due: Duration) -> (Duration, &LoadPhase) {
        let is_in = |(start, phase): &(Duration, &LoadPhase)| due < start.saturating_add(phase.length);
        let last = self.phases.last();
        self.starts().find(is_in).unwrap_or_else(|| (self.length().saturating_sub(last.length), last))
    }

    /// Returns the number of arrivals that are due between two instants after the start on average.
    #[must_use]
    pub fn arrivals(&self, from: Duration, to: Duration) -> f64 {
        let of_phase = |(start, phase): (Duration, &LoadPhase)| {
            let within = |at: Duration| at.saturating_sub(start).min(phase.length);
            let (from, to) = (within(from), within(to));
            let rate = f64::midpoint(phase.rate_at(from), phase.rate_at(to));
            rate * to.saturating_sub(from).as_secs_f64()
        };
        self.starts().map(of_phase).sum()
    }

    /// Returns the mean interval in seconds; infinite if nothing arrives in any phase.
    fn mean_interval(&self) -> f64 {
        let arrivals: f64 = self.phases.iter().map(LoadPhase::arrivals).sum();
        if arrivals > 0.0 { self.length().as_secs_f64() / arrivals } else { f64::INFINITY }
    }

    /// Returns the same phases with all rates multiplied by `factor`.
    fn scaled(&self, factor: f64) -> Self {
        let scaled = |phase: &LoadPhase| LoadPhase {
            from: phase.from * factor,
            to: phase.to * factor,
            ..phase.clone()
        };
        Self { process: self.process, phases: self.phases.map(scaled) }
    }
}

impl Arrivals {
    /// Returns whether arrivals have times of their own: an open loop.
    #[must_use]
    pub fn is_scheduled(&self) -> bool {
        !matches!(self, Self::Sequential | Self::Concurrent(_))
    }

    /// Returns the same kind of arrivals scaled to `rate` per second, which must be finite and above 0. A closed loop
    /// becomes constant intervals; for phases, the rate is the mean over all of them.
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
            Self::Phased(phased) if scale.is_normal() => Self::Phased(phased.scaled(1.0 / scale)),
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
            Self::Exponential { mean } | Self::Recorded { mean } => *mean,
            Self::Variable(steps) => {
                let sum: f64 = steps.iter().map(|step| step.period).sum();
                sum / steps.len() as f64
            }
            Self::Phased(phased) => phased.mean_interval(),
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

/// One of the equal parts into which a run is split, one for each thread of each process that carries it out.
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

/// The shards that one process carries out, a thread each: all of a run, or those of one rank of a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shards {
    /// The number of the first; the others follow it.
    first: u32,
    count: NonZeroU32,
    /// The number of shards of the run.
    total: NonZeroU32,
}

impl Shards {
    /// The shards of a run that one process carries out alone, with this many threads.
    #[must_use]
    pub fn all(count: NonZeroU32) -> Self {
        Self { first: 0, count, total: count }
    }

    /// The shards of one of several equal processes with this many threads each. `None` if there is no such rank, or
    /// if the run would have more than 2³² − 1 shards.
    #[must_use]
    pub fn of_rank(rank: u32, ranks: NonZeroU32, threads: NonZeroU32) -> Option<Self> {
        let total = ranks.checked_mul(threads)?;
        (rank < ranks.get()).then(|| Self { first: rank * threads.get(), count: threads, total })
    }

    /// The number of shards of this process.
    #[must_use]
    pub fn count(self) -> NonZeroU32 {
        self.count
    }

    /// Returns the `nth` shard of this process, from 0.
    ///
    /// # Panics
    /// If this process has fewer.
    #[must_use]
    pub fn nth(self, nth: u32) -> Shard {
        assert!(nth < self.count.get(), "a process has a thread for each of its shards");
        Shard { index: self.first + nth, count: self.total.get() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_divide_a_run_as_threads_do() {
        let nonzero = |number| NonZeroU32::new(number).expect("it is above 0");
        let of = |shards: Shards| (0..shards.count().get()).map(|nth| shards.nth(nth)).collect::<Vec<_>>();
        let alone = of(Shards::all(nonzero(6)));
        assert_eq!(alone[5], Shard { index: 5, count: 6 });
        for (ranks, threads) in [(6, 1), (3, 2), (2, 3), (1, 6)] {
            let ranked = |rank| {
                of(Shards::of_rank(rank, nonzero(ranks), nonzero(threads)).expect("there is such a rank"))
            };
            assert_eq!((0..ranks).flat_map(ranked).collect::<Vec<_>>(), alone, "{ranks} of {threads}");
        }
        assert_eq!(Shards::of_rank(3, nonzero(3), nonzero(2)), None);
        assert_eq!(Shards::of_rank(0, nonzero(1 << 20), nonzero(1 << 12)), None);
    }

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
    fn phases_keep_their_lengths_and_proportions_at_another_rate() {
        let phase = |name: &str, seconds, from, to| LoadPhase {
            name: name.to_owned(),
            length: Duration::from_secs(seconds),
            from,
            to,
        };
        let phases = [phase("ramp", 10, 0.0, 10.0), phase("hold", 10, 10.0, 10.0)];
        let phased = Arrivals::Phased(Phased { process: Process::Poisson, phases: phases.into() });
        assert_eq!(phased.mean_interval(), 20.0 / 150.0);
        let faster = [phase("ramp", 10, 0.0, 20.0), phase("hold", 10, 20.0, 20.0)];
        let faster = Arrivals::Phased(Phased { process: Process::Poisson, phases: faster.into() });
        assert_eq!(phased.at_rate(15.0), faster);
        let idle = Phased { process: Process::Even, phases: [phase("idle", 5, 0.0, 0.0)].into() };
        assert_eq!(Arrivals::Phased(idle).at_rate(4.0), Arrivals::Deterministic { period: 0.25 });
    }

    #[test]
    fn each_instant_has_its_phase_and_its_rate() {
        let phase = |name: &str, seconds, from, to| LoadPhase {
            name: name.to_owned(),
            length: Duration::from_secs(seconds),
            from,
            to,
        };
        let phases = [phase("ramp", 10, 0.0, 10.0), phase("hold", 20, 10.0, 10.0)].into();
        let phased = Phased { process: Process::Even, phases };
        let at = |seconds| {
            let (start, phase) = phased.phase_at(Duration::from_secs(seconds));
            (start.as_secs(), &phase.name[..], phase.rate_at(Duration::from_secs(seconds) - start))
        };
        let expected =
            [(0, "ramp", 0.0), (0, "ramp", 9.0), (10, "hold", 10.0), (10, "hold", 10.0), (10, "hold", 10.0)];
        assert_eq!([0, 9, 10, 29, 99].map(at), expected);
        let due = |from, to| phased.arrivals(Duration::from_secs(from), Duration::from_secs(to));
        assert_eq!(
            [due(0, 1), due(9, 11), due(29, 40), due(30, 40), due(0, 99)],
            [0.5, 19.5, 10.0, 0.0, 250.0]
        );
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
