//! References within a document.

use serde_json::Value;

/// The longest chain of references that is followed.
const CHAIN_MAX: usize = 32;

/// The reason for which a reference leads nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// It leads to another document.
    Remote,
    /// There is nothing where it leads, or it leads back to itself.
    Missing,
}

impl Broken {
    /// The reason in a report.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Remote => "operations with references to other documents",
            Self::Missing => "operations with references that lead nowhere",
        }
    }
}

/// Follows `$ref` to the value that it stands for.
pub(super) fn resolved<'d>(document: &'d Value, value: &'d Value) -> Result<&'d Value, Broken> {
    let mut value = value;
    for _ in 0..CHAIN_MAX {
        let Some(reference) = value.get("$ref").and_then(Value::as_str) else { return Ok(value) };
        let pointer = reference.strip_prefix('#').ok_or(Broken::Remote)?;
        let pointer = pointer.replace("%7B", "{").replace("%7D", "}").replace("%20", " ");
        value = document.pointer(&pointer).ok_or(Broken::Missing)?;
    }
    Err(Broken::Missing)
}
