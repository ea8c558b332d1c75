//! Searches with the real engine on a virtual clock, against servers in memory.

use std::time::Duration;

use httperf_plan::objective::Scope;
use httperf_plan::{Cap, Excess, Phases, Plan, UNLIMITED};
use httperf_stats::search::{self, Next, Search};
use httperf_testkit::sim::{self, Action, Edit, HttpPeer, Link, Peer, connections, nonzero, reply};

use super::text::measured;
use super::*;
use crate::forms::Written as _;
use crate::objectives::Measured;
use crate::result::{Document, Part};
use crate::verdict::{Finding, Level, Reason};

const BOUND: Duration = Duration::from_millis(50);

/// Short trials, to keep a search in the debug build fast.
const SEARCHED: search::SearchSettings = search::SearchSettings {
    start: 50.0,
    min_rate: 1.0,
    max_rate: None,
    precision: 0.03,
    trials: 20,
    length_min: Duration::from_secs(1),
    length_max: Duration::from_secs(5),
    length_longest: Duration::from_secs(60),
    arrivals_min: 100.0,
    patience: BOUND,
};

fn settings(objectives: &str) -> CapacitySettings {
    CapacitySettings {
        objectives: Objective::parse_list(objectives).unwrap(),
        implied: Some("errors<1%".parse().unwrap()),
        start: SEARCHED.start,
        min_rate: SEARCHED.min_rate,
        max_rate: None,
        precision: SEARCHED.precision,
        trials: SEARCHED.trials as u32,
        trial_min_s: 1.0,
        trial_max_s: 5.0,
        trial_longest_s: 60.0,
        pause_s: 0.0,
    }
}

/// A new search with one call per connection.
fn capacity(objectives: &str) -> CapacityReport {
    let mut plan = connections(UNLIMITED, 1, 1);
    let settings = settings(objectives);
    plan.change(|plan| {
        plan.objectives.all.extend(settings.objectives.iter().copied().chain(settings.implied));
    });
    CapacityReport::new(settings, plan)
}

fn run(plan: &Plan, trial: search::Trial, seed: u64, server: impl Peer + 'static) -> Document {
    let plan = plan.clone().with(|plan| {
        plan.arrivals = plan.arrivals.at_rate(trial.rate);
        plan.runtime = Some(trial.length);
        plan.phases = Phases { warmup: trial.length / 5, drain: Duration::from_secs(1) };
    });
    let link = Link { seed, latency: Duration::from_micros(50), ..Link::default() };
    let run = sim::run(&plan, link, server);
    assert!(!run.is_endless);
    Document::new(Part::of_a_test(), plan, run.summary)
}

/// Runs a search with a new server for each trial.
fn search<P: Peer + 'static>(objectives: &str, seed: u64, server: impl Fn() -> P) -> CapacityReport {
    search_as(SEARCHED, objectives, seed, server)
}

fn search_as<P: Peer + 'static>(
    settings: search::SearchSettings,
    objectives: &str,
    seed: u64,
    server: impl Fn() -> P,
) -> CapacityReport {
    let mut capacity = capacity(objectives);
    let mut search = Search::new(settings);
    loop {
        match search.next() {
            Next::End(end) => {
                capacity.found = Found::of(&search, Some(end.into()));
                return capacity;
            }
            Next::Try(trial) => {
                let number = capacity.trials.len() as u64;
                let run = run(&capacity.plan, trial, seed * 100 + number, server());
                let made = Trial::of(trial.rate, &run);
                search.note(made.observed());
                capacity.trials.push(made);
            }
        }
    }
}

fn ok() -> Vec<u8> {
    reply(200, "", "hello")
}

/// A token bucket: answers this many requests per second, in order.
fn bucket(per_second: f64) -> impl Peer {
    let mut free = Duration::ZERO;
    HttpPeer::new(move |request| {
        let turn = free.max(request.at);
        free = turn + Duration::from_secs_f64(1.0 / per_second);
        vec![Action::Send(turn - request.at, ok())]
    })
}

/// Answers `503` at once above this rate.
fn refusing(per_second: f64) -> impl Peer {
    let mut free = Duration::ZERO;
    HttpPeer::new(move |request| {
        if free > request.at {
            return vec![Action::Send(Duration::ZERO, reply(503, "", "later"))];
        }
        free = free.max(request.at.saturating_sub(Duration::from_millis(5)))
            + Duration::from_secs_f64(1.0 / per_second);
        vec![Action::Send(Duration::ZERO, ok())]
    })
}

