//! Results of `httperf capacity`, as a lasting document: the highest rate that a server sustains within
//! objectives, and the trials that found it.
//!
//! The search itself is in `httperf_stats::search`. This module turns runs into trials (`judge`) and results
//! into text (`text`) and rows (`rows`).

mod judge;
pub(crate) mod rows;
#[cfg(test)]
mod tests;
pub mod text;

use std::borrow::Cow;

use httperf_plan::objective::Objective;
use httperf_plan::{Plan, PlanFields, secrets};
use httperf_stats::search;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document;
use crate::figures::Times;
use crate::objectives::Judged;
use crate::read::{self, Kind, ReadError};
use crate::result::Part;
use crate::sweep::Unit;
use crate::verdict::Verdict;

/// A search for a capacity: settings, trials and result. Rates are per second.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(title = "Capacity found by httperf", extend("$id" = "urn:httperf:capacity:1"))]
pub struct CapacityReport {
    /// Name of the format: `httperf-capacity`.
    format: String,
    /// Version of the format.
    version: u32,
    /// Author, place and start of the search; `None` before the first trial has ended.
    pub part: Option<Part>,
    /// Settings of the search.
    pub settings: CapacitySettings,
    /// Plan of all trials, except their rates and lengths.
    pub plan: Plan,
    /// Trials, in order. Their full measurements are not kept.
    pub trials: Vec<Trial>,
    /// Result; provisional while `end` is `None`.
    pub found: Found,
}

/// Settings of the search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacitySettings {
    /// Objectives for the server.
    pub objectives: Vec<Objective>,
    /// Implied objective on errors, if no objective mentions them.
    pub implied: Option<Objective>,
    /// Rate of the first trial.
    pub start: f64,
    /// Lowest rate to try.
    pub min_rate: f64,
    /// Highest rate to try; `None` for as much as the client can offer.
    pub max_rate: Option<f64>,
    /// Maximum distance from the rate to either bound of its interval, as a share of the rate.
    pub precision: f64,
    /// Maximum number of trials.
    pub trials: u32,
    /// Minimum length of the first trials' measured phases, in seconds.
    pub trial_min_s: f64,
    /// Maximum length of a trial's measured phase, in seconds, unless it needs longer for its arrivals.
    pub trial_max_s: f64,
    /// Maximum length of a trial at a low rate that needs longer for its arrivals, in seconds.
    #[serde(default)]
    pub trial_longest_s: f64,
    /// Minimum pause between trials, in seconds.
    pub pause_s: f64,
}

/// A trial and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// Rate requested.
    pub rate: f64,
    /// Random sequence of the trial: its value of `client.stream` in the plan.
    #[serde(default)]
    pub stream: u32,
    /// Rate offered.
    pub offered: f64,
    /// Rate of arrivals answered without an error in the measured phase.
    pub answered: f64,
    /// Growth of the number of pending calls in the measured phase, as a share of the arrivals.
    pub backlog_growth: f64,
    /// Share of the calls that were not answered even by the end of the drain.
    pub unanswered: f64,
    /// Length of the measured phase in seconds.
    pub length_s: f64,
    /// Outcomes of all objectives.
    pub objectives: Vec<Judged>,
    /// Latencies of the calls that were answered.
    pub latency_ms: Times,
    /// Verdict on the server.
    pub outcome: CapacityOutcome,
    /// Reasons why the rate was not sustained, or why that is unknown.
    pub reasons: Vec<Cause>,
    /// Reliability of the figures.
    pub verdict: Verdict,
    /// Number of ranks that made the trial together, if it was a fleet's (`--fleet`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
}

/// Verdict of a trial on the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CapacityOutcome {
    /// The server met all objectives and kept up.
    Within,
    /// The server did not sustain the rate.
    Beyond,
    /// The server was overloaded: it fell behind or failed calls.
    Overload,
    /// The server appeared to sustain the rate, but there were too few samples.
    Unclear,
    /// The server did not sustain the rate, but the client may be the cause.
    Client,
}

