//! Due times of arrivals. A schedule is absolute: it does not depend on whether the run keeps up.

use std::time::Duration;

use httperf_plan::{Arrivals, Client, NonEmpty, Step};

use crate::random::Erand48;

/// Due times of arrivals, as offsets from the start of the run; non-decreasing and infinite, unless arrivals
/// are sequential. The schedule does not limit the number of arrivals of a run.
///
/// It is a pure function of the plan and only stores the next arrival. All shards of a run use the same
/// sequence: each of `n` shards generates all arrivals and starts those whose number modulo `n` is its own.
/// own.
#[derive(Clone, Debug)]
pub struct Schedule {
    intervals: Intervals,
    /// Due time of the next arrival in seconds; 0 or more, possibly infinite.
    next_at: f64,
}

/// One arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// Instant at which it is due, relative to the start of the run. [`Duration::MAX`] stands for any later
    /// time: such an arrival never comes, so use checked addition.
    pub at: Duration,
    /// Seconds to the next arrival.
    pub delay: f64,
}

impl Schedule {
    /// Schedule of `arrivals` for this client: the first one at 0, the others at the sums of the intervals.
    #[must_use]
    pub fn new(arrivals: &Arrivals, client: Client) -> Self {
        let random = Erand48::of(client);
        let intervals = match *arrivals {
            Arrivals::Sequential | Arrivals::Concurrent(_) => Intervals::None,
            Arrivals::Deterministic { period } => Intervals::Even { period, started: 0 },
            Arrivals::Uniform { min, max } => Intervals::Uniform { random, min, max },
            Arrivals::Exponential { mean } => Intervals::Exponential { random, mean },
            Arrivals::Variable(ref steps) => Intervals::Stepped(Cycle::new(steps)),
        };
        Self { intervals, next_at: 0.0 }
    }
}

impl Iterator for Schedule {
    type Item = Arrival;

    /// Next arrival; `None` if arrivals are sequential, since each waits for the end of the previous one.
    fn next(&mut self) -> Option<Arrival> {
        let (delay, next_at) = self.intervals.after(self.next_at)?;
        let at = saturating_duration(self.next_at);
        self.next_at = next_at;
        Some(Arrival { at, delay })
    }
}

#[derive(Clone, Debug)]
enum Intervals {
    None,
    /// The arrival after the first `started` ones is due at `started · period`: a product, so that rounding
    /// errors do not accumulate.
    Even {
        period: f64,
        started: u64,
    },
    Uniform {
        random: Erand48,
        min: f64,
        max: f64,
    },
    Exponential {
        random: Erand48,
        mean: f64,
    },
    Stepped(Cycle),
}

impl Intervals {
    /// Returns the next interval, and the due time of the arrival at its end if it starts at `now`.
    fn after(&mut self, now: f64) -> Option<(f64, f64)> {
        let interval = match self {
            Self::None => return None,
            Self::Even { period, started } => {
                *started += 1;
                return Some((*period, product(*period, *started)));
            }
            Self::Stepped(cycle) => return Some(cycle.step()),
            Self::Uniform { random, min, max } => *min + (*max - *min) * random.next(),
            Self::Exponential { random, mean } => -*mean * (1.0 - random.next()).ln(),
        };
        // Infinite parameters can give NaN; the next arrival is then infinitely far away.
        let interval = if interval.is_nan() { f64::INFINITY } else { interval.max(0.0) };
        Some((interval, now + interval))
    }
}

/// Steps of [`Arrivals::Variable`], repeated in a cycle.
///
/// **Each step entered yields at least one interval**, even if it has no duration, so that a cycle always
/// makes progress. A step with a duration but no period does not: everything after it is due at once.
#[derive(Clone, Debug)]
struct Cycle {
    steps: NonEmpty<Step>,
    index: usize,
    /// Time at which the step was entered, in seconds.
    entered_at: f64,
    /// Intervals generated since then.
    given: u64,
}

impl Cycle {
    /// Share of a step's duration that counts as complete. Decimal fractions are inexact: 49 intervals of
    /// 1/49 s fall short of 1 s by a rounding error, and must count as a full second.
    const WHOLE: f64 = 1.0 - 1e-12;

