//! The verdict on a run: whether the generator, the machine or the sample makes its figures unreliable.
//!
//! A verdict says nothing about the server. A run against a server that fails every call may be perfectly
//! valid; one whose generator was late is not, however good its figures look.

mod finding;
mod judge;

use std::fmt::{self, Display};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::finding::Finding;
pub use self::judge::verdict;
pub(crate) use self::judge::{LAG_FROM, LAG_SUSPECT, verdict_of_fleet};

/// Reliability of a run's figures, with the reasons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Worst level of the reasons.
    pub level: Level,
    /// Reasons for the level, worst first, followed by notes.
    pub reasons: Vec<Reason>,
}

impl Verdict {
    /// Verdict for these reasons, in any order.
    fn of(mut reasons: Vec<Reason>) -> Self {
        // Stable: findings of the same level keep their order.
        reasons.sort_by_key(|reason| std::cmp::Reverse(reason.level));
        let level = reasons.first().map_or(Level::Valid, |reason| reason.level);
        Self { level, reasons }
    }

    /// Checks that the findings can be displayed.
    ///
    /// # Errors
    /// The field that is wrong, the value expected, and the value found.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (index, reason) in self.reasons.iter().enumerate() {
            if let Finding::ScheduleLag { quantile, .. } | Finding::FewSamples { quantile, .. } =
                reason.finding
                && !(quantile > 0.0 && quantile < 1.0)
            {
                return Err(format!(
                    "reasons[{index}].quantile: expected a number between 0 and 1, got {quantile}"
                ));
            }
        }
        Ok(())
    }
}

/// Reliability of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    /// The figures are reliable.
    Valid,
    /// Some figures may be off: see the reasons.
    Suspect,
    /// They describe the generator or the machine rather than the server.
    Invalid,
}

impl Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Valid => "VALID",
            Self::Suspect => "SUSPECT",
            Self::Invalid => "INVALID",
        })
    }
}

impl Verdict {
    /// Returns true if the generator or its machine was the bottleneck, so that the run says nothing about
    /// the server's capacity.
    #[must_use]
    pub fn blames_client(&self) -> bool {
        self.client_limits().next().is_some()
    }

    /// Findings that made the generator or its machine the bottleneck, worst first.
    pub fn client_limits(&self) -> impl Iterator<Item = &Finding> {
        self.reasons.iter().filter(|reason| reason.limits_client()).map(|reason| &reason.finding)
    }
}

/// A finding and its severity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// Severity. Mere notes are `VALID`.
    pub level: Level,
    /// The finding.
    #[serde(flatten)]
    pub finding: Finding,
}

impl Reason {
    /// Returns true if the finding means that less load than planned was, or could have been, offered.
    /// Findings that merely blur the figures of a load that was offered do not count, even if they make the
    /// figures worthless: occasional late starts, or a machine whose processors are shared.
    fn limits_client(&self) -> bool {
        match &self.finding {
            Finding::AtRank { finding, .. } => {
                Self { level: self.level, finding: (**finding).clone() }.limits_client()
            }
            Finding::RanksMissing { .. } => true,
            Finding::ClientCpu { .. } | Finding::Descriptors { .. } | Finding::Ports { .. } => true,
            Finding::ScheduleLag { quantile, .. } | Finding::ReceiveLag { quantile, .. } => {
                self.level == Level::Invalid && *quantile <= 0.5
            }
            Finding::Rate { .. } | Finding::ClientLimit { .. } => self.level == Level::Invalid,
            // They blur what was measured; the load was offered.
            Finding::DatagramsLost { .. } => false,
            Finding::Paused { .. } => self.level == Level::Invalid,
            Finding::ArrivalsSkipped { .. } => self.level >= Level::Suspect,
            Finding::ArrivalProcess { .. }
            | Finding::ArrivalsHeld { .. }
            | Finding::OpenedForCalls { .. }
            | Finding::FeedUsedUp { .. }
            | Finding::ClockSet { .. }
            | Finding::Unstamped { .. }
            | Finding::TimeStolen { .. }
            | Finding::KeptWaiting { .. }
            | Finding::FewSamples { .. }
            | Finding::Unfinished { .. }
            | Finding::CallsNotMade { .. }
            | Finding::InFlight { .. }
            | Finding::LogIncomplete { .. }
            | Finding::NotRecorded
            | Finding::NotResumed { .. }
            | Finding::ServerStall { .. }
            | Finding::SteadyFrom { .. }
            | Finding::NeverSteady => false,
        }
    }

    /// Returns true if the finding describes one generator and its machine, whatever others that work with it find.
    pub(crate) fn is_of_machine(&self) -> bool {
        match &self.finding {
            Finding::ClientCpu { .. }
            | Finding::ScheduleLag { .. }
            | Finding::ReceiveLag { .. }
            | Finding::ClockSet { .. }
            | Finding::Rate { .. }
            | Finding::ArrivalProcess { .. }
            | Finding::Descriptors { .. }
            | Finding::Ports { .. }
            | Finding::TimeStolen { .. }
            | Finding::KeptWaiting { .. }
            | Finding::DatagramsLost { .. }
            | Finding::Paused { .. } => true,
            // Counts and shares of the whole.
            Finding::Unstamped { .. }
            | Finding::ArrivalsSkipped { .. }
            | Finding::ArrivalsHeld { .. }
            | Finding::ClientLimit { .. }
            | Finding::OpenedForCalls { .. }
            | Finding::FeedUsedUp { .. }
            | Finding::FewSamples { .. }
            | Finding::Unfinished { .. }
            | Finding::CallsNotMade { .. }
            | Finding::InFlight { .. }
            | Finding::LogIncomplete { .. }
            | Finding::NotRecorded
            | Finding::NotResumed { .. }
            | Finding::ServerStall { .. }
            | Finding::SteadyFrom { .. }
            | Finding::NeverSteady
            | Finding::AtRank { .. }
            | Finding::RanksMissing { .. } => false,
        }
    }
}

/// The section `Verdict`, starting with an empty line.
#[must_use]
pub fn verdict_section(verdict: &Verdict) -> impl Display + '_ {
    Section { verdict }
}

struct Section<'a> {
    verdict: &'a Verdict,
}

impl Display for Section<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nVerdict: {}", self.verdict.level)?;
        for reason in &self.verdict.reasons {
            let word = match reason.level {
                Level::Valid => "note",
                Level::Suspect => "suspect",
                Level::Invalid => "invalid",
            };
            writeln!(f, "  {word:<8} {:<16} {}", reason.finding.name(), reason.finding)?;
        }
        Ok(())
    }
}
