//! Commands of curl, as browsers copy them and people keep them in files.
//!
//! [`command`] reads one command, for `httperf like` as well; here a file of them becomes a workload.

mod command;
mod form;
mod glob;
mod options;
#[cfg(test)]
mod tests;

use std::io::Read;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::error::{Error, Flaw};
use crate::headers::{is_method, is_of_the_connection};
use crate::report::{Report, shortened};
use crate::shell::{self, Line, Stdin};
use crate::text::read_text;
use crate::workload::{
    Body, Entry, FileName, OTHER_SCHEME, Part, REQUESTS_MAX, Scenario, Step, StepFile, TOO_MANY, Text,
    Workload,
};

pub use self::command::{
    CONTENT_MAX, Command, Content, Credentials, Reader, Request, Settings, Source, Version, command,
};
pub use self::form::{Field, Value, encode};
pub use self::options::option_names;

/// Reads a file of commands into a workload whose one file of steps has this name, without its ending. `files` reads the
/// file at a path of a command, or returns `None` if it is not there or must not be read: a command may be a stranger's.
///
/// # Errors
/// If it cannot be read, or has no command of curl that can be understood.
pub fn read(
    reader: impl Read,
    name: &str,
    files: &mut dyn FnMut(&str) -> Option<Vec<u8>>,
) -> Result<(Workload, Report), Error> {
    let text = read_text(reader)?;
    let mut report = Report::default();
    let mut requests = Vec::new();
    let mut first_flaw = None;
    let mut before: Option<&Line> = None;
    let lines = shell::split(&text)?;
    for line in &lines {
        let piped = before.filter(|_| line.is_piped).and_then(output);
        let feeds = before.replace(line);
        let Some(words) = words_of_curl(line) else {
            if line.is_piped && feeds.is_some_and(|line| words_of_curl(line).is_some()) {
                report.note("commands behind a pipe are left out: replies go nowhere");
                continue;
            }
            let flaw = Flaw::at(line.number, format!("expected a command of curl, got `{}`", shown(line)));
            leave_out(&mut report, &mut first_flaw, "commands other than curl", flaw);
            continue;
        };
        if line.is_redirected {
            report.note("redirections are left out: replies go nowhere");
        }
        match of_line(line, words, piped.as_ref(), files) {
            Ok(command) => {
                if command.beyond > 0 {
                    let example = || format!("line {}: {}", line.number, shown(line));
                    report.leave_out_many(TOO_MANY, command.beyond, example);
                }
                command.notes.into_iter().for_each(|note| report.note(note));
                requests.extend(command.requests);
            }
            Err(flaw) => {
                leave_out(&mut report, &mut first_flaw, "commands that cannot be carried over", flaw);
            }
        }
    }
    if requests.is_empty() {
        let none = || Flaw::whole("expected commands of curl, got none");
        return Err(first_flaw.unwrap_or_else(none).into());
    }
    Ok((workload(requests, name, files, &mut report), report))
}

/// The number of commands among which the most frequent server is looked for.
const ORIGINS_MAX: usize = 1000;

/// The length of a body up to which it is in the file of steps, and not in one of its own.
const INLINE_MAX: usize = 1024 * 1024;

fn leave_out(report: &mut Report, first: &mut Option<Flaw>, reason: &str, flaw: Flaw) {
    report.leave_out(reason, || format!("line {flaw}"));
    first.get_or_insert(flaw);
}

/// The start of a command, for messages.
fn shown(line: &Line) -> String {
    let first = line.words.first().map(|word| String::from_utf8_lossy(word)).unwrap_or_default();
    shortened(&first, 40)
}

/// The words behind `curl`, if the command is one of it. What people type before a command is passed over.
fn words_of_curl(line: &Line) -> Option<&[Vec<u8>]> {
    const BEFORE: [&[u8]; 9] = [b"$", b"%", b"sudo", b"time", b"exec", b"command", b"env", b"{", b"!"];
    let is_assignment = |word: &[u8]| {
        let name = word.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        name > 0 && word.get(name) == Some(&b'=')
    };
    let is_before = |word: &Vec<u8>| BEFORE.contains(&&word[..]) || is_assignment(word);
    let at = line.words.iter().position(|word| !is_before(word))?;
    let (program, words) = line.words.get(at..)?.split_first()?;
    let base_name = program.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    matches!(base_name, b"curl" | b"curl.exe").then_some(words)
}

/// The output of a command that is the same each time: `echo` and `cat` of a file.
fn output(line: &Line) -> Option<Stdin> {
    let words: Vec<&[u8]> = line.words.iter().map(|word| &word[..]).collect();
    match words[..] {
        _ if line.flaw.is_some() => None,
        [b"echo", b"-n", ref words @ ..] => Some(Stdin::Text(words.join(&b' '))),
        [b"echo", ref words @ ..] => Some(Stdin::Text([&words.join(&b' ')[..], b"\n"].concat())),
        [b"cat"] => line.stdin.clone(),
        [b"cat", path] => Some(Stdin::File(String::from_utf8_lossy(path).into_owned())),
        _ => None,
    }
}

