//! One command of curl as the requests that it makes.
//!
//! [`super::options`] has the table of options, which fill a [`State`]; here they are put together by curl's rules. Both
//! `httperf import curl` and `httperf like curl` take what comes of it.

use std::borrow::Cow;

use url::Url;

use super::form::{Field, Value};
use super::glob;
use super::options::OPTIONS;
use crate::headers::{is_name, is_value};
use crate::report::shortened;
use crate::words::{Syntax, read};

/// The requests of a command, and what to know about them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Command {
    /// The requests, at most as many as were asked for.
    pub requests: Vec<Request>,
    /// The number of further ones.
    pub beyond: u64,
    /// Sentences about what cannot be the same.
    pub notes: Vec<String>,
    /// Sentences about options that concern curl's output, with what shows it here.
    pub instead: Vec<String>,
}

/// A request of a command.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The scheme, and the host with its port: `https://shop.example`.
    pub origin: String,
    /// The target, as the request line has it.
    pub target: String,
    /// The method.
    pub method: String,
    /// The header fields, without those that follow from the rest.
    pub headers: Vec<(String, String)>,
    /// The fields that curl sends by itself and that are left out.
    pub removed: Vec<String>,
    /// The credentials.
    pub credentials: Option<Credentials>,
    /// The body.
    pub content: Option<Content>,
    /// Settings of the connection and the way of the request.
    pub settings: Settings,
}

/// The credentials of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credentials {
    /// User and password.
    Basic(String, String),
    /// A token.
    Bearer(String),
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Bytes.
    Bytes(Vec<u8>),
    /// The file at this path, as it is.
    File(String),
    /// A form in parts. None of its fields is [`Value::Contents`].
    Form(Vec<Field>),
}

/// Settings of the connection and the way of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// The version of HTTP, if one is given.
    pub version: Option<Version>,
    /// The time limit in seconds.
    pub timeout: Option<f64>,
    /// True if the server's certificate is not checked.
    pub insecure: bool,
    /// True if redirects are followed.
    pub follows_redirects: bool,
    /// True if the body is asked for in a coding and decoded.
    pub compressed: bool,
    /// Options of httperf that do the same for a whole run: curl's name, ours, and the value.
    pub run: Vec<(&'static str, &'static str, Option<String>)>,
}

/// A version of HTTP as curl's options name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1.
    Http11,
    /// HTTP/2 if the server agrees.
    Http2,
    /// HTTP/2 at once.
    Http2PriorKnowledge,
    /// HTTP/3.
    Http3,
}

/// Something that a command reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// The file at this path.
    File(&'a str),
    /// Standard input.
    Stdin,
}

/// The length of a file that is read into a request. Longer ones are sent from where they are.
pub const CONTENT_MAX: u64 = 64 * 1024 * 1024;

/// Reads something; `None` if it is not there, cannot be read or is longer than [`CONTENT_MAX`].
pub type Reader<'a> = dyn FnMut(Source<'_>) -> Option<Vec<u8>> + 'a;

