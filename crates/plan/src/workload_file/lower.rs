//! Texts, queries and predicates of Hurl as those of scenarios.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use compact_str::CompactString;
use httperf_hurl as hurl;

use super::check::shortened;
use super::encode::{encode, rendered};
use super::library::Library;
use super::names::{Meaning, Names};
use super::problem::{FileProblem, Missing, Problems, Source};
use crate::NonEmpty;
use crate::scenario::{
    Attribute, Capture, Check, Coding, Filter, Operand, Predicate, Query, StepText, Test, TextPart, Value,
    jsonpath, regex, regex_with_group, xpath,
};

/// The greatest number of characters in the label of a capture or check.
const LABEL_MAX: usize = 200;

/// The greatest size of a file in a condition, which is kept in the plan.
const OPERAND_SIZE_MAX: usize = 64 << 10;

/// The surroundings of texts that are lowered: their file, and all that they may refer to.
pub(super) struct Lowering<'a, 'files> {
    pub(super) source: &'a Arc<Source>,
    /// The place in the file of text that was parsed on its own; `None` if the whole file was parsed.
    pub(super) snippet: Option<Snippet>,
    /// The folder to which paths in the file are relative, from the folder of the workload file.
    pub(super) folder: &'a Path,
    pub(super) names: &'a mut Names,
    pub(super) library: &'a mut Library<'files>,
    pub(super) problems: &'a mut Problems,
    /// True if an expression was left out of the text that was lowered last, after a problem with it.
    pub(super) has_gap: bool,
}

/// A value in a file that was parsed on its own.
#[derive(Clone, Debug)]
pub(super) struct Snippet {
    /// The place of the value, with its quotes.
    pub(super) at: Range<usize>,
    /// The number of bytes that were put before the text to parse it.
    pub(super) before: usize,
    /// True if the text is in the file as it was parsed, right after the first quote.
    pub(super) is_verbatim: bool,
}

impl Snippet {
    /// Returns the place in the file of a place in the text that was parsed.
    fn place(&self, span: &Range<usize>) -> Range<usize> {
        let move_to = |offset: usize| {
            self.at.start.saturating_add(1).saturating_add(offset.saturating_sub(self.before))
        };
        match self.is_verbatim {
            true => move_to(span.start).min(self.at.end)..move_to(span.end).min(self.at.end),
            false => self.at.clone(),
        }
    }
}

impl Lowering<'_, '_> {
    /// Adds a problem that a value given together with the file would solve as well.
    pub(super) fn missing(&mut self, span: &Range<usize>, message: String, hint: &str, missing: Missing) {
        let problem = FileProblem::new(self.source, self.place(span), message);
        self.problems.push(problem.with_hint(hint).missing(missing));
    }

    fn place(&self, span: &Range<usize>) -> Range<usize> {
        self.snippet.as_ref().map_or_else(|| span.clone(), |snippet| snippet.place(span))
    }

    /// Adds a problem at a place of the text that was parsed.
    pub(super) fn problem(&mut self, span: &Range<usize>, message: impl Into<String>, hint: Option<String>) {
        let problem = FileProblem::new(self.source, self.place(span), message);
        self.problems.push(match hint {
            Some(hint) => problem.with_hint(hint),
            None => problem,
        });
    }

    /// Adds the errors of the parser.
    pub(super) fn syntax(&mut self, errors: Vec<hurl::Problem>) {
        for hurl::Problem { at, message, hint } in errors {
            self.problem(&at, message, hint);
        }
    }

    /// Returns what is written at a place of the file, on one line.
    pub(super) fn written(&self, span: &Range<usize>) -> String {
        let text = self.source.text.get(self.place(span)).unwrap_or_default();
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ").chars().take(LABEL_MAX).collect()
    }

