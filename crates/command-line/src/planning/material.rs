//! From what was typed about requests to what is sent: reads the files of bodies and of whole requests.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use httperf_plan::prompts::{Asking, Endpoint, PROMPTS_SIZE_MAX, Problems, Prompts};
use httperf_plan::scenario::{Feed, StepBodyPart};
use httperf_plan::targets_file::{self, ListedBody, ListedTarget};
use httperf_plan::template::BadRange;
use httperf_plan::workload_file::read_rows;
use httperf_plan::{
    Body, BodyFile, BodyPart, Header, ListedRequest, NonEmpty, Plan, Sha256, Target, Template, UriSource,
    Workload,
};
use sha2::Digest as _;
use thiserror::Error;
use url::form_urlencoded;

use super::sources::Route;
use super::tls_name;
use crate::args::{Args, FormField, FormValue};

/// Errors in the material of requests.
#[derive(Debug, Error)]
pub enum MaterialError {
    /// A file that cannot be read.
    #[error("{option}: cannot read `{path}`: {error}", path = .path.display())]
    Unreadable {
        /// The option that names it.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// A URI with a `{rand:` that no range follows.
    #[error("--uri: expected {0}, got `{found}`", found = .0.found)]
    Uri(BadRange),
    /// Lines of `--add-header` that let nothing follow.
    #[error(
        "--add-header: expected lines that end in \\n, and none that is empty, as other header lines follow"
    )]
    AddHeader,
    /// Something in a list that is no request.
    #[error("--targets: {path}:{error}", path = .path.display())]
    List {
        /// The list.
        path: PathBuf,
        /// The mistake, and its place.
        error: targets_file::Error,
    },
    /// A file that a list names, and that cannot be read.
    #[error("--targets: {path}:{line}: cannot read `{body}`: {error}", path = .path.display(), body = .body.display())]
    ListedBody {
        /// The list.
        path: PathBuf,
        /// The line that names the file.
        line: usize,
        /// The file.
        body: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// A path to which prompts are not sent.
    #[error(
        "--prompts: expected a URL whose path ends in /chat/completions or /completions, got `{0}`\nhint: a URL without \
         a path, or with the path /v1, means /v1/chat/completions"
    )]
    PromptPath(String),
    /// A file of prompts with mistakes.
    #[error("{}", prompt_problems(.path, .problems))]
    Prompts {
        /// The file.
        path: PathBuf,
        /// The mistakes in it.
        problems: Problems,
    },
    /// A file that is too large to be one of prompts.
    #[error("--prompts: {path}: expected at most {PROMPTS_SIZE_MAX} bytes, got {size}", path = .path.display())]
    PromptSize {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
    },
    /// URLs with TLS and URLs without.
    #[error("--targets: {path}:{line}: expected a URL that begins with {expected}://, as {because}", path = .path.display())]
    Scheme {
        /// The list.
        path: PathBuf,
        /// The line of the URL.
        line: usize,
        /// The scheme that was expected.
        expected: &'static str,
        /// The reason for which that scheme was expected.
        because: String,
    },
    /// Several servers for the calls of one connection.
    #[error(
        "--targets: expected requests to one server, as a connection makes more than one call, got {0} servers"
    )]
    Servers(usize),
}

/// A line for each mistake, each with the name of the file.
fn prompt_problems(path: &Path, problems: &Problems) -> String {
    let start = format!("--prompts: {}", path.display());
    let mut lines: Vec<String> = problems
        .named
        .iter()
        .map(|problem| match problem.line {
            Some(line) => format!("{start}:{line}: {}", problem.reason),
            None => format!("{start}: {}", problem.reason),
        })
        .collect();
    if problems.more > 0 {
        lines.push(format!("{start}: {} more of the kind", problems.more));
    }
    lines.join("\n")
}

/// The parts common to all requests of a plan that the classic tool does not have.
pub(super) struct Shared {
    pub(super) headers: Vec<Header>,
    pub(super) body: Option<Body>,
}

/// The header fields and the body that were typed. `extra_headers`: the lines before those fields.
pub(super) fn shared(args: &Args, extra_headers: &[u8]) -> Result<Shared, MaterialError> {
    let given = &args.material;
    let mut headers = given.headers.clone();
    if let Some(authorization) = &given.authorization {
        headers.push(literal("Authorization", authorization));
    }
    if given.prompts.file.is_some() && !headers.iter().any(|header| header.is("Content-Type")) {
        headers.push(literal("Content-Type", b"application/json"));
    }
    headers.extend(super::grpc::headers(args));
    let body = match (&given.body, &given.body_file) {
        (Some(text), _) => Some(Body::text(text.clone())),
        (None, Some(file)) => Some(Body::file(named_by("--body-file", file)?)),
        (None, None) if given.form.is_empty() => None,
        (None, None) => {
            let Form { content_type, body } = form(&given.form)?;
            if !headers.iter().any(|header| header.is("Content-Type")) {
                headers.push(literal("Content-Type", content_type.as_bytes()));
            }
            Some(body)
        }
    };
    let others_follow =
        !headers.is_empty() || body.is_some() || given.replies.compressed || given.targets.is_some();
    if others_follow && !lets_others_follow(extra_headers) {
        return Err(MaterialError::AddHeader);
    }
    Ok(Shared { headers, body })
}

