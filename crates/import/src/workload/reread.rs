//! What is written is read again: by the parser of Hurl files and by the reader of workload files.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use httperf_hurl::{CommentName, parse};
use httperf_plan::scenario::{StepBodyPart, StepRequest, StepText};
use httperf_plan::url::HttpUrl;
use httperf_plan::workload_file::{Files, Given, WorkloadFile, read};
use proptest::prelude::*;

use super::*;

/// The server of a workload that names none.
const BASE: &str = "http://given.example";

/// Texts of which a careless writer makes something else.
const PIECES: &[&str] = &[
    "{{x}}",
    "{{",
    "{",
    "}",
    "#",
    "\\",
    "\\u{41}",
    "`",
    "```",
    "\"",
    "'",
    ":",
    ";",
    ",",
    "[",
    "[1]",
    "]",
    "[Form]",
    "@",
    "@think 1s",
    "$",
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "\0",
    "\u{1b}",
    "\u{7f}",
    "\u{85}",
    "\u{a0}",
    "\u{2028}",
    "é",
    "💡",
    "file,a;",
    "base64,",
    "HTTP",
    "HTTP 200",
    "GET /",
    "%",
    "%41",
    "%zz",
    "+",
    "&",
    "=",
    "?",
    "/",
    "//",
    "..",
    "|",
    "^",
    "<",
    ">",
    "null",
    "1E5",
    "\\ud800",
    "a",
    "Ab",
    "-",
    ".",
];

/// Any text, most of it made of such pieces.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let pieces = proptest::collection::vec(proptest::sample::select(PIECES), 0..6);
    prop_oneof![4 => pieces.prop_map(|pieces| pieces.concat()), 1 => any::<String>()]
}

/// Any value of JSON.
pub(crate) fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        any::<f64>().prop_map(serde_json::Value::from),
        text().prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            proptest::collection::hash_map(text(), inner, 0..4)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Writes a workload and reads it again. It must be read without a problem, as the requests that are in it. Files that
/// it does not write have their names as content.
#[track_caller]
pub(crate) fn check(workload: &Workload) {
    if workload.scenarios.iter().any(|scenario| scenario.disabled.is_none()) {
        reread(workload);
    }
    let whole = enabled(workload);
    let read = reread(&whole);
    for file in &whole.files {
        let text = file.written();
        let parsed = parse(&text).unwrap_or_else(|problems| panic!("{problems:?} in {text}"));
        let is_of_file = |request: &&StepRequest| request.origin.rsplit_once(':').unwrap().0 == file.name;
        let requests: Vec<&StepRequest> = read.scenarios.requests.iter().filter(is_of_file).collect();
        let count = file.entries.len();
        assert_eq!((parsed.entries.len(), requests.len()), (count, count), "{text}");
        for ((entry, parsed), request) in file.entries.iter().zip(parsed.entries).zip(requests) {
            let comment = |name| {
                let comment = parsed.comments.iter().find(|comment| comment.name == name);
                comment.map(|comment| comment.value.clone())
            };
            assert_eq!(comment(CommentName::Think), entry.think.map(duration), "{text}");
            let name = entry.name.as_deref().map(one_line).filter(|name| !name.is_empty());
            assert_eq!(comment(CommentName::Name), name, "{text}");
            Expected { workload: &whole, entry, text: &text }.check(request, &read.origins);
        }
    }
}

/// The workload with all that is only a comment.
fn enabled(workload: &Workload) -> Workload {
    let mut whole = workload.clone();
    for scenario in &mut whole.scenarios {
        scenario.disabled = None;
        for step in &mut scenario.steps {
            let Step::Choose(choices) = step else { continue };
            choices.iter_mut().for_each(|(_, reason)| *reason = None);
        }
    }
    whole
}