/// Reads one command.
fn of_line(
    line: &Line,
    words: &[Vec<u8>],
    piped: Option<&Stdin>,
    files: &mut dyn FnMut(&str) -> Option<Vec<u8>>,
) -> Result<Command, Flaw> {
    if let Some(flaw) = &line.flaw {
        return Err(flaw.clone());
    }
    let stdin = line.stdin.as_ref().or(piped);
    let mut read = |source: Source<'_>| match (source, stdin) {
        (Source::File(path), _) => files(path),
        (Source::Stdin, Some(Stdin::Text(text))) => Some(text.clone()),
        (Source::Stdin, Some(Stdin::File(path))) => files(path),
        (Source::Stdin, None) => None,
    };
    let command =
        command(words, REQUESTS_MAX, &mut read).map_err(|sentence| Flaw::at(line.number, sentence))?;
    for Request { method, .. } in &command.requests {
        if !is_method(method) || !method.bytes().all(|byte| byte.is_ascii_uppercase()) || method == "HTTP" {
            let sentence = format!("-X: expected a method in capital letters, got `{method}`");
            return Err(Flaw::at(line.number, sentence));
        }
    }
    Ok(command)
}

fn workload(
    mut requests: Vec<Request>,
    name: &str,
    files: &mut dyn FnMut(&str) -> Option<Vec<u8>>,
    report: &mut Report,
) -> Workload {
    // The server of most commands; of several, that of the first.
    let origins: Vec<&String> = requests.iter().take(ORIGINS_MAX).map(|request| &request.origin).collect();
    let count = |origin: &String| origins.iter().filter(|other| **other == origin).count();
    let most = origins.iter().map(|origin| count(origin)).max().unwrap_or(0);
    let base = origins
        .iter()
        .find(|origin| count(origin) == most)
        .map_or_else(String::new, |origin| (*origin).clone());
    let scheme = base.split(':').next().unwrap_or_default();
    let mut count = 0;
    requests.retain(|request| {
        let reason = if request.origin.split(':').next() != Some(scheme) {
            OTHER_SCHEME
        } else if count == REQUESTS_MAX {
            TOO_MANY
        } else {
            count += 1;
            return true;
        };
        report.leave_out(reason, || format!("{}{}", request.origin, request.target));
        false
    });
    report.carried = u64::try_from(count).unwrap_or(u64::MAX);
    let file = format!("{name}.hurl");
    let mut importer = Importer {
        workload: Workload {
            comments: vec![
                "Made by httperf import curl: each visit makes the requests in this order.".to_owned(),
            ],
            base: Some(base.clone()),
            scenarios: vec![Scenario {
                name: name.to_owned(),
                steps: vec![Step::Run(file.clone())],
                disabled: None,
            }],
            ..Workload::default()
        },
        base,
        files,
        report,
    };
    let timeout = requests.iter().filter_map(|request| request.settings.timeout).reduce(f64::max);
    let entries = requests.into_iter().map(|request| importer.entry(request)).collect();
    let Importer { mut workload, .. } = importer;
    workload.files.push(StepFile { name: file, comments: Vec::new(), entries });
    if let Some(seconds) = timeout {
        workload.options.push(("timeout".to_owned(), seconds.to_string()));
    }
    workload
}

struct Importer<'a> {
    workload: Workload,
    base: String,
    files: &'a mut dyn FnMut(&str) -> Option<Vec<u8>>,
    report: &'a mut Report,
}

