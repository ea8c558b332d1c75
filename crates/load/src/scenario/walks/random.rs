//! All that is random in visits, and the rows of feeds.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use httperf_plan::{Client, Plan, Shard, UNLIMITED};
use proptest::prelude::*;

use super::*;

/// All visits with these numbers.
fn visits(plan: &Plan, indices: impl IntoIterator<Item = u64>) -> Vec<Vec<String>> {
    let program = Program::new(plan, scenarios(plan)).expect("it compiles");
    let mut rows = RowsTaken::new(&program);
    let mut visits = Vec::new();
    for index in indices {
        if rows.used_up(&program, index).is_some() {
            break;
        }
        visits.push(walk(&program, &mut rows, index, |_| OK));
    }
    visits
}

/// A workload with all that is random.
const RANDOM: &str = r#"
    [feed.people]
    file = "people.csv"
    order = "unique"
    at-end = "cycle"
    [feed.things]
    file = "things.csv"
    order = "random"
    [[scenario]]
    name = "often"
    weight = 3
    feed = "people"
    steps = [
      { repeat = "1..3", steps = [
        { choose = [{ weight = 2, run = "a.hurl" }, { run = "thing.hurl", feed = "things" }] },
        { think = "exp(1s)" } ] } ]
    [[scenario]]
    name = "rarely"
    steps = [{ run = "b.hurl", with = { b = "{{pick:x|y|z}}" } }, { think = "lognormal(1s, 0.5)" }]
"#;

const RANDOM_FILES: [(&str, &str); 5] = [
    ("people.csv", "user\nann\nbob\ncid\ndan\neve\n"),
    ("things.csv", "sku\n1\n2\n3\n4\n5\n6\n7\n"),
    ("a.hurl", "GET {{base}}/a/{{user}}/{{newUuid}}\n"),
    ("thing.hurl", "GET {{base}}/thing/{{sku}}\n"),
    ("b.hurl", "GET {{base}}/b/{{b}}\n"),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn visits_are_functions_of_seed_and_number(seed: u64, shards in 1..8_u32, step in 1..5_usize) {
        let plan = plan(RANDOM, &RANDOM_FILES, seed);
        let all = visits(&plan, 0..40);
        for shard in 0..shards {
            let own: Vec<u64> = (0..40).filter(|&index| Shard { index: shard, count: shards }.owns(index)).collect();
            let expected: Vec<Vec<String>> = own.iter().map(|&index| all[index as usize].clone()).collect();
            prop_assert_eq!(visits(&plan, own), expected);
        }
        let some: Vec<Vec<String>> = all.iter().step_by(step).cloned().collect();
        prop_assert_eq!(visits(&plan, (0..40).step_by(step)), some, "whatever visits were made before");
    }
}

#[test]
fn another_seed_makes_other_visits() {
    let of_seed = |seed| visits(&plan(RANDOM, &RANDOM_FILES, seed), 0..40);
    assert_eq!(of_seed(1), of_seed(1));
    assert_ne!(of_seed(1), of_seed(2));
}

/// The bound on the deviation of a share, for this many draws: five standard deviations, which one test in a million
/// exceeds.
fn bound(share: f64, draws: f64) -> f64 {
    5.0 * (share * (1.0 - share) / draws).sqrt()
}

#[track_caller]
fn check_share(name: &str, count: usize, draws: usize, share: f64) {
    let (count, draws) = (count as f64, draws as f64);
    let deviation = (count / draws - share).abs();
    assert!(deviation <= bound(share, draws), "{name}: {count} of {draws}, expected a share of {share}");
}

#[test]
fn scenarios_choices_and_rounds_are_as_frequent_as_they_should_be() {
    let visits = visits(&plan(RANDOM, &RANDOM_FILES, 7), 0..8000);
    let rarely = visits.iter().filter(|lines| lines[0].starts_with("GET /b/")).count();
    check_share("the scenario of weight 1 of 4", rarely, 8000, 0.25);
    let picked = visits.iter().filter(|lines| lines[0] == "GET /b/y").count();
    check_share("one of three words", picked, rarely, 1.0 / 3.0);
    let often: Vec<&Vec<String>> = visits.iter().filter(|lines| !lines[0].starts_with("GET /b/")).collect();
    for rounds in 1..=3 {
        let count = often.iter().filter(|lines| lines.len() == 2 * rounds + 1).count();
        check_share("rounds", count, often.len(), 1.0 / 3.0);
    }
    let calls = |prefix: &str| {
        often.iter().flat_map(|lines| lines.iter()).filter(|line| line.starts_with(prefix)).count()
    };
    let (made, things) = (calls("GET "), calls("GET /thing/"));
    check_share("the choice of weight 1 of 3", things, made, 1.0 / 3.0);
    for sku in 1..=7 {
        check_share("a row of a random feed", calls(&format!("GET /thing/{sku}")), things, 1.0 / 7.0);
    }
}

