//! Scenarios: texts that steps fill in, and looks at replies (captures, checks).
//!
//! A plan describes them ([`httperf_plan::scenario`]); here they are compiled and evaluated. The meaning is that of Hurl
//! (<https://hurl.dev/docs/asserting-response.html>). Deviations:
//!
//! * A body is read as UTF-8, whatever charset its type names; other bytes become U+FFFD.
//! * A header field that is not UTF-8 is read as ISO 8859-1, and one that is a reference to a resource keeps those bytes,
//!   percent-encoded.
//! * `count` also counts the members of an object.
//! * `[Secure]` and `[HttpOnly]` of a cookie are `true` if present.
//! * Of cookies with the same name the last one is found, and only that one.
//! * Nodes that XPath finds are a list of their texts, and a name without a prefix finds elements of any namespace.
//! * In JSON, what no path of the step leads through is not checked for mistakes.

mod filter;
mod json;
mod look;
mod markup;
mod pattern;
mod program;
mod query;
mod reason;
mod request;
mod scratch;
mod secrets;
mod test;
mod text;
mod value;
mod visit;

pub use self::look::{Condition, Failed, Judgement, Look, Malformed, Needs, ReadValues, Reply};
pub use self::program::{Program, RowsTaken};
pub use self::request::RequestBuffers;
pub use self::scratch::Scratch;
pub use self::secrets::Secrets;
pub use self::text::{Filling, Lack, Text, Unset};
pub use self::visit::{Action, Obstacle, REDIRECTS_MAX, Visit};
pub use crate::draws::Draws;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod walks;
