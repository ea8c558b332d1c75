//! Percentile curves of one or several results.

use httperf_stats::Timing;

use crate::curves::{PercentileCurve, odds_marks};
use crate::html::about;
use crate::number::count;
use crate::result::Document;
use crate::verdict::Level;

use super::axis::Axis;
use super::draw::draw;
use super::figure::{DASHES, Figure, Line, Mark, Marked, Panel, SHAPES};
use super::text::{LABEL_SIZE, cleaned, fitted_end};
use super::theme::SERIES;
use super::{COMPARED_MAX, Picture, Style};

/// Pixels for the name of a file.
const NAME_ROOM: f64 = 330.0;

/// Percentiles of latency and service time.
#[must_use]
pub fn percentiles(document: &Document, style: &Style) -> Picture {
    let completed = document.summary.completed();
    let curves = [
        Curve { name: "latency: from the instant it was due".to_owned(), timing: &completed.latency },
        Curve { name: "service: from the first byte sent".to_owned(), timing: &completed.service },
    ];
    let mut facts = vec![facts(document)];
    facts.extend(doubt(document));
    let title = format!("Percentiles of {}", about::title(&document.plan));
    draw(&figure(title, facts, "Answered calls", &curves), style)
}

/// Percentiles of the latency of several results, each with its name; at most [`COMPARED_MAX`] of them.
#[must_use]
pub fn compare(results: &[(&str, &Document)], style: &Style) -> Picture {
    let results = &results[..results.len().min(COMPARED_MAX)];
    let completed: Vec<_> = results.iter().map(|(_, document)| document.summary.completed()).collect();
    let curves: Vec<Curve<'_>> = results
        .iter()
        .zip(&completed)
        .map(|((name, document), completed)| {
            let mut name = fitted_end(&cleaned(name), LABEL_SIZE, NAME_ROOM);
            if document.verdict.level != Level::Valid {
                name = format!("{name} ({})", document.verdict.level);
            }
            Curve { name, timing: &completed.latency }
        })
        .collect();
    let servers: Vec<String> = results.iter().map(|(_, document)| about::title(&document.plan)).collect();
    let title = match servers.split_first() {
        Some((first, others)) if others.iter().all(|other| other == first) => format!("Latency of {first}"),
        _ => "Latency".to_owned(),
    };
    draw(
        &figure(
            title,
            vec![format!("{} results, from the instants at which calls were due", results.len())],
            "Latency",
            &curves,
        ),
        style,
    )
}

struct Curve<'a> {
    name: String,
    timing: &'a Timing,
}

fn figure(title: String, facts: Vec<String>, name: &'static str, curves: &[Curve<'_>]) -> Figure {
    let timings: Vec<(&str, &Timing)> =
        curves.iter().map(|curve| (curve.name.as_str(), curve.timing)).collect();
    let (x, panel) = graph(name, &timings);
    let shown: Vec<&str> = curves.iter().map(|curve| curve.name.as_str()).collect();
    Figure {
        about: format!("How long calls took, by percentile, in milliseconds. Lines: {}.", shown.join("; ")),
        title,
        facts,
        x,
        panels: vec![panel],
        usual_height: 460,
    }
}

/// Percentile curves of timings with their names, and the axis of percentiles.
pub(super) fn graph(name: &'static str, timings: &[(&str, &Timing)]) -> (Axis, Panel) {
    let samples = timings.iter().map(|(_, timing)| timing.moments.count()).max().unwrap_or(0).max(1) as f64;
    let marks = odds_marks(samples);
    let lines: Vec<Line> = timings
        .iter()
        .enumerate()
        .map(|(number, (name, timing))| {
            let mut line = numbered_line(number, (*name).to_owned(), points(timing), false);
            line.mark.which = Marked::At(marks.clone());
            line
        })
        .collect();
    let ms: Vec<f64> = lines.iter().flat_map(|line| &line.points).filter_map(|&(_, ms)| ms).collect();
    let panel = Panel {
        name,
        y: Axis::times("time", ms),
        shades: Vec::new(),
        lines,
        mark: None,
        nothing: "no call was answered",
    };
    (Axis::percentiles(samples), panel)
}

/// Line of the result with this number: its look differs from those of [`COMPARED_MAX`] others.
pub(super) fn numbered_line(
    number: usize,
    name: String,
    points: Vec<(f64, Option<f64>)>,
    is_marked: bool,
) -> Line {
    // An ink used a second time has a different dash.
    let style = number + number / SERIES.len();
    let which = if is_marked { Marked::All } else { Marked::Lone };
    Line {
        name,
        ink: SERIES[number % SERIES.len()],
        dash: DASHES[style % DASHES.len()],
        width: 2.0,
        mark: Mark { shape: SHAPES[style % SHAPES.len()], is_hollow: false, which },
        points,
        whiskers: Vec::new(),
    }
}

fn points(timing: &Timing) -> Vec<(f64, Option<f64>)> {
    if timing.is_empty() {
        return Vec::new();
    }
    let curve = PercentileCurve::of(timing);
    curve.odds.into_iter().zip(curve.ms.into_iter().map(Some)).collect()
}

/// Time, length, machine and number of calls.
pub(super) fn facts(document: &Document) -> String {
    let mut facts = about::run(document);
    facts.push(match document.figures.replies {
        1 => "1 reply".to_owned(),
        replies => format!("{} replies", count(replies)),
    });
    facts.join(" · ")
}

/// Warning for a result that is not VALID.
pub(super) fn doubt(document: &Document) -> Option<String> {
    let names = |level| {
        let reasons = document.verdict.reasons.iter().filter(|reason| reason.level == level);
        let names: Vec<&str> = reasons.map(|reason| reason.finding.name()).collect();
        names.join(", ")
    };
    match document.verdict.level {
        Level::Valid => None,
        level => Some(format!("Verdict {level}: {}", names(level))),
    }
}
