//! Comparisons of whole runs on the virtual clock: error rates and texts. `COMPARISONS` says how many comparisons an error
//! rate is taken of, in percent of those of `make test-long`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::env;
use std::ops::Range;
use std::sync::OnceLock;
use std::time::Duration;

use httperf_pages::comparison_page;
use httperf_plan::objective::{Objective, Tolerance};
use httperf_plan::{Arrivals, Client, HttpVersion, Phases, Plan, Tls, UNLIMITED, UriSource};
use httperf_report::compare::{
    Comparison, ComparisonOutcome, ComparisonSettings, Held, Method, Named, Overall, Remark, Rounds, Unit,
    results, rounds,
};
use httperf_report::result::{Document, EarlyEnd};
use httperf_report::{Finding, Level, Measured, PlanOptions, Reason, Verdict, Written as _};
use httperf_testkit::sim::{Action, Edit, HttpPeer, Link, Peer, calls, nonzero, reply, run};
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_pcg::Pcg64Mcg;

use crate::documents;

/// Comparisons made for every change, in percent of those of `make test-long`.
const PERCENT: u64 = 20;

/// A server that handles requests sequentially. Service times are log-normal with a mean of 3 ms times
/// `slower`.
fn server(seed: u64, slower: f64) -> impl Peer {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut free = Duration::ZERO;
    HttpPeer::new(move |request| {
        let exponent = 0.5 * random.sample::<f64, _>(StandardNormal) - 0.125;
        let service = Duration::from_secs_f64(0.003 * slower * exponent.exp());
        free = free.max(request.at) + service;
        vec![Action::Send(free - request.at, reply(200, "", "hello"))]
    })
}

/// Half a minute of random arrivals at a hundred calls per second.
fn plan(seed: u64) -> Plan {
    let index = u32::try_from(seed).expect("there are few");
    calls(UNLIMITED, 100.0, 200).with(|plan| {
        plan.arrivals = Arrivals::Exponential { mean: 0.01 };
        plan.runtime = Some(Duration::from_secs(30));
        plan.phases = Phases { warmup: Duration::from_secs(1), drain: Duration::from_secs(1) };
        // Gives the run arrivals of its own.
        plan.client = Client::new(index, 10_000);
    })
}

fn measured(seed: u64, slower: f64) -> Document {
    let plan = plan(seed);
    let summary = run(&plan, Link { seed, ..Link::default() }, server(seed, slower)).summary;
    Document::new(documents::part(), plan, summary)
}

fn compared(base: &Document, new: &Document) -> Comparison {
    let named = |name, document| Named { name, document };
    results(named("base.json", base), &[named("new.json", new)], &settings())
}

/// Settings that name some fields of plans by the program's options.
fn settings() -> ComparisonSettings {
    let options = [
        ("request.method", "--method"),
        ("uris", "--uri"),
        ("request.extra_headers", "--add-header"),
        ("request.version", "--http-version"),
        ("tls", "--ssl"),
        ("workload.calls.connections", "--concurrency"),
        ("arrivals", "--period"),
        ("phases.warmup_ns", "--warmup"),
        ("http2.window", "--h2-window"),
        ("threads", "--threads"),
    ];
    let options = options.map(|(path, option)| (path, option.to_owned()));
    ComparisonSettings { options: PlanOptions::new(options), ..ComparisonSettings::default() }
}

/// The first of these seeds: as many as every change has the time for.
fn share(seeds: Range<u64>) -> Range<u64> {
    let percent = env::var("COMPARISONS").ok().and_then(|percent| percent.parse().ok()).unwrap_or(PERCENT);
    seeds.start..seeds.start + (seeds.end - seeds.start) * percent / 100
}

/// Returns whether at most 5 % of the verdicts are of this kind; says how many are.
fn are_few(verdicts: &[Overall], is_one: impl Fn(Overall) -> bool) -> bool {
    let (found, all) = (verdicts.iter().filter(|verdict| is_one(**verdict)).count(), verdicts.len());
    println!("{found} of {all}");
    all > 0 && 20 * found <= all
}