/// Returns whether other header lines can follow these: each has its end, and none ends the header.
fn lets_others_follow(lines: &[u8]) -> bool {
    let Some(lines) = lines.strip_suffix(b"\n") else { return lines.is_empty() };
    lines.split(|&byte| byte == b'\n').all(|line| !matches!(line, b"" | b"\r"))
}

fn literal(name: &str, value: &[u8]) -> Header {
    Header { name: name.to_owned(), value: Template::literal(value) }
}

/// The URI of `--uri`, with its placeholders if it has any.
pub(super) fn uri(args: &Args) -> Result<UriSource, MaterialError> {
    let template = Template::parse(&args.uri()).map_err(MaterialError::Uri)?;
    Ok(match template.as_literal() {
        Some(uri) => UriSource::Fixed(uri.to_vec()),
        None => UriSource::Template(template),
    })
}

/// The prompts of `--prompts`, which names this file.
pub(super) fn prompts(
    args: &Args,
    path: &OsStr,
    warn: &mut dyn FnMut(String),
) -> Result<UriSource, MaterialError> {
    let given = &args.material.prompts;
    let uri = Template::parse(&args.uri()).map_err(MaterialError::Uri)?;
    if Endpoint::of(&uri.typed()).is_none() {
        return Err(MaterialError::PromptPath(String::from_utf8_lossy(&args.uri()).into_owned()));
    }
    let asking = Asking {
        uri,
        names_path: !args.names_no_endpoint(),
        model: given.model.clone(),
        max_tokens: given.max_tokens,
        whole_answers: given.whole_answers,
    };
    let path = Path::new(path);
    // Before it is read: nothing of a larger one is used.
    let size = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    if size > PROMPTS_SIZE_MAX {
        return Err(MaterialError::PromptSize { path: path.to_owned(), size });
    }
    let (prompts, left_out) = Prompts::new(named_by("--prompts", path.as_os_str())?, asking)
        .map_err(|problems| MaterialError::Prompts { path: path.to_owned(), problems })?;
    if left_out > 0 {
        let (shown, all) = (path.display(), prompts.count + left_out);
        warn(format!(
            "warning: --prompts: {shown}: in {left_out} of {all} conversations nobody asks anything; they are left out"
        ));
    }
    Ok(UriSource::Prompts(prompts))
}

/// A form, as a page sends it.
struct Form {
    content_type: String,
    body: Body,
}

fn form(fields: &[FormField]) -> Result<Form, MaterialError> {
    if fields.iter().any(|field| matches!(field.value, FormValue::File(_))) {
        return multipart(fields);
    }
    let encode = |text: &Template| {
        text.map_literals(|bytes| form_urlencoded::byte_serialize(bytes).collect::<String>().into_bytes())
    };
    let mut body = Template::default();
    for (index, field) in fields.iter().enumerate() {
        let FormValue::Text(value) = &field.value else {
            unreachable!("a form with a file is sent otherwise")
        };
        body.push_literal(if index == 0 { b"" } else { b"&" });
        body.push(&encode(&field.name));
        body.push_literal(b"=");
        body.push(&encode(value));
    }
    let content_type = "application/x-www-form-urlencoded".to_owned();
    Ok(Form { content_type, body: Body::text(body) })
}

/// `multipart/form-data` (RFC 7578), with names escaped as browsers do.
///
/// <https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data>
fn multipart(fields: &[FormField]) -> Result<Form, MaterialError> {
    let mut parts = Vec::new();
    for field in fields {
        let mut head = Template::literal(b"Content-Disposition: form-data; name=\"");
        head.push(&field.name.map_literals(escaped));
        let content = match &field.value {
            FormValue::Text(text) => {
                head.push_literal(b"\"\r\n\r\n");
                BodyPart::Text(text.clone())
            }
            FormValue::File(path) => {
                let name = Path::new(path).file_name().unwrap_or(path).as_bytes();
                head.push_literal(b"\"; filename=\"");
                head.push_literal(&escaped(name));
                head.push_literal(b"\"\r\nContent-Type: application/octet-stream\r\n\r\n");
                BodyPart::File(named_by("--form", path)?)
            }
        };
        parts.push((head, content));
    }
    let boundary = boundary(&parts);
    let mut body = Body::default();
    for (index, (head, content)) in parts.into_iter().enumerate() {
        let mut start = Template::literal(if index == 0 { b"--" } else { b"\r\n--" });
        start.push_literal(boundary.as_bytes());
        start.push_literal(b"\r\n");
        start.push(&head);
        body.parts.extend([BodyPart::Text(start), content]);
    }
    body.parts.push(BodyPart::Text(Template::literal(format!("\r\n--{boundary}--\r\n").as_bytes())));
    let content_type = format!("multipart/form-data; boundary={boundary}");
    Ok(Form { content_type, body })
}

