//! Rates sampled during a run, and their combination across generators.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::RateMoments;
use crate::merge::Merge;
use crate::nanos::whole;

/// Time between rate samples.
pub const SAMPLE_INTERVAL: Duration = Duration::from_secs(5);

/// A count, and the nanoseconds in which it accumulated.
type Window = (u64, u64);

/// Rates, kept as counts and times: events from one sampling instant to the next, starting at the beginning
/// of the measured phase.
///
/// In a run of one generator, these are its samples; in a merged run, they are computed from [`RateWindows`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct RateSamples {
    /// Counts and nanoseconds.
    samples: Vec<Window>,
}

impl RateSamples {
    /// Adds a sample and returns its rate per second; 0 if no time has passed.
    pub fn add(&mut self, count: u64, time: Duration) -> f64 {
        let sample = (count, whole(time));
        self.samples.push(sample);
        rate_of(sample)
    }

    /// Moments of the rates, in events per second.
    #[must_use]
    pub fn moments(&self) -> RateMoments {
        let mut moments = RateMoments::default();
        self.samples.iter().for_each(|&sample| moments.add(rate_of(sample)));
        moments
    }

    /// Returns the samples of a phase with this many events and this length, followed by the part of it after
    /// the last sample.
    fn with_rest_of(&self, count: u64, phase: Duration) -> Vec<Window> {
        let (sampled, time) = self.samples.iter().fold((0_u64, 0_u64), |(counts, times), &(count, time)| {
            (counts.saturating_add(count), times.saturating_add(time))
        });
        let rest = (count.saturating_sub(sampled), whole(phase).saturating_sub(time));
        self.samples.iter().copied().chain([rest]).collect()
    }
}

fn rate_of((count, time_ns): Window) -> f64 {
    if time_ns == 0 { 0.0 } else { count as f64 / Duration::from_nanos(time_ns).as_secs_f64() }
}

/// The measured phase of each generator, window by window: its rate samples, and the part after the last of
/// them.
///
/// Generators are sampled at different instants (`--client I/N`), so their samples cannot be added one by
/// one. Their windows are kept separately, in a canonical order, so that results merge exactly, in any order
/// and grouping.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct RateWindows {
    /// Counts and nanoseconds of each generator, sorted; the last window of each is incomplete.
    generators: Vec<Vec<Window>>,
}

impl RateWindows {
    /// Windows of one generator: its samples, and the part after the last of them.
    pub(crate) fn new(samples: &RateSamples, rest: u64, rest_time: Duration) -> Self {
        let windows = samples.samples.iter().copied().chain([(rest, whole(rest_time))]);
        Self { generators: vec![windows.collect()] }
    }

    /// Returns these windows, or, if they are from a document without windows, reconstructs them from the
    /// samples, the number of events and the length of the phase.
    pub(crate) fn or_of(&self, samples: &RateSamples, count: u64, phase: Duration) -> Self {
        match self.generators.is_empty() {
            true => Self { generators: vec![samples.with_rest_of(count, phase)] },
            false => self.clone(),
        }
    }

    /// Adds the windows of another worker of the same generator, which was sampled at the same instants. If
    /// one worker ended earlier, its last events count in the next window of the other.
    pub(crate) fn merge_worker(&mut self, other: &Self) {
        let [own, theirs] =
            [&*self, other].map(|windows| windows.generators.first().map_or(&[][..], Vec::as_slice));
        let at = |windows: &[Window], index: usize| windows.get(index).copied().unwrap_or_default();
        let joined = (0..own.len().max(theirs.len())).map(|index| {
            let (own, their) = (at(own, index), at(theirs, index));
            (own.0.saturating_add(their.0), own.1.max(their.1))
        });
        *self = Self { generators: vec![joined.collect()] };
    }