/// The request as the options describe it, one part of a command between two `--next`.
#[derive(Default)]
pub(super) struct State {
    pub(super) urls: Vec<String>,
    pub(super) method: Option<String>,
    pub(super) headers: Vec<Header>,
    pub(super) agent: Option<String>,
    pub(super) referer: Option<String>,
    pub(super) range: Option<String>,
    pub(super) condition: Option<(&'static str, String)>,
    pub(super) cookies: Vec<String>,
    pub(super) user: Option<(String, String)>,
    pub(super) bearer: Option<String>,
    pub(super) data: Vec<Data>,
    pub(super) json: bool,
    pub(super) form: Vec<Field>,
    pub(super) query: Vec<Encoded>,
    pub(super) uploads: Vec<String>,
    pub(super) in_query: bool,
    pub(super) head: bool,
    pub(super) path_as_is: bool,
    pub(super) is_literal: bool,
    pub(super) target: Option<String>,
    pub(super) default_scheme: Option<String>,
    pub(super) settings: Settings,
    pub(super) notes: Vec<String>,
}

/// A header field as `-H` has it.
pub(super) enum Header {
    Field(String, String),
    /// `Name:`, which leaves out a field of curl's own.
    Removed(String),
    /// `@FILE`.
    File(String),
}

/// A piece of a body.
pub(super) struct Data {
    pub(super) piece: Piece,
    /// True if a `&` stands before it, unless it is the first.
    pub(super) is_separate: bool,
}

pub(super) enum Piece {
    Bytes(Vec<u8>),
    /// `@FILE`.
    File {
        path: String,
        /// True if line ends and zero bytes are left out.
        strips: bool,
    },
    Encoded(Encoded),
}

/// A text that is percent-encoded, behind this start.
pub(super) enum Encoded {
    Text(String),
    File(String, String),
}

/// Reads the words behind `curl`: at most so many requests.
///
/// # Errors
/// A sentence about a word that cannot be understood.
pub fn command<W: AsRef<[u8]>>(words: &[W], most: usize, reader: &mut Reader<'_>) -> Result<Command, String> {
    let mut command = Command::default();
    let is_next = |word: &W| matches!(word.as_ref(), b"--next" | b"-:");
    for words in words.split(is_next) {
        let mut state = State::default();
        let read = read(OPTIONS, Syntax::Curl, words, &mut state)?;
        state.urls.extend(read.words);
        let left = most.saturating_sub(command.requests.len());
        let (requests, beyond) = state.requests(left, reader)?;
        command.requests.extend(requests);
        command.beyond = command.beyond.saturating_add(beyond);
        for note in read.lost.into_iter().chain(state.notes) {
            if !command.notes.contains(&note) {
                command.notes.push(note);
            }
        }
        command.instead.extend(read.instead);
    }
    Ok(command)
}

impl State {
    /// The requests, at most so many, and the number of further ones.
    fn requests(&mut self, most: usize, reader: &mut Reader<'_>) -> Result<(Vec<Request>, u64), String> {
        if self.urls.is_empty() {
            return Err("expected a URL, got none".to_owned());
        }
        self.read_headers(reader)?;
        let query = self.queries(reader)?;
        let content = self.content(reader)?;
        let uploads = std::mem::take(&mut self.uploads);
        let mut requests = Vec::new();
        let mut beyond = 0u64;
        for (number, url) in std::mem::take(&mut self.urls).iter().enumerate() {
            let upload = uploads.get(number);
            let expanded = if self.is_literal { None } else { glob::expand(url, most - requests.len()) };
            if expanded.is_none() && !self.is_literal {
                let url = shortened(url, 60);
                self.notes.push(format!("`{url}` is no pattern that curl takes: it is taken as with -g"));
            }
            let urls = match expanded {
                Some(expanded) => {
                    beyond = beyond.saturating_add(expanded.beyond);
                    expanded.urls
                }
                None if requests.len() < most => vec![url.clone()],
                None => {
                    beyond = beyond.saturating_add(1);
                    continue;
                }
            };
            for url in urls {
                requests.push(self.request(&url, &query, content.as_ref(), upload, reader)?);
            }
        }
        Ok((requests, beyond))
    }

    fn request(
        &self,
        url: &str,
        query: &[String],
        content: Option<&Content>,
        upload: Option<&String>,
        reader: &mut Reader<'_>,
    ) -> Result<Request, String> {
        let address = Address::parse(url, self.default_scheme.as_deref(), self.path_as_is)?;
        let mut target = address.target;
        let content = match (content, upload) {
            (_, Some(path)) if matches!(&path[..], "-" | ".") => {
                let bytes = reader(Source::Stdin);
                Some(Content::Bytes(bytes.ok_or_else(|| {
                    format!("-T: expected FILE, as standard input is not read, got `{path}`")
                })?))
            }
            (_, Some(path)) => {
                name_upload(&mut target, path);
                Some(Content::File(path.clone()))
            }
            (content, None) => content.cloned(),
        };
        for addition in query.iter().filter(|addition| !addition.is_empty()) {
            target.push(if target.contains('?') { '&' } else { '?' });
            target.push_str(addition);
        }
        if let Some(given) = &self.target {
            target.clone_from(given);
        }
        let usual = match &content {
            _ if self.head => "HEAD",
            _ if upload.is_some() => "PUT",
            Some(_) => "POST",
            None => "GET",
        };
        let is_sent = content.is_some() && upload.is_none();
        Ok(Request {
            origin: address.origin,
            target: quoted(&target),
            method: self.method.clone().unwrap_or_else(|| usual.to_owned()),
            headers: self.fields(is_sent, content.as_ref()),
            removed: self.removed(),
            credentials: self.credentials(address.user),
            content,
            settings: self.settings.clone(),
        })
    }

