//! Filters: changes of a value.

use std::ops::Deref;
use std::rc::Rc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use compact_str::CompactString;
use httperf_plan::scenario::{Filter, StepText, Value};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::json::{Document, Path};
use super::look::Malformed;
use super::markup::{Markup, XPath};
use super::pattern::Pattern;
use super::scratch::{Compiled, Scratch};
use super::text::{Filling, Text, write_value};
use super::value::{Found, Mismatch, Outcome, View};

/// The characters that `urlEncode` replaces: all but unreserved ones (RFC 3986, section 2.3) and the slash.
const URL_ENCODED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// A compiled [`Filter`].
#[derive(Debug)]
pub(super) enum CompiledFilter<'p> {
    Simple(&'p Filter),
    Nth(i64),
    Regex(Source<'p, Pattern>),
    Replace { old: Text<'p>, new: Text<'p> },
    ReplaceRegex { pattern: Source<'p, Pattern>, new: Text<'p> },
    Split(Text<'p>),
    JsonPath(Source<'p, Path>),
    XPath(Source<'p, XPath>),
}

/// A regular expression or a path, perhaps with variables.
#[derive(Debug)]
pub(super) enum Source<'p, T> {
    Fixed(Box<T>),
    Filled(Text<'p>),
}

/// A language of such texts.
pub(super) trait Compile: Sized {
    fn compile(text: &str) -> Result<Self, String>;

    /// Texts of this language that were filled in.
    fn known(scratch: &mut Scratch) -> &mut Compiled<Self>;
}

impl Compile for Pattern {
    fn compile(text: &str) -> Result<Self, String> {
        Self::new(text)
    }

    fn known(scratch: &mut Scratch) -> &mut Compiled<Self> {
        &mut scratch.patterns
    }
}

impl Compile for Path {
    fn compile(text: &str) -> Result<Self, String> {
        Self::new(text)
    }

    fn known(scratch: &mut Scratch) -> &mut Compiled<Self> {
        &mut scratch.paths
    }
}

impl Compile for XPath {
    fn compile(text: &str) -> Result<Self, String> {
        Self::new(text)
    }

    fn known(scratch: &mut Scratch) -> &mut Compiled<Self> {
        &mut scratch.xpaths
    }
}

/// The compiled form of a text: made before the run, or just now.
#[derive(Debug)]
pub(super) enum Held<'s, T> {
    Fixed(&'s T),
    Filled(Rc<T>),
}

impl<'p> Source<'p, Pattern> {
    /// Compiles an expression whose first group is the value to take.
    pub(super) fn with_group(text: &'p StepText, depth: usize) -> Result<Self, Malformed> {
        Self::compiled(text, depth, Pattern::with_group)
    }
}

impl<'p, T: Compile> Source<'p, T> {
    pub(super) fn new(text: &'p StepText, depth: usize) -> Result<Self, Malformed> {
        Self::compiled(text, depth, T::compile)
    }

    fn compiled(
        text: &'p StepText,
        depth: usize,
        compile: fn(&str) -> Result<T, String>,
    ) -> Result<Self, Malformed> {
        let text = Text::nested(text, depth)?;
        Ok(match text.as_literal_text() {
            Some(literal) => Self::Fixed(Box::new(compile(literal).map_err(Malformed::of(literal))?)),
            None => Self::Filled(text),
        })
    }

    pub(super) fn get(
        &self,
        filling: &mut Filling<'_>,
        scratch: &mut Scratch,
    ) -> Result<Held<'_, T>, Mismatch> {
        match self {
            Self::Fixed(compiled) => Ok(Held::Fixed(compiled)),
            Self::Filled(text) => scratch
                .fill(text, filling, |filled, scratch| T::known(scratch).compile(filled, T::compile))?
                .map(Held::Filled),
        }
    }
}

impl<'p> CompiledFilter<'p> {
    /// Compiles filters at this depth of texts.
    pub(super) fn all(filters: &'p [Filter], depth: usize) -> Result<Box<[Self]>, Malformed> {
        filters.iter().map(|filter| Self::new(filter, depth + 1)).collect()
    }

    fn new(filter: &'p Filter, depth: usize) -> Result<Self, Malformed> {
        Ok(match filter {
            Filter::Nth(index) => Self::Nth(*index),
            Filter::Regex(pattern) => Self::Regex(Source::with_group(pattern, depth)?),
            Filter::Replace { old, new } => {
                Self::Replace { old: Text::nested(old, depth)?, new: Text::nested(new, depth)? }
            }
            Filter::ReplaceRegex { pattern, new } => {
                Self::ReplaceRegex { pattern: Source::new(pattern, depth)?, new: Text::nested(new, depth)? }
            }
            Filter::Split(separator) => Self::Split(Text::nested(separator, depth)?),
            Filter::JsonPath(path) => Self::JsonPath(Source::new(path, depth)?),
            Filter::XPath(path) => Self::XPath(Source::new(path, depth)?),
            simple => Self::Simple(simple),
        })
    }

    pub(super) fn apply<'a>(
        &self,
        found: Found<'a>,
        filling: &mut Filling<'_>,
        scratch: &mut Scratch,
    ) -> Outcome<'a> {
        match self {
            Self::Simple(filter) => apply_simple(filter, found),
            Self::Nth(index) => element(found, *index),
            Self::Regex(source) => {
                let pattern = source.get(filling, scratch)?;
                part_of_text(found, |text| pattern.first_group(text))
            }
            Self::Replace { old, new } => {
                let old = scratch.fill(old, filling, |old, _| CompactString::new(old))?;
                text_from(&found, |text| scratch.fill(new, filling, |new, _| text.replace(old.as_str(), new)))
            }
            Self::ReplaceRegex { pattern, new } => {
                let pattern = pattern.get(filling, scratch)?;
                text_from(&found, |text| {
                    scratch.fill(new, filling, |new, _| pattern.regex().replace_all(text, new).into_owned())
                })
            }
            Self::Split(separator) => {
                let View::Text(text) = found.view() else { return Err(Mismatch) };
                let piece = |piece| Value::Text(CompactString::new(piece));
                let pieces = scratch
                    .fill(separator, filling, |separator, _| text.split(separator).map(piece).collect())?;
                Ok(Some(Found::Owned(Value::List(pieces))))
            }
            Self::JsonPath(source) => {
                let path = source.get(filling, scratch)?;
                let document = match found.view() {
                    View::Text(text) => Document::read(text.as_bytes()),
                    View::List(_) | View::Object(_) => Document::of(found.into_value()),
                    _ => None,
                };
                Ok(path.query(&document.ok_or(Mismatch)?))
            }
            Self::XPath(source) => {
                let View::Text(text) = found.view() else { return Err(Mismatch) };
                let path = source.get(filling, scratch)?;
                path.query(&Markup::html(text).map_err(|_| Mismatch)?)
            }
        }
    }
}

/// Applies filters, in order. A filter of a missing value fails, as in Hurl.
pub(super) fn filtered<'a>(
    filters: &[CompiledFilter<'_>],
    found: Found<'a>,
    filling: &mut Filling<'_>,
    scratch: &mut Scratch,
) -> Outcome<'a> {
    let mut found = Some(found);
    for filter in filters {
        found = filter.apply(found.ok_or(Mismatch)?, filling, scratch)?;
    }
    Ok(found)
}