    fn new(steps: &NonEmpty<Step>) -> Self {
        Self { steps: steps.clone(), index: 0, entered_at: 0.0, given: 0 }
    }

    /// Returns the next interval and the time of its end.
    fn step(&mut self) -> (f64, f64) {
        let Step { period, duration } = self.steps[self.index];
        self.given += 1;
        let spent = product(period, self.given);
        let ends_at = self.entered_at + spent;
        if spent >= duration * Self::WHOLE {
            self.index = (self.index + 1) % self.steps.len();
            self.entered_at = ends_at;
            self.given = 0;
        }
        (period, ends_at)
    }
}

/// Returns `period · count`, but 0 if the period is 0, even for an infinite count.
fn product(period: f64, count: u64) -> f64 {
    if period > 0.0 { period * count as f64 } else { 0.0 }
}

/// Rounds to the nearest nanosecond, saturating at the maximum.
fn saturating_duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn schedule(arrivals: &Arrivals) -> Schedule {
        Schedule::new(arrivals, Client::default())
    }

    #[track_caller]
    fn check(arrivals: &Arrivals, client_index: u32, expected: &str) {
        let client = Client::new(client_index, client_index + 1);
        let starts: Vec<String> = Schedule::new(arrivals, client)
            .take(expected.split(' ').count())
            .map(|arrival| format!("{:.4}", arrival.at.as_secs_f64()))
            .collect();
        assert_eq!(starts.join(" "), expected);
    }

    fn step(period: f64, duration: f64) -> Step {
        Step { period, duration }
    }

    #[test]
    fn random_arrivals_start_like_the_classic_ones() {
        check(
            &Arrivals::Uniform { min: 0.02, max: 0.08 },
            0,
            "0.0000 0.0685 0.1050 0.1303 0.1762 0.2346 0.2708 0.3003 0.3396 0.4021",
        );
        let exponential = Arrivals::Exponential { mean: 0.05 };
        check(&exponential, 0, "0.0000 0.0825 0.0986 0.1032 0.1315 0.1827 0.1984 0.2070 0.2264 0.2880");
        check(&exponential, 1, "0.0000 0.0896 0.1105 0.1211 0.1495 0.1669 0.1765 0.3466 0.3648 0.3858");
    }

    #[test]
    fn sequential_arrivals_have_no_schedule() {
        assert_eq!(schedule(&Arrivals::Sequential).next(), None);
    }

    #[test]
    fn a_steady_rate_accumulates_no_rounding_error() {
        let mut arrivals = schedule(&Arrivals::Deterministic { period: 0.1 });
        assert_eq!(arrivals.next(), Some(Arrival { at: Duration::ZERO, delay: 0.1 }));
        assert_eq!(arrivals.nth(999_998).unwrap().at, Duration::from_millis(99_999_900));
    }

    #[test]
    fn an_infinite_rate_offers_all_at_once() {
        let arrivals = schedule(&Arrivals::Deterministic { period: 0.0 });
        assert!(arrivals.take(1000).all(|arrival| arrival.at.is_zero() && arrival.delay == 0.0));
    }

    #[test]
    fn the_delay_of_an_arrival_is_the_time_to_the_next() {
        let arrivals: Vec<Arrival> =
            schedule(&Arrivals::Uniform { min: 0.02, max: 0.08 }).take(100).collect();
        for pair in arrivals.windows(2) {
            let gap = (pair[1].at - pair[0].at).as_secs_f64();
            assert!((gap - pair[0].delay).abs() < 2e-9, "{pair:?}");
        }
    }

    #[test]
    fn the_bounds_of_uniform_intervals_may_be_the_wrong_way_round() {
        check(&Arrivals::Uniform { min: 0.08, max: 0.02 }, 0, "0.0000 0.0315 0.0950");
    }

    #[test]
    fn steps_follow_one_another_in_a_cycle() {
        check(
            &Arrivals::Variable([step(0.1, 0.3), step(0.5, 0.9)].into()),
            0,
            "0.0000 0.1000 0.2000 0.3000 0.8000 1.3000 1.4000 1.5000 1.6000 2.1000",
        );
    }

    #[test]
    fn a_step_ends_when_rounding_alone_keeps_it_from_its_duration() {
        let fraction = 1.0 / 49.0;
        assert!(fraction * 49.0 < 1.0);
        let arrivals = schedule(&Arrivals::Variable([step(fraction, 1.0), step(2.0, 1.0)].into()));
        let delays: Vec<f64> = arrivals.map(|arrival| arrival.delay).take(51).collect();
        assert_eq!(delays.iter().position(|&delay| delay > 1.0), Some(49));
        assert_eq!(delays[50].to_bits(), fraction.to_bits());
    }

    #[test]
    fn a_step_without_duration_gives_one_interval() {
        check(
            &Arrivals::Variable([step(0.1, 0.0), step(0.2, 0.0)].into()),
            0,
            "0.0000 0.1000 0.3000 0.4000 0.6000",
        );
        check(
            &Arrivals::Variable([step(0.0, 0.0), step(0.2, 0.1)].into()),
            0,
            "0.0000 0.0000 0.2000 0.2000 0.4000",
        );
    }

    #[test]
    fn a_step_without_period_offers_the_rest_at_once() {
        let mut arrivals = schedule(&Arrivals::Variable([step(0.1, 0.2), step(0.0, 1.0)].into()));
        assert_eq!(arrivals.nth(100_000).unwrap().at, Duration::from_millis(200));
    }

    #[test]
    fn huge_values_saturate() {
        for arrivals in [
            Arrivals::Deterministic { period: f64::MAX },
            Arrivals::Deterministic { period: f64::INFINITY },
            Arrivals::Uniform { min: f64::INFINITY, max: f64::INFINITY },
            Arrivals::Uniform { min: 0.0, max: f64::MAX },
            Arrivals::Exponential { mean: f64::INFINITY },
            Arrivals::Variable([step(f64::MAX, f64::INFINITY)].into()),
        ] {
            let starts: Vec<Duration> = schedule(&arrivals).take(4).map(|arrival| arrival.at).collect();
            assert_eq!(starts, [Duration::ZERO, Duration::MAX, Duration::MAX, Duration::MAX], "{arrivals:?}");
        }
    }

    fn any_arrivals() -> impl Strategy<Value = Arrivals> {
        let seconds = || prop_oneof![8 => 0.0..10.0_f64, 1 => Just(0.0), 1 => 0.0..f64::MAX];
        let steps = prop::collection::vec((seconds(), seconds()).prop_map(|(a, b)| step(a, b)), 1..5);
        prop_oneof![
            seconds().prop_map(|period| Arrivals::Deterministic { period }),
            (seconds(), seconds()).prop_map(|(min, max)| Arrivals::Uniform { min, max }),
            seconds().prop_map(|mean| Arrivals::Exponential { mean }),
            steps.prop_map(|steps| Arrivals::Variable(steps.try_into().expect("there is one"))),
        ]
    }

    proptest! {
        #[test]
        fn due_times_never_decrease(arrivals in any_arrivals(), index: u32, stream: u32) {
            let client = Client::new(index, u32::MAX).in_trial(stream);
            let starts: Vec<Duration> =
                Schedule::new(&arrivals, client).take(200).map(|arrival| arrival.at).collect();
            prop_assert!(starts.is_sorted());
            prop_assert!(starts.first().is_none_or(Duration::is_zero));
        }

        #[test]
        fn shards_share_out_the_whole_schedule(arrivals in any_arrivals(), shards in 1..5_usize) {
            let whole: Vec<Arrival> = schedule(&arrivals).take(60).collect();
            let mut merged = vec![None; whole.len()];
            for shard in 0..shards {
                let own = schedule(&arrivals).enumerate().take(60).filter(|(index, _)| index % shards == shard);
                for (index, arrival) in own {
                    merged[index] = Some(arrival);
                }
            }
            prop_assert_eq!(merged.into_iter().collect::<Option<Vec<_>>>(), Some(whole));
        }
    }
}
