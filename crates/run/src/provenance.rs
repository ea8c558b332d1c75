//! Where and when a run was made, and by what.

use std::hash::{BuildHasher, RandomState};

use chrono::{DateTime, SecondsFormat, Utc};
use httperf_plan::{Plan, secrets};
use httperf_report::result::{Document, EarlyEnd, MachineCapacity, Part};
use httperf_stats::Summary;

use crate::known_capacity::share_of_capacity;
use crate::machine;

/// The origin of a run: its start, its name, its command line.
#[derive(Clone, Debug)]
pub struct Provenance {
    started: DateTime<Utc>,
    run: String,
    command: Vec<String>,
    open_files: u64,
}

impl Provenance {
    /// A run that begins now, by the command line of this process. `open_files` is its limit on open files.
    #[must_use]
    pub fn now(open_files: u64) -> Self {
        let words: Vec<String> =
            std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        let command = secrets::command_line(&words);
        Self { started: Utc::now(), run: random_name(), command, open_files }
    }

    /// A name that no other run has.
    #[must_use]
    pub fn run(&self) -> &str {
        &self.run
    }

    /// The document of the run.
    #[must_use]
    pub fn document(self, plan: Plan, summary: Summary, ended_early: Option<EarlyEnd>) -> Document {
        let part = self.part(&plan, &summary, ended_early);
        Document::new(part, plan, summary)
    }

    /// The origin as a document has it.
    #[must_use]
    pub fn part(self, plan: &Plan, summary: &Summary, ended_early: Option<EarlyEnd>) -> Part {
        Part {
            started: self.started.to_rfc3339_opts(SecondsFormat::Secs, true),
            run: Some(self.run),
            client: Some(plan.client),
            command: self.command,
            httperf: env!("CARGO_PKG_VERSION").to_owned(),
            ended_early,
            machine: machine::this(self.open_files),
            capacity: share_of_capacity(summary, plan).map(|found| MachineCapacity {
                connections_per_second: found.connections_most as u64,
                requests_per_second: found.requests_most as u64,
            }),
        }
    }
}

/// 32 digits that no other run has: the standard library's hashers are keyed with random numbers of the system's.
fn random_name() -> String {
    let half = || RandomState::new().hash_one((std::process::id(), std::time::SystemTime::now()));
    format!("{:016x}{:016x}", half(), half())
}
