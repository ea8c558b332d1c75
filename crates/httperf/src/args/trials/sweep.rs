//! What was typed for `httperf sweep`.

/// What was typed for `httperf sweep`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepArgs {}
