//! Commands of curl, as browsers copy them and people keep them in files.

use std::io::Read;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::{Url, form_urlencoded};

use crate::error::{Error, Flaw};
use crate::har::{relative, unquoted};
use crate::headers::{is_method, is_name, is_of_the_browser, is_of_the_connection, is_value};
use crate::report::{Report, shortened};
use crate::shell::{self, Line};
use crate::text::read_text;
use crate::words::{Expected, Syntax, ToolOption, flag, read as read_words, seconds, value};
use crate::workload::{
    Body, Entry, FileName, OTHER_SCHEME, Part, REQUESTS_MAX, Scenario, Step, StepFile, TOO_MANY, Text,
    Workload,
};

/// Reads a file of commands into a workload whose one file of steps has this name, without its ending.
///
/// # Errors
/// If it cannot be read, has something else than commands of curl, or a command that cannot be understood.
pub fn read(reader: impl Read, name: &str) -> Result<(Workload, Report), Error> {
    let text = read_text(reader)?;
    let mut report = Report::default();
    let mut requests = Vec::new();
    for line in shell::split(&text)? {
        let requested = command(&line, &mut report).map_err(|sentence| Flaw::at(line.number, sentence))?;
        requests.extend(requested);
    }
    if requests.is_empty() {
        return Err(Flaw::whole("expected commands of curl, got none").into());
    }
    // The server of most commands; of several, that of the first.
    let origins = requests.iter().map(|request| request.url.origin().ascii_serialization());
    let origins: Vec<String> = origins.collect();
    let count = |origin: &String| origins.iter().filter(|other| *other == origin).count();
    let most = origins.iter().take(ORIGINS_MAX).map(count).max().unwrap_or(0);
    let base =
        origins.iter().take(ORIGINS_MAX).find(|origin| count(origin) == most).cloned().unwrap_or_default();
    let scheme = base.split(':').next().unwrap_or_default();
    let mut count = 0;
    requests.retain(|request| {
        let reason = if request.url.scheme() != scheme {
            OTHER_SCHEME
        } else if count == REQUESTS_MAX {
            TOO_MANY
        } else {
            count += 1;
            return true;
        };
        report.leave_out(reason, || request.url.to_string());
        false
    });
    report.carried = u64::try_from(count).unwrap_or(u64::MAX);
    let unverified = requests.iter().any(|request| request.unverified);
    let timeout = requests.iter().filter_map(|request| request.timeout).reduce(f64::max);
    let entries =
        requests.into_iter().map(|request| Entry { url: relative(&request.url, &base), ..request.entry });
    let file = format!("{name}.hurl");
    let entries = entries.collect();
    let mut workload = Workload {
        comments: vec![
            "Made by httperf import curl: each visit makes the requests in this order.".to_owned(),
        ],
        base: Some(base),
        files: vec![StepFile { name: file.clone(), comments: Vec::new(), entries }],
        scenarios: vec![Scenario { name: name.to_owned(), steps: vec![Step::Run(file)], disabled: None }],
        ..Workload::default()
    };
    if let Some(seconds) = timeout {
        workload.options.push(("timeout".to_owned(), seconds.to_string()));
    }
    if unverified {
        report.note("-k: certificates are not checked unless --ssl-verify asks for it");
    }
    Ok((workload, report))
}

/// The number of commands among which the most frequent server is looked for.
const ORIGINS_MAX: usize = 1000;

/// A command as a request.
#[derive(Debug)]
struct Request {
    url: Url,
    entry: Entry,
    timeout: Option<f64>,
    unverified: bool,
}

/// The request as the options of a command describe it.
#[derive(Default)]
struct State {
    urls: Vec<String>,
    method: Option<String>,
    headers: Vec<(String, String)>,
    removed: Vec<String>,
    cookies: Vec<String>,
    credentials: Option<(String, String)>,
    data: Vec<Data>,
    form: Vec<(String, Part)>,
    query: Vec<String>,
    upload: Option<String>,
    is_json: bool,
    in_query: bool,
    is_head: bool,
    compressed: bool,
    follows_redirects: bool,
    unverified: bool,
    timeout: Option<f64>,
    notes: Vec<String>,
}

