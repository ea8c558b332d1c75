//! Histograms with classes that are equally long on a logarithmic scale, for text and pages.

use httperf_stats::Timing;

/// Shortest class as a share of its value: shorter ones would show the steps in which times are recorded.
const SHORTEST: f64 = 0.002;

/// Numbers of times in classes of equal ratio, from the shortest to the longest time.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    low_ms: f64,
    high_ms: f64,
    /// Number of times in each class.
    pub counts: Vec<u64>,
}

impl Histogram {
    /// Counts times in this many classes; `None` if they do not differ.
    #[must_use]
    pub fn of(timing: &Timing, classes: usize) -> Option<Self> {
        let (low, high) = (timing.moments.min(), timing.moments.max());
        if timing.moments.count() < 2 || high <= low || low <= 0.0 || classes == 0 {
            return None;
        }
        let mut counts = vec![0_u64; classes];
        let scale = classes as f64 / (high / low).ln();
        for (us, count) in timing.classes() {
            let place = ((us as f64 / 1e6 / low).ln() * scale).max(0.0) as usize;
            counts[place.min(classes - 1)] += count;
        }
        Some(Self { low_ms: low * 1e3, high_ms: high * 1e3, counts })
    }

    /// Counts times in at most this many classes, in fewer if times are not recorded as finely.
    #[must_use]
    pub fn of_at_most(timing: &Timing, classes: usize) -> Option<Self> {
        let (low, high) = (timing.moments.min(), timing.moments.max());
        // Times are recorded in microseconds.
        let shortest = SHORTEST.max(2e-6 / low).ln_1p();
        let fine = ((high / low).ln() / shortest).floor();
        let fine = if fine.is_finite() { fine.clamp(1.0, classes as f64) as usize } else { 1 };
        Self::of(timing, fine)
    }

    /// Shortest and longest time in milliseconds.
    #[must_use]
    pub fn ends(&self) -> (f64, f64) {
        (self.low_ms, self.high_ms)
    }

    /// Ends of a class in milliseconds.
    #[must_use]
    pub fn class(&self, index: usize) -> (f64, f64) {
        let end = |index: usize| {
            let share = index as f64 / self.counts.len() as f64;
            self.low_ms * (self.high_ms / self.low_ms).powf(share)
        };
        (end(index), end(index + 1))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn timing(us: impl IntoIterator<Item = u64>) -> Timing {
        let mut timing = Timing::default();
        us.into_iter().for_each(|us| timing.add(Duration::from_micros(us)));
        timing
    }

    #[test]
    fn classes_have_equal_ratios_and_lose_nothing() {
        let histogram = Histogram::of(&timing((1..=1000).map(|ms| ms * 1000)), 3).expect("times differ");
        assert_eq!(histogram.counts.iter().sum::<u64>(), 1000);
        let ends: Vec<f64> = (0..3).map(|index| histogram.class(index).1.round()).collect();
        assert_eq!(ends, [10.0, 100.0, 1000.0]);
        assert_eq!(histogram.class(0).0, histogram.ends().0);
    }

    #[test]
    fn equal_times_have_no_histogram() {
        for times in [timing([]), timing([7]), timing([7, 7, 7])] {
            assert_eq!(Histogram::of(&times, 50), None);
            assert_eq!(Histogram::of_at_most(&times, 50), None);
        }
    }

    #[test]
    fn classes_are_no_finer_than_times_are_recorded() {
        let classes = |us| Histogram::of_at_most(&timing(us), 60).expect("times differ").counts.len();
        assert_eq!(classes(1_000..=1_000_000), 60);
        assert_eq!(classes(20_000..=21_000), 24);
        assert_eq!(classes(10..=30), 6);
    }
}
