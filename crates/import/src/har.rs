//! Recordings of browsers: HTTP Archives, version 1.2.
//!
//! Each page becomes a file of steps and a scenario, or a part of the only scenario; entries without a page make one of
//! their own. Requests follow
//! each other in the order in which they started. A pause of [`PAUSE_MIN`] or more between the end of all earlier
//! requests of the page and the next start becomes a think time; shorter ones are the browser's own.
//!
//! <http://www.softwareishard.com/blog/har-12-spec/>

use std::collections::{HashMap, HashSet};
use std::io::{BufReader, Read};
use std::time::Duration;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer};
use serde_json::Value;
use url::Url;

use crate::clock;
use crate::error::{Error, Flaw};
use crate::headers::{is_method, is_name, is_of_the_browser, is_of_the_connection, is_value};
use crate::json::Mended;
use crate::report::{Report, shortened};
use crate::text::unmarked;
use crate::workload::{
    Body, Entry, FileName, OTHER_SCHEME, PAUSE_MAX, Part, REQUESTS_MAX, Scenario, Step, StepFile, TOO_MANY,
    Text, Workload, file_stem,
};

/// The shortest pause that is a think time.
pub const PAUSE_MIN: Duration = Duration::from_millis(100);

/// The choices about an import of an archive.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// True to carry over requests to all origins, and not to the main one alone.
    pub all_origins: bool,
    /// True to make one scenario of the whole recording, and not one of each page.
    pub one_visit: bool,
}

/// Reads an archive.
///
/// # Errors
/// If it cannot be read, or has no request that can be carried over.
pub fn read(reader: impl Read, options: Options) -> Result<(Workload, Report), Error> {
    let mended = BufReader::new(Mended::new(unmarked(reader)?));
    let archive: Archive = serde_json::from_reader(mended).map_err(|error| {
        if error.is_io() { Error::Read(error.into()) } else { Flaw::json(&error, 1).into() }
    })?;
    let mut report = Report::default();
    let log = archive.log;
    if log.entries.is_empty() {
        return Err(Flaw::whole("expected an archive with entries, got none").into());
    }
    let requests: Vec<Request> =
        log.entries.into_iter().filter_map(|Lenient(entry)| Request::of(entry, &mut report)).collect();
    let main = main_origin(&requests).ok_or_else(|| no_requests(&report))?;
    let requests = carried(requests, &main, options, &mut report);
    let pages = by_page(requests, &log.pages);
    let made = if options.one_visit {
        "the recording as one visit"
    } else {
        "a scenario for each page of the recording"
    };
    let mut importer = Importer {
        base: main.clone(),
        cookies: false,
        credentials: 0,
        workload: Workload {
            comments: vec![format!("Made by httperf import har: {made}.")],
            base: Some(main),
            ..Workload::default()
        },
    };
    let mut taken = HashSet::new();
    let mut whole = Vec::new();
    let mut end_of_page: Option<i64> = None;
    for page in pages {
        let name = file_stem(&page.title, "page", &mut taken);
        let file = format!("{name}.hurl");
        let begin = page.requests.iter().map(|request| request.start).min().unwrap_or(0);
        let steps = vec![Step::Run(file.clone())];
        if let Some(pause) = end_of_page.and_then(|end| pause(end, begin)) {
            whole.push(Step::Think(pause));
            // The pause before this page follows the page before.
            if let Some(Scenario { steps, .. }) = importer.workload.scenarios.last_mut() {
                steps.push(Step::Think(pause));
            }
        }
        end_of_page = page.requests.iter().map(Request::end).chain(end_of_page).max();
        report.carried += u64::try_from(page.requests.len()).unwrap_or(u64::MAX);
        let entries = importer.entries(page.requests, &mut report);
        let workload = &mut importer.workload;
        workload.files.push(StepFile { name: file.clone(), comments: vec![page.title.clone()], entries });
        whole.push(Step::Run(file));
        workload.scenarios.push(Scenario { name: page.title, steps, disabled: None });
    }
    let Importer { mut workload, cookies, credentials, .. } = importer;
    let pages = workload.scenarios.len();
    if pages > 1 {
        add_visit(&mut workload.scenarios, whole, options);
        if !options.one_visit {
            report.note(format!(
                "each of the {pages} pages is a visit of its own, without what earlier pages set, such as a login; \
                 --one-visit makes one visit of them"
            ));
        }
    }
    unique_names(&mut workload.scenarios);
    if cookies {
        workload.options.push(("cookies".to_owned(), "true".to_owned()));
        report.note("recorded cookies are left out: a visit keeps those that the server sets");
    }
    if credentials > 0 {
        report.note(format!(
            "{credentials} requests have the recorded Authorization: it may have expired, and is a secret"
        ));
    }
    Ok((workload, report))
}