/// Reads a workload as it is written.
#[track_caller]
pub(crate) fn reread(workload: &Workload) -> WorkloadFile {
    let mut files: HashMap<PathBuf, Vec<u8>> =
        workload.written("w").into_iter().map(|file| (file.name.into(), file.content)).collect();
    let count = workload.files.len() + workload.attachments.len() + 1;
    assert_eq!(files.len(), count, "files with the same name");
    let toml = String::from_utf8(files.remove(Path::new("w.toml")).unwrap()).unwrap();
    let base = workload.base.is_none().then(|| BASE.to_owned());
    let given = Given { base, ..Given::default() };
    read(Path::new("w.toml"), &toml, &mut Folder(files.clone()), &given).unwrap_or_else(|problems| {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let shown = |content: &Vec<u8>| String::from_utf8_lossy(content).into_owned();
        let files: Vec<_> = files.iter().map(|(name, content)| (name, shown(content))).collect();
        panic!("{} in {toml}\n{files:?}", problems.join("\n"))
    })
}

struct Folder(HashMap<PathBuf, Vec<u8>>);

impl Files for Folder {
    fn read(&mut self, path: &Path) -> io::Result<Vec<u8>> {
        Ok(self.0.get(path).cloned().unwrap_or_else(|| path.to_string_lossy().into_owned().into_bytes()))
    }
}

/// A request as it is expected from an entry.
struct Expected<'a> {
    workload: &'a Workload,
    entry: &'a Entry,
    /// The file that it was read from.
    text: &'a str,
}

