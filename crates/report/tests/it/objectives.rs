//! Outcomes of objectives, in every form of report.

use httperf_report::junit::{self, Status, Suite};
use httperf_report::result::{Document, EarlyEnd};
use httperf_report::{Kept, csv_header, csv_row, html};

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
    let page = html::page(&documents::with_objectives());
    let places = [
        "id=\"objectives\"",
        "</span>FAIL</span>",
        "<span class=\"kind valid\">met</span><span><strong>p50&#60;5ms:</strong> ",
        "<span class=\"kind invalid\">MISSED</span><span><strong>errors&#60;0.1%:</strong> ",
        "<span class=\"kind suspect\">UNKNOWN</span><span><strong>p99.99&#60;3s:</strong> ",
        "<dl class=\"tiles\">",
        "</span>VALID</h2>",
        "The run was ended early because an objective had been missed for three seconds in a row (--abort-on-slo).",
    ];
    let mut from = 0;
    for place in places {
        let at = page[from..].find(place);
        from += at.unwrap_or_else(|| panic!("`{place}` is not where it should be"));
    }
    assert!(!html::page(&documents::one_call()).contains("id=\"objectives\""));
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
    assert_eq!(suspect.output, "SUSPECT\nSUSPECT few samples: 1 sample is too few for p50 and above");
    let mut summary = documents::one_second().summary;
    summary.arrivals.started /= 2;
    let invalid = verdict(&Document::new(documents::part(), documents::one_second().plan, summary));
    let Status::Error(why) = &invalid.status else { panic!("{invalid:?}") };
    assert!(why.starts_with("INVALID rate: "), "{why}");
}
