//! A compact form of a tree without places, one line for each part: for tests, and to compare with other parsers.

use std::fmt::Write as _;

use crate::{
    Assert, Body, BodyKind, Capture, CommentName, CookieAttribute, Entry, Expression, File, Filter,
    FilterKind, Fixed, JsonPiece, KeyValue, Language, PartValue, Pattern, Piece, QueryKind, Request,
    Response, Setting, Source, Status, Template, Test, Value, Version,
};

/// Describes a tree.
#[must_use]
pub fn outline(file: &File) -> String {
    let mut out = String::new();
    for entry in &file.entries {
        for line in entry_lines(entry) {
            out.push_str(&line);
            out.push('\n');
        }
    }
    out
}

/// Describes an assert.
#[must_use]
pub fn assert(assert: &Assert) -> String {
    let not = if assert.predicate.not { "not " } else { "" };
    format!("{}{} {not}{}", query(&assert.query.kind), filters(&assert.filters), test(&assert.predicate.test))
}

fn entry_lines(entry: &Entry) -> Vec<String> {
    let mut lines = vec![format!("entry {}", entry.line)];
    for comment in &entry.comments {
        let name = match comment.name {
            CommentName::Name => "name",
            CommentName::Think => "think",
        };
        lines.push(format!("  @{name} {}", comment.value));
    }
    lines.extend(request(&entry.request).into_iter().map(|line| format!("  {line}")));
    if let Some(of) = &entry.response {
        lines.extend(response(of).into_iter().map(|line| format!("  {line}")));
    }
    lines
}

fn request(request: &Request) -> Vec<String> {
    let mut lines = vec![format!("{} {}", request.method, template(&request.url))];
    lines.extend(request.headers.iter().map(|pair| key_value("header", pair)));
    lines.extend(request.query.iter().map(|pair| key_value("query", pair)));
    lines.extend(request.form.iter().map(|pair| key_value("form", pair)));
    for part in &request.multipart {
        let value = match &part.value {
            PartValue::Text(text) => template(text),
            PartValue::File { path, content_type: None } => format!("file {}", template(path)),
            PartValue::File { path, content_type: Some(of) } => {
                format!("file {} type {}", template(path), template(of))
            }
        };
        lines.push(format!("part {}: {value}", template(&part.name)));
    }
    lines.extend(request.cookies.iter().map(|pair| key_value("cookie", pair)));
    lines.extend(request.basic_auth.iter().map(|pair| key_value("basic-auth", pair)));
    lines.extend(request.options.iter().map(|option| format!("option {}", setting(&option.setting))));
    lines.extend(request.body.as_ref().map(body));
    lines
}

fn response(response: &Response) -> Vec<String> {
    let version = match response.version {
        Version::Any => "HTTP",
        Version::Http10 => "HTTP/1.0",
        Version::Http11 => "HTTP/1.1",
        Version::Http2 => "HTTP/2",
        Version::Http3 => "HTTP/3",
    };
    let status = match response.status {
        Status::Any => "*".to_owned(),
        Status::Number(number) => number.to_string(),
    };
    let mut lines = vec![format!("{version} {status}")];
    lines.extend(response.headers.iter().map(|pair| key_value("header", pair)));
    lines.extend(response.captures.iter().map(capture));
    lines.extend(response.asserts.iter().map(|of| format!("assert {}", assert(of))));
    lines.extend(response.body.as_ref().map(body));
    lines
}

fn key_value(what: &str, pair: &KeyValue) -> String {
    format!("{what} {}: {}", template(&pair.key), template(&pair.value))
}

