//! Writing of JSON documents and of their schemas.

use schemars::JsonSchema;
use serde::Serialize;

/// A document as saved: indented, with a line end.
pub(crate) fn json(document: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(document).expect("all keys are text");
    text.push('\n');
    text
}

/// JSON schema of a kind of document, with a line end.
pub(crate) fn schema<T: JsonSchema>() -> String {
    sorted(schemars::schema_for!(T))
}

/// A schema with a line end, whose keys are in order.
pub(crate) fn sorted(schema: schemars::Schema) -> String {
    let mut schema = schema.to_value();
    schema.sort_all_objects();
    json(&schema)
}
