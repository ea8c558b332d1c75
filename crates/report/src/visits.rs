//! Visits of scenarios: figures by load phase, scenario and step, and the section of the report.

use std::fmt::Write as _;

use httperf_plan::scenario::{Scenarios, StepRequest, Variable};
use httperf_plan::{Arrivals, Plan, Workload};
use httperf_stats::{
    CallOutcome, Firsts, Lack, Obstacle, ScenarioVisits, StatusCodes, StepFigures, StepStreams, Summary,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::columns::record;
use crate::figures::Times;
use crate::forms::Screen;
use crate::grid::{Column, Grid};
use crate::number::{count, fixed, percent, ratio};

/// Figures of the visits of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VisitFigures {
    /// Figures of the whole run.
    pub total: Vec<ScenarioRow>,
    /// Figures of each load phase, if there is more than one.
    pub phases: Vec<PhaseRows>,
}

/// Figures of a load phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseRows {
    /// Name of the phase.
    pub phase: String,
    /// Figures of each scenario, of the visits and calls that were due in the phase.
    pub scenarios: Vec<ScenarioRow>,
}

/// The first thing in a stream that somebody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// Event of any kind.
    Event,
    /// Event with content of a model's answer.
    Token,
}

impl First {
    /// Title of its columns.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Event => "1st event",
            Self::Token => "TTFT",
        }
    }

    /// p50 and p99 of a step.
    #[must_use]
    pub fn percentiles(self, row: &StepRow) -> [Option<f64>; 2] {
        let times = match self {
            Self::Event => row.first_event_ms.as_ref(),
            Self::Token => row.ttft_ms.as_ref(),
        };
        times.map_or([None; 2], |times| [times.p50, times.p99])
    }
}

/// Visits that followed a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioRow {
    /// Name of the scenario.
    pub scenario: String,
    /// Visits whose steps were all made.
    pub completed: u64,
    /// Visits that ended at a step that failed.
    pub abandoned: u64,
    /// Visits that the end of the run cut short.
    pub cut: u64,
    /// Durations of completed visits in milliseconds, from the instants at which they were due.
    pub duration_ms: Times,
    /// Figures of its steps.
    pub steps: Vec<StepRow>,
}

/// Calls of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepRow {
    /// Name of the step.
    pub step: String,
    /// File and line of the step.
    pub origin: String,
    /// Calls that ended.
    pub calls: u64,
    /// Calls without a reply.
    pub failed: u64,
    /// Replies of status 400 and above that failed no check.
    pub http_errors: u64,
    /// Replies that failed a check or lacked the value of a capture.
    pub unexpected: u64,
    /// Calls that the end of the run left unfinished.
    pub unfinished: u64,
    /// Visits that ended at this step because it failed.
    pub abandoned: u64,
    /// Calls among the failed ones that could not be made, by the reason. Each ended a visit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_made: Vec<NotMade>,
    /// Checks made, the expected status among them.
    pub checks_made: u64,
    /// Checks that failed.
    pub checks_failed: u64,
    /// Latencies of completed calls in milliseconds, from the instants at which they were due.
    pub latency_ms: Times,
    /// Service times of the same calls in milliseconds, from the first byte sent.
    pub service_ms: Times,
    /// Times to the first events of streams in milliseconds, from the instants at which calls were due; absent without streams.
    #[serde(default)]
    pub first_event_ms: Option<Times>,
    /// Times to first token of models' answers in milliseconds, from the same instants; absent without such answers.
    #[serde(default)]
    pub ttft_ms: Option<Times>,
    /// Share (0 to 1) of the time of visits that ended; `None` if none ended.
    pub time_share: Option<f64>,
    /// Checks and captures that failed.
    pub failures: Vec<FailedLook>,
}

/// Calls of a step that could not be made for the same reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NotMade {
    /// File and line of the step, and the reason, such as ``login.hurl:3: `token` has no value``.
    pub reason: String,
    /// Number of calls.
    pub calls: u64,
}

/// A check or a capture that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FailedLook {
    /// The check or the capture, as it is written.
    pub look: String,
    /// Number of replies that failed it.
    pub replies: u64,
    /// Their statuses, if it is the expected status.
    pub statuses: Option<StatusCodes>,
}

