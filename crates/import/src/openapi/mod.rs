//! Descriptions of an API: OpenAPI 3.0 and later, in JSON or YAML.
//!
//! Each operation becomes a file of one request, with the examples of the description, or values made from its
//! schemas. The scenario calls those operations that only read; the others are comments in it.

mod refs;
mod sample;
mod style;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};
use std::io::Read;

use serde_json::Value;
use url::Url;

use crate::error::{Error, Flaw};
use crate::headers::{is_name, is_of_the_connection, is_value};
use crate::report::{Report, shortened};
use crate::text::read_text;
use crate::workload::{
    self, Body, Entry, OTHER_SCHEME, REQUESTS_MAX, Scenario, Step, StepFile, TOO_MANY, Text, Workload,
    file_stem,
};

use self::refs::{Broken, resolved};
use self::sample::Sampler;
use self::style::{Part, Style, plain};

/// The maximum number of operations; further ones are left out.
pub const OPERATIONS_MAX: usize = 5_000;

/// The methods of operations, those that only read first.
const METHODS: [&str; 8] = ["get", "head", "options", "post", "put", "patch", "delete", "trace"];

/// Reads a description into a workload with a scenario of this name.
///
/// # Errors
/// If it cannot be read, or does not describe an API in OpenAPI 3.
pub fn read(reader: impl Read, name: &str) -> Result<(Workload, Report), Error> {
    let text = read_text(reader)?;
    let mut document = parsed(&text)?;
    // What is made of it is in the order of names, however it was written.
    document.sort_all_objects();
    check_version(&document)?;
    let mut importer = Importer {
        document: &document,
        server: Server::first_of(&document).unwrap_or_default(),
        report: Report::default(),
        variables: BTreeMap::new(),
        api_keys: Vec::new(),
        taken: HashSet::new(),
        files: Vec::new(),
        choices: Vec::new(),
        changing: 0,
    };
    importer.operations();
    Ok(importer.workload(name)?)
}

/// Reads JSON or YAML.
fn parsed(text: &str) -> Result<Value, Flaw> {
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).map_err(|error| Flaw::json(&error, 1));
    }
    yaml_serde::from_str(text).map_err(|error| {
        let whole = error.to_string();
        let Some(location) = error.location() else { return Flaw::whole(whole) };
        let suffix = format!(" at line {} column {}", location.line(), location.column());
        let sentence = whole.replace(&suffix, "");
        Flaw::at(u64::try_from(location.line()).unwrap_or(u64::MAX), sentence).column(location.column())
    })
}

fn check_version(document: &Value) -> Result<(), Flaw> {
    const EXPECTED: &str = "expected a description in OpenAPI 3";
    if document.get("swagger").is_some() {
        return Err(Flaw::whole(format!("{EXPECTED}, got one in Swagger 2"))
            .hint("converters such as swagger2openapi turn it into OpenAPI 3"));
    }
    let version = match document.get("openapi") {
        Some(Value::String(version)) => version.clone(),
        Some(Value::Number(version)) => version.to_string(),
        _ => return Err(Flaw::whole(format!("{EXPECTED}, got none with the field `openapi`"))),
    };
    if !version.starts_with("3.") && version != "3" {
        return Err(Flaw::whole(format!("{EXPECTED}, got version `{}`", shortened(&version, 20))));
    }
    if !document.get("paths").is_some_and(Value::is_object) {
        return Err(Flaw::whole(format!("{EXPECTED} with paths, got none")));
    }
    Ok(())
}

struct Importer<'d> {
    document: &'d Value,
    /// The server of operations that name none of their own.
    server: Server,
    report: Report,
    /// The variables that credentials stand for, with placeholders.
    variables: BTreeMap<String, String>,
    /// The names of schemes with a key of their own, in the order of their variables.
    api_keys: Vec<String>,
    taken: HashSet<String>,
    files: Vec<StepFile>,
    /// The files with their methods, and the reasons for which they are only comments.
    choices: Vec<(String, String, Option<String>)>,
    /// The number of those that may change data.
    changing: usize,
}

