//! Text of a search for a capacity: the trials in a table, and the result in the last line.

use std::fmt::{self, Display, Write as _};

use httperf_plan::objective::{Metric, Objective};

use super::{CapacityOutcome, CapacityReport, Cause, End, Interval, Trial};
use crate::forms::Screen;
use crate::grid::{Column, Grid};
use crate::number::{fine_percent, fixed, time};
use crate::objectives::Measured;
use crate::verdict::Level;

const WRITES: &str = "a String takes everything";

/// Objectives and trials.
pub(crate) fn body(capacity: &CapacityReport, screen: Screen) -> String {
    let settings = &capacity.settings;
    let mut out = format!("objectives: {}", listed(&settings.objectives));
    if let Some(implied) = settings.implied {
        write!(out, "; implied: {implied}").expect(WRITES);
    }
    if let Some(ranks) = capacity.trials.first().and_then(|trial| trial.ranks) {
        write!(out, "; a fleet of {ranks}").expect(WRITES);
    }
    let mut out = screen.fitted(out + "\n");
    if !capacity.trials.is_empty() {
        let objectives = capacity.objectives();
        let grid = grid(&objectives, screen);
        out.push('\n');
        out += &grid.head();
        for (index, trial) in capacity.trials.iter().enumerate() {
            let mut cells = cells(trial, &objectives);
            cells.insert(0, (index + 1).to_string());
            out += &grid.row(&cells, &outcome(trial));
        }
    }
    out
}

/// The result.
pub(crate) fn ending(capacity: &CapacityReport) -> String {
    format!("\n{}\n", headline(capacity))
}

/// Result, for people and for scripts: `capacity` is followed by either the figure or a word.
pub(super) fn headline(capacity: &CapacityReport) -> String {
    let found = &capacity.found;
    let unit = format!("{}/s", capacity.unit().name());
    let settings = &capacity.settings;
    let because = found.because.as_ref().map_or_else(String::new, |because| format!(": {because}"));
    let end = match found.end {
        None => "the search continues".to_owned(),
        Some(End::Precise) => String::new(),
        Some(End::TrialsUsedUp) => "all --trials were made".to_owned(),
        Some(End::NeverReached) => "--max-rate was sustained".to_owned(),
        Some(End::ClientLimited) => format!("this client cannot offer more{because}"),
        Some(End::ClientDisturbed) => format!("this client spoiled the last trials{because}"),
        Some(End::BelowMinimum) => "--min-rate was not sustained".to_owned(),
        Some(End::TooFewSamples) => {
            "even the longest trials have too few samples; --trial-max allows longer ones".to_owned()
        }
        Some(End::Asked) => "interrupted".to_owned(),
        Some(End::Broken) => format!("ended early{because}"),
    };
    match (found.end, found.capacity, found.sustained) {
        (Some(End::BelowMinimum), ..) => format!("capacity below {} {unit} ({end})", rate(settings.min_rate)),
        (Some(End::NeverReached | End::ClientLimited), _, Some(least)) => {
            format!("capacity at least {} {unit} ({end})", rate(least))
        }
        (Some(End::TooFewSamples), ..) => match unclear(capacity)
            .into_iter()
            .chain(found.sustained)
            .reduce(f64::max)
        {
            Some(most) => {
                let too_much = too_much(capacity, most);
                let too_much =
                    too_much.map_or_else(String::new, |least| format!(", and {} was too much", rate(least)));
                format!("capacity unknown (at {} {unit} nothing was missed{too_much}, but {end})", rate(most))
            }
            None => format!("capacity unknown ({end})"),
        },
        (_, Some(Interval { rate: figure, low, high }), _) => {
            let further: Vec<String> = [end]
                .into_iter()
                .filter(|end| !end.is_empty())
                .chain(passed_above(capacity, figure))
                .collect();
            let further: String = further.iter().map(|words| format!("; {words}")).collect();
            format!("capacity {} {unit} (95 %: {} to {}{further})", rate(figure), rate(low), rate(high))
        }
        (_, None, Some(least)) => format!("capacity at least {} {unit} ({end})", rate(least)),
        (_, None, None) => match unclear(capacity) {
            Some(most) => format!(
                "capacity unknown (at {} {unit} nothing was missed, but there were too few samples; {end})",
                rate(most)
            ),
            None => format!("capacity unknown ({end})"),
        },
    }
}

/// Reason why the capacity is lower than a rate that was sustained: the trial was too short to show that it was too much, or
/// others contradict it.
fn passed_above(capacity: &CapacityReport, figure: f64) -> Option<String> {
    let within = capacity.trials.iter().filter(|trial| trial.outcome == CapacityOutcome::Within);
    let passed = within.max_by(|one, other| one.offered.total_cmp(&other.offered))?;
    // To the digits that are shown.
    if rate(passed.offered) == rate(figure) || passed.offered < figure {
        return None;
    }
    let failed = capacity.trials.iter().filter(|trial| trial.outcome.is_beyond());
    let failed =
        failed.map(|trial| trial.offered).filter(|&offered| offered <= passed.offered).min_by(f64::total_cmp);
    Some(match failed {
        Some(failed) => format!("{} passed a trial, {} did not", rate(passed.offered), rate(failed)),
        None => {
            let excess = fine_percent(passed.offered / figure - 1.0);
            let length = time(passed.length_s * 1e3);
            format!(
                "{} passed, as {length} are too short to show an excess of {excess}",
                rate(passed.offered)
            )
        }
    })
}

