//! Workload files: the steps as Hurl files, and the load as TOML.
//!
//! What comes from a recording is escaped, so that nothing in it is taken for a template, a comment or the end of a
//! value.
//!
//! <https://hurl.dev/docs/grammar.html>

use std::collections::HashSet;
use std::fmt::Write as _;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The maximum number of requests that the program reads from all files of a workload.
pub const REQUESTS_MAX: usize = 1000;

/// The reason for which further requests are left out.
pub(crate) const TOO_MANY: &str = "requests beyond the first 1000, the maximum of a workload";

/// The reason for which requests are left out that a workload with this server cannot make.
pub(crate) const OTHER_SCHEME: &str = "requests of another scheme than that of the main server";

/// The longest pause that the program reads: more than 31 years.
pub(crate) const PAUSE_MAX: Duration = Duration::from_secs(1_000_000_000);

/// A workload: files of steps, and the scenarios that run them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workload {
    /// Sentences for the head of the file.
    pub comments: Vec<String>,
    /// The variable `{{base}}`: the server.
    pub base: Option<String>,
    /// Other variables with their values.
    pub variables: Vec<(String, String)>,
    /// The files of steps.
    pub files: Vec<StepFile>,
    /// The scenarios.
    pub scenarios: Vec<Scenario>,
    /// Options of the command line, with values that TOML takes as they are.
    pub options: Vec<(String, String)>,
    /// Further files in the same folder, which requests send.
    pub attachments: Vec<Attachment>,
    /// Files that requests send and that are not there: they must be put into the folder.
    pub missing: Vec<FileName>,
}

/// The name of a file in the folder of the workload: a single component, whatever path a recording has. A stranger's
/// recording must not have a request send a file from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileName(String);

impl FileName {
    /// The last component of a path, by the separators of Unix and Windows; `None` if there is none.
    #[must_use]
    pub fn last_of(path: &str) -> Option<Self> {
        let last = path.rsplit(['/', '\\']).next().unwrap_or_default();
        let name: String =
            last.chars().map(|letter| if letter.is_control() { '_' } else { letter }).collect();
        (!matches!(&name[..], "" | "." | "..")).then_some(Self(name))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A file that a request sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Its name.
    pub name: FileName,
    /// Its content.
    pub content: Vec<u8>,
}

/// A file of steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepFile {
    /// Its name without a folder.
    pub name: String,
    /// Sentences for the head of the file.
    pub comments: Vec<String>,
    /// The requests, in order.
    pub entries: Vec<Entry>,
}

/// A request of a file, with the status that is expected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The name of the step, if it has one.
    pub name: Option<String>,
    /// The pause before the request.
    pub think: Option<Duration>,
    /// The method.
    pub method: String,
    /// The URL.
    pub url: Text,
    /// The header fields.
    pub headers: Vec<(String, Text)>,
    /// Parameters that are added to the URL.
    pub query: Vec<(String, Text)>,
    /// User and password.
    pub basic_auth: Option<(Text, Text)>,
    /// The body.
    pub body: Option<Body>,
    /// The expected status; `None` for any.
    pub status: Option<u16>,
    /// True if redirects are followed.
    pub follows_redirects: bool,
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// JSON, written as it is.
    Json(String),
    /// Text.
    Text(String),
    /// Any bytes.
    Bytes(Vec<u8>),
    /// The fields of a form, encoded as in a URL.
    Form(Vec<(String, String)>),
    /// The fields of a form in parts.
    Multipart(Vec<(String, Part)>),
    /// The content of a file next to the workload.
    File(FileName),
}

/// A field of a form in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A value.
    Text(String),
    /// The content of a file next to the workload.
    File {
        /// The file.
        name: FileName,
        /// The content type; without one it follows from the name.
        kind: Option<String>,
    },
}

/// A text in which variables stand for their values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Literal(String),
    Variable(String),
}

/// A scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// Its steps.
    pub steps: Vec<Step>,
    /// The reason for which it is only a comment, if it is.
    pub disabled: Option<String>,
}

/// A step of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Runs a file.
    Run(String),
    /// Pauses.
    Think(Duration),
    /// Runs one of several files, each as often as the others. Those with a reason are comments.
    Choose(Vec<(String, Option<String>)>),
}