fn apply_simple<'a>(filter: &Filter, found: Found<'a>) -> Outcome<'a> {
    match filter {
        Filter::Count => count(&found),
        Filter::First => element(found, 0),
        Filter::Last => element(found, -1),
        Filter::ToInt => to_integer(found.view()),
        Filter::ToFloat => to_float(found.view()),
        Filter::ToText => to_text(found),
        Filter::UrlEncode => text_from(&found, |text| Ok(utf8_percent_encode(text, URL_ENCODED).to_string())),
        Filter::UrlDecode => text_from(&found, |text| {
            Ok(percent_decode_str(text).decode_utf8().map_err(|_| Mismatch)?.into_owned())
        }),
        Filter::HtmlEscape => text_from(&found, |text| Ok(escape(text))),
        Filter::HtmlUnescape => text_from(&found, |text| Ok(htmlize::unescape(text).into_owned())),
        Filter::Base64Encode => encode(&STANDARD, &found),
        Filter::Base64Decode => decode(&STANDARD, &found),
        Filter::Base64UrlSafeEncode => encode(&URL_SAFE_NO_PAD, &found),
        Filter::Base64UrlSafeDecode => decode(&URL_SAFE_NO_PAD, &found),
        Filter::Location => location(found),
        Filter::Nth(_)
        | Filter::Regex(_)
        | Filter::Replace { .. }
        | Filter::ReplaceRegex { .. }
        | Filter::Split(_)
        | Filter::JsonPath(_)
        | Filter::XPath(_) => Err(Mismatch),
    }
}

