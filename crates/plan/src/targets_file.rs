//! The file that `--targets` names: a list of requests in either of the two formats of vegeta.
//!
//! ```text
//! # The plain format. A blank line or the next request ends a request.
//! GET http://shop.example/cart?id={seq}
//! Accept: text/html
//!
//! POST http://shop.example/orders
//! Content-Type: application/json
//! @order.json
//! ```
//!
//! ```text
//! {"method": "GET", "url": "http://shop.example/", "header": {"Accept": ["text/html"]}}
//! {"method": "POST", "url": "http://shop.example/orders", "body": "eyJpdGVtIjogMX0="}
//! ```
//!
//! If the first line, apart from comments and blank lines, starts with a brace, each line is a JSON object with the
//! body in base64 (RFC 4648, section 4).

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use thiserror::Error;

use crate::material::token;
use crate::url::{HttpUrl, UrlError};
use crate::{Header, HeaderError, NonEmpty, Template};

/// A request of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedTarget {
    /// The number of its first line, from 1.
    pub line: usize,
    /// The method.
    pub method: String,
    /// The URL, which gives the server.
    pub url: HttpUrl,
    /// The path and query of `url`, with its placeholders.
    pub uri: Template,
    /// The header fields, in order.
    pub headers: Vec<Header>,
    /// The body.
    pub body: ListedBody,
}

/// The body of a listed request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListedBody {
    /// No body.
    None,
    /// Text with placeholders.
    Text(Template),
    /// The contents of a file.
    File {
        /// The path, relative to the folder of the list.
        path: Vec<u8>,
        /// The number of the line that names it, from 1.
        line: usize,
    },
}

/// An error in a list, with its position.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{line}:{column}: {reason}")]
pub struct Error {
    /// The line, from 1.
    pub line: usize,
    /// The byte within the line, from 1.
    pub column: usize,
    /// A sentence with the expected and the actual text.
    pub reason: String,
}

/// Parses the requests of a file, in order.
///
/// # Errors
/// The first line that is not part of a valid request.
pub fn parse(bytes: &[u8]) -> Result<NonEmpty<ListedTarget>, Error> {
    let is_json = lines(bytes).next().is_some_and(|line| line.text.starts_with(b"{"));
    let targets = if is_json { parse_json(bytes) } else { parse_plain(bytes) }?;
    let none = || Error { line: 1, column: 1, reason: "expected a request, got none".to_owned() };
    NonEmpty::try_from(targets).map_err(|_| none())
}

/// A line with its number, without leading and trailing white space.
#[derive(Clone, Copy)]
struct Line<'a> {
    number: usize,
    /// The number of bytes of white space before it.
    indent: usize,
    text: &'a [u8],
}

impl Line<'_> {
    fn error(&self, at: usize, reason: String) -> Error {
        Error { line: self.number, column: self.indent + at + 1, reason }
    }

    fn expected(&self, at: usize, what: impl fmt::Display) -> Error {
        self.error(at, format!("expected {what}, got `{}`", shown(&self.text[at..])))
    }
}

/// Returns all lines except comments; blank lines are empty.
fn all_lines(bytes: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let numbered = bytes.split(|&byte| byte == b'\n').enumerate();
    let trimmed = numbered.map(|(index, line)| {
        let text = line.trim_ascii_start();
        Line { number: index + 1, indent: line.len() - text.len(), text: text.trim_ascii_end() }
    });
    trimmed.filter(|line| !line.text.starts_with(b"#"))
}

/// Returns the lines that are neither comments nor blank.
fn lines(bytes: &[u8]) -> impl Iterator<Item = Line<'_>> {
    all_lines(bytes).filter(|line| !line.text.is_empty())
}

fn parse_plain(bytes: &[u8]) -> Result<Vec<ListedTarget>, Error> {
    let mut targets: Vec<ListedTarget> = Vec::new();
    // True while further lines may belong to the last request.
    let mut is_open = false;
    for line in all_lines(bytes) {
        if line.text.is_empty() {
            is_open = false;
        } else if let Some(target) = request_line(&line)? {
            targets.push(target);
            is_open = true;
        } else {
            let last = targets.last_mut().filter(|_| is_open);
            let last = last.ok_or_else(|| line.expected(0, "a request such as `GET http://host/path`"))?;
            if let Some(path) = line.text.strip_prefix(b"@") {
                if path.is_empty() {
                    return Err(line.expected(0, "the name of a file after @"));
                }
                last.body = ListedBody::File { path: path.to_vec(), line: line.number };
                is_open = false;
            } else {
                let header = Header::parse(line.text).map_err(|error| wrong_header(&line, &error))?;
                last.headers.push(header);
            }
        }
    }
    Ok(targets)
}

