//! Markdown of a comparison, for a comment on a pull request: GitHub's dialect, with tables.
//!
//! <https://github.github.com/gfm/#tables-extension->

use std::fmt::Write as _;

use super::{Against, Comparison, Overall};

const WRITES: &str = "writing to a string succeeds";

pub(super) fn markdown(comparison: &Comparison) -> String {
    let mut out = String::new();
    for against in &comparison.against {
        write_against(&mut out, comparison, against);
    }
    writeln!(out, "<sub>{}</sub>", comparison.about()).expect(WRITES);
    out
}

fn write_against(out: &mut String, comparison: &Comparison, against: &Against) {
    let Comparison { base, .. } = comparison;
    let (symbol, word) = (against.verdict.symbol(), against.verdict.word());
    writeln!(out, "### {symbol} {word}: {} against {}\n", code(&against.new.name), code(&base.name))
        .expect(WRITES);
    if !against.rows.is_empty() {
        out.push_str("| Figure | base | new | difference | 95 % interval | verdict |\n");
        out.push_str("| :--- | ---: | ---: | ---: | ---: | :--- |\n");
    }
    for row in &against.rows {
        let change = row.change_text();
        let difference = match &change[..] {
            "" => row.difference_text(),
            change => format!("{} ({change})", row.difference_text()),
        };
        writeln!(
            out,
            "| {} | {} | {} | {difference} | {} | {} {} |",
            escaped(&row.metric),
            row.unit.show(row.base).replace('<', "&lt;"),
            row.unit.show(row.new).replace('<', "&lt;"),
            row.interval_text(),
            row.verdict.symbol(),
            escaped(&row.verdict_text()),
        )
        .expect(WRITES);
    }
    if !against.rows.is_empty() {
        out.push('\n');
    }
    for tolerated in &against.tolerances {
        let tolerance = code(&tolerated.tolerance.to_string());
        writeln!(out, "- {tolerance}: **{}**", tolerated.outcome.word()).expect(WRITES);
    }
    let is_void = against.verdict == Overall::Void;
    for obstacle in &against.obstacles {
        let word = if is_void { "void" } else { "forced" };
        writeln!(out, "- **{word}**: {}", escaped(&obstacle.text)).expect(WRITES);
    }
    for warning in &against.warnings {
        writeln!(out, "- warning: {}", escaped(&warning.text)).expect(WRITES);
    }
    if !against.tolerances.is_empty() || !against.obstacles.is_empty() || !against.warnings.is_empty() {
        out.push('\n');
    }
}

/// Formats text from outside as code, so that nothing in it is markup.
fn code(text: &str) -> String {
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let text = text.replace(['\n', '\r'], " ");
    // A code span must not begin or end with its own fence; one space on either side is not part of it.
    if longest > 0 { format!("{fence} {text} {fence}") } else { format!("{fence}{text}{fence}") }
}

/// Escapes all markup.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '\n' | '\r' => out.push(' '),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            // A mention would notify somebody.
            '@' => out.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '$' => {
                out.push('\\');
                out.push(character);
            }
            other => out.push(other),
        }
    }
    out
}
