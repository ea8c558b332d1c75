//! The tree of `hurl_core` in the form of [`httperf_hurl::outline`], with the constructs in it that ours refuses.

use std::fmt::Write as _;

use hurl_core::ast::{
    Assert, Body, BooleanOption, Bytes, Capture, CookieAttributeName, CountOption, DurationOption, Entry,
    ExprKind, Filter, FilterValue, Function, HurlFile, IntegerValue, JsonValue, KeyValue,
    MultilineStringKind, MultipartParam, Number, OptionKind, Placeholder, PredicateFuncValue, PredicateValue,
    Query, QueryValue, Regex, RegexValue, SectionValue, StatusValue, Template, TemplateElement,
    VariableValue, VersionValue,
};
use hurl_core::types::{Count, DurationUnit};

/// Describes a tree of `hurl_core`: the outline, and the names of constructs that ours refuses.
#[must_use]
pub fn describe(file: &HurlFile) -> (String, Vec<String>) {
    let mut writer = Writer::default();
    for entry in &file.entries {
        writer.entry(entry);
    }
    (writer.out, writer.refused)
}

#[derive(Default)]
struct Writer {
    out: String,
    refused: Vec<String>,
}

impl Writer {
    fn refuse(&mut self, name: &str) -> String {
        self.refused.push(name.to_owned());
        format!("refused {name}")
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "  {text}");
    }

    fn entry(&mut self, entry: &Entry) {
        let request = &entry.request;
        let _ = writeln!(self.out, "entry {}", request.space0.source_info.start.line);
        let url = self.template(&request.url);
        self.line(&format!("{} {url}", request.method));
        self.pairs("header", &request.headers);
        let mut lines: Vec<(u8, String)> = Vec::new();
        for section in &request.sections {
            match &section.value {
                SectionValue::QueryParams(pairs, _) => {
                    for pair in pairs {
                        let pair = self.pair(pair);
                        lines.push((0, format!("query {pair}")));
                    }
                }
                SectionValue::FormParams(pairs, _) => {
                    for pair in pairs {
                        let pair = self.pair(pair);
                        lines.push((1, format!("form {pair}")));
                    }
                }
                SectionValue::MultipartFormData(parts, _) => {
                    for part in parts {
                        let part = self.part(part);
                        lines.push((2, part));
                    }
                }
                SectionValue::Cookies(cookies) => {
                    for cookie in cookies {
                        let name = self.template(&cookie.name);
                        let value = self.template(&cookie.value);
                        lines.push((3, format!("cookie {name}: {value}")));
                    }
                }
                SectionValue::BasicAuth(pair) => {
                    if let Some(pair) = pair {
                        let pair = self.pair(pair);
                        lines.push((4, format!("basic-auth {pair}")));
                    }
                }
                SectionValue::Options(options) => {
                    for option in options {
                        let option = self.option(&option.kind);
                        lines.push((5, format!("option {option}")));
                    }
                }
                SectionValue::Captures(_) | SectionValue::Asserts(_) => panic!("no section of a request"),
            }
        }
        self.sorted(lines);
        self.body(request.body.as_ref());
        let Some(response) = &entry.response else { return };
        let version = match response.version.value {
            VersionValue::Version1 => "HTTP/1.0",
            VersionValue::Version11 => "HTTP/1.1",
            VersionValue::Version2 => "HTTP/2",
            VersionValue::Version3 => "HTTP/3",
            VersionValue::VersionAny => "HTTP",
        };
        let status = match response.status.value {
            StatusValue::Any => "*".to_owned(),
            StatusValue::Specific(number) if number > 999 => self.refuse("status"),
            StatusValue::Specific(number) => number.to_string(),
        };
        self.line(&format!("{version} {status}"));
        self.pairs("header", &response.headers);
        let mut lines = Vec::new();
        for section in &response.sections {
            match &section.value {
                SectionValue::Captures(captures) => {
                    for capture in captures {
                        let capture = self.capture(capture);
                        lines.push((0, capture));
                    }
                }
                SectionValue::Asserts(asserts) => {
                    for assert in asserts {
                        let assert = self.assert(assert);
                        lines.push((1, assert));
                    }
                }
                _ => panic!("no section of a response"),
            }
        }
        self.sorted(lines);
        self.body(response.body.as_ref());
    }

    fn sorted(&mut self, mut lines: Vec<(u8, String)>) {
        lines.sort_by_key(|line| line.0);
        for (_, line) in lines {
            self.line(&line);
        }
    }

    fn pairs(&mut self, what: &str, pairs: &[KeyValue]) {
        for pair in pairs {
            let pair = self.pair(pair);
            self.line(&format!("{what} {pair}"));
        }
    }

    fn pair(&mut self, pair: &KeyValue) -> String {
        format!("{}: {}", self.template(&pair.key), self.template(&pair.value))
    }

    fn part(&mut self, part: &MultipartParam) -> String {
        match part {
            MultipartParam::Param(pair) => format!("part {}", self.pair(pair)),
            MultipartParam::FilenameParam(file) => {
                let name = self.template(&file.key);
                let path = self.template(&file.value.filename);
                let mut out = format!("part {name}: file {path}");
                if let Some(content_type) = &file.value.content_type {
                    let content_type = self.template(content_type);
                    let _ = write!(out, " type {content_type}");
                }
                out
            }
        }
    }

    fn option(&mut self, option: &OptionKind) -> String {
        match option {
            OptionKind::Delay(DurationOption::Literal(duration)) => {
                let scale = match duration.unit {
                    None | Some(DurationUnit::MilliSecond) => 1,
                    Some(DurationUnit::Second) => 1_000,
                    Some(DurationUnit::Minute) => 60_000,
                    Some(DurationUnit::Hour) => 3_600_000,
                };
                match duration.value.as_u64().checked_mul(scale) {
                    Some(ms) => format!("delay {ms}ms"),
                    None => self.refuse("delay"),
                }
            }
            OptionKind::Delay(DurationOption::Placeholder(of)) => format!("delay {}", self.placeholder(of)),
            OptionKind::Skip(value) => format!("skip {}", self.boolean(value)),
            OptionKind::FollowLocation(value) => format!("location {}", self.boolean(value)),
            OptionKind::Repeat(CountOption::Literal(Count::Finite(count))) => format!("repeat {count}"),
            OptionKind::Repeat(CountOption::Literal(Count::Infinite)) => self.refuse("repeat: -1"),
            OptionKind::Repeat(CountOption::Placeholder(of)) => format!("repeat {}", self.placeholder(of)),
            OptionKind::Variable(definition) => {
                let value = match &definition.value {
                    VariableValue::Null => "null".to_owned(),
                    VariableValue::Bool(value) => value.to_string(),
                    VariableValue::Number(number) => self.number(number),
                    VariableValue::String(text) => self.template(text),
                };
                format!("variable {}={value}", definition.name)
            }
            other => self.refuse(other.identifier()),
        }
    }

    fn boolean(&mut self, value: &BooleanOption) -> String {
        match value {
            BooleanOption::Literal(value) => value.to_string(),
            BooleanOption::Placeholder(of) => self.placeholder(of),
        }
    }

    fn body(&mut self, body: Option<&Body>) {
        let Some(body) = body else { return };
        let text = match &body.value {
            Bytes::Json(value) => {
                let mut json = Json { writer: self, out: Vec::new() };
                json.value(value);
                let out = json.out;
                let mut text = "json".to_owned();
                let mut source = String::new();
                for piece in out {
                    match piece {
                        JsonPiece::Source(more) => source.push_str(&more),
                        JsonPiece::Hole(hole) => {
                            if !source.is_empty() {
                                let _ = write!(text, " {source:?}");
                                source.clear();
                            }
                            let _ = write!(text, " {hole}");
                        }
                    }
                }
                if !source.is_empty() {
                    let _ = write!(text, " {source:?}");
                }
                text
            }
            Bytes::Xml(text) => format!("xml {text:?}"),
            Bytes::MultilineString(text) => self.multiline(&text.kind, true),
            Bytes::OnelineString(text) => format!("text {}", self.template(text)),
            Bytes::Base64(bytes) => format!("bytes {:?}", bytes.value),
            Bytes::Hex(bytes) => format!("bytes {:?}", bytes.value),
            Bytes::File(file) => format!("file {}", self.template(&file.filename)),
        };
        self.line(&format!("body {text}"));
    }

    fn multiline(&mut self, kind: &MultilineStringKind, language: bool) -> String {
        let (name, text) = match kind {
            MultilineStringKind::Text(text) => ("text", text),
            MultilineStringKind::Json(text) => ("text json", text),
            MultilineStringKind::Xml(text) => ("text xml", text),
            MultilineStringKind::Raw(text) => ("text raw", text),
            MultilineStringKind::GraphQl(_) => return self.refuse("graphql"),
        };
        if language { format!("{name} {}", self.template(text)) } else { self.template(text) }
    }

    fn capture(&mut self, capture: &Capture) -> String {
        let name = self.fixed(&capture.name, "{{…}}");
        let query = self.query(&capture.query);
        let filters = self.filters(capture.filters.iter().map(|(_, filter)| filter));
        let redact = if capture.redacted { " redact" } else { "" };
        format!("capture {name}: {query}{filters}{redact}")
    }

    fn assert(&mut self, assert: &Assert) -> String {
        let query = self.query(&assert.query);
        let filters = self.filters(assert.filters.iter().map(|(_, filter)| filter));
        let not = if assert.predicate.not { "not " } else { "" };
        let test = self.test(&assert.predicate.predicate_func.value);
        format!("assert {query}{filters} {not}{test}")
    }

    fn query(&mut self, query: &Query) -> String {
        match &query.value {
            QueryValue::Status => "status".to_owned(),
            QueryValue::Header { name, .. } => format!("header {}", self.template(name)),
            QueryValue::Cookie { expr, .. } => {
                let name = self.template(&expr.name);
                let attribute = expr.attribute.as_ref().map_or(String::new(), |attribute| {
                    let name = match &attribute.name {
                        CookieAttributeName::Value(_) => "Value",
                        CookieAttributeName::Expires(_) => "Expires",
                        CookieAttributeName::MaxAge(_) => "Max-Age",
                        CookieAttributeName::Domain(_) => "Domain",
                        CookieAttributeName::Path(_) => "Path",
                        CookieAttributeName::Secure(_) => "Secure",
                        CookieAttributeName::HttpOnly(_) => "HttpOnly",
                        CookieAttributeName::SameSite(_) => "SameSite",
                    };
                    format!(" [{name}]")
                });
                format!("cookie {name}{attribute}")
            }
            QueryValue::Body => "body".to_owned(),
            QueryValue::Bytes => "bytes".to_owned(),
            QueryValue::Sha256 => "sha256".to_owned(),
            QueryValue::Jsonpath { expr, .. } => format!("jsonpath {}", self.template(expr)),
            QueryValue::Regex { value, .. } => format!("regex {}", self.pattern(value)),
            QueryValue::Variable { name, .. } => format!("variable {}", self.fixed(name, "{{…}}")),
            QueryValue::Duration => "duration".to_owned(),
            QueryValue::Redirects => "redirects".to_owned(),
            QueryValue::Version => self.refuse("version"),
            QueryValue::Url => self.refuse("url"),
            QueryValue::Xpath { .. } => self.refuse("xpath"),
            QueryValue::RawBytes => self.refuse("rawbytes"),
            QueryValue::Md5 => self.refuse("md5"),
            QueryValue::Certificate { .. } => self.refuse("certificate"),
            QueryValue::Ip => self.refuse("ip"),
        }
    }

    fn filters<'a>(&mut self, filters: impl Iterator<Item = &'a Filter>) -> String {
        let mut out = String::new();
        for filter in filters {
            let filter = self.filter(&filter.value);
            let _ = write!(out, " | {filter}");
        }
        out
    }

    fn filter(&mut self, filter: &FilterValue) -> String {
        let name = filter.identifier();
        match filter {
            FilterValue::Nth { n: IntegerValue::Literal(n), .. } => format!("nth {}", n.as_i64()),
            FilterValue::Nth { n: IntegerValue::Placeholder(_), .. } => self.refuse("{{…}}"),
            FilterValue::Regex { value, .. } => format!("regex {}", self.pattern(value)),
            FilterValue::Replace { old_value, new_value, .. } => {
                format!("replace {} {}", self.template(old_value), self.template(new_value))
            }
            FilterValue::ReplaceRegex { pattern, new_value, .. } => {
                format!("replaceRegex {} {}", self.pattern(pattern), self.template(new_value))
            }
            FilterValue::Split { sep, .. } => format!("split {}", self.template(sep)),
            FilterValue::JsonPath { expr, .. } => format!("jsonpath {}", self.template(expr)),
            FilterValue::Base64Decode
            | FilterValue::Base64Encode
            | FilterValue::Base64UrlSafeDecode
            | FilterValue::Base64UrlSafeEncode
            | FilterValue::Count
            | FilterValue::First
            | FilterValue::HtmlEscape
            | FilterValue::HtmlUnescape
            | FilterValue::Last
            | FilterValue::Location
            | FilterValue::ToFloat
            | FilterValue::ToInt
            | FilterValue::ToString
            | FilterValue::UrlDecode
            | FilterValue::UrlEncode => name.to_owned(),
            _ => self.refuse(name),
        }
    }

    fn test(&mut self, test: &PredicateFuncValue) -> String {
        use PredicateFuncValue as P;
        let (name, value) = match test {
            P::Equal { value, .. } => ("==", value),
            P::NotEqual { value, .. } => ("!=", value),
            P::GreaterThan { value, .. } => (">", value),
            P::GreaterThanOrEqual { value, .. } => (">=", value),
            P::LessThan { value, .. } => ("<", value),
            P::LessThanOrEqual { value, .. } => ("<=", value),
            P::StartWith { value, .. } => ("startsWith", value),
            P::EndWith { value, .. } => ("endsWith", value),
            P::Contain { value, .. } => ("contains", value),
            P::Include { value, .. } => ("includes", value),
            P::Match { value, .. } => ("matches", value),
            P::Exist => return "exists".to_owned(),
            P::IsBoolean => return "isBoolean".to_owned(),
            P::IsCollection => return "isCollection".to_owned(),
            P::IsDate => return "isDate".to_owned(),
            P::IsEmpty => return "isEmpty".to_owned(),
            P::IsFloat => return "isFloat".to_owned(),
            P::IsInteger => return "isInteger".to_owned(),
            P::IsIpv4 => return "isIpv4".to_owned(),
            P::IsIpv6 => return "isIpv6".to_owned(),
            P::IsIsoDate => return "isIsoDate".to_owned(),
            P::IsList => return "isList".to_owned(),
            P::IsNumber => return "isNumber".to_owned(),
            P::IsObject => return "isObject".to_owned(),
            P::IsString => return "isString".to_owned(),
            P::IsUuid => return "isUuid".to_owned(),
        };
        format!("{name} {}", self.value(value))
    }

    fn value(&mut self, value: &PredicateValue) -> String {
        match value {
            PredicateValue::Base64(bytes) => format!("bytes {:?}", bytes.value),
            PredicateValue::Hex(bytes) => format!("bytes {:?}", bytes.value),
            PredicateValue::Bool(value) => value.to_string(),
            PredicateValue::File(file) => format!("file {}", self.template(&file.filename)),
            PredicateValue::MultilineString(text) => self.multiline(&text.kind, false),
            PredicateValue::Null => "null".to_owned(),
            PredicateValue::Number(number) => self.number(number),
            PredicateValue::Placeholder(of) => self.placeholder(of),
            PredicateValue::Regex(regex) => slashed(regex),
            PredicateValue::String(text) => self.template(text),
        }
    }

    fn number(&mut self, number: &Number) -> String {
        match number {
            Number::Float(float) => format!("{:?}", float.as_f64()),
            Number::Integer(integer) => integer.as_i64().to_string(),
            Number::BigInteger(digits) => digits.to_string(),
        }
    }

    fn pattern(&mut self, pattern: &RegexValue) -> String {
        match pattern {
            RegexValue::Template(text) => self.template(text),
            RegexValue::Regex(regex) => slashed(regex),
        }
    }

    /// Describes a text that may not have expressions in ours.
    fn fixed(&mut self, text: &Template, name: &str) -> String {
        let has = |element: &TemplateElement| matches!(element, TemplateElement::Placeholder(_));
        if text.elements.iter().any(has) {
            return self.refuse(name);
        }
        self.template(text)
    }

    fn template(&mut self, text: &Template) -> String {
        let mut pieces: Vec<String> = Vec::new();
        let mut literal = String::new();
        for element in &text.elements {
            match element {
                TemplateElement::String { value, .. } => literal.push_str(value),
                TemplateElement::Placeholder(of) => {
                    if !literal.is_empty() {
                        pieces.push(format!("{literal:?}"));
                        literal.clear();
                    }
                    pieces.push(self.placeholder(of));
                }
            }
        }
        if !literal.is_empty() || pieces.is_empty() {
            pieces.push(format!("{literal:?}"));
        }
        pieces.join(" ")
    }

    fn placeholder(&mut self, of: &Placeholder) -> String {
        match &of.expr.kind {
            ExprKind::Variable(variable) => format!("{{{{{}}}}}", variable.name),
            ExprKind::Function(Function::NewDate) => "{{newDate}}".to_owned(),
            ExprKind::Function(Function::NewUuid) => "{{newUuid}}".to_owned(),
        }
    }
}