impl FailedLook {
    /// Statuses that came in place of the expected one: `404: 10, 500: 2`.
    #[must_use]
    pub fn came(&self) -> Option<String> {
        let statuses = self.statuses.as_ref()?.iter();
        let statuses: Vec<String> =
            statuses.map(|(code, replies)| format!("{code}: {}", count(replies))).collect();
        Some(statuses.join(", "))
    }
}

impl VisitFigures {
    /// Figures of a run; `None` if its workload has no scenarios.
    #[must_use]
    pub fn of(plan: &Plan, summary: &Summary) -> Option<Self> {
        let Workload::Scenarios(scenarios) = &plan.workload else { return None };
        let visits = summary.visits.as_ref()?;
        let rows = |figures: &[ScenarioVisits]| -> Vec<ScenarioRow> {
            let pairs = scenarios.scenarios.iter().zip(figures);
            pairs.map(|(scenario, figures)| scenario_row(scenario, scenarios, figures)).collect()
        };
        let phases = match &plan.arrivals {
            Arrivals::Phased(phased) if phased.phases.len() > 1 => {
                let pairs = phased.phases.iter().zip(&visits.phases);
                pairs
                    .map(|(phase, figures)| PhaseRows {
                        phase: phase.name.clone(),
                        scenarios: rows(&figures.scenarios),
                    })
                    .collect()
            }
            _ => Vec::new(),
        };
        Some(Self { total: rows(&visits.total().scenarios), phases })
    }

    /// Rows of all phases and then of the whole run, which has an empty name.
    fn all(&self) -> impl Iterator<Item = (&str, &[ScenarioRow])> {
        let phases = self.phases.iter().map(|phase| (&phase.phase[..], &phase.scenarios[..]));
        phases.chain(std::iter::once(("", &self.total[..])))
    }

    /// Checks and captures that failed in the whole run, each with the name of its step and with the replies that failed
    /// it in words.
    pub(crate) fn failures(&self) -> Vec<(String, &FailedLook, String)> {
        let steps = self.total.iter().flat_map(|row| row.steps.iter().map(move |step| (&row.scenario, step)));
        let failures = steps.flat_map(|(scenario, step)| {
            let name = format!("{scenario}/{}", step.step);
            step.failures.iter().map(move |failed| (name.clone(), failed, step.replies_that(failed)))
        });
        failures.collect()
    }

    /// Calls of the whole run that could not be made, each with the name of its step, the most frequent first.
    #[must_use]
    pub fn not_made(&self) -> Vec<(String, &NotMade)> {
        let steps = self.total.iter().flat_map(|row| row.steps.iter().map(move |step| (&row.scenario, step)));
        let calls = steps.flat_map(|(scenario, step)| {
            step.not_made.iter().map(move |calls| (format!("{scenario}/{}", step.step), calls))
        });
        let mut calls: Vec<(String, &NotMade)> = calls.collect();
        calls.sort_by_key(|(_, not_made)| std::cmp::Reverse(not_made.calls));
        calls
    }

    /// Visits of the whole run that were completed, abandoned and cut.
    pub(crate) fn ends(&self) -> [u64; 3] {
        let sum = |part: fn(&ScenarioRow) -> u64| self.total.iter().map(part).sum();
        [sum(|row| row.completed), sum(|row| row.abandoned), sum(|row| row.cut)]
    }

    /// The times of streams in the table of steps; `None` without streams.
    #[must_use]
    pub fn first(&self) -> Option<First> {
        let steps = || self.total.iter().flat_map(|scenario| &scenario.steps);
        if steps().any(|step| step.ttft_ms.is_some()) {
            return Some(First::Token);
        }
        steps().any(|step| step.first_event_ms.is_some()).then_some(First::Event)
    }

    /// Rows of the whole run and then of all phases, each with a heading.
    pub(crate) fn headed(&self) -> impl Iterator<Item = (String, &[ScenarioRow])> {
        let phases = self.phases.iter().map(|phase| (format!("phase {}", phase.phase), &phase.scenarios[..]));
        std::iter::once(("all phases".to_owned(), &self.total[..])).chain(phases)
    }
}

impl StepRow {
    /// Replies that failed one of its expectations: `12 of 30 replies; got 404: 10, 500: 2`.
    pub(crate) fn replies_that(&self, failed: &FailedLook) -> String {
        let replies = format!("{} of {} replies", count(failed.replies), count(self.calls - self.failed));
        failed.came().map_or_else(|| replies.clone(), |came| format!("{replies}; got {came}"))
    }

