//! Text with variables that each step fills in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Filter;
use crate::NonEmpty;

/// Text of a step: literals and what each call fills in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct StepText {
    /// The parts, in order. No two literals are adjacent.
    pub parts: Vec<TextPart>,
}

/// A part of a [`StepText`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TextPart {
    /// Bytes that are the same in each call.
    Literal(
        #[serde(with = "crate::text")]
        #[schemars(with = "crate::text::Text")]
        Vec<u8>,
    ),
    /// `{{name}}`: the value of a variable.
    Variable {
        /// The slot of the variable.
        slot: u32,
        /// The filters applied to the value, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        filters: Vec<Filter>,
    },
    /// `{{pick:a|b}}`: one of these, each equally likely.
    Pick(
        #[serde(with = "crate::text::non_empty_list")]
        #[schemars(with = "NonEmpty<crate::text::Text>")]
        NonEmpty<Vec<u8>>,
    ),
    /// `{{newUuid}}`: a random UUID (RFC 9562, version 4).
    Uuid,
    /// `{{newDate}}`: the date and time at which the call is made (RFC 3339, in UTC).
    Date,
    /// Text that is encoded after it was filled in.
    Encoded {
        /// The encoding.
        coding: Coding,
        /// The text.
        text: StepText,
    },
}

/// An encoding of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Coding {
    /// Percent-encoding of a name or value in a query (RFC 3986, section 2.1): all but unreserved characters.
    Query,
    /// `application/x-www-form-urlencoded`.
    Form,
    /// Percent-encoding of a piece of a URL: blanks, control characters, `"`, `#`, `<`, `>`, `` ` ``, `{`, `}` and what
    /// is not ASCII. Slashes, question marks and what is encoded already stay.
    Url,
    /// The contents of a JSON string: quotes, backslashes and control characters are escaped (RFC 8259, section 7).
    Json,
    /// Base64 with padding (RFC 4648, section 4).
    Base64,
}

impl StepText {
    /// Creates a text without anything to fill in.
    #[must_use]
    pub fn literal(bytes: &[u8]) -> Self {
        let mut text = Self::default();
        text.push_literal(bytes);
        text
    }

    /// Returns the bytes if there is nothing to fill in.
    #[must_use]
    pub fn as_literal(&self) -> Option<&[u8]> {
        match &self.parts[..] {
            [] => Some(b""),
            [TextPart::Literal(bytes)] => Some(bytes),
            _ => None,
        }
    }

    /// Appends literal bytes.
    pub fn push_literal(&mut self, bytes: &[u8]) {
        match self.parts.last_mut() {
            _ if bytes.is_empty() => {}
            Some(TextPart::Literal(last)) => last.extend_from_slice(bytes),
            _ => self.parts.push(TextPart::Literal(bytes.to_vec())),
        }
    }

    /// Appends a part.
    pub fn push(&mut self, part: TextPart) {
        match part {
            TextPart::Literal(bytes) => self.push_literal(&bytes),
            other => self.parts.push(other),
        }
    }
}