    /// Returns the path of a file named in this one, from the folder of the workload file.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(super) fn text(&mut self, template: &hurl::Template) -> StepText {
        let mut text = StepText::default();
        self.has_gap = false;
        for piece in &template.pieces {
            match piece {
                hurl::Piece::Literal { text: literal, .. } => text.push_literal(literal.as_bytes()),
                hurl::Piece::Expression(expression) => {
                    let part = self.expression(expression);
                    self.has_gap |= part.is_none();
                    part.into_iter().for_each(|part| text.push(part));
                }
            }
        }
        text
    }

    /// Returns a text whose literals are encoded, and the rest will be.
    pub(super) fn encoded(&mut self, coding: Coding, template: &hurl::Template) -> StepText {
        encoded(coding, self.text(template))
    }

    /// Returns a text that is known before the run.
    pub(super) fn fixed(&mut self, template: &hurl::Template, what: &str) -> Option<String> {
        let text = self.text(template);
        match text.as_literal() {
            Some(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            None => {
                let shown = shortened(&self.written(&template.span));
                self.problem(
                    &template.span,
                    format!("expected {what} that is known before the run, got `{shown}`"),
                    None,
                );
                None
            }
        }
    }

    /// Returns an expression; `None` after a problem with it.
    pub(super) fn expression(&mut self, expression: &hurl::Expression) -> Option<TextPart> {
        match &expression.source {
            hurl::Source::Variable(name) => self.variable(name, expression),
            source if !expression.filters.is_empty() => {
                let shown = self.written(&expression.span);
                let kind =
                    if matches!(source, hurl::Source::Pick(_)) { "pick" } else { "newUuid and newDate" };
                self.problem(
                    &expression.span,
                    format!("expected no filters after {kind}, got `{}`", shortened(&shown)),
                    Some("set a variable with it, and apply the filters to that".to_owned()),
                );
                None
            }
            hurl::Source::NewUuid => Some(TextPart::Uuid),
            hurl::Source::NewDate => Some(TextPart::Date),
            hurl::Source::Pick(texts) => {
                let texts: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
                NonEmpty::try_from(texts).ok().map(TextPart::Pick)
            }
        }
    }

    fn variable(&mut self, name: &str, expression: &hurl::Expression) -> Option<TextPart> {
        if expression.filters.is_empty() {
            return Some(match self.meaning(name, &expression.span)? {
                Meaning::Constant(value) => TextPart::Literal(rendered(&value)),
                Meaning::Slot(slot) => TextPart::Variable { slot, filters: Vec::new() },
            });
        }
        let slot = self.slot(name, &expression.span)?;
        Some(TextPart::Variable { slot, filters: self.filters(&expression.filters) })
    }

    pub(super) fn meaning(&mut self, name: &str, span: &Range<usize>) -> Option<Meaning> {
        let meaning = self.names.meaning(name);
        if meaning.is_none() {
            self.unset(name, span);
        }
        meaning
    }

    pub(super) fn slot(&mut self, name: &str, span: &Range<usize>) -> Option<u32> {
        let slot = self.names.slot(name);
        if slot.is_none() {
            self.unset(name, span);
        }
        slot
    }

    fn unset(&mut self, name: &str, span: &Range<usize>) {
        if !self.names.is_first_unset(name) {
            return;
        }
        let message = format!("expected a variable that something sets, got `{name}`");
        match self.names.nearest(name) {
            Some(near) => self.problem(span, message, Some(format!("did you mean `{near}`?"))),
            None if name == "base" => {
                self.missing(span, message, "set `base` in the workload file", Missing::Base);
            }
            None => {
                let hint = "set it with `[variables]`, a feed, a capture or `with`";
                self.missing(span, message, hint, Missing::Variable(name.to_owned()));
            }
        }
    }

    pub(super) fn capture(&mut self, capture: &hurl::Capture) -> Option<Capture> {
        let query = self.query(&capture.query);
        let filters = self.filters(&capture.filters);
        let slot = self.slot(&capture.name, &capture.span)?;
        let label = self.written(&capture.span);
        Some(Capture { slot, query: query?, filters, label, redacted: capture.redacted })
    }

    pub(super) fn check(&mut self, assert: &hurl::Assert) -> Option<Check> {
        let query = self.query(&assert.query);
        let filters = self.filters(&assert.filters);
        let test = self.test(&assert.predicate);
        let predicate = Predicate { not: assert.predicate.not, test: test? };
        Some(Check { query: query?, filters, predicate, label: self.written(&assert.span) })
    }

    fn query(&mut self, query: &hurl::Query) -> Option<Query> {
        Some(match &query.kind {
            hurl::QueryKind::Status => Query::Status,
            hurl::QueryKind::Header(name) => Query::Header(self.text(name)),
            hurl::QueryKind::Cookie { name, attribute } => {
                Query::Cookie { name: self.text(name), attribute: attribute.map(lowered_attribute) }
            }
            hurl::QueryKind::Body => Query::Body,
            hurl::QueryKind::Bytes => Query::Bytes,
            hurl::QueryKind::Sha256 => Query::Sha256,
            hurl::QueryKind::JsonPath(path) => Query::JsonPath(self.path_into_json(path)),
            hurl::QueryKind::XPath(text) => Query::XPath(self.xpath(text)),
            hurl::QueryKind::Regex(pattern) => Query::Regex(self.pattern_with_group(pattern, &query.span)),
            hurl::QueryKind::Variable(name) => Query::Variable(self.slot(name, &query.span)?),
            hurl::QueryKind::Duration => Query::Duration,
            hurl::QueryKind::Redirects => Query::Redirects,
        })
    }

    /// Returns a regular expression that texts match, or do not. `span`: the place of what has it.
    fn pattern(&mut self, pattern: &hurl::Pattern, span: &Range<usize>) -> StepText {
        self.checked_pattern(pattern, span, |text| regex(text).map(drop))
    }

    /// Returns a regular expression whose first group is the value to take.
    fn pattern_with_group(&mut self, pattern: &hurl::Pattern, span: &Range<usize>) -> StepText {
        self.checked_pattern(pattern, span, |text| regex_with_group(text).map(drop))
    }

    fn checked_pattern(
        &mut self,
        pattern: &hurl::Pattern,
        span: &Range<usize>,
        check: fn(&str) -> Result<(), String>,
    ) -> StepText {
        let (text, span) = match pattern {
            hurl::Pattern::Text(template) => (self.text(template), &template.span),
            hurl::Pattern::Fixed(pattern) => {
                self.has_gap = false;
                (StepText::literal(pattern.as_bytes()), span)
            }
        };
        self.checked(text, span, "a regular expression", check)
    }

    fn path_into_json(&mut self, path: &hurl::Template) -> StepText {
        let text = self.text(path);
        self.checked(text, &path.span, "a JSONPath", |text| jsonpath(text).map(drop))
    }

    fn xpath(&mut self, expression: &hurl::Template) -> StepText {
        let text = self.text(expression);
        self.checked(text, &expression.span, "an XPath", |text| xpath(text).map(drop))
    }

    /// Returns a text in a language of its own. If it is known before the run, it is checked now.
    fn checked(
        &mut self,
        text: StepText,
        span: &Range<usize>,
        what: &str,
        check: fn(&str) -> Result<(), String>,
    ) -> StepText {
        let literal = text.as_literal().filter(|_| !self.has_gap);
        if let Some(Err(reason)) = literal.map(|bytes| check(&String::from_utf8_lossy(bytes))) {
            let shown = shortened(&self.written(span));
            self.problem(span, format!("expected {what} ({reason}), got `{shown}`"), None);
        }
        text
    }

    fn filters(&mut self, filters: &[hurl::Filter]) -> Vec<Filter> {
        filters.iter().map(|filter| self.filter(&filter.kind, &filter.span)).collect()
    }

    fn filter(&mut self, filter: &hurl::FilterKind, span: &Range<usize>) -> Filter {
        match filter {
            hurl::FilterKind::Count => Filter::Count,
            hurl::FilterKind::First => Filter::First,
            hurl::FilterKind::Last => Filter::Last,
            hurl::FilterKind::Nth(index) => Filter::Nth(*index),
            hurl::FilterKind::Regex(pattern) => Filter::Regex(self.pattern_with_group(pattern, span)),
            hurl::FilterKind::Replace { old, new } => {
                Filter::Replace { old: self.text(old), new: self.text(new) }
            }
            hurl::FilterKind::ReplaceRegex { pattern, new } => {
                Filter::ReplaceRegex { pattern: self.pattern(pattern, span), new: self.text(new) }
            }
            hurl::FilterKind::Split(separator) => Filter::Split(self.text(separator)),
            hurl::FilterKind::ToInt => Filter::ToInt,
            hurl::FilterKind::ToFloat => Filter::ToFloat,
            hurl::FilterKind::ToText => Filter::ToText,
            hurl::FilterKind::UrlEncode => Filter::UrlEncode,
            hurl::FilterKind::UrlDecode => Filter::UrlDecode,
            hurl::FilterKind::HtmlEscape => Filter::HtmlEscape,
            hurl::FilterKind::HtmlUnescape => Filter::HtmlUnescape,
            hurl::FilterKind::Base64Encode => Filter::Base64Encode,
            hurl::FilterKind::Base64Decode => Filter::Base64Decode,
            hurl::FilterKind::Base64UrlSafeEncode => Filter::Base64UrlSafeEncode,
            hurl::FilterKind::Base64UrlSafeDecode => Filter::Base64UrlSafeDecode,
            hurl::FilterKind::Location => Filter::Location,
            hurl::FilterKind::JsonPath(path) => Filter::JsonPath(self.path_into_json(path)),
            hurl::FilterKind::XPath(text) => Filter::XPath(self.xpath(text)),
        }
    }

    fn test(&mut self, predicate: &hurl::Predicate) -> Option<Test> {
        let span = &predicate.span;
        Some(match &predicate.test {
            hurl::Test::Equals(value) => Test::Equals(self.operand(value, span)?),
            hurl::Test::Differs(value) => Test::Differs(self.operand(value, span)?),
            hurl::Test::Above(value) => Test::Above(self.operand(value, span)?),
            hurl::Test::AtLeast(value) => Test::AtLeast(self.operand(value, span)?),
            hurl::Test::Below(value) => Test::Below(self.operand(value, span)?),
            hurl::Test::AtMost(value) => Test::AtMost(self.operand(value, span)?),
            hurl::Test::StartsWith(value) => Test::StartsWith(self.operand(value, span)?),
            hurl::Test::EndsWith(value) => Test::EndsWith(self.operand(value, span)?),
            hurl::Test::Contains(value) | hurl::Test::Includes(value) => {
                Test::Contains(self.operand(value, span)?)
            }
            hurl::Test::Matches(pattern) => Test::Matches(self.pattern(pattern, span)),
            hurl::Test::Exists => Test::Exists,
            hurl::Test::IsEmpty => Test::IsEmpty,
            hurl::Test::IsInteger => Test::IsInteger,
            hurl::Test::IsFloat => Test::IsFloat,
            hurl::Test::IsNumber => Test::IsNumber,
            hurl::Test::IsBoolean => Test::IsBoolean,
            hurl::Test::IsText => Test::IsText,
            hurl::Test::IsCollection => Test::IsCollection,
            hurl::Test::IsList => Test::IsList,
            hurl::Test::IsObject => Test::IsObject,
            hurl::Test::IsDate | hurl::Test::IsIsoDate => Test::IsDate,
            hurl::Test::IsUuid => Test::IsUuid,
            hurl::Test::IsIpv4 => Test::IsIpv4,
            hurl::Test::IsIpv6 => Test::IsIpv6,
        })
    }

    /// Returns a value to compare with or to set a variable to; `None` after a problem with it.
    pub(super) fn operand(&mut self, value: &hurl::Value, span: &Range<usize>) -> Option<Operand> {
        Some(match value {
            hurl::Value::Null => Operand::Value(Value::Null),
            hurl::Value::Boolean(truth) => Operand::Value(Value::Boolean(*truth)),
            hurl::Value::Integer(number) => Operand::Value(Value::Integer(*number)),
            hurl::Value::BigInteger(digits) => Operand::Value(Value::BigInteger(digits.into())),
            hurl::Value::Float(number) => Operand::Value(Value::Float(*number)),
            hurl::Value::Text(template) => text_operand(self.text(template)),
            hurl::Value::Expression(expression) => self.expression_operand(expression)?,
            hurl::Value::Bytes(bytes) => Operand::Value(Value::Bytes(bytes.clone())),
            hurl::Value::File(path) => {
                let file = self.file(path)?;
                if file.contents.len() > OPERAND_SIZE_MAX {
                    let message =
                        format!("expected a file of at most {OPERAND_SIZE_MAX} bytes, got {}", file.size);
                    self.problem(span, message, Some("compare its digest: sha256 == hex,…;".to_owned()));
                    return None;
                }
                Operand::Value(Value::Bytes(file.contents.to_vec()))
            }
            hurl::Value::Regex(_) => {
                let shown = shortened(&self.written(span));
                let hint = "`matches /…/` tests a regular expression".to_owned();
                self.problem(span, format!("expected a value to compare with, got `{shown}`"), Some(hint));
                return None;
            }
        })
    }

    /// Returns the value of an expression, with its type if it is a variable alone.
    pub(super) fn expression_operand(&mut self, expression: &hurl::Expression) -> Option<Operand> {
        match &expression.source {
            hurl::Source::Variable(name) if expression.filters.is_empty() => {
                Some(match self.meaning(name, &expression.span)? {
                    Meaning::Constant(value) => Operand::Value(value),
                    Meaning::Slot(slot) => Operand::Variable(slot),
                })
            }
            _ => Some(Operand::Text(StepText { parts: vec![self.expression(expression)?] })),
        }
    }

    /// Reads a file that is named in this one; `None` after a problem with it.
    pub(super) fn file(&mut self, path: &hurl::Template) -> Option<crate::BodyFile> {
        let name = self.fixed(path, "a path")?;
        let read = self.library.body(&self.path(&name));
        match read {
            Ok(file) => Some(file),
            Err(message) => {
                self.problem(&path.span, message, None);
                None
            }
        }
    }
}

