//! The codes with which a WebSocket is closed (RFC 6455, section 7.4).

use super::Violation;

/// The code of a close that was meant.
pub const NORMAL_CLOSURE: u16 = 1000;
/// The code of an endpoint that goes away.
pub const GOING_AWAY: u16 = 1001;

/// Returns whether an endpoint may send a code. Those from 3000 to 4999 are up to applications; 1004 to 1006 and 1015 are
/// never sent, further ones below 1015 are registered with IANA.
///
/// <https://www.iana.org/assignments/websocket/websocket.xhtml#close-code-number>
#[must_use]
pub fn may_be_sent(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}

/// A code in words, for people, such as `1000 (normal closure)`; `None` for a close without one.
#[must_use]
pub fn words(code: Option<u16>) -> String {
    let Some(code) = code else { return "without a code".to_owned() };
    let name = match code {
        1000 => "normal closure",
        1001 => "going away",
        1002 => "protocol error",
        1003 => "unsupported data",
        1007 => "invalid data",
        1008 => "policy violation",
        1009 => "message too big",
        1010 => "extension missing",
        1011 => "internal error",
        1012 => "service restart",
        1013 => "try again later",
        1014 => "bad gateway",
        _ => return code.to_string(),
    };
    format!("{code} ({name})")
}

/// Reads the payload of a close frame: a code and a reason, or nothing.
pub(super) fn parse(payload: &[u8]) -> Result<(Option<u16>, &str), Violation> {
    match payload {
        [] => Ok((None, "")),
        [_] => Err(Violation::ClosePayload),
        [high, low, reason @ ..] => {
            let code = u16::from_be_bytes([*high, *low]);
            if !may_be_sent(code) {
                return Err(Violation::CloseCode);
            }
            let reason = std::str::from_utf8(reason).map_err(|_| Violation::Utf8)?;
            Ok((Some(code), reason))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_close_has_a_code_and_a_reason_or_nothing() {
        assert_eq!(parse(b""), Ok((None, "")));
        assert_eq!(parse(b"\x03\xE8bye"), Ok((Some(1000), "bye")));
        assert_eq!(parse(b"\x03"), Err(Violation::ClosePayload));
        assert_eq!(parse(b"\x03\xE8\xFF"), Err(Violation::Utf8));
    }

    /// The codes of the Autobahn test suite's cases 7.7 and 7.9, by meaning.
    #[test]
    fn codes_that_nobody_may_send_are_refused() {
        for code in [1000_u16, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999] {
            assert_eq!(parse(&code.to_be_bytes()), Ok((Some(code), "")), "{code}");
        }
        for code in [0_u16, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999, 5000, 65535] {
            assert_eq!(parse(&code.to_be_bytes()), Err(Violation::CloseCode), "{code}");
        }
    }

    #[test]
    fn codes_are_named() {
        assert_eq!(words(Some(1001)), "1001 (going away)");
        assert_eq!((words(Some(4001)), words(None)), ("4001".to_owned(), "without a code".to_owned()));
    }
}
