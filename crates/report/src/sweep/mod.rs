//! A sweep: runs of one plan at several rates, as a document that keeps.
//!
//! The document holds what was meant to be run, each run's result as it would be saved by itself, and what follows from
//! them ([`Figures`]): a row for each rate, the knee, the highest rate that met the objectives.
//! `docs/reference/sweep.md` describes it, `docs/reference/sweep.schema.json` is its schema.

mod answered;
mod figures;
mod knee;
mod rows;
mod table;

use httperf_plan::{Arrivals, Plan, PlanFields, Workload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::document;
use crate::json::{self, count_beyond};
use crate::result::{self, COUNT_MAX, Document, EarlyEnd, Misshapen};

pub use self::answered::answered_share;
pub(crate) use self::figures::error_share;
pub use self::figures::{Figures, Mean, Peak, State, Step};
pub use self::knee::{KEPT_UP, Point, knee};
pub use self::rows::{csv, tsv};
pub use self::table::table;

/// What a document of this kind calls itself.
pub const FORMAT: &str = "httperf-sweep";

/// The version of the format that is written. Older ones are read.
pub const VERSION: u32 = 1;

/// How many rates a sweep has at most.
pub const RATES_MAX: usize = 1000;

/// How often each of them is run at most.
pub const REPEATS_MAX: u32 = 1000;

/// How many seconds may be waited between two runs at most: a day.
pub const WAIT_MAX_S: f64 = 86_400.0;

/// The runs of a sweep, and what was meant to be run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(title = "Sweep of httperf", extend("$id" = "urn:httperf:sweep:1"))]
pub struct Sweep {
    /// `httperf-sweep`.
    pub format: String,
    /// The version of the format.
    pub version: u32,
    /// What was asked for.
    pub settings: Settings,
    /// The plan of all runs, but for their rates.
    pub plan: Plan,
    /// Why there will be no more runs; `None` as long as some are to come.
    pub end: Option<End>,
    /// What follows from the runs.
    pub figures: Figures,
    /// The runs so far, in the order in which they were made.
    pub runs: Vec<Run>,
}

/// What a sweep is to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Seconds until the server and this machine must have recovered from a run, at most; 0 does not look.
    pub settle_s: f64,
}

/// One run of a sweep.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Run {
    /// The rate that was asked for, in arrivals per second.
    pub rate: f64,
    /// Which of the runs at this rate it is, from 0.
    pub repeat: u32,
    /// What was waited for before it.
    pub recovery: Recovery,
    /// The share of what was offered that was answered without an error while it was offered; `None` if nothing was
    /// due.
    pub answered_share: Option<f64>,
    /// Its result.
    pub result: Document,
}

/// What was waited for between two runs, in seconds. The first run waits for nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recovery {
    /// The pause that was asked for.
    pub pause_s: f64,
    /// After it, until enough local ports were free for the connections of the run.
    pub ports_s: f64,
    /// After that, until the server answered about as quickly as before the first run.
    pub server_s: f64,
    /// What had not recovered when the time for it was over.
    pub lacking: Option<Lacking>,
}

/// What had not recovered before a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lacking {
    /// Local ports, for each local address towards each server.
    Ports {
        /// How many were free.
        free: u64,
        /// How many the run needs.
        needed: u64,
    },
    /// The server was slower than before the first run, or answered nothing.
    Server {
        /// The median of a few calls one after the other, in milliseconds; `None` if none was answered.
        probe_ms: Option<f64>,
        /// The same before the first run.
        usual_ms: f64,
    },
}

/// Why a sweep makes no more runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// All were made.
    Complete,
    /// The server was far beyond saturation.
    Saturated,
    /// A signal asked for the end.
    Asked,
}

/// Why a file cannot be read as a sweep.
#[derive(Debug, Error)]
pub enum ReadError {
    /// It is not JSON.
    #[error("not JSON: {0}")]
    Json(serde_json::Error),
    /// It is JSON, and something else.
    #[error("not a sweep of httperf: its `format` is not `{FORMAT}`")]
    Format,
    /// It is the result of a single run.
    #[error("not a sweep of httperf, but the result of a single run")]
    Result,
    /// It is of a version that is newer than this program.
    #[error("version {0} of the format is newer than this program, which reads up to {VERSION}")]
    Version(u64),
    /// It does not have the shape that it should.
    #[error("not a sweep of version {VERSION}: {0}")]
    Shape(Misshapen),
    /// What it says cannot be.
    #[error("not a sweep that can be: {0}")]
    Contents(String),
}

impl Sweep {
    /// A sweep without runs so far.
    #[must_use]
    pub fn new(settings: Settings, plan: Plan) -> Self {
        Self::of(settings, plan, Vec::new(), None)
    }

    /// A sweep with these runs.
    #[must_use]
    pub fn of(settings: Settings, plan: Plan, runs: Vec<Run>, end: Option<End>) -> Self {
        let figures = Figures::of(&settings, &plan, &runs);
        Self { format: FORMAT.to_owned(), version: VERSION, settings, plan, end, figures, runs }
    }

    /// Adds a run that was made.
    pub fn add(&mut self, run: Run) {
        self.runs.push(run);
        self.figures = Figures::of(&self.settings, &self.plan, &self.runs);
    }

    /// Forgets runs that ended before their time, so that they can be made again, and goes on.
    pub fn reopen(&mut self) {
        self.runs.retain(Run::is_complete);
        self.end = None;
        self.figures = Figures::of(&self.settings, &self.plan, &self.runs);
    }

    /// Whether there is a complete run of this number at this rate.
    #[must_use]
    pub fn has(&self, rate: f64, repeat: u32) -> bool {
        self.runs.iter().any(|run| run.rate == rate && run.repeat == repeat && run.is_complete())
    }