/// The server of operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Server {
    /// The scheme and the host, if they are known.
    origin: Option<String>,
    /// The start of every path, without a slash at its end.
    path: String,
}

impl Server {
    /// The first server that a document, a path or an operation names.
    fn first_of(holder: &Value) -> Option<Self> {
        let server = holder.get("servers")?.as_array()?.first()?;
        let mut url = server.get("url")?.as_str()?.trim().to_owned();
        for (name, variable) in server.get("variables").and_then(Value::as_object).into_iter().flatten() {
            url =
                url.replace(&format!("{{{name}}}"), &plain(variable.get("default").unwrap_or(&Value::Null)));
        }
        // The scheme is that of the description, which is not known.
        let absolute = if url.starts_with("//") { format!("https:{url}") } else { url.clone() };
        let end = |path: &str| path.trim_end_matches('/').to_owned();
        match Url::parse(&absolute) {
            // A variable without a value is no host.
            Ok(parsed) if matches!(parsed.scheme(), "http" | "https") && parsed.has_host() => {
                let is_known = !parsed.host_str().unwrap_or_default().contains(['{', '}']);
                let origin = is_known.then(|| parsed.origin().ascii_serialization());
                Some(Self { origin, path: end(parsed.path()) })
            }
            Ok(_) => None,
            Err(_) if absolute.contains("://") => None,
            Err(_) => {
                let path = end(url.trim_start_matches("./").trim_start_matches('.'));
                let slash = if path.is_empty() || path.starts_with('/') { "" } else { "/" };
                Some(Self { origin: None, path: format!("{slash}{path}") })
            }
        }
    }

    /// The variable `{{base}}`.
    fn base(&self) -> Option<String> {
        self.origin.as_ref().map(|origin| format!("{origin}{}", self.path))
    }

    /// The start of URLs of operations of this server, where `whole` is that of the document.
    fn start(&self, whole: &Self) -> Text {
        match (&self.origin, &whole.origin) {
            _ if self == whole && self.origin.is_some() => Text::variable("base"),
            (Some(origin), _) => Text::literal(format!("{origin}{}", self.path)),
            (None, Some(origin)) => Text::literal(format!("{origin}{}", self.path)),
            (None, None) => Text::variable("base").then(self.path.clone()),
        }
    }

    fn scheme(&self) -> Option<&str> {
        self.origin.as_ref()?.split(':').next()
    }
}

impl<'d> Importer<'d> {
    fn operations(&mut self) {
        let document = self.document;
        let mut made_up = 0u64;
        for (path, item) in document.get("paths").and_then(Value::as_object).into_iter().flatten() {
            let item = match resolved(document, item) {
                Ok(item) => item,
                Err(broken) => {
                    self.report.leave_out(broken.reason(), || path.clone());
                    continue;
                }
            };
            for method in METHODS {
                let Some(operation) = item.get(method).filter(|operation| operation.is_object()) else {
                    continue;
                };
                let method = method.to_ascii_uppercase();
                if self.files.len() >= OPERATIONS_MAX {
                    self.report.leave_out("operations beyond the maximum", || format!("{method} {path}"));
                    continue;
                }
                let own = Server::first_of(operation).or_else(|| Server::first_of(item));
                let server = own.unwrap_or_else(|| self.server.clone());
                if self.server.scheme().is_some_and(|scheme| server.scheme().is_some_and(|own| own != scheme))
                {
                    self.report.leave_out(OTHER_SCHEME, || format!("{method} {path}"));
                    continue;
                }
                match self.entry(path, &method, item, operation, &server) {
                    Ok((entry, is_made_up)) => {
                        made_up += u64::from(is_made_up);
                        self.add(path, &method, operation, entry);
                    }
                    Err(broken) => self.report.leave_out(broken.reason(), || format!("{method} {path}")),
                }
            }
        }
        if made_up > 0 {
            self.report.note(format!(
                "{made_up} operations have made-up values, as the description has no examples: put real ones in, or \
                 replies will be 404"
            ));
        }
    }