impl Expected<'_> {
    #[track_caller]
    fn check(&self, request: &StepRequest, origins: &[HttpUrl]) {
        let (entry, text) = (self.entry, self.text);
        assert_eq!(
            (&request.method, request.status, request.follows),
            (&entry.method, entry.status, entry.follows_redirects),
            "{text}"
        );
        let (server, uri) = self.url();
        let origin = &origins[usize::try_from(request.target).unwrap()];
        assert_eq!((&server, uri), (origin, normal(literal(&request.uri))), "{text}");
        let headers: Vec<(&str, &[u8])> =
            request.headers.iter().map(|header| (&header.name[..], literal(&header.value))).collect();
        let content_type = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        let content_type = content_type.map(|(_, value)| String::from_utf8_lossy(value).into_owned());
        let expected = self.headers(content_type.as_deref());
        let expected: Vec<(&str, &[u8])> =
            expected.iter().map(|(name, value)| (&name[..], value.as_bytes())).collect();
        assert_eq!(headers, expected, "{text}");
        self.check_body(request.body.as_deref(), content_type.as_deref());
    }

    /// A text with the values of variables.
    fn filled(&self, text: &Text) -> String {
        let value = |name: &String| match &name[..] {
            "base" => self.workload.base.clone().unwrap_or_else(|| BASE.to_owned()),
            name => {
                let variable = self.workload.variables.iter().find(|(known, _)| known == name);
                variable.expect("a known variable").1.clone()
            }
        };
        let pieces = text.0.iter().map(|piece| match piece {
            Piece::Literal(text) => text.clone(),
            Piece::Variable(name) => value(name),
        });
        pieces.collect()
    }

    /// The server, and the target with the parameters of the query.
    fn url(&self) -> (HttpUrl, Vec<u8>) {
        let url = self.filled(&self.entry.url);
        let (scheme, rest) = url.split_once("://").unwrap();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (host, target) = rest.split_at(end);
        let server = HttpUrl::parse(format!("{scheme}://{host}/").as_bytes()).unwrap();
        let slash = if target.starts_with('/') { "" } else { "/" };
        let mut target = format!("{slash}{target}");
        for (name, value) in &self.entry.query {
            let separator = if target.contains('?') { '&' } else { '?' };
            target = format!("{target}{separator}{}={}", unreserved(name), unreserved(&self.filled(value)));
        }
        (server, normal(target.as_bytes()))
    }

    /// The header fields with those that follow from the rest of the request. The content type is that of the request:
    /// nothing else tells the boundary of a form.
    fn headers(&self, content_type: Option<&str>) -> Vec<(String, String)> {
        let mut headers: Vec<(String, String)> =
            self.entry.headers.iter().map(|(name, value)| (name.clone(), self.filled(value))).collect();
        let has = |headers: &[(String, String)], name: &str| {
            headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
        };
        if !has(&headers, "accept") {
            headers.insert(0, ("Accept".to_owned(), "*/*".to_owned()));
        }
        let implied = match &self.entry.body {
            Some(Body::Form(form)) if !form.is_empty() => Some("application/x-www-form-urlencoded"),
            Some(Body::Json(_)) => Some("application/json"),
            Some(Body::Multipart(parts)) if !parts.is_empty() => content_type,
            _ => None,
        };
        if let Some(implied) = implied.filter(|_| !has(&headers, "content-type")) {
            headers.push(("Content-Type".to_owned(), implied.to_owned()));
        }
        if let Some((user, password)) = &self.entry.basic_auth {
            let pair = STANDARD.encode(format!("{}:{}", self.filled(user), self.filled(password)));
            headers.push(("Authorization".to_owned(), format!("Basic {pair}")));
        }
        headers
    }

    /// The content of a file: that of an attachment, or else its name.
    fn content(&self, name: &FileName) -> Vec<u8> {
        let attachment = self.workload.attachments.iter().find(|attachment| attachment.name == *name);
        attachment.map_or_else(|| name.as_str().into(), |attachment| attachment.content.clone())
    }

    #[track_caller]
    fn check_body(&self, parts: Option<&[StepBodyPart]>, content_type: Option<&str>) {
        let mut bytes = Vec::new();
        for part in parts.unwrap_or_default() {
            match part {
                StepBodyPart::Text(text) => bytes.extend_from_slice(literal(text)),
                StepBodyPart::File(file) => bytes.extend_from_slice(&file.contents),
            }
        }
        let text = self.text;
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        match &self.entry.body {
            None => assert_eq!(parts, None, "{text}"),
            Some(Body::Json(json)) if json.contains("{{") => {
                let value = |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap();
                assert_eq!(value(&shown), value(json), "{text}");
            }
            Some(Body::Json(body) | Body::Text(body)) => assert_eq!(&shown, body, "{text}"),
            Some(Body::File(name)) => assert_eq!(bytes, self.content(name), "{text}"),
            Some(Body::Bytes(body)) => assert_eq!(&bytes, body, "{text}"),
            Some(Body::Form(form)) => assert_eq!(shown, encoded_form(form), "{text}"),
            Some(Body::Multipart(form)) => {
                let boundary =
                    content_type.and_then(|kind| kind.split_once("boundary=")).map(|(_, text)| text);
                let mut rest = &shown[..];
                for (name, part) in form {
                    let content = match part {
                        Part::Text(content) => content.clone(),
                        Part::File { name, .. } => String::from_utf8_lossy(&self.content(name)).into_owned(),
                    };
                    let name = name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
                    let start =
                        format!("--{}\r\nContent-Disposition: form-data; name=\"{name}\"", boundary.unwrap());
                    rest = rest.strip_prefix(&start).unwrap_or_else(|| panic!("{rest:?} in {text}"));
                    let (details, behind) = rest.split_once("\r\n\r\n").unwrap();
                    assert_eq!(details.contains("filename="), matches!(part, Part::File { .. }), "{text}");
                    if let Part::File { kind: Some(kind), .. } = part {
                        assert!(
                            details.ends_with(&format!("\r\nContent-Type: {kind}")),
                            "{details:?} in {text}"
                        );
                    }
                    rest =
                        behind.strip_prefix(&content[..]).unwrap_or_else(|| panic!("{behind:?} in {text}"));
                    rest = rest.strip_prefix("\r\n").unwrap();
                }
                assert_eq!(rest.is_empty(), form.is_empty(), "{text}");
            }
        }
    }
}

/// The bytes of a text that has nothing to fill in.
#[track_caller]
fn literal(text: &StepText) -> &[u8] {
    text.as_literal().expect("a text without anything to fill in")
}

/// A target with all that no URL has percent-encoded.
fn normal(target: &[u8]) -> Vec<u8> {
    let encode = |byte: &u8| match byte {
        b'"' | b'#' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' => {
            format!("%{byte:02X}").into_bytes()
        }
        byte if byte.is_ascii_graphic() => vec![*byte],
        byte => format!("%{byte:02X}").into_bytes(),
    };
    target.iter().flat_map(encode).collect()
}

/// A text with all but unreserved characters percent-encoded.
fn unreserved(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}
