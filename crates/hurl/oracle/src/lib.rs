//! Compares our parser for Hurl files with that of Hurl, `hurl_core`.
//!
//! [`compare`] says if both understand a text in the same way: what Hurl parses, ours parses to the same tree or
//! refuses by name; what Hurl refuses, ours refuses. The deliberate exceptions are listed in [`STRICTER`] and
//! [`LAXER`].

pub mod theirs;

use std::panic::catch_unwind;

use httperf_hurl::{Problem, outline::outline, parse};
use hurl_core::parser::{ParseErrorKind, parse_hurl_file};

/// Constructs that ours refuses in files that Hurl parses, by a part of the message, with the reason.
pub const STRICTER: &[(&str, &str)] = &[
    ("in the name of a cookie", "Hurl drops what follows `#` in the name of a cookie"),
    ("expected digits, got", "Hurl takes a number without the digits of its exponent, which is not JSON"),
    ("expected text without tabs", "Hurl takes tabs in the name of a cookie, and another name for it"),
    ("expected well-formed XML", "ours knows less of XML than libxml2; the hint says how to write it"),
    (
        "expected a closing / on the same line",
        "Hurl looks for it in the next lines too, where a forgotten one is found late",
    ),
    ("redact`", "Hurl needs no space before `redact`"),
    ("a filter or `}}`", "Hurl ignores what follows the name in `{{name …}}`; ours has filters there"),
    ("expected `}}`", "Hurl ignores what follows the name in `{{name.…}}`"),
    ("a URL after the method", "a request without a URL cannot be made"),
    ("expected an attribute of a cookie", "Hurl ignores what follows the attribute in `name[Path]…`"),
    ("groups of four characters", "Hurl drops the last character of incomplete base64"),
    ("or `@think`", "a comment of ours"),
    ("directly above a request", "a comment of ours"),
    ("above a request", "a comment of ours"),
    ("expected a value after `@", "a comment of ours"),
];

/// Constructs that Hurl refuses in files that ours parses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Laxer {
    /// `{{pick:…}}`, filters in expressions.
    Expression,
    /// The syntax of regular expressions, which is checked when they are compiled.
    Regex,
    /// XML that is not well-formed in a way that does not change its end.
    Xml,
}

/// The outcome of a comparison without a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// Both parse it to the same tree.
    Same,
    /// Both refuse it.
    Refused,
    /// Hurl parses it, and ours refuses these constructs by name.
    Unsupported(Vec<String>),
    /// A deliberate difference: ours is stricter, for this reason.
    Stricter(&'static str),
    /// A deliberate difference: ours is laxer.
    Laxer(Laxer),
    /// Hurl's parser panics.
    Panicked,
}

/// Compares both parsers.
///
/// # Errors
/// The difference, for people.
pub fn compare(text: &str) -> Result<Agreement, String> {
    let ours = parse(text);
    // Hurl removes a byte order mark before it parses.
    let input = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Ok(theirs) = catch_unwind(|| parse_hurl_file(input)) else { return Ok(Agreement::Panicked) };
    if has_own_expression(text) && ours.is_ok() != theirs.is_ok() {
        return Ok(Agreement::Laxer(Laxer::Expression));
    }
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => {
            let ours = without_comments(&outline(&ours));
            let (theirs, refused) = theirs::describe(&theirs);
            if !refused.is_empty() {
                return Err(format!("ours parses {refused:?}:\n{ours}"));
            }
            if ours == theirs {
                return Ok(Agreement::Same);
            }
            // Hurl takes the name alone for the expression.
            if has_own_expression(text) {
                return Ok(Agreement::Laxer(Laxer::Expression));
            }
            Err(format!("ours:\n{ours}theirs:\n{theirs}"))
        }
        (Err(problems), Ok(theirs)) => judge_refusal(text, &problems, &theirs::describe(&theirs).1),
        (Ok(ours), Err(error)) => match error.kind {
            _ if is_regex(text, &error.kind) => Ok(Agreement::Laxer(Laxer::Regex)),
            ParseErrorKind::Xml => Ok(Agreement::Laxer(Laxer::Xml)),
            kind => Err(format!(
                "Hurl refuses it at {}:{}: {kind:?}\nours:\n{}",
                error.pos.line,
                error.pos.column,
                outline(&ours)
            )),
        },
        (Err(_), Err(_)) => Ok(Agreement::Refused),
    }
}

/// Judges problems of ours in a file that Hurl parses: each must name a construct that is refused.
fn judge_refusal(text: &str, problems: &[Problem], refused: &[String]) -> Result<Agreement, String> {
    for problem in problems {
        let is_named = |name: &String| {
            let word = if name == "integer" { "number" } else { name };
            problem.message.contains(&format!("`{word}")) || problem.message.contains(&format!("{word} `"))
        };
        if problem.message.ends_with("is not supported")
            && (refused.iter().any(is_named) || problem.message.contains("the method `HTTP`"))
        {
            continue;
        }
        match STRICTER.iter().find(|(part, _)| problem.message.contains(part)) {
            // What follows a syntax error depends on where parsing goes on.
            Some((_, reason)) => return Ok(Agreement::Stricter(reason)),
            None => {
                return Err(format!(
                    "ours refuses it:\n{}\n(refused in theirs: {refused:?})",
                    problem.show("ours", text)
                ));
            }
        }
    }
    Ok(Agreement::Unsupported(refused.to_vec()))
}

fn without_comments(outline: &str) -> String {
    outline.lines().filter(|line| !line.starts_with("  @")).map(|line| format!("{line}\n")).collect()
}

/// Tells if a text has an expression with something after the name.
fn has_own_expression(text: &str) -> bool {
    text.split("{{").skip(1).any(|rest| {
        let inside = rest.split("}}").next().unwrap_or("").trim();
        inside.starts_with("pick:") || inside.contains(' ')
    })
}

fn is_regex(text: &str, kind: &ParseErrorKind) -> bool {
    match kind {
        ParseErrorKind::RegexExpr { .. } => true,
        ParseErrorKind::Expecting { value } => value == "\" or /" && text.contains('/'),
        _ => false,
    }
}