    fn add(&mut self, path: &str, method: &str, operation: &Value, entry: Entry) {
        let id = operation.get("operationId").and_then(Value::as_str);
        let title = format!("{method} {path}");
        let stem = file_stem(id.unwrap_or(&title), "operation", &mut self.taken);
        let name = format!("{stem}.hurl");
        let comments =
            operation.get("summary").and_then(Value::as_str).map(str::to_owned).into_iter().collect();
        let entry = Entry { name: Some(id.unwrap_or(&title).to_owned()), ..entry };
        let reason = if method != "GET" {
            self.changing += 1;
            Some(format!("{method}: may change data"))
        } else if self.choices.len() - self.changing >= REQUESTS_MAX {
            Some(TOO_MANY.to_owned())
        } else {
            None
        };
        self.choices.push((name.clone(), method.to_owned(), reason));
        self.files.push(StepFile { name, comments, entries: vec![entry] });
        self.report.carried += 1;
    }

    /// The request of an operation, and whether some of its values are made up.
    fn entry(
        &mut self,
        path: &str,
        method: &str,
        item: &'d Value,
        operation: &'d Value,
        server: &Server,
    ) -> Result<(Entry, bool), Broken> {
        let mut sampler = Sampler::new(self.document);
        let mut entry = Entry { method: method.to_owned(), ..Entry::default() };
        let mut path = path.to_owned();
        let mut cookies = Vec::new();
        // Parts of the query that are encoded as they are to be.
        let mut encoded: Vec<String> = Vec::new();
        for parameter in self.parameters(item, operation)? {
            let text = |name: &str| parameter.get(name).and_then(Value::as_str).unwrap_or_default();
            let name = text("name");
            let is_required = parameter.get("required") == Some(&Value::Bool(true));
            if !is_required && text("in") != "path" && sampler.example(parameter)?.is_none() {
                continue;
            }
            let value =
                match parameter.get("content").and_then(Value::as_object).and_then(|all| all.values().next())
                {
                    Some(media) => sampler.of_holder(media)?.map(|value| Value::String(value.to_string())),
                    None => sampler.of_holder(parameter)?,
                };
            let value = value.unwrap_or(Value::String("text".to_owned()));
            let style = Style::of(parameter, text("in"));
            match text("in") {
                "path" => path = path.replace(&format!("{{{name}}}"), &style.path(name, &value)),
                "query" => {
                    for part in style.query(name, &value) {
                        match part {
                            Part::Field(name, _) if name.is_empty() => {}
                            Part::Field(name, value) => entry.query.push((name, Text::literal(value))),
                            Part::Encoded(text) => encoded.push(text),
                        }
                    }
                }
                // These three are described elsewhere in the document.
                "header"
                    if ["accept", "content-type", "authorization"]
                        .contains(&&name.to_ascii_lowercase()[..]) => {}
                "header" if name.eq_ignore_ascii_case("cookie") => cookies.push(style.header(&value)),
                "header" => self.add_header(&mut entry, name, style.header(&value)),
                "cookie" => cookies.extend(style.cookies(name, &value)),
                _ => {}
            }
        }
        let slash = if path.is_empty() || path.starts_with('/') { "" } else { "/" };
        let mark = if path.contains('?') { "&" } else { "?" };
        let query = if encoded.is_empty() { String::new() } else { format!("{mark}{}", encoded.join("&")) };
        entry.url = server.start(&self.server).then(format!("{slash}{path}{query}"));
        let (status, accept) = self.expected(operation)?;
        entry.status = status;
        if let Some(accept) = accept {
            self.add_header(&mut entry, "Accept", accept);
        }
        if !cookies.is_empty() {
            self.add_header(&mut entry, "Cookie", cookies.join("; "));
        }
        self.secure(operation, &mut entry)?;
        if let Some(body) = operation.get("requestBody") {
            self.set_body(resolved(self.document, body)?, &mut entry, &mut sampler)?;
        }
        Ok((entry, sampler.made_up))
    }

