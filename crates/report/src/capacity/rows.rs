//! Rows of a search for other programs, one per trial.

use serde::Serialize;

use super::{CapacityReport, Trial};
use crate::number::rounded;

/// Trials as CSV, with a header line. Unknown values are empty.
pub(crate) fn csv(capacity: &CapacityReport) -> String {
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
    writer.write_record(COLUMNS).expect("memory takes it");
    for (index, trial) in capacity.trials.iter().enumerate() {
        writer.serialize(Row::of(index + 1, trial)).expect("a row is flat, and memory takes it");
    }
    let bytes = writer.into_inner().expect("memory takes what was written");
    String::from_utf8(bytes).expect("all of it is text")
}

/// Columns. New ones go at the end; existing ones are never removed or redefined.
const COLUMNS: [&str; 16] = [
    "trial",
    "rate",
    "length_s",
    "offered",
    "answered",
    "backlog_growth_percent",
    "unanswered_percent",
    "mean_ms",
    "p50_ms",
    "p90_ms",
    "p99_ms",
    "p99.9_ms",
    "max_ms",
    "outcome",
    "reasons",
    "verdict",
];

#[derive(Serialize)]
struct Row {
    trial: usize,
    rate: f64,
    length_s: f64,
    offered: f64,
    answered: f64,
    backlog_growth_percent: f64,
    unanswered_percent: f64,
    times_ms: [Option<f64>; 6],
    outcome: &'static str,
    reasons: String,
    verdict: String,
}

impl Row {
    fn of(number: usize, trial: &Trial) -> Self {
        let times = &trial.latency_ms;
        Self {
            trial: number,
            rate: trial.rate,
            length_s: trial.length_s,
            offered: rounded(trial.offered),
            answered: rounded(trial.answered),
            backlog_growth_percent: rounded(trial.backlog_growth * 100.0),
            unanswered_percent: rounded(trial.unanswered * 100.0),
            times_ms: [times.mean, times.p50, times.p90, times.p99, times.p999, times.max],
            outcome: trial.outcome.word(),
            reasons: trial.reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            verdict: trial.verdict.level.to_string(),
        }
    }
}