    /// Whether the server is so far beyond saturation below this rate that it is left out: it kept up with none of the
    /// rates right below it, as many of them as [`Settings::stop_after`] says. Rates at which the generator was the
    /// bottleneck say nothing of the server, and are passed over.
    #[must_use]
    pub fn is_far_below(&self, rate: f64) -> bool {
        let Some(stop_after) = self.settings.stop_after.map(|count| count as usize) else { return false };
        let below = self.figures.steps.iter().rev().filter(|step| step.rate < rate);
        let judged = below.filter(|step| step.state != State::ClientLimited);
        let nearest: Vec<&Step> = judged.take(stop_after).collect();
        nearest.len() == stop_after && nearest.iter().all(|step| step.state != State::KeptUp)
    }

    /// What its rates count.
    #[must_use]
    pub fn unit(&self) -> Unit {
        Unit::of(&self.plan)
    }

    /// Reads a document. What follows from its runs is worked out anew.
    ///
    /// # Errors
    /// When it is something else, too new, broken, or contradicts itself.
    pub fn read(json: &[u8]) -> Result<Self, ReadError> {
        /// What every version has.
        #[derive(Deserialize)]
        struct Head {
            format: Option<serde_json::Value>,
            version: Option<u64>,
        }
        let Head { format, version } =
            serde_json::from_slice(json).map_err(|error| match error.classify() {
                serde_json::error::Category::Data => ReadError::Format,
                _ => ReadError::Json(error),
            })?;
        match format.as_ref().and_then(serde_json::Value::as_str) {
            Some(FORMAT) => {}
            Some(result::FORMAT) => return Err(ReadError::Result),
            _ => return Err(ReadError::Format),
        }
        if let Some(newer) = version.filter(|&version| version > u64::from(VERSION)) {
            return Err(ReadError::Version(newer));
        }
        /// What cannot be worked out from the rest.
        #[derive(Deserialize)]
        struct Saved {
            settings: Settings,
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
        let Saved { settings, plan, end, runs } = json::read(json).map_err(ReadError::Shape)?;
        if let Some((field, number)) = count_beyond(json, COUNT_MAX) {
            return Err(ReadError::Contents(format!("{field} is {number}, where {COUNT_MAX} is the most")));
        }
        settings.check()?;
        let plan = Plan::try_from(plan).map_err(|error| ReadError::Contents(format!("plan.{error}")))?;
        if matches!(plan.arrivals, Arrivals::Variable(_)) {
            return Err(ReadError::Contents("its plan has a cycle of rates of its own".to_owned()));
        }
        let mut read: Vec<Run> = Vec::with_capacity(runs.len());
        for (index, SavedRun { rate, repeat, recovery, result }) in runs.into_iter().enumerate() {
            let result = result
                .document()
                .map_err(|wrong| ReadError::Contents(format!("runs[{index}].result.{wrong}")))?;
            let run = Run::new(rate, repeat, recovery, result);
            let is_meant = settings.rates.contains(&rate) && repeat < settings.repeats;
            let is_there = read.iter().any(|other| other.is_complete() && other.is_for(&run));
            if !is_meant || is_there && run.is_complete() {
                let why = if is_meant { "is there twice" } else { "was not asked for" };
                return Err(ReadError::Contents(format!("run {repeat} at a rate of {rate} {why}")));
            }
            read.push(run);
        }
        Ok(Self::of(settings, plan, read, end))
    }

    /// The document as it is saved, with a line end.
    #[must_use]
    pub fn json(&self) -> String {
        document::json(self)
    }
}

impl Settings {
    /// Whether it can be done.
    fn check(&self) -> Result<(), ReadError> {
        let is_rate = |rate: &f64| rate.is_finite() && *rate > 0.0;
        let is_wait = |seconds: f64| (0.0..=WAIT_MAX_S).contains(&seconds);
        let wrong = if self.rates.is_empty() || self.rates.len() > RATES_MAX {
            format!("it has {} rates, where 1 to {RATES_MAX} can be", self.rates.len())
        } else if !self.rates.iter().all(is_rate) || !self.rates.is_sorted_by(|one, next| one < next) {
            "its rates are not above 0 and ascending".to_owned()
        } else if !(1..=REPEATS_MAX).contains(&self.repeats) {
            format!("it has {} runs at each rate, where 1 to {REPEATS_MAX} can be", self.repeats)
        } else if !is_wait(self.pause_s) || !is_wait(self.settle_s) {
            format!("its pauses are not from 0 to {WAIT_MAX_S} seconds")
        } else if self.stop_after == Some(0) {
            "it is to stop after no rate at all".to_owned()
        } else {
            return Ok(());
        };
        Err(ReadError::Contents(wrong))
    }
}

impl Run {
    /// A run that was made.
    #[must_use]
    pub fn new(rate: f64, repeat: u32, recovery: Recovery, result: Document) -> Self {
        Self { rate, repeat, recovery, answered_share: answered_share(&result), result }
    }

    /// Whether it went on until its end, and not only until a signal came. Only such runs count.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.result.parts.iter().all(|part| part.ended_early != Some(EarlyEnd::Asked))
    }

    fn is_for(&self, other: &Self) -> bool {
        (self.rate, self.repeat) == (other.rate, other.repeat)
    }
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

/// The schema of the documents that are written, with a line end.
#[must_use]
pub fn schema() -> String {
    let mut schema = schemars::schema_for!(Sweep);
    // What is in the document of a run refers to definitions that stand beside it here, so it is no document of its
    // own.
    let run = schema.pointer_mut("/$defs/Document").and_then(serde_json::Value::as_object_mut);
    run.expect("a sweep has documents of runs").remove("$id");
    document::json(&schema)
}
