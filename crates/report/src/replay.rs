//! A replay and its recording: figures, and the section of the report.

use std::fmt::{self, Display};

use httperf_plan::{Clients, Plan, Recorded, Replay, Workload};
use httperf_stats::{StatusChange, Summary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figures::Times;
use crate::number::{count, grouped, time};
use crate::table::{line, write_times, write_times_head};

/// Kinds of changes that are listed; the others are counted together.
const CHANGES_SHOWN: usize = 10;

/// Comparison of a replay with its recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayComparison {
    /// Calls with the recorded status.
    pub same: u64,
    /// Calls with another status, or without a reply.
    pub changed: u64,
    /// The same by recorded and measured status, most frequent first.
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
    pub(crate) fn changes_named(&self) -> Vec<(String, u64)> {
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
pub(crate) fn described(replay: &Replay) -> String {
    let Recorded { path, from, length, .. } = &replay.recorded;
    let file = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let of = match replay.clients {
        Clients::Recorded { .. } => format!("of {} clients ", count(replay.recorded.clients)),
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
    let requests = count(replay.recorded.requests);
    let took = time(length.as_secs_f64() * 1e3);
    format!("{requests} requests {of}in {file} ({from}), recorded in {took}{copies}{speed}")
}

/// The recording of a replay, what was left out of it, and what to know about it.
#[must_use]
pub fn replayed(replay: &Replay) -> String {
    Described(replay).to_string()
}

struct Described<'a>(&'a Replay);

impl Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Replay of {}", described(self.0))?;
        write_account(f, &self.0.recorded)
    }
}

/// Requests that were left out, and notes.
fn write_account(f: &mut fmt::Formatter<'_>, recorded: &Recorded) -> fmt::Result {
    for left_out in &recorded.left_out {
        line(f, "left out", format_args!("{} {}", left_out.count, left_out.reason))?;
    }
    for note in &recorded.notes {
        line(f, "note", note)?;
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
        writeln!(f, "\nReplay of {}", described(replay))?;
        if let (Some(comparison), Some(figures)) =
            (ReplayComparison::of(self.plan, self.summary), &self.summary.replay)
        {
            if comparison.same + comparison.changed > 0 {
                line(
                    f,
                    "status",
                    format_args!("as recorded {}, another {}", comparison.same, comparison.changed),
                )?;
                for (what, calls) in comparison.changes_named() {
                    line(f, "", format_args!("{what}: {calls}"))?;
                }
            }
            if !figures.recorded.is_empty() {
                write_times_head(f, "")?;
                write_times(f, "recorded", &figures.recorded)?;
                write_times(f, "measured", &figures.measured)?;
            }
        }
        write_account(f, &replay.recorded)
    }
}
