//! The section on a replay.

use httperf_plan::Workload;
use httperf_report::cut;
use httperf_report::number::count;
use httperf_report::replay::{ReplayComparison, described};
use httperf_report::result::Document;

use super::tables::{NAME_LENGTH, Row, Table, times_row};

/// A replay and its recording.
pub(super) struct Replayed {
    pub(super) described: String,
    /// Recorded and measured times.
    pub(super) times: Option<Table>,
    /// Statuses that are not the recorded ones.
    pub(super) statuses: Option<Table>,
    /// Requests that were left out.
    pub(super) left_out: Option<Table>,
    pub(super) notes: Vec<String>,
}

impl Replayed {
    pub(super) fn of(document: &Document) -> Option<Self> {
        let Workload::Replay(replay) = &document.plan.workload else { return None };
        let comparison = document.figures.replay.as_ref();
        let row = |name: String, calls: u64| Row { name, about: "", cells: vec![count(calls)] };
        let left_out = replay.recorded.left_out.iter();
        let left_out: Vec<Row> =
            left_out.map(|left_out| row(cut(&left_out.reason, NAME_LENGTH), left_out.count)).collect();
        Some(Self {
            described: cut(&described(replay), NAME_LENGTH),
            times: comparison.filter(|comparison| comparison.recorded_ms.samples > 0).map(times),
            statuses: comparison.filter(|comparison| comparison.same + comparison.changed > 0).map(
                |comparison| {
                    let mut rows = vec![row("as recorded".to_owned(), comparison.same)];
                    rows.extend(comparison.changes_named().into_iter().map(|(name, calls)| row(name, calls)));
                    Table {
                        caption: "Recorded status and the one of the reply",
                        head: vec!["Recorded", "calls"],
                        rows,
                    }
                },
            ),
            left_out: (!left_out.is_empty()).then(|| Table {
                caption: "Left out of the recording",
                head: vec!["Reason", "requests"],
                rows: left_out,
            }),
            notes: replay.recorded.notes.iter().map(|note| cut(note, NAME_LENGTH)).collect(),
        })
    }
}

fn times(comparison: &ReplayComparison) -> Table {
    Table {
        caption: "Recorded and measured times, in ms",
        head: vec![
            "Time", "mean", "min", "p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99", "max", "samples",
        ],
        rows: vec![
            times_row("recorded", "by the recording’s server", &comparison.recorded_ms),
            times_row("measured", "first byte sent to answered", &comparison.measured_ms),
        ],
    }
}
