//! A fleet: the ranks that carried out a run together, as a part of the document, and as a section of reports.

use std::fmt::{self, Display};
use std::time::Duration;

use httperf_plan::Plan;
use httperf_stats::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::forms::Screen;
use crate::grid::{Column, Grid, widths};
use crate::number::{count, fixed, ratio, time};
use crate::verdict::{Finding, Level, Reason, Verdict, verdict};
use crate::visible::is_deceptive;

/// Ranks that carried out a run together: equal processes, each with its shards of the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fleet {
    /// Number of ranks.
    pub size: u32,
    /// Ranks whose results are here, in order.
    pub ranks: Vec<FleetRank>,
    /// Reasons why the results of other ranks are missing, as far as they are known.
    #[serde(default)]
    pub lost: Vec<LostRank>,
    /// Peers that came to the meeting and do not belong to the fleet.
    #[serde(default)]
    pub strangers: u64,
    /// True if the plan was to go on without ranks that are lost (`--allow-missing`).
    #[serde(default)]
    pub allows_missing: bool,
}

/// A rank of a fleet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetRank {
    /// Number of the rank, from 0.
    pub rank: u32,
    /// Host name.
    pub host: String,
    /// Its clock, as rank 0 has measured it; `None` for rank 0 itself and for ranks that did not meet.
    pub clock: Option<RankClock>,
    /// Time from the agreed start to its own, by its clock, in nanoseconds.
    pub begun_late_ns: u64,
    /// 99th percentile of the schedule lag, in nanoseconds.
    pub lag_p99_ns: Option<u64>,
    /// Share of the time in which its busiest thread ran.
    pub cpu: f64,
    /// Verdict on its part.
    pub verdict: Verdict,
}

/// A clock, compared with that of rank 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RankClock {
    /// Time of day there less that of rank 0, in nanoseconds.
    pub offset_ns: i64,
    /// Bound on the error of the offset, and of the common start, in nanoseconds.
    pub uncertainty_ns: u64,
    /// Change of the offset of the clock of the run from before the run to its end, in nanoseconds; `None` if it was not
    /// measured again.
    pub drift_ns: Option<i64>,
}

/// A rank whose result is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LostRank {
    /// Number of the rank, from 0.
    pub rank: u32,
    /// Host name.
    pub host: String,
    /// Reason.
    pub reason: String,
    /// What it told of the run before. No figure of the result has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<ToldSeconds>,
}

/// Seconds that a rank told of before it was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToldSeconds {
    /// End of the last of them, since the start of the run, in nanoseconds.
    pub until_ns: u64,
    /// Calls that were due in them and were made.
    pub offered: u64,
    /// Complete replies.
    pub replies: u64,
    /// Calls that failed.
    pub failed_calls: u64,
}

impl ToldSeconds {
    /// Adds an interval that ended at this time after the start.
    pub fn add(&mut self, end: Duration, offered: u64, replies: u64, failed_calls: u64) {
        self.until_ns = self.until_ns.max(whole_nanos(end));
        self.offered += offered;
        self.replies += replies;
        self.failed_calls += failed_calls;
    }
}

impl Display for ToldSeconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let until = time(self.until_ns as f64 / 1e6);
        let (offered, replies) = (count(self.offered), count(self.replies));
        write!(f, "until {until}: {offered} calls offered, {replies} replies")?;
        match self.failed_calls {
            0 => Ok(()),
            failed => write!(f, ", {} failed", count(failed)),
        }
    }
}

impl FleetRank {
    /// A rank that measured this.
    #[must_use]
    pub fn of(rank: u32, host: &str, plan: &Plan, summary: &Summary) -> Self {
        let lag = summary.lag.quantile(0.99);
        let busiest = summary.usage.workers.iter().map(|worker| worker.cpu.total()).max();
        Self {
            rank,
            host: host.to_owned(),
            clock: None,
            begun_late_ns: whole_nanos(summary.begun_late),
            lag_p99_ns: lag.map(whole_nanos),
            cpu: ratio(busiest.unwrap_or_default().as_secs_f64(), summary.duration.as_secs_f64()).min(1.0),
            verdict: verdict(plan, summary),
        }
    }
}

