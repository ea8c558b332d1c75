//! Paths into JSON (RFC 9535).
//!
//! A path of names and indexes is found by one pass over the bytes ([`tree`]); any other by `serde_json_path` in a parsed
//! document. Both give the same: a test runs the compliance suite through both.

mod brackets;
mod scan;
mod tree;

use compact_str::{CompactString, ToCompactString};
use httperf_plan::scenario::{Value, jsonpath};
use serde_json_path::{JsonPath, NormalizedPath, PathElement};

pub(super) use self::scan::read;
pub(super) use self::tree::{Span, Step, Tree};
use super::value::Found;

/// The maximum number of steps of a path that is found by a pass over the bytes, which bounds the depth of the pass.
const STEPS_MAX: usize = 32;

/// A compiled path.
#[derive(Debug)]
pub(super) struct Path {
    general: JsonPath,
    /// The names and indexes if there is nothing else.
    steps: Option<Vec<Step>>,
}

impl Path {
    pub(super) fn new(text: &str) -> Result<Self, String> {
        let (general, text) = jsonpath(text)?;
        Ok(Self { general, steps: simple_steps(&text) })
    }

    /// Returns the names and indexes that the path consists of.
    pub(super) fn steps(&self) -> Option<&[Step]> {
        self.steps.as_deref()
    }

    /// Finds nodes. One stands for itself and several are a list, as in Hurl from version 8 on.
    pub(super) fn query(&self, document: &Document) -> Option<Found<'static>> {
        let mut values: Vec<_> = match &document.exact {
            None => self.general.query(&document.searched).iter().map(|node| value_of(node)).collect(),
            Some(exact) => {
                let nodes = self.general.query_located(&document.searched);
                nodes.iter().filter_map(|node| at(node.location(), exact).cloned()).collect()
            }
        };
        match values.len() {
            0 => None,
            1 => values.pop().map(Found::Owned),
            _ => Some(Found::Owned(Value::List(values))),
        }
    }
}

/// A document that paths are looked up in.
///
/// `serde_json` takes whole numbers beyond 64 bits for floats, so a document that may have some is kept twice.
#[derive(Debug)]
pub(super) struct Document {
    searched: serde_json::Value,
    /// The same with all digits of its numbers.
    exact: Option<Value>,
}

impl Document {
    /// The number of digits from which on a number may be beyond 64 bits.
    const LONG: usize = 19;

    /// Reads JSON. `None` if it is malformed.
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let searched = serde_json::from_slice(text).ok()?;
        let is_long = text.split(|byte| !byte.is_ascii_digit()).any(|digits| digits.len() >= Self::LONG);
        let exact = if is_long { Some(scan::exactly(text)?) } else { None };
        Some(Self { searched, exact })
    }

    /// Takes a value that JSON has.
    pub(super) fn of(value: Value) -> Option<Self> {
        Some(Self { searched: json_of(&value)?, exact: Some(value) })
    }

    fn into_value(self) -> Value {
        self.exact.unwrap_or_else(|| value_of(&self.searched))
    }
}

/// Returns the value at a place.
fn at<'v>(location: &NormalizedPath<'_>, value: &'v Value) -> Option<&'v Value> {
    location.iter().try_fold(value, |value, element| match (element, value) {
        (PathElement::Index(index), Value::List(list)) => list.get(*index),
        (PathElement::Name(name), Value::Object(members)) => {
            members.iter().find(|(own, _)| own == name).map(|(_, value)| value)
        }
        _ => None,
    })
}

/// Converts a value that JSON has.
pub(super) fn value_of(json: &serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(value) => Value::Boolean(*value),
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Value::Integer(number),
            (None, Some(number)) => Value::BigInteger(number.to_compact_string()),
            (None, None) => Value::Float(number.as_f64().unwrap_or_default()),
        },
        serde_json::Value::String(text) => Value::Text(CompactString::new(text)),
        serde_json::Value::Array(list) => Value::List(list.iter().map(value_of).collect()),
        serde_json::Value::Object(members) => {
            Value::Object(members.iter().map(|(name, value)| (name.into(), value_of(value))).collect())
        }
    }
}

/// Converts a value into one that JSON has; `None` for bytes, and for a float that is not finite.
pub(super) fn json_of(value: &Value) -> Option<serde_json::Value> {
    Some(match value {
        Value::Null => serde_json::Value::Null,
        Value::Boolean(value) => (*value).into(),
        Value::Integer(value) => (*value).into(),
        Value::BigInteger(digits) => serde_json::Value::Number(serde_json::from_str(digits).ok()?),
        Value::Float(value) => serde_json::Number::from_f64(*value)?.into(),
        Value::Text(text) => text.as_str().into(),
        Value::Bytes(_) => return None,
        Value::List(list) => list.iter().map(json_of).collect::<Option<Vec<_>>>()?.into(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| Some((name.to_string(), json_of(value)?)));
            serde_json::Value::Object(members.collect::<Option<_>>()?)
        }
    })
}

/// Reads a path of names and indexes that is well-formed. `None` for any other, and for one with blanks or escapes.
fn simple_steps(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let step = if let Some(tail) = rest.strip_prefix('.') {
            let end = tail.find(['.', '[']).unwrap_or(tail.len());
            let name = &tail[..end];
            let is_name = name
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || letter == '_' || !letter.is_ascii());
            rest = &tail[end..];
            Step::Name((is_name && !name.is_empty()).then_some(name)?.into())
        } else {
            let inner = rest.strip_prefix('[')?;
            let quote = inner.chars().next()?;
            if quote == '"' || quote == '\'' {
                let end = inner[1..].find(quote)? + 1;
                rest = inner[end + 1..].strip_prefix(']')?;
                let name = &inner[1..end];
                Step::Name((!name.contains('\\')).then_some(name)?.into())
            } else {
                let end = inner.find(']')?;
                rest = &inner[end + 1..];
                let digits = &inner[..end];
                Step::Index(digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())??)
            }
        };
        steps.push(step);
    }
    (steps.len() <= STEPS_MAX).then_some(steps)
}

#[cfg(test)]
mod tests;