    /// Reads the files of header fields.
    fn read_headers(&mut self, reader: &mut Reader<'_>) -> Result<(), String> {
        let mut headers = Vec::with_capacity(self.headers.len());
        for header in std::mem::take(&mut self.headers) {
            let Header::File(path) = header else {
                headers.push(header);
                continue;
            };
            let source = if path == "-" { Source::Stdin } else { Source::File(&path) };
            let bytes = reader(source)
                .ok_or_else(|| format!("-H: expected a file that can be read, got `@{path}`"))?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            headers.extend(text.lines().map(str::trim_end).filter_map(Header::parse));
        }
        self.headers = headers;
        Ok(())
    }

    /// The texts that are added to the query.
    fn queries(&mut self, reader: &mut Reader<'_>) -> Result<Vec<String>, String> {
        let data = if self.in_query { std::mem::take(&mut self.data) } else { Vec::new() };
        if !data.is_empty() {
            let bytes = joined(data, reader)?;
            // With data, curl leaves out what --url-query adds.
            return Ok(vec![String::from_utf8_lossy(&bytes).into_owned()]);
        }
        let query = std::mem::take(&mut self.query);
        query.into_iter().map(|encoded| encoded.text(reader, "--url-query")).collect()
    }

    fn content(&mut self, reader: &mut Reader<'_>) -> Result<Option<Content>, String> {
        let data = std::mem::take(&mut self.data);
        let kinds = [
            (!data.is_empty(), "-d"),
            (!self.form.is_empty(), "-F"),
            (!self.uploads.is_empty(), "-T"),
            (self.head, "-I"),
        ];
        let given: Vec<&str> =
            kinds.iter().filter(|(is_given, _)| *is_given).map(|(_, name)| *name).collect();
        if let [first, second, ..] = given[..] {
            return Err(format!("{second}: expected no {first} as well, which makes another request"));
        }
        if !self.form.is_empty() {
            let mut fields = std::mem::take(&mut self.form);
            for field in &mut fields {
                if let Value::Contents(path) = &field.value {
                    let bytes = reader(Source::File(path));
                    let bytes = bytes
                        .ok_or_else(|| format!("-F: expected a file that can be read, got `<{path}`"))?;
                    field.value = Value::Bytes(bytes);
                }
            }
            return Ok(Some(Content::Form(fields)));
        }
        if let [Data { piece: Piece::File { path, strips }, .. }] = &data[..]
            && path != "-"
        {
            let is_line_end = |byte: &u8| matches!(byte, b'\r' | b'\n' | 0);
            let stripped = if *strips { reader(Source::File(path)) } else { None };
            return Ok(Some(match stripped {
                Some(mut bytes) if bytes.iter().any(is_line_end) => {
                    bytes.retain(|byte| !is_line_end(byte));
                    Content::Bytes(bytes)
                }
                _ => Content::File(path.clone()),
            }));
        }
        // Also data that are empty are posted.
        Ok(if data.is_empty() { None } else { Some(Content::Bytes(joined(data, reader)?)) })
    }

    /// Returns whether `-H` names a field, to send or to leave out.
    fn is_given(&self, name: &str) -> bool {
        self.headers.iter().any(|header| match header {
            Header::Field(known, _) | Header::Removed(known) => known.eq_ignore_ascii_case(name),
            Header::File(_) => false,
        })
    }

