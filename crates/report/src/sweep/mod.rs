//! A sweep: runs of one plan at several rates, as a document that keeps.

use httperf_plan::{Plan, Workload};
use schemars::JsonSchema;
use serde::Serialize;

use crate::result::Document;

/// What a document of this kind calls itself.
pub const FORMAT: &str = "httperf-sweep";

/// The version of the format that is written.
pub const VERSION: u32 = 1;

/// The runs of a sweep, and what was meant to be run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Sweep {
    /// `httperf-sweep`.
    pub format: String,
    /// The version of the format.
    pub version: u32,
    /// What was asked for.
    pub settings: Settings,
    /// The plan of all runs, but for their rates.
    pub plan: Plan,
    /// The runs so far, in the order in which they were made.
    pub runs: Vec<Run>,
    /// Why there will be no more; `None` as long as some are to come.
    pub end: Option<End>,
}

/// What a sweep is to do.
#[derive(Clone, Debug, PartialEq, Serialize, serde::Deserialize, JsonSchema)]
pub struct Settings {
    /// Arrivals per second, ascending, each once.
    pub rates: Vec<f64>,
    /// How many runs are made at each.
    pub repeats: u32,
    /// The seed of the random order; `None` for rising rates.
    pub shuffled_by: Option<u64>,
    /// After how many rates in a row that the server could not keep up with the sweep ends; `None` goes through all.
    pub stop_after: Option<u32>,
    /// Seconds between two runs, at least.
    pub pause_s: f64,
    /// Seconds until the server and this machine must have recovered from a run, at most.
    pub settle_s: f64,
}

/// One run of a sweep.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Run {
    /// The rate that was asked for, in arrivals per second.
    pub rate: f64,
    /// Which of the runs at this rate it is, from 0.
    pub repeat: u32,
    /// Its result.
    pub result: Document,
}

/// Why a sweep makes no more runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// All were made.
    Complete,
    /// The server was far beyond saturation.
    Saturated,
    /// A signal asked for the end.
    Asked,
}

/// What arrives in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Connections.
    Connections,
    /// Sessions.
    Sessions,
    /// Calls, over connections that are kept.
    Calls,
}

impl Unit {
    /// What the rates of a plan count.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        match plan.workload {
            Workload::Connections(_) => Self::Connections,
            Workload::Sessions(_) => Self::Sessions,
            Workload::Calls(_) => Self::Calls,
        }
    }

    /// Such as `connections`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::Sessions => "sessions",
            Self::Calls => "calls",
        }
    }
}
