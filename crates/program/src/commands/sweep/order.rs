//! In which order the runs of a sweep are made.

use httperf_report::sweep::SweepSettings;
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_pcg::Pcg64Mcg;

/// One run that is to be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Turn {
    pub(super) rate: f64,
    /// Its number among the runs at this rate, from 0.
    pub(super) repeat: u32,
}

/// All runs in their order: rate by rate, or each rate once in random order, and again in another one for each repeat,
/// so that a drift of the server does not look like an effect of the rate.
pub(super) fn order(settings: &SweepSettings) -> Vec<Turn> {
    let SweepSettings { rates, repeats, shuffled_by, .. } = settings;
    let Some(seed) = shuffled_by else {
        let repeated = |&rate| (0..*repeats).map(move |repeat| Turn { rate, repeat });
        return rates.iter().flat_map(repeated).collect();
    };
    let mut random = Pcg64Mcg::seed_from_u64(*seed);
    let mut turns = Vec::new();
    for repeat in 0..*repeats {
        let mut shuffled = rates.clone();
        shuffled.shuffle(&mut random);
        turns.extend(shuffled.into_iter().map(|rate| Turn { rate, repeat }));
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(repeats: u32, shuffled_by: Option<u64>) -> Vec<(u32, u32)> {
        let rates = (1..=8).map(f64::from).collect();
        let settings =
            SweepSettings { rates, repeats, shuffled_by, stop_after: None, pause_s: 0.0, settle_s: 0.0 };
        order(&settings).into_iter().map(|turn| (turn.rate as u32, turn.repeat)).collect()
    }

    #[test]
    fn rates_rise_and_repeats_follow_each_other() {
        assert_eq!(turns(2, None)[..5], [(1, 0), (1, 1), (2, 0), (2, 1), (3, 0)]);
    }

    #[test]
    fn each_repeat_has_every_rate_once_in_an_order_of_its_own() {
        let turns = turns(3, Some(7));
        let passes: Vec<Vec<u32>> =
            turns.chunks(8).map(|pass| pass.iter().map(|&(rate, _)| rate).collect()).collect();
        for (repeat, pass) in (0..).zip(&passes) {
            let mut sorted = pass.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (1..=8).collect::<Vec<u32>>());
            assert!(turns.iter().filter(|turn| turn.1 == repeat).count() == 8);
        }
        assert_ne!(passes[0], passes[1]);
    }

    #[test]
    fn the_seed_decides_the_order() {
        assert_eq!(turns(2, Some(1)), turns(2, Some(1)));
        assert_ne!(turns(2, Some(1)), turns(2, Some(2)));
    }
}
