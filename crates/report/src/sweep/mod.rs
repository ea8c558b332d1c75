//! Sweeps: runs of one plan at several rates, as a lasting document.
//!
//! The document holds the settings, each run's result as it would be saved by itself, and figures derived
//! from them ([`SweepFigures`]): a row for each rate, the knee, the highest rate that met the objectives.
//! `docs/reference/sweep.md` describes it, `httperf schema sweep` prints its schema.

mod conclusion;
mod figures;
mod knee;
pub(crate) mod rows;
pub(crate) mod text;

use std::borrow::Cow;

use httperf_plan::{Arrivals, Plan, PlanFields, Workload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answered::answered_share;
use crate::document;
use crate::json::count_beyond;
use crate::junit::{self, Suite};
use crate::read::{self, Kind, ReadError};
use crate::result::{self, COUNT_MAX, Document, EarlyEnd};

pub use self::conclusion::{SweepConclusion, SweepConclusionKind};
pub use self::figures::error_share;
pub use self::figures::{Mean, Peak, State, Step, StreamWaits, SweepFigures};
pub use self::knee::{KEPT_UP, Knee, Point, knee};

/// Maximum number of rates of a sweep.
pub const RATES_MAX: usize = 1000;

/// Maximum number of runs at each rate.
pub const REPEATS_MAX: u32 = 1000;

/// Maximum wait between two runs in seconds: a day.
pub const WAIT_MAX_S: f64 = 86_400.0;

/// Settings and runs of a sweep.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(title = "Sweep of httperf", extend("$id" = "urn:httperf:sweep:1"))]
pub struct Sweep {
    /// Name of the format: `httperf-sweep`.
    pub format: String,
    /// Version of the format.
    pub version: u32,
    /// Settings.
    pub settings: SweepSettings,
    /// Plan of all runs, except their rates.
    pub plan: Plan,
    /// Reason why there will be no more runs; `None` while some are to come.
    pub end: Option<End>,
    /// Figures derived from the runs.
    pub figures: SweepFigures,
    /// Runs so far, in the order in which they were made.
    pub runs: Vec<Run>,
}

/// Settings of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepSettings {
    /// Arrivals per second, strictly ascending.
    pub rates: Vec<f64>,
    /// Number of runs at each rate.
    pub repeats: u32,
    /// Seed of the random order; `None` for ascending rates.
    pub shuffled_by: Option<u64>,
    /// Number of consecutive rates at which the server could not keep up after which the sweep ends; `None`
    /// to try all rates.
    pub stop_after: Option<u32>,
    /// Minimum pause between two runs, in seconds.
    pub pause_s: f64,
    /// Maximum time for the server and this machine to recover from a run, in seconds; 0 skips the check.
    pub settle_s: f64,
}

/// One run of a sweep.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Run {
    /// Rate requested, in arrivals per second.
    pub rate: f64,
    /// Index of the run among those at this rate, from 0.
    pub repeat: u32,
    /// Waits before the run.
    pub recovery: Recovery,
    /// Share of the offered load that was answered without an error while load was offered; `None` if nothing
    /// was due.
    pub answered_share: Option<f64>,
    /// Result.
    pub result: Document,
}

/// Waits between two runs, in seconds. There are none before the first run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recovery {
    /// Pause requested.
    pub pause_s: f64,
    /// Time after that until enough local ports were free for the connections of the run.
    pub ports_s: f64,
    /// Time after that until the server answered about as quickly as before the first run.
    pub server_s: f64,
    /// Resource that had not recovered when the time limit expired.
    pub lacking: Option<Lacking>,
}

/// Resource that had not recovered before a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lacking {
    /// Local ports, for each pair of local address and server.
    Ports {
        /// Number of free ports.
        free: u64,
        /// Number of ports that the run needs.
        needed: u64,
    },
    /// The server was slower than before the first run, or did not answer.
    Server {
        /// Median of a few sequential calls, in milliseconds; `None` if none was answered.
        probe_ms: Option<f64>,
        /// The same before the first run.
        usual_ms: f64,
    },
}

/// Reason why a sweep makes no more runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// All runs were made.
    Complete,
    /// The server was far beyond saturation.
    Saturated,
    /// A signal requested the end.
    Asked,
}