/// Returns a text to compare with or to set a variable to.
pub(super) fn text_operand(text: StepText) -> Operand {
    match text.as_literal() {
        Some(bytes) => Operand::Value(Value::Text(CompactString::from_utf8_lossy(bytes))),
        None => Operand::Text(text),
    }
}

/// Encodes the literals of a text, and marks the rest to be encoded.
pub(super) fn encoded(coding: Coding, text: StepText) -> StepText {
    let mut whole = StepText::default();
    for part in text.parts {
        match part {
            TextPart::Literal(bytes) => whole.push_literal(&encode(coding, &bytes)),
            other => whole.push(TextPart::Encoded { coding, text: StepText { parts: vec![other] } }),
        }
    }
    whole
}

fn lowered_attribute(attribute: hurl::CookieAttribute) -> Attribute {
    match attribute {
        hurl::CookieAttribute::Value => Attribute::Value,
        hurl::CookieAttribute::Expires => Attribute::Expires,
        hurl::CookieAttribute::MaxAge => Attribute::MaxAge,
        hurl::CookieAttribute::Domain => Attribute::Domain,
        hurl::CookieAttribute::Path => Attribute::Path,
        hurl::CookieAttribute::Secure => Attribute::Secure,
        hurl::CookieAttribute::HttpOnly => Attribute::HttpOnly,
        hurl::CookieAttribute::SameSite => Attribute::SameSite,
    }
}
