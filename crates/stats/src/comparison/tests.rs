//! Simulated pairs of runs: rates of false and true positives.

use hdrhistogram::Histogram;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_distr::{Exp1, StandardNormal};
use rand_pcg::Pcg64Mcg;

use super::*;
use crate::Classes;
use crate::timing::MAX_US;

/// The figures of a comparison.
const FIGURES: [Figure; 5] = [
    Figure::Mean,
    Figure::Quantile(0.5),
    Figure::Quantile(0.9),
    Figure::Quantile(0.99),
    Figure::Quantile(0.999),
];

/// A simulated run: its latencies in seconds, batch by batch, and the number of failed calls of each.
struct Run {
    batches: Batches,
    /// The same latencies, unrounded and sorted.
    seconds: Vec<f64>,
}

impl Run {
    /// Creates a run from the latencies of each batch. One call in a hundred fails, at random.
    fn of(latencies: &[Vec<f64>], random: &mut Pcg64Mcg) -> Self {
        let mut batches = Batches::default();
        for batch in latencies {
            batches.whole.push(batch.len() as f64);
            batches.counts.push(batch.iter().filter(|_| random.random_bool(0.01)).count() as f64);
            let mut us: Vec<u64> = batch.iter().map(|seconds| upper_end((seconds * 1e6) as u64)).collect();
            us.sort_unstable();
            batches.latency.push(Classes::from_ascending(us.into_iter().map(|us| (us, 1))));
        }
        let mut seconds = latencies.concat();
        seconds.sort_by(f64::total_cmp);
        Self { batches, seconds }
    }

    fn value(&self, figure: Figure) -> f64 {
        let count = self.seconds.len() as f64;
        match figure {
            Figure::Mean => self.seconds.iter().sum::<f64>() / count,
            Figure::Quantile(share) => self.seconds[(share * count).ceil() as usize - 1],
            Figure::Share => self.batches.counts.iter().sum::<f64>() / count,
            Figure::Rate => count / self.batches.latency.len() as f64,
        }
    }

    /// Calls per second.
    fn rates(&self) -> Batches {
        let counts = self.batches.whole.clone();
        Batches { whole: vec![1.0; counts.len()], counts, ..Batches::default() }
    }

    fn difference(&self, new: &Self, figure: Figure) -> Result<Difference, Unknown> {
        let rates = [self, new].map(Self::rates);
        let [base_batches, new_batches] = match figure {
            Figure::Rate => [&rates[0], &rates[1]],
            _ => [&self.batches, &new.batches],
        };
        let measured = |run: &Self, batches| Measured { value: Some(run.value(figure)), batches };
        difference(figure, measured(self, base_batches), measured(new, new_batches))
    }

    /// Returns true if any of seven figures differs, after Holm's correction.
    fn differs(&self, new: &Self) -> bool {
        let all = FIGURES.into_iter().chain([Figure::Share, Figure::Rate]);
        let p_values: Vec<Option<f64>> = all
            .map(|figure| self.difference(new, figure).ok().map(|difference| difference.p_value))
            .collect();
        holm(&p_values).into_iter().flatten().any(|p_value| p_value <= 0.05)
    }
}

/// Upper end of the class of a latency in microseconds.
fn upper_end(us: u64) -> u64 {
    let width = u64::from(class_width(us as u32));
    us / width * width + width - 1
}

/// Latencies are log-normal around a level that is constant within a batch and follows a first-order
/// autoregression from batch to batch; `memory` is its decay time in batches.
fn wandering(random: &mut Pcg64Mcg, batches: usize, size: usize, memory: f64, slower: f64) -> Run {
    let kept = if memory > 0.0 { (-1.0 / memory).exp() } else { 0.0 };
    let mut level: f64 = random.sample(StandardNormal);
    let latencies = (0..batches).map(|_| {
        level = kept * level + (1.0 - kept * kept).sqrt() * random.sample::<f64, _>(StandardNormal);
        let noise = (0..size).map(|_| 0.1 * level + 0.5 * random.sample::<f64, _>(StandardNormal));
        noise.map(|exponent| 0.01 * slower * exponent.exp()).collect()
    });
    let latencies: Vec<Vec<f64>> = latencies.collect();
    Run::of(&latencies, random)
}

