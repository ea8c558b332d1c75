//! The outcome of a call: `grpc-status` and `grpc-message`, or what a status of HTTP stands for.

use std::borrow::Cow;

use super::{COMPRESSION, MEDIA_TYPE};
use crate::http1::values;

/// A status of gRPC.
///
/// <https://github.com/grpc/grpc/blob/master/doc/statuscodes.md>
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub u16);

impl Status {
    /// The status of success.
    pub const OK: Self = Self(0);
    const UNKNOWN: Self = Self(2);
    const PERMISSION_DENIED: Self = Self(7);
    const UNIMPLEMENTED: Self = Self(12);
    const INTERNAL: Self = Self(13);
    const UNAVAILABLE: Self = Self(14);
    const UNAUTHENTICATED: Self = Self(16);

    /// The name; `None` for a code that has none.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        const NAMES: [&str; 17] = [
            "OK",
            "CANCELLED",
            "UNKNOWN",
            "INVALID_ARGUMENT",
            "DEADLINE_EXCEEDED",
            "NOT_FOUND",
            "ALREADY_EXISTS",
            "PERMISSION_DENIED",
            "RESOURCE_EXHAUSTED",
            "FAILED_PRECONDITION",
            "ABORTED",
            "OUT_OF_RANGE",
            "UNIMPLEMENTED",
            "INTERNAL",
            "UNAVAILABLE",
            "DATA_LOSS",
            "UNAUTHENTICATED",
        ];
        NAMES.get(usize::from(self.0)).copied()
    }

    /// Its name, or `code N`.
    #[must_use]
    pub fn to_name(self) -> Cow<'static, str> {
        self.name().map_or_else(|| format!("code {}", self.0).into(), Cow::Borrowed)
    }

    /// Status that one of HTTP stands for, where there is none of gRPC.
    ///
    /// <https://github.com/grpc/grpc/blob/master/doc/http-grpc-status-mapping.md>
    #[must_use]
    pub fn of_http(status: u16) -> Self {
        match status {
            400 => Self::INTERNAL,
            401 => Self::UNAUTHENTICATED,
            403 => Self::PERMISSION_DENIED,
            404 => Self::UNIMPLEMENTED,
            429 | 502..=504 => Self::UNAVAILABLE,
            _ => Self::UNKNOWN,
        }
    }
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Its status.
    pub status: Status,
    /// The server's message; empty if there is none.
    pub message: String,
    /// The server told the status; otherwise it follows from that of HTTP.
    pub is_told: bool,
}

impl Outcome {
    /// The outcome of a call whose reply has one message: status OK with none, or with several, is an error of the server, which
    /// official clients report as INTERNAL.
    #[must_use]
    pub fn of_unary_call(self, messages: u64) -> Self {
        let message = match messages {
            _ if self.status != Status::OK => return self,
            0 => "status OK without a message",
            1 => return self,
            _ => "status OK with several messages, where one is expected",
        };
        Self { status: Status::INTERNAL, message: message.to_owned(), ..self }
    }
}

/// The number of characters of a server's message that are kept.
const MESSAGE_MAX: usize = 200;

/// Reads the outcome of a call from the last header section of its reply, in HTTP/1's form: the trailers behind a line, or
/// the header block of a reply that has nothing else. `http`: its status of HTTP.
#[must_use]
pub fn outcome(section: &[u8], http: u16) -> Outcome {
    let value = |name: &'static [u8]| values(section, name).next();
    let code = value(b"grpc-status").filter(|code| code.iter().all(u8::is_ascii_digit));
    let code = code.and_then(|code| std::str::from_utf8(code).ok()?.parse().ok());
    let message = value(b"grpc-message").map(decoded).unwrap_or_default();
    match code {
        Some(code) => Outcome { status: Status(code), message, is_told: true },
        None => Outcome { status: Status::of_http(http), message, is_told: false },
    }
}

/// Returns whether a header block, in HTTP/1's form, is that of a reply of gRPC.
#[must_use]
pub fn is_reply(head: &[u8]) -> bool {
    let prefix = MEDIA_TYPE.as_bytes();
    values(head, b"content-type").any(|value| {
        value.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
            && matches!(value.get(prefix.len()), None | Some(b'+' | b';' | b' '))
    })
}

