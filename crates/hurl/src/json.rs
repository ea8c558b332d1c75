//! JSON values with expressions, which stand for values or are parts of strings.

use crate::cursor::{Parsed, Parser};
use crate::limits::JSON_DEPTH_MAX;
use crate::text::is_line_space;
use crate::{JsonPiece, Problem};

/// The pieces of a JSON text that is being parsed.
#[derive(Default)]
struct Pieces {
    pieces: Vec<JsonPiece>,
    source: String,
}

impl Pieces {
    fn push(&mut self, piece: JsonPiece) {
        self.flush();
        self.pieces.push(piece);
    }

    fn flush(&mut self) {
        if !self.source.is_empty() {
            self.pieces.push(JsonPiece::Source(std::mem::take(&mut self.source)));
        }
    }
}

impl Parser<'_> {
    pub(crate) fn json(&mut self) -> Parsed<Vec<JsonPiece>> {
        let mut out = Pieces::default();
        self.json_value(&mut out, 0)?;
        out.flush();
        Ok(out.pieces)
    }

    fn json_value(&mut self, out: &mut Pieces, depth: usize) -> Parsed<()> {
        if self.rest().starts_with("{{") {
            let expression = self.lone_expression()?;
            out.push(JsonPiece::Value(expression));
            return Ok(());
        }
        match self.peek() {
            Some('"') => self.json_string(out),
            Some('[') => self.json_items(out, depth, ']'),
            Some('{') => self.json_items(out, depth, '}'),
            Some('-' | '0'..='9') => self.json_number(out),
            _ => {
                for word in ["true", "false", "null"] {
                    if self.eat(word) {
                        out.source.push_str(word);
                        return Ok(());
                    }
                }
                Err(self.expected("a JSON value"))
            }
        }
    }

    /// Parses a list or an object.
    fn json_items(&mut self, out: &mut Pieces, depth: usize, end: char) -> Parsed<()> {
        if depth >= JSON_DEPTH_MAX {
            let message = format!("expected at most {JSON_DEPTH_MAX} JSON values in one another, got more");
            return Err(Problem::new(self.here(), message));
        }
        self.json_char(out);
        self.json_space(out);
        if self.peek() == Some(end) {
            self.json_char(out);
            return Ok(());
        }
        loop {
            if end == '}' {
                self.json_name(out)?;
            }
            self.json_value(out, depth + 1)?;
            self.json_space(out);
            match self.peek() {
                Some(char) if char == end => {
                    self.json_char(out);
                    return Ok(());
                }
                Some(',') => {
                    let comma = self.at;
                    self.json_char(out);
                    self.json_space(out);
                    if self.peek() == Some(end) {
                        let message = format!("expected another element after the comma, got `{end}`");
                        return Err(Problem::new(comma..comma + 1, message).with_hint("remove the comma"));
                    }
                }
                _ => return Err(self.expected(&format!("`,` or `{end}`"))),
            }
        }
    }

    /// Parses the name of a member with its colon.
    fn json_name(&mut self, out: &mut Pieces) -> Parsed<()> {
        if self.peek() != Some('"') {
            return Err(self.expected("the name of a member in double quotes"));
        }
        self.json_string(out)?;
        self.json_space(out);
        if self.peek() != Some(':') {
            return Err(self.expected("`:` after the name of a member"));
        }
        self.json_char(out);
        self.json_space(out);
        Ok(())
    }

    fn json_string(&mut self, out: &mut Pieces) -> Parsed<()> {
        let start = self.at;
        self.json_char(out);
        loop {
            if self.rest().starts_with("{{") {
                let expression = self.expression()?;
                out.push(JsonPiece::InString(expression));
                continue;
            }
            match self.peek() {
                Some('"') => {
                    self.json_char(out);
                    return Ok(());
                }
                Some('\\') => self.json_escape(out)?,
                Some(char) if !is_line_space(char) => self.json_char(out),
                Some('\t') => {
                    return Err(Problem::new(self.here(), "expected text without tabs, got a tab")
                        .with_hint("write `\\t`"));
                }
                _ => return Err(Problem::new(self.since(start), "expected a closing \" on the same line")),
            }
        }
    }

    fn json_escape(&mut self, out: &mut Pieces) -> Parsed<()> {
        let start = self.at;
        self.bump();
        let char = self.bump();
        match char {
            Some('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't') => {}
            Some('u') => {
                let unit = self.json_unit();
                let low = match unit {
                    Some(0xd800..0xdc00) if self.eat("\\u") => self.json_unit(),
                    _ => None,
                };
                let units: Vec<u16> = unit.into_iter().chain(low).collect();
                if units.is_empty() || String::from_utf16(&units).is_err() {
                    let given = self.text.get(start..self.at).unwrap_or("");
                    let message = format!("expected a character such as `\\u2708`, got `{given}`");
                    return Err(Problem::new(self.since(start), message));
                }
            }
            _ => {
                let given = self.text.get(start..self.at).unwrap_or("");
                let message = format!("expected an escape such as `\\n`, got `{given}`");
                return Err(
                    Problem::new(self.since(start), message).with_hint("write `\\\\` for a backslash")
                );
            }
        }
        out.source.push_str(self.text.get(start..self.at).unwrap_or(""));
        Ok(())
    }

    /// Parses the four digits after `\u`.
    fn json_unit(&mut self) -> Option<u16> {
        let digits =
            self.rest().get(..4).filter(|digits| digits.chars().all(|char| char.is_ascii_hexdigit()))?;
        self.at += digits.len();
        u16::from_str_radix(digits, 16).ok()
    }

    fn json_number(&mut self, out: &mut Pieces) -> Parsed<()> {
        let start = self.at;
        if self.integer_text().is_none() {
            return Err(self.expected("a number without a leading zero or a plus sign"));
        }
        if self.eat(".") {
            self.json_digits()?;
        }
        if self.eat("e") || self.eat("E") {
            let _ = self.eat("+") || self.eat("-");
            self.json_digits()?;
        }
        // Hurl sends the exponent with a small letter.
        out.source.push_str(&self.text.get(start..self.at).unwrap_or("").replace('E', "e"));
        Ok(())
    }

    fn json_digits(&mut self) -> Parsed<()> {
        match self.take_while(|char| char.is_ascii_digit()) {
            "" => Err(self.expected("digits")),
            _ => Ok(()),
        }
    }

    fn json_space(&mut self, out: &mut Pieces) {
        out.source.push_str(self.take_while(|char| matches!(char, ' ' | '\t' | '\n' | '\r')));
    }

    /// Takes a character over unchanged.
    fn json_char(&mut self, out: &mut Pieces) {
        out.source.extend(self.bump());
    }
}
