//! Table of a sweep, for people.

use std::fmt::{self, Display};

use super::{End, Mean, State, Step, Sweep};
use crate::all_calls::Percentile;
use crate::number::{count, grouped, percent};
use crate::objectives::Kept;

/// Spaces between columns.
const GAP: usize = 2;

/// A row for each rate, followed by the conclusions.
#[must_use]
pub fn table(sweep: &Sweep) -> impl Display + '_ {
    Table(sweep)
}

struct Table<'a>(&'a Sweep);

impl Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_head(f, self.0)?;
        if !self.0.figures.steps.is_empty() {
            writeln!(f)?;
            write_rows(f, self.0)?;
            writeln!(f)?;
        }
        write_findings(f, self.0)
    }
}

/// Subject of the sweep.
fn write_head(f: &mut fmt::Formatter<'_>, sweep: &Sweep) -> fmt::Result {
    let Sweep { settings, plan, .. } = sweep;
    let servers: Vec<String> = plan.targets.iter().map(|target| target.endpoint.to_string()).collect();
    let unit = sweep.unit().name();
    write!(f, "{}: ", servers.join(", "))?;
    match (&settings.rates[..], settings.rates.len()) {
        ([only], _) => write!(f, "{} {unit}/s", rate(*only))?,
        ([first, .., last], rates) => {
            write!(f, "{rates} rates from {} to {} {unit}/s", rate(*first), rate(*last))?;
        }
        ([], _) => write!(f, "no rates")?,
    }
    if settings.repeats > 1 {
        write!(f, ", {} runs at each", count(settings.repeats.into()))?;
    }
    if settings.shuffled_by.is_some() {
        f.write_str(", in random order")?;
    }
    if let Some(runtime) = plan.runtime {
        write!(f, "; {} s each", grouped_short(runtime.as_secs_f64()))?;
    }
    writeln!(f)
}

/// A column: title, unit and cells.
struct Column {
    title: &'static str,
    unit: &'static str,
    cells: Vec<String>,
    is_text: bool,
}

impl Column {
    fn width(&self) -> usize {
        let cells = self.cells.iter().map(String::as_str);
        cells.chain([self.title, self.unit]).map(|text| text.chars().count()).max().unwrap_or(0)
    }
}

fn write_rows(f: &mut fmt::Formatter<'_>, sweep: &Sweep) -> fmt::Result {
    let steps = &sweep.figures.steps;
    let column = |title, unit, cell: &dyn Fn(&Step) -> String| Column {
        title,
        unit,
        cells: steps.iter().map(cell).collect(),
        is_text: false,
    };
    let text = |title, cell: &dyn Fn(&Step) -> String| Column { is_text: true, ..column(title, "", cell) };
    let mut columns = vec![
        column(sweep.unit().name(), "[/s]", &|step| rate(step.rate)),
        column("achieved", "[/s]", &|step| grouped(step.achieved.value, 1)),
        column("replies", "[/s]", &|step| figure(&step.reply_rate, 1)),
        column("min", "[/s]", &|step| grouped(step.reply_rate_min, 1)),
        column("max", "[/s]", &|step| grouped(step.reply_rate_max, 1)),
        column("stddev", "[/s]", &|step| grouped(step.reply_rate_stddev, 1)),
        column("response", "[ms]", &|step| {
            step.response_ms.as_ref().map_or_else(none, |mean| grouped(mean.value, 2))
        }),
        column("p50", "[ms]", &|step| time(step.all_p50)),
        column("p99", "[ms]", &|step| time(step.all_p99)),
        column("errors", "[%]", &|step| grouped(100.0 * step.error_share.value, 2)),
        text("verdict", &verdict),
    ];
    if steps.iter().any(|step| step.objectives.is_some()) {
        columns.push(text("objectives", &objectives));
    }
    columns.push(text("notes", &notes));
    for line in 0..steps.len() + 2 {
        let mut text = String::new();
        for (index, column) in columns.iter().enumerate() {
            let cell = match line {
                0 => column.title,
                1 => column.unit,
                row => &column.cells[row - 2],
            };
            let (width, gap) = (column.width(), if index > 0 { GAP } else { 0 });
            text += &match column.is_text {
                true => format!("{:gap$}{cell:<width$}", ""),
                false => format!("{:gap$}{cell:>width$}", ""),
            };
        }
        writeln!(f, "{}", text.trim_end())?;
    }
    Ok(())
}

fn verdict(step: &Step) -> String {
    match &step.reasons[..] {
        [] => step.verdict.to_string(),
        reasons => format!("{}: {}", step.verdict, reasons.join(", ")),
    }
}

fn objectives(step: &Step) -> String {
    let which = step.objectives_not_met.join(", ");
    match step.objectives {
        None => String::new(),
        Some(Kept::Met) => "met".to_owned(),
        Some(kept) => format!("{kept} {which}"),
    }
}

/// Remarks not visible in the figures of a rate.
fn notes(step: &Step) -> String {
    let mut notes = match step.state {
        State::KeptUp => Vec::new(),
        State::Saturated => vec![format!("saturated: {} answered", percent(step.answered_share.value))],
        State::Unanswered => vec!["nothing answered".to_owned()],
        State::ClientLimited => vec!["client-limited".to_owned()],
    };
    if step.client_limited_runs > 0 && step.state != State::ClientLimited {
        notes.push(format!("{} of {} runs left out, client-limited", step.client_limited_runs, step.runs));
    }
    if step.lacks_recovery {
        notes.push("not recovered beforehand".to_owned());
    }
    notes.join("; ")
}

