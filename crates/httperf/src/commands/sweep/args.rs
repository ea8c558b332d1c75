//! The arguments of `httperf sweep`.

use std::ffi::OsString;

use crate::command_line::args::Args;

/// The arguments of `httperf sweep`.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepArgs {
    /// The options that define a run.
    pub run: Args,
    /// `--rates`: ascending, each once.
    pub rates: Option<Vec<f64>>,
    /// `--request-rates`, likewise.
    pub request_rates: Option<Vec<f64>>,
    /// `--repeats`.
    pub repeats: u32,
    /// True if `--order` is random.
    pub shuffled: bool,
    /// `--seed`.
    pub seed: Option<u64>,
    /// `--stop-after`; 0 for never.
    pub stop_after: u32,
    /// `--pause` in seconds.
    pub pause: f64,
    /// `--settle` in seconds.
    pub settle: f64,
    /// `--output`.
    pub output: Option<OsString>,
    /// `--csv`.
    pub csv: Option<OsString>,
    /// `--tsv`.
    pub tsv: Option<OsString>,
    /// `--html`.
    pub html: Option<OsString>,
    /// `--svg`.
    pub svg: Option<OsString>,
    /// `--png`.
    pub png: Option<OsString>,
    /// `--junit`.
    pub junit: Option<OsString>,
    /// `--format`.
    pub form: SweepForm,
    /// `--resume`.
    pub resume: Option<OsString>,
    /// `--strict`.
    pub strict: bool,
    /// `--quiet`.
    pub quiet: bool,
}

/// The form of the report on stdout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SweepForm {
    /// A table for people.
    #[default]
    Table,
    /// Rows with tabs.
    Tsv,
    /// Rows with commas.
    Csv,
    /// The document.
    Json,
}

impl Default for SweepArgs {
    fn default() -> Self {
        Self {
            run: Args::default(),
            rates: None,
            request_rates: None,
            repeats: 1,
            shuffled: false,
            seed: None,
            stop_after: 3,
            pause: 1.0,
            settle: 60.0,
            output: None,
            csv: None,
            tsv: None,
            html: None,
            svg: None,
            png: None,
            junit: None,
            form: SweepForm::Table,
            resume: None,
            strict: false,
            quiet: false,
        }
    }
}