/// Highest rate of a trial in which nothing was missed, with too few samples to tell whether the rate was sustained.
fn unclear(capacity: &CapacityReport) -> Option<f64> {
    let unclear = capacity.trials.iter().filter(|trial| trial.outcome == CapacityOutcome::Unclear);
    unclear.map(|trial| trial.offered).max_by(f64::total_cmp)
}

/// Lowest rate above this one that the server did not sustain.
fn too_much(capacity: &CapacityReport, sustained: f64) -> Option<f64> {
    let rates = capacity.trials.iter().filter(|trial| trial.outcome.is_beyond()).map(|trial| trial.offered);
    rates.filter(|&rate| rate > sustained).min_by(f64::total_cmp)
}

fn listed(objectives: &[Objective]) -> String {
    objectives.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Widths of cells: large enough for what is usual, so that rows can be shown one by one.
const RATE_WIDTH: usize = 8;
const FIGURE_WIDTH: usize = 8;

/// A row for each trial, with a column for each objective.
fn grid(objectives: &[Objective], screen: Screen) -> Grid {
    let columns = [
        Column::new("trial", "", 0).spare(2),
        Column::new("rate", "", RATE_WIDTH),
        Column::new("length", "", "100.0 s".len()).rank(2),
        Column::new("offered", "", RATE_WIDTH).rank(1),
        Column::new("answered", "", RATE_WIDTH).spare(1),
        Column::new("backlog", "", "+100.0 %".len()).rank(3),
    ];
    let metrics =
        objectives.iter().map(|objective| Column::new(objective.metric().to_string(), "", FIGURE_WIDTH));
    Grid::new(columns.into_iter().chain(metrics).collect(), "outcome", screen.columns)
}

/// Figures of a trial, and the measured values of the objectives.
#[must_use]
pub fn cells(trial: &Trial, objectives: &[Objective]) -> Vec<String> {
    let numbers = [
        rate(trial.rate),
        format!("{} s", fixed(trial.length_s, 1)),
        rate(trial.offered),
        rate(trial.answered),
        format!("{:+.1} %", trial.backlog_growth * 100.0),
    ];
    let measured = objectives.iter().map(|&objective| measured(trial, objective));
    numbers.into_iter().chain(measured).collect()
}

/// Measured value of an objective. Where too many calls had no reply, it is longer than any that was answered.
pub(crate) fn measured(trial: &Trial, objective: Objective) -> String {
    let Some(judged) = trial.judged(objective) else { return "n/a".to_owned() };
    match (judged.measured, objective.metric(), judged.at_least) {
        (Measured::Figure(_) | Measured::Endless, _, Some(seconds)) => format!("> {}", time(seconds * 1e3)),
        (Measured::Figure(seconds), Metric::Time { .. }, None) => time(seconds * 1e3),
        (Measured::Figure(share), Metric::Share(_), None) => fine_percent(share),
        (Measured::Figure(figure), Metric::Replies, None) => rate(figure),
        (Measured::Endless, _, None) => "endless".to_owned(),
        (Measured::Nothing, ..) => "n/a".to_owned(),
    }
}

/// Outcome of a trial with its reasons.
#[must_use]
pub fn outcome(trial: &Trial) -> String {
    let reasons: Vec<String> = trial.reasons.iter().map(ToString::to_string).collect();
    let mut text = trial.outcome.word().to_owned();
    if !reasons.is_empty() {
        write!(text, ": {}", reasons.join(", ")).expect(WRITES);
    }
    if trial.verdict.level > Level::Valid && trial.outcome != CapacityOutcome::Client {
        write!(text, " ({})", trial.verdict.level).expect(WRITES);
    }
    text
}

impl CapacityOutcome {
    /// Returns true if the server did not sustain the rate.
    #[must_use]
    pub fn is_beyond(self) -> bool {
        matches!(self, Self::Beyond | Self::Overload)
    }

    /// Word for people. Both kinds of overload are beyond the capacity.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Within => "within",
            Self::Beyond | Self::Overload => "beyond",
            Self::Unclear => "unclear",
            Self::Client => "client",
        }
    }
}

impl Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missed(objective) => write!(f, "missed {objective}"),
            Self::TooFew(objective) => write!(f, "too few samples for {objective}"),
            Self::FellBehind => f.write_str("fell behind"),
            Self::Unanswered => f.write_str("left calls unanswered"),
            Self::Rising => f.write_str("latency kept rising"),
            Self::Client(finding) => f.write_str(finding),
        }
    }
}

/// Formats a rate to about four digits.
#[must_use]
pub fn rate(rate: f64) -> String {
    let decimals = match rate {
        rate if rate >= 999.95 => 0,
        rate if rate >= 99.995 => 1,
        rate if rate >= 9.9995 => 2,
        _ => 3,
    };
    let digits = fixed(rate, decimals);
    match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => digits,
    }
}
