//! Thousands of searches against simulated servers: formulas with noise.

use rand::{RngExt as _, SeedableRng as _};
use rand_distr::{Distribution as _, Normal};
use rand_pcg::Pcg64Mcg;

use super::*;

/// Settings of `httperf capacity` with an objective such as `p99<50ms`.
const USUAL: SearchSettings = SearchSettings {
    start: 100.0,
    min_rate: 1.0,
    max_rate: None,
    precision: 0.03,
    trials: 20,
    length_min: Duration::from_secs(2),
    length_max: Duration::from_secs(10),
    length_longest: Duration::from_secs(10),
    arrivals_min: 100.0,
    patience: BOUND,
};

const BOUND: Duration = Duration::from_millis(50);

/// Load offered before a trial is measured, as a share of its length.
const WARM_UP: f64 = 0.2;

/// Measurements of a trial.
struct Seen {
    p99_s: f64,
    /// Growth of the backlog, as a share of the arrivals.
    growth: f64,
    /// Share of the arrivals that were answered satisfactorily.
    answered: f64,
}

/// A simulated server: maps rate and length in seconds to the measurements of a trial.
type Server<'a> = &'a dyn Fn(f64, f64, &mut Pcg64Mcg) -> Seen;

/// Disturbances between the server and the search.
#[derive(Clone, Copy, Debug, Default)]
struct World {
    /// Share of the trials in which something else spoils the latency.
    disturbed: f64,
    /// Highest rate that the client can offer.
    client_max: Option<f64>,
}

struct Ended {
    end: End,
    search: Search,
}

impl Ended {
    fn estimate(&self) -> Estimate {
        self.search.estimate().unwrap()
    }

    fn trials(&self) -> usize {
        self.search.observed().len()
    }
}

fn run(settings: SearchSettings, server: Server<'_>, world: World, seed: u64) -> Ended {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut search = Search::new(settings);
    loop {
        let trial = match search.next() {
            Next::End(end) => return Ended { end, search },
            Next::Try(trial) => trial,
        };
        let length_s = trial.length.as_secs_f64();
        let rate = world.client_max.map_or(trial.rate, |max| trial.rate.min(max));
        let mut seen = server(rate, length_s, &mut random);
        if random.random::<f64>() < world.disturbed {
            seen.p99_s += 0.2;
        }
        let is_behind = seen.growth > BACKLOG_SHARE + 16.0 / (rate * length_s);
        let is_overload = is_behind || seen.answered < 0.98;
        let outcome = if rate * length_s < settings.arrivals_min * 0.999 {
            TrialOutcome::Unclear
        } else if is_overload || seen.p99_s >= BOUND.as_secs_f64() {
            TrialOutcome::Beyond { is_overload }
        } else {
            TrialOutcome::Within
        };
        let answered = rate * seen.answered.min(1.0 - seen.growth.max(0.0));
        search.note(Observed { asked: trial.rate, rate, length: trial.length, outcome, answered });
        assert!(search.observed().len() <= settings.trials);
    }
}

fn noisy(mean: f64, share: f64, random: &mut Pcg64Mcg) -> f64 {
    Normal::new(mean, mean * share).unwrap().sample(random)
}

/// Serves this many calls per second, in order; the excess waits. The capacity varies by half a percent per
/// second.
fn bucket(capacity: f64) -> impl Fn(f64, f64, &mut Pcg64Mcg) -> Seen {
    move |rate, length_s, random| {
        let capacity = noisy(capacity, 0.005 / length_s.sqrt(), random);
        let excess = (rate / capacity - 1.0).max(0.0);
        Seen {
            p99_s: 0.001 + excess * length_s * (WARM_UP + 0.99),
            growth: excess / (1.0 + excess),
            answered: 1.0,
        }
    }
}

/// A queue whose latency rises smoothly towards its capacity. Its p99 is ln 100 / (capacity − rate).
fn queue(capacity: f64) -> impl Fn(f64, f64, &mut Pcg64Mcg) -> Seen {
    let behind = bucket(capacity);
    move |rate, length_s, random| {
        let p99_s = noisy(100_f64.ln() / (capacity - rate).max(1e-9), 0.2 / length_s.sqrt(), random);
        let behind = behind(rate, length_s, random);
        Seen { p99_s: p99_s.clamp(0.0, behind.p99_s.max(length_s)), ..behind }
    }
}

