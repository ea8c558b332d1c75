//! Entries of Hurl files as steps.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use httperf_hurl as hurl;

use super::bodies::TypedBody;
use super::check::shortened;
use super::lower::Lowering;
use super::problem::Source;
use super::servers::{Servers, append, credentials};
use super::values;
use crate::HttpVersion;
use crate::material::token;
use crate::scenario::{
    Check, Operand, Pause, Predicate, Query, Scenarios, Step, StepHeader, StepRequest, StepText, Test, Value,
};

/// The greatest number of times that the option `repeat` makes a request.
const REPEAT_MAX: u64 = 1_000_000;

/// The requests of all files, and what they have in common.
pub(super) struct Requests {
    pub(super) list: Vec<StepRequest>,
    /// The places of their request lines.
    pub(super) places: Vec<(Arc<Source>, Range<usize>)>,
    pub(super) servers: Servers,
    /// The version of HTTP that the run speaks.
    pub(super) version: HttpVersion,
}

impl Requests {
    /// Creates an empty list.
    pub(super) fn new(version: HttpVersion) -> Self {
        Self { list: Vec::new(), places: Vec::new(), servers: Servers::default(), version }
    }
}

impl Lowering<'_, '_> {
    /// Returns the entries of a file as steps, and adds their requests to the list. `file` is the name of the file in
    /// the names of steps.
    pub(super) fn entries(
        &mut self,
        file: &str,
        entries: &[hurl::Entry],
        requests: &mut Requests,
    ) -> Vec<Step> {
        let names = step_names(file, entries);
        let mut steps = Vec::new();
        for (entry, name) in entries.iter().zip(names) {
            if requests.list.len() >= Scenarios::FIGURES_MAX {
                let most = Scenarios::FIGURES_MAX;
                self.problem(
                    &entry.request.span,
                    format!("expected at most {most} requests in all files"),
                    None,
                );
                break;
            }
            let origin = format!("{file}:{}", entry.line);
            steps.extend(self.entry(entry, name, origin, requests));
        }
        steps
    }

    fn entry(
        &mut self,
        entry: &hurl::Entry,
        name: String,
        origin: String,
        requests: &mut Requests,
    ) -> Vec<Step> {
        let options = self.options(&entry.request.options);
        if options.is_skipped {
            return Vec::new();
        }
        let request = self.request(entry, name, origin, options.follows, requests);
        let think = self.think(entry);
        let place = u32::try_from(requests.list.len()).ok();
        let (Some(request), Some(place)) = (request, place) else { return Vec::new() };
        requests.list.push(request);
        requests.places.push((Arc::clone(self.source), entry.request.span.clone()));
        let mut call: Vec<Step> = think.into_iter().chain(options.delay).collect();
        call.push(Step::Call { request: place, ends_on_failure: false });
        let mut steps = options.assignments;
        match options.repeat {
            None => steps.extend(call),
            Some(0) => return Vec::new(),
            Some(times) => steps.push(Step::Repeat { min: times, max: times, steps: call }),
        }
        steps
    }

    /// Returns the pause of `# @think`.
    fn think(&mut self, entry: &hurl::Entry) -> Option<Step> {
        let comment = entry.comments.iter().find(|comment| comment.name == hurl::CommentName::Think)?;
        let pause = values::pause(&comment.value);
        if pause.is_none() {
            let message = format!(
                "expected a pause such as 3s, uniform(1s, 3s), exp(3s) or lognormal(3s, 0.5), got `{}`",
                shortened(&comment.value)
            );
            self.problem(&comment.span, message, None);
        }
        pause.map(Step::Think)
    }

    fn request(
        &mut self,
        entry: &hurl::Entry,
        name: String,
        origin: String,
        follows: bool,
        requests: &mut Requests,
    ) -> Option<StepRequest> {
        let hurl::Entry { request, response, .. } = entry;
        let url = self.url(request, &mut requests.servers);
        let body = self.request_body(request);
        let headers = self.headers(request, body.as_ref());
        let reply =
            response.as_ref().map(|response| self.reply(response, requests.version)).unwrap_or_default();
        let (target, uri) = url?;
        Some(StepRequest {
            name,
            origin,
            method: request.method.clone(),
            target,
            uri,
            headers,
            body: body.map(|body| body.parts),
            follows,
            status: reply.status,
            captures: reply.captures,
            checks: reply.checks,
            websocket: None,
        })
    }