    /// Calls without a reply, with an HTTP error, or with a reply that was not as expected.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.failed + self.http_errors + self.unexpected
    }
}

fn scenario_row(
    scenario: &httperf_plan::scenario::Scenario,
    scenarios: &Scenarios,
    figures: &ScenarioVisits,
) -> ScenarioRow {
    let time = figures.time();
    let calls = scenario.calls();
    let requests = calls.iter().filter_map(|&call| scenarios.requests.get(call as usize));
    ScenarioRow {
        scenario: scenario.name.clone(),
        completed: figures.completed.moments.count(),
        abandoned: figures.abandoned.moments.count(),
        cut: figures.cut(),
        duration_ms: Times::of(&figures.completed),
        steps: requests
            .zip(&figures.steps)
            .map(|(request, figures)| step_row(request, figures, time, scenarios))
            .collect(),
    }
}

/// Reason for which a visit could not make its next call: `` `token` has no value``.
#[must_use]
pub fn not_made(obstacle: Obstacle, variables: &[Variable]) -> String {
    let Obstacle::Variable { slot, lack } = obstacle else {
        return format!(
            "a loop went through {} steps without a call",
            count(Scenarios::SILENT_STEPS_MAX.into())
        );
    };
    let name = variables.get(slot as usize).map_or("?", |variable| &variable.name);
    match lack {
        Lack::Value => format!("`{name}` has no value"),
        Lack::List => format!("`{name}` is a list, which cannot be filled in"),
        Lack::Object => format!("`{name}` is an object, which cannot be filled in"),
        Lack::Bytes => format!("`{name}` is bytes, which cannot be filled in"),
        Lack::Path => format!("`{name}` follows the name of a server, and does not begin with a slash"),
        Lack::Filter => format!("a filter does not apply to the value of `{name}`, or finds nothing"),
    }
}

fn step_row(request: &StepRequest, figures: &StepFigures, visits_s: f64, scenarios: &Scenarios) -> StepRow {
    let outcome = |outcome: CallOutcome| figures.calls.outcomes[outcome as usize];
    let counts = figures.failed_checks.iter().skip(usize::from(request.status.is_none()));
    // The expected status comes first.
    let statuses = request.status.and(figures.wrong_statuses.clone());
    let looks = looks_of(request)
        .zip(counts.chain(&figures.failed_captures))
        .zip(std::iter::once(statuses).chain(std::iter::repeat(None)))
        .filter(|&((_, &replies), _)| replies > 0)
        .map(|((look, &replies), statuses)| FailedLook { look, replies, statuses });
    let times = |firsts: fn(&StepStreams) -> &Firsts| {
        let Firsts { times, .. } = firsts(figures.streams.as_deref()?);
        (times.moments.count() > 0).then(|| Times::of(times))
    };
    StepRow {
        step: request.name.clone(),
        origin: request.origin.clone(),
        calls: figures.calls.calls(),
        failed: outcome(CallOutcome::Failure),
        http_errors: outcome(CallOutcome::HttpError),
        unexpected: outcome(CallOutcome::Unexpected),
        unfinished: figures.unfinished.as_ref().map_or(0, |unfinished| unfinished.moments.count()),
        abandoned: figures.abandoned,
        not_made: figures
            .unmade
            .iter()
            .map(|unmade| NotMade {
                reason: format!("{}: {}", request.origin, not_made(unmade.obstacle, &scenarios.variables)),
                calls: unmade.calls,
            })
            .collect(),
        checks_made: figures.checks_made,
        checks_failed: figures.checks_failed(),
        latency_ms: Times::of(&figures.calls.latency),
        service_ms: Times::of(&figures.calls.service),
        first_event_ms: times(|streams| &streams.first_event),
        ttft_ms: times(|streams| &streams.first_token),
        time_share: (visits_s > 0.0).then(|| ratio(figures.time.sum(), visits_s)),
        failures: looks.collect(),
    }
}

/// Expectations of a step, as they are written: the status, the checks, then the captures.
pub(crate) fn looks_of(request: &StepRequest) -> impl Iterator<Item = String> {
    let status = request.status.map(|status| format!("HTTP {status}"));
    let checks = request.checks.iter().map(|check| check.label.clone());
    let captures = request.captures.iter().map(|capture| capture.label.clone());
    status.into_iter().chain(checks).chain(captures)
}