    /// Adds a header field, if HTTP allows it.
    fn add_header(&mut self, entry: &mut Entry, name: &str, value: String) {
        if is_name(name) && is_value(&value) && !is_of_the_connection(name) {
            entry.headers.push((name.to_owned(), Text::literal(value)));
        } else {
            let shown = shortened(name, 40);
            self.report.note(format!("the header field {shown} cannot be set by a request: it is left out"));
        }
    }

    /// The parameters of an operation with those of its path, which it may replace.
    fn parameters(&self, item: &'d Value, operation: &'d Value) -> Result<Vec<&'d Value>, Broken> {
        let mut parameters: Vec<&Value> = Vec::new();
        let lists = [item, operation].map(|holder| holder.get("parameters").and_then(Value::as_array));
        for parameter in lists.into_iter().flatten().flatten() {
            let parameter = resolved(self.document, parameter)?;
            let key = |parameter: &'d Value| (parameter.get("name"), parameter.get("in"));
            parameters.retain(|known| key(known) != key(parameter));
            parameters.push(parameter);
        }
        Ok(parameters)
    }

    /// The first status of success that is listed, and the type of its content.
    fn expected(&self, operation: &'d Value) -> Result<(Option<u16>, Option<String>), Broken> {
        let responses = operation.get("responses").and_then(Value::as_object);
        let Some((status, response)) =
            responses.into_iter().flatten().find(|(status, _)| status.starts_with('2'))
        else {
            return Ok((None, None));
        };
        let content = resolved(self.document, response)?.get("content").and_then(Value::as_object);
        let accept = content.and_then(|content| content.keys().next().cloned());
        Ok((status.parse().ok().filter(|status| (200..300).contains(status)), accept))
    }

    /// Adds the credentials that an operation asks for, as variables.
    fn secure(&mut self, operation: &'d Value, entry: &mut Entry) -> Result<(), Broken> {
        let alternatives = operation.get("security").or_else(|| self.document.get("security"));
        let Some(first) = alternatives.and_then(Value::as_array).and_then(|list| list.first()) else {
            return Ok(());
        };
        for name in first.as_object().into_iter().flat_map(|schemes| schemes.keys()) {
            let schemes =
                self.document.get("components").and_then(|components| components.get("securitySchemes"));
            let Some(scheme) = schemes.and_then(|schemes| schemes.get(name)) else { continue };
            let scheme = resolved(self.document, scheme)?;
            let text = |name: &str| scheme.get(name).and_then(Value::as_str).unwrap_or_default();
            match (text("type"), &text("scheme").to_ascii_lowercase()[..]) {
                ("http", "basic") => {
                    self.set_variable("user", "USER");
                    self.set_variable("password", "PASSWORD");
                    entry.basic_auth = Some((Text::variable("user"), Text::variable("password")));
                }
                ("http", "bearer") | ("oauth2" | "openIdConnect", _) => {
                    self.set_variable("token", "TOKEN");
                    let bearer = Text::literal("Bearer ").then_variable("token");
                    entry.headers.push(("Authorization".to_owned(), bearer));
                }
                ("apiKey", _) => {
                    let variable = self.api_key(name);
                    let value = Text::variable(&variable);
                    let key = text("name");
                    match text("in") {
                        "query" if !key.is_empty() => entry.query.push((key.to_owned(), value)),
                        "cookie" if is_name(key) => {
                            let cookies = taken_cookies(entry).then(format!("{key}="));
                            entry.headers.push(("Cookie".to_owned(), cookies.then_variable(&variable)));
                        }
                        "header" if key.eq_ignore_ascii_case("cookie") => {
                            let cookies = taken_cookies(entry).then_variable(&variable);
                            entry.headers.push(("Cookie".to_owned(), cookies));
                        }
                        "header" if is_name(key) && !is_of_the_connection(key) => {
                            entry.headers.push((key.to_owned(), value));
                        }
                        _ => self
                            .report
                            .note(format!("the security scheme {} has no name to send", shortened(name, 40))),
                    }
                }
                (kind, scheme) => self.report.note(format!(
                    "the security scheme {} ({}) is not carried over",
                    shortened(name, 40),
                    shortened(if scheme.is_empty() { kind } else { scheme }, 20)
                )),
            }
        }
        Ok(())
    }

    fn set_variable(&mut self, name: &str, placeholder: &str) {
        self.variables.entry(name.to_owned()).or_insert_with(|| placeholder.to_owned());
    }

    /// The variable of a scheme with a key.
    fn api_key(&mut self, scheme: &str) -> String {
        let at = self.api_keys.iter().position(|known| known == scheme).unwrap_or_else(|| {
            self.api_keys.push(scheme.to_owned());
            self.api_keys.len() - 1
        });
        let variable = if at == 0 { "api_key".to_owned() } else { format!("api_key_{}", at + 1) };
        self.set_variable(&variable, "API-KEY");
        variable
    }

    fn set_body(
        &mut self,
        body: &'d Value,
        entry: &mut Entry,
        sampler: &mut Sampler<'d>,
    ) -> Result<(), Broken> {
        let content = body.get("content").and_then(Value::as_object);
        let Some((kind, media)) = content.into_iter().flatten().min_by_key(|(kind, _)| preference(kind))
        else {
            return Ok(());
        };
        let value = sampler.of_holder(media)?.unwrap_or(Value::Null);
        let body = match (preference(kind), value) {
            (Preference::Json, value) => serde_json::to_string_pretty(&value)
                .ok()
                .and_then(|text| Body::of(text.as_bytes(), Some(kind))),
            (Preference::Form, Value::Object(object)) => {
                let fields = object.iter().flat_map(|(name, value)| form_fields(media, name, value));
                Some(Body::Form(fields.collect()))
            }
            (Preference::Multipart, Value::Object(object)) => {
                let named = object.iter().filter(|(name, _)| !name.is_empty());
                // Each item of a list is a part of its own.
                let parts = named.flat_map(|(name, value)| {
                    let items = value.as_array().map_or_else(|| vec![value], |items| items.iter().collect());
                    items.into_iter().map(|item| (name.clone(), workload::Part::Text(plain(item))))
                });
                Some(Body::Multipart(parts.collect()))
            }
            (_, Value::String(text)) => Some(Body::Text(text)),
            _ => {
                self.report.note(format!("a body of {} has no example: it is left out", shortened(kind, 40)));
                None
            }
        };
        if body.is_some() {
            self.add_header(entry, "Content-Type", kind.clone());
        }
        entry.set_body(body, Some(kind));
        Ok(())
    }

    fn workload(mut self, name: &str) -> Result<(Workload, Report), Flaw> {
        if self.files.is_empty() {
            let reason = self.report.left_out.first();
            let reason =
                reason.map_or_else(String::new, |first| format!("; {} {}", first.count, first.reason));
            return Err(Flaw::whole(format!("expected a description with operations, got none{reason}")));
        }
        let base = self.server.base();
        let mut comments = vec!["Made by httperf import openapi.".to_owned()];
        if base.is_none() {
            comments.push("The description names no server: give one with --base.".to_owned());
            self.report.note("the description names no server: give one with --base");
        }
        comments.extend(self.choose_others());
        if !self.variables.is_empty() {
            let names: Vec<&str> = self.variables.keys().map(String::as_str).collect();
            self.report.note(format!("set the variables {} in the workload", names.join(", ")));
        }
        let changing = self.changing;
        if changing > 0 {
            self.report
                .note(format!("{changing} operations may change data: they are comments in the scenario"));
        }
        let is_beyond = |choice: &&(String, String, Option<String>)| choice.2.as_deref() == Some(TOO_MANY);
        let beyond = self.choices.iter().filter(is_beyond).count();
        if beyond > 0 {
            self.report.note(format!(
                "{beyond} operations are beyond the first {REQUESTS_MAX}: they are comments in the scenario"
            ));
        }
        let choices = self.choices.into_iter().map(|(file, _, reason)| (file, reason)).collect();
        let steps = vec![Step::Choose(choices)];
        let scenario = Scenario { name: name.to_owned(), steps, disabled: None };
        let workload = Workload {
            comments,
            base,
            variables: self.variables.into_iter().collect(),
            files: self.files,
            scenarios: vec![scenario],
            ..Workload::default()
        };
        Ok((workload, self.report))
    }

    /// Has the scenario make, where no operation only reads, those that change least, and returns a sentence about it.
    fn choose_others(&mut self) -> Option<String> {
        if self.choices.iter().any(|(_, _, reason)| reason.is_none()) {
            return None;
        }
        let method = METHODS
            .iter()
            .map(|method| method.to_ascii_uppercase())
            .find(|method| self.choices.iter().any(|(_, known, _)| known == method))?;
        let mut count = 0;
        for (_, _, reason) in self.choices.iter_mut().filter(|(_, known, _)| *known == method) {
            count += 1;
            *reason = (count > REQUESTS_MAX).then(|| TOO_MANY.to_owned());
            self.changing -= 1;
        }
        let sentence = match &method[..] {
            "HEAD" | "OPTIONS" => {
                format!("no operation gets anything: the scenario makes the {method} operations")
            }
            _ => format!(
                "no operation only reads: the scenario makes the {method} operations, which may change data"
            ),
        };
        self.report.note(&sentence);
        let (first, rest) = sentence.split_at_checked(1)?;
        Some(format!("{}{rest}.", first.to_ascii_uppercase()))
    }
}

