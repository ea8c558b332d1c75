//! Visits of scenarios: their durations, the calls of their steps, and what failed.
//!
//! Every figure is one of `VisitFigures`, formatted.

use httperf_report::number::{count, percent};
use httperf_report::visits::{First, ScenarioRow, StepRow, VisitFigures};
use httperf_report::{Times, cut};

use super::tables::{NAME_LENGTH, Row, Table, in_ms};

/// Number of phases up to which the tables of each are shown from the start.
const OPEN_PHASES_MAX: usize = 3;

/// Section on visits.
pub(super) struct Visits {
    /// Tables of the whole run.
    pub(super) total: VisitTables,
    /// Checks and captures that failed.
    pub(super) failures: Vec<FailureLine>,
    /// Calls that could not be made.
    pub(super) not_made: Vec<NotMadeLine>,
    /// Tables of each load phase, if there is more than one.
    pub(super) phases: Vec<PhaseTables>,
    /// True if the tables of phases are shown from the start.
    pub(super) phases_are_open: bool,
}

/// Tables of a load phase.
pub(super) struct PhaseTables {
    pub(super) name: String,
    pub(super) tables: VisitTables,
}

/// Visits by scenario and calls by step, of a phase or the whole run.
pub(super) struct VisitTables {
    pub(super) scenarios: Table,
    /// The title of the times of streams; empty without streams.
    pub(super) first: &'static str,
    pub(super) steps: Vec<StepLine>,
}

/// Row of the table of steps.
pub(super) struct StepLine {
    pub(super) name: String,
    /// File and line, unless they are the name.
    pub(super) origin: String,
    pub(super) cells: Vec<String>,
    /// Share of the time of visits.
    pub(super) share: String,
    /// Width of its bar in percent.
    pub(super) width: String,
}

/// Row of the table of failures.
pub(super) struct FailureLine {
    pub(super) step: String,
    pub(super) look: String,
    pub(super) replies: String,
    pub(super) of: String,
    /// Statuses that came in place of the expected one; otherwise empty.
    pub(super) came: String,
}

/// Row of the table of calls that could not be made.
pub(super) struct NotMadeLine {
    pub(super) step: String,
    pub(super) reason: String,
    pub(super) calls: String,
}

impl Visits {
    pub(super) fn of(figures: &VisitFigures) -> Self {
        let first = figures.first();
        let phases = figures.phases.iter().map(|phase| PhaseTables {
            name: cut(&phase.phase, NAME_LENGTH),
            tables: VisitTables::of(&phase.scenarios, first),
        });
        Self {
            total: VisitTables::of(&figures.total, first),
            failures: figures.total.iter().flat_map(failures).collect(),
            not_made: figures
                .not_made()
                .into_iter()
                .map(|(step, not_made)| NotMadeLine {
                    step: cut(&step, NAME_LENGTH),
                    reason: cut(&not_made.reason, NAME_LENGTH),
                    calls: count(not_made.calls),
                })
                .collect(),
            phases: phases.collect(),
            phases_are_open: figures.phases.len() <= OPEN_PHASES_MAX,
        }
    }
}

impl VisitTables {
    fn of(scenarios: &[ScenarioRow], first: Option<First>) -> Self {
        let steps = scenarios.iter().flat_map(|scenario| {
            scenario.steps.iter().map(move |step| StepLine::of(&scenario.scenario, step, first))
        });
        Self {
            scenarios: by_scenario(scenarios),
            first: first.map_or("", First::title),
            steps: steps.collect(),
        }
    }
}

fn by_scenario(scenarios: &[ScenarioRow]) -> Table {
    let rows = scenarios.iter().map(|row| {
        let Times { mean, p50, p90, p99, max, .. } = row.duration_ms;
        let mut cells = vec![count(row.completed), count(row.abandoned), count(row.cut)];
        cells.extend([mean, p50, p90, p99, max].map(in_ms));
        Row { name: cut(&row.scenario, NAME_LENGTH), about: "", cells }
    });
    Table {
        caption: "Visits by scenario; durations of completed ones in ms",
        head: vec!["Scenario", "completed", "abandoned", "cut short", "mean", "p50", "p90", "p99", "max"],
        rows: rows.collect(),
    }
}

impl StepLine {
    fn of(scenario: &str, row: &StepRow, first: Option<First>) -> Self {
        let (latency, service) = (&row.latency_ms, &row.service_ms);
        let counts = [row.calls, row.errors(), row.checks_failed, row.abandoned].map(count);
        let times = [latency.p50, latency.p99, service.p50, service.p99];
        let firsts = first.into_iter().flat_map(|first| first.percentiles(row));
        let times = firsts.chain(times).map(in_ms);
        Self {
            name: step_name(scenario, row),
            origin: if row.origin == row.step { String::new() } else { cut(&row.origin, NAME_LENGTH) },
            cells: counts.into_iter().chain(times).collect(),
            share: row.time_share.map_or_else(|| "n/a".to_owned(), percent),
            width: format!("{:.1}", 100.0 * row.time_share.unwrap_or(0.0).clamp(0.0, 1.0)),
        }
    }
}

fn failures(scenario: &ScenarioRow) -> impl Iterator<Item = FailureLine> {
    let failures = |step: &'_ StepRow| -> Vec<FailureLine> {
        let line = |failed: &httperf_report::FailedLook| FailureLine {
            step: step_name(&scenario.scenario, step),
            look: cut(&failed.look, NAME_LENGTH),
            replies: count(failed.replies),
            of: count(step.calls - step.failed),
            came: failed.came().unwrap_or_default(),
        };
        step.failures.iter().map(line).collect()
    };
    scenario.steps.iter().flat_map(failures).collect::<Vec<_>>().into_iter()
}

fn step_name(scenario: &str, row: &StepRow) -> String {
    cut(&format!("{scenario}/{}", row.step), NAME_LENGTH)
}