/// A file that is ready to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its name without a folder.
    pub name: String,
    /// Its content.
    pub content: Vec<u8>,
}

impl Text {
    /// A text without variables.
    #[must_use]
    pub fn literal(text: impl Into<String>) -> Self {
        Self(vec![Piece::Literal(text.into())])
    }

    /// The value of a variable.
    #[must_use]
    pub fn variable(name: impl Into<String>) -> Self {
        Self(vec![Piece::Variable(name.into())])
    }

    /// Adds a text.
    #[must_use]
    pub fn then(mut self, text: impl Into<String>) -> Self {
        self.0.push(Piece::Literal(text.into()));
        self
    }

    /// Adds the value of a variable.
    #[must_use]
    pub fn then_variable(mut self, name: impl Into<String>) -> Self {
        self.0.push(Piece::Variable(name.into()));
        self
    }

    /// The text, if it has no variables.
    pub(crate) fn as_literal(&self) -> Option<&str> {
        match &self.0[..] {
            [] => Some(""),
            [Piece::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// The text with each literal escaped.
    fn written(&self, escape: impl Fn(&str) -> String) -> String {
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Literal(text) => escape(text),
            Piece::Variable(name) => format!("{{{{{name}}}}}"),
        });
        pieces.collect()
    }
}

impl Workload {
    /// All files: the workload under this name with `.toml`, and the files of steps.
    #[must_use]
    pub fn written(&self, name: &str) -> Vec<Written> {
        let toml = Written { name: format!("{name}.toml"), content: self.toml().into_bytes() };
        let files = self
            .files
            .iter()
            .map(|file| Written { name: file.name.clone(), content: file.written().into_bytes() });
        let attachments = self.attachments.iter().map(|attachment| Written {
            name: attachment.name.as_str().to_owned(),
            content: attachment.content.clone(),
        });
        std::iter::once(toml).chain(files).chain(attachments).collect()
    }

    /// Adds a file that a request sends, and returns its name in the folder. Another file of the same name, or of one
    /// that the workload itself uses, has it numbered.
    pub(crate) fn attach(&mut self, name: &FileName, content: Vec<u8>) -> FileName {
        let (stem, ending) = match name.as_str().rsplit_once('.') {
            Some((stem, ending)) if !stem.is_empty() => (stem, format!(".{ending}")),
            _ => (name.as_str(), String::new()),
        };
        let is_own =
            |name: &str| [".toml", ".hurl"].iter().any(|own| name.to_ascii_lowercase().ends_with(own));
        let ending = if is_own(&ending) { format!("{ending}.data") } else { ending };
        let mut number = 1;
        loop {
            let tried =
                if number == 1 { format!("{stem}{ending}") } else { format!("{stem}-{number}{ending}") };
            match self.attachments.iter().find(|known| known.name.as_str().eq_ignore_ascii_case(&tried)) {
                Some(known) if known.content == content => return known.name.clone(),
                Some(_) => number += 1,
                None => {
                    let name = FileName(tried);
                    self.attachments.push(Attachment { name: name.clone(), content });
                    return name;
                }
            }
        }
    }

    /// Notes that a request sends a file that is not there.
    pub(crate) fn miss(&mut self, name: &FileName) {
        if !self.missing.contains(name) {
            self.missing.push(name.clone());
        }
    }

