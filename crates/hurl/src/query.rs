//! Queries: the places of values.

use crate::cursor::{Parsed, Parser};
use crate::text::Form;
use crate::{CookieAttribute, Pattern, Piece, Problem, Query, QueryKind, Template};

/// The queries that are supported.
const KNOWN: &str = "queries are status, header, cookie, body, bytes, sha256, jsonpath, xpath, regex, variable, duration, redirects";

/// The attributes of cookies.
const ATTRIBUTES: [(&str, CookieAttribute); 8] = [
    ("Value", CookieAttribute::Value),
    ("Expires", CookieAttribute::Expires),
    ("Max-Age", CookieAttribute::MaxAge),
    ("Domain", CookieAttribute::Domain),
    ("Path", CookieAttribute::Path),
    ("Secure", CookieAttribute::Secure),
    ("HttpOnly", CookieAttribute::HttpOnly),
    ("SameSite", CookieAttribute::SameSite),
];

impl Parser<'_> {
    pub(crate) fn query(&mut self) -> Parsed<Query> {
        let start = self.at;
        let word = self.word();
        let unknown = self.expected("a query").with_hint(KNOWN);
        self.at += word.len();
        let kind = match word {
            "status" => QueryKind::Status,
            "header" => QueryKind::Header(self.quoted_argument("the name of a header field")?),
            "cookie" => self.cookie_path()?,
            "body" => QueryKind::Body,
            "bytes" => QueryKind::Bytes,
            "sha256" => QueryKind::Sha256,
            "jsonpath" => QueryKind::JsonPath(self.quoted_argument("a JSONPath")?),
            "xpath" => QueryKind::XPath(self.quoted_argument("an XPath")?),
            "regex" => QueryKind::Regex(self.pattern_argument()?),
            "variable" => QueryKind::Variable(self.variable_name()?),
            "duration" => QueryKind::Duration,
            "redirects" => QueryKind::Redirects,
            _ => match refusal(word) {
                Some((argument, hint)) => {
                    if argument {
                        self.quoted_argument("a text")?;
                    }
                    self.refuse(start..start + word.len(), &format!("the query `{word}`"), Some(hint));
                    QueryKind::Body
                }
                None => return Err(unknown),
            },
        };
        Ok(Query { kind, span: self.since(start) })
    }

    /// Parses a space and a text in double quotes.
    pub(crate) fn quoted_argument(&mut self, what: &str) -> Parsed<Template> {
        self.expect_space(what)?;
        self.quoted(what)
    }

    /// Parses a space and a regular expression, in double quotes or between slashes.
    pub(crate) fn pattern_argument(&mut self) -> Parsed<Pattern> {
        self.expect_space("a regular expression")?;
        match self.peek() {
            Some('"') => Ok(Pattern::Text(self.quoted("a regular expression")?)),
            Some('/') => Ok(Pattern::Fixed(self.slashed()?)),
            _ => Err(self.expected("a regular expression, as \"…\" or /…/")),
        }
    }

    /// Parses a regular expression between slashes.
    pub(crate) fn slashed(&mut self) -> Parsed<String> {
        let start = self.at;
        self.bump();
        let mut pattern = String::new();
        loop {
            if self.eat("\\/") {
                pattern.push('/');
                continue;
            }
            match self.peek() {
                Some('/') => {
                    self.bump();
                    return Ok(pattern);
                }
                None | Some('\n') => {
                    return Err(Problem::new(self.since(start), "expected a closing / on the same line"));
                }
                Some(char) => {
                    self.bump();
                    pattern.push(char);
                }
            }
        }
    }

    fn cookie_path(&mut self) -> Parsed<QueryKind> {
        let name = self.quoted_argument("the name of a cookie")?;
        if has_bare_hash(self.text.get(name.span.clone()).unwrap_or("")) {
            // Hurl takes what comes before it for the name, and drops the rest.
            self.refuse(name.span.clone(), "`#` in the name of a cookie", Some("write `\\#`"));
        }
        let bracket = |piece: &Piece| match piece {
            Piece::Literal { text, .. } => text.find('['),
            Piece::Expression(_) => None,
        };
        let found = name.pieces.iter().enumerate().find_map(|(index, piece)| Some((index, bracket(piece)?)));
        let (mut name, attribute) = match found {
            Some((index, at)) => split_attribute(name, index, at)?,
            None => (name, None),
        };
        self.trim_cookie(&mut name, attribute.is_some());
        Ok(QueryKind::Cookie { name, attribute })
    }

    /// Removes spaces at the end of the name of a cookie, as Hurl does, but not those that are escaped.
    fn trim_cookie(&self, name: &mut Template, has_attribute: bool) {
        let Some(Piece::Literal { text, span }) = name.pieces.last_mut() else { return };
        let source = self.text.get(span.clone()).unwrap_or("");
        let source = source.rsplit_once('[').filter(|_| has_attribute).map_or(source, |(before, _)| before);
        let spaces = source.len() - source.trim_end_matches(' ').len();
        text.truncate(text.len().saturating_sub(spaces));
        if text.is_empty() {
            name.pieces.pop();
        }
    }

    fn variable_name(&mut self) -> Parsed<String> {
        let name = self.quoted_argument("the name of a variable")?;
        Ok(self.fixed(name, "the name of a variable"))
    }

    /// Returns a text that may have no expressions.
    pub(crate) fn fixed(&mut self, text: Template, what: &str) -> String {
        match text.as_literal() {
            Some(literal) => literal.to_owned(),
            None => {
                self.refuse(text.span, &format!("`{{{{…}}}}` in {what}"), Some("write the name itself"));
                String::new()
            }
        }
    }

    /// Parses the path after `file,` up to the semicolon.
    pub(crate) fn file_path(&mut self) -> Parsed<Template> {
        self.skip_spaces();
        let starts_with_bracket = self.peek() == Some('[');
        let path = self.bare(Form::Path)?;
        if path.pieces.is_empty() || starts_with_bracket {
            return Err(self.expected("the path of a file after `file,`"));
        }
        self.skip_spaces();
        if self.eat(";") { Ok(path) } else { Err(self.expected("`;` after the path of a file")) }
    }
}

