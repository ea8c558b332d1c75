//! The section on objectives.

use std::fmt::{self, Display};

use httperf_plan::objective::{Clock, Metric};

use super::{Judged, Kept, Measured};
use crate::number::{fine_percent, fixed, grouped, time};
use crate::result::{Document, EarlyEnd};

/// Minimum width of the column of objectives.
const NAME_WIDTH: usize = 16;

/// Multiple of the bound above which a percentage is no longer helpful.
const TIMES_FROM: f64 = 10.0;

/// The section `Objectives`, starting with an empty line; empty if there are none.
pub(crate) fn section(document: &Document) -> impl Display + '_ {
    Section { document }
}

struct Section<'a> {
    document: &'a Document,
}

impl Display for Section<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = &self.document.objectives;
        if all.is_empty() {
            return Ok(());
        }
        let met = all.iter().filter(|judged| judged.outcome == Kept::Met).count();
        writeln!(f, "\nObjectives: {met} of {} met", all.len())?;
        let names: Vec<String> = all.iter().map(Judged::name).collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(NAME_WIDTH);
        for (judged, name) in all.iter().zip(names) {
            writeln!(f, "  {:<8} {name:<width$}  {judged}", judged.outcome)?;
        }
        match self.document.parts.iter().any(|part| part.ended_early == Some(EarlyEnd::Missed)) {
            true => writeln!(f, "  The run {}.", EarlyEnd::Missed),
            false => Ok(()),
        }
    }
}

/// Measured value and its distance from the bound: `12.3 ms, 75.4 % below the bound`.
impl Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let metric = self.objective.metric();
        match (self.measured, metric) {
            (Measured::Nothing, _) => return f.write_str("no data"),
            (Measured::Endless, Metric::Time { clock: Clock::Session, .. }) => {
                f.write_str("endless: sessions failed")?;
            }
            (Measured::Endless, _) => match self.at_least {
                Some(seconds) => write!(f, "> {}: calls had no usable reply in time", time(seconds * 1e3))?,
                None => f.write_str("endless: calls had no usable reply in time")?,
            },
            (Measured::Figure(figure), _) => {
                let sign = if self.at_least.is_some() { "> " } else { "" };
                write!(f, "{sign}{}", amount(metric, figure))?;
            }
        }
        match self.measured {
            _ if self.outcome == Kept::Unknown => {
                let (samples, needed) = (self.samples, self.samples_needed());
                write!(f, ", from {samples} of the {needed} samples needed")
            }
            Measured::Figure(figure) => write_distance(f, figure, self.objective.bound()),
            Measured::Endless | Measured::Nothing => Ok(()),
        }
    }
}

/// Side of the bound and distance from it.
fn write_distance(f: &mut fmt::Formatter<'_>, figure: f64, bound: f64) -> fmt::Result {
    if bound == 0.0 {
        return Ok(());
    }
    let times = figure / bound;
    match (times - 1.0) * 100.0 {
        0.0 => f.write_str(", at the bound"),
        _ if times >= TIMES_FROM => write!(f, ", {} times the bound", grouped(times, 1)),
        percent if percent > 0.0 => write!(f, ", {} % above the bound", fixed(percent, 1)),
        percent => write!(f, ", {} % below the bound", fixed(-percent, 1)),
    }
}

/// A figure of a metric with its unit.
fn amount(metric: Metric, figure: f64) -> String {
    match metric {
        Metric::Time { .. } => time(figure * 1e3),
        Metric::Share(_) => fine_percent(figure),
        Metric::Replies => format!("{}/s", grouped(figure, 1)),
    }
}
