//! Percentile curves of one or several results.

use httperf_report::compare::Comparison;
use httperf_report::number::count;
use httperf_report::result::Document;
use httperf_report::{Level, PercentileCurve, headings};

use super::axis::{Axis, odds_marks};
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
    let curve = |name: &str, timing| (name.to_owned(), PercentileCurve::of(timing));
    let curves = [
        curve("latency: from the instant it was due", &completed.latency),
        curve("service: from the first byte sent", &completed.service),
    ];
    let mut facts = vec![facts(document)];
    facts.extend(doubt(document));
    let title = format!("Percentiles of {}", headings::title(&document.plan));
    Picture { figure: figure(title, facts, "Answered calls", &curves), style: *style }
}

/// A curve in a picture of several, with its name and its server.
struct Curve<'a> {
    name: &'a str,
    target: String,
    verdict: Level,
    curve: PercentileCurve,
}

/// Percentiles of the latency of several results, each with its name; at most [`COMPARED_MAX`] of them.
#[must_use]
pub fn compare(results: &[(&str, &Document)], style: &Style) -> Picture {
    let curves = results.iter().map(|&(name, document)| Curve {
        name,
        target: headings::title(&document.plan),
        verdict: document.verdict.level,
        curve: PercentileCurve::of(&document.summary.completed().latency),
    });
    overlaid(&curves.take(COMPARED_MAX).collect::<Vec<_>>(), style)
}

/// Percentiles of the latency of all sides of a comparison; of the first [`COMPARED_MAX`] if there are more.
#[must_use]
pub fn comparison(comparison: &Comparison, style: &Style) -> Picture {
    let curves = comparison.subjects().map(|subject| Curve {
        name: &subject.name,
        target: subject.target.clone(),
        verdict: subject.verdict,
        curve: subject.latency.clone(),
    });
    overlaid(&curves.take(COMPARED_MAX).collect::<Vec<_>>(), style)
}

fn overlaid(curves: &[Curve<'_>], style: &Style) -> Picture {
    let title = match curves.split_first() {
        Some((first, others)) if others.iter().all(|other| other.target == first.target) => {
            format!("Latency of {}", first.target)
        }
        _ => "Latency".to_owned(),
    };
    let facts = vec![format!("{} results, from the instants at which calls were due", curves.len())];
    let named: Vec<(String, PercentileCurve)> = curves
        .iter()
        .map(|curve| {
            let mut name = fitted_end(&cleaned(curve.name), LABEL_SIZE, NAME_ROOM);
            if curve.verdict != Level::Valid {
                name = format!("{name} ({})", curve.verdict);
            }
            (name, curve.curve.clone())
        })
        .collect();
    Picture { figure: figure(title, facts, "Latency", &named), style: *style }
}

fn figure(
    title: String,
    facts: Vec<String>,
    name: &'static str,
    curves: &[(String, PercentileCurve)],
) -> Figure {
    let (x, panel) = graph(name, curves);
    let shown: Vec<&str> = curves.iter().map(|(name, _)| &name[..]).collect();
    Figure {
        about: format!("How long calls took, by percentile, in milliseconds. Lines: {}.", shown.join("; ")),
        title,
        facts,
        x,
        panels: vec![panel],
        usual_height: 460,
    }
}

/// Percentile curves with their names, and the axis of percentiles.
pub(super) fn graph(name: &'static str, curves: &[(String, PercentileCurve)]) -> (Axis, Panel) {
    let samples = curves.iter().map(|(_, curve)| curve.samples()).fold(1.0, f64::max);
    let marks = odds_marks(samples);
    let lines: Vec<Line> = curves
        .iter()
        .enumerate()
        .map(|(number, (name, curve))| {
            let mut line = numbered_line(number, name.clone(), points(curve), false);
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
        arrows: Vec::new(),
    }
}

fn points(curve: &PercentileCurve) -> Vec<(f64, Option<f64>)> {
    curve.odds.iter().copied().zip(curve.ms.iter().copied().map(Some)).collect()
}

/// Time, length, machine and number of calls.
pub(super) fn facts(document: &Document) -> String {
    let mut facts = headings::run(document);
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
