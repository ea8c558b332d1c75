//! Rates as they are sampled while a run goes on, and how those of its parts make those of the whole.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::RateMoments;
use crate::nanos::whole;

/// The time from one rate sample to the next.
pub const SAMPLE_INTERVAL: Duration = Duration::from_secs(5);

/// A count, and the nanoseconds in which it came together.
type Window = (u64, u64);

/// Rates, as counts over times: what happened from one sampling instant to the next, the first time from the beginning
/// of the measured phase.
///
/// In a run of one generator these are its samples; in a merged one they are worked out from [`RateWindows`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct RateSamples {
    /// Counts, and nanoseconds.
    samples: Vec<Window>,
}

impl RateSamples {
    /// Adds one, and returns its rate per second; 0 if no time has passed.
    pub fn add(&mut self, count: u64, time: Duration) -> f64 {
        let sample = (count, whole(time));
        self.samples.push(sample);
        rate_of(sample)
    }

    /// Their moments, in events per second.
    #[must_use]
    pub fn moments(&self) -> RateMoments {
        let mut moments = RateMoments::default();
        self.samples.iter().for_each(|&sample| moments.add(rate_of(sample)));
        moments
    }

    /// What is in them of this many events in a phase of this length, and the rest, which no sample covers.
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

/// The measured phase of each generator, window by window: its rate samples, and what came after the last of them.
///
/// Generators are sampled at different instants (`--client I/N`), so that their samples cannot be added up one by one.
/// Their windows are kept as they are, in an order of their own: thus results merge exactly, in any order and in steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct RateWindows {
    /// Counts and nanoseconds of each generator, in order; the last of each is shorter than it would have been.
    generators: Vec<Vec<Window>>,
}

impl RateWindows {
    /// The windows of one generator: its samples, and what came after the last of them.
    pub(crate) fn new(samples: &RateSamples, rest: u64, rest_time: Duration) -> Self {
        let windows = samples.samples.iter().copied().chain([(rest, whole(rest_time))]);
        Self { generators: vec![windows.collect()] }
    }

    /// These, or if they are from a document that does not have them, what its samples say, with this many events in a
    /// phase of this length.
    pub(crate) fn or_of(&self, samples: &RateSamples, count: u64, phase: Duration) -> Self {
        match self.generators.is_empty() {
            true => Self { generators: vec![samples.with_rest_of(count, phase)] },
            false => self.clone(),
        }
    }

    /// Adds those of other generators.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.generators.extend_from_slice(&other.generators);
        self.generators.sort_unstable();
    }

    /// Adds those of another worker of the same generator, which was sampled at the same instants. One that ended
    /// before the other had the rest of its events in the window that came next.
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

    /// The samples of all generators together. They are those of a single one. Several are sampled anew, at equal
    /// intervals from the first sample of any of them on, and what a generator counted in a window is taken to have
    /// come evenly: what the rate was at an instant is the sum of what it was in each of them.
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
        // A generator that was held up has fewer samples than its time would allow; no run has more than one of them.
        let count_max = self.generators.iter().map(Vec::len).max().unwrap_or(0);
        let instants = (0..).map(|nth| u128::from(first) + nth * SAMPLE_INTERVAL.as_nanos());
        let instants = instants.take_while(|&instant| instant <= end).take(count_max);
        let mut readers: Vec<Reader<'_>> =
            self.generators.iter().map(|windows| Reader::new(windows)).collect();
        let (mut before, mut from) = (0, 0);
        let samples = instants.map(|instant| {
            let parts: u128 = readers.iter_mut().map(|reader| reader.count_at(instant)).sum();
            // Events are whole. So little is lost that it could be a matter of where the instant lay.
            let count = (parts + PARTS / 2) / PARTS;
            let sample = (saturated(count - before), saturated(instant - from));
            (before, from) = (count, instant);
            sample
        });
        RateSamples { samples: samples.collect() }
    }
}

/// The parts of an event in which counts are interpolated.
const PARTS: u128 = 1 << 32;

fn saturated(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// When the measured phase of a generator ended, in nanoseconds since it began.
fn end_of(windows: &[Window]) -> u128 {
    windows.iter().map(|&(_, time)| u128::from(time)).sum()
}

/// Reads the windows of a generator from the first to the last.
struct Reader<'a> {
    windows: std::slice::Iter<'a, Window>,
    /// What was counted before the window that is read now.
    count: u128,
    /// When that window began.
    from: u128,
}