    /// The header fields: those of `-H`, and those of other options and of the body unless they are given.
    fn fields(&self, is_sent: bool, content: Option<&Content>) -> Vec<(String, String)> {
        let mut fields: Vec<(String, String)> = Vec::new();
        for header in &self.headers {
            let Header::Field(name, value) = header else { continue };
            // Of several, curl sends the first.
            let is_host = name.eq_ignore_ascii_case("host");
            if !(is_host && fields.iter().any(|(known, _)| known.eq_ignore_ascii_case("host"))) {
                fields.push((name.clone(), value.clone()));
            }
        }
        let cookies = Some(self.cookies.join(";")).filter(|cookies| !cookies.is_empty());
        let coding = self.settings.compressed.then(|| "deflate, gzip, br, zstd".to_owned());
        let is_body = is_sent && !matches!(content, Some(Content::Form(_)));
        let kind = match (self.json, is_body) {
            (true, _) => Some("application/json"),
            (false, true) => Some("application/x-www-form-urlencoded"),
            (false, false) => None,
        };
        let own = [
            ("User-Agent", self.agent.clone().filter(|agent| !agent.is_empty())),
            ("Referer", self.referer.clone().filter(|referer| !referer.is_empty())),
            ("Range", self.range.as_ref().map(|range| format!("bytes={range}"))),
            ("Cookie", cookies),
            ("Accept-Encoding", coding),
            ("Accept", self.json.then(|| "application/json".to_owned())),
            ("Content-Type", kind.map(str::to_owned)),
        ];
        let condition = self.condition.as_ref().map(|(name, date)| (*name, Some(date.clone())));
        for (name, value) in own.into_iter().chain(condition) {
            if let Some(value) = value.filter(|_| !self.is_given(name)) {
                fields.push((name.to_owned(), value));
            }
        }
        fields
    }

    /// The fields of curl's own that are left out.
    fn removed(&self) -> Vec<String> {
        let sent = |name: &str| {
            self.headers
                .iter()
                .any(|header| matches!(header, Header::Field(known, _) if known.eq_ignore_ascii_case(name)))
        };
        let mut removed: Vec<String> = self
            .headers
            .iter()
            .filter_map(|header| match header {
                Header::Removed(name) if !sent(name) => Some(name.clone()),
                _ => None,
            })
            .collect();
        if self.agent.as_ref().is_some_and(String::is_empty) && !self.is_given("User-Agent") {
            removed.push("User-Agent".to_owned());
        }
        removed
    }

    fn credentials(&self, of_url: Option<(String, String)>) -> Option<Credentials> {
        if self.is_given("Authorization") {
            return None;
        }
        if let Some(token) = &self.bearer {
            return Some(Credentials::Bearer(token.clone()));
        }
        let user = self.user.clone().or(of_url);
        user.map(|(user, password)| Credentials::Basic(user, password))
    }
}

impl Header {
    /// Reads the value of `-H`; `None` if curl sends nothing for it.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if let Some(name) = text.strip_suffix(';').filter(|name| is_name(name)) {
            return Some(Self::Field(name.to_owned(), String::new()));
        }
        let (name, value) = text.split_once(':')?;
        let (name, value) = (name.trim(), value.trim());
        if !is_name(name) || !is_value(value) {
            return None;
        }
        Some(match value {
            "" => Self::Removed(name.to_owned()),
            value => Self::Field(name.to_owned(), value.to_owned()),
        })
    }
}

impl Encoded {
    /// Reads the value of `--data-urlencode`: `TEXT`, `=TEXT`, `NAME=TEXT`, `@FILE` or `NAME@FILE`.
    pub(super) fn parse(text: &[u8]) -> Self {
        let split = |at: usize| {
            let start = String::from_utf8_lossy(text.get(..at).unwrap_or_default());
            let start = if start.is_empty() { String::new() } else { format!("{start}=") };
            (start, text.get(at + 1..).unwrap_or_default())
        };
        match text.iter().position(|byte| matches!(byte, b'=' | b'@')) {
            Some(at) if text.get(at) == Some(&b'@') => {
                let (start, path) = split(at);
                Self::File(start, String::from_utf8_lossy(path).into_owned())
            }
            Some(at) => {
                let (start, value) = split(at);
                Self::Text(start + &percent_encoded(value))
            }
            None => Self::Text(percent_encoded(text)),
        }
    }

    fn text(self, reader: &mut Reader<'_>, option: &str) -> Result<String, String> {
        match self {
            Self::Text(text) => Ok(text),
            Self::File(start, path) => {
                let source = if path == "-" { Source::Stdin } else { Source::File(&path) };
                let bytes = reader(source)
                    .ok_or_else(|| format!("{option}: expected a file that can be read, got `@{path}`"))?;
                Ok(start + &percent_encoded(&bytes))
            }
        }
    }
}

