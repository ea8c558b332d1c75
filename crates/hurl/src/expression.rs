//! Expressions: `{{name filter filter}}`.

use crate::cursor::{Parsed, Parser, is_word};
use crate::{Expression, Problem, Source};

impl Parser<'_> {
    /// Parses an expression in a value or quoted text, with its braces. These have no tabs, not even there.
    pub(crate) fn expression(&mut self) -> Parsed<Expression> {
        self.braced(|char| char == ' ')
    }

    /// Parses an expression that stands alone, or in a key or path, with its braces.
    pub(crate) fn lone_expression(&mut self) -> Parsed<Expression> {
        self.braced(|char| char == ' ' || char == '\t')
    }

    fn braced(&mut self, is_space: fn(char) -> bool) -> Parsed<Expression> {
        let start = self.at;
        self.eat("{{");
        self.take_while(is_space);
        let name = self.take_while(is_word);
        let source = match name {
            "" => return Err(self.expected("the name of a variable after `{{`")),
            "newUuid" => Source::NewUuid,
            "newDate" => Source::NewDate,
            "pick" if self.eat(":") => return self.pick(start),
            _ => Source::Variable(name.to_owned()),
        };
        let mut filters = Vec::new();
        loop {
            let spaced = !self.take_while(is_space).is_empty();
            if self.eat("}}") {
                return Ok(Expression { source, filters, span: self.since(start) });
            }
            if !spaced || self.at_line_end() {
                return Err(self.expected("`}}`"));
            }
            match self.filter()? {
                Some(filter) => filters.push(filter),
                None => return Err(self.expected("a filter or `}}`").with_hint(crate::filter::known())),
            }
        }
    }

    /// Parses the rest of `{{pick:a|b}}`.
    fn pick(&mut self, start: usize) -> Parsed<Expression> {
        let texts =
            self.take_while(|char| !"{}\"`\\#".contains(char) && (char == ' ' || !char.is_whitespace()));
        if !self.eat("}}") {
            return Err(self.expected("`}}` after the texts of `pick:`"));
        }
        if texts.trim().is_empty() {
            let message = "expected texts to pick from, such as `{{pick:shoes|hats}}`, got none";
            return Err(Problem::new(self.since(start), message));
        }
        let texts = texts.split('|').map(|text| text.trim().to_owned()).collect();
        Ok(Expression { source: Source::Pick(texts), filters: Vec::new(), span: self.since(start) })
    }
}
