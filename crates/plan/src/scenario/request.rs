//! The request of a step, and what is expected of its reply.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Capture, Check, Query, StepText};
use crate::{BodyFile, WebSocket};

/// The request of a step, and what is expected of its reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepRequest {
    /// The name of the step in reports: that of its `# @name`, or file and line.
    pub name: String,
    /// The file and the line of the request, such as `cart.hurl:4`.
    pub origin: String,
    /// The method.
    pub method: String,
    /// The place of the server among the plan's targets.
    pub target: u32,
    /// The request target, which begins with a slash.
    pub uri: StepText,
    /// The header fields, in order. They replace fields of the same name that the program would write itself.
    pub headers: Vec<StepHeader>,
    /// The parts of the body, one after the other; `None` sends no body.
    pub body: Option<Vec<StepBodyPart>>,
    /// Follows redirects to the same servers.
    pub follows: bool,
    /// The status expected of the reply; `None` accepts any.
    pub status: Option<u16>,
    /// The values to take from the reply, in order.
    pub captures: Vec<Capture>,
    /// The conditions on the reply, in order.
    pub checks: Vec<Check>,
    /// What is said on the WebSocket that the request opens, if it opens one. The body is then the text of its messages, if
    /// they have one of their own, and is filled in once for each WebSocket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub websocket: Option<WebSocket>,
}

impl StepRequest {
    /// Returns the queries of captures and checks.
    pub fn queries(&self) -> impl Iterator<Item = &Query> {
        let captured = self.captures.iter().map(|capture| &capture.query);
        captured.chain(self.checks.iter().map(|check| &check.query))
    }

    /// Returns true if a capture or a check looks at the body of the reply.
    #[must_use]
    pub fn looks_at_body(&self) -> bool {
        self.queries().any(Query::reads_body)
    }
}

/// A header field of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepHeader {
    /// The name: a token (RFC 9110, section 5.6.2).
    pub name: String,
    /// The value.
    pub value: StepText,
}

/// A part of a step's body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepBodyPart {
    /// Text that each call fills in.
    Text(StepText),
    /// The unchanged contents of a file.
    File(BodyFile),
}
