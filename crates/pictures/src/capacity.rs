//! A search for a capacity: what was answered, and the figure of an objective, over the offered load. Each trial is a
//! point; the capacity is marked.

use httperf_plan::objective::{Clock, Figure as TimeFigure, Metric, Objective};
use httperf_report::capacity::text::rate;
use httperf_report::capacity::{CapacityOutcome, CapacityReport, Trial};
use httperf_report::number::count;
use httperf_report::{Measured, headings};

use super::axis::{Axis, Quantity};
use super::figure::{Dash, Figure, Line, Mark, Marked, Panel, Shape};
use super::theme::Ink;
use super::{Picture, Style};

/// Both graphs of a search.
#[must_use]
pub fn capacity(capacity: &CapacityReport, style: &Style) -> Picture {
    let trials = match capacity.trials.len() {
        1 => "1 trial".to_owned(),
        trials => format!("{} trials", count(trials as u64)),
    };
    let about = format!(
        "Two graphs over the {}. Top: rate answered. Bottom: {}. {}.",
        load_title(capacity),
        times_name(capacity),
        capacity.headline()
    );
    let figure = Figure {
        title: format!("Capacity of {}", headings::title(&capacity.plan)),
        facts: vec![trials, capacity.headline()],
        about,
        x: axis(capacity),
        panels: panels(capacity),
        usual_height: 640,
    };
    Picture { figure, style: *style }
}

/// Axis of the offered load.
pub(super) fn axis(capacity: &CapacityReport) -> Axis {
    let rates = capacity.trials.iter().map(|trial| trial.offered);
    let found = capacity.found.capacity.map(|found| found.rate);
    Axis::from_zero(load_title(capacity), rates.chain(found)).of(Quantity::PerSecond)
}

/// Rates answered, and times.
pub(super) fn panels(capacity: &CapacityReport) -> Vec<Panel> {
    let mark = capacity.found.capacity.map(|found| (found.rate, format!("capacity: {}/s", rate(found.rate))));
    [answered(capacity), times(capacity)].map(|panel| Panel { mark: mark.clone(), ..panel }).into()
}

fn load_title(capacity: &CapacityReport) -> String {
    format!("offered load [{}/s]", capacity.unit().name())
}

fn answered(capacity: &CapacityReport) -> Panel {
    let most = capacity.trials.iter().map(|trial| trial.answered).fold(0.0, f64::max);
    let reach = capacity.trials.iter().map(|trial| trial.offered).fold(0.0, f64::max).min(most * 1.15);
    let mut lines = vec![Line {
        name: "all answered".to_owned(),
        points: vec![(0.0, Some(0.0)), (reach, Some(reach))],
        ..plain(Ink::Soft)
    }];
    lines.extend(by_outcome(capacity, |trial| Some(trial.answered)));
    Panel {
        name: "Answered",
        y: Axis::from_zero(format!("answered [{}/s]", capacity.unit().name()), [most, reach])
            .of(Quantity::PerSecond),
        shades: Vec::new(),
        lines,
        mark: None,
        nothing: "no trial was made",
    }
}

/// Objective on a time whose figure is shown; `None` for the 99th percentile of the latency.
fn shown(capacity: &CapacityReport) -> Option<(Objective, f64)> {
    let of_time = |objective: &&Objective| matches!(objective.metric(), Metric::Time { .. });
    let objective = capacity.settings.objectives.iter().find(of_time)?;
    Some((*objective, objective.bound() * 1e3))
}

fn times_name(capacity: &CapacityReport) -> String {
    let usual = Metric::Time { clock: Clock::Latency, figure: TimeFigure::Quantile(0.99) };
    shown(capacity).map_or(usual, |(objective, _)| objective.metric()).to_string()
}

fn times(capacity: &CapacityReport) -> Panel {
    let shown = shown(capacity);
    let value = |trial: &Trial| match shown {
        None => trial.latency_ms.p99,
        Some((objective, _)) => match trial.judged(objective)?.measured {
            Measured::Figure(seconds) => Some(seconds * 1e3),
            Measured::Endless | Measured::Nothing => None,
        },
    };
    let mut lines = by_outcome(capacity, value);
    if let Some((objective, bound)) = shown {
        let reach = capacity.trials.iter().map(|trial| trial.offered).fold(0.0, f64::max);
        lines.insert(
            0,
            Line {
                name: objective.to_string(),
                points: vec![(0.0, Some(bound)), (reach, Some(bound))],
                ..plain(Ink::Soft)
            },
        );
    }
    let values: Vec<f64> = lines.iter().flat_map(|line| &line.points).filter_map(|&(_, ms)| ms).collect();
    Panel {
        name: "Objective",
        y: Axis::times(&times_name(capacity), values),
        shades: Vec::new(),
        lines,
        mark: None,
        nothing: "no call was answered",
    }
}

/// Trials as points, a series for each outcome that occurred.
fn by_outcome(capacity: &CapacityReport, value: impl Fn(&Trial) -> Option<f64>) -> Vec<Line> {
    let series = [
        ("within", Ink::Green, Shape::Disc, false),
        ("beyond", Ink::Vermilion, Shape::Square, false),
        ("says nothing", Ink::Soft, Shape::Diamond, true),
    ];
    let number = |outcome| match outcome {
        CapacityOutcome::Within => 0,
        CapacityOutcome::Beyond | CapacityOutcome::Overload => 1,
        CapacityOutcome::Unclear | CapacityOutcome::Client => 2,
    };
    (0..)
        .zip(series)
        .map(|(index, (name, ink, shape, is_hollow))| {
            let trials = capacity.trials.iter().filter(|trial| number(trial.outcome) == index);
            Line {
                name: name.to_owned(),
                dash: Dash::None,
                mark: Mark { shape, is_hollow, which: Marked::All },
                points: trials.map(|trial| (trial.offered, value(trial))).collect(),
                ..plain(ink)
            }
        })
        .filter(|line| !line.is_empty())
        .collect()
}

/// Thin line without points.
fn plain(ink: Ink) -> Line {
    Line {
        name: String::new(),
        ink,
        dash: Dash::Solid,
        width: 1.0,
        mark: Mark { shape: Shape::Disc, is_hollow: false, which: Marked::Lone },
        points: Vec::new(),
        whiskers: Vec::new(),
        arrows: Vec::new(),
    }
}