/// Latencies of a queue with one server: 200 random arrivals per second, and log-normal service times that
/// keep it busy half of the time. It has run for a while before it is measured.
fn queue(random: &mut Pcg64Mcg, batches: usize, slower: f64) -> Run {
    const BEFORE: f64 = 2.0;
    let mut latencies = vec![Vec::new(); batches];
    let (mut arrival, mut free) = (0.0, 0.0_f64);
    loop {
        arrival += random.sample::<f64, _>(Exp1) / 200.0;
        let service = 0.0025 * slower * (0.5 * random.sample::<f64, _>(StandardNormal) - 0.125).exp();
        free = free.max(arrival) + service;
        if free < BEFORE {
            continue;
        }
        match latencies.get_mut((free - BEFORE) as usize) {
            Some(batch) => batch.push(free - arrival),
            None => return Run::of(&latencies, random),
        }
    }
}

/// Number of pairs that appear to differ.
fn found(pairs: u64, run: impl Fn(&mut Pcg64Mcg, f64) -> Run, slower: f64) -> usize {
    let differs = |seed: &u64| {
        let random = &mut Pcg64Mcg::seed_from_u64(*seed);
        let (base, new) = (run(random, 1.0), run(random, slower));
        base.differs(&new)
    };
    (0..pairs).filter(differs).count()
}

/// Bound that a true rate of 5 % exceeds in one test of a hundred.
fn at_most_5_percent(pairs: u64) -> usize {
    let mean = pairs as f64 * 0.05;
    (mean + 2.33 * (mean * 0.95).sqrt()) as usize
}

#[test]
fn false_positives_are_at_most_5_percent() {
    const PAIRS: u64 = 40;
    let mut all = 0;
    for batches in [10, 30, 60] {
        let memory = batches as f64 / 30.0;
        for (name, found) in [
            ("independent", found(PAIRS, |random, _| wandering(random, batches, 100, 0.0, 1.0), 1.0)),
            ("alike", found(PAIRS, |random, _| wandering(random, batches, 100, memory, 1.0), 1.0)),
            ("queue", found(PAIRS, |random, _| queue(random, batches, 1.0), 1.0)),
        ] {
            assert!(found <= at_most_5_percent(PAIRS), "{name}, {batches} batches: {found} of {PAIRS}");
            all += found;
        }
    }
    assert!(all as u64 * 20 <= 9 * PAIRS, "{all} of {}", 9 * PAIRS);
}

#[test]
fn servers_that_are_a_tenth_slower_are_nearly_always_detected() {
    const PAIRS: u64 = 30;
    for (batches, at_least) in [(10, 0.25), (30, 0.97), (60, 1.0)] {
        let found = found(PAIRS, |random, slower| queue(random, batches, slower), 1.1);
        assert!(found as f64 >= at_least * PAIRS as f64, "{batches} batches: {found} of {PAIRS}");
    }
}

#[test]
fn intervals_have_the_nominal_coverage() {
    const PAIRS: u64 = 60;
    let mut all = (0, 0);
    for batches in [10, 30, 60] {
        for memory in [0.0, batches as f64 / 30.0] {
            let mut hits = [(0, 0); 5];
            for seed in 0..PAIRS {
                let random = &mut Pcg64Mcg::seed_from_u64(seed);
                let base = wandering(random, batches, 100, memory, 1.0);
                let new = wandering(random, batches, 100, memory, 1.2);
                for (hits, figure) in hits.iter_mut().zip(FIGURES) {
                    if let Ok(difference) = base.difference(&new, figure) {
                        hits.0 += usize::from(!difference.relative.unwrap().differs_from(0.2));
                        hits.1 += 1;
                    }
                }
            }
            for (figure, (hits, known)) in FIGURES.into_iter().zip(hits) {
                // With few, chance dominates.
                let is_often = hits as f64 >= 0.82 * known as f64;
                assert!(known < 50 || is_often, "{figure:?} of {batches}, {memory}: {hits} of {known}");
                all = (all.0 + hits, all.1 + known);
            }
        }
    }
    let share = all.0 as f64 / all.1 as f64;
    assert!((0.93..=0.985).contains(&share), "{share} of {}", all.1);
}