/// Expectations of a step, each with the number of replies that were held against it: after a wrong status or a capture
/// without a value, no further ones are.
pub(crate) fn looks_made(request: &StepRequest, step: &StepRow) -> Vec<(String, u64)> {
    let looks: Vec<String> = looks_of(request).collect();
    let failed = |look: &String| -> u64 {
        step.failures.iter().filter(|failed| failed.look == *look).map(|failed| failed.replies).sum()
    };
    let (expected, captures) = looks.split_at(looks.len() - request.captures.len());
    let (status, checks) = expected.split_at(expected.len() - request.checks.len());
    let replies = step.calls - step.failed;
    let right = replies.saturating_sub(status.iter().map(failed).sum());
    let mut left = right;
    let mut of_captures = Vec::new();
    for capture in captures {
        of_captures.push((capture.clone(), left));
        left = left.saturating_sub(failed(capture));
    }
    let of_status = status.iter().map(|look| (look.clone(), replies));
    let of_checks = checks.iter().map(|look| (look.clone(), left));
    of_status.chain(of_checks).chain(of_captures).collect()
}

/// Section of the report, starting with an empty line; empty without scenarios.
pub(crate) fn visits(figures: Option<&VisitFigures>, screen: Screen) -> String {
    let Some(figures) = figures else { return String::new() };
    let mut out = String::from("\n");
    write_scenarios(&mut out, figures, screen.columns);
    write_steps(&mut out, figures, screen.columns);
    write_failures(&mut out, figures);
    out
}

/// Visits of each scenario: of the whole run, then phase by phase.
fn write_scenarios(out: &mut String, figures: &VisitFigures, room: Option<usize>) {
    let columns = vec![
        Column::new("visits", "completed", 9),
        Column::new("", "abandoned", 9),
        Column::new("", "cut", 6).rank(2),
        Column::new("duration", "p50 ms", 9).spare(1),
        Column::new("", "p90 ms", 9).rank(1),
        Column::new("", "p99 ms", 9),
    ];
    let grid = Grid::new(columns, "scenario", room);
    *out += &grid.head();
    for (heading, scenarios) in figures.headed() {
        if !figures.phases.is_empty() {
            writeln!(out, "{heading}").expect("a String takes everything");
        }
        for row in scenarios {
            let times = &row.duration_ms;
            let cells = [
                count(row.completed),
                count(row.abandoned),
                count(row.cut),
                ms(times.p50),
                ms(times.p90),
                ms(times.p99),
            ];
            *out += &grid.row(&cells, &row.scenario);
        }
    }
}

/// Calls of each step: of the whole run, then phase by phase, scenario by scenario.
fn write_steps(out: &mut String, figures: &VisitFigures, room: Option<usize>) {
    let mut columns = vec![
        Column::new("calls", "", 7),
        Column::new("errors", "", 6),
        Column::new("checks", "failed", 6).spare(2),
    ];
    let first = figures.first();
    if let Some(first) = first {
        columns.push(Column::new(first.title(), "p50 ms", 8).spare(4));
        columns.push(Column::new(first.title(), "p99 ms", 8).spare(3));
    }
    columns.extend([
        Column::new("latency", "p50 ms", 8).spare(1),
        Column::new("latency", "p99 ms", 8),
        Column::new("service", "p50 ms", 8).rank(2),
        Column::new("service", "p99 ms", 8).rank(1),
        Column::new("of time", "", 7).rank(3),
    ]);
    let grid = Grid::new(columns, "step", room);
    out.push('\n');
    *out += &grid.head();
    for (heading, scenarios) in figures.headed() {
        for scenario in scenarios {
            match figures.phases.is_empty() {
                true => writeln!(out, "{}", scenario.scenario),
                false => writeln!(out, "{heading}, {}", scenario.scenario),
            }
            .expect("a String takes everything");
            scenario.steps.iter().for_each(|row| *out += &grid.row(&step_cells(row, first), &row.step));
        }
    }
}

fn step_cells(row: &StepRow, first: Option<First>) -> Vec<String> {
    let mut cells = vec![count(row.calls), count(row.errors()), count(row.checks_failed)];
    if let Some(first) = first {
        cells.extend(first.percentiles(row).map(ms));
    }
    cells.extend([
        ms(row.latency_ms.p50),
        ms(row.latency_ms.p99),
        ms(row.service_ms.p50),
        ms(row.service_ms.p99),
        row.time_share.map_or_else(|| "n/a".to_owned(), percent),
    ]);
    cells
}

