//! Results as a table, for people.

use std::fmt::{self, Display};

use httperf_stats::Estimate;

use super::{Measured, Results, TlsLabOutcome, Variant, verdict};
use crate::number::fixed;

/// Titles of the columns after the name.
const TITLES: [&str; 7] =
    ["p50 [ms]", "p99 [ms]", "sent [B]", "received [B]", "CPU [ms]", "rate [1/s]", "p50 ratio"];

/// Spaces between columns.
const GAP: usize = 2;

/// A table with a row for each variant, notes on the figures, and the verdict. Refused variants have a row
/// that says so.
#[must_use]
pub fn table(results: &Results) -> impl Display + '_ {
    Table(results)
}

struct Table<'a>(&'a Results);

impl Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let results = self.0;
        write_head(f, results)?;
        writeln!(f)?;
        write_rows(f, results)?;
        write_failures(f, results)?;
        if results.base().is_some() {
            write_notes(f, results)?;
        }
        let verdict = verdict(results);
        if !verdict.is_empty() {
            write_references(f, results)?;
        }
        verdict.iter().try_for_each(|sentence| writeln!(f, "{sentence}"))
    }
}

fn write_head(f: &mut fmt::Formatter<'_>, results: &Results) -> fmt::Result {
    let Results { server, settings, rounds, .. } = results;
    write!(f, "{server}: {rounds} ")?;
    if results.is_interrupted() {
        write!(f, "of {} ", settings.rounds)?;
    }
    write!(f, "{}", if settings.rounds == 1 { "round" } else { "rounds" })?;
    if results.is_interrupted() {
        f.write_str(" (interrupted)")?;
    }
    write!(f, "; in each, {} sequential handshakes per variant", settings.handshakes)?;
    if settings.rate_handshakes > 0 {
        write!(f, ", then {} at a concurrency of {}", settings.rate_handshakes, settings.concurrency)?;
    }
    writeln!(f)
}

fn write_rows(f: &mut fmt::Formatter<'_>, results: &Results) -> fmt::Result {
    let base = results.base();
    let rows: Vec<(&Variant, Result<[String; TITLES.len()], String>)> =
        results.variants.iter().map(|variant| (variant, cells(variant, base.as_ref()))).collect();
    let width = |text: &str| text.chars().count();
    let name_width = rows.iter().map(|(variant, _)| width(&variant.label())).max().unwrap_or(0);
    let mut widths = TITLES.map(width);
    for cells in rows.iter().filter_map(|(_, cells)| cells.as_ref().ok()) {
        for (column, cell) in widths.iter_mut().zip(cells) {
            *column = width(cell).max(*column);
        }
    }
    let write_cells = |f: &mut fmt::Formatter<'_>, cells: &[String]| -> fmt::Result {
        for (cell, width) in cells.iter().zip(widths) {
            write!(f, "{cell:>width$}", width = width + GAP)?;
        }
        writeln!(f)
    };
    write!(f, "{:<name_width$}", "")?;
    write_cells(f, &TITLES.map(str::to_owned))?;
    for (variant, cells) in &rows {
        write!(f, "{:<name_width$}", variant.label())?;
        match cells {
            Ok(cells) => write_cells(f, cells)?,
            Err(why_not) => writeln!(f, "{:GAP$}{why_not}", "")?,
        }
    }
    Ok(())
}

/// Cells of a row, or the reason why it has none.
fn cells(variant: &Variant, base: Option<&Measured<'_>>) -> Result<[String; TITLES.len()], String> {
    match &variant.outcome {
        TlsLabOutcome::Refused { reason } => return Err(format!("refused: {reason}")),
        TlsLabOutcome::Lost { round, reason } => return Err(format!("failed in round {round}: {reason}")),
        TlsLabOutcome::Measured { .. } => {}
    }
    let Some((row, base)) = Measured::of(variant).zip(base) else { return Err("not measured".to_owned()) };
    let p50_ratio = if row.is(base) { "1".to_owned() } else { figure(row.p50_ratio_to(base), 1.0, 3) };
    Ok([
        figure(row.p50(), 1e3, 3),
        figure(row.p99(), 1e3, 3),
        size(row.sent()),
        size(row.received()),
        figure(row.cpu(), 1e3, 3),
        figure(row.rate(), 1.0, 0),
        p50_ratio,
    ])
}

/// Rows with failed handshakes: their figures are those of the others.
fn write_failures(f: &mut fmt::Formatter<'_>, results: &Results) -> fmt::Result {
    let measured = results.variants.iter().filter_map(Measured::of);
    for row in measured.filter(|row| row.failed() > 0) {
        let (failed, all) = (row.failed(), row.failed() + row.completed());
        let (label, why) = (row.variant.label(), row.variant.outcome.reason().unwrap_or("unknown"));
        writeln!(f, "warning: {failed} of {all} connections of {label} failed and are left out: {why}")?;
    }
    Ok(())
}

fn write_notes(f: &mut fmt::Formatter<'_>, results: &Results) -> fmt::Result {
    if results.base().is_none() {
        return Ok(());
    }
    writeln!(
        f,
        "\np50, p99: handshake time of each round's trial, averaged over rounds; ± for 95 % confidence"
    )?;
    write_rank(f, results.settings.handshakes)?;
    writeln!(f, "CPU: of this client, for a connection with its handshake")
}

/// References that the verdict's sentences compare with.
fn write_references(f: &mut fmt::Formatter<'_>, results: &Results) -> fmt::Result {
    let Some(base) = results.base() else { return Ok(()) };
    write!(f, "\nCompared with {}", base.variant.label())?;
    let mut resumed = results.variants.iter().filter_map(Measured::of).filter(Measured::is_resumed);
    if let (Some(first), Some(_)) = (resumed.next(), resumed.next()) {
        write!(f, ", and resumed handshakes with {}", first.variant.label())?;
    }
    writeln!(f, ":")
}

/// Rank of p99 among the sorted times, which shows its value.
fn write_rank(f: &mut fmt::Formatter<'_>, handshakes: u64) -> fmt::Result {
    if handshakes < 100 {
        return writeln!(f, "p99: needs trials of 100 handshakes");
    }
    // The least rank that 99 % do not exceed.
    let rank = handshakes / 100 + 1;
    writeln!(f, "p99: of {handshakes} handshakes, number {rank} from the slowest")
}

/// Formats a mean with its margin, times `scale`.
fn figure(estimate: Option<Estimate>, scale: f64, decimals: usize) -> String {
    let Some(estimate) = estimate else { return "n/a".to_owned() };
    let value = fixed(estimate.value() * scale, decimals);
    match estimate.margin() {
        Some(margin) => format!("{value} ± {}", fixed(margin * scale, decimals)),
        None => value,
    }
}

/// Formats a mean number of bytes, without a fraction if it is an integer.
fn size(bytes: f64) -> String {
    let text = fixed(bytes, 1);
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}