#[test]
fn pauses_have_the_means_of_their_distributions() {
    // Standard deviations follow from the distributions; that of the log-normal one is mean * sqrt(exp(sigma^2) - 1).
    let log_normal = (0.5_f64 * 0.5 / 2.0).exp();
    for (pause, mean, deviation) in [
        ("2s", 2.0, 0.0),
        ("uniform(1s, 3s)", 2.0, 2.0 / 12.0_f64.sqrt()),
        ("exp(3s)", 3.0, 3.0),
        ("lognormal(1s, 0.5)", log_normal, log_normal * ((0.25_f64).exp() - 1.0).sqrt()),
    ] {
        let text = format!(
            "[[scenario]]\nname = \"s\"\nsteps = [{{ think = \"{pause}\" }}, {{ run = \"a.hurl\" }}]"
        );
        let plan = plan(&text, &[A], 1);
        let program = Program::new(&plan, scenarios(&plan)).expect("it compiles");
        let (mut rows, mut scratch) = (RowsTaken::new(&program), Scratch::default());
        let mut clock = || SystemTime::UNIX_EPOCH;
        let pauses: Vec<f64> = (0..20_000)
            .map(|index| {
                match Visit::new(&program, index, &mut rows).advance(&program, &mut clock, &mut scratch) {
                    Action::Think(pause) => pause.as_secs_f64(),
                    other => panic!("expected a pause, got {other:?}"),
                }
            })
            .collect();
        let count = pauses.len() as f64;
        let measured = pauses.iter().sum::<f64>() / count;
        assert!(
            (measured - mean).abs() <= 5.0 * deviation / count.sqrt() + 1e-9,
            "{pause}: {measured}, expected {mean}"
        );
        let measured = (pauses.iter().map(|pause| (pause - mean).powi(2)).sum::<f64>() / count).sqrt();
        assert!(
            (measured - deviation).abs() <= 0.1 * deviation + 1e-6,
            "{pause}: {measured}, expected {deviation}"
        );
    }
}

// Feeds.

/// A workload of two scenarios, one of which takes a row of `rows.csv`.
fn fed(order: &str) -> String {
    format!(
        "[feed.rows]\nfile = \"rows.csv\"\n{order}\n[[scenario]]\nname = \"fed\"\nfeed = \"rows\"\n\
         steps = [{{ run = \"row.hurl\" }}]\n[[scenario]]\nname = \"other\"\nsteps = [{{ run = \"a.hurl\" }}]"
    )
}

/// Rows taken by the visits of all shards, each shard's visits in order, and the numbers of visits that were made.
fn rows_taken(plan: &Plan, shards: u32, count: u64) -> (Vec<u64>, BTreeSet<u64>) {
    let program = Program::new(plan, scenarios(plan)).expect("it compiles");
    let (mut taken, mut made) = (Vec::new(), BTreeSet::new());
    for index in 0..shards {
        let shard = Shard { index, count: shards };
        let mut rows = RowsTaken::new(&program);
        for visit in (0..count).filter(|&visit| shard.owns(visit)) {
            if rows.used_up(&program, visit).is_some() {
                break;
            }
            let lines = walk(&program, &mut rows, visit, |_| OK);
            made.insert(visit);
            taken.extend(lines[0].strip_prefix("GET /row/").map(|row| row.parse::<u64>().expect("a number")));
        }
    }
    taken.sort_unstable();
    (taken, made)
}

#[test]
fn a_unique_feed_gives_each_row_once_and_skips_none_on_any_number_of_shards() {
    let rows: String = (0..50).map(|row| format!("{row}\n")).collect();
    let files = [("rows.csv", &*format!("row\n{rows}")), ("row.hurl", "GET {{base}}/row/{{row}}\n"), A];
    for seed in 0..5 {
        let plan = plan(&fed("order = \"unique\""), &files, seed);
        assert_eq!(scenarios(&plan).count, UNLIMITED);
        let whole = rows_taken(&plan, 1, 1000);
        assert_eq!(whole.0, (0..50).collect::<Vec<u64>>(), "then the visits end");
        assert!(whole.1.iter().copied().eq(0..whole.1.len() as u64), "no visit is left out before the end");
        for shards in [2, 7] {
            assert_eq!(rows_taken(&plan, shards, 1000), whole, "{shards} shards");
        }
    }
}

#[test]
fn generators_that_work_together_share_the_rows_of_a_unique_feed() {
    let rows: String = (0..50).map(|row| format!("{row}\n")).collect();
    let files = [("rows.csv", &*format!("row\n{rows}")), ("row.hurl", "GET {{base}}/row/{{row}}\n"), A];
    for count in [2, 3] {
        let mut taken: Vec<u64> = (0..count)
            .flat_map(|index| {
                let plan = plan(&fed("order = \"unique\""), &files, 0);
                let plan =
                    plan.edit(|plan| plan.client = Client::new(index, count)).expect("it remains a plan");
                rows_taken(&plan, 2, 1000).0
            })
            .collect();
        taken.sort_unstable();
        assert_eq!(taken, (0..50).collect::<Vec<u64>>(), "{count} generators");
    }
}

#[test]
fn feeds_in_a_cycle_begin_again_after_the_last_row() {
    let files = [("rows.csv", "row\n0\n1\n2\n"), ("row.hurl", "GET {{base}}/row/{{row}}\n"), A];
    for order in ["order = \"cycle\"", "order = \"unique\"\nat-end = \"cycle\""] {
        let plan = plan(&fed(order), &files, 3);
        let whole = rows_taken(&plan, 1, 1000);
        assert_eq!(whole.1.len(), 1000);
        let counts = whole.0.iter().fold(BTreeMap::<u64, usize>::new(), |mut counts, &row| {
            *counts.entry(row).or_default() += 1;
            counts
        });
        let (least, most) = (counts.values().min(), counts.values().max());
        assert!(
            counts.len() == 3 && most.zip(least).is_some_and(|(most, least)| most - least <= 1),
            "{counts:?}"
        );
        for shards in [2, 7] {
            assert_eq!(rows_taken(&plan, shards, 1000), whole, "{shards} shards");
        }
    }
}
