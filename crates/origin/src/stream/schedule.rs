//! The instants of a stream's writes.

use std::time::Duration;

use rand_pcg::Pcg64Mcg;

use crate::delay::Delay;

/// The instants of a stream's writes, as time since its header. Each is computed from the one before, not from when
/// that was carried out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Schedule {
    due: Duration,
    gap: Delay,
    random: Pcg64Mcg,
    longest: Duration,
}

impl Schedule {
    /// Draws the first instant. No delay or gap is above `longest`.
    pub(super) fn new(first: Delay, gap: Delay, mut random: Pcg64Mcg, longest: Duration) -> Self {
        Self { due: first.draw(&mut random, longest), gap, random, longest }
    }

    /// Returns the instant of the next write.
    pub(super) fn due(&self) -> Duration {
        self.due
    }

    /// Goes on to the write after it.
    pub(super) fn advance(&mut self) {
        self.due += self.gap.draw(&mut self.random, self.longest);
    }

    /// Returns the instant of the last write, of one or more.
    pub(super) fn last(mut self, writes: u32) -> Duration {
        for _ in 1..writes {
            self.advance();
        }
        self.due
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn schedule(first: &str, gap: &str) -> Schedule {
        let random = Pcg64Mcg::seed_from_u64(1);
        Schedule::new(first.parse().unwrap(), gap.parse().unwrap(), random, 1000 * MS)
    }

    #[test]
    fn gaps_add_up_from_the_first_instant() {
        let mut schedule = schedule("7ms", "2ms");
        let mut due = Vec::new();
        for _ in 0..4 {
            due.push(schedule.due());
            schedule.advance();
        }
        assert_eq!(due, [7, 9, 11, 13].map(|after| after * MS));
    }

    #[test]
    fn the_last_instant_is_known_ahead() {
        let mut one_by_one = schedule("exp:3ms", "uniform:1ms,9ms");
        let last = one_by_one.clone().last(100);
        for _ in 1..100 {
            one_by_one.advance();
        }
        assert_eq!(one_by_one.due(), last);
        assert_eq!(schedule("5ms", "1h").last(3), 2005 * MS);
    }

    #[test]
    fn each_gap_is_drawn_anew() {
        let mut schedule = schedule("0", "uniform:1ms,9ms");
        let mut gaps = Vec::new();
        for _ in 0..100 {
            let before = schedule.due();
            schedule.advance();
            gaps.push(schedule.due() - before);
        }
        assert!(gaps.iter().all(|gap| (1 * MS..=9 * MS).contains(gap)), "{gaps:?}");
        gaps.sort_unstable();
        gaps.dedup();
        assert!(gaps.len() > 90, "{gaps:?}");
    }
}
