//! Looks at replies: queries, filters, predicates, and the captures and checks made of them.
//!
//! The meaning is that of Hurl (<https://hurl.dev/docs/asserting-response.html>).

use compact_str::CompactString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{StepText, Value};

/// A value taken from a reply and kept in a variable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Capture {
    /// The slot of the variable.
    pub slot: u32,
    /// The place of the value.
    pub query: Query,
    /// The filters applied to it, in order.
    pub filters: Vec<Filter>,
    /// The capture as it is written, for reports.
    pub label: String,
    /// The value is a secret: no output shows it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
}

/// A condition on a reply or on a variable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// The place of the value.
    pub query: Query,
    /// The filters applied to it, in order.
    pub filters: Vec<Filter>,
    /// The condition that it must meet.
    pub predicate: Predicate,
    /// The check as it is written, for reports.
    pub label: String,
}

/// A place of a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Query {
    /// The status code.
    Status,
    /// The value of a header field, or the list of values if the field occurs more than once.
    Header(StepText),
    /// A cookie that the reply sets, or one of its attributes.
    Cookie {
        /// The name.
        name: StepText,
        /// The attribute; the value without one.
        attribute: Option<Attribute>,
    },
    /// The decoded body as text.
    Body,
    /// The decoded body as bytes.
    Bytes,
    /// The SHA-256 digest of the decoded body, as bytes.
    Sha256,
    /// The nodes of a JSON body that a path selects (RFC 9535): no value for none, the value of a single one, the list of
    /// several.
    JsonPath(StepText),
    /// The value of an expression of XPath 1.0 in a body of HTML or XML. Nodes are a list of their texts.
    XPath(StepText),
    /// The first group of the first match of a regular expression in the body.
    Regex(StepText),
    /// The value of a variable, by its slot.
    Variable(u32),
    /// The time from the first byte of the request to the end of the reply, in milliseconds.
    Duration,
    /// The redirects followed, as a list of objects with a `location`.
    Redirects,
}

impl Query {
    /// Returns true if the value is in the header fields of the reply, or depends on one.
    #[must_use]
    pub fn reads_head(&self) -> bool {
        // The type of the content tells HTML from XML.
        matches!(self, Self::Header(_) | Self::Cookie { .. } | Self::XPath(_))
    }

    /// Returns true if the value follows from the body of the reply.
    #[must_use]
    pub fn reads_body(&self) -> bool {
        matches!(
            self,
            Self::Body | Self::Bytes | Self::Sha256 | Self::JsonPath(_) | Self::XPath(_) | Self::Regex(_)
        )
    }
}

/// An attribute of a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Attribute {
    /// The value.
    Value,
    /// `Expires`, as text.
    Expires,
    /// `Max-Age`, as a number.
    MaxAge,
    /// `Domain`.
    Domain,
    /// `Path`.
    Path,
    /// `Secure`: true if present.
    Secure,
    /// `HttpOnly`: true if present.
    HttpOnly,
    /// `SameSite`.
    SameSite,
}

/// A change of a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Filter {
    /// The number of elements of a list or an object.
    Count,
    /// The first element of a list.
    First,
    /// The last element of a list.
    Last,
    /// The element of a list with this index; negative ones count from the end.
    Nth(i64),
    /// The first group of the first match in a text.
    Regex(StepText),
    /// All occurrences of a text replaced by another.
    Replace {
        /// The text to replace.
        old: StepText,
        /// The text that replaces it.
        new: StepText,
    },
    /// All matches of a regular expression replaced by a text.
    ReplaceRegex {
        /// The regular expression.
        pattern: StepText,
        /// The text that replaces each match.
        new: StepText,
    },
    /// The pieces of a text between occurrences of another.
    Split(StepText),
    /// A text or number as a whole number.
    ToInt,
    /// A text or number as a number.
    ToFloat,
    /// Any scalar as text.
    ToText,
    /// Percent-encodes a text.
    UrlEncode,
    /// Percent-decodes a text.
    UrlDecode,
    /// Escapes `&`, `<`, `>`, `"` and `'`.
    HtmlEscape,
    /// Replaces character references of HTML by the characters.
    HtmlUnescape,
    /// Encodes bytes in base64.
    Base64Encode,
    /// Decodes base64 into bytes.
    Base64Decode,
    /// Encodes bytes in base64 for URLs, without padding (RFC 4648, section 5).
    Base64UrlSafeEncode,
    /// Decodes base64 for URLs into bytes.
    Base64UrlSafeDecode,
    /// The target of a redirect.
    Location,
    /// The nodes that a path selects in a text that is JSON.
    JsonPath(StepText),
    /// The value of an expression of XPath 1.0 in a text that is HTML. Nodes are a list of their texts.
    XPath(StepText),
}

/// A condition on a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Predicate {
    /// Inverts the test.
    pub not: bool,
    /// The test.
    pub test: Test,
}

/// A test of a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// `==`. Numbers are compared by value: 1 equals 1.0.
    Equals(Operand),
    /// `!=`.
    Differs(Operand),
    /// `>`.
    Above(Operand),
    /// `>=`.
    AtLeast(Operand),
    /// `<`.
    Below(Operand),
    /// `<=`.
    AtMost(Operand),
    /// `startsWith`, of text or bytes.
    StartsWith(Operand),
    /// `endsWith`, of text or bytes.
    EndsWith(Operand),
    /// `contains`, of text, bytes or a list.
    Contains(Operand),
    /// `matches`: a regular expression.
    Matches(StepText),
    /// `exists`.
    Exists,
    /// `isEmpty`: a text, a list or an object without elements.
    IsEmpty,
    /// `isInteger`.
    IsInteger,
    /// `isFloat`.
    IsFloat,
    /// `isNumber`.
    IsNumber,
    /// `isBoolean`.
    IsBoolean,
    /// `isString`.
    IsText,
    /// `isCollection`: a list or an object.
    IsCollection,
    /// `isList`.
    IsList,
    /// `isObject`.
    IsObject,
    /// `isDate` and `isIsoDate`: a date and time of RFC 3339.
    IsDate,
    /// `isUuid`.
    IsUuid,
    /// `isIpv4`.
    IsIpv4,
    /// `isIpv6`.
    IsIpv6,
}

/// The value with which a test compares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Operand {
    /// This value.
    Value(Value),
    /// This text, filled in.
    Text(StepText),
    /// The value of a variable, by its slot, with its type.
    Variable(u32),
}

impl From<&str> for Operand {
    fn from(text: &str) -> Self {
        Self::Value(Value::Text(CompactString::new(text)))
    }
}