/// Needs 5 ms when idle, and longer as the rate of the last 50 requests approaches its capacity: twice as
/// long at half of it, ten times as long at nine tenths.
fn degrading(per_second: f64) -> impl Peer {
    let mut last = std::collections::VecDeque::from([Duration::ZERO]);
    HttpPeer::new(move |request| {
        last.push_back(request.at);
        if last.len() > 50 {
            last.pop_front();
        }
        let span = (request.at - last[0]).as_secs_f64();
        let load = ((last.len() - 1) as f64 / span.max(1e-9) / per_second).min(0.999);
        vec![Action::Send(Duration::from_secs_f64(0.005 / (1.0 - load)), ok())]
    })
}

/// A token bucket that takes twice as long per reply while twenty or more requests are waiting.
fn collapsing(per_second: f64) -> impl Peer {
    let mut free = Duration::ZERO;
    HttpPeer::new(move |request| {
        let turn = free.max(request.at);
        let waiting = (turn - request.at).as_secs_f64() * per_second;
        let each = if waiting >= 20.0 { 2.0 } else { 1.0 };
        free = turn + Duration::from_secs_f64(each / per_second);
        vec![Action::Send(turn - request.at, ok())]
    })
}

#[track_caller]
fn check_near(capacity: &CapacityReport, expected: f64) {
    let found = capacity.found.capacity.unwrap();
    assert!((found.rate / expected - 1.0).abs() <= 0.03, "{}", capacity.plain_text());
    assert!(found.low <= expected * 1.01 && expected * 0.99 <= found.high, "{}", capacity.plain_text());
    assert_eq!(capacity.found.end, Some(End::Precise), "{}", capacity.plain_text());
}

#[test]
fn ten_searches_for_a_token_bucket_agree() {
    let found: Vec<f64> = (0..10)
        .map(|seed| {
            // Slightly different servers: the search is the same for the same answers.
            let real = 500.0 + seed as f64;
            let capacity = search("p99<50ms", seed, || bucket(real));
            check_near(&capacity, real);
            assert!(capacity.trials.len() <= 12, "{}", capacity.plain_text());
            capacity.found.capacity.unwrap().rate / real
        })
        .collect();
    let mean = found.iter().sum::<f64>() / 10.0;
    let deviation = (found.iter().map(|rate| (rate / mean - 1.0).powi(2)).sum::<f64>() / 9.0).sqrt();
    assert!(deviation <= 0.02 && (mean - 1.0).abs() <= 0.02, "{found:?}");
}

#[test]
fn a_server_of_a_few_requests_per_second_or_less_is_found_in_longer_trials() {
    let found = |objectives: &str, settings: search::SearchSettings, per_second: f64| {
        let settings = search::SearchSettings {
            min_rate: 0.1,
            patience: objectives
                .parse::<Objective>()
                .map_or(BOUND, |objective| Duration::from_secs_f64(objective.bound())),
            ..settings
        };
        let capacity = search_as(settings, objectives, 1, || bucket(per_second));
        let found = capacity.found.capacity.unwrap_or_else(|| panic!("{}", capacity.plain_text()));
        assert!(found.low <= per_second && per_second <= found.high * 1.01, "{}", capacity.plain_text());
        assert!((found.rate / per_second - 1.0).abs() < 0.1, "{}", capacity.plain_text());
        assert!(!matches!(capacity.found.end, Some(End::TooFewSamples)), "{}", capacity.plain_text());
        assert!(capacity.trials.iter().all(|trial| trial.length_s <= 60.0));
    };
    found("p99<1s", search::SearchSettings { arrivals_min: 110.0, ..SEARCHED }, 2.0);
    found("mean<2s", search::SearchSettings { arrivals_min: 20.0, ..SEARCHED }, 0.5);
}

