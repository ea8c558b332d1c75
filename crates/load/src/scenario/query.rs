//! Queries: the places of values in a reply.

use std::borrow::Cow;
use std::cell::OnceCell;

use compact_str::CompactString;
use httperf_plan::scenario::{Attribute, Query, Value};
use sha2::{Digest, Sha256};

use super::filter::Source;
use super::json::{Document, Path, Span, Tree, read};
use super::look::{Malformed, Reply};
use super::markup::{Markup, XPath};
use super::pattern::Pattern;
use super::scratch::Scratch;
use super::text::{Filling, Text};
use super::value::{Found, Mismatch, Outcome};
use crate::page::reference;

/// A compiled [`Query`].
#[derive(Debug)]
pub(super) enum CompiledQuery<'p> {
    Status,
    Header(Text<'p>),
    Cookie {
        name: Text<'p>,
        attribute: Attribute,
    },
    Body,
    Bytes,
    Sha256,
    /// A path of names and indexes, by its place in the tree.
    Span(usize),
    JsonPath(Source<'p, Path>),
    XPath(Source<'p, XPath>),
    Regex(Source<'p, Pattern>),
    Variable(u32),
    Duration,
    Redirects,
}

/// A reply with what was made of it so far.
#[derive(Debug)]
pub(super) struct Seen<'a> {
    reply: Option<&'a Reply<'a>>,
    /// The places of the values in the body that the tree finds; `None` if the body is no JSON.
    spans: Option<&'a [Option<Span>]>,
    text: OnceCell<Cow<'a, str>>,
    document: OnceCell<Option<Document>>,
    markup: OnceCell<Result<Markup, &'static str>>,
}

impl<'p> CompiledQuery<'p> {
    /// Compiles a query. Paths of names and indexes go to the tree.
    pub(super) fn new(query: &'p Query, tree: &mut Tree) -> Result<Self, Malformed> {
        Ok(match query {
            Query::Status => Self::Status,
            Query::Header(name) => Self::Header(Text::new(name)?),
            Query::Cookie { name, attribute } => {
                Self::Cookie { name: Text::new(name)?, attribute: attribute.unwrap_or(Attribute::Value) }
            }
            Query::Body => Self::Body,
            Query::Bytes => Self::Bytes,
            Query::Sha256 => Self::Sha256,
            Query::JsonPath(path) => match Source::<Path>::new(path, 0)? {
                Source::Fixed(path) if path.steps().is_some() => {
                    Self::Span(tree.add(path.steps().unwrap_or_default()))
                }
                source => Self::JsonPath(source),
            },
            Query::XPath(path) => Self::XPath(Source::new(path, 0)?),
            Query::Regex(pattern) => Self::Regex(Source::with_group(pattern, 0)?),
            Query::Variable(slot) => Self::Variable(*slot),
            Query::Duration => Self::Duration,
            Query::Redirects => Self::Redirects,
        })
    }

    /// Returns the bytes of a body whose text is the value, for those who do not need it as text.
    pub(super) fn bytes_of_body<'a>(&self, seen: &Seen<'a>) -> Option<&'a [u8]> {
        if matches!(self, Self::Body) { seen.reply?.body.ok() } else { None }
    }

    /// Returns true if no nodes are no value, though a list without elements is one.
    pub(super) fn finds_nodes(&self) -> bool {
        matches!(self, Self::XPath(_))
    }

    pub(super) fn find<'a>(
        &self,
        seen: &'a Seen<'_>,
        filling: &mut Filling<'a>,
        scratch: &mut Scratch,
    ) -> Outcome<'a> {
        if let Self::Variable(slot) = self {
            return Ok(filling.values.get(*slot as usize).and_then(Option::as_ref).map(Found::Known));
        }
        let reply = seen.reply.ok_or(Mismatch)?;
        let body = reply.body.map_err(|_| Mismatch);
        let owned = |value| Ok(Some(Found::Owned(value)));
        match self {
            Self::Variable(_) => Ok(None),
            Self::Status => owned(Value::Integer(i64::from(reply.status))),
            Self::Header(name) => scratch.fill(name, filling, |name, _| Ok(header(reply, name)))?,
            Self::Cookie { name, attribute } => {
                scratch.fill(name, filling, |name, _| Ok(cookie(reply, name, *attribute)))?
            }
            Self::Body => Ok(Some(Found::Text(seen.text(body?)))),
            Self::Bytes => Ok(Some(Found::Bytes(body?))),
            Self::Sha256 => owned(Value::Bytes(Sha256::digest(body?).to_vec())),
            Self::Span(place) => seen.at(*place, body?),
            Self::JsonPath(source) => {
                let path = source.get(filling, scratch)?;
                Ok(path.query(seen.document(body?).ok_or(Mismatch)?))
            }
            Self::XPath(source) => {
                let path = source.get(filling, scratch)?;
                path.query(seen.markup(reply, body?).as_ref().map_err(|_| Mismatch)?)
            }
            Self::Regex(source) => {
                let (pattern, body) = (source.get(filling, scratch)?, body?);
                Ok(match pattern.first_group_in_bytes(body) {
                    Some(group) => group.map(Found::text_lossy),
                    None => pattern.first_group(seen.text(body)).map(Found::Text),
                })
            }
            Self::Duration => {
                owned(Value::Integer(i64::try_from(reply.duration.as_millis()).unwrap_or(i64::MAX)))
            }
            Self::Redirects => owned(Value::List(reply.redirects.iter().map(redirect).collect())),
        }
    }

    /// Returns the reason why it cannot be applied to a reply.
    pub(super) fn reason(&self, seen: &Seen<'_>) -> String {
        let is_of_body = matches!(
            self,
            Self::Body
                | Self::Bytes
                | Self::Sha256
                | Self::Span(_)
                | Self::JsonPath(_)
                | Self::XPath(_)
                | Self::Regex(_)
        );
        if let (Self::XPath(_), Some(reply)) = (self, seen.reply)
            && let Ok(body) = reply.body
            && let Err(reason) = seen.markup(reply, body)
        {
            return (*reason).to_owned();
        }
        match (self, seen.reply.map(|reply| reply.body)) {
            (_, Some(Err(reason))) if is_of_body => format!("the body could not be read: {reason}"),
            (Self::Span(_) | Self::JsonPath(_), Some(Ok(body))) if seen.document(body).is_none() => {
                "the body is not JSON".to_owned()
            }
            _ => "a variable in it has no value, or one that does not fit there".to_owned(),
        }
    }
}