#[test]
fn classes_are_as_wide_as_those_of_a_series() {
    let histogram = Histogram::<u32>::new_with_bounds(1, MAX_US, SIGNIFICANT_DIGITS).unwrap();
    for us in (0..2000).chain((0..22).map(|power| (1 << power) * 991)) {
        assert_eq!(upper_end(us), histogram.highest_equivalent(us), "{us}");
        let width = histogram.highest_equivalent(us) - histogram.lowest_equivalent(us) + 1;
        assert_eq!(u64::from(class_width(upper_end(us) as u32)), width, "{us}");
    }
}

/// Batches of `size` latencies each; `us` maps the overall number of a latency to its value.
fn batches_of(batches: usize, size: usize, us: impl Fn(usize) -> u64) -> Batches {
    let batch = |batch: usize| {
        let mut us: Vec<u64> = (batch * size..(batch + 1) * size).map(&us).collect();
        us.sort_unstable();
        Classes::from_ascending(us.into_iter().map(|us| (us, 1)))
    };
    Batches { latency: (0..batches).map(batch).collect(), ..Batches::default() }
}

fn counts(counts: &[f64], whole: f64) -> Batches {
    Batches { counts: counts.to_vec(), whole: vec![whole; counts.len()], ..Batches::default() }
}

#[track_caller]
fn check(figure: Figure, base: (f64, &Batches), new: (f64, &Batches)) -> Result<Difference, Unknown> {
    let measured = |(value, batches)| Measured { value: Some(value), batches };
    let [there, back] = [(base, new), (new, base)].map(|(a, b)| difference(figure, measured(a), measured(b)));
    match (&there, &back) {
        (Ok(there), Ok(back)) => {
            assert!((there.absolute.value() + back.absolute.value()).abs() < 1e-9);
            assert!((there.p_value - back.p_value).abs() < 1e-9, "swapping the runs keeps the p-value");
        }
        (there, back) => assert_eq!(there, back),
    }
    there
}

#[test]
fn insufficient_data_is_reported() {
    let of = |batches, size| batches_of(batches, size, |number| 1000 + number as u64 % 97);
    let one = |figure, batches: &Batches| check(figure, (1.0, batches), (1.0, &of(60, 100))).map(|_| ());
    assert_eq!(one(Figure::Mean, &of(10, 100)), Ok(()));
    assert_eq!(one(Figure::Mean, &of(9, 100)), Err(Unknown::Batches { batches: 9 }));
    assert_eq!(one(Figure::Mean, &of(0, 0)), Err(Unknown::Nothing));
    assert_eq!(one(Figure::Mean, &of(30, 0)), Err(Unknown::Nothing));
    assert_eq!(one(Figure::Quantile(0.99), &of(20, 50)), Ok(()));
    assert!(matches!(one(Figure::Quantile(0.99), &of(20, 49)), Err(Unknown::Beyond { .. })));
    assert!(matches!(one(Figure::Quantile(0.01), &of(10, 10)), Err(Unknown::Beyond { .. })));
    // Correlated latencies carry less information.
    let waves =
        batches_of(60, 100, |number| if number / 100 % 30 == 0 { 2000 } else { 1000 + number as u64 % 97 });
    assert!(
        matches!(one(Figure::Quantile(0.97), &waves), Err(Unknown::Beyond { independent }) if independent < 5.0)
    );
    let nothing = Measured { value: None, batches: &of(60, 100) };
    assert_eq!(difference(Figure::Mean, nothing, nothing), Err(Unknown::Nothing));
}

#[test]
fn equal_runs_do_not_differ_and_constant_ones_do_by_more_than_rounding() {
    let constant = |us| batches_of(30, 100, move |_| us);
    let same = check(Figure::Quantile(0.5), (0.01, &constant(10_000)), (0.01, &constant(10_000))).unwrap();
    assert_eq!((same.absolute.value(), same.p_value), (0.0, 1.0));
    let p_value = |new: f64| {
        let new_batches = constant((new * 1e6) as u64);
        check(Figure::Mean, (0.01, &constant(10_000)), (new, &new_batches)).unwrap().p_value
    };
    assert!(p_value(0.010_005) > 0.1 && p_value(0.010_05) < 1e-6);
}

