//! A parser for Hurl files (<https://hurl.dev/docs/hurl-file.html>): text in, syntax tree or problems out.
//!
//! [`parse`] reads a file into a [`File`]. Each construct of Hurl is parsed to its meaning or refused by its name;
//! nothing is ignored. A file means here what it means to Hurl, apart from what is written in comments (`# @name`,
//! `# @think`), `{{pick:a|b}}` and filters in expressions, which are ours. The grammar is at
//! <https://hurl.dev/docs/grammar.html>; where it leaves a question open, Hurl's own parser answers it (`oracle/`).

#[cfg(any(test, fuzzing))]
pub mod check;
pub mod limits;
pub mod outline;

mod body;
mod comment;
mod cursor;
mod entry;
mod expression;
mod filter;
mod json;
mod option;
mod predicate;
mod problem;
mod query;
mod section;
mod text;
mod tree;
mod value;
mod xml;

pub use problem::Problem;
pub use tree::{
    Assert, Body, BodyKind, Capture, Comment, CommentName, CookieAttribute, Entry, Expression, File, Filter,
    FilterKind, Fixed, JsonPiece, KeyValue, Language, Part, PartValue, Pattern, Piece, Predicate, Query,
    QueryKind, Request, RequestOption, Response, Setting, Source, Span, Status, Template, Test, Value,
    Version,
};

use cursor::Parser;

/// Parses a Hurl file.
///
/// # Errors
/// The problems of the file, in the order of their places.
pub fn parse(text: &str) -> Result<File, Vec<Problem>> {
    let mut parser = Parser::new(text);
    let file = parser.file();
    finish(file, parser.problems)
}

/// Parses one line of `[Asserts]`, such as `variable "stock" > 0`.
///
/// # Errors
/// The problems of the line, in the order of their places.
pub fn parse_assert(text: &str) -> Result<Assert, Vec<Problem>> {
    let mut parser = Parser::new(text);
    parser.skip_blank();
    let assert = match parser.assert().and_then(|assert| parser.line_end().map(|()| assert)) {
        Ok(assert) => assert,
        Err(problem) => {
            parser.report(problem);
            return Err(sorted(parser.problems));
        }
    };
    parser.skip_blank();
    if !parser.rest().is_empty() {
        let problem = parser.expected("one condition");
        parser.report(problem);
    }
    finish(assert, parser.problems)
}

fn finish<T>(parsed: T, problems: Vec<Problem>) -> Result<T, Vec<Problem>> {
    if problems.is_empty() { Ok(parsed) } else { Err(sorted(problems)) }
}

fn sorted(mut problems: Vec<Problem>) -> Vec<Problem> {
    problems.sort_by_key(|problem| problem.at.start);
    problems
}

#[cfg(test)]
mod tests;