/// Reason why a rate was not sustained, or why that is unknown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// An objective was missed; its name, with the part of the run that it is for.
    Missed(String),
    /// There were too few samples for an objective; its name.
    TooFew(String),
    /// The server fell behind: the number of pending calls grew.
    FellBehind,
    /// Calls were not answered.
    Unanswered,
    /// Latency kept rising.
    Rising,
    /// The client was limited; the name of the finding in its verdict.
    Client(String),
}

/// Result of a search. Rates are per second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    /// Capacity; `None` if unknown.
    pub capacity: Option<Interval>,
    /// Highest rate sustained in a trial; one with too few samples is none.
    pub sustained: Option<f64>,
    /// Reason for the end; `None` while the search goes on.
    pub end: Option<End>,
    /// Details of that reason.
    pub because: Option<String>,
}

/// A rate with the interval that contains it with a probability of 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Median: the capacity is equally likely to be above or below it.
    pub rate: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

/// Reason why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The capacity is known with the desired precision.
    Precise,
    /// All trials were used.
    TrialsUsedUp,
    /// The server sustained the highest rate allowed.
    NeverReached,
    /// The client cannot offer more.
    ClientLimited,
    /// The client spoiled several trials in a row.
    ClientDisturbed,
    /// The server did not sustain even the lowest rate allowed.
    BelowMinimum,
    /// The longest trials allowed are too short to tell.
    TooFewSamples,
    /// A signal requested the end.
    Asked,
    /// The server stopped answering, or a trial could not be run.
    Broken,
}

impl CapacityReport {
    /// Creates a search without trials.
    #[must_use]
    pub fn new(settings: CapacitySettings, plan: Plan) -> Self {
        Self {
            format: Kind::Capacity.format().to_owned(),
            version: Kind::Capacity.version(),
            part: None,
            settings,
            plan,
            trials: Vec::new(),
            found: Found::default(),
        }
    }

    /// All objectives: those given, and the implied one.
    #[must_use]
    pub fn objectives(&self) -> Vec<Objective> {
        self.settings.objectives.iter().copied().chain(self.settings.implied).collect()
    }

    /// Unit of the rates.
    #[must_use]
    pub fn unit(&self) -> Unit {
        Unit::of(&self.plan)
    }

    /// Reads a document.
    ///
    /// # Errors
    /// If it is of another kind, too new, or broken.
    pub fn read(json: &[u8]) -> Result<Self, ReadError> {
        #[derive(Deserialize)]
        struct Saved {
            part: Option<Part>,
            settings: CapacitySettings,
            plan: PlanFields,
            trials: Vec<Trial>,
            found: Found,
        }
        let contents = |wrong| ReadError::Contents(Kind::Capacity, wrong);
        let Saved { part, settings, plan, trials, found } = read::fields(Kind::Capacity, json)?;
        let plan = Plan::try_from(plan).map_err(|error| contents(format!("plan.{error}")))?;
        for (index, trial) in trials.iter().enumerate() {
            trial.verdict.check().map_err(|wrong| contents(format!("trials[{index}].verdict.{wrong}")))?;
        }
        Ok(Self { part, trials, found, ..Self::new(settings, plan) })
    }

    /// Result in one line: `capacity`, followed by either the figure or a word.
    #[must_use]
    pub fn headline(&self) -> String {
        text::headline(self)
    }

    /// The document as it may be shown: without what is secret in its plan and in its command line.
    #[must_use]
    pub fn without_secrets(&self) -> Cow<'_, Self> {
        let command = self.part.as_ref().map(|part| secrets::command_line(&part.command));
        let plan = self.plan.without_secrets();
        if plan.is_none() && self.part.as_ref().map(|part| &part.command) == command.as_ref() {
            return Cow::Borrowed(self);
        }
        let mut shown = self.clone();
        shown.plan = plan.unwrap_or(shown.plan);
        shown.part.iter_mut().zip(command).for_each(|(part, command)| part.command = command);
        Cow::Owned(shown)
    }

    /// The document as saved, with a line end.
    #[must_use]
    pub fn json(&self) -> String {
        document::json(self)
    }
}

/// Schema of the documents written, with a line end.
#[must_use]
pub fn schema() -> String {
    document::schema::<CapacityReport>()
}

impl Found {
    /// Current result of a search.
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
