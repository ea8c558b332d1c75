//! Rows of a sweep for other programs, one per run: the columns that sweep tools around httperf have had for
//! twenty years, then those of other results, then those of sweeps.

use csv::{QuoteStyle, WriterBuilder};

use super::{KEPT_UP, Run, Sweep, figures};
use crate::columns;
use crate::number::fixed;

/// Columns after those of a result. New columns go at the end; existing ones are never removed or redefined.
const COLUMNS: [&str; 7] =
    ["rate", "repeat", "complete", "answered_percent", "saturated", "client_limited", "waited_s"];

/// The runs as CSV, with a header line.
pub(crate) fn csv(sweep: &Sweep) -> String {
    let mut writer = WriterBuilder::new();
    rows(sweep, &mut writer)
}

/// The same with tabs between the values. Tabs in values become spaces.
pub(crate) fn tsv(sweep: &Sweep) -> String {
    let mut writer = WriterBuilder::new();
    rows(sweep, writer.delimiter(b'\t').quote_style(QuoteStyle::Never))
}

fn rows(sweep: &Sweep, writer: &mut WriterBuilder) -> String {
    let mut writer = writer.from_writer(Vec::new());
    let mut write = |values: Vec<String>| {
        let values = values.iter().map(|value| value.replace(['\t', '\r', '\n'], " "));
        writer.write_record(values).expect("writing to memory does not fail");
    };
    write(columns::COLUMNS.iter().map(|column| column.name).chain(COLUMNS).map(str::to_owned).collect());
    let mut runs: Vec<&Run> = sweep.runs.iter().collect();
    runs.sort_by(|one, other| one.rate.total_cmp(&other.rate).then(one.repeat.cmp(&other.repeat)));
    for run in runs {
        let mut values = columns::values(&run.result, &figures::reply_rates(&run.result));
        values.extend(own_values(run));
        write(values);
    }
    let bytes = writer.into_inner().expect("writing to memory does not fail");
    String::from_utf8(bytes).expect("text was written")
}

fn own_values(run: &Run) -> [String; COLUMNS.len()] {
    let result = &run.result;
    let is_limited = result.verdict.blames_client();
    let is_saturated = !is_limited && run.answered_share.is_some_and(|share| share < KEPT_UP);
    let recovery = &run.recovery;
    [
        run.rate.to_string(),
        run.repeat.to_string(),
        run.is_complete().to_string(),
        run.answered_share.map_or_else(String::new, |share| fixed(100.0 * share, 2)),
        is_saturated.to_string(),
        is_limited.to_string(),
        fixed(recovery.pause_s + recovery.ports_s + recovery.server_s, 1),
    ]
}
