//! Texts with expressions: keys, values, quoted texts, paths of files, and texts of several lines.

use crate::cursor::{Parsed, Parser};
use crate::limits::UNICODE_DIGITS_MAX;
use crate::{Language, Piece, Problem, Template};

/// The form in which a text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A name before a colon.
    Key,
    /// The rest of a line, up to a comment.
    Value,
    /// Between double quotes.
    Quoted,
    /// Between backticks.
    Backtick,
    /// The path of a file, up to a semicolon.
    Path,
}

impl Form {
    /// Tells if a character that is not escaped ends the text.
    fn ends(self, char: char) -> bool {
        match self {
            Self::Key => !(char.is_alphanumeric() || "_-.[]@$".contains(char)),
            Self::Value => char == '#' || is_line_space(char),
            Self::Quoted => char == '"' || is_line_space(char),
            Self::Backtick => char == '`' || is_line_space(char),
            Self::Path => " #;{}\n\r".contains(char),
        }
    }

    /// Returns the character that an escape stands for.
    fn unescape(self, char: char) -> Option<char> {
        match char {
            '\\' | '#' => Some(char),
            '/' if self != Self::Path => Some('/'),
            ':' if self == Self::Key => Some(':'),
            '"' | '`' if matches!(self, Self::Value | Self::Quoted | Self::Backtick) => Some(char),
            ' ' | ';' | '{' | '}' if self == Self::Path => Some(char),
            'b' => Some('\u{8}'),
            'f' => Some('\u{c}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            _ => None,
        }
    }
}

/// Tells if a character is white space other than the space, which texts contain only escaped.
pub(crate) fn is_line_space(char: char) -> bool {
    char != ' ' && char.is_ascii_whitespace()
}

/// A text that is being parsed.
struct Builder {
    pieces: Vec<Piece>,
    literal: String,
    /// The place at which the literal begins.
    start: usize,
    /// The length of the literal without spaces at its end, and the place of its end.
    solid: (usize, usize),
}

impl Builder {
    fn new(start: usize) -> Self {
        Self { pieces: Vec::new(), literal: String::new(), start, solid: (0, start) }
    }

    fn push(&mut self, char: char, end: usize) {
        self.literal.push(char);
        self.solid = (self.literal.len(), end);
    }

    fn push_space(&mut self) {
        self.literal.push(' ');
    }

    /// Ends the literal at a place.
    fn flush(&mut self, end: usize) {
        if !self.literal.is_empty() {
            self.pieces
                .push(Piece::Literal { text: std::mem::take(&mut self.literal), span: self.start..end });
        }
    }

    fn resume(&mut self, start: usize) {
        self.start = start;
        self.solid = (0, start);
    }
}

impl Parser<'_> {
    /// Parses a text without delimiters: a key, a value or a path. It may be empty.
    pub(crate) fn bare(&mut self, form: Form) -> Parsed<Template> {
        let start = self.at;
        let mut builder = self.pieces(form)?;
        if form == Form::Value {
            // Spaces before a comment or the end of the line are not part of the value.
            let (length, end) = builder.solid;
            builder.literal.truncate(length);
            self.at = end;
        }
        builder.flush(self.at);
        Ok(Template { pieces: builder.pieces, span: self.since(start) })
    }

    /// Parses a text between double quotes.
    pub(crate) fn quoted(&mut self, what: &str) -> Parsed<Template> {
        if self.peek() != Some('"') {
            return Err(self.expected(&format!("{what} in double quotes")));
        }
        self.delimited(Form::Quoted, '"')
    }

    /// Parses a text between backticks, on one line.
    pub(crate) fn backtick(&mut self) -> Parsed<Template> {
        self.delimited(Form::Backtick, '`')
    }

    /// Parses a text between double quotes or backticks.
    fn delimited(&mut self, form: Form, delimiter: char) -> Parsed<Template> {
        let start = self.at;
        self.bump();
        let mut builder = self.pieces(form)?;
        builder.flush(self.at);
        if self.peek() != Some(delimiter) {
            return Err(self.unclosed(start, delimiter));
        }
        self.bump();
        Ok(Template { pieces: builder.pieces, span: self.since(start) })
    }

    fn unclosed(&self, start: usize, delimiter: char) -> Problem {
        let problem =
            Problem::new(start..self.at, format!("expected a closing {delimiter} on the same line"));
        match self.peek() {
            Some('\t') => {
                Problem::new(self.here(), "expected text without tabs, got a tab").with_hint("write `\\t`")
            }
            _ => problem,
        }
    }