impl<'r> Seen<'r> {
    pub(super) fn new(reply: Option<&'r Reply<'r>>, spans: Option<&'r [Option<Span>]>) -> Self {
        Self { reply, spans, text: OnceCell::new(), document: OnceCell::new(), markup: OnceCell::new() }
    }

    /// Returns the body as text; bytes that are not UTF-8 are replaced by U+FFFD.
    fn text(&self, body: &'r [u8]) -> &str {
        self.text.get_or_init(|| match std::str::from_utf8(body) {
            // By far faster than the search for bytes to replace.
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(body),
        })
    }

    /// Returns the body as JSON, which is parsed once.
    fn document(&self, body: &[u8]) -> Option<&Document> {
        self.document.get_or_init(|| Document::read(body)).as_ref()
    }

    /// Returns the body as HTML if its type says so, otherwise as XML, which is parsed once.
    fn markup(&self, reply: &Reply<'_>, body: &'r [u8]) -> &Result<Markup, &'static str> {
        self.markup.get_or_init(|| {
            let mut is_html = false;
            (reply.read_values)(reply.head, b"content-type", &mut |value| {
                is_html |= value.windows(4).any(|letters| letters.eq_ignore_ascii_case(b"html"));
            });
            if is_html { Markup::html(self.text(body)) } else { Markup::xml(self.text(body)) }
        })
    }

    fn at(&self, place: usize, body: &'r [u8]) -> Outcome<'r> {
        let spans = self.spans.ok_or(Mismatch)?;
        let Some(span) = spans.get(place).cloned().flatten() else { return Ok(None) };
        let raw = body.get(span).ok_or(Mismatch)?;
        read(raw).ok_or(Mismatch).map(Some)
    }
}

