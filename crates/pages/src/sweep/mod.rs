//! Page of a sweep: the same kind of page as that of a result, with its protection against hostile text.

mod table;

use askama::Template;
use httperf_pictures::{Chart, SweepCurve, of_sweep};
use httperf_report::headings::{self, Names};
use httperf_report::number::{count, percent, ratio, time};
use httperf_report::sweep::{End, Sweep, SweepSettings, Unit};

use super::about::{self, Fact, fact};
use super::capitalised;
use super::scripts::{PAGE, Script};
use super::style::STYLE;
use super::tiles::Tile;

use self::table::{Row, rate};

/// Maximum number of rates listed.
const RATES_LISTED: usize = 100;

/// Renders a sweep as an HTML page.
#[must_use]
pub fn sweep_page(sweep: &Sweep) -> String {
    named_sweep_page(sweep, &Names::default())
}

pub(super) fn named_sweep_page(sweep: &Sweep, names: &Names) -> String {
    let sweep = &*sweep.without_secrets();
    let curve = SweepCurve::of(sweep);
    let parts = sweep.runs.first().map_or(&[][..], |run| &run.result.parts);
    let page = Page {
        title: names.title(headings::url(&sweep.plan)),
        is_titled: names.title.is_some(),
        conclusion: capitalised(&sweep.figures.conclusion.text),
        facts: names.facts(&headings::url(&sweep.plan)).into_iter().chain(facts(sweep)).collect(),
        end: end(sweep.end),
        doubts: doubts(&curve),
        tiles: tiles(sweep, &curve),
        charts: of_sweep(&curve),
        unit: curve.unit,
        rows: table::rows(sweep),
        left_out: sweep.runs.len().saturating_sub(table::ROWS_MAX),
        commands: about::commands(parts),
        settings: settings(&sweep.settings, curve.unit),
        facts_of_plan: about::plan(&sweep.plan),
        machines: about::machines(parts),
        plan_json: about::plan_json(&sweep.plan),
        version: parts.first().map_or_else(String::new, |part| part.httperf.clone()),
        style: &STYLE,
        script: &PAGE,
    };
    page.render().expect("writing to memory does not fail")
}

#[derive(Template)]
#[template(path = "sweep/page.html")]
struct Page {
    title: String,
    /// True if a user chose the title.
    is_titled: bool,
    conclusion: String,
    facts: Vec<String>,
    end: &'static str,
    doubts: Option<String>,
    tiles: Vec<Tile>,
    charts: Vec<Chart>,
    unit: Unit,
    rows: Vec<Row>,
    left_out: usize,
    commands: Vec<String>,
    settings: Vec<Fact>,
    facts_of_plan: Vec<Fact>,
    machines: Vec<Vec<Fact>>,
    plan_json: String,
    version: String,
    style: &'static str,
    script: &'static Script,
}

/// Start, number of runs, and machine.
fn facts(sweep: &Sweep) -> Vec<String> {
    let runs = match sweep.runs.len() {
        1 => "1 run".to_owned(),
        runs => format!("{} runs", count(runs as u64)),
    };
    let part = sweep.runs.first().and_then(|run| run.result.parts.first());
    let Some(part) = part else { return vec![runs] };
    vec![headings::date(&part.started), runs, format!("from {}", headings::host(part))]
}

fn end(end: Option<End>) -> &'static str {
    match end {
        Some(End::Complete) => "All runs are complete.",
        Some(End::Saturated) => "It ended before the last rate: the server was far beyond saturation.",
        Some(End::Asked) => "It was stopped early, on request.",
        None => "It is in progress: more runs are to come.",
    }
}

fn doubts(curve: &SweepCurve) -> Option<String> {
    let limited: Vec<String> = curve
        .points
        .iter()
        .filter(|point| point.is_client_limited)
        .take(RATES_LISTED)
        .map(|point| rate(point.rate))
        .collect();
    let listed = limited.join(", ");
    let unit = curve.unit.name();
    (!limited.is_empty()).then(|| {
        format!("At {listed} {unit}/s the generator was the bottleneck: those steps, drawn hollow, say nothing about the server.")
    })
}

fn tiles(sweep: &Sweep, curve: &SweepCurve) -> Vec<Tile> {
    let tile = |name, value, note: String| Tile { name, value, notes: vec![note], is_bad: false };
    let unit = curve.unit.name();
    let of_server = || curve.points.iter().filter(|point| !point.is_client_limited);
    let knee = match (curve.knee, sweep.figures.knee_between) {
        (Some(knee), Some((kept_up, fell_behind))) => {
            let between = match kept_up {
                0.0 => format!("{unit}; below {}/s", rate(fell_behind)),
                kept_up => format!("{unit}; between {} and {}/s", rate(kept_up), rate(fell_behind)),
            };
            tile("Knee", format!("about {}/s", rate(knee)), between)
        }
        _ => tile(
            "Knee",
            "n/a".to_owned(),
            "no rate was found beyond which replies no longer follow".to_owned(),
        ),
    };
    let none = |why: &str| ("n/a".to_owned(), why.to_owned());
    let (most, note) = match (sweep.figures.peak, of_server().next()) {
        (Some(peak), _) => {
            (format!("{}/s", rate(peak.good_reply_rate)), format!("at {} {unit}/s", rate(peak.rate)))
        }
        (None, Some(_)) => none("there was none without an error at any rate"),
        (None, None) => none("the generator was the bottleneck at every rate"),
    };
    let most = tile("Most replies without error", most, note);
    let without_errors = of_server().take_while(|point| point.errors_percent.mean == 0.0).last();
    let clean = match without_errors {
        Some(point) => tile("No errors up to", format!("{}/s", rate(point.rate)), unit.to_owned()),
        None => tile("No errors up to", "n/a".to_owned(), "there were errors at the lowest rate".to_owned()),
    };
    let limited = sweep.runs.iter().filter(|run| run.result.verdict.blames_client()).count();
    let share = percent(ratio(limited as f64, sweep.runs.len() as f64));
    let limited = Tile {
        is_bad: limited > 0,
        ..tile(
            "Limited by the generator",
            count(limited as u64),
            format!("of {} runs ({share})", count(sweep.runs.len() as u64)),
        )
    };
    vec![knee, most, clean, limited]
}

fn settings(settings: &SweepSettings, unit: Unit) -> Vec<Fact> {
    let SweepSettings { rates, repeats, shuffled_by, stop_after, pause_s, settle_s } = settings;
    let mut listed: Vec<String> = rates.iter().take(RATES_LISTED).map(|&one| rate(one)).collect();
    if rates.len() > RATES_LISTED {
        listed.push(format!("and {} more", count((rates.len() - RATES_LISTED) as u64)));
    }
    vec![
        fact("Rates", format!("{} {}/s", listed.join(", "), unit.name())),
        fact("Runs at each", count((*repeats).into())),
        fact(
            "Order",
            shuffled_by.map_or_else(|| "ascending".to_owned(), |seed| format!("random, from seed {seed}")),
        ),
        fact(
            "Ends early",
            stop_after.map_or_else(
                || "no".to_owned(),
                |rates| {
                    format!(
                        "after {} rates in a row that the server could not keep up with",
                        count(rates.into())
                    )
                },
            ),
        ),
        fact("Pause between runs", format!("at least {}", time(pause_s * 1e3))),
        fact("Time to recover", format!("at most {}", time(settle_s * 1e3))),
    ]
}