/// Tells if a text has a `#` that is not escaped.
fn has_bare_hash(source: &str) -> bool {
    let mut escaped = false;
    source.chars().any(|char| {
        let bare = char == '#' && !escaped;
        escaped = char == '\\' && !escaped;
        bare
    })
}

/// Splits the attribute off the name of a cookie. The bracket is in the piece `index`, at the byte `at` of its text.
fn split_attribute(
    mut name: Template,
    index: usize,
    at: usize,
) -> Parsed<(Template, Option<CookieAttribute>)> {
    let is_last = name.pieces.len() == index + 1;
    let Some(Piece::Literal { text, .. }) = name.pieces.get_mut(index) else { return Ok((name, None)) };
    let bracket = text.split_off(at);
    // Spaces alone, not what escapes stand for.
    let word = bracket.trim_end_matches(' ').strip_prefix('[').and_then(|word| word.strip_suffix(']'));
    let word = word.map(|word| word.trim_matches(' '));
    let found = word.filter(|_| is_last).and_then(|word| {
        ATTRIBUTES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|(_, attribute)| *attribute)
    });
    if found.is_none() {
        let names: Vec<&str> = ATTRIBUTES.iter().map(|(name, _)| *name).collect();
        let message =
            format!("expected an attribute of a cookie in `[…]` at the end of the text, got `{bracket}`");
        return Err(
            Problem::new(name.span, message).with_hint(format!("attributes are {}", names.join(", ")))
        );
    }
    Ok((name, found))
}

/// Returns if a query that is refused has an argument, and what to do instead.
fn refusal(word: &str) -> Option<(bool, &'static str)> {
    match word {
        "md5" => Some((false, "use `sha256`")),
        "version" => Some((false, "write the version before the status, as in `HTTP/2 200`")),
        "url" => Some((false, "check the `Location` header field, or `redirects`")),
        "certificate" => Some((true, "remove the line: certificates are checked when connections open")),
        "ip" => Some((false, "remove the line")),
        "rawbytes" => Some((false, "use `bytes`, the body with its content coding removed")),
        _ => None,
    }
}