/// The requests to the origins that are asked for, as many as a workload may have.
fn carried(requests: Vec<Request>, main: &str, options: Options, report: &mut Report) -> Vec<Request> {
    let scheme = main.split(':').next().unwrap_or_default();
    let mut carried = Vec::new();
    for request in requests {
        let reason = if !options.all_origins && request.origin() != main {
            "requests to other origins (--all-origins takes them)"
        } else if request.url.scheme() != scheme {
            OTHER_SCHEME
        } else if carried.len() == REQUESTS_MAX {
            TOO_MANY
        } else {
            carried.push(request);
            continue;
        };
        report.leave_out(reason, || request.url.to_string());
    }
    carried
}

/// Adds the recording as one visit: instead of its pages if that is asked for, and else as what may be used instead.
fn add_visit(scenarios: &mut Vec<Scenario>, steps: Vec<Step>, options: Options) {
    let recording = Scenario { name: "recording".to_owned(), steps, disabled: None };
    if options.one_visit {
        *scenarios = vec![recording];
    } else {
        let disabled = Some("Instead of the scenarios above: the recording as one visit.".to_owned());
        scenarios.push(Scenario { disabled, ..recording });
    }
}

fn no_requests(report: &Report) -> Flaw {
    let reason =
        report.left_out.first().map_or_else(String::new, |first| format!(", as of {}", first.reason));
    Flaw::whole(format!(
        "expected requests that can be carried over, got {} others{reason}",
        report.left_out_count()
    ))
}

/// A request that can be carried over.
#[derive(Debug)]
struct Request {
    url: Url,
    /// The start and the duration, in nanoseconds.
    start: i64,
    took: i64,
    page: Option<String>,
    request: HarRequest,
    status: Option<u16>,
    /// True if the reply is a page of HTML.
    is_document: bool,
}

impl Request {
    /// The request of an entry, unless it is of a kind that is left out.
    fn of(entry: HarEntry, report: &mut Report) -> Option<Self> {
        let shown = format!("{} {}", entry.request.method, entry.request.url);
        let mut leave = |reason: &str| {
            report.leave_out(reason, || shown.clone());
            None
        };
        let Some((scheme, _)) = entry.request.url.split_once(':') else {
            return leave("entries without a URL");
        };
        let status = entry.response.as_ref().and_then(HarResponse::status);
        match &scheme.to_ascii_lowercase()[..] {
            "ws" | "wss" => return leave("web sockets"),
            "http" | "https" => {}
            "data" | "blob" => return leave("data: and blob: URLs"),
            _ => return leave("URLs that are not of HTTP"),
        }
        if status == Some(101) || entry.resource_type.eq_ignore_ascii_case("websocket") {
            return leave("web sockets");
        }
        let response = entry.response.unwrap_or_default();
        if is_true(&entry.from_cache) || is_true(&response.from_disk_cache) {
            return leave("replies from the browser's cache");
        }
        if status == Some(0) {
            return leave("requests that failed or were blocked");
        }
        if !is_method(&entry.request.method) || entry.request.method == "CONNECT" {
            return leave("entries without a method");
        }
        let method = &entry.request.method;
        if !method.bytes().all(|byte| byte.is_ascii_uppercase()) || method == "HTTP" {
            return leave("requests whose method a file of steps cannot have");
        }
        let Ok(url) = Url::parse(&entry.request.url) else { return leave("entries without a URL") };
        let start = clock::from_rfc3339(entry.started.as_bytes());
        if start.is_none() {
            report.note("some entries do not tell when they started: they have no pause before them");
        }
        // A reply from the cache of a browser that asked whether it is still valid; the new request does not ask.
        let status = if status == Some(304) { Some(200) } else { status };
        let status = status
            .and_then(|status| u16::try_from(status).ok())
            .filter(|status| (100..1000).contains(status));
        if status.is_none() {
            report.note("some entries have no response: any status is expected of them");
        }
        let is_html = response.content.mime_type.trim_start().to_ascii_lowercase();
        let is_html = ["text/html", "application/xhtml+xml"].iter().any(|kind| is_html.starts_with(kind));
        let is_document = is_html && status.is_some_and(|status| (200..300).contains(&status));
        let took = Duration::try_from_secs_f64(entry.time / 1e3).unwrap_or_default();
        let took = i64::try_from(took.as_nanos()).unwrap_or(i64::MAX);
        let page = Some(entry.page).filter(|page| !page.is_empty());
        let start = start.unwrap_or(i64::MIN);
        Some(Self { url, start, took, page, request: entry.request, status, is_document })
    }

    fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    fn end(&self) -> i64 {
        self.start.saturating_add(self.took)
    }
}

/// The origin of the first page of HTML. Of a recording without pages, that of most requests; of several, the first.
fn main_origin(requests: &[Request]) -> Option<String> {
    // Recordings have their entries in order of start, or nearly.
    let documents = requests.iter().filter(|request| request.is_document);
    if let Some(document) = documents.min_by_key(|request| request.start) {
        return Some(document.origin());
    }
    let mut counts: HashMap<String, usize> = HashMap::new();
    for request in requests {
        *counts.entry(request.origin()).or_default() += 1;
    }
    let most = counts.values().max().copied()?;
    requests.iter().map(Request::origin).find(|origin| counts.get(origin) == Some(&most))
}

/// The requests of a page.
struct Page {
    title: String,
    requests: Vec<Request>,
}

/// Groups requests by page. Pages, and the requests of each, are in order of start.
fn by_page(requests: Vec<Request>, pages: &[HarPage]) -> Vec<Page> {
    let mut groups: Vec<(Option<String>, Page)> = Vec::new();
    let mut places: HashMap<Option<String>, usize> = HashMap::new();
    for request in requests {
        let at = *places.entry(request.page.clone()).or_insert_with(|| {
            let page = pages.iter().find(|page| Some(&page.id) == request.page.as_ref());
            let title = page.map(|page| title(&page.title)).unwrap_or_default();
            let fallback = request.page.clone().unwrap_or_else(|| "no page".to_owned());
            let title = if title.is_empty() { fallback } else { title };
            groups.push((request.page.clone(), Page { title, requests: Vec::new() }));
            groups.len() - 1
        });
        if let Some((_, page)) = groups.get_mut(at) {
            page.requests.push(request);
        }
    }
    let mut pages: Vec<Page> = groups.into_iter().map(|(_, page)| page).collect();
    for page in &mut pages {
        page.requests.sort_by_key(|request| request.start);
    }
    pages.sort_by_key(|page| page.requests.first().map(|request| request.start));
    pages
}

/// A page's title; browsers write the URL, and its path says more.
fn title(title: &str) -> String {
    match Url::parse(title) {
        Ok(url) if url.has_host() => match url.path().trim_matches('/') {
            "" => "home".to_owned(),
            path => path.to_owned(),
        },
        _ => title.trim().to_owned(),
    }
}

/// Gives scenarios with the same name numbers.
fn unique_names(scenarios: &mut [Scenario]) {
    let mut taken = HashSet::new();
    for scenario in scenarios {
        let name = scenario.name.clone();
        let mut number = 2;
        while !taken.insert(scenario.name.clone()) {
            scenario.name = format!("{name} ({number})");
            number += 1;
        }
    }
}

/// The pause between two instants, if it is long enough.
fn pause(end: i64, start: i64) -> Option<Duration> {
    let pause = u64::try_from(start.saturating_sub(end)).ok().map(Duration::from_nanos)?;
    // An entry without a time has none.
    let known = end > 0 && start > 0;
    (known && (PAUSE_MIN..=PAUSE_MAX).contains(&pause)).then_some(pause)
}

struct Importer {
    base: String,
    workload: Workload,
    /// True if a recorded request had cookies.
    cookies: bool,
    /// The number of requests with credentials.
    credentials: u64,
}

impl Importer {
    fn entries(&mut self, requests: Vec<Request>, report: &mut Report) -> Vec<Entry> {
        let mut end: Option<i64> = None;
        let mut entries = Vec::with_capacity(requests.len());
        for request in requests {
            let think = end.and_then(|end| pause(end, request.start));
            end = Some(request.end()).max(end);
            entries.push(Entry { think, ..self.entry(request, report) });
        }
        entries
    }

