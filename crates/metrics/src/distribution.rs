//! Times, and their buckets.

use std::collections::BTreeMap;

use httperf_stats::Classes;

/// Upper bounds of the buckets of histograms in text, in microseconds: twelve for each power of ten, from 10 µs to 100 s, each
/// about a fifth above the one before.
pub const BOUNDS_US: [u32; 85] = bounds();

/// The scale of exponential histograms (OpenTelemetry's word; the schema of Prometheus): bounds are powers of
/// 2^(2^-scale), 2.2 % apart.
pub const SCALE: i32 = 5;

/// Bounds within a power of ten, as multiples of a tenth of it: the series E12 of IEC 60063.
const IN_A_DECADE: [u32; 12] = [10, 12, 15, 18, 22, 27, 33, 39, 47, 56, 68, 82];

const fn bounds() -> [u32; 85] {
    let mut bounds = [100_000_000; 85];
    let (mut decade, mut index) = (1, 0);
    while index < 84 {
        bounds[index] = IN_A_DECADE[index % 12] * decade;
        index += 1;
        if index % 12 == 0 {
            decade *= 10;
        }
    }
    bounds
}

/// Times, in the classes of the intervals that told of them: their upper ends, 1 % wide.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    /// Counts by time in microseconds.
    counts: BTreeMap<u32, u64>,
    count: u64,
    sum_us: u128,
}

impl Distribution {
    /// Adds the times of an interval.
    pub fn add(&mut self, classes: &Classes) {
        for (us, count) in classes.iter() {
            *self.counts.entry(us).or_default() += u64::from(count);
        }
        self.count += classes.total();
        self.sum_us += classes.sum_us();
    }

    /// The number of times.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum in seconds.
    #[must_use]
    pub fn sum_s(&self) -> f64 {
        self.sum_us as f64 / 1e6
    }

    /// Buckets with an upper bound in seconds, and how many times are above the bound before and not above it. The last
    /// bound is infinite.
    #[must_use]
    pub fn buckets(&self) -> Vec<(f64, u64)> {
        let mut counts = self.counts.iter().peekable();
        let mut buckets = Vec::with_capacity(BOUNDS_US.len() + 1);
        for bound in BOUNDS_US {
            let mut in_bucket = 0;
            while let Some((_, count)) = counts.next_if(|&(&us, _)| us <= bound) {
                in_bucket += count;
            }
            buckets.push((f64::from(bound) / 1e6, in_bucket));
        }
        buckets.push((f64::INFINITY, counts.map(|(_, count)| count).sum()));
        buckets
    }

    /// Buckets of an exponential histogram of [`SCALE`] that are not empty, ascending: index and count. The upper bound of
    /// bucket `i` is 2^(i / 2^scale) seconds, and belongs to it, as in Prometheus.
    #[must_use]
    pub fn exponential(&self) -> Vec<(i32, u64)> {
        let mut buckets: Vec<(i32, u64)> = Vec::new();
        for (&us, &count) in &self.counts {
            let index = index(us);
            match buckets.last_mut() {
                Some(last) if last.0 == index => last.1 += count,
                _ => buckets.push((index, count)),
            }
        }
        buckets
    }
}

/// The index of the bucket of a time. One of less than a microsecond counts as that.
fn index(us: u32) -> i32 {
    let seconds = f64::from(us.max(1)) / 1e6;
    (seconds.log2() * f64::from(1 << SCALE)).ceil() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distribution(times: &[(u64, u64)]) -> Distribution {
        let mut distribution = Distribution::default();
        distribution.add(&Classes::from_ascending(times.iter().copied()));
        distribution
    }

    #[test]
    fn bounds_ascend_in_even_steps_from_ten_microseconds_to_a_hundred_seconds() {
        assert_eq!((BOUNDS_US[0], BOUNDS_US[11], BOUNDS_US[12], BOUNDS_US[84]), (10, 82, 100, 100_000_000));
        for pair in BOUNDS_US.windows(2) {
            let step = f64::from(pair[1]) / f64::from(pair[0]);
            assert!((1.17..1.26).contains(&step), "{pair:?}");
        }
    }

    #[test]
    fn a_time_is_in_the_bucket_whose_bound_is_next_above_it() {
        let found = distribution(&[(1, 2), (10, 3), (11, 5), (1_000_000, 7), (200_000_000, 11)]);
        let buckets = found.buckets();
        let of = |bound: f64| buckets.iter().find(|bucket| bucket.0 == bound).map(|bucket| bucket.1);
        assert_eq!((of(1e-5), of(1.2e-5), of(1.0), of(f64::INFINITY)), (Some(5), Some(5), Some(7), Some(11)));
        assert_eq!(buckets.iter().map(|bucket| bucket.1).sum::<u64>(), found.count());
        assert!((found.sum_s() - (2.0 + 30.0 + 55.0 + 7e6 + 2.2e9) / 1e6).abs() < 1e-6);
    }

    #[test]
    fn exponential_buckets_hold_every_time_between_their_bounds() {
        let base = 2_f64.powf(1.0 / f64::from(1 << SCALE));
        for us in (1..2000).chain((2000..4_000_000_000).step_by(7_654_321)) {
            let found = distribution(&[(us, 1)]).exponential();
            let [(index, 1)] = found[..] else { panic!("{us}: {found:?}") };
            let (seconds, above) = (us as f64 / 1e6, base.powi(index));
            assert!(
                seconds <= above * (1.0 + 1e-12) && seconds > above / base * (1.0 - 1e-12),
                "{us}: {index}"
            );
        }
        assert_eq!(
            distribution(&[(1_000_000, 1), (1_000_001, 1), (2_000_000, 1)]).exponential(),
            [(0, 1), (1, 1), (32, 1)]
        );
        assert_eq!(distribution(&[(0, 4), (1, 1)]).exponential(), [(index(1), 5)]);
    }

    #[test]
    fn nothing_is_an_empty_distribution() {
        let nothing = distribution(&[]);
        assert!(nothing.exponential().is_empty());
        assert_eq!(nothing.buckets().iter().map(|bucket| bucket.1).sum::<u64>(), 0);
    }
}