fn verdicts(pairs: Range<u64>, slower: f64) -> Vec<Overall> {
    let verdict = |pair: u64| {
        let comparison = compared(&measured(2 * pair, 1.0), &measured(2 * pair + 1, slower));
        comparison.against[0].verdict
    };
    pairs.map(verdict).collect()
}

#[test]
fn at_most_5_percent_of_equal_pairs_appear_to_differ() {
    let verdicts = verdicts(share(0..200), 1.0);
    assert!(are_few(&verdicts, |verdict| verdict != Overall::NoDifferenceShown), "{verdicts:?}");
}

#[test]
fn at_least_95_percent_of_servers_a_tenth_slower_are_found_worse() {
    let verdicts = verdicts(share(200..260), 1.1);
    assert!(are_few(&verdicts, |verdict| verdict != Overall::Worse), "{verdicts:?}");
}

/// A run of half a minute against a server slowed by this factor.
fn result(slower: f64) -> Document {
    measured(1000 + (slower * 100.0) as u64, slower)
}

/// A base, and the result of a server that is a fifth slower.
fn pair() -> &'static (Document, Document) {
    static PAIR: OnceLock<(Document, Document)> = OnceLock::new();
    PAIR.get_or_init(|| (result(1.0), result(1.2)))
}

fn with(tolerances: &str) -> ComparisonSettings {
    ComparisonSettings { tolerances: Tolerance::parse_list(tolerances).unwrap(), ..settings() }
}

fn compared_with(base: &Document, new: &Document, settings: &ComparisonSettings) -> Comparison {
    let named = |name, document| Named { name, document };
    results(named("base.json", base), &[named("new.json", new)], settings)
}

/// Texts of remarks.
fn texts(remarks: &[Remark]) -> Vec<&str> {
    remarks.iter().map(|remark| &remark.text[..]).collect()
}

#[test]
fn comparisons_are_deterministic() {
    let (base, new) = pair();
    assert_eq!(compared(base, new), compared(base, new));
    let same = compared(base, base);
    assert_eq!(
        (same.against[0].verdict, same.outcome),
        (Overall::NoDifferenceShown, ComparisonOutcome::Passed)
    );
    assert!(same.against[0].rows.iter().all(|row| row.p_value.is_none_or(|p_value| p_value == 1.0)));
}

#[test]
fn a_comparison_in_every_form() {
    let (base, new) = pair();
    let comparison = compared_with(base, new, &with("p99>+5%,mean>+100%,errors>+0.1pp,p95>+1us"));
    assert_eq!(comparison.outcome, ComparisonOutcome::Failed);
    insta::assert_snapshot!("comparison_text", comparison.plain_text());
    insta::assert_snapshot!("comparison_markdown", comparison.markdown());
    let json: serde_json::Value = serde_json::from_str(&comparison.json()).unwrap();
    assert_eq!((&json["format"], &json["version"]), (&"httperf-comparison".into(), &1.into()));
    assert_eq!((&json["method"], &json["outcome"]), (&"bootstrap".into(), &"failed".into()));
    let rows = json["against"][0]["rows"].as_array().unwrap();
    let metrics: Vec<&str> = rows.iter().map(|row| row["metric"].as_str().unwrap()).collect();
    assert_eq!(metrics, ["replies", "errors", "mean", "p50", "p90", "p99", "p99.9", "p95"]);
    assert_eq!((&rows[2]["unit"], &rows[2]["verdict"]), (&"seconds".into(), &"worse".into()));
}