impl<'a> Reader<'a> {
    fn new(windows: &'a [Window]) -> Self {
        Self { windows: windows.iter(), count: 0, from: 0 }
    }

    /// How many events there were up to this instant, which is not before the last one that was asked for, in
    /// [`PARTS`]. When the generator had ended, all.
    fn count_at(&mut self, instant: u128) -> u128 {
        while let Some(&(count, time)) = self.windows.as_slice().first() {
            let (count, time) = (u128::from(count), u128::from(time));
            let passed = instant - self.from;
            if passed < time {
                // Below 2⁹⁶ times 2⁶⁴ it would not fit: the share of the time comes first.
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

    /// The windows of a generator that counts so many events in each second from its beginning to its end, sampled first
    /// at an instant and then every five seconds. Times are in milliseconds.
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

    /// Every sample of the whole is this rate, to an event more or less, and there are so many.
    #[track_caller]
    fn check(whole: &RateWindows, count: u64, rate: f64) {
        let moments = whole.samples().moments();
        assert_eq!(moments.count(), count, "{whole:?}");
        for got in [moments.min(), moments.mean(), moments.max()] {
            assert!((got - rate).abs() <= 1.0, "{got} and not {rate}: {:?}", whole.samples());
        }
    }

    #[test]
    fn generators_that_are_sampled_in_turn_add_up_to_the_rate_of_all() {
        let parts = [1667, 3333, 5000].map(|first| steady(200, first, 6000));
        check(&merged([&parts[0], &parts[1], &parts[2]]), 1, 600.0);
        let parts = [1667, 3333, 5000].map(|first| steady(200, first, 61_000));
        check(&merged([&parts[0], &parts[1], &parts[2]]), 12, 600.0);
        check(&merged([&parts[1], &parts[2]]), 12, 400.0);
    }

    #[test]
    fn too_short_for_a_sample_of_all_is_long_enough_for_one_of_the_first() {
        let parts = [1667, 3333, 5000].map(|first| steady(200, first, 4000));
        assert_eq!(parts.each_ref().map(|part| part.samples().moments().count()), [1, 1, 0]);
        check(&merged([&parts[0], &parts[1], &parts[2]]), 1, 600.0);
        check(&merged([&parts[1], &parts[2]]), 1, 400.0);
        check(&merged([&parts[2], &parts[2]]), 0, 0.0);
    }

    #[test]
    fn instants_that_differ_a_little_make_no_difference() {
        let parts = [4990, 5000, 5130].map(|first| steady(1000, first, 33_000));
        check(&merged([&parts[0], &parts[1], &parts[2]]), 6, 3000.0);
    }

    #[test]
    fn a_generator_that_stops_before_the_others_counts_until_then() {
        let (long, short) = (steady(100, 2500, 42_500), steady(300, 5000, 23_000));
        let rates: Vec<f64> =
            merged([&long, &short]).samples().samples.iter().map(|&sample| rate_of(sample).round()).collect();
        // The fifth window goes from 17.5 to 22.5 s, the sixth to 27.5 s: half a second of it has both.
        assert_eq!(rates, [400.0, 400.0, 400.0, 400.0, 400.0, 130.0, 100.0, 100.0, 100.0]);
    }

    #[test]
    fn the_order_makes_no_difference_nor_do_steps() {
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
    fn workers_of_one_generator_are_sampled_together_however_long_each_had_work() {
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
    fn a_generator_alone_has_the_samples_that_it_took() {
        let mut samples = RateSamples::default();
        [(20, 5000), (31, 5001), (7, 0)].iter().for_each(|&(count, ms)| {
            samples.add(count, Duration::from_millis(ms));
        });
        let alone = RateWindows::new(&samples, 9, Duration::from_millis(3));
        assert_eq!(alone.samples(), samples);
        assert_eq!(RateWindows::default().samples(), RateSamples::default());
    }

    #[test]
    fn what_an_older_document_does_not_say_follows_from_its_counts() {
        let mut samples = RateSamples::default();
        samples.add(1000, Duration::from_secs(5));
        let older = RateWindows::default().or_of(&samples, 1200, Duration::from_secs(6));
        assert_eq!(older, RateWindows::new(&samples, 200, Duration::from_secs(1)));
        check(&merged([&older, &steady(200, 1667, 6000)]), 1, 400.0);
    }

    #[test]
    fn odd_windows_take_no_more_time_and_room_than_they_have() {
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
