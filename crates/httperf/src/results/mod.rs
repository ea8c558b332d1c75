//! Results on their way out: the document of a run, the files that options name, and the subcommands that take
//! documents up again.

mod call_log;
mod commands;
pub(crate) mod file;
mod machine;

use std::ffi::{OsStr, OsString};

use anyhow::Context;
use httperf_plan::Plan;
use httperf_report::result::{Capacity, Document, EarlyEnd, Part};
use httperf_report::{csv_header, csv_row, hgrm, junit};
use httperf_stats::Summary;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::args::ResultArgs;
use crate::self_check;

pub use self::call_log::{CallLog, CallSender};
pub(crate) use self::commands::make_runnable;
pub use self::commands::{merge, report, rerun};

/// What is known of a run before it begins.
#[derive(Clone, Debug)]
pub struct Provenance {
    started: OffsetDateTime,
    command: Vec<String>,
    open_files: u64,
}

impl Provenance {
    /// A run that begins now, by this command line.
    #[must_use]
    pub fn now(open_files: u64) -> Self {
        let command = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        Self { started: OffsetDateTime::now_utc(), command, open_files }
    }

    /// The document of the run.
    #[must_use]
    pub fn document(self, plan: Plan, summary: Summary, ended_early: Option<EarlyEnd>) -> Document {
        let started = self.started.replace_nanosecond(0).unwrap_or(self.started);
        let part = Part {
            started: started.format(&Rfc3339).unwrap_or_default(),
            command: self.command,
            httperf: env!("CARGO_PKG_VERSION").to_owned(),
            ended_early,
            machine: machine::this(self.open_files),
            capacity: self_check::store::capacity(&summary, &plan).map(|found| Capacity {
                connections_per_second: found.connections_most as u64,
                requests_per_second: found.requests_most as u64,
            }),
        };
        Document::new(part, plan, summary)
    }
}

/// The files that a run's result goes to.
#[derive(Clone, Debug)]
pub struct Outputs {
    document: Option<OsString>,
    html: Option<OsString>,
    csv: Option<OsString>,
    hgrm: Option<OsString>,
    junit: Option<OsString>,
}

impl Outputs {
    /// Looks whether the files can be written, so that nobody measures for an hour in vain.
    ///
    /// # Errors
    /// A file that cannot be written, by its option.
    pub fn prepare(args: &ResultArgs) -> anyhow::Result<Self> {
        let document = args.output.clone().filter(|_| !args.document_on_stdout());
        let outputs = Self {
            document,
            html: args.html.clone(),
            csv: args.csv.clone(),
            hgrm: args.hgrm.clone(),
            junit: args.junit.clone(),
        };
        for (option, name, _) in outputs.files() {
            file::check(name).with_context(|| cannot_write(option, name))?;
        }
        Ok(outputs)
    }

    /// Writes the files. What went wrong with some of them comes back; the others are there.
    #[must_use]
    pub fn write(&self, document: &Document) -> Vec<anyhow::Error> {
        let written = self.files().map(|(option, name, kind)| {
            let outcome = match kind {
                Kind::Document => file::replace(name, document.json().as_bytes()),
                Kind::Html => file::replace(name, httperf_report::html::page(document).as_bytes()),
                Kind::Csv => file::append(name, &csv_header(), &csv_row(document)),
                Kind::Hgrm => {
                    let latency = document.summary.completed().latency;
                    file::replace(name, hgrm(&latency).to_string().as_bytes())
                }
                Kind::Junit => {
                    let text = junit::xml("httperf", &[junit::Suite::of(document)]);
                    file::replace(name, text.as_bytes())
                }
            };
            outcome.with_context(|| cannot_write(option, name))
        });
        written.filter_map(Result::err).collect()
    }

    /// The files with the options that name them.
    fn files(&self) -> impl Iterator<Item = (&'static str, &OsStr, Kind)> {
        let all = [
            ("--output", &self.document, Kind::Document),
            ("--html", &self.html, Kind::Html),
            ("--csv", &self.csv, Kind::Csv),
            ("--hgrm", &self.hgrm, Kind::Hgrm),
            ("--junit", &self.junit, Kind::Junit),
        ];
        all.into_iter().filter_map(|(option, name, kind)| Some((option, name.as_deref()?, kind)))
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Document,
    Html,
    Csv,
    Hgrm,
    Junit,
}

pub(crate) fn cannot_write(option: &str, name: &OsStr) -> String {
    format!("{option}: cannot write `{}`", name.to_string_lossy())
}