    fn entry(&mut self, request: Request, report: &mut Report) -> Entry {
        let Request { url, request, status, .. } = request;
        let mut entry =
            Entry { method: request.method, url: relative(&url, &self.base), status, ..Entry::default() };
        for HarField { name, value } in request.headers {
            if is_of_the_connection(&name) || is_of_the_browser(&name) {
                continue;
            }
            if name.eq_ignore_ascii_case("cookie") {
                self.cookies = true;
                continue;
            }
            if !is_name(&name) {
                report.leave_out("header fields without a proper name", || name.clone());
                continue;
            }
            if !is_value(&value) {
                report.leave_out("header fields with control characters", || name.clone());
                continue;
            }
            self.credentials += u64::from(name.eq_ignore_ascii_case("authorization"));
            entry.headers.push((name, Text::literal(value)));
        }
        if let Some(data) = request.body {
            let kind = data.mime_type.trim().to_owned();
            let has_type = entry.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
            let body = self.body(data, report);
            let brings_type = matches!(body, Some(Body::Json(_))) && kind == "application/json";
            // Some recordings tell the type beside the body alone.
            if !has_type && !brings_type && body.is_some() && !kind.is_empty() && is_value(&kind) {
                entry.headers.push(("Content-Type".to_owned(), Text::literal(&kind)));
            }
            entry.set_body(body, Some(&kind));
        }
        entry
    }

    fn body(&mut self, data: HarData, report: &mut Report) -> Option<Body> {
        let kind = data.mime_type.to_ascii_lowercase();
        if !data.text.is_empty() {
            let is_base64 = data.encoding.eq_ignore_ascii_case("base64");
            let bytes = if is_base64 { decoded(&data.text) } else { None };
            let bytes = bytes.unwrap_or_else(|| data.text.into_bytes());
            return Body::of(&bytes, Some(&kind));
        }
        if data.params.is_empty() {
            return None;
        }
        if kind.starts_with("multipart/") {
            let mut parts = Vec::with_capacity(data.params.len());
            for param in data.params {
                if param.name.is_empty() {
                    report.note("the fields without a name of a form in parts are left out");
                    continue;
                }
                parts.push((param.name.clone(), self.part(param, report)));
            }
            return Some(Body::Multipart(parts));
        }
        Some(Body::Form(
            data.params.into_iter().map(|param| (unquoted(&param.name), unquoted(&param.value))).collect(),
        ))
    }

    /// A field of a form in parts. Of a file only the last component of its name counts: a recording that a stranger has
    /// made must not send any other file of this machine.
    fn part(&mut self, param: HarParam, report: &mut Report) -> Part {
        let Some(name) = FileName::last_of(&param.file_name) else { return Part::Text(param.value) };
        let kind = Some(param.content_type.trim()).filter(|kind| !kind.is_empty() && is_value(kind));
        let kind = kind.map(str::to_owned);
        if param.value.is_empty() {
            report.note(format!(
                "the file {} of a form is not in the archive: put it next to the workload",
                shortened(name.as_str(), 60)
            ));
            self.workload.miss(&name);
            return Part::File { name, kind };
        }
        Part::File { name: self.workload.attach(&name, param.value.into_bytes()), kind }
    }
}

/// A URL that begins with the variable of the server, if it is of this one. It has no fragment and no credentials.
pub(crate) fn relative(url: &Url, base: &str) -> Text {
    let mut whole = url.clone();
    whole.set_fragment(None);
    // These fail for URLs that cannot have credentials.
    let _ = whole.set_username("");
    let _ = whole.set_password(None);
    let origin = url.origin().ascii_serialization();
    if origin != base {
        return Text::literal(whole);
    }
    let target = &whole[url::Position::BeforePath..];
    Text::variable("base").then(target)
}

/// A parameter of a form, which browsers write as it was encoded.
pub(crate) fn unquoted(text: &str) -> String {
    if !text.contains(['%', '+']) {
        return text.to_owned();
    }
    let encoded = format!("={}", text.replace('&', "%26"));
    let mut pairs = url::form_urlencoded::parse(encoded.as_bytes());
    pairs.next().map_or_else(|| text.to_owned(), |(_, value)| value.into_owned())
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(text).ok()
}

fn is_true(value: &Value) -> bool {
    match value {
        Value::Bool(value) => *value,
        Value::String(text) => !text.is_empty(),
        _ => false,
    }
}

