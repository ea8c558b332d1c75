//! The end of a call of gRPC: its status, and what is said about it.

use std::fmt::Write as _;

use httperf_proto::grpc::Status;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

/// The statuses that the server comes to by itself.
///
/// <https://github.com/grpc/grpc/blob/master/doc/statuscodes.md>
pub(crate) const INVALID_ARGUMENT: Status = Status(3);
pub(crate) const DEADLINE_EXCEEDED: Status = Status(4);
pub(crate) const NOT_FOUND: Status = Status(5);
pub(crate) const RESOURCE_EXHAUSTED: Status = Status(8);
pub(crate) const UNIMPLEMENTED: Status = Status(12);
pub(crate) const INTERNAL: Status = Status(13);

/// The end of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conclusion {
    pub(crate) status: Status,
    /// Text about the status; empty for none.
    pub(crate) message: String,
}

impl Conclusion {
    /// The end of a call that went well.
    pub(crate) const OK: Self = Self { status: Status::OK, message: String::new() };

    pub(crate) fn new(status: Status, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    /// Adds its fields, which are trailers or, without a message, part of the header.
    pub(crate) fn add_fields(&self, fields: &mut HeaderMap) {
        fields.insert(GRPC_STATUS, self.status.0.into());
        if !self.message.is_empty() {
            let value = HeaderValue::try_from(encoded(&self.message));
            fields.insert(GRPC_MESSAGE, value.expect("printable ASCII is a valid field value"));
        }
    }
}

const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");

/// The size up to which a message is sent: clients bound the size of a header section.
const MESSAGE_SIZE_MAX: usize = 1000;

/// Percent-encodes a message: all bytes that are not printable ASCII, and the percent sign.
fn encoded(message: &str) -> String {
    let end = (0..=MESSAGE_SIZE_MAX.min(message.len())).rfind(|&end| message.is_char_boundary(end));
    let message = &message[..end.unwrap_or(0)];
    let mut text = String::with_capacity(message.len());
    for &byte in message.as_bytes() {
        match byte {
            b' '..=b'~' if byte != b'%' => text.push(byte.into()),
            _ => write!(text, "%{byte:02X}").expect("a String takes any text"),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_percent_encoded() {
        let mut fields = HeaderMap::new();
        Conclusion::new(Status(5), "no such thing, 100 %\nü").add_fields(&mut fields);
        assert_eq!(fields["grpc-status"], "5");
        assert_eq!(fields["grpc-message"], "no such thing, 100 %25%0A%C3%BC");
    }

    #[test]
    fn a_call_that_went_well_says_nothing_more() {
        let mut fields = HeaderMap::new();
        Conclusion::OK.add_fields(&mut fields);
        assert_eq!((fields.len(), &fields["grpc-status"]), (1, &HeaderValue::from_static("0")));
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        assert_eq!(encoded(&"x".repeat(5000)).len(), MESSAGE_SIZE_MAX);
        let text = encoded(&format!("x{}", "ü".repeat(2000)));
        assert_eq!(text, format!("x{}", "%C3%BC".repeat(499)));
    }
}
