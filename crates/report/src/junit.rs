//! JUnit XML: the format in which CI systems read test results.
//!
//! A [`Suite`] holds the checks of one run or one comparison, each of which passed or not. [`xml`] writes one
//! or several suites, such as one for each step of a sweep, to a file.

use std::time::Duration;

use httperf_plan::Workload;
use httperf_plan::scenario::StepRequest;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::number::count;
use crate::objectives::{Judged, Kept};
use crate::result::{Document, EarlyEnd};
use crate::verdict::Level;
use crate::visible::is_deceptive;
use crate::visits::{FailedLook, ScenarioRow, StepRow, looks_made};

/// A group of cases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suite {
    /// Subject of the tests.
    pub name: String,
    /// Start: an RFC 3339 date and time. Anything else is left out.
    pub started: Option<String>,
    /// Duration.
    pub time: Duration,
    /// Cases.
    pub cases: Vec<Case>,
}

/// A test case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Kind of test, such as `objective`.
    pub class: String,
    /// Name, unique within suite and class.
    pub name: String,
    /// Result.
    pub status: Status,
    /// Duration of the case itself; zero if it is derived from a run made anyway.
    pub time: Duration,
    /// Further output, shown whether or not the case passed.
    pub output: String,
}

/// Result of a case. The text gives the reason in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// The case passed.
    Passed,
    /// The case failed.
    Failed(String),
    /// The case could not be run.
    Error(String),
    /// The case was skipped.
    Skipped(String),
}

impl Case {
    /// Creates a case without a duration or further output.
    #[must_use]
    pub fn new(class: impl Into<String>, name: impl Into<String>, status: Status) -> Self {
        let (class, name) = (class.into(), name.into());
        Self { class, name, status, time: Duration::ZERO, output: String::new() }
    }

    /// Creates a case for an objective. An unknown outcome counts as failed, since nothing shows that the
    /// objective was met.
    #[must_use]
    pub fn of_objective(judged: &Judged) -> Self {
        let status = match judged.outcome {
            Kept::Met => Status::Passed,
            Kept::Missed => Status::Failed(judged.to_string()),
            Kept::Unknown => Status::Failed(format!("unknown: {judged}")),
        };
        // The message of a failed case already says this.
        let output = if status == Status::Passed { judged.to_string() } else { String::new() };
        Self { output, ..Self::new("objective", judged.name(), status) }
    }
}

impl Suite {
    /// Creates a suite for a run: one case per objective, per check and capture of a step, and per scenario; and one for
    /// the verdict. An INVALID run is an error,
    /// since its figures say nothing about the server; a SUSPECT one passes, with its reasons.
    #[must_use]
    pub fn of(document: &Document) -> Self {
        let target = &document.plan.targets.first().host;
        let time = document.summary.duration;
        let mut cases: Vec<Case> = document.objectives.iter().map(Case::of_objective).collect();
        cases.extend(visits(document));
        if document.parts.iter().any(|part| part.ended_early == Some(EarlyEnd::Missed)) {
            let status = Status::Failed(format!("the run {}", EarlyEnd::Missed));
            cases.push(Case::new("run", "abort-on-slo", status));
        }
        if document.parts.iter().any(|part| part.ended_early == Some(EarlyEnd::Hopeless)) {
            let status = Status::Error(format!("the run {}", EarlyEnd::Hopeless));
            cases.push(Case::new("run", "protocol", status));
        }
        cases.push(Case { time, ..verdict(document) });
        Self {
            name: format!("httperf {target}"),
            started: document.parts.first().map(|part| part.started.clone()),
            time,
            cases,
        }
    }
}

/// Cases of visits: each scenario, and each check and capture of its steps.
fn visits(document: &Document) -> Vec<Case> {
    let Workload::Scenarios(scenarios) = &document.plan.workload else { return Vec::new() };
    let rows = document.figures.visits.iter().flat_map(|visits| &visits.total);
    let mut cases = Vec::new();
    for (scenario, row) in scenarios.scenarios.iter().zip(rows) {
        cases.push(Case::new("visits", format!("{}: visits completed", row.scenario), abandoned(row)));
        let calls = scenario.calls();
        let requests = calls.iter().filter_map(|&call| scenarios.requests.get(call as usize));
        for (request, step) in requests.zip(&row.steps) {
            cases.extend(looks(&row.scenario, request, step));
        }
    }
    cases
}