impl Importer<'_> {
    fn entry(&mut self, request: Request) -> Entry {
        self.note_settings(&request.settings);
        let url = match request.origin == self.base {
            true => Text::variable("base").then(request.target),
            false => Text::literal(request.origin + &request.target),
        };
        let mut entry = Entry {
            method: request.method,
            url,
            follows_redirects: request.settings.follows_redirects,
            ..Entry::default()
        };
        for (name, value) in request.headers {
            if is_of_the_connection(&name) && !name.eq_ignore_ascii_case("host") {
                self.report.note(format!(
                    "the header field {name} is left out, as it follows from the connection or the body"
                ));
                continue;
            }
            entry.headers.push((name, Text::literal(value)));
        }
        for name in request.removed {
            if ["accept", "user-agent", "host"].contains(&&name.to_ascii_lowercase()[..]) {
                self.report.note(format!("-H '{name}:': the field cannot be left out"));
            }
        }
        match request.credentials {
            // The steps know no user without a name.
            Some(Credentials::Basic(user, password)) if user.is_empty() => {
                let pair = STANDARD.encode(format!(":{password}"));
                entry.headers.push(("Authorization".to_owned(), Text::literal(format!("Basic {pair}"))));
            }
            Some(Credentials::Basic(user, password)) => {
                entry.basic_auth = Some((Text::literal(user), Text::literal(password)));
            }
            Some(Credentials::Bearer(token)) => {
                entry.headers.push(("Authorization".to_owned(), Text::literal(format!("Bearer {token}"))));
            }
            None => {}
        }
        let kind = entry.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        let kind = kind.and_then(|(_, text)| text.as_literal()).map(str::to_owned);
        let body = request.content.and_then(|content| self.body(content, kind.as_deref(), &mut entry));
        entry.set_body(body, kind.as_deref());
        entry
    }

    fn note_settings(&mut self, settings: &Settings) {
        if let Some(version) = settings.version {
            let (option, ours) = match version {
                Version::Http10 => ("--http1.0", "1.0"),
                Version::Http11 => ("--http1.1", "1.1"),
                Version::Http2 => ("--http2", "2"),
                Version::Http2PriorKnowledge => ("--http2-prior-knowledge", "2"),
                Version::Http3 => ("--http3", "3"),
            };
            self.report
                .note(format!("{option}: the version is that of the whole run: --http-version {ours}"));
        }
        for (option, ours, value) in &settings.run {
            let value = value.as_ref().map_or_else(String::new, |value| format!(" {value}"));
            self.report.note(format!("{option}: the whole run has it or not: {ours}{value}"));
        }
        if settings.insecure {
            self.report.note("-k: certificates are not checked unless --ssl-verify asks for it");
        }
    }

    fn body(&mut self, content: Content, kind: Option<&str>, entry: &mut Entry) -> Option<Body> {
        match content {
            Content::Bytes(bytes) if bytes.len() > INLINE_MAX => {
                let name = FileName::last_of("body.bin")?;
                Some(Body::File(self.workload.attach(&name, bytes)))
            }
            Content::Bytes(bytes) => Body::of(&bytes, kind),
            Content::File(path) => self.file(&path).map(|(name, _)| Body::File(name)),
            Content::Form(fields) => {
                // The steps know no types and names of files of their own, except for the types of files.
                let is_plain = |field: &Field| match &field.value {
                    Value::Bytes(bytes) => {
                        field.kind.is_none()
                            && field.file_name.is_none()
                            && std::str::from_utf8(bytes).is_ok()
                    }
                    Value::File(path) => {
                        field.file_name.as_ref().is_none_or(|name| Some(&name[..]) == path.rsplit('/').next())
                    }
                    Value::Contents(_) => false,
                };
                if !fields.iter().all(is_plain)
                    && let Some((boundary, bytes)) = self.whole(&fields).and_then(|fields| encode(&fields))
                {
                    let kind = Text::literal(format!("multipart/form-data; boundary={boundary}"));
                    entry.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
                    entry.headers.push(("Content-Type".to_owned(), kind));
                    return match bytes.len() > INLINE_MAX {
                        true => {
                            Some(Body::File(self.workload.attach(&FileName::last_of("form.bin")?, bytes)))
                        }
                        false => {
                            Some(std::str::from_utf8(&bytes).map_or_else(
                                |_| Body::Bytes(bytes.clone()),
                                |text| Body::Text(text.to_owned()),
                            ))
                        }
                    };
                }
                let parts = fields.into_iter().filter_map(|field| {
                    let part = match field.value {
                        Value::Bytes(bytes) => Part::Text(String::from_utf8_lossy(&bytes).into_owned()),
                        Value::File(path) | Value::Contents(path) => {
                            let (name, _) = self.file(&path)?;
                            Part::File { kind: field.kind.or_else(|| kind_of(&path)), name }
                        }
                    };
                    Some((field.name, part))
                });
                Some(Body::Multipart(parts.collect()))
            }
        }
    }

    /// The fields with the contents of their files; `None` if one cannot be read.
    fn whole(&mut self, fields: &[Field]) -> Option<Vec<Field>> {
        let whole = fields.iter().map(|field| match &field.value {
            Value::Bytes(_) => Some(field.clone()),
            Value::File(path) | Value::Contents(path) => {
                let content = (self.files)(path)?;
                let name = path.rsplit('/').next().unwrap_or_default().to_owned();
                let kind = field
                    .kind
                    .clone()
                    .or_else(|| kind_of(path))
                    .or_else(|| Some(usual_kind(path).to_owned()));
                Some(Field {
                    value: Value::Bytes(content),
                    kind,
                    file_name: field.file_name.clone().or(Some(name)),
                    ..field.clone()
                })
            }
        });
        whole.collect()
    }

    /// The name that a file has beside the workload, and whether it is there.
    fn file(&mut self, path: &str) -> Option<(FileName, bool)> {
        let name = FileName::last_of(path)?;
        match (self.files)(path) {
            Some(content) => Some((self.workload.attach(&name, content), true)),
            None => {
                self.report.note(format!(
                    "{} is no file below the current folder, or is too long: put it beside the workload",
                    shortened(path, 60)
                ));
                self.workload.miss(&name);
                Some((name, false))
            }
        }
    }
}

/// The type that curl gives a file, if the steps would give it another.
fn kind_of(path: &str) -> Option<String> {
    path.to_ascii_lowercase().ends_with(".json").then(|| "application/octet-stream".to_owned())
}

/// The type that curl gives a file, by its name.
#[must_use]
pub fn usual_kind(path: &str) -> &'static str {
    let ending = path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default();
    match &ending[..] {
        "gif" => "image/gif",
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "txt" => "text/plain",
        "htm" | "html" => "text/html",
        "pdf" => "application/pdf",
        "xml" => "application/xml",
        _ => "application/octet-stream",
    }
}