/// Parses `METHOD URL`; `None` if the line has another form. A header field has its colon before any blank.
fn request_line(line: &Line<'_>) -> Result<Option<ListedTarget>, Error> {
    let Some(blank) = line.text.iter().position(|byte| matches!(byte, b' ' | b'\t')) else { return Ok(None) };
    let Some(method) = token(&line.text[..blank]) else { return Ok(None) };
    let start = line.text.len() - line.text[blank..].trim_ascii_start().len();
    let text = &line.text[start..];
    if text.starts_with(b":") {
        // A blank before the colon: an invalid header field.
        return Ok(None);
    }
    let url = HttpUrl::parse(text).map_err(|error| line.expected(start, url_wanted(&error)))?;
    let uri = Template::parse(&url.uri).map_err(|error| {
        let at = text.windows(error.found.len()).position(|window| window == error.found.as_bytes());
        line.error(start + at.unwrap_or(0), format!("expected {error}, got `{}`", error.found))
    })?;
    Ok(Some(ListedTarget {
        line: line.number,
        method: method.to_owned(),
        url,
        uri,
        headers: Vec::new(),
        body: ListedBody::None,
    }))
}

fn url_wanted(error: &UrlError) -> String {
    format!("a URL such as http://host:8080/path ({error})")
}

fn wrong_header(line: &Line<'_>, error: &HeaderError) -> Error {
    match error {
        HeaderError::Range(range) => {
            let at = line.text.windows(range.found.len()).position(|window| window == range.found.as_bytes());
            line.error(at.unwrap_or(0), format!("expected {range}, got `{}`", range.found))
        }
        other => line.expected(0, other),
    }
}

/// The maximum number of characters of a line in a message.
const SHOWN: usize = 60;

fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

fn parse_json(bytes: &[u8]) -> Result<Vec<ListedTarget>, Error> {
    lines(bytes).map(|line| json_line(&line)).collect()
}

fn json_line(line: &Line<'_>) -> Result<ListedTarget, Error> {
    let Object { method, url: JsonUrl { url, uri }, header, body } = serde_json::from_slice(line.text)
        .map_err(|error| {
            let message = error.to_string();
            // Our own messages give the position in another form.
            let place = format!(" at line {} column {}", error.line(), error.column());
            let reason = message.strip_suffix(&place).unwrap_or(&message).to_owned();
            line.error(error.column().saturating_sub(1), reason)
        })?;
    let body = match body {
        Some(JsonBody(body)) if body != Template::default() => ListedBody::Text(body),
        _ => ListedBody::None,
    };
    Ok(ListedTarget { line: line.number, method: method.0, url, uri, headers: header.0, body })
}

/// A line of the JSON format.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Object {
    method: JsonMethod,
    url: JsonUrl,
    #[serde(default)]
    header: JsonHeaders,
    #[serde(default)]
    body: Option<JsonBody>,
}

struct JsonMethod(String);

impl<'de> Deserialize<'de> for JsonMethod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match token(text.as_bytes()) {
            Some(_) => Ok(Self(text)),
            None => Err(D::Error::custom(format!("expected a method such as GET, got `{text}`"))),
        }
    }
}

struct JsonUrl {
    url: HttpUrl,
    uri: Template,
}

impl<'de> Deserialize<'de> for JsonUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let url = HttpUrl::parse(text.as_bytes()).map_err(|error| {
            D::Error::custom(format!("expected {}, got `{}`", url_wanted(&error), shown(text.as_bytes())))
        })?;
        let uri = Template::parse(&url.uri)
            .map_err(|error| D::Error::custom(format!("expected {error}, got `{}`", error.found)))?;
        Ok(Self { url, uri })
    }
}

/// The header fields of a JSON object: names with lists of values, in the order of the file.
#[derive(Default)]
struct JsonHeaders(Vec<Header>);

impl<'de> Deserialize<'de> for JsonHeaders {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Vec<Header>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of lists of text")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<Header>, A::Error> {
                let mut headers = Vec::new();
                while let Some((name, values)) = map.next_entry::<String, Vec<String>>()? {
                    for value in values {
                        let header = Header::new(name.as_bytes(), value.as_bytes()).map_err(|error| {
                            let found = match &error {
                                HeaderError::Range(range) => range.found.clone(),
                                _ => shown(format!("{name}: {value}").as_bytes()),
                            };
                            A::Error::custom(format!("expected {error}, got `{}`", found.escape_debug()))
                        })?;
                        headers.push(header);
                    }
                }
                Ok(headers)
            }
        }

        deserializer.deserialize_map(Fields).map(Self)
    }
}

struct JsonBody(Template);

impl<'de> Deserialize<'de> for JsonBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD.decode(&text).map_err(|error| {
            D::Error::custom(format!("expected a body in base64, got `{}` ({error})", shown(text.as_bytes())))
        })?;
        Template::parse(&bytes)
            .map(Self)
            .map_err(|error| D::Error::custom(format!("expected {error}, got `{}`", error.found)))
    }
}