/// Fine up to its knee. Beyond, it answers less than at the knee: the share `left` of it, decreasing further
/// with the rate.
fn collapsing(knee: f64, left: f64) -> impl Fn(f64, f64, &mut Pcg64Mcg) -> Seen {
    move |rate, length_s, random| {
        let knee = noisy(knee, 0.005 / length_s.sqrt(), random);
        if rate <= knee {
            return Seen { p99_s: 0.002, growth: 0.0, answered: 1.0 };
        }
        let answered = left * (knee / rate).powi(2);
        Seen { p99_s: length_s * (1.0 - answered), growth: 1.0 - answered, answered: 1.0 }
    }
}

/// Statistics of many searches, as shares of the capacity or of the searches.
#[derive(Debug)]
struct Many {
    bias: f64,
    deviation: f64,
    worst: f64,
    /// Share of the intervals that contain the capacity.
    covered: f64,
    /// Share of the estimates with the desired precision.
    precise: f64,
    trials_mean: f64,
    trials_max: usize,
}

/// Number of searches of each kind.
const COUNT: u64 = 40;

/// Runs searches against servers of this capacity.
fn many(settings: SearchSettings, server: Server<'_>, world: World, capacity: f64) -> Many {
    many_of(COUNT, settings, server, world, capacity)
}

fn many_of(count: u64, settings: SearchSettings, server: Server<'_>, world: World, capacity: f64) -> Many {
    let all: Vec<Ended> = (0..count).map(|seed| run(settings, server, world, seed)).collect();
    let n = count as f64;
    let share =
        |is_meant: &dyn Fn(&Ended) -> bool| all.iter().filter(|ended| is_meant(ended)).count() as f64 / n;
    let off: Vec<f64> = all.iter().map(|ended| ended.estimate().rate / capacity - 1.0).collect();
    let bias = off.iter().sum::<f64>() / n;
    Many {
        bias,
        deviation: (off.iter().map(|off| (off - bias).powi(2)).sum::<f64>() / (n - 1.0)).sqrt(),
        worst: off.iter().map(|off| off.abs()).fold(0.0, f64::max),
        covered: share(&|ended| {
            let ConfidenceInterval { low, high } = ended.estimate().interval;
            low <= capacity && capacity <= high
        }),
        precise: share(&|ended| ended.end == End::Precise),
        trials_mean: all.iter().map(|ended| ended.trials() as f64).sum::<f64>() / n,
        trials_max: all.iter().map(Ended::trials).max().unwrap(),
    }
}

/// Requirements for every server: an accurate estimate and a reliable interval.
#[track_caller]
fn check(name: &str, found: &Many) {
    assert!(found.bias.abs() <= 0.01, "{name}: {found:?}");
    assert!(found.deviation <= 0.02, "{name}: {found:?}");
    assert!(found.covered >= 0.95, "{name}: {found:?}");
}

#[test]
fn a_token_bucket_is_found_in_twelve_trials_or_fewer() {
    let found = many_of(200, USUAL, &bucket(2000.0), World::default(), 2000.0);
    check("bucket", &found);
    assert!(found.worst <= 0.03 && found.precise == 1.0, "{found:?}");
    assert!(found.trials_mean <= 11.5 && found.trials_max <= 12, "{found:?}");
    for capacity in [37.0, 1234.0, 2999.0] {
        let found = many(USUAL, &bucket(capacity), World::default(), capacity);
        check("bucket", &found);
        assert!(found.worst <= 0.03 && found.precise == 1.0, "{capacity}: {found:?}");
        assert!(found.trials_max <= 13, "{capacity}: {found:?}");
    }
}