enum Data {
    Text(String),
    File(String),
}

/// Reads one command: a request for each of its URLs.
fn command(line: &Line, report: &mut Report) -> Result<Vec<Request>, String> {
    let Some((program, words)) = line.words.split_first() else { return Ok(Vec::new()) };
    let base_name = program.rsplit('/').next().unwrap_or_default();
    if !matches!(base_name, "curl" | "curl.exe") {
        let shown = shortened(program, 40);
        return Err(format!("expected a command of curl, got `{shown}`"));
    }
    let mut state = State::default();
    let read = read_words(OPTIONS, Syntax::Getopt, words, &mut state)?;
    state.urls.extend(read.words);
    for note in read.lost.into_iter().chain(std::mem::take(&mut state.notes)) {
        report.note(note);
    }
    state.requests()
}

impl State {
    fn requests(mut self) -> Result<Vec<Request>, String> {
        if self.urls.is_empty() {
            return Err("expected a URL, got none".to_owned());
        }
        // Also data that are empty are posted.
        let has_data = (!self.data.is_empty() && !self.in_query) || !self.form.is_empty();
        let body = self.body()?;
        let usual = match (has_data, &self.upload) {
            _ if self.is_head => "HEAD",
            (_, Some(_)) => "PUT",
            (true, None) => "POST",
            (false, None) => "GET",
        };
        let method = self.method.clone().unwrap_or_else(|| usual.to_owned());
        let headers = self.headers();
        let urls = std::mem::take(&mut self.urls);
        let requests = urls.iter().map(|url| {
            let url = parsed(url, &self.query)?;
            let mut entry = Entry {
                method: method.clone(),
                headers: headers.clone(),
                follows_redirects: self.follows_redirects,
                ..Entry::default()
            };
            let content_type = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
            let content_type = content_type.and_then(|(_, text)| text.as_literal());
            entry.set_body(body.clone(), content_type);
            match self.credentials.clone().or_else(|| credentials(&url)) {
                Some((user, password)) if user.is_empty() => {
                    let pair = STANDARD.encode(format!(":{password}"));
                    entry.headers.push(("Authorization".to_owned(), Text::literal(format!("Basic {pair}"))));
                }
                Some((user, password)) => {
                    entry.basic_auth = Some((Text::literal(user), Text::literal(password)));
                }
                None => {}
            }
            Ok(Request { url, entry, timeout: self.timeout, unverified: self.unverified })
        });
        requests.collect()
    }

    fn body(&mut self) -> Result<Option<Body>, String> {
        let separator = if self.is_json { "" } else { "&" };
        let data = std::mem::take(&mut self.data);
        if !data.is_empty() && !self.form.is_empty() {
            return Err("-F: expected no -d as well, which sends another body".to_owned());
        }
        let data = match &data[..] {
            [] => None,
            [Data::File(name)] => FileName::last_of(name).map(Body::File),
            several => {
                let texts = several.iter().map(|piece| match piece {
                    Data::Text(text) => Some(&text[..]),
                    Data::File(_) => None,
                });
                let texts: Option<Vec<&str>> = texts.collect();
                let text = texts.ok_or("-d: expected text, or a single @FILE, got both")?.join(separator);
                if self.in_query {
                    self.query.push(text);
                    return Ok(None);
                }
                let default =
                    if self.is_json { "application/json" } else { "application/x-www-form-urlencoded" };
                if !self.has_header("content-type") {
                    self.headers.push(("Content-Type".to_owned(), default.to_owned()));
                }
                let kind = self.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
                Body::of(text.as_bytes(), kind.map(|(_, kind)| &kind[..]))
            }
        };
        if self.in_query && data.is_some() {
            return Err("-G: expected text for the query, got a file".to_owned());
        }
        if self.is_json && !self.has_header("accept") {
            self.headers.push(("Accept".to_owned(), "application/json".to_owned()));
        }
        match (data, self.form.is_empty(), self.upload.clone()) {
            (_, false, _) => Ok(Some(Body::Multipart(std::mem::take(&mut self.form)))),
            (None, true, Some(file)) => Ok(FileName::last_of(&file).map(Body::File)),
            (data, true, _) => Ok(data),
        }
    }