/// Checks, for fuzzing, that requests read from `bytes` are the same when read from their JSON form.
///
/// # Panics
/// If they differ.
#[cfg(any(test, fuzzing))]
pub fn check_printed(bytes: &[u8]) {
    let Ok(targets) = parse(bytes) else { return };
    for target in targets {
        let Some(printed) = printed(&target) else { continue };
        let read = parse(printed.as_bytes()).map(|targets| targets.first().clone());
        assert_eq!(read, Ok(ListedTarget { line: 1, ..target }), "{printed}");
    }
}

/// Returns a request as a line of JSON; `None` for a body in a file or a header that is not UTF-8.
#[cfg(any(test, fuzzing))]
fn printed(target: &ListedTarget) -> Option<String> {
    let body = match &target.body {
        ListedBody::None => None,
        ListedBody::Text(text) => Some(STANDARD.encode(text.typed())),
        ListedBody::File { .. } => return None,
    };
    let mut fields = Vec::new();
    for header in &target.headers {
        let value = String::from_utf8(header.value.typed()).ok()?;
        fields.push(format!("{}:[{}]", serde_json::json!(header.name), serde_json::json!(value)));
    }
    let method = serde_json::json!(target.method);
    let url = serde_json::json!(target.url.to_string());
    let body = serde_json::json!(body);
    Some(format!(r#"{{"method":{method},"url":{url},"header":{{{}}},"body":{body}}}"#, fields.join(",")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// One line of text for each request: line, method, URL, header fields, body.
    #[track_caller]
    fn check(file: &str, expected: &[&str]) {
        let targets = parse(file.as_bytes()).unwrap();
        let outline: Vec<String> = targets.iter().map(outline).collect();
        assert_eq!(outline, expected, "{file}");
    }

    fn outline(target: &ListedTarget) -> String {
        let ListedTarget { line, method, url, headers, body, .. } = target;
        let mut text = format!("{line} {method} {url}");
        for Header { name, value } in headers {
            text += &format!(" {name}={}", value.typed().escape_ascii());
        }
        match body {
            ListedBody::None => text,
            ListedBody::Text(body) => format!("{text} '{}'", body.typed().escape_ascii()),
            ListedBody::File { path, line } => format!("{text} @{} from {line}", path.escape_ascii()),
        }
    }

    #[track_caller]
    fn check_error(file: &str, expected: &str) {
        assert_eq!(parse(file.as_bytes()).unwrap_err().to_string(), expected, "{file}");
    }

    #[test]
    fn the_plain_format_has_a_request_in_each_paragraph() {
        check(
            "# two\r\n\r\n  GET http://a/x?y=z\r\nAccept: text/html\r\n# a comment\r\nX-A:b:c\r\n\r\n\
             POST https://b:81\n@a body.json\n",
            &["3 GET http://a/x?y=z Accept=text/html X-A=b:c", "8 POST https://b:81/ @a body.json from 9"],
        );
    }

    #[test]
    fn the_next_request_ends_one_as_a_blank_line_does() {
        check(
            "GET http://a/1\nGET http://a/2\nX: y\nPURGE\thttp://a/3\n@b\nGET http://a/4",
            &["1 GET http://a/1", "2 GET http://a/2 X=y", "4 PURGE http://a/3 @b from 5", "6 GET http://a/4"],
        );
    }

    #[test]
    fn the_json_format_has_a_request_on_each_line() {
        check(
            "\n{\"method\":\"GET\",\"url\":\"http://a/\"}\n\
             {\"url\": \"http://a/b\", \"body\": \"YWJj\", \"method\": \"PUT\",\
             \"header\": {\"X\": [\"1\", \"2\"], \"A\": [\"z\"], \"N\": []}}\r\n\
             {\"method\":\"POST\",\"url\":\"http://a/\",\"body\":\"\"}\n\
             {\"method\":\"POST\",\"url\":\"http://a/\",\"body\":null}",
            &[
                "2 GET http://a/",
                "3 PUT http://a/b X=1 X=2 A=z 'abc'",
                "4 POST http://a/",
                "5 POST http://a/",
            ],
        );
    }

    #[test]
    fn placeholders_are_found_in_uris_headers_and_bodies() {
        let targets = parse(b"GET http://a/{seq}?{x}\nX: {uuid}\n").unwrap();
        assert_eq!(targets[0].uri.pieces().len(), 3);
        assert_eq!(targets[0].headers[0].value.as_literal(), None);
        let line = r#"{"method":"GET","url":"http://a/","body":"e3NlcX0="}"#;
        let targets = parse(line.as_bytes()).unwrap();
        assert_eq!(targets[0].body, ListedBody::Text(Template::parse(b"{seq}").unwrap()));
    }

    #[test]
    fn what_is_wrong_with_the_plain_format_is_said_with_its_place() {
        check_error("", "1:1: expected a request, got none");
        check_error("# only\n\n", "1:1: expected a request, got none");
        check_error("\n X: y\n", "2:2: expected a request such as `GET http://host/path`, got `X: y`");
        check_error(
            "GET http://a/\n\nX: y",
            "3:1: expected a request such as `GET http://host/path`, got `X: y`",
        );
        check_error("http://a/", "1:1: expected a request such as `GET http://host/path`, got `http://a/`");
        check_error(
            "GET  /path",
            "1:6: expected a URL such as http://host:8080/path (relative URL without a base), got `/path`",
        );
        check_error(
            "GET http://a/ HTTP/1.1",
            "1:5: expected a URL such as http://host:8080/path (it contains a blank or a control character), got \
             `http://a/ HTTP/1.1`",
        );
        check_error(
            "GET http://a/x{rand:9-1}",
            "1:15: expected {rand:LOW-HIGH} with whole numbers, LOW not above HIGH, got `{rand:9-1}`",
        );
        check_error(
            "GET http://a/\nAccept",
            "2:1: expected a header field such as `Accept: text/html`, got `Accept`",
        );
        check_error(
            "GET http://a/\nContent-Length: 3\n@b",
            "2:1: expected a header field other than Content-Length and Transfer-Encoding, which follow from the \
             body, got `Content-Length: 3`",
        );
        check_error(
            "GET http://a/\nX: {rand:}",
            "2:4: expected {rand:LOW-HIGH} with whole numbers, LOW not above HIGH, got `{rand:}`",
        );
        check_error(
            "GET http://a/\nA : b",
            "2:1: expected a header field such as `Accept: text/html`, got `A : b`",
        );
        check_error("GET http://a/\n@\n", "2:1: expected the name of a file after @, got `@`");
        check_error(
            "GET http://a/\n@a\nX: y",
            "3:1: expected a request such as `GET http://host/path`, got `X: y`",
        );
    }

    #[test]
    fn what_is_wrong_with_the_json_format_is_said_with_its_place() {
        check_error("{", "1:1: EOF while parsing an object");
        check_error("{\"url\":\"http://a/\"}", "1:19: missing field `method`");
        check_error(
            "{\"method\":\"GET\",\"url\":\"http://a/\"}\n  {\"method\":\"GET\",\"url\":\"/a\"}",
            "2:29: expected a URL such as http://host:8080/path (relative URL without a base), got `/a`",
        );
        check_error(
            "{\"method\":\"G T\",\"url\":\"http://a/\"}",
            "1:15: expected a method such as GET, got `G T`",
        );
        check_error(
            "{\"method\":\"GET\",\"url\":\"http://a/\",\"headers\":{}}",
            "1:43: unknown field `headers`, expected one of `method`, `url`, `header`, `body`",
        );
        check_error(
            "{\"method\":\"GET\",\"url\":\"http://a/\",\"body\":\"!\"}",
            "1:45: expected a body in base64, got `!` (Invalid symbol 33, offset 0.)",
        );
        check_error(
            "{\"method\":\"GET\",\"url\":\"http://a/\",\"header\":{\"a b\":[\"c\"]}}",
            "1:56: expected a header field such as `Accept: text/html`, got `a b: c`",
        );
        check_error(
            "{\"method\":\"GET\",\"url\":\"http://a/\",\"header\":{\"a\":[\"c\\nd\"]}}",
            "1:57: expected a header field without control characters in it, got `a: c\\nd`",
        );
    }

    proptest! {
        #[test]
        fn what_is_read_is_read_again_from_its_json_form(
            method in "[A-Z-]{1,7}",
            path in "/[a-zA-Z0-9/?&=%äß{}.-]{0,12}(\\{seq\\}|\\{uuid\\})?",
            port in prop::option::of(1..u16::MAX),
            headers in prop::collection::vec(("[a-zA-Z-]{1,5}", "[!-~]{0,5}( [!-~äß]{1,4})?"), 0..3),
        ) {
            let port = port.map(|port| format!(":{port}")).unwrap_or_default();
            let mut file = format!("{method} http://host{port}{path}\n");
            for (name, value) in &headers {
                file += &format!("{name}: {value}\n");
            }
            prop_assume!(headers.iter().all(|(name, _)| !name.eq_ignore_ascii_case("@")));
            prop_assert_eq!(parse(file.as_bytes()).unwrap().len(), 1);
            check_printed(file.as_bytes());
        }

        #[test]
        fn whatever_is_in_a_file_it_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            check_printed(&bytes);
            let mut json = br#"{"method":"GET","url":"http://a/"#.to_vec();
            json.extend_from_slice(&bytes);
            check_printed(&json);
        }
    }
}