impl Sweep {
    /// Creates a sweep without runs.
    #[must_use]
    pub fn new(settings: SweepSettings, plan: Plan) -> Self {
        Self::of(settings, plan, Vec::new(), None)
    }

    /// Creates a sweep with these runs.
    #[must_use]
    pub fn of(settings: SweepSettings, plan: Plan, runs: Vec<Run>, end: Option<End>) -> Self {
        let figures = SweepFigures::of(&settings, &plan, &runs);
        Self {
            format: Kind::Sweep.format().to_owned(),
            version: Kind::Sweep.version(),
            settings,
            plan,
            end,
            figures,
            runs,
        }
    }

    /// Adds a run.
    pub fn add(&mut self, run: Run) {
        self.runs.push(run);
        self.figures = SweepFigures::of(&self.settings, &self.plan, &self.runs);
    }

    /// Removes runs that ended early, so that they can be repeated, and continues the sweep.
    pub fn reopen(&mut self) {
        self.runs.retain(Run::is_complete);
        self.end = None;
        self.figures = SweepFigures::of(&self.settings, &self.plan, &self.runs);
    }

    /// Returns true if this run at this rate is complete.
    #[must_use]
    pub fn has(&self, rate: f64, repeat: u32) -> bool {
        self.runs.iter().any(|run| run.rate == rate && run.repeat == repeat && run.is_complete())
    }

    /// Returns true if this rate should be skipped because the server was already saturated at as many rates
    /// right below it as [`SweepSettings::stop_after`] says. Rates at which the generator was the bottleneck say
    /// nothing about the server and are passed over.
    #[must_use]
    pub fn is_far_below(&self, rate: f64) -> bool {
        let Some(stop_after) = self.settings.stop_after.map(|count| count as usize) else { return false };
        let below = self.figures.steps.iter().rev().filter(|step| step.rate < rate);
        let judged = below.filter(|step| step.state != State::ClientLimited);
        let nearest: Vec<&Step> = judged.take(stop_after).collect();
        nearest.len() == stop_after && nearest.iter().all(|step| step.state != State::KeptUp)
    }

    /// Unit of the rates.
    #[must_use]
    pub fn unit(&self) -> Unit {
        Unit::of(&self.plan)
    }

    /// Reads a document. Its figures are computed anew.
    ///
    /// # Errors
    /// If it is of another kind, too new, broken, or contradicts itself.
    pub fn read(json: &[u8]) -> Result<Self, ReadError> {
        /// Fields that cannot be derived from others.
        #[derive(Deserialize)]
        struct Saved {
            settings: SweepSettings,
            plan: PlanFields,
            end: Option<End>,
            runs: Vec<SavedRun>,
        }
        #[derive(Deserialize)]
        struct SavedRun {
            rate: f64,
            repeat: u32,
            #[serde(default)]
            recovery: Recovery,
            result: result::Saved,
        }
        let Saved { settings, plan, end, runs } = read::fields(Kind::Sweep, json)?;
        if let Some((field, number)) = count_beyond(json, COUNT_MAX) {
            return Err(contents(format!("{field}: expected at most {COUNT_MAX}, got {number}")));
        }
        settings.check()?;
        let plan = Plan::try_from(plan).map_err(|error| contents(format!("plan.{error}")))?;
        if matches!(plan.arrivals, Arrivals::Variable(_)) {
            return Err(contents("its plan has a cycle of rates of its own".to_owned()));
        }
        let mut read: Vec<Run> = Vec::with_capacity(runs.len());
        for (index, SavedRun { rate, repeat, recovery, result }) in runs.into_iter().enumerate() {
            let result =
                result.document().map_err(|wrong| contents(format!("runs[{index}].result.{wrong}")))?;
            let run = Run::new(rate, repeat, recovery, result);
            let is_meant = settings.rates.contains(&rate) && repeat < settings.repeats;
            let is_there = read.iter().any(|other| other.is_complete() && other.is_for(&run));
            if !is_meant || is_there && run.is_complete() {
                let why = if is_meant { "occurs twice" } else { "is not part of the settings" };
                return Err(contents(format!("run {repeat} at a rate of {rate} {why}")));
            }
            read.push(run);
        }
        Ok(Self::of(settings, plan, read, end))
    }