fn setting(setting: &Setting) -> String {
    match setting {
        Setting::Delay(Fixed::Value(delay)) => format!("delay {}ms", delay.as_millis()),
        Setting::Skip(Fixed::Value(value)) => format!("skip {value}"),
        Setting::Repeat(Fixed::Value(count)) => format!("repeat {count}"),
        Setting::Location(Fixed::Value(value)) => format!("location {value}"),
        Setting::Delay(Fixed::Expression(of)) => format!("delay {}", expression(of)),
        Setting::Skip(Fixed::Expression(of)) => format!("skip {}", expression(of)),
        Setting::Repeat(Fixed::Expression(of)) => format!("repeat {}", expression(of)),
        Setting::Location(Fixed::Expression(of)) => format!("location {}", expression(of)),
        Setting::Variable { name, value: of } => format!("variable {name}={}", value(of)),
    }
}

fn body(body: &Body) -> String {
    let content = match &body.kind {
        BodyKind::Json(pieces) => pieces.iter().fold("json".to_owned(), |mut out, piece| {
            let _ = match piece {
                JsonPiece::Source(source) => write!(out, " {source:?}"),
                JsonPiece::Value(of) => write!(out, " value {}", expression(of)),
                JsonPiece::InString(of) => write!(out, " in-string {}", expression(of)),
            };
            out
        }),
        BodyKind::Xml(source) => format!("xml {source:?}"),
        BodyKind::Text { text, language } => {
            let language = match language {
                None => "",
                Some(Language::Json) => "json ",
                Some(Language::Xml) => "xml ",
                Some(Language::Raw) => "raw ",
            };
            format!("text {language}{}", template(text))
        }
        BodyKind::Bytes(bytes) => format!("bytes {bytes:?}"),
        BodyKind::File(path) => format!("file {}", template(path)),
    };
    format!("body {content}")
}

fn capture(capture: &Capture) -> String {
    let redact = if capture.redacted { " redact" } else { "" };
    format!("capture {:?}: {}{}{redact}", capture.name, query(&capture.query.kind), filters(&capture.filters))
}

fn query(query: &QueryKind) -> String {
    match query {
        QueryKind::Status => "status".to_owned(),
        QueryKind::Header(name) => format!("header {}", template(name)),
        QueryKind::Cookie { name, attribute } => {
            let attribute = attribute.map_or(String::new(), |of| format!(" [{}]", cookie_attribute(of)));
            format!("cookie {}{attribute}", template(name))
        }
        QueryKind::Body => "body".to_owned(),
        QueryKind::Bytes => "bytes".to_owned(),
        QueryKind::Sha256 => "sha256".to_owned(),
        QueryKind::JsonPath(path) => format!("jsonpath {}", template(path)),
        QueryKind::XPath(path) => format!("xpath {}", template(path)),
        QueryKind::Regex(of) => format!("regex {}", pattern(of)),
        QueryKind::Variable(name) => format!("variable {name:?}"),
        QueryKind::Duration => "duration".to_owned(),
        QueryKind::Redirects => "redirects".to_owned(),
    }
}

fn cookie_attribute(attribute: CookieAttribute) -> &'static str {
    match attribute {
        CookieAttribute::Value => "Value",
        CookieAttribute::Expires => "Expires",
        CookieAttribute::MaxAge => "Max-Age",
        CookieAttribute::Domain => "Domain",
        CookieAttribute::Path => "Path",
        CookieAttribute::Secure => "Secure",
        CookieAttribute::HttpOnly => "HttpOnly",
        CookieAttribute::SameSite => "SameSite",
    }
}

fn filters(filters: &[Filter]) -> String {
    filters.iter().fold(String::new(), |mut out, of| {
        let _ = write!(out, " | {}", filter(&of.kind));
        out
    })
}