    fn headers(&self) -> Vec<(String, Text)> {
        let cookies = Some(self.cookies.join("; ")).filter(|cookies| !cookies.is_empty());
        let coding = (self.compressed && !self.has_header("accept-encoding"))
            .then(|| ("Accept-Encoding".to_owned(), "gzip, deflate, br, zstd".to_owned()));
        let fields =
            self.headers.iter().cloned().chain(coding).chain(cookies.map(|text| ("Cookie".to_owned(), text)));
        fields
            .filter(|(name, _)| !is_of_the_connection(name) && !is_of_the_browser(name))
            .filter(|(name, _)| !self.removed.iter().any(|removed| removed.eq_ignore_ascii_case(name)))
            .map(|(name, text)| (name, Text::literal(text)))
            .collect()
    }

    fn has_header(&self, name: &str) -> bool {
        self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
    }
}

/// The URL of a request with what is added to its query.
fn parsed(text: &str, additions: &[String]) -> Result<Url, String> {
    let with_scheme = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let url = Url::parse(&with_scheme)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let mut url =
        url.ok_or_else(|| format!("expected a URL of http or https, got `{}`", shortened(text, 60)))?;
    url.set_fragment(None);
    for addition in additions.iter().filter(|addition| !addition.is_empty()) {
        let query = url.query().map_or_else(|| addition.clone(), |query| format!("{query}&{addition}"));
        url.set_query(Some(&query));
    }
    Ok(url)
}

/// The user and the password of a URL, if it has them.
fn credentials(url: &Url) -> Option<(String, String)> {
    let decoded = |text: &str| unquoted(&text.replace('+', "%2B"));
    let password = url.password();
    let has_any = !url.username().is_empty() || password.is_some();
    has_any.then(|| (decoded(url.username()), decoded(password.unwrap_or_default())))
}

