//! Arguments about results: the files they go to, the recording, and the objectives.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use httperf_plan::{Objectives, Precision, Recording, ReplyClock, Split};
use httperf_report::headings::Names;

/// Arguments about results.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultArgs {
    /// `--warmup` in seconds; 0 if not given.
    pub warmup: f64,
    /// `--drain` in seconds.
    pub drain: Option<f64>,
    /// `--until`.
    pub until: Option<Precision>,
    /// `--output`.
    pub output: Option<OsString>,
    /// `--json`.
    pub prints_json: bool,
    /// `--html`.
    pub html: Option<OsString>,
    /// `--csv`.
    pub csv: Option<OsString>,
    /// `--hgrm`.
    pub hgrm: Option<OsString>,
    /// `--svg`.
    pub svg: Option<OsString>,
    /// `--png`.
    pub png: Option<OsString>,
    /// `--title` and `--label`.
    pub names: Names,
    /// `--junit`.
    pub junit: Option<OsString>,
    /// `--steps` of `httperf run`.
    pub steps: Option<OsString>,
    /// `--calls`.
    pub calls: Option<OsString>,
    /// `--exemplars`.
    pub exemplars: u32,
    /// `--split`.
    pub split: Option<Split>,
    /// `--clock`.
    pub clock: ReplyClock,
    /// `--kernel-sends`.
    pub kernel_sends: Option<NonZeroU32>,
    /// True if `--record` leaves out what the classic report does not show.
    pub classic_record: bool,
    /// `--strict`.
    pub strict: bool,
    /// `--slo` and `--abort-on-slo`.
    pub objectives: Objectives,
}

impl Default for ResultArgs {
    fn default() -> Self {
        let recording = Recording::default();
        Self {
            warmup: 0.0,
            drain: None,
            until: None,
            output: None,
            prints_json: false,
            html: None,
            csv: None,
            hgrm: None,
            svg: None,
            png: None,
            names: Names::default(),
            junit: None,
            steps: None,
            calls: None,
            exemplars: recording.slowest,
            split: None,
            clock: recording.clock,
            kernel_sends: recording.kernel_sends,
            classic_record: false,
            strict: false,
            objectives: Objectives::default(),
        }
    }
}

impl ResultArgs {
    /// Returns whether standard output carries the result document and nothing else.
    #[must_use]
    pub fn document_on_stdout(&self) -> bool {
        self.prints_json || self.output.as_deref().is_some_and(|file| file == STDOUT)
    }

    /// The folder to which each rank of a fleet writes its own document, if `--output` names one.
    #[must_use]
    pub fn output_folder(&self) -> Option<&Path> {
        self.output.as_deref().filter(|name| name.as_bytes().ends_with(b"/")).map(Path::new)
    }

    /// Returns whether standard output carries the figures of steps and nothing else.
    #[must_use]
    pub fn steps_on_stdout(&self) -> bool {
        self.steps.as_deref().is_some_and(|file| file == STDOUT)
    }

    /// The recording that was asked for.
    #[must_use]
    pub fn recording(&self) -> Recording {
        Recording {
            detail: !self.classic_record,
            split: self.split,
            slowest: self.exemplars,
            clock: self.clock,
            kernel_sends: self.kernel_sends,
        }
    }
}

/// The name that stands for standard output.
pub const STDOUT: &str = "-";
