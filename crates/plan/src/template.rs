//! Byte strings with placeholders that each call fills in anew.

use std::fmt;
use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A byte string with placeholders that each call fills in anew.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<Piece>", into = "Vec<Piece>")]
#[schemars(with = "Vec<Piece>")]
pub struct Template {
    /// No two literals are adjacent, none is empty, and `low` of a range is not above `high`.
    pieces: Vec<Piece>,
}

/// A part of a [`Template`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    /// Bytes that are the same in each call.
    Literal(
        #[serde(with = "crate::text")]
        #[schemars(with = "crate::text::Text")]
        Vec<u8>,
    ),
    /// `{seq}`: the number of the call, from 0.
    Sequence,
    /// `{rand:LOW-HIGH}`: a random number, both ends included.
    Random {
        /// The least number.
        low: u64,
        /// The greatest number; not below `low`.
        high: u64,
    },
    /// `{uuid}`: a random UUID (RFC 9562, version 4).
    Uuid,
}

/// A saved template with an empty range.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("expected a range whose `low` is not above its `high`, got {0}")]
pub struct EmptyRange(Piece);

/// A `{rand:` without a valid range.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{{rand:LOW-HIGH}} with whole numbers, LOW not above HIGH")]
pub struct BadRange {
    /// The text found, up to its closing brace.
    pub found: String,
    /// The offset of the text in bytes.
    pub at: usize,
}

/// The maximum number of characters of an invalid range in a message.
const SHOWN: usize = 40;

const RANDOM: &[u8] = b"{rand:";

impl Template {
    /// Parses `text` into placeholders and literals. Only `{seq}`, `{uuid}` and `{rand:LOW-HIGH}`, in exactly these
    /// forms, are placeholders; any other brace is an ordinary byte.
    ///
    /// # Errors
    /// If `{rand:` is not followed by a valid range. It would otherwise be sent unnoticed.
    pub fn parse(text: &[u8]) -> Result<Self, BadRange> {
        let mut template = Self::default();
        let mut rest = text;
        while let Some(brace) = rest.iter().position(|&byte| byte == b'{') {
            template.push_literal(&rest[..brace]);
            rest = &rest[brace..];
            let (piece, size) = match rest {
                _ if rest.starts_with(b"{seq}") => (Piece::Sequence, b"{seq}".len()),
                _ if rest.starts_with(b"{uuid}") => (Piece::Uuid, b"{uuid}".len()),
                _ if rest.starts_with(RANDOM) => {
                    let end = rest.iter().position(|&byte| byte == b'}');
                    let range = end.and_then(|end| Some((range(&rest[RANDOM.len()..end])?, end + 1)));
                    let (range, size) = range.ok_or_else(|| BadRange {
                        found: shown(&rest[..end.map_or(rest.len(), |end| end + 1)]),
                        at: text.len() - rest.len(),
                    })?;
                    (Piece::Random { low: *range.start(), high: *range.end() }, size)
                }
                _ => {
                    template.push_literal(&rest[..1]);
                    rest = &rest[1..];
                    continue;
                }
            };
            template.pieces.push(piece);
            rest = &rest[size..];
        }
        template.push_literal(rest);
        Ok(template)
    }

    /// Creates a template of these bytes, without placeholders.
    #[must_use]
    pub fn literal(bytes: &[u8]) -> Self {
        let mut template = Self::default();
        template.push_literal(bytes);
        template
    }

    /// Returns the pieces, in order.
    #[must_use]
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Returns the bytes if there are no placeholders.
    #[must_use]
    pub fn as_literal(&self) -> Option<&[u8]> {
        match &self.pieces[..] {
            [] => Some(b""),
            [Piece::Literal(bytes)] => Some(bytes),
            _ => None,
        }
    }

    /// Appends literal bytes.
    pub fn push_literal(&mut self, bytes: &[u8]) {
        match self.pieces.last_mut() {
            _ if bytes.is_empty() => {}
            Some(Piece::Literal(last)) => last.extend_from_slice(bytes),
            _ => self.pieces.push(Piece::Literal(bytes.to_vec())),
        }
    }

    /// Appends another template.
    pub fn push(&mut self, other: &Self) {
        for piece in &other.pieces {
            match piece {
                Piece::Literal(bytes) => self.push_literal(bytes),
                other => self.pieces.push(other.clone()),
            }
        }
    }

    /// Returns the template with `change` applied to each literal.
    #[must_use]
    pub fn map_literals(&self, mut change: impl FnMut(&[u8]) -> Vec<u8>) -> Self {
        let mut changed = Self::default();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(bytes) => changed.push_literal(&change(bytes)),
                other => changed.pieces.push(other.clone()),
            }
        }
        changed
    }

    /// Returns the template as it is typed. Braces in literals are not escaped: the text of a placeholder in a
    /// [`Template::literal`] would be parsed as one.
    #[must_use]
    pub fn typed(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(bytes) => text.extend_from_slice(bytes),
                other => text.extend_from_slice(other.to_string().as_bytes()),
            }
        }
        text
    }
}

impl TryFrom<Vec<Piece>> for Template {
    type Error = EmptyRange;

