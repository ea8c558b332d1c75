//! The result of a run as a document that keeps: what was run, where, what came of it, and how far it can be relied on.
//!
//! Every other form of report is a function of such documents. Fields may be added within a version of the format; none
//! goes or changes its meaning. `docs/reference/result.md` describes it, `docs/reference/result.schema.json` is its
//! schema.

mod merge;

use std::fmt::{self, Display};

use httperf_plan::{Client, Plan, PlanFields};
use httperf_stats::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::document;
use crate::figures::Figures;
use crate::json::{self, count_beyond};
use crate::objectives::{Judged, Kept, judge};
use crate::verdict::{Verdict, verdict};

pub use crate::json::Misshapen;
pub use merge::{Common, Difference, MergeError, merge};

/// What a document of this kind calls itself.
pub const FORMAT: &str = "httperf-result";

/// The version of the format that is written. Older ones are read.
pub const VERSION: u32 = 1;

/// The result of a run, or of several parts of a run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(title = "Result of httperf", extend("$id" = "urn:httperf:result:1"))]
pub struct Document {
    /// `httperf-result`.
    format: String,
    /// The version of the format.
    version: u32,
    /// Who ran what, where and when: one part, or each of those that were merged.
    pub parts: Vec<Part>,
    /// What was run. It can be run again.
    pub plan: Plan,
    /// Whether the figures can be relied on.
    pub verdict: Verdict,
    /// What came of the plan's objectives.
    #[serde(default)]
    pub objectives: Vec<Judged>,
    /// The figures that are asked for most, worked out from the summary.
    pub figures: Figures,
    /// All that was measured. Durations are in nanoseconds.
    pub summary: Summary,
}

/// One run of the program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// When it began: a date and time of RFC 3339, in UTC.
    pub started: String,
    /// Which of how many generators it was (`--client`). Missing in older documents.
    #[serde(default)]
    pub client: Option<Client>,
    /// Random digits that tell this run from all others. Missing in older documents.
    #[serde(default)]
    pub run: Option<String>,
    /// The command line, from the program's name on. What is not UTF-8 in it was replaced.
    pub command: Vec<String>,
    /// The version of the program.
    pub httperf: String,
    /// Why it ended before its workload did, if so.
    pub ended_early: Option<EarlyEnd>,
    /// Where it ran.
    pub machine: Machine,
    /// What that machine can offer, by the latest `httperf self-check`, if there was one and it says something about
    /// this run.
    pub capacity: Option<Capacity>,
}

/// The most that a machine was found to offer without being late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Capacity {
    /// Connections per second, with one request on each.
    pub connections_per_second: u64,
    /// Requests per second, on connections that are kept.
    pub requests_per_second: u64,
}

/// Why a run ended before its workload did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EarlyEnd {
    /// A signal, or the user at the screen, asked for it.
    Asked,
    /// It had measured as exactly as was asked for (`--until`).
    Exact,
    /// It had missed one of its objectives (`--abort-on-slo`).
    Missed,
}

/// What became of a run that ended so: `was ended early, as asked for`.
impl Display for EarlyEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Asked => "was ended early, as asked for",
            Self::Exact => "ended as soon as it had measured exactly enough (--until)",
            Self::Missed => {
                "was ended early, as an objective had been missed for three seconds in a row (--abort-on-slo)"
            }
        })
    }
}

/// A machine, in what matters to a measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Its name.
    pub host: String,
    /// The operating system, with the release of its kernel.
    pub system: String,
    /// The model of its processors, if known.
    pub processor: Option<String>,
    /// How many of them it has.
    pub processors: u32,
    /// Its memory in bytes, if known.
    pub memory: Option<u64>,
    /// Open files this program may have.
    pub open_files: u64,
    /// Local ports for connections: the first and the last, if known.
    pub local_ports: Option<(u16, u16)>,
}

/// Why a file cannot be read as a result.
#[derive(Debug, Error)]
pub enum ReadError {
    /// It is not JSON.
    #[error("not JSON: {0}")]
    Json(serde_json::Error),
    /// It is JSON, and something else.
    #[error("not a result of httperf: its `format` is not `{FORMAT}`")]
    Format,
    /// It is of a version that is newer than this program.
    #[error("version {0} of the format is newer than this program, which reads up to {VERSION}")]
    Version(u64),
    /// It does not have the shape that it should.
    #[error("not a result of version {VERSION}: {0}")]
    Shape(Misshapen),
    /// Something in it cannot be.
    #[error("not a result that a run can have: {0}")]
    Contents(String),
}

