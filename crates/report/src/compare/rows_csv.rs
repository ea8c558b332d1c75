//! Rows of a comparison for other programs: one per figure and result compared with the base.

use serde::Serialize;

use super::{Against, Comparison, Row};

/// Figures as CSV, with a header line. Unknown values are empty.
pub(crate) fn csv(comparison: &Comparison) -> String {
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
    writer.write_record(COLUMNS).expect("memory takes it");
    for against in &comparison.against {
        for row in &against.rows {
            writer.serialize(Line::of(comparison, against, row)).expect("a row is flat, and memory takes it");
        }
    }
    let bytes = writer.into_inner().expect("memory takes what was written");
    String::from_utf8(bytes).expect("all of it is text")
}

/// Columns. New ones go at the end; existing ones are never removed or redefined.
const COLUMNS: [&str; 15] = [
    "base_name",
    "new_name",
    "figure",
    "unit",
    "base",
    "new",
    "difference",
    "difference_low",
    "difference_high",
    "relative",
    "relative_low",
    "relative_high",
    "p_value_corrected",
    "verdict",
    "why",
];

#[derive(Serialize)]
struct Line<'a> {
    base_name: &'a str,
    new_name: &'a str,
    figure: &'a str,
    unit: &'static str,
    values: [Option<f64>; 2],
    difference: [Option<f64>; 3],
    relative: [Option<f64>; 3],
    p_value_corrected: Option<f64>,
    verdict: &'static str,
    why: Option<&'a str>,
}

impl<'a> Line<'a> {
    fn of(comparison: &'a Comparison, against: &'a Against, row: &'a Row) -> Self {
        let change = |change: Option<super::Change>| {
            change.map_or([None; 3], |change| [Some(change.value), change.low, change.high])
        };
        Self {
            base_name: &comparison.base.name,
            new_name: &against.new.name,
            figure: &row.metric,
            unit: row.unit.symbol(),
            values: [row.base, row.new],
            difference: change(row.difference),
            relative: change(row.relative),
            p_value_corrected: row.p_value_corrected,
            verdict: row.verdict.word(),
            why: row.why.as_deref(),
        }
    }
}
