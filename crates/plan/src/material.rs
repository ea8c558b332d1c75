//! The parts of requests: header fields, bodies, and whole requests listed in a file.

use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::template::BadRange;
use crate::{Sha256, Template};

/// A header field. Its name is a token, and its value contains no control character that would end it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// The name, as it was typed.
    pub name: String,
    /// The value, without leading and trailing white space.
    pub value: Template,
}

/// The reason why a header field cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HeaderError {
    /// There is no colon, or no token before it.
    #[error("a header field such as `Accept: text/html`")]
    NotAField,
    /// The value contains a control character.
    #[error("a header field without control characters in it")]
    ControlCharacter,
    /// The field would contradict the request's framing.
    #[error("a header field other than Content-Length and Transfer-Encoding, which follow from the body")]
    Framing,
    /// A `{rand:` has no valid range.
    #[error(transparent)]
    Range(#[from] BadRange),
}

impl Header {
    /// Parses `Name: value`.
    ///
    /// # Errors
    /// If it is not a header field (RFC 9110, section 5), or would frame the request (`Content-Length`,
    /// `Transfer-Encoding`).
    pub fn parse(line: &[u8]) -> Result<Self, HeaderError> {
        let colon = line.iter().position(|&byte| byte == b':').ok_or(HeaderError::NotAField)?;
        Self::new(&line[..colon], &line[colon + 1..])
    }

    /// Creates a field of this name and value; white space around the value is removed.
    ///
    /// # Errors
    /// As [`Header::parse`].
    pub fn new(name: &[u8], value: &[u8]) -> Result<Self, HeaderError> {
        Self::checked(name, value, |value| Ok(Template::parse(value)?))
    }

    /// Creates a field likewise, whose value is sent as it is: what is between braces stands for itself.
    ///
    /// # Errors
    /// As [`Header::parse`], but for its ranges.
    pub fn literal(name: &[u8], value: &[u8]) -> Result<Self, HeaderError> {
        Self::checked(name, value, |value| Ok(Template::literal(value)))
    }

    fn checked(
        name: &[u8],
        value: &[u8],
        template: impl Fn(&[u8]) -> Result<Template, HeaderError>,
    ) -> Result<Self, HeaderError> {
        let name = token(name).ok_or(HeaderError::NotAField)?;
        let value = value.trim_ascii();
        if value.iter().any(|&byte| byte != b'\t' && byte.is_ascii_control()) {
            return Err(HeaderError::ControlCharacter);
        }
        let header = Self { name: name.to_owned(), value: template(value)? };
        if header.is("Content-Length") || header.is("Transfer-Encoding") {
            return Err(HeaderError::Framing);
        }
        Ok(header)
    }

    /// Returns true if the field has this name, in upper or lower case.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}

/// Returns `bytes` as text if they are a token, as methods and field names must be (RFC 9110, section 5.6.2).
#[must_use]
pub fn token(bytes: &[u8]) -> Option<&str> {
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    let text = std::str::from_utf8(bytes).ok()?;
    (!bytes.is_empty() && bytes.iter().all(is_token)).then_some(text)
}

/// The body of a request: its parts, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Body {
    /// The parts; empty for a body of length 0.
    pub parts: Vec<BodyPart>,
}

/// A part of a body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BodyPart {
    /// Text with placeholders.
    Text(Template),
    /// The unchanged contents of a file.
    File(BodyFile),
}

/// A file that is sent in request bodies, read before the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BodyFile {
    /// The path of the file.
    #[serde(with = "crate::text::path")]
    #[schemars(with = "crate::text::Text")]
    pub path: PathBuf,
    /// The size in bytes.
    pub size: u64,
    /// The digest of the contents. `rerun` refuses a file with another one.
    pub sha256: Sha256,
    /// The contents. Not saved in results: `rerun` reads the file again.
    #[serde(skip)]
    pub contents: Arc<[u8]>,
}

impl Body {
    /// Creates a body of this text.
    #[must_use]
    pub fn text(text: Template) -> Self {
        Self { parts: vec![BodyPart::Text(text)] }
    }

    /// Creates a body of the contents of this file.
    #[must_use]
    pub fn file(file: BodyFile) -> Self {
        Self { parts: vec![BodyPart::File(file)] }
    }

    /// Returns the files among the parts.
    pub fn files_mut(&mut self) -> impl Iterator<Item = &mut BodyFile> {
        self.parts.iter_mut().filter_map(|part| match part {
            BodyPart::Text(_) => None,
            BodyPart::File(file) => Some(file),
        })
    }
}

/// One request of a list (`--targets`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedRequest {
    /// The index of its server in the plan's `targets`.
    pub server: u32,
    /// The method.
    #[serde(with = "crate::text")]
    #[schemars(with = "crate::text::Text")]
    pub method: Vec<u8>,
    /// The request target.
    pub uri: Template,
    /// Its own header fields. They replace shared fields of the same name.
    pub headers: Vec<Header>,
    /// Its own body, if any.
    pub body: Option<Body>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Piece;

    #[track_caller]
    fn check(line: &[u8], name: &str, value: &[u8]) {
        let expected = Header { name: name.to_owned(), value: Template::literal(value) };
        assert_eq!(Header::parse(line), Ok(expected), "{}", line.escape_ascii());
    }

    #[track_caller]
    fn check_error(line: &[u8], expected: &HeaderError) {
        assert_eq!(Header::parse(line).as_ref(), Err(expected), "{}", line.escape_ascii());
    }

    #[test]
    fn a_field_is_a_token_a_colon_and_a_value() {
        check(b"Accept: text/html", "Accept", b"text/html");
        check(b"X-Empty:", "X-Empty", b"");
        check(b"x!#$%&'*+-.^_`|~9:\t a:b \t", "x!#$%&'*+-.^_`|~9", b"a:b");
        check(b"X: a\tb \xe4", "X", b"a\tb \xe4");
    }

    #[test]
    fn what_would_break_the_header_apart_is_refused() {
        for line in [&b""[..], b"Accept", b": x", b"Accept : x", b" Accept: x", "Ä: x".as_bytes(), b"(a): x"]
        {
            check_error(line, &HeaderError::NotAField);
        }
        for line in [&b"A: x\r\nB: y"[..], b"A: x\ny", b"A: \0", b"A: \x7f"] {
            check_error(line, &HeaderError::ControlCharacter);
        }
    }

    #[test]
    fn what_follows_from_the_body_is_refused() {
        check_error(b"content-LENGTH: 5", &HeaderError::Framing);
        check_error(b"Transfer-Encoding: chunked", &HeaderError::Framing);
    }

    #[test]
    fn a_value_may_have_placeholders() {
        let header = Header::parse(b"X-Id: a{seq}").unwrap();
        assert_eq!(header.value.pieces(), [Piece::Literal(b"a".into()), Piece::Sequence]);
        assert!(matches!(Header::parse(b"X: {rand:2-1}"), Err(HeaderError::Range(_))));
    }

    #[test]
    fn what_is_in_a_file_is_not_saved() {
        let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".parse().unwrap();
        let file = BodyFile { path: "body".into(), size: 3, sha256, contents: b"abc"[..].into() };
        let json = serde_json::to_string(&Body::file(file.clone())).unwrap();
        assert_eq!(
            json,
            r#"[{"file":{"path":"body","size":3,"sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}}]"#
        );
        let read: Body = serde_json::from_str(&json).unwrap();
        assert_eq!(read, Body::file(BodyFile { contents: Arc::default(), ..file }));
    }
}
