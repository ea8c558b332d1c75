//! The encodings of the parts of requests that are known before the run.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_encode};
use url::form_urlencoded;

use crate::scenario::{Coding, Value};

/// All but unreserved characters (RFC 3986, section 2.3).
const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The characters that no URL contains.
const URL: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'<').add(b'>').add(b'`').add(b'{').add(b'}');

/// Encodes bytes.
pub(super) fn encode(coding: Coding, bytes: &[u8]) -> Vec<u8> {
    match coding {
        Coding::Query => percent_encode(bytes, QUERY).to_string().into_bytes(),
        Coding::Url => percent_encode(bytes, URL).to_string().into_bytes(),
        Coding::Form => form_urlencoded::byte_serialize(bytes).collect::<String>().into_bytes(),
        Coding::Json => {
            let quoted = serde_json::Value::from(String::from_utf8_lossy(bytes)).to_string();
            quoted.get(1..quoted.len() - 1).unwrap_or_default().as_bytes().to_vec()
        }
        Coding::Base64 => STANDARD.encode(bytes).into_bytes(),
    }
}

/// Returns a constant as text: numbers as in JSON; nothing for a list or an object, which no constant is.
pub(super) fn rendered(value: &Value) -> Vec<u8> {
    match value {
        Value::Null => b"null".to_vec(),
        Value::Boolean(truth) => truth.to_string().into_bytes(),
        Value::Integer(number) => number.to_string().into_bytes(),
        Value::Float(number) => serde_json::Value::from(*number).to_string().into_bytes(),
        Value::Text(text) | Value::BigInteger(text) => text.as_bytes().to_vec(),
        Value::Bytes(bytes) => bytes.clone(),
        Value::List(_) | Value::Object(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(coding: Coding, text: &str, expected: &str) {
        assert_eq!(encode(coding, text.as_bytes()), expected.as_bytes(), "{text}");
    }

    #[test]
    fn each_encoding_keeps_what_its_place_allows() {
        check(Coding::Query, "a-._~/ ?&=é", "a-._~%2F%20%3F%26%3D%C3%A9");
        check(Coding::Form, "a-._~*/ &", "a-._%7E*%2F+%26");
        check(Coding::Url, "/a b/%20?x=\"y\"&z={é}|^", "/a%20b/%20?x=%22y%22&z=%7B%C3%A9%7D|^");
        check(Coding::Json, "a\"b\\c\nd\u{1}é/", "a\\\"b\\\\c\\nd\\u0001é/");
        check(Coding::Base64, "user:pw", "dXNlcjpwdw==");
    }

    #[test]
    fn constants_are_written_as_in_json() {
        assert_eq!(rendered(&Value::Float(1.0)), b"1.0");
        assert_eq!(rendered(&Value::Integer(-7)), b"-7");
        assert_eq!(rendered(&Value::Boolean(true)), b"true");
        assert_eq!(rendered(&Value::Null), b"null");
        assert_eq!(rendered(&Value::Text("x".into())), b"x");
    }
}
