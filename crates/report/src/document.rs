//! Documents for programs: how they are written, and how their shape is described.

use schemars::JsonSchema;
use serde::Serialize;

/// A document as it is saved: indented, with a line end.
pub(crate) fn json(document: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(document).expect("all keys are text");
    text.push('\n');
    text
}

/// The schema of a kind of document, with a line end.
pub(crate) fn schema<T: JsonSchema>() -> String {
    json(&schemars::schema_for!(T))
}