#[track_caller]
fn check_schema(comparison: &Comparison) {
    let schema = serde_json::from_str(&httperf_report::compare::schema()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let document = serde_json::from_str(&comparison.json()).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn documents_follow_their_schema() {
    let (base, new) = pair();
    check_schema(&compared_with(base, new, &with("p99>+5%")));
    let mut other = new.clone();
    other.plan.change(|plan| plan.request.method = b"POST".to_vec());
    check_schema(&compared(base, &other));
    check_schema(&in_turns(6, &|_| Level::Valid));
}

#[test]
fn tolerances_are_exceeded_kept_or_unknown() {
    let (base, new) = pair();
    let outcomes = |tolerances: &str| -> Vec<Held> {
        let comparison = compared_with(base, new, &with(tolerances));
        comparison.against[0].tolerances.iter().map(|tolerated| tolerated.outcome).collect()
    };
    // The mean is some 30 % larger.
    use Held::{CannotTell, Exceeded, Kept};
    assert_eq!(outcomes("mean>+5%,mean>+30%,mean>+80%"), [Exceeded, CannotTell, Kept]);
    assert_eq!(outcomes("mean<-5%,mean>+100us,mean>+50ms"), [Kept, Exceeded, Kept]);
    // Neither has any errors.
    assert_eq!(outcomes("errors>+5%,errors>+1pp,errors>+0.001pp"), [Kept, Kept, CannotTell]);
    assert_eq!(outcomes("replies<-5%,p99.9>+5%"), [Kept, CannotTell]);
    let outcome = |tolerances: &str| compared_with(base, new, &with(tolerances)).outcome;
    assert_eq!(
        outcome("mean>+80%"),
        ComparisonOutcome::Passed,
        "what is worse without a tolerance does not fail"
    );
    assert_eq!(outcome("mean>+80%,p99.9>+5%"), ComparisonOutcome::CannotTell);
    assert_eq!(outcome("mean>+5%,p99.9>+5%"), ComparisonOutcome::Failed);
}

#[test]
fn different_workloads_are_not_compared_unless_forced() {
    let (base, new) = pair();
    let refused = |change: &dyn Fn(&mut Document)| {
        let mut other = new.clone();
        change(&mut other);
        let comparison = compared(base, &other);
        let against = &comparison.against[0];
        assert_eq!((against.verdict, comparison.outcome), (Overall::Void, ComparisonOutcome::CannotTell));
        assert!(against.rows.is_empty() && comparison.plain_text().contains("void: "));
        let forced = compared_with(base, &other, &ComparisonSettings { force: true, ..settings() });
        assert_eq!(forced.against[0].verdict, Overall::Worse);
        assert_eq!(forced.against[0].obstacles, against.obstacles);
        texts(&against.obstacles).join("\n")
    };
    /// Changes a result.
    type Changing<'a> = &'a dyn Fn(&mut Document);
    let cases: [(&str, Changing<'_>); 9] = [
        ("the requests differ (--method: `GET` and `POST`)", &|other| {
            other.plan.change(|plan| plan.request.method = b"POST".to_vec());
        }),
        ("the requests differ (--uri: `/` and `/search?q=|x|`)", &|other| {
            other.plan.change(|plan| plan.uris = UriSource::Fixed(b"/search?q=|x|".to_vec()));
        }),
        // Fields that may contain secrets are named without their values.
        ("the requests differ (--add-header)", &|other| {
            other.plan.change(|plan| plan.request.extra_headers = b"Authorization: secret\r\n".to_vec());
        }),
        ("the protocols differ (--http-version: `http11` and `http10`)", &|other| {
            other.plan.change(|plan| plan.request.version = HttpVersion::Http10);
        }),
        ("the protocols differ (--ssl)", &|other| other.plan.change(|plan| plan.tls = Some(Tls::default()))),
        ("the workloads differ (--concurrency: 200 and 10)", &|other| {
            other.plan.change_calls(|calls| calls.connections = Some(nonzero(10)));
        }),
        ("the offered rates differ (--period: e0.01 and e0.02)", &|other| {
            other.plan.change(|plan| plan.arrivals = Arrivals::Exponential { mean: 0.02 });
        }),
        ("the phases differ (--warmup: 1.00 s and 0 s)", &|other| {
            other.plan.change(|plan| plan.phases.warmup = Duration::ZERO);
        }),
        (
            "`new.json` is INVALID: schedule lag: arrivals started 50.000 ms late, out of a latency of 60.000 ms (p99)",
            &|other| {
                let finding = Finding::ScheduleLag { quantile: 0.99, lag_ms: 50.0, latency_ms: 60.0 };
                other.verdict = Verdict {
                    level: Level::Invalid,
                    reasons: vec![Reason { level: Level::Invalid, finding }],
                };
            },
        ),
    ];
    for (expected, change) in cases {
        assert_eq!(refused(change), expected);
    }
}

#[test]
fn what_may_explain_a_difference_is_mentioned() {
    let (base, new) = pair();
    assert_eq!(texts(&compared(base, new).against[0].warnings), [] as [&str; 0]);
    let mut other = new.clone();
    other.plan.change(|plan| plan.targets[0].host = "other".to_owned());
    other.plan.change(|plan| plan.threads = Some(nonzero(2)));
    other.plan.change(|plan| plan.phases.warmup = Duration::from_secs(5));
    other.figures.duration_s = 12.0;
    other.parts[0].httperf = "1.1.0".to_owned();
    other.parts[0].machine.host = "loadgen-4".to_owned();
    other.parts[0].ended_early = Some(EarlyEnd::Asked);
    other.plan.change(|plan| plan.request.user_agent = "httperf/1.1.0".to_owned());
    let comparison = compared(base, &other);
    insta::assert_snapshot!(texts(&comparison.against[0].warnings).join("\n"));
    assert_eq!(comparison.against[0].verdict, Overall::Worse);
}

#[test]
fn different_settings_of_http2_are_mentioned() {
    let (base, new) = pair();
    let mut other = new.clone();
    other.plan.change(|plan| plan.http2.window = httperf_plan::Window::constant::<65_535>());
    let comparison = compared(base, &other);
    assert_eq!(
        texts(&comparison.against[0].warnings),
        ["the protocols differ (--h2-window: 6291456 and 65535)"]
    );
    assert_eq!(comparison.against[0].verdict, Overall::Worse);
}

#[test]
fn too_short_a_run_gives_no_conclusion() {
    let short = |seed| {
        let plan = plan(seed).with(|plan| plan.runtime = Some(Duration::from_secs(5)));
        let summary = run(&plan, Link { seed, ..Link::default() }, server(seed, 1.0)).summary;
        Document::new(documents::part(), plan, summary)
    };
    let comparison = compared(&short(1), &short(2));
    assert_eq!(
        (comparison.against[0].verdict, comparison.outcome),
        (Overall::NotEnoughData, ComparisonOutcome::CannotTell)
    );
    assert!(comparison.plain_text().contains("not enough data: intervals with data: 5, at least 10 needed"));
    assert!(comparison.plain_text().contains("hint: measure for at least"));
}

#[test]
fn runs_of_every_kind_can_be_compared_with_themselves() {
    for document in [
        documents::a_busy_moment(),
        documents::sessions_over_tls(),
        documents::over_http2(),
        documents::hostile(),
        documents::without_replies(),
        documents::without_anything(),
        documents::one_call(),
        documents::without_detail(),
        documents::slow_to_connect(),
    ] {
        let settings = ComparisonSettings { force: true, ..with("failed>+1pp,unexpected>+1pp") };
        let comparison = compared_with(&document, &document, &settings);
        let verdict = comparison.against[0].verdict;
        assert!(
            matches!(verdict, Overall::NoDifferenceShown | Overall::NotEnoughData),
            "{}",
            comparison.plain_text()
        );
        check_schema(&comparison);
    }
}

#[test]
fn errors_are_counted_as_in_objectives() {
    let objectives =
        Objective::parse_list("errors<50%,failed<50%,unexpected<50%,mean<1s,p50<1s,replies>1").unwrap();
    for document in [documents::a_busy_moment(), documents::without_replies(), documents::hostile()] {
        let settings = ComparisonSettings { force: true, ..with("failed>+1pp,unexpected>+1pp") };
        let comparison = compared_with(&document, &document, &settings);
        for judged in httperf_report::judge(&objectives, &document.summary) {
            let name = judged.objective.metric().to_string();
            let row = comparison.against[0].rows.iter().find(|row| row.metric == name).unwrap();
            match (judged.measured, row.base) {
                (Measured::Figure(figure), Some(base)) if row.unit != Unit::Seconds => {
                    assert_eq!(base, figure, "{name}");
                }
                (Measured::Nothing, base) => assert_eq!(base, None, "{name}"),
                // In objectives on times, failed calls count as endless.
                _ => {}
            }
        }
    }
}

#[test]
fn text_from_outside_never_becomes_markup() {
    let (base, new) = pair();
    let name = "a`b``|<img src=x onerror=alert(1)>\n# @team *x*.json";
    let mut other = new.clone();
    other.plan.change(|plan| plan.targets[0].host = "<b>|x|</b>@team".to_owned());
    let named = |name, document| Named { name, document };
    let comparison =
        results(named("base.json", base), &[named(name, &other)], &ComparisonSettings::default());
    let markdown = comparison.markdown();
    assert!(markdown.contains("``` a`b``|<img src=x onerror=alert(1)> # @team *x*.json ```"), "{markdown}");
    let warning = markdown.lines().find(|line| line.starts_with("- warning: the targets differ")).unwrap();
    assert!(warning.ends_with("http://&lt;b&gt;\\|x\\|&lt;/b&gt;&#64;team"), "{warning}");
    let page = comparison_page(&comparison);
    assert!(!page.contains("<img") && !page.contains("<b>"));
}

/// A trial against a server slowed by this factor.
fn trial(seed: u64, slower: f64, level: Level) -> Document {
    let plan = plan(seed).with(|plan| plan.runtime = Some(Duration::from_secs(3)));
    let summary = run(&plan, Link { seed, ..Link::default() }, server(seed, slower)).summary;
    let mut document = Document::new(documents::part(), plan, summary);
    document.verdict.level = level;
    document
}

/// Rounds in which the machine becomes slower over time and the second server takes a tenth longer.
fn in_turns(count: u32, level: &dyn Fn(u32) -> Level) -> Comparison {
    rounds(&turns(count, level), &ComparisonSettings::default())
}

fn turns(count: u32, level: &dyn Fn(u32) -> Level) -> Rounds {
    let names = ["http://a/", "http://b/"].map(str::to_owned);
    let mut made = Rounds::new(10, 7, names, &ComparisonSettings::default());
    for round in 0..count {
        let drift = 1.0 + 0.1 * f64::from(round);
        let [a, b] = [(0, drift), (1, drift * 1.15)]
            .map(|(side, slower)| trial(5000 + u64::from(2 * round + side), slower, level(round)));
        if round % 2 == 0 { made.add([(0, &a), (1, &b)]) } else { made.add([(1, &b), (0, &a)]) }
    }
    made
}

#[test]
fn taking_turns_cancels_drift() {
    let comparison = in_turns(10, &|_| Level::Valid);
    let against = &comparison.against[0];
    assert_eq!(against.verdict, Overall::Worse, "{}", comparison.plain_text());
    let mean = against.rows.iter().find(|row| row.metric == "mean").unwrap().relative.unwrap();
    assert!(mean.low.unwrap() > 0.05 && mean.high.unwrap() < 0.6, "{mean:?}");
    insta::assert_snapshot!("rounds_text", comparison.plain_text());
}

/// Verdict of rounds as made by `httperf ab`: both trials of a round have the same arrivals, each side goes
/// first in every other round, and the second trial of a round finds the server a thirtieth slower.
fn verdict_of_rounds(seed: u64, count: u32, slower: f64) -> Overall {
    let names = ["http://a/", "http://b/"].map(str::to_owned);
    let mut made = Rounds::new(count, 7, names, &ComparisonSettings::default());
    for round in 0..count {
        let seed = 1_000_000 + 1000 * seed + 2 * u64::from(round);
        let trial = |side: usize, is_second: bool| {
            let plan = plan(0).with(|plan| {
                plan.runtime = Some(Duration::from_secs(3));
                plan.client = Client::default().in_trial(round);
            });
            let slower = if side == 1 { slower } else { 1.0 } * if is_second { 31.0 / 30.0 } else { 1.0 };
            let seed = seed + side as u64;
            let summary = run(&plan, Link { seed, ..Link::default() }, server(seed, slower)).summary;
            Document::new(documents::part(), plan, summary)
        };
        let first = (round as usize + seed as usize / 1000) % 2;
        let trials = [trial(first, false), trial(1 - first, true)];
        made.add([(first, &trials[0]), (1 - first, &trials[1])]);
    }
    rounds(&made, &ComparisonSettings::default()).against[0].verdict
}

#[test]
fn at_most_5_percent_of_equal_sides_appear_to_differ() {
    for count in [5, 10] {
        let verdicts: Vec<Overall> = share(0..100).map(|seed| verdict_of_rounds(seed, count, 1.0)).collect();
        let is_different = |verdict| verdict != Overall::NoDifferenceShown;
        assert!(are_few(&verdicts, is_different), "{count} rounds: {verdicts:?}");
    }
}

#[test]
fn nine_of_ten_sides_a_tenth_slower_are_found_in_ten_rounds() {
    let verdicts: Vec<Overall> = share(0..50).map(|seed| verdict_of_rounds(seed, 10, 1.1)).collect();
    let found = verdicts.iter().filter(|verdict| **verdict == Overall::Worse).count();
    println!("{found} of {}", verdicts.len());
    assert!(10 * found >= 9 * verdicts.len(), "{found}: {verdicts:?}");
}

#[test]
fn rounds_with_an_invalid_trial_are_left_out_and_too_many_void_the_comparison() {
    let few = in_turns(8, &|round| if round == 2 { Level::Invalid } else { Level::Suspect });
    let Method::Paired(turns) = &few.method else { panic!("{few:?}") };
    assert_eq!((turns.rounds_asked, turns.rounds_made, turns.rounds_left_out), (10, 8, 1));
    assert_eq!(turns.trials.iter().filter(|trial| trial.is_left_out).count(), 2);
    let warnings = texts(&few.against[0].warnings);
    assert_eq!(warnings[0], "interrupted after 8 of 10 rounds");
    assert!(warnings[1].starts_with("1 round of 8 left out"), "{warnings:?}");
    assert!(warnings[2].starts_with("14 of 14 trials are SUSPECT"), "{warnings:?}");
    let many = in_turns(5, &|round| if round < 3 { Level::Invalid } else { Level::Valid });
    assert_eq!((many.against[0].verdict, many.outcome), (Overall::Void, ComparisonOutcome::CannotTell));
    let scarce = in_turns(4, &|_| Level::Valid);
    assert_eq!(scarce.outcome, ComparisonOutcome::CannotTell);
    assert!(
        scarce.plain_text().contains("rounds with data: 4, at least 5 needed"),
        "{}",
        scarce.plain_text()
    );
}

#[test]
fn test_cases_are_the_figures_or_the_tolerances() {
    let (base, new) = (measured(1, 1.0), measured(2, 1.5));
    let named = |name, document| Named { name, document };
    let suites = |tolerances: &str| {
        let tolerances =
            if tolerances.is_empty() { Vec::new() } else { Tolerance::parse_list(tolerances).unwrap() };
        let settings = ComparisonSettings { tolerances, ..settings() };
        let xml = results(named("base.json", &base), &[named("new.json", &new)], &settings).junit();
        quick_junit::Report::deserialize_from_str(&xml).unwrap().test_suites
    };
    let figures = suites("");
    assert_eq!((figures.len(), figures[0].name.as_str()), (1, "new.json against base.json"));
    assert_eq!((figures[0].tests, figures[0].errors), (7, 0), "{figures:?}");
    assert!((1..7).contains(&figures[0].failures), "{figures:?}");
    let tolerances = suites("p50>+5%, p50<+500%");
    assert_eq!((tolerances[0].tests, tolerances[0].failures), (2, 2), "{tolerances:?}");
    let kept = suites("p50>+500%");
    assert_eq!((kept[0].tests, kept[0].failures, kept[0].errors), (1, 0, 0), "{kept:?}");
}
