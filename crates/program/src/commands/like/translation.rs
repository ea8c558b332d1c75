//! A load in the form that all tools share, and the command line of httperf that offers it.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use httperf_import::words::Expected;
use httperf_plan::url::HttpUrl;

use crate::commands::sweep;

/// A load as another tool's command line describes it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Load {
    /// The tool's name, for notes.
    pub(super) tool: &'static str,
    /// The target.
    pub(super) target: Option<Target>,
    /// The schedule of requests.
    pub(super) pace: Pace,
    /// The connections at a time.
    pub(super) connections: u64,
    /// It has no number of connections for a rate of requests, but opens what it needs.
    pub(super) opens_as_needed: bool,
    /// The worker threads, if the tool's command line fixes them.
    pub(super) threads: Option<u64>,
    /// The requests outstanding on each connection.
    pub(super) outstanding: u64,
    /// The requests in all.
    pub(super) count: Option<u64>,
    /// The time for which requests are sent, in seconds.
    pub(super) duration: Option<f64>,
    /// The unmeasured time before it, in seconds.
    pub(super) warmup: Option<f64>,
    /// The time for which the tool then waits for replies, in seconds.
    pub(super) drain: Option<f64>,
    /// The time limit of a request, in seconds.
    pub(super) timeout: Option<f64>,
    /// True if connections carry more than one request.
    pub(super) keep_alive: bool,
    /// The version of HTTP.
    pub(super) version: Version,
    /// The method, if it was named.
    pub(super) method: Option<String>,
    /// The header fields that were asked for, as `Name: value`.
    pub(super) headers: Vec<String>,
    /// `USER:PASSWORD` of Basic authentication.
    pub(super) credentials: Option<String>,
    /// The body.
    pub(super) body: Option<Body>,
    /// The type that the tool gives a body, unless a header field does.
    pub(super) body_type: Option<String>,
    /// The codings that the tool asks for by itself.
    pub(super) accept_encoding: Option<&'static str>,
    /// True if the tool sends a `User-Agent` of its own.
    pub(super) names_itself: bool,
    /// True if the tool checks the server's certificate.
    pub(super) verifies: bool,
    /// True if the tool follows redirects.
    pub(super) follows_redirects: bool,
    /// Further options of httperf, which need no arrangement.
    pub(super) further: Vec<String>,
    /// Sentences about what cannot be the same.
    pub(super) notes: Vec<String>,
}

/// The target of the requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A URL.
    Url {
        /// The URL, with scheme and without credentials.
        text: String,
        /// Its parts.
        parts: HttpUrl,
    },
    /// A file of whole requests.
    List {
        /// The name of the file.
        file: String,
        /// True if its URLs begin with `https://`.
        https: bool,
    },
}

/// The event that a request waits for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pace {
    /// None: there is a single request.
    Once,
    /// The reply to the request before it on its connection.
    Replies,
    /// Its turn in a schedule.
    Requests {
        /// The requests per second, over all connections.
        rate: f64,
        /// True if each connection has a schedule of its own.
        per_connection: bool,
    },
    /// The reply before it, on connections that are opened at a rate per second.
    Connections(f64),
    /// The same at one rate after the other.
    Sweep {
        /// The first rate.
        low: f64,
        /// The last.
        high: f64,
        /// From each to the next.
        step: f64,
    },
}

/// The version of HTTP that a tool speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1.
    Http11,
    /// HTTP/2, known beforehand.
    Http2,
    /// HTTP/3.
    Http3,
    /// HTTP/2 if the handshake of TLS agrees on it, else HTTP/1.1.
    Negotiated,
}

/// The body of requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// This text.
    Text(String),
    /// These bytes.
    Bytes(Vec<u8>),
    /// The contents of the file of this name.
    File(String),
    /// A form of these fields, as `NAME=VALUE` or `NAME=@FILE`.
    Form(Vec<String>),
}