#[test]
fn a_capacity_too_low_for_the_longest_trial_at_least_has_bounds() {
    let settings = search::SearchSettings { arrivals_min: 110.0, min_rate: 0.1, patience: BOUND, ..SEARCHED };
    let capacity = search_as(settings, "p99<50ms", 1, || bucket(1.0));
    assert_eq!(capacity.found.end, Some(End::TooFewSamples), "{}", capacity.plain_text());
    let text = capacity.plain_text();
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("capacity unknown (at 0.") && last.contains(" was too much, but"), "{last}");
}

#[test]
fn an_objective_on_errors_alone_finds_the_same_capacity() {
    check_near(&search("errors<1%", 1, || bucket(500.0)), 500.0);
}

#[test]
fn a_server_that_refuses_excess_load_is_found_by_its_errors() {
    let capacity = search("errors<1%", 1, || refusing(500.0));
    check_near(&capacity, 500.0);
    let beyond = capacity.trials.iter().find(|trial| trial.outcome == CapacityOutcome::Overload).unwrap();
    assert!((beyond.answered / 500.0 - 1.0).abs() < 0.05, "{}", capacity.plain_text());
}

#[test]
fn a_server_that_degrades_slowly_is_found_where_it_passes_the_bound() {
    check_near(&search("p99<50ms", 1, || degrading(400.0)), 360.0);
}

#[test]
fn a_server_that_collapses_is_found_at_its_knee() {
    check_near(&search("p99<50ms", 1, || collapsing(500.0)), 500.0);
}

/// A run at this rate for two seconds.
fn trial(objectives: &str, rate: f64, server: impl Peer + 'static) -> (Document, Trial) {
    let trial = search::Trial { rate, length: Duration::from_secs(2) };
    let run = run(&capacity(objectives).plan, trial, 1, server);
    let made = Trial::of(rate, &run);
    (run, made)
}

#[test]
fn an_overloaded_server_shows_its_capacity() {
    let (_, trial) = trial("p99<50ms", 1000.0, bucket(600.0));
    assert_eq!(trial.outcome, CapacityOutcome::Overload);
    assert_eq!(trial.reasons, [Cause::FellBehind, Cause::Missed("p99<50ms".parse().unwrap())]);
    assert!((trial.backlog_growth - 0.4).abs() < 0.01, "{trial:?}");
    assert!((trial.answered - 600.0).abs() < 10.0, "{trial:?}");
    assert!((trial.offered - 1000.0).abs() < 1.0, "{trial:?}");
}

#[test]
fn arrivals_that_wait_for_room_are_pending_once() {
    let mut plan = capacity("p99<50ms").plan;
    plan.change_connections(|connections| {
        connections.max_open = Some(Cap { connections: nonzero(10), excess: Excess::Waits });
    });
    let made = search::Trial { rate: 1000.0, length: Duration::from_secs(2) };
    let trial = Trial::of(1000.0, &run(&plan, made, 1, bucket(600.0)));
    assert!((trial.backlog_growth - 0.4).abs() < 0.02, "{trial:?}");
}

#[test]
fn a_time_beyond_all_answers_is_shown_with_its_own_bound() {
    let mut trial = trial("service.p99<50ms, p99<50ms", 100.0, bucket(600.0)).1;
    trial.objectives[0].measured = Measured::Endless;
    (trial.objectives[1].measured, trial.objectives[1].at_least) = (Measured::Endless, Some(2.5));
    let cells = ["service.p99<50ms", "p99<50ms"].map(|text| measured(&trial, text.parse().unwrap()));
    assert_eq!(cells, ["endless", "> 2.50 s"]);
    trial.objectives[1].scope = Some(Scope::Scenario("buyer".to_owned()));
    assert_eq!(measured(&trial, "p99<50ms".parse().unwrap()), "n/a", "the column is that of the whole run");
}

#[test]
fn too_few_samples_are_unclear_unless_the_bound_is_exceeded_anyway() {
    let (_, few) = trial("p99.9<50ms", 100.0, bucket(600.0));
    assert_eq!(few.outcome, CapacityOutcome::Unclear);
    assert_eq!(few.reasons, [Cause::TooFew("p99.9<50ms".parse().unwrap())]);
    let (_, slow) = trial("p99.9<50ms", 100.0, HttpPeer::new(|_| vec![Action::Send(BOUND * 2, ok())]));
    assert_eq!(slow.outcome, CapacityOutcome::Beyond);
}

