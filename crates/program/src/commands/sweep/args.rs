//! The arguments of `httperf sweep`.

use std::ffi::OsString;

use httperf_command_line::args::Args;
use httperf_command_line::outputs::{Outputs, TakesOutputs};

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
    /// Destinations of the sweep.
    pub outputs: Outputs,
    /// `--resume`.
    pub resume: Option<OsString>,
    /// `--strict`.
    pub strict: bool,
    /// `--quiet`.
    pub quiet: bool,
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
            outputs: Outputs::default(),
            resume: None,
            strict: false,
            quiet: false,
        }
    }
}

impl TakesOutputs for SweepArgs {
    const FORMATS: &'static str = "text|csv|tsv|json|html|junit";

    fn outputs(&mut self) -> &mut Outputs {
        &mut self.outputs
    }
}
