//! What was typed for `httperf capacity`.

/// What was typed for `httperf capacity`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CapacityArgs {}
