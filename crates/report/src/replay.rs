//! A replay and its recording: figures, and the section of the report.

use std::fmt::{self, Display};

use httperf_plan::{Clients, Plan, Recorded, Replay, Workload};
use httperf_stats::{StatusChange, Summary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figures::Times;
use crate::grid::wrapped;
use crate::number::{count, counted, grouped, per_second, time};
use crate::table::{NAME_WIDTH, line, write_times, write_times_head};

/// Width of a line.
const WIDTH: usize = 80;

/// Kinds of changes that are listed; the others are counted together.
const CHANGES_SHOWN: usize = 10;

/// Comparison of a replay with its recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayComparison {
    /// Calls with the recorded status.
    pub same: u64,
    /// Calls with another status, or without a reply.
    pub changed: u64,
    /// Calls with another status than recorded, by recorded and measured status, most frequent first.
    pub changes: Vec<StatusChange>,
    /// Recorded times in milliseconds, of the calls that have a recorded and a measured one.
    pub recorded_ms: Times,
    /// Measured times of the same calls in milliseconds, from the first byte of the request to the end of the reply.
    pub measured_ms: Times,
}

impl ReplayComparison {
    /// Figures of a run; `None` if its workload is no replay, or nothing was recorded to compare with.
    #[must_use]
    pub fn of(plan: &Plan, summary: &Summary) -> Option<Self> {
        let (Workload::Replay(_), Some(figures)) = (&plan.workload, &summary.replay) else { return None };
        Some(Self {
            same: figures.same,
            changed: figures.changed(),
            changes: figures.by_count(),
            recorded_ms: Times::of(&figures.recorded),
            measured_ms: Times::of(&figures.measured),
        })
    }

    /// The most frequent changes, and the rest: `200, now 404: 12`.
    #[must_use]
    pub fn changes_named(&self) -> Vec<(String, u64)> {
        let (shown, rest) = self.changes.split_at(self.changes.len().min(CHANGES_SHOWN));
        let mut named: Vec<(String, u64)> = shown
            .iter()
            .map(|StatusChange { recorded, measured, count }| match measured {
                Some(status) => (format!("{recorded}, now {status}"), *count),
                None => (format!("{recorded}, now no reply"), *count),
            })
            .collect();
        // Beyond a bound, the kinds of changes are not recorded either.
        let listed: u64 = shown.iter().map(|change| change.count).sum();
        if !rest.is_empty() || self.changed > listed {
            named.push(("other changes".to_owned(), self.changed - listed));
        }
        named
    }
}

/// The recording, and how its requests are made.
#[must_use]
pub fn described(replay: &Replay) -> String {
    let Recorded { path, from, length, .. } = &replay.recorded;
    let file = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let of = match replay.clients {
        Clients::Recorded { .. } => format!("of {} ", counted(replay.recorded.clients, "client")),
        Clients::Independent { .. } => "independent of each other ".to_owned(),
    };
    let copies = match replay.copies.get() {
        1 => String::new(),
        copies => format!(", {copies} times"),
    };
    let speed = match replay.speed.to_bits() == 1f64.to_bits() {
        true => String::new(),
        false => format!(
            ", at {} times the speed",
            grouped(replay.speed, 3).trim_end_matches('0').trim_end_matches('.')
        ),
    };
    let requests = counted(replay.recorded.requests, "request");
    let recorded = match length.is_zero() {
        true => "recorded at one instant".to_owned(),
        false => format!("recorded in {}", time(length.as_secs_f64() * 1e3)),
    };
    format!("{requests} {of}in {file} ({from}), {recorded}{copies}{speed}")
}

/// The recording of a replay, what was left out of it, and what to know about it.
#[must_use]
pub fn replayed(replay: &Replay) -> String {
    Described(replay).to_string()
}

struct Described<'a>(&'a Replay);

impl Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_described(f, self.0)?;
        write_account(f, &self.0.recorded)
    }
}

/// The recording, how its requests are made, and their rates.
fn write_described(f: &mut fmt::Formatter<'_>, replay: &Replay) -> fmt::Result {
    for line in wrapped(&format!("Replay of {}", described(replay)), WIDTH) {
        writeln!(f, "{line}")?;
    }
    let seconds = replay.length().as_secs_f64();
    let peak = format!("up to {} in the busiest second of the recording", per_second(replay.peak_rate()));
    match seconds > 0.0 {
        true => {
            let mean = per_second(replay.count() as f64 / seconds);
            sentence(f, "load", &format!("{mean} for {}, {peak}", time(seconds * 1e3)))
        }
        false => sentence(f, "load", "all at once"),
    }
}

/// Requests that were left out, and notes.
fn write_account(f: &mut fmt::Formatter<'_>, recorded: &Recorded) -> fmt::Result {
    for left_out in &recorded.left_out {
        sentence(f, "left out", &format!("{}: {}", count(left_out.count), left_out.reason))?;
    }
    recorded.notes.iter().try_for_each(|note| sentence(f, "note", note))
}

/// Writes a sentence behind a name, on as many lines as it takes.
fn sentence(f: &mut fmt::Formatter<'_>, mut name: &str, text: &str) -> fmt::Result {
    for part in wrapped(text, WIDTH - NAME_WIDTH - 1) {
        line(f, std::mem::take(&mut name), part)?;
    }
    Ok(())
}

/// Section of the report, starting with an empty line; empty unless the workload is a replay.
pub(crate) fn replay<'a>(plan: &'a Plan, summary: &'a Summary) -> impl Display + 'a {
    Section { plan, summary }
}

struct Section<'a> {
    plan: &'a Plan,
    summary: &'a Summary,
}

impl Display for Section<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Workload::Replay(replay) = &self.plan.workload else { return Ok(()) };
        writeln!(f)?;
        write_described(f, replay)?;
        if let Some(comparison) = ReplayComparison::of(self.plan, self.summary) {
            if comparison.same + comparison.changed > 0 {
                let (same, changed) = (count(comparison.same), count(comparison.changed));
                line(f, "status", format_args!("as recorded {same}, another {changed}"))?;
                for (what, calls) in comparison.changes_named() {
                    line(f, "", format_args!("{what}: {}", count(calls)))?;
                }
            }
            if comparison.recorded_ms.samples > 0 {
                write_times_head(f, "")?;
                write_times(f, "recorded", &comparison.recorded_ms)?;
                write_times(f, "measured", &comparison.measured_ms)?;
            }
        }
        write_account(f, &replay.recorded)
    }
}