/// Returns whether a header block, in HTTP/1's form, says that messages may be compressed in the way that was accepted.
#[must_use]
pub fn is_compressed(head: &[u8]) -> bool {
    values(head, b"grpc-encoding").any(|value| value.eq_ignore_ascii_case(COMPRESSION.as_bytes()))
}

/// Decodes what is percent-encoded; what is malformed stays as it is. Control characters are escaped, for terminals.
fn decoded(text: &[u8]) -> String {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, behind)) = rest.split_first() {
        let digit = |place: usize| behind.get(place).and_then(|&digit| char::from(digit).to_digit(16));
        match (byte, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                plain.push((high * 16 + low) as u8);
                rest = &behind[2..];
            }
            _ => {
                plain.push(byte);
                rest = behind;
            }
        }
    }
    let text = String::from_utf8_lossy(&plain);
    let mut shown = String::new();
    for letter in text.chars().take(MESSAGE_MAX) {
        match letter.is_control() {
            true => shown.extend(letter.escape_default()),
            false => shown.push(letter),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(section: &str, http: u16, expected: (u16, &str, bool)) {
        let found = outcome(section.as_bytes(), http);
        assert_eq!((found.status.0, &found.message[..], found.is_told), expected, "{section}");
    }

    #[test]
    fn the_status_is_told_or_follows_from_http() {
        check("HTTP/2\r\ngrpc-status: 0\r\n\r\n", 200, (0, "", true));
        let section = "HTTP/2\r\ngrpc-status: 5\r\ngrpc-message: no such thing%21%0a100%\r\n\r\n";
        check(section, 200, (5, "no such thing!\\n100%", true));
        check("HTTP/2 200\r\ncontent-type: application/grpc\r\ngrpc-status: 12\r\n\r\n", 200, (12, "", true));
        check("HTTP/2\r\ngrpc-status: 99999\r\n\r\n", 200, (2, "", false));
        check("HTTP/2\r\ngrpc-status: +5\r\n\r\n", 200, (2, "", false));
        for (http, status) in
            [(200, 2), (401, 16), (403, 7), (404, 12), (429, 14), (503, 14), (400, 13), (500, 2)]
        {
            check("", http, (status, "", false));
        }
    }

    #[test]
    fn a_unary_call_of_status_ok_has_one_message() {
        for (code, messages, expected) in [(0, 1, 0), (0, 0, 13), (0, 2, 13), (5, 0, 5), (5, 2, 5), (2, 0, 2)]
        {
            let section = format!("HTTP/2\r\ngrpc-status: {code}\r\n\r\n");
            let found = outcome(section.as_bytes(), 200).of_unary_call(messages);
            assert_eq!(
                (found.status.0, found.message.is_empty()),
                (expected, expected != 13),
                "{code} {messages}"
            );
        }
    }

    #[test]
    fn replies_of_grpc_are_known_by_their_type() {
        for (value, expected) in [
            ("application/grpc", true),
            ("Application/gRPC+proto", true),
            ("application/grpc; charset=x", true),
            ("application/grpc-web", false),
            ("text/html", false),
        ] {
            let head = format!("HTTP/2 200\r\ncontent-type: {value}\r\n\r\n");
            assert_eq!(is_reply(head.as_bytes()), expected, "{value}");
        }
        assert!(!is_reply(b"HTTP/2 200\r\n\r\n"));
    }

    #[test]
    fn only_the_compression_that_was_accepted_counts() {
        for (value, expected) in [("gzip", true), ("GZip", true), ("identity", false), ("deflate", false)] {
            let head = format!("HTTP/2 200\r\ngrpc-encoding: {value}\r\n\r\n");
            assert_eq!(is_compressed(head.as_bytes()), expected, "{value}");
        }
        assert!(!is_compressed(b"HTTP/2 200\r\n\r\n"));
    }

    #[test]
    fn statuses_have_names() {
        assert_eq!(
            (Status::OK.name(), Status(16).name(), Status(17).name()),
            (Some("OK"), Some("UNAUTHENTICATED"), None)
        );
        assert_eq!((Status(5).to_name(), Status(17).to_name()), ("NOT_FOUND".into(), "code 17".into()));
    }
}
