//! Values: numbers, bytes, and what else a predicate compares with.

use crate::cursor::{Parsed, Parser};
use crate::{Problem, Value};

impl Parser<'_> {
    /// Parses a value, if one comes next.
    pub(crate) fn value(&mut self) -> Parsed<Option<Value>> {
        let rest = self.rest();
        let value = if rest.starts_with("```") {
            self.multiline()?.map_or(Value::Null, |(text, _)| Value::Text(text))
        } else if rest.starts_with('`') {
            Value::Text(self.backtick()?)
        } else if rest.starts_with('"') {
            Value::Text(self.quoted("a text")?)
        } else if rest.starts_with("{{") {
            Value::Expression(self.lone_expression()?)
        } else if rest.starts_with('/') {
            Value::Regex(self.slashed()?)
        } else if self.eat("file,") {
            Value::File(self.file_path()?)
        } else if let Some(bytes) = self.bytes()? {
            Value::Bytes(bytes)
        } else if self.eat("true") {
            Value::Boolean(true)
        } else if self.eat("false") {
            Value::Boolean(false)
        } else if self.eat("null") {
            Value::Null
        } else {
            return self.number();
        };
        Ok(Some(value))
    }

    /// Parses a number, if one comes next.
    pub(crate) fn number(&mut self) -> Parsed<Option<Value>> {
        let start = self.at;
        if self.integer_text().is_none() {
            return Ok(None);
        }
        let is_float = self.eat(".");
        if is_float && self.take_while(|char| char.is_ascii_digit()).is_empty() {
            return Err(self.expected("digits after the decimal point"));
        }
        let text = self.text.get(start..self.at).unwrap_or("");
        let value = if is_float {
            text.parse().ok().filter(|value: &f64| value.is_finite()).map(Value::Float)
        } else {
            Some(text.parse().map_or_else(|_| Value::BigInteger(text.to_owned()), Value::Integer))
        };
        if value.is_none() {
            self.refuse(
                self.since(start),
                &format!("the large number `{text}`"),
                Some("numbers with a fraction have up to 308 digits before it"),
            );
        }
        Ok(Some(value.unwrap_or(Value::Null)))
    }

    /// Steps over a sign and the digits of a whole number, and returns them.
    pub(crate) fn integer_text(&mut self) -> Option<&str> {
        let start = self.at;
        self.eat("-");
        let digits = self.take_while(|char| char.is_ascii_digit());
        if digits.is_empty() || (digits.len() > 1 && digits.starts_with('0')) {
            self.at = start;
            return None;
        }
        self.text.get(start..self.at)
    }

    /// Parses `base64,…;` or `hex,…;`, if one comes next.
    pub(crate) fn bytes(&mut self) -> Parsed<Option<Vec<u8>>> {
        let decode = if self.eat("base64,") {
            Self::base64_bytes
        } else if self.eat("hex,") {
            Self::hex_bytes
        } else {
            return Ok(None);
        };
        self.skip_spaces();
        let bytes = decode(self)?;
        self.skip_spaces();
        if self.eat(";") { Ok(Some(bytes)) } else { Err(self.expected("`;` at the end of the bytes")) }
    }

    fn base64_bytes(&mut self) -> Parsed<Vec<u8>> {
        let start = self.at;
        let text = self.take_while(|char| " \t\n".contains(char) || sextet(char).is_some());
        self.take_while(|char| char == '=');
        let sextets: Vec<u32> = text.chars().filter_map(sextet).collect();
        if sextets.len() % 4 == 1 {
            return Err(Problem::new(
                self.since(start),
                "expected groups of four characters, got one more in base64",
            ));
        }
        let decode = |group: &[u32]| {
            let bits = group.iter().fold(0, |bits, sextet| bits << 6 | sextet) << (6 * (4 - group.len()));
            bits.to_be_bytes().into_iter().skip(1).take(group.len() - 1).collect::<Vec<u8>>()
        };
        Ok(sextets.chunks(4).flat_map(decode).collect())
    }

    fn hex_bytes(&mut self) -> Parsed<Vec<u8>> {
        let start = self.at;
        let digits = self.take_while(|char| char.is_ascii_hexdigit());
        let digits: Vec<u32> = digits.chars().filter_map(|digit| digit.to_digit(16)).collect();
        if digits.len() % 2 == 1 {
            return Err(Problem::new(self.since(start), "expected an even number of hexadecimal digits"));
        }
        let byte = |pair: &[u32]| {
            pair.iter().fold(0, |byte: u8, digit| byte << 4 | u8::try_from(*digit).unwrap_or(0))
        };
        Ok(digits.chunks(2).map(byte).collect())
    }
}

/// Returns the value of a character of base64.
fn sextet(char: char) -> Option<u32> {
    match char {
        'A'..='Z' => Some(u32::from(char) - u32::from('A')),
        'a'..='z' => Some(u32::from(char) - u32::from('a') + 26),
        '0'..='9' => Some(u32::from(char) - u32::from('0') + 52),
        '+' => Some(62),
        '/' => Some(63),
        _ => None,
    }
}