    /// Returns the header fields: those of the file, and those that follow from the rest of the request.
    fn headers(&mut self, request: &hurl::Request, body: Option<&TypedBody>) -> Vec<StepHeader> {
        let mut headers: Vec<StepHeader> =
            request.headers.iter().filter_map(|header| self.header(header)).collect();
        let has = |headers: &[StepHeader], name: &str| {
            headers.iter().any(|header| header.name.eq_ignore_ascii_case(name))
        };
        if !has(&headers, "Accept") {
            headers.insert(0, StepHeader { name: "Accept".to_owned(), value: StepText::literal(b"*/*") });
        }
        if let Some(content_type) = body.and_then(|body| body.content_type.as_ref())
            && !has(&headers, "Content-Type")
        {
            let value = StepText::literal(content_type.as_bytes());
            headers.push(StepHeader { name: "Content-Type".to_owned(), value });
        }
        if !request.cookies.is_empty() {
            let mut value = StepText::default();
            for (index, cookie) in request.cookies.iter().enumerate() {
                value.push_literal(if index == 0 { b"" } else { b"; " });
                append(&mut value, self.text(&cookie.key));
                value.push_literal(b"=");
                append(&mut value, self.text(&cookie.value));
            }
            headers.push(StepHeader { name: "Cookie".to_owned(), value });
        }
        join_cookies(&mut headers);
        if let Some(user) = &request.basic_auth {
            let mut text = self.text(&user.key);
            text.push_literal(b":");
            append(&mut text, self.text(&user.value));
            headers.push(StepHeader { name: "Authorization".to_owned(), value: credentials(text) });
        }
        headers
    }

    fn header(&mut self, header: &hurl::KeyValue) -> Option<StepHeader> {
        let name = self.fixed(&header.key, "a name")?;
        let value = self.text(&header.value);
        if token(name.as_bytes()).is_none() {
            let message = format!("expected the name of a header field, got `{}`", shortened(&name));
            self.problem(&header.key.span, message, None);
            return None;
        }
        if ["Content-Length", "Transfer-Encoding"].iter().any(|framing| name.eq_ignore_ascii_case(framing)) {
            let message = format!("expected no `{name}`, which follows from the body");
            self.problem(&header.span, message, Some("leave it out".to_owned()));
            return None;
        }
        let is_control = |byte: &u8| *byte != b'\t' && byte.is_ascii_control();
        let has_control = |bytes: &[u8]| bytes.iter().any(is_control);
        if value
            .parts
            .iter()
            .any(|part| matches!(part, crate::scenario::TextPart::Literal(bytes) if has_control(bytes)))
        {
            self.problem(&header.value.span, "expected a value without control characters", None);
            return None;
        }
        Some(StepHeader { name, value })
    }

    fn reply(&mut self, response: &hurl::Response, version: HttpVersion) -> Reply {
        self.version(response, version);
        let mut checks: Vec<Check> =
            response.headers.iter().map(|header| self.header_check(header)).collect();
        checks.extend(response.body.as_ref().and_then(|body| self.body_check(body)));
        let captures = response.captures.iter().filter_map(|capture| self.capture(capture)).collect();
        checks.extend(response.asserts.iter().filter_map(|assert| self.check(assert)));
        let status = match response.status {
            hurl::Status::Any => None,
            hurl::Status::Number(status) => Some(status),
        };
        Reply { status, captures, checks }
    }

    /// Checks that a reply may have the version of HTTP that is expected of it.
    fn version(&mut self, response: &hurl::Response, version: HttpVersion) {
        let (is_spoken, option) = match response.version {
            hurl::Version::Any => return,
            hurl::Version::Http10 => (version == HttpVersion::Http10, Some("1.0")),
            hurl::Version::Http11 => {
                (matches!(version, HttpVersion::Http11 | HttpVersion::Auto), Some("1.1"))
            }
            hurl::Version::Http2 => (version.may_be_http2(), Some("2")),
            hurl::Version::Http3 => (version == HttpVersion::Http3, Some("3")),
        };
        if is_spoken {
            return;
        }
        let spoken = match version {
            HttpVersion::Http10 => "HTTP/1.0",
            HttpVersion::Http11 => "HTTP/1.1",
            HttpVersion::Http2 => "HTTP/2",
            HttpVersion::Http3 => "HTTP/3",
            HttpVersion::Auto => "HTTP/2 or HTTP/1.1",
        };
        let message = format!("expected a version that the run speaks ({spoken}), or HTTP for any");
        let hint = match option {
            Some(option) => format!("`http-version = \"{option}\"` in `[options]` speaks this one"),
            None => "write HTTP".to_owned(),
        };
        let at = response.span.start..response.span.end;
        self.problem(&at, message, Some(hint));
    }

    fn header_check(&mut self, header: &hurl::KeyValue) -> Check {
        let query = Query::Header(self.text(&header.key));
        let operand = super::lower::text_operand(self.text(&header.value));
        Check {
            query,
            filters: Vec::new(),
            predicate: Predicate { not: false, test: Test::Equals(operand) },
            label: self.written(&header.span),
        }
    }

