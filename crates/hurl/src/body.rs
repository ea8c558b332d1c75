//! Bodies of requests and replies.

use crate::cursor::{Parsed, Parser};
use crate::{Body, BodyKind, Problem};

impl Parser<'_> {
    /// Tells if a body comes next. The start of a section is none.
    pub(crate) fn at_body(&self) -> bool {
        let rest = self.rest();
        let starts = ["true", "false", "null", "file,", "base64,", "hex,", "{", "[", "\"", "`", "<"];
        let number = rest.strip_prefix('-').unwrap_or(rest).starts_with(|char: char| char.is_ascii_digit());
        number || starts.iter().any(|start| rest.starts_with(start))
    }

    /// Parses a body with the end of its last line.
    pub(crate) fn body(&mut self) -> Parsed<Body> {
        let start = self.at;
        let kind = self.body_kind()?;
        let span = self.since(start);
        self.line_end()?;
        Ok(Body { kind, span })
    }

    fn body_kind(&mut self) -> Parsed<BodyKind> {
        let rest = self.rest();
        if rest.starts_with("```") {
            let text = self.multiline()?;
            return Ok(text
                .map_or(BodyKind::Bytes(Vec::new()), |(text, language)| BodyKind::Text { text, language }));
        }
        if rest.starts_with('`') {
            return Ok(BodyKind::Text { text: self.backtick()?, language: None });
        }
        if rest.starts_with('<') {
            return Ok(BodyKind::Xml(self.xml()?));
        }
        if self.eat("file,") {
            return Ok(BodyKind::File(self.file_path()?));
        }
        match self.bytes()? {
            Some(bytes) => Ok(BodyKind::Bytes(bytes)),
            None => Ok(BodyKind::Json(self.json().map_err(|problem| self.section_hint(rest, problem))?)),
        }
    }

    /// Adds a hint to a problem in JSON that may have been meant as a section.
    fn section_hint(&self, start: &str, problem: Problem) -> Problem {
        let is_section =
            start.strip_prefix('[').is_some_and(|name| name.trim_start().starts_with(char::is_uppercase));
        if is_section {
            problem.with_hint("write the name of a section without spaces, as in `[Query]`")
        } else {
            problem
        }
    }
}