fn escaped(name: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::new();
    for &byte in name {
        match byte {
            b'"' => escaped.extend_from_slice(b"%22"),
            b'\r' => escaped.extend_from_slice(b"%0D"),
            b'\n' => escaped.extend_from_slice(b"%0A"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// The boundary between the parts: the first of its kind that none of them contains. It is no random one, so that the
/// same command line sends the same bytes.
fn boundary(parts: &[(Template, BodyPart)]) -> String {
    let occurs = |boundary: &str| {
        let is_in = |bytes: &[u8]| bytes.windows(boundary.len()).any(|window| window == boundary.as_bytes());
        parts.iter().any(|(head, content)| {
            is_in(&head.typed())
                || match content {
                    BodyPart::Text(text) => is_in(&text.typed()),
                    BodyPart::File(file) => is_in(&file.contents),
                }
        })
    };
    let mut candidates = (0..).map(|number: u64| format!("httperf-form-{number:016x}"));
    candidates.find(|candidate| !occurs(candidate)).expect("a form has fewer bytes than there are candidates")
}

fn named_by(option: &'static str, path: &OsStr) -> Result<BodyFile, MaterialError> {
    read(Path::new(path)).map_err(|error| MaterialError::Unreadable { option, path: path.into(), error })
}

/// Reads a file into memory once, whatever its size.
fn read(path: &Path) -> io::Result<BodyFile> {
    let mut file = File::open(path)?;
    let size = usize::try_from(file.metadata()?.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let mut contents: Arc<[u8]> = std::iter::repeat_n(0, size).collect();
    let buffer = Arc::get_mut(&mut contents).expect("nobody else has it yet");
    let mut filled = 0;
    while filled < size {
        match file.read(&mut buffer[filled..])? {
            0 => break,
            count => filled += count,
        }
    }
    let mut rest = Vec::new();
    // A pipe, or a file that grows, has more than it said; one that shrank has less.
    if file.read_to_end(&mut rest)? > 0 || filled < size {
        contents = [&contents[..filled], &rest].concat().into();
    }
    let sha256 = Sha256(sha2::Sha256::digest(&contents).into());
    Ok(BodyFile { path: path.to_owned(), size: contents.len() as u64, sha256, contents })
}

/// The requests of a file, as `--targets` names one.
pub(super) struct RequestList {
    path: PathBuf,
    requests: NonEmpty<ListedTarget>,
}

impl RequestList {
    /// Reads the file, if one was named.
    pub(super) fn read(args: &Args) -> Result<Option<Self>, MaterialError> {
        let Some(path) = args.material.targets.as_ref().map(PathBuf::from) else { return Ok(None) };
        let bytes = std::fs::read(&path).map_err(|error| MaterialError::Unreadable {
            option: "--targets",
            path: path.clone(),
            error,
        })?;
        let requests =
            targets_file::parse(&bytes).map_err(|error| MaterialError::List { path: path.clone(), error })?;
        let list = Self { path, requests };
        list.check_schemes(args)?;
        Ok(Some(list))
    }

    fn check_schemes(&self, args: &Args) -> Result<(), MaterialError> {
        let first = self.requests.first();
        let https = first.url.https || args.tls.wanted;
        let Some(other) = self.requests.iter().find(|request| request.url.https != https) else {
            return Ok(());
        };
        Err(MaterialError::Scheme {
            path: self.path.clone(),
            line: other.line,
            expected: if https { "https" } else { "http" },
            because: match args.tls.wanted {
                true => format!("{} asks for TLS", args.tls.wanted_by),
                false => format!("that of line {} does", first.line),
            },
        })
    }

    /// The arguments, as if they named the scheme that the list has.
    pub(super) fn with_scheme<'a>(&self, args: &'a Args) -> Cow<'a, Args> {
        match self.requests.first().url.https {
            true => Cow::Owned(Args { lists_https: true, ..args.clone() }),
            false => Cow::Borrowed(args),
        }
    }

    /// The servers, in the order in which they come up first, and the requests to them.
    pub(super) fn plan(
        &self,
        args: &Args,
        route: &Route<'_>,
    ) -> Result<(NonEmpty<Target>, UriSource), super::Error> {
        let mut servers: Vec<Target> = Vec::new();
        let mut indices: HashMap<(&str, u16), u32> = HashMap::new();
        let mut files = HashMap::new();
        let requests = self.requests.try_map(|listed| -> Result<_, super::Error> {
            let url = &listed.url;
            let server = (&url.host[..], url.port.unwrap_or(if url.https { 443 } else { 80 }));
            let index = match indices.get(&server) {
                Some(&index) => index,
                None => {
                    let index = servers.len() as u32;
                    let tls_name = tls_name(args, &[Some(url.host.as_bytes())]);
                    servers.push(route.target(url.authority(), tls_name, url.host.as_bytes(), server.1)?);
                    indices.insert(server, index);
                    index
                }
            };
            Ok(ListedRequest {
                server: index,
                method: listed.method.clone().into_bytes(),
                uri: listed.uri.clone(),
                headers: listed.headers.clone(),
                body: self.body(listed, &mut files)?,
            })
        })?;
        let servers = servers.try_into().expect("each request is to a server");
        Ok((servers, UriSource::Requests(requests)))
    }

    fn body(
        &self,
        listed: &ListedTarget,
        files: &mut HashMap<PathBuf, BodyFile>,
    ) -> Result<Option<Body>, MaterialError> {
        match &listed.body {
            ListedBody::Text(text) => Ok(Some(Body::text(text.clone()))),
            // Those methods expect a body, and a request without one has to say so (RFC 9110, section 8.6).
            ListedBody::None => {
                Ok(matches!(&listed.method[..], "PATCH" | "POST" | "PUT").then(Body::default))
            }
            ListedBody::File { path, line } => {
                let folder = self.path.parent().unwrap_or(Path::new(""));
                let path = folder.join(OsStr::from_bytes(path));
                if let Some(file) = files.get(&path) {
                    return Ok(Some(Body::file(file.clone())));
                }
                let file = read(&path).map_err(|error| MaterialError::ListedBody {
                    path: self.path.clone(),
                    line: *line,
                    body: path.clone(),
                    error,
                })?;
                files.insert(path, file.clone());
                Ok(Some(Body::file(file)))
            }
        }
    }
}

/// A connection talks to one server.
pub(super) fn check_servers(
    targets: &[Target],
    uris: &UriSource,
    workload: &Workload,
) -> Result<(), MaterialError> {
    let has_several = targets.len() > 1 && matches!(uris, UriSource::Requests(_));
    let can_be_apart = match workload {
        Workload::Connections(connections) => connections.calls <= 1,
        Workload::Sessions(_) | Workload::Scenarios(_) => false,
        Workload::Calls(_) | Workload::Replay(_) => true,
    };
    if has_several && !can_be_apart { Err(MaterialError::Servers(targets.len())) } else { Ok(()) }
}

/// Reads the files again whose contents a saved plan does not have: bodies and feeds.
///
/// # Errors
/// If one cannot be read, or has changed.
pub fn read_files_again(plan: Plan) -> anyhow::Result<Plan> {
    let mut plan = plan.into_fields();
    let mut again = ReadAgain::default();
    if let UriSource::Prompts(prompts) = &mut plan.uris {
        let file = again.file(&prompts.file.path, prompts.file.sha256)?;
        // The same bytes were read before.
        (*prompts, _) = Prompts::new(file, prompts.asking.clone()).map_err(anyhow::Error::new)?;
        again.0.clear();
    }
    let listed = match &mut plan.uris {
        UriSource::Requests(requests) => &mut requests[..],
        _ => &mut [],
    };
    let bodies = listed.iter_mut().filter_map(|request| request.body.as_mut()).chain(&mut plan.request.body);
    bodies.flat_map(Body::files_mut).try_for_each(|file| again.body(file))?;
    if let Workload::Scenarios(scenarios) = &mut plan.workload {
        let parts = scenarios.requests.iter_mut().filter_map(|request| request.body.as_mut()).flatten();
        for part in parts {
            if let StepBodyPart::File(file) = part {
                again.body(file)?;
            }
        }
        scenarios.feeds.iter_mut().try_for_each(|feed| again.feed(feed))?;
    }
    if let Workload::Replay(replay) = &mut plan.workload {
        super::replay::check_unchanged(&replay.recorded)?;
        replay.bodies.iter_mut().try_for_each(|body| again.body(&mut body.file))?;
    }
    Ok(plan.try_into()?)
}

/// The files that a plan was made of: bodies, prompts, feeds and recordings.
pub fn files_of(plan: &Plan) -> Vec<PathBuf> {
    let listed = match &plan.uris {
        UriSource::Requests(requests) => &requests[..],
        _ => &[],
    };
    let bodies = listed.iter().filter_map(|request| request.body.as_ref()).chain(&plan.request.body);
    let parts = bodies.flat_map(|body| &body.parts).filter_map(|part| match part {
        BodyPart::File(file) => Some(file),
        BodyPart::Text(_) => None,
    });
    let mut files: Vec<PathBuf> = parts.map(|file| file.path.clone()).collect();
    if let UriSource::Prompts(prompts) = &plan.uris {
        files.push(prompts.file.path.clone());
    }
    match &plan.workload {
        Workload::Scenarios(scenarios) => {
            let parts = scenarios.requests.iter().filter_map(|request| request.body.as_ref()).flatten();
            files.extend(parts.filter_map(|part| match part {
                StepBodyPart::File(file) => Some(file.path.clone()),
                StepBodyPart::Text(_) => None,
            }));
            files.extend(scenarios.feeds.iter().map(|feed| feed.path.clone()));
        }
        Workload::Replay(replay) => {
            files.push(replay.recorded.path.clone());
            files.extend(replay.bodies.iter().map(|body| body.file.path.clone()));
        }
        Workload::Connections(_) | Workload::Sessions(_) | Workload::Calls(_) => {}
    }
    files
}

/// Files that were read again, by their paths.
#[derive(Default)]
struct ReadAgain(HashMap<PathBuf, BodyFile>);

impl ReadAgain {
    fn body(&mut self, file: &mut BodyFile) -> anyhow::Result<()> {
        *file = self.file(&file.path, file.sha256)?;
        Ok(())
    }

    fn feed(&mut self, feed: &mut Feed) -> anyhow::Result<()> {
        let file = self.file(&feed.path, feed.sha256)?;
        let rows = read_rows(feed, &file.contents);
        feed.rows = rows.map_err(|problems| {
            anyhow::anyhow!("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
        })?;
        Ok(())
    }

    /// Reads a file, which must have this digest.
    fn file(&mut self, path: &Path, sha256: Sha256) -> anyhow::Result<BodyFile> {
        let shown = path.display();
        let file = match self.0.get(path) {
            Some(file) => file.clone(),
            None => read(path).map_err(|error| anyhow::anyhow!("cannot read `{shown}`: {error}"))?,
        };
        anyhow::ensure!(
            file.sha256 == sha256,
            "expected `{shown}` to be what it was, got a file of another SHA-256"
        );
        self.0.insert(path.to_owned(), file.clone());
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use httperf_plan::Endpoint;

    use super::*;
    use crate::grammar::parse::words;
    use crate::terminal::messages::Program;

    fn planned(argv: &[&str]) -> Result<Plan, super::super::Error> {
        let mut args = Args::default();
        args.parse(&words(argv)).unwrap();
        super::super::plan(&Program::started_as(&"httperf".into()), &args, &mut |_| ())
    }

    #[track_caller]
    fn check_error(argv: &[&str], expected: &str) {
        let error = planned(argv).map(|_| "a plan").unwrap_err();
        assert_eq!(error.text(), format!(": {expected}"), "{argv:?}");
    }

    /// A folder with a file in it, and the argument that names the file.
    fn with_file(option: &str, name: &str, contents: &[u8]) -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, contents).unwrap();
        let argument = format!("{option}{}", path.to_str().unwrap());
        (folder, argument)
    }

    fn body(plan: &Plan) -> String {
        let mut bytes = Vec::new();
        for part in &plan.request.body.as_ref().unwrap().parts {
            match part {
                BodyPart::Text(text) => bytes.extend(text.typed()),
                BodyPart::File(file) => bytes.extend_from_slice(&file.contents),
            }
        }
        String::from_utf8(bytes).unwrap()
    }

    fn header_lines(plan: &Plan) -> Vec<String> {
        let line = |header: &Header| {
            format!("{}: {}", header.name, String::from_utf8(header.value.typed()).unwrap())
        };
        plan.request.headers.iter().map(line).collect()
    }

    #[test]
    fn a_body_makes_the_method_post_unless_another_is_named() {
        let method =
            |argv: &[&str]| String::from_utf8(planned(argv).unwrap().request.method.clone()).unwrap();
        assert_eq!(method(&["--body=x"]), "POST");
        assert_eq!(method(&["--form=a=b"]), "POST");
        assert_eq!(method(&["--body=x", "--method=PUT"]), "PUT");
        assert_eq!(method(&["--header=A: b"]), "GET");
    }

    #[test]
    fn fields_are_urlencoded_around_their_placeholders() {
        let plan = planned(&["--form=a b={seq}&ü", "--form={uuid}=1+1", "--form=c="]).unwrap();
        assert_eq!(body(&plan), "a+b={seq}%26%C3%BC&{uuid}=1%2B1&c=");
        assert_eq!(header_lines(&plan), ["Content-Type: application/x-www-form-urlencoded"]);
        let plan = planned(&["--form=a=b", "--header=content-type: text/plain"]).unwrap();
        assert_eq!(header_lines(&plan), ["content-type: text/plain"]);
    }

    #[test]
    fn a_form_with_a_file_has_a_part_for_each_field() {
        let (_folder, argument) = with_file("--form=f\"=@", "a\"b.txt", b"contents {seq}");
        let plan = planned(&["--form=n={seq}", &argument]).unwrap();
        assert_eq!(
            body(&plan),
            "--httperf-form-0000000000000000\r\n\
             Content-Disposition: form-data; name=\"n\"\r\n\r\n{seq}\r\n\
             --httperf-form-0000000000000000\r\n\
             Content-Disposition: form-data; name=\"f%22\"; filename=\"a%22b.txt\"\r\n\
             Content-Type: application/octet-stream\r\n\r\ncontents {seq}\r\n\
             --httperf-form-0000000000000000--\r\n"
        );
        let content_type = "Content-Type: multipart/form-data; boundary=httperf-form-0000000000000000";
        assert_eq!(header_lines(&plan), [content_type]);
    }

    #[test]
    fn a_boundary_is_nothing_that_occurs_in_a_part() {
        let (_folder, argument) = with_file("--form=f=@", "f", b"--httperf-form-0000000000000000--");
        let plan = planned(&["--form=n=httperf-form-0000000000000001", &argument]).unwrap();
        assert!(body(&plan).starts_with("--httperf-form-0000000000000002\r\n"));
    }

    #[test]
    fn a_file_is_read_as_it_is() {
        let (folder, argument) = with_file("--body-file=", "body", b"\0{seq}\n");
        let plan = planned(&[&argument]).unwrap();
        let BodyPart::File(file) = &plan.request.body.as_ref().unwrap().parts[0] else {
            panic!("it is a file")
        };
        assert_eq!((&file.contents[..], file.size), (&b"\0{seq}\n"[..], 7));
        assert_eq!(
            file.sha256.to_string(),
            "af5dba3612f0b7580e93215af063f33e4de93c265a32d6b6668c055b7f00aa0c"
        );
        // What is no regular file has no size.
        let status = read(Path::new("/proc/self/status")).unwrap();
        assert!(status.contents.starts_with(b"Name:") && status.size > 100);
        let missing = folder.path().join("missing");
        let missing = missing.to_str().unwrap();
        check_error(
            &["--body-file", missing],
            &format!("--body-file: cannot read `{missing}`: No such file or directory (os error 2)"),
        );
    }

    #[test]
    fn placeholders_of_a_uri_are_found_unless_names_are_made_of_it() {
        assert!(matches!(planned(&["--uri=/{seq}"]).unwrap().uris, UriSource::Template(_)));
        assert!(matches!(planned(&["http://127.0.0.1/{seq}"]).unwrap().uris, UriSource::Template(_)));
        assert!(matches!(planned(&["--uri=/{x}"]).unwrap().uris, UriSource::Fixed(_)));
        assert!(matches!(planned(&["--uri=/{seq}", "--wset=1,0"]).unwrap().uris, UriSource::WorkingSet(_)));
        check_error(
            &["--uri=/{rand:9-1}"],
            "--uri: expected {rand:LOW-HIGH} with whole numbers, LOW not above HIGH, got `{rand:9-1}`",
        );
    }

    #[test]
    fn lines_that_end_the_header_let_nothing_follow() {
        let expected = "--add-header: expected lines that end in \\n, and none that is empty, as other header lines follow";
        for lines in ["A: b\\n\\nbody", "A: b", "A: b\\n\\n", "\\n"] {
            let argument = format!("--add-header={lines}");
            check_error(&[&argument, "--header=C: d"], expected);
            check_error(&[&argument, "--body=x"], expected);
            assert!(planned(&[&argument]).is_ok(), "the classic tool allows it");
        }
        assert!(planned(&["--add-header=A: b\\nC: d\\n", "--header=E: f"]).is_ok());
    }

    #[test]
    fn a_list_names_its_servers_in_the_order_in_which_they_come_up() {
        let list = b"GET http://127.0.0.1:8080/a\nPOST http://localhost/b\n\nGET http://127.0.0.1:8080/c\n\
                     PUT http://[::1]:81/d\n@body\n\nPUT http://localhost:80/\n@body";
        let (folder, argument) = with_file("--targets=", "list", list);
        fs::write(folder.path().join("body"), "contents").unwrap();
        let plan = planned(&[&argument]).unwrap();
        let servers: Vec<String> =
            plan.targets.iter().map(|target| format!("{} {}", target.host, target.endpoint)).collect();
        assert_eq!(servers, ["127.0.0.1:8080 127.0.0.1:8080", "localhost 127.0.0.1:80", "[::1]:81 [::1]:81"]);
        let UriSource::Requests(requests) = &plan.uris else { panic!("a list was named") };
        let outline: Vec<(u32, Option<usize>)> = requests
            .iter()
            .map(|request| (request.server, request.body.as_ref().map(|body| body.parts.len())))
            .collect();
        assert_eq!(outline, [(0, None), (1, Some(0)), (0, None), (2, Some(1)), (1, Some(1))]);
        let contents: Vec<Arc<[u8]>> = requests
            .iter()
            .filter_map(|request| request.body.clone())
            .flat_map(|mut body| body.files_mut().map(|file| Arc::clone(&file.contents)).collect::<Vec<_>>())
            .collect();
        assert!(Arc::ptr_eq(&contents[0], &contents[1]), "a file is read once");
    }

    #[test]
    fn others_may_stand_in_for_servers_of_a_list_by_their_ports() {
        let list = b"GET http://shop.invalid:8080/\nGET http://shop.invalid:8081/\n";
        let (_folder, argument) = with_file("--targets=", "list", list);
        let stand_ins =
            ["--connect-to=shop.invalid:8080:127.0.0.1:1", "--connect-to=shop.invalid:8081:127.0.0.2:"];
        let plan = planned(&[&argument, stand_ins[0], stand_ins[1]]).unwrap();
        let servers: Vec<String> =
            plan.targets.iter().map(|target| format!("{} {}", target.host, target.endpoint)).collect();
        assert_eq!(servers, ["shop.invalid:8080 127.0.0.1:1", "shop.invalid:8081 127.0.0.2:8081"]);
    }

    #[test]
    fn a_list_may_ask_for_tls_and_then_all_of_it() {
        let (_folder, argument) = with_file("--targets=", "list", b"GET https://localhost/\n");
        let plan = planned(&[&argument]).unwrap();
        assert!(plan.tls.is_some());
        assert_eq!(plan.targets[0].tls_name.as_deref(), Some("localhost"));
        assert_eq!(plan.targets[0].endpoint, Endpoint::Tcp("127.0.0.1:443".parse().unwrap()));
        let (_folder, argument) = with_file("--targets=", "list", b"GET http://a/\nGET https://b/\n");
        let path = argument.strip_prefix("--targets=").unwrap();
        check_error(
            &[&argument],
            &format!("--targets: {path}:2: expected a URL that begins with http://, as that of line 1 does"),
        );
        check_error(
            &[&argument, "--ssl"],
            &format!("--targets: {path}:1: expected a URL that begins with https://, as --ssl asks for TLS"),
        );
    }

    #[test]
    fn a_connection_of_several_calls_talks_to_one_server() {
        let list = b"GET http://127.0.0.1:1/\nGET http://127.0.0.1:2/\n";
        let (_folder, argument) = with_file("--targets=", "list", list);
        assert!(planned(&[&argument, "--num-conns=9"]).is_ok());
        assert!(planned(&[&argument, "--request-rate=9", "--num-calls=9"]).is_ok());
        let expected = "--targets: expected requests to one server, as a connection makes more than one call, got 2 servers";
        check_error(&[&argument, "--num-calls=2"], expected);
        check_error(&[&argument, "--wsess=1,1,0"], expected);
        let (_folder, argument) = with_file("--targets=", "list", b"GET http://127.0.0.1:1/\n");
        assert!(planned(&[&argument, "--num-calls=2"]).is_ok());
    }

    #[test]
    fn what_is_wrong_with_a_list_is_said_with_its_place() {
        let (folder, argument) = with_file("--targets=", "list", b"GET http://a/\nAccept\n");
        let path = argument.strip_prefix("--targets=").unwrap();
        check_error(
            &[&argument],
            &format!(
                "--targets: {path}:2:1: expected a header field such as `Accept: text/html`, got `Accept`"
            ),
        );
        fs::write(path, "GET http://127.0.0.1/\n@missing\n").unwrap();
        let missing = folder.path().join("missing");
        check_error(
            &[&argument],
            &format!(
                "--targets: {path}:2: cannot read `{}`: No such file or directory (os error 2)",
                missing.display()
            ),
        );
    }

    /// A path and a body on each line.
    fn asked(plan: &Plan) -> Vec<String> {
        let UriSource::Prompts(prompts) = &plan.uris else { panic!("prompts were named") };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let requests = prompts.requests.iter();
        requests.map(|request| format!("{} {}", text(&request.uri.typed()), text(&request.body))).collect()
    }

    const ASKED: &str = r#"{"model":"m","messages":[{"role":"user","content":"Hello"}],"max_tokens":5,"stream":true,"stream_options":{"include_usage":true}}"#;

    #[test]
    fn prompts_go_to_the_path_of_the_url_or_to_the_usual_one() {
        let (_folder, argument) = with_file("--prompts=", "p.txt", b"Hello\n");
        let options = [&argument[..], "--model=m", "--max-tokens=5"];
        for (url, path) in [
            ("http://127.0.0.1:1", "/v1/chat/completions"),
            ("http://127.0.0.1:1/", "/v1/chat/completions"),
            ("http://127.0.0.1:1/v1", "/v1/chat/completions"),
            ("http://127.0.0.1:1/v1/", "/v1/chat/completions"),
            ("http://127.0.0.1:1/api/v1", "/api/v1/chat/completions"),
            ("http://127.0.0.1:1/x/chat/completions?y", "/x/chat/completions?y"),
        ] {
            let plan = planned(&[options[0], options[1], options[2], url]).unwrap();
            assert_eq!(asked(&plan), [format!("{path} {ASKED}")], "{url}");
            assert_eq!(plan.request.method, b"POST");
            assert_eq!(header_lines(&plan), ["Content-Type: application/json"]);
            assert!(plan.replies.streams.model.is_some());
            assert_eq!(plan.sockets.send_buffer, None, "prompts may be long");
        }
        let sized = planned(&[&argument, "--send-buffer=9"]).unwrap();
        assert_eq!((sized.sockets.send_buffer, sized.sockets.recv_buffer), (Some(9), Some(16384)));
        let typed = planned(&[&argument, "--header=content-type: x", "--uri=/completions"]).unwrap();
        assert_eq!(header_lines(&typed), ["content-type: x"]);
        check_error(
            &[&argument, "http://127.0.0.1:1/v2"],
            "--prompts: expected a URL whose path ends in /chat/completions or /completions, got `/v2`\nhint: a URL \
             without a path, or with the path /v1, means /v1/chat/completions",
        );
    }

    #[test]
    fn each_mistake_of_a_file_of_prompts_has_a_line() {
        let (_folder, argument) = with_file("--prompts=", "p.jsonl", b"{\"prompt\": 1}\nHello");
        let path = argument.strip_prefix("--prompts=").unwrap();
        check_error(
            &[&argument],
            &format!(
                "--prompts: {path}:1: expected a text that is not empty as `prompt`, got `1`\n\
                 --prompts: {path}:2: expected an object of JSON, got `Hello`"
            ),
        );
        fs::write(path, "{}\n".repeat(30)).unwrap();
        let error = planned(&[&argument]).map(|_| "a plan").unwrap_err().text();
        assert_eq!(error.lines().count(), 21);
        assert!(error.ends_with(&format!("--prompts: {path}: 10 more of the kind")), "{error}");
        File::create(path).unwrap().set_len(PROMPTS_SIZE_MAX + 1).unwrap();
        check_error(
            &[&argument],
            &format!("--prompts: {path}: expected at most 1073741824 bytes, got 1073741825"),
        );
    }

    #[test]
    fn a_saved_plan_asks_the_same_prompts_again() {
        let (_folder, argument) = with_file("--prompts=", "p.txt", b"Hello\n");
        let plan = planned(&[&argument, "--model=m", "--max-tokens=5"]).unwrap();
        let saved = || -> Plan { serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap() };
        assert!(asked(&saved()).is_empty());
        let again = read_files_again(saved()).unwrap();
        assert_eq!(asked(&again), asked(&plan));
        let path = argument.strip_prefix("--prompts=").unwrap();
        fs::write(path, "Hullo\n").unwrap();
        assert_eq!(
            read_files_again(saved()).unwrap_err().to_string(),
            format!("expected `{path}` to be what it was, got a file of another SHA-256")
        );
    }

    #[test]
    fn a_saved_plan_reads_its_files_again_if_they_are_what_they_were() {
        let (_folder, argument) = with_file("--body-file=", "body", b"contents");
        let plan = planned(&[&argument]).unwrap();
        let saved = || -> Plan {
            let json = serde_json::to_string(&plan).unwrap();
            serde_json::from_str(&json).unwrap()
        };
        let again = read_files_again(saved()).unwrap();
        assert_eq!(body(&again), "contents");
        let path = argument.strip_prefix("--body-file=").unwrap();
        fs::write(path, "others").unwrap();
        assert_eq!(
            read_files_again(saved()).unwrap_err().to_string(),
            format!("expected `{path}` to be what it was, got a file of another SHA-256")
        );
    }
}