#[test]
fn the_client_s_faults_are_not_blamed_on_the_server() {
    let (mut run, beyond) = trial("p99<50ms", 100.0, HttpPeer::new(|_| vec![Action::Send(BOUND * 2, ok())]));
    assert_eq!(beyond.outcome, CapacityOutcome::Beyond);
    let with = |run: &mut Document, level, finding| {
        run.verdict.reasons = vec![Reason { level, finding }];
        Trial::of(100.0, run)
    };
    let cpu = Finding::ClientCpu { share: 1.0 };
    let spoiled = with(&mut run, Level::Suspect, cpu.clone());
    assert_eq!(spoiled.outcome, CapacityOutcome::Client);
    assert_eq!(spoiled.reasons[0], Cause::Client("client cpu".to_owned()));
    let waiting = Finding::KeptWaiting { share: 0.2, preempted: 9 };
    assert_eq!(with(&mut run, Level::Suspect, waiting.clone()).outcome, CapacityOutcome::Client);
    assert_eq!(with(&mut run, Level::Valid, cpu.clone()).outcome, CapacityOutcome::Beyond);
    let at_rank = Finding::AtRank { rank: 3, finding: Box::new(cpu.clone()) };
    let spoiled = with(&mut run, Level::Suspect, at_rank);
    assert_eq!(
        spoiled.reasons[0],
        Cause::Client("client cpu".to_owned()),
        "one rank is a part of the client"
    );
    assert_eq!(with(&mut run, Level::Suspect, Finding::NeverSteady).outcome, CapacityOutcome::Beyond);
    // Waiting for a processor does not grow a backlog; a saturated processor does.
    let (mut run, _) = trial("p99<50ms", 1000.0, bucket(600.0));
    assert_eq!(with(&mut run, Level::Suspect, waiting).outcome, CapacityOutcome::Overload);
    assert_eq!(with(&mut run, Level::Suspect, cpu.clone()).outcome, CapacityOutcome::Client);
    // Neither makes a server refuse calls.
    let (mut run, _) = trial("errors<1%", 1000.0, refusing(600.0));
    assert_eq!(with(&mut run, Level::Suspect, cpu.clone()).outcome, CapacityOutcome::Overload);
    // If the trial went well, nobody is blamed.
    let (mut run, _) = trial("p99<50ms", 100.0, bucket(600.0));
    assert_eq!(with(&mut run, Level::Suspect, cpu).outcome, CapacityOutcome::Within);
}

#[test]
fn rising_latency_is_blamed_on_the_server() {
    // A backlog of half a percent of 600 calls per second is hardly more than chance, but it stays.
    let slow = search::Trial { rate: 603.0, length: Duration::from_secs(12) };
    let mut run = run(&capacity("p99<50ms").plan, slow, 1, bucket(600.0));
    let waiting = Finding::KeptWaiting { share: 0.3, preempted: 9 };
    run.verdict.reasons = vec![Reason { level: Level::Suspect, finding: waiting }];
    let trial = Trial::of(slow.rate, &run);
    assert_eq!(trial.outcome, CapacityOutcome::Overload);
    assert_eq!(trial.reasons, [Cause::Missed("p99<50ms".parse().unwrap()), Cause::Rising]);
}

#[test]
fn a_server_that_never_answers_leaves_calls_unanswered() {
    let (_, trial) = trial("5xx<1%", 50.0, HttpPeer::new(|_| Vec::new()));
    assert!(trial.is_silent());
    assert_eq!((trial.outcome, trial.unanswered, trial.answered), (CapacityOutcome::Overload, 1.0, 0.0));
    let judged = trial.judged("5xx<1%".parse().unwrap());
    assert_eq!(judged.map(|judged| judged.measured), Some(Measured::Nothing));
}

#[test]
fn the_document_matches_its_schema_and_names_itself() {
    let capacity = search("p99<50ms", 1, || bucket(200.0));
    let json: serde_json::Value = serde_json::from_str(&capacity.json()).unwrap();
    assert_eq!((&json["format"], &json["version"]), (&"httperf-capacity".into(), &1.into()));
    assert_eq!(json["trials"].as_array().unwrap().len(), capacity.trials.len());
    assert_eq!(json["found"]["end"], "precise");
    assert!(schema().contains("urn:httperf:capacity:1"));
}