    /// The workload file.
    #[must_use]
    pub fn toml(&self) -> String {
        let mut toml = String::new();
        for comment in &self.comments {
            line(&mut toml, &format!("# {}", one_line(comment)));
        }
        if let Some(base) = &self.base {
            line(&mut toml, &format!("base = {}", quoted(base)));
        }
        if !self.variables.is_empty() {
            line(&mut toml, "\n[variables]");
            for (name, value) in &self.variables {
                line(&mut toml, &format!("{} = {}", quoted(name), quoted(value)));
            }
        }
        line(&mut toml, "\n# An import does not know the load: this is one visit a second for a minute.");
        line(&mut toml, "[arrivals]\nrate = \"1/s\"\nfor = \"1m\"");
        for scenario in &self.scenarios {
            line(&mut toml, "");
            scenario.write(&mut toml);
        }
        if !self.options.is_empty() {
            line(&mut toml, "\n[options]");
            for (name, value) in &self.options {
                line(&mut toml, &format!("{name} = {value}"));
            }
        }
        toml
    }
}

impl Scenario {
    fn write(&self, toml: &mut String) {
        let prefix = match &self.disabled {
            Some(reason) => {
                line(toml, &format!("# {}", one_line(reason)));
                "# "
            }
            None => "",
        };
        line(toml, &format!("{prefix}[[scenario]]"));
        line(toml, &format!("{prefix}name = {}", quoted(&self.name)));
        line(toml, &format!("{prefix}steps = ["));
        for step in &self.steps {
            match step {
                Step::Run(file) => line(toml, &format!("{prefix}  {{ run = {} }},", quoted(file))),
                Step::Think(pause) => {
                    line(toml, &format!("{prefix}  {{ think = {} }},", quoted(&duration(*pause))));
                }
                Step::Choose(files) => {
                    line(toml, &format!("{prefix}  {{ choose = ["));
                    for (file, reason) in files {
                        let choice = format!("{{ weight = 1, run = {} }},", quoted(file));
                        let choice = match reason {
                            Some(reason) => format!("# {choice} # {}", one_line(reason)),
                            None => choice,
                        };
                        line(toml, &format!("{prefix}    {choice}"));
                    }
                    line(toml, &format!("{prefix}  ] }},"));
                }
            }
        }
        line(toml, &format!("{prefix}]"));
    }
}

impl StepFile {
    /// The content of the file.
    #[must_use]
    pub fn written(&self) -> String {
        let mut hurl = String::new();
        for comment in &self.comments {
            line(&mut hurl, &format!("# {}", one_line(comment)));
        }
        for entry in &self.entries {
            if !hurl.is_empty() {
                hurl.push('\n');
            }
            entry.write(&mut hurl);
        }
        hurl
    }
}

impl Entry {
    /// Sets the body, which is of this type. The header field that names the type is left out where the body brings the
    /// same; where it brings another, the body becomes a text, which brings none.
    pub(crate) fn set_body(&mut self, body: Option<Body>, content_type: Option<&str>) {
        let is_type = |name: &str| name.eq_ignore_ascii_case("content-type");
        let has_type = self.headers.iter().any(|(name, _)| is_type(name));
        let kind = content_type.unwrap_or_default().trim().to_ascii_lowercase();
        self.body = match body {
            Some(Body::Form(form)) if form.iter().any(|(name, _)| name.is_empty()) => {
                if !has_type {
                    self.headers.push(("Content-Type".to_owned(), Text::literal(FORM)));
                }
                Some(Body::Text(encoded_form(&form)))
            }
            Some(Body::Form(form)) if !has_type && !kind.starts_with(FORM) => {
                Some(Body::Text(encoded_form(&form)))
            }
            Some(Body::Json(json)) if !has_type && kind != "application/json" => Some(Body::Text(json)),
            other => other,
        };
        let brings_type = match &self.body {
            Some(Body::Form(_)) => kind == FORM,
            Some(Body::Multipart(_)) => true,
            _ => false,
        };
        if brings_type {
            self.headers.retain(|(name, _)| !is_type(name));
        }
    }

