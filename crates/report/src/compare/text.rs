//! Text of a comparison, for people.

use std::fmt::Write as _;

use super::{Against, Comparison, Method, Overall, RowVerdict, Subject, Trial, Turns, Unit};
use crate::forms::Screen;
use crate::grid::{Column, Grid, widths, wrapped};
use crate::number::{counted, time};

const WRITES: &str = "writing to a string succeeds";

/// Width of paragraphs where lines may have any length.
const WIDTH: usize = 96;

/// Rounds as they were made, if there are any.
pub(crate) fn body(comparison: &Comparison, screen: Screen) -> String {
    let Method::Paired(turns) = &comparison.method else { return String::new() };
    let mut out = String::new();
    for (role, subject) in ["base", "new"].iter().zip(comparison.subjects()) {
        writeln!(out, "{role:<4}  {}", subject.name).expect(WRITES);
    }
    let rounds = match turns.rounds_asked {
        1 => "1 round".to_owned(),
        asked => format!("{asked} rounds"),
    };
    writeln!(out, "{rounds} of one trial each, in random order").expect(WRITES);
    if !turns.trials.is_empty() {
        write_rounds(&mut out, turns, screen);
    }
    out
}

/// Figures of each round: name in trials, title, unit, and rank of the columns.
const OF_ROUNDS: [(&str, &str, Unit, u8); 3] = [
    ("replies", "replies", Unit::PerSecond, 1),
    ("p50", "p50", Unit::Seconds, 0),
    ("p99", "p99", Unit::Seconds, 0),
];

/// Widths of cells: large enough for what is usual, so that rows can be shown one by one.
const ROUND_WIDTH: usize = 5;
const FIGURE_WIDTH: usize = 9;

fn write_rounds(out: &mut String, turns: &Turns, screen: Screen) {
    let mut columns = vec![Column::new("round", "", ROUND_WIDTH)];
    for (_, title, _, rank) in OF_ROUNDS {
        let column = |side| {
            Column::new(title, side, FIGURE_WIDTH).rank(rank).spare(if title == "p50" { 1 } else { 0 })
        };
        columns.extend(["base", "new"].map(column));
    }
    let grid = Grid::new(columns, "notes", screen.columns);
    out.push('\n');
    *out += &grid.head();
    for round in turns.trials.chunks_exact(2) {
        let of = |side: usize| round.iter().find(|trial| trial.side == side);
        let figure = |side: usize, name: &str| of(side)?.figures.get(name).copied()?;
        let mut cells = vec![round[0].round.to_string()];
        for (name, _, unit, _) in OF_ROUNDS {
            cells.extend([0, 1].map(|side| unit.show(figure(side, name))));
        }
        *out += &grid.row(&cells, &notes(round));
    }
}

/// Verdicts of a round's trials, unless both are VALID.
fn notes(round: &[Trial]) -> String {
    let mut reasons: Vec<&str> = Vec::new();
    for reason in round.iter().flat_map(|trial| &trial.reasons) {
        if !reasons.contains(&&reason[..]) {
            reasons.push(reason);
        }
    }
    let reasons = reasons.join(", ");
    match round.iter().any(|trial| trial.is_left_out) {
        true => format!("left out: {reasons}"),
        false => reasons,
    }
}

/// Figures of both sides, and the conclusions.
pub(crate) fn ending(comparison: &Comparison, screen: Screen) -> String {
    let mut out = String::new();
    for (index, against) in comparison.against.iter().enumerate() {
        if index > 0 || matches!(comparison.method, Method::Paired(_)) {
            out.push('\n');
        }
        write_subjects(&mut out, &comparison.base, &against.new, screen);
        out.push('\n');
        if !against.rows.is_empty() {
            write_rows(&mut out, against, screen);
            out.push('\n');
        }
        write_verdict(&mut out, against, screen);
    }
    let is_shown = comparison.against.iter().any(|against| !against.rows.is_empty());
    if is_shown {
        out.push('\n');
        write_paragraph(&mut out, &comparison.about(), Some(screen.columns.unwrap_or(WIDTH).min(WIDTH)));
    }
    out
}

fn write_subjects(out: &mut String, base: &Subject, new: &Subject, screen: Screen) {
    let width = [base, new].map(|subject| subject.name.chars().count()).into_iter().max().unwrap_or(0);
    let grid =
        Grid::new(vec![Column::new("", "", 4).text(), Column::new("", "", width).text()], "", screen.columns);
    for (role, subject) in [("base", base), ("new", new)] {
        let Subject { name, target, duration_s, replies, verdict, conclusion, ranks, .. } = subject;
        let (length, replies) = (time(duration_s * 1e3), counted(*replies, "reply"));
        // A URL already names the server.
        let target = if name.starts_with(&target[..]) { String::new() } else { format!("{target}, ") };
        let fleet = ranks.map_or_else(String::new, |ranks| format!(", a fleet of {ranks}"));
        let conclusion = if conclusion.is_empty() { String::new() } else { format!("; {conclusion}") };
        let what = format!("{target}{length}, {replies}, {verdict}{fleet}{conclusion}");
        *out += &grid.row(&[role, name], &what);
    }
}

fn write_rows(out: &mut String, against: &Against, screen: Screen) {
    let cells: Vec<[String; 6]> = against
        .rows
        .iter()
        .map(|row| {
            [
                row.metric.clone(),
                row.unit.show(row.base),
                row.unit.show(row.new),
                row.difference_text(),
                row.change_text(),
                row.interval_text(),
            ]
        })
        .collect();
    let [name, base, new, difference, change, interval] = widths(&cells);
    let columns = vec![
        Column::new("", "", name).text(),
        Column::new("base", "", base).spare(1),
        Column::new("new", "", new).spare(1),
        Column::new("difference", "", difference).rank(1),
        Column::new("change", "", change),
        Column::new("95 % interval", "", interval).spare(2),
    ];
    let grid = Grid::new(columns, "verdict", screen.columns);
    *out += &grid.head();
    for (row, cells) in against.rows.iter().zip(&cells) {
        *out += &grid.row(cells, &format!("{} {}", row.verdict.symbol(), row.verdict_text()));
    }
}

fn write_verdict(out: &mut String, against: &Against, screen: Screen) {
    let mut say = |text: String| write_paragraph(out, &text, screen.columns);
    say(format!("Verdict: {}", against.sentence()));
    for tolerated in &against.tolerances {
        say(format!("{}: {}", tolerated.tolerance, tolerated.outcome.word()));
    }
    let is_void = against.verdict == Overall::Void;
    for obstacle in &against.obstacles {
        let word = if is_void { "void" } else { "forced" };
        say(format!("{word}: {}", obstacle.text));
    }
    for warning in &against.warnings {
        say(format!("warning: {}", warning.text));
    }
    if is_void {
        say("hint: --force compares them anyway".to_owned());
    }
    if against.rows.iter().all(|row| row.verdict == RowVerdict::NotEnoughData) && !is_void {
        say("hint: measure for at least 30 seconds".to_owned());
    }
}

/// Writes a paragraph in lines of this width, or in one line.
fn write_paragraph(out: &mut String, text: &str, width: Option<usize>) {
    match width {
        Some(width) => wrapped(text, width).iter().for_each(|line| writeln!(out, "{line}").expect(WRITES)),
        None => writeln!(out, "{text}").expect(WRITES),
    }
}
