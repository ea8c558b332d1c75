//! Outcomes of objectives, in every form of report.

use std::time::Duration;

use httperf_pages::page;
use httperf_plan::objective::{Objective, Scope, ScopedObjective};
use httperf_plan::{ModelApi, Phases, Plan, Streams};
use httperf_report::junit::{self, Status, Suite};
use httperf_report::result::{Document, EarlyEnd};
use httperf_report::{Kept, csv_header, csv_row};

use httperf_stats::Summary;
use httperf_testkit::sim::{Action, Edit, HttpPeer, Link, RequestSeen, reply, run, scenarios};

use crate::documents;

/// Lines below the title of the section, if there is one.
fn section(text: &str) -> Option<&str> {
    text.split_once("\nObjectives: ").map(|(_, section)| section)
}

#[test]
fn objectives_are_below_everything_else_in_both_text_forms() {
    let document = documents::with_objectives();
    insta::assert_snapshot!(section(&document.text(false)).expect("objectives were given"), @r"
    4 of 9 met
      met      p50<5ms            2.97 ms, 40.7 % below the bound
      MISSED   p99<50ms           876 ms, 17.5 times the bound
      met      p99.9<1.5s         995 ms, 33.7 % below the bound
      MISSED   max<1s             > 995 ms: calls had no usable reply in time
      MISSED   service.p90<=20ms  80.6 ms, 303.2 % above the bound
      MISSED   errors<0.1%        0.201 %, 101.5 % above the bound
      met      5xx<=1%            0.134 %, 86.6 % below the bound
      met      replies>=100/s     123.9/s, 23.9 % above the bound
      UNKNOWN  p99.99<3s          > 995 ms: calls had no usable reply in time, from 1489 of the 10000 samples needed
      The run was ended early because an objective had been missed for three seconds in a row (--abort-on-slo).
    ");
    let (brief, full) = (document.text(false), document.text(true));
    let (brief, full) = (section(&brief).expect("it is there"), section(&full).expect("it is there"));
    assert!(full.starts_with(brief), "only the answer comes after it: {full}");
    let without = Document::new(documents::part(), documents::one_call().plan, document.summary);
    assert_eq!(section(&without.text(true)), None);
}

#[test]
fn a_run_succeeds_if_all_objectives_are_known_to_be_met() {
    let mut document = documents::with_objectives();
    assert!(!document.met_objectives());
    document.objectives.retain(|judged| judged.outcome != Kept::Missed);
    document.parts[0].ended_early = None;
    assert!(!document.met_objectives(), "one is unknown");
    document.objectives.retain(|judged| judged.outcome == Kept::Met);
    assert!(document.met_objectives() && !document.objectives.is_empty());
    document.parts[0].ended_early = Some(EarlyEnd::Missed);
    assert!(!document.met_objectives(), "it was ended for one that is met by the figures to more digits");
}

#[test]
fn the_page_begins_with_them() {
    let shown = page(&documents::with_objectives());
    let places = [
        "id=\"objectives\"",
        "</span>FAIL</h2>",
        "<span class=\"kind valid\">met</span><span><strong>p50&#60;5ms:</strong> ",
        "<span class=\"kind invalid\">MISSED</span><span><strong>errors&#60;0.1%:</strong> ",
        "<span class=\"kind suspect\">UNKNOWN</span><span><strong>p99.99&#60;3s:</strong> ",
        "</span>VALID</h2>",
        "<dl class=\"tiles five\">",
        "The run was ended early because an objective had been missed for three seconds in a row (--abort-on-slo).",
    ];
    let mut from = 0;
    for place in places {
        let at = shown[from..].find(place);
        from += at.unwrap_or_else(|| panic!("`{place}` is not where it should be"));
    }
    assert!(!page(&documents::one_call()).contains("id=\"objectives\""));
}

#[test]
fn a_column_of_csv_names_them() {
    let header = csv_header();
    let index = header.trim().split(',').position(|name| name == "objectives").expect("the column is there");
    let column = |row: &str| row.trim().split(',').nth(index).expect("a value for each column").to_owned();
    let named = column(&csv_row(&documents::with_objectives()));
    assert!(named.starts_with("p50<5ms met; p99<50ms "), "{named}");
    assert!(named.ends_with("; p99.99<3s UNKNOWN"), "{named}");
    assert_eq!(column(&csv_row(&documents::one_call())), "");
}

#[test]
fn a_suite_has_a_case_for_each_objective_and_one_for_the_verdict() {
    let document = documents::with_objectives();
    let suite = Suite::of(&document);
    let names: Vec<&str> = suite.cases.iter().map(|case| &*case.name).collect();
    assert_eq!(names.len(), document.objectives.len() + 2);
    assert_eq!((names[0], &names[names.len() - 2..]), ("p50<5ms", &["abort-on-slo", "verdict"][..]));
    for (case, judged) in suite.cases.iter().zip(&document.objectives) {
        assert_eq!(case.status == Status::Passed, judged.outcome == Kept::Met, "{case:?}");
    }
    assert_eq!(suite.cases.last().map(|case| &case.status), Some(&Status::Passed));
    assert!(junit::xml("httperf", &[suite]).contains("classname=\"objective\""));
}

#[test]
fn a_run_that_was_given_up_is_an_error() {
    let mut document = documents::one_call();
    document.parts[0].ended_early = Some(EarlyEnd::Hopeless);
    let cases = Suite::of(&document).cases;
    let [run, _verdict] = &cases[..] else { panic!("{cases:?}") };
    let why = "the run was ended early because the server does not speak the protocol";
    assert_eq!((&*run.name, &run.status), ("protocol", &Status::Error(why.to_owned())));
}

#[test]
fn an_invalid_run_is_an_error_and_a_suspect_one_passes_with_its_reasons() {
    let verdict = |document: &Document| Suite::of(document).cases.pop().expect("the verdict is the last");
    let suspect = verdict(&documents::one_call());
    assert_eq!(suspect.status, Status::Passed);
    assert_eq!(
        suspect.output,
        "answers in 2.98 ms\nSUSPECT\nSUSPECT few samples: 1 sample is too few for p50 and above"
    );
    let mut summary = documents::one_second().summary;
    summary.arrivals.started /= 2;
    let invalid = verdict(&Document::new(documents::part(), documents::one_second().plan, summary));
    let Status::Error(why) = &invalid.status else { panic!("{invalid:?}") };
    assert!(why.starts_with("INVALID rate: "), "{why}");
}

/// Objectives that a good server meets and a bad one misses, and those of them that a step does not have, or no part.
const OBJECTIVES: [(&str, Has); 21] = [
    ("p50<200ms", Has::AllScopes),
    ("p90<=200ms", Has::AllScopes),
    ("mean<200ms", Has::AllScopes),
    ("min<200ms", Has::AllScopes),
    ("max<200ms", Has::AllScopes),
    ("service.p50<200ms", Has::AllScopes),
    ("service.max<200ms", Has::AllScopes),
    ("first.p50<200ms", Has::AllScopes),
    ("ttft.p50<200ms", Has::AllScopes),
    ("errors<10%", Has::AllScopes),
    ("failed<=5%", Has::AllScopes),
    ("unexpected<10%", Has::AllScopes),
    ("checks>=90%", Has::AllScopes),
    ("checks>90%", Has::AllScopes),
    ("abandoned<5%", Has::AllScopes),
    ("replies>=98/s", Has::AllScopes),
    ("session.p50<1s", Has::NoStep),
    ("session.max<1s", Has::NoStep),
    ("response.p50<200ms", Has::WholeRun),
    ("2xx>=90%", Has::WholeRun),
    ("5xx<10%", Has::WholeRun),
];

#[derive(Clone, Copy, PartialEq)]
enum Has {
    AllScopes,
    NoStep,
    WholeRun,
}

/// A run of visits of two steps, each of which every server answers like a language model, if it does.
fn run_against(is_good: bool) -> (Plan, Summary) {
    let workload = r#"
        base = "http://shop"
        [arrivals]
        phases = [{ name = "p", for = "4s", rate = "100/s" }]
        [[scenario]]
        name = "s"
        steps = [{ run = "a.hurl" }]
    "#;
    let step = |name: &str| {
        format!("# @name {name}\nGET {{{{base}}}}/{name}\nHTTP 200\n[Asserts]\nbody contains \"x\"\n\n")
    };
    let plan = scenarios(workload, &[("a.hurl", &[step("look"), step("buy")].concat())]).with(|plan| {
        plan.replies.streams = Streams { model: Some(ModelApi::OpenAi), ..Streams::default() };
        plan.phases = Phases { drain: Duration::from_secs(5), ..Phases::default() };
    });
    let peer = HttpPeer::new(move |request: &RequestSeen| {
        let answer = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
        let answer = reply(200, "Content-Type: text/event-stream\r\n", answer);
        let slow = Duration::from_millis(700);
        match (is_good, request.connection / 10_usize.pow(request.index as u32) % 10) {
            (true, _) => vec![Action::Send(Duration::from_millis(10), answer)],
            (false, 0..4) => vec![Action::Send(slow, answer)],
            (false, 4..7) => vec![Action::Send(slow, reply(500, "", "no"))],
            (false, _) => vec![Action::Reset(slow)],
        }
    });
    let summary = run(&plan, Link::default(), peer).summary;
    (plan, summary)
}

/// Every objective for every part of a run, in every form of report, against a server that keeps it and one that does not.
#[test]
fn every_objective_can_be_met_and_missed_in_every_scope_and_form() {
    let scopes = [
        None,
        Some(Scope::Scenario("s".to_owned())),
        Some(Scope::Step { scenario: None, step: "look".to_owned() }),
        Some(Scope::Step { scenario: Some("s".to_owned()), step: "buy".to_owned() }),
        Some(Scope::Phase("p".to_owned())),
    ];
    for (is_good, expected) in [(true, Kept::Met), (false, Kept::Missed)] {
        let (plan, summary) = run_against(is_good);
        for (text, has) in OBJECTIVES {
            for scope in &scopes {
                let objective: Objective = text.parse().expect("an objective");
                let is_step = matches!(scope, Some(Scope::Step { .. }));
                let is_had = has == Has::AllScopes || scope.is_none() || has == Has::NoStep && !is_step;
                if let Some(scope) = scope {
                    assert_eq!(scope.has(objective), is_had, "{}", scope.name_of(objective));
                }
                if !is_had {
                    continue;
                }
                let plan = plan.clone().with(|plan| match scope {
                    None => plan.objectives.all = vec![objective],
                    Some(scope) => {
                        plan.objectives.scoped = vec![ScopedObjective { scope: scope.clone(), objective }];
                    }
                });
                let document = Document::new(documents::part(), plan, summary.clone());
                let [judged] = &document.objectives[..] else { panic!("{:?}", document.objectives) };
                let name = judged.name();
                assert_eq!(judged.outcome, expected, "{name} {is_good}: {judged}");
                // The exit status follows from it.
                assert_eq!(document.met_objectives(), is_good, "{name}");
                let report = document.text(true);
                let line = section(&report).and_then(|section| section.lines().nth(1)).expect("a line");
                assert!(line.starts_with(&format!("  {expected:<8} {name} ")), "{name}: {line}");
                let word = if is_good { "PASS" } else { "FAIL" };
                assert!(report.contains(&format!("objectives   {word}")), "{name}: {report}");
                let json: serde_json::Value = serde_json::from_str(&document.json()).expect("it is JSON");
                let told = if is_good { "met" } else { "missed" };
                assert_eq!(json["objectives"][0]["outcome"], told, "{name}");
                let suite = Suite::of(&document);
                let case = suite.cases.iter().find(|case| case.class == "objective").expect("a case");
                assert_eq!((&case.name, case.status == Status::Passed), (&name, is_good));
                let csv = csv_row(&document);
                assert!(csv.contains(&format!("{name} {expected}")), "{name}: {csv}");
            }
        }
    }
}
