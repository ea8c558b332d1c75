//! What was typed for `httperf ab`.

/// What was typed for `httperf ab`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AbArgs {}
