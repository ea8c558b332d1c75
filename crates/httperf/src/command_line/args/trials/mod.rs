//! What was typed for the commands that make several runs: beside what each run is, which is the rest of the arguments.

mod ab;
mod capacity;
mod sweep;

pub use self::ab::AbArgs;
pub(crate) use self::capacity::ARRIVALS_MIN;
pub use self::capacity::{CapacityArgs, Searched};
pub use self::sweep::{SweepArgs, SweepForm};

/// What was typed for `sweep`, `capacity` or `ab`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrialArgs {
    /// `httperf sweep`.
    pub sweep: SweepArgs,
    /// `httperf capacity`.
    pub capacity: CapacityArgs,
    /// `httperf ab`.
    pub ab: AbArgs,
}
