//! XML documents. Only their end is looked for: elements must be closed in order.

use crate::Problem;
use crate::cursor::{Parsed, Parser};

/// The remedy for a document that is not understood.
const HINT: &str = "write the document between ```xml and ```, each on a line of its own";

/// A piece of markup.
enum Markup<'a> {
    Open(&'a str),
    Close(&'a str),
    Empty,
    /// A comment, an instruction, a declaration of the document's type, or text.
    Other,
}

impl<'a> Parser<'a> {
    /// Steps over an XML document up to the end of its root element, and returns it.
    pub(crate) fn xml(&mut self) -> Parsed<String> {
        let start = self.at;
        let mut open: Vec<&str> = Vec::new();
        loop {
            let at = self.at;
            let malformed =
                |parser: &Self| Problem::new(parser.since(at), "expected well-formed XML").with_hint(HINT);
            let Some(markup) = self.markup(open.is_empty()) else { return Err(malformed(self)) };
            let ended = match markup {
                Markup::Open(name) => {
                    open.push(name);
                    false
                }
                Markup::Close(name) if open.pop() == Some(name) => open.is_empty(),
                Markup::Close(_) => return Err(malformed(self)),
                Markup::Empty => open.is_empty(),
                Markup::Other => false,
            };
            if ended {
                return Ok(self.text.get(start..self.at).unwrap_or("").to_owned());
            }
        }
    }

    /// Steps over a piece of markup. Returns nothing if it is malformed.
    fn markup(&mut self, outside: bool) -> Option<Markup<'a>> {
        let text = self.take_while(|char| char != '<');
        if text.contains("]]>") || (outside && !text.trim().is_empty()) {
            return None;
        }
        if self.eat("<!--") {
            return self.skip_past("-->");
        }
        if self.eat("<?") {
            return self.skip_past("?>");
        }
        if !outside && self.eat("<![CDATA[") {
            return self.skip_past("]]>");
        }
        if outside && self.eat("<!DOCTYPE") {
            return if self.take_while(|char| char != '>' && char != '[').is_empty() {
                None
            } else {
                self.skip_past(">")
            };
        }
        let closes = self.eat("</");
        if !closes && !self.eat("<") {
            return None;
        }
        let name = self.xml_name()?;
        if closes {
            self.skip_xml_space();
            return self.eat(">").then_some(Markup::Close(name));
        }
        self.attributes(name)
    }

    /// Steps over the attributes and the end of a tag.
    fn attributes(&mut self, name: &'a str) -> Option<Markup<'a>> {
        let mut names = Vec::new();
        loop {
            let spaced = self.skip_xml_space();
            if self.eat("/>") {
                return Some(Markup::Empty);
            }
            if self.eat(">") {
                return Some(Markup::Open(name));
            }
            let attribute = self.xml_name().filter(|attribute| spaced && !names.contains(attribute))?;
            names.push(attribute);
            self.skip_xml_space();
            if !self.eat("=") {
                return None;
            }
            self.skip_xml_space();
            let quote = self.bump().filter(|char| *char == '"' || *char == '\'')?;
            let value = self.take_while(|char| char != quote);
            if value.contains('<') || self.bump().is_none() {
                return None;
            }
        }
    }

    fn xml_name(&mut self) -> Option<&'a str> {
        let name = self.take_while(|char| char.is_alphanumeric() || "_:-.".contains(char));
        let starts = |char: char| char.is_alphabetic() || char == '_' || char == ':';
        name.starts_with(starts).then_some(name)
    }

    fn skip_past(&mut self, end: &str) -> Option<Markup<'a>> {
        self.at += self.rest().find(end)? + end.len();
        Some(Markup::Other)
    }

    fn skip_xml_space(&mut self) -> bool {
        !self.take_while(|char| char.is_ascii_whitespace()).is_empty()
    }
}