/// Checks and captures that failed, and the steps at which visits ended.
fn write_failures(out: &mut String, figures: &VisitFigures) {
    let steps =
        || figures.total.iter().flat_map(|scenario| scenario.steps.iter().map(move |step| (scenario, step)));
    if steps().all(|(_, step)| step.failures.is_empty() && step.abandoned == 0) {
        return;
    }
    out.push('\n');
    for (scenario, step) in steps() {
        let name = format!("{}/{}", scenario.scenario, step.step);
        for failed in &step.failures {
            let what = step.replies_that(failed);
            writeln!(out, "failed: {name}: {} ({what})", failed.look).expect("a String takes everything");
        }
        if step.abandoned > 0 {
            let visits = if step.abandoned == 1 { "visit" } else { "visits" };
            let reasons = step.not_made.iter().map(|not_made| {
                format!("; {} as their call could not be made: {}", count(not_made.calls), not_made.reason)
            });
            let reasons: String = reasons.collect();
            writeln!(out, "abandoned at {name}: {} {visits}{reasons}", count(step.abandoned))
                .expect("a String takes everything");
        }
    }
}

fn ms(value: Option<f64>) -> String {
    value.map_or_else(|| "n/a".to_owned(), |value| fixed(value, 2))
}

/// Names of the columns of [`steps_csv`].
const COLUMNS: [&str; 26] = [
    "phase",
    "scenario",
    "step",
    "origin",
    "calls",
    "failed",
    "http_errors",
    "unexpected",
    "unfinished",
    "abandoned",
    "checks_made",
    "checks_failed",
    "latency_p50_ms",
    "latency_p90_ms",
    "latency_p99_ms",
    "service_p50_ms",
    "service_p90_ms",
    "service_p99_ms",
    "time_share_percent",
    "failures",
    "first_event_p50_ms",
    "first_event_p90_ms",
    "first_event_p99_ms",
    "ttft_p50_ms",
    "ttft_p90_ms",
    "ttft_p99_ms",
];

/// Figures of all steps as CSV, a row for each phase and step; the rows of the whole run come last, with an empty phase.
#[must_use]
pub fn steps_csv(figures: &VisitFigures) -> String {
    let mut out = record(COLUMNS.map(str::to_owned));
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| fixed(value, 3));
    let percentiles = |times: Option<&Times>| {
        let of = |percentile: fn(&Times) -> Option<f64>| number(times.and_then(percentile));
        [of(|times| times.p50), of(|times| times.p90), of(|times| times.p99)]
    };
    for (phase, scenario) in figures.all().flat_map(|(phase, rows)| rows.iter().map(move |row| (phase, row)))
    {
        for row in &scenario.steps {
            let failures = row.failures.iter().map(|failed| {
                let came = failed.came().map_or_else(String::new, |came| format!(" (got {came})"));
                format!("{}: {}{came}", failed.look, failed.replies)
            });
            let not_made = row
                .not_made
                .iter()
                .map(|not_made| format!("not made, {}: {}", not_made.reason, not_made.calls));
            let failures: Vec<String> = failures.chain(not_made).collect();
            let [latency_p50, latency_p90, latency_p99] = percentiles(Some(&row.latency_ms));
            let [service_p50, service_p90, service_p99] = percentiles(Some(&row.service_ms));
            let [event_p50, event_p90, event_p99] = percentiles(row.first_event_ms.as_ref());
            let [token_p50, token_p90, token_p99] = percentiles(row.ttft_ms.as_ref());
            out += &record([
                phase.to_owned(),
                scenario.scenario.clone(),
                row.step.clone(),
                row.origin.clone(),
                row.calls.to_string(),
                row.failed.to_string(),
                row.http_errors.to_string(),
                row.unexpected.to_string(),
                row.unfinished.to_string(),
                row.abandoned.to_string(),
                row.checks_made.to_string(),
                row.checks_failed.to_string(),
                latency_p50,
                latency_p90,
                latency_p99,
                service_p50,
                service_p90,
                service_p99,
                row.time_share.map_or_else(String::new, |share| fixed(100.0 * share, 2)),
                failures.join("; "),
                event_p50,
                event_p90,
                event_p99,
                token_p50,
                token_p90,
                token_p99,
            ]);
        }
    }
    out
}
