//! Text of a search for a capacity: the result in the first line, and the trials in a table.

use std::fmt::Write as _;

use httperf_plan::objective::{Metric, Objective};

use super::{CapacityOutcome, CapacityReport, Cause, End, Interval, Trial};
use crate::number::{fixed, time};
use crate::objectives::Measured;
use crate::verdict::Level;

const WRITES: &str = "a String takes everything";

pub(super) fn text(capacity: &CapacityReport) -> String {
    let mut out = format!("{}\n", headline(capacity));
    let settings = &capacity.settings;
    write!(out, "\nobjectives: {}", listed(&settings.objectives)).expect(WRITES);
    if let Some(implied) = settings.implied {
        write!(out, "; implied: {implied}").expect(WRITES);
    }
    out.push('\n');
    if !capacity.trials.is_empty() {
        write_table(&mut out, capacity);
    }
    out
}

/// Result, for people and for scripts: `capacity` is followed by either the figure or a word.
fn headline(capacity: &CapacityReport) -> String {
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
        (Some(End::TooFewSamples), _, Some(most)) => {
            let too_much = too_much(capacity, most);
            let too_much =
                too_much.map_or_else(String::new, |least| format!(", and {} was too much", rate(least)));
            format!("capacity unknown (at {} {unit} nothing was missed{too_much}, but {end})", rate(most))
        }
        (_, Some(Interval { rate: figure, low, high }), _) => {
            let end = if end.is_empty() { end } else { format!("; {end}") };
            format!("capacity {} {unit} (95 %: {} to {}{end})", rate(figure), rate(low), rate(high))
        }
        (_, None, Some(least)) => format!("capacity at least {} {unit} ({end})", rate(least)),
        (_, None, None) => format!("capacity unknown ({end})"),
    }
}

/// Lowest rate above this one that the server did not sustain.
fn too_much(capacity: &CapacityReport, sustained: f64) -> Option<f64> {
    let is_too_much =
        |trial: &&Trial| matches!(trial.outcome, CapacityOutcome::Beyond | CapacityOutcome::Overload);
    let rates = capacity.trials.iter().filter(is_too_much).map(|trial| trial.offered);
    rates.filter(|&rate| rate > sustained).min_by(f64::total_cmp)
}

fn listed(objectives: &[Objective]) -> String {
    objectives.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// A row for each trial, with a column for each objective.
fn write_table(out: &mut String, capacity: &CapacityReport) {
    let objectives: Vec<Objective> =
        capacity.settings.objectives.iter().copied().chain(capacity.settings.implied).collect();
    let mut rows = vec![head(&objectives)];
    rows.extend(capacity.trials.iter().enumerate().map(|(index, trial)| row(index + 1, trial, &objectives)));
    // All columns are right-aligned except the last, which is text.
    let columns = rows[0].len();
    let widths: Vec<usize> = (0..columns)
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    out.push('\n');
    for row in &rows {
        let (last, numbers) = row.split_last().expect("a row has columns");
        for (text, width) in numbers.iter().zip(&widths) {
            write!(out, "{text:>width$}  ").expect(WRITES);
        }
        writeln!(out, "{last}").expect(WRITES);
    }
}

fn head(objectives: &[Objective]) -> Vec<String> {
    let names = ["trial", "rate", "length", "offered", "answered", "backlog"].map(str::to_owned);
    let metrics = objectives.iter().map(|objective| objective.metric().to_string());
    names.into_iter().chain(metrics).chain(["outcome".to_owned()]).collect()
}

fn row(number: usize, trial: &Trial, objectives: &[Objective]) -> Vec<String> {
    let numbers = [
        number.to_string(),
        rate(trial.rate),
        format!("{} s", fixed(trial.length_s, 1)),
        rate(trial.offered),
        rate(trial.answered),
        format!("{:+.1} %", trial.backlog_growth * 100.0),
    ];
    let measured = objectives.iter().map(|&objective| measured(trial, objective));
    numbers.into_iter().chain(measured).chain([outcome(trial)]).collect()
}

fn measured(trial: &Trial, objective: Objective) -> String {
    match (trial.measured(objective), objective.metric()) {
        (Some(Measured::Figure(seconds)), Metric::Time { .. }) => time(seconds * 1e3),
        (Some(Measured::Figure(share)), Metric::Share(_)) => format!("{} %", fixed(share * 100.0, 2)),
        (Some(Measured::Figure(figure)), Metric::Replies) => rate(figure),
        (Some(Measured::Endless), _) => "endless".to_owned(),
        (Some(Measured::Nothing) | None, _) => "n/a".to_owned(),
    }
}

fn outcome(trial: &Trial) -> String {
    let word = match trial.outcome {
        CapacityOutcome::Within => "within",
        CapacityOutcome::Beyond | CapacityOutcome::Overload => "beyond",
        CapacityOutcome::Unclear => "unclear",
        CapacityOutcome::Client => "client",
    };
    let reasons: Vec<String> = trial.reasons.iter().map(cause).collect();
    let mut text = word.to_owned();
    if !reasons.is_empty() {
        write!(text, ": {}", reasons.join(", ")).expect(WRITES);
    }
    if trial.verdict.level > Level::Valid && trial.outcome != CapacityOutcome::Client {
        write!(text, " ({})", trial.verdict.level).expect(WRITES);
    }
    text
}

fn cause(cause: &Cause) -> String {
    match cause {
        Cause::Missed(objective) => format!("missed {objective}"),
        Cause::TooFew(objective) => format!("too few samples for {objective}"),
        Cause::FellBehind => "fell behind".to_owned(),
        Cause::Unanswered => "left calls unanswered".to_owned(),
        Cause::Rising => "latency kept rising".to_owned(),
        Cause::Client(finding) => finding.clone(),
    }
}

/// Formats a rate to about four digits.
fn rate(rate: f64) -> String {
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
