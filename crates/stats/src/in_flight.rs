//! Replies in flight: how many were due from the server at a time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::merge::{Merge as _, merge_fields};

/// Replies that were due from the server in the measured phase: the first byte of their request was sent, and the end of the
/// reply had not come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InFlight {
    /// Time for which replies were due, added up over all of them, in microseconds.
    pub time_us: u64,
    /// Number of replies that were due at the beginning of the measured phase.
    pub at_begin: u64,
    /// Number of replies that were due at its end.
    pub at_end: u64,
}

merge_fields!(InFlight {
    add: time_us, at_begin, at_end;
});

/// Sum of two parts; unknown if it is of one of them.
pub(crate) fn both_known(own: &mut Option<InFlight>, other: &Option<InFlight>) {
    match (&mut *own, other) {
        (Some(own), Some(other)) => own.merge(other),
        _ => *own = None,
    }
}