    /// The document as it may be shown: without what is secret in its plans and in its command lines.
    #[must_use]
    pub fn without_secrets(&self) -> Cow<'_, Self> {
        let runs: Vec<Cow<'_, Document>> = self.runs.iter().map(|run| run.result.without_secrets()).collect();
        let plan = self.plan.without_secrets();
        if plan.is_none() && runs.iter().all(|run| matches!(run, Cow::Borrowed(_))) {
            return Cow::Borrowed(self);
        }
        let results: Vec<Document> = runs.into_iter().map(Cow::into_owned).collect();
        let mut shown = self.clone();
        shown.plan = plan.unwrap_or(shown.plan);
        shown.runs.iter_mut().zip(results).for_each(|(run, result)| run.result = result);
        Cow::Owned(shown)
    }

    /// The document as saved, with a line end.
    #[must_use]
    pub fn json(&self) -> String {
        document::json(self)
    }

    /// JUnit XML, with a suite for each run.
    pub(crate) fn junit(&self) -> String {
        let unit = self.unit().name();
        let suites = self.runs.iter().map(|run| {
            let name = match run.repeat {
                0 => format!("{} {unit}/s", run.rate),
                repeat => format!("{} {unit}/s, again ({repeat})", run.rate),
            };
            Suite { name, ..Suite::of(&run.result) }
        });
        junit::xml("httperf sweep", &suites.collect::<Vec<_>>())
    }
}

/// Impossible value in a sweep.
fn contents(wrong: String) -> ReadError {
    ReadError::Contents(Kind::Sweep, wrong)
}

impl SweepSettings {
    /// Checks that the settings are possible.
    fn check(&self) -> Result<(), ReadError> {
        let is_rate = |rate: &f64| rate.is_finite() && *rate > 0.0;
        let is_wait = |seconds: f64| (0.0..=WAIT_MAX_S).contains(&seconds);
        let wrong = if self.rates.is_empty() || self.rates.len() > RATES_MAX {
            format!("expected 1 to {RATES_MAX} rates, got {}", self.rates.len())
        } else if !self.rates.iter().all(is_rate) || !self.rates.is_sorted_by(|one, next| one < next) {
            "expected rates above 0 in ascending order".to_owned()
        } else if !(1..=REPEATS_MAX).contains(&self.repeats) {
            format!("expected 1 to {REPEATS_MAX} runs at each rate, got {}", self.repeats)
        } else if !is_wait(self.pause_s) || !is_wait(self.settle_s) {
            format!("expected pauses of 0 to {WAIT_MAX_S} seconds")
        } else if self.stop_after == Some(0) {
            "stop_after: expected at least 1 rate, got 0".to_owned()
        } else {
            return Ok(());
        };
        Err(contents(wrong))
    }
}

impl Run {
    /// Creates a run from its result.
    #[must_use]
    pub fn new(rate: f64, repeat: u32, recovery: Recovery, result: Document) -> Self {
        Self { rate, repeat, recovery, answered_share: answered_share(&result.plan, &result.summary), result }
    }

    /// Returns true if the run was not interrupted by a signal. Only such runs count.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.result.parts.iter().all(|part| part.ended_early != Some(EarlyEnd::Asked))
    }

    fn is_for(&self, other: &Self) -> bool {
        (self.rate, self.repeat) == (other.rate, other.repeat)
    }
}

/// Unit of arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Connections.
    Connections,
    /// Sessions.
    Sessions,
    /// Calls on persistent connections.
    Calls,
    /// Visits of scenarios.
    Visits,
}

impl Unit {
    /// Unit of a plan's rates.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        match plan.workload {
            Workload::Connections(_) => Self::Connections,
            Workload::Sessions(_) => Self::Sessions,
            Workload::Calls(_) | Workload::Replay(_) => Self::Calls,
            Workload::Scenarios(_) => Self::Visits,
        }
    }

    /// Name, such as `connections`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::Sessions => "sessions",
            Self::Calls => "calls",
            Self::Visits => "visits",
        }
    }
}

/// Schema of the documents written, with a line end.
#[must_use]
pub fn schema() -> String {
    let mut schema = schemars::schema_for!(Sweep);
    // The nested document of a run refers to definitions next to it, so it is no document of its own.
    let run = schema.pointer_mut("/$defs/Document").and_then(serde_json::Value::as_object_mut);
    run.expect("a sweep has documents of runs").remove("$id");
    document::sorted(schema)
}