    fn write(&self, hurl: &mut String) {
        if let Some(name) = self.name.as_deref().map(one_line).filter(|name| !name.is_empty()) {
            line(hurl, &format!("# @name {name}"));
        }
        if let Some(think) = self.think {
            line(hurl, &format!("# @think {}", duration(think)));
        }
        line(hurl, &format!("{} {}", self.method, self.url.written(url_text)));
        fields(hurl, &self.headers);
        if !self.query.is_empty() {
            line(hurl, "[Query]");
            fields(hurl, &self.query);
        }
        if let Some((user, password)) = &self.basic_auth {
            line(hurl, "[BasicAuth]");
            field(hurl, &user.written(key), &password.written(value));
        }
        if self.follows_redirects {
            line(hurl, "[Options]\nlocation: true");
        }
        if let Some(body) = &self.body {
            body.write(hurl);
        }
        let status = self.status.map_or_else(|| "*".to_owned(), |status| status.to_string());
        line(hurl, &format!("HTTP {status}"));
    }
}

impl Body {
    fn write(&self, hurl: &mut String) {
        match self {
            Self::Json(text) => line(hurl, &json(text)),
            Self::Text(text) => line(hurl, &format!("`{}`", one_line_string(text))),
            Self::Bytes(bytes) => line(hurl, &format!("base64,{};", STANDARD.encode(bytes))),
            Self::File(name) => line(hurl, &format!("file,{};", file_name(name.as_str()))),
            Self::Form(form) => {
                line(hurl, "[Form]");
                for (name, text) in form {
                    field(hurl, &key(name), &value(text));
                }
            }
            Self::Multipart(parts) => {
                line(hurl, "[Multipart]");
                for (name, part) in parts {
                    let text = match part {
                        // A value that begins so names a file.
                        Part::Text(text) if text.starts_with("file,") => {
                            format!("\\u{{66}}{}", value(&text[1..]))
                        }
                        Part::Text(text) => value(text),
                        Part::File { name, kind } => {
                            let kind =
                                kind.as_ref().map_or_else(String::new, |kind| format!(" {}", value(kind)));
                            format!("file,{};{kind}", file_name(name.as_str()))
                        }
                    };
                    field(hurl, &key(name), &text);
                }
            }
        }
    }

    /// The body as JSON or text, or as bytes if it is not UTF-8. `None` if there is none.
    #[must_use]
    pub fn of(bytes: &[u8], content_type: Option<&str>) -> Option<Self> {
        let Ok(text) = std::str::from_utf8(bytes) else { return Some(Self::Bytes(bytes.to_vec())) };
        if text.is_empty() {
            return None;
        }
        let content_type = content_type.unwrap_or_default().to_ascii_lowercase();
        let is_object = text.starts_with(['{', '[']) && text.ends_with(['}', ']']);
        if is_object && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() && is_plain_json(text) {
            return Some(Self::Json(text.to_owned()));
        }
        if content_type.starts_with(FORM)
            && let Some(form) = form(text)
        {
            return Some(Self::Form(form));
        }
        Some(Self::Text(text.to_owned()))
    }
}

/// The fields of an encoded form, if encoding them gives the same text again.
fn form(text: &str) -> Option<Vec<(String, String)>> {
    let pairs: Vec<(String, String)> = url::form_urlencoded::parse(text.as_bytes()).into_owned().collect();
    let decoded = |text: &str| text.replace('+', "%20").to_ascii_lowercase();
    let again = encoded_form(&pairs);
    let names = pairs.iter().all(|(name, _)| !name.is_empty());
    (names && !pairs.is_empty() && decoded(&again) == decoded(text)).then_some(pairs)
}

/// The fields of a form as one text.
fn encoded_form(form: &[(String, String)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish()
}

/// The type of a form that is encoded as in a URL.
const FORM: &str = "application/x-www-form-urlencoded";

/// Returns whether JSON is written without what a parser of Hurl reads otherwise: control characters and line ends other
/// than line feeds, halves of characters, numbers with `E`, many values in one another, and what looks like a section.
fn is_plain_json(text: &str) -> bool {
    /// The number of values that may be in one another.
    const DEPTH_MAX: usize = 100;
    let is_section = text
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
        .is_some_and(|(name, _)| !name.is_empty() && name.chars().all(char::is_alphanumeric));
    let has_halves = ["\\ud", "\\uD"].iter().any(|half| text.contains(half));
    let has_controls = text.contains(|letter: char| letter.is_control() && letter != '\n');
    if is_section || has_halves || has_controls || text.contains("\n\n") {
        return false;
    }
    let (mut depth, mut in_string, mut is_escaped) = (0usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'E' => return false,
            _ => {}
        }
        if depth > DEPTH_MAX {
            return false;
        }
    }
    true
}

/// A pause as workload files write it.
#[must_use]
pub fn duration(pause: Duration) -> String {
    let millis = pause.as_millis();
    if millis < 1000 {
        return format!("{millis}ms");
    }
    let fraction = format!("{:03}", millis % 1000);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{}{point}{fraction}s", millis / 1000)
}

/// A name for a file, made of lower-case letters, digits and dashes, that is not taken yet.
pub(crate) fn file_stem(text: &str, fallback: &str, taken: &mut HashSet<String>) -> String {
    const STEM_MAX: usize = 60;
    let mut stem = String::new();
    for letter in text.chars() {
        if stem.len() >= STEM_MAX {
            break;
        }
        match letter {
            'a'..='z' | '0'..='9' => stem.push(letter),
            'A'..='Z' => stem.push(letter.to_ascii_lowercase()),
            _ if stem.is_empty() || stem.ends_with('-') => {}
            _ => stem.push('-'),
        }
    }
    let stem = stem.trim_end_matches('-');
    let stem = if stem.is_empty() { fallback } else { stem };
    let mut unique = stem.to_owned();
    let mut number = 2;
    while !taken.insert(unique.clone()) {
        unique = format!("{stem}-{number}");
        number += 1;
    }
    unique
}

fn fields(hurl: &mut String, fields: &[(String, Text)]) {
    for (name, text) in fields {
        field(hurl, &key(name), &text.written(value));
    }
}

fn field(hurl: &mut String, name: &str, value: &str) {
    let separator = if value.is_empty() { "" } else { " " };
    // Blanks at the ends would not be part of the value.
    let (first, value) = value.strip_prefix(' ').map_or(("", value), |rest| ("\\u{20}", rest));
    let (value, last) = value.strip_suffix(' ').map_or((value, ""), |rest| (rest, "\\u{20}"));
    line(hurl, &format!("{name}:{separator}{first}{value}{last}"));
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// The text of a comment. An `@` at its start would make it an instruction.
fn one_line(text: &str) -> String {
    let line: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    line.trim_start_matches(|letter: char| letter == '@' || letter.is_whitespace()).trim_end().to_owned()
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(letter));
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// A URL, with what no URL has percent-encoded.
fn url_text(text: &str) -> String {
    let mut url = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b":/?[]@!$&'()*+,;=-._~%".contains(&byte) {
            url.push(char::from(byte));
        } else {
            let _ = write!(url, "%{byte:02X}");
        }
    }
    url
}

fn escaped(out: &mut String, letter: char) {
    let _ = write!(out, "\\u{{{:x}}}", u32::from(letter));
}

/// The name of a field.
fn key(text: &str) -> String {
    let mut key = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' | '.' => key.push(letter),
            ']' | '@' | '$' if !key.is_empty() => key.push(letter),
            // At the start of a line it would begin a section.
            '[' if !key.is_empty() => key.push(letter),
            letter => escaped(&mut key, letter),
        }
    }
    key
}

