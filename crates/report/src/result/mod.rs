//! The result of a run as a lasting document: plan, circumstances, measurements and verdict.
//!
//! Every other form of report is a function of such documents. Within a version of the format, fields may be
//! added, but are never removed or redefined. `docs/reference/result.md` describes the format,
//! `httperf schema result` prints its schema.

mod merge;

use std::borrow::Cow;
use std::fmt::{self, Display};

use httperf_plan::{Client, Plan, PlanFields, secrets};
use httperf_stats::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::conclusion::Conclusion;
use crate::document;
use crate::figures::RunFigures;
use crate::fleet::{Fleet, FleetRank};
use crate::json::count_beyond;
use crate::objectives::{Judged, Kept, judge_all};
use crate::read::{self, Kind, ReadError};
use crate::verdict::{Verdict, verdict_of_fleet};

pub use crate::json::Misshapen;
pub(crate) use merge::same_run;
pub use merge::{Apart, Common, Difference, MergeError, merge};

/// Result of a run, or of several merged parts of a run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(title = "Result of httperf", extend("$id" = "urn:httperf:result:1"))]
pub struct Document {
    /// Name of the format: `httperf-result`.
    format: String,
    /// Version of the format.
    version: u32,
    /// Author, place and time of each part: one, or several after a merge.
    pub parts: Vec<Part>,
    /// Plan of the run. It can be run again.
    pub plan: Plan,
    /// Conclusion about the server, derived from the other fields.
    pub conclusion: Conclusion,
    /// Reliability of the figures.
    pub verdict: Verdict,
    /// Outcomes of the plan's objectives.
    #[serde(default)]
    pub objectives: Vec<Judged>,
    /// Most requested figures, derived from the summary.
    pub figures: RunFigures,
    /// Everything measured. Durations are in nanoseconds.
    pub summary: Summary,
    /// Ranks that carried out the run together, if it was a fleet's (`--fleet`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Fleet>,
}

/// One run of the program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// Start: an RFC 3339 date and time, in UTC.
    pub started: String,
    /// Index and number of generators (`--client`). Missing in older documents.
    #[serde(default)]
    pub client: Option<Client>,
    /// Random digits that identify this run. Missing in older documents.
    #[serde(default)]
    pub run: Option<String>,
    /// Command line, starting with the name of the program. Invalid UTF-8 is replaced, and `...` stands for what is secret.
    pub command: Vec<String>,
    /// Version of the program.
    pub httperf: String,
    /// Reason for ending before the workload did, if it did.
    pub ended_early: Option<EarlyEnd>,
    /// Machine it ran on.
    pub machine: Machine,
    /// Capacity of that machine by the latest `httperf self-check`, if there was one that applies to this
    /// run.
    pub capacity: Option<MachineCapacity>,
}

#[cfg(test)]
impl Part {
    /// A run of no machine in particular.
    pub(crate) fn of_a_test() -> Self {
        Self {
            started: "2026-01-02T03:04:05Z".to_owned(),
            client: None,
            run: None,
            command: vec!["httperf".to_owned()],
            httperf: "0".to_owned(),
            ended_early: None,
            machine: Machine::default(),
            capacity: None,
        }
    }
}

/// Largest load that a machine was found to offer without lag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct MachineCapacity {
    /// Connections per second, with one request each.
    pub connections_per_second: u64,
    /// Requests per second on persistent connections.
    pub requests_per_second: u64,
}

/// Reason for ending a run before its workload ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EarlyEnd {
    /// Requested by a signal or by the user at the screen.
    Asked,
    /// The desired precision was reached (`--until`).
    Exact,
    /// An objective was missed (`--abort-on-slo`).
    Missed,
    /// The server did not speak the protocol, HTTP/2 or TLS, on the first connections.
    Hopeless,
}

/// Completes the sentence "The run …".
impl Display for EarlyEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Asked => "was stopped early, on request",
            Self::Exact => "ended as soon as it had measured precisely enough (--until)",
            Self::Missed => {
                "was ended early because an objective had been missed for three seconds in a row (--abort-on-slo)"
            }
            Self::Hopeless => "was ended early because the server does not speak the protocol",
        })
    }
}

/// Properties of a machine that matter to a measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Host name.
    pub host: String,
    /// Operating system, with the kernel's release.
    pub system: String,
    /// Model of the processors, if known.
    pub processor: Option<String>,
    /// Number of processors.
    pub processors: u32,
    /// Memory in bytes, if known.
    pub memory: Option<u64>,
    /// Limit on open files of this program.
    pub open_files: u64,
    /// Range of local ports for connections, both ends included, if known.
    pub local_ports: Option<(u16, u16)>,
}

/// Largest possible count in a run: the largest integer that programs in other languages represent exactly.
pub(crate) const COUNT_MAX: u64 = 1 << 53;

impl Document {
    /// Result of one run.
    #[must_use]
    pub fn new(part: Part, plan: Plan, summary: Summary) -> Self {
        Self::of_parts(vec![part], plan, summary, None)
    }

    /// Result of one rank of a fleet of this many.
    #[must_use]
    pub fn of_rank(
        part: Part,
        plan: Plan,
        summary: Summary,
        rank: u32,
        size: u32,
        allows_missing: bool,
    ) -> Self {
        let own = FleetRank::of(rank, &part.machine.host, &plan, &summary);
        let fleet = Fleet::of_rank(own, size, allows_missing);
        Self::of_parts(vec![part], plan, summary, Some(fleet))
    }