fn slashed(regex: &Regex) -> String {
    format!("/{}/", regex.inner.as_str())
}

enum JsonPiece {
    Source(String),
    Hole(String),
}

/// Collects the text of a JSON value.
struct Json<'a> {
    writer: &'a mut Writer,
    out: Vec<JsonPiece>,
}

impl Json<'_> {
    fn source(&mut self, text: &str) {
        self.out.push(JsonPiece::Source(text.to_owned()));
    }

    fn value(&mut self, value: &JsonValue) {
        match value {
            JsonValue::Placeholder(of) => {
                let hole = self.writer.placeholder(of);
                self.out.push(JsonPiece::Hole(format!("value {hole}")));
            }
            JsonValue::Number(number) => self.source(number),
            JsonValue::String(text) => self.string(text),
            JsonValue::Boolean(value) => self.source(&value.to_string()),
            JsonValue::Null => self.source("null"),
            JsonValue::List { space0, elements } => {
                self.source("[");
                self.source(space0);
                for (index, element) in elements.iter().enumerate() {
                    if index > 0 {
                        self.source(",");
                    }
                    self.source(&element.space0);
                    self.value(&element.value);
                    self.source(&element.space1);
                }
                self.source("]");
            }
            JsonValue::Object { space0, elements } => {
                self.source("{");
                self.source(space0);
                for (index, element) in elements.iter().enumerate() {
                    if index > 0 {
                        self.source(",");
                    }
                    self.source(&element.space0);
                    self.string(&element.name);
                    self.source(&element.space1);
                    self.source(":");
                    self.source(&element.space2);
                    self.value(&element.value);
                    self.source(&element.space3);
                }
                self.source("}");
            }
        }
    }

    fn string(&mut self, text: &Template) {
        self.source("\"");
        for element in &text.elements {
            match element {
                TemplateElement::String { source, .. } => self.source(source.as_str()),
                TemplateElement::Placeholder(of) => {
                    let hole = self.writer.placeholder(of);
                    self.out.push(JsonPiece::Hole(format!("in-string {hole}")));
                }
            }
        }
        self.source("\"");
    }
}
