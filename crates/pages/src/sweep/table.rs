//! Table of all runs of a sweep.

use httperf_report::number::{count, grouped, percent, ratio, time};
use httperf_report::sweep::{Lacking, Run, Sweep, Unit, error_share};
use httperf_report::{Level, Percentile};

/// Maximum number of runs listed.
pub(super) const ROWS_MAX: usize = 1_000;

/// Row of a run.
pub(super) struct Row {
    pub(super) rate: String,
    /// Number of the run among those at this rate, from 1; empty if there is only one.
    pub(super) repeat: String,
    pub(super) cells: Vec<String>,
    pub(super) class: &'static str,
    pub(super) verdict: String,
    pub(super) notes: Vec<Note>,
}

/// A remark about a run.
pub(super) struct Note {
    pub(super) name: &'static str,
    pub(super) text: String,
}

impl Row {
    /// Name of the run.
    pub(super) fn name(&self) -> String {
        if self.repeat.is_empty() {
            format!("{}/s", self.rate)
        } else {
            format!("{}/s, {}", self.rate, self.repeat)
        }
    }

    /// Names of the notes.
    pub(super) fn names(&self) -> String {
        let names: Vec<&str> = self.notes.iter().map(|note| note.name).collect();
        names.join(", ")
    }

    pub(super) fn has_notes(&self) -> bool {
        !self.notes.is_empty()
    }
}

/// Columns between rate and verdict.
pub(super) const HEAD: [&str; 7] =
    ["offered [/s]", "replies [/s]", "errors", "response [ms]", "p50 [ms]", "p99 [ms]", "max [ms]"];

/// Rows by ascending rate.
pub(super) fn rows(sweep: &Sweep) -> Vec<Row> {
    let mut runs: Vec<&Run> = sweep.runs.iter().collect();
    runs.sort_by(|a, b| a.rate.total_cmp(&b.rate).then(a.repeat.cmp(&b.repeat)));
    let unit = Unit::of(&sweep.plan);
    runs.into_iter().take(ROWS_MAX).map(|run| row(run, unit, sweep.settings.repeats)).collect()
}

fn row(run: &Run, unit: Unit, repeats: u32) -> Row {
    let result = &run.result;
    let (figures, summary) = (&result.figures, &result.summary);
    let offered = match unit {
        Unit::Connections => figures.connection_rate,
        Unit::Calls => figures.request_rate,
        Unit::Sessions | Unit::Visits => ratio(summary.arrivals.started as f64, figures.duration_s),
    };
    let ms = |ms: Option<f64>| ms.map_or_else(|| "n/a".to_owned(), |ms| grouped(ms, 2));
    // Those of all calls, as in the chart and in the text.
    let all_calls = |value: Option<Percentile>| match value {
        Some(Percentile { ms, or_more: true }) => format!("> {}", grouped(ms, 2)),
        value => ms(value.map(|value| value.ms)),
    };
    let class = match result.verdict.level {
        Level::Valid => "valid",
        Level::Suspect => "suspect",
        Level::Invalid => "invalid",
    };
    let early = !run.is_complete();
    let early =
        early.then(|| Note { name: "ended early", text: "on request; the run does not count".to_owned() });
    let reasons = result.verdict.reasons.iter();
    Row {
        rate: rate(run.rate),
        repeat: if repeats > 1 { (u64::from(run.repeat) + 1).to_string() } else { String::new() },
        cells: vec![
            grouped(offered, 1),
            grouped(figures.reply_rate, 1),
            percent(error_share(summary)),
            ms(figures.response_ms.mean),
            all_calls(figures.all_calls.p50),
            all_calls(figures.all_calls.p99),
            all_calls(figures.all_calls.max),
        ],
        class,
        verdict: result.verdict.level.to_string(),
        notes: early
            .into_iter()
            .chain(run.recovery.lacking.map(not_recovered))
            .chain(
                reasons.map(|reason| Note { name: reason.finding.name(), text: reason.finding.to_string() }),
            )
            .collect(),
    }
}

/// Note on what had not recovered before a run.
fn not_recovered(lacking: Lacking) -> Note {
    let text = match lacking {
        Lacking::Ports { free, needed } => {
            format!("{} local ports were free before the run, which needs {}", count(free), count(needed))
        }
        Lacking::Server { probe_ms: Some(probe_ms), usual_ms } => {
            format!("the server took {} before the run, and {} at first", time(probe_ms), time(usual_ms))
        }
        Lacking::Server { probe_ms: None, .. } => "the server did not answer before the run".to_owned(),
    };
    Note { name: "not recovered", text }
}

/// Formats a rate with as many decimals as are useful.
pub(super) fn rate(rate: f64) -> String {
    let decimals = if rate.fract() == 0.0 {
        0
    } else if rate < 10.0 {
        2
    } else {
        1
    };
    grouped(rate, decimals)
}