fn whole_nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Fleet {
    /// A fleet of which the result of one rank is here.
    #[must_use]
    pub fn of_rank(rank: FleetRank, size: u32, allows_missing: bool) -> Self {
        Self { size, ranks: vec![rank], lost: Vec::new(), strangers: 0, allows_missing }
    }

    /// Adds the ranks of another part of the fleet.
    pub(crate) fn merge(&mut self, other: Self) {
        self.ranks.extend(other.ranks);
        self.ranks.sort_by_key(|rank| rank.rank);
        self.lost.extend(other.lost);
        self.lost.sort_by_key(|lost| lost.rank);
        // What one part lacks, the other may have.
        self.lost.retain(|lost| self.ranks.iter().all(|rank| rank.rank != lost.rank));
        self.strangers += other.strangers;
    }

    /// Takes up what the log of a rank says of the run, if the result of that rank is missing.
    ///
    /// # Errors
    /// If it is not, or if there is no such rank.
    pub fn add_log(&mut self, rank: u32, told: ToldSeconds) -> Result<(), String> {
        if !self.missing().contains(&rank) {
            return Err(match rank < self.size {
                true => {
                    format!("expected the log of a rank whose result is missing, got that of rank {rank}")
                }
                false => format!("expected the log of a rank below {}, got that of rank {rank}", self.size),
            });
        }
        let lost = match self.lost.iter_mut().find(|lost| lost.rank == rank) {
            Some(lost) => lost,
            None => {
                let reason = "its result is not here".to_owned();
                self.lost.push(LostRank { rank, host: "?".to_owned(), reason, told: None });
                self.lost.sort_by_key(|lost| lost.rank);
                let place = self.lost.iter().position(|lost| lost.rank == rank).unwrap_or_default();
                &mut self.lost[place]
            }
        };
        lost.told = Some(told);
        Ok(())
    }

    /// Ranks whose results are missing.
    #[must_use]
    pub fn missing(&self) -> Vec<u32> {
        (0..self.size).filter(|number| self.ranks.iter().all(|rank| rank.rank != *number)).collect()
    }

    /// Largest difference between the starts of two ranks, as far as their clocks are known: in nanoseconds, with the bound on
    /// its error. `None` if fewer than two ranks are here, or if they did not meet.
    #[must_use]
    pub fn start_spread_ns(&self) -> Option<(u64, u64)> {
        let known = |rank: &&FleetRank| rank.rank == 0 || rank.clock.is_some();
        let met: Vec<&FleetRank> = self.ranks.iter().filter(known).collect();
        if met.len() < 2 {
            return None;
        }
        let late = || met.iter().map(|rank| rank.begun_late_ns);
        let unsure = met.iter().filter_map(|rank| rank.clock).map(|clock| clock.uncertainty_ns).max();
        Some((late().max()? - late().min()?, unsure?))
    }

    /// Largest drift of a clock during the run, in nanoseconds.
    #[must_use]
    pub fn drift_ns(&self) -> Option<u64> {
        self.ranks.iter().filter_map(|rank| rank.clock?.drift_ns).map(i64::unsigned_abs).max()
    }

    /// Checks that the document is of a fleet that can be.
    ///
    /// # Errors
    /// The field that is wrong, the value expected, and the value found.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (index, rank) in self.ranks.iter().enumerate() {
            if rank.rank >= self.size {
                return Err(format!(
                    "ranks[{index}].rank: expected a number below {}, got {}",
                    self.size, rank.rank
                ));
            }
            if self.ranks[..index].iter().any(|earlier| earlier.rank == rank.rank) {
                return Err(format!("ranks[{index}].rank: expected each rank once, got {} again", rank.rank));
            }
            rank.verdict.check().map_err(|wrong| format!("ranks[{index}].verdict.{wrong}"))?;
        }
        Ok(())
    }

    /// Reasons that speak against the figures of the whole and that the whole does not show.
    pub(crate) fn reasons(&self, whole: &[Reason]) -> Vec<Reason> {
        let mut reasons = Vec::new();
        let missing = self.missing();
        if !missing.is_empty() {
            let level = if self.allows_missing { Level::Suspect } else { Level::Invalid };
            let finding = Finding::RanksMissing { ranks: missing.len() as u32, size: self.size };
            reasons.push(Reason { level, finding });
        }
        for rank in &self.ranks {
            let own = rank.verdict.reasons.iter().filter(|reason| reason.is_of_machine());
            for Reason { level, finding } in own.filter(|reason| reason.level > Level::Valid) {
                let is_known = |known: &Reason| {
                    known.level >= *level
                        && std::mem::discriminant(&known.finding) == std::mem::discriminant(finding)
                };
                if !whole.iter().any(is_known) {
                    let finding = Finding::AtRank { rank: rank.rank, finding: Box::new(finding.clone()) };
                    reasons.push(Reason { level: *level, finding });
                }
            }
        }
        reasons
    }

    /// Start and drift in a clause.
    #[must_use]
    pub fn agreement(&self) -> Option<String> {
        let in_ms = |nanos: u64| time(nanos as f64 / 1e6);
        let (spread, unsure) = self.start_spread_ns()?;
        let drift = self.drift_ns().map(|drift| format!(", clock drift {}", in_ms(drift)));
        Some(format!(
            "started within {} of each other (\u{b1} {}){}",
            in_ms(spread),
            in_ms(unsure),
            drift.unwrap_or_default()
        ))
    }

    /// Ranks whose results are missing, a sentence each.
    #[must_use]
    pub fn losses(&self) -> Vec<String> {
        let sentence = |rank: u32| match self.lost.iter().find(|lost| lost.rank == rank) {
            Some(LostRank { host, reason, told, .. }) => {
                let told = told.map_or_else(String::new, |told| format!("; {told}"));
                format!("rank {rank} ({host}): {reason}{told}")
            }
            None => format!("rank {rank}"),
        };
        self.missing().into_iter().map(sentence).collect()
    }

    /// Cells of a row for each rank: number, host, clock, late by, lag, processor, verdict.
    #[must_use]
    pub fn rows(&self) -> Vec<[String; 7]> {
        let in_ms = |nanos: u64| time(nanos as f64 / 1e6);
        let row = |rank: &FleetRank| {
            let clock = rank.clock.map_or_else(
                || "-".to_owned(),
                |clock| {
                    let sign = if clock.offset_ns < 0 { "-" } else { "+" };
                    let offset = in_ms(clock.offset_ns.unsigned_abs());
                    format!("{sign}{offset} \u{b1} {}", in_ms(clock.uncertainty_ns))
                },
            );
            [
                rank.rank.to_string(),
                rank.host.replace(is_deceptive, "\u{fffd}"),
                clock,
                in_ms(rank.begun_late_ns),
                rank.lag_p99_ns.map_or_else(|| "n/a".to_owned(), in_ms),
                format!("{} %", fixed(rank.cpu * 100.0, 0)),
                rank.verdict.level.to_string(),
            ]
        };
        self.ranks.iter().map(row).collect()
    }
}

