//! Sections, and the names with values in them.

use crate::cursor::{Parsed, Parser};
use crate::text::Form;
use crate::{Capture, KeyValue, Part, PartValue, Problem, Request, Response};

/// The sections of a request, with their older names.
const OF_REQUEST: &str =
    "sections of a request are [Query], [Form], [Multipart], [Cookies], [BasicAuth], [Options]";

/// The sections of a response.
const OF_RESPONSE: &str = "sections of a response are [Captures], [Asserts]";

impl<'a> Parser<'a> {
    /// Tells if a name with a colon comes next.
    pub(crate) fn at_key(&self) -> bool {
        let mut ahead = Parser::new(self.text);
        ahead.at = self.at;
        let found = ahead.bare(Form::Key).is_ok_and(|key| !key.pieces.is_empty());
        ahead.skip_spaces();
        found && ahead.peek() == Some(':')
    }

    /// Returns the name of the section that comes next.
    pub(crate) fn at_section(&self) -> Option<&'a str> {
        let (name, _) = self.rest().strip_prefix('[')?.split_once(']')?;
        (!name.is_empty() && name.chars().all(char::is_alphanumeric)).then_some(name)
    }

    /// Parses names with values up to the first line that is something else.
    pub(crate) fn key_values(&mut self, out: &mut Vec<KeyValue>) -> Parsed<()> {
        while self.at_next_key() {
            out.push(self.key_value()?);
        }
        Ok(())
    }

    /// Steps over blank lines and comments, and tells if a name with a colon follows.
    pub(crate) fn at_next_key(&mut self) -> bool {
        self.skip_blank();
        self.at_key()
    }

    /// Parses a name with its value and the end of the line.
    pub(crate) fn key_value(&mut self) -> Parsed<KeyValue> {
        self.drop_marks();
        let start = self.at;
        let key = self.key()?;
        let value = self.bare(Form::Value)?;
        let span = self.since(start);
        self.line_end()?;
        Ok(KeyValue { key, value, span })
    }

    /// Parses a name with the colon and the spaces after it.
    pub(crate) fn key(&mut self) -> Parsed<crate::Template> {
        let key = self.bare(Form::Key)?;
        self.skip_spaces();
        if !self.eat(":") {
            return Err(self.expected("`:` after the name"));
        }
        self.skip_spaces();
        Ok(key)
    }

    /// Parses a section of a request. `seen` are the names of those before it.
    pub(crate) fn request_section(&mut self, request: &mut Request, seen: &mut Vec<&'a str>) -> Parsed<()> {
        let name = self.section_name(seen, is_request_section, OF_REQUEST)?;
        match name {
            "Query" | "QueryStringParams" => self.key_values(&mut request.query),
            "Form" | "FormParams" => self.key_values(&mut request.form),
            "Cookies" => self.key_values(&mut request.cookies),
            "Options" => self.options(&mut request.options),
            "BasicAuth" => {
                if self.at_next_key() {
                    let pair = self.key_value()?;
                    request.basic_auth = Some(pair);
                }
                Ok(())
            }
            _ => {
                while self.at_next_key() {
                    request.multipart.push(self.part()?);
                }
                Ok(())
            }
        }
    }

    /// Parses a section of a response. `seen` are the names of those before it.
    pub(crate) fn response_section(
        &mut self,
        response: &mut Response,
        seen: &mut Vec<&'a str>,
    ) -> Parsed<()> {
        let name = self.section_name(seen, |name| matches!(name, "Captures" | "Asserts"), OF_RESPONSE)?;
        if name == "Captures" {
            while self.at_next_key() {
                response.captures.push(self.capture()?);
            }
            return Ok(());
        }
        loop {
            self.skip_blank();
            let is_assert = self.peek().is_some_and(char::is_lowercase) && !self.at_body();
            if !is_assert {
                return Ok(());
            }
            self.drop_marks();
            response.asserts.push(self.assert()?);
            self.line_end()?;
        }
    }

    /// Parses the line that begins a section.
    fn section_name(
        &mut self,
        seen: &mut Vec<&'a str>,
        fits: fn(&str) -> bool,
        known: &str,
    ) -> Parsed<&'a str> {
        self.drop_marks();
        let start = self.at;
        let name = self.at_section().unwrap_or("");
        self.at += name.len() + 2;
        let at = self.since(start);
        if !fits(name) {
            let problem = Problem::new(at, format!("expected a section that fits here, got `[{name}]`"));
            return Err(problem.with_hint(match name {
                "Captures" | "Asserts" => "it belongs below the line with the status, as in `HTTP 200`",
                _ if is_request_section(name) => "it belongs to the request, above the line with the status",
                _ => known,
            }));
        }
        if seen.contains(&name) {
            self.report(
                Problem::new(at, format!("`[{name}]` occurs twice")).with_hint("join the two sections"),
            );
        }
        seen.push(name);
        self.line_end()?;
        Ok(name)
    }

    /// Parses a part of a form with files.
    fn part(&mut self) -> Parsed<Part> {
        self.drop_marks();
        let start = self.at;
        let name = self.key()?;
        let value = if self.eat("file,") {
            let path = self.file_path()?;
            self.skip_spaces();
            let content_type = self.bare(Form::Value)?;
            PartValue::File { path, content_type: Some(content_type).filter(|text| !text.pieces.is_empty()) }
        } else {
            PartValue::Text(self.bare(Form::Value)?)
        };
        let span = self.since(start);
        self.line_end()?;
        Ok(Part { name, value, span })
    }

    fn capture(&mut self) -> Parsed<Capture> {
        self.drop_marks();
        let start = self.at;
        let name = self.key()?;
        let name = self.fixed(name, "the name of a variable");
        let query = self.query()?;
        let (filters, spaced) = self.filters()?;
        let redacted = spaced && self.word() == "redact" && self.eat("redact");
        if !redacted && spaced && !self.at_line_end() {
            return Err(self
                .expected("a filter, `redact` or the end of the line")
                .with_hint(crate::filter::known()));
        }
        let span = self.since(start);
        self.line_end()?;
        Ok(Capture { name, query, filters, redacted, span })
    }
}

fn is_request_section(name: &str) -> bool {
    matches!(
        name,
        "Query"
            | "QueryStringParams"
            | "Form"
            | "FormParams"
            | "Multipart"
            | "MultipartFormData"
            | "Cookies"
            | "BasicAuth"
            | "Options"
    )
}