fn count(found: &Found<'_>) -> Outcome<'static> {
    let count = match found.view() {
        View::List(list) => list.len(),
        View::Object(members) => members.len(),
        View::Bytes(bytes) => bytes.len(),
        _ => return Err(Mismatch),
    };
    Ok(Some(Found::Owned(Value::Integer(i64::try_from(count).map_err(|_| Mismatch)?))))
}

/// Takes the element with this index; a negative one counts from the end.
fn element(found: Found<'_>, index: i64) -> Outcome<'_> {
    let View::List(list) = found.view() else { return Err(Mismatch) };
    let place = usize::try_from(index).ok().or_else(|| {
        let from_end = usize::try_from(index.unsigned_abs()).ok()?;
        list.len().checked_sub(from_end)
    });
    let Some(place) = place.filter(|&place| place < list.len()) else { return Ok(None) };
    Ok(match found {
        Found::Known(Value::List(list)) => list.get(place).map(Found::Known),
        Found::Owned(Value::List(mut list)) => Some(Found::Owned(list.swap_remove(place))),
        _ => None,
    })
}

fn to_integer(value: View<'_>) -> Outcome<'static> {
    let number = match value {
        View::Integer(number) => Some(Value::Integer(number)),
        View::Float(number) => Some(Value::Integer(number as i64)),
        View::BigInteger(text) => Value::whole(text),
        View::Text(text) => text.parse().map(Value::Integer).ok().or_else(|| Value::whole(text)),
        _ => None,
    };
    Ok(Some(Found::Owned(number.ok_or(Mismatch)?)))
}

fn to_float(value: View<'_>) -> Outcome<'static> {
    let number = match value {
        View::Integer(number) => Some(number as f64),
        View::Float(number) => Some(number),
        View::Text(text) | View::BigInteger(text) => {
            text.parse().ok().filter(|number: &f64| number.is_finite())
        }
        _ => None,
    };
    Ok(Some(Found::Owned(Value::Float(number.ok_or(Mismatch)?))))
}

fn to_text(found: Found<'_>) -> Outcome<'_> {
    let mut text = Vec::new();
    match found.view() {
        View::Text(_) => return Ok(Some(found)),
        View::Bytes(bytes) => text.extend_from_slice(bytes),
        other => write_value(other, &mut text).ok_or(Mismatch)?,
    }
    Ok(Some(Found::Owned(Value::Text(CompactString::from_utf8(text).map_err(|_| Mismatch)?))))
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#x27;"),
            other => escaped.push(other),
        }
    }
    escaped
}

fn encode(engine: &impl Engine, found: &Found<'_>) -> Outcome<'static> {
    let View::Bytes(bytes) = found.view() else { return Err(Mismatch) };
    Ok(Some(Found::owned_text(&engine.encode(bytes))))
}

fn decode(engine: &impl Engine, found: &Found<'_>) -> Outcome<'static> {
    let View::Text(text) = found.view() else { return Err(Mismatch) };
    Ok(Some(Found::Owned(Value::Bytes(engine.decode(text).map_err(|_| Mismatch)?))))
}

fn location(found: Found<'_>) -> Outcome<'_> {
    let View::Object(members) = found.view() else { return Err(Mismatch) };
    let place = members.iter().position(|(name, _)| name == "location").ok_or(Mismatch)?;
    Ok(match found {
        Found::Known(Value::Object(members)) => members.get(place).map(|(_, value)| Found::Known(value)),
        Found::Owned(Value::Object(mut members)) => Some(Found::Owned(members.swap_remove(place).1)),
        _ => None,
    })
}

/// Takes a part of a text, which is borrowed if the text is.
pub(super) fn part_of_text<'a>(found: Found<'a>, part: impl FnOnce(&str) -> Option<&str>) -> Outcome<'a> {
    match found {
        Found::Text(text) => Ok(part(text).map(Found::Text)),
        Found::Known(Value::Text(text)) => Ok(part(text).map(Found::Text)),
        Found::Owned(Value::Text(text)) => Ok(part(&text).map(Found::owned_text)),
        _ => Err(Mismatch),
    }
}

fn text_from(found: &Found<'_>, change: impl FnOnce(&str) -> Result<String, Mismatch>) -> Outcome<'static> {
    let View::Text(text) = found.view() else { return Err(Mismatch) };
    Ok(Some(Found::Owned(Value::Text(change(text)?.into()))))
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Self::Fixed(held) => held,
            Self::Filled(held) => held,
        }
    }
}