/// The value of a field.
fn value(text: &str) -> String {
    escaped_text(text, |letter| letter == '#')
}

/// The content of a string in backticks.
fn one_line_string(text: &str) -> String {
    escaped_text(text, |letter| matches!(letter, '#' | '`'))
}

/// The text with backslashes, control characters and what would be a template escaped, and these letters as well.
fn escaped_text(text: &str, is_special: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_brace = letter == '{' && (before == Some('{') || letters.peek() == Some(&'{'));
        // A variable may come behind.
        let is_brace = is_brace || letter == '{' && letters.peek().is_none();
        match letter {
            '\\' => out.push_str("\\\\"),
            letter if letter.is_control() || is_brace => escaped(&mut out, letter),
            letter if is_special(letter) => out.extend(['\\', letter]),
            letter => out.push(letter),
        }
        before = Some(letter);
    }
    out
}

/// JSON without templates: braces that stand together are in strings, where they can be escaped.
fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("{{") {
        let (before, behind) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(before);
        let next = behind.trim_start_matches('{');
        for _ in 0..behind.len() - next.len() {
            out.push_str("\\u007b");
        }
        rest = next;
    }
    out.push_str(rest);
    out
}

/// The name of a file.
fn file_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            ' ' | '#' | ';' | '{' | '}' | '\\' => out.extend(['\\', letter]),
            letter if letter.is_control() => escaped(&mut out, letter),
            '[' if out.is_empty() => escaped(&mut out, letter),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
pub(crate) mod reread;
#[cfg(test)]
mod tests;
