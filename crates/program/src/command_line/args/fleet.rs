//! Arguments about the processes that carry out a run together.

use chrono::{DateTime, FixedOffset};
use httperf_fleet::MeetingPlace;
use httperf_fleet::rank::Rank;

use crate::command_line::grammar::ParseStop;

/// Arguments about a fleet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FleetArgs {
    /// `--fleet`.
    pub rank: Option<RankChoice>,
    /// `--meet`.
    pub meet: Option<MeetingPlace>,
    /// `--meet-timeout` in seconds.
    pub patience: Option<f64>,
    /// `--start-at`.
    pub start_at: Option<DateTime<FixedOffset>>,
    /// `--allow-missing`.
    pub allows_missing: bool,
}

/// `--fleet`: which of several processes this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankChoice {
    /// The one that the launcher's variables name.
    Auto,
    /// This one.
    Given(Rank),
}

impl FleetArgs {
    pub(super) fn check(&self) -> Result<(), ParseStop> {
        let needs = |option: &str, other: &str| {
            Err(ParseStop::rejected(format!(
                "{option}: needs {other}, which says which of several processes this is"
            )))
        };
        let given = [
            ("--meet", self.meet.is_some()),
            ("--meet-timeout", self.patience.is_some()),
            ("--allow-missing", self.allows_missing),
        ];
        let meeting = given.into_iter().find(|&(_, is_given)| is_given).map(|(option, _)| option);
        match (self.rank, meeting) {
            (None, Some(option)) => needs(option, "--fleet"),
            (Some(_), Some(option)) if self.start_at.is_some() => Err(ParseStop::rejected(format!(
                "{option}: expected no --start-at beside it, with which the ranks do not meet"
            ))),
            _ => Ok(()),
        }
    }
}