fn write_findings(f: &mut fmt::Formatter<'_>, sweep: &Sweep) -> fmt::Result {
    let Sweep { figures, settings, .. } = sweep;
    let unit = sweep.unit();
    let steps = &figures.steps;
    if steps.is_empty() {
        writeln!(f, "No run was complete.")?;
    } else {
        write_knee(f, sweep)?;
    }
    if let Some(peak) = figures.peak {
        let most = grouped(peak.good_reply_rate, 1);
        writeln!(f, "Most replies without an error: {most}/s, at {} {}/s.", rate(peak.rate), unit.name())?;
    }
    write_objectives(f, sweep)?;
    let limited: Vec<String> =
        steps.iter().filter(|step| step.state == State::ClientLimited).map(|step| rate(step.rate)).collect();
    if !limited.is_empty() {
        writeln!(
            f,
            "At {}/s this client was the bottleneck: these figures say nothing about the server and are ignored above.",
            listed(&limited)
        )?;
    }
    if settings.repeats > 1 && !steps.is_empty() {
        writeln!(f, "Figures are means over the runs at a rate; ± for 95 % confidence.")?;
    }
    match sweep.end {
        Some(End::Complete) => Ok(()),
        Some(End::Saturated) => {
            let stop_after = settings.stop_after.unwrap_or_default();
            let rates = if stop_after == 1 { "a rate" } else { "rates in a row" };
            let how_many = if stop_after == 1 { String::new() } else { format!("{stop_after} ") };
            writeln!(
                f,
                "Higher rates were skipped after {how_many}{rates} that the server could not keep up with."
            )
        }
        Some(End::Asked) => {
            let (made, all) = (runs_made(sweep), runs_meant(sweep));
            writeln!(f, "Interrupted after {} of {} runs.", count(made), count(all))
        }
        None => writeln!(f, "In progress: {} of {} runs.", count(runs_made(sweep)), count(runs_meant(sweep))),
    }
}

fn runs_made(sweep: &Sweep) -> u64 {
    sweep.figures.steps.iter().map(|step| u64::from(step.runs)).sum()
}

fn runs_meant(sweep: &Sweep) -> u64 {
    sweep.settings.rates.len() as u64 * u64::from(sweep.settings.repeats)
}

fn write_knee(f: &mut fmt::Formatter<'_>, sweep: &Sweep) -> fmt::Result {
    let unit = sweep.unit().name();
    let steps = &sweep.figures.steps;
    let any = |state| steps.iter().any(|step| step.state == state);
    if let Some(knee) = sweep.figures.knee {
        return writeln!(f, "Knee: {} {unit}/s; beyond it, replies no longer follow.", grouped(knee, 0));
    }
    if !any(State::Saturated) && !any(State::Unanswered) {
        return writeln!(f, "The knee was not reached.");
    }
    match any(State::KeptUp) {
        true => writeln!(f, "No knee found: whether the server fell behind does not depend on the rate."),
        false => writeln!(f, "No knee found: the server kept up with none of the rates."),
    }
}

fn write_objectives(f: &mut fmt::Formatter<'_>, sweep: &Sweep) -> fmt::Result {
    let all = &sweep.plan.objectives.all;
    if all.is_empty() || sweep.figures.steps.is_empty() {
        return Ok(());
    }
    let all: Vec<String> = all.iter().map(ToString::to_string).collect();
    let (all, unit) = (all.join(", "), sweep.unit().name());
    let Some(highest) = sweep.figures.objectives_met_at else {
        return writeln!(f, "Objectives ({all}): met at none of these rates.");
    };
    let missed_below: Vec<String> = sweep
        .figures
        .steps
        .iter()
        .filter(|step| step.rate < highest && step.objectives == Some(Kept::Missed))
        .map(|step| rate(step.rate))
        .collect();
    write!(f, "Objectives ({all}): met up to {} {unit}/s", rate(highest))?;
    match &missed_below[..] {
        [] => writeln!(f, "."),
        rates => writeln!(f, ", but missed at {}/s.", listed(rates)),
    }
}

/// Joins items, such as `1, 2 and 3`.
fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// Formats a rate with as many decimals as it has, up to three.
fn rate(rate: f64) -> String {
    grouped_short(rate)
}

fn grouped_short(value: f64) -> String {
    let text = grouped(value, 3);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats a mean with its margin.
fn figure(mean: &Mean, decimals: usize) -> String {
    let value = grouped(mean.value, decimals);
    match mean.margin() {
        Some(margin) => format!("{value} ± {}", grouped(margin, decimals)),
        None => value,
    }
}

/// A percentile of all calls in ms; `>` marks one that is longer because calls had no reply.
fn time(percentile: Option<Percentile>) -> String {
    percentile.map_or_else(none, |Percentile { ms, or_more }| {
        format!("{}{}", if or_more { ">" } else { "" }, grouped(ms, 2))
    })
}

/// Placeholder for a missing figure.
fn none() -> String {
    "n/a".to_owned()
}