/// Finds the value of a header field, or the list of values if the field occurs more than once.
fn header<'a>(reply: &Reply<'a>, name: &str) -> Option<Found<'a>> {
    let mut first = None;
    let mut list = Vec::new();
    (reply.read_values)(reply.head, name.as_bytes(), &mut |value| {
        let value = field_text(name, value);
        match first.take() {
            None if list.is_empty() => first = Some(value),
            earlier => list.extend(earlier.into_iter().chain([value]).map(Found::into_value)),
        }
    });
    first.or_else(|| (!list.is_empty()).then_some(Found::Owned(Value::List(list))))
}

/// Finds a cookie that the reply sets. Of those with the same name, the last one replaces the others (RFC 6265, section 5.3).
fn cookie<'a>(reply: &Reply<'a>, name: &str, attribute: Attribute) -> Option<Found<'a>> {
    let mut last = None;
    (reply.read_values)(reply.head, b"set-cookie", &mut |value| {
        let mut parts = value.split(|&byte| byte == b';').map(name_and_value);
        if let Some((own, value)) = parts.next()
            && own == name.as_bytes()
        {
            last = Some((value.unwrap_or_default(), parts));
        }
    });
    let (value, mut parts) = last?;
    let wanted: &[u8] = match attribute {
        Attribute::Value => return Some(field_text("", value)),
        Attribute::Expires => b"expires",
        Attribute::MaxAge => b"max-age",
        Attribute::Domain => b"domain",
        Attribute::Path => b"path",
        Attribute::Secure => b"secure",
        Attribute::HttpOnly => b"httponly",
        Attribute::SameSite => b"samesite",
    };
    let (_, value) = parts.find(|(name, _)| name.eq_ignore_ascii_case(wanted))?;
    let value = value.unwrap_or_default();
    match attribute {
        Attribute::Secure | Attribute::HttpOnly => Some(Found::Owned(Value::Boolean(true))),
        Attribute::MaxAge => {
            let number = std::str::from_utf8(value).ok()?.parse().ok()?;
            Some(Found::Owned(Value::Integer(number)))
        }
        _ => Some(field_text("", value)),
    }
}

/// The header fields whose values are references to resources.
const REFERENCES: [&str; 2] = ["Location", "Content-Location"];

/// Makes a text of the value of a header field. One that is not UTF-8 is ISO 8859-1, as once all were. In a reference,
/// such a byte stands for itself, so that a request for it names the same resource.
fn field_text<'a>(name: &str, value: &'a [u8]) -> Found<'a> {
    match std::str::from_utf8(value) {
        Ok(text) => Found::Text(text),
        Err(_) if REFERENCES.iter().any(|other| name.eq_ignore_ascii_case(other)) => {
            Found::owned_text(&reference(value))
        }
        Err(_) => Found::Owned(Value::Text(value.iter().copied().map(char::from).collect())),
    }
}

/// Splits a part of a `Set-Cookie` field at its first `=`.
fn name_and_value(part: &[u8]) -> (&[u8], Option<&[u8]>) {
    match memchr::memchr(b'=', part) {
        Some(place) => (part[..place].trim_ascii(), Some(part[place + 1..].trim_ascii())),
        None => (part.trim_ascii(), None),
    }
}

fn redirect(location: &CompactString) -> Value {
    Value::Object(vec![(CompactString::const_new("location"), Value::Text(location.clone()))])
}