const OPTIONS: &[ToolOption<State>] = &[
    value(&["--url"], |state, text| {
        state.urls.push(text.to_owned());
        Ok(())
    }),
    value(&["-X", "--request"], |state, text| {
        if !is_method(text) || !text.bytes().all(|byte| byte.is_ascii_uppercase()) || text == "HTTP" {
            return Err(Expected("a method in capital letters"));
        }
        state.method = Some(text.to_owned());
        Ok(())
    }),
    value(&["-H", "--header"], header),
    value(&["-A", "--user-agent"], |state, text| header(state, &format!("User-Agent: {text}"))),
    value(&["-e", "--referer"], |state, text| header(state, &format!("Referer: {text}"))),
    value(&["-r", "--range"], |state, text| header(state, &format!("Range: bytes={text}"))),
    value(&["--oauth2-bearer"], |state, text| header(state, &format!("Authorization: Bearer {text}"))),
    value(&["-b", "--cookie"], |state, text| {
        match text.contains('=') {
            true if !is_value(text) => return Err(Expected("cookies without control characters")),
            true => state.cookies.push(text.to_owned()),
            false => state.notes.push(format!("-b {text}: files of cookies are not read")),
        }
        Ok(())
    }),
    value(&["-u", "--user"], |state, text| {
        let (user, password) = text.split_once(':').ok_or(Expected("USER:PASSWORD"))?;
        state.credentials = Some((user.to_owned(), password.to_owned()));
        Ok(())
    }),
    value(&["-d", "--data", "--data-ascii"], data),
    value(&["--data-binary"], data),
    value(&["--data-raw"], |state, text| {
        state.data.push(Data::Text(text.to_owned()));
        Ok(())
    }),
    value(&["--data-urlencode"], |state, text| {
        state.data.push(Data::Text(encoded(text)?));
        Ok(())
    }),
    value(&["--json"], |state, text| {
        state.is_json = true;
        if !state.has_header("content-type") {
            state.headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        }
        data(state, text)
    }),
    value(&["--url-query"], |state, text| {
        state.query.push(encoded(text)?);
        Ok(())
    }),
    flag(&["-G", "--get"], |state, _| {
        state.in_query = true;
        Ok(())
    }),
    flag(&["-I", "--head"], |state, _| {
        state.is_head = true;
        Ok(())
    }),
    value(&["-F", "--form"], |state, text| {
        const FIELD: Expected = Expected("NAME=VALUE or NAME=@FILE");
        let (name, field) = named(text)?;
        let field = field.split_once(';').map_or(field, |(field, details)| {
            state.notes.push(format!("-F {name}: `{details}` is left out"));
            field
        });
        let part = match field.strip_prefix('@') {
            Some(file) => Part::File { name: FileName::last_of(file).ok_or(FIELD)?, kind: None },
            None if field.starts_with('<') => return Err(FIELD),
            None => Part::Text(field.to_owned()),
        };
        state.form.push((name.to_owned(), part));
        Ok(())
    }),
    value(&["--form-string"], |state, text| {
        let (name, field) = named(text)?;
        state.form.push((name.to_owned(), Part::Text(field.to_owned())));
        Ok(())
    }),
    value(&["-T", "--upload-file"], |state, text| {
        state.upload = Some(file_name(text).ok_or(Expected("FILE, as standard input is not read"))?);
        Ok(())
    }),
    flag(&["--compressed"], |state, _| {
        state.compressed = true;
        Ok(())
    }),
    flag(&["-L", "--location"], |state, _| {
        state.follows_redirects = true;
        Ok(())
    }),
    flag(&["-k", "--insecure"], |state, _| {
        state.unverified = true;
        Ok(())
    }),
    value(&["-m", "--max-time"], |state, text| {
        state.timeout = Some(seconds(text)?).filter(|seconds| (f64::MIN_POSITIVE..1e9).contains(seconds));
        Ok(())
    }),
    ToolOption::lost_flag(&["--http1.0", "-0"], "the version is that of the run"),
    ToolOption::lost_flag(&["--http1.1"], "the version is that of the run"),
    ToolOption::lost_flag(&["--http2"], "the version is that of the run: --http-version 2"),
    ToolOption::lost_flag(&["--http2-prior-knowledge"], "the version is that of the run: --http-version 2"),
    ToolOption::lost_flag(&["--http3"], "HTTP/3 is not spoken"),
    ToolOption::lost_value(&["-x", "--proxy"], "the proxy is that of the run: --proxy"),
    ToolOption::lost_value(&["--resolve"], "the address is that of the run: --connect-to"),
    ToolOption::lost_value(&["--connect-to"], "the address is that of the run: --connect-to"),
    ToolOption::lost_value(&["--cacert"], "the certificates are those of the run: --ssl-ca-file"),
    ToolOption::lost_value(&["-E", "--cert"], "the certificate is that of the run: --ssl-certificate"),
    ToolOption::lost_value(&["--key"], "the key is that of the run: --ssl-key"),
    ToolOption::lost_value(&["--ciphers"], "the ciphers are those of the run: --ssl-ciphers"),
    ToolOption::lost_value(&["--unix-socket"], "the socket is that of the run: --unix-socket"),
    ToolOption::lost_value(&["-c", "--cookie-jar"], "cookies are kept within a visit alone"),
    ToolOption::lost_value(&["--retry"], "a request is made once"),
    ToolOption::lost_value(&["--limit-rate"], "replies are received as fast as they come"),
    ToolOption::lost_flag(&["--digest"], "of authentication only Basic and Bearer are known"),
    ToolOption::lost_flag(&["--ntlm"], "of authentication only Basic and Bearer are known"),
    ToolOption::lost_flag(&["--negotiate"], "of authentication only Basic and Bearer are known"),
    ToolOption::lost_flag(&["--anyauth"], "of authentication only Basic and Bearer are known"),
    ToolOption::lost_flag(&["-n", "--netrc"], "passwords are not looked up"),
    ToolOption::idle_value(&["--connect-timeout"]),
    ToolOption::idle_value(&["-o", "--output"]),
    ToolOption::idle_value(&["-w", "--write-out"]),
    ToolOption::idle_flag(&["-O", "--remote-name"]),
    ToolOption::idle_flag(&["-v", "--verbose"]),
    ToolOption::idle_flag(&["-i", "--include"]),
    ToolOption::idle_flag(&["-f", "--fail"]),
    ToolOption::idle_flag(&["--basic"]),
    ToolOption::idle_flag(&["-4", "--ipv4"]),
    ToolOption::idle_flag(&["-6", "--ipv6"]),
    ToolOption::idle_flag(&["-s", "--silent"]),
    ToolOption::idle_flag(&["-S", "--show-error"]),
    ToolOption::idle_flag(&["-g", "--globoff"]),
    ToolOption::idle_flag(&["-N", "--no-buffer"]),
    ToolOption::idle_flag(&["-#", "--progress-bar"]),
    ToolOption::idle_flag(&["--path-as-is"]),
    ToolOption::idle_flag(&["--tcp-nodelay"]),
    ToolOption::idle_flag(&["-Z", "--parallel"]),
];