    fn of_parts(parts: Vec<Part>, plan: Plan, summary: Summary, fleet: Option<Fleet>) -> Self {
        // The ranks of a fleet follow one schedule, other generators one each.
        let schedules = if fleet.is_some() { 1 } else { parts.len() };
        let verdict = verdict_of_fleet(&plan, &summary, fleet.as_ref());
        let figures = RunFigures::of(&plan, &summary, schedules);
        Self {
            format: Kind::Result.format().to_owned(),
            version: Kind::Result.version(),
            conclusion: Conclusion::of(&plan, &summary, &figures, &verdict),
            verdict,
            objectives: judge_all(&plan, &summary),
            figures,
            parts,
            plan,
            summary,
            fleet,
        }
    }

    /// Reads a document. Its figures are computed anew.
    ///
    /// # Errors
    /// If it is of another kind, too new, or broken.
    pub fn read(json: &[u8]) -> Result<Self, ReadError> {
        let contents = |wrong| ReadError::Contents(Kind::Result, wrong);
        let saved: Saved = read::fields(Kind::Result, json)?;
        if let Some((field, number)) = count_beyond(json, COUNT_MAX) {
            return Err(contents(format!("{field}: expected at most {COUNT_MAX}, got {number}")));
        }
        saved.document().map_err(contents)
    }

    /// The document as saved: indented JSON, with a line end.
    #[must_use]
    pub fn json(&self) -> String {
        document::json(self)
    }

    /// The document as it may be shown: without what is secret in its plan and in its command lines.
    #[must_use]
    pub fn without_secrets(&self) -> Cow<'_, Self> {
        let commands = self.parts.iter().map(|part| secrets::command_line(&part.command));
        let commands: Vec<Vec<String>> = commands.collect();
        let plan = self.plan.without_secrets();
        if plan.is_none() && self.parts.iter().zip(&commands).all(|(part, shown)| part.command == *shown) {
            return Cow::Borrowed(self);
        }
        let mut shown = self.clone();
        shown.plan = plan.unwrap_or(shown.plan);
        shown.parts.iter_mut().zip(commands).for_each(|(part, command)| part.command = command);
        let slowest = shown.summary.slowest.iter_mut();
        slowest.for_each(|call| call.uri = secrets::url(&call.uri).into_owned());
        Cow::Owned(shown)
    }

    /// Outcome of all objectives together; `None` if there are none. A run that was aborted for missing one has missed it.
    #[must_use]
    pub fn objectives_outcome(&self) -> Option<Kept> {
        let is_any = |outcome| self.objectives.iter().any(|judged| judged.outcome == outcome);
        let was_ended = self.parts.iter().any(|part| part.ended_early == Some(EarlyEnd::Missed));
        match () {
            () if self.objectives.is_empty() => None,
            () if was_ended || is_any(Kept::Missed) => Some(Kept::Missed),
            () if is_any(Kept::Unknown) => Some(Kept::Unknown),
            () => Some(Kept::Met),
        }
    }

    /// Returns true if the run is known to have met all its objectives and was not aborted for missing one.
    #[must_use]
    pub fn met_objectives(&self) -> bool {
        self.objectives_outcome().is_none_or(|outcome| outcome == Kept::Met)
    }
}

/// A document as it is read, not checked yet: the fields that cannot be derived from others.
#[derive(Deserialize)]
pub(crate) struct Saved {
    format: String,
    version: Option<u64>,
    parts: Vec<Part>,
    plan: PlanFields,
    verdict: Verdict,
    summary: Summary,
    #[serde(default)]
    fleet: Option<Fleet>,
}

impl Saved {
    /// Returns the document, or the field that has an impossible value. Figures are computed anew.
    pub(crate) fn document(self) -> Result<Document, String> {
        let Self { format, version, parts, plan, verdict, summary, fleet } = self;
        let kind = Kind::Result;
        if format != kind.format() {
            return Err(format!("format: {}", ReadError::Format(kind)));
        }
        if let Some(newer) = version.filter(|&version| version > u64::from(kind.version())) {
            return Err(format!("version: {}", ReadError::Version(newer, kind)));
        }
        if parts.is_empty() {
            return Err("parts: expected at least one run, got none".to_owned());
        }
        let plan = Plan::try_from(plan).map_err(|error| format!("plan.{error}"))?;
        verdict.check().map_err(|wrong| format!("verdict.{wrong}"))?;
        summary.check().map_err(|wrong| format!("summary.{wrong}"))?;
        if let Some(fleet) = &fleet {
            fleet.check().map_err(|wrong| format!("fleet.{wrong}"))?;
        }
        // The verdict stays as it was when the run was made, even if the rules have changed since.
        let document = Document::of_parts(parts, plan, summary, fleet);
        let conclusion = Conclusion::of(&document.plan, &document.summary, &document.figures, &verdict);
        Ok(Document { conclusion, verdict, ..document })
    }
}

/// Schema of the documents written, with a line end.
#[must_use]
pub fn schema() -> String {
    document::schema::<Document>()
}