    fn options(&mut self, options: &[hurl::RequestOption]) -> Options {
        let mut all = Options::default();
        for hurl::RequestOption { setting, span } in options {
            match setting {
                hurl::Setting::Delay(delay) => {
                    let delay = self.setting(delay, span, "a time such as 500ms", |value| match value {
                        Value::Integer(milliseconds) => {
                            Some(Duration::from_millis(u64::try_from(*milliseconds).ok()?))
                        }
                        Value::Text(text) => values::duration(text),
                        _ => None,
                    });
                    all.delay = delay.map(|length| Step::Think(Pause::Fixed { length }));
                }
                hurl::Setting::Skip(skip) => {
                    all.is_skipped = self.setting(skip, span, "true or false", truth).unwrap_or_default();
                }
                hurl::Setting::Location(location) => {
                    all.follows = self.setting(location, span, "true or false", truth).unwrap_or_default();
                }
                hurl::Setting::Repeat(times) => all.repeat = self.repeat(times, span),
                hurl::Setting::Variable { name, value } => {
                    if let (Some(slot), Some(value)) = (self.slot(name, span), self.operand(value, span)) {
                        all.assignments.push(Step::Set { slot, value });
                    }
                }
            }
        }
        all
    }

    fn repeat(&mut self, times: &hurl::Fixed<u64>, span: &Range<usize>) -> Option<u32> {
        let expected = "a number of times";
        let times = self.setting(times, span, expected, |value| match value {
            Value::Integer(times) => u64::try_from(*times).ok(),
            _ => None,
        })?;
        if times > REPEAT_MAX {
            self.problem(span, format!("expected {expected} of at most {REPEAT_MAX}, got {times}"), None);
            return None;
        }
        u32::try_from(times).ok()
    }

    /// Returns the value of an option, which must be known before the run; `None` after a problem with it.
    fn setting<T: Copy>(
        &mut self,
        setting: &hurl::Fixed<T>,
        span: &Range<usize>,
        expected: &str,
        convert: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<T> {
        let expression = match setting {
            hurl::Fixed::Value(value) => return Some(*value),
            hurl::Fixed::Expression(expression) => expression,
        };
        let constant = match self.expression_operand(expression)? {
            Operand::Value(value) => convert(&value),
            Operand::Text(_) | Operand::Variable(_) => None,
        };
        if constant.is_none() {
            let shown = shortened(&self.written(&expression.span));
            let message = format!("expected {expected} that is known before the run, got `{shown}`");
            self.problem(span, message, Some("constants are set with `[variables]`".to_owned()));
        }
        constant
    }
}

/// Joins the fields with cookies: a request has one (RFC 6265, section 5.4).
fn join_cookies(headers: &mut Vec<StepHeader>) {
    let is_cookie = |header: &StepHeader| header.name.eq_ignore_ascii_case("Cookie");
    let Some(first) = headers.iter().position(is_cookie) else { return };
    let (own, others): (Vec<_>, Vec<_>) = headers.split_off(first + 1).into_iter().partition(is_cookie);
    for header in own {
        headers[first].value.push_literal(b"; ");
        append(&mut headers[first].value, header.value);
    }
    headers.extend(others);
}

fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Boolean(truth) => Some(*truth),
        _ => None,
    }
}

/// The options of a request.
#[derive(Default)]
struct Options {
    assignments: Vec<Step>,
    delay: Option<Step>,
    is_skipped: bool,
    repeat: Option<u32>,
    follows: bool,
}

/// The expectations of a reply.
#[derive(Default)]
struct Reply {
    status: Option<u16>,
    captures: Vec<crate::scenario::Capture>,
    checks: Vec<Check>,
}

/// Returns the names of the entries as steps. Those of the same name are told apart by their lines.
fn step_names(file: &str, entries: &[hurl::Entry]) -> Vec<String> {
    let name = |entry: &hurl::Entry| {
        let comment = entry.comments.iter().find(|comment| comment.name == hurl::CommentName::Name);
        comment.map(|comment| comment.value.clone())
    };
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    for name in entries.iter().filter_map(name) {
        *uses.entry(name).or_default() += 1;
    }
    let unique = |entry: &hurl::Entry| match name(entry) {
        Some(name) if uses.get(&name) == Some(&1) => name,
        Some(name) => format!("{name}:{}", entry.line),
        None => format!("{file}:{}", entry.line),
    };
    entries.iter().map(unique).collect()
}

/// Returns the names that the requests of a file set during a visit.
pub(super) fn assigned(entries: &[hurl::Entry]) -> impl Iterator<Item = &str> {
    entries.iter().flat_map(|entry| {
        let options = entry.request.options.iter().filter_map(|option| match &option.setting {
            hurl::Setting::Variable { name, .. } => Some(&name[..]),
            _ => None,
        });
        let captures = entry.response.iter().flat_map(|response| &response.captures);
        options.chain(captures.map(|capture| &capture.name[..]))
    })
}