fn header(state: &mut State, text: &str) -> Result<(), Expected> {
    const EXPECTED: Expected = Expected("a header field such as `Accept: text/html`, and no file");
    if let Some(name) = text.strip_suffix(';').filter(|name| is_name(name)) {
        state.headers.push((name.to_owned(), String::new()));
        return Ok(());
    }
    let (name, value) = text.split_once(':').ok_or(EXPECTED)?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() && !text.starts_with(": ") {
        // A field of HTTP/2's own, `:method: GET`.
        return Ok(());
    }
    if !is_name(name) || !is_value(value) {
        return Err(EXPECTED);
    }
    match value {
        "" => state.removed.push(name.to_owned()),
        value if name.eq_ignore_ascii_case("cookie") => state.cookies.push(value.to_owned()),
        value => state.headers.push((name.to_owned(), value.to_owned())),
    }
    Ok(())
}

/// The name and the value of a field of a form.
fn named(text: &str) -> Result<(&str, &str), Expected> {
    text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or(Expected("NAME=VALUE"))
}

fn data(state: &mut State, text: &str) -> Result<(), Expected> {
    const EXPECTED: Expected = Expected("text or @FILE, as standard input is not read");
    state.data.push(match text.strip_prefix('@') {
        Some(name) => Data::File(file_name(name).ok_or(EXPECTED)?),
        None => Data::Text(text.to_owned()),
    });
    Ok(())
}

/// The name of a file; `None` for standard input.
fn file_name(text: &str) -> Option<String> {
    Some(text).filter(|name| !matches!(*name, "" | "-" | ".")).map(str::to_owned)
}

/// Encodes the value of `NAME=VALUE`, or all of a text without a name.
pub fn encoded(text: &str) -> Result<String, Expected> {
    let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    match text.find(['=', '@']) {
        Some(at) if text[at..].starts_with('@') => Err(Expected("text, and no file")),
        Some(0) => Ok(encode(&text[1..])),
        Some(at) => Ok(format!("{}={}", &text[..at], encode(&text[at + 1..]))),
        None => Ok(encode(text)),
    }
}

#[cfg(test)]
mod tests;