#[test]
fn a_share_of_zero_differs_from_large_shares_only() {
    let none = counts(&[0.0; 30], 100.0);
    let share = |share: f64, batches: &Batches| check(Figure::Share, (0.0, &none), (share, batches)).unwrap();
    let difference = share(0.0, &none);
    assert_eq!((difference.p_value, difference.relative), (1.0, None));
    let margin = difference.absolute.margin().unwrap();
    assert!((5e-4..2e-3).contains(&margin), "no failures in 3,000 calls are no proof: {margin}");
    let mut few = [0.0; 30];
    few[7] = 3.0;
    assert!(share(0.001, &counts(&few, 100.0)).p_value > 0.05);
    assert!(share(0.02, &counts(&[2.0; 30], 100.0)).p_value < 1e-6);
    // All failures at once are one event.
    few[7] = 60.0;
    assert!(share(0.02, &counts(&few, 100.0)).p_value > 0.05);
}

#[test]
fn a_server_that_stops_answering_has_a_different_rate() {
    let (up, down) = (counts(&[100.0, 102.0, 98.0].repeat(10), 1.0), counts(&[0.0; 30], 1.0));
    let difference = check(Figure::Rate, (100.0, &up), (0.0, &down)).unwrap();
    assert_eq!((difference.absolute.value(), difference.relative.unwrap().value()), (-100.0, -1.0));
    assert!(difference.p_value < 1e-6);
}

#[test]
fn blocks_are_as_long_as_correlations_last() {
    let random = &mut Pcg64Mcg::seed_from_u64(1);
    let mut series = |kept: f64| {
        let mut level = 0.0;
        let mut next = || {
            level = kept * level + random.sample::<f64, _>(StandardNormal);
            level
        };
        (0..1000).map(|_| next()).collect::<Vec<f64>>()
    };
    let mut block = |kept: f64| blocks::Likeness::of(&series(kept), &series(kept)).block(1000);
    // For an autoregression, the optimal length is about (6 r² / (1 − r²)² · n)^⅓: 0, 14 and 40 for r of 0,
    // 0.5 and 0.8.
    let lengths = [0.0, 0.5, 0.8].map(&mut block);
    assert!(
        lengths[0] <= 4 && (9..=24).contains(&lengths[1]) && (25..=60).contains(&lengths[2]),
        "{lengths:?}"
    );
}

#[test]
fn holm_multiplies_each_p_value_by_the_number_not_below_it() {
    let corrected = holm(&[Some(0.04), None, Some(0.01), Some(0.03), Some(0.9)]);
    assert_eq!(corrected, [Some(0.09), None, Some(0.04), Some(0.09), Some(0.9)]);
    assert_eq!(holm(&[Some(0.8), Some(0.7)]), [Some(1.0), Some(1.0)]);
    assert_eq!(holm(&[]), []);
}

#[test]
fn pairs_cancel_common_influences() {
    let pairs: Vec<(f64, f64)> = [1.0, 2.0, 4.0, 8.0, 16.0, 3.0]
        .iter()
        .zip([1.05, 1.15, 1.1, 1.12, 1.08, 1.1])
        .map(|(a, b)| (*a, a * b))
        .collect();
    let difference = paired(&pairs, None).unwrap();
    let relative = difference.relative.unwrap();
    assert!((relative.value() - 0.0996).abs() < 1e-3 && relative.differs_from(0.0), "{relative:?}");
    assert!(difference.p_value < 1e-3);
    assert_eq!(paired(&pairs[..4], None), Err(Unknown::Pairs { pairs: 4 }));
    assert_eq!(paired(&[], None), Err(Unknown::Nothing));
    let none = paired(&[(0.0, 0.0); 10], Some([1000.0; 2])).unwrap();
    assert_eq!((none.p_value, none.relative), (1.0, None));
    assert!(none.absolute.margin().unwrap() > 1e-3, "no failures in a thousand calls are no proof");
    let same = paired(&[(0.3, 0.3); 10], None).unwrap();
    assert_eq!((same.p_value, same.absolute.value()), (1.0, 0.0));
}