    /// Samples of all generators together. A single generator keeps its own. Several are resampled at equal
    /// intervals, starting with the first sample of any of them, under the assumption that events are evenly
    /// spread within a window: the rate at an instant is the sum of the generators' rates.
    pub(crate) fn samples(&self) -> RateSamples {
        if let [windows] = &self.generators[..] {
            return RateSamples {
                samples: windows.split_last().map_or(Vec::new(), |(_, sampled)| sampled.to_vec()),
            };
        }
        let firsts = self.generators.iter().filter(|windows| windows.len() > 1);
        let Some(first) = firsts.map(|windows| windows[0].1).filter(|&time| time > 0).min() else {
            return RateSamples::default();
        };
        let end = self.generators.iter().map(|windows| end_of(windows)).max().unwrap_or(0);
        // A generator that was held up has fewer samples than its time would allow; no run has more samples
        // than its longest generator.
        let count_max = self.generators.iter().map(Vec::len).max().unwrap_or(0);
        let instants = (0..).map(|nth| u128::from(first) + nth * SAMPLE_INTERVAL.as_nanos());
        let instants = instants.take_while(|&instant| instant <= end).take(count_max);
        let mut readers: Vec<Reader<'_>> =
            self.generators.iter().map(|windows| Reader::new(windows)).collect();
        let (mut before, mut from) = (0, 0);
        let samples = instants.map(|instant| {
            let parts: u128 = readers.iter_mut().map(|reader| reader.count_at(instant)).sum();
            // Events are integers. Rounding loses no more than a shift of the instant would.
            let count = (parts + PARTS / 2) / PARTS;
            let sample = (saturated(count - before), saturated(instant - from));
            (before, from) = (count, instant);
            sample
        });
        RateSamples { samples: samples.collect() }
    }
}

impl Merge for RateWindows {
    /// Adds the windows of other generators.
    fn merge(&mut self, other: &Self) {
        self.generators.extend_from_slice(&other.generators);
        self.generators.sort_unstable();
    }
}

/// Fixed-point unit in which counts are interpolated.
const PARTS: u128 = 1 << 32;

fn saturated(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// End of a generator's measured phase, in nanoseconds since its beginning.
fn end_of(windows: &[Window]) -> u128 {
    windows.iter().map(|&(_, time)| u128::from(time)).sum()
}

/// Reads the windows of a generator in order.
struct Reader<'a> {
    windows: std::slice::Iter<'a, Window>,
    /// Events before the current window.
    count: u128,
    /// Beginning of the current window.
    from: u128,
}

impl<'a> Reader<'a> {
    fn new(windows: &'a [Window]) -> Self {
        Self { windows: windows.iter(), count: 0, from: 0 }
    }

