//! Page of a search for a capacity: the same kind of page as that of a result, with its protection against hostile
//! text.

use askama::Template;
use httperf_pictures::{Chart, of_capacity};
use httperf_plan::objective::Objective;
use httperf_report::Level;
use httperf_report::capacity::text::{cells, outcome, rate};
use httperf_report::capacity::{CapacityOutcome, CapacityReport, Interval, Trial};
use httperf_report::headings::{self, Names};
use httperf_report::number::{count, percent, time};

use super::about::{self, Fact, fact};
use super::capitalised;
use super::scripts::{PAGE, Script};
use super::style::STYLE;
use super::tiles::Tile;

/// Renders a search for a capacity as an HTML page.
#[must_use]
pub fn capacity_page(capacity: &CapacityReport) -> String {
    named_capacity_page(capacity, &Names::default())
}

pub(super) fn named_capacity_page(capacity: &CapacityReport, names: &Names) -> String {
    let capacity = &*capacity.without_secrets();
    let parts = capacity.part.as_slice();
    let objectives = capacity.objectives();
    let page = Page {
        title: names.title(headings::url(&capacity.plan)),
        facts: names.facts(&headings::url(&capacity.plan)).into_iter().chain(facts(capacity)).collect(),
        conclusion: capitalised(&capacity.headline()),
        is_titled: names.title.is_some(),
        tiles: tiles(capacity),
        charts: of_capacity(capacity),
        unit: capacity.unit().name(),
        metrics: objectives.iter().map(|objective| objective.metric().to_string()).collect(),
        rows: (1..)
            .zip(&capacity.trials)
            .map(|(number, trial)| Row::of(number, trial, &objectives))
            .collect(),
        commands: about::commands(parts),
        settings: settings(capacity),
        facts_of_plan: about::plan(&capacity.plan),
        machines: about::machines(parts),
        plan_json: about::plan_json(&capacity.plan),
        version: parts.first().map_or_else(String::new, |part| part.httperf.clone()),
        style: &STYLE,
        script: &PAGE,
    };
    page.render().expect("writing to memory does not fail")
}

#[derive(Template)]
#[template(path = "capacity.html")]
struct Page {
    title: String,
    facts: Vec<String>,
    /// True if a user chose the title.
    is_titled: bool,
    conclusion: String,
    tiles: Vec<Tile>,
    charts: Vec<Chart>,
    unit: &'static str,
    metrics: Vec<String>,
    rows: Vec<Row>,
    commands: Vec<String>,
    settings: Vec<Fact>,
    facts_of_plan: Vec<Fact>,
    machines: Vec<Vec<Fact>>,
    plan_json: String,
    version: String,
    style: &'static str,
    script: &'static Script,
}

/// Row of a trial.
struct Row {
    number: usize,
    cells: Vec<String>,
    class: &'static str,
    outcome: String,
}

impl Row {
    fn of(number: usize, trial: &Trial, objectives: &[Objective]) -> Self {
        Self {
            number,
            cells: cells(trial, objectives),
            class: match trial.outcome {
                CapacityOutcome::Within => "valid",
                CapacityOutcome::Beyond | CapacityOutcome::Overload => "invalid",
                CapacityOutcome::Unclear | CapacityOutcome::Client => "suspect",
            },
            outcome: outcome(trial),
        }
    }
}

/// Start, number of trials, and machine.
fn facts(capacity: &CapacityReport) -> Vec<String> {
    let trials = match capacity.trials.len() {
        1 => "1 trial".to_owned(),
        trials => format!("{} trials", count(trials as u64)),
    };
    match &capacity.part {
        None => vec![trials],
        Some(part) => vec![headings::date(&part.started), trials, format!("from {}", headings::host(part))],
    }
}

fn tiles(capacity: &CapacityReport) -> Vec<Tile> {
    let tile = |name, value, notes: Vec<String>| Tile { name, value, notes, is_bad: false };
    let found = &capacity.found;
    let unit = capacity.unit().name();
    let known = match found.capacity {
        Some(Interval { rate: figure, low, high }) => tile(
            "Capacity",
            format!("{}/s", rate(figure)),
            vec![unit.to_owned(), format!("95 %: {} to {}", rate(low), rate(high))],
        ),
        None => tile("Capacity", "n/a".to_owned(), vec!["no interval is known".to_owned()]),
    };
    let sustained = match found.sustained {
        Some(sustained) => {
            tile("Sustained in a trial", format!("{}/s", rate(sustained)), vec![unit.to_owned()])
        }
        None => {
            let is_unclear = |trial: &Trial| trial.outcome == CapacityOutcome::Unclear;
            let note = match capacity.trials.iter().any(is_unclear) {
                true => "no trial had enough samples to tell",
                false => "no trial kept the objectives",
            };
            tile("Sustained in a trial", "n/a".to_owned(), vec![note.to_owned()])
        }
    };
    let beyond = capacity.trials.iter().filter(|trial| trial.outcome.is_beyond()).map(|trial| trial.offered);
    let beyond = match beyond.min_by(f64::total_cmp) {
        Some(least) => {
            tile("Lowest rate beyond", format!("{}/s", rate(least)), vec![format!("{unit}, in a trial")])
        }
        None => tile("Lowest rate beyond", "n/a".to_owned(), vec!["no trial was too much".to_owned()]),
    };
    let limited = capacity.trials.iter().filter(|trial| trial.outcome == CapacityOutcome::Client).count();
    let limited = Tile {
        is_bad: limited > 0,
        ..tile(
            "Limited by the generator",
            count(limited as u64),
            vec![format!("of {} trials", count(capacity.trials.len() as u64))],
        )
    };
    vec![known, sustained, beyond, limited]
}

fn settings(capacity: &CapacityReport) -> Vec<Fact> {
    let settings = &capacity.settings;
    let listed =
        |objectives: &[Objective]| objectives.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let objectives = match settings.implied {
        Some(implied) => format!("{}; implied: {implied}", listed(&settings.objectives)),
        None => listed(&settings.objectives),
    };
    let unit = capacity.unit().name();
    let most = settings.max_rate.map_or_else(|| "as much as possible".to_owned(), rate);
    let unreliable = capacity.trials.iter().filter(|trial| trial.verdict.level > Level::Valid).count() as u64;
    vec![
        fact("Objectives", objectives),
        fact(
            "Rates",
            format!("{} to {most}, from {}; {unit}/s", rate(settings.min_rate), rate(settings.start)),
        ),
        fact("Precision", format!("within {} to either side", percent(settings.precision))),
        fact("Trials", format!("at most {}", count(settings.trials.into()))),
        fact("Trials that were not VALID", count(unreliable)),
        fact(
            "Length of a trial",
            format!("{} to {}", time(settings.trial_min_s * 1e3), time(settings.trial_max_s * 1e3)),
        ),
        fact("Pause between trials", format!("at least {}", time(settings.pause_s * 1e3))),
    ]
}