#[test]
fn the_p_value_of_pairs_is_that_of_the_worked_example() {
    // Student's hours of sleep (see `confidence`): t = 4.0621 with 9 degrees of freedom, p = 0.00283.
    let sleep = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4].map(|more| (0.0, more));
    let difference = paired(&sleep, Some([f64::INFINITY; 2])).unwrap();
    assert!((difference.p_value - 0.00283).abs() < 1e-5, "{}", difference.p_value);
    assert!((difference.absolute.interval().unwrap().low - 0.700_114_2).abs() < 1e-6);
}

/// Batches of 200 calls that take these times in seconds, give or take a tenth.
fn steady(seconds: &[f64]) -> Batches {
    let batch = |seconds: &f64| {
        let us = (0..200).map(|call| (seconds * 1e6 * (0.9 + 0.001 * f64::from(call))) as u64);
        Classes::from_ascending(us.map(|us| (us, 1)))
    };
    Batches { latency: seconds.iter().map(batch).collect(), ..Batches::default() }
}

fn median_of(base: &[f64], new: &[f64]) -> Result<Difference, Unknown> {
    let value = |seconds: &[f64]| Some(seconds[seconds.len() / 2]);
    let [batches_of_base, batches_of_new] = [base, new].map(steady);
    difference(
        Figure::Quantile(0.5),
        Measured { value: value(base), batches: &batches_of_base },
        Measured { value: value(new), batches: &batches_of_new },
    )
}

#[test]
fn a_queue_that_grows_is_told_from_an_idle_server() {
    // Too few independent calls for a bootstrap: each second is slower than the one before.
    let growing: Vec<f64> = (1..=12).map(|second| 0.15 * f64::from(second)).collect();
    let found = median_of(&[0.021; 12], &growing).unwrap();
    assert!(found.p_value < 1e-5, "{}", found.p_value);
    let relative = found.relative.unwrap().interval().unwrap();
    assert!(relative.low > 5.0 && relative.high < 100.0, "{relative:?}");
    let back = median_of(&growing, &[0.021; 12]).unwrap().relative.unwrap().interval().unwrap();
    assert!(-1.0 < back.low && back.high < -0.5, "{back:?}");
}

#[test]
fn few_batches_tell_runs_apart_only_by_far() {
    let found = median_of(&[0.02, 0.022, 0.021, 0.02, 0.02], &[0.8, 0.9, 0.7, 0.8, 0.9]).unwrap();
    // Two of the 252 ways to deal ten batches to two runs are as extreme.
    assert!((found.p_value - 2.0 / 252.0).abs() < 1e-9, "{}", found.p_value);
    for (base, new) in
        [(&[0.02; 5], &[0.024; 5][..]), (&[0.02; 5], &[0.8; 4]), (&[0.02; 5], &[0.8, 0.8, 0.02, 0.8, 0.8])]
    {
        assert!(matches!(median_of(base, new), Err(Unknown::Batches { .. })), "{new:?}");
    }
}

proptest! {
    #[test]
    fn any_pair_of_runs_has_consistent_estimates(
        base in prop::collection::vec(prop::collection::vec(0..4_000_000_000_u64, 0..12), 0..80),
        new in prop::collection::vec(prop::collection::vec(0..5_000_u64, 0..12), 0..80),
        figure in prop_oneof![
            Just(Figure::Mean), (0.01..0.99).prop_map(Figure::Quantile), Just(Figure::Share), Just(Figure::Rate),
        ],
    ) {
        let batches = |run: Vec<Vec<u64>>| {
            let mut batches = Batches::default();
            for mut us in run {
                us.sort_unstable();
                batches.counts.push(us.iter().filter(|us| *us % 3 == 0).count() as f64);
                batches.whole.push(us.len() as f64);
                batches.latency.push(Classes::from_ascending(us.into_iter().map(|us| (us, 1))));
            }
            batches
        };
        let (base, new) = (batches(base), batches(new));
        let measured = |batches, value| Measured { value: Some(value), batches };
        if let Ok(Difference { absolute, relative, p_value }) = difference(figure, measured(&base, 0.25), measured(&new, 0.5)) {
            prop_assert!((0.0..=1.0).contains(&p_value), "{p_value}");
            for estimate in [Some(absolute), relative].into_iter().flatten() {
                if let Some(Interval { low, high }) = estimate.interval() {
                    prop_assert!(low <= estimate.value() && estimate.value() <= high, "{estimate:?}");
                }
            }
        }
    }
}
