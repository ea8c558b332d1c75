//! Values of variables.

use compact_str::CompactString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A value of a variable, or one that a query finds in a reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// `null`.
    Null,
    /// A truth value.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number; finite.
    Float(f64),
    /// Text. Up to 24 bytes are kept without an allocation.
    Text(#[schemars(with = "String")] CompactString),
    /// Bytes.
    Bytes(
        #[serde(with = "crate::text")]
        #[schemars(with = "crate::text::Text")]
        Vec<u8>,
    ),
    /// A list.
    List(Vec<Value>),
    /// An object: names and values, in order.
    Object(#[schemars(with = "Vec<(String, Value)>")] Vec<(CompactString, Value)>),
}
