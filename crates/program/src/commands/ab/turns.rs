//! The trials: in rounds, each with one trial of both sides in random order.
//!
//! Slow changes (the load of a machine, the temperature of its processor) affect both trials of a round
//! alike. What the second trial of a round finds otherwise than the first (connections that the server still has to
//! forget, a cache that is warm now) meets both sides equally often: of two rounds that follow each other, chance decides
//! in which of them a side is first. Were it drawn anew for each round, one of sixteen comparisons of five rounds would
//! have the same side first in all of them, and take that for a difference.
//!
//! Both trials of a round draw the same random numbers, and each round draws others. What is odd in the arrivals of a few
//! seconds is then no difference of the sides, and as rounds remain independent, the differences within them are what
//! Student's t distribution asks for. If all rounds drew the same, that oddity would be in all of them, and no number of
//! rounds would show how much it matters.

use std::time::Duration;

use anyhow::Result;
use httperf_report::compare::Rounds;
use httperf_report::result::Document;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::runner::trials::Trial;

/// The names of the two while trials are made.
pub(super) const SIDES: [&str; 2] = ["A", "B"];

/// The rounds to be made.
#[derive(Debug)]
pub(super) struct Turns {
    pub(super) rounds: u32,
    /// Before each trial but the first.
    pub(super) pause: Duration,
    /// The seed of the order.
    pub(super) seed: u64,
}

/// An event in the course of the rounds.
pub(super) enum Event<'a> {
    /// A trial begins.
    Trial {
        /// Index of the round.
        round: u32,
        /// Name of the side.
        side: &'static str,
    },
    /// A round is complete.
    Round(&'a Rounds),
}

impl Turns {
    /// Makes all rounds. `carry_out` makes a trial; `is_over` tells whether somebody asked for an early end, on which the
    /// round that is under way is left out; `tell` is told what happens.
    ///
    /// # Errors
    /// Those of `carry_out`.
    pub(super) fn make(
        &self,
        carry_out: &mut dyn FnMut(&Trial) -> Result<Option<Document>>,
        pause: &dyn Fn(Duration),
        is_over: &dyn Fn() -> bool,
        made: &mut Rounds,
        tell: &mut dyn FnMut(Event<'_>),
    ) -> Result<()> {
        for (round, first) in (0..self.rounds).zip(first_sides(self.seed)) {
            let mut trial = |side: usize, is_first: bool| -> Result<Option<Document>> {
                tell(Event::Trial { round, side: SIDES[side] });
                if !is_first {
                    pause(self.pause);
                }
                if is_over() {
                    return Ok(None);
                }
                let document = carry_out(&Trial { side, number: round, ..Trial::default() })?;
                // What was cut short is no trial.
                Ok(document.filter(|_| !is_over()))
            };
            let Some(one) = trial(first, round == 0)? else { break };
            let Some(other) = trial(1 - first, false)? else { break };
            made.add([(first, &one), (1 - first, &other)]);
            tell(Event::Round(made));
        }
        Ok(())
    }
}

/// The side that is first in each round.
fn first_sides(seed: u64) -> impl Iterator<Item = usize> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    std::iter::repeat_with(move || usize::from(random.random::<bool>())).flat_map(|first| [first, 1 - first])
}

#[cfg(test)]
mod tests {
    use httperf_stats::comparison::paired;

    use super::*;

    #[test]
    fn of_two_rounds_each_side_is_first_in_one() {
        let orders: Vec<Vec<usize>> = (0..20).map(|seed| first_sides(seed).take(10).collect()).collect();
        for order in &orders {
            assert!(order.chunks(2).all(|rounds| rounds[0] + rounds[1] == 1), "{order:?}");
        }
        assert!(orders.iter().any(|order| order[0] == 0) && orders.iter().any(|order| order[0] == 1));
    }

    /// Of comparisons with these seeds, the share in which sides are found to differ, if the second trial of each round
    /// takes a twentieth longer than the first, and B that much longer than A.
    fn found(seeds: std::ops::Range<u64>, rounds: u32, b: f64) -> f64 {
        let count = (seeds.end - seeds.start) as f64;
        let differs = |seed: &u64| {
            let mut random = Pcg64Mcg::seed_from_u64(seed + 1_000_000);
            let mut time = |is_second: bool| {
                // Nearly normal, with a deviation of 1 %.
                let noise = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
                (1.0 + 0.01 * noise) * if is_second { 1.05 } else { 1.0 }
            };
            let pairs: Vec<(f64, f64)> = first_sides(*seed)
                .take(rounds as usize)
                .map(|first| (time(first == 1), time(first == 0) * b))
                .collect();
            paired(&pairs, None).expect("there are enough").p_value <= 0.05
        };
        seeds.filter(differs).count() as f64 / count
    }

    #[test]
    fn being_second_is_not_taken_for_a_difference_of_the_sides() {
        for rounds in [5, 6, 7, 10] {
            let found = found(0..2000, rounds, 1.0);
            assert!(found <= 0.05, "{rounds} rounds: {found}");
        }
    }

    #[test]
    fn a_tenth_more_is_found_in_spite_of_it() {
        let found = found(0..200, 10, 1.1);
        assert!(found > 0.99, "{found}");
    }
}