    /// Number of events up to this instant, in [`PARTS`]. Instants must not decrease from call to call. After
    /// the end of the generator, all events count.
    fn count_at(&mut self, instant: u128) -> u128 {
        while let Some(&(count, time)) = self.windows.as_slice().first() {
            let (count, time) = (u128::from(count), u128::from(time));
            let passed = instant - self.from;
            if passed < time {
                // 2⁹⁶ times 2⁶⁴ would overflow, so the share of the time is computed first.
                return self.count * PARTS + count * (passed * PARTS / time);
            }
            self.count += count;
            self.from += time;
            self.windows.next();
        }
        self.count * PARTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Windows of a generator with a constant rate until `end`, sampled first at the instant `first` and then
    /// every five seconds. Times are in milliseconds.
    fn steady(per_second: u64, first: u64, end: u64) -> RateWindows {
        let count = |ms: u64| per_second * ms / 1000;
        let mut samples = RateSamples::default();
        let mut from = 0;
        for instant in (first..=end).step_by(5000) {
            samples.add(count(instant) - count(from), Duration::from_millis(instant - from));
            from = instant;
        }
        RateWindows::new(&samples, count(end) - count(from), Duration::from_millis(end - from))
    }

    fn merged<const N: usize>(order: [&RateWindows; N]) -> RateWindows {
        let mut whole = order[0].clone();
        order[1..].iter().for_each(|part| whole.merge(part));
        whole
    }

    /// Checks that there are `count` samples and that each has this rate, to within one event.
    #[track_caller]
    fn check(whole: &RateWindows, count: u64, rate: f64) {
        let moments = whole.samples().moments();
        assert_eq!(moments.count(), count, "{whole:?}");
        for got in [moments.min(), moments.mean(), moments.max()] {
            assert!((got - rate).abs() <= 1.0, "{got} and not {rate}: {:?}", whole.samples());
        }
    }

    #[test]
    fn generators_sampled_in_turn_add_up_to_the_total_rate() {
        let parts = [1667, 3333, 5000].map(|first| steady(200, first, 6000));
        check(&merged([&parts[0], &parts[1], &parts[2]]), 1, 600.0);
        let parts = [1667, 3333, 5000].map(|first| steady(200, first, 61_000));
        check(&merged([&parts[0], &parts[1], &parts[2]]), 12, 600.0);
        check(&merged([&parts[1], &parts[2]]), 12, 400.0);
    }

    #[test]
    fn a_run_too_short_for_samples_of_all_has_one_at_the_first_instant() {
        let parts = [1667, 3333, 5000].map(|first| steady(200, first, 4000));
        assert_eq!(parts.each_ref().map(|part| part.samples().moments().count()), [1, 1, 0]);
        check(&merged([&parts[0], &parts[1], &parts[2]]), 1, 600.0);
        check(&merged([&parts[1], &parts[2]]), 1, 400.0);
        check(&merged([&parts[2], &parts[2]]), 0, 0.0);
    }

    #[test]
    fn small_differences_between_instants_make_no_difference() {
        let parts = [4990, 5000, 5130].map(|first| steady(1000, first, 33_000));
        check(&merged([&parts[0], &parts[1], &parts[2]]), 6, 3000.0);
    }

    #[test]
    fn a_generator_that_stops_before_the_others_counts_until_then() {
        let (long, short) = (steady(100, 2500, 42_500), steady(300, 5000, 23_000));
        let rates: Vec<f64> =
            merged([&long, &short]).samples().samples.iter().map(|&sample| rate_of(sample).round()).collect();
        // The fifth window goes from 17.5 to 22.5 s, the sixth to 27.5 s: both generators run during its
        // first half second.
        assert_eq!(rates, [400.0, 400.0, 400.0, 400.0, 400.0, 130.0, 100.0, 100.0, 100.0]);
    }

    #[test]
    fn order_and_grouping_make_no_difference() {
        let parts = [steady(123, 1667, 21_000), steady(77, 3333, 9100), steady(500, 5000, 33_333)];
        let [a, b, c] = &parts;
        let whole = merged([a, b, c]);
        for order in [[a, c, b], [b, a, c], [b, c, a], [c, a, b], [c, b, a]] {
            assert_eq!(merged(order), whole);
        }
        assert_eq!(merged([&merged([c, a]), b]), whole);
        let total: u64 = whole.samples().samples.iter().map(|&(count, _)| count).sum();
        let last = 1667 + 6 * 5000;
        assert_eq!(total, 123 * 21 + 700 + 500 * last / 1000, "nothing is counted twice or lost");
    }

    #[test]
    fn workers_of_one_generator_are_sampled_together_even_if_one_ends_earlier() {
        let parts = [steady(100, 5000, 17_000), steady(100, 5000, 8000), steady(100, 5000, 16_500)];
        for order in [[0, 1, 2], [1, 0, 2], [2, 1, 0]] {
            let mut whole = RateWindows::default();
            order.iter().for_each(|&index| whole.merge_worker(&parts[index]));
            assert_eq!(whole.samples().samples, [(1500, 5000 * MS), (1300, 5000 * MS), (1000, 5000 * MS)]);
            assert_eq!(
                whole.generators,
                [[(1500, 5000 * MS), (1300, 5000 * MS), (1000, 5000 * MS), (350, 2000 * MS)]]
            );
        }
    }

    #[test]
    fn a_single_generator_keeps_its_own_samples() {
        let mut samples = RateSamples::default();
        [(20, 5000), (31, 5001), (7, 0)].iter().for_each(|&(count, ms)| {
            samples.add(count, Duration::from_millis(ms));
        });
        let alone = RateWindows::new(&samples, 9, Duration::from_millis(3));
        assert_eq!(alone.samples(), samples);
        assert_eq!(RateWindows::default().samples(), RateSamples::default());
    }

    #[test]
    fn windows_missing_in_older_documents_follow_from_counts() {
        let mut samples = RateSamples::default();
        samples.add(1000, Duration::from_secs(5));
        let older = RateWindows::default().or_of(&samples, 1200, Duration::from_secs(6));
        assert_eq!(older, RateWindows::new(&samples, 200, Duration::from_secs(1)));
        check(&merged([&older, &steady(200, 1667, 6000)]), 1, 400.0);
    }

    #[test]
    fn odd_windows_take_bounded_time_and_memory() {
        let odd = |windows: &[Window]| RateWindows { generators: vec![windows.to_vec()] };
        for windows in [
            &[][..],
            &[(u64::MAX, u64::MAX)],
            &[(1, 0), (1, 0)],
            &[(u64::MAX, 1), (u64::MAX, u64::MAX), (5, 5)],
            &[(0, u64::MAX), (0, 0), (u64::MAX, 0)],
        ] {
            for other in [odd(windows), steady(10, 5000, 20_000)] {
                let samples = merged([&odd(windows), &other]).samples();
                assert!(samples.samples.len() <= 5, "{samples:?}");
            }
        }
    }
}