fn abandoned(row: &ScenarioRow) -> Status {
    let ended = row.completed + row.abandoned;
    match row.abandoned {
        0 if ended == 0 => Status::Skipped("no visit ended".to_owned()),
        0 => Status::Passed,
        abandoned => {
            let not_made = row.steps.iter().flat_map(|step| &step.not_made);
            let reasons: String = not_made
                .map(|not_made| {
                    format!(
                        "; {} as their call could not be made: {}",
                        count(not_made.calls),
                        not_made.reason
                    )
                })
                .collect();
            let visits = format!("{} of {} visits", count(abandoned), count(ended));
            Status::Failed(format!("{visits} were abandoned{reasons}"))
        }
    }
}

/// Cases of the checks and captures of a step. One that is written twice is one case.
fn looks(scenario: &str, request: &StepRequest, step: &StepRow) -> Vec<Case> {
    let mut seen: Vec<String> = Vec::new();
    let mut cases = Vec::new();
    for (look, made) in looks_made(request, step) {
        if seen.contains(&look) {
            continue;
        }
        let failures = || step.failures.iter().filter(|failed| failed.look == look);
        let failed: u64 = failures().map(|failed| failed.replies).sum();
        let came = failures().find_map(FailedLook::came);
        let came = came.map_or_else(String::new, |came| format!("; got {came}"));
        let status = match failed {
            // It passed none: there was no reply, or another expectation had failed before.
            0 if made == 0 => Status::Skipped("no reply was checked".to_owned()),
            0 => Status::Passed,
            failed => Status::Failed(format!("failed by {} of {} replies{came}", count(failed), count(made))),
        };
        cases.push(Case::new("check", format!("{scenario}/{}: {look}", step.step), status));
        seen.push(look);
    }
    cases
}

fn verdict(document: &Document) -> Case {
    let verdict = &document.verdict;
    let reasons = verdict.reasons.iter().map(|reason| {
        let (level, name, finding) = (reason.level, reason.finding.name(), &reason.finding);
        format!("{level} {name}: {finding}")
    });
    let reasons: Vec<String> = reasons.collect();
    let status = match verdict.level {
        Level::Invalid => Status::Error(reasons.first().cloned().unwrap_or_default()),
        Level::Valid | Level::Suspect => Status::Passed,
    };
    let output = format!("{}\n{}\n{}", document.conclusion.text, verdict.level, reasons.join("\n"));
    Case { output: output.trim_end().to_owned(), ..Case::new("run", "verdict", status) }
}

/// Writes these suites to a document with this name. Characters that XML cannot represent, such as control
/// characters, are left out.
#[must_use]
pub fn xml(name: &str, suites: &[Suite]) -> String {
    let mut report = Report::new(text(name));
    report.set_time(suites.iter().map(|suite| suite.time).sum());
    report.add_test_suites(suites.iter().map(test_suite));
    report.to_string().expect("writing to memory does not fail")
}

fn test_suite(suite: &Suite) -> TestSuite {
    let mut made = TestSuite::new(text(&suite.name));
    made.timestamp = suite.started.as_ref().and_then(|started| started.parse().ok());
    made.set_time(suite.time);
    made.add_test_cases(suite.cases.iter().map(test_case));
    made
}

fn test_case(case: &Case) -> TestCase {
    let status = match &case.status {
        Status::Passed => TestCaseStatus::success(),
        Status::Failed(message) => {
            with_message(TestCaseStatus::non_success(NonSuccessKind::Failure), message)
        }
        Status::Error(message) => with_message(TestCaseStatus::non_success(NonSuccessKind::Error), message),
        Status::Skipped(message) => with_message(TestCaseStatus::skipped(), message),
    };
    let mut made = TestCase::new(text(&case.name), status);
    made.set_classname(text(&case.class)).set_time(case.time);
    if !case.output.is_empty() {
        made.set_system_out(text(&case.output));
    }
    made
}