#[test]
fn one_trial_in_ten_may_be_disturbed() {
    let world = World { disturbed: 0.1, client_max: None };
    let found = many_of(100, USUAL, &bucket(2000.0), world, 2000.0);
    check("disturbed", &found);
    assert!(found.worst <= 0.03 && found.trials_mean <= 13.0, "{found:?}");
}

#[test]
fn a_server_that_degrades_slowly_is_found_where_it_passes_the_bound() {
    for capacity in [300.0, 1234.0, 2000.0] {
        let found =
            many(USUAL, &queue(capacity + 100_f64.ln() / BOUND.as_secs_f64()), World::default(), capacity);
        check("queue", &found);
    }
}

#[test]
fn the_knee_of_a_server_that_collapses_is_found_although_it_answers_less_beyond_it() {
    for left in [0.9, 0.4] {
        let found = many(USUAL, &collapsing(2000.0, left), World::default(), 2000.0);
        check("collapsing", &found);
        assert!(found.worst <= 0.03, "{found:?}");
    }
}

#[test]
fn higher_precision_takes_a_longer_search() {
    let with = |precision| {
        many_of(
            10,
            SearchSettings { precision, trials: 40, ..USUAL },
            &bucket(2000.0),
            World::default(),
            2000.0,
        )
    };
    let (rough, fine) = (with(0.1), with(0.01));
    assert!(rough.precise == 1.0 && fine.precise == 1.0, "{rough:?} {fine:?}");
    assert!(rough.trials_mean + 3.0 < fine.trials_mean, "{rough:?} {fine:?}");
    assert!(fine.worst <= 0.015, "{fine:?}");
}

#[test]
fn a_first_rate_that_is_too_high_leads_downwards() {
    let settings = SearchSettings { start: 50_000.0, ..USUAL };
    check("from above", &many(settings, &bucket(2000.0), World::default(), 2000.0));
    check("from above, collapsing", &many(settings, &collapsing(2000.0, 0.9), World::default(), 2000.0));
}

#[test]
fn the_highest_rate_allowed_is_enough_if_it_is_sustained_for_long() {
    for seed in 0..20 {
        let settings = SearchSettings { max_rate: Some(1500.0), ..USUAL };
        let ended = run(settings, &bucket(2000.0), World::default(), seed);
        assert_eq!((ended.end, ended.search.sustained()), (End::NeverReached, Some(1500.0)));
        assert_eq!(ended.search.observed().last().unwrap().length, USUAL.length_max);
        assert_eq!(ended.search.estimate(), None);
        assert_eq!(ended.trials(), 6);
    }
}

#[test]
fn the_lowest_rate_allowed_is_tried_twice_before_it_is_too_high() {
    let settings = SearchSettings { min_rate: 80.0, ..USUAL };
    for server in [&bucket(20.0) as Server<'_>, &queue(150.0)] {
        let ended = run(settings, server, World::default(), 1);
        assert_eq!((ended.end, ended.search.sustained()), (End::BelowMinimum, None));
        let rates: Vec<f64> = ended.search.observed().iter().map(|trial| trial.asked).collect();
        assert_eq!(&rates[rates.len() - 2..], [80.0, 80.0]);
    }
}

#[test]
fn a_client_that_cannot_offer_more_ends_the_search() {
    for client_max in [3000.0, 500.0, 130.0] {
        let world = World { client_max: Some(client_max), disturbed: 0.0 };
        let ended = run(USUAL, &bucket(1e6), world, 1);
        assert_eq!(ended.end, End::ClientLimited);
        assert_eq!(ended.search.sustained(), Some(client_max));
        assert!(ended.trials() <= 9, "{}", ended.trials());
    }
}

