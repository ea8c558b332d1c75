//! Due times of arrivals. A schedule is absolute: it does not depend on whether the run keeps up.

use std::time::Duration;

use httperf_plan::{Arrivals, Client, LoadPhase, NonEmpty, Phased, Process, Step};

use crate::random::Erand48;

/// Due times of arrivals, as offsets from the start of the run; non-decreasing and infinite, unless arrivals
/// are sequential. The schedule does not limit the number of arrivals of a run.
///
/// It is a pure function of the plan and only stores the next arrival. All shards of a run use the same
/// sequence: each of `n` shards starts those whose number modulo `n` is its own, and passes over the others
/// ([`Schedule::skip_next`]).
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
            // The instants of a recording come with its requests.
            Arrivals::Sequential | Arrivals::Concurrent(_) | Arrivals::Recorded { .. } => Intervals::None,
            Arrivals::Deterministic { period } => Intervals::Even { period, started: 0 },
            Arrivals::Uniform { min, max } => Intervals::Uniform { random, min, max },
            Arrivals::Exponential { mean } => Intervals::Exponential { random, mean },
            Arrivals::Variable(ref steps) => Intervals::Stepped(Cycle::new(steps)),
            Arrivals::Phased(ref phased) => Intervals::Phased(Phases::new(phased, random)),
        };
        let mut schedule = Self { intervals, next_at: 0.0 };
        if let Intervals::Phased(phases) = &mut schedule.intervals {
            // Nothing may arrive in the first phase.
            schedule.next_at = phases.due(0.0);
        }
        schedule
    }

    /// Passes over the next `count` arrivals: at once if intervals are constant, one after the other if each depends on those
    /// before it.
    pub fn skip_next(&mut self, count: u64) {
        if let Intervals::Even { period, started } = &mut self.intervals {
            *started += count;
            self.next_at = product(*period, *started);
            return;
        }
        for _ in 0..count {
            if self.next().is_none() {
                return;
            }
        }
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
    Phased(Phases),
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
            Self::Phased(phases) => {
                let next = phases.next();
                return Some((next - now, next));
            }
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

/// Arrivals at a rate that changes: those of a process with the rate 1, due when as many arrivals are expected.
///
/// With `N(t)` arrivals expected until the instant `t`, the arrival after `x` intervals of mean 1 is due at the first
/// `t` with `N(t) = x`. For a Poisson process, this is exact (E. Çinlar, *Introduction to Stochastic Processes*, 1975,
/// section 4.7); even arrivals are due at the whole numbers.
#[derive(Clone, Debug)]
struct Phases {
    phases: NonEmpty<LoadPhase>,
    process: Process,
    random: Erand48,
    /// The number of arrivals expected until the next arrival.
    expected: f64,
    /// The phase in which it is due, if any, with its start in seconds and the arrivals expected until then.
    index: usize,
    start: f64,
    before: f64,
}

impl Phases {
    fn new(phased: &Phased, random: Erand48) -> Self {
        let Phased { process, phases } = phased;
        Self {
            phases: phases.clone(),
            process: *process,
            random,
            expected: 0.0,
            index: 0,
            start: 0.0,
            before: 0.0,
        }
    }

    /// Returns the instant of the next arrival in seconds.
    fn next(&mut self) -> f64 {
        let interval = match self.process {
            Process::Even => 1.0,
            Process::Uniform => 2.0 * self.random.next(),
            Process::Poisson => -(1.0 - self.random.next()).ln(),
        };
        self.due(self.expected + interval)
    }

    /// Returns the instant until which this many arrivals are expected; it must not decrease from call to call. Infinite
    /// if there are fewer in all phases.
    fn due(&mut self, expected: f64) -> f64 {
        self.expected = expected;
        while let Some(phase) = self.phases.get(self.index) {
            let arrivals = phase.arrivals();
            // What is due at the very end of a phase belongs to the next.
            if expected - self.before < arrivals * (1.0 - ROUNDING) {
                return self.start + into(phase, expected - self.before);
            }
            self.before += arrivals;
            self.start += phase.length.as_secs_f64();
            self.index += 1;
        }
        f64::INFINITY
    }
}

/// The share of a phase's arrivals that rounding errors may add or take away.
const ROUNDING: f64 = 1e-12;

/// Returns how many seconds after the beginning of a phase `count` of its arrivals are expected: the root of
/// `from · t + (to - from) / 2 · t² / length = count`.
fn into(phase: &LoadPhase, count: f64) -> f64 {
    let slope = (phase.to - phase.from) / phase.length.as_secs_f64();
    let count = count.max(0.0);
    if count == 0.0 && phase.from == 0.0 {
        return 0.0;
    }
    let root = (phase.from * phase.from + 2.0 * slope * count).max(0.0).sqrt();
    // This form does not cancel where the slope is small or negative.
    2.0 * count / (phase.from + root)
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

    #[test]
    fn arrivals_that_are_passed_over_leave_the_others_as_they_are() {
        for arrivals in [
            Arrivals::Deterministic { period: 0.1 / 3.0 },
            Arrivals::Deterministic { period: 0.0 },
            Arrivals::Exponential { mean: 0.01 },
            Arrivals::Uniform { min: 0.0, max: 1e-3 },
        ] {
            let all: Vec<Arrival> = schedule(&arrivals).take(1000).collect();
            let mut skipping = schedule(&arrivals);
            let mut next = 0;
            for others in [0, 1, 7, 0, 300, 2] {
                skipping.skip_next(others);
                next += others as usize;
                assert_eq!(skipping.next(), Some(all[next]), "{arrivals:?} {next}");
                next += 1;
            }
        }
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

    fn phased(process: Process, phases: &[(u64, f64, f64)]) -> Arrivals {
        let phases = phases.iter().enumerate().map(|(index, &(milliseconds, from, to))| LoadPhase {
            name: index.to_string(),
            length: Duration::from_millis(milliseconds),
            from,
            to,
        });
        let phases: Vec<LoadPhase> = phases.collect();
        Arrivals::Phased(Phased { process, phases: phases.try_into().expect("there is a phase") })
    }

    /// Due times in seconds, to the end of the last phase.
    fn due(arrivals: &Arrivals) -> Vec<f64> {
        let due = schedule(arrivals).map(|arrival| arrival.at).take_while(|&at| at < Duration::MAX);
        due.map(|at| at.as_secs_f64()).collect()
    }

    #[test]
    fn even_arrivals_of_a_ramp_are_due_as_soon_as_as_many_are_expected() {
        // From 0 to 10/s within 20 s: t²/4 are expected until t.
        let due_times = due(&phased(Process::Even, &[(20_000, 0.0, 10.0)]));
        assert_eq!(due_times.len(), 100);
        for (number, at) in due_times.iter().enumerate() {
            let expected = (4.0 * number as f64).sqrt();
            assert!((at - expected).abs() < 1e-9, "arrival {number} at {at}, expected {expected}");
        }
        // From 10/s to 0: the same, seen from the end, but the last arrival is the beginning of the first interval.
        let falling = due(&phased(Process::Even, &[(20_000, 10.0, 0.0)]));
        for (number, at) in falling.iter().enumerate() {
            let expected = 20.0 - (4.0 * (100.0 - number as f64)).sqrt();
            assert!((at - expected).abs() < 1e-6, "arrival {number} at {at}, expected {expected}");
        }
        assert_eq!(falling.len(), 100);
    }

    #[test]
    fn nothing_arrives_in_a_phase_of_rate_0_and_the_next_begins_at_its_start() {
        for first in [0.0, 2.0] {
            let due_times =
                due(&phased(Process::Even, &[(1000, first, first), (5000, 0.0, 0.0), (1000, 2.0, 2.0)]));
            let expected: &[f64] = if first > 0.0 { &[0.0, 0.5, 6.0, 6.5] } else { &[6.0, 6.5] };
            assert_eq!(due_times, expected);
        }
        assert_eq!(due(&phased(Process::Poisson, &[(1000, 0.0, 0.0)])), [0.0; 0]);
    }

    #[test]
    fn phases_have_as_many_random_arrivals_as_their_rates_say() {
        let phases = [(100_000, 0.0, 40.0), (50_000, 40.0, 40.0), (100_000, 40.0, 20.0)];
        let ends = [100.0, 150.0, 250.0];
        for (process, variance) in [(Process::Poisson, 1.0), (Process::Uniform, 1.0 / 3.0)] {
            let due_times = due(&phased(process, &phases));
            let mut start = 0.0;
            for ((length, from, to), end) in phases.into_iter().zip(ends) {
                let count = due_times.iter().filter(|&&at| at >= start && at < end).count() as f64;
                let expected = length as f64 / 1000.0 * f64::midpoint(from, to);
                let bound = 5.0 * (variance * expected).sqrt();
                assert!(
                    (count - expected).abs() <= bound,
                    "{process:?}: {count}, expected {expected} within {bound}"
                );
                start = end;
            }
        }
    }

    fn any_phases() -> impl Strategy<Value = Vec<(u64, f64, f64)>> {
        let rate = || prop_oneof![2 => 0.0..50.0_f64, 1 => Just(0.0), 1 => (0..50_u32).prop_map(f64::from)];
        prop::collection::vec((1..10_000_u64, rate(), rate()), 1..5)
    }

    proptest! {
        #[test]
        fn phases_have_no_more_and_no_fewer_even_arrivals_than_expected(phases in any_phases()) {
            let due_times = due(&phased(Process::Even, &phases));
            prop_assert!(due_times.is_sorted());
            let expected: f64 =
                phases.iter().map(|&(length, from, to)| length as f64 / 1000.0 * f64::midpoint(from, to)).sum();
            let count = due_times.len() as f64;
            // The first of them is due at once.
            prop_assert!(count >= (expected - 1e-6).floor() && count <= (expected + 1e-6).floor() + 1.0, "{count} {expected}");
            let end: u64 = phases.iter().map(|(length, ..)| length).sum();
            prop_assert!(due_times.iter().all(|&at| at <= end as f64 / 1000.0));
        }

        #[test]
        fn random_arrivals_of_phases_never_decrease(phases in any_phases(), index: u32, is_poisson: bool) {
            let process = if is_poisson { Process::Poisson } else { Process::Uniform };
            let schedule = Schedule::new(&phased(process, &phases), Client::new(index, u32::MAX));
            let due_times: Vec<Duration> = schedule.map(|arrival| arrival.at).take(3000).collect();
            prop_assert!(due_times.is_sorted());
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
