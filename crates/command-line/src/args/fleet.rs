//! Arguments about the processes that carry out a run together.

use chrono::{DateTime, FixedOffset};
use httperf_fleet::MeetingPlace;
use httperf_fleet::rank::Rank;

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