fn filter(filter: &FilterKind) -> String {
    let name = match filter {
        FilterKind::Nth(index) => return format!("nth {index}"),
        FilterKind::Regex(of) => return format!("regex {}", pattern(of)),
        FilterKind::Replace { old, new } => return format!("replace {} {}", template(old), template(new)),
        FilterKind::ReplaceRegex { pattern: of, new } => {
            return format!("replaceRegex {} {}", pattern(of), template(new));
        }
        FilterKind::Split(separator) => return format!("split {}", template(separator)),
        FilterKind::JsonPath(path) => return format!("jsonpath {}", template(path)),
        FilterKind::XPath(path) => return format!("xpath {}", template(path)),
        FilterKind::Count => "count",
        FilterKind::First => "first",
        FilterKind::Last => "last",
        FilterKind::ToInt => "toInt",
        FilterKind::ToFloat => "toFloat",
        FilterKind::ToText => "toString",
        FilterKind::UrlEncode => "urlEncode",
        FilterKind::UrlDecode => "urlDecode",
        FilterKind::HtmlEscape => "htmlEscape",
        FilterKind::HtmlUnescape => "htmlUnescape",
        FilterKind::Base64Encode => "base64Encode",
        FilterKind::Base64Decode => "base64Decode",
        FilterKind::Base64UrlSafeEncode => "base64UrlSafeEncode",
        FilterKind::Base64UrlSafeDecode => "base64UrlSafeDecode",
        FilterKind::Location => "location",
    };
    name.to_owned()
}

fn test(test: &Test) -> String {
    let name = match test {
        Test::Equals(of) => return format!("== {}", value(of)),
        Test::Differs(of) => return format!("!= {}", value(of)),
        Test::Above(of) => return format!("> {}", value(of)),
        Test::AtLeast(of) => return format!(">= {}", value(of)),
        Test::Below(of) => return format!("< {}", value(of)),
        Test::AtMost(of) => return format!("<= {}", value(of)),
        Test::StartsWith(of) => return format!("startsWith {}", value(of)),
        Test::EndsWith(of) => return format!("endsWith {}", value(of)),
        Test::Contains(of) => return format!("contains {}", value(of)),
        Test::Includes(of) => return format!("includes {}", value(of)),
        Test::Matches(of) => return format!("matches {}", pattern(of)),
        Test::Exists => "exists",
        Test::IsEmpty => "isEmpty",
        Test::IsInteger => "isInteger",
        Test::IsFloat => "isFloat",
        Test::IsNumber => "isNumber",
        Test::IsBoolean => "isBoolean",
        Test::IsText => "isString",
        Test::IsCollection => "isCollection",
        Test::IsList => "isList",
        Test::IsObject => "isObject",
        Test::IsDate => "isDate",
        Test::IsIsoDate => "isIsoDate",
        Test::IsUuid => "isUuid",
        Test::IsIpv4 => "isIpv4",
        Test::IsIpv6 => "isIpv6",
    };
    name.to_owned()
}

fn value(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Boolean(value) => value.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::BigInteger(digits) => digits.clone(),
        Value::Float(number) => format!("{number:?}"),
        Value::Text(text) => template(text),
        Value::Expression(of) => expression(of),
        Value::Bytes(bytes) => format!("bytes {bytes:?}"),
        Value::File(path) => format!("file {}", template(path)),
        Value::Regex(pattern) => format!("/{pattern}/"),
    }
}

fn pattern(pattern: &Pattern) -> String {
    match pattern {
        Pattern::Text(text) => template(text),
        Pattern::Fixed(pattern) => format!("/{pattern}/"),
    }
}

fn template(template: &Template) -> String {
    if template.pieces.is_empty() {
        return "\"\"".to_owned();
    }
    let piece = |piece: &Piece| match piece {
        Piece::Literal { text, .. } => format!("{text:?}"),
        Piece::Expression(of) => expression(of),
    };
    template.pieces.iter().map(piece).collect::<Vec<_>>().join(" ")
}

fn expression(expression: &Expression) -> String {
    let source = match &expression.source {
        Source::Variable(name) => name.clone(),
        Source::NewUuid => "newUuid".to_owned(),
        Source::NewDate => "newDate".to_owned(),
        Source::Pick(texts) => format!("pick {texts:?}"),
    };
    format!("{{{{{source}{}}}}}", filters(&expression.filters))
}