/// Checks the last line of the text.
#[track_caller]
fn check_headline(found: Found, expected: &str) {
    let capacity = CapacityReport { found, ..capacity("p99<50ms") };
    let text = capacity.plain_text();
    assert_eq!(text.lines().last(), Some(expected));
}

#[test]
fn the_last_line_says_what_was_found() {
    let interval = Some(Interval { rate: 1987.54, low: 1962.0, high: 2010.04 });
    let found = |capacity, sustained, end| Found { capacity, sustained, end: Some(end), because: None };
    check_headline(
        found(interval, Some(1970.0), End::Precise),
        "capacity 1988 connections/s (95 %: 1962 to 2010)",
    );
    check_headline(
        found(interval, Some(1970.0), End::TrialsUsedUp),
        "capacity 1988 connections/s (95 %: 1962 to 2010; all --trials were made)",
    );
    check_headline(
        found(interval, Some(1970.0), End::Asked),
        "capacity 1988 connections/s (95 %: 1962 to 2010; interrupted)",
    );
    check_headline(
        found(None, Some(3200.0), End::NeverReached),
        "capacity at least 3200 connections/s (--max-rate was sustained)",
    );
    check_headline(
        Found {
            because: Some("rate: 10 due, 5 started".to_owned()),
            ..found(None, Some(12.5), End::ClientLimited)
        },
        "capacity at least 12.5 connections/s (this client cannot offer more: rate: 10 due, 5 started)",
    );
    check_headline(
        found(None, None, End::BelowMinimum),
        "capacity below 1 connections/s (--min-rate was not sustained)",
    );
    check_headline(
        found(None, Some(300.0), End::TooFewSamples),
        "capacity unknown (at 300 connections/s nothing was missed, but even the longest trials have too few samples; \
         --trial-max allows longer ones)",
    );
    check_headline(found(None, Some(800.0), End::Asked), "capacity at least 800 connections/s (interrupted)");
    check_headline(found(None, None, End::Asked), "capacity unknown (interrupted)");
}

#[test]
fn a_rate_with_too_few_samples_is_not_claimed() {
    let mut capacity = capacity("p99.9<50ms");
    capacity.trials = vec![trial("p99.9<50ms", 100.0, bucket(600.0)).1];
    let mut search = Search::new(SEARCHED);
    search.note(capacity.trials[0].observed());
    for (end, last) in [
        (
            End::Asked,
            "capacity unknown (at 100 connections/s nothing was missed, but there were too few samples; interrupted)",
        ),
        (
            End::TooFewSamples,
            "capacity unknown (at 100 connections/s nothing was missed, but even the longest trials have too few \
             samples; --trial-max allows longer ones)",
        ),
    ] {
        capacity.found = Found::of(&search, Some(end));
        assert_eq!((capacity.found.capacity, capacity.found.sustained), (None, None));
        assert_eq!(capacity.plain_text().lines().last(), Some(last));
    }
    // A clear trial below it still counts.
    capacity.trials.push(trial("p99<50ms", 50.0, bucket(600.0)).1);
    search.note(capacity.trials[1].observed());
    capacity.found = Found::of(&search, Some(End::Asked));
    assert_eq!(
        capacity.plain_text().lines().last(),
        Some("capacity at least 50 connections/s (interrupted)")
    );
}

#[test]
fn a_table_has_a_row_for_each_trial() {
    let mut capacity = capacity("p99<50ms, service.p50<1s");
    capacity.trials = vec![
        trial("p99<50ms, service.p50<1s", 100.0, bucket(600.0)).1,
        trial("p99<50ms, service.p50<1s", 1000.0, bucket(600.0)).1,
    ];
    capacity.found =
        Found { capacity: None, sustained: Some(100.0), end: Some(End::TrialsUsedUp), because: None };
    insta::assert_snapshot!(capacity.plain_text(), @r"
    objectives: p99<50ms, service.p50<1s; implied: errors<1%

    trial      rate   length   offered  answered   backlog       p99  service.p50    errors  outcome
        1       100    2.0 s       100       100    +0.0 %    200 µs       100 µs    0.00 %  within
        2      1000    2.0 s      1000       600   +40.0 %    1.35 s       933 ms    0.00 %  beyond: fell behind, missed p99<50ms (SUSPECT)

    capacity at least 100 connections/s (all --trials were made)
    ");
}