    fn pieces(&mut self, form: Form) -> Parsed<Builder> {
        let mut builder = Builder::new(self.at);
        while let Some(char) = self.peek() {
            if self.rest().starts_with("{{") {
                builder.flush(self.at);
                let tabs = matches!(form, Form::Key | Form::Path);
                let expression = if tabs { self.lone_expression()? } else { self.expression()? };
                builder.pieces.push(Piece::Expression(expression));
                builder.resume(self.at);
            } else if char == '\\' {
                let char = self.escape(form)?;
                builder.push(char, self.at);
            } else if form.ends(char) || (form == Form::Key && char == '[' && builder_is_empty(&builder)) {
                break;
            } else {
                self.bump();
                if char == ' ' { builder.push_space() } else { builder.push(char, self.at) }
            }
        }
        Ok(builder)
    }

    fn escape(&mut self, form: Form) -> Parsed<char> {
        let start = self.at;
        self.bump();
        let Some(char) = self.bump() else {
            return Err(Problem::new(
                start..self.at,
                "expected a character after `\\`, got the end of the file",
            ));
        };
        if char == 'u' {
            return self.unicode(start);
        }
        form.unescape(char).ok_or_else(|| {
            let message = format!("expected an escape such as `\\n` or `\\u{{41}}`, got `\\{char}`");
            Problem::new(self.since(start), message).with_hint("write `\\\\` for a backslash")
        })
    }

    /// Parses the rest of `\u{…}`.
    fn unicode(&mut self, start: usize) -> Parsed<char> {
        let opened = self.eat("{");
        let digits = self.take_while(|char| char.is_ascii_hexdigit());
        let closed = self.eat("}");
        let number = u32::from_str_radix(digits, 16).ok().filter(|_| digits.len() <= UNICODE_DIGITS_MAX);
        let char = number.and_then(char::from_u32).filter(|_| opened && closed);
        char.ok_or_else(|| {
            let given = self.text.get(start..self.at).unwrap_or("");
            Problem::new(
                self.since(start),
                format!("expected a character such as `\\u{{2708}}`, got `{given}`"),
            )
        })
    }

    /// Parses a text of several lines between three backticks each. Returns nothing if its language is refused.
    pub(crate) fn multiline(&mut self) -> Parsed<Option<(Template, Option<Language>)>> {
        let start = self.at;
        self.eat("```");
        let language = self.language()?;
        let content_at = self.at;
        let Some(length) = self.rest().find("```") else {
            return Err(Problem::new(
                start..start + 3,
                "expected a closing ``` after the text of several lines",
            ));
        };
        let end = content_at + length;
        let mut builder = Builder::new(content_at);
        if language == Hint::Known(Language::Raw) || language == Hint::Refused {
            self.at = end;
            builder.literal.push_str(self.text.get(content_at..end).unwrap_or(""));
        } else {
            self.multiline_pieces(&mut builder, end)?;
        }
        builder.flush(self.at);
        self.eat("```");
        let template = Template { pieces: builder.pieces, span: self.since(start) };
        Ok(match language {
            Hint::None => Some((template, None)),
            Hint::Known(language) => Some((template, Some(language))),
            Hint::Refused => None,
        })
    }

    fn multiline_pieces(&mut self, builder: &mut Builder, end: usize) -> Parsed<()> {
        while self.at < end {
            if self.rest().starts_with("{{") {
                builder.flush(self.at);
                let expression = self.expression()?;
                if expression.span.end > end {
                    return Err(Problem::new(expression.span, "expected `}}` before the closing ```"));
                }
                builder.pieces.push(Piece::Expression(expression));
                builder.resume(self.at);
            } else if let Some(char) = self.bump() {
                builder.push(char, self.at);
            }
        }
        Ok(())
    }

    /// Parses the rest of the line after three opening backticks.
    fn language(&mut self) -> Parsed<Hint> {
        let spaced = self.skip_spaces();
        let start = self.at;
        let word = self.take_while(|char| !"\n\r`".contains(char)).trim_end_matches([' ', '\t']);
        let at = start..start + word.len();
        if spaced && !word.is_empty() {
            return Err(Problem::new(
                at,
                format!("expected `{word}` directly after ```, got a space before it"),
            ));
        }
        let hint = match word {
            "" => Hint::None,
            "json" => Hint::Known(Language::Json),
            "xml" => Hint::Known(Language::Xml),
            "raw" => Hint::Known(Language::Raw),
            "graphql" => {
                let hint = "send the query as JSON: {\"query\": \"…\", \"variables\": {…}}";
                self.refuse(at, "the language `graphql`", Some(hint));
                Hint::Refused
            }
            _ => {
                let message =
                    format!("expected `json`, `xml`, `raw` or the end of the line after ```, got `{word}`");
                return Err(Problem::new(at, message));
            }
        };
        if self.eat("\n") || self.eat("\r\n") {
            return Ok(hint);
        }
        let hint = "write a text of one line between single backticks";
        Err(self.expected("the end of the line after ```").with_hint(hint))
    }
}

/// The language of a text of several lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hint {
    None,
    Known(Language),
    Refused,
}

fn builder_is_empty(builder: &Builder) -> bool {
    builder.pieces.is_empty() && builder.literal.is_empty()
}