fn with_message(mut status: TestCaseStatus, message: &str) -> TestCaseStatus {
    status.set_message(text(message));
    status
}

/// Removes the two characters that XML forbids and the writer lets pass, and replaces what could make a line read as another. The
/// writer handles the others.
fn text(text: &str) -> String {
    let is_deceptive = |letter: char| is_deceptive(letter) && !letter.is_control();
    text.replace(['\u{fffe}', '\u{ffff}'], "").replace(is_deceptive, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use quick_junit::XmlString;

    use super::*;

    fn case(name: &str, status: Status) -> Case {
        Case::new("objective", name, status)
    }

    fn suite() -> Suite {
        let cases = vec![
            Case { output: "met 12.0 ms".to_owned(), ..case("p99<50ms", Status::Passed) },
            case("errors<0.1%", Status::Failed("2.10 %, \"20\" times the bound".to_owned())),
            Case { time: Duration::from_millis(1500), ..case("verdict", Status::Error("rate".to_owned())) },
            case("p50<1ms", Status::Skipped("not reached".to_owned())),
        ];
        let started = Some("2026-11-21T07:00:00Z".to_owned());
        Suite { name: "httperf <www.example>".to_owned(), started, time: Duration::from_millis(2500), cases }
    }

    #[test]
    fn a_suite_counts_the_results_of_its_cases() {
        insta::assert_snapshot!(xml("httperf", &[suite()]), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="httperf" tests="4" skipped="1" failures="1" errors="1" time="2.500">
            <testsuite name="httperf &lt;www.example&gt;" tests="4" skipped="1" errors="1" failures="1" timestamp="2026-11-21T07:00:00.000+00:00" time="2.500">
                <testcase name="p99&lt;50ms" classname="objective" time="0.000">
                    <system-out>met 12.0 ms</system-out>
                </testcase>
                <testcase name="errors&lt;0.1%" classname="objective" time="0.000">
                    <failure message="2.10 %, &quot;20&quot; times the bound"/>
                </testcase>
                <testcase name="verdict" classname="objective" time="1.500">
                    <error message="rate"/>
                </testcase>
                <testcase name="p50&lt;1ms" classname="objective" time="0.000">
                    <skipped message="not reached"/>
                </testcase>
            </testsuite>
        </testsuites>
        "#);
    }

    #[test]
    fn written_suites_can_be_read_back() {
        let text = xml("httperf", &[suite(), Suite::default()]);
        let report = Report::deserialize_from_str(&text).expect("it is JUnit XML");
        assert_eq!((report.tests, report.failures, report.errors), (4, 1, 1));
        assert_eq!(report.test_suites.len(), 2);
        let read = &report.test_suites[0];
        assert_eq!(read.name.as_str(), "httperf <www.example>");
        assert_eq!(read.timestamp.map(|at| at.to_rfc3339()).as_deref(), Some("2026-11-21T07:00:00+00:00"));
        let names: Vec<&str> = read.test_cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names, ["p99<50ms", "errors<0.1%", "verdict", "p50<1ms"]);
        assert_eq!(read.test_cases[0].system_out.as_ref().map(XmlString::as_str), Some("met 12.0 ms"));
    }

    #[test]
    fn characters_that_xml_forbids_are_left_out() {
        let hostile = "]]>\u{0}\u{8}\u{1b}[31m<b a=\"'&\u{fffe}é";
        let name = Suite { name: hostile.to_owned(), started: Some(hostile.to_owned()), ..suite() };
        let odd = Case { output: hostile.to_owned(), ..case(hostile, Status::Failed(hostile.to_owned())) };
        let text = xml(hostile, &[Suite { cases: vec![odd], ..name }]);
        let report = Report::deserialize_from_str(&text).expect("it is JUnit XML");
        let case = &report.test_suites[0].test_cases[0];
        assert!(case.name.as_str().contains("<b a=\"'&") && case.name.as_str().ends_with('é'), "{text}");
        assert!(!text.contains(['\u{0}', '\u{8}', '\u{1b}', '\u{fffe}']), "{text}");
        assert_eq!(report.test_suites[0].timestamp, None);
    }
}