#[derive(Deserialize)]
struct Archive {
    log: HarLog,
}

#[derive(Deserialize)]
struct HarLog {
    #[serde(default, deserialize_with = "list")]
    pages: Vec<HarPage>,
    #[serde(default)]
    entries: Vec<Lenient<HarEntry>>,
}

#[derive(Default, Deserialize)]
struct HarPage {
    #[serde(default, deserialize_with = "text")]
    id: String,
    #[serde(default, deserialize_with = "text")]
    title: String,
}

/// An entry. What is not named here, such as the replies' bodies, is not kept.
#[derive(Default, Deserialize)]
struct HarEntry {
    #[serde(rename = "pageref", default, deserialize_with = "text")]
    page: String,
    #[serde(rename = "startedDateTime", default, deserialize_with = "text")]
    started: String,
    /// Milliseconds.
    #[serde(default, deserialize_with = "lenient")]
    time: f64,
    #[serde(default, deserialize_with = "lenient")]
    request: HarRequest,
    #[serde(default, deserialize_with = "lenient")]
    response: Option<HarResponse>,
    #[serde(rename = "_fromCache", default, deserialize_with = "lenient")]
    from_cache: Value,
    #[serde(rename = "_resourceType", default, deserialize_with = "text")]
    resource_type: String,
}

#[derive(Debug, Default, Deserialize)]
struct HarRequest {
    #[serde(default, deserialize_with = "text")]
    method: String,
    #[serde(default, deserialize_with = "text")]
    url: String,
    #[serde(default, deserialize_with = "list")]
    headers: Vec<HarField>,
    #[serde(rename = "postData", default, deserialize_with = "lenient")]
    body: Option<HarData>,
}

#[derive(Default, Deserialize)]
struct HarResponse {
    #[serde(default)]
    status: Value,
    #[serde(rename = "_fromDiskCache", default, deserialize_with = "lenient")]
    from_disk_cache: Value,
    #[serde(default, deserialize_with = "lenient")]
    content: HarContent,
}

impl HarResponse {
    /// The status, which some programs write as a text; 0 if the request failed.
    fn status(&self) -> Option<i64> {
        match &self.status {
            Value::String(text) => text.trim().parse().ok(),
            status => status.as_i64(),
        }
    }
}

#[derive(Default, Deserialize)]
struct HarContent {
    #[serde(rename = "mimeType", default, deserialize_with = "text")]
    mime_type: String,
}

#[derive(Debug, Default, Deserialize)]
struct HarField {
    #[serde(default, deserialize_with = "text")]
    name: String,
    #[serde(default, deserialize_with = "text")]
    value: String,
}

#[derive(Debug, Default, Deserialize)]
struct HarData {
    #[serde(rename = "mimeType", default, deserialize_with = "text")]
    mime_type: String,
    #[serde(default, deserialize_with = "text")]
    text: String,
    #[serde(default, deserialize_with = "text")]
    encoding: String,
    #[serde(default, deserialize_with = "list")]
    params: Vec<HarParam>,
}

#[derive(Debug, Default, Deserialize)]
struct HarParam {
    #[serde(default, deserialize_with = "text")]
    name: String,
    #[serde(default, deserialize_with = "text")]
    value: String,
    #[serde(rename = "fileName", default, deserialize_with = "text")]
    file_name: String,
    #[serde(rename = "contentType", default, deserialize_with = "text")]
    content_type: String,
}

/// A value that is the default where it is of another kind.
#[derive(Default, Deserialize)]
#[serde(bound = "T: DeserializeOwned + Default")]
struct Lenient<T>(#[serde(deserialize_with = "lenient")] T);

/// Reads a value, or takes the default for one of another kind: exports have nulls and texts in odd places.
fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(deserializer: D) -> Result<T, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(T::deserialize(value).unwrap_or_default())
}

/// Reads a list without the values of another kind that are in it.
fn list<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let Value::Array(values) = Value::deserialize(deserializer)? else { return Ok(Vec::new()) };
    Ok(values.into_iter().filter_map(|value| T::deserialize(value).ok()).collect())
}

/// Reads a text, also where a number or a truth value stands for it.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => text,
        value @ (Value::Number(_) | Value::Bool(_)) => value.to_string(),
        _ => String::new(),
    })
}

#[cfg(test)]
mod tests;
