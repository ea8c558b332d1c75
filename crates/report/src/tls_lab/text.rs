//! Text of results, for people: a row for each round, then one for each variant, notes and the verdict.

use std::fmt::Write as _;

use httperf_stats::Estimate;

use super::{Measured, Results, TlsLabOutcome, Variant, verdict};
use crate::forms::Screen;
use crate::grid::{Column, Grid, widths, wrapped};
use crate::number::{fixed, time};

const WRITES: &str = "a String takes everything";

/// Titles of the columns after the name, with their ranks: those with a higher one are left out first where there is
/// no room.
pub const TITLES: [(&str, u8); 7] = [
    ("p50 [ms]", 0),
    ("p99 [ms]", 4),
    ("sent [B]", 1),
    ("received [B]", 2),
    ("CPU [ms]", 3),
    ("rate [1/s]", 5),
    ("p50 ratio", 0),
];

/// Subject and rounds so far.
pub(crate) fn body(results: &Results, screen: Screen) -> String {
    let Results { server, settings, rounds, .. } = results;
    let of = if settings.rounds == 1 { "round" } else { "rounds" };
    let mut out = format!(
        "{server}: {} {of}; in each, {} sequential handshakes per variant",
        settings.rounds, settings.handshakes
    );
    if settings.rate_handshakes > 0 {
        let (handshakes, concurrency) = (settings.rate_handshakes, settings.concurrency);
        write!(out, ", then {handshakes} at a concurrency of {concurrency}").expect(WRITES);
    }
    let mut out = paragraph(&out, screen);
    let of_round = rounds_grid(results, screen);
    if *rounds > 0 {
        write!(out, "\nMedian handshake of each round:\n{}", of_round.head()).expect(WRITES);
    }
    for round in 0..usize::try_from(*rounds).unwrap_or(usize::MAX).min(most_trials(results)) {
        let mut cells = vec![(round + 1).to_string()];
        cells.extend(contestants(results).map(|variant| {
            variant.trials().get(round).map_or("n/a".to_owned(), |trial| time(trial.p50.as_secs_f64() * 1e3))
        }));
        out += &of_round.row(&cells, "");
    }
    out
}

/// Number of rounds for which there is a figure.
fn most_trials(results: &Results) -> usize {
    contestants(results).map(|variant| variant.trials().len()).max().unwrap_or(0)
}

/// Variants that take part in rounds.
fn contestants(results: &Results) -> impl Iterator<Item = &Variant> {
    results.variants.iter().filter(|variant| !matches!(variant.outcome, TlsLabOutcome::Refused { .. }))
}

/// Medians by round: a column for each variant, the last ones left out where there is no room.
fn rounds_grid(results: &Results, screen: Screen) -> Grid {
    /// Width of a time.
    const WIDTH: usize = 8;
    let columns = (1..).zip(contestants(results)).map(|(rank, variant)| {
        let column = Column::new(variant.label(), "", WIDTH);
        if rank == 1 { column } else { column.rank(rank) }
    });
    let columns = std::iter::once(Column::new("round", "", 0)).chain(columns).collect();
    Grid::new(columns, "", screen.columns)
}

/// Figures of all rounds, notes and the verdict.
pub(crate) fn ending(results: &Results, screen: Screen) -> String {
    let mut out = String::from("\n");
    if results.is_interrupted() {
        let (made, asked) = (results.rounds, results.settings.rounds);
        writeln!(out, "Interrupted after {made} of {asked} rounds.\n").expect(WRITES);
    }
    write_rows(&mut out, results, screen);
    write_failures(&mut out, results, screen);
    if results.base().is_some() {
        write_notes(&mut out, results, screen);
    }
    let verdict = verdict(results);
    if let Some(references) = references(results).filter(|_| !verdict.is_empty()) {
        writeln!(out, "\n{references}:").expect(WRITES);
    }
    verdict.iter().for_each(|sentence| out += &paragraph(sentence, screen));
    out
}

fn write_rows(out: &mut String, results: &Results, screen: Screen) {
    let rows = rows(results);
    let name_width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let figures: Vec<_> = rows.iter().filter_map(|row| row.cells.clone().ok()).collect();
    let widths = widths(&figures);
    let figures =
        TITLES.iter().zip(widths).map(|(&(title, rank), width)| Column::new(title, "", width).rank(rank));
    let columns = std::iter::once(Column::new("", "", name_width).text()).chain(figures).collect();
    let grid = Grid::new(columns, "", screen.columns);
    *out += &grid.head();
    for TableRow { name, cells } in &rows {
        match cells {
            Ok(cells) => *out += &grid.row(&std::iter::once(name).chain(cells).collect::<Vec<_>>(), ""),
            Err(why_not) => writeln!(out, "{name:<name_width$}  {why_not}").expect(WRITES),
        }
    }
}

/// Row of a variant.
#[derive(Clone, Debug)]
pub struct TableRow {
    /// Name of the variant.
    pub name: String,
    /// Cells, or the reason why there are none.
    pub cells: Result<[String; TITLES.len()], String>,
}

/// Rows of all variants.
#[must_use]
pub fn rows(results: &Results) -> Vec<TableRow> {
    let base = results.base();
    let variants = results.variants.iter();
    variants.map(|variant| TableRow { name: variant.label(), cells: cells(variant, base.as_ref()) }).collect()
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
fn write_failures(out: &mut String, results: &Results, screen: Screen) {
    let measured = results.variants.iter().filter_map(Measured::of);
    for row in measured.filter(|row| row.failed() > 0) {
        let (failed, all) = (row.failed(), row.failed() + row.completed());
        let (label, why) = (row.variant.label(), row.variant.outcome.reason().unwrap_or("unknown"));
        let text =
            format!("warning: {failed} of {all} connections of {label} failed and are left out: {why}");
        *out += &paragraph(&text, screen);
    }
}

fn write_notes(out: &mut String, results: &Results, screen: Screen) {
    out.push('\n');
    let handshakes = results.settings.handshakes;
    let rank = match handshakes {
        // The least rank that 99 % do not exceed.
        100.. => format!("p99: of {handshakes} handshakes, number {} from the slowest", handshakes / 100 + 1),
        _ => "p99: needs trials of 100 handshakes".to_owned(),
    };
    for note in [
        "p50, p99: handshake time of each round's trial, averaged over rounds; ± for 95 % confidence",
        &rank,
        "CPU: of this client, for a connection with its handshake",
    ] {
        *out += &paragraph(note, screen);
    }
}

/// References that the verdict's sentences compare with.
#[must_use]
pub fn references(results: &Results) -> Option<String> {
    let base = results.base()?;
    let mut out = format!("Compared with {}", base.variant.label());
    let mut resumed = results.variants.iter().filter_map(Measured::of).filter(Measured::is_resumed);
    if let (Some(first), Some(_)) = (resumed.next(), resumed.next()) {
        write!(out, ", and resumed handshakes with {}", first.variant.label()).expect(WRITES);
    }
    Some(out)
}

/// Text in lines that fit the terminal, or in one line.
fn paragraph(text: &str, screen: Screen) -> String {
    let lines = screen.columns.map_or_else(|| vec![text.to_owned()], |columns| wrapped(text, columns));
    lines.join("\n") + "\n"
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