impl Load {
    /// A closed loop over one connection that is kept, without options.
    pub(super) fn new(tool: &'static str) -> Self {
        Self {
            tool,
            target: None,
            pace: Pace::Replies,
            connections: 1,
            opens_as_needed: false,
            threads: None,
            outstanding: 1,
            count: None,
            duration: None,
            warmup: None,
            drain: None,
            timeout: None,
            keep_alive: true,
            version: Version::Http11,
            method: None,
            headers: Vec::new(),
            credentials: None,
            body: None,
            body_type: None,
            accept_encoding: None,
            names_itself: true,
            verifies: false,
            follows_redirects: false,
            further: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Adds an option of httperf that has a value.
    pub(super) fn add(&mut self, option: &str, value: impl Into<String>) {
        self.further.extend([option.to_owned(), value.into()]);
    }

    /// Adds a header field. Of fields that occur once the last counts.
    pub(super) fn header(&mut self, line: &str) -> Result<(), Expected> {
        let name = line.split_once(':').map(|(name, _)| name.trim()).filter(|name| !name.is_empty());
        let name = name.ok_or(Expected("a header field such as `Accept: text/html`"))?;
        if is_any(name, &["Host", "User-Agent", "Content-Type"]) {
            self.remove_header(name);
        }
        self.headers.push(line.to_owned());
        Ok(())
    }

    /// Removes the header fields of a name.
    pub(super) fn remove_header(&mut self, name: &str) {
        self.headers.retain(|line| !has_name(line, name));
    }

    /// Returns whether there is a header field of this name.
    pub(super) fn has_header(&self, name: &str) -> bool {
        self.headers.iter().any(|line| has_name(line, name))
    }

    /// Takes the URL among a tool's other words. `default_scheme` is that of a word without one, if the tool has such a
    /// default.
    ///
    /// # Errors
    /// A sentence, unless there is exactly one URL of a server.
    pub(super) fn take_url(&mut self, words: &[String], default_scheme: Option<&str>) -> Result<(), String> {
        let [word] = words else {
            let got = if words.is_empty() { "none".to_owned() } else { format!("`{}`", words.join(" ")) };
            return Err(format!("expected one URL such as http://host:8080/path, got {got}"));
        };
        let mut text = match default_scheme {
            Some(scheme) if !word.contains("://") => format!("{scheme}://{word}"),
            _ => word.clone(),
        };
        if let Some((start, credentials, end)) = credentials_in(&text) {
            self.credentials.get_or_insert(credentials);
            text = format!("{start}{end}");
        }
        let parts = HttpUrl::parse(text.as_bytes()).map_err(|reason| {
            format!("expected a URL such as http://host:8080/path, got `{word}` ({reason})")
        })?;
        self.target = Some(Target::Url { text, parts });
        Ok(())
    }

    fn is_https(&self) -> bool {
        match &self.target {
            Some(Target::Url { parts, .. }) => parts.https,
            Some(Target::List { https, .. }) => *https,
            None => false,
        }
    }

    /// The words behind `httperf` that offer this load, and the notes about it.
    pub(super) fn into_words(mut self) -> (Vec<OsString>, Vec<String>) {
        let mut words = Words(Vec::new());
        let is_sweep = matches!(self.pace, Pace::Sweep { .. });
        if is_sweep {
            words.0.push(sweep::COMMAND.name.into());
        }
        if let Some(Target::List { file, .. }) = &self.target {
            words.option("--targets", file);
        }
        self.load_words(&mut words);
        self.version_words(&mut words);
        self.request_words(&mut words);
        if self.verifies && self.is_https() {
            words.flag("--ssl-verify");
        }
        words.0.extend(self.further.drain(..).map(OsString::from));
        let sizes_buffers = words.0.iter().any(|word| word == "--send-buffer");
        if self.pace != Pace::Once && !is_sweep && !sizes_buffers {
            words.flag("--system-buffers");
        }
        if self.follows_redirects {
            let note = format!(
                "{} follows redirects; here a redirect is the reply: use the URL that it leads to",
                self.tool
            );
            self.notes.push(note);
        }
        if let Some(Target::Url { text, .. }) = self.target.take() {
            // Behind the options, as POSIXLY_CORRECT makes a word end them.
            words.0.push(text.into());
        }
        self.note_placeholders(&words.0);
        self.note_agent();
        self.note_pace();
        (words.0, self.notes)
    }

    fn load_words(&mut self, words: &mut Words) {
        match self.pace {
            Pace::Once => {}
            Pace::Replies => self.closed_loop(words),
            Pace::Requests { rate, per_connection } if self.keep_alive => {
                words.option("--request-rate", rate.to_string());
                if !self.opens_as_needed {
                    words.option("--concurrency", self.connections.to_string());
                }
                if per_connection {
                    words.flag("--per-connection");
                }
                if let Some(count) = self.count {
                    words.option("--num-calls", count.to_string());
                }
            }
            Pace::Requests { rate, .. } => {
                words.option("--rate", rate.to_string());
                if !self.opens_as_needed {
                    words.option("--concurrency", self.connections.to_string());
                }
                if let Some(count) = self.count {
                    words.option("--num-conns", count.to_string());
                }
            }
            Pace::Sweep { low, high, step } => {
                words.option("--rates", format!("{low}..{high}/{step}"));
                if let Some(count) = self.count.filter(|_| self.duration.is_none()) {
                    words.option("--num-conns", count.to_string());
                }
            }
            Pace::Connections(rate) => {
                words.option("--rate", rate.to_string());
                words.option("--num-conns", self.connections.to_string());
                let calls = self.calls_per_connection();
                words.option("--num-calls", calls.unwrap_or(1).to_string());
            }
        }
        if let Some(duration) = self.duration {
            words.option("--duration", duration.to_string());
        }
        for (option, seconds) in
            [("--warmup", self.warmup), ("--drain", self.drain), ("--timeout", self.timeout)]
        {
            if let Some(seconds) = seconds.filter(|&seconds| seconds > 0.0) {
                words.option(option, seconds.to_string());
            }
        }
        if let Some(threads) =
            self.threads.map(|threads| threads.min(self.connections)).filter(|&threads| threads > 1)
        {
            words.option("--threads", threads.to_string());
        }
    }

    fn closed_loop(&mut self, words: &mut Words) {
        self.connections = self.connections.min(self.count.unwrap_or(u64::MAX));
        words.option("--concurrency", self.connections.to_string());
        if !self.keep_alive {
            if let Some(count) = self.count {
                words.option("--num-conns", count.to_string());
            } else {
                words.option("--num-calls", "1");
            }
        } else if let Some(calls) = self.calls_per_connection() {
            if self.duration.is_some() {
                // A duration alone would replace the connections that have made their calls.
                words.option("--num-conns", self.connections.to_string());
            }
            words.option("--num-calls", calls.to_string());
        }
    }

    /// The calls of each connection if their number is fixed, with notes about what that changes.
    fn calls_per_connection(&mut self) -> Option<u64> {
        let (count, connections) = (self.count?, self.connections);
        let calls = count.div_ceil(connections);
        if calls.saturating_mul(connections) != count {
            self.notes.push(format!(
                "{count} requests cannot be shared equally by {connections} connections: each makes {calls}, {} in all",
                calls.saturating_mul(connections)
            ));
        }
        if calls > SURELY_KEPT && !matches!(self.version, Version::Http2 | Version::Http3) {
            self.notes.push(format!(
                "a connection that the server closes before its {calls} requests are made is not replaced, which leaves \
                 requests out; in a run with --duration and without --num-calls it is"
            ));
        }
        Some(calls)
    }

    fn version_words(&mut self, words: &mut Words) {
        let version = match (self.version, self.is_https()) {
            (Version::Http10, _) => "1.0",
            (Version::Http11, _) | (Version::Negotiated, false) => "",
            (Version::Http2, _) => "2",
            (Version::Http3, _) => "3",
            (Version::Negotiated, true) => "auto",
        };
        if !version.is_empty() {
            words.option("--http-version", version);
            // None of the tools goes over to HTTP/3 in the middle of a load.
            if version == "auto" && self.pace != Pace::Once {
                words.flag("--ignore-alt-svc");
            }
        }
        if self.outstanding > 1 && self.pace != Pace::Once {
            let has_streams = ["2", "3", "auto"].contains(&version);
            words.option(if has_streams { "--streams" } else { "--pipeline" }, self.outstanding.to_string());
        }
    }

    fn request_words(&mut self, words: &mut Words) {
        let usual = if self.body.is_some() { "POST" } else { "GET" };
        let method = self.method.take().unwrap_or_else(|| "GET".to_owned());
        if method != usual {
            words.option("--method", method);
        }
        let is_binary = matches!(self.version, Version::Http2 | Version::Http3);
        if !self.keep_alive && !is_binary && !self.has_header("Connection") {
            self.headers.push("Connection: close".to_owned());
        }
        if let Some(codings) = self.accept_encoding.filter(|_| !self.has_header("Accept-Encoding")) {
            self.headers.push(format!("Accept-Encoding: {codings}"));
        }
        let has_body = matches!(self.body, Some(Body::Text(_) | Body::Bytes(_) | Body::File(_)));
        if let Some(content_type) =
            self.body_type.take().filter(|_| has_body && !self.has_header("Content-Type"))
        {
            self.headers.push(format!("Content-Type: {content_type}"));
        }
        let follows_from_body = |line: &String| {
            is_any(
                line.split(':').next().unwrap_or_default().trim(),
                &["Content-Length", "Transfer-Encoding"],
            )
        };
        for line in self.headers.extract_if(.., |line| follows_from_body(line)) {
            self.notes.push(format!("`{line}` is left out, as it follows from the body"));
        }
        for line in &self.headers {
            words.option("--header", line);
        }
        if let Some(credentials) = self.credentials.take().filter(|_| !self.has_header("Authorization")) {
            words.option("--basic-auth", credentials);
        }
        match self.body.take() {
            None => {}
            Some(Body::Text(text)) => words.option("--body", text),
            Some(Body::Bytes(bytes)) => words.option("--body", OsString::from_vec(bytes)),
            Some(Body::File(file)) => words.option("--body-file", file),
            Some(Body::Form(fields)) => {
                if !fields.iter().any(|field| field.contains("=@")) {
                    let note = "a form without a file is sent as application/x-www-form-urlencoded, not as multipart";
                    self.notes.push(note.to_owned());
                }
                fields.into_iter().for_each(|field| words.option("--form", field));
            }
        }
    }

    fn note_placeholders(&mut self, words: &[OsString]) {
        let placeholders = ["{seq}", "{uuid}", "{rand:"];
        let found =
            placeholders.iter().find(|text| words.iter().any(|word| word.to_string_lossy().contains(*text)));
        if let Some(text) = found {
            self.notes
                .push(format!("`{text}` has a meaning here, which --body in `httperf --help` explains"));
        }
    }

    fn note_agent(&mut self) {
        if self.has_header("User-Agent") {
            return;
        }
        let ours = concat!("User-Agent is `httperf/", env!("CARGO_PKG_VERSION"), "`");
        self.notes.push(match self.names_itself {
            true => format!("{ours}, not that of {}; --header sets it", self.tool),
            false => format!("{ours}, which {} does not send; --header sets it", self.tool),
        });
    }

    fn note_pace(&mut self) {
        let change = match (self.pace, self.count) {
            (Pace::Requests { .. } | Pace::Connections(_) | Pace::Sweep { .. }, _)
            | (Pace::Replies, Some(1)) => return,
            (Pace::Once, _) => {
                let note = "this is a single request; --request-rate R --duration X sends R per second for X seconds";
                return self.notes.push(note.to_owned());
            }
            (Pace::Replies, _) if !self.keep_alive => "--rate R".to_owned(),
            (Pace::Replies, None) => "--request-rate R".to_owned(),
            (Pace::Replies, Some(count)) => {
                let calls = count.div_ceil(self.connections);
                let connections = match self.duration {
                    Some(_) => format!("--num-conns {} ", self.connections),
                    None => String::new(),
                };
                format!("--request-rate R --num-calls {count} in place of {connections}--num-calls {calls}")
            }
        };
        self.notes.push(format!(
            "{} waits for each reply before the next request; {change} keeps a schedule of R per second when the server \
             is slow",
            self.tool
        ));
    }
}

/// The number of requests on a connection that servers allow, unless they are set up otherwise: Apache has the smallest
/// default.
const SURELY_KEPT: u64 = 100;

/// The words of a command line.
struct Words(Vec<OsString>);

impl Words {
    fn flag(&mut self, name: &str) {
        self.0.push(name.into());
    }

    fn option(&mut self, name: &str, value: impl Into<OsString>) {
        self.0.extend([name.into(), value.into()]);
    }
}

fn has_name(line: &str, name: &str) -> bool {
    line.split(':').next().is_some_and(|start| start.trim().eq_ignore_ascii_case(name))
}

fn is_any(name: &str, names: &[&str]) -> bool {
    names.iter().any(|other| name.eq_ignore_ascii_case(other))
}

/// A URL's part before its credentials, the credentials, and the part behind them.
fn credentials_in(url: &str) -> Option<(&str, String, &str)> {
    let authority = url.find("://")? + 3;
    let end = url[authority..].find(['/', '?', '#']).map_or(url.len(), |length| authority + length);
    let at = authority + url[authority..end].rfind('@')?;
    let decoded = percent_encoding::percent_decode_str(&url[authority..at]).decode_utf8_lossy().into_owned();
    let credentials = if decoded.contains(':') { decoded } else { decoded + ":" };
    Some((&url[..authority], credentials, &url[at + 1..]))
}
