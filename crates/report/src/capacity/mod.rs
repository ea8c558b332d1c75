//! What `httperf capacity` found out: the highest rate that a server sustains within objectives, and the trials that it
//! was found by, as a document that keeps.
//!
//! The search itself is the business of `httperf_stats::search`. Here a run becomes a trial of it (`judge`), and what
//! was found becomes text (`text`).

mod judge;
#[cfg(test)]
mod tests;
mod text;

use httperf_plan::Plan;
use httperf_plan::objective::Objective;
use httperf_stats::search;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document;
use crate::figures::Times;
use crate::objectives::Judged;
use crate::result::Part;
use crate::sweep::Unit;
use crate::verdict::Verdict;

/// What a document of this kind calls itself.
pub const FORMAT: &str = "httperf-capacity";

/// The version of the format that is written.
pub const VERSION: u32 = 1;

/// A search for a capacity: what was asked for, each trial, and what was found. Rates are per second.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(title = "Capacity found by httperf", extend("$id" = "urn:httperf:capacity:1"))]
pub struct Capacity {
    /// `httperf-capacity`.
    format: String,
    /// The version of the format.
    version: u32,
    /// Who searched, where, and from when on; `None` before the first trial has ended.
    pub part: Option<Part>,
    /// What was asked for.
    pub settings: Settings,
    /// The plan of all trials, but for their rates and lengths.
    pub plan: Plan,
    /// The trials that were made, in their order. What the whole of each measured is not kept.
    pub trials: Vec<Trial>,
    /// What was found; what is known so far as long as `end` is `None`.
    pub found: Found,
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// What the server is to keep to.
    pub objectives: Vec<Objective>,
    /// What it is to keep to as well, as nothing was said of errors.
    pub implied: Option<Objective>,
    /// The rate of the first trial.
    pub start: f64,
    /// The lowest rate that is tried.
    pub min_rate: f64,
    /// The highest rate that is tried; `None` goes on as long as the client can.
    pub max_rate: Option<f64>,
    /// How far the interval is to reach to either side at most, as a share of the rate.
    pub precision: f64,
    /// Trials at most.
    pub trials: u32,
    /// Seconds for which the first trials are measured, at least.
    pub trial_min_s: f64,
    /// Seconds for which a trial is measured, at most, unless there are too few arrivals in that time.
    pub trial_max_s: f64,
    /// Seconds for which one is measured at a low rate, at most, for as many arrivals as it needs.
    #[serde(default)]
    pub trial_longest_s: f64,
    /// Seconds between two trials, at least.
    pub pause_s: f64,
}

/// A trial and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// The rate that was asked for.
    pub rate: f64,
    /// Its random sequence: what the plan's `client.stream` is in it.
    #[serde(default)]
    pub stream: u32,
    /// The rate that was offered.
    pub offered: f64,
    /// How much of it was answered without an error while it was measured, as a rate of the same kind.
    pub answered: f64,
    /// By how much the calls under way grew while it was measured, as a share of the arrivals.
    pub backlog_growth: f64,
    /// The share of the calls that was not answered, even by the end of the drain.
    pub unanswered: f64,
    /// For how many seconds it was measured.
    pub length_s: f64,
    /// The measured values of all objectives.
    pub objectives: Vec<Judged>,
    /// Latencies of the calls that were answered.
    pub latency_ms: Times,
    /// Whether the server sustained the rate.
    pub outcome: Outcome,
    /// Why it did not, or why that is not known.
    pub reasons: Vec<Cause>,
    /// Whether the figures can be relied on.
    pub verdict: Verdict,
}

/// Whether a server sustained a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It did: it met all objectives, and kept up.
    Within,
    /// It did not.
    Beyond,
    /// It was overloaded: it fell behind, or failed calls.
    Overload,
    /// As far as was seen it did, but there were too few samples.
    Unclear,
    /// It did not, and that may be the client's doing.
    Client,
}

/// Why a rate was not sustained, or why that is not known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// An objective was missed.
    Missed(Objective),
    /// There were too few samples for an objective.
    TooFew(Objective),
    /// The server fell behind: calls under way grew in number.
    FellBehind,
    /// Calls were not answered.
    Unanswered,
    /// Calls took longer all the time.
    Rising,
    /// The client could not do what was asked of it: what the verdict calls that.
    Client(String),
}

/// What is known of a capacity. Rates are per second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    /// The capacity; `None` if it is not known.
    pub capacity: Option<Interval>,
    /// The highest rate that was sustained in a trial.
    pub sustained: Option<f64>,
    /// Why the search ended; `None` as long as it goes on.
    pub end: Option<End>,
    /// What else there is to say of the end.
    pub because: Option<String>,
}

/// A rate with the interval in which it is with a probability of 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// As likely below the capacity as above it.
    pub rate: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The capacity is known as exactly as was asked for.
    Precise,
    /// All trials that were allowed were made.
    TrialsUsedUp,
    /// The highest rate allowed was sustained.
    NeverReached,
    /// The client cannot offer more.
    ClientLimited,
    /// Several trials in a row were spoilt by the client.
    ClientDisturbed,
    /// Not even the lowest rate allowed was sustained.
    BelowMinimum,
    /// The longest trials are too short to tell.
    TooFewSamples,
    /// A signal asked for the end.
    Asked,
    /// The server no longer answered, or a trial could not be made.
    Broken,
}

impl Capacity {
    /// A search before its first trial.
    #[must_use]
    pub fn new(settings: Settings, plan: Plan) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            part: None,
            settings,
            plan,
            trials: Vec::new(),
            found: Found::default(),
        }
    }

    /// What its rates count.
    #[must_use]
    pub fn unit(&self) -> Unit {
        Unit::of(&self.plan)
    }

    /// The figure in one line and the trials in a table, with a line end.
    #[must_use]
    pub fn text(&self) -> String {
        text::text(self)
    }

    /// The document as it is saved, with a line end.
    #[must_use]
    pub fn json(&self) -> String {
        document::json(self)
    }
}

/// The schema of the documents that are written, with a line end.
#[must_use]
pub fn schema() -> String {
    document::schema::<Capacity>()
}

impl Found {
    /// What a search knows.
    #[must_use]
    pub fn of(search: &search::Search, end: Option<End>) -> Self {
        let capacity = search.estimate().map(|search::Estimate { rate, interval }| Interval {
            rate,
            low: interval.low,
            high: interval.high,
        });
        Self { capacity, sustained: search.sustained(), end, because: None }
    }
}

impl From<search::End> for End {
    fn from(end: search::End) -> Self {
        match end {
            search::End::Precise => Self::Precise,
            search::End::TrialsUsedUp => Self::TrialsUsedUp,
            search::End::NeverReached => Self::NeverReached,
            search::End::ClientLimited => Self::ClientLimited,
            search::End::ClientDisturbed => Self::ClientDisturbed,
            search::End::BelowMinimum => Self::BelowMinimum,
            search::End::TooFewSamples => Self::TooFewSamples,
        }
    }
}
