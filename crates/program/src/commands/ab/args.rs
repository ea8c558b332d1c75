//! The arguments of `httperf ab`.

use httperf_command_line::args::Args;
use httperf_command_line::outputs::{Outputs, TakesOutputs};
use httperf_report::compare::ComparisonSettings;

/// The arguments of `httperf ab`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AbArgs {
    /// The options that define a run of both sides.
    pub run: Args,
    /// `--a`: options of the first side alone.
    pub a: Option<Vec<u8>>,
    /// `--b`: options of the second.
    pub b: Option<Vec<u8>>,
    /// `--rounds`.
    pub rounds: Option<u32>,
    /// `--pause` in seconds.
    pub pause: f64,
    /// `--seed`.
    pub seed: Option<u64>,
    /// Destinations of the comparison.
    pub outputs: Outputs,
    /// `--fail-if` and `--force`.
    pub settings: ComparisonSettings,
    /// The words that are no options: URLs.
    pub words: Vec<Vec<u8>>,
}

impl TakesOutputs for AbArgs {
    const FORMATS: &'static str = "text|markdown|csv|json|html|junit";

    fn outputs(&mut self) -> &mut Outputs {
        &mut self.outputs
    }
}