#[test]
fn a_trial_spoiled_by_the_client_is_repeated_and_then_marks_its_limit() {
    let observed = |asked: f64, outcome| Observed {
        asked,
        rate: asked,
        length: USUAL.length_min,
        outcome,
        answered: asked,
    };
    let mut search = Search::new(USUAL);
    let mut tried = Vec::new();
    let end = loop {
        match search.next() {
            Next::End(end) => break end,
            Next::Try(trial) => {
                tried.push(trial.rate);
                let is_limited = trial.rate > 300.0;
                search.note(observed(
                    trial.rate,
                    if is_limited { TrialOutcome::ClientLimited } else { TrialOutcome::Within },
                ));
            }
        }
    };
    assert_eq!(end, End::ClientLimited);
    assert_eq!(tried, [100.0, 200.0, 400.0, 400.0, 282.8, 336.3, 336.3, 308.4, 308.4]);
    assert_eq!(search.sustained(), Some(282.8));
    // Nothing is known about the server if the client cannot offer even the lowest rate.
    let mut search = Search::new(SearchSettings { min_rate: 100.0, ..USUAL });
    (0..2).for_each(|_| search.note(observed(100.0, TrialOutcome::ClientLimited)));
    assert_eq!((search.next(), search.sustained()), (Next::End(End::ClientLimited), None));
}

#[test]
fn too_few_samples_extend_a_trial_and_then_leave_the_answer_open() {
    let settings = SearchSettings { arrivals_min: 10_000.0, ..USUAL };
    let ended = run(settings, &bucket(500.0), World::default(), 1);
    assert_eq!(ended.end, End::TooFewSamples);
    assert!(
        ended.search.observed().iter().all(|trial| trial.length == USUAL.length_max || trial.rate > 1000.0)
    );
    let ended = run(settings, &bucket(2000.0), World::default(), 1);
    assert_eq!(ended.end, End::Precise);
    // A trial that unexpectedly had too few arrivals is repeated with twice the length.
    let mut search = Search::new(USUAL);
    let trial = Trial { rate: 100.0, length: USUAL.length_min };
    assert_eq!(search.next(), Next::Try(trial));
    let observed = Observed {
        asked: 100.0,
        rate: 100.0,
        length: trial.length,
        outcome: TrialOutcome::Unclear,
        answered: 100.0,
    };
    search.note(observed);
    assert_eq!(search.next(), Next::Try(Trial { length: trial.length * 2, ..trial }));
}

#[test]
fn a_single_miss_of_an_objective_does_not_end_the_doubling() {
    let miss = |search: &Search, asked: f64| {
        let mut search = search.clone();
        let outcome = TrialOutcome::Beyond { is_overload: false };
        search.note(Observed { asked, rate: asked, length: USUAL.length_min, outcome, answered: asked });
        search
    };
    let search = miss(&Search::new(USUAL), 100.0);
    let Next::Try(again) = search.next() else { panic!("there is more to try") };
    assert_eq!((again.rate, again.length), (100.0, USUAL.confirms()));
    let Next::Try(next) = miss(&search, 100.0).next() else { panic!("there is more to try") };
    assert_eq!(next.rate, 50.0);
}

#[test]
fn any_sequence_of_answers_is_handled() {
    let outcomes = [
        TrialOutcome::Within,
        TrialOutcome::Beyond { is_overload: false },
        TrialOutcome::Beyond { is_overload: true },
        TrialOutcome::Unclear,
        TrialOutcome::ClientLimited,
    ];
    for seed in 0..300 {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let settings = SearchSettings {
            max_rate: (seed % 2 == 0).then_some(10_f64.powi(seed as i32 % 7 + 2)),
            length_max: Duration::from_secs(2 + seed % 3),
            length_longest: Duration::from_secs(2 + seed % 3),
            ..USUAL
        };
        let mut search = Search::new(settings);
        while let Next::Try(trial) = search.next() {
            assert!(trial.rate >= settings.min_rate && trial.rate <= settings.max_rate.unwrap_or(f64::MAX));
            assert!((settings.length_min..=settings.length_max).contains(&trial.length));
            search.note(Observed {
                asked: trial.rate,
                rate: trial.rate * (0.5 + random.random::<f64>() / 2.0),
                length: trial.length,
                outcome: outcomes[random.random_range(0..outcomes.len())],
                answered: trial.rate * random.random::<f64>(),
            });
            if let Some(Estimate { rate, interval }) = search.estimate() {
                assert!(interval.low <= rate && rate <= interval.high && rate.is_finite(), "seed {seed}");
            }
        }
        assert!(search.observed().len() <= settings.trials);
    }
}
