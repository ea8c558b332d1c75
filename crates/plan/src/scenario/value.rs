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
    /// A whole number of 64 bits with a sign.
    Integer(i64),
    /// Any other whole number: its digits, after a minus sign if it is negative.
    BigInteger(#[schemars(with = "String")] CompactString),
    /// A number with a fraction or an exponent; finite.
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

impl Value {
    /// Returns the whole number that is written in this way: without a plus sign or leading zeros; `None` for other text.
    #[must_use]
    pub fn whole(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let is_whole = match digits.as_bytes() {
            [b'0'] => digits.len() == text.len(),
            [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
            _ => false,
        };
        let number =
            || text.parse().map_or_else(|_| Self::BigInteger(CompactString::new(text)), Self::Integer);
        is_whole.then(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_of_any_size_keep_their_digits() {
        for number in [0, 7, -7, i64::MAX, i64::MIN] {
            assert_eq!(Value::whole(&number.to_string()), Some(Value::Integer(number)));
        }
        for text in ["9223372036854775808", "-9223372036854775809", "18446744073709551616"] {
            assert_eq!(Value::whole(text), Some(Value::BigInteger(text.into())));
        }
        for text in ["", "-", "-0", "+1", "007", "1.0", "1e3", "--1", "12a", "0x1"] {
            assert_eq!(Value::whole(text), None, "{text}");
        }
    }
}