/// The most that anything can have happened in a run: what numbers of other programs hold exactly.
pub(crate) const COUNT_MAX: u64 = 1 << 53;

impl Document {
    /// The result of one run.
    #[must_use]
    pub fn new(part: Part, plan: Plan, summary: Summary) -> Self {
        Self::of_parts(vec![part], plan, summary)
    }

    fn of_parts(parts: Vec<Part>, plan: Plan, summary: Summary) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            verdict: verdict(&plan, &summary),
            objectives: judge(&plan.objectives.all, &summary),
            figures: Figures::of(&plan, &summary, parts.len()),
            parts,
            plan,
            summary,
        }
    }

    /// Reads a document. Its figures are worked out anew.
    ///
    /// # Errors
    /// When it is something else, too new, or broken.
    pub fn read(json: &[u8]) -> Result<Self, ReadError> {
        /// What every version has.
        #[derive(Deserialize)]
        struct Head {
            format: Option<serde_json::Value>,
            version: Option<serde_json::Value>,
        }
        let value: Head = serde_json::from_slice(json).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => ReadError::Format,
            _ => ReadError::Json(error),
        })?;
        if value.format.as_ref().and_then(serde_json::Value::as_str) != Some(FORMAT) {
            return Err(ReadError::Format);
        }
        match value.version.as_ref().and_then(serde_json::Value::as_u64) {
            Some(version) if version > u64::from(VERSION) => return Err(ReadError::Version(version)),
            _ => {}
        }
        let saved: Saved = json::read(json).map_err(ReadError::Shape)?;
        if let Some((field, number)) = count_beyond(json, COUNT_MAX) {
            return Err(ReadError::Contents(format!("{field}: expected at most {COUNT_MAX}, got {number}")));
        }
        saved.document().map_err(ReadError::Contents)
    }

    /// The document as it is saved: one line for each of its fields down to the figures, with a line end.
    #[must_use]
    pub fn json(&self) -> String {
        document::json(self)
    }

    /// The classic report, and what has been added to it if `full`. What came of objectives is in both.
    #[must_use]
    pub fn text(&self, full: bool) -> String {
        let classic = crate::classic(&self.plan, &self.summary);
        let objectives = crate::objectives::section(self);
        match full {
            true => format!("{classic}{}{objectives}", crate::full(self)),
            false => format!("{classic}{objectives}"),
        }
    }

    /// Whether it is known that the run met all its objectives and was not ended for one.
    #[must_use]
    pub fn met_objectives(&self) -> bool {
        let was_ended = self.parts.iter().any(|part| part.ended_early == Some(EarlyEnd::Missed));
        !was_ended && self.objectives.iter().all(|judged| judged.outcome == Kept::Met)
    }
}

/// A document as it is read: what cannot be worked out from the rest, not checked yet.
#[derive(Deserialize)]
pub(crate) struct Saved {
    format: String,
    version: Option<u64>,
    parts: Vec<Part>,
    plan: PlanFields,
    verdict: Verdict,
    summary: Summary,
}

impl Saved {
    /// The document, or the field in it that cannot be what it is. Its figures are worked out anew.
    pub(crate) fn document(self) -> Result<Document, String> {
        let Self { format, version, parts, plan, verdict, summary } = self;
        if format != FORMAT {
            return Err(format!("format: {}", ReadError::Format));
        }
        if let Some(newer) = version.filter(|&version| version > u64::from(VERSION)) {
            return Err(format!("version: {}", ReadError::Version(newer)));
        }
        if parts.is_empty() {
            return Err("parts: expected at least one run, got none".to_owned());
        }
        let plan = Plan::try_from(plan).map_err(|error| format!("plan.{error}"))?;
        verdict.check().map_err(|wrong| format!("verdict.{wrong}"))?;
        summary.check().map_err(|wrong| format!("summary.{wrong}"))?;
        // The verdict stays what it was when the run was fresh, whatever the rules are now.
        Ok(Document { verdict, ..Document::of_parts(parts, plan, summary) })
    }
}

/// The schema of the documents that are written, with a line end.
#[must_use]
pub fn schema() -> String {
    document::schema::<Document>()
}