/// Encodes all but letters, digits and `-._~`; blanks become `+`.
fn percent_encoded(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b' ' => text.push('+'),
            byte if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => text.push(char::from(byte)),
            byte => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

/// Joins the pieces of a body.
fn joined(data: Vec<Data>, reader: &mut Reader<'_>) -> Result<Vec<u8>, String> {
    let mut whole = Vec::new();
    for (number, Data { piece, is_separate }) in data.into_iter().enumerate() {
        if number > 0 && is_separate {
            whole.push(b'&');
        }
        match piece {
            Piece::Bytes(bytes) => whole.extend_from_slice(&bytes),
            Piece::Encoded(encoded) => {
                whole.extend_from_slice(encoded.text(reader, "--data-urlencode")?.as_bytes());
            }
            Piece::File { path, strips } => {
                let source = if path == "-" { Source::Stdin } else { Source::File(&path) };
                let bytes = reader(source).ok_or_else(|| match source {
                    Source::Stdin => {
                        "-d: expected text or @FILE, as standard input is not read, got `@-`".to_owned()
                    }
                    Source::File(path) => format!("-d: expected a file that can be read, got `@{path}`"),
                })?;
                whole.extend(bytes.into_iter().filter(|byte| !strips || !matches!(byte, b'\r' | b'\n' | 0)));
            }
        }
    }
    Ok(whole)
}

/// A URL of a command, taken apart.
struct Address {
    origin: String,
    target: String,
    user: Option<(String, String)>,
}

impl Address {
    fn parse(text: &str, default_scheme: Option<&str>, path_as_is: bool) -> Result<Self, String> {
        let refused = || format!("expected a URL of http or https, got `{}`", shortened(text, 60));
        let with_scheme = match text.contains("://") {
            true => Cow::Borrowed(text),
            false => Cow::Owned(format!("{}://{text}", default_scheme.unwrap_or("http"))),
        };
        let (scheme, rest) = with_scheme.split_once("://").ok_or_else(refused)?;
        let scheme = scheme.to_ascii_lowercase();
        if !matches!(&scheme[..], "http" | "https") {
            return Err(refused());
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at_checked(end).ok_or_else(refused)?;
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        let server =
            Url::parse(&format!("{scheme}://{host}/")).ok().filter(Url::has_host).ok_or_else(refused)?;
        if !server.username().is_empty() || server.path() != "/" {
            return Err(refused());
        }
        let target = target.split_once('#').map_or(target, |(target, _)| target);
        let (path, query) = match target.find('?') {
            Some(at) => target.split_at_checked(at).unwrap_or((target, "")),
            None => (target, ""),
        };
        let path = if path.is_empty() { "/" } else { path };
        let path = if path_as_is { path.to_owned() } else { without_dots(path) };
        Ok(Self {
            origin: server.origin().ascii_serialization(),
            target: path + query,
            user: user.map(|user| {
                let (user, password) = user.split_once(':').unwrap_or((user, ""));
                (percent_decoded(user), percent_decoded(password))
            }),
        })
    }
}

/// A path without the segments `.` and `..`.
///
/// <https://www.rfc-editor.org/rfc/rfc3986#section-5.2.4>
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            segment => kept.push(segment),
        }
    }
    format!("/{}", kept.join("/"))
}

/// Adds the name of a file to a target whose path ends without one.
fn name_upload(target: &mut String, path: &str) {
    let name = path.rsplit('/').next().unwrap_or_default();
    let at = target.find('?').unwrap_or(target.len());
    if target.get(..at).is_some_and(|path| path.ends_with('/')) {
        target.insert_str(at, &percent_encoded(name.as_bytes()).replace('+', "%20"));
    }
}

/// A target with blanks, control characters and what is not ASCII percent-encoded.
fn quoted(target: &str) -> String {
    let mut quoted = String::with_capacity(target.len());
    for byte in target.bytes() {
        if byte.is_ascii_graphic() {
            quoted.push(char::from(byte));
        } else {
            quoted.push_str(&format!("%{byte:02x}"));
        }
    }
    quoted
}

fn percent_decoded(text: &str) -> String {
    // Only what is percent-encoded is decoded: a plus sign is one.
    crate::har::unquoted(&text.replace('+', "%2B"))
}