/// Titles of the columns of [`Fleet::rows`].
pub const TITLES: [&str; 7] = ["rank", "host", "clock", "begun late", "lag p99", "CPU", "verdict"];

/// Section of the report, starting with an empty line; empty if the run was not a fleet's.
pub(crate) fn fleet(fleet: Option<&Fleet>, screen: Screen) -> impl Display + '_ {
    Section { fleet, columns: screen.columns }
}

struct Section<'a> {
    fleet: Option<&'a Fleet>,
    /// Columns of the terminal.
    columns: Option<usize>,
}

impl Display for Section<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(fleet) = self.fleet else { return Ok(()) };
        write!(f, "\nFleet of {}", fleet.size)?;
        match fleet.agreement() {
            Some(agreement) => writeln!(f, ": {agreement}")?,
            None => writeln!(f)?,
        }
        let rows = fleet.rows();
        let widths = widths(&rows);
        let column = |index: usize| Column::new(TITLES[index], "", widths[index]);
        let columns = vec![
            column(0),
            column(1).text(),
            column(2).text().rank(2),
            column(3),
            column(4),
            column(5).rank(1),
        ];
        let grid = Grid::new(columns, TITLES[6], self.columns);
        write!(f, "{}", grid.head())?;
        for row in &rows {
            write!(f, "{}", grid.row(&row[..6], &row[6]))?;
        }
        for loss in fleet.losses() {
            writeln!(f, "missing: {loss}")?;
        }
        if fleet.strangers > 0 {
            writeln!(f, "{}", sent_away(fleet.strangers))?;
        }
        Ok(())
    }
}

/// Number of those who came to the meeting without belonging to the fleet, as a sentence.
#[must_use]
pub fn sent_away(strangers: u64) -> String {
    match strangers {
        1 => "1 stranger came to the meeting and was sent away".to_owned(),
        strangers => format!("{strangers} strangers came to the meeting and were sent away"),
    }
}