/// The kinds of bodies, those that can be written best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Preference {
    Json,
    Form,
    Multipart,
    Other,
}

fn preference(kind: &str) -> Preference {
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match &kind[..] {
        "application/json" | "*/*" => Preference::Json,
        "application/x-www-form-urlencoded" => Preference::Form,
        "multipart/form-data" => Preference::Multipart,
        kind if kind.ends_with("+json") => Preference::Json,
        _ => Preference::Other,
    }
}

/// Takes the cookies that a request has, for others to follow: all are in one field (RFC 6265, section 5.4).
fn taken_cookies(entry: &mut Entry) -> Text {
    let place = entry.headers.iter().position(|(name, _)| name == "Cookie");
    place.map_or_else(Text::default, |place| entry.headers.remove(place).1.then("; "))
}

/// The fields of a form for a property of its schema, as the media type has them encoded. Objects are JSON unless a style
/// is given.
fn form_fields(media: &Value, name: &str, value: &Value) -> Vec<(String, String)> {
    let encoding = media.get("encoding").and_then(|encoding| encoding.get(name)).unwrap_or(&Value::Null);
    let has_style = ["style", "explode"].iter().any(|key| encoding.get(key).is_some());
    if value.is_object() && !has_style {
        return vec![(name.to_owned(), plain(value))];
    }
    let part = |part| match part {
        Part::Field(name, value) => (name, value),
        Part::Encoded(text) => {
            let pair = url::form_urlencoded::parse(text.as_bytes()).next();
            pair.map_or_else(
                || (name.to_owned(), String::new()),
                |(name, value)| (name.into_owned(), value.into_owned()),
            )
        }
    };
    Style::of(encoding, "query").query(name, value).into_iter().map(part).collect()
}