    fn try_from(pieces: Vec<Piece>) -> Result<Self, EmptyRange> {
        let mut template = Self::default();
        for piece in pieces {
            match piece {
                Piece::Literal(bytes) => template.push_literal(&bytes),
                Piece::Random { low, high } if low > high => return Err(EmptyRange(piece)),
                placeholder => template.pieces.push(placeholder),
            }
        }
        Ok(template)
    }
}

impl From<Template> for Vec<Piece> {
    fn from(template: Template) -> Self {
        template.pieces
    }
}

/// Writes a placeholder as it is typed, and a literal as text (lossy unless UTF-8).
impl fmt::Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(bytes) => f.write_str(&String::from_utf8_lossy(bytes)),
            Self::Sequence => f.write_str("{seq}"),
            Self::Random { low, high } => write!(f, "{{rand:{low}-{high}}}"),
            Self::Uuid => f.write_str("{uuid}"),
        }
    }
}

/// Parses two numbers of only digits, the first not above the second.
fn range(text: &[u8]) -> Option<RangeInclusive<u64>> {
    let (low, high) = std::str::from_utf8(text).ok()?.split_once('-')?;
    let number = |digits: &str| {
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse::<u64>().ok()).flatten()
    };
    let (low, high) = (number(low)?, number(high)?);
    (low <= high).then_some(low..=high)
}

fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[Piece]) {
        assert_eq!(Template::parse(text.as_bytes()).unwrap().pieces(), expected, "{text}");
    }

    fn literal(text: &str) -> Piece {
        Piece::Literal(text.into())
    }

    #[test]
    fn placeholders_are_told_from_what_is_around_them() {
        check("", &[]);
        check("/plain", &[literal("/plain")]);
        check("/a{seq}", &[literal("/a"), Piece::Sequence]);
        check("{uuid}{rand:1-1000}/", &[Piece::Uuid, Piece::Random { low: 1, high: 1000 }, literal("/")]);
        check("{rand:0-18446744073709551615}", &[Piece::Random { low: 0, high: u64::MAX }]);
    }

    #[test]
    fn only_the_exact_forms_are_placeholders() {
        for text in ["{Seq}", "{seq }", "{{}}", "{", "}", "{}", "{uuid", "{random:1-2}", "{\"rand\":\"1-2\"}"]
        {
            check(text, &[literal(text)]);
        }
        check("{{seq}}", &[literal("{"), Piece::Sequence, literal("}")]);
    }

    #[test]
    fn a_range_that_is_none_is_refused() {
        for found in ["{rand:9-1}", "{rand:}", "{rand:1..9}", "{rand:-1-9}", "{rand:+1-9}", "{rand:1-2-3}"] {
            let text = format!("/x{found}/");
            let expected = BadRange { found: found.to_owned(), at: 2 };
            assert_eq!(Template::parse(text.as_bytes()), Err(expected), "{text}");
        }
        let error = Template::parse(b"{rand:1-18446744073709551616} and more").unwrap_err();
        assert_eq!(error.found, "{rand:1-18446744073709551616}");
        let endless = Template::parse(format!("{{rand:1-{}", "9".repeat(100)).as_bytes()).unwrap_err();
        assert_eq!(endless.found.chars().count(), SHOWN + 1);
    }

    #[test]
    fn literals_next_to_each_other_are_one() {
        let mut template = Template::literal(b"a");
        template.push(&Template::parse(b"b{seq}c").unwrap());
        template.push_literal(b"");
        template.push_literal(b"d");
        assert_eq!(template.pieces(), [literal("ab"), Piece::Sequence, literal("cd")]);
        assert_eq!(template.as_literal(), None);
        assert_eq!(Template::literal(b"{seq}").as_literal(), Some(&b"{seq}"[..]));
        assert_eq!(Template::default().as_literal(), Some(&b""[..]));
    }

    #[test]
    fn a_saved_range_without_a_number_in_it_is_refused() {
        let saved = r#"[{"random": {"low": 2, "high": 1}}]"#;
        let error = serde_json::from_str::<Template>(saved).unwrap_err().to_string();
        let expected = "expected a range whose `low` is not above its `high`, got {rand:2-1}";
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn saved_literals_next_to_each_other_are_one() {
        let saved = r#"[{"literal": "a"}, {"literal": ""}, {"literal": "b"}]"#;
        assert_eq!(serde_json::from_str::<Template>(saved).unwrap(), Template::literal(b"ab"));
    }

    proptest! {
        #[test]
        fn what_is_typed_comes_back(text in "([a-z{}]|\\{seq\\}|\\{uuid\\}|\\{rand:[0-9]-9\\}){0,12}") {
            let template = Template::parse(text.as_bytes()).unwrap();
            prop_assert_eq!(String::from_utf8(template.typed()).unwrap(), text);
        }

        #[test]
        fn a_template_is_the_same_after_it_was_saved(text in prop::collection::vec(any::<u8>(), 0..20)) {
            let mut template = Template::literal(&text);
            template.push(&Template::parse(b"{seq}{uuid}{rand:3-4}").unwrap());
            let json = serde_json::to_string(&template).unwrap();
            prop_assert_eq!(serde_json::from_str::<Template>(&json).unwrap(), template);
        }
    }
}
