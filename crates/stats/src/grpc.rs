//! gRPC: calls by their status.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Tally;
use crate::merge::merge_fields;

/// Figures of calls of gRPC.
///
/// Each call that ended is in `statuses` or in `unanswered`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GrpcSummary {
    /// Calls with a complete reply by the name of their status; `code N` for one without a name.
    pub statuses: Tally,
    /// Calls with a status other than OK, by that and what the server says about it.
    pub messages: Tally,
    /// Calls in `statuses` whose server told no status, so that it follows from that of HTTP.
    pub untold: u64,
    /// Calls that ended without a complete reply: timed out, reset, or lost with their connection.
    pub unanswered: u64,
    /// Messages received in complete replies.
    pub received: u64,
    /// Bytes of these messages as they came, compressed or not, without their prefixes.
    pub received_bytes: u64,
    /// Complete replies with something that is no message, or with part of one.
    pub malformed: u64,
}

/// The name of the status of success.
const OK: &str = "OK";

/// End of a call of gRPC whose reply is complete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrpcEnd {
    /// Name of its status.
    pub status: Cow<'static, str>,
    /// The server's message; empty if there is none.
    pub message: String,
    /// True if the server told the status.
    pub is_told: bool,
    /// Messages received.
    pub received: u64,
    /// Bytes of these messages, without their prefixes.
    pub received_bytes: u64,
    /// True if something came that is no message, or part of one.
    pub is_malformed: bool,
}

impl GrpcEnd {
    /// True if the call succeeded, and its messages are what they should be.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.status == OK && !self.is_malformed
    }
}

impl GrpcSummary {
    /// Records the end of a call.
    pub(crate) fn add(&mut self, end: &GrpcEnd) {
        self.statuses.add(end.status.clone());
        if end.status != OK {
            let about = match &end.message[..] {
                "" => end.status.clone().into_owned(),
                message => format!("{}: {message}", end.status),
            };
            self.messages.add(about);
        }
        self.untold += u64::from(!end.is_told);
        self.received += end.received;
        self.received_bytes += end.received_bytes;
        self.malformed += u64::from(end.is_malformed);
    }

    /// Calls that ended with the status of success.
    #[must_use]
    pub fn ok(&self) -> u64 {
        self.statuses.count(OK)
    }
}

merge_fields!(GrpcSummary {
    add: statuses, messages, untold, unanswered, received, received_bytes, malformed;
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::Merge as _;

    #[test]
    fn calls_are_counted_by_status_and_failures_by_what_is_said() {
        let ok = GrpcEnd {
            status: OK.into(),
            is_told: true,
            received: 3,
            received_bytes: 30,
            ..GrpcEnd::default()
        };
        let missing = GrpcEnd {
            status: "NOT_FOUND".into(),
            message: "no a".into(),
            is_told: true,
            ..GrpcEnd::default()
        };
        let gone = GrpcEnd { status: "UNAVAILABLE".into(), ..GrpcEnd::default() };
        let strange = GrpcEnd { status: String::from("code 77").into(), is_told: true, ..GrpcEnd::default() };
        let mut summary = GrpcSummary { unanswered: 1, ..GrpcSummary::default() };
        for end in [&ok, &ok, &missing, &gone, &strange] {
            summary.add(end);
        }
        let mut both = summary.clone();
        both.merge(&summary);
        assert_eq!((both.ok(), both.statuses.total(), both.untold, both.unanswered), (4, 10, 2, 2));
        assert_eq!((both.received, both.received_bytes), (12, 120));
        let about = [("NOT_FOUND: no a", 2), ("UNAVAILABLE", 2), ("code 77", 2)];
        assert_eq!(both.messages.by_frequency(), about);
        assert!(ok.is_success() && !missing.is_success());
        assert!(!GrpcEnd { is_malformed: true, ..ok }.is_success());
    }
}
