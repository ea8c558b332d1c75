//! The languages within texts: regular expressions and paths into JSON.

use std::borrow::Cow;

use regex::Regex;
use serde_json_path::JsonPath;
use xmloxide::xpath::ast::Expr;
use xmloxide::xpath::parser;

/// The maximum number of opening brackets in a path, and of minus signs in an XPath, which bounds the depth of its parser.
const BRACKETS_MAX: usize = 64;

/// Parses a path into JSON as RFC 9535 has it, or as Hurl accepts it too: `$.a-b` for `$['a-b']`, `$.[0]` for `$[0]`. Returns
/// it with its text as the RFC has it.
///
/// # Errors
/// The reason why it is none.
pub fn jsonpath(text: &str) -> Result<(JsonPath, Cow<'_, str>), String> {
    if text.bytes().filter(|byte| matches!(byte, b'(' | b'[')).count() > BRACKETS_MAX {
        return Err(format!("expected at most {BRACKETS_MAX} brackets"));
    }
    let error = match JsonPath::parse(text) {
        Ok(path) => return Ok((path, text.into())),
        Err(error) => error,
    };
    let regular = regular_form(text);
    match JsonPath::parse(&regular) {
        Ok(path) => Ok((path, regular.into())),
        Err(_) => Err(error.to_string()),
    }
}

/// Parses an expression of XPath 1.0 (<https://www.w3.org/TR/1999/REC-xpath-19991116/>).
///
/// # Errors
/// The mistake in it.
pub fn xpath(text: &str) -> Result<Expr, String> {
    let opening = |signs: &[u8]| text.bytes().filter(|byte| signs.contains(byte)).count();
    if opening(b"([") > BRACKETS_MAX || opening(b"-") > BRACKETS_MAX {
        return Err(format!("expected at most {BRACKETS_MAX} brackets and as many minus signs"));
    }
    parser::parse(text).map_err(|error| {
        let text = error.to_string();
        text.strip_prefix("invalid expression: ").unwrap_or(&text).to_owned()
    })
}

/// Parses a regular expression.
///
/// # Errors
/// The reason why it is none.
pub fn regex(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| {
        // The last line says what is wrong; those before it draw the place.
        let text = error.to_string();
        let last = text.lines().last().unwrap_or_default();
        last.strip_prefix("error: ").unwrap_or(last).to_owned()
    })
}

/// Parses a regular expression whose first group is the value: without a group there would never be one.
///
/// # Errors
/// The reason why it is none.
pub fn regex_with_group(text: &str) -> Result<Regex, String> {
    match regex(text)? {
        regex if regex.captures_len() < 2 => {
            Err("expected a group in parentheses around the value to take".to_owned())
        }
        regex => Ok(regex),
    }
}

/// Returns a path with names in brackets and quotes that the RFC does not have without them, and without a dot before a bracket.
fn regular_form(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    // The place follows a segment, or `$` or `@`, with which a path begins: a dot begins the next segment.
    let mut follows_segment = false;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' => {
                follows_segment = false;
                quoted_length(rest, first)
            }
            '.' if follows_segment => {
                let dots = if rest.starts_with("..") { 2 } else { 1 };
                let tail = &rest[dots..];
                let name_length = tail.find(|letter| !is_of_name(letter)).unwrap_or(tail.len());
                let (name, is_regular) = (&tail[..name_length], is_regular(&tail[..name_length]));
                if !name.is_empty() && !is_regular {
                    out.push_str(if dots == 2 { ".." } else { "" });
                    out.push_str("['");
                    out.push_str(name);
                    out.push_str("']");
                } else {
                    out.push_str(if dots == 1 && tail.starts_with('[') { "" } else { &rest[..dots] });
                    out.push_str(name);
                }
                rest = &tail[name_length..];
                continue;
            }
            other => {
                follows_segment =
                    matches!(other, '$' | '@' | ']' | '*') || follows_segment && is_of_name(other);
                other.len_utf8()
            }
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out
}

/// Returns the length of a string with its quotes; what is left if it does not end.
fn quoted_length(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    let end = text.char_indices().skip(1).find(|&(_, letter)| {
        let ends = letter == quote && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |(place, letter)| place + letter.len_utf8())
}

/// Returns true for the characters of names that Hurl takes without quotes.
fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '-') || !letter.is_ascii()
}

/// Returns true for a name that the RFC has without quotes.
fn is_regular(name: &str) -> bool {
    !name.contains('-') && !name.starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_hurl_accepts_are_those_of_the_rfc() {
        for (text, expected) in [
            ("$.a-b", "$['a-b']"),
            ("$.headers.Content-Length", "$.headers['Content-Length']"),
            ("$.[0]", "$[0]"),
            ("$.list.[0].x-y.[1]", "$.list[0]['x-y'][1]"),
            ("$.['a b'].c-d", "$['a b']['c-d']"),
            ("$..a-b", "$..['a-b']"),
            ("$.a-b[*].c-d..e", "$['a-b'][*]['c-d']..e"),
            ("$.0", "$['0']"),
            ("$.2fa.on", "$['2fa'].on"),
            ("$.items[?(@.unit-price > 1.5)].id", "$.items[?(@['unit-price'] > 1.5)].id"),
            ("$.items[?@.a-b == 'x.y-z'].c-d", "$.items[?@['a-b'] == 'x.y-z']['c-d']"),
            ("$.*.a-b", "$.*['a-b']"),
            ("$.grün-blau", "$['grün-blau']"),
            ("$['it\\'s.a-b'].c-d", "$['it\\'s.a-b']['c-d']"),
        ] {
            let (path, regular) = jsonpath(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(regular, expected, "{text}");
            assert_eq!(path, JsonPath::parse(expected).unwrap(), "{text}");
        }
    }

    #[test]
    fn paths_of_the_rfc_stay_as_they_are() {
        for text in
            ["$", "$.a.b[0]", "$..a", "$..[0]", "$[?@.a == '.b-c']", "$[?length(@.a) > 1.5]", "$['a.[b']"]
        {
            assert_eq!(jsonpath(text).unwrap().1, text);
            assert_eq!(regular_form(text), text);
        }
    }

    #[test]
    fn what_is_no_path_is_refused_for_what_it_is() {
        for text in ["", "a", "$.", "$.x[", "$.a-b[", "$.[", "$x", "$.a b", "$['a", "$.a-b.'c"] {
            assert_eq!(jsonpath(text).unwrap_err(), JsonPath::parse(text).unwrap_err().to_string(), "{text}");
        }
        assert_eq!(jsonpath(&"[".repeat(65)).unwrap_err(), "expected at most 64 brackets");
    }

    #[test]
    fn messages_about_expressions_are_one_line() {
        for text in ["(", "[a", "a{2", "\\", "(?P<a>x", "\\p{x}", "a**b(?"] {
            if let Err(reason) = regex(text) {
                assert!(!reason.is_empty() && !reason.contains('\n'), "{text}: {reason}");
            }
        }
        assert!(regex("(").is_err() && regex("a").is_ok());
        assert!(regex_with_group("a").is_err() && regex_with_group("a(b)").is_ok());
    }
}
