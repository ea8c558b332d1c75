//! What requests are made of: header fields, bodies, and requests that a file lists one by one.

use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::template::BadRange;
use crate::{Sha256, Template};

/// A header field. Its name is a token, and its value has no byte that would end it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// The name, as it was typed.
    pub name: String,
    /// The value, without white space around it.
    pub value: Template,
}

/// Why something is no header field that can be sent.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HeaderError {
    /// It has no colon, or no token before it.
    #[error("a header field such as `Accept: text/html`")]
    NotAField,
    /// Its value holds a byte that cannot be in one.
    #[error("a header field without control characters in it")]
    ControlCharacter,
    /// It says how long the request is.
    #[error("a header field other than Content-Length and Transfer-Encoding, which follow from the body")]
    Framing,
    /// A `{rand:` without a range.
    #[error(transparent)]
    Range(#[from] BadRange),
}

impl Header {
    /// Reads `Name: value`.
    ///
    /// # Errors
    /// When it is no header field (RFC 9110, section 5), or says how the request is framed.
    pub fn parse(line: &[u8]) -> Result<Self, HeaderError> {
        let colon = line.iter().position(|&byte| byte == b':').ok_or(HeaderError::NotAField)?;
        Self::new(&line[..colon], &line[colon + 1..])
    }

    /// A field of this name and this value, which may have white space around it.
    ///
    /// # Errors
    /// As [`Header::parse`].
    pub fn new(name: &[u8], value: &[u8]) -> Result<Self, HeaderError> {
        let name = token(name).ok_or(HeaderError::NotAField)?;
        let value = value.trim_ascii();
        if value.iter().any(|&byte| byte != b'\t' && byte.is_ascii_control()) {
            return Err(HeaderError::ControlCharacter);
        }
        let header = Self { name: name.to_owned(), value: Template::parse(value)? };
        if header.is("Content-Length") || header.is("Transfer-Encoding") {
            return Err(HeaderError::Framing);
        }
        Ok(header)
    }

    /// Whether it is the field of this name.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}

/// A token, as methods and names of header fields are (RFC 9110, section 5.6.2).
pub(crate) fn token(bytes: &[u8]) -> Option<&str> {
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    let text = std::str::from_utf8(bytes).ok()?;
    (!bytes.is_empty() && bytes.iter().all(is_token)).then_some(text)
}

/// The body of a request: its parts, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Body {
    /// The parts; none for a body that is there and empty.
    pub parts: Vec<BodyPart>,
}

/// A part of a body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BodyPart {
    /// What was typed.
    Text(Template),
    /// What is in a file, as it is there.
    File(BodyFile),
}

/// A file whose contents are sent. It was read before the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BodyFile {
    /// The file.
    #[serde(with = "crate::text::path")]
    #[schemars(with = "crate::text::Text")]
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// The digest of what is in it, by which a later run knows that it is the same.
    pub sha256: Sha256,
    /// What is in it. Not kept in results: whoever runs a saved plan reads the file again.
    #[serde(skip)]
    pub contents: Arc<[u8]>,
}

impl Body {
    /// A body of this text.
    #[must_use]
    pub fn text(text: Template) -> Self {
        Self { parts: vec![BodyPart::Text(text)] }
    }

    /// A body of what is in this file.
    #[must_use]
    pub fn file(file: BodyFile) -> Self {
        Self { parts: vec![BodyPart::File(file)] }
    }

    /// The files in it.
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
    /// Which of the plan's servers it goes to: an index into them.
    pub server: u32,
    /// The method.
    #[serde(with = "crate::text")]
    #[schemars(with = "crate::text::Text")]
    pub method: Vec<u8>,
    /// The request target.
    pub uri: Template,
    /// Its own header fields. They take the place of those of the same names that all requests share.
    pub headers: Vec<Header>,
    /// Its body, if it has one.
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
