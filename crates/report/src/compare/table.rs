//! Tables of a comparison, for people.

use std::fmt::Write as _;

use super::{Against, Comparison, Method, Overall, RowVerdict, Subject};
use crate::number::{count, time};

const WRITES: &str = "writing to a string succeeds";

/// Titles of the columns after the name of the figure.
const TITLES: [&str; 6] = ["base", "new", "difference", "change", "95 % interval", "verdict"];

/// Space between columns.
const GAP: &str = "  ";

pub(super) fn text(comparison: &Comparison) -> String {
    let mut out = String::new();
    for (index, against) in comparison.against.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        write_subjects(&mut out, &comparison.base, &against.new);
        write_turns(&mut out, &comparison.method);
        out.push('\n');
        if !against.rows.is_empty() {
            write_rows(&mut out, against);
            out.push('\n');
        }
        write_verdict(&mut out, against);
    }
    let is_shown = comparison.against.iter().any(|against| !against.rows.is_empty());
    if is_shown {
        out.push('\n');
        for line in wrapped(&comparison.about()) {
            writeln!(out, "{line}").expect(WRITES);
        }
    }
    out
}

fn write_subjects(out: &mut String, base: &Subject, new: &Subject) {
    let width = [base, new].map(|subject| subject.name.chars().count()).into_iter().max().unwrap_or(0);
    for (role, subject) in [("base", base), ("new", new)] {
        let Subject { name, target, duration_s, replies, verdict, .. } = subject;
        let (length, replies) = (time(duration_s * 1e3), count(*replies));
        // A URL already names the server.
        let target = if name.starts_with(&target[..]) { String::new() } else { format!("{target}, ") };
        writeln!(out, "{role:<4}  {name:<width$}  {target}{length}, {replies} replies, {verdict}")
            .expect(WRITES);
    }
}

fn write_turns(out: &mut String, method: &Method) {
    let Method::Paired(turns) = method else { return };
    let rounds = match turns.rounds_made {
        1 => "1 round".to_owned(),
        made => format!("{made} rounds"),
    };
    writeln!(out, "{rounds} of one trial each, in random order").expect(WRITES);
}

fn write_rows(out: &mut String, against: &Against) {
    let cells = against.rows.iter().map(|row| {
        [
            row.metric.clone(),
            row.unit.show(row.base),
            row.unit.show(row.new),
            row.difference_text(),
            row.change_text(),
            row.interval_text(),
            format!("{} {}", row.verdict.symbol(), row.verdict_text()),
        ]
    });
    let mut lines: Vec<[String; 7]> =
        vec![["", TITLES[0], TITLES[1], TITLES[2], TITLES[3], TITLES[4], TITLES[5]].map(str::to_owned)];
    lines.extend(cells);
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..7).map(width).collect();
    for line in &lines {
        write!(out, "{:<width$}", line[0], width = widths[0]).expect(WRITES);
        for column in 1..6 {
            write!(out, "{GAP}{:>width$}", line[column], width = widths[column]).expect(WRITES);
        }
        writeln!(out, "{GAP}{}", line[6]).expect(WRITES);
    }
}

fn write_verdict(out: &mut String, against: &Against) {
    writeln!(out, "Verdict: {}", against.sentence()).expect(WRITES);
    for tolerated in &against.tolerances {
        writeln!(out, "{}: {}", tolerated.tolerance, tolerated.outcome.word()).expect(WRITES);
    }
    let is_void = against.verdict == Overall::Void;
    for obstacle in &against.obstacles {
        let word = if is_void { "void" } else { "forced" };
        writeln!(out, "{word}: {}", obstacle.text).expect(WRITES);
    }
    for warning in &against.warnings {
        writeln!(out, "warning: {}", warning.text).expect(WRITES);
    }
    if is_void {
        writeln!(out, "hint: --force compares them anyway").expect(WRITES);
    }
    if against.rows.iter().all(|row| row.verdict == RowVerdict::NotEnoughData) && !is_void {
        writeln!(out, "hint: measure for at least 30 seconds").expect(WRITES);
    }
}

/// Wraps text to fit on a terminal.
fn wrapped(text: &str) -> Vec<String> {
    const WIDTH: usize = 96;
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
